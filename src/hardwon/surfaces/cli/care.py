"""Keeping a memory well: what goes, what comes back, and its health."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, NamedTuple

import typer

from hardwon import limits
from hardwon.memory import Memory
from hardwon.memory.results import Compressed
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.kinds import Decision
from hardwon.surfaces.cli.base import (
    CARE,
    FAILED,
    DryRun,
    Json,
    Yes,
    chosen,
    command,
    counted,
    progress,
    require_consent,
    write,
    write_json,
    write_lines,
    write_text,
)
from hardwon.surfaces.cli.output import STRONG, Line, Span, size_text, visible

OlderThan = Annotated[int, typer.Argument(metavar="DAYS", min=0, max=limits.DAYS_MAX, help="Older than so many days.")]
KeepSuccesses = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=limits.DAYS_MAX,
        metavar="DAYS",
        help="Keep fixes that worked for so many days.",
        show_default="longer than those that failed",
    ),
]


# --- what goes, and comes back ------------------------------------------------------------------------------------------


@command(
    CARE,
    "hardwon cleanup 90 --dry-run",
    "hardwon cleanup 30 --keep-successes 365 --yes",
    answers="""`failed` and `successful` (how many go), `kept` (old ones that stay for their value), `left` (more for the
    next run), `event_id` (for undo; null in a preview), `dry_run`. Without `--yes` that is the preview, and the exit code
    is 1 where something would go.""",
    more="""Fixes that worked stay longer than those that failed; those of high value stay. What they taught (patterns,
    counts, probabilities) stays in any case. It prints what to type to take it back.""",
)
def cleanup(
    ctx: typer.Context,
    days: OlderThan = limits.CLEANUP_DAYS,
    keep_successes: KeepSuccesses = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Take out old fixes. Shows what would go, then asks; what they taught stays, and undo brings them back."""
    with chosen(ctx).open(to_read=True) as memory:

        def clean(dry: bool) -> _Done:
            with progress("looking" if dry else "cleaning up") as told:
                done = memory.cleanup(days, dry, successes_days=keep_successes, progress=told)
            return _Done(asdict(done), done.failed + done.successful, cleaned_text(asdict(done), days))

        _do(memory, clean, "Take them out?", dry_run=dry_run, yes=yes, as_json=as_json)


@command(
    CARE,
    "hardwon compress 180 --dry-run",
    "hardwon compress --yes",
    answers="`records`, `saved_bytes`, `left`, `event_id`, `dry_run`.",
    more="""Nothing that was learned changes.""",
)
def compress(
    ctx: typer.Context, days: OlderThan = limits.COMPRESS_DAYS, dry_run: DryRun = False, yes: Yes = False, as_json: Json = False
) -> None:
    """Pack the details of old fixes. Shows how much that saves, then asks; a summary stays findable, and undo unpacks."""
    with chosen(ctx).open(to_read=True) as memory:

        def pack(dry: bool) -> _Done:
            with progress("looking" if dry else "compressing") as told:
                done = memory.compress(days, dry, progress=told)
            return _Done(asdict(done), done.records, _compressed_text(done, days))

        _do(memory, pack, "Compress them?", dry_run=dry_run, yes=yes, as_json=as_json)


class _Done(NamedTuple):
    """What was done, or would be: as JSON, to how many, and in words."""

    shape: dict[str, Any]
    amount: int
    text: str


def _do(memory: Memory, run: Callable[[bool], _Done], question: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Shows what would be done, and does it where somebody agrees. `run` is told whether to change nothing."""
    if dry_run or not yes:
        preview = run(True)
        _tell(preview, as_json)
        if dry_run or not preview.amount:
            return
        require_consent(question, yes, as_json=as_json)
    done = run(False)
    _tell(done._replace(text=done.text + undo_hint(memory, done.shape["event_id"])), as_json)


def _tell(done: _Done, as_json: bool) -> None:
    if as_json:
        write_json(done.shape)
    else:
        write_text(done.text)


def cleaned_text(cleaned: Mapping[str, Any], days: int) -> str:
    """What went, from what a cleanup answered or what fix history makes of it."""
    failed, worked = cleaned["failed"], cleaned["successful"]
    done = "would be taken out" if cleaned["dry_run"] else "taken out"
    parts = f"{failed} that failed, {worked} that worked; {cleaned['kept']} worth keeping stay"
    return (
        f"{counted(failed + worked, 'fix', 'fixes')} older than {counted(days, 'day')} {done}: {parts}{_rest(cleaned['left'])}"
    )


def _compressed_text(packed: Compressed, days: int) -> str:
    done = "would be compressed, which saves" if packed.dry_run else "compressed, which saves"
    saved = f"{size_text(packed.saved_bytes)}{_rest(packed.left)}"
    return f"{counted(packed.records, 'fix', 'fixes')} older than {counted(days, 'day')} {done} {saved}"


def _rest(left: int) -> str:
    return f"; {left} more are left for the next run" if left else ""


def undo_hint(memory: Memory, event_id: str | None) -> str:
    """How to take it back, as a line that can be copied."""
    if not event_id:
        return ""
    project = "" if memory.project == DEFAULT_PROJECT else f" --project {quoted(memory.project)}"
    return f"\nto take it back: hardwon --memory {quoted(memory.location)}{project} undo {event_id}"


def quoted(text: str) -> str:
    import shlex  # only who is told what to type needs it

    return shlex.quote(text)


@command(
    CARE,
    "hardwon undo 0198c0de-0000-7000-8000-000000000001",
    answers="`id`, `action`, `target`, `reason`. Of a record whose status was taken back, `action` is status and `target` what "
    "it is again.",
    more="""Any decision can be taken back, by the id that was printed; and that a record was verified, published, archived or
    replaced, by the id of that event in `audit --json`. A cleanup that compact made final cannot be undone.""",
)
def undo(
    ctx: typer.Context,
    event_id: Annotated[str, typer.Argument(metavar="ID", help="As the command that did it printed it.")],
    as_json: Json = False,
) -> None:
    """Take back a cleanup, a compression, a rollback, a status …"""
    with chosen(ctx).open(to_read=True) as memory:
        undone = memory.undo(event_id)
    status = undone.metadata.validation.status
    if not isinstance(undone, Decision):
        told = {"id": undone.id, "action": "status", "target": status, "reason": None}
        said = f"undone: {undone.id} is {status} again"
    else:
        told = {"id": undone.id, "action": undone.action, "target": undone.target, "reason": undone.reason}
        said = f"undone: {undone.action}" + (f" of {undone.target}" if undone.target else "")
    if as_json:
        write_json(told)
    else:
        write_text(said)


@command(
    CARE,
    "hardwon compact --yes",
    "hardwon compact --yes --json",
    answers="`purged` (records whose texts are gone for good), `before_bytes`, `after_bytes`.",
    more="""The room goes back to the disk.""",
)
def compact(ctx: typer.Context, yes: Yes = False, as_json: Json = False) -> None:
    """Give back the room of what was taken out. Asks first: no earlier cleanup can be undone afterwards."""
    with chosen(ctx).open(to_read=True) as memory:
        require_consent("After this no earlier cleanup can be undone. Compact?", yes, as_json=as_json)
        with progress("compacting") as told:
            done = memory.compact(progress=told)
    if as_json:
        write_json(asdict(done))
    else:
        write_text(
            f"{size_text(done.before_bytes)} before, {size_text(done.after_bytes)} now; "
            f"the texts of {counted(done.purged, 'record')} are gone for good"
        )


# --- health -------------------------------------------------------------------------------------------------------------


@command(
    CARE,
    "hardwon doctor",
    "hardwon doctor --json",
    answers="`ok`, `findings` (a list of `check`, `ok`, `detail`).",
    more="""Checks the file, derives again everything that is derived, and compares. Changes nothing.""",
)
def doctor(ctx: typer.Context, as_json: Json = False) -> None:
    """Check that the memory is sound. Exit code 1 when something is wrong."""
    with chosen(ctx).open(to_read=True) as memory, progress("checking"):
        found = memory.doctor()
    if as_json:
        write_json({"ok": found.ok, "findings": [each._asdict() for each in found.findings]})
    else:
        marks = {True: Span("ok   ", "green"), False: Span("BAD  ", "bold red")}
        lines: list[Line] = [
            (marks[each.ok], Span(f"{each.check}: ", STRONG), Span(visible(each.detail))) for each in found.findings
        ]
        write_lines(lines)
    if not found.ok:
        raise typer.Exit(FAILED)


@command(
    CARE,
    "hardwon rebuild",
    "hardwon rebuild --json",
    answers="`corrected` (how many records were).",
    more="""What to do when doctor says so.""",
)
def rebuild(ctx: typer.Context, as_json: Json = False) -> None:
    """Derive what is learned from the records again. What differs is corrected."""
    with chosen(ctx).open(to_read=True) as memory, progress("deriving"):
        corrected = memory.rebuild()
    if as_json:
        write_json({"corrected": corrected})
    else:
        write(f"{counted(corrected, 'record')} corrected; all that was counted is counted anew\n")
