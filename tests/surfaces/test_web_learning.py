"""The pages about progress, lessons, fixes and the lab: what they count, list, judge and tell."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from hardwon import Memory, limits
from hardwon.tell.advice import Advice
from hardwon.text.tokens import count_tokens
from hardwon.trust.access import Caller
from serving import PROJECT, Browser, Served, served, signed_in, text_of
from short import fix, succeed

PAGES = ("fixes", "progress", "lessons")
OPEN = Caller("anonymous", "admin")
NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Browser]:
    with served(tmp_path, open_to=OPEN) as running:
        yield Browser(running)


def chart(page: str, name: str) -> str:
    """The part of the page that is this chart."""
    begin = rf'<div class="chart[^>]* data-chart="{name}"'
    end = '<details|<p class="quiet"|</section'
    found = re.search(rf"{begin}.*?(?={end})", page, flags=re.DOTALL)
    assert found, f"there is no chart {name}"
    return found[0]


def titles(page: str, name: str) -> list[str]:
    """What is told of the places of a chart."""
    titles = re.findall(r' title="([^"]+)"|<title>([^<]*)</title>', chart(page, name))
    return [html.unescape(one or other) for one, other in titles]


def row_with(page: str, words: str, table: str = "") -> list[str]:
    """The cells of the first row that has these words, in the table of that name."""
    if table:
        page = page[page.index(f'data-table="{table}"') :]
    for row in re.findall(r"<tr.*?</tr>", page, flags=re.DOTALL):
        cells = [text_of(cell) for cell in re.findall(r"<td.*?</td>", row, flags=re.DOTALL)]
        if any(words in cell for cell in cells):
            return cells
    raise AssertionError(f"no row has {words!r}")


def some_fixes(memory: Memory) -> None:
    at: dict[str, Any] = {"model": "alpha", "issue_type": "TIMEOUT", "timestamp": NOW}
    for _ in range(3):
        fix(memory, True, "send parts", fixer_type="codex", **at)
    for _ in range(2):
        fix(memory, False, "raise the limit", **at)
    on_beta = {**at, "model": "beta", "issue_type": "MEMORY"}
    fix(memory, False, "raise the limit", applied=False, **on_beta)
    fix(memory, True, "long ago", **{**at, "timestamp": NOW - timedelta(days=60)})


def test_applied_and_successful_are_counted_each_under_its_own_name(reader: Browser) -> None:
    some_fixes(reader.memory)
    page = text_of(reader.get("fixes"))
    assert "6 attempts in this time 7 in all" in page
    assert "83 % applied 5 in this time, 6 in all" in page
    assert "50 % success: applied and verified 3 in this time, 4 in all" in page
    whole = text_of(reader.get("fixes", range="all"))
    assert "7 attempts in this time 7 in all" in whole


def test_the_matrix_has_attempts_in_its_cells_and_leads_to_the_search(reader: Browser) -> None:
    some_fixes(reader.memory)
    page = reader.get("fixes")
    drawn = chart(page, "model-matrix")
    assert re.findall(r'<th scope="row">(\w+)', drawn) == ["alpha", "beta"]
    assert re.findall(r'<th scope="col">(\w+)', drawn) == ["TIMEOUT", "MEMORY"]
    cells = re.findall(r"<td(?: [^>]*)?>(.*?)</td>", drawn)[1:]
    assert [text_of(cell) for cell in cells] == ["6", "", "", "1"]
    query = "range=all&amp;kind=fix&amp;model=alpha&amp;issue_type=TIMEOUT"
    assert f'href="/ui/{PROJECT}/search?{query}"' in cells[0]
    assert "var(--good)" in drawn.partition("</td>")[2].partition("</td>")[0]
    told = "TIMEOUT on alpha: 6 attempts, 6 applied, 4 successful; next one succeeds:"
    assert titles(page, "model-matrix")[0].startswith(told)
    row = row_with(page, "alpha", "Model and issue type")
    assert row[:5] == ["alpha", "TIMEOUT", "6", "6", "4"]


def test_fixers_are_compared_with_their_intervals(reader: Browser) -> None:
    some_fixes(reader.memory)
    page = reader.get("fixes")
    by_name = {fixer.fixer: fixer for fixer in reader.memory.fixes.fixers()}
    codex, (low, high) = by_name["codex"], by_name["codex"].interval
    told = f"{100 * codex.p_success:.0f} % ({100 * low:.0f}\u2013{100 * high:.0f} %)"
    assert row_with(page, "codex", "Fixers")[1:] == ["3", "3", "3", told]


def test_days_and_trends_are_of_the_time_that_was_chosen(reader: Browser) -> None:
    some_fixes(reader.memory)

    def count(page: str) -> list[int]:
        """Attempts, applied and successful, of all rows."""
        table = page[page.index('data-table="Fixes per day"') :].partition("</table>")[0]
        rows = re.findall(r"<tr>(<td>.*?)</tr>", table)
        cells = [list(map(text_of, re.findall(r"<td.*?</td>", row))) for row in rows]
        return [sum(int(row[place]) for row in cells) for place in (1, 2, 3)]

    assert count(reader.get("fixes")) == [6, 5, 3]
    whole = reader.get("fixes", range="all")
    assert count(whole) == [7, 6, 4]
    assert row_with(whole, "TIMEOUT", "Trends of issue types")[1] == "steady"


def test_what_worked_and_what_failed_is_told_by_issue_type(reader: Browser) -> None:
    some_fixes(reader.memory)
    page = reader.get("fixes", issue_type="TIMEOUT")
    assert row_with(page, "send parts", "Strategies that worked")[1:3] == ["3 of 3", "3"]
    failed = row_with(page, "raise the limit", "Strategies that failed")
    assert failed[1:3] == ["2 of 2", "2"]
    other = text_of(reader.get("fixes", issue_type="MEMORY"))
    assert "What was done about MEMORY" in other
    assert "Nothing worked yet." in other
    assert "What was done about NEVER_SEEN" in text_of(reader.get("fixes", issue_type="NEVER_SEEN"))


def test_a_model_is_looked_into(reader: Browser) -> None:
    some_fixes(reader.memory)
    page = text_of(reader.get("fixes", model="alpha", issue_type="MEMORY"))
    assert "Model alpha 6 attempts, 67 % successful" in page
    assert "What was done about MEMORY" in page
    assert "is not allowed" in reader.get("fixes", 422, model="x" * 2_000)
    assert "No fix of this model was recorded." in text_of(reader.get("fixes", model="gamma"))


def test_patterns_have_their_best_fix_and_lead_to_the_search(reader: Browser) -> None:
    some_fixes(reader.memory)
    page = reader.get("fixes")
    cells = row_with(page, "TIMEOUT on any model", "Patterns")
    assert cells[1:3] == ["type", "4 of 6"]
    assert "send parts" in cells[4]
    assert f'href="/ui/{PROJECT}/search?kind=fix&amp;issue_type=TIMEOUT"' in page
    assert "none succeeded" in row_with(page, "MEMORY on any model", "Patterns")[4]


def some_episodes(memory: Memory) -> str:
    known = memory.record_fact("Dates are day first.", "observation").id
    for number in range(6):
        at = NOW - timedelta(days=12 - number)
        memory.record_episode("dates", 0.2 + 0.02 * number, mistakes=["guessed"], timestamp=at)
        later: dict[str, Any] = {"timestamp": at + timedelta(days=6), "recalled": [known]}
        succeed(memory, "looked first", task="dates", score=0.9 + 0.01 * number, **later)
    memory.record_episode("other", 0.5, timestamp=NOW - timedelta(days=50))
    card = {"mistake_type": "haste", "bad_decision": "guessed", "correct_decision": "look"}
    card["lesson"], early = "Look first.", NOW - timedelta(days=13)
    return memory.record_episode("dates", 0.1, mistake_cards=[card], timestamp=early).id


def test_tasks_are_listed_by_their_episodes(reader: Browser) -> None:
    some_episodes(reader.memory)
    page = reader.get("progress")
    cells = row_with(page, "dates", "Tasks")
    task = reader.memory.episodes.tasks()[0]
    assert cells[:4] == ["dates", "13", f"{task.mean:.2f}", "0.95"]
    assert cells[4] == f"{task.change:+.2f}"
    assert row_with(page, "other", "Tasks")[4] == "\u2013"
    assert f'href="/ui/{PROJECT}/lessons?task_id=dates"' in page


def test_memory_on_is_compared_with_memory_off(reader: Browser) -> None:
    some_episodes(reader.memory)
    page = reader.get("progress")
    found = reader.memory.episodes.compare(since=NOW - timedelta(days=30))
    assert found.difference is not None
    assert f"{found.difference:+.2f} score with memory" in text_of(page)
    assert "beyond what chance explains" in text_of(page)
    assert row_with(page, "dates", "With memory and without")[1::2] == ["6", "7"]
    assert "Too few episodes on either side" in text_of(reader.get("progress", tag="none"))
    by_tag = text_of(reader.get("progress", tag="memory on", by_run="1"))
    assert "0 episodes with it, 13 without" in by_tag


def test_rules_have_their_evidence_and_cards_what_would_have_been_right(reader: Browser) -> None:
    seen = some_episodes(reader.memory)
    page = reader.get("lessons", task_id="dates")
    assert row_with(page, "looked first", "Rules")[1] == "6"
    rule = next(each for each in reader.memory.rules("dates") if each.text == "looked first")
    for each in (*rule.evidence, seen):
        assert f'href="/ui/{PROJECT}/record/{each}"' in page
    row = row_with(page, "haste", "Mistakes")
    assert row[1:6] == ["dates", "guessed", "look", "Look first.", "1"]
    assert "looked first" in text_of(reader.get("lessons")), "of the tasks that were tried most"
    assert "No such rule." in text_of(reader.get("lessons", task_id="other"))


def test_commands_that_hooks_recorded_count_everywhere(reader: Browser) -> None:
    """A project of nothing else has an overview, a chart of its own days, and what fixed what."""
    memory = reader.memory
    for days, good in ((3, False), (2, False), (1, True)):
        steps = [{"action": "make deploy", "observation": "Error: no route", "reward": 0.0}]
        if good:
            steps += [
                {"action": "make tunnel", "observation": "", "reward": 0.0},
                {"action": "make deploy", "observation": "done", "reward": 1.0},
            ]
        by_codex: dict[str, Any] = {"author": "codex", "tags": ["run"]}
        by_codex["timestamp"] = NOW - timedelta(days=days)
        memory.record_trajectory("make deploy", steps, float(good), **by_codex)
    assert memory.stats().by_outcome == {"failure": 2, "success": 1}
    (found,) = memory.care.failures()
    assert (found.text, found.seen, found.is_new) == ("Error: no route", 3, True)
    assert found.fix
    assert (found.fix.action, found.fix.helped) == ("make tunnel", 1)
    page = reader.get("overview")
    assert "33 % went well 1 of 3 in this time" in text_of(page)
    cells = row_with(page, "Error: no route", "Failures")
    assert cells[0].startswith("new ")
    assert cells[2:5] == ["make tunnel", "1 of 1 1", "codex"]
    days_drawn = [each.partition(":")[0] for each in titles(page, "success")]
    assert days_drawn == [f"{NOW - timedelta(days=n):%b %-d}" for n in (3, 2, 1)]
    led = f"/ui/{PROJECT}/search?failure_hash={found.key.removeprefix('failure:')}"
    assert f'href="{led}"' in page
    assert text_of(reader.get("search", failure_hash=found.key[8:])).count("make deploy (re") == 3
    by = reader.get("progress")
    assert row_with(by, "codex", "Success by author")[1:3] == ["33 % 1 of 3", "2"]
    commands = reader.get("progress", by="command")
    # the same command at the same level counts once in a record
    row = row_with(commands, "make deploy", "Success by command")
    assert row[1:3] + row[-2:] == ["25 % 1 of 4", "3", "Error: no route", "make tunnel 1 of 1"]
    # of days of one's own: those alone, in halves that lead to their records
    first, last = (f"{NOW - timedelta(days=n):%Y-%m-%d}" for n in (2, 1))
    chosen = reader.get("progress", since=first, until=last)
    row = row_with(chosen, "codex", "Success by author")
    assert row[1:] == ["50 % 1 of 2", "1", "0 % 0 of 1", "100 % 1 of 1"]
    assert f"author=codex&amp;since={first}&amp;until={first}" in chosen
    assert 'aria-current="true">30 d' not in chosen
    assert "a day, such as 2026-03-31" in text_of(reader.get("progress", 422, until="31.3."))
    assert "make deploy" in text_of(chart(commands, "progress"))
    nothing = reader.get("overview", range="7d", project="")
    assert "1970" not in nothing + by
    assert "2000-01" not in nothing + by


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_memory_tells_how_to_begin(reader: Browser, page: str) -> None:
    assert "hardwon demo --serve" in reader.get(page)
    assert "yet" in text_of(reader.get(page, range="7d"))


def test_addresses_keep_the_project_the_range_and_what_was_chosen(reader: Browser) -> None:
    some_episodes(reader.memory)
    some_fixes(reader.memory)
    page = reader.get("progress", tag="memory", range="90d", by="task")
    assert f'href="/ui/{PROJECT}/progress?range=7d&amp;tag=memory&amp;by=task"' in page
    assert '<input type="hidden" name="tag" value="memory">' in page
    assert '<input type="hidden" name="range" value="90d">' in page
    fixes = reader.get("fixes", model="alpha", range="all")
    assert '<input type="hidden" name="model" value="alpha">' in fixes


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
