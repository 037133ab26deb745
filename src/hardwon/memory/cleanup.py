"""Old fixes make room: a cleanup takes them out of the history. Nothing that was learned changes, and
it can be undone until the memory is compacted. It is one transaction and one decision in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Literal

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.lessons.counts import level_of_fix
from hardwon.lessons.fix_odds import NOTHING
from hardwon.lessons.issues import (
    document_signature,
    generate_issue_signature,
    name_pattern,
    strategy_key,
)
from hardwon.lessons.keys import exact_key
from hardwon.lessons.tallies import list_tallies
from hardwon.memory.fix_lessons import FIXES_LISTED_MAX
from hardwon.memory.project import Change, Project
from hardwon.memory.results import CleanedUp, Compacted
from hardwon.memory.standing import derive_standing
from hardwon.records.fields import check_that, to_us
from hardwon.records.kinds import VOUCHED_STATUSES, Cleaned, Decision, Fix, Moment
from hardwon.search.terms import Filters
from hardwon.store.base import build_row
from hardwon.store.query import pack, read_current, read_original, sound_body
from hardwon.store.types import PAGE_ROWS, Cursor, Progress, Stored

# A fix, and what is kept of it.
Kept = tuple[Stored, Fix]


def clean_up(
    project: Project,
    failed_before_us: int,
    succeeded_before_us: int,
    by: str,
    dry_run: bool,
    progress: Progress | None,
    *,
    by_age: bool = False,
) -> CleanedUp:
    """Failed fixes older than the one time, and successful ones older than the other, leave the
    history, if they are of no value by themselves. `by_age`: if nobody vouches for them.
    """
    decision = project.decision("cleanup", by)
    has_value = _is_vouched if by_age else _values(project)
    picked: list[Kept] = []
    kept = left = 0
    for stored, fix in _old_fixes(project, max(failed_before_us, succeeded_before_us)):
        is_young = stored.at_us >= (succeeded_before_us if fix.succeeded else failed_before_us)
        if is_young and stored.at_us >= failed_before_us:
            continue
        if is_young or has_value(stored, fix):
            kept += 1
        elif len(picked) < limits.TRANSACTION_RECORDS_MAX:
            picked.append((stored, fix))
        else:
            left += 1

    gone = picked if dry_run else _take_out(project, picked, decision, progress)
    good = sum(fix.succeeded for _, fix in gone)
    event_id = None if dry_run or not gone else decision.id
    return CleanedUp(len(gone) - good, good, kept, left, event_id, dry_run)


def _take_out(
    project: Project,
    picked: Sequence[Kept],
    decision: Decision,
    progress: Progress | None,
) -> list[Kept]:
    """Those that are still as they were when they were picked, which was before anybody had to wait
    for us.
    """

    def work(change: Change) -> list[Kept]:
        """Those that left the history."""
        writer, done = change.writer, list[Kept]()
        for stored, fix in picked:
            if writer.get(project.name, fix.id) == stored:
                standing = derive_standing(fix, writer.list_events(project.name, fix.id))
                remains = make_remains(fix, decision.id, pack(sound_body(stored)))
                writer.replace(build_row(remains, *standing))
                done.append((stored, fix))
            if progress and len(done) % PAGE_ROWS == 0:
                progress(len(done), len(picked))
        if done:
            change.decide(decision)
        return done

    return project.carry_out(work) if picked else []


def _old_fixes(project: Project, before_us: int) -> Iterator[Kept]:
    """As far as they can be read, oldest first."""
    after = Cursor(-1, "")
    while page := project.store.fixes_before(project.name, before_us, after, PAGE_ROWS):
        for stored in page:
            try:
                record = read_original(stored)
            except DamagedError:  # doctor names it
                continue
            if isinstance(record, Fix):
                yield stored, record
        after = Cursor(page[-1].at_us, page[-1].id)


def _is_vouched(stored: Stored, _: Fix) -> bool:
    return read_current(stored).metadata.validation.status in VOUCHED_STATUSES


def _values(project: Project) -> Callable[[Stored, Fix], bool]:
    """Tells whether a fix is worth keeping by itself: somebody vouches for it, it helped, or it is
    the last that tells of a pattern, its solution or a proven strategy. What is asked of a pattern,
    or of a strategy, is asked once.
    """
    known = project.knowledge

    @cache
    def find_newest(key: str, outcome: Literal["success"] | None = None) -> str | None:
        """The id of the newest fix with this key that turned out so; None where none did."""
        hits = project.store.by_key(project.name, [key], Filters(kind="fix", outcome=outcome), 1)
        return hits[0].id if hits else None

    def has_value(stored: Stored, fix: Fix) -> bool:
        """Whether it is kept."""
        if _is_vouched(stored, fix) or stored.helped > 0:
            return True
        signature, strategy = generate_issue_signature(fix.issue), strategy_key(fix)
        key = f"signature:{signature}"
        if fix.id in (find_newest(key), find_newest(key, "success")):
            return True
        if not strategy or find_newest(exact_key("strategy", strategy)) != fix.id:
            return False
        tried = known.read_counts("strategy.type", fix.issue.issue_type)
        return tried.get(strategy, NOTHING).verified >= limits.PROOFS_MIN

    return has_value


def make_remains(fix: Fix, decision_id: str, packed: str | None) -> Cleaned:
    """What stays of a fix that leaves the history."""
    signature, metadata = document_signature(fix), fix.metadata
    shortened = metadata.copy_with(
        source=metadata.source.copy_with(id=""),
        context=Moment(timestamp=metadata.context.timestamp),
        tags=[],
    )
    most = limits.LESSON_CHARS_MAX
    return Cleaned(
        id=fix.id,
        metadata=shortened,
        decision=decision_id,
        model=fix.issue.model,
        issue_type=fix.issue.issue_type,
        pattern=name_pattern(fix, signature),
        signature=signature,
        strategy=strategy_key(fix),
        fix_commands=[command[:most] for command in fix.fix_commands[:FIXES_LISTED_MAX]],
        analysis=fix.analysis[:most],
        level=level_of_fix(fix),
        lessons=list(list_tallies(fix)),
        packed=packed,
    )


def compact(project: Project, progress: Progress | None) -> Compacted:
    """What left the history can no longer be brought back, and the file is made as small as it can
    be.
    """
    name = project.name

    def purge(change: Change) -> int:
        """How many were there."""
        done, before = 0, None
        while page := change.writer.page(name, Filters(kind="cleaned"), before, PAGE_ROWS):
            for stored in page:
                record = read_original(stored)
                if isinstance(record, Cleaned) and record.packed is not None:
                    standing = derive_standing(record, change.writer.list_events(name, record.id))
                    change.writer.replace(build_row(record.copy_with(packed=None), *standing))
                    done += 1
            before = Cursor(page[-1].at_us, page[-1].id)
            if progress:
                progress(done, done)
        return done

    before_bytes = project.store.size_bytes()
    purged = project.carry_out(purge)
    project.store.shrink()
    return Compacted(purged, before_bytes, project.store.size_bytes())


def days_ago(at: datetime, field: str, days: float) -> int:
    """The time so many days before, in microseconds."""
    is_number = isinstance(days, int | float) and not isinstance(days, bool)
    allowed = f"a number of days from 0 to {limits.DAYS_MAX}"
    check_that(is_number and 0 <= days <= limits.DAYS_MAX, field, days, allowed)
    return to_us(at) - round(days * limits.DAY_US)
