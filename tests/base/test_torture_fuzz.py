"""A few inputs for every parser; that fuzzing finds what is wrong; what was found once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fuzz
from cases import each
from fuzz import run_all
from fuzz_targets import TARGETS, Run, Target
from hardwon.capture import tests as test_runs
from hardwon.errors import InvalidInputError
from hardwon.outside.locations import without_password
from hardwon.store.sqlite.connection import find_file_system
from hardwon.text.lines import read_line
from hardwon.tree.routing import Coherence
from short import run_program

SEED = 20261116


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_takes_its_input_or_refuses_it(name: str) -> None:
    (found,) = run_all([TARGETS[name]], 12, SEED)
    assert found.findings == {}
    assert found.accepted + found.refused == found.runs == 12


@each(
    "parse",
    [
        lambda: read_line("echo " + "9" * 60_000),
        lambda: read_line("pytest \ud800\udfff"),
        lambda: find_file_system(Path("/a/b"), "36 35 98:0 /m /a\ud800 rw - nfs4 h:/x rw\n"),
        lambda: test_runs._files("t", "a" * 5_000 + ".py:3: in f\n", Path("/a"), Path("/a")),
        lambda: test_runs._files("t", 'File "a\0b.py", line 3\n', Path("/a"), Path("/a")),
    ],
)
def test_what_was_found_once_breaks_nothing_any_more(parse: Callable[[], Any]) -> None:
    parse()


@each("paths", [5, [["a=b/c.json"]], [None], "a=b"])
def test_paths_that_are_none_are_refused(paths: Any) -> None:
    with pytest.raises(InvalidInputError):
        Coherence.derive(paths)


@each(
    "address",
    ["postgresql://annamode=require&password=hunter2x2", "postgresql://h/b&password=hunter2x2"],
)
def test_no_password_of_a_broken_address_is_shown(address: str) -> None:
    assert "hunter2x2" not in without_password(address)


def make_up(run: Run, corpus: list[Any], kind: Any = "text") -> Target:
    @contextmanager
    def begin(_: Path) -> Iterator[Run]:
        yield run

    return Target("made up", kind, lambda: corpus, begin)


def find(target: Target, runs: int = 300) -> list[str]:
    (found,) = run_all([target], runs, SEED)
    return list(found.findings.values())


def test_an_error_that_is_not_ours_is_found_with_its_input() -> None:
    def careless(text: str) -> None:
        if "\0" in text:
            raise KeyError(text.index("\0"))

    (finding,) = find(make_up(careless, ["a text", "another one"]))
    assert "KeyError" in finding
    assert "\\x00" in finding


def test_what_takes_for_ever_is_stopped_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "CPU_S_MAX", 0.2)
    (finding,) = find(make_up(re.compile(r"(a+)+$").match, ["a" * 40 + "b"]), 3)
    assert "TookTooLongError" in finding


def test_the_command_tells_its_seed_and_what_was_done() -> None:
    command = "--runs 5 --seed 7 --of fence --of redaction".split()
    done = run_program(sys.executable, fuzz.__file__, *command)
    assert done.stdout.startswith("seed 7\nfence ")
    assert "10 inputs for 2 parsers" in done.stdout
