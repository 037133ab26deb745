"""Setting a database up for memories: what projects share, the schema and the roles of each, who
reaches it, and databases of older versions. Done by whoever administers it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from hardwon import limits
from hardwon.errors import (
    DamagedError,
    ForbiddenError,
    HardwonError,
    NewerFileError,
    OlderFileError,
    PlaceError,
    StorageError,
)
from hardwon.learn.tallies import keys_of
from hardwon.records.fields import check_that
from hardwon.records.kinds import Metadata
from hardwon.store.base import recount, tell_origins, terms_of
from hardwon.store.postgres.connection import Link, PostgresSession, quoted
from hardwon.store.postgres.schema import (
    ACCESS,
    BEFORE,
    CLOSE_OLD,
    KEEP_OLD,
    KEEPER,
    OLD_ROLES,
    OWNER,
    PROJECT_TABLES,
    SCHEMA,
    SCHEMA_VERSION,
    SHARED,
    VOUCHED,
    project_schema,
    with_vectors,
)
from hardwon.store.postgres.search import POSTGRES, as_json, count_terms, text_columns
from hardwon.store.query import STORED, original_of
from hardwon.store.types import Progress, Stored

# the advisory lock under which a database is set up, one process at a time
_log = logging.getLogger("hardwon")
_SETTING_UP: Final = 0x48415244
# Since PostgreSQL 16, whoever made a role is a member of it that may give it away and has none of
# its rights.
_HAS_RIGHTS: Final = "coalesce((to_jsonb(a) ->> 'inherit_option')::boolean, m.rolinherit)"

_SLUG_CHARS: Final = 24
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
    return f"{schema}_{access}"


def initialise(link: Link, projects: Sequence[str]) -> None:
    """Makes what is missing: what projects share, and the schemas and roles of these. Done again,
    it changes nothing. What an older version set up is carried over.
    """
    for project in projects:
        name = Metadata(project_id=project).project_id
        allowed = f"a name of at most {limits.PROJECT_BYTES_MAX} bytes that is not blank"
        check_that(
            name.strip() and len(name.encode()) <= limits.PROJECT_BYTES_MAX,
            "project",
            project,
            allowed,
        )
    try:
        with administering(link) as session:
            if session.value("SELECT current_setting('server_version_num')::int") < SERVER_MIN:
                shown = session.value("SELECT current_setting('server_version')")
                raise PlaceError(
                    f"this is PostgreSQL {shown}: memories need {SERVER_MIN // 10_000} or newer"
                )
            _make_shared(session)
        carry_over(link)
        with administering(link) as session:
            # pgvector, where the server has it and this user may; without it, vectors are compared
            # one by one
            available = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
            if extension_schema(session) is None and session.select(available):
                _try(session, f"CREATE EXTENSION vector SCHEMA {SCHEMA}", ForbiddenError)
            extension = extension_schema(session)
            for project in projects:
                _make_project(session, project, extension)
    except ForbiddenError as error:
        raise ForbiddenError(
            f"this user may not set {link.location} up ({error.__cause__ or error}): it takes "
            f"CREATEROLE and CREATE on the database, and, where another user set a database of "
            f"this server up, their roles {SCHEMA}_… WITH ADMIN OPTION; a superuser has all of that"
        ) from None


def administering(link: Link) -> AbstractContextManager[PostgresSession]:
    """One transaction of whoever sets up, one process at a time."""
    return link.writing(SCHEMA, _SETTING_UP, alone=True)


def grant(link: Link, user: str, project: str | None, access: str) -> None:
    """Lets a database user reach a project just so far, or (None) the tokens of a server."""
    with administering(link) as session:
        roles = _roles_of(session, user, project)
        wanted = roles[: ACCESS.index(access) + 1] if project else roles
        for role in wanted:
            _make_member(session, role, user)
        for role in roles[len(wanted) :]:
            _end_membership(session, role, user)


def revoke(link: Link, user: str, project: str | None) -> list[str]:
    """Takes back whatever a user may do with a project; returns the roles it had."""
    with administering(link) as session:
        roles = _roles_of(session, user, project)
        return [role for role in roles if _end_membership(session, role, user)]


def describe(link: Link) -> Setup:
    """What is set up, as far as the URL's user sees it: who does not own the database is told of
    itself alone.
    """
    with link.reading() as session:
        version = version_of(session)
        owns = owns_database(session)
        known = session.select(f"SELECT name, schema FROM {'project' if owns else 'reachable'}")
        reached = {
            role_name(schema, access): (str(name), access)
            for name, schema in known
            for access in ACCESS
        }
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
        return Setup(
            link.location,
            version,
            session.value("SELECT current_setting('server_version')"),
            sorted({str(name) for name, _ in known}),
            [
                Grant(user, project or None, furthest[user, project])
                for user, project in sorted(furthest)
            ],
            extension_schema(session) is not None,
        )


# --- what projects share ---


def _make_shared(session: PostgresSession) -> None:
    """Roles are of the whole server, and several databases share them. None can log in."""
    for role in (OWNER, KEEPER):
        _make_role(session, role)
    database = session.value("SELECT current_database()")
    session.run(f"GRANT CREATE ON DATABASE {quoted(database)} TO {OWNER}")
    session.run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA} AUTHORIZATION {OWNER}")
    if session.value("SELECT to_regclass('hardwon.migrated') IS NULL"):
        _act_as_owner(session)
        session.run("CREATE TABLE migrated (version integer NOT NULL PRIMARY KEY)")
        session.run(SHARED)
        session.run(f"INSERT INTO migrated VALUES ({SCHEMA_VERSION})")


def _act_as_owner(session: PostgresSession) -> None:
    """For the rest of the transaction: what is made belongs to the owner, whoever sets up."""
    session.run(f"SET LOCAL ROLE {OWNER}")


def owns_database(session: PostgresSession) -> bool:
    """Whether the URL's user has the rights of the owner of the tables."""
    sql = f"SELECT 1 FROM pg_roles WHERE rolname = '{OWNER}' AND pg_has_role(oid, 'USAGE')"
    return session.value(sql) is not None


def version_of(session: PostgresSession) -> int:
    return int(session.value(f"SELECT coalesce(max(version), 0) FROM {SCHEMA}.migrated"))


_EXTENSION: Final = (
    "SELECT quote_ident(n.nspname) FROM pg_extension e "
    "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
)


def extension_schema(session: PostgresSession) -> str | None:
    """Where pgvector is, quoted; None where it is not."""
    found: str | None = session.value(_EXTENSION)
    return found


def find_vector_index(session: PostgresSession, schema: str) -> str | None:
    """Where pgvector is, quoted, if it indexes the vectors of a project; else None."""
    found: str | None = session.value(
        f"{_EXTENSION} AND EXISTS (SELECT 1 FROM pg_attribute "
        "WHERE attrelid = to_regclass(?1) AND attname = 'embedding')",
        (f"{quoted(schema)}.record_vector",),
    )
    return found


def _try(session: PostgresSession, statement: str, *refusals: type[HardwonError]) -> None:
    """Where it is refused so, all stays as it is."""
    session.run("SAVEPOINT trying")
    try:
        session.run(statement)
    except refusals:
        session.run("ROLLBACK TO SAVEPOINT trying")


# --- projects ---


def _make_project(session: PostgresSession, project: str, extension: str | None) -> None:
    """Its roles and its schema, where they are missing; the user of the URL may govern it."""
    known = session.value("SELECT schema FROM project WHERE name = ?1", (project,))
    schema = known
    if not schema:
        # Roles belong to the whole server, projects to one database: the name, with which those of
        # its roles begin, tells both apart.
        slug = re.sub(r"[^a-z0-9]+", "_", project.lower()).strip("_")[:_SLUG_CHARS]
        database = session.value("SELECT current_database()")
        mark = sha256(f"{database}\0{project}".encode()).hexdigest()[:16]
        schema = "_".join(filter(None, (SCHEMA, slug, mark)))
    for access in ACCESS:
        _make_role(session, role_name(schema, access))
    _act_as_owner(session)
    if not known:
        _make_schema(session, project, schema, extension)
    elif extension:
        session.run(with_vectors(schema, extension))
    session.run("SET LOCAL ROLE NONE")


def _make_schema(
    session: PostgresSession, project: str, schema: str, extension: str | None
) -> None:
    session.run(f"CREATE SCHEMA {quoted(schema)}")
    session.run(f"SET LOCAL search_path TO {quoted(schema)}, pg_catalog, pg_temp")
    session.run(project_schema(schema, extension))
    session.run(
        f"INSERT INTO {SCHEMA}.project VALUES (?1, ?2, ?3)", (project, schema, SCHEMA_VERSION)
    )
    session.run(f"SET LOCAL search_path TO {SCHEMA}, pg_catalog, pg_temp")


def _roles_of(session: PostgresSession, user: str, project: str | None) -> list[str]:
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
            f"DO $$ BEGIN CREATE ROLE {quoted(role)} NOLOGIN NOSUPERUSER NOBYPASSRLS; "
            "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
    _make_member(session, role, session.value("SELECT session_user"))


def _is_role(session: PostgresSession, name: str) -> bool:
    return session.value("SELECT 1 FROM pg_roles WHERE rolname = ?1", (name,)) is not None


def _make_member(session: PostgresSession, role: str, member: str) -> None:
    if not _grantors(session, role, member):
        number = session.value("SELECT current_setting('server_version_num')::int")
        inherits = " WITH INHERIT TRUE" if number >= 160_000 else ""
        session.run(f"GRANT {quoted(role)} TO {quoted(member)}{inherits}")


def _end_membership(session: PostgresSession, role: str, member: str) -> bool:
    """Whoever gave it; False where nobody did."""
    grantors = _grantors(session, role, member)
    for grantor in grantors:
        session.run(f"REVOKE {quoted(role)} FROM {quoted(member)} GRANTED BY {quoted(grantor)}")
    return bool(grantors)


def _grantors(session: PostgresSession, role: str, member: str) -> list[str]:
    """Who made it a member that has the rights of the role."""
    found = session.select(
        "SELECT b.rolname FROM pg_auth_members a JOIN pg_roles g ON g.oid = a.roleid "
        "JOIN pg_roles m ON m.oid = a.member JOIN pg_roles b ON b.oid = a.grantor "
        f"WHERE g.rolname = ?1 AND m.rolname = ?2 AND {_HAS_RIGHTS} ORDER BY 1",
        (role, member),
    )
    return [str(name) for (name,) in found]


# --- databases of older versions ---


# What becomes of a column that is not the same any more.
_CARRIED: Final = {
    # 0.10 did not have it.
    ("record_vector", "dimension"): "length(vector) / 4",
    # Before 0.12 only experiences, and decisions, had one.
    ("record", "outcome"): "coalesce(outcome, CASE good WHEN true THEN 'success' WHEN false THEN "
    "'failure' END)",
}


# Words were indexed as they were written, and marked with their project; failures were hashed
# otherwise.
_INDEXED_ANEW: Final = ("record_text", "term_count", "record_key")


def check_version(link: Link, *, may_upgrade: bool, progress: Progress | None) -> None:
    """Raises NewerFileError; what an older version set up is carried over, by whoever comes first
    and owns it, unless that is not to be done now: OlderFileError.
    """
    with link.reading() as session:
        version = version_of(session)
        is_old = version < SCHEMA_VERSION or _has_old_tables(session)
        owns = owns_database(session)
    if version > SCHEMA_VERSION:
        raise NewerFileError(
            f"the database was set up by a newer Hardwon (format {version}, this one knows "
            f"{SCHEMA_VERSION}): install that one"
        )
    if is_old and not owns:
        raise PlaceError(
            f"the database at {link.location} was set up by an older Hardwon and waits to be "
            f"carried over: whoever set it up, or a superuser, runs `hardwon postgres init URL`"
        )
    if is_old and not may_upgrade:
        raise OlderFileError(
            f"the database at {link.location} was set up by an older Hardwon and was left as it "
            "is. Run `hardwon postgres init URL` once: it gives each project a schema of its own, "
            "and keeps the tables of before"
        )
    if is_old:
        carry_over(link, progress)


def carry_over(link: Link, progress: Progress | None = None) -> None:
    """Gives each project of an older version a schema of its own: one transaction each, so that
    whoever is interrupted goes on where it was. Users keep what they reach, because roles keep
    their names. What was there before is kept, in a schema of its own.
    """
    with administering(link) as session:
        version = version_of(session)
        if version >= SCHEMA_VERSION and not _has_old_tables(session):
            return
        _act_as_owner(session)
        if version < SCHEMA_VERSION:
            session.run(CLOSE_OLD)
            session.run(SHARED)
            session.run(f"INSERT INTO migrated VALUES ({SCHEMA_VERSION})")
    while True:
        with administering(link) as session:
            if not _has_old_tables(session):  # another process was faster
                return
            _act_as_owner(session)
            left = session.first(
                "SELECT granted.project_id AS name, role FROM granted "
                f"WHERE level = '{ACCESS[0]}' AND granted.project_id NOT IN (SELECT name FROM project) "
                "ORDER BY 1 LIMIT 1"
            )
            if left is None:
                session.run(KEEP_OLD)
                _log.warning(
                    "the tables of before are kept in the schema %s; when everything is there, "
                    "DROP SCHEMA %s CASCADE removes them",
                    BEFORE,
                    BEFORE,
                )
                break
            project, reader = map(str, left)
            _carry_project(session, project, reader.removesuffix(f"_{ACCESS[0]}"))
            if progress:
                done, total = session.first(
                    f"SELECT (SELECT count(*) FROM {SCHEMA}.project), "
                    f"(SELECT count(*) FROM {SCHEMA}.granted WHERE level = '{ACCESS[0]}')"
                ) or (0, 0)
                progress(done, total)
    with administering(link) as session:
        # They had the rights on all tables, and have none without tables: those may stay that a
        # database of this server still needs, or that this user may not drop.
        for role in OLD_ROLES:
            _try(session, f"DROP ROLE IF EXISTS {role}", ForbiddenError, StorageError)


def _has_old_tables(session: PostgresSession) -> bool:
    return bool(session.value("SELECT to_regclass('hardwon.granted') IS NOT NULL"))


def _carry_project(session: PostgresSession, project: str, schema: str) -> None:
    has_vectors = _columns(session, SCHEMA, "record_vector").count("embedding")
    extension = extension_schema(session) if has_vectors else None
    _make_schema(session, project, schema, extension)
    for table in PROJECT_TABLES:
        if table in _INDEXED_ANEW:
            continue
        old, new = f"{SCHEMA}.{table}", f"{quoted(schema)}.{table}"
        of_project = f"WHERE {table}.project_id IN (?1)"
        there = _columns(session, SCHEMA, table)
        values = {
            name: _CARRIED.get((table, name), name)
            for name in _columns(session, schema, table)
            if name in there or (table, name) in _CARRIED
        }
        session.run(
            f"INSERT INTO {new} ({', '.join(values)}) SELECT {', '.join(values.values())} "
            f"FROM {old} {of_project}",
            (project,),
        )
        figures = "count(*)"
        if "body" in values:
            figures += ", coalesce(sum(hashtextextended(id || body, 0)::numeric), 0)"
        before = session.first(f"SELECT {figures} FROM {old} {of_project}", (project,))
        after = session.first(f"SELECT {figures} FROM {new}")
        if before != after:
            raise DamagedError(
                f"of project {project!r} the table {table} could not be carried over whole "
                f"({before} became {after}); nothing was changed"
            )
    session.run(f"SET LOCAL search_path TO {quoted(schema)}, pg_catalog, pg_temp")
    session.run("SELECT setval('record_seq_seq', max(seq)) FROM record HAVING max(seq) IS NOT NULL")
    tell_origins(session, POSTGRES)
    _derive_anew(session)
    recount(session, POSTGRES, project)
    if extension:
        session.run(
            "SELECT index_vectors(dimension::integer) FROM embedder "
            f"WHERE dimension <= {limits.VECTOR_INDEX_DIMENSION_MAX}"
        )


def _derive_anew(session: PostgresSession) -> None:
    """The words and the exact keys that records are found by."""
    last = 0
    sql = f"SELECT r.seq, r.{VOUCHED}, {STORED} FROM record r WHERE r.seq > ?1 ORDER BY r.seq LIMIT ?2"
    while rows := session.select(sql, (last, limits.BATCH_ROWS)):
        texts, keys = [], []
        for last, vouched, *columns in rows:
            stored = Stored._make(columns)
            texts.append({"seq": last, "vouched": vouched, **text_columns(terms_of(stored))})
            with suppress(DamagedError):
                keys += [{"seq": last, "key": key} for key in keys_of(original_of(stored))]
        session.run(
            "INSERT INTO record_text (seq, length, vouched, terms, often) SELECT * FROM "
            "json_to_recordset(?1::json) AS t (seq bigint, length integer, vouched boolean, "
            "terms text, often text)",
            (as_json(texts),),
        )
        session.run(
            "INSERT INTO record_key (seq, key) SELECT * FROM json_to_recordset(?1::json) "
            "AS t (seq bigint, key text)",
            (as_json(keys),),
        )
    count_terms(session, afresh=True)


def _columns(session: PostgresSession, schema: str, table: str) -> list[str]:
    found = session.select(
        "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass(?1) AND attnum > 0 "
        "AND NOT attisdropped ORDER BY attnum",
        (f"{quoted(schema)}.{table}",),
    )
    return [str(name) for (name,) in found]
