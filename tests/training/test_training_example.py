"""The example of a training loop: the agent that reads its memory does better, and nothing but the
memory tells it how.
"""

from __future__ import annotations

import importlib.util
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hardwon import Memory

EXAMPLES = Path(__file__).parents[2] / "examples"


def example() -> Any:
    """As a module of another name: that of the file is the name of a package elsewhere."""
    spec = importlib.util.spec_from_file_location("training_example", EXAMPLES / "training.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_agent_with_a_memory_does_better(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            str(EXAMPLES / "training.py"),
            "--worlds",
            "4",
            "--out",
            "curves.html",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
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


def test_without_what_it_reads_the_agent_knows_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    training = example()
    guesses = {training.choose("pressure", "", random.Random(number)) for number in range(200)}
    assert guesses == set(training.REMEDIES)
    told = "- [WORKS] When pressure rings, purge the line. [2 episodes, agent?]"
    assert {training.choose("pressure", told, random.Random(number)) for number in range(50)} == {
        "purge the line"
    }
    assert {training.choose("flame", told, random.Random(number)) for number in range(200)} == set(
        training.REMEDIES
    )
    with Memory(tmp_path) as memory:
        monkeypatch.setattr(type(memory), "context", lambda *_, **__: _Silent())
        training.work(memory, 0, reads=True)
        training.work(memory, 0, reads=False)
        assert not memory.episodes.compare(by_run=False).helps, (
            "the memory that says nothing is of no use"
        )


class _Silent:
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ""
