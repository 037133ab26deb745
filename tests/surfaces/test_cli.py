"""The command line, as a shell sees it: what it prints, its exit codes, no traceback; its page."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

import hardwon
import legacy_fixes
import postgres_server
import warm
from cases import each, examples
from command_line import (
    BUILT,
    COMMANDS,
    EXAMPLES,
    OPERATION_OF,
    PAGE,
    answered,
    at_once,
    check_json,
    hardwon_does,
    on_a_terminal,
    section_of,
)
from hardwon import Memory
from hardwon.fixes.ai_memory import AIMemory
from hardwon.surfaces.cli.main import app
from serving import wait_until
from short import run_program

FIRST = ("remember", "tree sync", "tree generate", "care backup")
"""Their examples make what those of the others read."""

ID_IN_EXAMPLES = "0198c0de-0000-7000-8000-000000000001"
ANOTHER_ID_IN_EXAMPLES = "0198c0de-0000-7000-8000-000000000002"
LESSON_ID_IN_EXAMPLES = "k3f9a"
DATABASE_IN_EXAMPLES, USER_IN_EXAMPLES = "postgresql://admin@localhost/brain", "anna"
JSON_FILES = {
    "facts.jsonl": {"content": "Port 83 is open.", "fact_type": "observation"},
    "episodes.jsonl": {"task_id": "easy", "score": 0.5},
    "fixes.jsonl": {"issue": {"model": "m"}, "fix_success": True, "verification_success": False},
    "trajectories.jsonl": {"task": "t", "steps": [{"action": "a"}], "final_reward": 1.0},
}
"""What the examples of `record` read."""

FAILURE = ("--outcome", "failure", "--tool", "code_interpreter", "--error-type", "runtime")

pytestmark = pytest.mark.usefixtures("own_folder")


def test_the_installed_command_tells_its_version() -> None:
    script = Path(sys.executable).parent / "hardwon"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"hardwon {hardwon.__version__}\n", "")


def test_what_is_remembered_is_recalled() -> None:
    text = "KeyError 'id' in login.py"
    kept = hardwon_does("remember", text, *FAILURE, "--tag", "auth", "--key", "service=web")
    assert (kept.returncode, kept.stderr) == (0, "")
    record_id = kept.stdout.split()[0]
    found = hardwon_does("recall", "login KeyError")
    assert found.returncode == 0
    assert all(words in found.stdout for words in ("failure", record_id, text))
    with Memory("brain") as memory:
        record = memory.get(record_id)
    assert isinstance(record, hardwon.Experience)
    assert (record.outcome, record.metadata.tags) == ("failure", ["auth"])
    assert record.extra == {"error_type": "runtime", "service": "web"}


def test_an_error_is_one_line_with_its_remedy_and_no_traceback() -> None:
    done = hardwon_does("remember", "x", "--outcome", "odd\x1b[2J")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hardwon: outcome: ")
    assert "a single line without control characters" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    hardwon_does("remember", "x", *FAILURE)
    for arguments, lines in ((["stats", "--json"], 0), (["tree", "generate", "2000"], 1)):
        command = [sys.executable, "-m", "hardwon.surfaces.cli.main", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stderr
            for _ in range(lines):
                process.stdout.readline()
            process.stdout.close()
            assert (process.wait(timeout=60), process.stderr.read()) == (141, b"")


@pytest.mark.parametrize(
    "asked", [("stats",), ("--help",), ("tokens", "--help"), ("--show-completion", "bash")]
)
def test_a_full_disk_is_told_in_one_line(asked: tuple[str, ...]) -> None:
    hardwon_does("remember", "x", *FAILURE)
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", warm.MAIN, *asked]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("hardwon: ")
    assert "No space left on device" in done.stderr


def test_without_standard_output_the_work_is_done_all_the_same() -> None:
    command = f"{shlex.quote(sys.executable)} -m hardwon.surfaces.cli.main remember x --outcome failure --tool unknown >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert answered("stats")["records"] == 1


@pytest.mark.parametrize(
    ("asked", "code"),
    [("remember - --outcome failure --tool unknown", 1), ("mcp", 0), ("forget x", 0)],
)
def test_without_standard_input_there_is_nothing_to_read(asked: str, code: int) -> None:
    hardwon_does("init")
    command = f"{shlex.quote(sys.executable)} -m {warm.MAIN} {asked} <&-"
    done = run_program("sh", "-c", command, status=code, timeout=60)
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_it_with_130_and_no_traceback() -> None:
    command, pipe = [sys.executable, "-m", warm.MAIN, "remember", "-", *FAILURE], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin
        # More than a pipe holds: once it is written, the command reads. Python notices a signal while
        # it waits, or before the next step; between two parts of one reading it does neither.
        process.stdin.write(b"x" * 100_000)
        process.stdin.flush()
        state = Path(f"/proc/{process.pid}/stat")
        wait_until(lambda: state.read_text().rpartition(") ")[2].startswith("S"))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.communicate() == (b"", b"")


def test_colours_are_for_terminals() -> None:
    hardwon_does("remember", "x", *FAILURE)
    assert "\x1b[31m" in on_a_terminal("stats")
    assert "\x1b" not in on_a_terminal("stats", NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("stats", TERM="dumb")
    assert "\x1b" not in hardwon_does("stats").stdout


def test_the_help_groups_every_command() -> None:
    text = at_once("--help").stdout
    groups = re.findall(r"^([A-Z][\w., ]+):\n((?:  .*\n)+)", text, re.MULTILINE)
    by_title = {title: rows.splitlines() for title, rows in groups if title != "Options"}
    listed = sorted(row.split()[0] for rows in by_title.values() for row in rows)
    assert listed == sorted({name.split()[0] for name in COMMANDS})
    assert list(by_title) == [
        "Every day", "See and decide", "Bring in and take out", "More, by what it is about",
        "For agents and other programs", "For scripts written for older designs",
    ]  # fmt: skip
    assert "Exit codes: 0 all is well, 1 an error" in text


def fill() -> None:
    with Memory("brain") as memory:
        for number in range(12):
            text = f"the parser failed on line {number}"
            memory.remember(text, "failure", "code_interpreter", error_type="runtime")
        for number in range(4):
            memory.remember(f"the parser works for case {number}", "success", "conversation")


def test_a_memory_gets_a_tree_that_follows_its_files() -> None:
    fill()
    refused = at_once("tree", "sync")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "hardwon tree sync --make-tree gives it one" in refused.stderr
    assert at_once("tree", "sync", "--make-tree").exit_code == 0
    files = sorted(Path("brain").rglob("*.json"))
    assert len(files) == 16
    files[0].write_text("{ not JSON")
    found = answered("tree", "sync", complaints=True)
    assert list(found["left"]) == [str(files[0].relative_to("brain"))]
    told = at_once("tree", "sync")
    assert told.exit_code == 0
    assert re.search(r"^hardwon: left alone: outcome=failure/.*\.json: ", told.stderr, re.MULTILINE)
    kept = Path(answered("remember", "the parser hangs", *FAILURE)["path"])
    folder = "brain/outcome=failure/tool=code_interpreter/error_type=runtime"
    assert kept.parent == Path(folder).resolve()


def test_invalid_data_is_refused_told_and_gives_1() -> None:
    good = {"outcome": "success", "tool": "conversation", "summary": "login"}
    good["content"] = "Fixed the login of anonymous users"
    bad = good | {"outcome": "fine", "summary": "b", "odd\x1b[2Jkey\n": 1}
    Path("m.json").write_text(json.dumps([good, bad]))
    checked = at_once("tree", "validate", "m.json")
    assert checked.exit_code == 1
    assert "memory 1, outcome: 'fine' is not known; use one of success, failure" in checked.stdout
    assert "\x1b" not in checked.stdout
    told = at_once("tree", "validate", "m.json", "--json")
    assert told.exit_code == 1
    faults = {(fault["index"], fault["field"]) for fault in json.loads(told.stdout)["errors"]}
    assert faults == {(1, "outcome"), (1, "odd\x1b[2Jkey\n"), (1, "record")}
    loaded = at_once("load", "m.json")
    assert loaded.exit_code == 1
    assert loaded.stdout.splitlines()[0] == "1 of 2 memories stored, 1 rejected"
    assert answered("stats")["records"] == 1


def test_long_work_shows_its_progress_on_a_terminal_alone() -> None:
    made = at_once("tree", "generate", "500").stdout
    Path("m.jsonl").write_text(made)
    assert "100%" in on_a_terminal("load", "m.jsonl")
    assert hardwon_does("--memory", "other", "load", "m.jsonl").stderr == ""


def test_the_examples_of_the_help_work() -> None:
    ran = []
    with Memory("brain") as memory:
        texts = [f"Port {number} is open." for number in range(80, 84)]
        kept = [memory.record_fact(text, "observation").id for text in texts]
        first, verified, older, newer = kept
        ids = dict.fromkeys(COMMANDS, first) | {"undo": memory.rollback("somebody").id}
        ids |= {"care publish": verified, "care supersede": older}
        memory.verify(verified, "compiler")
        failed = {"action": "make test", "observation": "KeyError: 'DATABASE_URL'", "ok": False}
        cured = [{"action": action, "ok": True} for action in ("make migrate", "make test")]
        memory.record_trajectory("make the tests pass", [failed, *cured])
        lesson_id = memory.lessons()[0].id
    subprocess.run(["git", "init", "-q"], check=True)
    Path("old").mkdir()
    legacy_fixes.make(Path("old/ai_memory.db"), [{}])
    for name, value in JSON_FILES.items():
        Path(name).write_text(json.dumps(value))
    for name in (".claude/projects/s.jsonl", ".codex/sessions/2026/s.jsonl", "traces.jsonl"):
        file = Path(name) if name == "traces.jsonl" else Path.home() / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}\n")
    issue = {"model": "m", "issue_type": "TIMEOUT"}
    AIMemory("AIMemory").record_fix_attempt(issue, {"analysis": "wait"}, True, True, 1.0)
    database = postgres_server.fresh_database()
    postgres_server.server().run(f"CREATE ROLE {USER_IN_EXAMPLES} LOGIN")
    # it ends when it is told to: tests/surfaces/test_rest.py does
    ending = [name for name in COMMANDS if name != "serve"]
    ordered = [*FIRST, *(name for name in ending if name not in FIRST)]
    for command in ordered:
        meant = {ID_IN_EXAMPLES: ids[command], ANOTHER_ID_IN_EXAMPLES: newer}
        meant |= {LESSON_ID_IN_EXAMPLES: lesson_id, DATABASE_IN_EXAMPLES: database}
        for example in (example for owner, example in EXAMPLES if owner == command):
            line = example
            for placeholder, value in meant.items():
                line = line.replace(placeholder, value)
            ran.append(command)
            if ">" in line or "|" in line:  # for a shell
                line = f'hardwon() {{ {warm.python()} -m {warm.MAIN} "$@"; }}; {line}'
                run_program("bash", "-c", line)
                continue
            done = at_once(*shlex.split(line)[1:])
            assert done.exit_code == 0, f"{example}: {done.output}"
            if "--json" in example:
                check_json(command, json.loads(done.stdout))
    assert set(ran) == set(ending)
    postgres_server.drop(database)
    postgres_server.server().run(f"DROP ROLE {USER_IN_EXAMPLES}")


@pytest.mark.parametrize(
    "command",
    ["stats", "recall x", "tree map", "show x", "forget x --yes", "advise x", "undo x", "doctor"],
)
def test_reading_makes_no_memory_where_a_name_was_mistyped(command: str) -> None:
    done = at_once("--memory", "nowhere", *command.split())
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("hardwon: there is no memory at nowhere: check --memory")
    assert not Path("nowhere").exists()
    Path("nowhere").mkdir()
    assert at_once("--memory", "nowhere", *command.split()).exit_code == 1
    assert not list(Path("nowhere").iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("remember", "x", *FAILURE, "--key", "service"), "a key and its value"),
        (("remember", "x", *FAILURE, "--key", "=v"), "a key and its value"),
        (("remember", "x", *FAILURE, "--key", "error_type=logic"), "not given otherwise"),
        (("remember", "x", *FAILURE, "--key", "id=1"), "keys that no record has already"),
        (("remember", " ", *FAILURE), "content"),
        (("remember", "x", "--outcome", "fine"), "outcome"),
        (("remember", "x", "--outcome", "failure", "--tool", "hammer\n"), "tool"),
        (("recall", "x", "--since", "yesterday"), "since"),
        (("recall", "x", "--kind", "dream"), "kind"),
        (("tree", "generate", "0"), "size"),
        (("tree", "generate", "1" * 5000), "size"),
        (("tree", "validate", "nowhere.json"), "cannot read"),
        (("tree", "validate", "."), "cannot read"),
        (("load", "."), "cannot read"),
        (("load", "nowhere.jsonl"), "cannot read nowhere.jsonl: there is no such file"),
        (("record", "fact"), "content is missing; fact_type is missing"),
        (("record", "fact", "--from-json", "nowhere.json"), "No such file"),
        (("record", "episode", "."), "Is a directory"),
        (("care", "archive", "nonsense", "--reason", "x"), "a UUID"),
        (("care", "audit", "nonsense"), "never was one"),
        (("care", "rollback", " ", "--reason", "x"), "source"),
        (("care", "check-stale", "--repo", "/"), "inside a git checkout"),
        (("advise", " "), "action"),
        (("context", "x", "--issue", "no JSON"), "--issue"),
        (("context", "x", "--issue", '{"model": 3}'), "model: 3"),
        (("context", "x", "--budget-tokens", "0", "--solved-from", "7"), "solved_from: 7.0"),
        (("browse", "--since", "yesterday"), "since"),
        (("show", "nonsense"), "there is no record nonsense"),
        (("show", "fff"), "an id, or 4 characters of its beginning"),
        (("forget", "aa", "bb"), "4 characters of its beginning"),
        (("forget", "--yes"), "ids or at least one filter, not both"),
        (("forget", "x", "--author", "ann", "--yes"), "ids or at least one filter, not both"),
        (("undo", "nonsense"), "there is no decision"),
        (("--project", " ", "stats"), "project"),
        (("--memory", "a.txt\0", "remember", "x", *FAILURE), "location"),
    ],
)
def test_what_is_refused_is_told_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    with Memory("brain"):
        done = at_once(*arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("hardwon: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


WRONG_USAGE = """recall; recall x -k many; stats --what; remember; tree map --depth 0; rules --limit 0
rules --state odd; verify x --by me; care supersede a b; care rollback agent-7; adopt old_brain --kind brain
stats --memory; tree generate; credit 0198c0de-0000-7000-8000-000000000001; recal"""


@pytest.mark.parametrize("arguments", re.split("; |\n", WRONG_USAGE))
def test_wrong_usage_has_an_exit_code_of_its_own(arguments: str) -> None:
    done = at_once(*arguments.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert ("Did you mean 'recall'?" if arguments == "recal" else "Error: ") in done.stderr


SIGNS = st.characters(exclude_characters="\0/", exclude_categories=["Cs"])
WORDS = (
    "--json -k --key a=b --outcome failure --depth 2 --limit -- --since 2026-01-01 --all".split()
)
ODD = [*"-1 0 1e400 nan {} [ null ~nobody x.db".split(), "", "9" * 400, "\udcff", "a\x1b[31m\nb"]
VALUES = st.text(SIGNS, max_size=8) | st.sampled_from(WORDS) | st.sampled_from(ODD)


@st.composite
def _calls(draw: st.DrawFn) -> list[str]:
    """A command with options of its own, each with a value that it may not expect."""
    name = draw(st.sampled_from([each for each in COMMANDS if each not in NEVER_AT_ONCE]))
    params = [max(param.opts, key=len) for param in BUILT[name].params]
    options = st.sampled_from([option for option in params if option.startswith("-")] + ["--help"])
    pairs = draw(st.lists(st.tuples(options, VALUES), max_size=3))
    arguments = draw(st.lists(VALUES, max_size=2))
    return [*name.split(), *arguments, *(word for pair in pairs for word in pair)]


NEVER_AT_ONCE = ("run", "serve")  # one would run the words, the other would serve until it is ended
ODD_INPUTS = ['{"a": NaN}', "[" * 5000, "{}\n[]", '"\\ud800"', "null", "\0"]
STDIN = st.text(max_size=50) | st.sampled_from(ODD_INPUTS)


@given(_calls(), STDIN)
@settings(max_examples=examples(300))
def test_no_option_and_no_input_makes_a_traceback(call: list[str], stdin: str) -> None:
    done = at_once(*call, stdin=stdin)
    assert done.exit_code in (0, 1, 2), (done.exception, done.output)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    if "--json" in call and done.exit_code == 0 and done.stdout and "--help" not in call:
        assert done.stdout.isascii()


def test_the_environment_names_the_memory_and_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once("--memory", "other", "--project", "red", "remember", "x", *FAILURE)
    monkeypatch.setenv("HARDWON_MEMORY", "other")
    unnamed = at_once("stats")
    nothing = "nothing is in the project default of this memory, which has red"
    assert unnamed.stderr == f"hardwon: {nothing}: --project names one\n"
    at_the_end = at_once("stats", "--project=red", "--memory=other")
    assert (at_the_end.exit_code, at_the_end.stderr) == (0, "")
    monkeypatch.setenv("HARDWON_PROJECT", "red")
    found = answered("stats")
    assert (found["records"], found["project"]) == (1, "red")
    assert found["location"] == str(Path("other/memory.db").resolve())


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
    # the output of `run` is a command's, that of `hooks run` is git's
    assert len(COMMANDS) - len(PRINTS_JSON) <= 2


def test_the_memory_may_be_named_anywhere(tmp_path: Path) -> None:
    named = ["--memory", str(tmp_path / "elsewhere")]
    kept = ["remember", "it failed", "--outcome", "failure", "--tool", "unknown"]
    assert at_once(*kept, *named).exit_code == 0
    for words in (["stats", *named, "--json"], [*named, "stats", "--json"]):
        found = json.loads(at_once(*words).stdout)
        assert (found["records"], found["project"]) == (1, "default")
    # what is to be run keeps its own options
    script = "import sys; sys.exit(0 if sys.argv[1:] == ['--memory', 'x'] else 3)"
    run = [*named, "run", sys.executable, "-c", script, "--memory", "x"]
    assert at_once(*run).exit_code == 0
