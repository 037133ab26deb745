"""Knowledge, read: what records taught, from the tallies that `base.py` keeps. Sources that were
rolled back are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from hardwon import limits
from hardwon.lessons.actions import EVERYTHING, Level
from hardwon.lessons.counts import LEVELS
from hardwon.lessons.fix_odds import Attempts, add_up
from hardwon.lessons.odds import Counts as ActionCounts
from hardwon.lessons.sources import HALF_LIVES_MAX, Votes, age_weight, fair_parts
from hardwon.records.kinds import OWN_HISTORY
from hardwon.store.query import IN_EFFECT, ORDINARY, TRUSTED_AUTHORS, Query
from hardwon.store.types import Active, Bound, Daily, DayTotal, Stored, Total, rounded_up

LEVEL_NAMES: Final = [f"level{level}" for level in range(LEVELS)]
# How often anything was counted, at whatever level; and each level added up.
_TIMES: Final = f"({' + '.join(LEVEL_NAMES)})"
_SUMS: Final = ", ".join(f"sum({name})" for name in LEVEL_NAMES)

_TRUSTED_UNDER_KEY: Final = f"project_id = ?1 AND scope = ?2 AND key = ?3 AND {TRUSTED_AUTHORS}"


# What each of the `Counts` adds up, and who of it is vouched for.
_FIGURES: Final = (*LEVEL_NAMES, "vouched")


def _hear_fairly(by_author: Mapping[str, Sequence[float]], *, alone: bool) -> ActionCounts:
    """Nobody counts for more than `lessons.sources.fair_parts` leaves of what they say."""
    if alone and len(by_author) == 1:
        return ActionCounts(*next(iter(by_author.values()))[:-1])
    votes = {author: Votes(sum(own[:-1]), own[-1]) for author, own in sorted(by_author.items())}
    parts = fair_parts(votes, alone=alone)
    sums = (
        sum(parts[author] * by_author[author][place] for author in parts)
        for place in range(len(ActionCounts._fields))
    )
    return ActionCounts(*(round(figure, 9) for figure in sums))


class TallyReader(Query):
    """The readings of tallies that engines share."""

    def daily(self, project: str, scope: str, key: str) -> list[Daily]:
        """The counts under a key per item and day; an empty list where nothing was counted."""
        sql = (
            f"SELECT item, day, {_SUMS} FROM tally WHERE {_TRUSTED_UNDER_KEY} "
            "GROUP BY item, day ORDER BY item, day"
        )
        rows = self._select(sql, (project, scope, key))
        return [Daily(item, day, tuple(levels)) for item, day, *levels in rows]

    def _weight(self, today: str, half_life_days: str) -> str:
        """What a count weighs today (`lessons.sources.age_weight`)."""
        age = f"{self.dialect.greatest}(0, {today} - day)"
        half_lives = f"{age} / CAST({half_life_days} AS double precision)"
        return f"pow(2.0, -{self.dialect.least}({half_lives}, {HALF_LIVES_MAX}))"

    def has_one_source(self, project: str, scope: str) -> bool:
        """Whether at most one counts, beside the owner's history, of those who ever taught anything
        in a scope whose key is empty.
        """
        sql = (
            f"SELECT DISTINCT author FROM tally WHERE {_TRUSTED_UNDER_KEY} AND author <> ?4 LIMIT 2"
        )
        return len(self._select(sql, (project, scope, "", OWN_HISTORY))) < 2

    def sums(
        self, project: str, places: Sequence[tuple[str, str]], today: int
    ) -> dict[tuple[str, str], dict[str, dict[str, Attempts]]]:
        """What was counted of attempts under some scopes and keys, added up over the days, by item
        and author, as it is and as it weighs today; without the places where nothing was counted.
        """
        weight, tried = self._weight("?2", "?3"), "(level0 + level1 + level2)"
        sure = f"{self.dialect.greatest}(0, vouched - level0 - level1)"
        weighed = (f"sum({one} * {weight})" for one in (tried, "level2", "vouched", sure))
        bound = Bound([project, today, limits.HALF_LIFE_DAYS * 1.0])
        asked = ", ".join(f"({bound.add(scope)}, {bound.add(key)})" for scope, key in places)
        sql = (
            f"SELECT scope, key, item, author, sum{tried}, sum(level1 + level2), sum(level2), "
            f"{', '.join(weighed)}, sum(vouched) FROM tally WHERE project_id = ?1 AND "
            f"(scope, key) IN (VALUES {asked}) AND {TRUSTED_AUTHORS} "
            "GROUP BY scope, key, item, author ORDER BY scope, key, item, author"
        )
        sums: dict[tuple[str, str], dict[str, dict[str, Attempts]]] = {}
        for scope, key, item, author, *figures, checked in self._select(sql, bound):
            # a database adds up in an order of its own, which shows in the last digits
            weights = (round(float(figure), 9) for figure in figures[3:])
            by_author = sums.setdefault((scope, key), {}).setdefault(item, {})
            by_author[author] = Attempts._make((*map(int, figures[:3]), *weights, int(checked)))
        return sums

    def attempts(
        self, project: str, scope: str, key: str, today: int, items_max: int
    ) -> dict[str, dict[str, Attempts]]:
        """The same under one key, of the items that were counted most, the newest of equal ones: for many
        items of few days.
        """
        sql = (
            "SELECT item, author, day, level0, level1, level2, vouched FROM tally WHERE "
            f"{_TRUSTED_UNDER_KEY}"
        )
        order, asked = " ORDER BY item, author, day", (project, scope, key, items_max)
        rows = self._select(f"{sql}{order} LIMIT ?4", asked)
        if len(rows) == items_max:  # seldom are there so many that some have to be chosen
            most = (
                f"SELECT item FROM tally WHERE {_TRUSTED_UNDER_KEY} GROUP BY item "
                f"ORDER BY sum({_TIMES}) DESC, max(day) DESC, item LIMIT ?4"
            )
            rows = self._select(f"{sql} AND item IN ({most}){order}", asked)
        by_item: dict[str, dict[str, Attempts]] = {}
        for item, author, day, failed, applied, verified, checked in rows:
            weight, tried = age_weight(day, today), failed + applied + verified
            weighed = (tried, verified, checked, max(0, checked - failed - applied))
            weights = (weight * figure for figure in weighed)
            counts = Attempts._make((tried, applied + verified, verified, *weights, checked))
            mine = by_item.setdefault(item, {})
            mine[author] = add_up((mine[author], counts)) if author in mine else counts
        return by_item

    def outcomes(
        self, project: str, keys: Sequence[Level], today: int | None
    ) -> dict[Level, ActionCounts]:
        """What became of actions, by what they are counted under, as it weighs today, or (None) however
        long ago it was; without what nobody counted anything of.
        """
        bound = Bound([project])
        weight = ""
        if today is not None:
            places = bound.add(today), bound.add(limits.HALF_LIFE_DAYS * 1.0)
            weight = f" * {self._weight(*places)}"
        sums = ", ".join(f"sum(({figure}){weight})" for figure in _FIGURES)
        levels = [(f"act.{key.what}", key.which) for key in rounded_up(keys)]
        asked = ", ".join([f"({bound.add(scope)}, {bound.add(which)})" for scope, which in levels])
        sql = (
            f"SELECT scope, key, author, {sums} FROM tally WHERE project_id = ?1 AND (scope, key) IN "
            f"(VALUES {asked}) AND {TRUSTED_AUTHORS} GROUP BY scope, key, author"
        )
        by_level: dict[Level, dict[str, list[float]]] = defaultdict(dict)
        for scope, which, author, *figures in self._select(sql, bound):
            # a database adds up in an order of its own, which shows in the last digits
            rounded = [round(float(figure), 9) for figure in figures]
            by_level[Level(scope.removeprefix("act."), which)][author] = rounded
        alone = today is None or len(by_level.get(EVERYTHING, ())) < 2
        return {level: _hear_fairly(own, alone=alone) for level, own in by_level.items()}

    def vouched_episodes(self, project: str, limit: int) -> list[Stored]:
        """The newest episodes that somebody vouches for, of sources that were not rolled back."""
        return self._read_rows(
            f"record r{self.dialect.hint('record_vouched')} WHERE r.project_id = ?1 AND r.kind = "
            f"'episode' AND r.status IN {IN_EFFECT} AND r.{TRUSTED_AUTHORS} "
            "ORDER BY r.at_us DESC, r.id DESC LIMIT ?2",
            (project, limit),
        )

    def list_frequent(self, project: str, scope: str, limit: int) -> list[str]:
        """The keys of a scope that were counted most, in that order."""
        sql = (
            f"SELECT key FROM tally WHERE project_id = ?1 AND scope = ?2 AND {TRUSTED_AUTHORS} "
            f"GROUP BY key ORDER BY sum{_TIMES} DESC, key LIMIT ?3"
        )
        return [key for (key,) in self._select(sql, (project, scope, limit))]

    def totals(self, project: str, scope: str, limit: int) -> list[Total]:
        """Everything in a scope, added up per key and item: the `limit` that were counted most, in
        that order.
        """
        sql = (
            f"SELECT key, item, {_SUMS} FROM tally WHERE project_id = ?1 AND scope = ?2 AND "
            f"{TRUSTED_AUTHORS} GROUP BY key, item ORDER BY sum{_TIMES} DESC, key, item LIMIT ?3"
        )
        rows = self._select(sql, (project, scope, limit))
        return [Total(key, item, tuple(levels)) for key, item, *levels in rows]

    def day_totals(self, project: str, scope: str, keys_max: int, since_day: int) -> list[DayTotal]:
        """Everything in a scope from a day on, added up per key and day, of the keys that were
        counted most since then: all days of a key or none, by key and day.
        """
        here = f"project_id = ?1 AND scope = ?2 AND {TRUSTED_AUTHORS} AND day >= ?4"
        rows = self._select(
            f"SELECT key, day, {_SUMS} FROM tally WHERE {here} AND key IN "
            f"(SELECT key FROM tally WHERE {here} GROUP BY key ORDER BY sum{_TIMES} "
            f"DESC, key LIMIT ?3) "
            "GROUP BY key, day ORDER BY key, day",
            (project, scope, keys_max, since_day),
        )
        return [DayTotal(key, day, tuple(levels)) for key, day, *levels in rows]

    def distinct_keys(self, project: str, scope: str) -> int:
        """How many keys of a scope were counted, without the empty one."""
        ((count,),) = self._select(
            f"SELECT count(DISTINCT key) FROM tally WHERE project_id = ?1 AND scope = ?2 AND key <> '' AND {TRUSTED_AUTHORS}",
            (project, scope),
        )
        return int(count)

    def activity(
        self, project: str, since_day: int, until_day: int, by: str = "kind"
    ) -> list[Active]:
        """From a day to the day before another, by day and kind, author or task (`task_id`); days
        without records are left out. What was archived, or is from a source that was rolled back,
        turned out neither well nor badly.
        """
        # The index of counts holds all that is asked for, in this order: no record is read, and
        # nothing is sorted or looked into but sums. Few have a task.
        day = f"at_us / {limits.DAY_US}"
        index, also = "record_counted", ""
        if by == "task_id":
            index, also = "record_by_task", ", task_id"
        sums = (
            f"SELECT {day} AS day, {by} AS of_it, kind, outcome, status, author, count(*) AS n FROM "
            f"record{self.dialect.hint(index)} WHERE project_id = ?1 AND {day} >= ?2 AND {day} < ?3 "
            f"AND {by} IS NOT NULL GROUP BY kind, outcome, tool, status, author, {day}{also}"
        )
        judged = f"{ORDINARY} AND status <> 'archived' AND {TRUSTED_AUTHORS}"
        rows = self._select(
            f"SELECT day, of_it, sum(n) FILTER (WHERE {ORDINARY}), "
            f"coalesce(sum(n) FILTER (WHERE outcome = 'success' AND {judged}), 0), "
            f"coalesce(sum(n) FILTER (WHERE outcome = 'failure' AND {judged}), 0) "
            f"FROM ({sums}) s GROUP BY day, of_it HAVING sum(n) FILTER (WHERE {ORDINARY}) > 0 "
            "ORDER BY day, of_it",
            (project, since_day, until_day),
        )
        return [Active._make(row) for row in rows]

    def find_times(
        self, project: str, keys: Sequence[str], *, last: bool = False
    ) -> dict[str, int]:
        """The time of the record with each of these keys that was the first to be kept, or the `last`."""
        first = (
            f"SELECT key, {'max' if last else 'min'}(seq) AS seq FROM record_key WHERE project_id = ?1 "
            f"AND {self.dialect.within('key', '?2')} GROUP BY key"
        )
        sql = f"SELECT k.key, r.at_us FROM ({first}) k JOIN record r ON r.seq = k.seq"
        return dict(self._select(sql, (project, self.dialect.list_values(keys))))
