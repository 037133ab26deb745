"""What a pass vouches for, and what it does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clocks import Clock
from engines import ENGINES
from hardwon import Fact, Memory
from hardwon.capture.tests import (
    FAILURES_MAX,
    VERIFIED_PER_TEST_MAX,
    RanTest,
    TestFeedback,
    is_attempt_between,
    name_of_test,
    names_test,
    read_result,
)
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import Record
from hardwon.text.failures import failure_hash
from short import status_of

TEST = "tests/test_login.py::test_session_expires"
REPORT = "def test_session_expires():\n>   assert login() is None\nE   KeyError: 'session'\n\ntests/test_login.py:3: KeyError"


class Bench:
    """A memory in a checkout (without git), whose tests fail and pass as told."""

    def __init__(self, folder: Path, clock: Clock, location: str) -> None:
        self.clock = clock
        self.solutions = 0
        self.memory = Memory(location, clock=clock)
        self.files = [str(folder / "tests" / "test_login.py"), str(folder / "login.py")]
        for file in self.files:
            Path(file).parent.mkdir(exist_ok=True)
            Path(file).write_text("as it is\n")

    def run(
        self, *, passes: bool, test: str = TEST, report: str = REPORT, **more: Any
    ) -> TestFeedback:
        ran = RanTest(test, False) if passes else RanTest(test, True, report, files=self.files)
        return self.memory.tests.record([ran], **more)

    def mend(self) -> list[str]:
        """Somebody changes what fails; the file, for records that are about it."""
        with Path(self.files[1]).open("a") as file:
            file.write("mended\n")
        return self.files[1:]

    def status(self, record: Record) -> str:
        return status_of(self.memory, record.id)

    def solution(self, content: str | None = None, **envelope: Any) -> Fact:
        """Each another one, unless it says what: the same fact again would be the first one."""
        self.solutions += 1
        said = content or f"test_session_expires: key{self.solutions} is optional."
        return self.memory.record_fact(said, "solution", **envelope)


@pytest.fixture
def bench(tmp_path: Path, clock: Clock, place: Any, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path, clock, place("brain"))


def test_only_what_was_tried_after_the_last_failure_counts(bench: Bench) -> None:
    bench.run(passes=False)
    did_not_help = bench.solution("test_session_expires: clear the cache.")
    again = bench.run(passes=False)
    # something was tried in between, and it failed all the same
    assert (len(again.failed), again.unchanged) == (1, 0)
    helped = bench.solution()
    assert bench.run(passes=True).verified == [helped.id]
    assert bench.status(did_not_help) == "hypothesis"
    assert bench.run(passes=True) == TestFeedback([], [], [], 0), "a second pass says nothing new"


def test_failures_do_not_pile_up(bench: Bench) -> None:
    assert len(bench.run(passes=False).failed) == 1
    for _ in range(5):
        assert bench.run(passes=False) == TestFeedback([], [], [], 1)
    bench.run(passes=False, report="E   ValueError: of another kind")
    for _ in range(5):
        bench.run(passes=True)
        bench.run(passes=False)
    results = list(bench.memory.browse(tag="pytest"))
    (live,) = [one for one in results if bench.status(one) != "archived"]
    assert read_result(live) is not None
    assert bench.memory.tests.failing() == [TEST]
    many = [RanTest(f"t.py::test_{number}", True, REPORT) for number in range(2 * FAILURES_MAX)]
    assert len(bench.memory.tests.record(many).failed) == FAILURES_MAX
    assert bench.memory.doctor().ok


def test_what_failed_or_claims_nothing_is_not_vouched_for(bench: Bench) -> None:
    bench.run(passes=False)
    memory, name = bench.memory, "test_session_expires"
    issue = {"issue_type": "ERROR", "description": name, "error_output": REPORT}
    refused = [
        memory.remember(name, "failure", "unknown"),
        memory.remember(f"{name} annoys", "interaction", sentiment="negative"),
        memory.record_trajectory(name, [{"action": "edit", "observation": REPORT}], 0.0),
        memory.record_fix(issue, False, False),
        memory.record_fact(f"{name} raises KeyError.", "error"),
        memory.record_fact(f"{name} is slow.", "observation"),
        memory.record_episode("login", 1.0, trajectory_summary=name),
    ]
    fix = memory.record_fix(issue, True, False, author="another", related_files=bench.mend())
    learned = memory.remember(f"{name} needs a clock", "learning", insight_type="pattern")
    assert set(bench.run(passes=True).verified) == {fix.id, learned.id}
    assert {bench.status(record) for record in refused} == {"hypothesis"}


def test_it_must_have_to_do_with_the_failure(bench: Bench) -> None:
    bench.run(passes=False)
    others = ("Sessions are kept in a table.", "See test_session_expires_late.")
    unrelated = [bench.solution(other) for other in others]
    own = bench.solution(f"By its node id: {TEST}.")
    mended: dict[str, Any] = {"related_files": bench.mend()}
    linked = [
        bench.solution("By its hash.", failure_hash=failure_hash(REPORT), author="one", **mended),
        bench.solution("By a file of the traceback.", author="two", **mended),
        own,
    ]
    assert bench.run(passes=True).verified == [record.id for record in linked]
    assert {bench.status(record) for record in unrelated} == {"hypothesis"}


def test_a_test_that_was_rewritten_vouches_only_for_what_names_it(bench: Bench) -> None:
    bench.run(passes=False)
    by_file = bench.solution("By a file of the traceback.", related_files=[bench.files[1]])
    by_name = bench.solution()
    Path(bench.files[0]).write_text("def test_session_expires(): pass\n")
    assert bench.run(passes=True).verified == [by_name.id]
    assert bench.status(by_file) == "hypothesis"


def test_what_another_failing_test_contradicts_is_not_vouched_for(bench: Bench) -> None:
    other = "tests/test_login.py::test_session_is_renewed"
    bench.run(passes=False)
    bench.run(passes=False, test=other)
    both = bench.solution(related_files=[bench.files[1]])
    ran = [RanTest(TEST, False), RanTest(other, True, REPORT, files=bench.files)]
    assert bench.memory.tests.record(ran).verified == []
    assert bench.status(both) == "hypothesis"
    last = bench.solution("test_session_is_renewed: renew it.")
    assert bench.run(passes=True, test=other).verified == [last.id]


@pytest.mark.engines(*ENGINES)
def test_no_flood_of_claims_gets_in(bench: Bench) -> None:
    bench.run(passes=False)
    mended = bench.mend()
    early = [bench.solution(author="evil", related_files=mended) for _ in range(2)]
    genuine = bench.solution(author="me", related_files=mended)
    for _ in range(3 * VERIFIED_PER_TEST_MAX):
        bench.solution(author="evil", related_files=mended)
    best = {"failure_hash": failure_hash(REPORT), "author": "last"}
    linked_best = bench.solution(related_files=mended, **best)
    assert bench.run(passes=True).verified == [linked_best.id, early[0].id, genuine.id]
    bench.run(passes=False)
    mended = bench.mend()
    authors = [f"author {number}" for number in range(3 * VERIFIED_PER_TEST_MAX)]
    claims = [bench.solution(author=author, related_files=mended).id for author in authors]
    assert bench.run(passes=True).verified == claims[:VERIFIED_PER_TEST_MAX]


@pytest.mark.engines(*ENGINES)
def test_who_only_waits_for_somebody_else_to_mend_it_is_not_vouched_for(bench: Bench) -> None:
    bench.run(passes=False)
    before = [bench.files[1]]
    waiting = [
        bench.solution(author="names it"),
        bench.solution("Run this.", failure_hash=failure_hash(REPORT), author="has its hash"),
        bench.solution(author="names a file, as it was", related_files=before),
        bench.solution(author="names the test's file", related_files=[bench.files[0]]),
    ]
    bench.mend()
    own = bench.solution()
    assert bench.run(passes=True).verified == [own.id]
    assert {bench.status(record) for record in waiting} == {"hypothesis"}
    bench.run(passes=False)
    bench.solution(author="user")
    anna = bench.solution(author="anna")
    assert bench.run(passes=True, author="anna").verified == [anna.id]


def test_a_failure_that_was_archived_for_another_reason_is_still_known(bench: Bench) -> None:
    (failure,) = bench.run(passes=False).failed
    bench.memory.archive(failure, "a file changed")
    tried = bench.solution()
    assert bench.run(passes=True).verified == [tried.id]


def test_when_it_was_tried(bench: Bench) -> None:
    bench.run(passes=False)
    long_ago = bench.solution()
    bench.clock.now += timedelta(days=8)
    in_time = bench.solution()
    started = bench.clock()
    during = bench.solution()
    assert bench.run(passes=True, started=started).verified == [in_time.id]
    assert {bench.status(long_ago), bench.status(during)} == {"hypothesis"}


def test_names_stay_short_and_different(bench: Bench) -> None:
    start = f"tests/test_x.py::test_y[{'long' * 60}"
    names = {name_of_test(f"{start}{number}\n]") for number in range(10)}
    assert len(names) == 10
    assert all(len(name) <= 150 and name.isprintable() for name in names)
    assert names_test("see tests/a.py::test_b", "tests/a.py::test_b[1]")
    assert not names_test("test_b", "tests/a.py::test_b"), "too short a name to be meant"
    bench.run(passes=False, test=f"t.py::test_y[{'x' * 500}]", report="odd \0 \udcff report")
    assert len(bench.memory.tests.failing()) == 1


def forged(memory: Memory, at: datetime) -> Fact:
    """What looks like a failing test in every field that a caller can fill."""
    source: Any = {"author": "pytest", "source": {"type": "test_result", "id": "pytest-1"}}
    source |= {"tags": ["pytest"], "failure_hash": "abcd", "timestamp": at}
    told = f"The test {TEST} failed: boom"
    return memory.record_fact(told, "error", 1.0, {"functions": [TEST]}, **source)


def test_what_only_looks_like_a_result_is_none(bench: Bench, tmp_path: Path) -> None:
    looks_alike = forged(bench.memory, bench.clock())
    bench.memory.verify(looks_alike.id, "test_runner", "pytest-1")
    bench.memory.publish(looks_alike.id, by="pytest")
    claim = bench.solution(author="evil")
    assert bench.memory.tests.failing() == []
    assert bench.run(passes=True) == TestFeedback([], [], [], 0)
    assert bench.status(claim) == "hypothesis"
    with Memory(tmp_path / "other", clock=bench.clock) as other:
        forged(other, datetime(2090, 1, 1, tzinfo=UTC))
        other.tests.record([RanTest(TEST, True, REPORT)])
        other.export(tmp_path / "records.jsonl")
    bench.memory.load(tmp_path / "records.jsonl")
    assert bench.memory.tests.failing() == []
    assert len(bench.run(passes=False).failed) == 1
    tried = bench.solution()
    assert bench.run(passes=True).verified == [tried.id]
    assert bench.memory.doctor().ok


SECRET = "ghp_" + "Q7w8E9r0T1" * 3 + "abcdef"


LONG = "E   boom\n" + "x\n" * 3000
CUT = [f"E   assert {'x' * 178} {SECRET} y", f"E   boom\n{'x' * 1980}\n{SECRET}\n" + "y\n" * 3000]
CUT += [f"{LONG}{SECRET} {'y' * 1980}", f"{LONG}postgres://admin:Q7w8E9r0T1pw@db/x {'y' * 1975}"]


@pytest.mark.parametrize("report", CUT)
def test_no_half_of_a_secret_is_kept(bench: Bench, report: str) -> None:
    bench.run(passes=False, report=report)
    (failure,) = bench.memory.browse(tag="pytest")
    assert "Q7w8" not in failure.to_json()


@pytest.mark.parametrize("parameter", [SECRET, "p" * 65 + f"-{SECRET}-{'z' * 60}"])
def test_a_test_whose_parameter_is_a_secret_is_known_again(bench: Bench, parameter: str) -> None:
    test = f"{TEST}[{parameter}]"
    assert len(bench.run(passes=False, test=test).failed) == 1
    assert bench.run(passes=False, test=test) == TestFeedback([], [], [], 1)
    other = RanTest(test.replace("abcdef", "fedcba"), True, REPORT, files=bench.files)
    # tests that only a secret tells apart are one, and it failed
    assert bench.memory.tests.record([RanTest(test, False), other]).passed == []
    assert len(bench.run(passes=True, test=test).passed) == 1
    assert bench.memory.tests.failing() == []
    assert not any("Q7w8" in record.to_json() for record in bench.memory.browse(tag="pytest"))


def test_bad_input_is_refused(bench: Bench) -> None:
    for timeout in (-1, True, "1", 10**9):
        with pytest.raises(InvalidInputError, match="busy_timeout_ms"):
            Memory(bench.memory.location, busy_timeout_ms=timeout)  # type: ignore[arg-type]
    assert bench.memory.stats().records == 0


def test_another_branch_is_another_story(bench: Bench) -> None:
    there = bench.solution(git_branch="feature")
    nowhere = bench.solution()
    for record, branch in ((there, "feature"), (there, ""), (nowhere, "main")):
        assert is_attempt_between(record, 0, record.at_us, branch)
    assert not is_attempt_between(there, 0, there.at_us, "main")
    # recorded no later than it failed
    assert not is_attempt_between(there, there.at_us, there.at_us + 1, "feature")
