"""The knowledge base of fix history: a dict that fills itself from what was learned, and that
callers add to.

What callers added is one record of the memory: one source's word, that nobody verified.
`knowledge_base.json` is written after every attempt and every save, for people and programs to
read. What somebody else put into it since, as its checksum tells, is read when the knowledge base
is used or saved.
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
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic_core import PydanticCustomError, from_json

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError
from hardwon.fixes.tables import CountedStrategy, FixKnowledge
from hardwon.lessons.adopted import FIX_HISTORY
from hardwon.memory import Memory
from hardwon.memory.tallies import LOOKED_INTO_MAX
from hardwon.outside import files
from hardwon.outside.files import LockedFile, lock_file
from hardwon.records.fields import check_json, check_that, derived_id, read_json
from hardwon.records.kinds import Adopted, Metadata, Moment, Source
from hardwon.text.clean import clean_line
from hardwon.text.terms import say_count
from hardwon.trust.redact import redact_json

# One learned sentence of a knowledge base: a handful of commands.
KNOWLEDGE_TEXT_CHARS_MAX: Final = 1_000

# What a caller added to a knowledge base, as JSON: it is kept as one record. An original file has
# some kilobytes.
KNOWLEDGE_ADDED_BYTES_MAX: Final = 2 * limits.MIB

# How much of a memory's own `knowledge_base.json` is read: with all that can be adopted, and
# indented, none is larger.
KNOWLEDGE_FILE_BYTES_MAX: Final = 128 * limits.MIB

AUTHOR: Final = "knowledge base"  # whose word it is what callers put into one
_CHECKSUM: Final = "checksum"
# How sentences end that every attempt changes: they are nobody's addition.
_FIGURES: Final = re.compile(
    r" (?:\((?:worked|tried) [^()]*\)|came up \d+ times?, \d+ of them fixed)$"
)


# After a write, the file rests so many times as long as that took.
_RESTS: Final = 20
# Those whose file says less than the memory knows. A fork has nothing to do with them.
_behind: Final[set[KnowledgeFile]] = set()
os.register_at_fork(after_in_child=_behind.clear)

KNOWLEDGE_BASE_NAME: Final = "knowledge_base.json"
PATTERNS: Final = "general_patterns"
# sentences by model or issue type
LISTS: Final = ("model_specific_tips", "successful_strategies", "failure_patterns")
KEY: Final = "knowledge_base"  # in the records that keep one
SECTIONS: Final = (PATTERNS, *LISTS)
VERSION: Final = "1.0"
T = TypeVar("T")


def learned_knowledge(learned: FixKnowledge) -> dict[str, Any]:
    """What the attempts teach, in the shape of a knowledge base."""
    tips: dict[str, list[str]] = {}
    for model in {**learned.tips, **learned.issues}:
        tips[model] = [
            f"{clean_text(tip.text)} (worked {tip.verified} of {say_count(tip.attempts, 'time')})"
            for tip in learned.tips.get(model, [])
        ]
        for issue, attempts, verified, *_ in learned.issues.get(model, []):
            often = f"came up {say_count(attempts, 'time')}, {verified} of them fixed"
            tips[model].append(f"{clean_text(issue)} {often}")
    patterns = {
        name: {
            "issue_signature": signature,
            "success_count": good,
            "failure_count": bad,
            "success_rate": round(good / max(1, good + bad), 3),
            "confidence_score": confidence,
            "best_fix": _clean_value(read_json(best or "null", best)),
            "last_seen": last_seen,
        }
        for name, signature, good, bad, last_seen, confidence, best in learned.patterns
    }
    never = " (tried {}, never verified to work)"
    return {
        PATTERNS: _keep_names(patterns),
        "model_specific_tips": _keep_names(tips),
        "successful_strategies": _by_type(learned.strategies),
        "failure_patterns": _by_type(learned.failures, never),
        "version": VERSION,
    }


def _by_type(
    strategies: Mapping[str, Iterable[CountedStrategy]], figures: str = ""
) -> dict[str, list[str]]:
    """What was done, in words, by issue type; `figures` stand after each."""
    by_type: dict[str, list[str]] = {}
    for issue_type, done in strategies.items():
        texts = (
            clean_text(one.text) + figures.format(say_count(one.attempts, "time")) for one in done
        )
        by_type[issue_type] = list(dict.fromkeys(texts))
    return _keep_names(by_type)


def _keep_names(values: Mapping[str, T]) -> dict[str, T]:
    """By names in which nothing is hidden. Where one only looked like another, the more frequent
    stays, which comes first.
    """
    named: dict[str, T] = {}
    for name, value in values.items():
        named.setdefault(clean_line(name, limits.NAME_CHARS_MAX) or "unknown", value)
    return named


def _clean_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean_value(inner) for inner in value]
    return clean_text(value) if isinstance(value, str) else value


def clean_text(text: str) -> str:
    """What was recorded is for a fixer's prompt: it stays a line that holds nothing but what is
    seen.
    """
    return clean_line(text, KNOWLEDGE_TEXT_CHARS_MAX, begins_line=False)


class KnowledgeBase(dict[str, Any]):
    """`general_patterns`, `model_specific_tips`, `successful_strategies`, `failure_patterns`,
    `version`, `last_updated`. Keys of your own are kept. A plain dict to read and to add to;
    `AIMemory` brings it up to date and keeps what was added.
    """

    def __init__(self) -> None:
        super().__init__({section: {} for section in SECTIONS}, version=VERSION, last_updated="")

    def to_json(self) -> str:
        """On one line; what JSON cannot hold, as text."""
        return json.dumps(self, ensure_ascii=False, default=str, skipkeys=True)


# What a knowledge base says beyond another is a part of it, in the same shape. So what a caller added
# is what is there beyond what was learned, and what several wrote comes together without loss.


def beyond(whole: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """What `whole` has that is not in `known`, or is something else there: of objects their parts,
    of lists their items.
    """
    more: dict[str, Any] = {}
    for name, value in whole.items():
        other = known.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            value = beyond(value, other)
        elif isinstance(value, list) and isinstance(other, list):
            value = [item for item in value if item not in other]
        elif type(value) is type(other) and value == other:
            continue
        if value or not isinstance(value, dict | list):
            more[name] = value
    return more


def join_knowledge(known: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both together; where they differ, what the second says."""
    both = dict(known)
    for name, value in more.items():
        other = known.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            both[name] = join_knowledge(other, value)
        elif isinstance(value, list) and isinstance(other, list):
            both[name] = [*other, *(item for item in value if item not in other)]
        else:
            both[name] = value
    return both


def merge_knowledge(
    base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any]
) -> dict[str, Any]:
    """Theirs, with what I added to the base and without what I took out of it."""
    return join_knowledge(beyond(theirs, beyond(base, mine)), beyond(mine, base))


def renew(part: dict[str, Any], now: Mapping[str, Any]) -> None:
    """Has a knowledge base say this. Its objects and lists, which somebody may hold, go on being its
    parts.
    """
    for name in part.keys() - now.keys():
        del part[name]
    for name, value in now.items():
        held = part.get(name)
        if isinstance(held, dict) and isinstance(value, dict):
            renew(held, value)
        elif isinstance(held, list) and isinstance(value, list):
            held[:] = value
        else:
            part[name] = value


def shape_knowledge(knowledge: Mapping[str, Any]) -> dict[str, Any]:
    """A knowledge base of others, in which a section may be a list: of no certain issue type, model
    or pattern.
    """
    lists = {name for name in SECTIONS if isinstance(knowledge.get(name), list)}
    some = {name: {"any": knowledge[name]} if knowledge[name] else {} for name in lists}
    return {**knowledge, **some}


def check(added: Mapping[str, Any], field: str = KEY) -> None:
    """Raises where something cannot be kept, and names it."""
    for name, value in added.items():
        where = f"{field}.{name}"[: limits.NAME_CHARS_MAX]
        is_object = isinstance(value, dict) or name not in SECTIONS
        check_that(is_object, where, value, "an object by issue type, model or pattern")
        try:
            check_json([name, value])
        except PydanticCustomError as error:
            raise InvalidInputError.one(where, value, error.message()) from None
    size = len(json.dumps(added).encode())
    most = KNOWLEDGE_ADDED_BYTES_MAX
    check_that(size <= most, field, f"{size} bytes", f"at most {most} bytes of additions")


def knowledge_record(
    knowledge: dict[str, Any], source: Source, at: datetime, *instead_of: str
) -> Adopted:
    """The record that keeps a knowledge base, or what a caller added to one. Its id is also that of
    the records that it takes the place of: who comes back to what was said before says it anew.
    """
    text = json.dumps(knowledge, sort_keys=True)
    return Adopted(
        id=derived_id(FIX_HISTORY, KEY, source.author, text, *instead_of),
        origin=FIX_HISTORY,
        data={KEY: knowledge},
        metadata=Metadata(source=source, context=Moment(timestamp=at)),
    )


@atexit.register
def _finish_all() -> None:
    for keeper in list(_behind):
        keeper.finish()


class FixHistoryWarning(UserWarning):
    """Something of an attempt was not kept as it was given; the attempt itself was."""


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
        self._learned, self._version, self._now = learned, version, memory._project.now
        self._guard = threading.RLock()
        # what was learned, and what others told
        self._given: dict[str, Any] = {"version": VERSION}
        self._saved: dict[str, Any] = {}  # what callers added, as the memory keeps it
        self._seen: object = None
        self._rests_until = 0.0

    def refresh(self) -> KnowledgeBase:
        """The knowledge base, with what was learned, and what others saved or put into the file
        since.
        """
        with self._guard:
            seen = self._version(), read_stamp(self._path)
            if seen[0] is None or seen != self._seen:
                added, _ = self._bring_up_to_date()
                try:
                    self._take_in(_content(self._path), added)
                    self._seen = seen
                except HardwonError as error:
                    _warn(f"{self._path} was left as it is: {error}")
            return self.knowledge

    def replace(self, knowledge: Mapping[str, Any]) -> None:
        """As if the caller had taken out what was there and put this in. What was learned comes
        back with the next refresh.
        """
        with self._guard:
            self.knowledge.clear()
            self.knowledge.update(knowledge)
            self._seen = None

    def save(self) -> None:
        """Keeps what was added, and writes the file. What cannot be kept raises, and everything
        stays as it is.
        """
        with self._guard, lock_file(self._path, self._database) as held:
            self.knowledge.update(shape_knowledge(self.knowledge))
            check(self._additions())
            added, own = self._bring_up_to_date()
            content = held.read()
            if content is not None and _parse(content) is None:
                _warn(
                    f"{self._path} is not a knowledge base as JSON: it was kept as "
                    f"{held.set_aside().name} in the same folder"
                )
            self._saved = self._keep(self._take_in(content, added), own)
            self._write(held)
            self._seen = None  # this very save changed the memory

    def follow(self) -> None:
        """After an attempt: the file says what it taught. Where attempts come faster than that can
        be written, what is left is written when the memory is closed, or the process ends.
        """
        began = time.monotonic()
        if began < self._rests_until:
            _behind.add(self)
            return
        _behind.discard(self)
        try:
            self.save()
        except HardwonError as error:
            _warn(f"{self._path} could not be brought up to date: {error}")
        ended = time.monotonic()
        self._rests_until = ended + (ended - began) * _RESTS

    def finish(self) -> None:
        """Before the memory is closed."""
        if self in _behind:
            self._rests_until = 0.0
            self.follow()

    def export(self) -> dict[str, Any]:
        """A copy to hand on. The dict itself holds what callers put in, and that may be a
        secret.
        """
        return _without_secrets(json.loads(self.refresh().to_json()))

    def _additions(self) -> dict[str, Any]:
        additions = beyond(self.knowledge, self._given)
        additions.pop("last_updated", None)
        return deepcopy(additions)

    def _bring_up_to_date(self) -> tuple[dict[str, Any], list[Adopted]]:
        """Has the knowledge base say what was learned and what was saved since, beside what was
        added to it here. Returns what callers added, here and elsewhere, and where that is kept.
        """
        known = self._memory._project.knowledge.adopted(FIX_HISTORY, limits.SHOWN_MAX)
        adopted = [record for record in known if _told_in(record)]
        own = [record for record in adopted if record.metadata.source.author == AUTHOR]
        here, stored = self._additions(), dict[str, Any]()
        for record in own:  # what several saved at the same time; where they differ, the newest
            stored = join_knowledge(_told_in(record), stored)
        self._given = learned_knowledge(self._learned())
        others = [record for record in adopted if record not in own]
        for record in others[:LOOKED_INTO_MAX]:
            self._given = join_knowledge(_told_in(record), self._given)
        added = merge_knowledge(self._saved, here, stored)
        self._show(added)
        self._saved = stored
        return added, own

    def _show(self, added: Mapping[str, Any]) -> None:
        before = self.knowledge.to_json()
        last = {"last_updated": self.knowledge.get("last_updated", "")}
        renew(self.knowledge, deepcopy({**join_knowledge(self._given, added), **last}))
        if self.knowledge.to_json() != before or not last["last_updated"]:
            self.knowledge["last_updated"] = self._now().isoformat()

    def _take_in(self, content: bytes | None, added: dict[str, Any]) -> dict[str, Any]:
        """Has the knowledge base say, beside what was `added`, what somebody else put into the file;
        returns both. A figure of ours is no addition.
        """
        there = _parse(content or b"")
        if there is None or there.pop(_CHECKSUM, None) == _checksum(there):
            return added
        there.pop("last_updated", None)
        edits = _without_figures(beyond(there, self._given))
        check(edits, KNOWLEDGE_BASE_NAME)
        both = join_knowledge(added, edits)
        self._show(both)
        return both

    def _keep(self, added: dict[str, Any], own: list[Adopted]) -> dict[str, Any]:
        """Puts a record of what callers added in place of those before it. Returns what it says."""
        data = _without_secrets(added)
        if len(own) > 1 or (_told_in(own[0]) if own else {}) != data:
            replaced = sorted(record.id for record in own)
            record = knowledge_record(data, Source(author=AUTHOR), self._now(), *replaced)
            self._memory.care.take_in([record], by=AUTHOR)
            reason = "the knowledge base was saved again"
            for earlier in replaced:
                self._memory.supersede(earlier, record.id, reason, AUTHOR)
        return data

    def _write(self, held: LockedFile) -> None:
        """Has the file say all but what was not saved, and secrets."""
        last = {"last_updated": self.knowledge["last_updated"]}
        whole = _without_secrets({**join_knowledge(self._given, self._saved), **last})
        whole[_CHECKSUM] = _checksum(whole)
        held.write(json.dumps(whole, indent=2).encode())  # as fix history has always written it


def _told_in(record: Adopted) -> dict[str, Any]:
    """The knowledge base that a record keeps."""
    data = record.data.get(KEY) if record.origin == FIX_HISTORY else None
    return shape_knowledge(data) if isinstance(data, dict) else {}


def _without_figures(value: Any) -> Any:
    """Without the learned parts of an earlier time, and what is empty without them."""
    if isinstance(value, list):
        return [item for item in value if not (isinstance(item, str) and _FIGURES.search(item))]
    if not isinstance(value, dict):
        return value
    if "success_count" in value:
        return {}
    parts = {name: _without_figures(part) for name, part in value.items()}
    return {name: part for name, part in parts.items() if part not in ({}, [])}


def _without_secrets(knowledge: dict[str, Any]) -> dict[str, Any]:
    cleaned = redact_json(knowledge)[0]
    assert isinstance(cleaned, dict)  # noqa: S101  # for type checkers: an object stays one
    return cleaned


def _checksum(knowledge: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(knowledge, sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> bytes | None:
    """What is in a regular file; None where there is none, or it cannot be read."""
    try:
        return files.read_regular(path, KNOWLEDGE_FILE_BYTES_MAX)
    except (OSError, PlaceError):
        return None


def read_stamp(path: Path) -> tuple[int, int, int] | None:
    """What tells that a file was written to: time, size and number; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _parse(content: bytes) -> dict[str, Any] | None:
    try:
        knowledge = from_json(content, allow_inf_nan=False)
    except ValueError:
        return None
    return shape_knowledge(knowledge) if isinstance(knowledge, dict) else None


def _warn(message: str) -> None:
    warnings.warn(message, FixHistoryWarning, stacklevel=4)
