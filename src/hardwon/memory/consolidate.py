"""Rules that a language model writes down, from the last episodes: candidates until somebody verifies
them. Reads first, then one short transaction; a rule that is written down already is not again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hardwon import limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.lessons import prompts
from hardwon.lessons.keys import decision_key
from hardwon.memory.project import Change, Project
from hardwon.memory.results import Consolidation
from hardwon.memory.tallies import CONSIDERED_MAX
from hardwon.outside.llm import Llm
from hardwon.records.kinds import VOUCHED_STATUSES, Decision, Episode
from hardwon.store.base import build_row
from hardwon.store.query import readable

BY = "consolidation"


def consolidate(project: Project, llm: Llm) -> Consolidation:
    """The rules that a model finds in the last episodes, and notes on what became of it."""
    arrived = readable(project.store.list_last_arrivals(project.name, CONSIDERED_MAX))
    episodes = [record for record in arrived if isinstance(record, Episode)]
    if not episodes:
        return Consolidation([], ["the LLM was not asked: there are no episodes yet"])
    shown = prompts.pick_episodes(episodes)
    try:
        rules = ask_for_rules(llm, shown)
    except (LlmError, InvalidInputError) as error:
        return Consolidation([], [f"the LLM was of no use: {error}"])
    tasks = {episode.task_id for episode in shown}
    task = tasks.pop() if len(tasks) == 1 else None
    # never its repr: that of a caller's own class may hold its key
    name = getattr(llm, "model", None)
    by = name if isinstance(name, str) else type(llm).__name__
    ids, reason = [episode.id for episode in shown], f"written by {by}"[: limits.NAME_CHARS_MAX]
    what = {"task_id": task, "evidence": ids, "reason": reason}
    drafts = [project.decision("rule", BY, text=text, **what) for text in rules]
    note = f"the LLM wrote {len(rules)} rules from {len(shown)} episodes; they are candidates until verified"
    return Consolidation(_keep_new(project, drafts), [note])


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


def _keep_new(project: Project, drafts: Sequence[Decision]) -> list[Decision]:
    """Those that were not decided before, whatever became of them, now kept."""
    distinct = {decision_key(decision): decision for decision in drafts}

    def work(change: Change) -> list[Decision]:
        """What is new."""
        statuses = (*VOUCHED_STATUSES, "archived", "hypothesis")
        known = change.writer.known_keys(project.name, distinct, statuses)
        new = [decision for key, decision in distinct.items() if key not in known]
        change.writer.append([build_row(decision) for decision in new])
        return new

    return project.carry_out(work)
