"""What is known of an action before it is taken, and what made an error go away. Reads only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain, islice, zip_longest
from typing import Final, TypeGuard

from hardwon import limits
from hardwon.brief.advice import PastAttempt
from hardwon.brief.cases import Done, folded, telling_action
from hardwon.learn.actions import (
    ANY_FAILURE,
    StepOutcome,
    error_in,
    errors_in,
    judge_steps,
    looks_on_the_way,
    solving_steps,
    worked,
)
from hardwon.learn.fixes import Solution
from hardwon.lessons.fix_odds import Attempts
from hardwon.lessons.fixes import RankedStrategy
from hardwon.lessons.issues import generate_issue_signature
from hardwon.lessons.keys import task_key
from hardwon.memory.find import CANDIDATES, Finder
from hardwon.memory.fix_lessons import Strategy
from hardwon.memory.knowledge import PairWords
from hardwon.memory.project import Project
from hardwon.records.fields import from_us
from hardwon.records.kinds import (
    VOUCHED_STATUSES,
    AnyRecord,
    Experience,
    Fact,
    Fix,
    Step,
    Trajectory,
    judge_record,
)
from hardwon.search.terms import Filters
from hardwon.store.base import Store
from hardwon.store.query import readable
from hardwon.store.types import Found
from hardwon.text.clean import clean_action, clean_line
from hardwon.text.failures import (
    error_core,
    error_words,
    exact_message,
    failure_hash,
)
from hardwon.text.likeness import alike_actions, alike_cores, holds_most, likeness
from hardwon.text.outcomes import (
    describe_failure,
    failure_words,
    guess_outcome,
    strip_ending,
)
from hardwon.text.terms import same_action, spelled_alike

# Earlier attempts at an action that are read before it is judged, each author's newest first;
# half of them are kept for what somebody vouches for. How often it worked is counted; they tell how
# it failed.
_ATTEMPTS_READ_MAX: Final = 20

# For how long after a command that failed: who mends one tries it again within minutes.
_RUN_FOLLOWS_S: Final = 900

# Of those, how many are looked at for what was run next: each is a look-up.
_RUNS_FOLLOWED_MAX: Final = 4

# Commands that failed in the same way that are read, the newest.
_FAILED_RUNS_READ_MAX: Final = 8

# Actions that helped against an error whose words are read, those that helped most often: three of
# them are said.
_SOLUTIONS_READ_MAX: Final = 8

# Things that worked instead, or ways out of an error, in one advice. An agent tries the first; the
# others are for where it does not help.
_INSTEAD_MAX: Final = 3

_Worded = tuple[RankedStrategy, PairWords]


class Adviser(Finder):
    """Answers about actions and errors, of one project."""

    def __init__(self, project: Project) -> None:
        self.known = project.knowledge
        super().__init__(project)

    def cures(self, error: str, task: str | None, runs: Iterable[AnyRecord]) -> list[Solution]:
        """What made the failure go away that a text tells of; where nobody met that one, what these
        runs say of failures that are much like it. What mostly did not help is no cure.
        """
        diagnosis = error_in(error)
        counted = self._counted(error, diagnosis, task)[0].values() if diagnosis else ()
        known = (self.known.solution(*each) for each in counted)
        return [each for each in known if each.helped * 2 >= each.tried] or _helped_in(runs, error)

    def _counted(
        self, error: str, diagnosis: str, task: str | None, failed: str = "", limit: int = 0
    ) -> tuple[dict[str, _Worded], list[_Worded]]:
        """What was done about this very failure and helped, by action; and all that was done
        anywhere. Where an error tells nothing but how the command ended, as most do, that is what
        was done after the very same command.
        """
        tried = {("pair", diagnosis): diagnosis}
        if task:
            at_task = {
                ("pair.task", task_key(task, each)): each for each in (diagnosis, ANY_FAILURE)
            }
            tried = at_task | tried
        lists = self._tried(tried, error, failed, max(limit, _SOLUTIONS_READ_MAX))
        if not failure_words(error):
            lists[-1] = [each for each in lists[-1] if _same(each[1].after, failed)]
        helped = ([each for each in tried if each[0].share.verified] for tried in lists)
        found: dict[str, _Worded] = {}
        for each in filter(None, chain.from_iterable(zip_longest(*helped))):
            found.setdefault(same_action(each[1].action), each)
        return found, lists[-1]

    def _tried(
        self, keys: Mapping[tuple[str, str], str], error: str, failed: str, most: int
    ) -> list[list[_Worded]]:
        """What was done under each key, which is of a diagnosis: what somebody vouches for first,
        then what was done about an error of the same names, then the likeliest, which is what
        helped most often, the more so against an error that is worded like this one, after an
        action like the one that failed. What did not help is told under the last key alone.
        """
        core, message = error_core(strip_ending(error)), exact_message(describe_failure(error))

        def likeliest_first(found: _Worded) -> tuple[bool, bool, float, int]:
            each, said = found
            as_done = alike_actions(said.after, failed) if failed else bool(said.after)
            likely = each.p_success * (alike_cores(error_core(said.diagnosis), core) + 2 * as_done)
            other = exact_message(said.diagnosis) != message
            return not each.share.is_believed, other, -likely, -each.share.attempts

        *others, anywhere = self.known.tried(list(keys), most)
        helped = [[each for each in tried if each.share.verified] for tried in others]
        ranked = list(zip((*helped, anywhere), keys.values(), strict=True))
        self.known.read_ahead(each.support.sample_ids[0] for tried, _ in ranked for each in tried)
        lists = []
        for tried, diagnosis in ranked:
            worded = ((each, self.known.words_of(each, diagnosis)) for each in tried)
            said = [(each, words) for each, words in worded if words]
            lists.append(sorted(said, key=likeliest_first))
        return lists


def _helped_in(records: Iterable[AnyRecord], error: str) -> list[Solution]:
    """What helped against errors that are much like this one, the likest first."""
    found: dict[str, tuple[float, Solution]] = {}
    for solution in chain.from_iterable(_helped_against(record, error) for record in records):
        key, like = (
            same_action(solution.action),
            alike_cores(error_core(solution.diagnosis), error_core(strip_ending(error))),
        )
        known = found.get(key)
        if known:
            like, solution = max(like, known[0]), _added(known[1], solution)
        found[key] = (like, solution)
    best_first = sorted(found.values(), key=lambda each: (-each[0], -each[1].p_helped))
    return [solution for _, solution in best_first]


def _solving_actions(found: Iterable[Found]) -> list[str]:
    """Of trajectories that ended well, as many as are said, and one more: it may be the action that
    is asked about.
    """
    actions: dict[str, None] = {}
    for record in readable(each for each in found if each.kind == "trajectory" and each.good):
        if isinstance(record, Trajectory) and record.steps:
            steps = [
                Done(step.action, step.observation, 0.0, worked(step)) for step in record.steps
            ]
            place = max(solving_steps(record), default=len(steps) - 1)
            actions[telling_action(steps, place)] = None
        if len(actions) > _INSTEAD_MAX:
            break
    return list(actions)


def _usual(tried: int, helped: int) -> float:
    return Attempts(weight=tried, weight_verified=helped).shrink(0.5, "all")


def _added(one: Solution, other: Solution) -> Solution:
    tried, helped = one.tried + other.tried, one.helped + other.helped
    return replace(
        one,
        tried=tried,
        helped=helped,
        p_helped=_usual(tried, helped),
        last_tried=max(one.last_tried, other.last_tried),
        evidence=tuple(dict.fromkeys((*one.evidence, *other.evidence)))[
            : limits.EVIDENCE_SHOWN_MAX
        ],
    )


def _is_run(record: AnyRecord) -> TypeGuard[Trajectory]:
    """A command that was run by itself. Tests that pass later say nothing of how."""
    return (
        isinstance(record, Trajectory)
        and len(record.steps) == 1
        and record.metadata.source.type != "test_result"
    )


def failed_runs(store: Store, project: str, diagnosis: str) -> list[Trajectory]:
    """Commands that were run by themselves and failed so, the newest."""
    known = store.by_key(
        project, [f"failure:{diagnosis}"], Filters(kind="trajectory"), _FAILED_RUNS_READ_MAX
    )
    return [
        each
        for each in filter(_is_run, readable(each.stored for each in known))
        if not worked(each.steps[0])
    ]


def ran_next(store: Store, project: str, failed: Iterable[Trajectory]) -> list[Solution]:
    """What was run soon after the first of these commands, is much like them, and worked."""
    found: list[tuple[Trajectory, AnyRecord]] = []
    for run in islice(failed, _RUNS_FOLLOWED_MAX):
        start = from_us(run.at_us)
        until = start + timedelta(seconds=_RUN_FOLLOWS_S)
        # of all kinds: to look for one of them alone would take longer than these few do
        soon = Filters(outcome="success", since=start, until=until)
        later = store.page(project, soon, None, CANDIDATES, trusted=True)
        found += [
            (run, each) for each in readable(one for one in later if one.kind == "trajectory")
        ]
    return _instead(found)


def _instead(pairs: Iterable[tuple[Trajectory, AnyRecord]]) -> list[Solution]:
    """Of runs that failed and what came after them, what is much like them and worked; the
    likeliest first.
    """
    found: dict[str, Solution] = {}
    seen: set[str] = set()
    for failed, run in pairs:
        step = failed.steps[0]
        if (
            _is_run(run)
            and run.id not in seen
            and worked(run.steps[0])
            and holds_most(run.steps[0].action, step.action)
        ):
            seen.add(run.id)
            once = _once(run, step.observation, run.steps[0].action, step.action)
            key = same_action(run.steps[0].action)
            found[key] = _added(found[key], once) if key in found else once
    return sorted(found.values(), key=lambda each: (-each.p_helped, -each.tried))


def _helped_against(record: AnyRecord, error: str) -> Iterator[Solution]:
    """What a record says made an error like this go away."""
    if isinstance(record, Trajectory):
        steps = record.steps
        # after the last nothing was done; what earned something, and worked, is no error
        like = [
            place
            for place, step in enumerate(steps[:-1])
            if not (step.ok and step.reward) and likeness(step.observation, error)
        ]
        outcomes = judge_steps(steps) if like else ()
        for place in like:
            step = steps[place]
            # what nobody calls an error may be one all the same: the reader is told one
            if not outcomes[place].worked or not step.reward:
                looks = looks_on_the_way(steps, outcomes)
                later = next((at for at in range(place + 1, len(steps)) if at not in looks), None)
                if later is None or not outcomes[later].worked:
                    continue
                after = steps[later]
                helped = after.reward > 0 or after.ok or record.turned_out_well
                if helped and not likeness(after.observation, error):
                    yield _once(record, step.observation, after.action, step.action)
    elif isinstance(record, Fix) and record.succeeded and record.fix_commands:
        shown = record.issue.error_output or record.issue.description
        if likeness(shown, error):
            yield _once(record, shown, " && ".join(record.fix_commands))
    elif (
        isinstance(record, Fact)
        and record.fact_type == "solution"
        and record.metadata.validation.failure_hash == failure_hash(error)
    ):
        # its hash knows of no names: without these it tells of the error only what it knows
        known = clean_line(error_core(strip_ending(error)), limits.LESSON_CHARS_MAX)
        yield replace(_once(record, error, record.content), diagnosis=known)


def _once(record: AnyRecord, error: str, action: str, after: str = "") -> Solution:
    return Solution(
        diagnosis=describe_failure(error),
        failure_hash=failure_hash(error),
        action=clean_action(action),
        after=clean_action(after),
        tried=1,
        helped=1,
        p_helped=_usual(1, 1),
        last_tried=from_us(record.at_us),
        evidence=(record.id,),
    )


# --- earlier attempts ---


def _attempts_so_far(steps: Sequence[Step], action: str) -> Iterator[PastAttempt]:
    """Those of the current attempt: they come after everything that is kept."""
    for at_us, step in enumerate(steps, _NOW_US):
        if _same(step.action, action):
            yield _attempted(step, at_us, "", None, same_task=True)


_NOW_US: Final = 2**62  # later than any record


def _attempted(
    step: Step, at_us: int, record_id: str, source: str | None, *, same_task: bool
) -> PastAttempt:
    outcome, said = StepOutcome.of(step), ""
    if not outcome.worked:
        said = errors_in(step.observation)[0] or step.observation
        said = clean_line(error_words(said) or said, limits.LESSON_CHARS_MAX)
    return PastAttempt(
        at_us,
        record_id,
        step.action,
        outcome.worked,
        step.reward >= 1,
        outcome.failure,
        said,
        source,
        counted=True,
        same_task=same_task,
    )


def attempts_in(record: AnyRecord, action: str, task: str | None) -> Iterator[PastAttempt]:
    if isinstance(record, Trajectory):
        same_task = task is None or task_key(record.task) == task_key(task)
        ended_badly = (
            record.metadata.validation.failure_hash if record.turned_out_well is False else None
        )
        for number, step in enumerate(record.steps, 1):
            if _same(step.action, action):
                found = _attempted(
                    step, record.at_us, record.id, unvouched_source(record), same_task=same_task
                )
                found = found._replace(ended=judge_record(record))
                # What shows no error that we know of may have failed all the same: whoever recorded
                # it says so.
                if ended_badly and not found.failure and number == len(record.steps):
                    said = clean_line(step.observation, limits.LESSON_CHARS_MAX)
                    found = found._replace(
                        worked=False, solved=False, failure=ended_badly, said=said
                    )
                yield found
    elif isinstance(record, Fix):
        error = record.issue.error_output or ""
        for done in record.fix_commands or [record.analysis]:
            if _same(done, action):
                # As the envelope or the error says; where nobody knows more, the issue was still
                # there.
                failure = (
                    record.metadata.validation.failure_hash
                    or (failure_hash(error) if error.strip() else "")
                    or generate_issue_signature(record.issue)
                )
                said = error or record.issue.description
                yield _attempt(record, done, record.succeeded, failure, said)
    elif (
        isinstance(record, Experience)
        and record.turned_out_well is not None
        and (_same(record.content, action) or _tells_of(record, action))
    ):
        failure = record.metadata.validation.failure_hash or failure_hash(record.content)
        yield _attempt(record, action, record.turned_out_well, failure, record.content)
    elif (
        isinstance(record, Fact)
        and record.fact_type in ("error", "solution")
        and _names(record.content, action)
    ):
        failure = record.metadata.validation.failure_hash or failure_hash(record.content)
        yield _attempt(record, action, record.fact_type == "solution", failure, record.content)


def _attempt(record: AnyRecord, action: str, good: bool, failure: str, said: str) -> PastAttempt:
    shown = "" if good else clean_line(error_words(said) or said, limits.LESSON_CHARS_MAX)
    return PastAttempt(
        record.at_us,
        record.id,
        action,
        good,
        good,
        "" if good else failure,
        shown,
        unvouched_source(record),
        counted=False,
        same_task=True,
    )


def _only_source(strategy: Strategy) -> str | None:
    """Who alone says so; None where several do, or somebody vouches for it."""
    return strategy.sources[0] if len(strategy.sources) == 1 and not strategy.vouched else None


def unvouched_source(record: AnyRecord) -> str | None:
    """Who says so; None where somebody vouches for it."""
    return None if record.metadata.validation.status in VOUCHED_STATUSES else record.said_by


def _tells_of(record: Experience, action: str) -> bool:
    """Whether it begins with an action and says how that turned out: a note that only mentions it
    counts neither for nor against it.
    """
    said = record.content
    return _names(said, action, first=True) and guess_outcome(said) == record.outcome


def _names(sentence: str, action: str, *, first: bool = False) -> bool:
    """Whether a sentence has an action in it, word for word, or begins with it: what comes `first`
    is what it is about. A single word may be any word, and one with another option is another
    action.
    """
    named, said = spelled_alike(action), spelled_alike(sentence)
    if " " not in named or named not in said:
        return False
    before = r"\A\W*(?:(?:i )?(?:ran|running|tried|used|using) \W*)?" if first else r"(?<!\w)"
    return re.search(rf"{before}{re.escape(named)}(?!\w| --?\w)", said) is not None


def _same(one: str, other: str) -> bool:
    return one == other or folded(one) == folded(other)
