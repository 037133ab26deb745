"""A line of a context, with who stands behind it. The end of every line is our own mark, and nobody
else's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.text.clean import clean_line


class Line(NamedTuple):
    """A line with the code that belongs to it, who taught it, how often somebody vouched for that,
    the records behind it, and the sentence it makes needless. `place` is where it stands among the
    others.

    Of each `sort` that has places so many are said; what was `only_claimed` comes after what was
    recorded. A line of more than `tokens_max` tokens is made `shorter`, where that is possible.
    `strategy` is the way of fixing something that it is about, and is said once. `pool` names the
    tokens that it shares with others.
    """

    text: str
    sources: Sequence[str] = ()
    vouched: int = 0
    ids: tuple[str, ...] = ()
    instead_of: str = ""
    sort: str = ""
    only_claimed: bool = False
    tokens_max: int | None = None
    shorter: Callable[[int], str] | None = None
    strategy: str = ""
    pool: str = ""
    place: int = 0

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it."""
        return self.sources[0] if len(self.sources) == 1 and not self.vouched else None


def without_mark(line: str) -> str:
    """With other brackets at its end: there stands our own mark, and nobody else's."""
    return _LIKE_A_MARK.sub(lambda found: found.group().translate(_BRACKETS), line)


def command_without_mark(line: str) -> str:
    """The same for commands, in which a bracket with a blank behind it is the shell's own test."""
    return _LIKE_A_MARK.sub(lambda found: _TIGHT_BRACKETS.sub(r"(\1)", found.group()), line)


_LIKE_A_MARK: Final = re.compile(
    r"(?:\s+\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]*)+\W*$"
    r"|(?<=\S)\[(?=[^\[\]]*\b(?:episodes?|sources?|adopted|training memory)\b)[^\[\]]*\]*\W*$"
)
_TIGHT_BRACKETS: Final = re.compile(r"\[(?=\S)([^\[\]]*)\]?")
_BRACKETS: Final = str.maketrans("[]", "()")
_MARKS: Final = str.maketrans("[],", "();")


def sources_mark(sources: Sequence[str], vouched: int) -> str:
    """Who says so, and whether anybody stands behind it."""
    who = shown_name(sources[0]) if len(sources) == 1 else f"{len(sources)} sources"
    return who if vouched else f"{who}?"


def shown_name(author: str) -> str:
    """Without the brackets, and the commas, of our own marks."""
    return clean_line(author.translate(_MARKS), limits.AUTHOR_CHARS_SHOWN)
