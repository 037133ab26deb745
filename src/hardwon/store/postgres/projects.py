"""Setting a database up for memories: what projects share, the schema and the roles of each, who
reaches it. Done by whoever administers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from secrets import token_hex
from typing import Final

from hardwon import limits
from hardwon.errors import ForbiddenError, PlaceError
from hardwon.records.fields import check_that
from hardwon.records.kinds import Metadata
from hardwon.store.postgres import schema as tables
from hardwon.store.postgres.connection import Link, PostgresSession, quote_name
from hardwon.store.postgres.schema import ACCESS, KEEPER, OWNER, SCHEMA
from hardwon.store.types import FORMAT, refuse_other_format

# the advisory lock under which a database is set up, one process at a time
_SETTING_UP: Final = 0x48415244
# Since PostgreSQL 16, whoever made a role is a member of it that may give it away and has none of
# its rights.
_HAS_RIGHTS: Final = "coalesce((to_jsonb(a) ->> 'inherit_option')::boolean, m.rolinherit)"

# For the rest of a transaction: what is made belongs to the owner, whoever sets up.
_AS_OWNER: Final = f"SET LOCAL ROLE {OWNER}"
# PostgreSQL 15: the oldest that is tested.
SERVER_MIN: Final = 150_000


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


def role_name(schema: str, access: str) -> str:
    """The role that has this access to a schema."""
    return f"{schema}_{access}"


def initialise(link: Link, projects: Sequence[str]) -> None:
    """Makes what is missing: what projects share, and the schemas and roles of these. Done again,
    it changes nothing.
    """
    allowed = f"a name of at most {limits.PROJECT_BYTES_MAX} bytes that is not blank"
    for project in projects:
        name = Metadata(project_id=project).project_id
        is_short = len(name.encode()) <= limits.PROJECT_BYTES_MAX
        check_that(name.strip() and is_short, "project", project, allowed)
    try:
        with administering(link) as session:
            if session.value("SELECT current_setting('server_version_num')::int") < SERVER_MIN:
                shown = session.value("SELECT current_setting('server_version')")
                raise PlaceError(
                    f"this is PostgreSQL {shown}: memories need {SERVER_MIN // 10_000} or newer"
                )
            _make_common(session)
        check_format(link)
        with administering(link) as session:
            # pgvector, where the server has it and this user may; without it, vectors are compared
            # one by one
            available = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
            if session.value(_EXTENSION) is None and session.select(available):
                session.run("SAVEPOINT trying")
                try:
                    session.run(f"CREATE EXTENSION vector SCHEMA {SCHEMA}")
                except ForbiddenError:
                    session.run("ROLLBACK TO SAVEPOINT trying")
            extension = session.value(_EXTENSION)
            for project in projects:
                _make_project(session, project, extension)
    except ForbiddenError as error:
        raise ForbiddenError(
            f"this user may not set {link.location} up ({error.__cause__ or error}): it takes "
            "CREATEROLE and CREATE on the database, and, where another user set a database of this "
            f"server up, their roles {SCHEMA}_… WITH ADMIN OPTION; a superuser has all of that"
        ) from None


def administering(link: Link) -> AbstractContextManager[PostgresSession]:
    """One transaction of whoever sets up, one process at a time."""
    return link.writing(SCHEMA, _SETTING_UP, alone=True)


def grant(link: Link, user: str, project: str | None, access: str) -> None:
    """Lets a database user reach a project just so far, or (None) the tokens of a server."""
    with administering(link) as session:
        roles = _list_roles(session, user, project)
        wanted = roles[: ACCESS.index(access) + 1] if project else roles
        for role in wanted:
            _make_member(session, role, user)
        for role in roles[len(wanted) :]:
            _end_membership(session, role, user)


def revoke(link: Link, user: str, project: str | None) -> list[str]:
    """Takes back whatever a user may do with a project; returns the roles it had."""
    with administering(link) as session:
        roles = _list_roles(session, user, project)
        return [role for role in roles if _end_membership(session, role, user)]


def describe(link: Link) -> Setup:
    """What is set up, as far as the URL's user sees it: who does not own the database is told of
    itself alone.
    """
    with link.reading() as session:
        owns = owns_database(session)
        known = session.select(f"SELECT name, schema FROM {'project' if owns else 'reachable'}")
        roles = [
            (role_name(schema, access), name, access) for name, schema in known for access in ACCESS
        ]
        reached = {role: (str(name), access) for role, name, access in roles}
        members = session.select(
            "SELECT m.rolname, g.rolname FROM pg_auth_members a "
            "JOIN pg_roles m ON m.oid = a.member JOIN pg_roles g ON g.oid = a.roleid "
            f"WHERE g.rolname = ANY (?1) AND {_HAS_RIGHTS} AND (m.rolname = session_user OR ?2)",
            ([*reached, KEEPER], owns),
        )
        furthest: dict[tuple[str, str], str] = {}
        for user, role in members:
            project, access = reached.get(role, ("", "server"))
            before = furthest.get((user, project), access)
            furthest[user, project] = max(before, access, key=[*ACCESS, "server"].index)
        server = session.value("SELECT current_setting('server_version')")
        names = sorted({str(name) for name, _ in known})
        grants = [
            Grant(user, name or None, furthest[user, name]) for user, name in sorted(furthest)
        ]
        vectors = session.value(_EXTENSION) is not None
        return Setup(link.location, read_version(session), server, names, grants, vectors)


# --- what projects share ---


def _make_common(session: PostgresSession) -> None:
    """Roles are of the whole server, and several databases share them. None can log in."""
    for role in (OWNER, KEEPER):
        _make_role(session, role)
    database = session.value("SELECT current_database()")
    session.run(f"GRANT CREATE ON DATABASE {quote_name(database)} TO {OWNER}")
    session.run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA} AUTHORIZATION {OWNER}")
    if session.value("SELECT to_regclass('hardwon.migrated') IS NULL"):
        session.run(_AS_OWNER)
        session.run("CREATE TABLE migrated (version integer NOT NULL PRIMARY KEY)")
        session.run(tables.SHARED)
        session.run(f"INSERT INTO migrated VALUES ({FORMAT})")


def owns_database(session: PostgresSession) -> bool:
    """Whether the URL's user has the rights of the owner of the tables."""
    sql = f"SELECT 1 FROM pg_roles WHERE rolname = '{OWNER}' AND pg_has_role(oid, 'USAGE')"
    return session.value(sql) is not None


def read_version(session: PostgresSession) -> int:
    """The format of the database; 0 where nobody made one."""
    return int(session.value(f"SELECT coalesce(max(version), 0) FROM {SCHEMA}.migrated"))


# Where pgvector is, quoted.
_EXTENSION: Final = (
    "SELECT quote_ident(n.nspname) FROM pg_extension e "
    "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
)


def find_vector_index(session: PostgresSession, schema: str) -> str | None:
    """Where pgvector is, quoted, if it indexes the vectors of a project; else None."""
    place: str | None = session.value(
        f"{_EXTENSION} AND EXISTS (SELECT 1 FROM pg_attribute "
        "WHERE attrelid = to_regclass(?1) AND attname = 'embedding')",
        (f"{quote_name(schema)}.record_vector",),
    )
    return place


# --- projects ---


def _make_project(session: PostgresSession, project: str, extension: str | None) -> None:
    """Its roles and its schema, where they are missing; the user of the URL may govern it."""
    known = session.value("SELECT schema FROM project WHERE name = ?1", (project,))
    schema = known
    if not schema:
        # Every login of the server reads the names of schemas and roles: they tell nothing.
        schema = f"{SCHEMA}_{token_hex(8)}"
    for access in ACCESS:
        _make_role(session, role_name(schema, access))
    session.run(_AS_OWNER)
    if not known:
        session.run(f"CREATE SCHEMA {quote_name(schema)}")
        session.run(f"SET LOCAL search_path TO {quote_name(schema)}, pg_catalog, pg_temp")
        session.run(tables.project_schema(schema, extension))
        session.run(f"INSERT INTO {SCHEMA}.project VALUES (?1, ?2, ?3)", (project, schema, FORMAT))
        session.run(f"SET LOCAL search_path TO {SCHEMA}, pg_catalog, pg_temp")
    elif extension:
        session.run(tables.with_vectors(schema, extension))
    session.run("SET LOCAL ROLE NONE")


def _list_roles(session: PostgresSession, user: str, project: str | None) -> list[str]:
    """What a user, who must be there, may be given: in the order of `ACCESS`."""
    allowed = "a user of this server: CREATE ROLE … LOGIN makes one"
    check_that(_is_role(session, user), "user", user, allowed)
    if project is None:
        return [KEEPER]
    schema = session.value("SELECT schema FROM project WHERE name = ?1", (project,))
    allowed = "a project of this database: hardwon postgres init --project makes one"
    check_that(schema, "project", project, allowed)
    return [role_name(schema, access) for access in ACCESS]


# --- roles ---


def _make_role(session: PostgresSession, role: str) -> None:
    """Whoever sets up is a member of it."""
    # Somebody may be setting another database of the same server up right now.
    if not _is_role(session, role):
        session.run(
            f"DO $$ BEGIN CREATE ROLE {quote_name(role)} NOLOGIN NOSUPERUSER NOBYPASSRLS; "
            "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
    _make_member(session, role, session.value("SELECT session_user"))


def _is_role(session: PostgresSession, name: str) -> bool:
    return session.value("SELECT 1 FROM pg_roles WHERE rolname = ?1", (name,)) is not None


def _make_member(session: PostgresSession, role: str, member: str) -> None:
    if not _grantors(session, role, member):
        number = session.value("SELECT current_setting('server_version_num')::int")
        inherits = " WITH INHERIT TRUE" if number >= 160_000 else ""
        session.run(f"GRANT {quote_name(role)} TO {quote_name(member)}{inherits}")


def _end_membership(session: PostgresSession, role: str, member: str) -> bool:
    """Whoever gave it; False where nobody did."""
    grantors = _grantors(session, role, member)
    for grantor in grantors:
        session.run(
            f"REVOKE {quote_name(role)} FROM {quote_name(member)} GRANTED BY {quote_name(grantor)}"
        )
    return bool(grantors)


def _grantors(session: PostgresSession, role: str, member: str) -> list[str]:
    """Who made it a member that has the rights of the role."""
    return session.column(
        "SELECT b.rolname FROM pg_auth_members a JOIN pg_roles g ON g.oid = a.roleid "
        "JOIN pg_roles m ON m.oid = a.member JOIN pg_roles b ON b.oid = a.grantor "
        f"WHERE g.rolname = ?1 AND m.rolname = ?2 AND {_HAS_RIGHTS} ORDER BY 1",
        (role, member),
    )


# --- databases of other versions ---


def check_format(link: Link) -> None:
    """Raises where what was set up is of another format than this version's."""
    with link.reading() as session:
        refuse_other_format(f"the database at {link.location}", read_version(session))
