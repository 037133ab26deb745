"""Looking after a memory: room, copies, health, the files beside it, and who may reach it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from hardwon import limits
from hardwon.errors import DamagedError, FileOnlyError, InvalidInputError
from hardwon.memory import designs, intake, jsonl
from hardwon.memory.project import Core, batches, current_folder, derive_again, embedded
from hardwon.outside import own_files
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.fields import now, to_us
from hardwon.records.kinds import LOCAL_ACTIONS, AnyRecord, Decision
from hardwon.store import places as place
from hardwon.store.places import COPIES
from hardwon.store.query import original_of, restored
from hardwon.store.sqlite.file import restore as restore_file
from hardwon.store.sqlite.log import refuse_foreign_log
from hardwon.store.types import Finding, Progress, Row, Stored, Writer

if TYPE_CHECKING:
    from hardwon.fixes.tables import FixHistory
    from hardwon.memory.cleanup import Tidy
    from hardwon.memory.results import (
        Backup,
        CleanedUp,
        Compacted,
        Compressed,
        Diagnosis,
        Loaded,
        Synced,
    )
    from hardwon.memory.tokens import Tokens
    from hardwon.tree.mirror import Mirror
_SAMPLE: Final = 3  # ids named in a finding; doctor counts the rest


class Keeping(Core):
    """Looks after the memory."""

    def make_tree(self, schema: Mapping[str, Any] | None = None) -> Mirror:
        """Gives the memory a tree of files in its own folder, routed by the standard schema or by
        one of your own. Where it has one already, that stays, and `schema` must be its own or
        nothing.
        """
        if self._place.path is None:
            raise FileOnlyError(
                "only a memory in a local file can have a tree of files beside it: of a database, "
                "hardwon --memory copy.db "
                "merge URL makes one"
            )
        with self._store.write(self.project) as writer:
            routes = designs.load(designs.MAKE_TREE)(writer.session, self.project, schema)
        if self._mirror is None:
            self._open_tree()
        assert self._mirror is not None  # noqa: S101  # for type checkers: it was just made
        if schema is not None and self._mirror.routes != routes:
            raise InvalidInputError.one(
                "schema", schema, "the schema that this tree was made with, or none"
            )
        return self._mirror

    def sync(self) -> Synced:
        """Brings tree and memory in step: looks at every file of the tree and takes in what people
        changed. Tells what was taken in since this was last asked, or since the memory was opened.
        """
        if self.tree is None:
            raise InvalidInputError.one(
                "memory", self.location, "a memory with a tree of files: make_tree gives it one"
            )
        return self.tree.sync()

    def reembed(self, progress: Progress | None = None) -> int:
        """Makes the vectors that are missing; with another embedder than before, all of them anew.
        Can be interrupted and goes on where it was. Returns how many were made.
        """
        if self._embedder is None:
            raise InvalidInputError.one(
                "embedder", None, "a memory that was opened with an embedder: Memory(…, embedder=…)"
            )
        with self._store.write(self.project) as writer:
            writer.set_embedder(self.project, self._embedder.name, self._embedder.dimension)
        done, total = 0, self._store.counts(self.project).records
        while missing := self._store.without_vector(self.project, limits.EMBED_BATCH_TEXTS):
            made = embedded(self._embedder, [original_of(stored) for stored in missing])
            with self._store.write(self.project) as writer:
                self._keep_vectors(writer, made)
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
        somebody vouches for, that helped, or that are the last of their pattern, of its solution or
        of a proven strategy. `undo` brings them back until `compact`. All or nothing.
        """
        from hardwon.memory import cleanup as tidying
        from hardwon.memory import consolidate as consolidating
        from hardwon.memory.cleanup import Retention

        failed_us = self._days_ago("older_than_days", older_than_days)
        usual = min(limits.SUCCESSES_KEPT_TIMES * older_than_days, limits.DAYS_MAX)
        succeeded_us = self._days_ago(
            "successes_days", usual if successes_days is None else successes_days
        )
        decision = self._prepare(consolidating.decide("cleanup", self.now(), by))
        return tidying.clean_up(
            self._tidy(progress), Retention(failed_us, succeeded_us), decision, dry_run=dry_run
        )

    def compress(
        self,
        older_than_days: float = limits.COMPRESS_DAYS,
        dry_run: bool = True,
        *,
        by: str = "user",
        progress: Progress | None = None,
    ) -> Compressed:
        """Packs the details of fixes of more than `older_than_days` away. They stay in the history,
        shortened, and are found by their summaries; `get` reads them whole, `undo` unpacks them.
        All or nothing.
        """
        from hardwon.memory import cleanup as tidying
        from hardwon.memory import consolidate as consolidating

        before_us = self._days_ago("older_than_days", older_than_days)
        decision = self._prepare(consolidating.decide("compress", self.now(), by))
        return tidying.compress(self._tidy(progress), before_us, decision, dry_run=dry_run)

    def compact(self, progress: Progress | None = None) -> Compacted:
        """Makes the file as small as it can be. What left the history by a cleanup is gone for
        good; what it taught stays.
        """
        from hardwon.memory import cleanup as tidying

        return tidying.compact(self._store, self.project, progress)

    def _tidy(self, progress: Progress | None) -> Tidy:
        from hardwon.memory.cleanup import Tidy

        return Tidy(self._store, self.project, self._decide, progress)

    def _days_ago(self, field: str, days: float) -> int:
        if (
            isinstance(days, bool)
            or not isinstance(days, int | float)
            or not 0 <= days <= limits.DAYS_MAX
        ):
            raise InvalidInputError.one(
                field, days, f"a number of days from 0 to {limits.DAYS_MAX}"
            )
        return to_us(self.now()) - round(days * limits.DAY_US)

    @property
    def fix_history(self) -> FixHistory:
        """The tables of fix history in this memory's file, to read."""
        if self._place.path is None or self.project != DEFAULT_PROJECT:
            raise FileOnlyError(
                f"the tables of fix history are of the project {DEFAULT_PROJECT!r} of a memory in "
                f"a local file: of a "
                "database, hardwon --memory copy.db merge URL makes one; fix_totals, patterns and "
                "strategies need no tables"
            )
        history: FixHistory = designs.load(designs.FIX_HISTORY)(self._store)
        return history

    @property
    def tokens(self) -> Tokens:
        """Who may reach this memory from outside: for servers, and for `hardwon tokens`."""
        from hardwon.memory.tokens import Tokens

        if self._tokens is None:
            self._tokens = Tokens(self._store.tokens(), self.now)
        return self._tokens

    def export(
        self,
        path: str | Path,
        format: Literal["jsonl", "json"] = "jsonl",  # noqa: A002  # the word every user of an export looks for
        progress: Progress | None = None,
    ) -> int:
        """Writes every record of the project, as of one instant, to the file at `path`, one JSON
        object a line (`format` json: as one list); returns how many. Fixes that were cleaned up are
        written whole; of those that were compacted since there is nothing left to write, and only
        `merge` carries what they taught.
        """
        if format not in ("jsonl", "json"):
            raise InvalidInputError.one("format", format, "jsonl or json")
        target = own_files.target("path", intake.path("path", path), self.location, "records.jsonl")
        counts = self._store.counts(self.project) if progress else None
        total = counts.total if counts else 0
        with closing(self._store.stream(self.project)) as records:
            whole = (found for stored in records if (found := _exported(stored)))
            return jsonl.write(target, whole, total, progress, as_list=format == "json")

    def load(
        self,
        path: str | Path,
        dry_run: bool = False,
        by: str = "user",
        progress: Progress | None = None,
    ) -> Loaded:
        """Adds the records of the exported file at `path`, each with the id that it has there. The
        whole file is checked before anything is written. What is here already stays as it is; what
        is new lands as `hypothesis`, whatever it claims, and is otherwise unchanged.
        """
        from hardwon.memory import transfer as moving

        return moving.load(
            self._store,
            self.project,
            partial(jsonl.read, intake.path("path", path)),
            self._prepare,
            self.now,
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
        """Adds records that were made elsewhere, as `load` does those of a file: whoever adopts
        another store makes them, with ids derived from what they are. `at_once`: all of them in one
        transaction or, when one is refused, none; they are then taken one after the other as they
        are made, and other writers wait until the last.
        """
        from hardwon.memory import transfer as moving

        given = (
            records
            if at_once and isinstance(records, Iterator)
            else intake.items("records", records)
        )
        read = partial(iter, given)
        return moving.load(
            self._store,
            self.project,
            read,
            self._prepare,
            self.now,
            by,
            dry_run,
            progress,
            self._mirror_within,
            at_once,
        )

    def backup(self, path: str | Path, progress: Progress | None = None) -> Backup:
        """Copies the whole memory file to `path` as of one instant, while others write; verified,
        with a checksum beside it. Not of a database, which its own tools copy.
        """
        from hardwon.memory.results import Backup

        target = intake.path("path", path)
        checksum = self._store.backup(target, progress)
        return Backup(target, checksum, target.stat().st_size)

    @classmethod
    def restore(
        cls, path: str | Path, location: str | Path | None = None, progress: Progress | None = None
    ) -> Path | None:
        """Puts the backup at `path` where the memory at `location` is, also while others have it
        open. Returns where the memory that was there is kept, or None if there was none.
        """
        found = place.find(location, current_folder())
        if found.path is None:
            raise FileOnlyError(f"{found.location} is a database: {COPIES}")
        refuse_foreign_log(found.path)
        suffix = f"before-restore-{now():%Y%m%dT%H%M%S%fZ}"
        return restore_file(intake.path("path", path), found.path, suffix, progress)

    def doctor(self) -> Diagnosis:
        """Checks the file, and derives again everything that is derived from this project's
        records. Changes nothing.
        """
        from hardwon.memory.results import Diagnosis

        findings = list(self._store.check(self.project))
        if all(finding.ok for finding in findings if finding.check in ("integrity", "schema")):
            try:
                findings += self._derived_again()
            except DamagedError as error:  # an event, which the store has counted
                findings.append(
                    Finding(
                        "records", False, f"what is derived from them was not looked at: {error}"
                    )
                )
            if self._mirror:
                findings.append(self._mirror.check())
        return Diagnosis(findings)

    def _derived_again(self) -> list[Finding]:
        checked, wrong, damaged = 0, list[str](), list[str]()
        for row, events in self._store.rows(self.project):
            checked += 1
            try:
                if derive_again(row, events) != row:
                    wrong.append(row.id)
            except (DamagedError, InvalidInputError):
                damaged.append(row.id)
        untrue = self._store.untrue_tallies(self.project)
        remedy = f"{untrue} tallies are not what the records add up to: run rebuild"
        return [
            _finding(
                "records", damaged, f"{checked} records are what was written", "restore a backup"
            ),
            _finding(
                "derived", wrong, f"{checked} records agree with what is derived", "run rebuild"
            ),
            Finding(
                "knowledge",
                not untrue,
                remedy if untrue else "every tally is what the records add up to",
            ),
        ]

    def rebuild(self) -> int:
        """Derives again everything that is derived and corrects what differs; returns how many
        records that were.
        """
        corrected = 0
        for batch in batches(self._store.rows(self.project), limits.BATCH_ROWS):
            with self._store.write(self.project) as writer:
                for row, _ in batch:
                    corrected += _derive_again_and_keep(writer, self.project, row)
        with self._store.write(self.project) as writer:
            writer.recount(self.project)
        return corrected


def _exported(stored: Stored) -> Stored | None:
    """As it is written to a file; None for what is of no use elsewhere: what was decided about this
    file alone, and fixes of which a compaction left only what they taught.
    """
    if stored.kind == "decision":
        decision = original_of(stored)
        return (
            None if isinstance(decision, Decision) and decision.action in LOCAL_ACTIONS else stored
        )
    return restored(stored)


def _derive_again_and_keep(writer: Writer, project: str, row: Row) -> bool:
    try:
        derived = derive_again(row, writer.events_of(project, row.id))
    except DamagedError:  # only a backup has it; doctor names it
        return False
    changed = derived != row and writer.get(project, row.id) is not None
    if changed:
        writer.rewrite(derived)
    return changed


def _finding(check: str, ids: Sequence[str], fine: str, remedy: str) -> Finding:
    if not ids:
        return Finding(check, True, fine)
    return Finding(
        check,
        False,
        f"{len(ids)} records are not, for example {', '.join(ids[:_SAMPLE])}: {remedy}",
    )
