"""The blocks of the designs' documents, as they stand, in a project that was changed over.

docs/migration/blocks.md names every one: that it runs, or why not. Where a document is not at hand
(HARDWON_SEEDS is not set), the page is checked alone.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

import warm
from command_line import ROOT, answered, at_once, install_command
from hardwon import json_schema
from hardwon.fixes.ai_memory import AIMemory
from hardwon.tree.engine import MemoryEngine
from short import run_program

DOCUMENTS = os.environ.get("HARDWON_SEEDS")
PAGE = (ROOT / "docs" / "migration" / "blocks.md").read_text()
RUNS = "runs"
METHOD = "no body: ours takes the same under the same names"
THERE = "no: the tables are there; theirs have the same columns and types"
HOLDS = "no: data; the column holds {}"
PRINTED = "no: printed; ours prints the same keys"
ALL_BUT_ITS_LAST = "runs but for its last statement, which SQLite does not have"
COMMENTS = "no: its body is comments, which is no Python; the method of that name does it"


class Block(NamedTuple):
    """A block: its name in our words, a piece of its text, and what becomes of it."""

    name: str
    known_by: str
    becomes: str = RUNS


FIX_HISTORY = {
    "python": [
        Block("the formula of a signature", "def generate_issue_signature(issue_data)"),
        Block("rates", "success_rate = "),
        Block("a context", "context = build_context"),
        Block("recording an attempt", "fix_id = memory"),
        Block("similar issues", "similar_issues = "),
        Block("insights of a model", "insights = memory"),
        Block("export as CSV", "import csv"),
        Block("export of figures", "def export_analytics_data("),
        Block("import of a knowledge base", "def import_knowledge_base("),
        Block("import of an older database", "def migrate_legacy_data("),
        Block("three questions", "def query_similar_issues_optimized("),
        Block("cleanup by itself", "def auto_cleanup()", COMMENTS),
        Block("packing old attempts", "def compress_historical_data()", COMMENTS),
        Block("opening", "from Scripts.ai_memory import AIMemory"),
        Block("`record_fix_attempt`", "def record_fix_attempt(", METHOD),
        Block("`query_similar_issues`", "def query_similar_issues(\n", METHOD),
        Block("`get_model_insights`", "def get_model_insights(", METHOD),
        Block("`build_context_for_claude`", "def build_context_for_claude(self", METHOD),
        Block("`get_memory_stats`", "def get_memory_stats(", METHOD),
        Block("`export_insights`", "def export_insights(", METHOD),
        Block("`generate_issue_signature`", "def generate_issue_signature(self", METHOD),
        Block("the tables asked directly", "qwen_attempts = "),
    ],
    "sql": [
        Block("`fix_history`", "CREATE TABLE fix_history (", THERE),
        Block("`issue_patterns`", "CREATE TABLE issue_patterns (", THERE),
        Block("`model_characteristics`", "CREATE TABLE model_characteristics (", THERE),
        Block("success by fixer", "GROUP BY fixer_type"),
        Block("trends of thirty days", "daily_success_rate"),
        Block("issue types", "avg_fix_time"),
        Block("indexes", "CREATE INDEX", "no: they are there, under the same names"),
        Block("maintenance", "UPDATE STATISTICS", ALL_BUT_ITS_LAST),
    ],
    "bash": [
        Block("the form of a command", "memory.sh <command>", "no: shows the form alone"),
        Block("`stats`", "./memory.sh stats"), Block("`model`", "./memory.sh model"),
        Block("`export`", "./memory.sh export insights"), Block("`recent`", "./memory.sh recent 7"),
        Block("`successful`", "./memory.sh successful"), Block("`patterns`", "./memory.sh patterns"),
        Block("`cleanup`", "./memory.sh cleanup 30"),
        Block("`export` of everything", "./memory.sh export full_report"),
        Block("every week", "# Check database integrity"), Block("every month", "# Export backup"),
        Block("backup", "# backup_memory.sh"),
        Block("recovery", "# Restore from backup", "runs, with the date of a backup in its name"),
    ],
    "json": [
        Block("`fix_commands`", "ollama pull", HOLDS.format("such a list")),
        Block("`system_info`", "ollama_version", HOLDS.format("such an object")),
        Block("`common_issues`", "MODEL_NOT_AVAILABLE", HOLDS.format("such a list")),
        Block("what `model` prints", "effective_fixes", PRINTED),
    ],
    "": [
        Block("the architecture", "Memory System Architecture", "no: a picture"),
        Block("what `stats` prints", "total_fixes_attempted", PRINTED),
    ],
}  # fmt: skip
GIVES = "is what takes its place: test by test its functions give the same"
IN_ITS_DOCSTRING = Block("the usage in its docstring", "from training.memory import (")
TRAINING = {"python": [IN_ITS_DOCSTRING, Block("the module", "", GIVES)]}
LOADS = "runs; `hardwon load` reads it, as it stands"
MAKES = "runs; `hardwon load` reads its list, saved with `json.dump`"
FILLED_IN = "runs; `validate` names what is to be filled in"
TYPES = "no: TypeScript; JSON of these fields is read and written word for word"
# Of these, all blocks in their order; those without a language are texts.
DATA_SETS = {
    "python": [
        Block("the format: the shape of an entry", "'content': str", "no: it names types"),
        *(
            Block(name, known_by, LOADS)
            for name, known_by in (
                ("an entry: success of code_interpreter", "'feature_x_impl'"), ("success of web_search", "'oauth2_docs'"),
                ("success of file_operation", "'data_migration'"), ("success of conversation", "'async_explanation'"),
                ("failure of code_interpreter", "'async_await_fail'"), ("failure of web_search", "'search_fail'"),
                ("failure of file_operation", "'permission_denied'"), ("failure of an unknown tool", "'unknown_fail'"),
                ("learning", "'explicit_errors_pref'"), ("interaction", "'user_frustrated'"),
            )
        ),
        Block("a list", "'jwt_auth_impl'\n    },", LOADS),
        Block("the storage script", "import time"),
        Block("shares", "55-65%", "no: it is no Python; `validate` judges by these shares"),
        Block("good contents", "'Implemented OAuth2"),
        Block("contents to avoid", "'Fixed a bug'"),
        Block("good summaries", "'async_gather_insight'"),
        Block("sessions", "session_1_morning"),
        Block("a template of a hundred", "'debug_issue_", MAKES),
        Block("an empty template", "# START OF DATASET"),
        Block("the storage loop", "for mem in memories:\n"),
        Block("the cheatsheet: a template", "'TYPE'", FILLED_IN),
        Block("code successes", "'bug_fix_", MAKES),
        Block("code failures", "'runtime_err_", MAKES),
        Block("learnings", "# 30 pattern", MAKES),
        Block("interactions", "'user_pos_", MAKES),
        Block("a thousand in one expression", "# 1000 memories", MAKES),
        Block("the storage one-liner", "[m.remember("),
    ],
    "": [
        Block("target numbers", "Total: 1000", "no: text; `generate` keeps these numbers"),
        *(
            Block(name, known_by, "no: text to fill in")
            for name, known_by in (
                ("templates of contents: successes", "Implemented {feature}"), ("failures", "{ErrorType}"),
                ("learnings", "Codebase uses {pattern}"), ("interactions", "User {emotion}"),
            )
        ),
    ],
}  # fmt: skip
METADATA_SCHEMA = {
    "typescript": [
        Block("the metadata", "interface AgentDBMetadata", TYPES), Block("facts", "interface AtomicFact", TYPES),
        Block("trajectories", "interface ReasoningTrajectory", TYPES), Block("patterns", "SolutionPatternSchema", TYPES),
    ]
}  # fmt: skip
TABLES = {
    "BTB data sets": DATA_SETS, "Metadata schema": METADATA_SCHEMA, "Fix history": FIX_HISTORY,
    "Training memory": TRAINING,
}  # fmt: skip
LANGUAGES = {
    "python": "Python", "sql": "SQL", "bash": "shell", "typescript": "TypeScript", "json": "JSON", "": "text",
}  # fmt: skip

# What the text around a block has said before it.
BEFORE = """
import hashlib, json, sqlite3
from typing import Dict
from Scripts.ai_memory import AIMemory, build_context_for_claude
memory = AIMemory()
issue_data = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT", "description": "no answer"}
successful_fixes, total_attempts = 6, 8
"""
SAVES = "import json; json.dump(memories, open('list.json', 'w'))"
SQL = """
import sqlite3, sys
connection = sqlite3.connect("AIMemory/ai_memory.db", isolation_level=None)
for statement in sys.argv[1:]:
    connection.execute(statement)
"""


def document(number: str) -> str:
    (path,) = (ROOT / str(DOCUMENTS)).glob(f"{number}*")
    return path.read_text()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that uses the older modules, and is changed over."""
    folder = tmp_path / "project"
    for name, text in {
        "training/memory.py": "def load_agent_memory(): raise SystemExit('the older one')",
        "Scripts/ai_memory.py": "class AIMemory: raise SystemExit('the older one')",
        "memory.sh": "exec Scripts/memory_cli.sh",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "memory.sh").chmod(0o755)
    assert len(answered("drop-in", "install", str(folder))["installed"]) == 3
    install_command(tmp_path / "bin", monkeypatch)
    # the shell of SQLite may not be installed
    asks = "print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())"
    command = f"{warm.python()} -c 'import sqlite3, sys; {asks}'"
    (tmp_path / "bin" / "sqlite3").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    (tmp_path / "bin" / "sqlite3").chmod(0o755)
    return folder


def run(project: Path, *command: str) -> str:
    done = run_program(*command, cwd=project)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.usefixtures("own_folder")
def test_the_blocks_run_as_they_stand(project: Path) -> None:
    with AIMemory(project / "AIMemory") as history:
        for turn in range(6):
            issue = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT", "description": "no answer"}
            history.record_fix_attempt(issue, {"fix_commands": ["wait"]}, True, turn > 2, 1.0)
    python, ran = warm.python(), 0
    (project / "script.py").write_text(BEFORE + "print(len(build_context_for_claude(issue_data)))")
    assert int(run(project, python, "script.py")) > 100
    if not DOCUMENTS:
        assert run(project, "./memory.sh", "stats").count("\n") == 9
        return
    text = document("004").replace("/custom/path", "custom").replace("/backup/", "backup/")
    every = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for language, blocks in FIX_HISTORY.items():
        found = [code for written_in, code in every if written_in == language]
        for block, code in zip(blocks, found, strict=True):
            assert block.known_by in code
            if block.becomes == PRINTED:
                command = block.name.split("`")[1], *["qwen2.5:7b"][: language == "json"]
                keys = re.compile(r'^ +"?(\w+)"?:', re.MULTILINE)
                printed = keys.findall(run(project, "./memory.sh", *command))
                assert set(keys.findall(code)) <= set(printed)
            if not block.becomes.startswith("runs"):
                continue
            ran += 1
            if language == "python":
                (project / "script.py").write_text(BEFORE + code)
                run(project, python, "script.py")
            elif language == "sql":
                statements = re.sub("--.*|UPDATE STATISTICS;", "", code).split(";")
                run(project, python, "-c", SQL, *filter(str.strip, statements))
            else:
                for made in (project / "backup").rglob("database_backup_2*"):
                    code = code.replace("database_backup_YYYYMMDD.db", made.name)
                assert run(project, "bash", "-ec", code) or block.name == "backup"
    assert ran == 29
    with AIMemory(project / "AIMemory") as history:
        assert history.memory.doctor().ok
        assert history.get_memory_stats()["total_fixes_attempted"] == 7
    held = "SELECT fix_commands, system_info, common_issues FROM fix_history, model_characteristics"
    with closing(sqlite3.connect(project / "AIMemory" / "ai_memory.db")) as connection:
        kinds = [type(json.loads(text)) for text in connection.execute(held).fetchone()]
    assert kinds == [list, dict, list]
    usage = document("003").partition("Usage:\n")[2].partition('"""')[0]
    code = "\n".join(line.removeprefix("    ") for line in usage.splitlines())
    (project / "script.py").write_text(code)
    run(project, python, "script.py")
    assert (project / "outputs" / "agent_memory.json").exists()


@pytest.mark.usefixtures("own_folder")
def test_data_sets_are_read_and_stored_as_they_stand(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "memory.py").write_text("class MemoryEngine: raise SystemExit('the older one')")
    assert answered("drop-in", "install", str(folder))["installed"] == ["memory.py"]
    if not DOCUMENTS:
        assert DATA_SETS["python"]
        return
    listed, length, stored = "", 0, 0
    for number in ("000", "001"):
        for language, code in re.findall(r"```(\w*)\n(.*?)```", document(number), re.DOTALL):
            (block,) = [each for each in DATA_SETS[language] if each.known_by in code]
            if not block.becomes.startswith(RUNS):
                continue
            # what stores is beside the list that was made before it
            stores = "remember(" in code
            made = listed if stores and "import time" not in code else ""
            (folder / "script.py").write_text(made + code)
            run(folder, warm.python(), "script.py")
            data_set = folder / "script.py"
            if block.becomes == MAKES:
                listing = code if "memories" in code else f"memories = (\n{code})"
                (folder / "list.py").write_text(f"{listing}\n{SAVES}")
                run(folder, warm.python(), "list.py")
                data_set = folder / "list.json"
            if block.becomes in (LOADS, MAKES):
                read = answered("--memory", "loaded", "load", str(data_set))
                assert read["stored"] == read["total"] > 0
                if "memories" in code:
                    listed, length = code, read["total"]
            elif "fill" in block.becomes:
                report = at_once("tree", "validate", str(folder / "script.py")).stdout
                assert "outcome: 'TYPE' is not known" in report
            elif made:
                stored += length
    with MemoryEngine(folder / "agent_brain") as engine:
        assert engine.reflect()["total_memories"] == stored == 1_100
        assert not (folder / "agent_brain" / "_intake").exists()


def test_the_fields_of_the_metadata_schema_are_ours() -> None:
    ours = {kind: json_schema(kind) for kind in ("fact", "trajectory", "solution_pattern")}
    known = set(re.findall(r'"(\w+)"', json.dumps(ours)))
    assert {"failure_hash", "error_codes", "final_reward", "success_rate"} <= known
    if DOCUMENTS:
        found = re.findall(r"```typescript\n(.*?)```", document("002"), re.DOTALL)
        assert len(found) == len(METADATA_SCHEMA["typescript"])
        plain = re.sub(r"//.*|'.*?'", "", "\n".join(found))
        assert set(re.findall(r"^\s+(\w+)\??:", plain, re.MULTILINE)) <= known


def test_the_page_names_every_block() -> None:
    for title, languages in TABLES.items():
        rows = []
        for language, blocks in languages.items():
            names: dict[str, list[str]] = {}
            for block in blocks:
                names.setdefault(block.becomes, []).append(block.name)
            told = LANGUAGES[language]
            rows += [f"| {told} | {', '.join(names[how])} | {how} |" for how in names]
        table = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
        assert re.findall(r"^\| .*", table, re.MULTILINE)[1:] == rows
