"""Files added, changed, moved, removed and damaged by people, git, and processes that die."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from cases import TORTURE, examples
from hardwon import Experience, Memory
from hardwon.errors import BusyError
from hardwon.memory.project import ProjectListener
from hardwon.tree.edits import Edits
from hardwon.tree.engine import MemoryEngine
from hardwon.tree.files import TreeFiles
from hardwon.tree.mirror import Mirror
from processes import Child, Tell
from short import need, run_program

FAILURE: dict[str, Any] = {
    "outcome": "failure", "tool": "code_interpreter", "error_type": "runtime",
}  # fmt: skip
RUNTIME = "outcome=failure/tool=code_interpreter/error_type=runtime"
LOGIC = "outcome=failure/tool=code_interpreter/error_type=logic"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[MemoryEngine]:
    with MemoryEngine(tmp_path / "brain") as opened:
        yield opened


def contents(engine: MemoryEngine, **intent: Any) -> list[str]:
    return sorted(memory["content"] for memory in engine.recall(**intent))


def experiences(engine: MemoryEngine) -> list[Experience]:
    return [record for record in engine.memory.browse() if isinstance(record, Experience)]


def write(engine: MemoryEngine, path: str, **memory: Any) -> Path:
    target = Path(engine.root) / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(memory))
    return target


def by_hand(*commands: str) -> None:
    """What a person does in another process."""
    for command in commands:
        subprocess.run(["bash", "-c", command], check=True)


def end_without_a_word(engine: MemoryEngine) -> None:
    """As a process that was killed: nothing is synced."""
    engine.memory._project.listener = ProjectListener()
    engine.close()


def status(engine: MemoryEngine, record_id: str) -> str:
    return need(engine.memory.get(record_id)).metadata.validation.status


def cut_power(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.outside.files.boot_id", lambda: "another start of the machine")


def check(engine: MemoryEngine) -> None:
    """Tree and memory agree, and so does everything that is derived."""
    found = {memory["_path"]: memory for memory in engine.recall()}
    on_disk = {str(path) for path in Path(engine.root).rglob("*.json")}
    left = {f"{engine.root}/{path}" for path in engine.sync().left}
    assert found.keys() - left == on_disk - left
    diagnosis = engine.memory.doctor()
    assert diagnosis.ok, str(diagnosis)


def test_a_file_that_was_added_is_a_memory(engine: MemoryEngine) -> None:
    engine.remember("first", **FAILURE)
    mine: dict[str, Any] = {"metadata": {"ticket": 9}, "timestamp": "2026-02-01T10:00:00Z"}
    write(engine, f"{RUNTIME}/mine.json", content="Put there by hand", **mine)
    flat = {"content": "All keys side by side", "outcome": "learning", "area": "x"}
    write(engine, "outcome=learning/insight_type=fact/flat.json", **flat)
    assert contents(engine) == ["All keys side by side", "Put there by hand", "first"]
    assert contents(engine, error_type="runtime", ticket=9) == ["Put there by hand"]
    assert contents(engine, area="x", insight_type="fact") == ["All keys side by side"]
    (record,) = [found for found in experiences(engine) if found.content == "Put there by hand"]
    assert record.metadata.context.timestamp == datetime(2026, 2, 1, 10, tzinfo=UTC)
    assert record.metadata.validation.status == "hypothesis"
    assert (record.outcome, record.route) == ("failure", ("error_type", "runtime"))
    assert engine.memory.odds(tool="code_interpreter").attempts == 2, "and it is learned from"
    check(engine)


def test_a_brain_made_by_others_is_taken_in(tmp_path: Path) -> None:
    folder = tmp_path / "brain" / RUNTIME
    folder.mkdir(parents=True)
    for number in range(600):
        at = f"2026-01-01T00:{number // 60:02}:{number % 60:02}.5"
        memory = {"timestamp": at, "content": f"old {number}", "summary": "old",
                  "metadata": {"error_type": "runtime"}, "_path": "whatever", **FAILURE}  # fmt: skip
        (folder / f"20260101_00{number:04}_old.json").write_text(json.dumps(memory, indent=2))
    with MemoryEngine(tmp_path / "brain") as engine:
        found = engine.recall(outcome="failure")
        assert [memory["content"] for memory in found[:2]] == ["old 599", "old 598"]
        assert len(found) == 600
        ids = {record.id for record in engine.memory.browse()}
        check(engine)
    shutil.rmtree(tmp_path / "brain" / ".hardwon-memory")
    with MemoryEngine(tmp_path / "brain") as engine:
        again = {record.id for record in engine.memory.browse()}
        assert again == ids, "ids come from path and content"


def test_an_edit_supersedes(engine: MemoryEngine) -> None:
    path = Path(engine.remember("It fails on Tuesdays", **FAILURE))
    (before,) = engine.memory.browse()
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "content": "It fails when the queue is full"}))
    assert contents(engine) == ["It fails when the queue is full"]
    (after,) = [record for record in engine.memory.browse() if record.id != before.id]
    assert status(engine, before.id) == "archived"
    assert engine.memory.care.links(before.id).replaced_by == after.id
    assert after.metadata.context.timestamp == before.metadata.context.timestamp
    (hit,) = engine.memory.recall("fails queue full Tuesdays")
    assert hit.record.id == after.id
    check(engine)


def test_an_edit_that_says_the_same_changes_nothing(engine: MemoryEngine) -> None:
    path = Path(engine.remember("Same as ever", **FAILURE, ticket=3))
    (before,) = engine.memory.browse()
    path.write_text(json.dumps(json.loads(path.read_text()), indent=8, sort_keys=True) + "\n\n")
    os.utime(path)
    assert contents(engine) == ["Same as ever"]
    assert list(engine.memory.browse()) == [before]
    check(engine)


def test_a_file_that_vanished_is_absent_until_it_is_back(engine: MemoryEngine) -> None:
    path = Path(engine.remember("Here and gone", **FAILURE))
    kept = Path(engine.remember("Stays", **FAILURE))
    (record,) = [found for found in experiences(engine) if found.content == "Here and gone"]
    engine.memory.verify(record.id, "test_runner", "ci-7")
    data = path.read_bytes()
    path.unlink()
    assert contents(engine) == ["Stays"]
    assert engine.memory.recall("Here and gone") == []
    assert engine.memory.odds(tool="code_interpreter").attempts == 1
    assert engine.memory.stats().forgotten == 0
    assert [life.kind for life in engine.memory.audit(record.id)] == ["created", "status", "absent"]
    path.write_bytes(data)
    assert contents(engine) == ["Here and gone", "Stays"]
    back = need(engine.memory.get(record.id))
    result = (back.metadata.validation.status, back.metadata.validation.verification_id)
    assert result == ("verified", "ci-7")
    assert engine.memory.odds(tool="code_interpreter").attempts == 2
    shutil.rmtree(kept.parent)
    assert contents(engine) == []
    check(engine)


def test_a_file_that_was_moved(engine: MemoryEngine) -> None:
    path = Path(engine.remember("On the move", **FAILURE))
    (record,) = engine.memory.browse()
    renamed = path.with_name("better_name.json")
    path.rename(renamed)
    assert [memory["_path"] for memory in engine.recall()] == [str(renamed)]
    (kept,) = engine.memory.browse()
    assert kept.id == record.id, "the same memory under another name"
    elsewhere = Path(engine.root) / LOGIC / renamed.name
    elsewhere.parent.mkdir(parents=True)
    renamed.rename(elsewhere)
    assert contents(engine, error_type="runtime") == []
    (moved,) = engine.recall(error_type="logic")
    assert moved["metadata"] == {"error_type": "logic"}, "its place says more than its text"
    assert status(engine, record.id) == "archived"
    check(engine)


def test_unreadable_files_are_left(engine: MemoryEngine, caplog: pytest.LogCaptureFixture) -> None:
    path = Path(engine.remember("Will be damaged", **FAILURE))
    bad = {
        "broken.json": b'{"content": "half',
        "list.json": b"[1, 2]",
        "empty.json": b"",
        "nothing.json": b'{"outcome": "failure"}',
        "binary.json": bytes(range(256)),
        "nul.json": b'{"content": "a\\u0000b"}',
        "deep.json": b'{"content": "x", "a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        "infinite.json": b'{"content": "x", "a": NaN}',
    }
    for name, data in bad.items():
        (path.parent / name).write_bytes(data)
    path.write_bytes(b"{ damaged")
    os.mkfifo(path.parent / "pipe.json")
    (path.parent / "link.json").symlink_to("/etc/hostname")
    (path.parent / "folder.json").mkdir()
    with caplog.at_level(logging.WARNING):
        assert contents(engine) == ["Will be damaged"], "the memory itself is safe"
    left = engine.sync().left
    names = (*bad, path.name, "pipe.json", "link.json")
    assert left.keys() == {f"{RUNTIME}/{name}" for name in names}
    assert "is not JSON" in left[f"{RUNTIME}/broken.json"]
    assert "broken.json is left alone" in caplog.text
    assert {name: (path.parent / name).read_bytes() for name in bad} == bad
    assert path.read_bytes() == b"{ damaged"
    (path.parent / "broken.json").write_text(json.dumps({"content": "Whole again"}))
    path.write_text(json.dumps({"content": "Mended by hand"}))
    assert contents(engine) == ["Mended by hand", "Whole again"]


def test_files_of_others_are_not_memories(engine: MemoryEngine) -> None:
    hidden = (f"{RUNTIME}/.hidden.json", f"{RUNTIME}/x.json.swp", "a=b/~x.txt")
    for name in ("package.json", "src/data.json", ".git/x.json", *hidden):
        write(engine, name, content="Not for us", outcome="failure", tool="unknown")
    assert contents(engine) == []
    assert engine.sync().left == {}


def test_from_a_second_process(engine: MemoryEngine) -> None:
    paths = [Path(engine.remember(f"number {number}", **FAILURE)) for number in range(5)]
    engine.sync()
    new = '{"content": "number 6", "outcome": "failure", "tool": "unknown"}'
    by_hand(
        f"cd '{paths[0].parent}' && rm {paths[0].name} && sed -i 's/number 1/NUMBER ONE/' "
        f"{paths[1].name}",
        f"mkdir -p '{engine.root}/{LOGIC}' && mv '{paths[2]}' '{engine.root}/{LOGIC}/'",
        f"echo '{{' > '{paths[3]}'",
        f"echo '{new}' > '{paths[0].parent}/new.json'",
    )
    expected = ["NUMBER ONE", "number 2", "number 3", "number 4", "number 6"]
    assert contents(engine) == expected
    assert contents(engine, error_type="logic") == ["number 2"]

    def work(tell: Tell) -> None:
        with MemoryEngine(engine.root) as other:
            assert contents(other) == expected
            other.remember("from the other process", **FAILURE)
            paths[4].write_text(json.dumps({"content": "edited over there"}))
            assert "edited over there" in contents(other)
            tell("x" * 36)

    assert Child.start(work).wait() == 0
    expected[3:4] = ["edited over there", "from the other process"]
    assert contents(engine) == sorted(expected)
    assert len(engine.sync().left) == 1


def test_git_checkout_stash_and_pull(tmp_path: Path) -> None:
    root = tmp_path / "brain"
    git = f"git -C '{root}' -c user.name=a -c user.email=a@b -c init.defaultBranch=main"
    with MemoryEngine(root) as engine:
        engine.remember_many([{"content": f"memory {n}", **FAILURE} for n in range(60)])
        everything = contents(engine)
        engine.memory.tokens.create("ci")
        by_hand(f"{git} init -q", f"{git} add -A", f"{git} commit -qm one")
        by_hand(f"{git} checkout -q --orphan bare")
        listed = run_program("git", "-C", root, "ls-files").stdout
        assert (root / ".hardwon-memory" / "memory.tokens.db").exists()
        assert ".db" not in listed
        by_hand(f"{git} rm -rqf .", f"{git} commit -q --allow-empty -m empty")
        assert contents(engine) == []
        assert engine.memory.stats().forgotten == 0
        by_hand(f"{git} checkout -qf main")
        assert contents(engine) == everything
        assert engine.memory.stats().by_status == {"hypothesis": 60}
        path = Path(engine.recall()[0]["_path"])
        path.write_text(json.dumps({"content": "changed"}))
        assert "changed" in contents(engine)
        by_hand(f"{git} stash -q")
        assert contents(engine) == everything
        by_hand(f"{git} stash pop -q")
        assert "changed" in contents(engine)
        check(engine)
    clone = tmp_path / "clone"
    by_hand(f"{git} commit -qam two", f"git clone -q '{root}' '{clone}'")
    with MemoryEngine(clone) as other, MemoryEngine(root) as engine:
        assert contents(other) == contents(engine)
        engine.remember("Pushed by a colleague", **FAILURE)
        by_hand(f"{git} add -A", f"{git} commit -qm three", f"git -C '{clone}' pull -q")
        assert contents(other) == contents(engine)
        check(other)


def test_what_was_forgotten_is_not_brought_back_by_git(tmp_path: Path) -> None:
    root = tmp_path / "brain"
    git = f"git -C '{root}' -c user.name=a -c user.email=a@b"
    with MemoryEngine(root) as engine:
        path = Path(engine.remember("The name of a patient", **FAILURE))
        write(engine, f"{RUNTIME}/mine.json", content="Another patient")
        assert len(contents(engine)) == 2
        by_hand(f"{git} init -q", f"{git} add -A", f"{git} commit -qm one")
        assert engine.forget(outcome="failure") == 2
        by_hand(f"{git} checkout -q .")
        assert path.exists()
        assert contents(engine) == []
        (reason,) = set(engine.sync().left.values())
        assert reason == "was forgotten: remember it anew to have it back"
        assert engine.remember("The name of a patient", **FAILURE)
        assert contents(engine) == ["The name of a patient"]


def test_killed_again_and_again_nothing_is_lost(tmp_path: Path) -> None:
    rng = random.Random(11)
    root = tmp_path / "brain"
    told: list[str] = []
    for turn in range(100 if TORTURE else 12):

        def work(tell: Tell, turn: int = turn) -> None:
            engine = MemoryEngine(root)
            number = 0
            while True:
                number += 1
                count = 1 if number % 7 else 40
                start = f"turn{turn:04}number{number:06}of"
                names = [f"{start}{one:03}".ljust(36, "x") for one in range(count)]
                made = [{"content": f"content of {name}", "summary": name} for name in names]
                if count == 1:
                    engine.remember(**made[0], **FAILURE)
                else:
                    engine.remember_many([one | FAILURE for one in made])
                for name in names:
                    tell(name)

        child = Child.start(work)
        if turn % 4:  # one in four is killed whatever it has done by then
            child.hear()
        time.sleep(rng.uniform(0.0, 0.35))
        child.kill()
        told += child.acknowledged
    assert len(told) >= turn / 2, "it was killed before it remembered: the test shows nothing"
    with MemoryEngine(root) as engine:
        found = {memory["summary"]: memory for memory in engine.recall()}
        assert set(told) <= found.keys()
        for summary, memory in found.items():
            assert memory["content"] == f"content of {summary}"
            said = json.loads(Path(memory["_path"]).read_text())
            assert said["content"] == memory["content"], "and its file says the same"
        assert len(list(engine.memory.browse())) == len(found), "no file was taken for an edit"
        # of memories: a kill may leave what was to become the database or the tree's mark
        assert len(list(root.rglob("*.json.*.part"))) == 0
        check(engine)


@pytest.mark.parametrize("damage", ["missing", "empty", "half", "zeros", "end", "sectors"])
def test_a_power_cut_unsynced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    root = tmp_path / "brain"
    engine = MemoryEngine(root)
    path = Path(engine.remember("Acknowledged", **FAILURE))
    end_without_a_word(engine)
    whole = path.read_bytes()
    path.unlink()
    left = {
        "empty": b"",
        "half": whole[:40],
        "zeros": b"\0" * len(whole),
        "end": b"\0" * 40 + whole[40:],
        "sectors": whole[:20] + b"\0" * 20 + whole[40:60],
    }
    if damage != "missing":
        path.write_bytes(left[damage])
    cut_power(monkeypatch)
    with MemoryEngine(root) as engine:
        assert contents(engine) == ["Acknowledged"]
        assert path.read_bytes() == whole
        assert len(list(engine.memory.browse())) == 1
        check(engine)


@pytest.mark.parametrize("left", [b"", b'{\n  "timestamp"', b"\0" * 30])
def test_a_power_cut_brings_back_a_part_of_a_file_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: bytes
) -> None:
    root = tmp_path / "brain"
    engine = MemoryEngine(root)
    path = Path(engine.remember("of no use any more", **FAILURE))
    with monkeypatch.context() as patch:
        patch.setattr(Mirror, "_sync", lambda _: False)
        engine.memory.archive(next(engine.memory.browse()).id, "of no use")
    assert not path.exists()
    end_without_a_word(engine)
    path.write_bytes(left)
    cut_power(monkeypatch)
    with MemoryEngine(root) as engine:
        assert not path.exists()
        assert contents(engine) == []
        check(engine)


def test_killed_between_database_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "brain"
    engine = MemoryEngine(root)
    wanted = [f"number {one}" for one in range(5)]
    with monkeypatch.context() as patch:
        patch.setattr(Mirror, "_work_off", lambda _: None)
        first, *_ = engine.remember_many([{"content": text, **FAILURE} for text in wanted])
    Path(first).parent.mkdir(parents=True)
    Path(first).write_bytes(b'{\n  "timestamp"')
    end_without_a_word(engine)
    with MemoryEngine(root) as engine:
        assert contents(engine) == wanted
        assert len(list(engine.memory.browse())) == 5, "what was half written is no edit"
        check(engine)


@pytest.mark.parametrize("boot", [False, True])
def test_what_people_do_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boot: bool
) -> None:
    root = tmp_path / "brain"
    engine = MemoryEngine(root)
    edited, moved, removed = (Path(engine.remember(f"number {one}", **FAILURE)) for one in range(3))
    end_without_a_word(engine)
    edited.write_text(json.dumps({"content": "edited"}))
    os.utime(edited, (1_600_000_000, 1_600_000_000))
    target = root / LOGIC / moved.name
    target.parent.mkdir(parents=True)
    moved.rename(target)
    if boot:
        cut_power(monkeypatch)
    else:
        removed.unlink()
    with MemoryEngine(root) as engine:
        assert "edited" in contents(engine)
        assert edited.read_text() == json.dumps({"content": "edited"})
        assert contents(engine, error_type="logic") == ["number 1"]
        if not boot:
            assert contents(engine) == ["edited", "number 1"]
        check(engine)


def test_a_disk_that_refuses_files_does_not_lose_memories(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(TreeFiles, "write_new", refuse)
        path = engine.remember("Kept all the same", **FAILURE)
    assert "the memory is kept" in caplog.text
    assert not Path(path).exists()
    assert contents(engine) == ["Kept all the same"]
    engine.sync()
    assert Path(path).exists()
    check(engine)


def test_a_restored_memory_writes_its_files(tmp_path: Path) -> None:
    with MemoryEngine(tmp_path / "brain") as engine:
        for number in range(10):
            engine.remember(f"number {number}", **FAILURE)
        wanted = contents(engine)
        engine.memory.backup(tmp_path / "backup.db")
    Memory.restore(tmp_path / "backup.db", tmp_path / "elsewhere")
    with MemoryEngine(tmp_path / "elsewhere") as engine:
        assert contents(engine) == wanted
        assert len(list((tmp_path / "elsewhere").rglob("*.json"))) == 10
        assert engine.memory.stats().by_status == {"hypothesis": 10}
        check(engine)


def test_merge_and_load_reach_the_tree(tmp_path: Path) -> None:
    with MemoryEngine(tmp_path / "one") as one, MemoryEngine(tmp_path / "two") as two:
        one.remember("of one", **FAILURE)
        two.remember("of two", **FAILURE)
        gone = Path(two.remember("to be forgotten", **FAILURE))
        one.memory.merge(two.memory, trust=True)
        assert contents(one) == ["of one", "of two", "to be forgotten"]
        assert two.forget(summary="to_be_forgotten") == 1
        assert not gone.exists()
        one.memory.merge(two.memory, trust=True)
        assert contents(one) == ["of one", "of two"]
        assert len(list(Path(one.root).rglob("*.json"))) == 2
        one.memory.export(tmp_path / "out.jsonl")
        with MemoryEngine(tmp_path / "three") as three:
            three.memory.load(tmp_path / "out.jsonl")
            assert contents(three) == ["of one", "of two"]
            check(three)
        check(one)


def test_what_was_forgotten_stays_away_without_the_mark(engine: MemoryEngine) -> None:
    root = Path(engine.root)
    path = write(engine, f"{RUNTIME}/note.json", content="By hand", _comment="mine")
    text = path.read_bytes()
    assert contents(engine) == ["By hand"]
    engine.close()
    (root / ".hardwon-tree").unlink()
    with MemoryEngine(root) as again:
        assert path.read_bytes() == text, "a file that somebody wrote is not rewritten"
        assert again.forget(outcome="failure") == 1
        assert not path.exists()
        path.write_bytes(text)
        assert contents(again) == []


def test_a_backup_restored_into_a_clone_keeps_what_the_clone_has(tmp_path: Path) -> None:
    with MemoryEngine(tmp_path / "brain") as engine:
        edited, renamed, gone = (
            Path(engine.remember(f"number {one}", **FAILURE)) for one in range(3)
        )
        engine.memory.backup(tmp_path / "backup.db")
    clone = tmp_path / "clone"
    shutil.copytree(tmp_path / "brain", clone, ignore=shutil.ignore_patterns(".hardwon-*"))
    (clone / RUNTIME / edited.name).write_text(json.dumps({"content": "edited in the clone"}))
    (clone / RUNTIME / renamed.name).rename(clone / RUNTIME / "renamed.json")
    (clone / RUNTIME / gone.name).unlink()
    Memory.restore(tmp_path / "backup.db", clone)
    with MemoryEngine(clone) as engine:
        assert contents(engine) == ["edited in the clone", "number 1", "number 2"]
        assert (clone / RUNTIME / "renamed.json").exists()
        assert not (clone / RUNTIME / renamed.name).exists()
        check(engine)


@pytest.mark.parametrize("before", ["reformat", "rename", "move", "edit"])
@pytest.mark.parametrize("how", ["forget", "archive"])
def test_what_was_forgotten_or_archived_stays(engine: MemoryEngine, before: str, how: str) -> None:
    path = Path(engine.remember("The name of a patient", **FAILURE))
    text = path.read_bytes()
    if before == "reformat":
        path.write_text(json.dumps(json.loads(text), indent=7))
    elif before == "edit":
        path.write_text(json.dumps({"content": "Another name"}))
    else:
        target = Path(engine.root) / (RUNTIME if before == "rename" else LOGIC) / "other.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    assert len(contents(engine)) == 1
    if how == "forget":
        assert engine.forget(outcome="failure") == 1
        assert list(engine.memory.browse()) == []
    else:
        (live,) = engine.memory.browse(status="hypothesis")
        engine.memory.archive(live.id, "not to be used")
    path.write_bytes(text)
    if how == "forget" or before in ("reformat", "rename"):
        assert contents(engine) == []
    check(engine)


def test_a_merge_does_not_write_over_an_edit(tmp_path: Path) -> None:
    with MemoryEngine(tmp_path / "one") as one, MemoryEngine(tmp_path / "two") as two:
        path = Path(one.remember("The old text", **FAILURE))
        (record,) = one.memory.browse()
        two.memory.merge(one.memory, trust=True)
        path.write_text(json.dumps({"content": "The new text"}))
        assert contents(one) == ["The new text"]
        two.memory.verify(record.id, "test_runner")
        one.memory.merge(two.memory, trust=True)
        assert json.loads(path.read_text())["content"] == "The new text"
        assert len({memory["_path"] for memory in one.recall()}) == len(one.recall())
        check(one)


def test_an_absence_is_of_one_tree(tmp_path: Path) -> None:
    with MemoryEngine(tmp_path / "one") as one, MemoryEngine(tmp_path / "two") as two:
        path = Path(one.remember("Here and there", **FAILURE))
        two.memory.merge(one.memory, trust=True)
        path.unlink()
        assert contents(one) == []
        two.memory.merge(one.memory, trust=True)
        assert contents(two) == ["Here and there"]
        assert len(list((tmp_path / "two").rglob("*.json"))) == 1
        check(two)


def test_what_a_person_superseded_is_not_brought_back_by_its_file(engine: MemoryEngine) -> None:
    path = Path(engine.remember("The old way", **FAILURE))
    text = path.read_bytes()
    (old,) = engine.memory.browse()
    new = engine.memory.remember("The new way", "success", "conversation")
    with MemoryEngine(engine.root) as other:
        listener = engine.memory._project.listener
        engine.memory._project.listener = ProjectListener()
        engine.memory.supersede(old.id, new.id, "better")
        assert contents(other) == ["The new way"]
        engine.memory._project.listener = listener
    path.write_bytes(text)
    assert contents(engine) == ["The new way"]
    assert status(engine, old.id) == "archived"


def test_a_closed_folder_loses_none(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.remember("Behind the door", **FAILURE)
    with monkeypatch.context() as patch:
        opened = TreeFiles._open_folder

        def closed(self: TreeFiles, folder: str, *, make: bool = False) -> Any:
            if folder.endswith("error_type=runtime"):
                raise PermissionError(13, "Permission denied")
            return opened(self, folder, make=make)

        patch.setattr(TreeFiles, "_open_folder", closed)
        assert contents(engine) == ["Behind the door"]
        assert engine.sync().left == {RUNTIME: "cannot be looked into (Permission denied)"}
        assert engine.memory.doctor().ok
        MemoryEngine(engine.root).close()
    check(engine)


def test_a_failing_look_is_repeated(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.remember("first", **FAILURE)
    time.sleep(2.1)
    assert contents(engine) == ["first"]
    write(engine, f"{RUNTIME}/new.json", content="second")
    with monkeypatch.context() as patch:

        def busy(*_: Any, **__: Any) -> None:
            raise BusyError("another process was writing")

        patch.setattr(Edits, "_take_in_one", busy)
        with pytest.raises(BusyError):
            engine.recall()
    assert contents(engine) == ["first", "second"]


def test_recall_finds_by_whatever_it_shows(engine: MemoryEngine) -> None:
    given: dict[str, Any] = {"author": "bob", "tags": ["old"], "id": 5, "ratio": 1.0, "empty": ""}
    given |= {"kind": "x", "none": [1, {"a": 2}]}
    engine.remember("With keys of all sorts", **FAILURE, **given)
    engine.remember("Another", **FAILURE)
    for name, value in given.items():
        assert contents(engine, **{name: value}) == ["With keys of all sorts"], name
    assert contents(engine, ratio=1, outcome="failure") == ["With keys of all sorts"]
    write(engine, "project=x/odd.json", content="Odd place", outcome="failure", tool="unknown")
    half_way = "outcome=failure/tool=code_interpreter/deep.json"
    write(engine, half_way, content="Half way", error_type="logic")
    write(engine, "outcome=learning/loose.json", content="No type")
    assert "Odd place" in contents(engine, outcome="failure")
    assert contents(engine, project="x") == ["Odd place"]
    assert contents(engine, tool="unknown") == ["Odd place"]
    assert contents(engine, error_type="logic") == ["Half way"]
    assert contents(engine, outcome="learning") == ["No type"]
    assert engine.recall(content="Odd place")[0]["outcome"] == "failure"


def test_secrets_in_files_are_told(engine: MemoryEngine, caplog: pytest.LogCaptureFixture) -> None:
    token = "ghp_" + "Zx9" * 12
    path = write(engine, f"{RUNTIME}/mine.json", content=f"Use {token}")
    assert token not in json.dumps(engine.recall())
    assert token in path.read_text()
    assert engine.sync().secrets == [f"{RUNTIME}/mine.json"]
    assert "holds a secret" in caplog.text


def test_links_lead_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root, outside = tmp_path / "brain", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
    bait = {"content": "Not in the tree", "outcome": "failure", "tool": "unknown"}
    (outside / "bait.json").write_text(json.dumps(bait))
    (root / "outcome=failure").symlink_to(outside)
    with MemoryEngine(root) as engine, caplog.at_level(logging.WARNING):
        assert contents(engine) == []
        engine.remember("Stays inside", **FAILURE)
        assert sorted(path.name for path in outside.iterdir()) == ["bait.json"]
        assert "could not be written" in caplog.text
        (root / "outcome=failure").unlink()
        engine.sync()
        assert contents(engine) == ["Stays inside"]
        path = Path(engine.recall()[0]["_path"])
        path.unlink()
        path.symlink_to(outside / "bait.json")
        assert "Not in the tree" not in contents(engine)
    assert (outside / "bait.json").exists()


def test_a_second_project_cannot_share_the_folder(engine: MemoryEngine) -> None:
    from hardwon.errors import InvalidInputError

    with Memory(engine.root, project="other") as memory:
        assert memory.tree.mirror is None
        memory.remember("Of another project", "success", "conversation")
        with pytest.raises(InvalidInputError, match="two cannot share one"):
            memory.tree.make()
        with pytest.raises(InvalidInputError, match="tree.make gives it one"):
            memory.tree.sync()
    assert contents(engine) == []


class TreeMachine(RuleBasedStateMachine):
    """Changed from all sides; recall says what a person would find in the folders."""

    paths = Bundle("paths")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="hardwon-tree-"))
        self.engine = MemoryEngine(self.folder / "brain")
        self.other = MemoryEngine(self.folder / "brain")
        self.number = 0

    def teardown(self) -> None:
        self.engine.close()
        self.other.close()
        shutil.rmtree(self.folder)

    def _said(self) -> str:
        self.number += 1
        return f"memory {self.number}"

    @rule(target=paths, other=st.booleans())
    def remember(self, other: bool) -> Path:
        return Path((self.other if other else self.engine).remember(self._said(), **FAILURE))

    @rule(target=paths)
    def add(self) -> Path:
        told = {"content": self._said(), "timestamp": "2026-01-01T00:00:00Z"}
        return write(self.engine, f"{RUNTIME}/own{self.number}.json", **told)

    @rule(path=paths)
    def edit(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"content": self._said(), "timestamp": "2026-01-01T00:00:00Z"}))

    @rule(path=paths)
    def delete(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    @rule(target=paths, path=paths, logic=st.booleans())
    def move(self, path: Path, logic: bool) -> Path:
        target = Path(self.engine.root) / (LOGIC if logic else RUNTIME) / f"moved{self.number}.json"
        self.number += 1
        if path.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        return target

    @rule(one=paths, another=paths)
    def swap(self, one: Path, another: Path) -> None:
        if one.exists() and another.exists():
            first, second = one.read_bytes(), another.read_bytes()
            one.write_bytes(second)
            another.write_bytes(first)

    @rule()
    def look(self) -> None:
        self.other.recall(error_type="runtime")

    @rule()
    def reopen(self) -> None:
        self.other.close()
        self.other = MemoryEngine(self.folder / "brain")

    @invariant()
    def recall_is_what_the_folders_hold(self) -> None:
        on_disk = {}
        for path in (self.folder / "brain").rglob("*.json"):
            on_disk[str(path)] = json.loads(path.read_text())["content"]
        found = self.engine.recall()
        assert {memory["_path"]: memory["content"] for memory in found} == on_disk
        assert len(found) == len(on_disk)
        logic = {path for path in on_disk if "error_type=logic" in path}
        assert {memory["_path"] for memory in self.engine.recall(error_type="logic")} == logic


TestTreeMachine = TreeMachine.TestCase
TestTreeMachine.settings = settings(max_examples=examples(100), stateful_step_count=15)
