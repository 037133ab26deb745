"""The pages of lessons and of the context lab: what is known is listed, judged and told."""

from __future__ import annotations

import html
import re

import httpx
import pytest

from hardwon import Memory, limits
from hardwon.tell.advice import Advice
from hardwon.text.tokens import count_tokens
from serving import PROJECT, Browser, Served, signed_in

LESSONS = f"/ui/{PROJECT}/lessons"
LAB = f"/ui/{PROJECT}/lab"
LOCKED = "OperationalError: database is locked"


@pytest.fixture
def running(served_anew: Served) -> Served:
    return served_anew


def judge(browser: Browser, verdict: str, lesson_id: str) -> httpx.Response:
    return browser.post(LESSONS, csrf=browser.csrf(), verdict=verdict, id=lesson_id)


def learn(memory: Memory, failure: str, cure: str) -> str:
    """The id of the lesson that a run teaches in which this made the failure go away."""
    told = (("pytest -x", failure), (cure, ""), ("pytest -x", "12 passed in 3 s"))
    steps = [{"action": did, "observation": said, "ok": said != failure} for did, said in told]
    memory.record_trajectory("make the tests pass", steps, 1.0)
    (lesson,) = memory.lessons(about=failure)
    return lesson.id


def test_lessons_are_listed_and_found_by_the_failure(running: Served) -> None:
    first = learn(running.memory, LOCKED, "sed -i s/DELETE/WAL/ settings.py")
    second = learn(running.memory, "KeyError: 'DATABASE_URL'", "echo DATABASE_URL=x > .env")
    learn(running.memory, LOCKED, "sed -i s/DELETE/WAL/ settings.py")
    browser = signed_in(running, "read")
    page = browser.get("lessons")
    assert page.index(first[:5]) < page.index(second[:5]), "the newest first"
    assert ">2 of 2</a>" in page
    for record in running.memory.why(first).runs:
        assert f'href="/ui/{PROJECT}/record/{record.record_id}"' in page
    running.memory.right(second)
    strongest = browser.get("lessons?order=strongest")
    assert strongest.index(second[:5]) < strongest.index(first[:5]), "what a person called true"
    about = browser.get(f"lessons?about={LOCKED}")
    assert first[:5] in about
    assert second[:5] not in about
    nothing = browser.get("lessons?about=PermissionError: no")
    assert "Nothing is known that was tried against this failure." in nothing


def test_a_lesson_is_called_false_and_that_is_taken_back(running: Served) -> None:
    lesson = learn(running.memory, LOCKED, "sed -i s/DELETE/WAL/ settings.py")
    browser = signed_in(running, "govern")
    denied = judge(browser, "wrong", lesson)
    assert "Never told again: " in denied.text
    assert "It is true after all" in denied.text
    assert running.memory.lessons(about=LOCKED) == []
    assert "True: " in judge(browser, "right", lesson).text
    assert [known.verdict for known in running.memory.lessons(about=LOCKED)] == ["right"]
    assert judge(browser, "maybe", lesson).status_code == 422
    assert judge(browser, "wrong", "zzzzz").status_code == 404


def test_who_may_only_read_sees_lessons_and_judges_none(running: Served) -> None:
    lesson = learn(running.memory, LOCKED, "sed -i s/DELETE/WAL/ settings.py")
    for scope in ("read", "write"):
        browser = signed_in(running, scope)
        page = browser.get(f"lessons?judged={lesson}")
        assert 'name="verdict"' not in page
        assert "lessons.js" not in page
        assert judge(browser, "wrong", lesson).status_code == 403
    browser = signed_in(running, "govern")
    assert 'name="verdict" value="wrong"' in browser.get("lessons")
    forged = browser.post(LESSONS, csrf="another", verdict="wrong", id=lesson)
    assert forged.status_code == 403
    assert [known.verdict for known in running.memory.lessons(about=LOCKED)] == [""]


def test_the_lab_shows_the_very_text_and_where_each_line_comes_from(running: Served) -> None:
    text = "the nightly upload timed out after 30 s"
    record = running.memory.remember(text, "failure", "file_operation", author="night-shift")
    browser = signed_in(running, "read")
    page = browser.get("lab?q=nightly+upload+timed+out&budget=300")
    shown = re.search(r'<pre class="exact"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert shown
    text = html.unescape(shown[1])
    mark = re.compile("[0-9a-f]{16}")
    context = running.memory.context("nightly upload timed out", budget_tokens=300)
    assert mark.sub("", text) == mark.sub("", context.text)
    assert f"<strong>{count_tokens(text)}</strong> of 300 tokens" in page
    assert f'href="/ui/{PROJECT}/record/{record.id}"' in page
    assert context.sources[0] == context.sources[-1] == ()
    assert len(context.sources) == len(context.text.split("\n"))
    assert (record.id,) in context.sources


def test_the_lab_advises_on_an_action(running: Served) -> None:
    task, action = "get the upload through", "raise the timeout"
    step = {"action": action, "observation": "E   TimeoutError: 30 s", "reward": 0.0}
    for _ in range(2):
        running.memory.record_trajectory(task, [step], 0.0)
    browser = signed_in(running, "read")
    advice: Advice = running.memory.advise(action, task=task)
    page = browser.get("lab?q=get+the+upload+through&action=raise+the+timeout")
    assert f">{advice.verdict}</span>" in page
    assert html.escape(advice.message, quote=False).split("&")[0][:40] in page
    assert all(f"/record/{each}" in page for each in advice.evidence[:5])


def test_the_lab_begins_with_a_form_and_refuses_what_is_too_much(running: Served) -> None:
    browser = signed_in(running, "read")
    assert "There are no records yet" in browser.get("lab")
    running.memory.remember("something", "success", "file_operation")
    assert "Say what an agent is about to do" in browser.get("lab")
    assert "the memory has nothing to say about it" in browser.get("lab?q=zebra")
    for wrong in ("budget=0", "budget=x", f"budget={limits.CONTEXT_TOKENS_MAX + 1}"):
        browser.get(f"lab?q=a&{wrong}", 422)
    assert browser.post(LAB, csrf=browser.csrf()).status_code == 405
