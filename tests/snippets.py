"""The snippets of a page, run as its reader would: in one fresh folder, one shell, one Python.

CONTRIBUTING.md says how blocks are marked.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import socket
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, closing, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil  # type: ignore[import-untyped]
import yaml  # type: ignore[import-untyped]

import hardwon
import warm
from little_projects import environment, without_our_plugins
from processes import free_port

ROOT: Final = Path(__file__).parent.parent
_FIRST: Final = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")]
PAGES: Final = [*_FIRST, *sorted((ROOT / "docs").rglob("*.md"))]
HOME_IN_PAGES: Final = "/home/anna"
PORT_IN_PAGES: Final = "7433"
_WAIT_S: Final = 200.0
_DIRECTIVES: Final = {"needs", "serves", "exits", "prints", "runs", "database"}
_FENCE: Final = re.compile(r"^( *)(`{3,})(\w*)(?: +(.*))?$")
_COMMENT: Final = re.compile(r"^ *<!-- *([a-z]+)(?:: *(.*?))? *-->$")
_HIDDEN: Final = re.compile(r"^ *<!-- hidden (\w+)$")
_TITLE: Final = re.compile(r'title="([^"]+)"')
_NEVER: Final = re.compile(r"never, because (.+)")


class WrongPageError(AssertionError):
    """A block that is not what its page says."""


@dataclass(frozen=True)
class Block:
    """One block of a page. `marks` is what the comments before it say."""

    page: str
    line: int
    language: str
    code: str
    title: str | None = None
    marks: dict[str, str] = field(default_factory=dict)
    hidden: bool = False

    @property
    def at(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def never(self) -> str | None:
        """Why it is not run, where its page says so."""
        if "runs" not in self.marks:
            return None
        found = _NEVER.fullmatch(self.marks["runs"])
        if not found:
            raise WrongPageError(f"{self.at}: write <!-- runs: never, because … -->")
        return found[1]


def blocks_of(page: Path) -> list[Block]:
    name = str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else page.name
    return list(_blocks(name, page.read_text(encoding="utf-8").splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    marks: dict[str, str] = {}
    numbered = iter(enumerate(lines, 1))
    for number, line in numbered:
        if fence := _FENCE.match(line):
            indent, ticks, language, info = fence.groups()
            code = _until(numbered, indent + ticks, f"{page}:{number}")
            code = [each.removeprefix(indent) for each in code]
            found = _TITLE.search(info or "")
            title = found[1] if found else None
            yield Block(page, number, language, "\n".join(code) + "\n", title, marks)
            marks = {}
        elif hidden := _HIDDEN.match(line):
            code = _until(numbered, "-->", f"{page}:{number}")
            yield Block(page, number, hidden[1], "\n".join(code) + "\n", None, marks, hidden=True)
            marks = {}
        elif comment := _COMMENT.match(line):
            if comment[1] not in _DIRECTIVES:
                known = ", ".join(sorted(_DIRECTIVES))
                raise WrongPageError(f"{page}:{number}: {comment[1]} is none of {known}")
            marks = {**marks, comment[1]: comment[2] or ""}
        elif line.strip() and marks:
            raise WrongPageError(f"{page}:{number}: the comment before it belongs to no block")


def _until(numbered: Iterator[tuple[int, str]], end: str, begun: str) -> list[str]:
    found: list[str] = []
    for _, line in numbered:
        if line.rstrip() == end:
            return found
        found.append(line)
    raise WrongPageError(f"{begun}: the block does not end")


_CHANGING: Final = (
    (re.compile(r"(?<=hardwon-memory )[0-9a-f]{16}\b"), "HEX"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00| UTC)?"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"\b\d{8}_\d{6}(?=_)"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|seconds)\b"), "DURATION"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "HEX"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


def without_what_changes(text: str) -> str:
    """Ids, times, durations and hashes are others in every run."""
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return text.strip("\n")


def same(expected: str, printed: str) -> bool:
    """… stands for any text in a line; alone on one, for any lines. A hash may lack letters."""
    pattern = []
    for line in without_what_changes(expected).split("\n"):
        if line.strip() == "…":
            pattern.append(r"(?:.*\n)*?")
        else:
            escaped = ".*?".join(map(re.escape, line.split("…")))
            pattern.append(escaped.replace("HEX", "(?:HEX|[0-9a-f]{7,64})") + "\n")
    return re.fullmatch("".join(pattern), without_what_changes(printed) + "\n") is not None


class Shell:
    """One bash for a whole page: what a block sets or where it goes holds for the next ones."""

    def __init__(self, home: Path, variables: dict[str, str]) -> None:
        self._home, self._count = home, 0
        self._scripts = home.parent / "scripts"
        self._scripts.mkdir()
        self.folder = home
        self._told, self._telling = os.pipe()
        apart: Any = {"cwd": home, "env": variables, "pass_fds": [self._telling], "text": True}
        apart |= {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
        self._bash = subprocess.Popen("bash --noprofile --norc".split(), **apart)
        os.close(self._telling)

    def run(self, code: str, *, strict: bool) -> tuple[int, str]:
        """The exit code and what was printed. `strict`: the first failure ends it all."""
        script, printed = self._written(code)
        # in one go: a shell that a failure ends reads no second line
        self._say(
            f"set {'-' if strict else '+'}e; . {script} >{printed} 2>&1 </dev/null\n"
            f'printf \'%s\\t%s\\n\' "$?" "$PWD" >&{self._telling}'
        )
        answer = self._heard()
        if answer is None:
            return self._bash.wait(_WAIT_S) or 1, printed.read_text()
        code_told, _, folder = answer.rstrip("\n").partition("\t")
        self.folder = Path(folder)
        return int(code_told), printed.read_text()

    def start(self, code: str, port: int) -> str:
        """A server in the background. What it printed until it could be reached at the port."""
        self._end_what_runs()  # one server at a time: whoever starts the next has ended the last
        script, printed = self._written(code)
        self._say(f"(export {warm.COLD}=1; . {script}) >{printed} 2>&1 </dev/null &")
        deadline = time.monotonic() + _WAIT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                if time.monotonic() > deadline:
                    said = printed.read_text() if printed.exists() else ""
                    raise WrongPageError(f"nothing answers at the port: {said}") from None
                time.sleep(0.05)
            else:
                return printed.read_text()

    def _written(self, code: str) -> tuple[Path, Path]:
        self._count += 1
        script = self._scripts / f"{self._count}.sh"
        script.write_text(code, encoding="utf-8")
        return script, script.with_suffix(".out")

    def _say(self, line: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(line + "\n")
        self._bash.stdin.flush()

    def _heard(self) -> str | None:
        """None where the shell has ended."""
        heard = b""
        while not heard.endswith(b"\n"):
            ready, _, _ = select.select([self._told], [], [], _WAIT_S)
            if not ready:
                raise WrongPageError(f"no end after {_WAIT_S:.0f} s")
            more = os.read(self._told, 4096)
            if not more:
                return None
            heard += more
        return heard.decode()

    def _end_what_runs(self) -> None:
        family = psutil.Process(self._bash.pid).children(recursive=True)
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(family, timeout=_WAIT_S)
        for process in alive:
            process.kill()

    def end(self) -> None:
        """With everything that a page left running."""
        if self._bash.poll() is None:
            self._end_what_runs()
            self._bash.kill()
        self._bash.communicate()
        os.close(self._told)


@dataclass
class Reader:
    """Somebody who types a page's blocks into one shell and one Python, in a home of their own."""

    home: Path
    shell: Shell
    port: int
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str = ""

    def read(self, block: Block) -> None:
        if block.language not in KINDS:
            raise self._wrong(
                block, f"{block.language or 'no language'} is none of {', '.join(KINDS)}"
            )
        if block.title is not None:
            self._write(block)
        elif block.never is None:
            KINDS[block.language](self, block)

    def _write(self, block: Block) -> None:
        assert block.title is not None
        target = self.shell.folder / block.title
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.code, encoding="utf-8")
        if block.language in PARSERS:
            PARSERS[block.language](self, block)

    def _wrong(self, block: Block, why: str) -> WrongPageError:
        return WrongPageError(f"{block.at}: {why}\nprinted:\n{self.printed}")

    def python(self, block: Block) -> None:
        output = io.StringIO()
        code = "\n" * block.line + self._outward(block.code)
        try:
            with chdir(self.shell.folder), redirect_stdout(output):
                exec(compile(code, block.at, "exec"), self.names)  # noqa: S102  # our own pages
        except Exception as error:
            self.printed = output.getvalue()
            raise self._wrong(block, f"{type(error).__name__}: {error}") from error
        self.printed = self._inward(output.getvalue())
        expected = re.findall(r"# prints (.+)$", block.code, re.MULTILINE)
        rest = without_what_changes(self.printed)
        for line in expected:
            _, found, rest = rest.partition(without_what_changes(line))
            if not found:
                raise self._wrong(block, f"not printed: {line}")

    def sh(self, block: Block) -> None:
        code = self._outward(block.code)
        if "serves" in block.marks:
            before, _, last = code.rstrip("\n").rpartition("\n")
            self._typed(block, before + "\n", strict=True)
            served = re.sub(r"(hardwon\b.*?(?: |--)serve)\b", rf"\1 --port {self.port}", last)
            self.printed = self._inward(self.shell.start(served, self.port))
        else:
            self._typed(block, code, strict="exits" not in block.marks)

    def console(self, block: Block) -> None:
        typed = _typed_lines(block)
        for at, (command, expected) in enumerate(typed):
            last = at == len(typed) - 1
            self._typed(block, self._outward(command), strict=False, exits=None if last else 0)
            if not same(expected, self.printed):
                raise self._wrong(block, f"$ {command}\nis said to print:\n{expected}")

    def _typed(self, block: Block, code: str, *, strict: bool, exits: int | None = None) -> None:
        expected = int(block.marks.get("exits", 0)) if exits is None else exits
        ended, printed = self.shell.run(code, strict=strict)
        self.printed = self._inward(printed)
        if ended != expected:
            raise self._wrong(block, f"exit code {ended}, not {expected}, of\n{code}")

    def text(self, block: Block) -> None:
        if "prints" in block.marks and not same(block.code, self.printed):
            raise self._wrong(block, f"the block before it is said to print:\n{block.code}")

    def sql(self, block: Block) -> None:
        """In the file of SQLite that `database` names."""
        where = block.marks.get("database")
        if where is None:
            raise WrongPageError(f"{block.at}: say in which: <!-- database: FILE.db -->")
        address = f"file:{self.shell.folder / where}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            statements = block.code.split(";")
            rows = [row for statement in statements for row in connection.execute(statement)]
        self.printed = "\n".join("|".join(map(str, row)) for row in rows)

    def json(self, block: Block) -> None:
        json.loads(block.code)

    def jsonl(self, block: Block) -> None:
        for line in block.code.splitlines():
            json.loads(line)

    def toml(self, block: Block) -> None:
        tomllib.loads(block.code)

    def yaml(self, block: Block) -> None:
        yaml.safe_load(block.code)

    def _outward(self, code: str) -> str:
        return code.replace(f"127.0.0.1:{PORT_IN_PAGES}", f"127.0.0.1:{self.port}")

    def _inward(self, printed: str) -> str:
        printed = printed.replace(f"127.0.0.1:{self.port}", f"127.0.0.1:{PORT_IN_PAGES}")
        return printed.replace(str(self.home), HOME_IN_PAGES)

    def leave(self) -> None:
        """Closes what the page left open, the newest first."""
        self.shell.end()
        for value in reversed(list(self.names.values())):
            if callable(getattr(type(value), "close", None)):
                value.close()


_Readers = dict[str, Callable[[Reader, Block], None]]
_PARSED, _RUN = "json jsonl toml yaml".split(), "python sh console sql text".split()
PARSERS: Final[_Readers] = {name: getattr(Reader, name) for name in _PARSED}
KINDS: Final[_Readers] = {name: getattr(Reader, name) for name in _RUN} | PARSERS


def _typed_lines(block: Block) -> list[tuple[str, str]]:
    """Each command after a `$ ` with its `> ` lines, and what follows as its output."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.code.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise WrongPageError(f"{block.at}: a console begins with `$ `")
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [("\n".join(command), "\n".join(output)) for command, output in found]


def surroundings(home: Path, more: dict[str, str]) -> dict[str, str]:
    """The variables of a newcomer, and nothing of whoever runs the tests."""
    own = ("PG", "XDG_", "VIRTUAL_ENV", "PYTHON")
    kept = {name: value for name, value in environment().items() if not name.startswith(own)}
    programs = [str(Path(program).parent) for program in (warm.python(), sys.executable)]
    path = os.pathsep.join(filter(None, [*programs, more.pop("PATH", ""), kept["PATH"]]))
    ours = {"PATH": path, "PYTHONPATH": str(Path(hardwon.__file__).parent.parent)}
    ours |= {"HOME": str(home), "CHECKOUT": str(ROOT), "HARDWON_BACKGROUND": "0"}
    ours |= {"COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    ours["PYTEST_ADDOPTS"] = " ".join(without_our_plugins())
    return kept | ours | more


def run_page(page: Path, folder: Path, variables: Callable[[dict[str, str]], None]) -> list[Block]:
    """Runs every block and returns them. `variables` sets those of this process, for Python."""
    blocks = blocks_of(page)
    needs = {need for block in blocks for need in block.marks.get("needs", "").split(",") if need}
    home = folder / "home"
    home.mkdir()
    with ExitStack() as stack:
        more = {}
        if unknown := needs - {"postgres"}:
            raise WrongPageError(f"{page.name} needs {unknown}: only postgres can be had")
        if needs:
            more = _postgres(stack)
        chosen = surroundings(home, more)
        variables(chosen)
        reader = Reader(home, Shell(home, chosen), free_port())
        stack.callback(reader.leave)
        for block in blocks:
            reader.read(block)
    _expect_files_in_use(blocks)
    return blocks


def _postgres(stack: ExitStack) -> dict[str, str]:
    """A server at localhost that asks for passwords; its superuser comes by the socket."""
    import postgres_server  # the driver is loaded for the pages that need it

    server = postgres_server.Server(password=True, careful=False)
    stack.callback(server.remove)
    where = {"PGHOST": str(server.folder), "PGPORT": str(server.port), "PGUSER": "postgres"}
    return where | {"PATH": str(Path(postgres_server.binary("psql")).parent)}


def _expect_files_in_use(blocks: list[Block]) -> None:
    """A file of code that a page shows is run by it, or by another file of it."""
    for at, block in enumerate(blocks):
        if block.title and block.language in ("python", "sh"):
            runner = "pytest" if block.title.startswith("test_") else Path(block.title).stem
            if not any(runner in other.code for other in blocks[at + 1 :]):
                raise WrongPageError(f"{block.at}: nothing below it runs {block.title}")
