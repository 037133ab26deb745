"""A line of a context, with who stands behind it. The end of every line is our own mark, and nobody
else's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.records.kinds import VIA_IMPORT
from hardwon.text.clean import clean_line
from hardwon.text.terms import Remembered

# How much of an author's name a context shows behind each line.
_AUTHOR_CHARS_SHOWN: Final = 24

# The kinds of lines, in the order of what helps most.
DONE: Final = "done before"
FAILED: Final = "failed before"
RULE: Final = "rule"
KNOWN: Final = "known"
SEEN: Final = "seen"

# The sort of lines that tell what made a failure go away.
CURE: Final = "cure"

# What stands over the lines of a kind, on a page of them.
HEADINGS: Final = {
    DONE: "Done before:",
    FAILED: "Failed before:",
    RULE: "Rules:",
    KNOWN: "Known:",
    SEEN: "Seen:",
}


class Line(NamedTuple):
    """A line with the code that belongs to it, its kind, who taught it, how often somebody vouched
    for that, the records behind it, and keys of what it is `about`: nothing is said twice. `why`
    tells a reader why it is there.

    What was found by its words has a `relevance`: lines that are not about as relevant as the best
    of these take no turns, and come later. Of each `sort` that has
    places so many are said; what was `only_claimed` comes after what was recorded. A line of more
    than `tokens_max` tokens is made `shorter`, where that is possible; `whole` is said instead where
    there is room left in the end. `pool` names the tokens that it shares with others.
    """

    text: str
    kind: str = RULE
    sources: Sequence[str] = ()
    vouched: int = 0
    ids: tuple[str, ...] = ()
    about: frozenset[str] = frozenset()
    why: str = ""
    relevance: float | None = None
    sort: str = ""
    only_claimed: bool = False
    tokens_max: int | None = None
    shorter: Callable[[int], str] | None = None
    pool: str = ""
    whole: str = ""

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it."""
        return self.sources[0] if len(self.sources) == 1 and not self.vouched else None


def ago(at_us: int, now_us: int) -> str:
    """How long it is ago, as one says it."""
    days = max(0, now_us // limits.DAY_US - at_us // limits.DAY_US)
    if days < 2:
        return "yesterday" if days else "today"
    for unit, length in (("year", 365), ("month", 30), ("week", 7)):
        if days >= 2 * length:
            return f"{days // length} {unit}s ago"
    return f"{days} days ago"


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


def _shown_name(author: str) -> str:
    """Without the brackets, and the commas, of our own marks; that it came from elsewhere is never
    cut off.
    """
    name = author.removesuffix(VIA_IMPORT)
    shown = clean_line(name.translate(_MARKS), _AUTHOR_CHARS_SHOWN)
    return shown + author[len(name) :]


shown_name = Remembered(_shown_name).__getitem__
