"""Everything that `Memory` offers to callers outside this process, declared once: what it takes and
gives, the scope that it takes, and where it is found on each surface. REST routes, MCP tools, the
client and the matrices that test them are made from this table.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final, Literal, get_type_hints

from hardwon.errors import InvalidInputError, UnknownRecordError
from hardwon.first_use import lazy
from hardwon.memory import Memory
from hardwon.outside.locations import is_url
from hardwon.records.fields import check_that
from hardwon.records.kinds import MODEL_OF_KIND, AnyRecord, Validation, with_own_id
from hardwon.records.reading import read_record
from hardwon.surfaces.arguments import (
    Add,
    AddMany,
    Arguments,
    Credit,
    Forget,
    Remember,
    make_arguments,
)
from hardwon.trust.access import Caller, Scope, includes
from hardwon.trust.redact import redact_json


@cache
def _load_types() -> dict[str, Any]:
    """What the methods of `Memory` give, by name. Their own modules import most of it for type
    checkers alone, and whoever runs a single command does without.
    """
    rooms = {
        "fixes": "reports",
        "lessons": "fix_odds lesson rules scores",
        "memory": "ask context fix_lessons knowing results skills",
        "records": "kinds",
        "search": "rank",
        "tell": "advice",
        "tree": "topology",
    }
    names = [f"hardwon.{room}.{name}" for room, names in rooms.items() for name in names.split()]
    modules = map(import_module, names)
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

    def find_method(self, memory: Memory | type[Memory]) -> Callable[..., Any]:
        """The method that does it: of a memory, or of a group that hangs on one."""
        method: Callable[..., Any] = attrgetter(self.name)(memory)
        return method

    def __post_init__(self) -> None:
        if self.command == "":
            self.command = self.name.replace(".", " ").replace("_", "-")
        self.method, _, self.path = self.place.partition(" ")
        # what it takes in its path
        self.in_path = tuple(re.findall(r"{(\w+)}", self.path))
        # whether it changes nothing
        self.reads = self.scope == "read" or self.name in ("doctor", "backup")

    @lazy
    def gives(self) -> Any:
        """The type of its answer."""
        if self.answer is not None:
            return self.answer
        returns = SimpleNamespace(
            __annotations__={"return": self.find_method(Memory).__annotations__["return"]}
        )
        return get_type_hints(returns, _load_types())["return"]

    @lazy
    def takes(self) -> type[Arguments]:
        """The model of what it takes."""
        return self.arguments or make_arguments(self.find_method(Memory))

    def do(self, memory: Memory, arguments: Arguments, caller: Caller) -> Any:
        """Carries it out, and returns what it gives."""
        if self.run is not None:
            return self.run(memory, arguments, caller)
        signature = {self.signs: caller.name} if self.signs and caller.name else {}
        return self.find_method(memory)(**arguments.keywords(), **signature)

    @property
    def description(self) -> str:
        """What the method's docstring says."""
        return " ".join((self.find_method(Memory).__doc__ or "").split())


def _get(memory: Memory, arguments: Any, _: Caller) -> Any:
    record = memory.get(arguments.record_id, arguments.as_of)
    return _refuse_unknown(record, memory, arguments.record_id)


def _audit(memory: Memory, arguments: Any, _: Caller) -> Any:
    life = memory.audit(arguments.record_id)
    return _refuse_unknown(life, memory, f"{arguments.record_id}, and never was one,")


def _refuse_unknown(answer: Any, memory: Memory, what: str) -> Any:
    if not answer:
        raise UnknownRecordError(f"there is no record {what} in project {memory.project!r}")
    return answer


def _stats(memory: Memory, _: Arguments, caller: Caller) -> Any:
    """Where the file lies, or the database, is for those who are on this machine."""
    stats = memory.stats()
    if caller.token_id is None:
        return stats
    place = "PostgreSQL" if is_url(stats.location) else Path(stats.location).name
    return replace(stats, location=place)


def _add(memory: Memory, arguments: Any, caller: Caller) -> str:
    return _keep(memory, {"record": arguments.record}, caller)[0]


def _add_many(memory: Memory, arguments: Any, caller: Caller) -> list[str]:
    records = {f"records.{number}": record for number, record in enumerate(arguments.records)}
    return _keep(memory, records, caller)


def _keep(memory: Memory, records: Mapping[str, Mapping[str, Any]], caller: Caller) -> list[str]:
    """Keeps them, each under the name of its field. Where some are the metadata schema's own, which
    names no kind, they come in as a file of them would: as hypotheses, and the same ones once.
    """
    if all("kind" in record for record in records.values()):
        return memory.add_many(_sign(record, caller, field) for field, record in records.items())
    signed = []
    for record in records.values():
        named = _name_author(read_record(record), caller)
        signed.append(named if "id" in record else with_own_id(named))
    decides = includes(caller.scope, "govern")
    memory.care.take_in(signed, by=caller.name, at_once=True, may_retire=decides)
    return [record.id for record in signed]


def _sign(record: Mapping[str, Any], caller: Caller, field: str) -> AnyRecord:
    """The record as its caller's own. What it claims to be is taken from those alone who may decide
    that.
    """
    kind = record["kind"]
    if not isinstance(kind, str) or kind not in MODEL_OF_KIND:
        raise InvalidInputError.one(f"{field}.kind", kind, ", ".join(MODEL_OF_KIND))
    content = redact_json(dict(record))[0] if kind == "episode" else dict(record)
    made = MODEL_OF_KIND[kind].model_validate(content)
    if not includes(caller.scope, "govern"):
        for name in ("status", "verified_by", "verification_id"):
            claim, usual = (
                getattr(made.metadata.validation, name),
                Validation.model_fields[name].default,
            )
            check_that(
                claim == usual,
                f"{field}.metadata.validation.{name}",
                claim,
                f"{usual or 'nothing'}; a token with the scope govern may claim more",
            )
    return _name_author(made, caller)


def _name_author(record: AnyRecord, caller: Caller) -> AnyRecord:
    source = record.metadata.source.copy_with(author=caller.name)
    signed: AnyRecord = record.copy_with(metadata=record.metadata.copy_with(source=source))
    return signed


def _find_again(memory: Memory, ids: list[str]) -> Any:
    record = memory.get(ids[0]) if ids else None
    if record is None:
        raise UnknownRecordError(
            "this request was carried out before, and what it made was forgotten since"
        )
    return record


def _name_first(_: Memory, ids: list[str]) -> str:
    return ids[0]


def _name_all(_: Memory, ids: list[str]) -> list[str]:
    return ids


def _record(name: str, place: str, **more: Any) -> Operation:
    command = name.replace("record_", "record ")
    more = {"tool": name, "command": command, "signs": "author", "again": _find_again, **more}
    return Operation(name, "write", place, **more)


def _read(name: str, place: str, **more: Any) -> Operation:
    return Operation(name, "read", place, **more)


def _decide(name: str, place: str, **more: Any) -> Operation:
    return Operation(name, "govern", place, **{"signs": "by", "again": _find_again, **more})


def _look_after(name: str, place: str, **more: Any) -> Operation:
    return Operation(name, "admin", place, **more)


def _read_by_programs(name: str) -> Operation:
    """Where its name says, and no command."""
    return _read(name, f"GET /{name.replace('.', '/').replace('_', '-')}", command=None)


_READ_BY_PROGRAMS: Final = """
    patterns cards tests.failing episodes.tasks episodes.scores episodes.compare
    fixes.temporal_patterns fixes.strategies fixes.failed_strategies fixes.best_strategies
    fixes.totals fixes.days fixes.matrix fixes.trends fixes.fixers
    care.adopted care.activity care.failures care.progress care.helpful care.change_mark
"""
_ALL: Final = (
    _record("remember", "POST /experiences", arguments=Remember),
    _record("record_fact", "POST /facts"),
    _record("record_trajectory", "POST /trajectories"),
    _record("record_episode", "POST /episodes"),
    _record("record_fix", "POST /fixes"),
    _record(
        "add", "POST /records", arguments=Add, run=_add, again=_name_first, signs=None, command=None
    ),
    _record(
        "add_many",
        "POST /records/batch",
        arguments=AddMany,
        run=_add_many,
        again=_name_all,
        signs=None,
        tool=None,
        command=None,
    ),
    _record("credit", "POST /credits", arguments=Credit, again=_name_all, signs="by"),
    _read("recall", "POST /recall", tool="search"),
    _read("context", "POST /context", tool="context"),
    _read("advise", "POST /advice", tool="advise"),
    _read(
        "get", "GET /records/{record_id}", run=_get, tool="show", command="show", answer=AnyRecord
    ),
    _read("care.page", "GET /records", command="browse"),
    _read("care.links", "GET /records/{record_id}/links", command=None),
    _read("audit", "GET /records/{record_id}/audit", command="care audit", run=_audit),
    _read("similar_issues", "POST /similar-issues", tool="similar_issues", command=None),
    _read("odds", "POST /odds", command=None),
    _read("model_insights", "GET /model-insights", tool="insights", command=None),
    _read("solutions", "POST /solutions", command=None),
    _read("lessons", "GET /lessons"),
    _read("why", "GET /lessons/{lesson_id}"),
    _decide("right", "POST /lessons/{lesson_id}/right", again=None),
    _decide("wrong", "POST /lessons/{lesson_id}/wrong", again=None),
    _read("rules", "GET /rules", tool="rules"),
    _read("care.decisions", "GET /care/decisions"),
    _read("skills.list", "GET /skills", command=None),
    _read("stats", "GET /stats", run=_stats, tool="stats"),
    _read("topology", "GET /topology", tool="map", command="tree map"),
    _read("tree.hotspots", "GET /tree/hotspots", tool="hotspots", command=None),
    *map(_read_by_programs, _READ_BY_PROGRAMS.split()),
    _read("reflect", "GET /reflection", tool="reflect", command=None),
    _read("export", "GET /export", streams="out", answer=AnyRecord),
    _decide("verify", "POST /records/{record_id}/verify", tool="verify", signs="author"),
    _decide("publish", "POST /records/{record_id}/publish", command="care publish"),
    _decide("archive", "POST /records/{record_id}/archive", tool="archive", command="care archive"),
    _decide("supersede", "POST /records/{old_id}/supersede", command="care supersede"),
    _decide("consolidate", "POST /consolidate", command="care consolidate", signs=None, again=None),
    _decide("rollback", "POST /rollback", command="care rollback"),
    _decide("undo", "POST /decisions/{decision_id}/undo"),
    _look_after("forget", "POST /forget", arguments=Forget, signs="by", destructive=True),
    _look_after("cleanup", "POST /cleanup", command="care cleanup", signs="by", destructive=True),
    _look_after("compact", "POST /compact", command="care compact", destructive=True),
    _look_after("load", "POST /import", signs="by", streams="in"),
    _look_after(
        "backup", "GET /backup", command="care backup", streams="out", whole=True, answer=bytes
    ),
    _look_after("doctor", "GET /doctor"),
    _look_after("rebuild", "POST /rebuild", command="care rebuild"),
    _look_after("reembed", "POST /reembed", command="care reembed"),
    _look_after("tree.sync", "POST /tree/sync"),
)

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {operation.name: operation for operation in _ALL}
)
