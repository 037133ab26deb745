"""Which parts of a record a search looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from hardwon import limits
from hardwon.model import Episode, Experience, Fact, Fix, Record, Trajectory


def searchable_text(record: Record) -> str:
    """The record's texts in the order of what they tell about it, cut at what is indexed."""
    metadata = record.metadata
    parts = [*own_texts(record), *metadata.tags]
    if metadata.context.related_files:
        parts += [file.path for file in metadata.context.related_files]
    return "\n".join(parts)[: limits.INDEXED_CHARS_MAX]


def own_texts(record: Record) -> Iterable[str]:
    """What the record says itself, without its envelope."""
    if isinstance(record, Experience):
        extra = [value for value in record.extra.values() if isinstance(value, str)]
        return [record.content, record.summary.replace("_", " "), record.tool or "", *extra]
    if isinstance(record, Fact):
        entities = record.entities
        names = (entities.files, entities.functions, entities.libraries, entities.error_codes or [])
        return chain([record.content], *names)
    if isinstance(record, Trajectory):
        return chain([record.task], *((step.action, step.observation) for step in record.steps))
    if isinstance(record, Episode):
        own = (record.task_id, record.trajectory_summary, *record.mistakes, *record.successes)
        return chain(own, *((card.mistake_type, card.lesson, card.evidence) for card in record.mistake_cards))
    if isinstance(record, Fix):
        return _fix_parts(record)
    return []


def _fix_parts(fix: Fix) -> Iterator[str]:
    issue = fix.issue
    yield from (issue.model, issue.issue_type, issue.description, issue.error_output or "", fix.analysis)
    yield from fix.fix_commands
    yield from (fix.notes or "", issue.test_prompt or "", issue.actual_response or "", fix.fixer_type)
