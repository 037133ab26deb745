"""The tool names of the BTB memory server, for agents that were told to call them: `hardwon mcp
--btb`.

They ask the same memory through the same gate, and answer in BTB's words. Where a file would lie is
computed as for a tree of files; the files themselves are there only where the memory has a tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import dropwhile, islice
from typing import Annotated, Any, Final

from pydantic import Field

from hardwon import limits
from hardwon.records.fields import JsonObject, Name, Scalar, Text, Texts, Unit
from hardwon.records.kinds import INTAKE, Experience, Outcome
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.mcp import tools as answers
from hardwon.surfaces.mcp.tools import Tool
from hardwon.surfaces.operations import Arguments, Nothing, Remember, jsonable, parsed
from hardwon.text.globs import Glob
from hardwon.tree.routing import Coherence, file_name
from hardwon.trust.access import Scope

_ROUTER: Final = Coherence()


class BtbRemember(Remember):
    """A memory; `metadata` are keys of your own."""

    metadata: Annotated[
        dict[Name, Scalar], Field(max_length=limits.ITEMS_MAX, description="Keys of your own.")
    ] = {}


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
        limits.BTB_RECALL_SHOWN
    )


class BtbHotspots(Arguments):
    """What counts as one."""

    threshold: Annotated[Unit, Field(description="At least this share of what lies above it.")] = (
        limits.HOTSPOT_SHARE
    )
    limit: Annotated[int, Field(ge=1, le=limits.SHOWN_MAX, description="How many at most.")] = 20


class BtbDerive(Arguments):
    """Paths of files."""

    paths: Annotated[
        Texts,
        Field(
            description="Paths with key=value folders.",
            examples=[["brain/outcome=failure/tool=web_search/a.json"]],
        ),
    ]


class BtbTransmit(Arguments):
    """A packet that is to be routed. Nothing is written."""

    packet: Annotated[
        JsonObject,
        Field(
            description="Its keys and values.", examples=[{"outcome": "failure", "tool": "unknown"}]
        ),
    ]


def _remember(ask: Ask, given: BtbRemember) -> Any:
    named = {name: getattr(given, name) for name in given.model_fields_set if name != "metadata"}
    # A routing key may come among the others, as it always could.
    known = Remember.model_fields.keys() - {"content", "outcome"}
    named |= {name: value for name, value in given.metadata.items() if name in known}
    named["keys"] = given.keys | {
        name: value for name, value in given.metadata.items() if name not in known
    }
    kept = ask("remember", **{name: jsonable(value) for name, value in named.items()})
    return {"id": kept.id, "path": kept.path or _path_of(kept)}


def _path_of(record: Experience) -> str:
    at, keys = record.metadata.context.timestamp, record.extra
    folder = _ROUTER.route({"outcome": record.outcome, "tool": record.tool, **keys}).folder
    return f"{folder}/{file_name(at, record.summary or '', record.id[-12:])}"


def _experiences(ask: Ask, filters: Mapping[str, Any]) -> Iterator[Experience]:
    asked = {"kind": "experience", "limit": limits.PAGE_RECORDS_MAX, **filters}
    for _ in range(0, limits.BTB_LOOKED_AT_MAX, limits.PAGE_RECORDS_MAX):
        page = ask("care.page", **asked)
        yield from page.records
        if page.next is None:
            return
        asked["cursor"] = page.next


def _below_root(pattern: str) -> str:
    """The glob from the root on. Callers write it with the root's folders before it, or without."""
    below = dropwhile(
        lambda segment: segment != INTAKE and set("=*?[").isdisjoint(segment), pattern.split("/")
    )
    return "/".join(below) or pattern


def _recall(ask: Ask, given: BtbRecall) -> Any:
    filters = {name: each for name in ("outcome", "tool") if (each := getattr(given, name))}
    glob = Glob(_below_root(given.pattern)) if given.pattern else None
    found = (
        {**_memory(record), "_path": path}
        for record in _experiences(ask, filters)
        if all(record.extra.get(name) == value for name, value in given.metadata.items())
        and (path := _path_of(record))
        and (glob is None or glob.matches(path))
    )
    return {"memories": list(islice(found, given.limit))}


def _memory(record: Experience) -> dict[str, Any]:
    return {
        "id": record.id,
        "timestamp": jsonable(record.metadata.context.timestamp),
        "outcome": record.outcome,
        "tool": record.tool,
        "summary": record.summary,
        "content": record.content,
        "metadata": record.extra,
    }


def _reflect(ask: Ask, _: Nothing) -> Any:
    found = ask("reflect")
    return {
        "total_memories": found.total,
        "by_outcome": found.by_outcome,
        "by_tool": found.by_tool,
        "failure_hotspots": found.hotspots,
        "success_patterns": found.strengths,
        "recent": [_memory(record) for record in found.recent if isinstance(record, Experience)],
        "insights": found.insights,
    }


def _recalled_text(given: Any) -> str:
    lines = [
        f"{each['_path']} ({each['timestamp']}): {each['content']}" for each in given["memories"]
    ]
    return answers.data(lines) if lines else "Nothing here has these keys."


def _tool(
    title: str,
    description: str,
    scope: Scope,
    takes: type[Arguments],
    run: Callable[[Ask, Any], Any],
    words: Callable[[Any], str],
) -> Tool:
    return Tool(
        title,
        description,
        scope,
        takes,
        dict,
        lambda ask, arguments: run(ask, parsed(takes, dict(arguments))),
        lambda given: answers.cut_lines(words(given)),
    )


BTB_TOOLS: Final[Mapping[str, Tool]] = {
    "btb_remember": _tool(
        "Keep a memory",
        "Keep a memory under its outcome, tool and key (as remember does). Returns its id and "
        "path.",
        "write",
        BtbRemember,
        _remember,
        lambda given: f"Kept as {given['path']} ({given['id']}).",
    ),
    "btb_recall": _tool(
        "Memories with these keys",
        "Memories that have these keys, or whose path matches a glob, newest first. To search "
        "by words, use recall.",
        "read",
        BtbRecall,
        _recall,
        _recalled_text,
    ),
    "btb_reflect": _tool(
        "What the memories add up to",
        "Totals, where failures and successes pile up, the newest memories, and sentences. "
        "Takes nothing.",
        "read",
        Nothing,
        _reflect,
        lambda given: answers.data([f"{given['total_memories']} memories", *given["insights"]]),
    ),
    "btb_map": _tool(
        "The map",
        "The tree of memories as text, with a count and share for each branch. Takes nothing.",
        "read",
        Nothing,
        lambda ask, _: {"map": answers.topology(ask("topology"))},
        lambda given: str(given["map"]),
    ),
    "btb_hotspots": _tool(
        "Where memories pile up",
        "Places that hold at least a share (`threshold`) of what lies above them, the largest "
        "first.",
        "read",
        BtbHotspots,
        lambda ask, given: {
            "hotspots": ask("tree.hotspots", share=given.threshold, limit=given.limit)
        },
        lambda given: answers.hotspots(given["hotspots"]),
    ),
    "btb_derive": _tool(
        "The schema behind paths",
        "The schema that files packets where these paths lie: each key=value folder becomes a "
        "level.",
        "read",
        BtbDerive,
        lambda _, given: {"schema": Coherence.derive(given.paths)},
        lambda given: json.dumps(given["schema"], indent=1),
    ),
    "btb_schema": _tool(
        "The schema in use",
        "Which keys are asked for, in which order, and the values that each may have. Takes "
        "nothing.",
        "read",
        Nothing,
        lambda _, __: {"schema": dict(_ROUTER.schema)},
        lambda given: json.dumps(given["schema"], indent=1),
    ),
    "btb_transmit": _tool(
        "Where a packet belongs",
        "The path that a packet with these keys would have. Nothing is written: btb_remember "
        "does that.",
        "read",
        BtbTransmit,
        lambda _, given: {"path": _ROUTER.transmit(given.packet).removeprefix(f"{_ROUTER.root}/")},
        lambda given: str(given["path"]),
    ),
}
