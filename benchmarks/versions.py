"""What a change of the house costs: the same work done by two versions of Hardwon, in turn.

    python benchmarks/versions.py --before OTHER_CHECKOUT/src

Each round does all of the work once with each version, each in a process of its own on a memory of
its own, so that whatever else the machine does falls on both. Printed are the medians, and how many
times as long the version of this checkout takes. Both run with the packages of this interpreter.
On a machine that is busy with other things, `--cpu` counts the time that the processor spent.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "src"
SLOWER_MAX = 1.10
WORDS = "deploy billing lock table orders retry worker cache token login parser index staging build".split()


def now() -> float:
    if "--cpu" not in sys.argv:
        return time.perf_counter()
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def text(number: int) -> str:
    some = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 5, 7, 11)]
    return f"{' '.join(some)} of service {number % 97} was mended by attempt {number}"


def measure(records: int) -> dict[str, float]:
    """Seconds for each piece of work, with the Hardwon that this process imports."""
    from hardwon import Episode, Experience, Fix, Memory, Step, Trajectory
    from hardwon.doors.btb import MemoryEngine
    from hardwon.doors.fixes import AIMemory

    took: dict[str, float] = {}

    def clock(name: str, times: int, work: Callable[[int], object]) -> None:
        work(-1)  # whatever is loaded or prepared at the first time
        began = now()
        for number in range(times):
            work(number)
        took[name] = (now() - began) / times

    folder = Path(tempfile.mkdtemp(prefix="versions-"))
    issue = {"model": "m", "issue_type": "TIMEOUT", "description": "no answer from the model"}
    with Memory(folder / "one") as memory:
        bulk = [
            Experience(
                content=text(each), outcome="success", tool="code_interpreter", task_type="debug"
            )
            for each in range(records)
        ]
        began = now()
        memory.add_many(bulk)
        took["add_many, a record"] = (now() - began) / records
        made = [Step(action=f"make {word}", observation="ok", reward=1.0) for word in WORDS[:5]]
        began = now()
        memory.add_many(
            Trajectory(task=text(each), steps=made, final_reward=each % 2)
            for each in range(records // 10)
        )
        memory.add_many(
            Episode(task_id=f"t{each % 20}", score=each % 10 / 10, mistakes=[text(each)])
            for each in range(records // 10)
        )
        memory.add_many(
            Fix(
                issue=issue,
                fix_success=True,
                verification_success=each % 3 > 0,
                fix_commands=[text(each)],
            )
            for each in range(records // 10)
        )
        took["other kinds, a record"] = (now() - began) / (3 * (records // 10))
        clock(
            "remember",
            200,
            lambda each: memory.remember(
                text(each), "failure", "code_interpreter", error_type="runtime"
            ),
        )
        clock("record_fix", 200, lambda each: memory.record_fix(issue, True, True, text(each)))
        clock("recall", 300, lambda each: memory.recall(text(each * 31)))
        clock("recall, filtered", 100, lambda each: memory.recall(text(each), outcome="failure"))
        clock("context", 60, lambda each: memory.context(text(each * 31)))
        clock("advise", 60, lambda each: memory.advise(f"make {WORDS[each % 5]}", task=text(each)))
        clock("odds", 60, lambda _: memory.odds(issue))
        clock("patterns", 10, lambda _: memory.patterns())
        clock("stats", 10, lambda _: memory.stats())
        clock("browse, 1,000", 5, lambda _: list(memory.browse(limit=1_000)))
        clock("rebuild", 1, lambda _: memory.rebuild())
        clock("export", 1, lambda each: memory.export(folder / f"out{each}.jsonl"))
    engine = MemoryEngine(str(folder / "tree"))
    clock(
        "MemoryEngine.remember",
        100,
        lambda each: engine.remember(
            text(each), outcome="success", tool="code_interpreter", task_type="debug"
        ),
    )
    clock("MemoryEngine.recall", 30, lambda _: engine.recall(outcome="success"))
    history = AIMemory(str(folder / "fixes"))
    reply = {"analysis": "slow", "fix_commands": ["ollama pull x"]}
    clock(
        "record_fix_attempt",
        200,
        lambda _: history.record_fix_attempt(issue, reply, True, True, 1.5),
    )
    clock("build_context_for_claude", 50, lambda _: history.build_context_for_claude(issue))
    return took


def start(src: Path, command: list[str]) -> float:
    began = now()
    subprocess.run(  # ourselves
        [sys.executable, *command], env=environment(src), check=True, stdout=subprocess.DEVNULL
    )
    return now() - began


def environment(src: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(src)}


def run(src: Path, records: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", "--records", str(records)]
    command += ["--cpu"] * ("--cpu" in sys.argv)
    done = subprocess.run(command, env=environment(src), check=True, capture_output=True, text=True)
    took: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    nothing = start(src, ["-c", "pass"])
    for line in ("import hardwon", "from hardwon import Memory"):
        took[line] = start(src, ["-c", line]) - nothing
    folder = tempfile.mkdtemp(prefix="versions-")
    start(src, ["-c", f"from hardwon import Memory; Memory({folder!r}).close()"])
    program = "from hardwon_cli import main; main()"
    took["hardwon stats"] = start(src, ["-c", program, "--memory", folder, "stats"])
    return took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="the src folder of the other version")
    parser.add_argument("--records", type=int, default=20_000, help="kept before anything is asked")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="the processor's time, not the clock's")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.records)))
        return
    if asked.before is None:
        parser.error("--before is needed: the src folder of the other version")
    versions = {"before": asked.before.resolve(), "after": HERE}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
    for src in versions.values():
        compileall.compile_dir(src, quiet=2)
    for _ in range(asked.rounds):
        for name, src in versions.items():
            found[name].append(run(src, asked.records))
    print(f"{'':26}{'before':>12}{'after':>12}{'times':>8}")
    for name in found["after"][0]:
        before, after = (
            statistics.median(each[name] for each in found[version]) for version in versions
        )
        mark = "  slower" if after > SLOWER_MAX * before else ""
        print(f"{name:26}{1e3 * before:9.3f} ms{1e3 * after:9.3f} ms{after / before:8.2f}{mark}")


if __name__ == "__main__":
    main()
