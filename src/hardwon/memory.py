"""`Memory`: the one way in. Each public method is one use; each write is one transaction.

A record going in is validated (`model`), gets its envelope's defaults, is cleaned of secrets (`govern`), and is appended. A
question going in becomes terms and filters (`recall`), the store finds candidates, and hits come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, Self, TypedDict, TypeVar, Unpack

from hardwon import limits, moving
from hardwon.errors import ConflictError, DamagedError, InvalidInputError, UnknownRecordError
from hardwon.fields import ABSENT, from_us, new_id, now
from hardwon.govern.cleaning import without_secrets
from hardwon.govern.lifecycle import check_transition, effective_validation
from hardwon.govern.redaction import redact
from hardwon.model import (
    MODEL_OF_KIND,
    AnyRecord,
    Entities,
    Episode,
    Event,
    Experience,
    Fact,
    FactType,
    Fix,
    Issue,
    Metadata,
    MistakeCard,
    Record,
    RelatedFile,
    Source,
    Status,
    Step,
    Trajectory,
    Validation,
    Verifier,
)
from hardwon.outside.git import NO_HEAD, Head, Repository, repository_root
from hardwon.recall.filters import Filters
from hardwon.recall.hit import Hit
from hardwon.recall.terms import query_terms
from hardwon.recorder import TrajectoryRecorder
from hardwon.reports import Backup, Diagnosis, Forgotten, LifeEvent, Loaded, Merged, Stats
from hardwon.store import files, jsonl, place
from hardwon.store.contract import Cursor, Finding, Progress, Store, Stored, Writer
from hardwon.store.rows import original_of, record_of, row_of
from hardwon.store.sqlite import SqliteStore
from hardwon.store.sqlite_file import restore as restore_file
from hardwon.upkeep import batches, derive_again, really_conflicting, refresh_status

Clock = Callable[[], datetime]
R = TypeVar("R", bound=Record)

_NOT_EXTRA_KEYS: Final = ("id", "kind", "metadata", "redacted")
_RECORD_TYPES: Final = frozenset[type](MODEL_OF_KIND.values())
_SAMPLE: Final = 3  # ids named in a finding; doctor counts the rest


class Envelope(TypedDict, total=False):
    """The keywords that every `record_*` and `remember` takes for the envelope; each has a default."""

    author: str
    source: Source | Mapping[str, Any]
    timestamp: datetime | str | int
    tags: Sequence[str]
    related_files: Sequence[str | Path]
    git_commit: str
    git_branch: str
    failure_hash: str


class Memory:
    """An experience memory: a folder, a `.db` file, or, with nothing said, the one that belongs to the current folder.

    Safe to use from several threads, processes and after a fork. Close it, or use it as a context manager.
    """

    def __init__(self, location: str | Path | None = None, project: str | None = None, *, clock: Clock | None = None) -> None:
        here = Path.cwd()
        found = place.find(location, here)
        self.project = Metadata(project_id=found.project if project is None else project).project_id
        if not self.project:
            raise InvalidInputError.one("project", project, "a name that is not empty")
        self._clock = clock or now
        root = repository_root(here)
        self._repository = Repository(root) if root else None
        self._here = here
        self._store: Store = SqliteStore(found.path)

    @property
    def location(self) -> str:
        """The file that holds the memory."""
        return self._store.location

    def __repr__(self) -> str:
        return f"Memory({self.location!r}, project={self.project!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the memory for every thread; closing twice is allowed."""
        self._store.close()

    # --- recording ----------------------------------------------------------------------------------------------

    def add(self, record: AnyRecord) -> str:
        """Keeps a record and returns its id once it is on disk. Adding the same record again changes nothing."""
        return self.add_many([record])[0]

    def add_many(self, records: Iterable[AnyRecord]) -> list[str]:
        """Keeps all of the records or, when one is refused, none. One transaction."""
        ids: list[str] = []
        with self._store.write() as writer:
            for batch in batches(records, limits.ADD_BATCH_ROWS):
                head = self._head()
                prepared = [self._prepare(record, head) for record in batch]
                self._append(writer, prepared)
                ids += [record.id for record in prepared]
        return ids

    def remember(
        self,
        content: str,
        outcome: str,
        tool: str | None = None,
        summary: str | None = None,
        **keys: Any,
    ) -> Experience:
        """Keeps an experience. `keys` are the key that the outcome and tool require, keys of your own, and the envelope's."""
        envelope = {name: keys.pop(name) for name in Envelope.__annotations__ if name in keys}
        for name in _NOT_EXTRA_KEYS:
            if name in keys:
                raise InvalidInputError.one(name, keys[name], "keys that no record has already")
        own = {"content": content, "outcome": outcome, "tool": tool, "summary": summary, **keys}
        return self._keep(Experience, own, envelope)

    def record_fact(
        self,
        content: str,
        fact_type: FactType,
        confidence: float = 0.5,
        entities: Entities | Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Fact:
        """Keeps one self-contained sentence."""
        own = {"content": content, "fact_type": fact_type, "confidence": confidence, "entities": entities or Entities()}
        return self._keep(Fact, own, envelope)

    def record_trajectory(
        self, task: str, steps: Sequence[Step | Mapping[str, Any]], final_reward: float, **envelope: Unpack[Envelope]
    ) -> Trajectory:
        """Keeps what was done step by step and how it ended."""
        return self._keep(Trajectory, {"task": task, "steps": list(steps), "final_reward": final_reward}, envelope)

    def record_episode(
        self,
        task_id: str,
        score: float,
        steps: int = 0,
        trajectory_summary: str = "",
        mistakes: Sequence[str] = (),
        successes: Sequence[str] = (),
        mistake_cards: Sequence[MistakeCard | Mapping[str, Any]] = (),
        **envelope: Unpack[Envelope],
    ) -> Episode:
        """Keeps one scored attempt at a task."""
        own = {
            "task_id": task_id,
            "score": score,
            "steps": steps,
            "trajectory_summary": trajectory_summary,
            "mistakes": list(mistakes),
            "successes": list(successes),
            "mistake_cards": list(mistake_cards),
        }
        return self._keep(Episode, own, envelope)

    def record_fix(
        self,
        issue: Issue | Mapping[str, Any],
        fix_success: bool,
        verification_success: bool,
        analysis: str = "",
        fix_commands: Sequence[str] = (),
        execution_time_seconds: float | None = None,
        system_info: Mapping[str, Any] | None = None,
        notes: str | None = None,
        fixer_type: str = "claude",
        confidence: float | None = None,
        **envelope: Unpack[Envelope],
    ) -> Fix:
        """Keeps one attempt to fix an issue: whether it was applied, and whether it was verified to work."""
        own = {
            "issue": issue,
            "fix_success": fix_success,
            "verification_success": verification_success,
            "analysis": analysis,
            "fix_commands": list(fix_commands),
            "execution_time_seconds": execution_time_seconds,
            "system_info": dict(system_info or {}),
            "notes": notes,
            "fixer_type": fixer_type,
            "confidence": confidence,
        }
        return self._keep(Fix, own, envelope)

    def trajectory(self, task: str, **envelope: Unpack[Envelope]) -> TrajectoryRecorder:
        """`with m.trajectory(task) as t: t.step(action, observation, reward)`: recorded whatever happens in the block."""
        return TrajectoryRecorder(self, task, envelope)

    def _keep(self, kind: type[R], own: dict[str, Any], envelope: Mapping[str, Any]) -> R:
        at = self._clock()
        metadata = self._metadata(envelope, at)
        prepared = self._prepare(kind(id=new_id(at), metadata=metadata, **own), self._head())
        with self._store.write() as writer:
            self._append(writer, [prepared])
        return prepared

    def _metadata(self, given: Mapping[str, Any], at: datetime) -> Metadata:
        unknown = [name for name in given if name not in Envelope.__annotations__]
        if unknown:
            allowed = f"the keywords {', '.join(Envelope.__annotations__)}"
            raise InvalidInputError.one(unknown[0], given[unknown[0]], allowed)
        source = given.get("source", {})
        source = source.model_dump() if isinstance(source, Source) else dict(source)
        if "author" in given:
            source["author"] = given["author"]
        moment: dict[str, Any] = {"timestamp": given.get("timestamp", at)}
        moment |= {name: given[name] for name in ("git_commit", "git_branch") if name in given}
        related = given.get("related_files", ())
        if isinstance(related, str | Path):
            raise InvalidInputError.one("related_files", related, "a list of paths")
        moment["related_files"] = [self._related(path) for path in related]
        return Metadata.model_validate(
            {
                "source": source,
                "context": moment,
                "validation": {"failure_hash": given.get("failure_hash")},
                "tags": list(given.get("tags", ())),
            }
        )

    def _related(self, path: str | Path) -> RelatedFile:
        """Hashed now; named from the repository's root where it is inside, so that another checkout knows it too."""
        absolute = (self._here / path).absolute()
        root = self._repository.root if self._repository else None
        name = absolute.relative_to(root) if root and absolute.is_relative_to(root) else Path(path)
        return RelatedFile(path=name.as_posix(), hash=files.sha1_of(absolute))

    def _head(self) -> Head:
        return self._repository.head if self._repository else NO_HEAD

    def _prepare(self, record: R, head: Head = NO_HEAD) -> R:
        """The record as it will be kept: of this project, with its defaults, without secrets."""
        if type(record) not in _RECORD_TYPES:
            kinds = ", ".join(model.__name__ for model in MODEL_OF_KIND.values())
            raise InvalidInputError.one("record", record, f"an instance of {kinds}")
        metadata = record.metadata
        if metadata.project_id not in ("", self.project):
            allowed = f"{self.project!r}, the project this memory was opened for: open one with project=…"
            raise InvalidInputError.one("metadata.project_id", metadata.project_id, allowed)
        changes: dict[str, Any] = {} if metadata.project_id else {"project_id": self.project}
        moment = metadata.context
        if head is not NO_HEAD and not moment.git_commit and not moment.git_branch:
            changes["context"] = moment.altered(git_commit=head.commit, git_branch=head.branch)
        if changes:
            record = record.altered(metadata=metadata.altered(**changes))
        return without_secrets(record)

    def _append(self, writer: Writer, records: Sequence[Record]) -> None:
        appended = writer.append([row_of(record) for record in records])
        if appended.forgotten:
            raise ConflictError(f"record {appended.forgotten[0]} was forgotten and stays so: record it under a new id")
        if appended.conflicting:
            by_id = {record.id: record for record in records}
            for record_id in really_conflicting(writer, self.project, appended.conflicting, by_id):
                raise ConflictError(
                    f"record {record_id} is kept already and says something else: records are append-only; record the "
                    "new version under an id of its own and supersede the old one"
                )

    # --- reading ------------------------------------------------------------------------------------------------

    def get(self, record_id: str) -> AnyRecord | None:
        """The record as it stands now, or None."""
        stored = self._store.get(self.project, str(record_id).lower())
        return record_of(stored) if stored else None

    def browse(self, limit: int | None = None, **filters: Any) -> Iterator[AnyRecord]:
        """Records that pass all filters, newest first. Nothing stays locked between two of them."""
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise InvalidInputError.one("limit", limit, "a whole number, 0 or more")
        return islice(map(record_of, self._pages(Filters.of(self.project, filters), limit)), limit)

    def _pages(self, filters: Filters, limit: int | None = None) -> Iterator[Stored]:
        before: Cursor | None = None
        size = limits.PAGE_ROWS if limit is None else min(limits.PAGE_ROWS, max(limit, 1))
        while page := self._store.page(self.project, filters, before, size):
            yield from page
            before = Cursor(page[-1].at_us, page[-1].id)

    def recall(self, query: str, k: int = 5, **filters: Any) -> list[Hit]:
        """The `k` records that match the query's words best. Archived ones only where `status="archived"` asks for them."""
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= limits.RECALL_K_MAX:
            raise InvalidInputError.one("k", k, f"a whole number from 1 to {limits.RECALL_K_MAX}")
        if not isinstance(query, str):
            raise InvalidInputError.one("query", query, "text")
        found = self._store.search(self.project, query_terms(query), Filters.of(self.project, filters), k)
        return [Hit(record_of(stored), score, {"text": score}) for stored, score in found]

    def stats(self) -> Stats:
        """How much there is, of what, and where."""
        counts = self._store.counts(self.project)
        return Stats(
            location=self.location,
            project=self.project,
            records=counts.records,
            events=counts.events,
            forgotten=counts.forgotten,
            by_kind=counts.by_kind,
            by_outcome=counts.by_outcome,
            by_tool=counts.by_tool,
            by_status=counts.by_status,
            by_author=counts.by_author,
            first=None if counts.first_us is None else from_us(counts.first_us),
            last=None if counts.last_us is None else from_us(counts.last_us),
            size_bytes=self._store.size_bytes(),
        )

    # --- what happens to a record later ---------------------------------------------------------------------------

    def verify(self, record_id: str, by: Verifier, verification_id: str | None = None) -> AnyRecord:
        """Vouches for a record: a test, a person or a compiler confirmed it."""
        details = {"verified_by": by, "verification_id": verification_id}
        return self._change_status(record_id, "verified", by, details)

    def publish(self, record_id: str, by: str = "user") -> AnyRecord:
        """Marks a verified record as one that proved itself."""
        return self._change_status(record_id, "published", by, {})

    def archive(self, record_id: str, reason: str, by: str = "user") -> AnyRecord:
        """Takes a record out of recall. It stays readable."""
        return self._change_status(record_id, "archived", by, {"reason": reason})

    def _change_status(self, record_id: str, to: Status, by: str, details: dict[str, Any]) -> AnyRecord:
        event = Event(record_id=record_id, kind="status", at=self._clock(), by=by, status=to, **details)
        with self._store.write() as writer:
            check_transition(self._must_get(writer, event.record_id).metadata.validation.status, to)
            return self._happen(writer, event)

    def supersede(self, old_id: str, new_id: str, reason: str, by: str = "user") -> AnyRecord:
        """Archives a record in favour of the one that replaces it; returns the old one as it stands now."""
        event = Event(record_id=old_id, kind="superseded", at=self._clock(), by=by, replaced_by=new_id, reason=reason)
        if event.record_id == event.replaced_by:
            raise InvalidInputError.one("new_id", new_id, "the id of another record")
        with self._store.write() as writer:
            self._must_get(writer, str(event.replaced_by))
            self._must_get(writer, event.record_id)
            return self._happen(writer, event)

    def audit(self, record_id: str) -> list[LifeEvent]:
        """A record's whole life, oldest first: created, and everything that happened to it since. A forgotten record has
        its tombstone left; an id that was never known gives an empty list."""
        stored = self._store.get(self.project, record_id)
        events = self._store.events_of(self.project, record_id)
        life = []
        envelope = Validation()
        if stored:
            metadata = original_of(stored).metadata
            envelope = metadata.validation
            life.append(LifeEvent("created", metadata.context.timestamp, metadata.source.author, envelope.status))
        for count, event in enumerate(events, 1):
            status = "" if event.kind == "forgotten" else effective_validation(envelope, events[:count]).status
            life.append(LifeEvent(event.kind, event.at, event.by, status, event))
        return life

    def _must_get(self, writer: Writer, record_id: str) -> AnyRecord:
        stored = writer.get(self.project, record_id)
        if not stored:
            raise UnknownRecordError(f"there is no record {record_id} in project {self.project!r}")
        return record_of(stored)

    def _happen(self, writer: Writer, event: Event) -> AnyRecord:
        writer.add_events(self.project, [_clean_event(event)])
        refresh_status(writer, self.project, event.record_id)
        return self._must_get(writer, event.record_id)

    def forget(
        self,
        ids_or_filters: str | Iterable[str] | Mapping[str, Any] = (),
        *,
        dry_run: bool = False,
        by: str = "user",
        **filters: Any,
    ) -> Forgotten:
        """Erases records for good: `forget(id)`, `forget([ids])`, or by filters, `forget(author="x")`. A tombstone without
        content stays, so that a merge or a load does not bring them back."""
        if isinstance(ids_or_filters, Mapping):
            filters = {**ids_or_filters, **filters}
            ids_or_filters = ()
        ids = [ids_or_filters] if isinstance(ids_or_filters, str) else list(ids_or_filters)
        if bool(ids) == bool(filters):
            raise InvalidInputError.one("ids_or_filters", ids or ABSENT, "ids or at least one filter, not both")
        if filters:
            ids = [stored.id for stored in self._pages(Filters.of(self.project, filters))]
        else:
            ids = [record_id for record_id in dict.fromkeys(ids) if self._store.get(self.project, record_id)]
        if dry_run or not ids:
            return Forgotten(ids, dry_run, erased=False, pending=False)
        for batch in batches(ids, limits.BATCH_ROWS):
            at = self._clock()
            tombstones = [Event(id=new_id(at), record_id=gone, kind="forgotten", at=at, by=by) for gone in batch]
            with self._store.write() as writer:
                writer.erase(self.project, batch, tombstones)
        erased = self._store.finish_erasure()
        return Forgotten(ids, dry_run, erased=erased, pending=not erased)

    # --- moving -------------------------------------------------------------------------------------------------

    def export(
        self,
        path: str | Path,
        format: Literal["jsonl"] = "jsonl",  # noqa: A002  # the word every user of an export looks for
        progress: Progress | None = None,
    ) -> int:
        """Writes every record of the project, as of one instant, one JSON object a line; returns how many."""
        if format != "jsonl":
            raise InvalidInputError.one("format", format, "jsonl")
        total = self._store.counts(self.project).records if progress else 0
        with closing(self._store.stream(self.project)) as records:
            return jsonl.write(Path(path).absolute(), records, total, progress)

    def load(self, path: str | Path, dry_run: bool = False, by: str = "user", progress: Progress | None = None) -> Loaded:
        """Adds the records of an exported file. The whole file is checked before anything is written. What is here already
        stays as it is; what is new lands as `hypothesis`, whatever it claims, and is otherwise unchanged."""
        return moving.load(self._store, self.project, Path(path), self._prepare, self._clock, by, dry_run, progress)

    def merge(self, other: Memory | str | Path, progress: Progress | None = None) -> Merged:
        """Brings in what another memory of the same project knows: its records, statuses and tombstones. Merging twice, or the
        other way round, gives the same memory. Where both keep an id with different content, each keeps its own."""
        opened = nullcontext(other) if isinstance(other, Memory) else Memory(other, self.project, clock=self._clock)
        with opened as source:
            if source.project != self.project:
                raise InvalidInputError.one("other", source.project, f"a memory of project {self.project!r}")
            if Path(source.location).samefile(self.location):
                raise InvalidInputError.one("other", source.location, "another memory than this one")
            return moving.merge(source._store, self._store, self.project, progress)

    def backup(self, path: str | Path, progress: Progress | None = None) -> Backup:
        """Copies the whole memory file as of one instant, while others write; verified, with a checksum beside it."""
        target = Path(path).absolute()
        checksum = self._store.backup(target, progress)
        return Backup(target, checksum, target.stat().st_size)

    @classmethod
    def restore(cls, path: str | Path, location: str | Path | None = None, progress: Progress | None = None) -> Path | None:
        """Puts a backup where the memory at `location` is, also while others have it open. Returns where the memory that
        was there is kept, or None if there was none."""
        target = place.find(location, Path.cwd()).path
        suffix = f"before-restore-{now():%Y%m%dT%H%M%S%fZ}"
        return restore_file(Path(path).absolute(), target, suffix, progress)

    # --- health -------------------------------------------------------------------------------------------------

    def doctor(self) -> Diagnosis:
        """Checks the file, and derives again everything that is derived from this project's records. Changes nothing."""
        findings = list(self._store.check())
        checked, wrong, damaged = 0, list[str](), list[str]()
        if all(finding.ok for finding in findings if finding.check in ("integrity", "schema")):
            for row in self._store.rows(self.project):
                checked += 1
                try:
                    if derive_again(self._store, self.project, row) != row:
                        wrong.append(row.id)
                except (DamagedError, InvalidInputError):
                    damaged.append(row.id)
            findings.append(_finding("records", damaged, f"{checked} records are what was written", "restore a backup"))
            findings.append(_finding("derived", wrong, f"{checked} records agree with what is derived", "run rebuild"))
        return Diagnosis(findings)

    def rebuild(self) -> int:
        """Derives again everything that is derived and corrects what differs; returns how many records that were."""
        corrected = 0
        for batch in batches(self._store.rows(self.project), limits.BATCH_ROWS):
            with self._store.write() as writer:
                for row in batch:
                    derived = derive_again(self._store, self.project, row)
                    if derived != row and writer.get(self.project, row.id):
                        writer.rewrite(derived)
                        corrected += 1
        return corrected


def _clean_event(event: Event) -> Event:
    if event.reason is None:
        return event
    return event.altered(reason=redact(event.reason)[0])


def _finding(check: str, ids: Sequence[str], fine: str, remedy: str) -> Finding:
    if not ids:
        return Finding(check, True, fine)
    return Finding(check, False, f"{len(ids)} records are not, for example {', '.join(ids[:_SAMPLE])}: {remedy}")
