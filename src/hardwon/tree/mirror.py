"""The tree: experiences as files that people read, search and change, kept in step with the
database.

The database is the truth. A record that is written gets a row in the tree's index in the same
transaction, with the file. What was never written is written by whoever opens the memory next; where
files were not synced and the machine was started anew in between, every file is looked at again.

What people do to the files is taken in by `edits`, before each question; no file that somebody else
wrote is ever overwritten.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

from hardwon import limits
from hardwon.errors import DamagedError, FileOnlyError, InvalidInputError, Problem
from hardwon.lessons.keys import caller_keys, given_key
from hardwon.memory.project import Change, Group, ProjectListener
from hardwon.memory.results import Synced
from hardwon.outside import files
from hardwon.records.fields import check_all, check_share, check_that
from hardwon.records.kinds import ROUTES, Experience, Metadata, Record
from hardwon.search.terms import Filters
from hardwon.store.base import Store, Writer, build_row
from hardwon.store.query import read_current, read_original, sound_body
from hardwon.store.types import Finding, Routed, Row, Session, Stored
from hardwon.text.globs import Glob
from hardwon.tree import topology
from hardwon.tree.edits import Edits, file_id, is_name
from hardwon.tree.files import (
    TreeFiles,
    UnreadableError,
    file_text,
    given_keys,
    make_payload,
    read_back,
    same_memory,
    says,
)
from hardwon.tree.routing import Coherence, file_name, values_in
from hardwon.tree.tables import (
    DUE,
    GOING,
    IN_STEP,
    File,
    FileContent,
    Tree,
    TreeIndex,
    digest_of_file,
)
from hardwon.tree.topology import HOTSPOT_SHARE, Branch, FolderCount, Hotspot, Reflection

# Files that are written or removed at a time, before that is noted.
TREE_BATCH_FILES: Final = 2_000

# Random bytes of a tree's mark.
MARK_BYTES: Final = 8

_UNKNOWN_BOOT: Final = "unknown"  # the system does not tell when the machine was started

# Whoever opens a tree here asks `Edits.catch_up` before each question: opening looks at no file.
LOOKS_LATER: Final = ContextVar("looks later", default=False)

_log = logging.getLogger("hardwon")

_FIELDS: Final = ("content", "outcome", "tool", "summary")
# keys that no folder and no index tells
_LOOKED_AT: Final = ("content", "summary", "timestamp", "author", "tags")


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
        self.store, self.project, self.prepare, self.clock = store, project, prepare, clock
        self.files = TreeFiles(root)
        self.edits = Edits(self)
        self._boot = files.boot_id() or _UNKNOWN_BOOT

    def on_append(self, change: Change, kept: Sequence[tuple[Record, Row]]) -> None:
        plantings = self.plant(change.writer, kept)
        change.paths |= {
            planting.record_id: f"{self.root}/{planting.path}" for planting in plantings
        }
        if len(plantings) > 1:
            change.afterwards.append(self._work_off)

    def on_erase(self, change: Change, record_ids: Sequence[str]) -> None:
        """Files of records that are about to be erased are not taken in again, should a checkout
        bring them back.
        """
        index = self.index(change.writer)
        gone = index.find_files(record_ids)
        index.keep_forgotten(file_id(f"{folder}/{file.name}", file.digest) for folder, file in gone)

    def experience(self, keys: Mapping[str, Any], metadata: Metadata, record_id: str) -> Experience:
        """An experience from what a caller or a file says. What no route takes is kept all the
        same, with the reason.
        """
        own = {name: value for name, value in keys.items() if value is not None}
        problem = self.router.route(own).problem
        named: dict[str, Any] = {name: own.pop(name) for name in _FIELDS if name in own}
        if isinstance(named.get("content"), dict | list):
            own["content"] = named["content"]  # is what comes back, its text what is searched
            named["content"] = json.dumps(own["content"], ensure_ascii=False, default=str)
        for name in ("outcome", "tool"):
            if name in named and not is_name(named[name]):
                own[name] = named.pop(name)
                problem = problem or Problem(name, own[name], "a short name")
        made = {"outcome": "", **named, **given_keys(own), "id": record_id, "metadata": metadata}
        if problem:
            return Experience(**made, unrouted=str(problem))
        try:
            if (usual := Experience(**made)).has_route:
                return usual
        except InvalidInputError as error:
            if {"content", "summary"} & {refused.field for refused in error.problems}:
                raise
        return Experience(**made, own_schema=True)

    def plant(self, writer: Writer, kept: Iterable[tuple[Record, Row]]) -> list[FileContent]:
        """Gives new records their files, as part of the transaction that keeps them. One file is
        written at once: whoever sees its row knows that it was there. Many are written after the
        transaction, as what is due, so that all of them are kept or none.
        """
        plantings = []
        for record, row in kept:
            if type(record) is Experience and row.status != "archived":
                folder, at = self.find_folder(record), record.metadata.context.timestamp
                name = file_name(at, record.summary, record.id[-12:])
                data = file_text(row.body, f"{folder}/{name}")
                plantings.append(FileContent(folder, name, data, record.id))
        if len(plantings) == 1:
            plantings = [self.write_within(writer, plantings[0])]
        if plantings:
            self.index(writer).plant(plantings)
            self._note_boot(writer)
        return plantings

    def find_folder(self, record: Experience) -> str:
        """Where the record's file belongs, from the root."""
        own = {"outcome": record.outcome or None, "tool": record.tool, **caller_keys(record)}
        return self.router.route(own).folder

    def write_within(self, writer: Writer, file: FileContent) -> FileContent:
        """Writes a file before its record is kept; it goes where the record is not. A name that is
        taken gets the whole id.
        """
        longer = file._replace(name=file.name.replace(file.record_id[-12:], file.record_id))
        for free in (file, longer):
            try:
                written = self.files.write_new(free)
            except FileExistsError:
                continue
            except OSError as error:
                with self.reading():  # LostFileError where the memory is gone as well
                    self._tell_undone(file.folder, error)
                break
            writer.on_failure(partial(self.files.unlink, free.folder, free.name))
            return written
        return longer

    def _tell_undone(self, folder: str, error: Exception) -> None:
        text = "the memory is kept, but its files in %s/%s could not be written or removed (%s); %s"
        reason, later = (
            getattr(error, "strerror", "") or error,
            "that is done when it is next opened",
        )
        _log.warning(text, self.root, folder, reason, later)

    def _note_boot(self, writer: Writer) -> None:
        """Some file may not be on disk yet."""
        index = self.index(writer)
        if not index.tree().boot:
            index.set_boot(self._boot)

    def settle(self) -> None:
        """Makes sure that what was written, by this process or another, is on disk, and notes it."""
        with self.reading() as index:
            if not index.tree().boot:
                return
        with self.store.write(self.project) as writer:  # so nobody notes anything meanwhile
            if self._sync():
                self.index(writer).set_boot("")

    def close(self) -> None:
        self.settle()
        self.edits.watch = None

    def _sync(self) -> bool:
        try:
            self.files.sync()
        except OSError as error:  # what is due stays due
            reason = error.strerror or error
            _log.warning("the tree at %s could not be synced: %s", self.root, reason)
            return False
        return True

    def on_commit(self, *, erased: bool = False, restored: bool = False) -> None:  # noqa: ARG002
        """Does in the tree what was decided about records: files of archived and forgotten ones go, for
        good when this returns. `restored`: some may be back from the archive, and get files again.
        """
        self._work_off()
        if restored:
            self._plant_the_rest()

    def _work_off(self, *, restarted: bool = False) -> None:
        """Removes and writes what is due. `restarted`: the machine was, since some of it was done."""
        while True:
            with self.reading() as index:
                due = index.due(TREE_BATCH_FILES)
            gone, written = self._carry_out(due, restarted)
            if gone and not self._sync():
                gone = []  # what was removed may be back after a power cut: it is looked for again
            if not (gone or written):
                return
            with self.store.write(self.project) as writer:
                index = self.index(writer)
                for change in written:
                    index.move(*change)
                index.note_removal(gone)
                self._note_boot(writer)

    def _carry_out(
        self, due: Sequence[tuple[str, File, Stored | None]], restarted: bool
    ) -> tuple[list[File], list[tuple[File, FileContent]]]:
        """Which files are removed now, and which are written, with what is there then."""
        gone: list[File] = []
        written: list[tuple[File, FileContent]] = []
        refused: dict[str, Exception] = {}
        for folder, file, stored in due:
            try:
                if file.state == GOING:
                    self._remove(folder, file, restarted)
                    gone.append(file)
                elif stored:
                    written.append((file, self._write_again(folder, file, stored)))
            except (OSError, DamagedError) as error:
                refused[folder] = error
        for folder, why in refused.items():
            self._tell_undone(folder, why)
        return gone, written

    def _remove(self, folder: str, file: File, restarted: bool) -> None:
        digest = file.digest
        if restarted and not self._is_readable(folder, file.name):
            # what a power cut brought back of one that was removed before it had ever reached the
            # disk whole
            with suppress(OSError, ValueError):
                data, _ = self.files.read(folder, file.name)
                digest = digest_of_file(data) if len(data) <= file.size else digest
        if not self.files.remove(folder, file.name, digest):
            path = f"{self.root}/{folder}/{file.name}"
            _log.warning("%s says something else by now and is left alone", path)

    def _write_again(self, folder: str, file: File, stored: Stored) -> FileContent:
        """Writes a file that is due; what is there then. One that is there is left where it says
        the same, replaced where it is not whole, and otherwise somebody else's: the record gets
        another name.
        """
        data = file_text(sound_body(stored), f"{folder}/{file.name}")
        wanted = FileContent(folder, file.name, data)
        try:
            read, seen = self.files.read(folder, file.name)
            there = wanted._replace(data=read, seen=seen)
            with suppress(UnreadableError, InvalidInputError):
                record = read_original(stored)
                if read == wanted.data or same_memory(record, *self.edits.experience_in(there)):
                    return there
            if _is_part_of(read, wanted.data):
                self.files.remove(folder, file.name, there.digest)
                return self.files.write_new(wanted)
        except (FileNotFoundError, NotADirectoryError):
            return self.files.write_new(wanted)
        except ValueError:
            pass  # a link, or no file at all
        names = (file.name.replace(".json", f"_{number}.json") for number in count(2))
        while True:
            with suppress(FileExistsError):
                return self.files.write_new(wanted._replace(name=next(names)))

    def open(self) -> None:
        """Finishes what was due, gives every experience its file, and takes in what changed while
        nobody looked.
        """
        # what was not synced when the machine stopped may not be whole
        restarted = self._tree.boot not in ("", self._boot) or self._tree.boot == _UNKNOWN_BOOT
        if restarted:
            self._write_torn_again()
        marked = self.files.is_marked(self._tree.id)
        self._work_off(restarted=restarted)
        if restarted:
            self.settle()
        if not (marked and LOOKS_LATER.get()):
            # A restored or copied database: that its files are not here does not mean that anybody
            # removed them.
            self.edits.sweep(restoring=not marked)
        self._plant_the_rest()
        if not marked:
            self.files.mark(self._tree.id)

    def _write_torn_again(self) -> None:
        """Files that did not reach the disk are due: they are missing, or not readable. The others are
        as they were, or edited, which the sweep finds.
        """
        with self.reading() as index:
            written = index.written_files()
        torn = [file for folder, file in written if not self._is_readable(folder, file.name)]
        with self.store.write(self.project) as writer:
            for file in torn:
                self.index(writer).make_due(file)

    def _is_readable(self, folder: str, name: str) -> bool:
        try:
            data, seen = self.files.read(folder, name)
            read_back(data, name, seen.mtime_ns)
        except (OSError, ValueError, UnreadableError):
            return False
        return True

    def before_read(self) -> None:
        self.edits.catch_up()

    def sync(self) -> Synced:
        """Looks at every file and takes in whatever changed. Tells what was taken in since this was
        last asked, or since the memory was opened.
        """
        self._work_off()
        self.settle()
        self.edits.sweep()
        self._plant_the_rest()
        synced, self.edits.summary = self.edits.summary, Synced()
        return synced

    def _plant_the_rest(self) -> None:
        while True:
            with self.reading() as index:
                if not index.find_bare(1):
                    return
            with self.store.write(self.project) as writer:
                bare = []
                for stored in self.index(writer).find_bare(limits.BATCH_ROWS):
                    try:
                        record = read_original(stored)
                        bare.append((record, build_row(record)._replace(status="")))
                    except DamagedError as error:
                        _log.warning("%s", error)
                plantings = self.plant(writer, bare)
            if not plantings:
                return
            self._work_off()

    def find(
        self, intent: Mapping[str, Any], glob: Glob | None = None
    ) -> tuple[list[File], dict[int, str]]:
        """The memories that have all keys of the intent, and whose path matches, newest first, as
        the files are now; and the paths of all folders by their numbers.
        """
        asked = {name: value for name, value in intent.items() if value is not None}
        wanted: dict[tuple[str, ...], list[int]] = {}  # folders by the keys that are indexed
        unsure: dict[int, dict[str, Any]] = {}  # what memories of a folder are looked at for
        self.edits.catch_up()
        with self.reading() as index:
            folders = index.folders()
            for number, path in folders.items():
                undecided = self.router.decide(path, asked)
                if undecided is None or (glob and not glob.matches_folder(path)):
                    continue
                # in a folder made by hand, or by a schema of one's own, any key may be in a path
                is_usual = not self.routes and self.router.route(values_in(path)).folder == path
                indexed = sorted(undecided.difference(_LOOKED_AT)) if is_usual else []
                unsure[number] = {name: asked[name] for name in undecided.difference(indexed)}
                keys = tuple(given_key(name, asked[name]) for name in indexed)
                wanted.setdefault(keys, []).append(number)
            files = index.find(wanted)
        if glob:
            files = [file for file in files if glob.matches_name(file.name)]
        doubtful = [file for file in files if unsure[file.folder]]
        pairs = zip(doubtful, self.payloads(doubtful), strict=True)
        wrong = {file.key for file, payload in pairs if not says(payload, unsure[file.folder])}
        return [file for file in files if file.key not in wrong], folders

    def payloads(self, files: Sequence[File]) -> list[dict[str, Any]]:
        """What the tree's own users are told of these, but for the paths; nothing of one that was
        forgotten this very moment.
        """
        with self.reading() as index:
            kept = dict(index.records([match.seq for match in files]))
        bodies = (kept.get(match.seq) for match in files)
        return [make_payload(sound_body(stored), "") if stored else {} for stored in bodies]

    def find_path(self, record_id: str) -> str | None:
        """Where the file of a record is, from the root; None where it has none."""
        with self.reading() as index:
            places = index.find_files([record_id])
        live = (f"{path}/{file.name}" for path, file in places if file.state in (DUE, IN_STEP))
        return next(live, None)

    def folder_counts(self) -> list[FolderCount]:
        """How many files each folder holds, and how large they are."""
        self.edits.catch_up()
        with self.reading() as index:
            return [FolderCount(*counted) for counted in index.counts()]

    def check(self) -> list[Finding]:
        """Whether every file is as the index knows it. What differs is for `sync` to take in."""
        with self.reading() as index:
            total = sum(count for _, count, _ in index.counts())
            folders = index.folders()
            changes = self.edits.walk(index, folders, ["", *folders.values()])
        differing = sum(map(len, changes))
        text = f"{total} files say what the memory says"
        if differing:
            text = f"{differing} of {total} files were changed: sync takes that in"
        left = [f"{path} {reason}" for path, reason in self.edits.left.items()]
        if left:
            text += f"; {len(left)} are left alone: {left[0]}"
        return [Finding("tree", not differing, text)]

    def index(self, writer: Writer) -> TreeIndex:
        """The rows of the tree, for whoever writes."""
        return TreeIndex(writer.session, self.project)

    @contextmanager
    def reading(self) -> Iterator[TreeIndex]:
        """The rows of the tree, for whoever reads."""
        with self.store.read(self.project) as session:
            yield TreeIndex(session, self.project)


def _is_part_of(there: bytes, data: bytes) -> bool:
    """Whether a file is what a power cut left of this: its beginning, or any of its sectors with
    zeros in place of the others. No JSON has a zero in it.
    """
    return len(there) <= len(data) and all(
        is_ in (0, was) for is_, was in zip(there, data, strict=False)
    )


class MemoryTree(Group):
    """The tree of files that mirrors a memory's experiences: `memory.tree`."""

    @property
    def mirror(self) -> Mirror | None:
        """What keeps the files; None where the memory has no tree."""
        listener = self._project.find_listener()
        return listener if isinstance(listener, Mirror) else None

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
        # raises where something is wrong with it
        routes = "" if schema is None else json.dumps(Coherence(schema).schema)
        with project.write() as change:
            index = TreeIndex(change.writer.session, project.name)
            other = index.other_project()
            allowed = f"project {other!r}: its tree is in this folder, and two cannot share one"
            check_that(other is None, "project", project.name, allowed)
            index.plant_tree(Tree(secrets.token_hex(MARK_BYTES), routes, ""))
        mirror = self.mirror
        assert mirror is not None  # noqa: S101  # for type checkers: it was just made
        allowed = "the schema that this tree was made with, or none"
        check_that(schema is None or mirror.routes == routes, "schema", schema, allowed)
        return mirror

    def sync(self) -> Synced:
        """Brings tree and memory in step: looks at every file of the tree and takes in what people
        changed. Tells what was taken in since this was last asked, or since the memory was opened.
        """
        mirror = self.mirror
        if mirror is None:
            allowed = "a memory with a tree of files: tree.make gives it one"
            raise InvalidInputError.one("memory", self._project.store.location, allowed)
        return mirror.sync()

    def hotspots(
        self,
        share: float = HOTSPOT_SHARE,
        limit: int = limits.SCREEN_ITEMS,
        tool: str | None = None,
    ) -> list[Hotspot]:
        """Where experiences pile up: places that hold at least this share of what lies above them,
        the largest first; with a `tool`, its own.
        """
        check_all(lambda: check_share("share", share), limit=limit, tool=tool)
        return topology.find_hotspots(self._find_branches(), share, limit, tool)

    def _find_branches(self) -> Branch:
        """What lies where, under the name of the memory; an empty branch where nothing is."""
        path = self._project.place.path
        name = files.find_home(path).name if path else self._project.name
        return topology.make_branch(self._count_folders(), name)

    def _reflect(self) -> Reflection:
        """What the experiences add up to, with the newest of them."""
        store, name, filters = self._project.store, self._project.name, Filters(kind="experience")
        newest = store.page(name, filters, None, topology.RECENT_SHOWN, trusted=True)
        reflection = topology.reflect_on(self._count_folders())
        return replace(reflection, recent=[read_current(stored) for stored in newest])

    def _count_folders(self) -> list[FolderCount]:
        """Of the tree's folders, else of those that a tree would have."""
        if mirror := self.mirror:
            return mirror.folder_counts()
        keys = sorted({route[0] for route in ROUTES.values() if route})
        router = Coherence()
        return [
            FolderCount(_name_folder(router, routed), routed.records, routed.bytes)
            for routed in self._project.store.routes(self._project.name, keys)
        ]


def _name_folder(router: Coherence, routed: Routed) -> str:
    """A tool that no tree knows has a folder all the same."""
    route = router.route(routed.packet)
    if routed.unrouted or not route.problem:
        return str(route.folder)
    named = ((name, routed.packet.get(name)) for name in ("outcome", "tool"))
    return "/".join(f"{name}={value}".replace("/", "_") for name, value in named if value)
