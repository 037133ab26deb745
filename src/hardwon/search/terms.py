"""What a caller may narrow a question by."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator

from hardwon.errors import InvalidInputError
from hardwon.records.fields import Model, Name, Text, Time, refuse
from hardwon.records.kinds import (
    Kind,
    Outcome,
    Status,
)


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
