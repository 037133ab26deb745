"""The same session is the same run, whether by hooks, by a transcript or by the API."""

from __future__ import annotations

import json
import os
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import warm
from checkouts import new_repository
from command_line import answered, at_once
from hardwon import Memory
from hardwon.capture.agents import Manner, respond
from hardwon.capture.protocols import AGENTS, Agent
from hardwon.capture.transcripts import Format, take_in
from hardwon.records.kinds import Trajectory
from hardwon.runs.read import read_records, read_run
from hardwon.runs.shapes import Run
from short import run_program
from test_agents import FakeAgent
from test_transcripts import WRITERS, Done

TASK = "Let the shop charge taxes"
NO_TAX = "FAILED tests/test_tax.py::test_tax - AssertionError: assert 0 == 19\n1 failed in 0.1s"
NO_TABLE = "sqlite3.OperationalError: no such table: taxes\nmake: *** [Makefile:4: serve] Error 1"
NOT_KNOWN = "git: 'comit' is not a git command. See 'git --help'."
LEFT = "src/tax.py:3:1: F401 [*] `os` imported but unused\nFound 1 error."
SESSION: Done = [
    ("ls src", 0, "shop.py\ntax.py"),
    ("pytest -q 2>&1 | tail -5", 0, NO_TAX),
    ("cat src/tax.py", 0, "RATE = 0"),
    ("src/tax.py", None, "RATE = 19"),
    ("pytest -q 2>&1 | tail -5", 0, "3 passed in 0.1s"),
    ("make serve", 2, NO_TABLE),
    ("pip install sqlite-utils", 0, "Successfully installed sqlite-utils-3.38"),
    ("make serve", 2, NO_TABLE),
    ("grep -rn taxes migrations", 1, ""),
    ("cat > migrations/2.sql <<'END'\nCREATE TABLE taxes (rate);\nEND", 0, ""),
    ("make migrate", 0, "1 migration"),
    ("make serve", 0, "listening"),
    ("cd web && npm run build 2>&1 | tail -3", 0, "built"),
    ("ruff check .", 1, LEFT),
    ("src/tax.py", None, "import math"),
    ("ruff check .", 0, "All checks passed!"),
    ("git comit -am taxes", 1, NOT_KNOWN),
    ("git commit -am taxes", 0, "1 file changed"),
]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = new_repository(tmp_path / "shop")
    (folder / "web").mkdir()
    monkeypatch.chdir(folder)
    Memory(folder / ".hardwon", "shop").close()
    return folder


class Quick(FakeAgent):
    """The same without processes of its own."""

    def tell(self, told: dict[str, Any]) -> str:
        _, complaint = respond(self.agent, json.dumps(told).encode(), {}, Manner())
        assert complaint == ""
        return ""


def by_hooks(shop: Path, name: Agent) -> None:
    agent = Quick(name, shop, "s")
    agent.prompt(TASK)
    for did, code, output in SESSION:
        if code is None:
            agent.edited(did, output)
        elif name == "codex":
            agent.ran(did, code, f"Process exited with code {code}\nOutput:\n{output}")
        else:
            agent.ran(did, code, output)
    agent.end()
    if name == "codex":  # which does not tell that it ends
        agent.tell(agent.event("PreCompact"))


def by_transcript(shop: Path, form: Format) -> None:
    done = [(str(shop / did) if code is None else did, code, out) for did, code, out in SESSION]
    file = shop / "session.jsonl"
    file.write_text(WRITERS[form]("s", str(shop), TASK, done))
    with Memory() as memory:
        assert take_in(memory, form, file).added == 1


def by_api(_: Path) -> None:
    steps = []
    for command, code, output in SESSION:
        did = f"edit {command}: {output}" if code is None else command
        ok = None if "|" in command else not code
        steps.append({"action": did, "observation": "" if code is None else output, "ok": ok})
    with Memory() as memory:
        memory.record_trajectory(TASK, steps)


def the_run() -> Run:
    with Memory() as memory:
        whole = list(memory.browse(kind="trajectory", status="hypothesis"))
    (work,) = whole
    assert isinstance(work, Trajectory)
    return read_run(work)


def outline(run: Run) -> dict[str, Any]:
    """A run without its looks, which hooks leave out."""
    done = [step for step in run.steps if step.kind != "look"]
    return {
        "task": run.task,
        "steps": [(s.kind, s.action, s.outcome, s.failure and s.failure.exact) for s in done],
        "problems": [
            (problem.failure.exact, problem.check.action, [step.action for step in problem.cure])
            for problem in run.problems
        ],
        "lasting": [step.action for step in run.lasting],
        "outcome": run.outcome,
    }


@pytest.mark.parametrize(
    "way",
    [
        *(partial(by_hooks, name=agent) for agent in AGENTS),
        lambda shop: by_transcript(shop, "claude-code"),
        lambda shop: by_transcript(shop, "codex"),
    ],
)
def test_a_session_is_the_same_run_whichever_way_it_came_in(
    shop: Path, way: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    way(shop)
    found = outline(the_run())
    other = new_repository(tmp_path / "other")
    monkeypatch.chdir(other)
    Memory(other / ".hardwon", "other").close()
    by_api(other)
    assert found == outline(the_run())


def hardwon_run(*command: str) -> int:
    words = (warm.python(), "-m", "hardwon.surfaces.cli.main", "run", "--", *command)
    return run_program(*words, status=None, timeout=60).returncode


def test_commands_of_one_terminal_and_folder_are_one_run_until_a_pause(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "package.json").write_text('{"scripts": {"build": "sh build.sh"}}')
    (shop / "build.sh").write_text("test -e modules || { echo 'no module left-pad'; exit 1; }")
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text('#!/bin/sh\nif [ "$1" = ci ]; then touch modules; else sh build.sh; fi\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:{os.environ['PATH']}")
    for code, command in ((1, "run build"), (0, "ci"), (0, "run build")):
        assert hardwon_run("npm", *command.split()) == code
    with Memory() as memory:
        done = [one for one in memory.browse() if isinstance(one, Trajectory)]
    (run_id,) = {one.metadata.source.id for one in done}
    (problem,) = read_records(done).problems
    assert problem.failure.words == "no module left-pad"
    assert [step.action for step in problem.cure] == ["npm ci"]
    monkeypatch.chdir(shop / "web")
    assert hardwon_run("sh", "-c", "exit 0") == 0
    monkeypatch.chdir(shop)
    an_hour_ago = time.time() - 3_600
    for file in (Path(os.environ["XDG_DATA_HOME"]) / "hardwon" / "runs").iterdir():
        os.utime(file, (an_hour_ago, an_hour_ago))
    assert hardwon_run("npm", "run", "build") == 0
    with Memory() as memory:
        ids = [one.metadata.source.id for one in memory.browse()]
    assert (len(set(ids)), ids.count(run_id)) == (3, 3)
    part = at_once("show", done[0].id)
    assert f"a part of a run of 3 records: hardwon show {done[0].id} --run" in part.stderr
    assert "went away by:\n      npm ci" in at_once("show", done[0].id, "--run").stdout
    told = answered("show", done[0].id, "--run")
    assert (told["id"], len(told["steps"])) == (done[0].id, 1)
    assert len(told["run"]["records"]) == 3
    assert [step["outcome"] for step in told["run"]["steps"]] == ["failed", "worked", "worked"]


STORY = """\
Let the shop charge taxes
other, …

✗ check    pytest -q 2>&1 | tail -5
             assert 0 == 19 in test_tax
✓ change   edit src/tax.py: RATE = 19
· check    pytest -q 2>&1 | tail -5
✗ change   make serve
             sqlite3.OperationalError: no such table: taxes
✓ change   pip install sqlite-utils
✗ check    make serve
             sqlite3.OperationalError: no such table: taxes
✓ change   cat > migrations/2.sql <<'END' (+2 lines)
✓ change   make migrate
✓ check    make serve
· change   cd web && npm run build 2>&1 | tail -3
✗ check    ruff check .
             src/tax.py:3:1: F401 [*] `os` imported but unused
✓ change   edit src/tax.py: import math
✓ check    ruff check .
✗ change   git comit -am taxes
             git: 'comit' is not a git command. See 'git --help'.
✓ hand-in  git commit -am taxes

What went wrong
  assert 0 == 19 in test_tax
    went away by:
      edit src/tax.py: RATE = 19
  sqlite3.OperationalError: no such table: taxes (2 times)
    in vain: pip install sqlite-utils
    went away by one or all of:
      cat > migrations/2.sql <<'END' (+2 lines)
      make migrate
  src/tax.py:3:1: F401 [*] `os` imported but unused
    went away by:
      edit src/tax.py: import math
  git: 'comit' is not a git command. See 'git --help'.
    went away by:
      git commit -am taxes

What lasted
  edit src/tax.py: RATE = 19
  pip install sqlite-utils
  cat > migrations/2.sql <<'END' (+2 lines)
  make migrate
  make serve
  cd web && npm run build 2>&1 | tail -3
  edit src/tax.py: import math

How it ended: solved, as was recorded (1)
"""


def test_a_run_is_shown_as_a_story(shop: Path) -> None:
    by_hooks(shop, "other")
    with Memory() as memory:
        (record_id,) = (one.id for one in memory.browse(kind="trajectory", status="hypothesis"))
    shown = at_once("show", record_id).stdout
    assert re.sub(r"other, .*", "other, …", shown) == STORY
    with Memory() as memory:
        steps = [{"action": name, "ok": True} for name in ("ls", "cat a.txt", "cat a.txt", "./go")]
        looked = memory.record_trajectory("Go", steps)
    shown = at_once("show", looked.id).stdout
    assert "\n  look     3 times: ls; cat a.txt\n✓ change   ./go\n" in shown
