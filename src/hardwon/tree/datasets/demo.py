"""A memory to look at: two months of three agents and a person on a made-up upload service. The
same seed makes the same history, up to the hour at which it is made.

What happens is in `demo.json`; a story is something that is tried again and again: how it goes
wrong, and what helps.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha1
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hardwon.memory import Memory
from hardwon.records.kinds import AnyRecord, Step

DAYS: Final = 60
AUTHORS: Final = ("claude-code", "ci-agent", "night-shift", "maria")
_EXPERIENCES: Final = 220
_FIXES: Final = 180
_EPISODES: Final = 120
_TRAJECTORIES: Final = 40
_GAIN: Final = 0.35  # by how much they are better at the end than at the beginning


def fill(memory: Memory, seed: int = 0) -> dict[str, int]:
    """Fills a memory that is empty. How many records of each kind there are then."""
    maker = _Maker(
        random.Random(seed), memory.care.now().replace(minute=0, second=0, microsecond=0)
    )
    for kind, many in (
        ("experience", maker.experiences()),
        ("fact", maker.facts()),
        ("fix", maker.fixes()),
        ("episode", maker.episodes()),
        ("trajectory", maker.trajectories()),
    ):
        if kind == "experience":
            kept: list[AnyRecord] = [memory.remember(**each) for each in many]
        else:
            kept = list(memory.care.record_many(kind, list(many)))  # type: ignore[arg-type]  # one of the kinds
        maker.known += [record.id for record in kept]
        for record in kept[1:-1]:  # some are believed more than others, and some not any more
            fate = maker.random.random()
            if fate < 0.25:
                memory.verify(record.id, "test_runner", author="ci-agent")
            if fate < 0.08:
                memory.publish(record.id, by="maria")
            elif fate > 0.97:
                memory.archive(record.id, "the service that it was about is gone", by="maria")
        if len(kept) > 10:
            memory.supersede(kept[0].id, kept[-1].id, "seen again, and told better", by="maria")
    _make_stale(memory, maker.now)
    memory.consolidate()
    return dict(memory.stats().by_kind)


def _make_stale(memory: Memory, now: datetime) -> None:
    """What speaks of a file that has changed since; in a checkout made for it. Without git there is
    none.
    """
    git = shutil.which("git")
    if git is None:
        return
    with TemporaryDirectory(prefix="hardwon-demo-") as folder:
        subprocess.run([git, "-C", folder, "init", "-q"], check=True, capture_output=True)  # noqa: S603  # nosec B603  # our own folder
        path = Path(folder) / "jobs" / "queue.py"
        path.parent.mkdir()
        path.write_text("RETRIES = 3\n")
        seen = [
            {
                "path": "jobs/queue.py",
                "hash": sha1(path.read_bytes(), usedforsecurity=False).hexdigest(),
            }
        ]
        for number, text in enumerate(
            (
                "The queue tries three times.",
                "RETRIES is read once, when jobs/queue.py is imported.",
            )
        ):
            at = now - timedelta(days=20 - number)
            memory.record_fact(
                text, "observation", related_files=seen, timestamp=at, author=AUTHORS[number]
            )
        path.write_text("RETRIES = 5\n")
        memory.check_stale(folder)


class _Maker:
    """Makes records, one kind after the other."""

    def __init__(self, chance: random.Random, now: datetime) -> None:
        self.random = chance
        self.now = now
        self.words: dict[str, Any] = json.loads(
            (resources.files(__package__) / "demo.json").read_text("utf-8")
        )
        self.known: list[str] = []

    def _moments(self, count: int) -> list[tuple[datetime, float]]:
        """Times in working hours, oldest first, and how far they are from the first (0) to the last
        day (1).
        """
        found = []
        for _ in range(count):
            day = self.random.randrange(DAYS)
            at = self.now - timedelta(
                days=DAYS - day - 1,
                hours=self.random.randrange(9),
                minutes=self.random.randrange(60),
            )
            found.append((at, day / DAYS))
        return sorted(found)

    def _signed(self, at: datetime) -> dict[str, Any]:
        return {"timestamp": at, "author": self.random.choice(AUTHORS)}

    def _turns_out(self, ease: float, progress: float) -> bool:
        return self.random.random() < min(0.95, ease + _GAIN * (progress - 0.5))

    def experiences(self) -> Iterator[dict[str, Any]]:
        for at, progress in self._moments(_EXPERIENCES):
            story, kind = self.random.choice(self.words["stories"]), self.random.random()
            signed = {**self._signed(at), "tags": [story["issue_type"].lower()]}
            if kind < 0.12:
                pattern = self.random.choice(("pattern", "correction", "preference", "fact"))
                yield {
                    "content": f"{story['cure']}: {story['wrong']}",
                    "outcome": "learning",
                    "insight_type": pattern,
                    **signed,
                }
            elif kind < 0.2:
                mood = self.random.choice(("positive", "neutral", "negative"))
                yield {
                    "content": f"Asked about: {story['wrong']}",
                    "outcome": "interaction",
                    "sentiment": mood,
                    **signed,
                }
            else:
                yield {**self._attempt(story, progress), **signed}

    def _attempt(self, story: dict[str, Any], progress: float) -> dict[str, Any]:
        good = self._turns_out(story["ease"], progress)
        tool = self.random.choice(
            ("code_interpreter", "code_interpreter", "web_search", "file_operation")
        )
        keys = {
            ("code_interpreter", True): {
                "task_type": self.random.choice(("write", "debug", "refactor"))
            },
            ("code_interpreter", False): {"error_type": story["error_type"]},
            ("web_search", True): {"domain": "technical"},
            ("web_search", False): {"reason": self.random.choice(("no_results", "irrelevant"))},
        }.get((tool, good), {})
        content = (
            f"{story['wrong']}: {story['cure']} helped"
            if good
            else f"{story['wrong']}; tried: {story['useless']}"
        )
        return {
            "content": content,
            "outcome": "success" if good else "failure",
            "tool": tool,
            **keys,
        }

    def facts(self) -> Iterator[dict[str, Any]]:
        for (at, _), (content, fact_type) in zip(
            self._moments(len(self.words["facts"])), self.words["facts"], strict=True
        ):
            yield {
                "content": content,
                "fact_type": fact_type,
                "confidence": self.random.choice((0.5, 0.7, 0.9)),
                **self._signed(at),
            }

    def fixes(self) -> Iterator[dict[str, Any]]:
        for at, progress in self._moments(_FIXES):
            story = self.random.choice(self.words["stories"])
            cures = self.random.random() < 0.55 + _GAIN * (progress - 0.5)
            works = self._turns_out(story["ease"] + (0.3 if cures else -0.3), progress)
            issue = {
                "model": self.random.choice(self.words["models"]),
                "issue_type": story["issue_type"],
                "description": story["wrong"],
            }
            yield {
                "issue": issue,
                "fix_success": works or self.random.random() < 0.5,
                "verification_success": works,
                "analysis": f"{story['issue_type'].lower()}: {story['wrong']}",
                "fix_commands": [story["cure"] if cures else story["useless"]],
                "execution_time_seconds": round(self.random.uniform(5, 240), 1),
                "fixer_type": self.random.choice(("claude", "claude", "codex", "human")),
                **self._signed(at),
            }

    def episodes(self) -> Iterator[dict[str, Any]]:
        for at, progress in self._moments(_EPISODES):
            task = self.random.choice(self.words["tasks"])
            with_memory = self.random.random() < 0.5
            score = min(
                1.0,
                max(
                    0.0,
                    self.random.gauss(0.45 + _GAIN * progress + (0.12 if with_memory else 0), 0.15),
                ),
            )
            good, bad = (
                self.random.choice(self.words["good_habits"]),
                self.random.choice(self.words["bad_habits"]),
            )
            card = {
                "mistake_type": "haste",
                "bad_decision": bad,
                "correct_decision": good,
                "lesson": f"{good}.",
            }
            yield {
                "task_id": task,
                "score": round(score, 3),
                "steps": self.random.randrange(4, 30),
                "trajectory_summary": f"{task} {'with' if with_memory else 'without'} what was "
                f"known before",
                "mistakes": [bad] if score < 0.7 else [],
                "successes": [good] if score > 0.5 else [],
                "mistake_cards": [card] if score < 0.4 else [],
                "recalled": self.random.sample(self.known, 2) if with_memory else None,
                **self._signed(at),
            }

    def trajectories(self) -> Iterator[dict[str, Any]]:
        for at, progress in self._moments(_TRAJECTORIES):
            story = self.random.choice(self.words["stories"])
            solved = self._turns_out(story["ease"], progress)
            seen = f"FAILED tests/test_{story['issue_type'].lower()}.py - AssertionError: {story['wrong']}"
            steps = [Step(action="pytest -x", observation=seen, reward=0.0)]
            steps += [Step(action=story["useless"], observation=seen, reward=-0.1)]
            if solved:
                steps += [Step(action=story["cure"], observation="12 passed", reward=0.9)]
            task = f"make the tests of {story['issue_type'].lower()} pass"
            yield {
                "task": task,
                "steps": steps,
                "final_reward": 1.0 if solved else 0.1,
                **self._signed(at),
            }
