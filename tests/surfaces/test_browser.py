"""The dashboard in a real Chromium: by mouse and keys, on a phone, dark, full of hostile text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from browsing import DESKTOP, HOSTILE, PHONE, Visitor, browser, fill_with_hostile_records, visitor
from hardwon import Memory
from hardwon.records.kinds import AnyRecord, Kind
from hardwon.surfaces.web import learning, overview
from hardwon.surfaces.web.site import PLACES
from hardwon.tree.datasets.demo import fill_demo as fill
from hardwon.trust.access import Scope
from serving import PROJECT, Served, served
from test_web_learning import LOCKED, learn

HOSTILE_PROJECT = "hostile"
LAB = "q=upload+timed+out&task_id=resume_upload&issue_type=TIMEOUT&action=raise+the+timeout"
VARIANTS = {
    "overview": ["?range=all"],
    "progress": ["?range=all", "?range=all&by=task"],
    "lessons": ["", "?order=strongest&judged=abc12"],
    "search": ["", "?q=upload+timed+out&range=all&at={experience}", "?since=nonsense"],
    "fixes": ["?range=all&issue_type=TIMEOUT"],
    "lab": ["", f"?{LAB}"],
    "record": ["/{fact}", "/{fix}", "/{episode}", "/{trajectory}", "/none"],
}
"""What comes after each page's name; names of kinds stand for records' ids."""

ADDRESSES = [place.name + variant for place in PLACES for variant in VARIANTS[place.name]]


class World:
    """A browser, a server with a demo memory and a hostile one, and cookies."""

    def __init__(self, started: Browser, running: Served, hostile: list[AnyRecord]) -> None:
        self.browser, self.running, self.hostile = started, running, hostile
        self._cookies: dict[Scope, Any] = {}

    def cookies(self, scope: Scope) -> Any:
        if scope not in self._cookies:
            with visitor(self.browser, self.running.url) as somebody:
                # to a page without charts
                sign_in(somebody.open(f"/ui/{PROJECT}/lab"), self.running.token(scope))
                self._cookies[scope] = somebody.context.storage_state()
        return self._cookies[scope]

    def visit(self, scope: Scope | None = "admin", **options: Any) -> Any:
        state = {"storage_state": self.cookies(scope)} if scope else {}
        return visitor(self.browser, self.running.url, **state, **options)

    def address(self, template: str, project: str = PROJECT) -> str:
        return f"/ui/{project}/{template.format(**self.ids(project))}"

    def ids(self, project: str) -> dict[str, str]:
        kinds: tuple[Kind, ...] = ("experience", "fact", "fix", "episode", "trajectory")
        if project == HOSTILE_PROJECT:
            return {record.kind: record.id for record in reversed(self.hostile)}
        browse = self.running.memory.browse
        return {kind: next(browse(1, kind=kind, status="hypothesis")).id for kind in kinds}


def sign_in(page: Page, secret: str) -> None:
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as open_:
        # long lists are many rows of one sort, and axe-core looks at each of them for long
        patch = open_.enter_context(pytest.MonkeyPatch.context())
        patch.setattr("hardwon.surfaces.web.records.WEB_RESULTS", 8)
        patch.setattr(overview, "_SHOWN", 5)
        patch.setattr(learning, "_STRATEGIES", 4)
        for name in ("_LESSONS_SHOWN", "_RULES_SHOWN", "_CARDS_SHOWN"):
            patch.setattr(learning, name, 6)
        started = open_.enter_context(browser())
        running = open_.enter_context(served(tmp_path_factory.mktemp("browsed")))
        fill(running.memory)
        learn(running.memory, LOCKED, "sed -i s/DELETE/WAL/ settings.py")
        learn(running.memory, "KeyError: 'DATABASE_URL'", "echo DATABASE_URL=x > .env")
        with Memory(running.memory.location, HOSTILE_PROJECT, checkout=False) as memory:
            hostile = fill_with_hostile_records(memory)
        yield World(started, running, hostile)


@pytest.fixture(scope="module")
def reading(world: World) -> Iterator[Visitor]:
    """Somebody who goes through many pages, with a cache."""
    with world.visit() as somebody:
        yield somebody


@pytest.fixture
def admin(browsing: Visitor) -> Iterator[Visitor]:
    yield browsing
    browsing.expect_no_complaints()


@pytest.fixture
def browsing(reading: Visitor) -> Visitor:
    reading.forget_complaints()
    reading.page.goto("about:blank")
    reading.page.emulate_media(color_scheme="light")
    reading.page.set_viewport_size(DESKTOP)
    return reading


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_is_sound_dark_and_on_a_phone(world: World, browsing: Visitor, address: str) -> None:
    refused = {"record/none": 404, "search?since=nonsense": 422}.get(address, 200)
    page = browsing.open(world.address(address), refused)
    assert page.locator("h1").count() == 1
    assert page.evaluate(UNDRAWN) == []
    assert browsing.serious_issues() == []
    page.emulate_media(color_scheme="dark")
    assert browsing.serious_issues("color-contrast") == [], "in the dark"
    page.set_viewport_size(PHONE)
    browsing.expect_no_wider_page()
    unexpected = [one for one in browsing.complaints if refused == 200 or str(refused) not in one]
    assert unexpected == []


# Charts without a name, or with nothing drawn.
UNDRAWN = """() => Array.from(document.querySelectorAll('[data-chart]'))
    .filter((each) => !each.getAttribute('aria-label') || !each.querySelector('.dot, rect, td a'))
    .map((each) => each.id)"""


def test_every_page_is_reached_by_the_navigation(admin: Visitor) -> None:
    request = admin.context.request
    assert request.get(f"{admin.url}/").url.endswith(f"/ui/{PROJECT}/overview")
    links = admin.open(f"/ui/{PROJECT}/lab").get_by_role("navigation", name="Pages")
    for place in PLACES:
        if place.listed:
            link = links.get_by_role("link", name=place.title, exact=True)
            reached = request.get(f"{admin.url}{link.get_attribute('href')}")
            assert f'aria-current="page">{place.title}</a>' in reached.text()


def test_signing_in_with_a_wrong_and_a_right_token_and_out_again(world: World) -> None:
    with world.visit(None) as somebody:
        page = somebody.open(f"/ui/{PROJECT}/lab?range=7d")
        expect(page.get_by_label("Token")).to_be_focused()
        sign_in(page, "hwt_wrong")
        expect(page.get_by_role("alert")).to_have_text("That token lets nobody in.")
        assert somebody.serious_issues() == []
        page.emulate_media(color_scheme="dark")
        assert somebody.serious_issues("color-contrast") == [], "in the dark"
        assert [each for each in somebody.forget_complaints() if "403" not in each] == []
        sign_in(page, world.running.token("read"))
        expect(page).to_have_url(re.compile(r"/lab\?range=7d$"))
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        page.go_back()
        expect(page.get_by_label("Token")).to_be_visible()
        somebody.expect_no_complaints()


def test_a_search_is_narrowed_and_its_address_can_be_shared(world: World, admin: Visitor) -> None:
    page = admin.open(f"/ui/{PROJECT}/search?range=all")
    page.get_by_role("searchbox").fill("database is locked")
    page.get_by_role("button", name="Search").click()
    for chip in ("failure", "experience"):
        page.locator("form.search").get_by_role("link", name=chip, exact=True).click()
    found = page.locator("ol.hits > li")
    expect(found.first).to_contain_text("database is locked")
    assert found.locator("mark").count()
    assert set(found.locator(".badges .badge:nth-child(2)").all_inner_texts()) == {"failure"}
    asked = parse_qs(urlsplit(page.url).query)
    assert asked["outcome"] + asked["kind"] + asked["range"] == ["failure", "experience", "all"]
    titles = found.get_by_role("heading").all_inner_texts()
    with world.visit("read") as other:
        shared = other.open(page.url.removeprefix(world.running.url))
        assert shared.locator("ol.hits > li").get_by_role("heading").all_inner_texts() == titles
        other.expect_no_complaints()
    found.first.get_by_role("link").first.click()
    beside = page.get_by_role("article", name="The record")
    expect(beside.get_by_role("heading", name="Its life")).to_be_visible()
    assert beside.locator("mark").count()
    expect(page.locator(".hit.chosen")).to_have_count(1)
    page.get_by_role("link", name="Without outcome failure").click()
    expect(page.locator("form.search .chip.chosen")).to_contain_text("experience")


def test_the_range_and_the_project_are_switched_everywhere(admin: Visitor) -> None:
    page = admin.open(f"/ui/{PROJECT}/search")
    page.get_by_role("navigation", name="Time range").get_by_role("link", name="7 d").click()
    expect(page.locator(".ranges [aria-current=true]").first).to_have_text("7 d")
    page.get_by_role("link", name="Context lab").click()
    expect(page).to_have_url(re.compile(r"/lab\?range=7d"))
    page.get_by_label("Project").select_option(label=HOSTILE_PROJECT)
    expect(page).to_have_url(re.compile(rf"/ui/{HOSTILE_PROJECT}/lab\?range=7d"))


def first_id(page: Page) -> str:
    return str(page.locator("[data-item] input[name=id]").first.get_attribute("value"))


def find_verdict(world: World, lesson_id: str) -> str:
    return world.running.memory.why(lesson_id).lesson.verdict


def test_lessons_are_judged_with_keys(world: World, admin: Visitor) -> None:
    page = admin.open(f"/ui/{PROJECT}/lessons")
    lesson = first_id(page)
    page.keyboard.press("j")
    expect(page.locator("[data-item].at")).to_have_count(1)
    with page.expect_navigation():
        page.keyboard.press("f")
    expect(page.locator(".flash")).to_contain_text("Never told again")
    assert find_verdict(world, lesson) == "wrong"
    assert first_id(page) != lesson
    with page.expect_navigation():
        page.keyboard.press("z")
    assert find_verdict(world, lesson) == "right"
    page.get_by_label("A failure, as it was seen").fill("f t j")
    assert find_verdict(world, lesson) == "right"


def test_another_site_cannot_send_a_form(world: World) -> None:
    """With the cookie of somebody who is signed in, from another origin on the machine."""
    target = f"{world.running.url}/ui/{PROJECT}/lessons"
    with world.visit() as somebody:
        page = somebody.open(f"/ui/{PROJECT}/lessons")
        lesson = first_id(page)
        before = find_verdict(world, lesson)
        csrf = page.locator("input[name=csrf]").first.get_attribute("value")
        fields = {"csrf": str(csrf), "id": lesson, "verdict": "wrong"}
        form = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
        evil = f'<form method="post" action="{target}">{form}<button>go</button></form>'
        page_of_theirs = {"content_type": "text/html", "body": evil}
        address = "http://evil.localhost/"
        somebody.context.route(address, lambda route: route.fulfill(**page_of_theirs))
        somebody.page.goto(address)
        with somebody.page.expect_navigation() as answer:
            somebody.page.get_by_role("button", name="go").click()
        assert answer.value.status == 403
    assert find_verdict(world, lesson) == before


def test_open_pages_follow(world: World, admin: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.surfaces.web.site.WEB_POLL_S", 0.2)
    page = admin.open(f"/ui/{PROJECT}/overview?range=7d")
    page.locator("summary").first.click()
    world.running.memory.remember("the moon is full tonight", "failure", tool="unknown")
    expect(page.get_by_role("link", name="the moon is full tonight").first).to_be_visible()
    expect(page.locator("#announce")).to_have_text("The page was brought up to date.")
    expect(page.locator("details").first).to_have_attribute("open", "")


def colours_of(page: Page) -> tuple[str, str]:
    """Of the page's ground, and of a line that is drawn on it."""
    style = "(path, name) => getComputedStyle(document.querySelector(path))[name]"
    read, line = f"([path, name]) => ({style})(path, name)", ["polyline", "stroke"]
    body = page.evaluate(read, ["body", "backgroundColor"])
    return str(body), str(page.evaluate(read, line))


def test_the_dark_switch_is_kept(admin: Visitor, request: pytest.FixtureRequest) -> None:
    page = admin.open(f"/ui/{PROJECT}/overview")
    request.addfinalizer(lambda: page.evaluate("localStorage.clear()"))
    before = colours_of(page)
    page.get_by_role("button", name="Dark or light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = colours_of(page)
    assert not set(dark) & set(before)
    page.reload()
    assert colours_of(page) == dark
    assert page.get_by_role("button", name="Dark or light").get_attribute("aria-pressed") == "true"


def column(page: Page, table: str, place: int) -> list[str]:
    cells = page.locator(f"[data-table='{table}'] tbody tr:visible td:nth-child({place})")
    return [each.replace(",", "") for each in cells.all_inner_texts()]


def test_tables_are_sorted_filtered_and_taken_away(admin: Visitor) -> None:
    name = "Model and issue type"
    page = admin.open(f"/ui/{PROJECT}/fixes?range=all")
    table = page.locator(f"[data-table='{name}']")
    if not table.is_visible():
        table.locator("xpath=ancestor::details/summary").click()
    for ascending in (False, True):
        table.get_by_role("button", name="Attempts").click()
        numbers = [int(each) for each in column(page, name, 3)]
        assert numbers == sorted(numbers, reverse=not ascending)
        order = "ascending" if ascending else "descending"
        expect(table.locator("th[aria-sort]")).to_have_attribute("aria-sort", order)
    page.get_by_label(f"Filter rows of {name}").fill("TIMEOUT")
    models = column(page, name, 1)
    assert models
    assert set(column(page, name, 2)) == {"TIMEOUT"}
    with page.expect_download() as started:
        page.get_by_role("button", name=f"Download {name} as CSV").click()
    text = started.value.path().read_text("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][:2] == ["Model", "Issue type"]
    assert [row[0] for row in rows[1:]] == models


def test_the_menu_on_a_phone(world: World) -> None:
    with world.visit(viewport=PHONE, has_touch=True, is_mobile=True) as somebody:
        page = somebody.open(f"/ui/{PROJECT}/search")
        link = page.get_by_role("link", name="Context lab")
        expect(link).to_be_hidden()
        page.locator("label[for=menu]").tap()
        expect(link).to_be_visible()
        link.tap()
        expect(page).to_have_url(re.compile("/lab$"))
        somebody.expect_no_wider_page()
        somebody.expect_no_complaints()


STOP = """() => {
    const at = document.activeElement;
    if (at === document.body) { return null; }
    if (!at.dataset.stop) { window.stops = (window.stops || 0) + 1; at.dataset.stop = String(window.stops); }
    const told = [at].concat(Array.from(at.labels || [])).some((each) => getComputedStyle(each).outlineStyle !== 'none');
    return [at.dataset.stop, at.matches(':focus-visible') && told, at.outerHTML.slice(0, 120)]; }"""
UNREACHED = """() => {
    const all = document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary');
    return Array.from(all)
        .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled && !each.dataset.stop)
        .filter((each) => each.type !== 'radio').map((each) => each.outerHTML.slice(0, 160)); }"""


@pytest.mark.parametrize("name", ["lessons", "search?q=upload"])
def test_everything_is_reached_and_seen_with_tab_alone(admin: Visitor, name: str) -> None:
    page = admin.open(f"/ui/{PROJECT}/{name}")
    page.keyboard.press("Tab")
    expect(page.locator("a.skip")).to_be_focused()
    expect(page.locator("a.skip")).to_be_in_viewport()
    for _ in range(600):
        stop = page.evaluate(STOP)
        if stop is None:
            break
        assert stop[1], f"nobody sees that this has the focus: {stop[2]}"
        page.keyboard.press("Tab")
    else:
        raise AssertionError("the focus never left the page")
    assert page.evaluate(UNREACHED) == []


FOREIGN = """() => {
    const found = Array.from(document.body.querySelectorAll('img, iframe, object, embed, base, meta[http-equiv]'));
    found.push(...document.body.querySelectorAll('script:not([src]):not([type="application/json"])'));
    for (const each of document.body.querySelectorAll('*')) {
        for (const { name, value } of each.attributes) {
            const leads = ['href', 'xlink:href', 'src', 'action', 'formaction'].includes(name);
            const drawn = each.namespaceURI.endsWith('svg') && /^(url|data:image\\/png)/.test(value);
            const ours = drawn || /^(\\/ui\\/|#|$)/.test(value);
            if (name.startsWith('on') || (leads && !ours)) { found.push(each); }
        }
    }
    return found.map((each) => each.outerHTML.slice(0, 200)); }"""


def hostile_addresses() -> list[str]:
    asked = urlencode(dict.fromkeys(("q", "action", "task_id"), HOSTILE[0]))
    filters = ({"tool": HOSTILE[0]}, {"since": HOSTILE[1]})
    own = [f"lab?{asked}", f"search?{asked}", *(f"search?{urlencode(each)}" for each in filters)]
    left_out = ("none", "nonsense", "record/")  # of records the next test shows each
    return [each for each in ADDRESSES if not any(word in each for word in left_out)] + own


@pytest.mark.parametrize("address", hostile_addresses())
def test_hostile_text_is_shown_as_text(world: World, browsing: Visitor, address: str) -> None:
    refused = 422 if "since=" in address else 200
    page = browsing.open(world.address(address, HOSTILE_PROJECT), refused)
    for chart in page.locator("[data-chart]").all():
        chart.hover()
    assert page.evaluate(FOREIGN) == []
    assert address in UNTOUCHED or "{{7*7}}" in page.locator("main").inner_html()
    page.set_viewport_size(PHONE)
    browsing.expect_no_wider_page()
    assert [each for each in browsing.complaints if refused == 200 or "422" not in each] == []


UNTOUCHED = ("lab", f"lab?{LAB}")
"""Pages that show no record's text: nothing is asked, or what is asked for is not found there."""


def test_every_record_shows_all_that_it_says(world: World, browsing: Visitor) -> None:
    browsing.page.set_viewport_size(PHONE)
    for record in world.hostile:
        page = browsing.open(f"/ui/{HOSTILE_PROJECT}/record/{record.id}")
        assert page.evaluate(FOREIGN) == []
        assert page.locator("main").inner_text().count("alert(") >= 3, record.kind
        browsing.expect_no_wider_page()
    browsing.expect_no_complaints()
