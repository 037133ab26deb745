"""An endpoint gets the key only where it should, holds nobody up, and its reply is checked."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest
import trustme

from cases import each
from hardwon import HardwonError, limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.outside.llm import GROQ_BASE_URL, GROQ_MODEL, LLM_REPLY_TOKENS_MAX, ChatModel, Llm
from llm_server import PATH, FakeLlm, completion
from secrets_corpus import made_up
from short import need

KEY = "gsk" + "_" + made_up(52)
BARE_KEY = made_up(32)  # a key that no pattern knows
IMPATIENT_S = 0.8
SLACK_S = 60.0  # for a busy machine; who waits for the server waits for ever
Fails = Callable[[ChatModel], str]


@pytest.fixture
def server() -> Iterator[FakeLlm]:
    with FakeLlm() as running:
        yield running


def chat(server: FakeLlm, key: str = KEY, timeout_s: float = 60.0) -> ChatModel:
    return ChatModel(server.url, "fake", key, timeout_s=timeout_s)


def chain_of(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in found:
            found.append(one)
            waiting += [one.__cause__, one.__context__]
    return found


def shown_of(error: BaseException) -> str:
    """Everything that a log, a crash report or a debugger's dump would show of an error."""
    shown = []
    for one in chain_of(error):
        notes = getattr(one, "__notes__", "")
        shown += [str(one), *map(repr, (one, one.args, vars(one), notes))]
    shown += traceback.format_exception(error)
    shown += traceback.TracebackException.from_exception(error, capture_locals=True).format()
    return "\n".join(shown)


def assert_key_is_not_in(text: str) -> None:
    for key in (KEY, BARE_KEY):
        pieces = {key[start : start + 8].lower() for start in range(len(key) - 7)}
        assert not [piece for piece in pieces if piece in text.lower()]


@pytest.fixture
def fails(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Fails:
    """Asks, and returns the message of its error, with the key in nothing that can be seen."""
    caplog.set_level(logging.DEBUG)

    def check(model: ChatModel) -> str:
        with pytest.raises(LlmError) as caught:
            model.complete("system", "user")
        error = caught.value
        assert isinstance(error, HardwonError)
        assert chain_of(error) == [error]
        seen = [shown_of(error), repr(model), repr(vars(model)), caplog.text, *capfd.readouterr()]
        assert_key_is_not_in("\n".join(seen))
        return str(error)

    return check


def test_question_and_answer(server: FakeLlm) -> None:
    server.reply("Grüße ✓\n")
    model: Llm = ChatModel(server.url + "/", "fake", KEY)
    assert model.complete("You are a test.", "Zeile 1\nZeile 2 \U0001f600") == "Grüße ✓\n"
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", PATH)
    assert (asked.system, asked.user) == ("You are a test.", "Zeile 1\nZeile 2 \U0001f600")
    assert {name: asked.body[name] for name in ("model", "temperature", "max_tokens")} == {
        "model": "fake", "temperature": 0, "max_tokens": LLM_REPLY_TOKENS_MAX,
    }  # fmt: skip
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["Accept-Encoding"] == "identity"
    assert asked.headers["Host"] == f"127.0.0.1:{server.port}"


def test_environment_proxies_are_not_used(server: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeLlm() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert chat(server).complete("s", "u") == "fine"
        assert proxy.connections == 0


def test_neither_repr_nor_pickle_nor_attributes_hold_the_key() -> None:
    model = ChatModel("https://example.org/v1/", "m", KEY)
    assert repr(model) == "ChatModel('https://example.org/v1', model='m')"
    assert_key_is_not_in(f"{model} {vars(model)} {[repr(value) for value in vars(model).values()]}")
    for leave in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="neither pickled nor copied") as caught:
            leave(model)
        assert_key_is_not_in(shown_of(caught.value))


ECHOES = [
    "wrong key {key}", "Authorization: Bearer {key} is unknown", "you sent {cut}… which is unknown",
    "WRONG KEY {upper}", "{key}{key}", "x" * 195 + "{key}", "a\u200b{key}\u202e\x00\x1b[31m",
]  # fmt: skip


@pytest.mark.parametrize("key", [KEY, BARE_KEY])
@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("shape", ["plain", "error", "status 200"])
def test_an_error_that_repeats_the_key_is_shown_without_it(
    server: FakeLlm, fails: Fails, echo: str, key: str, shape: str
) -> None:
    text = echo.format(key=key, cut=key[:20], upper=key.upper())
    shapes: dict[str, Any] = {
        "error": {"error": {"message": text}},
        "message": {"message": text},
        "other": {"detail": [text]},
    }
    body = text if shape == "plain" else json.dumps(shapes.get(shape, {"error": text}))
    server.status(200 if shape == "status 200" else 401, {"X-Echo": key}, body)
    message = fails(chat(server, key))
    assert message.isprintable()
    assert len(message) < limits.BEGINNING_CHARS + 200


NO_KEYS = ["a\r\nX-Evil: 1", "a\nb", "a b", "key\n", " key", "kéy", "a\0b", "a\x7f", "k\ud800"]
NO_NAMES = ["", "  ", "a\r\nX-Evil: 1", "a\nb", "a\0", "m" * 201]
BAD_URLS = {
    "": "is empty or holds spaces",
    "https://example.org/v1\r\nX-Evil: 1": "is empty or holds spaces",
    "https://example.org\\@127.0.0.1/v1": "backslashes",
    "file:///etc/passwd": "must begin with https://",
    "https://user:hunter2x@example.org/v1": "must not hold a user name or password",
    "http://127.0.0.1@example.org/v1": "must not hold a user name or password",
    "https://example.org/v1?key=hunter2x": "must not hold a query or fragment",
    "https://": "its host or port cannot be read",
    "https://example.org:99999/v1": "its host or port cannot be read",
    "http://example.org/v1": "plain http to example.org is refused",
    "http://2130706433/v1": "plain http to 2130706433 is refused",
    "http://localhost.example.org/v1": "plain http to localhost.example.org is refused",
    "http://127.0.0.1.example.org/v1": "plain http to 127.0.0.1.example.org is refused",
}
REFUSED = [
    *(("https://example.org/v1", "m", KEY + key, "LLM API key holds spaces, line") for key in NO_KEYS),
    *(("https://example.org/v1", name, KEY, "name is blank, too long or holds") for name in NO_NAMES),
    *((url, "m", KEY, problem) for url, problem in BAD_URLS.items()),
]  # fmt: skip


@pytest.mark.parametrize(("url", "model", "key", "problem"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_unsafe_is_refused_unsent(url: str, model: str, key: str, problem: str) -> None:
    with pytest.raises(LlmError) as caught:
        ChatModel(url, model, key)
    assert problem in str(caught.value)
    assert chain_of(caught.value) == [caught.value]
    shown = "".join(traceback.format_exception(caught.value))
    assert "hunter2x" not in shown
    assert_key_is_not_in(shown)


@each("url", [
    "https://example.org", "https://EXAMPLE.org:8443/a/b/", "https://[2001:db8::1]/v1", "https://10.0.0.1/v1",
    "http://localhost/v1", "http://LOCALHOST:1/v1", "http://127.0.0.1:1", "http://127.8.9.10/v1", "http://[::1]:1/v1",
])  # fmt: skip
def test_a_base_url_that_is_safe_is_taken(url: str) -> None:
    assert ChatModel(url, "m", "key").base_url == url.rstrip("/")


@each("timeout_s", [0, -1, float("nan"), float("inf"), 3601])
def test_a_timeout_must_be_one(timeout_s: float) -> None:
    with pytest.raises(InvalidInputError, match="timeout_s"):
        ChatModel("https://example.org", "m", timeout_s=timeout_s)


@pytest.mark.parametrize("head", [
    b"", b"HTTP/1.1 200 OK\r\nX-Drip: ", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"HTTP/1.1 500 Oh\r\n\r\n",
])  # fmt: skip
def test_a_server_that_drips_holds_nobody_up(server: FakeLlm, fails: Fails, head: bytes) -> None:
    server.drip(0.02, head=head, byte=b"1")
    started = time.monotonic()
    message = fails(chat(server, timeout_s=IMPATIENT_S))
    assert time.monotonic() - started < IMPATIENT_S + SLACK_S
    if b"500 Oh" in head:
        assert "(HTTP 500)" in message
    else:
        told = "did not finish its answer within 0.8 s; try again later, or allow more time"
        assert message == f"the LLM endpoint at http://127.0.0.1:{server.port} {told}"


def test_a_name_server_that_hangs(fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait() and [])
    started = time.monotonic()
    message = fails(ChatModel("https://example.org", "m", KEY, timeout_s=IMPATIENT_S))
    over.set()
    assert time.monotonic() - started < IMPATIENT_S + SLACK_S
    assert "could not be reached within 0.8 s" in message


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def test_a_refused_connection(fails: Fails) -> None:
    port = closed_port()
    message = fails(ChatModel(f"http://127.0.0.1:{port}/v1", "m", KEY))
    told = "refuses connections; is the server running?"
    assert message == f"the LLM endpoint at http://127.0.0.1:{port} {told}"


@pytest.mark.parametrize(
    "error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")]
)
def test_a_host_nowhere(fails: Fails, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    message = fails(ChatModel("https://example.org/v1", "m", KEY))
    told = "was not found: its host name leads nowhere; check the base URL and the network"
    assert message == f"the LLM endpoint at https://example.org {told}"


def test_localhost_is_here(server: FakeLlm, fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hosts file can give the name to another machine: nothing is sent there."""
    model = ChatModel(f"http://localhost:{server.port}/v1", "m", KEY)
    monkeypatch.setattr("hardwon.outside.http.is_loopback", lambda address: address != "127.0.0.1")
    assert "its host name leads nowhere" in fails(model)
    assert server.asked == []


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def certificate(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    both = tmp_path_factory.mktemp("tls") / "both.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(both))
    return both


@pytest.fixture
def _trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


def test_tls_that_is_not_to_be_trusted(certificate: Path, server: FakeLlm, fails: Fails) -> None:
    message = fails(ChatModel(server.url.replace("http", "https"), "m", KEY))
    place = f"https://127.0.0.1:{server.port} could not be trusted, and was sent nothing"
    assert f"{place}: TLS failed (" in message
    assert server.asked == []
    with FakeLlm(certificate=str(certificate)) as server:
        message = fails(chat(server))
        told = "TLS failed (unable to get local issuer certificate)"
        assert f"could not be trusted, and was sent nothing: {told}" in message
        assert server.asked == []


@pytest.mark.usefixtures("_trusted")
def test_tls_with_a_trusted_certificate(certificate: Path, fails: Fails) -> None:
    with FakeLlm(certificate=str(certificate), key=KEY) as server:
        elsewhere = ChatModel(f"https://localhost:{server.port}/v1", "m", KEY)
        assert "TLS failed (Hostname mismatch" in fails(elsewhere)
        assert server.asked == []
        assert chat(server).complete("s", "u") == "fine"
        server.drip(0.02)
        told = fails(chat(server, timeout_s=IMPATIENT_S))
        assert "did not finish its answer within 0.8 s" in told
        server.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
        assert "closed the connection before its answer was complete" in fails(chat(server))


@pytest.mark.parametrize(("code", "key", "problem"), [
    (400, KEY, "does not accept the request (HTTP 400)"),
    (401, KEY, "refuses the API key (HTTP 401)"),
    (401, "", "wants an API key (HTTP 401)"),
    (403, KEY, "refuses the API key (HTTP 403)"),
    (404, KEY, "knows no such address or model; check the base URL and the model (HTTP 404)"),
    (429, KEY, "was asked too often; wait and try again (HTTP 429)"),
    (500, KEY, "has a problem of its own; try again later (HTTP 500)"),
    (503, KEY, "has a problem of its own; try again later (HTTP 503)"),
    (201, KEY, "does not accept the request (HTTP 201)"),
])  # fmt: skip
def test_a_bad_status(server: FakeLlm, fails: Fails, code: int, key: str, problem: str) -> None:
    server.status(code, {}, json.dumps({"error": {"message": "The  reason\n is this."}}))
    told = f'{problem}; it says: "The reason is this."'
    assert fails(chat(server, key)) == f"the LLM endpoint at http://127.0.0.1:{server.port} {told}"
    server.status(code)
    assert fails(chat(server, key)).endswith(problem)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308, 300, 304])
def test_a_redirect_is_not_followed(server: FakeLlm, fails: Fails, code: int) -> None:
    with FakeLlm() as target:
        server.redirect(f"{target.url}/chat/completions?key={KEY}", code)
        message = fails(chat(server))
        told = f"({code}), which is never followed; set the base URL to the final one"
        assert f"redirects to another address {told}" in message
        assert len(server.asked) == 1
        assert target.connections == 0


OVERLONG = f"sent more than {limits.LLM_REPLY_BYTES_MAX} bytes"
ENDS_EARLY = "closed the connection before its answer was complete; try again"
NOT_JSON = "sent a reply that is not JSON; is the base URL that of a chat-completions API?"
OTHER_JSON = "sent JSON without choices[0].message.content"
BROKEN: list[tuple[methodcaller, str]] = [
    (methodcaller("huge", limits.LLM_REPLY_BYTES_MAX), OVERLONG),
    (methodcaller("status", 500, {}, "x" * 2 * limits.LLM_REPLY_BYTES_MAX), "has a problem of its own; try again later"),
    *((methodcaller("drip", 0, head=head, byte=b"trailer: x\r\n" * 10_000), OVERLONG) for head in (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFF\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
    )),
    *((methodcaller("raw", head), ENDS_EARLY) for head in (
        b"", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choices"',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"choices"',
    )),
    (methodcaller("gzip"), "sent a compressed reply although none was asked for"),
    (methodcaller("gzip", say_so=False), NOT_JSON),
    *((methodcaller("status", 200, {}, body), NOT_JSON) for body in (
        "", "<html>moved</html>", '{"choices": [', "[" * 100_000, b"\xff\xfe", '"\\ud800"',
    )),
    *((methodcaller("json", value), OTHER_JSON) for value in list[Any]((
        None, [], {}, {"choices": []}, {"choices": {}}, {"choices": [None]}, {"choices": [{"message": "text"}]},
        {"choices": [{"message": {"content": ["a", "b"]}}]}, [completion("fine")],
    ))),
]  # fmt: skip


@pytest.mark.parametrize(("behave", "problem"), BROKEN, ids=range(len(BROKEN)))
def test_an_answer_that_is_none_is_told_as_what_it_is(
    server: FakeLlm, fails: Fails, behave: methodcaller, problem: str
) -> None:
    behave(server)
    message = fails(chat(server))
    assert message.startswith(f"the LLM endpoint at http://127.0.0.1:{server.port} {problem}")


def test_the_environment_with_a_key() -> None:
    model = need(ChatModel.from_environment({"GROQ_API_KEY": KEY}))
    assert (model.base_url, model.model) == (GROQ_BASE_URL, GROQ_MODEL)
    assert GROQ_BASE_URL == "https://api.groq.com/openai/v1"
    assert GROQ_MODEL == "llama-3.3-70b-versatile"
    named = {"API_BASE_URL": "https://example.org/v1", "LLM_MODEL": "m"}
    other = ChatModel.from_environment({"GROQ_API_KEY": KEY, **named})
    assert repr(other) == "ChatModel('https://example.org/v1', model='m')"


def test_the_environment_with_a_server_on_this_machine_needs_no_key(server: FakeLlm) -> None:
    model = need(ChatModel.from_environment({"API_BASE_URL": f" {server.url}\n"}))
    assert model.complete("s", "u") == "fine"
    assert "Authorization" not in server.asked[0].headers


@each("environ", [
    {}, {"GROQ_API_KEY": "  "}, {"LLM_MODEL": "m"}, {"API_BASE_URL": "https://example.org/v1"},
    {"API_BASE_URL": "http://u:p@localhost/v1"}, {"API_BASE_URL": "x"},
])  # fmt: skip
def test_an_environment_without_key_or_server_here_asks_for_none(environ: dict[str, str]) -> None:
    assert ChatModel.from_environment(environ) is None


@each("environ", [
    {"API_BASE_URL": "http://example.org/v1"}, {"API_BASE_URL": "nonsense"},
    {"GROQ_API_KEY": KEY + "\n"}, {"LLM_MODEL": "a\nb"},
])  # fmt: skip
def test_the_environment_with_a_key_and_a_mistake(environ: dict[str, str]) -> None:
    with pytest.raises(LlmError) as caught:
        ChatModel.from_environment({"GROQ_API_KEY": KEY} | environ)
    assert_key_is_not_in("".join(traceback.format_exception(caught.value)))
