"""Old fixes make room: a cleanup takes them out of the history, a compression packs their details away.

Nothing that was learned changes, and both can be undone: the whole record stays, packed, until the memory is compacted. Each
is one transaction and one decision in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from hardwon import limits
from hardwon.errors import ConflictError, DamagedError
from hardwon.govern.retention import Aged, Retention
from hardwon.learn.fix_rows import document_signature, level_of, pattern_name
from hardwon.learn.lessons import SUCCEEDED, lessons_of, same_strategy_key, strategy_key, tidied_key
from hardwon.learn.signatures import generate_issue_signature
from hardwon.model import Cleaned, Decision, Fix, Metadata, Moment, Source
from hardwon.reports import CleanedUp, Compacted, Compressed
from hardwon.store.contract import Cursor, Progress, Row, Store, Stored, Writer
from hardwon.store.packing import is_packed, pack
from hardwon.store.rows import kept_row, original_of, packed_row, record_of, restored, row_of, sound_body
from hardwon.upkeep import standing_of

Keep = Callable[[Writer, Decision], None]
"""Puts the decision into the log, in effect."""

_PAGE: Final = 500


@dataclass(frozen=True)
class Tidy:
    """What a cleanup and a compression need of the memory."""

    store: Store
    project: str
    keep: Keep
    progress: Progress | None


def clean_up(tidy: Tidy, retention: Retention, decision: Decision, *, dry_run: bool) -> CleanedUp:
    """Fixes that are old enough, and of no value by themselves, leave the history."""
    counts = {"failed": 0, "successful": 0, "kept": 0, "left": 0}
    worth = _Worth(tidy.store, tidy.project)
    before_us = max(retention.failed_before_us, retention.succeeded_before_us)

    def chosen(found: Iterator[Stored]) -> Iterator[tuple[Stored, Fix]]:
        for stored, fix in _fixes(found):
            verdict = retention.verdict(worth.aged(stored, fix))
            counts["kept"] += verdict == "valuable"
            if verdict != "goes":
                continue
            if counts["failed"] + counts["successful"] == limits.TIDIED_RECORDS_MAX:
                counts["left"] += 1
                continue
            counts["successful" if fix.succeeded else "failed"] += 1
            yield stored, fix

    event_id = _tidy(tidy, chosen, before_us, _cleaned_row, decision, dry_run=dry_run)
    return CleanedUp(**counts, event_id=event_id, dry_run=dry_run)


def compress(tidy: Tidy, before_us: int, decision: Decision, *, dry_run: bool) -> Compressed:
    """The details of older fixes are packed away."""
    counts = {"records": 0, "saved_bytes": 0, "left": 0}

    def chosen(found: Iterator[Stored]) -> Iterator[tuple[Stored, Fix]]:
        for stored, fix in _fixes(found):
            if is_packed(stored.body):
                continue
            small = packed_row(row_of(fix)._replace(body=stored.body), fix, decision.id)
            saved = len(stored.body) + len(row_of(fix).terms) - len(small.body) - len(small.terms)
            if saved <= 0:
                continue
            if counts["records"] == limits.TIDIED_RECORDS_MAX:
                counts["left"] += 1
                continue
            counts["records"] += 1
            counts["saved_bytes"] += saved
            yield stored, fix

    event_id = _tidy(tidy, chosen, before_us, _packed_row, decision, dry_run=dry_run)
    return Compressed(**counts, event_id=event_id, dry_run=dry_run)


Choose = Callable[[Iterator[Stored]], Iterator[tuple[Stored, Fix]]]
MakeRow = Callable[[Row, Stored, Fix, str], Row]


def _tidy(tidy: Tidy, chosen: Choose, before_us: int, make_row: MakeRow, decision: Decision, *, dry_run: bool) -> str | None:
    """The id of the decision, where anything was done."""
    if dry_run:
        for _ in chosen(_old_fixes(tidy.store, tidy.project, before_us)):
            pass
        return None
    done = 0
    with tidy.store.write() as writer:  # while it lasts nobody else changes what the store reads
        for stored, fix in chosen(_old_fixes(tidy.store, tidy.project, before_us)):
            row = kept_row(stored, fix, *standing_of(fix, writer.events_of(tidy.project, fix.id)))
            writer.replace(make_row(row, stored, fix, decision.id))
            done += 1
            if tidy.progress and done % _PAGE == 0:
                tidy.progress(done, done)
        if done:
            tidy.keep(writer, decision)
    return decision.id if done else None


def _old_fixes(store: Store, project: str, before_us: int) -> Iterator[Stored]:
    """Oldest first."""
    after = Cursor(-1, "")
    while found := store.fixes_before(project, before_us, after, _PAGE):
        yield from found
        after = Cursor(found[-1].at_us, found[-1].id)


def _fixes(found: Iterator[Stored]) -> Iterator[tuple[Stored, Fix]]:
    for stored in found:
        try:
            record = original_of(stored)
        except DamagedError:  # doctor names it
            continue
        if isinstance(record, Fix):
            yield stored, record


class _Worth:
    """What would be lost with a fix. What is asked of a pattern, or of a strategy, is asked once."""

    def __init__(self, store: Store, project: str) -> None:
        self._store, self._project = store, project
        self._of_key: dict[str, tuple[str | None, str | None]] = {}
        self._proven: dict[tuple[str, str], bool] = {}

    def aged(self, stored: Stored, fix: Fix) -> Aged:
        newest, newest_success = self._newest(f"signature:{generate_issue_signature(fix.issue)}")
        strategy = strategy_key(fix)
        speaks = bool(strategy) and self._newest(same_strategy_key(strategy))[0] == fix.id
        return Aged(
            at_us=stored.at_us,
            succeeded=fix.succeeded,
            status=record_of(stored).metadata.validation.status,
            helped=stored.helped,
            newest_of_pattern=newest == fix.id,
            newest_success_of_pattern=newest_success == fix.id,
            speaks_for_proven_strategy=speaks and self._is_proven(fix.issue.issue_type, strategy),
        )

    def _newest(self, key: str) -> tuple[str | None, str | None]:
        if key not in self._of_key:
            self._of_key[key] = self._store.newest_fixes(self._project, key)
        return self._of_key[key]

    def _is_proven(self, issue_type: str, strategy: str) -> bool:
        if (issue_type, strategy) not in self._proven:
            found = self._store.tallies_of_item(self._project, "strategy.type", issue_type, strategy)
            verified = sum(tally.levels[SUCCEEDED] for tally in found)
            self._proven[issue_type, strategy] = verified >= limits.PROVEN_FROM_SUCCESSES
        return self._proven[issue_type, strategy]


def _cleaned_row(row: Row, stored: Stored, fix: Fix, decision_id: str) -> Row:
    cleaned = row_of(cleaned_of(fix, decision_id, pack(sound_body(stored))))
    return cleaned._replace(status=row.status, validation=row.validation, helped=row.helped, hindered=row.hindered)


def _packed_row(row: Row, stored: Stored, fix: Fix, decision_id: str) -> Row:
    return packed_row(row._replace(body=sound_body(stored)), fix, decision_id)


def cleaned_of(fix: Fix, decision_id: str, packed: str | None) -> Cleaned:
    """What stays of a fix that leaves the history."""
    signature = document_signature(fix)
    metadata = fix.metadata
    return Cleaned(
        id=fix.id,
        metadata=Metadata(
            source=Source(type=metadata.source.type, author=metadata.source.author),
            context=Moment(timestamp=metadata.context.timestamp),
            validation=metadata.validation,
            project_id=metadata.project_id,
        ),
        decision=decision_id,
        model=fix.issue.model,
        issue_type=fix.issue.issue_type,
        pattern=pattern_name(fix, signature),
        signature=signature,
        strategy=strategy_key(fix),
        fix_commands=[command[: limits.LESSON_CHARS_MAX] for command in fix.fix_commands[: limits.FIXES_LISTED_MAX]],
        analysis=fix.analysis[: limits.LESSON_CHARS_MAX],
        level=level_of(fix),
        lessons=list(lessons_of(fix)),
        packed=packed,
    )


# --- and back ---------------------------------------------------------------------------------------------------------


def bring_back(writer: Writer, project: str, decision: Decision) -> int:
    """Everything that a cleanup or a compression packed away; how many fixes that were."""
    found = writer.with_key(project, tidied_key(decision.id))
    for stored in found:
        whole = restored(stored)
        if whole is None:
            raise ConflictError(
                f"decision {decision.id} cannot be undone: the memory was compacted since, and what it took out of the history "
                "is gone for good. A backup from before that has it"
            )
        fix = original_of(whole)
        row = row_of(fix, *standing_of(fix, writer.events_of(project, fix.id)))
        writer.replace(row._replace(body=whole.body, digest=whole.digest))
    return len(found)


def let_go(store: Store, project: str, progress: Progress | None) -> int:
    """What left the history can no longer be brought back; how many fixes that were. One transaction."""
    done = 0
    with store.write() as writer:
        after = ""
        while found := writer.cleaned(project, after, _PAGE):
            for stored in found:
                record = original_of(stored)
                if isinstance(record, Cleaned) and record.packed is not None:
                    effective = standing_of(record, writer.events_of(project, record.id))
                    writer.replace(row_of(record.altered(packed=None), *effective))
                    done += 1
            after = found[-1].id
            if progress:
                progress(done, done)
    return done


def compact(store: Store, project: str, progress: Progress | None) -> Compacted:
    """Lets go of what left the history, and makes the file as small as it can be."""
    before = store.size_bytes()
    purged = let_go(store, project, progress)
    store.shrink()
    return Compacted(purged, before, store.size_bytes())
