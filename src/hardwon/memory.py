"""`Memory`: the one way in. Each public method is one use; each write is one transaction.

A record going in is validated (`model`), gets its envelope's defaults, is cleaned of secrets (`govern`), and is appended. A
question going in becomes terms and filters (`recall`), the store finds candidates, and hits come back.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, Unpack
from uuid import UUID

from hardwon import consolidating, intake, limits, moving
from hardwon.errors import (
    ConflictError,
    DamagedError,
    EmbeddingError,
    HardwonError,
    InvalidInputError,
    LlmError,
    PlaceError,
    UnknownRecordError,
)
from hardwon.fields import ABSENT, TIME_US_MAX, from_us, new_id, now, to_us
from hardwon.govern.cleaning import clean_event, without_secrets
from hardwon.govern.lifecycle import check_transition, effective_validation, standing_beneath
from hardwon.govern.redaction import redact, redact_json
from hardwon.govern.trust import check_claim, credits_of_others, proved_itself, was_confirmed
from hardwon.intake import Envelope
from hardwon.knowledge import Knowledge
from hardwon.learn.confidence import Odds
from hardwon.learn.lessons import DAY_US
from hardwon.learn.patterns import ModelInsights, Pattern, Solution, Strategy, TemporalPattern
from hardwon.learn.rules import Card, Rule, RuleState, ScoreHistory
from hardwon.model import (
    ACTIONS,
    INTERNAL_KINDS,
    LOCAL_ACTIONS,
    MODEL_OF_KIND,
    ROUTES,
    Action,
    Adopted,
    AnyRecord,
    Cleaned,
    Decision,
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
    Status,
    Step,
    Trajectory,
    Validation,
    Verifier,
)
from hardwon.outside import embedders
from hardwon.outside.embedders import Embedder
from hardwon.outside.git import NO_HEAD, Head, Repository, repository_root
from hardwon.outside.llm import ChatModel, Llm
from hardwon.recall.advice import Advice
from hardwon.recall.filters import Filters
from hardwon.recall.hit import Hit
from hardwon.recall.searchable import searchable_text
from hardwon.recall.tokens import count_tokens
from hardwon.recalling import Context, Recaller
from hardwon.recorder import EpisodeRecorder, TrajectoryRecorder
from hardwon.reports import (
    Backup,
    CleanedUp,
    Compacted,
    Compressed,
    Consolidation,
    Diagnosis,
    Forgotten,
    LifeEvent,
    Links,
    Loaded,
    Merged,
    SimilarIssues,
    StaleReport,
    Stats,
    Synced,
)
from hardwon.store import files, jsonl, place
from hardwon.store.contract import Cursor, Finding, Progress, Row, Store, Stored, Writer
from hardwon.store.rows import original_of, record_of, restored, row_of
from hardwon.store.sqlite import SqliteStore, SqliteWriter
from hardwon.store.sqlite_file import restore as restore_file
from hardwon.store.tree_index import Tree, TreeIndex
from hardwon.upkeep import batches, bring_back, derive_again, happen, really_conflicting, refresh_status

if TYPE_CHECKING:
    from hardwon.checking import Watch
    from hardwon.feedback import RanTest, TestFeedback
    from hardwon.fix_history import FixHistory
    from hardwon.learn.compare import Comparison
    from hardwon.learn.fix_reports import FixCell, FixDay, FixerRecord, FixTotals, IssueTrend
    from hardwon.mirroring import Mirror, Planting
    from hardwon.outside.checkout import Checkout
    from hardwon.outside.git import Commit
    from hardwon.recall.topology import Branch, FolderCount, Hotspot, Reflection
    from hardwon.tidying import Tidy

_log = logging.getLogger("hardwon")

Clock = Callable[[], datetime]
R = TypeVar("R", bound=Record)

_NOT_EXTRA_KEYS: Final = ("id", "kind", "metadata", "redacted", "unrouted", "own_schema")
_RECORD_TYPES: Final = frozenset[type](MODEL_OF_KIND.values())
_MADE_ELSEWHERE: Final = (
    "records of other kinds: decisions are made by rollback, consolidate and undo, what was adopted is brought by take_in"
)
BY_MEMORY: Final = "hardwon"
"""Who does what nobody asked for: what follows from what others did."""
_NO_LLM: Final = "no LLM is configured: open the memory with llm=…, or set GROQ_API_KEY, or API_BASE_URL to a local one"
_SAMPLE: Final = 3  # ids named in a finding; doctor counts the rest


class Memory:
    """An experience memory: a folder, a `.db` file, or, with nothing said, the one that belongs to the current folder.

    Safe to use from several threads, processes and after a fork. Close it, or use it as a context manager.
    """

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
        busy_timeout_ms: int | None = None,
    ) -> None:
        """`embedder` adds meaning to text search (`hardwon.outside.embedders` has some). `llm` writes rules when
        `consolidate(llm=True)` asks for them. `consolidate_every`: after so many episodes the memory is consolidated by itself,
        without the LLM; 0 means never. `publish_after`: a verified record that was credited so often is published; 0 means
        never. `staleness`: inside a git checkout, recall looks whether the files that hits are about are still what they
        were. `busy_timeout_ms`: how long to wait for other writers, where that is to be shorter than usual."""
        if llm is not None and not callable(getattr(llm, "complete", None)):
            raise InvalidInputError.one("llm", llm, "something with a method complete(system, user), such as a ChatModel")
        self._consolidate_every = intake.whole_number("consolidate_every", consolidate_every, 0, limits.JSON_INT_ABS_MAX)
        self._publish_after = intake.whole_number("publish_after", publish_after, 0, limits.JSON_INT_ABS_MAX)
        if busy_timeout_ms is not None:
            intake.whole_number("busy_timeout_ms", busy_timeout_ms, 0, limits.BUSY_TIMEOUT_MS)
        fit = all(hasattr(embedder, name) for name in ("name", "embed")) and not isinstance(embedder, type)
        if embedder is not None and not fit:
            raise InvalidInputError.one("embedder", embedder, "an object with name, dimension and embed(texts)")
        if not isinstance(staleness, bool):
            raise InvalidInputError.one("staleness", staleness, "true or false")
        self._llm = llm
        self._embedder = embedder
        here = _current_folder()
        found = place.find(location, here)
        self.project = _project_name(found.project if project is None else project)
        self._caller_clock = clock or now
        root = repository_root(here)
        self._repository = Repository(root) if root else None
        self._checkout = _checkout_of(self._repository, here, found.path)
        self._watch = _watch_over(self._checkout) if staleness and self._checkout else None
        self._store: Store = SqliteStore(found.path, busy_timeout_ms=busy_timeout_ms)
        self._mirror: Mirror | None = None
        self._open_tree()

    @classmethod
    def place_of(cls, location: str | Path | None = None) -> Path:
        """The file of the memory that `Memory(location)` opens, or would make."""
        return place.find(location, _current_folder()).path

    @classmethod
    def project_of(cls, location: str | Path | None = None) -> str:
        """The project that `Memory(location)` works in, where none is named."""
        return place.find(location, _current_folder()).project

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
        mirror, self._mirror = self._mirror, None
        try:
            if mirror:
                mirror.settle()
        finally:
            self._store.close()

    # --- recording ----------------------------------------------------------------------------------------------

    def add(self, record: AnyRecord) -> str:
        """Keeps a record and returns its id once it is on disk. Adding the same record again changes nothing."""
        return self.keep(record).id

    def add_many(self, records: Iterable[AnyRecord]) -> list[str]:
        """Keeps all of the records or, when one is refused, none. One transaction."""
        return [record.id for record in self.keep_many(records)]

    def keep_many(self, records: Iterable[R]) -> list[R]:
        """As `add_many`, and returns the records as they were kept."""
        given = intake.items("records", records)  # all of them first: no code of the caller's runs while others wait
        kept: list[R] = []
        head = self._head()
        ready = given
        if self._embedder:  # before anybody waits for us: a model takes its time
            ready = [self._prepare(_recordable(record), head) for record in given]
        made = self._vectors_of(ready)
        planted: list[Planting] = []
        with self._store.write() as writer:
            for batch in batches(zip(ready, given, strict=True), limits.ADD_BATCH_ROWS):
                prepared = [self._prepare(_recordable(record), head) for record, _ in batch]
                planted += self._append(writer, prepared, [record for _, record in batch])
                kept += prepared
            self._keep_vectors(writer, made)
        self._put_in_tree(planted)
        if any(type(record) is Episode for record in given):
            self._consolidate_when_due()
        return self._placed(kept, planted)

    def remember(
        self,
        /,
        content: str,
        outcome: str,
        tool: str | None = None,
        summary: str | None = None,
        **keys: Any,
    ) -> Experience:
        """Keeps an experience. `keys` are the key that the outcome and tool require, keys of your own, and the envelope's."""
        envelope = {name: keys.pop(name) for name in intake.ENVELOPE_KEYWORDS if name in keys}
        for name in _NOT_EXTRA_KEYS:
            if name in keys:
                raise InvalidInputError.one(name, keys[name], "keys that no record has already")
        if isinstance(summary, str):
            summary = redact(summary)[0]  # before it is made filename-safe: afterwards a secret would not be recognised
        own = {"content": content, "outcome": outcome, "tool": tool, "summary": summary, **keys}
        return self._keep(Experience, own, envelope)

    def record_fact(
        self,
        content: str,
        fact_type: FactType,
        confidence: float = 0.5,
        entities: Entities | Mapping[str, Any] | None = None,
        restate: bool = False,
        **envelope: Unpack[Envelope],
    ) -> Fact:
        """Keeps one self-contained sentence. The names in it are added to the entities, times such as "yesterday" get their
        date, and what keeps it from standing alone is told in `findings`. `restate=True` has the LLM write it anew, if it can.
        Who says again what is known strengthens it: the first fact comes back, and no other is kept."""
        from hardwon import facts  # its patterns take longer to compile than everything else that is imported

        if not isinstance(restate, bool):
            raise InvalidInputError.one("restate", restate, "true or false")
        given = self._made(
            Fact,
            {
                "content": content,
                "fact_type": fact_type,
                "confidence": confidence,
                "entities": Entities() if entities is None else entities,
            },
            envelope,
        )
        fact = facts.stated(self._prepare(given, self._head()))
        if restate:
            fact = self._restated(fact)
        return self._keep_or_repeat(fact)

    def _restated(self, fact: Fact) -> Fact:
        from hardwon import facts

        try:
            llm = self._find_llm()
        except LlmError as error:
            _log.warning("the fact is kept as it was said: %s", error)
            return fact
        if llm is None:
            raise InvalidInputError.one("restate", True, f"false: {_NO_LLM}")
        return self._prepare(facts.restated(fact, llm))

    def _keep_or_repeat(self, fact: Fact) -> Fact:
        from hardwon import facts

        made = self._vectors_of([fact])
        planted: list[Planting] = []
        with self._store.write() as writer:
            first = facts.said_before(writer, self.project, fact)
            if first is None:
                planted = self._append(writer, [fact])
                self._keep_vectors(writer, made)
            else:
                facts.repeat(writer, self.project, first, fact, self._clock())
        self._put_in_tree(planted)
        return first or fact

    def record_trajectory(
        self, task: str, steps: Sequence[Step | Mapping[str, Any]], final_reward: float, **envelope: Unpack[Envelope]
    ) -> Trajectory:
        """Keeps what was done step by step and how it ended."""
        return self._keep(
            Trajectory, {"task": task, "steps": intake.items("steps", steps), "final_reward": final_reward}, envelope
        )

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
            "mistakes": intake.items("mistakes", mistakes),
            "successes": intake.items("successes", successes),
            "mistake_cards": [
                redact_json(card)[0] if isinstance(card, dict) else card  # before evidence and lesson are cut
                for card in intake.items("mistake_cards", mistake_cards)
            ],
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
            "fix_commands": intake.items("fix_commands", fix_commands),
            "execution_time_seconds": execution_time_seconds,
            "system_info": {} if system_info is None else intake.mapping("system_info", system_info),
            "notes": notes,
            "fixer_type": fixer_type,
            "confidence": confidence,
        }
        return self._keep(Fix, own, envelope)

    def trajectory(self, task: str, **envelope: Unpack[Envelope]) -> TrajectoryRecorder:
        """`with m.trajectory(task) as t: t.step(action, observation, reward)`: recorded whatever happens in the block."""
        return TrajectoryRecorder(self, task, envelope)

    def episode(self, task_id: str, **envelope: Unpack[Envelope]) -> EpisodeRecorder:
        """`with m.episode(task_id) as ep: ep.mistake(text); ep.score = 0.4`: recorded whatever happens in the block."""
        return EpisodeRecorder(self, task_id, envelope)

    def _keep(self, kind: type[R], own: dict[str, Any], envelope: Mapping[str, Any]) -> R:
        return self.keep(self._made(kind, own, envelope))

    def _made(self, kind: type[R], own: dict[str, Any], envelope: Mapping[str, Any]) -> R:
        at = self._clock()
        metadata = intake.metadata(envelope, at, self._repository.root if self._repository else None, self.location)
        recalled = _recalled(envelope.get("recalled"))
        return kind(id=new_id(at), metadata=metadata, recalled=recalled, **own)

    def keep(self, record: R) -> R:
        """As `add`, and returns the record as it was kept: with its defaults, without its secrets."""
        prepared = self._prepare(_recordable(record), self._head())
        made = self._vectors_of([prepared])
        with self._store.write() as writer:
            planted = self._append(writer, [prepared], [record])
            self._keep_vectors(writer, made)
            number = writer.number_of(self.project, prepared.id) if type(prepared) is Fix else None
        self._put_in_tree(planted)
        if type(prepared) is Episode:
            self._consolidate_when_due()
        kept = self._placed([prepared], planted)[0]
        return kept if number is None else kept.altered(number_in_history=number)

    def now(self) -> datetime:
        """What the memory's clock says."""
        return self._clock()

    def _clock(self) -> datetime:
        at = self._caller_clock()
        if not isinstance(at, datetime) or at.utcoffset() is None:
            raise InvalidInputError.one("clock", at, "a function that returns datetimes with a zone")
        return at

    def _head(self) -> Head:
        return self._repository.head if self._repository else NO_HEAD

    def _prepare(self, record: R, head: Head = NO_HEAD) -> R:
        """The record as it will be kept: of this project, with its defaults, without secrets. `head`: where it is recorded
        here and now, and not brought from elsewhere."""
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
        if head is not NO_HEAD and self._checkout:
            from hardwon.checking import with_files_found  # only inside a checkout

            record = with_files_found(record, self._checkout)
        return without_secrets(record)

    def _append(self, writer: Writer, records: Sequence[Record], given: Sequence[Record] = ()) -> list[Planting]:
        """Keeps the records, which are what was `given` with its defaults; returns the files that are to be put in the tree
        when the transaction is through."""
        rows = [row_of(record) for record in records]
        appended = writer.append(rows)
        if appended.forgotten:
            raise ConflictError(f"record {appended.forgotten[0]} was forgotten and stays so: record it under a new id")
        suspects = [_with_provenance_kept(writer, row, given) for row in appended.conflicting]
        for record_id in really_conflicting(writer, self.project, suspects):
            raise ConflictError(
                f"record {record_id} is kept already and says something else: records are append-only; record the new "
                "version under an id of its own and supersede the old one"
            )
        added = set(appended.added)
        for record in records:  # one that is here already claims nothing new
            if record.id in added:
                check_claim(record.metadata)
        worked = [record for record in records if record.recalled and record.id in added and record.turned_out_well]
        self._publish_proven(writer, dict.fromkeys(each for record in worked for each in record.recalled or ()))
        mirror = self._mirror_within(writer)
        if not mirror:
            return []
        return mirror.plant(writer, [(record, row) for record, row in zip(records, rows, strict=True) if row.id in added])

    # --- the tree of files ----------------------------------------------------------------------------------------

    @property
    def tree(self) -> Mirror | None:
        """The tree of files that mirrors this memory's experiences; None where it has none."""
        if self._mirror is None:
            self._open_tree()
        return self._mirror

    def make_tree(self, schema: Mapping[str, Any] | None = None) -> Mirror:
        """Gives the memory a tree of files in its own folder, routed by the standard schema or by one of your own. Where it has
        one already, that stays, and `schema` must be its own or nothing."""
        from hardwon.routing import Coherence  # with the rest of the tree: only whoever has one waits for it

        Coherence(schema)  # what is wrong with a schema is told before anything changes
        routes = "" if schema is None else json.dumps(schema)
        with self._store.write() as writer:
            index = _tree_of(writer, self.project)
            other = index.other_project()
            if other is not None:
                allowed = f"project {other!r}: its tree is in this folder, and two cannot share one"
                raise InvalidInputError.one("project", self.project, allowed)
            index.plant_tree(Tree(secrets.token_hex(limits.MARK_BYTES), routes, files.boot_id()))
        if self._mirror is None:
            self._open_tree()
        assert self._mirror is not None  # noqa: S101  # for type checkers: it was just made
        if schema is not None and self._mirror.routes != routes:
            raise InvalidInputError.one("schema", schema, "the schema that this tree was made with, or none")
        return self._mirror

    def sync(self) -> Synced:
        """Brings tree and memory in step: looks at every file of the tree and takes in what people changed. Tells what was
        taken in since this was last asked, or since the memory was opened."""
        if self.tree is None:
            raise InvalidInputError.one("memory", self.location, "a memory with a tree of files: make_tree gives it one")
        return self.tree.sync()

    def _open_tree(self) -> None:
        if isinstance(self._store, SqliteStore):
            with self._store.tree(self.project) as index:
                kept = index.tree()
            if kept:
                self._mirror = self._mirror_of(kept)
                self._mirror.open()

    def _mirror_of(self, kept: Tree) -> Mirror:
        from hardwon.mirroring import Mirror  # most memories have no tree: only whoever has one waits for it

        assert isinstance(self._store, SqliteStore)  # noqa: S101  # for type checkers: only a local file has one beside it
        return Mirror(self._store, self.project, Path(self.location).parent, kept, self._prepare, self._clock)

    def _mirror_within(self, writer: Writer) -> Mirror | None:
        """The tree, also where another process made it since this memory was opened."""
        if self._mirror is None and isinstance(writer, SqliteWriter):
            kept = writer.tree(self.project).tree()
            if kept:
                self._mirror = self._mirror_of(kept)
        return self._mirror

    def _put_in_tree(self, planted: Sequence[Planting]) -> None:
        if planted and self._mirror:
            self._mirror.put(planted)

    def _placed(self, records: list[R], planted: Sequence[Planting]) -> list[R]:
        """The records, those that have a file knowing where it is."""
        if not planted or not self._mirror:
            return records
        paths = {planting.record_id: f"{self._mirror.root}/{planting.path}" for planting in planted}
        return [record.altered(path_in_tree=paths[record.id]) if record.id in paths else record for record in records]

    def _catch_up(self) -> None:
        """Before a question is answered: what people did to the files of the tree."""
        if self._mirror:
            self._mirror.catch_up()

    # --- reading ------------------------------------------------------------------------------------------------

    def get(self, record_id: str | UUID, as_of: datetime | str | None = None) -> AnyRecord | None:
        """The record as it stands now, or as it stood then; None where there is, or was, no such record."""
        stored = self._store.get(self.project, intake.record_id(record_id))
        if stored and as_of is not None:
            from hardwon.believing import Then  # few look back

            stored = Then(self._store, self.project, intake.moment("as_of", as_of)).record(stored)
        return record_of(stored) if stored else None

    def links(self, record_id: str | UUID) -> Links:
        """What replaced a record, what it replaced, and what contradicts it."""
        from hardwon.believing import links_of

        return links_of(self._store, self.project, intake.record_id(record_id))

    def browse(self, limit: int | None = None, **filters: Any) -> Iterator[AnyRecord]:
        """Records that pass all filters, newest first. Nothing stays locked between two of them."""
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise InvalidInputError.one("limit", limit, "a whole number, 0 or more")
        asked = Filters.of(self.project, filters)
        self._catch_up()
        found = map(record_of, self._pages(asked, limit))
        return found if limit is None else islice(found, min(limit, sys.maxsize))

    def _pages(self, filters: Filters, limit: int | None = None) -> Iterator[Stored]:
        before: Cursor | None = None
        size = limits.PAGE_ROWS if limit is None else min(limits.PAGE_ROWS, max(limit, 1))
        while page := self._store.page(self.project, filters, before, size):
            yield from page
            before = Cursor(page[-1].at_us, page[-1].id)

    def recall(self, query: str, k: int = 5, *, as_of: datetime | str | None = None, **filters: Any) -> list[Hit]:
        """The `k` records that answer best, each with its score and why. Archived ones only where `status="archived"` asks for
        them, and a source that was rolled back only where `author` does. `as_of` a time: what was believed then, of what was
        recorded by then and is not forgotten."""
        k = intake.whole_number("k", k, 1, limits.RECALL_K_MAX)
        intake.text("query", query)
        asked = Filters.of(self.project, filters)
        self._catch_up()
        if as_of is not None:
            return self._recall_then(query, k, asked, intake.moment("as_of", as_of))
        hits = self._recaller.recall(query, k, asked)
        if self._mirror and self._mirror.refresh([hit.record.id for hit in hits]):
            return self._recaller.recall(query, k, asked)
        return hits

    def _recall_then(self, query: str, k: int, asked: Filters, at: datetime) -> list[Hit]:
        known = Knowledge(self._store, self.project, to_us(at) // DAY_US)
        embed = self._embed_query if self._embedder else None
        last = from_us(min(to_us(at) + 1, TIME_US_MAX))
        asked = asked.altered(until=last if asked.until is None else min(asked.until, last))
        from hardwon.believing import Then

        recaller = Recaller(self._store, self.project, known, embed)
        return recaller.recall(query, k, asked, Then(self._store, self.project, at))

    def context(
        self,
        query: str | None = None,
        *,
        task_id: str | None = None,
        issue: Issue | Mapping[str, Any] | None = None,
        budget_tokens: int = limits.CONTEXT_TOKENS,
        count_tokens: Callable[[str], int] = count_tokens,
    ) -> Context:
        """What matters before the next attempt, ready for a prompt: rules of the task, known fixes of the issue, similar cases.
        Never more than `budget_tokens`, counted on the very text; empty where there is nothing to say. The text is data: it
        is fenced, and says so. `count_tokens` counts for your own model; the default counts at least as many as any."""
        intake.optional_text("query", query)
        intake.optional_text("task_id", task_id)
        budget = intake.whole_number("budget_tokens", budget_tokens, 1, limits.CONTEXT_TOKENS_MAX)
        if not callable(count_tokens):
            raise InvalidInputError.one("count_tokens", count_tokens, "a function from text to a number of tokens")
        given, fixer = intake.issue(issue) if issue is not None else (None, None)
        mark = secrets.token_hex(limits.MARK_BYTES)
        self._catch_up()
        return self._recaller.context(query or "", task_id, given, fixer, budget, _checked_counter(count_tokens), mark)

    def advise(
        self,
        action: str,
        *,
        task: str | None = None,
        error: str | None = None,
        issue: Issue | Mapping[str, Any] | None = None,
        steps: Sequence[Step | Mapping[str, Any]] = (),
    ) -> Advice:
        """What is known of an action before it is taken: whether it failed here before, how likely it is to work, what worked
        instead. `error` is what is to be got rid of, `steps` are those of the current attempt so far."""
        for name, value in (("action", action), ("task", task), ("error", error)):
            intake.optional_text(name, value)
        if not intake.text("action", action).strip():
            raise InvalidInputError.one("action", action, "text that is not blank")
        given = intake.issue(issue)[0] if issue is not None else None
        so_far = [Step.model_validate(step) if not isinstance(step, Step) else step for step in intake.items("steps", steps)]
        return self._recaller.advise(action, task, error, given, so_far[-limits.STEPS_LEARNED_MAX :])

    @property
    def _recaller(self) -> Recaller:
        return Recaller(self._store, self.project, self._known, self._embed_query if self._embedder else None, self._watch)

    # --- vectors ------------------------------------------------------------------------------------------------------

    def _embed_query(self, query: str) -> Sequence[float]:
        self._check_embedder()
        return list(embedders.as_vectors(self._embedder, [query])[0]) if self._embedder else []

    def _check_embedder(self, within: Writer | None = None) -> None:
        """Vectors of two embedders must never be compared, or kept together."""
        kept = (within or self._store).embedder(self.project)
        if self._embedder and kept and kept != (self._embedder.name, self._embedder.dimension):
            raise EmbeddingError(
                f"the vectors kept here are of {kept[0]} ({kept[1]} numbers), not of {self._embedder.name} "
                f"({self._embedder.dimension}): open the memory with the former, or run reembed() to replace them"
            )

    def _vectors_of(self, records: Sequence[Record]) -> list[tuple[str, bytes]]:
        """The records' vectors. None where the embedder fails: a record is kept all the same, and reembed makes up for it."""
        if not self._embedder or not records:
            return []
        self._check_embedder()
        try:
            rows = embedders.as_vectors(self._embedder, [searchable_text(record) for record in records])
        except EmbeddingError as error:
            _log.warning("kept without vectors, which reembed() will add: %s", error)
            return []
        return [(record.id, row.astype("<f4").tobytes()) for record, row in zip(records, rows, strict=True)]

    def _keep_vectors(self, writer: Writer, made: Sequence[tuple[str, bytes]]) -> None:
        if self._embedder and made:
            self._check_embedder(writer)
            if writer.embedder(self.project) is None:
                writer.set_embedder(self.project, self._embedder.name, self._embedder.dimension)
            writer.keep_vectors(self.project, made)

    def reembed(self, progress: Progress | None = None) -> int:
        """Makes the vectors that are missing; with another embedder than before, all of them anew. Can be interrupted and goes
        on where it was. Returns how many were made."""
        if self._embedder is None:
            raise InvalidInputError.one("embedder", None, "a memory that was opened with an embedder: Memory(…, embedder=…)")
        with self._store.write() as writer:
            writer.set_embedder(self.project, self._embedder.name, self._embedder.dimension)
        done, total = 0, self._store.counts(self.project).records
        while missing := self._store.without_vector(self.project, limits.EMBED_BATCH_TEXTS):
            records = [original_of(stored) for stored in missing]
            rows = embedders.as_vectors(self._embedder, [searchable_text(record) for record in records])
            blobs = [(record.id, row.astype("<f4").tobytes()) for record, row in zip(records, rows, strict=True)]
            with self._store.write() as writer:
                self._keep_vectors(writer, blobs)
            done += len(records)
            if progress:
                progress(done, max(total, done))
        return done

    def credit(self, context_or_ids: Context | str | UUID | Iterable[str | UUID], outcome: bool, by: str = "user") -> list[str]:
        """What was recalled helped (True) or did not (False): it stands higher, or lower, in what is recalled later. Returns
        the ids that were credited; ids of no record are left out."""
        if not isinstance(outcome, bool):
            raise InvalidInputError.one("outcome", outcome, "true (it helped) or false")
        given = context_or_ids.ids if isinstance(context_or_ids, Context) else context_or_ids
        listed = [given] if isinstance(given, str | UUID) else intake.items("context_or_ids", given)
        ids = list(dict.fromkeys(filter(None, map(intake.record_id, listed))))
        with self._store.write() as writer:
            stored = [found for found in map(partial(writer.get, self.project), ids) if found]
            known = [found.id for found in stored if found.kind not in INTERNAL_KINDS]
            at = self._clock()
            for found in known:
                event = Event(id=new_id(at), record_id=found, kind="credited", at=at, by=by, helped=outcome)
                writer.add_events(self.project, [clean_event(event)])
                refresh_status(writer, self.project, found)
            self._publish_proven(writer, known)
        return known

    def _publish_proven(self, writer: Writer, record_ids: Iterable[str]) -> None:
        """Those that were verified, and helped often enough since."""
        for record_id in record_ids:
            stored = writer.get(self.project, record_id) if self._publish_after else None
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
                at, why = self._clock(), f"credited {helped} times"
                event = Event(
                    id=new_id(at), record_id=record_id, kind="status", at=at, by=BY_MEMORY, status="published", reason=why
                )
                happen(writer, self.project, event)

    def stats(self) -> Stats:
        """How much there is, of what, and where."""
        self._catch_up()
        counts = vars(self._store.counts(self.project))
        return Stats(**counts, location=self.location, project=self.project, size_bytes=self._store.size_bytes())

    def topology(self) -> Branch:
        """What lies where: experiences by outcome, tool and the key that the two require; with a tree, its folders."""
        from hardwon.recall.topology import topology_of  # importing takes its time, and few ask

        return topology_of(self._folder_counts(), Path(self.location).parent.name)

    def hotspots(self, share: float = limits.HOTSPOT_SHARE, limit: int = limits.HOTSPOTS_SHOWN_MAX) -> list[Hotspot]:
        """Where experiences pile up: places that hold at least this share of what lies above them, the largest first."""
        from hardwon.recall.topology import hotspots_of

        return hotspots_of(self.topology(), share, limit)

    def reflect(self) -> Reflection:
        """What the experiences add up to: totals, where failures and successes pile up, and sentences about them."""
        from hardwon.recall.topology import reflect_on

        counts = self._folder_counts()
        newest = self._store.page(self.project, Filters(kind="experience"), None, limits.RECENT_SHOWN, trusted=True)
        return replace(reflect_on(counts), recent=[record_of(stored) for stored in newest])

    def _folder_counts(self) -> list[FolderCount]:
        if self._mirror:
            return self._mirror.counts()
        from hardwon.recall.topology import FolderCount
        from hardwon.routing import Coherence

        keys = sorted({route[0] for route in ROUTES.values() if route})
        router = Coherence()
        found = self._store.routes(self.project, keys)
        return [FolderCount(router.route(each.packet).folder, each.records, each.bytes) for each in found]

    # --- what it learned --------------------------------------------------------------------------------------------

    @property
    def _known(self) -> Knowledge:
        return Knowledge(self._store, self.project, to_us(self._clock()) // DAY_US)

    def odds(
        self,
        issue: Issue | Mapping[str, Any] | None = None,
        *,
        model: str | None = None,
        issue_type: str | None = None,
        fixer: str | None = None,
        tool: str | None = None,
        task: str | None = None,
    ) -> Odds:
        """How likely something is to work, and on what that rests: a fix for an issue (its `fixer_type` is the fixer, where
        `fixer` names none), fixes of a model, an issue type or both, a tool at a task; with nothing said, all fixes."""
        for name, value in (("model", model), ("issue_type", issue_type), ("fixer", fixer), ("tool", tool), ("task", task)):
            intake.optional_text(name, value)
        if tool is not None or task is not None:
            others = (issue, model, issue_type, fixer)
            if tool is None or any(other is not None for other in others):
                raise InvalidInputError.one("tool", tool, "a tool, or a tool and a task, and nothing else beside them")
            return self._known.tool_odds(tool, " ".join(task.split()) if task else None)
        if issue is None:
            return self._known.fix_odds(None, model, issue_type, fixer)
        if model is not None or issue_type is not None:
            raise InvalidInputError.one("issue", issue, "an issue, or a model and issue type, not both")
        given, named_fixer = intake.issue(issue)
        return self._known.fix_odds(given, None, None, named_fixer if fixer is None else fixer)

    def similar_issues(self, issue: Issue | Mapping[str, Any], limit: int = 5) -> SimilarIssues:
        """Earlier attempts to fix this issue or one like it, successes first."""
        return self._known.similar_issues(intake.issue(issue)[0], _limit(limit))

    def patterns(self, limit: int = 20) -> list[Pattern]:
        """Issues that came up, by signature, by model and type, and by type; the most frequent first."""
        return self._known.patterns(_limit(limit))

    def temporal_patterns(self) -> list[TemporalPattern]:
        """Hours and weekdays at which an issue type comes up more often than chance explains; the least likely first."""
        return self._known.temporal_patterns()

    def strategies(self, issue_type: str, limit: int = 10) -> list[Strategy]:
        """What was done about an issue type, the likeliest to succeed first."""
        usual = self.odds(issue_type=intake.text("issue_type", issue_type)).p_success
        return self._known.strategies("type", issue_type, usual, _limit(limit))

    def best_strategies(self, limit: int = 5) -> dict[str, list[Strategy]]:
        """What succeeded, by issue type: the most frequent type first, and of each the likeliest to succeed again."""
        return self._known.best_strategies(_limit(limit))

    def model_insights(self, name: str) -> ModelInsights:
        """What is known of a model: how its fixes went, its common issues, and what helped."""
        return self._known.model_insights(intake.text("name", name))

    def fix_totals(self) -> FixTotals:
        """How many attempts to fix something there were, how they turned out, on how many models and issue types."""
        return self._known.fix_totals()

    def fix_days(self, days: int = limits.FIX_DAYS) -> list[FixDay]:
        """Attempts per day (UTC): every day from the first with an attempt, among the last `days` with today, up to today."""
        return self._known.fix_days(intake.whole_number("days", days, 1, limits.FIX_DAYS_MAX))

    def fix_matrix(self) -> list[FixCell]:
        """Attempts by model and issue type, and how likely the next one is to succeed; the most frequent first."""
        return self._known.fix_matrix()

    def fix_trends(self, days: int = limits.FIX_DAYS) -> list[IssueTrend]:
        """Which issue types come up more often, or less often, than at the beginning of the last `days`; the surest first."""
        return self._known.fix_trends(intake.whole_number("days", days, 1, limits.FIX_DAYS_MAX))

    def fixers(self) -> list[FixerRecord]:
        """How every fixer did, and how likely its next attempt is to succeed; the busiest first."""
        return self._known.fixers()

    def fixes_since(self, since: datetime | str | int) -> int:
        """How many attempts to fix something there were from an exact time on."""
        asked = Filters.of(self.project, {"since": since}).since
        if asked is None:
            raise InvalidInputError.one("since", since, "a time")
        return self._known.fixes_since(asked)

    def solutions(self, error: str | None = None, limit: int = 10) -> list[Solution]:
        """What was done after an error (None: after any) in trajectories, what helped most first."""
        intake.optional_text("error", error)
        return self._known.solutions(error, _limit(limit))

    def rules(self, task_id: str | None = None, state: RuleState | None = None, limit: int = 10) -> list[Rule]:
        """What works and what to avoid: for a task, with what holds for the whole project; without one, only the latter.
        Active rules first, then candidates, then retired ones."""
        intake.optional_text("task_id", task_id)
        if state not in (None, "candidate", "active", "retired"):
            raise InvalidInputError.one("state", state, "candidate, active or retired")
        return self._known.rules(task_id, state, _limit(limit))

    def cards(self, task_id: str | None = None, limit: int = 10) -> list[Card]:
        """Mistakes that episodes reported, of a task or of all. Types take turns, so that none crowds out the others."""
        intake.optional_text("task_id", task_id)
        return self._known.cards(task_id, _limit(limit))

    def scores(self, task_id: str) -> ScoreHistory:
        """How a task went: mean, best, trend, and the newest scores."""
        return self._known.scores(intake.text("task_id", task_id))

    def compare(
        self, task_id: str | None = None, *, tag: str | None = None, by_run: bool = False, **filters: Any
    ) -> Comparison:
        """Whether the memory helps: scores of episodes that had it against scores of those that had not. An episode had it
        that says what it recalled, be it nothing (`recalled=`, or `ep.context()`); or, with a `tag`, that has this one.
        `by_run`: the episodes of a run (`source.id`) count as one, which is right where they learn from one another. Filters as
        in `browse`; of very many episodes the newest are compared."""
        for name, value in (("task_id", task_id), ("tag", tag)):
            intake.optional_text(name, value)
        if not isinstance(by_run, bool):
            raise InvalidInputError.one("by_run", by_run, "true or false")
        asked = Filters.of(self.project, {**filters, "task_id": task_id})
        if asked.kind not in (None, "episode"):
            raise InvalidInputError.one("kind", asked.kind, "episode: nothing else has a score")
        from hardwon.learn.compare import compare  # importing takes its time, and few ask

        return compare(self._known.scored(asked.altered(kind="episode"), tag), by_run=by_run)

    def decisions(self, action: Action | None = None, task_id: str | None = None, limit: int = 100) -> list[Decision]:
        """What was decided about knowledge and not undone, newest first. Of a task: with what concerns the whole project."""
        intake.optional_text("task_id", task_id)
        if action is not None and action not in ACTIONS:
            raise InvalidInputError.one("action", action, f"one of {', '.join(ACTIONS)}")
        return self._known.decisions(ACTIONS if action is None else (action,), task_id)[: _limit(limit)]

    def adopted(self, origin: str, limit: int = 100) -> list[Adopted]:
        """What was adopted from one sort of store, without records, and still counts; the newest first."""
        return self._known.adopted(intake.text("origin", origin), _limit(limit))

    def consolidate(self, *, llm: bool = False) -> Consolidation:
        """Puts knowledge in order: near-duplicate rules become one, contradictions are linked, what proved itself in several
        tasks holds for the project, what nobody has seen for long retires. `llm=True` also asks the LLM (the one the memory
        was opened with, else the one the environment names) for rules; they are candidates. Every decision can be undone."""
        if not isinstance(llm, bool):
            raise InvalidInputError.one("llm", llm, "true or false; the model itself is given to Memory(llm=…)")
        model, notes = self._configured_llm() if llm else (None, [])
        return consolidating.consolidate(self._store, self.project, self._known, self._prepare, self._clock(), model, notes)

    def _configured_llm(self) -> tuple[Llm | None, list[str]]:
        try:
            found = self._find_llm()
        except LlmError as error:
            return None, [f"the LLM was of no use, the rest was done without it: {error}"]
        return found, [] if found else [_NO_LLM]

    def _find_llm(self) -> Llm | None:
        return ChatModel.from_environment(os.environ) if self._llm is None else self._llm

    def _consolidate_when_due(self) -> None:
        """After the episodes are safely kept. What goes wrong here must not look as if they were not."""
        try:
            every = self._consolidate_every
            if every and consolidating.is_due(self._store, self.project, every):
                at = self._clock()
                consolidating.consolidate_recent(self._store, self.project, self._known, self._prepare, at, every)
        except HardwonError as error:
            _log.warning("the episodes are kept, but consolidation failed: %s", error)

    def rollback(self, source: str, reason: str = "", by: str = "user") -> Decision:
        """Undoes what a source (an author) taught: no knowledge counts its records, recall leaves them out unless it is
        asked for that author, and so it stays for what the source records from now on. `undo` takes it back."""
        for name, value in (("source", source), ("reason", reason), ("by", by)):
            intake.text(name, value)
        if not source.strip() or len(source) > limits.NAME_CHARS_MAX:
            raise InvalidInputError.one("source", source, "the author whose teaching is to be undone")
        decision = self._prepare(consolidating.decide("rollback", self._clock(), by, target=source, reason=reason))
        with self._store.write() as writer:
            self._decide(writer, decision)
            kept = self._must_get(writer, decision.id)
        assert isinstance(kept, Decision)  # noqa: S101  # for type checkers: an id keeps its kind
        return kept

    def undo(self, decision_id: str | UUID, by: str = "user") -> Decision:
        """Takes back a decision: a rollback, a merge, a promotion, a cleanup … It stays in the log, archived."""
        wanted = intake.record_id(decision_id)
        with self._store.write() as writer:
            stored = writer.get(self.project, wanted)
            decision = record_of(stored) if stored else None
            if not isinstance(decision, Decision):
                raise UnknownRecordError(f"there is no decision {decision_id} in project {self.project!r}")
            check_transition(decision.metadata.validation.status, "archived")
            event = Event(record_id=wanted, kind="status", at=self._clock(), by=by, status="archived", reason="undone")
            undone = self._happen(writer, event)
        assert isinstance(undone, Decision)  # noqa: S101  # for type checkers: an id keeps its kind
        return undone

    # --- making room --------------------------------------------------------------------------------------------------

    def cleanup(
        self,
        older_than_days: float = limits.CLEANUP_DAYS,
        dry_run: bool = True,
        *,
        successes_days: float | None = None,
        by: str = "user",
        progress: Progress | None = None,
    ) -> CleanedUp:
        """Takes fixes older than so many days out of the history; successful ones when they are three times as old, or
        `successes_days`. What they taught stays, and so do those that somebody vouches for, that helped, or that are the last
        of their pattern, of its solution or of a proven strategy. `undo` brings them back until `compact`. All or nothing."""
        failed_us = self._days_ago("older_than_days", older_than_days)
        usual = min(limits.SUCCESSES_KEPT_TIMES * older_than_days, limits.DAYS_MAX)
        succeeded_us = self._days_ago("successes_days", usual if successes_days is None else successes_days)
        decision = self._prepare(consolidating.decide("cleanup", self._clock(), by))
        from hardwon import tidying  # few make room
        from hardwon.govern.retention import Retention

        return tidying.clean_up(self._tidy(progress), Retention(failed_us, succeeded_us), decision, dry_run=dry_run)

    def compress(
        self,
        older_than_days: float = limits.COMPRESS_DAYS,
        dry_run: bool = True,
        *,
        by: str = "user",
        progress: Progress | None = None,
    ) -> Compressed:
        """Packs the details of fixes older than so many days away. They stay in the history, shortened, and are found by their
        summaries; `get` reads them whole, `undo` unpacks them. All or nothing."""
        before_us = self._days_ago("older_than_days", older_than_days)
        decision = self._prepare(consolidating.decide("compress", self._clock(), by))
        from hardwon import tidying

        return tidying.compress(self._tidy(progress), before_us, decision, dry_run=dry_run)

    def compact(self, progress: Progress | None = None) -> Compacted:
        """Makes the file as small as it can be. What left the history by a cleanup is gone for good; what it taught stays."""
        from hardwon import tidying

        return tidying.compact(self._store, self.project, progress)

    def _tidy(self, progress: Progress | None) -> Tidy:
        from hardwon.tidying import Tidy

        return Tidy(self._store, self.project, self._decide, progress)

    def _decide(self, writer: Writer, decision: Decision) -> None:
        self._append(writer, [decision])
        consolidating.put_in_effect(writer, self.project, [decision])

    def _days_ago(self, field: str, days: float) -> int:
        if isinstance(days, bool) or not isinstance(days, int | float) or not 0 <= days <= limits.DAYS_MAX:
            raise InvalidInputError.one(field, days, f"a number of days from 0 to {limits.DAYS_MAX}")
        return to_us(self._clock()) - round(days * DAY_US)

    @property
    def fix_history(self) -> FixHistory:
        """The tables of fix history in this memory's file, to read."""
        from hardwon.fix_history import FixHistory  # few ask

        if not isinstance(self._store, SqliteStore) or self.project != place.DEFAULT_PROJECT:
            raise PlaceError(
                f"the tables of fix history are of the project {place.DEFAULT_PROJECT!r} of a memory in a local file"
            )
        return FixHistory(self._store)

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
            stored = writer.get(self.project, event.record_id)
            if not stored:
                raise UnknownRecordError(f"there is no record {event.record_id} in project {self.project!r}")
            envelope = original_of(stored).metadata.validation
            check_transition(standing_beneath(envelope, writer.events_of(self.project, event.record_id)).status, to)
            changed = self._happen(writer, event)
        self._follow_in_tree()
        return changed

    def check_stale(
        self, repo: str | Path = ".", dry_run: bool = False, by: str = "check_stale", progress: Progress | None = None
    ) -> StaleReport:
        """Archives records whose related files are no longer what they were in the checkout that `repo` lies in, and brings
        back those whose files are again, as what they were. Doing it twice changes nothing more. Other checkouts are not
        concerned: what is archived here is not archived in a memory that this one is merged into."""
        asked = intake.path("repo", repo)
        root = repository_root(asked)
        checkout = _checkout_of(Repository(root), asked, Path(self.location)) if root else None
        if checkout is None:
            raise InvalidInputError.one("repo", str(repo), "a folder inside a git checkout")
        from hardwon import checking

        watch = checking.Watch(checkout, thorough=True)
        report = checking.check_stale(self._store, self.project, watch, self._clock, by, dry_run, progress)
        if self._mirror and (report.archived or report.restored) and not dry_run:
            self._mirror.follow(restored=True)
        return report

    def record_tests(
        self, ran: Iterable[RanTest], run_id: str | None = None, *, task: str | None = None, started: datetime | None = None
    ) -> TestFeedback:
        """What a test run says: a test that fails becomes a fact with its failure hash, and one that passes again verifies what
        was tried since it last failed, as far as `docs/feedback.md` says. `started`: when the run began, now where nobody says.
        One transaction, and none where nothing changed."""
        from hardwon import feedback  # only whoever runs tests waits for it

        given = intake.items("ran", ran)
        for test in given:
            if not isinstance(test, feedback.RanTest):
                raise InvalidInputError.one("ran", test, "instances of RanTest")
        intake.optional_text("task", task)
        at = self._clock()
        run = run_id if run_id is not None else new_id(at)
        root = self._repository.root if self._repository else None
        desk = feedback.Desk(
            self._store, self.project, root, self._head(), partial(self._prepare, head=self._head()), self._append
        )
        done = feedback.record_tests(desk, given, intake.text("run_id", run), task, started or at, at)
        self._follow_in_tree()
        return done

    def failing_tests(self) -> list[str]:
        """The tests that failed when they last ran, as far as runs were recorded."""
        from hardwon import feedback

        found = feedback.results(self._store, self.project, self._clock())
        return sorted(name for name, result in found.items() if result.failure)

    def publish_tested(self, commit: Commit, by: str | None = None) -> list[str]:
        """Publishes what tests verified on the way to a commit that was just made, and that still holds; returns the ids.
        `hardwon.outside.git.last_commit` tells the commit."""
        from hardwon import feedback

        return feedback.publish_tested(self._store, self.project, commit, self._clock(), by or feedback.BY_HOOK)

    def supersede(self, old_id: str, new_id: str, reason: str, by: str = "user") -> AnyRecord:
        """Archives a record in favour of the one that replaces it; returns the old one as it stands now."""
        event = Event(record_id=old_id, kind="superseded", at=self._clock(), by=by, replaced_by=new_id, reason=reason)
        if event.record_id == event.replaced_by:
            raise InvalidInputError.one("new_id", new_id, "the id of another record")
        with self._store.write() as writer:
            if self._must_get(writer, str(event.replaced_by)).metadata.validation.status == "archived":
                raise InvalidInputError.one("new_id", new_id, "a record that is not archived itself")
            self._must_get(writer, event.record_id)
            changed = self._happen(writer, event)
        self._follow_in_tree()
        return changed

    def _follow_in_tree(self, *, settle: bool = False) -> None:
        """Files of records that were archived or forgotten go."""
        if self._mirror:
            self._mirror.follow(settle=settle)

    def audit(self, record_id: str | UUID) -> list[LifeEvent]:
        """A record's whole life, oldest first: created, and everything that happened to it since. A forgotten record has
        its tombstone left; an id that was never known gives an empty list."""
        wanted = intake.record_id(record_id)
        stored = self._store.get(self.project, wanted)
        life = []
        envelope = Validation()
        if stored:
            metadata = original_of(stored).metadata
            envelope = metadata.validation
            life.append(LifeEvent("created", metadata.context.timestamp, metadata.source.author, envelope.status))
        events = self._store.events_of(self.project, wanted)
        for number, event in enumerate(events, 1):
            status = "" if event.kind == "forgotten" else effective_validation(envelope, events[:number]).status
            life.append(LifeEvent(event.kind, event.at, event.by, status, event))
        return life

    def _must_get(self, writer: Writer, record_id: str) -> AnyRecord:
        stored = writer.get(self.project, record_id)
        if not stored:
            raise UnknownRecordError(f"there is no record {record_id} in project {self.project!r}")
        return record_of(stored)

    def _happen(self, writer: Writer, event: Event) -> AnyRecord:
        happen(writer, self.project, event)
        return self._must_get(writer, event.record_id)

    def forget(
        self,
        ids_or_filters: str | UUID | Iterable[str | UUID] | Mapping[str, Any] = (),
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
        given = [ids_or_filters] if isinstance(ids_or_filters, str | UUID) else intake.items("ids_or_filters", ids_or_filters)
        for name, value in filters.items():
            if value is None:  # elsewhere that means "any", and here it would mean "all"
                raise InvalidInputError.one(name, value, "a value: what is to be forgotten must be said")
        narrowing = filters.keys() - {"project"}
        if bool(given) == bool(narrowing):
            raise InvalidInputError.one("ids_or_filters", given or ABSENT, "ids or at least one filter, not both")
        wanted = [(intake.record_id(found), str(found)) for found in given]
        if narrowing:
            asked = Filters.of(self.project, filters)
            also = [] if asked.kind else [asked.altered(kind="adopted")]  # it tells of what was tried as well
            ids = [stored.id for each in (asked, *also) for stored in self._pages(each)]
        else:
            ids = [found for found in dict.fromkeys(found for found, _ in wanted) if self._store.get(self.project, found)]
        known = set(ids)
        unknown = [text for found, text in wanted if found not in known]
        if dry_run:
            return Forgotten(ids, unknown, dry_run, erased=False, pending=False)
        for batch in batches(ids, limits.BATCH_ROWS):
            at = self._clock()
            tombstones = [clean_event(Event(id=new_id(at), record_id=gone, kind="forgotten", at=at, by=by)) for gone in batch]
            with self._store.write() as writer:
                mirror = self._mirror_within(writer)
                if mirror:
                    mirror.keep_away(writer, batch)
                bring_back(writer, self.project, batch)  # of a cleanup whose decision goes
                writer.erase(self.project, batch, tombstones)
            self._follow_in_tree(settle=True)
        erased = self._store.finish_erasure()
        return Forgotten(ids, unknown, dry_run, erased=erased, pending=not erased)

    # --- moving -------------------------------------------------------------------------------------------------

    def export(
        self,
        path: str | Path,
        format: Literal["jsonl", "json"] = "jsonl",  # noqa: A002  # the word every user of an export looks for
        progress: Progress | None = None,
    ) -> int:
        """Writes every record of the project, as of one instant, one JSON object a line (`json`: as one list); returns how
        many. Fixes that were cleaned up are written whole; of those that were compacted since there is nothing left to write,
        and only `merge` carries what they taught."""
        if format not in ("jsonl", "json"):
            raise InvalidInputError.one("format", format, "jsonl or json")
        target = intake.path("path", path)
        if target.name.endswith((".db", ".db-wal", ".db-shm")):
            raise InvalidInputError.one("path", str(target), "a name that no database has, such as records.jsonl")
        counts = self._store.counts(self.project) if progress else None
        total = counts.total if counts else 0
        with closing(self._store.stream(self.project)) as records:
            whole = (found for stored in records if (found := _exported(stored)))
            return jsonl.write(target, whole, total, progress, as_list=format == "json")

    def load(self, path: str | Path, dry_run: bool = False, by: str = "user", progress: Progress | None = None) -> Loaded:
        """Adds the records of an exported file. The whole file is checked before anything is written. What is here already
        stays as it is; what is new lands as `hypothesis`, whatever it claims, and is otherwise unchanged."""
        return moving.load(
            self._store,
            self.project,
            partial(jsonl.read, intake.path("path", path)),
            self._prepare,
            self._clock,
            by,
            dry_run,
            progress,
            self._mirror_within,
        )

    def take_in(
        self,
        records: Iterable[AnyRecord],
        dry_run: bool = False,
        by: str = "user",
        progress: Progress | None = None,
        *,
        at_once: bool = False,
    ) -> Loaded:
        """Adds records that were made elsewhere, as `load` does those of a file: whoever adopts another store makes them, with
        ids derived from what they are. `at_once`: all of them in one transaction or, when one is refused, none; they are then
        taken one after the other as they are made, and other writers wait until the last."""
        given = records if at_once and isinstance(records, Iterator) else intake.items("records", records)
        read = partial(iter, given)
        return moving.load(
            self._store, self.project, read, self._prepare, self._clock, by, dry_run, progress, self._mirror_within, at_once
        )

    def merge(self, other: Memory | str | Path, progress: Progress | None = None) -> Merged:
        """Brings in what another memory of the same project knows: its records, statuses and tombstones. Merging twice, or the
        other way round, gives the same memory. Where both keep an id with different content, each keeps its own."""
        if not isinstance(other, Memory) and not files.exists(place.find(other, _current_folder()).path):
            raise PlaceError(f"there is no memory at {other}")
        opened = nullcontext(other) if isinstance(other, Memory) else Memory(other, self.project)
        with opened as source:
            if source.project != self.project:
                raise InvalidInputError.one("other", source.project, f"a memory of project {self.project!r}")
            if Path(source.location).samefile(self.location):
                raise InvalidInputError.one("other", source.location, "another memory than this one")
            return moving.merge(source._store, self._store, self.project, progress, self._mirror_within)

    def backup(self, path: str | Path, progress: Progress | None = None) -> Backup:
        """Copies the whole memory file as of one instant, while others write; verified, with a checksum beside it."""
        target = intake.path("path", path)
        checksum = self._store.backup(target, progress)
        return Backup(target, checksum, target.stat().st_size)

    @classmethod
    def restore(cls, path: str | Path, location: str | Path | None = None, progress: Progress | None = None) -> Path | None:
        """Puts a backup where the memory at `location` is, also while others have it open. Returns where the memory that
        was there is kept, or None if there was none."""
        target = place.find(location, _current_folder()).path
        suffix = f"before-restore-{now():%Y%m%dT%H%M%S%fZ}"
        return restore_file(intake.path("path", path), target, suffix, progress)

    # --- health -------------------------------------------------------------------------------------------------

    def doctor(self) -> Diagnosis:
        """Checks the file, and derives again everything that is derived from this project's records. Changes nothing."""
        findings = list(self._store.check())
        checked, wrong, damaged = 0, list[str](), list[str]()
        if all(finding.ok for finding in findings if finding.check in ("integrity", "schema")):
            for row, events in self._store.rows(self.project):
                checked += 1
                try:
                    if derive_again(row, events) != row:
                        wrong.append(row.id)
                except (DamagedError, InvalidInputError):
                    damaged.append(row.id)
            findings.append(_finding("records", damaged, f"{checked} records are what was written", "restore a backup"))
            findings.append(_finding("derived", wrong, f"{checked} records agree with what is derived", "run rebuild"))
            untrue = self._store.untrue_tallies(self.project)
            remedy = f"{untrue} tallies are not what the records add up to: run rebuild"
            findings.append(Finding("knowledge", not untrue, remedy if untrue else "every tally is what the records add up to"))
            if self._mirror:
                findings.append(self._mirror.check())
        return Diagnosis(findings)

    def rebuild(self) -> int:
        """Derives again everything that is derived and corrects what differs; returns how many records that were."""
        corrected = 0
        for batch in batches(self._store.rows(self.project), limits.BATCH_ROWS):
            with self._store.write() as writer:
                for row, _ in batch:
                    corrected += _derive_again_and_keep(writer, self.project, row)
        with self._store.write() as writer:
            writer.recount(self.project)
        return corrected


def _exported(stored: Stored) -> Stored | None:
    """As it is written to a file; None for what is of no use elsewhere: what was decided about this file alone, and fixes of
    which a compaction left only what they taught."""
    if stored.kind == "decision":
        decision = original_of(stored)
        return None if isinstance(decision, Decision) and decision.action in LOCAL_ACTIONS else stored
    return restored(stored)


def _checkout_of(repository: Repository | None, folder: Path, memory_file: Path) -> Checkout | None:
    """The files beside a repository; None where there are none."""
    if repository is None or not repository.has_files:
        return None
    own_folder = memory_file.parent if memory_file.name in (place.FILE_NAME, place.FIX_HISTORY_FILE_NAME) else None
    from hardwon.outside.checkout import Checkout  # only inside a checkout

    return Checkout(repository, folder, memory_file, own_folder)


def _watch_over(checkout: Checkout) -> Watch:
    from hardwon.checking import Watch

    return Watch(checkout)


def _tree_of(writer: Writer, project: str) -> TreeIndex:
    if not isinstance(writer, SqliteWriter):
        raise PlaceError("only a memory in a local file can have a tree of files beside it")
    return writer.tree(project)


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was deleted under us; an absolute location still works
        return Path("/")


def _project_name(given: str) -> str:
    name = Metadata(project_id=given).project_id
    if not name.strip() or redact(name)[1]:
        raise InvalidInputError.one("project", given, "a name that is neither empty nor a secret")
    return name


def _with_provenance_kept(writer: Writer, row: Row, given: Sequence[Record]) -> Row:
    """Of a record that is added again: with the commit and the files of when it was added first, where the caller says nothing
    about them. The code has moved on since; the record has not changed."""
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
    return row_of(record.altered(metadata=metadata.altered(context=metadata.context.altered(**kept))))


def _derive_again_and_keep(writer: Writer, project: str, row: Row) -> bool:
    try:
        derived = derive_again(row, writer.events_of(project, row.id))
    except DamagedError:  # only a backup has it; doctor names it
        return False
    changed = derived != row and writer.get(project, row.id) is not None
    if changed:
        writer.rewrite(derived)
    return changed


def _checked_counter(count: Callable[[str], int]) -> Callable[[str], int]:
    """A caller's counter whose answers are numbers of tokens."""

    def checked(text: str) -> int:
        return intake.whole_number("count_tokens(text)", count(text), 0, limits.JSON_INT_ABS_MAX)

    return checked


def _recalled(given: Context | Iterable[str] | None) -> list[str] | None:
    """The ids of what was recalled before a record's attempt."""
    if given is None:
        return None
    return given.ids if isinstance(given, Context) else [str(each) for each in intake.items("recalled", given)]


def _recordable(record: R) -> R:
    """A decision changes what others are believed, and what was adopted stands for records that nobody has: a caller does not
    add one like something that was tried."""
    if type(record) in (Decision, Adopted, Cleaned):
        raise InvalidInputError.one("record", record.id, _MADE_ELSEWHERE)
    return record


def _limit(limit: int) -> int:
    return intake.whole_number("limit", limit, 1, limits.SHOWN_MAX)


def _finding(check: str, ids: Sequence[str], fine: str, remedy: str) -> Finding:
    if not ids:
        return Finding(check, True, fine)
    return Finding(check, False, f"{len(ids)} records are not, for example {', '.join(ids[:_SAMPLE])}: {remedy}")
