"""The MCP server over HTTP, through a real uvicorn, and everybody who is not let in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hardwon import limits
from hardwon.surfaces.mcp.btb import BTB_TOOLS
from hardwon.surfaces.mcp.reading import SCHEME
from hardwon.surfaces.mcp.tools import TOOLS, USUAL
from hardwon.trust.access import SCOPES, Caller, Scope, includes
from mcp_calls import (
    HELLO,
    MODES,
    ask_of_skills,
    example_of,
    fill,
    over_http,
    read_everything,
    refused,
    run,
)
from serving import Served, served

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ARGUMENTS = {"content": "KeyError id", "outcome": "failure", "tool": "unknown"}
REMEMBER = {"name": "remember", "arguments": ARGUMENTS}


@pytest.fixture
def record_id(tmp_path: Path) -> str:
    fill(tmp_path / "brain", "other")
    return fill(tmp_path / "brain")


@pytest.fixture
def running(tmp_path: Path, record_id: str, request: pytest.FixtureRequest) -> Iterator[Served]:
    options = {"every_tool": True, **getattr(request, "param", {})}
    with served(tmp_path, btb=True, **options) as made:
        yield made


def post(
    running: Served, token: str | None, body: Any = PING, method: str = "POST", **headers: str
) -> httpx.Response:
    known = {"Authorization": f"Bearer {token}"} if token is not None else {}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body)
    sent: dict[str, Any] = {"content": content, "headers": HEADERS | known | named}
    return httpx.request(method, f"{running.url}/mcp", timeout=120, **sent)


def make_call(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize("scope", SCOPES)
def test_each_scope_reaches_its_own_tools(running: Served, record_id: str, scope: Scope) -> None:
    async def work() -> None:
        async with over_http(running.url, running.token(scope), MODES[0]) as client:
            if scope == "govern":
                read = await read_everything(client, record_id)
                assert read[f"{SCHEME}health"]["author"] == "tester"
            every: dict[str, Any] = {**TOOLS, **BTB_TOOLS}
            allowed = {name for name, tool in every.items() if includes(scope, tool.scope)}
            assert {tool.name for tool in (await client.list_tools()).tools} == allowed
            for name, tool in every.items():
                arguments = example_of(tool.takes, record_id)
                if name in allowed:
                    assert not (await client.call_tool(name, arguments)).is_error
                else:
                    assert "'tester' has" in await refused(client, name, arguments)

    before = running.memory.stats()
    run(work)
    assert (running.memory.stats().records > before.records) == includes(scope, "write")
    assert (running.memory.stats().by_status != before.by_status) == includes(scope, "write")


@pytest.mark.parametrize("running", [{"every_tool": False}], indirect=True)
def test_the_usual_tools_over_http(running: Served) -> None:
    async def work() -> None:
        async with over_http(running.url, running.token("govern")) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert listed == [*USUAL, *BTB_TOOLS]
            assert (await ask_of_skills(client, "skills/list"))["skills"] == []

    run(work)


def test_what_is_written_is_the_tokens_own_and_in_its_project(running: Served) -> None:
    asked: list[Any] = [("alice", None, ""), ("bob", ["other"], ""), ("carol", None, "größe")]
    asked.append(("dave", ["other", "third"], "third"))

    async def work(name: str, projects: list[str] | None, project: str) -> Any:
        token = running.token("write", name=name, projects=projects)
        headers: Any = {"Hardwon-Project": project.encode()} if project else {}
        async with over_http(running.url, token, **headers) as client:
            kept = await client.call_tool("remember", dict(ARGUMENTS))
            return kept.structured_content["metadata"]

    async def all_of_them() -> list[Any]:
        return [await work(*each) for each in asked]

    said = [(each["source"]["author"], each["project_id"]) for each in run(all_of_them)]
    assert said == [("alice", "default"), ("bob", "other"), ("carol", "größe"), ("dave", "third")]


def test_no_session_is_handed_out_that_another_token_could_take_over(running: Served) -> None:
    opened = post(running, running.token("write"), HELLO)
    assert opened.status_code == 200
    assert "mcp-session-id" not in opened.headers
    answer = post(running, None, mcp_session_id="0" * 32)
    assert answer.status_code == 401
    for method in ("GET", "DELETE"):
        refused_ = post(running, running.token("write"), method=method)
        assert (refused_.status_code, refused_.headers["allow"]) == (405, "POST")


def test_what_is_too_large_or_no_message_is_refused(running: Served) -> None:
    token = running.token("write")
    assert post(running, token, b"[" + b" " * limits.MCP_BODY_BYTES_MAX + b"]").status_code == 413
    for body in (b"", b"{", b"[]", b"[" * 100_000, b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"null"):
        for version in ("2025-06-18", "2026-07-28", "1999-01-01"):
            answer = post(running, token, body, MCP_Protocol_Version=version)
            assert 400 <= answer.status_code < 500, (body[:20], version, answer.text[:200])
            assert "Traceback" not in answer.text
    assert post(running, token, Content_Type="text/plain").status_code == 400
    deep: Any = "x"
    for _ in range(200):
        deep = {"a": deep}
    answer = post(running, token, make_call(name="recall", arguments={"query": deep}))
    assert (answer.status_code, "error" in answer.json()) == (400, True), answer.text[:200]
    assert post(running, token).json()["result"] == {}


@pytest.mark.parametrize("running", [{"open_to": Caller("local", "read")}], indirect=True)
def test_an_open_door_lets_whoever_sends_no_token_so_far(running: Served) -> None:
    assert post(running, None).status_code == 200
    assert post(running, "wrong").status_code == 401
    call = make_call(**REMEMBER)
    assert post(running, None, call).json()["result"]["isError"] is True
    assert post(running, running.token("write"), call).json()["result"]["isError"] is False
