"""Which fixes may leave the history, and when.

Old fixes make room: a cleanup takes them out of the history, a compression packs their details
away.

Nothing that was learned changes, and both can be undone: the whole record stays, packed, until the
memory is compacted. Each is one transaction and one decision in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from hardwon import limits
from hardwon.errors import DamagedError, InvalidInputError
from hardwon.learn.tallies import (
    SUCCEEDED,
    document_signature,
    generate_issue_signature,
    level_of_fix,
    pattern_name,
    same_strategy_key,
    strategy_key,
    tallies_of,
)
from hardwon.memory.consolidate import decide
from hardwon.memory.project import Change, Project, standing_of
from hardwon.memory.results import CleanedUp, Compacted, Compressed
from hardwon.records.fields import to_us
from hardwon.records.kinds import VOUCHED_STATUSES, Cleaned, Decision, Fix, Metadata, Moment, Source
from hardwon.store.base import Store, kept_row, packed_row, row_of
from hardwon.store.query import is_packed, original_of, pack, record_of, sound_body
from hardwon.store.types import Cursor, Progress, Row, Stored

# --- retention ---


@dataclass(frozen=True)
class Aged:
    """What is known of an old fix: how it turned out, what became of it, and what would be lost
    with it.
    """

    at_us: int
    succeeded: bool
    status: str
    helped: int
    newest_of_pattern: bool
    newest_success_of_pattern: bool
    speaks_for_proven_strategy: bool


@dataclass(frozen=True)
class Retention:
    """Failed fixes older than the one time, and successful ones older than the other, may go."""

    failed_before_us: int
    succeeded_before_us: int

    def verdict(self, fix: Aged) -> Literal["young", "valuable", "goes"]:
        """`valuable`: old enough to go, and kept all the same."""
        if fix.at_us >= (self.succeeded_before_us if fix.succeeded else self.failed_before_us):
            return "young"
        return "valuable" if is_valuable(fix) else "goes"


def is_valuable(fix: Aged) -> bool:
    """Somebody vouches for it, it helped, or it is the last that tells of a pattern, its solution
    or a proven strategy.
    """
    return (
        fix.status in VOUCHED_STATUSES
        or fix.helped > 0
        or fix.newest_of_pattern
        or fix.newest_success_of_pattern
        or fix.speaks_for_proven_strategy
    )


# --- tidying ---


class _Picked(NamedTuple):
    """A fix that is to be packed away, as it was when it was picked."""

    stored: Stored
    fix: Fix


def clean_up(
    project: Project, retention: Retention, by: str, dry_run: bool, progress: Progress | None
) -> CleanedUp:
    """Fixes that are old enough, and of no value by themselves, leave the history."""
    decision = project.prepare(decide("cleanup", project.now(), by))
    worth = _Worth(project.store, project.name)
    picked: list[_Picked] = []
    kept = left = 0
    for each in _old_fixes(project, max(retention.failed_before_us, retention.succeeded_before_us)):
        verdict = retention.verdict(worth.aged(each.stored, each.fix))
        kept += verdict == "valuable"
        if verdict == "goes" and len(picked) < limits.TIDIED_RECORDS_MAX:
            picked.append(each)
        else:
            left += verdict == "goes"
    gone = picked if dry_run else _pack_away(project, picked, _cleaned_row, decision, progress)
    good = sum(each.fix.succeeded for each in gone)
    return CleanedUp(
        len(gone) - good, good, kept, left, None if dry_run or not gone else decision.id, dry_run
    )


def compress(
    project: Project, before_us: int, by: str, dry_run: bool, progress: Progress | None
) -> Compressed:
    """The details of older fixes are packed away."""
    decision = project.prepare(decide("compress", project.now(), by))
    picked: list[_Picked] = []
    savings: dict[str, int] = {}
    left = 0
    for each in _old_fixes(project, before_us):
        saving = 0
        if not is_packed(each.stored.body):
            row = row_of(each.fix)._replace(body=each.stored.body)
            small = packed_row(row, each.fix, decision.id)
            saving = len(row.body) + len(row.terms) - len(small.body) - len(small.terms)
        if saving > 0 and len(picked) < limits.TIDIED_RECORDS_MAX:
            picked.append(each)
            savings[each.fix.id] = saving
        else:
            left += saving > 0
    packed = picked if dry_run else _pack_away(project, picked, _packed_row, decision, progress)
    saved = sum(savings[each.fix.id] for each in packed)
    return Compressed(
        len(packed), saved, left, None if dry_run or not packed else decision.id, dry_run
    )


MakeRow = Callable[[Row, Stored, Fix, str], Row]


def _pack_away(
    project: Project,
    picked: Sequence[_Picked],
    make_row: MakeRow,
    decision: Decision,
    progress: Progress | None,
) -> list[_Picked]:
    """Those that are still as they were when they were picked, which was before anybody had to wait
    for us.
    """

    def work(change: Change) -> list[_Picked]:
        writer, done = change.writer, list[_Picked]()
        for each in picked:
            if writer.get(project.name, each.fix.id) == each.stored:
                events = writer.events_of(project.name, each.fix.id)
                row = kept_row(each.stored, each.fix, *standing_of(each.fix, events))
                writer.replace(make_row(row, each.stored, each.fix, decision.id))
                done.append(each)
            if progress and len(done) % limits.PAGE_ROWS == 0:
                progress(len(done), len(picked))
        if done:
            change.decide(decision)
        return done

    return project.carry_out(work) if picked else []


def _old_fixes(project: Project, before_us: int) -> Iterator[_Picked]:
    """As far as they can be read, oldest first."""
    after = Cursor(-1, "")
    while found := project.store.fixes_before(project.name, before_us, after, limits.PAGE_ROWS):
        for stored in found:
            try:
                record = original_of(stored)
            except DamagedError:  # doctor names it
                continue
            if isinstance(record, Fix):
                yield _Picked(stored, record)
        after = Cursor(found[-1].at_us, found[-1].id)


class _Worth:
    """What would be lost with a fix. What is asked of a pattern, or of a strategy, is asked
    once.
    """

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
            found = self._store.tallies_of_item(
                self._project, "strategy.type", issue_type, strategy
            )
            verified = sum(tally.levels[SUCCEEDED] for tally in found)
            self._proven[issue_type, strategy] = verified >= limits.PROVEN_FROM_SUCCESSES
        return self._proven[issue_type, strategy]


def _cleaned_row(row: Row, stored: Stored, fix: Fix, decision_id: str) -> Row:
    cleaned = row_of(cleaned_of(fix, decision_id, pack(sound_body(stored))))
    return cleaned._replace(
        status=row.status, validation=row.validation, helped=row.helped, hindered=row.hindered
    )


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
        fix_commands=[
            command[: limits.LESSON_CHARS_MAX]
            for command in fix.fix_commands[: limits.FIXES_LISTED_MAX]
        ],
        analysis=""
        if any(map(str.strip, fix.fix_commands))
        else fix.analysis[: limits.LESSON_CHARS_MAX],
        level=level_of_fix(fix),
        lessons=list(tallies_of(fix)),
        packed=packed,
    )


# --- for good ---


def compact(project: Project, progress: Progress | None) -> Compacted:
    """What left the history can no longer be brought back, and the file is made as small as it can
    be.
    """
    name = project.name

    def drop_packed(change: Change) -> int:
        done, after = 0, ""
        while found := change.writer.cleaned(name, after, limits.PAGE_ROWS):
            for stored in found:
                record = original_of(stored)
                if isinstance(record, Cleaned) and record.packed is not None:
                    effective = standing_of(record, change.writer.events_of(name, record.id))
                    change.writer.replace(row_of(record.altered(packed=None), *effective))
                    done += 1
            after = found[-1].id
            if progress:
                progress(done, done)
        return done

    before = project.store.size_bytes()
    purged = project.carry_out(drop_packed)
    project.store.shrink()
    return Compacted(purged, before, project.store.size_bytes())


def days_ago(at: datetime, field: str, days: float) -> int:
    """The time so many days before, in microseconds."""
    if (
        isinstance(days, bool)
        or not isinstance(days, int | float)
        or not 0 <= days <= limits.DAYS_MAX
    ):
        raise InvalidInputError.one(field, days, f"a number of days from 0 to {limits.DAYS_MAX}")
    return to_us(at) - round(days * limits.DAY_US)
