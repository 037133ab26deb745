"""MCP servers under test, as the SDK's own client sees them, over stdio and HTTP."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import httpx2
import jsonschema
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation
from pydantic import ConfigDict

import hardwon
import warm
from hardwon import Memory
from hardwon.surfaces.arguments import EXAMPLE_ID, Arguments
from hardwon.surfaces.mcp.reading import PROMPTS, RESOURCES, make_address
from hardwon.surfaces.mcp.tools import TOOLS
from short import succeed

SOURCE = str(Path(hardwon.__file__).parent.parent)
_INTRODUCTION: dict[str, Any] = {"clientInfo": {"name": "x", "version": "1"}, "capabilities": {}}
_INTRODUCTION["protocolVersion"] = "2025-06-18"
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _INTRODUCTION}
MODES = ("legacy", "auto")
"""The handshake of older clients, and that of today's."""
_LOADED = ("hardwon.surfaces.mcp.server", "hardwon.surfaces.cli.servers", "hardwon.memory.context")
_LEFT_OUT_OF_EXAMPLES = frozenset({"path", "as_of", "cursor"})
T = TypeVar("T")


def example_of(takes: type[Arguments], record_id: str) -> dict[str, Any]:
    """What its fields' examples make together, about a record that exists."""
    given = {
        name: field.examples[0]
        for name, field in takes.model_fields.items()
        if field.examples and name not in _LEFT_OUT_OF_EXAMPLES
    }
    said: dict[str, Any] = json.loads(json.dumps(given).replace(EXAMPLE_ID, record_id))
    return said


def fill(folder: Path | str, project: str | None = None) -> str:
    """A memory with something of everything; the id of one of its facts."""
    with Memory(folder, project) as memory:
        for number in range(4):
            text = f"KeyError 'id' in login.py, case {number}"
            memory.remember(text, "failure", "code_interpreter", error_type="runtime")
            forgot = ["Forgot time zones"]
            succeed(memory, "Read the log first", task="parse_dates", mistakes=forgot)
        memory.remember("the parser works", "success", "conversation")
        issue = {"model": "gpt-4", "issue_type": "TIMEOUT"}
        issue["description"] = "the test took longer than 30 seconds"
        for worked in (True, False):
            memory.record_fix(issue, worked, worked, fix_commands=["raise the timeout"])
        step = {"action": "pytest", "observation": "1 failed", "reward": 0.0}
        memory.record_trajectory("log in", [step], 0.0)
        return memory.record_fact("Uploads over 2 GB fail with HTTP 413.", "error").id


def parameters(
    memory: Path | str,
    *options: str,
    folder: Path | None = None,
    project: str | None = None,
    strict: bool = False,
) -> StdioServerParameters:
    """`strict`: warnings are errors, in a Python that is started anew."""
    command = sys.executable if strict else warm.python(warm.MAIN, *_LOADED)
    words = ["-W", "error"] if strict else []
    words += ["-m", warm.MAIN, "--memory", str(memory)]
    words += ["--project", project] if project else []
    env = {name: os.environ[name] for name in ("HOME", "XDG_DATA_HOME")} | {"PYTHONPATH": SOURCE}
    words += ["mcp", *options]
    return StdioServerParameters(command=command, args=words, env=env, cwd=folder)


@asynccontextmanager
async def over_stdio(
    server: StdioServerParameters, mode: str = MODES[1], errors: Any = None, name: str = "tester"
) -> AsyncIterator[Client]:
    """A client of a server in a process of its own, whose standard error goes to a file."""
    with (errors or Path(os.devnull)).open("w") as stderr:
        info = Implementation(name=name, version="1")
        async with Client(stdio_client(server, stderr), mode=mode, client_info=info) as client:
            yield client


@asynccontextmanager
async def over_http(
    url: str, token: str, mode: str = MODES[1], **headers: str
) -> AsyncIterator[Client]:
    """A client of a server that listens, with a token."""
    async with (
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"} | headers, timeout=100
        ) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def run(work: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(work)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def refused(client: Client, tool: str, arguments: Mapping[str, Any]) -> str:
    """What a tool says that could not do it: one line, with nothing of the program's inside."""
    result = await client.call_tool(tool, dict(arguments))
    said = text_of(result)
    assert result.is_error, said
    assert "\n" not in said
    assert "Traceback" not in said
    return said


async def call_every_tool(client: Client, record_id: str) -> dict[str, CallToolResult]:
    """Each tool of ours that is listed, by its example; what comes back is what its schema says."""
    listed = (await client.list_tools()).tools
    answers = {}
    for tool in listed:
        if tool.name not in TOOLS:
            continue
        example = example_of(TOOLS[tool.name].takes, record_id)
        told = tool.input_schema["properties"]
        arguments = {name: value for name, value in example.items() if name in told}
        jsonschema.validate(arguments, tool.input_schema)
        answer = await client.call_tool(tool.name, arguments)
        assert not answer.is_error, (tool.name, text_of(answer))
        assert tool.output_schema
        assert tool.output_schema["type"] == "object"
        jsonschema.validate(answer.structured_content, tool.output_schema)
        assert text_of(answer).strip()
        answers[tool.name] = answer
    return answers


async def read_everything(client: Client, record_id: str) -> dict[str, Any]:
    """Each resource and each prompt that is listed."""
    addresses = [resource.uri for resource in (await client.list_resources()).resources]
    listed = (await client.list_resource_templates()).resource_templates
    templates = [template.uri_template for template in listed]
    assert {*addresses, *templates} >= {make_address(name) for name in RESOURCES}
    addresses += [each.replace("{count}", "3").replace("{id}", record_id) for each in templates]
    found: dict[str, Any] = {}
    for address in addresses:
        (content,) = (await client.read_resource(address)).contents
        assert isinstance(content, types.TextResourceContents)
        assert content.mime_type == "application/json"
        found[address] = json.loads(content.text)
    prompts = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == list(PROMPTS)
    for prompt in prompts:
        given = {argument.name: "KeyError: 'id' in login.py" for argument in prompt.arguments or []}
        (message,) = (await client.get_prompt(prompt.name, given)).messages
        assert isinstance(message.content, types.TextContent)
        found[prompt.name] = message.content.text
    return found


class Asked(types.Request[Any, Any]):
    """A request of the extension."""

    method: Literal["skills/list", "skills/get"]
    params: dict[str, Any] = {}


class Answer(types.Result):
    model_config = ConfigDict(extra="allow")


async def ask_of_skills(client: Client, method: Any, **params: Any) -> dict[str, Any]:
    found = await client.session.send_request(Asked(method=method, params=params), Answer)
    return found.model_extra or {}
