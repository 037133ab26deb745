"""The knowledge base fills itself, keeps what callers add, and loses nothing on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import Clock
from hardwon.errors import InvalidInputError
from hardwon.fixes.knowledge_base import (
    AUTHOR,
    KNOWLEDGE_BASE_NAME,
    KNOWLEDGE_TEXT_CHARS_MAX,
    FixHistoryWarning,
    KnowledgeBase,
    KnowledgeFile,
    beyond,
    join_knowledge,
    learned_knowledge,
    merge_knowledge,
    renew,
)
from hardwon.fixes.tables import CountedStrategy, FixKnowledge
from hardwon.memory import Memory
from hardwon.records.kinds import Adopted, Metadata, Source

LISTS = ("model_specific_tips", "successful_strategies", "failure_patterns")


def strategy(text: str, attempts: int = 1, verified: int = 0) -> CountedStrategy:
    return CountedStrategy(text, attempts, verified)


def pattern(name: str, success: int, failure: int) -> tuple[Any, ...]:
    best, seen = '{"fix_commands": ["reboot"]}', "2026-03-02T09:00:00+00:00"
    return (name, "0123456789abcdef", success, failure, seen, (success + failure) / 10, best)


def learned(**parts: Any) -> FixKnowledge:
    nothing: dict[str, Any] = {name: {} for name in ("strategies", "failures", "tips", "issues")}
    nothing["patterns"] = []
    return FixKnowledge(**{**nothing, **parts})


SOME = learned(
    strategies={"TIMEOUT": [strategy("export TIMEOUT=60", 4, 3), strategy("reboot", 2, 1)]},
    failures={"TIMEOUT": [strategy("wait", 3)]},
    tips={"qwen2.5:7b": [strategy("export TIMEOUT=60", 4, 3)]},
    issues={"qwen2.5:7b": [("TIMEOUT", 9, 4)]},
    patterns=[pattern("TIMEOUT on qwen2.5:7b", 4, 5)],
)


def test_what_was_learned_has_the_shape_of_a_knowledge_base() -> None:
    knowledge = learned_knowledge(SOME)
    assert list(knowledge) == ["general_patterns", *LISTS, "version"]
    assert knowledge["successful_strategies"] == {"TIMEOUT": ["export TIMEOUT=60", "reboot"]}
    never = "wait (tried 3 times, never verified to work)"
    assert knowledge["failure_patterns"] == {"TIMEOUT": [never]}
    tips = ["export TIMEOUT=60 (worked 3 of 4 times)", "TIMEOUT came up 9 times, 4 of them fixed"]
    assert knowledge["model_specific_tips"] == {"qwen2.5:7b": tips}
    figures = knowledge["general_patterns"]["TIMEOUT on qwen2.5:7b"]
    assert figures["best_fix"] == {"fix_commands": ["reboot"]}
    result = (figures["success_count"], figures["failure_count"], figures["success_rate"])
    assert result == (4, 5, 0.444)
    long = learned_knowledge(learned(strategies={"": [strategy("x" * 5_000)]}))
    cut = "x" * (KNOWLEDGE_TEXT_CHARS_MAX - 1) + "…"
    assert long["successful_strategies"] == {"unknown": [cut]}


texts = st.sampled_from(["a", "b", "c", "d"])
sections = st.dictionaries(texts, st.lists(texts, min_size=1, max_size=4, unique=True), max_size=3)
parts = dict.fromkeys(LISTS, sections) | {"mine": texts}
knowledge_bases = st.fixed_dictionaries({}, optional=parts)


@given(knowledge_bases, knowledge_bases, knowledge_bases)
def test_two_lose_none(base: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert beyond(mine, join_knowledge(theirs, mine)) == {}
    assert beyond(base, base) == {}
    both = merge_knowledge(base, mine, theirs)
    assert beyond(beyond(mine, base), both) == {}
    assert not beyond(beyond(theirs, base), join_knowledge(both, {"mine": theirs.get("mine", "")}))
    for more, known in (
        (merge_knowledge(base, base, theirs), theirs),
        (merge_knowledge(base, mine, base), mine),
    ):
        assert beyond(more, known) == beyond(known, more) == {}


def test_parts_that_somebody_holds_go_on_being_its_parts() -> None:
    base = KnowledgeBase()
    renew(base, join_knowledge(base, learned_knowledge(SOME)))
    strategies = base["successful_strategies"]
    timeouts = strategies["TIMEOUT"]
    renew(base, {**base, "successful_strategies": {"TIMEOUT": ["pull again"], "OTHER": ["x"]}})
    assert base["successful_strategies"] is strategies
    assert strategies["TIMEOUT"] is timeouts
    assert timeouts == ["pull again"]


class World:
    """A memory with a knowledge base, and what is to be learned."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder = folder
        self.memory = Memory(folder / "ai_memory.db", clock=clock)
        self.learned = SOME
        self.changes = 0

    def open(self) -> KnowledgeFile:
        keeper = KnowledgeFile(self.memory, self.folder, lambda: self.learned, lambda: self.changes)
        keeper.refresh()
        return keeper

    def records(self) -> list[Adopted]:
        kept = [one for one in self.memory.browse(kind="adopted") if isinstance(one, Adopted)]
        return [one for one in kept if one.metadata.validation.status != "archived"]

    @property
    def file(self) -> Path:
        return self.folder / KNOWLEDGE_BASE_NAME


@pytest.fixture
def world(tmp_path: Path, clock: Clock) -> Iterator[World]:
    made = World(tmp_path / "AIMemory", clock)
    with made.memory:
        yield made


def test_what_is_saved_comes_back_and_is_one_sources_word(world: World) -> None:
    keeper = world.open()
    keeper.knowledge["successful_strategies"].setdefault("NO_OUTPUT", []).append("restart ollama")
    keeper.save()
    (record,) = world.records()
    said = {"successful_strategies": {"NO_OUTPUT": ["restart ollama"]}}
    assert (record.origin, record.data) == ("fix history", {"knowledge_base": said})
    assert record.metadata.validation.status == "hypothesis"
    assert record.metadata.source.author == AUTHOR
    written = json.loads(world.file.read_text())
    assert written["successful_strategies"]["NO_OUTPUT"] == ["restart ollama"]
    assert written["successful_strategies"]["TIMEOUT"] == ["export TIMEOUT=60", "reboot"]
    assert list(written)[:4] == ["general_patterns", *LISTS]
    world.learned = learned()
    assert world.open().knowledge["successful_strategies"] == {"NO_OUTPUT": ["restart ollama"]}


def test_a_later_save_takes_the_place_of_an_earlier_one(world: World) -> None:
    keeper = world.open()
    for text in ("one", "two"):
        keeper.knowledge["mine"] = text
        keeper.save()
    events = world.memory.stats().events
    keeper.save()
    assert world.memory.stats().events == events
    assert [record.data["knowledge_base"] for record in world.records()] == [{"mine": "two"}]
    keeper.knowledge["mine"] = "one"
    keeper.save()
    assert [record.data["knowledge_base"] for record in world.records()] == [{"mine": "one"}]
    del keeper.knowledge["mine"]
    keeper.save()
    assert "mine" not in world.open().knowledge
    assert all(record.data["knowledge_base"] == {} for record in world.records())


def test_two_that_save_lose_nothing_of_each_other(world: World) -> None:
    first, second = world.open(), world.open()
    first.knowledge["successful_strategies"]["A"] = ["of the first"]
    first.save()
    second.knowledge["successful_strategies"]["A"] = ["of the second"]
    second.save()
    assert second.knowledge["successful_strategies"]["A"] == ["of the first", "of the second"]
    world.changes += 1
    assert first.refresh()["successful_strategies"]["A"] == ["of the first", "of the second"]
    first.knowledge["successful_strategies"]["A"].remove("of the first")
    first.save()
    assert world.open().knowledge["successful_strategies"]["A"] == ["of the second"]
    assert len(world.records()) == 1


def test_knowledge_bases_of_others_are_shown_and_stay_theirs(world: World) -> None:
    said = {"knowledge_base": {"successful_strategies": {"TIMEOUT": ["of another team"]}}}
    metadata = Metadata(source=Source(author="another team"))
    theirs = Adopted(origin="fix history", data=said, metadata=metadata)
    world.memory.care.take_in([theirs])
    keeper = world.open()
    result: Any = keeper.knowledge["successful_strategies"]["TIMEOUT"]
    assert result == ["of another team", "export TIMEOUT=60", "reboot"]
    keeper.save()
    assert [record.metadata.source.author for record in world.records()] == ["another team"]
    world.memory.rollback("another team")
    result = world.open().knowledge["successful_strategies"]["TIMEOUT"]
    assert result == ["export TIMEOUT=60", "reboot"]


def edited(world: World, change: Callable[[dict[str, Any]], object]) -> None:
    knowledge = json.loads(world.file.read_text())
    change(knowledge)
    world.file.write_text(json.dumps(knowledge))


def test_what_people_edit_in_the_file_is_taken_in(world: World) -> None:
    keeper = world.open()
    keeper.knowledge["successful_strategies"]["B"] = ["stays"]
    keeper.save()
    edited(world, lambda knowledge: knowledge["successful_strategies"]["B"].append("by hand"))
    world.learned = learned(failures={"TIMEOUT": [strategy("wait", 4)]})
    again = world.open()
    assert again.knowledge["successful_strategies"]["B"] == ["stays", "by hand"]
    failed = {"TIMEOUT": ["wait (tried 4 times, never verified to work)"]}
    assert again.knowledge["failure_patterns"] == failed
    again.save()
    (record,) = world.records()
    kept = record.data["knowledge_base"]
    assert kept["successful_strategies"]["B"] == ["stays", "by hand"]
    assert kept.keys() == {"successful_strategies"}, "figures are nobody's addition"
    count = world.memory.stats().adopted
    world.open()
    assert world.memory.stats().adopted == count


def test_a_file_of_the_original_is_taken_in(world: World) -> None:
    tips = {"model_specific_tips": {"llama3": ["needs a short prompt"]}}
    original: dict[str, Any] = {
        "general_patterns": {},
        **tips,
        "successful_strategies": {"TIMEOUT": ["reboot"]},
    }
    original |= {"failure_patterns": {}, "version": "1.0", "last_updated": "2025-01-15T10:00:00"}
    world.file.write_text(json.dumps(original))
    keeper = world.open()
    assert keeper.knowledge["model_specific_tips"]["llama3"] == ["needs a short prompt"]
    keeper.save()
    assert world.records()[0].data["knowledge_base"] == tips


def test_a_file_that_is_no_knowledge_base_is_never_overwritten(world: World) -> None:
    world.file.write_text("{ half a file")
    keeper = world.open()
    assert world.file.read_text() == "{ half a file"
    keeper.knowledge["mine"] = 1
    with pytest.warns(FixHistoryWarning, match="was kept as"):
        keeper.save()
    (aside,) = world.folder.glob(f"{KNOWLEDGE_BASE_NAME}.unreadable-*")
    assert aside.read_text() == "{ half a file"
    assert json.loads(world.file.read_text())["mine"] == 1


def test_an_edit_that_cannot_be_kept_is_named_and_left(world: World) -> None:
    world.open().save()
    edited(world, lambda knowledge: knowledge.update(successful_strategies="no object"))
    text = world.file.read_text()
    with pytest.warns(FixHistoryWarning, match=r"knowledge_base.json.successful_strategies"):
        keeper = world.open()
    with pytest.raises(InvalidInputError, match=r"knowledge_base.json.successful_strategies"):
        keeper.save()
    assert world.file.read_text() == text


def test_a_list_instead_of_lists_is_of_any_issue_type(world: World) -> None:
    lists = {"failure_patterns": ["never wait"], "general_patterns": ["it is the prompt"]}
    world.file.write_text(json.dumps(lists))
    knowledge = world.open().knowledge
    waited = ["wait (tried 3 times, never verified to work)"]
    assert knowledge["failure_patterns"] == {"TIMEOUT": waited, "any": ["never wait"]}
    assert knowledge["general_patterns"]["any"] == ["it is the prompt"]


@pytest.mark.parametrize(
    ("field", "break_it"),
    [
        ("successful_strategies", lambda base: base.update(successful_strategies="text")),
        ("successful_strategies", lambda base: base["successful_strategies"].update(X=[object()])),
        ("mine", lambda base: base.update(mine=float("nan"))),
        ("failure_patterns", lambda base: base["failure_patterns"].update({7: ["seven"]})),
        ("knowledge_base", lambda base: base.update(mine=["x" * 1_000] * 3_000)),
    ],
)
def test_what_cannot_be_kept_is_named(field: str, break_it: Any, world: World) -> None:
    keeper = world.open()
    keeper.knowledge["good"] = 1
    keeper.save()
    text = world.file.read_text()
    break_it(keeper.knowledge)
    with pytest.raises(InvalidInputError) as caught:
        keeper.save()
    assert caught.value.field.endswith(field)
    assert world.file.read_text() == text
    assert [record.data["knowledge_base"] for record in world.records()] == [{"good": 1}]
    world.changes += 1
    keeper.refresh()
    with pytest.raises(InvalidInputError):
        keeper.save()
    keeper.knowledge.to_json()
