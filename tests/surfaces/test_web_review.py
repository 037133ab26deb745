"""Review and the context lab as a browser sees them: what waits is listed, decided by those who
may, and told honestly.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha1
from pathlib import Path
from typing import Any

import httpx
import pytest

from checkouts import commit, new_repository, write
from hardwon import Memory, limits
from hardwon.brief.advice import Advice
from hardwon.records.fields import new_id
from hardwon.surfaces.web.records import ACTIONS, TABS
from hardwon.text.tokens import count_tokens
from hardwon.tree.datasets.demo import fill_demo
from serving import PROJECT, Served, served
from test_web import HOSTILE, Browser, signed_in

REVIEW = f"/ui/{PROJECT}/review"
LAB = f"/ui/{PROJECT}/lab"
ALL = "range=all"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        yield found


def get(browser: Browser, address: str, status: int = 200) -> str:
    answer = browser.http.get(address)
    assert answer.status_code == status, answer.text
    return answer.text


def decide(
    browser: Browser, action: str, *ids: str, tab: str = "hypotheses", **more: str
) -> httpx.Response:
    fields: dict[str, Any] = {"csrf": browser.csrf(), "action": action, "id": list(ids), **more}
    return browser.http.post(f"{REVIEW}?tab={tab}", data=fields, headers={"Origin": browser.origin})


def flashes(answer: httpx.Response) -> list[str]:
    return [
        html.unescape(each)
        for each in re.findall(r'<p class="flash" role="status">(.*?)</p>', answer.text)
    ]


def status_of(memory: Memory, record_id: str) -> str:
    record = memory.get(record_id)
    assert record
    return record.metadata.validation.status


def written_rule(memory: Memory, text: str) -> str:
    """As an LLM's word is kept: a candidate until somebody verifies it."""
    decision = memory._project.decision("rule", "consolidation", text=text)
    with memory._project.write() as change:
        change.append([decision])
    return decision.id


# --- what is listed ---


def test_hypotheses_are_listed_newest_first_and_by_what_helped(running: Served) -> None:
    first = running.memory.remember("the first of them", "success", "file_operation")
    running.memory.remember("the second of them", "failure", "file_operation")
    running.memory.credit([first.id], True)
    browser = signed_in(running)
    newest = get(browser, REVIEW)
    assert newest.index("the second of them") < newest.index("the first of them")
    helpful = get(browser, f"{REVIEW}?order=helpful")
    assert "the first of them" in helpful
    assert "only agent says so; it helped 1 time" in helpful
    assert "the second of them" not in helpful, "it never helped"


def test_what_waits_is_listed_and_counted_whatever_its_age(running: Served) -> None:
    long_ago = running.memory.care.now() - timedelta(days=80)
    before = running.memory.remember("long ago", "success", "file_operation", timestamp=long_ago)
    lately = running.memory.remember("of late", "success", "file_operation")
    running.memory.credit([before.id, lately.id], True)
    browser = signed_in(running)
    for order in ("newest", "helpful"):
        shown = get(browser, f"{REVIEW}?order={order}&range=7d")
        assert re.search(r'Hypotheses <span class="badge plain">2</span>', shown)
        assert "long ago" in shown
        assert "of late" in shown
        assert "Time range" not in shown, "there is none to choose"
    assert f'<a href="{REVIEW}?range=7d">2</a> that nobody vouches for' in get(
        browser, f"/ui/{PROJECT}/overview?range=7d"
    )


def test_a_long_list_has_pages(running: Served) -> None:
    running.memory.care.record_many(
        "fact",
        [
            {"content": f"Number {n} of many facts.", "fact_type": "observation"}
            for n in range(limits.WEB_REVIEW_SHOWN + 1)
        ],
    )
    browser = signed_in(running)
    page = get(browser, REVIEW)
    assert page.count('class="review-item"') == limits.WEB_REVIEW_SHOWN
    assert f"{limits.WEB_REVIEW_SHOWN - 1} more that say much the same" in page
    older = re.search(r'href="([^"]*cursor=[^"]*)"', page)
    assert older
    assert get(browser, html.unescape(older[1])).count('class="review-item"') == 1


def test_like_stands_with_like_and_filters_narrow(running: Served) -> None:
    for outcome in ("failure", "success"):
        for n in range(2):
            running.memory.remember(f"upload of part {n} timed out at night", outcome, author="ann")
    running.memory.record_fact("The queue lies on a network disk.", "observation", author="ben")
    browser = signed_in(running)
    page = get(browser, REVIEW)
    assert page.count("1 more that says much the same") == 2, (
        "those that turned out otherwise are apart"
    )
    assert page.count('class="review-item"') == 5
    for query, shown in (
        ("kind=fact", 1),
        ("outcome=failure", 2),
        ("author=ann", 4),
        ("q=network+disk", 1),
        ("author=ben&outcome=failure", 0),
    ):
        assert get(browser, f"{REVIEW}?{query}").count('class="review-item"') == shown
    narrowed = get(browser, f"{REVIEW}?kind=fact")
    assert f'href="{REVIEW}"' in narrowed, "the chosen chip takes itself back"
    assert f'action="{REVIEW}?kind=fact"' in narrowed, "a decision leads back to the same list"


def test_stale_records_are_found_on_a_server_and_can_be_brought_back(
    running: Served, tmp_path: Path
) -> None:
    checkout = new_repository(tmp_path / "work")
    write(checkout, "queue.py", "RETRIES = 3\n")
    commit(checkout)
    seen = [{"path": "queue.py", "hash": sha1(b"RETRIES = 3\n", usedforsecurity=False).hexdigest()}]
    held = running.memory.record_fact(
        "The queue tries three times.", "observation", related_files=seen
    )
    gone = running.memory.record_fact("RETRIES is read once.", "observation", related_files=seen)
    write(checkout, "queue.py", "RETRIES = 5\n")
    assert running.memory.check_stale(checkout).archived == 2
    assert [each.record.id for each in running.memory.care.stale()] == [gone.id, held.id]
    browser = signed_in(running)
    assert "queue.py" in get(browser, f"{REVIEW}?tab=stale")
    assert flashes(decide(browser, "verify", held.id, tab="stale")) == [
        "Verified: The queue tries three times."
    ]
    assert status_of(running.memory, held.id) == "verified", "it is recalled again"
    decide(browser, "archive", gone.id, tab="stale", reason="not any more")
    assert running.memory.care.stale() == [], "somebody decided about both"
    assert status_of(running.memory, gone.id) == "archived"


def test_both_sides_of_a_contradiction_stand_beside_each_other_until_one_goes(
    running: Served,
) -> None:
    sides = []
    for good in (False, True):
        issue = {"model": "m", "issue_type": "TIMEOUT", "description": "no answer"}
        fix = running.memory.record_fix(
            issue, fix_success=True, verification_success=good, fix_commands=["wait longer"]
        )
        sides.append(fix.id)
    assert len(running.memory.consolidate().contradictions) == 1
    browser = signed_in(running)
    page = get(browser, f"{REVIEW}?tab=contradictions")
    assert page.count('class="side ') == 2
    assert "wait longer" in page
    counted = f'<a href="{REVIEW}?tab=contradictions">1</a> contradiction'
    assert counted in get(browser, "/ui/default/overview")
    assert "TIMEOUT: no answer</a>" in get(browser, f"{REVIEW}?tab=decisions"), "what it is about"
    old, new = sides
    assert flashes(
        decide(browser, "supersede", old, tab="contradictions", new_id=new, reason="it works now")
    )
    assert running.memory.care.links(old).replaced_by == new
    assert 'class="side ' not in get(browser, f"{REVIEW}?tab=contradictions")
    assert counted not in get(browser, "/ui/default/overview")


def offered(answer: httpx.Response) -> list[str]:
    """The events that a page offers to take back."""
    found = re.search(r'class="flash row".*?</form>', answer.text, re.DOTALL)
    return re.findall(r'name="id" value="([^"]+)"', found[0]) if found else []


@pytest.mark.parametrize("action", ["verify", "publish", "archive", "supersede"])
def test_whatever_was_decided_can_be_taken_back_at_once(running: Served, action: str) -> None:
    memory = running.memory
    first, second, third = (
        memory.record_fact(f"Port {port} is open.", "observation").id for port in (80, 81, 82)
    )
    browser = signed_in(running)
    done = decide(browser, action, first, second, reason="by mistake", new_id=third)
    assert status_of(memory, first) == status_of(memory, second) != "hypothesis"
    told = flashes(decide(browser, "undo", *offered(done)))
    assert status_of(memory, first) == status_of(memory, second) == "hypothesis"
    assert told[0].startswith("Undone")
    assert memory.care.links(first).replaced_by is None


def test_a_rule_that_somebody_wrote_is_verified_and_that_is_undone(running: Served) -> None:
    rule = written_rule(running.memory, "Read the log first.")
    browser = signed_in(running)
    assert "Read the log first." in get(browser, f"{REVIEW}?tab=rules")
    verified = decide(browser, "verify", rule, tab="rules")
    assert status_of(running.memory, rule) == "verified"
    assert "This can be taken back" in verified.text
    back = decide(browser, "undo", *offered(verified), tab="rules")
    assert status_of(running.memory, rule) == "hypothesis"
    assert "This can be taken back" not in back.text
    decide(browser, "undo", rule, tab="rules")
    assert status_of(running.memory, rule) == "archived"
    assert all(
        "Read the log first." not in get(browser, f"{REVIEW}?tab={tab}&{ALL}")
        for tab in ("rules", "decisions")
    )


def test_decisions_are_listed_and_undone_together(running: Served) -> None:
    running.memory.remember("by somebody", "success", "file_operation", author="agent-7")
    decisions = [
        running.memory.rollback(name, "it made things up").id for name in ("agent-7", "agent-8")
    ]
    browser = signed_in(running)
    assert get(browser, f"{REVIEW}?tab=decisions").count("it made things up</a>") == 2
    assert flashes(decide(browser, "undo", *decisions, tab="decisions")) == ["Undone: 2 records"]
    assert running.memory.care.decisions() == []


def test_every_tab_of_the_demo_and_of_an_empty_memory_is_a_page(running: Served) -> None:
    browser = signed_in(running)
    for tab in TABS:
        assert "There are no records yet" in get(browser, f"{REVIEW}?tab={tab}")
    fill_demo(running.memory, 1)
    for tab in TABS:
        assert "There are no records yet" not in get(browser, f"{REVIEW}?tab={tab}&{ALL}")
    assert "review-item" in get(browser, f"{REVIEW}?tab=nonsense&order=nonsense")


# --- what is decided ---


def test_records_are_verified_published_and_archived_one_by_one_and_together(
    running: Served,
) -> None:
    ids = [running.memory.remember(f"number {n}", "success", "file_operation").id for n in range(4)]
    browser = signed_in(running)
    decide(browser, "verify", ids[0])
    life = running.memory.audit(ids[0])[-1]
    assert life.event
    assert (life.status, life.event.verified_by, life.by) == (
        "verified",
        "human_approval",
        "tester",
    )
    decide(browser, "publish", ids[0], ids[1])
    assert [status_of(running.memory, each) for each in ids[:2]] == ["published", "published"]
    told = flashes(decide(browser, "archive", *ids[2:], reason="a test"))
    assert told == ["Archived: 2 records"]
    assert [status_of(running.memory, each) for each in ids[2:]] == ["archived", "archived"]


def test_what_cannot_be_done_is_told_and_the_rest_is_done(running: Served) -> None:
    gone, here = (
        running.memory.remember(text, "success", "file_operation").id for text in ("gone", "here")
    )
    running.memory.archive(gone, "a test")
    browser = signed_in(running)
    told = flashes(decide(browser, "verify", gone, here, "no-id"))
    assert told[0] == "Verified: here"
    assert told[1].startswith("Not done for 2: ")
    assert "final" in told[1]
    assert flashes(decide(browser, "verify")) == ["Nothing was chosen: tick what is meant first."]
    assert flashes(decide(browser, "archive", here, reason="  ")) == [
        "Nothing was changed: say why, in a few words."
    ]
    assert decide(browser, "forget", here).status_code == 422
    assert status_of(running.memory, here) == "verified"


def test_what_replaces_a_record_is_chosen_among_those_like_it(running: Served) -> None:
    old = running.memory.remember("uploads over 2 GB fail", "failure", "file_operation").id
    new = running.memory.remember(
        "uploads over 2 GB fail with HTTP 413", "failure", "file_operation"
    ).id
    browser = signed_in(running)
    page = get(browser, f"{REVIEW}/{old}?tab=hypotheses")
    assert f'name="new_id" value="{new}"' in page
    assert f'name="new_id" value="{old}"' not in page
    assert f'name="new_id" value="{new}"' in get(browser, f"{REVIEW}/{old}?q=HTTP+413")
    assert flashes(decide(browser, "supersede", old, new_id=new, reason="told better")) == [
        "Replaced: uploads over 2 GB fail"
    ]
    assert running.memory.care.links(old).replaced_by == new
    assert (
        "Not done for 1"
        in flashes(decide(browser, "supersede", new, new_id="nobody", reason="x"))[0]
    )
    get(browser, f"{REVIEW}/{new_id(running.memory.care.now())}", 404)


def test_who_may_only_read_sees_the_lists_and_decides_nothing(running: Served) -> None:
    record = running.memory.remember("waits", "success", "file_operation").id
    running.memory.rollback("somebody")
    for scope in ("read", "write"):
        browser = signed_in(running, scope)
        for tab in TABS:
            page = get(browser, f"{REVIEW}?tab={tab}&{ALL}")
            assert 'name="action"' not in page
            assert "review.js" not in page
        assert 'name="action"' not in get(browser, f"{REVIEW}/{record}")
        for action in ACTIONS:
            assert decide(browser, action, record, reason="x", new_id=record).status_code == 403
    assert status_of(running.memory, record) == "hypothesis"
    assert len(running.memory.care.decisions()) == 1
    browser = signed_in(running, "govern")
    assert 'name="action" value="verify"' in get(browser, REVIEW)
    fields = {"csrf": "another", "action": "verify", "id": record}
    assert (
        browser.http.post(REVIEW, data=fields, headers={"Origin": browser.origin}).status_code
        == 403
    )
    assert status_of(running.memory, record) == "hypothesis"


def hostile_memory(memory: Memory) -> list[str]:
    """Every sort of record with hostile text in every field that takes some; their ids."""
    name = "<img src=x onerror=alert(5)>"
    said: dict[str, Any] = {"author": name, "tags": [name]}
    ids = [
        memory.remember(
            HOSTILE, "failure", "file_operation", own_key=name, summary=HOSTILE, **said
        ).id,
        memory.record_fact(f"{HOSTILE} is a fact.", "error", **said).id,
        memory.record_episode(
            name, 0.9, trajectory_summary=HOSTILE, mistakes=[HOSTILE], successes=[HOSTILE], **said
        ).id,
        memory.record_trajectory(
            HOSTILE, [{"action": HOSTILE, "observation": HOSTILE, "reward": 0.0}], 0.0, **said
        ).id,
    ]
    for good in (True, False):
        issue = {"model": name, "issue_type": name, "description": HOSTILE, "error_output": HOSTILE}
        fix = memory.record_fix(
            issue, True, good, analysis=HOSTILE, fix_commands=[HOSTILE], notes=HOSTILE, **said
        )
        ids.append(fix.id)
    memory.credit(ids, True, by=name)
    written_rule(memory, HOSTILE)
    told = {"evidence": ids[-2:], "reason": HOSTILE, "target": name}
    contradiction = memory._project.decision("contradiction", name, **told)
    with memory._project.write() as change:
        change.decide(contradiction)
    memory.rollback("nobody at all", HOSTILE, by=name)
    return ids


def test_hostile_text_is_shown_as_text_everywhere(running: Served) -> None:
    ids = hostile_memory(running.memory)
    browser = signed_in(running)
    asked = {
        "q": HOSTILE,
        "task_id": "<img src=x onerror=alert(5)>",
        "action": HOSTILE,
        "issue_type": "<img src=x>",
    }
    pages = [
        get(browser, f"{REVIEW}?tab={tab}&order={order}")
        for tab in TABS
        for order in ("newest", "helpful")
    ]
    pages += [get(browser, f"{REVIEW}/{each}") for each in ids]
    pages.append(get(browser, f"{LAB}?{httpx.QueryParams(asked)}"))
    pages.append(decide(browser, "verify", *ids).text)
    for page in pages:
        for raw in ("<img", "<script>", "alert(1)</script", "\u202e", "\x07"):
            assert raw not in page
    assert all("&lt;img src=x onerror=alert" in page for page in pages[:2])


# --- the context lab ---


def test_the_lab_shows_the_very_text_and_where_each_line_comes_from(running: Served) -> None:
    record = running.memory.remember(
        "the nightly upload timed out after 30 s", "failure", "file_operation", author="night-shift"
    )
    browser = signed_in(running, "read")
    page = get(browser, f"{LAB}?q=nightly+upload+timed+out&budget=300")
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
    for _ in range(2):
        running.memory.record_trajectory(
            "get the upload through",
            [
                {
                    "action": "raise the timeout",
                    "observation": "E   TimeoutError: 30 s",
                    "reward": 0.0,
                }
            ],
            0.0,
        )
    browser = signed_in(running, "read")
    advice: Advice = running.memory.advise("raise the timeout", task="get the upload through")
    page = get(browser, f"{LAB}?q=get+the+upload+through&action=raise+the+timeout")
    assert f">{advice.verdict}</span>" in page
    assert html.escape(advice.message, quote=False).split("&")[0][:40] in page
    assert all(f"/record/{each}" in page for each in advice.evidence[:5])


def test_the_lab_begins_with_a_form_and_refuses_what_is_too_much(running: Served) -> None:
    browser = signed_in(running, "read")
    assert "There are no records yet" in get(browser, LAB)
    running.memory.remember("something", "success", "file_operation")
    assert "Say what an agent is about to do" in get(browser, LAB)
    assert "the memory has nothing to say about it" in get(browser, f"{LAB}?q=zebra")
    for wrong in (
        "budget=0",
        "budget=x",
        f"budget={limits.CONTEXT_TOKENS_MAX + 1}",
        "q=" + "x" * (limits.QUERY_TEXT_CHARS_MAX + 1),
    ):
        get(browser, f"{LAB}?q=a&{wrong}", 422)
    assert browser.post(LAB, csrf=browser.csrf()).status_code == 405
