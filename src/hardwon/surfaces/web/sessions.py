"""Who is signed in. A browser holds a random name and nothing else; what it stands for stays here,
and ends with the server.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hardwon import limits

_NAME_BYTES: Final = 32


@dataclass
class SignIn:
    """`secret`: the token that it was opened with; None where nobody is asked for one. What the
    token allows is asked for anew with every request, so a session ends when its token does.
    """

    name: str
    secret: str | None
    csrf: str
    began: float
    seen: float
    flashes: list[str] = field(default_factory=list)

    def tell(self, message: str) -> None:
        """A message for the next page."""
        self.flashes = [*self.flashes, message][-limits.WEB_FLASHES_MAX :]

    def told(self) -> list[str]:
        """What was to be told; it is told once."""
        waiting, self.flashes = self.flashes, []
        return waiting

    def vouches_for(self, csrf: str) -> bool:
        """Whether a form came from one of this session's own pages."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode("utf-8", "replace"))


class Sessions:
    """Those that are open. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, SignIn] = OrderedDict()

    def begin(self, secret: str | None) -> SignIn:
        now = self._clock()
        made = SignIn(
            secrets.token_urlsafe(_NAME_BYTES), secret, secrets.token_urlsafe(_NAME_BYTES), now, now
        )
        with self._lock:
            self._open[made.name] = made
            while len(self._open) > limits.WEB_SESSIONS_MAX:
                self._open.popitem(last=False)
        return made

    def find(self, name: str | None) -> SignIn | None:
        """None where there is none of that name, or not any more."""
        now = self._clock()
        with self._lock:
            found = self._open.get(name or "")
            if found is None:
                return None
            if (
                now - found.seen > limits.WEB_SESSION_IDLE_S
                or now - found.began > limits.WEB_SESSION_S_MAX
            ):
                del self._open[found.name]
                return None
            found.seen = now
            self._open.move_to_end(found.name)
            return found

    def end(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)
