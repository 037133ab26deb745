"""A line that may be said before an attempt, with what it rests on. The end of every line is our own
mark, and nobody else's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.lessons.lesson import SHORT_ID_CHARS
from hardwon.records.kinds import VIA_IMPORT
from hardwon.text.clean import CODE_INDENT, CUT, clean_code, clean_line, shorten
from hardwon.text.terms import Remembered

# A similar task, as far as it is told: enough to know it again, and its action needs the room.
EXAMPLE_TASK_CHARS_MAX: Final = 60

# How much of an author's name a line shows.
_AUTHOR_CHARS_SHOWN: Final = 24
# An action that is shown: a function of a hundred lines. The budget is mostly smaller.
_ACTION_CHARS_MAX: Final = 4_000
# Lines of a program that failed: enough to know it again.
_FAILED_LINES_MAX: Final = 8

# The kinds of lines, in the order of what helps most.
DONE: Final = "done before"
FAILED: Final = "failed before"
RULE: Final = "rule"
KNOWN: Final = "known"
SEEN: Final = "seen"

# What stands over the lines of a kind, on a page of them.
HEADINGS: Final = {
    DONE: "Done before:",
    FAILED: "Failed before:",
    RULE: "Rules:",
    KNOWN: "Known:",
    SEEN: "Seen:",
}


class Draft(NamedTuple):
    """A line that may be said, with the code that belongs to it: its kind, who taught it, how often
    somebody vouched for that, the records behind it, and keys of what it is `about`: nothing is said
    twice. `why` tells a reader why it is there.

    What was found by its words has a `relevance`: lines that are not about as relevant as the best
    of these take no turns, and come later. Of each `sort` that has places so many are said; what was
    `only_claimed` comes after what was recorded. A line of more than `tokens_max` tokens is made
    `shorter`, where that is possible. `pool` names the tokens that it shares with others.
    """

    text: str
    kind: str = RULE
    sources: Sequence[str] = ()
    vouched: int = 0
    ids: tuple[str, ...] = ()
    about: frozenset[str] = frozenset()
    why: str = ""
    relevance: float | None = None
    sort: str = ""
    only_claimed: bool = False
    tokens_max: int | None = None
    shorter: Callable[[int], str] | None = None
    pool: str = ""

    @property
    def only_source(self) -> str | None:
        """Who alone says so; None where several do, or somebody vouches for it."""
        return self.sources[0] if len(self.sources) == 1 and not self.vouched else None


def word_action(head: str, actions: Sequence[str], error: str, mark: str) -> str:
    """A line about actions, in which a program keeps its lines, and several stand one under the
    other. `error` is what they showed.
    """
    actions = [disarm_marks(action) for action in actions]
    code = [line for action in actions for line in clean_code(action, _ACTION_CHARS_MAX)]
    if "FAILED" in head and len(code) > _FAILED_LINES_MAX:
        code = [*code[:_FAILED_LINES_MAX], CODE_INDENT + CUT]
    if len(code) > 1:
        together = "one after the other" if len(actions) > 1 else ""
        begin = head.rstrip(" :") if error else head.rstrip()
        first = " ".join(filter(None, (begin, together, error.strip(), mark)))
        return "\n".join((first, *code))
    room = limits.CONTEXT_LINE_CHARS_MAX - len(head) - len(error) - len(mark) - 1
    return f"{head}{clean_line(actions[0], room)}{error} {mark}"


def disarm_marks(text: str) -> str:
    """A text in which nothing reads like a mark of ours: in round brackets instead."""
    return _FORGED.sub(lambda match: match.group().translate(_BRACKETS), text)


def name_task(task: str, asked: str) -> str:
    """The beginning of a task; its end where what is asked begins like it."""
    task, most = disarm_marks(" ".join(task.split())), EXAMPLE_TASK_CHARS_MAX
    if len(task) <= most or task[: most // 2] not in " ".join(asked.split()):
        return shorten(task, most)
    end = task[-most:]
    return CUT + (end.partition(" ")[2] or end)


def say_ago(at_us: int, now_us: int) -> str:
    """How long it is ago, as one says it."""
    days = max(0, now_us // limits.DAY_US - at_us // limits.DAY_US)
    if days < 2:
        return "yesterday" if days else "today"
    for unit, length in (("year", 365), ("month", 30), ("week", 7)):
        if days >= 2 * length:
            return f"{days // length} {unit}s ago"
    return f"{days} days ago"


def make_mark(*parts: str, lesson_id: str = "") -> str:
    """Our mark at the end of a line: what it rests on, and the lesson's short id. "" for nothing."""
    text = ", ".join(filter(None, parts))
    short_id = lesson_id[:SHORT_ID_CHARS]
    inside = "; ".join(filter(None, (text, short_id)))
    return f"[{inside}]" if inside else ""


def name_sources(sources: Sequence[str], vouched: int, *, alone: bool = False) -> str:
    """Who says so, as far as it changes what a reader should do: "verified" where somebody vouches for
    it, else who alone says so, or how many do; "" where nobody else ever said anything.
    """
    if vouched:
        return "verified"
    strangers = [source for source in sources if source.endswith(VIA_IMPORT)]
    if alone and len(sources) < 2 and not strangers:
        return ""
    who = f"by {show_name(sources[0])}" if len(sources) == 1 else f"{len(sources)} sources"
    return f"{who}, unverified" if len(strangers) == len(sources) else who


def drop_mark(line: str) -> str:
    """With other brackets at its end: there stands our own mark, and nobody else's."""
    return _LIKE_A_MARK.sub(lambda match: match.group().translate(_BRACKETS), disarm_marks(line))


def drop_mark_of_command(line: str) -> str:
    """The same for commands, in which a bracket with a blank behind it is the shell's own test."""
    line = disarm_marks(line)
    return _LIKE_A_MARK.sub(lambda match: _TIGHT_BRACKETS.sub(r"(\1)", match.group()), line)


_LIKE_A_MARK: Final = re.compile(
    r"(?:\s+\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]*)+\W*$"
    r"|(?<=\S)\[(?=[^\[\]]*\b(?:episodes?|sources?|adopted|training memory|verified)\b)[^\[\]]*\]*\W*$"
)
_FORGED: Final = re.compile(
    r"\[[^\[\]\n]{0,200}\b(?:worked|helped|verified|episodes?|sources?)\b[^\[\]\n]{0,200}\]"
)
_TIGHT_BRACKETS: Final = re.compile(r"\[(?=\S)([^\[\]]*)\]?")
_BRACKETS: Final = str.maketrans("[]", "()")
_MARKS: Final = str.maketrans("[],;", "();:")


def _show_name(author: str) -> str:
    """An author's name without the brackets, and the commas, of our own marks; that it came from
    elsewhere is never cut off.
    """
    name = author.removesuffix(VIA_IMPORT)
    shown = clean_line(name.translate(_MARKS), _AUTHOR_CHARS_SHOWN)
    return shown + author[len(name) :]


show_name = Remembered(_show_name).__getitem__
