"""`hardwon run`: a command between the memory's word of warning and the record of how it went.

Nothing that the memory does, or fails to do, changes the command's run: it is told in one line on
standard error.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from hardwon import limits
from hardwon.memory import Memory
from hardwon.surfaces.cli.base import RECORDING, author_of, chosen, command
from hardwon.surfaces.cli.output import visible

T = TypeVar("T")

_BLOCKED: Final = 1


@command(
    RECORDING,
    "hardwon run -- python3 -c 'print(6 * 7)'",
    'hardwon run --task "the parser reads dates" -- python3 -m compileall -q .',
    settings={"allow_interspersed_args": False},  # what comes after the command is the command's
    more="""It says so on standard error; [run.md](run.md) tells all of it. Everything after `--` is the command's.
    `--stop-if-blocked` does not run what failed the same way twice and has not worked since.

    Its exit code is the command's: 128 and the signal's number where one killed it, 127 where there is no such command, 126
    where it cannot be executed. It prints no JSON: the output is the command's.""",
)
def run(
    ctx: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="The command, with everything that belongs to it."),
    ],
    task: Annotated[
        str | None, typer.Option(help="What it is for.", show_default="the command itself")
    ] = None,
    author: Annotated[str | None, typer.Option(help="Who runs it.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="A tag of the record; as often as you like.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing beforehand.")] = False,
    stop_if_blocked: Annotated[
        bool,
        typer.Option(
            "--stop-if-blocked",
            help="Do not run what failed the same way again and again: exit code 1.",
        ),
    ] = False,
) -> None:
    """Run a command, say first when it failed here before, and record how it went.

    Its input, output and exit code are passed through untouched.
    """
    from hardwon.capture import process as running
    from hardwon.capture import run as attempts

    if not words[0].strip():
        raise typer.BadParameter("it is empty", param_hint="COMMAND")
    author = author_of(ctx, author)
    attempts.check(task, author, tag or ())
    line = attempts.command_line(words, _folder())
    session = attempts.RunSession.of(os.environ)
    again = session.holds(line)
    memory = _OpenedMemory(ctx)
    if not again and (not quiet or stop_if_blocked):
        advice = memory.asked(
            "has no advice",
            limits.RUN_ADVICE_S,
            lambda opened: opened.advise(line, task=task or None),
        )
        # not where it worked last: that little works here is no news each time
        if advice and advice.failures and not quiet:
            _say(
                attempts.told_of_tests(advice.failures)
                if attempts.runs_tests(words)
                else advice.message
            )
        if advice and advice.verdict == "blocked" and stop_if_blocked:
            raise typer.Exit(_BLOCKED)
    ran = running.run(words, os.environ | session.environment(line))
    if ran.refusal:
        _say(ran.refusal)
    if not again:
        tests = attempts.runs_tests(words)
        kept = partial(
            attempts.record,
            line=line,
            ran=ran,
            session=session,
            task=task,
            tests=tests,
            author=author,
            tags=tag or (),
        )
        with suppress(KeyboardInterrupt):  # the command has ended: its exit code is what counts
            memory.asked("did not record this run", limits.RUN_RECORD_S, kept)
    raise typer.Exit(ran.exit_code)


def _folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None


class _OpenedMemory:
    """The memory, while whatever is wrong with it is told once."""

    def __init__(self, ctx: typer.Context) -> None:
        self._ctx = ctx
        self._told = False

    def asked(self, trouble: str, seconds: float, ask: Callable[[Memory], T]) -> T | None:
        from hardwon.capture.run import within

        def opened() -> T:
            memory: Memory
            with chosen(self._ctx).open() as memory:
                return ask(memory)

        try:
            return within(seconds, opened)
        except Exception as error:  # noqa: BLE001  # whatever is wrong with the memory, the command is what counts
            if not self._told:
                _say(f"the memory {trouble}: {error}")
            self._told = True
            return None


def _say(message: str) -> None:
    try:
        sys.stderr.write(f"hardwon: {visible(' '.join(message.split()))}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody is there to read it
        return
