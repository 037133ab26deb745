"""Servers, clients and commands on PostgreSQL answer as they do on a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import psycopg
import pytest

from command_line import answered, at_once, hardwon_does, refused
from engines import own_login
from hardwon import Client, Memory
from hardwon.errors import ForbiddenError, NotAdmittedError
from mcp_calls import over_http, text_of
from serving import Process

pytestmark = pytest.mark.usefixtures("own_folder")


def token(url: str, name: str, *options: str) -> str:
    done = hardwon_does("--memory", url, "tokens", "create", name, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_rest_and_mcp_over_http_on_a_database(url: str) -> None:
    secret = token(url, "ci", "--scope", "admin")
    reader = token(url, "guest", "--project", "default")
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
            address = f"{server.url}/api/v1/projects/default/backup"
            headers = {"Authorization": f"Bearer {secret}"}
            backup = httpx2.get(address, headers=headers, timeout=60)
            assert "pg_dump" in backup.json()["detail"]
        with Client(server.url, reader) as client:
            assert client.recall("upload")[0].record.id == kept.id
            with pytest.raises(ForbiddenError):
                client.record_fact("Port 80 is open.", "observation")
        with Client(server.url, reader, project="p") as client, pytest.raises(ForbiddenError):
            client.stats()
        assert "upload failed" in asyncio.run(_recalled(server.url, secret, "upload"))
        (revoked,) = answered("--memory", url, "tokens", "revoke", "guest", "--yes")
        assert revoked["state"] == "revoked"
        with Client(server.url, reader) as client, pytest.raises(NotAdmittedError):
            client.stats()  # at once, though another process revoked it
    finally:
        code, said = server.end()
    assert code == 0, said
    assert "Traceback" not in said


async def _recalled(url: str, secret: str, query: str) -> str:
    async with over_http(url, secret) as client:
        answer = await client.call_tool("search", {"query": query})
        assert not answer.is_error, answer
        return text_of(answer)


def test_a_server_whose_user_may_only_write_says_what_it_may_not(url: str) -> None:
    """A token's scope does not reach further than the user that the server runs as."""
    with own_login(url, "default", "writer") as limited:
        user = str(psycopg.conninfo.conninfo_to_dict(limited)["user"])
        keeper = ("--memory", url, "postgres", "grant", user, "--server")
        assert at_once(*keeper).exit_code == 0
        server = Process(limited)
        try:
            with Client(server.url, token(limited, "ci", "--scope", "admin")) as client:
                kept = client.record_fact("Port 80 is open.", "observation")
                with pytest.raises(ForbiddenError):
                    client.verify(kept.id, "compiler")
                assert client.care.projects() == ["default"]
        finally:
            code, said = server.end()
        assert code == 0, said
        assert at_once("--memory", url, "postgres", "revoke", user, "--server").exit_code == 0


def test_what_needs_a_file_says_what_to_do_instead(url: str) -> None:
    with Memory("brain.db") as memory:
        memory.backup("kept.db")
    wants = "care backup copy.db; care restore kept.db --yes; tree sync --make-tree"
    wants += "; fix-history stats"
    for command in wants.split("; "):
        assert "merge" in refused("--memory", url, *command.split())
    assert not Path("copy.db").exists()
