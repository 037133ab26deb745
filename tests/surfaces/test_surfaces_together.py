"""Writers over REST, MCP and the library while a server is killed; and all of them on PostgreSQL."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

import httpx2
import psycopg
import pytest

from cases import TORTURE
from command_line import answered, at_once, hardwon_does, refused
from engines import own_login
from hardwon import Client, Memory
from hardwon.errors import ForbiddenError, NotAdmittedError
from mcp_calls import over_http, text_of
from processes import free_port
from serving import Process

EACH = 30 if TORTURE else 12
KILLS = 3 if TORTURE else 2
KEPT: dict[str, Any] = {"outcome": "learning", "insight_type": "fact"}


def over_rest(url: str, token: str, name: str, acknowledged: list[str]) -> None:
    with Client(url, token) as client:
        for number in range(EACH):
            kept = client.remember(f"{name} {number}", **KEPT)
            acknowledged.append(kept.content)


async def _tool_once(url: str, token: str, content: str, key: str) -> str:
    async with over_http(url, token) as client:
        said = {"happened": content, "outcome": "learning"}
        once = cast("Any", {"idempotency-key": key})
        answer = await client.call_tool("after", said, meta=once)
        assert not answer.is_error, answer
        return content


def over_mcp(url: str, token: str, name: str, acknowledged: list[str]) -> None:
    """An agent that tries again until it is answered, under the same key."""
    for number in range(EACH):
        ends = time.monotonic() + 200
        while True:
            once = _tool_once(url, token, f"{name} {number}", f"{name}-{number}")
            try:
                acknowledged.append(asyncio.run(once))
                break
            except Exception:  # noqa: BLE001  # whatever a killed server looks like from here
                assert time.monotonic() < ends, "no answer for minutes"
                time.sleep(0.1)


LIBRARY = textwrap.dedent("""
    import sys, time
    from hardwon import Memory
    with Memory(sys.argv[1], "default") as memory:
        for number in range(int(sys.argv[3])):
            kept = memory.remember(f"{sys.argv[2]} {number}", outcome="learning", insight_type="fact")
            print(kept.content, flush=True)
            time.sleep(0.05)
""")


def test_eight_writers_lose_nothing_while_the_server_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as patient as `over_mcp`
    patience = (0.1, 0.5, 2.0, 5.0, *[10.0] * 4)
    monkeypatch.setattr("hardwon.surfaces.client.CLIENT_WAITS_S", patience)
    brain = tmp_path / "brain"
    with Memory(brain) as memory:
        token = memory.tokens.create("writers", "write").secret
    port = str(free_port())
    server = Process(brain, "--rate", "100000", "--port", port)
    acknowledged: list[str] = []
    threads = [
        threading.Thread(target=work, args=(server.url, token, f"{how}{number}", acknowledged))
        for how, work in (("rest", over_rest), ("mcp", over_mcp))
        for number in range(3)
    ]
    command = [sys.executable, "-c", LIBRARY, str(brain)]
    how: Any = {"stdout": subprocess.PIPE, "text": True}
    own = ("library0", "library1")
    libraries = [subprocess.Popen([*command, name, str(EACH)], **how) for name in own]
    for thread in threads:
        thread.start()
    for turn in range(1, KILLS + 1):
        deadline = time.monotonic() + 200
        # in the middle of the work
        while len(acknowledged) < turn * EACH and time.monotonic() < deadline:
            time.sleep(0.01)
        assert any(thread.is_alive() for thread in threads)
        code, _ = server.end(signal.SIGKILL)
        assert code == -signal.SIGKILL
        server = Process(brain, "--rate", "100000", "--port", port)
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    for process in libraries:
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        acknowledged += said.splitlines()
    code, said = server.end()
    assert code == 0, said
    writers = {"rest": 3, "mcp": 3, "library": 2}.items()
    names = [f"{how}{number}" for how, count in writers for number in range(count)]
    wanted = Counter(f"{name} {each}" for name in names for each in range(EACH))
    assert Counter(acknowledged) == wanted
    with Memory(brain) as memory:
        assert Counter(record.content for record in memory.browse(kind="experience")) == wanted  # type: ignore[union-attr]
        assert memory.doctor().ok


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
