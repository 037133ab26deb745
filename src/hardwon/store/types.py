"""What a store promises, and how statements that every engine shares are run, and worded where the
engines differ.

Shared statements are written once, in `query.py`, `knowledge.py` and `base.py`. They stay within
what SQLite and PostgreSQL both understand and ask a Dialect for the rest; the tests in
`tests/test_store_contract.py` hold for every store.

A store keeps rows and events, and finds them again. It never embeds, ranks or reads the clock:
values come in, values go out. Everything is kept per project; no call sees two projects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hardwon.learn.odds import Share
from hardwon.learn.tallies import Increment, Tally
from hardwon.records.kinds import Event, Record
from hardwon.search.terms import Filters

# --- sql ---

Values = Sequence[Any]


class Session(ABC):
    """One connection, inside or outside of a transaction. The parameters of a statement are
    numbered: ?1, ?2 …
    """

    connection: Any
    """The driver's own: for what only one engine can do."""

    @abstractmethod
    def select(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """All rows."""

    @abstractmethod
    def first(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        """The first row, None where there is none."""

    @abstractmethod
    def run(self, sql: str, values: Values = ()) -> int:
        """How many rows it changed."""

    @abstractmethod
    def run_many(self, sql: str, rows: Iterable[Values]) -> None:
        """The same statement for many rows."""

    def each(self, sql: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """The rows one after the other, other statements of this session in between: for results
        that may be larger than what should be held at once. An engine that reads on as it is asked
        says how.
        """
        yield from self.select(sql, values)


class Dialect(ABC):
    """The words of one engine."""

    least: str
    greatest: str
    """The smallest, and the largest, of several values in one row."""
    join: str
    """A join of what stands before it with what stands after it, in that order where the engine can
    be told so.
    """
    solved: str
    """Whether the record `r` turned out well; NULL where that is no question."""

    @abstractmethod
    def hint(self, index: str) -> str:
        """After the name of a table: the index to go by, where the engine can be told so."""

    @abstractmethod
    def within(self, value: str, parameter: str) -> str:
        """Whether a value is one of those in a parameter, which were `listed`."""

    @abstractmethod
    def listed(self, values: Iterable[Any]) -> Any:
        """Several values as one parameter."""

    @abstractmethod
    def same_text(self, row: str) -> str:
        """Whether a row of `record_text` belongs to the same record as another row, by its
        alias.
        """

    @abstractmethod
    def said(self, event: str, name: str) -> str:
        """What an event says under a name: `by`, `status`, `replaced_by` or `undoes`."""

    @abstractmethod
    def given(self, name: str) -> str:
        """What the experience `r` says under a key, a parameter, as text; NULL where it says
        nothing, or cannot be read.
        """

    @abstractmethod
    def has_key(self, name: str, value: str) -> str:
        """Whether the record `r` is an experience with this key and this value of it, both
        parameters.
        """

    @abstractmethod
    def matches_glob(self, path: str, parameter: str) -> str:
        """Whether a path matches a parameter, which is a `glob`."""

    @abstractmethod
    def glob(self, pattern: str) -> str:
        """A pattern of paths, with `*` (which also crosses folders), `?`, `[…]` and `[^…]`, as a
        parameter.
        """

    @abstractmethod
    def make_fresh_tallies(self, session: Session) -> None:
        """Makes an empty table `fresh` like `tally`, for this session alone; one that was left over
        goes.
        """

    @abstractmethod
    def insert_many(
        self,
        session: Session,
        table: str,
        columns: Mapping[str, str],
        rows: Iterable[Values],
        also: str,
    ) -> None:
        """Inserts rows in their order. `columns` have their types; `also` ends the statement: what
        to do about a conflict.
        """


class Bound(list[Any]):
    """The values of a statement that is put together, in the order of their numbers."""

    def add(self, value: Any) -> str:
        """The parameter that stands for a value."""
        self.append(value)
        return f"?{len(self)}"


# --- contract ---

Progress = Callable[[int, int], None]
"""Called with (done, total) now and then during long work."""


class Row(NamedTuple):
    """A record as it is kept. `body` is the truth; every field after `digest` is derived from it
    (and, for `status` and `validation`, from the record's events), as are the columns before it.
    `lessons` are counted, not kept, and `record` is what the row was made of, where a design keeps
    something of its kind: a row that was read has neither.
    """

    project_id: str
    id: str
    kind: str
    at_us: int
    author: str
    outcome: str | None
    tool: str | None
    task_id: str | None
    model: str | None
    issue_type: str | None
    body: str
    digest: bytes
    status: str
    validation: str | None
    terms: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    keys: tuple[str, ...]
    helped: int = 0
    hindered: int = 0
    lessons: tuple[Increment, ...] = ()
    record: Record | None = None


class Stored(NamedTuple):
    """What reading needs of a row."""

    id: str
    kind: str
    at_us: int
    body: str
    digest: bytes
    validation: str | None
    helped: int = 0
    hindered: int = 0


class Found(NamedTuple):
    """A record as ranking sees it, without reading its body: who says it, its status, whether it
    turned out well (None: that is no question), its search terms, the session (`source.id`) it came
    from, and how often it helped and did not: as was credited, and as attempts turned out that say
    they recalled it, no author more than three times.
    """

    stored: Stored
    author: str
    status: str
    good: bool | None
    terms: str
    session: str
    helped: int
    hindered: int

    @property
    def id(self) -> str:
        return self.stored.id


class Daily(NamedTuple):
    """How often something turned out at each level on one day (days since 1970), all authors
    together.
    """

    item: str
    day: int
    levels: tuple[int, ...]


class Total(NamedTuple):
    """How often an item under a key turned out at each level, all days and authors together."""

    key: str
    item: str
    levels: tuple[int, ...]


class DayTotal(NamedTuple):
    """How often anything under a key turned out at each level on one day, all items and authors
    together.
    """

    key: str
    day: int
    levels: tuple[int, ...]


class Active(NamedTuple):
    """What was recorded on one day (UTC, days since 1970): records of a kind, and of those that
    teach, how many turned out well and badly.
    """

    day: int
    kind: str
    records: int
    good: int
    bad: int


class Routed(NamedTuple):
    """Experiences that lie in the same place: what decides that, how many, and the size of their
    JSON.
    """

    packet: dict[str, str]
    unrouted: bool
    records: int
    bytes: int


class Cursor(NamedTuple):
    """A place in the order of (time, id)."""

    at_us: int
    id: str


class Request(NamedTuple):
    """What was asked for, as a fingerprint, and the ids of the records that it concerned."""

    said: bytes
    ids: list[str]


@dataclass(frozen=True)
class Appended:
    """What became of the rows of one `append`: ids, and for those that may conflict the rows
    themselves. `has_tree`: whether a tree of files mirrors some project of the store.
    """

    added: list[str]
    present: list[str]
    conflicting: list[Row]
    forgotten: list[str]
    has_tree: bool = False


@dataclass(frozen=True)
class Counts:
    """How many records there are, seen from several sides. Decisions, what was adopted without
    records, and fixes that left the history, are counted apart.
    """

    records: int
    decisions: int
    adopted: int
    cleaned: int
    events: int
    forgotten: int
    by_kind: Mapping[str, int]
    by_outcome: Mapping[str, int]
    by_tool: Mapping[str, int]
    by_status: Mapping[str, int]
    by_author: Mapping[str, int]
    first_us: int | None
    last_us: int | None

    @property
    def total(self) -> int:
        """Whatever is kept, moved and merged."""
        return self.records + self.decisions + self.adopted + self.cleaned


class Finding(NamedTuple):
    """One line of a check-up."""

    check: str
    ok: bool
    detail: str


class TokenRow(NamedTuple):
    """`projects` is a JSON list, None where the token reaches all of them."""

    id: str
    name: str
    digest: bytes
    scope: str
    projects: str | None
    created_us: int
    expires_us: int | None
    revoked_us: int | None


class TokenKeep(ABC):
    """Keeps the tokens of one memory, whatever their projects. Never a token itself, only its
    digest.
    """

    @abstractmethod
    def all(self) -> list[TokenRow]:
        """The oldest first."""

    @abstractmethod
    def get(self, token_id: str) -> TokenRow | None:
        """The token, whether or not it has ended, or None."""

    @abstractmethod
    def add(self, token: TokenRow, ended_before_us: int) -> int:
        """Keeps a token and drops those that ended before a time; returns how many there are.
        Nothing is kept where there are too many.
        """

    @abstractmethod
    def revoke(self, token_ids: Sequence[str], at_us: int) -> None:
        """From now on; what was revoked before stays as it is."""

    @abstractmethod
    def close(self) -> None:
        """Closing twice is allowed."""


class Writer(ABC):
    """One write transaction. Everything done through it is kept together or not at all."""

    session: Session

    @abstractmethod
    def may_govern(self, project: str) -> bool:
        """Whether this transaction may decide: change what a record counts for, or remove it."""

    @abstractmethod
    def append(self, rows: Sequence[Row]) -> Appended:
        """Adds the rows whose ids are new, and counts their lessons. An id that is kept with the
        same content is `present`, with other content `conflicting`, and one that was forgotten
        stays so; none of these changes anything. Called with a batch at a time.
        """

    @abstractmethod
    def add_events(self, project: str, events: Sequence[Event]) -> list[Event]:
        """Adds the events that are not there yet and returns them. Events of a forgotten record are
        dropped.
        """

    @abstractmethod
    def get(self, project: str, record_id: str) -> Stored | None:
        """The record as this transaction sees it, or None."""

    @abstractmethod
    def page(
        self,
        project: str,
        filters: Filters,
        before: Cursor | None,
        limit: int,
        *,
        trusted: bool = False,
    ) -> list[Stored]:
        """As in Store, as this transaction sees it."""

    @abstractmethod
    def events_of(self, project: str, record_id: str) -> list[Event]:
        """The record's events by (time, id); an empty list where there are none."""

    @abstractmethod
    def having_events(self, project: str, record_ids: Sequence[str]) -> list[str]:
        """Those of these records that something happened to, in any order."""

    @abstractmethod
    def event(self, project: str, event_id: str) -> Event | None:
        """One event by its id; None where there is none."""

    @abstractmethod
    def votes(self, project: str, record_id: str, besides: str) -> tuple[int, int]:
        """How many attempts that recalled a record turned out well, and badly: of every author but
        one, and no more than three of each.
        """

    @abstractmethod
    def set_standing(
        self,
        project: str,
        record_id: str,
        status: str,
        validation: str | None,
        credited: tuple[int, int],
    ) -> None:
        """Keeps the status, and how often it helped and did not, that the record's events add up
        to. What the record teaches counts accordingly: archived, not at all; verified or published,
        as vouched for.
        """

    @abstractmethod
    def rewrite(self, row: Row) -> None:
        """Replaces everything derived of a row that is kept."""

    @abstractmethod
    def replace(self, row: Row) -> None:
        """Replaces a row that is kept by another that teaches the same: its texts were packed away,
        or brought back.
        """

    @abstractmethod
    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        """Removes the records, what is indexed of them, what they taught and their events, keeps
        the tombstones; how many there were.
        """

    @abstractmethod
    def embedder(self, project: str) -> tuple[str, int] | None:
        """As in Store, as this transaction sees it."""

    @abstractmethod
    def set_embedder(self, project: str, name: str, dimension: int) -> None:
        """From now on vectors are of this embedder; those of another go."""

    @abstractmethod
    def keep_vectors(self, project: str, vectors_of: Iterable[tuple[str, bytes]]) -> None:
        """Keeps vectors (32-bit little-endian floats) by record id. Ids of no record are left
        out.
        """

    @abstractmethod
    def recount(self, project: str) -> None:
        """Makes the tallies what the records add up to."""

    @abstractmethod
    def known_keys(self, project: str, keys: Iterable[str], statuses: Sequence[str]) -> set[str]:
        """Those of the exact keys that some record of these statuses has."""

    @abstractmethod
    def number_of(self, project: str, record_id: str) -> int | None:
        """The number under which a fix is in the tables of fix history; None where they are not
        about its project.
        """

    @abstractmethod
    def with_key(self, project: str, key: str) -> list[Stored]:
        """Every record with an exact key, of whatever kind and status."""

    @abstractmethod
    def facts_with_key(self, project: str, key: str, limit: int) -> list[Stored]:
        """The facts that have an exact key, those that came in first. Archived ones and sources
        that were rolled back are left out.
        """

    @abstractmethod
    def is_rolled_back(self, project: str, author: str) -> bool:
        """Whether what this source records does not count at present."""

    @abstractmethod
    def cleaned(self, project: str, after_id: str, limit: int) -> list[Stored]:
        """Fixes that left the history, by id."""

    @abstractmethod
    def state(self, project: str, name: str) -> int:
        """A number that only this store needs; 0 where it was never set."""

    @abstractmethod
    def set_state(self, project: str, name: str, value: int) -> None:
        """Keeps such a number."""

    @abstractmethod
    def request(self, project: str, key: bytes) -> Request | None:
        """The request that was carried out under this key; None where none was."""

    @abstractmethod
    def keep_request(
        self, project: str, key: bytes, request: Request, at_us: int, kept_since_us: int
    ) -> None:
        """Keeps it with everything else that this transaction writes; some that are older than a
        time go.
        """

    @abstractmethod
    def on_failure(self, undo: Callable[[], object]) -> None:
        """Called where the transaction is not kept, before anybody else can write: for what was
        done outside of the store.
        """


class Store(ABC):
    """A place that keeps records. Safe to use from several threads and processes at once."""

    @property
    @abstractmethod
    def location(self) -> str:
        """Where it is, for people to read."""

    @abstractmethod
    def write(self, project: str, *, alone: bool = True) -> AbstractContextManager[Writer]:
        """One transaction on one project, durable when the block ends, rolled back when it raises.
        Waits its turn among writers; BusyError when that takes longer than the busy timeout.
        `alone`: nobody else writes to the project meanwhile. False only where the transaction does
        nothing but append (`append`, `keep_vectors`, `number_of`, `get`, `request`, `keep_request`,
        `on_failure`): others may then append at the same time, where the store can do that.
        """

    def together(self, project: str) -> AbstractContextManager[object]:  # noqa: ARG002
        """What this thread reads of the project in the block is read in one transaction, where
        beginning one costs a way to a server. Each reading sees what was kept when it began.
        """
        return nullcontext()

    @abstractmethod
    def get(self, project: str, record_id: str) -> Stored | None:
        """The record, or None."""

    @abstractmethod
    def page(
        self,
        project: str,
        filters: Filters,
        before: Cursor | None,
        limit: int,
        *,
        trusted: bool = False,
    ) -> list[Stored]:
        """Up to `limit` records older than the cursor, newest first; an empty list at the end.
        `trusted`: without archived ones and sources that were rolled back.
        """

    @abstractmethod
    def marked(
        self, project: str, filters: Filters, by: str, status: str, limit: int
    ) -> list[Stored]:
        """The newest records that pass the filters, came from nowhere else (`imported`), and were
        given this status by an event of `by`; archived ones too.
        """

    @abstractmethod
    def most_helpful(self, project: str, status: str, limit: int) -> list[tuple[Stored, int, int]]:
        """The records of a status that helped most often when they were recalled, of those that
        ever did, with how often they did and did not, counted as in `Found`; of equal ones the
        newest first. Sources that were rolled back are left out.
        """

    @abstractmethod
    def held_as_stale(self, project: str, limit: int) -> list[tuple[Stored, Event]]:
        """The records that nothing but files that changed keeps archived, each with the event that
        did so, the newest first.
        """

    @abstractmethod
    def newest_of_others(self, project: str, author: str, until_us: int) -> int:
        """The time of the newest record before a time that anybody but this author recorded; 0
        where there is none.
        """

    @abstractmethod
    def last_arrived(self, project: str, limit: int) -> list[Stored]:
        """The trusted records that came in last, whatever their time, the last first. Looks back
        over a bounded number of rows of all projects.
        """

    @abstractmethod
    def search(
        self, project: str, terms: Sequence[str], filters: Filters, limit: int
    ) -> list[tuple[Found, float]]:
        """Records that contain any of the terms, with a text score (higher is better), best first.
        Archived records are left out unless the filters ask for them. No terms, no hits.
        """

    @abstractmethod
    def stream(self, project: str) -> Generator[Stored]:
        """Every record, oldest first, as of one instant. Holds a read transaction until it is
        exhausted or closed.
        """

    @abstractmethod
    def rows(self, project: str) -> Generator[tuple[Row, list[Event]]]:
        """Every row with all that is derived, and the record's events, oldest first, as of one
        instant.
        """

    @abstractmethod
    def events(self, project: str) -> Generator[Event]:
        """Every event by (time, id), tombstones included, as of one instant."""

    @abstractmethod
    def events_of(self, project: str, record_id: str) -> list[Event]:
        """As in Writer."""

    @abstractmethod
    def projects(self) -> list[str]:
        """The projects that have records, by name."""

    @abstractmethod
    def counts(self, project: str) -> Counts:
        """Zeros and empty maps for an empty project."""

    @abstractmethod
    def activity(self, project: str, since_day: int, until_day: int) -> list[Active]:
        """From a day to the day before another, by day and kind; days without records are left
        out.
        """

    @abstractmethod
    def change_mark(self, project: str) -> tuple[int, int]:
        """Two numbers, of which one is another after anything was recorded, decided or forgotten.
        Costs next to nothing.
        """

    @abstractmethod
    def count(self, project: str, filters: Filters, *, trusted: bool = False) -> int:
        """How many records pass the filters. `trusted` as in `page`."""

    @abstractmethod
    def routes(self, project: str, keys: Sequence[str]) -> list[Routed]:
        """How many experiences that are not archived have the same outcome, tool and values of
        these keys.
        """

    # Vectors, where an embedder is used.

    @abstractmethod
    def embedder(self, project: str) -> tuple[str, int] | None:
        """Name and dimension of the embedder whose vectors are kept; None where none are."""

    @abstractmethod
    def nearest(
        self, project: str, vector: Sequence[float], filters: Filters, limit: int
    ) -> list[tuple[Found, float]]:
        """Records by the cosine of their vector to this one, best first, as far as they pass the
        filters; archived ones and rolled-back sources as in `search`.
        """

    @abstractmethod
    def without_vector(self, project: str, limit: int) -> list[Stored]:
        """Records that have no vector, those that came in first first."""

    # What records taught. Sources that were rolled back are left out.

    @abstractmethod
    def daily(
        self, project: str, scope: str, key: str, items_max: int | None = None
    ) -> list[Daily]:
        """The counts under a key per item and day; an empty list where nothing was counted.
        `items_max`: of the items that were counted most, all days of an item or none.
        """

    @abstractmethod
    def newest_taught(
        self, project: str, scope: str, key: str, item_start: str, limit: int
    ) -> list[tuple[int, str]]:
        """Time and id of the newest record of each tally under a key whose item begins so, the
        newest first.
        """

    @abstractmethod
    def shares(
        self, project: str, scope: str, key: str, today: int, items_max: int | None = None
    ) -> list[tuple[str, Share]]:
        """The same counts added up over the days, as they are and as they weigh today
        (`learn.confidence.age_weight`): of every item, or of those that were counted most.
        """

    @abstractmethod
    def tallies(self, project: str, scope: str, key: str, items_max: int) -> list[Tally]:
        """The tallies under a key of the items that were counted most, all of an item or none."""

    @abstractmethod
    def tallies_of_item(self, project: str, scope: str, key: str, item: str) -> list[Tally]:
        """The tallies of one item under a key."""

    @abstractmethod
    def vouched_items(self, project: str) -> set[tuple[str, str]]:
        """Scope and item of every lesson of `works` or `avoid` that a verified or published record
        teaches.
        """

    @abstractmethod
    def most_counted(self, project: str, scope: str, limit: int) -> list[str]:
        """The keys of a scope that were counted most, in that order."""

    @abstractmethod
    def totals(
        self, project: str, scope: str, limit: int, since_day: int | None = None
    ) -> list[Total]:
        """Everything in a scope, from a day on or of all days, added up per key and item: the
        `limit` that were counted most, in that order. The levels are those that the scope uses.
        """

    @abstractmethod
    def day_totals(self, project: str, scope: str, keys_max: int, since_day: int) -> list[DayTotal]:
        """Everything in a scope from a day on, added up per key and day, of the keys that were
        counted most since then: all days of a key or none, by key and day.
        """

    @abstractmethod
    def distinct_keys(self, project: str, scope: str) -> int:
        """How many keys of a scope were counted, without the empty one."""

    @abstractmethod
    def by_key(
        self, project: str, keys: Sequence[str], filters: Filters, limit: int
    ) -> list[Found]:
        """The newest records that have any of the exact keys and pass the filters; archived ones
        and rolled-back sources as in `search`.
        """

    @abstractmethod
    def with_files(self, project: str, after_id: str, limit: int) -> list[Stored]:
        """Records that have related files, whatever their status, by id."""

    @abstractmethod
    def fixes_before(self, project: str, before_us: int, after: Cursor, limit: int) -> list[Stored]:
        """Fixes older than a time that come after the cursor and are not archived, oldest first."""

    @abstractmethod
    def newest_fixes(self, project: str, key: str) -> tuple[str | None, str | None]:
        """Of the trusted fixes with an exact key, the ids of the newest, and of the newest that
        succeeded.
        """

    @abstractmethod
    def decisions(
        self,
        project: str,
        actions: Sequence[str],
        task_id: str | None,
        limit: int,
        *,
        undone: bool = False,
    ) -> list[Stored]:
        """Decisions of these actions that are not archived (`undone`: that are), of a task and of
        the whole project (None: of every task), newest first. Those of a source that was rolled
        back are left out, but for rollbacks.
        """

    @abstractmethod
    def tags(self, project: str, start: str) -> list[str]:
        """The tags that begin so, each once, in order: of records that are neither archived nor of
        a source that was rolled back.
        """

    @abstractmethod
    def superseded_by(self, project: str, record_id: str) -> list[str]:
        """The records that this one replaced, in that order."""

    @abstractmethod
    def rolled_back(self, project: str) -> set[str]:
        """The sources (authors) that do not count at present."""

    @abstractmethod
    def untrue_tallies(self, project: str) -> int:
        """How many tallies are not what the records add up to."""

    @abstractmethod
    def size_bytes(self) -> int:
        """What it takes up on disk, its log included."""

    @abstractmethod
    def finish_erasure(self) -> bool:
        """Makes what was erased unreadable in every file of the store. False: a reader still needs
        the old log; what was erased is gone for queries, and its bytes go with the first write of
        this store after the reader has finished, with the next `finish_erasure`, or when the last
        process closes the store.
        """

    @abstractmethod
    def shrink(self) -> None:
        """Gives back the room that nothing takes up any more."""

    @abstractmethod
    def backup(self, target: Path, progress: Progress | None) -> str:
        """Copies everything, all projects, as of one instant, into a new file; verified; returns
        its SHA-256.
        """

    @abstractmethod
    def check(self, project: str) -> Iterator[Finding]:
        """What the store can say about its own health, a finding at a time: of this project, or of
        everything, where all projects lie together.
        """

    @abstractmethod
    def tokens(self) -> TokenKeep:
        """Where the tokens of this memory are kept. Whoever asked closes it."""

    @abstractmethod
    def close(self) -> None:
        """Closes it for every thread. Closing twice is allowed."""
