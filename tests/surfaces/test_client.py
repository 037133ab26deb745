"""`Client` against servers that fail, lie or are gone: never a part for the whole."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hardwon import Client
from hardwon.errors import ClosedError, InvalidInputError, ServerError, TooManyRequestsError
from serving import PROJECT, served

LINE = b'{"kind": "fact", "content": "The port is 80.", "fact_type": "observation"}\n'
OPEN = Path("/proc/self/fd")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(LINE), LINE)


def answer(
    body: bytes, status: bytes = b"200 OK", length: int | None = None, more: bytes = b""
) -> bytes:
    said = len(body) if length is None else length
    head = b"HTTP/1.1 %b\r\nConnection: close\r\nContent-Length: %d\r\n%b\r\n"
    return head % (status, said, more) + body


@contextmanager
def server_that_sends(raw: bytes) -> Iterator[str]:
    """Answers every request with these bytes, and hangs up."""

    def serve(listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, suppress(ConnectionError):
                connection.recv(65_536)
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):
                    pass

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.surfaces.client.CLIENT_WAITS_S", (0.0,))
    monkeypatch.setattr("hardwon.surfaces.client.CLIENT_WAIT_S_MAX", 0.0)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (answer(b"12", length=4), ServerError),
        (CHUNKED, ServerError),
        (answer(b"<html>"), ServerError),
        (answer(b"{}", b"302 Found", more=b"Location: http://127.0.0.1:1/\r\n"), ServerError),
        (answer(b"[" * 100_000), ServerError),
        (answer(b'{"a": 1}'), ServerError),
        (answer(b"{}", b"429 Too Many", more=b"Retry-After: \xb2\r\n"), TooManyRequestsError),
        (answer(b'{"errors": ["x"], "detail": {"a": 1}}', b"422 Unprocessable"), ServerError),
        (b"", ServerError),
    ],
)
@pytest.mark.parametrize("ask", [Client.rebuild, Client.stats])
def test_what_is_no_answer_is_told_as_such(raw: bytes, expected: type[Exception], ask: Any) -> None:
    with server_that_sends(raw) as url, Client(url) as client, pytest.raises(expected):
        ask(client)


def test_what_a_client_is_made_of_is_checked() -> None:
    with pytest.raises(InvalidInputError):
        Client("https://127.0.0.1:1", ca_file="nowhere.pem")
    for url in ("http://:secret@127.0.0.1:1", "http://example.org"):
        with pytest.raises(InvalidInputError):
            Client(url)


def test_connections_end_with_their_threads_and_with_the_client(tmp_path: Path) -> None:
    with served(tmp_path) as running:
        client = Client(running.url, running.token(), PROJECT)
        before = len(list(OPEN.iterdir()))
        for _ in range(20):
            thread = threading.Thread(target=client.stats)
            thread.start()
            thread.join()
        assert len(list(OPEN.iterdir())) < before + 10
        assert client.audit("0198c0de-0000-7000-8000-000000000001") == []
        assert client.add_many([]) == []
        client.close()
        client.close()
        with pytest.raises(ClosedError):
            client.stats()
