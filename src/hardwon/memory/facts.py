"""Facts worth keeping: what a sentence is about, whether it stands alone, and whether somebody said
it before.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hardwon import limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.learn import prompts as restating
from hardwon.memory.consolidate import answer_of
from hardwon.memory.project import NO_LLM, Change, Project, refresh_status
from hardwon.outside.llm import Llm
from hardwon.records.fields import check_flag, new_id
from hardwon.records.kinds import Event, Fact
from hardwon.store.base import Writer
from hardwon.store.query import readable
from hardwon.text import entities
from hardwon.text.sentences import fact_key, lint, repeats, same_words
from hardwon.trust.redact import clean_event

_log = logging.getLogger("hardwon")


def state(project: Project, given: Fact, restate: bool) -> Fact:
    """A fact as it will be kept; with `restate`, in the words of the LLM."""
    check_flag("restate", restate)
    fact = stated(project.prepare(given, project.head))
    if not restate:
        return fact
    try:
        llm = project.llm
    except LlmError as error:
        _log.warning("the fact is kept as it was said: %s", error)
        return fact
    if llm is None:
        raise InvalidInputError.one("restate", True, f"false: {NO_LLM}")
    return project.prepare(restated(fact, llm))


def record(project: Project, given: Sequence[Fact]) -> list[Fact]:
    """Keeps what is new of these; of what is known, the first fact that says it comes back."""
    vectors = dict(project.vectors_of(given))

    def work(change: Change) -> list[Fact]:
        kept: list[Fact] = []
        for fact in given:
            first = said_before(change.writer, project.name, fact)
            if first is None:
                change.append([fact])
                change.keep_vectors([(fact.id, vectors[fact.id])] if fact.id in vectors else [])
            else:
                repeat(change.writer, project.name, first, fact, project.now())
                change.concern([first.id])
            kept.append(first or fact)
        return kept

    return project.carry_out(work)


def stated(fact: Fact) -> Fact:
    """The fact with the names in its sentence, its times resolved, and what keeps it from standing
    alone.
    """
    fact = named(fact)
    changes: dict[str, Any] = {}
    linted = lint(fact.content, fact.metadata.context.timestamp)
    if linted.text != fact.content and len(linted.text) <= limits.TEXT_CHARS_MAX:
        changes |= {"content": linted.text, "original": fact.content}
    if linted.left:
        changes["findings"] = list(map(str, linted.left))
    return fact.altered(**changes) if changes else fact


def named(fact: Fact) -> Fact:
    """With the names in its sentence, which a record that was added, or loaded, need not have."""
    found = entities.added(fact.entities, entities.find(fact.content))
    return fact if found is fact.entities else fact.altered(entities=found)


def restated(fact: Fact, llm: Llm) -> Fact:
    """The fact in a model's words, with its own beside them; as it was, with a warning, where the
    model is of no use.
    """
    try:
        sentence = restating.sentence_from(answer_of(llm, *restating.sentence_request(fact)), fact)
    except (LlmError, InvalidInputError) as error:
        _log.warning("the fact is kept as it was said, the LLM was of no use: %s", error)
        return fact
    if sentence == fact.content:
        return fact
    said = fact.original or fact.content
    return stated(fact.altered(content=sentence, original=None, findings=None)).altered(
        original=said
    )


def said_before(writer: Writer, project: str, fact: Fact) -> Fact | None:
    """The first fact that says the same, if the one who says it again has a say."""
    alike = writer.facts_with_key(project, fact_key(fact), limits.FACTS_COMPARED_MAX)
    for first in readable(alike):
        if isinstance(first, Fact) and repeats(named(first), fact):
            return None if fact.metadata.source.author in writer.rolled_back(project) else first
    return None


def repeat(writer: Writer, project: str, first: Fact, again: Fact, at: datetime) -> None:
    """Somebody said it again. One event tells a day of it: an agent that says the same all day says
    it once.
    """
    by = again.metadata.source.author
    event = Event(id=new_id(at), record_id=first.id, kind="repeated", at=at, by=by)
    if not same_words(first, again):
        event = event.altered(reason=again.content)
    event = clean_event(event)
    told = writer.events_of(project, first.id)
    if not any(
        each.kind == "repeated" and each.by == event.by and _day(each) == _day(event)
        for each in told
    ):
        writer.add_events(project, [event])
        refresh_status(writer, project, first.id)


def _day(event: Event) -> int:
    return event.at_us // limits.DAY_US
