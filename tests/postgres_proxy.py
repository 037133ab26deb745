"""A way to a PostgreSQL server that can be cut at the worst moment, or speaks TLS."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import suppress
from pathlib import Path

COMMIT = b"COMMIT\0"
_ASKS_FOR_TLS = b"\0\0\0\x08\x04\xd2\x16\x2f"


class Proxy:
    """Stands on a port of 127.0.0.1 before the server at a socket.

    `cut`: a COMMIT does not reach the server ("before"), or its answer does not come back
    ("after"). Then the next one gets through, or nobody where `stays_cut`. `cut_at` is waited for
    instead of a COMMIT. By `lag_s` the server is heard later, and that it hung up, later again.
    """

    def __init__(
        self, server: Path, *, stays_cut: bool = False, tls: ssl.SSLContext | None = None
    ) -> None:
        self.cut = ""
        self.lag_s = 0.0
        self.cut_at = COMMIT
        self.cuts = 0
        self._server = str(server)
        self._stays_cut = stays_cut
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._begin(self._accept)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        _shut(self._listening)
        for each in self._sockets:
            _shut(each)
        for thread in self._threads:
            thread.join(10)

    def _begin(self, work: object, *values: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=values, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.cuts and self._stays_cut:
                    client.close()
                else:
                    self._begin(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        self._sockets += [client, server]
        with suppress(OSError):
            if self._tls:
                assert client.recv(len(_ASKS_FOR_TLS)) == _ASKS_FOR_TLS
                client.sendall(b"S")
                client = self._tls.wrap_socket(client, server_side=True)
                self._sockets.append(client)
            server.connect(self._server)
            self._begin(self._answers, server, client)
            while data := client.recv(65536):
                if self.cut and self.cut_at in data:
                    cut, self.cut = self.cut, ""
                    self.cuts += 1
                    if cut == "after":
                        client.shutdown(socket.SHUT_WR)  # what comes back from now on is lost
                        server.sendall(data)
                    break
                server.sendall(data)
        time.sleep(3 * self.lag_s)
        _shut(server)
        _shut(client)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                time.sleep(self.lag_s)
                client.sendall(data)
        time.sleep(self.lag_s)
        _shut(client)
        _shut(server)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
