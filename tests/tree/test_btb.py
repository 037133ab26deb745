"""The BTB door: scripts written against `MemoryEngine` get what they expect."""

from __future__ import annotations

import glob
import inspect
import json
import os
import random
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import warm
from cases import TORTURE
from clocks import Clock
from hardwon import Memory
from hardwon.errors import BusyError, HardwonError, InvalidInputError
from hardwon.records.fields import new_id
from hardwon.records.kinds import VIA_IMPORT
from hardwon.tree.edits import Edits
from hardwon.tree.engine import IntakeWarning, MemoryEngine
from hardwon.tree.routing import Coherence
from short import run_program

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"\d{8}_\d{6}_[a-z0-9_-]{1,50}_[0-9a-f]{12}\.json")

FAILURE: dict[str, Any] = {
    "content": "TypeError when json.dumps() gets a set: it has to be a list first",
    "outcome": "failure",
    "tool": "code_interpreter",
    "error_type": "runtime",
    "summary": "json_set_fail",
}
SUCCESS: dict[str, Any] = {
    "content": "Fixed the race in the payment worker with a lock per account",
    "outcome": "success",
    "tool": "code_interpreter",
    "task_type": "debug",
    "summary": "payment_race_fix",
}
LEARNING: dict[str, Any] = {
    "content": "The team wants explicit error messages in every API reply",
    "outcome": "learning",
    "insight_type": "preference",
    "summary": "explicit_errors",
}


@pytest.fixture
def engine(tmp_path: Path, clock: Clock) -> Iterator[MemoryEngine]:
    with MemoryEngine(tmp_path / "agent_brain", clock=clock) as opened:
        yield opened


def summaries(found: list[dict[str, Any]]) -> list[str]:
    return [memory["summary"] for memory in found]


def test_the_signatures_are_the_ones_that_scripts_call() -> None:
    def names(method: Any) -> list[str]:
        return [name for name in inspect.signature(method).parameters if name != "self"]

    assert names(MemoryEngine)[:1] == ["root"]
    assert inspect.signature(MemoryEngine).parameters["root"].default == "agent_brain"
    assert names(MemoryEngine.remember) == ["content", "outcome", "tool", "summary", "metadata"]
    assert names(MemoryEngine.recall) == ["pattern", "intent"]
    assert names(MemoryEngine.reflect) == ["intent"]
    assert names(MemoryEngine.forget) == ["pattern", "before", "intent"]


def test_remember_returns_the_path_of_a_file(engine: MemoryEngine) -> None:
    path = engine.remember(**FAILURE, ticket=7)
    folder, _, name = path.rpartition("/")
    assert folder == f"{engine.root}/outcome=failure/tool=code_interpreter/error_type=runtime"
    assert NAME.fullmatch(name)
    assert "_json_set_fail_" in name
    said = json.loads(Path(path).read_text())
    keys = {"timestamp", "outcome", "tool", "summary", "content", "metadata", "_path"}
    assert set(said) == keys
    assert said["metadata"] == {"error_type": "runtime", "ticket": 7}
    assert datetime.fromisoformat(said["timestamp"]).utcoffset() == timedelta(0)
    assert (said["content"], said["tool"]) == (FAILURE["content"], "code_interpreter")
    assert path.endswith(said["_path"])
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert engine.recall() == [{**said, "_path": path}]


def test_the_same_second_and_summary_are_two_files(tmp_path: Path) -> None:
    standing = datetime(2026, 5, 1, 12, tzinfo=UTC)
    with MemoryEngine(tmp_path / "brain", clock=lambda: standing) as engine:
        paths = [engine.remember(**FAILURE) for _ in range(20)]
        assert len(set(paths)) == 20
        assert all(Path(path).exists() for path in paths)
        assert len(engine.recall()) == 20


def test_any_subset_of_keys_is_an_intent(engine: MemoryEngine) -> None:
    for memory in (FAILURE, SUCCESS, LEARNING):
        engine.remember(**memory, area="billing" if memory is not LEARNING else "docs", count=3)
    race, fail, explicit = "payment_race_fix", "json_set_fail", "explicit_errors"
    intents: list[tuple[dict[str, Any], list[str]]] = [
        ({"outcome": "failure"}, [fail]),
        ({"tool": "code_interpreter"}, [race, fail]),
        ({"error_type": "runtime"}, [fail]),
        ({"area": "billing"}, [race, fail]),
        ({"area": "billing", "outcome": "success", "count": 3}, [race]),
        ({"summary": "explicit_errors"}, [explicit]),
        ({"content": SUCCESS["content"]}, [race]),
        ({"outcome": None, "tool": None}, [explicit, race, fail]),
        ({"area": "elsewhere"}, []),
        ({"outcome": "nonsense"}, []),
        ({"error_type": "syntax"}, []),
    ]
    for intent, expected in intents:
        assert summaries(engine.recall(**intent)) == expected, intent


PATTERNS = (
    "{root}/outcome=failure/**/*.json",
    "{root}/**/*.json",
    "{root}/*/*/*.json",
    "{root}/outcome=*/tool=code_interpreter/**/*.json",
    "{root}/**/error_type=r*/*.json",
    "{root}/**/*json_set*",
    "{root}/**/*[0-9].json",
    "{root}/outcome=success/**",
    "{root}/nowhere/*.json",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_glob_takes_it_for(engine: MemoryEngine, pattern: str) -> None:
    for memory in (FAILURE, SUCCESS, LEARNING):
        engine.remember(**memory)
    pattern = pattern.format(root=engine.root)
    wanted = {path for path in glob.glob(pattern, recursive=True) if path.endswith(".json")}  # noqa: PTH207
    for asked in (pattern, pattern.removeprefix(f"{engine.root}/")):
        assert {memory["_path"] for memory in engine.recall(pattern=asked)} == wanted


def test_a_relative_root_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with MemoryEngine() as engine:
        assert engine.root == "agent_brain"
        path = engine.remember(**FAILURE)
        assert path.startswith("agent_brain/outcome=failure/")
        assert Path(path).exists()
        assert engine.recall(pattern=f"{engine.root}/outcome=failure/**/*.json")[0]["_path"] == path
        listed = sorted(each.name for each in Path("agent_brain").iterdir())
        assert listed == [".gitignore", ".hardwon-memory", ".hardwon-tree", "outcome=failure"]
        assert ".hardwon-memory/" in Path("agent_brain/.gitignore").read_text()
    with Memory("agent_brain") as memory:
        assert memory.location == str(tmp_path / "agent_brain" / ".hardwon-memory" / "memory.db")
        assert memory.stats().records == 1
        assert memory.topology().name == "agent_brain"


@pytest.mark.parametrize(
    ("memory", "folder", "reason"),
    [
        ({"content": "No error type", "outcome": "failure", "tool": "code_interpreter"}, "missing_metadata", "error_type"),
        ({"content": "No tool at all", "outcome": "success"}, "missing_metadata", "tool"),
        ({"content": "No outcome", "outcome": None}, "missing_metadata", "outcome"),
        ({"content": "Unknown outcome", "outcome": "triumph", "tool": "code_interpreter"}, "no_match", "outcome"),
        ({"content": "Odd value", "outcome": "failure", "tool": "web_search", "reason": "odd"}, "no_match", "reason"),
        ({"content": "Odd tool", "outcome": "success", "tool": "a\nb" * 100}, "no_match", "tool"),
        ({"content": "Odd type", "outcome": ["success"], "tool": 7}, "no_match", "outcome"),
    ],
)  # fmt: skip
def test_what_cannot_be_routed_is_kept_aside(
    engine: MemoryEngine, memory: dict[str, Any], folder: str, reason: str
) -> None:
    with pytest.warns(IntakeWarning, match=reason):
        path = Path(engine.remember(**memory))
    assert path.parent == Path(engine.root) / "_intake" / folder
    said = json.loads(path.read_text())
    assert reason in said["_reason"]
    assert [found["content"] for found in engine.recall()] == [memory["content"]]
    assert [hit.record.id for hit in engine.memory.recall(memory["content"])] == [
        record.id for record in engine.memory.browse()
    ]
    found = engine.reflect()
    assert found["intake"] + sum(found["by_outcome"].values()) == found["total_memories"] == 1
    assert engine.memory.doctor().ok


def test_what_cannot_be_routed_is_never_learned_from(engine: MemoryEngine) -> None:
    engine.remember(**FAILURE)
    before = engine.memory.odds(tool="code_interpreter")
    with pytest.warns(IntakeWarning):
        for _ in range(5):
            engine.remember("It worked, they say", "success", "code_interpreter")
    assert engine.memory.odds(tool="code_interpreter") == before
    assert len(engine.recall(outcome="success")) == 5, "but it is found"
    (record, *_) = engine.memory.browse(limit=1)
    assert record.turned_out_well is None


def test_keys_that_a_record_has_a_meaning_of_its_own_for_come_back(engine: MemoryEngine) -> None:
    given_keys: dict[str, Any] = {"id": "INC-7", "kind": "bug", "source": "stackoverflow"}
    given_keys |= {"status": "open", "unrouted": "x", "path": "/var/y", "metadata": {"a": 1}}
    given_keys |= {"timestamp": "yesterday", "author": "", "recalled": ["a"], "self": 1}
    path = engine.remember(**SUCCESS, **given_keys)
    (memory,) = engine.recall()
    assert {name: memory["metadata"][name] for name in given_keys} == given_keys
    assert json.loads(Path(path).read_text())["metadata"] == memory["metadata"]
    assert summaries(engine.recall(status="open")) == ["payment_race_fix"]


def test_author_tags_and_time_are_the_envelope_s(engine: MemoryEngine) -> None:
    engine.remember(**SUCCESS, author="bob", tags=["ci"], timestamp="2026-01-31T12:00:00Z")
    (record,) = engine.memory.browse(author="bob", tag="ci")
    assert record.metadata.context.timestamp == datetime(2026, 1, 31, 12, tzinfo=UTC)
    (memory,) = engine.recall()
    assert memory["metadata"] == {"task_type": "debug", "author": "bob", "tags": ["ci"]}
    assert "/20260131_120000_" in memory["_path"]


def test_reflect_has_the_keys_that_scripts_read(engine: MemoryEngine) -> None:
    for number in range(6):
        engine.remember(**{**FAILURE, "summary": f"fail_{number}"})
    engine.remember(**SUCCESS)
    engine.remember(**LEARNING)
    found = engine.reflect()
    assert found["total_memories"] == 8
    assert found["by_outcome"] == {"failure": 6, "success": 1, "learning": 1, "interaction": 0}
    none = dict.fromkeys(("web_search", "file_operation", "conversation", "unknown"), 0)
    assert found["by_tool"] == {"code_interpreter": 7, **none}
    assert found["failure_hotspots"] == [("tool=code_interpreter/error_type=runtime", 6)]
    assert found["success_patterns"] == [("tool=code_interpreter/task_type=debug", 1)]
    newest = ["explicit_errors", "payment_race_fix", "fail_5", "fail_4", "fail_3"]
    assert summaries(found["recent"]) == newest
    for memory in found["recent"]:
        assert Path(memory["_path"]).exists()
        assert memory["when"] == memory["timestamp"]
    assert found["insights"]
    assert all(isinstance(sentence, str) for sentence in found["insights"])
    json.dumps(found)


def test_the_schema_can_be_asked_for(engine: MemoryEngine) -> None:
    assert engine.schema["outcome"]["learning"] == {
        "insight_type": dict.fromkeys(("pattern", "correction", "preference", "fact"))
    }


@pytest.mark.parametrize("content", [{"error": "locked", "tries": [1, 2]}, ["first", {"then": 2}]])
def test_an_object_or_a_list_is_a_content_too(engine: MemoryEngine, content: Any) -> None:
    path = Path(engine.remember(content, "failure", "file_operation", at=date(2026, 1, 31)))
    assert json.loads(path.read_text())["content"] == content
    (found,) = engine.recall(content=content)
    assert (found["content"], found["metadata"]) == (content, {"at": "2026-01-31"})
    assert len(engine.memory.recall("locked, or first and then")) == 1
    engine.memory.rebuild()
    # a tree that was made elsewhere
    aside = path.with_name("old.json")
    aside.write_text(json.dumps({"outcome": "failure", "content": {**FAILURE, "of": content}}))
    assert engine.sync().added == 1
    assert engine.recall(f"**/{aside.name}")[0]["content"] == {**FAILURE, "of": content}
    sources = {record.said_by for record in engine.memory.browse()}
    assert sources == {"agent", f"agent{VIA_IMPORT}"}, "who put the file there is not known"
    assert engine.memory.doctor().ok


def test_a_content_without_ascii_gets_a_readable_file_name(engine: MemoryEngine) -> None:
    path = engine.remember("修复了登录表单的空格问题", "success", "file_operation")
    assert "_修复了登录表单的空格问题_" in path
    assert Path(path).exists()
    assert summaries(engine.recall(pattern="**/*登录*.json")) == ["修复了登录表单的空格问题"]
    named = engine.remember("결제 모듈을 고쳤다", "success", "file_operation", summary="결제_수정")
    assert "_결제_수정_" in named


@pytest.mark.parametrize(("field", "value"), [("error_type", "timeout"), ("outcome", "failed")])
def test_a_folder_outweighs_an_edited_key(engine: MemoryEngine, field: str, value: str) -> None:
    path = Path(engine.remember(**FAILURE))
    text = json.loads(path.read_text()) | {"content": "Told better", "metadata": {}}
    path.write_text(json.dumps(text | {field: value}))
    synced = engine.sync()
    assert synced.edited == 1
    (reason,) = synced.left.values()
    assert reason == f"says another {field} than its folder, which counts: move it there"
    (memory,) = engine.recall(outcome="failure", error_type="runtime")
    assert (memory["content"], Path(memory["_path"])) == ("Told better", path)
    assert engine.memory.doctor().ok


def test_a_key_edited_in_place_is_found_at_once(engine: MemoryEngine) -> None:
    path = Path(engine.remember(**FAILURE, ticket=7))
    os.utime(path.parent, (1, 1))  # an editor that writes into the file leaves its folder alone
    engine.recall()
    with path.open("r+") as file:
        text = file.read().replace('"ticket": 7', '"ticket": 88')
        file.seek(0)
        file.write(text)
    assert [found["metadata"]["ticket"] for found in engine.recall(ticket=88)] == [88]
    assert engine.recall(ticket=7) == []


def test_what_the_system_tells_of(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def tickets(**intent: Any) -> list[int]:
        return sorted(found["metadata"]["ticket"] for found in engine.recall(**intent))

    def edit(path: Path, old: str, new: str) -> None:
        path.write_text(path.read_text().replace(old, new))

    path, other = (Path(engine.remember(**FAILURE, ticket=ticket)) for ticket in (1, 2))
    assert tickets(ticket=1) == [1]
    with monkeypatch.context() as nobody_looks:
        nobody_looks.setattr(Edits, "sweep", None)
        edit(path, '"ticket": 1', '"ticket": 100')
        assert (tickets(ticket=100), tickets(ticket=1)) == ([100], [])
        logic = other.parent.with_name("error_type=logic") / other.name
        logic.parent.mkdir()
        other.rename(logic)  # to a folder that is new
        assert tickets(error_type="logic") == [2]
        (moved,) = engine.recall(error_type="logic")
        edit(Path(moved["_path"]), '"ticket": 2', '"ticket": 200')
        assert tickets(error_type="logic") == [200]
        third = Path(engine.remember(**FAILURE, ticket=3))
        by_rename = path.with_suffix(".part")
        by_rename.write_text(third.read_text().replace('"ticket": 3', '"ticket": 300'))
        by_rename.rename(third)
        by_hand = Path(engine.root) / "outcome=learning" / "insight_type=fact" / "x.json"
        by_hand.parent.mkdir(parents=True)
        by_hand.write_text(json.dumps({"content": "Tests need a locale", "ticket": 4}))
        assert tickets() == [4, 100, 200, 300]
        path.unlink()
        assert tickets(outcome="failure") == [200, 300]
        by_hand.write_text("{")
        assert tickets(ticket=4) == [4], "left alone, with a warning"
        by_hand.write_text(json.dumps({"content": "Tests need a locale", "ticket": 400}))
        assert tickets(outcome="learning") == [400]
    edit(third, "300", "3000")  # where it could not be taken in, it is not forgotten
    with monkeypatch.context() as locked, pytest.raises(BusyError):
        locked.setattr(Edits, "_take_in", Mock(side_effect=BusyError("somebody writes")))
        engine.recall(ticket=3000)
    assert tickets(ticket=3000) == [3000]
    # where the system cannot tell any more, everything is looked at
    by_hand.parent.rename(by_hand.parent.with_name("insight_type=pattern"))
    assert tickets(insight_type="pattern") == [400]
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 1):
        third.open("a").close()
        Path(moved["_path"]).open("a").close()
    edit(third, "3000", "5")
    assert tickets(ticket=5) == [5]
    edit(third, '"ticket": 5', '"ticket": 55')
    monkeypatch.setattr(os, "getpid", lambda: 0)  # as in a process that was forked
    assert tickets(ticket=55) == [55]
    monkeypatch.setattr("hardwon.tree.watch._OWN_FILE_SYSTEMS", ())  # it is shared with others
    edit(third, '"ticket": 55', '"ticket": 555')
    assert tickets(ticket=555) == [555]
    assert engine.memory.doctor().ok


def test_opening_looks_at_no_file_and_every_question_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reopen() -> MemoryEngine:
        path.write_text(path.read_text().replace("works", "works well"))
        with monkeypatch.context() as nobody_looks:
            nobody_looks.setattr(Edits, "sweep", None)
            opened = MemoryEngine(tmp_path / "brain")
            opened.remember(**FAILURE)
            return opened

    with MemoryEngine(tmp_path / "brain") as engine:
        path = Path(engine.remember("It works", "success", "conversation"))
    with reopen() as engine:
        assert engine.recall(outcome="success")[0]["content"] == "It works well"
    with reopen() as engine:
        assert engine.reflect()["total_memories"] == 3
        assert engine.memory.doctor().ok
    with reopen() as engine:
        contents = [record.as_row()["text"] for record in engine.memory.care.page().records]
        assert "It works well well well" in contents
        assert engine.forget(outcome="success") == 1


def test_transmit_makes_the_folder_where_it_is_meant(tmp_path: Path) -> None:
    router = Coherence(root=tmp_path / "brain")
    path = Path(router.transmit(FAILURE))
    assert not (tmp_path / "brain").exists()
    assert Path(router.transmit(FAILURE, dry_run=False)).parent == path.parent
    assert path.parent.is_dir()
    assert not path.exists()


def test_an_empty_brain_reflects_too(engine: MemoryEngine) -> None:
    assert engine.recall() == []
    assert engine.reflect()["total_memories"] == engine.reflect()["by_outcome"]["failure"] == 0
    assert engine.forget(outcome="failure") == 0


def test_forget_erases_records_and_files(engine: MemoryEngine) -> None:
    path = Path(engine.remember(**FAILURE))
    kept = Path(engine.remember(**SUCCESS))
    assert engine.forget(outcome="failure") == 1
    assert not path.exists()
    assert kept.exists()
    assert summaries(engine.recall()) == ["payment_race_fix"]
    for file in Path(engine.memory.location).parent.glob("memory.db*"):
        assert b"json_set_fail" not in file.read_bytes(), "not even the name of its file is left"
    assert engine.forget(pattern=f"{engine.root}/**/*.json") == 1
    assert engine.memory.stats().forgotten == 2
    assert engine.memory.doctor().ok


def test_forget_by_time(engine: MemoryEngine, clock: Clock) -> None:
    engine.remember(**{**SUCCESS, "timestamp": "2026-01-01T00:00:00+00:00"})
    engine.remember(**{**SUCCESS, "summary": "newer", "timestamp": "2026-03-01T00:00:00+00:00"})
    assert engine.forget(before="2025-01-01") == 0
    assert engine.forget(before=date(2026, 2, 1)) == 1
    assert engine.forget(before=datetime(2026, 4, 1), outcome="failure") == 0  # noqa: DTZ001  # as scripts write it
    assert summaries(engine.recall()) == ["newer"]
    with pytest.raises(InvalidInputError, match="before"):
        engine.forget(before="last week")
    with pytest.raises(InvalidInputError, match="what is to be forgotten"):
        engine.forget()
    assert len(engine.recall()) == 1


def test_memory_on_the_same_folder_sees_and_mirrors_the_same(engine: MemoryEngine) -> None:
    engine.remember(**FAILURE)
    with Memory(engine.root) as memory:
        (found,) = memory.browse()
        assert found.kind == "experience"
        assert found.extra["error_type"] == "runtime"
        text = "Deployed with a canary first"
        kept = memory.remember(text, "success", "conversation", summary="canary")
        assert kept.path is not None
        folder = Path(engine.root).resolve() / "outcome=success/tool=conversation"
        assert Path(kept.path).parent == folder
        memory.record_fact("The tree mirrors experiences alone.", "observation")
        memory.add_many([kept.copy_with(id=new_id(), content="Once more, in bulk")])
    assert summaries(engine.recall(tool="conversation")) == ["canary", "canary"]
    assert engine.reflect()["total_memories"] == 3


def test_a_memory_that_was_open_before_there_was_a_tree_mirrors_too(tmp_path: Path) -> None:
    with Memory(tmp_path / "brain") as memory:
        before = memory.remember("From before the tree", "success", "conversation")
        assert before.path is None
        assert memory.tree.mirror is None
        with MemoryEngine(tmp_path / "brain") as engine:
            assert [found["content"] for found in engine.recall()] == ["From before the tree"]
            after = memory.remember("From after the tree", "failure", "unknown")
            assert after.path
            assert Path(after.path).exists()
            assert len(engine.recall()) == 2


def test_many_at_once(engine: MemoryEngine) -> None:
    paths = engine.remember_many([{**SUCCESS, "summary": f"bulk_{number}"} for number in range(50)])
    assert len(set(paths)) == 50
    assert all(Path(path).exists() for path in paths)
    with pytest.raises(InvalidInputError):
        engine.remember_many([SUCCESS, {**SUCCESS, "content": ""}])
    with pytest.raises(InvalidInputError, match="memories.1"):
        engine.remember_many([SUCCESS, "not a memory"])  # type: ignore[list-item]
    assert len(engine.recall()) == 50


def test_secrets_do_not_reach_the_files(engine: MemoryEngine) -> None:
    token = "ghp_" + "Zx9" * 12
    more = {"summary": f"use {token}", "key": token}
    path = engine.remember(f"The call works with {token}", "success", "conversation", **more)
    assert token not in Path(path).read_text()
    assert token.lower() not in path
    assert token not in json.dumps(engine.recall())


SENSORS = {
    "outcome": {
        "success|failure": {"altitude": {">100": None, "<=100": "site={site=unknown}"}},
        "learning": {"insight_type": {"r/[a-z]+/": None}},
    }
}


def test_a_schema_of_one_s_own(tmp_path: Path) -> None:
    root = tmp_path / "brain"
    with MemoryEngine(root, schema=SENSORS) as engine:
        high = Path(engine.remember("High flight", "success", tool="drone", altitude=150))
        lower: dict[str, Any] = {"tool": "drone", "altitude": 20, "site": "Zürich"}
        low = Path(engine.remember("Low flight", "failure", **lower))
        plain = Path(engine.remember("Low flight again", "failure", altitude=20))
        assert high.parent == root / "outcome=success/altitude=gt_100"
        assert low.parent.parent == root / "outcome=failure/altitude=lte_100"
        assert plain.parent.name == "site=unknown"
        with pytest.warns(IntakeWarning, match="altitude"):
            aside = Path(engine.remember("No altitude", "success"))
        assert aside.parent == root / "_intake/missing_metadata"
        assert summaries(engine.recall(altitude=150)) == ["high_flight"]
        assert summaries(engine.recall(site="Zürich")) == ["low_flight"]
        assert summaries(engine.recall(tool="drone", outcome="failure")) == ["low_flight"]
        assert engine.memory.odds(tool="drone").attempts == 2, "learned from like any other"
    with MemoryEngine(root) as engine:
        assert Path(engine.remember("High again", "success", altitude=300)).parent == high.parent
        assert engine.memory.doctor().ok
    with pytest.raises(InvalidInputError, match="schema"):
        MemoryEngine(root, schema={"outcome": {"success": None}})
    with pytest.raises(InvalidInputError):
        MemoryEngine(tmp_path / "other", schema={"a": {}, "b": {}})


PIECES = ["..", "/", "\\", "\0", "\n", ":", "~", "%2e%2e%2f", "\uff0e\uff0e\uff0f", "‮", "é", "é", "con",
          "NUL", "aux.json", "A" * 300,
          "\ud800", "$HOME", "`id`", "*", "[a]", "?", "|", ".", " ", "ﬀ", "\u017f", "K", "-rf", "_intake", "outcome=failure",
          "\U0001f4a9", "etc/passwd", "C:", "com1", "lpt9.txt", "\u2028", "\x1b[2J", "x" * 5000]  # fmt: skip
NAMES = (
    "outcome tool summary task_type error_type domain reason insight_type sentiment own id".split()
)


def attacks(count: int, seed: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    for number in range(count):
        memory = dict(rng.choice([FAILURE, SUCCESS, LEARNING]))
        for name in rng.sample(NAMES, rng.randint(1, 3)):
            text = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 4)))
            odd = rng.choice([7, -1.5, True, [text], {"a": text}, {text: 1}])
            memory[name] = text if rng.random() < 0.9 else odd
        if rng.random() < 0.1:
            memory["".join(rng.choice(PIECES) for _ in range(2)) or "k"] = number
        yield memory


def test_attacks_on_every_key_stay_inside(tmp_path: Path) -> None:
    count = int(os.environ.get("HARDWON_ATTACKS", "8000" if TORTURE else "2000"))
    root = tmp_path / "brain"
    with MemoryEngine(root) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore", IntakeWarning)
        good: list[dict[str, Any]] = []
        for memory in attacks(count, seed=4):
            with suppress(HardwonError):
                engine._experience(memory)
                good.append(memory)
        kept = sum(
            len(engine.remember_many(good[first : first + 1000]))
            for first in range(0, len(good), 1000)
        )
        assert kept == len(good) > count // 3
        outside = (path for path in tmp_path.rglob("*") if not path.is_relative_to(root))
        assert list(outside) == []
        files = list(root.rglob("*.json"))
        assert len(files) == kept == len(engine.recall())
        parts = {part for path in files for part in path.relative_to(root).parts}
        assert max(len(part.encode()) for part in parts) < 200
        folders = {path.parent.relative_to(root).as_posix() for path in files}
        assert len(folders) == len({folder.casefold() for folder in folders})
        assert engine.sync().left == {}
        assert engine.memory.doctor().ok


@given(
    st.dictionaries(
        st.sampled_from(NAMES), st.text(max_size=40) | st.integers() | st.none(), max_size=4
    )
)
def test_any_memory_comes_back_or_is_refused(keys: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", IntakeWarning)
        with MemoryEngine(folder) as engine:
            try:
                path = engine.remember(**{**SUCCESS, **keys})
            except HardwonError:
                assert engine.recall() == []
                return
            (found,) = engine.recall()
            assert found["_path"] == path
            assert found["content"] == SUCCESS["content"]
            assert {**json.loads(Path(path).read_text()), "_path": path} == found


ONE_LINER = "from memory import MemoryEngine\nm = MemoryEngine(root='agent_brain')\n[m.remember(**mem) for mem in memories]\n"
LOOP = """
from memory import MemoryEngine
import time
memory = MemoryEngine(root='agent_brain')
for i, mem in enumerate(memories, 1):
    path = memory.remember(**mem)
    if i % 50 == 0:
        print(f'stored {i}')
    time.sleep(0.001)
print(f'all {len(memories)}')
"""


ROUTED = """
from coherence import Coherence
import glob, os
routes = Coherence(root='agent_brain')
for mem in memories:
    path = routes.transmit(mem, dry_run=False)
    open(path, 'w').write(__import__('json').dumps(mem))
found = glob.glob(routes.receive(outcome='success', task_type='debug'), recursive=True)
assert len(found) == 100, found
derived = Coherence.derive(found)
assert derived['outcome'] == {'success': {'tool': {'code_interpreter': {'task_type': {'debug': None}}}}}
assert derived['_derived'] is True
"""


@pytest.mark.parametrize("script", [ONE_LINER, LOOP, ROUTED])
def test_scripts_that_import_memory_run(script: str, tmp_path: Path) -> None:
    made = f"memories = [dict({SUCCESS!r}, summary=f'fix_{{i}}', content=f'Fixed the race #{{i}}') for i in range(100)]\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "drop_in")}
    run_program(warm.python(), "-c", made + script, cwd=tmp_path, env=environment, timeout=120)
    assert len(list((tmp_path / "agent_brain").rglob("*.json"))) == 100
    with Memory(tmp_path / "agent_brain") as memory:
        if script == ROUTED:  # files of a folder that nobody opened before
            memory.tree.make()
            memory.tree.sync()
        assert memory.stats().by_outcome == {"success": 100}
        assert memory.doctor().ok
