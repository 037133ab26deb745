"""The knowledge base of fix history: a dict that fills itself from what was learned, and that
callers add to. No I/O.

A knowledge base is looked at as a set of things that it says (`said`), a strategy of an issue type,
a figure of a pattern, each under a path of its own. So what a caller added is what is said beyond
what was learned, and what several wrote comes together without loss.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, Final, TypeVar

from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import InvalidInputError, ask_foreign
from hardwon.fixes.tables import CountedStrategy, FixKnowledge, PatternRow
from hardwon.records.fields import check_json, read_json
from hardwon.text.clean import clean_line

PATTERNS: Final = "general_patterns"
# sentences by model or issue type
LISTS: Final = ("model_specific_tips", "successful_strategies", "failure_patterns")
SECTIONS: Final = (PATTERNS, *LISTS)
VERSION: Final = "1.0"
ANY: Final = "any"
_COUNTED: Final = re.compile(
    r" (?:\((?:worked|tried) [^()]*\)|came up \d+ times?, \d+ of them fixed)$"
)

Path = tuple[str, ...]
Statements = dict[Path, Any]
T = TypeVar("T")


def learned_knowledge(learned: FixKnowledge) -> dict[str, Any]:
    """What the attempts teach, in the shape of a knowledge base."""
    tips = {
        model: [
            f"{_line(each.text)} (worked {each.verified} of {_times(each.attempts)})"
            for each in learned.tips.get(model, [])
        ]
        + [
            f"{_line(issue)} came up {_times(attempts)}, {verified} of them fixed"
            for issue, attempts, verified in learned.issues.get(model, [])
        ]
        for model in {**learned.tips, **learned.issues}
    }
    return {
        PATTERNS: _named((row.pattern_name, _figures(row)) for row in learned.patterns),
        "model_specific_tips": _named(tips.items()),
        "successful_strategies": _by_type(learned.strategies, lambda each: _line(each.text)),
        "failure_patterns": _by_type(
            learned.failures,
            lambda each: (
                f"{_line(each.text)} (tried {_times(each.attempts)}, never verified to work)"
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


def _figures(row: PatternRow) -> dict[str, Any]:
    attempts = row.success_count + row.failure_count
    return {
        "issue_signature": row.issue_signature,
        "success_count": row.success_count,
        "failure_count": row.failure_count,
        "success_rate": round(row.success_count / attempts, 3) if attempts else 0.0,
        "confidence_score": row.confidence_score,
        "best_fix": _cleaned(read_json(row.best_fix or "null", row.best_fix)),
        "last_seen": row.last_seen,
    }


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
    return clean_line(text, limits.KNOWLEDGE_TEXT_CHARS_MAX)


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times"


def shaped(knowledge: Mapping[str, Any]) -> dict[str, Any]:
    """A knowledge base of others, in which a section may be a list: of no certain issue type, model
    or pattern.
    """
    return {
        name: ({ANY: value} if value else {})
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
    """A knowledge base that says this."""
    knowledge: dict[str, Any] = {section: {} for section in SECTIONS}
    for path, value in found.items():
        _put(knowledge, path, value)
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
        if not all(isinstance(part, str) for part in path):
            raise InvalidInputError.one(where, path[-1], "keys that are text")
        if len(path) == 1 and path[0] in SECTIONS:
            raise InvalidInputError.one(where, value, "an object by issue type, model or pattern")
        try:
            check_json([*path[:2], value])
        except PydanticCustomError as error:
            raise InvalidInputError.one(where, value, error.message()) from None
    size = len(json.dumps(list(found.values())).encode())
    if size > limits.KNOWLEDGE_ADDED_BYTES_MAX:
        raise InvalidInputError.one(
            field, f"{size} bytes", f"at most {limits.KNOWLEDGE_ADDED_BYTES_MAX} bytes of additions"
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
    return ask_foreign(lambda: type(one) is type(other) and bool(one == other), one is other)


# --- in place ---


def _put(knowledge: dict[str, Any], path: Path, value: Any) -> None:
    place: Any = knowledge
    for part in path[:-1]:
        if not isinstance(place, dict):
            return  # a caller put something else there: it stays until it is corrected
        of_items = place is not knowledge and path[0] in LISTS
        place = place.setdefault(part, [] if of_items else {})
    if isinstance(place, dict):
        place[path[-1]] = deepcopy(value)
    elif isinstance(place, list) and len(path) == 3 and path[2] not in map(_mark, place):
        place.append(deepcopy(value))


def _take_out(knowledge: dict[str, Any], path: Path) -> None:
    outer: Any = None
    place: Any = knowledge
    for part in path[:-1]:
        outer, place = place, place.get(part) if isinstance(place, dict) else None
    if isinstance(place, dict):
        place.pop(path[-1], None)
        if len(path) == 3 and not place:  # an emptied list stays: whoever holds it may add to it
            outer.pop(path[1], None)
    elif isinstance(place, list) and len(path) == 3:
        marks = [_mark(item) for item in place]
        if path[2] in marks:
            del place[marks.index(path[2])]


def _arrange(items: list[Any], wanted: list[str]) -> None:
    """What was learned first. One item at a time: what another thread appends meanwhile stays."""
    for place, mark in enumerate(wanted):
        marks = [_mark(item) for item in items]
        if mark in marks and marks.index(mark) != place:
            items.insert(place, items.pop(marks.index(mark)))


def _listed(found: Statements) -> dict[tuple[str, str], list[str]]:
    """The marks of each list, in their order."""
    lists: dict[tuple[str, str], list[str]] = {}
    for section, key, mark in (path for path in found if len(path) == 3 and path[0] in LISTS):
        lists.setdefault((section, key), []).append(mark)
    return lists


class KnowledgeBase(dict[str, Any]):
    """`general_patterns`, `model_specific_tips`, `successful_strategies`, `failure_patterns`,
    `version`, `last_updated`. Keys of your own are kept. A plain dict to read and to add to;
    `AIMemory` brings it up to date and keeps what was added.
    """

    def __init__(self) -> None:
        super().__init__({section: {} for section in SECTIONS}, version=VERSION, last_updated="")
        self._given: Statements = {}

    def added(self, snapshot: Statements) -> Statements:
        """What it said at that moment and was not learned."""
        return beyond(snapshot, self._given)

    def show(self, snapshot: Statements, given: Statements, added: Statements, at: str) -> None:
        """Says what was learned (`given`) and what callers `added`, in place of what it said when
        the snapshot was taken. Parts that somebody holds go on being its parts, and what others add
        meanwhile stays.
        """
        after = {**given, **added}
        gone = [path for path in snapshot if path not in after and path != ("version",)]
        changed = [
            path
            for path, value in after.items()
            if path not in snapshot or not _same(snapshot[path], value)
        ]
        for path in sorted(gone, key=len):  # what stands where a list is to be goes first
            _take_out(self, path)
        for path in changed:
            _put(self, path, after[path])
        for section in SECTIONS:
            self.setdefault(section, {})
        self.setdefault("version", VERSION)
        shown = _listed(snapshot)
        for (section, key), marks in _listed(after).items():
            items = self[section].get(key) if isinstance(self[section], dict) else None
            if shown.get((section, key)) != marks and isinstance(items, list):
                _arrange(items, marks)
        if changed or gone or not self.get("last_updated"):
            self["last_updated"] = at
        self._given = given

    def to_json(self) -> str:
        """On one line; what JSON cannot hold, as text."""
        return json.dumps(self, ensure_ascii=False, default=str, skipkeys=True)

    def snapshot(self) -> dict[str, Any]:
        """A copy that no other thread changes, of what JSON can hold."""
        copied: dict[str, Any] = json.loads(self.to_json())
        return copied
