"""Putting what is known in order: `consolidate`, `rollback`, `reembed`."""

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hardwon.errors import InvalidInputError
from hardwon.records.kinds import Decision
from hardwon.surfaces.cli.base import CARE, LEARNED, TRUST, By, Json, chosen, command, counted, progress, write_json, write_text
from hardwon.surfaces.cli.care import undo_hint

if TYPE_CHECKING:
    from hardwon.outside.embedders import Embedder

KEY_VARIABLE: Final = "EMBEDDING_API_KEY"
_DECIDED: Final = {
    "merged": "merged with one that says nearly the same",
    "contradictions": "contradiction",
    "promoted": "holds for the whole project",
    "retired": "retired",
    "written": "written as a candidate",
}


@command(
    LEARNED,
    "hardwon consolidate",
    "hardwon consolidate --llm",
    answers="""`merged`, `contradictions`, `promoted`, `retired`, `written` (each a list of decisions: `id`, `action`,
    `task_id`, `target`, `replacement`, `text`, `evidence` and `reason`), `notes` (what else happened, in words).""",
    more="""Near-duplicate rules become one, contradictions are linked, what proved itself in several tasks holds for the
    project, what nobody has seen for long retires ([learning.md](learning.md)). It happens by itself after some episodes;
    this does all of it now. Every decision can be undone by its id. `--llm` asks the model that `GROQ_API_KEY`,
    `API_BASE_URL` and `LLM_MODEL` name; where there is none, or it is of no use, the rest is done all the same, and that is
    told.""",
)
def consolidate(
    ctx: typer.Context,
    llm: Annotated[bool, typer.Option("--llm", help="Also have a language model write rules; they are candidates.")] = False,
    as_json: Json = False,
) -> None:
    """Put what was learned in order."""
    with chosen(ctx).open(to_read=True) as memory, progress("consolidating"):
        done = memory.consolidate(llm=llm)
    if as_json:
        write_json({name: list(map(_decision_json, getattr(done, name))) for name in _DECIDED} | {"notes": done.notes})
        return
    lines = [f"{counted(len(done.decisions), 'decision')} made"]
    for name, what in _DECIDED.items():
        lines += [f"{decision.id}  {what}: {_said(decision)}" for decision in getattr(done, name)]
    write_text("\n".join([*lines, *done.notes]))


def _decision_json(decision: Decision) -> dict[str, Any]:
    names = ("id", "action", "task_id", "target", "replacement", "text", "evidence", "reason")
    return {name: getattr(decision, name) for name in names}


def _said(decision: Decision) -> str:
    return decision.text or decision.reason or decision.target


@command(
    TRUST,
    'hardwon rollback agent-7 --reason "it reported successes that were none"',
    answers="""`id` (of the decision, for undo), `target` (the source), `reason`, `records` (how many of the source's there
    are).""",
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
        write_json({"id": decision.id, "target": decision.target, "reason": decision.reason, "records": records})
    else:
        write_text(f"{counted(records, 'record')} by {source} no longer {'counts' if records == 1 else 'count'}{hint}")


class EmbedderName(StrEnum):
    """What turns texts into vectors."""

    WORDLLAMA = "wordllama"
    FASTEMBED = "fastembed"
    ENDPOINT = "endpoint"


@command(
    CARE,
    "hardwon reembed --embedder wordllama",
    "hardwon reembed --embedder wordllama --json",
    answers="`embedder` (the name that its vectors are stamped with), `dimension`, `made` (how many vectors).",
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
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model, of fastembed or of an endpoint.")] = None,
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
        raise InvalidInputError.one("--base-url, --model", f"{base_url}, {model}", "both, for an endpoint")
    return embedders.EndpointEmbedder(base_url, model, os.environ.get(KEY_VARIABLE, ""))
