"""A tiny agent that learns, or does not: the same shifts with a memory and without, and whether the
difference is luck.

    python examples/training.py [--out training.html] [--worlds 6]

In each world the agent looks after two machines. Alarms ring, and it has to choose one of six
remedies; which of them helps differs from world to world, so that nothing but experience can tell.
All it knows is what it reads in the text that the memory gives it before a shift. After each shift
both agents record how it went. Only one of them reads.
"""

from __future__ import annotations

import argparse
import html
import random
import re
import tempfile
from pathlib import Path

from hardwon import Memory, MistakeCard

MACHINES = {
    "boiler": ["pressure", "flame", "feed water", "draught"],
    "turbine": ["vibration", "oil", "speed", "seal"],
}
REMEDIES = [
    "open the bypass",
    "lower the load",
    "purge the line",
    "swap the pump",
    "reset the relay",
    "call the fitter",
]
SHIFTS = 24  # a run, taking turns at the machines
ALARMS_PER_SHIFT = 6
WORKS = 0.9  # the right remedy does not always help; a wrong one never does


class World:
    """Which remedy helps against which alarm, and what rings when. The same number makes the same
    world.
    """

    def __init__(self, number: int) -> None:
        self._rng = random.Random(number)
        self.right = {
            alarm: self._rng.choice(REMEDIES) for alarms in MACHINES.values() for alarm in alarms
        }

    def shift(self, machine: str) -> list[str]:
        return self._rng.choices(MACHINES[machine], k=ALARMS_PER_SHIFT)

    def helped(self, alarm: str, remedy: str) -> bool:
        return self._rng.random() < WORKS and remedy == self.right[alarm]


def choose(alarm: str, briefing: str, rng: random.Random) -> str:
    """What the agent does: what it was told of this alarm, else a guess among what it was not
    warned of.
    """
    known: list[str] = re.findall(rf"When {alarm} rings, ({'|'.join(REMEDIES)})", briefing)
    if known:
        return known[0]
    warned = set(re.findall(rf"({'|'.join(REMEDIES)}) did not help when {alarm} rang", briefing))
    return rng.choice([remedy for remedy in REMEDIES if remedy not in warned] or REMEDIES)


def work(memory: Memory, number: int, reads: bool) -> None:
    """One run: a world, an agent, and its shifts."""
    world, rng = World(number), random.Random(number + 1_000)
    run = f"world {number}, {'with' if reads else 'without'} memory"
    for shift in range(SHIFTS):
        machine = list(MACHINES)[shift % len(MACHINES)]
        context = memory.context(task_id=machine, budget_tokens=600) if reads else None
        solved = 0
        steps, mistakes, successes, cards = (
            list[str](),
            list[str](),
            list[str](),
            list[MistakeCard](),
        )
        for alarm in world.shift(machine):
            remedy = choose(alarm, str(context or ""), rng)
            steps.append(f"{alarm}: {remedy}")
            if world.helped(alarm, remedy):
                solved += 1
                successes.append(f"When {alarm} rings, {remedy}.")
            else:
                mistakes.append(f"{remedy} did not help when {alarm} rang.")
                right = world.right[alarm]  # the fitter's report, after the fact
                lesson = f"When {alarm} rings, {right}."
                kind = f"failed_at_{alarm}"
                cards.append(MistakeCard(mistake_type=kind, correct_decision=right, lesson=lesson))
        memory.record_episode(
            machine,
            solved / ALARMS_PER_SHIFT,
            len(steps),
            f"Put right {solved} of {ALARMS_PER_SHIFT} alarms",
            mistakes,
            successes,
            cards,
            source={"id": run},
            recalled=context,
        )


def curve(memory: Memory, reads: bool) -> list[list[float]]:
    """The scores of each run, shift by shift."""
    runs: dict[str, list[float]] = {}
    for record in reversed(list(memory.browse(kind="episode"))):
        if (record.recalled is not None) == reads:
            runs.setdefault(record.metadata.source.id, []).append(record.score)  # type: ignore[union-attr]  # asked for
    return list(runs.values())


# --- the picture ---

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 380, 60, 50, 20
COLOURS = {True: "#1b6e4b", False: "#a6401b"}


def points(scores: list[float]) -> str:
    across, up = (WIDTH - LEFT - 120) / max(len(scores) - 1, 1), HEIGHT - BOTTOM - TOP
    return " ".join(
        f"{LEFT + n * across:.1f},{TOP + up * (1 - score):.1f}" for n, score in enumerate(scores)
    )


def picture(runs: dict[bool, list[list[float]]], result: str) -> str:
    """A page with the curves as one drawing; it needs nothing but a browser."""
    drawn = []
    for tenth in range(0, 11, 2):
        y = TOP + (HEIGHT - BOTTOM - TOP) * (1 - tenth / 10)
        drawn.append(f'<line x1="{LEFT}" x2="{WIDTH - 120}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        drawn.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{tenth / 10:.1f}</text>')
    for reads, scores in runs.items():
        for run in scores:
            thin = f'<polyline points="{points(run)}" fill="none" stroke="{COLOURS[reads]}" opacity="0.2"/>'
            drawn.append(thin)
        mean = [sum(column) / len(column) for column in zip(*scores, strict=True)]
        drawn.append(
            f'<polyline points="{points(mean)}" fill="none" stroke="{COLOURS[reads]}" '
            f'stroke-width="3"/>'
        )
        end, name = points(mean).rpartition(",")[2], "with memory" if reads else "without"
        drawn.append(f'<text x="{WIDTH - 112}" y="{end}" fill="{COLOURS[reads]}">{name}</text>')
    drawn.append(
        f'<text x="{(LEFT + WIDTH - 120) / 2}" y="{HEIGHT - 12}" text-anchor="middle">shift 1 to '
        f"{SHIFTS}</text>"
    )
    drawn.append(
        f'<text transform="translate(16 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">share of '
        f"alarms put right</text>"
    )
    label = f"Share of alarms put right in each of {SHIFTS} shifts, with the memory and without"
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>With memory and without</title>
<body style="font: 15px/1.5 system-ui, sans-serif; max-width: {WIDTH}px; margin: 2em auto; color: #222; background: #fff">
<h1 style="font-size: 1.3em">The same shifts, with a memory and without</h1>
<p>{html.escape(result)}</p>
<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" font-size="13" fill="#222">
{chr(10).join(drawn)}
</svg>
<p>Thin lines are single runs, thick lines their means.</p>
</body></html>
"""


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--out", type=Path, default=Path("training.html"), help="where the picture goes"
    )
    options.add_argument(
        "--worlds",
        type=int,
        default=6,
        help="how many worlds, each once with a memory and once without",
    )
    chosen = options.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="hardwon-training-") as folder,
        Memory(Path(folder) / "all") as everything,
    ):
        for number in range(chosen.worlds):
            for reads in (True, False):
                with Memory(
                    Path(folder) / f"{number} {reads}"
                ) as memory:  # a memory of its own: worlds do not resemble one another
                    work(memory, number, reads)
                    if number == 0 and reads:
                        print("What the agent would read before its next shift at the boiler:\n")
                        print(memory.context(task_id="boiler", budget_tokens=600), "\n")
                    everything.merge(memory, trust=True)
        result = everything.episodes.compare(by_run=True)
        print(f"{chosen.worlds} worlds, {SHIFTS} shifts each")
        print(result)
        chosen.out.write_text(
            picture({reads: curve(everything, reads) for reads in (True, False)}, str(result)),
            encoding="utf-8",
        )
        print(f"The curves are in {chosen.out}")


if __name__ == "__main__":
    main()
