"""What to say before an action: that it failed here before, how likely it is to work, what to do
instead. The word, the number and the sentences follow from the same evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from hardwon import limits
from hardwon.records.fields import Tabular
from hardwon.text.clean import clean_line

Verdict = Literal["ok", "caution", "blocked", "unknown"]

# After so many failures of the same action in the same way, the next attempt is blocked: it is a
# circle.
IDENTICAL_FAILURES_MAX: Final = 2

# An action that is less likely than this to work gets a word of caution, though nobody tried it yet.
UNLIKELY_BELOW: Final = 0.12
# One that failed for another task does so below this.
UNLIKELY_AGAIN_BELOW: Final = 0.35


class PastAttempt(NamedTuple):
    """An earlier attempt at the same action. `failure` is the hash of how it failed, empty where it
    worked or where nobody knows; `source` who says so, None where somebody vouches for it, or where
    it is the current attempt's own, which has no id; `counted` whether it is among what the
    probability was made from already; `same_task` whether it was for the task that is asked about;
    `ended` how the run that it was part of ended: `success`, `failure`, `partial` or `unknown`.
    """

    at_us: int
    id: str
    action: str
    worked: bool
    solved: bool
    failure: str
    said: str
    source: str | None
    counted: bool
    same_task: bool
    ended: str = ""


class Chances(NamedTuple):
    """How likely an action is to work, and to solve the task; the word that speaks against it most;
    whether anything is known of it or its like; how many attempts at anything there are, and what
    the probability rests on, by how much there is of it.
    """

    p_success: float
    p_solved: float
    against: str | None
    known: bool
    attempts: float
    basis: Mapping[str, float]


class Instead(NamedTuple):
    """What to do instead, and how often it helped, of how often it was tried; 0 of 0 where nobody
    counted.
    """

    action: str
    helped: int = 0
    tried: int = 0

    def __str__(self) -> str:
        said = quoted(self.action)
        return f"{said} (helped {self.helped} of {self.tried})" if self.tried else said


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
        return f"<Advice {self.verdict}, p_success {self.p_success:.2f}: {self.message[: limits.REPR_CHARS_MAX]}>"

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        shown = ("verdict", "p_success", "p_solved", "failures", "message")
        return {name: getattr(self, name) for name in shown}


def identical_failures(attempts: Iterable[PastAttempt]) -> list[PastAttempt]:
    """The attempts that failed in the same way, in whichever way most did, since the last one that
    worked, or solved the task, whatever it showed. What somebody vouches for is undone by a success
    that somebody vouches for, or by one of the current attempt, and by no number of others.
    """
    since: dict[str, list[PastAttempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: (attempt.at_us, attempt.id)):
        if attempt.worked or attempt.solved:
            since = {
                failure: vouched
                for failure, same in since.items()
                if attempt.source and (vouched := [each for each in same if each.source is None])
            }
        elif attempt.failure:  # failures of which nobody knows how are not known to be the same
            since.setdefault(attempt.failure, []).append(attempt)
    return max(since.values(), key=lambda same: (len(same), same[-1].at_us), default=[])


def standing_failures(attempts: Sequence[PastAttempt]) -> list[PastAttempt]:
    """The identical failures that stand against an action. No single source that is not vouched for
    speaks against what works for others, and no number of them against what somebody vouches for.
    """
    if all(each.worked for each in attempts):
        return []
    if any(each.worked and each.source is None for each in attempts):
        return identical_failures(each for each in attempts if each.worked or each.source is None)
    failures = identical_failures(attempts)
    sources = {failure.source for failure in failures}
    alone = len(sources) == 1 and None not in sources
    others_succeeded = any(each.worked and each.source not in sources for each in attempts)
    return [] if alone and others_succeeded else failures


def advice_on(
    attempts: Sequence[PastAttempt], chances: Chances, worked_instead: Sequence[Instead]
) -> Advice:
    """The verdict on an action, and why."""
    here = [attempt for attempt in attempts if attempt.same_task]
    failures = identical_failures(here)
    if not failures and not any(each.worked or each.solved for each in here):
        failures = here  # without a word of why
    elsewhere = [] if here else identical_failures(attempts)
    p_success, p_solved = chances.p_success, chances.p_solved
    verdict: Verdict = "ok" if chances.known or attempts else "unknown"
    standing, solved_with_error = standing_failures(here), False
    vouched = [attempt.worked for attempt in here if attempt.id and attempt.source is None]
    if not standing and any(vouched) and 2 * sum(vouched) >= len(vouched):
        p_success = max(p_success, _EVEN)
    if len(standing) >= IDENTICAL_FAILURES_MAX:
        verdict, failures = "blocked", standing
        # As likely as after so many failures in a row, whatever became of it before: the number and
        # the word agree.
        p_success = min(p_success, 1 / (len(failures) + 2))
    elif failures:
        verdict = "caution"
        if standing:
            p_success = min(p_success, _EVEN)
    elif elsewhere and p_success < UNLIKELY_AGAIN_BELOW:
        verdict, failures = "caution", elsewhere
    elif any(each.solved and not each.worked for each in here):
        solved_with_error = True
    elif chances.known and p_success < UNLIKELY_BELOW:
        verdict = "caution"
    if solved_with_error:
        # counted is such a step as one that failed: here it is told from what it earned
        p_solved = max(p_solved, sum(each.solved for each in here) / (len(here) + 1))
        speaks = f"It showed an error here before and solved the task all the same (p_solved = {p_solved:.2f})."
    else:
        p_solved = min(p_solved, p_success)
        speaks = _likely(p_success, p_solved, here)
    newest = sorted(attempts, key=lambda attempt: (attempt.at_us, attempt.id), reverse=True)
    return Advice(
        verdict=verdict,
        p_success=p_success,
        evidence=tuple(
            dict.fromkeys(attempt.id for attempt in (*reversed(failures), *newest) if attempt.id)
        ),
        failures=len(failures),
        worked_instead=tuple(each.action for each in worked_instead),
        message=_message(verdict, failures, p_success, speaks, chances, worked_instead),
        p_solved=p_solved,
        basis=dict(chances.basis),
    )


def _likely(p_success: float, p_solved: float, here: Sequence[PastAttempt]) -> str:
    """What is said where nothing has to be warned of: how the runs ended that it was part of, or how
    likely it is to work.
    """
    ended = {each.ended for each in here if each.counted} - {"", "unknown"}
    unsolved = f"(p_solved = {p_solved:.2f})" if ended and p_solved < UNLIKELY_BELOW else ""
    if unsolved and "success" not in ended:
        run = "solved the task only in part" if "partial" in ended else "failed"
        said = f"It showed no error here before, but the run {run} {unsolved}."
    else:
        said = "Nothing speaks against it"
        if round(p_success, 2) < _EVEN:  # as it is said
            said = f"It may be tried: of its like, {p_success:.0%} work"
        said += f" (p = {p_success:.2f})."
        if unsolved:
            said += f" By itself it has not solved the task so far {unsolved}."
    done = sum(each.worked for each in here if not each.id)
    return f"{said} It was done {done} times in this attempt already." if done > 1 else said


_EVEN: Final = 0.5
INSTEAD: Final = "What worked in such cases, as it was recorded: "


def quoted(text: str, chars_max: int = limits.LESSON_CHARS_MAX) -> str:
    """What somebody recorded, within a sentence of ours: it can neither end nor begin one."""
    return f"“{clean_line(text, chars_max).translate(_QUOTES)}”"


_QUOTES: Final = str.maketrans(dict.fromkeys("“”„‟", '"'))


def _message(
    verdict: Verdict,
    failures: Sequence[PastAttempt],
    p_success: float,
    speaks: str,
    chances: Chances,
    worked_instead: Sequence[Instead],
) -> str:
    """`speaks` is what is said where nothing has to be warned of."""
    parts = []
    if verdict == "blocked":
        parts.append(
            f"Stop. This was tried {len(failures)} times and failed the same way: "
            f"{quoted(failures[-1].said)}. "
            f"What was tried: {quoted(failures[-1].action)}. Do not try it again; try something else, or ask a human."
        )
    elif failures:
        last, count = failures[-1], len(failures)
        where = "here" if last.same_task else "for another task" if count == 1 else "elsewhere"
        times = "before" if count == 1 else f"{count} times before"
        how = f": {quoted(last.said)}. If it fails the same way again"
        if not last.failure:
            how = ", and nothing showed why. If it fails again"
        parts.append(f"This failed {where} {times}{how}, do something else (p = {p_success:.2f}).")
    elif verdict == "caution":
        parts.append(f"This is not likely to work (p = {p_success:.2f}).")
    elif verdict == "unknown":
        usual = f"; of all attempts here {p_success:.0%} work" if chances.attempts else ""
        parts.append(f"Nothing is known of this{usual}.")
    else:
        parts.append(speaks)
    if chances.against and verdict == "caution" and not failures:
        parts.append(f"What speaks against it most: {quoted(chances.against)}.")
    if worked_instead:
        parts.append(f"{INSTEAD}{'; '.join(map(str, worked_instead))}.")
    return " ".join(parts)
