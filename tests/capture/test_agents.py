"""Agents' hooks as real processes, in each agent's protocol, and what becomes of a session."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import examples
from checkouts import git, new_repository
from hardwon import Memory, limits
from hardwon.capture import sessions
from hardwon.capture.agents import Manner, respond
from hardwon.capture.protocols import AGENTS, Agent
from hardwon.capture.sessions import AgentSession, end_idle_sessions
from hardwon.memory import places
from hardwon.records.kinds import Trajectory
from hardwon.text.failures import failure_hash
from hardwon_cli import hook
from hook_calls import say
from short import need, run_program, status

HARDWON = str(Path(sys.executable).with_name("hardwon"))
MAKEFILE = """deploy:
\t@test -n "$$DEPLOY_REGION" || { echo "deploy: error: no region is set for the cluster" >&2; exit 3; }
\t@echo deployed to $$DEPLOY_REGION
test:
\t@echo 12 passed
"""
FIX = "DEPLOY_REGION=eu-west-1 make deploy"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout with a memory, and a background process of its own."""
    runtime = tempfile.mkdtemp(prefix="hw-", dir="/tmp")  # a short path
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    monkeypatch.delenv("HARDWON_BACKGROUND")
    folder = new_repository(tmp_path / "shop")
    (folder / "Makefile").write_text(MAKEFILE)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "deploy")
    monkeypatch.chdir(folder)
    Memory(folder / ".hardwon", "shop").close()
    yield folder
    for lock in Path(runtime).glob("*/*.lock"):
        wait_for(lambda lock=lock: lock.read_text().strip() != "")  # type: ignore[misc]  # it is being started
        with suppress(ProcessLookupError):
            os.kill(int(lock.read_text()), signal.SIGTERM)
    shutil.rmtree(runtime)


class FakeAgent:
    """Runs commands as an agent does, and tells its hooks, in its own protocol."""

    def __init__(self, agent: Agent, folder: Path, session: str) -> None:
        self.agent, self.folder, self.session = agent, folder, session

    def tell(self, told: dict[str, Any]) -> str:
        """What the model gets to read of the answer."""
        command = [HARDWON, "hooks", "run", self.agent]
        done = run_program(*command, input=json.dumps(told), cwd=self.folder)
        assert done.stderr == ""
        said = json.loads(done.stdout) if done.stdout else {}
        if self.agent in ("claude-code", "codex") and said:
            assert said["hookSpecificOutput"].pop("hookEventName") == told["hook_event_name"]
            said = said["hookSpecificOutput"]
        texts = [said.get(key, "") for key in ("additionalContext", "additional_context", "say")]
        return "".join(texts)

    def event(self, name: str, **more: Any) -> dict[str, Any]:
        if self.agent == "other":
            return {"event": name, "session": self.session, "folder": str(self.folder)} | more
        told: dict[str, Any] = {"hook_event_name": name, "transcript_path": None}
        if self.agent == "cursor":
            told |= {"conversation_id": self.session, "workspace_roots": [str(self.folder)]}
            told |= {"generation_id": "gen-1", "cursor_version": "2.4.0", "user_email": None}
            return told | {"model": "a-model"} | more
        told |= {"session_id": self.session, "cwd": str(self.folder), "permission_mode": "default"}
        return told | ({"turn_id": "turn-1", "model": "m"} if self.agent == "codex" else {}) | more

    def start(self) -> str:
        names = {"cursor": "sessionStart", "other": "start"}
        more = {"source": "startup"} if self.agent in ("claude-code", "codex") else {}
        return self.tell(self.event(names.get(self.agent, "SessionStart"), **more))

    def prompt(self, text: str) -> str:
        names = {"cursor": "beforeSubmitPrompt", "other": "prompt"}
        return self.tell(self.event(names.get(self.agent, "UserPromptSubmit"), prompt=text))

    def run(self, command: str) -> tuple[str, str]:
        """What is said before it, and after it."""
        names = {"cursor": "beforeShellExecution", "other": "before"}
        about: dict[str, Any] = {"command": command, "cwd": str(self.folder)}
        if self.agent in ("claude-code", "codex"):
            about = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1"}
        warned = self.tell(self.event(names.get(self.agent, "PreToolUse"), **about))
        done = run_program("/bin/sh", "-c", command, cwd=self.folder, status=None)
        return warned, self.ran(command, done.returncode, done.stdout + done.stderr)

    def ran(self, command: str, code: int, printed: str) -> str:
        """What is said after a command that ended so."""
        about: dict[str, Any] = {
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_use_id": "t1",
        }
        match self.agent:
            case "other":
                after = self.event("after", command=command, exit_code=code, output=printed)
            case "cursor":
                output = json.dumps({"exitCode": code, "stdout": printed})
                about |= {"tool_name": "Shell", "cwd": str(self.folder), "duration": 100}
                after = self.event("postToolUse", **about, tool_output=output)
            case "codex":
                after = self.event("PostToolUse", **about, tool_response=printed)
            case _ if code:
                failed = {"error": f"Exit code {code}\n{printed}", "is_interrupt": False}
                after = self.event("PostToolUseFailure", **about, **failed, duration_ms=9)
            case _:
                response = {"stdout": printed, "stderr": "", "interrupted": False, "isImage": False}
                after = self.event("PostToolUse", **about, tool_response=response, duration_ms=9)
        return self.tell(after)

    def edited(self, file: str, content: str) -> str:
        """What is said after a file of the folder was changed."""
        path = str(self.folder / file)
        patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n+{content}\n*** End Patch"
        tools: dict[str, dict[str, Any]] = {
            "claude-code": {"Edit": {"file_path": path, "new_string": content}},
            "codex": {"apply_patch": {"command": patch}},
            "cursor": {"Write": {"path": path, "content": content}},
        }
        if self.agent == "other":
            return self.tell(self.event("after", file=file, change=content))
        ((tool, given),) = tools[self.agent].items()
        name = "postToolUse" if self.agent == "cursor" else "PostToolUse"
        return self.tell(self.event(name, tool_name=tool, tool_input=given))

    def stop(self) -> None:
        names = {"cursor": "stop", "other": "stop"}
        more = {"status": "completed", "loop_count": 0} if self.agent == "cursor" else {}
        assert self.tell(self.event(names.get(self.agent, "Stop"), **more)) == ""

    def end(self) -> None:
        names = {"cursor": "sessionEnd", "other": "end", "claude-code": "SessionEnd"}
        if self.agent in names:  # Codex does not tell
            assert self.tell(self.event(names[self.agent], reason="other")) == ""


def work_of(folder: Path) -> list[Trajectory]:
    with Memory(folder / ".hardwon", "shop") as memory:
        found = list(memory.browse(kind="trajectory", tag="session"))
    return [each for each in found if isinstance(each, Trajectory)]


@pytest.mark.parametrize("agent", AGENTS)
def test_what_mended_a_deployment_is_told_later(shop: Path, tmp_path: Path, agent: Agent) -> None:
    first = FakeAgent(agent, shop, "monday")
    assert first.start() == first.prompt("Deploy the shop to production") == ""
    assert first.run("make deploy") == ("", "")
    assert first.run("make deploy") == ("", ""), "it knows how that ended, and nobody knows more"
    first.run(FIX)
    first.run("make test")
    first.stop()
    first.end()
    (work,) = work_of(shop)
    assert [step.action for step in work.steps] == ["make deploy", "make deploy", FIX, "make test"]
    solved = None if agent == "codex" else 1.0  # it does not say how the tests ended
    assert (work.task, work.final_reward) == ("Deploy the shop to production", solved)
    assert (work.metadata.source.author, work.metadata.source.id) == (agent, "monday")
    with Memory(shop / ".hardwon", "shop") as memory:  # counted once
        assert len(list(memory.browse(status="hypothesis"))) == 1
        assert memory.advise("make deploy").failures == 2

    side = tmp_path / "elsewhere" / "hotfix"
    git(shop, "worktree", "add", "-q", "-b", "hotfix", str(side))
    second = FakeAgent(agent, side, "tuesday")
    second.start()
    prompted = second.prompt("Deploy the shop to production")
    warned, said = second.run("make deploy")
    if agent == "cursor":  # takes in words only after a tool was used
        assert (prompted, warned) == ("", "")
        prompted = warned = said
    assert FIX in prompted
    cure = f"This error went away here before by: {FIX} (helped 1 of 1)"
    reason = "It failed here when it last ran: deploy: error: no region is set for the cluster"
    assert reason in warned
    assert cure in warned
    if agent != "cursor":
        assert said == "", "not twice in one session"
    assert second.run("make deploy") == ("", "")
    second.run("make deploy")
    warned, said = second.run("make deploy")  # the fourth blind try
    heard = said if agent == "cursor" else warned
    assert "Stop. This failed 3 times in this session, and nothing was changed since." in heard
    second.run(FIX)
    second.run("make test")
    second.stop()
    with Memory(shop / ".hardwon", "shop") as memory:
        credited = [(each.record.id, each.helped, each.hindered) for each in memory.care.helpful()]
        assert credited == ([(work.id, 1, 0)] if solved else [])
        assert not (side / ".hardwon").exists()
    # the memory was not loaded again for each of them
    assert hook.ask(hook.socket_path(), ["hooks", "run", agent], b"{}") == [b"", b""]


def test_nobody_needs_the_background_process(shop: Path) -> None:
    agent = FakeAgent("claude-code", shop, "s")
    agent.run("make deploy")
    at = Path(hook.socket_path())

    def ask() -> list[bytes] | None:
        return hook.ask(str(at), ["hooks", "run", "claude-code"], b"{}")

    wait_for(lambda: ask() is not None)
    assert (at.stat().st_mode & 0o777, at.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    os.kill(int(Path(f"{at}.lock").read_text()), signal.SIGKILL)
    wait_for(lambda: ask() is None)
    os.utime(f"{at}.lock", (0, 0))  # it was started long ago
    agent.session = "t"
    warned, _ = agent.run("make deploy")  # the socket of the dead one is in the way
    assert "It failed here when it last ran: deploy: error: no region is set" in warned
    wait_for(lambda: ask() is not None)
    at.parent.chmod(0o755)  # not ours alone
    assert hook.socket_path() == ""
    assert len(work_of(shop)) == 0
    agent.end()
    assert len(work_of(shop)) == 1


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_background_process_ends_when_nobody_asks_and_is_alone(shop: Path) -> None:
    at = hook.socket_path()
    code = (
        "from hardwon.capture import background; background.AGENT_BACKGROUND_IDLE_S = 0.1\n"
        f"background.serve({at!r})"
    )
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [each.wait(60) for each in both] == [0, 0]
    assert not Path(at).exists()


def test_what_answers_nonsense_or_nothing_is_not_believed(shop: Path) -> None:
    at = hook.socket_path()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(at)
        listening.listen()
        for answer in (b"", b"\0", b"nonsense", b"\0a\0b\0c\0"):
            child = os.fork()
            if child == 0:
                connection, _ = listening.accept()
                while connection.recv(1 << 16):
                    pass
                connection.sendall(answer)
                os._exit(0)
            assert hook.ask(at, ["hooks", "run", "claude-code"], b"{}") is None
            os.waitpid(child, 0)


def test_a_memory_that_came_along_is_not_used_in_the_background_either(
    shop: Path, tmp_path: Path
) -> None:
    FakeAgent("claude-code", shop, "s").run("make deploy")
    at, words = hook.socket_path(), ["hooks", "run", "claude-code"]
    wait_for(lambda: hook.ask(at, ["hooks", "run", "codex"], b"{}") is not None)
    stranger = tmp_path / "stranger"
    shutil.copytree(shop, stranger)
    agent = FakeAgent("claude-code", stranger, "t")
    told = json.dumps(agent.event("UserPromptSubmit", prompt="make deploy")).encode()
    done = need(hook.ask(at, words, told))
    assert list(json.loads(done[0])) == ["systemMessage"]
    assert b"hardwon trust" in done[0]
    places.note(stranger / ".hardwon" / "memory.db")
    done = need(hook.ask(at, ["--project", "shop", *words], told))
    assert b"no region is set" in done[0]


def ran(command: str, exit_code: int = 0, output: str = "", **more: Any) -> str:
    return say("after", command=command, exit_code=exit_code, output=output, **more)


ERROR = "error: the schema of the orders table is older than the code"


def test_an_edit_that_made_the_same_command_work_is_what_settled_it(shop: Path) -> None:
    say("prompt", prompt="Build it, with the token ghp_" + "a1B2c3D4e5" * 4)
    ran("npm run build", 1, ERROR)
    ran("npm install left-pad")
    ran("npm run build", 1, ERROR)
    say("after", file=str(shop / "src" / "schema.py"), change="VERSION = 7\n")
    say("after", file="README.md", change="more words")
    say("stop")
    assert work_of(shop) == []  # something is left failing: the next turn belongs to it
    ran("npm run build")
    say("after", file="README.md", change="other words")
    say("stop")
    (work,) = work_of(shop)
    build, readme = "npm run build", "edit README.md: {} words"
    before = [build, "npm install left-pad", build, "edit src/schema.py: VERSION = 7"]
    after = [readme.format("more"), build, readme.format("other")]
    assert [step.action for step in work.steps] == [*before, *after]
    assert "ghp_" not in work.to_json()
    assert work.final_reward is None, "nobody built it again since the last edit"


def test_what_a_session_edited_is_told_though_nothing_failed(shop: Path) -> None:
    say("prompt", prompt="Add a tax column to invoices")
    say("after", file=str(shop / "src" / "models.py"), change="tax = Column(Numeric)")
    ran("pytest tests/test_invoices.py")
    ran("git commit -am tax")
    say("end")
    (work,) = work_of(shop)
    assert work.steps[0].action == "edit src/models.py: tax = Column(Numeric)"
    told = say("prompt", session="next", prompt="Add a currency column to invoices")
    assert "edit src/models.py: tax = Column(Numeric)" in told
    assert "git commit" not in told


def test_what_a_session_leaves_failing_is_told_to_the_next_one(shop: Path) -> None:
    say("prompt", prompt="Upgrade the database")
    ran("make migrate", 2, ERROR)
    ran("make migrate", 2, ERROR)
    say("end")
    (work,) = work_of(shop)
    assert work.final_reward == 0.0
    told = say("start", session="next")
    assert "left this undone: Upgrade the database: make migrate failed: error: the schema" in told
    assert say("start", session="next") == ""
    assert "undone" in say("start", session="next", forgot=True)  # after /clear
    assert not list((Path(os.environ["XDG_DATA_HOME"]) / "hardwon" / "sessions").glob("s*"))


def test_a_subagent_is_told_and_closed_by_itself(shop: Path) -> None:
    ran("make x", 2, ERROR)
    ran("A=1 make x")
    say("stop")
    assert "A=1 make x" in ran("make x", 2, ERROR)
    assert ran("make x", 2, ERROR) == ""
    say("compact")
    assert "A=1 make x" in ran("make x", 2, ERROR), "it was compacted away"
    assert "A=1 make x" in ran("make x", 2, ERROR, subagent="explorer")
    say("subagent", subagent="explorer")
    assert [each.final_reward for each in work_of(shop)] == [0.0, None]


def test_this_error_is_only_the_one_with_the_same_names(shop: Path) -> None:
    missing = (
        'Traceback (most recent call last):\n  File "{0}.py", line 1, in <module>\n'
        "    import {1}\nModuleNotFoundError: No module named '{1}'"
    )
    ran("python load.py", 1, missing.format("load", "numpy"))
    ran("pip install numpy")
    ran("python load.py")
    say("end")
    assert ran("python fetch.py", 1, missing.format("fetch", "requests"), session="b") == ""
    assert ran("gti status", 127, "gti: command not found", session="c") == ""
    told = ran("python fit.py", 1, missing.format("fit", "numpy"), session="d")
    assert "This error went away here before by: pip install numpy" in told


def test_a_solution_that_somebody_wrote_down_is_told_where_its_failure_is_sure(shop: Path) -> None:
    lock = "OSError: the lock of the harbour is held"
    missing = "ModuleNotFoundError: No module named 'numpy'"
    with Memory() as memory:
        for error, solution in ((lock, "Restart the tug."), (missing, "pip install numpy")):
            memory.record_fact(solution, "solution", failure_hash=failure_hash(error))
    assert "went away here before by: Restart the tug" in ran("make moor", 1, lock)
    assert ran("make plot", 1, missing.replace("numpy", "requests")) == ""


def test_a_command_that_fails_without_a_word_is_not_answered(shop: Path) -> None:
    ran("make lint", 1)
    ran("touch .lintrc")
    ran("make lint")
    say("end")
    assert ran("make deploy", 1, session="next") == ""


def test_before_a_file_is_edited_its_history_is_told(shop: Path) -> None:
    with Memory() as memory:
        memory.record_fact("src/login.py breaks the tests when the cache is renamed.", "decision")
        memory.record_fact("The cache of the harbour is cold.", "decision")
    told = say("before", file=str(shop / "src" / "login.py"))
    assert "breaks the tests when the cache" in told
    assert "harbour" not in told
    assert say("before", file=str(shop / "src" / "login.py")) == ""
    assert say("before", file="src/app.py") == ""


def test_sessions_end_when_another_one_starts(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran("make x", 2, ERROR)
    ran("make x", 2, ERROR)
    with Memory() as memory:
        end_idle_sessions(memory)
        assert work_of(shop) == []
        monkeypatch.setattr(limits, "AGENT_SESSION_IDLE_S", 0)
        end_idle_sessions(memory)
    assert len(work_of(shop)) == 1
    assert not list(sessions._folder().glob("*.json"))


def test_what_somebody_vouches_for_stays_for_itself(shop: Path) -> None:
    ran("make x", 2, ERROR)
    ran("A=1 make x")
    with Memory() as memory:
        best = next(iter(memory.browse(limit=1)))
        memory.verify(best.id, "human_approval")
    say("end")
    (work,) = work_of(shop)
    assert [step.action for step in work.steps] == ["make x"]
    with Memory() as memory:
        assert status(memory, best.id) == "verified"


def test_a_broken_session_file_begins_anew(shop: Path) -> None:
    ran("make x", 2, ERROR)
    (file,) = sessions._folder().glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"{half of")
    assert "It failed here when it last ran: error: the schema" in say("before", command="make x")
    assert isinstance(AgentSession({}).kept, dict)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2)
    ),
    max_leaves=5,
)
NAMES = st.sampled_from(
    "PreToolUse PostToolUse PostToolUseFailure preToolUse postToolUse beforeShellExecution stop "
    "Stop start after before end x".split()
)
KEYS = st.sampled_from(
    "session_id session conversation_id cwd folder workspace_roots tool_name tool_input tool_output "
    "tool_response command output exit_code file prompt error error_message duration".split()
)


@settings(max_examples=examples(150))
@given(
    st.sampled_from(AGENTS),
    NAMES,
    st.dictionaries(KEYS, VALUES | st.sampled_from(["Bash", "Shell", "make"]), max_size=7),
)
def test_nothing_stops_an_agent(shop: Path, agent: Agent, name: str, more: dict[str, Any]) -> None:
    told = {"event": name, "hook_event_name": name} | more
    said, complaint = respond(agent, json.dumps(told).encode(), {}, Manner("ask"))
    assert complaint == ""
    assert not said or isinstance(json.loads(said), dict)
    os.chdir(shop)
