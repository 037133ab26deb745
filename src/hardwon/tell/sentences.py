"""What was written down, as lines: facts, experiences and episodes that are about a question. Of a long
text the part is told that is nearest to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.records.kinds import VOUCHED_STATUSES, AnyRecord, Episode, Experience, Fact
from hardwon.search.question import Question
from hardwon.tell.choose import Budget
from hardwon.tell.lines import KNOWN, Draft, disarm_marks, make_mark, name_sources
from hardwon.text.clean import CUT, clean_line
from hardwon.text.terms import spelled_alike
from hardwon.text.tokens import cut_to_tokens

# Less than that of a sentence says nothing.
_TOKENS_MIN: Final = 12
_LESSONS_SHOWN: Final = 2
# A text that is longer is told by the passage that is nearest to the question.
_WHOLE_CHARS_MAX: Final = limits.LESSON_CHARS_MAX
_PASSAGES_MAX: Final = 400
# A passage speaks for less than a text that says nothing else.
_PART: Final = 0.9
_END: Final = re.compile(r"(?<=[.!?\u3002])\s+|\n+")


class Known(NamedTuple):
    """A record that is about the question, and how much. `passage` is the part of it that is nearest
    to the question, "" where it is short. `lesson_id`: of the lesson that it is, "" of an episode.
    """

    record: AnyRecord
    relevance: float
    stale: bool
    passage: str = ""
    lesson_id: str = ""


def weigh_text(text: str, question: Question) -> tuple[float, str]:
    """How much a text is like the question, and the passage of it that is nearest; "" for a text that
    is told whole.
    """
    alike = question.alike_to(text[: 2 * _WHOLE_CHARS_MAX])
    if len(text) <= _WHOLE_CHARS_MAX:
        return alike, ""
    best, passage = 0.0, ""
    sentences = [part.strip() for part in _END.split(text) if part.strip()][:_PASSAGES_MAX]
    for place, sentence in enumerate(sentences):
        # who is asked something answers in the next sentence
        ends = (place + 2,) if sentence.endswith("?") else (place + 1, place + 2)
        for end in ends:
            part = " ".join(sentences[place:end])
            if (nearness := question.alike_to(part)) > best:
                best, passage = nearness, part
    return max(alike, _PART * best), passage


def say_texts(
    known: Iterable[Known], tokens_max: int, budget: Budget, *, alone: bool
) -> Iterator[Draft]:
    """A line for each record that says something in words, of at most so many tokens."""
    for one in known:
        record, about = one.record, set[str]()
        if isinstance(record, Experience | Fact):
            what = record.outcome if isinstance(record, Experience) else record.fact_type
            content = _cut_around(record.content, one.passage)
        elif isinstance(record, Episode):
            what, content = f"score {record.score:.2f}", tell_episode(record)
            lessons = (*record.successes[:_LESSONS_SHOWN], *record.mistakes[:_LESSONS_SHOWN])
            about = set(map(spelled_alike, lessons))
        else:
            continue
        if content:
            content = disarm_marks(content)
            about.add(spelled_alike(content))
            yield _say_sentence(what, content, about, one, tokens_max, budget, alone=alone)


def _cut_around(content: str, passage: str) -> str:
    """A text, or where it is long the passage of it, with signs that it was cut."""
    if not passage:
        return clean_line(content, limits.LESSON_CHARS_MAX)
    text = clean_line(passage, limits.LESSON_CHARS_MAX - 2)
    before = "" if content.strip().startswith(passage[:20]) else CUT
    after = "" if content.strip().endswith(passage[-20:]) or text.endswith(CUT) else CUT
    return f"{before}{text}{after}"


def _say_sentence(
    what: str,
    content: str,
    about: set[str],
    one: Known,
    tokens_max: int,
    budget: Budget,
    *,
    alone: bool,
) -> Draft:
    record = one.record
    mark = mark_record(record, stale=one.stale, alone=alone, lesson_id=one.lesson_id)

    def shorten(allowed: int) -> str:
        """As much of it as so many tokens hold."""
        rest = allowed - budget.cost(f"{what}: {CUT} {mark}")
        short = cut_to_tokens(content, rest, budget.count) if rest >= _TOKENS_MIN else ""
        return f"{what}: {short}{CUT} {mark}".rstrip() if short else ""

    return Draft(
        f"{what}: {content} {mark}".rstrip(),
        KNOWN,
        (record.said_by,),
        is_vouched(record),
        (record.id,),
        frozenset(about),
        f"about what is asked ({one.relevance:.2f})",
        one.relevance,
        KNOWN,
        tokens_max=tokens_max,
        shorter=shorten,
    )


def mark_record(record: AnyRecord, *, stale: bool, alone: bool, lesson_id: str = "") -> str:
    """Who says so, whether anybody stands behind it, and whether the files that it is about are
    others by now, as far as it changes what a reader should do; and the id of the lesson.
    """
    who = name_sources([record.said_by], is_vouched(record), alone=alone)
    return make_mark(who, "stale" if stale else "", lesson_id=lesson_id)


def is_vouched(record: AnyRecord) -> bool:
    """Whether somebody stands behind a record."""
    return record.metadata.validation.status in VOUCHED_STATUSES


def tell_episode(episode: Episode) -> str:
    """An episode in a line: what it did, and what it learned first."""
    parts = (
        episode.trajectory_summary,
        *episode.successes[:_LESSONS_SHOWN],
        *episode.mistakes[:_LESSONS_SHOWN],
    )
    return clean_line("; ".join(filter(None, parts)), limits.LESSON_CHARS_MAX)
