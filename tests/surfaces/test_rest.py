"""Everything that `Memory` offers, over HTTP, errors, keys, streams and the end included."""

from __future__ import annotations

import hashlib
import json
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from command_line import EXAMPLES
from hardwon import Memory
from hardwon.errors import HardwonError, InterruptedWriteError, UnknownOutcomeError
from hardwon.records.fields import new_id
from hardwon.records.kinds import Fact
from hardwon.surfaces.arguments import EXAMPLE_ID, EXAMPLE_LESSON_ID
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.rest.openapi import document, make_path
from hardwon.surfaces.rest.problems import answer_to
from hardwon.surfaces.shapes import parse
from serving import PROJECT, Process, Served, served, wait_until

OTHER_ID = "0198c0de-0000-7000-8000-000000000002"
JSON, NDJSON = ({"Content-Type": f"application/{name}"} for name in ("json", "x-ndjson"))
PUBLISH = "POST", f"/records/{EXAMPLE_ID}/publish"
ORDINARY = [operation for operation in OPERATIONS.values() if not operation.streams]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("rest")) as found:
        yield found


@pytest.fixture(scope="module")
def client(running: Served) -> httpx.Client:
    return running.client()


def example_of(operation: Operation) -> dict[str, Any]:
    """A request as the document shows it."""
    told = document()["paths"][make_path(operation)][operation.method.lower()]
    path, query = make_path(operation), {}
    for parameter in told["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", parameter["example"])
        elif parameter["in"] == "query" and "example" in parameter:
            query[parameter["name"]] = parameter["example"]
    request: dict[str, Any] = {"method": operation.method, "url": path, "params": query}
    if operation.method == "POST":
        (content,) = told["requestBody"]["content"].values()
        request["json"] = content["example"]
    return request


def seed(memory: Memory) -> None:
    for number, record_id in enumerate((EXAMPLE_ID, OTHER_ID)):
        if memory.get(record_id) is None:
            content = f"Port {number} of the proxy is open."
            memory.add(Fact(id=record_id, content=content, fact_type="observation"))
    if not memory.lessons():
        failed = {"action": "make test", "observation": "KeyError: 'id'", "ok": False}
        cured = [{"action": action, "ok": True} for action in ("make migrate", "make test")]
        memory.record_trajectory("make the tests pass", [failed, *cured])


def test_the_author_is_the_tokens_name(running: Served) -> None:
    client, address = running.client("write"), running.at("/facts")
    fact = {"content": "Port 81 is closed.", "fact_type": "observation"}
    made = client.post(address, json=fact).json()
    assert made["metadata"]["source"]["author"] == "tester"
    refused = client.post(address, json={**fact, "author": "boss"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "author"


@pytest.mark.parametrize("operation", ORDINARY, ids=lambda each: each.name)
def test_every_operation_answers_its_example(operation: Operation, running: Served) -> None:
    client = running.client()
    seed(running.memory)
    request = example_of(operation)
    expected = 200
    request["params"].pop("as_of", None)  # nothing was here then
    if operation.name == "publish":  # only what was verified can be
        running.memory.verify(EXAMPLE_ID, "human_approval")
    if operation.name == "undo":
        decision = running.memory.rollback("nobody-in-particular", "tried")
        request["url"] = request["url"].replace(EXAMPLE_ID, decision.id)
    if EXAMPLE_LESSON_ID in request["url"]:
        lesson = running.memory.lessons()[0]
        request["url"] = request["url"].replace(EXAMPLE_LESSON_ID, lesson.id)
    if operation.name in ("reembed", "tree.sync"):  # this memory has neither an embedder nor a tree
        expected = 422
    answer = client.request(**request)
    assert answer.status_code == expected, answer.text
    if expected == 200:
        parse(operation.gives, answer.json())
        assert answer.headers["content-type"] == "application/json"
    else:
        assert answer.json()["errors"]


@pytest.mark.parametrize(
    "case",
    [
        ("GET", f"/records/{OTHER_ID[:-1]}9", {}, 404, "not-found"),
        ("GET", "/records/what", {}, 404, "not-found"),
        ("GET", "/nothing", {}, 404, "not-found"),
        ("DELETE", "/records", {}, 405, "wrong-method"),
        ("OPTIONS", "/records", {}, 405, "wrong-method"),
        ("GET", "/records/batch", {}, 405, "wrong-method"),
        ("GET", "/patterns?limit=0", {}, 422, "invalid-input"),
        ("GET", "/patterns?limit=5&limit=6", {}, 422, "invalid-input"),
        ("GET", "/patterns?limit=%ff", {}, 422, "invalid-input"),
        ("GET", "/patterns?" + "&".join(f"a{n}=1" for n in range(100)), {}, 422, "invalid-input"),
        ("GET", "/records?path=" + "x" * 4_001, {}, 422, "invalid-input"),
        ("GET", "/stats?verbose=1", {}, 422, "invalid-input"),
        ("POST", "/compact?x=1", {}, 422, "invalid-input"),
        ("POST", "/recall", {"content": b'{"query":"x"}'}, 415, "wrong-media-type"),
        ("POST", "/recall", {"json": {"query": "x", "k": "5"}}, 422, "invalid-input"),
        ("POST", "/recall", {"json": ["query"]}, 422, "invalid-input"),
        ("POST", "/recall", {"content": b"{", "headers": JSON}, 422, "invalid-input"),
        ("POST", "/recall", {"content": b'{"query":NaN}', "headers": JSON}, 422, "invalid-input"),
        (*PUBLISH, {"json": {"record_id": OTHER_ID}}, 422, "invalid-input"),
        ("POST", "/import", {"content": b"{}\n"}, 415, "wrong-media-type"),
    ],
)  # fmt: skip
def test_a_wrong_one_is_told(running: Served, client: httpx.Client, case: tuple[Any, ...]) -> None:
    method, path, sent, status, name = case
    answer = client.request(method, running.at(path), **sent)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert (told["type"], told["status"]) == (f"urn:hardwon:problem:{name}", status)
    assert told["detail"]
    if status == 405:
        assert answer.headers["allow"] == ("GET, POST" if path == "/records" else "POST")
    if status == 422:
        assert all(set(each) == {"field", "value", "allowed"} for each in told["errors"])


def test_no_secret_comes_back_in_an_error(running: Served, client: httpx.Client) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    sent = {"content": "x", "fact_type": secret, "password": "hunter2-Zebra-91", secret: 1}
    sent["tags"] = [secret + "\n"]
    told = client.post(running.at("/facts"), json=sent).text
    assert "invalid-input" in told
    assert secret not in told
    assert "hunter2" not in told


def test_a_key_makes_a_request_safe_to_send_again(running: Served, client: httpx.Client) -> None:
    """At the same time, after a crash and by every operation: test_operations.py."""
    sent = {"content": "The job was lost.", "outcome": "learning", "insight_type": "fact"}
    address, key = running.at("/experiences", "keys"), {"Idempotency-Key": "the-same"}
    answers = [client.post(address, json=sent, headers=key) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert client.get(running.at("/stats", "keys")).json()["records"] == 1
    other = client.post(address, json={**sent, "content": "Another."}, headers=key)
    assert (other.status_code, other.json()["type"]) == (409, "urn:hardwon:problem:conflict")
    for wrong in (b"x" * 256, b"two words", b"\xe9"):
        refused = client.post(address, json=sent, headers=[(b"Idempotency-Key", wrong)])
        assert refused.status_code == 422


def test_records_go_out_and_in_as_streams(running: Served, client: httpx.Client) -> None:
    fact = {"kind": "fact", "fact_type": "observation"}
    facts = [{**fact, "content": f"Shelf {n} holds {n} books."} for n in range(300)]
    made = client.post(running.at("/records/batch", "out"), json={"records": facts})
    assert len(made.json()) == 300
    with client.stream("GET", running.at("/export", "out")) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines = list(answer.iter_lines())
    assert len(lines) == 300
    moved = [json.loads(line) for line in lines]
    for record in moved:
        record["metadata"]["project_id"] = "in"

    def sent() -> Iterator[bytes]:
        for record in moved:
            yield json.dumps(record).encode() + b"\n"

    def load(content: Any, **params: str) -> httpx.Response:
        address = running.at("/import", "in")
        return client.post(address, params=params, content=content, headers=NDJSON)

    foreseen = load(sent(), dry_run="true").json()
    assert (foreseen["added"], foreseen["dry_run"]) == (300, True)
    assert client.get(running.at("/stats", "in")).json()["records"] == 0
    loaded = load(sent()).json()
    assert (loaded["read"], loaded["added"], loaded["dry_run"]) == (300, 300, False)
    assert load(sent()).json()["present"] == 300
    wrong = load(b'{"kind":"fact"}\n')
    assert wrong.status_code == 422
    assert wrong.json()["detail"].startswith("body, line 1: ")
    assert not list(Path(running.memory.location).parent.glob(".hardwon-*"))


def test_a_backup_can_be_restored(running: Served, client: httpx.Client, tmp_path: Path) -> None:
    fact = {"content": "The safe is behind the picture.", "fact_type": "error"}
    made = client.post(running.at("/facts"), json=fact).json()
    answer = client.get(running.at("/backup"))
    assert hashlib.sha256(answer.content).hexdigest() == answer.headers["hardwon-sha256"]
    copy = tmp_path / "copy.db"
    copy.write_bytes(answer.content)
    Memory.restore(copy, tmp_path / "again")
    with Memory(tmp_path / "again", PROJECT) as restored:
        found = restored.get(made["id"])
        assert found is not None
        assert all(finding.ok for finding in restored.doctor().findings)
    assert not list(Path(running.memory.location).parent.glob(".hardwon-*"))


def test_health_readiness_and_figures(running: Served, client: httpx.Client) -> None:
    assert running.client(None).get("/healthz").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready"}
    client.get(running.at("/stats"))
    client.get("/no/such/place")
    text = client.get("/metrics").text
    assert 'hardwon_requests_total{operation="stats",status="200"}' in text
    assert 'hardwon_requests_total{operation="unknown",status="404"}' in text
    assert 'hardwon_request_seconds_bucket{le="0.01",operation="stats"}' in text
    assert "hardwon_requests_in_flight 1.0" in text
    assert "no/such" not in text
    some = running.client("admin", ["alpha"])
    assert some.get("/metrics").status_code == 403, "it counts what others do"


def get(server: Process, path: str) -> httpx.Response:
    return httpx.get(server.url + path, timeout=60)


def test_what_was_accepted_is_finished(tmp_path: Path) -> None:
    server = Process(tmp_path / "brain", "--no-auth")
    told_to_end = threading.Event()

    def line(content: str) -> bytes:
        return Fact(id=new_id(), content=content, fact_type="error").to_json_bytes() + b"\n"

    def sent() -> Iterator[bytes]:
        yield line("The first half came before the end.")
        assert told_to_end.wait(100)
        yield line("The second half came after it.")

    def send() -> httpx.Response:
        address = server.url + f"/api/v1/projects/{PROJECT}/import"
        return httpx.post(address, content=sent(), headers=NDJSON, timeout=100)

    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send)
        wait_until(lambda: "in_flight 2.0" in get(server, "/metrics").text)
        server.send(signal.SIGTERM)
        wait_until(lambda: refuses(server.url))
        assert not server.ended
        told_to_end.set()
        answer = sending.result()
    assert (answer.status_code, answer.json()["added"]) == (200, 2)
    assert server.end(0)[0] == 0
    with Memory(tmp_path / "brain", PROJECT) as memory:
        assert memory.stats().records == 2


def refuses(url: str) -> bool:
    try:
        httpx.get(url + "/healthz", timeout=60)
    except httpx.TransportError as error:
        return isinstance(error, httpx.ConnectError)
    return False


def test_ending_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with Memory(tmp_path / "brain", PROJECT) as memory:
        secret = memory.tokens.create("writer", "write").secret
    server = Process(tmp_path / "brain")
    acknowledged: list[str] = []

    def write(writer: int) -> None:
        headers = {"Authorization": f"Bearer {secret}"}
        address = f"/api/v1/projects/{PROJECT}/records"
        with httpx.Client(base_url=server.url, headers=headers, timeout=100) as client:
            for number in range(10_000):
                fact = {"kind": "fact", "fact_type": "observation"}
                fact["content"] = f"Writer {writer} was at {number}."
                try:
                    answer = client.post(address, json={"record": fact})
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                acknowledged.append(answer.json())

    threads = [threading.Thread(target=write, args=(each,)) for each in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(acknowledged) > 50)
    code, said = server.end()
    for thread in threads:
        thread.join(100)
    assert code == 0, said
    assert said == f"hardwon: serving {server.url}\n"
    with Memory(tmp_path / "brain", PROJECT) as memory:
        assert {record.id for record in memory.browse()} >= set(acknowledged)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_either_signal_ends_it_well(tmp_path: Path, number: signal.Signals) -> None:
    server = Process(tmp_path / "brain", "--no-auth")
    assert get(server, "/readyz").status_code == 200
    code, said = server.end(number)
    assert code == 0
    assert "--no-auth: whoever reaches this port" in said


@pytest.mark.parametrize("example", [example for name, example in EXAMPLES if name == "serve"])
def test_the_examples_of_the_help_work(tmp_path: Path, example: str) -> None:
    server = Process(tmp_path / "brain", *example.split()[2:], "--port", "0", "--json")
    assert get(server, "/healthz").status_code == 200
    assert server.end()[0] == 0


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    server = Process(tmp_path / "brain", "--no-auth")

    def never_whole() -> Iterator[bytes]:
        yield b'{"query":'
        wait_until(lambda: server.ended)

    def send() -> None:
        address = server.url + f"/api/v1/projects/{PROJECT}/recall"
        with pytest.raises((httpx.TransportError, AssertionError)):
            httpx.post(address, content=never_whole(), headers=JSON, timeout=100)

    sending = threading.Thread(target=send)
    sending.start()
    wait_until(lambda: "in_flight 2.0" in get(server, "/metrics").text)
    server.send(signal.SIGTERM)
    threading.Event().wait(0.5)
    assert not server.ended
    code, _ = server.end(signal.SIGTERM)
    sending.join(100)
    assert code == 128 + signal.SIGTERM


@pytest.mark.parametrize("error", [InterruptedWriteError, UnknownOutcomeError])
def test_waits_for_a_database(error: type[HardwonError], caplog: pytest.LogCaptureFixture) -> None:
    said = answer_to(error("db.internal:5432 went away"))
    assert (said.status_code, said.headers["Retry-After"]) == (503, "1")
    assert b"db.internal" not in bytes(said.body)
    assert "db.internal:5432 went away" in caplog.text
