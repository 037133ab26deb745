"""When a fact says again what another says already, and the key under which the two meet. No I/O.

Rather two records of one thing than one record of two: what is taken for a repetition is not kept as a record of its own. So no
word is weighed here. Two sentences say the same if they have the same words, signs and symbols in the same order, but for white
space, the punctuation between words, the capital letter that begins a sentence, and a few words that never change a meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, date
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from hardwon import limits
from hardwon.learn.canonical import canonical
from hardwon.model import Entities, Fact

_ARTICLES: Final = frozenset(("a", "an", "the"))
_FILLERS: Final = _ARTICLES | frozenset(("please", "now", "actually", "indeed"))
"""No sentence says something else without them. Not among them: words that narrow ("just"), weigh ("really") or tell a time."""

_ANSWERS: Final = frozenset(("no", "not", "never", "yes"))
"""Set off from the rest they answer it: "No, retries are needed" is the opposite of "No retries are needed"."""

_BULLET: Final = re.compile(r"[-*\u2022]\s")
_TRAILING: Final = re.compile(r"[.,;]+\Z")
_TRAILING_OF_WORDS: Final = re.compile(r"(?<=[^\W\d_]{2})[:!.,;]+\Z")  # "C:" is a drive, and "5!" is not 5
_ENDS_SENTENCE: Final = (".", "!", "?", ";")
_APOSTROPHES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


def said(text: str) -> tuple[str, ...]:
    """What two texts that say the same have in common."""
    plain = unicodedata.normalize("NFC", text).translate(_APOSTROPHES).strip()
    if _BULLET.match(plain):
        plain = plain[1:]
    words = list(_words(plain))
    kept = tuple(word for at, word in enumerate(words) if not _says_nothing(words, at))
    return kept or tuple(words) or (plain,)


def _words(text: str) -> Iterator[str]:
    """As they are written, but for the capital letter of a sentence's first word: a name in other letters is another name."""
    begins = True
    tokens = text.split()
    for left, token in enumerate(tokens, 1 - len(tokens)):
        bare = token.strip("`") or token
        word = _TRAILING_OF_WORDS.sub("", bare)
        word = _TRAILING.sub("", word) or bare
        if begins and (len(word) == 1 or word[1:].islower()):
            word = word[0].lower() + word[1:]
        begins = bare.endswith(_ENDS_SENTENCE)
        if left and word in _ANSWERS and len(bare) > len(word):
            word += ","
        yield word


def _says_nothing(words: list[str], at: int) -> bool:
    """An article with no noun behind it is the name of something: "column a is empty"."""
    if words[at] in _ARTICLES:
        return at + 1 < len(words) and words[at + 1] not in _NO_NOUNS
    return words[at] in _FILLERS and not (at and words[at - 1] in _TIED)


_TIED: Final = frozenset("until till by from since not before for only right up than as and or".split())
"""Behind these it is no filler: "until now the pool works"."""

_NO_NOUNS: Final = _FILLERS | frozenset(
    """is are was were be has have had does do did can could will would shall should may might must and or but not in on at of
    to by for from with = == != < > + - * / && ||""".split()
)


def _key(fact_type: str, text: str) -> str:
    return "fact:" + blake2b("\0".join((fact_type, *said(text))).encode(), digest_size=16).hexdigest()  # NUL is in no text


_key_of_short = lru_cache(maxsize=64)(_key)  # a fact that is recorded is asked for twice: whether it is known, and as a row


def fact_key(fact: Fact) -> str:
    """Facts of one type have the same key if they say the same, and only then."""
    key = _key_of_short if len(fact.content) <= limits.LESSON_CHARS_MAX else _key
    return key(fact.fact_type, fact.content)


def same_words(one: Fact, other: Fact) -> bool:
    """Of two facts that say the same: whether nobody would see a difference."""
    return canonical(one.content) == canonical(other.content)


def repeats(first: Fact, again: Fact) -> bool:
    """Whether `again` says what `first` says, and brings nothing: no related file, tag, failure or entity in its envelope that
    the first has not. What tells a time from the day on which it was said says something else on another day."""
    same = fact_key(first) == fact_key(again) and _brings_nothing(first, again)
    from hardwon.learn.sentences import RELATIVE_DATE  # whoever compares facts has read them; others do without

    return same and (_day(first) == _day(again) or not any(each.startswith(RELATIVE_DATE) for each in again.findings or ()))


def _day(fact: Fact) -> date:
    return fact.metadata.context.timestamp.astimezone(UTC).date()


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
