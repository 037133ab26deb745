"""Keeping a memory well: what goes, and how it comes back."""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory import Memory
from hardwon.memory.results import Compressed
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.surfaces.cli.base import (
    CARE,
    TRUST,
    By,
    DryRun,
    Json,
    Yes,
    chosen,
    command,
    counted,
    progress,
    require_consent,
    write_json,
    write_text,
)
from hardwon.surfaces.cli.output import size_text

if TYPE_CHECKING:
    from hardwon.outside.embedders import Embedder

KEY_VARIABLE: Final = "EMBEDDING_API_KEY"

OlderThan = Annotated[
    int, typer.Argument(metavar="DAYS", min=0, max=limits.DAYS_MAX, help="Older than so many days.")
]
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


# --- what goes, and comes back ---


@command(
    CARE,
    "hardwon cleanup 90 --dry-run",
    "hardwon cleanup 30 --keep-successes 365 --yes",
    operation="cleanup",
    answers="Without `--yes` that is the preview, and the exit code is 1 where something would go.",
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
    """Take out old fixes. Shows what would go, then asks; what they taught stays, and undo brings
    them back.
    """
    with chosen(ctx).open(to_read=True) as memory:

        def clean(dry: bool) -> _Done:
            with progress("looking" if dry else "cleaning up") as told:
                done = memory.cleanup(days, dry, successes_days=keep_successes, progress=told)
            return _Done(
                asdict(done), done.failed + done.successful, cleaned_text(asdict(done), days)
            )

        _do(memory, clean, "Take them out?", dry_run=dry_run, yes=yes, as_json=as_json)


@command(
    CARE,
    "hardwon compress 180 --dry-run",
    "hardwon compress --yes",
    operation="fixes.compress",
    more="""Nothing that was learned changes.""",
)
def compress(
    ctx: typer.Context,
    days: OlderThan = limits.COMPRESS_DAYS,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Pack the details of old fixes. Shows how much that saves, then asks; a summary stays
    findable, and undo unpacks.
    """
    with chosen(ctx).open(to_read=True) as memory:

        def pack(dry: bool) -> _Done:
            with progress("looking" if dry else "compressing") as told:
                done = memory.fixes.compress(days, dry, progress=told)
            return _Done(asdict(done), done.records, _compressed_text(done, days))

        _do(memory, pack, "Compress them?", dry_run=dry_run, yes=yes, as_json=as_json)


class _Done(NamedTuple):
    """What was done, or would be: as JSON, to how many, and in words."""

    shape: dict[str, Any]
    amount: int
    text: str


def _do(
    memory: Memory,
    run: Callable[[bool], _Done],
    question: str,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Shows what would be done, and does it where somebody agrees. `run` is told whether to change
    nothing.
    """
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
        f"{counted(failed + worked, 'fix', 'fixes')} older than {counted(days, 'day')} {done}: "
        f"{parts}{_rest(cleaned['left'])}"
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
    "hardwon compact --yes",
    "hardwon compact --yes --json",
    operation="compact",
    more="""The room goes back to the disk.""",
)
def compact(ctx: typer.Context, yes: Yes = False, as_json: Json = False) -> None:
    """Give back the room of what was taken out. Asks first: no earlier cleanup can be undone
    afterwards.
    """
    with chosen(ctx).open(to_read=True) as memory:
        require_consent(
            "After this no earlier cleanup can be undone. Compact?", yes, as_json=as_json
        )
        with progress("compacting") as told:
            done = memory.compact(progress=told)
    if as_json:
        write_json(done)
    else:
        write_text(
            f"{size_text(done.before_bytes)} before, {size_text(done.after_bytes)} now; "
            f"the texts of {counted(done.purged, 'record')} are gone for good"
        )


@command(
    TRUST,
    'hardwon rollback agent-7 --reason "it reported successes that were none"',
    operation="rollback",
    more="""A source is an author. Its records stay readable; recall leaves them out unless it is asked for that author, and
    so it stays for what the source records from now on. It prints what to type to take it back.""",
)
def rollback(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(help="The author whose teaching is to be undone.")],
    reason: Annotated[str, typer.Option(help="Why it is not to be believed.")],
    by: By = "user",
    as_json: Json = False,
) -> None:
    """Undo what a source taught: nothing that it recorded counts any more."""
    with chosen(ctx).open(to_read=True) as memory:
        records = memory.stats().by_author.get(source, 0)
        decision = memory.rollback(source, reason, by)
        hint = undo_hint(memory, decision.id)
    if as_json:
        write_json(decision)
    else:
        write_text(
            f"{counted(records, 'record')} by {source} no longer "
            f"{'counts' if records == 1 else 'count'}{hint}"
        )


class EmbedderName(StrEnum):
    """What turns texts into vectors."""

    WORDLLAMA = "wordllama"
    FASTEMBED = "fastembed"
    ENDPOINT = "endpoint"


@command(
    CARE,
    "hardwon reembed --embedder wordllama",
    "hardwon reembed --embedder wordllama --json",
    answers="`embedder` (the name that its vectors are stamped with), `dimension`, `made` (how "
    "many vectors).",
    more="""Vectors add meaning to text search for programs that open the memory with the same embedder
    ([recall.md](recall.md)). Makes those that are missing; with another embedder than before, all of them anew. It can be
    interrupted, and goes on where it was. `wordllama` has its model in its package, `fastembed` downloads one once
    (`--model` says which), `endpoint` asks the OpenAI-compatible server at `--base-url` for `--model`, over https or on
    this machine; its key is taken from `EMBEDDING_API_KEY`, where it needs one. The first two need `pip install
    "hardwon[embeddings]"`.""",
)
def reembed(
    ctx: typer.Context,
    embedder: Annotated[EmbedderName, typer.Option(help="What makes the vectors.")],
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model, of fastembed or of an endpoint.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Of an endpoint.")] = None,
    as_json: Json = False,
) -> None:
    """Make the vectors that recall by meaning needs."""
    made_by = _embedder(embedder, model, base_url)
    with chosen(ctx).open(to_read=True, embedder=made_by) as memory, progress("embedding") as told:
        made = memory.reembed(progress=told)
    if as_json:
        write_json({"embedder": made_by.name, "dimension": made_by.dimension, "made": made})
    else:
        write_text(f"{counted(made, 'vector')} made by {made_by.name}")


def _embedder(name: EmbedderName, model: str | None, base_url: str | None) -> "Embedder":
    from hardwon.outside import embedders

    if base_url is not None and name is not EmbedderName.ENDPOINT:
        raise InvalidInputError.one("--base-url", base_url, "only with --embedder endpoint")
    if name is EmbedderName.WORDLLAMA:
        if model is not None:
            raise InvalidInputError.one("--model", model, "nothing: wordllama has one model")
        return embedders.WordLlamaEmbedder()
    if name is EmbedderName.FASTEMBED:
        return embedders.FastembedEmbedder(model or embedders.FASTEMBED_MODEL)
    if not base_url or not model:
        raise InvalidInputError.one(
            "--base-url, --model", f"{base_url}, {model}", "both, for an endpoint"
        )
    return embedders.EndpointEmbedder(base_url, model, os.environ.get(KEY_VARIABLE, ""))
