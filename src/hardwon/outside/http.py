"""One HTTP request, by httpx, to a server that is not trusted: it ends at a deadline, and its reply
has a bound.

A timeout of httpx begins anew with every byte, and looking up a name has none. So the request runs
in a thread of its own, and whoever asked waits until the deadline, then takes the connection away.
httpx's transport is used without its client: the client is what would follow redirects, use proxies
of the environment and log addresses.

It is imported where it is used, as it takes long to load: a program that asks nothing does not pay
for it.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from contextlib import closing, suppress
from socket import SHUT_RDWR, gaierror
from threading import Thread
from typing import Any, Final, NamedTuple

import httpx

from hardwon.outside.locations import is_loopback

_THREAD: Final = "hardwon-http"


def _other_threads(record: logging.LogRecord) -> bool:
    return record.threadName != _THREAD


class HttpReply(NamedTuple):
    """What a server answered. The body of an error may be empty because it could not be read."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpError(Exception):
    """There is no whole answer. The text says why, as something that the server did, and holds
    nothing that was sent.
    """


def post(
    url: str, headers: Mapping[str, str], content: bytes, *, timeout_s: float, reply_bytes_max: int
) -> HttpReply:
    """The server's answer, as it was sent: redirects are not followed, and nothing is decompressed.

    Over https the server must have a certificate that this machine trusts; over http it must be on
    this machine. Raises `HttpError`, within the timeout whatever the server does.
    """
    # on level DEBUG they log a reply's headers, which may repeat a key
    for name in ("httpcore.connection", "httpcore.http11"):
        logging.getLogger(name).addFilter(_other_threads)
    secure = url.lower().startswith("https://")
    # Without https the context is never used, and loading the certificates of the machine takes
    # longer than the question.
    context = ssl.create_default_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    exchange = _Exchange(secure, reply_bytes_max)
    request = httpx.Request(
        "POST",
        url,
        headers={**headers, "Connection": "close"},
        content=content,
        extensions={
            "timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout_s),
            "trace": exchange.watch,
        },
    )
    thread = Thread(target=exchange.run, args=(request, context), name=_THREAD, daemon=True)
    thread.start()
    try:
        thread.join(timeout_s)
        error = TimeoutError() if thread.is_alive() else exchange.error
    finally:
        exchange.hang_up()
    # the status of an error matters more than its text
    if error is None or exchange.status not in (0, 200):
        return HttpReply(exchange.status, exchange.headers, exchange.body)
    raise HttpError(
        str(error) if isinstance(error, HttpError) else _problem(error, exchange, timeout_s)
    )


class _Exchange:
    """What a thread found out so far, for the one who waits for it."""

    def __init__(self, secure: bool, reply_bytes_max: int) -> None:
        self.secure, self.reply_bytes_max = secure, reply_bytes_max
        self.connected = False
        self.status, self.body = 0, b""
        self.headers: Mapping[str, str] = {}
        self.error: Exception | None = None
        self._connection: Any = None
        self._is_over = False

    def run(self, request: httpx.Request, context: Any) -> None:
        try:
            with (
                closing(httpx.HTTPTransport(verify=context, trust_env=False)) as transport,
                closing(transport.handle_request(request)) as response,
            ):
                self.headers, self.status = response.headers, response.status_code
                body = bytearray()
                for piece in response.iter_raw():
                    body += piece
                    if len(body) > self.reply_bytes_max:
                        raise HttpError(
                            f"sent more than {self.reply_bytes_max} bytes, which were not read"
                        )
                self.body = bytes(body)
        except (httpx.HTTPError, OSError, UnicodeError, HttpError) as error:
            self.error = error

    def watch(self, event: str, found: Mapping[str, Any]) -> None:
        """httpx calls it at every step, in the thread. When a connection is there, nothing has been
        sent yet.
        """
        if event not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        self._connection = found["return_value"]
        # A hosts file can give the name localhost to another machine.
        elsewhere = not self.secure and not is_loopback(
            self._connection.get_extra_info("server_addr")[0]
        )
        if elsewhere or self._is_over:
            self._connection.close()
            raise gaierror("no address on this machine") if elsewhere else TimeoutError
        self.connected = not self.secure or event == "connection.start_tls.complete"

    def hang_up(self) -> None:
        """Ends whatever the thread waits for, except the lookup of a name, which it gives up
        after.
        """
        self._is_over = True
        if self._connection is not None:
            with suppress(OSError):  # it is closed already
                self._connection.get_extra_info("socket").shutdown(SHUT_RDWR)


def _problem(error: BaseException, exchange: _Exchange, timeout_s: float) -> str:
    """What to tell a user about a failure below HTTP, or of it."""
    while error.__context__ is not None:  # httpx's errors say less than what they were raised for
        error = error.__context__
    match error:
        case TimeoutError() if exchange.connected:
            return f"did not finish its answer within {timeout_s:g} s; try again later, or allow more time"
        case TimeoutError():
            return f"could not be reached within {timeout_s:g} s; is it running, and is the network up?"
        case ConnectionRefusedError():
            return "refuses connections; is the server running?"
        case gaierror() | UnicodeError():
            return "was not found: its host name leads nowhere; check the base URL and the network"
        case OSError() if exchange.connected:
            return "closed the connection before its answer was complete; try again"
        case ssl.SSLError() | ConnectionError() if exchange.secure:
            reason = (
                getattr(error, "verify_message", "")
                or getattr(error, "reason", "")
                or "the connection was closed"
            )
            return f"could not be trusted, and was sent nothing: TLS failed ({reason})"
        case OSError():
            return f"could not be reached: {error.strerror or type(error).__name__}"
    # Of a connection that ended early httpx has no error of its own.
    if any(words in str(error) for words in ("disconnected without", "closed connection")):
        return "closed the connection before its answer was complete; try again"
    return "does not speak HTTP as it should; check the base URL"
