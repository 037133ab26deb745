"""How PostgreSQL words the statements that engines share, and how it is told what to search for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from hardwon.store.sql import Dialect, Session

_WEIGHTS: Final = ("", "C", "B", "A")  # of a term that a text has once, twice, three times, more often
IN_BODY_ALONE: Final = ("id", "kind", "content", "metadata")
"""Keys of experiences that no column has beside: nobody asks for them often, and they are long."""

_IN_BODY_ALONE: Final = ", ".join(f"'{name}'" for name in IN_BODY_ALONE)


class PostgresDialect(Dialect):
    """Row numbers are those of one project."""

    least = "least"
    greatest = "greatest"
    join = "JOIN"
    solved = "r.good"

    def hint(self, index: str) -> str:  # noqa: ARG002  # its planner knows how many rows there are
        return ""

    def within(self, value: str, parameter: str) -> str:
        return f"{value} = ANY ({parameter})"

    def listed(self, values: Iterable[Any]) -> list[Any]:
        return list(values)

    def same_row(self, one: str, other: str) -> str:
        return f"{one}.project_id = {other}.project_id AND {one}.seq = {other}.seq"

    def same_text(self, row: str) -> str:
        return self.same_row("record_text", row)

    def said(self, event: str, name: str) -> str:
        return f"{event}.said_{name}"

    def has_key(self, name: str, value: str) -> str:
        return (
            f"CASE WHEN r.kind <> 'experience' THEN false WHEN {name} IN ({_IN_BODY_ALONE}) "
            f"THEN r.body::json ->> {name} = {value} ELSE r.extra ->> {name} = {value} END"
        )

    def matches_glob(self, path: str, parameter: str) -> str:
        return f"{path} ~ {parameter}"

    def glob(self, pattern: str) -> str:
        return as_expression(pattern)

    def make_fresh_tallies(self, session: Session) -> None:
        session.run("DROP TABLE IF EXISTS pg_temp.fresh")
        session.run("CREATE TEMP TABLE fresh (LIKE hardwon.tally INCLUDING ALL) ON COMMIT DROP")


POSTGRES: Final = PostgresDialect()


def as_expression(glob: str) -> str:
    """The regular expression for a glob as SQLite has it: `*`, `?`, `[…]` and `[^…]`. A class that is never closed matches
    nothing."""
    parts: list[str] = []
    place = 0
    while place < len(glob):
        sign = glob[place]
        place += 1
        if sign == "*":
            if parts[-1:] != [".*"]:  # several say no more than one, and take longer
                parts.append(".*")
        elif sign == "?":
            parts.append(".")
        elif sign == "[":
            inner, place = _class_at(glob, place)
            if inner is None:
                return "(?!)"
            parts.append(inner)
        else:
            parts.append(re.escape(sign) if sign.isascii() else sign)
    return f"^(?:{''.join(parts)})$"


def _class_at(glob: str, place: int) -> tuple[str | None, int]:
    """The class of characters whose opening bracket stands right before this place, and where it ends."""
    other = glob.startswith("^", place)
    place += other
    first = glob.startswith("]", place)  # a bracket that comes first is one of the characters, and begins no range
    end = glob.find("]", place + first)
    if end < 0:
        return None, place
    ranges = re.findall(r".-.|.", glob[place + first : end], re.DOTALL)
    inner = "".join(_range(each) for each in ["]"] * first + ranges)
    return f"[{'^' if other else ''}{inner}]", end + 1


def _range(given: str) -> str:
    first, last = given[0], given[-1]
    return f"{_in_class(first)}-{_in_class(last)}" if first < last else _in_class(first)


def _in_class(sign: str) -> str:
    return f"\\{sign}" if sign in "\\[]^-" else sign


# --- terms ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def mark_of(project: str) -> str:
    """Every term in the index begins with it, so that no entry belongs to two projects but by a rare chance."""
    return blake2b(project.encode(), digest_size=4).hexdigest() + ":"


def as_vector(project: str, words: Sequence[str]) -> str:
    """What is indexed of a text. Terms have no quotes or backslashes in them: `recall.terms` makes them."""
    mark = mark_of(project)
    return " ".join(f"'{mark}{term}':1{_WEIGHTS[min(times, len(_WEIGHTS)) - 1]}" for term, times in Counter(words).items())


def as_queries(project: str, terms: Iterable[str]) -> list[str]:
    """Each term as something to search for; joined by `|`, any of them."""
    mark = mark_of(project)
    return [f"'{mark}{term}'" for term in terms]
