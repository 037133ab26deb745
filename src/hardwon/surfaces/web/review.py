"""What waits for a decision, and what was decided: one list at a time. Whoever may not decide reads
the same lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from hardwon import limits
from hardwon.errors import ConflictError, InvalidInputError, UnknownRecordError
from hardwon.records.kinds import AnyRecord, Decision
from hardwon.search.rank import headline
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.web.pages import Form, PageRequest, WebPage, shorten

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


# --- what is seen ---


def view_review(ask: Ask, request: PageRequest) -> WebPage:
    tab, may_decide = request.choose("tab", TABS), ask.may("govern")
    if request.item:
        return _view_choices(ask, request, tab)
    stats = ask("stats")
    known = stats.by_status
    undo = [each for each in request.query.get("undo", "").split(",") if _ID.fullmatch(each)]
    listed = {"waiting": [], "pairs": [], "rules": [], "next": None, **_list(ask, request, tab)}
    return WebPage(
        "review.html",
        "Review",
        {
            "tab": tab,
            "tabs": TABS,
            "counts": {
                "hypotheses": known.get("hypothesis", 0),
                "verified": known.get("verified", 0),
            },
            "records": stats.records,
            **listed,
            "is_empty": not any(listed.values()),
            "order": request.choose("order", ORDERS),
            "orders": ORDERS,
            "may_decide": may_decide,
            # The events by which something was decided just now, where they can be taken back.
            "can_undo": undo[: 2 * limits.WEB_REVIEW_SHOWN] if may_decide else [],
        },
    )


def _view_choices(ask: Ask, request: PageRequest, tab: str) -> WebPage:
    """Which record replaces another: those that say something like it."""
    record = ask("get", record_id=request.item)
    asked = request.query.get("q", "").strip() or shorten(headline(record), 400)
    hits = ask("recall", query=asked, k=_CHOICES + 1)
    return WebPage(
        "review_choice.html",
        "Choose what replaces it",
        {
            "record": ReviewItem(record),
            "choices": [hit.record for hit in hits if hit.record.id != record.id][:_CHOICES],
            "asked": request.query.get("q", ""),
            "tab": tab,
            "may_decide": ask.may("govern"),
        },
    )


def _list(ask: Ask, request: PageRequest, tab: str) -> dict[str, Any]:
    """Of one tab, records that wait, `pairs` (decisions, each with those that contradict each
    other) or `rules`.
    """
    most = limits.WEB_REVIEW_SHOWN

    def in_range(at: datetime) -> bool:
        return request.since is None or at >= request.since

    def recent(decisions: Sequence[Decision]) -> list[Decision]:
        return [each for each in decisions if in_range(each.metadata.context.timestamp)]

    if tab in _BY_STATUS:
        return _list_status(ask, request, *_BY_STATUS[tab])
    if tab == "stale":
        actions = ("verify", "archive", "supersede")
        return {
            "waiting": [
                ReviewItem(each.record, actions, each.reason, each.since)
                for each in ask("care.stale", limit=most)
                if in_range(each.since)
            ]
        }
    if tab == "contradictions":
        found = recent(ask("care.decisions", action="contradiction", limit=100))
        # Those of which both sides are still held to be true.
        pairs = ((decision, _sides(ask, decision)) for decision in found)
        return {"pairs": list(islice((pair for pair in pairs if len(pair[1]) > 1), most))}
    if tab == "rules":
        rules = ask("episodes.candidate_rules", limit=_RANKED_READ)
        return {"rules": [rule for rule in rules if in_range(rule.last_seen)][:most]}
    decisions = recent(ask("care.decisions", limit=most))
    return {"waiting": [ReviewItem(each, ("undo",), each.reason) for each in decisions]}


def _list_status(
    ask: Ask, request: PageRequest, status: str, actions: tuple[str, ...]
) -> dict[str, Any]:
    since, most = request.since, limits.WEB_REVIEW_SHOWN
    if request.choose("order", ORDERS) == "helpful":
        found = [
            ReviewItem(each.record, actions, helped=each.helped, hindered=each.hindered)
            for each in ask("care.helpful", status=status, limit=_RANKED_READ)
            if since is None or each.record.metadata.context.timestamp >= since
        ]
        return {"waiting": found[:most]}
    cursor = request.query.get("cursor") or None
    page = ask("care.page", status=status, since=since, limit=most, cursor=cursor)
    return {"waiting": [ReviewItem(each, actions) for each in page.records], "next": page.next}


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
    back = {"tab": request.choose("tab", TABS), "order": request.query.get("order")}
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
