"""Looking after a memory: room, copies, health, the files beside it, and who may reach it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack, get_args
from uuid import UUID

from hardwon import limits
from hardwon.errors import DamagedError, FileOnlyError, FullError, InvalidInputError, PlaceError
from hardwon.lessons.issues import signature_keys
from hardwon.lessons.order import find_opposite
from hardwon.memory.later import cleanup, embedders, embedding, figures, results, transfer
from hardwon.memory.places import find_place, note
from hardwon.memory.project import Group, batches
from hardwon.memory.record import keep_all, record_many
from hardwon.memory.standing import derive_again
from hardwon.memory.tallies import keep_kind
from hardwon.outside import files
from hardwon.outside.locations import COPIES, check_path
from hardwon.records.fields import (
    TIME_US_MAX,
    check_all,
    check_choice,
    check_items,
    check_text,
    check_whole_number,
    from_us,
    now,
    parse_id,
    to_us,
)
from hardwon.records.kinds import (
    ACTIONS,
    STATUSES,
    Action,
    Adopted,
    AnyRecord,
    Decision,
    Event,
    Experience,
    Fix,
    Kind,
    R,
    Status,
)
from hardwon.search.terms import FilterKeywords, Filters
from hardwon.store.query import read_current, read_original, readable
from hardwon.store.sqlite.file import restore as restore_file
from hardwon.store.sqlite.presence import refuse_foreign_log
from hardwon.store.types import Cursor, Finding, Found, Progress, Row
from hardwon.text.terms import query_terms
from hardwon.trust.lifecycle import find_successor

if TYPE_CHECKING:
    from hardwon.memory import Memory
    from hardwon.memory.results import (
        Activity,
        Backup,
        CleanedUp,
        Compacted,
        Credited,
        Diagnosis,
        Failure,
        Links,
        Loaded,
        Page,
        Rates,
    )

# So many times as long as failed fixes are successful ones kept, where nobody says how long.
_SUCCESSES_KEPT_TIMES: Final = 3

Per = Literal["author", "task", "command"]
# What records are listed by where somebody types.
Column = Literal["id", "task_id", "tool", "author", "model", "issue_type"]
_WAIT: Final = (
    "records wait for their vectors: whoever opens the memory with the embedder makes them, and so "
    "does reembed"
)
_SAMPLE: Final = 3  # ids named in a finding; doctor counts the rest


# So that nobody works out what a mark was made of.
_MARKED_BY: Final = token_hex(16)


class Keeping(Group):
    """Looks after the memory."""

    def reembed(self, progress: Progress | None = None) -> int:
        """Makes the vectors that are missing, at once and not in the background; with another
        embedder than before, all of them anew. Can be interrupted and goes on where it was. Returns
        how many were made.
        """
        project = self._project
        project.embedding.leave()
        embedder = project.embedding.embedder
        with project.write() as change:
            change.writer.set_embedder(project.name, embedder.name, embedder.dimension)
        done, total = 0, project.store.counts(project.name).unembedded
        while missing := project.store.without_vector(project.name, embedding.EMBED_WAITING_MAX):
            for batch in batches(missing, embedders.EMBED_BATCH_TEXTS):
                made = project.embedding.make_vectors([read_original(stored) for stored in batch])
                with project.write() as change:
                    change.keep_vectors(made)
                done += len(made)
                if progress:
                    progress(done, max(total, done))
        return done

    def cleanup(
        self,
        older_than_days: float = limits.CLEANUP_DAYS,
        dry_run: bool = True,
        *,
        successes_days: float | None = None,
        by: str = "user",
        progress: Progress | None = None,
    ) -> CleanedUp:
        """Takes fixes of more than `older_than_days` out of the history; successful ones when they
        are three times as old, or `successes_days`. What they taught stays, and so do those that
        are verified, that helped, or that are the last of their pattern, of its solution or of a
        proven strategy. `undo` brings them back until `compact`. All or nothing.
        """
        ago = partial(cleanup.days_ago, self._project.now())
        failed_us, succeeded_us, *_ = check_all(
            lambda: ago("older_than_days", older_than_days),
            lambda: ago("successes_days", 0 if successes_days is None else successes_days),
            dry_run=dry_run,
            by=by,
        )
        if successes_days is None:
            longer = min(_SUCCESSES_KEPT_TIMES * older_than_days, limits.DAYS_MAX)
            succeeded_us = ago("successes_days", longer)
        return cleanup.clean_up(self._project, failed_us, succeeded_us, by, dry_run, progress)

    def compact(self, progress: Progress | None = None) -> Compacted:
        """Makes the file as small as it can be. What left the history by a cleanup is gone for
        good; what it taught stays.
        """
        return cleanup.compact(self._project, progress)

    def export(
        self, path: str | Path, progress: Progress | None = None, *, as_schema: bool = False
    ) -> int:
        """Writes every record of the project, as of one instant, to the file at `path`, one JSON
        object a line; returns how many. Fixes that were cleaned up are written whole; of those that
        were compacted since there is nothing left to write, and only `merge` carries what they
        taught. `as_schema`: as the metadata schema writes records, with what it says of their standing
        alone.
        """
        asked, here = check_path("path", path), self._project.store.location
        target = files.target("path", asked, here, "records.jsonl")
        return transfer.export(self._project, target, progress, as_schema=as_schema)

    def load(
        self,
        path: str | Path,
        dry_run: bool = False,
        by: str = "user",
        progress: Progress | None = None,
        *,
        strict: bool = False,
        trust: bool = False,
    ) -> Loaded:
        """Adds the records of the file at `path`, as `export` or the metadata schema writes them,
        each with the id that it has there or that follows from what it says. The whole file is
        checked before anything is written. What is new lands as `hypothesis`, whatever it claims,
        or as `archived`, where it was retired, and is otherwise unchanged; what is here already
        stays as it is, unless it came from elsewhere, nobody here verified it, and it was retired
        since. `trust` is for a file of your own: records keep the standing that they have there, and
        what was decided about them is taken over, also about those that are here. `strict` demands
        all that the metadata schema does.
        """
        file, *_ = check_all(
            lambda: check_path("path", path), dry_run=dry_run, by=by, strict=strict, trust=trust
        )
        read, reason = partial(transfer.read_file, file, strict=strict), f"from {file.name}"
        how = {"trust": trust, "of_others": True}
        return transfer.load(self._project, read, by, dry_run, progress, reason=reason, **how)

    def backup(self, path: str | Path, progress: Progress | None = None) -> Backup:
        """Copies the whole memory file to `path` as of one instant, while others write; verified,
        with a checksum beside it. Not of a database, which its own tools copy.
        """
        target = check_path("path", path)
        digest = self._project.store.backup(target, progress)
        return results.Backup(target, digest, target.stat().st_size)

    @classmethod
    def restore(
        cls, path: str | Path, location: str | Path | None = None, progress: Progress | None = None
    ) -> Path | None:
        """Puts the backup at `path` where the memory at `location` is, also while others have it
        open. Returns where the memory that was there is kept, or None if there was none.
        """
        place, backup = check_all(lambda: find_place(location), lambda: check_path("path", path))
        if place.path is None:
            raise FileOnlyError(f"{place.location} is a database: {COPIES}")
        refuse_foreign_log(place.path)
        aside = f"before-restore-{now():%Y%m%dT%H%M%S%fZ}"
        kept = restore_file(backup, place.path, aside, progress)
        with suppress(PlaceError, FullError):  # it is there all the same
            note(place.path)
        return kept

    def doctor(self, progress: Progress | None = None) -> Diagnosis:
        """Checks the file, and derives again everything that is derived from this project's
        records. Changes nothing, but for taking away what killed writers left.
        """
        store, name = self._project.store, self._project.name
        findings = list(store.check(name))
        if all(finding.ok for finding in findings if finding.check in ("integrity", "schema")):
            try:
                findings += self._derive_again(progress)
            except DamagedError as error:  # an event, which the store has counted
                detail = f"what is derived from them was not looked at: {error}"
                findings.append(Finding("records", False, detail))
            if waiting := store.count_without_vector(name):
                findings.append(Finding("embedding", True, f"{waiting} {_WAIT}"))
            findings += self._project.listener.check()
        return results.Diagnosis(findings)

    def _derive_again(self, progress: Progress | None) -> Iterator[Finding]:
        """Whether what is kept of every record is what follows from it."""
        checked, wrong, damaged = 0, list[str](), list[str]()
        for row, events in self._rows(progress):
            checked += 1
            try:
                if derive_again(row, events) != row:
                    wrong.append(row.id)
            except (DamagedError, InvalidInputError):
                damaged.append(row.id)
        for check, ids, fine, remedy in (
            ("records", damaged, "are what was written", "restore a backup"),
            ("derived", wrong, "agree with what is derived", "run rebuild"),
        ):
            some = ", ".join(ids[:_SAMPLE])
            bad = f"{len(ids)} records are not, for example {some}: {remedy}"
            yield Finding(check, not ids, bad if ids else f"{checked} records {fine}")
        untrue = self._project.store.untrue_tallies(self._project.name)
        bad = f"{untrue} tallies are not what the records add up to: run rebuild"
        fine = "every tally is what the records add up to"
        yield Finding("knowledge", not untrue, bad if untrue else fine)

    def _rows(self, progress: Progress | None) -> Iterator[tuple[Row, Sequence[Event]]]:
        """Every row of the project with its events, while somebody is told how far it is."""
        total = self._project.store.counts(self._project.name).total
        return transfer.report(self._project.store.rows(self._project.name), progress, total)

    def rebuild(self, progress: Progress | None = None) -> int:
        """Derives again everything that is derived and corrects what differs; returns how many
        records that were.
        """
        project, corrected = self._project, 0
        for batch in batches(self._rows(progress), limits.BATCH_ROWS):
            with project.write() as change:
                for row, _ in batch:
                    try:
                        derived = derive_again(row, change.writer.list_events(project.name, row.id))
                    except DamagedError:  # only a backup has it; doctor names it
                        continue
                    if derived != row and change.writer.get(project.name, row.id):
                        change.writer.rewrite(derived)
                        corrected += 1
        with project.write() as change:
            change.writer.recount(project.name)
        return corrected


class Care(Group):
    """What people and servers need who look after a memory: `memory.care`."""

    def wait_for_vectors(self, timeout_s: float | None = None) -> int:
        """Waits, at most `timeout_s` seconds, until everything that was recorded has its vector,
        which is made in the background; returns how many records have none.
        """
        project = self._project
        project.embed()
        project.embedding.wait(timeout_s)
        return project.store.count_without_vector(project.name)

    def values(self, name: Column, beginning: str = "", limit: int = 100) -> list[str]:
        """What records have under `name` that begins with `beginning`, at most `limit`, the last by
        name first: of ids, the newest.
        """
        check_all(
            lambda: check_choice("name", name, get_args(Column)),
            lambda: check_text("beginning", beginning),
            limit=limit,
        )
        start = beginning.lower() if name == "id" else beginning
        return self._project.store.values_from(self._project.name, name, start, limit)

    def links(self, record_id: str | UUID) -> Links:
        """What replaced the record of that `record_id`, what it replaced, and what contradicts
        it.
        """
        store, name, wanted = self._project.store, self._project.name, parse_id(record_id)
        successor = find_successor(store.list_events(name, wanted))
        others = self._find_alike(wanted)
        record = next((one for one in others if one.id == wanted), None)
        opposite = tuple(one.id for one in find_opposite(record, others)) if record else ()
        return results.Links(successor, tuple(store.superseded_by(name, wanted)), opposite)

    def _find_alike(self, record_id: str) -> list[AnyRecord]:
        """A record, and those that may report the same situation; nothing where there is no such record."""
        store, name = self._project.store, self._project.name
        stored = store.get(name, record_id)
        record = read_current(stored) if stored else None
        hits: Iterable[Found] = ()
        if isinstance(record, Fix):
            keys = signature_keys(record.issue)
            hits = store.by_key(name, keys, Filters(kind="fix"), limits.PAGE_RECORDS)
        elif isinstance(record, Experience):
            terms, kind = query_terms(record.content), Filters(kind="experience")
            scored = store.search(name, terms, kind, limits.PAGE_RECORDS, whole=True)
            hits = (hit for hit, _ in scored)
        return [record, *readable(hits)] if record else []

    def page(
        self,
        limit: int = limits.PAGE_RECORDS,
        cursor: str | None = None,
        **filters: Unpack[FilterKeywords],
    ) -> Page:
        """As `browse`, a page at a time: `cursor` is the `next` of the page before."""
        size, before, asked = check_all(
            lambda: check_whole_number("limit", limit, 1, limits.PAGE_RECORDS_MAX),
            lambda: None if cursor is None else parse_cursor(cursor),
            lambda: Filters.of(self._project.name, {**filters}),
        )
        self._project.listener.before_read()
        stored_rows = self._project.store.page(self._project.name, asked, before, size + 1)
        records = [read_current(stored) for stored in stored_rows[:size]]
        if len(stored_rows) <= size:
            return results.Page(records, None)
        last = stored_rows[size - 1]
        place = base64.urlsafe_b64encode(f"{last.at_us}|{last.id}".encode())
        return results.Page(records, place.decode())

    def projects(self) -> list[str]:
        """The projects that have records in this memory."""
        return self._project.store.projects()

    def activity(
        self, since: datetime | str | int | None = None, until: datetime | str | int | None = None
    ) -> list[Activity]:
        """What was recorded day by day (UTC), by kind, and how it turned out: whole days from the
        one of `since` to the one of `until`. Where nobody says, from the first record to today.
        """
        project = self._project
        asked = Filters.of(project.name, {"since": since, "until": until})
        first = 0 if asked.since is None else to_us(asked.since) // limits.DAY_US
        last = to_us(project.now() if asked.until is None else asked.until) // limits.DAY_US
        return [
            results.Activity(from_us(day * limits.DAY_US).date(), kind, *counts)
            for day, kind, *counts in project.store.activity(project.name, first, last + 1)
        ]

    def failures(self, since: datetime | str | int | None = None, limit: int = 10) -> list[Failure]:
        """What goes wrong, from `since` on, and what made it go away: first what came up in the last
        days for the first time, then what came up most. Of very many failures, the newest.
        """
        start, _ = check_all(lambda: self._since(since), limit=limit)
        return figures.failures(self._project, start, limit)

    def progress(
        self, per: Per = "author", since: datetime | str | int | None = None, limit: int = 10
    ) -> list[Rates]:
        """Whether it gets better: how much went well and badly day by day, from `since` on, `per`
        author, task or command; those with the most attempts.
        """
        _, start, _ = check_all(
            lambda: check_choice("per", per, get_args(Per)), lambda: self._since(since), limit=limit
        )
        return figures.progress(self._project, per, start, limit)

    def _since(self, since: datetime | str | int | None) -> datetime | None:
        return Filters.of(self._project.name, {"since": since}).since

    def helpful(self, status: Status = "hypothesis", limit: int = 20) -> list[Credited]:
        """The records of a status that helped most often when they were recalled, of those that
        ever did.
        """
        check_all(lambda: check_choice("status", status, STATUSES), limit=limit)
        stored_rows = self._project.store.most_helpful(self._project.name, status, limit)
        counted = [(readable([stored]), counts) for stored, *counts in stored_rows]
        return [results.Credited(one, *counts) for records, counts in counted for one in records]

    def change_mark(self) -> str:
        """A text that is another one after anything was recorded, decided or forgotten: cheap
        enough to ask every second. It says nothing else, and means nothing to another process.
        """
        name = self._project.name
        # the store numbers records of all projects: the number tells what others do
        number, events = self._project.store.change_mark(name)
        return sha256(f"{_MARKED_BY}{name}\0{number}\0{events}".encode()).hexdigest()[:16]

    def decisions(
        self, action: Action | None = None, task_id: str | None = None, limit: int = 100
    ) -> list[Decision]:
        """What was decided about knowledge and not undone, newest first; `action` asks for one
        sort. Of a `task_id`: with what concerns the whole project.
        """
        check_all(lambda: check_choice("action", action, ACTIONS), task_id=task_id, limit=limit)
        actions = ACTIONS if action is None else (action,)
        stored = self._project.store.decisions(self._project.name, actions, task_id)
        return keep_kind(Decision, stored)[:limit]

    def adopted(self, origin: str, limit: int = 100) -> list[Adopted]:
        """What was adopted from one sort of store (`origin`), without records, and still counts;
        the newest first.
        """
        check_all(lambda: check_text("origin", origin), limit=limit)
        return self._project.knowledge.adopted(origin, limit)

    def take_in(
        self,
        records: Iterable[AnyRecord],
        dry_run: bool = False,
        by: str = "user",
        progress: Progress | None = None,
        *,
        at_once: bool = False,
        may_retire: bool = True,
        own: bool = False,
    ) -> Loaded:
        """Adds records that were made elsewhere, as `load` does those of a file: whoever adopts
        another store makes them, with ids derived from what they are. `at_once`: all of them in one
        transaction or, when one is refused, none; they are then taken one after the other as they
        are made, and other writers wait until the last. `may_retire`: whether those that came
        before, and are archived by now where they come from, are archived here. `own`: they are the
        owner's, and no stranger's word, as far as who brings them may say so.
        """
        comes_one_by_one = at_once and isinstance(records, Iterator)
        taken, *_ = check_all(
            lambda: records if comes_one_by_one else check_items("records", records),
            dry_run=dry_run,
            by=by,
            may_retire=may_retire,
        )
        read = partial(iter, taken)
        return transfer.load(
            self._project, read, by, dry_run, progress, at_once, trust=own, may_retire=may_retire
        )

    def keep_many(self, records: Iterable[R]) -> list[R]:
        """As `add_many`, and returns the records as they were kept."""
        return keep_all(self._project, check_items("records", records))

    def record_many(self, kind: Kind, many: Iterable[Mapping[str, Any]]) -> list[AnyRecord]:
        """Keeps records of one `kind`, each of `many` given by the keywords of `record_fact`,
        `record_trajectory`, `record_episode` or `record_fix`: all of them or, when one is refused,
        none. One transaction.
        """
        return record_many(self._project, kind, many)

    def in_project(self, project: str) -> Memory:
        """The same memory, opened once more for another project, without the checkout that we are
        in: for servers.
        """
        from hardwon.memory import Memory

        where = self._project.place
        return Memory(where.url or where.path, project, checkout=False)

    def once(self, key: bytes, fingerprint: bytes) -> AbstractContextManager[None]:
        """For whoever may be asked the same thing twice: in the block, what is written first (a
        record, a status, a credit, a decision) is written once under this key, also by several
        processes. Where that happened before, nothing is written and `RepeatedError` tells the
        fingerprint of what had been asked, as `said`, and the ids that it concerned. Of this thread
        alone.
        """
        return self._project.once(key, fingerprint)

    def now(self) -> datetime:
        """What the memory's clock says."""
        return self._project.now()


def parse_cursor(value: Any) -> Cursor:
    """A place among records, as the page before wrote it."""
    try:
        text = base64.urlsafe_b64decode(check_text("cursor", value).encode()).decode()
        at_us, record_id = text.split("|")
        if not 0 <= int(at_us) <= TIME_US_MAX:
            raise ValueError(at_us)
        return Cursor(int(at_us), str(UUID(record_id)))
    except ValueError:
        raise InvalidInputError.one("cursor", value, "what a page gave as its next") from None
