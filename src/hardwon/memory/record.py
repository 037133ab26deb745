"""What was tried and found goes in: as records, as entries under names, and while it happens."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, Unpack

from hardwon import limits
from hardwon.errors import InvalidInputError, ask_foreign
from hardwon.lessons.actions import judge_steps
from hardwon.memory.project import Change, Group, Project, made_elsewhere
from hardwon.memory.standing import refresh_status
from hardwon.memory.tallies import keep_kind
from hardwon.outside import files, git
from hardwon.outside.locations import check_path
from hardwon.records.fields import (
    EPOCH,
    check_all,
    check_items,
    check_mapping,
    check_text,
    check_that,
    check_whole_number,
    from_us,
    list_items,
    new_id,
)
from hardwon.records.kinds import (
    INTERNAL_KINDS,
    MODEL_OF_KIND,
    AnyRecord,
    Entities,
    Episode,
    Experience,
    Fact,
    FactType,
    Fix,
    Issue,
    Kind,
    Metadata,
    MistakeCard,
    Outcome,
    R,
    Record,
    RelatedFile,
    Source,
    Step,
    Trajectory,
)
from hardwon.search.terms import Filters
from hardwon.store.base import Writer
from hardwon.store.query import read_current
from hardwon.store.types import Stored
from hardwon.text import entities
from hardwon.text.sentences import fact_key, lint, repeats
from hardwon.trust.redact import clean_event, redact, redact_json

if TYPE_CHECKING:
    from hardwon.memory import Memory

# Rows that `add_many` prepares at a time inside its transaction. Fewer survive a garbage collection
# than of a thousand, which would have Python look through everything else the caller holds.
_ADD_BATCH_ROWS: Final = 200

# Records under one name that a new one replaces at once. There is one as a rule, and one more for
# each memory that was merged in.
_ENTRIES_REPLACED_MAX: Final = 100

# Facts of the same words that a new one is compared with, before it is kept.
_SAME_FACTS_MAX: Final = 20

_NOT_EXTRA_KEYS: Final = ("id", "kind", "metadata", "redacted", "unrouted", "own_schema")
_RECORDED_KINDS: Final = ("fact", "trajectory", "episode", "fix")


class Envelope(TypedDict, total=False):
    """The keywords that `remember` and every `record_…` takes for the envelope, as `**envelope`;
    each has a default.

    author         who says so; the source that support and rollback are counted by
    source         `{"type": …, "id": …}`: what sort of source, and the session or run
    timestamp      when it happened, with a zone; now where none is given
    tags           words to filter by
    related_files  paths of files that it is about; they are hashed now
    git_commit     the commit it happened at; the checkout's own where none is given
    git_branch     the branch, likewise
    failure_hash   the hash of how something failed (`failure_hash(text)`)
    recalled       the context, or the ids, shown before the attempt: its outcome credits them
    """

    author: str
    source: Source | Mapping[str, Any]
    timestamp: datetime | str | int
    tags: Sequence[str]
    related_files: Sequence[str | Path | RelatedFile | Mapping[str, Any]]
    git_commit: str
    git_branch: str
    failure_hash: str
    recalled: Any


ENVELOPE_KEYWORDS = tuple(Envelope.__annotations__)


class Recording(Group):
    """Keeps what was tried, and how it turned out."""

    def add(self, record: AnyRecord) -> str:
        """Keeps a record and returns its id once it is on disk. Adding the same record again
        changes nothing. `ConflictError` where its id is kept with other content, or was forgotten.
        """
        return self.record(record).id

    def add_many(self, records: Iterable[AnyRecord]) -> list[str]:
        """Keeps all of the records or, when one is refused, none; returns their ids. One
        transaction.
        """
        # All of them first: no code of the caller's runs while others wait.
        many = check_items("records", records)
        keep_all(self._project, many, returned=False)
        return [record.id for record in many]

    def record(self, record: R) -> R:
        """As `add`, and returns the record as it was kept: with its defaults, without its
        secrets.
        """
        return keep_all(self._project, [record])[0]

    def remember(
        self,
        /,
        content: str,
        outcome: Outcome | None = None,
        tool: str | None = None,
        summary: str | None = None,
        **keys: Any,
    ) -> Experience:
        """Keeps an experience. `content` says what happened, `outcome` is success, failure,
        learning or interaction, `tool` what was used, by any name; without a `summary` the content
        makes one. Without an outcome it is the one that the content tells, with the tool and the
        sort of error where it names an exception. `keys` are what more there is to say of it
        (`task_type`, `error_type`, …), keys of your own, and the envelope's.
        """
        envelope = _split_envelope(keys, "keys that no record has already")
        if isinstance(summary, str):
            # before it is made filename-safe: afterwards a secret would not be recognised
            summary = redact(summary)[0]
        own = {"content": content, "outcome": outcome, "tool": tool, "summary": summary, **keys}
        if outcome is None and isinstance(content, str):
            # what tells failures apart takes long to load, and most say how it turned out
            from hardwon.text.outcomes import guess_error_type, guess_outcome

            own["outcome"] = guess_outcome(content)
            sort = guess_error_type(content) if own["outcome"] == "failure" else None
            if sort and tool in (None, "code_interpreter"):
                own = {"error_type": sort, **own, "tool": "code_interpreter"}
        return keep_all(self._project, [make(self._project, Experience, own, envelope)])[0]

    def record_fact(
        self,
        content: str,
        fact_type: FactType,
        confidence: float = 0.5,
        entities: Entities | Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Fact:
        """Keeps one self-contained sentence, the `content`. `fact_type` is error, solution,
        observation or decision, `confidence` how sure it is, from 0 to 1. The names in it are added
        to the `entities`, and what keeps it from standing alone (a pronoun, "yesterday") is told in
        `findings`. Who says again what is known strengthens it: the first fact comes back, and no
        other is kept.
        """
        own = _find_own(locals())
        own["entities"] = Entities() if entities is None else entities
        fact = make(self._project, Fact, own, envelope)
        return _record_facts(self._project, [_prepare(self._project, fact)])[0]

    def record_trajectory(
        self,
        task: str,
        steps: Sequence[Step | Mapping[str, Any]],
        final_reward: float | None = None,
        **envelope: Unpack[Envelope],
    ) -> Trajectory:
        """Keeps what was done at a `task` step by step and how it ended. Each of `steps` has
        action, observation and reward, and may say whether it was `ok`; where it does not, the
        observation tells, and a reward below zero. `final_reward` is any number: 1 or more solved
        the task, 0 or less failed, between is partial; None where nobody knows: then it is told as
        done, and counts neither as solved nor as failed. Of a run that is longer than a record, as much is kept as fits.
        """
        own = _find_own(locals(), "steps")
        if isinstance(own["steps"], list) and len(own["steps"]) > limits.STEPS_MAX:
            half = limits.STEPS_MAX // 2  # the middle tells least
            own["steps"] = [*own["steps"][:half], *own["steps"][-half:]]
        made = make(self._project, Trajectory, own, envelope)
        return self.record(made.copy_with(steps=_fitting(made.steps)))

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
        """Keeps one scored attempt at a task. `score` is from 0 to 1, `steps` how many it took,
        `trajectory_summary` what was done. `mistakes` and `successes` are sentences that become
        rules of the `task_id`; `mistake_cards` say what would have been right.
        """
        own = _find_own(locals(), "mistakes", "successes", "mistake_cards")
        return self.record(make(self._project, Episode, own, envelope))

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
        """Keeps one attempt to fix an issue: whether it was applied (`fix_success`), and whether it
        was verified to work (`verification_success`). `analysis` is the cause that was found,
        `fix_commands` what was done (kept as text, never run), `execution_time_seconds` how long it
        took, `system_info` what matters of the machine, `notes` anything else; `fixer_type` is who
        tried, `confidence` how sure that one was, from 0 to 1.
        """
        own = _find_own(locals(), "fix_commands")
        own["system_info"] = {} if system_info is None else system_info
        return self.record(make(self._project, Fix, own, envelope))


class Entries(Group):
    """Records under names: `memory.entries`. What stands under a name is the newest record that has
    it as a tag, and is neither archived nor of a source that was rolled back. `authors` are those
    whose it is: what anybody else wrote under the name is neither read nor replaced nor erased.
    """

    def put(
        self, entries: Mapping[str, AnyRecord | None], by: str = "user", authors: Sequence[str] = ()
    ) -> None:
        """Puts each record of `entries` under its name, which must be one of its tags: what stood
        there is archived for it, or, by whoever may only record, left behind it. None erases
        everything that ever stood there, as `forget` does. `by` is who does so, `authors` are those
        whose entries they are; anybody's where none is given. One transaction: all of it or
        nothing.
        """
        project = self._project
        by_name, *_ = check_all(
            lambda: check_mapping("entries", entries),
            lambda: check_items("authors", authors),
            by=by,
        )
        ready = {name: record and self._entry(name, record) for name, record in by_name.items()}

        def work(change: Change) -> bool:
            """Whether anything was erased."""
            erases = False
            for name, record in ready.items():
                stood: list[Stored] = []
                for author in authors or (None,):
                    whose = Filters(tag=name, author=author, recorded_here=True)
                    read_page = partial(change.writer.page, project.name, whose, None)
                    while record is None and (page := read_page(limits.BATCH_ROWS)):
                        change.erase([stored.id for stored in page], by)
                        erases = True
                    # More than one where two memories were merged, or where somebody may not
                    # archive.
                    stood += read_page(_ENTRIES_REPLACED_MAX, trusted=True) if record else ()
                if record:
                    stood.sort(key=lambda stored: stored.at_us, reverse=True)
                    change.append([_behind(record, stood)], in_order=True)
                    now = {"replaced_by": record.id, "reason": "put again under the same name"}
                    for old in stood if change.writer.may_govern(project.name) else ():
                        change.happen(old.id, "superseded", by, **now)
            change.embed([record for record in ready.values() if record])
            change.follow()
            return erases

        if project.carry_out(work):
            project.store.finish_erasure()

    def append(self, name: str, records: Iterable[R]) -> list[R]:
        """Keeps records, which must have the name as a tag, behind everything that stands under it:
        in the order given, also where other processes do the same, or clocks disagree. One
        transaction: all of them or none.
        """
        project = self._project
        many, _ = check_all(
            lambda: check_items("records", records), lambda: check_text("name", name)
        )
        ready = [self._entry(name, record) for record in many]

        def work(change: Change) -> list[R]:
            """The records as they are kept."""
            stood = change.writer.page(project.name, Filters(tag=name), None, 1)
            kept: list[R] = []
            for record in ready:
                kept.append(_behind(record, kept[-1:] or stood))
            change.append(kept, in_order=True)
            change.embed(kept)
            return kept

        return project.carry_out(work) if ready else []

    def _entry(self, name: str, record: R) -> R:
        """As it will be kept. What is put somewhere is no report about a checkout, and does not
        grow stale with its files.
        """
        (ready,) = self._project.date([self._project.prepare(record)])
        if ready.kind in INTERNAL_KINDS:
            raise made_elsewhere(ready)
        allowed = "a name that its record has as a tag, and that is no secret"
        check_that(check_text("name", name) in ready.metadata.tags, "name", name, allowed)
        return ready

    def names(self, start: str, author: str | None = None) -> list[str]:
        """The names that begin with `start` and under which something stands, in order; of one
        author where one is given.
        """
        check_all(start=start, author=author)
        self._project.listener.before_read()
        return self._project.store.tags(self._project.name, start, author)

    def list(
        self, name: str, limit: int | None = None, authors: Sequence[str] = ()
    ) -> Iterator[AnyRecord]:
        """What stands under a name, the newest first; of the `authors`, where some are given."""
        check_all(
            lambda: check_text("name", name),
            lambda: limit is None or check_whole_number("limit", limit, 0, limits.JSON_INT_ABS_MAX),
            lambda: check_items("authors", authors),
        )
        self._project.listener.before_read()
        only = authors[0] if len(authors) == 1 else None
        whose = Filters(tag=name, author=only, recorded_here=True)
        records = map(read_current, self._project.pages(whose, limit, trusted=True))
        theirs = (record for record in records if not authors or record.said_by in authors)
        return islice(theirs, limit)


def keep_all(project: Project, records: Sequence[R], *, returned: bool = True) -> list[R]:
    """One transaction. Nothing is `returned` to whoever only wants ids: Python's collector would
    look through the copies of a hundred thousand records again and again, which takes a sixth of
    the time.
    """
    head, size = project.head, _ADD_BATCH_ROWS
    ready, rows = records, None
    if len(records) <= size:  # before anybody waits for us, where they are few
        ready = project.date([project.prepare(record, head) for record in records])
        rows = project.store.make_rows(project.name, ready)

    def work(change: Change) -> list[R]:
        """The records as they are kept, if they are asked for."""
        kept: list[R] = []
        for start in range(0, len(records), size):
            batch = ready[start : start + size]
            if rows is None:
                batch = [project.prepare(record, head) for record in batch]
            batch = change.append(batch, records[start : start + size], made_here=True, rows=rows)
            if project.embedder:
                change.embed(batch)
            kept += batch if returned else ()
        placed = change.paths or any(type(record) is Fix for record in kept)
        return change.with_places(kept) if placed else kept

    # Where nothing but new rows comes of it, others may append at the same time. Records that prove
    # themselves by these are more. What is no record is refused later.
    more = any(getattr(record, "recalled", None) for record in records)
    return project.carry_out(work, exclusive=more or len(records) > size)


def record_many(project: Project, kind: Kind, many: Iterable[Mapping[str, Any]]) -> list[AnyRecord]:
    """Records of one kind, each given by its keywords."""
    check_that(kind in _RECORDED_KINDS, "kind", kind, f"one of {', '.join(_RECORDED_KINDS)}")
    made: list[AnyRecord] = []
    items = check_items("many", many)
    for number, keywords in enumerate(items, 1):
        try:
            own = check_mapping("many", keywords)
            allowed = (
                "keywords, which a memory does not fill in itself: load and add take whole records"
            )
            own = {name: value for name, value in own.items() if value is not None}
            envelope = _split_envelope(own, allowed)
            record = make(project, MODEL_OF_KIND[kind], own, envelope)
            made.append(_prepare(project, record) if isinstance(record, Fact) else record)
        except InvalidInputError as error:
            where = f"record {number}" if len(items) > 1 else ""
            raise InvalidInputError(error.problems, where) from None
    if kind == "fact":
        return [*_record_facts(project, [record for record in made if isinstance(record, Fact)])]
    return keep_all(project, made)


def _find_own(arguments: Mapping[str, Any], *lists: str) -> dict[str, Any]:
    """Of the arguments of a `record_…` those that are the record's own, all but the envelope's; those
    named in `lists` as lists.
    """
    return {
        name: list_items(value) if name in lists else value
        for name, value in arguments.items()
        if name not in ("self", "envelope")
    }


def _split_envelope(own: dict[str, Any], allowed: str) -> dict[str, Any]:
    """The envelope's keywords, taken out of a record's own. Others than are `allowed` are refused."""
    for name in _NOT_EXTRA_KEYS:
        check_that(name not in own, name, own.get(name), allowed)
    return {name: own.pop(name) for name in ENVELOPE_KEYWORDS if name in own}


def make(project: Project, kind: type[R], own: dict[str, Any], envelope: Mapping[str, Any]) -> R:
    """A record from what a caller says of it."""
    at = project.now()
    data = {**own, "id": new_id(at)}
    if "recalled" in envelope:  # a context knows the ids of what it showed
        shown = list_items(getattr(envelope["recalled"], "ids", envelope["recalled"]))
        data["recalled"] = list(map(str, shown)) if isinstance(shown, list) else shown
    if isinstance(cards := own.get("mistake_cards"), list):
        # before their texts are cut: what is left of a secret afterwards would not be recognised
        clean = (redact_json(card)[0] if isinstance(card, dict) else card for card in cards)
        data["mistake_cards"] = list(clean)
    read_metadata = partial(
        make_metadata, envelope, at, project.root, project.place.path, project.name
    )
    with suppress(InvalidInputError):
        return kind.model_validate({**data, "metadata": read_metadata()})
    # whatever is wrong is told at once
    record, metadata = check_all(partial(kind.model_validate, data), read_metadata)
    made: R = record.copy_with(metadata=metadata)
    return made


def make_metadata(
    keywords: Mapping[str, Any],
    at: datetime,
    root: Path | None,
    memory_file: Path | None = None,
    project: str = "",
) -> Metadata:
    """The envelope from a caller's keywords; `root` is the checkout that related files are named
    from, `memory_file` the one file that none of them may be, where the memory has one.
    """
    if not keywords and at.tzinfo is UTC and at >= EPOCH:  # as by far the most are, and it shows
        moment = _plain_metadata().context.copy_with(timestamp=at, related_files=[])
        return _plain_metadata().copy_with(context=moment, tags=[], project_id=project)
    for name, value in keywords.items():
        if name not in ENVELOPE_KEYWORDS:
            raise InvalidInputError.one(name, value, f"the keywords {', '.join(ENVELOPE_KEYWORDS)}")
    source = keywords.get("source", {})
    if isinstance(source, Source):
        source = source.model_dump()
    source = check_mapping("source", source)
    if "author" in keywords:
        source["author"] = keywords["author"]
    when = "timestamp", "git_commit", "git_branch"
    context = {"timestamp": at} | {name: keywords[name] for name in when if name in keywords}
    if "related_files" in keywords:
        context["related_files"] = related_files(keywords["related_files"], root, memory_file)
    whole = {
        "source": source,
        "context": context,
        "validation": {"failure_hash": keywords.get("failure_hash")},
        "tags": list_items(keywords["tags"]) if "tags" in keywords else [],
        "project_id": project,
    }
    try:
        return Metadata.model_validate(whole)
    except InvalidInputError as error:  # by the names of the keywords
        part = re.compile(r"^(?:source|context|validation)\.")
        named = ((part.sub("", problem.field), problem) for problem in error.problems)
        raise InvalidInputError([replace(one, field=name) for name, one in named]) from None


@cache
def _plain_metadata() -> Metadata:
    return Metadata()


def related_files(
    paths: Any, root: Path | None, memory_file: Path | None = None
) -> list[RelatedFile]:
    """The files that a caller names, each with its hash."""
    return [_relate(file, root, memory_file) for file in check_items("related_files", paths)]


def _relate(file: Any, root: Path | None, memory_file: Path | None) -> RelatedFile:
    """Hashed now, unless the hash is given; named from the checkout's root where it is inside, so
    that another checkout knows it too.
    """
    if isinstance(file, RelatedFile | Mapping):
        return file if isinstance(file, RelatedFile) else RelatedFile.model_validate(dict(file))
    path = check_path("related_files", file)
    name = path.relative_to(root) if root and path.is_relative_to(root) else Path(file)
    try:
        status = path.stat()
    except OSError:
        return RelatedFile(path=name.as_posix(), hash=files.compute_sha1(path))
    if (status.st_dev, status.st_ino) in git.find_identities(memory_file):
        # To close it would drop the locks that SQLite holds on it for this process.
        allowed = "files other than the memory itself"
        raise InvalidInputError.one("related_files", str(path), allowed)
    signature = git.make_signature(status)
    known = git.HASHES.find_sha1(str(path), signature)  # it is as it was when it was last read
    if known is None:
        begun_ns = time.time_ns()
        known = files.compute_sha1(path)
        git.HASHES.keep(str(path), signature, known, begun_ns)
    return RelatedFile(path=name.as_posix(), hash=known)


def _prepare(project: Project, fact: Fact) -> Fact:
    """A fact as it will be kept: with the names in its sentence, and what keeps it from standing
    alone.
    """
    fact = project.prepare(fact, project.head)
    return _name_entities(fact).copy_with(findings=lint(fact.content) or None)


def _name_entities(fact: Fact) -> Fact:
    """With the names in its sentence, which a record that was added, or loaded, need not have."""
    return fact.copy_with(entities=entities.add_names(fact.entities, entities.find(fact.content)))


def _record_facts(project: Project, facts: Sequence[Fact]) -> list[Fact]:
    """Keeps what is new of these; of what is known, the first fact that says it comes back."""
    facts = project.date(facts)
    rows = project.store.make_rows(project.name, facts)

    def work(change: Change) -> list[Fact]:
        """The facts that are known now."""
        kept: list[Fact] = []
        for fact, row in zip(facts, rows, strict=True):
            first = _find_same(change.writer, fact)
            if first is None:
                kept += change.append([fact], made_here=True, rows=[row])
                change.embed([fact])
            else:
                _repeat(change, first, fact)
                kept.append(first)
        return kept

    return project.carry_out(work)


def _find_same(writer: Writer, fact: Fact) -> Fact | None:
    """The first fact that says the same, if the one who says it again has a say."""
    name = fact.project_id
    alike = writer.facts_with_key(name, fact_key(fact), _SAME_FACTS_MAX)
    for first in keep_kind(Fact, alike):
        if repeats(_name_entities(first), fact):
            return None if fact.metadata.source.author in writer.rolled_back(name) else first
    return None


def _repeat(change: Change, first: Fact, again: Fact) -> None:
    """Somebody said it again. One event tells a day of it: an agent that says the same all day says
    it once.
    """
    reason = None if first.content == again.content else again.content
    by, known = again.metadata.source.author, change.writer.list_events(first.project_id, first.id)
    event = clean_event(change.event(first.id, "repeated", by, reason=reason))
    new = event.kind, event.by, event.at_us // limits.DAY_US
    if new not in {(one.kind, one.by, one.at_us // limits.DAY_US) for one in known}:
        change.writer.add_events(first.project_id, [event])
        if event.by != first.metadata.source.author:  # whose own word changes nothing
            refresh_status(change.writer, first.project_id, first.id)
    change.concern([first.id])


def _behind(record: R, stood: Sequence[Stored | Record]) -> R:
    """Later than the first of what stood there: whoever puts something last is read, whatever its
    clock says.
    """
    if not stood or record.at_us > stood[0].at_us:
        return record
    moment = record.metadata.context.copy_with(timestamp=from_us(stood[0].at_us + 1))
    return record.copy_with(metadata=record.metadata.copy_with(context=moment))


def _fitting(steps: list[Step]) -> list[Step]:
    """As much of each step as one record can hold."""
    # characters; one takes up to six bytes as JSON, and the envelope needs some
    room = limits.RECORD_BYTES_MAX // 8
    if sum(len(step.action) + len(step.observation) for step in steps) <= room:
        return steps
    share = room // (2 * len(steps))
    return [
        step.copy_with(action=cut(step.action, share), observation=cut(step.observation, share))
        for step in steps
    ]


def cut(text: str, chars: int) -> str:
    """The beginning of a text. Secrets go first: half of one would not be recognised."""
    return text if len(text) <= chars else redact(text)[0][:chars]


class TrajectoryRecorder:
    """Collects steps inside a `with` block and records them when it ends, whatever happens in it.

    A block that ends well counts as solved (final reward 1.0) unless `final_reward` says otherwise,
    or its last step shows an error that nobody gave a reward for; one that raises counts as failed
    (0.0), with the error as its last observation. `record` is what was kept.
    """

    def __init__(self, memory: Memory, task: str, envelope: Envelope) -> None:
        self._memory, self._envelope = memory, envelope
        self.task = task
        self.steps: list[Step] = []
        self.final_reward: float | None = None
        self.record: Trajectory | None = None

    def step(
        self, action: str, observation: str = "", reward: float = 0.0, ok: bool | None = None
    ) -> None:
        """One step was taken: what was done, what came of it, and what that was worth."""
        self.steps.append(Step(action=action, observation=observation, reward=reward, ok=ok))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._record(error)
        except Exception as failure:
            if error is None:
                raise
            # The caller's own error is the news; whatever failed here must not hide it. One of the
            # caller's own making may take no notes.
            note = f"Hardwon could not record this trajectory: {failure}"
            ask_foreign(partial(error.add_note, note), None)

    def _record(self, error: BaseException | None) -> None:
        last = self.steps[-1] if self.steps else None
        well = last is None or last.reward > 0 or judge_steps([last])[0].outcome != "failed"
        reward = float(well) if self.final_reward is None else self.final_reward
        if error is not None:
            reward = 0.0
            self.step("(the attempt raised an error)", _describe(error))
        record = self._memory.record_trajectory
        self.record = record(self.task, self.steps, reward, **self._envelope)


def _describe(error: BaseException) -> str:
    name = type(error).__name__
    text = ask_foreign(lambda: f"{name}: {error}", name)
    text = text.replace("\0", "").encode(errors="replace").decode()
    # in this order: half a secret would not be recognised
    return redact(text)[0][: limits.TEXT_CHARS_MAX]
