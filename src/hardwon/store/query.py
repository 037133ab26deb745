"""Reading what is kept: rows become records again, filters become conditions, and every store that
speaks SQL answers in the same words. The project is parameter 1 of every condition.

A body that is packed is compressed, and still the same record to whoever reads it. It is JSON as
well. In a file, where there may be very many fixes, all of theirs are packed.
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import DamagedError, InvalidInputError
from hardwon.lessons.keys import session_key
from hardwon.lessons.teaching import Teaching
from hardwon.records import kinds
from hardwon.records.fields import from_us, make_digest, to_us
from hardwon.records.kinds import (
    VIA_IMPORT,
    VOUCHED_STATUSES,
    AnyRecord,
    Cleaned,
    Event,
    R,
    Validation,
)
from hardwon.search.rank import Frequencies
from hardwon.search.terms import Filters
from hardwon.store import types
from hardwon.store.types import Bound, Dialect, Found, Row, Session, Stored, Values, rounded_up

# Where more records match than are looked at, and some sources fill the list, others are asked for
# without them, up to so many times: in a large memory, each takes as long as the search itself.
SEARCH_ROUNDS_MAX: Final = 4

# Two machines' clocks may differ by minutes; a record dated further ahead counts from its arrival.
_CLOCK_SKEW_US: Final = 300_000_000
# Terms that a record must have which says the very same: the rarest two tell nearly as much as all.
_RAREST_TERMS: Final = 2
# What ranking takes from records that have a key.
_RANKED_BY_KEY_MAX: Final = 1_000
# Records with one tag, or of one kind, up to which they are looked up and sorted; of more, the newest
# are found sooner by going through all records in the order of time.
_TAGGED_SORTED_MAX: Final = 1_000
# A source that has more than one in so many of the records that are looked at fills the list.
_SEARCH_TURNS: Final = 5
# Records of which is counted exactly how often they helped, to list those that did most.
_HELPFUL_CONSIDERED_MAX: Final = 1_000

# --- packing ---

# What fixes, and what they teach, have in common. Every packed body needs it to be read again: it is
# never changed, only replaced by another under a new mark.
_COMMON: Final = (
    b'"lasting":["","outcome":"solved","failed","met":[{"exact":"","family":"","words":"","check":"","cure":null,"in_vain":["'
    b'"checked":true,"tells":true}],"lasting":[],"sorts":[],"run_id":"","rule":"","by_person":false,"earned":1.0,'
    b'"account":{"attempt":"","error":"","findings":[],"files":[]},"cites_files":false}{"task":"'
    b'"source":{"type":"agent_execution","id":"","author":""},"context":{"timestamp":"2026-01-01T00:00:00.000000Z",'
    b'"git_commit":"","git_branch":"","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"default"},'
    b'"issue":{"model":"qwen2.5:7b","issue_type":"UNEXPECTED_RESPONSE","issue_type":"MODEL_NOT_AVAILABLE","issue_type":"TIMEOUT",'
    b'"description":"","error_output":"","test_prompt":"","expected_pattern":"","actual_response":"","test_environment":{}},'
    b'"analysis":"","fix_commands":["ollama pull systemctl restart '
    b'ollama"],"fix_success":true,"verification_success":false,'
    b'"execution_time_seconds":1.0,"system_info":{"os":"Linux","ram_gb":16,"gpu_available":true,"ollama_version":"0.1.17"},'
    b'"notes":"","fixer_type":"claude","confidence":0.85}{"kind":"fix","id":"01'
)
_MARK: Final = "2:"
_BEGINNING: Final = '{"packed":"'


def pack(text: str) -> str:
    """A text that takes less room, which `unpack` reads."""
    packer = zlib.compressobj(9, zdict=_COMMON)
    return _MARK + b64encode(packer.compress(text.encode()) + packer.flush()).decode()


def unpack(packed: str) -> str:
    """ValueError where it is not what was packed. A few bytes can stand for many: no more is
    unpacked than a record can be.
    """
    if not packed.startswith(_MARK):
        raise ValueError("packed by another version")
    unpacker = zlib.decompressobj(zdict=_COMMON)
    try:
        text = unpacker.decompress(
            b64decode(packed[len(_MARK) :], validate=True), limits.BODY_BYTES_MAX
        )
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacker.eof:
        raise ValueError("its end is missing, or it is larger than any record")
    return text.decode()


def _pack_body(body: str) -> str:
    return f'{_BEGINNING}{pack(body)}"}}'


def plain_body(body: str) -> str:
    """The body as it was written, packed or not: no record's own JSON begins like a packed one."""
    return unpack(json.loads(body)["packed"]) if body.startswith(_BEGINNING) else body


def shrink_row(row: Row) -> Row:
    """A row as a file has it, where a fix takes as little room as it can."""
    if row.kind not in FIX_KINDS:
        return row
    return row._replace(
        body=_pack_body(row.body), teaching=row.teaching and _pack_body(row.teaching)
    )


def unshrink_row(row: Row) -> Row:
    """The row that was made small."""
    return row._replace(
        body=plain_body(row.body), teaching=row.teaching and plain_body(row.teaching)
    )


# --- rows ---

# A fix, and what is left of one that left the history.
FIX_KINDS: Final = ("fix", "cleaned")


def sound_body(stored: Stored | Found | Row) -> str:
    """The body as it was written; DamagedError where it is something else by now."""
    if not is_whole(stored.body, stored.digest):
        raise _report_damage(stored)
    return plain_body(stored.body)


def is_whole(body: str, digest: bytes) -> bool:
    """Whether a body, packed or not, is what was written."""
    try:
        return make_digest(plain_body(body).encode()) == digest
    except (ValueError, KeyError):
        return False


def parse_event(body: str) -> Event:
    """An event from the JSON that is kept of it."""
    try:
        return Event.model_validate_json(body)
    except InvalidInputError as error:
        raise DamagedError(
            f"an event is not what was written ({error}): the file was damaged on disk. Run doctor "
            "to see how much is affected, and restore a backup"
        ) from None


def restore_body(stored: Stored) -> Stored | None:
    """As it was before it left the history; itself where it never did. None: it is gone for good."""
    if stored.kind != "cleaned":
        return stored._replace(body=sound_body(stored))
    record = read_original(stored)
    if not isinstance(record, Cleaned) or record.packed is None:
        return None
    try:
        body = unpack(record.packed)
    except ValueError:
        raise _report_damage(stored) from None
    return stored._replace(kind="fix", body=body, digest=make_digest(body.encode()))


def read_original(stored: Stored | Found | Row) -> AnyRecord:
    """The record as it was appended, whatever happened to it since."""
    if stored.kind not in kinds.MODEL_OF_KIND:
        raise _report_damage(stored)
    try:
        record = kinds.MODEL_OF_KIND[stored.kind].model_validate_json(sound_body(stored))
    except InvalidInputError as error:
        raise DamagedError(f"record {stored.id} cannot be read by this version: {error}") from None
    if record.id != stored.id:  # a damaged index leads to another, sound record
        raise _report_damage(stored)
    return record


def read_current(stored: Stored | Found) -> AnyRecord:
    """The record as a reader sees it now."""
    record = read_original(stored)
    if stored.author and stored.author != record.metadata.source.author:
        record = record.copy_with(source_told=stored.author)
    if stored.validation is None:
        return record
    try:
        validation = Validation.model_validate_json(stored.validation)
    except InvalidInputError:
        raise _report_damage(stored) from None
    return record.copy_with(metadata=record.metadata.copy_with(validation=validation))


def counted_from(at_us: int, now_us: int) -> int:
    """When something happened that arrives now: not later than that, whatever it says, the
    difference between two clocks aside. Who could date a record ahead would have the last word.
    """
    return at_us if at_us <= now_us + _CLOCK_SKEW_US else now_us


def set_time(record: R, at_us: int) -> R:
    """The record, happened at this time at the latest."""
    if record.at_us <= at_us:
        return record
    moment = record.metadata.context.copy_with(timestamp=from_us(at_us))
    return record.copy_with(metadata=record.metadata.copy_with(context=moment))


def readable(stored: Iterable[Stored | Found]) -> Iterator[AnyRecord]:
    """The records, without those that were damaged on disk: doctor names them."""
    for row in stored:
        try:
            yield read_current(row)
        except DamagedError:
            continue


def written_in(stored: Stored) -> dict[str, Any]:
    """What a record says, as it was written: for whoever wants little of very many, and need not
    check again what was checked when it was recorded.
    """
    fields: dict[str, Any] = json.loads(sound_body(stored))
    if fields["id"] != stored.id:
        raise _report_damage(stored)
    return fields


def _report_damage(stored: Stored | Found | Row) -> DamagedError:
    return DamagedError(
        f"record {stored.id} is not what was written: the file was damaged on disk. "
        "Run doctor to see how much is affected, and restore a backup"
    )


# --- conditions and columns ---


# Whether the record `r` turned out well; NULL where that is no question.
_TURNED_OUT: Final = "CASE r.outcome WHEN 'success' THEN 1 WHEN 'failure' THEN 0 END"
STORED: Final = (
    "r.id, r.kind, r.at_us, r.body, r.digest, r.validation, r.helped, r.hindered, r.author"
)

# What was tried or found: all that a reader gets who names no kind.
ORDINARY: Final = "kind NOT IN (" + ", ".join(f"'{kind}'" for kind in kinds.INTERNAL_KINDS) + ")"

# What fix history counts.
FIXES: Final = "kind IN (" + ", ".join(f"'{kind}'" for kind in FIX_KINDS) + ")"

IN_EFFECT: Final = "(" + ", ".join(f"'{status}'" for status in VOUCHED_STATUSES) + ")"
_EQUAL_COLUMNS: Final = ("kind", "outcome", "tool", "task_id", "model", "issue_type", "status")


# Selects the sources that were rolled back.
ROLLED_BACK: Final = (
    "SELECT substr(k.key, 10) FROM record_key k JOIN record d ON d.seq = k.seq "
    "WHERE k.project_id = ?1 AND k.key >= 'rollback:' AND k.key < 'rollback;' "
    f"AND d.kind = 'decision' AND d.status IN {IN_EFFECT}"
)

# Leaves out the sources that were rolled back.
TRUSTED_AUTHORS: Final = f"author NOT IN ({ROLLED_BACK})"

# Leaves out of the records `r` what is archived, and the sources that were rolled back.
TRUSTED_RECORD: Final = f"r.status <> 'archived' AND r.{TRUSTED_AUTHORS}"


def is_undone(dialect: Dialect, event: str) -> str:
    """Whether somebody took an event back."""
    return (
        f"EXISTS (SELECT 1 FROM event u WHERE u.project_id = {event}.project_id AND u.record_id = "
        f"{event}.record_id AND u.kind = 'undone' AND {dialect.event_says('u', 'undoes')} = {event}.id)"
    )


@cache
def credit_columns(
    dialect: Dialect, rolled_back: bool = True, alone: bool = False
) -> tuple[str, str]:
    """How often the record `r` helped, and did not: as credited, and as attempts turned out that
    recalled it. An author has three votes, one that was rolled back none; nor has the record's own
    one, where that is not the only one here (`alone`).
    """
    trusted = f" AND t.{TRUSTED_AUTHORS}" if rolled_back else ""
    trusted += "" if alone else f" AND t.author NOT IN (r.author, r.author || '{VIA_IMPORT}')"
    votes = (
        f"(SELECT coalesce(sum({dialect.least}(v.votes, {limits.VOTES_OF_AUTHOR_MAX})), 0) FROM "
        "(SELECT sum({}) AS votes FROM tally t WHERE t.project_id = r.project_id "
        f"AND t.scope = 'credit' AND t.key = r.id{trusted} GROUP BY t.author) v)"
    )
    return f"r.helped + {votes.format('level1')}", f"r.hindered + {votes.format('level0')}"


@cache
def found_columns(
    dialect: Dialect,
    votes: bool = True,
    rolled_back: bool = True,
    sessions: bool = True,
    terms: bool = True,
    alone: bool = False,
) -> str:
    """What `read_hit` reads, from `record r` and `record_text`. Without votes, sources that were
    rolled back, or sessions where there are none, and without terms where nobody ranks: they cost
    time. `alone` as in `credit_columns`.
    """
    helped, hindered = "r.helped", "r.hindered"
    if votes:
        helped, hindered = credit_columns(dialect, rolled_back, alone)
    found_by = "record_text.terms" if terms else "''"
    session = f"SELECT substr(key, 9) FROM record_key WHERE seq = r.seq AND {SESSION_KEYS} LIMIT 1"
    return (
        f"r.id, r.at_us, r.author, r.status, {_TURNED_OUT}, {found_by}, {helped}, "
        f"{hindered}, r.seq, r.kind, r.body, r.digest, r.validation, {f'({session})' if sessions else 'NULL'}"
    )


# The keys of sessions.
SESSION_KEYS: Final = "key >= 'session:' AND key < 'session;'"


def read_hit(row: Sequence[Any]) -> Found:
    """What a search found, as its columns say."""
    record = Found(*row)
    if record.status not in kinds.STATUSES or not all(
        isinstance(text, str) for text in (record.author, record.terms)
    ):
        raise _report_damage(record)
    if record.good is not None:
        record.good = bool(record.good)
    return record


# Where the body of a record has what a filter asks for.
_INSIDE: Final = (("fact_type", ("fact_type",)), ("source_type", ("metadata", "source", "type")))


def _named_in(names: str, condition: str) -> str:
    """That the record `r` has a tag, file or key for which this holds."""
    return f"r.seq IN (SELECT seq FROM record_{names} WHERE project_id = ?1 AND {condition})"


def write_condition(dialect: Dialect, project: str, filters: Filters) -> tuple[str, Bound]:
    """Conditions from our own constants; what the caller gave is bound, never written into the
    statement.
    """
    where, values = _conditions(dialect, filters)
    return where, Bound((project, *values))


@lru_cache(maxsize=64)
def _conditions(dialect: Dialect, filters: Filters) -> tuple[str, tuple[Any, ...]]:
    bound = Bound([None])  # the project's place
    since, until = (at and to_us(at) for at in (filters.since, filters.until))
    # in a glob, ! and ^ say the same; engines know the second
    glob = None if filters.path is None else dialect.glob(filters.path.replace("[!", "[^"))
    asked = [
        *((f"r.{column} = {{}}", getattr(filters, column)) for column in _EQUAL_COLUMNS),
        ("r.at_us >= {}", since),
        ("r.at_us < {}", until),
        (_named_in("tag", "tag = {}"), filters.tag),
        (_named_in("file", f"path {dialect.glob_operator} {{}}"), glob),
        *((f"{dialect.body_says(*says)} = {{}}", getattr(filters, name)) for name, says in _INSIDE),
    ]
    if filters.commit is not None:  # the whole of it, or its beginning
        commit = dialect.body_says("metadata", "context", "git_commit")
        asked.append((f"substr({commit}, 1, {len(filters.commit)}) = {{}}", filters.commit))
    for name, key in (("source_id", session_key), ("failure_hash", "failure:{}".format)):
        if (value := getattr(filters, name)) is not None:
            asked.append((_named_in("key", "key = {}"), key(value)))
    asked.append((f"(r.kind = 'fact' AND {dialect.names_entity})", filters.entity))
    conditions = ["r.project_id = ?1", *([f"r.{ORDINARY}"] if filters.kind is None else [])]
    conditions += [text.format(bound.add(value)) for text, value in asked if value is not None]
    if filters.author is not None:
        whose = [filters.author] if filters.recorded_here else kinds.name_sources(filters.author)
        conditions.append(f"r.author IN ({', '.join(map(bound.add, whose))})")
    if filters.key is not None:
        name, _, value = filters.key.partition("=")
        says = dialect.experience_says(bound.add(name))
        conditions.append(f"r.kind = 'experience' AND {says} = {bound.add(value)}")
    return " AND ".join(conditions), tuple(bound[1:])


def write_search_condition(
    dialect: Dialect, project: str, filters: Filters, *, rolled_back: bool = True
) -> tuple[str, Bound]:
    """As `write_condition`; archived records and rolled-back sources only where the filters ask for
    them. Whether there are any such sources need not be asked by who knows that there are none.
    """
    where, values = _conditions(dialect, filters)
    if not filters.any_standing:
        if filters.status is None:
            where += " AND r.status <> 'archived'"
        if rolled_back and filters.author is None:
            where += f" AND r.{TRUSTED_AUTHORS}"
    return where, Bound((project, *values))


# --- candidates from everybody ---

Scored = tuple[Found, float]


class Among(NamedTuple):
    """Whose records are asked: only those that somebody vouches for, or not those of some sources."""

    vouched: bool = False
    without: frozenset[str] = frozenset()


class Known(NamedTuple):
    """Of a project, before it is searched: how many texts there are, and have each term, as of the
    last count; how many sources it has; whether anybody vouches for a record, and whether any source
    was rolled back; what is read of a record that is found; and of the records that were asked for
    it as of the same moment, the source and the status.
    """

    frequencies: Frequencies
    sources: int
    vouched: bool
    rolled_back: bool
    columns: str
    standing: dict[int, tuple[str, str]]


def rarest(having: Mapping[str, int]) -> tuple[str, ...]:
    """The terms that the fewest records have: what has them nearly always has the others too."""
    return tuple(sorted(having, key=lambda term: (having[term], term))[:_RAREST_TERMS])


def from_everybody(
    best: Callable[[Among], list[Scored]], sources: int, vouched: bool, limit: int
) -> list[Scored]:
    """The best of all; and where there are more than are looked at, also the best that somebody
    vouches for, if any is `vouched` for, and the best of others than the sources who fill the list.
    """
    latest = best(Among())
    if len(latest) < limit:
        return latest
    hits = list(latest)
    if vouched and not all(hit.status in VOUCHED_STATUSES for hit, _ in latest):
        hits += best(Among(vouched=True))
    heard: set[str] = set()
    filling: frozenset[str] = frozenset()
    for _ in range(SEARCH_ROUNDS_MAX if sources > 1 else 0):
        often = Counter(hit.author for hit, _ in latest)
        heard |= often.keys()
        filling |= {author for author, count in often.items() if count > limit // _SEARCH_TURNS}
        if len(latest) < limit or not filling or len(heard) >= sources:
            break
        latest = best(Among(without=filling))
        hits += latest
    return list({hit.id: (hit, score) for hit, score in hits}.values())


def read_embedder(session: Session, project: str) -> tuple[str, int] | None:
    """The embedder, and the dimension, of the vectors that are kept."""
    row = session.first("SELECT name, dimension FROM embedder WHERE project_id = ?1", (project,))
    return (row[0], row[1]) if row else None


def count_without_vector(session: Session, project: str) -> int:
    """How many records wait for their vector; none where no embedder was ever used."""
    if read_embedder(session, project) is None:
        return 0
    records = session.value(
        f"SELECT count(*) FROM record WHERE project_id = ?1 AND {ORDINARY}", (project,)
    )
    vectors = session.value("SELECT count(*) FROM record_vector WHERE project_id = ?1", (project,))
    return max(0, int(records) - int(vectors))


def rolled_back_authors(session: Session, project: str) -> set[str]:
    """The sources that do not count at present."""
    return set(session.column(ROLLED_BACK, (project,)))


# --- readers ---


# Stands behind every character that a text may go on with.
_BEHIND_ALL: Final = "\U0010ffff"


class TeachingRow(NamedTuple):
    """What a record teaches, and whose word it is."""

    record_id: str
    author: str
    at_us: int
    status: str
    teaching: Teaching


class Reader(ABC):
    """What a store answers, and a write transaction too, as it sees it itself."""

    dialect: Dialect

    @abstractmethod
    def read(self, project: str) -> AbstractContextManager[Session]:
        """A session that reads one project."""

    def _select(self, sql: str, values: Values) -> list[tuple[Any, ...]]:
        """Of the project that value 1 is."""
        with self.read(values[0]) as session:
            return session.select(sql, values)

    def _column(self, sql: str, *values: Any) -> list[Any]:
        """The first value of every row, of the project that value 1 is."""
        with self.read(values[0]) as session:
            return session.column(sql, values)

    def _read_rows(self, source: str, values: Values) -> list[Stored]:
        """The records `r` of a source, which is all that comes after FROM."""
        return list(map(Stored._make, self._select(f"SELECT {STORED} FROM {source}", values)))

    def get(self, project: str, record_id: str) -> Stored | None:
        """The record, or None."""
        source = "record r WHERE r.project_id = ?1 AND r.id = ?2"
        for stored in self._read_rows(source, (project, record_id)):
            if stored.id != record_id:  # a damaged index
                raise _report_damage(stored)
            return stored
        return None

    def get_many(self, project: str, record_ids: Sequence[str]) -> list[Stored]:
        """Those of the records that there are, in any order."""
        source = f"record r WHERE r.project_id = ?1 AND {self.dialect.within('r.id', '?2')}"
        return self._read_rows(source, (project, self.dialect.list_values(record_ids)))

    def page(
        self,
        project: str,
        filters: Filters,
        before: types.Cursor | None,
        limit: int,
        *,
        trusted: bool = False,
    ) -> list[Stored]:
        """Up to `limit` records older than the cursor, newest first; an empty list at the end.
        `trusted`: without archived ones and sources that were rolled back.
        """
        # The end of the time is left out where the cursor lies before it: SQLite would enter the
        # index there, every time.
        if before and filters.until and before.at_us < to_us(filters.until):
            filters = filters.copy_with(until=None)
        source, tag = "record r", filters.tag
        with self.read(project) as session:
            most = _TAGGED_SORTED_MAX
            tagged = "SELECT 1 FROM record_tag WHERE project_id = ?1 AND tag = ?2 LIMIT ?3"
            few = tag is not None and len(session.select(tagged, (project, tag, most + 1))) <= most
            where, bound = write_condition(
                self.dialect, project, filters.copy_with(tag=None) if few else filters
            )
            if few:  # from its rows to their records, not through all records in the order of time
                source = f"record_tag g {self.dialect.join} record r ON r.seq = g.seq"
                where += f" AND g.project_id = ?1 AND g.tag = {bound.add(tag)}"
            elif filters.kind:
                alike = "SELECT 1 FROM record WHERE project_id = ?1 AND kind = ?2 LIMIT ?3"
                most = max(most, 0 if before else limit)  # or all of them are wanted
                if len(session.select(alike, (project, filters.kind, most + 1))) <= most:
                    source += self.dialect.hint("record_counted")  # likewise
            if trusted:
                where += f" AND {TRUSTED_RECORD}"
            if before:
                where += f" AND (r.at_us, r.id) < ({', '.join(map(bound.add, before))})"
            sql = f"SELECT {STORED} FROM {source} WHERE {where} ORDER BY r.at_us DESC, r.id DESC LIMIT {bound.add(limit)}"
            return [Stored._make(row) for row in session.select(sql, bound)]

    def list_events(self, project: str, record_id: str) -> list[Event]:
        """The record's events by (time, id); an empty list where there are none."""
        sql = "SELECT body FROM event WHERE project_id = ?1 AND record_id = ?2 ORDER BY at_us, id"
        return list(map(parse_event, self._column(sql, project, record_id)))

    def embedder(self, project: str) -> tuple[str, int] | None:
        """Name and dimension of the embedder whose vectors are kept; None where none are."""
        with self.read(project) as session:
            return read_embedder(session, project)

    def rolled_back(self, project: str) -> set[str]:
        """The sources (authors) that do not count at present."""
        with self.read(project) as session:
            return rolled_back_authors(session, project)


class Query(Reader):
    """The readings of records that engines share."""

    @abstractmethod
    def snapshot(self, project: str) -> AbstractContextManager[Session]:
        """A session inside one read transaction: everything is seen as of one instant."""

    # --- records ---

    def list_by_mark(
        self, project: str, filters: Filters, by: str, status: str, limit: int
    ) -> list[Stored]:
        """The newest records that pass the filters, came from nowhere else (`imported`), and were
        given this status by an event of `by`; archived ones too.
        """
        where, bound = write_condition(self.dialect, project, filters)
        says = self.dialect.event_says
        happened = "SELECT 1 FROM event e WHERE e.project_id = r.project_id AND e.record_id = r.id AND e.kind"
        return self._read_rows(
            f"record r WHERE {where} AND EXISTS ({happened} = 'status' AND {says('e', 'by')} = "
            f"{bound.add(by)} AND {says('e', 'status')} = {bound.add(status)}) AND NOT EXISTS "
            f"({happened} = 'imported') ORDER BY r.at_us DESC, r.id DESC LIMIT {bound.add(limit)}",
            bound,
        )

    def most_helpful(self, project: str, status: str, limit: int) -> list[tuple[Stored, int, int]]:
        """The records of a status that helped most often when they were recalled, of those that
        ever did, with how often they did and did not, counted as in `Found`; of equal ones the
        newest first. Sources that were rolled back are left out.
        """
        # Those that were credited, and those that attempts name which turned out well; of the
        # latter, those that most do.
        most = f"DESC LIMIT {_HELPFUL_CONSIDERED_MAX}"
        credited = f"SELECT id FROM record WHERE project_id = ?1 AND status = ?2 AND helped > 0 ORDER BY helped {most}"
        named = (
            "SELECT key FROM tally WHERE project_id = ?1 AND scope = 'credit' AND "
            f"{TRUSTED_AUTHORS} GROUP BY key ORDER BY sum(level1) {most}"
        )
        alone = len(self.counts(project).by_author) <= 1
        good, bad = credit_columns(self.dialect, alone=alone)
        considered = (
            f"SELECT {good} AS good, {bad} AS bad, {STORED} FROM record r WHERE r.project_id = ?1 "
            f"AND r.status = ?2 AND r.{ORDINARY} AND r.{TRUSTED_AUTHORS} AND r.id IN "
            f"(SELECT c.id FROM ({credited}) c UNION SELECT n.key FROM ({named}) n)"
        )
        rows = self._select(
            f"SELECT r.good, r.bad, {STORED} FROM ({considered}) r WHERE r.good > 0 "
            "ORDER BY r.good DESC, r.at_us DESC, r.id DESC LIMIT ?3",
            (project, status, limit),
        )
        return [(Stored(*row), int(good), int(bad)) for good, bad, *row in rows]

    def newest_of_others(self, project: str, author: str, until_us: int) -> int:
        """The time of the newest record before a time that anybody but this author recorded; 0
        where there is none.
        """
        sql = (
            f"SELECT r.at_us FROM record r WHERE r.project_id = ?1 AND r.{ORDINARY} "
            "AND r.author <> ?2 AND r.at_us < ?3 ORDER BY r.at_us DESC LIMIT 1"
        )
        return next(map(int, self._column(sql, project, author, until_us)), 0)

    def teachings(
        self, project: str, keys: Sequence[str], limit: int, among: int | None = None
    ) -> list[TeachingRow]:
        """What records with any of the exact keys teach, newest first, each author's newest before
        any one's second. Archived ones and rolled-back sources are left out. `among`: only so many
        that were recorded last are looked at.
        """
        bound = Bound([project])
        within = ", ".join(map(bound.add, rounded_up(keys)))
        newest = "" if among is None else f" ORDER BY seq DESC LIMIT {bound.add(among)}"
        sql = (
            "SELECT id, author, at_us, status, teaching FROM (SELECT r.id, r.author, r.at_us, r.status, "
            "r.teaching, row_number() OVER (PARTITION BY r.author ORDER BY r.at_us DESC, r.id DESC) AS "
            f"turn FROM (SELECT DISTINCT seq FROM record_key WHERE project_id = ?1 AND key IN ({within})"
            f"{newest}) k {self.dialect.join} record r ON r.seq = k.seq WHERE r.project_id = ?1 AND r.teaching IS "
            f"NOT NULL AND {TRUSTED_RECORD}) AS found ORDER BY turn, at_us DESC, id DESC LIMIT "
            f"{bound.add(limit)}"
        )
        rows = self._read_teachings(sql, bound)
        return sorted(rows, key=lambda row: (row.at_us, row.record_id), reverse=True)

    def _read_teachings(self, sql: str, bound: Bound) -> list[TeachingRow]:
        return [
            TeachingRow(record_id, author, at_us, status, Teaching.from_json(plain_body(teaching)))
            for record_id, author, at_us, status, teaching in self._select(sql, bound)
        ]

    def teachings_by_id(self, project: str, record_ids: Sequence[str]) -> list[TeachingRow]:
        """What these records teach; those that are archived, or teach nothing, are left out."""
        if not record_ids:
            return []
        bound = Bound([project])
        within = ", ".join(map(bound.add, rounded_up(record_ids)))
        sql = (
            "SELECT r.id, r.author, r.at_us, r.status, r.teaching FROM record r WHERE "
            f"r.project_id = ?1 AND r.id IN ({within}) AND r.teaching IS NOT NULL AND {TRUSTED_RECORD}"
        )
        return self._read_teachings(sql, bound)

    def keys_beginning(self, project: str, beginning: str, limit: int) -> list[str]:
        """The exact keys of records that begin so, in their order."""
        sql = "SELECT DISTINCT key FROM record_key WHERE project_id = ?1 AND key >= ?2 AND key < ?3 ORDER BY key LIMIT ?4"
        end = beginning[:-1] + chr(ord(beginning[-1]) + 1)
        return self._column(sql, project, beginning, end, limit)

    def find_floor(self, project: str, key: str, among: int) -> int:
        """The number from which on so many records have an exact key; 0 where fewer have it."""
        sql = (
            "SELECT seq FROM record_key WHERE project_id = ?1 AND key = ?2 "
            "ORDER BY seq DESC LIMIT 1 OFFSET ?3"
        )
        return next(map(int, self._column(sql, project, key, among)), 0)

    def count_with_keys(self, project: str, keys: Sequence[str], floor: int) -> dict[str, int]:
        """How many records that count have each of these exact keys, of those after a number; without
        the keys that none has.
        """
        bound = Bound([project, floor])
        within = ", ".join(map(bound.add, rounded_up(keys)))
        sql = (
            f"SELECT k.key, count(*) FROM record_key k {self.dialect.join} record r ON r.seq = k.seq "
            f"WHERE k.project_id = ?1 AND k.seq > ?2 AND k.key IN ({within}) AND {TRUSTED_RECORD} "
            "GROUP BY k.key"
        )
        return {key: int(number) for key, number in self._select(sql, bound)}

    def by_key(
        self,
        project: str,
        keys: Sequence[str],
        filters: Filters,
        limit: int,
        *,
        in_turns: bool = False,
        ranked: bool = False,
    ) -> list[Found]:
        """The newest records that have any of the exact keys and pass the filters; archived ones
        and rolled-back sources as in `search`. `in_turns`: each author's newest before any one's
        second, so that nobody fills the places; before all what somebody vouches for, in half of the
        places. `ranked`: of those recorded last, with what ranking takes into account, their terms,
        votes and sessions.
        """
        if not keys:
            return []
        where, bound = write_search_condition(self.dialect, project, filters)
        # Said one by one, a planner knows how many there are, and plans once for all of them.
        within = f"key IN ({', '.join(map(bound.add, rounded_up(keys)))})"
        columns = found_columns(self.dialect, votes=ranked, sessions=ranked, terms=ranked)
        having = f"SELECT DISTINCT seq FROM record_key WHERE project_id = ?1 AND {within}"
        if ranked:  # a failure that is met all the time
            having += f" ORDER BY seq DESC LIMIT {_RANKED_BY_KEY_MAX}"
        turn, newest = "0", "r.at_us DESC, r.id DESC"
        if in_turns:
            vouched, half = f"r.status IN {IN_EFFECT}", max(1, limit // 2)
            among = f"PARTITION BY {vouched}, CASE WHEN NOT {vouched} THEN r.author END"
            number = f"row_number() OVER ({among} ORDER BY {newest})"
            turn = f"CASE WHEN {vouched} THEN ({number} - 1) / {half} ELSE {number} END"
        # From the few rows of the keys to their records, not through all records in the order of
        # time; and only those that are wanted are read whole.
        joined = f"{self.dialect.join} record r ON r.seq ="
        text = f"{self.dialect.join} record_text ON record_text.seq = r.seq" if ranked else ""
        sql = (
            f"SELECT {columns} FROM (SELECT r.seq, {turn} AS turn FROM ({having}) k {joined} k.seq "
            f"WHERE {where} ORDER BY turn, {newest} LIMIT {bound.add(limit)}) c "
            f"{joined} c.seq {text} ORDER BY c.turn, {newest}"
        )
        return [read_hit(row) for row in self._select(sql, bound)]

    def beside(
        self, project: str, hits: Sequence[Found], filters: Filters
    ) -> list[tuple[int, Found]]:
        """Of each hit, given by what is found of it, the records right before and after it in its
        session that pass the filters, each with the hit's number.
        """
        if not any(hit.session for hit in hits):
            return []
        with self.read(project) as session:
            rolled_back = session.known is None or session.known.rolled_back
            where, bound = write_search_condition(
                self.dialect, project, filters, rolled_back=rolled_back
            )
            columns = session.known.columns if session.known else found_columns(self.dialect)
            sessions = [session_key(hit.session) for hit in hits if hit.session]
            of_hits = self.dialect.within(
                "seq", bound.add(self.dialect.list_values([hit.seq for hit in hits]))
            )
            of_sessions = self.dialect.within("key", bound.add(self.dialect.list_values(sessions)))
            other = (
                "(SELECT {}(k.seq) FROM record_key k WHERE k.project_id = ?1 AND k.key = hit.key "
                "AND k.seq {} hit.seq)"
            )
            sql = (
                "WITH hit (seq, key) AS (SELECT seq, key FROM record_key WHERE project_id = ?1 AND "
                f"{of_sessions} AND {of_hits}), near (hit, seq) AS (SELECT seq, "
                f"{other.format('max', '<')} FROM hit UNION ALL SELECT seq, "
                f"{other.format('min', '>')} FROM hit) SELECT near.hit, {columns} FROM near "
                f"{self.dialect.join} record r ON r.seq = near.seq {self.dialect.join} record_text "
                f"ON record_text.seq = r.seq WHERE {where}"
            )
            rows = session.select(sql, bound, often=True)
        return [(hit, read_hit(row)) for hit, *row in rows]

    def with_files(self, project: str, after_id: str, limit: int) -> list[Stored]:
        """Records that have related files, whatever their status, by id."""
        return self._read_rows(
            f"record r{self.dialect.hint('record_by_id')} WHERE r.project_id = ?1 AND r.id > ?2 AND "
            f"r.{ORDINARY} AND EXISTS (SELECT 1 FROM record_file f WHERE f.seq = r.seq) "
            "ORDER BY r.id LIMIT ?3",
            (project, after_id, limit),
        )

    def fixes_before(
        self, project: str, before_us: int, after: types.Cursor, limit: int
    ) -> list[Stored]:
        """Fixes older than a time that come after the cursor and are not archived, oldest first."""
        return self._read_rows(
            f"record r{self.dialect.hint('record_by_time')} WHERE r.project_id = ?1 AND r.at_us < ?2 "
            "AND (r.at_us, r.id) > (?3, ?4) AND r.kind = 'fix' AND r.status <> 'archived' "
            "ORDER BY r.at_us, r.id LIMIT ?5",
            (project, before_us, *after, limit),
        )

    def decisions(
        self,
        project: str,
        actions: Sequence[str],
        task_id: str | None = None,
        limit: int = limits.DECISIONS_MAX,
        *,
        undone: bool | None = False,
    ) -> list[Stored]:
        """Decisions of these actions that are not archived (`undone`: that are; None: all), of a task
        and of the whole project (None: of every task), newest first. Those of a source that was rolled
        back are left out, but for rollbacks.
        """
        bound = Bound([project, self.dialect.list_values(actions), limit])
        standing = "" if undone is None else f" AND r.status {'=' if undone else '<>'} 'archived'"
        where = f"r.kind = 'decision'{standing}"
        if task_id is not None:
            where += f" AND (r.task_id IS NULL OR r.task_id = {bound.add(task_id)})"
        return self._read_rows(
            f"record r{self.dialect.hint('record_decision')} WHERE r.project_id = ?1 AND {where} "
            f"AND (r.outcome = 'rollback' OR r.{TRUSTED_AUTHORS}) "
            f"AND {self.dialect.within('r.outcome', '?2')} ORDER BY r.at_us DESC, r.id DESC LIMIT ?3",
            bound,
        )

    def tags(self, project: str, start: str, author: str | None = None) -> list[str]:
        """The tags that begin so, each once, in order: of records, of this author where one is
        given, that are neither archived nor of a source that was rolled back.
        """
        sql = (
            f"SELECT DISTINCT t.tag FROM record_tag t {self.dialect.join} record r ON r.seq = t.seq "
            f"WHERE t.project_id = ?1 AND t.tag >= ?2 AND t.tag < ?3 AND {TRUSTED_RECORD} "
            "AND (CAST(?4 AS text) IS NULL OR r.author = ?4)"
        )
        return sorted(self._column(sql, project, start, start + _BEHIND_ALL, author))

    def superseded_by(self, project: str, record_id: str) -> list[str]:
        """The records that this one replaced, in that order."""
        sql = (
            "SELECT e.record_id FROM event e WHERE e.project_id = ?1 AND e.kind IN ('superseded', "
            f"'imported') AND {self.dialect.event_says('e', 'replaced_by')} = ?2 "
            f"AND NOT {is_undone(self.dialect, 'e')} ORDER BY e.at_us, e.id"
        )
        return list(dict.fromkeys(self._column(sql, project, record_id)))

    # --- figures ---

    def counts(self, project: str) -> types.Counts:
        """Zeros and empty maps for an empty project."""
        # One way through the index, which in a large memory takes its time, instead of one for each
        # figure.
        sql = (
            f"SELECT kind, outcome, tool, status, author, count(*) FROM record"
            f"{self.dialect.hint('record_counted')} WHERE project_id = ?1 GROUP BY 1, 2, 3, 4, 5"
        )
        end = f"SELECT at_us FROM record WHERE project_id = ?1 AND {ORDINARY} ORDER BY at_us {{}} LIMIT 1"
        happened = (
            "SELECT count(*), count(DISTINCT CASE WHEN kind = 'forgotten' THEN record_id END) FROM "
            "event WHERE project_id = ?1"
        )
        with self.snapshot(project) as session:
            groups = session.select(sql, (project,))
            first, last = (session.value(end.format(way), (project,)) for way in ("ASC", "DESC"))
            events, forgotten = session.first(happened, (project,)) or (0, 0)
            waiting = count_without_vector(session, project)
        times: list[Counter[str]] = [Counter() for _ in range(5)]
        internal: Counter[str] = Counter()
        for kind, *others, number in groups:
            if kind in kinds.INTERNAL_KINDS:
                internal[kind] += number
                continue
            for counter, value in zip(times, (kind, *others), strict=True):
                if value is not None:
                    counter[value] += number
        apart = [internal[kind] for kind in ("decision", "adopted", "cleaned")]
        sorts = [dict(sorted(counter.items())) for counter in times]
        ends = [first, last, waiting]
        figures: list[Any] = [times[0].total(), *apart, events, forgotten, *sorts, *ends]
        return types.Counts(*figures)

    def count(self, project: str, filters: Filters) -> int:
        """How many records pass the filters."""
        where, bound = write_condition(self.dialect, project, filters)
        ((number,),) = self._select(f"SELECT count(*) FROM record r WHERE {where}", bound)
        return int(number)

    def values_from(self, project: str, column: str, beginning: str, limit: int) -> list[str]:
        """What begins so in a column of the records, the last by name first."""
        sql = (
            f"SELECT DISTINCT r.{column} FROM record r WHERE r.project_id = ?1 AND r.{column} IS NOT "
            f"NULL AND substr(r.{column}, 1, ?2) = ?3 ORDER BY r.{column} DESC LIMIT ?4"
        )
        return self._column(sql, project, len(beginning), beginning, limit)

    def routes(self, project: str, keys: Sequence[str]) -> list[types.Routed]:
        """How many experiences that are not archived have the same outcome, tool and values of
        these keys.
        """
        bound = Bound([project])
        says = [self.dialect.experience_says(bound.add(key)) for key in (*keys, "unrouted")]
        columns = ["r.outcome", "r.tool", *says[:-1], f"({says[-1]}) IS NOT NULL"]
        sql = (
            f"SELECT {', '.join(columns)}, count(*), sum(octet_length(r.body)) FROM record r "
            "WHERE r.project_id = ?1 AND r.kind = 'experience' AND r.status <> 'archived' "
            f"GROUP BY {', '.join(map(str, range(1, len(columns) + 1)))}"
        )
        routed = []
        for *values, is_unrouted, records, size in self._select(sql, bound):
            pairs = zip(("outcome", "tool", *keys), values, strict=True)
            packet = {name: str(value) for name, value in pairs if value is not None}
            routed.append(types.Routed(packet, bool(is_unrouted), records, size))
        return routed
