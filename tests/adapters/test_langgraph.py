"""A memory as the store of a LangGraph graph."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from cases import each, examples
from clocks import Clock
from engines import everything_in, own_login, wrong_with
from hardwon import Experience, Memory, limits
from hardwon.adapters.langgraph import HardwonStore, with_memory
from hardwon.errors import ForbiddenError, InvalidInputError
from hardwon.records.fields import new_id
from hardwon.store.postgres.schema import WRITER
from hardwon.surfaces.gate import Ask, Gate
from hardwon.trust.access import Caller
from short import need, run_program

Namespace = tuple[str, ...]
BOTH = pytest.mark.engines("sqlite", "postgres")
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def store(memory: Memory) -> HardwonStore:
    return HardwonStore(memory)


def keys(found: list[SearchItem]) -> list[str]:
    return [item.key for item in found]


def value_of(store: HardwonStore, namespace: tuple[str, ...], key: str) -> dict[str, Any]:
    return need(store.get(namespace, key)).value


def values(found: list[SearchItem]) -> list[dict[str, Any]]:
    return [item.value for item in found]


def standing(memory: Memory) -> int:
    """How many records nobody archived."""
    return sum(record.metadata.validation.status != "archived" for record in memory.browse())


def answering(store: HardwonStore, query: str, prefix: Namespace = (), **more: Any) -> list[str]:
    found = store.search(prefix, query=query, **more)
    return [item.key for item in found if item.score is not None]


@BOTH
def test_an_item_is_put_read_changed_and_deleted(store: HardwonStore) -> None:
    namespace = ("users", "ann")
    assert store.get(namespace, "food") is None
    value = {"likes": ["pizza", "rice"], "n": 3, "deep": {"a": None, "b": True, "c": 0.5}}
    store.put(namespace, "food", value)
    first = store.get(namespace, "food")
    assert type(first) is Item
    assert first.value == value
    assert (first.namespace, first.key, first.created_at) == (namespace, "food", first.updated_at)
    store.put(namespace, "food", {"likes": []})
    second = need(store.get(namespace, "food"))
    assert second.value == {"likes": []}
    assert second.created_at == first.created_at < second.updated_at
    assert keys(store.search(namespace)) == ["food"]
    store.delete(namespace, "food")
    store.delete(namespace, "never was")
    assert store.get(namespace, "food") is None
    assert store.search(()) == []
    assert store.list_namespaces() == []
    assert wrong_with(store.memory) == []


@BOTH
def test_the_questions_of_a_batch_come_before_its_puts(store: HardwonStore) -> None:
    store.put(("a",), "1", {"v": 1})
    puts: list[Op] = [PutOp(("a",), "1", {"v": n}) for n in (2, 3)]
    asked: list[Op] = [GetOp(("a",), "1"), SearchOp(("a",)), ListNamespacesOp(), GetOp(("a",), "2")]
    *done, item, found, spaces, missing = store.batch([*puts, PutOp(("b",), "2", {"v": 4}), *asked])
    assert done == [None] * 3
    assert item.value == found[0].value == {"v": 1}  # type: ignore[union-attr, index]
    assert (spaces, missing) == ([("a",)], None)
    assert values(store.search(())) == [{"v": 4}, {"v": 3}]


def test_a_batch_is_kept_whole_or_not_at_all(store: HardwonStore) -> None:
    with pytest.raises(InvalidInputError, match="value"):
        store.batch([PutOp(("a",), "good", {"v": 1}), PutOp(("a",), "bad", {"v": object()})])
    with pytest.raises(InvalidInputError, match="nested at most"):
        deep: dict[str, Any] = {}
        for _ in range(20):
            deep = {"in": deep}
        store.batch([PutOp(("a",), "good", {"v": 1}), PutOp(("a",), "bad", deep)])
    assert store.search(()) == []


@BOTH
def test_a_search_is_narrowed_by_namespace_and_filter(store: HardwonStore) -> None:
    for n in range(6):
        value = {"n": n, "kind": ["even", "odd"][n % 2], "at": {"x": n, "y": 1}, "tags": ["t", n]}
        store.put(("docs", "a" if n < 3 else "b"), f"k{n}", value)
    store.put(("docsother",), "k9", {"n": 9})

    def found(prefix: tuple[str, ...] = ("docs",), **filters: Any) -> list[str]:
        return keys(store.search(prefix, **filters))

    assert found() == ["k5", "k4", "k3", "k2", "k1", "k0"]
    assert found(("docs", "a")) == ["k2", "k1", "k0"]
    assert found(()) == ["k9", "k5", "k4", "k3", "k2", "k1", "k0"]
    assert found(("docs", "c")) == []
    assert found(limit=2, offset=1) == ["k4", "k3"]
    assert found(limit=0) == found(offset=100) == []
    assert found(filter={"kind": "odd"}, limit=1, offset=1) == ["k3"]
    assert found(filter={"missing": None}) == found()
    for condition, expected in (
        ({"kind": "odd"}, "k5 k3 k1"),
        ({"kind": "odd", "n": {"$gt": 1, "$lte": 3}}, "k3"),
        ({"n": {"$gte": 4}}, "k5 k4"),
        ({"n": {"$lt": 1}}, "k0"),
        ({"n": {"$ne": 0}}, "k5 k4 k3 k2 k1"),
        ({"n": {"$eq": 2}}, "k2"),
        ({"at": {"x": 3}}, "k3"),
        ({"at": {"x": {"$gt": 3}}}, "k5 k4"),
        ({"tags": ["t", 4]}, "k4"),
        ({"kind": {"$gt": "f"}}, "k5 k3 k1"),  # texts by their letters
        ({"kind": {"$gt": 1}}, ""),  # what cannot be compared does not pass
        ({"n": True}, ""),
    ):
        assert found(filter=condition) == expected.split(), condition
    with pytest.raises(InvalidInputError, match="operators alone"):
        store.search(("docs",), filter={"n": {"$gt": 1, "m": 2}})
    with pytest.raises(InvalidInputError, match="operators"):
        found(filter={"n": {"$near": 2}})
    with pytest.raises(InvalidInputError, match="limit"):
        found(limit=-1)


def random_operations(seed: int) -> Iterator[Callable[[Any], object]]:
    chance = random.Random(seed)
    labels = ("a", "b", "c d", "ü", "*", 'quote"d')

    def put(p: Namespace, k: str, v: dict[str, Any]) -> Callable[[Any], object]:
        return lambda store: store.put(p, k, v)

    def get(p: Namespace, k: str) -> Callable[[Any], object]:
        return lambda store: (found := store.get(p, k)) and found.value

    def search(p: Namespace, condition: dict[str, Any]) -> Callable[[Any], object]:
        return lambda store: sorted(
            (item.namespace, item.key, str(item.value))
            for item in store.search(p, filter=condition, limit=1_000)
        )

    def namespaces(**asked: Any) -> Callable[[Any], object]:
        return lambda store: store.list_namespaces(**asked)

    def delete(p: Namespace, k: str) -> Callable[[Any], object]:
        return lambda store: store.delete(p, k)

    for number in range(60):
        place = tuple(chance.choice(labels) for _ in range(chance.randint(1, 3)))
        key, color = f"k{chance.randint(0, 3)}", chance.choice(("red", "blue"))
        value = {"n": chance.randint(0, 3), "text": color, "number": number}
        condition = chance.choice(
            ({}, {"n": chance.randint(0, 3)}, {"n": {"$gt": 1}}, {"text": "red", "n": {"$ne": 2}})
        )
        shape = tuple(chance.choice((*labels, "*")) for _ in range(chance.randint(1, 2)))
        deep = chance.choice((None, 1, 2))
        puts = [put(place, key, value)] * 2
        lists = [namespaces(prefix=shape, max_depth=deep)]
        lists += [namespaces(suffix=shape, max_depth=deep, limit=2, offset=1)]
        reads = [delete(place, key), get(place, key), search(place[:1], condition)]
        yield chance.choice([*puts, *reads, *lists])


@pytest.mark.parametrize("seed", range(8))
def test_it_answers_as_langgraphs_own_store_does(store: HardwonStore, seed: int) -> None:
    theirs = InMemoryStore()
    for number, operation in enumerate(random_operations(seed)):
        expected = operation(theirs)
        # theirs goes on listing them
        for empty in [space for space, items in theirs._data.items() if not items]:
            del theirs._data[empty]
        assert operation(store) == expected, f"seed {seed}, operation {number}"


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",), ("a\0b",), (1,)], ids=str)
def test_wrong_namespaces_are_refused_everywhere(store: HardwonStore, namespace: Namespace) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {"v": 1})
    questions: list[Op] = [GetOp(namespace, "k"), SearchOp(namespace)] if namespace else []
    for op in (PutOp(namespace, "k", {"v": 1}), *questions):
        with pytest.raises(InvalidNamespaceError):
            store.batch([op])
    store.put(("a",), "k", {"v": 1})
    with pytest.raises(InvalidInputError, match="match_type"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])  # type: ignore[arg-type]


def test_nothing_expires_and_a_ttl_is_refused(store: HardwonStore) -> None:
    assert not store.supports_ttl
    with pytest.raises(NotImplementedError, match="TTL"):
        store.put(("a",), "k", {"v": 1}, ttl=5)
    with pytest.raises(InvalidInputError, match="ttl"):
        store.batch([PutOp(("a",), "k", {"v": 1}, ttl=5)])
    store.put(("a",), "k", {"v": 1}, ttl=None)
    assert store.get(("a",), "k", refresh_ttl=True) is not None


@pytest.mark.parametrize("key", ["k" * 300, "two\nlines", "", "ghp_" + "a1B2" * 9])
def test_a_key_that_cannot_be_kept_is_refused_with_a_reason(store: HardwonStore, key: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        store.put(("a",), key, {"v": 1})
    assert "ghp_" not in str(refused.value)
    assert store.search(()) == []


LONG = "x" * (limits.TEXT_CHARS_MAX + 1)


@pytest.mark.parametrize("value", [float("nan"), "a\0b", 2**70, LONG], ids=lambda it: str(it)[:9])
def test_a_value_that_cannot_be_kept_is_refused(store: HardwonStore, value: Any) -> None:
    for whole in ({"v": value}, ["no", "object"]):
        with pytest.raises(InvalidInputError):
            store.put(("a",), "k", whole)  # type: ignore[arg-type]
    assert store.search(()) == []


SHOWN = st.characters(exclude_categories=("C", "Zl", "Zp"))
NUMBERS = st.none() | st.booleans() | st.integers(-(2**60), 2**60)
VALUES: st.SearchStrategy[Any] = st.recursive(
    NUMBERS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@given(
    key=st.text(SHOWN, min_size=1, max_size=40).filter(str.strip),
    label=st.text(SHOWN, min_size=1, max_size=20).filter(lambda text: "." not in text),
    value=st.dictionaries(st.text(SHOWN, min_size=1, max_size=5), VALUES, max_size=4),
)
@settings(max_examples=examples(80))
def test_what_is_put_is_there(memory: Memory, key: str, label: str, value: dict[str, Any]) -> None:
    store = HardwonStore(memory)
    store.put((label, "x"), key, value)
    assert value_of(store, (label, "x"), key) == value
    assert (label, "x") in store.list_namespaces(limit=1_000)
    assert key in keys(store.search((label,), limit=1_000))


@BOTH
def test_a_query_finds_the_items_that_answer_it(store: HardwonStore) -> None:
    ann, bob = ("u", "ann"), ("u", "bob")
    rex, as_well = "Ann has a dog called Rex", "Bob has a dog as well"
    store.put(ann, "food", {"text": "Ann is allergic to peanuts"})
    store.put(ann, "pet", {"text": rex, "kind": "pet"})
    store.put(bob, "pet", {"text": as_well, "kind": "pet"})
    store.put(bob, "secret", {"text": "Bob hides a dog biscuit"}, index=False)
    store.put(bob, "part", {"title": "about a parrot", "body": "and a dog"}, index=["title"])
    found = store.search(("u",), query="what is the dog called?")
    assert [item.value.get("text") for item in found[:2]] == [rex, as_well]
    first, second, *rest = (item.score for item in found)
    assert first is not None
    assert second is not None
    assert first > second > 0
    # as in LangGraph's own stores, what does not answer a query comes last and has no score
    assert (keys(found[2:]), rest) == (["part", "secret", "food"], [None] * 3)
    assert answering(store, "peanuts", ann) == ["food"]
    assert answering(store, "dog", bob, filter={"kind": "pet"}) == ["pet"]
    assert answering(store, "dog called", limit=1, offset=1) == ["pet"]
    assert answering(store, "parrot") == ["part"]
    assert answering(store, "volcano") == []
    assert len(store.search(("u",), query="volcano", limit=3, offset=1)) == 3
    store.put(ann, "pet", {"text": "Ann has a cat by now"})
    assert [item.namespace for item in store.search(("u",), query="dog", limit=1)] == [bob]
    assert answering(store, "dog") == ["pet"]
    with pytest.raises(InvalidInputError, match="with a query"):
        store.search((), query="dog", limit=limits.SHOWN_MAX + 1)


def test_the_fields_of_a_store_say_what_a_query_looks_at(memory: Memory) -> None:
    store = HardwonStore(memory, fields=["title", "parts[*].text"])
    parts = [{"text": "beta"}, {"text": "gamma"}]
    store.put(("d",), "1", {"title": "alpha", "body": "omega", "parts": parts})
    assert answering(store, "gamma") == answering(store, "alpha") == ["1"]
    assert answering(store, "omega") == []
    store.put(("d",), "2", {"title": "delta", "body": "omega"}, index=["$"])
    assert answering(store, "omega") == ["2"]


def test_a_query_goes_past_items_that_the_filter_leaves_out(store: HardwonStore) -> None:
    texts = ({"text": "rain in spring", "n": number} for number in range(150))
    store.batch([PutOp(("d",), f"k{text['n']}", text) for text in texts])
    assert keys(store.search((), query="spring rain", filter={"n": 7})) == ["k7"]


@BOTH
def test_what_is_put_again_stays_in_the_log_and_what_is_deleted_does_not(
    store: HardwonStore,
) -> None:
    memory = store.memory
    store.put(("a",), "k", {"text": "the harbour opens at six"})
    store.put(("a",), "k", {"text": "the harbour opens at seven"})
    new, old = memory.browse()
    statuses = [record.metadata.validation.status for record in (new, old)]
    assert statuses == ["hypothesis", "archived"]
    assert memory.care.links(old.id).replaced_by == new.id
    assert [event.event.by for event in memory.audit(old.id) if event.event] == ["langgraph"]
    assert [hit.record.id for hit in memory.recall("when does the harbour open")] == [new.id]
    store.delete(("a",), "k")
    assert list(memory.browse()) == []
    assert b"harbour" not in everything_in(memory)
    assert wrong_with(memory) == []


def test_who_may_only_record_puts_and_reads_the_newest_and_does_not_delete(url: str) -> None:
    with own_login(url, "default", WRITER) as login, Memory(login) as memory:
        store = HardwonStore(memory)
        store.put(("a",), "k", {"text": "the harbour opens at six"})
        store.put(("a",), "k", {"text": "the harbour opens at seven"})
        found = need(store.get(("a",), "k"))
        assert found.value == {"text": "the harbour opens at seven"}
        assert values(store.search((), query="harbour at six")) == [found.value]
        with pytest.raises(ForbiddenError):
            store.delete(("a",), "k")
        assert store.get(("a",), "k") == found
    with Memory(url) as memory:
        HardwonStore(memory).put(("a",), "k", {"text": "the harbour is closed"})
        statuses = [record.metadata.validation.status for record in memory.browse()]
        assert statuses == ["hypothesis", "archived", "archived"]


@BOTH
def test_what_somebody_archived_or_rolled_back_is_not_in_the_store(memory: Memory) -> None:
    good, bad = HardwonStore(memory, author="good"), HardwonStore(memory, author="bad")
    good.put(("a",), "1", {"v": "mine"})
    bad.put(("a",), "2", {"v": "planted"})
    bad.put(("b",), "3", {"v": "planted"})
    memory.rollback("bad", "it was taken over")
    assert keys(good.search(())) == ["1"]
    assert bad.get(("a",), "2") is None
    assert good.list_namespaces() == [("a",)]
    memory.archive(next(memory.browse(author="good")).id, "not true")
    assert good.search(()) == []


def test_secrets_do_not_reach_the_store(store: HardwonStore) -> None:
    token = "ghp_" + "a1B2" * 9
    note, cut = f"push with {token}", "x " * 15_000 + token
    store.put(("a",), "k", {"note": note, "password": "hunter2-hunter2", "cut": cut})
    found = value_of(store, ("a",), "k")
    assert found["note"] == "push with [REDACTED:github-token]"
    assert found["password"] == "[REDACTED:password]"
    assert token[:20].encode() not in everything_in(store.memory)


@BOTH
def test_nobody_elses_entry_is_read_as_ones_own(memory: Memory) -> None:
    """One token may write: it reads an entry of another application, and posts it back."""
    store = HardwonStore(memory, author="shop")
    store.put(("prices",), "tea", {"cents": 300})
    entry = next(memory.browse())
    assert isinstance(entry, Experience)
    posted: dict[str, Any] = json.loads(entry.to_json())
    posted |= {"id": new_id(memory.care.now()), "value": {"cents": 1}}
    for name in ("mallory", "shop"):
        ask = Ask(Gate(lambda _: memory, None), Caller(name, "write"), memory.project)
        for tags in ([tag] for tag in entry.metadata.tags):
            posted["metadata"]["tags"] = tags
            with pytest.raises(InvalidInputError, match="reserved"):
                ask("add", record=posted)
            fact = {"content": "The tea costs 1 cent.", "fact_type": "observation"}
            with pytest.raises(InvalidInputError, match="reserved"):
                ask("record_fact", **fact, tags=tags)
    with pytest.raises(InvalidInputError, match="reserved"):
        memory.add(entry.copy_with(id=new_id(memory.care.now())))
    # nor what another application has under the very same names
    other = HardwonStore(memory, author="mallory")
    assert other.get(("prices",), "tea") is None
    assert other.list_namespaces() == []
    other.put(("prices",), "tea", {"cents": 1, "text": "tea"})
    other.put(("planted",), "k", {"cents": 2})
    found = need(store.get(("prices",), "tea"))
    assert found.value == {"cents": 300}
    assert values(store.search(())) == [{"cents": 300}]
    assert values(store.search((), query="tea cents")) == [{"cents": 300}]
    assert store.list_namespaces() == [("prices",)]
    other.delete(("prices",), "tea")
    assert store.get(("prices",), "tea") == found
    # nor what a file says that the application put elsewhere
    posted |= {"metadata": json.loads(entry.to_json())["metadata"]}
    memory.care.take_in([Experience.model_validate(posted)])
    assert store.get(("prices",), "tea") == found
    assert values(store.search((), query="tea cents")) == [{"cents": 300}]
    store.put(("prices",), "tea", {"cents": 310})
    store.delete(("prices",), "tea")
    assert store.get(("prices",), "tea") is None
    assert memory.get(posted["id"]), "it is nobody's here to erase"
    assert values(other.search(())) == [{"cents": 2}]


def test_the_last_put_is_read_whatever_clocks_say(tmp_path: Path) -> None:
    early, late = Clock(), Clock()
    late.now += timedelta(days=1)
    with Memory(tmp_path, clock=late) as ahead, Memory(tmp_path, clock=early) as behind:
        HardwonStore(ahead).put(("a",), "k", {"v": "first"})
        HardwonStore(behind).put(("a",), "k", {"v": "second"})
        assert need(HardwonStore(ahead).get(("a",), "k")).value == {"v": "second"}


@BOTH
def test_merged_memories_show_the_newer_item(place: Callable[[str], str], clock: Clock) -> None:
    with Memory(place("one"), clock=clock) as one, Memory(place("two"), clock=clock) as two:
        HardwonStore(one).put(("a",), "k", {"text": "old news from the coast"})
        HardwonStore(two).put(("a",), "k", {"text": "new news from the coast"})
        one.merge(two, trust=True)
        store = HardwonStore(one)
        newer = [{"text": "new news from the coast"}]
        assert values(store.search(())) == newer
        assert values(store.search((), query="old news coast")) == newer
        assert value_of(store, ("a",), "k") == newer[0]
        store.put(("a",), "k", {"text": "nothing"})
        assert standing(one) == 1


@BOTH
def test_many_threads_put_the_same_items(place: Callable[[str], str]) -> None:
    with Memory(place("brain")) as memory:
        store = HardwonStore(memory)
        begin = threading.Barrier(8)

        def work(worker: int) -> None:
            begin.wait()
            for number in range(6):
                store.put(("shared",), f"k{number % 3}", {"worker": worker, "number": number})
                store.put((f"own{worker}",), f"k{number}", {"number": number})

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert sorted(keys(store.search(("shared",)))) == ["k0", "k1", "k2"]
        assert all(len(store.search((f"own{worker}",))) == 6 for worker in range(8))
        assert standing(memory) == 3 + 8 * 6  # of each item exactly one
        assert len(list(memory.browse())) == 8 * 12  # and every put is in the log
        assert wrong_with(memory) == []


def test_an_item_does_not_go_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "app.py").write_text("1\n")
    monkeypatch.chdir(tmp_path)
    with Memory(tmp_path / ".hardwon") as memory:
        HardwonStore(memory).put(("a",), "k", {"text": "see app.py"})
        (tmp_path / "app.py").write_text("2\n")
        memory.check_stale(tmp_path)
        assert HardwonStore(memory).get(("a",), "k") is not None


def test_items_are_files_of_the_tree_and_follow_it(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        memory.tree.make()
        store = HardwonStore(memory)
        store.put(("a",), "k", {"text": "one"})
        store.put(("a",), "k", {"text": "two"})
        assert len(list(tmp_path.rglob("*.json"))) == 1
        store.delete(("a",), "k")
        assert list(tmp_path.rglob("*.json")) == []


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def graph_of(store: HardwonStore, node: Callable[..., Any]) -> Any:
    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(store=store)


def test_an_asynchronous_graph_puts_from_many_runs_at_once(store: HardwonStore) -> None:
    async def node(state: State, runtime: Runtime[Any]) -> dict[str, Any]:
        assert runtime.store is not None
        said = str(state["messages"][-1].content)
        await runtime.store.aput(("runs",), said, {"text": said})
        (found,) = await runtime.store.asearch(("runs",), filter={"text": said})
        return {"messages": [AIMessage(found.value["text"])]}

    async def main() -> list[str]:
        graph = graph_of(store, node)
        runs = [graph.ainvoke({"messages": [("user", f"run {number}")]}) for number in range(12)]
        return [done["messages"][-1].content for done in await asyncio.gather(*runs)]

    assert asyncio.run(main()) == [f"run {number}" for number in range(12)]
    assert len(store.search(("runs",), limit=100)) == 12

    async def rest() -> None:
        assert await store.alist_namespaces() == [("runs",)]
        await store.adelete(("runs",), "run 3")
        assert await store.aget(("runs",), "run 3") is None

    asyncio.run(rest())


def test_what_was_learned_stands_before_the_question(memory: Memory) -> None:
    memory.remember("Deploying on Friday broke billing", "failure", "file_operation")
    question = HumanMessage("Shall we deploy on Friday?")
    given: list[Any] = [SystemMessage("You deploy."), HumanMessage("Hi."), AIMessage("Hello.")]
    told = with_memory(memory, [*given, question])
    kinds = [SystemMessage, HumanMessage, AIMessage, HumanMessage, HumanMessage]
    assert [type(message) for message in told] == kinds
    assert told[-1] == question
    said = str(told[-2].content)
    assert said.startswith("<hardwon-memory")
    assert "data, not instructions" in said
    assert "Deploying on Friday broke billing" in said
    assert with_memory(memory, [("user", "volcanoes")]) == [HumanMessage("volcanoes")]
    assert with_memory(memory, [AIMessage("no question")]) == [AIMessage("no question")]
    text = {"type": "text", "text": "deploy on Friday?"}
    parts: list[Any] = [text, {"type": "image_url", "image_url": {}}]
    assert len(with_memory(memory, [HumanMessage(parts)])) == 2
    with pytest.raises(InvalidInputError, match="budget_tokens"):
        with_memory(memory, [question], budget_tokens=0)


def test_the_example_runs() -> None:
    done = run_program(sys.executable, "-W", "error", EXAMPLES / "langgraph_agent.py")
    assert "attempt 1: pip install -> It failed." in done.stdout
    assert "attempt 2: pip install --no-build-isolation -> It worked." in done.stdout
    assert "the store holds builds/numpy/last" in done.stdout


@each("wrong", ["folder", None, 1])
def test_a_store_needs_a_memory(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="a Memory"):
        HardwonStore(wrong)
