"""What `hardwon show` prints of a run: its story, a line a step, looks folded."""

from collections.abc import Iterator, Sequence
from typing import Final

from hardwon.records.kinds import Trajectory
from hardwon.runs.shapes import Problem, Run, Step
from hardwon.runs.story import fold_looks, tell_cure, tell_ending
from hardwon.surfaces.cli.views import Screen, visible

_SIGNS: Final = {"worked": "✓", "failed": "✗", "unknown": "·"}
_STYLES: Final = {"worked": "green", "failed": "red", "unknown": "dim"}
_ENDINGS: Final = {"solved": "green", "failed": "red", "partial": "yellow", "unknown": "dim"}
_LABEL_CELLS: Final = 9
_WIDTH_MAX: Final = 200  # where nothing else bounds a line: the story is to be read


def story_text(screen: Screen, run: Run, records: Sequence[Trajectory]) -> str:
    """The story of a run, which these records tell of."""
    screen = screen._replace(width=min(screen.width, _WIDTH_MAX))
    reward = records[0].final_reward if len(records) == 1 else None
    first, last = records[0].metadata, records[-1].metadata
    times = f"{first.context.timestamp:%Y-%m-%d %H:%M}"
    if last.context.timestamp != first.context.timestamp:
        times += f" to {last.context.timestamp:%Y-%m-%d %H:%M}"
    lines = [
        screen.styled(screen.line(run.task or "(no task)"), "bold"),
        screen.styled(visible(f"{records[0].said_by}, {times}"), "dim"),
        "",
        *(_draw_scene(screen, scene) for scene in fold_looks(run.steps)),
    ]
    if run.problems:
        lines += ["", screen.styled("What went wrong", "bold")]
        lines += [line for problem in run.problems for line in _draw_problem(screen, problem)]
    if run.lasting:
        lines += ["", screen.styled("What lasted", "bold")]
        lines += [f"  {_draw_action(screen, step, 2)}" for step in run.lasting]
    ending = visible(tell_ending(run, reward))
    lines += [
        "",
        screen.styled("How it ended: ", "bold") + screen.styled(ending, _ENDINGS[run.outcome]),
    ]
    return "\n".join(lines)


def _draw_scene(screen: Screen, steps: Sequence[Step]) -> str:
    step = steps[0]
    if step.kind == "look":
        names = "; ".join(dict.fromkeys(_first_line(look) for look in steps))
        times = f"{len(steps)} times: " if len(steps) > 1 else ""
        text = screen.line(times + names, screen.width - _LABEL_CELLS - 2)
        return screen.styled(f"  {'look':<{_LABEL_CELLS}}{text}", "dim")
    sign = screen.styled(_SIGNS[step.outcome], _STYLES[step.outcome])
    line = f"{sign} {step.kind:<{_LABEL_CELLS}}"
    line += _draw_action(screen, step, _LABEL_CELLS + 2)
    if step.failure:
        words = screen.line(step.failure.words, screen.width - _LABEL_CELLS - 4)
        line += "\n" + " " * (_LABEL_CELLS + 4) + screen.styled(words, "red")
    return line


def _draw_problem(screen: Screen, problem: Problem) -> Iterator[str]:
    """The failure, what did not help, and what made it go away."""
    times = f" ({problem.shown} times)" if problem.shown > 1 else ""
    yield "  " + screen.styled(screen.line(problem.failure.words, screen.width - 14), "red") + times
    for step in problem.in_vain:
        yield "    in vain: " + _draw_action(screen, step, 13)
    if problem.gone is None:
        yield screen.styled("    still there at the end", "dim")
    elif problem.passed:
        yield screen.styled("    went away, and nothing had been changed", "dim")
    else:
        yield f"    {tell_cure(problem)}"
        for step in problem.cure:
            yield "      " + _draw_action(screen, step, 6)


def _draw_action(screen: Screen, step: Step, used: int) -> str:
    """The first line of an action, and how many follow it."""
    more = step.action.strip().count("\n")
    note = f" (+{more} {'line' if more == 1 else 'lines'})" if more else ""
    return screen.line(_first_line(step), screen.width - used - len(note)) + note


def _first_line(step: Step) -> str:
    return step.action.strip().split("\n")[0]
