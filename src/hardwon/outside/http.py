"""One HTTP request to a server that is not trusted: it ends at a deadline, and its reply has a
bound.

A timeout of a socket begins anew with every byte, and looking up a name has none. So the request
runs in a thread of its own, and whoever asked waits until the deadline, then takes the connection
away. Redirects are not followed, and proxies of the environment are not used.

It is imported where it is used: a program that asks nothing does not pay for it.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from socket import SHUT_RDWR, gaierror, socket
from threading import Thread
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from hardwon.outside.files import READ_AT_ONCE_BYTES
from hardwon.outside.locations import is_loopback

_THREAD: Final = "hardwon-http"


class HttpReply(NamedTuple):
    """What a server answered; headers by their names in small letters. The body of an error may be
    empty because it could not be read.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpError(Exception):
    """There is no whole answer. The text says why, as something that the server did, and holds
    nothing that was sent.
    """


def connect_to(origin: str, timeout_s: float, tls: ssl.SSLContext | None = None) -> HTTPConnection:
    """A connection that is still to be made. `tls` is for https."""
    parts = urlsplit(origin)
    host = parts.hostname or ""
    if parts.scheme == "https":
        return HTTPSConnection(host, parts.port, timeout=timeout_s, context=tls)
    return HTTPConnection(host, parts.port, timeout=timeout_s)


def post(
    url: str, headers: Mapping[str, str], content: bytes, timeout_s: float, reply_bytes_max: int
) -> HttpReply:
    """The server's answer, as it was sent: nothing is decompressed.

    Over https the server must have a certificate that this machine trusts; over http it must be on
    this machine. Raises `HttpError`, within the timeout whatever the server does.
    """
    exchange = _Exchange(url, timeout_s, reply_bytes_max)
    thread = Thread(target=exchange.run, args=(headers, content), name=_THREAD, daemon=True)
    thread.start()
    try:
        thread.join(timeout_s)
        error = TimeoutError() if thread.is_alive() else exchange.error
    finally:
        exchange.hang_up()
    # the status of an error matters more than its text
    if error is None or exchange.status not in (0, 200):
        return HttpReply(exchange.status, exchange.headers, exchange.body)
    raise error if isinstance(error, HttpError) else HttpError(_problem(error, exchange, timeout_s))


class _Exchange:
    """What a thread found out so far, for the one who waits for it."""

    def __init__(self, url: str, timeout_s: float, reply_bytes_max: int) -> None:
        self.secure = url.lower().startswith("https://")
        # loading the certificates of the machine takes longer than a question
        context = ssl.create_default_context() if self.secure else None
        self._connection = connect_to(url, timeout_s, context)
        self._path = urlsplit(url).path
        self._reply_bytes_max = reply_bytes_max
        self.connected = False
        self.status, self.body = 0, b""
        self.headers: Mapping[str, str] = {}
        self.error: Exception | None = None
        self._is_over = False
        self._socket: socket | None = None

    def run(self, headers: Mapping[str, str], content: bytes) -> None:
        try:
            with closing(self._connection):
                self._connection.connect()
                self._socket = self._connection.sock  # which the answer takes over
                # a hosts file can give the name localhost to another machine
                if not self.secure and not is_loopback(self._socket.getpeername()[0]):
                    raise gaierror("no address on this machine")
                if self._is_over:
                    return
                self.connected = True
                sent = {**headers, "Connection": "close"}
                self._connection.request("POST", self._path, content, sent)
                with self._connection.getresponse() as response:
                    self._read(response)
        except (HTTPException, OSError, UnicodeError, HttpError) as error:
            self.error = error

    def _read(self, response: HTTPResponse) -> None:
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self.status = response.status
        body = bytearray()
        while piece := response.read1(READ_AT_ONCE_BYTES):
            body += piece
            if len(body) > self._reply_bytes_max:
                raise HttpError(
                    f"sent more than {self._reply_bytes_max} bytes, which were not read"
                )
        if response.length:
            raise IncompleteRead(bytes(body), response.length)
        self.body = bytes(body)

    def hang_up(self) -> None:
        """Ends whatever the thread waits for, except the lookup of a name, which it gives up
        after.
        """
        self._is_over = True
        if open_socket := self._socket or self._connection.sock:
            with suppress(OSError):  # it is closed already
                open_socket.shutdown(SHUT_RDWR)


def _problem(error: BaseException, exchange: _Exchange, timeout_s: float) -> str:
    """What to tell a user about a failure below HTTP, or of it."""
    match error:
        case TimeoutError() if exchange.connected:
            return f"did not finish its answer within {timeout_s:g} s; try again later, or allow more time"
        case TimeoutError():
            return f"could not be reached within {timeout_s:g} s; is it running, and is the network up?"
        case ConnectionRefusedError():
            return "refuses connections; is the server running?"
        case gaierror() | UnicodeError():
            return "was not found: its host name leads nowhere; check the base URL and the network"
        case OSError() | IncompleteRead() if exchange.connected:
            return "closed the connection before its answer was complete; try again"
        case ssl.SSLError() | ConnectionError() if exchange.secure:
            reason = getattr(error, "verify_message", "") or getattr(error, "reason", "")
            reason = reason or "the connection was closed"
            return f"could not be trusted, and was sent nothing: TLS failed ({reason})"
        case OSError():
            return f"could not be reached: {error.strerror or type(error).__name__}"
    return "does not speak HTTP as it should; check the base URL"
