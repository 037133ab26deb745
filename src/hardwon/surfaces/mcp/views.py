"""What MCP clients read without calling a tool: resources (JSON under `hardwon://`) and prompts
(messages to start from).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import hardwon
from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError
from hardwon.records.kinds import MODEL_OF_KIND, ROUTES
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.mcp import answers as text
from hardwon.surfaces.mcp.answers import fitted
from hardwon.surfaces.operations import OPERATIONS, jsonable, parsed, schema_of
from hardwon.tree.routing import Coherence
from hardwon.trust.access import Caller

SCHEME: Final = "hardwon://"
BTB_SCHEME: Final = "btb://"
_KINDS: Final = ("experience", "fact", "trajectory", "episode", "fix")


@dataclass(frozen=True)
class Visitor:
    """Somebody who was let in, and the project that they ask about. `key`: the idempotency key of
    their request, if any.
    """

    gate: Gate
    caller: Caller
    project: str
    key: str | None = None

    def ask(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """One operation, through the gate; where there is a key, once."""
        said = parsed(OPERATIONS[name].takes, dict(arguments or {}))
        return self.gate.perform(self.caller, name, self.project, said, self.key)


# --- resources ---


class Resource(NamedTuple):
    """`parameter`: what follows its name in the address, None where nothing does."""

    title: str
    description: str
    read: Callable[[Visitor, str], Any]
    parameter: str | None = None


def _recent(visitor: Visitor, count: str) -> Any:
    if not count.isdecimal():
        raise InvalidInputError.one(
            "count", count, f"a whole number from 1 to {limits.PAGE_RECORDS_MAX}"
        )
    return {
        "records": visitor.ask("care.page", {"limit": int(count[: limits.NAME_CHARS_MAX])}).records
    }


def _health(visitor: Visitor, _: str) -> Any:
    known = {
        "version": hardwon.__version__,
        "project": visitor.project,
        "author": visitor.caller.name,
        "scope": visitor.caller.scope,
    }
    try:
        stats = visitor.ask("stats")
    except HardwonError as error:
        return {"status": "failing", "problem": str(error), **known}
    return {"status": "ok", **known, "records": stats.records, "size_bytes": stats.size_bytes}


def _schema(_: Visitor, __: str) -> Any:
    pairs = [
        {
            "outcome": outcome,
            "tool": tool,
            "key": route and route[0],
            "values": route and list(route[1]),
        }
        for (outcome, tool), route in ROUTES.items()
    ]
    return {"records": {kind: schema_of(MODEL_OF_KIND[kind]) for kind in _KINDS}, "routes": pairs}


RESOURCES: Final[Mapping[str, Resource]] = MappingProxyType(
    {
        "topology": Resource(
            "The map of the memory",
            "The tree of experiences by outcome, tool and key, with counts.",
            lambda visitor, _: visitor.ask("topology"),
        ),
        "stats": Resource(
            "How much there is",
            "Counts by kind, outcome, tool, status and author.",
            lambda visitor, _: visitor.ask("stats"),
        ),
        "schema": Resource(
            "What records look like",
            "The JSON Schema of each kind of record, and the keys that outcomes require.",
            _schema,
        ),
        "health": Resource(
            "Whether all is well",
            "Whether the memory answers, its version, and who you are to it.",
            _health,
        ),
        "recent": Resource(
            "The newest records", "The newest records, as many as you say.", _recent, "count"
        ),
        "record": Resource(
            "One record",
            "A record by its id.",
            lambda visitor, given: visitor.ask("get", {"record_id": given}),
            "id",
        ),
    }
)


def address_of(name: str, scheme: str = SCHEME) -> str:
    """Its address; that of one with a parameter is a template."""
    parameter = RESOURCES[name].parameter
    return f"{scheme}{name}/{{{parameter}}}" if parameter else f"{scheme}{name}"


def read_resource(visitor: Visitor, address: str, *, btb: bool = False) -> str:
    """The resource at this address, as JSON of bounded size."""
    schemes = (SCHEME, BTB_SCHEME) if btb else (SCHEME,)
    scheme = next((scheme for scheme in schemes if address.startswith(scheme)), None)
    name, _, given = address.removeprefix(scheme or "").partition("/")
    found = RESOURCES.get(name) if scheme else None
    if found is None or bool(given) != bool(found.parameter):
        raise InvalidInputError.one("uri", address, ", ".join(map(address_of, RESOURCES)))
    if scheme == BTB_SCHEME and name == "schema":
        return json.dumps(Coherence().schema, ensure_ascii=False)
    value, left_out = fitted(jsonable(found.read(visitor, given)), limits.RESOURCE_CHARS_MAX)
    if left_out:
        value = {
            **value,
            "left_out": f"Left out to keep this short: {left_out}. hardwon show and hardwon export "
            f"have all of it.",
        }
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# --- prompts ---


class Prompt(NamedTuple):
    """`arguments` are the names of what it takes, with what they mean; all of them have to be
    given.
    """

    title: str
    description: str
    text: Callable[[Visitor, Mapping[str, str]], str]
    arguments: Mapping[str, str] = MappingProxyType({})


def _memory_review(visitor: Visitor, _: Mapping[str, str]) -> str:
    newest = visitor.ask(
        "care.page", {"limit": limits.RECENT_SHOWN, "status": "hypothesis"}
    ).records
    spots = visitor.ask("tree.hotspots")
    return "\n\n".join(
        [
            "Review this experience memory, and say what its readers should do differently.",
            text.stats(visitor.ask("stats")),
            text.reflection(visitor.ask("reflect")),
            "Where experiences pile up:\n" + text.hotspots(spots),
            "The newest that nobody confirmed yet:\n"
            + (text.data(text.record_lines(newest)) if newest else "none"),
            "Say in this order: which failures repeat, and what would end each of them (use recall "
            "and similar_issues to "
            "look at them); which lessons are worth a record of their own (propose each as one "
            "sentence for record_fact); "
            "which of the unconfirmed records look wrong or contradict one another; what is "
            "missing. Name record ids for "
            "every claim.",
        ]
    )


def _debug_session(visitor: Visitor, given: Mapping[str, str]) -> str:
    error = given["error"]
    advice = visitor.ask("context", {"query": error, "budget_tokens": limits.FIX_CONTEXT_TOKENS})
    hits = visitor.ask("recall", {"query": error, "k": limits.RECENT_SHOWN, "outcome": "failure"})
    return "\n\n".join(
        [
            "Find the cause of this error, and fix it:",
            "\n".join(
                f"    {line}"
                for line in error[: limits.CONTEXT_LINE_CHARS_MAX].splitlines()[
                    : limits.PROMPT_LINES_MAX
                ]
            ),
            "What the memory knows:\n" + (advice.text or "Nothing yet."),
            "Failures that look like it:\n" + text.hits(hits),
            "First say what was tried before and how it went. Do not repeat what failed. Before "
            "each risky action call "
            "advise with it. When it is fixed, or you give up, record how it went (remember, or "
            "record_fix for a model's "
            "issue) with the ids above as `recalled`, and credit what helped.",
        ]
    )


def _schema_discovery(visitor: Visitor, _: Mapping[str, str]) -> str:
    tree = text.topology(visitor.ask("topology"))
    keys: dict[str, set[str]] = {}
    for record in visitor.ask(
        "care.page", {"limit": limits.PAGE_RECORDS, "kind": "experience"}
    ).records:
        for name, value in record.extra.items():
            keys.setdefault(name, set()).add(str(value))
    used = [
        f"{name}: {', '.join(sorted(values)[: limits.RECENT_SHOWN])}"
        for name, values in sorted(keys.items())
    ]
    return "\n\n".join(
        [
            "Propose how the experiences of this memory should be filed.",
            "They are filed so far by outcome, tool and the key that both require:\n" + tree,
            "Keys of the newest experiences, with some of their values:\n"
            + (text.data(used[: limits.PROMPT_LINES_MAX]) if used else "none besides those"),
            "The standard schema, a key for each level:\n"
            + json.dumps(Coherence().schema, indent=1),
            "Say which branches hold too much to be of use, and which keys would divide them well: "
            "few values, known when the "
            "record is made, and asked for later. Give the schema in the same JSON form. Numbers "
            "can be ranges (>100, 10-100), "
            "texts alternatives (a|b) or expressions (r/v[0-9]+/).",
        ]
    )


PROMPTS: Final[Mapping[str, Prompt]] = MappingProxyType(
    {
        "memory_review": Prompt(
            "Review the memory",
            "What the memory adds up to, and what its readers should do differently.",
            _memory_review,
        ),
        "debug_session": Prompt(
            "Debug with the memory",
            "Start on an error with what is known about it.",
            _debug_session,
            MappingProxyType(
                {"error": "The error, as it was seen: its message, and the end of its trace."}
            ),
        ),
        "schema_discovery": Prompt(
            "Find a better schema",
            "How experiences are filed so far, and how they could be.",
            _schema_discovery,
        ),
    }
)


def prompt_text(visitor: Visitor, name: str, given: Mapping[str, str]) -> str:
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise InvalidInputError.one("name", name, ", ".join(PROMPTS))
    for argument, meaning in prompt.arguments.items():
        if not given.get(argument, "").strip():
            raise InvalidInputError.one(argument, given.get(argument, ""), meaning)
    return prompt.text(visitor, given)
