"""Knowledge: tallies that are added to when a record comes in, and taken from when it goes.

Adding commutes. Taking back subtracts; only where the record that goes was the newest or the best of its tally, that tally is
counted again from the records of its day and author.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, Final

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.learn.odds import Share
from hardwon.learn.tallies import (
    APPLIED,
    FAILED,
    KIND_OF_SCOPE,
    LEVELS,
    SUCCEEDED,
    TEACHING_STATUSES,
    RecordCounts,
    Tally,
    TallyKey,
    levels_of,
    sum_counts,
    tallies_of,
)
from hardwon.records.kinds import VOUCHED_STATUSES
from hardwon.store.phrases import rolled_back, trusted_authors
from hardwon.store.rows import original_of
from hardwon.store.types import Bound, Daily, DayTotal, Dialect, Session, Stored, Total, Values

_PLACE: Final = "project_id, scope, key, item, day, author"
_LEVELS: Final = [f"level{level}" for level in range(LEVELS)]
_FIGURES: Final = ", ".join(["vouched", "total", "best", "last_us", "last_id", *_LEVELS])
_TEXTS: Final = ("project_id", "scope", "key", "item", "author", "last_id")
_COLUMNS: Final = {name: "text" if name in _TEXTS else "bigint" for name in f"{_PLACE}, {_FIGURES}".split(", ")}
_SUMS: Final = ["vouched", "total", *_LEVELS]
_TIMES: Final = f"({' + '.join(_LEVELS)})"
_WHERE_PLACE: Final = " AND ".join(f"{name} = ?{number}" for number, name in enumerate(_PLACE.split(", "), 1))
_TASK_SCOPES: Final = ("score", "works", "avoid", "card")  # taught by episodes whose task is the key
_HALF_LIVES_MAX: Final = 1_000  # after so many a weight is next to nothing; after a few more no number can hold it


@cache
def _adding(dialect: Dialect, table: str) -> str:
    sums = "".join(f"{name} = {table}.{name} + excluded.{name}, " for name in _SUMS)
    return (
        f"ON CONFLICT ({_PLACE}) DO UPDATE SET {sums}best = {dialect.greatest}({table}.best, excluded.best), "
        f"last_us = {dialect.greatest}({table}.last_us, excluded.last_us), last_id = CASE WHEN (excluded.last_us, "
        f"excluded.last_id) > ({table}.last_us, {table}.last_id) THEN excluded.last_id ELSE {table}.last_id END"
    )


def add(session: Session, dialect: Dialect, taught: Iterable[RecordCounts], table: str = "tally") -> None:
    """Counts what these records teach."""
    tallies = sum_counts(taught)
    if tallies:
        # In the order of the table, so that neighbours are found on the same page.
        rows = [(*place, *figures) for place, figures in sorted(tallies.items())]
        dialect.insert_many(session, table, _COLUMNS, rows, _adding(dialect, table))


def change_status(session: Session, dialect: Dialect, taught: RecordCounts, status: str) -> None:
    """Counts a record as its new status says; its row has it already."""
    if taught.status in TEACHING_STATUSES and status in TEACHING_STATUSES:
        more = (status in VOUCHED_STATUSES) - (taught.status in VOUCHED_STATUSES)
        for place, (_, _, _, _, _, *levels) in sum_counts([taught]).items() if more else ():
            # A record may teach one thing at two levels: of its actions some worked and some failed.
            bound = Bound(place)
            session.run(f"UPDATE tally SET vouched = vouched + {bound.add(more * sum(levels))} WHERE {_WHERE_PLACE}", bound)
    else:
        add(session, dialect, [taught._replace(status=status)])
        take_back(session, [taught])


def take_back(session: Session, taught: Iterable[RecordCounts]) -> None:
    """Uncounts what records taught that are gone, or that have another status by now."""
    lost_last: list[TallyKey] = []
    lost_best: list[TallyKey] = []
    for place, figures in sum_counts(taught).items():
        vouched, total, best, _, last_id, *levels = figures
        kept = session.first(f"SELECT {_TIMES}, best, last_id FROM tally WHERE {_WHERE_PLACE}", place)
        if kept is None:
            continue  # a memory whose tallies were damaged: doctor says so, and rebuild counts again
        times, kept_best, kept_last_id = kept
        if times <= sum(levels):
            session.run(f"DELETE FROM tally WHERE {_WHERE_PLACE}", place)
            continue
        bound = Bound(place)
        taken = zip(_SUMS, (vouched, total, *levels), strict=True)
        less = ", ".join(f"{name} = {name} - {bound.add(figure)}" for name, figure in taken)
        session.run(f"UPDATE tally SET {less} WHERE {_WHERE_PLACE}", bound)
        if best and kept_best == best:
            lost_best.append(place)
        elif last_id and kept_last_id == last_id:
            lost_last.append(place)
    for places, until_found in ((lost_last, True), (lost_best, False)):
        _find_again(session, places, until_found)


def _find_again(session: Session, places: Iterable[TallyKey], until_found: bool) -> None:
    """The newest record of each tally, and its best value, from the records of its day and author, newest first. Where only
    the newest is missing, the search ends as soon as it is found."""
    groups: dict[tuple[str, str, int, str, str | None], set[TallyKey]] = {}
    for place in places:
        project, scope, key, _, day, author = place
        task = key if scope in _TASK_SCOPES else None
        groups.setdefault((project, KIND_OF_SCOPE[scope], day, author, task), set()).add(place)
    for (project, kind, day, author, task), wanted in groups.items():
        where = "project_id = ?1 AND kind IN (?2, 'cleaned') AND author = ?3 AND at_us >= ?4 AND at_us < ?5"
        bound = Bound([project, kind, author, day * limits.DAY_US, (day + 1) * limits.DAY_US])
        if task is not None:
            where += f" AND task_id = {bound.add(task)}"
        found: dict[TallyKey, list[Any]] = {}  # best, last_us, last_id
        for taught in taught_where(session, where, bound, newest_first=True):
            for lesson in taught.increments:
                place = _place(taught, lesson)
                if place in wanted:
                    figures = found.setdefault(place, [0, taught.at_us, taught.id])
                    figures[0] = max(figures[0], lesson.value)
            if until_found and len(found) == len(wanted):
                break
        for place, (best, last_us, last_id) in found.items():
            bound = Bound(place)
            changes = f"last_us = {bound.add(last_us)}, last_id = {bound.add(last_id)}"
            if not until_found:
                changes += f", best = {bound.add(best)}"
            session.run(f"UPDATE tally SET {changes} WHERE {_WHERE_PLACE}", bound)


def _place(taught: RecordCounts, lesson: Any) -> TallyKey:
    day = taught.at_us // limits.DAY_US
    return taught.project_id, lesson.scope, lesson.key, lesson.item, day, taught.author


def taught_where(session: Session, where: str, values: Values, *, newest_first: bool = False) -> Iterator[RecordCounts]:
    """What the records that pass a condition teach, as far as they can be read."""
    teaching = ", ".join(f"'{status}'" for status in TEACHING_STATUSES)
    sql = (
        "SELECT project_id, author, status, id, kind, at_us, body, digest, validation FROM record "
        f"WHERE {where} AND status IN ({teaching}){' ORDER BY at_us DESC, id DESC' if newest_first else ''}"
    )
    for project, author, status, *stored in session.each(sql, values):
        try:
            record = original_of(Stored(*stored))
        except DamagedError:  # doctor names it
            continue
        yield RecordCounts(project, author, record.at_us, record.id, status, tallies_of(record))


# --- counting everything again ----------------------------------------------------------------------------------


def _count_afresh(session: Session, dialect: Dialect, project: str) -> None:
    """Fills a table of this session, `fresh`, with what the project's records teach."""
    dialect.make_fresh_tallies(session)
    found = taught_where(session, "project_id = ?1", (project,))
    while batch := list(islice(found, limits.BATCH_ROWS)):
        add(session, dialect, batch, "fresh")


def count_differing(session: Session, dialect: Dialect, project: str) -> int:
    """How many tallies are not what the records add up to."""
    _count_afresh(session, dialect, project)
    kept, fresh = (
        f"SELECT {_PLACE}, {_FIGURES} FROM tally WHERE project_id = ?1",
        f"SELECT {_PLACE}, {_FIGURES} FROM fresh",
    )
    sql = f"SELECT 1 FROM ({kept} EXCEPT {fresh}) AS kept_only UNION ALL SELECT 1 FROM ({fresh} EXCEPT {kept}) AS fresh_only"
    (differing,) = session.first(f"SELECT count(*) FROM ({sql}) AS differing", (project,)) or (0,)
    session.run("DROP TABLE fresh")
    return int(differing)


def recount(session: Session, dialect: Dialect, project: str) -> None:
    """Makes the project's tallies what its records add up to."""
    _count_afresh(session, dialect, project)
    session.run("DELETE FROM tally WHERE project_id = ?1", (project,))
    session.run(f"INSERT INTO tally ({_PLACE}, {_FIGURES}) SELECT {_PLACE}, {_FIGURES} FROM fresh")
    session.run("DROP TABLE fresh")


# --- reading ----------------------------------------------------------------------------------------------------


def _sums_of(scope: str) -> str:
    return ", ".join(f"sum({name})" for name in _LEVELS[: levels_of(scope)])


def _most_counted_items(scope: str, here: str, most: str) -> str:
    times = _times_of(scope)
    return f"item IN (SELECT item FROM tally WHERE {here} GROUP BY item ORDER BY sum{times} DESC, item LIMIT {most})"


def _times_of(scope: str) -> str:
    """As _TIMES, without the levels that nothing of the scope is at."""
    return f"({' + '.join(_LEVELS[: levels_of(scope)])})"


@cache
def _trusted_under_key(dialect: Dialect) -> str:
    return f"project_id = ?1 AND scope = ?2 AND key = ?3 AND {trusted_authors(dialect)}"


def daily(session: Session, dialect: Dialect, project: str, scope: str, key: str, items_max: int | None) -> list[Daily]:
    here = _trusted_under_key(dialect)
    chosen = "" if items_max is None else f" AND {_most_counted_items(scope, here, '?4')}"
    sql = f"SELECT item, day, {_sums_of(scope)} FROM tally WHERE {here}{chosen} GROUP BY item, day ORDER BY item, day"
    given = (project, scope, key, *(() if items_max is None else (items_max,)))
    return [Daily(item, day, tuple(levels)) for item, day, *levels in session.select(sql, given)]


def shares(
    session: Session, dialect: Dialect, project: str, scope: str, key: str, today: int, items_max: int | None
) -> list[tuple[str, Share]]:
    # Bounded, because PostgreSQL refuses what is too small.
    half_lives = f"{dialect.greatest}(0, ?4 - day) / CAST(?5 AS double precision)"
    weight = f"pow(2.0, -{dialect.least}({half_lives}, {_HALF_LIVES_MAX}))"
    tried = "(level0 + level1 + level2)"
    bound = Bound([project, scope, key, today, limits.HALF_LIFE_DAYS * 1.0])
    most = "" if items_max is None else f" LIMIT {bound.add(items_max)}"
    sql = (
        f"SELECT item, sum{tried}, sum(level1 + level2), sum(level2), sum({tried} * {weight}), sum(level2 * {weight}) "
        f"FROM tally WHERE {_trusted_under_key(dialect)} GROUP BY item ORDER BY 2 DESC, item{most}"
    )
    return [(item, Share(*figures)) for item, *figures in session.select(sql, bound)]


def newest_taught(
    session: Session, dialect: Dialect, project: str, scope: str, key: str, item_start: str, limit: int
) -> list[tuple[int, str]]:
    sql = (
        f"SELECT last_us, last_id FROM tally WHERE {_trusted_under_key(dialect)} AND item >= ?4 "
        "AND substr(item, 1, length(CAST(?4 AS TEXT))) = ?4 ORDER BY last_us DESC, last_id DESC LIMIT ?5"
    )
    return [(last_us, last_id) for last_us, last_id in session.select(sql, (project, scope, key, item_start, limit))]


_NAMED: Final = 10  # fields of a tally before its levels


def _select_tally(dialect: Dialect, scope: str) -> str:
    figures = ", ".join(["vouched", "total", "best", "last_us", "last_id", *_LEVELS[: levels_of(scope)]])
    return f"SELECT scope, key, item, day, author, {figures} FROM tally WHERE {_trusted_under_key(dialect)}"


_IN_ORDER: Final = "ORDER BY item, day, author"


def _tally(row: tuple[Any, ...]) -> Tally:
    return Tally._make((*row[:_NAMED], row[_NAMED:]))


def tallies(session: Session, dialect: Dialect, project: str, scope: str, key: str, items_max: int) -> list[Tally]:
    chosen = _most_counted_items(scope, _trusted_under_key(dialect), "?4")
    sql = f"{_select_tally(dialect, scope)} AND {chosen} {_IN_ORDER}"
    return [_tally(row) for row in session.select(sql, (project, scope, key, items_max))]


def tallies_of_item(session: Session, dialect: Dialect, project: str, scope: str, key: str, item: str) -> list[Tally]:
    sql = f"{_select_tally(dialect, scope)} AND item = ?4 {_IN_ORDER}"
    return [_tally(row) for row in session.select(sql, (project, scope, key, item))]


def vouched_items(session: Session, dialect: Dialect, project: str) -> set[tuple[str, str]]:
    sql = (
        f"SELECT DISTINCT scope, item FROM tally{dialect.hint('tally_vouched')} WHERE project_id = ?1 "
        f"AND scope IN ('works', 'avoid') AND vouched > 0 AND {trusted_authors(dialect)}"
    )
    return {(str(scope), str(item)) for scope, item in session.select(sql, (project,))}


def most_counted(session: Session, dialect: Dialect, project: str, scope: str, limit: int) -> list[str]:
    sql = (
        f"SELECT key FROM tally WHERE project_id = ?1 AND scope = ?2 AND {trusted_authors(dialect)} "
        f"GROUP BY key ORDER BY sum{_times_of(scope)} DESC, key LIMIT ?3"
    )
    return [key for (key,) in session.select(sql, (project, scope, limit))]


def totals(session: Session, dialect: Dialect, project: str, scope: str, limit: int, since_day: int | None) -> list[Total]:
    bound = Bound([project, scope, limit])
    since = "" if since_day is None else f"AND day >= {bound.add(since_day)} "
    sql = (
        f"SELECT key, item, {_sums_of(scope)} FROM tally WHERE project_id = ?1 AND scope = ?2 AND {trusted_authors(dialect)} "
        f"{since}GROUP BY key, item ORDER BY sum{_times_of(scope)} DESC, key, item LIMIT ?3"
    )
    return [Total(key, item, tuple(levels)) for key, item, *levels in session.select(sql, bound)]


def day_totals(session: Session, dialect: Dialect, project: str, scope: str, keys_max: int, since_day: int) -> list[DayTotal]:
    here = f"project_id = ?1 AND scope = ?2 AND {trusted_authors(dialect)} AND day >= ?4"
    sql = (
        f"SELECT key, day, {_sums_of(scope)} FROM tally WHERE {here} AND key IN "
        f"(SELECT key FROM tally WHERE {here} GROUP BY key ORDER BY sum{_times_of(scope)} DESC, key LIMIT ?3) "
        "GROUP BY key, day ORDER BY key, day"
    )
    found = session.select(sql, (project, scope, keys_max, since_day))
    return [DayTotal(key, day, tuple(levels)) for key, day, *levels in found]


def judged_days(
    session: Session, dialect: Dialect, project: str, since_day: int, until_day: int
) -> dict[tuple[str, int], tuple[int, int]]:
    """How many fixes were verified and not, how many episodes scored at least half and less, by kind and day."""
    half = LEVELS // 2
    good, bad = (" + ".join(f"level{level}" for level in levels) for levels in (range(half, LEVELS), range(half)))
    trusted = trusted_authors(dialect)
    sql = (
        f"SELECT 'fix', day, sum(level{SUCCEEDED}), sum(level{FAILED} + level{APPLIED}) FROM tally "
        f"WHERE project_id = ?1 AND scope = 'fix' AND day >= ?2 AND day < ?3 AND {trusted} GROUP BY day "
        f"UNION ALL SELECT 'episode', day, sum({good}), sum({bad}) FROM tally "
        f"WHERE project_id = ?1 AND scope = 'score' AND day >= ?2 AND day < ?3 AND {trusted} GROUP BY day"
    )
    found = session.select(sql, (project, since_day, until_day))
    return {(kind, day): (int(well), int(badly)) for kind, day, well, badly in found}


def distinct_keys(session: Session, dialect: Dialect, project: str, scope: str) -> int:
    trusted = trusted_authors(dialect)
    sql = f"SELECT count(DISTINCT key) FROM tally WHERE project_id = ?1 AND scope = ?2 AND key <> '' AND {trusted}"
    (found,) = session.first(sql, (project, scope)) or (0,)
    return int(found)


def rolled_back_authors(session: Session, dialect: Dialect, project: str) -> set[str]:
    """The sources that do not count at present."""
    return {author for (author,) in session.select(rolled_back(dialect), (project,))}
