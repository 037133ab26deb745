"""A line that a shell runs, taken apart: its commands in order, each with its words, the variables
set for it alone, the folder it runs in, the files it writes, and what a here-document feeds it.

A line that no shell would understand is read as far as it goes: what is left is a word like any
other. Nothing is expanded, so `$HOME` and `*.py` stay as they were typed. Linear in its input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from posixpath import join, normpath
from typing import Final

# A piece of a word. Quotes that nobody closes reach to the end.
_PIECE: Final = re.compile(
    r"""(?s)(?P<bare>[^\s'"\\;|&<>()`$]+)|\\(?P<escaped>.)|'(?P<single>[^']*)(?:'|\Z)"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*+)(?:"|\Z)|(?P<back>`[^`]*(?:`|\Z))|(?P<braced>\$\{[^}\n]{0,500}\})"""
    r"""|(?P<nested>[$<>]\()|(?P<dollar>\$|\\\Z)"""
)
_NESTING: Final = re.compile(r"""(?s)\\.|'[^']*'|[()]""")
_SPACE: Final = re.compile(r"(?:[ \t\r]|\\\n)+|(?<![^\s;|&(])#[^\n]*")
_OPERATOR: Final = re.compile(r"&&|\|\||\|&|;;|[;|&\n()]")
_REDIRECT: Final = re.compile(
    r"(?P<from>\d*)(?P<sign>&>>?|<<<|<<-?|>>|>\||[<>]&|<>|[<>])(?!\()[ \t]*+"
)
_SETTING: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_NOT_A_FILE: Final = re.compile(r"/dev/|&|\d+\Z|-\Z")

_LEADING_CD: Final = re.compile(
    r"""(?s)\s*cd\s+(?:'(?P<single>[^']+)'|"(?P<double>[^"$`\\]+)"|(?P<bare>[^\s;&|<>()$`'"\\*?~#]++))"""
    r"(?:\s*+(?:&&|;)|[^\S\n]*+\n)\s*+(?P<rest>\S.*)"
)

# Words of the shell itself: what follows one of these is a command of its own.
_OPENING: Final = frozenset("{ ! if then elif else while until do time".split())
_CLOSING: Final = frozenset("} fi done esac in".split())
# Programs that start another one.
_STARTERS: Final = frozenset(
    "sudo doas env time nohup exec command stdbuf xvfb-run npx pnpx bunx nice ionice setsid timeout".split()
)
_STARTERS_BY_RUN: Final = frozenset("uv poetry pipenv pdm hatch rye pixi conda coverage".split())
# Of the starters: options that take the next word with them.
_WITH_VALUE: Final = frozenset(
    "-u -g -C -n -k -s --user --group --signal --kill-after --with -p".split()
)
_SHELLS: Final = frozenset("sh bash zsh dash ksh".split())


@dataclass(frozen=True)
class Command:
    """One command of a line. `words` are without quotes, the program first, and without what only
    starts it (`sudo`, `timeout 30`, `uv run`), which is `started_by`. `text` is as it was typed,
    redirections and all. `writes` are the files that its output goes to; `after` is the operator
    that follows.
    """

    words: tuple[str, ...]
    text: str
    settings: tuple[tuple[str, str], ...] = ()
    started_by: tuple[str, ...] = ()
    folder: str = ""
    writes: tuple[str, ...] = ()
    appends: bool = False
    document: str = ""
    after: str = ""

    @property
    def program(self) -> str:
        """The name of the program, without its folder; "" for variables alone."""
        return self.words[0].replace("\\", "/").rpartition("/")[2] if self.words else ""


@dataclass
class _Open:
    """A command that is being read."""

    start: int
    words: list[str] = field(default_factory=list)
    settings: list[tuple[str, str]] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    appends: bool = False
    document: str = ""
    in_loop_head: bool = False


def starts_others(program: str) -> bool:
    """Whether a program is one that starts others."""
    return program in _STARTERS or program in _STARTERS_BY_RUN


@lru_cache(maxsize=256)  # what was run is asked for all that it does
def read_line(line: str) -> tuple[Command, ...]:
    """The commands of a line, in order; none where there is nothing but space."""
    commands: list[Command] = []
    folder = ""
    for command, text, sign in _take_apart(line):
        made = _make(command, text, sign, folder)
        if made is None:
            if commands and not commands[-1].after:  # `( … ) || …`
                commands[-1] = replace(commands[-1], after=sign)
            continue
        for part in made:
            if part.program == "cd" and len(part.words) == 2:
                folder = _join(folder, part.words[1])
            commands.append(part)
    return tuple(commands)


def split_cd(line: str) -> tuple[str, str]:
    """Of `cd FOLDER && REST` the folder and the rest; of any other line "" and the line."""
    match = _LEADING_CD.fullmatch(line)
    if match is None:
        return "", line
    return match["single"] or match["double"] or match["bare"], match["rest"]


def _take_apart(line: str) -> list[tuple[_Open, str, str]]:
    """What stands between the operators of a line, each with its text and the operator after it."""
    taken: list[tuple[_Open, str, str]] = []
    documents: list[tuple[_Open, str, bool]] = []
    current, at = _Open(0), 0
    while at < len(line):
        if space := _SPACE.match(line, at):
            at = space.end()
            if not (current.words or current.settings or current.writes):
                current.start = at
        elif redirect := _REDIRECT.match(line, at):
            target, at = _read_word(line, redirect.end())
            if redirect["sign"] in ("<<", "<<-"):
                documents.append((current, target, redirect["sign"] == "<<-"))
            else:
                _redirect(current, redirect, target)
        elif operator := _OPERATOR.match(line, at):
            sign = operator.group()
            taken.append((current, line[current.start : at].strip(), "" if sign in "()" else sign))
            at = operator.end()
            if sign == "\n" and documents:
                at = _read_documents(line, at, documents)
                documents = []
            current = _Open(at)
        else:
            word, end = _read_word(line, at)
            if end > at:
                _take(current, word, line[at:end])
            at = max(end, at + 1)
    return [*taken, (current, line[current.start :].strip(), "")]


def _redirect(command: _Open, redirect: re.Match[str], target: str) -> None:
    """What a command prints goes to a file."""
    sign = redirect["sign"]
    prints = ">" in sign and redirect["from"] != "2"
    if prints and target and not _NOT_A_FILE.match(target):
        command.writes.append(target)
        command.appends |= sign.endswith(">>")


def _read_word(line: str, at: int) -> tuple[str, int]:
    """A word without its quotes, and where it ends; the same place where there is none."""
    pieces: list[str] = []
    while piece := _PIECE.match(line, at):
        if piece["nested"]:
            stop = _find_nested_end(line, piece.end())
            pieces.append(line[at:stop])
            at = stop
            continue
        name = piece.lastgroup or ""
        text = piece[name]
        if name == "double":
            text = re.sub(r'\\(["\\$`])', r"\1", text)
        elif name == "escaped" and text == "\n":
            text = ""
        pieces.append(text)
        at = piece.end()
    return "".join(pieces), at


def _find_nested_end(line: str, at: int) -> int:
    """Where a `$(…)` ends that was opened before `at`."""
    depth = 1
    for sign in _NESTING.finditer(line, at):
        depth += {"(": 1, ")": -1}.get(sign.group(), 0)
        if not depth:
            return sign.end()
    return len(line)


def _read_documents(line: str, at: int, waiting: list[tuple[_Open, str, bool]]) -> int:
    """Takes in here-documents that begin at a place, each until the line that ends it; says where
    the line goes on.
    """
    for command, ending, indented in waiting:
        start = at
        while at < len(line):
            stop = line.find("\n", at)
            stop = len(line) if stop < 0 else stop
            text = line[at:stop]
            body_end, at = at, stop + 1
            if (text.lstrip("\t") if indented else text).rstrip() == ending:
                break
        else:
            body_end = len(line)
        command.document = line[start:body_end]
    return min(at, len(line))


def _take(command: _Open, word: str, typed: str) -> None:
    if command.in_loop_head:
        return
    if not command.words:
        if typed in _OPENING or typed in _CLOSING:
            return
        if typed in ("for", "case", "select", "function"):
            command.in_loop_head = True
            return
        if _SETTING.match(typed):
            name, _, value = word.partition("=")
            command.settings.append((name, value))
            return
    command.words.append(word)


def _make(command: _Open, text: str, sign: str, folder: str) -> list[Command] | None:
    """The command that was read, or those of the line that it hands to a shell; None for nothing."""
    if not command.words and not command.settings and not command.writes:
        return None
    words, starters = command.words, []
    while words and (taken := _count_starting(words)):
        for word in words[:taken]:
            if _SETTING.match(word):
                name, _, value = word.partition("=")
                command.settings.append((name, value))
        starters += words[:taken]
        words = words[taken:]
    name = words[0].rpartition("/")[2] if words else ""
    if name in _SHELLS and len(words) > 2 and re.fullmatch(r"-\w*c", words[1]):
        inner = list(read_line(words[2]))
        if inner:
            return inner
    if name.startswith("python") and len(words) > 2 and words[1] == "-m":
        starters, words = [*starters, *words[:2]], words[2:]
    return [
        Command(
            words=tuple(words),
            text=text,
            settings=tuple(command.settings),
            started_by=tuple(starters),
            folder=folder,
            writes=tuple(command.writes),
            appends=command.appends,
            document=command.document,
            after=sign,
        )
    ]


def _count_starting(words: list[str]) -> int:
    """How many of the first words only start the program behind them."""
    name = words[0].rpartition("/")[2]
    if name not in _STARTERS and not (name in _STARTERS_BY_RUN and words[1:2] == ["run"]):
        return 0
    at = 1 if name in _STARTERS else 2
    while at < len(words) and (words[at].startswith("-") or _SETTING.match(words[at])):
        at += 2 if words[at] in _WITH_VALUE else 1
    at += name == "timeout"  # how long
    return at if at < len(words) else 0


def _join(folder: str, to: str) -> str:
    """The folder after one more `cd`."""
    if to.startswith("~") or to == "-":
        return to
    path = normpath(join(folder, to))
    return "" if path == "." else path
