"""Rules, mistake cards and scores of tasks, read from what episodes report, from what was adopted, and
from rules that an LLM wrote down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from hardwon import limits
from hardwon.lessons.adopted import TRAINING_MEMORY, TrainingMemory, read_training_memory
from hardwon.lessons.counts import find_reported_rules, is_echo, list_rule_ids
from hardwon.lessons.keys import episode_key, exact_key
from hardwon.lessons.lesson import Lesson
from hardwon.lessons.rules import (
    STATE_ORDER,
    Card,
    Rule,
    RuleKind,
    Support,
    Thresholds,
    Weighed,
    gather_cards,
    gather_rules,
    join_tasks,
    make_card,
    make_written_rule,
    rank_cards,
    weigh_rules,
)
from hardwon.lessons.sources import by_turns, few_of_each
from hardwon.lessons.teaching import lesson_key
from hardwon.memory.lessons import LessonFinder
from hardwon.memory.project import Project
from hardwon.memory.tallies import (
    COMPARED_MAX,
    CONSIDERED_MAX,
    LOOKED_INTO_MAX,
    keep_kind,
    read_once,
)
from hardwon.records.fields import is_derived
from hardwon.records.kinds import Adopted, Decision, Episode, R
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.trust.lifecycle import least

# Rules in a context that nothing has borne out yet, the newest: as many mistakes as training memory
# showed. More where there are few others.
NEW_RULES_IN_CONTEXT_MAX: Final = 3

# Times as many lessons as are shown: for those that a source has no room left for.
CONSIDERED: Final = 4

# Episodes that the rules of a task are read from: each author's newest before any one's second.
_EPISODES_READ_MAX: Final = 1_000

_EPISODE: Final = Filters(kind="episode")
_RULE_KINDS: Final[tuple[RuleKind, ...]] = ("works", "avoid")


class RuleReading:
    """What is known of the tasks of one project. Made anew for every question."""

    def __init__(self, project: Project) -> None:
        self._opened, self._store, self.project = project, project.store, project.name
        self.today = project.today

    @read_once
    def has_one_source(self, scope: str) -> bool:
        """Whether no more than one source taught anything in a scope."""
        return self._store.has_one_source(self.project, scope)

    def _newest(self, filters: Filters, kind: type[R], limit: int = COMPARED_MAX) -> list[R]:
        return keep_kind(kind, self._store.page(self.project, filters, None, limit, trusted=True))

    @read_once
    def episodes(self, task_id: str) -> list[Episode]:
        """Those that report about a task, each author's newest."""
        keys, most = [episode_key(task_id)], _EPISODES_READ_MAX
        hits = self._store.by_key(self.project, keys, _EPISODE, most, in_turns=True)
        return [episode for episode in keep_kind(Episode, hits) if not is_echo(episode)]

    def task_episodes(self, task_id: str) -> list[Episode]:
        """Those at the task itself, oldest first."""
        own = [episode for episode in self.episodes(task_id) if episode.task_id == task_id]
        return sorted(own, key=lambda episode: (episode.at_us, episode.id))

    def list_tasks(self, limit: int) -> list[str]:
        """Those with the most episodes."""
        most = self._store.list_frequent(self.project, "episode", limit + 1)
        return [task for task in most if task][:limit]  # under "" all are counted

    def count_episodes(self, task_id: str) -> int:
        """How many there are at a task, however many are read."""
        return sum(sum(day.levels) for day in self._store.daily(self.project, "episode", task_id))

    @read_once
    def memories(self) -> list[tuple[Adopted, TrainingMemory]]:
        """The training memories that were adopted."""
        adopted = self.adopted(TRAINING_MEMORY, LOOKED_INTO_MAX)
        read = ((record, read_training_memory(record)) for record in adopted)
        return [(record, memory) for record, memory in read if memory]

    def adopted(self, origin: str, limit: int) -> list[Adopted]:
        """What came from one sort of store and was neither archived nor rolled back, the newest
        first.
        """
        keys, filters = [exact_key("adopted", origin)], Filters(kind="adopted")
        hits = self._store.by_key(self.project, keys, filters, limit)
        return keep_kind(Adopted, hits)

    @read_once
    def weighed_rules(self, task_id: str) -> list[Weighed]:
        """What the task's own episodes say, and what was adopted about it, but for what people called
        wrong.
        """
        return self._keep_valid(self._weigh_task(task_id))

    @read_once
    def _weigh_task(self, task_id: str) -> list[Weighed]:
        episodes = self.task_episodes(task_id)
        last_us = episodes[-1].at_us if episodes else 0
        # without those that were adopted: a file must not decide what is good here
        own = [episode for episode in episodes if not is_derived(episode.id)]
        sources = len({episode.said_by for episode in own})
        thresholds = Thresholds.read([episode.score for episode in own], sources)
        weighed: list[Weighed] = []
        for kind in _RULE_KINDS:
            supports = gather_rules(kind, task_id, episodes, self.memories())
            weighed += weigh_rules(kind, task_id, supports, thresholds, self.today, last_us)
        return weighed

    @read_once
    def _weighed_claims(self, task_id: str | None) -> list[Weighed]:
        """Adopted rules that stand for themselves: for no task in particular, and texts that say
        neither what works nor what to avoid. Without those that the task has as rules of its own.
        """
        if not self.memories():
            return []
        own = self.weighed_rules(task_id) if task_id else []
        shown = {rule.rule.id for rule in own}
        places: list[tuple[RuleKind, str | None]] = [("written", task_id)] if task_id else []
        weighed: list[Weighed] = []
        for kind, task in (*((kind, None) for kind in (*_RULE_KINDS, "written")), *places):
            supports = gather_rules(kind, task, (), self.memories())
            weighed += weigh_rules(kind, task, supports, Thresholds(), self.today)
        return self._keep_valid(one for one in weighed if one.rule.id not in shown)

    def _keep_valid(self, weighed: Iterable[Weighed]) -> list[Weighed]:
        """Those that nobody called wrong."""
        rules = list(weighed)
        verdicts = LessonFinder(self._opened).find_verdicts([one.rule.id for one in rules])
        return [one for one in rules if verdicts.get(one.rule.id) != "wrong"]

    def rules(self, task_id: str | None, state: str | None, limit: int) -> list[Rule]:
        """Those of the project, and of a task, where it is named: active ones first. `state` asks
        for one of the states alone.
        """
        own = [] if task_id is None else self.weighed_rules(task_id)
        rules = [*self._project_rules(), *self._written_rules(task_id)]
        for weighed in (own, self._weighed_claims(task_id)):
            wanted = [rule for rule in weighed if state in (None, rule.rule.state)]
            wanted.sort(key=lambda rule: rule.order)
            ordered = by_turns(wanted, lambda rule: rule.support.only_source)
            rules += [rule.rule for rule in ordered[:limit]]
        rules = [rule for rule in rules if state in (None, rule.state)]
        rules.sort(key=lambda rule: -rule.helpful)
        ranked = by_turns(rules, lambda rule: rule.only_source)
        ranked.sort(key=lambda rule: (STATE_ORDER[rule.state], rule.task_id is None))
        return ranked[:limit]

    def _written_rules(self, task_id: str | None) -> Iterator[Rule]:
        """Rules that an LLM wrote down, but for those that were read from nothing but records of
        sources that were rolled back.
        """
        written = keep_kind(Decision, self._store.decisions(self.project, ["rule"], task_id))
        rolled_back = self._store.rolled_back(self.project) if written else set()
        for decision in written:
            if decision.task_id not in (None, task_id):
                continue
            known = list(readable(self._store.get_many(self.project, decision.evidence)))
            tainted = [record for record in known if record.said_by in rolled_back]
            if not known or len(tainted) < len(known):
                # What the words rest on, and the words themselves, may both be doubted.
                trust = least(record.metadata.validation.status for record in (decision, *known))
                yield make_written_rule(decision, tainted=bool(tainted), trust=trust)

    @read_once
    def _project_rules(self) -> list[Rule]:
        """What holds for the whole project: several tasks say it, several sources, and somebody vouches
        for an episode that shows it.
        """
        vouched = keep_kind(Episode, self._store.vouched_episodes(self.project, CONSIDERED_MAX))
        ids = dict.fromkeys(chain.from_iterable(map(list_rule_ids, vouched)))
        keys = [lesson_key(name) for name in islice(ids, CONSIDERED_MAX)]
        hits = self._store.by_key(self.project, keys, _EPISODE, CONSIDERED_MAX, in_turns=True)
        tasks: dict[str, set[str]] = defaultdict(set)
        for episode in keep_kind(Episode, hits):
            for name in list_rule_ids(episode):
                tasks[name].add(episode.task_id)
        several = [name for name in ids if len(tasks[name]) >= limits.PROOFS_MIN]
        several.sort(key=lambda name: (-len(tasks[name]), name))
        rules = (self._join_tasks(name, sorted(tasks[name])) for name in several[:LOOKED_INTO_MAX])
        return [rule for rule in rules if rule]

    def _join_tasks(self, rule_id: str, tasks: Sequence[str]) -> Rule | None:
        rules = chain.from_iterable(map(self.weighed_rules, tasks[:LOOKED_INTO_MAX]))
        return join_tasks([weighed for weighed in rules if weighed.rule.id == rule_id])

    def find_rules(self, lesson_ids: Iterable[str]) -> Iterator[Lesson]:
        """The rules with these ids, whatever people say of them, as the task has them where an episode
        said them last.
        """
        for name in lesson_ids:
            hits = self._store.by_key(self.project, [lesson_key(name)], _EPISODE, 1)
            for episode in keep_kind(Episode, hits):
                rules = self._weigh_task(episode.task_id)
                yield from (one.rule.as_lesson() for one in rules if one.rule.id == name)

    def new_rules(self, task_id: str, limit: int) -> list[Rule]:
        """What was said last of a task and too seldom yet to be judged, the newest first, what was
        only adopted last. Some more than `limit`, no source having more than that alone: who shows
        them may have no room for a source's second.
        """
        known = *self.weighed_rules(task_id), *self._weighed_claims(task_id)
        waiting = [rule for rule in known if rule.is_new]
        waiting.sort(key=lambda rule: (rule.support.only_claimed, *rule.newest_first))
        allowed = few_of_each(waiting, lambda rule: rule.support.only_source, limit)
        return [weighed.rule for weighed in islice(allowed, CONSIDERED * limit)]

    def list_doubtful(self, episode: Episode, besides: Iterable[Rule]) -> list[str]:
        """What an episode says beside these rules, as far as nobody can tell yet whether it
        holds, and nobody said that it does not.
        """
        open_rules = [one.rule.id for one in self.weighed_rules(episode.task_id) if one.is_new]
        unsaid_ids = set(open_rules) - {rule.id for rule in besides}
        judged = {
            report.words
            for weighed in self._weigh_task(episode.task_id)
            if weighed.rule.id not in unsaid_ids
            for report in weighed.support.episodes
        }
        lines = []
        for kind, name in (("avoid", "mistake"), ("works", "success")):
            texts = find_reported_rules(episode, kind).values()
            unsaid = [f"{name}: {text}" for text in texts if text not in judged]
            lines += unsaid[:NEW_RULES_IN_CONTEXT_MAX]
        return lines

    def cards(self, task_id: str | None, limit: int) -> list[Card]:
        """Of a task, or of the newest episodes at any; types take turns."""
        return list(map(make_card, self._ranked_cards(task_id)[:limit]))

    def cards_to_show(self, task_id: str, limit: int) -> list[Card]:
        """Some more than `limit`, as with `new_rules`."""
        ranked = self._ranked_cards(task_id)
        allowed = few_of_each(ranked, lambda card: card.only_source, limit)
        return list(map(make_card, islice(allowed, CONSIDERED * limit)))

    def _ranked_cards(self, task_id: str | None) -> list[Support]:
        episodes = (
            self.episodes(task_id) if task_id else self._newest(_EPISODE, Episode, CONSIDERED_MAX)
        )
        return rank_cards(gather_cards(task_id, episodes, self.memories()), self.today)

    def own_scores(self, task_id: str) -> list[float]:
        """Without those of adopted episodes."""
        episodes = self.task_episodes(task_id)
        return [episode.score for episode in episodes if not is_derived(episode.id)]

    def last_episode(self, task_id: str) -> Episode | None:
        """The newest that was recorded here; where there is none, the newest that was adopted."""
        episodes = self.task_episodes(task_id)
        own = (episode for episode in reversed(episodes) if not is_derived(episode.id))
        return next(own, episodes[-1] if episodes else None)
