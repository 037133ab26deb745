"""What went wrong, in one line that is the same whenever it goes wrong again; and whether anything
went wrong at all.

A report of a failure is mostly about the one time it happened: line numbers, addresses, paths, the
log around it. The few words that say what failed are found by `REPORTS`, a table of the ways in
which programs report failures, from the most to the least telling: the exception that ends a
traceback says more than the exit code it led to. What differs between two runs is then taken out of
these words.

The message is the failure, and where it happened is not: the same exception from another line or
file is the same failure. Only an assertion that says nothing but two values is told apart by the
name of its test.

Numbers are data and become `<n>`, ports too, unless the words around them make them codes (exit
code 127, HTTP 404, errno 13, ERROR 1146). Quoted values become `<q>`, a path its last part, and one
in a temporary directory `<tmp>`.

Hostile text costs no more than the window that is looked at: a pattern begins at a line's end or at
a fixed word, and what it repeats is bounded or not given back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from hardwon import limits

# ---- the window

_ANSI: Final = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?|[@-Z\\^_])?"
)
# what is left of a colour where a log dropped the escape
_COLOUR: Final = re.compile(r"\[[\d;]{1,12}m")
# What collectors put before each line: the time, a builder's clock, a container's name.
_STAMP: Final = re.compile(
    r"\n\[?20\d\d[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?Z| UTC| "
    r"?[+-]\d\d:?\d\d)?\]?"
    r"(?:[ \t]+-[ \t]|[ \t]|(?=\n))"
    r"|\n#\d{1,4} \d{1,5}\.\d{1,4} "
)
_UNINDENTED: Final = re.compile(r"\n[^ \t\n]")
_SERVICE: Final = re.compile(r"\n[A-Za-z][\w.-]{0,60}[-_]\d{1,3}[ \t]{1,40}\| ")
# lines inside a string
_FOLDED: Final = re.compile(r"\\n(?: {2,8}(?:File|at) |Traceback|\\t|[A-Z]\w{0,40}Error)")


def _window(text: str) -> str:
    """What is looked at: plain lines, each after a line end, so that a pattern can begin with one;
    "" for a blank text.
    """
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.strip()
    if not text:
        return ""
    if len(text) > limits.FAILURE_HEAD_CHARS + limits.FAILURE_TAIL_CHARS:
        head, tail = text[: limits.FAILURE_HEAD_CHARS], text[-limits.FAILURE_TAIL_CHARS :]
        text = "\n".join((head.rpartition("\n")[0] or head, tail.partition("\n")[2] or tail))
    if "\n" in text:
        return _without_margin("\n" + text)
    if "\\n" in text and text[0] not in "{[" and _FOLDED.search(text):
        text = _unescaped(text)
    return _without_stamps("\n" + text)


def _without_margin(text: str) -> str:
    """Lines without the indentation they share; the first has lost its own already, with the white
    space around the text.
    """
    if not _UNINDENTED.search(text, 1):
        margin = min((_indent(line) for line in text.split("\n")[2:] if line.strip()), default=0)
        text = re.sub(rf"\n[ \t]{{{margin}}}", "\n", text)
    return _without_stamps(text)


def _without_stamps(text: str) -> str:
    if "[0m" in text or "[39m" in text:
        text = _COLOUR.sub("", text)
    if "\n20" in text or "\n[20" in text or "\n#" in text:
        text = _STAMP.sub("\n", text)
    if " | " in text and (service := _SERVICE.search(text)):
        text = text.replace(service.group(), "\n")
    return text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


# ---- lines

_CLASS: Final = (
    r"(?:[\w$]+\.)*(?:(?:[A-Z][\w$]*)?(?:Error|Exception)|[A-Z][\w$]+(?:Interrupt|Group)"
    r"|(?<=errors\.)[A-Z]\w+|(?<=exceptions\.)[A-Z]\w+|(?<=\w\.)\w*error)"
)
_RAISED: Final = rf"{_CLASS}(?: \[\w+\]| \(\d+\))?(?=:[ \n]|:?\n|:?\Z)"
# a warning may be an error by order
_IS_RAISED: Final = re.compile(rf"{_RAISED}|(?:\w+\.)*[A-Z]\w*Warning(?=: |\Z)")
_SAYS_LITTLE: Final = re.compile(
    r"(?:assert(?:ion(?:failed)?)?(?:error)?|org\.\w+\.|java\.lang\.|panicked|failed|left|right|expected|actual|received"
    r"|got|want|but|was|to|be|have|equal(?:s|ed)?|true|false|none|null|nil|undefined|not|is|in|for|<\w+>|[^\w<]|<)++\Z"
)


def _lines_from(text: str, start: int) -> list[str]:
    return text[start:].split("\n")


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for match in pattern.finditer(text):
        found = match
    return found


def _announces(line: str) -> int:
    """How many of the lines below a line belong to its message: it only says that one follows."""
    if "validation error" in line:
        return 2
    return 1 if line.endswith(":") or line.startswith("ERROR in ") else 0


def _message(lines: list[str]) -> str:
    first = lines[0].strip()
    below = [line.strip() for line in lines[1:5] if line.strip()][: _announces(first)]
    return (
        first
        if not below or below[0].startswith(("File ", "at ", "Traceback"))
        else " ".join([first, *below])
    )


def _line(match: re.Match[str]) -> str:
    """The message that begins with the line that a match begins in."""
    text = match.string
    begin = text.rfind("\n", 0, match.start() + 1) + 1
    end = text.find("\n", begin)
    line = text[begin : end if end >= 0 else None]
    return _message(_lines_from(text, begin)) if end >= 0 and _announces(line) else line


def _rest(match: re.Match[str]) -> str:
    """From where a match begins to the end of its line."""
    end = match.string.find("\n", match.end())
    return match.string[match.start() : end if end >= 0 else None]


def _placed(said: str, place: str) -> str:
    """An assertion of two values is told apart by where it stands; any other message speaks for
    itself.
    """
    # as an assertion is shown depends on who shows it
    if said.startswith("AssertionError: assert "):
        said = said.removeprefix("AssertionError: ")
    lower = said.lower()
    if place and ("assert" in lower or "expected" in lower) and _SAYS_LITTLE.match(_normal(said)):
        return f"{said} in {place}"
    return said


# ---- Python

_HEADER: Final = "Traceback (most recent call last)"
_GROUP: Final = "Exception Group " + _HEADER
_IN_ONE_LINE: Final = re.compile(rf"(?<=[\s>]){_CLASS}: [^\n]*?(?= Traceback \(|\n|\Z)")
_MARKER: Final = re.compile(r"[\s~^|+-]*\Z")
_FUNCTION: Final = re.compile(r'File "[^"\n]*", line \d+, in (\S+)')
_CHAIN: Final = (
    "During handling of the above exception",
    "The above exception was the direct cause",
)
_E_LINE: Final = re.compile(r"[ \t]*E {3,}(.*)")
_TITLE: Final = re.compile(
    r"\n_{3,} (?:ERROR (?:collecting|at \w+ of) )?(?:[\w.\[\]-]*[. ])??(\w+)(?:\[[^\n]*\])? _{3,}"
)
_FAILED_TEST: Final = re.compile(r"\n(?:FAILED|ERROR) [^\s:]+::(?:\w+::)*(\w+)")


def _python(match: re.Match[str]) -> str:
    text = match.string
    if _GROUP in text:
        return _group(text)
    lines = _lines_from(text, text.rfind(_HEADER))
    if 'File "' in lines[0]:
        return found.group() if (found := _last(_IN_ONE_LINE, lines[0])) else ""
    at = _raised_at(lines)
    test = _FAILED_TEST.search(text)
    return _placed(_message(lines[at:]), test[1] if test else _source(lines[:at])) if at else ""


def _raised_at(lines: list[str]) -> int:
    """Which line after a traceback's header is the exception: the first that is indented less than
    the frames are; where the indentation is lost, the first after the last frame that looks like
    one. 0 if there is none.
    """
    depth = next((_indent(line) for line in lines[1:] if line.strip()), 0)
    if depth:
        return next(
            (at for at, line in enumerate(lines) if at and line.strip() and _indent(line) < depth),
            0,
        )
    frames = [at for at, line in enumerate(lines) if line.startswith('File "')]
    first = frames[-1] if frames else 1
    return next((at for at, line in enumerate(lines) if at >= first and _IS_RAISED.match(line)), 0)


def _source(frames: list[str]) -> str:
    """The code of the innermost frame, or its function where the code is not shown."""
    for line in reversed(frames):
        if function := _FUNCTION.search(line):
            return function[1]
        if not _MARKER.match(line):
            return line.strip()
    return ""


def _group(text: str) -> str:
    """An exception group and the first exception in it: the group alone says only how many there
    are.
    """
    lines = [line.strip(" \t|+-") for line in _lines_from(text, text.find(_GROUP))]
    raised = [line for line in lines if _IS_RAISED.match(line)]
    group = next((line for line in raised if "sub-exception" in line), "")
    leaf = next((line for line in raised if "sub-exception" not in line), "")
    return (
        f"{group.replace('sub-exceptions', 'sub-exception')} > {leaf}"
        if group and leaf
        else group or leaf
    )


def _pytest(match: re.Match[str]) -> str:
    """The exception of the first failure. Of a chain it is the last, which is the one that Python
    itself ends with.
    """
    text, start = match.string, match.start()
    end = text.find("\n____", start)
    section = text[start + 1 : end if end >= 0 else None]
    for link in _CHAIN:
        at = section.rfind(link)
        if at >= 0 and "\nE  " in section[at:]:
            section = section[at:]
    said = [found[1] for line in section.split("\n") if (found := _E_LINE.match(line))]
    first = next(
        (
            at
            for at, line in enumerate(said)
            if line.startswith("assert") or _IS_RAISED.match(line.strip())
        ),
        0,
    )
    title = _last(_TITLE, text[: start + 1]) or _FAILED_TEST.search(text)
    return _placed(_message(said[first:]), title[1] if title else "")


def _pytest_summary(match: re.Match[str]) -> str:
    place, _, said = match[1].partition(" - ")
    name = place.rpartition("::")[2].partition("[")[0]
    return _placed(said, name) if said else f"failed {name}"


# ---- Rust and Go

_PANIC: Final = re.compile(
    r"(?:thread '(?P<thread>[^'\n]*)'(?: \(\d+\))? )?panicked at (?:'(?P<old>[^\n]*?)(?:', "
    r"\S+:\d+(?::\d+)?)?(?=\n|\Z)"
    r"|\S+:\d+(?::\d+)?:?\n(?P<new>[^\n]*))"
)
_OLD_ASSERTION: Final = re.compile(r"assertion failed: `\(([^`\n]*)\)`")
_GO_SAYS: Final = re.compile(r"[ \t]*\S+\.go:\d+: ?(.*)")


def _rust_panic(match: re.Match[str]) -> str:
    # The message stood in quotes before the place until Rust 1.72, and stands below it since.
    panic = _PANIC.search(match.string, match.string.rfind("\n", 0, match.start()) + 1)
    if panic is None:
        return _rest(match)
    said = _OLD_ASSERTION.sub(r"assertion `\1` failed", panic["old"] or panic["new"] or "")
    thread = panic["thread"] or ""
    return _placed(f"panicked: {said}", thread if "::" in thread else "")


def _go_test(match: re.Match[str]) -> str:
    """The innermost failed test, and what it logged: below its line, or above it in a verbose
    run.
    """
    text = match.string
    lines = _lines_from(text, match.start() + 1)
    while len(lines) > 1 and lines[1].lstrip().startswith("--- FAIL: "):
        del lines[0]
    name = lines[0].split("FAIL: ", 1)[1].split(" (")[0]
    above = text[: match.start()].rpartition("\n")[2]
    said = next(
        (found[1].strip() for line in (*lines[1:2], above) if (found := _GO_SAYS.match(line))), ""
    )
    if not said:
        said = next(
            (
                line.split("Error:", 1)[1].strip()
                for line in lines
                if line.lstrip().startswith("Error:")
            ),
            "",
        )
    return f"--- FAIL: {name}: {said}" if said else f"--- FAIL: {name}"


# ---- Java, JavaScript and others whose stack comes after the message

_CAUSE: Final = re.compile(
    r"\n[ \t]*(?:\[ERROR\] )?(?:Caused by:|--->|\[cause\]:) ([^\n]+)|(?<= ---> )([^\n]+)"
)
_LISTED_CAUSE: Final = re.compile(r"[ \t]+(?:\d+: )?(\S.*)")
_REASON: Final = re.compile(r'rejected with the reason "([^\n]*?)"\.?(?=\]|\n|\Z)')
_CODE_FIELD: Final = re.compile(r"\n[ \t]*code: ['\"](E[A-Z0-9]{3,20})['\"]")
_FRAME: Final = (
    r"\n[ \t]*at (?:(?:async |new )?[\w$.<>/@#\[\]-]+(?: \[as [\w$]+\]| [\w$.<>]+)? ?"
    r"\((?:[^\n()]*:\d+(?::\d+)?|Native Method|Unknown Source|<anonymous>|native)\)"
    r"|[^\s()]+:\d+:\d+|[\w`<>\[\],+]+\.[\w.`<>\[\],+]+\([^\n]*\))"
)
_METHOD: Final = re.compile(
    r"\n[ \t]*at (?!org\.junit|org\.opentest4j|java\.|jdk\.|org\.assertj|org\.hamcrest)(?:[\w$]+\.)*([\w$]+)\("
)


def _thrown(match: re.Match[str]) -> str:
    """The root cause, or the exception above the first frame."""
    text = match.string
    if cause := _last(_CAUSE, text):
        return _with_code(cause[1] or cause[2], text)
    above = [line.strip() for line in text[: match.start()].split("\n")[-12:]]
    raised = next(
        (
            line
            for line in reversed(above)
            if _IS_RAISED.match(line) or _IS_RAISED.match(_bare(line))
        ),
        "",
    )
    method = _METHOD.search(text, match.start())
    return _placed(_with_code(raised or _last_of(above), text), method[1] if method else "")


def _last_of(lines: list[str]) -> str:
    return next((line for line in reversed(lines) if line), "")


def _with_code(said: str, text: str) -> str:
    code = _CODE_FIELD.search(text) if "code: " in text else None
    return f"{said} [{code[1]}]" if code and code[1] not in said else said


def _caused(match: re.Match[str]) -> str:
    text = match.string
    if cause := _last(_CAUSE, text):
        return cause[1] or cause[2]
    # A list of causes below the line, as Rust prints it: the outermost and the innermost of them.
    outer = _last_of(text[: match.start()].split("\n"))
    inner = ""
    for line in _lines_from(text, match.end())[1:]:
        if not (found := _LISTED_CAUSE.match(line)):
            break
        inner = found[1]
    return f"{outer}: {inner}" if inner else outer


def _rejected(match: re.Match[str]) -> str:
    return reason[1] if (reason := _REASON.search(match.string, match.start())) else _line(match)


def _jest(match: re.Match[str]) -> str:
    lines = [line.strip() for line in _lines_from(match.string, match.start() + 1)]
    said = next((line for line in lines[1:] if line), "")
    name = lines[0].removeprefix("● ").rpartition(" \u203a ")[2]
    return said if _IS_RAISED.match(said) and not said.startswith("Assert") else f"{said} in {name}"


def _gradle(match: re.Match[str]) -> str:
    """What went wrong, and the innermost of the reasons that are listed below it."""
    first, *below = match.string[match.end() :].partition("\n\n")[0].split("\n")
    reasons = [line.strip(" >") for line in below if line.lstrip().startswith("> ")]
    return f"{first} {reasons[-1]}" if reasons else first


_NPM_LINE: Final = re.compile(
    r"\nnpm (?:ERR!|error) (?!errno|syscall|path|dest|file|cwd|type|command |A complete "
    r"log)([^\n]*\S)"
)


def _npm(match: re.Match[str]) -> str:
    said = [found[1] for found in _NPM_LINE.finditer(match.string, match.start())]
    code = next((line[5:] for line in said if line.startswith("code ")), "")
    message = next((line for line in said if not line.startswith("code ")), "")
    return f"npm {code}: {message}" if code else f"npm: {message}"


# ---- compilers, shells, logs and answers

_SYMBOL: Final = re.compile(r"\n(?:\[ERROR\])?[ \t]*symbol ?:[ \t]*([^\n]+)")
_LOGGED: Final = re.compile(r'\b(err|error|msg)=(?:"((?:[^"\\\n]|\\.)*+)"|(\S+))')
_JSON_TEXT: Final = r"['\"]\s*:\s*(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)')"
_JSON_OUTPUT: Final = re.compile(rf"['\"](?:stderr|err){_JSON_TEXT}")
_JSON_SAYS: Final = tuple(
    re.compile(rf"['\"](?:{names}){_JSON_TEXT}")
    for names in (
        "message|detail|msg|error_description|error_message|errorMessage",
        "error|reason|title",
        "output|stdout",
    )
)
_JSON_CODE: Final = re.compile(r"['\"](?:code|status|statusCode)['\"]\s*:\s*['\"]?(\w{1,40})")
_JSON_LEVEL: Final = re.compile(r"\n\{[^\n]*\"level\": ?\"(?:error|ERROR|fatal|FATAL|critical)\"")


def _compiler(match: re.Match[str]) -> str:
    said = _line(match)
    symbol = _SYMBOL.search(match.string, match.start()) if "cannot find symbol" in said else None
    return f"{said}: {symbol[1]}" if symbol else said


def _missing_command(match: re.Match[str]) -> str:
    name = match[1] or _line(match).partition(": command not found")[0].rpartition(": ")[2]
    return f"command not found: {name.rpartition('/')[2]}"


def _make(match: re.Match[str]) -> str:
    # Newer versions say in which file and line the rule stands: [Makefile:12: all].
    return (
        f"make: *** [{match['target'].rpartition(': ')[2]}] Error {match['code']}"
        if match["code"]
        else _line(match)
    )


def _logged(match: re.Match[str]) -> str:
    fields = {name: quoted or bare for name, quoted, bare in _LOGGED.findall(_line(match))}
    return fields.get("err") or fields.get("error") or fields.get("msg") or _line(match)


def _unwrapped(text: str) -> str:
    """What a JSON object says of the failure, as plain text; any other text as it is."""
    if text[1:2] not in ("{", "["):
        return text
    if level := _JSON_LEVEL.search(text):
        text = text[level.start() :]
    if (output := _JSON_OUTPUT.search(text)) and (
        said := _unescaped(output[1] or output[2] or "").strip()
    ):
        return f"\n{said}"
    for says in _JSON_SAYS:
        if (found := says.search(text)) and (
            said := _unescaped(found[1] or found[2] or "").strip()
        ):
            code = _JSON_CODE.search(text) if "\n" not in said else None
            return f"\n{said} [code {code[1]}]" if code and code[1] not in said else f"\n{said}"
    return text


def _answered(match: re.Match[str]) -> str:
    """What the JSON object among other lines says."""
    outer = match.string[max(0, match.string.rfind("\n{", 0, match.start() + 2)) :]
    inner = _unwrapped(outer)
    return _said(inner) if len(inner) < len(outer) else _line(match)


# ---- whether a line reports, or only speaks of failures

_CODE_LINE: Final = re.compile(
    r"[ \t]*(?:\d+[:\t|-][ "
    r"\t]*)?(?:(?:(?:el)?if|else|except|raise|return|print\w*|def|class|import|from|throws?|catch|case"
    r"|assert|func|fn|let|const|var|self|this|log\w*|console|fmt|echo|with|for|while|try|async|await|export|function|public"
    r"|private)\b[^\n]*?(?:[({=\[\"'`#]|:[ \t]*(?:\n|\Z))|#(?![#\d])|//|/?\*|[+-](?!\w*sh: "
    r")[^-\n]|<[!/a-z]|>"
    r"|[\w.]+(?::[\w \[\]]+)? ?[-+|]?=[^=]|[\w.]+\(|\||(?<=[ \t])[\"'`])"
)
_UNREAL: Final = re.compile(
    r"\b(?:fix(?:e[ds]|ing)?|resolv\w+|correct(?:ed|s|ing)|solv\w+|handl\w+|remov\w+|address(?:ed|es|ing)|avoid\w*|prevent\w*"
    r"|catch\w*|if|when|whenever|whether|unless|until|should|would|could|may|might|no|not|never|nothing|without|none|zero|any"
    r"|0|expect\w*|ignor\w+|suppress\w*|previous\w*|earlier|before|grep|instead|means?|see|skip\w*)\b",
    re.IGNORECASE,
)


def _reported(match: re.Match[str]) -> bool:
    """Whether the words stand as a report: not in code, not in a string, not after "fixed", "if" or
    "no".
    """
    text, start = match.string, match.start()
    start += text[start] == "\n"
    begin = text.rfind("\n", 0, start) + 1
    if _CODE_LINE.match(text, begin, begin + 400):
        return False
    before = text[max(begin, start - 200) : start]
    return not (
        before and (before.count('"') % 2 or before.count("`") % 2 or _UNREAL.search(before))
    )


def _happened(match: re.Match[str]) -> bool:
    """The same where the match holds the words before."""
    return _reported(match) and not _UNREAL.search(match.group())


def _outside_code(match: re.Match[str]) -> bool:
    return not _CODE_LINE.match(match.string, match.start() + 1, match.start() + 401)


def _raised(match: re.Match[str]) -> bool:
    """Not so in the part of a docstring that lists what may be raised."""
    above = match.string[max(0, match.start() - 400) : match.start()].split("\n")
    title = next((line for line in reversed(above) if not _IS_RAISED.match(line.lstrip())), "")
    return title.strip().lower() not in (
        "raises:",
        "throws:",
        "raises",
        "errors:",
        "exceptions:",
    ) and _outside_code(match)


def _in_json(match: re.Match[str]) -> bool:
    return match.string[1] in "{[" or "\n{" in match.string[: match.start() + 2]


_HTTP_BEFORE: Final = re.compile(r"(?:HTTP(?:/\d(?:\.\d)?)?|[Ss]tatus(?: code)?)[:= ]+\Z")
_HTTP_AFTER: Final = re.compile(
    r" (?:[A-Z][a-z]+ )?(?:Not|Bad|Error|Forbidden|Unauthorized|Server|Unavailable|Timeout|Conflict|Gateway)\b"
)


def _of_http(match: re.Match[str]) -> bool:
    """Whether a number is a status of HTTP: it is called so, or followed by the phrase that belongs
    to it.
    """
    text, start = match.string, match.start()
    if _HTTP_BEFORE.search(text, max(0, start - 24), start):
        return _reported(match)
    first = text[start - 1] in "\n(" or text.endswith(": ", 0, start)
    return first and _HTTP_AFTER.match(text, match.end()) is not None and _reported(match)


# ---- the table

_Pick = Callable[[re.Match[str]], str]
_Accept = Callable[[re.Match[str]], bool]


class ReportFormat(NamedTuple):
    """One way of reporting a failure. Its pattern runs only where a trigger occurs; small letters
    stand for both cases.

    `pick` takes the words that say what failed out of a match; "" passes the text on to the next
    way.
    """

    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    pick: _Pick
    accept: _Accept | None


def _report(
    triggers: str, pattern: str, pick: _Pick = _line, accept: _Accept | None = None
) -> ReportFormat:
    return ReportFormat(tuple(triggers.split("|")), re.compile(pattern), pick, accept)


def _worded(
    triggers: str, pattern: str, pick: _Pick = _line, accept: _Accept = _reported
) -> ReportFormat:
    """A report known by words that code and prose may use as well."""
    return _report(triggers, pattern, pick, accept)


_HEAD: Final = (  # what a log puts before its level: times, process numbers, threads, loggers
    r"(?>(?:[\[(][^\])\n]{1,60}[\])]|[\d:.,/TZ+-]+|[\w.$/:-]+ "
    r"?[-:|]|[-|]|UTC|GMT|[A-Z][a-z]{2}|[\w.-]*\d[\w.-]*)[ \t]+){0,6}"
)
_LEVELS: Final = r"\[?(?:ERROR|FATAL|CRITICAL|SEVERE)\b\]?"
_PLACE: Final = (  # src/app.ts:12:5, main.cs(12,5), Shop.java:[12,5], cart.rb:12:in `total'
    r"(?:[A-Za-z]:)?[^\s:()\"'`]*\.[A-Za-z]\w{0,9}"
    r"(?::\d+(?::\d+)?(?:-\d+)?(?::in [`'][^'`\n]*')?|\(\d+(?:,\d+)*\)|:\[\d+,\d+\])(?::| -)?"
)
# "Error: none"
_NOTHING: Final = (
    r"(?i:none|null|nil|no|false|n/a|0|-+|\[\]|\{\}|\(none\)|\"\"|'')[.,]?[ \t]*(?:\n|\Z)"
)
_FIELD: Final = r"(?:\n[ \t]*|[{,][ \t]*)[\"']"
# an exception at the beginning of its line, and not "Error: none" or "Timeout: 30"
_ALONE: Final = (
    rf"\n(?:{_PLACE} )?(?:Uncaught (?:\(in promise\) )?|Unhandled exception\. |Exception in thread "
    rf"\"[^\"\n]*\" )?"
    rf"{_RAISED}(?!: (?:Process completed|{_NOTHING}|\d+[ \t]*(?:\n|\Z)))"
)
_LEVEL_LINE: Final = rf"\n[ \t]*{_HEAD}{_LEVELS}(?::(?:[\w.]+:)?[ \t]*+(?!{_NOTHING})\S|[ \t]+-[ \t]+\S|[ \t]+[\w\[(\"'<])"
_ERROR_LINE: Final = (
    r"\n[ \t\u2502]{0,4}(?:[\w./+-]+:? ){0,3}(?:[Ff]atal error|fatal|[Ee]rror)(?: "
    r"\([^)\n]{1,60}\))?"
    rf": *+(?!{_NOTHING})\S"
)
_ABOUT: Final = (
    "executing|running|while|when|during|reading|writing|opening|loading|connecting|parsing|creating|calling|occurred|from"
    "|processing|fetching|importing|compiling|invoking|evaluating|response|in|at|on|code|number|building|starting|sending|saving"
)
_SYSTEM: Final = (
    r"[Nn]o such file or directory|[Pp]ermission denied|Is a directory|Not a "
    r"directory|[Oo]peration not permitted"
    r"|[Cc]onnection refused|[Cc]onnection reset by peer|[Cc]onnection timed out|[Oo]peration "
    r"timed out|Network is unreachable"
    r"|[Nn]o space left on device|File exists|Too many open files|Cannot allocate memory|Device or "
    r"resource busy"
    r"|Read-only file system|Argument list too long|Broken pipe|Directory not empty|Name or "
    r"service not known"
    r"|Temporary failure in name resolution|Could not resolve host|[Ee]xec format "
    r"error|Input/output error|No route to host"
    r"|[Aa]ddress already in use|bad substitution|unbound variable|syntax error near unexpected "
    r"token|unexpected end of file"
    r"|[Aa]ccess (?:is )?denied|Host key verification failed|[Aa]uthentication failed|Invalid "
    r"argument|No such process"
    r"|no such host|No module named |out of memory"
)
_SQL: Final = (
    r"no such (?:table|column|function|module|collation)[: ]|Unknown "
    r"(?:column|table|database|system variable) ['\"`]"
    r"|Table ['\"`][^\n]{1,200}?['\"`] (?:doesn't exist|already exists)|You have an error in your "
    r"SQL syntax"
    r"|(?:relation|column|table|function|schema|role|database|type) [\"'`]?[\w.()]+[\"'`]? (?:does "
    r"not exist|already exists)"
    r"|syntax error at or near|near [\"'][^\n]{1,80}[\"']: syntax error|duplicate key value "
    r"violates"
    r"|violates \S+(?: \S+)? constraint|(?:UNIQUE|NOT NULL|CHECK|FOREIGN KEY|PRIMARY KEY) "
    r"constraint failed|Duplicate entry '"
    r"|Incorrect syntax near|Invalid object name|deadlock detected|Deadlock found when|database is "
    r"locked"
    r"|current transaction is aborted|ORA-\d{5}: |SQLSTATE\[\w{5}\]"
)
_REFUSAL: Final = (
    r"(?:[Cc]annot|[Cc]ould not|[Cc]ouldn't|[Cc]an't|[Uu]nable to) "
    r"(?:access|open|find|connect|read|write|import|resolve|load"
    r"|create|execute|stat|delete|remove|assign|locate|parse|start|bind|use|determine|allocate|install|fetch|download|perform"
    r"|run|compile|invoke|convert|cast|call|set|get|make|touch|copy|move|process|build|lock|acquire|authenticate|initialize"
    r"|decode|complete|satisfy|reach|establish|add|update|apply|verify|join)\b"
    r"|(?:[Ii]nvalid|[Uu]nknown|[Uu]nrecognized|[Uu]nexpected|[Mm]issing|[Tt]oo (?:many|few)) "
    r"(?:\w+ )?(?:action|command|option"
    r"|argument|operand|token|query|input|syntax|parameter|tool|function|character|end of)s?\b"
    r"|No (?:\w+ ){1,4}found in (?:your|the) (?:\w+ )?(?:response|answer|message|output)\b|\(\d+\) "
    r"[A-Z]|E: \S|ERR_[A-Z_]+\b"
    r"|(?:connect |listen |spawn \S+ |getaddrinfo "
    r")?E(?:CONN|NOENT|ACCES|PERM|ADDR|TIMEDOUT|NOTFOUND|PIPE|EXIST)[A-Z]*\b"
    r"|(?:\w+ )?(?:[Ff]ile|[Dd]irectory|[Pp]ath|[Ll]ibrary|[Mm]odule|[Pp]ackage|[Cc]ommand|[Ee]lement|[Uu]ser) not found\b"
    r"|No such (?:file|directory|command|option|container|user|key)\b|(?:The "
    r")?(?:[Ff]ile|[Dd]irectory|[Pp]ath) \S+ does not"
    r"|'[^'\n]{1,60}' is not a \w+ command|The connection to [^\n]{1,80}? was refused|Exiting with "
    r"failure|-e expression #"
    r"|CONFLICT \("
    r"|(?:Killed|Aborted|Bus error|Illegal instruction)(?= *(?:\n|\Z|\(core))"
)
_FAILED: Final = (
    r"\n[ \t]*(?:[\w./:'\"()\[\]@$-]+ ){0,6}(?:[Ff]ailed|FAILED)(?: "
    r"(?:to|with|due|because|after|in|on|at|while|during|for)\b"
    rf"|: *+(?!{_NOTHING})|[.!;](?=\s|\Z)|(?<=\S [Ff]ailed|\S FAILED) *(?=\n|\Z))"
)
_EXIT: Final = (
    r"[Ee]xit(?:ed)?(?: with)? (?:code|status)(?: code)?[:= ]+-?[1-9]|exited with (?:-?[1-9]|error)"
    r"|[Ee]xit(?: ?[Cc]ode|_code)?[:=] ?-?[1-9]|[Nn]on-?zero (?:exit|return|code)"
)
_COUNT: Final = (
    r"[1-9](?<![\w.-][1-9])\d*+ (?:\w+ )?(?:[Ff]ail(?:ed|ures?|ing)|[Ee]rrors?)\b(?<!\b[45]\d\d "
    r"errors)"
    r"(?! (?:fixed|resolved|corrected|suppressed|ignored|handled)|[^\n]{0,30}, 0 remaining)"
)
_SUM: Final = (
    r"[:=](?:(?<=[^\w-][Ee]rrors.)|(?<=[^\w-][Ff]ail.)|(?<=[^\w-][Ff]ailed.)|(?<=[^\w-][Ff]ailures.))"
    r" ?[1-9]|\n# fail [1-9]"
)
# a trigger that every text holds, where looking for triggers would cost more than the pattern
_ANY: Final = ""

REPORTS: Final[tuple[ReportFormat, ...]] = (
    # What a program says of itself at its end.
    _report(
        "e   ",
        rf"\n[ \t]*E {{3,}}(?:assert\b|fixture |Failed: |\w*Warning: |[A-Z]\w+: |{_RAISED})",
        _pytest,
    ),
    _report(
        "Traceback (",
        r"\n[^\n\"'`]{0,100}Traceback \(most recent call last\)(?=:? *(?:\n|\Z|File \"))",
        _python,
    ),
    _worded("panic", r"panicked at (?:'|\S+:\d+)", _rust_panic),
    _report("panic", r"\n[ \t]*panic: (?!\{)", _line, _outside_code),
    _report("fatal", r"\nfatal (?:runtime )?error: \S"),
    # Compilers and linters: the first error, for the others often follow from it.
    _report("error", r"\n[ \t]*error\[[A-Z]+\d+\]: "),
    _worded("error", r"error (?:TS|CS?|LNK|MSB|NU)\d{3,5}: ", _rest),
    _report(
        "error",
        rf"\n[ \t]*(?:\[ERROR\] )?{_PLACE} ?(?:fatal |internal )?(?:compiler )?error ?: ",
        _compiler,
    ),
    _report("ERROR", r"\n[ \t]*\[ERROR\] \S+:\[\d+,\d+\] ", _compiler),
    _report("error", r"\n[ \t]*\d+:\d+[ \t]+error[ \t]+|\n\S+:\d+:in [`'][^\n]*Error\)"),
    _report(".go:", r"\n(?:vet: )?[^\s:]+\.go:\d+:\d+: \S"),
    _report(".py:", r"\n\S+\.pyi?:\d+:\d+: [A-Z]{1,4}\d{3,4} |\n[A-Z]{1,4}\d{3,4} [^\n]+\n +--> "),
    _worded("undefined ref", r"undefined reference to ", _rest),
    # Stacks that come after the message, and exceptions that stand alone.
    _report("●", r"\n[ \t]*● (?!Console\b)\S", _jest),
    _report(
        "terminate called",
        r"\nterminate called after [^\n]* '([^'\n]+)'(?:\n *what\(\): +([^\n]*))?",
        lambda match: ": ".join(filter(None, match.groups())),
    ),
    _report("went wrong:", r"\n\* What went wrong:\n", _gradle),
    _report("unhandledpromise", r"\n\[?UnhandledPromiseRejection: ", _rejected),
    _report("at ", _FRAME, _thrown),
    _report("Caused by:", r"\n[ \t]*(?:\[ERROR\] )?Caused by:", _caused),
    _report("error|exception|Interrupt", _ALONE, _line, _raised),
    # Tests.
    _report("FAIL", r"\n[ \t]*--- FAIL: \S", _go_test),
    _report("FAIL|ERROR", r"\n(?:FAILED|ERROR) (\S+(?:::\S|\.py)[^\n]*)", _pytest_summary),
    _report("FAIL", r"\n[ \t]*(?:test \S+ \.\.\. FAILED|\S+::\S+ FAILED\b)"),
    _report("not ok ", r"\n[ \t]*not ok \d+(?![^\n]*# (?:TODO|SKIP))"),
    # Logs, databases, shells and the system.
    _worded("ERROR|FATAL|CRITICAL|SEVERE", _LEVEL_LINE),
    _worded("error|fatal", _ERROR_LINE, _line, _happened),
    _report("error>", r"\n<\w*error>"),
    _worded(
        "error",
        rf"\n[ \t]*(?:[\w./+-]+: )?(?:[A-Z]\w* ){{0,3}}[Ee]rror (?:{_ABOUT})\b(?! "
        rf"(?:code|number):? 0\b)",
    ),
    _worded("command not found", r"command not found(?:: (\S+))?", _missing_command),
    _report(": not found", r"\n\S*sh: (?:line )?(?:\d+: )?([^\s:]+): not found", _missing_command),
    _report("npm ", r"\nnpm (?:ERR!|error) (?!code ELIFECYCLE)", _npm),
    _worded(_ANY, rf"[\n:)][ \t]*+(?:[Gg]ot |\(\d{{3,5}}, [\"'])?(?:{_SYSTEM}|{_SQL})"),
    _worded(_ANY, rf"\n[ \t]{{0,4}}(?:[\w./+-]+: )?(?:{_REFUSAL})"),
    _worded("recognized", r"is not recognized as (?:an internal|the name)"),
    _worded("egmentation fault", r"[Ss]egmentation fault", lambda match: match.group().strip()),
    _worded(
        "occurred",
        r"\n(?:[\w./+-]+: )?[A-Z][\w-]*(?: \w+){0,3} (?:error|exception)s? (?:has )?occurred\b",
        _line,
        _happened,
    ),
    _worded("error|exception", r"[Uu]n(?:handled|caught) (?:exception|error)\b"),
    _worded(_ANY, r"[45](?<=[\n :=(][45])\d\d(?![\w.])", _line, _of_http),
    # Answers in JSON and lines of key=value.
    _report(
        "\":|':",
        rf"{_FIELD}(?:error|error_?[Mm]essage)[\"']: *(?:[\"'](?![\"'])|\{{)",
        _answered,
        _in_json,
    ),
    _report(
        "\":|':",
        rf"{_FIELD}(?:(?:success|ok)[\"']: *[Ff]alse|is_?[Ee]rror[\"']: *[Tt]rue)",
        _answered,
        _in_json,
    ),
    _report(
        "\":|':",
        rf"{_FIELD}(?:status|level)[\"']: *[\"'](?:error|fatal|fail\w*|ERROR|FATAL|FAIL\w*)[\"']",
        _answered,
        _in_json,
    ),
    _report(
        "\":|':",
        rf"{_FIELD}(?:exit_?[Cc]ode|return_?code|exit_status)[\"']: *-?[1-9]",
        _answered,
        _in_json,
    ),
    _report("level=", r"level=(?:error|fatal|panic)\b", _logged),
    # What only says that something failed.
    _report(
        "*** ",
        r"\n[ \t]*g?make(?:\[\d+\])?: \*\*\* (?:\[(?P<target>[^\]\n]*)\] Error (?P<code>\d+))?",
        _make,
    ),
    _worded("fail", _FAILED, _line, _happened),
    _worded(
        "timed out",
        r"\n(?:[\w.'\"/():-]+ ){0,9}[Tt]imed out\b(?= after|\.| waiting| while|:|\n|\Z)",
        _line,
        _happened,
    ),
    _worded("exit|zero", _EXIT),
    _report("npm ", r"\nnpm (?:ERR!|error) ", _npm),
    _worded("fail", r"(?:BUILD|Build|Compilation) (?:FAILURE|FAILED|failed|failure)\b"),
    _worded("fail|error", _COUNT),
    _report("fail|error", _SUM),
    _report(
        "FAIL|✗|✘|✖",
        r"\n[ \t]*(?:[✗✘✖] \S|FAIL(?:ED)?(?:!|:(?! *0\b)| +(?![ :=]*0\b)\S|\t|(?=\n|\Z)))",
    ),
)


def _by_trigger(folded: bool) -> list[tuple[str, frozenset[int]]]:
    triggers = dict.fromkeys(
        trigger for report in REPORTS for trigger in report.triggers if trigger
    )
    return [
        (
            trigger,
            frozenset(place for place, report in enumerate(REPORTS) if trigger in report.triggers),
        )
        for trigger in triggers
        if trigger.islower() == folded
    ]


_EXACT: Final = _by_trigger(folded=False)
_LOWER: Final = _by_trigger(folded=True)
_ALWAYS: Final = frozenset(place for place, report in enumerate(REPORTS) if _ANY in report.triggers)
_INDENTED: Final = re.compile(rf"\n[ \t]+{_RAISED}")
_WORDS: Final = re.compile(
    r"error|exception|fail|fatal|cannot|could not|can't|denied|not "
    r"found|invalid|unable|refused|timed? ?out|undefined|missing"
    r"|unexpected|unknown|no such|does "
    r"not|doesn't|mismatch|illegal|unsupported|violat|conflict|crash|abort|not allowed"
)


def _possible(text: str) -> list[ReportFormat]:
    """The reports that a text may hold, in the order of the table."""
    lower = text.lower()
    hits = [places for trigger, places in _EXACT if trigger in text]
    hits += [places for trigger, places in _LOWER if trigger in lower]
    return [REPORTS[place] for place in sorted(_ALWAYS.union(*hits))]


def _found(report: ReportFormat, text: str) -> re.Match[str] | None:
    match = report.pattern.search(text)
    if match is None or report.accept is None or report.accept(match):
        return match
    return next(filter(report.accept, report.pattern.finditer(text, match.end())), None)


def _shows(text: str) -> bool:
    return any(_found(report, text) is not None for report in _possible(text))


def _said(text: str) -> str:
    """The words that say what failed."""
    for report in _possible(text):
        if (match := _found(report, text)) and (said := report.pick(match)).strip():
            return said
    if indented := _INDENTED.search(text):
        return _line(indented)
    return next((line for line in text.split("\n") if _WORDS.search(line.lower())), text)


# ---- what differs between two runs

_LEVEL: Final = re.compile(
    rf"[ \t]*{_HEAD}{_LEVELS}(?::(?:[\w.]+:(?=\S))?[ \t]*|[ \t]+-[ \t]+|[ \t]++(?!\d))(?:\d+ --- )?"
    r"(?:\[[^\]\n]{1,60}\][ \t]*)*(?:(?![\w.$]*(?:Error|Exception)\b)[\w$]+(?:\.[\w$]+)+[ "
    r"\t]*[-:][ \t]+)?(?=\S)"
)
_LEADS: Final = re.compile(
    r"(?>[ \t]+|Uncaught (?:\(in promise\) )?|Unhandled exception\. |Exception in thread "
    r"\"[^\"\n]*\" |Caused by: "
    r"|\(node:\d+\) |UnhandledPromiseRejectionWarning: |E {3,}|(?i:fatal error|error|fatal): +|in "
    r"prepare, |vet: |at line \d+: "
    r"|##\[error\]|error (?=Command failed)"
    r"|(?:Parse|Runtime) error near line \d+: |\S*?\b(?:ba|z|da|k)?sh: (?:-c: )?(?:line )?(?:\d+: "
    r")?"
    rf"|\S+\.(?:ba|z)?sh: (?:line )?\d+: |psql:\S+:\d+: +|{_PLACE}[ \t]+|\d+:\d+[ \t]+error[ "
    rf"\t]+)++(?=\S)"
)
_ZSH: Final = re.compile(r"(?:\S*/)?zsh: ([a-z ]+): (\S+)\Z")  # other shells name the file first
_ASIDE: Final = re.compile(r" at line \d+(?=:)| at character \d+| \[recovered[^\]]*\]")
# a piece of the statement, with quotes of its own
_NEAR: Final = re.compile(r"(?<=syntax to use near )['\"].*")
_NAMED_CODE: Final = re.compile(r"\bcode['\"]?[:=] ?['\"](\w+)['\"]")
_QUOTE: Final = re.compile("[\"'`\u2018\u201c]")
_QUOTED: Final = re.compile(
    r"\"(?<![\w\\]\")(?:[^\"\\]|\\.)*+\"|'(?<![\w\\]')(?:[^'\\]|\\.|'(?=\w))*+'|`[^`']*+[`']"
    r"|\u2018[^\u2019]*+\u2019|\u201c[^\u201d]*+\u201d|\\\"[^\"\\]*+\\\"|\\'[^'\\]*+\\'"
)
_UNCLOSED: Final = re.compile(r"(?<![\w\\])[\"'`\u2018\u201c][^\"'`]*+\Z")
_URL: Final = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s'\"`<>)\]},;]+")
_EDGE: Final = r"\s'\"`()\[\]{}<>,;=|:*?"
_PATH: Final = re.compile(rf"(?:\b[A-Za-z]:(?=[\\/]))?[^{_EDGE}\\/]*+[\\/][^{_EDGE}]*+")
_TEMP: Final = re.compile(
    r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm|run/user)(?:/|\Z)|.*[\\/](?:[Tt]e?mp|pytest-of-\w+)[\\/]"
)
_HOME: Final = re.compile(r"(?:/home|/Users|[A-Za-z]:\\Users)[\\/][^\\/]+\Z|/root\Z|~\Z")
_ROOTED: Final = re.compile(r"[/\\~.]|[A-Za-z]:[\\/]")
_ENDING: Final = re.compile(r"\.[A-Za-z]\w{0,9}\Z")
_TEMP_NAME: Final = re.compile(r"\btmp[a-z0-9_]{6,12}\b")
_MONTHS: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_TIME: Final = re.compile(
    r"\b(?:19|20)\d\d[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?: "
    r"?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?\b"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?\b"
    rf"|\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:{_MONTHS} +\d{{1,2}}|\d{{1,2}}[ "
    rf"/-]{_MONTHS})\b(?:[, /]+\d{{4}})?"
    r"(?:[ :]\d\d:\d\d:\d\d)?(?: (?:UTC|GMT|[+-]\d{4}))?(?: \d{4})?"
)
_HOST: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[?::1\]?(?::\d+)?(?![\w:])")
# addresses (but not Windows' 0x80070005 and 0xC0000005), uuids, hashes, what machines make up
_ID: Final = re.compile(
    r"\b(?=[A-Za-z_-]{0,40}[0-9])(?:0x(?!(?:8[0-9a-fA-F]|[cC]0)[0-9a-fA-F]{6}\b)[0-9a-fA-F]+"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?=[0-9]{0,40}[a-fA-F])[0-9a-fA-F]{7,}"
    r"|(?=(?:[A-Za-z]{1,20}+[0-9]{1,20}+){3})[A-Za-z0-9]{16,}|(?:req|run|msg|call|chatcmpl|sess|evt|txn)[_-][A-Za-z0-9]{6,})\b"
)
_NAMED_ID: Final = re.compile(
    r"(?i)\b((?:request|trace|correlation|session|span|job)[-_ ]?id)\b[:=]? ?[\w-]*\d[\w-]*"
)
_POSITION: Final = re.compile(
    r":(?<=[\w)\]>]:)(?<!(?i:code|atus|rrno|rror):)\d+(?::\d+)?(?!\w|\.\d)"
)
_NUMBER: Final = re.compile(
    r"[0-9](?<!\w[0-9])(?:(?:[0-9]*[hm])++[0-9.]*s?|[0-9_]*+(?:[.,][0-9]++)*+(?:e[+-]?[0-9]++)?"
    r"(?:[KMGT]i?B|[kKMGTB]|ms|[µun]?s|[mh%x])?)(?!\w)"
)
_CODE_WORDS: Final = frozenset(
    "errno winerror code status signal sqlstate http exit rc curl".split()
)
_CODE_ENDS: Final = (
    "_code",
    "exitcode",
    "errorcode",
    "statuscode",
    "returncode",
    "errno",
    "exited with",
)
_CODE_AFTER: Final = re.compile(
    r" (?:client error|server error|not found|unauthorized|forbidden|bad request|internal "
    r"server|bad gateway"
    r"|service unavailable|gateway time|too many requests|conflict|method not "
    r"allowed|unprocessable|request timeout"
    r"|\([0-9A-Z]{5}\))",
    re.IGNORECASE,
)
_DIGIT: Final = re.compile("[0-9]")
_ROW: Final = re.compile(r"(<[nq]>)(?:, \1)++")


def _bare(line: str) -> str:
    """A line without what log, shell and compiler put before the message."""
    if ("ERROR" in line or "FATAL" in line or "CRITICAL" in line or "SEVERE" in line) and (
        level := _LEVEL.match(line)
    ):
        line = line[level.end() :]
    if "zsh: " in line:
        line = _ZSH.sub(r"\2: \1", line)
    return line[leads.end() :] if (leads := _LEADS.match(line)) else line


def _path(match: re.Match[str]) -> str:
    path = match.group()
    if _TEMP.match(path):
        return "<tmp>"
    if _HOME.match(path):
        return "<home>"
    last = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return last if last and (_ROOTED.match(path) or _ENDING.search(last)) else path


def _number(match: re.Match[str]) -> str:
    """A number as `<n>`, unless what stands around it makes it a code."""
    line, start, end = match.string, match.start(), match.end()
    before = line[max(0, start - 24) : start].lower()
    words = before.rstrip(" :=#([-\"'")
    word = words[words.rfind(" ") + 1 :].lstrip("([{,;")
    if word.endswith("/"):  # HTTP/2 is a version
        return "<n>"
    if word.partition("/")[0] in _CODE_WORDS or words.endswith(_CODE_ENDS):
        return match.group()
    if word == "error" and (":" not in before[len(words) :] or "400" <= match.group() <= "599"):
        return match.group()
    if end - start > 2 and _CODE_AFTER.match(line, end):
        return match.group()
    last = before[-1:]
    named = last == "-" and line[start - 2].isupper()  # ORA-00942
    paired = last == "(" and line.startswith(", <q>", end)  # (1054, "Unknown column …")
    return match.group() if named or paired else "<n>"


def _without_numbers(line: str) -> str:
    if "20" in line or line.count(":") > 1:
        line = _TIME.sub("<time>", line)
    if "::1" in line or line.count(".") > 2:
        line = _HOST.sub("<ip>", line)
    if "id" in line or "ID" in line or "Id" in line:
        line = _NAMED_ID.sub(r"\1 <n>", line)
    line = _ID.sub("<n>", line)
    if ":" in line:
        line = _POSITION.sub("", line)
    return _NUMBER.sub(_number, line).replace(" -<n>", " <n>")


def _without_quotes(line: str, cut: bool) -> str:
    if "code" in line:
        line = _NAMED_CODE.sub(r"code \1", line)
    if "syntax to use near " in line:
        line = _NEAR.sub("<q>", line)
    line = _QUOTED.sub("<q>", line)
    return _UNCLOSED.sub("<q>", line) if cut else line


def _normal(said: str) -> str:
    """The words that say what failed, without what differs between two runs."""
    line = _bare(said[: limits.FAILURE_LINE_CHARS_MAX].replace("\n", " "))
    if " at " in line or "[recovered" in line:
        line = _ASIDE.sub("", line)
    if _QUOTE.search(line):
        line = _without_quotes(line, cut=len(said) > limits.FAILURE_LINE_CHARS_MAX)
    if "/" in line or "\\" in line:
        line = _PATH.sub(_path, _URL.sub("<url>", line))
    if "tmp" in line:
        line = _TEMP_NAME.sub("<tmp>", line)
    if _DIGIT.search(line):
        line = _without_numbers(line)
    if ">, <" in line:
        line = _ROW.sub(r"\1", line)
    return " ".join(line.lower().split())[: limits.FAILURE_CORE_CHARS_MAX].rstrip(" .:")


# ---- what others call


def error_core(error_text: str) -> str:
    """See `failures.error_core`."""
    text = _window(error_text)
    return _normal(_said(_unwrapped(text))) if text else ""


def shows_error(observation: str) -> bool:
    """See `failures.shows_error`."""
    text = _window(observation)
    inner = _unwrapped(text)
    return _shows(text) or (inner is not text and _shows(inner))
