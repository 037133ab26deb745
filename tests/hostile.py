"""Texts that are made to slow a pattern down; every pattern and every function that reads texts.

For each repeat of a pattern: what leads there, what it takes, many times over, and a sign that it
does not expect. Others are put together by chance.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import random
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from inspect import signature
from types import ModuleType
from typing import Any, Final, NamedTuple

from hardwon.errors import InvalidInputError
from hardwon.text.tables import Forms, Patterns

# how Python itself reads a pattern; it has no types
op: Any = importlib.import_module("re._constants")
_parser: Any = importlib.import_module("re._parser")

_Node = tuple[Any, Any]
_REPEATS: Final = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_SETS: Final = (op.IN, op.NOT_LITERAL, op.ANY)
_CATEGORIES: Final = {
    op.CATEGORY_DIGIT: re.compile(r"\d"),
    op.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    op.CATEGORY_SPACE: re.compile(r"\s"),
    op.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    op.CATEGORY_WORD: re.compile(r"\w"),
    op.CATEGORY_NOT_WORD: re.compile(r"\W"),
}
# what a set is tried with; ordinary signs first, so that they stand for the others
_FIRST: Final = "aA1 -_.x\n\t/\"'"
_OTHERS: Final = {*map(chr, range(128)), "é", "密", "\u2019", "\u00a0", "\u00a4"}
_SIGNS: Final = [*_FIRST, *sorted(_OTHERS - set(_FIRST))]
_UNEXPECTED: Final = "\x01"


class Recipe(NamedTuple):
    """A text of any length: how it starts, what is repeated, and how it ends."""

    start: str
    body: str
    end: str = ""

    def write(self, length: int) -> str:
        times = (length - len(self.start) - len(self.end)) // len(self.body)
        return self.start + self.body * max(1, times) + self.end


class Attacker:
    """Makes recipes against one pattern."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._tree = _parser.parse(pattern.pattern, pattern.flags)
        self._ignores_case = bool(pattern.flags & re.IGNORECASE)
        self._dot_takes_all = bool(pattern.flags & re.DOTALL)
        self._groups: dict[int, str] = {}
        sets, literals, words = list[_Node](), set[str](), set[str]()
        self._collect(self._tree, sets, literals, words)
        alphabet: dict[tuple[object, ...], str] = {}
        for sign in _SIGNS:
            taken_by = tuple(self._takes(node, sign) for node in sets)
            alphabet.setdefault((*taken_by, sign if sign in literals else ""), sign)
        self.alphabet = list(alphabet.values())
        self._words = sorted(words)

    def make_recipes(self, by_chance: int, rng: random.Random) -> list[Recipe]:
        """One or more for every repeat, and as many more as are asked for, each once."""
        recipes = dict.fromkeys(Recipe("", sign) for sign in self.alphabet)
        spots = list(self._find_spots(self._tree, ""))
        for before, body in spots:
            if body:
                recipes[Recipe(before, body)] = recipes[Recipe(before, body, _UNEXPECTED)] = None
                recipes[Recipe("", before + body)] = recipes[Recipe("", before + body * 20)] = None
                recipes[Recipe("", body, before)] = None
            elif before:
                recipes[Recipe("", before)] = None
        parts_of_spots = {part for spot in spots for part in spot if 0 < len(part) < 60}
        words = sorted({*self._words, *parts_of_spots})
        for _ in range(by_chance):
            pool = [self.alphabet, self.alphabet, words or self.alphabet]
            parts = [rng.choice(rng.choice(pool)) for _ in range(rng.choice((1, 2, 2, 3, 4)))]
            start, end = ("", *words)[rng.randrange(len(words) + 1)], rng.choice(self.alphabet)
            recipes[Recipe(start, "".join(parts), rng.choice(("", end, _UNEXPECTED)))] = None
        return list(recipes)

    def _collect(
        self, nodes: Iterable[_Node], sets: list[_Node], literals: set[str], words: set[str]
    ) -> None:
        """Every set of signs; the literals at which a repeat may begin or end; every run of literals."""
        word, beside_repeat = "", True
        for kind, value in nodes:
            if kind is op.LITERAL:
                word += chr(value)
                if beside_repeat:
                    literals.add(word[-1])
            elif word:
                words.add(word)
                literals |= {word[-1]} if kind in _REPEATS else set()
                word = ""
            if kind in _SETS:
                sets.append((kind, value))
            for inner in _inner(kind, value):
                self._collect(inner, sets, literals, words)
                words.add(self._sample(inner))
            beside_repeat = kind in _REPEATS
        words.add(word)
        words.discard("")

    def _takes(self, node: _Node, sign: str) -> bool:
        kind, value = node
        ways = {sign, *sign.lower(), *sign.upper()} if self._ignores_case else {sign}
        if kind is op.ANY:
            return sign != "\n" or self._dot_takes_all
        if kind is op.LITERAL:
            return any(ord(way) == value for way in ways)
        if kind is op.NOT_LITERAL:
            return all(ord(way) != value for way in ways)
        hit, negated = False, False
        for part, detail in value if kind is op.IN else ():
            negated |= part is op.NEGATE
            if part is op.LITERAL:
                hit |= any(ord(way) == detail for way in ways)
            elif part is op.RANGE:
                hit |= any(detail[0] <= ord(way) <= detail[1] for way in ways)
            elif part is op.CATEGORY:
                hit |= _CATEGORIES[detail].match(sign) is not None
        return hit != negated

    def _sample(self, nodes: Iterable[_Node], before: str = "") -> str:
        """What comes before, and behind it one text that these nodes take."""
        text = before
        for kind, value in nodes:
            if kind is op.LITERAL:
                text += chr(value)
            elif kind in _SETS:
                text += next((sign for sign in _SIGNS if self._takes((kind, value), sign)), "一")
            elif kind in _REPEATS:
                text += self._sample(value[2]) * min(max(value[0], 1), 300)
            elif kind is op.SUBPATTERN:
                taken = self._sample(value[3])
                self._groups |= {value[0]: taken} if value[0] is not None else {}
                text += taken
            elif kind is op.ATOMIC_GROUP:
                text += self._sample(value)
            elif kind is op.BRANCH:
                text += self._sample(value[1][0])
            elif kind is op.GROUPREF:
                text += self._groups.get(value, "")
            elif kind is op.ASSERT and value[0] < 0:
                behind = self._sample(value[1])
                text = behind if behind.endswith(text) else text
        return text

    def _find_spots(self, nodes: Iterable[_Node], before: str) -> Iterator[tuple[str, str]]:
        """For every repeat what leads there and what it takes; for other ends what leads there."""
        for kind, value in nodes:
            if kind in _REPEATS:
                first, *more = value[2]
                if more or first[0] not in (*_SETS, op.LITERAL):
                    yield before, self._sample(value[2])
                    yield from self._find_spots(value[2], before)
                else:
                    taken = [sign for sign in self.alphabet if self._takes(first, sign)]
                    yield from ((before, sign) for sign in taken)
            else:
                for inner in _inner(kind, value):
                    yield from self._find_spots(inner, before)
                    if kind is op.BRANCH:
                        yield self._sample(inner, before), ""
            before = self._sample([(kind, value)], before)
        yield before, ""


def _inner(kind: object, value: Any) -> list[Iterable[_Node]]:
    """The parts of a node that are made of nodes."""
    if kind in _REPEATS:
        return [value[2]]
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.ATOMIC_GROUP:
        return [value]
    if kind is op.BRANCH:
        return list(value[1])
    return [value[1]] if kind in (op.ASSERT, op.ASSERT_NOT) else []


# At a place that the caller names; all others look for a place.
_AT_A_PLACE: Final = frozenset({"match", "fullmatch"})
_METHODS: Final = _AT_A_PLACE | {"search", "finditer", "findall", "sub", "subn", "split"}


class UsedPattern(NamedTuple):
    """A pattern, where it is, and how it is used: at a place, or wherever it matches."""

    name: str
    pattern: re.Pattern[str]
    methods: frozenset[str]

    def run(self, text: str) -> None:
        if self.methods <= _AT_A_PLACE:
            for method in self.methods:
                getattr(self.pattern, method)(text)
        else:
            deque(self.pattern.finditer(text), maxlen=0)


def find_modules(*packages: str) -> Iterator[ModuleType]:
    for package in map(importlib.import_module, packages):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(module.name)


def find_patterns(*packages: str) -> list[UsedPattern]:
    """Every pattern that the modules of these packages hold, in whatever, or make in a function
    without parameters, or write where they use it. Of a table of patterns those that are asked for
    by name: the others are parts of these.
    """
    modules = list(find_modules(*packages))
    uses, patterns = _find_uses(modules), list[UsedPattern]()
    for module in modules:
        values = [(f"{module.__name__} {name}", value) for name, value in vars(module).items()]
        while values:
            name, value = values.pop()
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                methods = uses.get((id(value), ""), {"search"})
                patterns.append(UsedPattern(name, value, frozenset(methods)))
            elif isinstance(value, Patterns):
                asked = {key[1]: uses[key] for key in uses if key[0] == id(value)}
                for attribute, methods in asked.items():
                    pattern, ways = getattr(value, attribute), frozenset(methods)
                    patterns.append(UsedPattern(f"{name}.{attribute}", pattern, ways))
            elif not name.endswith("__"):
                values += _open(name, value)
        for source, method in _find_written(module):
            where, ways = f"{module.__name__} {source!r}", frozenset({method})
            patterns.append(UsedPattern(where, re.compile(source), ways))
    # one that several modules use is one, and used in all these ways
    once: dict[tuple[str, int], UsedPattern] = {}
    for used in patterns:
        known = once.setdefault((used.pattern.pattern, used.pattern.flags), used)
        both = known._replace(methods=known.methods | used.methods)
        once[used.pattern.pattern, used.pattern.flags] = both
    return list(once.values())


def _open(name: str, value: object) -> list[tuple[str, object]]:
    """What is in a value, with a name of its own; nothing where it is no container."""
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return [(f"{name}[{place}]", item) for place, item in enumerate(value)]
    if isinstance(value, Forms):
        return [(f"{name} {form.row['triggers'][0]!r}", form.pattern) for form in value.all]
    if callable(value) and hasattr(value, "cache_info") and not signature(value).parameters:
        return [(f"{name}()", value())]
    return []


def _find_uses(modules: Iterable[ModuleType]) -> dict[tuple[int, str], set[str]]:
    """The methods that are asked of a global pattern, or an attribute of a table of patterns."""
    uses = dict[tuple[int, str], set[str]]()
    for module in modules:
        holders = vars(module)
        tree = ast.walk(ast.parse(inspect.getsource(module)))
        attributes = [node for node in tree if isinstance(node, ast.Attribute)]
        asked = {id(node.value): node.attr for node in attributes if node.attr in _METHODS}
        for node in attributes:
            held = holders.get(node.value.id) if isinstance(node.value, ast.Name) else None
            if isinstance(held, re.Pattern) and node.attr in _METHODS:
                uses.setdefault((id(held), ""), set()).add(node.attr)
            elif isinstance(held, Patterns) and node.attr in held._sources:
                # what is handed on may be used in any way
                uses.setdefault((id(held), node.attr), set()).add(asked.get(id(node), "search"))
    return uses


def _find_written(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Patterns that stand where they are used: `re.split(r"[:.]", text)`."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in _METHODS
            and isinstance(source := node.args[0], ast.Constant)
        ):
            yield str(source.value), node.func.attr


# What is passed to a parameter, by how it is annotated; the text where there is nothing here.
_PASSED: Final[dict[str, object]] = {
    "int": 1_000,
    "datetime": datetime(2026, 11, 14, tzinfo=UTC),
    "Collection[str]": frozenset({"token", "fail", "a"}),
    "Literal['NFC', 'NFKC']": "NFKC",
    'Literal["NFC", "NFKC"]': "NFKC",
}


class Reader(NamedTuple):
    """A public function that is called with a text."""

    name: str
    function: Callable[..., object]
    annotations: tuple[str, ...]

    def run(self, text: str) -> None:
        with suppress(InvalidInputError):  # to refuse a text is an answer, too
            answer = self.function(*(_PASSED.get(kind, text) for kind in self.annotations))
            if isinstance(answer, Iterator):
                deque(answer, maxlen=0)


def find_readers(*packages: str) -> list[Reader]:
    """The public functions of these packages that can be called with texts."""
    readers = []
    for module in find_modules(*packages):
        for name, function in vars(module).items():
            if name.startswith("_") or getattr(function, "__module__", "") != module.__name__:
                continue
            if isinstance(function, type) or not callable(function):
                continue
            annotations = tuple(
                str(parameter.annotation)
                for parameter in signature(function).parameters.values()
                if parameter.default is parameter.empty
            )
            if "str" in annotations and {"str", *_PASSED}.issuperset(annotations):
                readers.append(Reader(f"{module.__name__} {name}", function, annotations))
    return readers
