"""Who may do what: scopes, and the projects they reach. The gate decides by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Scope = Literal["read", "write", "govern", "admin"]
# Each may do what those before it may: read; record what was tried; decide what is believed; take
# away, and look after it.
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True)
class Caller:
    """Somebody who was let in. `name` is the author of what they write; `projects` are those they
    reach (None: all).
    """

    name: str
    scope: Scope
    projects: tuple[str, ...] | None = None
    token_id: str | None = None


def includes(held: Scope, wanted: Scope) -> bool:
    """Whether who has the one scope may do what takes the other."""
    return SCOPES.index(held) >= SCOPES.index(wanted)
