"""What a failure is known by. Its exact key is the same for the same message with the same names:
which module, which service, which port, which file. Its family key is the same whatever the names.

Keys are made from the text alone, and never depend on what else is known. What differs from run to
run is in neither: times, durations, addresses in memory, places in a file, temporary paths, what
machines make up, and where a checkout or a home lies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from hardwon.text.failures import (
    RE,
    bare_message,
    error_core,
    hide_number,
    telling_words,
)

_TEMPORARY: Final = re.compile(r"(?:/private)?/(?:tmp|var/folders|var/tmp)/[^\s:'\"`)\]]+")
# The folders before the last two parts of a path: two are enough to know a file by.
_FOLDERS: Final = re.compile(
    r"(?<![\w.~-])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+ -]*[\w.@+-])*?[/\\](?=[\w.@+-]+[/\\][\w.@+-]+(?![\w.@+-]*[/\\]))"
)
_TIME: Final = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?Z?)?\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds?|minutes?|hours?)\b"
)
# Behind the name of a file: line and column.
_PLACE: Final = re.compile(
    r"(?:(?<=\.\w)|(?<=\.\w\w)|(?<=\.\w\w\w)):\d+(?::\d+)?\b"
    r"|\b(?:at |in |on )?line \d+\b(?:,? column \d+)?|\(\d+,\d+\)"
)
_MADE_UP: Final = re.compile(
    r"\b0x[0-9a-fA-F]+\b|\bsha\d+-[\w+/=]+|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,}\b|\b\d{9,}\b"
    r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
)
_NETWORK: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
# A number that stands alone counts something. After `port`, or joined to a name, it names it.
_NUMBER: Final = re.compile(
    r"(?<![\w.:/=<>@+'\"-])(?<!\bport )\d+(?:[.,]\d+)*(?:[kMGT]i?B)?(?![\w:/='\"-]|\.\w)"
)

# A word that is a name wherever it stands: it has a sign, a digit or a capital within.
_NAMED: Final = re.compile(
    r"(?<=['\"`])[\w][\w.-]*(?=['\"`])|[A-Za-z_][\w-]*(?:[./_:-][\w-]+)+|[A-Za-z]+[A-Z0-9]\w*"
)

_COMPLAINT_CHARS_MAX: Final = 2_000
_LINES_TRIED: Final = 12
_SAYS: Final = re.compile(r"[^\W\d_]{2}")
_WORDS_CHARS_MAX: Final = 600
_SAME_CHARS_MIN: Final = 12
_SAME_CHARS_MAX: Final = 100


@dataclass(frozen=True)
class Failure:
    """What went wrong. `words` are as they were shown; `tells`: they say what it is, and not only
    that something failed.
    """

    exact: str
    family: str
    words: str
    tells: bool = True


def read_failure(output: str, check: str = "") -> Failure | None:
    """The failure that the output of something that failed tells of; None where it tells nothing.
    The exact key of words that only say that something failed is of what was run, `check`, too.
    """
    words, tells = telling_words(output)
    words = words.strip()
    if not tells and "\n" in words:  # nothing in it is known to report a failure
        words = _last_line(words)
    return _make_failure(words, "" if tells else check, tells) if words else None


def _last_line(text: str) -> str:
    """The last line that says anything: whatever gives up says why at its end."""
    lines = (line.strip() for line in reversed(text.split("\n")))
    return next((line for line in lines if _SAYS.search(line)), "")


@lru_cache(maxsize=512)  # the same few are met again and again
def _make_failure(words: str, check: str, tells: bool) -> Failure:
    exact = make_key("exact", exact_line(words), check)
    return Failure(exact, make_key("family", error_core(words)), words, tells)


def line_keys(output: str) -> list[str]:
    """The exact keys that the last lines of an output would have, each as a failure of its own; the
    last one first.
    """
    lines = [line.strip() for line in output.split("\n") if _SAYS.search(line)]
    return [make_key("exact", exact_line(line), "") for line in lines[: -_LINES_TRIED - 1 : -1]]


def find_names(text: str) -> set[str]:
    """What stands in quotes in a text, paths, and words with a sign or a digit in them: what it
    names, as far as the text alone tells.
    """
    return {name.strip("./-:") for name in _NAMED.findall(text[:_WORDS_CHARS_MAX])} - {""}


def complains(output: str) -> bool:
    """Whether an output says of something that it is not as it should be."""
    return len(output) < _COMPLAINT_CHARS_MAX and bool(RE.complaining.search(output))


def make_key(*parts: str) -> str:
    """16 hex characters, the same for the same parts."""
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=8).hexdigest()


@lru_cache(maxsize=512)
def exact_line(words: str) -> str:
    """The words that say what failed, in small letters, with their names and without what differs
    from run to run.
    """
    line = bare_message(" ".join(words[:_WORDS_CHARS_MAX].split()))
    line = _TEMPORARY.sub("<tmp>", line)
    line = _TIME.sub("<time>", line)
    line = _PLACE.sub("", line)
    line = _MADE_UP.sub("<id>", line)
    line = _FOLDERS.sub("", line) if "/" in line or "\\" in line else line
    line = _NETWORK.sub("<ip>", line)
    line = _NUMBER.sub(hide_number, line)
    return line.lower().strip(" .:")


def shows_failure(output: str, failure: Failure, other: Failure | None = None) -> bool:
    """Whether an output tells of a failure, alone or among others. `other` is what was read in it
    first.
    """
    if other and other.exact == failure.exact:
        return True
    words = failure.words.strip().split("\n")[0]
    line = exact_line(words)[:_SAME_CHARS_MAX]
    if len(line) < _SAME_CHARS_MIN:
        return False
    return any(line in exact_line(shown) for shown in _lines_like(words, output))


def _lines_like(words: str, output: str) -> Iterable[str]:
    """The lines of an output that have the longest plain word of these words."""
    telling = max(re.findall(r"[^\W\d_]+", words), key=len, default="")
    return [shown for shown in output.split("\n") if telling and telling in shown]
