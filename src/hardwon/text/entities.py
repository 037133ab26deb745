"""What a sentence is about: the files, functions, libraries and error codes that it names; and the words
of a text that look like paths. It would rather miss one than see one where there is none. Whatever a
pattern repeats is bounded, so that time grows with the text alone. No I/O.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.records.kinds import Entities
from hardwon.text.tables import WordLists, list_entries, read_parts, read_patterns

# Related files, names and actions in words that a process makes once for all records that have them:
# all of them take a few megabytes at most.
MADE_ONCE_MAX: Final = 1_024

# How much of a fact is looked through for names, pronouns and dates. A fact is a sentence; what is
# this long is a log.
FACT_READ_CHARS_MAX: Final = 10_000

# Files, and likewise functions, libraries and error codes, that are found in one fact. A sentence
# names a few.
ENTITIES_FOUND_MAX: Final = 50

# Of a record's texts, so much is looked at for paths: what it is about stands at the beginning, a
# log's tail does not.
PATHS_SOUGHT_CHARS_MAX: Final = 16 * limits.KIB

# Words of one record that are tried as paths. Each costs two microseconds where there is no such
# file.
PATHS_TRIED_MAX: Final = 24

_PARTS: Final = read_parts(__name__, "entities.txt")
WORDS: Final = WordLists(dict(list_entries(_PARTS["words"], " ")))

RE: Final = read_patterns(_PARTS["patterns"])


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
    if "://" in text or "www." in text:
        text = RE.address.sub(lambda match: " " * len(match[0]), text)
    text = _part_words(text)
    codes = _distinct(_error_codes(text))
    functions = (
        place for place in _functions(text) if place.name not in codes and not _is_file(place.name)
    )
    libraries = _distinct(_libraries(text), fold=True)
    return Named(_distinct(_files(text)), _distinct(functions), libraries, codes)


def _part_words(text: str) -> str:
    """The text with a space where a name meets a word of another script: `auth.ts\uc758`."""
    return RE.before_name.sub(r"\g<0> ", RE.after_name.sub(r"\g<0> ", text))


def add_names(named: Entities, new: Named) -> Entities:
    """What the caller names stays, and comes first; what is found is added."""
    if not any(new):
        return named
    codes = _join_new(named.error_codes or [], new.error_codes)
    return named.copy_with(
        files=_join_new(named.files, new.files),
        functions=_join_new(named.functions, new.functions),
        libraries=_join_new(named.libraries, new.libraries, fold=True),
        error_codes=codes or named.error_codes,
    )


def read_part(text: str) -> str:
    """What is looked at of a text: its beginning, without a word that would be cut."""
    if len(text) <= FACT_READ_CHARS_MAX:
        return text
    head = text[:FACT_READ_CHARS_MAX]
    return head[: max(head.rfind(" "), head.rfind("\n")) + 1]


def _join_new(known: list[str], names: Iterable[str], *, fold: bool = False) -> list[str]:
    folded = {_fold(name, fold) for name in known}
    new = [name for name in names if _fold(name, fold) not in folded]
    return [*known, *new][: max(limits.ITEMS_MAX, len(known))]


def _distinct(places: Iterable[_Mention], *, fold: bool = False) -> tuple[str, ...]:
    names: dict[str, str] = {}
    for place in sorted(places):
        if len(place.name) <= limits.NAME_CHARS_MAX:
            names.setdefault(_fold(place.name, fold), place.name)
    return tuple(names.values())[:ENTITIES_FOUND_MAX]


def _fold(name: str, fold: bool) -> str:
    """Libraries are the same in any letter case, and with either dash; files and functions are
    not.
    """
    return name.casefold().replace("_", "-") if fold else name


def _mentions(pattern: re.Pattern[str], text: str) -> Iterator[_Mention]:
    for match in pattern.finditer(text):
        yield _Mention(match.start(1), match[1])


def _files(text: str) -> Iterator[_Mention]:
    for match in RE.token.finditer(text):
        token = match[0]
        if "." in token or "/" in token or "\\" in token or token.strip(":") in WORDS.bare_files:
            name = token.partition("::")[0].rstrip(".:")
            # Without what a sentence, a compiler or a traceback puts behind a path.
            line = RE.line.search(name) if ":" in name or "#" in name else None
            name = name[: line.start()] if line else name
            if name and _is_file(name):
                yield _Mention(match.start(), name)


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
        in_folder = len(last) < len(name)
        if stem.lower() in WORDS.not_stems and not in_folder:
            return False
        letters = sum(map(str.isalpha, stem))
        return letters >= (2 if len(extension) == 1 else 1) or (in_folder and bool(stem))
    return bool(RE.anchored.match(name)) and len(last) > 1


def _functions(text: str) -> Iterator[_Mention]:
    """Calls, but not what is explained by what stands in brackets behind it: `file(s)`, `HTTP(S)`."""
    for call in RE.call.finditer(text):
        name, inside = call[1], call[2].strip()
        if len(name) > 1 and (inside in ("", "*") or _looks_like_code(name)):
            yield _Mention(call.start(), name)
    for pattern in (RE.scoped, RE.method):
        yield from _mentions(pattern, text)


def _looks_like_code(name: str) -> bool:
    """No word of prose has an underscore, a dot, or a capital letter in the middle."""
    return "_" in name or "." in name or ":" in name or "->" in name or bool(RE.hump.search(name))


def _libraries(text: str) -> Iterator[_Mention]:
    for place in _mentions(RE.version, text):
        if place.name.lower() not in WORDS.no_libraries:
            yield place
    for place in _mentions(RE.install, text):
        if place.name.lower() not in WORDS.after_install and not _is_file(place.name):
            yield _Mention(place.at, place.name.rstrip("."))
    if "import" in text or "require(" in text:
        for match in RE.imported.finditer(text):
            name = match["origin"] or match["module"] or match["package"]
            yield _Mention(match.start(), name)


_ERRNO_NAMES: Final = frozenset(errno.errorcode.values())
_WRITTEN_AS: Final = {
    "state": "SQLSTATE",
    "errno": "errno",
    "winerror": "WinError",
} | dict.fromkeys(("http", "status", "phrase"), "HTTP")


def _error_codes(text: str) -> Iterator[_Mention]:
    for match in RE.code.finditer(text):
        kind = match.lastgroup or ""
        name = match["word"] or match["errno_name"]
        if kind in _WRITTEN_AS:
            yield _Mention(match.start(), f"{_WRITTEN_AS[kind]} {match[kind]}")
        elif kind == "errno_name":
            if name in _ERRNO_NAMES:
                yield _Mention(match.start(), name)
        else:
            yield _Mention(match.start(), name)


def path_words(text: str) -> list[str]:
    """Words of a text that may be paths, in their order, each once: with a slash or a dot inside,
    and never upward. Only the beginning of a long text is looked at.
    """
    paths: dict[str, None] = {}
    beginning = text[:PATHS_SOUGHT_CHARS_MAX]
    if not beginning.isascii():  # a folder's name may be of two scripts, too
        beginning = f"{beginning}\n{_part_words(beginning)}"
    for part in beginning.split() if "/" in beginning or "." in beginning else ():
        if "/" in part or "." in part:  # the pattern costs ten times what this does
            for word in RE.path.findall(part):
                if len(word) <= limits.PATH_CHARS_MAX and _may_name(word):
                    paths[word.removeprefix("./")] = None
            if len(paths) >= PATHS_TRIED_MAX:
                break
    return list(paths)[:PATHS_TRIED_MAX]


# the same few files are named again and again
@lru_cache(maxsize=MADE_ONCE_MAX)
def _may_name(word: str) -> bool:
    return ".git" not in word.lower().split("/") and not holds_secrets(word)


def holds_secrets(path: str) -> bool:
    """Whether a file of that name holds secrets and little else. Whoever meets a link asks about
    where it leads, too.
    """
    named = f"/{path.lower()}"
    return bool(RE.secret_ending.search(named) or RE.secret.search(named))
