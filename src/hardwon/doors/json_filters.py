"""Conditions on JSON objects, as LangGraph's stores understand them: equal values, objects that have the given keys, and
operators (`{"score": {"$gte": 3}}`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from hardwon import intake
from hardwon.errors import InvalidInputError

_ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS: Final = ("$eq", "$ne", *_ORDERED)


def check_filter(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The conditions, empty where there are none; raises where one has an operator that nobody knows."""
    conditions = {} if given is None else intake.mapping("filter", given)
    below = list(conditions.values())
    while below:
        condition = below.pop()
        if isinstance(condition, Mapping):
            for name, value in condition.items():
                if isinstance(name, str) and name.startswith("$") and name not in OPERATORS:
                    raise InvalidInputError.one("filter", name, f"the operators {', '.join(OPERATORS)}")
                below.append(value)
    return conditions


def passes(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Whether an object meets all conditions; a key that it lacks has the value None."""
    return all(_meets(value.get(key), condition) for key, condition in conditions.items())


def _meets(value: object, condition: object) -> bool:
    if isinstance(condition, Mapping):
        if any(isinstance(name, str) and name.startswith("$") for name in condition):
            return all(_compares(value, name, other) for name, other in condition.items())
        return isinstance(value, Mapping) and passes(value, condition)
    if isinstance(condition, list | tuple):
        if not isinstance(value, list) or len(value) != len(condition):
            return False
        return all(_meets(each, other) for each, other in zip(value, condition, strict=True))
    return _equal(value, condition)


def _compares(value: object, name: str, other: object) -> bool:
    if name == "$eq":
        return _equal(value, other)
    if name == "$ne":
        return not _equal(value, other)
    numbers = _number(value), _number(other)
    if None not in numbers:
        return _ORDERED[name](*numbers)
    return isinstance(value, str) and isinstance(other, str) and _ORDERED[name](value, other)


def _equal(value: object, other: object) -> bool:
    """In JSON true is not 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _number(value: object) -> float | None:
    """Numbers, and texts that say one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
