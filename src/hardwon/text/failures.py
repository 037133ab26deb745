"""What went wrong, in the words that say it, and the two keys that a failure is known by; and whether
anything went wrong at all.

A report of a failure is mostly about the one time it happened: the log around it, line numbers,
addresses. The few words that say what failed are found by a table of the ways in which programs
report failures (`failures.txt`), from the most to the least telling; where none of
them is known, by a general rule: the last line that complains of something.

The exact key is the same for the same message with the same names: which module, which service,
which port, which file. The family key is the same whatever the names; a message without names has
one key. Keys are made from the text alone and never depend on what else is known. What differs from
run to run is in neither: times, durations, addresses in memory, places in a file, temporary paths,
what machines make up, and where a checkout or a home lies. A number that only counts is `<n>`; a code
(exit code 127, HTTP 404) stays.

Hostile text costs no more than the window that is looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.text import failures_tables as tables
from hardwon.text.tables import Form, Forms, Patterns, in_small_letters

RE: Final = Patterns(tables.PATTERNS)
REPORTS: Final = Forms(tables.REPORTS, RE)

# Two failures that agree for this long do not differ in anything one could act on.
_CORE_CHARS_MAX: Final = 300
_WORD: Final = re.compile(r"[\w.+-]+")
_LINE_CHARS_MAX: Final = 1_000  # of the words, before long values become placeholders
_COMPLAINT_CHARS_MAX: Final = 2_000
_LINES_TRIED: Final = 12
_NAMED_CHARS_MAX: Final = 600
_SAYS: Final = re.compile(r"[^\W\d_]{2}")
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
    if (
        not tells and "\n" in words
    ):  # nothing in it is known, and whatever gives up says why at its end
        words = next(filter(_SAYS.search, reversed(words.split("\n"))), "").strip()
    return _make_failure(words, "" if tells else check, tells) if words else None


def failure_hash(error_text: str) -> str:
    """The family key of a failure, 16 hex characters: the same for the same failure on another run,
    machine or user, in colour or not, alone or inside a log.
    """
    if not isinstance(error_text, str):
        raise InvalidInputError.one("error_text", error_text, "text")
    return make_key("family", error_core(error_text))


def error_core(error_text: str) -> str:
    """What failed, in one line of lower case that is the same for failures of one family:
    `typeerror: unsupported operand type(s) for +: <q> and <q>`. It is what `failure_hash` hashes, in
    a form that a person can read. "" for a blank text.
    """
    return _family_line(error_words(error_text))


def error_words(error_text: str) -> str:
    """The words that say what failed, as they were shown; "" for a blank text."""
    return telling_words(error_text)[0]


def telling_words(error_text: str) -> tuple[str, bool]:
    """The words that say what failed, and whether they tell what that is, not only that something
    did. Nothing, and that it does not, for a blank text.
    """
    text = _take_window(error_text)
    return _find_words(text) if text else ("", False)


@lru_cache(maxsize=4)  # a question is asked this when it is searched for and when it is answered
def shows_error(observation: str) -> bool:
    """Whether what a tool answered reports a failure, rather than counting none or only speaking of
    errors.

    It would rather miss a failure than see one where there is none: a success that is taken for a
    failure teaches an agent to avoid what works.
    """
    text = _take_window(observation)
    return bool(_read_report(text)[0] or _read_report(_unwrap(text))[0])


def complains(output: str) -> bool:
    """Whether an output says of something that it is not as it should be."""
    return len(output) < _COMPLAINT_CHARS_MAX and bool(RE.complaint.search(output))


def shows_failure(output: str, failure: Failure, other: Failure | None = None) -> bool:
    """Whether an output tells of a failure, alone or among others. `other` is what was read in it
    first.
    """
    if other and other.exact == failure.exact:
        return True
    words = failure.words.strip().split("\n")[0]
    line = exact_message(words)[:_SAME_CHARS_MAX]
    if len(line) < _SAME_CHARS_MIN:
        return False
    # its longest plain word is found sooner than the line
    telling = max(re.findall(r"[^\W\d_]+", words), key=len, default="")
    shown_lines = output.split("\n") if telling else []
    return any(telling in shown and line in exact_message(shown) for shown in shown_lines)


def find_names(text: str) -> set[str]:
    """What stands in quotes in a text, paths, and words with a sign or a digit in them: what it
    names, as far as the text alone tells.
    """
    return {name.strip("./-:") for name in RE.named.findall(text[:_NAMED_CHARS_MAX])} - {""}


def names_any(named: Set[str], action: str) -> bool:
    """Whether an action has one of these names in it, be it a plain word there."""
    return not named.isdisjoint({*find_names(action), *_WORD.findall(action)})


# ---- the window


@lru_cache(maxsize=4)  # a text is asked several things, one after the other
def _take_window(text: str) -> str:
    """What is looked at: plain lines, each after a line end, so that a pattern can begin with one;
    "" for a blank text.
    """
    if "\x1b" in text:
        text = RE.ansi.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) > limits.FAILURE_HEAD_CHARS + limits.FAILURE_TAIL_CHARS:
        head, tail = text[: limits.FAILURE_HEAD_CHARS], text[-limits.FAILURE_TAIL_CHARS :]
        text = "\n".join((head.rpartition("\n")[0] or head, tail.partition("\n")[2] or tail))
    return RE.stamp.sub("\n", f"\n{text}") if text else ""


def _unwrap(text: str) -> str:
    """What a JSON object says of the failure, as plain text; any other text as it is."""
    if text[1:2] != "{":
        return text
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(answer.get("error"), dict):
        answer = answer["error"]
    for name in ("stderr", "error", "message", "detail", "msg", "output", "stdout"):
        if isinstance(answer.get(name), str) and answer[name].strip():
            return f"\n{answer[name].strip()}"
    return text


# ---- the words


@lru_cache(maxsize=512)  # agents meet the same few again and again, and compare them
def _find_words(text: str) -> tuple[str, bool]:
    """What a known report says, or the last line that complains; of what only says that something
    failed, that; else all of it. What runs programs and says that one failed is asked last.
    """
    text = _unwrap(text)
    rest = RE.runner.sub("", text)
    words = _read_report(rest, vaguely=False)[1]
    if words:
        return words, True
    lines = [line.strip() for line in rest.split("\n") if _SAYS.search(line)]
    complaint = next(filter(RE.complaint.search, lines[: -_LINES_TRIED - 1 : -1]), "")
    words = _read_report(text)[1]
    if complaint and rest != text:
        return complaint, True
    return words or complaint or text.strip(), False


@lru_cache(maxsize=4)  # whoever is told that it reports a failure asks which
def _read_report(text: str, *, vaguely: bool = True) -> tuple[bool, str]:
    """Whether a text reports a failure, and the words that say which."""
    reports = False
    for report in REPORTS.possible(text):
        if (vaguely or "vague" not in report.row) and (match := _find_report(report, text)):
            reports = True
            if words := _PICK[report.row.get("pick", "groups")](match).strip():
                return True, _add_test(report.row.get("says", "{}").format(words), match)
    return reports, ""


def _find_report(report: Form, text: str) -> re.Match[str] | None:
    accept = _ACCEPT[report.row.get("accept", "always")]
    if words := report.row.get("line"):
        lines = sorted({at for word in words.split() for at in _lines_with(word, text)})
        matches = (match for at in lines if (match := report.pattern.match(text, at)))
        return next(filter(accept, matches), None)
    return next(filter(accept, report.pattern.finditer(text)), None)


@lru_cache(maxsize=16)  # several reports are looked for where an error is named
def _lines_with(word: str, text: str) -> list[int]:
    """Where the lines begin that hold a word, each at the line end before it."""
    lower, lines = in_small_letters(text), list[int]()
    at = lower.find(word)
    while at >= 0:
        lines.append(text.rfind("\n", 0, at))
        end = text.find("\n", at)
        at = lower.find(word, end) if end >= 0 else -1
    return lines


def _is_reported(match: re.Match[str], *, wholly: bool = False) -> bool:
    """Whether the words stand as a report: not in code, not in a string, not after "fixed", "if" or
    "no"; `wholly`: nor with such a word among them.
    """
    text, start = match.string, match.start()
    start += text[start] == "\n"
    begin = text.rfind("\n", 0, start) + 1
    before = text[max(begin, start - 200) : start]
    if before.count('"') % 2 or before.count("`") % 2:
        return False
    return not RE.unreal.search(before + match.group() if wholly else before)


# What tells whether a match is a report at all.
_ACCEPT: Final[dict[str, Callable[[re.Match[str]], bool]]] = {
    "always": bool,
    "reported": _is_reported,
    "happened": partial(_is_reported, wholly=True),
}


def _add_test(words: str, match: re.Match[str]) -> str:
    """An assertion of two values is told apart by the name of its test; any other message speaks for
    itself.
    """
    if not RE.says_little.match(words):
        return words
    if words.startswith("AssertionError: assert"):  # shown with it or without
        words = words.removeprefix("AssertionError: ")
    tests = list(RE.test_name.finditer(match.string))
    before = [test for test in tests if test.start() <= match.start()]
    for test in (*before[-1:], *tests[:1]):
        return f"{words} in {test[1] or test[2] or test[3]}"
    return words


# ---- what takes the words that say what failed out of a match


def _pick_groups(match: re.Match[str]) -> str:
    """What the groups of a pattern took; where it has none, the line, with the next one where it
    only says that a message follows.
    """
    if groups := [group for group in match.groups() if group]:
        return " ".join(groups)
    text = match.string
    first, *below = text[text.rfind("\n", 0, match.start() + 1) + 1 :].split("\n", 2)
    return _join_lines(first, *below)


def _join_lines(first: str, *below: str) -> str:
    """A line that says what failed; one that only says that a message follows, with that."""
    first = first.strip()
    if below and (first.endswith(":") or "validation error" in first):
        return f"{first} {below[0].strip()}"
    return first


def _pick_python(match: re.Match[str]) -> str:
    """The exception of the last traceback: the first line below its header that is indented less
    than its frames are. Of a group of exceptions, the last that is in it.
    """
    text = match.string
    lines = text[text.rfind("Traceback (most recent call last)") :].split("\n")
    if "| " in lines[-1] or "Exception Group" in text:
        lines = [re.sub(r"^[ |+-]+(?=\S)", "", line) for line in text.split("\n")]
        inside = [line for line in lines if RE.raised.match(line) and "sub-exc" not in line]
        return inside[0] if inside else ""
    depth = next((_indent(line) for line in lines[1:] if line.strip()), 0)
    for at, line in enumerate(lines[1:], 1):
        less = _indent(line) < depth and line.strip()
        if less if depth else RE.raised.match(line):
            words = _join_lines(*lines[at : at + 2])
            # the code of the innermost frame, as Python or IPython shows it
            code = (above.lstrip(" \t~^->0123456789") for above in reversed(lines[:at]))
            place = f" at {next(filter(None, code), '')}" if RE.says_little.match(words) else ""
            return words + place
    return ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _pick_pytest(match: re.Match[str]) -> str:
    """The exception of the first failure; of a chain the last, which Python itself ends with."""
    section = match.string[match.start() + 1 :].partition("\n____")[0]
    section = section[section.rfind("During handling of the above exception") + 1 :]
    lines = [line.strip()[1:].strip() for line in section.split("\n") if RE.error_mark.match(line)]
    at = next((at for at, line in enumerate(lines) if RE.raised.match(line)), 0)
    return _join_lines(*lines[at : at + 2]) if lines else ""


_PICK: Final[dict[str, Callable[[re.Match[str]], str]]] = {
    "groups": _pick_groups,
    "pytest": _pick_pytest,
    "python": _pick_python,
}


# ---- the keys


def make_key(*parts: str) -> str:
    """16 hex characters, the same for the same parts."""
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=8).hexdigest()


@lru_cache(maxsize=512)  # the same few are met again and again
def _make_failure(words: str, check: str, tells: bool) -> Failure:
    message, line = exact_message(words), _family_line(words)
    family = make_key("family", line)
    names_nothing = message == line and not check
    exact = family if names_nothing else make_key("exact", message, check)
    return Failure(exact, family, words, tells)


@lru_cache(maxsize=512)
def exact_message(words: str) -> str:
    """The words that say what failed, in small letters, with their names and without what differs
    from run to run.
    """
    line = _hide_run(words)
    line = RE.folders.sub("", line) if "/" in line or "\\" in line else line
    return _tidy(RE.number.sub(_hide_number, RE.network.sub("<ip>", line)))


@lru_cache(maxsize=512)
def _family_line(words: str) -> str:
    """The same without names: what is quoted, paths, addresses, hosts, and numbers of any kind."""
    line = RE.quoted.sub("<q>", _hide_run(words))
    if "/" in line or "\\" in line:
        line = RE.path.sub(_hide_path, line)
    return _tidy(RE.any_number.sub(_hide_number, RE.network.sub("<ip>", line)))


def _hide_run(words: str) -> str:
    """Words without what is put before a message, and without what differs from run to run."""
    line = " ".join(words[:_LINE_CHARS_MAX].split())
    if RE.level_word.search(line) and (head := RE.log_head.match(line)):
        line = line[head.end() :]
    if lead := RE.leads.match(line):
        line = line[lead.end() :]
    line = RE.time.sub("<time>", RE.temporary.sub("<tmp>", line))
    return RE.made_up.sub("<id>", RE.position.sub("", line))


def _tidy(line: str) -> str:
    return " ".join(line.lower().split())[:_CORE_CHARS_MAX].strip(" .:")


def _hide_number(match: re.Match[str]) -> str:
    """A number as `<n>`, unless what stands around it makes it a code."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    return match.group() if RE.names_code.search(before) else "<n>"


def _hide_path(match: re.Match[str]) -> str:
    """The name of a file that is spoken of (`cat: /home/ann/notes.txt: No such …`) is kept; a path
    that a message only mentions is `<path>`.
    """
    last = match.group().replace("\\", "/").rpartition("/")[2]
    spoken_of = match.string.startswith(":", match.end()) and "." in last
    return last if spoken_of else "<path>"
