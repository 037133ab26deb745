"""`hardwon demo`: the same agent at the same task, without a memory and with one. The commands are
really run, and what the memory says is what it says. Or two months of a made-up team to look at.
"""

import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, NamedTuple

from hardwon import limits
from hardwon.errors import ConflictError
from hardwon.memory import Memory
from hardwon.outside.locations import without_password
from hardwon.surfaces.cli.main import Target, command, make_app, opt
from hardwon.surfaces.cli.output import Line, require_packages, show
from hardwon.surfaces.cli.views import Screen, counted, draw_table

app = make_app()
# Deploys, but not to where it goes by itself.
SCRIPT: Final = """#!/bin/sh
case "$*" in
"--region eu") echo "deployed to eu" ;;
*) echo "error: quota exceeded in region us" >&2; exit 1 ;;
esac
"""
TASK: Final = "deploy the shop"
# What the agent would do, one after the other, until something works: it is stubborn.
IDEAS: Final = (*["./deploy"] * 3, "./deploy --region eu")
_DAYS: Final = {
    "Monday": "Monday: Anna's agent is to deploy the shop. It fails, fails again, and is warned.",
    "Tuesday": "Tuesday: the same task, and an agent that remembers nothing of it. It asks first.",
    "Wednesday, Ben": "Wednesday: Ben's agent never deployed anything. It is given Anna's memory.",
}


class Try(NamedTuple):
    """`warning`: what the memory said to what the agent was about to do, where it then did
    something else.
    """

    command: str
    printed: str
    worked: bool
    warning: str = ""


class Story(NamedTuple):
    """The attempts of three sessions without memory and with it, and how many records Ben's memory
    was given.
    """

    sessions: Mapping[str, list[list[Try]]]
    merged: int


@command(app, "demo")
def demo(
    seed: Annotated[int, opt("The same seed makes the same two months, which end now.", min=0)] = 0,
    serve: Annotated[
        bool, opt("Look at two months of a made-up team in the dashboard.", "--serve")
    ] = False,
    port: Annotated[
        int, opt("Where to; 0 takes one that is free.", min=0, max=65535)
    ] = limits.SERVE_PORT,
) -> None:
    """See in a minute what a memory is good for. With --serve, look at a whole one; with --memory,
    fill that one.

    The story is of an agent that fails, is warned and succeeds, and of a team-mate with its memory.
    `--serve` shows two months of a made-up team in the dashboard: no token is asked for, nobody but
    this machine reaches it, and it is gone when you end it. With `--memory`, which must be empty or
    new, they are kept there.

    JSON: of the story `without` and `with`, each a list of three sessions, lists of attempts
    (`command`, `printed`, `worked`, `warning`: what the memory said before); of a memory that was
    filled `memory` (where it is), `records` (how many of each kind).

    \b
    Examples:
      hardwon demo
      hardwon --memory demo_brain demo --seed 7
    """
    target = Target(Line.memory, Line.project)
    if not target.memory and not serve:
        story = live_story()
        show(story.sessions, lambda screen: story_text(screen, story))
        return
    if serve:
        require_packages("serving", "starlette", "uvicorn", "jinja2", "mcp")
    with nullcontext() if target.memory else TemporaryDirectory(prefix="hardwon-demo-") as passing:
        location = target.memory or str(passing)
        _fill(Target(location, target.project), seed, passing=not target.memory)
        if serve:
            from hardwon.surfaces.cli.servers import serve as serve_memory

            Line.memory = location
            serve_memory(port=port, no_auth=True)


def _fill(target: Target, seed: int, passing: bool) -> None:
    from hardwon.tree.datasets.generate import fill_demo

    shown = without_password(str(target.memory))
    look_at = f"hardwon --memory {shown} serve --no-auth"
    with Memory(*target, checkout=False) as memory:
        if memory.stats().total:
            raise ConflictError(
                f"{shown} has records already: name a new folder with --memory, or look at it: "
                f"{look_at}"
            )
        records = fill_demo(memory, seed)
        place = memory.location
    several = {"fix": "fixes", "trajectory": "trajectories"}
    made = ", ".join(counted(count, kind, several.get(kind, "")) for kind, count in records.items())
    text = f"{made}: gone when this ends" if passing else f"made {shown}: {made}"
    text += "" if passing else f"\nto look at it: {look_at}"
    show({"memory": place, "records": records}, text)


def live_story() -> Story:
    """What happens in three days. Nothing is left behind."""
    with TemporaryDirectory(prefix="hardwon-demo-") as name, ExitStack() as opened:
        folder = Path(name)
        (folder / "deploy").write_text(SCRIPT, encoding="utf-8")
        anna, ben = (opened.enter_context(Memory(folder / who)) for who in ("anna", "ben"))
        monday = list(_work(folder, anna, "anna"))
        tuesday = list(_work(folder, anna, "anna"))
        merged = ben.merge(anna).added
        wednesday = list(_work(folder, ben, "ben"))
        without = [list(_work(folder)) for _ in range(3)]
    return Story({"without": without, "with": [monday, tuesday, wednesday]}, merged)


def _work(folder: Path, memory: Memory | None = None, author: str = "") -> Iterator[Try]:
    """One session of the agent, until it is done. With a memory it asks before every attempt, and
    keeps how that went.
    """
    for idea in IDEAS:
        advice = memory.advise(idea, task=TASK) if memory else None
        is_warned = advice is not None and advice.verdict == "blocked"
        others = (other for other in IDEAS if other != idea)
        action = next(iter((*advice.worked_instead, *others))) if advice and is_warned else idea
        done = subprocess.run(  # noqa: S603  # nosec B603  # our own script
            ["/bin/sh", *action.split()], cwd=folder, capture_output=True, text=True, check=False
        )
        worked, printed = done.returncode == 0, (done.stdout + done.stderr).strip()
        if memory:
            step = {"action": action, "observation": printed, "reward": float(worked)}
            memory.record_trajectory(TASK, [step], float(worked), author=author)
        yield Try(action, printed, worked, str(advice) if is_warned else "")
        if worked:
            return


def story_text(screen: Screen, story: Story) -> str:
    lines: list[str] = []

    def tell(typed: str, printed: str, style: str) -> None:
        lines.append(screen.styled("  $ ", "dim") + typed)
        lines.extend(f"    {screen.styled(line, style)}" for line in textwrap.wrap(printed, 84))

    for title, attempts in zip(_DAYS.values(), story.sessions["with"], strict=True):
        lines.append(screen.styled(title, "bold"))
        if "Ben" in title:
            tell("hardwon merge anna", f"{counted(story.merged, 'record')} added", "dim")
        for attempt in attempts:
            if attempt.warning:
                tell(f'hardwon advise {IDEAS[0]} --task "{TASK}"', attempt.warning, "cyan")
            tell(attempt.command, attempt.printed, "green" if attempt.worked else "red")
        lines.append("")
    good, bad = "✓", "✗"
    rows = [
        {
            "": f"  {day}",
            **{
                f"{name} memory": f"{' '.join(good if one.worked else bad for one in attempts):<8} "
                f"{counted(len(attempts), 'attempt')}"
                for name, attempts in zip(story.sessions, both, strict=True)
            },
        }
        for day, both in zip(_DAYS, zip(*story.sessions.values(), strict=True), strict=True)
    ]
    totals = [
        f"{sum(not one.worked for day in days for one in day)} failures {name} memory"
        for name, days in story.sessions.items()
    ]
    lines += [draw_table(screen, rows, rows[0]), screen.styled(f"  {', '.join(totals)}", "bold")]
    lines += ["", screen.styled("Two months of a made-up team: hardwon demo --serve", "dim")]
    return "\n".join(lines)
