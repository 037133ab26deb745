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
Story = dict[str, Any]


def fill_demo(memory: Memory, seed: int = 0) -> dict[str, int]:
    """Fills a memory that is empty. How many records of each kind there are then."""
    demo = _Demo(Random(seed), memory.care.now().replace(minute=0, second=0, microsecond=0))
    demo.keep(memory, [memory.remember(**keys) for keys in demo.make("experience")])
    for kind in ("fact", "fix", "episode", "trajectory"):
        demo.keep(memory, list(memory.care.record_many(kind, list(demo.make(kind)))))
    return dict(memory.stats().by_kind)


class _Demo:
    """Makes what happened, one kind of record after the other. `kept` is what is in the memory."""

    def __init__(self, random: Random, now: datetime) -> None:
        self.random, self.now = random, now
        text = (files(__package__) / "demo.json").read_text("utf-8")
        self.words: dict[str, Any] = json.loads(text)
        self.kept: list[AnyRecord] = []

    def keep(self, memory: Memory, records: list[AnyRecord]) -> None:
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
        self.kept += records

    def make(self, kind: str) -> Iterator[dict[str, Any]]:
        """What is recorded of a kind, in working hours, oldest first. `progress` is how far a moment is
        from the first (0) to the last day (1).
        """
        days, moments = self.words["days"], []
        for _ in range(self.words["counts"][kind]):
            back = self.random.randrange(days)
            hours, minutes = self.random.randrange(9), self.random.randrange(60)
            age = timedelta(days=back, hours=hours, minutes=minutes)
            moments.append((self.now - age, 1 - (back + 1) / days))
        for at, progress in sorted(moments):
            fields = getattr(self, f"_make_{kind}")(self._pick("stories"), progress)
            yield {**fields, "timestamp": at, "author": self._pick("authors")}

    def _pick(self, name: str) -> Any:
        return self.random.choice(self.words[name])

    def _turns_out(self, ease: float, progress: float) -> bool:
        return self.random.random() < min(0.95, ease + _GAIN * (progress - 0.5))

    def _make_experience(self, story: Story, progress: float) -> dict[str, Any]:
        tags, wrong = [story["issue_type"].lower()], story["wrong"]
        chance, routes = self.random.random(), self.words["routes"]
        if chance < 0.2:
            route = self.random.choice(routes["learning" if chance < 0.12 else "interaction"])
            about = story["cure"] if chance < 0.12 else "Asked about"
            return {"content": f"{about}: {wrong}", "tags": tags, **route}
        works = self._turns_out(story["ease"], progress)
        route = dict(self.random.choice(routes["success" if works else "failure"]))
        if "error_type" in route:
            route["error_type"] = story["error_type"]
        end = f": {story['cure']} helped" if works else f"; tried: {story['useless']}"
        return {"content": wrong + end, "tags": tags, **route}

    def _make_fact(self, _: Story, __: float) -> dict[str, Any]:
        content, fact_type = self.words["facts"].pop()
        confidence = self.random.choice((0.5, 0.7, 0.9))
        return {"content": content, "fact_type": fact_type, "confidence": confidence}

    def _make_fix(self, story: Story, progress: float) -> dict[str, Any]:
        cures = self.random.random() < 0.55 + _GAIN * (progress - 0.5)
        works = self._turns_out(story["ease"] + (0.3 if cures else -0.3), progress)
        about = {"issue_type": story["issue_type"], "description": story["wrong"]}
        return {
            "issue": {"model": self._pick("models"), **about},
            "fix_success": works or self.random.random() < 0.5,
            "verification_success": works,
            "analysis": f"{story['issue_type'].lower()}: {story['wrong']}",
            "fix_commands": [story["cure"] if cures else story["useless"]],
            "execution_time_seconds": round(self.random.uniform(5, 240), 1),
            "fixer_type": self.random.choice(("claude", "claude", "codex", "human")),
        }

    def _make_episode(self, _: Story, progress: float) -> dict[str, Any]:
        task, recalls = self._pick("tasks"), self.random.random() < 0.5
        mean = 0.45 + _GAIN * progress + (0.12 if recalls else 0)
        score = min(1.0, max(0.0, self.random.gauss(mean, 0.15)))
        good, bad = self._pick("good_habits"), self._pick("bad_habits")
        decisions = {"bad_decision": bad, "correct_decision": good, "lesson": f"{good}."}
        recalled = [record.id for record in self.random.sample(self.kept, 2)] if recalls else None
        return {
            "task_id": task,
            "score": round(score, 3),
            "steps": self.random.randrange(4, 30),
            "trajectory_summary": f"{task} {'with' if recalls else 'without'} what was known",
            "mistakes": [bad] if score < 0.7 else [],
            "successes": [good] if score > 0.5 else [],
            "mistake_cards": [{"mistake_type": "haste", **decisions}] if score < 0.4 else [],
            "recalled": recalled,
        }

    def _make_trajectory(self, story: Story, progress: float) -> dict[str, Any]:
        issue, solved = story["issue_type"].lower(), self._turns_out(story["ease"], progress)
        failed = f"FAILED tests/test_{issue}.py - AssertionError: {story['wrong']}"
        done = [("pytest -x", failed, 0.0), (story["useless"], failed, -0.1)]
        done += [(story["cure"], "", 0.0), ("pytest -x", "12 passed", 0.9)] if solved else []
        steps = [Step(action=what, observation=seen, reward=gain) for what, seen, gain in done]
        task = f"make the tests of {issue} pass"
        return {"task": task, "steps": steps, "final_reward": 1.0 if solved else 0.1}
