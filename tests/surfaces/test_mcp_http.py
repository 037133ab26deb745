"""The MCP server over HTTP: the SDK's own client through a real uvicorn, and everybody who is not
let in.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from clocks import Clock
from hardwon import Memory, limits
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.mcp.btb import BTB_TOOLS
from hardwon.surfaces.mcp.reading import SCHEME
from hardwon.surfaces.mcp.tools import TOOLS, USUAL
from hardwon.surfaces.rest import server as rest_server
from hardwon.surfaces.rest.app import build_app
from hardwon.surfaces.rest.options import ServerOptions
from hardwon.trust.access import SCOPES, Caller, Scope, includes
from mcp_calls import (
    MODES,
    ask_of_skills,
    call_every_tool,
    example_of,
    fill,
    read_everything,
    refused,
    run,
    text_of,
)

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ARGUMENTS = {
    "content": "KeyError id",
    "outcome": "failure",
    "tool": "code_interpreter",
    "error_type": "runtime",
}


@dataclass
class Served:
    """A server that runs, and the memory that its tokens are kept with."""

    url: str
    memory: Memory
    clock: Clock
    record_id: str
    stop: Callable[[], None]

    def token(
        self, scope: Scope = "write", projects: list[str] | None = None, name: str = "tester"
    ) -> str:
        return self.memory.tokens.create(name, scope, projects, days=1).secret

    @asynccontextmanager
    async def client(
        self, token: str, mode: str = MODES[1], **headers: Any
    ) -> AsyncIterator[Client]:
        given: dict[str, Any] = {"Authorization": f"Bearer {token}", **headers}
        async with (
            httpx2.AsyncClient(headers=given) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client

    def post(
        self, token: str | None = None, body: Any = PING, method: str = "POST", **headers: str
    ) -> httpx.Response:
        known = {"Authorization": f"Bearer {token}"} if token is not None else {}
        content = body if isinstance(body, bytes) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.request(
            method, self.url, content=content, headers={**HEADERS, **known, **named}, timeout=120
        )


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    brain, clock = tmp_path / "brain", Clock()
    record_id = fill(brain)
    fill(brain, "other")
    options = dict(getattr(request, "param", {}))
    every_tool = options.pop("every_tool", True)
    with Memory(brain, clock=clock, checkout=False) as memory:
        gate = Gate(
            lambda project: Memory(brain, project, checkout=False), memory.tokens, **options
        )
        listening = rest_server.bind("127.0.0.1", 0)
        settings = ServerOptions(
            "127.0.0.1",
            listening.getsockname()[1],
            "default",
            brain,
            allow_hosts=("memory.example",),
            allow_origins=("https://tools.example",),
            btb=True,
            every_tool=every_tool,
        )
        ready = threading.Event()
        server = rest_server.Server(build_app(gate, settings), ready.set)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        assert ready.wait(120)
        stop = partial(setattr, server, "should_exit", True)
        try:
            yield Served(f"{settings.url}/mcp", memory, clock, record_id, stop)
        finally:
            stop()
            thread.join(timeout=120)
            listening.close()


# --- whoever is let in ---


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_resource_and_prompt_answers(served: Served, mode: str) -> None:
    async def work() -> None:
        async with served.client(served.token("govern"), mode) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert listed == [*TOOLS, *BTB_TOOLS]
            answers = await call_every_tool(client, served.record_id)
            assert text_of(answers["context"]) == answers["context"].structured_content["text"]
            found = await read_everything(client, served.record_id)
            assert found[f"{SCHEME}health"]["author"] == "tester"
            for name, tool in BTB_TOOLS.items():
                assert not (
                    await client.call_tool(name, example_of(tool.takes, served.record_id))
                ).is_error

    run(work)


@pytest.mark.parametrize("scope", SCOPES)
def test_each_scope_reaches_the_tools_that_are_declared_for_it(
    served: Served, scope: Scope
) -> None:
    async def work() -> None:
        async with served.client(served.token(scope), MODES[0]) as client:
            allowed = {name for name, tool in TOOLS.items() if includes(scope, tool.scope)}
            allowed |= {name for name, tool in BTB_TOOLS.items() if includes(scope, tool.scope)}
            assert {tool.name for tool in (await client.list_tools()).tools} == allowed
            for name in (*TOOLS, *BTB_TOOLS):
                takes = TOOLS[name].takes if name in TOOLS else BTB_TOOLS[name].takes
                arguments = example_of(takes, served.record_id)
                if name in allowed:
                    assert not (await client.call_tool(name, arguments)).is_error
                else:
                    assert "'tester' has" in await refused(client, name, arguments)

    before = served.memory.stats()
    run(work)
    assert (served.memory.stats().records > before.records) == includes(scope, "write")
    assert (served.memory.stats().by_status != before.by_status) == includes(scope, "write")


@pytest.mark.parametrize("served", [{"every_tool": False}], indirect=True)
def test_the_usual_tools_over_http(served: Served) -> None:
    async def work() -> None:
        async with served.client(served.token("govern")) as client:
            ours = [tool.name for tool in (await client.list_tools()).tools]
            assert ours == [*USUAL, *BTB_TOOLS]
            said = await client.call_tool("after", {**TOLD, "outcome": "success"})
            assert text_of(said).startswith("Done: trajectory ")
            known = text_of(await client.call_tool("before", {"task": TOLD["task"]}))
            assert TOLD["action"] in known
            assert (await ask_of_skills(client, "skills/list"))["skills"] == []
            (kept,) = said.structured_content["ids"]
            await client.call_tool("verify", {"record_id": kept, "by": "test_runner"})
            (skill,) = (await ask_of_skills(client, "skills/list"))["skills"]
            (content,) = (await client.read_resource(skill["uri"])).contents
            assert TOLD["action"] in content.text  # type: ignore[union-attr]

    run(work)


TOLD = {
    "happened": "it went up",
    "task": "deploy the shop",
    "action": "AWS_REGION=eu make deploy",
    "error": "RuntimeError: missing AWS_REGION",
}


def test_what_is_written_is_the_tokens_own_and_in_its_project(served: Served) -> None:
    async def work(token: str, **headers: Any) -> Any:
        async with served.client(token, **headers) as client:
            return (await client.call_tool("remember", dict(ARGUMENTS))).structured_content[
                "metadata"
            ]

    async def all_of_them() -> list[Any]:
        return [
            await work(served.token(name="alice")),
            await work(served.token(name="bob", projects=["other"])),
            await work(served.token(name="carol"), **{"Hardwon-Project": "größe".encode()}),
            await work(
                served.token(name="dave", projects=["other", "third"]),
                **{"Hardwon-Project": "third"},
            ),
        ]

    said = [(each["source"]["author"], each["project_id"]) for each in run(all_of_them)]
    assert said == [("alice", "default"), ("bob", "other"), ("carol", "größe"), ("dave", "third")]


# --- whoever is not ---


def test_nobody_is_let_in_without_a_token_that_is_valid(served: Served) -> None:
    revoked, expired, good = served.token(name="gone"), served.token(name="old"), served.token()
    served.memory.tokens.revoke("gone")
    for token in (
        None,
        "-",
        "x",
        good[:-1] + ("A" if good[-1] != "A" else "B"),
        revoked,
        "hwt_" + "0" * 12 + "_" + "A" * 43,
    ):
        for method in ("POST", "GET", "DELETE", "PUT"):
            answer = served.post(token, method=method)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == 401
            assert not token or len(token) < 5 or token not in answer.text
    assert served.post(expired).status_code == 200
    served.clock.now += timedelta(days=2)
    assert served.post(expired).status_code == 401
    assert served.post(None, Authorization=f"Basic {good}").status_code == 401


def test_no_session_is_handed_out_that_another_token_could_take_over(served: Served) -> None:
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    opened = served.post(
        served.token(), {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    )
    assert opened.status_code == 200
    assert "mcp-session-id" not in opened.headers
    answer = served.post(None, mcp_session_id="0" * 32)
    assert answer.status_code == 401
    for method in ("GET", "DELETE"):
        refused_ = served.post(served.token(), method=method)
        assert (refused_.status_code, refused_.headers["allow"]) == (405, "POST")


def test_other_hosts_and_pages_of_other_places_are_refused(served: Served) -> None:
    token = served.token()
    port = served.url.split(":")[2].split("/")[0]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "",
    ):
        assert served.post(token, Host=host).status_code in (400, 421), host
        assert served.post(None, Host=host).status_code in (400, 421), host
    for origin in (
        "http://evil.example",
        "null",
        f"http://evil.example:{port}",
        "http://localhost.evil.example",
    ):
        assert served.post(token, Origin=origin).status_code == 403, origin
    # ours, but other pages of it
    for origin in ("http://localhost:1", "http://127.0.0.1", f"https://[::1]:{port}"):
        assert served.post(token, Origin=origin).status_code == 403, origin
    assert served.post(token, Origin="https://tools.example").status_code == 200
    for host in ("memory.example", "memory.example:444"):
        assert served.post(token, Host=host, Origin=f"http://{host}").status_code == 200, host
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
        assert served.post(token, Host=host, Origin=f"http://{host}").status_code == 200, host


def test_what_is_too_large_or_no_message_is_refused(served: Served) -> None:
    token = served.token()
    assert served.post(token, b"[" + b" " * limits.MCP_BODY_BYTES_MAX + b"]").status_code == 413
    for body in (b"", b"{", b"[]", b"[" * 100_000, b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"null"):
        for version in ("2025-06-18", "2026-07-28", "1999-01-01"):
            answer = served.post(token, body, MCP_Protocol_Version=version)
            assert 400 <= answer.status_code < 500, (body[:20], version, answer.text[:200])
            assert "Traceback" not in answer.text
    assert served.post(token, Content_Type="text/plain").status_code == 400
    deep: Any = "x"
    for _ in range(200):
        deep = {"a": deep}
    call = {"name": "recall", "arguments": {"query": deep}}
    answer = served.post(token, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    assert (answer.status_code, "error" in answer.json()) == (400, True), answer.text[:200]
    assert served.post(token).json()["result"] == {}


@pytest.mark.parametrize("served", [{"open_to": Caller("local", "read")}], indirect=True)
def test_an_open_door_lets_in_whoever_sends_no_token_and_no_further_than_it_says(
    served: Served,
) -> None:
    assert served.post(None).status_code == 200
    assert served.post("wrong").status_code == 401
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": ARGUMENTS},
    }
    assert served.post(None, call).json()["result"]["isError"] is True
    assert served.post(served.token(), call).json()["result"]["isError"] is False
