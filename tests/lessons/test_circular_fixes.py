"""The same failing fix from other processes and agents: the third is blocked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardwon import Memory
from processes import Child

ERROR = "Traceback (most recent call last):\n  File 'app.py', line {}, in run\nTimeoutError: no answer from port {}"
WITH_ERROR = {"model": "m", "issue_type": "TIMEOUT", "description": "no answer"}
WITHOUT = {"model": "m", "issue_type": "ERROR", "description": "It stopped"}


def in_another_process(
    location: Path, number: int, issue: dict[str, Any], good: bool = False
) -> str:
    """Asks for advice, says what it was, then tries all the same."""

    def work(tell: Any) -> None:
        told = dict(issue)
        if issue is WITH_ERROR:
            told["error_output"] = ERROR.format(10 + number, 8000 + number)
        command = "systemctl restart ollama"
        with Memory(location) as memory:
            advice = memory.advise(command, issue=told, error=told.get("error_output"))
            memory.record_fix(told, good, good, "", [command], author=f"agent {number}")
            tell(advice.verdict.ljust(36))

    child = Child.start(work)
    assert child.wait() == 0
    return child.acknowledged[0].strip()


@pytest.mark.parametrize("issue", [WITH_ERROR, WITHOUT], ids=["with an error", "without"])
def test_the_third_attempt_is_blocked_until_success(tmp_path: Path, issue: dict[str, Any]) -> None:
    location = tmp_path / "brain"
    verdicts = [in_another_process(location, number, issue) for number in range(3)]
    assert verdicts == ["unknown", "caution", "blocked"]
    with Memory(location) as memory:
        memory.record_fix(issue, True, True, fix_commands=["ollama pull m"], author="other")
        advice = memory.advise("systemctl restart ollama", issue=issue)
        assert advice.verdict == "blocked"
        assert advice.failures == 3
        assert len(advice.evidence) == 3
        assert "What was tried: “systemctl restart ollama”." in advice.message
        assert "Do not try it again" in advice.message
        assert "ollama pull m" in advice.message
    assert in_another_process(location, 4, issue, good=True) == "blocked"
    with Memory(location) as memory:
        assert memory.advise("systemctl restart ollama", issue=issue).failures == 0


def test_a_failure_that_shows_no_error_is_one_all_the_same(memory: Memory) -> None:
    for _ in range(2):
        step = {"action": "make deploy", "observation": "done?"}
        memory.record_trajectory("deploy", [step], 0.0, failure_hash="c0ffee")
    assert memory.advise("make deploy").verdict == "blocked"
    memory.record_trajectory("deploy", [{"action": "make deploy", "observation": "done"}], 1.0)
    assert memory.advise("make deploy").failures == 0
