"""`hardwon report`: one file, opened by a real browser without a network; it shows what a memory
has, and obeys none of it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from command_line import at_once
from hardwon import Memory, limits
from hardwon.surfaces.cli.care import TimeRange
from hardwon.surfaces.gate import Ask, Gate
from hardwon.surfaces.web import site as web
from hardwon.surfaces.web.pages import RANGES
from hardwon.tree.datasets.demo import fill_demo
from hardwon.trust.access import Caller
from test_web_review import hostile_memory

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = str(CHROMIUM) if CHROMIUM.exists() else None
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with something in every view."""
    place = tmp_path_factory.mktemp("report") / "brain"
    with Memory(place, "default", checkout=False) as memory:
        fill_demo(memory, 3)
    return place


@pytest.fixture(scope="module")
def file(demo: Path) -> Path:
    made(demo, demo.parent / "report.html")
    return demo.parent / "report.html"


def made(memory: Path, file: Path, *more: str) -> str:
    done = at_once(
        "--memory", str(memory), "--project", "default", "care", "report", str(file), *more
    )
    assert done.exit_code == 0, done.output
    return file.read_text()


class Opened:
    """The file in a browser that has no network; what goes wrong is written down."""

    def __init__(self, browser: Browser, file: Path, **look: object) -> None:
        self.context = browser.new_context(offline=True, **look)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on(
            "console",
            lambda said: (
                self.wrong.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.goto(file.as_uri())

    def only_itself(self, file: Path) -> bool:
        return [each for each in self.asked if not each.startswith(("data:", "blob:"))] == [
            file.as_uri()
        ]


def test_it_opens_without_a_network_and_changes_nothing(browser: Browser, file: Path) -> None:
    """Opened once: drawing everything takes a browser seconds."""
    text = file.read_text()
    assert len(text.encode()) <= limits.REPORT_BYTES_MAX
    for gone in ('name="action"', 'name="csrf"', "/ui/", " d ago<"):
        assert gone not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    opened = Opened(browser, file, color_scheme="light")
    page = opened.page
    assert opened.only_itself(file)
    assert page.locator(".report-part").count() == len(web.parts())
    assert page.locator("[data-chart] svg").count() >= 2
    assert page.evaluate(
        "[...document.querySelectorAll('a[href]')].every((a) => a.hash && "
        "document.getElementById(a.hash.slice(1)))"
    ), "every link leads somewhere in the file"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    named = [each for each in ids if each.startswith("part-") or each == "main"]
    assert len(named) == len(set(named))
    page.locator("[data-theme-switch]").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.locator("th button").first.evaluate("each => each.click()")
    assert page.locator("th[aria-sort]").count() == 1
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function(
            "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
    assert opened.wrong == []
    opened.context.close()


def test_its_policy_names_every_script_and_allows_no_other(
    browser: Browser, file: Path, tmp_path: Path
) -> None:
    text = file.read_text()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])  # type: ignore[index]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
        for each in scripts
    }
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert set(allowed["script-src"].split()) == hashes
    assert allowed["default-src"] == "'none'"
    assert "eval" not in policy
    assert re.findall(r"<script(?! type=\"application/json\")[^>]*src", text) == []
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</body>", "<script>document.title = 'run'</script></body>"))
    opened = Opened(browser, changed)
    assert opened.page.title() != "run"
    assert any("Content Security Policy" in each for each in opened.wrong)
    opened.context.close()


def test_hostile_records_are_text_in_it(browser: Browser, tmp_path: Path) -> None:
    with Memory(tmp_path / "brain", "default", checkout=False) as memory:
        hostile_memory(memory)
    file = tmp_path / "report.html"
    text = made(tmp_path / "brain", file, "--range", "all")
    shown = text.partition("<body")[2].partition("<script>")[0]
    for raw in ("<img", "alert(1)</script", "\u202e", "\x07"):
        assert raw not in shown
    opened = Opened(browser, file)
    assert opened.wrong == []
    assert opened.page.locator("img").count() == 0
    assert opened.only_itself(file)
    opened.context.close()


def test_what_is_there_is_kept_unless_somebody_agrees(demo: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text("mine")
    for more in ((), ("--json",)):
        refused = at_once("--memory", str(demo), "care", "report", str(file), *more)
        assert (refused.exit_code, file.read_text()) == (1, "mine")
        assert "--yes" in refused.stderr
    said = at_once(
        "--memory",
        str(demo),
        "--project",
        "default",
        "care",
        "report",
        str(file),
        "--yes",
        "--json",
    )
    told = json.loads(said.stdout)
    assert told == {
        "file": str(file),
        "size_bytes": file.stat().st_size,
        "parts": [part.title for part in web.parts()],
    }
    assert (
        at_once("--memory", str(demo), "care", "report", str(demo / "memory.db"), "--yes").exit_code
        == 1
    )
    assert (
        at_once(
            "--memory", str(tmp_path / "nowhere"), "care", "report", str(tmp_path / "other.html")
        ).exit_code
        == 1
    )
    assert not (tmp_path / "other.html").exists()


def test_an_empty_memory_has_a_report_too(tmp_path: Path) -> None:
    with Memory(tmp_path / "brain", "default", checkout=False):
        pass
    text = made(tmp_path / "brain", tmp_path / "report.html")
    assert "has no records yet" in text


def test_one_that_would_be_too_large_is_refused(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REPORT_BYTES_MAX", 10_000)
    reader = Caller("report", "read")
    gate = Gate(lambda name: Memory(demo, name, checkout=False), None, open_to=reader)
    try:
        with pytest.raises(ValueError, match="a shorter time"):
            web.report(Ask(gate, reader, "default"), "30d")
    finally:
        gate.close()


def test_without_the_extra_it_says_what_to_install(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    said = at_once("--memory", str(demo), "care", "report", str(tmp_path / "report.html"))
    assert said.exit_code == 1
    assert "pip install '.[serve]'" in said.stderr
    assert not (tmp_path / "report.html").exists()


def test_its_times_are_those_of_the_dashboard() -> None:
    assert get_args(TimeRange) == tuple(RANGES)
