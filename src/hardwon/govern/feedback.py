"""What a test that passes again, and a commit, may vouch for.

A pass proves that a test passes, not that everything written since it failed was right. So it vouches for little: attempts that
say of themselves that they worked, that were recorded here between the last failing run and the run that passed, on the same
branch, and that have to do with the failure: they carry its hash, name the test, or are about a file of its traceback. The last
is the weakest link and counts only while the test's own file is what it was: a test that was rewritten is another test.

A test's result is a record that a test run wrote. Anybody can write one that looks like it, so it is told by an event on it
that nothing else writes: the plugin (`PYTEST`) gives it the status it has already (`MARK_STATUS`), when it is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.govern.lifecycle import not_undone
from hardwon.govern.redaction import redact
from hardwon.model import SOLVED_FROM, AnyRecord, Event, Experience, Fact, Fix, Record, Status, Trajectory

PYTEST: Final = "pytest"
"""The author, and the tag, of what the pytest plugin records."""

MARK_STATUS: Final[Status] = "hypothesis"
"""The status that the event gives which tells a result from what looks like one. No call of the memory sets this status: others
verify, publish and archive."""

_HASH_BYTES: Final = 8
_NAMED_FROM_CHARS: Final = 6  # a shorter function name (`test_a`) is said without being meant
_PARAMETERS: Final = re.compile(r"\[.*$", re.DOTALL)


def name_of_test(node_id: str) -> str:
    """A test's node id as records can hold it: one printable line, short, without secrets, and else still different from that
    of any other test."""
    node_id = redact(node_id)[0]  # before it is cut: half a secret would not be recognised
    if len(node_id) <= limits.TEST_NAME_CHARS_MAX and node_id.isprintable():
        return node_id
    printable = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in node_id)
    if len(printable) <= limits.TEST_NAME_CHARS_MAX:
        return printable
    mark = blake2b(node_id.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
    return f"{printable[: limits.TEST_NAME_CHARS_MAX - 2 * _HASH_BYTES - 1]}~{mark}"


def verification_id(test: str, state: str) -> str:
    """Which test vouched, at which commit (or in which run)."""
    return f"{test}@{state}"[: limits.NAME_CHARS_MAX]


def vouching_test(verification: str | None) -> str:
    return (verification or "").rpartition("@")[0]


class Result(NamedTuple):
    """How a test stood when it last ran: `failure` is the hash of how it failed, empty where it passed or is `gone`: its file
    no longer has it. `files` are those that it is about, with their SHA-1."""

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
        return next((path for path in self.files if path == self.file or path.endswith(f"/{self.file}")), None)

    def same_test_as(self, other: Result) -> bool:
        """Whether the test's own file is known and said the same at both times."""
        own = self.own_file
        return own is not None and self.files[own] == other.files.get(own)


def result_of(record: Record) -> Result | None:
    """The result that a record of the plugin tells; None for any other record. Whether the plugin wrote it, its events tell."""
    source = record.metadata.source
    if not isinstance(record, Fact) or (source.author, source.type) != (PYTEST, "test_result"):
        return None
    if PYTEST not in record.metadata.tags or not record.entities.functions:
        return None
    files = {file.path: file.hash for file in record.metadata.context.related_files}
    failure = record.metadata.validation.failure_hash or ""
    failed = record.fact_type == "error"  # a pass carries the hash of what it ended; a test that is gone ended nothing
    return Result(
        record.entities.functions[0], record.at_us, failure if failed else "", files, record.id, gone=not failed and not failure
    )


def newest_results(records: Iterable[Record]) -> dict[str, Result]:
    """How each test stands, from its records, the newest first."""
    found: dict[str, Result] = {}
    for record in records:
        result = result_of(record)
        if result:
            found.setdefault(result.test, result)
    return found


class Said(NamedTuple):
    """A record, its text, and the failures it knows of, by their hashes."""

    record: AnyRecord
    text: str
    failures: Collection[str]


def claims_to_work(record: Record) -> bool:
    """Whether the record is an attempt, or what was learned from one, that does not itself say it failed."""
    if record.metadata.source.author == PYTEST:  # a run of tests tells results, whoever says that it tried something
        return False
    if isinstance(record, Experience):
        return record.outcome in ("success", "learning") and not record.unrouted
    if isinstance(record, Fact):
        return record.fact_type in ("solution", "decision")
    if isinstance(record, Trajectory):
        return record.final_reward >= SOLVED_FROM
    return isinstance(record, Fix) and record.fix_success


def link(said: Said, result: Result, *, by_file: bool = True) -> int:
    """How strongly a record has to do with a test's failure: by its hash, by a file of the traceback (`by_file`: that is link
    enough), by the test's name, which anybody can say of anything; 0 not at all."""
    if result.failure and result.failure in said.failures:
        return 3
    if by_file and any(file.path in result.files for file in said.record.metadata.context.related_files):
        return 2
    return int(names_test(said.text, result.test))


def foremost(linked: Iterable[tuple[int, Said]]) -> Iterator[Said]:
    """Of each author the record that is linked most strongly, of those the oldest; in that order. Who claims much gets in no
    more often than who claims once, and not before who claimed first."""
    authors: set[str] = set()
    for _, said in sorted(linked, key=lambda each: (-each[0], each[1].record.at_us, each[1].record.id)):
        author = said.record.metadata.source.author
        if author not in authors:
            authors.add(author)
            yield said


def names_test(text: str, test: str) -> bool:
    """By its node id, with or without its parameters, or by its function's name as a whole word."""
    bare = _PARAMETERS.sub("", test)
    if "::" not in bare:
        return bool(bare) and bare in text
    function = bare.rpartition("::")[2]
    if bare in text:
        return True
    return len(function) > _NAMED_FROM_CHARS and _has_word(text, function)


def _has_word(text: str, word: str) -> bool:
    """Many texts are asked for many words: to compile a pattern for each would take longer than to look."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not _is_in_word(text[at - 1 : at]) and not _is_in_word(text[end : end + 1]):
            return True
        at = text.find(word, end)
    return False


def _is_in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def is_attempt_between(record: Record, failed_us: int, ran_us: int, branch: str) -> bool:
    """Whether it was recorded after the failure and before the run that passed, not too long ago and on the same branch."""
    first_us = max(failed_us + 1, ran_us - limits.ATTEMPT_DAYS_MAX * limits.DAY_US)
    there = record.metadata.context.git_branch
    return first_us <= record.at_us <= ran_us and (not there or not branch or there == branch)


def came_from_elsewhere(events: Iterable[Event]) -> bool:
    """What a file brought was not tried here, whenever it says it was."""
    return any(event.kind == "imported" for event in events)


def tests_behind(events: Iterable[Event], since_us: int) -> set[str]:
    """The tests that vouched for a record after a time, in runs that were recorded: whoever calls `verify` names itself."""
    return {
        vouching_test(event.verification_id)
        for event in not_undone(events)
        if event.kind == "status"
        and event.status == "verified"
        and event.by == PYTEST
        and event.verified_by == "test_runner"
        and event.at_us > since_us
    } - {""}


def may_publish(said: Said, tests: Collection[str], results: Mapping[str, Result]) -> bool:
    """Whether every test that vouched for the record passed when it last ran, and no test that it has to do with fails."""
    if not tests or any(test not in results or results[test].failure or results[test].gone for test in tests):
        return False
    return not any(result.failure and link(said, result) for result in results.values())
