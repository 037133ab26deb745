"""Models behind OpenAI-compatible endpoints.

A key goes to the host of the base URL and nowhere else: over https, or over plain http to this
machine only, and to the one host that HARDWON_PLAIN_HTTP_HOST names; redirects are not followed and
proxies of the environment are not used. Whatever goes wrong is an error without a cause or a
context, because those are where a key would turn up.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic_core import from_json

from hardwon import limits
from hardwon.errors import HardwonError, LlmError
from hardwon.outside.locations import is_loopback
from hardwon.records.fields import check_that
from hardwon.trust.redact import redact

if TYPE_CHECKING:
    from hardwon.outside.http import HttpReply

# The longest wait a caller may ask for. A large model on a slow machine of one's own takes minutes,
# not hours.
LLM_TIMEOUT_S_MAX: Final = 3_600.0

# What the model may write. LLM_RULES_MAX rules of full length fit, a chat about them does not.
LLM_REPLY_TOKENS_MAX: Final = 500

T = TypeVar("T")

GROQ_BASE_URL: Final = "https://api.groq.com/openai/v1"
GROQ_MODEL: Final = "llama-3.3-70b-versatile"


class Llm(Protocol):
    """Whatever answers a question: a system and a user message in, text out. Raises `LlmError` when
    it cannot.
    """

    def complete(self, system: str, user: str) -> str:
        """The answer."""
        ...


class ChatModel:
    """A model at an endpoint that speaks OpenAI's chat completions. Safe to share between threads;
    keeps nothing open.

    A base URL, model name or key that cannot be used is refused here, before anything is sent. An
    empty key means that none is sent, for servers on this machine that want none.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        timeout_s: float = limits.LLM_TIMEOUT_S,
    ) -> None:
        self._endpoint = Endpoint(CHAT, base_url, model, api_key, timeout_s)
        self.base_url: Final = self._endpoint.base_url
        self.model: Final = model

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> ChatModel | None:
        """The model that the environment asks for, or None where it asks for none.

        `GROQ_API_KEY` is the key. `API_BASE_URL` is the endpoint and `LLM_MODEL` the model, by
        default Groq's. Without a key, an `API_BASE_URL` on this machine (an Ollama at
        `http://localhost:11434/v1`, say) is used without one. A key together with an address or
        model that cannot be used raises `LlmError`.
        """
        key = environ.get("GROQ_API_KEY", "")
        base_url = environ.get("API_BASE_URL", "").strip()
        model = environ.get("LLM_MODEL", "").strip() or GROQ_MODEL
        if key.strip():
            return cls(base_url or GROQ_BASE_URL, model, key)
        try:
            _, host = _origin_and_host(CHAT, base_url)
        except LlmError:
            return None
        return cls(base_url, model) if is_loopback(host) else None

    def __repr__(self) -> str:
        return f"ChatModel({self.base_url!r}, model={self.model!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ChatModel holds a key and is neither pickled nor copied; make a new one")

    def complete(self, system: str, user: str) -> str:
        """The model's answer. The whole exchange ends within the timeout, one way or the other."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        question = {"model": self.model, "messages": messages, "temperature": 0}
        return self._endpoint.ask({**question, "max_tokens": LLM_REPLY_TOKENS_MAX}, self._content)

    def _content(self, reply: object) -> str:
        match reply:
            case {"choices": [{"message": {"content": str(content)}}, *_]} if content.strip():
                return content
            case {"choices": [{"message": {"content": str() | None}}, *_]}:
                raise self._endpoint.error("sent an empty answer; try again, or with another model")
        raise self._endpoint.error(f"sent JSON without choices[0].message.content; {CHAT.is_it}")


# --- endpoints ---

_PIECE_CHARS: Final = 8  # fewer characters of a key occur in ordinary text, and help nobody


class Api(NamedTuple):
    """What an endpoint speaks: the path behind the base URL, and the words and the error that
    problems are told with.
    """

    noun: str
    path: str
    is_it: str
    error: type[HardwonError]


CHAT: Final = Api(
    "LLM", "/chat/completions", "is the base URL that of a chat-completions API?", LlmError
)


class Endpoint:
    """A model at an address. An address, model or key that cannot be used is refused here, before
    anything is sent. `title` is who asks, for errors.
    """

    def __init__(
        self, api: Api, base_url: str, model: str, api_key: str, timeout_s: float, title: str = ""
    ) -> None:
        allowed = f"more than 0 and at most {LLM_TIMEOUT_S_MAX:g} seconds"
        check_that(0 < timeout_s <= LLM_TIMEOUT_S_MAX, "timeout_s", timeout_s, allowed)
        self._origin, _ = _origin_and_host(api, base_url)
        # http.client would refuse the same, with an error that shows the key
        if not re.fullmatch(r"[!-~]*", api_key):
            problem = "holds spaces, line breaks or other characters that no key has; was it pasted whole?"
            raise api.error(f"the {api.noun} API key {problem}")
        if not model.strip() or not model.isprintable() or len(model) > limits.NAME_CHARS_MAX:
            raise api.error(
                f"the {api.noun} model's name is blank, too long or holds control characters; "
                f"allowed: 1 to {limits.NAME_CHARS_MAX} characters on one line"
            )
        self._api, self._title = api, title
        # no dump of attributes shows what a function holds
        self._key: Callable[[], str] = lambda: api_key
        self.base_url: Final = base_url.rstrip("/")
        self.model: Final = model
        self._timeout_s = timeout_s

    def error(self, what: str) -> HardwonError:
        """One that says who did what."""
        return self._api.error(f"the {self._api.noun} endpoint at {self._origin} {what}")

    def ask(self, question: Mapping[str, object], read: Callable[[object], T]) -> T:
        """What `read` makes of the JSON of its reply."""
        try:
            return read(self._reply(question))
        except self._api.error as error:
            problem = f"{self._title}{error}"
        # Raised anew, and out here: the frames of the first error hold the key.
        raise self._api.error(problem)

    def _reply(self, question: Mapping[str, object]) -> object:
        from hardwon.outside import http  # it takes long to load

        headers = {"User-Agent": "hardwon", "Accept-Encoding": "identity"}
        headers |= dict.fromkeys(("Accept", "Content-Type"), "application/json")
        if key := self._key():
            headers["Authorization"] = f"Bearer {key}"
        try:
            url, content = self.base_url + self._api.path, json.dumps(question).encode()
            reply = http.post(url, headers, content, self._timeout_s, limits.LLM_REPLY_BYTES_MAX)
        except http.HttpError as error:
            raise self.error(str(error)) from None
        if reply.status != 200:
            raise self.error(self._refusal(reply))
        if reply.headers.get("content-encoding", "identity").lower() != "identity":
            raise self.error("sent a compressed reply although none was asked for")
        try:
            answer = from_json(reply.body)
        except ValueError:
            raise self.error(f"sent a reply that is not JSON; {self._api.is_it}") from None
        if isinstance(answer, dict) and answer.get("error"):
            raise self.error(f"reports an error{self._quote(_error_text(answer))}")
        return answer

    def _refusal(self, reply: HttpReply) -> str:
        status = reply.status
        if 300 <= status < 400:
            return f"redirects to another address ({status}), which is never followed; set the base URL to the final one"
        key = "refuses the API key" if self._key() else "wants an API key"
        after = reply.headers.get("retry-after", "")
        date = r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT"
        wait = f"wait until {after}" if re.fullmatch(date, after) else "wait"
        wait = f"wait {after} s" if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", after) else wait
        what = {
            401: key,
            403: key,
            404: "knows no such address or model; check the base URL and the model",
            429: f"was asked too often; {wait} and try again",
        }.get(status, "does not accept the request")
        if status >= 500:
            what = "has a problem of its own; try again later"
        try:
            text = _error_text(from_json(reply.body))
        except ValueError:
            text = reply.body.decode(errors="replace")
        return f"{what} (HTTP {status}){self._quote(text)}"

    def _quote(self, text: str) -> str:
        """What an endpoint says, fit to be shown: it may repeat the key, whole, cut or in other
        letter case.
        """
        key = self._key()
        # Invisible characters go first: taken out later, they could join what was found to be
        # harmless apart.
        beginning = text[: limits.BEGINNING_CHARS * 50]
        plain = redact("".join(char if char.isprintable() else " " for char in beginning))[0]
        if key:
            plain = plain.replace(key, "[REDACTED:api-key]")
        shown, hidden = plain.lower(), key.lower()
        pieces = (hidden[at : at + _PIECE_CHARS] for at in range(len(key) - _PIECE_CHARS + 1))
        if any(piece in shown for piece in pieces):
            return "; what it says is not shown, because it repeats a part of the key"
        plain = " ".join(plain.split())
        if len(plain) > limits.BEGINNING_CHARS:
            plain = plain[: limits.BEGINNING_CHARS - 1] + "…"
        return f'; it says: "{plain}"' if plain else ""


def _origin_and_host(api: Api, base_url: str) -> tuple[str, str]:
    """Where a base URL leads. What is refused is not repeated: a base URL with a password in it is
    one of the cases.
    """

    def refusal(what: str) -> HardwonError:
        """What is wrong with it."""
        return api.error(f"the {api.noun} base URL {what}")

    # urlsplit takes line breaks and tabs out without a word, and then sees another host than a
    # reader does.
    if not re.fullmatch(r"[!-~]+", base_url) or "\\" in base_url:
        problem = (
            "is empty or holds spaces, backslashes, control characters or letters beyond ASCII"
        )
        raise refusal(problem)
    try:
        parts = urlsplit(base_url)
        if parts.netloc.startswith("["):
            ip_address(parts.hostname or "")
    except ValueError:
        raise refusal("is no address: its host or port cannot be read") from None
    if parts.scheme not in ("http", "https"):
        raise refusal("must begin with https:// (or http:// for a server on this machine)")
    if "@" in parts.netloc:
        raise refusal("must not hold a user name or password; the key is given apart from it")
    if "?" in base_url or "#" in base_url:
        raise refusal("must not hold a query or fragment (? or #); it ends with a path such as /v1")
    matched = re.fullmatch(
        r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_][a-z0-9._-]{0,252}))(?::([1-9][0-9]{0,4}))?",
        parts.netloc.lower(),
    )
    if not matched or int(matched[3] or 1) > 65_535:
        raise refusal("is no address: its host or port cannot be read")
    host: str = matched[1] or matched[2]
    allowed = os.environ.get("HARDWON_PLAIN_HTTP_HOST", "").strip().lower()
    if parts.scheme == "http" and not is_loopback(host) and host != allowed:
        raise api.error(
            f"plain http to {host} is refused: anybody on the way could read the key; use https "
            f"(http: localhost, 127.0.0.0/8 or ::1, or what HARDWON_PLAIN_HTTP_HOST names)"
        )
    return f"{parts.scheme}://{parts.netloc.lower()}", host


def _error_text(reply: object) -> str:
    match reply:
        case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
            return text
    return json.dumps(reply)
