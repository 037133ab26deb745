"""When a fact says again what another says already, and the keys under which the two meet. No I/O.

Rather two records of one thing than one record of two: what is taken for a repetition is not kept as a record of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple
from zlib import crc32

from hardwon import limits
from hardwon.learn.canonical import canonical
from hardwon.learn.wording import LITTLE, SAME_FROM, TURNING, WORDS_MIN, Words, all_words_in, say_the_same
from hardwon.model import Entities, Fact

_AROUND: Final = "()[]{},;:.!?\"'`*\u2018\u2019\u201c\u201d"
_NUMBER: Final = re.compile(r"[-+\u2212]?\d[\w.,:%/+-]*")
_PROPER: Final = re.compile(r"\b[^\W\d_]*[A-Z]\w*")
_OPPOSITES: Final = TURNING | frozenset(
    """on off in out to from up down over under above below until since first last true false old new left right minimum
    maximum min max least most all some every any often rarely seldom hardly sometimes usually fails failed fail succeeds
    succeeded works worked broken allowed forbidden with was were will would could should may might must few many both either
    neither deprecated removed added missing wrong unlike against during while if when""".split()
)
"""Words that make it another fact, where one sentence has them and the other does not."""


class _Said(NamedTuple):
    """A sentence as it is compared. Whatever repeats it has the same `frame`: its type, numbers, and words that turn it round.
    No `words`: it is too short, or too long, to be told in others."""

    frame: str
    words: Words
    keys: tuple[str, ...]


def _said(fact: Fact) -> _Said:
    if len(fact.content) <= limits.LESSON_CHARS_MAX:
        return _short(fact.fact_type, fact.content)
    frame = _digest(fact.fact_type, _folded(fact.content))
    return _Said(frame, (), (f"fact:{frame}",))


@lru_cache(maxsize=64)  # a fact that is recorded is asked for twice: whether it is known, and as a row
def _short(fact_type: str, text: str) -> _Said:
    folded = canonical(text)
    everything = all_words_in(folded)
    frame = _digest(fact_type, *numbers_of(text), "", *sorted(word for word in everything if word in _OPPOSITES))
    words = tuple(word for word in everything if word not in LITTLE)
    if len(words) < WORDS_MIN:
        return _Said(frame, (), (f"fact:{frame}:{_digest(folded)}",))
    more = int((1 - SAME_FROM) * len(words) + _ROUNDING)
    first = sorted({crc32(word.encode()) for word in words})[: min(more + 1, limits.FACT_KEYS_MAX)]
    return _Said(frame, words, tuple([f"fact:{frame}:{number:08x}" for number in first]))


_ROUNDING: Final = 1e-9


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()  # NUL is in no text


def _folded(text: str) -> str:
    """Of a long text the end counts as well, which `canonical` cuts off."""
    return canonical(text) if len(text) <= limits.LESSON_CHARS_MAX else " ".join(text.split()).casefold()


def fact_keys(fact: Fact) -> tuple[str, ...]:
    """Facts that say the same have at least one of these in common. One has the words of the other and at most a fifth more;
    so of its words that come first in an order of their own, one more than that, the first that both have is the other's first
    of all. Beyond `FACT_KEYS_MAX` of them it is only very likely."""
    return _said(fact).keys


def same_words(one: Fact, other: Fact) -> bool:
    return _folded(one.content) == _folded(other.content)


def repeats(first: Fact, again: Fact) -> bool:
    """Whether `again` says what `first` says, and nothing more: no other name, number or opposite in its sentence, and no
    related file, tag or failure in its envelope that the first has not."""
    return _same_sentence(first, again) and _brings_nothing(first, again)


def _brings_nothing(first: Fact, again: Fact) -> bool:
    had, has = first.metadata, again.metadata
    files = {(file.path, file.hash) for file in had.context.related_files}
    return (
        set(has.tags) <= set(had.tags)
        and all((file.path, file.hash) in files for file in has.context.related_files)
        and has.validation.failure_hash in (None, had.validation.failure_hash)
        and all(map(_within, _names_in(again.entities), _names_in(first.entities)))
    )


def _within(has: Iterable[str], had: Iterable[str]) -> bool:
    return set(has) <= set(had)


def _names_in(entities: Entities) -> tuple[list[str], ...]:
    return entities.files, entities.functions, entities.libraries, entities.error_codes or []


def _same_sentence(first: Fact, again: Fact) -> bool:
    one, other = _said(first), _said(again)
    if one.frame != other.frame:
        return False
    if same_words(first, again):
        return True
    same_names = _names(first.content) == _names(again.content)
    return same_names and bool(one.words and other.words) and say_the_same(one.words, other.words)


def numbers_of(text: str) -> list[str]:
    """Every number in a text, with its sign and whatever is written onto it."""
    return sorted(number.rstrip(".,:/-") for number in _NUMBER.findall(text))


def _names(text: str) -> set[str]:
    """Words that name something, by their look. The first word may have its capital letter from its place."""
    begin = len(text) - len(text.lstrip(_AROUND + " \t\n-"))
    words = [(found.start(), found[0]) for found in _PROPER.finditer(text)]
    return {word.casefold() for at, word in words if at > begin or not word[1:].islower()} | {
        word.strip(_AROUND).casefold() for word in text.split() if _CODE_MARKS.search(word.strip(_AROUND))
    }


_CODE_MARKS: Final = re.compile(r"[\d_./\\:@=]")
