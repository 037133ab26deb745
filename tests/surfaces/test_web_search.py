"""The search and a record's page: what they show, and where they lead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from cases import each
from hardwon.memory import Memory
from hardwon.records.kinds import AnyRecord
from hardwon.surfaces.web.records import WEB_SNIPPET_CHARS, mark_terms, snippet
from hardwon.text.terms import index_text, query_terms
from serving import PROJECT, Served, served, signed_in, text_of

SEARCH, RECORD = (f"/ui/{PROJECT}/{page}" for page in ("search", "record"))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A memory with something of every kind, which no test here changes."""
    with served(tmp_path_factory.mktemp("search")) as found:
        fill(found.memory)
        yield found


def fill(memory: Memory) -> None:
    code, logic = "code_interpreter", dict[str, Any](error_type="logic", tags=["parsing"])
    for number in range(3):
        memory.remember(f"parser loops on the empty line {number}", "failure", code, **logic)
    timeout: Any = {"error_type": "timeout", "related_files": ["src/up[1].py"]}
    memory.remember("upload timed out", "failure", code, **timeout)
    by_maria: Any = {"task_type": "refactor", "author": "maria"}
    memory.remember("parser rewritten with a table", "success", code, **by_maria)
    memory.remember("read the manual first", "learning", insight_type="preference")
    memory.record_fact("The parser is in src/parser.py.", "observation", confidence=0.8)
    step = {"action": "pytest -x", "observation": "1 failed", "reward": -0.5}
    memory.record_trajectory("make it parse", [step], 0.2)
    card = {"mistake_type": "haste", "lesson": "Read first.", "evidence": "it was in the manual"}
    learned: Any = {"mistakes": ["hurried"], "successes": ["tested"], "mistake_cards": [card]}
    memory.record_episode("parse", 0.9, steps=7, **learned)
    issue = {"model": "gpt-4", "issue_type": "TIMEOUT", "description": "too slow"}
    issue["error_output"] = "TimeoutError: 30 s"
    commands = ["rm -rf build", "make"]
    memory.record_fix(issue, True, True, "stale build", commands, fixer_type="claude")


def page(running: Served, address: str, status: int = 200) -> str:
    return signed_in(running, "read").get(address, status)


def one(memory: Memory, **filters: Any) -> AnyRecord:
    return next(memory.browse(1, **filters))


def test_answers_are_recall_s_own_with_scores_and_marks(running: Served) -> None:
    html = page(running, "search?q=Parser+loops&k=3")
    hits = running.memory.recall("Parser loops", 3)
    ids = re.findall(r'<h2><a href="[^"]*at=([0-9a-f-]+)#beside', html)
    assert ids == [hit.record.id for hit in hits]
    assert "<mark>parser</mark> <mark>loops</mark> on the empty line" in html
    assert f"<strong>{hits[0].score:.2f}</strong>" in html
    for part, value in hits[0].why.items():
        assert f"{part} {value:+.2f}" in text_of(html)
    assert html.count('class="bar" aria-hidden="true"') == 3


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("kind=fact", ["The parser is in src/parser.py."]),
        ("outcome=learning", ["read the manual first"]),
        ("outcome=partial&kind=trajectory", ["make it parse (reward 0.2)"]),
        ("outcome=success&kind=fix", ["gpt-4 TIMEOUT: too slow"]),
        ("author=maria&tool=code_interpreter", ["parser rewritten with a table"]),
        ("task_id=parse", ["parse (score 0.9)"]),
        ("model=gpt-4&issue_type=TIMEOUT", ["gpt-4 TIMEOUT: too slow"]),
        ("key=error_type%3Dtimeout", ["upload timed out"]), ("path=src/up*", ["upload timed out"]),
        ("q=parser&author=maria", ["parser rewritten with a table"]),
        ("q=parser&tag=parsing&k=1", ["parser loops on the empty line 2"]), ("status=archived", []),
        ("until=2020-01-01", []), ("q=parser&as_of=2020-01-01T00:00", []),
    ],
)  # fmt: skip
def test_every_filter_narrows(running: Served, query: str, titles: list[str]) -> None:
    html = page(running, f"search?{query}")
    found = re.findall(r'<li class="card hit">\s*<h2>(.*?)</h2>', html, re.DOTALL)
    assert list(map(text_of, found)) == titles
    assert ("Nothing here answers that." in html) == (not titles)


def test_filters_stay_in_the_form_and_can_be_taken_out_one_by_one(running: Served) -> None:
    html = page(running, "search?q=parser&kind=experience&author=maria&since=2020-01-01&range=90d")
    assert '<input type="hidden" name="kind" value="experience">' in html
    assert 'name="author" value="maria"' in html
    assert 'name="since" value="2020-01-01"' in html
    assert '<input type="hidden" name="range" value="90d">' in html
    without = re.findall(r'class="chip chosen" href="([^"]+)"', html)
    assert f"{SEARCH}?range=90d&amp;q=parser&amp;kind=experience&amp;since=2020-01-01" in without
    assert f"{SEARCH}?range=90d&amp;q=parser&amp;author=maria&amp;since=2020-01-01" in without
    (chip,) = re.findall(r'class="chip" href="([^"]+)"[^>]*>failure</a>', html)
    whole = "range=90d&q=parser&kind=experience&author=maria&since=2020-01-01&outcome=failure"
    assert unescape(chip) == f"{SEARCH}?{whole}"


def test_a_record_stands_beside_the_list_that_it_was_found_in(running: Served) -> None:
    best = running.memory.recall("parser loops")[0].record
    html = page(running, f"search?q=parser+loops&at={best.id}")
    beside = html[html.index('<article id="beside"') :]
    assert "What it says" in beside
    assert "<mark>parser</mark> <mark>loops</mark>" in beside
    assert f'href="{RECORD}/{best.id}"' in beside
    assert html.count('class="card hit chosen"') == 1
    for nothing in ("00000000-0000-4000-8000-000000000000", "nonsense", HOSTILE_ENCODED):
        assert 'id="beside"' not in page(running, f"search?q=parser&at={nothing}")


def test_the_range_holds_unless_a_time_is_given(served_anew: Served) -> None:
    old = datetime.now(UTC) - timedelta(days=20)
    place = Path(served_anew.memory.location)
    with Memory(place, PROJECT, checkout=False, clock=lambda: old) as then:
        then.remember("long ago", "failure", tool="unknown")
    assert "long ago" not in page(served_anew, "search?range=7d")
    assert "Look at all time" in page(served_anew, "search?range=7d&q=ago")
    then_alone = f"since={old:%Y-%m-%d}&until={old:%Y-%m-%d}"
    assert "long ago" in page(served_anew, f"search?range=7d&{then_alone}")
    assert "long <mark>ago</mark>" in page(served_anew, "search?range=30d&q=ago")


def test_browsing_goes_on_page_by_page(running: Served) -> None:
    seen: list[str] = []
    address: str | None = "search?k=4"
    while address:
        html = page(running, address)
        seen += re.findall(r'<h2><a href="[^"]*at=([0-9a-f-]+)#beside', html)
        following = re.search(r'rel="next" href="([^"]+)"', html)
        address = unescape(following[1]).removeprefix(f"/ui/{PROJECT}/") if following else None
    assert seen == [record.id for record in running.memory.browse()]
    assert len(seen) == 10


@pytest.mark.parametrize(
    "query", ["kind=wish", "q=x&since=yesterday", "cursor=none", "key=alone", "q=x&as_of=then"]
)
def test_what_cannot_be_asked_is_told_beside_the_form(running: Served, query: str) -> None:
    html = page(running, f"search?{query}", 422)
    assert "is not allowed; allowed:" in html
    assert '<form method="get"' in html


@each(
    ("text", "query", "found"),
    [
        ("see src/auth/login.py: getUserName", "login", ["login"]),
        ("see src/auth/login.py: getUserName", "src/auth/login.py", ["src/auth/login.py"]),
        ("see src/auth/login.py: getUserName", "username name", ["Name"]),
        ("error (#4711), E0382", "4711 e0382", ["4711", "E0382"]),
        ("the cat", "the", ["the"]),
        ("ﬁle Größe x", "file größe", ["ﬁle", "Größe"]),
        ("a <b> & c++ 'quoted'", "c++ quoted", ["c++", "quoted"]),
        ("nothing", "else", []),
    ],
)
def test_marks_are_what_the_search_finds_by(text: str, query: str, found: list[str]) -> None:
    terms = frozenset(query_terms(query))
    pieces = mark_terms(text, terms)
    assert [piece.text for piece in pieces if piece.marked] == found
    assert "".join(piece.text for piece in pieces) == text
    assert bool(found) == bool(terms & set(index_text(text).split()))


def test_a_snippet_begins_at_the_first_word_and_is_bounded() -> None:
    text = "filler " * 200 + "one two three " + "filler " * 10_000
    pieces = snippet(text, frozenset(["one", "two", "three"]))
    assert [piece.text for piece in pieces if piece.marked] == ["one", "two", "three"]
    assert pieces[0].text == pieces[-1].text[::-1] == "… "
    for given in (text, "x" * 50_000, "", "short"):
        answer = len("".join(piece.text for piece in snippet(given, frozenset(["none"]))))
        assert answer <= WEB_SNIPPET_CHARS + 4


SHOWN = {
    "experience": "read the manual first; Insight_type preference; learning",
    "fact": "The parser is in src/parser.py.; Fact type observation; Confidence 0.8",
    "trajectory": "make it parse; 1 step; pytest -x; 1 failed; reward -0.5; Final reward 0.2",
    "episode": "Score 0.9; Steps 7; hurried; tested; haste; Read first.; it was in the manual",
    "fix": "too slow; TimeoutError: 30 s; stale build; rm -rf build; make; Applied yes; Verified yes",
}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_record_s_page_tells_everything(running: Served, kind: str) -> None:
    filters = {"outcome": "learning"} if kind == "experience" else {}
    record = one(running.memory, kind=kind, **filters)
    html = page(running, f"record/{record.id}")
    told = text_of(html.replace("</dt><dd>", " "))
    for words in SHOWN[kind].split("; "):
        assert words.lower() in told.lower()
    for words in (record.id, record.metadata.source.author, "created", "hypothesis"):
        assert words in told
    raw = re.search(r"<summary>The record as JSON</summary><pre[^>]*>(.*?)</pre>", html, re.DOTALL)
    assert raw
    assert json.loads(unescape(raw[1]))["id"] == record.id


def test_its_json_is_a_file(running: Served) -> None:
    record = one(running.memory, kind="fix")
    answer = signed_in(running, "read").http.get(f"{RECORD}/{record.id}?format=json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-disposition"] == f'attachment; filename="fix-{record.id}.json"'
    assert answer.json() == json.loads(record.model_dump_json(exclude_none=True))


def test_status_credits_links_and_life(served_anew: Served) -> None:
    memory = served_anew.memory
    texts = ("it is broken", "it is still broken")
    old, new = (memory.remember(text, "failure", tool="unknown") for text in texts)
    memory.credit([old.id], True, by="ci")
    memory.verify(old.id, "human_approval", verification_id="review 12")
    memory.supersede(old.id, new.id, "the newer one tells more", by="maria")
    told = text_of(page(served_anew, f"record/{old.id}"))
    assert "Helped 1 time Did not help never" in told
    life = "credited; It helped.; human approval; review 12; superseded; the newer one tells more"
    for words in (*life.split("; "), "maria"):
        assert words in told
    assert "replaced by experience it is still broken" in told
    assert "replaces experience it is broken" in text_of(page(served_anew, f"record/{new.id}"))


def test_unknown_and_forgotten_records_have_a_page_that_says_so(served_anew: Served) -> None:
    for item in ("00000000-0000-4000-8000-000000000000", "nonsense", "%3Cb%3E"):
        html = page(served_anew, f"record/{item}", 404)
        assert "has no record" in html
        assert "<b>" not in html
    gone = served_anew.memory.remember("a secret plan", "failure", tool="unknown")
    served_anew.memory.forget([gone.id], by="maria")
    html = page(served_anew, f"record/{gone.id}", 404)
    assert "forgotten" in html
    assert "secret plan" not in html
    assert page(served_anew, "record", 404)


LOCKED = "OperationalError: database is locked"


def test_a_trajectory_is_told_as_a_run(served_anew: Served) -> None:
    steps: list[dict[str, Any]] = [
        {"action": "ls src", "observation": "app.py"},
        {"action": "cat src/app.py", "observation": "connect()"},
        {"action": "pytest -x", "observation": LOCKED, "ok": False},
        {"action": "pip install apsw", "observation": "done", "ok": True},
        {"action": "pytest -x", "observation": LOCKED, "reward": -0.5},
        {"action": "edit src/app.py: connect(wal=True)", "ok": True},
        {"action": "pytest -x", "observation": "12 passed\nin 3 s", "reward": 1.0},
    ]
    made = served_anew.memory.record_trajectory("make the tests pass", steps, 1.0).id
    html = page(served_anew, f"record/{made}")
    told = text_of(html)
    assert "Solved, as was recorded (1)." in told
    assert f"{LOCKED} 2 times in vain: pip install apsw went away by: edit src/app.py" in told
    assert "What lasted pip install apsw edit src/app.py: connect(wal=True)" in told
    assert "Looked 2 times: ls src; cat src/app.py" in told
    assert "Step 4 change worked did not cure step 3" in told
    assert "Step 6 change worked cured step 3 Action" in told
    assert 'style="width: 50.0%"' in html
    assert "<details><summary>12 passed</summary><pre>12 passed\nin 3 s</pre></details>" in html
    led = f"/ui/{PROJECT}/lessons?about=OperationalError%3A+database+is+locked"
    assert f'href="{led}"' in html


def test_a_long_trajectory_comes_in_parts(served_anew: Served) -> None:
    steps = [{"action": f"step {n}.", "observation": "", "reward": 1e308} for n in range(250)]
    steps[240]["observation"] = "x" * 9_000
    made = served_anew.memory.record_trajectory("long", steps, 0.0).id
    html = page(served_anew, f"record/{made}").partition("The record as JSON")[0]
    assert "step 99." in html
    assert "step 100." not in html
    last = page(served_anew, f"record/{made}?from=201").partition("The record as JSON")[0]
    assert "step 249." in last
    assert "Later steps" not in last
    assert "This is its beginning" in last
    assert "x" * 6_001 not in last
    assert "+1e+308" in text_of(last)
    for wrong in ("0", "251", "x", "-1"):
        assert "the number of a step" in page(served_anew, f"record/{made}?from={wrong}", 422)


HOSTILE_ENCODED = "%3C/script%3E%3Cscript%3Ealert(1)%3C/script%3E%22%3E%3Cimg%20src=x%3E"
