"""What every store must do. A new store joins by one more entry in `engines.ENGINES`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engines import ENGINES, a_location
from hardwon import Decision, Episode, Experience, Fact, Metadata
from hardwon.lessons.counts import Increment
from hardwon.lessons.fix_odds import Attempts
from hardwon.lessons.keys import rule_key
from hardwon.limits import DAY_US
from hardwon.memory import places as place
from hardwon.memory.places import open_store
from hardwon.records.fields import from_us, new_id, to_us
from hardwon.records.kinds import ACTIONS, STATUSES, Event, EventKind, Moment, Source, Validation
from hardwon.search.terms import Filters
from hardwon.store.base import Store, build_row
from hardwon.store.query import read_current
from hardwon.store.types import Cursor, Row, Stored, TokenRow
from hardwon.text.terms import query_terms
from strategies import at

EVERYTHING = Filters()


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with a_location(request.param, tmp_path) as location:
        opened = open_store(place.find_place(location, tmp_path), busy_timeout_ms=None)
        yield opened
        opened.close()


def row(content: str = "A fact.", seconds: int = 0, project: str = "p", **names: list[str]) -> Row:
    files = [{"path": path} for path in names.get("files", [])]
    moment = Moment.model_validate({"timestamp": at(seconds), "related_files": files})
    said: Any = {"tags": names.get("tags", []), "source": Source(author="ann")}
    metadata = Metadata(project_id=project, context=moment, **said)
    own: Any = {"id": new_id(at(seconds)), "content": content, "fact_type": "error"}
    return build_row(Fact(metadata=metadata, **own))


def event(record_id: str, kind: EventKind, seconds: int = 1) -> Event:
    status = "archived" if kind == "status" else None
    return Event(record_id=record_id, kind=kind, at=at(seconds), by="bob", status=status)


def rows_in(store: Store, project: str) -> list[Row]:
    return [kept for kept, _ in store.rows(project)]


def keep(store: Store, *rows: Row) -> list[Row]:
    """Appends them to the project of the first."""
    with store.write(rows[0].project_id) as writer:
        assert writer.append(rows).added == ids(rows)
    return list(rows)


def ids(rows: Iterable[Any]) -> list[str]:
    """Of rows, or of rows with their scores."""
    return [row.id if hasattr(row, "id") else row[0].id for row in rows]


class TestStore:
    def test_empty(self, store: Store) -> None:
        assert store.get("p", new_id()) is None
        assert store.page("p", EVERYTHING, None, 10) == []
        assert store.search("p", ["fact"], EVERYTHING, 10) == []
        assert [*store.stream("p"), *store.rows("p"), *store.events("p")] == []
        assert store.list_events("p", new_id()) == []
        counts = store.counts("p")
        assert (counts.records, counts.events, counts.forgotten) == (0, 0, 0)
        assert (counts.by_kind, counts.first_us) == ({}, None)
        # The server that the tests share does not wait for its disk, and says so.
        assert all(finding.ok for finding in store.check("p") if finding.check != "durability")

    def test_append_and_read(self, store: Store) -> None:
        made = [row(f"Fact {n}.", n, tags=["b", "a"], files=["x.py"]) for n in range(5)]
        rows = keep(store, *made)
        assert rows_in(store, "p") == rows
        assert [stored.id for stored, _ in store.stream("p")] == ids(rows)
        kept = store.get("p", rows[2].id)
        assert kept is not None
        assert kept.body == rows[2].body == read_current(kept).to_json()

    def test_a_page_within_a_transaction_shows_what_it_wrote(self, store: Store) -> None:
        old = keep(store, *(row(f"Fact {n}.", n, tags=["t"]) for n in range(3)))
        new, other = row("New.", 9, tags=["t"]), row("Other.", 10)
        with store.write("p") as writer:
            writer.append([new, other])
            assert ids(writer.page("p", Filters(tag="t"), None, 1)) == [new.id]
            writer.set_standing("p", new.id, "archived", None, (0, 0))
            found = writer.page("p", Filters(tag="t"), None, 9, trusted=True)
            assert ids(found) == ids(reversed(old))
            assert writer.page("p", Filters(tag="none"), None, 9) == []

    def test_append_tells_known_conflicting_and_forgotten_apart(self, store: Store) -> None:
        kept, gone = keep(store, row("kept"), row("gone"))
        fresh = row("fresh")
        other = kept._replace(body=kept.body.replace("kept", "lost"), digest=b"12345678")
        with store.write("p") as writer:
            assert writer.erase("p", [gone.id], [event(gone.id, "forgotten")]) == 1
            appended = writer.append([fresh, kept, gone, fresh])
            conflicting = writer.append([other])
        assert (appended.added, appended.forgotten) == ([fresh.id], [gone.id])
        assert sorted(appended.present) == sorted([kept.id, fresh.id])
        assert (conflicting.conflicting, conflicting.added) == ([other], [])
        bodies = {made.id: made.body for made in rows_in(store, "p")}
        assert bodies == {made.id: made.body for made in (kept, fresh)}

    def test_a_transaction_is_kept_whole_or_not_at_all(self, store: Store) -> None:
        first = row("first")
        with pytest.raises(ZeroDivisionError), store.write("p") as writer:
            writer.append([first])
            writer.add_events("p", [event(first.id, "status")])
            assert writer.get("p", first.id) is not None
            _ = 1 / 0
        assert (store.counts("p").records, store.counts("p").events) == (0, 0)
        keep(store, row("second"))
        assert store.counts("p").records == 1

    def test_tokens(self, store: Store) -> None:
        old = TokenRow("a" * 12, "ann", bytes(32), "read", None, 10, 20, None)
        new = TokenRow("b" * 12, "bob", bytes(range(32)), "write", '["p"]', 30, None, None)
        keys = store.tokens()
        assert (keys.all(), keys.get(old.id)) == ([], None)
        assert (keys.add(old, 0), keys.add(new, 0)) == (1, 2)
        assert (keys.all(), keys.get(new.id), keys.get("c" * 12)) == ([old, new], new, None)
        keys.revoke([old.id], 40)
        keys.revoke([old.id, "c" * 12], 50)
        assert keys.get(old.id) == old._replace(revoked_us=40)
        assert keys.add(new._replace(id="d" * 12), 21) == 2, "what ended before that is dropped"
        assert keys.get(old.id) is None
        keys.close()
        keys.close()

    @pytest.mark.parametrize("size", [1, 3, 20])
    def test_pages_go_back_in_time_and_hold_no_more(self, store: Store, size: int) -> None:
        rows = keep(store, *(row(f"n{n}", n // 2) for n in range(12)))
        newest_first = sorted(rows, key=lambda made: (made.at_us, made.id), reverse=True)
        newest, end = newest_first[0], rows[8]
        for filters, start in (
            (EVERYTHING, None),
            (Filters(until=from_us(end.at_us)), None),
            (Filters(until=from_us(end.at_us)), Cursor(newest.at_us, newest.id)),
            (Filters(until=from_us(end.at_us)), Cursor(end.at_us, end.id)),
        ):
            until_us = to_us(filters.until) if filters.until else newest.at_us + 1
            seen, cursor = list[Stored](), start
            while page := store.page("p", filters, cursor, size):
                seen += page
                cursor = Cursor(page[-1].at_us, page[-1].id)
            assert ids(seen) == [made.id for made in newest_first if made.at_us < until_us]

    def test_what_helped_most_is_found_by_status(self, store: Store) -> None:
        rows = keep(store, *(row(f"Fact {n}.", n) for n in range(4)))
        with store.write("p") as writer:
            for number, helped in enumerate((1, 3, 0, 2)):
                status = "verified" if number == 3 else "hypothesis"
                writer.set_standing("p", rows[number].id, status, None, (helped, number))
        found = store.most_helpful("p", "hypothesis", 10)
        votes = [(stored.id, good, bad) for stored, good, bad in found]
        assert votes == [(rows[1].id, 3, 1), (rows[0].id, 1, 0)]
        assert store.most_helpful("p", "hypothesis", 1) == found[:1]
        assert ids(store.most_helpful("p", "verified", 10)) == [rows[3].id]
        assert store.most_helpful("other", "hypothesis", 10) == []

    def test_events_are_added_once_and_ordered(self, store: Store) -> None:
        (kept,) = keep(store, row())
        late, early = event(kept.id, "status", 9), event(kept.id, "imported", 2)
        with store.write("p") as writer:
            assert writer.add_events("p", [late, early]) == [late, early]
            assert writer.add_events("p", [late]) == []
            writer.set_standing("p", kept.id, "archived", '{"status":"archived"}', (2, 1))
        assert store.list_events("p", kept.id) == [early, late] == list(store.events("p"))
        assert [events for _, events in store.rows("p")] == [[early, late]]
        assert store.get("p", kept.id).validation == '{"status":"archived"}'  # type: ignore[union-attr]
        assert store.search("p", ["fact"], EVERYTHING, 5) == []
        assert len(store.search("p", ["fact"], Filters(status="archived"), 5)) == 1

    def test_erase_leaves_a_tombstone_and_nothing_else(self, store: Store) -> None:
        doomed, _ = keep(store, row("doomed secret", tags=["t"], files=["f"]), row("kept"))
        tombstone = event(doomed.id, "forgotten", 5)
        with store.write("p") as writer:
            writer.add_events("p", [event(doomed.id, "status")])
            assert writer.erase("p", [doomed.id, new_id()], [tombstone]) == 1
            late = writer.add_events("p", [event(doomed.id, "status", 7)])
            assert late == [], "nothing happens to the forgotten"
        assert store.get("p", doomed.id) is None
        assert store.search("p", ["secret"], EVERYTHING, 5) == []
        for filters in (Filters(tag="t"), Filters(path="f")):
            assert store.page("p", filters, None, 5) == []
        assert store.list_events("p", doomed.id) == [tombstone]
        assert store.counts("p").forgotten == 1
        assert store.finish_erasure()

    def test_rewrite_replaces_what_is_derived_and_only_that(self, store: Store) -> None:
        (kept,) = keep(store, row("kept", tags=["a"], files=["x"]))
        changed = kept._replace(author="eve", terms="other words", tags=("b",), files=())
        with store.write("p") as writer:
            writer.rewrite(changed._replace(body="nonsense"))
            writer.rewrite(row("unknown"))
        assert rows_in(store, "p") == [changed]

    def test_no_call_sees_two_projects(self, store: Store) -> None:
        (one,) = keep(store, row("shared words", project="one"))
        (two,) = keep(store, row("shared words", project="two"))
        with store.write("two") as writer:
            writer.add_events("two", [event(two.id, "imported")])
        with store.write("one") as writer:
            assert writer.get("one", two.id) is None
            assert writer.list_events("one", two.id) == []
            assert writer.erase("one", [two.id], []) == 0
            writer.set_standing("one", two.id, "published", None, (0, 0))
        for project, own in (("one", one), ("two", two)):
            assert rows_in(store, project) == [own]
            assert ids(store.page(project, EVERYTHING, None, 9)) == [own.id]
            assert ids(store.search(project, query_terms("shared"), EVERYTHING, 9)) == [own.id]
            assert store.counts(project).records == 1
        assert list(store.events("one")) == []

    def test_the_same_id_may_live_in_two_projects(self, store: Store) -> None:
        (one,) = keep(store, row("here", project="one"))
        keep(store, one._replace(project_id="two"))
        with store.write("one") as writer:
            assert writer.erase("one", [one.id], [event(one.id, "forgotten")]) == 1
        assert store.get("two", one.id) is not None

    def test_a_stream_sees_one_instant(self, store: Store) -> None:
        rows = keep(store, *(row(f"n{n}", n) for n in range(10)))
        stream = store.stream("p")
        first, _ = next(stream)
        with store.write("p") as writer:
            writer.append([row("later", 99)])
            writer.erase("p", [rows[5].id], [])
        assert [first.id, *(stored.id for stored, _ in stream)] == ids(rows)


def taught(task: str, item: str, level: int, seconds: int = 0, *, author: str = "ann") -> Row:
    """A row that teaches one lesson, under the kind and task that really teach it."""
    moment = Moment(timestamp=at(seconds))
    metadata = Metadata(project_id="p", context=moment, source=Source(author=author))
    says: Any = {"task_id": task, "score": 0.2}
    made = build_row(Episode(id=new_id(at(seconds)), metadata=metadata, **says))
    return teaching(made, Increment("episode", task, rule_key(item), level))


def teaching(row: Row, lesson: Increment) -> Row:
    assert row.taught
    return row._replace(taught=row.taught._replace(increments=(lesson,)))


def attempts(store: Store, project: str = "p", most: int = 10) -> dict[tuple[str, str], Attempts]:
    """What was counted at a task, by item and author."""
    today, place = to_us(at(0)) // DAY_US, ("episode", "t")
    counted = store.attempts(project, *place, today, most)
    if most == 10:
        assert store.sums(project, [place], today).get(place, {}) == counted
    return {(item, by): one for item, by_author in counted.items() for by, one in by_author.items()}


class TestKnowledge:
    def test_empty(self, store: Store) -> None:
        for nothing in (
            store.daily("p", "episode", "t"), attempts(store),
            store.list_frequent("p", "episode", 10), store.vouched_episodes("p", 10),
            store.rolled_back("p"), store.by_key("p", ["signature:x"], EVERYTHING, 10),
            store.decisions("p", ACTIONS, None, 10), store.totals("p", "episode", 10),
            store.day_totals("p", "episode", 10, 0), store.untrue_tallies("p"), store.distinct_keys("p", "episode"),
            store.count("p", EVERYTHING),
        ):  # fmt: skip
            assert not nothing
        with store.write("p") as writer:
            assert writer.known_keys("p", ["x"], STATUSES) == set()
            assert writer.state("p", "n") == 0

    def test_lessons_are_counted_with_the_row(self, store: Store) -> None:
        first, second = taught("t", "a", 2, 5), taught("t", "a", 1, 7)
        other = taught("t", "b", 1, author="bob")
        with store.write("p") as writer:
            writer.append([second, first, other])
            writer.append([first])
        known = attempts(store)
        a = known[rule_key("a"), "ann"]
        assert (a.attempts, a.applied, a.verified, a.checked) == (2, 2, 1, 0)
        assert known.keys() == {(rule_key("a"), "ann"), (rule_key("b"), "bob")}
        assert attempts(store, most=1) == {(rule_key("a"), "ann"): a}, "the item counted most"
        assert sum(sum(daily.levels) for daily in store.daily("p", "episode", "t")) == 3
        assert store.list_frequent("p", "episode", 5) == ["t"]
        assert attempts(store, "other") == {}

    def test_totals_are_added_up_over_days_and_authors(self, store: Store) -> None:
        day_s, today = DAY_US // 1_000_000, to_us(at(0)) // DAY_US
        nameless = Increment("episode", "", rule_key("d"), 0)
        metadata = Metadata(project_id="p", validation=Validation(status="verified"))
        told = "t a 2 0 ann; t a 2 1 bob; t a 4 1 ann; t b 1 0 ann; u c 3 1 bob; u c 3 1 eve; u c 3 0 bob"
        for task, item, level, days, by in (one.split() for one in told.split("; ")):
            keep(store, taught(task, item, int(level), int(days) * day_s, author=by))
        decision = Decision(action="rollback", target="eve", metadata=metadata)
        keep(store, build_row(decision), teaching(taught("v", "d", 0, author="bob"), nameless))

        def shown(levels: tuple[int, ...]) -> dict[int, int]:
            return {level: times for level, times in enumerate(levels) if times}

        totals = store.totals("p", "episode", 10)
        assert [(total.key, total.item, shown(total.levels)) for total in totals] == [
            ("t", rule_key("a"), {2: 2, 4: 1}),
            ("u", rule_key("c"), {3: 2}),
            ("", rule_key("d"), {0: 1}),
            ("t", rule_key("b"), {1: 1}),
        ], "those counted most first"
        assert store.totals("p", "episode", 1) == totals[:1]
        by_day = store.day_totals("p", "episode", 10, today)
        assert [(total.key, total.day - today, shown(total.levels)) for total in by_day] == [
            ("", 0, {0: 1}),
            ("t", 0, {1: 1, 2: 1}),
            ("t", 1, {2: 1, 4: 1}),
            ("u", 0, {3: 1}),
            ("u", 1, {3: 1}),
        ]
        (most,) = store.day_totals("p", "episode", 1, today + 1)
        assert (most.key, most.day) == ("t", today + 1)
        assert [daily.item for daily in store.daily("p", "episode", "t")][:2] == [rule_key("a")] * 2
        assert store.distinct_keys("p", "episode") == 2, "the empty key is none"
        assert store.distinct_keys("other", "episode") == 0

    def test_a_status_changes_what_counts(self, store: Store) -> None:
        older, newer = taught("t", "a", 2, 5), taught("t", "a", 2, 7)
        with store.write("p") as writer:
            writer.append([older, newer])
            writer.recount("p")  # as the rows' own lessons are, not the one above
            writer.set_standing("p", newer.id, "verified", None, (0, 0))
        (tally,) = attempts(store).values()
        assert (tally.attempts, tally.checked) == (2, 1)
        assert ids(store.vouched_episodes("p", 10)) == [newer.id]
        with store.write("p") as writer:
            writer.set_standing("p", newer.id, "archived", None, (0, 0))
        (tally,) = attempts(store).values()
        assert (tally.attempts, tally.checked) == (1, 0)
        with store.write("p") as writer:
            writer.set_standing("p", newer.id, "hypothesis", None, (0, 0))
            writer.erase("p", [older.id], [event(older.id, "forgotten")])
        (tally,) = attempts(store).values()
        assert (tally.attempts, tally.checked) == (1, 0)
        assert store.untrue_tallies("p") == 0

    def test_a_rolled_back_source_does_not_count_while_it_is_in_effect(self, store: Store) -> None:
        metadata = Metadata(project_id="p", validation=Validation(status="verified"))
        decision = build_row(Decision(action="rollback", target="ann: it's her", metadata=metadata))
        keyed = taught("t", "a", 1, author="ann: it's her")._replace(keys=("failure:x",))
        with store.write("p") as writer:
            writer.append([keyed, taught("t", "b", 1, author="bob"), decision])
        assert store.rolled_back("p") == {"ann: it's her", "ann: it's her via import"}
        with store.write("p") as writer:
            assert "ann: it's her" in writer.rolled_back("p")
            assert "ann" not in writer.rolled_back("p")
        assert [author for _, author in attempts(store)] == ["bob"]
        assert store.by_key("p", ["failure:x"], EVERYTHING, 10) == []
        assert [stored.id for stored in store.decisions("p", ACTIONS, None, 10)] == [decision.id]
        with store.write("p") as writer:
            writer.set_standing("p", decision.id, "archived", None, (0, 0))
        assert store.rolled_back("p") == set()
        assert store.decisions("p", ACTIONS, None, 10) == []
        assert len(attempts(store)) == 2

    def test_decisions_of_a_task_come_with_those_of_the_project(self, store: Store) -> None:
        metadata = Metadata(project_id="p")
        told = (("a", "t"), ("b", "u"), ("c", None))
        said = [{"text": text, "task_id": task} for text, task in told]
        rules = [Decision(action="rule", metadata=metadata, **one) for one in said]
        made = keep(store, *map(build_row, rules))
        found = store.decisions("p", ACTIONS, "t", 10)
        assert set(ids(found)) == {made[0].id, made[2].id}
        assert len(store.decisions("p", ACTIONS, None, 10)) == 3
        assert len(store.decisions("p", ACTIONS, None, 2)) == 2
        assert store.decisions("p", ["merge"], None, 10) == []
        with store.write("p") as writer:
            writer.set_standing("p", made[0].id, "archived", None, (0, 0))
        assert ids(store.decisions("p", ACTIONS, None, 10, undone=True)) == [made[0].id]
        assert store.page("p", EVERYTHING, None, 10) == []
        assert len(store.page("p", Filters(kind="decision"), None, 10)) == 3
        assert (store.counts("p").records, store.counts("p").decisions) == (0, 3)

    def test_experiences_are_found_by_what_they_say_under_a_key(self, store: Store) -> None:
        metadata = Metadata(project_id="p")
        values = [True, 1, "1", 0.5, "déjà vu", ["a", None], None]
        says: Any = {"content": "x", "outcome": "success", "tool": "conversation"}
        made = [Experience(**says, metadata=metadata, größe=value) for value in values]
        with store.write("p") as writer:
            writer.append([build_row(record) for record in made])
        asked = {"true": 1, "1": 2, "0.5": 1, "déjà vu": 1, '["a",null]': 1, "no": 0, "null": 0}
        for value, times in asked.items():
            assert store.count("p", Filters(key=f"größe={value}")) == times, value
        assert store.count("p", Filters(key=f"id={made[0].id}")) == 1
        assert store.count("p", Filters(key="content=x")) == len(made)
        assert store.count("p", Filters(key="metadata=x")) == 0
        routed = store.routes("p", ["größe"])
        assert sum(one.records for one in routed) == len(made)
        there = {value for value, times in asked.items() if times}
        assert {one.packet.get("größe") for one in routed} == {*there, None}

    def test_facts_are_found_by_their_key(self, store: Store) -> None:
        text = "The pool leaks at night."
        keep(store, row(text, project="q"))
        rows = keep(store, *(row(text, number) for number in (3, 1, 2)), row("Something else."))[:3]
        (key,) = (key for key in rows[0].keys if not key.startswith("lesson:"))
        with store.write("p") as writer:
            assert ids(writer.facts_with_key("p", key, 10)) == ids(rows), "as they came"
            assert ids(writer.facts_with_key("p", key, 2)) == ids(rows[:2])
            assert writer.facts_with_key("p", "fact:none", 10) == []
            writer.set_standing("p", rows[0].id, "archived", None, (0, 0))
            assert ids(writer.facts_with_key("p", key, 10)) == ids(rows[1:])

    def test_numbers_that_only_a_store_needs(self, store: Store) -> None:
        with store.write("p") as writer:
            writer.set_state("p", "n", 3)
            writer.set_state("p", "n", 5)
        with store.write("q") as writer:
            writer.set_state("q", "n", 7)
            assert writer.state("q", "n") == 7
        with store.write("p") as writer:
            assert (writer.state("p", "n"), writer.state("p", "m")) == (5, 0)

    def test_recount_mends_what_untrue_tallies_finds(self, store: Store) -> None:
        with store.write("p") as writer:
            # the record itself teaches more than that
            writer.append([taught("t", "a", 3)])
        assert store.untrue_tallies("p") > 0
        with store.write("p") as writer:
            writer.recount("p")
        assert store.untrue_tallies("p") == 0
        (tally,) = attempts(store).values()
        assert (tally.attempts, tally.applied) == (1, 0)
