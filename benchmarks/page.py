"""Runs the benchmarks and puts what they measured into docs/benchmarks.md.

The sentences of that page are written by hand; each table and each output below a heading of its
own name is replaced by what was measured last. What was measured of a store is kept in
benchmarks/.results, so that a part can be run alone. Bounds that were missed are on the page; a
program that breaks ends it with an error.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import side_by_side
from peers.driver import KINDS, OURS
from replay import PARTS
from side_by_side import ENVIRONMENTS, RESULTS, ROOT, Plan, data_folder, say, sizes_of, stamp

PAGE: Final = ROOT / "docs" / "benchmarks.md"
PROGRAM_SECONDS_MAX: Final = 900.0
PACKAGES: Final = ("apsw", "numpy", "psycopg", "pydantic", "wordllama")
FEW_QUESTIONS: Final = 50
"""With fewer, a percentile is a guess, and the table says how many there were."""
MISSED: Final = "a bound was missed"
PLAIN: Final = OURS[0].name

Measured = dict[str, Any]

PROGRAMS: Final = {
    "write": "--rounds 3",
    "hooks": "",
    "recall": "",
    "tree": "",
    "fixes": "--attempts 100000",
    "postgres": "--records 20000 --large 100000 --beside 50000 5000 5000",
    "calibration": "",
    "replay": "",
    "reading": "",
    "telling": "--records 20000",
}
"""Hardwon's own, with what keeps the whole within an hour where their own sizes are larger."""
NEED_DATA: Final = ("calibration", "replay", "reading", "telling")

# --- Hardwon's own programs ---


def run_program(path: Path, arguments: str, data: Path | None) -> Measured:
    """What a program printed, how long it took, and whether its bounds held. Raises RuntimeError
    where it broke.
    """
    words = shlex.split(arguments)
    shown = ["python", f"benchmarks/{path.name}", *words, *(["--data", "folder"] if data else [])]
    say(f"{path.stem}: {shlex.join(shown)}")
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(path), *words, *(["--data", str(data)] if data else [])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECONDS_MAX,
        check=False,
    )
    if "Traceback" in done.stderr:
        raise RuntimeError(f"{path.stem} failed:\n{done.stderr}")
    seconds = time.perf_counter() - begin
    state = MISSED if done.returncode else "held"
    say(f"  {seconds:.0f} s, {state}")
    about = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0]
    line = f"`{shlex.join(shown)}` ({seconds:.0f} s, {state}; {stamp()})"
    output = done.stdout.replace(f"{ROOT}/", "").rstrip()
    return {"name": path.stem, "text": f"{about}\n\n{line}\n\n```text\n{output}\n```\n"}


# --- what was measured of the stores, as rows ---


@dataclass(frozen=True)
class Results:
    """What is kept of each store, by its name, and what any memory could reach in the replay."""

    stores: dict[str, Measured]
    bounds: Measured

    @classmethod
    def read(cls, folder: Path) -> Results:
        kept = [json.loads(path.read_text()) for path in sorted(folder.glob("peer-*.json"))]
        by_name = {store["name"]: store for store in kept}
        bounds = folder / "replay-bounds.json"
        return cls(
            {kind.name: by_name[kind.name] for kind in KINDS if kind.name in by_name},
            json.loads(bounds.read_text()) if bounds.exists() else {},
        )

    @property
    def sizes(self) -> list[int]:
        return sorted({int(size) for store in self.stores.values() for size in store["sizes"]})

    @property
    def agents(self) -> list[str]:
        return sorted(
            {agent for store in self.stores.values() for agent in store.get("replay", {})}
        )

    def at(self, name: str, size: int) -> Measured:
        stage: Measured = self.stores[name]["sizes"].get(str(size), {})
        return stage


def read_value(measured: Measured, *path: str) -> float | None:
    """The number there; None where it was not measured."""
    for name in path:
        measured = measured.get(name, {})
    return float(measured) if isinstance(measured, int | float) else None


def best_form(store: Measured, agent: str, part: str) -> float | None:
    """Whole attempts or winning actions: whichever form did better. None where none could."""
    forms = store.get("replay", {}).get(agent, {}).values()
    return max((form[part] for form in forms if part in form), default=None)


# --- tables ---


def number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "cannot"
    digits = 0 if value >= 100 or value == int(value) else 2 if value >= 0.995 else 3
    return f"{value:,.{digits}f} {unit}".strip()


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *rows])


def show_stage(stage: Measured, show: Callable[[Measured], str]) -> str:
    """A cell of a table by size: nothing where it was not tried any more."""
    if "stopped" in stage:
        return str(stage["stopped"])
    return show(stage) if stage else ""


def show_pace(stage: Measured) -> str:
    return number(stage["records_per_second"])


def show_recall(stage: Measured) -> str:
    if "cannot" in stage["recall"]:
        return f"cannot: {stage['recall']['cannot']}"
    took = stage["recall"]
    few = f" of {took['questions']} questions" if took["questions"] < FEW_QUESTIONS else ""
    return (
        f"{number(took['p50_ms'])} / {number(took['p95_ms'])} ms, found {stage['found']:.0%}{few}"
    )


def make_tables(results: Results) -> dict[str, str]:
    """The table below each heading."""
    stores, sizes = results.stores, results.sizes
    versions = {
        name: ", ".join(
            f"{package} {which}" for package, which in store["about"]["versions"].items()
        )
        for name, store in stores.items()
    }
    tables = {
        "Side by side": table(
            ("store", "versions", "behind an acknowledged write"),
            [
                (name, versions[name] or "Python alone", store["about"]["durability"])
                for name, store in stores.items()
            ],
        )
    }
    tables["Recall"] = table(
        ["store", *(f"{size:,} records" for size in sizes)],
        [
            [name, *(show_stage(results.at(name, size), show_recall) for size in sizes)]
            for name in stores
        ],
    )
    tables["Writing"] = table(
        ["store", *(f"bulk, up to {size:,}" for size in sizes), "one by one"],
        [
            [
                name,
                *(show_stage(results.at(name, size), show_pace) for size in sizes),
                f"{show_pace(store['single'])} (p50 {number(store['single']['p50_ms'], 'ms')})",
            ]
            for name, store in stores.items()
        ],
    )
    tables["Disk, memory, cold start"] = table(
        ("store", "records", "disk, bytes a record", "peak memory of a writer", "of a reader", "cold start"),
        [
            (
                name,
                f"{size:,}",
                number(stage["disk_bytes"]),
                number(read_value(stage, "writer_memory_mb"), "MB"),
                number(read_value(stage, "reader_memory_mb"), "MB"),
                number(read_value(stage, "cold_start", "s"), "s"),
            )
            for name in stores
            for size in sizes
            if (stage := results.at(name, size)) and "stopped" not in stage
        ],
    )  # fmt: skip
    tables["Four processes at once, and kill -9"] = table(
        ("store", "acknowledged", "a second", "errors", "refused to open", "lost", "kills", "acknowledged before", "lost"),
        [
            (
                name,
                f"{store['crowd']['acknowledged']:,}",
                number(store["crowd"]["records_per_second"]),
                f"{store['crowd']['errors']:,}",
                f"{store['crowd']['refused']} of {store['crowd']['writers']}",
                f"{store['crowd']['lost']:,}",
                str(store["killed"]["kills"]),
                f"{store['killed']['acknowledged']:,}",
                f"{store['killed']['lost']:,}",
            )
            for name, store in stores.items()
        ],
    )  # fmt: skip
    if results.agents:
        tables["What an agent is handed"] = make_replay_table(results)
    return tables


def make_replay_table(results: Results) -> str:
    agents, ours = results.agents, {kind.name for kind in OURS}
    lines: list[list[str]] = []
    for name, store in results.stores.items():
        for form in store.get("replay", {}).get(agents[0], {}):
            scores = [store["replay"][agent][form] for agent in agents]
            shares = [
                f"{score[part]:.3f}" if part in score else "cannot"
                for score in scores
                for part in PARTS
            ]
            lines.append([name, "attempts, step by step" if name in ours else form, *shares])
    for bound, name in (("no memory", "no memory"), ("ceiling", "everything that was said before")):
        if all(agent in results.bounds for agent in agents):
            shares = [f"{share:.3f}" for agent in agents for share in results.bounds[agent][bound]]
            lines.append([f"*{name}*", "", *shares])
    return table(
        ["store", "keeps", *(f"{agent}: {part}" for agent in agents for part in PARTS)], lines
    )


# --- the answer first ---


def write_answers(results: Results) -> str:
    """The lines that the page begins with: how long a recall takes, and what an agent is handed."""
    ours = {kind.name for kind in OURS}
    lines = []
    for size in results.sizes:
        took = {
            name: read_value(results.at(name, size), "recall", "p50_ms") for name in results.stores
        }
        theirs = [value for name, value in took.items() if value is not None and name not in ours]
        if theirs:
            lines.append(
                f"A recall from {size:,} records takes {number(took[PLAIN])} ms at the median, of the "
                f"others at best {number(min(theirs))}."
            )
    for agent in results.agents:
        shares = {name: best_form(store, agent, "solved") for name, store in results.stores.items()}
        theirs = [share for name, share in shares.items() if share is not None and name not in ours]
        if theirs and (share := shares[PLAIN]) is not None:
            lines.append(
                f"300 tokens show what solves {share:.1%} of {agent}'s SQL tasks, of the others at best "
                f"{max(theirs):.1%}."
            )
    return "\n".join(f"- {line}" for line in lines)


# --- the page ---


def replace_below(page: str, heading: str, pattern: str, text: str) -> str:
    """The page with the first match between a heading and the next one replaced. Raises LookupError
    where there is no such place: a table without one would be lost.
    """
    start = re.search(rf"^#+ {re.escape(heading)}\n", page, re.MULTILINE)
    if start is None:
        raise LookupError(f"the page has no heading {heading!r}")
    after = re.compile(r"^#+ ", re.MULTILINE).search(page, start.end())
    end = after.start() if after else len(page)
    section, count = re.subn(
        pattern, lambda _: text, page[start.end() : end], count=1, flags=re.MULTILINE | re.DOTALL
    )
    if not count:
        raise LookupError(f"there is nothing to replace below {heading!r}")
    return page[: start.end()] + section + page[end:]


TABLE: Final = r"^\|[^\n]*(?:\n\|[^\n]*)*"
BULLETS: Final = r"^- [^\n]*(?:\n- [^\n]*)*"
ALL_OF_IT: Final = r"\A.*\Z"


def fill_page(page: str, results: Results, programs: Sequence[Measured]) -> str:
    for program in programs:
        page = replace_below(page, program["name"], ALL_OF_IT, f"\n{program['text']}\n")
    if results.stores:
        for heading, rows in make_tables(results).items():
            page = replace_below(page, heading, TABLE, rows)
        page = replace_below(page, "Benchmarks", BULLETS, write_answers(results))
    return page


def describe_machine(load: float) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    facts = (
        f"{platform.machine()}, {os.cpu_count()} processors; {platform.system()} {platform.release()}",
        f"Python {platform.python_version()}, {versions}",
        f"measured {stamp()}, with a load of {load:.1f} when it began",
    )
    return "\n".join(f"- {fact}" for fact in facts)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    slugs = [kind.slug for kind in KINDS]
    parser.add_argument("--only", nargs="+", choices=["peers", *PROGRAMS], help="run only these")
    parser.add_argument("--stores", nargs="+", choices=slugs, help="of the side by side only these")
    parser.add_argument("--sizes", type=sizes_of, default=Plan.sizes, help="10000,100000,1000000")
    parser.add_argument("--data", type=data_folder, help="the folder with the data of the replays")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are kept")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    load, begin = os.getloadavg()[0], time.perf_counter()
    names = options.only or ["peers", *PROGRAMS]
    if "peers" in names:
        kinds = [kind for kind in KINDS if not options.stores or kind.slug in options.stores]
        plan = Plan(options.sizes)
        side_by_side.run(kinds, plan, options.environments, options.results, options.data)
    programs = [
        run_program(
            Path(__file__).with_name(f"{name}.py"),
            PROGRAMS[name],
            options.data if name in NEED_DATA else None,
        )
        for name in PROGRAMS
        if name in names and (options.data or name not in NEED_DATA)
    ]
    results = Results.read(options.results)
    page = fill_page(options.page.read_text(), results, programs)
    page = replace_below(page, "Machine and versions", BULLETS, describe_machine(load))
    options.page.write_text(page)
    say(f"all of it took {(time.perf_counter() - begin) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
