"""Ways to hurt a memory that were tried on it, each of which once worked."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hardwon import Episode, Experience, Fact, Memory, Metadata, Step, Trajectory, json_schema
from hardwon.errors import ConflictError, HardwonError, InvalidInputError, PlaceError, Problem
from hardwon.memory.transfer import read_file
from hardwon.records.fields import new_id
from short import status
from strategies import at

TOKEN = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def note(content: str = "a note", **fields: Any) -> Experience:
    return Experience(content=content, outcome="failure", tool="unknown", **fields)


@pytest.mark.parametrize(
    "target", [{"author": None}, {"tag": None, "author": "x"}, {"project": "default"}, {"project": None}, {}, []]
)  # fmt: skip
def test_forget_never_means_everything(memory: Memory, target: Any) -> None:
    memory.add_many([note(), note()])
    with pytest.raises(InvalidInputError):
        memory.forget(target, dry_run=True)
    assert memory.stats().records == 2


def test_an_export_never_replaces_a_database(memory: Memory, tmp_path: Path) -> None:
    kept = memory.add(note())
    own = [memory.location + ending for ending in ("", "-wal", "-shm")]
    for name in (*own, str(tmp_path / "other.db")):
        with pytest.raises(InvalidInputError, match="a name that no database has"):
            memory.export(name)
    assert memory.get(kept) is not None


def test_a_branch_with_an_endless_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("b" * 230, "bad\u2028name"):
        (tmp_path / ".git" / "HEAD").write_text(f"ref: refs/heads/{name}")
        with Memory("brain") as memory:
            record = memory.remember("kept", "failure", "unknown")
            assert memory.get(record.id) == record


def test_what_happens_last_counts_last_whatever_the_clock_says(tmp_path: Path) -> None:
    times = iter([at(9), at(8), at(7), at(6)])
    with Memory(tmp_path / "back", clock=lambda: next(times)) as memory:
        record = memory.record_fact("x", "observation")
        memory.verify(record.id, "compiler")
        assert memory.publish(record.id).metadata.validation.status == "published"
        assert memory.archive(record.id, "r").metadata.validation.status == "archived"
    with Memory(tmp_path / "still", clock=lambda: at(0)) as memory:
        for _ in range(20):
            record = memory.record_fact("x", "observation")
            memory.verify(record.id, "compiler")
            assert memory.archive(record.id, "r").metadata.validation.status == "archived"
        assert memory.doctor().ok


def test_a_verification_of_other_content_vouches_for_nothing_here(tmp_path: Path) -> None:
    shared = new_id()
    with Memory(tmp_path / "p") as mine, Memory(tmp_path / "q") as theirs:
        mine.add(note("mine", id=shared))
        theirs.add(note("theirs", id=shared))
        theirs.verify(shared, "human_approval")
        assert mine.merge(theirs, trust=True).conflicting == [shared]
        assert status(mine, shared) == "hypothesis"


def test_one_id_with_two_contents_in_one_batch(memory: Memory, tmp_path: Path) -> None:
    one = note("one")
    two = one.copy_with(content="two")
    with pytest.raises(ConflictError):
        memory.add_many([one, two, one])
    assert memory.stats().records == 0
    for lines in ([one, two], [one, two, one], [two, one, one, two]):
        path = tmp_path / "twice.jsonl"
        path.write_text("\n".join(record.to_json() for record in lines))
        with Memory(tmp_path / f"brain{len(lines)}") as empty:
            foreseen, done = empty.load(path, dry_run=True), empty.load(path)
            assert replace(foreseen, dry_run=False) == done
            assert done.conflicting
            empty.forget(one.id)
            assert empty.load(path, dry_run=True).forgotten == len(lines)
            assert empty.load(path).forgotten == len(lines)


def test_a_memory_in_use_is_no_backup(memory: Memory, tmp_path: Path) -> None:
    memory.add(note())
    for target in (tmp_path / "elsewhere", memory.location):
        with pytest.raises(PlaceError, match="a memory in use, not a backup"):
            Memory.restore(memory.location, target)
    assert memory.stats().records == 1


def test_secrets_stay_off_the_disk_on_every_way_in(tmp_path: Path) -> None:
    place = tmp_path / "brain"
    with Memory(place) as memory:
        told = dict.fromkeys(("summary", "author", "failure_hash", "git_commit"), TOKEN)
        first = memory.remember("x", "failure", "unknown", **told)
        assert first.redacted == ["github-token"]
        memory.add(note(metadata={"context": {"related_files": [{"path": "a", "hash": TOKEN}]}}))
        named: dict[str, Any] = {f"key {TOKEN}": 1}
        memory.add(note(mine={"secret": {"deep": ["hunter4hunter4"]}}, **named))
        issue = {"model": "m", "description": f"clone failed with {TOKEN}", "host": TOKEN}
        info = {"password": 12345678, TOKEN: 1, "env": {"DB_PASSWORD": "hunter4hunter4"}}
        url = f"git clone https://u:{TOKEN}@example.org/r"
        memory.record_fix(issue, True, True, TOKEN, [url], system_info=info, notes=TOKEN)
        card = {"evidence": "a" * 275 + " " + TOKEN, "lesson": TOKEN}
        memory.record_episode("t", 0.1, mistake_cards=[card])
        with pytest.raises(RuntimeError), memory.trajectory("t"):
            raise RuntimeError("a" * 199_970 + " " + TOKEN)
        memory.verify(first.id, "test_runner", TOKEN)
        memory.archive(first.id, f"it had {TOKEN}", by=TOKEN)
        memory.export(tmp_path / "x.jsonl")
        memory.forget(memory.add(note()), by=TOKEN)
        with Memory(tmp_path / "copy") as copy:
            copy.load(tmp_path / "x.jsonl", by=TOKEN)
    with pytest.raises(InvalidInputError, match="project"):
        Memory(place, project=TOKEN)
    with pytest.raises(InvalidInputError, match="redacted"):
        note(redacted=[TOKEN])
    for file in (file for file in tmp_path.rglob("*") if file.is_file()):
        data = file.read_bytes().lower()
        assert TOKEN[4:14].lower().encode() not in data, file
        assert b"hunter4" not in data, file
        assert b"12345678" not in data, file


def test_merge_cleans_what_another_memory_kept_raw(tmp_path: Path) -> None:
    with Memory(tmp_path / "raw") as raw, Memory(tmp_path / "clean") as clean:
        from hardwon.store.base import build_row

        leaky = note(f"uses {TOKEN}", metadata={"project_id": "default"})
        with raw._project.store.write(raw.project) as writer:
            writer.append([build_row(leaky)])
        assert clean.merge(raw, trust=True).added == 1
        assert clean.merge(raw, trust=True).present == 1
        kept = clean.get(leaky.id)
        assert isinstance(kept, Experience)
        assert kept.content == "uses [REDACTED:github-token]"


def test_a_pending_erasure_is_finished_by_the_next_write_or_the_next_forget(tmp_path: Path) -> None:
    for finish in ("write", "forget"):
        place = tmp_path / finish
        with Memory(place) as memory, Memory(place) as reader:
            doomed = memory.add(note("Unforgettable77"))
            memory.add(note("another"))
            stream = reader._project.store.stream("default")
            next(stream)
            assert memory.forget(doomed).pending
            stream.close()
            if finish == "write":
                memory.add(note("next"))
            else:
                report = memory.forget(doomed)
                assert (report.ids, report.unknown, report.erased) == ([], [doomed], True)
            assert Path(memory.location + "-wal").stat().st_size == 0
        assert b"nforgettable77" not in (place / "memory.db").read_bytes()


def test_an_id_may_be_spelled_in_any_way(memory: Memory) -> None:
    record_id = memory.add(note())
    for spelled in (record_id, record_id.upper(), uuid.UUID(record_id), "{" + record_id + "}"):
        assert memory.get(spelled) is not None
        assert len(memory.audit(spelled)) == 1
        assert memory.forget(spelled, dry_run=True).ids == [record_id]
    for stranger in ("", "x", "\ud800", new_id()):
        assert memory.get(stranger) is None
        assert memory.audit(stranger) == []
        assert memory.forget(stranger).unknown == [stranger]
    for nonsense in (None, 5, b"abc", ["a"], object()):
        for ask in (memory.get, memory.audit, lambda value: memory.forget([value])):
            with pytest.raises(InvalidInputError, match="id"):
                ask(nonsense)  # type: ignore[arg-type]


def test_doctor_is_calm_while_others_write(memory: Memory) -> None:
    ids = memory.add_many([note(f"number {number}") for number in range(400)])
    verifying = (memory.verify(record_id, "compiler") for record_id in ids)
    thread = threading.Thread(target=lambda: list(verifying))
    thread.start()
    diagnoses = [memory.doctor() for _ in range(4)]
    thread.join()
    assert all(diagnosis.ok for diagnosis in diagnoses)


@pytest.mark.parametrize(
    "harm",
    [
        "INSERT INTO record_tag VALUES (99, 't', 'default')", "INSERT INTO record_file VALUES (99, 'f', 'default')",
        "INSERT INTO record_text VALUES (99, 'stray', '@a')",
        "UPDATE event SET kind = 'status' WHERE kind = 'forgotten'", "UPDATE event SET at_us = 5",
        "UPDATE event SET body = '{}'",
    ],
)  # fmt: skip
def test_doctor_finds_what_belongs_nowhere_and_changed_events(memory: Memory, harm: str) -> None:
    memory.add(note())
    memory.forget(memory.add(note()))
    assert memory.doctor().ok
    with memory._project.store.write(memory.project) as writer:
        writer.session.connection.execute(harm)
    assert not memory.doctor().ok


def test_a_batch_may_come_from_a_generator_that_uses_the_memory(memory: Memory) -> None:
    def made() -> Iterator[Experience]:
        for number in range(3):
            memory.remember(f"on the way {number}", "failure", "unknown")
            yield note(f"number {number}")

    memory.add_many(made())
    assert memory.stats().records == 6


def test_a_fork_from_within_does_not_wait(memory: Memory) -> None:
    started = time.monotonic()
    with memory._project.store.write(memory.project):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    assert time.monotonic() - started < 60


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_a_trajectory_is_recorded_however_long_and_whatever_was_raised(memory: Memory) -> None:
    with pytest.raises(KeyError), memory.trajectory("endless") as endless:
        for number in range(10_000):
            endless.step(f"step {number}")
        raise KeyError("x")
    assert endless.record is not None
    assert len(endless.record.steps) == 10_000
    assert endless.record.steps[-1].observation == "KeyError: 'x'"
    with memory.trajectory("huge") as huge:
        for number in range(40):
            huge.step(f"step {number}", "\u0001\U0001f600" * 90_000)
    assert huge.record is not None
    assert len(huge.record.steps) == 40
    with pytest.raises(UnspeakableError), memory.trajectory("silent") as silent:
        raise UnspeakableError
    assert silent.record is not None
    assert silent.record.steps[-1].observation == "UnspeakableError"
    assert memory.stats().by_kind == {"trajectory": 3}


def test_merging_what_is_not_there_makes_nothing(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match="there is no memory at"):
        memory.merge(tmp_path / "typo", trust=True)
    assert not (tmp_path / "typo").exists()


def test_a_memory_through_a_link_is_the_memory_it_leads_to(tmp_path: Path) -> None:
    with Memory(tmp_path / "brain") as memory:
        memory.add(note())
        (tmp_path / "link").symlink_to(tmp_path / "brain")
        (tmp_path / "link.db").symlink_to(memory.location)
        for name in ("link", "link.db"):
            with Memory(tmp_path / name) as linked:
                assert linked.location == memory.location
                assert linked.stats().size_bytes == memory.stats().size_bytes


class NoOffset(tzinfo):
    def tzname(self, _: datetime | None) -> str | None:
        return None

    def dst(self, _: datetime | None) -> timedelta | None:
        return None

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return None


class Unfinished(NoOffset):
    def utcoffset(self, _: datetime | None) -> timedelta | None:
        raise NotImplementedError


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no picture")


ODD: list[Any] = [
    None, 5, 2**70, 10**400, 1.5, float("nan"), True, b"x", "", "\0", "\ud800", "x" * 300_000, [], ["a"], [[]], {"a"}, {"a": 1},
    {1: 2}, ("a",), object(), Decimal("0.5"), uuid.uuid4(), Path("x"), at(0), at(0).replace(tzinfo=None),
    at(0).replace(tzinfo=NoOffset()), at(0).replace(tzinfo=Unfinished()), iter(["a"]), lambda: None, Exception,
]  # fmt: skip


Call = tuple[str, Callable[[], object]]


def with_odd(name: str, call: Any, fields: str, odd: Any, **valid: Any) -> Iterator[Call]:
    """The call once for each field, with something odd in it and the others as they should be."""
    for field in fields.split():
        yield f"{name} {field}", partial(call, **{**valid, field: odd})


def calls(memory: Memory, odd: Any, folder: Path) -> Iterator[Call]:
    """Every public method with something odd in each of its places."""
    code = {"content": "x", "outcome": "success", "tool": "code_interpreter", "task_type": "debug"}
    fix = "issue fix_success verification_success analysis fix_commands execution_time_seconds system_info notes fixer_type"
    envelope = "author source timestamp tags related_files git_commit git_branch failure_hash"
    filters = "kind outcome tool task_id status tag project author since until path limit"
    fact = {"content": "x", "fact_type": "error"}
    names = "content outcome tool summary task_type cls self mine"
    yield from with_odd("remember", memory.remember, names, odd, **code)
    names = f"content fact_type confidence entities {envelope}"
    yield from with_odd("fact", memory.record_fact, names, odd, **fact)
    names, ran = "task steps final_reward", {"task": "t", "steps": [], "final_reward": 0}
    yield from with_odd("run", memory.record_trajectory, names, odd, **ran)
    episode = "task_id score steps trajectory_summary mistakes successes mistake_cards"
    yield from with_odd("episode", memory.record_episode, episode, odd, task_id="t", score=0)
    applied = {"issue": {}, "fix_success": True, "verification_success": True}
    yield from with_odd("fix", memory.record_fix, f"{fix} confidence", odd, **applied)
    yield from with_odd("browse", lambda **given: list(memory.browse(**given)), filters, odd)
    yield from with_odd("recall", memory.recall, "query k", odd, query="x")
    yield from with_odd("compare", memory.episodes.compare, "task_id tag by_run author since", odd)
    for name in ("get", "audit", "add", "add_many", "publish", "export", "load", "backup", "merge"):
        yield name, partial(getattr(memory, name), odd)
    yield "care.take_in", partial(memory.care.take_in, odd)
    yield "forget", partial(memory.forget, odd, dry_run=True)
    yield "verify", partial(memory.verify, odd, odd, odd)
    yield "archive", partial(memory.archive, new_id(), odd, odd)
    yield "supersede", partial(memory.supersede, new_id(), odd, odd)
    yield "restore", partial(Memory.restore, odd, folder / "r")
    yield "location", lambda: Memory(odd).close()
    yield "project", lambda: Memory(folder / "p", project=odd).close()
    yield "schema", partial(json_schema, odd)
    for model in (Experience, Fact, Trajectory, Episode, Step, Metadata):
        yield from with_odd(model.__name__, model, " ".join(model.model_fields), odd)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_no_input_gets_a_foreign_error(
    memory: Memory, tmp_path: Path, odd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    refusals = []
    for name, call in calls(memory, odd, tmp_path):
        try:
            call()
        except HardwonError as error:
            refusals.append(str(error))
        except Exception as error:
            told = f"{name} with {type(odd).__name__}: {type(error).__name__}: {error}"
            raise AssertionError(told) from error
    assert len(refusals) > 10
    assert all(refusals)
    assert memory.doctor().ok
    assert all(record.id for record in memory.browse())


def test_a_problem_can_be_told_whatever_the_value_is() -> None:
    assert "field: <Unprintable" in str(Problem("field", Unprintable(), "text"))
    assert "<int>" in str(Problem("field", 10**5000, "text"))
    with pytest.raises(InvalidInputError, match="score: <int> is not allowed"):
        Episode(task_id="t", score=10**5000)


def test_a_deleted_folder_and_long_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with Memory(tmp_path / "brain") as memory:
        assert memory.add(note())
        endless, none = str(tmp_path / ("n" * 300)), "/proc/none/x"
        tries: list[tuple[Callable[[str], object], str]] = [
            *((call, endless) for call in (Memory, memory.export, memory.backup)),
            *((call, none) for call in (memory.export, memory.backup)),
            (Memory, "~nobody-here/x"),
        ]
        for call, place in tries:
            with pytest.raises(HardwonError):
                call(place)


def test_a_wide_and_deep_object_is_refused_at_once(memory: Memory) -> None:
    wide: Any = [1]
    long = [Step(action="a" * 200_000, observation="b" * 200_000)] * 40
    for _ in range(14):
        wide = [wide] * 12
    with pytest.raises(InvalidInputError, match="at most 100000 values"):
        note(mine=wide)
    with pytest.raises(InvalidInputError, match="at most 4194304 bytes"):
        memory.add(Trajectory(task="t", steps=long, final_reward=1.0))
    kept = memory.record_trajectory("t", long, 1.0)
    assert len(kept.steps) == 40, "what a recorder collected is cut, not refused"


def test_a_clock_without_a_zone_is_refused(tmp_path: Path) -> None:
    ticks = count()
    with Memory(tmp_path, clock=lambda: at(next(ticks)).replace(tzinfo=None)) as memory:
        with pytest.raises(InvalidInputError, match="clock"):
            memory.record_fact("x", "error")
        with pytest.raises(InvalidInputError, match="clock"):
            memory.archive(new_id(), "r")


def test_blank_lines_and_the_last_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n\n" + note("a").to_json() + "\n  \n" + note("b").to_json())
    assert [getattr(record, "content", "") for record in read_file(path)] == ["a", "b"]
