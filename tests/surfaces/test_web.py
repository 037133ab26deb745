"""The dashboard as a browser sees it: who is let in, what a form may do, what pages show."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from cases import each
from command_line import BUILT, COMMANDS, at_once
from hardwon import Memory, limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import STATUSES
from hardwon.surfaces.rest.guard import WEB_FORM_BYTES_MAX
from hardwon.surfaces.rest.problems import parse_pairs
from hardwon.surfaces.web import pages as look
from hardwon.surfaces.web.pages import Sessions
from hardwon.surfaces.web.site import COOKIE
from hardwon.trust.access import Caller
from serving import PROJECT, Browser, Served, served, signed_in

OVERVIEW = f"/ui/{PROJECT}/overview"
HOSTILE_NAME = "</script><script>alert(3)</script><img src=x onerror=alert(4)>\"'&{{7*7}}"
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}\u202e\x07\u2028"
)


@pytest.fixture
def running(served_anew: Served) -> Served:
    return served_anew


def cookie_of(running: Served) -> str:
    return f"{COOKIE}_{running.url.rpartition(':')[2]}"


def test_who_asks_for_a_page_signs_in_and_then_sees_it(running: Served) -> None:
    browser = Browser(running)
    asked = browser.http.get(f"{OVERVIEW}?range=7d")
    assert asked.url.path == "/ui/sign-in"
    assert f'value="{OVERVIEW}?range=7d"' in asked.text
    shown = browser.sign_in(running.token(), f"{OVERVIEW}?range=7d")
    assert (shown.status_code, str(shown.url)) == (200, f"{running.url}{OVERVIEW}?range=7d")
    assert "Sign out" in shown.text


def test_the_cookie_says_nothing_and_goes_nowhere_else(running: Served) -> None:
    browser = Browser(running)
    browser.http.follow_redirects = False
    secret = running.token()
    given = browser.sign_in(secret).headers["set-cookie"]
    cookie = rf"{cookie_of(running)}=[\w-]{{43}}; HttpOnly; Path=/ui; SameSite=lax"
    assert re.fullmatch(cookie, given)
    assert secret not in given


def test_two_servers_of_a_machine_share_a_browser(tmp_path: Path) -> None:
    with served(tmp_path / "a") as one, served(tmp_path / "b") as other:
        browser, origin = signed_in(one), {"Origin": other.url}
        token = {"token": other.token()}
        browser.http.post(f"{other.url}/ui/sign-in", data=token, headers=origin)
        assert set(browser.http.cookies) == {cookie_of(one), cookie_of(other)}
        assert browser.http.get(OVERVIEW).url.path == OVERVIEW
        assert browser.http.get(other.url + OVERVIEW).url.path == OVERVIEW


def test_a_wrong_token_gets_the_same_page_and_no_session(running: Served) -> None:
    browser = Browser(running)
    for wrong in ("", "hwt_none", "é", running.token()[:-1]):
        answer = browser.sign_in(wrong)
        assert answer.status_code == 403
        assert "lets nobody in" in answer.text
        assert "set-cookie" not in answer.headers
        assert not wrong or wrong not in answer.text
    assert browser.http.get(OVERVIEW).url.path == "/ui/sign-in"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/ui/", "//evil.example/ui/", "/\\evil.example", "/ui/\\evil",
        "/api/v1/projects", "/ui/sign-in", "/ui/\r\nX: y",
    ],
)  # fmt: skip
def test_nobody_is_sent_elsewhere_after_signing_in(running: Served, elsewhere: str) -> None:
    browser = Browser(running)
    browser.http.follow_redirects = False
    answer = browser.sign_in(running.token(), elsewhere)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/")


def test_signing_out_ends_the_session_for_good(running: Served) -> None:
    browser = signed_in(running)
    held = browser.http.cookies[cookie_of(running)]
    assert browser.post("/ui/sign-out", csrf=browser.csrf()).url.path == "/ui/sign-in"
    again = running.client(None, Cookie=f"{cookie_of(running)}={held}").get(OVERVIEW)
    assert again.status_code == 303


def test_a_revoked_token_ends_its_sessions_at_once(running: Served) -> None:
    made = running.memory.tokens.create("leaver", "read")
    browser = Browser(running)
    assert browser.sign_in(made.secret, OVERVIEW).url.path == OVERVIEW
    running.memory.tokens.revoke(made.token.id)
    assert browser.http.get(OVERVIEW).url.path == "/ui/sign-in"
    assert browser.http.get(f"/ui/{PROJECT}/changes").status_code == 401


def test_sessions_end_when_idle_and_after_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    first = sessions.begin("x")
    now[0] += limits.WEB_SESSION_IDLE_S - 1
    assert sessions.find(first.name) is first
    now[0] += limits.WEB_SESSION_IDLE_S + 1
    assert sessions.find(first.name) is None
    busy = sessions.begin("y")
    for _ in range(int(limits.WEB_SESSION_S_MAX / limits.WEB_SESSION_IDLE_S) + 1):
        now[0] += limits.WEB_SESSION_IDLE_S - 1
        sessions.find(busy.name)
    assert sessions.find(busy.name) is None
    monkeypatch.setattr("hardwon.surfaces.web.pages.WEB_SESSIONS_MAX", 2)
    names = [sessions.begin(None).name for _ in range(3)]
    assert [sessions.find(name) is not None for name in names] == [False, True, True]


def test_where_no_token_is_asked_for_the_session_makes_itself(tmp_path: Path) -> None:
    with served(tmp_path, open_to=Caller("anonymous", "admin")) as running:
        browser = Browser(running)
        shown = browser.http.get("/")
        assert shown.url.path == OVERVIEW
        assert cookie_of(running) in browser.http.cookies
        assert "Sign out" not in shown.text
        assert browser.post("/ui/sign-out", csrf="").status_code == 403


def test_a_form_needs_its_session_s_token_and_our_own_origin(running: Served) -> None:
    browser, other = signed_in(running), signed_in(running)
    csrf = browser.csrf()
    for wrong in ("", other.csrf(), csrf + "x", "é"):
        assert browser.post("/ui/sign-out", csrf=wrong).status_code == 403
    assert browser.post("/ui/sign-out", other="x").status_code == 403
    for headers in ({}, {"Origin": "null"}, {"Origin": "https://evil.example"}):
        answer = browser.http.post("/ui/sign-out", data={"csrf": csrf}, headers=headers).status_code
        assert answer == 403
    cross = {"Origin": running.url, "Sec-Fetch-Site": "cross-site"}
    assert browser.http.post("/ui/sign-out", data={"csrf": csrf}, headers=cross).status_code == 403
    sent = browser.http.post("/ui/sign-out", json={"csrf": csrf}, headers={"Origin": running.url})
    assert sent.status_code == 415
    assert browser.http.get(OVERVIEW).url.path == OVERVIEW, "nobody was signed out"


def test_a_foreign_page_cannot_sign_somebody_in(running: Served) -> None:
    browser = Browser(running)
    answer = browser.http.post("/ui/sign-in", data={"token": running.token()})
    assert answer.status_code == 403
    assert not browser.http.cookies


def test_forms_are_bounded(running: Served) -> None:
    browser = signed_in(running)
    assert browser.post("/ui/sign-out", csrf="x" * WEB_FORM_BYTES_MAX).status_code == 413
    with pytest.raises(InvalidInputError, match="at most 2 fields"):
        parse_pairs(b"a=1&b=2&c=3", 2, "form")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        parse_pairs(b"a=%ff", 2, "form")


def test_a_page_that_changes_nothing_takes_no_form(running: Served) -> None:
    browser = signed_in(running)
    answer = browser.post(OVERVIEW, csrf=browser.csrf())
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


def test_pages_have_their_headers(running: Served) -> None:
    answer = signed_in(running).http.get(OVERVIEW)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    # with no-referrer, forms would come from the origin null
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_files_are_kept_by_browsers_and_no_others_are_served(running: Served) -> None:
    nobody = running.client(None)
    page = nobody.get("/ui/sign-in").text
    for address in re.findall(r'(?:href|src)="(/ui/static/[^"]+)"', page):
        answer = nobody.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    for name in ("app.css", "..%2Fsite.py", "site.py", "none.css"):
        assert nobody.get(f"/ui/static/x/{name}").status_code == 404
    plain = nobody.get(look.asset_url("app.css"), headers={"Accept-Encoding": "identity"})
    assert plain.text == (look.HERE / "static" / "app.css").read_text()


def fill(running: Served) -> None:
    memory = running.memory
    memory.remember(HOSTILE, "failure", tool="unknown", author=HOSTILE_NAME, tags=[HOSTILE_NAME])
    issue = {"model": HOSTILE_NAME, "issue_type": HOSTILE_NAME, "description": HOSTILE}
    for works in (True, False, False):
        memory.record_fix(issue, works, works, fix_commands=[HOSTILE], analysis=HOSTILE)
    memory.record_episode("task", 0.9, successes=[HOSTILE], mistakes=[HOSTILE])
    memory.record_fact(HOSTILE, "error")
    step = {"action": HOSTILE, "observation": HOSTILE, "reward": 0.1}
    memory.record_trajectory(HOSTILE, [step], 1.0)


def test_the_overview_counts_what_there_is(running: Served) -> None:
    fill(running)
    page = signed_in(running).http.get(OVERVIEW).text
    assert re.search(r'class="figure">7</span><span>records in all', page)
    # a fix, an episode and a trajectory of six
    assert re.search(r'class="figure">50 %</span><span>went well</span><span [^>]*>3 of 6 ', page)
    assert f'href="/ui/{PROJECT}/search?outcome=failure"' in page


def test_the_map_leads_from_outcome_to_tool_to_key(running: Served) -> None:
    for error in ("runtime", "runtime", "syntax"):
        content = f"a {error} error"
        running.memory.remember(content, "failure", "code_interpreter", error_type=error)
    running.memory.remember("use UTC", "learning", insight_type="fact")
    http = signed_in(running).http
    page = http.get(OVERVIEW).text
    levels = "outcome=failure", "tool=code_interpreter", "key=error_type%3Druntime"
    for depth, shown in enumerate(
        ("failure</span> <b>3", "code_interpreter</span> <b>3", "runtime</span> <b>2")
    ):
        asked = "&amp;".join(("range=all", "kind=experience", *levels[: depth + 1]))
        assert f'search?{asked}"><span>{shown}</b>' in page
    assert "67 %, " in page
    found = http.get(f"/ui/{PROJECT}/search?kind=experience&range=all&{levels[2]}").text
    assert found.count("a runtime error") >= 2
    assert "a syntax error" not in found


@pytest.mark.parametrize(
    "address", [f"/ui/{PROJECT}/none", "/ui/a/b/c/d", f"/ui/{PROJECT}/overview%2Fx"]
)
def test_what_is_not_there_is_told_on_a_page(running: Served, address: str) -> None:
    answer = signed_in(running).http.get(address)
    assert answer.status_code == 404
    assert "To the overview" in answer.text


def test_a_project_beyond_reach_is_refused_and_not_named(running: Served) -> None:
    running.memory.remember("x", "failure", tool="unknown")
    browser = signed_in(running, "read", ["elsewhere"])
    answer = browser.http.get(OVERVIEW)
    assert answer.status_code == 403
    assert f">{PROJECT}<" not in answer.text
    assert f'href="/ui/{PROJECT}' not in answer.text
    assert 'href="/ui/elsewhere/search"' in answer.text
    home = browser.http.get("/ui/")
    assert home.url.path == "/ui/elsewhere/overview"
    assert f">{PROJECT}<" not in home.text
    assert browser.http.get(f"/ui/{PROJECT}/changes").status_code == 403


def test_the_mark_changes_with_records_and_decisions(running: Served) -> None:
    browser = signed_in(running)

    def mark() -> str:
        return str(browser.http.get(f"/ui/{PROJECT}/changes").json()["mark"])

    marks = [mark()]
    record = running.memory.remember("x", "failure", tool="unknown")
    marks.append(mark())
    running.memory.archive(record.id, "gone")
    marks.append(mark())
    running.memory.forget([record.id])
    marks.append(mark())
    assert len(set(marks)) == 4
    assert mark() == marks[-1]


def test_the_demo_has_everything_and_is_made_once(tmp_path: Path) -> None:
    place = str(tmp_path / "demo")
    made = at_once("--memory", place, "demo", "--json")
    assert made.exit_code == 0, made.output
    records = json.loads(made.output)["records"]
    assert set(records) == {"experience", "fact", "fix", "episode", "trajectory"}
    with Memory(place, checkout=False) as memory:
        assert len(memory.stats().by_author) >= 4
        assert memory.rules(state="active")
        assert memory.cards()
        assert memory.stats().by_status.keys() >= set(STATUSES)
    again = at_once("--memory", place, "demo")
    assert again.exit_code == 1
    assert "has records already" in again.output


def test_the_demo_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    days = json.loads(at_once("demo", "--json").output)
    worked = [[attempt["worked"] for attempt in day] for day in days]
    assert worked == [[False, False, True], [True], [True]]
    assert "“./deploy --region eu”" in days[2][0]["warning"]
    assert list(tmp_path.iterdir()) == []


def _shown_on_pages() -> list[str]:
    """The commands that pages tell people to type; a name alone only speaks of one."""
    pages = (look.HERE / "templates").glob("*.html")
    told = "\n".join(page.read_text() for page in pages)
    shown = list(map(html.unescape, re.findall(r"<code>hardwon ([^<]+)</code>", told)))
    return sorted({line for line in shown if line not in COMMANDS})


@each("line", _shown_on_pages())
def test_the_commands_that_pages_show_can_be_typed(line: str) -> None:
    words = shlex.split(line)
    length = 2 if " ".join(words[:2]) in BUILT else 1
    name = " ".join(words[:length])
    assert BUILT[name].make_context(name, words[length:]).params
