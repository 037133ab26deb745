"""Git hooks in real repositories: how they get there and away, and what a commit publishes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from command_line import answered, at_once
from hardwon import Memory
from hardwon.capture import git_hooks
from hardwon.capture.tests import RanTest
from hardwon.errors import PlaceError
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
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return made


def hooks(*arguments: str, code: int = 0) -> str:
    done = at_once("hooks", *arguments)
    assert done.exit_code == code, done.output
    return done.output


def own_hook(path: Path, text: str, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)


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


def test_install_status_and_remove(project: Project) -> None:
    hook = project.folder / ".git" / "hooks" / "post-commit"
    assert "not installed" in hooks("status")
    assert "post-commit: installed" in hooks("install")
    first = hook.read_text()
    assert hook.stat().st_mode & 0o777 == 0o755
    assert str(project.brain) in first, "the memory that the hook was installed for"
    assert shlex.quote(sys.executable) in first
    assert "installed" in hooks("install", "git")
    assert hook.read_text() == first
    told = {"name": "post-commit", "path": str(hook), "state": "installed", "chained": False}
    assert answered("hooks", "status", "git") == {"hooks": [told | {"edited": False}]}
    assert subprocess.run(["sh", "-n", hook], check=False).returncode == 0
    assert "not installed" in hooks("remove")
    assert "not installed" in hooks("remove")
    assert not list(hook.parent.glob("post-commit*"))
    hooks("install", "svn", code=2)


def test_a_hook_that_is_there_keeps_running_and_gets_its_name_back(project: Project) -> None:
    folder = project.folder / ".git" / "hooks"
    own_hook(folder / "post-commit", 'echo "mine $#" >> ran.txt')
    text = (folder / "post-commit").read_text()
    hooks("install")
    assert "calls post-commit.before-hardwon first" in hooks("install")
    project.commit("second", "--allow-empty")
    assert (project.folder / "ran.txt").read_text() == "mine 0\n"
    hooks("remove")
    assert (folder / "post-commit").read_text() == text
    assert (folder / "post-commit").stat().st_mode & 0o111
    assert not (folder / "post-commit.before-hardwon").exists()
    project.write("more.txt", "")
    project.commit("third")
    assert (project.folder / "ran.txt").read_text() == "mine 0\n" * 2

    hooks("install")
    own_hook(folder / "post-commit", "echo replaced by hand")
    assert "somebody else's" in hooks("status")
    assert "both not ours" in hooks("install", code=1)
    hooks("remove")
    assert "replaced by hand" in (folder / "post-commit").read_text(), "not ours to remove"


@pytest.mark.parametrize("fails", ["fsync", "replace", "fchmod"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_hook_that_cannot_be_written_leaves_the_users_where_it_is(
    project: Project, monkeypatch: pytest.MonkeyPatch, fails: str, linked: bool
) -> None:
    folder = project.folder / ".git" / "hooks"
    own_hook(project.folder / "scripts" / "hook" if linked else folder / "post-commit", "echo mine")
    if linked:
        (folder / "post-commit").symlink_to("../../scripts/hook")
    before = sorted(folder.iterdir())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path if fails == "replace" else os, fails, full)
        with pytest.raises(PlaceError, match="No space left"):
            git_hooks.install(folder)
    assert sorted(folder.iterdir()) == before
    assert "echo mine" in (folder / "post-commit").read_text()
    assert (folder / "post-commit").is_symlink() == linked
    hook = git_hooks.install(folder)
    assert (hook.state, hook.chained) == ("installed", True)


def test_lines_that_somebody_added_to_ours_are_kept(project: Project) -> None:
    hook = project.folder / ".git" / "hooks" / "post-commit"
    hooks("install")
    first = hook.read_text()
    hook.write_text(first.replace("code=0\n", "code=0\necho a line of my own\n"))
    changed = hook.read_text()
    for command in ("install", "remove"):
        assert "was changed since" in " ".join(hooks(command, code=1).split())
        assert hook.read_text() == changed
    assert "with changes of somebody's" in hooks("status")
    hook.write_text(first)
    with_other_options = at_once("--project", "another", "hooks", "install")
    assert with_other_options.exit_code == 0, "ours, with other options, is still ours"
    assert "another" in hook.read_text()
    hooks("remove")
    assert not hook.exists()


def test_a_commit_publishes_what_led_to_it(project: Project) -> None:
    hooks("install")
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
    hooks("install")
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
    assert hooks("run", "post-commit") == ""


def test_in_a_worktree(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = tmp_path / "side"
    git(project.folder, "worktree", "add", "-q", "-b", "side", str(side))
    monkeypatch.chdir(side)
    hooks("install")
    shared = project.folder / ".git" / "hooks" / "post-commit"
    assert shared.exists(), "worktrees share their hooks"
    project.folder = side
    tried = repaired(project)
    project.commit("mend")
    assert status(project, tried) == "published"


def test_without_hardwon_it_is_silent(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    git_hooks.install(project.folder / ".git" / "hooks")
    project.write("a.txt", "a")
    assert commit_all(project) == ""


def test_what_lies_in_the_checkout_is_never_imported(project: Project) -> None:
    hooks("install")
    for name in ("hardwon/__init__.py", "typer.py"):
        project.write(name, "open('imported.txt', 'w')\n")
    project.commit("traps")
    assert not (project.folder / "imported.txt").exists()


def test_a_hook_gives_up_when_the_memory_is_not_to_be_had(project: Project) -> None:
    hooks("install")
    tried = repaired(project)
    with project.memory() as memory, memory._project.store.write(memory.project):
        started = time.monotonic()
        assert commit_all(project) == ""
        assert time.monotonic() - started < 60, "two seconds of waiting, and a busy machine"
    assert status(project, tried) == "verified"
    (project.brain / "memory.db").write_bytes(b"no database")
    assert commit_all(project, "-q", "--amend", "-m", "y") == ""


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
