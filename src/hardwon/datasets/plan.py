"""How many memories of each sort a generated data set has.

Two descriptions of a realistic data set have to hold at once. One gives ranges over all memories (`shares`). The other gives
counts for 1,000 of them: outcomes 600/200/120/80, tools of the successes 300/120/90/90, and error types of the failures
80/50/50/20. The last four add up to *all* 200 failures, while only those of the code interpreter are routed by an error type
and the failures of other tools must be there as well. Both are true when every failure names its error type and, where another
key routes it, carries it as a key of its own: a blocked search or a missing permission is an error at run time, a search that
found nothing, or the wrong thing, is a fault in what was asked for. So that is what is generated, for every size; and a count
of error types looks at every failure that names one.

Coverage comes before shares: from 10 memories on every pair of outcome and tool occurs, from 50 on every value of every key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from hardwon.datasets.shares import ERROR_RANGES, OUTCOME_RANGES, TASK_RANGES, TOOL_RANGES, Counts, split
from hardwon.model import ROUTES

PAIRS_FROM: Final = len(ROUTES)
VALUES_FROM: Final = 50

_OUTCOMES: Final = {"success": 600, "failure": 200, "learning": 120, "interaction": 80}
_TOOLS: Final = {"code_interpreter": 430, "web_search": 160, "file_operation": 110, "conversation": 90}
_TOOLS_OF_FAILURES: Final = {"code_interpreter": 130, "web_search": 40, "file_operation": 20}
_ERRORS: Final = {"runtime": 41, "syntax": 26, "logic": 25, "timeout": 8}
_ERRORS_OF_THE_TABLE: Final = {"runtime": 80, "syntax": 50, "logic": 50, "timeout": 20}
_TASKS: Final = {"debug": 41, "write": 31, "refactor": 20, "explain": 8}
_WEIGHTS: Final[Mapping[str, Mapping[str, int]]] = {
    "task_type": _TASKS,
    "domain": {"technical": 60, "research": 25, "general": 15},
    "reason": {"no_results": 40, "blocked": 30, "irrelevant": 30},
    "insight_type": {"pattern": 30, "correction": 30, "preference": 20, "fact": 20},
    "sentiment": {"positive": 45, "neutral": 25, "negative": 30},
}
_TABLE_SIZE: Final = 1_000

# What goes wrong where another key than the error type says how it is routed.
_ERROR_OF_REASON: Final = {"no_results": "logic", "irrelevant": "logic", "blocked": "runtime"}
_ERROR_OF_TOOL: Final = {"file_operation": "runtime", "unknown": "runtime"}


class Sort(NamedTuple):
    """One row of the reference card with one value of its key. `error_type` is set for every failure."""

    outcome: str
    tool: str | None = None
    key: str | None = None
    value: str | None = None
    error_type: str | None = None


def plan(size: int) -> dict[Sort, int]:
    """The sorts of memory in a data set of this size, with how many there are of each (at least one)."""
    pairs, values = size >= PAIRS_FROM, size >= VALUES_FROM
    outcomes = split(size, _OUTCOMES, OUTCOME_RANGES, least=_least_outcomes(pairs))
    failures = outcomes["failure"]
    unknown = max(int(pairs), size // 100)
    tools = _tools(size, outcomes["success"] + failures - unknown, pairs, values)
    failed = split(failures - unknown, _TOOLS_OF_FAILURES, least=_least_tools(pairs, values))
    sorts = _successes({tool: count - failed.get(tool, 0) for tool, count in tools.items()}, values)
    sorts |= _failures(size, failed | {"unknown": unknown}, values)
    for outcome, key in (("learning", "insight_type"), ("interaction", "sentiment")):
        sorts |= _by_value(outcome, None, key, outcomes[outcome], values)
    return {sort: count for sort, count in sorts.items() if count}


def _least_outcomes(pairs: bool) -> Counts:
    """So many that each pair can occur. Where each value must, the ranges leave room for it."""
    least = dict.fromkeys(_OUTCOMES, 0)
    for outcome, _tool in ROUTES:
        least[outcome] += int(pairs)
    return least


def _least_tools(pairs: bool, values: bool) -> Counts:
    return (
        {"code_interpreter": 4, "web_search": 3, "file_operation": 1}
        if values
        else dict.fromkeys(_TOOLS_OF_FAILURES, int(pairs))
    )


def _tools(size: int, used: int, pairs: bool, values: bool) -> Counts:
    """How often each tool is used, whatever came of it."""
    least = {tool: 2 * count for tool, count in _least_tools(pairs, values).items()} | {"conversation": int(pairs)}
    return split(used, _TOOLS, TOOL_RANGES, base=size, least=least)


def _by_value(outcome: str, tool: str | None, key: str, count: int, values: bool) -> dict[Sort, int]:
    weights = _WEIGHTS[key]
    ranges = TASK_RANGES if key == "task_type" else None
    counts = split(count, weights, ranges, least=dict.fromkeys(weights, int(values)))
    return {Sort(outcome, tool, key, value, _ERROR_OF_REASON.get(value)): counts[value] for value in weights}


def _successes(tools: Counts, values: bool) -> dict[Sort, int]:
    sorts = _by_value("success", "code_interpreter", "task_type", tools["code_interpreter"], values)
    sorts |= _by_value("success", "web_search", "domain", tools["web_search"], values)
    return sorts | {Sort("success", tool): tools[tool] for tool in ("file_operation", "conversation")}


def _failures(size: int, tools: Counts, values: bool) -> dict[Sort, int]:
    """The code interpreter's error types are what the others leave of the counts over all failures."""
    others = _by_value("failure", "web_search", "reason", tools["web_search"], values)
    others |= {Sort("failure", tool, error_type=error): tools[tool] for tool, error in _ERROR_OF_TOOL.items()}
    taken = dict.fromkeys(_ERRORS, 0)
    for sort, count in others.items():
        taken[str(sort.error_type)] += count
    weights = _ERRORS_OF_THE_TABLE if size == _TABLE_SIZE else _ERRORS
    least = {error: count + values for error, count in taken.items()}
    errors = split(sum(tools.values()), weights, ERROR_RANGES, least=least)
    code = {Sort("failure", "code_interpreter", "error_type", error, error): errors[error] - taken[error] for error in weights}
    return code | others
