"""What a run is told by, beside what lasted of it: the attempt that it stands for where it did not
solve its task, and how that failed; the names that a look showed; the files that it changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hardwon.records.kinds import Step as Recorded
from hardwon.runs.lasting import list_own_scratch
from hardwon.runs.shapes import Run, Step
from hardwon.text.clean import CUT
from hardwon.text.programs import is_known

_READ_CHARS_MAX: Final = 4_000
_LOOK_CHARS_MAX: Final = 60  # a longer action is a program
_ERROR_CHARS_MAX: Final = 300
_FINDINGS_MAX: Final = 20
_FILES_MAX: Final = 8
_NAMES_MIN: Final = 2
_NAMES_MAX: Final = 30  # a wide table
_NAME: Final = re.compile(
    r"[^\W\d][\w.$-]*(?:/[\w.$-]+)*/?|(?:\.{0,2}/)?[\w.-]+(?:/[\w.-]+)+/?|[\w-]+\.[a-z]\w*|\d+_\w+"
)
_QUOTED: Final = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# The last one may be cut anywhere.
_ROW: Final = re.compile(
    rf"[(\[]((?:{_QUOTED}|(?<=\w)\([^()]*\)|[^()\[\]'\"])*)(?:[)\]]|(?:['\"].*)?\Z)", re.DOTALL
)
_CELL: Final = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"\s][^,]*)""")
_KEY: Final = re.compile(r"""["']([^"'\\]+)["']\s*:""")
_RULE: Final = re.compile(r"[-+|=\s]{3,}")
_PATH: Final = re.compile(r"(?<![\w.~/-])(?:[\w.~-]*/)+[.~]*[\w-][\w.~-]*\.[A-Za-z]\w{0,5}\b")
_WORDS_MAX: Final = 4
_DIFF: Final = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)
_THOUGHTS: Final = re.compile(r"(?is)<(think|thought|thinking|reasoning)>.*?(?:</\1>|\Z)")


@dataclass(frozen=True)
class Account:
    """What a run is told by. `attempt` is the action that it stands for where it did not solve its
    task, "" where nothing was done, and `error` how that failed. `findings` are short looks, each
    with the names that it showed; `files` those that it changed.
    """

    attempt: str = ""
    error: str = ""
    findings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    files: tuple[str, ...] = ()


# Of a run that tells nothing.
NO_ACCOUNT: Final = Account()


def give_account(run: Run, recorded: Sequence[Recorded]) -> Account:
    """What a run of these recorded steps is told by."""
    attempt, error = "", ""
    place = find_attempt(run, recorded)
    if place is not None:
        attempt = drop_thoughts(recorded[place].action)
        error = _find_error(run, place)
    return Account(
        attempt, error, tuple(_find_findings(run, recorded)), tuple(_find_files(run, recorded))
    )


def find_attempt(run: Run, recorded: Sequence[Recorded]) -> int | None:
    """The place of the step that stands for a run that did not solve its task: the last of those that
    earned most; where none earned anything, the last attempt that failed, or else the last thing that
    was done. None where nothing was.
    """
    places = [place for place, step in enumerate(recorded) if step.action.strip()]
    if not places:
        return None
    most = max(recorded[place].reward for place in places)
    if most > 0:
        return max(place for place in places if recorded[place].reward == most)
    doing = [step for step in run.steps if step.kind not in ("look", "hand-in") and step.key]
    failed = [step for step in doing if step.outcome == "failed"]
    # what only asks or explains fails as well, and shows nothing that tells why
    telling = [step for step in failed if step.failure and step.failure.tells]
    standing = telling or failed or list(run.lasting) or doing
    return standing[-1].place if standing else places[-1]


def drop_thoughts(action: str) -> str:
    """What was done, without what its author thought before; all of it where that is all."""
    return _THOUGHTS.sub("", action).strip() or action


def _find_error(run: Run, place: int) -> str:
    """How the step at a place failed, in its own words; "" where it did not, or showed nothing."""
    for step in run.steps:
        if step.place == place and step.outcome == "failed":
            words = step.failure.words if step.failure else step.output
            return "; ".join(words.split("\n"))[:_ERROR_CHARS_MAX].strip()
    return ""


def _find_files(run: Run, recorded: Sequence[Recorded]) -> list[str]:
    """The files that a run changed, in order: by its edits and commands, and by the patches that it
    showed. Not what it wrote to find something out.
    """
    scratch = list_own_scratch(run.steps, run.task)
    changed = [
        touch.name
        for step in run.steps
        if step.outcome != "failed"
        for touch in step.touches
        if not touch.removes
    ]
    for shown in recorded:
        changed += _DIFF.findall(shown.observation[:_READ_CHARS_MAX])
    for step in run.steps:
        # an editor without a path says which file it has open; a program names files for any reason
        words = step.key.split("\n")
        program = step.action.strip().partition(" ")[0]
        is_editor = "/" not in program and not is_known(program)
        if step.kind == "change" and not step.touches and len(words) < _WORDS_MAX and is_editor:
            changed += _PATH.findall(step.output.partition("\n")[0])[:1]
    names = [name for name in changed if name.rpartition("/")[2] not in scratch]
    return list(dict.fromkeys(names))[-_FILES_MAX:]


def _find_findings(run: Run, recorded: Sequence[Recorded]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Short actions that did not fail, each with the names that it showed; each list once."""
    failed = {step.place for step in run.steps if step.outcome == "failed"}
    known: set[tuple[str, ...]] = set()
    for place, step in enumerate(recorded):
        action = " ".join(step.action.split())
        if place in failed or len(action) > _LOOK_CHARS_MAX or len(known) == _FINDINGS_MAX:
            continue
        names = tuple(dict.fromkeys(list_names(step.observation)))
        if names and names not in known:
            known.add(names)
            cut = names[:_NAMES_MAX] + ((CUT,) if len(names) > _NAMES_MAX else ())
            yield action, cut


def list_names(observation: str) -> list[str]:
    """The names that an observation lists, in order: a column of rows, the keys of objects, the
    heading of a table, a name on each line. None where it is no list of names. Rows that were cut
    end with a sign of it: what is not there may have been cut off.
    """
    text = observation[:_READ_CHARS_MAX].strip()
    if text[:1] in ("[", "(", "{"):
        return _read_rows(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].startswith("exit code "):
        lines = lines[1:]
    bare = [line for line in lines if not _RULE.fullmatch(line)]
    if len(bare) < len(lines) or (bare and all("|" in line or "\t" in line for line in bare)):
        cells = re.split(r"\s{0,9}[|\t]\s*", bare[0].strip("| ")) if bare else []
        heading = [cell.rstrip() for cell in cells]
        return heading if _are_names(heading) else []
    return lines if _are_names(lines) else []


def _read_rows(text: str) -> list[str]:
    if text.startswith(("{", "[{")):
        keys = list(dict.fromkeys(_KEY.findall(text.partition("}")[0])))
        return keys if _are_names(keys) else []
    rows = [
        [single or double or bare.strip() for single, double, bare in _CELL.findall(row)]
        for row in _ROW.findall(text)
    ]
    if len(rows) == 1 and rows[0] and text[:1] == "[" and text[1:2] not in "([":
        return rows[0] if _are_names(rows[0]) else []
    for column in zip(*filter(None, rows), strict=False):
        if not all(map(_NAME.fullmatch, column)):
            return []
        if len(set(column)) == len(column) >= _NAMES_MIN:
            return [*column, *(() if text[-1] in ")]" else (CUT,))]
    return []


def _are_names(cells: Sequence[str]) -> bool:
    return len(cells) >= _NAMES_MIN and all(map(_NAME.fullmatch, cells))


def find_whole_actions(steps: Sequence[Step], recorded: Sequence[Recorded]) -> list[str]:
    """The steps' actions, each once; of a step that earned the full reward all of the recorded line."""
    actions = [
        recorded[step.place].action if step.reward >= 1 else step.action
        for step in steps
        if step.place < len(recorded)
    ]
    return list(dict.fromkeys(map(drop_thoughts, actions)))
