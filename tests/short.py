"""The records that tests make most often, in few words."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, TypeVar

from hardwon import Episode, Fix, Memory

T = TypeVar("T")


def need(value: T | None) -> T:
    """The value, which must be there."""
    assert value
    return value


def status(memory: Memory, record_id: str) -> str:
    return need(memory.get(record_id)).metadata.validation.status


def fix(
    memory: Memory, verified: bool = True, command: str = "", *, applied: bool = True, **more: Any
) -> Fix:
    """A fix of an issue of the model `m` and the type `T`, unless `more` names others."""
    issue = {"model": more.pop("model", "m"), "issue_type": more.pop("issue_type", "T")}
    issue |= {"test_prompt": more.pop("test_prompt")} if "test_prompt" in more else {}
    return memory.record_fix(issue, applied, verified, "", [command] if command else [], **more)


def succeed(memory: Memory, *successes: str, task: str = "t", **more: Any) -> Episode:
    """An episode that went well, with what worked."""
    return memory.record_episode(task, more.pop("score", 0.9), successes=successes, **more)


def status_of(memory: Memory, record_id: str) -> str:
    record = memory.get(record_id)
    assert record is not None
    return record.metadata.validation.status


def run_program(
    *command: str | Path, status: int | None = 0, **options: Any
) -> subprocess.CompletedProcess[str]:
    """What a program printed, which ends with this status, or with any."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done
