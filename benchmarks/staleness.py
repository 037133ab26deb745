"""What it costs to know which files records are about, and whether these are still what they were.

In a real git repository of 2,000 files. Recall: the same questions to the same memory, in turn with
staleness and without. The records that answer are about 100 files: of 100 records with a file each
five are asked for, of 20 with five files each all, and, the worst case, which is shown and not
judged, of five with 20 files each all. Also shown: the first question of a process, which hashes
what it never saw, and after a file was changed, deleted and renamed. Writing: the same records with
and without looking for files in their texts, where the texts name none, name some that are not
there, and name real ones.

What is compared is the processor's time: neither side waits for anything but the disk at the end of
a write. First questions are measured by the clock, for git has a process of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hardwon import Experience, Memory, Metadata
from hardwon.outside import git as looking
from write import CAUSES, COMPONENTS, ERRORS

RECALL_RATIO_MAX = 1.3
WRITE_RATIO_MAX = 1.3
FILES = 100
ASKED = [
    ("zebra migration of the ledger", 5, 1, RECALL_RATIO_MAX),
    ("giraffe upgrade of the kernel", 20, 5, RECALL_RATIO_MAX),
    ("lemur rollout of the gateway", 5, 20, None),
]
"""A question of its own for each shape: how many hits, how many files each is about, and what
staleness may cost.
"""

YOUNG_S = 2.1  # no hash of a younger file is believed


def git(*arguments: str) -> None:
    identity = [
        "-c",
        "user.name=b",
        "-c",
        "user.email=b@example.org",
        "-c",
        "init.defaultBranch=main",
    ]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)  # noqa: S607  # whichever git there is


def make_checkout(root: Path) -> list[str]:
    """A repository of 2,000 files, of which the records are about the first 100."""
    rng = random.Random(1)
    names = []
    for number in range(2_000):
        name = f"src/package{number % 40}/module{number}.py"
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(f"value_{rng.randrange(10**9)} = {line}" for line in range(100)))
        names.append(name)
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "all of it")
    return names


def records(count: int, said: Callable[[int], str], seed: int = 1) -> list[Experience]:
    rng = random.Random(seed)
    return [
        Experience(
            content=f"{rng.choice(ERRORS)} in the {rng.choice(COMPONENTS)}{said(number)}: caused "
            f"by {rng.choice(CAUSES)}; issue #{number} closed after retry {rng.randrange(9)}",
            outcome="success",
            tool="file_operation",
            metadata=Metadata(project_id="default"),
        )
        for number in range(count)
    ]


def milliseconds(
    work: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    begin = clock()
    work()
    return (clock() - begin) * 1e3


def in_turn(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The median of each; who begins takes turns."""
    took: list[list[float]] = [[] for _ in works]
    for turn in range(rounds):
        for offset in range(len(works)):
            side = (turn + offset) % len(works)
            took[side].append(milliseconds(works[side], time.process_time))
    return [statistics.median(each) for each in took]


def ask(memory: Memory, plain: Memory, question: str, k: int, rounds: int) -> tuple[float, float]:
    """With staleness and without."""
    on, off = in_turn(rounds, lambda: memory.recall(question, k), lambda: plain.recall(question, k))
    return on, off


def measure_recall(folder: Path, names: list[str], filler: int, rounds: int) -> bool:
    held = True
    with (
        Memory(folder / "on.db", consolidate_every=0) as memory,
        Memory(folder / "on.db", staleness=False) as plain,
    ):
        memory.add_many(records(filler, lambda _: ""))
        for question, hits, each, bound in ASKED:
            for number in range(FILES // each):
                about = names[number * each : (number + 1) * each]
                memory.remember(
                    f"{question}, part {number}", "success", "file_operation", related_files=about
                )
            looking.HASHES._known.clear()
            first = milliseconds(lambda: memory.recall(question, hits))  # noqa: B023  # called at once
            found = memory.recall(question, hits)
            looked_at = sum(len(hit.record.metadata.context.related_files) for hit in found)
            assert looked_at == hits * each
            assert not any(hit.stale for hit in found)
            on, off = ask(memory, plain, question, hits, rounds)
            print(
                f"recall, {hits} hits about {looked_at} files: {on:.3f} ms, without staleness "
                f"{off:.3f} ms, ",
                end="",
            )
            print(
                f"ratio {on / off:.3f}{f' (at most {bound})' if bound else ''}; the first of a "
                f"process {first:.2f} ms"
            )
            held &= not bound or on / off <= bound
        question, hits, each, _ = ASKED[1]
        changed, gone, renamed = (Path(names[number * each]) for number in range(3))
        changed.write_text("another = True\n")
        gone.unlink()
        git("mv", str(renamed), str(renamed.with_name("another_name.py")))
        asking = milliseconds(lambda: memory.recall(question, hits))
        told = {change.change for hit in memory.recall(question, hits) for change in hit.changed}
        assert told == {"changed", "gone", "renamed"}, told
        time.sleep(YOUNG_S)
        memory.recall(question, hits)
        on, off = ask(memory, plain, question, hits, rounds)
        print(
            f"the second, after a change, a deletion and a renaming: first {asking:.2f} ms (git is "
            f"asked), then {on:.3f} ms, ",
            end="",
        )
        print(f"without staleness {off:.3f} ms, ratio {on / off:.3f}")
    return held


def measure_writes(folder: Path, names: list[str], count: int, rounds: int) -> bool:
    held = True
    texts: dict[str, Callable[[int], str]] = {
        "texts without paths": lambda _: "",
        "paths that are not there": lambda number: f" (src/lost/module{number % 50}.py:12)",
        "paths of real files": lambda number: f" ({names[number % FILES]}:12)",
    }
    for name, said in texts.items():
        took: list[list[float]] = [[], []]
        for turn in range(rounds):
            made = records(count, said, seed=turn)
            with Memory(folder / f"{name}{turn}warm.db", consolidate_every=0) as memory:
                # whoever goes first pays for what is only in the slower caches
                memory.add_many(made)
            for side in (turn % 2, 1 - turn % 2):
                with Memory(folder / f"{name}{turn}{side}.db", consolidate_every=0) as memory:
                    if side:
                        memory._project.checkout = None
                    took[side].append(
                        milliseconds(lambda: memory.add_many(made), time.process_time)  # noqa: B023  # at once
                    )
        on, off = (statistics.median(each) / count * 1e3 for each in took)
        print(
            f"add_many of {count}, {name}: {on:.1f} µs a record, without looking {off:.1f} µs, "
            f"ratio {on / off:.3f}"
        )
        held &= name != "texts without paths" or on / off <= WRITE_RATIO_MAX
    return held


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--records", type=int, default=20_000, help="records beside those that are found"
    )
    parser.add_argument("--rounds", type=int, default=300, help="questions of each side")
    parser.add_argument("--writes", type=int, default=10_000, help="records of one bulk write")
    parser.add_argument("--write-rounds", type=int, default=7, help="bulk writes of each side")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as checkout, tempfile.TemporaryDirectory() as folder:
        os.chdir(checkout)
        names = make_checkout(Path(checkout))
        time.sleep(YOUNG_S)
        held = [
            measure_writes(Path(folder), names, options.writes, options.write_rounds),
            measure_recall(Path(folder), names, options.records, options.rounds),
        ]
        os.chdir("/")
    raise SystemExit(0 if all(held) else "a bound was missed")


if __name__ == "__main__":
    main()
