"""What clients read without calling a tool: resources (JSON under `hardwon://`, skills under
`skill://`), and prompts, messages to start from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pkgutil import get_data
from typing import Any, Final, NamedTuple

import hardwon
from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError
from hardwon.memory.ask import as_data
from hardwon.memory.skills import FILE_NAME, Skill
from hardwon.records.fields import check_that
from hardwon.records.kinds import MODEL_OF_KIND, ROUTES
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.mcp.btb import ROUTER
from hardwon.surfaces.mcp.cut import clean_json, fit
from hardwon.surfaces.mcp.words import describe_answer, list_records
from hardwon.surfaces.shapes import jsonable, make_schema
from hardwon.tree.topology import RECENT_SHOWN

# One resource as JSON. A reader asked for this very one, and nearly every record fits whole; most
# have two kilobytes.
RESOURCE_CHARS_MAX: Final = 200_000

SCHEME: Final = "hardwon://"
BTB_SCHEME: Final = "btb://"
SKILL_SCHEME: Final = "skill://"
# Lines of recalled text in one prompt: two screens.
_LINES_MAX: Final = 60


Read = Callable[[Ask, str], Any]


class Resource(NamedTuple):
    """`parameter`: what follows its name in the address, None where nothing does."""

    title: str
    description: str
    read: Read
    parameter: str | None = None


RESOURCES: Final[dict[str, Resource]] = {
    "topology": Resource(
        "The map of the memory",
        "The tree of experiences by outcome, tool and key, with counts.",
        lambda ask, _: ask("topology"),
    ),
    "stats": Resource(
        "How much there is",
        "Counts by kind, outcome, tool, status and author.",
        lambda ask, _: ask("stats"),
    ),
}


def _offer(name: str, title: str, parameter: str | None = None) -> Callable[[Read], None]:
    """Makes a resource of a function, whose docstring is what a client is told of it."""

    def add(read: Read) -> None:
        RESOURCES[name] = Resource(title, " ".join(str(read.__doc__).split()), read, parameter)

    return add


@_offer("schema", "What records look like")
def read_schema(_: Ask, __: str) -> Any:
    """The JSON Schema of each kind of record, and the keys that outcomes require."""
    kinds = ("experience", "fact", "trajectory", "episode", "fix")
    routes = []
    for (outcome, tool), route in ROUTES.items():
        key, values = (route[0], list(route[1])) if route else (None, None)
        routes.append({"outcome": outcome, "tool": tool, "key": key, "values": values})
    return {"records": {kind: make_schema(MODEL_OF_KIND[kind]) for kind in kinds}, "routes": routes}


@_offer("health", "Whether all is well")
def read_health(ask: Ask, _: str) -> Any:
    """Whether the memory answers, its version, and who you are to it."""
    about = {
        "version": hardwon.__version__,
        "project": ask.project,
        "author": ask.caller.name,
        "scope": ask.caller.scope,
    }
    try:
        stats = ask("stats")
    except HardwonError as error:
        return {"status": "failing", "problem": str(error), **about}
    return {"status": "ok", **about, "records": stats.records, "size_bytes": stats.size_bytes}


@_offer("recent", "The newest records", "count")
def read_recent(ask: Ask, count: str) -> Any:
    """The newest records, as many as you say."""
    allowed = f"a whole number from 1 to {limits.PAGE_RECORDS_MAX}"
    check_that(count.isdecimal(), "count", count, allowed)
    return {"records": ask("care.page", limit=int(count[: limits.NAME_CHARS_MAX])).records}


@_offer("record", "One record", "id")
def read_record(ask: Ask, record_id: str) -> Any:
    """A record by its id."""
    return ask("get", record_id=record_id)


_OF_BTB: Final = ("topology", "stats", "schema", "health", "recent")


def make_address(name: str, scheme: str = SCHEME) -> str:
    """A resource's address; that of one with a parameter is a template."""
    parameter = RESOURCES[name].parameter
    return f"{scheme}{name}/{{{parameter}}}" if parameter else f"{scheme}{name}"


def list_resources(btb: bool, templates: bool) -> Iterator[dict[str, Any]]:
    """Those with a parameter, or those without, as the protocol tells them."""
    named = [(name, name, SCHEME) for name in RESOURCES]
    if btb:
        named += [(f"btb_{name}", name, BTB_SCHEME) for name in _OF_BTB]
    for title, name, scheme in named:
        resource = RESOURCES[name]
        if bool(resource.parameter) == templates:
            yield {
                "name": title,
                "title": resource.title,
                "uri_template" if templates else "uri": make_address(name, scheme),
                "description": resource.description,
                "mime_type": "application/json",
            }


def read_resource(ask: Ask, address: str, *, btb: bool = False) -> str:
    """The resource at this address, as JSON of bounded size; a skill as it is."""
    if address.startswith(SKILL_SCHEME):
        return find_skill(ask, address).text
    schemes = (SCHEME, BTB_SCHEME) if btb else (SCHEME,)
    scheme = next((scheme for scheme in schemes if address.startswith(scheme)), "")
    name, _, parameter = address.removeprefix(scheme).partition("/")
    resource = RESOURCES.get(name) if scheme else None
    if resource is None or bool(parameter) != bool(resource.parameter):
        raise InvalidInputError.one("uri", address, ", ".join(map(make_address, RESOURCES)))
    if scheme == BTB_SCHEME and name == "schema":
        return json.dumps(ROUTER.schema, ensure_ascii=False)
    clean = clean_json(jsonable(resource.read(ask, parameter), origins=True))
    value, left_out = fit(clean, RESOURCE_CHARS_MAX)
    if left_out:
        note = f"Left out to keep this short: {left_out}. "
        value = {**value, "left_out": f"{note}hardwon show and hardwon export have all of it."}
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def make_skill_address(skill: Skill) -> str:
    """Where its file is read."""
    return f"{SKILL_SCHEME}{skill.name}/{FILE_NAME}"


def find_skill(ask: Ask, uri: str) -> Skill:
    """The skill whose file is at this address."""
    skills = {make_skill_address(skill): skill for skill in ask("skills.list")}
    check_that(uri in skills, "uri", uri, ", ".join(skills) or "none: no skill is there yet")
    skill: Skill = skills[uri]
    return skill


def describe_skill(skill: Skill) -> dict[str, Any]:
    """As the Skills extension has it: what it begins with, and the digest of its only file."""
    text, uri = skill.text.encode(), make_skill_address(skill)
    file = {"uri": uri, "digest": f"sha256:{sha256(text).hexdigest()}", "size": len(text)}
    head = {name: getattr(skill, name) for name in ("name", "description", "metadata")}
    return {"uri": uri, "frontmatter": head, "resources": [file]}


WritePrompt = Callable[[Ask, Mapping[str, str]], str]


class Prompt(NamedTuple):
    """`arguments` are the names of what it takes, with what they mean; all of them have to be
    given.
    """

    title: str
    description: str
    write: WritePrompt
    arguments: Mapping[str, str] = {}


PROMPTS: Final[dict[str, Prompt]] = {}


def _offer_prompt(name: str, title: str, **arguments: str) -> Callable[[WritePrompt], None]:
    """Makes a prompt of a function, whose docstring is what a client is told of it."""

    def add(write: WritePrompt) -> None:
        PROMPTS[name] = Prompt(title, " ".join(str(write.__doc__).split()), write, arguments)

    return add


def _fill(name: str, **parts: str) -> str:
    """The text of a prompt, with what the memory knows in its places."""
    text = get_data(__name__, f"prompts/{name}.txt") or b""
    return text.decode().rstrip().format(**parts)


def _tell(ask: Ask, operation: str, **arguments: Any) -> str:
    return describe_answer(operation, ask(operation, **arguments))


@_offer_prompt("memory_review", "Review the memory")
def review_memory(ask: Ask, _: Mapping[str, str]) -> str:
    """What the memory adds up to, and what its readers should do differently."""
    newest = ask("care.page", limit=RECENT_SHOWN, status="hypothesis").records
    return _fill(
        "memory_review",
        stats=_tell(ask, "stats"),
        reflection=_tell(ask, "reflect"),
        hotspots=_tell(ask, "tree.hotspots"),
        newest=as_data(list_records(newest)) if newest else "none",
    )


@_offer_prompt(
    "debug_session",
    "Debug with the memory",
    error="The error, as it was seen: its message, and the end of its trace.",
)
def debug_session(ask: Ask, arguments: Mapping[str, str]) -> str:
    """Start on an error with what is known about it."""
    error = arguments["error"]
    lines = error[: limits.CONTEXT_LINE_CHARS_MAX].splitlines()[:_LINES_MAX]
    return _fill(
        "debug_session",
        error="\n".join(f"    {line}" for line in lines),
        context=_tell(ask, "context", query=error, budget_tokens=limits.FIX_CONTEXT_TOKENS),
        failures=_tell(ask, "recall", query=error, k=RECENT_SHOWN, outcome="failure"),
    )


@_offer_prompt("schema_discovery", "Find a better schema")
def discover_schema(ask: Ask, _: Mapping[str, str]) -> str:
    """How experiences are filed so far, and how they could be."""
    keys: dict[str, set[str]] = {}
    for record in ask("care.page", limit=limits.PAGE_RECORDS, kind="experience").records:
        for name, value in record.extra.items():
            keys.setdefault(name, set()).add(str(value))
    used = [
        f"{name}: {', '.join(sorted(values)[:RECENT_SHOWN])}"
        for name, values in sorted(keys.items())
    ]
    return _fill(
        "schema_discovery",
        topology=_tell(ask, "topology"),
        keys=as_data(used[:_LINES_MAX]) if used else "none besides those",
        schema=json.dumps(ROUTER.schema, indent=1),
    )


def write_prompt(ask: Ask, name: str, arguments: Mapping[str, str]) -> str:
    """The message that a prompt is. Raises where an argument is missing."""
    if name not in PROMPTS:
        raise InvalidInputError.one("name", name, ", ".join(PROMPTS))
    if "error_description" in arguments:  # as the BTB server calls it
        arguments = {"error": arguments["error_description"], **arguments}
    for argument, meaning in PROMPTS[name].arguments.items():
        text = arguments.get(argument, "")
        check_that(text.strip(), argument, text, meaning)
    return PROMPTS[name].write(ask, arguments)
