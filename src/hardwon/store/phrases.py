"""Columns and conditions that several shared statements have in common. The project is parameter 1 of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.records.fields import to_us
from hardwon.records.kinds import INTERNAL_KINDS, STATUSES, VOUCHED_STATUSES, Event
from hardwon.search.terms import Filters
from hardwon.store.rows import FIX_KINDS, event_of
from hardwon.store.types import Bound, Cursor, Dialect, Found, Session, Stored

STORED: Final = "r.id, r.kind, r.at_us, r.body, r.digest, r.validation, r.helped, r.hindered"

ORDINARY: Final = "kind NOT IN (" + ", ".join(f"'{kind}'" for kind in INTERNAL_KINDS) + ")"
"""What was tried or found: all that a reader gets who names no kind."""

FIXES: Final = "kind IN (" + ", ".join(f"'{kind}'" for kind in FIX_KINDS) + ")"
"""What fix history counts."""

STREAM: Final = f"SELECT {STORED} FROM record r WHERE r.project_id = ?1 ORDER BY r.at_us, r.id"
EVENTS: Final = "SELECT body FROM event WHERE project_id = ?1 ORDER BY at_us, id"
"""Everything of a project, oldest first."""

_IN_EFFECT: Final = "(" + ", ".join(f"'{status}'" for status in VOUCHED_STATUSES) + ")"
_EQUAL_COLUMNS: Final = ("kind", "outcome", "tool", "task_id", "model", "issue_type", "status", "author")


@cache
def rolled_back(dialect: Dialect) -> str:
    """Selects the sources that were rolled back."""
    return (
        f"SELECT substr(k.key, 10) FROM record_key k JOIN record d ON {dialect.same_row('d', 'k')} WHERE k.project_id = ?1 "
        f"AND k.key >= 'rollback:' AND k.key < 'rollback;' AND d.status IN {_IN_EFFECT}"
    )


@cache
def trusted_authors(dialect: Dialect) -> str:
    """Leaves out the sources that were rolled back."""
    return f"author NOT IN ({rolled_back(dialect)})"


@cache
def trusted(dialect: Dialect) -> str:
    """Leaves out of the records `r` what is archived, and the sources that were rolled back."""
    return f"r.status <> 'archived' AND r.{trusted_authors(dialect)}"


def undone(dialect: Dialect, event: str) -> str:
    """Whether somebody took an event back."""
    return (
        f"EXISTS (SELECT 1 FROM event u WHERE u.project_id = {event}.project_id AND u.record_id = {event}.record_id "
        f"AND u.kind = 'undone' AND {dialect.said('u', 'undoes')} = {event}.id)"
    )


def _votes(dialect: Dialect, level: str) -> str:
    """How many attempts that recalled a record turned out so; an author has three votes, one that was rolled back none."""
    return (
        f"(SELECT coalesce(sum({dialect.least}(v.votes, {limits.VOTES_OF_AUTHOR_MAX})), 0) FROM (SELECT sum({level}) AS votes "
        "FROM tally t WHERE t.project_id = r.project_id AND t.scope = 'credit' AND t.key = r.id "
        f"AND t.{trusted_authors(dialect)} GROUP BY t.author) v)"
    )


@cache
def credited(dialect: Dialect) -> tuple[str, str]:
    """How often the record `r` helped, and did not, as credited and as attempts turned out that recalled it."""
    return f"r.helped + {_votes(dialect, 'level1')}", f"r.hindered + {_votes(dialect, 'level0')}"


@cache
def found_columns(dialect: Dialect, *, votes: bool = True) -> str:
    """What `found` makes a hit of, from `record r` and `record_text`. Without votes where nobody ever voted: they cost time."""
    helped, hindered = credited(dialect) if votes else ("r.helped", "r.hindered")
    session = (
        f"(SELECT substr(s.key, 9) FROM record_key s WHERE {dialect.same_row('s', 'r')} "
        "AND s.key >= 'session:' AND s.key < 'session;' LIMIT 1)"
    )
    return f"{STORED}, r.author, r.status, {dialect.solved}, record_text.terms, {session}, {helped}, {hindered}"


def found(row: Sequence[Any]) -> Found:
    *stored, author, status, good, terms, session, helped, hindered = row
    kept = Stored._make(stored)
    if status not in STATUSES or not isinstance(author, str) or not isinstance(terms, str):
        raise DamagedError(f"record {kept.id} is not what was written: run doctor to see how much is, and restore a backup")
    worked = None if good is None else bool(good)
    return Found(kept, author, status, worked, terms, session or "", helped, hindered)


def where(dialect: Dialect, project: str, filters: Filters) -> tuple[str, Bound]:
    """Conditions from our own constants; what the caller gave is bound, never written into the statement."""
    bound = Bound([project])
    conditions = ["r.project_id = ?1"]
    if filters.kind is None:
        conditions.append(f"r.{ORDINARY}")
    for column in _EQUAL_COLUMNS:
        value = getattr(filters, column)
        if value is not None:
            conditions.append(f"r.{column} = {bound.add(value)}")
    if filters.key is not None:
        name, _, value = filters.key.partition("=")
        conditions.append(dialect.has_key(bound.add(name), bound.add(value)))
    if filters.since is not None:
        conditions.append(f"r.at_us >= {bound.add(to_us(filters.since))}")
    if filters.until is not None:
        conditions.append(f"r.at_us < {bound.add(to_us(filters.until))}")
    if filters.tag is not None:
        conditions.append(f"r.seq IN (SELECT seq FROM record_tag WHERE project_id = ?1 AND tag = {bound.add(filters.tag)})")
    if filters.path is not None:
        glob = filters.path.replace("[!", "[^")  # both say the same in a glob; engines know the second
        matches = dialect.matches_glob("path", bound.add(dialect.glob(glob)))
        conditions.append(f"r.seq IN (SELECT seq FROM record_file WHERE project_id = ?1 AND {matches})")
    return " AND ".join(conditions), bound


def searchable(dialect: Dialect, project: str, filters: Filters) -> tuple[str, Bound]:
    """As `where`; archived records and rolled-back sources only where the filters ask for them."""
    conditions, bound = where(dialect, project, filters)
    if filters.any_standing:
        return conditions, bound
    if filters.status is None:
        conditions += " AND r.status <> 'archived'"
    if filters.author is None:
        conditions += f" AND r.{trusted_authors(dialect)}"
    return conditions, bound


def page(
    session: Session, dialect: Dialect, project: str, filters: Filters, before: Cursor | None, limit: int, *, only_trusted: bool
) -> list[Stored]:
    """As `Store.page` and `Writer.page` promise."""
    # The end of the time is left out where the cursor lies before it: SQLite would enter the index there, every time.
    is_past_it = before is not None and filters.until is not None and before.at_us < to_us(filters.until)
    asked = filters.altered(until=None) if is_past_it else filters
    few = asked.tag is not None and _few_have(session, project, asked.tag)
    conditions, bound = where(dialect, project, asked.altered(tag=None) if few else asked)
    source = "record r"
    if few:  # from the few rows of the tag to their records, not through all records in the order of time
        source = f"record_tag g {dialect.join} record r ON {dialect.same_row('r', 'g')}"
        conditions += f" AND g.project_id = ?1 AND g.tag = {bound.add(asked.tag)}"
    if only_trusted:
        conditions += f" AND {trusted(dialect)}"
    if before:
        conditions += f" AND (r.at_us, r.id) < ({bound.add(before.at_us)}, {bound.add(before.id)})"
    sql = f"SELECT {STORED} FROM {source} WHERE {conditions} ORDER BY r.at_us DESC, r.id DESC LIMIT {bound.add(limit)}"
    return [Stored._make(row) for row in session.select(sql, bound)]


def _few_have(session: Session, project: str, tag: str) -> bool:
    most = limits.TAGGED_SORTED_MAX
    rows = f"SELECT 1 FROM record_tag WHERE project_id = ?1 AND tag = ?2 LIMIT {most + 1}"
    return len(session.select(rows, (project, tag))) <= most


def stored_of(session: Session, project: str, record_id: str) -> Stored | None:
    row = session.first(f"SELECT {STORED} FROM record r WHERE r.project_id = ?1 AND r.id = ?2", (project, record_id))
    if row and row[0] != record_id:
        raise DamagedError(
            f"the index leads from {record_id} to another record: the memory is damaged. Run doctor, and restore a backup"
        )
    return Stored._make(row) if row else None


def events_of(session: Session, project: str, record_id: str) -> list[Event]:
    sql = "SELECT body FROM event WHERE project_id = ?1 AND record_id = ?2 ORDER BY at_us, id"
    return [event_of(body) for (body,) in session.select(sql, (project, record_id))]


def embedder_of(session: Session, project: str) -> tuple[str, int] | None:
    """The embedder, and the dimension, of the vectors that are kept."""
    row = session.first("SELECT name, dimension FROM embedder WHERE project_id = ?1", (project,))
    return (row[0], row[1]) if row else None
