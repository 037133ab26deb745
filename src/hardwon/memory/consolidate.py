"""Putting the memory's knowledge in order. Every change is a decision: a record of its own, in
effect until it is undone.

Reads first, then one short transaction; a decision that is in effect, or was undone, is not made
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hardwon import limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.lessons import prompts
from hardwon.lessons.keys import decision_key
from hardwon.lessons.order import (
    find_near_duplicates,
    find_opposite_outcomes,
    find_opposite_rules,
    situation_key,
)
from hardwon.lessons.rules import Weighed, holds_for_project
from hardwon.lessons.scores import TASKS_CONSIDERED_MAX
from hardwon.memory.fix_lessons import FixReading
from hardwon.memory.project import Change, Project
from hardwon.memory.results import Consolidation
from hardwon.memory.standing import put_in_effect
from hardwon.memory.tallies import COMPARED_MAX, CONSIDERED_MAX, keep_kind
from hardwon.outside.llm import Llm
from hardwon.records.kinds import VOUCHED_STATUSES, Action, AnyRecord, Decision, Episode
from hardwon.store.base import build_row
from hardwon.store.query import readable

# Tasks that a consolidation goes through which runs by itself after an episode, the newest first:
# whoever recorded the episode waits for it.
_TASKS_AT_ONCE_MAX: Final = 5

# The wording of each rule, by kind and item.
Texts = dict[str, dict[str, str]]

STATE: Final = "episodes at the last consolidation"
BY: Final = "consolidation"


def consolidate_when_due(project: Project) -> None:
    """What is worth while somebody waits, where so many episodes came in since the last time: the
    tasks of the records that came in last, a few of them, and of their lessons those that do not
    hold for the project already.
    """
    days = project.store.daily(project.name, "episode", "")
    episodes = sum(sum(day.levels) for day in days)

    def is_due(change: Change) -> bool:
        """Says so once: whoever asks next is told no."""
        since = episodes - change.writer.state(project.name, STATE)
        # fewer than then: some were forgotten, or a source was rolled back
        if since >= project.consolidate_every or since < 0:
            change.writer.set_state(project.name, STATE, episodes)
        return since >= project.consolidate_every

    if project.carry_out(is_due):
        newest = min(project.consolidate_every, CONSIDERED_MAX)
        recent = list(readable(project.store.list_last_arrivals(project.name, newest)))
        tasks = _list_tasks(recent)[:_TASKS_AT_ONCE_MAX]
        promoted = {decision.target for decision in project.knowledge.decisions(("promote",), None)}
        drafts = Drafts(project)
        _consolidate(tasks, recent, drafts, promoted)
        _keep_new(drafts)


@dataclass
class Drafts:
    """What a consolidation is about to decide."""

    project: Project
    decisions: list[Decision] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, action: Action, **fields: Any) -> None:
        self.decisions.append(self.project.decision(action, BY, **fields))


def consolidate(project: Project, llm: Llm | None, notes: Sequence[str] = ()) -> Consolidation:
    """Everything: also the tasks with the most episodes, and with an LLM the rules it finds in the
    last ones.
    """
    store, most = project.store, TASKS_CONSIDERED_MAX
    recent = list(readable(store.list_last_arrivals(project.name, CONSIDERED_MAX)))
    drafts = Drafts(project, notes=list(notes))
    tasks = dict.fromkeys([*_list_tasks(recent), *store.list_frequent(project.name, "score", most)])
    _consolidate(list(tasks)[:most], recent, drafts, set())
    if llm is not None:
        _ask(llm, [record for record in recent if isinstance(record, Episode)], drafts)
    return _keep_new(drafts)


def _list_tasks(records: Iterable[AnyRecord]) -> list[str]:
    return list(dict.fromkeys(record.task_id for record in records if isinstance(record, Episode)))


def _consolidate(
    tasks: Sequence[str], recent: Sequence[AnyRecord], drafts: Drafts, promoted: set[str]
) -> None:
    """Merges near-duplicate rules, links contradictions, promotes what holds for the project (but
    for what is `promoted` already), retires what nobody sees.
    """
    project, knowledge = drafts.project, drafts.project.knowledge
    vouched = project.store.vouched_items(project.name)
    everywhere = list(tasks)
    if vouched:
        most = project.store.list_frequent(project.name, "score", TASKS_CONSIDERED_MAX)
        everywhere = list(dict.fromkeys([*tasks, *most]))
    for task in tasks:
        weighed, texts = _consolidate_task(task, knowledge, drafts)
        for rule in weighed:
            kind, item = rule.kind, rule.support.item
            target = f"{kind}:{item}"
            if rule.state == "active" and (kind, item) in vouched and target not in promoted:
                promoted.add(target)
                shown = knowledge.across_tasks(kind, item, everywhere)
                if item in texts[kind] and holds_for_project(shown):
                    active = [other for other in shown if other.state == "active"]
                    about = sorted({str(other.task_id) for other in active})
                    ids = sorted({name for other in active for name in other.support.newest_ids})
                    what = {"target": target, "text": texts[kind][item], "tasks": about}
                    drafts.add("promote", **what, evidence=ids[: limits.ITEMS_MAX])
    for older, newer in find_opposite_outcomes(recent, limits.PAGE_RECORDS):
        both, reason = [older.id, newer.id], "the same situation, opposite outcomes"
        drafts.add("contradiction", target=situation_key(older), evidence=both, reason=reason)


def _consolidate_task(
    task: str, knowledge: FixReading, drafts: Drafts
) -> tuple[list[Weighed], Texts]:
    """What concerns one task alone; its rules and their wording, for what concerns others too."""
    same = knowledge.merged_rules(task)
    rules = knowledge.weighed_rules(task)
    weighed = sorted(rules, key=lambda rule: (rule.kind != "works", rule.order))
    del weighed[COMPARED_MAX:]
    texts: Texts = {"works": {}, "avoid": {}}
    for rule in weighed:
        if text := knowledge.find_words(rule, same):
            texts[rule.kind][rule.support.item] = text
    for worded in texts.values():
        for kept, duplicate in find_near_duplicates(worded, knowledge.undone_merges(task)):
            reason = f"nearly the same words: {worded[kept]!r} and {worded[duplicate]!r}"
            drafts.add("merge", task_id=task, target=duplicate, replacement=kept, reason=reason)
    newest = {(rule.kind, rule.support.item): rule.support.newest_ids[0] for rule in weighed}
    for works, avoid in find_opposite_rules(texts["works"], texts["avoid"]):
        words = f"{texts['works'][works]!r} and {texts['avoid'][avoid]!r}"
        reason = f"reported as what works and as a mistake: {words}"
        both = [newest["works", works], newest["avoid", avoid]]
        about = {"task_id": task, "target": works, "replacement": avoid}
        drafts.add("contradiction", **about, evidence=both, reason=reason)
    for rule in weighed:
        last_day = rule.support.last_us // limits.DAY_US
        unused_days = knowledge.today - last_day
        shown = bool(rule.support.tallies)  # what was only adopted no episode has shown yet
        if shown and rule.state != "retired" and unused_days > limits.RULE_UNUSED_DAYS:
            item, reason = rule.support.item, f"no episode showed it for {unused_days} days"
            about = {"task_id": task, "target": item, "replacement": str(last_day)}
            drafts.add("retire", **about, text=texts[rule.kind].get(item, ""), reason=reason)
    return weighed, texts


def _ask(llm: Llm, episodes: Sequence[Episode], drafts: Drafts) -> None:
    """Rules in an LLM's words: candidates, with the episodes they were read from."""
    if not episodes:
        drafts.notes.append("the LLM was not asked: there are no episodes yet")
        return
    shown = prompts.pick_episodes(episodes)
    try:
        rules = ask_for_rules(llm, shown)
    except (LlmError, InvalidInputError) as error:
        drafts.notes.append(f"the LLM was of no use, the rest was done without it: {error}")
        return
    tasks = {episode.task_id for episode in shown}
    task = tasks.pop() if len(tasks) == 1 else None
    # never its repr: that of a caller's own class may hold its key
    name = getattr(llm, "model", None)
    by = name if isinstance(name, str) else type(llm).__name__
    ids, reason = [episode.id for episode in shown], f"written by {by}"[: limits.NAME_CHARS_MAX]
    for text in rules:
        drafts.add("rule", task_id=task, text=text, evidence=ids, reason=reason)
    drafts.notes.append(
        f"the LLM wrote {len(rules)} rules from {len(shown)} episodes; they are candidates until "
        f"verified"
    )


def ask_for_rules(
    llm: Llm, shown: Sequence[Episode], read: Callable[[str], list[str]] = prompts.read_rules
) -> list[str]:
    """Rules in a model's words, from these episodes. Raises LlmError or InvalidInputError where it
    is of no use.
    """
    try:
        reply = llm.complete(*prompts.write_request(shown))
    except LlmError:
        raise
    except Exception as error:  # noqa: BLE001  # a caller's own object fails in any way it likes, and may say its key
        raise LlmError(f"{type(llm).__name__} raised {type(error).__name__}") from None
    if not isinstance(reply, str):
        raise InvalidInputError.one("reply", type(reply).__name__, "text")
    return read(reply)


def _keep_new(drafts: Drafts) -> Consolidation:
    """Keeps what is new of the drafts. A decision that came from a file, and that nobody verified,
    stands in nobody's way; but a rule is a candidate anyway, and need not be written down twice.
    """
    project, name = drafts.project, drafts.project.name
    distinct = {decision_key(decision): decision for decision in drafts.decisions}

    def work(change: Change) -> list[Decision]:
        """What is new."""
        decided = change.writer.known_keys(name, distinct, (*VOUCHED_STATUSES, "archived"))
        rules = [key for key in distinct if key.startswith("rule:")]
        decided |= change.writer.known_keys(name, rules, ("hypothesis",))
        new = [decision for key, decision in distinct.items() if key not in decided]
        new = [one for one in new if one.action != "promote" or one.target not in undone]
        change.writer.append([build_row(decision) for decision in new])
        put_in_effect(change.writer, name, [one for one in new if one.action != "rule"])
        return new

    made: list[Decision] = []
    if distinct:
        # A lesson that somebody did not want for the whole project is not promoted again when
        # another task shows it.
        promoted = project.store.decisions(name, ["promote"], undone=True)
        undone = {one.target for one in keep_kind(Decision, promoted)}
        made = project.carry_out(work)

    sorts = ("merge", "contradiction", "promote", "retire", "rule")
    merged, opposed, spread, retired, written = (
        [decision for decision in made if decision.action == sort] for sort in sorts
    )
    return Consolidation(merged, opposed, spread, retired, written, drafts.notes)
