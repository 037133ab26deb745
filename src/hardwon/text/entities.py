"""What a sentence is about: the files, functions, libraries and error codes that it names. No I/O.

It would rather miss one than see one where there is none: facts are distinguished by what they
name. Its words and patterns are in entities_tables.py.
Whatever a pattern repeats is bounded, so that time grows with the text alone.

At the end: the words of a text that look like paths. Whether there are such files is for others to
see.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.records.kinds import Entities
from hardwon.text import entities_tables as tables
from hardwon.text.tables import Patterns, WordLists

RE: Final = Patterns(tables.PATTERNS)
WORDS: Final = WordLists(tables.WORDS)


class _Mention(NamedTuple):
    at: int
    name: str


class Named(NamedTuple):
    """The names found in a text, each in the order in which they appear and without doubles."""

    files: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    error_codes: tuple[str, ...] = ()


def find(text: str) -> Named:
    """What the text names, as far as it is read (`FACT_READ_CHARS_MAX`)."""
    text = read_part(text)
    if any(mark in text for mark in ("://", "www.", "@", "[REDACTED:")):
        text = RE.address.sub(lambda found: " " * len(found[0]), text)
    libraries = _distinct(_libraries(text), fold=True)
    if RE.prose.fullmatch(text) and not RE.prose_names.search(text):
        return Named(libraries=libraries)  # the usual case, at a third of the price
    codes = _distinct(_error_codes(text))
    functions = (
        place for place in _functions(text) if place.name not in codes and not _is_file(place.name)
    )
    return Named(_distinct(_files(text)), _distinct(functions), libraries, codes)


def added(given: Entities, found: Named) -> Entities:
    """What the caller names stays, and comes first; what is found is added."""
    if not any(found):
        return given
    codes = _joined(given.error_codes or [], found.error_codes)
    return given.altered(
        files=_joined(given.files, found.files),
        functions=_joined(given.functions, found.functions),
        libraries=_joined(given.libraries, found.libraries, fold=True),
        error_codes=codes or given.error_codes,
    )


def read_part(text: str) -> str:
    """What is looked at of a text: its beginning, without a word that would be cut."""
    if len(text) <= limits.FACT_READ_CHARS_MAX:
        return text
    head = text[: limits.FACT_READ_CHARS_MAX]
    return head[: max(head.rfind(" "), head.rfind("\n")) + 1]


def _joined(given: list[str], found: Iterable[str], *, fold: bool = False) -> list[str]:
    known = {_folded(name, fold) for name in given}
    new = [name for name in found if _folded(name, fold) not in known]
    return [*given, *new][: max(limits.ITEMS_MAX, len(given))]


def _distinct(places: Iterable[_Mention], *, fold: bool = False) -> tuple[str, ...]:
    names: dict[str, str] = {}
    for place in sorted(places):
        if len(place.name) <= limits.NAME_CHARS_MAX:
            names.setdefault(_folded(place.name, fold), place.name)
    return tuple(names.values())[: limits.ENTITIES_FOUND_MAX]


def _folded(name: str, fold: bool) -> str:
    """Libraries are the same in any letter case, and with either dash; files and functions are
    not.
    """
    return name.casefold().replace("_", "-") if fold else name


def _mentions(pattern: re.Pattern[str], text: str, group: int = 1) -> Iterator[_Mention]:
    for found in pattern.finditer(text):
        yield _Mention(found.start(group), found[group])


# --- files ---


def _files(text: str) -> Iterator[_Mention]:
    if not RE.may_be_file.search(text):
        return
    for found in RE.token.finditer(text):
        token = found[0]
        if "." in token or "/" in token or "\\" in token or token.strip(":") in WORDS.bare_files:
            name = token.partition("::")[0].rstrip(".:")
            # Without what a sentence, a compiler or a traceback puts behind a path.
            line = RE.line.search(name) if ":" in name or "#" in name else None
            name = name[: line.start()] if line else name
            if name and _is_file(name):
                yield _Mention(found.start(), name)


def _is_file(name: str) -> bool:
    if not name[-1:].isalnum():
        return False
    pattern = RE.windows if "\\" in name else RE.posix
    if not pattern.fullmatch(name) or ("//" in name and not name.startswith("//")):
        return False
    last = re.split(r"[\\/]", name)[-1]
    if last in WORDS.bare_files or (last.startswith(".env.") and last.count(".") == 2):
        return True
    stem, _, extension = last.rpartition(".")
    if (
        extension.islower() or extension.isupper() or extension.isdigit()
    ) and extension.lower() in WORDS.extensions:
        letters = sum(char.isalpha() for char in stem)
        in_folder = len(last) < len(name)
        library = last.lower() in WORDS.libraries or last.lower() in WORDS.no_libraries
        if stem.lower() in WORDS.not_stems or (library and not in_folder):
            return False
        return letters >= (2 if len(extension) == 1 else 1) or (in_folder and bool(stem))
    return bool(RE.anchored.match(name)) and len(last) > 1


# --- functions ---


def _functions(text: str) -> Iterator[_Mention]:
    for found in RE.inside.finditer(text):
        before = text[max(0, found.start() - limits.NAME_CHARS_MAX) : found.start()]
        if before and not before[-1].isspace():
            called = RE.call.search(before.rsplit(None, 1)[-1])
            if called and _is_call(called[1], found[1].strip(), closed=bool(found[2])):
                yield _Mention(found.start() - len(called[0]), called[1])
    if "::" in text:
        yield from _mentions(RE.scoped, text)
        yield from _mentions(RE.test_id, text)
    for place in _mentions(RE.method, text):
        owner, _, method = place.name.partition(".")
        ordinary = method in WORDS.hosts or owner in WORDS.short_forms
        if not ordinary and any(char.islower() for char in owner):
            yield place
    for found in RE.ticked.finditer(text):
        before = text[max(0, found.start() - 20) : found.start()]
        if RE.names_function.search(before) or RE.called_function.match(text, found.end()):
            yield _Mention(found.start(), found[1].lstrip(".@"))
    if RE.may_declare.search(text):
        yield from (place for place in _mentions(RE.declared, text) if _looks_like_code(place.name))


def _is_call(name: str, inside: str, *, closed: bool) -> bool:
    """Whether what stands before a bracket is called, rather than explained by what is in it:
    `file(s)`, `HTTP(S)`.
    """
    if len(name) < 2 or name.lower() in WORDS.no_call or name in WORDS.labels:
        return False
    if not inside:
        return closed
    if inside == "*" or _looks_like_code(name):
        return inside.lower() not in WORDS.plurals
    # in capitals it is an abbreviation, or SQL
    explained = name.isupper() or inside.lower() in WORDS.plurals
    return closed and not explained and RE.arguments.fullmatch(inside) is not None


def _looks_like_code(name: str) -> bool:
    """No word of prose has an underscore, a dot, or a capital letter in the middle."""
    return "_" in name or "." in name or ":" in name or "->" in name or bool(RE.hump.search(name))


# --- libraries ---


def _libraries(text: str) -> Iterator[_Mention]:
    if RE.digit.search(text):
        yield from _with_versions(text)
    for place in _mentions(RE.install, text) if RE.may_install.search(text) else ():
        if place.name.lower() not in WORDS.after_install and not _is_file(place.name):
            yield _Mention(place.at, place.name.rstrip("."))
    for found in RE.called.finditer(text) if RE.may_call.search(text) else ():
        if _names_library(found[2], ticked=bool(found[1])):
            yield _Mention(found.start(2), found[2])
    if "import" in text or "require(" in text:
        yield from _mentions(RE.from_import, text)
        for place in _mentions(RE.plain_import, text):
            for part in place.name.split(","):
                yield _Mention(place.at, part.split()[0].partition(".")[0])
        yield from _mentions(RE.require, text, group=2)


def _with_versions(text: str) -> Iterator[_Mention]:
    for version in RE.version_at.finditer(text):
        begin = max(0, version.start() - 140)  # more than a name has
        before = text[begin : version.start()]
        word = before.split()[-1:]
        found = RE.before_version.search(word[0] + before[len(before.rstrip()) :]) if word else None
        if not found:
            continue
        name, sign = found.groups()
        known = name.lower().replace("_", "-") in WORDS.libraries
        certain = name.startswith("@") or (len(name) > 1 and version[0].count(".") >= 2)
        specified = sign[0] in "@=~><!"
        # After a space a plain number is a version where the name is not countable: `Redis 7`, not
        # `requests 20 times`.
        of_name = "." in version[0] or name.lower() not in WORDS.countable
        if (known and (specified or sign == "-" or of_name)) or (specified and certain):
            yield _Mention(begin + before.rindex(word[0]) + found.start(1), name)


def _names_library(name: str, *, ticked: bool) -> bool:
    plain = name.lower()
    if plain in WORDS.no_libraries or plain in WORDS.generic:
        return False
    if plain in WORDS.libraries or ticked:
        return True
    proper = name[0].isupper() and name[1:].islower() and len(name) > 2
    return proper or bool(RE.odd_name.search(name)) or any(map(str.isdigit, name))


# --- error codes ---

_ERRNO_NAMES: Final = frozenset(errno.errorcode.values())
_WRITTEN_AS: Final = {
    "state": "SQLSTATE",
    "http": "HTTP",
    "status": "HTTP",
    "phrase": "HTTP",
    "errno": "errno",
    "winerror": "WinError",
}


def _error_codes(text: str) -> Iterator[_Mention]:
    for found in RE.code.finditer(text):
        kind = found.lastgroup or ""
        name = found["word"] or found["errno_name"]
        if kind in _WRITTEN_AS:
            yield _Mention(found.start(), f"{_WRITTEN_AS[kind]} {found[kind]}")
        elif kind == "errno_name":
            if name in _ERRNO_NAMES or name in WORDS.more_errno_names:
                yield _Mention(found.start(), name)
        elif name not in WORDS.no_codes:
            yield _Mention(found.start(), name)


# --- paths ---


def path_words(text: str) -> list[str]:
    """Words of a text that may be paths, in their order, each once: with a slash or a dot inside,
    and never upward. Only the beginning of a long text is looked at.
    """
    found: dict[str, None] = {}
    beginning = text[: limits.PATHS_SOUGHT_CHARS_MAX]
    for part in beginning.split() if "/" in beginning or "." in beginning else ():
        if "/" in part or "." in part:  # the pattern costs ten times what this does
            for word in RE.path.findall(part):
                if len(word) <= limits.PATH_CHARS_MAX and _may_be_named(word):
                    found[word.removeprefix("./")] = None
            if len(found) >= limits.PATHS_TRIED_MAX:
                break
    return list(found)[: limits.PATHS_TRIED_MAX]


# the same few files are named again and again
@lru_cache(maxsize=limits.MADE_ONCE_MAX)
def _may_be_named(word: str) -> bool:
    return ".git" not in word.lower().split("/") and not holds_secrets(word)


def holds_secrets(path: str) -> bool:
    """Whether a file of that name holds secrets and little else. Whoever meets a link asks about
    where it leads, too.
    """
    named = f"/{path.lower()}"
    if RE.secret_ending.search(named):
        return True
    return RE.may_be_secret.search(named) is not None and RE.secret.search(named) is not None
