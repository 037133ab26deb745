"""`AsyncMemory`: a memory for programs with an event loop. There is one core, which is synchronous;
each of its methods runs here in a thread, so that the loop goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar, Unpack

from hardwon.memory import Memory
from hardwon.memory.project import Group
from hardwon.records.kinds import AnyRecord
from hardwon.search.terms import FilterKeywords

P = ParamSpec("P")
T = TypeVar("T")
# What gives a block of the caller's own code something to record with.
_BLOCK: Final = "trajectory"


class _Threaded:
    """The methods of something, each in a thread."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if isinstance(value, Group):
            return _Threaded(value)
        if name == _BLOCK:
            return lambda *args, **keywords: AsyncBlock(value(*args, **keywords))
        return _in_thread(value) if callable(value) else value

    def __dir__(self) -> Iterable[str]:
        return {*super().__dir__(), *dir(self._inner)}


def _await_in_thread(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """The method in a thread, with its signature: editors and type checkers know it."""

    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **keywords: P.kwargs) -> T:
        """What the method gives."""
        return await asyncio.to_thread(method, self.memory, *args, **keywords)

    return call


class AsyncMemory(_Threaded):
    """`Memory` with `await` before each call: `async with AsyncMemory("agent_brain") as memory:
    await memory.recall("…")`. It takes what `Memory` takes and has its methods, also those that
    hang on nouns (`await memory.fixes.totals()`). `browse` gives a list; `trajectory` goes
    with `async with`. `memory` is the one that it works on.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.memory = Memory(*arguments, **named)
        super().__init__(self.memory)

    # what programs call most; the rest is as it is found
    add = _await_in_thread(Memory.add)
    add_many = _await_in_thread(Memory.add_many)
    advise = _await_in_thread(Memory.advise)
    context = _await_in_thread(Memory.context)
    credit = _await_in_thread(Memory.credit)
    forget = _await_in_thread(Memory.forget)
    get = _await_in_thread(Memory.get)
    recall = _await_in_thread(Memory.recall)
    record_episode = _await_in_thread(Memory.record_episode)
    record_fact = _await_in_thread(Memory.record_fact)
    record_fix = _await_in_thread(Memory.record_fix)
    record_trajectory = _await_in_thread(Memory.record_trajectory)
    remember = _await_in_thread(Memory.remember)
    rules = _await_in_thread(Memory.rules)
    verify = _await_in_thread(Memory.verify)

    async def browse(
        self, limit: int | None = None, **filters: Unpack[FilterKeywords]
    ) -> list[AnyRecord]:
        """Records that pass all filters, newest first; without a `limit` all of them."""
        return await asyncio.to_thread(lambda: list(self.memory.browse(limit, **filters)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.memory.close)

    def __repr__(self) -> str:
        return f"Async{self.memory!r}"


class AsyncBlock(Generic[T]):
    """A block whose beginning and end run in a thread."""

    def __init__(self, block: AbstractContextManager[T]) -> None:
        self._block = block

    async def __aenter__(self) -> T:
        return await asyncio.to_thread(self._block.__enter__)

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await asyncio.to_thread(self._block.__exit__, *raised)


def _in_thread(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def call(*args: Any, **keywords: Any) -> Any:
        """What the method gives; a list where it gives an iterator."""

        def work() -> Any:
            """The same, in the thread."""
            result = method(*args, **keywords)
            return list(result) if isinstance(result, Iterator) else result

        return await asyncio.to_thread(work)

    return call
