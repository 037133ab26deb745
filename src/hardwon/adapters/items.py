"""What adapters share that keep JSON objects for somebody: their names, what they may be, and
conditions on them.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from hardwon.errors import InvalidInputError
from hardwon.records.fields import check_mapping, check_that, derived_id

_ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS: Final = ("$eq", "$ne", *_ORDERED)
_LETTERS: Final = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv", "-")


def make_tag(*parts: str) -> str:
    """The tag by which something is found that these parts name, one of those that are reserved for
    entries. Of letters alone, which are one search term; letters and digits would be a dozen.
    """
    return derived_id(*parts).translate(_LETTERS)


def json_object(field: str, value: Any) -> dict[str, Any]:
    """As JSON gives it back: what a reader in another process gets."""
    try:
        read = json.loads(json.dumps(check_mapping(field, value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        allowed = f"an object that JSON can hold ({error})"
        raise InvalidInputError.one(field, value, allowed) from None
    return dict(read)


def check_filter(asked: Mapping[str, Any] | None) -> dict[str, Any]:
    """The conditions, empty where there are none: equal values, objects that have the given keys,
    and operators (`{"score": {"$gte": 3}}`). Raises where one has an operator that nobody knows, or
    other keys beside operators.
    """
    conditions = {} if asked is None else check_mapping("filter", asked)
    below = list(conditions.values())
    while below:
        condition = below.pop()
        if isinstance(condition, Mapping):
            operators = [name for name in condition if _is_operator(name)]
            for name in operators:
                allowed = f"the operators {', '.join(OPERATORS)}"
                check_that(name in OPERATORS, "filter", name, allowed)
            is_pure = len(operators) in (0, len(condition))
            check_that(is_pure, "filter", condition, "operators alone, or keys alone")
            below += condition.values()
    return conditions


def _is_operator(name: object) -> bool:
    return isinstance(name, str) and name.startswith("$")


def passes(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Whether an object meets all conditions; a key that it lacks has the value None."""
    return all(_meets(value.get(key), condition) for key, condition in conditions.items())


def _meets(value: object, condition: object) -> bool:
    if isinstance(condition, Mapping):
        if any(map(_is_operator, condition)):
            return all(_compares(value, name, other) for name, other in condition.items())
        return isinstance(value, Mapping) and passes(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(condition)
            and all(map(_meets, value, condition))
        )
    return _equal(value, condition)


def _compares(value: object, name: str, other: object) -> bool:
    if name in ("$eq", "$ne"):
        return _equal(value, other) == (name == "$eq")
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
