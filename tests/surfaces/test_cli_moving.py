"""Commands that bring in what other memories and older stores know; and shell completion."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import legacy_fixes as legacy
from command_line import answered, as_http_answers, at_once, healthy, keys_of, keys_told_of, refused
from hardwon import Fact, Memory
from hardwon.training.functions import load_agent_memory, record_episode, save_agent_memory

TREE_FILE = {
    "timestamp": "2026-01-05T10:00:00+00:00", "outcome": "failure", "tool": "code_interpreter",
    "summary": "parser", "content": "the parser failed on line 3",
    "metadata": {"error_type": "runtime"},
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("own_folder")


def fill(location: str, *texts: str, project: str | None = None) -> list[str]:
    with Memory(location, project) as memory:
        return [memory.remember(text, "failure", "unknown").id for text in texts]


def test_merging_brings_what_the_other_knows() -> None:
    (shared,) = fill("brain", "port 80 is open")
    answered("care", "backup", "copy.db")
    answered("--memory", "other", "care", "restore", "copy.db")
    fill("other", "port 81 is shut", "port 82 is odd")
    with Memory("other") as other:
        other.forget([shared])
    foreseen = at_once("merge", "other", "--dry-run").stdout
    assert foreseen.startswith("2 records and 0 events would be added, ")
    assert f"not taken over without --trust:\n  forgotten by user: {shared}" in foreseen
    found = answered("merge", "other", "--trust")
    assert (found["added"], found["erased"], found["conflicting"]) == (2, 1, [])
    assert found["other"] == str(Path("other/memory.db").absolute())
    assert keys_of(found) == keys_told_of("merge")
    assert answered("stats")["records"] == 2
    again = at_once("merge", "other")
    assert again.exit_code == 0
    assert again.stdout.startswith("0 records and 0 events added, 2 were here already, 0 stay ")


def test_merging_is_of_one_project() -> None:
    fill("other", "of red", project="red")
    fill("other", "of none")
    told = at_once("--project", "blue", "merge", "other").stdout
    assert "there is nothing in project blue of the other memory" in told
    assert told.endswith("; the other memory also has default, red: --project names one\n")
    assert answered("--project", "red", "merge", "other")["added"] == 1
    assert answered("--project", "red", "stats")["records"] == 1
    assert answered("stats", complaints=True)["records"] == 0


def test_what_both_keep_differently_is_told() -> None:
    record = Fact(content="Port 80 is open.", fact_type="observation")
    with Memory("brain") as memory:
        memory.add(record)
    with Memory("other") as memory:
        memory.add(record.copy_with(content="Port 80 is shut."))
    done = at_once("merge", "other")
    assert done.exit_code == 1
    assert f"{record.id} is kept here with other content, which stays" in done.stdout
    assert at_once("merge", "other", "--json").exit_code == 1


def a_tree() -> Path:
    folder = Path("old_brain/outcome=failure/tool=code_interpreter/error_type=runtime")
    folder.mkdir(parents=True)
    other = {**TREE_FILE, "content": "login fails", "author": "ben"}
    (folder / "20260105_100000_parser.json").write_text(json.dumps(TREE_FILE))
    (folder / "20260106_100000_login.json").write_text(json.dumps(other))
    return Path("old_brain")


def a_training_memory() -> Path:
    episode: dict[str, Any] = {"task_id": "t", "score": 0.9, "successes": ["it worked"]}
    memory = record_episode(load_agent_memory("agent_memory.json"), episode)
    save_agent_memory(memory, "agent_memory.json")
    return Path("agent_memory.json")


def a_fix_history(shape: str) -> Path:
    Path("AIMemory").mkdir()
    return legacy.make(Path("AIMemory/ai_memory.db"), [{}, {}, {}], shape)


def a_folder_of_fixes() -> Path:
    a_fix_history("claude")
    a_knowledge_base(Path("AIMemory"))
    return Path("AIMemory")


def a_knowledge_base(folder: Path = Path()) -> Path:
    file = folder / "knowledge_base.json"
    file.write_text(json.dumps({"version": "1.0", "general_patterns": {"TIMEOUT": "wait longer"}}))
    return file


STORES = {
    "tree": (a_tree, "tree", 2),
    "training": (a_training_memory, "training-memory", 2),
    "claude": (lambda: a_fix_history("claude"), "fix-history", 3),
    "ai": (lambda: a_fix_history("ai"), "fix-history", 3),
    "both": (lambda: a_fix_history("both"), "fix-history", 3),
    "folder": (a_folder_of_fixes, "fix-history", 4),
    "knowledge": (a_knowledge_base, "knowledge-base", 1),
}


def looks(path: Path) -> dict[str, tuple[bytes, int]]:
    """What lies there, byte for byte, with its times."""
    files = [path, *sorted(path.rglob("*"))] if path.is_dir() else [path.parent, path]
    return {
        str(file): (file.read_bytes() if file.is_file() else b"", file.stat().st_mtime_ns)
        for file in files
    }


@pytest.mark.parametrize("store", STORES)
def test_every_older_store_is_recognised_and_adopted_and_stays_what_it_was(store: str) -> None:
    make, kind, number = STORES[store]
    with Memory("brain"):
        pass
    path = make().resolve()
    before = looks(path)
    foreseen = answered("adopt", str(path), "--dry-run")
    names = ("kind", "read", "added", "rejected", "dry_run")
    assert [foreseen[name] for name in names] == [kind, number, number, [], True]
    assert answered("stats")["records"] + answered("stats")["adopted"] == 0
    done = answered("adopt", str(path))
    assert [done[name] for name in names] == [kind, number, number, [], False]
    assert keys_of(done) <= keys_told_of("adopt")
    found = answered("stats")
    assert found["records"] + found["adopted"] == number
    assert set(found["by_status"]) <= {"hypothesis"}
    again = answered("adopt", str(path))
    assert (again["added"], again["present"]) == (0, number)
    assert looks(path) == before
    assert at_once("adopt", str(path), "--kind", kind).stdout.startswith(f"{kind}: {number} read, ")
    assert healthy()


def test_what_a_store_holds_that_cannot_be_taken_is_told() -> None:
    tree = a_tree()
    folder = next(tree.rglob("error_type=*"))
    (folder / "bad.json").write_text("{ not JSON")
    (folder / "link.json").symlink_to("/etc/passwd")
    done = at_once("adopt", "old_brain", "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["read"], found["added"]) == (1, 4, 2)
    rejected = sorted(each["where"].rpartition("/")[2] for each in found["rejected"])
    assert rejected == ["bad.json", "link.json"]
    assert keys_of(found["rejected"]) <= keys_told_of("adopt")
    text = at_once("adopt", "old_brain")
    assert text.exit_code == 1
    assert "bad.json: is not JSON" in text.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "there is no such file or folder"),
        ("empty", "it is none of a BTB tree"),
        ("other", "is a Hardwon memory already: hardwon merge"),
        ("other/memory.db", "is a Hardwon memory already: hardwon merge"),
        ("notes.txt", "hardwon load takes in"),
    ],
)
def test_what_is_no_older_store_is_told(name: str, said: str) -> None:
    Path("empty").mkdir()
    fill("other", "x")
    Path("notes.txt").write_text("dear diary,")
    assert said in refused("adopt", name)


@pytest.mark.parametrize(
    "data",
    [b"", b"[" * 100_000, b"\xff\xfe", b"null", b"{}", b"SQLite format 3\0", b"[1, 2", b"42"],
)
def test_whatever_a_file_holds_it_is_one_line(data: bytes) -> None:
    for name in ("m.json", "m.jsonl", "m.db", "m"):
        Path(name).write_bytes(data)
        done = at_once("adopt", name)
        assert done.exit_code in (0, 1)
        assert done.exception is None or isinstance(done.exception, SystemExit)
        assert done.stderr.count("\n") <= 1
        assert not done.stderr or name in done.stderr


def test_a_source_is_rolled_back_and_that_is_undone() -> None:
    answered("remember", "port 80 is open", "--outcome", "learning", "--author", "agent-7")
    done = at_once("care", "rollback", "agent-7", "--reason", "it made things up")
    assert done.stdout.splitlines()[0] == "1 record by agent-7 no longer counts"
    assert answered("recall", "port") == []
    undo = done.stdout.splitlines()[1].removeprefix("to take it back: hardwon ")
    assert at_once(*undo.split()).exit_code == 0
    assert len(answered("recall", "port")) == 1
    answer = as_http_answers("care rollback", "agent-8", "--reason", "nobody knows it")["target"]
    assert answer == "agent-8"


def test_vectors_are_made_by_the_model_in_the_package() -> None:
    fill("brain", "port 80 is open", "the parser fails")
    found = answered("care", "reembed", "--embedder", "wordllama")
    assert (found["made"], found["dimension"]) == (2, 256)
    assert keys_of(found) == keys_told_of("care reembed")
    made = at_once("care", "reembed", "--embedder", "wordllama").stdout
    assert made.startswith("0 vectors made by wordllama-256-")


def test_a_missing_package_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    fill("brain", "x")
    for package in ("wordllama", "fastembed"):
        monkeypatch.setitem(sys.modules, package, None)
        said = refused("care", "reembed", "--embedder", package)
        assert said.endswith("in a checkout of Hardwon: pip install '.[embeddings]'")
