"""Tokens: who may reach a memory from outside this process, as whom, how far and until when."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple
from unicodedata import normalize

from hardwon import limits
from hardwon.errors import FullError, UnknownTokenError
from hardwon.records.fields import (
    check_all,
    check_choice,
    check_items,
    check_signer,
    check_text,
    check_that,
    from_us,
    to_us,
)
from hardwon.records.kinds import NO_ORIGIN, OWN_HISTORY, VERIFIERS, VIA_IMPORT, Metadata, Source
from hardwon.store.types import TokenKeep, TokenRow
from hardwon.trust.access import SCOPES, Caller, Scope
from hardwon.trust.redact import redact

_FORM: Final = re.compile(r"hwt_(?P<id>[0-9a-f]{12})_[A-Za-z0-9_-]{43}")
# Names under which the memory itself, and verifiers, are written down.
_RESERVED: Final = ("hardwon", *VERIFIERS)


@dataclass(frozen=True)
class Token:
    """What is known of a token; the token itself is shown once, when it is made. `projects`: None
    means all of them.
    """

    id: str
    name: str
    scope: Scope
    projects: tuple[str, ...] | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None

    def state(self, at: datetime) -> Literal["active", "expired", "revoked"]:
        """What it is at that time."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= at else "active"


class NewToken(NamedTuple):
    """`secret` is what the caller sends, and is kept nowhere."""

    token: Token
    secret: str


class Tokens:
    """The tokens of one memory, whatever their projects."""

    def __init__(self, keep: TokenKeep, clock: Callable[[], datetime]) -> None:
        self._keep, self._clock = keep, clock

    def close(self) -> None:
        self._keep.close()

    def create(
        self,
        name: str,
        scope: Scope = "read",
        projects: Sequence[str] | None = None,
        days: float | None = limits.TOKEN_DAYS,
    ) -> NewToken:
        """Makes a token. `name` becomes the author of what it writes; two may have the same, to
        replace one by the other. `days` it is valid; None means until it is revoked.
        """
        name, names, *_ = check_all(
            lambda: author_name("name", name),
            lambda: None if projects is None else _check_projects(projects),
            lambda: check_choice("scope", check_text("scope", scope), SCOPES),
            lambda: None if days is None else _check_days(days),
        )
        listed, at = names and json.dumps(sorted(set(names))), self._clock()
        expires_us = None if days is None else to_us(at + timedelta(days=days))
        token_id = secrets.token_hex(6)
        secret = f"hwt_{token_id}_{secrets.token_urlsafe(32)}"
        row = TokenRow(token_id, name, _digest(secret), scope, listed, to_us(at), expires_us, None)
        kept = self._keep.add(row, to_us(at - timedelta(days=limits.TOKEN_DAYS)))
        if kept > limits.TOKENS_MAX:
            there = f"there are {limits.TOKENS_MAX} tokens already"
            raise FullError(f"{there}: revoke some; those that ended are dropped later")
        return NewToken(_token(row), secret)

    def all(self) -> list[Token]:
        """All that are active, and those that ended not long ago; the oldest first."""
        return [_token(row) for row in self._keep.all()]

    def find(self, id_or_name: str) -> list[Token]:
        """What `revoke` would end. UnknownTokenError where that is nothing."""
        wanted = check_text("id_or_name", id_or_name)
        names = {wanted, normalize("NFKC", wanted).strip()}
        tokens = [token for token in self.all() if token.revoked is None]
        tokens = [token for token in tokens if names & {token.id, token.name}]
        if not tokens:
            shown = wanted[: limits.NAME_CHARS_MAX]
            raise UnknownTokenError(
                f"there is no token {shown!r} to revoke: hardwon tokens list shows those there are"
            )
        return tokens

    def revoke(self, id_or_name: str) -> list[Token]:
        """Ends a token at once, or all of one name; returns them."""
        ended = [token.id for token in self.find(id_or_name)]
        self._keep.revoke(ended, to_us(self._clock()))
        return [token for token in self.all() if token.id in ended]

    def caller(self, secret: str) -> Caller | None:
        """Who sends this; None where it is no token that is active."""
        match = _FORM.fullmatch(secret)
        row = self._keep.get(match["id"]) if match else None
        # Compared also where there is no such token, so that the time taken does not tell.
        same = hmac.compare_digest(_digest(secret), row.digest if row else bytes(32))
        token = _token(row) if row and same else None
        if token is None or token.state(self._clock()) != "active":
            return None
        return Caller(token.name, token.scope, token.projects, token.id)


def author_name(field: str, name: str) -> str:
    """The name as an author's: whoever asks from outside is nobody who is believed for their
    name.
    """
    name = Source(author=normalize("NFKC", check_signer(field, name))).author.strip()
    allowed = f"a name that is no secret, none of {', '.join(_RESERVED)}, and {NO_ORIGIN}"
    is_taken = name in (*_RESERVED, OWN_HISTORY) or name.endswith(VIA_IMPORT)
    clean, secrets = redact(name)
    check_that(name and not is_taken and not secrets, field, clean, allowed)
    return name


def _check_projects(projects: Any) -> list[str]:
    names = [Metadata(project_id=one).project_id for one in check_items("projects", projects)]
    fits = 0 < len(names) <= limits.ITEMS_MAX and all(map(str.strip, names))
    allowed = f"1 to {limits.ITEMS_MAX} names of projects, or None for all"
    check_that(fits, "projects", projects, allowed)
    return names


def _check_days(days: Any) -> None:
    is_number = isinstance(days, int | float) and not isinstance(days, bool)
    allowed = f"more than 0 and at most {limits.DAYS_MAX} days, or None"
    check_that(is_number and 0 < days <= limits.DAYS_MAX, "days", days, allowed)


def _digest(secret: str) -> bytes:
    """A plain hash is enough: nobody guesses 256 random bits, however fast they can try."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _token(row: TokenRow) -> Token:
    return Token(
        row.id,
        row.name,
        next(scope for scope in SCOPES if scope == row.scope),
        None if row.projects is None else tuple(json.loads(row.projects)),
        from_us(row.created_us),
        None if row.expires_us is None else from_us(row.expires_us),
        None if row.revoked_us is None else from_us(row.revoked_us),
    )
