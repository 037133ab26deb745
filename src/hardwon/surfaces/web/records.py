"""Pages of records: the search, which is the very recall that agents use, with what its scores are
made of (without a question, what there is, newest first), and a record beside its list; and one
record: what it says, step by step where it has steps, where it came from, how far it is believed and
why, and everything that happened to it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from hardwon import limits
from hardwon.errors import InvalidInputError, Problem, UnknownRecordError
from hardwon.memory.ask import Stats
from hardwon.memory.results import LifeEvent, Links
from hardwon.records import kinds
from hardwon.runs.read import read_run
from hardwon.runs.shapes import Run, Step
from hardwon.runs.story import tell_cure, tell_ending
from hardwon.search.rank import Hit
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.shapes import jsonable
from hardwon.surfaces.web.pages import KINDS, PageRequest, WebPage, shorten
from hardwon.text.terms import matches, own_texts, query_terms

# Records on one page of the search, where nobody asks for more.
WEB_RESULTS: Final = 20

# Records on one page of the search.
WEB_RESULTS_MAX: Final = 100

# What a search shows of a record: four lines.
WEB_SNIPPET_CHARS: Final = 320


CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": (*KINDS, "decision"),
    "outcome": kinds.ENDINGS,
    "status": kinds.STATUSES,
}
WORDS: Final = tuple("tool author tag task_id model issue_type key path failure_hash".split())
_ID: Final = re.compile(r"[0-9a-f-]{36}")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_HEADLINE_CHARS: Final = 140
_BEFORE_CHARS: Final = 60  # what comes before the first match says what it is about


class Piece(NamedTuple):
    """Some text; `marked` where it is a word that was asked for."""

    text: str
    marked: bool = False


def view_search(ask: Ask, request: PageRequest) -> WebPage:
    """The search, with a record beside it."""
    asked = {name: value.strip() for name, value in request.query.items() if value.strip()}
    count = WEB_RESULTS
    if re.fullmatch(r"[0-9]{1,4}", asked.get("k", "")):
        count = min(max(int(asked["k"]), 1), WEB_RESULTS_MAX)
    answers: list[dict[str, Any]] = []
    following, problems = None, list[Problem]()
    try:
        filters = _filters(request, asked)
        if "q" in asked:
            answers = _recall(ask, asked, count, filters)
        else:
            page = ask("care.page", limit=count, cursor=asked.get("cursor"), **filters)
            answers, following = [_view(record, frozenset()) for record in page.records], page.next
    except InvalidInputError as error:
        problems = error.problems
    stats: Stats = ask("stats")
    narrowed = {
        name: asked[name]
        for name in (*CHOICES, *WORDS, "since", "until", "as_of", "k")
        if name in asked
    }
    beside = ask.record(asked["at"]) if _ID.fullmatch(asked.get("at", "")) else None
    terms = query_terms(asked.get("q", ""))
    parts = record_parts(ask, request, beside, terms) if beside else {}
    return WebPage(
        "search.html",
        "Search",
        {
            "q": asked.get("q", ""),
            "given": narrowed,
            # The field of a day shows nothing else.
            "days": {
                name: day if _DAY.fullmatch(day := asked.get(name, "")[:10]) else ""
                for name in ("since", "until")
            },
            "choices": CHOICES,
            "words": WORDS,
            "offered": {
                name: sorted(counts, key=lambda value: (-counts[value], value))[:50]
                for name, counts in (("tool", stats.by_tool), ("author", stats.by_author))
            },
            "found": answers,
            "following": following,
            "problems": problems,
            "records": stats.records,
            "ranged": request.range != "all" and not ({"since", "until"} & narrowed.keys()),
            "results": (WEB_RESULTS, WEB_RESULTS_MAX),
            "at": beside.id if beside else "",
            **parts,
        },
        422 if problems else 200,
    )


def _filters(request: PageRequest, asked: Mapping[str, str]) -> dict[str, Any]:
    """What the form narrows the question by. Times of its own go before the range that all pages
    share.
    """
    filters: dict[str, Any] = {name: asked[name] for name in (*CHOICES, *WORDS) if name in asked}
    named = [name for name in ("since", "until") if name in asked]
    times: dict[str, Any] = {name: moment(asked[name], last=name == "until") for name in named}
    return filters | (times or ({"since": request.since} if request.since else {}))


def moment(text: str, *, last: bool = False) -> str:
    """A time as a form says it: a day is meant from its beginning (`last`: to its end), and
    whatever has no zone in UTC. What is no time stays what it is.
    """
    with suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(text)
        at += timedelta(days=last and len(text) == len("2026-03-31"))
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
    return text


def _recall(
    ask: Ask, asked: Mapping[str, str], count: int, filters: dict[str, Any]
) -> list[dict[str, Any]]:
    """Hits, each with the parts of its score: name, value, and share of the bar in percent."""
    then = {"as_of": moment(asked["as_of"])} if "as_of" in asked else {}
    hits: list[Hit] = ask("recall", query=asked["q"], k=count, **then, **filters)
    terms = frozenset(query_terms(asked["q"]))
    sums = [sum(value for value in hit.why.values() if value > 0) for hit in hits]
    whole = max(sums, default=0.0) or 1.0
    return [
        {
            **_view(hit.record, terms),
            "hit": hit,
            # The largest first; what lowers a score has no width.
            "parts": [
                (name, value, round(100 * max(value, 0) / whole, 2))
                for name, value in sorted(hit.why.items(), key=lambda part: (-part[1], part[0]))
            ],
        }
        for hit in hits
    ]


def _view(record: kinds.AnyRecord, terms: Collection[str]) -> dict[str, Any]:
    """A record as the search shows it; `hit` is None where nothing was asked."""
    title = " ".join(kinds.headline(record)[: 4 * _HEADLINE_CHARS].split())
    if len(title) > _HEADLINE_CHARS:
        title = title[: _HEADLINE_CHARS - 1] + "…"
    return {
        "record": record,
        "title": mark_terms(title, terms) or [Piece("(nothing said)")],
        "snippet": snippet(_texts_besides(record, title), terms),
        "hit": None,
    }


def _texts_besides(record: kinds.AnyRecord, title: str) -> str:
    """The record's texts, without those that its title has already."""
    texts = own_texts(record)
    return " · ".join(text for text in texts if " ".join(text.split()) not in title)


def mark_terms(text: str, terms: Collection[str]) -> list[Piece]:
    """A whole text in pieces: where it has these terms, found by the search's own rules."""
    pieces, last = [], 0
    for match in matches(text, terms) if terms else ():
        pieces += [Piece(text[last : match.start]), Piece(text[match.start : match.end], True)]
        last = match.end
    return [piece for piece in (*pieces, Piece(text[last:])) if piece.text]


def snippet(text: str, terms: Collection[str]) -> list[Piece]:
    """The part of a text where the first of these terms stands; its beginning where it has none."""
    line = " ".join(text[: limits.INDEXED_CHARS_MAX].split())
    first = next(iter(matches(line, terms)), None) if terms else None
    start = first.start if first else 0
    if start:
        start = line.rfind(" ", 0, max(start - _BEFORE_CHARS, 0) + 1) + 1
    end = start + WEB_SNIPPET_CHARS
    if end < len(line):
        blank = line.rfind(" ", start + WEB_SNIPPET_CHARS // 2, end)
        end = blank if blank > start else end
    is_cut = end < len(line) or len(text) > limits.INDEXED_CHARS_MAX
    before, after = [Piece("… ")] if start else [], [Piece(" …")] if is_cut else []
    return [*before, *mark_terms(line[start:end], terms), *after]


def view_record(ask: Ask, request: PageRequest) -> WebPage | Response:
    """One record, or its JSON to keep."""
    as_of = request.query.get("as_of", "").strip()
    then = {"as_of": moment(as_of)} if as_of else {}
    try:
        record: kinds.AnyRecord = ask("get", record_id=request.item, **then)
    except (InvalidInputError, UnknownRecordError) as error:
        if as_of and isinstance(error, InvalidInputError) and error.field != "record_id":
            raise
        # Of one that was forgotten, what is left to tell.
        known: list[LifeEvent] = []
        with suppress(InvalidInputError, UnknownRecordError):
            known = ask("audit", record_id=request.item)
        context: dict[str, Any] = {"item": request.item, "life": known}
        return WebPage("record_unknown.html", "No such record", context, 404)
    if request.query.get("format") == "json":
        name = f"{record.kind}-{record.id}.json"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(f"{plain(record)}\n", headers=headers, media_type="application/json")
    title = shorten(make_title(ask, record), 120) or record.kind
    return WebPage("record.html", title, {**record_parts(ask, request, record), "as_of": as_of})


def record_parts(
    ask: Ask, request: PageRequest, record: kinds.AnyRecord, terms: Collection[str] = ()
) -> dict[str, Any]:
    """What is shown of one record, alone or beside a list; `terms` are marked in its texts."""
    life: list[LifeEvent] = ask("audit", record_id=record.id)
    run, ended, steps = None, "", list[dict[str, Any]]()
    if isinstance(record, kinds.Trajectory):
        run = read_run(record)
        ended = tell_ending(run, record.final_reward)
        steps = _timeline(record, run)
    first = request.whole_number("from", "the number of a step", 1, max(len(steps), 1)) - 1
    after = first + _STEPS_SHOWN
    return {
        "record": record,
        "plain": plain,
        "reward_unknown": kinds.REWARD_UNKNOWN,
        "mark": lambda text: mark_terms(text, frozenset(terms)),
        "run": run,
        "ended": ended,
        "scenes": _fold_looks(steps[first:after]),
        "shown": len(steps[first:after]),
        "first": first,
        "count": len(steps),
        "before": request.here(**{"from": max(1, first + 1 - _STEPS_SHOWN)}) if first else None,
        "after": request.here(**{"from": after + 1}) if after < len(steps) else None,
        "cards": record.mistake_cards if isinstance(record, kinds.Episode) else [],
        "life": life,
        "others": _list_links(ask, record),
        "data": jsonable(record),
        "as_of": "",
        "tell_cure": tell_cure,
        "step_url": lambda place: _step_url(request, place, first, after),
        "glob_of": lambda path: re.sub(r"([*?[])", r"[\1]", path),
    }


def make_title(ask: Ask, record: kinds.AnyRecord) -> str:
    """What it is about; of a decision without words, what the first record says that it rests on."""
    if isinstance(record, kinds.Decision) and not record.text:
        known = ask.record(record.evidence[0]) if record.evidence else None
        return (
            f"{record.action}: {kinds.headline(known) if known else record.reason or record.target}"
        )
    return kinds.headline(record)


def _list_links(ask: Ask, record: kinds.AnyRecord) -> list[tuple[str, str, kinds.AnyRecord | None]]:
    """Other records that this one has to do with: how, the id, and the record, unless it is not
    here, or one of too many to look up.
    """
    links: Links = ask("care.links", record_id=record.id)
    named = [
        *(("replaced by", record_id) for record_id in [links.replaced_by] if record_id),
        *(("replaces", record_id) for record_id in links.replaces),
        *(("contradicts", record_id) for record_id in links.contradicts),
        *(("was recalled before it", record_id) for record_id in record.recalled or ()),
    ]
    if isinstance(record, kinds.Decision):
        named += [("evidence", record_id) for record_id in record.evidence]
    if isinstance(record, kinds.Cleaned):
        named.append(("left the history by", record.decision))
    return [
        (how, record_id, ask.record(record_id) if number < limits.SCREEN_ITEMS else None)
        for number, (how, record_id) in enumerate(named)
    ]


def plain(value: Any) -> str:
    """A value as text: a text as it is, names with commas, whatever has more to it as JSON."""
    value = jsonable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(inner, str) for inner in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


_STEPS_SHOWN: Final = 100


def _timeline(trajectory: kinds.Trajectory, run: Run) -> list[dict[str, Any]]:
    """What the page shows of each recorded step. `share` is its reward's part of the largest of
    them; `cured` names the steps whose failure it made go away, `in_vain` those whose failure was
    still there after it.
    """
    parts: dict[int, list[Step]] = defaultdict(list)
    for step in run.steps:
        parts[step.place].append(step)
    cured: dict[int, list[int]] = defaultdict(list)
    in_vain: dict[int, list[int]] = defaultdict(list)
    for problem in run.problems:
        for steps, marked in ((problem.cure, cured), (problem.in_vain, in_vain)):
            for place in {step.place for step in steps} - {problem.opened}:
                marked[place].append(problem.opened + 1)
    largest = max((abs(step.reward) for step in trajectory.steps), default=0.0)
    return [
        {
            "number": place + 1,
            "kind": parts[place][-1].kind if parts[place] else "look",
            "outcome": parts[place][-1].outcome if parts[place] else "unknown",
            "failure": next((part.failure.words for part in parts[place] if part.failure), ""),
            "recorded": recorded,
            "share": abs(recorded.reward) / largest if largest else 0.0,
            "cured": cured[place],
            "in_vain": in_vain[place],
        }
        for place, recorded in enumerate(trajectory.steps)
    ]


def _step_url(request: PageRequest, place: int, first: int, after: int) -> str:
    """Where the step at a place is shown: on this page, or on the part of it that has the step."""
    part = place - place % _STEPS_SHOWN + 1
    start = "" if first <= place < after else request.here(**{"from": part})
    return f"{start}#step-{place + 1}"


def _fold_looks(steps: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The steps in order, those in a row that only look together."""
    scenes: list[list[dict[str, Any]]] = []
    for step in steps:
        if step["kind"] == "look" and scenes and scenes[-1][0]["kind"] == "look":
            scenes[-1].append(step)
        else:
            scenes.append([step])
    return scenes
