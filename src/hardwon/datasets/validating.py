"""`validate`: whether a data set can be kept, and whether it looks like a real one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from hardwon import limits
from hardwon.datasets import realism
from hardwon.datasets.checks import check
from hardwon.datasets.reading import Entries, read
from hardwon.datasets.report import Distribution, Fault, Report, Severity, shown
from hardwon.datasets.shares import ERROR_RANGES, OUTCOME_RANGES, TASK_RANGES, TOOL_RANGES, Ranges, is_within
from hardwon.fields import now
from hardwon.model import Experience


class Verdict(NamedTuple):
    """What became of one entry: its record, or None, and what is wrong with it."""

    record: Experience | None
    problems: list[Fault]


def validate(source: Any) -> Report:
    """Checks a data set: a list of dictionaries, or the path of a file that holds one (JSON, JSON Lines, or Python source,
    which is parsed and never run).

    Errors are what keeps a memory from being stored: fields that are missing or unknown, a summary that is no file name or was
    there before, contents of less than 10 or more than 500 characters. Warnings are what makes a data set unlike a real one:
    contents that are too generic, too vague or near-copies of others, and shares out of their ranges.
    """
    entries = read(source)
    problems = [problem for verdict in judge(entries) for problem in verdict.problems]
    shares = distributions(entries.values)
    problems += [_out_of_range(share) for share in shares if share.within is False]
    return Report(len(entries.values), tuple(problems), tuple(shares))


def judge(entries: Entries, author: str | None = None) -> Iterator[Verdict]:
    """Entry by entry. Those that name no time happened one microsecond after the other, the last of them just now."""
    begin = now() - timedelta(microseconds=len(entries.values))
    named: dict[str, int] = {}
    said: dict[str, int] = {}
    for index, entry in enumerate(entries.values):
        if index in entries.unreadable:
            yield Verdict(None, [entries.unreadable[index]])
            continue
        record, wrong = check(entry, begin + timedelta(microseconds=index), author)
        problems = [each.at(index) for each in wrong]
        if isinstance(entry, Mapping):
            at_fault = {problem.field for problem in problems}
            problems += [] if "summary" in at_fault else _same_name(entry.get("summary"), index, named)
            problems += [] if "content" in at_fault else _unlikely(entry.get("content"), index, said)
        sound = all(problem.severity == "warning" for problem in problems)
        line = entries.line(index)
        yield Verdict(record if sound else None, [replace(problem, line=line) for problem in problems])


def _same_name(summary: Any, index: int, named: dict[str, int]) -> list[Fault]:
    if not isinstance(summary, str):
        return []
    first = named.setdefault(summary.strip("_-"), index)  # as it is kept
    if first == index:
        return []
    return [Fault(index, "summary", shown(summary), f"is the summary of memory {first} as well", "give each its own")]


def _unlikely(content: Any, index: int, said: dict[str, int]) -> list[Fault]:
    """Warnings about a content that could be kept."""
    if not isinstance(content, str):
        return []
    problems: list[Fault] = []
    severity: Severity = "warning"
    poor = realism.too_little(content)
    if poor:
        remedy = "name what it was about: the component, the error, the cause, the cure"
        problems.append(Fault(index, "content", shown(content), f"is {poor}", remedy, severity))
    first = said.setdefault(realism.fingerprint(content), index)
    if first != index:
        wrong = f"says the same as memory {first}, but for numbers and small words"
        problems.append(Fault(index, "content", shown(content), wrong, "say what sets it apart, or leave it out", severity))
    return problems


def distributions(values: list[Any]) -> list[Distribution]:
    """The shares of outcomes, tools, error types and task types, each with its target."""
    entries = [value for value in values if isinstance(value, Mapping)]
    outcomes = _count(entries, "outcome")
    tools = _count(entries, "tool")
    errors = _count([entry for entry in entries if entry.get("outcome") == "failure"], "error_type")
    coded = [entry for entry in entries if (entry.get("outcome"), entry.get("tool")) == ("success", "code_interpreter")]
    tasks = _count(coded, "task_type")
    total = len(values)
    return [
        *_shares("outcome", outcomes, total, OUTCOME_RANGES, total),
        *_shares("tool", tools, total, TOOL_RANGES, total),
        *_shares("error_type", errors, sum(errors.values()), ERROR_RANGES, total),
        *_shares("task_type", tasks, sum(tasks.values()), TASK_RANGES, total),
    ]


def _count(entries: list[Mapping[str, Any]], field: str) -> Counter[str]:
    return Counter(value for entry in entries if isinstance(value := entry.get(field), str))


def _shares(field: str, counts: Counter[str], base: int, ranges: Ranges, total: int) -> Iterator[Distribution]:
    for name, target in ranges.items():
        count = counts[name]
        within = is_within(count, base, target) if total >= limits.DATASET_JUDGED_FROM and base else None
        share = round(count / base, 4) if base else 0.0
        yield Distribution(field, name, count, share, target[0] / 100, target[1] / 100, within)


def _out_of_range(share: Distribution) -> Fault:
    least, most = round(100 * share.least), round(100 * share.most)
    wrong = f"is {100 * share.share:.1f} % where {least} to {most} % are realistic"
    remedy = f"have {'more' if share.share < share.least else 'fewer'} of them"
    return Fault(None, share.field, share.name, wrong, remedy, "warning")
