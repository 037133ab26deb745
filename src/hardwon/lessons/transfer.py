"""What helped in one case, said for another: the names of the one are replaced by those of the other."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hardwon.lessons.lesson import Lesson

_CALL: Final = re.compile(r"([A-Za-z_][\w.-]*)\s*\((\{.*\})\)", re.DOTALL)
_WORD: Final = re.compile(r"[^\s'\"`(),;]+")
_WORDS_MAX: Final = 60
_LIKELY_FROM: Final = 0.5
# One case proves nothing of another: two with different names say that the name does not matter.
_CASES_MIN: Final = 2


def carry_cures(best: Sequence[Lesson], words: str, failures: int) -> list[Lesson]:
    """What helped against failures that are like this one but for their names, with this one's names
    in it. `best` are the likeliest cures of some of so many `failures`. Nothing where fewer than two
    say the same.
    """
    helpful = [cure for cure in best if cure.helped and cure.p_helps >= _LIKELY_FROM]
    cases: dict[str, list[Lesson]] = {}
    for cure in helpful:
        if action := carry_over(cure.action, cure.situation, words):
            cases.setdefault(action, []).append(cure)
    return [
        replace(
            cures[-1],
            action=action,
            tried=sum(cure.tried for cure in cures),
            helped=sum(cure.helped for cure in cures),
            p_helps=len(cures) / (failures + 0.5),
            exact=False,
        )
        for action, cures in cases.items()
        if len(cures) >= _CASES_MIN
    ]


def carry_over(action: str, words: str, other_words: str) -> str:
    """The action with the names of another failure of the same family. "" where the two differ in a
    name that the action does not have: then nobody can tell what it would be there.
    """
    ours, theirs = _split(words), _split(other_words)
    if len(ours) != len(theirs) or ours == theirs:
        return ""  # the same words about another command say nothing of this one
    carried = action
    for name, other in zip(ours, theirs, strict=True):
        if name == other:
            continue
        whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
        if len(name) < 2 or not whole.search(action):
            return ""
        carried = whole.sub(other.replace("\\", r"\\"), carried)
    return carried


def hide_values(action: str, task: str, asked: str) -> str:
    """A call of a tool as it is done in another case: the values of its arguments that belong to the
    case at hand, and not to what is asked, stand as the names of the arguments. Any other action as
    it is.
    """
    call = _CALL.fullmatch(action.strip())
    if call is None:
        return action
    try:
        arguments = json.loads(call[2])
    except ValueError:
        return action
    hidden = {name: _hide_value(name, value, task, asked) for name, value in arguments.items()}
    return f"{call[1]}({json.dumps(hidden, ensure_ascii=False)})"


def _hide_value(name: str, value: object, task: str, asked: str) -> object:
    """A value that both cases share, or that is of neither, as it is; else its name."""
    if isinstance(value, dict):
        return {key: _hide_value(str(key), inner, task, asked) for key, inner in value.items()}
    if isinstance(value, list):
        return [_hide_value(name, inner, task, asked) for inner in value]
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return value
    text = str(value)
    is_of_case = text in task or any(character.isdigit() for character in text)
    # with an underscore it could be read as a token of a chat
    hidden = f"<{name.replace('_', '-')}>"
    return hidden if is_of_case and text not in asked else value


def _split(words: str) -> list[str]:
    first = words.strip().split("\n")[0]
    return [word.rstrip(".:") for word in _WORD.findall(first)[:_WORDS_MAX]]
