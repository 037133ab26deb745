"""Whether a lesson applies here and now: whether it is tied to what is at hand, and fit to be offered."""

from __future__ import annotations

import re
from typing import Final

from hardwon.lessons.lesson import Lesson
from hardwon.runs.steps import ATTEMPT, key_of_action
from hardwon.tell.situation import Situation
from hardwon.text.failures import find_names
from hardwon.text.lines import read_line, starts_others
from hardwon.text.programs import destroys, plain_words, speaks_of_deleting
from hardwon.text.terms import ENGLISH, same_action, stop_words

_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{2,}")
_CODE: Final = re.compile(r"[\n(<]|\A(?i:select|insert|update|delete|with)\s")
_NAMED_CHARS: Final = 600
# "command not found: gti"
_NAMES_AFTER_COLON: Final = 2
_ADDRESS: Final = frozenset("http https www com org usr bin tmp".split())
# What may destroy something is offered where it cured exactly this, so likely or so often.
_DESTROYING_FROM: Final = 0.75
_DESTROYING_TIMES: Final = 2


def find_names_at_hand(situation: Situation) -> set[str]:
    """What the command at hand is about, not its program, which any other use of it names as well; and
    what the failure names.
    """
    commands = read_line(situation.action.partition("\n")[0])
    words = [word for command in commands for word in plain_words(command)]
    asked = {word for command in commands for word in plain_words(command)[:1]}
    named = _split(" ".join(word for word in words if len(words) == 1 or word not in asked))
    if failure := situation.failure:
        named |= _split(" ".join(find_names(failure.words)))
        _, colon, end = failure.words.partition("\n")[0].rpartition(":")
        named |= _split(end) if colon and len(end.split()) <= _NAMES_AFTER_COLON else set()
    return named - _ADDRESS - stop_words(ENGLISH)


def is_attempt(situation: Situation) -> bool:
    """Whether what failed was a whole attempt at what is asked, a query or a function."""
    action = situation.action.strip()
    return bool(_CODE.search(action)) and key_of_action(action) == ATTEMPT


def is_tied(cure: str, situation: Situation, named: set[str]) -> bool:
    """Whether what helped elsewhere is about what is at hand. Where nothing is known of the situation
    but the failure, and of an attempt that is no shell line, whose names are its own, the failure
    itself is the tie.
    """
    if not situation.action or is_attempt(situation):
        return True
    return not named.isdisjoint(_split(cure[:_NAMED_CHARS]))


def is_same_program(check: str, action: str) -> bool:
    """Whether two command lines begin with the same word, or the same program is started by another
    one, such as sudo, in one of them.
    """
    first, other = check.split()[:1], action.split()[:1]
    return bool(first and other) and (
        first == other or (_find_program(check) or first[0]) == (_find_program(action) or other[0])
    )


def _find_program(line: str) -> str:
    """The program that another one starts at the beginning of a line; "" where none does."""
    first = line.partition("\n")[0]
    if not starts_others(first.split(maxsplit=1)[0]):
        return ""
    command = read_line(first)[0]
    return command.program if command.started_by else ""


def _split(text: str) -> set[str]:
    return {name.strip(".-").lower() for name in _NAME.findall(text)}


def is_fit(lesson: Lesson, situation: Situation) -> bool:
    """Whether a lesson may be offered: not what just failed, nor what takes something away, unless that
    is spoken of or it cured exactly this.
    """
    if situation.action and same_action(lesson.action) == same_action(situation.action):
        return False
    asked = "\n".join(
        (situation.task, situation.action, situation.failure.words if situation.failure else "")
    )
    takes_away = destroys(lesson.action)
    if not takes_away or speaks_of_deleting(asked) or destroys(situation.action):
        return True
    is_sure = lesson.helped >= _DESTROYING_TIMES or lesson.p_helps >= _DESTROYING_FROM
    return lesson.exact and is_sure
