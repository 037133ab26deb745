"""Outcomes that nobody has to report: `run` is a command between the memory's word of warning and
the record of how it went; `hooks` lets git tell what a commit proves (docs/run.md), and Claude
Code ask before it works and tell what came of it (docs/coding-agents.md).

Nothing that the memory does, or fails to do, changes the run of a command or of a hook: it is told
in one line on standard error.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar, get_args

import typer

from hardwon import limits
from hardwon.capture import agent_settings as claude_code
from hardwon.capture import git_hooks
from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.places import find_place, memory_exists
from hardwon.outside.git import Repository, last_commit, repository_root
from hardwon.surfaces.cli.main import (
    FAILED,
    Output,
    add_group,
    chosen,
    command,
    complain,
    memory_options,
    settings_of,
    write,
)
from hardwon.surfaces.cli.views import counted

T = TypeVar("T")


@command(
    "hardwon run -- python3 -c 'print(6 * 7)'",
    'hardwon run --task "the parser reads dates" -- python3 -m compileall -q .',
    settings={"allow_interspersed_args": False},  # what comes after the command is the command's
    more="""It says so on standard error; [run.md](run.md) tells all of it. Everything after `--` is the command's.
    `--stop-if-blocked` does not run what failed the same way twice and has not worked since.

    Its exit code is the command's: 128 and the signal's number where one killed it, 127 where there is no such command, 126
    where it cannot be executed. It prints no JSON: the output is the command's.""",
)
def run_(
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
    from hardwon.capture import process
    from hardwon.capture import run as attempts

    if not words[0].strip():
        raise typer.BadParameter("it is empty", param_hint="COMMAND")
    author = settings_of(ctx).author.value if author is None else author
    folder = None
    attempts.check(task, author, tag or ())
    with suppress(OSError):  # the folder is gone: the line alone is kept then
        folder = Path.cwd()
    line = attempts.command_line(words, folder)
    session = attempts.RunSession.of(os.environ)
    again, tests = session.holds(line), attempts.runs_tests(words)
    memory = _OpenedMemory(ctx)
    if not again and (not quiet or stop_if_blocked):
        advice = memory.asked(
            "has no advice",
            limits.RUN_ADVICE_S,
            lambda opened: opened.advise(line, task=task or None),
        )
        # not where it worked last: that little works here is no news each time
        if advice and advice.failures and not quiet:
            of_tests = attempts.told_of_tests(advice.failures)
            complain(of_tests if tests else advice.message)
        if advice and advice.verdict == "blocked" and stop_if_blocked:
            raise typer.Exit(FAILED)
    ran = process.run(words, os.environ | session.environment(line))
    if ran.refusal:
        complain(ran.refusal)
    if not again:
        record = partial(
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
            memory.asked("did not record this run", limits.RUN_RECORD_S, record)
    raise typer.Exit(ran.exit_code)


@dataclass
class _OpenedMemory:
    """The memory, while whatever is wrong with it is told once."""

    ctx: typer.Context
    told: bool = False

    def asked(self, trouble: str, seconds: float, ask: Callable[[Memory], T]) -> T | None:
        from hardwon.capture.run import within

        def opened() -> T:
            with chosen(self.ctx).open() as memory:
                return ask(memory)

        try:
            return within(seconds, opened)
        except Exception as error:  # noqa: BLE001  # whatever is wrong with the memory, the command is what counts
            if not self.told:
                complain(f"the memory {trouble}: {error}")
            self.told = True
            return None


# --- hooks ---

Into = Annotated[Literal["git", "claude-code"], typer.Argument(help="What they are hooks of.")]
Local = Annotated[
    bool,
    typer.Option("--local", help="claude-code: in .claude/settings.local.json, for you alone."),
]
User = Annotated[
    bool, typer.Option("--user", help="claude-code: in ~/.claude/settings.json, wherever you work.")
]
AskBlocked = Annotated[
    bool,
    typer.Option(
        "--ask-blocked", help="claude-code: ask you before what failed the same way twice."
    ),
]
DenyBlocked = Annotated[bool, typer.Option("--deny-blocked", help="claude-code: do not allow it.")]
MakeMemory = Annotated[
    bool,
    typer.Option("--make-memory", help="claude-code: record also where there is no memory yet."),
]
Budget = Annotated[
    int,
    typer.Option(
        min=1,
        max=limits.CONTEXT_TOKENS_MAX,
        help="claude-code: tokens of a context at most.",
        metavar="TOKENS",
    ),
]

add_group(
    "hooks",
    "Hooks of git and of Claude Code: the memory is asked and told without anybody having to "
    "remember it.",
    """`hardwon hooks install` puts a `post-commit` hook into this repository: a commit that makes tests pass publishes
    what led to it, as [run.md](run.md) says. `hardwon hooks status` tells whether it is there, `hardwon hooks
    remove` takes it away. Each takes `git` as an argument, which is also what it means without one.

    A hook that is there already is kept as `post-commit.before-hardwon`, called first, and gets its name back on removal;
    its exit code is the hook's. `core.hooksPath` and linked worktrees are followed. Where the user's or the system's
    configuration names the folder, it serves other repositories too: that takes `--shared`. `--memory` and `--project`
    before `hooks install` are what the hook will use. The hook calls `hardwon hooks run post-commit`, by the command on the
    `PATH` or else by the Python that installed it, and is silent where neither is there any more.

    `hardwon hooks install claude-code` sets up Claude Code's hooks instead, `status` and `remove` take the same word:
    [coding-agents.md](coding-agents.md#claude-codes-hooks) says what they do.
    `--local` and `--user` choose another settings file than the project's,
    `--ask-blocked`, `--deny-blocked`, `--make-memory` and `--budget` are how the hooks will behave, `--dry-run` prints the
    file.""",
)

_ANSWERS: Final = """`hooks`, a list of `name`, `path`, `state` (`installed`, `absent`, or `other`: somebody else's); of git
    `chained` (an earlier hook is kept beside it), `edited` (somebody changed ours: it is left alone until that is undone); of
    Claude Code, where `name` is the event, `command` (what is called) and `found` (whether that is there)."""


@command(
    "hardwon hooks install",
    "hardwon hooks install claude-code --local --make-memory",
    words="hooks install",
    answers=_ANSWERS,
)
def install(
    ctx: typer.Context,
    into: Into = "git",
    shared: Annotated[
        bool,
        typer.Option("--shared", help="git: also in a hooks folder that other repositories use."),
    ] = False,
    local: Local = False,
    user: User = False,
    ask_blocked: AskBlocked = False,
    deny_blocked: DenyBlocked = False,
    make_memory: MakeMemory = False,
    budget: Budget = limits.CONTEXT_TOKENS,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="claude-code: print the settings file as it would be."),
    ] = False,
) -> Output:
    """Install them. What is there already stays, and keeps running."""
    if into == "git":
        _refuse(
            into,
            local=local,
            user=user,
            ask_blocked=ask_blocked,
            deny_blocked=deny_blocked,
            make_memory=make_memory,
            budget=budget != limits.CONTEXT_TOKENS,
            dry_run=dry_run,
        )
        folder = git_hooks.folder_of_hooks(_root(), shared=shared)
        return _git_answer(git_hooks.install(folder, memory_options(ctx)))
    _refuse(into, shared=shared)
    if ask_blocked and deny_blocked:
        raise typer.BadParameter("not both of --ask-blocked and --deny-blocked")
    options = [
        *(["--ask-blocked"] if ask_blocked else []),
        *(["--deny-blocked"] if deny_blocked else []),
        *(["--make-memory"] if make_memory else []),
        *(["--budget", str(budget)] if budget != limits.CONTEXT_TOKENS else []),
    ]
    scope, root = _scope(local, user), _root()
    path = claude_code.settings_file(scope, root)
    command = claude_code.command_for(scope, root, memory_options(ctx), options)
    if dry_run:
        write(claude_code.planned(path, command))
        raise typer.Exit
    claude_code.install(path, command)
    if not make_memory and not memory_exists(chosen(ctx).memory):
        complain(
            f"there is no memory at {find_place(chosen(ctx).memory).location} yet: until there is one, nothing is "
            f"recorded (or install with --make-memory)"
        )
    _note_on_others(path, "where both apply, everything is recorded twice: also installed in")
    return _claude_code_answer([path])


@command(
    "hardwon hooks remove",
    "hardwon hooks remove claude-code --local",
    words="hooks remove",
    answers=_ANSWERS,
)
def remove(into: Into = "git", local: Local = False, user: User = False) -> Output:
    """Remove them, and put back what was there before."""
    if into == "git":
        _refuse(into, local=local, user=user)
        return _git_answer(git_hooks.remove(git_hooks.folder_of_hooks(_root(), shared=True)))
    path = claude_code.settings_file(_scope(local, user), _root())
    claude_code.remove(path)
    _note_on_others(path, "still installed in")
    return _claude_code_answer([path])


@command(
    "hardwon hooks status --json",
    "hardwon hooks status claude-code",
    words="hooks status",
    answers=_ANSWERS,
)
def status(into: Into = "git", local: Local = False, user: User = False) -> Output:
    """Say which are installed; of Claude Code's, in which of its settings files."""
    if into == "git":
        _refuse(into, local=local, user=user)
        return _git_answer(git_hooks.status(git_hooks.folder_of_hooks(_root(), shared=True)))
    scopes = [_scope(local, user)] if local or user else list(get_args(claude_code.Scope))
    return _claude_code_answer([claude_code.settings_file(scope, _root()) for scope in scopes])


@command("hardwon hooks run post-commit", words="hooks run", hidden=True)
def run_hook(
    ctx: typer.Context,
    name: str,
    ask_blocked: AskBlocked = False,
    deny_blocked: DenyBlocked = False,
    make_memory: MakeMemory = False,
    budget: Budget = limits.CONTEXT_TOKENS,
) -> None:
    """What an installed hook calls. It never fails, and never takes long."""
    for_agent = name == "claude-code"
    patience_s = limits.AGENT_HOOK_S_MAX if for_agent else limits.HOOK_S_MAX
    # whatever is under way is then as if it had never begun
    alarm = threading.Timer(patience_s, os._exit, (0,))
    alarm.daemon = True
    alarm.start()
    try:
        if name == git_hooks.NAME:
            _publish(ctx)
        elif for_agent and sys.stdin is not None:
            from hardwon.capture import agents

            blocked: Final = "deny" if deny_blocked else "ask" if ask_blocked else "warn"
            manner = agents.Manner(blocked, make_memory, budget)
            event = agents.read_event(sys.stdin.buffer)
            if reply := agents.answer(event, chosen(ctx), manner):
                write(json.dumps(reply) + "\n")
    except Exception as error:  # noqa: BLE001  # who works does not wait for a memory, nor for what is wrong with it
        complain(str(error))
    finally:
        alarm.cancel()


def _publish(ctx: typer.Context) -> None:
    root = repository_root(Path.cwd())
    memory = chosen(ctx).memory
    if root is None or Repository(root).is_rebasing or not memory_exists(memory):
        return
    commit = last_commit(root)
    if commit is None:
        return
    with Memory(
        memory, chosen(ctx).project, busy_timeout_ms=limits.FEEDBACK_WAIT_MS, upgrade=False
    ) as opened:
        published = opened.tests.publish(commit)
    if published:
        write(
            f"hardwon: {counted(len(published), 'record')} published: their tests pass at "
            f"{commit.id[:12]}\n"
        )


def _root() -> Path:
    return repository_root(Path.cwd()) or Path.cwd()


def _git_answer(hook: git_hooks.Hook) -> Output:
    states = {"installed": "installed", "absent": "not installed", "other": "somebody else's"}
    chained = hook.chained and hook.state == "installed"
    also = f"; calls {hook.path.name}{git_hooks.SAVED} first" if chained else ""
    edited = ", with changes of somebody's" if hook.edited else ""
    text = f"{hook.name}: {states[hook.state]}{edited} ({hook.path}{also})"
    return Output({"hooks": [hook]}, text)


# --- Claude Code ---


def _scope(local: bool, user: bool) -> claude_code.Scope:
    if local and user:
        raise typer.BadParameter("not both of --local and --user")
    return "local" if local else "user" if user else "project"


def _refuse(target: str, **given: bool) -> None:
    """Options of the other target."""
    for name in (name.replace("_", "-") for name, wanted in given.items() if wanted):
        raise typer.BadParameter(f"--{name} has no meaning for hooks of {target}")


def _claude_code_answer(paths: Sequence[Path]) -> Output:
    root, lines = _root(), []
    found = {path: claude_code.status(path, root) for path in paths}
    for path, of_file in found.items():
        present = ", ".join(each.event for each in of_file if each.command)
        absent = ", ".join(each.event for each in of_file if not each.command)
        rest = f"; {absent} not installed" if absent else ""
        lines.append(f"{path}: {f'{present} installed{rest}' if present else 'not installed'}")
    missing = dict.fromkeys(
        f"what it calls cannot be found: {each.command}"
        for of_file in found.values()
        for each in of_file
        if each.command and not each.found
    )
    hooks_found = [
        {
            "name": each.event,
            "path": str(each.path),
            "state": "installed" if each.command else "absent",
            "command": each.command,
            "found": each.found,
        }
        for of_file in found.values()
        for each in of_file
    ]
    return Output({"hooks": hooks_found}, "\n".join(lines), complaints=missing)


def _note_on_others(path: Path, note: str) -> None:
    """Each settings file of Claude Code's counts. What is wrong with the others is not the question
    here.
    """
    root = _root()
    for other in (claude_code.settings_file(scope, root) for scope in get_args(claude_code.Scope)):
        with suppress(PlaceError):
            if other != path and any(each.command for each in claude_code.status(other, root)):
                complain(f"{note} {other}")
