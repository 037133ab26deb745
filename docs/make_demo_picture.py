"""Writes docs/images/demo.svg anew: what `hardwon demo` prints, as a terminal shows it. README has
it; a test compares the two.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from hardwon.surfaces.cli.demo import draw_story, live_story

PICTURE: Final = Path(__file__).parent / "images" / "demo.svg"
WIDTH: Final = 90


def draw() -> str:
    """The picture as SVG. It fetches nothing: the font is whichever the reader has."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(draw_story(live_story())))
    svg = console.export_svg(title="hardwon demo", unique_id="demo")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"{PICTURE.name} {PICTURE.stat().st_size:,} bytes")
