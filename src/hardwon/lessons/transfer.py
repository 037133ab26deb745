"""What helped in one case, said for another: the names of the one are replaced by those of the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hardwon.lessons.lesson import Lesson

_WORD: Final = re.compile(r"[^\s'\"`(),;]+")
_WORDS_MAX: Final = 60
_LIKELY_FROM: Final = 0.5
# One case proves nothing of another: two with different names say that the name does not matter.
_CASES_MIN: Final = 2


def carry_cures(best: Sequence[Lesson], words: str) -> list[Lesson]:
    """What helped against failures that are like this one but for their names, with this one's names
    in it. `best` is the likeliest cure of each. Nothing where fewer than two say the same.
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
            p_helps=len(cures) / (len(best) + 0.5),
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


def _split(words: str) -> list[str]:
    first = words.strip().split("\n")[0]
    return [word.rstrip(".:") for word in _WORD.findall(first)[:_WORDS_MAX]]
