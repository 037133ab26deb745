"""Contents and summaries of generated memories, none like another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Final, TypeVar

from hardwon import limits
from hardwon.datasets.areas import Entry
from hardwon.datasets.realism import fingerprint
from hardwon.datasets.shapes import SHAPES, Shape
from hardwon.datasets.words import GROUPS, NUMBERS

T = TypeVar("T")

_SLOT: Final = re.compile(r"\{(\w+)\}")
_GROUP_OF_SLOT: Final = {slot: number for number, group in enumerate(GROUPS) for slot in group[0]}
_TRIES: Final = 200
_COUNTER_CHARS: Final = 6
_TELLING: Final = ("component", "function", "noun", "feature")
_SMALL_WORDS: Final = frozenset("a an the and or of in on at to for from by with so that it its is was are be as".split())


def pick(random: Random, items: Sequence[T]) -> T:
    """By `random()` alone: it is the one method whose results Python promises to keep."""
    return items[int(random.random() * len(items))]


class Scene:
    """What one memory is about. A slot that is named twice is filled alike, and slots of one entry come from the same."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._entries: dict[int, Entry] = {}
        self._values: dict[str, str] = {}

    def fill(self, text: str) -> str:
        parts = _parts(text)
        return "".join([part if index % 2 == 0 else self.value(part) for index, part in enumerate(parts)])

    def told(self, text: str) -> str:
        """Like `fill`, with nothing that is not part of the content already."""
        parts = _parts(text)
        return "".join([part if index % 2 == 0 else self._values.get(part, "") for index, part in enumerate(parts)])

    def value(self, slot: str) -> str:
        if slot not in self._values:
            self._values[slot] = self._draw(slot)
        return self._values[slot]

    def _draw(self, slot: str) -> str:
        if slot in NUMBERS:
            least, most = NUMBERS[slot]
            return str(least + int(self._random.random() * (most - least + 1)))
        group = _GROUP_OF_SLOT[slot]
        if group not in self._entries:
            self._entries[group] = pick(self._random, GROUPS[group])
        return self.fill(pick(self._random, self._entries[group][slot]))


@cache
def _parts(text: str) -> tuple[str, ...]:
    """Literal text and names of slots in turn."""
    return tuple(_SLOT.split(text))


class Writer:
    """Writes one memory after the other and remembers what was said."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._said: set[str] = set()
        self._summaries: set[str] = set()
        self._counters: dict[str, int] = {}

    def write(self, route: tuple[str, ...]) -> tuple[str, str]:
        """A content for the outcome, tool and routing value, and its summary."""
        for _ in range(_TRIES):
            shape = pick(self._random, SHAPES[route])
            scene = Scene(self._random)
            content = scene.fill(shape.text)
            said = fingerprint(content)
            if said not in self._said:
                self._said.add(said)
                break
        return content, self._summary(shape, scene)

    def _summary(self, shape: Shape, scene: Scene) -> str:
        """From words of the content. Where that says too little to be the only one, more of them; then a counter."""
        name = _slug(scene.told(shape.summary))
        for slot in (shape.apart, *_TELLING):
            if name not in self._summaries:
                break
            name = _slug(f"{name} {scene.told('{' + slot + '}')}")
        if name in self._summaries:
            self._counters[name] = self._counters.get(name, 1) + 1
            return f"{name}_{self._counters[name]}"  # no other name ends in a number
        self._summaries.add(name)
        return name


def _slug(text: str) -> str:
    """Lowercase words joined by underscores, the last of them no number, short enough for a counter to follow."""
    words = dict.fromkeys(word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _SMALL_WORDS)
    room = limits.SUMMARY_CHARS_MAX - _COUNTER_CHARS
    name = ""
    for word in words:
        longer = f"{name}_{word}" if name else word
        if len(longer) > room:
            break
        name = longer
    return re.sub(r"(_\d+)+$", "", name)
