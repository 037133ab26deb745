"""docs/reference/cli.md says everything that there is to say of each command."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from cases import each
from command_line import BUILT, COMMANDS, EXAMPLES, OPERATION_OF, PAGE, section_of
from hardwon.surfaces.cli.main import app

ROOT_COMMAND: Any = typer.main.get_command(app)
OPTIONS = {name: [param.opts for param in command.params] for name, command in BUILT.items()}
PRINTS_JSON = [name for name in BUILT if any("--json" in opts for opts in OPTIONS[name])]


@each("name", COMMANDS)
def test_a_command_tells_its_usage_help_options_and_examples(name: str) -> None:
    section, command = section_of(name), BUILT[name]
    usage = section.strip().splitlines()[0]
    assert usage.startswith(f"`hardwon {name}")
    assert " ".join(str(command.help).split("\n\n")[0].split()) in section
    for param in (shown for shown in command.params if not getattr(shown, "hidden", False)):
        is_option = param.param_type_name == "option"
        for spelling in param.opts if is_option else [param.metavar or param.name.upper()]:
            row = rf"^\| `.*(?<![\w-]){re.escape(spelling)}(?![\w-]).*` \|"
            assert re.search(row, section, re.MULTILINE), spelling
        if isinstance(param.show_default, str):
            assert param.show_default in section
    examples = [example for owner, example in EXAMPLES if owner == name]
    assert examples
    assert "```sh\n" + "\n".join(examples) + "\n```" in section


@each("name", COMMANDS)
def test_what_is_printed_as_json_is_told_of_exactly_the_commands_that_do(name: str) -> None:
    told = "\nJSON" in section_of(name)
    assert told == (name in PRINTS_JSON)
    if name in OPERATION_OF:
        assert f"`{OPERATION_OF[name].method} {OPERATION_OF[name].path}`" in section_of(name)


def test_most_commands_print_json() -> None:
    # the output of `run` is a command's, that of `hooks run` is git's
    assert len(COMMANDS) - len(PRINTS_JSON) <= 2


def test_options_before_the_command_are_told() -> None:
    before = PAGE.partition("\n## ")[0]
    for param in ROOT_COMMAND.params:
        assert all(f"`{spelling}" in before for spelling in param.opts)
    for code in ("0", "1", "2", "130", "141"):
        assert f"\n| {code} | " in before


def test_there_are_few_enough_words_to_keep_in_mind() -> None:
    names = ROOT_COMMAND.list_commands(None)
    listed = {name: ROOT_COMMAND.get_command(None, name) for name in names}
    groups = {name for name, command in listed.items() if hasattr(command, "commands")}
    words = "record tree care hooks mcp skills tokens postgres fix-history drop-in"
    assert groups == set(words.split())
    assert len(listed) - len(groups) <= 30


def test_the_memory_may_be_named_anywhere(tmp_path: Path) -> None:
    named = ["--memory", str(tmp_path / "elsewhere")]
    kept = ["remember", "it failed", "--outcome", "failure", "--tool", "unknown"]
    assert CliRunner().invoke(app, [*kept, *named]).exit_code == 0
    for words in (["stats", *named, "--json"], [*named, "stats", "--json"]):
        found = json.loads(CliRunner().invoke(app, words).stdout)
        assert (found["records"], found["project"]) == (1, "default")
    # what is to be run keeps its own options
    script = "import sys; sys.exit(0 if sys.argv[1:] == ['--memory', 'x'] else 3)"
    run = [*named, "run", sys.executable, "-c", script, "--memory", "x"]
    assert CliRunner().invoke(app, run).exit_code == 0
