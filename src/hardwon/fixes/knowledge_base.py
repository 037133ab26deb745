"""The knowledge base of fix history: a dict that fills itself from what was learned, and that
callers add to; and where it is kept.

A knowledge base is looked at as a set of things that it says (`statements_of`), a strategy of an
issue type, a figure of a pattern, each under a path of its own. So what a caller added is what is
said beyond what was learned, and what several wrote comes together without loss.

What callers added is kept as one record of the memory, the whole of it as `knowledge_base.json`.
The record makes it one source's word that nobody verified. The file is for people: what they change
in it is taken in when the memory is next opened, or saved. What was written last is kept beside it,
hidden, so that their changes can be told from ours.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic_core import PydanticCustomError, from_json

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError
from hardwon.fixes.adopt import KNOWLEDGE_BASE_NAME
from hardwon.fixes.tables import CountedStrategy, FixKnowledge
from hardwon.learn.support import FIX_HISTORY
from hardwon.memory import Memory
from hardwon.outside import files
from hardwon.outside.files import LockedFile, lock_file
from hardwon.records.fields import check_json, check_that, derived_id, read_json
from hardwon.records.kinds import Adopted, Metadata, Moment, Source
from hardwon.text.clean import clean_line
from hardwon.text.terms import counted
from hardwon.trust.redact import redact_json

PATTERNS: Final = "general_patterns"
# sentences by model or issue type
LISTS: Final = ("model_specific_tips", "successful_strategies", "failure_patterns")
SECTIONS: Final = (PATTERNS, *LISTS)
VERSION: Final = "1.0"
_COUNTED: Final = re.compile(
    r" (?:\((?:worked|tried) [^()]*\)|came up \d+ times?, \d+ of them fixed)$"
)

Words = tuple[str, ...]  # the way to something that is said
Statements = dict[Words, Any]
AUTHOR: Final = "knowledge base"  # whose word it is what callers put into one
_KEY: Final = "knowledge_base"
T = TypeVar("T")


class FixHistoryWarning(UserWarning):
    """Something of an attempt was not kept as it was given; the attempt itself was."""


def learned_knowledge(learned: FixKnowledge) -> dict[str, Any]:
    """What the attempts teach, in the shape of a knowledge base."""
    tips = {
        model: [
            f"{_line(each.text)} (worked {each.verified} of {counted(each.attempts, 'time')})"
            for each in learned.tips.get(model, [])
        ]
        + [
            f"{_line(issue)} came up {counted(attempts, 'time')}, {verified} of them fixed"
            for issue, attempts, verified in learned.issues.get(model, [])
        ]
        for model in {**learned.tips, **learned.issues}
    }
    return {
        PATTERNS: _named(
            (
                row.pattern_name,
                {
                    "issue_signature": row.issue_signature,
                    "success_count": row.success_count,
                    "failure_count": row.failure_count,
                    "success_rate": round(
                        row.success_count / max(1, row.success_count + row.failure_count), 3
                    ),
                    "confidence_score": row.confidence_score,
                    "best_fix": _cleaned(read_json(row.best_fix or "null", row.best_fix)),
                    "last_seen": row.last_seen,
                },
            )
            for row in learned.patterns
        ),
        "model_specific_tips": _named(tips.items()),
        "successful_strategies": _by_type(learned.strategies, lambda each: _line(each.text)),
        "failure_patterns": _by_type(
            learned.failures,
            lambda each: (
                f"{_line(each.text)} (tried {counted(each.attempts, 'time')}, never verified to work)"
            ),
        ),
        "version": VERSION,
    }


def _by_type(
    found: Mapping[str, Iterable[CountedStrategy]], say: Callable[[CountedStrategy], str]
) -> dict[str, list[str]]:
    return _named(
        (issue_type, list(dict.fromkeys(map(say, strategies))))
        for issue_type, strategies in found.items()
    )


def _named(found: Iterable[tuple[str, T]]) -> dict[str, T]:
    """By names in which nothing is hidden. Where one only looked like another, the more frequent
    stays, which comes first.
    """
    named: dict[str, T] = {}
    for name, value in found:
        named.setdefault(clean_line(name, limits.NAME_CHARS_MAX) or "unknown", value)
    return named


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    return _line(value) if isinstance(value, str) else value


def _line(text: str) -> str:
    """What was recorded is for a fixer's prompt: it stays a line that holds nothing but what is
    seen.
    """
    return clean_line(text, limits.KNOWLEDGE_TEXT_CHARS_MAX, begins_line=False)


def shaped(knowledge: Mapping[str, Any]) -> dict[str, Any]:
    """A knowledge base of others, in which a section may be a list: of no certain issue type, model
    or pattern.
    """
    return {
        name: ({"any": value} if value else {})
        if name in SECTIONS and isinstance(value, list)
        else value
        for name, value in knowledge.items()
    }


# --- what is said ---


def statements_of(knowledge: Mapping[Any, Any]) -> Statements:
    """Everything a knowledge base says, in its order. When it was last updated is nothing that it
    says.
    """
    found: Statements = {}
    for section, value in list(knowledge.items()):
        if section == "last_updated":
            continue
        if section not in SECTIONS or not isinstance(value, Mapping):
            found[(section,)] = value
            continue
        for key, inner in list(value.items()):
            if section in LISTS and isinstance(inner, list):
                found |= {(section, key, _mark(item)): item for item in list(inner)}
            elif section == PATTERNS and isinstance(inner, Mapping):
                found |= {(section, key, field): figure for field, figure in list(inner.items())}
            else:
                found[section, key] = inner
    return found


def knowledge_of(found: Statements) -> dict[str, Any]:
    """A knowledge base that says this. Where a caller put something else than an object or a list,
    what would be in it is left out.
    """
    knowledge: dict[str, Any] = {section: {} for section in SECTIONS}
    for path, value in found.items():
        place: Any = knowledge
        for depth, part in enumerate(path[:-1]):
            new: Any = [] if depth and path[0] in LISTS else {}
            place = place.setdefault(part, new) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place[path[-1]] = value
        elif isinstance(place, list):
            place.append(value)
    return knowledge


def wording(found: Statements) -> set[str]:
    """The texts of it, without the figures that every attempt changes: what somebody may want
    gone.
    """
    texts: set[str] = set()
    for path, value in found.items():
        texts.update(str(part) for part in path[:2])
        if path[0] in LISTS and len(path) == 3 and isinstance(value, str):
            texts.add(_COUNTED.sub("", value))
        elif path[0] != PATTERNS or len(path) != 3:
            texts.add(json.dumps(value, sort_keys=True, default=str))
        elif path[2] == "best_fix" and isinstance(value, Mapping):
            texts.add(json.dumps({**value, "verified": None}, sort_keys=True, default=str))
        elif isinstance(value, str) and path[2] != "last_seen":
            texts.add(value)
    return texts


def beyond(found: Statements, given: Statements) -> Statements:
    """What is said that was not given, or was given otherwise."""
    nothing = object()
    return {
        path: value
        for path, value in found.items()
        if not _same(given.get(path, nothing), value) and (path, value) != (("version",), VERSION)
    }


def merged(base: Statements, mine: Statements, theirs: Statements) -> Statements:
    """Theirs, with what I added to the base and without what I took out of it."""
    taken_out = base.keys() - mine.keys()
    return {path: value for path, value in theirs.items() if path not in taken_out} | beyond(
        mine, base
    )


def check(found: Statements, field: str = "knowledge_base") -> None:
    """Raises where something cannot be kept, and names it."""
    for path, value in found.items():
        where = ".".join([field, *(str(part) for part in path[:2])])
        check_that(
            all(isinstance(part, str) for part in path), where, path[-1], "keys that are text"
        )
        if len(path) == 1 and path[0] in SECTIONS:
            raise InvalidInputError.one(where, value, "an object by issue type, model or pattern")
        try:
            check_json([*path[:2], value])
        except PydanticCustomError as error:
            raise InvalidInputError.one(where, value, error.message()) from None
    size = len(json.dumps(list(found.values())).encode())
    check_that(
        size <= limits.KNOWLEDGE_ADDED_BYTES_MAX,
        field,
        f"{size} bytes",
        f"at most {limits.KNOWLEDGE_ADDED_BYTES_MAX} bytes of additions",
    )


def _mark(item: Any) -> str:
    """Tells the items of a list apart. Two that say the same are one."""
    if isinstance(item, str):
        return item
    try:
        return "\0=" + json.dumps(item, sort_keys=True)  # no text that can be kept begins so
    except (TypeError, ValueError, RecursionError):
        return f"\0?{id(item)}"  # nothing that could be kept: `check` says so


def _same(one: Any, other: Any) -> bool:
    """Of other values than texts and numbers, what they are told apart by: what a caller put in may
    not be fit to be compared.
    """
    if type(one) is not type(other) or type(one) in (str, int, float):  # as nearly all are
        return type(one) is type(other) and bool(one == other)
    return _mark(one) == _mark(other)


# --- in place ---


def _become(
    part: dict[str, Any], then: Mapping[str, Any], now: Mapping[str, Any], section: str = ""
) -> None:
    """Has a knowledge base, or a part of a section of it, say what it is to say now in place of what
    it said then. Objects and lists that somebody may hold go on being its parts, lists also when
    they are emptied; and what was added to them since stays.
    """
    for name in {**then, **now}:
        was, said, value = part.get(name), then.get(name), now.get(name)
        if section in LISTS and isinstance(was, list) and isinstance(value, list | None):
            if not _same(said, value):  # in one step: others may append meanwhile
                was[: len(said or ())] = deepcopy(value or [])
        elif (
            (section == PATTERNS or name in SECTIONS)
            and isinstance(was, dict)
            and isinstance(said, dict)
            and isinstance(value, dict)
        ):
            _become(was, said, value, section or name)
        elif name not in now:
            part.pop(name, None)
        elif name not in part or not _same(said, value):
            part[name] = deepcopy(value)


class KnowledgeBase(dict[str, Any]):
    """`general_patterns`, `model_specific_tips`, `successful_strategies`, `failure_patterns`,
    `version`, `last_updated`. Keys of your own are kept. A plain dict to read and to add to;
    `AIMemory` brings it up to date and keeps what was added.
    """

    def __init__(self) -> None:
        super().__init__({section: {} for section in SECTIONS}, version=VERSION, last_updated="")

    def show(self, before: Statements, after: Statements, at: str) -> None:
        """Says this in place of what it said before. Parts that somebody holds go on being its
        parts, and what others add meanwhile stays.
        """
        _become(self, knowledge_of(before), knowledge_of(after))
        if beyond(after, before) or before.keys() - after.keys() or not self.get("last_updated"):
            self["last_updated"] = at

    def to_json(self) -> str:
        """On one line; what JSON cannot hold, as text."""
        return json.dumps(self, ensure_ascii=False, default=str, skipkeys=True)


# --- where it is kept ---

# Those whose file says less than the memory knows, each with its process. Who never closes is
# finished when the process ends; a fork has nothing to do with it.
_behind: Final[dict[KnowledgeFile, int]] = {}


@atexit.register
def _finish_all() -> None:
    for each in list(_behind):
        each.finish()


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
        self._database = Path(memory.location)
        self._path = (folder / KNOWLEDGE_BASE_NAME).resolve()  # a link to it stays one
        self._written = folder / f".{KNOWLEDGE_BASE_NAME}.written"
        self._learned, self._version, self._now = learned, version, memory._project.now
        self._adopted = memory.fixes.history.adopted
        self._guard = threading.RLock()
        self._saved: Statements = {}
        self._given: Statements = {}
        self._seen: object = None
        self._in_files: tuple[object, set[str]] = (None, set())
        self._writes, self._rests_until = 0, 0.0

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

    def _bring_up_to_date(self) -> tuple[Statements, list[Adopted]]:
        """Returns what callers added, here and elsewhere, and where that is kept."""
        live = [record for record in self._adopted() if _knowledge_in(record)]
        own, others = (  # of callers, and of others whose knowledge bases were adopted
            [record for record in live if (record.metadata.source.author == AUTHOR) == is_own]
            for is_own in (True, False)
        )
        stored: Statements = {}
        for record in own:  # what several saved at the same time; where they differ, the newest
            stored = {**statements_of(_knowledge_in(record)), **stored}
        snapshot = statements_of(self.knowledge)
        here = beyond(snapshot, self._given)
        self._given = statements_of(learned_knowledge(self._learned()))
        for record in others[: limits.LOOKED_INTO_MAX]:
            self._given = {**statements_of(_knowledge_in(record)), **self._given}
        added = merged(self._saved, here, stored)
        self._show(snapshot, added)
        self._saved = stored
        return added, own

    def _show(self, snapshot: Statements, added: Statements) -> None:
        self.knowledge.show(snapshot, {**self._given, **added}, self._now().isoformat())

    # --- saving ---

    def save(self) -> None:
        """Keeps what was added, and writes the file. What cannot be kept raises, and everything
        stays as it is.
        """
        with self._guard, lock_file(self._path, self._database) as held:
            sections = {name: self.knowledge.get(name) for name in SECTIONS}
            self.knowledge.update(
                shaped({name: part for name, part in sections.items() if isinstance(part, list)})
            )
            check(beyond(statements_of(self.knowledge), self._given))
            added, own = self._bring_up_to_date()
            content, (digests, before) = held.read(), self._last_written()
            if content is not None and _digest(content) not in digests:  # somebody edited it
                edited = _parsed(content)
                if edited is None:
                    _warn(
                        f"{self._path} is not a knowledge base as JSON: it was kept as "
                        f"{held.set_aside().name} in the same folder"
                    )
                    content = None
                else:
                    added = beyond(
                        merged(statements_of(before), statements_of(edited), added), self._given
                    )
                    check(added, KNOWLEDGE_BASE_NAME)
                    self._show(statements_of(self.knowledge), added)
            self._saved = self._keep(added, own)
            self._write(held, {**self._given, **self._saved}, content)
            self._seen = None  # this very save changed the memory

    def follow(self) -> None:
        """After an attempt: the file says what it taught. Where attempts come faster than that can
        be written, what is left is written when the memory is closed, or the process ends.
        """
        if self._writes >= limits.KNOWLEDGE_WRITES_FREE and time.monotonic() < self._rests_until:
            _behind[self] = os.getpid()
        else:
            self.catch_up()

    def catch_up(self) -> None:
        began = time.monotonic()
        _behind.pop(self, None)
        try:
            self.save()
        except HardwonError as error:
            _warn(f"{self._path} could not be brought up to date: {error}")
        took, self._writes = time.monotonic() - began, self._writes + 1
        self._rests_until = began + took * limits.KNOWLEDGE_WRITE_RESTS

    def finish(self) -> None:
        """Before the memory is closed."""
        if _behind.get(self) == os.getpid():
            self.catch_up()

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
        written = stamp_of(self._written)
        database = (stamp_of(Path(f"{self._database}{suffix}")) for suffix in ("", "-wal"))
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
        return _without_secrets(json.loads(self.refresh().to_json()))

    def _keep(self, added: Statements, own: Sequence[Adopted]) -> Statements:
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
                    context=Moment(timestamp=self._now()),
                ),
            )
            self._memory.care.take_in([record], by=AUTHOR)
            for earlier in replaced:
                self._memory.supersede(
                    earlier, record.id, "the knowledge base was saved again", AUTHOR
                )
        return statements_of(data)

    # --- the file ---

    def _clear_files(self) -> None:
        """Where they have a text that the memory has no longer (it was forgotten, say), they are
        written again, with what was saved. What somebody edited is taken in first, when the memory
        is next opened or saved.
        """
        stamps = stamp_of(self._path), stamp_of(self._written)
        if stamps != self._in_files[0] or stamps[1] is None:
            before = self._last_written()[1]
            found = (_parsed(_content(self._path) or b"") or {}) if before else {}
            self._in_files = stamps, wording(statements_of(before)) | wording(statements_of(found))
        everything, texts = {**self._given, **self._saved}, self._in_files[1]
        # Some of what was learned may stand in the files without its secrets.
        if texts <= wording(everything) or texts <= wording(
            statements_of(_without_secrets(knowledge_of(everything)))
        ):
            return
        try:
            with lock_file(self._path, self._database) as held:
                content = held.read()
                if content is None:
                    files.remove(self._written)
                elif _digest(content) in self._last_written()[0]:
                    self._write(held, everything, content)
        except HardwonError as error:
            _warn(f"{self._path} may hold texts that the memory does not have any more: {error}")

    def _last_written(self) -> tuple[list[str], dict[str, Any]]:
        """The digests of what the file may hold, and what was written last."""
        found = _parsed(_content(self._written) or b"") or {}
        digests, before = found.get("digests"), found.get(_KEY)
        return (
            digests if isinstance(digests, list) else [],
            before if isinstance(before, dict) else {},
        )

    def _write(self, held: LockedFile, everything: Statements, before: bytes | None) -> None:
        """`before` is what the file holds."""
        whole = _without_secrets(
            {**knowledge_of(everything), "last_updated": self.knowledge["last_updated"]}
        )
        content = json.dumps(whole, indent=2).encode()  # as fix history has always written it
        # Before the file itself: between the two it is what it was, which is no edit either.
        digests = [_digest(content), *([] if before is None else [_digest(before)])]
        # of somebody who was killed
        files.remove(*self._written.parent.glob(f".{self._written.name}.*.part"))
        with files.writing_atomically(self._written, like=self._database) as file:
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


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    """What tells that a file was written to: time, size and number; None where there is none."""
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
