"""What a recorded action was: looks, changes, checks and hand-ins, and how each ended.

A shell line is several steps where its commands are of several kinds: `pip install x && pytest` is a
change and a check. What only looks stands for itself where a line does nothing else. Whatever is no
shell line is one step: an edit, a call of a tool, a query, a piece of code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, wraps
from typing import Final, NamedTuple

from hardwon.records.kinds import Step as Recorded
from hardwon.runs.shapes import Outcome, Step, StepKind
from hardwon.text.failures import Failure, read_failure, shows_error
from hardwon.text.lines import Command, read_line
from hardwon.text.outcomes import HEADER
from hardwon.text.programs import (
    Touch,
    checks,
    command_key,
    find_touches,
    hands_in,
    is_known,
    looks,
    runs_scripts,
)

# The key of an action that is a whole attempt at what is asked: the next one is the same check.
ATTEMPT: Final = "attempt"

# Edits as hooks write them, and as editors of agents are called: a verb and a file.
_EDIT: Final = re.compile(
    r"(?:edit|create|write|insert|append|str_replace|replace) ([^\s:=]*[./][^\s:=]*):?(?=\s|\Z)"
)
_CALL: Final = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*\(?\s*(\{.*)", re.DOTALL)
_QUERY: Final = re.compile(
    r"\s*(?:(?P<look>SHOW|DESC|DESCRIBE|EXPLAIN|PRAGMA)|SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP)\s+[\w\"'`*(]",
    re.IGNORECASE,
)
_CODE: Final = re.compile(
    r"\s*(?:<|import \w|from \S+ import |def \w+\(|class \w+[(:]|print\(|@\w|[\w.]+(?:, ?\w+)* = |[\w.]+\([^)]*\)\s*(?:\n|\Z))"
)
# How tools that change nothing are called.
_LOOKING_VERBS: Final = frozenset(
    "get search list find read view show open calculate think lookup check describe fetch query count".split()
)
_PIPES: Final = ("|", "|&")
_SHELL_SIGN: Final = re.compile(r"(?:^|\s)--?\w|[|&;<>$`=~]|[\w.]/|\./|\w\.\w")


class Part(NamedTuple):
    """The commands of a pipeline, and the one that the others only feed or filter."""

    commands: tuple[Command, ...]
    main: Command

    @property
    def exit_code_speaks(self) -> bool:
        """Whether the exit code is that of the main command."""
        return self.main is self.commands[-1] or not any(
            command.after in _PIPES for command in self.commands[self.commands.index(self.main) :]
        )


def _remember_last(
    read: Callable[[Sequence[Recorded]], list[Step]],
) -> Callable[[Sequence[Recorded]], list[Step]]:
    """The same, which reads a run once: a record is asked for its steps by all that it teaches."""
    last: tuple[Sequence[Recorded], int, list[Step]] = ((), 0, [])

    @wraps(read)
    def read_once(recorded: Sequence[Recorded]) -> list[Step]:
        """The steps of a run, those of the last call where it is the same run."""
        nonlocal last
        known, count, steps = last
        if known is not recorded or count != len(recorded):
            steps = read(recorded)
            last = (recorded, len(recorded), steps)  # one assignment: other threads record too
        return list(steps)

    return read_once


@_remember_last
def read_steps(recorded: Sequence[Recorded]) -> list[Step]:
    """The steps of a run, in order. What failed before in the run and is run again is a check."""
    tried: set[str] = set()
    steps: list[Step] = []
    in_shell = _is_in_shell(recorded)
    for place, step in enumerate(recorded):
        made = read_action(place, step, tried, in_shell=in_shell)
        steps += made
        tried.update(part.key for part in made if part.outcome == "failed" and part.kind != "look")
    return steps


@lru_cache(maxsize=256)  # a run is asked this of each of its actions, and each of them then
def _is_code(action: str) -> bool:
    """Whether an action is a piece of code in a language that is no shell's, or an answer in tags."""
    text = action.strip()
    if _CODE.match(text):
        return True
    if "(" not in text or is_known(text.split(maxsplit=1)[0]):
        return False
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(part, ast.Call | ast.Assign | ast.For) for part in ast.walk(tree))


def _is_in_shell(recorded: Sequence[Recorded]) -> bool:
    """Whether a run is in a shell, as far as its actions are no calls, edits or queries: one of them
    is a command with an exit code, of a program that is known, or has signs that words have not.
    Where a run has code in it, a sign proves nothing.
    """
    lines = [step.action.strip().partition("\n")[0] for step in recorded]
    has_code = any(_is_code(step.action) for step in recorded)
    for step, line in zip(recorded, lines, strict=True):
        if HEADER.match(step.observation):
            return True
        if has_code and _is_code(step.action):
            continue
        words = line.split(maxsplit=3)
        if words and is_known(words[0]) and (len(words) < 3 or _SHELL_SIGN.search(line)):
            return True
        if not has_code and _SHELL_SIGN.search(line):
            return True
    return False


def read_action(
    place: int, recorded: Recorded, tried: Collection[str] = (), *, in_shell: bool = True
) -> list[Step]:
    """The steps that one recorded action is; one at least. `tried` are the keys of what failed
    before. Outside of a shell, in a game or where a person is asked, an action in words is an
    attempt.
    """
    text = recorded.action.strip()
    if edit := _EDIT.match(text):
        touch = Touch(edit[1], whole=text.startswith(("create", "write")))
        return [_make_step(place, recorded, "change", f"edit\n{edit[1]}", touches=(touch,))]
    if call := _CALL.match(text):
        return [_make_step(place, recorded, _kind_of_call(call[1]), f"call\n{call[1]}")]
    if query := _QUERY.match(text):
        return [_make_step(place, recorded, "look" if query["look"] else "check", ATTEMPT)]
    if not in_shell or _is_code(text):
        return [_make_step(place, recorded, "check", ATTEMPT)]
    parts = read_parts(read_line(text))
    if not parts:
        return [_make_step(place, recorded, "look", "")]
    return _read_shell_line(place, recorded, parts, tried)


def read_parts(commands: Sequence[Command]) -> list[Part]:
    """The pipelines of a line, in order, without what only changes the folder."""
    parts: list[Part] = []
    waiting: list[Command] = []
    for command in commands:
        waiting.append(command)
        if command.after not in _PIPES:
            parts.append(_make_part(waiting))
            waiting = []
    if waiting:
        parts.append(_make_part(waiting))
    return [part for part in parts if part.main.program not in ("cd", "pushd", "popd")]


def _make_part(commands: Sequence[Command]) -> Part:
    doing = [command for command in commands if not looks(command)]
    return Part(tuple(commands), doing[0] if doing else commands[0])


def _kind_of_call(name: str) -> StepKind:
    """What a call of a tool is, by the verb that its name begins with."""
    return "look" if _begins_with_look(name) else "change"


def _begins_with_look(name: str) -> bool:
    verb = re.split(r"[_.-]|(?<=[a-z])(?=[A-Z])", name.rpartition(".")[2])[0].lower()
    return verb in _LOOKING_VERBS


def _only_looks(command: Command) -> bool:
    """Whether a command looks at something; one of a program that is not known goes by its name."""
    program = command.program
    return looks(command) or (not is_known(program) and _begins_with_look(program))


def _kind_of_part(part: Part, tried: Collection[str]) -> StepKind:
    if all(map(_only_looks, part.commands)):
        return "look"
    if checks(part.main) or command_key(part.main) in tried:
        return "check"
    return "hand-in" if hands_in(part.main) else "change"


def _read_shell_line(
    place: int, recorded: Recorded, parts: Sequence[Part], tried: Collection[str]
) -> list[Step]:
    kinds = [_kind_of_part(part, tried) for part in parts]
    doing = [at for at, kind in enumerate(kinds) if kind != "look"]
    if not doing:
        return [_make_step(place, recorded, "look", command_key(parts[0].main))]
    last = doing[-1]
    joins = [part.commands[-1].after for part in parts[last:-1]]
    speaks = parts[last].exit_code_speaks and all(join in ("&&", "") for join in joins)
    # neighbours of one kind are one step
    groups: list[list[int]] = []
    for at in doing:
        if groups and kinds[at] == kinds[groups[-1][-1]] == "change":
            groups[-1].append(at)
        else:
            groups.append([at])
    key = command_key(parts[last].main)
    whole = _make_step(place, recorded, "change", key, exit_code_speaks=speaks)
    steps = []
    for group in groups:
        chosen = [parts[at] for at in group]
        ends = group is groups[-1]
        outcome: Outcome = whole.outcome if ends or whole.outcome == "worked" else "unknown"
        steps.append(
            Step(
                place,
                kinds[group[-1]],
                recorded.action if len(groups) == 1 else _write_parts(chosen),
                command_key(chosen[-1].main),
                outcome,
                whole.output if ends else "",
                whole.failure if ends else None,
                tuple(
                    touch
                    for part in chosen
                    for command in part.commands
                    for touch in find_touches(command)
                ),
                recorded.reward if ends else 0.0,
                checks(chosen[-1].main),
            )
        )
    return steps


def _write_parts(parts: Sequence[Part]) -> str:
    """Parts of a line as one would type them alone."""
    lines = [" | ".join(command.text for command in part.commands) for part in parts]
    if parts[-1].commands[-1].after == "&":
        lines[-1] += " &"
    folder = parts[0].main.folder
    return " && ".join([f"cd {folder}", *lines] if folder else lines)


def _make_step(
    place: int,
    recorded: Recorded,
    kind: StepKind,
    key: str,
    *,
    exit_code_speaks: bool = True,
    touches: tuple[Touch, ...] = (),
) -> Step:
    looked = kind == "look" and not is_script(key)
    outcome, output = read_outcome(recorded, looked=looked, exit_code_speaks=exit_code_speaks)
    failure = _read_failure(recorded, output, key) if outcome == "failed" else None
    if kind == "look" and failure and failure.tells:
        kind = "check"  # it could not even look
    return Step(
        place, kind, recorded.action, key, outcome, output, failure, touches, recorded.reward
    )


def _read_failure(recorded: Recorded, output: str, key: str) -> Failure | None:
    """What a step that failed shows; of one that printed nothing, or was killed while it spoke of
    something else, how it ended. None where that is not known either.
    """
    header = HEADER.match(recorded.observation)
    check = key if key != ATTEMPT else ""
    if header and check and (header["signal"] or not output.strip()) and not shows_error(output):
        return read_failure(header.group().partition(" after ")[0], check)
    return read_failure(output, check)


def is_script(key: str) -> bool:
    """Whether the key is of code that was given to an interpreter: an exit code is no answer."""
    return runs_scripts(key.split("\n")[1]) if "\n" in key else False


def read_outcome(
    recorded: Recorded, *, looked: bool = False, exit_code_speaks: bool = True
) -> tuple[Outcome, str]:
    """How an action ended, and what it printed, without our own header. What the caller says
    decides; then the exit code, where it is that of what was done; then the reward; then an error
    that the output shows. Else nobody knows.
    """
    header = HEADER.match(recorded.observation)
    output = recorded.observation[header.end() :] if header else recorded.observation
    if recorded.ok is not None:
        return ("worked" if recorded.ok else "failed"), output
    if header:
        if header["code"] == "0":
            if exit_code_speaks:
                return "worked", output
            return ("failed" if shows_error(output) else "unknown"), output
        # what only looks, or filters, says by it that there is nothing
        found_nothing = looked or not (exit_code_speaks or shows_error(output))
        return ("unknown" if found_nothing and header["code"] == "1" else "failed"), output
    if recorded.reward >= 1 or recorded.reward < 0:
        return ("worked" if recorded.reward > 0 else "failed"), output
    return ("failed" if shows_error(output) else "unknown"), output


def key_of_action(action: str) -> str:
    """The key of the last thing that an action does; "" for none."""
    recorded = Recorded(action=action)
    if not action.strip():
        return ""
    in_shell = is_known(action.split(maxsplit=1)[0]) or _is_in_shell([recorded])
    return read_action(0, recorded, in_shell=in_shell)[-1].key


@lru_cache(maxsize=1_024)  # agents do the same again and again
def sort_of_action(action: str) -> str:
    """What sort of action it is, the same for its like: the program and what it is first asked for,
    the tool, or the folder and the ending of the file that is edited. "" for what only looks.
    """
    steps = [step for step in read_action(0, Recorded(action=action)) if step.kind != "look"]
    return " & ".join(dict.fromkeys(map(sort_of_step, steps)))


def sort_of_step(step: Step) -> str:
    """The same of a step; "" for an attempt, which is like no other."""
    first, *words = step.key.split("\n")
    if first == "edit":
        folder, _, name = words[0].rpartition("/")
        return f"edit {folder}/*{name[name.rfind('.') :] if '.' in name else ''}"
    if first == ATTEMPT:
        return ""
    if first == "call":
        return f"call {words[0]}"
    return " ".join(words[:2])
