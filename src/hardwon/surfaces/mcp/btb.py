"""The tool names of the BTB memory server, for agents that were told to call them: `--btb`.

They ask the same memory through the same gate, and answer in BTB's words. Where a file would lie is
computed as for a tree of files; the files themselves are there only where the memory has one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import dropwhile, islice
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from hardwon import limits
from hardwon.memory.ask import as_data
from hardwon.records.fields import Flag, JsonObject, Name, Scalar, Text, Texts, Unit, read_json
from hardwon.records.kinds import INTAKE, Experience, Outcome
from hardwon.surfaces.arguments import Arguments, Nothing, OwnKeys, Remember
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.mcp.cut import cut_lines
from hardwon.surfaces.mcp.tools import Tool
from hardwon.surfaces.mcp.words import describe_answer, list_branches
from hardwon.surfaces.shapes import jsonable, parse
from hardwon.text.globs import Glob
from hardwon.tree.routing import Coherence, describe_reflection, file_name, standard_folders
from hardwon.tree.topology import HOTSPOT_SHARE, TOPOLOGY_DEPTH_MAX
from hardwon.trust.access import Scope

ROUTER: Final = Coherence()
# Memories, the newest, among which `btb_recall` looks for those with the keys or the path: some
# tenths of a second.
_LOOKED_AT_MAX: Final = 5_000


class BtbRemember(Remember):
    """A memory; `metadata` are keys of your own."""

    metadata: OwnKeys = {}


class BtbRecall(Arguments):
    """Which memories; all that is given must hold."""

    pattern: Annotated[
        Text | None,
        Field(description="A glob over their paths.", examples=["outcome=failure/**/*.json"]),
    ] = None
    outcome: Annotated[
        Outcome | None, Field(description="success, failure, learning or interaction.")
    ] = None
    tool: Annotated[Name | None, Field(description="The tool.")] = None
    metadata: Annotated[
        dict[Name, Scalar],
        Field(max_length=limits.ITEMS_MAX, description="Other keys they must have."),
    ] = {}
    limit: Annotated[int, Field(ge=1, le=limits.SHOWN_MAX, description="How many at most.")] = (
        limits.SCREEN_ITEMS
    )


class BtbMap(Arguments):
    """How much of the tree."""

    max_depth: Annotated[
        int | None,
        Field(ge=0, le=TOPOLOGY_DEPTH_MAX, description="Levels of folders; all of them."),
    ] = None


class BtbHotspots(Arguments):
    """What counts as one."""

    threshold: Annotated[Unit, Field(description="At least this share of what lies above it.")] = (
        HOTSPOT_SHARE
    )
    top_n: Annotated[int, Field(ge=1, le=limits.SHOWN_MAX, description="How many at most.")] = 20
    tool: Annotated[Name | None, Field(description="Of this tool alone.")] = None


class BtbDerive(Arguments):
    """Which paths: these, or those of the memories below a folder."""

    paths: Annotated[
        Texts,
        Field(
            description="Paths with key=value folders.",
            examples=[["brain/outcome=failure/tool=web_search/a.json"]],
        ),
    ] = []
    directory: Annotated[
        Text, Field(description="Else of the memories below this folder of the tree; all of them.")
    ] = ""
    pattern: Annotated[Text, Field(description="Of those, paths that this glob matches.")] = "**/*"
    max_clusters: Annotated[int, Field(ge=1, description="Nothing here is clustered.")] = 5
    explain: Annotated[Flag, Field(description="Also in a line for each key.")] = True


class BtbSchema(Arguments):
    """How it is written."""

    format: Annotated[
        Literal["json", "text", "tree", "yaml"],
        Field(description="json; text, tree or yaml: a line for each key and branch."),
    ] = "json"
    include_stats: Annotated[Flag, Field(description="Also how many memories there are.")] = False


def _read_packet(value: object) -> object:
    """A packet may come as JSON text."""
    return read_json(value, value) if isinstance(value, str) else value


class BtbTransmit(Arguments):
    """A packet that is to be routed. Nothing is written."""

    packet: Annotated[
        JsonObject,
        BeforeValidator(_read_packet),
        Field(
            description="Its keys and values, as an object or as JSON text.",
            examples=[{"outcome": "failure", "tool": "unknown"}],
        ),
    ]
    dry_run: Annotated[Flag, Field(description="Nothing is written, whatever this says.")] = True
    create_file: Annotated[Flag, Field(description="As above: btb_remember keeps it.")] = False


def _write_memories(answer: Mapping[str, Any]) -> str:
    lines = [
        f"{memory['_path']} ({memory['timestamp']}): {memory['content']}"
        for memory in answer["memories"]
    ]
    return as_data(lines) if lines else "Nothing here has these keys."


def _write_schema(answer: Mapping[str, Any]) -> str:
    schema = answer["schema"]
    return cut_lines(schema if isinstance(schema, str) else json.dumps(schema, indent=1))


def _write_place(answer: Mapping[str, Any]) -> str:
    kept = f"Kept as {answer['path']} ({answer['id']})."
    return f"{kept} It has no folder of its own: {answer['note']}." if answer["note"] else kept


BTB_TOOLS: Final[dict[str, Tool]] = {}


def _offer(
    title: str, takes: type[Arguments], words: Callable[[Any], str], scope: Scope = "read"
) -> Callable[[Callable[[Ask, Any], Any]], None]:
    """Makes a tool of a function, whose docstring is what a model is told of it."""

    def add(run: Callable[[Ask, Any], Any]) -> None:
        def run_tool(ask: Ask, arguments: Mapping[str, Any]) -> Any:
            """What the tool gives."""
            return run(ask, parse(takes, dict(arguments)))

        about = " ".join(str(run.__doc__).split())
        tool = Tool(title, about, scope, takes, dict, run_tool, words, whole=frozenset())
        BTB_TOOLS[run.__name__] = tool

    return add


@_offer("Keep a memory", BtbRemember, _write_place, "write")
def btb_remember(ask: Ask, memory: BtbRemember) -> dict[str, Any]:
    """Keep a memory under its outcome, tool and key (as remember does). Returns its id and path,
    and why where it could not be routed.
    """
    fields = {name: getattr(memory, name) for name in memory.model_fields_set - {"metadata"}}
    fields["keys"] = dict(memory.keys)
    for name, value in memory.metadata.items():
        # A routing key may come among the others, as it always could.
        is_field = name in Remember.model_fields and name not in ("content", "outcome")
        (fields if is_field else fields["keys"])[name] = value
    record = ask("remember", **{name: jsonable(value) for name, value in fields.items()})
    problem = ROUTER.route(_list_keys(record)).problem
    return {"id": record.id, "path": _make_path(record), "note": str(problem) if problem else ""}


@_offer("Memories with these keys", BtbRecall, _write_memories)
def btb_recall(ask: Ask, wanted: BtbRecall) -> dict[str, Any]:
    """Memories that have these keys, or whose path matches a glob, newest first. To search by
    words, use recall.
    """
    return {"memories": list(islice(_find_memories(ask, wanted), wanted.limit))}


@_offer(
    "What the memories add up to",
    Nothing,
    lambda answer: as_data([f"{answer['total_memories']} memories", *answer["insights"]]),
)
def btb_reflect(ask: Ask, _: Nothing) -> Any:
    """Totals, where failures and successes pile up, the newest memories, and sentences. Takes
    nothing.
    """
    reflection = ask("reflect")
    recent = [_describe(record) for record in reflection.recent if isinstance(record, Experience)]
    return describe_reflection(reflection, recent, standard_folders())


@_offer("The map", BtbMap, lambda answer: as_data(answer["map"].splitlines()))
def btb_map(ask: Ask, wanted: BtbMap) -> dict[str, Any]:
    """The tree of memories as text, with a count for each branch."""
    return {"map": cut_lines("\n".join(list_branches(ask("topology"), depth=wanted.max_depth)))}


@_offer(
    "Where memories pile up",
    BtbHotspots,
    lambda answer: describe_answer("tree.hotspots", answer["hotspots"]),
)
def btb_hotspots(ask: Ask, wanted: BtbHotspots) -> dict[str, Any]:
    """Places that hold at least a share (`threshold`) of what lies above them, the largest
    first.
    """
    asked = {"share": wanted.threshold, "limit": wanted.top_n, "tool": wanted.tool}
    return {"hotspots": ask("tree.hotspots", **asked)}


@_offer("The schema behind paths", BtbDerive, _write_schema)
def btb_derive(ask: Ask, wanted: BtbDerive) -> dict[str, Any]:
    """The schema that files packets where these paths lie: each key=value folder becomes a level."""
    paths = wanted.paths
    if not paths:
        folder = "/".join(part for part in wanted.directory.split("/") if "=" in part)
        below = (
            memory["_path"] for memory in _find_memories(ask, BtbRecall(pattern=wanted.pattern))
        )
        paths = [path for path in below if f"{path}/".startswith(f"{folder}/" if folder else "")]
    derived = Coherence.derive(paths)
    structure = derived.get("_structure", {})
    lines = [f"{key}: {', '.join(about['values'])}" for key, about in structure.items()]
    about = {key: derived.pop(key) for key in [*derived] if key.startswith("_")}
    return {"schema": derived, **about, **({"_explanation": lines} if wanted.explain else {})}


@_offer("The schema in use", BtbSchema, _write_schema)
def btb_schema(ask: Ask, wanted: BtbSchema) -> dict[str, Any]:
    """Which keys are asked for, in which order, and the values that each may have."""
    schema = dict(ROUTER.schema)
    answer = {"schema": schema if wanted.format == "json" else "\n".join(_list_levels(schema))}
    return answer | (
        {"stats": {"total_files": ask("reflect").total}} if wanted.include_stats else {}
    )


@_offer("Where a packet belongs", BtbTransmit, lambda answer: cut_lines(answer["path"]))
def btb_transmit(_: Ask, wanted: BtbTransmit) -> dict[str, Any]:
    """The path that a packet with these keys would have. Nothing is written: btb_remember does
    that.
    """
    return {"path": ROUTER.transmit(wanted.packet).removeprefix(f"{ROUTER.root}/")}


def _list_keys(record: Experience) -> dict[str, Any]:
    """What routes it."""
    return {"outcome": record.outcome, "tool": record.tool, **record.extra}


def _make_path(record: Experience) -> str:
    """Where its file is, from the root of the tree."""
    at, folder = record.metadata.context.timestamp, ROUTER.route(_list_keys(record)).folder
    return f"{folder}/{file_name(at, record.summary, record.id[-12:])}"


def _find_memories(ask: Ask, wanted: BtbRecall) -> Iterator[dict[str, Any]]:
    # from the root on: callers write a glob with the root's folders before it, or without
    below = dropwhile(
        lambda segment: segment != INTAKE and set("=*?[").isdisjoint(segment),
        (wanted.pattern or "").split("/"),
    )
    glob = Glob("/".join(below) or wanted.pattern) if wanted.pattern else None
    for record in _list_experiences(ask, outcome=wanted.outcome, tool=wanted.tool):
        if all(record.extra.get(name) == value for name, value in wanted.metadata.items()):
            path = _make_path(record)
            if glob is None or glob.matches(path):
                yield {**_describe(record), "_path": path}


def _list_experiences(ask: Ask, **filters: Any) -> Iterator[Experience]:
    asked = {name: value for name, value in filters.items() if value}
    asked |= {"kind": "experience", "limit": limits.PAGE_RECORDS_MAX}
    for _ in range(0, _LOOKED_AT_MAX, limits.PAGE_RECORDS_MAX):
        page = ask("care.page", **asked)
        yield from page.records
        if page.next is None:
            return
        asked["cursor"] = page.next


def _describe(record: Experience) -> dict[str, Any]:
    return {
        "id": record.id,
        "timestamp": jsonable(record.metadata.context.timestamp),
        "outcome": record.outcome,
        "tool": record.tool,
        "summary": record.summary,
        "content": record.content,
        "metadata": record.extra,
    }


def _list_levels(schema: Any, indent: str = "") -> Iterator[str]:
    """A line for each key and branch, below one another."""
    for key, branches in (schema or {}).items():
        yield f"{indent}{key}:"
        for branch, below in branches.items():
            yield f"{indent}  {branch}"
            yield from _list_levels(below, f"{indent}    ")
