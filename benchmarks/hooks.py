"""How long an agent waits for a hook: `python -m benchmarks.hooks [CALLS]` prints the milliseconds of
each event with the background process running, of the very first, and of hooks without it, beside
those of a Python that does nothing, taken in turns. A memory of 1,500 trajectories.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from hardwon import Memory, Step

HARDWON = Path(sys.executable).with_name("hardwon")


def event(name: str, number: int, folder: Path) -> bytes:
    part = number % 50
    said: dict[str, dict[str, object]] = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": f"build part {part} of the shop"},
        "PostToolUse": {"tool_response": {"stdout": "ok", "stderr": "", "interrupted": False}},
        "PostToolUseFailure": {"error": f"Exit code 1\nerror: part {part} broke"},
    }
    common: dict[str, object] = {
        "hook_event_name": name,
        "session_id": f"s{number}",
        "cwd": str(folder),
    }
    tool: dict[str, object] = {"tool_name": "Bash", "tool_input": {"command": f"make part{part}"}}
    return json.dumps(common | tool | said.get(name, {})).encode()


def took_ms(words: list[str], data: bytes, folder: Path, environment: Mapping[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(
        words, input=data, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True
    )
    return (time.perf_counter() - begun) * 1000


def end_process(runtime: str) -> None:
    for lock in Path(runtime).glob("*/*.lock"):
        while not lock.read_text().strip():
            time.sleep(0.1)
        os.kill(int(lock.read_text()), signal.SIGKILL)
        for file in lock.parent.iterdir():
            file.unlink()


def main(calls: int) -> None:
    with tempfile.TemporaryDirectory(prefix="hw", dir="/tmp") as home:
        folder = Path(home) / "shop"
        folder.mkdir()
        names = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
        environment = {**os.environ, **dict.fromkeys(names, home)}
        os.environ.update(environment)
        os.chdir(folder)
        with Memory(folder / ".hardwon", "shop") as memory:
            for number in range(1_500):
                part = number % 50
                failed = Step(action=f"make part{part}", observation=f"error: part {part} broke")
                mended = Step(action=f"A={number % 9} make part{part}", reward=1.0)
                memory.record_trajectory(f"build part {part}", [failed, mended], 1.0)
        hook = ["/bin/sh", "-c", f"{HARDWON} --project shop hooks run claude-code || true"]
        alone = {**environment, "HARDWON_BACKGROUND": "0"}
        found: dict[str, list[float]] = {}

        def measure(what: str, name: str, number: int, within: Mapping[str, str]) -> None:
            took = took_ms(hook, event(name, number, folder), folder, within)
            found.setdefault(what, []).append(took)

        for number in range(5):
            measure("the very first", "SessionStart", number, environment)
            time.sleep(3)
            end_process(home)
        took_ms(hook, event("SessionStart", 9, folder), folder, environment)
        time.sleep(5)
        for number in range(10, 10 + calls):
            nothing = took_ms([sys.executable, "-c", "pass"], b"", folder, environment)
            found.setdefault("python -c pass", []).append(nothing)
            for name in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"):
                measure(name, name, number, environment)
            for name in ("PostToolUseFailure", "Stop"):
                measure(name, name, number, environment)
            measure("a prompt without the process", "UserPromptSubmit", number + 5_000, alone)
        end_process(home)
    print(f"load {os.getloadavg()[0]:.1f}")
    for what, times in found.items():
        ordered = sorted(times)
        p95 = ordered[max(0, round(len(ordered) * 0.95) - 1)]
        print(f"{what:30} p50 {statistics.median(ordered):7.1f} ms  p95 {p95:7.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
