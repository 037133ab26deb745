"""Outcomes that nobody has to report: `run` is a command between the memory's word of warning and
the record of how it went; `hooks` lets git tell what a commit proves (docs/run.md), and coding
agents ask before they work and tell what came of it (docs/coding-agents.md).

Nothing that the memory does, or fails to do, changes the run of a command or of a hook: it is told
in one line on standard error.
"""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

import typer

from hardwon import limits
from hardwon.capture import git_hooks
from hardwon.capture.agent_settings import LAYOUTS, AgentSettings, Scope
from hardwon.capture.protocols import AGENTS
from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.places import find_place, memory_exists
from hardwon.outside.files import repository_root
from hardwon.outside.git import Repository, last_commit
from hardwon.surfaces.cli.main import (
    FAILED,
    DryRun,
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
from hardwon.text.shell import runs_tests
from hardwon_cli import hook

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
    """Run a command, warn where it failed before, record it.

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
    again, tests = session.holds(line), runs_tests(words)
    ask = partial(_ask, ctx, [])
    if not again and (not quiet or stop_if_blocked):
        advice = ask(
            "has no advice",
            limits.RUN_ADVICE_S,
            lambda memory: memory.advise(line, task=task or None),
        )
        # not where it worked last: that little works here is no news each time
        if advice and advice.failures and not quiet:
            complain(attempts.told_of_tests(advice.failures) if tests else advice.message)
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
            ask("did not record this run", limits.RUN_RECORD_S, record)
    raise typer.Exit(ran.exit_code)


def _ask(
    ctx: typer.Context,
    troubles: list[str],
    trouble: str,
    seconds: float,
    question: Callable[[Memory], T],
) -> T | None:
    """What the memory answers. What is wrong with it is told once, of several questions."""
    from hardwon.capture.run import within

    def asked() -> T:
        with chosen(ctx).open() as memory:
            return question(memory)

    try:
        return within(seconds, asked)
    except Exception as error:  # noqa: BLE001  # whatever is wrong with the memory, the command is what counts
        if not troubles:
            complain(f"the memory {trouble}: {error}")
        troubles.append(trouble)
        return None


# --- sessions ---


@command(
    "hardwon import claude-code",
    "hardwon import codex ~/.codex/sessions/2026 --dry-run",
    "hardwon import otlp traces.jsonl --json",
    words="import",
    answers="""`files`, `sessions`, of these `elsewhere` (of another repository) and `recorded` (by hooks, here); `read`
    (pieces of work), of these `added`, `present` (already), `changed` (since they were brought in: those stay as they are
    here) and `forgotten` (here, and stay so); `passed_over` (lines that are no JSON), `dry_run`.""",
    more="""Without a path, the sessions of `claude-code` are looked for in `~/.claude/projects`, those of `codex` in
    `~/.codex/sessions`; `otlp` takes a file of OpenTelemetry's JSON, or a folder of them. Only sessions of the repository that
    you are in are brought in; `--everywhere` takes all. [coding-agents.md](coding-agents.md#sessions-that-are-there-already)
    says what becomes of them. It may be interrupted and repeated.""",
)
def import_(
    ctx: typer.Context,
    form: Annotated[
        Literal["claude-code", "codex", "otlp"],
        typer.Argument(metavar="FORMAT", help="claude-code, codex or otlp."),
    ],
    path: Annotated[
        str | None,
        typer.Argument(
            help="A file, or a folder of them.", show_default="where the agent keeps them"
        ),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Also sessions of other repositories.")
    ] = False,
    dry_run: DryRun = False,
) -> Output:
    """Take in sessions that coding agents left on disk."""
    from hardwon.capture.transcripts import HOMES, take_in

    if path is None and form not in HOMES:
        raise typer.BadParameter("say where the traces are", param_hint="PATH")
    at = Path(HOMES[form] if path is None else path).expanduser()
    done = chosen(ctx).fill(
        lambda memory, trying, bar: take_in(
            memory, form, at, everywhere=everywhere, dry_run=trying, progress=bar
        ),
        lambda tried: tried.added,
        "importing",
        "what was imported so far stays; import it again to go on",
        dry_run=dry_run,
    )
    would = "would be " if dry_run else ""
    lines = [
        f"{counted(done.sessions, 'session')} in {counted(done.files, 'file')}: "
        f"{done.elsewhere} of other repositories, "
        f"{done.recorded} recorded already by hooks",
        f"{counted(done.read, 'piece', 'pieces')} of work: {done.added} {would}added, {done.present} present already, "
        f"{done.changed} changed since, {done.forgotten} forgotten here",
    ]
    return Output(done, "\n".join(lines))


# --- hooks ---

HooksOf = Literal["git", "claude-code", "codex", "cursor"]
Into = Annotated[HooksOf, typer.Argument(help="What they are hooks of.")]
Local = Annotated[
    bool,
    typer.Option("--local", help="claude-code: in .claude/settings.local.json, for you alone."),
]
User = Annotated[
    bool, typer.Option("--user", help="agents: in your own settings, wherever you work.")
]

add_group(
    "hooks",
    "Let git and coding agents ask and tell by themselves.",
    """`hardwon hooks install` puts a `post-commit` hook into this repository: a commit that makes tests pass publishes
    what led to it, as [run.md](run.md) says. `hardwon hooks remove` takes it away. Each takes `git` as an argument, which is
    also what it means without one. `hardwon hooks status` tells which hooks are there, of git and of every agent.

    A hook that is there already is kept as `post-commit.before-hardwon`, called first, and gets its name back on removal;
    its exit code is the hook's. `core.hooksPath` and linked worktrees are followed. Where the user's or the system's
    configuration names the folder, it serves other repositories too: that takes `--shared`. `--memory` and `--project`
    before `hooks install` are what the hook will use. The hook calls `hardwon hooks run post-commit`, by the command on the
    `PATH` or else by the Python that installed it, and is silent where neither is there any more.

    `hardwon hooks install claude-code` sets up Claude Code's hooks instead, `codex` and `cursor` theirs; `remove` and `status`
    take the same words: [coding-agents.md](coding-agents.md#hooks) says what they do.
    `--local` and `--user` choose another settings file than the project's,
    `--ask-blocked`, `--deny-blocked`, `--make-memory`, `--no-prompts` and `--budget` are how the hooks will behave, `--dry-run`
    prints the file. What is written is started once, and complained of where that fails.""",
)

_ANSWERS: Final = """`hooks`, a list of `name`, `path`, `state` (`installed`, `absent`, or `other`: somebody else's); of git
    `chained` (an earlier hook is kept beside it), `edited` (somebody changed ours: it is left alone until that is undone); of
    an agent, where `name` is the event, `command` (what is called) and `found` (whether that is there)."""


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
    ask_blocked: Annotated[
        bool,
        typer.Option(
            "--ask-blocked", help="agents: ask you before what failed the same way twice."
        ),
    ] = False,
    deny_blocked: Annotated[
        bool, typer.Option("--deny-blocked", help="agents: do not allow it.")
    ] = False,
    make_memory: Annotated[
        bool,
        typer.Option("--make-memory", help="agents: record also where there is no memory yet."),
    ] = False,
    no_prompts: Annotated[
        bool, typer.Option("--no-prompts", help="agents: do not keep what was asked as the task.")
    ] = False,
    budget: Annotated[
        int,
        typer.Option(
            min=1,
            max=limits.CONTEXT_TOKENS_MAX,
            help="agents: tokens of a context at most.",
            metavar="TOKENS",
        ),
    ] = limits.CONTEXT_TOKENS,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="agents: print the settings file as it would be."),
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
            no_prompts=no_prompts,
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
        *(["--no-prompts"] if no_prompts else []),
        *(["--budget", str(budget)] if budget != limits.CONTEXT_TOKENS else []),
    ]
    settings = _settings(into, local, user)
    command = settings.command(memory_options(ctx), options)
    if dry_run:
        write(settings.planned(command))
        raise typer.Exit
    settings.install(command)
    if not make_memory and not memory_exists(chosen(ctx).memory):
        complain(
            f"there is no memory at {find_place(chosen(ctx).memory).location} yet: until there is one, nothing is "
            f"recorded (or install with --make-memory)"
        )
    if why := settings.why_not_started(command):
        complain(f"what it calls cannot be started: {command}: {why}")
    _note_on_others(settings, "where both apply, everything is recorded twice: also installed in")
    return _agent_answer([settings])


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
    settings = _settings(into, local, user)
    settings.remove()
    _note_on_others(settings, "still installed in")
    return _agent_answer([settings])


@command(
    "hardwon hooks status --json",
    "hardwon hooks status claude-code",
    words="hooks status",
    answers=_ANSWERS,
)
def status(
    into: Annotated[HooksOf | None, typer.Argument(help="Of these alone.")] = None,
    local: Local = False,
    user: User = False,
) -> Output:
    """Say which are installed; of an agent's, in which of its settings files."""
    if into in (None, "git"):
        _refuse(into or "everything", local=local, user=user)
    files = [
        AgentSettings(agent, scope, _root())
        for agent, layout in LAYOUTS.items()
        for scope in layout.files
        if into in (None, agent)
    ]
    answers = [_agent_answer([_settings(str(into), local, user)] if local or user else files)]
    if into in (None, "git"):
        try:
            folder = git_hooks.folder_of_hooks(_root(), shared=True)
            answers.insert(0, _git_answer(git_hooks.status(folder)))
        except PlaceError as error:  # agents work there too
            if into:
                raise
            complain(str(error))
    return Output(
        {"hooks": [hook for each in answers for hook in each.value["hooks"]]},
        "\n".join(filter(None, (str(each.text) for each in answers))),
        complaints=answers[-1].complaints,
    )


@command(
    "hardwon hooks run post-commit",
    words="hooks run",
    hidden=True,
    settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def run_hook(ctx: typer.Context, name: str) -> None:
    """What an installed hook calls. It never fails, and never takes long."""
    if name != git_hooks.NAME:
        named = ctx.find_root().obj._asdict()
        before = [word for key in named if named[key] for word in (f"--{key}", named[key])]
        if not hook.main([*before, "hooks", "run", name, *ctx.args]):
            given = " ".join((name, *ctx.args))
            known = ", ".join((*AGENTS, git_hooks.NAME))
            raise typer.BadParameter(
                f"{given!r} is not allowed; allowed: {known}, with the options of hooks install",
                param_hint="NAME",
            )
        return
    # whatever is under way is then as if it had never begun
    alarm = threading.Timer(limits.HOOK_S_MAX, os._exit, (0,))
    alarm.daemon = True
    alarm.start()
    try:
        _publish(ctx)
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


# --- agents ---


def _settings(agent: str, local: bool, user: bool) -> AgentSettings:
    if local and user:
        raise typer.BadParameter("not both of --local and --user")
    scope: Final[Scope] = "local" if local else "user" if user else "project"
    if scope not in LAYOUTS[agent].files:
        _refuse(agent, local=local)
    return AgentSettings(agent, scope, _root())


def _refuse(target: str, **given: bool) -> None:
    """Options of the other target."""
    for name in (name.replace("_", "-") for name, wanted in given.items() if wanted):
        raise typer.BadParameter(f"--{name} has no meaning for hooks of {target}")


def _agent_answer(files: Sequence[AgentSettings]) -> Output:
    lines = []
    found = {each.path: each.status() for each in files}
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


def _note_on_others(settings: AgentSettings, note: str) -> None:
    """Each settings file of an agent's counts. What is wrong with the others is not the question
    here.
    """
    for scope in settings.layout.files:
        other = AgentSettings(settings.agent, scope, settings.root)
        with suppress(PlaceError):
            if other.path != settings.path and any(each.command for each in other.status()):
                complain(f"{note} {other.path}")
