"""What an observation shows, in a few words: the names it lists, and of an error the line that tells
what failed. Nothing here knows what the names are names of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hardwon.text.clean import CUT
from hardwon.text.failures import shows_error
from hardwon.text.lines import read_line
from hardwon.text.outcomes import reported_failure
from hardwon.text.programs import hands_in, only_looks

_READ_CHARS_MAX: Final = 4_000
_VERB_CHARS_MAX: Final = 200  # of an action: an editor's name, which may have a path, and a verb
_NAMES_MIN: Final = 2
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


def names_shown(observation: str) -> list[str]:
    """The names that an observation lists, in order: a column of rows, the keys of objects, the
    heading of a table, a name on each line. None where it is no list of names. Rows that were cut
    end with a sign of it: what is not there may have been cut off.
    """
    text = observation[:_READ_CHARS_MAX].strip()
    if text[:1] in ("[", "(", "{"):
        return _of_rows(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].startswith("exit code "):
        lines = lines[1:]
    bare = [line for line in lines if not _RULE.fullmatch(line)]
    if len(bare) < len(lines) or (bare and all("|" in line or "\t" in line for line in bare)):
        cells = re.split(r"\s{0,9}[|\t]\s*", bare[0].strip("| ")) if bare else []
        heading = [cell.rstrip() for cell in cells]
        return heading if _are_names(heading) else []
    return lines if _are_names(lines) else []


def _of_rows(text: str) -> list[str]:
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


class Touched(NamedTuple):
    """The files that a run changed, and those that it only looked at, in order."""

    changed: list[str]
    opened: list[str]


def files_touched(steps: Iterable[tuple[str, str]]) -> Touched:
    """Of actions with what they showed. An editor says which file it has open; else the action does.
    What a run created for itself is of no use to others.
    """
    how = _follow_files(steps)[0]
    return Touched(*([path for path in how if how[path] == did] for did in ("changed", "opened")))


def edits_of(steps: Sequence[tuple[str, str]]) -> list[int]:
    """The places of the steps that edited a file; of new ones only where nothing else was edited:
    most of those are for trying something.
    """
    if not any(_verb_of(action) in _EDITS for action, _ in steps):
        return []
    how, paths = _follow_files(steps)
    edits = [place for place, (action, _) in enumerate(steps) if _verb_of(action) in _EDITS]
    return [place for place in edits if how.get(paths[place]) in (None, "changed")] or edits


def _follow_files(steps: Iterable[tuple[str, str]]) -> tuple[dict[str, str], list[str]]:
    """What became of each file, by the path as it is said: changed, opened or created; and the file
    of each step, empty where it names none.
    """
    how: dict[str, str] = {}
    paths = []
    for action, observation in steps:
        did, text = _verb_of(action), observation[:_READ_CHARS_MAX]
        if not did and "+++ b/" not in text:
            paths.append("")
            continue
        head = action.strip().partition("\n")[0][:_READ_CHARS_MAX]
        diff = _DIFF.findall(text) if "+++ b/" in text else []
        named = _PATH.findall(head.partition(" ")[2])[:1] if did else []
        shown = _OPEN_FILE.findall(text)[:1] if did else []
        if shown and named and "/" in named[0] and shown[0].endswith(f"/{named[0]}"):
            shown = named  # the shorter way to say it
        longer = ""
        for path in diff or shown or named:
            said = next((each for each in how if f"/{each}".endswith(f"/{path}")), path)
            longer = next((each for each in how if path.endswith(f"/{each}")), said)
            before = how.get(longer, "")
            how[longer] = "changed" if diff else _FIRST.get((before, did), did)
        paths.append(longer)
    return how, paths


def _verb_of(action: str) -> str:
    """What an editor was asked to do with a file: changed, opened or created; empty where it was
    something else.
    """
    # an editor's name, and what it is to do
    words = action[:_VERB_CHARS_MAX].lower().split(None, 2)[:2]
    return _VERBS.get(next((word for word in words if not word.endswith("editor")), ""), "")


def only_shows(action: str) -> bool:
    """Whether an action looks at something, in a shell or in an editor, and does nothing."""
    return (
        action.strip().partition(" ")[0] in _SEARCHES
        or _verb_of(action) == "opened"
        or only_looks(action)
    )


def only_hands_in(action: str) -> bool:
    """Whether an action only ends or stores work that was done before it, and tells nothing of that."""
    commands = read_line(action)
    return bool(commands) and all(map(hands_in, commands))


_EDITS: Final = ("changed", "created")
_SEARCHES: Final = frozenset(("find_file", "search_dir", "search_file"))
_VERBS: Final = {
    **dict.fromkeys("edit insert str_replace replace write append apply_patch".split(), "changed"),
    **dict.fromkeys("open view read goto scroll_down scroll_up".split(), "opened"),
    **dict.fromkeys(("create", "touch"), "created"),
}
# What stays so, whatever is done next.
_FIRST: Final = {
    ("changed", "opened"): "changed",
    ("created", "changed"): "created",
    ("created", "opened"): "created",
}
_DIFF: Final = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)
_OPEN_FILE: Final = re.compile(
    r"(?:^\[File: |`cat -n` on (?:a snippet of )?)(\S+?):?(?= \(|$)", re.MULTILINE
)
_PATH: Final = re.compile(r"(?<![\w.~/-])(?:[\w.~-]*/)*[.~]*[\w-][\w.~-]*\.[A-Za-z]\w{0,5}\b")


def without_thoughts(action: str) -> str:
    """What was done, without what its author thought before; all of it where that is all."""
    return _THOUGHTS.sub("", action).strip() or action


def is_talk(action: str) -> bool:
    """Whether it says something to somebody instead of doing something."""
    return _TALK.match(without_thoughts(action)) is not None


_THOUGHTS: Final = re.compile(r"(?is)<(think|thought|thinking|reasoning)>.*?(?:</\1>|\Z)")
_TALK: Final = re.compile(
    r"(?i)(?:<\w+>)?\W*(?:(?:human|assistant|user|ai)\s*[:\uff1a]|(?:i|i'm|i'll|we|you|your|yes|(?:can|could|would) you|"
    r"please|sorry|(?:my )?apolog\w+|let me|let's|here(?: is|'s| are)|it (?:seems|looks|appears)|"
    r"thank(?:s| you)|based on|to (?:solve|find|get|fix)|what (?:is|are)|"
    r"the (?:answer|error|problem|output|code|task)|incomplete|unable|unfortunately|can(?:no|')t)\b)"
)


def telling_line(observation: str) -> str:
    """What of an observation tells what failed, in a line: all of it where that is short, else the
    last line of a traceback, or the first that reports an error. Empty where nothing failed.
    """
    failed = reported_failure(observation)
    lines = [line.strip() for line in failed[-_READ_CHARS_MAX:].splitlines() if line.strip()]
    if any("Traceback (most recent" in line for line in lines):
        return lines[-1]
    if sum(map(len, lines)) <= _SHORT_CHARS:
        return "; ".join(lines)
    return next(filter(shows_error, lines), lines[-1])


_SHORT_CHARS: Final = 100
