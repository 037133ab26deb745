"""What makes Python pleasant by hand: hits, reprs, tables, and a memory to be awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardwon import AsyncMemory, Experience, Memory, Step
from hardwon.errors import InvalidInputError


def fill(memory: Memory) -> None:
    memory.remember("login <b>fails</b> with KeyError", "failure", "code_interpreter")
    memory.record_fact("login needs an id", "observation", author="ann")
    memory.record_trajectory("login", [Step(action="look")], 1.0)
    memory.record_episode("login", 0.2, trajectory_summary="went wrong")
    memory.record_fix({"model": "m", "description": "login"}, True, True)


def test_a_hit_of_every_kind_reads_alike(memory: Memory) -> None:
    fill(memory)
    hits = memory.recall("login", k=10)
    assert {hit.kind for hit in hits} == {"experience", "fact", "trajectory", "episode", "fix"}
    for hit in hits:
        assert "login" in hit.text
        ended = {"fact": "", "experience": "failure", "episode": "failure"}
        assert hit.outcome == ended.get(hit.kind, "success")
        assert hit.when == hit.record.metadata.context.timestamp
        assert hit.author == ("ann" if hit.kind == "fact" else "agent")
        assert hit.as_row() == {
            "score": hit.score, "id": hit.record.id, "kind": hit.kind, "outcome": hit.outcome, "when": hit.when,
            "author": hit.author, "status": "hypothesis", "text": hit.text, "stale": False,
        }  # fmt: skip


def test_what_is_shown_in_a_notebook_is_short_and_escaped(memory: Memory) -> None:
    fill(memory)
    memory.remember("x" * 9_000, "failure", "unknown")
    for _ in range(2):
        memory.record_episode("login", 0.9, successes=["look first"])
    hits = memory.recall("login fails KeyError", k=10)
    shown: list[Any] = [
        *hits, *memory.browse(), memory.context("login fails with KeyError"), memory.advise("look", task="login"),
        *memory.rules("login"), memory.episodes.compare(),
    ]  # fmt: skip
    for more in (memory.odds(), memory.stats(), memory.episodes.scores("login"), memory.doctor()):
        assert more._repr_html_().startswith("<table><tr><th>")
    assert repr(memory.care) == "<Care of the project default>"
    kinds = {type(each).__name__ for each in shown}
    assert kinds >= {"Hit", "Context", "Advice", "Rule", "Comparison"}
    for each in shown:
        assert len(repr(each)) < 250, repr(each)
        assert each.as_row()
        html = each._repr_html_()
        assert html.startswith(("<table>", "<pre>"))
        assert "<b>" not in html
    assert "&lt;b&gt;fails" in next(hit for hit in hits if hit.kind == "experience")._repr_html_()


def test_everything_that_is_wrong_is_told_at_once(memory: Memory) -> None:
    odd: Any = object()
    flags = {"dry_run": odd, "by": odd}
    calls: dict[Callable[[], object], str] = {
        lambda: Experience(content="", outcome="odd", color={1}): "color content outcome",
        lambda: memory.remember("x", odd, color={1}, author=odd): "author color outcome",
        lambda: memory.record_fix(odd, odd, True, system_info=odd): "fix_success issue system_info",
        lambda: memory.context(odd, count_tokens=odd, explain=odd): "count_tokens explain query",
        lambda: memory.recall(odd, k=0, outcome=odd): "k outcome query",
        lambda: memory.recall("x", k=0, kind=odd, as_of=odd): "as_of k kind",
        lambda: memory.browse(-1, project="other"): "limit project",
        lambda: memory.context("x", task_id=odd, issue={"model": 5}, budget_tokens=0): (
            "budget_tokens issue.model task_id"
        ),
        lambda: memory.advise("", task=odd, error=odd, steps=[{}]): (
            "action error steps.0.action task"
        ),
        lambda: memory.similar_issues({"model": 5}, 0): "issue.model limit",
        lambda: memory.rules(odd, odd, 0): "limit state task_id",
        lambda: memory.care.helpful(odd, 0): "limit status",
        lambda: memory.care.progress(odd, odd, 0): "limit per since",
        lambda: memory.credit(odd, odd, "two\nlines"): "by context_or_ids outcome",
        lambda: memory.archive("odd", odd, odd): "by reason record_id",
        lambda: memory.forget(odd, author=None, **flags): "author by dry_run ids_or_filters",
        lambda: memory.rollback(" ", odd, "x" * 10_000): "by reason source",
        lambda: memory.undo(odd, odd): "by id",
        lambda: memory.check_stale(odd, **flags): "by dry_run repo",
        lambda: memory.cleanup(odd, successes_days=odd, **flags): (
            "by dry_run older_than_days successes_days"
        ),
        lambda: memory.odds({"model": odd}, tool=odd): "issue.model tool",
        lambda: memory.load(odd, strict=odd, **flags): "by dry_run path strict",
        lambda: memory.merge(odd, trust=odd, **flags): "by dry_run trust",
        lambda: memory.fixes.strategies(odd, 0): "issue_type limit",
        lambda: memory.tree.hotspots(1.01, -1, odd): "limit share tool",
        lambda: memory.tokens.create(" ", odd, [], 0): "days name projects scope",
        lambda: memory.get(odd, odd): "as_of id",
        lambda: Memory.restore(odd, odd): "location path",
        lambda: memory.tests.record([odd], odd, task=odd, started=odd, author=odd): (
            "author ran run_id started task"
        ),
        lambda: Memory(llm=odd, embedder=odd, checkout=odd): "checkout embedder llm",
    }
    for call, fields in calls.items():
        with pytest.raises(InvalidInputError) as refused:
            call()
        assert " ".join(sorted(each.field for each in refused.value.problems)) == fields
    assert memory.stats().records == 0


def test_type_checkers_know_what_is_allowed(tmp_path: Path) -> None:
    """mypy, which reads these lines too, complains where one of them would not be wrong to it."""

    async def ask() -> None:
        async with AsyncMemory(tmp_path / "brain") as memory:
            with pytest.raises(InvalidInputError):
                await memory.remember("x", "odd")  # type: ignore[arg-type]
            with pytest.raises(InvalidInputError):
                await memory.recall("x", outcome="odd")  # type: ignore[arg-type]
            with pytest.raises(InvalidInputError):
                await memory.browse(outcome="odd")  # type: ignore[arg-type]

    with Memory(tmp_path / "brain") as memory:
        wrong: list[Callable[[], object]] = [
            lambda: memory.remember("x", "odd"),  # type: ignore[arg-type]
            lambda: memory.recall("x", outcome="odd"),  # type: ignore[arg-type]
            lambda: memory.browse(outcome="odd"),  # type: ignore[arg-type]
            lambda: memory.forget(outcome="odd"),  # type: ignore[arg-type]
            lambda: memory.care.page(outcome="odd"),  # type: ignore[arg-type]
            lambda: memory.episodes.compare(outcome="odd"),  # type: ignore[arg-type]
            lambda: memory.verify("x", by="odd"),  # type: ignore[arg-type]
            lambda: memory.rules(state="odd"),  # type: ignore[arg-type]
        ]
        for each in wrong:
            with pytest.raises(InvalidInputError, match="'odd' is not allowed"):
                each()
    asyncio.run(ask())


def test_every_method_can_be_awaited(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncMemory(tmp_path / "brain") as memory:
            kept = await memory.remember("login fails with KeyError", "failure", "unknown")
            several = (memory.remember(f"login fails, try {n}", "failure") for n in range(8))
            await asyncio.gather(*several)
            hits = await memory.recall("KeyError")
            assert [hit.record.id for hit in hits][:1] == [kept.id]
            assert len(await memory.browse()) == 9
            assert (await memory.fixes.totals()).attempts == 0
            async with memory.trajectory("log in") as steps:
                steps.step("look", "nothing there", 0.0)
            assert (await memory.stats()).by_kind["trajectory"] == 1
            assert (memory.project, memory.location) == ("default", memory.memory.location)
            for name, method in inspect.getmembers(Memory, inspect.isfunction):
                if not name.startswith("_") and name not in ("trajectory", "episode"):
                    assert inspect.iscoroutinefunction(getattr(memory, name)), name
                    assert getattr(memory, name).__doc__ == method.__doc__
        with pytest.raises(Exception, match="closed"):
            await memory.stats()

    asyncio.run(work())
