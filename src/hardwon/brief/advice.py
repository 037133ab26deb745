"""What to say before an action: that it failed here before, how likely it is to work, what worked
instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from hardwon.text.clean import clean_line

Verdict = Literal["ok", "caution", "blocked"]

# After so many failures of the same action in the same way, the next attempt is blocked: it is a
# circle.
IDENTICAL_FAILURES_MAX: Final = 2

_ACTION_CHARS: Final = 200  # of what was tried, in a message: enough to know it again
# An action that is less likely than this to work gets a word of caution.
UNLIKELY_BELOW: Final = 0.35


class PastAttempt(NamedTuple):
    """An earlier attempt at the same action. `failure` is the hash of how it failed, empty where it
    worked or where nobody knows; `source` who says so, None where somebody vouches for it, or where
    it is the current attempt's own; `counted` whether it is among what the probability was made
    from already.
    """

    at_us: int
    id: str
    action: str
    worked: bool
    failure: str
    said: str
    source: str | None
    counted: bool


@dataclass(frozen=True)
class Advice:
    """`verdict` ok, caution or blocked; `p_success` the probability that the action works;
    `evidence` the ids of earlier attempts, the newest first; `failures` how often it failed in the
    same way since it last worked; `worked_instead` what helped in similar cases; `message` says it
    all to the agent.
    """

    verdict: Verdict
    p_success: float
    evidence: tuple[str, ...]
    failures: int
    worked_instead: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        return self.message


def identical_failures(attempts: Iterable[PastAttempt], failure: str | None) -> list[PastAttempt]:
    """The attempts that failed in the same way (None: in whichever way most did) since the last one
    that worked.
    """
    since: dict[str, list[PastAttempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: (attempt.at_us, attempt.id)):
        if attempt.worked:
            since = {}
        elif attempt.failure:  # failures of which nobody knows how are not known to be the same
            since.setdefault(attempt.failure, []).append(attempt)
    if failure is not None:
        return since.get(failure, [])
    return max(since.values(), key=lambda same: (len(same), same[-1].at_us), default=[])


def standing_failures(attempts: Sequence[PastAttempt], failure: str | None) -> list[PastAttempt]:
    """The identical failures that stand against an action. No single source that is not vouched for
    speaks against what works for others.
    """
    failures = identical_failures(attempts, failure)
    sources = {failure.source for failure in failures}
    alone = len(sources) == 1 and None not in sources
    disputed = alone and any(each.worked and each.source not in sources for each in attempts)
    return [] if disputed else failures


def advice_on(
    attempts: Sequence[PastAttempt],
    failure: str | None,
    p_success: float,
    worst: str | None,
    worked_instead: Sequence[str],
) -> Advice:
    """The verdict on an action, and why."""
    failures = identical_failures(attempts, failure)
    newest = sorted(attempts, key=lambda attempt: (attempt.at_us, attempt.id), reverse=True)
    verdict: Verdict = "ok"
    if len(standing_failures(attempts, failure)) >= IDENTICAL_FAILURES_MAX:
        verdict = "blocked"
        # As likely as after so many failures in a row, whatever became of it before: the number and
        # the word agree.
        p_success = min(p_success, 1 / (len(failures) + 2))
    elif failures or p_success < UNLIKELY_BELOW:
        verdict = "caution"
    return Advice(
        verdict=verdict,
        p_success=p_success,
        evidence=tuple(
            dict.fromkeys(attempt.id for attempt in (*reversed(failures), *newest) if attempt.id)
        ),
        failures=len(failures),
        worked_instead=tuple(worked_instead),
        message=_message(verdict, failures, p_success, worst, worked_instead),
    )


def _message(
    verdict: Verdict,
    failures: Sequence[PastAttempt],
    p_success: float,
    worst: str | None,
    worked_instead: Sequence[str],
) -> str:
    parts = []
    if verdict == "blocked":
        tried = clean_line(failures[-1].action, _ACTION_CHARS)
        parts.append(
            f"Stop. This was tried {len(failures)} times and failed the same way: "
            f"{failures[-1].said}. "
            f"What was tried: {tried}. Do not try it again; try something else, or ask a human."
        )
    elif failures:
        parts.append(
            f"This failed here before: {failures[-1].said}. If it fails the same way again, do "
            f"something else."
        )
    elif verdict == "caution":
        parts.append(f"This is not likely to work (p = {p_success:.2f}).")
    else:
        parts.append(f"Nothing speaks against it (p = {p_success:.2f}).")
    if worst and verdict != "ok":
        parts.append(f"What speaks against it most: {worst}.")
    if worked_instead and verdict != "ok":
        parts.append(
            "What worked in similar cases, as it was recorded: " + "; ".join(worked_instead) + "."
        )
    return " ".join(parts)
