"""What `hardwon show` prints of a run: its story, a line a step, looks folded."""

from collections.abc import Iterator, Sequence
from typing import Final

from hardwon.records.kinds import Trajectory
from hardwon.runs.shapes import Problem, Run, Step
from hardwon.runs.story import fold_looks, tell_cure, tell_ending
from hardwon.surfaces.cli.views import bold, count_cells, cut_line, dim, style, visible

_SIGNS: Final = {"worked": "✓", "failed": "✗", "unknown": "·"}
_LOOKS: Final = {"worked": "green", "failed": "red", "unknown": "dim"}
_ENDINGS: Final = {"solved": "green", "failed": "red", "partial": "yellow", "unknown": "dim"}
_LABEL_CELLS: Final = 9
_WIDTH_MAX: Final = 200  # where nothing else bounds a line: the story is to be read


def draw_story(run: Run, records: Sequence[Trajectory]) -> str:
    """The story of a run, which these records tell of."""
    reward = records[0].final_reward if len(records) == 1 else None
    first, last = records[0].metadata, records[-1].metadata
    times = f"{first.context.timestamp:%Y-%m-%d %H:%M}"
    if last.context.timestamp != first.context.timestamp:
        times += f" to {last.context.timestamp:%Y-%m-%d %H:%M}"
    lines = [
        bold(_cut(run.task or "(no task)")),
        dim(visible(f"{records[0].said_by}, {times}")),
        "",
        *(_draw_scene(scene) for scene in fold_looks(run.steps)),
    ]
    if run.problems:
        lines += ["", bold("What went wrong")]
        lines += [line for problem in run.problems for line in _draw_problem(problem)]
    if run.lasting:
        lines += ["", bold("What lasted")]
        lines += [f"  {_draw_action(step, 2)}" for step in run.lasting]
    ending = style(visible(tell_ending(run, reward)), _ENDINGS[run.outcome])
    return "\n".join([*lines, "", bold("How it ended: ") + ending])


def _cut(text: str, used: int = 0) -> str:
    return cut_line(text, used + max(0, count_cells() - _WIDTH_MAX))


def _draw_scene(steps: Sequence[Step]) -> str:
    step = steps[0]
    if step.kind == "look":
        names = "; ".join(dict.fromkeys(_first_line(look) for look in steps))
        times = f"{len(steps)} times: " if len(steps) > 1 else ""
        return dim(f"  {'look':<{_LABEL_CELLS}}{_cut(times + names, _LABEL_CELLS + 2)}")
    sign = style(_SIGNS[step.outcome], _LOOKS[step.outcome])
    line = f"{sign} {step.kind:<{_LABEL_CELLS}}" + _draw_action(step, _LABEL_CELLS + 2)
    if step.failure:
        words = _cut(step.failure.words, _LABEL_CELLS + 4)
        line += "\n" + " " * (_LABEL_CELLS + 4) + style(words, "red")
    return line


def _draw_problem(problem: Problem) -> Iterator[str]:
    """The failure, what did not help, and what made it go away."""
    times = f" ({problem.shown} times)" if problem.shown > 1 else ""
    yield "  " + style(_cut(problem.failure.words, 14), "red") + times
    for step in problem.in_vain:
        yield "    in vain: " + _draw_action(step, 13)
    if problem.gone is None:
        yield dim("    still there at the end")
    elif problem.passed:
        yield dim("    went away, and nothing had been changed")
    else:
        yield f"    {tell_cure(problem)}"
        for step in problem.cure:
            yield "      " + _draw_action(step, 6)


def _draw_action(step: Step, used: int) -> str:
    """The first line of an action, and how many follow it."""
    more = step.action.strip().count("\n")
    note = f" (+{more} {'line' if more == 1 else 'lines'})" if more else ""
    return _cut(_first_line(step), used + len(note)) + note


def _first_line(step: Step) -> str:
    return step.action.strip().split("\n")[0]
