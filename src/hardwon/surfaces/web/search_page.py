"""The search: the very recall that agents use, with what its scores are made of; without a
question, what there is, newest first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError, Problem
from hardwon.memory.stats import Stats
from hardwon.records.kinds import OUTCOMES, STATUSES, AnyRecord
from hardwon.search.rank import Hit, headline, outcome_of
from hardwon.search.terms import own_texts
from hardwon.surfaces.web.pages import KINDS, Ask, PageRequest, WebPage
from hardwon.surfaces.web.snippets import Piece, marked, snippet
from hardwon.text.terms import query_terms

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": (*KINDS, "decision"),
    "outcome": OUTCOMES,
    "status": STATUSES,
}
WORDS: Final = ("tool", "key", "task_id", "model", "issue_type", "tag", "author", "path")
TIMES: Final = ("since", "until", "as_of")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_WITHOUT_ZONE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?", re.ASCII)
_HEADLINE_CHARS: Final = 140
_NAMES_OFFERED: Final = 50
_INVALID: Final = 422


class ScorePart(NamedTuple):
    """A named part of a score; `width` is its share of the bar, in percent."""

    name: str
    value: float
    width: float


class HitView(NamedTuple):
    """A record as the search shows it. `hit` is None where nothing was asked."""

    record: AnyRecord
    outcome: str
    title: list[Piece]
    snippet: list[Piece]
    hit: Hit | None = None
    parts: tuple[ScorePart, ...] = ()


def view(ask: Ask, request: PageRequest) -> WebPage:
    said = {name: value.strip() for name, value in request.query.items() if value.strip()}
    found: list[HitView] = []
    following, problems = None, list[Problem]()
    try:
        if "q" in said:
            found = _answers(ask, request, said)
        else:
            found, following = _browsed(ask, request, said)
    except InvalidInputError as error:
        problems = error.problems
    stats: Stats = ask("stats")
    given = {name: said[name] for name in (*CHOICES, *WORDS, *TIMES, "k") if name in said}
    context = {
        "q": said.get("q", ""),
        "given": given,
        "days": {name: _day_of(said.get(name, "")) for name in ("since", "until")},
        "choices": CHOICES,
        "words": WORDS,
        "offered": {"tool": _names(stats.by_tool), "author": _names(stats.by_author)},
        "found": found,
        "next": following and request.here(cursor=following),
        "first": request.here(cursor=None) if "cursor" in said else None,
        "without": [
            (name, value, request.here(**{name: None, "cursor": None}))
            for name, value in given.items()
        ],
        "problems": problems,
        "records": stats.records,
        "ranged": request.range != "all" and not ({"since", "until"} & given.keys()),
        "limits": limits,
        "k": _count(said),
    }
    return WebPage("search.html", context, "Search", _INVALID if problems else 200)


# --- what was asked ---


def _filters(request: PageRequest, said: Mapping[str, str]) -> dict[str, Any]:
    """What the form narrows the question by. Times of its own go before the range that all pages
    share.
    """
    given: dict[str, Any] = {name: said[name] for name in (*CHOICES, *WORDS) if name in said}
    if "since" not in said and "until" not in said:
        return given if request.since is None else {**given, "since": request.since}
    for name in ("since", "until"):
        if name in said:
            given[name] = moment(said[name], last=name == "until")
    return given


def moment(text: str, *, last: bool = False) -> str:
    """A time as a form says it: a day is meant from its beginning (`last`: to its end), and
    whatever has no zone in UTC.
    """
    if _DAY.fullmatch(text):
        try:
            day = datetime.fromisoformat(f"{text}T00:00:00+00:00")
            return (day + timedelta(days=1) if last else day).isoformat()
        except (ValueError, OverflowError):
            return text
    return f"{text}Z" if _WITHOUT_ZONE.fullmatch(text) else text


def _day_of(text: str) -> str:
    """What the field of a day shows, which shows nothing else."""
    return text[:10] if _DAY.fullmatch(text[:10]) else ""


def _count(said: Mapping[str, str]) -> int:
    asked = said.get("k", "")
    return (
        min(max(int(asked), 1), limits.WEB_RESULTS_MAX)
        if re.fullmatch(r"[0-9]{1,4}", asked)
        else limits.WEB_RESULTS
    )


def _answers(ask: Ask, request: PageRequest, said: Mapping[str, str]) -> list[HitView]:
    then = {"as_of": moment(said["as_of"])} if "as_of" in said else {}
    hits: list[Hit] = ask(
        "recall", query=said["q"], k=_count(said), **then, **_filters(request, said)
    )
    terms = frozenset(query_terms(said["q"]))
    whole = max((_positive(hit.why.values()) for hit in hits), default=0.0) or 1.0
    return [_shown(hit.record, terms, hit, whole) for hit in hits]


def _browsed(
    ask: Ask, request: PageRequest, said: Mapping[str, str]
) -> tuple[list[HitView], str | None]:
    more = {"cursor": said["cursor"]} if "cursor" in said else {}
    page = ask("care.page", limit=_count(said), **more, **_filters(request, said))
    return [_shown(record, frozenset()) for record in page.records], page.next


# --- what is shown ---


def _shown(
    record: AnyRecord, terms: Collection[str], hit: Hit | None = None, whole: float = 1.0
) -> HitView:
    title = " ".join(headline(record)[: 4 * _HEADLINE_CHARS].split())
    short = title if len(title) <= _HEADLINE_CHARS else title[: _HEADLINE_CHARS - 1] + "…"
    below = snippet(_said_besides(record, short), terms)
    return HitView(
        record,
        outcome_of(record),
        marked(short, terms) or [Piece("(nothing said)")],
        below,
        hit,
        _parts(hit, whole) if hit else (),
    )


def _said_besides(record: AnyRecord, title: str) -> str:
    """The record's texts, without those that its title has already, and none twice."""
    seen = [_bare(title)]
    kept = []
    for text in own_texts(record):
        bare = _bare(text[: limits.WEB_SNIPPET_READ_CHARS])
        if not any(bare in before for before in seen):
            kept.append(text)
            seen.append(bare)
            if sum(map(len, kept)) > limits.WEB_SNIPPET_READ_CHARS:
                break
    return " · ".join(kept)


def _bare(text: str) -> str:
    return " ".join(_NO_WORD.sub(" ", text.lower()).split())


_NO_WORD: Final = re.compile(r"[\W_]+")


def _parts(hit: Hit, whole: float) -> tuple[ScorePart, ...]:
    """The largest first; what lowers a score has no width."""
    ordered = sorted(hit.why.items(), key=lambda part: (-part[1], part[0]))
    return tuple(
        ScorePart(name, value, round(100 * max(value, 0.0) / whole, 2)) for name, value in ordered
    )


def _positive(values: Iterable[float]) -> float:
    return sum(value for value in values if value > 0)


def _names(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:_NAMES_OFFERED]
