"""How much is tried: less in `make test`, all in `make torture`; and a corpus as one test."""

from __future__ import annotations

import inspect
import os
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

TORTURE = bool(os.environ.get("HARDWON_TORTURE"))
"""`make torture` runs the same tests for longer."""

Test = Callable[..., None]


def examples(number: int) -> int:
    """Of so many that Hypothesis may make, an eighth, unless there is time for all."""
    return number if TORTURE else max(number // 8, 5)


def each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, as one test that tries every row and lists those that failed.

    For what needs no fixture of its own for each row: a test has a price, and a corpus has hundreds
    of rows.
    """
    all_names = (names,) if isinstance(names, str) else names
    all_rows = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    assert all_rows

    def of(test: Test) -> Test:
        def tried(**fixtures: Any) -> None:
            failed = []
            for row in all_rows:
                try:
                    test(**fixtures, **dict(zip(all_names, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # the other rows are tried all the same
                    failed.append(f"{row!r}\n{type(error).__name__}: {error}")
            assert not failed, f"{len(failed)} of {len(all_rows)} failed:\n\n" + "\n\n".join(failed)

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in all_names]
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(tried, name, getattr(test, name))
        tried.pytestmark = getattr(test, "pytestmark", [])  # type: ignore[attr-defined]
        tried.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return tried

    return of


def seed_of_the_run() -> int:
    """The same in every ordinary run; the long runs draw a new one each time."""
    return random.SystemRandom().randrange(2**32) if TORTURE else 20261116
