"""The tools that a model is offered: made from the operations, with what a model has to know to use
each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.mcp import answers as text
from hardwon.surfaces.mcp.answers import fit
from hardwon.surfaces.operations import OPERATIONS, Arguments, jsonable, schema_of
from hardwon.trust.access import Scope

LEFT_OUT: Final = "left_out"
_WRAPPED: Final = "result"
_OF_NO_USE_IN: Final = frozenset({"title"})
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
    tool = Tool(
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
    return str(found.tool), tool


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
            text.hits,
        ),
        _tool(
            "advise",
            "Ask before doing it",
            "Call this right before a risky or repeated action with the very command or change as "
            "`action`, and the `error` it is to get rid of. Returns a verdict: ok; caution; or "
            "blocked, when the same action failed the same way before. Where it is blocked, do "
            "something else: `worked_instead` says what helped in similar cases.",
            text.advice,
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
            text.confirm_kept,
        ),
        _tool(
            "record_fix",
            "Keep an attempt at a fix",
            "Record that you tried to fix an issue: the `issue` (model, issue_type, description), "
            "whether the fix was applied (fix_success), whether it was verified to work, and what "
            "was done (fix_commands: kept as text, never run). Record fixes that failed too: they "
            "keep others from trying them again. Returns the record.",
            text.confirm_kept,
        ),
        _tool(
            "record_episode",
            "Keep a scored attempt at a task",
            "Record one whole attempt at a task with a score from 0 to 1, the mistakes and what "
            "went well. Rules are learned from episodes of the same task_id, so use the same one "
            "each time. Returns the record.",
            text.confirm_kept,
        ),
        _tool(
            "record_fact",
            "Keep a fact",
            "Record one sentence that stands alone: no 'it', no 'yesterday', names spelled out. "
            "fact_type says whether it is an error, a solution, an observation or a decision. "
            "Returns the record with the names that were found in it.",
            text.confirm_kept,
        ),
        _tool(
            "record_trajectory",
            "Keep what was done step by step",
            "Record a task with its steps in order (action, observation, reward) and a "
            "final_reward; from 0.5 on it counts as solved. Use it where the order of steps "
            "matters; for a single action use remember. Returns the record.",
            text.confirm_kept,
        ),
        _tool(
            "credit",
            "Say whether what was recalled helped",
            "After you used something that recall or context gave you, pass its ids with outcome "
            "true if it helped and false if it misled you. What helps is found first next time. "
            "Returns the ids that were credited.",
            text.confirm_credited,
        ),
        _tool(
            "similar_issues",
            "Find earlier fixes of an issue",
            "Before you fix an issue, pass it (model, issue_type, description, error_output). "
            "Returns earlier attempts in three lists: of the very same issue, of the same model and"
            " type, of the same type; what was verified to work comes first.",
            text.similar,
        ),
        _tool(
            "model_insights",
            "What is known of a model",
            "Pass the name of a model whose output is being fixed. Returns how often fixes for it "
            "worked, its common issues, what helped, and how it compares with others.",
            text.insights,
        ),
        _tool(
            "rules",
            "Rules that were learned",
            "What to do and what to avoid, learned from scored episodes. Pass task_id for those of "
            "one task. Active rules are borne out; candidates are not yet; retired ones no longer "
            "hold. Returns each with the episodes for and against it.",
            text.rules,
        ),
        _tool(
            "verify",
            "Confirm a record",
            "Say that something independent confirmed a record: a test that passed, a compiler, a "
            "person who approved. `by` says what, `verification_id` which run or approval it was. "
            "Do not confirm your own guess. Returns the record with its new status.",
            text.confirm_decided,
        ),
        _tool(
            "archive",
            "Take a record out of use",
            "Say that a record is no longer true, and why. It is no longer recalled, and stays in "
            "the audit. Returns the record.",
            text.confirm_decided,
        ),
        _tool(
            "reflect",
            "What the memory adds up to",
            "An overview in words: totals by outcome and tool, where failures gather, what goes "
            "well, the newest records. Takes nothing.",
            text.reflection,
        ),
        _tool(
            "topology",
            "The map of the memory",
            "The tree of experiences by outcome, tool and key, with a count for each branch. Takes "
            "nothing. Use hotspots for the largest places alone.",
            text.topology,
            rest="hotspots names the largest places",
        ),
        _tool(
            "tree.hotspots",
            "Where experiences pile up",
            "Places in the map that hold at least `share` of what lies above them, the largest "
            "first: where most failures are, for example.",
            text.hotspots,
            rest="ask with a higher share or a smaller limit",
        ),
        _tool(
            "stats",
            "How much there is",
            "Counts by kind, outcome, tool, status and author, the time span, and where the memory "
            "is. Takes nothing.",
            text.stats,
            rest="recall with an author or a tool looks at the others",
        ),
    )
)


def answer_of(tool: Tool, given: Any) -> tuple[dict[str, Any], str]:
    """What a tool gave, in a size that a model can read: as JSON, and in words."""
    found = jsonable(given)
    whole = {_WRAPPED: found} if _is_wrapped(tool.gives) else found
    value, left_out = fit(whole, limits.TOOL_RESULT_CHARS_MAX, tool.whole)
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
    schema: dict[str, Any] = _lean(takes.model_json_schema(), _OF_NO_USE_IN)
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
