"""The everyday commands, as a shell sees them, and what makes them pleasant by hand."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from checkouts import git
from command_line import (
    answered,
    as_http_answers,
    at_once,
    check_json,
    hardwon_does,
    on_a_terminal,
    refused,
)
from hardwon import Memory, limits
from hardwon.surfaces.cli import base, main
from hardwon.surfaces.cli.views import draw_table, unstyle

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
    card = {"mistake_type": "guess", "bad_decision": "a", "correct_decision": "b"}
    failed: dict[str, Any] = {"mistakes": ["guessed the schema"], "mistake_cards": [card]}
    went_well: dict[str, Any] = {"successes": ["read the logs first"], "recalled": []}
    with Memory("brain") as memory:
        for number in range(6):
            told = {"author": f"agent {number}", **(went_well if number % 2 else failed)}
            memory.record_episode("easy", 0.9 if number % 2 else 0.1, **told)
            worked = number > 0
            memory.record_fix(ISSUE, True, worked, "no memory", ["ollama serve"], fixer_type="qwen")
        missing = "ModuleNotFoundError: No module named 'torch'"
        steps = [
            {"action": "pytest", "observation": missing, "reward": 0.0},
            {"action": "pip install torch", "observation": "installed", "reward": 1.0},
        ]
        memory.record_trajectory("make the tests pass", steps, 1.0)
        memory.rollback("mallory", "poisoned")


def test_a_memory_is_made_where_one_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    git(Path(), "init", "-q")
    told = at_once("init")
    place, project = Path(".hardwon/memory.db").resolve(), Path.cwd().name
    assert told.exit_code == 0
    assert told.stdout.splitlines()[0] == f"a new memory: {place}, project {project}"
    assert Path(".hardwon").stat().st_mode & 0o777 == 0o700
    assert at_once("remember", "x", "--outcome", "failure", "--tool", "unknown").exit_code == 0
    Path("deeper").mkdir()
    monkeypatch.chdir("deeper")
    assert answered("stats")["location"] == str(place)
    monkeypatch.chdir("..")
    made = {"location": str(place), "project": project, "created": False, "tree": None}
    assert answered("init") == made
    assert answered("stats")["records"] == 1


def committed() -> set[str]:
    """What git would take in of this folder."""
    git(Path(), "add", "-A")
    return set(git(Path(), "ls-files").splitlines())


def test_git_sees_of_a_memory_its_tree_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    git(Path(), "init", "-q")
    Path(".git/info/exclude").write_text("user-data/\n")  # the user's folder is here, too
    answered("init")
    how = ("--outcome", "failure", "--tool", "unknown", "--summary", "a thing")
    assert answered("remember", "x", *how)["path"] is None
    assert committed() == set()
    answered("init", "--tree")
    (file,) = Path(".hardwon").rglob("*a_thing*.json")
    assert committed() == {".hardwon/.gitignore", str(file)}


def test_a_fact_from_options_is_stated_and_strengthened() -> None:
    Path("db.py").write_text("x")
    text = "db.py uses port 5433."
    arguments = ("record", "fact", text, "--fact-type", "observation", "--confidence", "0.9")
    about = "--tag db --tag net --author ann --file db.py".split()
    first = answered(*arguments, *about)
    (record,) = first["records"]
    assert first["ids"] == [record["id"]]
    assert (record["content"], record["confidence"]) == (text, 0.9)
    assert record["entities"]["files"] == ["db.py"]
    metadata = record["metadata"]
    assert (metadata["tags"], metadata["source"]["author"]) == (["db", "net"], "ann")
    assert metadata["context"]["related_files"][0]["hash"]
    assert answered(*arguments)["ids"] == first["ids"]


def test_what_keeps_a_fact_from_standing_alone_is_told() -> None:
    done = at_once("record", "fact", "He fixed it.", "--fact-type", "solution")
    assert done.exit_code == 0
    assert done.stdout == f"{kept()[0].id}\n"
    assert "does not stand alone: pronoun" in done.stderr


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
    objects = JSON_OF_KIND[kind]
    lines = "\n".join(map(json.dumps, objects))
    texts = {"lines": f"{lines}\n\n", "list": json.dumps(objects), "file": f"\ufeff{lines}"}
    text = texts[layout]
    Path("given.jsonl").write_text(text)
    source = ["given.jsonl"] if layout == "file" else ["-"]
    source = ["--from-json", *source] if kind == "fact" else source
    done = at_once("record", kind, *source, "--tag", "mine", "--json", stdin=text)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [each["id"] for each in found["records"]] == found["ids"]
    assert len(found["ids"]) == 2
    for record, said in zip(found["records"], objects, strict=True):
        assert record["kind"] == kind
        assert record["metadata"]["tags"] == said.get("tags", ["mine"])
    assert {each.id for each in kept()} == set(found["ids"])


def test_one_that_is_refused_keeps_the_others_out() -> None:
    lines = [json.dumps(each) for each in (*JSON_OF_KIND["episode"], {"task_id": "c", "score": 7})]
    done = at_once("record", "episode", stdin="\n".join(lines))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("hardwon: record 3: score: 7 is not allowed")
    assert kept() == []


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
    assert [hit["record"]["id"] for hit in found["hits"]] == context.ids
    assert found["evidence"] == list(context.evidence)
    assert found["tokens"] <= limits.CONTEXT_TOKENS


def test_a_context_keeps_to_its_task_issue_and_budget() -> None:
    fill()
    about = ("--task-id", "easy", "--issue", json.dumps(ISSUE), "--budget-tokens", "300")
    text = answered("context", *about)
    assert "ollama serve" in text["text"]
    assert 0 < text["tokens"] <= 300


def test_advice_can_end_a_script() -> None:
    steps = [{"action": "make deploy", "observation": "ERROR: no such host", "reward": 0.0}]
    with Memory("brain") as memory:
        for _ in range(3):
            memory.record_trajectory("ship", steps, 0.0)
    asked = ("advise", "make deploy", "--task", "ship")
    found = answered(*asked)
    assert (found["verdict"], found["failures"]) == ("blocked", 3)
    assert len(found["evidence"]) == 3
    told = at_once(*asked)
    assert (told.exit_code, told.stdout) == (0, f"{found['message']}\n")
    assert at_once(*asked, "--fail-if-blocked").exit_code == 1
    assert at_once(*asked, "--fail-if-blocked", "--json").exit_code == 1
    assert at_once("advise", "ls", "--fail-if-blocked").exit_code == 0
    assert at_once("advise", "ls", "--author", "ann").exit_code == 0


def test_records_are_listed_newest_first() -> None:
    ids = [a_fact(f"Port {n} is \x1b[31mopen.", tags=[f"t{n % 2}"]) for n in range(5)]
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


def test_credit_is_given_and_taken() -> None:
    one, other = a_fact(), a_fact("Port 81 is shut.")
    asked = (one.upper(), other, "nonsense", "--helped")
    assert as_http_answers("credit", *asked, complaints=True) == [one, other]
    told = at_once("credit", one, "nonsense", "--did-not-help", "--by", "ann")
    assert told.stdout == "1 record did not help\n"
    assert told.stderr == "hardwon: there is no record nonsense\n"
    life = answered("care", "audit", one)["life"][1:]
    happened = [(each["event"]["helped"], each["by"]) for each in life]
    assert happened == [(True, "user"), (False, "ann")]


def remember(*texts: str) -> list[str]:
    with Memory("brain") as memory:
        return [memory.remember(text, "learning").id for text in texts]


def test_an_id_is_known_by_its_beginning() -> None:
    one, other = remember("Port 80 is open.", "Port 81 is shut.")
    pairs = zip(one, other, strict=True)
    shared = "".join(each for each, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    begins = one[: len(shared) + 1]
    assert answered("show", begins)["id"] == one
    assert answered("care", "audit", begins.upper())["id"] == one
    assert answered("credit", begins, "--helped") == [one]
    assert answered("verify", begins, "--by", "human_approval")["id"] == one
    said = refused("show", shared)
    assert said.startswith(f"id: '{shared}' is not allowed; allowed: more of it: ")
    assert one in said
    assert other in said
    assert answered("forget", begins, "--yes")["ids"] == [one]
    unknown = refused("show", "ffffffff")
    assert unknown.endswith("an id that hardwon browse prints, or its beginning")


def test_a_memory_outside_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    said = at_once("recall", "ports").stderr
    assert f"your own, {tmp_path}/user-data/hardwon/memory.db, project default" in said
    assert "your own" not in at_once("remember", "Port 80 is open.").stderr
    Path("other").mkdir()
    monkeypatch.chdir("other")
    assert "your own" in at_once("recall", "ports").stderr
    at_once("init")
    Path("below").mkdir()
    monkeypatch.chdir("below")
    assert at_once("recall", "ports").stderr == ""


def test_an_export_goes_into_a_pipe() -> None:
    ids = remember("Port 80 is open.", "Port 81 is shut.")
    lines = at_once("export", "-").stdout.splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == sorted(ids)
    assert sorted(each.name for each in Path().iterdir()) == ["brain"]


def test_rules_of_every_task_are_listed() -> None:
    with Memory("brain") as memory:
        for task, said in (("easy", "read the logs first"), ("hard", "ask somebody")):
            for author in ("ann", "ben", "cem"):
                memory.record_episode(task, 0.9, successes=[said], author=author)
    listed = at_once("rules").stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == ["easy", "hard"]
    assert [rule["text"] for rule in answered("rules", "easy")] == ["read the logs first"]


def completed(words: str, shell: str = "bash") -> list[str]:
    asked = {
        "_HARDWON_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = CliRunner().invoke(main.app, env=asked, prog_name="hardwon")
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_offers_values() -> None:
    assert completed("hardwon remember x --outcome f") == ["failure"]
    assert not Path("brain").exists()
    (kept,) = remember("Port 80 is open.")
    with Memory("brain") as memory:
        memory.record_episode("easy", 0.5)
        memory.record_fix({"model": "qwen", "issue_type": "TIMEOUT"}, True, True)
    with Memory("brain", "website") as memory:
        memory.record_fact("Port 81 is shut.", "observation")
    for command in ("show", "forget", "credit", "care audit", "remember x --recalled"):
        assert completed(f"hardwon {command} {kept[:6]}")[-1] == kept
    for command in ("rules", "advise x --task", "recall x --task-id"):
        assert completed(f"hardwon {command} e") == ["easy"]
    assert completed("hardwon recall x --model q") == ["qwen"]
    assert completed("hardwon recall x --issue-type T") == ["TIMEOUT"]
    assert completed("hardwon --project w") == ["website"]
    assert completed("hardwon --project website show 0") != [kept]
    assert completed("hardwon remember x --outcome=f") == ["failure"]
    assert completed("hardwon adopt x --kind fix") == ["fix-history"]


def test_interrupts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for so_far, total, told in ((0, 0, ""), (3_000, 20_000, " at 3,000 of 20,000"), (3_000, 0, "")):
        with pytest.raises(KeyboardInterrupt), base.progress("loading", "it stays") as bar:
            if so_far:
                bar(so_far, total)
            raise KeyboardInterrupt
        assert capsys.readouterr().err == f"hardwon: interrupted while loading{told}: it stays\n"
    remember("x")

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "rebuild", interrupted)
    done = at_once("care", "rebuild")
    assert done.exit_code == 130
    assert "what was corrected stays so; rebuild again corrects the rest" in done.stderr


LISTS = {
    "rules easy": "read the logs first",
    "care decisions --action rollback": "mallory",
    "lessons": "pip install torch",
    "tree map": "brain",
}


def test_a_list_is_for_people_and_for_programs_and_says_where_it_is_empty() -> None:
    with Memory("brain"):
        for command in LISTS:
            told = at_once(*command.split())
            assert (told.exit_code, told.stderr) == (0, ""), command
            assert told.stdout.strip() not in ("", "[]", "None.")
    fill()
    for command, said in LISTS.items():
        told = at_once(*command.split())
        assert (told.exit_code, told.stderr) == (0, ""), command
        assert said in told.stdout
        assert not re.search(r"\dT\d|None|[{}]", told.stdout), "times and objects are for programs"
        assert answered(*command.split()) is not None


ANSWERS = [
    *LISTS, "init", "context torch", "advise pytest", "browse", "care consolidate",
    "record fact X. --fact-type error", "credit {id} --helped", "forget {id} --dry-run",
    "show {id}", "care supersede {id} {other} --reason x", "undo {decision}",
]  # fmt: skip


def test_the_json_is_what_http_answers_or_every_key_of_it_is_told() -> None:
    fill()
    ids = {"id": a_fact(), "other": a_fact("Port 81 is shut.")}
    ids["decision"] = answered("care", "decisions", "--action", "rollback")[0]["id"]
    for command in ANSWERS:
        words = [word.format(**ids) for word in command.split()]
        check_json(command, answered(*words))


def test_a_table_fits_where_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        return unstyle(draw_table(rows, columns, "Nothing.")).splitlines()

    columns = ("name", "number", "text", "at", "yes")
    values = [
        ("a\x1b[31m", 1.23456, "word " * 30, datetime(2026, 1, 2, 3, 4, tzinfo=UTC), True),
        ("längerer Name", None, ("one", "two"), None, False),
    ]
    rows = [dict(zip(columns, row, strict=True)) for row in values]
    for width in (60, 80, 200):
        lines = draw(width)
        assert max(map(len, lines)) <= width
        assert sum(line.count("word") for line in lines) > 3
    wide = draw(300)
    assert wide[0].split() == list(columns)
    assert r"a\x1b[31m" in wide[1]
    assert re.search(r"  1\.23  word word", wide[1])
    assert wide[1].endswith("2026-01-02 03:04  yes")
    assert "one, two" in wide[2]
    assert "Nothing." in draw_table([], ("name",), "Nothing.")


def test_lessons_are_corrected_in_an_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory("brain") as memory:
        failed = {"action": "make", "observation": "KeyError: 'REGION'", "ok": False}
        memory.record_trajectory("build", [failed, step("make clean"), step("make")])
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "/no/editor")
    assert "EDITOR: '/no/editor' is not allowed" in at_once("lessons", "edit").stderr
    monkeypatch.setenv("EDITOR", "sed -i s/^keep/maybe/")
    refused = at_once("lessons", "edit")
    assert "verdict: 'maybe' is not allowed" in refused.stderr
    monkeypatch.setenv("EDITOR", "sed -i s/^keep/wrong/")
    assert "wrong: KeyError: 'REGION' -> make clean" in at_once("lessons", "edit").stdout
    assert answered("lessons", "KeyError: 'REGION'") == []
    monkeypatch.setenv("EDITOR", "true")
    assert at_once("lessons", "edit").stdout.strip() == "Nothing was changed."


def step(action: str) -> dict[str, Any]:
    return {"action": action, "ok": True}
