"""What a server lets nobody do: foreign names, pages, tokens; too large, deep, slow or many."""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from command_line import at_once
from hardwon import Memory, limits
from hardwon.fixes.reports import Fixes
from hardwon.surfaces.cli import servers
from hardwon.surfaces.rest import server as rest_server
from hardwon.surfaces.rest.options import ServerOptions
from hardwon.trust.access import Caller
from serving import PROJECT, Process, Served, served, wait_until

JSON = {"Content-Type": "application/json"}
TOOLS = "https://tools.example.org"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    allowed: Any = {"allow_hosts": ("memory.example.org",), "allow_origins": (TOOLS,)}
    with served(tmp_path_factory.mktemp("guards"), **allowed) as found:
        yield found


def kind_of(answer: httpx.Response) -> str:
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["type"]).removeprefix("urn:hardwon:problem:")


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/api/v1/projects", "/mcp", "/nothing"]
)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1:x", "localhost.evil.example", "", "a b"]
)
def test_a_foreign_host_is_refused_everywhere(running: Served, path: str, host: str) -> None:
    answer = running.client(None).get(path, headers={"Host": host})
    assert (answer.status_code, kind_of(answer)) == (421, "foreign-host")


def test_its_own_names_are_known(running: Served) -> None:
    port = running.url.rpartition(":")[2]
    ours = ("localhost", f"LOCALHOST:{port}", f"[::1]:{port}")
    for host in (*ours, "memory.example.org", "memory.example.org:444"):
        assert running.client(None).get("/healthz", headers={"Host": host}).status_code == 200


def test_names_follow_the_address() -> None:
    every = "0.0.0.0"  # noqa: S104
    wide = ServerOptions(every, 80, PROJECT, Path(), allow_hosts=("a.example:8080",))
    assert all(map(wide.knows_host, ("localhost", "a.example:8080")))
    assert not any(map(wide.knows_host, ("a.example", "a.example:81", every)))
    one = ServerOptions("192.0.2.7", 443, PROJECT, Path(), tls=True)
    assert all(map(one.knows_host, ("192.0.2.7", "192.0.2.7:443")))
    assert not any(map(one.knows_host, ("192.0.2.8", "localhost")))
    assert one.knows_origin("https://192.0.2.7", "192.0.2.7")
    assert not one.knows_origin("http://192.0.2.7", "192.0.2.7")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", f"{TOOLS}.evil.example"]
)
@pytest.mark.parametrize("path", ["/healthz", "/api/v1/projects", "/mcp"])
def test_a_foreign_page_is_refused(running: Served, path: str, origin: str) -> None:
    answer = running.client().get(path, headers={"Origin": origin})
    assert (answer.status_code, kind_of(answer)) == (403, "foreign-origin")


def test_pages_of_its_own_and_allowed_ones_may_ask_and_get_no_cors(running: Served) -> None:
    for origin in (running.url, TOOLS):
        answer = running.client().get("/api/v1/projects", headers={"Origin": origin})
        assert answer.status_code == 200
        assert not [name for name in answer.headers if name.startswith("access-control")]
    asked = {"Origin": TOOLS, "Access-Control-Request-Method": "POST"}
    assert running.client().options("/api/v1/projects", headers=asked).status_code == 405


def test_every_answer_has_the_headers_and_names_no_software(running: Served) -> None:
    for scope, path in ((None, "/healthz"), (None, "/readyz"), ("admin", "/nothing")):
        headers = running.client(scope).get(path).headers  # type: ignore[arg-type]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in headers


def test_revoked_and_expired_tokens_end(running: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    made = running.memory.tokens.create("leaver", "admin", days=2)
    with running.client(None, Authorization=f"Bearer {made.secret}") as client:
        assert client.get("/readyz").status_code == 200
        later = datetime.now(UTC) + timedelta(days=3)
        monkeypatch.setattr(running.memory.tokens, "_clock", lambda: later)
        assert client.get("/readyz").status_code == 401
        monkeypatch.undo()
        running.memory.tokens.revoke(made.token.id)
        assert client.get("/readyz").status_code == 401


def test_no_token_is_logged_or_told(tmp_path: Path) -> None:
    with Memory(tmp_path / "brain", PROJECT) as memory:
        secret = memory.tokens.create("me", "admin").secret
    server, bearer = Process(tmp_path / "brain"), f"Bearer {secret}"
    records = f"/api/v1/projects/{PROJECT}/records?cursor={secret}"
    asked = [(records, bearer), (f"/{secret}", bearer)]
    asked += [("/readyz", f"{bearer}x"), ("/readyz", f"Basic {secret}")]
    with httpx.Client(base_url=server.url, timeout=60) as client:
        answers = [client.get(path, headers={"Authorization": how}) for path, how in asked]
    assert [answer.status_code for answer in answers] == [422, 404, 401, 401]
    code, said = server.end()
    assert code == 0
    assert not any(secret in text for text in (said, *(answer.text for answer in answers)))


def chunks(size: int) -> Iterator[bytes]:
    for _ in range(size // 65536 + 1):
        yield b" " * 65536


def test_bodies_have_a_bound_whether_they_say_their_size_or_not(running: Served) -> None:
    declared, undeclared = b" " * (limits.BODY_BYTES_MAX + 1), chunks(limits.BODY_BYTES_MAX)
    for content in (declared, undeclared):
        answer = running.client().post(running.at("/recall"), content=content, headers=JSON)
        assert (answer.status_code, kind_of(answer)) == (413, "too-large")


def test_an_import_has_a_bound_of_its_own(running: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_BYTES_MAX", 100_000)
    monkeypatch.setattr(limits, "IMPORT_BYTES_MAX", 1_000_000)
    headers = {"Content-Type": "application/x-ndjson"}
    for content, status in ((b"\n" * 500_000, 200), (chunks(1_000_000), 413)):
        answer = running.client().post(running.at("/import"), content=content, headers=headers)
        assert answer.status_code == status
    assert not list(Path(running.memory.location).parent.glob(".hardwon-*"))


def test_only_so_many_files_are_under_way(running: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAMS_AT_ONCE_MAX", 1)
    client = running.client()
    with connected(running) as connection:
        asked = head(running, running.token(), "Content-Length: 9\r\n")
        asked = asked.replace(b"/recall", b"/import").replace(b"/json", b"/x-ndjson")
        connection.sendall(asked)
        wait_until(lambda: client.get(running.at("/export")).status_code == 503)
        refused = client.get(running.at("/backup"))
        assert (kind_of(refused), refused.headers["retry-after"]) == ("busy", "1")
        assert client.get(running.at("/stats")).status_code == 200
    # each ends in the moment in which its last byte is there
    for path in ("/export", "/backup", "/export"):
        wait_until(lambda path=path: client.get(running.at(path)).status_code == 200)


@pytest.mark.parametrize("long", ["address", "header"])
def test_addresses_and_headers_have_a_bound(running: Served, long: str) -> None:
    begins = b"GET /readyz" + (b"?x=" if long == "address" else b" HTTP/1.1\r\nX-Long: ")
    received = b""
    with connected(running) as connection, suppress(ConnectionError):
        for _ in range(1_000):  # long before that it is given up
            connection.sendall(begins + b"x" * 65_536)
            begins = b""
        received = everything(connection)
    assert b" 200 " not in received
    assert running.client().get("/readyz").status_code == 200


@pytest.mark.parametrize("depth", [limits.JSON_DEPTH_MAX + 2, 150, 200_000])
def test_deep_bodies_are_refused(running: Served, depth: int) -> None:
    nested = b'{"record":' + b"[" * depth + b"]" * depth + b"}"
    answer = running.client().post(running.at("/records"), content=nested, headers=JSON)
    assert (answer.status_code, kind_of(answer)) == (422, "invalid-input")


def test_wide_bodies_are_refused(running: Served) -> None:
    wide = {"record": {"kind": "fact", "x": [1] * (limits.JSON_VALUES_MAX + 1)}}
    answer = running.client().post(running.at("/records"), json=wide)
    assert (answer.status_code, kind_of(answer)) == (422, "invalid-input")
    assert "values" in answer.json()["detail"]


def connected(running: Served) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2])), timeout=100)
    made.settimeout(20)
    return made


def head(running: Served, token: str, more: str = "Content-Length: 1000\r\n") -> bytes:
    host = running.url.removeprefix("http://")
    said = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n{more}"
    return f"POST {running.at('/recall')} HTTP/1.1\r\nHost: {host}\r\n{said}\r\n".encode()


def everything(connection: socket.socket) -> bytes:
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


def test_a_body_that_stops_is_given_up(running: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.surfaces.rest.guard.BODY_WAIT_S", 0.3)
    monkeypatch.setattr("hardwon.surfaces.rest.guard._DRAIN_S", 0.2)
    with connected(running) as connection:
        connection.sendall(head(running, running.token()) + b'{"query":')
        received = everything(connection)
    assert received.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in received
    assert b"too-slow" in received


def test_a_body_with_two_lengths_is_refused(running: Served) -> None:
    two = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
    with connected(running) as connection:
        connection.sendall(head(running, running.token(), two) + b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        received = everything(connection)
    assert received.startswith(b"HTTP/1.1 422 ")
    assert received.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in received


def sign_in_slowly(running: Served) -> socket.socket:
    connection = connected(running)
    host = running.url.removeprefix("http://")
    said = "Content-Length: 100\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\ntoken="
    connection.sendall(f"POST /ui/sign-in HTTP/1.1\r\nHost: {host}\r\n{said}".encode())
    return connection


def test_slow_sign_ins_keep_nobody_out(running: Served) -> None:
    browser = running.client(None, Origin=running.url)
    with ExitStack() as held:
        for _ in range(20):
            held.enter_context(sign_in_slowly(running))
        assert running.client().get("/readyz").status_code == 200
        answer = browser.post("/ui/sign-in", data={"token": running.token()})
        assert answer.status_code == 303
        assert browser.get("/ui/default/overview").status_code == 200


def test_too_many_connections_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SERVED_CONNECTIONS_MAX", 5)
    with served(tmp_path) as server:
        client = server.client()
        with ExitStack() as held:
            for _ in range(5):
                held.enter_context(connected(server))
            wait_until(lambda: client.get("/healthz").status_code == 503)
        wait_until(lambda: client.get("/healthz").status_code == 200)


def test_who_asks_too_often_is_told_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.surfaces.gate._REQUESTS_BURST_S", 400.0)  # four at once, then none
    with served(tmp_path, requests_per_s=0.01) as slow:
        client = slow.client()
        answers = [client.get("/readyz") for _ in range(8)]
        assert [answer.status_code for answer in answers[:4]] == [200] * 4
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert kind_of(refused[0]) == "too-many-requests"
        assert int(refused[0].headers["retry-after"]) >= 1
        # another caller has a rate of its own
        assert slow.client().get("/readyz").status_code == 200


def test_a_reader_that_reads_nothing_is_cut_off(
    running: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fact, long = {"kind": "fact", "fact_type": "error"}, "x" * 190_000
    facts = [{**fact, "content": f"{number} {long}"} for number in range(60)]
    client = running.client()
    answer = client.post(running.at("/records/batch", "large"), json={"records": facts}).status_code
    assert answer == 200
    monkeypatch.setattr("hardwon.surfaces.rest.guard.SEND_WAIT_S", 0.3)
    with connected(running) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = head(running, running.token(), "").replace(b"POST", b"GET")
        connection.sendall(request.replace(b"/default/recall", b"/large/export"))
        wait_until(lambda: 'operation="export",status="200"' in client.get("/metrics").text)
        wait_until(lambda: "in_flight 1.0" in client.get("/metrics").text)
        assert client.get(running.at("/stats", "large")).json()["records"] == 60
    assert not [record for record in caplog.records if record.name == "hardwon.surfaces"]


def test_what_nobody_foresaw_is_logged_without_its_secrets(
    running: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3

    def broken(self: Fixes) -> None:
        raise RuntimeError(f"it broke at {secret}")

    monkeypatch.setattr(Fixes, "totals", broken)
    answer = running.client().get(running.at("/fixes/totals"))
    assert (answer.status_code, kind_of(answer)) == (500, "internal")
    assert answer.json()["detail"] == "what happened is in the server's log"
    assert "RuntimeError: it broke at " in caplog.text
    assert secret not in caplog.text
    assert running.client().get("/readyz").status_code == 200


def test_without_tokens_everybody_is_anonymous(tmp_path: Path) -> None:
    with served(tmp_path, open_to=servers.ANYBODY) as found:
        nobody, fact = found.client(None), {"content": "It rains.", "fact_type": "observation"}
        made = nobody.post(found.at("/facts"), json=fact).json()
        assert made["metadata"]["source"]["author"] == "anonymous"
        assert nobody.get("/readyz", headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert nobody.get("/readyz", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--host", "0.0.0.0", "--no-auth"), "make tokens instead"),  # noqa: S104
        (("--host", "0.0.0.0", "--no-auth", "--plain-http"), "make tokens instead"),  # noqa: S104
        (("--host", "0.0.0.0"), "--tls-cert and --tls-key"),  # noqa: S104
        (("--tls-cert", "x.pem"), "both, or neither"),
        (("--tls-cert", "x.pem", "--tls-key", "y.pem"), "cannot use x.pem"),
        (("--host", "host.invalid", "--plain-http"), "cannot listen at host.invalid"),
        (("--allow-host", "https://a.example"), "a name or an address"),
        (("--allow-origin", "a.example"), "an origin such as"),
    ],
)
def test_unsafe_options_are_refused(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    done = at_once("--memory", str(tmp_path / "brain"), "serve", "--port", "0", *options)
    assert done.exit_code == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("hardwon: ")
    assert said in last


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with rest_server.bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        done = at_once("--memory", str(tmp_path / "brain"), "serve", "--port", port)
    assert done.exit_code == 1
    assert "choose another --host or --port" in done.stderr


def test_a_missing_extra_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = "importlib.util.find_spec"
    monkeypatch.setattr(there, lambda name: None if name == "uvicorn" else object())
    done = at_once("--memory", str(tmp_path / "brain"), "serve")
    told = "hardwon: serving needs uvicorn; in a checkout of Hardwon: pip install '.[serve]'\n"
    assert (done.exit_code, done.stderr) == (1, told)


def test_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    issued.private_key_pem.write_to_path(str(key))
    for pem in issued.cert_chain_pems:
        pem.write_to_path(str(chain), append=True)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with served(tmp_path, certificate=(chain, key), verify=trusting) as safe:
        assert safe.url.startswith("https://")
        client = safe.client()
        for origin, status in ((safe.url, 200), (safe.url.replace("https", "http"), 403)):
            assert client.get("/readyz", headers={"Origin": origin}).status_code == status
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        authority.configure_trust(old)
        old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(httpx.ConnectError):
            httpx.get(safe.url + "/healthz", verify=old, timeout=60)
        with pytest.raises(httpx.ConnectError):
            httpx.get(safe.url + "/healthz", timeout=60)  # whoever does not know the authority
    server = Process(tmp_path / "other", "--tls-cert", str(chain), "--tls-key", str(key))
    assert httpx.get(server.url + "/healthz", verify=trusting, timeout=60).status_code == 200
    assert server.end()[0] == 0


def test_tokens_are_made_and_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDWON_MEMORY", str(tmp_path / "brain"))
    made = at_once("tokens", "create", "ci", "--scope", "write", "--project", "a", "--project", "b")
    assert made.exit_code == 0
    secret = made.stdout.strip()
    assert re.fullmatch(r"hwt_[0-9a-f]{12}_[\w-]{43}", secret)
    assert made.stdout == secret + "\n"
    assert "not shown again" in made.stderr
    assert secret not in made.stderr
    lasting = json.loads(at_once("tokens", "create", "me", "--never-expires", "--json").stdout)
    assert lasting["expires"] is None
    assert lasting["token"].startswith("hwt_")
    listed = json.loads(at_once("tokens", "list", "--json").stdout)
    names = ("name", "scope", "projects", "state")
    ci, me = ([each[name] for name in names] for each in listed)
    assert ci == ["ci", "write", ["a", "b"], "active"]
    assert me == ["me", "read", None, "active"]
    assert "token" not in listed[0]
    shown = at_once("tokens", "list").stdout
    assert "ci (" in shown
    assert secret not in shown
    assert "add --yes" in at_once("tokens", "revoke", "ci").stderr
    with Memory(tmp_path / "brain") as memory:
        assert memory.tokens.caller(secret) == Caller("ci", "write", ("a", "b"), listed[0]["id"])
        answer = at_once("tokens", "revoke", "ci", "--yes").stdout
        assert answer == f"revoked: ci ({listed[0]['id']})\n"
        assert memory.tokens.caller(secret) is None
    assert "no token 'ci'" in at_once("tokens", "revoke", "ci", "--yes").stderr
    assert "not both" in at_once("tokens", "create", "x", "--days", "3", "--never-expires").stderr
