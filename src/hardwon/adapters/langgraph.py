"""LangGraph: `HardwonStore`, a memory as the store of a graph, and `with_memory`, what the memory
has to say before a model is asked.

An item is an experience (a learning) with the namespace, the key and the value as keys of its own.
Its names are tags: one for the item, one for each namespace that it lies in, and one that says its
own namespace. What is put again replaces what stood there, which stays in the log; what is deleted
is erased, with everything that ever stood there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from hardwon import limits
from hardwon.adapters.items import check_filter, json_object, make_tag, passes
from hardwon.errors import InvalidInputError, MissingExtraError, how_to_install
from hardwon.memory import Memory
from hardwon.memory.record import cut
from hardwon.records.fields import (
    check_items,
    check_name,
    check_text,
    check_that,
    check_whole_number,
    new_id,
    read_json,
)
from hardwon.records.kinds import AnyRecord, Experience, Metadata, Moment, Source
from hardwon.trust.redact import redact

try:
    from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
    from langgraph.store import base
except ImportError as missing:
    raise MissingExtraError(
        f"a store for LangGraph needs langgraph-checkpoint, which cannot be imported ({missing}); "
        f"{how_to_install('langgraph')}"
    ) from missing

if TYPE_CHECKING:
    from langchain_core.messages import MessageLikeRepresentation

Namespace = tuple[str, ...]

_SAYS_NAMESPACE: Final = "namespace "
# hits beyond those that are asked for: some are of items that were put again meanwhile
_FILTERED_MORE: Final = 10


class HardwonStore(base.BaseStore):
    """The store of a graph (`compile(store=…)`), kept in a memory. Safe to use from several threads
    and processes at once.

    `author` is who puts things, and whose they are: a store reads, replaces and deletes what its
    author put, and nothing of anybody else's; `memory.rollback(author)` undoes it all. `fields` are
    the paths of values that a `query` looks at where `put` names none; without them it looks at
    everything. Values are JSON objects. Items do not expire: a `ttl` is refused. Closing the memory
    is up to whoever opened it.
    """

    __slots__ = ("_author", "_fields", "memory")

    def __init__(
        self, memory: Memory, *, author: str = "langgraph", fields: Sequence[str] | None = None
    ) -> None:
        check_that(isinstance(memory, Memory), "memory", memory, "a Memory")
        self.memory = memory
        self._author = Source(author=author).author
        self._fields = (
            None
            if fields is None
            else [check_text("fields", path) for path in check_items("fields", fields)]
        )

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """All questions are answered as of before the batch; then everything is put and deleted, in
        one transaction. Of several puts of one item the last counts.
        """
        asked = list(ops)
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, base.PutOp)}
        for op in puts.values():
            check_that(
                op.ttl is None, "ttl", op.ttl, "none: what is kept here stays until it is deleted"
            )
            if not _check_namespace(op.namespace):
                raise base.InvalidNamespaceError("a namespace has at least one label")
            _check_clean("namespace", _namespace_tag(op.namespace))
            _check_clean("key", op.key)
        answers = [self._answer(op) for op in asked]
        if puts:
            self.memory.entries.put(
                dict(map(self._entry, puts.values())), by=self._author, authors=[self._author]
            )
        return answers

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """As `batch`, in a thread of its own."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _answer(self, op: base.Op) -> base.Result:
        match op:
            case base.PutOp():
                return None
            case base.GetOp():
                return self._get(_check_namespace(op.namespace), op.key)
            case base.SearchOp():
                return self._search(op)
            case base.ListNamespacesOp():
                return self._list_namespaces(op)
        raise InvalidInputError.one("ops", op, "GetOp, PutOp, SearchOp and ListNamespacesOp")

    # --- what is put ---

    def _entry(self, op: base.PutOp) -> tuple[str, Experience | None]:
        name = _item_name(op.namespace, op.key)
        if op.value is None:
            return name, None
        value = json_object("value", op.value)
        at = self.memory.care.now()
        stood = self._get(op.namespace, op.key)
        text = _read_text(value, self._fields if op.index is None else op.index)
        experience = {
            "id": new_id(at),
            "content": text or f"{'/'.join(op.namespace)} {op.key}",
            "outcome": "learning",
            "insight_type": "fact",
            "namespace": list(op.namespace),
            "key": op.key,
            "value": value,
            "created": (stood.created_at if stood else at).isoformat(),
            "searched": bool(text),
            "metadata": Metadata(
                source=Source(author=self._author),
                context=Moment(timestamp=at),
                tags=[
                    name,
                    _namespace_tag(op.namespace),
                    # and of each above it
                    *(_prefix_name(op.namespace[:depth]) for depth in range(len(op.namespace) + 1)),
                ],
            ),
        }
        return name, Experience.model_validate(experience)

    # --- what is asked ---

    def _get(self, namespace: Namespace, key: str) -> base.Item | None:
        standing = self._standing(namespace, key)
        if standing is None:
            return None
        _, item = standing
        return base.Item(
            value=item.value,
            key=key,
            namespace=namespace,
            created_at=item.created_at,
            updated_at=item.updated_at,
        )

    def _standing(self, namespace: Namespace, key: str) -> tuple[str, base.SearchItem] | None:
        """The item, and the id of the record that it is. Its author may have used its name as a
        tag for something else.
        """
        name = _item_name(namespace, check_text("key", key))
        for most in (1, None):
            for record in self.memory.entries.list(name, most, [self._author]):
                if item := _read_item(record):
                    return record.id, item
        return None

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        prefix = _check_namespace(op.namespace_prefix)
        offset = check_whole_number("offset", op.offset, 0, limits.JSON_INT_ABS_MAX)
        wanted = offset + check_whole_number("limit", op.limit, 0, limits.JSON_INT_ABS_MAX - offset)
        conditions = check_filter(op.filter)
        name, items = _prefix_name(prefix), []
        if op.query:
            items = self._rank(name, check_text("query", op.query), conditions, wanted)
        newest = self._newest(name, conditions, {(item.namespace, item.key) for item in items})
        return [*items, *islice(newest, max(0, wanted - len(items)))][offset:wanted]

    def _newest(
        self, name: str, conditions: Mapping[str, Any], seen: set[tuple[Namespace, str]]
    ) -> Iterator[base.SearchItem]:
        for record in self.memory.entries.list(name, authors=[self._author]):
            item = _read_item(record)
            if item and (item.namespace, item.key) not in seen:
                seen.add((item.namespace, item.key))
                if passes(item.value, conditions):
                    yield item

    def _rank(
        self, name: str, query: str, conditions: Mapping[str, Any], wanted: int
    ) -> list[base.SearchItem]:
        """The items that answer, the best first. Only as many hits are looked at as one recall may
        have.
        """
        allowed = f"with a query, at most {limits.SHOWN_MAX} with the offset"
        check_that(wanted <= limits.SHOWN_MAX, "limit", wanted, allowed)
        k = min(wanted + _FILTERED_MORE, limits.SHOWN_MAX)
        while True:
            hits = self.memory.recall(query, k, kind="experience", tag=name, author=self._author)
            items = [
                item
                for hit in hits
                if (item := _read_item(hit.record, hit.score))
                and passes(item.value, conditions)
                and isinstance(hit.record, Experience)
                and hit.record.extra.get("searched") is True
                # Nothing was put in its place: two memories that were merged may both have had the
                # item.
                and (standing := self._standing(item.namespace, item.key))
                and standing[0] == hit.record.id
            ]
            if len(items) >= wanted or len(hits) < k or k == limits.SHOWN_MAX:
                return items
            k = limits.SHOWN_MAX

    def _list_namespaces(self, op: base.ListNamespacesOp) -> list[Namespace]:
        offset = check_whole_number("offset", op.offset, 0, limits.JSON_INT_ABS_MAX)
        limit = check_whole_number("limit", op.limit, 0, limits.JSON_INT_ABS_MAX)
        if op.max_depth is not None:
            check_whole_number("max_depth", op.max_depth, 1, limits.JSON_INT_ABS_MAX)
        tags = self.memory.entries.names(_SAYS_NAMESPACE, self._author)
        matching = [
            namespace[: op.max_depth]
            for namespace in map(_namespace_in, tags)
            if namespace
            and all(_matches(namespace, condition) for condition in op.match_conditions or ())
        ]
        return sorted(set(matching))[offset : offset + limit]


def with_memory(
    memory: Memory,
    messages: Sequence[MessageLikeRepresentation],
    *,
    task_id: str | None = None,
    budget_tokens: int = limits.CONTEXT_TOKENS,
) -> list[BaseMessage]:
    """The messages for a model, with what the memory knows about the last thing that was asked
    right before it. It is said in the user's place, fenced and marked as data: recalled text is
    nobody's order. Where there is nothing to say, the messages as they are. For a node:
    `model.invoke(with_memory(memory, state["messages"]))`.
    """
    asked = convert_to_messages(messages)
    questions = [number for number, one in enumerate(asked) if isinstance(one, HumanMessage)]
    query = None
    if questions:
        content = asked[questions[-1]].content
        parts = [content] if isinstance(content, str) else content
        texts = (part if isinstance(part, str) else part.get("text", "") for part in parts)
        query = "\n".join(text for text in texts if isinstance(text, str))
    context = str(memory.context(query, task_id=task_id, budget_tokens=budget_tokens))
    if not context:
        return asked
    place = questions[-1] if questions else len(asked)
    return [*asked[:place], HumanMessage(context), *asked[place:]]


# --- names ---


def _item_name(namespace: Namespace, key: str) -> str:
    return make_tag("langgraph item", *namespace, key)


def _prefix_name(namespace: Namespace) -> str:
    return make_tag("langgraph namespace", *namespace)


def _namespace_tag(namespace: Namespace) -> str:
    return _SAYS_NAMESPACE + json.dumps(namespace, ensure_ascii=False, separators=(",", ":"))


def _namespace_in(tag: str) -> Namespace | None:
    """None where somebody else used such a tag for something else."""
    labels = read_json(tag.removeprefix(_SAYS_NAMESPACE))
    return (
        tuple(labels)
        if isinstance(labels, list) and all(isinstance(label, str) for label in labels)
        else None
    )


def _check_namespace(namespace: Namespace) -> Namespace:
    """As LangGraph has it, also where a batch goes past the methods that check it."""
    for label in namespace:
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise base.InvalidNamespaceError(
                f"a label of a namespace is text that is not empty and has no period, not {label!r}"
            )
        check_text("namespace", label)
    return tuple(namespace)


def _check_clean(field: str, name: str) -> None:
    """Names are shown, and found by: a secret would have to be taken out of one."""
    shown, secrets = redact(check_text(field, name))
    allowed = f"one line of 1 to {limits.NAME_CHARS_MAX} characters that is no secret"
    try:
        check_name(name)
    except ValueError:
        raise InvalidInputError.one(field, shown, allowed) from None
    check_that(not secrets and 0 < len(name) <= limits.NAME_CHARS_MAX, field, shown, allowed)


def _matches(namespace: Namespace, condition: base.MatchCondition) -> bool:
    path, sort = tuple(condition.path), condition.match_type
    check_that(sort in ("prefix", "suffix"), "match_type", sort, "prefix or suffix")
    part = namespace[: len(path)] if sort == "prefix" else namespace[-len(path) :]
    return len(path) <= len(namespace) and all(
        wanted in ("*", label) for wanted, label in zip(path, part, strict=False)
    )


# --- values ---


def _read_text(value: dict[str, Any], fields: Sequence[str] | Literal[False] | None) -> str:
    """What a query finds the item by; empty where it is not to be found by one."""
    if fields is False:
        return ""
    parts: list[str] = []
    for path in check_items("index", ["$"] if fields is None else fields):
        if path == "$":
            parts += [f"{name}: {leaf}" for name, leaf in _leaves(value)]
        else:
            parts += base.get_text_at_path(value, base.tokenize_path(check_text("index", path)))
    return cut("; ".join(part for part in parts if part.strip()), limits.INDEXED_CHARS_MAX)


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _leaves(below, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for below in value:
            yield from _leaves(below, path)
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value)


def _read_item(record: AnyRecord, score: float | None = None) -> base.SearchItem | None:
    """None for what is no item: others may use the same tags."""
    own = record.extra if isinstance(record, Experience) else {}
    namespace, key, value = own.get("namespace"), own.get("key"), own.get("value")
    if (
        not isinstance(namespace, list)
        or not isinstance(key, str)
        or not isinstance(value, dict)
        or not all(isinstance(label, str) for label in namespace)
        or _item_name(tuple(namespace), key) not in record.metadata.tags
    ):
        return None
    created = updated = record.metadata.context.timestamp
    with suppress(ValueError, TypeError):
        created = min(datetime.fromisoformat(str(own.get("created"))), updated)
    return base.SearchItem(tuple(namespace), key, value, created, updated, score)
