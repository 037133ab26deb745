"""How PostgreSQL words the statements that engines share, and how it is told what to search for."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hardwon.store.postgres.schema import columns_of
from hardwon.store.types import Dialect, Session, Values

IN_BODY_ALONE: Final = ("id", "kind", "content", "metadata")
"""Keys of experiences that no column has beside: nobody asks for them often, and they are long."""

_IN_BODY_ALONE: Final = ", ".join(f"'{name}'" for name in IN_BODY_ALONE)
ONCE: Final = ":"
# before a term in the index, where a text has the term at least so often
_TIMES: Final = (ONCE, "2", "3", "4")


class PostgresDialect(Dialect):
    """Every project has a schema of its own, so that row numbers are those of one project."""

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

    def same_text(self, row: str) -> str:
        return f"record_text.seq = {row}.seq"

    def gathered(self, value: str, order: str) -> str:
        return f"coalesce(json_agg({value} ORDER BY {order}), '[]')::text"

    def said(self, event: str, name: str) -> str:
        return f"{event}.said_{name}"

    def given(self, name: str) -> str:
        return f"r.extra ->> {name}"

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
        session.run("CREATE TEMP TABLE fresh (LIKE tally INCLUDING ALL) ON COMMIT DROP")

    def insert_many(
        self,
        session: Session,
        table: str,
        columns: Mapping[str, str],
        rows: Iterable[Values],
        also: str,
    ) -> None:
        kept = {name: kind for name, kind in columns.items() if name != "project_id"}
        session.run(
            f"INSERT INTO {table} ({', '.join(kept)}) SELECT u.* "
            f"FROM json_to_recordset(?1::json) AS u ({columns_of(kept)}) {also}",
            (as_json(dict(zip(columns, row, strict=True)) for row in rows),),
        )


POSTGRES: Final = PostgresDialect()


def as_expression(glob: str) -> str:
    """The regular expression for a glob as SQLite has it: `*`, `?`, `[…]` and `[^…]`. A class that
    is never closed matches nothing.
    """
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
    """The class of characters whose opening bracket stands right before this place, and where it
    ends.
    """
    other = glob.startswith("^", place)
    place += other
    # a bracket that comes first is one of the characters, and begins no range
    first = glob.startswith("]", place)
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


def as_json(rows: Iterable[Mapping[str, Any]]) -> str:
    """Many rows as one parameter: arrays take the driver several times as long."""
    return json.dumps(list(rows), ensure_ascii=False, separators=(",", ":"))


# --- terms ---


def as_vector(words: Sequence[str]) -> str:
    """What is indexed of a text: each term once, once more where the text has it twice, three
    times, more often. Terms have no quotes or backslashes in them: `text.terms` makes them.
    """
    found = [f"'{ONCE}{term}'" for term in dict.fromkeys(words)]
    if len(found) < len(words):
        for term, times in Counter(words).items():
            found += [f"'{sign}{term}'" for sign in _TIMES[1:times]]
    return " ".join(found)


def as_queries(terms: Iterable[str]) -> list[tuple[str, str, int]]:
    """Each term, what to search for to find it, and how often a text that is found has it at
    least.
    """
    return [
        (term, f"'{sign}{term}'", times) for term in terms for times, sign in enumerate(_TIMES, 1)
    ]
