"""Whether every extra brings what it is for: each is installed by itself into an empty environment,
and what the docs show of it is tried there.

    python tools/extras.py              # all of them; packages come from where pip gets them
    python tools/extras.py langgraph    # one
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
# What runs with the Python of the environment, in a new folder: a file of examples, or a program.
TRIALS: Final = {
    "embeddings": """
from hardwon import Memory
from hardwon.outside.embedders import WordLlamaEmbedder
with Memory("brain", embedder=WordLlamaEmbedder()) as memory:
    kept = memory.remember("The automobile would not start", "failure")
    memory.care.wait_for_vectors()
    assert memory.recall("the car is dead")[0].record.id == kept.id
""",
    "langgraph": "examples/langgraph_agent.py",
    "mcp": """
import hardwon.surfaces.mcp.stdio
""",
    "openai-agents": "examples/openai_agents_session.py",
    "otel": """
from hardwon import Memory
from hardwon.adapters.opentelemetry import traced
with Memory("brain") as memory:
    traced(memory).remember("The port is 5433", "learning")
    assert traced(memory).recall("which port")
""",
    "postgres": """
from hardwon import Memory
from hardwon.errors import StorageError
try:
    Memory("postgresql://nobody@127.0.0.1:1/none")  # the driver is there, and nobody answers
except StorageError as error:
    assert "pip install" not in str(error), error
else:
    raise AssertionError("there is no such database")
""",
    "serve": """
import json, subprocess, sys, urllib.request
from pathlib import Path
program = Path(sys.executable).with_name("hardwon")
started = [program, "demo", "--serve", "--port", "0", "--json"]
with subprocess.Popen(started, stdout=subprocess.PIPE, text=True) as server:
    try:
        lines = iter(server.stdout.readline, "")
        line = next(each for each in lines if each.startswith('{"url"'))
        with urllib.request.urlopen(json.loads(line)["url"] + "/ui/") as page:
            assert "Overview" in page.read().decode()
    finally:
        server.terminate()
""",
}


def extras() -> list[str]:
    """Those that users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(project["optional-dependencies"])


def try_extra(name: str) -> str:
    """What went wrong, or nothing."""
    with tempfile.TemporaryDirectory(prefix="hardwon-extra-") as folder:
        python = str(Path(folder, "env", "bin", "python"))
        trial = TRIALS[name]
        run = [str(ROOT / trial)] if trial.startswith("examples/") else ["-c", trial]
        for command in (
            [sys.executable, "-m", "venv", str(Path(folder, "env"))],
            [python, "-m", "pip", "--quiet", "install", f"{ROOT}[{name}]"],
            [python, *run],
        ):
            done = subprocess.run(  # noqa: S603  # our own programs
                command, cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode:
                return done.stderr.strip() or done.stdout.strip()
    return ""


def main() -> None:
    failed = False
    for name in sys.argv[1:] or extras():
        began = time.monotonic()
        wrong = try_extra(name)
        print(f"{name:14} {time.monotonic() - began:4.0f} s  {wrong or 'works'}", flush=True)
        failed = failed or bool(wrong)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
