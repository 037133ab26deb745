"""Which parts of a record a search looks at, and what a caller may narrow a question by."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Annotated, Any, Final

from pydantic import AfterValidator

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.fields import Model, Name, Text, Time, refuse
from hardwon.records.kinds import (
    Episode,
    Experience,
    Fact,
    Fix,
    Kind,
    Outcome,
    Record,
    Status,
    Trajectory,
)


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
        return chain(
            own, *((card.mistake_type, card.lesson, card.evidence) for card in record.mistake_cards)
        )
    if isinstance(record, Fix):
        issue = record.issue
        what = (
            issue.model,
            issue.issue_type,
            issue.description,
            issue.error_output or "",
            record.analysis,
        )
        more = (
            record.notes or "",
            issue.test_prompt or "",
            issue.actual_response or "",
            record.fixer_type,
        )
        return chain(what, record.fix_commands, more)
    return []


def _check_pair(pair: str) -> str:
    name, _, value = pair.partition("=")
    if not name or not value:
        raise refuse("a key and its value, as error_type=runtime")
    return pair


class Filters(Model):
    """All given ones must hold. `since` is included, `until` is not; `path` is a glob over the
    related files in which `*` also crosses folders; `key` is a key of experiences with its value,
    as `error_type=runtime`. `any_standing` is our own: also what is archived now, and sources that
    do not count now.
    """

    kind: Kind | None = None
    outcome: Outcome | None = None
    tool: Name | None = None
    task_id: Name | None = None
    model: Name | None = None
    issue_type: Name | None = None
    key: Annotated[Name, AfterValidator(_check_pair)] | None = None
    status: Status | None = None
    tag: Name | None = None
    author: Name | None = None
    since: Time | None = None
    until: Time | None = None
    path: Text | None = None
    any_standing: bool = False

    @classmethod
    def of(cls, project: str, given: dict[str, Any]) -> Filters:
        """Checks a caller's keywords. A memory answers for its own project only."""
        asked = given.pop("project", None)
        if asked not in (None, project):
            raise InvalidInputError.one(
                "project", asked, f"{project!r}, the project this memory was opened for"
            )
        for name, value in given.items():
            if name not in _ASKED:
                raise InvalidInputError.one(
                    name, value, f"the filters {', '.join(_ASKED)}, project"
                )
        return cls.model_validate(given)


_ASKED: Final = [name for name in Filters.model_fields if name != "any_standing"]
