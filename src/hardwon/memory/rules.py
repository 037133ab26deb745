"""Rules, mistake cards and scores of tasks, read from what episodes were counted as and from
decisions. Texts are looked up last, and only for what is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import Final

from hardwon import limits
from hardwon.first_use import lazy
from hardwon.lessons.adopted import (
    TrainingMemory,
    read_training_memory,
    word_adopted_card,
    word_adopted_rule,
)
from hardwon.lessons.counts import Tally
from hardwon.lessons.evidence import Evidence, gather
from hardwon.lessons.keys import exact_key, rule_key
from hardwon.lessons.rules import (
    STATE_ORDER,
    Card,
    Rule,
    RuleKind,
    Thresholds,
    Weighed,
    holds_for_project,
    make_card,
    make_project_rule,
    make_rule,
    make_written_rule,
    merge_items,
    rank_cards,
    weigh,
    word_card,
    word_rule,
)
from hardwon.lessons.scores import TASKS_CONSIDERED_MAX, ScoreHistory, make_history
from hardwon.lessons.sources import by_turns, few_of_each
from hardwon.memory.tallies import LOOKED_INTO_MAX, TallyReading, keep_kind, read_once
from hardwon.records.fields import is_derived
from hardwon.records.kinds import Action, Adopted, AnyRecord, Decision, Episode, MistakeCard
from hardwon.search.terms import Filters
from hardwon.trust.lifecycle import least

# Rules in a context that nothing has borne out yet, the newest: as many mistakes as training memory
# showed. More where there are few others.
NEW_RULES_IN_CONTEXT_MAX: Final = 3

# Decisions that change which rules there are.
RULE_ACTIONS: Final[tuple[Action, ...]] = ("rule", "merge", "promote", "retire")
_RULE_KINDS: Final[tuple[RuleKind, ...]] = ("works", "avoid")
WRITTEN: Final[RuleKind] = "written"

# Times as many lessons as are shown: for those that a source has no room left for.
CONSIDERED: Final = 4

# The newest scores of a task that its history lists, and its trend is computed from.
_SCORES_SHOWN_MAX: Final = 100


class RuleReading(TallyReading):
    """What is known of tasks."""

    @read_once
    def decisions(self, actions: tuple[Action, ...], task_id: str | None) -> list[Decision]:
        """Of a task and of the whole project (None: of every task), newest first."""
        return keep_kind(Decision, self._store.decisions(self.project, actions, task_id))

    def undone_merges(self, task_id: str) -> list[tuple[str, str]]:
        """Lessons of a task that were merged once, and told apart again."""
        stored = self._store.decisions(self.project, ["merge"], task_id, undone=True)
        merges = keep_kind(Decision, stored)
        return [(merge.target, merge.replacement) for merge in merges if merge.task_id == task_id]

    def adopted(self, origin: str, limit: int) -> list[Adopted]:
        """What came from one sort of store and was neither archived nor rolled back, the newest
        first.
        """
        keys, filters = [exact_key("adopted", origin)], Filters(kind="adopted")
        hits = self._store.by_key(self.project, keys, filters, limit)
        return keep_kind(Adopted, hits)

    def _own_decisions(self, task_id: str | None) -> list[Decision]:
        """About the rules of this very task, in effect."""
        made = self.decisions(RULE_ACTIONS, task_id)
        return [one for one in made if one.task_id == task_id and one.in_effect]

    @read_once
    def merged_rules(self, task_id: str | None) -> Mapping[str, str]:
        """The rules of a task that were merged, each with the one that stands for it."""
        return merge_items(self._own_decisions(task_id))

    @read_once
    def weighed_rules(self, task_id: str) -> list[Weighed]:
        """What the task's own episodes say, and what was adopted about it, without texts."""
        same = self.merged_rules(task_id)
        # For every retired lesson the last day it had been seen by then: evidence of a later day
        # brings it back.
        days = sorted(
            (int(decision.replacement), decision.target)
            for decision in self._own_decisions(task_id)
            if decision.action == "retire" and decision.replacement.isdecimal()
        )
        retired = {target: day for day, target in days}
        thresholds = self._thresholds(task_id)
        weighed: list[Weighed] = []
        for kind in _RULE_KINDS:
            supports = gather(self._all(kind, task_id), same)
            self._add_claims(supports, kind, task_id, same)
            weighed += weigh(kind, task_id, supports.values(), thresholds, retired, self.today)
        return weighed

    def _add_claims(
        self, supports: dict[str, Evidence], kind: str, key: str, same: Mapping[str, str]
    ) -> None:
        """What was adopted about a task ("": about none in particular), beside what is known."""
        now_us = (self.today + 1) * limits.DAY_US - 1
        for claim in self._all(f"claim.{kind}", key):
            item = same.get(claim.item, claim.item)
            # nothing that was adopted is newer than today, whatever its file says
            last_us = min(claim.last_us, now_us)
            supports.setdefault(item, Evidence(item)).claim(claim._replace(last_us=last_us))

    def _weighed_claims(self, task_id: str | None, known: Iterable[Weighed]) -> list[Weighed]:
        """Adopted rules that stand for themselves: for no task in particular, and texts that say
        neither what works nor what to avoid. Without those that the task has as rules of its own.
        """
        shown = {(rule.kind, rule.support.item) for rule in known}
        places: list[tuple[RuleKind, str | None]] = [(WRITTEN, task_id)] if task_id else []
        places = [*((kind, None) for kind in (*_RULE_KINDS, WRITTEN)), *places]
        weighed: list[Weighed] = []
        for kind, task in places:
            supports: dict[str, Evidence] = {}
            self._add_claims(supports, kind, task or "", {})
            new = [one for item, one in supports.items() if (kind, item) not in shown]
            weighed += weigh(kind, task, new, Thresholds(), {}, self.today)
        return weighed

    def _thresholds(self, task_id: str) -> Thresholds:
        own = self._own_scores(task_id)
        thresholds = Thresholds.read(own.levels if own.records else [])
        return replace(thresholds, sources=len(own.authors))

    @read_once
    def _own_scores(self, task_id: str) -> Evidence:
        """Without those of adopted episodes: a file must not decide what is good here. An author's
        day counts as adopted if the last of its episodes was.
        """
        own = (tally for tally in self._all("score", task_id) if not is_derived(tally.last_id))
        return gather(own).get("", Evidence(""))

    def find_words(self, weighed: Weighed, same: Mapping[str, str]) -> str | None:
        """The rule in the words of an episode that shows it; None where none can be read."""
        own = weighed.support.item
        items = {own, *(item for item, leader in same.items() if leader == own)}

        def read(record: AnyRecord) -> str | None:
            """Its words there."""
            if isinstance(record, Adopted) and (memory := self._read_memory(record)):
                return word_adopted_rule(memory, weighed.task_id, weighed.kind, items)
            return word_rule(record, weighed.kind, items) if isinstance(record, Episode) else None

        return self.read_first(weighed.support.sample_ids, read)

    def _read_memory(self, record: Adopted) -> TrainingMemory | None:
        key = (read_training_memory, record.id)
        if key not in self._kept:
            self._kept[key] = read_training_memory(record)
        memory: TrainingMemory | None = self._kept[key]
        return memory

    @lazy
    def _rolled_back(self) -> set[str]:
        return self._store.rolled_back(self.project)

    @read_once
    def rules(self, task_id: str | None, state: str | None, limit: int) -> list[Rule]:
        """Those of the project, and of a task, where it is named: active ones first. `state` asks
        for one of the states alone.
        """
        decisions = self.decisions(RULE_ACTIONS, task_id)
        rules = [*self._project_rules(decisions), *self._written_rules(decisions, task_id)]
        own = [] if task_id is None else self.weighed_rules(task_id)
        claimed = self._weighed_claims(task_id, own)
        last = STATE_ORDER.get(state or "", len(STATE_ORDER))  # later ones displace nobody
        for weighed, same in ((own, self.merged_rules(task_id)), (claimed, {})):
            wanted = [rule for rule in weighed if STATE_ORDER[rule.state] <= last]
            wanted.sort(key=attrgetter("order"))
            ordered = by_turns(wanted, lambda rule: rule.support.only_source)
            rules += self._worded_rules(ordered, same, state, limit)
        rules = [rule for rule in rules if state in (None, rule.state)]
        rules.sort(key=lambda rule: -rule.helpful)
        ranked = by_turns(
            rules,
            lambda rule: rule.sources[0] if len(rule.sources) == 1 and not rule.vouched else None,
        )
        ranked.sort(key=lambda rule: (STATE_ORDER[rule.state], rule.task_id is None))
        return [self._trusted_as_far(rule) for rule in ranked[:limit]]

    def _written_rules(self, decisions: Iterable[Decision], task_id: str | None) -> Iterable[Rule]:
        """Rules that an LLM wrote down, but for those that were read from nothing but records of
        sources that were rolled back.
        """
        for decision in decisions:
            if decision.action != "rule" or decision.task_id not in (None, task_id):
                continue
            known = [record for record in map(self.record, decision.evidence) if record]
            tainted = [record for record in known if record.said_by in self._rolled_back]
            if not known or len(tainted) < len(known):
                # What the words rest on, and the words themselves, may both be doubted.
                trust = least(record.metadata.validation.status for record in (decision, *known))
                yield make_written_rule(decision, tainted=bool(tainted), trust=trust)

    def _trusted_as_far(self, rule: Rule) -> Rule:
        """Counts tell that somebody vouches for all of a rule's episodes; whether all are
        published, only they do.
        """
        if rule.trust != "verified" or rule.kind == WRITTEN or rule.episodes > len(rule.evidence):
            return rule
        known = [record for record in map(self.record, rule.evidence) if record]
        return replace(rule, trust=least(record.metadata.validation.status for record in known))

    def new_rules(self, task_id: str, limit: int) -> list[Rule]:
        """What was said last of a task and too seldom yet to be judged, the newest first, what was
        only adopted last. Some more than `limit`, no source having more than that alone: who shows
        them may have no room for a source's second.
        """
        own = self.weighed_rules(task_id)
        waiting = [rule for rule in (*own, *self._weighed_claims(task_id, own)) if rule.is_new]
        waiting.sort(key=lambda rule: (rule.support.only_claimed, *rule.newest_first))
        allowed = few_of_each(waiting, lambda rule: rule.support.only_source, limit)
        same = self.merged_rules(task_id)
        return self._worded_rules(allowed, same, "candidate", CONSIDERED * limit)

    def list_doubtful(self, episode: Episode, besides: Iterable[Rule]) -> list[str]:
        """What an episode says beside these rules, as far as nobody can tell yet whether it
        holds.
        """
        same = self.merged_rules(episode.task_id)
        weighed = self.weighed_rules(episode.task_id)
        judged = {(rule.kind, rule.support.item) for rule in weighed if not rule.is_new}
        judged |= {(rule.kind, rule.id) for rule in besides}
        lines = []
        for kind, name, texts in (
            ("avoid", "mistake", episode.mistakes),
            ("works", "success", episode.successes),
        ):
            keyed = {rule_key(text, kind): text for text in texts[: limits.LESSONS_PER_RECORD_MAX]}
            unsaid = [
                f"{name}: {text}"
                for item, text in keyed.items()
                if item and (kind, same.get(item, item)) not in judged
            ]
            lines += unsaid[:NEW_RULES_IN_CONTEXT_MAX]
        return lines

    def _worded_rules(
        self, weighed: Iterable[Weighed], same: Mapping[str, str], state: str | None, limit: int
    ) -> list[Rule]:
        """As many as are wanted of those that can be put into words, in the order given."""
        wanted = [rule for rule in weighed if state in (None, rule.state)]
        self.read_ahead(name for rule in wanted[:limit] for name in rule.support.sample_ids[:1])
        texts = ((rule, self.find_words(rule, same)) for rule in wanted)
        return list(islice((make_rule(rule, text) for rule, text in texts if text), limit))

    def _project_rules(self, decisions: Iterable[Decision]) -> Iterable[Rule]:
        """What was promoted, as far as it still holds."""
        promoted = defaultdict[str, set[str]](set)
        for decision in decisions:
            if decision.action == "promote" and decision.in_effect:
                promoted[decision.target].update(decision.tasks)
        ordered = sorted(promoted, key=lambda target: (-len(promoted[target]), target))
        for target in ordered[:LOOKED_INTO_MAX]:
            kind: RuleKind = "works" if target.startswith("works:") else "avoid"
            tasks = sorted(promoted[target])[:LOOKED_INTO_MAX]
            supports = self.across_tasks(kind, target.partition(":")[2], tasks)
            if holds_for_project(supports):
                texts = (self.find_words(one, {}) for one in supports)
                if text := next(filter(None, texts), None):
                    yield make_project_rule(supports, text)

    def across_tasks(self, kind: RuleKind, item: str, tasks: Iterable[str]) -> list[Weighed]:
        """What several tasks say about one lesson; nothing of those that never met it."""
        weighed: list[Weighed] = []
        for task in tasks:
            tallies: list[Tally] = self._store.tallies_of_items(self.project, kind, task, [item])
            if tallies:
                supports = gather(tallies).values()
                weighed += weigh(kind, task, supports, self._thresholds(task), {}, self.today)
        return weighed

    def cards(self, task_id: str | None, limit: int) -> list[Card]:
        """Of a task, or of the tasks with the most of them; types take turns."""
        return list(islice(self._word_cards(self._ranked_cards(task_id)), limit))

    def cards_to_show(self, task_id: str, limit: int) -> list[Card]:
        """Some more than `limit`, as with `new_rules`."""
        ranked = self._ranked_cards(task_id)
        allowed = few_of_each(ranked, lambda card: card.only_source, limit)
        return list(islice(self._word_cards(allowed), CONSIDERED * limit))

    def _ranked_cards(self, task_id: str | None) -> list[Evidence]:
        if task_id is not None:
            return rank_cards(self._card_supports(task_id), self.today)
        most, count = TASKS_CONSIDERED_MAX, partial(self._store.list_frequent, self.project)
        tasks = islice(dict.fromkeys([*count("card", most), *count("claim.card", most)]), most)
        return rank_cards(chain.from_iterable(map(self._card_supports, tasks)), self.today)

    def _card_supports(self, task: str) -> Iterable[Evidence]:
        own = self.supports("card", task)
        for item, support in self.supports("card.foreign", task).items():
            # what an episode of another task reported is not shown on one unchecked source's word
            if support.vouched or len(support.authors) >= limits.PROOFS_MIN:
                own.setdefault(item, Evidence(item)).add(*support.tallies)
        self._add_claims(own, "card", task, {})
        return own.values()

    def _word_cards(self, supports: Iterable[Evidence]) -> Iterable[Card]:
        for support in supports:

            def read(record: AnyRecord, item: str = support.item) -> MistakeCard | None:
                """The card there."""
                if isinstance(record, Adopted) and (memory := self._read_memory(record)):
                    return word_adopted_card(memory, item)
                return word_card(record, item) if isinstance(record, Episode) else None

            if words := self.read_first(support.sample_ids, read):
                yield make_card(support, words)

    def own_scores(self, task_id: str) -> ScoreHistory:
        """Without those of adopted episodes, and without a trend."""
        return make_history(task_id, self._own_scores(task_id), ())

    def last_episode(self, task_id: str) -> Episode | None:
        """The newest that was recorded here; where there is none, the newest that was adopted."""
        newest = self._own_scores(task_id).newest
        last = self.record(max(newest)[1]) if newest else None
        if isinstance(last, Episode):
            return last
        return next(reversed(self.newest_episodes(task_id)), None)

    @read_once
    def newest_episodes(self, task_id: str) -> list[Episode]:
        """The last ones, oldest first."""
        filters = Filters(kind="episode", task_id=task_id)
        return self._newest(filters, Episode, _SCORES_SHOWN_MAX)[::-1]
