"""The facade, used as a caller uses it."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engines import ENGINES, Places, go_past, wrong_with
from hardwon import Fact, HardwonError, Memory, Metadata, Trajectory, errors
from hardwon.records.kinds import Moment
from hardwon.store.sqlite.engine import SqliteStore
from strategies import at

pytestmark = pytest.mark.engines(*ENGINES)


def fact(content: str = "The cache key lacked the tenant.", **metadata: Any) -> Fact:
    envelope = Metadata.model_validate(metadata)
    return Fact(content=content, fact_type="observation", metadata=envelope)


def test_the_five_ways_of_recording_come_back_as_they_were_said(memory: Memory) -> None:
    keys = {"task_type": "debug", "ticket": "B-1"}
    experience = memory.remember("Fixed the race", "success", "code_interpreter", **keys)
    text = "Redis 7 drops idle clients after 300 s."
    found = memory.record_fact(text, "observation", 0.8, {"libraries": ["redis"]})
    step = {"action": "ls", "observation": "ok", "reward": 0.1}
    trajectory = memory.record_trajectory("fix login", [step], 1.0)
    told = (["escalated"], ["read the log"], [{"lesson": "wait"}])
    episode = memory.record_episode("triage", 0.4, 7, "escalated early", *told)
    issue = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}
    fix = memory.record_fix(issue, True, False, "slow", ["sleep 1"], 4.5)
    for record in (experience, found, trajectory, episode, fix):
        assert memory.get(record.id) == record
        assert record.metadata.project_id == "default"
        assert record.metadata.validation.status == "hypothesis"
    kinds = [record.kind for record in memory.browse()]
    assert kinds == ["fix", "episode", "trajectory", "fact", "experience"]
    assert experience.extra == {"task_type": "debug", "ticket": "B-1"}
    assert (fix.fix_success, fix.succeeded) == (True, False)


def test_the_envelope_keywords(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"print(1)\n")
    record = memory.remember(
        "x", "learning", insight_type="fact",
        author="ci", source={"type": "test_result", "id": "run-7"}, tags=["b", "a"], timestamp="2026-01-31T12:00:00+01:00",
        related_files=[tmp_path / "a.py", tmp_path / "gone.py"], git_commit="f" * 40, git_branch="dev", failure_hash="abc",
    )  # fmt: skip
    metadata = record.metadata
    source = metadata.source
    assert (source.type, source.id, source.author) == ("test_result", "run-7", "ci")
    assert metadata.context.timestamp == datetime(2026, 1, 31, 11, tzinfo=UTC)
    there, gone = (file.hash for file in metadata.context.related_files)
    assert (there, gone) == ("e9b8b06bc415ad5b3f3cc56b53533ad84fa0e927", "")
    assert (metadata.context.git_commit, metadata.context.git_branch) == ("f" * 40, "dev")
    assert (metadata.tags, metadata.validation.failure_hash) == (["b", "a"], "abc")
    said = "colour: 'red' .*the keywords author, source"
    with pytest.raises(errors.InvalidInputError, match=said):
        memory.record_fact("x", "error", colour="red")  # type: ignore[call-arg]
    said = "metadata: .*keys that no record has already"
    with pytest.raises(errors.InvalidInputError, match=said):
        memory.remember("x", "learning", insight_type="fact", metadata={})
    with pytest.raises(errors.InvalidInputError, match="related_files: .*regular files"):
        memory.record_fact("x", "error", related_files=[tmp_path])
    assert memory.stats().records == 1


def test_adding_again_changes_nothing_and_another_record_is_refused(memory: Memory) -> None:
    record = fact()
    assert memory.add(record) == memory.add(record) == record.id
    assert memory.add_many([record, record]) == [record.id, record.id]
    assert memory.stats().records == 1
    with pytest.raises(errors.ConflictError, match="append-only"):
        memory.add_many([fact("new"), record.copy_with(content="something else")])
    assert memory.stats().records == 1


def test_a_trajectory_is_recorded_whatever_happens(memory: Memory) -> None:
    with memory.trajectory("solve", tags=["x"]) as solved:
        solved.step("look", "found it", 0.5)
    with memory.trajectory("judge") as judged:
        judged.step("try")
        judged.final_reward = 0.25
    with pytest.raises(RuntimeError, match="boom"), memory.trajectory("break") as broken:
        broken.step("push", "it cracks", -1)
        raise RuntimeError("boom \0\ud800")
    kept = {record.task: record for record in memory.browse() if isinstance(record, Trajectory)}
    rewards = {task: record.final_reward for task, record in kept.items()}
    assert rewards == {"solve": 1.0, "judge": 0.25, "break": 0.0}
    assert kept["break"].steps[-1].observation == "RuntimeError: boom ?"
    assert kept["solve"].metadata.tags == ["x"]
    assert broken.record == kept["break"]


def test_a_trajectory_that_cannot_be_kept_hides_no_error_of_the_caller(memory: Memory) -> None:
    with pytest.raises(KeyError) as caught, memory.trajectory("t"):
        memory.close()
        raise KeyError("mine")
    assert "could not record this trajectory" in caught.value.__notes__[0]


def filtered(memory: Memory, **filters: Any) -> set[str]:
    return {record.id for record in memory.browse(**filters)}


def test_every_filter(memory: Memory) -> None:
    keys: Any = {"reason": "blocked", "task_id": "T1", "author": "ann", "tags": ["red"]}
    a = memory.remember("a", "failure", "web_search", timestamp=at(1), **keys).id
    issue = {"model": "m1", "issue_type": "TIMEOUT"}
    b = memory.record_fix(issue, True, True, timestamp=at(2), author="bob").id
    c = memory.record_episode("T1", 1.0, timestamp=at(3), tags=["red", "blue"]).id
    moment = Moment(timestamp=at(4), related_files=[{"path": "src/auth/login.py"}])
    d = memory.add(fact(context=moment))
    memory.verify(d, "human_approval")
    everything = {a, b, c, d}
    assert filtered(memory) == everything
    assert filtered(memory, kind="fix") == {b}
    assert filtered(memory, outcome="failure") == {a}
    assert filtered(memory, tool="web_search") == {a}
    assert filtered(memory, task_id="T1") == {a, c}
    assert filtered(memory, model="m1", issue_type="TIMEOUT") == {b}
    assert filtered(memory, status="verified") == {d}
    assert filtered(memory, tag="red") == {a, c}
    assert filtered(memory, author="bob") == {b}
    assert filtered(memory, since=at(2), until=at(4)) == {b, c}
    assert filtered(memory, since=at(2).isoformat()) == {b, c, d}
    assert filtered(memory, path="src/*.py") == {d} == filtered(memory, path="*/log[!x]n.py")
    assert filtered(memory, path="*.ts") == set()
    assert filtered(memory, project="default") == everything
    assert filtered(memory, tag="red", author="ann") == {a}
    assert [record.id for record in memory.browse(limit=2)] == [d, c]
    assert list(memory.browse(limit=0)) == []


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"project": "other"}, "project: 'other' .*'default'"),
        ({"colour": 1}, "colour: 1 .*the filters kind, outcome"), ({"outcome": "meh"}, "outcome: 'meh' .*'success'"),
        ({"since": "2026-01-01T00:00:00"}, "since: .*with a zone"),
        ({"r.kind = 'x' OR 1=1 --": "x"}, "the filters kind"), ({"limit": -1}, "limit: -1"),
        ({"limit": True}, "limit: True"),
    ],
)  # fmt: skip
def test_bad_filters_are_named(memory: Memory, filters: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidInputError, match=message):
        memory.browse(**filters)


def test_browse_pages_through_many_and_misses_none(memory: Memory) -> None:
    made = [fact(f"Fact number {n}.", context=Moment(timestamp=at(n // 7))) for n in range(1203)]
    memory.add_many(made)
    seen = [record.id for record in memory.browse()]
    assert len(seen) == len(set(seen)) == 1203
    ordered = sorted(made, key=lambda record: (record.at_us, record.id), reverse=True)
    assert seen == [record.id for record in ordered]


def test_recall_finds_words_identifiers_and_parts_of_them(memory: Memory) -> None:
    text, code = "TypeError in getUserName of src/auth/login.py", "code_interpreter"
    login = memory.remember(text, "failure", code, error_type="runtime")
    memory.remember("Wrote docs for the release", "success", code, task_type="write")
    names = ("login.py", "src/auth/login.py", "getUserName")
    for query in (*names, "user name", "TypeError", "where is the auth?"):
        hits = memory.recall(query)
        assert [hit.record.id for hit in hits] == [login.id], query
        assert hits[0].score == pytest.approx(sum(hits[0].why.values()))
    assert memory.recall('"; DROP TABLE x; --') == [] == memory.recall("") == memory.recall("?!")
    assert memory.recall("docs", outcome="failure") == []
    with pytest.raises(errors.InvalidInputError, match="k: 0"):
        memory.recall("x", k=0)
    memory.archive(login.id, "the module is gone")
    assert memory.recall("login.py") == []
    assert [hit.record.id for hit in memory.recall("login.py", status="archived")] == [login.id]


def test_projects_are_walls(place: Places) -> None:
    with Memory(place("brain"), project="one") as one, Memory(place("brain"), project="two") as two:
        record = one.remember("shared words", "success", "conversation")
        assert two.get(record.id) is None
        assert list(two.browse()) == [] == two.recall("shared words")
        assert two.stats().records == 0
        with pytest.raises(errors.UnknownRecordError):
            two.verify(record.id, "human_approval")
        assert two.forget(record.id).ids == []
        assert one.get(record.id) == record
        assert two.audit(record.id) == []
        with pytest.raises(errors.InvalidInputError):
            two.merge(one, trust=True)


def test_forget_by_id_by_filter_and_as_a_rehearsal(memory: Memory) -> None:
    keep = memory.remember("keep me", "success", "conversation", author="ann")
    bobs: Any = {"author": "bob", "tags": ["t"]}
    gone = [memory.remember(f"number {n}", "success", "conversation", **bobs) for n in range(3)]
    rehearsal = memory.forget(author="bob", dry_run=True)
    assert set(rehearsal.ids) == {record.id for record in gone}
    assert (rehearsal.erased, rehearsal.dry_run) == (False, True)
    assert memory.stats().records == 4
    report = memory.forget(gone[0].id)
    assert (report.ids, report.erased, report.pending) == ([gone[0].id], True, False)
    assert set(memory.forget({"author": "bob"}).ids) == {gone[1].id, gone[2].id}
    assert [record.id for record in memory.browse()] == [keep.id]
    assert memory.recall("number") == []
    assert (memory.stats().records, memory.stats().forgotten) == (1, 3)
    assert [event.kind for event in memory.audit(gone[0].id)] == ["forgotten"]
    with pytest.raises(errors.ConflictError, match="was forgotten"):
        memory.add(gone[0])
    with pytest.raises(errors.InvalidInputError, match="ids or at least one filter"):
        memory.forget()
    with pytest.raises(errors.InvalidInputError, match="ids or at least one filter"):
        memory.forget(keep.id, author="ann")
    assert memory.forget(["unknown"]).ids == []
    assert wrong_with(memory) == []


def test_export_and_load(memory: Memory, tmp_path: Path, place: Places) -> None:
    kept = memory.remember("verified here", "success", "conversation")
    other = memory.record_fact("Another one.", "error")
    memory.verify(kept.id, "test_runner", "ci-9")
    path = tmp_path / "out" / "records.jsonl"
    assert memory.export(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    written = [line["metadata"]["validation"]["status"] for line in lines]
    assert written == ["verified", "hypothesis"]
    with Memory(place("copy")) as copy:
        assert (copy.load(path, dry_run=True).added, copy.stats().records) == (2, 0)
        report = copy.load(path, by="ann")
        assert (report.read, report.added, report.present, report.conflicting) == (2, 2, 0, [])
        assert copy.get(other.id) == other
        came = copy.audit(kept.id)[1]
        assert (came.kind, came.by) == ("imported", "ann")
        copy.forget(other.id)
        again = copy.load(path)
        assert (again.added, again.forgotten, copy.get(other.id)) == (0, 1, None)
    assert memory.load(path).present == 2, "loading an export where it came from changes nothing"
    assert memory.get(kept.id).metadata.validation.status == "verified"  # type: ignore[union-attr]


def test_load_checks_the_whole_file_before_it_writes(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    lines = [fact(f"Fact {n}.").to_json() for n in range(1500)]
    lines[1400] = '{"kind": "fact", "content": "x", "fact_type": "error", "confidence": 2}'
    path.write_text("\n".join(lines))
    refused = r"bad.jsonl, line 1401: confidence: 2 is not allowed"
    with pytest.raises(errors.InvalidInputError, match=refused):
        memory.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(errors.InvalidInputError, match="line 1"):
        memory.load(path)
    path.write_text(fact("x").copy_with(metadata=Metadata(project_id="theirs")).to_json())
    with pytest.raises(errors.InvalidInputError, match="project_id: 'theirs'"):
        memory.load(path)
    with pytest.raises(errors.PlaceError, match="cannot read"):
        memory.load(tmp_path / "nowhere.jsonl")
    assert memory.stats().records == 0


def test_export_replaces_a_file_only_when_it_is_complete(memory: Memory, tmp_path: Path) -> None:
    record = memory.record_fact("x", "error")
    path = tmp_path / "x.jsonl"
    path.write_text("old")
    go_past(memory, "UPDATE record SET body = replace(body, 'error', 'ERROR')")
    with pytest.raises(HardwonError, match=f"record {record.id} is not what was written"):
        memory.export(path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.glob("*x.jsonl*")] == ["x.jsonl"]


def test_merge_brings_all_and_tombstones(memory: Memory, tmp_path: Path, place: Places) -> None:
    with Memory(place("other")) as other:
        mine = memory.record_fact("Mine.", "observation")
        theirs = other.record_fact("Theirs.", "observation")
        shared = memory.record_fact("Shared.", "observation")
        doomed = memory.record_fact("Doomed.", "observation")
        other.merge(memory, trust=True)
        other.verify(shared.id, "compiler")
        other.forget(doomed.id)
        report = memory.merge(other, trust=True)
        assert (report.added, report.erased, report.events, report.conflicting) == (1, 1, 1, [])
        assert memory.get(doomed.id) is None
        assert memory.get(theirs.id) == theirs
        assert memory.get(shared.id).metadata.validation.status == "verified"  # type: ignore[union-attr]
        assert memory.merge(other, trust=True).added == 0
        assert {record.id for record in memory.browse()} == {mine.id, theirs.id, shared.id}
        with pytest.raises(errors.InvalidInputError, match="another memory than this one"):
            memory.merge(memory, trust=True)
    assert memory.merge(place("other"), trust=True).added == 0
    assert wrong_with(memory) == []


def test_doctor_finds_what_does_not_agree_and_rebuild_mends_it(memory: Memory) -> None:
    keys: Any = {"tags": ["t"], "related_files": ["a.py"]}
    record = memory.remember("find me", "success", "conversation", **keys)
    bad = f"BAD derived: 1 records are not, for example {record.id}: run rebuild"
    memory.verify(record.id, "compiler")
    lowered = "status = 'hypothesis', validation = NULL"
    changed = ("outcome = 'failure'", "status = 'published'", lowered)
    for damage in (
        *(f"UPDATE record SET {change}" for change in changed),
        *(f"DELETE FROM record_{name}" for name in ("tag", "file", "text")),
        "UPDATE record_text SET terms = 'other'",
    ):
        go_past(memory, damage)
        assert bad in str(memory.doctor()), damage
        assert memory.rebuild() == 1
        assert wrong_with(memory) == [], damage
    go_past(memory, "UPDATE record SET body = replace(body, 'find', 'lose')")
    assert "BAD integrity" in str(memory.doctor())
    with pytest.raises(HardwonError, match="is not what was written"):
        memory.get(record.id)


def test_stats(memory: Memory) -> None:
    assert (memory.stats().records, memory.stats().first) == (0, None)
    memory.remember("a", "success", "conversation", author="ann", timestamp=at(1))
    memory.record_fact("b", "error", timestamp=at(5))
    stats = memory.stats()
    assert stats.by_kind == {"experience": 1, "fact": 1}
    assert stats.by_outcome == {"success": 1}
    assert stats.by_author == {"agent": 1, "ann": 1}
    assert stats.by_status == {"hypothesis": 2}
    assert (stats.first, stats.last) == (at(1), at(5))
    assert stats.size_bytes > 0


def test_closed_is_closed(place: Places) -> None:
    memory = Memory(place("brain"))
    memory.close()
    memory.close()
    uses: tuple[Callable[[], object], ...] = (memory.stats, memory.doctor)
    uses = (*uses, lambda: memory.get("x"), lambda: memory.record_fact("x", "error"))
    for use in uses:
        with pytest.raises(errors.ClosedError, match="open it again"):
            use()


@pytest.mark.engines("sqlite")
def test_where_a_memory_is(tmp_path: Path, place: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "shop"
    (project / "src" / "deep").mkdir(parents=True)
    (project / ".git").mkdir()
    monkeypatch.chdir(project / "src" / "deep")

    def where(*location: str) -> tuple[str, str]:
        with Memory(*location) as memory:
            return memory.location, memory.project

    assert where() == (str(tmp_path / "user-data" / "hardwon" / "memory.db"), "shop")
    (project / ".hardwon").mkdir()
    assert where() == (str(project / ".hardwon" / "memory.db"), "shop")
    here = project / "src" / "deep" / "brain" / "memory.db"
    assert where("brain") == (str(here), "default")
    assert where(place("one.db"), "p") == (str(tmp_path / "one.db"), "p")
    for location in ("", ":memory:", "a\0b", "postgresql://user:pass/word@host/db"):
        with pytest.raises(errors.InvalidInputError, match="location: "):
            Memory(location)
    for name in ("", "a\nb", "x" * 201):
        with pytest.raises(errors.InvalidInputError, match="project"):
            Memory(place("brain"), project=name)


@pytest.mark.engines("sqlite")
def test_files_and_folders_are_private(tmp_path: Path, place: Places) -> None:
    with Memory(place("a/b")) as memory:
        memory.record_fact("x", "error")
        files = [file for file in (tmp_path / "a").rglob("*") if file.is_file()]
        assert {file.name for file in files} == {"memory.db", "memory.db-wal", "memory.db-shm"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")} == {0o700}
    # closed, it is one file
    assert [file.name for file in (tmp_path / "a" / "b").iterdir()] == ["memory.db"]


@pytest.mark.engines("sqlite")
def test_a_size_bound_and_a_warning(place: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    class SmallStore(SqliteStore):
        def __init__(self, path: Path, **options: Any) -> None:
            super().__init__(path, bytes_max=400_000, **options)

    monkeypatch.setattr("hardwon.memory.places.SqliteStore", SmallStore)
    monkeypatch.setattr("hardwon.store.sqlite.engine._WRITES_BETWEEN_SIZE_CHECKS", 2)
    kept: list[str] = []
    with Memory(place("brain")) as memory:
        full = pytest.raises(HardwonError, match="no room")
        with pytest.warns(errors.NearlyFullWarning, match="of at most 400000 bytes"), full:
            texts = (f"number {number} " + "x" * 900 for number in range(1000))
            kept.extend(memory.record_fact(text, "error").id for text in texts)
        assert len(kept) > 50
        assert [record.id for record in memory.browse()] == kept[::-1]
        assert memory.forget(kept[:20]).erased, "forgetting works in a full memory"
        kept.append(memory.record_fact("room again", "error").id)
        assert "BAD size" in str(memory.doctor())


def test_many_threads_share_one_memory(memory: Memory) -> None:
    def work(number: int) -> None:
        for turn in range(12):
            record = memory.remember(f"thread {number} turn {turn}", "success", "conversation")
            assert memory.get(record.id) == record
            assert memory.recall(f"thread {number}", k=3)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(work, range(16)))
    assert memory.stats().records == 16 * 12
