"""What a search shows of a record: where its text has the words that were asked for, found by the
search's own rules.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.text.terms import TermMatch, matches


class Piece(NamedTuple):
    """Some text; `marked` where it is a word that was asked for."""

    text: str
    marked: bool = False


def marked(text: str, terms: Collection[str]) -> list[Piece]:
    """A whole text in pieces."""
    return _cut(text, list(matches(text, terms)) if terms else [])


def snippet(text: str, terms: Collection[str]) -> list[Piece]:
    """The part of a text that has most of these terms; its beginning where it has none."""
    line = " ".join(text[: limits.WEB_SNIPPET_READ_CHARS].split())
    start = _best_start(list(matches(line, terms))) if terms else 0
    if start:
        start = line.rfind(" ", 0, max(start - _BEFORE_CHARS, 0) + 1) + 1
    end = start + limits.WEB_SNIPPET_CHARS
    if end < len(line):
        end = (
            line.rfind(" ", start + limits.WEB_SNIPPET_CHARS // 2, end)
            if " " in line[start:end]
            else end
        )
    shown = line[start:end] if end > start else line[start : start + limits.WEB_SNIPPET_CHARS]
    pieces = marked(shown, terms)
    before = [Piece("… ")] if start else []
    after = (
        [Piece(" …")]
        if start + len(shown) < len(line) or len(text) > limits.WEB_SNIPPET_READ_CHARS
        else []
    )
    return [*before, *pieces, *after]


_BEFORE_CHARS: Final = 60  # what comes before the first match says what it is about


def _best_start(found: list[TermMatch]) -> int:
    """Where the stretch begins that has the most different terms; the first of several."""
    best, start = 0, 0
    for number, first in enumerate(found):
        upto = first.start + limits.WEB_SNIPPET_CHARS - _BEFORE_CHARS
        distinct = len(
            {match.term for match in takewhile(lambda match: match.end <= upto, found[number:])}  # noqa: B023
        )
        if distinct > best:
            best, start = distinct, first.start
    return start


def _cut(text: str, found: list[TermMatch]) -> list[Piece]:
    pieces, last = [], 0
    for match in found:
        pieces += [
            Piece(text[last : match.start]),
            Piece(text[match.start : match.end], marked=True),
        ]
        last = match.end
    return [piece for piece in (*pieces, Piece(text[last:])) if piece.text]
