"""`hardwon hooks`: git tells the memory what a commit proves (docs/run.md), and Claude Code
asks it before it works and tells it what came of it (docs/coding-agents.md).

Annotations are not postponed here: typer would have to evaluate each of them twice before any
command could start.
"""

import json
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hardwon import limits
from hardwon.capture import agent_settings as claude_code
from hardwon.capture import git_hooks
from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.project import memory_exists, place_of
from hardwon.outside.git import Repository, last_commit, repository_root
from hardwon.surfaces.cli.base import (
    SERVING,
    Json,
    add_app,
    chosen,
    complain,
    counted,
    inner_command,
    memory_options,
    new_app,
    write,
    write_json,
)
from hardwon.surfaces.cli.output import visible

if TYPE_CHECKING:
    from hardwon.capture.agents import Manner


class Target(StrEnum):
    """What hooks are installed into."""

    GIT = "git"
    CLAUDE_CODE = "claude-code"


Into = Annotated[Target, typer.Argument(help="What they are hooks of.")]
Shared = Annotated[
    bool, typer.Option("--shared", help="git: also in a hooks folder that other repositories use.")
]
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
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="claude-code: print the settings file as it would be.")
]

hooks: Final = new_app(
    name="hooks",
    help="Hooks of git and of Claude Code: the memory is asked and told without anybody having to "
    "remember it.",
    add_completion=False,
)
add_app(
    "hooks",
    SERVING,
    hooks,
    more="""`hardwon hooks install` puts a `post-commit` hook into this repository: a commit that makes tests pass publishes
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


@inner_command(
    hooks,
    "hardwon hooks install",
    "hardwon hooks install claude-code --local --make-memory",
    answers=_ANSWERS,
)
def install(
    ctx: typer.Context,
    into: Into = Target.GIT,
    shared: Shared = False,
    local: Local = False,
    user: User = False,
    ask_blocked: AskBlocked = False,
    deny_blocked: DenyBlocked = False,
    make_memory: MakeMemory = False,
    budget: Budget = limits.CONTEXT_TOKENS,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Install them. What is there already stays, and keeps running."""
    if into is Target.GIT:
        _refuse(into, local=local, user=user, ask_blocked=ask_blocked, deny_blocked=deny_blocked)
        _refuse(
            into, make_memory=make_memory, budget=budget != limits.CONTEXT_TOKENS, dry_run=dry_run
        )
        _tell(
            git_hooks.install(
                git_hooks.folder_of_hooks(_root(), shared=shared), memory_options(ctx)
            ),
            as_json,
        )
        return
    _refuse(into, shared=shared)
    if ask_blocked and deny_blocked:
        raise typer.BadParameter("not both of --ask-blocked and --deny-blocked")
    manner = {
        "--ask-blocked": ask_blocked,
        "--deny-blocked": deny_blocked,
        "--make-memory": make_memory,
    }
    options = [name for name, wanted in manner.items() if wanted]
    options += ["--budget", str(budget)] if budget != limits.CONTEXT_TOKENS else []
    scope, root = _scope(local, user), _root()
    path = claude_code.settings_file(scope, root)
    command = claude_code.command_for(scope, root, memory_options(ctx), options)
    if dry_run:
        write(claude_code.planned(path, command))
        return
    claude_code.install(path, command)
    _tell_claude_code([path], as_json)
    _note_on_memory(ctx, make_memory)
    _note_on_others(path, "where both apply, everything is recorded twice: also installed in")


@inner_command(
    hooks, "hardwon hooks remove", "hardwon hooks remove claude-code --local", answers=_ANSWERS
)
def remove(
    into: Into = Target.GIT, local: Local = False, user: User = False, as_json: Json = False
) -> None:
    """Remove them, and put back what was there before."""
    if into is Target.GIT:
        _refuse(into, local=local, user=user)
        _tell(git_hooks.remove(git_hooks.folder_of_hooks(_root(), shared=True)), as_json)
        return
    path = claude_code.settings_file(_scope(local, user), _root())
    claude_code.remove(path)
    _tell_claude_code([path], as_json)
    _note_on_others(path, "still installed in")


@inner_command(
    hooks, "hardwon hooks status --json", "hardwon hooks status claude-code", answers=_ANSWERS
)
def status(
    into: Into = Target.GIT, local: Local = False, user: User = False, as_json: Json = False
) -> None:
    """Say which are installed; of Claude Code's, in which of its settings files."""
    if into is Target.GIT:
        _refuse(into, local=local, user=user)
        _tell(git_hooks.status(git_hooks.folder_of_hooks(_root(), shared=True)), as_json)
        return
    scopes = [_scope(local, user)] if local or user else list(claude_code.Scope)
    _tell_claude_code([claude_code.settings_file(scope, _root()) for scope in scopes], as_json)


@inner_command(hooks, "hardwon hooks run post-commit", hidden=True)
def run(
    ctx: typer.Context,
    name: str,
    ask_blocked: AskBlocked = False,
    deny_blocked: DenyBlocked = False,
    make_memory: MakeMemory = False,
    budget: Budget = limits.CONTEXT_TOKENS,
) -> None:
    """What an installed hook calls. It never fails, and never takes long."""
    for_agent = name == Target.CLAUDE_CODE
    patience_s = limits.AGENT_HOOK_S_MAX if for_agent else limits.HOOK_S_MAX
    # whatever is under way is then as if it had never begun
    alarm = threading.Timer(patience_s, os._exit, (0,))
    alarm.daemon = True
    alarm.start()
    try:
        if name in git_hooks.HOOKS:
            _publish(ctx)
        elif for_agent:
            from hardwon.capture.agents import Manner

            blocked: Final = "deny" if deny_blocked else "ask" if ask_blocked else "warn"
            _answer(ctx, Manner(blocked, make_memory, budget))
    except Exception as error:  # noqa: BLE001  # who works does not wait for a memory, nor for what is wrong with it
        complain(str(error))
    finally:
        alarm.cancel()


def _answer(ctx: typer.Context, manner: "Manner") -> None:
    from hardwon.capture import agents as answering

    if sys.stdin is None:
        return
    said = answering.answer(answering.read_event(sys.stdin.buffer), chosen(ctx), manner)
    if said:
        write(json.dumps(said) + "\n")


def _publish(ctx: typer.Context) -> None:
    root = repository_root(Path.cwd())
    memory, project = astuple(chosen(ctx))
    if root is None or Repository(root).is_rebasing or not memory_exists(memory):
        return
    commit = last_commit(root)
    if commit is None:
        return
    with Memory(memory, project, busy_timeout_ms=limits.FEEDBACK_WAIT_MS) as opened:
        published = opened.tests.publish(commit)
    if published:
        write(
            f"hardwon: {counted(len(published), 'record')} published: their tests pass at "
            f"{commit.id[:12]}\n"
        )


def _root() -> Path:
    return repository_root(Path.cwd()) or Path.cwd()


def _tell(found: Sequence[git_hooks.Hook], as_json: bool) -> None:
    if as_json:
        said = [
            {
                "name": each.name,
                "path": str(each.path),
                "state": each.state,
                "chained": each.chained,
                "edited": each.edited,
            }
            for each in found
        ]
        write_json({"hooks": said})
        return
    for each in found:
        also = (
            f"; calls {each.path.name}{git_hooks.SAVED} first"
            if each.chained and each.state == "installed"
            else ""
        )
        state = {"installed": "installed", "absent": "not installed", "other": "somebody else's"}[
            each.state
        ]
        state += ", with changes of somebody's" if each.edited else ""
        write(f"{each.name}: {state} ({visible(str(each.path))}{also})\n")


# --- Claude Code ---


def _scope(local: bool, user: bool) -> claude_code.Scope:
    if local and user:
        raise typer.BadParameter("not both of --local and --user")
    return (
        claude_code.Scope.LOCAL
        if local
        else claude_code.Scope.USER
        if user
        else claude_code.Scope.PROJECT
    )


def _refuse(target: Target, **given: bool) -> None:
    """Options of the other target."""
    for name, wanted in given.items():
        if wanted:
            raise typer.BadParameter(
                f"--{name.replace('_', '-')} has no meaning for hooks of {target}"
            )


def _tell_claude_code(paths: Sequence[Path], as_json: bool) -> None:
    root = _root()
    found = [claude_code.status(path, root) for path in paths]
    if as_json:
        said = [
            {
                "name": each.event,
                "path": str(each.path),
                "state": each.state,
                "command": each.command,
                "found": each.found,
            }
            for of_file in found
            for each in of_file
        ]
        write_json({"hooks": said})
        return
    for path, of_file in zip(paths, found, strict=True):
        there = [each for each in of_file if each.command]
        names = ", ".join(each.event for each in there)
        missing = [each.event for each in of_file if not each.command] if there else []
        state = (
            f"{names} installed" + (f"; {', '.join(missing)} not installed" if missing else "")
            if there
            else "not installed"
        )
        write(f"{visible(str(path))}: {state}\n")
        for command in dict.fromkeys(each.command for each in there if not each.found):
            complain(f"what it calls cannot be found: {command}")


def _note_on_memory(ctx: typer.Context, make_memory: bool) -> None:
    memory = chosen(ctx).memory
    if not make_memory and not memory_exists(memory):
        place = place_of(memory)
        complain(
            f"there is no memory at {place} yet: until there is one, nothing is recorded (or "
            f"install with --make-memory)"
        )


def _note_on_others(path: Path, note: str) -> None:
    """Each settings file of Claude Code's counts. What is wrong with the others is not the question
    here.
    """
    root = _root()
    for other in (claude_code.settings_file(scope, root) for scope in claude_code.Scope):
        with suppress(PlaceError):
            if other != path and any(each.command for each in claude_code.status(other, root)):
                complain(f"{note} {other}")
