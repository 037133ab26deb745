"""Putting the memory's knowledge in order. Every change is a decision: a record of its own, in effect until it is undone.

Reads first, then one short transaction; a decision that was ever made, undone ones included, is not made again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from hardwon import limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.fields import new_id
from hardwon.knowledge import Knowledge, in_effect
from hardwon.learn import distil
from hardwon.learn.consolidation import merged_items, near_duplicates, opposite_outcomes, opposite_rules
from hardwon.learn.lessons import DAY_US, decision_key
from hardwon.learn.rules import Weighed, holds_for_project
from hardwon.model import AnyRecord, Decision, Episode, Metadata, Moment, Source, Status, Validation
from hardwon.outside.llm import Llm
from hardwon.recall.filters import Filters
from hardwon.reports import Consolidation
from hardwon.store.contract import Store
from hardwon.store.rows import record_of, row_of

Prepare = Callable[[Decision], Decision]
Texts = dict[str, dict[str, str]]
"""The wording of each rule, by kind and item."""

STATE: Final = "episodes at the last consolidation"
BY: Final = "consolidation"


def decide(
    action: Literal["rule", "merge", "promote", "retire", "contradiction", "rollback"],
    at: datetime,
    by: str,
    status: Status = "verified",
    **fields: Any,
) -> Decision:
    """A decision of this memory's own. `verified` puts it in effect."""
    metadata = Metadata(source=Source(author=by), context=Moment(timestamp=at), validation=Validation(status=status))
    return Decision(id=new_id(at), action=action, metadata=metadata, **fields)


def is_due(store: Store, project: str, every: int) -> bool:
    """Whether so many episodes came in since the last time. Says so once: whoever asks next is told no."""
    episodes = sum(sum(counted.levels) for counted in store.daily(project, "episode", ""))
    with store.write() as writer:
        due = episodes - writer.state(project, STATE) >= every
        if due:
            writer.set_state(project, STATE, episodes)
    return due


@dataclass
class Drafts:
    """What a consolidation is about to decide."""

    at: datetime
    by: str
    decisions: list[Decision] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, action: Any, status: Status = "verified", **fields: Any) -> None:
        self.decisions.append(decide(action, self.at, self.by, status, **fields))


def consolidate(
    store: Store,
    project: str,
    knowledge: Knowledge,
    prepare: Prepare,
    at: datetime,
    llm: Llm | None,
    *,
    newest: int = limits.CONSOLIDATED_RECORDS_MAX,
    notes: Sequence[str] = (),
) -> Consolidation:
    """Merges near-duplicate rules, links contradictions, promotes what holds for the whole project, retires what nobody has
    seen for long, and, with an LLM, writes down the rules it finds. Looks at the `newest` records, and, when that is as many
    as it may be, at the tasks with the most episodes besides theirs."""
    drafts = Drafts(at, BY, notes=list(notes))
    stored = store.page(project, Filters(), None, min(newest, limits.CONSOLIDATED_RECORDS_MAX))
    untrusted = store.rolled_back(project)
    recent = [record for record in map(record_of, stored) if _counts(record, untrusted)]
    tasks = dict.fromkeys(record.task_id for record in recent if isinstance(record, Episode))
    thorough = newest >= limits.CONSOLIDATED_RECORDS_MAX
    if thorough:
        tasks |= dict.fromkeys(store.most_counted(project, "score", limits.TASKS_CONSIDERED_MAX))
    considered = list(tasks)[: limits.TASKS_CONSIDERED_MAX if thorough else limits.TASKS_AT_ONCE_MAX]
    vouched = store.vouched_items(project)
    elsewhere = store.most_counted(project, "score", limits.TASKS_CONSIDERED_MAX) if vouched else []
    everywhere = dict.fromkeys([*considered, *elsewhere])
    for task in considered:
        weighed, texts = _consolidate_task(task, knowledge, drafts)
        proven = [each for each in weighed if (each.kind, each.support.item) in vouched]
        _promote(proven, texts, everywhere, knowledge, drafts)
    for older, newer in opposite_outcomes(recent, limits.CONTRADICTIONS_MAX):
        drafts.add(
            "contradiction",
            target=older.id,
            replacement=newer.id,
            evidence=[older.id, newer.id],
            reason="the same situation, opposite outcomes",
        )
    if llm is not None:
        _ask(llm, [record for record in recent if isinstance(record, Episode)], drafts)
    made = _keep(store, project, prepare, drafts.decisions)

    def of(action: str) -> list[Decision]:
        return [decision for decision in made if decision.action == action]

    return Consolidation(of("merge"), of("contradiction"), of("promote"), of("retire"), of("rule"), drafts.notes)


def _counts(record: AnyRecord, untrusted: set[str]) -> bool:
    return record.metadata.validation.status != "archived" and record.metadata.source.author not in untrusted


def _consolidate_task(task: str, knowledge: Knowledge, drafts: Drafts) -> tuple[list[Weighed], Texts]:
    """What concerns one task alone; its rules and their wording, for what concerns others too."""
    decisions = knowledge.decisions(task)
    same = merged_items(each for each in decisions if each.task_id == task and in_effect(each))
    weighed = knowledge.weighed_rules(task, decisions)[: limits.RULES_COMPARED_MAX]
    texts: Texts = {"works": {}, "avoid": {}}
    for each in weighed:
        text = knowledge.worded(each, same)
        if text:
            texts[each.kind][each.support.item] = text
    for kind in texts:
        for kept, duplicate in near_duplicates(texts[kind]):
            reason = f"nearly the same words: {texts[kind][kept]!r} and {texts[kind][duplicate]!r}"
            drafts.add("merge", task_id=task, target=duplicate, replacement=kept, reason=reason)
    _link_opposite_rules(task, weighed, texts, drafts)
    _retire(task, weighed, texts, knowledge.today, drafts)
    return weighed, texts


def _link_opposite_rules(task: str, weighed: Sequence[Weighed], texts: Texts, drafts: Drafts) -> None:
    evidence = {(each.kind, each.support.item): each.support.evidence[0] for each in weighed}
    for works, avoid in opposite_rules(texts["works"], texts["avoid"]):
        drafts.add(
            "contradiction",
            task_id=task,
            target=works,
            replacement=avoid,
            evidence=[evidence["works", works], evidence["avoid", avoid]],
            reason=f"reported as what works and as a mistake: {texts['works'][works]!r} and {texts['avoid'][avoid]!r}",
        )


def _promote(weighed: Sequence[Weighed], texts: Texts, tasks: Iterable[str], knowledge: Knowledge, drafts: Drafts) -> None:
    for each in weighed:
        text = texts[each.kind].get(each.support.item)
        if each.state != "active" or not text:
            continue
        everywhere = knowledge.across_tasks(each.kind, each.support.item, tasks)
        if holds_for_project(everywhere):
            drafts.add(
                "promote",
                target=f"{each.kind}:{each.support.item}",
                text=text,
                tasks=sorted({other.task_id for other in everywhere if other.state == "active"}),
                evidence=sorted({found for other in everywhere for found in other.support.evidence})[: limits.ITEMS_MAX],
            )


def _retire(task: str, weighed: Sequence[Weighed], texts: Texts, today: int, drafts: Drafts) -> None:
    for each in weighed:
        last_day = each.support.last_us // DAY_US
        if each.state != "retired" and today - last_day > limits.RULE_UNUSED_DAYS:
            text = texts[each.kind].get(each.support.item, "")
            reason = f"no episode showed it for {today - last_day} days"
            drafts.add("retire", task_id=task, target=each.support.item, replacement=str(last_day), text=text, reason=reason)


def _ask(llm: Llm, episodes: Sequence[Episode], drafts: Drafts) -> None:
    """Rules in an LLM's words: candidates, with the episodes they were read from."""
    if not episodes:
        drafts.notes.append("the LLM was not asked: there are no episodes yet")
        return
    shown = sorted(episodes, key=lambda episode: (episode.at_us, episode.id))[-limits.LLM_EPISODES_MAX :]
    try:
        found = distil.rules_from(llm.complete(*distil.request(shown)))
    except (LlmError, InvalidInputError) as error:
        drafts.notes.append(f"the LLM was of no use, the rest was done without it: {error}")
        return
    tasks = {episode.task_id for episode in shown}
    task = tasks.pop() if len(tasks) == 1 else None
    for text in found:
        evidence = [episode.id for episode in shown]
        drafts.add("rule", "hypothesis", task_id=task, text=text, evidence=evidence, reason=f"written by {llm!r}"[:200])
    drafts.notes.append(f"the LLM wrote {len(found)} rules from {len(shown)} episodes; they are candidates until verified")


def _keep(store: Store, project: str, prepare: Prepare, drafts: Sequence[Decision]) -> list[Decision]:
    distinct = {decision_key(decision): decision for decision in map(prepare, drafts)}
    if not distinct:
        return []
    with store.write() as writer:
        known = writer.known_keys(project, distinct)
        made = [decision for key, decision in distinct.items() if key not in known]
        writer.append([row_of(decision) for decision in made])
    return made
