"""The file of a training memory: nothing gets lost and nothing is counted twice."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cases import TORTURE, examples
from hardwon import limits
from hardwon.errors import BusyError, FullError, InvalidInputError, PlaceError
from hardwon.outside import files
from hardwon.training import functions
from hardwon.training.functions import (
    KeptAsideWarning,
    TrainingMemoryWarning,
    build_memory_context,
    load_agent_memory,
    maybe_consolidate_memory,
    memory_summary,
    new_agent_memory,
    record_episode,
    save_agent_memory,
)
from processes import Child, Tell
from training_model import EPISODES, ROOT, Model, untimed

KILLS = 300 if TORTURE else 16
KEYS = set(Model().as_dict())
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'drop_in'}{os.pathsep}{ROOT / 'src'}"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outputs" / "agent_memory.json"


def episode(name: str, score: float = 0.25) -> dict[str, Any]:
    """One that leaves a trace in every part of the memory."""
    card = {"mistake_type": "low_score_episode", "lesson": "Look first.", "evidence": name}
    told = {"task_id": "t", "score": score, "trajectory_summary": name}
    return told | {"mistakes": [f"mistake {name}"], "mistake_cards": [card]}


def record(memory: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        record_episode(memory, episode(name))
    return memory


def told(memory: dict[str, Any]) -> list[str]:
    return [logged["summary"] for logged in memory["episode_log"]]


def holds(path: Path, *names: str) -> dict[str, Any]:
    """Whether the file has exactly these episodes, in all of its parts."""
    kept: dict[str, Any] = json.loads(path.read_text())
    assert sorted(told(kept)) == sorted(names)
    assert kept["total_episodes"] == len(names)
    assert sum(map(len, kept["score_history"].values())) == len(names)
    assert sorted(kept["mistakes"]) == sorted(f"mistake {name}" for name in names)
    assert sum(card["seen_count"] for card in kept["mistake_cards"]) == len(names)
    return kept


def nothing_else_is_beside(path: Path) -> bool:
    names = sorted(file.name for file in path.parent.iterdir())
    return names == [".agent_memory.json.lock", "agent_memory.json"]


def test_what_was_saved_is_loaded(path: Path) -> None:
    memory = record(load_agent_memory(path), "a", "b")
    assert not path.parent.exists(), "loading and recording write nothing"
    save_agent_memory(memory, path)
    kept = holds(path, "a", "b")
    assert load_agent_memory(path) == memory == kept
    assert set(memory) == KEYS
    assert path.read_text() == json.dumps(kept, indent=2)
    assert nothing_else_is_beside(path)


def test_text_of_all_kinds_comes_back(path: Path) -> None:
    memory = record(load_agent_memory(path), "naïve 日本語 🦉 \u2028\n\t\x01")
    memory["by hand"] = "\ud800"
    save_agent_memory(memory, path)
    assert path.read_bytes().isascii()
    assert load_agent_memory(path) == memory


def test_the_file_is_private_unless_it_was_not(path: Path) -> None:
    memory = record(load_agent_memory(path), "a")
    save_agent_memory(memory, path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o664)
    save_agent_memory(record(memory, "b"), path)
    assert path.stat().st_mode & 0o777 == 0o664


def test_a_link_to_a_file_stays_a_link(tmp_path: Path, path: Path) -> None:
    save_agent_memory(record(load_agent_memory(path), "a"), path)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    memory = load_agent_memory(link)
    save_agent_memory(record(memory, "b"), link)
    assert link.is_symlink()
    holds(path, "a", "b")
    save_agent_memory(record(memory, "c"), path)
    holds(path, "a", "b", "c")


def cards_sorted(memory: dict[str, Any]) -> dict[str, Any]:
    """Where the same cards come from several writers, nothing says in which order they are."""
    return {**memory, "mistake_cards": sorted(memory["mistake_cards"], key=str)}


@given(st.lists(st.tuples(st.integers(0, 2), EPISODES | st.just("save")), max_size=40))
@hypothesis_settings(max_examples=examples(60))
def test_replaying_gives_what_one_writer_got(tmp_path: Path, steps: list[tuple[int, Any]]) -> None:
    """Three writers in turn: the file is what one would have written, as they were saved."""
    path = tmp_path / f"{uuid.uuid4()}.json"
    model, writers = Model(), [load_agent_memory(path) for _ in range(3)]
    pending: list[list[Any]] = [[], [], []]
    for who, step in [*steps, *((who, "save") for who in range(3))]:
        if step == "save":
            save_agent_memory(writers[who], path)
            for data in pending[who]:
                model.record(data)
            pending[who] = []
            model.save()
            kept = json.loads(path.read_text())
            assert kept == writers[who]
            assert cards_sorted(untimed(kept)) == cards_sorted(untimed(model.as_dict()))
        else:
            record_episode(writers[who], step)
            pending[who].append(step)


FOUR = """
import sys
from training.memory import load_agent_memory, record_episode, save_agent_memory
path, name = sys.argv[1], sys.argv[2]
memory = load_agent_memory(path)
for number in range(200):
    data = {"task_id": f"task {number % 3}", "score": number / 200, "trajectory_summary": "the same for all"}
    data |= {"mistakes": [f"{name} {number}"], "mistake_cards": [{"mistake_type": "m", "worker_id": "w"}]}
    record_episode(memory, data)
    if number % 4 == 3:
        save_agent_memory(memory, path)
        if number % 40 == 39:
            memory = load_agent_memory(path)
"""


def test_four_processes_of_two_hundred_episodes_keep_eight_hundred(path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", FOUR, str(path)]
    running = [
        subprocess.Popen([*command, f"p{number}"], env=ENVIRONMENT, stderr=subprocess.PIPE)
        for number in range(4)
    ]
    ends = [(process.communicate(timeout=120)[1], process.returncode) for process in running]
    assert ends == [(b"", 0)] * 4
    memory = load_agent_memory(path)
    assert memory["total_episodes"] == 800
    for task in range(3):
        wanted = sorted(n / 200 for n in range(200) if n % 3 == task for _ in range(4))
        assert sorted(memory["score_history"][f"task {task}"]) == wanted
    mistakes = {f"p{name} {n}" for name in range(4) for n in range(200)}
    assert sorted(memory["mistakes"]) == sorted(mistakes)
    assert sum(card["seen_count"] for card in memory["mistake_cards"]) == 800
    assert len(memory["episode_log"]) == 100
    assert set(memory) == KEYS
    assert nothing_else_is_beside(path)


def test_threads_that_record_and_save_lose_nothing(path: Path) -> None:
    memory, errors = load_agent_memory(path), []

    def work(name: str) -> None:
        try:
            for number in range(30):
                record(memory, f"{name} {number}")
                save_agent_memory(memory, path)
                build_memory_context(memory, "t")
        except BaseException as error:  # noqa: BLE001  # told to the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    holds(path, *(f"{name} {number}" for name in "abc" for number in range(30)))


SHALLOW: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "dict": dict,
    "unpacked": lambda memory: {**memory},
    "copy": copy.copy,
}
KEPT_FOR_LATER: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "item by item": lambda memory: {name: copy.copy(value) for name, value in memory.items()},
    "deepcopy": copy.deepcopy,
    "json": lambda memory: json.loads(json.dumps(memory)),
    "pickle": lambda memory: pickle.loads(pickle.dumps(memory)),  # noqa: S301
}


@pytest.mark.parametrize("kind", SHALLOW)
def test_a_shallow_copy_is_the_same_memory(path: Path, kind: str) -> None:
    memory = record(load_agent_memory(path), "a")
    shallow = SHALLOW[kind](memory)
    record(shallow, "b")
    for turn, saved in enumerate((memory, shallow, memory)):
        save_agent_memory(record(load_agent_memory(path), f"other {turn}"), path)
        save_agent_memory(saved, path)
    save_agent_memory(record(shallow, "c"), path)
    holds(path, "a", "b", "c", "other 0", "other 1", "other 2")


@pytest.mark.parametrize("kind", KEPT_FOR_LATER)
@pytest.mark.parametrize("others", [False, True], ids=["alone", "others saved too"])
def test_who_saves_an_older_checkpoint_gets_that(path: Path, kind: str, others: bool) -> None:
    memory = record(load_agent_memory(path), "a", "b")
    save_agent_memory(memory, path)
    checkpoint = KEPT_FOR_LATER[kind](memory)
    assert checkpoint == memory
    save_agent_memory(record(memory, "c"), path)
    if others:
        save_agent_memory(record(load_agent_memory(path), "other"), path)
    save_agent_memory(checkpoint, path)
    holds(path, "a", "b")
    save_agent_memory(record(load_agent_memory(path), "later"), path)
    save_agent_memory(record(checkpoint, "d"), path)
    assert checkpoint == holds(path, "a", "b", "later", "d"), "from then on it belongs to the file"


def test_who_starts_over_gets_that(path: Path) -> None:
    running = record(load_agent_memory(path), "a", "b")
    save_agent_memory(running, path)
    fresh = new_agent_memory()
    save_agent_memory(fresh, path)
    assert holds(path) == fresh == new_agent_memory()
    save_agent_memory(record(running, "c"), path)
    save_agent_memory(record(fresh, "d"), path)
    assert holds(path, "c", "d") == fresh, "a run that goes on adds what is new to it"
    fresh.clear()
    fresh.update(new_agent_memory())
    save_agent_memory(record(fresh, "e"), path)
    holds(path, "e")


def test_forks_add_what_each_of_them_records(path: Path) -> None:
    memory = record(load_agent_memory(path), "a")
    save_agent_memory(memory, path)

    def work(name: str) -> Callable[[Tell], None]:
        return lambda _: save_agent_memory(
            record(memory, *(f"{name} {number}" for number in range(50))), path
        )

    children = [Child.start(work(f"child {number}")) for number in range(4)]
    save_agent_memory(record(memory, "in the parent"), path)
    assert [child.wait() for child in children] == [0] * 4
    save_agent_memory(memory, path)
    assert memory["total_episodes"] == len(memory["mistakes"]) == 2 + 4 * 50
    assert memory["mistake_cards"][0]["seen_count"] == 2 + 4 * 50


WORKER = """
import pickle, sys
from training.memory import record_episode, save_agent_memory
memory = pickle.load(sys.stdin.buffer)
record_episode(memory, {"task_id": "t", "score": 0.25, "trajectory_summary": sys.argv[2]})
save_agent_memory(memory, sys.argv[1])
"""


def test_a_memory_that_multiprocessing_hands_over_is_the_same(path: Path) -> None:
    memory = record(load_agent_memory(path), "a")
    save_agent_memory(memory, path)
    sent = bytes(ForkingPickler.dumps(memory))
    for name in ("one", "two"):
        command = [sys.executable, "-c", WORKER, str(path), name]
        subprocess.run(command, input=sent, env=ENVIRONMENT, check=True, timeout=60)
    save_agent_memory(record(memory, "b"), path)
    assert told(memory) == ["a", "one", "two", "b"]
    assert memory["total_episodes"] == 4


def edit(memory: dict[str, Any]) -> None:
    memory["global_rules"].append("[HUMAN] Ask before you delete.")
    memory["global_rules"].remove("old rule")
    memory["mistakes"].remove("mistake a")
    memory["notes"] = {"run": 7}
    del memory["gone"]


@pytest.mark.parametrize("others", [False, True], ids=["alone", "with others"])
def test_changes_by_hand_are_saved(path: Path, others: bool) -> None:
    start = record(new_agent_memory(), "a", "b")
    start |= {"global_rules": ["old rule", "kept rule"], "gone": 1, "stays": [1, 2]}
    save_agent_memory(start, path)
    memory = load_agent_memory(path)
    edit(memory)
    if others:
        other = record(load_agent_memory(path), "c")
        other["global_rules"].append("rule of another")
        other["notes"] = {"run": 8, "of": "another"}
        save_agent_memory(other, path)
    save_agent_memory(record(memory, "d"), path)
    kept = json.loads(path.read_text())
    assert kept == memory
    rules = ["kept rule", *["rule of another"] * others, "[HUMAN] Ask before you delete."]
    assert kept["global_rules"] == rules
    assert kept["mistakes"] == ["mistake b", *["mistake c"] * others, "mistake d"]
    assert kept["notes"] == ({"run": 7, "of": "another"} if others else {"run": 7})
    assert kept["total_episodes"] == 3 + others
    assert "gone" not in kept


def test_what_json_cannot_hold_is_refused_and_the_file_stays(path: Path) -> None:
    memory = load_agent_memory(path)
    save_agent_memory(record(memory, "a"), path)
    record(memory, "b")["mine"] = object()
    with pytest.raises(InvalidInputError, match="memory"):
        save_agent_memory(memory, path)
    holds(path, "a")
    del memory["mine"]
    save_agent_memory(memory, path)
    holds(path, "a", "b")


OURS = ("hardwon/training/", "hardwon/outside/files.py")


def interrupted(at: int, call: Callable[[], object]) -> bool:
    """Presses Ctrl-C at that line, in a thread of its own. Whether it came so far."""
    came: list[bool] = []
    thread = threading.Thread(target=lambda: came.append(_interrupted(at, call)))
    thread.start()
    thread.join()
    return came[0]


def _interrupted(at: int, call: Callable[[], object]) -> bool:
    lines = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal lines
        if not any(part in frame.f_code.co_filename for part in OURS):
            return None
        lines += event == "line"
        if event == "line" and lines == at:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        # Only a trace function can strike between a block and its end; no signal does.
        while functions._guard._is_owned():  # type: ignore[attr-defined]
            functions._guard.release()
    return False


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)
@pytest.mark.parametrize("what", ["save", "record", "record the first"])
def test_an_interrupt_at_any_line_leaves_all_of_an_episode_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(limits, "BUSY_TIMEOUT_MS", 200)
    reached, at = True, 0
    while reached:
        at += 1 if TORTURE else 2
        path = tmp_path / f"{at}.json"
        memory = load_agent_memory(path)
        if what != "record the first":
            record(memory, "a")
        if what == "save":
            save_agent_memory(memory, path)
            record(memory, "b")
            reached = interrupted(at, lambda: save_agent_memory(memory, path))  # noqa: B023
        else:
            reached = interrupted(at, lambda: record(memory, "b"))  # noqa: B023
        save_agent_memory(record(load_agent_memory(path), "other"), path)
        save_agent_memory(memory, path)
        kept = json.loads(path.read_text())
        scores, seen = kept["score_history"]["t"], kept["mistake_cards"][0]["seen_count"]
        assert {len(scores), len(kept["episode_log"]), seen} == {kept["total_episodes"]}, at
        if what == "save":
            assert sorted(told(kept)) == ["a", "b", "other"], at
    assert at > 50


def test_a_fork_while_another_thread_saves(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(_: Tell) -> None:
        signal.alarm(20)
        build_memory_context(memory, "t")

    memory = load_agent_memory(path)
    save_agent_memory(record(memory, "a"), path)
    written, begun = files.LockedFile.write, threading.Event()

    def write_slowly(self: files.LockedFile, content: bytes) -> None:
        begun.set()
        time.sleep(0.2)
        written(self, content)

    monkeypatch.setattr(files.LockedFile, "write", write_slowly)
    thread = threading.Thread(target=save_agent_memory, args=(record(memory, "b"), path))
    thread.start()
    begun.wait()
    child = Child.start(look)  # which waits for the save to end
    assert child.wait() == 0
    thread.join()
    holds(path, "a", "b")


def test_a_save_nobody_could_load_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = load_agent_memory(path)
    save_agent_memory(record(memory, "a"), path)
    content = path.read_bytes()
    monkeypatch.setattr(limits, "TRAINING_FILE_BYTES_MAX", len(content) + 100)
    memory["own"] = "x" * 200
    with pytest.raises(FullError, match="the file is as it was"):
        save_agent_memory(memory, path)
    assert path.read_bytes() == content
    del memory["own"]
    save_agent_memory(memory, path)
    holds(path, "a")


def save_forever(path: Path, tell: Tell) -> None:
    memory = load_agent_memory(path)
    while True:
        names = [str(uuid.uuid4()) for _ in range(random.randrange(1, 4))]
        for name in names:
            record_episode(memory, {**episode(name), "mistakes": [name, "padding " * 500]})
        save_agent_memory(memory, path)
        for name in names:
            tell(name)


def test_killed_while_saving_no_acknowledged_episode_is_lost(path: Path) -> None:
    rng = random.Random()
    acknowledged, killed, before = 0, 0, 0
    while killed < KILLS:
        children = [Child.start(lambda tell: save_forever(path, tell)) for _ in range(2)]
        if killed % 8:  # one round in four is killed whatever it has done by then
            children[0].hear()
        time.sleep(rng.uniform(0.0, 0.05))
        for child in children:
            child.kill()
            killed += 1
        memory = load_agent_memory(path)  # a warning about an unreadable file would be an error
        names = {name for child in children for name in child.acknowledged}
        acknowledged += len(names)
        assert names <= set(memory["mistakes"])
        total = memory["total_episodes"]
        assert total >= before + len(names)
        assert {card["seen_count"] for card in memory["mistake_cards"][:1]} <= {total}
        before = total
        if before > 800:  # the list of mistakes, by which they are known, is bounded
            path.unlink()
            before = 0
    assert acknowledged >= KILLS / 4, "they were killed before they saved: the test shows nothing"
    save_agent_memory(record(load_agent_memory(path), "last"), path)
    assert nothing_else_is_beside(path)
    print(f"{killed} kills, {acknowledged} acknowledged episodes, none lost")


def test_a_save_is_on_disk_when_it_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, done = record(load_agent_memory(path), "a"), []
    fsync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def replaced(self: Path, target: Path) -> Path:
        done.append("name")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    save_agent_memory(memory, path)
    # the first is the one in which outputs was made
    assert done == ["folder", "file", "name", "folder"]


def test_a_full_disk_leaves_the_file_and_the_memory_as_they_were(path: Path) -> None:
    def work(_: Tell) -> None:
        memory = load_agent_memory(path)
        save_agent_memory(record(memory, "a"), path)
        before = path.read_bytes()
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        record(memory, "b")
        for room in (0, 10, 500, len(before)):
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
            told_so = "no room to write .*agent_memory.json.*Free some space and try again"
            with pytest.raises(FullError, match=told_so):
                save_agent_memory(memory, path)
            assert path.read_bytes() == before
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert told(memory) == ["a", "b"]
        save_agent_memory(memory, path)

    assert Child.start(work).wait() == 0
    holds(path, "a", "b")
    assert nothing_else_is_beside(path)


def test_what_a_killed_writer_left_is_cleared_away(path: Path) -> None:
    save_agent_memory(record(new_agent_memory(), "a"), path)
    left, foreign = path.parent / ".agent_memory.json.0123.part", path.parent / "precious.part"
    for file in (left, foreign):
        file.write_text("half")
    lock = path.parent / ".agent_memory.json.lock"
    for name in (left.name, "../outputs/precious.part", foreign.name):
        lock.write_text(name)
        save_agent_memory(record(load_agent_memory(path), name), path)
    assert not left.exists()
    assert foreign.exists()
    assert lock.read_text() == ""


def test_a_lock_is_waited_for_and_given_up_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = record(load_agent_memory(path), "a")

    def hold(tell: Tell) -> None:
        with files.lock_file(path):
            tell("0" * 36)
            time.sleep(60)

    child = Child.start(hold)
    while not child.acknowledged:
        child.listen(0.01)
    monkeypatch.setattr(limits, "BUSY_TIMEOUT_MS", 50)
    with pytest.raises(BusyError, match="held by another process"):
        save_agent_memory(memory, path)
    os.kill(child.pid, signal.SIGKILL)
    monkeypatch.undo()
    save_agent_memory(memory, path)  # the kernel gave the lock back
    child.wait()
    holds(path, "a")


ODD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a score that is null": (
        {"score_history": {"t": [0.5, None]}, "total_episodes": 3.0}, ["score_history.t.1"],
    ),
    "a score beyond all numbers": (
        {"score_history": {"t": [10**400, 0.5]}, "episode_log": [{"score": 10**400}]},
        ["episode_log.0", "score_history.t.0"],
    ),
    "scores no list": ({"score_history": {"t": 5}}, ["score_history.t"]),
    "cards that are text": (
        {"mistake_cards": ["look first", 5, {"mistake_type": "m", "seen_count": "2"}]}, ["mistake_cards.1"],
    ),
    "an episode no object": ({"episode_log": [5]}, ["episode_log.0"]),
    "rules of a task no list": ({"task_rules": {"t": "x"}}, ["task_rules.t"]),
    "mistakes no list": ({"mistakes": 5, "total_episodes": "many"}, ["mistakes"]),
    "one mistake": ({"mistakes": "one", "global_rules": "two"}, []),
    "rules that are objects": ({"global_rules": [{"a": 1}, [1], None, 5, {"a": 1}]}, []),
    "texts that are none": (
        {"mistakes": [{"a": 1}, 5], "successes": [[1]], "task_rules": {"t": [{"a": 1}, None]}}, [],
    ),
    "an episode of other things": (
        {"episode_log": [{"task_id": ["x"], "score": 0.9, "steps": "q", "summary": {"a": 1}}]}, [],
    ),
    "cards of other things": (
        {"mistake_cards": [{}, {"mistake_type": {"a": 1}, "worker_id": [1], "seen_count": 1e308}]}, [],
    ),
    "consolidated never": ({"last_consolidated_at": -(10**400)}, []),
    "scores that add up to infinity": ({"score_history": {"t": [1e308] * 3}}, []),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("how", ["file", "dict", "by hand"])
def test_what_no_memory_can_hold_is_named_the_rest_is_there(path: Path, odd: str, how: str) -> None:
    content, left_out = copy.deepcopy(ODD[odd])
    content["mine"] = "stays"
    path.parent.mkdir()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if how == "file":
            path.write_text(json.dumps(content))
            memory = load_agent_memory(path)
        else:
            memory = content if how == "dict" else new_agent_memory() | content
        save_agent_memory(memory, path)
    shown = "".join(str(warning.message) for warning in caught)
    assert [place for place in left_out if place not in shown] == []
    assert bool(left_out) == bool(caught)
    text = build_memory_context(memory, "t")
    assert "look first" in text or odd != "cards that are text"
    assert "AVOID: one" in text or odd != "one mistake"
    memory_summary(memory)
    save_agent_memory(record(load_agent_memory(path), "other"), path)
    save_agent_memory(record(memory, "a"), path)
    for number in range(20):
        record_episode(memory, episode(str(number), 0.9))
    maybe_consolidate_memory(memory, path=path)
    build_memory_context(memory, "t")
    assert not kept_aside(path)
    kept = json.loads(path.read_text())
    assert kept["mine"] == "stays"
    assert kept["total_episodes"] >= 22


UNREADABLE = {
    "half a file": b'{"version": 1, "total_epis', "nothing": b"", "deep": b"[" * 100_000,
    "no object": b"[1, 2]",
}  # fmt: skip


def kept_aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob("agent_memory.json.unreadable-*"))


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_file_is_kept_aside_and_reported(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    said = "could not be read as a training memory: .*kept as .*unreadable-.*repair that file"
    with pytest.warns(KeptAsideWarning, match=said):
        memory = load_agent_memory(path)
    assert memory == new_agent_memory()
    (aside,) = kept_aside(path)
    assert aside.read_bytes() == content
    assert not path.exists()
    save_agent_memory(record(memory, "a"), path)
    holds(path, "a")
    assert [file.read_bytes() for file in kept_aside(path)] == [content]


def test_a_file_that_became_unreadable_is_not_overwritten_by_a_save(path: Path) -> None:
    memory = load_agent_memory(path)
    save_agent_memory(record(memory, "a"), path)
    for number in range(3):
        path.write_bytes(b"damaged %d" % number)
        with pytest.warns(KeptAsideWarning):
            save_agent_memory(record(memory, f"b{number}"), path)
    holds(path, "a", "b0", "b1", "b2")
    result = sorted(file.read_bytes() for file in kept_aside(path))
    assert result == [b"damaged 0", b"damaged 1", b"damaged 2"]


def test_two_processes_that_find_the_same_unreadable_file(path: Path) -> None:
    def work(_: Tell) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            save_agent_memory(record(load_agent_memory(path), "good"), path)

    for turn in range(15):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"damaged %d" % turn)
        children = [Child.start(work) for _ in range(3)]
        assert [child.wait() for child in children] == [0, 0, 0]
        kept = json.loads(path.read_text())
        assert kept["total_episodes"] == 3
        assert len(kept_aside(path)) == turn + 1, "it was moved once, and no good file with it"
        path.unlink()


def test_a_file_neither_read_nor_moved_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.mkdir()
    path.write_bytes(b"damaged")

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hardwon.outside.files.publish", refuse)
    said = "could not be moved aside .*left as it is.*starts fresh and cannot be saved there"
    with pytest.warns(TrainingMemoryWarning, match=said):
        memory = load_agent_memory(path)
    with pytest.raises(PlaceError):
        save_agent_memory(record(memory, "a"), path)
    assert path.read_bytes() == b"damaged"
    monkeypatch.undo()
    with pytest.warns(KeptAsideWarning):
        save_agent_memory(memory, path)
    holds(path, "a")


def test_what_is_no_file_is_refused(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.warns(TrainingMemoryWarning, match="no regular file"):
        load_agent_memory(path)
    with pytest.raises(PlaceError, match="no regular file"):
        save_agent_memory(new_agent_memory(), path)
    with pytest.raises(PlaceError, match="/proc/nowhere"):
        save_agent_memory(new_agent_memory(), "/proc/nowhere/m.json")


def test_older_files_are_brought_up_to_date(path: Path) -> None:
    unfinished = {"seen_count": "3", "last_seen_episode": None}
    older = {
        "last_consolidated_at": "2025-06-01T00:00:00",
        "score_history": {"t": [0.5, float("nan"), 7, float("inf")] + [1] * 1198 + ["1", " 1.0"]},
        "episode_log": [{"task_id": "t", "score": float("nan")}, {"task_id": "t"}],
        "mistake_cards": [{"mistake_type": "m", "task_id": "t"}, unfinished],
        "mistakes": [f"m{number}" for number in range(1500)],
        "successes": None,
        "mine": {"kept": True},
    }
    path.parent.mkdir()
    path.write_text("\ufeff" + json.dumps(older))
    left_out = "left out.*: episode_log.0, score_history.t.1, score_history.t.3"
    with pytest.warns(TrainingMemoryWarning, match=left_out):
        memory = load_agent_memory(path)
    assert set(memory) == KEYS | {"mine"}
    assert (memory["total_episodes"], memory["last_consolidated_at"]) == (1204, None)
    assert memory["score_history"]["t"] == [0.5, 7] + [1] * 1200
    assert [card["seen_count"] for card in memory["mistake_cards"]] == [1, 3]
    result = (len(memory["mistakes"]), memory["mistakes"][-1], memory["successes"])
    assert result == (1000, "m1499", [])
    text = build_memory_context(memory, "t")
    assert "Score 0.00 in 0 steps: " in text
    assert "Your mean score on t: 1.00 (over 1202 episodes)" in text
    record(memory, "new")
    assert maybe_consolidate_memory(memory, path=path)["last_consolidated_at"] == 1205
    assert json.loads(path.read_text()) == memory
    json.dumps(memory, allow_nan=False)


def test_consolidation_of_two_processes_keeps_the_rules_of_both(path: Path) -> None:
    first, second = load_agent_memory(path), load_agent_memory(path)
    for number in range(20):
        record_episode(first, episode(f"first {number % 3}", 0.9))
        record_episode(second, episode(f"second {number % 3}", 0.95))
    maybe_consolidate_memory(first, path=path)
    maybe_consolidate_memory(second, path=path)
    rules = [f"[HIGH SCORE 0.90] first {n}" for n in range(3)]
    rules += [f"[HIGH SCORE 0.95] second {n}" for n in range(3)]
    assert second["global_rules"] == rules
    assert (second["total_episodes"], second["last_consolidated_at"]) == (40, 20)
    assert json.loads(path.read_text()) == second
