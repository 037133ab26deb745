"""What was believed at some time, and what became of a record since. Reads only.

What is known comes back: records, hits, contexts, advice, and what there is.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

from hardwon import limits
from hardwon.errors import DamagedError, InvalidInputError
from hardwon.memory import intake
from hardwon.memory.core import Core
from hardwon.memory.results import Links
from hardwon.records.fields import TIME_US_MAX, from_us, to_us
from hardwon.records.kinds import (
    ROUTES,
    STATUSES,
    VOUCHED_STATUSES,
    AnyRecord,
    Decision,
    Event,
    Issue,
    Status,
    Step,
    Validation,
)
from hardwon.search.terms import Filters
from hardwon.store.rows import original_of, record_of, restored
from hardwon.store.types import Cursor, Found, Store, Stored
from hardwon.text.tokens import count_tokens
from hardwon.trust.lifecycle import credits_of, effective_validation, not_undone

if TYPE_CHECKING:
    from hardwon.brief.advice import Advice
    from hardwon.learn.topology import Branch, FolderCount, Hotspot, Reflection
    from hardwon.memory.context import Context, Recaller
    from hardwon.memory.results import Activity, Credited, Held, LifeEvent, Page
    from hardwon.memory.stats import Stats
    from hardwon.search.rank import Hit

# ---- believing ------------------------------------------------------------


class Then:
    """A project as it was at a time. Records carry the time at which something was found out; one that was loaded later was
    not here yet. What was forgotten since is gone from then as well, and fixes that left the history since are not searched."""

    def __init__(self, store: Store, project: str, at: datetime) -> None:
        self._store, self._project = store, project
        self.at_us = to_us(at)
        self._left_out: set[str] | None = None

    def seen(self, found: Found, status: Status | None, author: str | None) -> Found | None:
        """A record as it stood then; None where a reader would not have been given it."""
        try:
            stored, validation = self._stored(found.stored)
        except DamagedError:
            return None
        if stored is None or validation is None:
            return None
        asked_for = validation.status == status if status else validation.status != "archived"
        if not asked_for or (author is None and found.author in self._rolled_back()):
            return None
        return found._replace(stored=stored, status=validation.status, helped=stored.helped, hindered=stored.hindered)

    def record(self, stored: Stored) -> Stored | None:
        """The same for a record that was asked for by its id, whatever its status. A fix that left the history since is whole,
        as long as it can be brought back."""
        return self._stored(restored(stored) or stored)[0]

    def _stored(self, stored: Stored) -> tuple[Stored | None, Validation | None]:
        events = self._store.events_of(self._project, stored.id)
        if stored.at_us > self.at_us or any(event.kind == "imported" and event.at_us > self.at_us for event in events):
            return None, None
        validation, helped, hindered = self._standing(stored, events)
        envelope = original_of(stored).metadata.validation
        changed = None if validation == envelope else validation.to_json()
        return stored._replace(validation=changed, helped=helped, hindered=hindered), validation

    def _standing(self, stored: Stored, events: Sequence[Event]) -> tuple[Validation, int, int]:
        before = [event for event in events if event.at_us <= self.at_us]
        metadata = original_of(stored).metadata
        return effective_validation(metadata.validation, before), *credits_of(before, metadata.source.author)

    def _rolled_back(self) -> set[str]:
        if self._left_out is None:
            found = [
                stored
                for undone in (False, True)
                for stored in self._store.decisions(self._project, ["rollback"], None, limits.DECISIONS_MAX, undone=undone)
            ]
            self._left_out = {target for stored in found if (target := self._rolled_back_by(stored))}
        return self._left_out

    def _rolled_back_by(self, stored: Stored) -> str | None:
        decision = original_of(stored)
        if not isinstance(decision, Decision) or stored.at_us > self.at_us:
            return None
        validation, _, _ = self._standing(stored, self._store.events_of(self._project, stored.id))
        return decision.target if validation.status in VOUCHED_STATUSES else None


def links_of(store: Store, project: str, record_id: str) -> Links:
    """What replaced a record, what it replaced, and what contradicts it."""
    superseded = [event for event in not_undone(store.events_of(project, record_id)) if event.kind == "superseded"]
    contradictions = store.decisions(project, ["contradiction"], None, limits.DECISIONS_MAX)
    others = [
        other
        for decision in map(record_of, contradictions)
        if isinstance(decision, Decision) and record_id in decision.evidence
        for other in decision.evidence
        if other != record_id
    ]
    return Links(
        replaced_by=superseded[-1].replaced_by if superseded else None,
        replaces=tuple(store.superseded_by(project, record_id)),
        contradicts=tuple(dict.fromkeys(others)),
    )


# ---- asking ------------------------------------------------------------


class Asking(Core):
    """Answers before the next attempt."""

    def get(self, record_id: str | UUID, as_of: datetime | str | None = None) -> AnyRecord | None:
        """The record of that `record_id` as it stands now, or as it stood then; None where there is, or was, no such record."""
        stored = self._store.get(self.project, intake.record_id(record_id))
        if stored and as_of is not None:
            stored = Then(self._store, self.project, intake.moment("as_of", as_of)).record(stored)
        return record_of(stored) if stored else None

    def links(self, record_id: str | UUID) -> Links:
        """What replaced the record of that `record_id`, what it replaced, and what contradicts it."""

        return links_of(self._store, self.project, intake.record_id(record_id))

    def audit(self, record_id: str | UUID) -> list[LifeEvent]:
        """The whole life of the record of that `record_id`, oldest first: created, and everything that happened to it since. A
        forgotten record has its tombstone left; an id that was never known gives an empty list."""
        from hardwon.memory.results import LifeEvent

        wanted = intake.record_id(record_id)
        stored = self._store.get(self.project, wanted)
        life = []
        envelope = Validation()
        if stored:
            metadata = original_of(stored).metadata
            envelope = metadata.validation
            life.append(LifeEvent("created", metadata.context.timestamp, metadata.source.author, envelope.status))
        events = self._store.events_of(self.project, wanted)
        for number, event in enumerate(events, 1):
            status = "" if event.kind == "forgotten" else effective_validation(envelope, events[:number]).status
            life.append(LifeEvent(event.kind, event.at, event.by, status, event))
        return life

    def browse(self, limit: int | None = None, **filters: Any) -> Iterator[AnyRecord]:
        """Records that pass all filters, newest first; without a `limit` all of them. Nothing stays locked between two of
        them."""
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise InvalidInputError.one("limit", limit, "a whole number, 0 or more")
        asked = Filters.of(self.project, filters)
        self._catch_up()
        found = map(record_of, self._pages(asked, limit))
        return found if limit is None else islice(found, min(limit, sys.maxsize))

    def page(self, limit: int = limits.PAGE_RECORDS, cursor: str | None = None, **filters: Any) -> Page:
        """As `browse`, a page at a time: `cursor` is the `next` of the page before."""
        from hardwon.memory.results import Page

        size = intake.whole_number("limit", limit, 1, limits.PAGE_RECORDS_MAX)
        before = None if cursor is None else intake.cursor(cursor)
        asked = Filters.of(self.project, filters)
        self._catch_up()
        found = self._store.page(self.project, asked, before, size + 1)
        more = Cursor(found[size - 1].at_us, found[size - 1].id) if len(found) > size else None
        return Page([record_of(stored) for stored in found[:size]], intake.written_cursor(more) if more else None)

    def recall(self, query: str, k: int = 5, *, as_of: datetime | str | None = None, **filters: Any) -> list[Hit]:
        """The `k` records that answer the `query` best, each with its score and why. Archived ones only where
        `status="archived"` asks for them, and a source that was rolled back only where `author` does. `as_of` a time: what was
        believed then, of what was recorded by then and is not forgotten."""
        k = intake.whole_number("k", k, 1, limits.RECALL_K_MAX)
        intake.text("query", query)
        asked = Filters.of(self.project, filters)
        self._catch_up()
        if as_of is not None:
            return self._recall_then(query, k, asked, intake.moment("as_of", as_of))
        hits = self._recaller.recall(query, k, asked)
        if self._mirror and self._mirror.refresh([hit.record.id for hit in hits]):
            return self._recaller.recall(query, k, asked)
        return hits

    def _recall_then(self, query: str, k: int, asked: Filters, at: datetime) -> list[Hit]:
        from hardwon.memory.context import Recaller
        from hardwon.memory.knowledge import Knowledge

        known = Knowledge(self._store, self.project, to_us(at) // limits.DAY_US)
        embed = self._embed_query if self._embedder else None
        last = from_us(min(to_us(at) + 1, TIME_US_MAX))
        asked = asked.altered(until=last if asked.until is None else min(asked.until, last))

        recaller = Recaller(self._store, self.project, known, embed)
        return recaller.recall(query, k, asked, Then(self._store, self.project, at))

    def context(
        self,
        query: str | None = None,
        *,
        task_id: str | None = None,
        issue: Issue | Mapping[str, Any] | None = None,
        budget_tokens: int = limits.CONTEXT_TOKENS,
        count_tokens: Callable[[str], int] = count_tokens,
    ) -> Context:
        """What matters before the next attempt, ready for a prompt: rules of the `task_id`, known fixes of the `issue`, cases
        similar to the `query`. Never more than `budget_tokens`, counted on the very text; empty where there is nothing to say.
        The text is data: it is fenced, and says so. `count_tokens` counts for your own model; the default counts at least as
        many as any."""
        intake.optional_text("query", query)
        intake.optional_text("task_id", task_id)
        budget = intake.whole_number("budget_tokens", budget_tokens, 1, limits.CONTEXT_TOKENS_MAX)
        if not callable(count_tokens):
            raise InvalidInputError.one("count_tokens", count_tokens, "a function from text to a number of tokens")
        given, fixer = intake.issue(issue) if issue is not None else (None, None)
        mark = secrets.token_hex(limits.MARK_BYTES)
        self._catch_up()
        return self._recaller.context(query or "", task_id, given, fixer, budget, _checked_counter(count_tokens), mark)

    def advise(
        self,
        action: str,
        *,
        task: str | None = None,
        error: str | None = None,
        issue: Issue | Mapping[str, Any] | None = None,
        steps: Sequence[Step | Mapping[str, Any]] = (),
    ) -> Advice:
        """What is known of an action before it is taken: whether it failed here before, how likely it is to work, what worked
        instead. `task` is what it is for, `error` what is to be got rid of, `steps` are those of the current attempt so far."""
        for name, value in (("action", action), ("task", task), ("error", error)):
            intake.optional_text(name, value)
        if not intake.text("action", action).strip():
            raise InvalidInputError.one("action", action, "text that is not blank")
        given = intake.issue(issue)[0] if issue is not None else None
        so_far = [Step.model_validate(step) if not isinstance(step, Step) else step for step in intake.items("steps", steps)]
        return self._recaller.advise(action, task, error, given, so_far[-limits.STEPS_LEARNED_MAX :])

    @property
    def _recaller(self) -> Recaller:
        from hardwon.memory.context import Recaller

        return Recaller(self._store, self.project, self._known, self._embed_query if self._embedder else None, self._watch)

    def projects(self) -> list[str]:
        """The projects that have records in this memory."""
        return self._store.projects()

    def stats(self) -> Stats:
        """How much there is, of what, and where."""
        from hardwon.memory.stats import Stats

        self._catch_up()
        counts = vars(self._store.counts(self.project))
        return Stats(**counts, location=self.location, project=self.project, size_bytes=self._store.size_bytes())

    def activity(self, since: datetime | str | int | None = None, until: datetime | str | int | None = None) -> list[Activity]:
        """What was recorded day by day (UTC), by kind, and how it turned out: whole days from the one of `since` to the one of
        `until`. Where nobody says, from the first record to today."""
        asked = Filters.of(self.project, {"since": since, "until": until})
        first = 0 if asked.since is None else to_us(asked.since) // limits.DAY_US
        last = to_us(self.now() if asked.until is None else asked.until) // limits.DAY_US
        from hardwon.memory.results import Activity

        found = self._store.activity(self.project, first, last + 1)
        return [Activity(from_us(day * limits.DAY_US).date(), kind, *counts) for day, kind, *counts in found]

    def helpful(self, status: Status = "hypothesis", limit: int = 20) -> list[Credited]:
        """The records of a status that helped most often when they were recalled, of those that ever did."""
        if status not in STATUSES:
            raise InvalidInputError.one("status", status, f"one of {', '.join(STATUSES)}")
        from hardwon.memory.knowledge import readable
        from hardwon.memory.results import Credited

        found = self._store.most_helpful(self.project, status, intake.whole_number("limit", limit, 1, limits.SHOWN_MAX))
        return [Credited(record, *counts) for stored, *counts in found for record in readable([stored])]

    def stale_records(self, limit: int = 20) -> list[Held]:
        """The records that `check_stale` archived because their files changed, and about which nobody decided since; the last
        one first."""
        from hardwon.memory.knowledge import readable
        from hardwon.memory.results import Held

        found = self._store.held_as_stale(self.project, intake.whole_number("limit", limit, 1, limits.SHOWN_MAX))
        return [
            Held(record, event.at, event.by, event.reason or "") for stored, event in found for record in readable([stored])
        ]

    def change_mark(self) -> str:
        """A text that is another one after anything was recorded, decided or forgotten: cheap enough to ask every second."""
        return "-".join(map(str, self._store.change_mark(self.project)))

    def topology(self) -> Branch:
        """What lies where: experiences by outcome, tool and the key that the two require; with a tree, its folders."""
        from hardwon.learn.topology import topology_of

        return topology_of(self._folder_counts(), self._place.path.parent.name if self._place.path else self.project)

    def hotspots(self, share: float = limits.HOTSPOT_SHARE, limit: int = limits.HOTSPOTS_SHOWN_MAX) -> list[Hotspot]:
        """Where experiences pile up: places that hold at least this share of what lies above them, the largest first."""
        from hardwon.learn.topology import hotspots_of

        return hotspots_of(self.topology(), share, limit)

    def reflect(self) -> Reflection:
        """What the experiences add up to: totals, where failures and successes pile up, and sentences about them."""
        from hardwon.learn.topology import reflect_on

        counts = self._folder_counts()
        newest = self._store.page(self.project, Filters(kind="experience"), None, limits.RECENT_SHOWN, trusted=True)
        return replace(reflect_on(counts), recent=[record_of(stored) for stored in newest])

    def _folder_counts(self) -> list[FolderCount]:
        if self._mirror:
            return self._mirror.counts()
        from hardwon.learn.topology import FolderCount
        from hardwon.tree.routing import Coherence

        keys = sorted({route[0] for route in ROUTES.values() if route})
        router = Coherence()
        found = self._store.routes(self.project, keys)
        return [FolderCount(router.route(each.packet).folder, each.records, each.bytes) for each in found]


def _checked_counter(count: Callable[[str], int]) -> Callable[[str], int]:
    """A caller's counter whose answers are numbers of tokens."""

    def checked(text: str) -> int:
        return intake.whole_number("count_tokens(text)", count(text), 0, limits.JSON_INT_ABS_MAX)

    return checked
