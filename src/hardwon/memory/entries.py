"""Records under a name: for whoever needs a memory as a place to put things, and to line them up.
The name is a tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory.designs import Group
from hardwon.memory.project import Change, R
from hardwon.memory.record import recordable
from hardwon.records.fields import check_items, check_mapping, check_text, check_whole_number
from hardwon.records.kinds import AnyRecord, Record
from hardwon.search.terms import Filters
from hardwon.store.query import original_of, record_of
from hardwon.store.types import Stored

_NEXT: Final = timedelta(microseconds=1)
_PUT_AGAIN: Final = "put again under the same name"


class Entries(Group):
    """Records under names: `memory.entries`. What stands under a name is the newest record that has
    it as a tag, and is neither archived nor of a source that was rolled back.
    """

    def put(self, entries: Mapping[str, AnyRecord | None], by: str = "user") -> None:
        """Puts each record of `entries` under its name, which must be one of its tags: what stood
        there is archived for it, or, by whoever may only record, left behind it. None erases
        everything that ever stood there, as `forget` does. `by` is who does so. One transaction:
        all of it or nothing.
        """
        project = self._project
        ready = {
            name: record and self._entry(name, record)
            for name, record in check_mapping("entries", entries).items()
        }
        vectors = project.vectors_of([record for record in ready.values() if record])
        by = check_text("by", by)

        def work(change: Change) -> bool:
            erases = False
            for name, record in ready.items():
                found = partial(change.writer.page, project.name, Filters(tag=name), None)
                while record is None and (page := found(limits.BATCH_ROWS)):
                    change.erase([stored.id for stored in page], by)
                    erases = True
                if record:
                    # The newest first. More than one where two memories were merged, or where
                    # somebody may not archive.
                    stood = found(limits.ENTRIES_REPLACED_MAX, trusted=True)
                    change.append([_behind(record, stood)])
                    for old in stood if change.writer.may_govern(project.name) else ():
                        change.happen(
                            old.id, "superseded", by, replaced_by=record.id, reason=_PUT_AGAIN
                        )
            change.keep_vectors(vectors)
            change.follow()
            return erases

        if project.carry_out(work):
            project.store.finish_erasure()

    def append(self, name: str, records: Iterable[R]) -> list[R]:
        """Keeps records, which must have the name as a tag, behind everything that stands under it:
        in the order given, also where other processes do the same, or clocks disagree. One
        transaction: all of them or none.
        """
        project = self._project
        ready = [self._entry(name, record) for record in check_items("records", records)]
        vectors = project.vectors_of(ready)

        def work(change: Change) -> list[R]:
            last = change.writer.page(project.name, Filters(tag=name), None, 1)
            kept: list[R] = []
            for record in ready:
                kept.append(_after(record, kept[-1]) if kept else _behind(record, last))
            change.append(kept)
            change.keep_vectors(vectors)
            return kept

        return project.carry_out(work) if ready else []

    def _entry(self, name: str, record: R) -> R:
        """As it will be kept. What is put somewhere is no report about a checkout, and does not
        grow stale with its files.
        """
        prepared = self._project.prepare(recordable(record))
        if check_text("name", name) not in prepared.metadata.tags:
            raise InvalidInputError.one(
                "name", name, "a name that its record has as a tag, and that is no secret"
            )
        return prepared

    def names(self, start: str) -> list[str]:
        """The names that begin with `start` and under which something stands, in order."""
        self._project.before_read()
        return self._project.store.tags(self._project.name, check_text("start", start))

    def list(self, name: str, limit: int | None = None) -> Iterator[AnyRecord]:
        """What stands under a name, the newest first."""
        if limit is not None:
            check_whole_number("limit", limit, 0, limits.JSON_INT_ABS_MAX)
        self._project.before_read()
        found = map(
            record_of,
            self._project.pages(Filters(tag=check_text("name", name)), limit, trusted=True),
        )
        return found if limit is None else islice(found, limit)

    def __call__(self, name: str, limit: int | None = None) -> Iterator[AnyRecord]:
        """As `list`: what `Memory.entries` was up to 0.11."""
        return self.list(name, limit)


def _behind(record: R, stood: Sequence[Stored]) -> R:
    """Later than the newest of what stood there: whoever puts something last is read, whatever its
    clock says.
    """
    return _after(record, original_of(stood[0])) if stood else record


def _after(record: R, earlier: Record) -> R:
    moment, before = record.metadata.context, earlier.metadata.context.timestamp
    if moment.timestamp > before:
        return record
    return record.altered(
        metadata=record.metadata.altered(context=moment.altered(timestamp=before + _NEXT))
    )
