"""Databases that hold memories: setting one up, and who reaches what in it. For whoever administers
it.

Importing this raises MissingExtraError where the driver is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

from hardwon.errors import InvalidInputError
from hardwon.memory.places import find_place
from hardwon.memory.project import project_name
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.fields import check_items, check_text, check_that
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link
from hardwon.store.postgres.projects import Setup
from hardwon.store.postgres.schema import ACCESS, WRITER

# PostgreSQL cuts longer names of users short, and would then take one for another.
_NAME_BYTES_MAX: Final = 63


def initialise(url: str, projects: Sequence[str] = (DEFAULT_PROJECT,)) -> Setup:
    """Makes what is missing for memories of these projects: a schema and roles for each. What is
    there stays. The url's user needs CREATEROLE, and CREATE on the database.
    """
    names = list(map(project_name, check_items("projects", projects)))
    with _link(url) as link:
        setup.initialise(link, names)
        return setup.describe(link)


def grant(url: str, user: str, project: str | None, access: str = WRITER) -> None:
    """Lets a database user reach a project just so far; `project` None: lets it keep the tokens of
    a server.
    """
    check_that(access in ACCESS, "access", access, ", ".join(ACCESS))
    who, where = _user_and_project(user, project)
    with _link(url) as link:
        setup.grant(link, who, where, access)


def revoke(url: str, user: str, project: str | None) -> bool:
    """Takes back whatever a user may do with a project (None: with the tokens of a server); False
    where that was nothing.
    """
    who, where = _user_and_project(user, project)
    with _link(url) as link:
        return bool(setup.revoke(link, who, where))


def describe(url: str) -> Setup:
    """What a database is set up for, as far as the url's user sees it."""
    with _link(url) as link:
        return setup.describe(link)


@contextmanager
def _link(url: str) -> Iterator[Link]:
    place = find_place(url)
    if place.url is None:
        allowed = "the address of a database: postgresql://user@host/database"
        raise InvalidInputError.one("url", url, allowed)
    with closing(Link(place.url)) as link:
        yield link


def _user_and_project(user: str, project: str | None) -> tuple[str, str | None]:
    name = check_text("user", user)
    allowed = f"the name of a database user: 1 to {_NAME_BYTES_MAX} bytes"
    fits = "\0" not in name and 0 < len(name.encode()) <= _NAME_BYTES_MAX
    check_that(fits, "user", name, allowed)
    return name, None if project is None else project_name(project)
