"""What test runs and commits say about what was recorded, without anybody having to report it.

A test that fails becomes a fact with its failure hash; when it passes again, that is a fact too,
which takes the other's place, and what was tried in between is verified. So of each test that ever
failed recall knows how it stands now, once. A commit publishes what was verified on the way to it.

A pass proves that a test passes, not that everything written since it failed was right. So it
vouches for little: attempts that say of themselves that they worked, that were recorded here
between the last failing run and the run that passed, on the same branch, and that have to do with
the failure: they carry its hash, name the test, or are about a file of its traceback. The last is
the weakest link and counts only while the test's own file is what it was: a test that was rewritten
is another test.

Anybody can name a test, or know its hash or what its files will say, and wait for somebody else to
mend it. So an attempt must have been recorded in this very checkout since the test failed, which no
record tells of itself (`memory.here`): not through a server, and neither loaded nor merged. And it
must be by whoever ran the tests, and about a file of the traceback or one that changed since the
failure, if it is about any; or, whoever says it, about a file that changed, with the content that
the tests passed with.

A test's result is a record that a test run wrote. Anybody can write one that looks like it, so it
is recognised by an event on it that nothing else writes: the plugin (`PYTEST`) gives it the status
it has already (`MARK_STATUS`), when it is recorded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.lessons.tallies import list_keys
from hardwon.memory import Memory
from hardwon.memory.places import Settings, memory_exists
from hardwon.memory.project import Change, Group, Project
from hardwon.memory.record import make_metadata
from hardwon.outside.files import repository_root
from hardwon.outside.git import Commit, signature_at
from hardwon.records.fields import (
    TIME_US_MAX,
    check_all,
    check_items,
    check_that,
    check_time,
    from_us,
    new_id,
    to_us,
)
from hardwon.records.kinds import (
    AnyRecord,
    Entities,
    Event,
    Experience,
    Fact,
    FactType,
    Fix,
    Record,
    Source,
    Status,
    Trajectory,
)
from hardwon.search.terms import Filters
from hardwon.store.base import Store, Writer
from hardwon.store.query import read_current, readable
from hardwon.text.failures import error_core, failure_hash
from hardwon.text.terms import say_count, searchable_text
from hardwon.trust.lifecycle import not_undone
from hardwon.trust.redact import redact

PYTEST: Final = "pytest"  # the author, and the tag, of what the pytest plugin records
# The status that the event gives which tells a result from what looks like one. No call of the
# memory sets this status: others verify, publish and archive.
MARK_STATUS: Final[Status] = "hypothesis"
_MARKED: Final = "told by a test run"
_GONE: Final = (
    "The test {} is gone: its file no longer has it. The test had failed when it last ran."
)
_FAILURE_KEY: Final = "failure:"
_HASH_BYTES: Final = 8

# With the commit that it ran at, the name of a test fits NAME_CHARS_MAX.
_NAME_CHARS_MAX: Final = 150
# Of a failing test's report, its beginning and its end: a screen of each.
_REPORT_CHARS_MAX: Final = 4_000
# Failing tests of one run that are recorded. When more fail at once, one cause breaks them all.
FAILURES_MAX: Final = 200
# Tests that ever failed and whose standing is read, those that ran last.
REMEMBERED_MAX: Final = 2_000
# What was recorded longer before a pass hardly led to it.
_ATTEMPT_DAYS_MAX: Final = 7
# Records that one pass vouches for, one of each author: who floods the memory gets no more than these.
VERIFIED_PER_TEST_MAX: Final = 5
# Records that one run vouches for, or one commit publishes.
_VERIFIED_PER_RUN_MAX: Final = 50
# Records that a test looks through for what it is about, the newest.
_RECENT_RECORDS_MAX: Final = 500
# Files of one failure that are named: a test's own and the last ones of its traceback. Deeper frames
# are a framework's, not the cause.
_FILES_NAMED_MAX: Final = 10
# One that a clock of another year dated would hide all that come after it.
_AHEAD_US_MAX: Final = 3_600_000_000


def name_of_test(node_id: str) -> str:
    """A test's node id as records can hold it: one printable line, short, without secrets, and else
    still different from that of any other test.
    """
    node_id = redact(node_id)[0]  # before it is cut: half a secret would not be recognised
    printable = node_id
    if not node_id.isprintable():
        printable = "".join(
            sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in node_id
        )
    if len(printable) <= _NAME_CHARS_MAX:
        return printable
    mark = blake2b(node_id.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
    return f"{printable[: _NAME_CHARS_MAX - 2 * _HASH_BYTES - 1]}~{mark}"


class Result(NamedTuple):
    """How a test stood when it last ran: `failure` is the hash of how it failed, empty where it
    passed or is `gone`: its file no longer has it. `files` are those that it is about, with their
    SHA-1.
    """

    test: str
    at_us: int
    failure: str
    files: Mapping[str, str]
    record_id: str = ""
    gone: bool = False

    @property
    def file(self) -> str:
        """The file that the test is in, as its name says."""
        return self.test.partition("::")[0]

    @property
    def own_file(self) -> str | None:
        """The file that the test is in, as the record names it; None where it is not known."""
        return next(
            (path for path in self.files if path == self.file or path.endswith(f"/{self.file}")),
            None,
        )

    def same_test_as(self, other: Result) -> bool:
        """Whether the test's own file is known and said the same at both times."""
        own = self.own_file
        return own is not None and self.files[own] == other.files.get(own)


def read_result(record: Record) -> Result | None:
    """The result that a record of the plugin tells; None for any other record. Whether the plugin
    wrote it, its events tell.
    """
    source = record.metadata.source
    if (
        not isinstance(record, Fact)
        or (source.author, source.type) != (PYTEST, "test_result")
        or PYTEST not in record.metadata.tags
        or not record.entities.functions
    ):
        return None
    files = {file.path: file.hash for file in record.metadata.context.related_files}
    failure = record.metadata.validation.failure_hash or ""
    # a pass carries the hash of what it ended; a test that is gone ended nothing
    failed = record.fact_type == "error"
    return Result(
        record.entities.functions[0],
        record.at_us,
        failure if failed else "",
        files,
        record.id,
        gone=not failed and not failure,
    )


class Claim(NamedTuple):
    """A record, its text, and the failures it knows of, by their hashes."""

    record: AnyRecord
    text: str
    failures: Collection[str]


def claims_to_work(record: Record) -> bool:
    """Whether the record is an attempt, or what was learned from one, that does not itself say it
    failed.
    """
    # a run of tests tells results, whoever says that it tried something
    if record.metadata.source.author == PYTEST:
        return False
    match record:
        case Experience():
            return record.outcome in ("success", "learning") and not record.unrouted
        case Fact():
            return record.fact_type in ("solution", "decision")
        case Trajectory():
            return record.turned_out_well is True
    return isinstance(record, Fix) and record.fix_success


def link(claim: Claim, result: Result, *, by_file: bool = True) -> int:
    """How strongly a record has to do with a test's failure: by its hash, by a file of the
    traceback (`by_file`: that is link enough), by the test's name, which anybody can say of
    anything; 0 not at all.
    """
    if result.failure and result.failure in claim.failures:
        return 3
    if by_file and any(
        file.path in result.files for file in claim.record.metadata.context.related_files
    ):
        return 2
    return int(names_test(claim.text, result.test))


def names_test(text: str, test: str) -> bool:
    """By its node id, with or without its parameters, or by its function's name as a whole word."""
    bare = re.sub(r"\[.*$", "", test, flags=re.DOTALL)
    function = bare.rpartition("::")[2]
    if "::" not in bare or bare in text:
        return bool(bare) and bare in text
    # A short function name (`test_a`) is said without being meant. Many texts are asked for many
    # words, and to compile a pattern takes longer than to look.
    return (
        len(function) > 6
        and function in text
        and re.search(rf"(?<!\w){re.escape(function)}(?!\w)", text) is not None
    )


def is_attempt_between(record: Record, failed_us: int, ran_us: int, branch: str) -> bool:
    """Whether it was recorded after the failure and before the run that passed, not too long ago
    and on the same branch.
    """
    first_us = max(failed_us + 1, ran_us - _ATTEMPT_DAYS_MAX * limits.DAY_US)
    there = record.metadata.context.git_branch
    return first_us <= record.at_us <= ran_us and (not there or not branch or there == branch)


def tests_behind(events: Iterable[Event]) -> set[str]:
    """The tests that vouched for a record in runs that were recorded: whoever calls `verify` names
    itself.
    """
    return {
        (event.verification_id or "").rpartition("@")[0]
        for event in not_undone(events)
        if (event.status, event.by, event.verified_by) == ("verified", PYTEST, "test_runner")
    } - {""}


def may_publish(claim: Claim, tests: Collection[str], results: Mapping[str, Result]) -> bool:
    """Whether every test that vouched for the record passed when it last ran, and no test that it
    has to do with fails.
    """
    stand = [results.get(test) for test in tests]
    return (
        bool(stand)
        and all(result and not result.failure and not result.gone for result in stand)
        and not any(result.failure and link(claim, result) for result in results.values())
    )


@dataclass(frozen=True)
class RanTest:
    """A test that ran: its node id, whether it failed, what its report says, where it failed (call,
    setup, teardown or collection), and the files it is about, its own first.
    """

    node_id: str
    failed: bool
    report: str = ""
    where: str = "call"
    files: Sequence[str | Path] = ()


@dataclass(frozen=True)
class TestFeedback:
    """What a test run changed: ids of new facts on tests that fail, and on tests that pass again,
    and of records that the latter verify. `unchanged`: tests that fail as they did before.
    `gone`: ids of new facts on tests that no longer are.
    """

    __test__ = False  # pytest would take it for a test where it is imported

    failed: list[str]
    passed: list[str]
    verified: list[str]
    unchanged: int
    gone: list[str] = field(default_factory=list)


class _Plan(NamedTuple):
    """What there is to do: tests that fail and tests that pass again, each with how it stood
    before.
    """

    failing: list[tuple[RanTest, str, Result | None]]  # with the hash of the failure
    passing: list[tuple[RanTest, Result]]
    still: list[Result]  # of tests that fail as they did before
    gone: list[Result]


class _TestRun:
    """A run of tests, and the project that it is told to."""

    def __init__(
        self,
        project: Project,
        run_id: str | None,
        task: str | None,
        started: datetime | None,
        author: str | None,
    ) -> None:
        self._project, self._task, self._at = project, task, project.now()
        self._author = Source().author if author is None else Source(author=author).author
        self._id = new_id(self._at) if run_id is None else run_id
        self._started, self._head = started or self._at, project.head

    def record(self, ran: Sequence[RanTest]) -> TestFeedback:
        """Nothing is written, and nobody waits, where nothing changed."""
        # Two whose names differ by a secret alone are one.
        first = {name_of_test(test.node_id): test for test in reversed(ran) if test.failed}
        failed = {
            name: (first[name], failure_hash(_sound(first[name].report)))
            for name in islice(reversed(first), FAILURES_MAX)
        }
        passed = [test for test in ran if not test.failed]
        plan = self._plan(failed, passed)
        here = self._project.recorded_here
        if here and (plan.failing or plan.still):
            here.begin()
        if not plan.failing and not plan.passing and not plan.gone:
            return TestFeedback([], [], [], len(plan.still))
        # planned again: others may have written in between
        done = self._project.carry_out(
            lambda change: self._write(change, self._plan(failed, passed))
        )
        if here and not failing_tests(self._project):
            here.end()
        return done

    def _plan(self, failed: Mapping[str, tuple[RanTest, str]], passed: Sequence[RanTest]) -> _Plan:
        known = results(self._project.store, self._project.name, self._at)
        # what claims to be of the future was not
        newest_us = self._project.store.newest_of_others(
            self._project.name, PYTEST, to_us(self._at)
        )
        failing, still = [], []
        for name, (test, failure) in failed.items():
            before = known.get(name)
            # The same failure again is worth a word only if something was tried since: what was
            # tried by then did not help.
            if before is None or before.failure != failure or newest_us > before.at_us:
                failing.append((test, failure, before))
            else:
                still.append(before)
        open_ = {
            name: result for name, result in known.items() if result.failure and name not in failed
        }
        passing = [
            (test, stood)
            for test in (passed if open_ else ())  # names are made only where one may be told of
            if (stood := open_.pop(name_of_test(test.node_id), None))
        ]
        gone = [result for result in open_.values() if _is_gone(self._project.root, result)]
        return _Plan(failing, passing, still, gone[:FAILURES_MAX])

    def _write(self, change: Change, plan: _Plan) -> TestFeedback:
        """The facts, marked as results, each in place of the one before it."""
        failed = [(self._failure_fact(*result), result[-1]) for result in plan.failing]
        failing = [*plan.still, *(result for fact, _ in failed if (result := read_result(fact)))]
        attempts = self._attempts(plan.passing) if plan.passing else []
        passed = [(self._pass_fact(*result), result[-1]) for result in plan.passing]
        verified: list[str] = []
        for fact, before in passed:
            vouched = self._vouch(change.writer, attempts, before, fact, failing)
            run = f"{before.test}@{self._head.commit or self._id}"[: limits.NAME_CHARS_MAX]
            how: dict[str, Any] = {"verified_by": "test_runner", "verification_id": run}
            for record_id in vouched[: _VERIFIED_PER_RUN_MAX - len(verified)]:
                verified.append(record_id)
                change.happen(record_id, "status", PYTEST, status="verified", **how)
        gone = [
            (self._fact(test.test, _GONE.format(test.test), "observation", None, test), test)
            for test in plan.gone
        ]
        became: Mapping[str, Sequence[tuple[Fact, Result | None]]] = {
            "failed again": failed,
            "passes again": passed,
            "is gone": gone,
        }
        change.append([fact for facts in became.values() for fact, _ in facts])
        for how_told, facts in became.items():
            for fact, stood in facts:
                mark = change.event(fact.id, "status", PYTEST, status=MARK_STATUS, reason=_MARKED)
                change.writer.add_events(self._project.name, [mark])
                if stood:
                    reason = f"the test {how_told}"
                    new: dict[str, Any] = {"replaced_by": fact.id, "reason": reason}
                    change.happen(stood.record_id, "superseded", PYTEST, **new)
        change.follow()
        ids = [[fact.id for fact, _ in facts] for facts in became.values()]
        return TestFeedback(ids[0], ids[1], verified, len(plan.still), ids[2])

    def _attempts(self, passing: Sequence[tuple[RanTest, Result]]) -> list[Claim]:
        """What may have led to any of the passes; never what came from a source that was rolled
        back. Where the tests are such a source, their passes say nothing.
        """
        here = self._project.recorded_here
        noted = here.ids() if here else set[str]()
        if not noted or PYTEST in self._project.store.rolled_back(self._project.name):
            return []
        started_us = to_us(self._started)
        oldest_us = started_us - _ATTEMPT_DAYS_MAX * limits.DAY_US
        since = from_us(max(0, oldest_us, min(before.at_us for _, before in passing)))
        asked = Filters(status="hypothesis", since=since, until=from_us(started_us + 1))
        return _newest(
            self._project, asked, lambda record: record.id in noted and claims_to_work(record)
        )

    def _vouch(
        self,
        writer: Writer,
        attempts: Sequence[Claim],
        before: Result,
        fact: Fact,
        failing: Sequence[Result],
    ) -> list[str]:
        """What this pass vouches for: never what has to do with a test that fails in the same run.
        Of each author the record that is linked most strongly, of those the oldest, in that order:
        who claims much gets in no more often than who claims once, and not before who claimed
        first.
        """
        now = read_result(fact)
        same = now is not None and before.same_test_as(now)
        linked = [
            (strength, claim)
            for claim in attempts
            if is_attempt_between(
                claim.record, before.at_us, to_us(self._started), self._head.branch
            )
            and (strength := link(claim, before, by_file=same))
            and self._is_of_this_checkout(claim.record, before, now.files if now else {})
            and not any(link(claim, other) for other in failing)
            and _is_open(writer, self._project.name, claim.record.id, "hypothesis")
        ]
        linked.sort(key=lambda claim: (-claim[0], claim[1].record.at_us, claim[1].record.id))
        foremost: dict[str, str] = {}
        for _, claim in linked:
            foremost.setdefault(claim.record.said_by, claim.record.id)
        return [*foremost.values()][:VERIFIED_PER_TEST_MAX]

    def _is_of_this_checkout(self, record: Record, before: Result, now: Mapping[str, str]) -> bool:
        """By who ran the tests, and about what they touch or what changed since the failure; or
        about what changed, as it is now.
        """
        own = record.said_by == self._author
        about, checkout = record.metadata.context.related_files, self._project.checkout
        for file in about:
            here, failed_with = now.get(file.path), before.files.get(file.path)
            changed = here != failed_with
            if failed_with is None and checkout:
                here = checkout.sha1(file.path, limits.FILE_HASH_BYTES_MAX)
                stamp = signature_at(checkout.repository.root / file.path)
                changed = stamp is not None and stamp[2] // 1000 > before.at_us
            if (own and (changed or failed_with)) or (changed and here == file.hash):
                return True
        return own and (not about or checkout is None)

    def _failure_fact(self, test: RanTest, failure: str, before: Result | None) -> Fact:
        # before anything is cut off: half a secret would not be recognised
        report = redact(_sound(test.report))[0]
        during = "" if test.where == "call" else f" in {test.where}"
        lines = [line.strip() for line in report.splitlines() if line.strip()]
        # what went wrong, in pytest's own words
        marked = [line[2:].strip() for line in lines if line.startswith("E ")]
        headline = ((marked or lines[-1:] or ["no report"])[0] or error_core(report))[
            : limits.BEGINNING_CHARS
        ]
        content = f"The test {name_of_test(test.node_id)} failed{during}: {headline}"
        half = _REPORT_CHARS_MAX // 2
        if len(report) > _REPORT_CHARS_MAX:
            report = f"{report[:half]}\n…\n{report[-half:]}"
        if report.strip():
            content += f"\n\n{report}"
        return self._fact(test.node_id, content, "error", failure, before, test.files)

    def _pass_fact(self, test: RanTest, before: Result) -> Fact:
        failed_at = f"{from_us(before.at_us):%Y-%m-%d %H:%M} UTC"
        where = f" at commit {self._head.commit[:12]}" if self._head.commit else ""
        content = f"The test {name_of_test(test.node_id)} passes again{where}; the test had failed at {failed_at}."
        return self._fact(test.node_id, content, "observation", before.failure, before, test.files)

    def _fact(
        self,
        node_id: str,
        content: str,
        fact_type: FactType,
        failure: str | None,
        before: Result | None,
        files: Sequence[str | Path] = (),
    ) -> Fact:
        if fact_type == "observation" and before:  # it is still about what it failed in
            root = self._project.root or Path.cwd()
            files = [*files, *(root / path for path in before.files)]
        # A clock that was set back must not make what a test did now count as done before.
        at = max(self._at, from_us(before.at_us + 1)) if before else self._at
        hashable = [
            str(path)
            for path in map(Path, files)
            if path.is_file() and path.stat().st_size <= limits.FILE_HASH_BYTES_MAX
        ]
        envelope = {
            "source": {"type": "test_result", "id": self._id, "author": PYTEST},
            "timestamp": at,
            "tags": [PYTEST, *([f"task:{self._task}"] if self._task else [])],
            "related_files": [file for file in dict.fromkeys(hashable) if file.isprintable()][
                :_FILES_NAMED_MAX
            ],
        } | ({"failure_hash": failure} if failure else {})
        metadata = make_metadata(envelope, at, self._project.root, self._project.place.path)
        fact = Fact(
            id=new_id(at),
            metadata=metadata,
            content=content,
            fact_type=fact_type,
            confidence=1.0,
            entities=Entities(
                files=[file.path for file in metadata.context.related_files],
                functions=[name_of_test(node_id)],
            ),
        )
        return self._project.prepare(fact, self._head)


def _is_gone(root: Path | None, result: Result) -> bool:
    """Whether the file of a test is not there any more, or names no such function or class."""
    if root is None or "::" not in result.test:
        return False
    name = result.test.split("::")[1].partition("[")[0]
    try:
        return name not in (root / result.file).read_text(errors="replace")
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_open(writer: Writer, project: str, record_id: str, status: Status) -> bool:
    """Whether it was recorded here, and still has this status."""
    stored = writer.get(project, record_id)
    return (
        stored is not None
        and read_current(stored).metadata.validation.status == status
        and not any(event.kind == "imported" for event in writer.list_events(project, record_id))
    )


def _sound(report: str) -> str:
    """As records can hold it."""
    return report.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def _publish(
    change: Change, vouched: Sequence[Claim], commit: Commit, at: datetime, by: str
) -> list[str]:
    writer, project = change.writer, change.project.name
    # a test that failed and was deleted since, with its file, says nothing
    known = {
        name: result
        for name, result in results(change.project.store, project, at).items()
        if not result.failure or result.own_file is None or (commit.root / result.own_file).exists()
    }
    published: list[str] = []
    for claim in vouched[:_VERIFIED_PER_RUN_MAX]:
        record_id = claim.record.id
        tests = tests_behind(writer.list_events(project, record_id))
        # The commit must have what the tests passed with: everything, or something of what they
        # and the record are about.
        about = {file.path for file in claim.record.metadata.context.related_files}.union(
            *(known[test].files for test in tests if test in known)
        )
        if (
            _is_open(writer, project, record_id, "verified")
            and may_publish(claim, tests, known)
            and (commit.is_everything or not about.isdisjoint(commit.changed))
        ):
            change.happen(
                record_id,
                "status",
                by,
                status="published",
                reason=f"commit {commit.id}: {', '.join(sorted(tests))}"[: limits.TEXT_CHARS_MAX],
            )
            published.append(record_id)
    return published


def results(store: Store, project: str, at: datetime) -> dict[str, Result]:
    """How each test that ever failed stands: from what is believed now, and from the newest
    whatever became of it, because a record may have been archived for other reasons than that its
    test ran again. Only what a test run wrote here counts, and nothing that a clock which went
    wrong dated long after `at`.
    """
    asked = Filters(
        kind="fact",
        author=PYTEST,
        tag=PYTEST,
        until=from_us(min(to_us(at) + _AHEAD_US_MAX, TIME_US_MAX)),
    )
    newest = store.list_by_mark(project, asked, PYTEST, MARK_STATUS, FAILURES_MAX)
    if not newest:  # then nothing of them is believed either
        return {}
    failing = store.list_by_mark(
        project, asked.copy_with(status=MARK_STATUS), PYTEST, MARK_STATUS, REMEMBERED_MAX
    )
    known = {record.id for record in failing}
    newest = [record for record in newest if record.id not in known]
    standing: dict[str, Result] = {}
    for record in readable(
        sorted([*failing, *newest], key=lambda record: (record.at_us, record.id), reverse=True)
    ):
        result = read_result(record)
        if result:
            standing.setdefault(result.test, result)
    return standing


def failing_tests(project: Project) -> list[str]:
    """Their names, in order; none where no run with a failure was recorded."""
    known = results(project.store, project.name, project.now())
    return sorted(name for name, result in known.items() if result.failure)


def _newest(project: Project, asked: Filters, is_wanted: Callable[[Record], bool]) -> list[Claim]:
    most = _RECENT_RECORDS_MAX
    return [
        Claim(
            record,
            searchable_text(record),
            {
                key.removeprefix(_FAILURE_KEY)
                for key in list_keys(record)
                if key.startswith(_FAILURE_KEY)
            },
        )
        for record in readable(project.store.page(project.name, asked, None, most, trusted=True))
        if is_wanted(record)
    ]


class Tests(Group):
    """What test runs say: `memory.tests`."""

    __test__ = False

    def record(
        self,
        ran: Iterable[RanTest],
        run_id: str | None = None,
        *,
        task: str | None = None,
        started: datetime | None = None,
        author: str | None = None,
    ) -> TestFeedback:
        """What a test run says: each of `ran` is a `hardwon.capture.tests.RanTest`. A test that
        fails becomes a fact with its failure hash, and one that passes again verifies what was
        tried since it last failed, as far as `docs/run.md` says. `run_id` names the run,
        `task` tags its records, `started` is when it began (now where nobody says), `author` who
        had it run, whose attempts count. One transaction, and none where nothing changed.
        """

        def check_ran() -> list[RanTest]:
            """The tests, which are no others than these."""
            tests = check_items("ran", ran)
            for test in tests:
                check_that(isinstance(test, RanTest), "ran", test, "instances of RanTest")
            return tests

        checked, *_ = check_all(
            check_ran,
            lambda: author is None or Source(author=author),
            lambda: started is None or check_time("started", started),
            task=task,
            run_id=run_id,
        )
        return _TestRun(self._project, run_id, task, started, author).record(checked)

    def publish(self, commit: Commit, by: str | None = None) -> list[str]:
        """Publishes what tests verified on the way to a commit that was just made, recorded on it
        or on the one before, where its tests still pass and the commit holds what it is about;
        returns the ids. Doing it again publishes nothing more. `hardwon.outside.git.last_commit`
        tells the commit.
        """
        project, at = self._project, self._project.now()
        oldest = from_us(max(0, to_us(at) - 2 * _ATTEMPT_DAYS_MAX * limits.DAY_US))
        vouched = _newest(
            project,
            Filters(status="verified", since=oldest),
            lambda record: (
                record.metadata.validation.verified_by == "test_runner"
                and record.metadata.context.git_commit in (commit.id, *commit.before)
            ),
        )
        if not vouched or PYTEST in project.store.rolled_back(project.name):
            return []
        return project.carry_out(
            lambda change: _publish(change, vouched, commit, at, by or "git hook")
        )

    def failing(self) -> list[str]:
        """The tests that failed when they last ran, as far as runs were recorded."""
        return failing_tests(self._project)


# Where a traceback says it has been, in each of pytest's styles.
_PLACES: Final = re.compile(
    r'^(?P<plain>[^\s:][^:\n]*\.pyi?):\d+: |^[ \t]*File "(?P<native>[^"\n]+)", line \d+',
    re.MULTILINE,
)
_NOT_OURS: Final = frozenset({"site-packages", "dist-packages", "node_modules", "__pycache__"})


def record_pytest_run(
    memory: str | None,
    project: str | None,
    folder: str,
    task: str | None,
    root: Path,
    started: float,
    passed: Iterable[str],
    failed: Mapping[str, tuple[str, Any]],
) -> str:
    """What `hardwon_pytest`, which pytest loads, hands over at the end of a run: what to say in the
    summary; empty where there is nothing. `failed` has, by node id, where each test failed and
    pytest's report; `folder` is where pytest was started, `root` what node ids are named from.
    """
    try:
        os.getcwd()  # noqa: PTH109  # a test may have deleted where it was
    except OSError:
        os.chdir(folder)
    # The memory is found from where pytest was started; a test may have gone elsewhere.
    with chdir(folder):
        settings = Settings.read({"memory": memory, "project": project})
        memory, project = settings.memory.value, settings.project.value
        if not failed and not memory_exists(memory):  # a pass alone makes no memory
            return ""
        checkout = (repository_root(Path(folder)) or root).resolve()

        def name_test_here(node_id: str) -> str:
            """From the checkout's root: pytest's own root changes with the arguments of a run."""
            file, separator, rest = node_id.partition("::")
            return f"{_from(checkout, root / file)}{separator}{rest}"

        with Memory(memory, project, busy_timeout_ms=limits.FEEDBACK_WAIT_MS) as opened:
            ran = [RanTest(name_test_here(node_id), False) for node_id in passed]
            # to make a report of each takes its time
            for node_id, (where, report) in islice(failed.items(), FAILURES_MAX):
                name, text = name_test_here(node_id), str(report.longreprtext)
                files = _files(name, text, Path(folder), checkout)
                ran.append(RanTest(name, True, text, where, files))
            done = opened.tests.record(
                ran,
                f"pytest-{new_id()}",
                task=task,
                started=datetime.fromtimestamp(started, UTC),
                # as its hooks sign
                author="claude-code" if "CLAUDECODE" in os.environ else settings.author.value,
            )
    counts = (
        (len(done.failed), "failure", "recorded"),
        (len(failed) - FAILURES_MAX, "failure", "left out"),
        (done.unchanged, "test", "failing as before"),
        (len(done.passed), "test", "passing again"),
        (len(done.gone), "test", "gone"),
        (len(done.verified), "record", "verified"),
    )
    summary = ", ".join(
        f"{say_count(count, noun)} {became}" for count, noun, became in counts if count > 0
    )
    return f"hardwon: {summary}" if summary else ""


@lru_cache(maxsize=REMEMBERED_MAX)
def _from(checkout: Path, path: Path) -> str:
    return Path(os.path.relpath(path, checkout)).as_posix()


def _files(name: str, text: str, folder: Path, inside: Path) -> list[str]:
    """The test's own file, then those of the traceback that belong to the project, the last frames
    first.
    """
    own = inside / name.partition("::")[0]
    seen = [folder / (place["plain"] or place["native"]) for place in _PLACES.finditer(text)]
    # A traceback may say anything: a Path raises where a name is too long, or has a zero in it.
    exist = [path for path in (own, *reversed(seen)) if os.path.isfile(path)]  # noqa: PTH113
    ours = [
        str(path)
        for path in dict.fromkeys(path.resolve() for path in exist)
        if path.is_relative_to(inside)
        and not any(
            part in _NOT_OURS or part.startswith(".") for part in path.relative_to(inside).parts
        )
    ]
    return ours[:_FILES_NAMED_MAX]
