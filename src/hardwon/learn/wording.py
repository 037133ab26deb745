"""Whether two texts say the same: a measure of their words. No I/O."""

from __future__ import annotations

import re
from typing import Final

from hardwon.learn.canonical import canonical

SAME_FROM: Final = 0.8
"""From this share of common words on two texts may be near-duplicates."""

_WORD: Final = re.compile(r"\w+(?:['\u2019]t\b)?")
TURNING: Final = frozenset(
    "not no never none nor without avoid dont don't cannot can't isn't doesn't won't unless except instead before after "
    "always only disable enable remove add increase decrease less more".split()
)
"""Words that turn a sentence into its opposite: texts that differ in one of them are not the same."""

WORDS_MIN: Final = 3  # shorter texts are the same only when they are equal
LITTLE: Final = frozenset("a an the to of in on at for and or is are was were be it this that with by as".split())

Words = tuple[str, ...]


def all_words_in(folded: str) -> list[str]:
    """Every word of a canonical text."""
    return _WORD.findall(folded)


def words_of(text: str) -> Words:
    return tuple(word for word in all_words_in(canonical(text)) if word not in LITTLE)


def say_the_same(one: Words, other: Words) -> bool:
    """One is the other with a few words more, in the same order. A word in another's place (another host, another file) makes
    another text, and so does a number more, or a word that turns the meaning round."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < WORDS_MIN:
        return shorter == longer and bool(shorter)
    if len(shorter) < SAME_FROM * len(longer):
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
    return not any(word in TURNING or any(char.isdigit() for char in word) for word in more)
