"""Which parts of a record a search looks at, and text as search terms. Both engines index what these
functions return, so both find the same words.

Code is not prose: `src/auth/login.py`, `getUserName`, `E0382` and `v1.2.3` are found whole and by
their parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple, TypeVar

from hardwon import limits
from hardwon.records.kinds import Episode, Experience, Fact, Fix, Record, Trajectory

K = TypeVar("K")
V = TypeVar("V")

# What may stand inside a term besides letters and digits; the engines' tokenizers are given the
# same.
TERM_PUNCTUATION: Final = "_.-/:@#+$"

_CHUNK: Final = re.compile(r"\w(?:[\w.\-/:@#+$]*\w)?(?:\+\+|#)?")
_ASCII_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_AROUND_NUMBERS: Final = "()[]{},;:.!?\"'"
_ANY_PARTS: Final = re.compile(r"[^\W_]+")

STOP_WORDS: Final = frozenset(
    """a about after all also an and any are as at be because been before being but by can could did do does doing done
    for from get got had has have he how i if in into is it its just like make me more most my no not now of off on once
    only or other our out over own same she so some such than that the their them then there these they this those through
    to too under until up use used using very was we were what when where which while who why will with would you
    your""".split()
)


class Remembered(dict[K, V]):
    """What `work` gives for each key: words and characters come again and again. Forgets all of
    them when it is full, which costs less than to choose. What is not `worth` it is not kept.
    """

    def __init__(self, work: Callable[[K], V], worth: Callable[[K, V], bool] | None = None) -> None:
        super().__init__()
        self._work, self._worth = work, worth

    def __missing__(self, key: K) -> V:
        value = self._work(key)
        if self._worth is None or self._worth(key, value):
            if len(self) >= 16_384:
                self.clear()
            self[key] = value
        return value


def searchable_text(record: Record) -> str:
    """The record's texts in the order of what they tell about it, cut at what is indexed."""
    metadata = record.metadata
    parts = [*own_texts(record), *metadata.tags]
    if metadata.context.related_files:
        parts += [file.path for file in metadata.context.related_files]
    return "\n".join(parts)[: limits.INDEXED_CHARS_MAX]


def own_texts(record: Record) -> Iterable[str]:
    """What the record says itself, without its envelope."""
    if isinstance(record, Experience):
        extra = [value for value in record.extra.values() if isinstance(value, str)]
        return [record.content, record.summary.replace("_", " "), record.tool or "", *extra]
    if isinstance(record, Fact):
        entities = record.entities
        names = (entities.files, entities.functions, entities.libraries, entities.error_codes or [])
        return chain([record.content], *names)
    if isinstance(record, Trajectory):
        return chain([record.task], *((step.action, step.observation) for step in record.steps))
    if isinstance(record, Episode):
        own = (record.task_id, record.trajectory_summary, *record.mistakes, *record.successes)
        return chain(
            own, *((card.mistake_type, card.lesson, card.evidence) for card in record.mistake_cards)
        )
    if isinstance(record, Fix):
        issue = record.issue
        what = (
            issue.model,
            issue.issue_type,
            issue.description,
            issue.error_output or "",
            record.analysis,
        )
        more = (
            record.notes or "",
            issue.test_prompt or "",
            issue.actual_response or "",
            record.fixer_type,
        )
        return chain(what, record.fix_commands, more)
    return []


def index_text(text: str) -> str:
    """Every term of a text, in order, repeated as often as it occurs, with spaces between."""
    text = text[: limits.INDEXED_CHARS_MAX]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    terms_of = _cached_terms if len(text) <= _CACHED_CHARS_MAX else _terms
    return " ".join(filter(None, map(terms_of, text.split())))


def _terms(word: str) -> str:
    bare = word.strip(_AROUND_NUMBERS).lstrip("#")
    if bare.isdigit() and bare.isascii() and len(bare) <= limits.TERM_CHARS_MAX:
        return bare  # "(#4711)," is one term, found without a regex
    found: list[str] = []
    for chunk in _CHUNK.findall(word):
        found.append(chunk)
        if not (chunk.isdigit() or (chunk.islower() and chunk.isalpha())):
            parts = (_ASCII_PARTS if chunk.isascii() else _ANY_PARTS).findall(chunk)
            if len(parts) > 1:
                found += [part for part in parts if len(part) > 1]
    if len(word) > limits.TERM_CHARS_MAX:
        found = [term[: limits.TERM_CHARS_MAX] for term in found]
    return " ".join(found).lower()


class TermMatch(NamedTuple):
    """Where a term of a question stands in a text."""

    start: int
    end: int
    term: str


def matches(text: str, wanted: Collection[str]) -> Iterator[TermMatch]:
    """Where a text has these terms, in order: what a search for them finds it by. Where a part of a
    longer word is the term, only that part.
    """
    for word in _WORD.finditer(text):
        if word.end() - word.start() > limits.INDEXED_CHARS_MAX:
            continue
        found = word.group()
        held = index_text(found).split()
        if not any(term in wanted for term in held):
            continue
        inside = [
            TermMatch(start, end, term) for start, end, term in _places(found) if term in wanted
        ]
        if not inside:  # it matches in another spelling alone, or shortened
            inside = [TermMatch(0, len(found), next(term for term in held if term in wanted))]
        last = 0
        for start, end, term in inside:
            if start >= last:
                yield TermMatch(word.start() + start, word.start() + end, term)
                last = end


def _places(word: str) -> Iterator[TermMatch]:
    """The terms of a word, each whole one before its parts."""
    for chunk in _CHUNK.finditer(word):
        yield TermMatch(chunk.start(), chunk.end(), chunk.group().lower())
        for part in (_ASCII_PARTS if chunk.group().isascii() else _ANY_PARTS).finditer(
            chunk.group()
        ):
            yield TermMatch(
                chunk.start() + part.start(), chunk.start() + part.end(), part.group().lower()
            )


_WORD: Final = re.compile(r"\S+")
# words of longer texts are not cached: one of them may be as long as the text
_CACHED_CHARS_MAX: Final = 2_000


# numbers hardly come again
_cached_terms = Remembered(_terms, lambda _, terms: not terms.isdigit()).__getitem__


def query_terms(query: str) -> list[str]:
    """The distinct terms of a query that are worth looking up: stop words dropped, unless there is
    nothing else.
    """
    distinct = list(dict.fromkeys(index_text(query).split()))
    return ([term for term in distinct if term not in STOP_WORDS] or distinct)[
        : limits.QUERY_TERMS_MAX
    ]
