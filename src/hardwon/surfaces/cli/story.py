"""What `hardwon demo` tells: the same agent at the same task, without a memory and with one. The
commands are really run, and what the memory says is what it says.
"""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from hardwon.memory import Memory
from hardwon.surfaces.cli.main import QUIET, STRONG, Line, Look, Span, aligned
from hardwon.surfaces.cli.views import STYLES, counted

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


class Try(NamedTuple):
    """`warning`: what the memory said to what the agent was about to do, where it then did
    something else.
    """

    command: str
    printed: str
    worked: bool
    warning: str = ""


def tell_story(look: Look) -> tuple[Mapping[str, list[list[Try]]], list[Line]]:
    """The attempts of three sessions without memory and with it, and the story in lines. Nothing is
    left behind.
    """
    with TemporaryDirectory(prefix="hardwon-demo-") as name, ExitStack() as opened:
        folder = Path(name)
        (folder / "deploy").write_text(SCRIPT, encoding="utf-8")
        anna, ben = (opened.enter_context(Memory(folder / each)) for each in ("anna", "ben"))
        monday = list(_work(folder, anna, "anna"))
        tuesday = list(_work(folder, anna, "anna"))
        merged = ben.merge(anna)
        wednesday = list(_work(folder, ben, "ben"))
        without = [list(_work(folder)) for _ in range(3)]
    sessions = {"without": without, "with": [monday, tuesday, wednesday]}
    lines = [
        *_session(
            "Monday: Anna's agent is to deploy the shop. It fails, fails again, and is warned.",
            monday,
        ),
        *_session(
            "Tuesday: the same task, and an agent that remembers nothing of it. It asks first.",
            tuesday,
        ),
        *_session(
            "Wednesday: Ben's agent never deployed anything. It is given Anna's memory.",
            wednesday,
            ("hardwon merge anna", f"{counted(merged.added, 'record')} added"),
        ),
        *_side_by_side(sessions, look),
    ]
    return sessions, lines


def _work(folder: Path, memory: Memory | None = None, author: str = "") -> Iterator[Try]:
    """One session of the agent, until it is done. With a memory it asks before every attempt, and
    keeps how that went.
    """
    for idea in IDEAS:
        advice = memory.advise(idea, task=TASK) if memory else None
        is_warned = advice is not None and advice.verdict == "blocked"
        others = (each for each in IDEAS if each != idea)
        command = next(iter((*advice.worked_instead, *others))) if advice and is_warned else idea
        done = subprocess.run(  # noqa: S603  # nosec B603  # our own script
            ["/bin/sh", *command.split()], cwd=folder, capture_output=True, text=True, check=False
        )
        worked, printed = done.returncode == 0, (done.stdout + done.stderr).strip()
        if memory:
            step = {"action": command, "observation": printed, "reward": float(worked)}
            memory.record_trajectory(TASK, [step], float(worked), author=author)
        yield Try(command, printed, worked, str(advice) if is_warned else "")
        if worked:
            return


def _session(title: str, attempts: Sequence[Try], *first: tuple[str, str]) -> Iterator[Line]:
    yield (Span(title, STRONG),)
    for typed, printed in first:
        yield from _typed(typed, printed, QUIET)
    for each in attempts:
        if each.warning:
            asked = f'hardwon advise {IDEAS[0]} --task "{TASK}"'
            yield from _typed(asked, each.warning, STYLES["learning"])
        yield from _typed(
            each.command, each.printed, STYLES["success" if each.worked else "failure"]
        )
    yield ()


def _typed(command: str, printed: str, style: str) -> Iterator[Line]:
    yield (Span("  $ ", QUIET), Span(command))
    for line in textwrap.wrap(printed, 84):
        yield (Span(f"    {line}", style),)


def _side_by_side(sessions: Mapping[str, list[list[Try]]], look: Look) -> Iterator[Line]:
    rows = [[Span("", STRONG), Span("without memory", STRONG), Span("with memory", STRONG)]]
    for day, both in zip(
        ("Monday", "Tuesday", "Wednesday, Ben"), zip(*sessions.values(), strict=True), strict=True
    ):
        rows.append([Span(f"  {day}"), *(Span(_marks(each, look)) for each in both)])
    yield from aligned(rows, look)
    totals = [
        f"{sum(not each.worked for day in days for each in day)} failures {name} memory"
        for name, days in sessions.items()
    ]
    yield (Span(f"  {', '.join(totals)}", STRONG),)


def _marks(attempts: Sequence[Try], look: Look) -> str:
    good, bad = ("+", "x") if look.ascii_only else ("✓", "✗")
    marks = " ".join(good if each.worked else bad for each in attempts)
    return f"{marks:<{2 * len(IDEAS)}} {counted(len(attempts), 'attempt')}"
