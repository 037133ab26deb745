"""How far one has to walk through the house: what a call crosses, and how much there is of
everything.

    python tools/walk.py                  # of this checkout
    python tools/walk.py --src PATH/src   # of another one, to compare

Five operations are traced, each in a process of its own: the functions of src that are called (not
the code of modules), in how many files, how deep, and how often the next call is in another file
than the one before. Then the source is counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

WALKS = ("remember", "recall", "POST /facts", "hardwon fixers", "record_fix_attempt")
FIXES_MADE = 3
HERE = Path(__file__).resolve().parent.parent


class Trace:
    """Calls of functions whose code lies in a folder, from all threads, while it is on."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder) + os.sep
        self._on = False
        self._calls: list[CodeType] = []
        self._depth = 0

    def start(self) -> None:
        self._calls, self._depth, self._on = [], 0, True

    def stop(self) -> dict[str, int]:
        self._on = False
        files = [code.co_filename for code in self._calls]
        return {
            "calls": len(self._calls),
            "functions": len(set(self._calls)),
            "files": len(set(files)),
            "depth": self._depth,
            "switches": sum(one != other for one, other in pairwise(files)),
        }

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        if not self._on or event != "call" or not self._is_ours(frame.f_code):
            return
        self._calls.append(frame.f_code)
        depth, up = 0, frame
        while up is not None:
            depth += self._is_ours(up.f_code)
            up = up.f_back  # type: ignore[assignment]  # None ends the loop
        self._depth = max(self._depth, depth)

    def _is_ours(self, code: CodeType) -> bool:
        return not code.co_name.startswith("<") and code.co_filename.startswith(self._folder)


def trace_walk(walk: str, src: Path) -> dict[str, int]:
    """One operation, in this process."""
    trace = Trace(src)
    threading.setprofile(trace.profile)
    sys.setprofile(trace.profile)
    os.chdir(tempfile.mkdtemp(prefix="walk-"))
    if walk in ("remember", "recall"):
        return _trace_memory(walk, trace)
    if walk == "record_fix_attempt":
        return _trace_fix(trace)
    from hardwon import Memory

    with Memory("brain") as memory:
        for number in range(FIXES_MADE):
            memory.record_fix(
                {"model": "m", "issue_type": "TIMEOUT"}, True, number > 0, "slow", ["ollama pull x"]
            )
    return _trace_server(trace) if walk.startswith("POST") else _trace_report(trace)


def _trace_memory(walk: str, trace: Trace) -> dict[str, int]:
    from hardwon import Memory

    with Memory("brain") as memory:
        for number in range(3):  # the first call of anything loads it
            memory.remember(
                f"Checking user.is_anonymous first fixed login.py, try {number}",
                "success",
                "code_interpreter",
                task_type="debug",
            )
            memory.recall("how was login.py fixed")
        trace.start()
        if walk == "recall":
            memory.recall("how was login.py fixed")
        else:
            memory.remember(
                "Checking user.is_guest first fixed logout.py",
                "success",
                "code_interpreter",
                task_type="debug",
            )
        return trace.stop()


def _trace_fix(trace: Trace) -> dict[str, int]:
    sys.path.insert(0, str(HERE / "drop_in" / "Scripts"))
    history = import_module("ai_memory").AIMemory("brain")
    issue = {"model": "m", "issue_type": "TIMEOUT", "description": "no answer"}
    reply = {"analysis": "slow", "fix_commands": ["ollama pull x"]}
    history.record_fix_attempt(issue, reply, True, True, 1.5)
    trace.start()
    history.record_fix_attempt(issue, reply, True, False, 1.5)
    return trace.stop()


def _trace_report(trace: Trace) -> dict[str, int]:
    from hardwon_cli import run

    for _ in range(2):  # the first call of anything loads it
        sys.argv = ["hardwon", "--memory", "brain", "fixes", "fixers"]
        trace.start()
        try:
            run()
        except SystemExit as ended:
            if ended.code:
                raise
    return trace.stop()


def _trace_server(trace: Trace) -> dict[str, int]:
    """The server is what the command line starts; the second request is traced."""
    import urllib.request

    from hardwon_cli import run

    found: list[dict[str, int]] = []
    line = _lines_of_stdout()

    def ask() -> None:
        try:
            url = json.loads(line())["url"]
            body = json.dumps(
                {"content": "Staging listens on port 5433.", "fact_type": "observation"}
            ).encode()
            for _ in range(2):
                trace.start()
                address = f"{url}/api/v1/projects/default/facts"
                asked = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310  # our own
                with urllib.request.urlopen(asked, timeout=30) as answered:  # noqa: S310
                    answered.read()
            found.append(trace.stop())
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    asking = threading.Thread(target=ask)
    asking.start()
    sys.argv = [
        "hardwon",
        "--memory",
        "brain",
        "--project",
        "default",
        "serve",
        "--port",
        "0",
        "--json",
        "--no-auth",
    ]
    try:
        run()
    except SystemExit:
        asking.join()
    return found[0]


def _lines_of_stdout() -> Any:
    """What this process prints from now on, a line at a time, for another thread of it."""
    reading, writing = os.pipe()
    os.dup2(writing, sys.stdout.fileno())
    return os.fdopen(reading).readline


def count_source(src: Path) -> dict[str, Any]:
    trees = {path: ast.parse(path.read_text()) for path in sorted(src.rglob("*.py"))}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    functions = [
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    uses = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
    )
    private = [name for name in functions if name.startswith("_") and not name.startswith("__")]
    lonely = sum(uses[name] == 1 for name in private)
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return {
        "statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "files": len(trees),
        "functions": len(functions),
        "private functions with one caller": f"{lonely} of {len(private)}, "
        f"{lonely / len(functions):.0%} of all",
        "class names used twice": sorted(name for name, times in classes.items() if times > 1),
        "broad excepts": sum(
            _is_broad(node) for node in nodes if isinstance(node, ast.ExceptHandler)
        ),
    }


def _is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in ("Exception", "BaseException")
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--src", type=Path, default=HERE / "src", help="the source that is walked (%(default)s)"
    )
    # one of them, in this process
    parser.add_argument("--walk", choices=WALKS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    src = asked.src.resolve()
    sys.path.insert(0, str(src))
    if asked.walk:
        result = trace_walk(asked.walk, src)
        print(json.dumps(result), file=sys.stderr)
        return
    print(f"{'':22}{'calls':>8}{'functions':>11}{'files':>7}{'depth':>7}{'switches':>10}")
    for walk in WALKS:
        command = [sys.executable, __file__, "--src", str(src), "--walk", walk]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # ourselves
        if done.returncode:
            sys.exit(f"{walk}: {done.stderr}")
        row = json.loads(done.stderr.splitlines()[-1])
        print(
            f"{walk:22}{row['calls']:8}{row['functions']:11}{row['files']:7}{row['depth']:7}{row['switches']:10}"
        )
    print()
    for name, value in count_source(src).items():
        print(
            f"{name}: {len(value)} {', '.join(value)}"
            if isinstance(value, list)
            else f"{name}: {value}"
        )


if __name__ == "__main__":
    main()
