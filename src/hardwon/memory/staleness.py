"""Whether the files that records are about are still what they were. Recall marks; `check_stale`
archives and restores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from hardwon import limits
from hardwon.memory.project import Change, Project
from hardwon.memory.results import StaleReport
from hardwon.outside.git import UNSURE, Checkout, Patience
from hardwon.records.kinds import AnyRecord, EventKind, StaleFile
from hardwon.store.base import Store, Writer
from hardwon.store.query import read_original, readable
from hardwon.store.types import PAGE_ROWS, Progress
from hardwon.trust.lifecycle import effective_validation, is_held_as_stale, stale_files

# Files of one stale record that its archiving names.
_FILES_NAMED_MAX: Final = 10

# A related file larger than this is not hashed while somebody waits for an answer; `check_stale`
# hashes it.
STALE_FILE_BYTES_MAX: Final = 16 * limits.MIB

# Related files of one hit that are looked at while somebody waits: about a millisecond.
_STALE_FILES_LOOKED_AT_MAX: Final = 256


class Watch:
    """Looks at a checkout for records. `thorough` leaves nothing out, however long it takes."""

    def __init__(self, checkout: Checkout, *, thorough: bool = False) -> None:
        self._checkout = checkout
        self._patience = Patience(endless=thorough)
        if thorough:
            checkout.look_anew()
        self._files_max = limits.ITEMS_MAX if thorough else _STALE_FILES_LOOKED_AT_MAX
        self._bytes_max = limits.FILE_HASH_BYTES_MAX if thorough else STALE_FILE_BYTES_MAX

    def __call__(self, record: AnyRecord) -> tuple[StaleFile, ...]:
        """What became of a record's files. A record of a commit that this repository never had, of
        whose files none is here, was made in another repository: nothing is told of it.
        """
        related = record.metadata.context.related_files[: self._files_max]
        if not related or self._checkout.are_unchanged(related):
            return ()
        seen = self._look_at(file.path for file in related)
        inside = [file for file in related if not file.path.startswith("/")]
        vanished = [file for file in inside if file.hash and seen.get(file.path, UNSURE) is None]
        if not vanished:
            return stale_files(related, seen, {})
        moves = self._checkout.moves(vanished, record.metadata.context.git_commit, self._patience)
        now = self._look_at(moves.renames.values())
        here = any(seen.get(file.path) for file in inside)
        unsure = [old for old, new in moves.renames.items() if new not in now]
        if not moves.sought:  # a later recall will know whether they are gone
            unsure += [file.path for file in vanished if file.path not in moves.renames]
        if moves.commit_known is False and not here and not moves.renames:
            unsure = [file.path for file in inside]
        for path in unsure:
            seen.pop(path, None)
        return stale_files(related, seen | now, moves.renames)

    def _look_at(self, paths: Iterable[str]) -> dict[str, str | None]:
        """What is there now, of those that can be compared."""
        hashes = {path: self._checkout.sha1(path, self._bytes_max) for path in paths}
        return {path: sha1 for path, sha1 in hashes.items() if sha1 != UNSURE}


# A record, and what became of its files.
Due = tuple[str, tuple[StaleFile, ...]]
# What is to happen to a record, and why.
Settled = tuple[str, EventKind, str | None]


def is_stale(changes: Sequence[StaleFile]) -> bool:
    """Whether one of these changes makes a record untrue."""
    return any(change.stale for change in changes)


def check_stale(
    project: Project, watch: Watch, by: str, dry_run: bool, progress: Progress | None
) -> StaleReport:
    """Files are looked at before anybody has to wait; then a batch is a transaction, so that other
    writers get their turn.
    """
    report = StaleReport(dry_run=dry_run)
    after = ""
    while page := project.store.with_files(project.name, after, PAGE_ROWS):
        after = page[-1].id
        due: list[Due] = []
        for record in readable(page):
            changes = watch(record)
            report.checked += 1
            report.stale += is_stale(changes)
            report.files_changed += len(changes)
            room = limits.REPORTED_MAX - len(report.files)
            report.files += [(record.id, change) for change in changes[:room]]
            if is_stale(changes) != (record.metadata.validation.status == "archived"):
                due.append((record.id, changes))
        settled: list[Settled] = []
        if due and dry_run:
            settled = list(_find_due(project.store, project.name, due))
        elif due:
            settled = project.carry_out(partial(_settle, due, by))
        kinds = [kind for _, kind, _ in settled]
        report.archived += kinds.count("stale")
        report.restored += kinds.count("fresh")
        if progress:
            progress(report.checked, report.checked)
    if (report.archived or report.restored) and not dry_run:
        project.on_commit(restored=True)
    return report


def _settle(due: Sequence[Due], by: str, change: Change) -> list[Settled]:
    settled = list(_find_due(change.writer, change.project.name, due))
    for record_id, kind, reason in settled:
        change.happen(record_id, kind, by, reason=reason)
    return settled


def _find_due(kept: Store | Writer, project: str, due: Iterable[Due]) -> Iterator[Settled]:
    """What is to happen to records, by what each is now: another process may have been here
    first.
    """
    for record_id, changes in due:
        stored = kept.get(project, record_id)
        if stored:
            envelope = read_original(stored).metadata.validation
            events = kept.list_events(project, record_id)
            if is_stale(changes):
                if effective_validation(envelope, events).status != "archived":
                    yield record_id, "stale", in_words(changes)
            elif is_held_as_stale(envelope, events):
                yield record_id, "fresh", None


def in_words(changes: Sequence[StaleFile]) -> str:
    """What changed, for people to read."""
    changed = [str(change) for change in changes if change.stale]
    more = len(changed) - _FILES_NAMED_MAX
    return "; ".join(changed[:_FILES_NAMED_MAX]) + (f"; {more} more" if more > 0 else "")
