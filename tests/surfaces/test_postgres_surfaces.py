"""Servers, clients and commands on PostgreSQL answer as they do on a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import psycopg
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

import postgres_server
from command_line import answered, at_once, hardwon_does, refused
from hardwon import Client, Memory
from hardwon.errors import ForbiddenError, NotAdmittedError
from mcp_calls import text_of
from serving import Process

pytestmark = pytest.mark.usefixtures("own_folder")


def token(url: str, name: str, *options: str) -> str:
    done = hardwon_does("--memory", url, "tokens", "create", name, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_rest_and_mcp_over_http_on_a_database(url: str) -> None:
    secret, reader = (
        token(url, "ci", "--scope", "admin"),
        token(url, "guest", "--project", "default"),
    )
    server = Process(url)
    try:
        with Client(server.url, secret) as client:
            kept = client.remember("upload failed", "failure", tool="unknown")
            assert kept.metadata.source.author == "ci"
            client.verify(kept.id, "compiler")
            assert [hit.record.id for hit in client.recall("upload")] == [kept.id]
            assert client.stats().location == "PostgreSQL"  # where it is, is nobody's business
            assert client.doctor().findings
            assert client.care.projects() == ["default"]
            backup = httpx2.get(
                f"{server.url}/api/v1/projects/default/backup",
                headers={"Authorization": f"Bearer {secret}"},
                timeout=60,
            )
            assert "pg_dump" in backup.json()["detail"]
        with Client(server.url, reader) as client:
            assert client.recall("upload")[0].record.id == kept.id
            with pytest.raises(ForbiddenError):
                client.record_fact("Port 80 is open.", "observation")
        with Client(server.url, reader, project="p") as client, pytest.raises(ForbiddenError):
            client.stats()
        assert "upload failed" in asyncio.run(_recalled(server.url, secret, "upload"))
        assert (
            answered("--memory", url, "tokens", "revoke", "guest", "--yes")[0]["state"] == "revoked"
        )
        with Client(server.url, reader) as client, pytest.raises(NotAdmittedError):
            client.stats()  # at once, though another process revoked it
    finally:
        code, said = server.end()
    assert code == 0, said
    assert "Traceback" not in said


async def _recalled(url: str, secret: str, query: str) -> str:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=100) as http,
        McpClient(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        answer = await client.call_tool("search", {"query": query})
        assert not answer.is_error, answer
        return text_of(answer)


def test_a_server_whose_user_may_only_write_says_what_it_may_not(url: str) -> None:
    """A token's scope does not reach further than the user that the server runs as."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    postgres_server.server().run("CREATE ROLE runs_a_server LOGIN")
    limited = url.replace("postgres@", "runs_a_server@")
    for options in (("--project", "default"), ("--server",)):
        assert (
            at_once("--memory", url, "postgres", "grant", "runs_a_server", *options).exit_code == 0
        )
    secret = token(limited, "ci", "--scope", "admin")
    server = Process(limited)
    try:
        with Client(server.url, secret) as client:
            kept = client.record_fact("Port 80 is open.", "observation")
            with pytest.raises(ForbiddenError):
                client.verify(kept.id, "compiler")
            assert client.care.projects() == ["default"]
    finally:
        code, said = server.end()
    assert code == 0, said
    for options in (("--project", "default"), ("--server",)):
        assert (
            at_once("--memory", url, "postgres", "revoke", "runs_a_server", *options).exit_code == 0
        )
    postgres_server.server().run("DROP ROLE runs_a_server", str(name))


@pytest.mark.parametrize(
    "arguments",
    [
        ("care", "backup", "copy.db"),
        ("care", "restore", "kept.db", "--yes"),
        ("tree", "sync", "--make-tree"),
        ("fix-history", "stats"),
    ],
)
def test_what_needs_a_file_says_what_to_do_instead(url: str, arguments: tuple[str, ...]) -> None:
    with Memory("brain.db") as memory:
        memory.backup("kept.db")
    said = refused("--memory", url, *arguments)
    assert "merge" in said
    assert not Path("copy.db").exists()
