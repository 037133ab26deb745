"""Where a memory belongs in a tree of folders, and where to look for it. Pure: paths are text here, nothing is opened.

A schema asks one key after the other. `{"outcome": {"failure": {"tool": {"web_search": None}}}}` files whatever has these two
values under `outcome=failure/tool=web_search`. Each level is a mapping with one key, whose value maps branches to what follows:
a further level, or a leaf. A branch takes a value when it is

    failure                 the same text (`true`, `false` and numbers are written the one way JSON would write them)
    >100 >=100 <50 <=50     a number beyond that
    10-100                  a number in that range, both ends included
    r/v[0-9]+/              a text that the regular expression matches from beginning to end
    a|b|>100                any of these texts or numbers
    (empty text)            no value at all: the packet has no such key. It adds no folder

A text that is the same wins; after that the first branch that takes the value, in the order written. A number's folder is named
by its branch (`altitude=gt_100`), every other one by its value.

A leaf is None, empty, or a template that adds folders, and may name the file: `error_type={error_type=unknown}/{host}`,
`{timestamp}_{summary}.json`. A placeholder is replaced by the packet's value of that key, made safe; what follows `=` in it is
for packets that have none.

Values are whatever somebody typed. `safe_segment` makes each one part of a single folder's name, so that no value leads out of
the root, and no two values share a folder, not even where the file system folds case or normalises Unicode.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from operator import ge, gt, le, lt
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError, Problem
from hardwon.records.fields import ABSENT, check_that, now
from hardwon.records.kinds import OUTCOMES, ROUTES, SUMMARY_FROM_CONTENT_CHARS, safe_summary
from hardwon.text.terms import ROUTED_NUMBER_CHARS_MAX, spell
from hardwon.tree.topology import Reflection, name_area

# A value that names a folder as it is. Longer ones are cut and told apart by a hash: a path has to
# stay readable.
SEGMENT_CHARS_MAX: Final = 60

# A key that names a folder as it is: with `=` and the longest value the name stays within
# SEGMENT_BYTES_MAX.
SEGMENT_KEY_CHARS_MAX: Final = 38

# One folder's name: encrypting file systems leave 143 of the usual 255.
SEGMENT_BYTES_MAX: Final = 99

# How much of a value can be read in a name that ends in its hash.
SEGMENT_SLUG_CHARS_MAX: Final = 27

# The hash of such a value, in ten hex digits: of ten thousand folders, two share a name once in
# twenty thousand trees.
SEGMENT_HASH_BYTES: Final = 5

# How much of a value is looked at for the readable part of its name; normalising takes the square
# of it.
SEGMENT_READ_CHARS: Final = 200

# Folders below one another in a routing schema, templates included.
SCHEMA_DEPTH_MAX: Final = 12

# Branches of one routing schema, all levels together: more is data, for which a template has a
# placeholder.
SCHEMA_BRANCHES_MAX: Final = 10_000

# One branch, template or key of a routing schema.
BRANCH_CHARS_MAX: Final = 200

# A value that a branch's regular expression is tried on; a longer one it does not take.
REGEX_VALUE_CHARS_MAX: Final = 100

# Ways to try a branch's regular expression on one value, counted generously: four open repeats. Two
# seconds at worst.
REGEX_WAYS_MAX: Final = REGEX_VALUE_CHARS_MAX**4

# where a packet goes that lacks a key which the schema asks for
MISSING_METADATA: Final = "_intake/missing_metadata"
NO_MATCH: Final = "_intake/no_match"  # where a packet goes that has a value no branch takes


_PLAIN: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{SEGMENT_CHARS_MAX - 1}}}(?<!\.)")
_PLAIN_KEY: Final = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{SEGMENT_KEY_CHARS_MAX - 1}}}")
_PLAIN_SEGMENT: Final = re.compile(rf"[a-z0-9][a-z0-9._=~-]{{0,{SEGMENT_BYTES_MAX - 1}}}(?<!\.)")
_HASHED: Final = re.compile(
    rf"[a-z0-9][a-z0-9_-]{{0,{SEGMENT_SLUG_CHARS_MAX - 1}}}~[0-9a-f]{{{2 * SEGMENT_HASH_BYTES}}}"
)
# on Windows, whatever the extension
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_NOT_SLUG: Final = re.compile(r"[^a-z0-9_]+")


def safe_segment(text: str, harmless: re.Pattern[str] = _PLAIN) -> str:
    """The text as (part of) one folder's name: itself where it is short, lowercase and harmless,
    otherwise what can be read of it and a hash of all of it.
    """
    if harmless.fullmatch(text) and not _RESERVED.fullmatch(text):
        return text
    read = unicodedata.normalize("NFKD", text[:SEGMENT_READ_CHARS])
    plain = read.encode("ascii", "ignore").decode().lower()
    slug = _NOT_SLUG.sub("-", plain).lstrip("_-")[:SEGMENT_SLUG_CHARS_MAX].rstrip("_-")
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SEGMENT_HASH_BYTES)
    return f"{slug or 'x'}~{digest.hexdigest()}"


# The same for a key, which has less room and no dots.
safe_key: Final = partial(safe_segment, harmless=_PLAIN_KEY)


def _key_name(text: str) -> str:
    """A schema's key as its folders spell it. One that ends in a hash was read off a folder, and is
    that spelling.
    """
    return text if _HASHED.fullmatch(text) else safe_key(text)


def values_in(folder: str) -> dict[str, str]:
    """The keys and values that a relative path's folders tell, as they are spelled there. Of a key
    that comes twice, the first counts.
    """
    values: dict[str, str] = {}
    for segment in folder.split("/"):
        key, equals, value = segment.partition("=")
        if key and equals and value:
            values.setdefault(key, value)
    return values


def file_name(at: datetime, summary: str, unique: str) -> str:
    """What a memory's file is called: when in UTC, about what, and what tells it from others of the
    same second.
    """
    return f"{_stamp(at)}_{safe_summary(summary)}_{safe_segment(unique)}.json"


def _stamp(at: datetime) -> str:
    if at.utcoffset() is None:
        raise InvalidInputError.one("at", at, "a time with its zone")
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError.one("at", at, "a time that is a date in UTC as well") from None
    return f"{at.year:04}{at.month:02}{at.day:02}_{at.hour:02}{at.minute:02}{at.second:02}"


_Test = Callable[[str, Decimal | None], bool]  # of a value's text and number

_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?", re.IGNORECASE)
_PREDICATE: Final = re.compile(r"([<>]=?)\s*(-?[0-9]{1,17}(?:\.[0-9]{1,9})?)")
_RANGE: Final = re.compile(r"(-?[0-9]{1,17}(?:\.[0-9]{1,9})?)-(-?[0-9]{1,17}(?:\.[0-9]{1,9})?)")
_PREDICATE_NAME: Final = re.compile(r"([gl])(te?|e)_(-?[0-9]{1,17}(?:\.[0-9]{1,9})?)")
# as folders name them
_COMPARISONS: Final[Mapping[str, tuple[str, Callable[[Any, Any], bool]]]] = {
    ">": ("gt", gt), ">=": ("gte", ge), "<": ("lt", lt), "<=": ("lte", le),
}  # fmt: skip


def _plainly(number: Decimal) -> str:
    return f"{(number + 0).normalize():f}"  # -0 and 0 are one


def _number_test(text: str, where: str) -> tuple[_Test, str] | None:
    """The predicate or range that a branch spells, with its folder's name; None where it is a text
    to be equal to.
    """
    if spelling := _PREDICATE.fullmatch(text):
        bound, (comparison, compare) = Decimal(spelling[2]), _COMPARISONS[spelling[1]]
        name = f"{comparison}_{_plainly(bound)}"
        return lambda _, number: number is not None and compare(number, bound), name
    allowed = "a comparison with a number, such as >100, >=1.5, <-3 or <=50"
    check_that(not text.startswith((">", "<")), where, text, allowed)
    if ends := _RANGE.fullmatch(text):
        low, high = Decimal(ends[1]), Decimal(ends[2])
        allowed = f"a range from the smaller number to the larger; the text itself is written r/{re.escape(text)}/"
        check_that(low <= high, where, text, allowed)
        name = f"{_plainly(low)}-{_plainly(high)}"
        return lambda _, number: number is not None and low <= number <= high, name
    return None


def _regex_test(branch: str, where: str) -> _Test:
    allowed = "a regular expression between slashes: r/v[0-9]+/"
    check_that(len(branch) >= 3 and branch.endswith("/"), where, branch, allowed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of what the next Python may read in another way
            match = re.compile(branch[2:-1]).fullmatch
    except (re.error, OverflowError, RecursionError, Warning) as error:
        allowed = f"a regular expression that Python knows ({error})"
        raise InvalidInputError.one(where, branch, allowed) from None
    allowed = (
        "a simpler regular expression: few open repeats, and none of a group; a hostile value "
        "could keep this one busy for ever"
    )
    check_that(_count_ways(branch[2:-1]) <= REGEX_WAYS_MAX, where, branch, allowed)
    return lambda text, _: len(text) <= REGEX_VALUE_CHARS_MAX and match(text) is not None


_ESCAPE_OR_SET: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_OPEN_REPEAT: Final = re.compile(r"[*+]|\{[0-9]*,[0-9]*\}")


def _count_ways(source: str) -> float:
    """In how many ways at most a regular expression can be tried on one value, counted generously.
    Each open repeat multiplies them by the value's length, an optional part by two, a group by its
    alternatives; a repeat of a group may make the time grow beyond all bounds.
    """
    plain = _ESCAPE_OR_SET.sub("x", source).replace("(?", "(")
    if re.search(r"\)[*+{]", plain):
        return math.inf
    repeats: int = REGEX_VALUE_CHARS_MAX ** len(_OPEN_REPEAT.findall(plain))
    groups: int = (plain.count("|") + 1) ** max(plain.count("("), 1)
    optional: int = 2 ** plain.count("?")
    return repeats * groups * optional


class Route(NamedTuple):
    """The folder below the root, and what is wrong where that is one of the intake's."""

    folder: str
    problem: Problem | None = None


class _Unroutable(Exception):  # noqa: N818  # never leaves this module
    """Its arguments are those of the route to the intake."""


# One segment of a template: plain texts, and the key and default of placeholders beside them.
_Parts = list[tuple[str, str, str]]
_Asked = Mapping[str, str | None]  # the intent, each value spelled


@dataclass(slots=True, eq=False)
class _Leaf:
    """The end of the way: what its template adds."""

    segments: list[_Parts]
    stem: _Parts | None = None  # the file's name without .json, where the template gives one

    def shapes(self, asked: _Asked, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """The sequence of folders as a glob, `*` for what the intent does not say."""
        for parts in self.segments:
            is_known = all(asked.get(key) is not None for _, key, _ in parts if key)
            path = (*path, _fill(parts, asked.get) if is_known else "*")
        yield path


@dataclass(slots=True, eq=False)
class _Node:
    """One level: a key and its branches."""

    key: str
    prefix: str  # of its folders
    branches: list[str] = field(default_factory=list)  # as they are written
    # by the folder's name, which no two texts share
    exact: dict[str, _Node | _Leaf] = field(default_factory=dict)
    # Branches that take more than one text, or one of several: the test, the folder's name where
    # the value does not give it, and what follows.
    others: list[tuple[_Test, str | None, _Node | _Leaf]] = field(default_factory=list)
    absent: _Node | _Leaf | None = None

    def add(self, text: str, below: _Node | _Leaf, where: str) -> None:
        """A further branch."""
        self.branches.append(text)
        if not text:
            self.absent = below
            return
        if text.startswith("r/"):
            self.others.append((_regex_test(text, where), None, below))
            return
        parts = [part.strip() for part in text.split("|")] if "|" in text else [text]
        sound = all(part and not part.startswith("r/") for part in parts)
        check_that(sound, where, text, "texts and numbers between the bars: a|b|>100")
        tests = [_number_test(part, where) for part in parts]
        if tests == [None]:
            # one that ends in a hash was read off a folder, and is the name of that
            name = text if _HASHED.fullmatch(text) else safe_segment(text)
            check_that(name not in self.exact, where, text, "each branch once")
            self.exact[name] = below
            return
        for part, test in zip(parts, tests, strict=True):
            takes, folder = test or (lambda value, _, wanted=part: value == wanted, None)  # type: ignore[misc]
            self.others.append((takes, folder, below))

    @property
    def allowed(self) -> str:
        """What is told to whoever gave something else."""
        first = [text for text in self.branches[: limits.SCREEN_ITEMS] if text]
        shown = [text if text.isprintable() else ascii(text) for text in first]
        if len(self.branches) > limits.SCREEN_ITEMS:
            shown.append("…")
        if self.absent is None:
            return f"one of {', '.join(shown)}"
        return f"one of {', '.join(shown)}, or nothing" if shown else "nothing here"

    def take(self, text: str | None) -> tuple[str, _Node | _Leaf] | None:
        """The folder that a value (as it is spelled, if it can be) goes to, and what follows
        there.
        """
        if text is None:
            return None
        # a name that has no hash in it is a text that is its own name
        name = text if text in self.exact and "~" not in text else safe_segment(text)
        if below := self.exact.get(name):
            return self.prefix + name, below
        # By the spelling alone, so that the same number is in the same folder whether it came as
        # text or not.
        is_number = len(text) <= ROUTED_NUMBER_CHARS_MAX and _NUMBER.fullmatch(text)
        number = Decimal(text) if is_number else None
        for takes, folder, below in self.others:
            if takes(text, number):
                return self.prefix + (folder or name), below
        return None

    def shapes(self, asked: _Asked, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """Every sequence of folders that a packet which agrees with the intent can be routed to,
        `*` for what it may choose.
        """
        if self.key in asked:
            if taken := self.take(asked[self.key]):
                yield from taken[1].shapes(asked, (*path, taken[0]))
            return
        others = ((folder or "*", below) for _, folder, below in self.others)
        for name, below in (*self.exact.items(), *others):
            yield from below.shapes(asked, (*path, self.prefix + name))
        if self.absent is not None:
            yield from self.absent.shapes(asked, path)


# of a value: each character may need a backslash, and the branch `r/` and `/` around it
_DERIVED_CHARS_MAX: Final = BRANCH_CHARS_MAX // 2 - 2
_LEVELS: Final = f"at most {SCHEMA_DEPTH_MAX} levels"
_LITERAL: Final = re.compile(r"[a-z0-9._=-]*")
_TEMPLATE: Final = re.compile(r"\{([^{}=]+)(?:=([^{}]*))?\}|(/)|([^{}/]+)|([{}])")


def _compile(
    schema: object, where: str, above: tuple[str, ...], counted: Counter[str]
) -> _Node | _Leaf:
    """Nodes and leaves of a schema. `where` is the way to what is being read, `above` are the keys
    on it, and `counted` has how many branches there are so far.
    """
    if schema is None or schema == "" or (isinstance(schema, Mapping) and not schema):
        return _Leaf([])
    if isinstance(schema, str):
        return _compile_template(schema, where, len(above))
    if not isinstance(schema, Mapping) or len(schema) != 1:
        raise InvalidInputError.one(where, schema, "a mapping with one key, a template, or None")
    [(key, branches)] = schema.items()
    is_key = isinstance(key, str) and 0 < len(key) <= BRANCH_CHARS_MAX
    check_that(is_key, where, key, f"a key of 1 to {BRANCH_CHARS_MAX} characters")
    where, name = f"{where}.{key}", _key_name(key)
    check_that(name not in above, where, key, "a key that has not been asked for further up")
    check_that(len(above) < SCHEMA_DEPTH_MAX, where, key, _LEVELS)
    allowed = "a mapping from branches to what follows"
    check_that(isinstance(branches, Mapping) and branches, where, branches, allowed)
    counted["branches"] += len(branches)
    allowed = f"at most {SCHEMA_BRANCHES_MAX} branches in all"
    check_that(counted.total() <= SCHEMA_BRANCHES_MAX, where, len(branches), allowed)
    node = _Node(key, f"{name}=")
    for branch, rest in branches.items():
        text = spell(branch)
        if text is None or len(text) > BRANCH_CHARS_MAX:
            allowed = f"a branch of at most {BRANCH_CHARS_MAX} characters"
            raise InvalidInputError.one(where, branch, allowed)
        inside = f"{where}.{text}"
        node.add(text, _compile(rest, inside, (*above, name), counted), inside)
    return node


def _compile_template(text: str, where: str, depth: int) -> _Leaf:
    allowed = f"a template of at most {BRANCH_CHARS_MAX} characters"
    check_that(len(text) <= BRANCH_CHARS_MAX, where, text, allowed)
    segments: list[_Parts] = [[]]
    for key, default, slash, literal, brace in _TEMPLATE.findall(text):
        check_that(not brace, where, text, "placeholders written {key} or {key=default}")
        allowed = "lowercase letters, digits and . _ = - around the placeholders"
        check_that(_LITERAL.fullmatch(literal) is not None, where, text, allowed)
        if slash:
            segments.append([])
        else:
            segments[-1].append((literal, key, default))
    allowed = (
        "names between the slashes that begin with a letter, a digit or a placeholder, do not end in a dot, and are "
        f"short and not reserved (at most {SEGMENT_BYTES_MAX} characters, not con, nul, …)"
    )
    for parts in segments:
        # With a harmless value for every placeholder: what remains unsafe then is the template's
        # own doing.
        sample = "".join("a" if key else literal for literal, key, _ in parts)
        check_that(safe_segment(sample, _PLAIN_SEGMENT) == sample, where, text, allowed)
    stem: _Parts | None = None
    if (ending := segments[-1][-1][0]).endswith(".json"):
        stem = segments.pop()
        stem[-1] = (ending.removesuffix(".json"), "", "")
    check_that(depth + len(segments) <= SCHEMA_DEPTH_MAX, where, text, _LEVELS)
    return _Leaf(segments, stem)


def _standard() -> dict[str, Any]:
    outcomes: dict[str, Any] = {}
    for (outcome, tool), required in ROUTES.items():
        below = {required[0]: dict.fromkeys(required[1])} if required else None
        if tool is None:  # a tool that somebody names all the same makes no difference
            outcomes[outcome] = below
        else:
            outcomes.setdefault(outcome, {"tool": {}})["tool"][tool] = below
    return {"outcome": outcomes}


class Coherence:
    """Routes packets (mappings with any keys) through a schema: see the head of this module.
    Without one it is the standard schema: the outcome, the tool, and the key that the two require.
    """

    def __init__(
        self,
        schema: Mapping[str, Any] | None = None,
        root: str | os.PathLike[str] = "agent_brain",
        clock: Callable[[], datetime] = now,
    ) -> None:
        text = os.fspath(root) if isinstance(root, str | os.PathLike) else None
        is_path = isinstance(text, str) and text and "\0" not in text
        check_that(is_path, "root", root, "the path of a folder, as text")
        self.root = str(text)  # paths and globs begin with it
        self._is_standard = schema is None
        schema = _standard() if schema is None else schema
        check_that(isinstance(schema, Mapping), "schema", schema, "a mapping with one key")
        # what `derive` says beside a schema is none of its keys
        self.schema = {key: schema[key] for key in schema if not str(key).startswith("_")}
        self._clock = clock
        self._base = self.root.rstrip("/")
        self._tree = _compile(self.schema, "schema", (), Counter())

    # Going in.

    def route(self, packet: Mapping[str, Any]) -> Route:
        """The folder for a packet. Whatever the packet holds, it is one below the root."""
        return self._place(packet)[0]

    def transmit(self, packet: Mapping[str, Any], dry_run: bool = True) -> str:
        """The path of a packet's file: below the intake where a key is missing or has a value that
        no branch takes. The time is the packet's `timestamp`, else now. The file itself is not
        written, `MemoryEngine.remember` does that; without `dry_run` its folder is made.
        """
        route, leaf = self._place(packet)
        about, content = packet.get("summary"), packet.get("content")
        if not isinstance(about, str) or not about:
            about = content[:SUMMARY_FROM_CONTENT_CHARS] if isinstance(content, str) else ""
        moment, stamp = packet.get("timestamp"), ""
        with suppress(ValueError):  # no time: the file is named by the clock
            at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
            if isinstance(at, datetime):
                stamp = _stamp(at if at.utcoffset() is not None else at.replace(tzinfo=UTC))
        own = {"timestamp": stamp or _stamp(self._clock()), "summary": safe_summary(about)}
        name = f"{own['timestamp']}_{own['summary']}"
        if leaf is not None and leaf.stem is not None:
            try:
                name = _fill(leaf.stem, lambda key: own.get(key) or _read_value(packet, key))
            except _Unroutable as unroutable:
                route = Route(*unroutable.args)
        folder = "/".join([self._base, *filter(None, [route.folder])])
        if not dry_run:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103  # it is text here
        return f"{folder}/{name}.json"

    def _place(self, packet: Mapping[str, Any]) -> tuple[Route, _Leaf | None]:
        allowed = "a mapping from keys to values"
        check_that(isinstance(packet, Mapping), "packet", packet, allowed)
        tree, segments = self._tree, list[str]()
        try:
            while isinstance(tree, _Node):
                value = _read_value(packet, tree.key)
                if value is None:
                    if tree.absent is None:
                        raise _Unroutable(MISSING_METADATA, Problem(tree.key, ABSENT, tree.allowed))
                    tree = tree.absent
                    continue
                taken = tree.take(spell(value))
                if taken is None:
                    raise _Unroutable(NO_MATCH, Problem(tree.key, value, tree.allowed))
                segments.append(taken[0])
                tree = taken[1]
            read = partial(_read_value, packet)
            segments += [_fill(parts, read) for parts in tree.segments]
        except _Unroutable as unroutable:
            return Route(*unroutable.args), None
        return Route("/".join(segments)), tree

    # Coming back.

    def receive(self, /, **intent: Any) -> str:
        """One glob (for `glob.glob(…, recursive=True)`) that matches whatever was routed of all
        packets that agree with the intent. A packet may have a key that it is not filed by, so a
        key leaves out only the folders that are filed by it with another value; one that the schema
        does not know leaves out nothing, and neither does None. An intent that no routed packet can
        agree with gives the intake's glob: that is where such packets are.
        """
        shapes = set(self._tree.shapes(_spell_intent(intent)))
        parts = _merge(shapes) if shapes else ["_intake", "*"]
        # scripts expect a star at the end; nothing else in a tree begins with the name of a memory
        return "/".join([re.sub(r"([*?[])", r"[\1]", self._base), *parts, "*.json*"])

    def decide(self, folder: str, intent: Mapping[str, Any]) -> frozenset[str] | None:
        """The keys of an intent that one has to look at the memories of a folder (relative to the
        root) for; None where none of them can agree with it. Where the folder is one that the
        standard schema routes to, its name tells; in all others (the intake's, those made by hand,
        those of a schema with ranges and templates) every memory is looked at.
        """
        asked = _spell_intent(intent)
        values = values_in(folder)
        if not self._is_standard or self.route(values).folder != folder:
            return frozenset(asked)
        for key in asked.keys() & values.keys():
            value = asked[key]
            if value is None or safe_segment(value) != values[key]:
                return None
        return frozenset(asked.keys() - values.keys())

    @staticmethod
    def derive(paths: Iterable[str | os.PathLike[str]], min_frequency: float = 0) -> dict[str, Any]:
        """The schema that files packets where these paths lie: each `key=value` folder becomes a
        level, every other folder and the files' names are passed over, and so are values that fewer
        than `min_frequency` (0 to 1) of the paths have. Where different keys follow the same
        folder, the one with the most paths is asked for first, and the others where a packet does
        not have it. Values that were ranges are ranges again. Empty where no path has such a folder.

        Beside the schema, and no part of it: `_derived`, `_path_count`, and `_structure`, which
        tells the level, values and pattern of each key.
        """
        is_list = isinstance(paths, Iterable) and not isinstance(paths, str | bytes)
        check_that(is_list, "paths", paths, "a list of paths")
        placed = [_read_folders(path) for path in paths]
        counts = Counter(pair for pairs in placed for pair in pairs.items())
        top, structure = _Branching(), dict[str, Any]()
        for pairs in placed:
            here = top
            for level, (key, value) in enumerate(pairs.items()):
                if counts[key, value] < min_frequency * len(placed):
                    continue
                here = here.keys.setdefault(key, {}).setdefault(value, _Branching())
                here.paths += 1
                about = {"level": level, "values": [], "pattern": f"{key}={{value}}"}
                known = structure.setdefault(key, about)
                known["values"] = sorted({*known["values"], value})
            # a file that no key says anything of, such as one in the intake, teaches nothing
            here.ends = here is not top
        schema = _derive_schema(top, frozenset(), 0)
        about = {"_derived": True, "_path_count": len(placed), "_structure": structure}
        return schema | about if schema else {}


def _read_folders(path: object) -> dict[str, str]:
    """The keys and values of a path's folders, but for those that no branch could spell."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise InvalidInputError.one("paths", path, "paths as text")
    pairs = values_in(text.rpartition("/")[0] if text.endswith(".json") else text).items()
    fits = {key: value for key, value in pairs if len(key) <= BRANCH_CHARS_MAX}
    return {key: value for key, value in fits.items() if len(value) <= _DERIVED_CHARS_MAX}


def _read_value(packet: Mapping[str, Any], key: str) -> object:
    """The packet's value of a key. A key that ends in a hash came from a folder's name, and means
    the key spelled so there.
    """
    if "~" not in key or not _HASHED.fullmatch(key):
        return packet.get(key)
    named = ((name, value) for name, value in packet.items() if isinstance(name, str))
    return next((value for name, value in named if safe_key(name) == key), None)


def _fill(parts: _Parts, read: Callable[[str], object]) -> str:
    """One segment of a template."""
    text = ""
    for literal, key, default in parts:
        value = read(key) if key else literal
        if value is None and not default:
            problem = Problem(key, ABSENT, "a value; the schema's template needs one")
            raise _Unroutable(MISSING_METADATA, problem)
        spelled = spell(default if value is None else value)
        if spelled is None:
            raise _Unroutable(NO_MATCH, Problem(key, value, "text, a number, true or false"))
        text += safe_segment(spelled) if key else literal
    return safe_segment(text, _PLAIN_SEGMENT)


def _spell_intent(intent: Mapping[str, Any]) -> dict[str, str | None]:
    return {key: spell(value) for key, value in intent.items() if value is not None}


def _merge(shapes: set[tuple[str, ...]]) -> list[str]:
    """One glob's folders for all of them: what they begin with, `**` where they differ, and what
    they end in.
    """
    beginning = list(_find_common(shapes))
    rest = {shape[len(beginning) :][::-1] for shape in shapes}
    if rest == {()}:
        return beginning
    return [*beginning, "**", *reversed(list(_find_common(rest)))]


def _find_common(shapes: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """The segments that all begin with; those of one key with different values as `key=*`."""
    for segments in zip(*shapes, strict=False):
        keys = {key + equals for key, equals, _ in (one.partition("=") for one in segments)}
        if len(set(segments)) > 1 and not (len(keys) == 1 and "=" in segments[0]):
            return
        yield segments[0] if len(set(segments)) == 1 else f"{keys.pop()}*"


@dataclass(slots=True)
class _Branching:
    """A folder of the tree that a schema is derived from."""

    keys: dict[str, dict[str, _Branching]] = field(default_factory=dict)
    paths: int = 0
    ends: bool = False


def _derive_schema(here: _Branching, used: frozenset[str], depth: int) -> dict[str, Any] | None:
    counts = {
        key: sum(below.paths for below in values.values())
        for key, values in here.keys.items()
        if _key_name(key) not in used
    }
    ordered = sorted(counts, key=lambda key: (-counts[key], key))[: SCHEMA_DEPTH_MAX - depth]
    schema: dict[str, Any] | None = None
    for place, key in reversed(list(enumerate(ordered))):
        inside = used | {_key_name(other) for other in ordered[: place + 1]}
        branches: dict[str, Any] = {}
        for value, below in sorted(here.keys[key].items()):
            further = _derive_schema(below, inside, depth + place + 1)
            branches |= dict.fromkeys(_branches_for(value), further)
        if here.ends or schema is not None:
            branches[""] = schema
        schema = {key: branches}
    return schema


def _branches_for(value: str) -> list[str]:
    """The branches whose folder is of this name: the text itself, and the comparison or range that
    is named so.
    """
    if predicate := _PREDICATE_NAME.fullmatch(value):
        sign = {"g": ">", "l": "<"}[predicate[1]]
        sign += "=" if "e" in predicate[2] else ""  # once it was ge_
        return [value, f"{sign}{predicate[3]}"]
    text = f"r/{re.escape(value)}/"  # for one that would mean something else as a branch
    if ends := _RANGE.fullmatch(value):
        return [text, value] if Decimal(ends[1]) <= Decimal(ends[2]) else [text]
    return [text] if "|" in value or value.startswith((">", "<")) else [value]


def standard_folders() -> list[str]:
    """Those that the standard schema routes to."""
    return ["/".join(shape) for shape in Coherence()._tree.shapes({})]


def describe_reflection(
    reflection: Reflection,
    recent: Iterable[dict[str, Any]],
    folders: Iterable[str],
    *,
    standard: bool = True,
) -> dict[str, Any]:
    """A reflection as scripts of the tree know it: what is `standard` is there though it counts
    nothing, and areas are named with the keys of their folders.
    """
    keyed = {
        name_area(path): "/".join(part for part in path.split("/") if "outcome=" not in part[:8])
        for path in folders
    }
    hotspots, strengths = (
        [(keyed.get(area) or area, count) for area, count in areas]
        for areas in (reflection.hotspots, reflection.strengths)
    )
    tools = (tool for _, tool in ROUTES if tool and standard)
    return {
        "total_memories": reflection.total,
        "by_outcome": dict.fromkeys(OUTCOMES if standard else (), 0) | reflection.by_outcome,
        "by_tool": dict.fromkeys(tools, 0) | reflection.by_tool,
        "intake": reflection.intake,
        "failure_hotspots": hotspots,
        "success_patterns": strengths,
        "recent": [payload | {"when": payload["timestamp"]} for payload in recent],
        "insights": reflection.insights,
    }
