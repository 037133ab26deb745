"""What a machine was doing when its power went: small workloads, made from a seed, and how each
looks from outside.

A workload is a row of steps. What a user sees is taken down before and after each of them. After a
power cut the same must be seen as after the last step that was acknowledged, or, of the step under
way, what was before it or what comes after it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from hardwon import Memory

Seen = dict[str, str]
"""What is there, by a name for each piece of it."""

MEMORY: Final = "brain"
WORDS: Final = "timeout parser login retry cache schema deploy index token stream queue lock worker price session route".split()
PLACES: Final[tuple[dict[str, Any], ...]] = (
    {"outcome": "failure", "tool": "code_interpreter", "error_type": "runtime"},
    {"outcome": "success", "tool": "code_interpreter", "task_type": "debug"},
    {"outcome": "success", "tool": "web_search", "domain": "technical"},
)


class Ticking:
    """A clock of which a second passes whenever somebody looks."""

    def __init__(self) -> None:
        self._now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


class Step(NamedTuple):
    """`at_once`: after a power cut it happened or did not. Others consist of several writes, each
    of which does. `opens`: it only shows what was there.
    """

    name: str
    do: Callable[[], object]
    at_once: bool = True
    opens: bool = False


class Workload:
    """What happens in `root`. `outside` is a folder of another disk, for what is not looked at."""

    target = ""

    def __init__(self, root: Path, outside: Path, rng: random.Random) -> None:
        self.root, self.outside, self.rng = root, outside, rng
        self.clock = Ticking()
        self.erased: list[str] = []

    def begin(self) -> None:
        """What was there long before."""

    def steps(self) -> Iterator[Step]:
        """One after the other; each is asked for when those before it are done."""
        raise NotImplementedError

    def seen(self) -> Seen:
        """What a user sees now."""
        raise NotImplementedError

    def end(self) -> None:
        """Closes what is open."""

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        """What a user sees who comes back after the power cut, and what is wrong with it whatever
        was acknowledged.
        """
        raise NotImplementedError

    def is_own(self, path: str) -> bool:
        """Whether a file is the memory's own, in which nothing may be left of what was erased.
        Copies are the user's.
        """
        return path in (f"{MEMORY}/memory.db", f"{MEMORY}/memory.db-wal") or path.endswith(".json")

    def excused(self, name: str, value: str, after: Seen) -> bool:  # noqa: ARG002
        """Whether something that was never kept is nevertheless as promised. `after`: what the step
        under way would give.
        """
        return False

    def text(self, words: int = 8) -> str:
        """Some words, of which one comes nowhere else."""
        unique = f"mark{self.rng.getrandbits(64):016x}"
        return " ".join([*self.rng.choices(WORDS, k=words), unique])


# --- looking ---


def records_in(memory: Memory, outside: Path) -> Seen:
    """Every record with its status, as an export tells them."""
    target = outside / "seen.jsonl"
    memory.export(target)
    return {f"record {json.loads(line)['id']}": line for line in target.read_text().splitlines()}


def files_in(root: Path, *suffixes: str) -> Seen:
    """The files with these endings, byte by byte. What is on its way (`.part`) does not count."""
    found = (
        path
        for path in sorted(root.rglob("*"))
        if path.name.endswith(suffixes) and not path.name.startswith(".")
    )
    return {
        f"file {path.relative_to(root)}": path.read_bytes().decode("latin-1")
        for path in found
        if path.is_file()
    }


def health_of(memory: Memory) -> list[str]:
    return [
        f"doctor: {finding.check}: {finding.detail}"
        for finding in memory.doctor().findings
        if not finding.ok
    ]


def writes(memory: Memory) -> list[str]:
    """A new record is kept and found."""
    text = "written after the power came back"
    kept = memory.remember(text, **PLACES[0])
    found = memory.get(kept.id)
    return (
        []
        if found and getattr(found, "content", "") == text
        else ["a new record is not found again"]
    )
