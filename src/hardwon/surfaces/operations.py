"""What a memory answers, as JSON and back, and the JSON Schemas of both: one shape for every
surface.

A record is as `to_json` writes it, absent optional fields left out; every other answer is an object
with all of its fields. Times are ISO 8601 in UTC.

Everything that `Memory` offers to callers outside this process, declared once: what it takes and
gives, the scope that it takes, and where it is found on each surface. REST routes, MCP tools, the
client and the matrices that test them are made from this table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, date, datetime
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from hardwon.brief.advice import Advice
from hardwon.errors import InvalidInputError, UnknownRecordError
from hardwon.fixes.reports import (
    FixCell,
    FixDay,
    FixerRecord,
    FixTotals,
    IssueTrend,
    IssueTypeRecord,
)
from hardwon.learn.compare import Comparison
from hardwon.learn.fixes import ModelInsights, Pattern, Solution, Strategy, TemporalPattern
from hardwon.learn.odds import Odds
from hardwon.learn.rules import Card, Rule, ScoreHistory, TaskScores
from hardwon.learn.topology import Branch, Hotspot, Reflection
from hardwon.memory import Memory
from hardwon.memory.context import Context
from hardwon.memory.results import (
    Activity,
    CleanedUp,
    Compacted,
    Compressed,
    Consolidation,
    Credited,
    Diagnosis,
    Forgotten,
    Held,
    LifeEvent,
    Links,
    Loaded,
    Page,
    SimilarIssues,
    Synced,
)
from hardwon.memory.stats import Stats
from hardwon.outside.locations import is_url
from hardwon.records.fields import problems_of
from hardwon.records.kinds import (
    MODEL_OF_KIND,
    Adopted,
    AnyRecord,
    Decision,
    Episode,
    Experience,
    Fact,
    Fix,
    Trajectory,
    Validation,
)
from hardwon.search.rank import Hit
from hardwon.surfaces import arguments
from hardwon.surfaces.arguments import Arguments
from hardwon.trust.access import Caller, Scope, includes
from hardwon.trust.redact import redact_json

# --- shapes ---

REF: Final = "#/components/schemas/{model}"


def jsonable(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: jsonable(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): jsonable(inner) for name, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [jsonable(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that goes over a wire")


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
    given = [(name, "validation", adapter_of(shape)) for name, shape in shapes.items()]
    made, shared = TypeAdapter.json_schemas(
        given,  # type: ignore[arg-type]
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


# --- operations ---

Method = Literal["GET", "POST"]
Signature = Literal["author", "by"]
Again = Callable[[Memory, list[str]], Any]


@dataclass(frozen=True)
class Operation:
    """One use of a memory. `path` is below a project's address; `signs` is the keyword by which
    `Memory` is told who asks; `tool` and `command` are its names as an MCP tool and on the command
    line, None where it has none there. `again` answers a request that was carried out before, from
    the ids that it concerned; None where doing it twice does no harm. `streams`: its body or its
    answer goes as a stream, which each surface does in its own way. `whole`: it reaches into every
    project, so a token for some of them is not enough.
    """

    name: str
    scope: Scope
    method: Method
    path: str
    gives: Any
    do: Callable[[Memory, Any, Caller], Any]
    tool: str | None = None
    command: str | None = None
    signs: Signature | None = None
    again: Again | None = None
    destructive: bool = False
    streams: Literal["in", "out"] | None = None
    whole: bool = False
    takes_otherwise: type[Arguments] | None = None

    @cached_property
    def takes(self) -> type[Arguments]:
        """What it takes: the keywords of `Memory`'s method, unless it is said in another way."""
        return self.takes_otherwise or arguments.arguments_of(self.method_of(Memory))

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """Those of them that stand in the path."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.name in _READING

    @property
    def description(self) -> str:
        return " ".join((self.method_of(Memory).__doc__ or "").split())

    def method_of(self, memory: Memory | type[Memory]) -> Callable[..., Any]:
        """The method that does it: of a memory, or of a group that hangs on one."""
        method: Callable[..., Any] = attrgetter(self.name)(memory)
        return method


def _asked(name: str, signs: Signature | None) -> Callable[[Memory, Arguments, Caller], Any]:
    def ask(memory: Memory, said: Arguments, caller: Caller) -> Any:
        signed = {signs: caller.name} if signs and caller.name else {}
        return attrgetter(name)(memory)(**said.given(), **signed)

    return ask


def _same_record(memory: Memory, ids: list[str]) -> Any:
    found = memory.get(ids[0]) if ids else None
    if found is None:
        raise UnknownRecordError(
            "this request was carried out before, and what it made was forgotten since"
        )
    return found


def _get(memory: Memory, said: Any, _: Caller) -> AnyRecord:
    found = memory.get(said.record_id, said.as_of)
    if found is None:
        raise UnknownRecordError(
            f"there is no record {said.record_id} in project {memory.project!r}"
        )
    return found


def _audit(memory: Memory, said: Any, _: Caller) -> list[LifeEvent]:
    life = memory.audit(said.record_id)
    if not life:
        raise UnknownRecordError(
            f"there is no record {said.record_id} in project {memory.project!r}, and never was one"
        )
    return life


def _stats(memory: Memory, _: Arguments, caller: Caller) -> Stats:
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
    kind = record.get("kind")
    if not isinstance(kind, str) or kind not in MODEL_OF_KIND:
        raise InvalidInputError.one(f"{field}.kind", kind, ", ".join(MODEL_OF_KIND))
    made = MODEL_OF_KIND[kind].model_validate(
        redact_json(dict(record))[0] if kind == "episode" else dict(record)
    )
    metadata = made.metadata
    if not includes(caller.scope, "govern"):
        _check_claims_nothing(metadata.validation, f"{field}.metadata.validation")
    signed: AnyRecord = made.altered(
        metadata=metadata.altered(source=metadata.source.altered(author=caller.name))
    )
    return signed


def _check_claims_nothing(validation: Validation, field: str) -> None:
    plain = {"status": "hypothesis", "verified_by": None, "verification_id": None}
    for name, usual in plain.items():
        claimed = getattr(validation, name)
        if claimed != usual:
            allowed = f"{usual or 'nothing'}; a token with the scope govern may claim more"
            raise InvalidInputError.one(f"{field}.{name}", claimed, allowed)


def _add(memory: Memory, said: arguments.Add, caller: Caller) -> str:
    return memory.add(_signed(said.record, caller, "record"))


def _add_many(memory: Memory, said: arguments.AddMany, caller: Caller) -> list[str]:
    return memory.add_many(
        _signed(record, caller, f"records.{number}") for number, record in enumerate(said.records)
    )


def _streamed(memory: Memory, said: Arguments, caller: Caller) -> Any:
    raise TypeError(
        f"{memory.project}: a stream is read and written by the surface itself ({said}, "
        f"{caller.name})"
    )


def _operation(
    name: str,
    scope: Scope,
    place: str,
    gives: Any,
    *,
    takes: type[Arguments] | None = None,
    tool: str | None = None,
    command: str | None = None,
    signs: Signature | None = None,
    do: Callable[[Memory, Any, Caller], Any] | None = None,
    **more: Any,
) -> Operation:
    method, path = place.split(" ")
    how = do or _asked(name, signs)
    more["takes_otherwise"] = takes
    return Operation(
        name,
        scope,
        "GET" if method == "GET" else "POST",
        path,
        gives,
        how,
        tool,
        command,
        signs,
        **more,
    )


_RECORDING: Final[dict[str, Any]] = {"signs": "author", "again": _same_record}
_DECIDING: Final[dict[str, Any]] = {"signs": "by", "again": _same_record}

_ALL: Final = (
    # recording
    _operation(
        "remember",
        "write",
        "POST /experiences",
        Experience,
        takes=arguments.Remember,
        tool="remember",
        command="remember",
        **_RECORDING,
    ),
    _operation(
        "record_fact",
        "write",
        "POST /facts",
        Fact,
        takes=arguments.RecordFact,
        tool="record_fact",
        command="record fact",
        **_RECORDING,
    ),
    _operation(
        "record_trajectory",
        "write",
        "POST /trajectories",
        Trajectory,
        takes=arguments.RecordTrajectory,
        tool="record_trajectory",
        command="record trajectory",
        **_RECORDING,
    ),
    _operation(
        "record_episode",
        "write",
        "POST /episodes",
        Episode,
        takes=arguments.RecordEpisode,
        tool="record_episode",
        command="record episode",
        **_RECORDING,
    ),
    _operation(
        "record_fix",
        "write",
        "POST /fixes",
        Fix,
        takes=arguments.RecordFix,
        tool="record_fix",
        command="record fix",
        **_RECORDING,
    ),
    _operation(
        "add",
        "write",
        "POST /records",
        str,
        takes=arguments.Add,
        do=_add,
        again=lambda _, ids: ids[0],
    ),
    _operation(
        "add_many",
        "write",
        "POST /records/batch",
        list[str],
        takes=arguments.AddMany,
        do=_add_many,
        again=lambda _, ids: ids,
    ),
    _operation(
        "credit",
        "write",
        "POST /credits",
        list[str],
        takes=arguments.Credit,
        tool="credit",
        command="credit",
        signs="by",
        again=lambda _, ids: ids,
    ),
    # asking
    _operation("recall", "read", "POST /recall", list[Hit], tool="recall", command="recall"),
    _operation("context", "read", "POST /context", Context, tool="context", command="context"),
    _operation("advise", "read", "POST /advice", Advice, tool="advise", command="advise"),
    _operation("get", "read", "GET /records/{record_id}", AnyRecord, do=_get, command="show"),
    _operation("care.page", "read", "GET /records", Page, command="browse"),
    _operation("care.links", "read", "GET /records/{record_id}/links", Links, command="audit"),
    _operation(
        "audit",
        "read",
        "GET /records/{record_id}/audit",
        list[LifeEvent],
        do=_audit,
        command="audit",
    ),
    _operation(
        "similar_issues",
        "read",
        "POST /similar-issues",
        SimilarIssues,
        tool="similar_issues",
        command="similar",
    ),
    _operation("odds", "read", "POST /odds", Odds, command="odds"),
    _operation("patterns", "read", "GET /patterns", list[Pattern], command="patterns"),
    _operation("fixes.temporal_patterns", "read", "GET /temporal-patterns", list[TemporalPattern]),
    _operation("fixes.strategies", "read", "GET /strategies", list[Strategy], command="strategies"),
    _operation("fixes.failed_strategies", "read", "GET /failed-strategies", list[Strategy]),
    _operation(
        "fixes.best_strategies",
        "read",
        "GET /best-strategies",
        dict[str, list[Strategy]],
        command="successful",
    ),
    _operation(
        "model_insights",
        "read",
        "GET /model-insights",
        ModelInsights,
        tool="insights",
        command="model",
    ),
    _operation("fixes.totals", "read", "GET /fixes/totals", FixTotals),
    _operation("fixes.days", "read", "GET /fixes/days", list[FixDay]),
    _operation("fixes.types", "read", "GET /fixes/types", list[IssueTypeRecord]),
    _operation("fixes.matrix", "read", "GET /fixes/matrix", list[FixCell], command="matrix"),
    _operation("fixes.trends", "read", "GET /fixes/trends", list[IssueTrend], command="trends"),
    _operation("fixes.fixers", "read", "GET /fixes/fixers", list[FixerRecord], command="fixers"),
    _operation("fixes.count", "read", "GET /fixes/count", int),
    _operation("solutions", "read", "POST /solutions", list[Solution], command="solutions"),
    _operation("rules", "read", "GET /rules", list[Rule], tool="rules", command="rules"),
    _operation("episodes.candidate_rules", "read", "GET /rules/candidates", list[Rule]),
    _operation("cards", "read", "GET /cards", list[Card], command="cards"),
    _operation("episodes.tasks", "read", "GET /tasks", list[TaskScores]),
    _operation("episodes.scores", "read", "GET /scores", ScoreHistory, command="scores"),
    _operation("episodes.compare", "read", "GET /comparison", Comparison, command="compare"),
    _operation("care.decisions", "read", "GET /decisions", list[Decision], command="decisions"),
    _operation("care.adopted", "read", "GET /adopted", list[Adopted]),
    _operation("tests.failing", "read", "GET /tests/failing", list[str]),
    _operation("stats", "read", "GET /stats", Stats, do=_stats, tool="stats", command="stats"),
    _operation("care.activity", "read", "GET /activity", list[Activity]),
    _operation("care.helpful", "read", "GET /helpful", list[Credited]),
    _operation("care.stale", "read", "GET /stale", list[Held]),
    _operation("care.change_mark", "read", "GET /change-mark", str),
    _operation("topology", "read", "GET /topology", Branch, tool="map", command="map"),
    _operation(
        "tree.hotspots", "read", "GET /hotspots", list[Hotspot], tool="hotspots", command="hotspots"
    ),
    _operation("reflect", "read", "GET /reflection", Reflection, tool="reflect", command="reflect"),
    _operation(
        "export", "read", "GET /export", AnyRecord, do=_streamed, command="export", streams="out"
    ),
    # deciding what is believed
    _operation(
        "verify",
        "govern",
        "POST /records/{record_id}/verify",
        AnyRecord,
        tool="verify",
        command="verify",
        **_RECORDING,
    ),
    _operation(
        "publish",
        "govern",
        "POST /records/{record_id}/publish",
        AnyRecord,
        command="publish",
        **_DECIDING,
    ),
    _operation(
        "archive",
        "govern",
        "POST /records/{record_id}/archive",
        AnyRecord,
        tool="archive",
        command="archive",
        **_DECIDING,
    ),
    _operation(
        "supersede",
        "govern",
        "POST /records/{old_id}/supersede",
        AnyRecord,
        command="supersede",
        **_DECIDING,
    ),
    _operation("consolidate", "govern", "POST /consolidate", Consolidation, command="consolidate"),
    _operation("rollback", "govern", "POST /rollback", Decision, command="rollback", **_DECIDING),
    _operation(
        "undo",
        "govern",
        "POST /decisions/{decision_id}/undo",
        AnyRecord,
        command="undo",
        **_DECIDING,
    ),
    # taking away, and looking after it
    _operation(
        "forget",
        "admin",
        "POST /forget",
        Forgotten,
        takes=arguments.Forget,
        command="forget",
        signs="by",
        destructive=True,
    ),
    _operation(
        "cleanup",
        "admin",
        "POST /cleanup",
        CleanedUp,
        command="cleanup",
        signs="by",
        destructive=True,
    ),
    _operation(
        "fixes.compress", "admin", "POST /compress", Compressed, command="compress", signs="by"
    ),
    _operation("compact", "admin", "POST /compact", Compacted, command="compact", destructive=True),
    _operation(
        "load",
        "admin",
        "POST /import",
        Loaded,
        takes=arguments.Load,
        do=_streamed,
        command="load",
        signs="by",
        streams="in",
    ),
    _operation(
        "backup",
        "admin",
        "GET /backup",
        bytes,
        do=_streamed,
        command="backup",
        streams="out",
        whole=True,
    ),
    _operation("doctor", "admin", "GET /doctor", Diagnosis, command="doctor"),
    _operation("rebuild", "admin", "POST /rebuild", int, command="rebuild"),
    _operation("reembed", "admin", "POST /reembed", int, command="reembed"),
    _operation("tree.sync", "admin", "POST /sync", Synced, command="sync"),
)

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {operation.name: operation for operation in _ALL}
)
_READING: Final = frozenset(each.name for each in _ALL if each.scope == "read") | {
    "doctor",
    "backup",
}

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
        "location": "a path of this machine",
    }
)
"""What `Memory` offers to its own process alone, and why."""
