"""The tools that a model is offered, and what they answer.

A list of tools goes into every conversation, so by default there are few (`USUAL`): one call before
an attempt, one after it, one to search. They answer with a few plain lines and the ids in them. The
others (`TOOLS`, with `--tools all`) are the operations as they are declared: each takes what the
operation takes, says what a terminal shows of it, and has all of it as JSON.

What is too long for a model to read is cut (long texts, long lists, deep trees), and it is said
what was left out. Text that somebody recorded stands between the same fence lines as in a context,
and is a clean text of its own in what is structured: it is data, whatever it says.

At the end, the tool names of the BTB memory server, for agents that were told to call them:
`hardwon mcp --btb`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, dropwhile, islice
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from hardwon import limits
from hardwon.memory.ask import advice_text, as_data
from hardwon.records.fields import JsonObject, Name, Scalar, Text, Texts, Unit, check_that
from hardwon.records.kinds import INTAKE, ROUTES, AnyRecord, Experience, Outcome, Record, headline
from hardwon.surfaces.arguments import Arguments, Ids, Nothing, Remember
from hardwon.surfaces.cli import views
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.shapes import jsonable, make_schema, parse
from hardwon.text.clean import CODE_INDENT, CUT, clean_text
from hardwon.text.globs import Glob
from hardwon.tree.routing import Coherence, file_name, reflected, standard_folders
from hardwon.trust.access import Scope

# --- bounds ---


def fit(value: Any, chars_max: int, whole: frozenset[str] = frozenset()) -> tuple[Any, str]:
    """A JSON value that takes at most about so many characters, and what was cut; the latter is
    empty where nothing was. `whole`: keys at the top whose values stay as they are, and do not
    count.
    """
    kept = {name: value[name] for name in whole if name in value} if isinstance(value, dict) else {}
    rest = {name: inner for name, inner in value.items() if name not in kept} if kept else value
    if _size(rest) <= chars_max:
        return value, ""
    for cut in (_Cut(*bounds) for bounds in limits.RESULT_CUTS):
        shorter = cut.value(rest, 0)
        if _size(shorter) <= chars_max:
            break
    if kept:
        shorter = {name: kept.get(name, shorter.get(name)) for name in value}
    return shorter, cut.note()


def clean_json(value: Any, whole: frozenset[str] = frozenset()) -> Any:
    """With every text and every name clean: a model reads it, whatever else does. `whole`: keys at
    the top whose values are fenced already.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return list(map(clean_json, value))
    if isinstance(value, dict):
        return {
            clean_text(name): inner if name in whole else clean_json(inner)
            for name, inner in value.items()
        }
    return value


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


@dataclass
class _Cut:
    """Bounds of texts, lists and depth, and what was cut to keep them."""

    text_chars: int
    items: int
    levels: int
    texts_cut: int = 0
    items_left_out: int = 0

    def value(self, given: Any, level: int) -> Any:
        if isinstance(given, str) and len(given) > self.text_chars:
            self.texts_cut += 1
            return given[: self.text_chars - 1] + CUT
        if isinstance(given, list):
            # A list of plain values may be a pair, which has its length; a list of objects may be
            # empty.
            objects = bool(given) and isinstance(given[0], dict)
            some = 0 if level > self.levels and objects else self.items
            self.items_left_out += max(0, len(given) - some)
            return [self.value(inner, level + 1) for inner in given[:some]]
        if isinstance(given, dict):
            return {
                self.value(name, level): self._field(name, inner, level + 1)
                for name, inner in self._entries(given)
            }
        return given

    def _field(self, name: str, given: Any, level: int) -> Any:
        # these hold whatever JSON their author liked, as deep as they liked: at last, nothing of it
        if name in ("system_info", "other", "data") and given and self.levels <= 1:
            self.items_left_out += len(given)
            return {}
        return self.value(given, level)

    def _entries(self, given: dict[str, Any]) -> list[tuple[str, Any]]:
        entries = list(given.items())
        most = max(self.items, limits.COUNTS_SHOWN_MIN)
        self.items_left_out += max(0, len(entries) - most)
        # What every record has stands first, and is less; of counts, the largest stay.
        counts = all(isinstance(inner, int | float) for inner in given.values())
        if counts and len(entries) > most:
            entries.sort(key=lambda entry: (-entry[1], entry[0]))
        return entries[:most]

    def note(self) -> str:
        items, texts = self.items_left_out, self.texts_cut
        entries = f"{items} {'entry' if items == 1 else 'entries'}"
        ends = f"the end of {texts} long {'text' if texts == 1 else 'texts'}"
        return " and ".join(part for part, count in ((entries, items), (ends, texts)) if count)


def cut_lines(text: str, chars_max: int = limits.TOOL_TEXT_CHARS_MAX) -> str:
    """Whole lines of it, as many as fit, and how many are missing."""
    if len(text) <= chars_max:
        return text
    lines = text.splitlines()
    kept = sum(end <= chars_max for end in accumulate(len(line) + 1 for line in lines))
    return "\n".join([*lines[:kept], f"{CUT} {len(lines) - kept} more lines were left out"])


# --- words ---

_WIDE: Final = views.Screen(width=limits.TOOL_TEXT_WIDTH)
_DRAWING: Final = views.Screen(width=100)
# What a terminal shows of an answer.
_VIEWS: Final[Mapping[str, Callable[[views.Screen, Any], str]]] = {
    "recall": views.hits_text,
    "get": views.record_text,
    "similar_issues": views.similar_text,
    "model_insights": views.model_text,
    "stats": views.stats_text,
    "topology": views.map_text,
    "tree.hotspots": views.hotspots_text,
    "reflect": views.reflection_text,
}
NOTHING_KNOWN: Final = "Nothing is known of this yet."


def words_of(name: str, found: Any) -> str:
    """What an operation gave, in words: what is ours plainly, and what others wrote fenced, as a
    terminal has it.
    """
    if name == "context":
        return found.text or f"{NOTHING_KNOWN} ({found.empty_reason})"
    if name == "advise":
        return advice_text(found)
    if name == "credit":
        return f"Credited: {', '.join(found) or 'nothing, for no record has one of these ids'}."
    operation = OPERATIONS[name]
    if isinstance(found, Record) and not operation.reads:
        names = ", ".join(found.redacted or ())
        redacted = f" Taken out before it was kept: {names}." if names else ""
        return f"Done: {found.kind} {found.id} is {found.metadata.validation.status}.{redacted}"
    if not found and isinstance(found, list):
        return NOTHING_KNOWN
    is_drawn = name in ("topology", "tree.hotspots", "stats")
    if view := _VIEWS.get(name):
        text = view(_DRAWING if is_drawn else _WIDE, found)
    else:
        shape = jsonable(found)
        text = views.values_text(_WIDE, shape) if isinstance(shape, dict) else str(shape)
    # the blanks of a map say what lies where
    start = CODE_INDENT if name == "topology" else ""
    return as_data(start + line for line in text.split("\n") if line.strip())


def record_lines(records: Iterable[AnyRecord]) -> list[str]:
    return [
        f"{record.kind}, {record.metadata.validation.status}, "
        f"{record.metadata.context.timestamp:%Y-%m-%d}, "
        f"by {record.said_by}, {record.id}: "
        f"{_WIDE.line(headline(record))}"
        for record in records
    ]


# --- tools ---

LEFT_OUT: Final = "left_out"
_WRAPPED: Final = "result"


class Tool(NamedTuple):
    """`description` says when to call it, with what, and what comes back; `scope` is what the
    operations that it asks take; `run` gives the answer, and `words` makes its text; `fields` are
    those that a model is told of, where that is not all; `whole` are keys of the answer that are
    never cut.
    """

    title: str
    description: str
    scope: Scope
    takes: type[Arguments]
    gives: Any
    run: Callable[[Ask, Mapping[str, Any]], Any]
    words: Callable[[Any], str]
    fields: tuple[str, ...] = ()
    whole: frozenset[str] = frozenset()
    destructive: bool = False

    @property
    def reads(self) -> bool:
        return self.scope == "read"


class Said(NamedTuple):
    """What a usual tool answers: a few lines, and the ids of the records in them."""

    text: str
    ids: tuple[str, ...] = ()


def _tool(operation: Operation) -> Tool:
    """An operation as it is declared."""
    return Tool(
        str(operation.tool).replace("_", " ").capitalize(),
        operation.description,
        operation.scope,
        operation.takes,
        operation.gives,
        lambda ask, given: ask(operation.name, **given),
        partial(words_of, operation.name),
        whole=frozenset({"text", "message"}),
        destructive=operation.destructive,
    )


class Before(Arguments):
    """What is about to be done; something of it has to be said."""

    task: Annotated[
        Text | None, Field(description="What you are about to do.", examples=["deploy the shop"])
    ] = None
    error: Annotated[Text | None, Field(description="The error to get rid of, as seen.")] = None
    action: Annotated[
        Text | None,
        Field(description="The very command or change, to be warned of it.", examples=["make"]),
    ] = None


class After(Arguments):
    """What was done, and how it turned out."""

    happened: Annotated[
        Text,
        Field(
            description="What was done and what came of it: a sentence for a reader who was not "
            "there.",
            examples=["make deploy needs AWS_REGION, else it stops"],
        ),
    ]
    outcome: Annotated[
        Literal["success", "failure", "learning"],
        Field(description="How it turned out.", examples=["failure"]),
    ]
    task: Annotated[Text | None, Field(description="What it was for.")] = None
    action: Annotated[
        Text | None, Field(description="The very command or change.", examples=["make deploy"])
    ] = None
    error: Annotated[
        Text | None,
        Field(description="The error, as seen; of a success, the one that it made go away."),
    ] = None
    recalled: Annotated[
        Ids | None, Field(description="Ids from before or search: credited by the outcome.")
    ] = None


def _before(ask: Ask, said: Mapping[str, Any]) -> Said:
    given: Before = parse(Before, dict(said))
    asked = {name: value for name, value in given.keywords().items() if value and value.strip()}
    check_that(asked, "task", given.task, "a task, an error or an action")
    about = "\n".join(asked[name] for name in ("task", "error") if name in asked)
    context = ask("context", query=about or asked["action"])
    lines, ids = [context.text] if context.text else [], context.ids
    if "action" in asked:
        advice = ask("advise", **asked)
        if advice.verdict != "unknown":
            lines.insert(0, advice_text(advice))
            ids += advice.evidence
    ids = list(dict.fromkeys(ids))[: limits.EVIDENCE_SHOWN_MAX]
    lines += [f"For `recalled`: {', '.join(ids)}"] if ids else []
    return Said("\n".join(lines) or NOTHING_KNOWN, tuple(ids))


# An experience without a command has no tool that anybody named.
_WITHOUT_ACTION: Final[Mapping[str, Mapping[str, str]]] = {
    "success": {"tool": "conversation"},
    "failure": {"tool": "unknown"},
    "learning": {"insight_type": "fact"},
}


def _after(ask: Ask, said: Mapping[str, Any]) -> Said:
    given: After = parse(After, dict(said))
    envelope = {"recalled": given.recalled} if given.recalled else {}
    task, worked = given.task or given.action, given.outcome == "success"
    if task and given.outcome != "learning":
        seen = given.happened if worked else f"{given.error or ''}\n{given.happened}".strip()
        steps = [{"action": given.action or given.happened, "observation": seen, "ok": worked}]
        if worked and given.error:
            steps.insert(0, {"action": "", "observation": given.error, "ok": False})
        kept = {"task": task, "steps": steps, "final_reward": float(worked)}
        name = "record_trajectory"
    else:
        about = "\n".join(filter(None, (given.happened, given.error, given.task, given.action)))
        route = _WITHOUT_ACTION[given.outcome]
        kept, name = {"content": about, "outcome": given.outcome, **route}, "remember"
    return _said(name, ask(name, **kept, **envelope))


def _said(name: str, found: Any) -> Said:
    each = found if isinstance(found, list) else [found]
    ids = [
        one if isinstance(one, str) else getattr(getattr(one, "record", one), "id", "")
        for one in each
    ]
    return Said(words_of(name, found), tuple(filter(None, ids)))


def _usual(
    title: str, description: str, scope: Scope, takes: type[Arguments], run: Any, *fields: str
) -> Tool:
    return Tool(
        title,
        description,
        scope,
        takes,
        Said,
        run,
        lambda said: said.text,
        fields,
        frozenset({"text"}),
    )


def _short(name: str, title: str, description: str, *fields: str) -> tuple[str, Tool]:
    """An operation of which a model is told these fields, and answered in words."""
    found = OPERATIONS[name]
    tool = _usual(
        title,
        description,
        found.scope,
        found.takes,
        lambda ask, given: _said(name, ask(name, **given)),
        *fields,
    )
    return str(found.tool), tool


# In the order in which a model should read them.
USUAL: Final[Mapping[str, Tool]] = {
    "before": _usual(
        "Ask before you start",
        "Call this first: before a task, after an error, before a command that may fail. Says what "
        "worked here, what failed and what made it go away, and warns of what failed the same way.",
        "read",
        Before,
        _before,
    ),
    "after": _usual(
        "Tell how it went",
        "Call this when you know how something turned out, failures too, or learned what others "
        "need to know. Secrets are taken out.",
        "write",
        After,
        _after,
    ),
    **dict(
        (
            _short(
                "recall",
                "Search the memory",
                "Records that answer a question, the best first. A hypothesis was confirmed by "
                "nobody; of what is stale, files have changed since.",
                *("query", "k", "kind", "outcome", "task_id", "author", "since", "path"),
            ),
            _short("get", "Show a record", "All of a record, by its id.", "record_id"),
            _short(
                "credit",
                "Say whether it helped",
                "Whether what before or search gave you helped or misled you. What helps is found "
                "first next time.",
            ),
            _short(
                "verify",
                "Confirm a record",
                "Something independent confirmed it: a test, a compiler, a person. Never your own "
                "guess.",
            ),
            _short(
                "archive",
                "Take a record out of use",
                "It is no longer true. It is not recalled any more, and stays in the audit.",
            ),
        )
    ),
}
TOOLS: Final[Mapping[str, Tool]] = {
    **USUAL,
    **{each.tool: _tool(each) for each in OPERATIONS.values() if each.tool},
}


def answer_of(tool: Tool, given: Any) -> tuple[dict[str, Any], str]:
    """What a tool gave, in a size that a model can read: as JSON, and in words."""
    found = jsonable(given, origins=True)
    whole = {_WRAPPED: found} if _is_wrapped(tool.gives) else found
    value, left_out = fit(clean_json(whole, tool.whole), limits.TOOL_RESULT_CHARS_MAX, tool.whole)
    words = tool.words(given)
    if left_out:
        narrower = [name for name in ("k", "limit") if name in tool.takes.model_fields]
        ways = [*(f"ask with a smaller {name}" for name in narrower), "show has a whole record"]
        note = f"Left out to keep this short: {left_out}. For the rest: {', or '.join(ways)}."
        value = {**value, LEFT_OUT: note}
        words = words if "text" in value else f"{words}\n{note}"
    return value, words


@cache
def input_schema(tool: Tool) -> dict[str, Any]:
    """What has to be given comes first."""
    schema: dict[str, Any] = _lean(tool.takes.model_json_schema())
    required = schema.get("required", ())
    fields = {
        name: field
        for name, field in schema.get("properties", {}).items()
        if not tool.fields or name in tool.fields
    }
    if issubclass(tool.takes, Remember):  # what outcomes require, and with which tool
        for route in filter(None, ROUTES.values()):
            fields[route[0]]["enum"] = list(route[1])
        fields["tool"]["enum"] = sorted({name for _, name in ROUTES if name})
    first = sorted(fields, key=lambda name: name not in required)
    lean = {**schema, "properties": {name: fields[name] for name in first}}
    if tool.fields:
        lean.pop("$defs", None)
    return lean


def output_schema(tool: Tool) -> dict[str, Any]:
    """An object, whatever the operation gives: lists and records of any kind are under `result`.
    What lies deeper, the documentation of the operation tells.
    """
    schema = _schema(tool.gives)
    if _is_wrapped(tool.gives):
        return {"type": "object", "properties": {_WRAPPED: {}}, "required": [_WRAPPED]}
    properties = {
        name: {"type": field["type"]} if "type" in field else {}
        for name, field in schema.get("properties", {}).items()
    }
    return {"type": "object", **({"properties": properties} if properties else {})}


@cache
def _schema(gives: Any) -> dict[str, Any]:
    schema = make_schema(gives)
    name = schema.get("$ref", "").rpartition("/")[2]
    return schema["$defs"][name] if name else schema


def _is_wrapped(gives: Any) -> bool:
    return _schema(gives).get("type") != "object"


# A list of tools goes into every conversation. Bounds on texts and examples do not: what breaks one
# is told when it is called.
_OF_NO_USE: Final = frozenset(
    {"title", "examples", "maxLength", "minLength", "maxItems", "maxProperties"}
)


def _lean(schema: Any) -> Any:
    """A schema without what only takes a reader's time. Below `properties` and `$defs` the keys are
    names; what may be absent need not be null.
    """
    if isinstance(schema, list):
        return [_lean(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    lean = {
        key: {name: _lean(inner) for name, inner in value.items()}
        if key in ("properties", "$defs") and isinstance(value, dict)
        else value
        if key in ("default", "const", "enum")
        else _lean(value)
        for key, value in schema.items()
        # which keys go together is checked here
        if key not in _OF_NO_USE
        and not (key == "anyOf" and "properties" in schema)
        and not (key == "default" and value in (None, [], {}, ""))
    }
    some = [each for each in lean.pop("anyOf", ()) if each != {"type": "null"}]
    return {**(some[0] if len(some) == 1 else {"anyOf": some} if some else {}), **lean}


# --- the tool names of the BTB memory server ---

# They ask the same memory through the same gate, and answer in BTB's words. Where a file would lie
# is computed as for a tree of files; the files themselves are there only where the memory has one.
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
        limits.SCREEN_ITEMS
    )


class BtbHotspots(Arguments):
    """What counts as one."""

    threshold: Annotated[Unit, Field(description="At least this share of what lies above it.")] = (
        limits.HOTSPOT_SHARE
    )
    limit: Annotated[int, Field(ge=1, le=limits.SHOWN_MAX, description="How many at most.")] = 20
    tool: Annotated[Name | None, Field(description="Of this tool alone.")] = None


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
    return {"id": kept.id, "path": _path_of(kept)}


def _path_of(record: Experience) -> str:
    """Where its file is, from the root of the tree."""
    at, keys = record.metadata.context.timestamp, record.extra
    folder = _ROUTER.route({"outcome": record.outcome, "tool": record.tool, **keys}).folder
    return f"{folder}/{file_name(at, record.summary, record.id[-12:], record.content)}"


def _experiences(ask: Ask, filters: Mapping[str, Any]) -> Iterator[Experience]:
    asked = {"kind": "experience", "limit": limits.PAGE_RECORDS_MAX, **filters}
    for _ in range(0, limits.BTB_LOOKED_AT_MAX, limits.PAGE_RECORDS_MAX):
        page = ask("care.page", **asked)
        yield from page.records
        if page.next is None:
            return
        asked["cursor"] = page.next


def _recall(ask: Ask, given: BtbRecall) -> Any:
    filters = {name: each for name in ("outcome", "tool") if (each := getattr(given, name))}
    # from the root on: callers write a glob with the root's folders before it, or without
    below = dropwhile(
        lambda segment: segment != INTAKE and set("=*?[").isdisjoint(segment),
        (given.pattern or "").split("/"),
    )
    glob = Glob("/".join(below) or given.pattern) if given.pattern else None
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
    recent = (_memory(record) for record in found.recent if isinstance(record, Experience))
    return reflected(found, recent, standard_folders())


def _recalled_text(given: Any) -> str:
    lines = [
        f"{each['_path']} ({each['timestamp']}): {each['content']}" for each in given["memories"]
    ]
    return as_data(lines) if lines else "Nothing here has these keys."


def _btb_tool(
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
        lambda ask, arguments: run(ask, parse(takes, dict(arguments))),
        words,
    )


BTB_TOOLS: Final[Mapping[str, Tool]] = {
    "btb_remember": _btb_tool(
        "Keep a memory",
        "Keep a memory under its outcome, tool and key (as remember does). Returns its id and "
        "path.",
        "write",
        BtbRemember,
        _remember,
        lambda given: f"Kept as {given['path']} ({given['id']}).",
    ),
    "btb_recall": _btb_tool(
        "Memories with these keys",
        "Memories that have these keys, or whose path matches a glob, newest first. To search "
        "by words, use recall.",
        "read",
        BtbRecall,
        _recall,
        _recalled_text,
    ),
    "btb_reflect": _btb_tool(
        "What the memories add up to",
        "Totals, where failures and successes pile up, the newest memories, and sentences. "
        "Takes nothing.",
        "read",
        Nothing,
        _reflect,
        lambda given: as_data([f"{given['total_memories']} memories", *given["insights"]]),
    ),
    "btb_map": _btb_tool(
        "The map",
        "The tree of memories as text, with a count and share for each branch. Takes nothing.",
        "read",
        Nothing,
        lambda ask, _: {"map": cut_lines(views.map_text(_DRAWING, ask("topology")))},
        lambda given: as_data(CODE_INDENT + line for line in given["map"].splitlines()),
    ),
    "btb_hotspots": _btb_tool(
        "Where memories pile up",
        "Places that hold at least a share (`threshold`) of what lies above them, the largest "
        "first.",
        "read",
        BtbHotspots,
        lambda ask, given: {
            "hotspots": ask(
                "tree.hotspots", share=given.threshold, limit=given.limit, tool=given.tool
            )
        },
        lambda given: words_of("tree.hotspots", given["hotspots"]),
    ),
    "btb_derive": _btb_tool(
        "The schema behind paths",
        "The schema that files packets where these paths lie: each key=value folder becomes a "
        "level.",
        "read",
        BtbDerive,
        lambda _, given: {"schema": dict(Coherence.derive(given.paths))},
        lambda given: cut_lines(json.dumps(given["schema"], indent=1)),
    ),
    "btb_schema": _btb_tool(
        "The schema in use",
        "Which keys are asked for, in which order, and the values that each may have. Takes "
        "nothing.",
        "read",
        Nothing,
        lambda _, __: {"schema": dict(_ROUTER.schema)},
        lambda given: json.dumps(given["schema"], indent=1),
    ),
    "btb_transmit": _btb_tool(
        "Where a packet belongs",
        "The path that a packet with these keys would have. Nothing is written: btb_remember "
        "does that.",
        "read",
        BtbTransmit,
        lambda _, given: {"path": _ROUTER.transmit(given.packet).removeprefix(f"{_ROUTER.root}/")},
        lambda given: cut_lines(given["path"]),
    ),
}
