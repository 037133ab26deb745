"""Whether two texts report the like of a failure, where they are not word for word the same.

Of each only the words that say what failed are compared, as a set, without what differs between two
runs (quoted names, paths, whatever has a digit): what stands around them (how a command ended, the
frames of a traceback, the log) is the same for failures of all kinds. Few words that everybody uses
("no such file") are not enough, unless it is the same program that says them.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.text.outcomes import failure_words, strip_ending
from hardwon.text.terms import ENGLISH, stop_words

# Of all words of both, the share that they have in common.
ALIKE_FROM: Final = 0.4

_TELLING_MIN: Final = 3
_SAYS_LITTLE: Final = frozenset(("no", "not", "such"))

_VARIABLE: Final = re.compile(
    r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`|\u2018[^\u2019\n]{0,200}\u2019"
    r"|\u201c[^\u201d\n]{0,200}\u201d|<[^>\n]{0,200}>|[^\s/\\\d]{0,64}+[/\\\d]\S*"
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_MOST: Final = 0.6
_NAME: Final = re.compile(r"\w+")
_PROGRAM: Final = re.compile(r"\s*([\w.+/-]{1,64}):")


class _Report(NamedTuple):
    """The words that say what failed, those of them that tell something, those of each of their
    lines, and who speaks.
    """

    words: frozenset[str]
    telling: frozenset[str]
    lines: frozenset[frozenset[str]]
    program: str


@lru_cache(maxsize=1_024)
def _report(text: str) -> _Report:
    program = _PROGRAM.match(strip_ending(text).lower())
    lines = [_words_in(line) for line in failure_words(text).splitlines()]
    words = frozenset[str]().union(*lines)
    return _Report(
        words,
        _telling(words),
        frozenset(filter(None, lines)),
        program.group(1) if program else "",
    )


def _words_in(text: str) -> frozenset[str]:
    """Without what differs between two runs."""
    return frozenset(_WORD.findall(_VARIABLE.sub(" ", text.lower())))


def _telling(words: frozenset[str]) -> frozenset[str]:
    return words - stop_words(ENGLISH) - _SAYS_LITTLE


def _shared(one: Set[str], other: Set[str]) -> float:
    return len(one & other) / len(one | other) if one else 0.0


def alike_actions(one: str, other: str) -> float:
    """The share of the names, words and numbers of both that they have in common."""
    a, b = (set(_NAME.findall(text[: limits.ACTION_CHARS_MAX])) for text in (one, other))
    return _shared(a, b)


def holds_most(one: str, other: str) -> bool:
    """Whether one action is another with something more or something else: it holds most of its
    names, and is not the same.
    """
    a, b = (set(_NAME.findall(text[: limits.ACTION_CHARS_MAX])) for text in (one, other))
    return len(b) > 1 and a != b and len(a & b) >= _MOST * len(b)


def alike_cores(one: str, other: str) -> float:
    """How much two cores of errors have in common: as sentences, of as many as the shorter one has,
    and as words.
    """
    a, b = ({part.strip() for part in core.split(". ")} for core in (one, other))
    sentences = len(a & b) / min(len(a), len(b))
    return (sentences + _shared(set(one.split()), set(other.split()))) / 2


def is_telling(text: str) -> bool:
    """Whether it says more than what everybody says ("no such file")."""
    printed = strip_ending(text[: limits.ACTION_CHARS_MAX])
    return len(_telling(_words_in(printed))) >= _TELLING_MIN


def likeness(one: str, other: str) -> float:
    """From 0, nothing to do with each other, to 1, the same failure but for its names. Many are asked
    about the same `other`.
    """
    one, b = one[: limits.ACTION_CHARS_MAX], _report(other[: limits.ACTION_CHARS_MAX])
    plain = one.lower()
    if b.telling and not any(word in plain for word in b.telling):
        return 0.0  # to take it apart takes longer
    a = _report(one)
    if a.lines & b.lines:  # one line of both says just the same
        return 1.0
    share = _shared(a.words, b.words)
    if share < ALIKE_FROM:
        return 0.0
    same_program = a.program and a.program == b.program
    return share if len(a.telling & b.telling) >= _TELLING_MIN or same_program else 0.0
