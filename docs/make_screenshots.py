"""Writes docs/images anew: the dashboard of the demo memory in a real Chromium, after a page has
changed its looks.

The demo ends when it is made, so the clock stands still while it is made and shown: the same code
makes the same pictures. Needs what the tests need.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch
from urllib.parse import urlencode

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from browsing import DESKTOP, PHONE, browser, visitor  # noqa: E402
from hardwon.surfaces.web import pages as look  # noqa: E402
from hardwon.tree.datasets.demo import fill_demo as fill  # noqa: E402
from hardwon.trust.access import Caller  # noqa: E402
from serving import PROJECT, served  # noqa: E402

NOW: Final = datetime(2026, 3, 20, 16, tzinfo=UTC)
BYTES_MAX: Final = 200_000
_SEARCH: Final = urlencode({"q": "upload timed out", "range": "all"})


class Shot(NamedTuple):
    name: str
    page: str
    keys: str = ""
    click: str = ""
    options: dict[str, Any] = {"viewport": DESKTOP}


SHOTS: Final = (
    Shot("overview", "overview?range=90d"),
    Shot("search", f"search?{_SEARCH}", click="ol.hits h2 a"),
    Shot("lessons", "lessons", "j"),
    Shot("phone", "overview?range=90d", options={"viewport": PHONE, "color_scheme": "dark"}),
)


class _AnyTime(type):
    """Whatever is a time is one of these, too."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, datetime)


class _Stopped(datetime, metaclass=_AnyTime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> _Stopped:
        return cls(*NOW.timetuple()[:6], tzinfo=tz)


def main() -> None:
    ago = look.ago
    with ExitStack() as open_:
        open_.enter_context(patch("hardwon.memory.project.datetime", _Stopped))
        open_.enter_context(patch("hardwon.surfaces.web.pages.datetime", _Stopped))
        open_.enter_context(patch.object(look, "ago", lambda at, now=NOW: ago(at, now)))
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory()))
        started = open_.enter_context(browser())
        running = open_.enter_context(served(folder, open_to=Caller("maria", "admin")))
        fill(running.memory)
        for shot in SHOTS:
            with visitor(started, running.url, **shot.options) as somebody:
                page = somebody.open(f"/ui/{PROJECT}/{shot.page}")
                for key in shot.keys:
                    page.keyboard.press(key)
                if shot.click:
                    page.locator(shot.click).first.click()
                path = HERE / "images" / f"{shot.name}.png"
                path.parent.mkdir(exist_ok=True)
                page.screenshot(path=path)
            size = path.stat().st_size
            print(f"{path.name} {size:,} bytes")
            if size > BYTES_MAX:
                raise SystemExit(f"{path.name} has more than {BYTES_MAX:,} bytes")


if __name__ == "__main__":
    main()
