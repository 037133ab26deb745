"""What a page is made of, who looks at it, and how it looks. A page is a function `(ask, request) ->
WebPage` (or an answer of its own, such as a file to keep); one that changes something has a second,
`(ask, request, form) -> address to go to`. `site.PLACES` lists them. They run in worker threads.

Whatever came out of a memory is escaped by the templates, without exception, and is made visible
first: control characters and direction marks are written out.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import ImmutableMultiDict

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import headline, judge_record

# Browsers that are signed in at once; with more, the one that was idle longest signs in again. Some
# kilobytes each.
WEB_SESSIONS_MAX: Final = 1_000

ROOT: Final = "/ui"
RANGES: Final[Mapping[str, int | None]] = {"7d": 7, "30d": 30, "90d": 90, "all": None}
RANGE: Final = "30d"
# Of the records that agents and people write, in the order in which pages name them.
KINDS: Final = ("experience", "fix", "episode", "trajectory", "fact")
_NAME_BYTES: Final = 32
Form = ImmutableMultiDict[str, str]


class WebPage(NamedTuple):
    """A template below `templates`, the page's title, and what the template is filled with."""

    template: str
    title: str
    context: Mapping[str, Any] = MappingProxyType({})
    status: int = 200


@dataclass
class SignIn:
    """`name` is all that the browser holds. `secret`: the token that it was opened with; None where
    no token is asked for. What the token allows is asked for anew with every request, so a session
    ends when its token does.
    """

    name: str
    secret: str | None
    csrf: str
    began: float
    seen: float

    def vouches_for(self, csrf: str) -> bool:
        """Whether a form came from one of this session's own pages."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode("utf-8", "replace"))


class Sessions:
    """Those that are open; they end with the server. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, SignIn] = OrderedDict()

    def begin(self, secret: str | None) -> SignIn:
        """A new session."""
        now = self._clock()
        name, csrf = secrets.token_urlsafe(_NAME_BYTES), secrets.token_urlsafe(_NAME_BYTES)
        made = SignIn(name, secret, csrf, now, now)
        with self._lock:
            self._open[name] = made
            while len(self._open) > WEB_SESSIONS_MAX:
                self._open.popitem(last=False)
        return made

    def find(self, name: str) -> SignIn | None:
        """None where there is none of that name, or not any more."""
        now = self._clock()
        with self._lock:
            session = self._open.pop(name, None)
            if (
                session is None
                or now - session.seen > limits.WEB_SESSION_IDLE_S
                or now - session.began > limits.WEB_SESSION_S_MAX
            ):
                return None
            session.seen = now
            self._open[name] = session
            return session

    def end(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)


@dataclass(frozen=True)
class PageRequest:
    """What a page is asked for. `item` is what its address has after the page's name; `query` has
    the last value of each parameter. `since` is None for all time.
    """

    project: str
    page: str
    item: str
    query: Mapping[str, str]
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def range(self) -> str:
        return self.choose("range", RANGES, RANGE)

    @property
    def since(self) -> datetime | None:
        days = RANGES[self.range]
        return None if days is None else self.now - timedelta(days=days)

    def choose(self, name: str, allowed: Collection[str], usual: str = "") -> str:
        """A parameter that is one of these names, and the usual one, or the first, where it is
        not.
        """
        text = self.query.get(name, "")
        return text if text in allowed else usual or next(iter(allowed))

    def whole_number(self, name: str, what: str, usual: int, most: int) -> int:
        """A parameter that is a number from 1 on, and the usual one where it is not given."""
        text = self.query.get(name, "").strip() or str(usual)
        if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most):
            raise InvalidInputError.one(name, text, f"{what}, 1 to {most}")
        return int(text)

    def day(self, name: str) -> date | None:
        """A parameter that is a day."""
        text = self.query.get(name, "").strip()
        try:
            return date.fromisoformat(text) if text else None
        except ValueError:
            raise InvalidInputError.one(name, text, "a day, such as 2026-03-31") from None

    def url(
        self, page: str | None = None, item: str = "", /, project: str | None = None, **query: Any
    ) -> str:
        """The address of a page of this project; the time range stays, and a parameter that is None
        or empty is left out.
        """
        kept = {"range": self.range if self.range != RANGE else None, **query}
        pairs = {name: value for name, value in kept.items() if value not in (None, "")}
        parts = filter(None, [project or self.project, page or self.page, item])
        path = "/".join([ROOT, *(quote(part, safe="") for part in parts)])
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def here(self, **changed: Any) -> str:
        """This very page, with these parameters changed; in another time range, from its
        beginning, and without days of its own.
        """
        again = dict.fromkeys(("cursor", "since", "until")) if "range" in changed else {}
        return self.url(self.page, self.item, **{**self.query, **again, **changed})


HERE: Final = Path(__file__).parent
STATIC: Final = "/ui/static"
FILES: Final = {path.name: path for path in (HERE / "static").iterdir()}


@cache
def asset_url(name: str) -> str:
    """The address of a file that browsers keep; what the file says is part of it."""
    return f"{STATIC}/{blake2b(FILES[name].read_bytes(), digest_size=8).hexdigest()}/{name}"


def visible(text: Any) -> str:
    """A text with nothing in it that acts on what is around it. Line breaks and tabs stay."""
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(
        char
        if char.isprintable() or char in "\n\t"
        else char.encode("unicode_escape").decode("ascii")
        for char in plain
    )


def shorten(text: Any, most: int = 160) -> str:
    """The beginning of a text, on one line."""
    line = visible(" ".join(str(text)[: 8 * most].split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def number(value: float | None, digits: int = 1) -> str:
    """1,234 or 0.5; a dash for nothing."""
    if value is None:
        return "\u2013"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def percent(p: float | None, interval: tuple[float, float] | None = None) -> str:
    """62 %, or 62 % (48 to 75 %) with the interval in which it lies."""
    if p is None:
        return "\u2013"
    around = f" ({100 * interval[0]:.0f}\u2013{100 * interval[1]:.0f} %)" if interval else ""
    return f"{100 * p:.0f} %{around}"


def ago(at: datetime, now: datetime | None = None) -> str:
    """5 min ago, just now, in 2 h, or a date where that is long ago."""
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    if abs(seconds) >= 30 * 86_400:
        return at.astimezone(UTC).strftime("%Y-%m-%d")
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if count := int(abs(seconds) // size):
            return f"{count} {unit} ago" if seconds >= 0 else f"in {count} {unit}"
    return "just now"


def time(at: datetime | date | None) -> Markup | str:
    """A time as people say it; its title and machine-readable value are exact."""
    if at is None:
        return "\u2013"
    if not isinstance(at, datetime):
        return Markup('<time datetime="{0}">{0}</time>').format(at.isoformat())
    exact = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(exact, ago(at))


_BADGES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("success", "worked", "verified", "published", "active", "fresh", "helped", "good"), "good"
    ),
    **dict.fromkeys(("failure", "failed", "failing", "contradicted", "bad"), "bad"),
    **dict.fromkeys(("hypothesis", "candidate", "stale", "maybe_stale", "superseded"), "warn"),
    **dict.fromkeys(("learning", "interaction"), "info"),
}


def badge(word: Any, title: str = "") -> Markup:
    """A status, an outcome or a staleness as a small label; its colour says nothing that its word
    does not.
    """
    text = visible(word)
    # words of our own are shorter, and stay on one line
    look = _BADGES.get(text, "plain" if len(text) <= 30 else "plain long")
    return Markup('<span class="badge {}" title="{}">{}</span>').format(
        look, visible(title), text.replace("_", " ")
    )


@cache
def environment() -> Environment:
    """What renders the templates."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        # Every text that a template writes is made visible, also where its author did not think of it.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    made.filters.update(
        shorten=shorten,
        number=number,
        percent=percent,
        time=time,
        headline=headline,
        outcome=judge_record,
    )
    made.globals.update(
        asset_url=asset_url, badge=badge, limits=limits, root=ROOT, ranges=list(RANGES)
    )
    return made
