"""What went wrong, in one line that is the same whenever it goes wrong again; and whether anything
went wrong at all.

A report of a failure is mostly about the one time it happened: line numbers, addresses, paths, the
log around it. The few words that say what failed are found by a table of the ways in which programs
report failures (`REPORTS` in failures_tables.py), from the most to the least telling: the exception
that ends a traceback says more than the exit code it led to. What differs between two runs is then
taken out of these words.

The message is the failure, and where it happened is not: the same exception from another line or
file is the same failure. Only an assertion that says nothing but two values is distinguished by the
name of its test.

Numbers are data and become `<n>`, unless the words around them make them codes (exit code 127, HTTP
404, errno 13, ERROR 1146); only where a connection was refused does the port say who refused it.
Quoted values become `<q>`, a file's path its name, other paths `<path>`, and one in a temporary
directory `<tmp>`. What a log puts before its message is left out, and what machines count (blk_2568,
rdd_2_1, node-17), hosts and users' names are data too.

Hostile text costs no more than the window that is looked at: a pattern begins at a line's end or at
a fixed word, and what it repeats is bounded or not given back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from itertools import takewhile
from typing import Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.text import failures_tables as tables
from hardwon.text.tables import Form, Forms, Patterns, WordLists, in_small_letters

RE: Final = Patterns(tables.PATTERNS)
WORDS: Final = WordLists(tables.WORDS)


def error_core(error_text: str) -> str:
    """What failed, in one line of lower case that is the same for the same failure: `typeerror:
    unsupported operand type(s) for +: <q> and <q>`. It is what `failure_hash` hashes, in a form
    that a person can read. "" for a blank text.
    """
    return _normalize(error_words(error_text))


def exact_message(words: str) -> str:
    """The words that say what failed, in lower case, with the names in them, without what differs from run to run
    (times, ids, addresses, line numbers, temporary paths): two that are equal tell of this very
    failure, where an equal `error_core` tells of one of its kind. "" for blank words.
    """
    line = words[: limits.FAILURE_LINE_CHARS_MAX].replace("\n", " ").lstrip()
    if header := RE.log_header.match(line):
        line = line[header.end() :]
    line = RE.aside.sub("", bare_message(line))
    line = RE.temp_name.sub("<tmp>", RE.path.sub(_hide_temporary, line))
    line = RE.id.sub("<n>", RE.named_id.sub(r"\1 <n>", RE.time.sub("<time>", line)))
    return _tidy(RE.position.sub(_hide_line_number, line))


def failure_hash(error_text: str) -> str:
    """16 hex characters that are the same for the same failure: on another run, machine or user, in
    colour or not, alone or inside a log. Records keep it, so whoever changes what `error_core`
    returns parts the old records from the new.
    """
    if not isinstance(error_text, str):
        raise InvalidInputError.one("error_text", error_text, "text")
    core = _normalize(error_words(error_text))
    return blake2b(core.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def error_words(error_text: str) -> str:
    """The words that say what failed, as they were said."""
    return _words_in(_window(error_text))


@lru_cache(maxsize=512)  # agents meet the same few again and again, and compare them
def _words_in(window: str) -> str:
    return _words_of_failure(_unwrap(window)) if window else ""


@lru_cache(maxsize=4)  # a question is asked this when it is searched for and when it is answered
def shows_error(observation: str) -> bool:
    """Whether what a tool answered reports a failure, rather than counting none or only speaking of
    errors.

    It would rather miss a failure than see one where there is none: a success that is taken for a
    failure teaches an agent to avoid what works.
    """
    text = _window(observation)
    return any(_read_report(each)[0] for each in dict.fromkeys((text, _unwrap(text))))


def telling_words(error_text: str) -> tuple[str, bool]:
    """The words that say what failed, and whether they tell what that is, not only that something
    did. Nothing, and that it does not, for a blank text.
    """
    window = _window(error_text)
    words = _words_in(window) if window else ""
    return words, bool(words) and _read_report(_unwrap(window), vaguely=False)[0]


# ---- the window


@lru_cache(maxsize=4)  # a text is asked several things, one after the other
def _window(text: str) -> str:
    """What is looked at: plain lines, each after a line end, so that a pattern can begin with one;
    "" for a blank text.
    """
    if "\x1b" in text:
        text = RE.ansi.sub("", text)
    text = (text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text).strip()
    if not text:
        return ""
    if len(text) > limits.FAILURE_HEAD_CHARS + limits.FAILURE_TAIL_CHARS:
        head, tail = text[: limits.FAILURE_HEAD_CHARS], text[-limits.FAILURE_TAIL_CHARS :]
        text = "\n".join((head.rpartition("\n")[0] or head, tail.partition("\n")[2] or tail))
    if "\n" in text:
        # The indentation that all lines share but the first, which has lost its own already.
        if not RE.unindented.search(text):
            below = text.split("\n")[1:]
            margin = min((_indent(line) for line in below if line.strip()), default=0)
            text = re.sub(rf"\n[ \t]{{{margin}}}", "\n", text)
    elif "\\n" in text and text[0] not in "{[" and RE.folded.search(text):
        text = _unescape(text)
    text = f"\n{text}"
    if "[0m" in text or "[39m" in text:
        text = RE.colour.sub("", text)
    if "\n20" in text or "\n[20" in text or ("#" in text and "\n#" in text):
        text = RE.stamp.sub("\n", text)
    if "|" in text and " | " in text and (service := RE.service.search(text)):
        text = text.replace(service.group(), "\n")
    return text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _unescape(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _unwrap(text: str) -> str:
    """What a JSON object says of the failure, as plain text; any other text as it is."""
    if text[1:2] not in ("{", "["):
        return text
    if level := RE.json_level.search(text):
        text = text[level.start() :]
    for pattern in (RE.json_output, RE.json_message, RE.json_error, RE.json_printed):
        found = pattern.search(text)
        if found and (words := _unescape(found[1] or found[2] or "").strip()):
            coded = pattern is not RE.json_output and "\n" not in words
            code = RE.json_code.search(text) if coded else None
            return f"\n{words} [code {code[1]}]" if code and code[1] not in words else f"\n{words}"
    return text


# ---- lines


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(reversed(list(pattern.finditer(text))), None)


def _announces(line: str) -> int:
    """How many of the lines below a line belong to its message: it only says that one follows."""
    if "validation error" in line:
        return 2
    return 1 if line.endswith(":") or line.startswith("ERROR in ") else 0


def _message(lines: list[str]) -> str:
    first = lines[0].strip()
    below = [line.strip() for line in lines[1:5] if line.strip()][: _announces(first)]
    if below and below[0].startswith(("File ", "at ", "Traceback")):
        return first
    return " ".join([first, *below])


def _line(match: re.Match[str]) -> str:
    """The message that begins with the line that a match begins in."""
    text = match.string
    lines = text[text.rfind("\n", 0, match.start() + 1) + 1 :].split("\n", 5)
    return _message(lines) if len(lines) > 1 and _announces(lines[0]) else lines[0]


def _rest(match: re.Match[str]) -> str:
    """From where a match begins to the end of its line."""
    return match.string[match.start() : match.end()] + match.string[match.end() :].split("\n", 1)[0]


def _with_place(words: str, place: str) -> str:
    """An assertion of two values is distinguished by where it stands; any other message speaks for
    itself.
    """
    # as an assertion is shown depends on who shows it
    if words.startswith("AssertionError: assert "):
        words = words.removeprefix("AssertionError: ")
    asserts = any(word in words.lower() for word in ("assert", "expected"))
    distinguished = place and asserts and RE.says_little.match(_normalize_lightly(words))
    return f"{words} in {place}" if distinguished else words


# ---- Python

_HEADER: Final = "Traceback (most recent call last)"
_GROUP: Final = f"Exception Group {_HEADER}"
_CHAIN: Final = (
    "During handling of the above exception",
    "The above exception was the direct cause",
)


def pick_python(match: re.Match[str]) -> str:
    text = match.string
    if _GROUP in text:
        return _exception_group(text[text.find(_GROUP) :])
    lines = text[text.rfind(_HEADER) :].split("\n")
    if 'File "' in lines[0]:
        found = _last(RE.in_one_line, lines[0])
        return found.group() if found else ""
    at = _find_exception(lines)
    if not at:
        return ""
    if test := RE.failed_test.search(text):
        return _with_place(_message(lines[at:]), test[1])
    # The code of the innermost frame, or its function where the code is not shown.
    frame = next((line for line in reversed(lines[:at]) if not RE.marker.match(line)), "")
    function = RE.function.search(frame)
    return _with_place(_message(lines[at:]), function[1] if function else frame.strip())


def _find_exception(lines: list[str]) -> int:
    """Which line after a traceback's header is the exception: the first that is indented less than
    the frames are; where the indentation is lost, the first after the last frame that looks like
    one. 0 if there is none.
    """
    depth = next((_indent(line) for line in lines[1:] if line.strip()), 0)
    frames = [at for at, line in enumerate(lines) if line.startswith('File "')]
    first = 1 if depth or not frames else frames[-1]
    for at, line in enumerate(lines[first:], first):
        less = _indent(line) < depth and line.strip()
        if less if depth else RE.is_raised.match(line):
            return at
    return 0


def _exception_group(text: str) -> str:
    """An exception group and the first exception in it: the group alone says only how many there
    are.
    """
    lines = [line.strip(" \t|+-") for line in text.split("\n")]
    raised = [line for line in lines if RE.is_raised.match(line)]
    group = next((line for line in raised if "sub-exception" in line), "")
    leaf = next((line for line in raised if "sub-exception" not in line), "")
    if group and leaf:
        return f"{group.replace('sub-exceptions', 'sub-exception')} > {leaf}"
    return group or leaf


def pick_pytest(match: re.Match[str]) -> str:
    """The exception of the first failure. Of a chain it is the last, which is the one that Python
    itself ends with.
    """
    text, start = match.string, match.start()
    section = text[start + 1 :].partition("\n____")[0]
    for link in _CHAIN:
        at = section.rfind(link)
        if at >= 0 and "\nE  " in section[at:]:
            section = section[at:]
    lines = [found[1] for line in section.split("\n") if (found := RE.e_line.match(line))]
    first = next(
        (
            at
            for at, line in enumerate(lines)
            if line.startswith("assert") or RE.is_raised.match(line.strip())
        ),
        0,
    )
    title = _last(RE.title, text[: start + 1]) or RE.failed_test.search(text)
    return _with_place(_message(lines[first:]), title[1] if title else "")


def pick_pytest_summary(match: re.Match[str]) -> str:
    place, _, words = match[1].partition(" - ")
    name = place.rpartition("::")[2].partition("[")[0]
    return _with_place(words, name) if words else f"failed {name}"


# ---- Rust and Go


def pick_rust_panic(match: re.Match[str]) -> str:
    # The message stood in quotes before the place until Rust 1.72, and stands below it since.
    panic = RE.panic.search(match.string, match.string.rfind("\n", 0, match.start()) + 1)
    if panic is None:
        return _rest(match)
    words = RE.old_assertion.sub(r"assertion `\1` failed", panic["old"] or panic["new"] or "")
    thread = panic["thread"] or ""
    return _with_place(f"panicked: {words}", thread if "::" in thread else "")


def pick_go_test(match: re.Match[str]) -> str:
    """The innermost failed test, and what it logged: below its line, or above it in a verbose
    run.
    """
    text, start = match.string, match.start()
    lines = text[start + 1 :].split("\n")
    while len(lines) > 1 and lines[1].lstrip().startswith("--- FAIL: "):
        del lines[0]
    test = f"--- FAIL: {lines[0].split('FAIL: ', 1)[1].split(' (')[0]}"
    above = text[:start].rpartition("\n")[2]
    logged = [found[1] for line in (*lines[1:2], above) if (found := RE.go_says.match(line))]
    failed = [line.partition("Error:")[2] for line in lines if line.lstrip().startswith("Error:")]
    words = next(filter(None, (each.strip() for each in (*logged[:1], *failed[:1]))), "")
    return f"{test}: {words}" if words else test


# ---- Java, JavaScript and others whose stack comes after the message


def _root_cause(text: str) -> str:
    cause = _last(RE.cause, text)
    return cause[1] or cause[2] if cause else ""


def _last_filled(lines: list[str]) -> str:
    return next((line for line in reversed(lines) if line), "")


def pick_thrown(match: re.Match[str]) -> str:
    """The root cause, or the exception above the first frame."""
    text, start = match.string, match.start()
    cause = words = _root_cause(text)
    if not cause:
        above = [line.strip() for line in text[:start].split("\n")[-12:]]
        raised = [
            each
            for each in above
            if RE.is_raised.match(each) or RE.is_raised.match(bare_message(each))
        ]
        words = raised[-1] if raised else _last_filled(above)
    code = RE.code_field.search(text) if "code: " in text else None
    if code and code[1] not in words:
        words = f"{words} [{code[1]}]"
    method = None if cause else RE.method.search(text, start)
    return words if cause else _with_place(words, method[1] if method else "")


def pick_caused(match: re.Match[str]) -> str:
    text = match.string
    if cause := _root_cause(text):
        return cause
    # A list of causes below the line, as Rust prints it: the outermost and the innermost of them.
    outer = _last_filled(text[: match.start()].split("\n"))
    below = map(RE.listed_cause.match, text[match.end() :].split("\n")[1:])
    causes = [found[1] for found in takewhile(bool, below) if found]
    return f"{outer}: {causes[-1]}" if causes else outer


def pick_rejected(match: re.Match[str]) -> str:
    reason = RE.reason.search(match.string, match.start())
    return reason[1] if reason else _line(match)


def pick_jest(match: re.Match[str]) -> str:
    lines = [line.strip() for line in match.string[match.start() + 1 :].split("\n")]
    words = next(filter(None, lines[1:]), "")
    if RE.is_raised.match(words) and not words.startswith("Assert"):
        return words
    name = lines[0].removeprefix("● ").rpartition(" \u203a ")[2]
    return f"{words} in {name}"


def pick_gradle(match: re.Match[str]) -> str:
    """What went wrong, and the innermost of the reasons that are listed below it."""
    first, *below = match.string[match.end() :].partition("\n\n")[0].split("\n")
    reasons = [line.strip(" >") for line in below if line.lstrip().startswith("> ")]
    return " ".join([first, *reasons[-1:]])


def pick_npm(match: re.Match[str]) -> str:
    lines = [found[1] for found in RE.npm_line.finditer(match.string, match.start())]
    code = next((line[4:] for line in lines if line.startswith("code ")), "")
    return f"npm{code}: {next((line for line in lines if not line.startswith('code ')), '')}"


# ---- compilers, shells, logs and answers


def pick_compiler(match: re.Match[str]) -> str:
    words = _line(match)
    symbol = (
        RE.symbol.search(match.string, match.start()) if "cannot find symbol" in words else None
    )
    return f"{words}: {symbol[1]}" if symbol else words


def pick_missing_command(match: re.Match[str]) -> str:
    name = match[1] or _line(match).partition(": command not found")[0].rpartition(": ")[2]
    return f"command not found: {name.rpartition('/')[2]}"


def pick_make(match: re.Match[str]) -> str:
    if not match["code"]:
        return _line(match)
    # Newer versions say in which file and line the rule stands: [Makefile:12: all].
    return f"make: *** [{match['target'].rpartition(': ')[2]}] Error {match['code']}"


def pick_logged(match: re.Match[str]) -> str:
    line = _line(match)
    fields = {name: quoted or bare for name, quoted, bare in RE.logged.findall(line)}
    return fields.get("err") or fields.get("error") or fields.get("msg") or line


def pick_answered(match: re.Match[str]) -> str:
    """What the JSON object among other lines says."""
    outer = match.string[max(0, match.string.rfind("\n{", 0, match.start() + 2)) :]
    inner = _unwrap(outer)
    return _words_of_failure(inner) if len(inner) < len(outer) else _line(match)


def pick_told(match: re.Match[str]) -> str:
    """What a JSON object at the end of a line says."""
    return _words_of_failure(_unwrap("\n" + match.string[match.end() :].split("\n", 1)[0]))


# ---- whether a line reports, or only speaks of failures


def _reported(match: re.Match[str]) -> bool:
    """Whether the words stand as a report: not in code, not in a string, not after "fixed", "if" or
    "no".
    """
    text, start = match.string, match.start()
    start += text[start] == "\n"
    begin = text.rfind("\n", 0, start) + 1
    if RE.code_line.match(text, begin, begin + 400):
        return False
    before = text[max(begin, start - 200) : start]
    return not (before.count('"') % 2 or before.count("`") % 2 or RE.unreal.search(before))


def _happened(match: re.Match[str]) -> bool:
    """The same where the match holds the words before."""
    return _reported(match) and not RE.unreal.search(match.group())


def _outside_code(match: re.Match[str]) -> bool:
    return not RE.code_line.match(match.string, match.start() + 1, match.start() + 401)


def is_raised_here(match: re.Match[str]) -> bool:
    """Not so in the part of a docstring that lists what may be raised."""
    above = match.string[max(0, match.start() - 400) : match.start()].split("\n")
    title = next((line for line in reversed(above) if not RE.is_raised.match(line.lstrip())), "")
    return not RE.lists_errors.fullmatch(title.strip().lower()) and _outside_code(match)


def is_in_json(match: re.Match[str]) -> bool:
    return match.string[1] in "{[" or "\n{" in match.string[: match.start() + 2]


def is_of_http(match: re.Match[str]) -> bool:
    """Whether a number is a status of HTTP: it is called so, or followed by the phrase that belongs
    to it.
    """
    text, start = match.string, match.start()
    named = RE.http_before.search(text, max(0, start - 24), start)
    first = text[start - 1] in "\n(" or text.endswith(": ", 0, start)
    return bool(named or (first and RE.http_after.match(text, match.end()))) and _reported(match)


# ---- the table

# What takes the words that say what failed out of a match; "" passes the text on to the next way.
_PICK: Final[dict[str, Callable[[re.Match[str]], str]]] = {
    "answered": pick_answered,
    "caused": pick_caused,
    "compiler": pick_compiler,
    "go_test": pick_go_test,
    "gradle": pick_gradle,
    "groups": lambda match: ": ".join(filter(None, match.groups())),
    "jest": pick_jest,
    "line": _line,
    "logged": pick_logged,
    "make": pick_make,
    "match": lambda match: match.group().strip(),
    "missing_command": pick_missing_command,
    "npm": pick_npm,
    "pytest": pick_pytest,
    "pytest_summary": pick_pytest_summary,
    "python": pick_python,
    "rejected": pick_rejected,
    "rest": _rest,
    "rust_panic": pick_rust_panic,
    "thrown": pick_thrown,
    "told": pick_told,
}
# What decides whether a match is a report at all.
_ACCEPT: Final[dict[str, Callable[[re.Match[str]], bool]]] = {
    "always": bool,
    "happened": _happened,
    "in_json": is_in_json,
    "of_http": is_of_http,
    "outside_code": _outside_code,
    "raised": is_raised_here,
    "reported": _reported,
}


REPORTS: Final = Forms(tables.REPORTS, RE)  # from the most to the least telling


def _find(report: Form, text: str) -> re.Match[str] | None:
    accept, pattern = _ACCEPT[report.row.get("accept", "always")], report.pattern
    if words := report.row.get("line"):
        lines = sorted({at for word in words.split() for at in _lines_with(word, text)})
        found = (match for at in lines if (match := pattern.match(text, at)))
        return next(filter(accept, found), None)
    return next(filter(accept, pattern.finditer(text)), None)


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


@lru_cache(maxsize=4)  # whoever is told that it reports a failure asks which
def _read_report(text: str, *, vaguely: bool = True) -> tuple[bool, str]:
    """Whether a text reports a failure, and the words that say which."""
    found = False
    for report in REPORTS.possible(text):
        if (vaguely or "vague" not in report.row) and (match := _find(report, text)):
            found, words = True, _PICK[report.row.get("pick", "line")](match)
            if words.strip():
                return True, words
    return found, ""


def _words_of_failure(text: str) -> str:
    """The words that say what failed."""
    if words := _cause_under_runner(text) or _read_report(text)[1]:
        return words
    if indented := RE.indented.search(text):
        return _line(indented)
    return next((line for line in text.split("\n") if RE.words.search(line.lower())), text)


def _cause_under_runner(text: str) -> str:
    """What a program reported, or said with its own name before it, that something else ran, which
    then said only that it failed: make, npm, cargo, tox. Empty where nothing did.
    """
    rest, lines = RE.runner.subn("", text)
    if not lines or not rest:
        return ""
    said = [line.strip().removeprefix("[exec] ") for line in rest.split("\n") if line.strip()]
    return _read_report(rest, vaguely=False)[1] or next(
        filter(RE.complaint.match, reversed(said[-_COMPLAINT_LINES:])), ""
    )


_COMPLAINT_LINES: Final = 8  # a program that gives up says why among its last words


# ---- what differs between two runs


def bare_message(line: str) -> str:
    """A line without what log, shell and compiler put before the message."""
    if RE.level_word.search(line) and (level := RE.level.match(line)):  # the first costs little
        line = line[level.end() :]
    if "zsh: " in line:  # other shells name the file first
        line = RE.zsh.sub(r"\2: \1", line)
    return line[leads.end() :] if (leads := RE.leads.match(line)) else line


def _shorten_path(match: re.Match[str]) -> str:
    path = match.group()
    if RE.temp.match(path):
        return "<tmp>"
    if RE.home.match(path):
        return "<home>"
    last = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return last if last and (RE.rooted.match(path) or RE.ending.search(last)) else path


def _hide_temporary(match: re.Match[str]) -> str:
    return "<tmp>" if RE.temp.match(match.group()) else match.group()


def _hide_line_number(match: re.Match[str]) -> str:
    """Behind a file it is no more than a place; behind a host it is a port, which is a name."""
    before = match.string[: match.start()].rpartition(" ")[2]
    return "" if RE.ending.search(before) and not RE.domain.search(before) else match.group()


def hide_number(match: re.Match[str]) -> str:
    """A number as `<n>`, unless what stands around it makes it a code."""
    line, start, end = match.string, match.start(), match.end()
    number, before = match.group(), line[max(0, start - 24) : start].lower()
    words = before.rstrip(" :=#([-\"'")
    word = words[words.rfind(" ") + 1 :].lstrip("([{,;")
    if word.endswith("/"):  # HTTP/2 is a version
        return "<n>"
    is_code = (
        word.partition("/")[0] in WORDS.code
        or RE.names_code.search(words)
        or (word == "error" and (":" not in before[len(words) :] or "400" <= number <= "599"))
        or (end - start > 2 and RE.code_after.match(line, end))
        or (before.endswith("-") and line[start - 2].isupper())  # ORA-00942
        or (before.endswith("(") and line.startswith(", <q>", end))  # (1054, "Unknown column …")
    )
    return number if is_code else "<n>"


@lru_cache(maxsize=512)
def _normalize(words: str) -> str:
    """The words that say what failed, without what differs between two runs."""
    line = words[: limits.FAILURE_LINE_CHARS_MAX].replace("\n", " ").replace("\\042", '"').lstrip()
    refused = RE.refused_port.search(line) if "efused" in line or "REFUSED" in line else None
    if header := RE.log_header.match(line):
        line = line[header.end() :]
    if "-> " in line:  # where IPython points to
        line = RE.pointed_at.sub(" in ", line)
    if ": -c: line " in line:  # a shell that was told another name: whatever follows the commands
        line = RE.told_name.sub("", line)
    line = bare_message(_hide_hosts(line))
    line = _hide(line, _hide_path, cut=len(words) > limits.FAILURE_LINE_CHARS_MAX)
    line = _tidy(_hide_names(line))
    # Ports from 32768 up are given to whoever asks.
    if refused and int(refused[1]) < 32_768:
        line = f"{line[: limits.FAILURE_CORE_CHARS_MAX - 13]} [port {refused[1]}]"
    return line


def _hide_hosts(line: str) -> str:
    """Hosts, what was asked of them, and ids of machines, while they are whole."""
    if "HTTP/" in line:
        line = RE.request.sub(r"\1 <q>", line)
    if RE.domain.search(line):
        line = RE.host_name.sub("<ip>", line)
    if line.count("-") > 3 or line.count(":") > 4 or "0x8" in line:
        line = RE.machine_id.sub("<n>", line)
    return line


def _hide_names(line: str) -> str:
    """Names of users and of what is counted, and the same again."""
    if " user " in line or " from <ip>" in line:
        line = RE.user.sub(r"\1 <q>", line)
    if "=" in line or "cmd:" in line:
        line = RE.named.sub(r"\1<q>", line)
    if RE.digit.search(line) or "_-<n>" in line:
        line = RE.counted.sub(_hide_count, line)
    if "/<ip>" in line:
        line = RE.host_and_ip.sub("<ip>", line)
    return RE.again.sub(r"\1", line) if line.count("<") > 1 else line


@lru_cache(maxsize=512)
def _normalize_lightly(words: str) -> str:
    """As `_normalize`, with more of what the words say."""
    line = bare_message(words[: limits.FAILURE_LINE_CHARS_MAX].replace("\n", " "))
    return _tidy(_hide(line, _shorten_path, cut=len(words) > limits.FAILURE_LINE_CHARS_MAX))


def _tidy(line: str) -> str:
    return " ".join(line.lower().split())[: limits.FAILURE_CORE_CHARS_MAX].rstrip(" .:")


def _hide(line: str, hide_path: Callable[[re.Match[str]], str], *, cut: bool) -> str:
    """A line without quoted values, paths, times, ids and numbers. `cut`: it was longer."""
    if " at " in line or "[recovered" in line:
        line = RE.aside.sub("", line)
    if RE.quote.search(line):
        line = RE.named_code.sub(r"code \1", line)
        line = RE.quoted.sub("<q>", RE.near.sub("<q>", line))
        if cut:
            line = RE.unclosed.sub("<q>", line)
    if "/" in line or "\\" in line:
        line = RE.path.sub(hide_path, RE.url.sub("<url>", line) if "://" in line else line)
    if "tmp" in line:
        line = RE.temp_name.sub("<tmp>", line)
    if RE.digit.search(line):
        if "20" in line or line.count(":") > 1:
            line = RE.time.sub("<time>", line)
        if line.count(".") > 2 or "::1" in line:
            line = RE.host.sub("<ip>", line)
        if "id" in line or "ID" in line or "Id" in line:
            line = RE.named_id.sub(r"\1 <n>", line)
        line = RE.position.sub("", RE.id.sub("<n>", line))
        line = RE.number.sub(hide_number, line).replace(" -<n>", " <n>")
    return RE.row.sub(r"\1", line)


def _hide_path(match: re.Match[str]) -> str:
    """The name of a file that is spoken of (`cat: /home/ann/notes.txt: No such …`) is kept; a path
    that a message only mentions is data.
    """
    path, last = match.group(), _shorten_path(match)
    if last == path or last[0] == "<" or RE.host.match(last):
        return last
    spoken_of = match.string.startswith(":", match.end()) and RE.ending.search(last)
    return last if spoken_of else "<path>"


def _hide_count(match: re.Match[str]) -> str:
    """What is counted, without the count: `blk_2568` as `blk_<n>`."""
    whole, name, digits = match.group(), match["name"] or "", match["digits"] or ""
    if digits and name.lower() not in WORDS.counted and len(digits) < 3:
        return whole  # utf8, sha1
    kind = name.replace("-", "_").partition("_")[0].lower()
    if kind in WORDS.named or (name.isupper() and not RE.serial.search(whole)):
        return whole  # sha256, test_total_2, ORA-00942, CVE-2021-44228
    mark = whole[len(name)]
    return f"{name}{mark if name and mark in '_-' else ''}<n>"
