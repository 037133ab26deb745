"""The BTB tree: `MemoryEngine`, a brain whose memories are files in folders named by outcome, tool
and key.

Scripts that say `from memory import MemoryEngine` keep working (see `drop_in/memory.py`). The
database in a hidden folder beside them is the truth and answers questions; the folders are its mirror, which
any editor, `grep` or `git` can read and change.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import date, datetime
from datetime import time as time_of_day
from pathlib import Path
from typing import Any, Final

from hardwon.errors import InvalidInputError, on_failure
from hardwon.memory import Memory
from hardwon.memory.places import file_in_tree, memory_exists
from hardwon.memory.record import make_metadata
from hardwon.memory.results import Synced
from hardwon.outside.locations import check_local
from hardwon.records.fields import ABSENT, TIME_US_MAX, check_items, check_that, new_id, to_us
from hardwon.records.kinds import Experience
from hardwon.text.globs import Glob
from hardwon.tree.files import make_payload
from hardwon.tree.mirror import LOOKS_LATER, Mirror
from hardwon.tree.routing import describe_reflection
from hardwon.tree.tables import File
from hardwon.tree.topology import RECENT_SHOWN, FolderCount, reflect_on

_ENVELOPE: Final = frozenset(
    {"author", "source", "tags", "timestamp", "related_files", "git_commit", "git_branch"}
)


class IntakeWarning(UserWarning):
    """A memory could not be routed and was kept aside, under `_intake`."""


class MemoryEngine(AbstractContextManager["MemoryEngine"]):
    """Memories as files:
    `root/outcome=failure/tool=code_interpreter/error_type=runtime/<time>_<summary>_<id>.json`.

    `schema` routes by keys of your own (see `Coherence`).
    """

    def __init__(
        self,
        root: str | os.PathLike[str] = "agent_brain",
        schema: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        is_path = isinstance(root, str | os.PathLike) and str(root).strip()
        check_that(is_path and not str(root).endswith(".db"), "root", root, "a folder")
        check_local("root", root)
        self.root = str(root)
        self._shown_root = self.root.rstrip("/") or "/"
        folder = Path(root)
        looks_later = LOOKS_LATER.set(True)
        try:
            place = folder if memory_exists(folder) else file_in_tree(folder)
            self._memory = Memory(place, clock=clock)
        finally:
            LOOKS_LATER.reset(looks_later)
        self._now = self._memory._project.now
        with on_failure(self._memory.close):
            self._tree: Mirror = self._memory.tree.make(schema)

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryEngine({self.root!r})"

    def close(self) -> None:
        """Closes the memory. Scripts that never do lose nothing: whatever was not synced is checked
        when it is next opened.
        """
        self._memory.close()

    def remember(
        self,
        /,
        content: str | dict[str, Any] | list[Any],
        outcome: str,
        tool: str | None = None,
        summary: str | None = None,
        **metadata: Any,
    ) -> str:
        """Keeps a memory and returns the path of its file. Where its keys fit no folder it is kept
        under `_intake`, with the reason in the file and a warning. An object or a list is a content,
        too, and comes back as it was given.
        """
        keys = {"content": content, "outcome": outcome, "tool": tool, "summary": summary}
        kept = self._memory.record(self._experience({**keys, **metadata}))
        return self._show_path(kept.path or f"{self._tree.root}/{self._tree.find_path(kept.id)}")

    def remember_many(self, memories: Iterable[Mapping[str, Any]]) -> list[str]:
        """Keeps all of the memories or, where one is refused, none; much faster than one by one.
        Returns their paths.
        """
        records = []
        for number, keys in enumerate(check_items("memories", memories)):
            allowed = "an object with content, outcome and its other keys"
            check_that(isinstance(keys, Mapping), f"memories.{number}", keys, allowed)
            records.append(self._experience(keys))
        return [self._show_path(kept.path or "") for kept in self._memory.care.keep_many(records)]

    def recall(self, /, pattern: str | None = None, **intent: Any) -> list[dict[str, Any]]:
        """Memories whose path matches the glob, and that have every key of the intent, newest
        first.
        """
        return self._payloads(*self._tree.find(intent, self._glob(pattern)))

    def reflect(self, /, **intent: Any) -> dict[str, Any]:
        """What the memories that have every key of the intent add up to: totals, where failures and
        successes pile up, the newest ones, and sentences. `by_outcome` and `intake`, which counts
        what could not be routed, make the total.
        """
        if intent:
            files, folders = self._tree.find(intent)
            rows = (FolderCount(folders[file.folder], 1, file.size) for file in files)
            reflection = reflect_on(rows)
            recent = self._payloads(files[:RECENT_SHOWN], folders)
        else:
            reflection = self._memory.reflect()
            newest = [record for record in reflection.recent if isinstance(record, Experience)]
            paths = [f"{self._shown_root}/{self._tree.find_path(record.id)}" for record in newest]
            recent = list(map(make_payload, [record.to_json() for record in newest], paths))
        with self._tree.reading() as index:
            folder_paths, is_standard = index.folders().values(), not self._tree.routes
            return describe_reflection(reflection, recent, folder_paths, standard=is_standard)

    def forget(
        self,
        /,
        pattern: str | None = None,
        before: datetime | date | str | None = None,
        **intent: Any,
    ) -> int:
        """Erases the memories that match, for good, and returns how many they were. Something must
        be said: a glob, a time before which they were made, or keys.
        """
        wanted = "a glob, a time (before) or keys: what is to be forgotten"
        is_asked = pattern is not None or before is not None or intent
        check_that(is_asked, "pattern", ABSENT, wanted)
        before_us = TIME_US_MAX if before is None else _read_before(before)
        files, _ = self._tree.find(intent, self._glob(pattern))
        with self._tree.reading() as index:
            older = index.records([file.seq for file in files if file.at_us < before_us])
            ids = [stored.id for _, stored in older]
            # what the same files said before they were edited
            earlier = index.earlier_versions(ids)
        if ids:
            self._memory.forget([*ids, *earlier])
        return len(ids)

    @property
    def memory(self) -> Memory:
        """The memory of the same folder, which knows by now what people did to its files."""
        self._tree.edits.catch_up()
        return self._memory

    def sync(self) -> Synced:
        """Looks at every file and takes in what was done to it."""
        return self._memory.tree.sync()

    @property
    def schema(self) -> Mapping[str, Any]:
        """What the memories are routed by."""
        return self._tree.router.schema

    def _payloads(self, files: Sequence[File], folders: Mapping[int, str]) -> list[dict[str, Any]]:
        payloads = self._tree.payloads(files)
        for file, payload in zip(files, payloads, strict=True):
            if payload:
                payload["_path"] = f"{self._shown_root}/{folders[file.folder]}/{file.name}"
        return list(filter(None, payloads))

    def _show_path(self, path: str) -> str:
        return self._shown_root + path.removeprefix(str(self._tree.root))

    def _experience(self, keys: Mapping[str, Any]) -> Experience:
        at, own = self._now(), dict(keys)
        envelope: dict[str, Any] = {}
        for name in _ENVELOPE.intersection(keys):
            # else a key of the caller's own that happens to have this name
            with suppress(InvalidInputError):
                if keys[name] is not None:
                    make_metadata({name: keys[name]}, at, None)
                    envelope[name] = own.pop(name)
        for name, value in own.items():  # a time of the caller's own, as JSON has it
            if isinstance(value, date):
                own[name] = value.isoformat()
        record = self._tree.experience(own, make_metadata(envelope, at, None), new_id(at))
        if record.unrouted:
            warnings.warn(f"kept under _intake: {record.unrouted}", IntakeWarning, stacklevel=3)
        return record

    def _glob(self, pattern: object) -> Glob | None:
        """A glob from the root. Callers write it as they would for `glob.glob`: with the root
        before it, or without.
        """
        if pattern is None:
            return None
        text = os.fspath(pattern) if isinstance(pattern, os.PathLike) else pattern
        if not isinstance(text, str):
            raise InvalidInputError.one("pattern", pattern, "a glob")
        roots = (self._shown_root, str(self._tree.root), os.path.normpath(self.root))
        for prefix in (*roots, os.path.abspath(self.root)):  # noqa: PTH100  # without following links
            if text.startswith(f"{prefix}/"):
                return Glob(text[len(prefix) + 1 :])
        return Glob(text.removeprefix("./"))


def _read_before(before: datetime | date | str) -> int:
    """The moment in microseconds. A day stands for its first one. Without a zone it is one of this
    machine's, as in the scripts that say so.
    """
    try:
        time = datetime.fromisoformat(before) if isinstance(before, str) else before
        if not isinstance(time, datetime):
            time = datetime.combine(time, time_of_day())
        return to_us(time.astimezone())
    except (ValueError, TypeError, OverflowError, OSError):
        allowed = "a datetime, a date, or either in ISO 8601"
        raise InvalidInputError.one("before", before, allowed) from None
