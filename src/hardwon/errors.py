"""Every error a caller can meet. Each message says what is wrong and what to do about it."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

VALUE_CHARS_SHOWN = 80
NOT_GIVEN = "(absent)"  # the value of a problem where none was given
ANY_VALUE = "a value"
_short = reprlib.Repr()  # looks at a few items of a few levels: a whole value may be endless
_short.maxstring = _short.maxother = _short.maxlong = VALUE_CHARS_SHOWN
_short.maxlevel = 3


class HardwonError(Exception):
    """The base of all of them: `except HardwonError` catches whatever this package raises on
    purpose.
    """


def log_warning(text: str, *about: object) -> None:
    """What went otherwise than wanted, where nothing failed."""
    import logging  # takes a while, and most have nothing to say

    logging.getLogger("hardwon").warning(text, *about, stacklevel=2)


def ask_foreign(ask: Callable[[], T], otherwise: T) -> T:
    """What an object of a caller's own class answers; it may fail in any way it likes."""
    try:
        return ask()
    except Exception:  # noqa: BLE001  # whatever it raises must not hide what is being done
        return otherwise


@contextmanager
def on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Where the block does not end well, in whatever way, this is done."""
    with ExitStack() as undoing:
        undoing.callback(undo)
        yield
        undoing.pop_all()


def show_value(value: object) -> str:
    """A value as an error shows it: short, on one line, whatever it is."""
    text = ask_foreign(lambda: _short.repr(value), f"<{type(value).__name__}>")
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= VALUE_CHARS_SHOWN else text[:VALUE_CHARS_SHOWN] + "…"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input: where it is, what was given, what is allowed."""

    field: str
    value: object
    allowed: str

    def __str__(self) -> str:
        if isinstance(self.value, str) and self.value == NOT_GIVEN:
            allowed = "" if self.allowed == ANY_VALUE else f"; allowed: {self.allowed}"
            return f"{self.field} is missing{allowed}"
        return f"{self.field}: {show_value(self.value)} is not allowed; allowed: {self.allowed}"


class InvalidInputError(HardwonError, ValueError):
    """The input breaks a rule; nothing was changed. `field`, `value` and `allowed` tell the first
    problem, `problems` all of them, `where` the file and line they came from (empty for a call).
    """

    def __init__(self, problems: Sequence[Problem], where: str = "") -> None:
        self.problems = list(problems)
        self.where = where
        first = self.problems[0]
        self.field, self.value, self.allowed = first.field, first.value, first.allowed
        prefix = f"{where}: " if where else ""
        super().__init__(prefix + "; ".join(str(problem) for problem in self.problems))

    @classmethod
    def one(cls, field: str, value: object, allowed: str) -> InvalidInputError:
        """The error of a single problem."""
        return cls([Problem(field, value, allowed)])


class UnknownRecordError(HardwonError, LookupError):
    """No record of this project has that id."""


class UnknownLessonError(HardwonError, LookupError):
    """No lesson of this project has an id that begins so, or several have."""

    def __init__(self, beginning: str, *, several: bool = False) -> None:
        why = (
            "several lessons have an id that begins"
            if several
            else "no lesson has an id that begins"
        )
        super().__init__(f"{why} with {beginning!r}: `hardwon lessons` lists them")


class ConflictError(HardwonError):
    """A record with this id is already kept and says something else. Records are append-only."""


class StorageError(HardwonError):
    """Where the memory is kept does not do what it should."""


class BusyError(StorageError):
    """Another process held the write lock for longer than the busy timeout."""


class FullError(StorageError):
    """The disk, or the bound on the memory's size, has no room. Nothing acknowledged was lost."""


class DamagedError(StorageError):
    """The file is a memory but its contents are not what was written."""


class ForeignFileError(StorageError):
    """The file exists and is not a Hardwon memory. It was left as it is."""


class NewerFileError(StorageError):
    """The file was written by a newer version of this program."""


class OlderFileError(StorageError):
    """The file was written by a version before 1.0. The message says how its records are brought
    over.
    """


class PlaceError(StorageError):
    """A memory cannot be kept at this place."""


class UntrustedMemoryError(PlaceError):
    """A memory was found, and neither made here nor trusted: a clone or an archive brought it. It
    was not opened; `hardwon trust` says that it may be.
    """


class FileOnlyError(PlaceError):
    """Only a memory in a local file can do that, and this one is a database. The message says what
    to do instead.
    """


class LostFileError(StorageError):
    """The file of a memory that is open is no longer there, or is another one by now: it was removed,
    replaced or written over. Nothing was recorded or answered, and what is there now was left as it
    is. Close the memory and open it again; until then every call raises this.
    """


class ClosedError(StorageError):
    """The memory was closed."""


class UnreachableError(StorageError):
    """The database server cannot be reached, or went away. Nothing was changed; the message says
    what to check.
    """


class InterruptedWriteError(UnreachableError):
    """The connection to the database server was lost during a write, of which nothing was kept for
    certain: a memory does it again by itself, and raises this where that fails too.
    """


class UnknownOutcomeError(StorageError):
    """The connection to the database server was lost just while a write was being kept, and nobody
    can tell whether it was. Look whether it is there; recording the same record again, under its
    id, is safe.
    """


class NearlyFullWarning(UserWarning):
    """The memory comes close to the bound on its size."""


class ForeignLogWarning(UserWarning):
    """Beside the memory lay a log that is another database's, as after a copy over a memory that
    was not closed. It was not replayed, and is kept under the name that the message says.
    """


class LlmError(HardwonError):
    """An LLM endpoint was not asked, or gave no answer that can be used. The message says which:
    correct the base URL, the model or the key where it names one of them; otherwise try again
    later, or go on without an LLM. Nothing was changed, and the key is in no part of this error.
    """


class NotAdmittedError(HardwonError):
    """Nobody was let in: no token was sent, or one that is unknown, expired or revoked. `hardwon
    tokens create` makes one.
    """


class ForbiddenError(HardwonError):
    """The token that was sent does not reach that far. Nothing was read or changed."""


class UnknownTokenError(HardwonError, LookupError):
    """No token has that id or name, or it has ended already."""


class ServerError(HardwonError):
    """A server cannot be reached, or has a problem of its own. What was sent may or may not have
    been carried out; sending it again through the same client method is safe.
    """


class TooManyRequestsError(HardwonError):
    """One caller asked for more than its share. `wait_s`: when to try again."""

    def __init__(self, message: str, wait_s: float) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class RepeatedError(HardwonError):
    """A request with this idempotency key was carried out before; nothing was done again. `fingerprint`
    is of what it asked for, `ids` are the records that it concerned.
    """

    def __init__(self, fingerprint: bytes, ids: Sequence[str]) -> None:
        super().__init__(
            "a request with this idempotency key was carried out before: nothing was done again"
        )
        self.fingerprint = fingerprint
        self.ids = list(ids)


class MissingExtraError(HardwonError):
    """A package that Hardwon does without until it is asked for is not installed. The message holds
    the command.
    """


def how_to_install(extra: str) -> str:
    """The command that brings an extra. Hardwon is on no package index: it comes from a checkout."""
    return f"in a checkout of Hardwon: pip install '.[{extra}]'"


class EmbeddingError(HardwonError):
    """An embedder gave no vectors that can be used. The message names it, what it did and what is
    wanted. Correct it where it is your own; otherwise try again later, or go on without one: text
    search needs none. Nothing was changed.
    """
