"""What to say when a task begins: which failures runs like it met, and what made those go away."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from hardwon.lessons.lesson import Lesson
from hardwon.lessons.teaching import Teaching
from hardwon.runs.steps import sort_of_action
from hardwon.tell.situation import Line
from hardwon.text.clean import clean_action, clean_line

# What fewer runs are likely to meet is not worth a word before anything failed.
_SAY_FROM: Final = 0.05
_SAID_MAX: Final = 5
# What breaks changes: of the runs that did the same, one so many runs ago counts for half.
_HALVED_AFTER_RUNS: Final = 5
_WORDS_CHARS_MAX: Final = 120


@dataclass(frozen=True)
class Ahead:
    """A failure that is likely to be met, how likely, and what is likeliest to make it go away."""

    words: str
    chance: float
    cure: Lesson


def list_sorts(at_task: Sequence[Teaching]) -> list[str]:
    """The sorts of commands that runs at a task ran, those first that failed there, the usual ones
    first.
    """
    done = Counter(sort for teaching in at_task for sort in teaching.sorts)
    failed = Counter(sort_of_action(met.check) for teaching in at_task for met in teaching.met)
    return sorted(done, key=lambda sort: (-failed[sort], -done[sort], sort))


def rank_failures(
    at_task: Sequence[Teaching], by_sort: Mapping[str, Sequence[Teaching]]
) -> list[tuple[str, float]]:
    """The exact keys of failures that a run at a task is likely to meet, the likeliest first, each
    with how likely: what the sorts of commands showed that the runs `at_task` ran. `by_sort` are the
    newest runs, of whatever task, that did such a thing.
    """
    chances: dict[str, float] = {}
    done = Counter(sort for teaching in at_task for sort in teaching.sorts)
    for sort, teachings in by_sort.items():
        shown: dict[str, float] = defaultdict(float)
        whole = 0.0
        for place, teaching in enumerate(teachings):
            weight = 0.5 ** (place / _HALVED_AFTER_RUNS)
            whole += weight
            for exact in {met.exact for met in teaching.met if sort_of_action(met.check) == sort}:
                shown[exact] += weight
        for exact, times in shown.items():
            chance = done[sort] / len(at_task) * times / whole
            chances[exact] = 1 - (1 - chances.get(exact, 0.0)) * (1 - chance)
    return sorted(
        ((exact, chance) for exact, chance in chances.items() if chance >= _SAY_FROM),
        key=lambda one: -one[1],
    )


def say_ahead(failures: Iterable[Ahead]) -> list[Line]:
    """A line for each of the likeliest failures."""
    return [_say_failure(one) for one in islice(failures, _SAID_MAX)]


def _say_failure(one: Ahead) -> Line:
    words = clean_line(one.words, _WORDS_CHARS_MAX)
    action = clean_action(one.cure.action)
    text = f"Such runs met: {words}; it went away by: {action} [{one.cure.short_id}]"
    return Line(text, one.cure, one.cure.evidence)
