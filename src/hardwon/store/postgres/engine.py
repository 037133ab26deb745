"""A memory in a PostgreSQL database that many machines share: a schema for each project, in which
every transaction works as the user of the URL (`schema.py` says who may do what).

Several transactions may append to a project at once. What they would wait for each other over is
therefore done in one order by all of them: first their records, by id, and, right before the
transaction is kept, the tallies, by their keys. Nothing else is done in such a transaction;
everything else is done alone (`Store.write`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from threading import local
from typing import Any, Final, NamedTuple

from hardwon.errors import FileOnlyError, ForbiddenError, StorageError, on_failure
from hardwon.lessons.counts import RecordCounts
from hardwon.outside.locations import COPIES
from hardwon.records.kinds import Event, Record
from hardwon.search import rank as bm25
from hardwon.search.terms import Filters
from hardwon.store import base, query, types
from hardwon.store.base import Store, Writer
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres import schema as tables
from hardwon.store.postgres.connection import Link, PostgresSession, quote_name
from hardwon.store.postgres.search import MOST, POSTGRES, TIMES, text_columns, write_json
from hardwon.store.query import Among, Known, Scored
from hardwon.store.types import Appended, Bound, Finding, Found, Progress, Request, Row
from hardwon.store.vectors import COSINE_MIN, find_nearest, read_chunks

# pgvector indexes no longer vectors than that; longer ones are compared one by one.
VECTOR_INDEX_DIMENSION_MAX: Final = 2_000

# Without pgvector, so many vectors are read for one question, the newest first: of 256 numbers 20
# MB, a tenth of a second.
POSTGRES_VECTORS_COMPARED_MAX: Final = 20_000

# Sources of a project that are counted before a search, to know whether others can be asked.
_SOURCES_COUNTED_MAX: Final = 100
# Rows of one write from which on it asks whether a table has doubled, so that the planner looks at
# it again. A smaller write does not take the time: the server itself looks every minute.
_GROWTH_ROWS: Final = 100
# A process asks whether terms are due to be counted after it wrote this share of what is missing:
# others write too.
_TERMS_ASKED_SHARE: Final = 8
# Entries of the index of terms that one search in PostgreSQL goes through, some microseconds each.
# In a project of hundreds of thousands its commonest terms then only order what its rarer ones
# find.
_TERM_ENTRIES_MAX: Final = 100_000

# In a small project, to plan a search takes longer than to carry it out.
_PLANNED_ONCE: Final = {"plan_cache_mode": "force_generic_plan"}

# --- writer ---


class Reach(NamedTuple):
    """How the user of the URL reaches a project."""

    schema: str
    levels: frozenset[str]


class PostgresWriter(Writer):
    """The statements of one transaction."""

    dialect = POSTGRES

    def __init__(
        self, session: PostgresSession, project: str, reach: Reach, unasked: dict[str, int]
    ) -> None:
        """`unasked` is how many records each project may grow by before it is asked whether its
        terms are to be counted.
        """
        super().__init__(session)
        self.session: PostgresSession = session
        self.undos = session.undos
        self._project = project
        self._reach = reach
        self._unasked = unasked
        self._taught: list[RecordCounts] = []
        self._grown = 0
        self._happened = 0

    def may_govern(self, project: str) -> bool:  # noqa: ARG002  # the only one that this transaction is about
        return tables.GOVERNOR in self._reach.levels

    # --- appending ---

    def append(self, rows: Sequence[Row]) -> Appended:
        result = Appended([], [], [], [])
        if not rows:
            return result
        if any(row.project_id != self._project for row in rows):
            raise ForbiddenError(f"this transaction writes to project {self._project!r} alone")
        # The database makes sure of what a writer says, and counts what its records teach.
        governs = self.may_govern(self._project)
        sql = f"SELECT new_id, new_seq FROM {'insert' if governs else 'add'}_records(?1)"
        sent = ",".join(row.sent or write_row(row, lessons=not governs) for row in rows)
        numbers = dict(self.session.select(sql, (f"[{sent}]",)))
        added, others = list[Row](), list[Row]()
        for row in rows:  # one that comes twice is added once
            (others if numbers.pop(row.id, None) is None else added).append(row)
        if others:
            self._tell_apart(others, result)
        if added:
            self._taught += [row.taught for row in added if row.taught and governs]
            self._grown += len(added)
            self.session.witness = "SELECT 1 FROM record WHERE id = ?1", (added[0].id,)
        result.added.extend(row.id for row in added)
        return result

    def finish(self) -> None:
        """Right before it is kept."""
        self._settle()
        if self._grown:
            left = self._unasked.get(self._project, 0) - self._grown
            if left <= 0:  # others write too, and it may be due before
                left = self.session.value("SELECT count_terms(false)") // _TERMS_ASKED_SHARE
            self._unasked[self._project] = left
        if self._grown + self._happened >= _GROWTH_ROWS:
            self.session.run("SELECT follow_growth()")

    def _settle(self) -> None:
        """The tallies are what the records of this transaction add up to."""
        taught, self._taught = self._taught, []
        if taught:
            base.change_tallies(self.session, self.dialect, taught)

    # --- events and standing ---

    def add_events(self, project: str, events: Sequence[Event]) -> list[Event]:
        wanted: dict[str, Event] = {}
        gone: set[str] = set()
        for event in events:
            if event.kind == "forgotten":
                gone.add(event.record_id)
            if event.kind == "forgotten" or event.record_id not in gone:
                wanted.setdefault(event.id, event)
        if not wanted:
            return []
        sql = f"SELECT * FROM {'insert' if self.may_govern(project) else 'add'}_events(?1)"
        sent = write_json([event_columns(event) for event in wanted.values()])
        added = set(self.session.column(sql, (sent,)))
        kept = [event for event in wanted.values() if event.id in added]
        self._happened += len(kept)
        if kept:
            self.session.witness = "SELECT 1 FROM event WHERE id = ?1", (kept[0].id,)
        return kept

    def _only_credits(self, record_id: str, *standing: str | None) -> bool:
        sql = "SELECT status, validation, author = coalesce(?2::text, author) FROM record WHERE id = ?1"
        governs = self.may_govern(self._project)
        before = None if governs else self.session.first(sql, (record_id, standing[2]))
        only = before == (*standing[:2], True)
        if only:
            self.session.run("SELECT credit(?1)", (record_id,))
        else:
            self._settle()
        return only

    # --- changing and erasing ---

    def _rewrite(self, seq: int, row: Row) -> None:
        self.session.run("SELECT rewrite_record(?1, ?2)", (seq, f"[{write_row(row)}]"))

    def _drop_derivatives(self, project: str, seq: int) -> None:  # noqa: ARG002
        self.session.run("SELECT drop_derived(?1)", (seq,))

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        self._settle()
        return super().erase(project, record_ids, tombstones)

    def recount(self, project: str) -> None:
        self._settle()
        super().recount(project)
        self.session.run("DELETE FROM term_count")
        self.session.run("DELETE FROM state WHERE name = ANY (?1)", (list(tables.COUNTS),))
        self.session.run("SELECT count_terms()")

    # --- the rest ---

    def request(self, project: str, key: bytes) -> Request | None:
        # Two that send the same request at once: the second waits here until the first is through.
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(encode(?1, 'hex'), ?2))"
        self.session.first(lock, (key, _SAME_REQUEST))
        return super().request(project, key)

    def set_state(self, project: str, name: str, value: int) -> None:  # noqa: ARG002
        self.session.run("SELECT set_state(?1, ?2)", (name, value))

    def _drop_requests(self, kept_since_us: int) -> None:  # noqa: ARG002  # the server's clock counts
        self.session.run("SELECT drop_requests()")

    def set_embedder(self, project: str, name: str, dimension: int) -> bool:
        is_other = super().set_embedder(project, name, dimension)
        indexed = is_other and dimension <= VECTOR_INDEX_DIMENSION_MAX
        if indexed and setup.find_vector_index(self.session, self._reach.schema):
            self.session.first("SELECT index_vectors(?1::integer)", (dimension,))
        return is_other

    def keep_vectors(self, project: str, vectors_of: Iterable[tuple[str, bytes]]) -> None:
        kept = list(vectors_of)
        extension = setup.find_vector_index(self.session, self._reach.schema)
        also, value, change = "", "", ""
        if extension:
            also, change = ", embedding", ", embedding = excluded.embedding"
            value = f", u.numbers::{extension}.vector"
        sql = (
            f"INSERT INTO record_vector (seq, vector, dimension{also}) SELECT r.seq, u.vector, "
            f"length(u.vector) / 4{value} FROM unnest(?1::text[], ?2::bytea[], ?3::text[]) AS u (id, "
            "vector, numbers) JOIN record r ON r.id = u.id ORDER BY r.seq ON CONFLICT (seq) DO "
        )
        # one that is there stays, unless somebody may decide
        replacing = f"UPDATE SET vector = excluded.vector, dimension = excluded.dimension{change}"
        sql += replacing if self.may_govern(project) else "NOTHING"
        numbers = [as_numbers(array("f", blob)) if extension else None for _, blob in kept]
        self.session.run(
            sql, ([record_id for record_id, _ in kept], [blob for _, blob in kept], numbers)
        )


# What advisory locks are about, beside those on whole projects and of `schema.sql` (1 and 3).
_SAME_REQUEST: Final = 2
_CHANGING_TOKENS: Final = 0x48574E54


def as_numbers(vector: Iterable[float]) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, map(float, vector)))}]"


def event_columns(event: Event) -> dict[str, Any]:
    """An event, as `add_events` takes it."""
    names = ("id", "record_id", "kind", "at_us")
    return {**{name: getattr(event, name) for name in names}, "body": event.to_json()}


def row_columns(row: Row, *, lessons: bool = False) -> dict[str, Any]:
    """A row and what is derived of it, as `add_records` takes it; `lessons`: what it teaches, too."""
    kept = row._asdict()
    for name in ("project_id", "taught", "record", "sent"):
        del kept[name]
    taught = row.taught.increments if lessons and row.taught else None
    return {**kept, "digest": row.digest.hex(), **text_columns(row.terms), "lessons": taught}


def write_row(row: Row, *, lessons: bool = False) -> str:
    """The same as JSON."""
    return write_json(row_columns(row, lessons=lessons))


# --- tokens ---


@dataclass(frozen=True)
class TokenTable(types.TokenKeep):
    """The tokens of all memories in one database: what the file of tokens is to a memory in a file.
    Only whoever runs a server reaches them.
    """

    _link: Link

    def close(self) -> None:
        """The connections are the store's."""

    def _transaction(self, *, writing: bool = False) -> AbstractContextManager[PostgresSession]:
        if writing:
            return self._link.writing(tables.SCHEMA, _CHANGING_TOKENS, alone=True)
        return self._link.reading()


# --- store ---

_FIRST_SPARE: Final = 5
_FIRST_MIN: Final = 200
# of so many times as many as are wanted: the server's score takes more than four of a word for four
_RESCORED: Final = 2


class PostgresStore(Store):
    """Everything the contract promises, on one database."""

    dialect = POSTGRES

    def __init__(self, url: str, *, busy_timeout_ms: int | None = None) -> None:
        self._link = Link(url, busy_timeout_ms)
        self._reached: dict[str, Reach] = {}
        self._extensions: dict[str, str | None] = {}
        self._unasked: dict[str, int] = {}
        self._together = local()
        with on_failure(self._link.close):
            setup.check_format(self._link)

    @property
    def location(self) -> str:
        return self._link.location

    def _reach(self, project: str) -> Reach:
        known = self._reached.get(project)
        if known is None:
            with self._link.reading() as session:
                sql = "SELECT schema, level FROM reachable WHERE name = ?1"
                rows = session.select(sql, (project,))
                if not rows:
                    user = session.value("SELECT session_user")
                    raise ForbiddenError(
                        f"the database user {user} does not reach project {project!r} in "
                        f"{self.location}: `hardwon postgres init URL --project NAME` makes a project, "
                        "`hardwon --memory URL postgres grant USER --project NAME` lets a user reach it"
                    )
            known = Reach(str(rows[0][0]), frozenset(str(level) for _, level in rows))
            self._reached[project] = known
        return known

    def _extension(self, project: str) -> str | None:
        """Where pgvector is, if it indexes the project's vectors. Most questions have none."""
        if project not in self._extensions:
            schema = self._reach(project).schema
            with self._link.reading() as session:
                self._extensions[project] = setup.find_vector_index(session, schema)
        return self._extensions[project]

    def read(
        self, project: str, settings: Mapping[str, object] | None = None
    ) -> AbstractContextManager[PostgresSession]:
        opened: tuple[str, PostgresSession] | None = getattr(self._together, "opened", None)
        if opened and opened[0] == project:
            return nullcontext(opened[1])
        return self._link.reading(self._reach(project).schema, settings)

    @contextmanager
    def together(self, project: str) -> Iterator[None]:
        """Nothing; what this thread reads in the block shares one transaction."""
        before = getattr(self._together, "opened", None)
        with self.read(project, _PLANNED_ONCE) as session:
            self._together.opened = project, session
            try:
                yield
            finally:
                self._together.opened = before

    def snapshot(self, project: str) -> AbstractContextManager[PostgresSession]:
        return self._link.snapshot(self._reach(project).schema)

    @contextmanager
    def write(self, project: str, *, alone: bool = True) -> Iterator[Writer]:
        reach = self._reach(project)
        if tables.WRITER not in reach.levels:
            raise ForbiddenError(
                f"this database user may read project {project!r} in {self.location} and write "
                "nothing: `hardwon --memory URL postgres grant USER --project NAME --as writer` lets it"
            )
        # Two projects that share a lock only wait for each other.
        lock = int.from_bytes(blake2b(project.encode(), digest_size=8).digest(), signed=True)
        with self._link.writing(reach.schema, lock, alone) as session:
            writer = PostgresWriter(session, project, reach, self._unasked)
            yield writer
            writer.finish()

    def make_rows(self, project: str, records: Sequence[Record]) -> list[Row]:
        governs = tables.GOVERNOR in self._reach(project).levels
        rows = super().make_rows(project, records)
        return [row._replace(sent=write_row(row, lessons=not governs)) for row in rows]

    # --- reading ---

    def _searching(self, project: str) -> AbstractContextManager[PostgresSession]:
        return self.read(project)

    def _know(self, session: PostgresSession, project: str, terms: Sequence[str]) -> Known:  # noqa: ARG002
        counts = [tables.TEXTS_COUNTED, tables.WORDS_COUNTED]
        values = dict(session.select(_KNOWN, (counts, list(terms)), often=True))
        having = {term: values.get(f"term {term}", 0) for term in terms}
        texts, words = (values.get(name, 0) for name in counts)
        rolled_back = "rolled back" in values
        votes, alone = "voted" in values, values["sources"] <= 1
        columns = query.found_columns(POSTGRES, votes, rolled_back, alone=alone)
        frequencies = bm25.Frequencies(texts, words, having)
        vouched = "vouched" in values
        known = session.known = Known(
            frequencies, values["sources"], vouched, rolled_back, columns, {}
        )
        return known

    def _match(self, *asked: Any) -> Callable[[Among], list[Scored]]:
        return _Search(*asked).best

    def projects(self) -> list[str]:
        with self._link.reading() as session:
            reached = session.select("SELECT DISTINCT name, schema FROM reachable ORDER BY 1")
            exist = [f"EXISTS (SELECT 1 FROM {quote_name(schema)}.record)" for _, schema in reached]
            have_records = session.value(f"SELECT ARRAY[{', '.join(exist)}]::boolean[]")
        return [str(name) for (name, _), has in zip(reached, have_records, strict=True) if has]

    # --- vectors ---

    def nearest(
        self, project: str, vector: Sequence[float], filters: Filters, limit: int
    ) -> list[Scored]:
        extension, reads = self._extension(project), max(_EF_SEARCH, 2 * limit)
        # Without this a filter would be asked only of the first few that the index finds.
        settings = {"hnsw.iterative_scan": "strict_order", "hnsw.ef_search": reads}
        schema = self._reach(project).schema
        with self._link.reading(schema, settings if extension else None) as session:
            kept = query.read_embedder(session, project)
            if kept is None:
                return []
            where, bound = query.write_search_condition(POSTGRES, project, filters)
            where += f" AND v.dimension = {kept[1]:d}"
            vectors = f"record_vector v JOIN record r ON r.seq = v.seq WHERE {where}"
            if extension:
                ours = f"{extension}.vector({kept[1]:d})"
                asked = bound.add(as_numbers(vector))
                sql = (
                    f"SELECT v.seq, (v.embedding::{ours}) OPERATOR({extension}.<=>) "
                    f"{asked}::{ours} AS away FROM {vectors} ORDER BY away LIMIT {bound.add(limit)}"
                )
                cosines = {seq: 1.0 - away for seq, away in session.select(sql, bound)}
            else:
                sql = (
                    f"SELECT v.seq, v.vector FROM {vectors} ORDER BY r.at_us DESC, r.id DESC "
                    f"LIMIT {POSTGRES_VECTORS_COMPARED_MAX}"
                )
                chunks = read_chunks(session.select(sql, bound), kept[1])
                cosines = dict(find_nearest(chunks, vector, limit))
            near = {seq: cosine for seq, cosine in cosines.items() if cosine > COSINE_MIN}
            sql = (
                f"SELECT {query.found_columns(POSTGRES)} FROM record r JOIN record_text ON "
                "record_text.seq = r.seq WHERE r.seq = ANY (?1)"
            )
            rows = session.select(sql, (list(near),))
        hits = [(hit, near[hit.seq]) for hit in map(query.read_hit, rows)]
        return sorted(hits, key=lambda pair: (-pair[1], pair[0].id))

    # --- the database ---

    def tokens(self) -> types.TokenKeep:
        return TokenTable(self._link)

    def untrue_tallies(self, project: str) -> int:
        # What is counted afresh lies in a table of this transaction alone, which nobody keeps.
        with self._link.snapshot(self._reach(project).schema, scratch=True) as session:
            return base.count_differing(session, POSTGRES, project)

    def size_bytes(self, project: str | None = None) -> int:
        sql = (
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = ANY (?1)"
        )
        # of the projects that this store was used for: there may be thousands of others
        schemas = [tables.SCHEMA, *(reach.schema for reach in self._reached.values())]
        if project is not None:
            schemas = [self._reach(project).schema]
        with self._link.reading() as session:
            return int(session.value(sql, (schemas,)))

    def finish_erasure(self) -> bool:
        """Vacuums, where the URL's user may: rows that are gone lie in the tables until then. The
        server's log, and copies of it, are not ours to erase.
        """
        # Where that fails, what was erased is gone all the same, and its bytes go with the next
        # vacuum of anybody.
        with suppress(StorageError):
            return self._vacuum("SKIP_LOCKED")
        return False

    def shrink(self) -> None:
        self._vacuum("ANALYZE")

    def _vacuum(self, how: str) -> bool:
        """Of the projects that this store was used for; only who owns the tables may."""
        with self._link.reading() as session:
            owns = setup.owns_database(session)
        schemas = [quote_name(reach.schema) for reach in self._reached.values()]
        if owns and schemas:
            names = (f"{schema}.{table}" for schema in schemas for table in tables.PROJECT_TABLES)
            self._link.maintain(f"VACUUM ({how}) {', '.join(names)}")
        return owns

    def backup(self, target: Path, progress: Progress | None) -> str:  # noqa: ARG002  # nothing is done
        raise FileOnlyError(f"this memory is a database: {COPIES}")

    def check(self, project: str) -> Iterator[Finding]:
        reach = self._reach(project)
        with self._link.reading() as session:
            server = session.value("SELECT current_setting('server_version')")
            indexed = setup.find_vector_index(session, reach.schema)
            vectors = "pgvector" if indexed else "no pgvector"
            yield Finding("postgresql", True, f"PostgreSQL {server}; {vectors}")
            setting = "SELECT current_setting(?1)"
            names = ("fsync", "synchronous_commit", "full_page_writes")
            fsync, commit, pages = (session.value(setting, (name,)) for name in names)
            shown = f"fsync {fsync}, synchronous_commit {commit}, full_page_writes {pages}"
            yield Finding("durability", fsync == pages == "on" and commit != "off", shown)
            yield _encryption(session)
            version, missing = setup.read_version(session), _missing(session, reach.schema)
            lacking = f"; missing: {', '.join(missing)}" if missing else ""
            yield Finding(
                "schema", version == types.FORMAT and not missing, f"format {version}{lacking}"
            )
            yield _isolation(session, reach.schema)
        with self.snapshot(project) as session:
            kept = session.stream("SELECT id, body, digest FROM record")
            damaged = [name for name, body, digest in kept if not query.is_whole(body, digest)]
            shown = "; ".join(damaged[:5]) or "every record is what was written"
            yield Finding("integrity", not damaged, shown)
            yield from base.check_rows(session, (*tables.DERIVED_TABLES, "record_vector"))

    def close(self) -> None:
        self._link.close()


_EF_SEARCH: Final = 100


# --- searching ---


# Sources are counted from one to the next by the index.
_KNOWN: Final = (
    "WITH RECURSIVE next (author) AS (SELECT min(author) FROM record UNION ALL "
    "SELECT (SELECT min(author) FROM record WHERE author > next.author) FROM next "
    "WHERE author IS NOT NULL), source AS (SELECT author FROM next WHERE author IS NOT NULL "
    f"LIMIT {_SOURCES_COUNTED_MAX}) SELECT name, value FROM state WHERE name = ANY (?1) "
    "UNION ALL SELECT 'term ' || term, documents FROM term_count WHERE term = ANY (?2) "
    "UNION ALL SELECT 'sources', count(*) FROM source "
    f"UNION ALL SELECT 'vouched', 1 WHERE EXISTS (SELECT 1 FROM record WHERE {tables.VOUCHED}) "
    "UNION ALL SELECT 'voted', 1 WHERE EXISTS (SELECT 1 FROM tally WHERE scope = 'credit') "
    f"UNION ALL SELECT 'rolled back', 1 WHERE EXISTS ({query.ROLLED_BACK})"
)


@dataclass
class _Search:
    """One search of a project for some terms, whoever's records are asked for."""

    session: PostgresSession
    project: str
    terms: Sequence[str]
    known: Known
    filters: Filters
    limit: int
    whole: bool
    # records, and how many were looked at
    answers: dict[Among, tuple[list[Found], int]] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)

    def best(self, among: Among) -> list[Scored]:
        """The best of a project that match, and pass the filters."""
        if among not in self.answers:
            # What is vouched for is asked for next, nearly always: matching takes the time.
            both = among == Among() and self.known.vouched
            self._ask([among, Among(vouched=True)] if both else [among], self._most)
        rows, looked_at = self.answers[among]
        # The best by their words alone, which nearly always pass; only where too few do, all that
        # match are asked.
        if len(rows) < self.limit and looked_at >= self._most:
            self._ask([among], None)
            rows, _ = self.answers[among]
        fresh = [hit for hit in rows if hit.seq not in self.scores]
        scores = bm25.scores(self.terms, [hit.terms for hit in fresh], self.known.frequencies)
        self.scores.update(zip((hit.seq for hit in fresh), scores, strict=True))
        scored = [(hit, self.scores[hit.seq]) for hit in rows]
        scored.sort(key=lambda pair: (pair[1], pair[0].at_us, pair[0].id), reverse=True)
        return scored[: self.limit]

    @property
    def _most(self) -> int:
        return max(_FIRST_MIN, _FIRST_SPARE * self.limit)

    def _ask(self, whose: Sequence[Among], most: int | None) -> None:
        """The best records of each that pass the filters, of those that match best."""
        where, bound = query.write_search_condition(
            POSTGRES, self.project, self.filters, rolled_back=self.known.rolled_back
        )
        frequencies = self.known.frequencies
        # The rarest, as many as a search may go through all entries of, and at least one.
        rarest = sorted(self.terms, key=lambda term: (frequencies.having[term], term))
        entries = accumulate(frequencies.having[term] for term in rarest)
        few = sum(so_far <= _TERM_ENTRIES_MAX for so_far in entries)
        searched = rarest[: max(1, few)]
        # Each term, what to search for to find it, and how often a text that is found seems to have
        # it. Terms have no quotes or backslashes in them: `text.terms` makes them.
        signs = [(term, times, sign) for term in searched for times, sign in enumerate(TIMES, 1)]
        queries = [
            (one, f"'{sign}{one}'", bm25.weigh_term(one) * times) for one, times, sign in signs
        ]
        # which have all of them, however often
        every = [" | ".join(f"'{sign}{term}'" for sign in TIMES) for term in self.terms]
        all_of_them = "".join(f" & ({one})" for one in every) if self.whole else ""
        texts = bound.add("\n".join(query + all_of_them for _, query, _ in queries))
        times = bound.add(_write_array(times for _, _, times in queries))
        worth = {term: frequencies.worth(term) for term in searched}
        gain = bound.add(_write_array(worth[term] * times for term, _, times in queries))
        slow = bm25.K1 * (1 - bm25.B), bm25.K1 * bm25.B / frequencies.usual_length
        least, per_word = (f"{bound.add(number)}::float8" for number in slow)
        wanted = bound.add(self.limit)
        # Of so many more, those whose score may be higher than it seems; all of them, where some
        # terms only count among what others find.
        higher = "true"
        if len(searched) == len(self.terms):
            most_often = bound.add([f"{MOST}{term}" for term in searched])
            higher = f"(SELECT string_to_array(x.often, ' ') && {most_often} FROM record_text x WHERE x.seq = p.seq)"
        in_order = "ORDER BY f.score DESC, f.at_us DESC, f.id DESC"
        # Each part: the best of some sources by their words, then those of them that pass.
        parts = [
            f"first{number} AS MATERIALIZED (SELECT m.seq, m.score FROM {_of(among, bound)} "
            f"ORDER BY score DESC, seq DESC LIMIT {bound.add(most)}::bigint), "
            f"best{number} AS (SELECT p.seq FROM (SELECT f.seq, row_number() OVER ({in_order}) "
            f"AS place FROM (SELECT * FROM first{number} CROSS JOIN LATERAL (SELECT r.at_us, r.id "
            f"FROM record r WHERE {where} AND r.seq = first{number}.seq OFFSET 0) r) f {in_order} "
            f"LIMIT {_RESCORED} * {wanted}) p WHERE p.place <= {wanted} OR {higher})"
            for number, among in enumerate(whose)
        ]
        # only where it is read more than once, or for those who are vouched for
        kept = "MATERIALIZED " if len(whose) > 1 else ""
        vouched = "bool_or(t.vouched) AS vouched, " if Among(vouched=True) in whose else ""
        numbers = range(len(whose))
        looked_at = ", ".join(f"(SELECT count(*) FROM first{number})" for number in numbers)
        chosen = ", ".join(f"bool_or(number = {number}) AS is{number}" for number in numbers)
        together = " UNION ALL ".join(
            f"SELECT {number}, seq FROM best{number}" for number in numbers
        )
        # BM25 (`search.rank`). All of it comes from the index and short rows: to read the texts of
        # all that match would take ten times as long. OFFSET 0: each is looked up by its number. The
        # planner would go through all records, thinking that many are found.
        rows = self.session.select(
            f"WITH matching AS {kept}(SELECT t.seq, {vouched}"
            "sum(u.gain / (u.times + t.slowness)) AS score "
            f"FROM unnest(string_to_array({texts}, E'\\n')::tsquery[], {times}::float8[], {gain}::float8[]) "
            f"AS u (query, times, gain) CROSS JOIN LATERAL (SELECT x.seq, x.vouched, {least} + {per_word} * "
            "x.length AS slowness FROM record_text x WHERE words(x.terms, x.often) @@ u.query OFFSET 0) "
            f"t GROUP BY t.seq), {', '.join(parts)}, best AS MATERIALIZED (SELECT seq, {chosen} FROM "
            f"({together}) AS each (number, seq) GROUP BY seq) SELECT {looked_at}, "
            f"{', '.join(f'best.is{number}' for number in numbers)}, {self.known.columns} FROM best CROSS "
            "JOIN LATERAL (SELECT * FROM record WHERE seq = best.seq OFFSET 0) r CROSS JOIN LATERAL "
            "(SELECT terms FROM record_text WHERE seq = best.seq OFFSET 0) record_text",
            bound,
            often=True,
        )
        hits = [query.read_hit(row[2 * len(whose) :]) for row in rows]
        for number, among in enumerate(whose):
            pairs = zip(hits, rows, strict=True)
            best = [record for record, row in pairs if row[len(whose) + number]]
            self.answers[among] = best, rows[0][number] if rows else (most or 0)


def _write_array(numbers: Iterable[float]) -> str:
    """As the server reads it: the driver takes longer to write one than the server to read it."""
    return f"{{{','.join(map(repr, numbers))}}}"


def _of(among: Among, bound: Bound) -> str:
    """Those that match, of these sources alone."""
    if among.without:
        # one after the other, until there are enough
        author = "(SELECT r.author FROM record r WHERE r.seq = o.seq)"
        return (
            "(SELECT o.seq, o.score FROM (SELECT * FROM matching ORDER BY score DESC, seq DESC "
            f"OFFSET 0) o WHERE {author} <> ALL ({bound.add(list(among.without))}::text[])) m"
        )
    return "matching m WHERE m.vouched" if among.vouched else "matching m"


def _encryption(session: PostgresSession) -> Finding:
    row = session.first(
        "SELECT s.ssl, s.version, a.client_addr IS NULL OR a.client_addr << '127.0.0.0/8' OR "
        "a.client_addr = '::1' "
        "FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE pid = pg_backend_pid()"
    )
    encrypted, version, local = row or (False, None, False)
    missing = "none, and none needed on this machine" if local else "none: add sslmode=verify-full"
    shown = f"TLS ({version})" if encrypted else missing
    return Finding("encryption", bool(encrypted or local), shown)


def _missing(session: PostgresSession, schema: str) -> list[str]:
    """Tables that should be there."""
    wanted = [f"{quote_name(schema)}.{name}" for name in tables.PROJECT_TABLES]
    sql = "SELECT name FROM unnest(?1::text[]) AS w (name) WHERE to_regclass(name) IS NULL"
    return session.column(sql, ([*wanted, f"{tables.SCHEMA}.token"],))


def _isolation(session: PostgresSession, schema: str) -> Finding:
    """Whether the schema is closed to everybody but the roles of the project, and none of these is
    a login.
    """
    roles = [setup.role_name(schema, access) for access in tables.ACCESS]
    strangers = session.column(
        "SELECT coalesce(r.rolname, 'everybody') FROM pg_namespace n CROSS JOIN aclexplode(n.nspacl) a "
        "LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE n.nspname = ?1 AND a.grantee <> n.nspowner AND "
        "coalesce(r.rolname, '') <> ALL (?2::text[])",
        (schema, roles),
    )
    sql = "SELECT rolname FROM pg_roles WHERE rolname = ANY (?1) AND (rolsuper OR rolcanlogin)"
    mighty = session.column(sql, (roles,))
    if wrong := ", ".join(sorted({*strangers, *mighty})):
        return Finding("isolation", False, f"not in force for: {wrong}")
    return Finding("isolation", True, "only the roles of the project reach its schema")
