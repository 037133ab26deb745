"""OpenTelemetry: `traced(memory)`, whose calls are spans by the conventions for generative AI.

A span says which operation it was, of which project, and how many were found; what was asked and
what was kept are not in it unless `texts=True`: they may be anybody's secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from functools import wraps
from typing import Any, Final

import hardwon
from hardwon.errors import MissingExtraError, how_to_install
from hardwon.memory import Memory
from hardwon.memory.context import Context

try:
    from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider, get_tracer
except ImportError as missing:
    raise MissingExtraError(
        f"spans need opentelemetry-api, which cannot be imported ({missing}); {how_to_install('otel')}"
    ) from missing

# What each method is to the conventions.
OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "search_memory": (
        *("recall", "context", "advise", "solutions", "odds", "similar_issues", "rules", "cards"),
        *("patterns", "model_insights", "browse", "get"),
    ),
    "create_memory": (
        *("add", "add_many", "remember", "record_fact", "record_trajectory"),
        *("record_episode", "record_fix"),
    ),
    "update_memory": ("credit", "verify", "publish", "archive", "supersede"),
    "delete_memory": ("forget",),
}


def traced(
    memory: Memory, tracer_provider: TracerProvider | None = None, *, texts: bool = False
) -> Memory:
    """The same memory, whose calls are spans from now on: of the provider, or of the one that the
    application set. `texts`: with what was asked.
    """
    tracer = get_tracer("hardwon", hardwon.__version__, tracer_provider)

    def with_span(operation: str, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, each call of which is a span."""

        @wraps(method)
        def _call(*values: Any, **more: Any) -> Any:
            attributes = {
                "gen_ai.operation.name": operation,
                "gen_ai.provider.name": "hardwon",
                "gen_ai.memory.store.id": memory.project,
                "hardwon.method": name,
            }
            asked = values[0] if values else more.get("query")
            if texts and operation == "search_memory" and isinstance(asked, str):
                attributes["gen_ai.memory.query.text"] = asked
            with tracer.start_as_current_span(
                f"{operation} {memory.project}",
                kind=SpanKind.CLIENT,
                attributes=attributes,
                record_exception=False,  # its message may name what was asked
                set_status_on_exception=False,
            ) as span:
                try:
                    answer = method(*values, **more)
                except Exception as error:
                    span.set_attribute("error.type", type(error).__name__)
                    span.set_status(Status(StatusCode.ERROR))
                    raise
                counted = answer.hits if isinstance(answer, Context) else answer
                if isinstance(counted, Sized) and not isinstance(counted, str):
                    span.set_attribute("hardwon.results", len(counted))
                return answer

        return _call

    for operation, names in OPERATIONS.items():
        for name in names:
            setattr(memory, name, with_span(operation, name, getattr(memory, name)))
    return memory
