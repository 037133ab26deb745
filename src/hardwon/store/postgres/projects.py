"""Setting a database up for memories: the schema, the roles, which project is whose. Done by
whoever administers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Final

from hardwon import limits
from hardwon.errors import ForbiddenError, InvalidInputError, NewerFileError, PlaceError
from hardwon.records.kinds import Metadata
from hardwon.store.base import recount
from hardwon.store.postgres.connection import Link, PostgresSession, quoted
from hardwon.store.postgres.schema import (
    ACCESS,
    KEEPER,
    KNOWLEDGE_SINCE,
    MIGRATIONS,
    OWNER,
    SCHEMA,
    SCHEMA_VERSION,
    group_role,
    with_vectors,
)
from hardwon.store.postgres.search import POSTGRES

# the advisory lock under which a database is set up, one process at a time
_SETTING_UP: Final = 0x48415244
_MAY_ACT: Final = "coalesce((to_jsonb(a) ->> 'set_option')::boolean, true)"
"""Since PostgreSQL 16, whoever made a role is a member of it that may give it away and not act as
it.
"""

_SLUG: Final = re.compile(r"[^a-z0-9]+")
_SLUG_CHARS: Final = 24
SERVER_MIN: Final = 150_000
"""PostgreSQL 15: views that are asked with the rights of whoever asks."""


@dataclass(frozen=True)
class Grant:
    """A database user that reaches a project, and how far. `project` None: the tokens of a
    server.
    """

    user: str
    project: str | None
    access: str


@dataclass(frozen=True)
class Setup:
    """What a database is set up for."""

    location: str
    version: int
    server: str
    projects: list[str]
    grants: list[Grant]
    vectors: bool


def role_name(database: str, project: str, access: str) -> str:
    """Roles belong to the whole server, projects to one database: the name tells both apart."""
    slug = _SLUG.sub("_", project.lower()).strip("_")[:_SLUG_CHARS]
    mark = sha256(f"{database}\0{project}".encode()).hexdigest()[:16]
    return "_".join(filter(None, ("hardwon", slug, mark, access)))


def initialise(link: Link, projects: Sequence[str]) -> None:
    """Makes what is missing: schema, roles, and the roles of these projects. Done again, it changes
    nothing.
    """
    for project in projects:
        _check_name(project)
    try:
        with administering(link) as session:
            _refuse_old_server(session)
            _make_roles(session)
            migrate(session)
            _use_vectors(session)
            for project in projects:
                _make_project(session, project)
    except ForbiddenError as error:
        raise ForbiddenError(
            f"this user may not set {link.location} up ({error.__cause__ or error}): it takes "
            f"CREATEROLE and CREATE on the "
            f"database, and, where another user set a database of this server up, their roles "
            f"{SCHEMA}_… WITH ADMIN OPTION; "
            "a superuser has all of that"
        ) from None


def administering(link: Link) -> AbstractContextManager[PostgresSession]:
    """One transaction with the rights of the URL's own user, one process at a time."""
    return link.writing(None, _SETTING_UP, alone=True)


def grant(link: Link, user: str, project: str | None, access: str) -> None:
    """Lets a database user reach a project just so far, or (None) the tokens of a server."""
    with administering(link) as session:
        _must_exist(session, user)
        wanted = _roles_for(session, project, access)
        for role in wanted:
            _make_member(session, role, user)
        for role in _roles_for(session, project, ACCESS[-1]):
            if role not in wanted:
                _end_membership(session, role, user)


def revoke(link: Link, user: str, project: str | None) -> list[str]:
    """Takes back whatever a user may do with a project; returns the roles it had."""
    with administering(link) as session:
        _must_exist(session, user)
        return [
            role
            for role in _roles_for(session, project, ACCESS[-1])
            if _end_membership(session, role, user)
        ]


def describe(link: Link) -> Setup:
    """What is set up, as far as the URL's user sees it: who does not own the database is told of
    itself alone.
    """
    with link.reading(None) as session:
        version = version_of(session)
        granted = session.select(
            f"SELECT role, project_id, level FROM {SCHEMA}.granted ORDER BY project_id, level"
        )
        place = {str(role): (str(project), str(level)) for role, project, level in granted}
        members = session.select(
            "SELECT m.rolname, g.rolname FROM pg_auth_members a JOIN pg_roles m ON m.oid = "
            "a.member "
            f"JOIN pg_roles g ON g.oid = a.roleid WHERE g.rolname = ANY (?1) AND {_MAY_ACT} "
            f"AND (m.rolname = session_user OR pg_has_role(session_user, '{OWNER}', 'MEMBER')) "
            f"ORDER BY 1, 2",
            ([*place, KEEPER],),
        )
        (server,) = session.first("SELECT current_setting('server_version')") or ("",)
        return Setup(
            link.location,
            version,
            str(server),
            sorted({project for project, _ in place.values()}),
            _furthest(
                Grant(str(user), *place.get(str(role), (None, "server"))) for user, role in members
            ),
            has_vectors(session),
        )


def _furthest(grants: Iterable[Grant]) -> list[Grant]:
    """A user that may govern may also read: only how far it reaches is told."""
    best: dict[tuple[str, str | None], Grant] = {}
    for each in grants:
        known = best.get((each.user, each.project))
        if known is None or (
            each.project is not None and ACCESS.index(each.access) > ACCESS.index(known.access)
        ):
            best[each.user, each.project] = each
    return sorted(best.values(), key=lambda each: (each.user, each.project or ""))


# --- the schema ---


def migrate(session: PostgresSession) -> None:
    """Brings the schema to this program's version, as its owner. The caller holds the lock."""
    session.become(OWNER)
    session.run(
        f"CREATE TABLE IF NOT EXISTS {SCHEMA}.migrated (version integer NOT NULL PRIMARY KEY)"
    )
    version = version_of(session)
    if version > SCHEMA_VERSION:
        raise newer(version)
    for number, change in enumerate(MIGRATIONS[version:], version + 1):
        session.run(change)
        if number == KNOWLEDGE_SINCE:
            for (project,) in session.select("SELECT DISTINCT project_id FROM record"):
                recount(session, POSTGRES, str(project))
        session.run(f"INSERT INTO {SCHEMA}.migrated VALUES ({number})")
    session.become(None)


def bring_up_to_date(link: Link) -> None:
    """For a database that an older version set up: by whoever comes first and owns it."""
    with administering(link) as session:
        if not owns_database(session):
            raise PlaceError(
                f"the database at {link.location} was set up by an older Hardwon: its owner runs "
                f"`hardwon postgres init` once"
            )
        migrate(session)


def owns_database(session: PostgresSession) -> bool:
    """Whether the URL's user may act as the owner of the schema."""
    (owns,) = session.first(f"SELECT pg_has_role(session_user, '{OWNER}', 'MEMBER')") or (False,)
    return bool(owns)


def version_of(session: PostgresSession) -> int:
    found = session.first(f"SELECT coalesce(max(version), 0) FROM {SCHEMA}.migrated")
    return int(found[0]) if found else 0


def newer(version: int) -> NewerFileError:
    return NewerFileError(
        f"the database was set up by a newer Hardwon (format {version}, this one knows "
        f"{SCHEMA_VERSION}): "
        "pip install --upgrade 'hardwon[postgres]'"
    )


def _refuse_old_server(session: PostgresSession) -> None:
    number, shown = session.first(
        "SELECT current_setting('server_version_num')::int, current_setting('server_version')"
    ) or (
        0,
        "",
    )
    if number < SERVER_MIN:
        raise PlaceError(
            f"this is PostgreSQL {shown}: memories need {SERVER_MIN // 10_000} or newer"
        )


def extension_schema(session: PostgresSession) -> str | None:
    """Where pgvector is, quoted; None where it is not."""
    found = session.first(
        "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = "
        "e.extnamespace "
        "WHERE e.extname = 'vector'"
    )
    return str(found[0]) if found else None


def has_vectors(session: PostgresSession) -> bool:
    """Whether vectors are indexed here."""
    return (
        session.first(
            "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('hardwon.record_vector') AND "
            "attname = 'embedding' "
            "AND NOT attisdropped"
        )
        is not None
    )


def _use_vectors(session: PostgresSession) -> None:
    """With pgvector where the server has it and it may be added; without it, vectors are compared
    one by one.
    """
    if extension_schema(session) is None:
        available = session.first("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
        if not available or not _allowed(session, f"CREATE EXTENSION vector SCHEMA {SCHEMA}"):
            return
    extension = extension_schema(session)
    if extension is not None and not has_vectors(session):
        session.become(OWNER)
        session.run(with_vectors(extension))
        session.become(None)


def _allowed(session: PostgresSession, statement: str) -> bool:
    """Does what may need more rights than we have; False where it did."""
    session.run("SAVEPOINT trying")
    try:
        session.run(statement)
    except ForbiddenError:
        session.run("ROLLBACK TO SAVEPOINT trying")
        return False
    session.run("RELEASE SAVEPOINT trying")
    return True


# --- roles ---


def _make_roles(session: PostgresSession) -> None:
    """Of the whole server: several databases share them. None can log in or bypass policies, and
    none has a project.
    """
    for role in (OWNER, KEEPER, *map(group_role, ACCESS)):
        _make_role(session, role)
    for lower, higher in pairwise(ACCESS):
        _make_member(session, group_role(lower), group_role(higher))
    (user,) = session.first("SELECT session_user::text") or ("",)
    for role in (OWNER, KEEPER):
        _make_member(session, role, user)
    session.run(f"GRANT CREATE ON DATABASE {quoted(_database(session))} TO {OWNER}")
    session.run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA} AUTHORIZATION {OWNER}")


def _make_project(session: PostgresSession, project: str) -> None:
    database = _database(session)
    (user,) = session.first("SELECT session_user::text") or ("",)
    for access in ACCESS:
        role = role_name(database, project, access)
        _make_role(session, role)
        _make_member(session, group_role(access), role)
        _make_member(session, role, user)
        session.become(OWNER)
        session.run(
            f"INSERT INTO {SCHEMA}.granted VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            (role, project, access),
        )
        session.become(None)


def _check_name(project: str) -> None:
    name = Metadata(project_id=project).project_id
    if not name.strip() or len(name.encode()) > limits.PROJECT_BYTES_MAX:
        raise InvalidInputError.one(
            "project",
            project,
            f"a name of at most {limits.PROJECT_BYTES_MAX} bytes that is not blank",
        )


def _make_role(session: PostgresSession, role: str) -> None:
    # Somebody may be setting another database of the same server up right now.
    if not _is_role(session, role):
        session.run(
            f"DO $$ BEGIN CREATE ROLE {quoted(role)} NOLOGIN NOSUPERUSER NOBYPASSRLS; "
            "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )


def _is_role(session: PostgresSession, name: str) -> bool:
    return session.first("SELECT 1 FROM pg_roles WHERE rolname = ?1", (name,)) is not None


def _make_member(session: PostgresSession, role: str, member: str) -> None:
    if not _grantors(session, role, member):
        session.run(f"GRANT {quoted(role)} TO {quoted(member)}")


def _end_membership(session: PostgresSession, role: str, member: str) -> bool:
    """Whoever gave it; False where nobody did."""
    grantors = _grantors(session, role, member)
    for grantor in grantors:
        session.run(f"REVOKE {quoted(role)} FROM {quoted(member)} GRANTED BY {quoted(grantor)}")
    return bool(grantors)


def _grantors(session: PostgresSession, role: str, member: str) -> list[str]:
    """Who made it a member that may act as the role."""
    found = session.select(
        "SELECT b.rolname FROM pg_auth_members a JOIN pg_roles g ON g.oid = a.roleid JOIN pg_roles "
        "m ON m.oid = a.member "
        f"JOIN pg_roles b ON b.oid = a.grantor WHERE g.rolname = ?1 AND m.rolname = ?2 AND "
        f"{_MAY_ACT} ORDER BY 1",
        (role, member),
    )
    return [str(name) for (name,) in found]


def _must_exist(session: PostgresSession, user: str) -> None:
    if not _is_role(session, user):
        raise InvalidInputError.one(
            "user", user, "a user of this server: CREATE ROLE … LOGIN makes one"
        )


def _roles_for(session: PostgresSession, project: str | None, access: str) -> list[str]:
    if project is None:
        return [KEEPER]
    wanted = ACCESS[: ACCESS.index(access) + 1]
    found = dict(
        session.select(
            f"SELECT level, role FROM {SCHEMA}.granted WHERE project_id = ?1", (project,)
        )
    )
    if not found:
        raise InvalidInputError.one(
            "project",
            project,
            "a project of this database: hardwon postgres init --project makes one",
        )
    return [str(found[level]) for level in wanted]


def _database(session: PostgresSession) -> str:
    (name,) = session.first("SELECT current_database()::text") or ("",)
    return str(name)
