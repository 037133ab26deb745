"""What a page is made of. A page is a module `<name>_page` with `view(ask, request) -> Page`; one
that changes something also has `act(ask, request, form) -> address to go to`. `site.PLACES` lists
them. They run in worker threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from hardwon import limits
from hardwon.errors import InvalidInputError, UnknownRecordError
from hardwon.records.kinds import AnyRecord
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.operations import OPERATIONS
from hardwon.surfaces.web.sessions import SignIn
from hardwon.trust.access import Caller, Scope, includes

ROOT: Final = "/ui"
RANGES: Final[Mapping[str, int | None]] = {"7d": 7, "30d": 30, "90d": 90, "all": None}
RANGE: Final = "30d"
KINDS: Final = ("experience", "fix", "episode", "trajectory", "fact")
"""Of the records that agents and people write, in the order in which pages name them."""


@dataclass(frozen=True)
class WebPage:
    """A template below `templates`, what it is filled with, and the page's title."""

    template: str
    context: Mapping[str, Any]
    title: str
    status: int = 200


class Download(NamedTuple):
    """What a page gives instead of itself: a file of this name."""

    name: str
    content: bytes
    media_type: str


class NavItem(NamedTuple):
    """A page's name in its address, its title, and whether the navigation lists it. To see one
    takes the scope read.
    """

    name: str
    title: str
    listed: bool = True


class Ask:
    """Asks the memory of one project, as the caller: every operation of the table, under its
    name.
    """

    def __init__(self, gate: Gate, caller: Caller, project: str) -> None:
        self._gate = gate
        self.caller = caller
        self.project = project

    def __call__(self, operation: str, /, **said: Any) -> Any:
        arguments = OPERATIONS[operation].takes.model_validate(said)
        return self._gate.perform(self.caller, operation, self.project, arguments)

    def record(self, record_id: str) -> AnyRecord | None:
        """None where there is no such record, or not any more."""
        with suppress(UnknownRecordError):
            found: AnyRecord = self("get", record_id=record_id)
            return found
        return None

    def may(self, scope: Scope) -> bool:
        """Whether the caller could; for what a page offers. The gate decides."""
        return includes(self.caller.scope, scope)


@dataclass(frozen=True)
class Form:
    """What a form said: the last value of each field, and all of them where there are several."""

    pairs: tuple[tuple[str, str], ...]

    def get(self, name: str, default: str = "") -> str:
        return next((value for key, value in reversed(self.pairs) if key == name), default)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]


@dataclass(frozen=True)
class PageRequest:
    """What a page is asked for. `item` is what its address has after the page's name; `query` has
    the last value of each parameter. `since` is None for all time; `until` is now.
    """

    project: str
    page: str
    item: str
    query: Mapping[str, str]
    session: SignIn
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def range(self) -> str:
        asked = self.query.get("range", RANGE)
        return asked if asked in RANGES else RANGE

    @property
    def since(self) -> datetime | None:
        days = RANGES[self.range]
        return None if days is None else self.now - timedelta(days=days)

    @property
    def until(self) -> datetime:
        return self.now

    def url(
        self, page: str | None = None, item: str = "", /, project: str | None = None, **query: Any
    ) -> str:
        """The address of a page of this project; the time range stays, and a parameter that is None
        or empty is left out.
        """
        kept = {"range": self.range if self.range != RANGE else None, **query}
        said = {
            name: str(value) for name, value in kept.items() if value is not None and value != ""
        }
        parts = [project or self.project, page or self.page, *([item] if item else [])]
        path = "/".join([ROOT, *(quote(part, safe="") for part in parts)])
        return f"{path}?{urlencode(said)}" if said else path

    def here(self, **changed: Any) -> str:
        """This very page, with these parameters changed; in another time range, from its
        beginning.
        """
        again = {"cursor": None} if "range" in changed else {}
        return self.url(self.page, self.item, **{**self.query, **again, **changed})

    def tell(self, message: str) -> None:
        """A message for the next page that this browser sees."""
        self.session.tell(message)


def pairs_of(encoded: bytes, fields_max: int, where: str) -> tuple[tuple[str, str], ...]:
    """What a query or a form says, in order."""
    try:
        return tuple(
            parse_qsl(
                encoded.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=fields_max,
            )
        )
    except ValueError:
        raise InvalidInputError.one(
            where, f"{len(encoded)} bytes", f"at most {fields_max} fields, in UTF-8"
        ) from None


def query_of(encoded: bytes) -> dict[str, str]:
    return dict(pairs_of(encoded, limits.QUERY_FIELDS_MAX, "query"))
