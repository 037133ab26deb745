"""`hardwon hooks`: git tells the memory what a commit proves. docs/feedback.md says what that is.

Annotations are not postponed here: typer would have to evaluate each of them twice before any command could start.
"""

import os
import threading
from collections.abc import Sequence
from dataclasses import astuple
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from hardwon import limits
from hardwon.memory import Memory
from hardwon.outside import git_hooks
from hardwon.outside.git import Repository, last_commit, repository_root
from hardwon.serve.cli_base import CARE, Json, add_app, chosen, complain, inner_command, new_app, settings_of, write, write_json
from hardwon.serve.terminal import visible


class Target(StrEnum):
    """What hooks are installed into."""

    GIT = "git"


Into = Annotated[Target, typer.Argument(help="What they are hooks of.")]
Shared = Annotated[bool, typer.Option("--shared", help="Also in a hooks folder that other repositories use.")]

hooks: Final = new_app(
    name="hooks", help="Git hooks: a commit that makes tests pass publishes what led to it.", add_completion=False
)
add_app(
    "hooks",
    CARE,
    hooks,
    more="""`hardwon hooks install` puts a `post-commit` hook into this repository: a commit that makes tests pass publishes
    what led to it, as [feedback.md](feedback.md) says. `hardwon hooks status` tells whether it is there, `hardwon hooks
    remove` takes it away. Each takes `git` as an argument, which is also what it means without one.

    A hook that is there already is kept as `post-commit.before-hardwon`, called first, and gets its name back on removal;
    its exit code is the hook's. `core.hooksPath` and linked worktrees are followed. Where the user's or the system's
    configuration names the folder, it serves other repositories too: that takes `--shared`. `--memory` and `--project`
    before `hooks install` are what the hook will use. The hook calls `hardwon hooks run post-commit`, by the command on the
    `PATH` or else by the Python that installed it, and is silent where neither is there any more.""",
)

_ANSWERS: Final = """`hooks`, a list of `name`, `path`, `state` (`installed`, `absent`, or `other`: somebody else's), `chained`
    (an earlier hook is kept beside it), `edited` (somebody changed ours: it is left alone until that is undone)."""


@inner_command(hooks, "hardwon hooks install", answers=_ANSWERS)
def install(ctx: typer.Context, into: Into = Target.GIT, shared: Shared = False, as_json: Json = False) -> None:  # noqa: ARG001
    """Install them into this repository. Hooks that are there already keep running."""
    folder = git_hooks.folder_of_hooks(_root(), shared=shared)
    _tell(git_hooks.install(folder, _options(ctx)), as_json)


@inner_command(hooks, "hardwon hooks remove", answers=_ANSWERS)
def remove(into: Into = Target.GIT, as_json: Json = False) -> None:  # noqa: ARG001
    """Remove them, and put back what was there before."""
    _tell(git_hooks.remove(git_hooks.folder_of_hooks(_root(), shared=True)), as_json)


@inner_command(hooks, "hardwon hooks status --json", answers=_ANSWERS)
def status(into: Into = Target.GIT, as_json: Json = False) -> None:  # noqa: ARG001
    """Say which are installed."""
    _tell(git_hooks.status(git_hooks.folder_of_hooks(_root(), shared=True)), as_json)


@inner_command(hooks, "hardwon hooks run post-commit", hidden=True)
def run(ctx: typer.Context, name: str) -> None:
    """What an installed hook calls. It never fails, and never takes long."""
    alarm = threading.Timer(limits.HOOK_S_MAX, os._exit, (0,))  # whatever is under way is then as if it had never begun
    alarm.daemon = True
    alarm.start()
    try:
        if name in git_hooks.HOOKS:
            _publish(ctx)
    except Exception as error:  # noqa: BLE001  # who commits does not wait for a memory, nor for what is wrong with it
        complain(str(error))
    finally:
        alarm.cancel()


def _publish(ctx: typer.Context) -> None:
    root = repository_root(Path.cwd())
    memory, project = astuple(chosen(ctx))
    if root is None or Repository(root).is_rebasing or not Memory.place_of(memory).exists():
        return
    commit = last_commit(root)
    if commit is None:
        return
    with Memory(memory, project, busy_timeout_ms=limits.FEEDBACK_WAIT_MS) as opened:
        published = opened.publish_tested(commit)
    if published:
        records = "1 record" if len(published) == 1 else f"{len(published)} records"
        write(f"hardwon: {records} published: their tests pass at {commit.id[:12]}\n")


def _options(ctx: typer.Context) -> list[str]:
    """The memory and project that a hook is installed for, where somebody names them. Files of settings it reads itself."""
    memory, project = (each.value if each.origin in ("option", "environment") else None for each in list(settings_of(ctx))[:2])
    return [
        *(["--memory", memory if "://" in memory else str(Path(memory).expanduser().absolute())] if memory else []),
        *(["--project", project] if project else []),
    ]


def _root() -> Path:
    return repository_root(Path.cwd()) or Path.cwd()


def _tell(found: Sequence[git_hooks.Hook], as_json: bool) -> None:
    if as_json:
        said = [
            {"name": each.name, "path": str(each.path), "state": each.state, "chained": each.chained, "edited": each.edited}
            for each in found
        ]
        write_json({"hooks": said})
        return
    for each in found:
        also = f"; calls {each.path.name}{git_hooks.SAVED} first" if each.chained and each.state == "installed" else ""
        state = {"installed": "installed", "absent": "not installed", "other": "somebody else's"}[each.state]
        state += ", with changes of somebody's" if each.edited else ""
        write(f"{each.name}: {state} ({visible(str(each.path))}{also})\n")
