"""Whether the files that records are about are still what they were. Recall marks; `check_stale`
archives and restores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hardwon import limits
from hardwon.memory.project import Change, Project
from hardwon.outside.git import UNSURE, Checkout, Patience
from hardwon.records.kinds import AnyRecord, Record, RelatedFile, StaleFile
from hardwon.store.query import original_of, readable
from hardwon.store.types import Progress, Store
from hardwon.text.entities import path_words
from hardwon.text.terms import own_texts
from hardwon.trust.lifecycle import effective_validation, is_held_as_stale, stale_files

if TYPE_CHECKING:
    from hardwon.memory.results import StaleReport

R = TypeVar("R", bound=Record)


def with_files_found(record: R, checkout: Checkout) -> R:
    """The record with the files that its texts name, unless whoever recorded it named some."""
    moment = record.metadata.context
    if moment.related_files:
        return record
    words = path_words("\n".join(own_texts(record)))
    found = checkout.find(words) if words else []
    if not found:
        return record
    return record.altered(
        metadata=record.metadata.altered(context=moment.altered(related_files=found))
    )


class Watch:
    """Looks at a checkout for records. `thorough` leaves nothing out, however long it takes."""

    def __init__(self, checkout: Checkout, *, thorough: bool = False) -> None:
        self._checkout = checkout
        self._patience = Patience(endless=thorough)
        if thorough:
            checkout.look_anew()
        self._files_max = limits.ITEMS_MAX if thorough else limits.STALE_FILES_LOOKED_AT_MAX
        self._bytes_max = limits.FILE_HASH_BYTES_MAX if thorough else limits.STALE_FILE_BYTES_MAX

    def __call__(self, record: AnyRecord) -> tuple[StaleFile, ...]:
        """What became of a record's files. A record of a commit that this repository never had, of
        whose files none is here, was made in another repository: nothing is told of it.
        """
        related = record.metadata.context.related_files[: self._files_max]
        if not related or self._checkout.all_unchanged(related):
            return ()
        seen: dict[str, str | None] = {}
        vanished, here = [], False
        for file in related:
            sha1 = self._checkout.sha1(file.path, self._bytes_max)
            if sha1 == UNSURE:
                continue
            seen[file.path] = sha1
            if sha1 is not None:
                here = here or not file.path.startswith("/")
            elif file.hash and not file.path.startswith("/"):
                vanished.append(file)
        renames = (
            self._follow(vanished, record.metadata.context.git_commit, seen, here)
            if vanished
            else {}
        )
        return stale_files(related, seen, renames)

    def _follow(
        self, vanished: Sequence[RelatedFile], commit: str, seen: dict[str, str | None], here: bool
    ) -> Mapping[str, str]:
        """Where files went that vanished. `seen` gets what is there, and loses what nothing can be
        told of.
        """
        moves = self._checkout.moves(vanished, commit, self._patience)
        if not moves.sought:  # a later recall will know whether they are gone
            for file in vanished:
                if file.path not in moves.renames:
                    seen.pop(file.path, None)
        if moves.commit_known is False and not here and not moves.renames:
            for path in [path for path in seen if not path.startswith("/")]:
                del seen[path]
        for old, new in moves.renames.items():
            sha1 = self._checkout.sha1(new, self._bytes_max)
            if sha1 == UNSURE:  # it is there, and cannot be compared
                seen.pop(old, None)
            else:
                seen[new] = sha1
        return moves.renames


def is_stale(changes: Sequence[StaleFile]) -> bool:
    return any(change.stale for change in changes)


def check_stale(
    project: Project, watch: Watch, by: str, dry_run: bool, progress: Progress | None
) -> StaleReport:
    """Files are looked at before anybody has to wait; then a batch is a transaction, so that other
    writers get their turn.
    """
    from hardwon.memory.results import StaleReport

    report = StaleReport(dry_run=dry_run)
    after = ""
    while page := project.store.with_files(project.name, after, limits.PAGE_ROWS):
        after = page[-1].id
        due: list[tuple[str, tuple[StaleFile, ...]]] = []
        for record in readable(page):
            changes = watch(record)
            report.checked += 1
            report.stale += is_stale(changes)
            report.files_changed += len(changes)
            room = limits.STALE_LISTED_MAX - len(report.files)
            report.files += [(record.id, change) for change in changes[:room]]
            archived = record.metadata.validation.status == "archived"
            if is_stale(changes) != archived:
                due.append((record.id, changes))
        if due and dry_run:
            _foresee(project.store, project.name, due, report)
        elif due:
            archived_now, restored = project.carry_out(partial(_settle, due, by))
            report.archived += archived_now
            report.restored += restored
        if progress:
            progress(report.checked, report.checked)
    if (report.archived or report.restored) and not dry_run:
        project.on_commit(restored=True)
    return report


def _foresee(
    store: Store,
    project: str,
    due: Sequence[tuple[str, tuple[StaleFile, ...]]],
    report: StaleReport,
) -> None:
    for record_id, changes in due:
        if is_stale(changes):
            report.archived += 1
        elif stored := store.get(project, record_id):
            envelope = original_of(stored).metadata.validation
            report.restored += is_held_as_stale(envelope, store.events_of(project, record_id))


def _settle(
    due: Sequence[tuple[str, tuple[StaleFile, ...]]], by: str, change: Change
) -> tuple[int, int]:
    """By what each record is now: another process may have been here first. How many were archived,
    and how many are back.
    """
    writer, name = change.writer, change.project.name
    archived = restored = 0
    for record_id, changes in due:
        stored = writer.get(name, record_id)
        if not stored:
            continue
        envelope = original_of(stored).metadata.validation
        events = writer.events_of(name, record_id)
        if is_stale(changes):
            if effective_validation(envelope, events).status != "archived":
                change.happen(record_id, "stale", by, reason=in_words(changes))
                archived += 1
        elif is_held_as_stale(envelope, events):
            change.happen(record_id, "fresh", by)
            restored += 1
    return archived, restored


def in_words(changes: Sequence[StaleFile]) -> str:
    """What changed, for people to read."""
    told = [str(change) for change in changes if change.stale]
    more = len(told) - limits.STALE_REASON_FILES_MAX
    return "; ".join(told[: limits.STALE_REASON_FILES_MAX]) + (f"; {more} more" if more > 0 else "")
