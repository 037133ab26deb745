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
import operator
import os
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError, Problem
from hardwon.records.fields import ABSENT, now
from hardwon.records.kinds import ROUTES, safe_summary
from hardwon.text.words import spelled

# where a packet goes that lacks a key which the schema asks for
MISSING_METADATA: Final = "_intake/missing_metadata"
NO_MATCH: Final = "_intake/no_match"  # where a packet goes that has a value no branch takes


# --- names ---

_PLAIN: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{limits.SEGMENT_CHARS_MAX - 1}}}(?<!\.)")
_PLAIN_KEY: Final = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{limits.SEGMENT_KEY_CHARS_MAX - 1}}}")
_PLAIN_SEGMENT: Final = re.compile(
    rf"[a-z0-9][a-z0-9._=~-]{{0,{limits.SEGMENT_BYTES_MAX - 1}}}(?<!\.)"
)
_HASHED: Final = re.compile(
    rf"[a-z0-9][a-z0-9_-]{{0,{limits.SEGMENT_SLUG_CHARS_MAX - 1}}}~[0-9a-f]{{{2 * limits.SEGMENT_HASH_BYTES}}}"
)
# on Windows, whatever the extension
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_NOT_SLUG: Final = re.compile(r"[^a-z0-9_]+")


def safe_segment(text: str) -> str:
    """The text as (part of) one folder's name: itself where it is short, lowercase and harmless,
    otherwise what can be read of it and a hash of all of it.
    """
    return text if _PLAIN.fullmatch(text) and not _RESERVED.fullmatch(text) else _hashed(text)


def safe_key(text: str) -> str:
    """The same for a key, which has less room and no dots."""
    return text if _PLAIN_KEY.fullmatch(text) and not _RESERVED.fullmatch(text) else _hashed(text)


def _key_name(text: str) -> str:
    """A schema's key as its folders spell it. One that ends in a hash was read off a folder, and is
    that spelling.
    """
    return text if _HASHED.fullmatch(text) else safe_key(text)


def _hashed(text: str) -> str:
    plain = (
        unicodedata.normalize("NFKD", text[: limits.SEGMENT_READ_CHARS])
        .encode("ascii", "ignore")
        .decode()
        .lower()
    )
    slug = _NOT_SLUG.sub("-", plain).lstrip("_-")[: limits.SEGMENT_SLUG_CHARS_MAX].rstrip("_-")
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=limits.SEGMENT_HASH_BYTES)
    return f"{slug or 'x'}~{digest.hexdigest()}"


def values_in(folder: str) -> dict[str, str]:
    """The keys and values that a relative path's folders tell, as they are spelled there. Of a key
    that comes twice, the first counts.
    """
    found: dict[str, str] = {}
    for segment in folder.split("/"):
        key, equals, value = segment.partition("=")
        if key and equals and value:
            found.setdefault(key, value)
    return found


def file_name(at: datetime, summary: str, unique: str) -> str:
    """What a memory's file is called: when in UTC, about what, and what tells it from others of the
    same second.
    """
    return f"{_stamp(at)}_{_summary(summary)}_{safe_segment(unique)}.json"


def _stamp(at: datetime) -> str:
    if at.utcoffset() is None:
        raise InvalidInputError.one("at", at, "a time with its zone")
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError.one("at", at, "a time that is a date in UTC as well") from None
    return f"{at.year:04}{at.month:02}{at.day:02}_{at.hour:02}{at.minute:02}{at.second:02}"


def _summary(text: str) -> str:
    return safe_summary(text[: limits.SEGMENT_READ_CHARS])


_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?", re.IGNORECASE)


# --- branches ---


class _Choice(NamedTuple):
    """One way to be taken: a test of the value's text and number, and the folder's name where the
    value does not give it.
    """

    takes: Callable[[str, Decimal | None], bool]
    name: str | None = None


_PREDICATE: Final = re.compile(r"([<>]=?)\s*(-?[0-9]{1,17}(?:\.[0-9]{1,9})?)")
_RANGE: Final = re.compile(r"(-?[0-9]{1,17}(?:\.[0-9]{1,9})?)-(-?[0-9]{1,17}(?:\.[0-9]{1,9})?)")
_PREDICATE_NAME: Final = re.compile(r"(gt|ge|lt|le)_(-?[0-9]{1,17}(?:\.[0-9]{1,9})?)")
# as folders and the operator module name them
_COMPARISONS: Final = {">": "gt", ">=": "ge", "<": "lt", "<=": "le"}


def _plainly(number: Decimal) -> str:
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _choice(text: str, where: str) -> _Choice | None:
    """The predicate or range that a branch spells; None where it is a text to be equal to."""
    if text.startswith((">", "<")):
        if not (found := _PREDICATE.fullmatch(text)):
            raise InvalidInputError.one(
                where, text, "a comparison with a number, such as >100, >=1.5, <-3 or <=50"
            )
        bound, compare = Decimal(found[2]), getattr(operator, _COMPARISONS[found[1]])
        name = f"{_COMPARISONS[found[1]]}_{_plainly(bound)}"
        return _Choice(lambda _, number: number is not None and compare(number, bound), name)
    if found := _RANGE.fullmatch(text):
        low, high = Decimal(found[1]), Decimal(found[2])
        if low > high:
            allowed = f"a range from the smaller number to the larger; the text itself is written r/{re.escape(text)}/"
            raise InvalidInputError.one(where, text, allowed)
        name = f"{_plainly(low)}-{_plainly(high)}"
        return _Choice(lambda _, number: number is not None and low <= number <= high, name)
    return None


def _regex(branch: str, where: str) -> _Choice:
    if len(branch) < 3 or not branch.endswith("/"):
        raise InvalidInputError.one(
            where, branch, "a regular expression between slashes: r/v[0-9]+/"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of what the next Python may read in another way
            match = re.compile(branch[2:-1]).fullmatch
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise InvalidInputError.one(
            where, branch, f"a regular expression that Python knows ({error})"
        ) from None
    if _ways(branch[2:-1]) > limits.REGEX_WAYS_MAX:
        allowed = "a simpler regular expression: few open repeats, and none of a group that itself repeats or has alternatives"
        raise InvalidInputError.one(
            where, branch, f"{allowed}; a hostile value could keep this one busy for ever"
        )
    return _Choice(
        lambda text, _: len(text) <= limits.REGEX_VALUE_CHARS_MAX and match(text) is not None
    )


_REGEX_PART: Final = re.compile(
    r"""(?P<atom>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])
      | (?P<open>\((?:\?(?:P<[^>]*>|P=[^)]*|\#[^)]*|[a-zA-Z]*-?[a-zA-Z]*:|[=!>]|<[=!]|\([^)]*\))?)?)
      | (?P<close>\))
      | (?P<bar>\|)
      | (?P<repeat>[*+?]|\{[0-9]*,?[0-9]*\})[?+]?
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_FIXED_REPEAT: Final = re.compile(r"\{[0-9]+\}")


def _ways(source: str) -> float:
    """In how many ways at most a regular expression can be tried on one value. Each open repeat
    multiplies them by the value's length, an optional part by two, a group by its alternatives; a
    repeat of something that itself has several ways is what makes the time grow beyond all bounds.
    """
    ways, alternatives = 1, [1]  # the latter for each group that is open
    several = [False]  # for each of them: whether it has several ways
    inside = False  # whether what comes right before is a group that has
    for part in _REGEX_PART.finditer(source):
        kind, repeat = part.lastgroup, part["repeat"]
        if kind == "bar":
            alternatives[-1] += 1
            several[-1] = True
        elif kind == "open":
            alternatives.append(1)
            several.append(False)
        elif repeat == "?":
            ways *= 2
            several[-1] = True
        elif repeat and inside:
            return math.inf
        elif repeat and not _FIXED_REPEAT.fullmatch(repeat):
            ways *= limits.REGEX_VALUE_CHARS_MAX
            several[-1] = True
        inside = kind == "close" and len(several) > 1 and several.pop()
        if kind == "close" and len(alternatives) > 1:
            ways *= alternatives.pop()
        several[-1] |= inside
    return ways * alternatives[0]


# --- the compiled schema ---


class Route(NamedTuple):
    """The folder below the root, and what is wrong where that is one of the intake's."""

    folder: str
    problem: Problem | None = None


class FolderVerdict(NamedTuple):
    """What a folder's path says of an intent: whether none of its memories can agree with it, and
    otherwise the keys that one has to look at the memories for.
    """

    contradicted: bool
    undecided: frozenset[str]


class _Unroutable(Exception):  # noqa: N818  # never leaves this module
    def __init__(self, folder: str, problem: Problem) -> None:
        self.route = Route(folder, problem)


class _Hole(NamedTuple):
    """A placeholder of a template."""

    key: str
    default: str | None


_Parts = tuple[str | _Hole, ...]  # one segment of a template
_Asked = Mapping[str, str | None]  # the intent, each value spelled


@dataclass(slots=True, eq=False)
class _Leaf:
    segments: list[_Parts]
    stem: _Parts | None = None  # the file's name without .json, where the template gives one


class _Node:
    """One level: a key and its branches."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.prefix = f"{_key_name(key)}="
        self.exact: dict[str, tuple[str, _Node | _Leaf]] = {}  # with their folders
        # branches written as a name that ends in a hash
        self.by_name: dict[str, _Node | _Leaf] = {}
        self.others: list[tuple[_Choice, _Node | _Leaf]] = []
        self.absent: _Node | _Leaf | None = None
        # folder names that do not depend on a value
        self.fixed: dict[str, list[_Node | _Leaf]] = {}
        self.predicates: set[str] = set()  # those of them that hold many values
        self.allowed = ""

    def take(self, text: str) -> tuple[str, _Node | _Leaf] | None:
        """The folder that a value goes to, and what follows there."""
        if exact := self.exact.get(text):
            return exact
        if self.by_name and (below := self.by_name.get(name := safe_segment(text))) is not None:
            return self.prefix + name, below
        if self.others:
            # By the spelling alone, so that the same number is in the same folder whether it came
            # as text or not.
            is_number = len(text) <= limits.ROUTED_NUMBER_CHARS_MAX and _NUMBER.fullmatch(text)
            number = Decimal(text) if is_number else None
            for choice, below in self.others:
                if choice.takes(text, number):
                    return self.prefix + (choice.name or safe_segment(text)), below
        return None

    def below(self, segment: str) -> list[_Node | _Leaf]:
        """What can follow a folder of this name. More than one where the name does not tell the
        value.
        """
        found = self.fixed.get(segment, [])
        if not self.others:
            return found
        name = segment.removeprefix(self.prefix)
        if _HASHED.fullmatch(name):
            return found + [below for choice, below in self.others if choice.name is None]
        if (taken := self.take(name)) and taken[0] == segment and taken[1] not in found:
            return [*found, taken[1]]
        return found


# of a value: each character may need a backslash, and the branch `r/` and `/` around it
_DERIVED_CHARS_MAX: Final = limits.BRANCH_CHARS_MAX // 2 - 2
_LITERAL: Final = re.compile(r"[a-z0-9._=-]*")
_TEMPLATE: Final = re.compile(r"\{([^{}=]+)(?:=([^{}]*))?\}|(/)|([^{}/]+)|([{}])")


class _Compiler:
    def __init__(self) -> None:
        self.branches = 0

    def tree(self, schema: object, where: str, above: tuple[str, ...], depth: int) -> _Node | _Leaf:
        if schema is None or schema == "" or (isinstance(schema, Mapping) and not schema):
            return _Leaf([])
        if isinstance(schema, str):
            return self.template(schema, where, depth)
        if not isinstance(schema, Mapping) or len(schema) != 1:
            raise InvalidInputError.one(
                where, schema, "a mapping with one key, a template, or None"
            )
        [(key, branches)] = schema.items()
        if not isinstance(key, str) or not 0 < len(key) <= limits.BRANCH_CHARS_MAX:
            raise InvalidInputError.one(
                where, key, f"a key of 1 to {limits.BRANCH_CHARS_MAX} characters"
            )
        where = f"{where}.{key}"
        if _key_name(key) in above:
            raise InvalidInputError.one(where, key, "a key that has not been asked for further up")
        self.check_depth(depth + 1, where, key)
        if not isinstance(branches, Mapping) or not branches:
            raise InvalidInputError.one(where, branches, "a mapping from branches to what follows")
        self.branches += len(branches)
        if self.branches > limits.SCHEMA_BRANCHES_MAX:
            raise InvalidInputError.one(
                where, len(branches), f"at most {limits.SCHEMA_BRANCHES_MAX} branches in all"
            )
        node = _Node(key)
        for branch, rest in branches.items():
            text = spelled(branch)
            if text is None or len(text) > limits.BRANCH_CHARS_MAX:
                raise InvalidInputError.one(
                    where, branch, f"a branch of at most {limits.BRANCH_CHARS_MAX} characters"
                )
            inside = f"{where}.{text}"
            self.add(
                node, text, self.tree(rest, inside, (*above, _key_name(key)), depth + 1), inside
            )
        node.allowed = _allowed(list(branches))
        return node

    @staticmethod
    def check_depth(depth: int, where: str, value: str) -> None:
        if depth > limits.SCHEMA_DEPTH_MAX:
            raise InvalidInputError.one(where, value, f"at most {limits.SCHEMA_DEPTH_MAX} levels")

    def add(self, node: _Node, text: str, below: _Node | _Leaf, where: str) -> None:
        if not text:
            node.absent = below
            return
        if text.startswith("r/"):
            node.others.append((_regex(text, where), below))
            return
        parts = [part.strip() for part in text.split("|")] if "|" in text else [text]
        if any(not part or part.startswith("r/") for part in parts):
            raise InvalidInputError.one(where, text, "texts and numbers between the bars: a|b|>100")
        choices = [_choice(part, where) for part in parts]
        if choices == [None]:
            self.add_exact(node, text, below, where)
            return
        for part, found in zip(parts, choices, strict=True):
            choice = found or _Choice(lambda value, _, wanted=part: value == wanted)  # type: ignore[misc]
            node.others.append((choice, below))
            if choice.name:
                node.predicates.add(node.prefix + choice.name)
                node.fixed.setdefault(node.prefix + choice.name, []).append(below)

    def add_exact(self, node: _Node, text: str, below: _Node | _Leaf, where: str) -> None:
        hashed = _HASHED.fullmatch(text) is not None
        name = text if hashed else safe_segment(text)
        segment = node.prefix + name
        if text in node.exact or ("~" in name and segment in node.fixed):
            raise InvalidInputError.one(where, text, "each branch once")
        if hashed:
            node.by_name[text] = below
        else:
            node.exact[text] = segment, below
        node.fixed.setdefault(segment, []).append(below)

    def template(self, text: str, where: str, depth: int) -> _Leaf:
        if len(text) > limits.BRANCH_CHARS_MAX:
            raise InvalidInputError.one(
                where, text, f"a template of at most {limits.BRANCH_CHARS_MAX} characters"
            )
        segments: list[list[str | _Hole]] = [[]]
        for key, default, slash, literal, brace in _TEMPLATE.findall(text):
            if brace:
                raise InvalidInputError.one(
                    where, text, "placeholders written {key} or {key=default}"
                )
            if slash:
                segments.append([])
            elif key:
                segments[-1].append(_Hole(key, default or None))
            elif not _LITERAL.fullmatch(literal):
                raise InvalidInputError.one(
                    where, text, "lowercase letters, digits and . _ = - around the placeholders"
                )
            else:
                segments[-1].append(literal)
        for parts in segments:
            # With a harmless value in every hole: what remains unsafe then is the template's own
            # doing.
            sample = "".join(part if isinstance(part, str) else "a" for part in parts)
            if not _PLAIN_SEGMENT.fullmatch(sample) or _RESERVED.fullmatch(sample):
                allowed = "names between the slashes that begin with a letter, a digit or a placeholder, do not end in a dot, "
                allowed += f"and are short and not reserved (at most {limits.SEGMENT_BYTES_MAX} characters, not con, nul, …)"
                raise InvalidInputError.one(where, text, allowed)
        stem: list[str | _Hole] | None = None
        if isinstance(ending := segments[-1][-1], str) and ending.endswith(".json"):
            stem = segments.pop()
            stem[-1] = ending.removesuffix(".json")
        self.check_depth(depth + len(segments), where, text)
        return _Leaf([tuple(parts) for parts in segments], None if stem is None else tuple(stem))


def _allowed(branches: list[object]) -> str:
    shown = [
        str(spelled(branch)) for branch in branches[: limits.BRANCHES_SHOWN_MAX] if branch != ""
    ]
    shown = [text if text.isprintable() else ascii(text) for text in shown]
    if len(branches) > limits.BRANCHES_SHOWN_MAX:
        shown.append("…")
    if "" not in branches:
        return f"one of {', '.join(shown)}"
    return f"one of {', '.join(shown)}, or nothing" if shown else "nothing here"


def _standard() -> dict[str, Any]:
    outcomes: dict[str, Any] = {}
    for (outcome, tool), required in ROUTES.items():
        below = {required[0]: dict.fromkeys(required[1])} if required else None
        if tool is None:  # a tool that somebody names all the same makes no difference
            outcomes[outcome] = below
        else:
            outcomes.setdefault(outcome, {"tool": {}})["tool"][tool] = below
    return {"outcome": outcomes}


# --- the router ---


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
        if not isinstance(text, str) or not text or "\0" in text:
            raise InvalidInputError.one("root", root, "the path of a folder, as text")
        self.root: str = text  # paths and globs begin with it
        self.schema: Mapping[str, Any] = _standard() if schema is None else schema
        if not isinstance(self.schema, Mapping):
            raise InvalidInputError.one("schema", schema, "a mapping with one key")
        self._clock = clock
        self._base = self.root.rstrip("/")
        self._tree = _Compiler().tree(self.schema, "schema", (), 0)

    # Going in.

    def route(self, packet: Mapping[str, Any]) -> Route:
        """The folder for a packet. Whatever the packet holds, it is one below the root."""
        _check_packet(packet)
        return self._place(packet)[0]

    def transmit(self, packet: Mapping[str, Any], dry_run: bool = True) -> str:  # noqa: ARG002  # for callers of old
        """The path of a packet's file: below the intake where a key is missing or has a value that
        no branch takes. Nothing is written, whatever `dry_run` says: `MemoryEngine.remember` does
        that. The time is the packet's `timestamp`, else now.
        """
        _check_packet(packet)
        summary, content = packet.get("summary"), packet.get("content")
        if isinstance(summary, str) and summary:
            about = _summary(summary)
        else:
            about = (
                safe_summary(content[: limits.SUMMARY_FROM_CONTENT_CHARS])
                if isinstance(content, str)
                else "untitled"
            )
        own = {"timestamp": self._stamp_of(packet), "summary": about}
        name = f"{own['timestamp']}_{own['summary']}"
        route, leaf = self._place(packet)
        if leaf is not None and leaf.stem is not None:
            try:
                name = _fill(leaf.stem, lambda key: own.get(key) or _given(packet, key))
            except _Unroutable as found:
                route = found.route
        return "/".join([self._base, *filter(None, [route.folder]), f"{name}.json"])

    def _place(self, packet: Mapping[str, Any]) -> tuple[Route, _Leaf | None]:
        tree, segments = self._tree, list[str]()
        try:
            while isinstance(tree, _Node):
                value = _given(packet, tree.key)
                if value is None:
                    if tree.absent is None:
                        raise _Unroutable(MISSING_METADATA, Problem(tree.key, ABSENT, tree.allowed))
                    tree = tree.absent
                    continue
                text = spelled(value)
                taken = None if text is None else tree.take(text)
                if taken is None:
                    raise _Unroutable(NO_MATCH, Problem(tree.key, value, tree.allowed))
                segments.append(taken[0])
                tree = taken[1]
            segments += [_fill(parts, lambda key: _given(packet, key)) for parts in tree.segments]
        except _Unroutable as found:
            return found.route, None
        return Route("/".join(segments)), tree

    def _stamp_of(self, packet: Mapping[str, Any]) -> str:
        given = packet.get("timestamp")
        try:
            at = datetime.fromisoformat(given) if isinstance(given, str) else given
            if isinstance(at, datetime):
                return _stamp(at if at.utcoffset() is not None else at.replace(tzinfo=UTC))
        except ValueError:  # not a time: it stays in the memory, and the file is named by the clock
            pass
        return _stamp(self._clock())

    # Coming back.

    def receive(self, /, **intent: Any) -> str:
        """One glob (for `glob.glob(…, recursive=True)`) that matches whatever was routed of all
        packets that agree with the intent. A packet may have a key that it is not filed by, so a
        key leaves out only the folders that are filed by it with another value; one that the schema
        does not know leaves out nothing, and neither does None. An intent that no routed packet can
        agree with gives the intake's glob: that is where such packets are.
        """
        shapes = list(_shapes(self._tree, _asked(intent)))
        parts = _merged(shapes) if shapes else ["_intake", "*"]
        return "/".join([re.sub(r"([*?[])", r"[\1]", self._base), *parts, "*.json"])

    def decide(self, folder: str, intent: Mapping[str, Any]) -> FolderVerdict:
        """What a folder (relative to the root) says of its memories and an intent. A key is decided
        where the folder is filed by it and its name tells the value; a range, or a name that ends
        in a hash, can only say no. Folders that no packet is routed to, such as the intake's or
        those made by hand, decide nothing from the first foreign name on.
        """
        asked = _asked(intent)
        settled = _settled(self._tree, folder.split("/") if folder else [], asked)
        if settled is None:
            return FolderVerdict(True, frozenset())
        return FolderVerdict(False, frozenset(asked.keys() - settled))

    @staticmethod
    def derive(paths: Iterable[str | os.PathLike[str]]) -> dict[str, Any]:
        """The schema that files packets where these paths lie: each `key=value` folder becomes a
        level, every other folder and the files' names are passed over. Where different keys follow
        the same folder, the one with the most paths is asked for first, and the others where a
        packet does not have it. Values that were ranges are ranges again.
        """
        top = _Branching()
        if isinstance(paths, str | bytes) or not isinstance(paths, Iterable):
            raise InvalidInputError.one("paths", paths, "a list of paths")
        for path in paths:
            text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
            if not isinstance(text, str):
                raise InvalidInputError.one("paths", path, "paths as text")
            *folders, last = text.split("/")
            here = top
            for key, value in values_in(
                text if not last.endswith(".json") else "/".join(folders)
            ).items():
                if len(key) > limits.BRANCH_CHARS_MAX or len(value) > _DERIVED_CHARS_MAX:
                    continue
                here = here.keys.setdefault(key, {}).setdefault(value, _Branching())
                here.paths += 1
            # a file that no key says anything of, such as one in the intake, teaches nothing
            here.ends = here is not top
        return _derived(top, frozenset(), 0) or {}


def _check_packet(packet: object) -> None:
    if not isinstance(packet, Mapping):
        raise InvalidInputError.one("packet", packet, "a mapping from keys to values")


def _given(packet: Mapping[str, Any], key: str) -> object:
    """The packet's value of a key. A key that ends in a hash came from a folder's name, and means
    the key spelled so there.
    """
    if "~" not in key or not _HASHED.fullmatch(key):
        return packet.get(key)
    return next(
        (
            value
            for name, value in packet.items()
            if isinstance(name, str) and safe_key(name) == key
        ),
        None,
    )


def _fill(parts: _Parts, given: Callable[[str], object]) -> str:
    """One segment of a template."""
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        value = given(part.key)
        if value is None:
            value = part.default
        if value is None:
            raise _Unroutable(
                MISSING_METADATA,
                Problem(part.key, ABSENT, "a value; the schema's template needs one"),
            )
        if (text := spelled(value)) is None:
            raise _Unroutable(NO_MATCH, Problem(part.key, value, "text, a number, true or false"))
        texts.append(safe_segment(text))
    segment = "".join(texts)
    return (
        segment
        if _PLAIN_SEGMENT.fullmatch(segment) and not _RESERVED.fullmatch(segment)
        else _hashed(segment)
    )


# --- reading the tree ---


def _asked(intent: Mapping[str, Any]) -> dict[str, str | None]:
    return {key: spelled(value) for key, value in intent.items() if value is not None}


def _shapes(
    tree: _Node | _Leaf, asked: _Asked, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Every sequence of folders that a packet which agrees with the intent can be routed to, `*`
    for what it may choose.
    """
    if isinstance(tree, _Leaf):
        yield path + tuple(_shape(parts, asked) for parts in tree.segments)
        return
    if tree.key in asked:
        text = asked[tree.key]
        if text is not None and (taken := tree.take(text)):
            yield from _shapes(taken[1], asked, (*path, taken[0]))
        return
    for segment, trees in tree.fixed.items():
        for below in trees:
            yield from _shapes(below, asked, (*path, segment))
    for choice, below in tree.others:
        if choice.name is None:
            yield from _shapes(below, asked, (*path, f"{tree.prefix}*"))
    if tree.absent is not None:
        yield from _shapes(tree.absent, asked, path)


def _shape(parts: _Parts, asked: _Asked) -> str:
    if all(isinstance(part, str) or asked.get(part.key) is not None for part in parts):
        return _fill(parts, asked.get)
    match parts:
        case (str(text), _Hole()) if _PLAIN_KEY.fullmatch(text.removesuffix("=")) and text.endswith(
            "="
        ):
            return f"{text}*"
    return "*"  # a long name of several parts is hashed as a whole


def _merged(shapes: list[tuple[str, ...]]) -> list[str]:
    """One glob's folders for all of them: what they begin with, `**`, and what they end in."""
    shortest = min(len(shape) for shape in shapes)
    alike = all(len(shape) == shortest for shape in shapes)
    ending: list[str] = []
    while (
        not alike
        and len(ending) < shortest
        and "*" not in (last := _common({shape[-1 - len(ending)] for shape in shapes}))
    ):
        ending.insert(0, last)
    beginning = [
        _common({shape[place] for shape in shapes}) for place in range(shortest - len(ending))
    ]
    while beginning and "*" in beginning[-1]:
        beginning.pop()
        alike = False
    return [*beginning, *ending] if alike else [*beginning, "**", *ending]


def _common(segments: set[str]) -> str:
    if len(segments) == 1:
        return next(iter(segments))
    keys = {segment.partition("=")[0] if "=" in segment else "" for segment in segments}
    key = keys.pop()
    return f"{key}=*" if key and not keys else "*"


def _settled(tree: _Node | _Leaf, segments: list[str], asked: _Asked) -> set[str] | None:
    """The keys of an intent that hold for everything in the folder, or None where the intent cannot
    hold in it.
    """
    settled: set[str] = set()
    at = 0
    while isinstance(tree, _Node):
        here = segments[at] if at < len(segments) else ""
        if not here.startswith(tree.prefix):
            if tree.absent is None:
                return settled
            # what is routed here does not have it, and what was put here by hand may
            if tree.key in asked:
                return None if _is_routed_to(tree.absent, segments[at:]) else settled
            tree = tree.absent
            continue
        trees = tree.below(here)
        if not trees:
            return settled
        at += 1
        if tree.key in asked:
            text = asked[tree.key]
            taken = None if text is None else tree.take(text)
            if taken is None or taken[0] != here:
                return None
            if "~" not in here and here not in tree.predicates:
                settled.add(tree.key)
            tree = taken[1]
        elif len(trees) == 1:
            tree = trees[0]
        else:
            ways = [
                way for tree in trees if (way := _settled(tree, segments[at:], asked)) is not None
            ]
            return settled | set.intersection(*ways) if ways else None
    below = _settled_by_template(tree, segments[at:], asked)
    return None if below is None else settled | below


def _is_routed_to(tree: _Node | _Leaf, segments: list[str]) -> bool:
    """Whether packets can be routed to a folder."""
    if isinstance(tree, _Leaf):
        return len(segments) == len(tree.segments) and all(map(_PLAIN_SEGMENT.fullmatch, segments))
    if segments and segments[0].startswith(tree.prefix):
        return any(_is_routed_to(below, segments[1:]) for below in tree.below(segments[0]))
    return tree.absent is not None and _is_routed_to(tree.absent, segments)


def _settled_by_template(leaf: _Leaf, segments: list[str], asked: _Asked) -> set[str] | None:
    settled: set[str] = set()
    segments = segments[: len(leaf.segments)]
    if not _is_routed_to(leaf, segments):
        return settled
    for parts, segment in zip(leaf.segments, segments, strict=True):
        holes = [part for part in parts if isinstance(part, _Hole)]
        if isinstance(parts[0], str) and "~" not in segment and not segment.startswith(parts[0]):
            return settled
        if not holes or not all(hole.key in asked for hole in holes):
            continue
        if any(asked[hole.key] is None for hole in holes) or _fill(parts, asked.get) != segment:
            return None
        if len(holes) == 1 and "~" not in segment and asked[holes[0].key] != holes[0].default:
            settled.add(holes[0].key)
    return settled


# --- deriving a schema ---


@dataclass(slots=True)
class _Branching:
    """A folder of the tree that a schema is derived from."""

    keys: dict[str, dict[str, _Branching]] = field(default_factory=dict)
    paths: int = 0
    ends: bool = False


def _derived(here: _Branching, used: frozenset[str], depth: int) -> dict[str, Any] | None:
    counts = {
        key: sum(below.paths for below in values.values())
        for key, values in here.keys.items()
        if _key_name(key) not in used
    }
    ordered = sorted(counts, key=lambda key: (-counts[key], key))[: limits.SCHEMA_DEPTH_MAX - depth]
    schema: dict[str, Any] | None = None
    for place, key in reversed(list(enumerate(ordered))):
        inside = used | {_key_name(other) for other in ordered[: place + 1]}
        branches: dict[str, Any] = {}
        for value, below in sorted(here.keys[key].items()):
            further = _derived(below, inside, depth + place + 1)
            branches |= dict.fromkeys(_branches_for(value), further)
        if here.ends or schema is not None:
            branches[""] = schema
        schema = {key: branches}
    return schema


def _branches_for(value: str) -> list[str]:
    """The branches whose folder is of this name: the text itself, and the comparison or range that
    is named so.
    """
    if found := _PREDICATE_NAME.fullmatch(value):
        sign = next(sign for sign, name in _COMPARISONS.items() if name == found[1])
        return [value, f"{sign}{found[2]}"]
    text = f"r/{re.escape(value)}/"  # for one that would mean something else as a branch
    try:
        if _choice(value, ""):
            return [text, value] if _RANGE.fullmatch(value) else [text]
    except InvalidInputError:
        return [text]
    return [text] if "|" in value else [value]
