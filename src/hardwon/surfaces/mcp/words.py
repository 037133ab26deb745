"""What an operation gave, in words for a model: what is ours plainly, and what others wrote between
the same fence lines as in a context. It is data, whatever it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from hardwon.memory.ask import advice_text, as_data
from hardwon.records.kinds import AnyRecord, Record, headline
from hardwon.search.rank import Hit
from hardwon.surfaces.operations import OPERATIONS
from hardwon.surfaces.shapes import jsonable
from hardwon.text.clean import CODE_INDENT
from hardwon.tree.topology import Branch

# Characters of one line of such a text. A record's first sentences fit; all of it is in the
# structured result.
_TOOL_TEXT_WIDTH: Final = 400

NOTHING_KNOWN: Final = "Nothing is known of this yet."


def describe_answer(name: str, answer: Any) -> str:
    """What the operation of this name gave, in words."""
    if name == "context":
        return answer.text or f"{NOTHING_KNOWN} ({answer.empty_reason})"
    if name == "advise":
        return advice_text(answer)
    if name == "credit":
        return f"Credited: {', '.join(answer) or 'nothing, for no record has one of these ids'}."
    if isinstance(answer, Record) and not OPERATIONS[name].reads:
        names = ", ".join(answer.redacted or ())
        redacted = f" Taken out before it was kept: {names}." if names else ""
        return f"Done: {answer.kind} {answer.id} is {answer.metadata.validation.status}.{redacted}"
    if name == "add":
        return f"Done: record {answer} is kept."
    if not answer and isinstance(answer, list):
        return NOTHING_KNOWN
    if isinstance(answer, Branch):
        return as_data(list_branches(answer))
    return as_data(_list_values(jsonable(answer) if name == "get" else answer))


def list_records(records: Iterable[AnyRecord]) -> list[str]:
    """A line for each record: what it is, who says so, and how it begins."""
    lines = []
    for record in records:
        at = record.metadata.context.timestamp
        about = f"{record.kind}, {record.metadata.validation.status}, {at:%Y-%m-%d}"
        text = " ".join(headline(record).split())[:_TOOL_TEXT_WIDTH]
        lines.append(f"{about}, by {record.said_by}, {record.id}: {text}")
    return lines


def list_branches(branch: Branch, level: int = 0, depth: int | None = None) -> list[str]:
    """The tree below a folder, a line for each, with its count; only so many levels of it, if a
    depth is given.
    """
    # the blanks of a map say what lies where
    lines = [f"{CODE_INDENT}{'  ' * level}{branch.name}  {branch.count}"]
    for inner in branch.branches if depth is None or level < depth else ():
        lines += list_branches(inner, level + 1, depth)
    return lines


def _list_values(value: Any, indent: str = "") -> Iterator[str]:
    """Names and values, what is inside of them below them; what is empty is left out."""
    for name, inner in _list_entries(value):
        if inner is None or inner in ("", [], (), {}):
            continue
        if isinstance(inner, Hit):
            (line,) = list_records([inner.record])
            stale = f" (stale: {'; '.join(map(str, inner.changed))})" if inner.stale else ""
            yield f"{indent}{inner.score:.2f}  {line}{stale}"
        elif isinstance(inner, Record):
            yield from (indent + line for line in list_records([inner]))  # type: ignore[list-item]
        elif _list_entries(inner):
            yield f"{indent}{name}:"
            yield from _list_values(inner, indent + "  ")
        else:
            yield f"{indent}{name}: {inner}"


def _list_entries(value: Any) -> list[tuple[str, Any]]:
    """The parts of a value with their names; none of what is one thing."""
    if isinstance(value, Mapping):
        return [(str(name), inner) for name, inner in value.items()]
    if is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    if hasattr(value, "_asdict"):
        return list(value._asdict().items())
    if isinstance(value, list | tuple):
        return [(str(number), inner) for number, inner in enumerate(value, 1)]
    return []
