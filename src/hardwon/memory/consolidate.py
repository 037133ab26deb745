"""Putting the memory's knowledge in order. Every change is a decision: a record of its own, in
effect until it is undone.

Reads first, then one short transaction; a decision that is in effect, or was undone, is not made
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from hardwon import limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.learn import prompts as distil
from hardwon.learn.rules import (
    Weighed,
    holds_for_project,
    near_duplicates,
    opposite_outcomes,
    opposite_rules,
    situation_of,
)
from hardwon.learn.tallies import decision_key
from hardwon.memory.knowledge import Knowledge
from hardwon.memory.project import Change, Project, put_in_effect
from hardwon.memory.results import Consolidation
from hardwon.outside.llm import Llm
from hardwon.records.fields import new_id
from hardwon.records.kinds import (
    VOUCHED_STATUSES,
    Action,
    AnyRecord,
    Decision,
    Episode,
    Metadata,
    Moment,
    Source,
)
from hardwon.store.base import row_of
from hardwon.store.query import readable

Texts = dict[str, dict[str, str]]
"""The wording of each rule, by kind and item."""

STATE: Final = "episodes at the last consolidation"
BY: Final = "consolidation"


def decide(action: Action, at: datetime, by: str, **fields: Any) -> Decision:
    """A decision that is not in effect yet."""
    metadata = Metadata(source=Source(author=by), context=Moment(timestamp=at))
    return Decision(id=new_id(at), action=action, metadata=metadata, **fields)


def is_due(project: Project) -> bool:
    """Whether so many episodes came in since the last time. Says so once: whoever asks next is told
    no.
    """
    episodes = sum(
        sum(counted.levels) for counted in project.store.daily(project.name, "episode", "")
    )

    def work(change: Change) -> bool:
        since = episodes - change.writer.state(project.name, STATE)
        # fewer than then: some were forgotten, or a source was rolled back
        if since >= project.consolidate_every or since < 0:
            change.writer.set_state(project.name, STATE, episodes)
        return since >= project.consolidate_every

    return project.carry_out(work)


@dataclass
class Drafts:
    """What a consolidation is about to decide."""

    at: datetime
    decisions: list[Decision] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, action: Action, **fields: Any) -> None:
        self.decisions.append(decide(action, self.at, BY, **fields))


def consolidate_recent(project: Project) -> Consolidation:
    """What is worth while somebody waits: the tasks of the records that came in last, a few of
    them, and of their lessons those that do not hold for the project already.
    """
    newest = min(project.consolidate_every, limits.CONSOLIDATED_RECORDS_MAX)
    recent = list(readable(project.store.last_arrived(project.name, newest)))
    drafts = Drafts(project.now())
    tasks = dict.fromkeys(record.task_id for record in recent if isinstance(record, Episode))
    knowledge = project.knowledge
    promoted = {decision.target for decision in knowledge.decisions(("promote",), None)}
    _consolidate(
        project, knowledge, list(tasks)[: limits.TASKS_AT_ONCE_MAX], recent, drafts, promoted
    )
    return _made(project, drafts)


def consolidate(project: Project, llm: Llm | None, notes: Sequence[str] = ()) -> Consolidation:
    """Everything: also the tasks with the most episodes, and with an LLM the rules it finds in the
    last ones.
    """
    store = project.store
    recent = list(readable(store.last_arrived(project.name, limits.CONSOLIDATED_RECORDS_MAX)))
    drafts = Drafts(project.now(), notes=list(notes))
    tasks = dict.fromkeys(record.task_id for record in recent if isinstance(record, Episode))
    tasks |= dict.fromkeys(store.most_counted(project.name, "score", limits.TASKS_CONSIDERED_MAX))
    considered = list(tasks)[: limits.TASKS_CONSIDERED_MAX]
    _consolidate(project, project.knowledge, considered, recent, drafts, set())
    if llm is not None:
        _ask(llm, [record for record in recent if isinstance(record, Episode)], drafts)
    return _made(project, drafts)


def _consolidate(
    project: Project,
    knowledge: Knowledge,
    tasks: Sequence[str],
    recent: Sequence[AnyRecord],
    drafts: Drafts,
    promoted: set[str],
) -> None:
    """Merges near-duplicate rules, links contradictions, promotes what holds for the project (but
    for what is `promoted` already), retires what nobody sees.
    """
    vouched = project.store.vouched_items(project.name)
    everywhere = list(tasks)
    if vouched:
        most = project.store.most_counted(project.name, "score", limits.TASKS_CONSIDERED_MAX)
        everywhere = list(dict.fromkeys([*tasks, *most]))
    for task in tasks:
        weighed, texts = _consolidate_task(task, knowledge, drafts)
        for each in weighed:
            target = f"{each.kind}:{each.support.item}"
            if (
                each.state == "active"
                and (each.kind, each.support.item) in vouched
                and target not in promoted
            ):
                promoted = promoted | {target}
                _promote(
                    target,
                    each,
                    texts[each.kind].get(each.support.item, ""),
                    everywhere,
                    knowledge,
                    drafts,
                )
    for older, newer in opposite_outcomes(recent, limits.CONTRADICTIONS_MAX):
        drafts.add(
            "contradiction",
            target=situation_of(older),
            evidence=[older.id, newer.id],
            reason="the same situation, opposite outcomes",
        )


def _consolidate_task(
    task: str, knowledge: Knowledge, drafts: Drafts
) -> tuple[list[Weighed], Texts]:
    """What concerns one task alone; its rules and their wording, for what concerns others too."""
    same = knowledge.merged_rules(task)
    weighed = knowledge.weighed_rules(task)[: limits.RULES_COMPARED_MAX]
    texts: Texts = {"works": {}, "avoid": {}}
    for each in weighed:
        text = knowledge.worded(each, same)
        if text:
            texts[each.kind][each.support.item] = text
    apart = knowledge.undone_merges(task)
    for kind in texts:
        for kept, duplicate in near_duplicates(texts[kind], apart):
            reason = f"nearly the same words: {texts[kind][kept]!r} and {texts[kind][duplicate]!r}"
            drafts.add("merge", task_id=task, target=duplicate, replacement=kept, reason=reason)
    _link_opposite_rules(task, weighed, texts, drafts)
    _retire(task, weighed, texts, knowledge.today, drafts)
    return weighed, texts


def _link_opposite_rules(
    task: str, weighed: Sequence[Weighed], texts: Texts, drafts: Drafts
) -> None:
    evidence = {(each.kind, each.support.item): each.support.newest_ids[0] for each in weighed}
    for works, avoid in opposite_rules(texts["works"], texts["avoid"]):
        drafts.add(
            "contradiction",
            task_id=task,
            target=works,
            replacement=avoid,
            evidence=[evidence["works", works], evidence["avoid", avoid]],
            reason=f"reported as what works and as a mistake: {texts['works'][works]!r} and "
            f"{texts['avoid'][avoid]!r}",
        )


def _promote(
    target: str,
    weighed: Weighed,
    text: str,
    tasks: Iterable[str],
    knowledge: Knowledge,
    drafts: Drafts,
) -> None:
    everywhere = knowledge.across_tasks(weighed.kind, weighed.support.item, tasks)
    if text and holds_for_project(everywhere):
        active = [other for other in everywhere if other.state == "active"]
        drafts.add(
            "promote",
            target=target,
            text=text,
            tasks=sorted({other.task_id for other in active}),
            evidence=sorted({found for other in active for found in other.support.newest_ids})[
                : limits.ITEMS_MAX
            ],
        )


def _retire(
    task: str, weighed: Sequence[Weighed], texts: Texts, today: int, drafts: Drafts
) -> None:
    for each in weighed:
        last_day = each.support.last_us // limits.DAY_US
        shown = bool(each.support.tallies)  # what was only adopted no episode has shown yet
        if shown and each.state != "retired" and today - last_day > limits.RULE_UNUSED_DAYS:
            text = texts[each.kind].get(each.support.item, "")
            reason = f"no episode showed it for {today - last_day} days"
            drafts.add(
                "retire",
                task_id=task,
                target=each.support.item,
                replacement=str(last_day),
                text=text,
                reason=reason,
            )


def _ask(llm: Llm, episodes: Sequence[Episode], drafts: Drafts) -> None:
    """Rules in an LLM's words: candidates, with the episodes they were read from."""
    if not episodes:
        drafts.notes.append("the LLM was not asked: there are no episodes yet")
        return
    shown = distil.fitting(episodes)
    try:
        found = ask_for_rules(llm, shown)
    except (LlmError, InvalidInputError) as error:
        drafts.notes.append(f"the LLM was of no use, the rest was done without it: {error}")
        return
    tasks = {episode.task_id for episode in shown}
    task = tasks.pop() if len(tasks) == 1 else None
    # never its repr: that of a caller's own class may hold its key
    name = getattr(llm, "model", None)
    by = name if isinstance(name, str) else type(llm).__name__
    for text in found:
        drafts.add(
            "rule",
            task_id=task,
            text=text,
            evidence=[episode.id for episode in shown],
            reason=f"written by {by}"[: limits.NAME_CHARS_MAX],
        )
    drafts.notes.append(
        f"the LLM wrote {len(found)} rules from {len(shown)} episodes; they are candidates until "
        f"verified"
    )


def ask_for_rules(llm: Llm, shown: Sequence[Episode]) -> list[str]:
    """Rules in a model's words, from these episodes. Raises LlmError or InvalidInputError where it
    is of no use.
    """
    return distil.rules_from(answer_of(llm, *distil.rules_request(shown)))


def answer_of(llm: Llm, system: str, user: str) -> str:
    """What a model answers. Raises LlmError or InvalidInputError where it does not."""
    try:
        reply = llm.complete(system, user)
    except LlmError:
        raise
    except Exception as error:  # noqa: BLE001  # a caller's own object fails in any way it likes, and may say its key
        raise LlmError(f"{type(llm).__name__} raised {type(error).__name__}") from None
    if not isinstance(reply, str):
        raise InvalidInputError.one("reply", type(reply).__name__, "text")
    return reply


def _made(project: Project, drafts: Drafts) -> Consolidation:
    """Keeps what is new of the drafts. A decision that came from a file, and that nobody verified,
    stands in nobody's way; but a rule is a candidate anyway, and need not be written down twice.
    """
    name = project.name
    distinct = {
        decision_key(decision): decision for decision in map(project.prepare, drafts.decisions)
    }

    def work(change: Change) -> list[Decision]:
        decided = change.writer.known_keys(name, distinct, (*VOUCHED_STATUSES, "archived"))
        rules = [key for key in distinct if key.startswith("rule:")]
        written = change.writer.known_keys(name, rules, ("hypothesis",))
        new = [
            decision
            for key, decision in distinct.items()
            if key not in decided | written
            and not (decision.action == "promote" and decision.target in undone)
        ]
        change.writer.append([row_of(decision) for decision in new])
        in_effect = [decision for decision in new if decision.action != "rule"]
        put_in_effect(change.writer, name, in_effect)
        return new

    made: list[Decision] = []
    if distinct:
        # A lesson that somebody did not want for the whole project is not promoted again when
        # another task shows it.
        promoted = project.store.decisions(
            name, ["promote"], None, limits.DECISIONS_MAX, undone=True
        )
        undone = {each.target for each in readable(promoted) if isinstance(each, Decision)}
        made = project.carry_out(work)

    def of(action: Action) -> list[Decision]:
        return [decision for decision in made if decision.action == action]

    return Consolidation(
        of("merge"), of("contradiction"), of("promote"), of("retire"), of("rule"), drafts.notes
    )
