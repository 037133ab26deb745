"""What a memory answers, as JSON and back, and the JSON Schemas of both: one shape for every
surface.

A record is as `to_json` writes it, absent optional fields left out; every other answer is an object
with all of its fields. Times are ISO 8601 in UTC.

Everything that `Memory` offers to callers outside this process, declared once: what it takes and
gives, the scope that it takes, and where it is found on each surface. REST routes, MCP tools, the
client and the matrices that test them are made from this table.

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
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, Final, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from hardwon import limits
from hardwon.errors import InvalidInputError, UnknownRecordError
from hardwon.first_use import lazy
from hardwon.memory import Memory
from hardwon.memory.care import Per
from hardwon.outside.locations import is_url
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
    check_that,
    problems_of,
)
from hardwon.records.kinds import (
    MODEL_OF_KIND,
    Action,
    AnyRecord,
    Experience,
    Issue,
    Metadata,
    Moment,
    OutcomeWord,
    Record,
    RelatedFile,
    RuleState,
    Source,
    SourceType,
    Status,
    Step,
    Validation,
    Verifier,
    with_own_id,
)
from hardwon.records.reading import read_record
from hardwon.search.terms import Narrowing
from hardwon.trust.access import Caller, Scope, includes
from hardwon.trust.redact import redact_json

# --- shapes ---

REF: Final = "#/components/schemas/{model}"


def jsonable(value: Any, *, origins: bool = False) -> Any:
    """A value as JSON has it. `origins`: authors of records with where they came from, for a model
    that reads it; whoever makes records of it again has them as they were kept.
    """
    inside = partial(jsonable, origins=origins)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseModel):
        shown = _with_origin(value) if origins and isinstance(value, Record) else value
        return shown.model_dump(mode="json", exclude_none=True)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: inside(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: inside(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): inside(inner) for name, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [inside(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that goes over a wire")


def _with_origin(record: Record) -> Record:
    # a longer name would not be one: what is behind it counts
    author = record.said_by[-limits.NAME_CHARS_MAX :]
    source = record.metadata.source.altered(author=author)
    return record.altered(metadata=record.metadata.altered(source=source))


def json_bytes(value: Any) -> bytes:
    """One line of JSON."""
    return json.dumps(
        jsonable(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode()


@cache
def adapter_of(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def parsed(shape: Any, data: Any) -> Any:
    """What `jsonable` made, as what it was."""
    try:
        return adapter_of(shape).validate_python(data)
    except ValidationError as error:
        raise InvalidInputError(problems_of(error)) from None


def schema_of(shape: Any) -> dict[str, Any]:
    """The JSON Schema of what `jsonable` makes of it."""
    return adapter_of(shape).json_schema(schema_generator=_NamedTuplesAreObjects)


def schemas_of(
    shapes: Mapping[str, Any], ref: str
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The schemas of several at once, by their names, and the definitions that they share."""
    made, shared = TypeAdapter.json_schemas(
        [(name, "validation", adapter_of(shape)) for name, shape in shapes.items()],
        ref_template=ref,
        schema_generator=_NamedTuplesAreObjects,
    )
    return {name: schema for (name, _), schema in made.items()}, shared.get("$defs", {})


class _NamedTuplesAreObjects(GenerateJsonSchema):
    def named_tuple_schema(self, schema: Any) -> JsonSchemaValue:
        inner = {field["name"]: self.generate_inner(field["schema"]) for field in schema["fields"]}
        required = [
            field["name"] for field in schema["fields"] if field["schema"]["type"] != "default"
        ]
        return {"type": "object", "properties": inner, "required": required}

    def arguments_schema(self, schema: Any) -> JsonSchemaValue:
        """As pydantic saw named tuples before it had a schema of their own."""
        return self.kw_arguments_schema(schema["arguments_schema"], schema.get("var_kwargs_schema"))


# --- what they take ---

# Of an issue, what has an option or a field of its own.
ISSUE_FIELDS: Final = ("model", "issue_type", "description", "error_output")
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
        given = super().given()
        if given.get("timestamp", "") is None:
            del given["timestamp"]
        if "source" in given:
            given["source"] = given["source"].model_dump()
        return given


class Remember(Enveloped):
    """An experience."""

    content: Annotated[
        Text,
        as_in(Experience, "content", examples=["KeyError 'id' in login.py: the row was empty"]),
    ]
    outcome: Annotated[
        OutcomeWord | None,
        Field(
            description="How it turned out; where nobody says, what the content tells.",
            examples=["failure"],
        ),
    ] = None
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
        given = super().given()
        return {
            **given.pop("keys", {}),
            **{name: value for name, value in given.items() if value is not None},
        }


_AnyRecordJson = Annotated[
    JsonObject,
    Field(
        description="A record as the documentation of records has it, with its kind, or as the "
        "metadata schema has it."
    ),
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
            max_length=limits.BATCH_ROWS,
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


class Filtered(Arguments, Narrowing):
    """What a question may be narrowed by; all that are given must hold."""


class Forget(Filtered):
    """What is to be erased for good: ids, or filters; not both."""

    ids: Annotated[Ids | None, Field(description="Ids of records.")] = None
    dry_run: Annotated[bool, Field(description="Only say what would go.")] = False

    def given(self) -> dict[str, Any]:
        given = {name: value for name, value in super().given().items() if value is not None}
        ids = given.pop("ids", None)
        return given if ids is None else {"ids_or_filters": ids, **given}


# Keywords of `Memory` that a caller elsewhere has no say in, or that do not go over a wire.
NOT_SENT: Final = frozenset({"self", "author", "by", "progress", "count_tokens", "path", "format"})

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
    "explain": (bool, Field(description="Also say why each line is there, and what was left out.")),
    "fixer": (Name, Field(description="By this fixer.")),
    "issue": (Issue, Field(description="An issue that is to be fixed.")),
    "issue_type": (Name, Field(description="Of this issue type.", examples=["TIMEOUT"])),
    "k": (int, Field(ge=1, le=limits.SHOWN_MAX, description="How many.")),
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
    "per": (Per, Field(description="Of each author, task or command.")),
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
    "strict": (bool, Field(description="Demand all that the metadata schema does.")),
    "successes_days": (
        Days,
        Field(description="Successful ones: three times that, unless it is given."),
    ),
    "solved_from": (
        float,
        Field(ge=0, le=1, description="What earned less than this did not solve its task."),
    ),
    "task": (Text, Field(description="What it is for.")),
    "task_id": (Name, Field(description="Of this task.", examples=["parse_dates"])),
    "tool": (Name, Field(description="Experiences with this tool.")),
    "trust": (
        bool,
        Field(description="Records keep the standing that the file, one of your own, gives them."),
    ),
    "unverified": (bool, Field(description="Also what nobody vouched for.")),
    "until": (Time, Field(description="To the day of this time; today, unless it is given.")),
    "verification_id": (Name, Field(description="Which run, approval or build it was.")),
    # what means something else in one operation
    "advise.author": (
        Name,
        Field(description="Who takes the action: for an issue, the fixer.", examples=["claude"]),
    ),
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


# Of what is recorded.
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


# --- operations ---


@cache
def _types_by_name() -> dict[str, Any]:
    """What the methods of `Memory` give. Their own modules import most of it for type checkers
    alone, and whoever runs a single command does without.
    """
    modules = map(
        import_module,
        (
            "hardwon.brief.advice",
            "hardwon.fixes.reports",
            "hardwon.learn.fixes",
            "hardwon.learn.odds",
            "hardwon.learn.rules",
            "hardwon.learn.topology",
            "hardwon.memory.context",
            "hardwon.memory.results",
            "hardwon.memory.ask",
            "hardwon.memory.skills",
            "hardwon.records.kinds",
            "hardwon.search.rank",
        ),
    )
    return {name: value for module in modules for name, value in vars(module).items()}


@dataclass(eq=False)
class Operation:
    """One use of a memory. `place` is its method and its path below a project's address; `signs`
    is the keyword by which `Memory` is told who asks; `tool` and `command` are its names as an MCP
    tool and on the command line ("": as in `Memory`), None where it has none there. `again` answers
    a request that was carried out before, from the ids that it concerned; None where doing it twice
    does no harm.
    `streams`: its body or its answer goes as a stream, which each surface does in its own way.
    `whole`: it reaches into every project, so a token for some of them is not enough.

    What it takes, gives and does is what `Memory`'s method of that name takes, gives and does,
    unless `arguments`, `answer` or `run` say otherwise.
    """

    name: str
    scope: Scope
    place: str
    tool: str | None = None
    command: str | None = ""
    signs: Literal["author", "by"] | None = None
    again: Callable[[Memory, list[str]], Any] | None = None
    destructive: bool = False
    streams: Literal["in", "out"] | None = None
    whole: bool = False
    arguments: type[Arguments] | None = None
    answer: Any = None
    run: Callable[[Memory, Any, Caller], Any] | None = None

    def method_of(self, memory: Memory | type[Memory]) -> Callable[..., Any]:
        """The method that does it: of a memory, or of a group that hangs on one."""
        method: Callable[..., Any] = attrgetter(self.name)(memory)
        return method

    def __post_init__(self) -> None:
        if self.command == "":
            self.command = self.name.replace(".", " ").replace("_", "-")

    @lazy
    def gives(self) -> Any:
        """The type of its answer."""
        if self.answer is not None:
            return self.answer
        returns = SimpleNamespace(
            __annotations__={"return": self.method_of(Memory).__annotations__["return"]}
        )
        return get_type_hints(returns, _types_by_name())["return"]

    @lazy
    def takes(self) -> type[Arguments]:
        return self.arguments or arguments_of(self.method_of(Memory))

    def do(self, memory: Memory, given: Arguments, caller: Caller, **more: Any) -> Any:
        """Carries it out. `more` are keywords of `Memory`'s that only callers in this process have."""
        if self.run is not None:
            return self.run(memory, given, caller)
        signed = {self.signs: caller.name} if self.signs and caller.name else {}
        return self.method_of(memory)(**given.given(), **signed, **more)

    @property
    def method(self) -> str:
        return self.place.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.place.partition(" ")[2]

    @lazy
    def in_path(self) -> tuple[str, ...]:
        """What it takes in its path."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.scope == "read" or self.name in ("doctor", "backup")

    @property
    def description(self) -> str:
        return " ".join((self.method_of(Memory).__doc__ or "").split())


def _same_record(memory: Memory, ids: list[str]) -> Any:
    found = memory.get(ids[0]) if ids else None
    if found is None:
        raise UnknownRecordError(
            "this request was carried out before, and what it made was forgotten since"
        )
    return found


def _known(found: Any, memory: Memory, record_id: str, more: str = "") -> Any:
    """What was found of a record. Raises where that is nothing."""
    if not found:
        raise UnknownRecordError(
            f"there is no record {record_id} in project {memory.project!r}{more}"
        )
    return found


def _stats(memory: Memory, _: Arguments, caller: Caller) -> Any:
    """Where the file lies, or the database, is for those who are on this machine."""
    found = memory.stats()
    if caller.token_id is None:
        return found
    return replace(
        found, location="PostgreSQL" if is_url(found.location) else Path(found.location).name
    )


def _signed(record: Mapping[str, Any], caller: Caller, field: str) -> AnyRecord:
    """The record as its caller's own. What it claims to be is taken from those alone who may decide
    that.
    """
    kind = record["kind"]
    if not isinstance(kind, str) or kind not in MODEL_OF_KIND:
        raise InvalidInputError.one(f"{field}.kind", kind, ", ".join(MODEL_OF_KIND))
    made = MODEL_OF_KIND[kind].model_validate(
        redact_json(dict(record))[0] if kind == "episode" else dict(record)
    )
    metadata = made.metadata
    for name in (
        () if includes(caller.scope, "govern") else ("status", "verified_by", "verification_id")
    ):
        claimed, usual = getattr(metadata.validation, name), Validation.model_fields[name].default
        check_that(
            claimed == usual,
            f"{field}.metadata.validation.{name}",
            claimed,
            f"{usual or 'nothing'}; a token with the scope govern may claim more",
        )
    return _by(made, caller)


def _by(record: AnyRecord, caller: Caller) -> AnyRecord:
    metadata = record.metadata
    signed: AnyRecord = record.altered(
        metadata=metadata.altered(source=metadata.source.altered(author=caller.name))
    )
    return signed


def _add_all(memory: Memory, records: Mapping[str, Mapping[str, Any]], caller: Caller) -> list[str]:
    """Keeps them, each told by its field. Where some are the metadata schema's own, which names no
    kind, they come in as a file of them would: as hypotheses, and the same ones once.
    """
    if all("kind" in record for record in records.values()):
        return memory.add_many(_signed(each, caller, field) for field, each in records.items())
    read = [_by(read_record(each), caller) for each in records.values()]
    given = [
        with_own_id(made) if "id" not in each else made
        for made, each in zip(read, records.values(), strict=True)
    ]
    decides = includes(caller.scope, "govern")
    memory.care.take_in(given, by=caller.name, at_once=True, may_retire=decides)
    return [each.id for each in given]


def _streamed(memory: Memory, given: Arguments, caller: Caller) -> Any:
    raise TypeError(
        f"{memory.project}: a stream is read and written by the surface itself ({given}, "
        f"{caller.name})"
    )


_RECORDING: Final[dict[str, Any]] = {"signs": "author", "again": _same_record}
_DECIDING: Final[dict[str, Any]] = {"signs": "by", "again": _same_record}

_ALL: Final = (
    # recording
    Operation(
        "remember",
        "write",
        "POST /experiences",
        arguments=Remember,
        tool="remember",
        **_RECORDING,
    ),
    Operation(
        "record_fact",
        "write",
        "POST /facts",
        tool="record_fact",
        command="record fact",
        **_RECORDING,
    ),
    Operation(
        "record_trajectory",
        "write",
        "POST /trajectories",
        tool="record_trajectory",
        command="record trajectory",
        **_RECORDING,
    ),
    Operation(
        "record_episode",
        "write",
        "POST /episodes",
        tool="record_episode",
        command="record episode",
        **_RECORDING,
    ),
    Operation(
        "record_fix", "write", "POST /fixes", tool="record_fix", command="record fix", **_RECORDING
    ),
    Operation(
        "add",
        "write",
        "POST /records",
        arguments=Add,
        run=lambda memory, given, caller: _add_all(memory, {"record": given.record}, caller)[0],
        again=lambda _, ids: ids[0],
        tool="add",
        command=None,
    ),
    Operation(
        "add_many",
        "write",
        "POST /records/batch",
        arguments=AddMany,
        run=lambda memory, given, caller: _add_all(
            memory,
            {f"records.{number}": record for number, record in enumerate(given.records)},
            caller,
        ),
        again=lambda _, ids: ids,
        command=None,
    ),
    Operation(
        "credit",
        "write",
        "POST /credits",
        arguments=Credit,
        tool="credit",
        signs="by",
        again=lambda _, ids: ids,
    ),
    # asking
    Operation("recall", "read", "POST /recall", tool="search"),
    Operation("context", "read", "POST /context", tool="context"),
    Operation("advise", "read", "POST /advice", tool="advise"),
    Operation(
        "get",
        "read",
        "GET /records/{record_id}",
        run=lambda memory, given, _: _known(
            memory.get(given.record_id, given.as_of), memory, given.record_id
        ),
        tool="show",
        command="show",
        answer=AnyRecord,
    ),
    Operation("care.page", "read", "GET /records", command="browse"),
    Operation("care.links", "read", "GET /records/{record_id}/links", command=None),
    Operation(
        "audit",
        "read",
        "GET /records/{record_id}/audit",
        command="care audit",
        run=lambda memory, given, _: _known(
            memory.audit(given.record_id), memory, given.record_id, ", and never was one"
        ),
    ),
    Operation(
        "similar_issues",
        "read",
        "POST /similar-issues",
        tool="similar_issues",
        command="fixes similar",
    ),
    Operation("odds", "read", "POST /odds", command="fixes odds"),
    Operation("patterns", "read", "GET /patterns", command="fixes patterns"),
    Operation("fixes.temporal_patterns", "read", "GET /fixes/temporal-patterns", command=None),
    Operation("fixes.strategies", "read", "GET /fixes/strategies"),
    Operation(
        "fixes.failed_strategies",
        "read",
        "GET /fixes/failed-strategies",
        command="fixes strategies",
    ),
    Operation(
        "fixes.best_strategies", "read", "GET /fixes/best-strategies", command="fixes strategies"
    ),
    Operation(
        "model_insights", "read", "GET /model-insights", tool="insights", command="fixes model"
    ),
    Operation("fixes.totals", "read", "GET /fixes/totals", command="fixes stats"),
    Operation("fixes.days", "read", "GET /fixes/days", command=None),
    Operation("fixes.types", "read", "GET /fixes/types", command="fixes stats"),
    Operation("fixes.matrix", "read", "GET /fixes/matrix", command="fixes stats"),
    Operation("fixes.trends", "read", "GET /fixes/trends", command="fixes stats"),
    Operation("fixes.fixers", "read", "GET /fixes/fixers", command="fixes stats"),
    Operation("fixes.count", "read", "GET /fixes/count", command=None),
    Operation("solutions", "read", "POST /solutions", command="fixes solutions"),
    Operation("rules", "read", "GET /rules", tool="rules"),
    Operation("episodes.candidate_rules", "read", "GET /episodes/candidate-rules", command=None),
    Operation("cards", "read", "GET /cards", command="episodes cards"),
    Operation("episodes.tasks", "read", "GET /episodes/tasks"),
    Operation("episodes.scores", "read", "GET /episodes/scores"),
    Operation("episodes.compare", "read", "GET /episodes/compare"),
    Operation("care.decisions", "read", "GET /care/decisions"),
    Operation("care.adopted", "read", "GET /care/adopted", command=None),
    Operation("tests.failing", "read", "GET /tests/failing", command="care failing-tests"),
    Operation("skills.list", "read", "GET /skills"),
    Operation("stats", "read", "GET /stats", run=_stats, tool="stats"),
    Operation("care.activity", "read", "GET /care/activity", command=None),
    Operation("care.failures", "read", "GET /care/failures"),
    Operation("care.progress", "read", "GET /care/progress", command=None),
    Operation("care.areas", "read", "GET /care/areas", command=None),
    Operation("care.helpful", "read", "GET /care/helpful", command=None),
    Operation("care.stale", "read", "GET /care/stale", command=None),
    Operation("care.change_mark", "read", "GET /care/change-mark", command=None),
    Operation("topology", "read", "GET /topology", tool="map", command="tree map"),
    Operation("tree.hotspots", "read", "GET /tree/hotspots", tool="hotspots"),
    Operation("reflect", "read", "GET /reflection", tool="reflect", command="tree reflect"),
    Operation("export", "read", "GET /export", run=_streamed, streams="out", answer=AnyRecord),
    # deciding what is believed
    Operation("verify", "govern", "POST /records/{record_id}/verify", tool="verify", **_RECORDING),
    Operation(
        "publish",
        "govern",
        "POST /records/{record_id}/publish",
        command="care publish",
        **_DECIDING,
    ),
    Operation(
        "archive",
        "govern",
        "POST /records/{record_id}/archive",
        tool="archive",
        command="care archive",
        **_DECIDING,
    ),
    Operation(
        "supersede",
        "govern",
        "POST /records/{old_id}/supersede",
        command="care supersede",
        **_DECIDING,
    ),
    Operation("consolidate", "govern", "POST /consolidate", command="care consolidate"),
    Operation("rollback", "govern", "POST /rollback", command="care rollback", **_DECIDING),
    Operation("undo", "govern", "POST /decisions/{decision_id}/undo", **_DECIDING),
    # taking away, and looking after it
    Operation("forget", "admin", "POST /forget", arguments=Forget, signs="by", destructive=True),
    Operation(
        "cleanup", "admin", "POST /cleanup", command="care cleanup", signs="by", destructive=True
    ),
    Operation("fixes.compress", "admin", "POST /fixes/compress", signs="by"),
    Operation("compact", "admin", "POST /compact", command="care compact", destructive=True),
    Operation(
        "load",
        "admin",
        "POST /import",
        run=_streamed,
        signs="by",
        streams="in",
    ),
    Operation(
        "backup",
        "admin",
        "GET /backup",
        command="care backup",
        run=_streamed,
        streams="out",
        whole=True,
        answer=bytes,
    ),
    Operation("doctor", "admin", "GET /doctor"),
    Operation("rebuild", "admin", "POST /rebuild", command="care rebuild"),
    Operation("reembed", "admin", "POST /reembed", command="care reembed"),
    Operation("tree.sync", "admin", "POST /tree/sync"),
)

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {operation.name: operation for operation in _ALL}
)

# What `Memory` offers to its own process alone, and why.
HERE_ALONE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "close": "ends the caller's own memory",
        "browse": "care.page does the same for callers elsewhere",
        "record": "add does the same and gives the id",
        "care.keep_many": "add_many does the same and gives the ids",
        "care.record_many": "several of one kind from the caller's own files: elsewhere add_many takes "
        "several records",
        "care.take_in": "brings records with authors of their own: import does that for an administrator",
        "entries.put": "for what keeps things under names of its own; elsewhere remember and "
        "supersede do it",
        "entries.append": "for what keeps things in a row of its own; elsewhere add_many does it",
        "entries.list": "pages by tag do the same for callers elsewhere",
        "entries.names": "for whoever lists the names that it put things under",
        "trajectory": "a block of the caller's own code; what it records goes through "
        "record_trajectory",
        "episode": "a block of the caller's own code; what it records goes through record_episode",
        "care.now": "the memory's own clock",
        "care.values": "for people who type: programs have whole ids and names",
        "care.wait_for_vectors": "vectors are made by the process that has the embedder",
        "care.once": "is what an idempotency key does",
        "care.projects": "is of no project: each surface lists those that the caller reaches",
        "care.in_project": "opens the caller's own memory once more: callers elsewhere name the project "
        "they ask about",
        "restore": "puts a file of this machine in the memory's place while nobody asks it anything",
        "merge": "opens another memory of this machine; import takes in what another exported",
        "tree.make": "makes files beside the memory's own",
        "check_stale": "looks at a checkout, which is where the caller is and not where the memory "
        "is",
        "tests.record": "reads the files that tests are about, in the caller's checkout",
        "tests.publish": "is asked by a git hook of the caller's checkout",
        "tokens": "whoever could make tokens from outside could make itself stronger ones",
        "fixes.history": "the tables of the file itself",
        "tree.mirror": "the files beside the memory",
        "skills.export": "writes files of this machine",
        "location": "a path of this machine",
        "elsewhere": "is of no project: each surface lists those that the caller reaches",
    }
)
