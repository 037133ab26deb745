"""The same failure has the same keys, another has another, and nothing else is a failure."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import each, examples
from failures_corpus import ALIKE, FAILED, FINE
from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.text import failures
from hardwon.text.failures import (
    REPORTS,
    complains,
    error_core,
    exact_message,
    failure_hash,
    find_names,
    read_failure,
    shows_error,
    shows_failure,
)
from hardwon.text.tables import Patterns
from hardwon.trust import redact
from short import need

REPORTED = [(name, report) for name, group in ALIKE.items() for report in group]


@each("group", [*ALIKE.values()])
def test_one_failure_has_one_family(group: list[str]) -> None:
    assert len({error_core(report) for report in group}) == 1
    assert len({failure_hash(report) for report in group}) == 1


def test_two_failures_have_two_families() -> None:
    hashes = {name: failure_hash(group[0]) for name, group in ALIKE.items()}
    assert [pair for pair in combinations(hashes, 2) if hashes[pair[0]] == hashes[pair[1]]] == []


@each("report", FAILED)
def test_a_failure_is_seen(report: str) -> None:
    assert shows_error(report)


@each("answer", FINE)
def test_what_only_speaks_of_failures_is_not_seen(answer: str) -> None:
    assert not shows_error(answer)


def test_every_way_of_reporting_finds_something_in_the_corpus() -> None:
    texts = ["\n" + text for text in FAILED]
    unused = [
        form.pattern.pattern for form in REPORTS.all if not any(map(form.pattern.search, texts))
    ]
    assert unused == []


DRESSES: dict[str, Callable[[str], str]] = {
    "in colour": lambda text: "\n".join(f"\x1b[1;31m{line}\x1b[0m" for line in text.split("\n")),
    "with the ends of another system": lambda text: text.replace("\n", "\r\n"),
    "in a log": lambda text: f"INFO starting worker 3\n{text}\nINFO done in 4.2s",
    "after a command": lambda text: f"$ run the thing\n\n{text}\n\nDone.",
    "of another user": lambda text: text.replace("/home/ann", "/Users/zoe"),
    "run by make": lambda text: f"{text}\nmake: *** [Makefile:2: deploy] Error 2",
    "run by npm": lambda text: (
        f"> shop@1.0.0 deploy\n> ./deploy.sh\n\n{text}\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 2\n"
        "npm ERR! shop@1.0.0 deploy: `./deploy.sh`\nnpm ERR! Exit status 2\n"
    ),
}


@each("dress", DRESSES)
def test_what_stands_around_a_report_does_not_count(dress: str) -> None:
    changed = [
        name
        for name, report in REPORTED
        if error_core(DRESSES[dress](report)) != error_core(report)
        and not name.startswith(("make", "npm", "json", "log", "shell: exit code"))
    ]
    assert changed == []


@each(
    "dressed",
    [
        "{}\nmake: *** [Makefile:2: deploy] Error 2",
        "make[1]: Entering directory '/srv'\n{}\nmake[1]: *** [Makefile:9: x] Error 2\n"
        "make[1]: Leaving directory '/srv'\nmake: *** [Makefile:3: all] Error 2",
        "{}\nnpm error Lifecycle script `deploy` failed with error:\nnpm error code 2\n"
        "npm error path /srv/shop\nnpm error command failed\nnpm error command sh -c ./deploy.sh",
        "yarn run v1.22.19\n$ ./deploy.sh\n{}\nerror Command failed with exit code 2.",
        "{}\nerror: process didn't exit successfully: `target/debug/shop` (exit status: 2)",
        "{}\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for "
        "task ':deploy'.\n> Process 'command './deploy.sh'' finished with non-zero exit value 2",
        "{}\nninja: build stopped: subcommand failed.",
        "Run ./deploy.sh\n{}\nError: Process completed with exit code 2.",
    ],
)
def test_whoever_runs_a_program_says_nothing_of_why_it_failed(dressed: str) -> None:
    words = "deploy.sh: STAGING_HOST is not set"
    failure = need(read_failure(dressed.format(words)))
    assert (failure.words, failure.tells) == (words, True)


def test_the_most_telling_line_is_chosen() -> None:
    run = "compiling\nmain.c:5:3: error: expected ';'\nmake: *** [all] Error 1\nexit code 2"
    assert error_core(run) == "expected <q>"
    assert error_core("compiling\nmake: *** [Makefile:3: all] Error 1") == "make: *** all error 1"
    assert error_core("compiling\nCommand failed with exit code 2\nbye") == (
        "command failed with exit code 2"
    )


@each(
    ("output", "words"),
    [
        ("reading rules\nrule 7 has no target\n5 rules read", "rule 7 has no target"),
        ("would reformat a.py\n3 files would be reformatted", "3 files would be reformatted"),
        ("konnte nicht geladen werden: Datei x\nTschüss", "Tschüss"),
    ],
)
def test_of_an_unknown_tool_the_last_line_that_complains_is_taken(output: str, words: str) -> None:
    failure = need(read_failure(output))
    assert (failure.words, failure.tells) == (words, False)


def test_words_that_only_say_that_something_failed_are_those_of_their_command() -> None:
    one, other = read_failure("exit code 1", "make test"), read_failure("exit code 1", "make lint")
    assert one is not None
    assert other is not None
    assert one.exact != other.exact
    assert one.family == other.family
    assert read_failure("") is read_failure(" \n\t") is None


@each(
    ("report", "core"),
    [
        ("TypeError: can only concatenate str (not 'int') to str", "typeerror: can only concatenate str (not <q>) to str"),
        ("bash: line 1: jq: command not found", "command not found: jq"),
        ("./main.go:12:5: undefined: foo", "undefined: foo"),
        ("error[E0382]: borrow of moved value: `x`", "error[e0382]: borrow of moved value: <q>"),
        ("src/a.ts(1,2): error TS2304: Cannot find name 'x'.", "error ts2304: cannot find name <q>"),
        ("ERROR 1146 (42S02) at line 3: Table 'a.b' doesn't exist", "error 1146 (42s02): table <q> doesn't exist"),
        ("cannot open /srv/shop/prices.csv", "cannot open <path>"),
        ("cat: /home/ann/notes.txt: No such file or directory", "cat: notes.txt: no such file or directory"),
        ("Error: cannot read /tmp/pytest-of-ann/pytest-3/x.json", "cannot read <tmp>"),
        ("Error: job 3f2b8c1e-9d4a-4c7b-8e21-0a5d6f7b8c9d at 0x7f3a", "job <id> at <id>"),
        ("Error: started at 2024-05-01 10:22:31, gave up at 10:22:35", "started at <time>, gave up at <time>"),
        ("Error: waited 1m30.5s for 3.5MB of 10,000 rows", "waited <time> for <n> of <n> rows"),
        ("something odd about 3 values", "something odd about <n> values"),
        ('{"stdout": "", "stderr": "zsh: command not found: jq", "exit_code": 127}', "command not found: jq"),
        ('{"error": {"message": "column \\"x\\" is gone", "status": 422}}', "column <q> is gone"),
        ("", ""),
        (" \n\t\r\n", ""),
    ],
)  # fmt: skip
def test_a_family_can_be_read(report: str, core: str) -> None:
    assert error_core(report) == core


@each(
    ("one", "other"),
    [
        ("No module named 'numpy'", "No module named 'requests'"), ("KeyError: 'id'", "KeyError: 'name'"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED 127.0.0.1:6379"),
        ("bind: port 5432 is taken", "bind: port 8080 is taken"),
        ("cannot open /srv/shop/a.json: denied", "cannot open /srv/shop/b.json: denied"),
        ("gti: command not found", "brnch: command not found"), ("no such table: users", "no such table: orders"),
        ("failed with exit code 1", "failed with exit code 127"),
    ],
)  # fmt: skip
def test_a_message_with_another_name_is_another_message(one: str, other: str) -> None:
    assert exact_message(one) != exact_message(other)


@each(
    ("one", "other"),
    [
        ("src/app.py:12: error: no such name x", "src/app.py:40: error: no such name x"),
        ("cannot read /tmp/pytest-1/a: gone", "cannot read /tmp/pytest-2/a: gone"),
        ("cannot read /home/ann/shop/src/a.py", "cannot read /srv/build/shop/src/a.py"),
        ("lock 0x7f3a91 held since 2026-03-01 10:00:00", "lock 0x7e11b2 held since 2026-03-02 11:30:59"),
        ("commit 1a2b3c4 gone after 3.2 s", "commit 9f8e7d6c5b4a39281 gone after 12 s"),
        ("3 of 7 rows lost", "12 of 80 rows lost"),
        ("10.0.0.1:5432 refused", "10.0.0.7:5432 refused"),
        ("구문 오류 (12행)", "구문 오류 (45행)"), ("構文エラー 第12行", "構文エラー 第9行"),
    ],
)  # fmt: skip
def test_a_message_is_the_same_at_another_time_and_place(one: str, other: str) -> None:
    assert exact_message(one) == exact_message(other)


SAME = [
    ("IndexError: index 5 is out of bounds for size 3", "IndexError: index -12 is out of bounds for size 9"),
    ("RuntimeError: bad key 'a'", "RuntimeError: bad key 'the user\\'s name'"),
    ("Error: object at 0x7f8a1c2d3e4f is gone", "Error: object at 0x10a is gone"),
    ("Error: can't open it", "ERROR: can't open it"),
    ("Error: 10.0.0.1 is down", "Error: 10.0.0.9 is down"),
    ("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
     "json.decoder.JSONDecodeError: Expecting value: line 12 column 40 (char 512)"),
]  # fmt: skip
OTHER = [
    ("Command failed with exit code 1", "Command failed with exit code 127"),
    ("Request failed with status code 403", "Request failed with status code 429"),
    ("OSError: [Errno 13] denied", "OSError: [Errno 2] denied"), ("OSError: (os error 13)", "OSError: (os error 2)"),
    ("ERROR 1146 (42S02): bad", "ERROR 1054 (42S22): bad"), ("ORA-00942: bad", "ORA-00904: bad"),
    ("error TS2345: bad", "error TS2304: bad"), ("curl: (6) Could not reach it", "curl: (7) Could not reach it"),
    ("Error: failed (0x80070005)", "Error: failed (0x80070002)"), ("ValueError: bad", "TypeError: bad"),
    ("make: *** [all] Error 1", "make: *** [all] Error 2"),
    ("FAILED a.py::test_one - assert 1 == 2", "FAILED a.py::test_two - assert 1 == 2"),
]  # fmt: skip


@each(("one", "other"), SAME)
def test_values_do_not_tell_families_apart(one: str, other: str) -> None:
    assert error_core(one) == error_core(other)


@each(("one", "other"), OTHER)
def test_codes_and_kinds_tell_families_apart(one: str, other: str) -> None:
    assert error_core(one) != error_core(other)


TEMPLATES = [
    """Traceback (most recent call last):
  File "/home/u/a{n}.py", line {line}, in f
    run({n})
RuntimeError: row {n} of {m} at {address} failed after {n}.{m}s (pid {m})""",
    "src/cart.ts({line},{m}): error TS2345: Argument of type '{word}' is not assignable.",
    "./main.go:{line}:{m}: undefined: total",
    "thread 'main' panicked at src/main.rs:{line}:{m}:\nindex out of bounds: the len is {n}",
    "{stamp} ERROR [worker] shop.Store - cannot reach it (request id: {uuid})",
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
    "word": st.text("abcdefghijklmnopqrsuvwxyz", min_size=1, max_size=9),
    "stamp": st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1)).map(lambda at: f"{at:%Y-%m-%d %H:%M:%S}.123"),  # noqa: DTZ001
})  # fmt: skip


@pytest.mark.parametrize("template", TEMPLATES)
@settings(max_examples=examples(60))
@given(one=_VALUES, other=_VALUES)
def test_what_differs_between_two_runs_does_not_count(
    template: str, one: dict[str, str], other: dict[str, str]
) -> None:
    assert error_core(template.format(**one)) == error_core(template.format(**other))


def test_a_failure_is_shown_alone_or_among_others() -> None:
    failure = need(read_failure("ModuleNotFoundError: No module named 'numpy'"))
    other = "E   ModuleNotFoundError: No module named 'numpy'\nE   KeyError: 'x'"
    assert shows_failure(other, failure)
    assert not shows_failure("ModuleNotFoundError: No module named 'requests'", failure)
    assert shows_failure("", failure, failure)


def test_what_an_output_complains_of_and_what_it_names() -> None:
    assert complains("the room is not lit")
    assert not complains("the room is lit")
    assert find_names("cannot load 'numpy' from src/app.py: set API_URL") == {
        "numpy",
        "src/app.py",
        "API_URL",
    }


_WORDS = """
    Error error: ERROR FAILED FAIL Traceback (most recent call last): File "a.py", line 1, in f KeyError: 'x' E at a.b(C.java:3)
    Caused by: panic: panicked at 'x', --- FAIL: npm ERR! code { } [ ] "message": "stderr": : ; - | 404 exit 1 failed 0 no if
    \\n \\" ' ` \u2018 0x1f /tmp/x C:\\a http://x 2024-05-01 10:00:00 \x1b[31m [0m _____ t _____ \u0130 level=error msg="x" ●
    {"error": [{"error": {" "} }] "code": "success": false , Raises: '=1
"""
_PIECES = st.sampled_from([*_WORDS.split(), " ", "   ", "\n", "\n    ", "\n\n", "\t"])
_TEXTS = st.text() | st.lists(_PIECES, max_size=40).map("".join)
_SPACE = st.text(" \t\n\r", max_size=6)


@settings(max_examples=examples(400))
@given(_TEXTS.filter(lambda text: "\r" not in text), _SPACE, _SPACE)
def test_any_text_has_a_hash_whatever_surrounds_it(text: str, before: str, after: str) -> None:
    expected = failure_hash(text)
    assert re.fullmatch("[0-9a-f]{16}", expected)
    assert "\n" not in error_core(text)
    assert failure_hash(before + text.replace("\n", "\r\n") + after) == expected
    assert shows_error(before + text.replace("\n", "\r\n") + after) == shows_error(text)
    assert len(failure_hash(text + "\ud800")) == 16


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="text"):
        failure_hash(3)  # type: ignore[arg-type]


def test_only_the_ends_of_a_long_text_are_looked_at_and_long_values_are_not_kept() -> None:
    line, error = "the quick brown fox\n", "KeyError: 'a'"
    filling = line * (2 * (limits.FAILURE_HEAD_CHARS + limits.FAILURE_TAIL_CHARS) // len(line))
    assert (
        error_core(f"{error}\n{filling}") == error_core(f"{filling}{error}\n") == error_core(error)
    )
    assert not shows_error(f"{filling}{error}\n{filling}")
    assert len(error_core("ValueError: " + "very " * 1_000)) <= 300
    assert error_core(f"ValueError: bad value '{'x' * 900}'") == "valueerror: bad value <q>"


@each("module", [failures, redact])
def test_every_entry_is_used_and_every_one_used_is_there(module: ModuleType) -> None:
    path = Path(str(module.__file__))
    asked: dict[str, set[str]] = {"RE": set(), "WORDS": set()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            asked.get(node.value.id, set()).add(node.attr)
    tables = import_module(f"{module.__name__}_tables")
    sources = [
        Path(str(tables.__file__)),
        path.with_name({"failures.py": "failures.txt"}.get(path.name, "secrets.txt")),
    ]
    inside = set(re.findall(r"\{\{(\w+)\}\}", "".join(map(Path.read_text, sources))))
    any_of = getattr(tables, "ANY_OF", {})
    assert asked["WORDS"] == getattr(tables, "WORDS", {}).keys()
    assert asked["RE"] <= tables.PATTERNS.keys()
    assert tables.PATTERNS.keys() | any_of.keys() == (asked["RE"] | inside)
    patterns = Patterns(tables.PATTERNS, any_of)
    assert all(isinstance(getattr(patterns, name), re.Pattern) for name in tables.PATTERNS)
