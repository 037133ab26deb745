"""What waits for a decision, and what was decided: one list at a time. Whoever may not decide reads
the same lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import ConflictError, InvalidInputError, UnknownRecordError
from hardwon.records.kinds import AnyRecord, Decision, Fix
from hardwon.search.rank import headline, outcome_of
from hardwon.surfaces.web.look import shortened
from hardwon.surfaces.web.pages import Ask, Form, PageRequest, WebPage

TABS: Final[Mapping[str, str]] = {
    "hypotheses": "Hypotheses",
    "verified": "Verified",
    "stale": "Stale",
    "contradictions": "Contradictions",
    "rules": "Candidate rules",
    "decisions": "Decisions",
}
ORDERS: Final[Mapping[str, str]] = {"newest": "Newest first", "helpful": "Most helpful first"}
_ID: Final = re.compile(r"[0-9a-f-]{36}")
ACTIONS: Final = ("verify", "publish", "archive", "supersede", "undo")
_DONE: Final = {
    "verify": "Verified",
    "publish": "Published",
    "archive": "Archived",
    "supersede": "Replaced",
    "undo": "Undone",
}
_DECISIONS_READ: Final = 100
_RANKED_READ: Final = 200
"""What is ranked by something else than its time is read so far, to find what lies in the range."""
_CHOICES: Final = 10
_TITLE_CHARS: Final = 140


@dataclass(frozen=True)
class ReviewItem:
    """A record in a list. `why` is what else there is to say of it, `actions` what may be done with
    it.
    """

    record: AnyRecord
    actions: tuple[str, ...]
    why: str = ""
    at: datetime | None = None
    helped: int = 0
    hindered: int = 0

    @property
    def title(self) -> str:
        return headline(self.record)

    @property
    def status(self) -> str:
        return self.record.metadata.validation.status

    @property
    def outcome(self) -> str:
        return outcome_of(self.record)

    @property
    def did(self) -> str:
        """Of a fix, what was done."""
        return (
            ("; ".join(self.record.fix_commands) or self.record.analysis)
            if isinstance(self.record, Fix)
            else ""
        )


class ReviewPair(NamedTuple):
    """Two records that contradict each other, and the decision that says so."""

    decision: Decision
    sides: tuple[ReviewItem, ...]


@dataclass(frozen=True)
class Listed:
    """One list. `pairs` and `rules` in the tabs that have those instead of records."""

    items: list[ReviewItem] = field(default_factory=list)
    pairs: list[ReviewPair] = field(default_factory=list)
    rules: list[Any] = field(default_factory=list)
    next: str | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.items or self.pairs or self.rules)


# --- what is seen ---


def view(ask: Ask, request: PageRequest) -> WebPage:
    if request.item:
        return _choosing(ask, request)
    tab = _tab_of(request)
    stats = ask("stats")
    known = stats.by_status
    context = {
        "tab": tab,
        "tabs": TABS,
        "counts": {"hypotheses": known.get("hypothesis", 0), "verified": known.get("verified", 0)},
        "records": stats.records,
        "listed": _LISTS[tab](ask, request),
        "order": _order_of(request),
        "orders": ORDERS,
        "may_decide": ask.may("govern"),
        "can_undo": _undoable(ask, request.query.get("undo", "")),
    }
    return WebPage("review.html", context, "Review")


def _tab_of(request: PageRequest) -> str:
    asked = request.query.get("tab", "")
    return asked if asked in TABS else next(iter(TABS))


def _order_of(request: PageRequest) -> str:
    asked = request.query.get("order", "")
    return asked if asked in ORDERS else next(iter(ORDERS))


def _recent(request: PageRequest, at: datetime) -> bool:
    return request.since is None or at >= request.since


def _hypotheses(ask: Ask, request: PageRequest) -> Listed:
    return _of_status(ask, request, "hypothesis", ("verify", "publish", "archive", "supersede"))


def _verified(ask: Ask, request: PageRequest) -> Listed:
    return _of_status(ask, request, "verified", ("publish", "archive", "supersede"))


def _of_status(ask: Ask, request: PageRequest, status: str, actions: tuple[str, ...]) -> Listed:
    if _order_of(request) == "helpful":
        found = ask("care.helpful", status=status, limit=_RANKED_READ)
        credited = [
            each for each in found if _recent(request, each.record.metadata.context.timestamp)
        ]
        shown = credited[: limits.WEB_REVIEW_SHOWN]
        return Listed(
            [
                ReviewItem(each.record, actions, helped=each.helped, hindered=each.hindered)
                for each in shown
            ]
        )
    cursor = request.query.get("cursor") or None
    page = ask(
        "care.page",
        status=status,
        since=request.since,
        limit=limits.WEB_REVIEW_SHOWN,
        cursor=cursor,
    )
    return Listed([ReviewItem(record, actions) for record in page.records], next=page.next)


def _stale(ask: Ask, request: PageRequest) -> Listed:
    actions = ("verify", "archive", "supersede")
    found = [
        each
        for each in ask("care.stale", limit=limits.WEB_REVIEW_SHOWN)
        if _recent(request, each.since)
    ]
    return Listed([ReviewItem(each.record, actions, each.reason, each.since) for each in found])


def _contradictions(ask: Ask, request: PageRequest) -> Listed:
    """Those of which both sides are still held to be true."""
    pairs = []
    for decision in ask("care.decisions", action="contradiction", limit=_DECISIONS_READ):
        if not _recent(request, decision.metadata.context.timestamp):
            continue
        found = map(ask.record, decision.evidence)
        sides = tuple(
            ReviewItem(each, _next_of(each))
            for each in found
            if each and each.metadata.validation.status != "archived"
        )
        if len(sides) > 1:
            pairs.append(ReviewPair(decision, sides))
        if len(pairs) == limits.WEB_REVIEW_SHOWN:
            break
    return Listed(pairs=pairs)


def _next_of(record: AnyRecord) -> tuple[str, ...]:
    return (
        ("verify", "archive") if record.metadata.validation.status == "hypothesis" else ("archive",)
    )


def _rules(ask: Ask, request: PageRequest) -> Listed:
    found = ask("episodes.candidate_rules", limit=_RANKED_READ)
    return Listed(
        rules=[rule for rule in found if _recent(request, rule.last_seen)][
            : limits.WEB_REVIEW_SHOWN
        ]
    )


def _decisions(ask: Ask, request: PageRequest) -> Listed:
    found = ask("care.decisions", limit=limits.WEB_REVIEW_SHOWN)
    return Listed(
        [
            ReviewItem(each, ("undo",), each.reason)
            for each in found
            if _recent(request, each.metadata.context.timestamp)
        ]
    )


_LISTS: Final[Mapping[str, Callable[[Ask, PageRequest], Listed]]] = {
    "hypotheses": _hypotheses,
    "verified": _verified,
    "stale": _stale,
    "contradictions": _contradictions,
    "rules": _rules,
    "decisions": _decisions,
}


def _undoable(ask: Ask, said: str) -> list[str]:
    """The events by which something was decided just now, where they can be taken back."""
    ids = [each for each in said.split(",") if _ID.fullmatch(each)]
    return ids[: 2 * limits.WEB_REVIEW_SHOWN] if ask.may("govern") else []


def _events_of(ask: Ask, request: PageRequest, done: Iterable[AnyRecord]) -> str:
    """What was decided about each of them by this request, the last first, as `_undoable`
    reads it.
    """
    lives = [ask("audit", record_id=record.id) for record in done]
    events = [
        each.event
        for life in lives
        for each in reversed(life)
        if each.event and each.at >= request.now
    ]
    return ",".join(event.id for event in events if event.kind in ("status", "superseded"))


def _choosing(ask: Ask, request: PageRequest) -> WebPage:
    """Which record replaces another: those that say something like it."""
    record = ask("get", record_id=request.item)
    asked = request.query.get("q", "").strip() or shortened(headline(record), 400)
    hits = ask("recall", query=asked, k=_CHOICES + 1)
    context = {
        "record": ReviewItem(record, ()),
        "choices": [ReviewItem(hit.record, ()) for hit in hits if hit.record.id != record.id][
            :_CHOICES
        ],
        "asked": request.query.get("q", ""),
        "tab": _tab_of(request),
        "may_decide": ask.may("govern"),
    }
    return WebPage("review_choice.html", context, "Choose what replaces it")


# --- what is decided ---


def act(ask: Ask, request: PageRequest, form: Form) -> str:
    """Does what the form says with each of its records; what could not be done is told, and the
    rest is done.
    """
    action, ids = form.get("action"), list(dict.fromkeys(form.all("id")))
    if action not in ACTIONS:
        raise InvalidInputError.one("action", action, ", ".join(ACTIONS))
    back = request.url("review", tab=_tab_of(request), order=request.query.get("order"))
    if not ids:
        request.tell("Nothing was chosen: tick what is meant first.")
        return back
    reason = form.get("reason").strip()
    if action in ("archive", "supersede") and not reason:
        request.tell("Nothing was changed: say why, in a few words.")
        return back
    done: list[AnyRecord] = []
    refused: list[str] = []
    for record_id in ids:
        try:
            done.append(_decided(ask, action, record_id, reason, form.get("new_id").strip()))
        except (InvalidInputError, UnknownRecordError, ConflictError) as error:
            refused.append(str(error))
    for told in _told(action, done, refused):
        request.tell(told)
    undo = _events_of(ask, request, done) if action != "undo" else None
    return request.url("review", tab=_tab_of(request), order=request.query.get("order"), undo=undo)


def _decided(ask: Ask, action: str, record_id: str, reason: str, new_id: str) -> AnyRecord:
    found: AnyRecord
    match action:
        case "verify":
            found = ask("verify", record_id=record_id, by="human_approval")
        case "publish":
            if ask("get", record_id=record_id).metadata.validation.status == "hypothesis":
                ask("verify", record_id=record_id, by="human_approval")
            found = ask("publish", record_id=record_id)
        case "archive":
            found = ask("archive", record_id=record_id, reason=reason)
        case "supersede":
            found = ask("supersede", old_id=record_id, new_id=new_id, reason=reason)
        case _:
            found = ask("undo", decision_id=record_id)
    return found


def _told(action: str, done: list[AnyRecord], refused: Iterable[str]) -> Iterable[str]:
    if len(done) == 1:
        yield f"{_DONE[action]}: {shortened(headline(done[0]), _TITLE_CHARS)}"
    elif done:
        yield f"{_DONE[action]}: {len(done)} records"
    failed = list(refused)
    if failed:
        yield f"Not done for {len(failed)}: {shortened(failed[0], 2 * _TITLE_CHARS)}"
