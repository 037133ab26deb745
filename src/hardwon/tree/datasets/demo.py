"""A memory to look at: two months of three agents and a person on a made-up upload service.

The same seed makes the same history, up to the hour at which it is made. What happens is in
`demo.json`; a story is something that is tried again and again: how it goes wrong, and what helps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.resources import files
from random import Random
from typing import Any, Final

from hardwon.memory import Memory
from hardwon.records.kinds import AnyRecord, Step

_GAIN: Final = 0.35  # by how much they are better on the last day than on the first
_TOOLS: Final = ("code_interpreter", "code_interpreter", "web_search", "file_operation")


def fill_demo(memory: Memory, seed: int = 0) -> dict[str, int]:
    """Fills a memory that is empty. How many records of each kind there are then."""
    history = _History(Random(seed), memory.care.now().replace(minute=0, second=0, microsecond=0))
    for experience in history.make_experiences():
        history.kept.append(memory.remember(**experience))
    history.settle(memory, history.kept)
    for kind, made in (
        ("fact", history.make_facts()),
        ("fix", history.make_fixes()),
        ("episode", history.make_episodes()),
        ("trajectory", history.make_trajectories()),
    ):
        records: list[AnyRecord] = list(memory.care.record_many(kind, list(made)))  # type: ignore[arg-type]  # one of the kinds
        history.settle(memory, records)
        history.kept += records
    memory.consolidate()
    return dict(memory.stats().by_kind)


class _History:
    """Makes what happened, one kind of record after the other. `kept` is what is in the memory."""

    def __init__(self, random: Random, now: datetime) -> None:
        self.random, self.now = random, now
        self.words: dict[str, Any] = json.loads(
            (files(__package__) / "demo.json").read_text("utf-8")
        )
        self.kept: list[AnyRecord] = []

    def settle(self, memory: Memory, records: list[AnyRecord]) -> None:
        """Some are believed more than others, and some not any more."""
        for record in records[1:-1]:
            fate = self.random.random()
            if fate < 0.25:
                memory.verify(record.id, "test_runner", author="ci-agent")
            if fate < 0.08:
                memory.publish(record.id, by="maria")
            elif fate > 0.97:
                memory.archive(record.id, "the service that it was about is gone", by="maria")
        memory.supersede(records[0].id, records[-1].id, "seen again, and told better", by="maria")

    def _happen(self, kind: str) -> Iterator[tuple[dict[str, Any], dict[str, Any], float]]:
        """What something of the kind begins with, oldest first: its story, its author and time (in
        working hours), and how far that is from the first (0) to the last day (1).
        """
        days, moments = self.words["days"], []
        for _ in range(self.words["counts"][kind]):
            back = self.random.randrange(days)
            hours, minutes = self.random.randrange(9), self.random.randrange(60)
            age = timedelta(days=back, hours=hours, minutes=minutes)
            moments.append((self.now - age, 1 - (back + 1) / days))
        for at, progress in sorted(moments):
            author = self.random.choice(self.words["authors"])
            yield (
                self.random.choice(self.words["stories"]),
                {"timestamp": at, "author": author},
                progress,
            )

    def _turns_out(self, ease: float, progress: float) -> bool:
        return self.random.random() < min(0.95, ease + _GAIN * (progress - 0.5))

    def make_experiences(self) -> Iterator[dict[str, Any]]:
        choose = self.random.choice
        for story, signed, progress in self._happen("experiences"):
            wrong, cure, chance = story["wrong"], story["cure"], self.random.random()
            keys: dict[str, Any] = {"tags": [story["issue_type"].lower()], **signed}
            if chance < 0.12:
                insight = choose(("pattern", "correction", "preference", "fact"))
                keys |= {"outcome": "learning", "insight_type": insight}
                yield {"content": f"{cure}: {wrong}", **keys}
            elif chance < 0.2:
                mood = choose(("positive", "neutral", "negative"))
                keys |= {"outcome": "interaction", "sentiment": mood}
                yield {"content": f"Asked about: {wrong}", **keys}
            else:
                works, tool = self._turns_out(story["ease"], progress), choose(_TOOLS)
                keys |= {"outcome": "success" if works else "failure", "tool": tool}
                if tool == "code_interpreter":
                    task = choose(("write", "debug", "refactor"))
                    keys |= {"task_type": task} if works else {"error_type": story["error_type"]}
                elif tool == "web_search":
                    reason = choose(("no_results", "irrelevant"))
                    keys |= {"domain": "technical"} if works else {"reason": reason}
                end = f": {cure} helped" if works else f"; tried: {story['useless']}"
                yield {"content": wrong + end, **keys}

    def make_facts(self) -> Iterator[dict[str, Any]]:
        for (_, signed, _), fact in zip(self._happen("facts"), self.words["facts"], strict=True):
            confidence = self.random.choice((0.5, 0.7, 0.9))
            yield {"content": fact[0], "fact_type": fact[1], "confidence": confidence, **signed}

    def make_fixes(self) -> Iterator[dict[str, Any]]:
        for story, signed, progress in self._happen("fixes"):
            cures = self.random.random() < 0.55 + _GAIN * (progress - 0.5)
            works = self._turns_out(story["ease"] + (0.3 if cures else -0.3), progress)
            yield {
                "issue": {
                    "model": self.random.choice(self.words["models"]),
                    "issue_type": story["issue_type"],
                    "description": story["wrong"],
                },
                "fix_success": works or self.random.random() < 0.5,
                "verification_success": works,
                "analysis": f"{story['issue_type'].lower()}: {story['wrong']}",
                "fix_commands": [story["cure"] if cures else story["useless"]],
                "execution_time_seconds": round(self.random.uniform(5, 240), 1),
                "fixer_type": self.random.choice(("claude", "claude", "codex", "human")),
                **signed,
            }

    def make_episodes(self) -> Iterator[dict[str, Any]]:
        for _, signed, progress in self._happen("episodes"):
            task, recalls = self.random.choice(self.words["tasks"]), self.random.random() < 0.5
            mean = 0.45 + _GAIN * progress + (0.12 if recalls else 0)
            score = min(1.0, max(0.0, self.random.gauss(mean, 0.15)))
            good = self.random.choice(self.words["good_habits"])
            bad = self.random.choice(self.words["bad_habits"])
            card = {"mistake_type": "haste", "bad_decision": bad, "correct_decision": good}
            shown = [record.id for record in self.random.sample(self.kept, 2)]
            yield {
                "task_id": task,
                "score": round(score, 3),
                "steps": self.random.randrange(4, 30),
                "trajectory_summary": f"{task} {'with' if recalls else 'without'} what was known",
                "mistakes": [bad] if score < 0.7 else [],
                "successes": [good] if score > 0.5 else [],
                "mistake_cards": [{**card, "lesson": f"{good}."}] if score < 0.4 else [],
                "recalled": shown if recalls else None,
                **signed,
            }

    def make_trajectories(self) -> Iterator[dict[str, Any]]:
        for story, signed, progress in self._happen("trajectories"):
            issue, solved = story["issue_type"].lower(), self._turns_out(story["ease"], progress)
            failed = f"FAILED tests/test_{issue}.py - AssertionError: {story['wrong']}"
            steps = [Step(action="pytest -x", observation=failed, reward=0.0)]
            steps.append(Step(action=story["useless"], observation=failed, reward=-0.1))
            if solved:
                steps.append(Step(action=story["cure"], observation="", reward=0.0))
                steps.append(Step(action="pytest -x", observation="12 passed", reward=0.9))
            yield {
                "task": f"make the tests of {issue} pass",
                "steps": steps,
                "final_reward": 1.0 if solved else 0.1,
                **signed,
            }
