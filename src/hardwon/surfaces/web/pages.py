"""What a page is made of, and who looks at it. A page is a function `(ask, request) -> WebPage` (or
an answer of its own, such as a file to keep); one that changes something has a second, `(ask,
request, form) -> address to go to`. `site.PLACES` lists them. They run in worker threads.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from starlette.datastructures import ImmutableMultiDict

from hardwon import limits
from hardwon.errors import InvalidInputError

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
    flashes: list[str] = field(default_factory=list)

    def flash(self, message: str) -> None:
        """A message for the next page that this browser sees."""
        self.flashes = [*self.flashes, message][-limits.WEB_FLASHES_MAX :]

    def take_flashes(self) -> list[str]:
        """Each message is shown once."""
        waiting, self.flashes = self.flashes, []
        return waiting

    def vouches_for(self, csrf: str) -> bool:
        """Whether a form came from one of this session's own pages."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode("utf-8", "replace"))


class Sessions:
    """Those that are open; they end with the server. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, SignIn] = OrderedDict()

    def begin(self, secret: str | None) -> SignIn:
        now = self._clock()
        name, csrf = secrets.token_urlsafe(_NAME_BYTES), secrets.token_urlsafe(_NAME_BYTES)
        made = SignIn(name, secret, csrf, now, now)
        with self._lock:
            self._open[name] = made
            while len(self._open) > limits.WEB_SESSIONS_MAX:
                self._open.popitem(last=False)
        return made

    def find(self, name: str) -> SignIn | None:
        """None where there is none of that name, or not any more."""
        now = self._clock()
        with self._lock:
            found = self._open.pop(name, None)
            if (
                found is None
                or now - found.seen > limits.WEB_SESSION_IDLE_S
                or now - found.began > limits.WEB_SESSION_S_MAX
            ):
                return None
            found.seen = now
            self._open[name] = found
            return found

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
    session: SignIn
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
        given = self.query.get(name, "")
        return given if given in allowed else usual or next(iter(allowed))

    def whole_number(self, name: str, what: str, usual: int, most: int) -> int:
        """A parameter that is a number from 1 on, and the usual one where it is not given."""
        given = self.query.get(name, "").strip() or str(usual)
        if not (given.isascii() and given.isdigit() and 1 <= int(given[:9]) <= most):
            raise InvalidInputError.one(name, given, f"{what}, 1 to {most}")
        return int(given)

    def url(
        self, page: str | None = None, item: str = "", /, project: str | None = None, **query: Any
    ) -> str:
        """The address of a page of this project; the time range stays, and a parameter that is None
        or empty is left out.
        """
        kept = {"range": self.range if self.range != RANGE else None, **query}
        given = {name: value for name, value in kept.items() if value not in (None, "")}
        parts = filter(None, [project or self.project, page or self.page, item])
        path = "/".join([ROOT, *(quote(part, safe="") for part in parts)])
        return f"{path}?{urlencode(given)}" if given else path

    def here(self, **changed: Any) -> str:
        """This very page, with these parameters changed; in another time range, from its
        beginning.
        """
        again = {"cursor": None} if "range" in changed else {}
        return self.url(self.page, self.item, **{**self.query, **again, **changed})
