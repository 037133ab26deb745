"""How long a newcomer's first line takes: `from hardwon import Memory`, then opening a memory of
100,000 records and one `get`; and a one-shot `hardwon stats`, and the completion of `hardwon st`,
as whoever types them waits.

Everything is compiled first; each measurement is a fresh process, and the median counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from hardwon import Memory
from write import experiences

IMPORT_MS_MAX = 150.0
OPEN_AND_GET_MS_MAX = 50.0
STATS_MS_MAX = 250.0

CODE = """
import sys, time
start = time.perf_counter()
from hardwon import Memory
imported = time.perf_counter()
memory = Memory(sys.argv[1])
assert memory.get(sys.argv[2]) is not None
print((imported - start) * 1e3, (time.perf_counter() - imported) * 1e3)
"""


# as the console script has it
COMMAND = [sys.executable, "-c", "from hardwon_cli import main; main()"]
COMPLETING = {"_HARDWON_COMPLETE": "complete_bash", "COMP_WORDS": "hardwon st", "COMP_CWORD": "1"}


def measure(
    location: str, record_id: str, rounds: int, environment: dict[str, str]
) -> tuple[float, float]:
    runs = []
    for turn in range(rounds + 1):
        done = subprocess.run(
            [sys.executable, "-c", CODE, location, record_id],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        if turn:  # the first one compiles
            runs.append([float(part) for part in done.stdout.split()])
    imports, opens = zip(*runs, strict=True)
    return statistics.median(imports), statistics.median(opens)


def time_command(command: list[str], rounds: int, environment: dict[str, str]) -> float:
    """Milliseconds from start to end of a process, as whoever types it waits."""
    runs = []
    for turn in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        if turn:  # the first one compiles
            runs.append((time.perf_counter() - start) * 1e3)
    return statistics.median(runs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as compiled:
        with Memory(folder) as memory:
            ids = memory.add_many(experiences(options.records, seed=1))
        environment = {
            **os.environ,
            "PYTHONPYCACHEPREFIX": compiled,
            "HARDWON_MEMORY": f"{folder}/small",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with Memory(f"{folder}/small") as memory:
            memory.remember("the parser fails", "failure", "unknown")
        importing, opening = measure(folder, ids[len(ids) // 2], options.rounds, environment)
        stats = time_command([*COMMAND, "stats"], options.rounds, environment)
        completing = time_command(COMMAND, options.rounds, environment | COMPLETING)
        python = time_command([sys.executable, "-c", "pass"], options.rounds, environment)
    print(f"from hardwon import Memory   {importing:9.1f} ms (at most {IMPORT_MS_MAX})")
    print(
        f"open {options.records} records, one get {opening:9.1f} ms (at most {OPEN_AND_GET_MS_MAX})"
    )
    print(
        f"hardwon stats                {stats:9.1f} ms (at most {STATS_MS_MAX}; Python alone "
        f"{python:.1f})"
    )
    print(f"completing hardwon st        {completing:9.1f} ms")
    kept = importing <= IMPORT_MS_MAX and opening <= OPEN_AND_GET_MS_MAX and stats <= STATS_MS_MAX
    raise SystemExit(0 if kept else "a bound was missed")


if __name__ == "__main__":
    main()
