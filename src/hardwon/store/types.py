"""What goes into a store and comes out of it, and how statements that every engine shares are run,
and worded where the engines differ.

Shared statements are written once, in `query.py`, `knowledge.py` and `base.py`. They stay within
what SQLite and PostgreSQL both understand and ask a Dialect for the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import NewerFileError, OlderFileError
from hardwon.lessons.counts import RecordCounts
from hardwon.records.kinds import Record
from hardwon.search.rank import Candidate

# Rows that are fetched at a time where many are read, so that no read transaction stays open while the
# caller of `browse` thinks.
PAGE_ROWS: Final = 500

# --- sql ---

Values = Sequence[Any]
# A select that finds a row exactly where a write was kept, and its values.
Witness = tuple[str, Values]


class Session(ABC):
    """One connection, inside or outside of a transaction. The parameters of a statement are
    numbered: ?1, ?2 …
    """

    # The driver's own: for what only one engine can do.
    connection: Any
    # Asked whether the transaction was kept, where the connection is lost in that moment.
    witness: Witness | None = None
    # What a search in this transaction has asked about its project; None where none did.
    known: Any = None

    @abstractmethod
    def select(
        self, sql: str, values: Values = (), *, often: bool = False
    ) -> list[tuple[Any, ...]]:
        """All rows. `often`: the statement takes long to plan and comes again and again, so that a
        server is to keep it from its first time on.
        """

    def column(self, sql: str, values: Values = ()) -> list[Any]:
        """The first value of every row."""
        return [row[0] for row in self.select(sql, values)]

    def first(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        """The first row, None where there is none."""
        return next(iter(self.select(sql, values)), None)

    def value(self, sql: str, values: Values = ()) -> Any:
        """The first value of the first row, None where there is none."""
        return (self.first(sql, values) or (None,))[0]

    @abstractmethod
    def run(self, sql: str, values: Values = ()) -> int:
        """How many rows it changed."""

    @abstractmethod
    def stream(self, sql: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """The rows one after the other, other statements of this session in between: for results
        that may be larger than what should be held at once.
        """


@dataclass(frozen=True, eq=False)
class Dialect:
    """The words of one engine."""

    # The smallest of several values in one row.
    least: str
    greatest: str
    # A join of what stands before it with what stands after it, in that order where the engine can
    # be told so.
    join: str
    # Selects those of the ids in parameter 2, of `list_values`, that are not to come back.
    forgotten: str
    # Whether a path matches a parameter, which is a `glob`.
    glob_operator: str
    # Whether the fact `r` names an entity, a parameter that is put in.
    names_entity: str
    # After the name of a table: the index to go by, where the engine can be told so.
    hint: Callable[[str], str]
    # Whether a value is one of those in a parameter, of `list_values`.
    within: Callable[[str, str], str]
    # The values of all rows, in an order, as a text of JSON.
    gather: Callable[[str, str], str]
    # What an event says under a name: `by`, `status`, `replaced_by` or `undoes`.
    event_says: Callable[[str, str], str]
    # What the experience `r` says under a key, a parameter, as text; NULL where it says nothing, or
    # cannot be read.
    experience_says: Callable[[str], str]
    # What the body of the record `r` has under a name, or under one below it; NULL where it has
    # nothing, or cannot be read.
    body_says: Callable[..., str]
    # Several values as one parameter.
    list_values: Callable[[Iterable[Any]], Any]
    # A pattern of paths, with `*` (which also crosses folders), `?`, `[…]` and `[^…]`, as a
    # parameter.
    glob: Callable[[str], str]
    # Makes an empty table `fresh` like `tally`, for a session alone; one that was left over goes.
    make_fresh_tallies: Callable[[Session], object]
    # Inserts rows with these columns into a table, in their order. Last, the end of the statement:
    # what to do about a conflict.
    insert_many: Callable[[Session, str, Sequence[str], Iterable[Values], str], None]


class Bound(list[Any]):
    """The values of a statement that is put together, in the order of their numbers."""

    def add(self, value: Any) -> str:
        """The parameter that stands for a value."""
        self.append(value)
        return f"?{len(self)}"


def rounded_up(values: Sequence[Any]) -> list[Any]:
    """The values, the last one again and again until they are a power of two: a statement is kept
    ready for each number of them.
    """
    more = (1 << (len(values) - 1).bit_length()) - len(values)
    return [*values, *[values[-1]] * more]


# --- contract ---

# Of files and databases: the first of 1.0. Those of 0.x had numbers from 1 to 12.
FORMAT: Final = 100


def refuse_other_format(place: str, version: int) -> None:
    """Raises where a file or database is of another format than this version's."""
    if version > FORMAT:
        raise NewerFileError(
            f"{place} was written by a newer Hardwon (format {version}, this one knows {FORMAT}): "
            "install that one"
        )
    if version < FORMAT:
        raise OlderFileError(
            f"{place} was written by Hardwon 0.x (format {version}, this one knows {FORMAT}) and was left "
            "as it is: export it with Hardwon 0.12.0 (hardwon export FILE), move it away, and bring the "
            "records into a new memory with hardwon load FILE (with --trust where they are your own)"
        )


# Called with (done, total) now and then during long work; the total is 0 while nobody knows it.
Progress = Callable[[int, int], None]


class Row(NamedTuple):
    """A record as it is kept. `body` is the truth; every field after `digest` is derived from it
    (and, for `status`, `validation` and `author`, from the record's events), as are the columns
    before it. `author` is the source: `ann via import` where a record came from elsewhere.
    What it `taught` is counted, not kept, `record` is what the row was made of, where a design
    keeps something of its kind, and `sent` is what is sent to a server that keeps it: a row that
    was read has none of them.
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
    teaching: str | None
    terms: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    keys: tuple[str, ...]
    helped: int = 0
    hindered: int = 0
    taught: RecordCounts | None = None
    record: Record | None = None
    sent: str | None = None


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
    author: str | None = None


@dataclass(slots=True)
class Found(Candidate):
    """A record as ranking sees it, without reading its body: its search terms, the session
    (`source.id`) it came from, and how often it helped and did not: as was credited, and as attempts
    turned out that say they recalled it, no author more than three times. `seq` is its number, in
    the order in which records came in.
    """

    seq: int
    kind: str
    body: str
    digest: bytes
    validation: str | None
    session: str | None

    @property
    def stored(self) -> Stored:
        kept = self.id, self.kind, self.at_us, self.body, self.digest, self.validation
        return Stored(*kept, author=self.author)


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
    """What was recorded on one day (UTC, days since 1970): records of a kind, by an author or at a
    task, and how many of them turned out well and badly.
    """

    day: int
    of: str
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

    fingerprint: bytes
    ids: list[str]


class Appended(NamedTuple):
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
    records, and fixes that left the history, are counted apart. `unembedded` wait for their vectors,
    where an embedder is used.
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
    unembedded: int

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
    def _transaction(self, *, writing: bool = False) -> AbstractContextManager[Session]:
        """On the table `token`; a write is kept when the block ends."""

    def all(self) -> list[TokenRow]:
        """The oldest first."""
        return self._select("ORDER BY created_us, id")

    def get(self, token_id: str) -> TokenRow | None:
        """The token, whether or not it has ended, or None."""
        return next(iter(self._select("WHERE id = ?1", (token_id,))), None)

    def _select(self, which: str, values: Values = ()) -> list[TokenRow]:
        sql = f"SELECT {', '.join(TokenRow._fields)} FROM token {which}"
        with self._transaction() as session:
            return [TokenRow._make(row) for row in session.select(sql, values)]

    def add(self, token: TokenRow, ended_before_us: int) -> int:
        """Keeps a token and drops those that ended before a time; returns how many there are.
        Nothing is kept where there are too many.
        """
        with self._transaction(writing=True) as session:
            ended = "DELETE FROM token WHERE expires_us < ?1 OR revoked_us < ?1"
            session.run(ended, (ended_before_us,))
            count = int(session.value("SELECT count(*) FROM token"))
            if count < limits.TOKENS_MAX:
                marks = ", ".join(f"?{number}" for number in range(1, len(token) + 1))
                session.run(
                    f"INSERT INTO token ({', '.join(TokenRow._fields)}) VALUES ({marks})", token
                )
                session.witness = "SELECT 1 FROM token WHERE id = ?1", (token.id,)
        return count + 1

    def revoke(self, token_ids: Sequence[str], at_us: int) -> None:
        """From now on; what was revoked before stays as it is."""
        with self._transaction(writing=True) as session:
            for token_id in token_ids:
                sql = "UPDATE token SET revoked_us = ?1 WHERE id = ?2 AND revoked_us IS NULL"
                if session.run(sql, (at_us, token_id)):
                    sql = "SELECT 1 FROM token WHERE id = ?2 AND revoked_us = ?1"
                    session.witness = sql, (at_us, token_id)

    @abstractmethod
    def close(self) -> None:
        """Closing twice is allowed."""
