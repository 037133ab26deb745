"""What is made when it is used first, without a lock that a fork could leave behind locked.

A child has only the thread that forked: a lock that another thread held stays locked in it for
ever. `functools.cached_property` of Python 3.11 has such a lock; here, two threads may make a value
at once, and one of them is kept. What takes a lock that is not ours (pydantic's, a module's that is
imported late) is made under `making`, for which a fork waits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, Generic, Self, TypeVar, overload

T = TypeVar("T")

making: Final = threading.RLock()
os.register_at_fork(
    before=making.acquire, after_in_parent=making.release, after_in_child=making.release
)


class Later:
    """A module that is imported when something of it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        with making:
            value = getattr(import_module(self._module), name)
        setattr(self, name, value)  # the next time nobody comes by here
        return value


class lazy(Generic[T]):  # noqa: N801  # it is used like `property`
    """An attribute that is computed when it is asked for first, and kept in the object."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value = self._make(instance)
        instance.__dict__[self._name] = value  # not by assignment: the object may be frozen
        return value
