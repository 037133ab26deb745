"""The same failure has the same hash, another failure has another, and only failures are seen as
failures.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import each, examples
from failures_corpus import ALIKE, FAILED, FINE, LOGGED
from hardwon import limits
from hardwon.text.failures import (
    REPORTS,
    error_core,
    exact_message,
    failure_hash,
    shows_error,
)

REPORTED = [(name, report) for name, group in ALIKE.items() for report in group]

# ---- the corpus


def test_the_corpus_is_large_and_has_no_doubles() -> None:
    kinds = Counter(name.partition(":")[0] for name in ALIKE)
    ecosystems = [
        kinds["python"], kinds["pytest"], kinds["node"] + kinds["typescript"] + kinds["npm"] + kinds["jest"], kinds["go"],
        kinds["rust"], kinds["java"], kinds["shell"] + kinds["make"], kinds["postgres"] + kinds["mysql"] + kinds["sqlite"],
    ]  # fmt: skip
    assert all(groups >= 5 for groups in ecosystems)
    assert all(len(set(group)) == len(group) >= 3 for group in ALIKE.values())
    assert len({report for _, report in REPORTED}) == len(REPORTED)
    assert len(set(FAILED)) == len(FAILED) >= 300
    assert len(set(FINE)) == len(FINE) >= 100


@each("group", [*ALIKE.values(), *LOGGED.values()])
def test_one_failure_has_one_hash(group: list[str]) -> None:
    assert len({error_core(report) for report in group}) == 1
    assert len({failure_hash(report) for report in group}) == 1


def test_two_failures_have_two_hashes() -> None:
    hashes = {name: failure_hash(group[0]) for name, group in (ALIKE | LOGGED).items()}
    same = [(one, other) for one, other in combinations(hashes, 2) if hashes[one] == hashes[other]]
    assert same == []


@each(
    ("one", "other"),
    [
        ("No module named 'numpy'", "No module named 'requests'"),
        ("KeyError: 'id'", "KeyError: 'name'"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED 127.0.0.1:6379"),
        ("cannot open /srv/shop/a.json: denied", "cannot open /srv/shop/b.json: denied"),
        ("gti: command not found", "brnch: command not found"),
    ],
)
def test_a_message_with_another_name_is_another_message(one: str, other: str) -> None:
    assert exact_message(one) != exact_message(other)


@each(
    ("one", "other"),
    [
        ("src/app.py:12: error: no such name x", "src/app.py:40: error: no such name x"),
        ("cannot read /tmp/pytest-1/a: gone", "cannot read /tmp/pytest-2/a: gone"),
        (
            "lock 0x7f3a91 held since 2026-03-01 10:00:00",
            "lock 0x7e11b2 held since 2026-03-02 11:30:59",
        ),
        (
            "[Sun Dec 04 04:47:44 2005] [error] lost mod_jk",
            "[Mon Dec 05 19:15:57 2005] [error] lost mod_jk",
        ),
    ],
)
def test_a_message_is_the_same_at_another_time_and_place(one: str, other: str) -> None:
    assert exact_message(one) == exact_message(other)


@each("report", FAILED)
def test_a_failure_is_seen(report: str) -> None:
    assert shows_error(report)


@each("answer", FINE)
def test_what_only_speaks_of_failures_is_not_seen(answer: str) -> None:
    assert not shows_error(answer)


# ---- what stands around a report

DRESSES: dict[str, Callable[[str], str]] = {
    "in colour": lambda text: "\n".join(f"\x1b[1;31m{line}\x1b[0m" for line in text.split("\n")),
    "with links and titles": lambda text: (
        f"\x1b]0;shop\x07\x1b]8;;https://example.com\x1b\\{text}\x1b]8;;\x1b\\"
    ),
    "with the ends of another system": lambda text: text.replace("\r\n", "\n").replace(
        "\n", "\r\n"
    ),
    "indented": lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
    "in a log": lambda text: f"INFO starting worker 3\n{text}\nINFO done in 4.2s",
    "after a command": lambda text: f"$ run the thing\n\n{text}\n\nDone.",
    "with times": lambda text: "\n".join(
        f"2024-05-01T10:22:31.{at:06}Z {line}" for at, line in enumerate(text.split("\n"))
    ),
    "of another user": lambda text: text.replace("/home/ann", "/Users/zoe").replace(
        "/home/bob", "/root/work"
    ),
}
# lines inside one string are told by being one line
FOLDED = [report for _, report in REPORTED if "\\n  File" in report]


@each("dress", DRESSES)
def test_what_stands_around_a_report_does_not_count(dress: str) -> None:
    for name, report in REPORTED:
        if report not in FOLDED:
            assert error_core(DRESSES[dress](report.replace("\r\n", "\n"))) == error_core(report), (
                name
            )
    assert len(FOLDED) == 1


# ---- what a core looks like


@each(
    ("report", "core"),
    [
        ("TypeError: can only concatenate str (not 'int') to str", "typeerror: can only concatenate str (not <q>) to str"),
        ("bash: line 1: jq: command not found", "command not found: jq"),
        ("./main.go:12:5: undefined: foo", "undefined: foo"),
        ("error[E0382]: borrow of moved value: `x`", "error[e0382]: borrow of moved value: <q>"),
        ("src/a.ts(1,2): error TS2304: Cannot find name 'x'.", "error ts2304: cannot find name <q>"),
        ("ERROR 1146 (42S02) at line 3: Table 'a.b' doesn't exist", "error 1146 (42s02): table <q> doesn't exist"),
        ("Error: connect ECONNREFUSED 127.0.0.1:5432", "connect econnrefused <ip> [port 5432]"),
        ("03-17 16:13:38.811  1702  2395 E Tasks: cannot stop task_17 of user=ann", "cannot stop task_<n> of user=<q>"),
        ("20171223-22:15:29:606|Step_LSC|30002312|flush failed, 3579 left", "flush failed, <n> left"),
        ("Jun 14 15:16:01 combo sshd(pam_unix)[19939]: check pass; user unknown", "check pass; user unknown"),
        ("sync with db-3.eu.example.com/10.0.3.7:9000 was lost", "sync with <ip> was lost"),
        ("cannot open /srv/shop/prices.csv", "cannot open <path>"),
        ("bash -c '…' said: a.txt): -c: line 3: syntax error: unexpected end of file", "syntax error: unexpected end of file"),
        ("cat: /home/ann/notes.txt: No such file or directory", "cat: notes.txt: no such file or directory"),
        ("Error: cannot read /tmp/pytest-of-ann/pytest-3/x.json", "cannot read <tmp>"),
        ("Error: no space left in /home/ann", "no space left in <home>"),
        ("Error: GET https://api.example.com/v1?key=3 gave 502 Bad Gateway", "get <url> gave 502 bad gateway"),
        ("Error: job 3f2b8c1e-9d4a-4c7b-8e21-0a5d6f7b8c9d at 0x7f3a", "job <n> at <n>"),
        ("Error: started at 2024-05-01 10:22:31, gave up at 10:22:35", "started at <time>, gave up at <time>"),
        ("Error: waited 1m30.5s for 3.5MB of 10,000 rows", "waited <n> for <n> of <n> rows"),
        ("something odd about 3 values", "something odd about <n> values"),
        ("", ""),
        (" \n\t\r\n", ""),
    ],
)  # fmt: skip
def test_a_core_can_be_read(report: str, core: str) -> None:
    assert error_core(report) == core


@each(("name", "report"), REPORTED)
def test_a_core_is_one_short_line_of_lower_case(name: str, report: str) -> None:
    core = error_core(report)
    assert 0 < len(core) <= limits.FAILURE_CORE_CHARS_MAX
    assert core == " ".join(core.lower().split())


def test_a_long_message_is_cut_and_its_long_values_are_not_kept() -> None:
    assert len(error_core("ValueError: " + "very " * 1_000)) <= limits.FAILURE_CORE_CHARS_MAX
    assert error_core(f"ValueError: bad value '{'x' * 5_000}'") == "valueerror: bad value <q>"


def test_blank_texts_have_one_hash() -> None:
    empty = hashlib.blake2b(b"", digest_size=8).hexdigest()
    assert failure_hash("") == failure_hash("  \r\n\t") == failure_hash("\x1b[0m") == empty


SAME = [
    ("IndexError: index 5 is out of bounds for size 3", "IndexError: index -12 is out of bounds for size 9"),
    ("ValueError: expected 3 values, got 17", "ValueError: expected 1 values, got 2"),
    ("OSError: port 5432 is taken", "OSError: port 8080 is taken"),
    ("Error: thread Thread-12 died", "Error: thread Thread-3 died"),
    ("Error: goroutine 17 blocked for 3 minutes", "Error: goroutine 4 blocked for 10 minutes"),
    ("RuntimeError: bad keys: 'a', 'b', 'c'", "RuntimeError: bad keys: 'd'"),
    ("Error: object at 0x7f8a1c2d3e4f is gone", "Error: object at 0x10a is gone"),
    ("Error: commit 1a2b3c4 not found", "Error: commit 9f8e7d6c5b4a3928171615141312111009080706 not found"),
    ("Error: can't open it", "ERROR: can't open it"),
    ("Error: no block blk_2568 on node-17", "Error: no block blk_9 on node-4"),
    ("Error: eth0 is down", "Error: eth1 is down"),
    ("Error: cannot start R02-M1-N0-C:J12-U11", "Error: cannot start R63-M0-L3-C:J02-U01"),
    ("Error: refused 10.0.0.1:40312: connection refused", "Error: refused 10.0.0.1:51877: connection refused"),
    ("Error: getaddrinfo failed for api.example.com", "Error: getaddrinfo failed for www.example.net"),
    ("Error: no route to 00:1b:44:11:3a:b7", "Error: no route to 00:1b:44:11:3a:c8"),
    ("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
     "json.decoder.JSONDecodeError: Expecting value: line 12 column 40 (char 512)"),
]  # fmt: skip
OTHER = [
    ("Command failed with exit code 1", "Command failed with exit code 127"),
    ("HTTP 404", "HTTP 500"),
    ("Request failed with status code 403", "Request failed with status code 429"),
    ("OSError: [Errno 13] denied", "OSError: [Errno 2] denied"),
    ("OSError: (os error 13)", "OSError: (os error 2)"),
    ("ERROR 1146 (42S02): bad", "ERROR 1054 (42S22): bad"),
    ("pymysql.err.OperationalError: (1054, 'bad')", "pymysql.err.OperationalError: (2003, 'bad')"),
    ("ORA-00942: bad", "ORA-00904: bad"),
    ("error TS2345: bad", "error TS2304: bad"),
    ("curl: (6) Could not reach it", "curl: (7) Could not reach it"),
    ("terminated by signal 9", "terminated by signal 15"),
    ("Error: failed (0x80070005)", "Error: failed (0x80070002)"),
    ("no such table: users", "no such table: orders"),
    ("ValueError: bad", "TypeError: bad"),
    ("a.errors.Locked: bad", "a.errors.Gone: bad"),
    ("bash: jq: command not found", "bash: yq: command not found"),
    ("make: *** [all] Error 1", "make: *** [all] Error 2"),
    ("Error: connect ECONNREFUSED 10.0.0.1:1", "Error: connect ETIMEDOUT 10.0.0.1:1"),
    ("Error: utf8 is bad", "Error: utf16 is bad"),
    ("Error: connect ECONNREFUSED 10.0.0.1:5432", "Error: connect ECONNREFUSED 10.0.0.1:6379"),
    (
        "dial tcp db:5432: connect: connection refused",
        "dial tcp cache:6379: connect: connection refused",
    ),
    (
        "connection to server at localhost, port 5432 failed: Connection refused",
        "connection to server at localhost, port 5433 failed: Connection refused",
    ),
    (
        "Failed to reach http://localhost:8080/a: Connection refused",
        "Failed to reach http://localhost:3000/a: Connection refused",
    ),
    ("2024-05-01 10:22:31 ERROR KeyError: 3", "2024-05-01 10:22:31 ERROR ValueError: 3"),
    ("assert 1 == 2 in test_total_1", "assert 1 == 2 in test_total_2"),
    ("Error: sha256 differs", "Error: sha512 differs"),
]


@each(("one", "other"), SAME)
def test_values_do_not_tell_failures_apart(one: str, other: str) -> None:
    assert error_core(one) == error_core(other)


@each(("one", "other"), OTHER)
def test_codes_and_names_tell_failures_apart(one: str, other: str) -> None:
    assert error_core(one) != error_core(other)


def test_the_most_telling_line_is_chosen() -> None:
    run = "compiling\nmain.c:5:3: error: expected ';'\nmake: *** [all] Error 1\nCommand failed with exit code 2"
    assert error_core(run) == "expected <q>"
    assert (
        error_core(run.replace("main.c:5:3: error: expected ';'\n", ""))
        == "make: *** [all] error 1"
    )
    assert (
        error_core("compiling\nCommand failed with exit code 2\nbye")
        == "command failed with exit code 2"
    )
    assert error_core("all went well until the parser found a mismatch\nand gave up") == (
        "all went well until the parser found a mismatch"
    )
    assert error_core("first line\nsecond line") == "first line second line"


@each(
    ("answer", "core"),
    [
        ('{"error": "no such room"}', "no such room"),
        ('{"success": false, "message": "column \\"x\\" is gone", "status": 422}', "column <q> is gone [code 422]"),
        ('{"stdout": "", "stderr": "zsh: command not found: jq", "exit_code": 127}', "command not found: jq"),
        ('{"output": "Traceback (most recent call last):\\n  File \\"a\\", line 1, in b\\nKeyError: 1"}', "keyerror: <n>"),
        ('{"level": "info", "msg": "hi"}\n{"level": "error", "msg": "cannot save order 3"}', "cannot save order <n>"),
        ('calling\n{"error": {"message": "too slow"}}\ndone', "too slow"),
        ('[{"error": {"x": 1}}]', "[{<q>: {<q>: <n>}}]"),
        ('{"error": {}}', "{<q>: {}}"),
    ],
)  # fmt: skip
def test_an_answer_in_json_is_unwrapped(answer: str, core: str) -> None:
    assert error_core(answer) == core
    assert shows_error(answer)


def test_only_the_ends_of_a_long_text_are_looked_at() -> None:
    line, error = "the quick brown fox\n", "KeyError: 'a'"
    filling = line * (2 * (limits.FAILURE_HEAD_CHARS + limits.FAILURE_TAIL_CHARS) // len(line))
    assert (
        error_core(f"{error}\n{filling}") == error_core(f"{filling}{error}\n") == error_core(error)
    )
    assert not shows_error(f"{filling}{error}\n{filling}")


def test_every_way_of_reporting_finds_something_in_the_corpus() -> None:
    texts = ["\n" + text for text in FAILED]
    unused = [
        report.pattern.pattern
        for report in REPORTS.all
        if not any(map(report.pattern.search, texts))
    ]
    assert unused == []
    assert all(report.row["triggers"] for report in REPORTS.all)


# ---- any text

_WORDS = """
    Error error: ERROR FAILED FAIL Traceback (most recent call last): File "a.py", line 1, in f KeyError: 'x' E at a.b(C.java:3)
    Caused by: panic: panicked at 'x', --- FAIL: npm ERR! code { } [ ] "message": "stderr": : ; - | 404 exit 1 failed 0 no if
    \\n \\" ' ` \u2018 0x1f /tmp/x C:\\a http://x 2024-05-01 10:00:00 \x1b[31m [0m _____ t _____ \u0130 level=error msg="x" ●
    {"error": [{"error": {" "} }] "code": "success": false , Raises: '=1
"""
_PIECES = st.sampled_from([*_WORDS.split(), " ", "   ", "\n", "\n    ", "\n\n", "\t"])
_TEXTS = (
    st.text()
    | st.lists(_PIECES, max_size=40).map("".join)
    | st.lists(_PIECES, max_size=40).map(" ".join)
)


@settings(max_examples=examples(400), deadline=None)
@given(_TEXTS)
def test_any_text_has_a_core_and_a_hash(text: str) -> None:
    core = error_core(text)
    assert len(core) <= limits.FAILURE_CORE_CHARS_MAX
    assert "\n" not in core
    assert re.fullmatch("[0-9a-f]{16}", failure_hash(text))
    assert (
        failure_hash(text)
        == hashlib.blake2b(core.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    )
    assert shows_error(text) in (True, False)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_halves_of_characters_do_no_harm(text: str) -> None:
    assert len(failure_hash(text + "\ud800")) == 16
    assert not shows_error("\udfff")


_SPACE = st.text(" \t\n\r", max_size=6)


@settings(max_examples=examples(300), deadline=None)
@given(_TEXTS.filter(lambda text: "\r" not in text), _SPACE, _SPACE)
def test_white_space_around_and_line_ends_do_not_count(text: str, before: str, after: str) -> None:
    expected = failure_hash(text)
    assert failure_hash(before + text + after) == expected
    assert failure_hash(text.replace("\n", "\r\n")) == expected
    assert shows_error(before + text.replace("\n", "\r\n") + after) == shows_error(text)


TEMPLATES = [
    """Traceback (most recent call last):
  File "/home/u/a{n}.py", line {line}, in f
    run({n})
RuntimeError: row {n} of {m} at {address} failed after {n}.{m}s (pid {m})""",
    "src/cart.ts({line},{m}): error TS2345: Argument of type '{word}' is not assignable to "
    "parameter of type 'number'.",
    "./main.go:{line}:{m}: undefined: total",
    """panic: runtime error: index out of range [{n}] with length {m}

goroutine {m} [running]:
main.main()
\t/home/u/main.go:{line} +{address}""",
    """thread 'main' panicked at src/main.rs:{line}:{m}:
index out of bounds: the len is {n} but the index is {m}""",
    """Exception in thread "worker-{n}" java.lang.IllegalStateException: shard {n} is closed (id {uuid})
\tat com.shop.Store.get(Store.java:{line})""",
    "{stamp} ERROR [worker-{n}] shop.Store - cannot reach 10.0.{m}.7:{line} (request id: {uuid})",
    "{stamp} UTC [{n}] ERROR:  deadlock detected",
    "ERROR 1146 (42S02) at line {line}: Table '{word}' doesn't exist",
    "cat: /home/{word}/notes.txt: No such file or directory",
    "Error: object at {address} was freed at {stamp} (commit {sha})",
    "make: *** [Makefile:{line}: all] Error 2",
    "FAILED tests/test_cart.py::test_total - assert {n} == {m}\n{n} failed in {n}.{m}s",
    "Error: cannot write /tmp/tmp{word}/{word}.json ({n} of {m} bytes)",
]
_SMALL = st.integers(0, 255)
_VALUES = st.fixed_dictionaries({
    "n": st.integers(0, 10**7), "m": _SMALL, "line": st.integers(1, 9_999),
    "address": st.integers(0, 2**47).map(lambda value: f"0x{value:012x}"),
    "uuid": st.uuids().map(str), "sha": st.binary(min_size=20, max_size=20).map(bytes.hex),
    # /home/tmp is a place for what comes and goes
    "word": st.text("abcdefghijklmnopqrsuvwxyz", min_size=1, max_size=9),
    "stamp": st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1)).map(lambda at: f"{at:%Y-%m-%d %H:%M:%S}.123"),  # noqa: DTZ001
})  # fmt: skip


@pytest.mark.parametrize("template", TEMPLATES)
@settings(max_examples=examples(60), deadline=None)
@given(one=_VALUES, other=_VALUES)
def test_what_differs_between_two_runs_does_not_count(
    template: str, one: dict[str, str], other: dict[str, str]
) -> None:
    assert error_core(template.format(**one)) == error_core(template.format(**other))


def test_templates_are_different_failures() -> None:
    values = dict.fromkeys("n m line address uuid sha word stamp".split(), "1")
    assert len({error_core(template.format(**values)) for template in TEMPLATES}) == len(TEMPLATES)


# ---- cost

# A row of any of these; _ is a space, ~ a line end, ^ an escape.
HOSTILE = r"""
    " ' ` . _ \ ~ : / a A 0 1_ a_ ~_ at_ ~at_ ~at_a( error error:_ ~error:____ 'a_ \' \" ^[ ^] ^ [0m E___ ~E___a
    ~Caused_by:_x ~Traceback_(most_recent_call_last):~ panicked_at_ ~panic:_ ~FAILED_a::b_-_ ~---_FAIL:_ ____ a. A.Error
    ~A. aError ~20 0x a1b2 deadbeef - {"a": {"message":_" ( [ <q>,_ 1,_ 1. 1: ::1 1.1.1.1 ~npm_ERR!_ ~●_a~ make:_***_[
    ~FAILED:_a ~npm_ERR!_a:_` ~Traceback_(most_recent_call_last):~_a ~*_What_went_wrong:~ ~>_a
    exit_code_1_if_ :_permission_denied if_permission_denied:_ no_1_errors ~a_failed ~a_timed_out a=1_ err=" msg="a"_
    a.sh:_ ~ERROR_ ~[a]_ a_-_ ~web-1_|_ Table_' near_" violates_a http:// _404 status_404_ request_id tmpabcdefgh_
    /tmp/ C:\ Jan_1 assert_ validation_error~ ERROR_in_~ 12:00:00_ ~__" |_
    R0- a-1 a.com a.com_ a@ a@b. for_user_ a=b_ -_ [a[a]]_ INFO_ 1131566461_ Jan_1_00:00:00_ a.b:_ a/10.0.0.1 00:1b: refused:1
"""


def _repeated(unit: str, length: int) -> str:
    unit = unit.replace("_", " ").replace("~", "\n").replace("^", "\x1b")
    return (unit * (length // len(unit) + 1))[:length]


@each("unit", HOSTILE.split())
def test_hostile_text_takes_little_time(unit: str) -> None:
    text = _repeated(unit, 200_000)
    for hostile in (
        text,
        f"Error: {text}",
        f"Traceback (most recent call last):\n{text}",
        f'{{"error": "{text}',
    ):
        started = time.process_time()
        failure_hash(hostile)
        shows_error(hostile)
        assert time.process_time() - started < 1


def _seconds(work: Callable[[str], object], text: str, times: int = 300) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        for _ in range(times):
            work(text)
        best = min(best, (time.process_time() - started) / times)
    return best


def test_ordinary_text_costs_little() -> None:
    """The bounds are generous, for slow machines: about 15, 55 and 10 µs where they were
    written.
    """
    line = "TypeError: unsupported operand type(s) for +: 'int' and 'str'"
    frames = "".join(
        f'  File "/srv/app/part_{at}.py", line {at}, in run\n    return self.part(request, '
        f"*values)\n"
        for at in range(14)
    )
    answer = (
        "The build finished in 12 seconds and the cache was written to disk; the index was "
        "refreshed for the next run. " * 2
    )
    assert _seconds(failure_hash, line) < 250e-6
    assert _seconds(failure_hash, f"Traceback (most recent call last):\n{frames}{line}") < 1_000e-6
    assert _seconds(shows_error, answer[:200]) < 200e-6
