"""Whether a sentence can stand alone, and whether a fact says again what another says already. No
I/O.

What keeps a sentence from standing alone: pronouns that stand for nothing in it, and times that are
counted from the day on which it was said. English; whatever is not sure is left alone.

Times are resolved where the record's own time tells them, in UTC: `yesterday` becomes `yesterday
(2026-11-14)`. That is done only in sentences that report what happened, or announce what will: what
is done every day, or has such a name, would get a date that is false. Elsewhere in prose the words
are named and stay as they are. Nothing is touched inside code, quotes, paths and identifiers, and
what has its date behind it already stays as it is. Words and patterns are in sentences_tables.py.

Facts that say the same meet under one key. Rather two records of one thing than one record of two:
what is taken for a repetition is not kept as a record of its own. So no word is weighed here. Two
sentences say the same if they have the same words, signs and symbols in the same order, but for
white space, the punctuation between words, the capital letter that begins a sentence, and a few
words that never change a meaning.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from hardwon import limits
from hardwon.records.kinds import Fact
from hardwon.text import sentences_tables as tables
from hardwon.text.entities import read_part
from hardwon.text.tables import Patterns, WordLists
from hardwon.text.terms import Remembered, canonical, normalize

RE: Final = Patterns(tables.PATTERNS, tables.ANY_OF)
WORDS: Final = WordLists(tables.WORDS)

FlawKind = Literal["pronoun", "relative_date", "reference"]

# How a finding begins that names a time which could not be resolved.
RELATIVE_DATE: Final = "relative date"


class Flaw(NamedTuple):
    """Something that keeps a sentence from standing alone: the words, where they begin, and what to
    do about it. `resolved` is what they mean, where that could be worked out.
    """

    kind: FlawKind
    words: str
    start: int
    what_to_do: str
    resolved: str = ""

    def __str__(self) -> str:
        return f'{self.kind.replace("_", " ")} "{self.words}": {self.what_to_do}'


class Linted(NamedTuple):
    """A sentence with its times resolved, and everything that was found."""

    text: str
    findings: tuple[Flaw, ...] = ()

    @property
    def left(self) -> tuple[Flaw, ...]:
        """What only its author can put right."""
        return tuple(flaw for flaw in self.findings if not flaw.resolved)


def lint(sentence: str, at: datetime) -> Linted:
    """What was said at that time, as it can be read at any other. Linting the result again changes
    nothing.
    """
    text = read_part(sentence)
    lowered = text.lower()
    flaws = list(_pronouns(text))
    # else what was found there is somewhere else here; hardly any letter does that
    if len(lowered) == len(text):
        if any(word in lowered for word in WORDS.time_words):
            flaws += _times(text, at.astimezone(UTC))
        if "above" in lowered or "below" in lowered or "as " in lowered:
            flaws += [
                Flaw("reference", found[0], found.start(), "say here what is said there")
                for found in RE.reference.finditer(_without_quotes(text))
            ]
    flaws = sorted(flaws, key=lambda flaw: flaw.start)[: limits.SCREEN_ITEMS]
    parts, done = [], 0
    for flaw in flaws:
        if flaw.resolved:
            end = flaw.start + len(flaw.words)
            parts += [sentence[done:end], f" ({flaw.resolved})"]
            done = end
    return Linted("".join((*parts, sentence[done:])), tuple(flaws))


def _without_quotes(text: str) -> str:
    """The same text, of the same length, in which nothing quoted, and no line of code, is a
    word.
    """
    for pattern in (RE.quoted, RE.set_off):
        text = pattern.sub(lambda found: "\u00a4" * len(found[0]), text)
    return text


# --- times ---


def _times(text: str, at: datetime) -> Iterator[Flaw]:
    plain = _without_quotes(text)
    matches = list(RE.time.finditer(plain))
    # where the words stand one after the other, as the values of something do
    listed: set[int] = set()
    for one, other in pairwise(matches):
        if RE.joins.fullmatch(plain, one.end(), other.start()):
            listed |= {one.start(), other.start()}
    ends = [-1, *(found.start() for found in RE.sentence_ends.finditer(plain)), len(plain)]
    # every sentence is read once
    tense_at = cache(lambda place: _tense_of(plain[ends[place - 1] + 1 : ends[place]]))
    for found in matches:
        tense = tense_at(bisect_left(ends, found.start()))
        # so far back the words are looked for that make "in 3 hours" a moment, or a habit
        before = plain[max(0, found.start() - 120) : found.start()]
        if RE.has_date.match(plain, found.end()) or not _is_meant(found, before):
            continue
        resolved = ""
        if found["vague"]:
            what_to_do = "say the date"
        elif found.start() in listed or not tense.reports(found, before) or _is_name(found, before):
            what_to_do = "say the date, if a certain one is meant"
        else:
            try:
                resolved = resolve(found, at)
                if found["ago"] and RE.about.search(before):
                    resolved = f"about {resolved}"
                what_to_do = f"it is {resolved}"
            except (OverflowError, ValueError):  # before the first year, or after the last
                what_to_do = "say the date; from when it is counted cannot be told"
        yield Flaw("relative_date", found[0], found.start(), what_to_do, resolved)


class _Tense(NamedTuple):
    """What a sentence tells of: something that happened, something to come, or neither of the
    two.
    """

    past: bool = False
    coming: bool = False
    lasts: bool = False  # it may tell what is so "since yesterday"

    def reports(self, found: re.Match[str], before: str) -> bool:
        words = found[0].lower()
        if found["ago"] or words.startswith("last") or "yesterday" in words:
            return self.past or (self.lasts and before.endswith("since "))
        if found["ahead"] or words.startswith("next") or "tomorrow" in words:
            return self.coming
        return self.past or self.coming


def _tense_of(sentence: str) -> _Tense:
    if RE.time_and_again.search(sentence):
        return _Tense()
    # of what comes after "that" nothing is taken: jobs that failed may be any day's
    clause = RE.whose.split(sentence, maxsplit=1)[0]
    past = any(
        verb["sure"]
        or (
            (verb["before"] or "").lower() not in WORDS.no_verb_after
            and verb["past"].lower() not in WORDS.no_past
        )
        for verb in RE.happened.finditer(clause)
    )
    return _Tense(past, bool(RE.coming.search(sentence)), True)


def _is_name(found: re.Match[str], before: str) -> bool:
    """Whether it may be the name of something: a capital letter inside of a sentence, or the place
    of a name.
    """
    inside = before.rstrip(" ([-*\u2022\"'")
    if found[0][0].isupper() and inside and inside[-1] not in ".!?:;\n\u00a4":
        return True
    return bool(RE.name_follows.search(before) or RE.name_ends.match(found.string, found.end()))


def _is_meant(found: re.Match[str], before: str) -> bool:
    """Whether the words tell a time from now, rather than a duration, a habit or an order."""
    if found["turn"]:
        return not RE.not_before_turn.search(before)
    if found["ago"]:
        return not RE.range.search(before) or bool(RE.about.search(before))
    after = found.string[found.end() : found.end() + 4]
    if found["ahead"]:
        clause = re.split(r"[.;:!?]\s", before)[-1]
        moment = RE.coming.search(clause) and not RE.habit.search(clause)
        return bool(moment) and not after.startswith(("'", "\u2019", " of"))
    if found["vague"] and found["vague"].lower() == "soon":
        return not RE.soon_idiom.search(before) and not after.startswith(" as")
    return True


_DAYS_FROM_NOW: Final = (
    ("before yesterday", -2),
    ("after tomorrow", 2),
    ("yesterday", -1),
    ("tomorrow", 1),
)
_STEPS: Final = {"last": -1, "this": 0, "next": 1}
_WEEKDAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS: Final = "_ one two three four five six seven eight nine ten eleven twelve".split()
_HALVES: Final = {
    "minute": (1, "minute"),
    "hour": (30, "minute"),
    "day": (12, "hour"),
    "week": (3, "day"),
    "month": (2, "week"),
    "year": (6, "month"),
}


def resolve(found: re.Match[str], at: datetime) -> str:
    """The date, month, year or moment that words of time mean, or two dates with ` to ` between."""
    if found["day"]:
        words = " ".join(found["day"].lower().split())
        away = next((days for name, days in _DAYS_FROM_NOW if name in words), 0)
        day = at.date() + timedelta(days=away)
        return f"night to {day}" if words == "last night" else str(day)
    if found["turn"]:
        return _turn(_STEPS[found["which"].lower()], found["period"].lower(), at)
    word = (found["number"] or found["later"]).lower()
    number = 1 if word in ("a", "an") else _NUMBERS.index(word) if word.isalpha() else int(word)
    unit = (found["unit"] or found["later_unit"]).lower()
    if found["half"]:
        parts, unit = _HALVES[unit]
        number *= parts
    return _count_on(-number if found["ago"] else number, unit, at)


def _turn(step: int, period: str, at: datetime) -> str:
    if period in ("year", "month"):
        return _count_on(step, period, at)
    today = at.date()
    monday = today - timedelta(days=today.weekday())
    if period == "week":
        first = monday + timedelta(weeks=step)
        return f"{first} to {first + timedelta(days=6)}"
    weekday = _WEEKDAYS.index(period)
    if step == 0:
        return str(monday + timedelta(days=weekday))
    away = (weekday - today.weekday()) * step % 7 or 7
    return str(today + timedelta(days=step * away))


def _count_on(number: int, unit: str, at: datetime) -> str:
    if unit == "year":
        return f"{date(at.year + number, 1, 1).year:04}"
    if unit == "month":
        years, month = divmod(at.month - 1 + number, 12)
        return f"{date(at.year + years, month + 1, 1):%Y-%m}"
    moment = at + timedelta(**{f"{unit}s": number})
    return str(moment.date()) if unit in ("day", "week") else f"{moment:%Y-%m-%dT%H:%M}Z"


# --- pronouns ---


def _pronouns(text: str) -> Iterator[Flaw]:
    """At the beginning alone: later in a sentence there is hardly ever nothing that a pronoun can
    stand for.
    """
    found = RE.pronoun.match(text)
    if not found:
        return
    kinds = ("person", "it", "one", "whose", "back", "early", "object")
    kind = next(name for name in kinds if found[name])
    words, rest = found[kind], text[found.end(kind) : found.end(kind) + 400]
    impersonal = words.lower() == "it" and RE.impersonal.match(rest)
    stands_alone = {
        "it": impersonal or RE.impersonal_verb.match(rest),
        "early": impersonal or RE.noun_follows.match(rest),
        "object": (found["first"] or "").lower() in WORDS.no_verbs,
    }.get(kind)
    department = words == "IT" and not text.isupper()  # those who run the machines
    if not stands_alone and not department:
        yield Flaw("pronoun", words, found.start(kind), "name what it stands for")


# --- what says the same ---


_APOSTROPHES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


def strip_fillers(text: str) -> tuple[str, ...]:
    """What two texts that say the same have in common."""
    plain = normalize("NFC", text).translate(_APOSTROPHES).strip()
    if RE.bullet.match(plain):
        plain = plain[1:]
    words = list(_words(plain))
    kept = tuple(word for at, word in enumerate(words) if not _is_needless(words, at))
    return kept or tuple(words) or (plain,)


def _words(text: str) -> Iterator[str]:
    """As they are written, but for the capital letter of a sentence's first word: a name in other
    letters is another name.
    """
    begins = True
    tokens = text.split()
    for left, token in enumerate(tokens, 1 - len(tokens)):
        bare = token.strip("`") or token
        word = RE.trailing.sub("", RE.trailing_of_words.sub("", bare)) or bare
        if begins and (len(word) == 1 or word[1:].islower()):
            word = word[0].lower() + word[1:]
        begins = bare.endswith((".", "!", "?", ";"))
        if left and word in WORDS.answers and len(bare) > len(word):
            word += ","
        yield word


def _is_needless(words: list[str], at: int) -> bool:
    """An article with no noun behind it is the name of something: "column a is empty"."""
    if words[at] in WORDS.articles:
        return at + 1 < len(words) and words[at + 1] not in WORDS.no_nouns
    return words[at] in WORDS.fillers and not (at and words[at - 1] in WORDS.tied)


# a fact that is recorded is asked for twice: whether it is known, and as a row; NUL is in no text
_key_of = Remembered[tuple[str, str], str](
    lambda said: (
        "fact:"
        + blake2b(
            "\0".join((said[0], *strip_fillers(said[1]))).encode(), digest_size=16
        ).hexdigest()
    ),
    lambda said, _: len(said[1]) <= limits.LESSON_CHARS_MAX,
).__getitem__


def fact_key(fact: Fact) -> str:
    """Facts of one type have the same key if they say the same, and only then."""
    return _key_of((fact.fact_type, fact.content))


def same_words(one: Fact, other: Fact) -> bool:
    """Of two facts that say the same: whether nobody would see a difference."""
    return one.content == other.content or canonical(one.content) == canonical(other.content)


def repeats(first: Fact, again: Fact) -> bool:
    """Whether `again` says what `first` says, and brings nothing: no related file, tag, failure or
    entity in its envelope that the first has not. What tells a time from the day on which it was
    said says something else on another day.
    """
    had, has = first.metadata, again.metadata
    days = {metadata.context.timestamp.astimezone(UTC).date() for metadata in (had, has)}
    files = {(file.path, file.hash) for file in had.context.related_files}
    return (
        fact_key(first) == fact_key(again)
        and set(has.tags) <= set(had.tags)
        and all((file.path, file.hash) in files for file in has.context.related_files)
        and has.validation.failure_hash in (None, had.validation.failure_hash)
        and all(
            set(new or ()) <= set(old or ())
            for (_, new), (_, old) in zip(again.entities, first.entities, strict=True)
        )
        and (
            len(days) == 1
            or not any(each.startswith(RELATIVE_DATE) for each in again.findings or ())
        )
    )
