"""The one door: whoever asks from outside is let in here, and everything they ask is carried out
here. REST, MCP and the web have no other way to a memory.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from hardwon import errors, limits
from hardwon.memory import Memory
from hardwon.memory.tokens import Tokens
from hardwon.records.kinds import AnyRecord
from hardwon.surfaces.arguments import Arguments
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.shapes import json_bytes
from hardwon.trust.access import SCOPES, Caller, Scope, includes

# Projects that a server has open at a time, with some connections each. Those that nobody uses are
# closed first.
MEMORIES_OPEN_MAX: Final = 64

# Callers whose rate is known. Tokens are fewer.
_CALLERS_REMEMBERED_MAX: Final = 10_000

# How long a caller may be as fast as it can after it was quiet.
_REQUESTS_BURST_S: Final = 2.0


def check_access(
    caller: Caller, wanted: Scope, project: str | None, *, whole: bool = False
) -> None:
    """Raises unless the caller may do what takes this scope, in this project (None: it is of no
    project). `whole`: it reaches into every project, whichever is named.
    """
    if project is not None and caller.projects is not None and project not in caller.projects:
        raise errors.ForbiddenError(
            f"the token {caller.name!r} does not reach project {project!r}: ask for one that does"
        )
    if whole and caller.projects is not None:
        raise errors.ForbiddenError(
            f"this reaches every project, and the token {caller.name!r} some: ask for one that reaches all"
        )
    if SCOPES.index(wanted) > SCOPES.index(caller.scope):
        raise errors.ForbiddenError(
            f"this takes the scope {wanted}, and the token {caller.name!r} has {caller.scope}: ask for one that may"
        )


class Gate:
    """Lets callers in, and carries out what they may ask. Safe to use from many threads."""

    def __init__(
        self,
        open_memory: Callable[[str], Memory],
        tokens: Tokens | None,
        *,
        open_to: Caller | None = None,
        requests_per_s: float = limits.REQUESTS_PER_S,
    ) -> None:
        """`open_memory` opens the memory for a project. `tokens`: those that let somebody in.
        `open_to`: who everybody is taken for that sends no token; only for callers of this machine,
        and only where its owner said so.
        """
        self._open_memory, self._tokens, self._open_to = open_memory, tokens, open_to
        self.asks_for_tokens = open_to is None
        self._rate = _Rate(requests_per_s)
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def close(self) -> None:
        """Waits for nobody: whoever serves ends what is under way first."""
        with self._lock:
            held, self._open = list(self._open.values()), OrderedDict()
        for one in held:
            one.memory.close()

    def admit(self, secret: str | None) -> Caller:
        """Whose token it is."""
        if secret is None:
            caller, problem = self._open_to, "no token was sent"
        else:
            caller = self._tokens.caller(secret) if self._tokens else None
            problem = "the token is unknown, expired or revoked"
        if caller is None:
            raise errors.NotAdmittedError(
                f"{problem}: send a token as `Authorization: Bearer …`; hardwon tokens create makes one"
            )
        self._rate.count(caller)
        return caller

    def projects(self, caller: Caller, project: str) -> list[str]:
        """The projects that have records, as far as the caller reaches. `project`: any, to have the
        memory open.
        """
        check_access(caller, "read", None)
        with self._use(project) as memory:
            names = memory.care.projects()
        reached = caller.projects
        return [name for name in names if reached is None or name in reached]

    def perform(
        self, caller: Caller, name: str, project: str, arguments: Arguments, key: str | None = None
    ) -> Any:
        """Carries out an operation, if the caller may. `key`: under an idempotency key, once."""
        operation = OPERATIONS[name]
        with self.memory(caller, operation, project) as memory:
            if key is None or operation.again is None:
                return operation.do(memory, arguments, caller)
            most = limits.IDEMPOTENCY_KEY_CHARS_MAX
            if not 0 < len(key) <= most or not key.isprintable():
                raise errors.InvalidInputError.one(
                    "Idempotency-Key", key, f"1 to {most} printable characters, such as a UUID"
                )
            whose = _fingerprint(caller.name, key.encode("utf-8", "surrogatepass"))
            wanted = _fingerprint(operation.name, json_bytes(arguments))
            try:
                with memory.care.once(whose, wanted):
                    return operation.do(memory, arguments, caller)
            except errors.RepeatedError as before:
                if before.fingerprint != wanted:
                    raise errors.ConflictError(
                        "the idempotency key was used for another request: send the same one "
                        "again, or this one under a key of its own"
                    ) from None
                return operation.again(memory, before.ids)

    @contextmanager
    def memory(self, caller: Caller, operation: Operation, project: str) -> Iterator[Memory]:
        """The project's memory for an operation that streams; everything else goes through
        `perform`.
        """
        check_access(caller, operation.scope, project, whole=operation.whole)
        with self._use(project) as memory:
            yield memory

    @contextmanager
    def _use(self, project: str) -> Iterator[Memory]:
        """One memory is open for each project; of many, those that nobody uses are closed."""
        with self._lock:
            known = project in self._open
        # what takes long to open holds up nobody else
        spare = [] if known else [_Open(self._open_memory(project))]
        with self._lock:
            if project not in self._open:
                self._open[project] = spare.pop() if spare else _Open(self._open_memory(project))
            held = self._open[project]
            held.users += 1
            self._open.move_to_end(project)
            unused = [name for name, opened in self._open.items() if not opened.users]
            too_many = max(len(self._open) - MEMORIES_OPEN_MAX, 0)
            spare += [self._open.pop(name) for name in unused[:too_many]]
        try:
            for one in spare:
                one.memory.close()
            yield held.memory
        except errors.LostFileError:  # whoever asks next has what is there now
            with self._lock:
                if self._open.get(project) is held:
                    del self._open[project]
            held.memory.close()
            raise
        finally:
            with self._lock:
                held.users -= 1


@dataclass(frozen=True)
class Ask:
    """Asks the memory of one project, as the caller: every operation of the table, under its name.
    `key`: the idempotency key of their request, if any.
    """

    gate: Gate
    caller: Caller
    project: str
    key: str | None = None

    def __call__(self, operation: str, /, **values: Any) -> Any:
        arguments = OPERATIONS[operation].takes.model_validate(values)
        return self.gate.perform(self.caller, operation, self.project, arguments, self.key)

    def record(self, record_id: str) -> AnyRecord | None:
        """None where there is no such record, or not any more."""
        record: AnyRecord | None = None
        with suppress(errors.UnknownRecordError):
            record = self("get", record_id=record_id)
        return record

    def may(self, scope: Scope) -> bool:
        """Whether the caller could; for what a page offers. The gate decides."""
        return includes(self.caller.scope, scope)


def _fingerprint(name: str, content: bytes) -> bytes:
    return blake2b(len(name).to_bytes(4, "big") + name.encode() + content, digest_size=32).digest()


@dataclass
class _Open:
    memory: Memory
    users: int = 0


class _Rate:
    """How fast each caller asks: a bucket that fills by so many requests a second."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._most = max(per_s * _REQUESTS_BURST_S, 1.0)
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count(self, caller: Caller) -> None:
        whose, at = caller.token_id or caller.name, time.monotonic()
        with self._lock:
            left, since = self._buckets.get(whose, (self._most, at))
            left = min(self._most, left + (at - since) * self._per_s)
            self._buckets[whose] = (left - 1 if left >= 1 else left, at)
            self._buckets.move_to_end(whose)
            if len(self._buckets) > _CALLERS_REMEMBERED_MAX:
                self._buckets.popitem(last=False)
        if left < 1:
            wait_s = (1 - left) / self._per_s
            raise errors.TooManyRequestsError(
                f"{caller.name} asks too often: wait {wait_s:.2g} seconds", wait_s
            )
