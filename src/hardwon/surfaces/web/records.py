"""Pages of records: the search, which is the very recall that agents use, with what its scores are
made of (without a question, what there is, newest first), and a record beside its list; and one
record: what it says, step by step where it has steps, where it came from, how far it is believed and
why, and everything that happened to it. And the review: what waits for a decision and why, like with
like, and what was decided; whoever may not decide reads the same lists.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from operator import attrgetter
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from hardwon import limits
from hardwon.errors import ConflictError, InvalidInputError, Problem, UnknownRecordError
from hardwon.memory.ask import Stats
from hardwon.memory.results import Credited, LifeEvent, Links
from hardwon.records.kinds import (
    ENDINGS,
    OUTCOMES,
    REWARD_UNKNOWN,
    STATUSES,
    AnyRecord,
    Cleaned,
    Decision,
    Episode,
    Trajectory,
    headline,
    judge_record,
)
from hardwon.runs.read import read_run
from hardwon.runs.shapes import Run, Step
from hardwon.runs.story import tell_cure, tell_ending
from hardwon.search.rank import Hit
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.shapes import jsonable
from hardwon.surfaces.web.pages import KINDS, Form, PageRequest, WebPage, shorten
from hardwon.text.likeness import group_alike
from hardwon.text.terms import counted, matches, own_texts, query_terms

# --- search ---

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": (*KINDS, "decision"),
    "outcome": ENDINGS,
    "status": STATUSES,
}
WORDS: Final = (
    "tool",
    "author",
    "tag",
    "task_id",
    "model",
    "issue_type",
    "key",
    "path",
    "failure_hash",
)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_HEADLINE_CHARS: Final = 140
_BEFORE_CHARS: Final = 60  # what comes before the first match says what it is about


class Piece(NamedTuple):
    """Some text; `marked` where it is a word that was asked for."""

    text: str
    marked: bool = False


def view_search(ask: Ask, request: PageRequest) -> WebPage:
    asked = {name: value.strip() for name, value in request.query.items() if value.strip()}
    count = limits.WEB_RESULTS
    if re.fullmatch(r"[0-9]{1,4}", asked.get("k", "")):
        count = min(max(int(asked["k"]), 1), limits.WEB_RESULTS_MAX)
    found: list[dict[str, Any]] = []
    following, problems = None, list[Problem]()
    try:
        filters = _filters(request, asked)
        if "q" in asked:
            found = _recall(ask, asked, count, filters)
        else:
            page = ask("care.page", limit=count, cursor=asked.get("cursor"), **filters)
            found, following = [_view(record, frozenset()) for record in page.records], page.next
    except InvalidInputError as error:
        problems = error.problems
    stats: Stats = ask("stats")
    given = {
        name: asked[name]
        for name in (*CHOICES, *WORDS, "since", "until", "as_of", "k")
        if name in asked
    }
    beside = ask.record(asked["at"]) if _ID.fullmatch(asked.get("at", "")) else None
    return WebPage(
        "search.html",
        "Search",
        {
            "q": asked.get("q", ""),
            "given": given,
            # The field of a day shows nothing else.
            "days": {
                name: day if _DAY.fullmatch(day := asked.get(name, "")[:10]) else ""
                for name in ("since", "until")
            },
            "chips": chips(request, {name: CHOICES[name] for name in CHOICES}),
            "words": WORDS,
            "offered": {
                name: sorted(counts, key=lambda each: (-counts[each], each))[:50]
                for name, counts in (("tool", stats.by_tool), ("author", stats.by_author))
            },
            "found": found,
            "next": following and request.here(cursor=following, at=None),
            "first": request.here(cursor=None, at=None) if "cursor" in asked else None,
            "without": [
                (name, value, request.here(**{name: None, "cursor": None}))
                for name, value in given.items()
                if name not in CHOICES
            ],
            "problems": problems,
            "records": stats.records,
            "ranged": request.range != "all" and not ({"since", "until"} & given.keys()),
            "limits": limits,
            "k": count,
            "at": beside.id if beside else "",
            **(
                record_parts(ask, request, beside, query_terms(asked.get("q", "")))
                if beside
                else {}
            ),
        },
        422 if problems else 200,
    )


def chips(
    request: PageRequest, choices: Mapping[str, Collection[str]]
) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Each name with its values: the value, the address with it (or without, where it is chosen),
    and whether it is.
    """
    chosen = {name: request.query.get(name, "") for name in choices}
    return [
        (
            name,
            [
                (
                    value,
                    request.here(
                        **{name: None if value == chosen[name] else value},
                        cursor=None,
                        at=None,
                        undo=None,
                    ),
                    value == chosen[name],
                )
                for value in values
            ],
        )
        for name, values in choices.items()
    ]


def _filters(request: PageRequest, asked: Mapping[str, str]) -> dict[str, Any]:
    """What the form narrows the question by. Times of its own go before the range that all pages
    share.
    """
    given: dict[str, Any] = {name: asked[name] for name in (*CHOICES, *WORDS) if name in asked}
    named = [name for name in ("since", "until") if name in asked]
    times: dict[str, Any] = {name: moment(asked[name], last=name == "until") for name in named}
    return given | (times or ({"since": request.since} if request.since else {}))


def moment(text: str, *, last: bool = False) -> str:
    """A time as a form says it: a day is meant from its beginning (`last`: to its end), and
    whatever has no zone in UTC. What is no time stays what it is.
    """
    if _DAY.fullmatch(text):
        with suppress(ValueError, OverflowError):
            day = datetime.fromisoformat(f"{text}T00:00:00+00:00")
            return (day + timedelta(days=1) if last else day).isoformat()
    return (
        f"{text}Z"
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?", text, flags=re.ASCII)
        else text
    )


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


def _view(record: AnyRecord, terms: Collection[str]) -> dict[str, Any]:
    """A record as the search shows it; `hit` is None where nothing was asked."""
    title = " ".join(headline(record)[: 4 * _HEADLINE_CHARS].split())
    if len(title) > _HEADLINE_CHARS:
        title = title[: _HEADLINE_CHARS - 1] + "…"
    return {
        "record": record,
        "title": mark_terms(title, terms) or [Piece("(nothing said)")],
        "snippet": snippet(_texts_besides(record, title), terms),
        "hit": None,
    }


def _texts_besides(record: AnyRecord, title: str) -> str:
    """The record's texts, without those that its title has already, and none twice."""

    def bare(text: str) -> str:
        return " ".join(re.sub(r"[\W_]+", " ", text.lower()).split())

    seen, kept = [bare(title)], []
    for text in own_texts(record):
        said = bare(text[: limits.INDEXED_CHARS_MAX])
        if not any(said in before for before in seen):
            kept.append(text)
            seen.append(said)
            if sum(map(len, kept)) > limits.INDEXED_CHARS_MAX:
                break
    return " · ".join(kept)


def mark_terms(text: str, terms: Collection[str]) -> list[Piece]:
    """A whole text in pieces: where it has these terms, found by the search's own rules."""
    pieces, last = [], 0
    for match in matches(text, terms) if terms else ():
        pieces += [Piece(text[last : match.start]), Piece(text[match.start : match.end], True)]
        last = match.end
    return [piece for piece in (*pieces, Piece(text[last:])) if piece.text]


def snippet(text: str, terms: Collection[str]) -> list[Piece]:
    """The part of a text that has most of these terms; its beginning where it has none."""
    line = " ".join(text[: limits.INDEXED_CHARS_MAX].split())
    start = _best_start(line, terms) if terms else 0
    if start:
        start = line.rfind(" ", 0, max(start - _BEFORE_CHARS, 0) + 1) + 1
    end = start + limits.WEB_SNIPPET_CHARS
    if end < len(line):
        blank = line.rfind(" ", start + limits.WEB_SNIPPET_CHARS // 2, end)
        end = blank if blank > start else end
    is_cut = end < len(line) or len(text) > limits.INDEXED_CHARS_MAX
    before, after = [Piece("… ")] if start else [], [Piece(" …")] if is_cut else []
    return [*before, *mark_terms(line[start:end], terms), *after]


def _best_start(line: str, terms: Collection[str]) -> int:
    """Where the stretch begins that has the most different terms; the first of several."""
    found = list(matches(line, terms))

    def distinct(number: int) -> int:
        end = found[number].start + limits.WEB_SNIPPET_CHARS - _BEFORE_CHARS
        inside = takewhile(lambda match: match.end <= end, found[number:])
        return len({match.term for match in inside})

    best = max(range(len(found)), key=distinct, default=None)
    return 0 if best is None else found[best].start


# --- one record ---

_ENVELOPE: Final = ("id", "kind", "metadata", "redacted", "recalled", "packed", "decision")
# What each kind says, in the order in which people want to know it, and the form of each; `own` are
# keys of its author's.
_SHOWN: Final[Mapping[str, str]] = {
    "experience": "content:text outcome tool summary unrouted own_schema extra:own",
    "fact": "content:text fact_type confidence original entities.files entities.functions "
    "entities.libraries entities.error_codes findings:list",
    "trajectory": "task:text final_reward",
    "episode": "trajectory_summary:text task_id score steps mistakes:list successes:list",
    "fix": "issue.description:text issue.model issue.issue_type issue.timestamp "
    "issue.error_output:pre issue.test_prompt:pre issue.expected_pattern:pre "
    "issue.actual_response:pre issue.__pydantic_extra__:own analysis:text fix_commands:commands "
    "verification_steps:commands fix_success verification_success fixer_type fix_type confidence "
    "execution_time_seconds expected_outcome notes:text issue.test_environment:pre "
    "system_info:pre other:pre",
    "decision": "text:text action task_id target replacement reason tasks:list",
    "adopted": "origin data:pre",
}
_LABELS: Final[Mapping[str, str]] = {
    "findings": "What keeps it from standing alone",
    "trajectory_summary": "Summary",
    "description": "Issue",
    "fix_commands": "What was run",
    "verification_steps": "How to verify",
    "fix_success": "Applied",
    "verification_success": "Verified",
    "execution_time_seconds": "Took, in seconds",
    "system_info": "System",
}


def view_record(ask: Ask, request: PageRequest) -> WebPage | Response:
    as_of = request.query.get("as_of", "").strip()
    then = {"as_of": moment(as_of)} if as_of else {}
    try:
        record: AnyRecord = ask("get", record_id=request.item, **then)
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
        written = json.dumps(jsonable(record), ensure_ascii=False, indent=2)
        name = f"{record.kind}-{record.id}.json"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(f"{written}\n", headers=headers, media_type="application/json")
    title = shorten(title_of(ask, record), 120) or record.kind
    return WebPage("record.html", title, {**record_parts(ask, request, record), "as_of": as_of})


def count_credits(life: Iterable[LifeEvent]) -> dict[str, int]:
    """How often a record helped, and did not, as far as anybody told."""
    told = [each.event.helped for each in life if each.event and each.kind == "credited"]
    return {"helped": told.count(True), "hindered": told.count(False)}


def record_parts(
    ask: Ask, request: PageRequest, record: AnyRecord, terms: Collection[str] = ()
) -> dict[str, Any]:
    """What is shown of one record, alone or beside a list; `terms` are marked in its texts."""
    life: list[LifeEvent] = ask("audit", record_id=record.id)
    run, ended, steps = None, "", list[dict[str, Any]]()
    if isinstance(record, Trajectory):
        run = read_run(record)
        ended = tell_ending(run, record.final_reward)
        steps = _timeline(record, run)
    first = request.whole_number("from", "the number of a step", 1, max(len(steps), 1)) - 1
    after = first + _STEPS_SHOWN
    kinds = [each.kind for each in life]
    return {
        "record": record,
        "fields": list(_fields_of(record, frozenset(terms))),
        "run": run,
        "ended": ended,
        "scenes": _fold_looks(steps[first:after]),
        "shown": len(steps[first:after]),
        "first": first,
        "count": len(steps),
        "before": request.here(**{"from": max(1, first + 1 - _STEPS_SHOWN)}) if first else None,
        "after": request.here(**{"from": after + 1}) if after < len(steps) else None,
        "cards": record.mistake_cards if isinstance(record, Episode) else [],
        "life": life,
        **count_credits(life),
        "repeated": kinds.count("repeated"),
        # The newest of what was noticed of its files.
        "stale": next((kind for kind in reversed(kinds) if kind in ("stale", "fresh")), ""),
        "others": _links_of(ask, record),
        "json": json.dumps(jsonable(record), ensure_ascii=False, indent=2),
        "as_of": "",
        "tell_cure": tell_cure,
        "step_url": lambda place: _step_url(request, place, first, after),
        "glob_of": lambda path: re.sub(r"([*?[])", r"[\1]", path),
    }


def title_of(ask: Ask, record: AnyRecord) -> str:
    """What it is about; of a decision without words, what the first record says that it rests on."""
    if isinstance(record, Decision) and not record.text:
        known = ask.record(record.evidence[0]) if record.evidence else None
        return f"{record.action}: {headline(known) if known else record.reason or record.target}"
    return headline(record)


def _links_of(ask: Ask, record: AnyRecord) -> list[tuple[str, str, AnyRecord | None]]:
    """Other records that this one has to do with: how, the id, and the record, unless it is not
    here, or one of too many to look up.
    """
    links: Links = ask("care.links", record_id=record.id)
    named = [
        *(("replaced by", each) for each in [links.replaced_by] if each),
        *(("replaces", each) for each in links.replaces),
        *(("contradicts", each) for each in links.contradicts),
        *(("was recalled before it", each) for each in record.recalled or ()),
    ]
    if isinstance(record, Decision):
        named += [("evidence", each) for each in record.evidence]
    if isinstance(record, Cleaned):
        named.append(("left the history by", record.decision))
    return [
        (how, each, ask.record(each) if number < limits.SCREEN_ITEMS else None)
        for number, (how, each) in enumerate(named)
    ]


def _fields_of(record: AnyRecord, terms: Collection[str]) -> Iterator[dict[str, Any]]:
    """Everything that a record says itself, and how it is to be shown: as a text in pieces, `pre`, a
    list, commands; as one of many pairs where nothing is said. Steps and mistake cards have their
    own places on the page.
    """
    others = [name for name in jsonable(record) if name not in _ENVELOPE]
    for shown in _SHOWN[record.kind].split() if record.kind in _SHOWN else others:
        path, _, form = shown.partition(":")
        value = attrgetter(path)(record)
        if path == "final_reward" and value is None:
            value = REWARD_UNKNOWN
        name = path.rpartition(".")[2]
        label = _LABELS.get(name, name.replace("_", " ").capitalize())
        if form == "own":
            said = ((key, plain(each)) for key, each in value.items())
            yield from ({"name": key, "value": text, "form": ""} for key, text in said if text)
        elif value not in (None, "", [], {}, ()):
            text: Any = value if isinstance(value, list) and form else plain(value)
            if form == "text":
                text = mark_terms(text, terms)
            yield {"name": label, "value": text, "form": form}


def plain(value: Any) -> str:
    """A value as text: a text as it is, names with commas, whatever has more to it as JSON."""
    value = jsonable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


_STEPS_SHOWN: Final = 100
_FOLDED_FROM: Final = 300
_TEXT_CHARS: Final = 6_000


class FoldedText(NamedTuple):
    """A text as a page shows it: its beginning, and the rest to unfold where it is long. `cut`: not
    even there is all of it.
    """

    line: str
    text: str
    folded: bool
    cut: bool


def _timeline(trajectory: Trajectory, run: Run) -> list[dict[str, Any]]:
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
            "action": fold(recorded.action),
            "observation": fold(recorded.observation),
            "reward": recorded.reward,
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


def fold(text: str) -> FoldedText:
    shown = text.strip()[:_TEXT_CHARS]
    line = shown.partition("\n")[0][:_FOLDED_FROM]
    return FoldedText(line, shown, line != shown, len(text.strip()) > _TEXT_CHARS)


# --- review ---

TABS: Final[Mapping[str, str]] = {
    "hypotheses": "Hypotheses",
    "verified": "Verified",
    "stale": "Stale",
    "contradictions": "Contradictions",
    "rules": "Candidate rules",
    "decisions": "Decisions",
}
ORDERS: Final[Mapping[str, str]] = {"newest": "Newest first", "helpful": "Most helpful first"}
# Each action, and how the page afterwards calls it.
ACTIONS: Final[Mapping[str, str]] = {
    "verify": "Verified",
    "publish": "Published",
    "archive": "Archived",
    "supersede": "Replaced",
    "undo": "Undone",
}
# Tabs of records of one status, and what may be done with them.
_BY_STATUS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "hypotheses": ("hypothesis", ("verify", "publish", "archive", "supersede")),
    "verified": ("verified", ("publish", "archive", "supersede")),
}
_COUNTED: Final = ("stale", "contradictions")
_ID: Final = re.compile(r"[0-9a-f-]{36}")
# So many of those that helped most are read, to find what was chosen.
_RANKED_READ: Final = 200
_AUTHORS_OFFERED: Final = 6
_CHOICES: Final = 10
_TITLE_CHARS: Final = 140


@dataclass(frozen=True)
class ReviewItem:
    """A record in a list. `why` is what else there is to say of it, `actions` what may be done with
    it, `title` what is said instead of its own headline.
    """

    record: AnyRecord
    actions: tuple[str, ...] = ()
    why: str = ""
    at: datetime | None = None
    title: str = ""

    @property
    def headline(self) -> str:
        return self.title or headline(self.record)


# --- what waits ---


def view_review(ask: Ask, request: PageRequest) -> WebPage:
    tab, may_decide = request.choose("tab", TABS), ask.may("govern")
    if request.item:
        return _view_choices(ask, request, tab)
    stats = ask("stats")
    undo = [each for each in request.query.get("undo", "").split(",") if _ID.fullmatch(each)]
    lists = {each: _list(ask, request, each) for each in {tab, *_COUNTED}}
    listed = {"waiting": [], "pairs": [], "rules": [], "next": None, **lists[tab]}
    authors = sorted(stats.by_author, key=lambda each: (-stats.by_author[each], each))
    choices = {
        "kind": KINDS,
        "outcome": (*OUTCOMES[:2], "partial"),
        "author": authors[:_AUTHORS_OFFERED],
    }
    return WebPage(
        "review.html",
        "What should I decide?",
        {
            "tab": tab,
            "tabs": TABS,
            "counts": _count(stats, lists),
            "records": stats.records,
            **listed,
            # Like with like: one decision may settle them all.
            "groups": _group(listed["waiting"]),
            "is_empty": not any(listed.values()),
            "chips": chips(request, choices) if tab in _BY_STATUS else [],
            "q": request.query.get("q", "").strip(),
            "order": request.choose("order", ORDERS),
            "orders": ORDERS,
            "may_decide": may_decide,
            # The events by which something was decided just now, where they can be taken back.
            "can_undo": undo[: 2 * limits.WEB_REVIEW_SHOWN] if may_decide else [],
        },
    )


def count_waiting(ask: Ask, request: PageRequest, stats: Stats) -> dict[str, int]:
    """How many wait in each list; not of rules, which would all have to be weighed for it."""
    return _count(stats, {each: _list(ask, request, each) for each in _COUNTED})


def _count(stats: Stats, lists: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Those of a status in all, the others as far as they are listed."""
    known = {tab: stats.by_status.get(status, 0) for tab, (status, _) in _BY_STATUS.items()}
    return known | {tab: len(next(iter(lists[tab].values()))) for tab in _COUNTED}


def _group(waiting: Sequence[ReviewItem]) -> list[list[ReviewItem]]:
    """Those together that are of one kind, turned out alike and say much the same."""
    sorts: dict[tuple[str, str], list[tuple[int, ReviewItem]]] = defaultdict(list)
    for place, item in enumerate(waiting):
        sorts[item.record.kind, judge_record(item.record)].append((place, item))
    groups = [
        group
        for some in sorts.values()
        for group in group_alike(some, lambda each: each[1].headline)
    ]
    return [[item for _, item in group] for group in sorted(groups, key=lambda each: each[0][0])]


def _view_choices(ask: Ask, request: PageRequest, tab: str) -> WebPage:
    """Which record replaces another: those that say something like it."""
    record = ask("get", record_id=request.item)
    asked = request.query.get("q", "").strip() or shorten(headline(record), 400)
    hits = ask("recall", query=asked, k=_CHOICES + 1)
    return WebPage(
        "review_choice.html",
        "Choose what replaces it",
        {
            "item": ReviewItem(record),
            "choices": [hit.record for hit in hits if hit.record.id != record.id][:_CHOICES],
            "asked": request.query.get("q", ""),
            "tab": tab,
            "may_decide": ask.may("govern"),
        },
    )


def _list(ask: Ask, request: PageRequest, tab: str) -> dict[str, Any]:
    """Of one tab, records that wait, `pairs` (decisions, each with those that contradict each
    other) or `rules`: whatever their age, for what waits long waits still.
    """
    most = limits.WEB_REVIEW_SHOWN
    if tab in _BY_STATUS:
        return _list_status(ask, request, *_BY_STATUS[tab])
    if tab == "stale":
        actions = ("verify", "archive", "supersede")
        return {
            "waiting": [
                ReviewItem(each.record, actions, each.reason, each.since)
                for each in ask("care.stale", limit=most)
            ]
        }
    if tab == "contradictions":
        found = ask("care.decisions", action="contradiction", limit=100)
        # Those of which both sides are still held to be true.
        pairs = ((decision, _sides(ask, decision)) for decision in found)
        return {"pairs": list(islice((pair for pair in pairs if len(pair[1]) > 1), most))}
    if tab == "rules":
        return {"rules": ask("episodes.candidate_rules", limit=most)}
    return {
        "waiting": [
            ReviewItem(each, ("undo",), each.reason, title=title_of(ask, each))
            for each in ask("care.decisions", limit=most)
        ]
    }


def _list_status(
    ask: Ask, request: PageRequest, status: str, actions: tuple[str, ...]
) -> dict[str, Any]:
    """Narrowed by what is chosen, the newest first, those like what was asked, or the most helpful
    first; each with why somebody should look at it.
    """
    most, asked = limits.WEB_REVIEW_SHOWN, request.query.get("q", "").strip()
    chosen = {name: request.query.get(name, "").strip() for name in ("kind", "outcome", "author")}
    filters = {"status": status, **{name: value for name, value in chosen.items() if value}}
    credited: dict[str, Credited] = {
        each.record.id: each for each in ask("care.helpful", status=status, limit=_RANKED_READ)
    }
    following = None
    if request.choose("order", ORDERS) == "helpful":
        helped = [each.record for each in credited.values()]
        records = [each for each in helped if _passes(each, chosen)][:most]
    elif asked:
        records = [hit.record for hit in ask("recall", query=asked, k=most, **filters)]
    else:
        cursor = request.query.get("cursor") or None
        page = ask("care.page", limit=most, cursor=cursor, **filters)
        records, following = page.records, page.next
    return {
        "waiting": [
            ReviewItem(each, actions, _why(each, credited.get(each.id), status)) for each in records
        ],
        "next": following,
    }


def _passes(record: AnyRecord, chosen: Mapping[str, str]) -> bool:
    said = {"kind": record.kind, "outcome": judge_record(record), "author": record.said_by}
    return all(said[name] == value for name, value in chosen.items() if value)


_SAID_BY: Final[Mapping[str, str]] = {
    "test_result": "a test run says so",
    "file_analysis": "it was read from a file",
    "user_interaction": "a person said so",
}


def _why(record: AnyRecord, credited: Credited | None, status: str) -> str:
    """Why somebody is asked about it."""
    source = record.metadata.source
    if status == "verified":
        by = record.metadata.validation.verified_by
        said = f"confirmed by {by.replace('_', ' ')}" if by else "confirmed"
    else:
        said = _SAID_BY.get(source.type, f"only {shorten(record.said_by, 40)} says so")
    if not credited:
        return f"{said}; it was not of use to anybody yet"
    in_vain = f", and {counted(credited.hindered, 'time')} it did not" if credited.hindered else ""
    return f"{said}; it helped {counted(credited.helped, 'time')}{in_vain}"


def _sides(ask: Ask, decision: Decision) -> list[ReviewItem]:
    """What contradicts each other, as far as it is not archived."""
    found = [
        record
        for record in map(ask.record, decision.evidence)
        if record and record.metadata.validation.status != "archived"
    ]
    return [
        ReviewItem(
            record,
            ("verify", "archive")
            if record.metadata.validation.status == "hypothesis"
            else ("archive",),
        )
        for record in found
    ]


# --- what is decided ---


def decide(ask: Ask, request: PageRequest, form: Form) -> str:
    """Does what the form says with each of its records; what could not be done is told, and the
    rest is done.
    """
    action, ids = form.get("action", ""), list(dict.fromkeys(form.getlist("id")))
    if action not in ACTIONS:
        raise InvalidInputError.one("action", action, ", ".join(ACTIONS))
    kept = {name: request.query.get(name) for name in ("order", "kind", "outcome", "author", "q")}
    back = {"tab": request.choose("tab", TABS), **kept}
    reason, new_id = form.get("reason", "").strip(), form.get("new_id", "").strip()
    flash = request.session.flash
    if not ids or (action in ("archive", "supersede") and not reason):
        untold = "Nothing was changed: say why, in a few words."
        flash(untold if ids else "Nothing was chosen: tick what is meant first.")
        return request.url("review", **back)
    done: list[AnyRecord] = []
    refused: list[str] = []
    for record_id in ids:
        try:
            done.append(_decide_one(ask, action, record_id, reason, new_id))
        except (InvalidInputError, UnknownRecordError, ConflictError) as error:
            refused.append(str(error))
    if done:
        title = shorten(headline(done[0]), _TITLE_CHARS)
        flash(f"{ACTIONS[action]}: {title if len(done) == 1 else f'{len(done)} records'}")
    if refused:
        flash(f"Not done for {len(refused)}: {shorten(refused[0], 2 * _TITLE_CHARS)}")
    if action == "undo":
        return request.url("review", **back)
    # What was decided about each of them by this request, the last first, to be taken back.
    events = [
        each.event
        for record in done
        for each in reversed(ask("audit", record_id=record.id))
        if each.event and each.at >= request.now
    ]
    undo = ",".join(each.id for each in events if each.kind in ("status", "superseded"))
    return request.url("review", **back, undo=undo)


def _decide_one(ask: Ask, action: str, record_id: str, reason: str, new_id: str) -> AnyRecord:
    vouch = {"record_id": record_id, "by": "human_approval"}
    given = {
        "verify": vouch,
        "publish": {"record_id": record_id},
        "archive": {"record_id": record_id, "reason": reason},
        "supersede": {"old_id": record_id, "new_id": new_id, "reason": reason},
        "undo": {"decision_id": record_id},
    }
    if action == "publish":
        record = ask("get", record_id=record_id)
        if record.metadata.validation.status == "hypothesis":
            ask("verify", **vouch)
    found: AnyRecord = ask(action, **given[action])
    return found
