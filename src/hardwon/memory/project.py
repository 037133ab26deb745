"""One project of one open memory, and what its uses share: its clock, a record made ready, one
transaction, requests that are safe to send again, what listens to it, and vectors.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, overload
from unicodedata import normalize

from hardwon import limits
from hardwon.errors import (
    ConflictError,
    EmbeddingError,
    InterruptedWriteError,
    InvalidInputError,
    LostFileError,
    RepeatedError,
    UnknownRecordError,
    log_warning,
)
from hardwon.first_use import lazy
from hardwon.memory.here import RecordedHere
from hardwon.memory.later import embedders, embedding, fix_lessons, llm, staleness, tokens
from hardwon.memory.places import (
    FILE_NAME,
    FIX_HISTORY_FILE_NAME,
    Place,
    current_folder,
    find_place,
    open_store,
)
from hardwon.memory.standing import bring_back, happen, put_in_effect, same_content
from hardwon.outside.files import find_home, repository_root
from hardwon.outside.git import NO_HEAD, Checkout, Head, Repository
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.fields import (
    EPOCH,
    check_all,
    check_flag,
    check_that,
    check_whole_number,
    new_id,
    to_us,
)
from hardwon.records.kinds import (
    INTERNAL_KINDS,
    MODEL_OF_KIND,
    NO_ORIGIN,
    OWN_HISTORY,
    VIA_IMPORT,
    Action,
    AnyRecord,
    Decision,
    Event,
    EventKind,
    Fix,
    Metadata,
    Moment,
    R,
    Record,
    Source,
    name_sources,
)
from hardwon.search.terms import Filters
from hardwon.store.base import DESIGNS, Writer, has_tree
from hardwon.store.query import counted_from, read_current, read_original, set_time
from hardwon.store.types import PAGE_ROWS, Cursor, Finding, Request, Row, Session, Stored
from hardwon.text.entities import path_words
from hardwon.text.terms import own_texts
from hardwon.trust.lifecycle import check_claim, credits_by_source, proved_itself, was_confirmed
from hardwon.trust.redact import clean_event, redact, without_secrets

if TYPE_CHECKING:
    from hardwon.memory import Memory
    from hardwon.memory.embedding import Embedding
    from hardwon.memory.fix_lessons import FixReading
    from hardwon.memory.staleness import Watch
    from hardwon.memory.tokens import Tokens
    from hardwon.outside.embedders import Embedder
    from hardwon.outside.llm import Llm

# And so many bytes of them, as JSON: ordinary records come by the thousand, the largest by the dozen.
_BATCH_BYTES: Final = 32 * limits.MIB

# How often a write is done again of which a lost connection kept nothing. A server that starts anew
# cuts a writer off once or twice; one that does so more often is not well, and whoever waits is
# told.
INTERRUPTED_WRITES_AGAIN_MAX: Final = 5

NO_LLM: Final = "no LLM is configured: open the memory with llm=…, or set GROQ_API_KEY, or API_BASE_URL to a local one"
Clock = Callable[[], datetime]
T = TypeVar("T")
_RECORD_TYPES: Final = frozenset[type](MODEL_OF_KIND.values())
# Who does what nobody asked for: what follows from what others did.
BY_MEMORY: Final = "hardwon"

# The designs that are built on a memory are imported when they are first needed.
DESIGNS.update(dict.fromkeys(("fix", "cleaned", "decision"), "hardwon.fixes.tables:FixTables"))

# What an adapter calls its entries (`adapters.items`): tags that no other record has.
ENTRY_NAME: Final = re.compile(r'[g-v]{32}|namespace \[".*')
MIRROR: Final = "hardwon.tree.mirror:Mirror"


class ProjectListener:
    """What a design does when a project changes or is read. Whatever it does not override does
    nothing.
    """

    def open(self) -> None:
        """The memory was just opened."""

    def on_append(self, change: Change, kept: Sequence[tuple[Record, Row]]) -> None:
        """In the transaction that keeps these records."""

    def on_erase(self, change: Change, record_ids: Sequence[str]) -> None:
        """In the transaction that erases these records, before it does."""

    def on_commit(self, *, erased: bool = False, restored: bool = False) -> None:
        """After statuses changed. `erased`: records are gone for good; `restored`: some may be back
        from the archive.
        """

    def before_read(self) -> None:
        """Before a question is answered."""

    def check(self) -> Iterable[Finding]:
        """What doctor is to know of it."""
        return ()

    def close(self) -> None:
        """The memory is closed next."""


@dataclass
class _KeyedRequest:
    """A request that is carried out once, whoever dies in between: its key is kept in the
    transaction that carries it out.
    """

    key: bytes
    fingerprint: bytes
    ids: dict[str, None] = field(default_factory=dict)


class Project:
    """One project of one open memory: what functions get besides their own arguments."""

    def __init__(
        self,
        where: Place,
        name: str,
        folder: Path | None,
        clock: Clock | None,
        embedder: Embedder | None,
        llm: Llm | None,
        busy_timeout_ms: int | None,
    ) -> None:
        """`folder` is the one that we are in, if that counts; the rest as in `Memory`."""
        self.place, self.name, self.embedder = where, project_name(name), embedder
        self._llm = llm
        self._seen_us = 0  # what a clock that was given showed last
        # What the memory's clock says.
        self.now: Clock = partial(self._read, clock) if clock else partial(datetime.now, UTC)
        self._request = threading.local()
        self._folder = folder
        self.listener = ProjectListener()  # none, until a design has one
        self.store = open_store(where, busy_timeout_ms)
        # After the store: what is done here before a fork, and at the end, comes before what it does.
        self._embedding = None if embedder is None else embedding.Embedding(embedder)
        try:
            self.find_listener()
        except BaseException:
            self.store.close()
            raise

    def close(self) -> None:
        listener, self.listener = self.listener, ProjectListener()
        try:
            if self._embedding:
                self._embedding.close(embedding.EMBED_CLOSE_WAIT_S)
            with suppress(LostFileError):  # where the memory is gone nothing is left to be done
                listener.close()
        finally:
            self.store.close()

    def _read(self, clock: Clock) -> datetime:
        at = clock()
        if not isinstance(at, datetime) or at.utcoffset() is None:
            allowed = "a function that returns datetimes with a zone"
            raise InvalidInputError.one("clock", at, allowed)
        self._seen_us = to_us(at)
        return at

    def date(self, records: Sequence[R]) -> Sequence[R]:
        """The records as they arrive now: nothing happened later than that, whatever they say."""
        times = (record.metadata.context.timestamp for record in records)
        latest_us = to_us(max(times, default=EPOCH))
        # what the clock has shown, or shows now
        now_us = self._seen_us if latest_us <= self._seen_us else to_us(self.now())
        if latest_us <= now_us:
            return records
        return [set_time(record, counted_from(record.at_us, now_us)) for record in records]

    @property
    def today(self) -> int:
        """Days since 1970, by the memory's clock."""
        return to_us(self.now()) // limits.DAY_US

    # Of the checkout that we are in; a question that is not about files does not look for it.

    @lazy
    def root(self) -> Path | None:
        """The root of the checkout; None where there is none."""
        return repository_root(self._folder) if self._folder else None

    @lazy
    def repository(self) -> Repository | None:
        """The repository that we are in; None where there is none."""
        return Repository(self.root) if self.root else None

    @lazy
    def checkout(self) -> Checkout | None:
        """The files beside it; None where there are none."""
        folder = self._folder
        return find_checkout(self.repository, folder, self.place.path) if folder else None

    @lazy
    def recorded_here(self) -> RecordedHere | None:
        """None where we are in no folder that counts, as in a server."""
        folder = self.root or self._folder
        return RecordedHere(self.store.location, self.name, folder) if folder else None

    @lazy
    def staleness(self) -> Watch | None:
        """What looks at its files; None where there are none."""
        return staleness.Watch(self.checkout) if self.checkout else None

    @property
    def head(self) -> Head:
        return self.repository.head if self.repository else NO_HEAD

    @property
    def knowledge(self) -> FixReading:
        return fix_lessons.FixReading(self)

    @property
    def llm(self) -> Llm | None:
        """The one that the memory was opened with, else the one that the environment names."""
        return llm.ChatModel.from_environment(os.environ) if self._llm is None else self._llm

    def prepare(self, record: R, head: Head | None = None) -> R:
        """The record as it will be kept: of this project, with its defaults, without secrets.
        `head`: where it is recorded here and now, and not brought from elsewhere.
        """
        if type(record) not in _RECORD_TYPES:
            kinds = ", ".join(model.__name__ for model in MODEL_OF_KIND.values())
            raise InvalidInputError.one("record", record, f"an instance of {kinds}")
        metadata = record.metadata
        if head is not None:
            if record.kind in INTERNAL_KINDS:
                raise made_elsewhere(record)
            if entry := next(filter(ENTRY_NAME.fullmatch, metadata.tags), None):
                allowed = "other tags: names of entries are reserved for the adapter that has them"
                raise InvalidInputError.one("tags", entry, allowed)
        if metadata.project_id not in ("", self.name):
            mine = f"{self.name!r}, the project this memory was opened for"
            allowed = f"{mine}: open one with project=…"
            raise InvalidInputError.one("metadata.project_id", metadata.project_id, allowed)
        changes: dict[str, Any] = {} if metadata.project_id else {"project_id": self.name}
        # look-alikes of one name are one source
        if not (author := metadata.source.author).isascii():
            author = normalize("NFKC", author)[: limits.NAME_CHARS_MAX]
            changes["source"] = metadata.source.copy_with(author=author)
        if author.endswith(VIA_IMPORT) or (author == OWN_HISTORY and head is not None):
            raise InvalidInputError.one("metadata.source.author", author, NO_ORIGIN)
        if head and head is not NO_HEAD and (here := self._here(record, head)):
            changes["context"] = metadata.context.copy_with(**here)
        if changes:
            record = record.copy_with(metadata=metadata.copy_with(**changes))
        return without_secrets(record)

    def _here(self, record: Record, head: Head) -> dict[str, Any]:
        """Commit and branch, and the files that the record's texts name, unless whoever recorded it
        named some.
        """
        moment = record.metadata.context
        here: dict[str, Any] = {}
        if not moment.git_commit and not moment.git_branch:
            here = {"git_commit": head.commit, "git_branch": head.branch}
        if self.checkout and not moment.related_files:
            words = path_words("\n".join(own_texts(record)))
            if words and (files := self.checkout.find(words)):
                here["related_files"] = files
        return here

    def decision(self, action: Action, by: str, **fields: Any) -> Decision:
        """A decision of now, as it will be kept. It is not in effect yet."""
        at = self.now()
        metadata = Metadata(source=Source(author=by), context=Moment(timestamp=at))
        return self.prepare(Decision(id=new_id(at), action=action, metadata=metadata, **fields))

    def carry_out(self, work: Callable[[Change], T], *, exclusive: bool = True) -> T:
        """Does the work in one transaction. Where the connection was lost and nothing was kept, it
        is done again.
        """
        for _ in range(INTERRUPTED_WRITES_AGAIN_MAX):
            try:
                with self.write(exclusive=exclusive) as change:
                    return work(change)
            except InterruptedWriteError as error:
                log_warning("a write was cut off and is done again: %s", error)
        with self.write(exclusive=exclusive) as change:
            return work(change)

    @contextmanager
    def write(self, *, exclusive: bool = True) -> Iterator[Change]:
        """One transaction; `exclusive` as in `Store.write`. The first one of a request with a key
        keeps its key too.
        """
        request: _KeyedRequest | None = getattr(self._request, "current", None)
        with self.store.write(self.name, alone=exclusive) as writer:
            change = Change(self, writer, request)
            if request:
                request.ids.clear()
                before = writer.request(self.name, request.key)
                if before is not None:
                    raise RepeatedError(before.fingerprint, before.ids)
            yield change
            if request:
                at_us = to_us(self.now())
                since_us = at_us - limits.REQUESTS_REMEMBERED_DAYS * limits.DAY_US
                asked = Request(request.fingerprint, list(request.ids))
                writer.keep_request(self.name, request.key, asked, at_us, since_us)
        self._request.current = None
        for do in change.afterwards:
            do()

    @contextmanager
    def once(self, key: bytes, fingerprint: bytes) -> Iterator[None]:
        """In the block, of this thread alone, the first transaction is carried out once under this
        key.
        """
        self._request.current = _KeyedRequest(key, fingerprint)
        try:
            yield
        finally:
            self._request.current = None

    def find_listener(self, session: Session | None = None) -> ProjectListener:
        """Also one that another process made since this memory was opened."""
        # only a local file can have a tree beside it
        if type(self.listener) is ProjectListener and self.place.path:
            with nullcontext(session) if session else self.store.read(self.name) as opened:
                if has_tree(opened, self.name):
                    where = self.name, find_home(self.place.path)
                    mirror = resolve_name(MIRROR)
                    self.listener = mirror(self.store, opened, *where, self.prepare, self.now)
            if session is None:
                self.listener.open()
        return self.listener

    def on_commit(self, *, erased: bool = False, restored: bool = False) -> None:
        """After statuses changed, or records were erased."""
        self.listener.on_commit(erased=erased, restored=restored)
        if erased:
            from hardwon.memory.skills import refresh

            refresh(self)

    def pages(
        self, filters: Filters, limit: int | None = None, *, trusted: bool = False
    ) -> Iterator[Stored]:
        """What passes the filters, the newest first, read a page at a time."""
        before: Cursor | None = None
        size = PAGE_ROWS if limit is None else min(PAGE_ROWS, max(limit, 1))
        while page := self.store.page(self.name, filters, before, size, trusted=trusted):
            yield from page
            before = Cursor(page[-1].at_us, page[-1].id)

    def embed_query(self, query: str) -> Sequence[float]:
        """The vector of a question; empty without an embedder."""
        self.check_embedder()
        self.embed()
        return list(embedders.as_vectors(self.embedder, [query])[0]) if self.embedder else []

    def embed(self, records: Sequence[Record] = ()) -> None:
        """Has the vectors made, in the background, of these records and of what was left without
        one.
        """
        if self._embedding:
            self._embedding.add(self, records)

    @property
    def embedding(self) -> Embedding:
        """What makes vectors in the background, where there is an embedder."""
        if self._embedding is None:
            allowed = "a memory that was opened with an embedder: Memory(…, embedder=…)"
            raise InvalidInputError.one("embedder", None, allowed)
        return self._embedding

    def check_embedder(self, within: Writer | None = None) -> None:
        """Vectors of two embedders must never be compared, or kept together."""
        kept, embedder = (within or self.store).embedder(self.name), self.embedder
        if embedder and kept and kept != (embedder.name, embedder.dimension):
            here = f"the vectors kept here are of {kept[0]} ({kept[1]} numbers)"
            raise EmbeddingError(
                f"{here}, not of {embedder.name} ({embedder.dimension}): open the memory with the "
                "former, or run reembed() to replace them"
            )


@dataclass
class Change:
    """One open transaction of a project. `paths`: of records that a listener gave a file."""

    project: Project
    writer: Writer
    request: _KeyedRequest | None = None
    afterwards: list[Callable[[], object]] = field(default_factory=list)
    paths: dict[str, str] = field(default_factory=dict)

    def concern(self, record_ids: Iterable[str]) -> None:
        """Tells which records the request under way, if it has a key, is about, or made."""
        if self.request:
            self.request.ids.update(dict.fromkeys(record_ids))

    def append(
        self,
        records: Sequence[R],
        originals: Sequence[Record] = (),
        *,
        in_order: bool = False,
        made_here: bool = False,
        rows: Sequence[Row] | None = None,
    ) -> list[R]:
        """Keeps the records, which are what was `given` with its defaults; as they are kept.
        `in_order`: their times are not only theirs to choose, but put one behind the other.
        `made_here`: whoever made them is in our checkout, if we are in one. `rows`: what they are
        kept as, where that was made before the transaction began; then they have their times, too.
        """
        if rows is None:
            records = records if in_order else self.project.date(records)
            rows = self.project.store.make_rows(self.project.name, records)
        appended = self.writer.append(rows)
        if appended.forgotten:
            raise ConflictError(
                f"record {appended.forgotten[0]} was forgotten and stays so: record it under a new "
                f"id"
            )
        moments = {original.id: original.metadata.context for original in originals}
        for row in appended.conflicting:
            if self.conflicts(row, moments.get(row.id)):
                raise ConflictError(
                    f"record {row.id} is kept already and says something else: records are "
                    "append-only; record the new version under an id of its own and supersede the "
                    "old one"
                )
        if self.request:
            self.concern(record.id for record in records)
        added = set(appended.added)
        if made_here and self.project.recorded_here:
            self.afterwards.append(partial(self.project.recorded_here.add, appended.added))
        self._check_new([record for record in records if record.id in added])
        if appended.has_tree:
            self.tell_listener(records, rows, added)
        return list(records)

    def _check_new(self, records: Iterable[Record]) -> None:
        """What was appended just now: it must not claim too much, and may prove what it recalled. One
        that was here already claims nothing new.
        """
        for record in records:
            if record.metadata.validation.status != "hypothesis":
                check_claim(record.metadata)
            if record.recalled and record.turned_out_well:
                self.publish_proven(dict.fromkeys(record.recalled))

    def conflicts(self, row: Row, moment: Moment | None = None) -> bool:
        """Whether the id of a row is kept with something else. Another status is not something
        else (a record that is read carries the one it has by then), nor is JSON of an older
        version; nor are the commit and the files of now, where the caller, who `said` this, says
        nothing about them: the code has moved on since, the record has not changed.
        """
        stored = self.writer.get(row.project_id, row.id)
        if stored is None:
            return False
        kept, record = read_original(stored), read_original(row)
        then, now_as_then = kept.metadata.context, dict[str, Any]()
        if moment and not moment.git_commit and not moment.git_branch:
            now_as_then |= {"git_commit": then.git_commit, "git_branch": then.git_branch}
        if moment and not moment.related_files:
            now_as_then["related_files"] = then.related_files
        metadata = record.metadata
        metadata = metadata.copy_with(context=metadata.context.copy_with(**now_as_then))
        return not same_content(kept, record.copy_with(metadata=metadata))

    def tell_listener(
        self, records: Sequence[Record], rows: Sequence[Row], added: Collection[str]
    ) -> None:
        """Tells a design that listens of what was new among these."""
        kept = [pair for pair in zip(records, rows, strict=True) if pair[1].id in added]
        self.project.find_listener(self.writer.session).on_append(self, kept)

    def with_places(self, records: list[R]) -> list[R]:
        """The records, those that have a file knowing where it is, and fixes their number."""
        for index, record in enumerate(records):
            if path := self.paths.get(record.id):
                records[index] = record.copy_with(path_in_tree=path)
            elif type(record) is Fix:
                number = self.writer.find_number(self.project.name, record.id)
                records[index] = record.copy_with(number_in_history=number)
        return records

    def publish_proven(self, record_ids: Iterable[str]) -> None:
        """Those that were verified, and helped often enough since. Whoever may only record leaves
        it to the next who may.
        """
        writer, name = self.writer, self.project.name
        if not writer.may_govern(name):
            return
        for record_id in record_ids:
            stored = writer.get(name, record_id)
            if not stored or stored.kind in INTERNAL_KINDS:
                continue
            record = read_current(stored)
            status, author = record.metadata.validation.status, record.metadata.source.author
            events = writer.list_events(name, record_id) if status == "verified" else []
            if not was_confirmed(events):  # what it says of itself is no confirmation
                continue
            credited = credits_by_source(events, writer.votes(name, record_id))
            for own_name in name_sources(author):
                credited.pop(own_name, None)
            if proved_itself(status, credited):
                helped = sum(good for good, _ in credited.values())
                reason = f"credited {helped} times by {len(credited)} sources"
                self.happen(record_id, "status", BY_MEMORY, status="published", reason=reason)

    def must_find(self, record_id: str) -> Stored:
        """The record as it is stored; UnknownRecordError where there is none."""
        name = self.project.name
        stored = self.writer.get(name, record_id)
        if not stored:
            raise UnknownRecordError(f"there is no record {record_id} in project {name!r}")
        return stored

    def must_get(self, record_id: str) -> AnyRecord:
        """The record; UnknownRecordError where there is none."""
        return read_current(self.must_find(record_id))

    def happen(self, record_id: str, kind: EventKind, by: str, **details: Any) -> None:
        """Something happens to a record now, and its status follows."""
        happen(self.writer, self.project.name, self.event(record_id, kind, by, **details))

    def event(self, record_id: str, kind: EventKind, by: str, **details: Any) -> Event:
        """What happens to a record now."""
        at = self.project.now()
        return Event(id=new_id(at), record_id=record_id, kind=kind, at=at, by=by, **details)

    def add_event(self, event: Event, *, restored: bool = False) -> AnyRecord:
        """As `happen`, at a caller's request: the record as it stands now."""
        happen(self.writer, self.project.name, event)
        self.concern([event.record_id])
        self.follow(restored=restored)
        return self.must_get(event.record_id)

    def follow(self, *, erased: bool = False, restored: bool = False) -> None:
        """After the commit, listeners are told that statuses changed."""
        self.afterwards.append(partial(self.project.on_commit, erased=erased, restored=restored))

    def erase(self, record_ids: list[str], by: str) -> list[str]:
        """Those of the records that are there: whoever forgets the same at the same time tells of
        the others.
        """
        known = [gone for gone in record_ids if self.writer.get(self.project.name, gone)]
        # of a cleanup whose decision goes
        bring_back(self.writer, self.project.name, known)
        self.bury([clean_event(self.event(gone, "forgotten", by)) for gone in known])
        self.follow(erased=True)
        return known

    def bury(self, tombstones: Sequence[Event]) -> int:
        """Erases the records of these tombstones, as far as they are here; how many were."""
        record_ids = [event.record_id for event in tombstones]
        self.project.find_listener(self.writer.session).on_erase(self, record_ids)
        return self.writer.erase(self.project.name, record_ids, tombstones)

    def decide(self, decision: Decision) -> Decision:
        """Keeps a decision of this memory's own, and puts it in effect."""
        self.append([decision])
        put_in_effect(self.writer, self.project.name, [decision])
        in_effect = decision.metadata.validation.copy_with(status="verified")
        return decision.copy_with(metadata=decision.metadata.copy_with(validation=in_effect))

    def embed(self, records: Sequence[Record]) -> None:
        """Has the vectors of these made when they are kept. Refuses them where those of another
        embedder are kept.
        """
        if self.project.embedder and records:
            self._stamp(self.project.embedder)
            self.afterwards.append(partial(self.project.embed, records))

    def keep_vectors(self, made: Sequence[tuple[str, bytes]]) -> None:
        if self.project.embedder and made:
            self._stamp(self.project.embedder)
            self.writer.keep_vectors(self.project.name, made)

    def _stamp(self, embedder: Embedder) -> None:
        self.project.check_embedder(self.writer)
        if self.writer.embedder(self.project.name) is None:
            self.writer.set_embedder(self.project.name, embedder.name, embedder.dimension)


def find_checkout(
    repository: Repository | None, folder: Path, memory_file: Path | None
) -> Checkout | None:
    """The files beside a repository; None where there are none."""
    if repository is None or not repository.has_files:
        return None
    in_folder = memory_file and memory_file.name in (FILE_NAME, FIX_HISTORY_FILE_NAME)
    home = find_home(memory_file) if memory_file and in_folder else None
    return Checkout(repository, folder, memory_file, home)


def made_elsewhere(record: Record) -> InvalidInputError:
    """A decision changes what others are believed, and what was adopted stands for records that
    nobody has: a caller does not add one like something that was tried.
    """
    allowed = (
        "records of other kinds: decisions are made by rollback, consolidate and undo, what was "
        "adopted is brought by take_in"
    )
    return InvalidInputError.one("record", record.id, allowed)


def project_name(name_given: str) -> str:
    """The name as that of a project."""
    if name_given == DEFAULT_PROJECT:
        return name_given
    is_line = type(name_given) is str and name_given.isprintable()
    # The model says what is wrong with any other. Opening a memory does not wait for pydantic to
    # build it.
    plain = is_line and len(name_given) <= limits.NAME_CHARS_MAX
    name = name_given if plain else Metadata(project_id=name_given).project_id
    clean, secrets = redact(name)
    allowed = "a name that is neither empty nor a secret"
    check_that(name.strip() and not secrets, "project", clean, allowed)
    return name


class Group:
    """Some of the uses of a memory: those that hang on a noun, such as `memory.fixes`, and those
    that `Memory` has itself.
    """

    def __init__(self, project: Project) -> None:
        self._project = project

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of the project {self._project.name}>"


class Opened(Group):
    """A memory that is open, for one of its projects: the part of `Memory` that opens and closes
    it.
    """

    def __init__(
        self,
        location: str | Path | None = None,
        project: str | None = None,
        *,
        embedder: Embedder | None = None,
        llm: Llm | None = None,
        clock: Clock | None = None,
        checkout: bool = True,
        busy_timeout_ms: int | None = None,
    ) -> None:
        """`location`: a folder, a `.db` file, `postgresql://…`, or None for the nearest `.hardwon`
        folder upward, else the user's own. `project`: None for the checkout's name where the memory
        was looked for, `default` where it was named. `embedder` adds meaning to text search
        (`hardwon.outside.embedders` has some). `llm` writes rules when `consolidate(llm=True)` asks
        for them. `clock` tells the time, with a zone. `checkout`: whether
        the git checkout that we are in counts at all (its commit, its files); not where others
        record from elsewhere, as through a server. `busy_timeout_ms`: how long to wait for other
        writers, where that is to be shorter than usual.
        """
        wait = busy_timeout_ms
        asks = llm is None or callable(getattr(llm, "complete", None))
        has_both = hasattr(embedder, "name") and hasattr(embedder, "embed")
        embeds = embedder is None or (has_both and not isinstance(embedder, type))
        complete = "something with a method complete(system, user), such as a ChatModel"
        embed = "an object with name, dimension and embed(texts)"
        check_all(
            lambda: check_that(asks, "llm", llm, complete),
            lambda: check_whole_number("busy_timeout_ms", wait or 0, 0, limits.BUSY_TIMEOUT_MS),
            lambda: check_that(embeds, "embedder", embedder, embed),
            lambda: check_flag("checkout", checkout),
        )
        folder = current_folder()
        where = find_place(location, folder)
        name, counts = where.project if project is None else project, folder if checkout else None
        self._project = Project(where, name, counts, clock, embedder, llm, busy_timeout_ms)
        self.project = self._project.name
        self._tokens: Tokens | None = None

    @property
    def location(self) -> str:
        """The file that holds the memory; of a database the url, without the password."""
        return self._project.store.location

    @property
    def elsewhere(self) -> list[str]:
        """The projects that have records, where this one has none: perhaps one of them is meant."""
        there = self._project.store.projects()
        return [] if self.project in there else there

    @property
    def tokens(self) -> Tokens:
        """Who may reach this memory from outside: for servers, and for `hardwon tokens`."""
        if self._tokens is None:
            self._tokens = tokens.Tokens(self._project.store.tokens(), self._project.now)
        return self._tokens

    def __repr__(self) -> str:
        return f"Memory({self.location!r}, project={self.project!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the memory for every thread; closing twice is allowed."""
        if self._tokens:
            self._tokens.close()
        self._project.close()


G = TypeVar("G", bound=Group)


class Noun(Generic[G]):
    """Where a group hangs on `Memory`; "module:class" is imported when it is first asked for."""

    def __init__(self, where: str) -> None:
        self._where = where

    @overload
    def __get__(self, memory: None, owner: type) -> type[G]: ...

    @overload
    def __get__(self, memory: Memory, owner: type) -> G: ...

    def __get__(self, memory: Memory | None, owner: type) -> type[G] | G:
        group: type[G] = resolve_name(self._where)
        return group if memory is None else group(memory._project)


def batches(
    items: Iterable[T], size: int, bytes_of: Callable[[T], int] | None = None
) -> Iterator[list[T]]:
    """So many at a time; where it is told how large they are, fewer of large ones."""
    batch: list[T] = []
    size_bytes = 0
    for item in items:
        batch.append(item)
        size_bytes += bytes_of(item) if bytes_of else 0
        if len(batch) == size or size_bytes > _BATCH_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch
