"""What `validate` and `load_dataset` answer."""

from __future__ import annotations

import reprlib
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, Literal

from hardwon import limits
from hardwon.errors import VALUE_CHARS_SHOWN

Severity = Literal["error", "warning"]

_short: Final = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = VALUE_CHARS_SHOWN - 2
_short.maxlevel = 3


def shown(value: object) -> str:
    """A value as a report shows it: short, on one line, whatever it is."""
    try:
        text = _short.repr(value)
    except Exception:  # noqa: BLE001  # a foreign __repr__ may fail in any way, and must not hide the problem
        text = f"<{type(value).__name__}>"
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= VALUE_CHARS_SHOWN else text[: VALUE_CHARS_SHOWN - 1] + "…"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a data set. `index` is the memory's position in the list (None: the set as a whole), `line`
    where it begins in its file, if that is known; `value` is shortened."""

    index: int | None
    field: str
    value: str
    wrong: str
    remedy: str
    severity: Severity = "error"
    line: int | None = None

    def __str__(self) -> str:
        where = "data set" if self.index is None else f"memory {self.index}"
        where += f" (line {self.line})" if self.line else ""
        return f"{self.severity}: {where}, {self.field}: {self.value} {self.wrong}; {self.remedy}"


@dataclass(frozen=True)
class Distribution:
    """How often a value occurs. Shares and the range that they should be in (`least`, `most`) run from 0 to 1. `within` allows
    for whole numbers, and is None where the data set is too small for shares to say anything."""

    field: str
    name: str
    count: int
    share: float
    least: float
    most: float
    within: bool | None


@dataclass(frozen=True)
class Report:
    """What is wrong with a data set. `ok`: nothing but warnings, if anything."""

    total: int
    problems: tuple[Fault, ...]
    distributions: tuple[Distribution, ...]

    @property
    def ok(self) -> bool:
        return not self.errors

    @cached_property
    def errors(self) -> tuple[Fault, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @cached_property
    def warnings(self) -> tuple[Fault, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {
            "ok": self.ok,
            "total": self.total,
            "errors": [asdict(problem) for problem in self.errors],
            "warnings": [asdict(problem) for problem in self.warnings],
            "distributions": [asdict(distribution) for distribution in self.distributions],
        }

    def __str__(self) -> str:
        counted = f"{_many(len(self.errors), 'error')}, {_many(len(self.warnings), 'warning')}"
        lines = [f"{_many(self.total, 'memory', 'memories')}: {counted}"]
        lines += [_line_of(distribution) for distribution in self.distributions]
        lines += listed((*self.errors, *self.warnings))
        return "\n".join(lines)


@dataclass(frozen=True)
class DatasetLoaded:
    """What became of a data set. `stored` of `total` memories were kept, with these `ids` (or would be, in a dry run, which has
    none); the others were refused for what `rejected` names. `warnings` are about memories that were kept."""

    total: int
    stored: int
    ids: tuple[str, ...]
    rejected: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return asdict(self)

    def __str__(self) -> str:
        done = "would be stored" if self.dry_run else "stored"
        refused = f"{self.total - self.stored} rejected" if self.total > self.stored else "none rejected"
        first = f"{self.stored} of {_many(self.total, 'memory', 'memories')} {done}, {refused}"
        return "\n".join([first, *listed(self.rejected)])


def listed(problems: tuple[Fault, ...]) -> list[str]:
    """The first of them as lines, and how many more there are."""
    lines = [str(problem) for problem in problems[: limits.DATASET_PROBLEMS_SHOWN]]
    left = len(problems) - len(lines)
    return [*lines, f"… and {left} more"] if left else lines


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def _line_of(found: Distribution) -> str:
    verdict = {True: "ok", False: "out of range", None: "not judged"}[found.within]
    target = f"{100 * found.least:.0f}-{100 * found.most:.0f} %"
    return f"  {found.field} {found.name}: {found.count} ({100 * found.share:.1f} %, target {target}): {verdict}"
