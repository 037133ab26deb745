"""One record: what it says, where it came from, how far it is believed and why, and everything that
happened to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError, UnknownRecordError
from hardwon.memory.results import LifeEvent, Links
from hardwon.records.fields import Model
from hardwon.records.kinds import (
    Adopted,
    AnyRecord,
    Cleaned,
    Decision,
    Episode,
    Experience,
    Fact,
    Fix,
    Issue,
    Trajectory,
)
from hardwon.search.rank import headline, outcome_of
from hardwon.surfaces.operations import jsonable
from hardwon.surfaces.web.look import shortened
from hardwon.surfaces.web.pages import Ask, Download, PageRequest, WebPage
from hardwon.surfaces.web.search_page import moment

Form = Literal["text", "pre", "list", "commands", "pair"]
_NOT_FOUND: Final = 404
_TITLE_CHARS: Final = 120


class Field(NamedTuple):
    """Something that a record says, and how it is to be shown."""

    name: str
    value: Any
    form: Form = "pair"


class Other(NamedTuple):
    """Another record that this one has to do with; `record` is None where it is not here, or not
    looked up.
    """

    how: str
    id: str
    record: AnyRecord | None


class Standing(NamedTuple):
    """What its life adds up to."""

    helped: int
    hindered: int
    repeated: int
    stale: str
    """The newest of what was noticed of its files: stale, fresh or nothing."""


def view(ask: Ask, request: PageRequest) -> WebPage | Download:
    as_of = request.query.get("as_of", "").strip()
    try:
        record: AnyRecord = ask(
            "get", record_id=request.item, **({"as_of": moment(as_of)} if as_of else {})
        )
    except (InvalidInputError, UnknownRecordError) as error:
        if as_of and isinstance(error, InvalidInputError) and error.field != "record_id":
            raise
        return _unknown(ask, request)
    written = json.dumps(jsonable(record), ensure_ascii=False, indent=2)
    if request.query.get("format") == "json":
        return Download(
            f"{record.kind}-{record.id}.json", f"{written}\n".encode(), "application/json"
        )
    life: list[LifeEvent] = ask("audit", record_id=record.id)
    context = {
        "record": record,
        "headline": headline(record),
        "outcome": outcome_of(record),
        "fields": [
            field for field in fields_of(record) if field.value not in (None, "", [], {}, ())
        ],
        "steps": record.steps if isinstance(record, Trajectory) else [],
        "cards": record.mistake_cards if isinstance(record, Episode) else [],
        "life": life,
        "standing": _standing(life),
        "others": list(_others(ask, record)),
        "json": written,
        "as_of": as_of,
        "glob_of": lambda path: re.sub(r"([*?[])", r"[\1]", path),
    }
    return WebPage("record.html", context, shortened(headline(record), _TITLE_CHARS) or record.kind)


def _unknown(ask: Ask, request: PageRequest) -> WebPage:
    """No such record; of one that was forgotten, what is left to tell."""
    try:
        life = ask("audit", record_id=request.item)
    except (InvalidInputError, UnknownRecordError):
        life = []
    return WebPage(
        "record_unknown.html", {"item": request.item, "life": life}, "No such record", _NOT_FOUND
    )


def _standing(life: list[LifeEvent]) -> Standing:
    credited = [each.event.helped for each in life if each.event and each.kind == "credited"]
    noticed = [each.kind for each in life if each.kind in ("stale", "fresh")]
    repeated = sum(1 for each in life if each.kind == "repeated")
    return Standing(
        credited.count(True), credited.count(False), repeated, noticed[-1] if noticed else ""
    )


def _others(ask: Ask, record: AnyRecord) -> Iterator[Other]:
    links: Links = ask("care.links", record_id=record.id)
    named = [("replaced by", links.replaced_by)] if links.replaced_by else []
    named += [("replaces", each) for each in links.replaces]
    named += [("contradicts", each) for each in links.contradicts]
    named += [("was recalled before it", each) for each in record.recalled or ()]
    if isinstance(record, Decision):
        named += [("evidence", each) for each in record.evidence]
    if isinstance(record, Cleaned):
        named.append(("left the history by", record.decision))
    for number, (how, each) in enumerate(named):
        yield Other(how, each, ask.record(each) if number < limits.WEB_LINKED_SHOWN else None)


# --- what each kind says ---


def fields_of(record: AnyRecord) -> Iterator[Field]:
    """Everything that a record says itself, in the order in which people want to know it. Steps and
    mistake cards have their own places on the page.
    """
    match record:
        case Experience():
            yield Field("Content", record.content, "text")
            yield from _pairs(record, "outcome", "tool", "summary", "unrouted", "own_schema")
            yield from (Field(name, plain(value)) for name, value in record.extra.items())
        case Fact():
            yield Field("Content", record.content, "text")
            yield from _pairs(record, "fact_type", "confidence", "original")
            yield from _pairs(record.entities, "files", "functions", "libraries", "error_codes")
            yield Field("What keeps it from standing alone", record.findings, "list")
        case Trajectory():
            yield Field("Task", record.task, "text")
            yield from _pairs(record, "final_reward")
        case Episode():
            yield Field("Summary", record.trajectory_summary, "text")
            yield from _pairs(record, "task_id", "score", "steps")
            yield Field("Mistakes", record.mistakes, "list")
            yield Field("Successes", record.successes, "list")
        case Fix():
            yield from _fix_fields(record)
        case Decision():
            yield Field("Text", record.text, "text")
            yield from _pairs(record, "action", "task_id", "target", "replacement", "reason")
            yield Field("Tasks", record.tasks, "list")
        case Adopted():
            yield from _pairs(record, "origin")
            yield Field("Data", plain(record.data), "pre")
        case _:
            held = jsonable(record)
            yield from (
                Field(_said(name), plain(held[name])) for name in held if name not in _ENVELOPE
            )


_ENVELOPE: Final = ("id", "kind", "metadata", "redacted", "recalled", "packed", "decision")
_ISSUE_TEXTS: Final = ("error_output", "test_prompt", "expected_pattern", "actual_response")


def _fix_fields(fix: Fix) -> Iterator[Field]:
    issue: Issue = fix.issue
    yield Field("Issue", issue.description, "text")
    yield from _pairs(issue, "model", "issue_type", "timestamp")
    for name in _ISSUE_TEXTS:
        yield Field(_said(name), getattr(issue, name), "pre")
    yield from (Field(name, plain(value)) for name, value in issue.__pydantic_extra__.items())
    yield Field("Analysis", fix.analysis, "text")
    yield Field("What was run", fix.fix_commands, "commands")
    yield Field("How to verify", fix.verification_steps, "commands")
    yield Field("Applied", "yes" if fix.fix_success else "no")
    yield Field("Verified", "yes" if fix.verification_success else "no")
    yield from _pairs(
        fix, "fixer_type", "fix_type", "confidence", "execution_time_seconds", "expected_outcome"
    )
    yield Field("Notes", fix.notes, "text")
    for name, held in (
        ("Test environment", issue.test_environment),
        ("System", fix.system_info),
        ("Other", fix.other),
    ):
        yield Field(name, plain(held) if held else "", "pre")


def _pairs(model: Model, *names: str) -> Iterator[Field]:
    for name in names:
        value = getattr(model, name)
        if value is not None:
            yield Field(_said(name), plain(value))


def _said(name: str) -> str:
    return name.replace("_", " ").capitalize()


def plain(value: Any) -> str:
    """A value as text: a text as it is, names with commas, whatever has more to it as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return json.dumps(jsonable(value), ensure_ascii=False, indent=2)
