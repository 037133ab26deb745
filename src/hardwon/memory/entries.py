"""Records under a name: for whoever needs a memory as a place to put things, and to line them up.
The name is a tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory import intake
from hardwon.memory.designs import Group
from hardwon.memory.project import R, done_again, happen
from hardwon.memory.record import recordable
from hardwon.records.fields import new_id
from hardwon.records.kinds import AnyRecord, Event, Record
from hardwon.search.terms import Filters
from hardwon.store.query import original_of, record_of
from hardwon.store.types import Stored, Writer

if TYPE_CHECKING:
    from hardwon.tree.mirror import Planting

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
        given = intake.mapping("entries", entries)
        ready = {name: record and self._entry(name, record) for name, record in given.items()}
        made = self._project._vectors_of([record for record in ready.values() if record])
        if self._put(ready, made, intake.text("by", by)):
            self._project._follow_in_tree(settle=True)
            self._project._store.finish_erasure()
        else:
            self._project._follow_in_tree()

    @done_again
    def _put(
        self, ready: Mapping[str, AnyRecord | None], made: Sequence[tuple[str, bytes]], by: str
    ) -> list[str]:
        """The ids that were erased."""
        erased: list[str] = []
        planted: list[Planting] = []
        with self._project._writing() as writer:
            for name, record in ready.items():
                if record is None:
                    erased += self._erase_under(writer, name, by)
                else:
                    planted += self._replace(writer, name, record, by)
            self._project._keep_vectors(writer, made)
        self._project._put_in_tree(planted)
        return erased

    def _erase_under(self, writer: Writer, name: str, by: str) -> list[str]:
        erased: list[str] = []
        while page := writer.page(
            self._project.project, Filters(tag=name), None, limits.BATCH_ROWS
        ):
            erased += self._project._erase(writer, [stored.id for stored in page], by)
        return erased

    def _replace(self, writer: Writer, name: str, record: AnyRecord, by: str) -> list[Planting]:
        stood = self._standing_under(writer, name)
        planted = self._project._append(writer, [_behind(record, stood)])
        for old in stood if writer.may_govern(self._project.project) else ():
            at = self._project._now()
            happen(
                writer,
                self._project.project,
                Event(
                    id=new_id(at),
                    record_id=old.id,
                    kind="superseded",
                    at=at,
                    by=by,
                    replaced_by=record.id,
                    reason=_PUT_AGAIN,
                ),
            )
        return planted

    def _standing_under(self, writer: Writer, name: str) -> list[Stored]:
        """The newest first. More than one where two memories were merged, or where somebody may not
        archive.
        """
        return writer.page(
            self._project.project,
            Filters(tag=name),
            None,
            limits.ENTRIES_REPLACED_MAX,
            trusted=True,
        )

    def append(self, name: str, records: Iterable[R]) -> list[R]:
        """Keeps records, which must have the name as a tag, behind everything that stands under it:
        in the order given, also where other processes do the same, or clocks disagree. One
        transaction: all of them or none.
        """
        ready = [self._entry(name, record) for record in intake.items("records", records)]
        return self._append_under(name, ready, self._project._vectors_of(ready)) if ready else []

    @done_again
    def _append_under(
        self, name: str, ready: Sequence[R], made: Sequence[tuple[str, bytes]]
    ) -> list[R]:
        with self._project._writing() as writer:
            last = writer.page(self._project.project, Filters(tag=name), None, 1)
            kept: list[R] = []
            for record in ready:
                kept.append(_after(record, kept[-1]) if kept else _behind(record, last))
            planted = self._project._append(writer, kept)
            self._project._keep_vectors(writer, made)
        self._project._put_in_tree(planted)
        return kept

    def _entry(self, name: str, record: R) -> R:
        """As it will be kept. What is put somewhere is no report about a checkout, and does not
        grow stale with its files.
        """
        prepared = self._project._prepare(recordable(record))
        if intake.text("name", name) not in prepared.metadata.tags:
            raise InvalidInputError.one(
                "name", name, "a name that its record has as a tag, and that is no secret"
            )
        return prepared

    def names(self, start: str) -> list[str]:
        """The names that begin with `start` and under which something stands, in order."""
        self._project._catch_up()
        return self._project._store.tags(self._project.project, intake.text("start", start))

    def list(self, name: str, limit: int | None = None) -> Iterator[AnyRecord]:
        """What stands under a name, the newest first."""
        if limit is not None:
            intake.whole_number("limit", limit, 0, limits.JSON_INT_ABS_MAX)
        self._project._catch_up()
        found = map(
            record_of,
            self._project._pages(Filters(tag=intake.text("name", name)), limit, trusted=True),
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
