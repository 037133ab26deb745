"""The example of a training loop: the agent that reads its memory does better."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

from short import run_program

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
