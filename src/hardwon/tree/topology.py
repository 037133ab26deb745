"""What lies where: folders and their counts become a tree, its hotspots, and a few sentences about
them.

A folder is named after a key and its value
(`outcome=failure/tool=code_interpreter/error_type=runtime`), but people make folders too, and a
schema of one's own has other keys: whatever has no `=` in its name counts under that name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.records.fields import Tabular
from hardwon.records.kinds import INTAKE, AnyRecord
from hardwon.text.terms import say_count

# The newest experiences, failing areas and strong ones in a reflection, as many as the BTB tree
# always showed.
RECENT_SHOWN: Final = 5

# Levels of folders that are told apart; what lies deeper counts in the last of them. A schema has
# three or four, and a folder made by hand must not run into Python's own limit.
TOPOLOGY_DEPTH_MAX: Final = 32

# A folder with this share of what lies above it is a hotspot: at most four beside one another.
HOTSPOT_SHARE: Final = 0.25

# Fewer successes and failures than this say nothing yet: each one moves their share by more than
# ten percent.
_ATTEMPTS_TO_JUDGE_MIN: Final = 10

# The area of what lies directly in the folder of its outcome.
UNSORTED: Final = "(unsorted)"


class FolderCount(NamedTuple):
    """What lies directly in one folder; `path` is relative to the root, which is '' itself."""

    path: str
    count: int  # type: ignore[assignment]  # tuples have a method of this name, which nobody calls here
    bytes: int


@dataclass(frozen=True)
class Branch:
    """One folder. `count` and `bytes` are with everything below; `branches` are the folders in it,
    largest first.
    """

    name: str
    count: int
    bytes: int
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True)
class Hotspot:
    """A folder in which much of what lies above it has gathered. `share` is of the nearest folder
    above that holds more.
    """

    area: str
    path: str
    count: int
    share: float


@dataclass(frozen=True)
class Reflection(Tabular):
    """What the tree says about the work. `hotspots` are the areas of failures, `strengths` those of
    successes, the largest first, each with its count; `intake` is how many could not be routed,
    which `total` includes.
    """

    total: int
    by_outcome: dict[str, int]
    by_tool: dict[str, int]
    hotspots: list[tuple[str, int]]
    strengths: list[tuple[str, int]]
    intake: int
    insights: list[str]
    recent: Sequence[AnyRecord] = field(default=())


def make_branch(rows: Iterable[FolderCount], name: str) -> Branch:
    """The tree of all rows, under a root of this name. Rows of the same folder add up."""
    counts: Counter[tuple[str, ...]] = Counter()
    sizes: Counter[tuple[str, ...]] = Counter()
    for row in (FolderCount("", 0, 0), *rows):
        parts = tuple(_parts(row.path)[:TOPOLOGY_DEPTH_MAX])
        for depth in range(len(parts) + 1):
            counts[parts[:depth]] += row.count
            sizes[parts[:depth]] += row.bytes
    below: dict[tuple[str, ...], list[Branch]] = {}
    # the deepest first, so that what is in a folder is there before the folder
    for place in sorted(counts, key=len, reverse=True):
        inner = sorted(below.pop(place, ()), key=lambda branch: (-branch.count, branch.name))
        branch = Branch(place[-1] if place else name, counts[place], sizes[place], tuple(inner))
        below.setdefault(place[:-1], []).append(branch)
    return below[()][-1]


def find_hotspots(
    branch: Branch,
    share: float = HOTSPOT_SHARE,
    limit: int = limits.SCREEN_ITEMS,
    tool: str | None = None,
) -> list[Hotspot]:
    """Folders that hold at least this share of what lies above them, the largest first; of one
    tool, where it is named. Folders that hold nothing but one another are one place, and the
    deepest names it.
    """
    spots = [spot for spot in _spots(branch, ()) if spot.share >= share]
    if tool is not None:
        spots = [spot for spot in spots if _find_value(_parts(spot.path), "tool") == tool]
    return sorted(spots, key=lambda spot: (-spot.count, spot.path))[:limit]


def _spots(parent: Branch, above: tuple[str, ...]) -> Iterator[Hotspot]:
    for first in parent.branches:
        if not first.count:
            continue
        deepest, parts = first, (*above, first.name)
        while deepest.branches and deepest.branches[0].count == deepest.count:
            deepest = deepest.branches[0]
            parts = (*parts, deepest.name)
        yield Hotspot(_area(parts), "/".join(parts), first.count, first.count / parent.count)
        yield from _spots(deepest, parts)


def reflect_on(rows: Iterable[FolderCount]) -> Reflection:
    """What the counts say."""
    total = intake = 0
    outcomes, tools = Counter[str](), Counter[str]()
    areas: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        total += row.count
        parts = _parts(row.path)
        if parts[:1] == [INTAKE]:
            intake += row.count
            continue
        outcome = _find_value(parts, "outcome")
        outcomes[outcome] += row.count
        tools[_find_value(parts, "tool")] += row.count
        areas[outcome][name_area(row.path)] += row.count
    hotspots, strengths = _largest(areas["failure"]), _largest(areas["success"])
    counts = dict(_largest(outcomes)), dict(_largest(tools))
    areas_shown = hotspots[:RECENT_SHOWN], strengths[:RECENT_SHOWN]
    insights = _insights(total, intake, hotspots, strengths)
    return Reflection(total, *counts, *areas_shown, intake, insights)


def _insights(
    total: int, intake: int, hotspots: list[tuple[str, int]], strengths: list[tuple[str, int]]
) -> list[str]:
    failed = sum(count for _, count in hotspots)
    succeeded = sum(count for _, count in strengths)
    attempts = failed + succeeded
    if not total:
        return ["Nothing is remembered yet."]
    if attempts < _ATTEMPTS_TO_JUDGE_MIN:
        seen = f"{say_count(succeeded, 'success', 'successes')} and {say_count(failed, 'failure')}"
        sentences = [f"Only {seen} so far: too few to say how often things work."]
    else:
        sentences = [f"{succeeded} of {attempts} attempts succeeded."]
        sides = (("failures", hotspots, failed), ("successes", strengths, succeeded))
        for noun, areas, count in sides:
            # no area is named where several are alike
            if areas and areas[0][0] != UNSORTED and (not areas[1:] or areas[0][1] > areas[1][1]):
                sentences.append(f"{areas[0][0]} has the most {noun}: {areas[0][1]} of {count}.")
    if intake:
        wait = "waits" if intake == 1 else "wait"
        waiting = f"{say_count(intake, 'memory', 'memories')} {wait} in {INTAKE}"
        sentences.append(f"{waiting}: a required key is missing or a value is unknown.")
    return sentences


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _find_value(parts: list[str], key: str) -> str:
    """Empty where no folder is named after the key."""
    pairs = (part.partition("=") for part in parts)
    return _printable(next((value for name, _, value in pairs if name == key and value), ""))


def name_area(path: str) -> str:
    """What a folder is about, but for the outcome."""
    return _area(part for part in _parts(path) if not part.startswith("outcome=")) or UNSORTED


def _area(parts: Iterable[str]) -> str:
    """The values without their keys. It is read by people, so it holds nothing that a terminal
    would act on.
    """
    return _printable("/".join(part.partition("=")[2] or part for part in parts))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "�" for char in text)


def _largest(counts: Counter[str]) -> list[tuple[str, int]]:
    named = ((name, count) for name, count in counts.items() if name and count)
    return sorted(named, key=lambda item: (-item[1], item[0]))
