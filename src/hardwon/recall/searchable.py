"""Which parts of a record a search looks at."""

from __future__ import annotations

from collections.abc import Iterator

from hardwon import limits
from hardwon.model import Episode, Experience, Fact, Fix, Record, Trajectory


def searchable_text(record: Record) -> str:
    """The record's texts in the order of what they tell about it, cut at what is indexed."""
    parts: list[str] = []
    room = limits.INDEXED_CHARS_MAX
    for part in _parts(record):
        if room <= 0:
            break
        parts.append(part)
        room -= len(part) + 1
    return "\n".join(parts)[: limits.INDEXED_CHARS_MAX]


def _parts(record: Record) -> Iterator[str]:
    if isinstance(record, Experience):
        yield record.content
        yield record.summary
        if record.tool:
            yield record.tool
        yield from (value for value in record.extra.values() if isinstance(value, str))
    elif isinstance(record, Fact):
        entities = record.entities
        yield record.content
        for names in (entities.files, entities.functions, entities.libraries, entities.error_codes or []):
            yield from names
    elif isinstance(record, Trajectory):
        yield record.task
        for step in record.steps:
            yield step.action
            yield step.observation
    elif isinstance(record, Episode):
        yield from (record.task_id, record.trajectory_summary, *record.mistakes, *record.successes)
        for card in record.mistake_cards:
            yield from (card.mistake_type, card.lesson, card.evidence)
    elif isinstance(record, Fix):
        yield from _fix_parts(record)
    yield from record.metadata.tags
    yield from (file.path for file in record.metadata.context.related_files)


def _fix_parts(fix: Fix) -> Iterator[str]:
    issue = fix.issue
    yield from (issue.model, issue.issue_type, issue.description, issue.error_output or "", fix.analysis)
    yield from fix.fix_commands
    yield from (fix.notes or "", issue.test_prompt or "", issue.actual_response or "", fix.fixer_type)
