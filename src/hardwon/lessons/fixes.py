"""What fixes teach: which ways of fixing an issue are worth another try, and which are not; which
issues come again, and how it goes on a model. Pure functions of counts and records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Final, Literal

from hardwon import limits
from hardwon.lessons.chance import UNLIKELY_BELOW, at_least
from hardwon.lessons.fix_odds import (
    FIRST_GUESS,
    NOTHING,
    Attempts,
    add_up,
    hear_fairly,
)
from hardwon.lessons.issues import issue_subject
from hardwon.lessons.lesson import EVIDENCE_SHOWN_MAX
from hardwon.lessons.sources import by_turns
from hardwon.records.kinds import OWN_HISTORY, Cleaned, Fix, Issue
from hardwon.text.terms import share_of_words

PatternKind = Literal["exact", "model", "type"]
Scope = Literal["signature", "model", "type"]
_ORDER: Final[tuple[Scope, ...]] = ("signature", "model", "type")

_NOTED_ATTEMPTS_MIN: Final = 5
# Of the words of what an issue describes, where another one describes much the same.
_SAME_MATTER_FROM: Final = 0.4


@dataclass
class Tried:
    """What was tried, and how it went for each who tried it; and when that was last, where it matters."""

    item: str
    by_author: Mapping[str, Attempts]
    last_us: int = 0

    @cached_property
    def whole(self) -> Attempts:
        """All of it together."""
        return add_up(self.by_author.values())

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it, or it is the owner's history."""
        if len(self.by_author) != 1 or self.whole.checked or OWN_HISTORY in self.by_author:
            return None
        return next(iter(self.by_author))


@dataclass(frozen=True)
class RankedStrategy:
    """A strategy before its texts are looked up, with the counts of the `scope` that speaks for it (or
    against it), and the probability that it works. `failed_here`: for this very issue it was tried, and
    never worked.
    """

    support: Tried
    share: Attempts
    p_success: float
    scope: Scope = "type"
    failed_here: bool = False

    @cached_property
    def source(self) -> str | None:
        """Who alone did it; None where several did, or somebody vouches for it."""
        return self.support.only_source


def rank_strategies(tried: Iterable[Tried], usual_p: float, *, alone: bool) -> list[RankedStrategy]:
    """The likeliest to succeed first, but before all others what somebody vouches for, then what
    several found to work; then the newest. Sources take turns among what is about as likely.
    `usual_p` is what can be expected without knowing the strategy.
    """
    ranked = []
    for support in tried:
        counts = hear_fairly(support.by_author, alone=alone)
        # what nobody vouches for does not outweigh what somebody does
        p = counts.shrink(usual_p, "strategy")
        p = max(p, FIRST_GUESS) if counts.is_believed else p
        ranked.append(RankedStrategy(support, counts, p))

    def about_as_good(one: RankedStrategy) -> tuple[bool, bool, int]:
        """The same for those that take turns."""
        is_shared = one.source is None and one.p_success >= FIRST_GUESS
        return not one.share.is_believed, not is_shared, -round(10 * one.p_success)

    ranked.sort(
        key=lambda one: (
            about_as_good(one),
            -one.p_success,
            -one.support.last_us,
            one.support.item,
        )
    )
    return [
        one
        for _, alike in groupby(ranked, about_as_good)
        for one in by_turns(alike, attrgetter("source"))
    ]


def concerns(fix: Fix | Cleaned, issue: Issue) -> bool:
    """Whether what was done about another issue may help with this one: commands do, words about it
    only where both are of the same subject, or describe much the same.
    """
    if fix.fix_commands or isinstance(fix, Cleaned):
        return True
    if (subject := issue_subject(issue)) and subject == issue_subject(fix.issue):
        return True
    shared = share_of_words(fix.issue.description, issue.description)
    return shared is not None and shared >= _SAME_MATTER_FROM


def choose(
    tried: Mapping[Scope, Mapping[str, Tried]], usual_p: float, *, alone: bool
) -> tuple[list[RankedStrategy], list[RankedStrategy]]:
    """What worked: for this very issue first, then on the same model, then anywhere; in each what somebody
    vouches for first, then the likeliest. And what is not to be repeated: for this very issue first, then
    what was tried most.

    `tried` is what was done, by strategy: for this very issue, for its type on its model, for its
    type anywhere. A strategy is not to be repeated if it never worked and was tried twice, or once
    for this very issue; or if it never worked for this very issue, tried twice, and that is neither
    one source's word against others for whom it works elsewhere, nor anybody's against what somebody
    vouches for. What was tried once, elsewhere, without success is neither.
    """
    worked: list[RankedStrategy] = []
    failed: list[RankedStrategy] = []
    for item in dict.fromkeys(item for scope in reversed(_ORDER) for item in tried[scope]):
        scopes = [scope for scope in reversed(_ORDER) if item in tried[scope]]
        counts = {scope: hear_fairly(tried[scope][item].by_author, alone=alone) for scope in scopes}
        here = counts.get("signature", NOTHING)
        failed_here = here.attempts > 0 and not here.verified
        believed = any(one.is_believed for one in counts.values())
        worked_in = [scope for scope in scopes if counts[scope].verified]
        hopeless = failed_here and here.attempts >= limits.PROOFS_MIN
        if worked_in and hopeless:
            source = tried["signature"][item].only_source
            is_contested = source and any(
                tried[scope][item].by_author.keys() != {source} for scope in scopes
            )
            hopeless = not is_contested and not (believed and not here.vouched)
        scope = worked_in[-1] if worked_in else scopes[0]
        if worked_in and hopeless:
            scope = "signature"
        p = _estimate_strategy([counts[scope] for scope in scopes], usual_p)
        if believed and (here.is_believed or not here.vouched):
            p = max(p, FIRST_GUESS)
        ranked = RankedStrategy(tried[scope][item], counts[scope], p, scope, failed_here)
        if worked_in and not hopeless:
            worked.append(ranked)
        elif failed_here or counts[scope].attempts >= limits.PROOFS_MIN:
            failed.append(ranked)

    def newest_first(one: RankedStrategy) -> tuple[int, str]:
        """Of those that are as good."""
        return -one.support.last_us, one.support.item

    worked.sort(
        key=lambda one: (
            *(_ORDER.index(one.scope), not one.share.is_believed, -one.p_success),
            *newest_first(one),
        )
    )
    failed.sort(key=lambda one: (not one.failed_here, -one.share.attempts, *newest_first(one)))
    return worked, failed


def _estimate_strategy(widest_first: Iterable[Attempts], usual_p: float) -> float:
    """From what is known of it anywhere to what is known of it here."""
    p, before = usual_p, None
    for counts in widest_first:
        # one that holds no less than the one before tells nothing new
        if before is None or counts.attempts < before:
            p, before = counts.shrink(p, "strategy"), counts.attempts
    return p


def note_performance(
    model: str, here_and_everywhere: Mapping[str, tuple[Attempts, Attempts]]
) -> tuple[str, ...]:
    """Which of these issue types go clearly better or worse on this model than elsewhere."""
    notes = []
    for issue_type, (here, whole) in here_and_everywhere.items():
        others, verified = whole.attempts - here.attempts, whole.verified - here.verified
        if here.attempts < _NOTED_ATTEMPTS_MIN or others < _NOTED_ATTEMPTS_MIN:
            continue
        usual = (verified + 1) / (others + 2)
        better = at_least(here.verified, here.attempts, usual)
        worse = at_least(here.attempts - here.verified, here.attempts, 1 - usual)
        if min(better, worse) < UNLIKELY_BELOW:
            word = "better" if better < worse else "worse"
            notes.append(
                f"{issue_type} is fixed {word} on {model} than on other models: {here.verified} of "
                f"{here.attempts} attempts against {verified} of {others}"
            )
    return tuple(notes[:EVIDENCE_SHOWN_MAX])
