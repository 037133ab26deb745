"""One project of one open memory, and what its uses share: opening it, its clock, a record made
ready, one transaction, requests that are safe to send again, the tree of files beside it, vectors;
and what keeps everything derived in line with records and events, whoever wrote them.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar

from hardwon import limits
from hardwon.errors import (
    ConflictError,
    EmbeddingError,
    InterruptedWriteError,
    InvalidInputError,
    RepeatedError,
    UnknownRecordError,
)
from hardwon.learn.tallies import tidied_key
from hardwon.memory import designs, intake
from hardwon.outside import files
from hardwon.outside.git import NO_HEAD, Head, Repository, repository_root
from hardwon.records.fields import TIME_US_MAX, from_us, new_id, now, to_us
from hardwon.records.kinds import (
    INTERNAL_KINDS,
    MODEL_OF_KIND,
    AnyRecord,
    Cleaned,
    Decision,
    Event,
    Fix,
    Metadata,
    Record,
    Validation,
)
from hardwon.search.terms import Filters, searchable_text
from hardwon.store import places as place
from hardwon.store.base import kept_row, row_of
from hardwon.store.knowledge import SqlStore
from hardwon.store.places import open_store
from hardwon.store.query import has_tree, original_of, record_of, restored
from hardwon.store.types import Cursor, Progress, Request, Row, Session, Stored, Writer
from hardwon.trust.lifecycle import (
    check_claim,
    credits_of,
    credits_of_others,
    effective_validation,
    proved_itself,
    was_confirmed,
)
from hardwon.trust.redact import clean_event, redact, without_secrets

if TYPE_CHECKING:
    from hardwon.memory.knowledge import Knowledge
    from hardwon.memory.staleness import Watch
    from hardwon.memory.tokens import Tokens
    from hardwon.outside.embedders import Embedder
    from hardwon.outside.git import Checkout
    from hardwon.outside.llm import Llm
    from hardwon.tree.mirror import Mirror, Planting

NO_LLM: Final = "no LLM is configured: open the memory with llm=…, or set GROQ_API_KEY, or API_BASE_URL to a local one"
_log = logging.getLogger("hardwon")
Clock = Callable[[], datetime]
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound=Record)
_RECORD_TYPES: Final = frozenset[type](MODEL_OF_KIND.values())
BY_MEMORY: Final = "hardwon"
"""Who does what nobody asked for: what follows from what others did."""


@dataclass
class _KeyedRequest:
    """A request that is carried out once, whoever dies in between: its key is kept in the
    transaction that carries it out.
    """

    key: bytes
    said: bytes
    ids: dict[str, None] = field(default_factory=dict)
    kept: bool = False


def done_again(work: Callable[P, T]) -> Callable[P, T]:
    """For what writes in one transaction and can be called twice with the same arguments: where the
    connection was lost and nothing was kept, it is done again.
    """

    @wraps(work)
    def done(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(limits.INTERRUPTED_WRITES_AGAIN_MAX):
            try:
                return work(*args, **kwargs)
            except InterruptedWriteError as error:
                _log.warning("a write was cut off and is done again: %s", error)
        return work(*args, **kwargs)

    return done


class Core:
    """An open memory, and what its uses share."""

    def __init__(
        self,
        location: str | Path | None = None,
        project: str | None = None,
        *,
        embedder: Embedder | None = None,
        llm: Llm | None = None,
        clock: Clock | None = None,
        consolidate_every: int = limits.CONSOLIDATE_EVERY_EPISODES,
        publish_after: int = limits.PUBLISH_AFTER_CREDITS,
        staleness: bool = True,
        checkout: bool = True,
        busy_timeout_ms: int | None = None,
        upgrade: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """`location`: a folder, a `.db` file, `postgresql://…`, or None for the nearest `.hardwon`
        folder upward, else the user's own. `project`: None for the checkout's name where the memory
        was looked for, `default` where it was named. `embedder` adds meaning to text search
        (`hardwon.outside.embedders` has some). `llm` writes rules when `consolidate(llm=True)` asks
        for them. `clock` tells the time, with a zone. `consolidate_every`: after so many episodes
        the memory is consolidated by itself, without the LLM; 0 means never. `publish_after`: a
        verified record that was credited so often is published; 0 means never. `staleness`: inside
        a git checkout, recall looks whether the files that hits are about are still what they were.
        `checkout`: whether the git checkout that we are in counts at all; not where others record
        from elsewhere, as through a server. `busy_timeout_ms`: how long to wait for other writers,
        where that is to be shorter than usual. `upgrade`: whether a file of an older version is
        brought to this one's format, after a backup beside it, of which `progress` is told; else it
        is refused (OlderFileError), as in a hook, which must not take long.
        """
        if llm is not None and not callable(getattr(llm, "complete", None)):
            raise InvalidInputError.one(
                "llm", llm, "something with a method complete(system, user), such as a ChatModel"
            )
        self._consolidate_every = intake.whole_number(
            "consolidate_every", consolidate_every, 0, limits.JSON_INT_ABS_MAX
        )
        self._publish_after = intake.whole_number(
            "publish_after", publish_after, 0, limits.JSON_INT_ABS_MAX
        )
        if busy_timeout_ms is not None:
            intake.whole_number("busy_timeout_ms", busy_timeout_ms, 0, limits.BUSY_TIMEOUT_MS)
        fit = all(hasattr(embedder, name) for name in ("name", "embed")) and not isinstance(
            embedder, type
        )
        if embedder is not None and not fit:
            raise InvalidInputError.one(
                "embedder", embedder, "an object with name, dimension and embed(texts)"
            )
        flags = (("staleness", staleness), ("checkout", checkout), ("upgrade", upgrade))
        for name, flag in flags:
            if not isinstance(flag, bool):
                raise InvalidInputError.one(name, flag, "true or false")
        self._llm = llm
        self._embedder = embedder
        here = current_folder()
        self._place = place.find(location, here)
        self.project = project_name(self._place.project if project is None else project)
        self._clock = clock or now
        self._request = threading.local()
        root = repository_root(here) if checkout else None
        self._repository = Repository(root) if root else None
        self._checkout = checkout_of(self._repository, here, self._place.path)
        self._watch = _watch_over(self._checkout) if staleness and self._checkout else None
        self._store: SqlStore = open_store(
            self._place, busy_timeout_ms, may_upgrade=upgrade, progress=progress
        )
        self._mirror: Mirror | None = None
        self._tokens: Tokens | None = None
        try:
            self._open_tree()
        except BaseException:
            self._store.close()
            raise

    @property
    def location(self) -> str:
        """The file that holds the memory; of a database the url, without the password."""
        return self._store.location

    def _is_at(self, other: Core) -> bool:
        """Whether both are one memory: the same file, by whatever name, or the same database."""
        mine, its = self._place.path, other._place.path
        return mine.samefile(its) if mine and its else self.location == other.location

    def __repr__(self) -> str:
        return f"Memory({self.location!r}, project={self.project!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the memory for every thread; closing twice is allowed."""
        mirror, self._mirror = self._mirror, None
        if self._tokens:
            self._tokens.close()
        try:
            if mirror:
                mirror.settle()
        finally:
            self._store.close()

    @contextmanager
    def _once(self, key: bytes, said: bytes) -> Iterator[None]:
        """For whoever may be asked the same thing twice: in the block, what is written first (a
        record, a status, a credit, a decision) is written once under this key, also by several
        processes. Where that happened before, nothing is written and `RepeatedError` tells what had
        been asked, as `said`, and the ids that it concerned. Of this thread alone.
        """
        self._request.current = _KeyedRequest(key, said)
        try:
            yield
        finally:
            self._request.current = None

    def _writing(self, *, alone: bool = True) -> AbstractContextManager[Writer]:
        """One transaction; `alone` as in `Store.write`. The first one of a request with a key keeps
        its key too.
        """
        request: _KeyedRequest | None = getattr(self._request, "current", None)
        if request and not request.kept:
            return self._writing_once(request, alone)
        return self._store.write(self.project, alone=alone)

    @contextmanager
    def _writing_once(self, request: _KeyedRequest, alone: bool) -> Iterator[Writer]:
        with self._store.write(self.project, alone=alone) as writer:
            request.ids.clear()
            before = writer.request(self.project, request.key)
            if before is not None:
                raise RepeatedError(before.said, before.ids)
            yield writer
            at_us = to_us(self._now())
            since_us = at_us - limits.REQUESTS_REMEMBERED_DAYS * limits.DAY_US
            writer.keep_request(
                self.project, request.key, Request(request.said, list(request.ids)), at_us, since_us
            )
        request.kept = True

    def _concerns(self, record_ids: Iterable[str]) -> None:
        """Records that the request under way, if it has a key, is about, or that it made."""
        request: _KeyedRequest | None = getattr(self._request, "current", None)
        if request and not request.kept:
            request.ids.update(dict.fromkeys(record_ids))

    def _now(self) -> datetime:
        """What the memory's clock says."""
        at = self._clock()
        if not isinstance(at, datetime) or at.utcoffset() is None:
            raise InvalidInputError.one(
                "clock", at, "a function that returns datetimes with a zone"
            )
        return at

    def _head(self) -> Head:
        return self._repository.head if self._repository else NO_HEAD

    def _prepare(self, record: R, head: Head = NO_HEAD) -> R:
        """The record as it will be kept: of this project, with its defaults, without secrets.
        `head`: where it is recorded here and now, and not brought from elsewhere.
        """
        if type(record) not in _RECORD_TYPES:
            kinds = ", ".join(model.__name__ for model in MODEL_OF_KIND.values())
            raise InvalidInputError.one("record", record, f"an instance of {kinds}")
        metadata = record.metadata
        if metadata.project_id not in ("", self.project):
            allowed = (
                f"{self.project!r}, the project this memory was opened for: open one with project=…"
            )
            raise InvalidInputError.one("metadata.project_id", metadata.project_id, allowed)
        changes: dict[str, Any] = {} if metadata.project_id else {"project_id": self.project}
        moment = metadata.context
        if head is not NO_HEAD and not moment.git_commit and not moment.git_branch:
            changes["context"] = moment.altered(git_commit=head.commit, git_branch=head.branch)
        if changes:
            record = record.altered(metadata=metadata.altered(**changes))
        if head is not NO_HEAD and self._checkout:
            from hardwon.memory.staleness import with_files_found

            record = with_files_found(record, self._checkout)
        return without_secrets(record)

    def _append(
        self, writer: Writer, records: Sequence[Record], given: Sequence[Record] = ()
    ) -> list[Planting]:
        """Keeps the records, which are what was `given` with its defaults; returns the files that
        are to be put in the tree when the transaction is through.
        """
        rows = [row_of(record) for record in records]
        appended = writer.append(rows)
        if appended.forgotten:
            raise ConflictError(
                f"record {appended.forgotten[0]} was forgotten and stays so: record it under a new "
                f"id"
            )
        if appended.conflicting:
            self._refuse_conflicts(
                writer, [_with_provenance_kept(writer, row, given) for row in appended.conflicting]
            )
        if hasattr(self._request, "current"):
            self._concerns(record.id for record in records)
        added = set(appended.added)
        recalled: dict[str, None] = {}
        for record in records:  # one that is here already claims nothing new
            if record.id in added:
                if record.metadata.validation.status != "hypothesis":
                    check_claim(record.metadata)
                if record.recalled and record.turned_out_well:
                    recalled |= dict.fromkeys(record.recalled)
        if recalled:
            self._publish_proven(writer, recalled)
        mirror = self._mirror_within(writer) if appended.has_tree else None
        if not mirror:
            return []
        return mirror.plant(
            writer,
            [(record, row) for record, row in zip(records, rows, strict=True) if row.id in added],
        )

    def _refuse_conflicts(self, writer: Writer, suspects: Iterable[Row]) -> None:
        for record_id in really_conflicting(writer, self.project, suspects):
            raise ConflictError(
                f"record {record_id} is kept already and says something else: records are "
                f"append-only; record the new "
                "version under an id of its own and supersede the old one"
            )

    def _publish_proven(self, writer: Writer, record_ids: Iterable[str]) -> None:
        """Those that were verified, and helped often enough since. Whoever may only record leaves
        it to the next who may.
        """
        for record_id in record_ids:
            may = self._publish_after and writer.may_govern(self.project)
            stored = writer.get(self.project, record_id) if may else None
            if not stored or stored.kind in INTERNAL_KINDS:
                continue
            record = record_of(stored)
            status, author = record.metadata.validation.status, record.metadata.source.author
            events = writer.events_of(self.project, record_id) if status == "verified" else []
            if not was_confirmed(events):  # what it says of itself is no confirmation
                continue
            helped, hindered = credits_of_others(events, author)
            more, less = writer.votes(self.project, record_id, author)
            helped, hindered = helped + more, hindered + less
            if proved_itself(status, helped, hindered, self._publish_after):
                at, why = self._now(), f"credited {helped} times"
                event = Event(
                    id=new_id(at),
                    record_id=record_id,
                    kind="status",
                    at=at,
                    by=BY_MEMORY,
                    status="published",
                    reason=why,
                )
                happen(writer, self.project, event)

    def _must_find(self, writer: Writer, record_id: str) -> Stored:
        stored = writer.get(self.project, record_id)
        if not stored:
            raise UnknownRecordError(f"there is no record {record_id} in project {self.project!r}")
        return stored

    def _must_get(self, writer: Writer, record_id: str) -> AnyRecord:
        return record_of(self._must_find(writer, record_id))

    def _happen(self, writer: Writer, event: Event) -> AnyRecord:
        happen(writer, self.project, event)
        self._concerns([event.record_id])
        return self._must_get(writer, event.record_id)

    def _decide(self, writer: Writer, decision: Decision) -> None:
        self._append(writer, [decision])
        from hardwon.memory import consolidate as consolidating

        consolidating.put_in_effect(writer, self.project, [decision])

    def _find_llm(self) -> Llm | None:
        from hardwon.outside.llm import ChatModel

        return ChatModel.from_environment(os.environ) if self._llm is None else self._llm

    @property
    def _known(self) -> Knowledge:
        from hardwon.memory.knowledge import Knowledge

        return Knowledge(self._store, self.project, to_us(self._now()) // limits.DAY_US)

    def _pages(
        self, filters: Filters, limit: int | None = None, *, trusted: bool = False
    ) -> Iterator[Stored]:
        before: Cursor | None = None
        size = limits.PAGE_ROWS if limit is None else min(limits.PAGE_ROWS, max(limit, 1))
        while page := self._store.page(self.project, filters, before, size, trusted=trusted):
            yield from page
            before = Cursor(page[-1].at_us, page[-1].id)

    @property
    def _tree(self) -> Mirror | None:
        """The tree of files that mirrors this memory's experiences; None where it has none."""
        if self._mirror is None:
            self._open_tree()
        return self._mirror

    def _open_tree(self) -> None:
        if self._place.path is None:
            return  # only a local file can have one beside it, and a database is not asked in vain
        with self._store.read(self.project) as session:
            mirror = self._find_tree(session)
        if mirror:
            mirror.open()

    def _find_tree(self, session: Session) -> Mirror | None:
        """Also where another process made it since this memory was opened."""
        if self._mirror is None and self._place.path and has_tree(session, self.project):
            mirror = designs.load(designs.MIRROR)
            self._mirror = mirror(
                self._store,
                session,
                self.project,
                self._place.path.parent,
                self._prepare,
                self._now,
            )
        return self._mirror

    def _mirror_within(self, writer: Writer) -> Mirror | None:
        return self._find_tree(writer.session)

    def _put_in_tree(self, planted: Sequence[Planting]) -> None:
        if planted and self._mirror:
            self._mirror.put(planted)

    def _placed(self, records: list[R], planted: Sequence[Planting]) -> list[R]:
        """The records, those that have a file knowing where it is."""
        if not planted or not self._mirror:
            return records
        paths = {planting.record_id: f"{self._mirror.root}/{planting.path}" for planting in planted}
        return [
            record.altered(path_in_tree=paths[record.id]) if record.id in paths else record
            for record in records
        ]

    def _catch_up(self) -> None:
        """Before a question is answered: what people did to the files of the tree."""
        if self._mirror:
            self._mirror.catch_up()

    def _follow_in_tree(self, *, settle: bool = False) -> None:
        """Files of records that were archived or forgotten go."""
        if self._mirror:
            self._mirror.follow(settle=settle)

    def _embed_query(self, query: str) -> Sequence[float]:
        from hardwon.outside import embedders

        self._check_embedder()
        return list(embedders.as_vectors(self._embedder, [query])[0]) if self._embedder else []

    def _check_embedder(self, within: Writer | None = None) -> None:
        """Vectors of two embedders must never be compared, or kept together."""
        kept = (within or self._store).embedder(self.project)
        if self._embedder and kept and kept != (self._embedder.name, self._embedder.dimension):
            raise EmbeddingError(
                f"the vectors kept here are of {kept[0]} ({kept[1]} numbers), not of "
                f"{self._embedder.name} "
                f"({self._embedder.dimension}): open the memory with the former, or run reembed() "
                f"to replace them"
            )

    def _vectors_of(self, records: Sequence[Record]) -> list[tuple[str, bytes]]:
        """The records' vectors. None where the embedder fails: a record is kept all the same, and
        reembed makes up for it.
        """
        if not self._embedder or not records:
            return []
        self._check_embedder()
        try:
            return embedded(self._embedder, records)
        except EmbeddingError as error:
            _log.warning("kept without vectors, which reembed() will add: %s", error)
            return []

    def _keep_vectors(self, writer: Writer, made: Sequence[tuple[str, bytes]]) -> None:
        if self._embedder and made:
            self._check_embedder(writer)
            if writer.embedder(self.project) is None:
                writer.set_embedder(self.project, self._embedder.name, self._embedder.dimension)
            writer.keep_vectors(self.project, made)


def checkout_of(
    repository: Repository | None, folder: Path, memory_file: Path | None
) -> Checkout | None:
    """The files beside a repository; None where there are none."""
    if repository is None or not repository.has_files:
        return None
    in_folder = memory_file is not None and memory_file.name in (
        place.FILE_NAME,
        place.FIX_HISTORY_FILE_NAME,
    )
    own_folder = memory_file.parent if memory_file and in_folder else None
    from hardwon.outside.git import Checkout

    return Checkout(repository, folder, memory_file, own_folder)


def _watch_over(checkout: Checkout) -> Watch:
    from hardwon.memory.staleness import Watch

    return Watch(checkout)


def embedded(embedder: Embedder, records: Sequence[Record]) -> list[tuple[str, bytes]]:
    """The records' ids and vectors, as a store keeps them."""
    from hardwon.outside import embedders

    rows = embedders.as_vectors(embedder, [searchable_text(record) for record in records])
    return [
        (record.id, row.astype("<f4").tobytes()) for record, row in zip(records, rows, strict=True)
    ]


def place_of(location: str | Path | None = None) -> str:
    """The `location` of the memory that `Memory(location)` opens, or would make: of a database,
    without the password.
    """
    return place.find(location, current_folder()).location


def memory_exists(location: str | Path | None = None) -> bool:
    """Whether `Memory(location)` opens something that is there. A database is taken to be: opening
    it tells.
    """
    path = place.find(location, current_folder()).path
    return path is None or files.exists(path)


def project_of(location: str | Path | None = None) -> str:
    """The project that `Memory(location)` works in, where none is named."""
    return place.find(location, current_folder()).project


def current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was deleted under us; an absolute location still works
        return Path("/")


def project_name(given: str) -> str:
    """The name as that of a project."""
    plain = type(given) is str and given.isprintable() and len(given) <= limits.NAME_CHARS_MAX
    # The model says what is wrong with any other. Opening a memory does not wait for pydantic to
    # build it.
    name = given if plain else Metadata(project_id=given).project_id
    told, secrets = redact(name)
    if not name.strip() or secrets:
        raise InvalidInputError.one("project", told, "a name that is neither empty nor a secret")
    return name


def _with_provenance_kept(writer: Writer, row: Row, given: Sequence[Record]) -> Row:
    """Of a record that is added again: with the commit and the files of when it was added first,
    where the caller says nothing about them. The code has moved on since; the record has not
    changed.
    """
    stored = writer.get(row.project_id, row.id)
    said = next((each.metadata.context for each in given if each.id == row.id), None)
    if stored is None or said is None:
        return row
    record, then = original_of(row), original_of(stored).metadata.context
    kept: dict[str, Any] = {}
    if not said.git_commit and not said.git_branch:
        kept |= {"git_commit": then.git_commit, "git_branch": then.git_branch}
    if not said.related_files:
        kept["related_files"] = then.related_files
    metadata = record.metadata
    return row_of(
        record.altered(metadata=metadata.altered(context=metadata.context.altered(**kept)))
    )


# --- what is derived ---


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def happen(writer: Writer, project: str, event: Event) -> None:
    """Something happens to a record now: the event is kept, and the record's standing follows."""
    writer.add_events(
        project, [clean_event(in_order(event, writer.events_of(project, event.record_id)))]
    )
    refresh_status(writer, project, event.record_id)
    stored = writer.get(project, event.record_id)
    if stored and stored.kind == "decision":
        decision = record_of(stored)
        if decision.metadata.validation.status == "archived":
            bring_back(writer, project, [decision.id])


def bring_back(writer: Writer, project: str, decision_ids: Iterable[str]) -> None:
    """Everything that these cleanups and compressions packed away."""
    for decision_id in decision_ids:
        for stored in writer.with_key(project, tidied_key(decision_id)):
            whole = restored(stored)
            if whole is None:
                raise ConflictError(
                    f"decision {decision_id} cannot be undone: the memory was compacted since, and "
                    f"what it took out of the "
                    "history is gone for good. A backup from before that has it"
                )
            fix = original_of(whole)
            row = row_of(fix, *standing_of(fix, writer.events_of(project, fix.id)))
            writer.replace(row._replace(body=whole.body, digest=whole.digest))


def in_order(event: Event, earlier: Sequence[Event]) -> Event:
    """A clock that stands still or was set back must not make what happens now count as having
    happened before.
    """
    if earlier and event.at_us <= earlier[-1].at_us:
        return event.altered(at=from_us(min(earlier[-1].at_us + 1, TIME_US_MAX)))
    return event


def refresh_status(writer: Writer, project: str, record_id: str) -> None:
    """Brings what is kept of a record's status in line with its events."""
    stored = writer.get(project, record_id)
    if stored:
        record = original_of(stored)
        effective, credited = standing_of(record, writer.events_of(project, record_id))
        changed = None if effective == record.metadata.validation else effective.to_json()
        writer.set_standing(project, record_id, effective.status, changed, credited)


def derive_again(row: Row, events: Iterable[Event]) -> Row:
    """The row as it should be."""
    record = original_of(row)
    return kept_row(row, record, *standing_of(record, list(events)))._replace(
        lessons=(), record=None
    )


def standing_of(record: Record, events: Sequence[Event]) -> tuple[Validation, tuple[int, int]]:
    """What a record's events add up to: how far it may be believed, and how often it helped and did
    not.
    """
    metadata = record.metadata
    return effective_validation(metadata.validation, events), credits_of(
        events, metadata.source.author
    )


def really_conflicting(writer: Writer, project: str, suspects: Iterable[Row]) -> list[str]:
    """Of rows whose id is kept with another body, the ids of those that say something else. Another
    status is not something else (a record that is read carries the one it has by then), nor is JSON
    of an older version.
    """
    conflicts = []
    for row in suspects:
        stored = writer.get(project, row.id)
        if stored and not same_content(original_of(stored), original_of(row)):
            conflicts.append(row.id)
    return conflicts


def same_content(one: Record, other: Record) -> bool:
    """But for the status. What left the history in one memory may be whole in the other."""
    if isinstance(one, Cleaned) or isinstance(other, Cleaned):
        return isinstance(one, Cleaned | Fix) and isinstance(other, Cleaned | Fix)
    return _without_validation(one) == _without_validation(other)


def _without_validation(record: Record) -> Record:
    return record.altered(metadata=record.metadata.altered(validation=Validation()))
