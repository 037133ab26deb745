"""The everyday commands, as a shell sees them: init, record, context, advise, records by
themselves, and small reports.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from command_line import (
    answered,
    as_http_answers,
    at_once,
    check_json,
    hardwon_does,
    on_a_terminal,
    refused,
)
from hardwon import Episode, Fix, Memory, limits
from hardwon.surfaces.cli.views import Screen, draw_table

ISSUE = {"model": "m", "issue_type": "TIMEOUT", "description": "no answer in 30 s"}

pytestmark = pytest.mark.usefixtures("own_folder")


def a_fact(content: str = "Port 80 is open.", **envelope: Any) -> str:
    with Memory("brain") as memory:
        return memory.record_fact(content, "observation", **envelope).id


def kept() -> list[Any]:
    with Memory("brain") as memory:
        return list(memory.browse())


def fill() -> None:
    """Something to report on, in every report."""
    with Memory("brain") as memory:
        for number in range(6):
            memory.record_episode(
                "easy",
                0.9 if number % 2 else 0.1,
                successes=["read the logs first"] if number % 2 else [],
                mistakes=[] if number % 2 else ["guessed the schema"],
                mistake_cards=[]
                if number % 2
                else [{"mistake_type": "guess", "bad_decision": "a", "correct_decision": "b"}],
                author=f"agent {number}",
                recalled=[] if number % 2 else None,
            )
            memory.record_fix(
                ISSUE, True, number > 0, "too little memory", ["ollama serve"], fixer_type="qwen"
            )
        steps = [
            {
                "action": "pytest",
                "observation": "ModuleNotFoundError: No module named 'torch'",
                "reward": 0.0,
            },
            {"action": "pip install torch", "observation": "installed", "reward": 1.0},
        ]
        memory.record_trajectory("make the tests pass", steps, 1.0)
        memory.rollback("mallory", "poisoned")


# --- init ---


def test_a_memory_is_made_where_one_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    subprocess.run(["git", "init", "-q"], check=True)
    told = at_once("init")
    place = Path(".hardwon/memory.db").resolve()
    assert (told.exit_code, told.stdout.splitlines()[0]) == (
        0,
        f"a new memory: {place}, project {Path.cwd().name}",
    )
    assert Path(".hardwon").stat().st_mode & 0o777 == 0o700
    assert at_once("remember", "x", "--outcome", "failure", "--tool", "unknown").exit_code == 0
    Path("deeper").mkdir()
    monkeypatch.chdir("deeper")
    assert answered("stats")["location"] == str(place)
    monkeypatch.chdir("..")
    assert answered("init") == {
        "location": str(place),
        "project": Path.cwd().name,
        "created": False,
        "tree": None,
    }
    assert answered("stats")["records"] == 1


def committed() -> set[str]:
    """What git would take in of this folder."""
    subprocess.run(["git", "add", "-A"], check=True)
    return set(
        subprocess.run(
            ["git", "ls-files"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    )


def test_git_sees_of_a_memory_its_settings_and_its_tree_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".git/info/exclude").write_text("user-data/\n")  # the user's folder is here, too
    answered("init")
    kept = answered(
        "remember", "x", "--outcome", "failure", "--tool", "unknown", "--summary", "a thing"
    )
    assert kept["path"] is None
    assert committed() == set()
    answered("init", "--tree")
    (file,) = Path(".hardwon").rglob("*a_thing*.json")
    assert committed() == {".hardwon/.gitignore", str(file)}


def test_init_leaves_a_gitignore_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    Path(".hardwon").mkdir()
    mine = Path(".hardwon/.gitignore")
    mine.write_text("*.tmp\n")
    assert answered("init")["created"]
    assert mine.read_text() == "*.tmp\n"
    answered("init", "--tree")
    assert mine.read_text() == "*.tmp\n"
    mine.unlink()
    answered("init")
    assert not mine.exists()  # it was taken away on purpose


def test_what_init_says_to_do_next_can_be_typed() -> None:
    told = at_once("--memory", "my brain", "--project", "red", "init").stdout
    for line in told.splitlines()[1:]:
        words = line.split("hardwon ", 1)[1].replace("COMMAND", "true")
        done = hardwon_does(*shlex.split(words))
        said = {
            "remember": "hardwon: kept as learning; --outcome says otherwise\n",
            "context": "hardwon: nothing that is recorded is about this\n",
        }.get(shlex.split(words)[4], "")
        assert (done.returncode, done.stderr) == (0, said), line
    with Memory("my brain", "red") as memory:
        assert memory.stats().records == 2


def test_init_leaves_nothing_behind_where_no_memory_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    refused("--project", " ", "init")
    assert not Path(".hardwon").exists()
    Path(".hardwon").write_text("mine")
    assert "is not a folder" in refused("init")
    assert Path(".hardwon").read_text() == "mine"


# --- record ---


def test_a_fact_from_options_is_stated_and_strengthened() -> None:
    Path("db.py").write_text("x")
    arguments = (
        "record",
        "fact",
        "db.py uses port 5433.",
        "--fact-type",
        "observation",
        "--confidence",
        "0.9",
    )
    first = answered(
        *arguments, "--tag", "db", "--tag", "net", "--author", "ann", "--file", "db.py"
    )
    (record,) = first["records"]
    assert first["ids"] == [record["id"]]
    assert (record["content"], record["confidence"], record["entities"]["files"]) == (
        "db.py uses port 5433.",
        0.9,
        ["db.py"],
    )
    assert (record["metadata"]["tags"], record["metadata"]["source"]["author"]) == (
        ["db", "net"],
        "ann",
    )
    assert record["metadata"]["context"]["related_files"][0]["hash"]
    assert answered(*arguments)["ids"] == first["ids"]


def test_what_keeps_a_fact_from_standing_alone_is_told() -> None:
    done = at_once("record", "fact", "He fixed it.", "--fact-type", "solution")
    assert done.exit_code == 0
    assert done.stdout == f"{kept()[0].id}\n"
    assert "does not stand alone: pronoun" in done.stderr


def test_an_episode_from_options() -> None:
    before = a_fact()
    answered("record", "episode", "easy", "--score", "0.4", "--steps", "7", "--mistake", "guessed", "--mistake", "hurried",
             "--success", "read", "--trajectory-summary", "in short",
             "--recalled", before)  # fmt: skip
    episode = kept()[0]
    assert isinstance(episode, Episode)
    assert (episode.task_id, episode.score, episode.steps, episode.trajectory_summary) == (
        "easy",
        0.4,
        7,
        "in short",
    )
    assert (episode.mistakes, episode.successes, episode.recalled) == (
        ["guessed", "hurried"],
        ["read"],
        [before],
    )


def test_a_fix_from_options() -> None:
    answered("record", "fix", "no answer", "--model", "m", "--issue-type", "TIMEOUT", "--error-output", "E", "--fix-success",
             "--verification-failure", "--fix-command", "one", "--fix-command", "two", "--analysis", "why",
             "--fixer-type", "qwen")  # fmt: skip
    fix = kept()[0]
    assert isinstance(fix, Fix)
    assert (
        fix.issue.model,
        fix.issue.issue_type,
        fix.issue.description,
        fix.issue.error_output,
    ) == (
        "m",
        "TIMEOUT",
        "no answer",
        "E",
    )
    assert (fix.fix_success, fix.verification_success, fix.fix_commands) == (
        True,
        False,
        ["one", "two"],
    )
    assert (fix.analysis, fix.fixer_type) == ("why", "qwen")


JSON_OF_KIND: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "fact": (
        {"content": "Port 80 is open.", "fact_type": "observation"},
        {"content": "Port 81 is shut.", "fact_type": "error"},
    ),
    "episode": ({"task_id": "a", "score": 0.1}, {"task_id": "b", "score": 1, "tags": ["own"]}),
    "fix": (
        {"issue": ISSUE, "fix_success": True, "verification_success": True},
        {"issue": {}, "fix_success": False, "verification_success": False},
    ),
    "trajectory": (
        {"steps": [{"action": "a"}], "final_reward": 0.5},
        {"task": "t", "steps": [], "final_reward": 0},
    ),
}


@pytest.mark.parametrize("kind", JSON_OF_KIND)
@pytest.mark.parametrize("layout", ["lines", "list", "file"])
def test_many_from_json_are_kept_in_one_transaction(kind: str, layout: str) -> None:
    given = JSON_OF_KIND[kind]
    text = {
        "lines": "\n".join(map(json.dumps, given)) + "\n\n",
        "list": json.dumps(given),
        "file": "\ufeff" + "\n".join(map(json.dumps, given)),
    }[layout]
    Path("given.jsonl").write_text(text)
    source = ["--from-json", "given.jsonl"] if layout == "file" else ["-"]
    done = at_once("record", kind, *source, "--tag", "mine", "--json", stdin=text)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [each["id"] for each in found["records"]] == found["ids"]
    assert len(found["ids"]) == 2
    for record, said in zip(found["records"], given, strict=True):
        assert record["kind"] == kind
        assert record["metadata"]["tags"] == said.get("tags", ["mine"])
    assert {each.id for each in kept()} == set(found["ids"])


def test_one_that_is_refused_keeps_the_others_out() -> None:
    lines = [json.dumps(each) for each in (*JSON_OF_KIND["episode"], {"task_id": "c", "score": 7})]
    done = at_once("record", "episode", "--from-json", "-", stdin="\n".join(lines))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("hardwon: record 3: score: 7 is not allowed")
    assert kept() == []


def test_a_fact_that_is_said_twice_among_many_is_kept_once() -> None:
    line = json.dumps(JSON_OF_KIND["fact"][0])
    done = at_once("record", "fact", "-", "--json", stdin=f"{line}\n{line}\n")
    first, second = json.loads(done.stdout)["ids"]
    assert first == second
    assert len(kept()) == 1


def test_no_secret_of_a_mistake_card_is_kept() -> None:
    secret = " ghp_" + "a1B2" * 9
    card = {"evidence": "x" * (limits.CARD_TEXT_CHARS_MAX - 20) + secret}
    at_once(
        "record",
        "episode",
        "-",
        stdin=json.dumps({"task_id": "a", "score": 0, "mistake_cards": [card]}),
    )
    assert "ghp_" not in kept()[0].to_json()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one JSON object"),
        ("[]", "at least one JSON object"),
        ("3", "JSON objects"),
        ("[[1]]", "JSON objects"),
        ('{"a": 1', "JSON objects"),
        ('{"task_id": "a", "score": NaN}', "a finite number"),
        ("[" * 100_000, "JSON objects"),
        ('{"score": ' + "1" * 5_000 + "}", "JSON objects"),
        ('{"id": "x"}', "load and add take whole records"),
        ('{"score": 1}', "task_id"),
        ('{"task_id": "a", "score": 1, "odd\\u001b": 1}', "no such field"),
    ],
)
def test_json_that_is_none_is_told_in_one_line_and_makes_no_record(text: str, said: str) -> None:
    done = at_once("record", "episode", "-", stdin=text)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert said in done.stderr
    assert "\x1b" not in done.stderr
    assert not Path("brain").exists() or kept() == []


def test_what_cannot_be_read_is_told_and_makes_no_memory() -> None:
    assert "No such file" in refused("record", "fact", "--from-json", "nowhere.json")
    assert "Is a directory" in refused("record", "fact", "--from-json", ".")
    Path("latin.json").write_bytes(b'{"content": "\xe9"}')
    assert "UTF-8" in refused("record", "fact", "--from-json", "latin.json")
    assert at_once("record", "fact", "-", "--from-json", "latin.json").exit_code == 2
    assert "JSON objects" in refused("record", "trajectory", "t", "--step", "{} {}")
    assert not Path("brain").exists()


def test_more_than_one_transaction_should_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TRANSACTION_RECORDS_MAX", 2)
    done = at_once("record", "episode", "-", stdin='{"task_id": "a", "score": 1}\n' * 3)
    assert (done.exit_code, kept()) == (1, [])
    assert "hardwon load takes in more" in done.stderr
    monkeypatch.setattr(limits, "RECORDED_JSON_BYTES_MAX", 10)
    assert (
        "10 bytes" in at_once("record", "episode", "-", stdin='{"task_id": "a", "score": 1}').stderr
    )


# --- before the next attempt ---


def test_a_context_is_printed_as_it_is() -> None:
    a_fact("The staging database listens on port 5433.")
    done = hardwon_does("context", "staging database")
    body = re.sub(r"<(/?)hardwon-memory \w+>", r"<\1fence>", done.stdout)
    with Memory("brain") as memory:
        context = memory.context("staging database")
    assert body == re.sub(r"<(/?)hardwon-memory \w+>", r"<\1fence>", str(context))
    assert not body.endswith("\n")
    assert on_a_terminal("context", "staging database").endswith("\n")
    found = as_http_answers("context", "staging database")
    assert ([hit["record"]["id"] for hit in found["hits"]], found["evidence"]) == (
        context.ids,
        list(context.evidence),
    )
    assert found["tokens"] <= limits.CONTEXT_TOKENS


def test_a_context_keeps_to_its_task_issue_and_budget() -> None:
    fill()
    text = answered(
        "context", "--task-id", "easy", "--issue", json.dumps(ISSUE), "--budget-tokens", "300"
    )
    assert "ollama serve" in text["text"]
    assert 0 < text["tokens"] <= 300
    assert "--issue" in refused("context", "x", "--issue", "no JSON")
    assert "model: 3" in refused("context", "x", "--issue", '{"model": 3}')
    told = refused("context", "x", "--budget-tokens", "0", "--solved-from", "7")
    assert "budget_tokens: 0" in told
    assert "solved_from: 7.0" in told


def test_advice_can_end_a_script() -> None:
    steps = [{"action": "make deploy", "observation": "ERROR: no such host", "reward": 0.0}]
    with Memory("brain") as memory:
        for _ in range(3):
            memory.record_trajectory("ship", steps, 0.0)
    found = answered("advise", "make deploy", "--task", "ship")
    assert (found["verdict"], found["failures"]) == ("blocked", 3)
    assert len(found["evidence"]) == 3
    told = at_once("advise", "make deploy", "--task", "ship")
    assert (told.exit_code, told.stdout) == (0, f"{found['message']}\n")
    assert at_once("advise", "make deploy", "--task", "ship", "--fail-if-blocked").exit_code == 1
    assert (
        at_once("advise", "make deploy", "--task", "ship", "--fail-if-blocked", "--json").exit_code
        == 1
    )
    assert at_once("advise", "ls", "--fail-if-blocked").exit_code == 0
    assert at_once("advise", "ls", "--author", "ann").exit_code == 0
    assert "action" in refused("advise", " ")


# --- records by themselves ---


def test_records_are_listed_newest_first() -> None:
    ids = [
        a_fact(f"Port {number} is \x1b[31mopen.", tags=[f"t{number % 2}"]) for number in range(5)
    ]
    assert [each["id"] for each in answered("browse")["records"]] == ids[::-1]
    first = as_http_answers("browse", "--tag", "t1", "--limit", "1")
    second = as_http_answers("browse", "--tag", "t1", "--limit", "1", "--cursor", first["next"])
    assert [each["id"] for page in (first, second) for each in page["records"]] == [ids[3], ids[1]]
    assert answered("browse", "--kind", "fix") == {"records": [], "next": None}
    lines = at_once("browse", "--limit", "2").stdout.splitlines()
    assert ids[4] in lines[0]
    assert lines[1].startswith("  Port 4 is")
    assert lines[-1] == "The newest 2; there are more."
    assert "\x1b" not in "".join(lines)
    assert at_once("browse", "--author", "nobody").stdout == "No records.\n"
    assert answered("browse", "--until", "2020-01-01")["records"] == []
    assert "since" in refused("browse", "--since", "yesterday")


def test_the_filters_are_the_same_everywhere() -> None:
    def filters_of(name: str) -> set[str]:
        return set(
            re.findall(r"^  --([a-z-]+)", at_once(*name.split(), "--help").stdout, re.MULTILINE)
        )

    whole = filters_of("recall") - {"as-of", "json", "limit"}
    assert len(whole) == 19
    assert whole <= filters_of("browse")
    assert whole <= filters_of("forget")


def test_one_record_is_shown_whole() -> None:
    text = "Port 80 is open.\nIt is \x1b[31mred."
    record = a_fact(text, tags=["net"])
    lines = at_once("show", record).stdout.splitlines()
    assert lines[0] == "kind: fact"
    assert "content:" in lines
    assert r"  It is \x1b[31mred." in lines
    assert "  tags: net" in lines
    assert lines.index("metadata:") > lines.index("content:")
    assert answered("show", record)["content"] == text
    assert "there is no record nonsense" in refused("show", "nonsense")


def test_nothing_is_forgotten_before_somebody_agrees() -> None:
    record = a_fact("Port 80 is open.", author="mallory")
    other = a_fact("Port 81 is shut.", author="ann")
    asked = at_once("forget", "--author", "mallory")
    assert asked.exit_code == 1
    assert record in asked.stdout
    assert "1 record would be forgotten" in asked.stdout
    assert asked.stderr == "hardwon: nothing was changed: add --yes to do it\n"
    assert answered("forget", record, "--dry-run")["ids"] == [record]
    assert "nothing was changed" in on_a_terminal("forget", record, answer="n\n", code=1)
    assert len(kept()) == 2
    assert "1 record forgotten" in on_a_terminal("forget", "--author", "mallory", answer="y\n")
    assert [each.id for each in kept()] == [other]


def test_forget_must_be_told_what() -> None:
    a_fact()
    for arguments in ((), ("--yes",), ("x", "--author", "ann", "--yes")):
        assert "ids or at least one filter, not both" in refused("forget", *arguments)
    assert len(kept()) == 1


def test_credit_is_given_and_taken() -> None:
    one, other = a_fact(), a_fact("Port 81 is shut.")
    assert as_http_answers(
        "credit", one.upper(), other, "nonsense", "--helped", complaints=True
    ) == [one, other]
    told = at_once("credit", one, "nonsense", "--did-not-help", "--by", "ann")
    assert (told.stdout, told.stderr) == (
        "1 record did not help\n",
        "hardwon: there is no record nonsense\n",
    )
    life = [
        (each["event"]["helped"], each["by"]) for each in answered("care", "audit", one)["life"][1:]
    ]
    assert life == [(True, "user"), (False, "ann")]
    assert at_once("credit", one).exit_code == 2


def test_a_record_gives_way_to_another() -> None:
    old, new = a_fact(), a_fact("Port 80 is shut.")
    told = at_once("care", "supersede", old, new, "--reason", "measured again", "--by", "ann")
    assert (told.exit_code, told.stdout) == (0, f"{old} is archived\n")
    assert as_http_answers("care supersede", old, new, "--reason", "once more")["id"] == old
    assert answered("care", "audit", old)["links"]["replaced_by"] == new
    assert "another record" in refused("care", "supersede", new, new, "--reason", "x")
    assert "there is no record" in refused(
        "care", "supersede", new, "0198c0de-0000-7000-8000-000000000001", "--reason", "x"
    )


# --- small reports ---

REPORTS = {
    "rules easy": "read the logs first",
    "episodes cards easy": "guess",
    "episodes tasks": "first seen",
    "episodes compare": "with memory: mean 0.900 of 3 episodes; without memory: mean 0.100 of 3 "
    "episodes",
    "episodes compare --task-id easy --with-tag none --by-run": "too few to compare",
    "care decisions --action rollback": "mallory",
    "fixes similar slow --model m --issue-type TIMEOUT": "ollama serve",
    "fixes strategies TIMEOUT": "ollama serve",
    "fixes strategies NEW --failed": "failed more often than not",
}


def test_a_report_is_for_people_and_for_programs() -> None:
    fill()
    for command, said in REPORTS.items():
        told = at_once(*command.split())
        assert (told.exit_code, told.stderr) == (0, ""), command
        assert said in told.stdout
        assert not re.search(r"\dT\d|None|[{}]", told.stdout), "times and objects are for programs"
        assert answered(*command.split()) is not None


def test_a_report_on_nothing_says_so() -> None:
    with Memory("brain"):
        for command in REPORTS:
            told = at_once(*command.split())
            assert (told.exit_code, told.stderr) == (0, ""), command
            assert told.stdout.strip() not in ("", "[]", "None.")


ANSWERS = [
    *REPORTS,
    "init",
    "context torch",
    "advise pytest",
    "browse",
    "record fact X. --fact-type error",
    "credit {id} --helped",
    "forget {id} --dry-run",
    "show {id}",
    "care supersede {id} {other} --reason x",
]


def test_the_json_is_what_http_answers_or_every_key_of_it_is_told() -> None:
    fill()
    ids = {"id": a_fact(), "other": a_fact("Port 81 is shut.")}
    for command in ANSWERS:
        words = [word.format(**ids) for word in command.split()]
        check_json(command, answered(*words))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fixes", "similar", "--issue", "[]"), "JSON object"),
        (("episodes", "compare", "--since", "odd"), "since"),
        (("fixes", "similar"), "issue is missing; allowed: one or more of --model, "),
    ],
)
def test_what_a_report_cannot_tell_is_said_in_one_line(
    arguments: tuple[str, ...], said: str
) -> None:
    with Memory("brain"):
        assert said in refused(*arguments)


# --- how they are drawn ---


def test_a_table_fits_where_it_is_drawn() -> None:
    rows = [
        {
            "name": "a\x1b[31m",
            "number": 1.23456,
            "text": "word " * 30,
            "at": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
            "yes": True,
        },
        {"name": "längerer Name", "number": None, "text": ("one", "two"), "at": None, "yes": False},
    ]
    columns = ("name", "number", "text", "at", "yes")
    for width in (60, 80, 200):
        lines = draw_table(Screen(width), rows, columns).splitlines()
        assert max(map(len, lines)) <= width
        assert sum(line.count("word") for line in lines) > 3
    wide = draw_table(Screen(300), rows, columns).splitlines()
    assert wide[0].split() == ["name", "number", "text", "at", "yes"]
    assert r"a\x1b[31m" in wide[1]
    assert re.search(r"  1\.23  word word", wide[1])
    assert wide[1].endswith("2026-01-02 03:04  yes")
    assert "one, two" in wide[2]
    assert draw_table(Screen(), [], ("name",), "Nothing.") == "Nothing."
