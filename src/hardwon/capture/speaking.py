"""What hooks say about commands: what was laid down about them, what made a failure go away before,
and why a command failed.
"""

from __future__ import annotations

from typing import Final

from hardwon.capture.sessions import AgentSession
from hardwon.lessons.laying_down import find_rule_sentences
from hardwon.memory import Memory
from hardwon.memory.lessons import LessonFinder, read_shown_failure
from hardwon.tell.situation import Line, Situation

# After so many failures in a row, with nothing changed in between, another try is no plan.
STOP_AFTER: Final = 3
# The author of what is typed as a prompt.
_PERSON: Final = "user"


def speak_after(shown: str, command: str, memory: Memory, session: AgentSession) -> list[Line]:
    """After a command that failed and showed this: what made that very failure go away before."""
    failure = read_shown_failure(shown, command)
    situation = Situation(session.kept.get("task", ""), command, failure, _list_actions(session))
    return LessonFinder(memory._project).tell_after(situation)


def speak_before(command: str, memory: Memory, session: AgentSession) -> list[Line]:
    """Before a command that failed when it was run last: why, and what helped."""
    situation = Situation(session.kept.get("task", ""), command, None, _list_actions(session))
    return LessonFinder(memory._project).tell_before(situation)


def keep_rule(prompt: str, memory: Memory, session: AgentSession) -> None:
    """Keeps what somebody lays down for good in a prompt, as that person's word."""
    if rule := find_rule_sentences(prompt):
        source = {"type": "user_interaction", "id": session.kept["session"], "author": _PERSON}
        memory.remember(rule, "learning", insight_type="preference", source=source)


def count_repeats(command: str, memory: Memory, session: AgentSession) -> int:
    """How often a command failed last in this session without anything else being done since; 0
    where it worked for somebody else since.
    """
    repeats = 0
    for action, failed in reversed(session.done):
        if action != command or not failed:
            break
        repeats += 1
    if repeats >= STOP_AFTER:
        last = LessonFinder(memory._project).find_last_end(command)
        if last and last[0].outcome == "worked":
            return 0
    return repeats


def _list_actions(session: AgentSession) -> tuple[str, ...]:
    return tuple(action for action, _ in session.done)
