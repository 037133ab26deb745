"""What `training.memory` is for scripts that import it: the modules that `hardwon drop-in install`
writes, and those in `drop_in/`, lead here.

Lenient: what is wrong with an episode is a warning and left out, because a training run must not
die of it.
"""

from __future__ import annotations

from typing import Any

from hardwon import limits
from hardwon.training import functions as episodes
from hardwon.training.functions import DEFAULT_PATH as DEFAULT_PATH
from hardwon.training.functions import MAX_EPISODES_STORED as MAX_EPISODES_STORED
from hardwon.training.functions import TrainingMemoryWarning as TrainingMemoryWarning
from hardwon.training.functions import memory_summary as memory_summary
from hardwon.training.functions import new_agent_memory as new_agent_memory

# Yours to change.
CONSOLIDATION_EVERY = episodes.CONSOLIDATION_EVERY
MAX_RULES_PER_TASK = episodes.MAX_RULES_PER_TASK


def load_agent_memory(
    path: episodes.Where = DEFAULT_PATH, *, lenient: bool = True
) -> dict[str, Any]:
    """See `hardwon.training.functions.load_agent_memory`."""
    return episodes.load_agent_memory(path, lenient=lenient)


def record_episode(
    memory: dict[str, Any],
    episode_data: dict[str, Any],
    *,
    lenient: bool = True,
    clock: episodes.Clock | None = None,
) -> dict[str, Any]:
    """See `hardwon.training.functions.record_episode`."""
    return episodes.record_episode(
        memory, episode_data, lenient=lenient, clock=clock, rules_max=MAX_RULES_PER_TASK
    )


def save_agent_memory(memory: dict[str, Any], path: episodes.Where = DEFAULT_PATH) -> None:
    """See `hardwon.training.functions.save_agent_memory`."""
    episodes.save_agent_memory(memory, path, rules_max=MAX_RULES_PER_TASK)


def maybe_consolidate_memory(
    memory: dict[str, Any],
    api_key: str | None = None,
    path: episodes.Where = DEFAULT_PATH,
    *,
    llm: Any = None,
) -> dict[str, Any]:
    """See `hardwon.training.functions.maybe_consolidate_memory`."""
    every, most = CONSOLIDATION_EVERY, MAX_RULES_PER_TASK
    return episodes.maybe_consolidate_memory(
        memory, api_key, path, llm=llm, every=every, rules_max=most
    )


def build_memory_context(
    memory: dict[str, Any], task_id: Any = None, max_rules: int = 5, max_recent: int = 3
) -> str:
    """See `hardwon.training.functions.build_memory_context`. A task may be a number;
    any number of items may be asked for."""
    task = None if task_id is None else str(task_id)
    most = (max(0, min(int(number), limits.SHOWN_MAX)) for number in (max_rules, max_recent))
    return episodes.build_memory_context(memory, task, *most)
