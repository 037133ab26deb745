"""The knowledge base of fix history: a dict that fills itself from what was learned, and that
callers add to. Where it is kept is `knowledge_file`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.fixes.tables import CountedStrategy, FixKnowledge
from hardwon.lessons.adopted import FIX_HISTORY
from hardwon.records.fields import check_json, check_that, derived_id, read_json
from hardwon.records.kinds import Adopted, Metadata, Moment, Source
from hardwon.text.clean import clean_line
from hardwon.text.terms import counted

# One learned sentence of a knowledge base: a handful of commands.
KNOWLEDGE_TEXT_CHARS_MAX: Final = 1_000

# What a caller added to a knowledge base, as JSON: it is kept as one record. An original file has
# some kilobytes.
KNOWLEDGE_ADDED_BYTES_MAX: Final = 2 * limits.MIB

PATTERNS: Final = "general_patterns"
# sentences by model or issue type
LISTS: Final = ("model_specific_tips", "successful_strategies", "failure_patterns")
KEY: Final = "knowledge_base"  # in the records that keep one
SECTIONS: Final = (PATTERNS, *LISTS)
VERSION: Final = "1.0"
T = TypeVar("T")


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
    patterns = [
        (
            name,
            {
                "issue_signature": signature,
                "success_count": good,
                "failure_count": bad,
                "success_rate": round(good / max(1, good + bad), 3),
                "confidence_score": confidence,
                "best_fix": _cleaned(read_json(best or "null", best)),
                "last_seen": last_seen,
            },
        )
        for name, signature, good, bad, best, last_seen, confidence in learned.patterns
    ]
    return {
        PATTERNS: _named(patterns),
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
    strategies: Mapping[str, Iterable[CountedStrategy]], say: Callable[[CountedStrategy], str]
) -> dict[str, list[str]]:
    return _named(
        (issue_type, list(dict.fromkeys(map(say, done)))) for issue_type, done in strategies.items()
    )


def _named(values: Iterable[tuple[str, T]]) -> dict[str, T]:
    """By names in which nothing is hidden. Where one only looked like another, the more frequent
    stays, which comes first.
    """
    named: dict[str, T] = {}
    for name, value in values:
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


def joined(known: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both together; where they differ, what the second says."""
    both = dict(known)
    for name, value in more.items():
        other = known.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            both[name] = joined(other, value)
        elif isinstance(value, list) and isinstance(other, list):
            both[name] = [*other, *(item for item in value if item not in other)]
        else:
            both[name] = value
    return both


def merged(
    base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any]
) -> dict[str, Any]:
    """Theirs, with what I added to the base and without what I took out of it."""
    return joined(_without(theirs, beyond(base, mine)), beyond(mine, base))


def _without(whole: Mapping[str, Any], gone: Mapping[str, Any]) -> dict[str, Any]:
    left: dict[str, Any] = {}
    for name, value in whole.items():
        other = gone.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            value = _without(value, other)
        elif isinstance(value, list) and isinstance(other, list):
            value = [item for item in value if item not in other]
        elif name in gone:
            continue
        if value or name not in gone:
            left[name] = value
    return left


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
