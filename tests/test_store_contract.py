"""What every store must do. A new store joins by one more entry in `STORES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hardwon import Fact, Metadata
from hardwon.fields import new_id
from hardwon.model import Event, EventKind, Moment, Source
from hardwon.recall.filters import Filters
from hardwon.store.contract import Cursor, Row, Store
from hardwon.store.rows import record_of, row_of
from hardwon.store.sqlite import SqliteStore
from strategies import at

STORES: dict[str, Callable[[Path], Store]] = {"sqlite": lambda folder: SqliteStore(folder / "memory.db")}
EVERYTHING = Filters()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = STORES[request.param](tmp_path)
    yield opened
    opened.close()


def row(content: str = "A fact.", seconds: int = 0, project: str = "p", **names: list[str]) -> Row:
    files = [{"path": path} for path in names.get("files", [])]
    moment = Moment.model_validate({"timestamp": at(seconds), "related_files": files})
    metadata = Metadata(project_id=project, context=moment, tags=names.get("tags", []), source=Source(author="ann"))
    return row_of(Fact(id=new_id(at(seconds)), content=content, fact_type="error", metadata=metadata))


def event(record_id: str, kind: EventKind, seconds: int = 1) -> Event:
    return Event(record_id=record_id, kind=kind, at=at(seconds), by="bob", status="archived" if kind == "status" else None)


def rows_in(store: Store, project: str) -> list[Row]:
    return [kept for kept, _ in store.rows(project)]


class TestStore:
    def test_empty(self, store: Store) -> None:
        assert store.get("p", new_id()) is None
        assert store.page("p", EVERYTHING, None, 10) == []
        assert store.search("p", ["fact"], EVERYTHING, 10) == []
        assert [*store.stream("p"), *store.rows("p"), *store.events("p")] == []
        assert store.events_of("p", new_id()) == []
        counts = store.counts("p")
        assert (counts.records, counts.events, counts.forgotten, counts.by_kind, counts.first_us) == (0, 0, 0, {}, None)
        assert all(finding.ok for finding in store.check())

    def test_append_and_read(self, store: Store) -> None:
        rows = [row(f"Fact {n}.", n, tags=["b", "a"], files=["x.py"]) for n in range(5)]
        with store.write() as writer:
            assert writer.append(rows).added == [made.id for made in rows]
        assert rows_in(store, "p") == rows
        assert [stored.id for stored in store.stream("p")] == [made.id for made in rows]
        kept = store.get("p", rows[2].id)
        assert kept is not None
        assert kept.body == rows[2].body
        assert record_of(kept).to_json() == rows[2].body

    def test_append_tells_known_conflicting_and_forgotten_apart(self, store: Store) -> None:
        kept, gone, fresh = row("kept"), row("gone"), row("fresh")
        with store.write() as writer:
            writer.append([kept, gone])
            assert writer.erase("p", [gone.id], [event(gone.id, "forgotten")]) == 1
        other = kept._replace(body=kept.body.replace("kept", "lost"), digest=b"12345678")
        with store.write() as writer:
            appended = writer.append([fresh, kept, gone, fresh])
            conflicting = writer.append([other])
        assert (appended.added, appended.forgotten) == ([fresh.id], [gone.id])
        assert sorted(appended.present) == sorted([kept.id, fresh.id])
        assert (conflicting.conflicting, conflicting.added) == ([other], [])
        assert {made.id for made in rows_in(store, "p")} == {kept.id, fresh.id}
        assert store.get("p", kept.id).body == kept.body  # type: ignore[union-attr]

    def test_a_transaction_is_kept_whole_or_not_at_all(self, store: Store) -> None:
        first, second = row("first"), row("second")
        with pytest.raises(ZeroDivisionError), store.write() as writer:
            writer.append([first])
            writer.add_events("p", [event(first.id, "status")])
            assert writer.get("p", first.id) is not None
            _ = 1 / 0
        assert (store.counts("p").records, store.counts("p").events) == (0, 0)
        with store.write() as writer:
            writer.append([second])
        assert store.counts("p").records == 1

    def test_pages_go_back_in_time_and_end(self, store: Store) -> None:
        rows = [row(f"n{n}", n // 2) for n in range(7)]
        with store.write() as writer:
            writer.append(rows)
        expected = sorted(rows, key=lambda made: (made.at_us, made.id), reverse=True)
        seen = []
        cursor = None
        while page := store.page("p", EVERYTHING, cursor, 3):
            seen += page
            cursor = Cursor(page[-1].at_us, page[-1].id)
        assert [stored.id for stored in seen] == [made.id for made in expected]

    def test_search_matches_any_term_within_the_filters(self, store: Store) -> None:
        rows = [row("alpha beta", 1, tags=["x"]), row("alpha alpha alpha", 2), row("gamma", 3), row("alpha", 4, "other")]
        with store.write() as writer:
            writer.append(rows)
        found = store.search("p", ["beta", "alpha"], EVERYTHING, 10)
        assert {stored.id for stored, _ in found} == {rows[0].id, rows[1].id}
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        assert [stored.id for stored, _ in store.search("p", ["alpha"], Filters(tag="x"), 10)] == [rows[0].id]
        assert len(store.search("p", ["alpha", "gamma"], EVERYTHING, 1)) == 1
        assert store.search("p", [], EVERYTHING, 10) == []

    def test_events_are_added_once_and_ordered(self, store: Store) -> None:
        kept = row()
        late, early = event(kept.id, "status", 9), event(kept.id, "imported", 2)
        with store.write() as writer:
            writer.append([kept])
            assert writer.add_events("p", [late, early]) == [late, early]
            assert writer.add_events("p", [late]) == []
            writer.set_validation("p", kept.id, "archived", '{"status":"archived"}')
        assert store.events_of("p", kept.id) == [early, late] == list(store.events("p"))
        assert [sorted(events, key=lambda found: found.at_us) for _, events in store.rows("p")] == [[early, late]]
        assert store.get("p", kept.id).validation == '{"status":"archived"}'  # type: ignore[union-attr]
        assert store.search("p", ["fact"], EVERYTHING, 5) == []
        assert len(store.search("p", ["fact"], Filters(status="archived"), 5)) == 1

    def test_erase_leaves_a_tombstone_and_nothing_else(self, store: Store) -> None:
        doomed, kept = row("doomed secret", tags=["t"], files=["f"]), row("kept")
        tombstone = event(doomed.id, "forgotten", 5)
        with store.write() as writer:
            writer.append([doomed, kept])
            writer.add_events("p", [event(doomed.id, "status")])
            assert writer.erase("p", [doomed.id, new_id()], [tombstone]) == 1
            assert writer.add_events("p", [event(doomed.id, "status", 7)]) == [], "nothing happens to the forgotten"
        assert store.get("p", doomed.id) is None
        assert store.search("p", ["secret"], EVERYTHING, 5) == []
        assert store.page("p", Filters(tag="t"), None, 5) == [] == store.page("p", Filters(path="f"), None, 5)
        assert store.events_of("p", doomed.id) == [tombstone]
        assert store.counts("p").forgotten == 1
        assert store.finish_erasure()

    def test_rewrite_replaces_what_is_derived_and_only_that(self, store: Store) -> None:
        kept = row("kept", tags=["a"], files=["x"])
        with store.write() as writer:
            writer.append([kept])
            writer.rewrite(kept._replace(author="eve", terms="other words", tags=("b",), files=(), body="nonsense"))
            writer.rewrite(row("unknown"))
        assert rows_in(store, "p") == [kept._replace(author="eve", terms="other words", tags=("b",), files=())]

    def test_no_call_sees_two_projects(self, store: Store) -> None:
        one, two = row("shared words", project="one"), row("shared words", project="two")
        with store.write() as writer:
            writer.append([one, two])
            writer.add_events("two", [event(two.id, "imported")])
            assert writer.get("one", two.id) is None
            assert writer.events_of("one", two.id) == []
            assert writer.erase("one", [two.id], []) == 0
            writer.set_validation("one", two.id, "published", None)
        for project, own in (("one", one), ("two", two)):
            assert rows_in(store, project) == [own]
            assert [stored.id for stored in store.page(project, EVERYTHING, None, 9)] == [own.id]
            assert [stored.id for stored, _ in store.search(project, ["shared"], EVERYTHING, 9)] == [own.id]
            assert store.counts(project).records == 1
        assert list(store.events("one")) == []

    def test_the_same_id_may_live_in_two_projects(self, store: Store) -> None:
        one = row("here", project="one")
        two = one._replace(project_id="two")
        with store.write() as writer:
            assert writer.append([one, two]).added == [one.id, two.id]
            assert writer.erase("one", [one.id], [event(one.id, "forgotten")]) == 1
        assert store.get("two", one.id) is not None

    def test_a_stream_sees_one_instant(self, store: Store) -> None:
        rows = [row(f"n{n}", n) for n in range(10)]
        with store.write() as writer:
            writer.append(rows)
        stream = store.stream("p")
        first = next(stream)
        with store.write() as writer:
            writer.append([row("later", 99)])
            writer.erase("p", [rows[5].id], [])
        assert [first.id, *(stored.id for stored in stream)] == [made.id for made in rows]
