"""What a caller may narrow a question by."""

import re
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, Self, TypedDict

from pydantic import AfterValidator, Field

from hardwon.errors import InvalidInputError, Problem
from hardwon.records.fields import Model, Name, Text, Time, refuse
from hardwon.records.kinds import Ending, FactType, Kind, OutcomeWord, SourceType, Status


def _check_pair(pair: str) -> str:
    name, _, value = pair.partition("=")
    if not name or not value:
        raise refuse("a key and its value, as error_type=runtime")
    return pair


def _check_commit(commit: str) -> str:
    if not _COMMIT.fullmatch(commit):
        raise refuse("a git commit, or its first 7 or more hexadecimal digits")
    return commit.lower()


_COMMIT: Final = re.compile(r"[0-9a-fA-F]{7,64}")


class MoreFilters(TypedDict, total=False):
    """`FilterKeywords` of a method that asks for a task and a tag itself."""

    kind: Kind | None
    outcome: Ending | None
    tool: str | None
    fact_type: FactType | None
    entity: str | None
    model: str | None
    issue_type: str | None
    key: str | None
    status: Status | None
    failure_hash: str | None
    author: str | None
    source_type: SourceType | None
    source_id: str | None
    commit: str | None
    since: datetime | str | None
    until: datetime | str | None
    path: str | None
    project: str | None


class FilterKeywords(MoreFilters, total=False):
    """`Narrowing` as keywords, for editors and type checkers."""

    task_id: str | None
    tag: str | None


class Narrowing(Model):
    """What a question may be narrowed by; all that are given must hold."""

    kind: Annotated[
        Kind | None, Field(description="experience, fact, trajectory, episode or fix.")
    ] = None
    outcome: Annotated[
        OutcomeWord | None,
        Field(
            description="success or failure, of whatever was tried; partial, of runs and episodes; "
            "unknown, of runs; learning or interaction, of experiences."
        ),
    ] = None
    tool: Annotated[Name | None, Field(description="Of experiences with this tool.")] = None
    fact_type: Annotated[
        FactType | None, Field(description="Of facts: error, solution, observation or decision.")
    ] = None
    entity: Annotated[
        Name | None,
        Field(description="Of facts that name it: a file, function, library or error code."),
    ] = None
    task_id: Annotated[Name | None, Field(description="Of this task's episodes.")] = None
    model: Annotated[Name | None, Field(description="Of this model's fixes.")] = None
    issue_type: Annotated[Name | None, Field(description="Of fixes of this issue type.")] = None
    key: Annotated[
        Annotated[Name, AfterValidator(_check_pair)] | None,
        Field(description="Of experiences with this KEY=VALUE.", examples=["error_type=runtime"]),
    ] = None
    status: Annotated[
        Status | None, Field(description="hypothesis, verified, published or archived.")
    ] = None
    failure_hash: Annotated[Name | None, Field(description="Of this very failure.")] = None
    tag: Annotated[Name | None, Field(description="With this tag.")] = None
    author: Annotated[Name | None, Field(description="By this author.")] = None
    source_type: Annotated[
        SourceType | None,
        Field(description="From user_interaction, agent_execution, test_result or file_analysis."),
    ] = None
    source_id: Annotated[Name | None, Field(description="Of this session, run or trace.")] = None
    commit: Annotated[
        Annotated[Name, AfterValidator(_check_commit)] | None,
        Field(description="Recorded at this git commit, or one that begins so."),
    ] = None
    since: Annotated[Time | None, Field(description="From this time on, with a zone.")] = None
    until: Annotated[Time | None, Field(description="Before this time.")] = None
    path: Annotated[
        Text | None,
        Field(description="About files whose path matches this glob.", examples=["src/*.py"]),
    ] = None


class Filters(Narrowing):
    """All given ones must hold. `since` is included, `until` is not; `path` is a glob over the
    related files in which `*` also crosses folders; `key` is a key of experiences with its value,
    as `error_type=runtime`. Two are our own. `any_standing`: also what is archived now, and sources
    that do not count now. `recorded_here`: not what the author recorded elsewhere.
    """

    any_standing: bool = False
    recorded_here: bool = False

    @classmethod
    def of(cls, project: str, keywords: dict[str, Any]) -> Self:
        """Checks a caller's keywords. A memory answers for its own project only."""
        asked = keywords.pop("project", None)
        problems = [
            Problem(name, keywords.pop(name), f"the filters {', '.join(_ASKED)}, project")
            for name in sorted(keywords.keys() - _ASKED)
        ]
        if asked not in (None, project):
            own = f"{project!r}, the project this memory was opened for"
            problems.append(Problem("project", asked, own))
        try:
            filters = cls.model_validate(keywords)
        except InvalidInputError as error:
            problems += error.problems
        if problems:
            raise InvalidInputError(problems)
        return filters


_ASKED: Final = Narrowing.model_fields.keys()


@cache
def no_filters() -> Filters:
    """Of whoever asks for everything. Made when it is needed: pydantic takes its time."""
    return Filters()
