"""The tools that a model is offered, and what they answer.

A list of tools goes into every conversation, so by default there are few (`USUAL`): one call before
an attempt, one after it, one to search. They answer with a few plain lines and the ids in them. The
others (`TOOLS`, with `--tools all`) are the operations as they are declared: each takes what the
operation takes, says it in words, and has all of it as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from hardwon import limits
from hardwon.lessons.lesson import EVIDENCE_SHOWN_MAX
from hardwon.memory.ask import advice_text
from hardwon.records.fields import Text, check_that
from hardwon.records.kinds import ROUTES
from hardwon.surfaces.arguments import Arguments, Ids, Remember
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.mcp.cut import clean_json, fit
from hardwon.surfaces.mcp.words import NOTHING_KNOWN, describe_answer
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.shapes import jsonable, make_schema, parse
from hardwon.trust.access import Scope

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
    whole: frozenset[str] = frozenset({"text", "message"})
    destructive: bool = False

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.scope == "read"


class ShortAnswer(NamedTuple):
    """What a usual tool answers: a few lines, and the ids of the records in them."""

    text: str
    ids: tuple[str, ...] = ()


def _make_tool(operation: Operation) -> Tool:
    """An operation as it is declared."""

    def run(ask: Ask, arguments: Mapping[str, Any]) -> Any:
        """What the operation gives."""
        return ask(operation.name, **arguments)

    return Tool(
        str(operation.tool).replace("_", " ").capitalize(),
        operation.description,
        operation.scope,
        operation.takes,
        operation.gives,
        run,
        partial(describe_answer, operation.name),
        destructive=operation.destructive,
    )


_WHAT_HAPPENED: Final = "What was done and what came of it, for a reader who was not there."


class Before(Arguments):
    """What is about to be done; something of it has to be said."""

    task: Annotated[
        Text | None, Field(description="What you are about to do.", examples=["deploy the shop"])
    ] = None
    error: Annotated[Text | None, Field(description="The error to get rid of, as seen.")] = None
    action: Annotated[Text | None, Field(description="The very command, to be warned.")] = None


class After(Arguments):
    """What was done, and how it turned out."""

    happened: Annotated[
        Text, Field(description=_WHAT_HAPPENED, examples=["make deploy needs AWS_REGION"])
    ]
    outcome: Annotated[
        Literal["success", "failure", "learning"],
        Field(description="How it turned out.", examples=["failure"]),
    ]
    task: Annotated[Text | None, Field(description="What it was for.")] = None
    action: Annotated[Text | None, Field(description="The very command or change.")] = None
    error: Annotated[Text | None, Field(description="As seen; of a success, what it mended.")] = (
        None
    )
    recalled: Annotated[Ids | None, Field(description="Ids from before or search.")] = None


def _ask_before(ask: Ask, arguments: Mapping[str, Any]) -> ShortAnswer:
    before: Before = parse(Before, dict(arguments))
    asked = {name: text for name, text in before.keywords().items() if text and text.strip()}
    check_that(asked, "task", before.task, "a task, an error or an action")
    about = "\n".join(asked[name] for name in ("task", "error") if name in asked)
    context = ask("context", query=about or asked["action"])
    lines, ids = [context.text] if context.text else [], context.ids
    if "action" in asked:
        advice = ask("advise", **asked)
        if advice.verdict != "unknown":
            lines.insert(0, advice_text(advice))
            ids += advice.evidence
    ids = list(dict.fromkeys(ids))[:EVIDENCE_SHOWN_MAX]
    lines += [f"For `recalled`: {', '.join(ids)}"] if ids else []
    return ShortAnswer("\n".join(lines) or NOTHING_KNOWN, tuple(ids))


# An experience without a command has no tool that anybody named.
_WITHOUT_ACTION: Final[Mapping[str, Mapping[str, str]]] = {
    "success": {"tool": "conversation"},
    "failure": {"tool": "unknown"},
    "learning": {"insight_type": "fact"},
}


def _tell_after(ask: Ask, arguments: Mapping[str, Any]) -> ShortAnswer:
    after: After = parse(After, dict(arguments))
    envelope = {"recalled": after.recalled} if after.recalled else {}
    task, worked = after.task or after.action, after.outcome == "success"
    if task and after.outcome != "learning":
        seen = after.happened if worked else f"{after.error or ''}\n{after.happened}".strip()
        steps = [{"action": after.action or after.happened, "observation": seen, "ok": worked}]
        if worked and after.error:
            steps.insert(0, {"action": "", "observation": after.error, "ok": False})
        content = {"task": task, "steps": steps, "final_reward": float(worked)}
        return _answer_shortly("record_trajectory", ask("record_trajectory", **content, **envelope))
    parts = (after.happened, after.error, after.task, after.action)
    content = {
        "content": "\n".join(part for part in parts if part),
        "outcome": after.outcome,
        **_WITHOUT_ACTION[after.outcome],
    }
    return _answer_shortly("remember", ask("remember", **content, **envelope))


def _answer_shortly(name: str, answer: Any) -> ShortAnswer:
    """What an operation gave, in words, and the ids of the records in it."""
    ids = []
    for part in answer if isinstance(answer, list) else [answer]:
        record = getattr(part, "record", part)
        ids.append(part if isinstance(part, str) else getattr(record, "id", ""))
    return ShortAnswer(describe_answer(name, answer), tuple(filter(None, ids)))


def _make_usual(
    title: str, description: str, scope: Scope, takes: type[Arguments], run: Any, *fields: str
) -> Tool:
    return Tool(title, description, scope, takes, ShortAnswer, run, attrgetter("text"), fields)


def _shorten(name: str, title: str, description: str, *fields: str) -> tuple[str, Tool]:
    """An operation of which a model is told these fields, and answered in words."""
    operation = OPERATIONS[name]

    def run(ask: Ask, arguments: Mapping[str, Any]) -> ShortAnswer:
        """What the operation gives."""
        return _answer_shortly(name, ask(name, **arguments))

    tool = _make_usual(title, description, operation.scope, operation.takes, run, *fields)
    return str(operation.tool), tool


# In the order in which a model should read them.
USUAL: Final[Mapping[str, Tool]] = {
    "before": _make_usual(
        "Ask before you start",
        "Call this first: before a task, after an error, before a command that may fail. Says what "
        "worked here, what failed and what made it go away, and warns of what failed the same way.",
        "read",
        Before,
        _ask_before,
    ),
    "after": _make_usual(
        "Tell how it went",
        "Call this when you know how something turned out, failures too, or learned what others "
        "need to know. Secrets are taken out.",
        "write",
        After,
        _tell_after,
    ),
    **dict(
        (
            _shorten(
                "recall",
                "Search the memory",
                "Records that answer a question, the best first. A hypothesis is unverified; of "
                "what is stale, files have changed since.",
                *("query", "k", "kind", "outcome", "task_id", "author", "since", "path"),
            ),
            _shorten("get", "Show a record", "All of a record, by its id.", "record_id"),
            _shorten(
                "credit",
                "Say whether it helped",
                "Whether what before or search gave you helped or misled you. What helps is found first next time.",
            ),
            _shorten(
                "verify",
                "Confirm a record",
                "Something independent confirmed it: a test, a compiler, a person. Never your own guess.",
            ),
            _shorten(
                "archive",
                "Take a record out of use",
                "It is no longer true. It is not recalled any more, and stays in the audit.",
            ),
        )
    ),
}
TOOLS: Final[Mapping[str, Tool]] = {
    **USUAL,
    **{
        operation.tool: _make_tool(operation) for operation in OPERATIONS.values() if operation.tool
    },
}


def make_answer(tool: Tool, answer: Any) -> tuple[dict[str, Any], str]:
    """What a tool gave, in a size that a model can read: as JSON, and in words."""
    shape = jsonable(answer, origins=True)
    shape = {_WRAPPED: shape} if _is_wrapped(tool.gives) else shape
    value, left_out = fit(clean_json(shape, tool.whole), limits.TOOL_RESULT_CHARS_MAX, tool.whole)
    words = tool.words(answer)
    if left_out:
        narrower = [name for name in ("k", "limit") if name in tool.takes.model_fields]
        ways = [*(f"ask with a smaller {name}" for name in narrower), "show has a whole record"]
        note = f"Left out to keep this short: {left_out}. For the rest: {', or '.join(ways)}."
        value = {**value, LEFT_OUT: note}
        words = words if "text" in value else f"{words}\n{note}"
    return value, words


@cache
def input_schema(tool: Tool) -> dict[str, Any]:
    """What it takes, as a JSON Schema. What has to be given comes first."""
    schema: dict[str, Any] = _trim(tool.takes.model_json_schema())
    fields = schema.get("properties", {})
    if tool.fields:
        fields = {name: fields[name] for name in tool.fields}
        schema.pop("$defs", None)
    if issubclass(tool.takes, Remember):  # what outcomes require, and with which tool
        for route in filter(None, ROUTES.values()):
            fields[route[0]]["enum"] = list(route[1])
        fields["tool"]["enum"] = sorted({name for _, name in ROUTES if name})
    required = schema.get("required", ())
    first = sorted(fields, key=lambda name: name not in required)
    return {**schema, "properties": {name: fields[name] for name in first}}


def output_schema(tool: Tool) -> dict[str, Any]:
    """An object, whatever the operation gives: lists and records of any kind are under `result`.
    What lies deeper, the documentation of the operation tells.
    """
    if _is_wrapped(tool.gives):
        return {"type": "object", "properties": {_WRAPPED: {}}, "required": [_WRAPPED]}
    properties = {
        name: {"type": field["type"]} if "type" in field else {}
        for name, field in _find_schema(tool.gives).get("properties", {}).items()
    }
    return {"type": "object", **({"properties": properties} if properties else {})}


@cache
def _find_schema(gives: Any) -> dict[str, Any]:
    schema = make_schema(gives)
    name = schema.get("$ref", "").rpartition("/")[2]
    return schema["$defs"][name] if name else schema


def _is_wrapped(gives: Any) -> bool:
    return _find_schema(gives).get("type") != "object"


# A list of tools goes into every conversation. Bounds on texts and examples do not: what breaks one
# is told when it is called.
_OF_NO_USE: Final = frozenset(
    {"title", "examples", "maxLength", "minLength", "maxItems", "maxProperties"}
)


def _trim(schema: Any) -> Any:
    """A schema without what only takes a reader's time. What may be absent need not be null."""
    if isinstance(schema, list):
        return [_trim(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    trimmed: dict[str, Any] = {}
    for key, value in schema.items():
        is_empty_default = key == "default" and value in (None, [], {}, "")
        # which keys go together is checked here
        if key in _OF_NO_USE or is_empty_default or (key == "anyOf" and "properties" in schema):
            continue
        if key in ("properties", "$defs") and isinstance(value, dict):  # whose keys are names
            trimmed[key] = {name: _trim(inner) for name, inner in value.items()}
        else:
            trimmed[key] = value if key in ("default", "const", "enum") else _trim(value)
    choices = [choice for choice in trimmed.pop("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **trimmed}
    return {"anyOf": choices, **trimmed} if choices else trimmed
