"""What waits for a decision, and what was decided: one list at a time. Whoever may not decide reads
the same lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from hardwon import limits
from hardwon.errors import ConflictError, InvalidInputError, UnknownRecordError
from hardwon.records.kinds import AnyRecord, Decision
from hardwon.search.rank import headline
from hardwon.surfaces.web.look import shorten
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
# Each action, and how the page afterwards calls it.
ACTIONS: Final[Mapping[str, str]] = {
    "verify": "Verified",
    "publish": "Published",
    "archive": "Archived",
    "supersede": "Replaced",
    "undo": "Undone",
}
_ID: Final = re.compile(r"[0-9a-f-]{36}")
# What is ranked by something else than its time is read so far, to find what lies in the range.
_RANKED_READ: Final = 200
_CHOICES: Final = 10
_TITLE_CHARS: Final = 140


@dataclass(frozen=True)
class ReviewItem:
    """A record in a list. `why` is what else there is to say of it, `actions` what may be done with
    it.
    """

    record: AnyRecord
    actions: tuple[str, ...] = ()
    why: str = ""
    at: datetime | None = None
    helped: int = 0
    hindered: int = 0


@dataclass(frozen=True)
class Listed:
    """One list. `pairs` (decisions, each with those that contradict each other) and `rules` in the
    tabs that have those instead of records.
    """

    items: list[ReviewItem] = field(default_factory=list)
    pairs: list[tuple[Decision, list[ReviewItem]]] = field(default_factory=list)
    rules: list[Any] = field(default_factory=list)
    next: str | None = None


# --- what is seen ---


def view_review(ask: Ask, request: PageRequest) -> WebPage:
    tab, may_decide = request.choose("tab", TABS), ask.may("govern")
    if request.item:
        return _view_choices(ask, request, tab)
    stats = ask("stats")
    known = stats.by_status
    listed = _list(ask, request, tab)
    undo = [each for each in request.query.get("undo", "").split(",") if _ID.fullmatch(each)]
    context = {
        "tab": tab,
        "tabs": TABS,
        "counts": {"hypotheses": known.get("hypothesis", 0), "verified": known.get("verified", 0)},
        "records": stats.records,
        "listed": listed,
        "is_empty": not (listed.items or listed.pairs or listed.rules),
        "order": request.choose("order", ORDERS),
        "orders": ORDERS,
        "may_decide": may_decide,
        # The events by which something was decided just now, where they can be taken back.
        "can_undo": undo[: 2 * limits.WEB_REVIEW_SHOWN] if may_decide else [],
    }
    return WebPage("review.html", context, "Review")


def _view_choices(ask: Ask, request: PageRequest, tab: str) -> WebPage:
    """Which record replaces another: those that say something like it."""
    record = ask("get", record_id=request.item)
    asked = request.query.get("q", "").strip() or shorten(headline(record), 400)
    hits = ask("recall", query=asked, k=_CHOICES + 1)
    context = {
        "record": ReviewItem(record),
        "choices": [hit.record for hit in hits if hit.record.id != record.id][:_CHOICES],
        "asked": request.query.get("q", ""),
        "tab": tab,
        "may_decide": ask.may("govern"),
    }
    return WebPage("review_choice.html", context, "Choose what replaces it")


def _list(ask: Ask, request: PageRequest, tab: str) -> Listed:
    most = limits.WEB_REVIEW_SHOWN

    def in_range(at: datetime) -> bool:
        return request.since is None or at >= request.since

    match tab:
        case "hypotheses":
            return _list_status(
                ask, request, "hypothesis", ("verify", "publish", "archive", "supersede")
            )
        case "verified":
            return _list_status(ask, request, "verified", ("publish", "archive", "supersede"))
        case "stale":
            actions = ("verify", "archive", "supersede")
            return Listed(
                [
                    ReviewItem(each.record, actions, each.reason, each.since)
                    for each in ask("care.stale", limit=most)
                    if in_range(each.since)
                ]
            )
        case "contradictions":
            found = ask("care.decisions", action="contradiction", limit=100)
            recent = [each for each in found if in_range(each.metadata.context.timestamp)]
            return Listed(pairs=_list_pairs(ask, recent, most))
        case "rules":
            rules = ask("episodes.candidate_rules", limit=_RANKED_READ)
            return Listed(rules=[rule for rule in rules if in_range(rule.last_seen)][:most])
        case _:
            return Listed(
                [
                    ReviewItem(each, ("undo",), each.reason)
                    for each in ask("care.decisions", limit=most)
                    if in_range(each.metadata.context.timestamp)
                ]
            )


def _list_status(ask: Ask, request: PageRequest, status: str, actions: tuple[str, ...]) -> Listed:
    since, most = request.since, limits.WEB_REVIEW_SHOWN
    if request.choose("order", ORDERS) == "helpful":
        found = [
            ReviewItem(each.record, actions, helped=each.helped, hindered=each.hindered)
            for each in ask("care.helpful", status=status, limit=_RANKED_READ)
            if since is None or each.record.metadata.context.timestamp >= since
        ]
        return Listed(found[:most])
    cursor = request.query.get("cursor") or None
    page = ask("care.page", status=status, since=since, limit=most, cursor=cursor)
    return Listed([ReviewItem(record, actions) for record in page.records], next=page.next)


def _list_pairs(
    ask: Ask, decisions: Sequence[Decision], most: int
) -> list[tuple[Decision, list[ReviewItem]]]:
    """Those of which both sides are still held to be true."""
    pairs: list[tuple[Decision, list[ReviewItem]]] = []
    for decision in decisions:
        sides = []
        for record in map(ask.record, decision.evidence):
            status = record.metadata.validation.status if record else "archived"
            if record and status != "archived":
                actions = ("verify", "archive") if status == "hypothesis" else ("archive",)
                sides.append(ReviewItem(record, actions))
        if len(sides) > 1:
            pairs.append((decision, sides))
        if len(pairs) == most:
            break
    return pairs


# --- what is decided ---


def decide(ask: Ask, request: PageRequest, form: Form) -> str:
    """Does what the form says with each of its records; what could not be done is told, and the
    rest is done.
    """
    action, ids = form.get("action", ""), list(dict.fromkeys(form.getlist("id")))
    if action not in ACTIONS:
        raise InvalidInputError.one("action", action, ", ".join(ACTIONS))
    back = {"tab": request.choose("tab", TABS), "order": request.query.get("order")}
    reason, new_id = form.get("reason", "").strip(), form.get("new_id", "").strip()
    flash = request.session.flash
    if not ids:
        flash("Nothing was chosen: tick what is meant first.")
        return request.url("review", **back)
    if action in ("archive", "supersede") and not reason:
        flash("Nothing was changed: say why, in a few words.")
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
