"""A memory in a PostgreSQL database that many machines share.

Every transaction acts as a role that reaches one project and may do no more than it has to, whoever the URL's user is: readings
as a reader, writes as a writer (`writer.py`). What a role reaches is decided by the database (`schema.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from hardwon import limits
from hardwon.errors import FileOnlyError, ForbiddenError, StorageError
from hardwon.model import Event
from hardwon.recall import bm25
from hardwon.recall.filters import Filters
from hardwon.store import phrases, tallies
from hardwon.store.contract import (
    Finding,
    Found,
    Progress,
    Row,
    Store,
    Stored,
    TokenKeep,
    Writer,
)
from hardwon.store.phrases import FIXES, ORDINARY, STORED
from hardwon.store.place import COPIES
from hardwon.store.postgres import setup
from hardwon.store.postgres.link import CutOffError, Link, PostgresSession
from hardwon.store.postgres.schema import OWNER, PROJECT_TABLES, READER, SCHEMA, SCHEMA_VERSION, VIEWS, WRITER
from hardwon.store.postgres.tokens import TokenTable
from hardwon.store.postgres.words import POSTGRES, as_queries
from hardwon.store.postgres.writer import TEXTS_COUNTED, WORDS_COUNTED, PostgresWriter, as_numbers
from hardwon.store.reading import SqlStore
from hardwon.store.rows import event_of, is_whole, untrue_events
from hardwon.store.vectors import COSINE_MIN, cosines_of
from hardwon.store.writing import ROW, ROW_FIELDS

P = ParamSpec("P")
T = TypeVar("T")
_FIRST_SPARE: Final = 5
_FIRST_MIN: Final = 200
_RESCORED: Final = 2  # so many times as many as are wanted: the server's score takes more than four of a word for four

# Terms are marked with their project, so the index of terms finds those of the project alone. The planner does not know that,
# and reads all entries of the project in the primary key beside, once for each term: in the largest project from the sixth
# prepared call on, when it plans for one of average size, in others from the first. Where an entry costs a page (usual: 1/200)
# it leaves that, but for projects so small that it does not matter. Plans made anew each time would mend the largest alone.
_SEARCHING: Final = {"cpu_index_tuple_cost": 1}


class PostgresStore(SqlStore):
    """Everything the contract promises, on one database."""

    dialect = POSTGRES

    def __init__(self, url: str, *, busy_timeout_ms: int | None = None) -> None:
        self._link = Link(url, busy_timeout_ms)
        self._roles: dict[str, dict[str, str]] = {}
        self._unasked: dict[str, int] = {}
        try:
            self._extension = self._look_around()
        except BaseException:
            self._link.close()
            raise

    def _look_around(self) -> str | None:
        """Where pgvector is, once the schema is known to be of this version."""
        with self._link.reading(None) as session:
            version = setup.version_of(session)
            if version > SCHEMA_VERSION:
                raise setup.newer(version)
        if version < SCHEMA_VERSION:
            setup.bring_up_to_date(self._link)
        with self._link.reading(None) as session:
            return setup.extension_schema(session) if setup.has_vectors(session) else None

    @property
    def location(self) -> str:
        return self._link.location

    def _roles_of(self, project: str) -> Mapping[str, str]:
        """The roles for a project that the URL's user may act as."""
        known = self._roles.get(project)
        if known is None:
            sql = (
                f"SELECT level, role FROM {SCHEMA}.granted WHERE project_id = ?1 AND pg_has_role(session_user, role, 'MEMBER')"
            )
            with self._link.reading(None) as session:
                known = {str(level): str(role) for level, role in session.select(sql, (project,))}
                (user,) = session.first("SELECT session_user::text") or ("",)
            if READER not in known:
                raise ForbiddenError(
                    f"the database user {user} does not reach project {project!r} in {self.location}: `hardwon postgres init "
                    "URL --project NAME` makes a project, `hardwon postgres grant URL USER --project NAME` lets a user reach it"
                )
            self._roles[project] = known
        return known

    def _reading(self, project: str) -> AbstractContextManager[PostgresSession]:
        return self._link.reading(self._roles_of(project)[READER])

    def _snapshot(self, project: str) -> AbstractContextManager[PostgresSession]:
        return self._link.snapshot(self._roles_of(project)[READER])

    @contextmanager
    def write(self, project: str, *, alone: bool = True) -> Iterator[Writer]:
        roles = self._roles_of(project)
        if WRITER not in roles:
            raise ForbiddenError(
                f"this database user may read project {project!r} in {self.location} and write nothing: `hardwon postgres "
                "grant URL USER --project NAME --as writer` lets it"
            )
        with self._link.writing(roles[WRITER], _lock_of(project), alone) as session:
            writer = PostgresWriter(session, project, roles, self._extension, self._unasked)
            session.finish = writer.finish
            yield writer

    # --- reading ---

    def last_arrived(self, project: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record r WHERE r.project_id = ?1 AND r.{ORDINARY} AND {phrases.trusted(POSTGRES)} "
            f"AND r.seq > (SELECT max(seq) FROM record WHERE project_id = ?1) - {limits.ARRIVALS_LOOKED_THROUGH_MAX} "
            "ORDER BY r.seq DESC LIMIT ?2"
        )
        return self._stored(project, sql, (project, limit))

    def search(self, project: str, terms: Sequence[str], filters: Filters, limit: int) -> list[tuple[Found, float]]:
        wanted = tuple(dict.fromkeys(terms))
        if not wanted:
            return []
        with self._link.reading(self._roles_of(project)[READER], _SEARCHING) as session:
            frequencies = _frequencies(session, project, wanted)
            for chosen in dict.fromkeys((_rare_enough(wanted, frequencies), wanted)):  # all of them, if need be
                # The best by their words alone, which nearly always pass; only where too few do, all that match are asked.
                for most in (max(_FIRST_MIN, _FIRST_SPARE * limit), None):
                    rows, matched = _matching(session, project, chosen, frequencies, filters, limit, most)
                    if len(rows) >= limit or most is None or matched < most:
                        break
                if rows:
                    break
        scores = bm25.scores(chosen, [found.terms for found in rows], frequencies)
        scored = sorted(
            zip(rows, scores, strict=True), key=lambda pair: (pair[1], pair[0].stored.at_us, pair[0].id), reverse=True
        )
        return scored[:limit]

    def stream(self, project: str) -> Generator[Stored]:
        with self._snapshot(project) as session:
            for row in session.stream(phrases.STREAM, (project,)):
                yield Stored._make(row)

    def rows(self, project: str) -> Generator[tuple[Row, list[Event]]]:
        same = POSTGRES.same_row
        sql = (
            f"SELECT {', '.join('r.' + name for name in ROW.split(', '))}, t.terms, r.helped, r.hindered, "
            f"ARRAY(SELECT g.tag FROM record_tag g WHERE {same('g', 'r')} ORDER BY g.tag), "
            f"ARRAY(SELECT f.path FROM record_file f WHERE {same('f', 'r')} ORDER BY f.path), "
            f"ARRAY(SELECT k.key FROM record_key k WHERE {same('k', 'r')} ORDER BY k.key), "
            "ARRAY(SELECT e.body FROM event e WHERE e.project_id = r.project_id AND e.record_id = r.id ORDER BY e.at_us, e.id) "
            f"FROM record r LEFT JOIN record_text t ON {same('t', 'r')} WHERE r.project_id = ?1 ORDER BY r.at_us, r.id"
        )
        with self._snapshot(project) as session:
            for row in session.stream(sql, (project,)):
                kept, (terms, helped, hindered, tags, files, keys, events) = row[:ROW_FIELDS], row[ROW_FIELDS:]
                names = (tuple(tags), tuple(files), tuple(keys))
                full = Row._make((*kept, terms or "", *names, helped, hindered, (), None))
                yield full, [event_of(event) for event in events]

    def events(self, project: str) -> Generator[Event]:
        with self._snapshot(project) as session:
            for (body,) in session.stream(phrases.EVENTS, (project,)):
                yield event_of(body)

    def projects(self) -> list[str]:
        sql = f"SELECT DISTINCT project_id FROM {SCHEMA}.granted WHERE pg_has_role(session_user, role, 'MEMBER') ORDER BY 1"
        with self._link.reading(None) as session:
            reached = [str(project) for (project,) in session.select(sql)]
        return [project for project in reached if self._has_records(project)]

    def _has_records(self, project: str) -> bool:
        with self._reading(project) as session:
            return session.first("SELECT 1 FROM record WHERE project_id = ?1 LIMIT 1", (project,)) is not None

    def change_mark(self, project: str) -> tuple[int, int]:
        sql = (
            "SELECT coalesce((SELECT max(seq) FROM record WHERE project_id = ?1), 0), "
            "coalesce((SELECT max(at_us) FROM event WHERE project_id = ?1), 0)"
        )
        with self._reading(project) as session:
            records, events = session.first(sql, (project,)) or (0, 0)
        return int(records), int(events)

    # --- vectors ---

    def nearest(self, project: str, vector: Sequence[float], filters: Filters, limit: int) -> list[tuple[Found, float]]:
        with self._reading(project) as session:
            kept = phrases.embedder_of(session, project)
            if kept is None:
                return []
            find = self._by_index if self._extension else _one_by_one
            cosines = find(session, project, vector, kept[1], filters, limit)
            sql = (
                f"SELECT {phrases.found_columns(POSTGRES)}, r.seq FROM record r JOIN record_text ON {POSTGRES.same_text('r')} "
                "WHERE r.project_id = ?1 AND r.seq = ANY (?2)"
            )
            rows = session.select(sql, (project, list(cosines)))
        found = [(phrases.found(row[:-1]), cosines[row[-1]]) for row in rows]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].id))

    def _by_index(
        self, session: PostgresSession, project: str, vector: Sequence[float], dimension: int, filters: Filters, limit: int
    ) -> dict[int, float]:
        where, bound = phrases.searchable(POSTGRES, project, filters)
        ours = f"{self._extension}.vector({dimension:d})"
        asked = bound.add(as_numbers(vector))
        # Without this a filter would be asked only of the first few that the index finds.
        session.run(f"SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = {max(_EF_SEARCH, 2 * limit)}")
        sql = (
            f"SELECT v.seq, (v.embedding::{ours}) OPERATOR({self._extension}.<=>) {asked}::{ours} AS away "
            f"FROM record_vector v JOIN record r ON {POSTGRES.same_row('r', 'v')} WHERE {where} AND v.project_id = ?1 "
            f"AND v.dimension = {dimension:d} ORDER BY away LIMIT {bound.add(limit)}"
        )
        return {seq: 1.0 - away for seq, away in session.select(sql, bound) if 1.0 - away > COSINE_MIN}

    def without_vector(self, project: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record r WHERE r.project_id = ?1 AND r.{ORDINARY} AND NOT EXISTS "
            f"(SELECT 1 FROM record_vector v WHERE {POSTGRES.same_row('v', 'r')}) ORDER BY r.seq LIMIT ?2"
        )
        return self._stored(project, sql, (project, limit))

    # --- the database ---

    def tokens(self) -> TokenKeep:
        return TokenTable(self._link)

    def untrue_tallies(self, project: str) -> int:
        # What is counted afresh lies in a table of this transaction alone, which nobody keeps.
        with self._link.scratch(self._roles_of(project)[READER]) as session:
            return tallies.count_differing(session, POSTGRES, project) + _untrue_fixes(session, project)

    def size_bytes(self) -> int:
        sql = (
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname = ?1 AND c.relkind = 'r'"
        )
        with self._link.reading(None) as session:
            (size,) = session.first(sql, (SCHEMA,)) or (0,)
        return int(size)

    def finish_erasure(self) -> bool:
        """Vacuums, where the URL's user may: rows that are gone lie in the tables until then. The server's log, and copies
        of it, are not ours to erase."""
        try:
            return self._vacuum("SKIP_LOCKED")
        except StorageError:  # what was erased is gone all the same, and its bytes go with the next vacuum of anybody
            return False

    def shrink(self) -> None:
        self._vacuum("ANALYZE")

    def _vacuum(self, how: str) -> bool:
        with self._link.reading(None) as session:
            owns = setup.owns_database(session)
        if owns:
            tables = ", ".join(f"{SCHEMA}.{table}" for table in PROJECT_TABLES)
            self._link.maintain(OWNER, f"VACUUM ({how}) {tables}")
        return owns

    def backup(self, target: Path, progress: Progress | None) -> str:  # noqa: ARG002  # nothing is done
        raise FileOnlyError(f"this memory is a database: {COPIES}")

    def check(self, project: str) -> Iterator[Finding]:
        roles = self._roles_of(project)
        with self._link.reading(None) as session:
            server = _setting(session, "server_version")
            yield Finding("postgresql", True, f"PostgreSQL {server}; {'pgvector' if self._extension else 'no pgvector'}")
            settings = {name: _setting(session, name) for name in ("fsync", "synchronous_commit", "full_page_writes")}
            durable = settings["fsync"] == "on" and settings["full_page_writes"] == "on"
            durable = durable and settings["synchronous_commit"] != "off"
            yield Finding("durability", durable, ", ".join(f"{name} {value}" for name, value in settings.items()))
            yield _encryption(session)
            version, missing = setup.version_of(session), _missing(session)
            told = f"version {version} of {SCHEMA_VERSION}" + (f"; missing: {', '.join(missing)}" if missing else "")
            yield Finding("schema", version == SCHEMA_VERSION and not missing, told)
            yield _isolation(session, list(roles.values()))
        with self._snapshot(project) as session:
            damaged = [
                record_id
                for record_id, body, digest in session.stream(
                    "SELECT id, body, digest FROM record WHERE project_id = ?1", (project,)
                )
                if not is_whole(body, digest)
            ]
            yield Finding("integrity", not damaged, "; ".join(damaged[:5]) or "every record is what was written")
            strays = sum((session.first(sql, (project,)) or (0,))[0] for sql in _STRAYS)
            yield Finding("side tables", strays == 0, f"{strays} rows that belong to no record")
            (misfits,) = session.first(_MISFITS, (project,)) or (0,)
            yield Finding("vectors", misfits == 0, f"{misfits} that are not of the embedder they are kept for")
            wrong = list(untrue_events(session.stream(_EVENTS, (project,))))
            yield Finding("events", not wrong, f"{len(wrong)} that do not say what their columns say")

    def close(self) -> None:
        self._link.close()


_EF_SEARCH: Final = 100


def _asked_again(reading: Callable[P, T]) -> Callable[P, T]:
    """A reading that a lost connection cut off is done once more: by then another connection is there, or the error says for
    how long none could be had."""

    @wraps(reading)
    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return reading(*args, **kwargs)
        except CutOffError:
            return reading(*args, **kwargs)

    return asked


_NOT_ASKED_AGAIN: Final = frozenset(
    {"location", "write", "stream", "rows", "events", "check", "tokens", "backup", "finish_erasure", "shrink", "close"}
)
for _name in Store.__abstractmethods__ - _NOT_ASKED_AGAIN:
    setattr(PostgresStore, _name, _asked_again(getattr(PostgresStore, _name)))


def _lock_of(project: str) -> int:
    """What the advisory lock of a project is called. Two projects that share one only wait for each other."""
    return int.from_bytes(blake2b(project.encode(), digest_size=8).digest(), signed=True)


# --- searching --------------------------------------------------------------------------------------------------


def _frequencies(session: PostgresSession, project: str, terms: Sequence[str]) -> bm25.Frequencies:
    """How many texts there are, and have each term, as of the last count."""
    sql = (
        "SELECT name, value FROM state WHERE project_id = ?1 AND name = ANY (?2) "
        "UNION ALL SELECT 'term ' || term, documents FROM term_count WHERE project_id = ?1 AND term = ANY (?3)"
    )
    known = dict(session.select(sql, (project, [TEXTS_COUNTED, WORDS_COUNTED], list(terms))))
    having = {term: known.get(f"term {term}", 0) for term in terms}
    return bm25.Frequencies(known.get(TEXTS_COUNTED, 0), known.get(WORDS_COUNTED, 0), having)


def _rare_enough(terms: tuple[str, ...], frequencies: bm25.Frequencies) -> tuple[str, ...]:
    """Without terms that a tenth of all records have: they cost the most and tell the least."""
    if frequencies.texts < limits.PRUNED_FROM_RECORDS or len(terms) <= 1:
        return terms
    rare = [term for term in terms if frequencies.having[term] <= limits.FREQUENT_SHARE * frequencies.texts]
    if any(frequencies.having[term] for term in rare):
        return tuple(rare)
    known = [term for term in terms if frequencies.having[term]]
    return (*rare, *sorted(known, key=lambda term: (frequencies.having[term], term))[:1])


def _affordable(terms: Sequence[str], frequencies: bm25.Frequencies) -> list[str]:
    """The rarest of them, as many as a search may go through all entries of, and at least one."""
    entries = 0
    chosen: list[str] = []
    for term in sorted(terms, key=lambda term: (frequencies.having[term], term)):
        entries += frequencies.having[term]
        if chosen and entries > limits.TERM_ENTRIES_MAX:
            break
        chosen.append(term)
    return chosen


def _matching(
    session: PostgresSession,
    project: str,
    terms: Sequence[str],
    frequencies: bm25.Frequencies,
    filters: Filters,
    limit: int,
    most: int | None,
) -> tuple[list[Found], int]:
    """The best records that pass the filters, and how many were looked at."""
    where, bound = phrases.searchable(POSTGRES, project, filters)
    queries = as_queries(project, _affordable(terms, frequencies))
    asked = (
        bound.add([query for _, query, _ in queries]),
        bound.add([float(times) for _, _, times in queries]),
        bound.add([frequencies.worth(term) for term, _, _ in queries]),
        bound.add(frequencies.usual_length),
        bound.add(most),
    )
    # OFFSET 0: each is looked up by its number. The planner would go through all records, thinking that many are found.
    sql = (
        "WITH b AS MATERIALIZED (SELECT seq, score FROM matching(?1, {}::text[]::tsquery[], {}::float8[], {}::float8[], "
        "{}::float8, {}::bigint))".format(*asked)
        + ", best AS MATERIALIZED (SELECT b.seq FROM b CROSS JOIN LATERAL (SELECT r.at_us, r.id FROM record r "
        f"WHERE {where} AND r.seq = b.seq OFFSET 0) r ORDER BY b.score DESC, r.at_us DESC, r.id DESC "
        f"LIMIT {bound.add(_RESCORED * limit)}) SELECT {phrases.found_columns(POSTGRES)}, (SELECT count(*) FROM b) FROM best "
        "CROSS JOIN LATERAL (SELECT * FROM record WHERE project_id = ?1 AND seq = best.seq OFFSET 0) r "
        "CROSS JOIN LATERAL (SELECT terms FROM record_text WHERE project_id = ?1 AND seq = best.seq OFFSET 0) record_text"
    )
    rows = session.select(sql, bound)
    return [phrases.found(row[:-1]) for row in rows], rows[0][-1] if rows else (most or 0)


def _one_by_one(
    session: PostgresSession, project: str, vector: Sequence[float], dimension: int, filters: Filters, limit: int
) -> dict[int, float]:
    """Without pgvector: the newest that pass the filters are compared here."""
    import numpy as np

    where, bound = phrases.searchable(POSTGRES, project, filters)
    sql = (
        f"SELECT v.seq, v.vector FROM record r JOIN record_vector v ON {POSTGRES.same_row('v', 'r')} WHERE {where} "
        f"AND v.dimension = {dimension:d} ORDER BY r.at_us DESC, r.id DESC LIMIT {limits.VECTORS_COMPARED_MAX}"
    )
    rows = session.select(sql, bound)
    if not rows:
        return {}
    matrix = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4").reshape(len(rows), dimension)
    cosines = cosines_of(matrix, vector)
    best = np.argsort(-cosines, kind="stable")[:limit]
    return {rows[place][0]: float(cosines[place]) for place in best if cosines[place] > COSINE_MIN}


# --- checking ---------------------------------------------------------------------------------------------------

_STRAYS: Final = (
    *(
        f"SELECT count(*) FROM {table} s WHERE s.project_id = ?1 AND NOT EXISTS "
        f"(SELECT 1 FROM record r WHERE {POSTGRES.same_row('r', 's')})"
        for table in ("record_text", "record_tag", "record_file", "record_key", "record_vector", "fix")
    ),
    "SELECT count(*) FROM record r JOIN event e ON e.project_id = r.project_id AND e.record_id = r.id "
    "WHERE r.project_id = ?1 AND e.kind = 'forgotten'",
)
_MISFITS: Final = (
    "SELECT count(*) FROM record_vector v LEFT JOIN embedder e ON e.project_id = v.project_id "
    "WHERE v.project_id = ?1 AND (e.dimension IS NULL OR length(v.vector) <> 4 * e.dimension)"
)
_EVENTS: Final = "SELECT id, record_id, kind, at_us, body FROM event WHERE project_id = ?1"


def _setting(session: PostgresSession, name: str) -> str:
    (value,) = session.first("SELECT current_setting(?1)", (name,)) or ("",)
    return str(value)


def _encryption(session: PostgresSession) -> Finding:
    found = session.first(
        "SELECT s.ssl, s.version, a.client_addr IS NULL OR a.client_addr << '127.0.0.0/8' OR a.client_addr = '::1' "
        "FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE pid = pg_backend_pid()"
    )
    encrypted, version, local = found or (False, None, False)
    told = (
        f"TLS ({version})"
        if encrypted
        else "none, and none needed on this machine"
        if local
        else "none: add sslmode=verify-full"
    )
    return Finding("encryption", bool(encrypted or local), told)


def _missing(session: PostgresSession) -> list[str]:
    """Tables and views that should be there."""
    wanted = [*PROJECT_TABLES, "granted", "token", *VIEWS]
    sql = "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ?1"
    there = {str(name) for (name,) in session.select(sql, (SCHEMA,))}
    return [name for name in wanted if name not in there]


def _isolation(session: PostgresSession, roles: Sequence[str]) -> Finding:
    """Whether the database keeps projects apart: policies in force, and roles that they hold for."""
    open_tables = session.select(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ?1 "
        "AND c.relname = ANY (?2) AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1",
        (SCHEMA, [*PROJECT_TABLES, "granted", "token"]),
    )
    mighty = session.select(
        "SELECT rolname FROM pg_roles WHERE rolname = ANY (?1) AND (rolsuper OR rolbypassrls OR rolcanlogin)", (list(roles),)
    )
    wrong = [str(name) for (name,) in (*open_tables, *mighty)]
    return Finding(
        "isolation", not wrong, f"not in force for: {', '.join(wrong)}" if wrong else "policies are forced on every table"
    )


def _untrue_fixes(session: PostgresSession, project: str) -> int:
    """Fixes that the views do not show as they should."""
    sql = (
        f"SELECT count(*) FROM record r LEFT JOIN fix f ON {POSTGRES.same_row('f', 'r')} WHERE r.project_id = ?1 "
        f"AND r.{FIXES} AND (f.seq IS NULL OR f.model IS DISTINCT FROM r.model "
        "OR f.issue_type IS DISTINCT FROM r.issue_type)"
    )
    (untrue,) = session.first(sql, (project,)) or (0,)
    return int(untrue)
