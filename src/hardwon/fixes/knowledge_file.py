"""Where a knowledge base is kept: what callers added as one record of the memory, the whole of it
as `knowledge_base.json`.

The record makes it one source's word that nobody verified. The file is for people: what they change
in it is taken in when the memory is next opened, or saved. What was written last is kept beside it,
hidden, so that their changes can be told from ours.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError
from hardwon.fixes.adopt import KNOWLEDGE_BASE_NAME
from hardwon.fixes.input import FixHistoryWarning
from hardwon.fixes.knowledge_base import (
    SECTIONS,
    KnowledgeBase,
    Statements,
    beyond,
    check,
    knowledge_of,
    learned_knowledge,
    merged,
    shaped,
    statements_of,
    wording,
)
from hardwon.fixes.tables import FixKnowledge
from hardwon.learn.support import FIX_HISTORY
from hardwon.memory import Memory
from hardwon.outside import files
from hardwon.outside.locks import LockedFile, lock_file
from hardwon.records.fields import derived_id
from hardwon.records.kinds import Adopted, Metadata, Moment, Source
from hardwon.trust.redact import redact_json

AUTHOR: Final = "knowledge base"  # whose word it is what callers put into one
_KEY: Final = "knowledge_base"


class KnowledgeFile:
    """Brings a knowledge base up to date and saves it. `learned` tells what the attempts teach,
    `version` something that is different whenever the memory changed; None where that is not
    certain.
    """

    def __init__(
        self,
        memory: Memory,
        folder: Path,
        learned: Callable[[], FixKnowledge],
        version: Callable[[], object],
    ) -> None:
        self.knowledge = KnowledgeBase()
        self._memory = memory
        self._path = (folder / KNOWLEDGE_BASE_NAME).resolve()  # a link to it stays one
        self._written = folder / f".{KNOWLEDGE_BASE_NAME}.written"
        self._learned, self._version = learned, version
        self._guard = threading.RLock()
        self._saved: Statements = {}
        self._given: Statements = {}
        self._seen: object = None
        self._in_files: tuple[object, set[str]] = (None, set())

    def refresh(self) -> KnowledgeBase:
        """The knowledge base, with what was learned and what others saved since."""
        with self._guard:
            seen = self._version()
            if seen is None or seen != self._seen:
                self._bring_up_to_date()
                self._clear_files()
                self._seen = seen
            return self.knowledge

    def replace(self, knowledge: Mapping[str, Any]) -> None:
        """As if the caller had taken out what was there and put this in. What was learned comes
        back with the next refresh.
        """
        with self._guard:
            self.knowledge.clear()
            self.knowledge.update(knowledge)
            self._seen = None

    def _bring_up_to_date(self) -> Statements:
        """Returns what callers added, here and elsewhere."""
        own, others = self._kept()
        stored: Statements = {}
        for record in own:  # what several saved at the same time; where they differ, the newest
            stored = {**statements_of(_knowledge_in(record)), **stored}
        self._given = statements_of(learned_knowledge(self._learned()))
        for record in others:
            self._given = {**statements_of(_knowledge_in(record)), **self._given}
        snapshot = statements_of(self.knowledge)
        added = merged(self._saved, self.knowledge.added(snapshot), stored)
        self._show(snapshot, added)
        self._saved = stored
        return added

    def _show(self, snapshot: Statements, added: Statements) -> None:
        self.knowledge.show(snapshot, self._given, added, self._memory.care.now().isoformat())

    # --- saving ---

    def save(self) -> None:
        """Keeps what was added, and writes the file. What cannot be kept raises, and everything
        stays as it is.
        """
        with self._guard, lock_file(self._path) as held:
            sections = {name: self.knowledge.get(name) for name in SECTIONS}
            self.knowledge.update(
                shaped({name: part for name, part in sections.items() if isinstance(part, list)})
            )
            check(self.knowledge.added(statements_of(self.knowledge)))
            added = self._bring_up_to_date()
            if edited := self._edits(held):
                added = beyond(merged(*edited, added), self._given)
                check(added, KNOWLEDGE_BASE_NAME)
                self._show(statements_of(self.knowledge), added)
            self._saved = self._keep(added)
            self._write(held, {**self._given, **self._saved})
            self._seen = None  # this very save changed the memory

    def take_in_edits(self) -> None:
        """What people changed in the file since it was written. Where nobody did, but the memory
        may know less than the file says, the file is looked through.
        """
        content = _content(self._path)
        if files.exists(self._path) and not self._path.is_file():
            _warn(
                f"{self._path} is no regular file and was left as it is: move it away, or the "
                f"knowledge base cannot be saved"
            )
        elif content is not None and _digest(content) not in self._last_written()[0]:
            if _parsed(content) is not None:
                try:
                    self.save()
                except InvalidInputError as error:
                    _warn(
                        f"{self._path} was edited and left as it is, for it cannot be kept: {error}"
                    )
                return
            _warn(
                f"{self._path} is not a knowledge base as JSON and was left as it is: correct it, "
                f"and open the memory again"
            )
        written = _stamp(self._written)
        database = (_stamp(Path(f"{self._memory.location}{suffix}")) for suffix in ("", "-wal"))
        # an empty log is our own
        newest_ns = max((stamp[0] for stamp in database if stamp and stamp[1]), default=0)
        # a file's time is not exact
        if written is not None and newest_ns + limits.FILE_TIME_UNSURE_NS > written[0]:
            self.refresh()
            with suppress(OSError):
                os.utime(self._written)

    def exported(self) -> dict[str, Any]:
        """A copy to hand on. The dict itself holds what callers put in, and that may be a
        secret.
        """
        return _without_secrets(self.refresh().snapshot())

    def _keep(self, added: Statements) -> Statements:
        own = self._kept()[0]
        data = _without_secrets(
            {name: part for name, part in knowledge_of(added).items() if part != {}}
        )
        if len(own) > 1 or (_knowledge_in(own[0]) if own else {}) != data:
            replaced = sorted(record.id for record in own)
            record = Adopted(
                # Also of what it replaces: who comes back to what was said before says it anew.
                id=derived_id(
                    FIX_HISTORY, _KEY, AUTHOR, json.dumps(data, sort_keys=True), *replaced
                ),
                origin=FIX_HISTORY,
                data={_KEY: data},
                metadata=Metadata(
                    source=Source(author=AUTHOR),
                    context=Moment(timestamp=self._memory.care.now()),
                ),
            )
            self._memory.care.take_in([record], by=AUTHOR)
            for earlier in replaced:
                self._memory.supersede(
                    earlier, record.id, "the knowledge base was saved again", AUTHOR
                )
        return statements_of(data)

    def _kept(self) -> tuple[list[Adopted], list[Adopted]]:
        """What callers added, and what was adopted from knowledge bases of others; the newest
        first.
        """
        live = [
            record
            for record in self._memory.care.adopted(FIX_HISTORY, limits.SHOWN_MAX)
            if _knowledge_in(record)
        ]
        own, others = (
            [record for record in live if (record.metadata.source.author == AUTHOR) == is_own]
            for is_own in (True, False)
        )
        return own, others[: limits.ADOPTED_READ_MAX]

    # --- the file ---

    def _clear_files(self) -> None:
        """Where they have a text that the memory has no longer (it was forgotten, say), they are
        written again, with what was saved. What somebody edited is taken in first, when the memory
        is next opened or saved.
        """
        everything, texts = {**self._given, **self._saved}, self._texts_in_files()
        # Some of what was learned may stand in the files without its secrets.
        if texts <= wording(everything) or texts <= wording(
            statements_of(_without_secrets(knowledge_of(everything)))
        ):
            return
        try:
            with lock_file(self._path) as held:
                content = held.read()
                if content is None:
                    files.remove(self._written)
                elif _digest(content) in self._last_written()[0]:
                    self._write(held, everything)
        except HardwonError as error:
            _warn(f"{self._path} may hold texts that the memory does not have any more: {error}")

    def _texts_in_files(self) -> set[str]:
        stamps = _stamp(self._path), _stamp(self._written)
        if stamps != self._in_files[0] or stamps[1] is None:
            before = self._last_written()[1]
            found = (_parsed(_content(self._path) or b"") or {}) if before else {}
            self._in_files = stamps, wording(statements_of(before)) | wording(statements_of(found))
        return self._in_files[1]

    def _edits(self, held: LockedFile) -> tuple[Statements, Statements] | None:
        """What the file said when we wrote it, and what it says now; None where it is as it was."""
        content = held.read()
        digests, before = self._last_written()
        if content is None or _digest(content) in digests:
            return None
        now = _parsed(content)
        if now is None:
            _warn(
                f"{self._path} is not a knowledge base as JSON: it was kept as "
                f"{held.set_aside().name} in the same folder"
            )
            return None
        return statements_of(before), statements_of(now)

    def _last_written(self) -> tuple[list[str], dict[str, Any]]:
        """The digests of what the file may hold, and what was written last."""
        found = _parsed(_content(self._written) or b"") or {}
        digests, before = found.get("digests"), found.get(_KEY)
        return (
            digests if isinstance(digests, list) else [],
            before if isinstance(before, dict) else {},
        )

    def _write(self, held: LockedFile, everything: Statements) -> None:
        whole = _without_secrets(
            {**knowledge_of(everything), "last_updated": self.knowledge["last_updated"]}
        )
        content = json.dumps(whole, indent=2, ensure_ascii=False).encode() + b"\n"
        before = held.read()
        # Before the file itself: between the two it is what it was, which is no edit either.
        digests = [_digest(content), *([] if before is None else [_digest(before)])]
        # of somebody who was killed
        files.remove(*self._written.parent.glob(f".{self._written.name}.*.part"))
        with files.writing_atomically(self._written) as file:
            file.write(json.dumps({"digests": digests, _KEY: whole}, ensure_ascii=False).encode())
        held.write(content)


def _knowledge_in(record: Adopted) -> dict[str, Any]:
    found = record.data.get(_KEY) if record.origin == FIX_HISTORY else None
    return shaped(found) if isinstance(found, dict) else {}


def _without_secrets(knowledge: dict[str, Any]) -> dict[str, Any]:
    cleaned = redact_json(knowledge)[0]
    assert isinstance(cleaned, dict)  # noqa: S101  # for type checkers: an object stays one
    return cleaned


def _content(path: Path) -> bytes | None:
    try:
        return files.read_regular(path, limits.KNOWLEDGE_FILE_BYTES_MAX)
    except (OSError, PlaceError):
        return None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _parsed(content: bytes) -> dict[str, Any] | None:
    try:
        found = from_json(content, allow_inf_nan=False)
    except ValueError:
        return None
    return shaped(found) if isinstance(found, dict) else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _warn(message: str) -> None:
    warnings.warn(message, FixHistoryWarning, stacklevel=4)
