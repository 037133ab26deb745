"""Fuzzing: a few inputs for every parser in each run of the tests; that it finds what is wrong;
that no parser is left out.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import crowd
import fuzz
import power_loss
from fuzz import TARGETS, run_all
from fuzz_memories import _unchanged_where_refused
from fuzz_targets import Run, Target, by
from hardwon import Memory
from hardwon.errors import InvalidInputError

SOURCE = Path(__file__).parents[1] / "src"
SEED = 20261116


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_parser_takes_its_input_or_refuses_it(target: Target) -> None:
    (found,) = run_all([target], 12, SEED)
    assert found.findings == {}
    assert found.accepted + found.refused == found.runs == 12


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_a_parser_begins_from_is_valid(target: Target, tmp_path: Path) -> None:
    found = fuzz.Found(target.name)
    with target.begun(tmp_path) as run:
        for number, given in enumerate(list(target.corpus())[:12]):
            fuzz._try(target, run, given, number, found)
    assert found.findings == {}
    assert found.accepted > 0


def test_requests_are_answered(tmp_path: Path) -> None:
    (target,) = (each for each in TARGETS if each.name == "HTTP request")
    with target.begun(tmp_path) as run:
        answers = [run(given) for given in list(target.corpus())[:12]]
    assert answers.count([b"200"]) > 3


KNOWN: dict[str, list[Any]] = {
    "shell line": ["echo " + "9" * 60_000, "pytest \ud800\udfff"],
    "routing by paths": [5, [["a=b/c.json"]], [None], "a=b"],
    "packed vectors": [b"", b"\x01", b"\0" * 13],
    "events": [b"9" * 5_000],
    "place": [
        "postgresql://annamode=require&password=hunter2hunter2",
        "postgresql://h/brain&password=hunter2hunter2",
    ],
    "packed body": ["1:", "1:eNo="],
    "traceback of pytest": ["a" * 5_000 + ".py:3: in f\n", 'File "a\0b.py", line 3, in f\n'],
    "mounts": ["36 35 98:0 /m /a\ud800 rw - nfs4 h:/x rw\n"],
}
"""What was found once."""


@pytest.mark.parametrize("name", KNOWN)
def test_what_was_found_once_is_found_no_more(name: str, tmp_path: Path) -> None:
    (target,) = (each for each in TARGETS if each.name == name)
    found = fuzz.Found(name)
    with target.begun(tmp_path) as run:
        for number, given in enumerate(KNOWN[name]):
            fuzz._try(target, run, given, number, found)
    assert found.findings == {}
    assert found.runs == len(KNOWN[name])


# --- it finds what is wrong ---


def made_up(run: Run, corpus: list[Any], kind: Any = "text") -> Target:
    return Target("made up", ("hardwon.records.kinds",), kind, lambda: corpus, by(run))


def findings_of(target: Target, runs: int = 300) -> list[str]:
    (found,) = run_all([target], runs, SEED)
    return list(found.findings.values())


def test_an_error_that_is_not_ours_is_found_and_told_with_its_input() -> None:
    def careless(text: str) -> None:
        if "\0" in text:
            raise KeyError(text.index("\0"))

    (finding,) = findings_of(made_up(careless, ["a text", "another one"]))
    assert "KeyError" in finding
    assert "\\x00" in finding


def test_a_refusal_is_no_finding() -> None:
    def strict(text: str) -> None:
        raise InvalidInputError.one("text", text, "nothing")

    assert findings_of(made_up(strict, ["a text"])) == []


def test_an_expression_that_takes_for_ever_is_stopped_and_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fuzz, "CPU_S_MAX", 0.2)
    (finding,) = findings_of(made_up(re.compile(r"(a+)+$").match, ["a" * 40 + "b"]), 3)
    assert "TookTooLongError" in finding


def test_what_is_not_read_back_as_it_was_is_found() -> None:
    def lossy(data: bytes) -> None:
        text = data.decode(errors="replace")
        assert text.strip() == text, "blanks are lost"

    assert any(
        "blanks are lost" in finding
        for finding in findings_of(made_up(lossy, [b'{"a": 1}'], "bytes"))
    )


def test_a_memory_that_changes_with_a_refusal_is_found(tmp_path: Path) -> None:
    @contextmanager
    def begun(_: Path) -> Iterator[Run]:
        with Memory(tmp_path / "brain", checkout=False) as memory:

            def hasty(text: str) -> None:
                memory.remember("kept too early", "success", "conversation")
                raise InvalidInputError.one("text", text, "nothing")

            yield _unchanged_where_refused(memory, hasty)

    (finding,) = findings_of(Target("made up", (), "text", lambda: ["a"], begun), 2)
    assert "ChangedError" in finding


def test_the_same_seed_gives_the_same_inputs() -> None:
    def heard(into: list[str]) -> Target:
        return made_up(into.append, ["one text", "and another"])

    first, again, other = list[str](), list[str](), list[str]()
    run_all([heard(first)], 200, SEED)
    run_all([heard(again)], 200, SEED)
    run_all([heard(other)], 200, SEED + 1)
    assert first == again != other
    assert len(set(first)) > 100


def test_what_reaches_new_lines_is_changed_further() -> None:
    """A parser of which an input is found only step by step."""
    (target,) = (each for each in TARGETS if each.name == "record")
    (few,) = run_all([target], 20, SEED)
    (many,) = run_all([target], 200, SEED)
    assert many.reached > few.reached > 0


def test_the_command_tells_its_seed_and_what_was_done() -> None:
    command = [
        sys.executable,
        fuzz.__file__,
        "--runs",
        "5",
        "--seed",
        "7",
        "--of",
        "glob",
        "--of",
        "cursor",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("seed 7\nglob ")
    assert "10 inputs for 2 parsers" in done.stdout


# --- none is left out ---

PARSING = frozenset(
    "loads from_json fromisoformat strptime parse_qsl urlsplit urlparse b64decode "
    "urlsafe_b64decode unpack frombuffer "
    "decompress parse literal_eval validate_json model_validate_json fromhex".split()
)
OURS = "reads what this program itself wrote into the same database"
LEFT_OUT = {
    "hardwon.memory.skills": OURS,
    "hardwon.surfaces.cli.drop_in": "whether a name stands in a file of at most a megabyte",
    "hardwon.memory.advise": "the first line of what text.terms made, which is fuzzed",
    "hardwon.memory.ask": "one expression of fixed length",
    "hardwon.memory.project": "one expression of fixed length",
    "hardwon.memory.record": "one expression of fixed length",
    "hardwon.store.sqlite.log": "test_foreign_log.py and torture/power_loss.py have logs of all "
    "sorts",
    "hardwon.text.tables": "our own patterns",
    "hardwon.text.shown": "fuzzed by contexts, which show what it reads",
    "hardwon.text.likeness": "fuzzed by errors, which are compared before they are answered",
    "hardwon.brief.cases": "fuzzed by contexts, which it words",
    "hardwon.text.clean": "fuzzed by brief.fence, which every line passes",
    "hardwon.tree.datasets.generate": "our own words, and a date that a caller names, refused by Python's own parser",
    "hardwon.adapters.langgraph": "what it wrote itself; test_langgraph.py has what others wrote "
    "under such names",
    "hardwon.trust.lifecycle": "hashes of 40 digits, by an expression of fixed length",
    "hardwon.capture.process": "the size of a terminal, as the system tells it",
    "hardwon.surfaces.rest.openapi": "one expression of bounded length, which the guards of HTTP "
    "requests use",
    "hardwon.store.postgres.connection": OURS,
    "hardwon.store.postgres.projects": OURS,
    "hardwon.store.postgres.search": OURS,
    "hardwon.store.postgres.engine": OURS,
}


def parses(source: str) -> bool:
    """Whether a module has a regular expression, or calls something that makes values of a text or
    of bytes.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            function = node.func
            name = (
                function.attr
                if isinstance(function, ast.Attribute)
                else getattr(function, "id", "")
            )
            owner = getattr(function.value, "id", "") if isinstance(function, ast.Attribute) else ""
            if name in PARSING or owner == "re":
                return True
    return False


def test_every_module_that_parses_is_fuzzed_or_left_out_for_a_reason() -> None:
    modules = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): path.read_text()
        for path in SOURCE.glob("hardwon/**/*.py")
    }
    covered = {name for target in TARGETS for name in target.covers}
    assert covered <= modules.keys()
    assert not covered & LEFT_OUT.keys()
    parsing = {name for name, source in modules.items() if parses(source)}
    assert parsing - covered == LEFT_OUT.keys()


def test_names_are_unique() -> None:
    names = [target.name for target in TARGETS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("program", "option"), [(crowd, "--steps"), (power_loss, "--states"), (fuzz, "--runs")]
)
@pytest.mark.parametrize("amount", ["0", "-1", "many"])
def test_nothing_is_not_enough(
    program: ModuleType,
    option: str,
    amount: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [program.__name__, f"{option}={amount}"])
    with pytest.raises(SystemExit) as left:
        program.main()
    assert left.value.code == 2
    assert (
        f"argument {option}: {amount!r} is not allowed; allowed: a whole number from 1"
        in capsys.readouterr().err
    )
