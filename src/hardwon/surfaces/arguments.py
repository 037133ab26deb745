"""What each operation takes, as callers from outside say it: every field with its meaning, its
bounds and an example.

Which fields those are, and their defaults, the signature of `Memory`'s method says
(`arguments_of`). What is recorded takes and means what the field of the record does; what any other
field takes and means is written here once, whichever methods have it. What is said in another way
than `Memory` has it is a class.

A caller names neither an author nor a project: both come with the token. Files are named with their
hash: the server does not look at its own.

Annotations are not postponed here: pydantic would have to evaluate each of them before any command
could start.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.learn.rules import RuleState
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
from hardwon.records.kinds import (
    MODEL_OF_KIND,
    Action,
    Experience,
    Issue,
    Kind,
    Metadata,
    Moment,
    Outcome,
    Record,
    RelatedFile,
    Source,
    SourceType,
    Status,
    Step,
    Validation,
    Verifier,
)

EXAMPLE_ID = "0198c0de-0000-7000-8000-000000000001"
_ISSUE = {
    "model": "gpt-4",
    "issue_type": "TIMEOUT",
    "description": "the test took longer than 30 seconds",
}

Ids = Annotated[
    list[RecordId],
    Field(max_length=limits.ITEMS_MAX, description="Ids of records.", examples=[[EXAMPLE_ID]]),
]
Days = Annotated[float, Field(ge=0, le=limits.DAYS_MAX)]


def as_in(record: type[Model], field: str, **more: Any) -> Any:
    """A field that means what a record's field of that name means."""
    return Field(description=record.model_fields[field].description, **more)


class Arguments(Model):
    """What an operation takes. `given` are the keywords for `Memory`."""

    # a command, which runs once, waits for what it takes alone
    model_config = ConfigDict(defer_build=True)

    def given(self) -> dict[str, Any]:
        """What the caller said, under the names that `Memory` has for it."""
        return {
            name: getattr(self, name)
            for name in type(self).model_fields
            if name in self.model_fields_set
        }


class Nothing(Arguments):
    """Takes nothing."""


# --- recording ---


class NamedSource(Model):
    """Where it came from; the author is the token's name."""

    type: Annotated[SourceType, as_in(Source, "type")] = "agent_execution"
    id: Annotated[Name, as_in(Source, "id")] = ""


class Enveloped(Arguments):
    """What every record may have besides its own fields."""

    tags: Annotated[Names, as_in(Metadata, "tags", examples=[["uploads"]])] = []
    source: NamedSource = as_in(Metadata, "source", default_factory=NamedSource)
    timestamp: Annotated[
        Time | None, Field(description="When it happened, with a zone; now where nobody says.")
    ] = None
    related_files: Annotated[
        list[RelatedFile], as_in(Moment, "related_files", max_length=limits.ITEMS_MAX)
    ] = []
    git_commit: Annotated[Name, as_in(Moment, "git_commit")] = ""
    git_branch: Annotated[Name, as_in(Moment, "git_branch")] = ""
    failure_hash: Annotated[Name | None, as_in(Validation, "failure_hash")] = None
    recalled: Annotated[Ids | None, as_in(Record, "recalled")] = None

    def given(self) -> dict[str, Any]:
        said = super().given()
        if said.get("timestamp", "") is None:
            del said["timestamp"]
        if "source" in said:
            said["source"] = said["source"].model_dump()
        return said


class Remember(Enveloped):
    """An experience."""

    content: Annotated[
        Text,
        as_in(Experience, "content", examples=["KeyError 'id' in login.py: the row was empty"]),
    ]
    outcome: Annotated[Outcome, as_in(Experience, "outcome", examples=["failure"])]
    tool: Annotated[Name | None, as_in(Experience, "tool", examples=["code_interpreter"])] = None
    summary: Annotated[Text | None, as_in(Experience, "summary")] = None
    task_type: Annotated[
        Name | None,
        Field(description="Of a success of code_interpreter: write, debug, refactor, explain."),
    ] = None
    domain: Annotated[
        Name | None, Field(description="Of a success of web_search: technical, research, general.")
    ] = None
    error_type: Annotated[
        Name | None,
        Field(
            description="Of a failure of code_interpreter: syntax, runtime, logic, timeout.",
            examples=["runtime"],
        ),
    ] = None
    reason: Annotated[
        Name | None,
        Field(description="Of a failure of web_search: no_results, blocked, irrelevant."),
    ] = None
    insight_type: Annotated[
        Name | None, Field(description="Of a learning: pattern, correction, preference, fact.")
    ] = None
    sentiment: Annotated[
        Name | None, Field(description="Of an interaction: positive, neutral, negative.")
    ] = None
    keys: Annotated[
        dict[Name, Scalar], Field(max_length=limits.ITEMS_MAX, description="Keys of your own.")
    ] = {}

    def given(self) -> dict[str, Any]:
        for name in self.keys:
            if name == "author" or name in type(self).model_fields:
                raise InvalidInputError.one(
                    f"keys.{name}", self.keys[name], "keys that no record has already"
                )
        said = super().given()
        return {
            **said.pop("keys", {}),
            **{name: value for name, value in said.items() if value is not None},
        }


_AnyRecordJson = Annotated[
    JsonObject, Field(description="A record as the documentation of records has it, with its kind.")
]


class Add(Arguments):
    """A whole record."""

    record: Annotated[
        _AnyRecordJson,
        Field(
            examples=[
                {
                    "kind": "fact",
                    "content": "Uploads over 2 GB fail with HTTP 413.",
                    "fact_type": "error",
                }
            ]
        ),
    ]


class AddMany(Arguments):
    """Whole records, which are kept together or not at all."""

    records: Annotated[
        list[_AnyRecordJson],
        Field(
            min_length=1,
            max_length=limits.RECORDS_AT_ONCE_MAX,
            description="Records.",
            examples=[
                [
                    {
                        "kind": "fact",
                        "content": "Uploads over 2 GB fail with HTTP 413.",
                        "fact_type": "error",
                    }
                ]
            ],
        ),
    ]


class Credit(Arguments):
    """What was recalled helped, or did not."""

    ids: Ids
    outcome: Annotated[
        Flag, Field(description="True: it helped. False: it did not.", examples=[True])
    ]

    def given(self) -> dict[str, Any]:
        return {"context_or_ids": self.ids, "outcome": self.outcome}


# --- asking ---


class Filtered(Arguments):
    """What a question may be narrowed by; all that are given must hold."""

    kind: Annotated[
        Kind | None, Field(description="experience, fact, trajectory, episode or fix.")
    ] = None
    outcome: Annotated[
        Outcome | None,
        Field(description="Of experiences: success, failure, learning or interaction."),
    ] = None
    tool: Annotated[Name | None, Field(description="Of experiences with this tool.")] = None
    task_id: Annotated[Name | None, Field(description="Of this task's episodes.")] = None
    model: Annotated[Name | None, Field(description="Of this model's fixes.")] = None
    issue_type: Annotated[Name | None, Field(description="Of fixes of this issue type.")] = None
    key: Annotated[
        Name | None,
        Field(
            description="Of experiences with this key and value.", examples=["error_type=runtime"]
        ),
    ] = None
    status: Annotated[
        Status | None, Field(description="hypothesis, verified, published or archived.")
    ] = None
    tag: Annotated[Name | None, Field(description="With this tag.")] = None
    author: Annotated[Name | None, Field(description="By this author.")] = None
    since: Annotated[Time | None, Field(description="From this time on, with a zone.")] = None
    until: Annotated[Time | None, Field(description="Before this time.")] = None
    path: Annotated[
        Text | None,
        Field(description="About files whose path matches this glob.", examples=["src/*.py"]),
    ] = None


# --- looking after it ---


class Forget(Filtered):
    """What is to be erased for good: ids, or filters; not both."""

    ids: Annotated[Ids | None, Field(description="Ids of records.")] = None
    dry_run: Annotated[bool, Field(description="Only say what would go.")] = False

    def given(self) -> dict[str, Any]:
        said = {name: value for name, value in super().given().items() if value is not None}
        ids = said.pop("ids", None)
        return said if ids is None else {"ids_or_filters": ids, **said}


class Load(Arguments):
    """How."""

    dry_run: Annotated[bool, Field(description="Only say what would happen.")] = False


# --- what signatures say ---

NOT_SENT: Final = ("self", "author", "by", "progress", "count_tokens", "path", "format")
"""Keywords of `Memory` that a caller elsewhere has no say in, or that do not go over a wire."""

_A_DAY: Final = "2026-11-01T00:00:00Z"
_FIELDS: Final[Mapping[str, tuple[Any, FieldInfo]]] = {
    "action": (
        Text,
        Field(description="The very command or change.", examples=["pip install foo"]),
    ),
    "as_of": (
        Time,
        Field(description="As it was believed then: a time with a zone.", examples=[_A_DAY]),
    ),
    "budget_tokens": (
        int,
        Field(
            ge=1, le=limits.CONTEXT_TOKENS_MAX, description="The text has at most so many tokens."
        ),
    ),
    "by_run": (bool, Field(description="Whether the episodes of a run count as one.")),
    "cursor": (Text, Field(description="What the page before gave as its next.")),
    "days": (int, Field(ge=1, le=limits.FIX_DAYS_MAX, description="The last so many days.")),
    "decision_id": (
        RecordId,
        Field(
            description="The id of a decision, or of an event that changed a status.",
            examples=[EXAMPLE_ID],
        ),
    ),
    "dry_run": (bool, Field(description="Only say what would happen.")),
    "error": (Text, Field(description="The error, as it was seen.")),
    "fixer": (Name, Field(description="By this fixer.")),
    "issue": (Issue, Field(description="An issue that is to be fixed.")),
    "issue_type": (Name, Field(description="Of this issue type.", examples=["TIMEOUT"])),
    "k": (int, Field(ge=1, le=limits.RECALL_K_MAX, description="How many.")),
    "limit": (int, Field(ge=1, le=limits.SHOWN_MAX, description="How many at most.")),
    "llm": (
        bool,
        Field(description="Also ask the LLM that the operator set up, if there is one, for rules."),
    ),
    "model": (Name, Field(description="Of this model.")),
    "name": (Name, Field(description="The model.", examples=["gpt-4"])),
    "new_id": (
        RecordId,
        Field(
            description="The record that replaces it.",
            examples=["0198c0de-0000-7000-8000-000000000002"],
        ),
    ),
    "old_id": (RecordId, Field(description="The id of a record.", examples=[EXAMPLE_ID])),
    "older_than_days": (Days, Field(description="Fixes older than this.")),
    "origin": (
        Name,
        Field(description="The sort of store it came from.", examples=["training_memory"]),
    ),
    "query": (
        Text,
        Field(
            description="What it is about: an error, a task, a few words.",
            examples=["login KeyError"],
        ),
    ),
    "reason": (Text, Field(description="Why.", examples=["the service is gone"])),
    "record_id": (RecordId, Field(description="The id of a record.", examples=[EXAMPLE_ID])),
    "share": (Unit, Field(description="At least this share of what lies above it.")),
    "since": (Time, Field(description="From this time on, with a zone.", examples=[_A_DAY])),
    "source": (Name, Field(description="The author.", examples=["agent-7"])),
    "state": (RuleState, Field(description="candidate, active or retired.")),
    "status": (Status, Field(description="How far it is believed.")),
    "steps": (
        list[Step],
        Field(max_length=limits.ITEMS_MAX, description="The current attempt so far."),
    ),
    "successes_days": (
        Days,
        Field(description="Successful ones: three times that, unless it is given."),
    ),
    "task": (Text, Field(description="What it is for.")),
    "task_id": (Name, Field(description="Of this task.", examples=["parse_dates"])),
    "tool": (Name, Field(description="Experiences with this tool.")),
    "until": (Time, Field(description="To the day of this time; today, unless it is given.")),
    "verification_id": (Name, Field(description="Which run, approval or build it was.")),
    # what means something else in one operation
    "compare.tag": (
        Name,
        Field(
            description="Episodes with this tag had the memory; without one, those that recalled."
        ),
    ),
    "decisions.action": (
        Action,
        Field(
            description="rule, merge, promote, retire, contradiction, rollback, cleanup or "
            "compress."
        ),
    ),
    "types.days": (
        int,
        Field(
            ge=1,
            le=limits.FIX_DAYS_MAX,
            description="The last so many days; all there are, unless it is given.",
        ),
    ),
    "record_fact.restate": (
        bool,
        Field(
            description="Have the LLM that the operator set up write it anew, so that it stands "
            "alone."
        ),
    ),
    "page.limit": (int, Field(ge=1, le=limits.PAGE_RECORDS_MAX, description="How many.")),
    "similar_issues.issue": (
        Issue,
        Field(description="An issue that is to be fixed.", examples=[_ISSUE]),
    ),
    "verify.by": (Verifier, Field(description="What confirmed it.", examples=["human_approval"])),
}


_EXAMPLES: Final[Mapping[str, Any]] = {
    "Fact.content": "Uploads over 2 GB fail with HTTP 413.",
    "Fact.fact_type": "error",
    "Trajectory.task": "make the login test pass",
    "Trajectory.steps": [
        {"action": "pytest tests/test_login.py", "observation": "1 failed", "reward": 0.0}
    ],
    "Trajectory.final_reward": 0.0,
    "Episode.task_id": "parse_dates",
    "Episode.score": 0.4,
    "Episode.mistakes": ["Forgot time zones"],
    "Fix.issue": _ISSUE,
    "Fix.fix_success": True,
    "Fix.verification_success": True,
    "Fix.fix_commands": ["raise the timeout to 60 s"],
    "Fix.fixer_type": "claude",
}
"""Of what is recorded."""


def arguments_of(method: Callable[..., Any]) -> type[Arguments]:
    """What a method of `Memory` takes from callers elsewhere: its keywords with their defaults, and
    its filters or the envelope.
    """
    signature = inspect.signature(method).parameters
    recorded = method.__name__.removeprefix("record_")
    kind = MODEL_OF_KIND[recorded] if "envelope" in signature else None
    base = Enveloped if kind else Filtered if "filters" in signature else Arguments
    fields: dict[str, Any] = {}
    for name, parameter in signature.items():
        own = _FIELDS.get(f"{method.__name__}.{name}")
        if own or not (
            name in NOT_SENT or name in base.model_fields or parameter.kind is parameter.VAR_KEYWORD
        ):
            takes, field = own or (_recorded(kind, name) if kind else _FIELDS[name])
            default: Any = ... if parameter.default is parameter.empty else parameter.default
            default = list(default) if default == () else default
            fields[name] = (Annotated[takes | None if default is None else takes, field], default)
    title = method.__name__.title().replace("_", "") + "Arguments"
    return create_model(title, __base__=base, __module__=__name__, **fields)


def _recorded(kind: type[Model], name: str) -> tuple[Any, FieldInfo]:
    """What a record's field of that name takes, and means."""
    field = kind.model_fields[name]
    example = _EXAMPLES.get(f"{kind.__name__}.{name}")
    return field.rebuild_annotation(), as_in(
        kind, name, examples=None if example is None else [example]
    )
