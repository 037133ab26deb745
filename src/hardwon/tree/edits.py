"""What people do to the files of a tree, taken in: files become records.

A file that is new becomes a record; an edit becomes a record that supersedes the one before; a file
that vanished makes its record `absent`, which is undone when the file is back: a checkout of another
branch looks like a mass deletion and must not be one. What cannot be read is told and left alone.

`sweep` looks at every file; from then on the system tells what happens to them (see `watch`), and
`catch_up` looks at those alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import count, islice
from threading import Lock
from typing import TYPE_CHECKING, Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory.project import batches
from hardwon.memory.results import Synced
from hardwon.memory.standing import happen, in_order
from hardwon.records.fields import derived_id, to_us
from hardwon.records.kinds import Event, EventKind, Experience, Metadata, Moment, Source
from hardwon.store.base import Writer, build_row
from hardwon.store.query import counted_from, read_original, set_time
from hardwon.tree.files import UnreadableError, read_back, same_memory
from hardwon.tree.routing import values_in
from hardwon.tree.tables import DUE, GOING, IN_STEP, PAST, File, FileContent, TreeIndex
from hardwon.trust.lifecycle import BY_TREE, effective_validation

if TYPE_CHECKING:
    from hardwon.tree.mirror import Mirror
    from hardwon.tree.watch import FolderWatch

# Files that are taken in from the tree in one transaction.
TREE_BATCH_FILES: Final = 500

_log = logging.getLogger("hardwon")


Folders = Mapping[int, str]  # their paths by their numbers
# Files that vanished, by what they said, each with its folder's path.
Gone = dict[bytes, list[tuple[str, File]]]
# Paths (folder, name) of files that are new or look different, and of those that are gone.
Changes = tuple[list[tuple[str, str]], list[tuple[str, str]]]


class Edits:
    """Takes in what people did to the files of a `tree`. `left` are paths that were left alone, with
    the reason; `summary` is what was taken in since somebody last asked.
    """

    def __init__(self, tree: Mirror) -> None:
        self.left: dict[str, str] = {}
        self.summary = Synced()
        self._tree = tree
        self._warned: dict[str, str] = {}
        self.watch: FolderWatch | None = None
        self._catching_up = Lock()

    def sweep(self, *, restoring: bool = False) -> None:
        """Looks at every file, and has the system tell of whatever happens to one from then on."""
        from hardwon.tree.watch import FolderWatch  # loads ctypes: only whoever has a tree needs it

        self.left = {}
        watch = FolderWatch()
        with self._tree.reading() as index:
            folders = index.folders()
            changes = self.walk(index, folders, ["", *folders.values()], watch)
        self._take_in(changes, restoring=restoring)
        self.watch = watch

    def catch_up(self) -> None:
        """Takes in whatever was done to the files: what the system told of since the last time, and
        where it cannot tell, whatever a look at every one shows.
        """
        with self._catching_up:  # whoever asks meanwhile needs what is being taken in
            watch, self.watch = self.watch, None
            news = watch.read(self._tree.root) if watch else None
            if news is None:
                self.sweep()
                return
            touched, waiting = news
            if touched or waiting:
                with self._tree.reading() as index:
                    arrived, vanished = self.walk(index, index.folders(), list(waiting), watch)
                    for path in touched:
                        known = next(filter(_was_there, index.at(*path)), None)
                        seen = self._tree.files.look(*path)
                        if seen and (known is None or seen != (known.mtime_ns, known.size)):
                            arrived.append(path)
                        elif known and not seen:
                            vanished.append(path)
                self._take_in((arrived, vanished))
            self.watch = watch  # only now: what could not be taken in is looked for again

    def walk(
        self, index: TreeIndex, paths: Folders, waiting: list[str], watch: FolderWatch | None = None
    ) -> Changes:
        """What differs from the index in these folders, and in those of theirs that are not watched
        yet.
        """
        arrived, vanished, met = list[tuple[str, str]](), list[tuple[str, str]](), set[str]()
        numbers = {path: number for number, path in paths.items()}
        while waiting:
            path = waiting.pop()
            if path in met:
                continue
            met.add(path)
            try:
                listing = self._tree.files.list_folder(path, watch)
            except OSError as error:  # which does not mean that anything is gone
                reason = f"cannot be looked into ({error.strerror or error})"
                self._leave_alone(path or ".", reason)
                continue
            for name, reason in listing.odd.items():
                self._leave_alone(f"{path}/{name}", reason)
            there, moving = index.list_looks(numbers[path]) if path in numbers else ({}, set[str]())
            different = [name for name, seen in listing.files.items() if seen != there.get(name)]
            for name in different:  # those that were left alone are told of where they change
                if name not in moving and f"{path}/{name}" not in self.left:
                    arrived.append((path, name))
            vanished += [(path, name) for name in there.keys() - listing.files.keys()]
            known = watch.folders if watch else ()
            waiting += [inner for inner in listing.folders if inner not in known]
        return arrived, vanished

    def _take_in(self, changes: Changes, *, restoring: bool = False) -> None:
        arrived, vanished = changes
        gone: Gone = {}
        with self._tree.reading() as index:
            for path in vanished:
                for lost in filter(_was_there, index.at(*path)):
                    gone.setdefault(lost.digest, []).append((path[0], lost))
        for batch in batches(arrived, TREE_BATCH_FILES):
            if read := [file for path in batch if (file := self._read(*path))]:
                with self._tree.store.write(self._tree.project) as writer:
                    for file in read:
                        self._take_in_one(writer, file, gone)
        rest = [lost for group in gone.values() for lost in group]
        for absent in batches(rest, TREE_BATCH_FILES):
            with self._tree.store.write(self._tree.project) as writer:
                for folder, lost in absent:
                    self._note_absence(writer, folder, lost, restoring)
        if restoring and rest:
            self._tree.on_commit()
        self.summary.left = dict(islice(self.left.items(), limits.REPORTED_MAX))

    def _read(self, folder: str, name: str) -> FileContent | None:
        try:
            data, seen = self._tree.files.read(folder, name)
            return FileContent(folder, name, data, seen=seen)
        except (ValueError, OSError) as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                reason = getattr(error, "strerror", None) or str(error)
                self._leave_alone(f"{folder}/{name}", reason)
        return None

    def _leave_alone(self, path: str, reason: str) -> None:
        if self._warned.get(path) != reason:
            self._warned[path] = reason
            _log.warning("%s/%s is left alone: it %s", self._tree.root, path, reason)
        self.left[path] = reason

    def _take_in_one(self, writer: Writer, file: FileContent, gone: Gone) -> None:
        index = self._tree.index(writer)
        known = index.at(file.folder, file.name)
        current = next(filter(_was_there, known), None)
        if current and current.digest == file.digest:
            index.move(current, file)
            return
        if any(other.state in (DUE, GOING) for other in known):
            return  # somebody is about to write it, or to remove it
        stored = writer.get(self._tree.project, current.record_id) if current else None
        before = read_original(stored) if stored else None
        self.left.pop(file.path, None)
        try:
            read, timed = self.experience_in(file)
        except (UnreadableError, InvalidInputError) as error:
            self._leave_alone(file.path, str(error))
            return
        if read.redacted:
            self.summary.secrets.append(file.path)
            text = "%s/%s holds a secret: the memory does not, but the file still does"
            _log.warning(text, self._tree.root, file.path)
        if current and before and same_memory(before, read, timed):
            index.move(current, file)  # only written differently
        elif current:
            self.summary.edited += self._keep(writer, file, read, current)
        elif not self._take_in_move(writer, file, read, gone):
            self.summary.added += self._keep(writer, file, read)

    def _take_in_move(
        self, writer: Writer, file: FileContent, read: Experience, gone: Gone
    ) -> bool:
        """Whether a file that vanished elsewhere is here now under another name."""
        group = gone.get(file.digest)
        if not group:
            return False
        folder, lost = group[-1]
        stored = writer.get(self._tree.project, lost.record_id)
        if not stored or self._tree.files.look(folder, lost.name):
            return False
        group.pop()
        if same_memory(read_original(stored), read, False):
            self._tree.index(writer).move(lost, file)
        else:  # in its new folder it says something else
            self._keep(writer, file, read, lost)
        self.summary.moved += 1
        return True

    def _keep(
        self, writer: Writer, file: FileContent, read: Experience, instead_of: File | None = None
    ) -> bool:
        """Has the memory of a file kept, or back, where it does not stay away; it supersedes that
        of another.
        """
        index = self._tree.index(writer)
        past = (known for known in index.at(file.folder, file.name) if known.state == PAST)
        same = (known.record_id for known in past if known.digest == file.digest)
        record_id = next(filter(None, same), "")
        if not record_id or index.has_file(record_id):
            # what a copy elsewhere goes by already, this one cannot go by
            ids = (file_id(file.path, file.digest, number) for number in count())
            record_id = next(one for one in ids if not index.has_file(one))
            at_us = counted_from(read.at_us, to_us(self._tree.clock()))
            done = writer.append([build_row(set_time(read.copy_with(id=record_id), at_us))])
            if done.forgotten:
                reason = "was forgotten: remember it anew to have it back"
                self._leave_alone(file.path, reason)
                return False
            is_named = read.metadata.source.author != Source().author
            if done.added and (is_named or instead_of is None):
                # anybody may put a file there, and write a name into it
                self._note(writer, record_id, "imported")
        if not self._bring_back(writer, record_id):
            self._leave_alone(file.path, "was archived: its memory stays so")
            return False
        index.plant([file._replace(record_id=record_id)])
        if instead_of:
            about = {"replaced_by": record_id, "reason": "its file was edited"}
            self._happen(writer, instead_of, "superseded", **about)
        return True

    def _bring_back(self, writer: Writer, record_id: str) -> bool:
        """Undoes an absence, where there is one; False where something else keeps the record
        away.
        """
        stored = writer.get(self._tree.project, record_id)
        if not stored:
            return False
        envelope = read_original(stored).metadata.validation
        events = writer.list_events(self._tree.project, record_id)
        if effective_validation(envelope, events).status != "archived":
            return True
        back = Event(record_id=record_id, kind="present", at=self._tree.clock(), by=BY_TREE)
        if effective_validation(envelope, [*events, in_order(back, events)]).status == "archived":
            return False
        happen(writer, self._tree.project, back)
        return True

    def _happen(self, writer: Writer, file: File, kind: EventKind, **more: str) -> None:
        """Something happens to the record of a file, which no longer is its file."""
        self._note(writer, file.record_id, kind, **more)
        self._tree.index(writer).make_past(file)

    def _note(self, writer: Writer, record_id: str, kind: EventKind, **more: str) -> None:
        at = self._tree.clock()
        event = Event(record_id=record_id, kind=kind, at=at, by=BY_TREE, **more)
        happen(writer, self._tree.project, event)

    def _note_absence(self, writer: Writer, folder: str, file: File, restoring: bool) -> None:
        index = self._tree.index(writer)
        same = [known for known in index.at(folder, file.name) if known[:3] == file[:3]]
        now = next(filter(_was_there, same), None)
        if not now or self._tree.files.look(folder, file.name):
            return
        if restoring:
            index.make_due(now)
        else:
            self._happen(writer, now, "absent", reason="its file is gone")
            self.summary.absent += 1

    def experience_in(self, file: FileContent) -> tuple[Experience, bool]:
        """The experience that a file is, under an id that whoever finds the same file in the same
        place comes to as well; and whether the file tells its time. Where it lies and what it says
        disagree, the folder is right.
        """
        keys, at, timed = read_back(file.data, file.name, file.seen.mtime_ns)
        source = {"type": "file_analysis"}
        if is_name(keys.get("author")) and keys["author"].strip():
            source["author"] = keys.pop("author")
        tags = keys.pop("tags", [])
        if not isinstance(tags, list) or not all(is_name(tag) and tag.strip() for tag in tags):
            keys["tags"], tags = tags, []
        said_by = Source.model_validate(source)
        metadata = Metadata(source=said_by, context=Moment(timestamp=at), tags=tags)
        # Where a file lies says more than what it says of that itself: it was put there. A folder
        # that no memory is routed to still tells what the file does not.
        if self._tree.router.route(keys).folder != file.folder:
            in_folder = values_in(file.folder)
            placed = {**keys, **in_folder}
            if self._tree.router.route(placed).folder == file.folder:
                other = [name for name in in_folder if keys.get(name, placed[name]) != placed[name]]
                if other:
                    reason = f"says another {other[0]} than its folder, which counts: move it there"
                    self._leave_alone(file.path, reason)
                keys = placed
            else:
                keys = {**in_folder, **keys}
        read = self._tree.experience(keys, metadata, file_id(file.path, file.digest))
        return self._tree.prepare(read), timed


def file_id(path: str, digest: bytes, number: int = 0) -> str:
    """Of the record that a file becomes: whoever finds the same file in the same place comes to it
    as well.
    """
    return derived_id("tree", path, digest, str(number))


def _was_there(file: File) -> bool:
    """Not so one that is still to be written: another process is at it, or died over it."""
    return file.state == IN_STEP


def is_name(value: object) -> bool:
    """Whether a value can be the name of somebody or something."""
    return isinstance(value, str) and len(value) <= limits.NAME_CHARS_MAX and value.isprintable()
