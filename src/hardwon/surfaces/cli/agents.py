"""Outcomes that nobody has to report: `run` is a command between the memory's word of warning and
the record of how it went; `hooks` lets git tell what a commit proves (docs/run.md), and coding
agents ask before they work and tell what came of it (docs/coding-agents.md). And what has proved
itself, as `skills`.

Nothing that the memory does, or fails to do, changes the run of a command or of a hook: it is told
in one line on standard error.
"""

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import typer

from hardwon import limits
from hardwon.capture.agent_settings import LAYOUTS, AgentSettings, Scope
from hardwon.capture.hook_log import HookRun, HookSummary, sum_up_runs
from hardwon.capture.pause import pause_hooks, resume_hooks
from hardwon.capture.protocols import AGENTS
from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.places import find_place, memory_exists
from hardwon.outside.files import repository_root
from hardwon.outside.git import Repository, last_commit
from hardwon.surfaces.cli import base as cli
from hardwon.text.terms import say_count
from hardwon_cli import hook

GIT_HOOK: Final = "post-commit"
# A git hook gives up after so long, whatever holds it up. Who commits does not wait for a memory.
HOOK_S_MAX: Final = 5.0

# How long a command that has ended waits for its attempt to be recorded, where others write:
# whoever ran it waits as well.
RUN_RECORD_S: Final = 20.0

# How long a command waits for what the memory has to say before it. Fifty times what it takes.
RUN_ADVICE_S: Final = 3.0

T = TypeVar("T")
app = cli.make_app()
Quiet = Annotated[bool, cli.opt("Say nothing beforehand.", "--quiet", "-q")]


@cli.command(
    app,
    "run",
    prints_json=False,
    # what comes after the command is the command's
    context_settings={"allow_interspersed_args": False},
)
def run(
    words: list[str],
    *,
    task: cli.Text = None,
    author: cli.Text = None,
    tag: cli.Texts = None,
    quiet: Quiet = False,
    stop_if_blocked: bool = False,
) -> None:
    """Run a command, warn where it failed before, record it.

    Its input, output and exit code are passed through untouched ([run.md](run.md) tells all of it).
    Everything after `--` is the command's. `--stop-if-blocked` does not run what failed the same way
    twice and has not worked since: exit code 1.

    Its exit code is the command's: 128 and the signal's number where one killed it, 127 where there
    is no such command, 126 where it cannot be executed.

    \b
    Examples:
      hardwon run -- python3 -c 'print(6 * 7)'
      hardwon run --task "the parser reads dates" -- python3 -m compileall -q .

    Options:
      words COMMAND...: The command, with everything that belongs to it.
      task: What it is for. [the command itself]
      author: Who runs it.
      tag: A tag of the record; as often as you like.
      stop_if_blocked: Do not run what failed the same way again and again.
    """
    from hardwon.capture import process
    from hardwon.capture import run as attempts

    if not words[0].strip():
        raise typer.BadParameter("it is empty", param_hint="COMMAND")
    author = cli.read_settings().author.value if author is None else author
    folder = None
    attempts.check(task, author, tag or ())
    with suppress(OSError):  # the folder is gone: the line alone is kept then
        folder = Path.cwd()
    line = attempts.command_line(words, folder)
    session = attempts.RunSession.of(os.environ, folder)
    again, tests = session.holds(line), attempts.runs_tests(line)
    ask = partial(ask_in_time, [])
    if not again and (not quiet or stop_if_blocked):
        advice = ask(
            "has no advice", RUN_ADVICE_S, lambda memory: memory.advise(line, task=task or None)
        )
        # not where it worked last: that little works here is no news each time
        if advice and advice.failures and not quiet:
            cli.complain(attempts.describe_tests(advice.failures) if tests else advice.message)
        if advice and advice.verdict == "blocked" and stop_if_blocked:
            raise typer.Exit(cli.FAILED)
    ran = process.run(words, os.environ | session.environment(line))
    if ran.refusal:
        cli.complain(ran.refusal)
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
            ask("did not record this run", RUN_RECORD_S, record)
    raise typer.Exit(ran.exit_code)


def ask_in_time(
    troubles: list[str], trouble: str, seconds: float, question: Callable[[Memory], T]
) -> T | None:
    """What the memory answers. What is wrong with it is told once, of several questions."""
    from hardwon.capture.run import within

    def ask() -> T:
        """The answer, of the memory that is meant."""
        with cli.find_target().open() as memory:
            return question(memory)

    try:
        return within(seconds, ask)
    except Exception as error:  # noqa: BLE001  # whatever is wrong with the memory, the command is what counts
        if not troubles:
            cli.complain(f"the memory {trouble}: {error}")
        troubles.append(trouble)
        return None


@cli.command(app, "import")
def import_sessions(
    form: Literal["claude-code", "codex", "otlp"],
    path: cli.Text = None,
    *,
    everywhere: bool = False,
    dry_run: cli.DryRun = False,
) -> None:
    """Take in sessions that coding agents left on disk.

    Without a path, the sessions of `claude-code` are looked for in `~/.claude/projects`, those of
    `codex` in `~/.codex/sessions`; `otlp` takes a file of OpenTelemetry's JSON, or a folder of them.
    Only sessions of the repository that you are in are brought in; `--everywhere` takes all
    ([more](coding-agents.md#sessions-that-are-there-already)). It may be interrupted and repeated.

    JSON: `files`, `sessions`, of these `elsewhere` (of another repository) and `recorded` (by hooks,
    here); `read` (pieces of work), of these `added`, `present` (already), `changed` (since they were
    brought in: those stay as they are here) and `forgotten` (here, and stay so), and `solved`, `failed`
    and `unknown` (done, and nobody knows whether that solved it); `passed_over` (lines that are no
    JSON), `dry_run`.

    \b
    Examples:
      hardwon import claude-code
      hardwon import codex ~/.codex/sessions/2026 --dry-run
      hardwon import otlp traces.jsonl --json

    Options:
      form FORMAT: claude-code, codex or otlp.
      path: A file, or a folder of them. [where the agent keeps them]
      everywhere: Also sessions of other repositories.
    """
    from hardwon.capture.transcripts import HOMES, take_in

    if path is None and form not in HOMES:
        raise typer.BadParameter("say where the traces are", param_hint="PATH")
    at = Path(HOMES[form] if path is None else path).expanduser()
    kept = "what came in so far stays; do it again to go on"
    with cli.find_target().open(to_read=dry_run) as memory, cli.progress("importing", kept) as bar:
        done = take_in(memory, form, at, everywhere=everywhere, dry_run=dry_run, progress=bar)
    would = "would be " if dry_run else ""
    lines = [
        f"{say_count(done.sessions, 'session')} in {say_count(done.files, 'file')}: "
        f"{done.elsewhere} of other repositories, {done.recorded} recorded already by hooks",
        f"{say_count(done.read, 'piece', 'pieces')} of work: {done.added} {would}added, {done.present} "
        f"present already, {done.changed} changed since, {done.forgotten} forgotten here",
        f"of the work, {done.solved} solved, {done.failed} left failing, "
        f"{done.unknown} done: nobody knows whether that solved it",
    ]
    cli.show(done, "\n".join(lines))


@cli.command(app, "pause")
def pause(length: str = "1d") -> None:
    """Keep the hooks of coding agents quiet here for a while.

    What is done is recorded all the same.

    JSON: `until`.

    \b
    Examples:
      hardwon pause
      hardwon pause 2h

    Options:
      length: For how long: 30m, 2h, 1d.
    """
    with cli.read_memory() as memory:
        until = pause_hooks(memory.location, memory.project, length)
    shown = f"The hooks say nothing here until {until.astimezone():%Y-%m-%d %H:%M}."
    cli.show({"until": until}, shown)


@cli.command(app, "resume")
def resume() -> None:
    """Let the hooks of coding agents speak here again.

    JSON: `was_quiet`.

    \b
    Examples:
      hardwon resume
    """
    with cli.read_memory() as memory:
        was_quiet = resume_hooks(memory.location, memory.project)
    shown = "The hooks speak again." if was_quiet else "The hooks were not quiet."
    cli.show({"was_quiet": was_quiet}, shown)


HooksOf = Literal["claude-code", "codex", "cursor"]
Agent = Annotated[HooksOf, cli.arg("Whose hooks.", "AGENT")]
Local = Annotated[
    bool, cli.opt("claude-code: in .claude/settings.local.json, for you alone.", "--local")
]
User = Annotated[bool, cli.opt("In your own settings, wherever you work.", "--user")]


@cli.add_group(app, "hooks")
def hooks() -> None:
    """Let coding agents ask and tell by themselves, and git tell.

    `hardwon hooks install claude-code` sets up Claude Code's hooks, `codex` and `cursor` theirs;
    `remove` and `status` take the same words ([more](coding-agents.md#hooks)). `--memory` and
    `--project` are what the hooks will use.

    `hardwon hooks run post-commit` is for git's hook of that name: a commit that makes tests pass
    publishes what led to it, as [run.md](run.md#the-git-hook) says.
    """


Budget = Annotated[
    int, cli.opt("Tokens of a context at most.", min=1, max=limits.CONTEXT_TOKENS_MAX)
]


@cli.command(hooks, "install")
def install_hooks(
    agent: Agent,
    *,
    ask_blocked: bool = False,
    deny_blocked: bool = False,
    make_memory: bool = False,
    no_prompts: bool = False,
    budget: Budget = limits.AGENT_CONTEXT_TOKENS,
    local: Local = False,
    user: User = False,
    dry_run: bool = False,
) -> None:
    """Install them. What is there already stays, and keeps running.

    JSON: as `hardwon hooks status` prints it.

    \b
    Examples:
      hardwon hooks install claude-code
      hardwon hooks install claude-code --local --make-memory

    Options:
      ask_blocked: Ask you before what failed the same way twice.
      deny_blocked: Do not allow it.
      make_memory: Record also where there is no memory yet.
      no_prompts: Do not keep what was asked as the task.
      dry_run: Print the settings file as it would be.
    """
    if ask_blocked and deny_blocked:
        raise typer.BadParameter("not both of --ask-blocked and --deny-blocked")
    settings = find_settings(agent, local, user)
    flags = {
        "--ask-blocked": ask_blocked,
        "--deny-blocked": deny_blocked,
        "--make-memory": make_memory,
        "--no-prompts": no_prompts,
    }
    options = [flag for flag, wanted in flags.items() if wanted]
    if budget != limits.AGENT_CONTEXT_TOKENS:
        options += ["--budget", str(budget)]
    called = settings.command(cli.memory_options(), options)
    if dry_run:
        cli.write(settings.plan(called))
        return
    settings.install(called)
    if not make_memory and not memory_exists(cli.find_target().memory):
        cli.complain(
            f"there is no memory at {find_place(cli.find_target().memory).location} yet: until there is "
            "one, nothing is recorded (or install with --make-memory)"
        )
    if why := settings.find_trouble(called):
        cli.complain(f"what it calls cannot be started: {called}: {why}")
    note_others(settings, "where both apply, everything is recorded twice: also installed in")
    show_hooks([settings])


@cli.command(hooks, "remove")
def remove_hooks(agent: Agent, *, local: Local = False, user: User = False) -> None:
    """Remove them. What else is in the settings stays.

    JSON: as `hardwon hooks status` prints it.

    \b
    Examples:
      hardwon hooks remove claude-code
      hardwon hooks remove claude-code --local
    """
    settings = find_settings(agent, local, user)
    settings.remove()
    note_others(settings, "still installed in")
    show_hooks([settings])


@cli.command(hooks, "status")
def hooks_status(agent: HooksOf | None = None, *, local: Local = False, user: User = False) -> None:
    """Say which are installed, in which of an agent's settings files, and how they ran.

    JSON: `hooks`, a list of `name` (the event), `path`, `state` (`installed` or `absent`), `command`
    (what is called), `found` (whether that is there), `last_run` and `last_ms` (null: never, here), and
    of the last seven days `runs`, `spoke` (in how many of them) and `said` (last); `error`, where the
    last one failed.

    \b
    Examples:
      hardwon hooks status --json
      hardwon hooks status claude-code

    Options:
      agent AGENT: Of this agent alone.
    """
    if agent and (local or user):
        files = [find_settings(agent, local, user)]
    else:
        files = [
            AgentSettings(name, scope, find_root())
            for name, layout in LAYOUTS.items()
            for scope in layout.files
            if agent in (None, name)
        ]
    show_hooks(files, lately=True)


@cli.command(
    hooks,
    "run",
    prints_json=False,
    hidden=True,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def run_hook(ctx: typer.Context, name: str) -> None:
    """What an installed hook calls. It never fails, and never takes long."""
    if name != GIT_HOOK:
        named = {"--memory": cli.Line.memory, "--project": cli.Line.project}
        before = [word for option, value in named.items() if value for word in (option, value)]
        if not hook.main([*before, "hooks", "run", name, *ctx.args]):
            words = " ".join((name, *ctx.args))
            known = ", ".join((*AGENTS, GIT_HOOK))
            raise typer.BadParameter(
                f"{words!r} is not allowed; allowed: {known}, with the options of hooks install",
                param_hint="NAME",
            )
        return
    # whatever is under way is then as if it had never begun
    alarm = threading.Timer(HOOK_S_MAX, os._exit, (0,))
    alarm.daemon = True
    alarm.start()
    try:
        publish_commit()
    except Exception as error:  # noqa: BLE001  # who works does not wait for a memory, nor for what is wrong with it
        cli.complain(str(error))
    finally:
        alarm.cancel()


def publish_commit() -> None:
    root = repository_root(Path.cwd())
    memory = cli.find_target().memory
    if root is None or Repository(root).is_rebasing or not memory_exists(memory):
        return
    commit = last_commit(root)
    if commit is None:
        return
    with Memory(
        memory, cli.find_target().project, busy_timeout_ms=limits.FEEDBACK_WAIT_MS
    ) as opened:
        published = opened.tests.publish(commit)
    if published:
        records = say_count(len(published), "record")
        cli.write(f"hardwon: {records} published: their tests pass at {commit.id[:12]}\n")


def find_root() -> Path:
    """The repository that this folder is in; where it is in none, the folder."""
    return repository_root(Path.cwd()) or Path.cwd()


def find_settings(agent: str, local: bool, user: bool) -> AgentSettings:
    """The agent's settings file that is meant."""
    if local and user:
        raise typer.BadParameter("not both of --local and --user")
    scope: Scope = "local" if local else "user" if user else "project"
    if scope not in LAYOUTS[agent].files:
        raise typer.BadParameter(f"--local has no meaning for hooks of {agent}")
    return AgentSettings(agent, scope, find_root())


def show_hooks(files: Iterable[AgentSettings], *, lately: bool = False) -> None:
    """Prints the state of each hook, and whether what it calls is there. `lately`: also how it ran."""
    listed, lines, missing = list[Any](), list[str](), list[str]()
    for settings in files:
        events: dict[str, list[str]] = {"installed": [], "absent": []}
        hooks_here = settings.status()
        ran = sum_up_runs(settings.agent, settings.root, [hook.event for hook in hooks_here])
        lines_of_runs, never = [], []
        for event in hooks_here:
            state = "installed" if event.command else "absent"
            events[state].append(event.event)
            about = {"name": event.event, "path": str(event.path), "state": state}
            calls = {"command": event.command, "found": event.is_there}
            runs = ran[event.event]
            listed.append({**about, **calls, **_show_runs(runs)})
            if event.command and runs.last:
                lines_of_runs.append(f"  {event.event}: {_say_runs(runs, runs.last)}")
            elif event.command:
                never.append(event.event)
            if event.command and not event.is_there:
                missing.append(f"what it calls cannot be found: {event.command}")
        words = {"installed": "installed", "absent": "not installed"}
        states = [f"{', '.join(names)} {words[state]}" for state, names in events.items() if names]
        if never and lately:
            lines_of_runs.append(f"  not run here yet: {', '.join(never)}")
        lines += [f"{settings.path}: {'; '.join(states)}", *(lines_of_runs if lately else ())]
    cli.show({"hooks": listed}, "\n".join(lines), complaints=list(dict.fromkeys(missing)))


def _show_runs(runs: HookSummary) -> dict[str, Any]:
    """For programs, how a hook ran lately."""
    last = runs.last
    week = {"runs": runs.runs, "spoke": runs.spoke, "said": runs.line}
    return {
        "last_run": last and last.at,
        "last_ms": last and last.ms,
        "error": last.error if last else "",
        **week,
    }


def _say_runs(runs: HookSummary, last: HookRun) -> str:
    """For people, how a hook ran lately."""
    when = datetime.fromisoformat(last.at)
    failed = f"; it failed: {last.error}" if last.error else ""
    words = f"; last: {runs.line}" if runs.line else ""
    week = f"{say_count(runs.runs, 'run')} this week, {runs.spoke} of them said something{words}"
    return f"last ran {when:%Y-%m-%d %H:%M}, in {last.ms:.0f} ms{failed}; {week}"


def note_others(settings: AgentSettings, note: str) -> None:
    """Each settings file of an agent's counts. What is wrong with the others is not the question
    here.
    """
    for scope in settings.layout.files:
        other = AgentSettings(settings.agent, scope, settings.root)
        with suppress(PlaceError):
            if other.path != settings.path and any(event.command for event in other.status()):
                cli.complain(f"{note} {other.path}")


@cli.add_group(app, "skills")
def skills() -> None:
    """What has proved itself, as Agent Skills."""


@cli.command(skills, "export")
def export_skills(folder: str, *, unverified: bool = False) -> None:
    """Write what has proved itself as Agent Skills (SKILL.md).

    Only what is verified, by somebody or a test, unless `--unverified` is given. Files are
    brought up to date, those of which nothing is left are taken away, and others are left alone. What
    is forgotten later goes from the folder too.

    JSON: `folder`, and the names of skills that were `written`, `unchanged` and `removed`.

    \b
    Examples:
      hardwon skills export .claude/skills
      hardwon skills export ~/.agents/skills --unverified --json

    Options:
      folder: The folder of skills, such as .claude/skills.
      unverified: Also what nobody verified.
    """
    with cli.read_memory() as memory:
        done = memory.skills.export(folder, unverified=unverified)
    counts = {"written": done.written, "unchanged": done.unchanged, "removed": done.removed}
    text = ", ".join(f"{len(names)} {name}" for name, names in counts.items())
    cli.show(done, f"{done.folder}: {text}")
