"""The OpenAI Agents SDK: `HardwonSession`, conversations kept in a memory; `memory_tools`, what an
agent asks the memory and tells it; `TrajectoryHooks`, what an agent did as the steps of a
trajectory.

An item of a conversation is an experience (an interaction) with the item as a key of its own, in a
project of its own: what was said is not what was learned, and recall should not find the one among
the other. Items come back in the order in which they were added; what is popped or cleared is
erased.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final, Literal, Self, cast

from hardwon import limits
from hardwon.adapters.items import json_object, make_tag
from hardwon.errors import HardwonError, MissingExtraError, how_to_install
from hardwon.memory import Memory
from hardwon.memory.ask import as_data
from hardwon.memory.record import TrajectoryRecorder, cut
from hardwon.records import kinds
from hardwon.records.fields import check_items, check_that, new_id
from hardwon.search.rank import Hit
from hardwon.text.terms import own_texts

try:
    import agents
    from agents.memory import SessionSettings
    from agents.tool_context import ToolContext
except ImportError as missing:
    raise MissingExtraError(
        f"sessions and tools for the OpenAI Agents SDK need openai-agents, which cannot be "
        f"imported ({missing}); {how_to_install('openai-agents')}"
    ) from missing

_USER: Final = "user"
_SAYS_NOTHING: Final = "Nothing here answers that."

ToolKind = Literal["code_interpreter", "web_search", "file_operation", "conversation", "unknown"]


class HardwonSession:
    """A conversation that is kept in a memory: `Runner.run(agent, "…",
    session=HardwonSession("an-id", memory))`.

    It lies in the project `project`, which is `<the memory's project>.conversations` where nobody
    says: opened once more for it, so close the session, or use it as a context manager. `author` is
    the agent; what a user says is recorded as the user's. What others wrote is no part of it. Several processes may add to one
    conversation: each keeps its items together and in order.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        project: str | None = None,
        author: str = "agent",
        session_settings: SessionSettings | None = None,
    ) -> None:
        check_that(isinstance(memory, Memory), "memory", memory, "a Memory")
        self.session_id = kinds.Source(id=session_id).id
        check_that(self.session_id.strip(), "session_id", session_id, "text that is not blank")
        self.session_settings = SessionSettings() if session_settings is None else session_settings
        self._author = kinds.Source(author=author).author
        self._authors = (_USER, self._author)
        self._name = make_tag("openai agents session", self.session_id)
        project = f"{memory.project}.conversations" if project is None else project
        self._owns = project != memory.project
        self.memory = memory.care.in_project(project) if self._owns else memory

    def close(self) -> None:
        """Closes what the session opened; closing twice is allowed."""
        if self._owns:
            self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def get_items(self, limit: int | None = None) -> list[agents.TResponseInputItem]:
        """The conversation so far; with a limit, its last items."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        newest = await asyncio.to_thread(lambda: list(self._newest(limit)))
        return [*reversed([item for record in newest if (item := self._read_item(record))])]

    async def add_items(self, items: list[agents.TResponseInputItem]) -> None:
        """Keeps all of the items or, when one is refused, none."""
        checked = check_items("items", items)
        await asyncio.to_thread(
            lambda: self.memory.entries.append(self._name, [self._record(item) for item in checked])
        )

    async def pop_item(self) -> agents.TResponseInputItem | None:
        """Takes the last item out of the conversation and gives it back; None where there is
        none.
        """
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Erases the conversation."""
        await asyncio.to_thread(
            self.memory.entries.put, {self._name: None}, self._author, self._authors
        )

    def _record(self, item: Any) -> kinds.Experience:
        kept = json_object("items", item)
        by_user = kept.get("role") == "user"
        at = self.memory.care.now()
        source = kinds.Source(
            type="user_interaction" if by_user else "agent_execution",
            id=self.session_id,
            author=_USER if by_user else self._author,
        )
        content = kept.get("content") or kept.get("output") or ""
        parts = (
            [content] if isinstance(content, str) else content if isinstance(content, list) else []
        )
        texts = (part.get("text", "") if isinstance(part, dict) else part for part in parts)
        text = "\n".join(text for text in texts if isinstance(text, str) and text.strip())
        text = text or str(kept.get("name") or kept.get("type") or kept.get("role") or "item")
        return kinds.Experience.model_validate(
            {
                "id": new_id(at),
                "content": cut(text, limits.TEXT_CHARS_MAX),
                "outcome": "interaction",
                "sentiment": "neutral",
                "item": kept,
                "agent": self._author,  # to whom a user said it
                "metadata": kinds.Metadata(
                    source=source, context=kinds.Moment(timestamp=at), tags=[self._name]
                ),
            }
        )

    def _pop(self) -> agents.TResponseInputItem | None:
        while record := next(self._newest(1), None):
            if self.memory.forget(record.id, by=self._author).ids:  # nobody else was quicker
                return self._read_item(record)
        return None

    def _newest(self, limit: int | None) -> Iterator[kinds.AnyRecord]:
        return self.memory.entries.list(self._name, limit, self._authors)

    def _read_item(self, record: kinds.AnyRecord) -> agents.TResponseInputItem | None:
        """None for what is no item, and for what somebody says in another's place."""
        if not isinstance(record, kinds.Experience):
            return None
        item = record.extra.get("item")
        if not isinstance(item, dict) or record.metadata.source.id != self.session_id:
            return None
        said_by = _USER if item.get("role") == "user" else self._author
        whose = record.said_by, record.extra.get("agent", self._author)
        ours = whose == (said_by, self._author)
        return cast("agents.TResponseInputItem", item) if ours else None


def memory_tools(
    memory: Memory,
    *,
    author: str = "agent",
    task_id: str | None = None,
    budget_tokens: int = limits.CONTEXT_TOKENS,
) -> list[agents.Tool]:
    """Tools for an agent (`Agent(tools=memory_tools(memory))`): what to know before it begins, a
    search, advice before an action, and keeping how something turned out. `author` is who records,
    `task_id` the task whose rules it is told. What comes back is fenced and marked as data; what
    the agent says stays a hypothesis until somebody confirms it.
    """
    signed = kinds.Source(author=author).author

    def memory_context(query: str) -> str:
        """Call this first, before you work on a task or an error, with the task or the error as the
        query. Tells what worked, what failed and which rules were learned.
        """
        return (
            str(memory.context(query, task_id=task_id, budget_tokens=budget_tokens))
            or _SAYS_NOTHING
        )

    def memory_recall(query: str, k: int = 5) -> str:
        """Search the memory for records that answer a question: an error message, a task, a few
        words. At most k of them.
        """
        hits = memory.recall(query, k)
        return as_data(map(_line, hits)) if hits else _SAYS_NOTHING

    def memory_advise(action: str, error: str | None = None) -> str:
        """Call this right before a risky or repeated action, with the very command or change as the
        action and the error that it is to get rid of. Where the answer is blocked, do something
        else.
        """
        advice = memory.advise(action, error=error)
        return as_data([f"{advice.verdict} (p = {advice.p_success:.2f}): {advice.message}"])

    def memory_record(
        content: str, outcome: kinds.Outcome | None = None, tool: ToolKind | None = None
    ) -> str:
        """Record how one action turned out, as soon as you know; failures are worth as much as
        successes. All but the content may be left out: without an outcome it is what the content
        tells.
        """
        kept = memory.remember(content, outcome, tool, author=signed)
        return f"Kept {kept.kind} {kept.id} ({kept.metadata.validation.status})."

    offered = (memory_context, memory_recall, memory_advise, memory_record)
    return [agents.function_tool(tool, failure_error_function=_explain) for tool in offered]


class TrajectoryHooks(agents.RunHooks[Any]):
    """Every tool call of a run as a step of a trajectory, its result as the observation. How the
    run ended is for the caller to say, who knows: `with memory.trajectory(task) as t: await
    Runner.run(agent, task, hooks=TrajectoryHooks(t))`, and `t.final_reward = 0.0` where it failed.
    """

    def __init__(self, trajectory: TrajectoryRecorder) -> None:
        self._trajectory = trajectory

    async def on_tool_end(
        self,
        context: agents.RunContextWrapper[Any],
        agent: agents.Agent[Any],  # noqa: ARG002  # the SDK calls it so
        tool: agents.Tool,
        result: object,
    ) -> None:
        """A step. Whatever a tool gave, the run goes on."""
        arguments = context.tool_arguments if isinstance(context, ToolContext) else ""
        self._trajectory.step(_fit(f"{tool.name} {arguments}".strip()), _fit(str(result)))


def _fit(text: str) -> str:
    """As a step can hold it."""
    return cut(text.replace("\0", "").encode(errors="replace").decode(), limits.TEXT_CHARS_MAX)


# --- what is shown to a model ---


def _explain(context: agents.RunContextWrapper[Any], error: Exception) -> str:
    """What a memory refuses it explains, so that the model can do better; of other errors the SDK
    says what it always does.
    """
    return (
        str(error)
        if isinstance(error, HardwonError)
        else agents.default_tool_error_function(context, error)
    )


def _line(hit: Hit) -> str:
    record = hit.record
    outcome = kinds.judge_record(record)
    good = {"success": "worked", "failure": "failed", "partial": "worked in part"}.get(
        outcome, record.kind
    )
    text = " ".join(part for part in own_texts(record) if part)
    stale = ", stale" if hit.stale else ""
    return f"[{good}, {record.metadata.validation.status}{stale}, by {record.said_by}] {text} (id {record.id})"
