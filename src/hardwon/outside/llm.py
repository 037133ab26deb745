"""A chat model behind an OpenAI-compatible endpoint, with the standard library alone.

The key goes to the host of the base URL and nowhere else: over https, or over plain http to this machine only; redirects
are not followed and proxies of the environment are not used. Whatever goes wrong is an `LlmError` without a cause or a
context, because those are where a key would turn up.

`http.client` and its like are imported where they are used: a program that asks no model does not pay for them.
"""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol

from pydantic_core import from_json

from hardwon import limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.trust.redact import redact

if TYPE_CHECKING:
    import socket
    from http.client import HTTPResponse

GROQ_BASE_URL: Final = "https://api.groq.com/openai/v1"
GROQ_MODEL: Final = "llama-3.3-70b-versatile"


class Llm(Protocol):
    """Whatever answers a question: a system and a user message in, text out. Raises `LlmError` when it cannot."""

    def complete(self, system: str, user: str) -> str: ...


class ChatModel:
    """A model at an endpoint that speaks OpenAI's chat completions. Safe to share between threads; keeps nothing open.

    A base URL, model name or key that cannot be used is refused here, before anything is sent. An empty key means that
    none is sent, for servers on this machine that want none.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        timeout_s: float = limits.LLM_TIMEOUT_S,
        max_tokens: int = limits.LLM_REPLY_TOKENS_MAX,
    ) -> None:
        if not 0 < timeout_s <= limits.LLM_TIMEOUT_S_MAX:
            allowed = f"more than 0 and at most {limits.LLM_TIMEOUT_S_MAX:g} seconds"
            raise InvalidInputError.one("timeout_s", timeout_s, allowed)
        if max_tokens < 1:
            raise InvalidInputError.one("max_tokens", max_tokens, "1 or more")
        self._place = _place_of(base_url)
        self._key = _Secret(_checked_key(api_key))
        self.base_url: Final = base_url.rstrip("/")
        self.model: Final = _checked_model(model)
        self._timeout_s = timeout_s
        self._max_tokens = max_tokens

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> ChatModel | None:
        """The model that the environment asks for, or None where it asks for none.

        `GROQ_API_KEY` is the key. `API_BASE_URL` is the endpoint and `LLM_MODEL` the model, by default Groq's. Without a
        key, an `API_BASE_URL` on this machine (an Ollama at `http://localhost:11434/v1`, say) is used without one.
        A key together with an address or model that cannot be used raises `LlmError`.
        """
        key = environ.get("GROQ_API_KEY", "")
        base_url = environ.get("API_BASE_URL", "").strip()
        model = environ.get("LLM_MODEL", "").strip() or GROQ_MODEL
        if key.strip():
            return cls(base_url or GROQ_BASE_URL, model, key)
        return cls(base_url, model) if _is_on_this_machine(base_url) else None

    def __repr__(self) -> str:
        return f"ChatModel({self.base_url!r}, model={self.model!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ChatModel holds a key and is neither pickled nor copied; make a new one")

    def complete(self, system: str, user: str) -> str:
        """The model's answer. The whole exchange ends within the timeout, one way or the other."""
        try:
            return self._exchange(self._question(system, user))
        except LlmError as error:
            problem = str(error)
        # Raised anew, and out here: the first error knows its causes, and its frames hold the key.
        raise LlmError(problem)

    def _question(self, system: str, user: str) -> bytes:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        question = {"model": self.model, "messages": messages, "temperature": 0, "max_tokens": self._max_tokens}
        return json.dumps(question).encode()

    def _exchange(self, question: bytes) -> str:
        from http.client import HTTPException

        deadline, connected = _Deadline(self._timeout_s), False
        try:
            with _connection(self._place, deadline) as sock:
                connected = True
                return self._ask(_Wire(sock, deadline), question)
        except (OSError, HTTPException) as error:
            raise self._error(_problem(error, connected, self._timeout_s)) from None
        except _TooLargeError:
            raise self._error(f"sent more than {limits.LLM_REPLY_BYTES_MAX} bytes, which were not read") from None

    def _ask(self, wire: _Wire, question: bytes) -> str:
        from http.client import HTTPConnection

        connection = HTTPConnection(self._place.host, self._place.port)
        connection.set_debuglevel(0)  # a program that watches its own requests this way must not print our key
        unusual: Any = wire
        connection.sock = unusual
        connection.putrequest("POST", self._place.path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", self._place.host_and_port)
        connection.putheader("User-Agent", "hardwon")
        connection.putheader("Accept", "application/json")
        connection.putheader("Accept-Encoding", "identity")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(question)))
        connection.putheader("Connection", "close")
        if key := self._key.reveal():
            connection.putheader("Authorization", f"Bearer {key}")
        connection.endheaders(question)
        with closing(connection.getresponse()) as response:
            return self._content(self._json(response)) if response.status == 200 else self._refuse(response)

    def _json(self, response: HTTPResponse) -> object:
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise self._error("sent a compressed reply although none was asked for")
        body = _body(response)
        try:
            return from_json(body)
        except ValueError:
            raise self._error("sent a reply that is not JSON; is the base URL that of a chat-completions API?") from None

    def _content(self, reply: object) -> str:
        if isinstance(reply, dict) and reply.get("error"):
            raise self._error(f"reports an error{self._quoted(_error_text(reply))}")
        match reply:
            case {"choices": [{"message": {"content": str(content)}}, *_]} if content.strip():
                return content
            case {"choices": [{"message": {"content": str() | None}}, *_]}:
                raise self._error("sent an empty answer; try again, with more max_tokens, or with another model")
        raise self._error("sent JSON without choices[0].message.content; is the base URL that of a chat-completions API?")

    def _refuse(self, response: HTTPResponse) -> NoReturn:
        status = response.status
        if 300 <= status < 400:
            what = f"redirects to another address ({status}), which is never followed; set the base URL to the final one"
            raise self._error(what)
        says = self._quoted(_error_text_of(response))
        if status in (401, 403):
            what = "refuses the API key" if self._key.reveal() else "wants an API key"
        elif status == 429:
            what = "was asked too often; " + _wait(response.headers.get("Retry-After", ""))
        elif status == 404:
            what = "knows no such address or model; check the base URL and the model"
        elif status >= 500:
            what = "has a problem of its own; try again later"
        else:
            what = "does not accept the request"
        raise self._error(f"{what} (HTTP {status}){says}")

    def _quoted(self, text: str) -> str:
        """What an endpoint says, fit to be shown: it may repeat the key, whole, cut or in other letter case."""
        key = self._key.reveal()
        # Invisible characters go first: taken out later, they could join what was found to be harmless apart.
        plain = "".join(char if char.isprintable() else " " for char in text[: limits.LLM_SAID_CHARS_MAX * 50])
        plain = redact(plain)[0]
        if key:
            plain = plain.replace(key, "[REDACTED:api-key]")
        lowered = plain.lower()
        if any(piece in lowered for piece in _pieces(key.lower())):
            return "; what it says is not shown, because it repeats a part of the key"
        plain = " ".join(plain.split())
        if len(plain) > limits.LLM_SAID_CHARS_MAX:
            plain = plain[: limits.LLM_SAID_CHARS_MAX - 1] + "…"
        return f'; it says: "{plain}"' if plain else ""

    def _error(self, what: str) -> LlmError:
        return LlmError(f"the LLM endpoint at {self._place.origin} {what}")


# --- the key ----------------------------------------------------------------------------------------------------

_PIECE_CHARS: Final = 8  # fewer characters of a key occur in ordinary text, and help nobody


class _Secret:
    """Holds a key where no dump of attributes shows it."""

    __slots__ = ("reveal",)

    def __init__(self, value: str) -> None:
        self.reveal: Callable[[], str] = lambda: value

    def __repr__(self) -> str:
        return "'***'"


def _checked_key(key: str) -> str:
    # http.client would refuse the same, with an error that shows the key.
    if not re.fullmatch(r"[!-~]*", key):
        raise LlmError("the LLM API key holds spaces, line breaks or other characters that no key has; was it pasted whole?")
    return key


def _checked_model(model: str) -> str:
    if not model.strip() or not model.isprintable() or len(model) > limits.NAME_CHARS_MAX:
        allowed = f"1 to {limits.NAME_CHARS_MAX} characters on one line"
        raise LlmError(f"the LLM model's name is blank, too long or holds control characters; allowed: {allowed}")
    return model


def _pieces(key: str) -> set[str]:
    return {key[start : start + _PIECE_CHARS] for start in range(len(key) - _PIECE_CHARS + 1)}


# --- where it is ------------------------------------------------------------------------------------------------

_HOST: Final = re.compile(r"[a-z0-9_][a-z0-9._-]{0,252}")
_LOOPBACK: Final = "localhost, 127.0.0.0/8 or ::1"


class _Place(NamedTuple):
    secure: bool
    host: str
    port: int
    path: str

    @property
    def host_and_port(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _default_port(self.secure) else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.host_and_port}"


def _default_port(secure: bool) -> int:
    return 443 if secure else 80


def _place_of(base_url: str) -> _Place:
    """Where a base URL leads. What is refused is not repeated: a base URL with a password in it is one of the cases."""
    from urllib.parse import urlsplit

    # urlsplit takes line breaks and tabs out without a word, and then sees another host than a reader does.
    if not re.fullmatch(r"[!-~]+", base_url) or "\\" in base_url:
        raise LlmError("the LLM base URL is empty or holds spaces, backslashes, control characters or letters beyond ASCII")
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise LlmError("the LLM base URL is no address: its host or port cannot be read") from None
    if parts.scheme not in ("http", "https"):
        raise LlmError("the LLM base URL must begin with https:// (or http:// for a server on this machine)")
    if "@" in parts.netloc:
        raise LlmError("the LLM base URL must not hold a user name or password; the key is given apart from it")
    if "?" in base_url or "#" in base_url:
        raise LlmError("the LLM base URL must not hold a query or fragment (? or #); it ends with a path such as /v1")
    secure = parts.scheme == "https"
    place = _Place(secure, host, _default_port(secure) if port is None else port, parts.path.rstrip("/") + "/chat/completions")
    _check_host(place, parts.netloc)
    if not secure and not _is_loopback(host):
        raise LlmError(f"plain http to {host} is refused: anybody on the way could read the key; use https (http: {_LOOPBACK})")
    return place


def _check_host(place: _Place, netloc: str) -> None:
    """Whether the whole of what stands between // and / is one host and port, and nothing was passed over."""
    host = f"[{place.host}]" if ":" in place.host else place.host
    whole = netloc.lower() in (host, f"{host}:{place.port}")
    if not whole or not place.port or not (_HOST.fullmatch(place.host) or _ip(place.host)):
        raise LlmError("the LLM base URL is no address: its host or port cannot be read")


def _ip(host: str) -> Any:
    from ipaddress import ip_address

    try:
        return ip_address(host)
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    address = _ip(host)
    return address.is_loopback if address else host == "localhost"


def _is_on_this_machine(base_url: str) -> bool:
    try:
        return _is_loopback(_place_of(base_url).host)
    except LlmError:
        return False


# --- the connection ---------------------------------------------------------------------------------------------


class _TooLargeError(Exception):
    """The reply went over its bound."""


class _Deadline:
    """One moment at which everything must be over, however the time before it was spent."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left_s(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class _Wire(io.RawIOBase):
    """A socket as http.client wants it, on which all waits together end at the deadline, and all bytes at the bound.

    A socket's own timeout begins anew with every byte. And the bound is held here, below http.client, because headers,
    chunk sizes and trailers can be endless as well.
    """

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self._bytes_left = limits.LLM_REPLY_BYTES_MAX

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(self._deadline.left_s())
            rest = rest[self._sock.send(rest) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self._sock.settimeout(self._deadline.left_s())
        count = self._sock.recv_into(buffer)
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise _TooLargeError
        return count

    def close(self) -> None:
        """Nothing: http.client closes its end before the reply is read; whoever opened the socket closes it."""


@contextmanager
def _connection(place: _Place, deadline: _Deadline) -> Iterator[socket.socket]:
    with _connected(place, deadline) as sock:
        if place.secure:
            with _secured(sock, place.host, deadline) as secured:
                yield secured
        else:
            yield sock


def _connected(place: _Place, deadline: _Deadline) -> socket.socket:
    """A connection to the first address that takes one. Each may use its share of the time that is left."""
    addresses = _addresses(place, deadline)
    failure: OSError = TimeoutError()
    for tried, address in enumerate(addresses):
        try:
            return _dialled(address, deadline.left_s() / (len(addresses) - tried))
        except OSError as error:
            failure = error
    raise failure


def _dialled(address: Any, timeout_s: float) -> socket.socket:
    import socket

    family, kind, protocol, _, host_and_port = address
    sock = socket.socket(family, kind, protocol)
    try:
        sock.settimeout(timeout_s)
        sock.connect(host_and_port)
    except BaseException:
        sock.close()
        raise
    return sock


def _addresses(place: _Place, deadline: _Deadline) -> list[Any]:
    """Name lookup knows no timeout, so it runs in a thread that is left alone when the time is over."""
    import socket
    from threading import Thread

    found: list[list[Any]] = []
    failed: list[Exception] = []

    def look_up() -> None:
        try:
            found.append(socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            failed.append(error)

    thread = Thread(target=look_up, name="hardwon-llm-lookup", daemon=True)
    thread.start()
    thread.join(deadline.left_s())
    if failed:
        raise socket.gaierror(str(failed[0]))
    if not found:
        raise TimeoutError
    if not place.secure:  # a hosts file can give the name localhost to another machine
        found[0] = [entry for entry in found[0] if _is_loopback(entry[4][0])]
    if not found[0]:
        raise socket.gaierror("no address on this machine")
    return found[0]


def _secured(sock: socket.socket, host: str, deadline: _Deadline) -> socket.socket:
    import ssl

    context = ssl.create_default_context()
    sock.settimeout(deadline.left_s())
    try:
        return context.wrap_socket(sock, server_hostname=host)
    except ConnectionError:
        raise ssl.SSLError("the connection was closed") from None


def _problem(error: Exception, connected: bool, timeout_s: float) -> str:
    """What to tell a user about a failure below HTTP, or of it."""
    import ssl
    from http.client import HTTPException, RemoteDisconnected
    from socket import gaierror

    match error:
        case TimeoutError() if connected:
            return f"did not finish its answer within {timeout_s:g} s; try again later, or allow more time"
        case TimeoutError():
            return f"could not be reached within {timeout_s:g} s; is it running, and is the network up?"
        case ConnectionRefusedError():
            return "refuses connections; is the server running?"
        case gaierror():
            return "was not found: its host name leads nowhere; check the base URL and the network"
        case ssl.SSLError() if not connected:
            return f"could not be trusted, and was sent nothing: TLS failed ({_tls_reason(error)})"
        case RemoteDisconnected() | ConnectionError() | ssl.SSLError() | _ClosedEarlyError():
            return "closed the connection before its answer was complete; try again"
        case HTTPException():
            return "does not speak HTTP as it should; check the base URL"
    return f"could not be reached: {getattr(error, 'strerror', None) or type(error).__name__}"


def _tls_reason(error: Any) -> str:
    return getattr(error, "verify_message", "") or getattr(error, "reason", "") or "the connection was closed"


# --- what it says -----------------------------------------------------------------------------------------------

_RETRY_SECONDS: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?")
_RETRY_DATE: Final = re.compile(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT")


class _ClosedEarlyError(OSError):
    """The reply is shorter than it said it would be."""


def _body(response: HTTPResponse) -> bytes:
    from http.client import HTTPException, IncompleteRead

    try:
        # With no size at all http.client allocates whatever size the endpoint claims to send.
        body = response.read(limits.LLM_REPLY_BYTES_MAX)
    except IncompleteRead:
        raise _ClosedEarlyError from None
    except (ValueError, OverflowError):  # a chunk of negative size, which http.client does not look for
        raise HTTPException from None
    if response.length:  # what is still missing
        raise _ClosedEarlyError
    return body


def _error_text_of(response: HTTPResponse) -> str:
    """The text of an error reply, or nothing: that it cannot be read matters less than the status does."""
    from http.client import HTTPException

    try:
        body = _body(response)
    except (OSError, HTTPException, _TooLargeError):
        return ""
    try:
        return _error_text(from_json(body))
    except ValueError:
        return body.decode(errors="replace")


def _error_text(reply: object) -> str:
    match reply:
        case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
            return text
    return json.dumps(reply)


def _wait(retry_after: str) -> str:
    if _RETRY_SECONDS.fullmatch(retry_after):
        return f"wait {retry_after} s and try again"
    if _RETRY_DATE.fullmatch(retry_after):
        return f"wait until {retry_after} and try again"
    return "wait and try again"
