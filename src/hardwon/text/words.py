"""Whether two texts say the same: by one key, whatever their case, spacing or trailing dot, and by
a measure of their words. No I/O.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from hardwon import limits

_AROUND: Final = " \t.,;:!-*•\"'`"


def canonical(text: str, chars_max: int = limits.LESSON_CHARS_MAX) -> str:
    """Case and spacing folded, surrounding punctuation dropped, cut. Spaces are folded before it is
    cut: however much of them somebody puts in between, what comes after is part of what is
    compared.
    """
    words = text.split(None, chars_max)
    if len(text) > chars_max:
        words = [word[:chars_max] for word in words[:chars_max]]
    folded = " ".join(words)
    if not folded.isascii():
        folded = " ".join(unicodedata.normalize("NFKC", folded[: 4 * chars_max]).split())
    return folded.casefold().strip(_AROUND)[:chars_max].strip(_AROUND)


def key_of(*parts: object) -> str:
    """16 hex characters. As JSON, so that no text can pose as two parts or two as one."""
    try:  # of texts, as nearly all are, without the encoder's preparations
        told = f"[{','.join(map(_quote, parts))}]"
    except TypeError:
        told = _encode(parts)
    return blake2b(told.encode(), digest_size=8).hexdigest()


_quote: Final[Callable[[Any], str]] = json.encoder.encode_basestring_ascii  # texts alone
# made once: to make it takes longer than to use it
_encode: Final = json.JSONEncoder(separators=(",", ":"), default=str).encode


def counted(count: int, one: str, several: str = "") -> str:
    """A number and what it counts: `1 memory`, `2 memories`."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def same_action(action: str) -> str:
    """The same for the very same action, but for case and spacing. Quoted values and numbers count:
    another timeout, or another command inside a shell, is another action.
    """
    return _key_of_same(action[: limits.ACTION_CHARS_MAX])


@lru_cache(maxsize=1024)  # agents do the same again and again, and recording asks three times
def _key_of_same(action: str) -> str:
    return key_of("same", spelled_alike(action))


def spelled_alike(action: str) -> str:
    """The same text for the very same action, also where whoever wrote it escaped it for Markdown:
    an underscore needs no escape anywhere else.
    """
    cut = action[: limits.ACTION_CHARS_MAX]
    if "\\_" in cut:
        cut = _MARKDOWN_ESCAPE.sub(r"\1", cut)
    return " ".join(cut.casefold().split())


_MARKDOWN_ESCAPE: Final = re.compile(r"\\([_*<>\[\]#])")


# From this share of common words on two texts may be near-duplicates.
_SAME_FROM: Final = 0.8

_WORD: Final = re.compile(r"\w+(?:['\u2019]t\b)?")
_SHORT_NOT: Final = "ai are ca could did does do had has have is might must need ought sha should was were wo would".split()
# Words that deny what they stand with, or take it back.
NEGATIONS: Final = frozenset(
    """not no never none nor neither nobody nothing nowhere without cannot hardly barely scarcely seldom rarely unable
    impossible incorrectly wrongly falsely supposedly allegedly formerly stop stops stopped stopping refuse refuses refused
    refusing cease ceases ceased lacks lacked prevents prevented nearly almost nicht nie niemals kein keine keinen
    keiner ohne""".split()
) | frozenset(short + end for short in _SHORT_NOT for end in ("n't", "n\u2019t", "nt"))

# Words that turn a sentence into its opposite: texts that differ in one of them are not the same.
_TURNING: Final = NEGATIONS | frozenset(
    """avoid unless except instead before after always only disable disables disabled enable enables enabled remove removes
    removed add adds added increase increases increased decrease decreases decreased less more""".split()
)

_WORDS_MIN: Final = 3  # shorter texts are the same only when they are equal
LITTLE: Final = frozenset(
    "a an the to of in on at for and or is are was were be it this that with by as".split()
)

Words = tuple[str, ...]


def all_words_in(text: str) -> list[str]:
    """Every word of a text, in small letters."""
    return _WORD.findall(text.casefold())


def words_of(text: str) -> Words:
    return tuple(word for word in all_words_in(canonical(text)) if word not in LITTLE)


def say_the_same(one: Words, other: Words) -> bool:
    """One is the other with a few words more, in the same order. A word in another's place (another
    host, another file) makes another text, and so does a number more, or a word that turns the
    meaning round.
    """
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _WORDS_MIN:
        return shorter == longer and bool(shorter)
    if len(shorter) < _SAME_FROM * len(longer):
        return False
    rest = iter(longer)
    more = []
    for word in shorter:
        for found in rest:
            if found == word:
                break
            more.append(found)
        else:
            return False
    more += rest
    return not any(word in _TURNING or any(char.isdigit() for char in word) for word in more)


def spelled(value: object) -> str | None:
    """The one text that a value is routed by, or None where it is nothing that one could be routed
    by (a list, an object). Two values with the same spelling are the same value here: 1, 1.0 and
    "1".
    """
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not value.is_integer():
            return float.__repr__(value)
        value = int(value)
    if isinstance(value, int):
        return (
            int.__repr__(value)
            if value.bit_length() <= limits.ROUTED_NUMBER_CHARS_MAX * 3
            else hex(value)
        )
    return None
