"""What a commit publishes, in real repositories whose hook calls `hooks run post-commit`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from command_line import at_once
from hardwon import Memory
from hardwon.capture.tests import RanTest
from hardwon.outside.git import Repository, last_commit
from hardwon.records.kinds import Record
from little_projects import RIGHT, SOURCE, WRONG, Project, git
from short import need, run_program

TEST = "tests/test_calc.py::test_addition"
REPORT = "E   assert -1 == 3\n\ntests/test_calc.py:5: AssertionError"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.chdir(made.folder)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


def install(project: Project) -> None:
    """As the manual says it."""
    hook = project.folder / ".git" / "hooks" / "post-commit"
    program = Path(sys.executable).with_name("hardwon")
    hook.write_text(f"#!/bin/sh\n{program} hooks run post-commit\n")
    hook.chmod(0o755)


def ran(memory: Memory, project: Project, *, passes: bool) -> list[str]:
    file = str(project.folder / "tests" / "test_calc.py")
    result = RanTest(TEST, not passes, "" if passes else REPORT, files=[file])
    return memory.tests.record([result]).verified


def repaired(project: Project, **envelope: Any) -> Record:
    """The test fails, something is tried, and the test passes; nothing is committed yet."""
    with project.memory() as memory:
        ran(memory, project, passes=False)
        tried = memory.record_fact("test_addition: addition takes a plus.", "solution", **envelope)
        project.write("calc.py", RIGHT)
        assert ran(memory, project, passes=True) == [tried.id]
    return tried


def status(project: Project, record: Record) -> str:
    with project.memory() as memory:
        found = memory.get(record.id)
    assert found is not None
    return found.metadata.validation.status


def commit_all(project: Project, *options: str) -> str:
    """What git and its hooks print."""
    git(project.folder, "add", "-A")
    done = run_program("git", "commit", *(options or ("-q", "-m", "x")))
    return done.stdout + done.stderr


def test_a_commit_publishes_what_led_to_it(project: Project) -> None:
    install(project)
    tried = repaired(project)
    printed = commit_all(project, "-m", "mend")
    made = git(project.folder, "rev-parse", "HEAD")
    assert f"hardwon: 1 record published: their tests pass at {made[:12]}" in printed
    with project.memory() as memory:
        last = memory.audit(tried.id)[-1]
        kept = memory.get(tried.id)
    assert (last.by, last.status) == ("git hook", "published")
    assert last.event is not None
    assert last.event.reason == f"commit {made}: {TEST}"
    assert kept is not None
    verified_by = str(kept.metadata.validation.verification_id)
    assert verified_by.startswith(f"{TEST}@"), "the test stays who verified it"
    git(project.folder, "commit", "-q", "--amend", "-m", "mend it")
    with project.memory() as memory:
        assert len(memory.audit(tried.id)) == 3, "created, verified, published: and no more"
        assert memory.doctor().ok


def published(project: Project) -> list[str]:
    """What the hook of the commit that HEAD is at publishes, without a process of its own."""
    commit = need(last_commit(project.folder))
    with project.memory() as memory:
        return memory.tests.publish(commit)


def test_not_while_a_test_fails(project: Project) -> None:
    tried = repaired(project)
    project.write("calc.py", WRONG)
    with project.memory() as memory:
        ran(memory, project, passes=False)
    project.write("other.txt", "")
    project.commit("second")
    assert published(project) == []
    assert status(project, tried) == "verified"


def test_not_with_a_commit_that_has_nothing_to_do_with_it(project: Project) -> None:
    tried = repaired(project, related_files=["calc.py"])
    project.write("README", "words")
    git(project.folder, "add", "README")
    git(project.folder, "commit", "-q", "-m", "words")
    assert published(project) == [], "the repair is not in it"
    project.write("README", "more words")
    git(project.folder, "add", "calc.py")
    git(project.folder, "commit", "-q", "--amend", "-m", "words and calc")
    assert published(project) == [tried.id], "it replaces one that was made on the same parent"


def test_a_rebase_is_no_news(project: Project) -> None:
    install(project)
    git(project.folder, "checkout", "-q", "-b", "feature")
    tried = repaired(project)
    project.write("a.txt", "a")
    project.commit("mend")
    assert status(project, tried) == "published"
    git(project.folder, "checkout", "-q", "main")
    project.write("b.txt", "b")
    project.commit("meanwhile")
    git(project.folder, "checkout", "-q", "feature")
    git(project.folder, "rebase", "-q", "main")
    with project.memory() as memory:
        assert len(memory.audit(tried.id)) == 3
    (project.folder / ".git" / "rebase-merge").mkdir()
    assert Repository(project.folder).is_rebasing
    assert at_once("hooks", "run", "post-commit").output == ""


def test_in_a_worktree(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = tmp_path / "side"
    install(project)
    git(project.folder, "worktree", "add", "-q", "-b", "side", str(side))
    monkeypatch.chdir(side)
    project.folder = side
    tried = repaired(project)
    project.commit("mend")
    assert status(project, tried) == "published"


def test_what_lies_in_the_checkout_is_never_imported(project: Project) -> None:
    install(project)
    for name in ("hardwon/__init__.py", "typer.py"):
        project.write(name, "open('imported.txt', 'w')\n")
    project.commit("traps")
    assert not (project.folder / "imported.txt").exists()


def test_a_hook_gives_up_when_the_memory_is_not_to_be_had(project: Project) -> None:
    install(project)
    tried = repaired(project)
    with project.memory() as memory, memory._project.store.write(memory.project):
        started = time.monotonic()
        assert "locked by another writer for too long" in commit_all(project)
        assert time.monotonic() - started < 60, "two seconds of waiting, and a busy machine"
    assert status(project, tried) == "verified"
    (project.brain / "memory.db").write_bytes(b"no database")
    assert "is empty or cut off" in commit_all(project, "-q", "--amend", "-m", "y")


def test_whatever_takes_too_long_is_cut_off(project: Project) -> None:
    code = (
        "import time\n"
        "from hardwon.surfaces.cli import agents, main\n"
        "agents.HOOK_S_MAX = 0.2\n"
        "agents.last_commit = lambda root: time.sleep(60)\n"
        "main.app(['hooks', 'run', 'post-commit'])"
    )
    project.memory().close()
    started = time.monotonic()
    environment = project.environment | {"PYTHONPATH": str(SOURCE)}
    run_program(sys.executable, "-c", code, env=environment)
    assert time.monotonic() - started < 50


def test_whoever_says_that_a_test_vouched_publishes_nothing(project: Project) -> None:
    tried = repaired(project)
    here = f"{TEST}@{git(project.folder, 'rev-parse', 'HEAD')}"
    other_line = {"git_commit": "f" * 40}
    runner, evil = "test_runner", {"author": "evil"}
    claims: list[Any] = [(runner, here, evil), (runner, f"{TEST}@x", other_line)]
    with project.memory() as memory:
        for verifier, said, told in [*claims, (runner, None, {}), ("human_approval", None, {})]:
            text = f"test_addition: as {verifier} says of {said}."
            memory.verify(memory.record_fact(text, "solution", **told).id, verifier, said)
    project.commit("repaired")
    assert published(project) == [tried.id]
    with project.memory() as memory:
        assert memory.stats().by_status["verified"] == 4
