"""The context lab: what an agent would be told before an attempt, word for word, and what would be
said of an action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.brief.advice import Advice
from hardwon.errors import InvalidInputError
from hardwon.memory.context import Context
from hardwon.search.rank import headline
from hardwon.surfaces.web.pages import Ask, PageRequest, WebPage

ISSUE_FIELDS: Final = ("model", "issue_type", "description", "error_output")
FIELDS: Final = ("q", "task_id", *ISSUE_FIELDS, "budget", "action")
_SOURCES_SHOWN: Final = 5
_VERDICTS: Final = {"ok": "good", "caution": "warn", "blocked": "bad"}


class LabSource(NamedTuple):
    """A record behind a line."""

    id: str
    title: str


class LabLine(NamedTuple):
    """A line of the context, what is behind it, and how many records more."""

    text: str
    sources: list[LabSource]
    more: int


def view(ask: Ask, request: PageRequest) -> WebPage:
    said = {name: _said(request, name) for name in FIELDS}
    budget = _budget(said["budget"])
    issue = {name: said[name] for name in ISSUE_FIELDS if said[name]}
    titles = _Titles(ask)
    context = _context(ask, said, issue, budget)
    advice = _advice(ask, said, issue)
    shown = {
        "said": said,
        "budget": budget,
        "budget_usual": limits.CONTEXT_TOKENS,
        "budget_max": limits.CONTEXT_TOKENS_MAX,
        "chars_max": limits.WEB_LAB_CHARS_MAX,
        "issue_open": bool(issue),
        "context": context,
        "lines": list(_lines(context, titles)) if context else [],
        "hits": [(hit, headline(hit.record)) for hit in context.hits] if context else [],
        "advice": advice,
        "verdict_look": _VERDICTS.get(advice.verdict, "plain") if advice else "",
        "evidence": titles.of(advice.evidence) if advice else [],
        "is_empty": not ask("stats").records,
    }
    return WebPage("lab.html", shown, "Context lab")


def _said(request: PageRequest, name: str) -> str:
    text = request.query.get(name, "").replace("\r\n", "\n").strip()
    if len(text) > limits.WEB_LAB_CHARS_MAX:
        raise InvalidInputError.one(
            name, f"{len(text)} characters", f"at most {limits.WEB_LAB_CHARS_MAX} characters"
        )
    return text


def _budget(text: str) -> int:
    if not text:
        return limits.CONTEXT_TOKENS
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= limits.CONTEXT_TOKENS_MAX):
        raise InvalidInputError.one(
            "budget", text, f"a whole number of tokens, 1 to {limits.CONTEXT_TOKENS_MAX}"
        )
    return int(text)


def _context(
    ask: Ask, said: Mapping[str, str], issue: Mapping[str, str], budget: int
) -> Context | None:
    if not (said["q"] or said["task_id"] or issue):
        return None
    given: dict[str, Any] = {
        "query": said["q"] or None,
        "task_id": said["task_id"] or None,
        "issue": dict(issue) or None,
    }
    found: Context = ask("context", **given, budget_tokens=budget)
    return found


def _advice(ask: Ask, said: Mapping[str, str], issue: Mapping[str, str]) -> Advice | None:
    if not said["action"]:
        return None
    error = issue.get("error_output") or None
    found: Advice = ask(
        "advise",
        action=said["action"],
        task=said["q"] or None,
        error=error,
        issue=dict(issue) or None,
    )
    return found


class _Titles:
    """What records are about, each read once."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: dict[str, str] = {}

    def of(self, ids: Iterable[str]) -> list[LabSource]:
        return [LabSource(each, self._title(each)) for each in list(ids)[:_SOURCES_SHOWN]]

    def _title(self, record_id: str) -> str:
        if record_id not in self._known:
            record = self._ask.record(record_id)
            self._known[record_id] = headline(record) if record else record_id
        return self._known[record_id]


def _lines(context: Context, titles: _Titles) -> Iterable[LabLine]:
    # of an empty one there are none
    for text, ids in zip(context.text.split("\n"), context.sources, strict=False):
        if ids:
            yield LabLine(
                text.removeprefix("- ").strip(), titles.of(ids), max(0, len(ids) - _SOURCES_SHOWN)
            )
