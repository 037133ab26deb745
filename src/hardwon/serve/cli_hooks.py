"""`hardwon hooks`: git tells the memory what a commit proves. docs/feedback.md says what that is.

Annotations are not postponed here: typer would have to evaluate each of them twice before any command could start.
"""

import json
import os
import sys
import threading
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from hardwon import limits
from hardwon.memory import Memory
from hardwon.outside import git_hooks
from hardwon.outside.git import Repository, last_commit, repository_root
from hardwon.serve.terminal import visible


class Target(StrEnum):
    """What hooks are installed into."""

    GIT = "git"


Into = Annotated[Target, typer.Argument(help="What they are hooks of.")]
Shared = Annotated[bool, typer.Option("--shared", help="Also in a hooks folder that other repositories use.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

_EXAMPLE: Final = "\b\nExamples:\n  hardwon hooks {}"

hooks = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Git hooks: a commit that makes tests pass publishes what led to it.",
)


@hooks.command(epilog=_EXAMPLE.format("install"))
def install(ctx: typer.Context, into: Into = Target.GIT, shared: Shared = False, as_json: Json = False) -> None:  # noqa: ARG001
    """Install them into this repository. Hooks that are there already keep running."""
    folder = git_hooks.folder_of_hooks(_root(), shared=shared)
    _tell(git_hooks.install(folder, _options(ctx)), as_json)


@hooks.command(epilog=_EXAMPLE.format("remove"))
def remove(into: Into = Target.GIT, as_json: Json = False) -> None:  # noqa: ARG001
    """Remove them, and put back what was there before."""
    _tell(git_hooks.remove(git_hooks.folder_of_hooks(_root(), shared=True)), as_json)


@hooks.command(epilog=_EXAMPLE.format("status --json"))
def status(into: Into = Target.GIT, as_json: Json = False) -> None:  # noqa: ARG001
    """Say which are installed."""
    _tell(git_hooks.status(git_hooks.folder_of_hooks(_root(), shared=True)), as_json)


@hooks.command(hidden=True, epilog=_EXAMPLE.format("run post-commit"))
def run(ctx: typer.Context, name: str) -> None:
    """What an installed hook calls. It never fails, and never takes long."""
    alarm = threading.Timer(limits.HOOK_S_MAX, os._exit, (0,))  # whatever is under way is then as if it had never begun
    alarm.daemon = True
    alarm.start()
    try:
        if name in git_hooks.HOOKS:
            _publish(ctx)
    except Exception as error:  # noqa: BLE001  # who commits does not wait for a memory, nor for what is wrong with it
        typer.echo(f"hardwon: {error}", err=True)
    finally:
        alarm.cancel()


def _publish(ctx: typer.Context) -> None:
    root = repository_root(Path.cwd())
    memory, project = _chosen(ctx)
    if root is None or Repository(root).is_rebasing or not Memory.place_of(memory).exists():
        return
    commit = last_commit(root)
    if commit is None:
        return
    with Memory(memory, project, busy_timeout_ms=limits.FEEDBACK_WAIT_MS) as opened:
        published = opened.publish_tested(commit)
    if published:
        records = "1 record" if len(published) == 1 else f"{len(published)} records"
        typer.echo(f"hardwon: {records} published: their tests pass at {commit.id[:12]}")


def _chosen(ctx: typer.Context) -> tuple[str | None, str | None]:
    chosen: Any = ctx.find_root().obj
    return getattr(chosen, "memory", None), getattr(chosen, "project", None)


def _options(ctx: typer.Context) -> list[str]:
    """The memory and project that a hook is installed for, where somebody names them."""
    memory, project = _chosen(ctx)
    return [
        *(["--memory", memory if "://" in memory else str(Path(memory).expanduser().absolute())] if memory else []),
        *(["--project", project] if project else []),
    ]


def _root() -> Path:
    return repository_root(Path.cwd()) or Path.cwd()


def _tell(found: Sequence[git_hooks.Hook], as_json: bool) -> None:
    if as_json:
        said = [{"name": each.name, "path": str(each.path), "state": each.state, "chained": each.chained} for each in found]
        sys.stdout.write(json.dumps({"hooks": said}) + "\n")
        return
    for each in found:
        also = f"; calls {each.path.name}{git_hooks.SAVED} first" if each.chained and each.state == "installed" else ""
        state = {"installed": "installed", "absent": "not installed", "other": "somebody else's"}[each.state]
        typer.echo(f"{each.name}: {state} ({visible(str(each.path))}{also})")
