"""What is known of an action before it is taken. Reads only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hardwon.lessons.actions import EACH, find_levels, read_moment
from hardwon.lessons.attempts import Attempt, read_attempts, read_own_attempts
from hardwon.lessons.issues import generate_issue_signature
from hardwon.lessons.keys import attempt_key
from hardwon.lessons.lesson import Lesson
from hardwon.lessons.odds import Chances, Counts, forecast
from hardwon.lessons.sources import by_turns
from hardwon.memory.find import CANDIDATES
from hardwon.memory.fix_lessons import Strategy
from hardwon.memory.lessons import read_shown_failure
from hardwon.memory.project import Project
from hardwon.memory.solutions import SolutionFinder
from hardwon.records.kinds import Fix, Issue, Step
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.tell.advice import ALL_ACTIONS, Advice, Moment, find_reason, give_advice
from hardwon.tell.situation import Situation
from hardwon.text.programs import deletes_without_order
from hardwon.text.terms import index_text, same_action

# Earlier attempts at an action that are read before it is judged, each author's newest first;
# half of them are kept for what somebody vouches for. How often it worked is counted; they tell how
# it failed.
_ATTEMPTS_READ_MAX: Final = 20
# An agent tries the first; the others are for where it does not help.
_INSTEAD_MAX: Final = 3
# So many attempts at a fix weigh as much as what is expected of any.
_FIX_STRENGTH: Final = 4.0
_NAMES: Final = {
    "same": "this action for this task",
    "shape": "this action with other values",
    "task": "this task",
    "command": "actions of this kind",
    "program": "actions of this kind",
    "all": ALL_ACTIONS,
}


class Adviser:
    """Answers about an action: what it is for, what is to be got rid of or fixed by it, and who takes
    it.
    """

    def __init__(
        self,
        project: Project,
        action: str,
        task: str | None,
        error: str | None,
        issue: Issue | None,
        fixer: str | None,
    ) -> None:
        self._project, self._store, self._knowledge = project, project.store, project.knowledge
        self._finder = SolutionFinder(project)
        self._action, self._task, self._error = action, task, error
        self._issue, self._fixer = issue, fixer

    def advise(self, steps: Sequence[Step]) -> Advice:
        """What is known of the action after these steps of a run."""
        action = self._action
        attempts = [*self._find_attempts(), *read_own_attempts(steps, action)]
        failed_action = steps[-1].action if steps else action
        failure = read_shown_failure(self._error, failed_action) if self._error else None
        standing = find_reason(attempts)
        if not self._error and standing:
            failed_action, failure = action, standing[-1].shown  # as it failed, so it will again
        done = tuple(step.action for step in steps)
        situation = Situation(self._task or "", failed_action, failure, done)
        changed, passing = self._finder.find_change(standing, action, steps)
        if changed == "the cause":
            steps = [step for step in steps if same_action(step.action) != same_action(action)]
        chances, basis = self._find_chances(steps, attempts)
        instead = self._find_instead(situation)
        return give_advice(Moment(attempts, chances, changed, passing, instead, basis))

    def _find_attempts(self) -> list[Attempt]:
        """Earlier attempts at the very same action, fixes that say it in words, experiences that
        begin with it, and facts that name it.
        """
        name, filters = self._project.name, Filters()
        keys, most = [attempt_key(self._action)], _ATTEMPTS_READ_MAX
        hits = self._store.by_key(name, keys, filters, most, in_turns=True)
        known = {one.id for one in hits}
        terms = list(dict.fromkeys(index_text(self._action).partition("\n")[0].split()))
        worded = self._store.search(name, terms, filters, CANDIDATES, whole=True)
        hits += [one for one, _ in worded if one.kind in ("experience", "fact")]
        fixes = [one for one, _ in worded if one.kind == "fix"]
        hits += by_turns(fixes, lambda one: one.author)[:most]
        records = readable({one.id: one for one in hits}.values())
        return [
            attempt
            for record in records
            # what was run is known by its key, each author's newest first
            if record.id in known or not (isinstance(record, Fix) and record.fix_commands)
            for attempt in read_attempts(record, self._action, self._task)
        ]

    def _find_chances(
        self, steps: Sequence[Step], attempts: Sequence[Attempt]
    ) -> tuple[Chances, dict[str, float]]:
        """How likely the action is to work, and on what that rests."""
        in_words = [one for one in attempts if one.record_id and not one.counted]
        worked = float(sum(not one.failed for one in in_words))
        if self._issue:
            odds = self._knowledge.fix_odds(self._issue, fixer=self._fixer, action=self._action)
            strength = _FIX_STRENGTH + len(in_words)
            p = (worked + _FIX_STRENGTH * odds.p_success) / strength
            attempted = float(odds.basis[0].attempts) if odds.basis else 0.0
            basis = {one.scope: float(one.attempts) for one in odds.basis if one.attempts}
            return Chances(p, p, attempted + len(in_words), "", p), basis
        moment = read_moment(steps, self._task or "")
        levels = find_levels(self._action, moment)
        counts = self._store.outcomes(self._project.name, [EACH, *levels.all], self._project.today)
        if in_words:  # they speak of the action itself
            exact = levels.named["exact"]
            more = Counts(failed=len(in_words) - worked, solved=worked)
            counts[exact] = counts.get(exact, Counts()).plus(more)
        chances = forecast(levels, counts, moment, self._action)
        basis = {
            name: counts[level].tried
            for place, name in _NAMES.items()
            if (level := levels.named.get(place)) in counts
        }
        if in_words:
            basis["this very action"] = float(len(in_words))
        if chances.evidence and basis.keys() <= {ALL_ACTIONS}:
            basis = {"actions with its words": chances.evidence, **basis}
        return chances, {name: tried for name, tried in basis.items() if tried}

    def _find_instead(self, situation: Situation) -> list[Lesson]:
        """What made the error go away, what fixed the issue, what worked for the task; not the action
        itself, and nothing that deletes where nobody speaks of deleting.
        """
        described = self._issue.description if self._issue else ""
        asked = "\n".join((self._action, situation.task, self._error or "", described))
        lines: dict[str, Lesson] = {}
        for lesson in self._find_lessons(situation):
            same = same_action(lesson.action)
            unasked = lesson.kind == "way" and deletes_without_order(lesson.action, asked)
            if same != same_action(self._action) and not unasked:
                lines.setdefault(same, lesson)
            if len(lines) == _INSTEAD_MAX:
                break  # what comes after is not looked for
        return list(lines.values())

    def _find_lessons(self, situation: Situation) -> Iterator[Lesson]:
        known = self._finder.find_solutions(situation)
        yield from (one for one in known if one.helped or one.kind == "way")
        if self._issue:
            yield from self._find_fixes(self._issue)
        if situation.task and not self._error:
            yield from self._finder.find_ways(situation.task)

    def _find_fixes(self, issue: Issue) -> Iterator[Lesson]:
        """What fixed the issue; of others of its type, what was run: it may help here, and words about
        it do not.
        """
        usual = self._knowledge.fix_odds(issue).p_success
        places = (("signature", generate_issue_signature(issue)), ("type", issue.issue_type))
        for scope, key in places:
            best = self._knowledge.strategies(scope, key, usual, CANDIDATES, successful=True)
            for one in by_turns(best, _find_only_source):
                if one.fix_commands or (one.analysis and scope == "signature"):
                    yield one.as_lesson(issue.description)


def _find_only_source(strategy: Strategy) -> str | None:
    """Who alone says so; None where several do, or somebody vouches for it."""
    return strategy.sources[0] if len(strategy.sources) == 1 and not strategy.vouched else None
