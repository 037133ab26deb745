"""A disk that remembers what it was told, in order, and what it may hold after the power was cut.

Nothing is promised but what a sync promises: the bytes of a file that was synced are there, and the
names in a folder that was synced. Of everything after that, each piece may be there or not,
whatever came before or after it: a write may have reached the disk in part, sector by sector; a
file may have grown without its bytes; a name may be missing, or one that was removed may be back.
Only a rename is one step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

SECTOR_BYTES: Final = 512
ROOT: Final = 0
"""The number of the folder that everything happens in."""


class Write(NamedTuple):
    file: int
    offset: int
    data: bytes
    mtime_ns: int = 0


class Cut(NamedTuple):
    """The file is so long from now on."""

    file: int
    size: int


class Named(NamedTuple):
    """A file or folder has a name in a folder: it was made, or linked."""

    folder: int
    name: str
    file: int


class Removed(NamedTuple):
    folder: int
    name: str


class Renamed(NamedTuple):
    folder: int
    name: str
    to_folder: int
    to_name: str


class Synced(NamedTuple):
    """Of a file its bytes, of a folder its names."""

    file: int


class SyncedAll(NamedTuple):
    pass


Operation = Write | Cut | Named | Removed | Renamed | Synced | SyncedAll
OfBytes = Write | Cut
OfNames = Named | Removed | Renamed

Damage = Literal["none", "dropped", "in order", "reordered", "torn", "grown"]
DAMAGES: Final[tuple[Damage, ...]] = ("none", "dropped", "in order", "reordered", "torn", "grown")
"""What becomes of what was not synced: all of it is there; nothing; as much as was written first;
any part of it; any part of it, with writes that are there in part; or files that have their lengths
without their bytes.
"""


@dataclass
class History:
    """Everything that happened on the disk."""

    operations: list[Operation] = field(default_factory=list)
    folders: set[int] = field(default_factory=lambda: {ROOT})
    modes: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.operations)


@dataclass
class State:
    """What the disk holds when the machine starts again."""

    contents: dict[int, bytearray] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})

    def tree(self, folders: set[int]) -> Iterator[tuple[str, int]]:
        """Every path that leads somewhere, a folder before what is in it."""
        waiting = [("", ROOT)]
        while waiting:
            path, folder = waiting.pop()
            for name, file in self.names.get(folder, {}).items():
                inner = f"{path}/{name}" if path else name
                yield inner, file
                if file in folders:
                    waiting.append((inner, file))

    def put(self, root: Path, history: History) -> None:
        """Makes the files and folders, in a folder that is empty. What has two names is two files:
        nobody writes to either.
        """
        import os

        for path, file in self.tree(history.folders):
            target = f"{root}/{path}"
            mode = history.modes.get(file, 0o600)
            if file in history.folders:
                os.mkdir(target, mode)  # noqa: PTH102  # tens of thousands of these
                continue
            handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
            try:
                os.write(handle, self.contents.get(file, b""))
                if file in self.times:
                    os.utime(handle, ns=(self.times[file], self.times[file]))
            finally:
                os.close(handle)

    def apply(self, operation: OfBytes | OfNames) -> None:
        if isinstance(operation, Write):
            self._write(operation.file, operation.offset, operation.data, operation.mtime_ns)
        elif isinstance(operation, Cut):
            self._cut(operation)
        else:
            self._name(operation)

    def _write(self, file: int, offset: int, data: bytes, mtime_ns: int) -> None:
        content = self.contents.setdefault(file, bytearray())
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        content[offset : offset + len(data)] = data
        if mtime_ns:
            self.times[file] = mtime_ns

    def _cut(self, operation: Cut) -> None:
        content = self.contents.setdefault(operation.file, bytearray())
        if len(content) > operation.size:
            del content[operation.size :]
        else:
            content.extend(bytes(operation.size - len(content)))

    def _name(self, operation: OfNames) -> None:
        names = self.names.setdefault(operation.folder, {})
        if isinstance(operation, Named):
            names[operation.name] = operation.file
        elif isinstance(operation, Removed):
            names.pop(operation.name, None)
        elif operation.name in names:  # else what it renames never got that name, or lost it
            self.names.setdefault(operation.to_folder, {})[operation.to_name] = names.pop(
                operation.name
            )

    def apply_sectors(self, write: Write, chosen: Callable[[], bool]) -> None:
        """Those sectors of a write that are chosen. The file is as long as the last of them
        needs.
        """
        at, end = write.offset, write.offset + len(write.data)
        while at < end:
            upto = min(end, (at // SECTOR_BYTES + 1) * SECTOR_BYTES)
            if chosen():
                self._write(
                    write.file,
                    at,
                    write.data[at - write.offset : upto - write.offset],
                    write.mtime_ns,
                )
            at = upto

    def grow(self, write: Write) -> None:
        """The file is as long as the write made it; what is new of it is zeros."""
        end = write.offset + len(write.data)
        content = self.contents.setdefault(write.file, bytearray())
        if len(content) < end:
            content.extend(bytes(end - len(content)))


def _owner(operation: OfBytes | OfNames) -> int:
    """Whose sync makes it durable. A rename is looked for in the folder that it ends in: ours are
    all within one.
    """
    return operation.file if isinstance(operation, Write | Cut) else operation.folder


def divided(
    operations: Sequence[Operation],
) -> tuple[list[OfBytes | OfNames], list[OfBytes | OfNames]]:
    """What is certainly on disk when the power goes after these operations, and what may be."""
    last: dict[int, int] = {}
    everything = -1
    for number, operation in enumerate(operations):
        if isinstance(operation, Synced):
            last[operation.file] = number
        elif isinstance(operation, SyncedAll):
            everything = number
    certain: list[OfBytes | OfNames] = []
    open_: list[OfBytes | OfNames] = []
    for number, operation in enumerate(operations):
        if not isinstance(operation, Synced | SyncedAll):
            durable = number < max(everything, last.get(_owner(operation), -1))
            (certain if durable else open_).append(operation)
    return certain, open_


def whole(operations: Sequence[Operation]) -> State:
    """What the disk holds where nothing goes wrong."""
    state = State()
    for operation in operations:
        if not isinstance(operation, Synced | SyncedAll):
            state.apply(operation)
    return state


def after_power_loss(
    operations: Sequence[Operation], of_bytes: Damage, of_names: Damage, rng: random.Random
) -> State:
    """One of the states that the disk may be in when the power goes after these operations."""
    certain, open_ = divided(operations)
    state = State()
    for operation in certain:
        state.apply(operation)
    kept_bytes = _chooser(of_bytes, sum(isinstance(each, Write | Cut) for each in open_), rng)
    kept_names = _chooser(of_names, sum(not isinstance(each, Write | Cut) for each in open_), rng)
    for operation in open_:
        if not isinstance(operation, Write | Cut):
            if kept_names():
                state.apply(operation)
        elif isinstance(operation, Write) and of_bytes == "grown":
            if kept_bytes():
                state.grow(operation)
        elif isinstance(operation, Write) and of_bytes == "torn":
            _tear(state, operation, rng)
        elif kept_bytes():
            state.apply(operation)
    return state


def _chooser(damage: Damage, count: int, rng: random.Random) -> Callable[[], bool]:
    """Whether the next of so many pieces is there."""
    if damage == "none":
        return lambda: True
    if damage == "dropped":
        return lambda: False
    if damage == "in order":
        left = iter(range(rng.randint(0, count)))
        return lambda: next(left, None) is not None
    share = rng.choice((0.1, 0.5, 0.9))
    return lambda: rng.random() < share


def _tear(state: State, write: Write, rng: random.Random) -> None:
    """There, not there, the beginning of it, the end of it, half of it to the byte, or any of its
    sectors.
    """
    manner = rng.randrange(6)
    sectors = (
        (write.offset + len(write.data) - 1) // SECTOR_BYTES - write.offset // SECTOR_BYTES + 1
    )
    if manner == 0:
        state.apply(write)
    elif manner == 1:
        return
    elif manner == 2:
        first = iter(range(rng.randint(0, sectors)))
        state.apply_sectors(write, lambda: next(first, None) is not None)
    elif manner == 3:
        missing = iter(range(rng.randint(0, sectors)))
        state.apply_sectors(write, lambda: next(missing, None) is None)
    elif manner == 4:
        state.apply(write._replace(data=write.data[: len(write.data) // 2]))
    else:
        state.apply_sectors(write, lambda: rng.random() < 0.5)
