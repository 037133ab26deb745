"""A memory's calls as spans, seen by a tracer provider that keeps them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

from hardwon import Memory
from hardwon.adapters.opentelemetry import OPERATIONS, traced
from hardwon.errors import InvalidInputError, MissingExtraError


class Kept(trace.NonRecordingSpan):
    """A span that remembers."""

    def __init__(self, name: str, attributes: dict[str, Any]) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.name, self.attributes, self.failed = name, dict(attributes), False

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_status(self, status: Any, description: str | None = None) -> None:
        assert description is None
        self.failed = status.status_code is trace.StatusCode.ERROR


class Provider(trace.TracerProvider, trace.Tracer):
    def __init__(self) -> None:
        self.spans: list[Kept] = []

    def get_tracer(self, *given: Any, **more: Any) -> trace.Tracer:
        assert given or more
        return self

    def start_span(self, name: str, **more: Any) -> trace.Span:  # type: ignore[override]  # all are keywords
        self.spans.append(Kept(name, more["attributes"]))
        return self.spans[-1]

    @contextmanager
    def _current(self, name: str, **more: Any) -> Iterator[trace.Span]:
        assert more.pop("record_exception") is more.pop("set_status_on_exception") is False
        yield self.start_span(name, **more)

    start_as_current_span = _current  # type: ignore[assignment]  # as the SDK's does


def test_calls_are_spans_without_what_was_said(tmp_path: Path) -> None:
    provider = Provider()
    with traced(Memory(tmp_path / "brain", "shop"), provider) as memory:
        memory.remember("The harbour is cold", "learning", insight_type="fact")
        assert len(memory.recall("harbour")) == 1
        assert memory.context("harbour").hits
        with pytest.raises(InvalidInputError):
            memory.recall("harbour", k=0)
        memory.credit([hit.record.id for hit in memory.recall("harbour")], True)
        memory.forget([memory.recall("harbour")[0].record.id])
    assert [span.name for span in provider.spans] == [
        "create_memory shop", "search_memory shop", "search_memory shop", "search_memory shop",
        "search_memory shop", "update_memory shop", "search_memory shop", "delete_memory shop",
    ]  # fmt: skip
    assert [span.failed for span in provider.spans].index(True) == 3
    assert provider.spans[3].attributes["error.type"] == "InvalidInputError"
    assert provider.spans[1].attributes == {
        "gen_ai.operation.name": "search_memory", "gen_ai.provider.name": "hardwon",
        "gen_ai.memory.store.id": "shop", "hardwon.method": "recall", "hardwon.results": 1,
    }  # fmt: skip
    assert "harbour" not in str([span.attributes for span in provider.spans])


def test_who_wants_texts_gets_the_question(tmp_path: Path) -> None:
    provider = Provider()
    with traced(Memory(tmp_path / "brain"), provider, texts=True) as memory:
        memory.recall("where is the harbour?")
        memory.remember("It is cold", "learning", insight_type="fact")
    asked, kept = provider.spans
    assert asked.attributes["gen_ai.memory.query.text"] == "where is the harbour?"
    assert "cold" not in str(kept.attributes)


def test_every_operation_is_a_method_and_none_is_missing() -> None:
    named = [name for names in OPERATIONS.values() for name in names]
    assert len(set(named)) == len(named)
    assert all(callable(getattr(Memory, name)) for name in named)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    monkeypatch.delitem(sys.modules, "hardwon.adapters.opentelemetry")
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[otel\]'"):
        importlib.import_module("hardwon.adapters.opentelemetry")
