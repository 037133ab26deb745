"""`hardwon mcp` as a process, and the SDK's own client that talks to it."""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from checkouts import git, new_repository
from hardwon import Memory, limits
from hardwon.surfaces.gate import Ask, Gate
from hardwon.surfaces.mcp.btb import BTB_TOOLS
from hardwon.surfaces.mcp.clients import CLIENTS
from hardwon.surfaces.mcp.reading import BTB_SCHEME, SCHEME
from hardwon.surfaces.mcp.server import IDEMPOTENCY_KEY, make_server
from hardwon.surfaces.mcp.stdio import NO_NAME, make_client_name
from hardwon.surfaces.mcp.tools import TOOLS
from hardwon.surfaces.operations import OPERATIONS
from hardwon.surfaces.rest.app import PROJECT_HEADER
from hardwon.trust import access
from hardwon.trust.access import Caller
from mcp_calls import (
    HELLO,
    MODES,
    SOURCE,
    call_every_tool,
    example_of,
    fill,
    over_stdio,
    parameters,
    read_everything,
    refused,
    run,
    text_of,
)

FAILURE = {"content": "KeyError id", "outcome": "failure", "tool": "unknown"}


@pytest.fixture
def brain(tmp_path: Path) -> Path:
    return tmp_path / "brain"


@asynccontextmanager
async def in_this_process(
    brain: Path, scope: access.Scope = "write", *, every: bool = True, btb: bool = False
) -> AsyncIterator[Client]:
    """A client of a server without a process of its own, which takes a second to start."""
    gate = Gate(lambda project: Memory(brain, project), None)
    async with Client(
        make_server(lambda _: Ask(gate, Caller("tester", scope), "default"), every=every, btb=btb)
    ) as client:
        yield client
    gate.close()


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_resource_and_prompt_answers(brain: Path, mode: str, tmp_path: Path) -> None:
    record_id = fill(brain)

    async def work() -> None:
        server = parameters(brain, "--scope", "govern", "--tools", "all", strict=True)
        async with over_stdio(server, mode, tmp_path / "errors") as client:
            assert client.server_info
            assert client.server_info.name == "hardwon"
            answers = await call_every_tool(client, record_id)
            assert list(answers) == list(TOOLS)
            kept = answers["remember"].structured_content["metadata"]
            assert kept["source"]["author"] == "tester"  # as it introduces itself
            context = answers["context"].structured_content
            assert text_of(answers["context"]) == context["text"]
            assert context["text"].startswith("<hardwon-memory ")
            assert answers["search"].structured_content["result"][0]["record"]["kind"]
            assert "KeyError" in text_of(answers["search"])
            for name, status in (("verify", "verified"), ("archive", "archived")):
                metadata = answers[name].structured_content["result"]["metadata"]
                assert metadata["validation"]["status"] == status
            assert answers["similar_issues"].structured_content["exact"]
            assert "Forgot time zones" in text_of(answers["rules"])
            found = await read_everything(client, record_id)
            assert found[f"{SCHEME}health"]["status"] == "ok"
            assert found[f"{SCHEME}record/{record_id}"]["id"] == record_id
            assert len(found[f"{SCHEME}recent/3"]["records"]) == 3
            assert found[f"{SCHEME}topology"]["branches"]
            kinds = {"experience", "fact", "trajectory", "episode", "fix"}
            assert set(found[f"{SCHEME}schema"]["records"]) == kinds
            assert "KeyError 'id' in login.py" in found["debug_session"]
            assert "outcome=failure" in found["schema_discovery"]
            assert "code_interpreter/runtime" in found["memory_review"]

    run(work)
    assert (tmp_path / "errors").read_text() == ""


def test_the_page_about_it_names_everything_there_is() -> None:
    """Scopes, resources and prompts are in the reference: test_reference.py."""
    page = (Path(__file__).parents[2] / "docs" / "coding-agents.md").read_text()
    for name in (*TOOLS, *BTB_TOOLS, *CLIENTS, IDEMPOTENCY_KEY, PROJECT_HEADER):
        assert f"`{name}`" in page, name


def test_each_tool_tells_what_it_does_to_the_memory(brain: Path) -> None:
    async def work() -> None:
        async with in_this_process(brain, "admin") as client:
            listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == list(TOOLS)
        for tool in listed:
            if tool.name in ("before", "after"):
                continue
            operation = next(each for each in OPERATIONS.values() if each.tool == tool.name)
            hints = tool.annotations
            assert hints
            assert (hints.read_only_hint, hints.idempotent_hint) == (operation.reads,) * 2
            assert (hints.destructive_hint, hints.open_world_hint) == (operation.destructive, False)
            assert tool.title
            assert tool.description
            assert tool.input_schema["additionalProperties"] is False
            required = tool.input_schema.get("required", [])
            assert set(list(tool.input_schema["properties"])[: len(required)]) == set(required)
            assert tool.input_schema["properties"].keys() == operation.takes.model_fields.keys()

    run(work)


async def ask(client: Client, tool: str, /, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, (tool, text_of(answer))
    return answer.structured_content


def test_the_names_of_btb_ask_the_same_memory(brain: Path) -> None:
    record_id = fill(brain)

    async def work() -> None:
        async with over_stdio(parameters(brain, "--btb")) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert listed.keys() >= BTB_TOOLS.keys()
            answers: dict[str, Any] = {}
            for name, tool in BTB_TOOLS.items():
                answers[name] = await ask(client, name, **example_of(tool.takes, record_id))
            path = answers["btb_remember"]["path"]
            assert path.startswith("outcome=failure/tool=code_interpreter/error_type=runtime/")
            assert (brain / path).exists(), "it writes what it names"
            assert len(answers["btb_recall"]["memories"]) == 5
            assert answers["btb_recall"]["memories"][0]["_path"] == path
            by_outcome = {"failure": 5, "success": 1, "learning": 0, "interaction": 0}
            assert answers["btb_reflect"]["by_outcome"] == by_outcome
            area = "tool=code_interpreter/error_type=runtime"
            assert answers["btb_reflect"]["failure_hotspots"] == [[area, 5]]
            derived = {"outcome": {"failure": {"tool": {"web_search": None}}}}
            assert answers["btb_derive"]["schema"] == derived
            assert answers["btb_derive"]["_derived"] is True
            mine: Any = {"content": "x", "outcome": "learning"}
            mine["metadata"] = {"insight_type": "fact", "ticket": 7}
            once: Any = {IDEMPOTENCY_KEY: "a ticket"}
            kept = await client.call_tool("btb_remember", mine, meta=once)
            again = await client.call_tool("btb_remember", mine, meta=once)
            assert not kept.is_error
            assert kept.structured_content == again.structured_content

            async def recalled(**asked: Any) -> list[str]:
                found = await ask(client, "btb_recall", **asked)
                return [each["content"] for each in found["memories"]]

            assert await recalled(metadata={"ticket": 7}) == ["x"]
            patterns = "agent_brain/outcome=success/**/*.json /srv/brain/outcome=success/*/*.json"
            for pattern in (*patterns.split(), "**/tool=conversation/*"):
                assert await recalled(pattern=pattern) == ["the parser works"], pattern
            assert await recalled(tool="web_search") == []
            assert "no '..'" in await refused(client, "btb_recall", {"pattern": "outcome=*/../x"})
            read = await read_everything(client, record_id)
            assert read[f"{BTB_SCHEME}schema"] == answers["btb_schema"]["schema"]
            assert read[f"{BTB_SCHEME}recent/3"]["records"][0]["content"] == "x"

    run(work)


def test_the_btb_tools_take_what_that_server_s_took(brain: Path) -> None:
    fill(brain)

    async def work() -> None:
        async with in_this_process(brain, btb=True) as client:
            whole = (await ask(client, "btb_map"))["map"]
            top = (await ask(client, "btb_map", max_depth=1))["map"]
            assert "error_type=runtime" in whole
            assert len(top.splitlines()) == 3, "the root and two outcomes"
            assert len((await ask(client, "btb_hotspots", top_n=1))["hotspots"]) == 1
            derived = (await ask(client, "btb_derive", directory="brain/outcome=success"))["schema"]
            assert derived == {"outcome": {"success": {"tool": {"conversation": None}}}}
            outcomes = (await ask(client, "btb_derive"))["schema"]["outcome"]
            assert set(outcomes) == {"failure", "success"}
            clustered = {"pattern": "**/tool=conversation/*", "max_clusters": 3, "explain": True}
            explained = await ask(client, "btb_derive", directory=".", **clustered)
            assert explained["_explanation"] == ["outcome: success", "tool: conversation"]
            for form in ("text", "tree", "yaml"):
                drawn = await ask(client, "btb_schema", format=form, include_stats=True)
                assert "  web_search" in drawn["schema"]
                assert drawn["stats"] == {"total_files": 5}
            packet = json.dumps({"outcome": "failure", "tool": "unknown"})
            meant = {"dry_run": False, "create_file": True}
            path = (await ask(client, "btb_transmit", packet=packet, **meant))["path"]
            assert path.startswith("outcome=failure/tool=unknown/")
            kept = await ask(client, "btb_remember", content="It worked out", outcome="success")
            assert kept["path"].startswith("_intake/missing_metadata/")
            assert kept["note"].startswith("tool is missing; allowed: one of code_interpreter")
            told = {"error_description": "KeyError: 'x'"}
            prompt = await client.get_prompt("debug_session", told)
            assert "KeyError: 'x'" in str(prompt.messages[0].content)

    run(work)


def test_errors_are_lines_that_a_model_can_act_on(brain: Path) -> None:
    async def work() -> None:
        async with over_stdio(parameters(brain, "--tools", "all")) as client:
            said = await refused(client, "remember", {"content": "x", "outcome": "fine"})
            assert said.startswith("outcome: 'fine' is not allowed; allowed: 'success', 'failure'")
            free = await client.call_tool("remember", {**FAILURE, "error_type": "odd"})
            assert not free.is_error
            named = {**FAILURE, "author": "somebody else"}
            assert "author" in await refused(client, "remember", named)
            assert "k" in await refused(client, "search", {"query": "x", "k": 0})
            with pytest.raises(MCPError, match="there is no tool 'forget'"):
                await client.call_tool("forget", {})
            for name in ("nothing", "record/", "stats/1"):
                with pytest.raises(MCPError, match="hardwon://record/{id}"):
                    await client.read_resource(f"hardwon://{name}")
            for address in ("btb://stats", "file:///etc/passwd"):
                with pytest.raises(MCPError, match="hardwon://record/{id}"):
                    await client.read_resource(address)
            for name in ("recent/-1", "recent/0", "recent/9999999", "record/x"):
                with pytest.raises(MCPError, match="is not allowed"):
                    await client.read_resource(f"hardwon://{name}")
            with pytest.raises(MCPError, match="there is no record"):
                await client.read_resource("hardwon://record/0198c0de-0000-7000-8000-000000000001")
            with pytest.raises(MCPError, match="memory_review, debug_session"):
                await client.get_prompt("nothing", {})
            with pytest.raises(MCPError, match="error: "):
                await client.get_prompt("debug_session", {})
            assert not (await client.call_tool("stats", {})).is_error

    run(work)


def test_no_secret_comes_back_in_an_error(brain: Path) -> None:
    secret = "sk-" + "proj-" + "a1B2" * 12

    async def work() -> None:
        async with in_this_process(brain) as client:
            fact = {"content": "The port is 80.", "fact_type": secret}
            said = [await refused(client, "record_fact", fact)]
            said += [await refused(client, "search", {"query": "port", secret: 1})]
            for ask in (
                client.call_tool(secret, {}),
                client.read_resource(f"hardwon://record/{secret}"),
                client.get_prompt(secret),
            ):
                with pytest.raises(MCPError) as error:
                    await ask
                said.append(str(error.value))
            assert all(secret not in each for each in said), said
            assert "REDACTED" in said[0]

    run(work)


def test_what_nobody_foresaw_is_one_line(brain: Path, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: str) -> Memory:
        raise RuntimeError("secret detail")

    ask = Ask(Gate(broken, None), Caller("tester", "write"), "default")

    async def work() -> None:
        async with Client(make_server(lambda _: ask, every=True)) as client:
            assert "secret detail" not in await refused(client, "stats", {})
            with pytest.raises(MCPError, match="Something unexpected went wrong"):
                await client.read_resource("hardwon://stats")

    with caplog.at_level(logging.ERROR, "hardwon"):
        run(work)
    assert caplog.text.count("RuntimeError: secret detail") == 2


def test_a_client_cannot_be_somebody_who_is_believed_for_their_name() -> None:
    assert make_client_name("  Claude \x1b[2J\n Code ") == "Claude [2J Code"
    assert len(make_client_name("x" * 10_000)) == limits.NAME_CHARS_MAX
    for name in ("", " ", "hardwon", "test_runner", "human_approval"):
        assert make_client_name(name) == NO_NAME


def test_what_is_recorded_knows_its_author_and_its_checkout(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "work")
    at = git(root, "rev-parse", "HEAD")

    async def work() -> None:
        options = ("--tools", "all", "--author", "nightly")
        async with over_stdio(parameters(tmp_path / "brain", *options, folder=root)) as client:
            kept = (await client.call_tool("remember", dict(FAILURE))).structured_content
            assert kept["metadata"]["context"]["git_commit"] == at
            assert kept["metadata"]["source"]["author"] == "nightly"

    run(work)


class Raw:
    """The server, spoken to line by line."""

    def __init__(self, brain: Path) -> None:
        words = ["--memory", str(brain), "mcp", "--tools", "all"]
        command = [sys.executable, "-m", "hardwon.surfaces.cli.main", *words]
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        env = {**os.environ, "PYTHONPATH": SOURCE}
        self.process: subprocess.Popen[bytes] = subprocess.Popen(command, env=env, **pipes)
        self._number = 1
        self.send(HELLO)
        self.answer()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any] | str) -> None:
        assert self.process.stdin
        text = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout
        assert select.select([self.process.stdout], [], [], 30)[0]
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self.answer()["result"]

    def remember(self, content: str, key: str) -> Any:
        call = {"name": "remember", "arguments": {**FAILURE, "content": content}}
        answer = self.ask("tools/call", {**call, "_meta": {IDEMPOTENCY_KEY: key}})
        return answer["structuredContent"]["id"]

    def end(self) -> tuple[int, bytes, bytes]:
        out, errors = self.process.communicate(timeout=120)
        return self.process.returncode, out, errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_on_a_signal(brain: Path, number: signal.Signals, code: int) -> None:
    server = Raw(brain)
    server.remember("one", "1")
    server.process.send_signal(number)
    assert server.process.wait(timeout=120) == code
    assert server.end() == (code, b"", b"")


def test_what_is_no_message_does_not_end_it_and_the_end_of_the_input_does(brain: Path) -> None:
    server = Raw(brain)
    for line in ("not JSON", "[]", "{}", "\x00\xff", "[" * 100_000, '{"jsonrpc": "2.0", "id": 1}'):
        server.send(line)
    server.send({"jsonrpc": "2.0", "id": "last", "method": "ping"})
    answers = [server.answer()]
    while answers[-1].get("id") != "last":
        answers.append(server.answer())
    assert answers[-1]["result"] == {}
    assert server.end()[0] == 0
