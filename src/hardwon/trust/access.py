"""Who may do what: scopes, the projects they reach, and the one rule that decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from hardwon.errors import ForbiddenError

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
    return SCOPES.index(held) >= SCOPES.index(wanted)


def check_access(
    caller: Caller, wanted: Scope, project: str | None, *, whole: bool = False
) -> None:
    """Raises unless the caller may do what takes this scope, in this project (None: it is of no
    project). `whole`: it reaches into every project, whichever is named.
    """
    if project is not None and caller.projects is not None and project not in caller.projects:
        raise ForbiddenError(
            f"the token {caller.name!r} does not reach project {project!r}: ask for one that does"
        )
    if whole and caller.projects is not None:
        raise ForbiddenError(
            f"this reaches every project, and the token {caller.name!r} some: ask for one that "
            f"reaches all"
        )
    if not includes(caller.scope, wanted):
        raise ForbiddenError(
            f"this takes the scope {wanted}, and the token {caller.name!r} has {caller.scope}: ask "
            f"for one that may"
        )
