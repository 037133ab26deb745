"""What a training loop relies on: what an episode taught is in the next context."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from clocks import Clock
from hardwon import Memory
from short import run_program


def test_a_lesson_is_in_the_very_next_context(tmp_path: Path, clock: Clock) -> None:
    with Memory(tmp_path, clock=clock) as memory:
        for number in range(100):
            old: Any = {"mistakes": [f"old mistake {number % 7}"], "successes": ["did something"]}
            memory.record_episode("t", 0.25 + number % 3 / 10, **old)
        for score, lesson in (
            (0.1, "The valve is on the left"),
            (0.62, "Neither good nor bad, but said"),
            (0.9, "Ask first"),
        ):
            context = memory.context(task_id="t")
            assert lesson not in str(context)
            episode = memory.record_episode("t", score, mistakes=[lesson], recalled=context)
            assert episode.recalled == list(context.ids)
            assert str(memory.context(task_id="t")).count(lesson) == 1, score
            assert lesson not in str(memory.context(task_id="another"))


def test_a_weak_agent_ends_with_rules_in_its_context(tmp_path: Path, clock: Clock) -> None:
    """800 episodes of mean 0.25 that never reach 0.85: what went with the better ones is shown."""
    careful: dict[str, Any] = {"successes": ["Read the log first"]}
    hasty: dict[str, Any] = {"successes": ["Answered at once"], "mistakes": ["Escalated too early"]}
    card = {"mistake_type": "false_negative_x", "lesson": "Look twice."}
    with Memory(tmp_path, clock=clock) as memory:
        for number in range(800):
            score = (0.2 if number % 5 else 0.45) + (number * 7 % 10) / 200 - 0.0225
            told = hasty if number % 5 else careful
            memory.record_episode("t", score, **told, mistake_cards=[card] if number % 4 else [])
        assert memory.episodes.scores("t").mean == pytest.approx(0.25, abs=0.02)
        text = str(memory.context(task_id="t"))
        assert "[WORKS] Read the log first [160 episodes; " in text
        assert "[AVOID] Escalated too early [640 episodes; " in text
        assert "[WORKS] Answered at once" not in text
        assert "false_negative_x: Look twice. [600 episodes]" in text


EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_agent_with_a_memory_does_better(tmp_path: Path) -> None:
    program = (sys.executable, "-W", "error", EXAMPLES / "training.py")
    done = run_program(*program, "--worlds", "4", "--out", "curves.html", cwd=tmp_path)
    said = re.search(r"difference \+([\d.]+), 95 % interval ([+-][\d.]+) to", done.stdout)
    assert said, done.stdout
    assert float(said[2]) > 0.2, "far above zero"
    assert "[WORKS] When" in done.stdout
    page = (tmp_path / "curves.html").read_text()
    assert not re.search(r"<script|https?:|url\(", page), "it needs nothing from elsewhere"
    (drawing,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    lines = list(ElementTree.fromstring(drawing).iter("polyline"))  # noqa: S314  # our own
    assert len(lines) == 2 * (4 + 1), "each run, and the mean of both sides"
    assert all(len(line.attrib["points"].split()) == 24 for line in lines)
    assert [path.name for path in tmp_path.iterdir()] == ["curves.html"]
