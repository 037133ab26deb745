"""Finds the records that answer a question, as they are now, or as they were believed at some time.
Reads only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from hardwon.errors import DamagedError
from hardwon.first_use import lazy
from hardwon.memory.later import staleness, times
from hardwon.memory.project import Project
from hardwon.memory.standing import derive_standing
from hardwon.records.fields import EPOCH, to_us
from hardwon.records.kinds import VOUCHED_STATUSES, Decision, Status, name_sources
from hardwon.search.rank import AFTER, BEFORE, Hit, Ranked, lower_stale, rank
from hardwon.search.terms import Filters
from hardwon.store.query import read_original, readable, restore_body
from hardwon.store.types import Found, Stored
from hardwon.text.failures import failure_hash, shows_error
from hardwon.text.terms import query_terms


class PastView:
    """A project as it was at a time. Records carry the time at which something was found out; one
    that was loaded later was not here yet. What was forgotten since is gone from then as well, and
    fixes that left the history since are not searched.
    """

    def __init__(self, project: Project, at: datetime) -> None:
        self._store, self._project = project.store, project.name
        self.at_us = to_us(at)

    def look_back(self, hit: Found, status: Status | None, author: str | None) -> Found | None:
        """A record as it stood then; None where a reader would not have been given it."""
        try:
            then = self._then(hit.stored)
        except DamagedError:
            return None
        if then is None or (author is None and then[0].author in self._rolled_back_sources):
            return None
        stored, stood = then
        if stood != status if status else stood == "archived":
            return None
        hit.status, hit.validation = stood, stored.validation
        hit.helped, hit.hindered = stored.helped, stored.hindered
        hit.author = stored.author or hit.author
        return hit

    def record(self, stored: Stored) -> Stored | None:
        """A record that was asked for by its id as it stood then, whatever its status; None where it was
        not here yet. A fix that left the history since is whole, as long as it can be brought back.
        """
        then = self._then(restore_body(stored) or stored)
        return then[0] if then else None

    def _then(self, stored: Stored) -> tuple[Stored, Status] | None:
        """As it was kept, and its status; None where it was not here yet."""
        events = self._store.list_events(self._project, stored.id)
        before = [event for event in events if event.at_us <= self.at_us]
        came = [event for event in events if event.kind == "imported"]
        if stored.at_us > self.at_us or any(event.at_us > self.at_us for event in came):
            return None
        record = read_original(stored)
        validation, credited, author = derive_standing(record, before)
        changed = None if validation == record.metadata.validation else validation.to_json()
        return Stored(*stored[:5], changed, *credited, author), validation.status

    @lazy
    def _rolled_back_sources(self) -> set[str]:
        """Those whose work a rollback had taken back that was in force then."""
        sources = set[str]()
        for stored in self._store.decisions(self._project, ["rollback"], undone=None):
            decision, then = read_original(stored), self._then(stored)
            if isinstance(decision, Decision) and then and then[1] in VOUCHED_STATUSES:
                sources.update(name_sources(decision.target))
        return sources


# Records that are looked at for one answer, the best by their text. Twice as many change nothing,
# half as many lose some.
CANDIDATES: Final = 40

# Records that are ranked even if fewer are asked for.
RANKED_MIN: Final = 20

# as `generate_issue_signature` and `failure_hash` make them
_HASH: Final = re.compile(r"[0-9a-f]{16}")

# Hits whose neighbours in their session are looked at, the best by their text.
NEIGHBOURED: Final = 20


class Finder:
    """Finds the records of one project that answer a question."""

    def __init__(self, project: Project, at: datetime | None = None) -> None:
        """`at`: when it is asked, where that is not now."""
        self._store, self._project = project.store, project.name
        self._now = project.now if at is None else lambda: at
        self._embed = project.embed_query if project.embedder else None
        self._changes_of = project.staleness

    def find(
        self,
        query: str,
        k: int,
        filters: Filters,
        then: PastView | None = None,
        also: Iterable[str] = (),
        spare: int = CANDIDATES,
    ) -> list[tuple[Ranked[Found], Found]]:
        """The best `k` by what the store knows of the records; none of them is read. `then`: as it
        would have been answered at that time. `also` as in `rank`. So many to `spare` are looked at,
        for what else is known of them changes their order.
        """
        vector = self._embed(query) if self._embed and query.strip() else None
        about_error, terms, now = shows_error(query), query_terms(query), self._now()
        span = times.find_time(query, now) if times.NAMES_TIME.search(query.lower()) else None
        # of the very failure that it reports, or of the signature or failure hash that it is
        keys = [f"failure:{failure_hash(query)}"] if about_error else []
        if _HASH.fullmatch(query.strip()):
            keys += [f"{name}:{query.strip()}" for name in ("signature", "failure")]
        asked = filters
        if then:
            filters = filters.copy_with(status=None, any_standing=True)
        with self._store.together(self._project):
            wanted = max(RANKED_MIN, min(4 * k, k + spare))
            searched = self._store.search(self._project, terms, filters, wanted)
            if span:
                dated = filters.copy_with(
                    since=max(filter(None, (filters.since, span[0]))),
                    until=min(filter(None, (filters.until, span[1]))),
                )
                searched += self._store.search(self._project, terms, dated, RANKED_MIN)
            candidates: dict[str, Found] = {}
            for candidate, text in searched:
                candidates[candidate.id], candidate.text = candidate, text
            best = [candidate for candidate, _ in searched[:NEIGHBOURED] if candidate.session]
            if vector is not None or keys or best:
                self._add_others(candidates, vector, keys, best, filters)
        if then:
            look_back = partial(then.look_back, status=asked.status, author=asked.author)
            seen = map(look_back, candidates.values())
            candidates = {candidate.id: candidate for candidate in seen if candidate}
        if span:
            for candidate in candidates.values():
                candidate.in_time = to_us(span[0]) <= candidate.at_us < to_us(span[1])
        today = (now - EPOCH).days
        ranked = rank(candidates.values(), k, today, terms, about_error=about_error, also=also)
        return [(hit, hit.candidate) for hit in ranked]

    def _add_others(
        self,
        candidates: dict[str, Found],
        vector: Sequence[float] | None,
        keys: Sequence[str],
        best: Sequence[Found],
        filters: Filters,
    ) -> None:
        """What is found by its meaning, by a key, and what was said right before and after the best
        in their sessions.
        """
        if vector is not None:
            near = self._store.nearest(self._project, vector, filters, CANDIDATES)
            for candidate, cosine in near:
                candidates.setdefault(candidate.id, candidate).vector = cosine
        for candidate in self._store.by_key(self._project, keys, filters, CANDIDATES, ranked=True):
            candidates.setdefault(candidate.id, candidate).exact = True
        texts = {candidate.seq: candidate.text for candidate in best}
        for hit, candidate in self._store.beside(self._project, best, filters):
            share = AFTER if candidate.seq > hit else BEFORE
            candidates.setdefault(candidate.id, candidate).neighbour += share * texts[hit]

    def read_hits(
        self, ranked: Sequence[tuple[Ranked[Found], Found]], *, marked: bool = True
    ) -> list[Hit]:
        """The records that were found. Those whose files changed are `marked`, and a little lower:
        only what is handed out is looked at.
        """
        best = [hit for hit, _ in ranked]
        records = {record.id: record for record in readable(one for _, one in ranked)}
        look = self._changes_of if marked else None
        changed = {name: look(record) if look else () for name, record in records.items()}
        stale = {name for name, seen in changed.items() if seen and staleness.is_stale(seen)}
        return [
            Hit(records[name], hit.score, hit.why, name in stale, changed[name])
            for hit in (lower_stale(best, stale) if stale else best)
            if (name := hit.candidate.id) in records
        ]
