"""What to say before an action: that it failed here before, how likely it is to work, what to do
instead. The verdict, the number and the sentences follow from the same evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hardwon import limits
from hardwon.lessons.attempts import Attempt, find_identical, find_standing
from hardwon.lessons.chance import log_odds
from hardwon.lessons.lesson import Lesson
from hardwon.lessons.odds import Chances
from hardwon.records.fields import Tabular
from hardwon.records.kinds import REPR_CHARS_MAX
from hardwon.tell.lines import make_mark
from hardwon.text.clean import clean_action, clean_line

Verdict = Literal["ok", "caution", "blocked", "unknown"]
# How far the run that asks has changed things since the action failed.
Change = Literal["nothing", "something", "the cause"]

# After so many failures in the same way, with nothing changed since, another try is a circle.
IDENTICAL_FAILURES_MAX: Final = 2
# An action is warned of, though it never failed, where it is likelier to fail than not, and by so
# much less likely to work, in log-odds, than things usually are here.
_EVEN: Final = 0.5
_LESS_LIKELY: Final = 1.9
# One that failed for another task is, below this.
_UNLIKELY_AGAIN_BELOW: Final = 0.35
_UNSOLVING_BELOW: Final = 0.12
# A failure that went by itself in half of the cases is no reason to warn.
_PASSING_FROM: Final = 0.5
INSTEAD: Final = "What worked in such cases, as it was recorded: "


@dataclass(frozen=True)
class Advice(Tabular):
    """`verdict` ok, caution, blocked, or unknown where nothing is known of the action or its like;
    `p_success` the probability that the action works, `p_solved` that it earns the full reward;
    `evidence` the ids of earlier attempts, the newest first; `failures` how often it failed in the
    same way since it last worked; `worked_instead` what helped in such cases, best first; `basis`
    what the probability rests on, by how many attempts; `message` says it all to the agent.
    """

    verdict: Verdict
    p_success: float
    evidence: tuple[str, ...]
    failures: int
    worked_instead: tuple[str, ...]
    message: str
    p_solved: float = 0.0
    basis: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"<Advice {self.verdict}, p_success {self.p_success:.2f}: {self.message[:REPR_CHARS_MAX]}>"

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        shown = ("verdict", "p_success", "p_solved", "failures", "message")
        return {name: getattr(self, name) for name in shown}


@dataclass(frozen=True)
class Moment:
    """What is known when advice is asked: the attempts at the action, how likely it is to work, how far
    this run `changed` things since it failed, in which share of times what it failed by went away by
    itself, what worked instead, and what the probability rests on.
    """

    attempts: Sequence[Attempt]
    chances: Chances
    changed: Change
    passing: float
    instead: Sequence[Lesson]
    basis: Mapping[str, float]


def find_reason(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The failures that speak against an action, at this task or else at others; none where it did not
    fail since it worked.
    """
    here = [attempt for attempt in attempts if attempt.same_task]
    return find_standing(here) if here else find_identical(attempts)


def give_advice(moment: Moment) -> Advice:
    """The verdict on an action, and why."""
    attempts, chances = moment.attempts, moment.chances
    here = [attempt for attempt in attempts if attempt.same_task]
    standing = find_standing(here)
    failures = standing or find_identical(here)
    elsewhere = [] if here else find_identical(attempts)
    is_void = moment.changed == "the cause" or moment.passing >= _PASSING_FROM
    p_success, p_solved = chances.p_success, chances.p_solved
    is_unlikely = p_success < _EVEN and log_odds(p_success) < log_odds(chances.usual) - _LESS_LIKELY
    verdict: Verdict = "ok" if chances.evidence or attempts else "unknown"
    reason: list[Attempt] = []
    if is_void:
        pass
    elif _is_circle(standing) and moment.changed == "nothing":
        verdict, reason = "blocked", standing
        # the number and the word agree
        p_success = min(p_success, 1 / (len(standing) + 2))
    elif failures:
        verdict, reason = "caution", failures
        p_success = min(p_success, _EVEN) if standing else p_success
    elif elsewhere and p_success < _UNLIKELY_AGAIN_BELOW:
        verdict, reason = "caution", elsewhere
    elif chances.evidence and is_unlikely and not any(one.solved for one in here):
        verdict = "caution"
    vouched = [not one.failed for one in here if one.record_id and one.source is None]
    if not standing and any(vouched) and 2 * sum(vouched) >= len(vouched):
        p_success = max(p_success, _EVEN)
    p_solved = max(min(p_solved, p_success), _count_solving(here))
    newest = sorted(attempts, key=lambda one: (one.at_us, one.record_id), reverse=True)
    ids = [attempt.record_id for attempt in (*reversed(reason), *newest) if attempt.record_id]
    parts = [_say_verdict(verdict, reason, p_success, p_solved, moment)]
    if moment.instead:
        parts.append(f"{INSTEAD}{'; '.join(map(_say_instead, moment.instead))}.")
    return Advice(
        verdict=verdict,
        p_success=p_success,
        evidence=tuple(dict.fromkeys(ids)),
        failures=len(reason),
        worked_instead=tuple(clean_action(lesson.action) for lesson in moment.instead),
        message=" ".join(parts),
        p_solved=p_solved,
        basis=dict(moment.basis),
    )


def _count_solving(here: Sequence[Attempt]) -> float:
    """In which share of the attempts an action solved its task that showed an error; 0 where it never
    did. It is counted among what failed, and told from what it earned.
    """
    solved = [one for one in here if one.solved and one.words]
    return len(solved) / (len(here) + 1)


def _is_circle(standing: Sequence[Attempt]) -> bool:
    """Whether an action failed so often in the same way; of failures without a word nobody knows that
    they are the same.
    """
    return len(standing) >= IDENTICAL_FAILURES_MAX and bool(standing[0].failure)


def _say_verdict(
    verdict: Verdict, reason: Sequence[Attempt], p_success: float, p_solved: float, moment: Moment
) -> str:
    chances = moment.chances
    if verdict == "blocked":
        last = reason[-1]
        return (
            f"Stop. This was tried {len(reason)} times and failed the same way: {quote(last.words)}. "
            f"What was tried: {quote(last.action)}. Do not try it again; try something else, or ask "
            "a human."
        )
    if reason:
        return _say_failures(reason, p_success, moment)
    if verdict == "caution":
        against = (
            f" What speaks against it most: {quote(chances.against)}." if chances.against else ""
        )
        return f"This is not likely to work (p = {p_success:.2f}).{against}"
    if verdict == "unknown":
        known = moment.basis.get(ALL_ACTIONS)
        usual = f"; of all attempts here {p_success:.0%} work" if known else ""
        return f"Nothing is known of this{usual}."
    return _say_ok(p_success, p_solved, moment)


ALL_ACTIONS: Final = "all actions"  # as it is called where a probability comes from


def _say_failures(reason: Sequence[Attempt], p_success: float, moment: Moment) -> str:
    last, count = reason[-1], len(reason)
    where = "here" if last.same_task else "for another task" if count == 1 else "elsewhere"
    times = "before" if count == 1 else f"{count} times before"
    how = f": {quote(last.words)}. If it fails the same way again"
    if not last.failure:
        how = ", and nothing showed why. If it fails again"
    if moment.changed == "something":
        how = f"{how.partition('. ')[0]}; something was changed since. If it fails again"
    return f"This failed {where} {times}{how}, do something else (p = {p_success:.2f})."


def _say_ok(p_success: float, p_solved: float, moment: Moment) -> str:
    """What is said where nothing has to be warned of: that what it failed by may be gone, how the runs
    ended that it was part of, or how likely it is to work.
    """
    here = [attempt for attempt in moment.attempts if attempt.same_task]
    failed = [attempt for attempt in here if attempt.failed]
    if _count_solving(here):
        return f"It showed an error here before and solved the task all the same (p_solved = {p_solved:.2f})."
    if failed and moment.passing >= _PASSING_FROM:
        return f"It failed here before, and that passed by itself: {quote(failed[-1].words)} (p = {p_success:.2f})."
    if failed and moment.changed == "the cause":
        return f"It failed here before what was done since: {quote(failed[-1].words)} (p = {p_success:.2f})."
    ended = {one.ended for one in here if one.counted} - {"", "unknown"}
    unsolved = f"(p_solved = {p_solved:.2f})" if ended and p_solved < _UNSOLVING_BELOW else ""
    if unsolved and "success" not in ended:
        run = "solved the task only in part" if "partial" in ended else "failed"
        text = f"It showed no error here before, but the run {run} {unsolved}."
    else:
        text = "Nothing speaks against it"
        if round(p_success, 2) < _EVEN:  # as it is said
            text = f"It may be tried: of its like, {p_success:.0%} work"
        text += f" (p = {p_success:.2f})."
        if unsolved:
            text += f" By itself it has not solved the task so far {unsolved}."
    done = sum(not one.failed for one in here if not one.record_id)
    return f"{text} It was done {done} times in this attempt already." if done > 1 else text


def _say_instead(lesson: Lesson) -> str:
    """What helped, how often, and the lesson's short id."""
    counts = f"helped {lesson.helped} of {lesson.tried}" if lesson.tried else ""
    who = "says one source" if lesson.by else ""
    return f"{quote(lesson.action)} {make_mark(counts, who, lesson_id=lesson.id)}".rstrip()


def quote(text: str, chars_max: int = limits.LESSON_CHARS_MAX) -> str:
    """What somebody recorded, within a sentence of ours: it can neither end nor begin one."""
    return f"“{clean_line(text, chars_max).translate(_QUOTES)}”"


_QUOTES: Final = str.maketrans(dict.fromkeys("“”„‟", '"'))
