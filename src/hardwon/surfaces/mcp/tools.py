"""The tools that a model is offered: made from the operations, with what a model has to know to use
each of them, and what they answer.

What is too long for a model to read is cut (long texts, long lists, deep trees), and it is said
what was left out. Beside its structured result a tool answers in words: short, and with the ids that
the next call may need. Text that somebody recorded stands there between the same fence lines as in
a context, and is a clean text of its own in what is structured: it is data, whatever it says.

At the end, the tool names of the BTB memory server, for agents that were told to call them:
`hardwon mcp --btb`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, dropwhile, islice
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field

from hardwon import limits
from hardwon.learn.fixes import ModelInsights
from hardwon.learn.rules import Rule
from hardwon.learn.topology import Branch, Hotspot, Reflection
from hardwon.memory.ask import Stats, advice_text, as_data
from hardwon.memory.results import SimilarIssues
from hardwon.records.fields import JsonObject, Name, Scalar, Text, Texts, Unit
from hardwon.records.kinds import INTAKE, AnyRecord, Experience, Outcome
from hardwon.search.rank import Hit, headline
from hardwon.surfaces.cli.views import (
    Line,
    Look,
    hit_lines,
    hotspot_lines,
    map_lines,
    model_lines,
    one_line,
    outcome_of,
    reflection_lines,
    render,
    stats_lines,
)
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.operations import (
    OPERATIONS,
    Arguments,
    Nothing,
    Remember,
    jsonable,
    parsed,
    schema_of,
)
from hardwon.text.clean import CODE_INDENT, CUT, clean_text
from hardwon.text.globs import Glob
from hardwon.tree.routing import Coherence, file_name
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

_LOOK: Final = Look(width=limits.TOOL_TEXT_WIDTH)
_MAP_LOOK: Final = Look(width=100)


def _shown(lines: Sequence[Line], known: object = True) -> str:
    """Lines as a terminal has them; fenced, unless nothing is known that others wrote."""
    text = render(lines)
    return as_data(line for line in text.split("\n") if line.strip()) if known else text.strip()


def confirm_kept(record: AnyRecord) -> str:
    names = ", ".join(record.redacted or ())
    redacted = f" Taken out before it was kept: {names}." if names else ""
    return f"Kept {record.kind} {record.id} ({record.metadata.validation.status}).{redacted}"


def confirm_decided(record: AnyRecord) -> str:
    return f"{record.kind} {record.id} is now {record.metadata.validation.status}."


def confirm_credited(ids: list[str]) -> str:
    return (
        cut_lines(f"Credited {len(ids)}:\n" + "\n".join(ids))
        if ids
        else "Nothing was credited: no record has one of these ids."
    )


def hits(found: Sequence[Hit]) -> str:
    return _shown(hit_lines(found, _LOOK)) if found else "Nothing here answers that."


def similar(found: SimilarIssues) -> str:
    lines: list[str] = []
    seen: set[str] = set()
    for title, fixes in (
        ("the same issue", found.exact),
        ("this model and issue type", found.model),
        ("this issue type", found.type),
    ):
        new = [fix for fix in fixes if fix.id not in seen]
        seen |= {fix.id for fix in new}
        lines += [f"{len(new)} of {title}:"] if new else []
        for fix in new:
            commands = " ; ".join(fix.fix_commands)
            done = one_line(commands or fix.analysis or "(nothing was said)", _LOOK)
            day = f"{fix.metadata.context.timestamp:%Y-%m-%d}"
            lines.append(f"  {outcome_of(fix)}, {day}, {fix.id}: {headline(fix)} | done: {done}")
    return as_data(lines) if lines else "No such issue was fixed here before."


def insights(found: ModelInsights) -> str:
    return _shown(model_lines(found, _LOOK), found.total_tests)


def rules(found: Sequence[Rule]) -> str:
    lines = [
        f"{rule} ({rule.state}, {rule.trust}, {rule.task_id or 'all tasks'}; {rule.helpful} for, "
        f"{rule.harmful} against; evidence {', '.join(rule.evidence[:3]) or 'none'})"
        for rule in found
    ]
    return as_data(lines) if lines else "No rule was learned yet."


def reflection(found: Reflection) -> str:
    return _shown(reflection_lines(found, _LOOK))


def topology(found: Branch) -> str:
    return _map(render(map_lines(found, _MAP_LOOK)))


def _map(text: str) -> str:
    """Its blanks say what lies where."""
    return as_data(CODE_INDENT + line for line in text.splitlines())


def hotspots(found: Sequence[Hotspot]) -> str:
    return _shown(hotspot_lines(found, _MAP_LOOK), found)


def stats(found: Stats) -> str:
    """Authors and tools are named as they named themselves."""
    return _shown(stats_lines(found, _MAP_LOOK))


def record_lines(records: Iterable[AnyRecord]) -> list[str]:
    return [
        f"{record.kind}, {record.metadata.validation.status}, "
        f"{record.metadata.context.timestamp:%Y-%m-%d}, "
        f"by {record.metadata.source.author}, {record.id}: "
        f"{one_line(headline(record), _LOOK)[: limits.TOOL_TEXT_WIDTH]}"
        for record in records
    ]


# --- tools ---

LEFT_OUT: Final = "left_out"
_WRAPPED: Final = "result"
# A list of tools goes into every conversation: what a tool's description says already, and bounds
# on what comes out, do not. Texts that were cut would break some of them, too.
_OF_NO_USE_OUT: Final = frozenset(
    {
        "title",
        "description",
        "examples",
        "default",
        "maxLength",
        "minLength",
        "maxItems",
        "maxProperties",
        "pattern",
    }
)


class Tool(NamedTuple):
    """`description` says when to call it, with what, and what comes back; `scope` is what the
    operations that it asks take; `run` gives the answer, and `words` makes its text; `whole` are
    keys of the answer that are never cut; `rest` tells how to get what was left out.
    """

    title: str
    description: str
    scope: Scope
    takes: type[Arguments]
    gives: Any
    run: Callable[[Ask, Mapping[str, Any]], Any]
    words: Callable[[Any], str]
    whole: frozenset[str] = frozenset()
    rest: str = "read hardwon://record/{id} for a whole record"
    destructive: bool = False

    @property
    def reads(self) -> bool:
        return self.scope == "read"


def _tool(
    name: str, title: str, description: str, words: Callable[[Any], str], **more: Any
) -> tuple[str, Tool]:
    """The tool of an operation, under its name."""
    found = OPERATIONS[name]
    return str(found.tool), Tool(
        title,
        description,
        found.scope,
        found.takes,
        found.gives,
        lambda ask, arguments: ask(name, **arguments),
        words,
        destructive=found.destructive,
        **more,
    )


# In the order in which a model should read them.
TOOLS: Final[Mapping[str, Tool]] = dict(
    (
        _tool(
            "context",
            "What to know before starting",
            "Call this first, before you work on a task or an error. Pass the task or the error as "
            "`query`, and `task_id` or `issue` if there is one. Returns text for your prompt: what "
            "worked, what failed, rules that were learned, within `budget_tokens`. Keep the ids of "
            "`hits`: pass them as `recalled` when you record how it went, or to credit.",
            lambda found: str(found.text),
            whole=frozenset({"text"}),
        ),
        _tool(
            "recall",
            "Search the memory",
            "Find records that answer a question: an error message, a task, a few words. Narrow it "
            "by kind, outcome, tool, task_id, model, tag, author, time or file path. Returns the "
            "best `k` first, each with its record, score, and whether files that it is about have "
            "changed since (stale). Records with the status hypothesis were confirmed by nobody yet.",
            hits,
        ),
        _tool(
            "advise",
            "Ask before doing it",
            "Call this right before a risky or repeated action with the very command or change as "
            "`action`, and the `error` it is to get rid of. Returns a verdict: ok; caution; or "
            "blocked, when the same action failed the same way before. Where it is blocked, do "
            "something else: `worked_instead` says what helped in similar cases.",
            advice_text,
            whole=frozenset({"message"}),
        ),
        _tool(
            "remember",
            "Keep an experience",
            "Record how one action turned out, as soon as you know: outcome success, failure, "
            "learning or interaction, and the tool. A success of code_interpreter needs task_type, "
            "of web_search domain; a failure of code_interpreter needs error_type, of web_search "
            "reason; a learning needs insight_type, an interaction sentiment. Failures are worth as"
            " much as successes. Returns the record with its id. Secrets are taken out before it is"
            " kept.",
            confirm_kept,
        ),
        _tool(
            "record_fix",
            "Keep an attempt at a fix",
            "Record that you tried to fix an issue: the `issue` (model, issue_type, description), "
            "whether the fix was applied (fix_success), whether it was verified to work, and what "
            "was done (fix_commands: kept as text, never run). Record fixes that failed too: they "
            "keep others from trying them again. Returns the record.",
            confirm_kept,
        ),
        _tool(
            "record_episode",
            "Keep a scored attempt at a task",
            "Record one whole attempt at a task with a score from 0 to 1, the mistakes and what "
            "went well. Rules are learned from episodes of the same task_id, so use the same one "
            "each time. Returns the record.",
            confirm_kept,
        ),
        _tool(
            "record_fact",
            "Keep a fact",
            "Record one sentence that stands alone: no 'it', no 'yesterday', names spelled out. "
            "fact_type says whether it is an error, a solution, an observation or a decision. "
            "Returns the record with the names that were found in it.",
            confirm_kept,
        ),
        _tool(
            "record_trajectory",
            "Keep what was done step by step",
            "Record a task with its steps in order (action, observation, reward) and a "
            "final_reward; from 0.5 on it counts as solved. Use it where the order of steps "
            "matters; for a single action use remember. Returns the record.",
            confirm_kept,
        ),
        _tool(
            "credit",
            "Say whether what was recalled helped",
            "After you used something that recall or context gave you, pass its ids with outcome "
            "true if it helped and false if it misled you. What helps is found first next time. "
            "Returns the ids that were credited.",
            confirm_credited,
        ),
        _tool(
            "similar_issues",
            "Find earlier fixes of an issue",
            "Before you fix an issue, pass it (model, issue_type, description, error_output). "
            "Returns earlier attempts in three lists: of the very same issue, of the same model and"
            " type, of the same type; what was verified to work comes first.",
            similar,
        ),
        _tool(
            "model_insights",
            "What is known of a model",
            "Pass the name of a model whose output is being fixed. Returns how often fixes for it "
            "worked, its common issues, what helped, and how it compares with others.",
            insights,
        ),
        _tool(
            "rules",
            "Rules that were learned",
            "What to do and what to avoid, learned from scored episodes. Pass task_id for those of "
            "one task. Active rules are borne out; candidates are not yet; retired ones no longer "
            "hold. Returns each with the episodes for and against it.",
            rules,
        ),
        _tool(
            "verify",
            "Confirm a record",
            "Say that something independent confirmed a record: a test that passed, a compiler, a "
            "person who approved. `by` says what, `verification_id` which run or approval it was. "
            "Do not confirm your own guess. Returns the record with its new status.",
            confirm_decided,
        ),
        _tool(
            "archive",
            "Take a record out of use",
            "Say that a record is no longer true, and why. It is no longer recalled, and stays in "
            "the audit. Returns the record.",
            confirm_decided,
        ),
        _tool(
            "reflect",
            "What the memory adds up to",
            "An overview in words: totals by outcome and tool, where failures gather, what goes "
            "well, the newest records. Takes nothing.",
            reflection,
        ),
        _tool(
            "topology",
            "The map of the memory",
            "The tree of experiences by outcome, tool and key, with a count for each branch. Takes "
            "nothing. Use hotspots for the largest places alone.",
            topology,
            rest="hotspots names the largest places",
        ),
        _tool(
            "tree.hotspots",
            "Where experiences pile up",
            "Places in the map that hold at least `share` of what lies above them, the largest "
            "first: where most failures are, for example.",
            hotspots,
            rest="ask with a higher share or a smaller limit",
        ),
        _tool(
            "stats",
            "How much there is",
            "Counts by kind, outcome, tool, status and author, the time span, and where the memory "
            "is. Takes nothing.",
            stats,
            rest="recall with an author or a tool looks at the others",
        ),
    )
)


def answer_of(tool: Tool, given: Any) -> tuple[dict[str, Any], str]:
    """What a tool gave, in a size that a model can read: as JSON, and in words."""
    found = jsonable(given)
    whole = {_WRAPPED: found} if _is_wrapped(tool.gives) else found
    value, left_out = fit(clean_json(whole, tool.whole), limits.TOOL_RESULT_CHARS_MAX, tool.whole)
    words = tool.words(given)
    if left_out:
        narrower = [name for name in ("k", "limit") if name in tool.takes.model_fields]
        ways = [f"ask with a smaller {name}" for name in narrower] + [tool.rest]
        note = f"Left out to keep this short: {left_out}. For the rest: {', or '.join(ways)}."
        value = {**value, LEFT_OUT: note}
        words = words if "text" in tool.whole else f"{words}\n{note}"
    return value, words


@cache
def input_schema(takes: type[Arguments]) -> dict[str, Any]:
    """What has to be given comes first."""
    schema: dict[str, Any] = _lean(takes.model_json_schema(), frozenset({"title"}))
    required = schema.get("required", ())
    fields = sorted(
        schema.get("properties", {}).items(), key=lambda field: field[0] not in required
    )
    return {**schema, "properties": dict(fields)}


@cache
def output_schema(gives: Any) -> dict[str, Any]:
    """An object, whatever the operation gives: lists and records of any kind are under `result`."""
    if gives is dict:
        return {"type": "object"}
    schema = _lean(schema_of(gives), _OF_NO_USE_OUT)
    schema.pop("additionalProperties", None)  # left_out may stand beside the fields
    definitions = schema.pop("$defs", {})
    if _is_wrapped(gives):
        schema = {"type": "object", "properties": {_WRAPPED: schema}, "required": [_WRAPPED]}
    elif "$ref" in schema:
        schema = dict(definitions[schema["$ref"].rpartition("/")[2]])
    note = {
        "type": "string",
        "description": "What was left out to keep this short, and how to get it. Absent where "
        "nothing was.",
    }
    properties = {**schema.get("properties", {}), LEFT_OUT: note}
    return {**schema, "properties": properties, **({"$defs": definitions} if definitions else {})}


@cache
def _is_wrapped(gives: Any) -> bool:
    schema = schema_of(gives)
    return schema.get("type") != "object" and "$ref" not in schema


def _lean(schema: Any, of_no_use: frozenset[str]) -> Any:
    """A schema without what only takes a reader's time. Below `properties` and `$defs` the keys are
    names.
    """
    if isinstance(schema, list):
        return [_lean(inner, of_no_use) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _lean(inner, of_no_use) for name, inner in value.items()}
        if key in ("properties", "$defs") and isinstance(value, dict)
        else value
        if key in ("examples", "default", "const", "enum")
        else _lean(value, of_no_use)
        for key, value in schema.items()
        # which keys go together is checked here
        if key not in of_no_use and not (key == "anyOf" and "properties" in schema)
    }


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
        lambda ask, arguments: run(ask, parsed(takes, dict(arguments))),
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
        lambda ask, _: {"map": cut_lines(render(map_lines(ask("topology"), _MAP_LOOK)).rstrip())},
        lambda given: _map(given["map"]),
    ),
    "btb_hotspots": _btb_tool(
        "Where memories pile up",
        "Places that hold at least a share (`threshold`) of what lies above them, the largest "
        "first.",
        "read",
        BtbHotspots,
        lambda ask, given: {
            "hotspots": ask("tree.hotspots", share=given.threshold, limit=given.limit)
        },
        lambda given: hotspots(given["hotspots"]),
    ),
    "btb_derive": _btb_tool(
        "The schema behind paths",
        "The schema that files packets where these paths lie: each key=value folder becomes a "
        "level.",
        "read",
        BtbDerive,
        lambda _, given: {"schema": Coherence.derive(given.paths)},
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
