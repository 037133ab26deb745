"""What operations take from callers elsewhere, as models that check it.

Which fields those are, and their defaults, the signature of `Memory`'s method says
(`make_arguments`). What is recorded takes and means what the field of the record does; what any
other field takes and means is written here once, whichever methods have it. What is said in another
way than `Memory` has it is a class.

A caller names neither an author nor a project: both come with the token. Files are named with their
hash: the server does not look at its own.

Annotations are not postponed here: pydantic would have to evaluate each of them before any command
could start.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from pkgutil import get_data
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.lessons.lesson import LessonKind
from hardwon.memory.care import Per
from hardwon.records import kinds
from hardwon.records.fields import (
    Flag,
    JsonObject,
    Model,
    Name,
    Names,
    RecordId,
    Scalar,
    Text,
    Time,
    Unit,
)
from hardwon.search.terms import Narrowing

# Of an issue, what has an option or a field of its own.
ISSUE_FIELDS: Final = ("model", "issue_type", "description", "error_output")
EXAMPLE_ID: Final = "0198c0de-0000-7000-8000-000000000001"
_OTHER_ID: Final = "0198c0de-0000-7000-8000-000000000002"
EXAMPLE_LESSON_ID: Final = "k3f9ab"
_A_DAY: Final = "2026-11-01T00:00:00Z"
# Of what is recorded: a whole record, and fields of each kind.
_EXAMPLES: Final[Mapping[str, Any]] = json.loads(get_data(__name__, "examples.json") or b"")

Ids = Annotated[
    list[RecordId],
    Field(max_length=limits.ITEMS_MAX, description="Ids of records.", examples=[[EXAMPLE_ID]]),
]
Days = Annotated[float, Field(ge=0, le=limits.DAYS_MAX)]
OwnKeys = Annotated[
    dict[Name, Scalar], Field(max_length=limits.ITEMS_MAX, description="Keys of your own.")
]
AnyRecordJson = Annotated[
    JsonObject,
    Field(
        description="A record as the documentation of records has it, with its kind, or as the "
        "metadata schema has it.",
        examples=[_EXAMPLES["record"]],
    ),
]


def describe_as(record: type[Model], field: str, **more: Any) -> Any:
    """A field that means what a record's field of that name means."""
    return Field(description=record.model_fields[field].description, **more)


def _of_route(key: str, **more: Any) -> Any:
    """A field that is a key which an outcome and a tool are filed by."""
    return Field(description=kinds.ROUTING_KEYS[key], **more)


class Arguments(Model):
    """What an operation takes."""

    # a command, which runs once, waits for what it takes alone
    model_config = ConfigDict(defer_build=True)

    def keywords(self) -> dict[str, Any]:
        """What the caller gave, under the names that `Memory` has for it."""
        return {
            name: getattr(self, name)
            for name in type(self).model_fields
            if name in self.model_fields_set
        }


class Nothing(Arguments):
    """Takes nothing."""


class NamedSource(Model):
    """Where it came from; the author is the token's name."""

    type: Annotated[kinds.SourceType, describe_as(kinds.Source, "type")] = "agent_execution"
    id: Annotated[Name, describe_as(kinds.Source, "id")] = ""


class Enveloped(Arguments):
    """What every record may have besides its own fields."""

    tags: Annotated[Names, describe_as(kinds.Metadata, "tags", examples=[["uploads"]])] = []
    source: NamedSource = describe_as(kinds.Metadata, "source", default_factory=NamedSource)
    timestamp: Annotated[
        Time | None, Field(description="When it happened, with a zone; now where nobody says.")
    ] = None
    related_files: Annotated[
        list[kinds.RelatedFile],
        describe_as(kinds.Moment, "related_files", max_length=limits.ITEMS_MAX),
    ] = []
    git_commit: Annotated[Name, describe_as(kinds.Moment, "git_commit")] = ""
    git_branch: Annotated[Name, describe_as(kinds.Moment, "git_branch")] = ""
    failure_hash: Annotated[Name | None, describe_as(kinds.Validation, "failure_hash")] = None
    recalled: Annotated[Ids | None, describe_as(kinds.Record, "recalled")] = None

    def keywords(self) -> dict[str, Any]:
        """A source is told as a mapping, and no time as none."""
        named = super().keywords()
        if named.get("timestamp", "") is None:
            del named["timestamp"]
        if "source" in named:
            named["source"] = named["source"].model_dump()
        return named


class Remember(Enveloped):
    """An experience."""

    content: Annotated[
        Text,
        describe_as(
            kinds.Experience, "content", examples=["KeyError 'id' in login.py: the row was empty"]
        ),
    ]
    outcome: Annotated[
        kinds.OutcomeWord | None,
        Field(
            description="How it turned out; where nobody says, what the content tells.",
            examples=["failure"],
        ),
    ] = None
    tool: Annotated[
        Name | None, describe_as(kinds.Experience, "tool", examples=["code_interpreter"])
    ] = None
    summary: Annotated[Text | None, describe_as(kinds.Experience, "summary")] = None
    task_type: Annotated[Name | None, _of_route("task_type")] = None
    domain: Annotated[Name | None, _of_route("domain")] = None
    error_type: Annotated[Name | None, _of_route("error_type", examples=["runtime"])] = None
    reason: Annotated[Name | None, _of_route("reason")] = None
    insight_type: Annotated[Name | None, _of_route("insight_type")] = None
    sentiment: Annotated[Name | None, _of_route("sentiment")] = None
    keys: OwnKeys = {}

    def keywords(self) -> dict[str, Any]:
        """Keys of the caller's own beside the others."""
        for name in self.keys:
            if name == "author" or name in type(self).model_fields:
                raise InvalidInputError.one(
                    f"keys.{name}", self.keys[name], "keys that no record has already"
                )
        named = super().keywords()
        own = named.pop("keys", {})
        return {**own, **{name: value for name, value in named.items() if value is not None}}


class Add(Arguments):
    """A whole record."""

    record: AnyRecordJson


class AddMany(Arguments):
    """Whole records, which are kept together or not at all."""

    records: Annotated[
        list[AnyRecordJson],
        Field(
            min_length=1,
            max_length=limits.BATCH_ROWS,
            description="Records.",
            examples=[[_EXAMPLES["record"]]],
        ),
    ]


class Credit(Arguments):
    """What was recalled helped, or did not."""

    ids: Ids
    outcome: Annotated[
        Flag, Field(description="True: it helped. False: it did not.", examples=[True])
    ]

    def keywords(self) -> dict[str, Any]:
        """The ids under `Memory`'s name for them."""
        return {"context_or_ids": self.ids, "outcome": self.outcome}


class Filtered(Arguments, Narrowing):
    """What a question may be narrowed by; all that are given must hold."""


class Forget(Filtered):
    """What is to be erased for good: ids, or filters; not both."""

    ids: Annotated[Ids | None, Field(description="Ids of records.")] = None
    dry_run: Annotated[bool, Field(description="Only say what would go.")] = False

    def keywords(self) -> dict[str, Any]:
        """The ids, or the filters, under `Memory`'s names for them."""
        named = {name: value for name, value in super().keywords().items() if value is not None}
        ids = named.pop("ids", None)
        return named if ids is None else {"ids_or_filters": ids, **named}


# Keywords of `Memory` that a caller elsewhere has no say in, or that do not go over a wire.
NOT_SENT: Final = frozenset({"self", "author", "by", "progress", "count_tokens", "path"})


def _field(shape: Any, description: str, example: Any = None, **bounds: Any) -> Any:
    """What a keyword takes, and means."""
    examples = None if example is None else [example]
    return shape, Field(description=description, examples=examples, **bounds)


_FIELDS: Final[Mapping[str, tuple[Any, FieldInfo]]] = {
    "about": _field(
        Text, "A failure, in the words of its output, or some words.", "KeyError: 'id'"
    ),
    "lessons.kind": _field(LessonKind, "Of one kind alone."),
    "action": _field(Text, "The very command or change.", "pip install foo"),
    "as_of": _field(Time, "As it was believed then: a time with a zone.", _A_DAY),
    "as_schema": _field(bool, "As the metadata schema writes them."),
    "budget_tokens": _field(
        int, "The text has at most so many tokens.", ge=1, le=limits.CONTEXT_TOKENS_MAX
    ),
    "by_run": _field(bool, "Whether the episodes of a run count as one."),
    "cursor": _field(Text, "What the page before gave as its next."),
    "days": _field(int, "The last so many days.", ge=1, le=limits.FIX_DAYS_MAX),
    "decision_id": _field(
        RecordId, "The id of a decision, or of an event that changed a status.", EXAMPLE_ID
    ),
    "dry_run": _field(bool, "Only say what would happen."),
    "error": _field(Text, "The error, as it was seen."),
    "explain": _field(bool, "Also say why each line is there, and what was left out."),
    "fixer": _field(Name, "By this fixer."),
    "issue": _field(kinds.Issue, "An issue that is to be fixed."),
    "issue_type": _field(Name, "Of this issue type.", "TIMEOUT"),
    "k": _field(int, "How many.", ge=1, le=limits.SHOWN_MAX),
    "lesson_id": _field(Name, "A lesson's id, or its beginning.", EXAMPLE_LESSON_ID),
    "limit": _field(int, "How many at most.", ge=1, le=limits.SHOWN_MAX),
    "llm": _field(bool, "Also ask the LLM that the operator set up, if there is one, for rules."),
    "model": _field(Name, "Of this model."),
    "name": _field(Name, "The model.", "gpt-4"),
    "new_id": _field(RecordId, "The record that replaces it.", _OTHER_ID),
    "old_id": _field(RecordId, "The id of a record.", EXAMPLE_ID),
    "older_than_days": _field(Days, "Fixes older than this."),
    "origin": _field(Name, "The sort of store it came from.", "training_memory"),
    "query": _field(Text, "What it is about: an error, a task, a few words.", "login KeyError"),
    "reason": _field(Text, "Why.", "the service is gone"),
    "per": _field(Per, "Of each author, task or command."),
    "record_id": _field(RecordId, "The id of a record.", EXAMPLE_ID),
    "share": _field(Unit, "At least this share of what lies above it."),
    "since": _field(Time, "From this time on, with a zone.", _A_DAY),
    "source": _field(Name, "The author.", "agent-7"),
    "state": _field(kinds.RuleState, "candidate, active or retired."),
    "status": _field(kinds.Status, "How far it is believed."),
    "steps": _field(list[kinds.Step], "The current attempt so far.", max_length=limits.ITEMS_MAX),
    "strict": _field(bool, "Demand all that the metadata schema does."),
    "successes_days": _field(Days, "Successful ones: three times that, unless it is given."),
    "solved_from": _field(float, "What earned less than this did not solve its task.", ge=0, le=1),
    "task": _field(Text, "What it is for."),
    "task_id": _field(Name, "Of this task.", "parse_dates"),
    "tool": _field(Name, "Experiences with this tool."),
    "trust": _field(bool, "Records keep the standing that the file, one of your own, gives them."),
    "unverified": _field(bool, "Also what nobody verified."),
    "until": _field(Time, "To the day of this time; today, unless it is given."),
    "verification_id": _field(Name, "Which run, approval or build it was."),
    # what means something else in one operation
    "advise.author": _field(Name, "Who takes the action: for an issue, the fixer.", "claude"),
    "compare.tag": _field(
        Name, "Episodes with this tag had the memory; without one, those that recalled."
    ),
    "decisions.action": _field(
        kinds.Action, "rule, merge, promote, retire, contradiction, rollback or cleanup."
    ),
    "page.limit": _field(int, "How many.", ge=1, le=limits.PAGE_RECORDS_MAX),
    "similar_issues.issue": _field(
        kinds.Issue, "An issue that is to be fixed.", _EXAMPLES["Fix.issue"]
    ),
    "verify.by": _field(kinds.Verifier, "What confirmed it.", "human_approval"),
}


def make_arguments(method: Callable[..., Any]) -> type[Arguments]:
    """What a method of `Memory` takes from callers elsewhere: its keywords with their defaults, and
    its filters or the envelope.
    """
    signature = inspect.signature(method).parameters
    kind = (
        kinds.MODEL_OF_KIND[method.__name__.removeprefix("record_")]
        if "envelope" in signature
        else None
    )
    base = Enveloped if kind else Filtered if "filters" in signature else Arguments
    fields: dict[str, Any] = {}
    for name, parameter in signature.items():
        own = _FIELDS.get(f"{method.__name__}.{name}")
        elsewhere = name in NOT_SENT or name in base.model_fields
        if own is None and (elsewhere or parameter.kind is parameter.VAR_KEYWORD):
            continue
        shape, field = own or (_describe_record_field(kind, name) if kind else _FIELDS[name])
        default: Any = ... if parameter.default is parameter.empty else parameter.default
        default = list(default) if default == () else default
        fields[name] = (Annotated[shape | None if default is None else shape, field], default)
    title = method.__name__.title().replace("_", "") + "Arguments"
    return create_model(title, __base__=base, __module__=__name__, **fields)


def _describe_record_field(kind: type[Model], name: str) -> tuple[Any, FieldInfo]:
    """What a record's field of that name takes, and means."""
    field = kind.model_fields[name]
    example = _EXAMPLES.get(f"{kind.__name__}.{name}")
    examples = None if example is None else [example]
    return field.rebuild_annotation(), describe_as(kind, name, examples=examples)
