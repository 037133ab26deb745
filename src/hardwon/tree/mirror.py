"""The tree: experiences as files that people read, search and change, kept in step with the
database.

The database is the truth. A record that is written gets a row in the tree's index in the same
transaction, with the file, and the row is settled when the file is known to be on disk. What was
never written is written by whoever opens the memory next; what was not synced is looked at again
when the machine was started anew in between.

People change files. A file that is new becomes a record; an edit becomes a record that supersedes
the one before; a file that vanished makes its record `absent`, which is undone when the file is
back: a checkout of another branch looks like a mass deletion and must not be one. What cannot be
read is told and left alone, and no file that somebody else wrote is ever overwritten.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import count, islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from hardwon import limits
from hardwon.errors import DamagedError, FileOnlyError, InvalidInputError, Problem, on_failure
from hardwon.learn.tallies import caller_keys, given_key
from hardwon.learn.topology import FolderCount, Hotspot, hotspots_of
from hardwon.memory.ask import branch_of
from hardwon.memory.project import Change, Group, ProjectListener, batches, happen, in_order
from hardwon.memory.results import Synced
from hardwon.outside import files
from hardwon.records.fields import check_all, check_share, check_that, derived_id, to_us
from hardwon.records.kinds import (
    Event,
    EventKind,
    Experience,
    Metadata,
    Moment,
    Record,
    Source,
)
from hardwon.store.base import Store, Writer, row_of
from hardwon.store.query import counted_from, dated, original_of, sound_body
from hardwon.store.types import Finding, Row, Session, Stored
from hardwon.text.globs import Glob
from hardwon.tree.files import (
    TreeFiles,
    UnreadableError,
    file_text,
    fragment,
    given_keys,
    payload_of,
    read_back,
    same_memory,
    says,
)
from hardwon.tree.routing import Coherence, file_name, values_in
from hardwon.tree.tables import (
    DUE,
    GOING,
    IN_STEP,
    NOTHING_THERE,
    PAST,
    File,
    FileContent,
    Seen,
    Tree,
    TreeIndex,
    digest_of_file,
)
from hardwon.trust.lifecycle import BY_TREE, effective_validation

if TYPE_CHECKING:
    from hardwon.tree.watch import Watch

_log = logging.getLogger("hardwon")

_FIELDS: Final = ("content", "outcome", "tool", "summary")
# keys that no folder and no index tells
_LOOKED_AT: Final = ("content", "summary", "timestamp", "author", "tags")
_LOOKS_AGAIN: Final = 3  # times that a question is asked anew because files had changed under it


@dataclass
class _Changes:
    """What differs between folders and index: paths that are new or look different, and files that
    are gone.
    """

    arrived: list[tuple[str, str]] = field(default_factory=list)
    vanished: list[tuple[str, str]] = field(default_factory=list)
    listed: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.arrived or self.vanished)

    def compare(self, folder: str, name: str, known: File | None, seen: Seen | None) -> None:
        """Notes where a file does not look as it is known; `seen` is None where it is not there."""
        if seen is None and known:
            self.vanished.append((folder, name))
        elif seen and (known is None or seen != (known.mtime_ns, known.size)):
            self.arrived.append((folder, name))


class Mirror(ProjectListener):
    """The tree of one project beside its memory. Made by `Memory`; `root` is its folder."""

    def __init__(
        self,
        store: Store,
        session: Session,
        project: str,
        root: Path,
        prepare: Callable[[Experience], Experience],
        clock: Callable[[], datetime],
    ) -> None:
        """`session`: where the project's tree is known by now."""
        self._tree = TreeIndex(session, project).tree()
        self.root = root
        self.routes = self._tree.routes
        self.router = Coherence(json.loads(self.routes) if self.routes else None, str(root))
        self._store, self._project, self._prepare, self._clock = store, project, prepare, clock
        self._files = TreeFiles(root)
        self._unsynced = 0
        self._listed: dict[str, int] = {}
        self._left: dict[str, tuple[Seen | None, str]] = {}
        self._warned: dict[str, str] = {}
        self._payloads: dict[tuple[int, bytes], dict[str, Any]] = {}
        self._told = Synced()
        self._watch: Watch | None = None  # where it is, every folder is looked at and watched
        self._may_watch = True
        self._keeping_up = Lock()

    # --- as a listener ---

    def on_append(self, change: Change, kept: Sequence[tuple[Record, Row]]) -> None:
        plantings = self.plant(change.writer, kept)
        change.paths |= {each.record_id: f"{self.root}/{each.path}" for each in plantings}
        change.afterwards.append(partial(self.put, plantings))

    def on_erase(self, change: Change, record_ids: Sequence[str]) -> None:
        """Files of records that are about to be erased are not taken in again, should a checkout
        bring them back.
        """
        index = self._index(change.writer)
        index.keep_forgotten(
            self._id_of(f"{folder}/{file.name}", file.digest)
            for folder, file in index.files_of(record_ids)
        )

    # --- an experience finds its place ---

    def experience(
        self, keys: Mapping[str, Any], metadata: Metadata, record_id: str, *, strict: bool
    ) -> Experience:
        """An experience from what a caller or a file says. What no route takes is kept all the
        same, with the reason, unless `strict` refuses it.
        """
        given = {name: value for name, value in keys.items() if value is not None}
        problem = self.router.route(given).problem
        if problem and strict:
            raise InvalidInputError([problem])
        named: dict[str, Any] = {name: given.pop(name) for name in _FIELDS if name in given}
        if isinstance(named.get("content"), dict | list):
            given["content"] = named["content"]  # is what comes back, its text what is searched
            named["content"] = json.dumps(given["content"], ensure_ascii=False, default=str)
        for name in ("outcome", "tool"):
            if name in named and not _is_name(named[name]):
                given[name] = named.pop(name)
                problem = problem or Problem(name, given[name], "a short name")
        made = {"outcome": "", **named, **given_keys(given), "id": record_id, "metadata": metadata}
        if problem:
            return Experience(**made, unrouted=str(problem))
        try:
            if (usual := Experience(**made)).has_route:
                return usual
        except InvalidInputError as error:
            if any(found.field in ("content", "summary") for found in error.problems):
                raise
        return Experience(**made, own_schema=True)

    # --- writing ---

    def plant(self, writer: Writer, kept: Iterable[tuple[Record, Row]]) -> list[FileContent]:
        """Gives new records their files, as part of the transaction that keeps them. One file is
        written at once: whoever sees its row knows that it was there. Many are written after the
        transaction, by `put`, so that all of them are kept or none.
        """
        plantings = []
        for record, row in kept:
            if type(record) is Experience and row.status != "archived":
                folder, at = self._folder_of(record), record.metadata.context.timestamp
                name = file_name(at, record.summary, record.id[-12:], record.content)
                data = file_text(row.body, f"{folder}/{name}")
                plantings.append(FileContent(folder, name, data, record.id))
        if len(plantings) == 1:
            plantings = [self._write_within(writer, plantings[0])]
        if plantings:
            self._index(writer).plant(plantings, DUE)
        return plantings

    def _folder_of(self, record: Experience) -> str:
        own = {"outcome": record.outcome or None, "tool": record.tool, **caller_keys(record)}
        return self.router.route(own).folder

    def _write_within(self, writer: Writer, file: FileContent) -> FileContent:
        """Writes a file before its record is kept; it goes where the record is not. A name that is
        taken gets the whole id.
        """
        self._unsynced += 1
        for is_taken in (False, True):
            if is_taken:
                file = file._replace(name=file.name.replace(file.record_id[-12:], file.record_id))
            try:
                written = self._files.write_new(file)
            except FileExistsError:
                continue
            except OSError as error:
                self._tell_unwritten(file.folder, error)
                return file
            writer.on_failure(partial(self._files.unlink, file.folder, file.name))
            return written
        return file

    def _tell_unwritten(self, folder: str, error: OSError) -> None:
        _log.warning(
            "the memory is kept, but its file in %s/%s could not be written (%s); it is written "
            "when the memory is next opened",
            self.root,
            folder,
            error.strerror or error,
        )

    def put(self, plantings: Sequence[FileContent]) -> None:
        """Writes the files of many records, after the transaction that keeps them; one alone was
        written in it. What cannot be written now is told, and written when the memory is next
        opened.
        """
        if len(plantings) > 1:
            written: list[FileContent] = []
            refused: dict[str, OSError] = {}
            for planting in plantings:
                try:
                    written.append(self._files.write_new(planting))
                except OSError as error:
                    refused[planting.folder] = error
            for folder, why in refused.items():
                self._tell_unwritten(folder, why)
            synced = self._sync()
            with self._store.write(self._project) as writer:
                self._index(writer).note_planted(written, synced=synced)
        if self._unsynced >= limits.TREE_UNSYNCED_MAX:
            self.settle()

    def settle(self) -> None:
        """Makes sure that what was written and removed is on disk, by this process or another, and
        then notes it.
        """
        self._unsynced = 0
        while True:
            with self._reading() as index:
                done = index.done(limits.TRANSACTION_RECORDS_MAX)
            if not done or not self._sync():
                return
            with self._store.write(self._project) as writer:
                self._index(writer).settle(done)

    def close(self) -> None:
        self.settle()
        self._watch = None

    def _sync(self) -> bool:
        try:
            self._files.sync()
        except OSError as error:  # what is due stays due
            _log.warning(
                "the tree at %s could not be synced: %s", self.root, error.strerror or error
            )
            return False
        return True

    def on_commit(self, *, erased: bool = False, restored: bool = False) -> None:
        """Does in the tree what was decided about records: files of archived and forgotten ones go.
        `erased`: for good, when this returns; `restored`: some may be back from the archive, and
        get files again.
        """
        with self._reading() as index:
            due = index.due(limits.TREE_UNSYNCED_MAX)
        self._work_off(due)
        if erased or restored:
            # a file that went a moment ago counts as there until it is known to be gone
            self.settle()
        if restored:
            self._plant_the_unplanted()

    def _work_off(
        self, due: Sequence[tuple[str, File, Stored | None]], *, restarted: bool = False
    ) -> int:
        """Removes and writes what is due; how much of it was done. `restarted`: the machine was,
        since some of it was done.
        """
        gone: list[File] = []
        written: list[tuple[File, FileContent]] = []
        refused: dict[str, str] = {}
        for folder, file, stored in due:
            try:
                if file.state == GOING:
                    digest = file.digest
                    if restarted and not self._is_readable(folder, file.name):
                        # what a power cut brought back of one that was removed before it had ever
                        # reached the disk whole
                        with suppress(OSError, ValueError):
                            data, _ = self._files.read(folder, file.name)
                            digest = digest_of_file(data) if len(data) <= file.size else digest
                    if not self._files.remove(folder, file.name, digest):
                        path = f"{self.root}/{folder}/{file.name}"
                        _log.warning("%s says something else by now and is left alone", path)
                    gone.append(file)
                elif stored:
                    written.append((file, self._write_again(folder, file, original_of(stored))))
            except (OSError, DamagedError) as error:
                refused[folder] = str(error)
        for folder, why in refused.items():
            _log.warning("files in %s/%s could not be brought in step: %s", self.root, folder, why)
        if gone or written:
            with self._store.write(self._project) as writer:
                index = self._index(writer)
                for each in written:
                    index.move(*each)
                index.note_removed(gone)
        self._unsynced += len(due)
        return len(gone) + len(written)

    def _write_again(self, folder: str, file: File, record: Record) -> FileContent:
        """Writes a file that is due; what is there then. One that is there is left where it says
        the same, replaced where it is not whole, and otherwise somebody else's: the record gets
        another name.
        """
        wanted = FileContent(
            folder, file.name, file_text(record.to_json(), f"{folder}/{file.name}")
        )
        try:
            read, seen = self._files.read(folder, file.name)
            found = wanted._replace(data=read, seen=seen)
            with suppress(UnreadableError, InvalidInputError):
                if read == wanted.data or same_memory(record, *self._experience_in(found)):
                    return found
            if _is_part_of(read, wanted.data):
                return self._files.replace(wanted)
        except (FileNotFoundError, NotADirectoryError):
            return self._files.write_new(wanted)
        except ValueError:
            pass  # a link, or no file at all
        number = 1
        while True:
            number += 1
            name = file.name.replace(".json", f"_{number}.json")
            with suppress(FileExistsError):
                return self._files.write_new(wanted._replace(name=name))

    # --- keeping up with what people do ---

    def open(self) -> None:
        """Finishes what was due, gives every experience its file, and takes in what changed while
        nobody looked.
        """
        boot = files.boot_id()
        # what was not synced when the machine stopped may not be whole
        again = self._tree.boot != boot or not boot
        marked = self._files.is_marked(self._tree.id)
        while True:
            with self._reading() as index:
                due = index.due(limits.TREE_UNSYNCED_MAX, written_too=again)
            # Of files that may not have reached the disk, those that did not: missing, or not
            # readable. The others are settled, or edits, which the sweep finds.
            torn = [
                (folder, file, stored)
                for folder, file, stored in due
                if not again or file.state == GOING or not self._is_readable(folder, file.name)
            ]
            done = self._work_off(torn, restarted=again)
            if again:
                self.settle()
            if len(due) < limits.TREE_UNSYNCED_MAX or not done:
                break
        # A restored or copied database: that its files are not here does not mean that anybody
        # removed them.
        self._sweep(restoring=not marked)
        self._plant_the_unplanted()
        if not marked:
            self._files.mark(self._tree.id)
        if again and boot:
            with self._store.write(self._project) as writer:
                self._index(writer).set_boot(boot)

    def _is_readable(self, folder: str, name: str) -> bool:
        try:
            data, seen = self._files.read(folder, name)
            read_back(data, name, seen.mtime_ns)
        except (OSError, ValueError, UnreadableError):
            return False
        return True

    def sync(self) -> Synced:
        """Looks at every file and takes in whatever changed. Tells what was taken in since this was
        last asked, or since the memory was opened.
        """
        self.on_commit(erased=True)
        self._sweep()
        self._plant_the_unplanted()
        told, self._told = self._told, Synced()
        return told

    def _plant_the_unplanted(self) -> None:
        while True:
            with self._reading() as index:
                if not index.unplanted(1):
                    return
            with self._store.write(self._project) as writer:
                bare = []
                for stored in self._index(writer).unplanted(limits.BATCH_ROWS):
                    try:
                        record = original_of(stored)
                        bare.append((record, row_of(record)._replace(status="")))
                    except DamagedError as error:
                        _log.warning("%s", error)
                plantings = self.plant(writer, bare)
            self.put(plantings)
            if not plantings:
                return

    def _sweep(self, watch: Watch | None = None, *, restoring: bool = False) -> None:
        """Looks at every file."""
        self._listed.clear()
        self._left = {}
        with self._reading() as index:
            folders = index.folders()
            changes = self._walk(index, folders, ["", *folders.values()], True, watch)
        self._take_in(changes, restoring=restoring)

    def _begin_watching(self) -> None:
        """Looks at every file, and has the system tell of whatever happens to one from now on."""
        from hardwon.tree.watch import Watch  # loads ctypes, which small trees do without

        try:
            watch = Watch()
        except OSError:
            self._may_watch = False
            return
        self._sweep(watch)
        if self._may_watch:
            self._watch = watch

    def before_read(self) -> None:
        """Takes in what the system told of, where it does; otherwise looks at the folders whose
        content changed since they were last listed.
        """
        if self._watch and self._keep_up():
            return
        now_ns = time.time_ns()
        waiting = []
        with self._reading() as index:
            folders = index.folders()
            for path in {"", *folders.values(), *self._listed}:
                mtime_ns = self._files.folder_mtime_ns(path)
                racy = 0 <= now_ns - mtime_ns < limits.FILE_UNSURE_NS
                if racy or mtime_ns != self._listed.get(path):
                    waiting.append(path)
            changes = self._walk(index, folders, waiting, False)
        for path, (seen, _) in self._left.items():  # they were left alone: do they look otherwise?
            folder, _, name = path.rpartition("/")
            if seen and self._files.look(folder, name) not in (seen, None):
                changes.arrived.append((folder, name))
        self._take_in(changes)

    def _keep_up(self) -> bool:
        """Takes in what the system told of. False where it does not any more."""
        # whoever asks meanwhile needs what is being taken in; what could not be is looked at again
        with self._keeping_up, on_failure(self._stop_watching):
            told = self._watch.read(self.root) if self._watch else None
            if told is None:
                self._stop_watching()
                return False
            touched, waiting = told
            if touched or waiting:
                with self._reading() as index:
                    changes = self._walk(index, index.folders(), list(waiting), True)
                    for folder, name in touched:
                        known = next(filter(_was_there, index.at(folder, name)), None)
                        changes.compare(folder, name, known, self._files.look(folder, name))
                self._take_in(changes)
        return True

    def _stop_watching(self) -> None:
        self._watch = None

    def _walk(
        self,
        index: TreeIndex,
        folders: Mapping[int, str],
        waiting: list[str],
        look: bool,
        watch: Watch | None = None,
    ) -> _Changes:
        """What differs from the index in these folders, and in those of theirs that were not listed
        yet. `look`: also at the files that are known.
        """
        changes, met = _Changes(), set[str]()
        numbers = {path: number for number, path in folders.items()}
        watch = watch or self._watch
        while waiting:
            path = waiting.pop()
            if path in met:
                continue
            try:
                listing = self._files.listed(path, look=look, watch=watch)
            except OSError as error:  # which does not mean that anything is gone
                if watch:  # of all folders, or of none
                    watch, self._watch, self._may_watch = None, None, False
                    waiting.append(path)
                    continue
                reason = f"cannot be looked into ({error.strerror or error})"
                self._leave_alone(path or ".", None, reason)
                continue
            met.add(path)
            changes.listed[path] = listing.mtime_ns
            for name, reason in listing.odd.items():
                self._leave_alone(f"{path}/{name}", None, reason)
            there, moving = index.known(numbers[path]) if path in numbers else ({}, set[str]())
            news = listing.files.keys() - there.keys() - moving
            if look:
                looks = listing.files.items()
                news |= {name for name, seen in looks if seen != there.get(name, seen)}
            # those that were left alone are looked at by themselves
            changes.arrived += [
                (path, name)
                for name in (listing.files if news else ())
                if name in news and f"{path}/{name}" not in self._left
            ]
            changes.vanished += [(path, name) for name in there.keys() - listing.files.keys()]
            waiting += [inner for inner in listing.paths(path) if inner not in self._listed]
        return changes

    # --- taking in ---

    def _take_in(self, changes: _Changes, *, restoring: bool = False) -> None:
        gone: dict[bytes, list[tuple[str, File]]] = {}
        if changes.vanished:
            with self._reading() as index:
                for folder, name in changes.vanished:
                    for lost in filter(_was_there, index.at(folder, name)):
                        gone.setdefault(lost.digest, []).append((folder, lost))
        for batch in batches(changes.arrived, limits.TREE_BATCH_FILES):
            arrived = [file for folder, name in batch if (file := self._read(folder, name))]
            if arrived:
                with self._store.write(self._project) as writer:
                    moved = [self._take_in_one(writer, file, gone) for file in arrived]
                for file in filter(None, moved):  # only now: it is kept elsewhere for sure
                    self._files.remove(file.folder, file.name, file.digest)
        rest = [each for group in gone.values() for each in group]
        for absent in batches(rest, limits.TREE_BATCH_FILES):
            with self._store.write(self._project) as writer:
                for folder, lost in absent:
                    self._note_absence(writer, folder, lost, restoring)
        if restoring and rest:
            self.on_commit()
        self._listed |= changes.listed  # only now: what could not be taken in is looked at again
        self._told.left = {
            path: self._left[path][1] for path in islice(self._left, limits.REPORTED_MAX)
        }

    def _read(self, folder: str, name: str) -> FileContent | None:
        try:
            data, seen = self._files.read(folder, name)
            return FileContent(folder, name, data, seen=seen)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._leave_alone(f"{folder}/{name}", None, reason)
        return None

    def _leave_alone(self, path: str, seen: Seen | None, reason: str) -> None:
        if self._warned.get(path) != reason:
            self._warned[path] = reason
            _log.warning("%s/%s is left alone: it %s", self.root, path, reason)
        self._left[path] = seen, reason

    def _take_in_one(
        self, writer: Writer, file: FileContent, gone: dict[bytes, list[tuple[str, File]]]
    ) -> FileContent | None:
        """The file, where another has taken its place: somebody edited what it is routed by."""
        index = self._index(writer)
        known = index.at(file.folder, file.name)
        current = next(filter(_was_there, known), None)
        if current and current.digest == file.digest:
            index.move(current, file)
            return None
        # somebody is about to write it, or to remove it
        on_its_way = ((DUE, True), (GOING, False))
        if any((each.state, each.mtime_ns == NOTHING_THERE) in on_its_way for each in known):
            return None
        stored = writer.get(self._project, current.record_id) if current else None
        before = original_of(stored) if stored else None
        in_place = (
            isinstance(before, Experience)
            and self._folder_of(before) == file.folder
            and not index.has_digest(file.digest)  # else it was put there, from elsewhere
        )
        try:
            read, timed = self._experience_in(file, by_folder=not in_place)
            if in_place and read.unrouted:
                raise UnreadableError(f"would not be found where it lies ({read.unrouted})")
        except (UnreadableError, InvalidInputError) as error:
            self._leave_alone(file.path, file.seen, str(error))
            return None
        self._left.pop(file.path, None)
        if read.redacted:
            self._told.secrets.append(file.path)
            _log.warning(
                "%s/%s holds a secret: the memory does not, but the file still does",
                self.root,
                file.path,
            )
        if current and before and same_memory(before, read, timed):
            index.move(current, file)  # only written differently
        elif in_place and self._folder_of(read) != file.folder:
            return self._replace(writer, file, read, current)
        elif current:
            self._told.edited += self._keep(writer, file, read, current)
        elif not self._moved(writer, file, read, gone):
            self._told.added += self._keep(writer, file, read)
        return None

    def _replace(
        self, writer: Writer, file: FileContent, read: Experience, current: File | None
    ) -> FileContent | None:
        """Puts what somebody wrote, as it is, where it belongs now."""
        nowhere, folder = Seen(NOTHING_THERE, 0), self._folder_of(read)
        new = file._replace(folder=folder, record_id=read.id, seen=nowhere)
        written = self._write_within(writer, new)
        if written.seen == nowhere:
            self._leave_alone(file.path, file.seen, f"belongs in {folder} and cannot go there")
            return None
        self._told.edited += self._keep(writer, written, read, current)
        return file

    def _moved(
        self,
        writer: Writer,
        file: FileContent,
        read: Experience,
        gone: dict[bytes, list[tuple[str, File]]],
    ) -> bool:
        """Whether a file that vanished elsewhere is here now under another name."""
        group = gone.get(file.digest)
        if not group:
            return False
        folder, lost = group[-1]
        stored = writer.get(self._project, lost.record_id)
        if not stored or self._files.look(folder, lost.name):
            return False
        group.pop()
        if same_memory(original_of(stored), read, False):
            self._index(writer).move(lost, file)
        else:  # in its new folder it says something else
            self._keep(writer, file, read, lost)
        self._told.moved += 1
        return True

    def _keep(
        self, writer: Writer, file: FileContent, read: Experience, instead_of: File | None = None
    ) -> bool:
        """Has the memory of a file kept, or back, where it does not stay away; it supersedes that
        of another.
        """
        index = self._index(writer)
        before = [
            each.record_id
            for each in index.at(file.folder, file.name)
            if each.state == PAST and each.digest == file.digest and each.record_id
        ]
        if before and not index.has_file(before[0]):
            record_id = before[0]
        else:
            # what a copy elsewhere goes by already, this one cannot go by
            ids = (self._id_of(file.path, file.digest, number) for number in count())
            record_id = next(each for each in ids if not index.has_file(each))
            at_us = counted_from(read.at_us, to_us(self._clock()))
            done = writer.append([row_of(dated(read.altered(id=record_id), at_us))])
            if done.forgotten:
                reason = "was forgotten: remember it anew to have it back"
                self._leave_alone(file.path, file.seen, reason)
                return False
            if done.added and read.metadata.source.author != Source().author:
                # anybody may write a name into a file
                came = Event(record_id=record_id, kind="imported", at=self._clock(), by=BY_TREE)
                happen(writer, self._project, came)
        if not self._bring_back(writer, record_id):
            self._leave_alone(file.path, file.seen, "was archived: its memory stays so")
            return False
        index.plant([file._replace(record_id=record_id)], IN_STEP)
        if instead_of:
            self._happen(
                writer,
                instead_of,
                "superseded",
                replaced_by=record_id,
                reason="its file was edited",
            )
        return True

    def _bring_back(self, writer: Writer, record_id: str) -> bool:
        """Undoes an absence, where there is one; False where something else keeps the record
        away.
        """
        stored = writer.get(self._project, record_id)
        if not stored:
            return False
        envelope = original_of(stored).metadata.validation
        events = writer.events_of(self._project, record_id)
        if effective_validation(envelope, events).status != "archived":
            return True
        back = Event(record_id=record_id, kind="present", at=self._clock(), by=BY_TREE)
        if effective_validation(envelope, [*events, in_order(back, events)]).status == "archived":
            return False
        happen(writer, self._project, back)
        return True

    def _happen(self, writer: Writer, file: File, kind: EventKind, **more: str) -> None:
        """Something happens to the record of a file, which no longer is its file."""
        event = Event(record_id=file.record_id, kind=kind, at=self._clock(), by=BY_TREE, **more)
        happen(writer, self._project, event)
        self._index(writer).make_past(file)

    def _note_absence(self, writer: Writer, folder: str, file: File, restoring: bool) -> None:
        index = self._index(writer)
        same = [each for each in index.at(folder, file.name) if each[:3] == file[:3]]
        now = next(filter(_was_there, same), None)
        if not now or self._files.look(folder, file.name):
            return
        if restoring:
            index.make_due(now)
        else:
            self._happen(writer, now, "absent", reason="its file is gone")
            self._told.absent += 1

    def _experience_in(
        self, file: FileContent, *, by_folder: bool = True
    ) -> tuple[Experience, bool]:
        """The experience that a file is, under an id that whoever finds the same file in the same
        place comes to as well; and whether the file tells its time. `by_folder`: where the two
        disagree, the folder is right.
        """
        keys, at, timed = read_back(file.data, file.name, file.seen.mtime_ns)
        source = {"type": "file_analysis"}
        if _is_name(keys.get("author")) and keys["author"].strip():
            source["author"] = keys.pop("author")
        tags = keys.pop("tags", [])
        if not isinstance(tags, list) or not all(_is_name(tag) and tag.strip() for tag in tags):
            keys["tags"], tags = tags, []
        metadata = Metadata(
            source=Source.model_validate(source), context=Moment(timestamp=at), tags=tags
        )
        # Where a file lies says more than what it says of that itself: it was put there. A folder
        # that no memory is routed to still tells what the file does not.
        if self.router.route(keys).folder != file.folder:
            told = values_in(file.folder)
            placed = {**keys, **told}
            fits = by_folder and self.router.route(placed).folder == file.folder
            keys = placed if fits else {**told, **keys}
        read = self.experience(keys, metadata, self._id_of(file.path, file.digest), strict=False)
        return self._prepare(read), timed

    @staticmethod
    def _id_of(path: str, digest: bytes, number: int = 0) -> str:
        return derived_id("tree", path, digest, str(number))

    # --- finding ---

    def versions_of(self, found: Sequence[File]) -> tuple[list[str], list[str]]:
        """The ids of the memories, and of what the same files said before they were edited."""
        with self._reading() as index:
            ids = [stored.id for _, stored in index.records([match.seq for match in found])]
            return ids, index.earlier_versions(ids)

    def find(
        self, intent: Mapping[str, Any], glob: Glob | None = None
    ) -> tuple[list[File], dict[int, str]]:
        """The memories that have all keys of the intent, and whose path matches, newest first, as
        the files are now; and the paths of all folders by their numbers.
        """
        asked = {name: value for name, value in intent.items() if value is not None}
        looked_at: dict[str, Any] = {name: asked.pop(name) for name in _LOOKED_AT if name in asked}
        saying = next(filter(None, map(fragment, looked_at, looked_at.values())), None)
        matches = glob.split()[1] if glob else None
        names = glob.pattern.rpartition("/")[2].replace("[!", "[^") if glob and matches else None
        self.before_read()
        for _ in range(_LOOKS_AGAIN):
            with self._reading() as index:
                folders = index.folders()
                wanted, unsure = self._wanted(folders, asked, glob)
                found = index.find(wanted, names, saying)
                if self._watch:
                    break
                # where keys are asked for that no folder tells, any file may have been edited
                asked_in = {
                    number
                    for keys, numbers in wanted.items()
                    for number in numbers
                    if keys or looked_at or number in unsure
                }
                # and where its folder tells them, so that it belongs into another
                total = sum(count for _, count, _ in index.counts()) if asked else 0
                if 0 < total <= limits.TREE_LOOKED_THROUGH_MAX:
                    asked_in.update(folders)
                looked_through = index.find({(): list(asked_in)}) if asked_in else found
            if self._may_watch and len(looked_through) >= limits.TREE_WATCHED_FROM:
                self._begin_watching()
                continue
            changes = self._changed_among(looked_through, folders)
            if not changes:
                break
            self._take_in(changes)
        if matches:
            found = [match for match in found if matches(match.name)]
        if not looked_at and not unsure:
            return found, folders
        doubtful = [match for match in found if looked_at or match.folder in unsure]
        wrong = {
            match.key
            for match, payload in zip(doubtful, self.payloads(doubtful), strict=True)
            if not says(payload, looked_at | unsure.get(match.folder, {}))
        }
        return [match for match in found if match.key not in wrong], folders

    def folder_paths(self) -> list[str]:
        """Those of the tree, from its root."""
        with self._reading() as index:
            return list(index.folders().values())

    def payloads(self, found: Sequence[File]) -> list[dict[str, Any]]:
        """What the tree's own users are told of these, but for the paths; nothing of one that was
        forgotten this very moment. What was told before is remembered: a record never changes.
        """
        known = self._payloads
        # By what the file says, too: the number of a record that was forgotten may be another's by
        # now.
        keys = [match.key for match in found]
        digests = dict(key for key in keys if key not in known)
        fresh: dict[tuple[int, bytes], dict[str, Any]] = {}
        if digests:
            with self._reading() as index:
                kept = index.records(list(digests))
            fresh = {(seq, digests[seq]): payload_of(sound_body(each), "") for seq, each in kept}
            # What is remembered already still answers this question, also where there is no room
            # for both.
            room = {} if len(known) + len(fresh) > limits.TREE_REMEMBERED_MAX else known
            new = islice(fresh.items(), limits.TREE_REMEMBERED_MAX)
            # of one with lists or objects in it, a copy would share what a caller could change
            flat = {
                key: each
                for key, each in new
                if not any(type(value) in (list, dict) for value in each["metadata"].values())
            }
            self._payloads = {**room, **flat}
        told = [(fresh.get(key) or known.get(key) or {}).copy() for key in keys]
        for payload in filter(None, told):
            payload["metadata"] = payload["metadata"].copy()
        return told

    def _wanted(
        self, folders: Mapping[int, str], intent: Mapping[str, Any], glob: Glob | None
    ) -> tuple[dict[tuple[str, ...], list[int]], dict[int, dict[str, Any]]]:
        """Folders by the exact keys that are left to ask for, none where all of their memories have
        what is wanted; and what is to be looked at in the memories of a folder themselves, where no
        exact key tells.
        """
        wanted: dict[tuple[str, ...], list[int]] = {}
        unsure: dict[int, dict[str, Any]] = {}
        for number, path in folders.items():
            if glob and not glob.matches_folder(path):
                continue
            contradicted, undecided = self.router.decide(path, intent)
            if contradicted:
                continue
            keys: tuple[str, ...] = ()
            if undecided and not self.routes and self.router.route(values_in(path)).folder == path:
                keys = tuple(given_key(name, intent[name]) for name in sorted(undecided))
            elif undecided:  # a folder made by hand, or a schema of one's own: what the path does not tell may be any key
                unsure[number] = {name: intent[name] for name in undecided}
            wanted.setdefault(keys, []).append(number)
        return wanted, unsure

    def _changed_among(self, found: Iterable[File], folders: Mapping[int, str]) -> _Changes:
        by_folder: dict[str, list[File]] = {}
        for file in found:
            by_folder.setdefault(folders[file.folder], []).append(file)
        changes = _Changes()
        for path, wanted in by_folder.items():
            for file, seen in self._files.touched(path, wanted):
                # the left are looked at by themselves
                if _was_there(file) and not (seen and f"{path}/{file.name}" in self._left):
                    changes.compare(path, file.name, file, seen)
        return changes

    def look_again(self, record_ids: Iterable[str]) -> bool:
        """Takes in what was done to the files of these records; whether anything was."""
        with self._reading() as index:
            places = index.files_of(record_ids)
        live = [file for _, file in places if file.state in (DUE, IN_STEP)]
        changes = self._changed_among(live, {file.folder: path for path, file in places})
        if changes:
            self._take_in(changes)
        return bool(changes)

    def path_of(self, record_id: str) -> str | None:
        """Where the file of a record is, from the root; None where it has none."""
        with self._reading() as index:
            places = index.files_of([record_id])
        live = (f"{path}/{file.name}" for path, file in places if file.state in (DUE, IN_STEP))
        return next(live, None)

    def folder_counts(self) -> list[FolderCount]:
        """How many files each folder holds, and how large they are."""
        self.before_read()
        with self._reading() as index:
            return [FolderCount(*counted) for counted in index.counts()]

    def check(self) -> list[Finding]:
        """Whether every file is as the index knows it. What differs is for `sync` to take in."""
        with self._reading() as index:
            folders = index.folders()
            live = index.find({(): list(folders)})
        changes = self._changed_among(live, folders)
        differing = len(changes.arrived) + len(changes.vanished)
        text = f"{len(live)} files say what the memory says"
        if differing:
            text = f"{differing} of {len(live)} files were changed: sync takes that in"
        left = [f"{path} {reason}" for path, (_, reason) in self._left.items()]
        if left:
            text += f"; {len(left)} are left alone: {left[0]}"
        return [Finding("tree", not differing, text)]

    # --- the index ---

    def _index(self, writer: Writer) -> TreeIndex:
        return TreeIndex(writer.session, self._project)

    @contextmanager
    def _reading(self) -> Iterator[TreeIndex]:
        with self._store.read(self._project) as session:
            yield TreeIndex(session, self._project)


def _is_part_of(found: bytes, data: bytes) -> bool:
    """Whether a file is what a power cut left of this: its beginning, or any of its sectors with
    zeros in place of the others. No JSON has a zero in it.
    """
    return len(found) <= len(data) and all(
        is_ in (0, was) for is_, was in zip(found, data, strict=False)
    )


def _was_there(file: File) -> bool:
    """Not so one that is still to be written: another process is at it, or died over it."""
    return file.state in (DUE, IN_STEP) and file.mtime_ns != NOTHING_THERE


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= limits.NAME_CHARS_MAX and value.isprintable()


class MemoryTree(Group):
    """The tree of files that mirrors a memory's experiences: `memory.tree`."""

    @property
    def mirror(self) -> Mirror | None:
        """What keeps the files; None where the memory has no tree."""
        found = [each for each in self._project.find_listeners() if isinstance(each, Mirror)]
        return found[0] if found else None

    def make(self, schema: Mapping[str, Any] | None = None) -> Mirror:
        """Gives the memory a tree of files in its own folder, routed by the standard schema or by
        one of your own. Where it has one already, that stays, and `schema` must be its own or
        nothing.
        """
        project = self._project
        if project.place.path is None:
            raise FileOnlyError(
                "only a memory in a local file can have a tree of files beside it: of a database, "
                "hardwon --memory copy.db merge URL makes one"
            )
        Coherence(schema)  # raises where something is wrong with it
        routes = "" if schema is None else json.dumps(schema)
        with project.write() as change:
            index = TreeIndex(change.writer.session, project.name)
            other = index.other_project()
            if other is not None:
                allowed = f"project {other!r}: its tree is in this folder, and two cannot share one"
                raise InvalidInputError.one("project", project.name, allowed)
            index.plant_tree(Tree(secrets.token_hex(limits.MARK_BYTES), routes, files.boot_id()))
        mirror = self.mirror
        assert mirror is not None  # noqa: S101  # for type checkers: it was just made
        check_that(
            schema is None or mirror.routes == routes,
            "schema",
            schema,
            "the schema that this tree was made with, or none",
        )
        return mirror

    def sync(self) -> Synced:
        """Brings tree and memory in step: looks at every file of the tree and takes in what people
        changed. Tells what was taken in since this was last asked, or since the memory was opened.
        """
        mirror = self.mirror
        if mirror is None:
            raise InvalidInputError.one(
                "memory",
                self._project.store.location,
                "a memory with a tree of files: tree.make gives it one",
            )
        return mirror.sync()

    def hotspots(
        self,
        share: float = limits.HOTSPOT_SHARE,
        limit: int = limits.SCREEN_ITEMS,
        tool: str | None = None,
    ) -> list[Hotspot]:
        """Where experiences pile up: places that hold at least this share of what lies above them,
        the largest first; with a `tool`, its own.
        """
        check_all(lambda: check_share("share", share), limit=limit, tool=tool)
        return hotspots_of(branch_of(self._project), share, limit, tool)
