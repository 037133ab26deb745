"""`pytest -p hardwon`, as real runs in little projects see it."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hardwon import Fact, Memory
from hardwon.capture.tests import read_result
from hardwon.records.kinds import Record, Validation
from little_projects import RIGHT, Project, said
from short import need

SEES_IMPORTS = """
import sys
def pytest_unconfigure(config):
    print("loaded:", *sorted(name for name in sys.modules if name.partition(".")[0] in ("hardwon", "hardwon_pytest")))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.chdir(made.folder)
    return made


def loaded(done: subprocess.CompletedProcess[str]) -> list[str]:
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("loaded:")]
    return line.split()[1:]


def facts(project: Project) -> list[Fact]:
    with project.memory() as memory:
        return [record for record in memory.browse(tag="pytest") if isinstance(record, Fact)]


def validation_of(memory: Memory, record: Record) -> Validation:
    return need(memory.get(record.id)).metadata.validation


CALC_TEST = "tests/test_calc.py::test_addition"


def test_a_failure_is_recorded_and_a_pass_vouches_for_what_was_tried(project: Project) -> None:
    done = project.pytest("-p", "hardwon", "--hardwon-task=repair calc")
    assert done.returncode == 1
    assert said(done) == ["hardwon: 1 failure recorded"]
    (failure,) = facts(project)
    assert failure.fact_type == "error"
    assert failure.content.startswith(f"The test {CALC_TEST} failed: assert -1 == 3")
    assert "def test_addition" in failure.content
    metadata = failure.metadata
    failure_hash = str(metadata.validation.failure_hash)
    assert (metadata.source.type, metadata.source.author) == ("test_result", "pytest")
    assert metadata.source.id.startswith("pytest-")
    assert metadata.tags == ["pytest", "task:repair calc"]
    assert [file.path for file in metadata.context.related_files] == ["tests/test_calc.py"]
    assert metadata.context.git_branch == "main"
    assert len(metadata.context.git_commit) == 40
    with project.memory() as memory:
        # what an agent has in its hands finds the record
        for asked in (done.stdout, failure_hash):
            assert memory.recall(asked, 1)[0].record.id == failure.id

    assert said(project.pytest("-p", "hardwon")) == ["hardwon: 1 test failing as before"]
    assert len(facts(project)) == 1

    logic: Any = {"tool": "code_interpreter", "error_type": "logic"}
    worked = [{"action": "edit calc.py", "observation": "ok", "reward": 1.0}]
    before, after = "Subtraction was meant to be addition.", "Operands are numbers."
    with project.memory() as memory:
        wrong = memory.remember("test_addition: swapped the operands", "failure", **logic)
        other = memory.record_fact("The README lacks an example.", "solution")
    project.write("calc.py", RIGHT)
    with project.memory() as memory:
        told: Any = {"author": "one", "related_files": ["calc.py"]}
        by_hash = memory.record_fact(before, "solution", failure_hash=failure_hash, **told)
        by_name = memory.record_trajectory("make test_addition pass", worked, 1.0, author="two")
        by_file = memory.record_fact(after, "decision", related_files=["tests/test_calc.py"])
    done = project.pytest("-p", "hardwon", "--lf")
    assert done.returncode == 0
    assert said(done) == ["hardwon: 1 test passing again, 3 records verified"]
    with project.memory() as memory:
        for attempt in (by_hash, by_name, by_file):
            validation = validation_of(memory, attempt)
            assert (validation.status, validation.verified_by) == ("verified", "test_runner")
            assert validation.verification_id == f"{CALC_TEST}@{metadata.context.git_commit}"
        for unproven in (wrong, other):
            assert validation_of(memory, unproven).status == "hypothesis"
        assert memory.tests.failing() == []
        (hit,) = memory.recall(failure_hash, 1, tag="pytest")
        assert isinstance(hit.record, Fact)
        assert hit.record.content.startswith(f"The test {CALC_TEST} passes again at commit")
        assert memory.audit(failure.id)[-1].status == "archived"
        assert memory.doctor().ok


@pytest.mark.parametrize(
    ("options", "more", "expected"),
    [
        ([], {}, ["hardwon_pytest"]),  # autoloaded, and nothing else came with it
        (["-p", "no:hardwon"], {"HARDWON_PYTEST": "1"}, []),
    ],
)
def test_it_does_nothing_unless_it_is_asked_for(
    project: Project, options: list[str], more: dict[str, str], expected: list[str]
) -> None:
    project.write("conftest.py", SEES_IMPORTS)
    done = project.pytest(*options, more=more)
    assert (loaded(done), done.returncode) == (expected, 1)
    assert not project.brain.exists()


ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p hardwon"}
WAYS: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "configuration": ("hardwon = true", [], {}),
    "addopts": ("addopts = -p hardwon", [], {}),
    "environment": ("", [], {"HARDWON_PYTEST": "on"}),
    "without autoload": ("", [], ALONE),
    "option": ("", ["--hardwon", "--hardwon-memory=elsewhere", "--hardwon-project=mine"], {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_ask_for_it(project: Project, way: str) -> None:
    line, arguments, more = WAYS[way]
    project.write("pytest.ini", f"[pytest]\n{line}\n")
    done = project.pytest(*arguments, more={"HARDWON_PYTEST": "0"} | more)
    assert said(done) == ["hardwon: 1 failure recorded"]
    if way == "option":
        with Memory(project.folder / "elsewhere", "mine") as memory:
            assert memory.tests.failing() == [CALC_TEST]
    else:
        assert len(facts(project)) == 1


MANY = """
import pytest

@pytest.fixture
def broken():
    raise RuntimeError("no such table")

@pytest.fixture
def untidy():
    yield
    raise OSError("cannot remove")

def test_in_setup(broken): pass
def test_in_teardown(untidy): pass
@pytest.mark.parametrize("value", [1, "a\\nb[x]::y", "long " * 60])
def test_parameters(value): raise ValueError(value)
@pytest.mark.xfail
def test_expected(): assert False
@pytest.mark.xfail(strict=True)
def test_unexpected(): pass
@pytest.mark.skip
def test_skipped(): pass
def test_fine(): pass
"""

LIKE_XDIST = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    hook = item.config.hook
    sent = hook.pytest_report_to_serializable(config=item.config, report=report)
    return hook.pytest_report_from_serializable(config=item.config, data=sent)
"""


def test_whatever_can_fail_is_told_apart(project: Project) -> None:
    """Reports pass through what a worker's go through on their way to the process that writes."""
    project.write("conftest.py", LIKE_XDIST)
    project.write("tests/test_many.py", MANY)
    project.write("tests/test_unreadable.py", "import nothing_of_that_name\n")
    done = project.pytest("-p", "hardwon", "--continue-on-collection-errors")
    assert done.returncode == 1
    found = {result.test: fact for fact in facts(project) if (result := read_result(fact))}
    assert len(found) == 8
    for name, told in (
        ("tests/test_many.py::test_in_setup", "failed in setup: RuntimeError: no such table"),
        ("tests/test_many.py::test_in_teardown", "failed in teardown: OSError: cannot remove"),
        ("tests/test_unreadable.py", "failed in collection: ModuleNotFoundError"),
        ("tests/test_many.py::test_unexpected", "XPASS(strict)"),
    ):
        assert told in found[name].content
    assert sum("::test_parameters[" in name for name in found) == 3
    assert all(len(name) <= 150 for name in found)
    hashes = {found[name].metadata.validation.failure_hash for name in found}
    assert len(hashes) >= 6

    project.write("tests/test_unreadable.py", "def test_now(): pass\n")
    done = project.pytest("-p", "hardwon", "-x", "tests/test_unreadable.py", "tests/test_many.py")
    assert said(done) == ["hardwon: 1 test failing as before, 1 test passing again"]


TWO = """
def test_one_that_goes(): assert 0
class TestGroup:
    def test_other_that_goes(self): assert 0
def test_that_stays(): pass
"""


def test_a_test_that_was_renamed_does_not_fail_for_ever(project: Project) -> None:
    project.write("calc.py", RIGHT)
    project.write("tests/test_two.py", TWO)
    assert said(project.pytest("-p", "hardwon")) == ["hardwon: 2 failures recorded"]
    renamed = "import pytest\ndef test_new_name(): pass\ndef test_that_stays(): pass\n"
    project.write("tests/test_two.py", renamed)
    with project.memory() as memory:
        tried = memory.record_fact("test_one_that_goes is gone.", "solution")
    assert said(project.pytest("-p", "hardwon", "-k", "stays")) == ["hardwon: 2 tests gone"]
    assert said(project.pytest("-p", "hardwon")) == []
    with project.memory() as memory:
        assert memory.tests.failing() == []
        status = validation_of(memory, tried).status
        assert status == "hypothesis", "what is gone vouches for nothing"
        assert memory.doctor().ok
    project.write("tests/test_two.py", "def test_one_that_goes(): assert 0\n")
    assert said(project.pytest("-p", "hardwon")) == ["hardwon: 1 failure recorded"]


def test_a_worker_writes_nothing(project: Project) -> None:
    worker = "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_configure(config): config.workerinput = {}\n"
    project.write("conftest.py", worker)
    done = project.pytest("-p", "hardwon")
    assert (done.returncode, said(done)) == (1, [])
    assert not project.brain.exists()


def few_bytes() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


@pytest.mark.parametrize("trouble", ["damaged", "locked", "full", "no place", "bad option"])
def test_a_memory_that_cannot_be_used_changes_nothing(project: Project, trouble: str) -> None:
    arguments, before = ["-p", "hardwon", "-p", "no:cacheprovider", "-W", "error"], None
    held: Memory | None = None
    if trouble == "damaged":
        project.brain.mkdir()
        (project.brain / "memory.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 9000)
    elif trouble == "locked":
        held = project.memory()
    elif trouble == "full":
        before = few_bytes
    elif trouble == "no place":
        project.brain.write_text("a file, not a folder")
    else:
        arguments.append("--hardwon-project= ")
    project.write("tests/test_more.py", "def test_fine(): pass\n")
    if held:
        with held, held._project.store.write(held.project):
            done = project.pytest(*arguments)
    else:
        done = project.pytest(*arguments, before=before)
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert done.stderr == ""
    (line,) = said(done)
    assert line.startswith("hardwon: nothing was recorded: ")
