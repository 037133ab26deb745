"""Knowledge in SQLite: tallies that are added to when a record comes in, and taken from when it goes.

Adding commutes. Taking back subtracts; only where the record that goes was the newest or the best of its tally, that tally is
counted again from the records of its day and author.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import apsw

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.learn.confidence import Share
from hardwon.learn.lessons import (
    APPLIED,
    DAY_US,
    FAILED,
    KIND_OF_SCOPE,
    LEVELS,
    SUCCEEDED,
    TEACHING_STATUSES,
    Tally,
    TallyKey,
    Taught,
    add_up,
    keys_of,
    lessons_of,
    levels_of,
)
from hardwon.model import INTERNAL_KINDS, VOUCHED_STATUSES
from hardwon.store.contract import Daily, DayTotal, Stored, Total
from hardwon.store.rows import original_of

_PLACE: Final = "project_id, scope, key, item, day, author"
_LEVELS: Final = [f"level{level}" for level in range(LEVELS)]
_FIGURES: Final = ", ".join(["vouched", "total", "best", "last_us", "last_id", *_LEVELS])
_SUMS: Final = ["vouched", "total", *_LEVELS]
_TIMES: Final = f"({' + '.join(_LEVELS)})"
_INSERT: Final = (
    f"({_PLACE}, {_FIGURES}) VALUES ({', '.join('?' * (11 + LEVELS))}) ON CONFLICT ({_PLACE}) DO UPDATE SET "
    + "".join(f"{name} = {name} + excluded.{name}, " for name in _SUMS)
    + "best = max(best, excluded.best), last_us = max(last_us, excluded.last_us), "
    "last_id = iif((excluded.last_us, excluded.last_id) > (last_us, last_id), excluded.last_id, last_id)"
)
_WHERE_PLACE: Final = " AND ".join(f"{name} = ?" for name in _PLACE.split(", "))
_TASK_SCOPES: Final = ("score", "works", "avoid", "card")  # taught by episodes whose task is the key
_BATCH_RECORDS: Final = 1_000

IN_EFFECT: Final = "(" + ", ".join(f"'{status}'" for status in VOUCHED_STATUSES) + ")"
_ROLLED_BACK: Final = (
    "SELECT substr(k.key, 10) FROM record_key k JOIN record d ON d.seq = k.seq WHERE k.project_id = ?1 "
    f"AND k.key >= 'rollback:' AND k.key < 'rollback;' AND d.status IN {IN_EFFECT}"
)
TRUSTED_AUTHORS: Final = f"author NOT IN ({_ROLLED_BACK})"
"""Leaves out the sources that were rolled back; the project is parameter 1."""

ORDINARY: Final = "kind NOT IN (" + ", ".join(f"'{kind}'" for kind in INTERNAL_KINDS) + ")"
"""What was tried or found: all that a reader gets who names no kind."""


def add(connection: apsw.Connection, taught: Iterable[Taught], table: str = "main.tally") -> None:
    """Counts what these records teach."""
    tallies = add_up(taught)
    if tallies:
        # In the order of the table, so that neighbours are found on the same page.
        connection.executemany(
            f"INSERT INTO {table} {_INSERT}", [(*place, *figures) for place, figures in sorted(tallies.items())]
        )


def change_status(connection: apsw.Connection, taught: Taught, status: str) -> None:
    """Counts a record as its new status says; its row has it already."""
    if taught.status in TEACHING_STATUSES and status in TEACHING_STATUSES:
        more = (status in VOUCHED_STATUSES) - (taught.status in VOUCHED_STATUSES)
        for place, (_, _, _, _, _, *levels) in add_up([taught]).items() if more else ():
            # A record may teach one thing at two levels: of its actions some worked and some failed.
            changed = (more * sum(levels), *place)
            connection.execute(f"UPDATE tally SET vouched = vouched + ? WHERE {_WHERE_PLACE}", changed)
    else:
        add(connection, [taught._replace(status=status)])
        take_back(connection, [taught])


def take_back(connection: apsw.Connection, taught: Iterable[Taught]) -> None:
    """Uncounts what records taught that are gone, or that have another status by now."""
    run = connection.execute
    lost_last: list[TallyKey] = []
    lost_best: list[TallyKey] = []
    for place, figures in add_up(taught).items():
        vouched, total, best, _, last_id, *levels = figures
        kept = run(f"SELECT {_TIMES}, best, last_id FROM tally WHERE {_WHERE_PLACE}", place).get
        if kept is None:
            continue  # a memory whose tallies were damaged: doctor says so, and rebuild counts again
        times, kept_best, kept_last_id = kept
        if times <= sum(levels):
            run(f"DELETE FROM tally WHERE {_WHERE_PLACE}", place)
            continue
        less = ", ".join(f"{name} = {name} - ?" for name in _SUMS)
        run(f"UPDATE tally SET {less} WHERE {_WHERE_PLACE}", (vouched, total, *levels, *place))
        if best and kept_best == best:
            lost_best.append(place)
        elif last_id and kept_last_id == last_id:
            lost_last.append(place)
    for places, until_found in ((lost_last, True), (lost_best, False)):
        _find_again(connection, places, until_found)


def _find_again(connection: apsw.Connection, places: Iterable[TallyKey], until_found: bool) -> None:
    """The newest record of each tally, and its best value, from the records of its day and author, newest first. Where only
    the newest is missing, the search ends as soon as it is found."""
    groups: dict[tuple[str, str, int, str, str | None], set[TallyKey]] = {}
    for place in places:
        project, scope, key, _, day, author = place
        task = key if scope in _TASK_SCOPES else None
        groups.setdefault((project, KIND_OF_SCOPE[scope], day, author, task), set()).add(place)
    for (project, kind, day, author, task), wanted in groups.items():
        where = "project_id = ? AND kind IN (?, 'cleaned') AND author = ? AND at_us >= ? AND at_us < ?"
        values: list[Any] = [project, kind, author, day * DAY_US, (day + 1) * DAY_US]
        if task is not None:
            where += " AND task_id = ?"
            values.append(task)
        found: dict[TallyKey, list[Any]] = {}  # best, last_us, last_id
        for taught in taught_where(connection, where, values, newest_first=True):
            for lesson in taught.lessons:
                place = _place(taught, lesson)
                if place in wanted:
                    figures = found.setdefault(place, [0, taught.at_us, taught.id])
                    figures[0] = max(figures[0], lesson.value)
            if until_found and len(found) == len(wanted):
                break
        for place, (best, *last) in found.items():
            if until_found:
                connection.execute(f"UPDATE tally SET last_us = ?, last_id = ? WHERE {_WHERE_PLACE}", (*last, *place))
            else:
                sql = f"UPDATE tally SET best = ?, last_us = ?, last_id = ? WHERE {_WHERE_PLACE}"
                connection.execute(sql, (best, *last, *place))


def _place(taught: Taught, lesson: Any) -> TallyKey:
    day = taught.at_us // DAY_US
    return taught.project_id, lesson.scope, lesson.key, lesson.item, day, taught.author


def taught_where(
    connection: apsw.Connection, where: str, values: Iterable[Any], *, newest_first: bool = False
) -> Iterator[Taught]:
    """What the records that pass a condition teach, as far as they can be read."""
    teaching = ", ".join(f"'{status}'" for status in TEACHING_STATUSES)
    sql = (
        "SELECT project_id, author, status, id, kind, at_us, body, digest, validation FROM record "
        f"WHERE {where} AND status IN ({teaching}){' ORDER BY at_us DESC, id DESC' if newest_first else ''}"
    )
    for project, author, status, *stored in connection.execute(sql, tuple(values)):
        try:
            record = original_of(Stored(*stored))
        except DamagedError:  # doctor names it
            continue
        yield Taught(project, author, record.at_us, record.id, status, lessons_of(record))


# --- counting everything again ----------------------------------------------------------------------------------


def _count_afresh(connection: apsw.Connection, project: str) -> None:
    """Fills temp.fresh with what the project's records teach."""
    connection.execute("DROP TABLE IF EXISTS temp.fresh").fetchall()
    definition = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'tally'").get
    connection.execute(definition.replace("CREATE TABLE tally", "CREATE TABLE temp.fresh", 1)).fetchall()
    batch: list[Taught] = []
    for taught in taught_where(connection, "project_id = ?", (project,)):
        batch.append(taught)
        if len(batch) == _BATCH_RECORDS:
            add(connection, batch, "temp.fresh")
            batch = []
    add(connection, batch, "temp.fresh")


def count_differing(connection: apsw.Connection, project: str) -> int:
    """How many tallies are not what the records add up to."""
    _count_afresh(connection, project)
    kept, fresh = (
        f"SELECT {_PLACE}, {_FIGURES} FROM main.tally WHERE project_id = ?1",
        f"SELECT {_PLACE}, {_FIGURES} FROM temp.fresh",
    )
    sql = f"SELECT count(*) FROM (SELECT * FROM ({kept} EXCEPT {fresh}) UNION ALL SELECT * FROM ({fresh} EXCEPT {kept}))"
    differing: int = connection.execute(sql, (project,)).get
    connection.execute("DROP TABLE temp.fresh").fetchall()
    return differing


def recount(connection: apsw.Connection, project: str) -> None:
    """Makes the project's tallies what its records add up to."""
    _count_afresh(connection, project)
    connection.execute("DELETE FROM main.tally WHERE project_id = ?", (project,))
    connection.execute(f"INSERT INTO main.tally ({_PLACE}, {_FIGURES}) SELECT {_PLACE}, {_FIGURES} FROM temp.fresh")
    connection.execute("DROP TABLE temp.fresh").fetchall()


def derive_knowledge(connection: apsw.Connection) -> None:
    """For a file written by a version that learned otherwise, or not at all: exact keys and tallies of every record."""
    connection.execute("DELETE FROM record_key")
    for (project,) in connection.execute("SELECT DISTINCT project_id FROM record").fetchall():
        recount(connection, str(project))
    sql = "SELECT seq, project_id, id, kind, at_us, body, digest, validation FROM record"
    for seq, project, *stored in connection.execute(sql):
        try:
            keys = keys_of(original_of(Stored(*stored)))
        except DamagedError:
            continue
        for key in keys:
            connection.execute("INSERT INTO record_key VALUES (?, ?, ?)", (seq, key, project))


# --- reading ----------------------------------------------------------------------------------------------------


def _sums_of(scope: str) -> str:
    return ", ".join(f"sum({name})" for name in _LEVELS[: levels_of(scope)])


def _most_counted_items(scope: str, here: str, most: str) -> str:
    times = _times_of(scope)
    return f"item IN (SELECT item FROM tally WHERE {here} GROUP BY item ORDER BY sum{times} DESC, item LIMIT {most})"


def _times_of(scope: str) -> str:
    """As _TIMES, without the levels that nothing of the scope is at."""
    return f"({' + '.join(_LEVELS[: levels_of(scope)])})"


_UNDER_KEY: Final = f"project_id = ?1 AND scope = ?2 AND key = ?3 AND {TRUSTED_AUTHORS}"


def daily(connection: apsw.Connection, project: str, scope: str, key: str, items_max: int | None) -> list[Daily]:
    chosen = "" if items_max is None else f" AND {_most_counted_items(scope, _UNDER_KEY, '?4')}"
    sql = f"SELECT item, day, {_sums_of(scope)} FROM tally WHERE {_UNDER_KEY}{chosen} GROUP BY item, day"
    given = (project, scope, key, *(() if items_max is None else (items_max,)))
    return [Daily(item, day, tuple(levels)) for item, day, *levels in connection.execute(sql, given)]


def shares(
    connection: apsw.Connection, project: str, scope: str, key: str, today: int, items_max: int | None
) -> list[tuple[str, Share]]:
    weight = "pow(2.0, -max(0, ?4 - day) / ?5)"
    tried = "(level0 + level1 + level2)"
    sql = (
        f"SELECT item, sum{tried}, sum(level1 + level2), sum(level2), sum({tried} * {weight}), sum(level2 * {weight}) "
        f"FROM tally WHERE {_UNDER_KEY} GROUP BY item ORDER BY 2 DESC, item LIMIT ?6"
    )
    given = (project, scope, key, today, limits.HALF_LIFE_DAYS * 1.0, -1 if items_max is None else items_max)
    return [(item, Share(*figures)) for item, *figures in connection.execute(sql, given)]


def newest_taught(
    connection: apsw.Connection, project: str, scope: str, key: str, item_start: str, limit: int
) -> list[tuple[int, str]]:
    sql = (
        f"SELECT last_us, last_id FROM tally WHERE {_UNDER_KEY} AND item >= ?4 AND substr(item, 1, length(?4)) = ?4 "
        "ORDER BY last_us DESC, last_id DESC LIMIT ?5"
    )
    return [(last_us, last_id) for last_us, last_id in connection.execute(sql, (project, scope, key, item_start, limit))]


_NAMED: Final = 10  # fields of a tally before its levels


def _select_tally(scope: str) -> str:
    figures = ", ".join(["vouched", "total", "best", "last_us", "last_id", *_LEVELS[: levels_of(scope)]])
    return f"SELECT scope, key, item, day, author, {figures} FROM tally"


def _tally(row: tuple[Any, ...]) -> Tally:
    return Tally._make((*row[:_NAMED], row[_NAMED:]))


def tallies(connection: apsw.Connection, project: str, scope: str, key: str, items_max: int) -> list[Tally]:
    sql = f"{_select_tally(scope)} WHERE {_UNDER_KEY} AND {_most_counted_items(scope, _UNDER_KEY, '?4')}"
    return [_tally(row) for row in connection.execute(sql, (project, scope, key, items_max))]


def tallies_of_item(connection: apsw.Connection, project: str, scope: str, key: str, item: str) -> list[Tally]:
    sql = f"{_select_tally(scope)} WHERE {_UNDER_KEY} AND item = ?4"
    return [_tally(row) for row in connection.execute(sql, (project, scope, key, item))]


def vouched_items(connection: apsw.Connection, project: str) -> set[tuple[str, str]]:
    sql = (
        "SELECT DISTINCT scope, item FROM tally INDEXED BY tally_vouched WHERE project_id = ?1 "
        f"AND scope IN ('works', 'avoid') AND vouched > 0 AND {TRUSTED_AUTHORS}"
    )
    return {(str(scope), str(item)) for scope, item in connection.execute(sql, (project,))}


def most_counted(connection: apsw.Connection, project: str, scope: str, limit: int) -> list[str]:
    sql = (
        f"SELECT key FROM tally WHERE project_id = ?1 AND scope = ?2 AND {TRUSTED_AUTHORS} "
        f"GROUP BY key ORDER BY sum{_times_of(scope)} DESC, key LIMIT ?3"
    )
    return [key for (key,) in connection.execute(sql, (project, scope, limit))]


def totals(connection: apsw.Connection, project: str, scope: str, limit: int, since_day: int | None) -> list[Total]:
    sql = (
        f"SELECT key, item, {_sums_of(scope)} FROM tally WHERE project_id = ?1 AND scope = ?2 AND {TRUSTED_AUTHORS} "
        f"AND (?4 IS NULL OR day >= ?4) GROUP BY key, item ORDER BY sum{_times_of(scope)} DESC, key, item LIMIT ?3"
    )
    found = connection.execute(sql, (project, scope, limit, since_day))
    return [Total(key, item, tuple(levels)) for key, item, *levels in found]


def day_totals(connection: apsw.Connection, project: str, scope: str, keys_max: int, since_day: int) -> list[DayTotal]:
    here = f"project_id = ?1 AND scope = ?2 AND {TRUSTED_AUTHORS} AND day >= ?4"
    sql = (
        f"SELECT key, day, {_sums_of(scope)} FROM tally WHERE {here} AND key IN "
        f"(SELECT key FROM tally WHERE {here} GROUP BY key ORDER BY sum{_times_of(scope)} DESC, key LIMIT ?3) "
        "GROUP BY key, day ORDER BY key, day"
    )
    found = connection.execute(sql, (project, scope, keys_max, since_day))
    return [DayTotal(key, day, tuple(levels)) for key, day, *levels in found]


def judged_days(
    connection: apsw.Connection, project: str, since_day: int, until_day: int
) -> dict[tuple[str, int], tuple[int, int]]:
    """How many fixes were verified and not, how many episodes scored at least half and less, by kind and day."""
    half = LEVELS // 2
    good, bad = (" + ".join(f"level{level}" for level in levels) for levels in (range(half, LEVELS), range(half)))
    sql = (
        f"SELECT 'fix', day, sum(level{SUCCEEDED}), sum(level{FAILED} + level{APPLIED}) FROM tally "
        f"WHERE project_id = ?1 AND scope = 'fix' AND day >= ?2 AND day < ?3 AND {TRUSTED_AUTHORS} GROUP BY day "
        f"UNION ALL SELECT 'episode', day, sum({good}), sum({bad}) FROM tally "
        f"WHERE project_id = ?1 AND scope = 'score' AND day >= ?2 AND day < ?3 AND {TRUSTED_AUTHORS} GROUP BY day"
    )
    found = connection.execute(sql, (project, since_day, until_day))
    return {(kind, day): (int(well), int(badly)) for kind, day, well, badly in found}


def distinct_keys(connection: apsw.Connection, project: str, scope: str) -> int:
    sql = f"SELECT count(DISTINCT key) FROM tally WHERE project_id = ?1 AND scope = ?2 AND key <> '' AND {TRUSTED_AUTHORS}"
    found: int = connection.execute(sql, (project, scope)).get
    return found


def rolled_back(connection: apsw.Connection, project: str) -> set[str]:
    return {author for (author,) in connection.execute(_ROLLED_BACK, (project,))}
