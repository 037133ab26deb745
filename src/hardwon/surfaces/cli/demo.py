"""`hardwon demo`: the same agent at the same task, without a memory and with one. The commands are
really run, and what the memory says is what it says. Or two months of a made-up team to look at.
"""

import subprocess
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.errors import ConflictError
from hardwon.memory import Memory
from hardwon.outside.locations import without_password
from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli import views
from hardwon.text.terms import say_count

app = cli.make_app()
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
_DAYS: Final = (
    "Monday: Anna's agent is to deploy the shop. It fails, fails again, and is warned.",
    "Tuesday: the same task, and an agent that remembers nothing of it. It asks first.",
    "Wednesday: Ben's agent never deployed anything. It is given Anna's memory.",
)


class Try(NamedTuple):
    """`warning`: what the memory said to what the agent was about to do, where it then did
    something else.
    """

    command: str
    printed: str
    worked: bool
    warning: str = ""


@cli.command(app, "demo")
def demo(*, seed: cli.Seed = 0, serve: bool = False, port: cli.Port = limits.SERVE_PORT) -> None:
    """See in a minute what a memory is good for. With --serve, look at a whole one; with --memory,
    fill that one.

    The story is of an agent that fails, is warned and succeeds, and of a team-mate with its memory.
    `--serve` shows two months of a made-up team in the dashboard: no token is asked for, nobody but
    this machine reaches it, and it is gone when you end it. With `--memory`, which must be empty or
    new, they are kept there.

    JSON: of the story three sessions, each a list of attempts
    (`command`, `printed`, `worked`, `warning`: what the memory said before); of a memory that was
    filled `memory` (where it is), `records` (how many of each kind).

    \b
    Examples:
      hardwon demo
      hardwon --memory demo_brain demo --seed 7

    Options:
      serve: Look at two months of a made-up team in the dashboard.
    """
    target = cli.Target(cli.Line.memory, cli.Line.project)
    if not target.memory and not serve:
        story = live_story()
        cli.show(story, partial(draw_story, story))
        return
    if serve:
        cli.require_packages("serving", "starlette", "uvicorn", "jinja2", "mcp")
    with nullcontext() if target.memory else TemporaryDirectory(prefix="hardwon-demo-") as passing:
        location = target.memory or str(passing)
        fill_memory(cli.Target(location, target.project), seed, passing=not target.memory)
        if serve:
            from hardwon.surfaces.cli.servers import app as servers

            cli.Line.memory = location
            servers(["serve", "--port", str(port), "--no-auth"], standalone_mode=False)


def fill_memory(target: cli.Target, seed: int, passing: bool) -> None:
    from hardwon.tree.datasets.demo import fill_demo

    shown = without_password(str(target.memory))
    look_at = f"hardwon --memory {shown} serve --no-auth"
    with Memory(*target, checkout=False) as memory:
        if memory.stats().total:
            raise ConflictError(
                f"{shown} has records already: name a new folder with --memory, or look at it: {look_at}"
            )
        records = fill_demo(memory, seed)
        place = memory.location
    several = {"fix": "fixes", "trajectory": "trajectories"}
    made = ", ".join(say_count(records[kind], kind, several.get(kind, "")) for kind in records)
    text = f"{made}: gone when this ends" if passing else f"made {shown}: {made}"
    text += "" if passing else f"\nto look at it: {look_at}"
    cli.show({"memory": place, "records": records}, text)


def live_story() -> list[list[Try]]:
    """The attempts of three days. Nothing is left behind."""
    with TemporaryDirectory(prefix="hardwon-demo-") as name, ExitStack() as opened:
        folder = Path(name)
        (folder / "deploy").write_text(SCRIPT, encoding="utf-8")
        anna, ben = (opened.enter_context(Memory(folder / who)) for who in ("anna", "ben"))
        days = [list(work(folder, anna, "anna")) for _ in ("Monday", "Tuesday")]
        ben.merge(anna)
        return [*days, list(work(folder, ben, "ben"))]


def work(folder: Path, memory: Memory, author: str) -> Iterator[Try]:
    """One session of the agent, until it is done. It asks before every attempt, and keeps how that
    went.
    """
    for idea in IDEAS:
        advice = memory.advise(idea, task=TASK)
        is_warned = advice.verdict == "blocked"
        others = [other for other in IDEAS if other != idea]
        action = [*advice.worked_instead, *others][0] if is_warned else idea
        done = subprocess.run(  # noqa: S603  # nosec B603  # our own script
            ["/bin/sh", *action.split()], cwd=folder, capture_output=True, text=True, check=False
        )
        worked, printed = done.returncode == 0, (done.stdout + done.stderr).strip()
        step = {"action": action, "observation": printed, "reward": float(worked)}
        memory.record_trajectory(TASK, [step], float(worked), author=author)
        yield Try(action, printed, worked, str(advice) if is_warned else "")
        if worked:
            return


def draw_story(story: list[list[Try]]) -> str:
    """The three days, each with what was typed and what came of it."""
    lines: list[str] = []

    def tell(typed: str, printed: str, look: str) -> None:
        lines.append(views.dim("  $ ") + typed)
        lines.extend(f"    {views.style(line, look)}" for line in textwrap.wrap(printed, 84))

    for title, attempts in zip(_DAYS, story, strict=True):
        lines.append(views.bold(title))
        for attempt in attempts:
            if attempt.warning:
                tell(f'hardwon advise {IDEAS[0]} --task "{TASK}"', attempt.warning, "cyan")
            tell(attempt.command, attempt.printed, "green" if attempt.worked else "red")
        lines.append("")
    counts = ", ".join(say_count(len(attempts), "attempt") for attempts in story)
    without = say_count(len(IDEAS), "attempt")
    lines += [views.bold(f"{counts}; without a memory it is {without} each time")]
    lines += ["", views.dim("Two months of a made-up team: hardwon demo --serve")]
    return "\n".join(lines)
