"""Runs every benchmark and the side by side, and writes docs/benchmarks.md with its pictures.

What was measured is kept in benchmarks/.results, a file for each part, so that parts can be run
alone and the page put together from what is there. Ends with an error where a program fails to run,
and where somebody else leads and page_rows.py has no word of why. Bounds that were missed are on
the page.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import side_by_side
from page_plots import draw
from page_rows import NO_REASON, Results, Told, behind, missed_bounds
from page_text import page
from peers.driver import KINDS
from side_by_side import ENVIRONMENTS, RESULTS, ROOT, Plan, data_folder, say, sizes_of, stamp

PAGE: Final = ROOT / "docs" / "benchmarks.md"
PICTURES: Final = ROOT / "docs" / "images" / "bench"
PROGRAM_SECONDS_MAX: Final = 900.0
PACKAGES: Final = ("apsw", "numpy", "psycopg", "pydantic", "wordllama")


@dataclass(frozen=True)
class Program:
    """A benchmark of Hardwon's own, with what keeps the whole within an hour where its own sizes
    are larger.
    """

    name: str
    arguments: str = ""
    needs_data: bool = False

    @property
    def path(self) -> Path:
        return Path(__file__).parent / f"{self.name}.py"

    def about(self) -> str:
        """The first paragraph of what it says of itself."""
        return (ast.get_docstring(ast.parse(self.path.read_text())) or "").partition("\n\n")[0]


PROGRAMS: Final = (
    Program("write", "--rounds 3"),
    Program("startup"),
    Program("hooks"),
    Program("export", "--records 200000"),
    Program("fold", "--records 200000"),
    Program("recall"),
    Program("staleness"),
    Program("tree"),
    Program("episodes"),
    Program("fixes", "--attempts 100000"),
    Program("serve", "--seconds 30"),
    Program("dashboard"),
    Program("postgres", "--records 20000 --large 100000 --beside 50000 5000 5000"),
    Program("calibration", needs_data=True),
    Program("replay", needs_data=True),
)


def run_program(program: Program, data: Path | None) -> Told:
    arguments = shlex.split(program.arguments)
    shown = [
        "python",
        f"benchmarks/{program.path.name}",
        *arguments,
        *(["--data", "folder"] if program.needs_data else []),
    ]
    given = [*arguments, *(["--data", str(data)] if program.needs_data else [])]
    say(f"{program.name}: {shlex.join(shown)}")
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(program.path), *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECONDS_MAX,
        check=False,
    )
    if "Traceback" in done.stderr:
        raise RuntimeError(f"{program.name} failed:\n{done.stderr}")
    seconds = time.perf_counter() - begin
    say(f"  {seconds:.0f} s, {'a bound was missed' if done.returncode else 'held'}")
    return {
        "name": program.name,
        "about": program.about(),
        "command": shlex.join(shown),
        "output": done.stdout.replace(f"{ROOT}/", ""),
        "code": done.returncode,
        "seconds": seconds,
        "measured": stamp(),
    }


def run_programs(names: Sequence[str], data: Path | None, results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    for place, program in enumerate(PROGRAMS):
        if program.name in names and (data or not program.needs_data):
            told = run_program(program, data)
            (results / f"program-{place:02}-{program.name}.json").write_text(
                json.dumps(told, indent=1)
            )


# --- the machine ---


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def file_system(path: Path) -> str:
    """The kind of file system that benchmarks write to, from the longest mount point above it."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    above = [(mount[1], mount[2]) for mount in mounts if path.resolve().is_relative_to(mount[1])]
    return max(above, key=lambda mount: len(mount[0]))[1] if above else "unknown"


def command(options: argparse.Namespace) -> str:
    """What was typed, without the folders of whoever typed it."""
    if options.only or options.stores or options.sizes != Plan.sizes:
        parts = [
            ("--only", options.only),
            ("--stores", options.stores),
            ("--sizes", [",".join(map(str, options.sizes))]),
        ]
        shown = [word for name, words in parts if words for word in (name, *words)]
        return shlex.join(
            [
                "python",
                "benchmarks/page.py",
                *shown,
                *(["--data", "folder"] if options.data else []),
            ]
        )
    return "make bench BENCH_DATA=folder" if options.data else "make bench"


def described(options: argparse.Namespace) -> Told:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "machine": {
            "processor": f"{processor()}, {os.cpu_count()} cores for this system",
            "memory": f"{gigabytes:.0f} GB",
            "system": f"{platform.system()} {platform.release()}, Python "
            f"{platform.python_version()}",
            "file system": file_system(Path(tempfile.gettempdir())),
            "load when it began": f"{os.getloadavg()[0]:.1f}",
        },
        "versions": {name: version(name) for name in PACKAGES},
        "command": command(options),
    }


# --- the page ---


def assemble(results: Results, target: Path, pictures: Path) -> list[str]:
    """Writes the page, and returns what is wrong with it."""
    drawn = draw(results, pictures)
    target.write_text(page(results, [path.name for path in drawn]))
    say(
        f"{target.name} is written from {len(results.stores)} stores and {len(results.programs)} "
        f"programs"
    )
    for name, _ in missed_bounds(results):
        say(f"  a bound was missed: {name}")
    return [
        f"{one.measure}: {one.ours} behind {one.theirs}: {NO_REASON}"
        for one in behind(results)
        if one.reason == NO_REASON
    ]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=["peers", *(program.name for program in PROGRAMS)],
        help="run only these",
    )
    parser.add_argument(
        "--stores",
        nargs="+",
        choices=[kind.slug for kind in KINDS],
        help="of the side by side only these",
    )
    parser.add_argument(
        "--sizes",
        type=sizes_of,
        default=Plan.sizes,
        help="of the side by side: 10000,100000,1000000",
    )
    parser.add_argument("--data", type=data_folder, help="the folder with the data of the replays")
    parser.add_argument(
        "--assemble", action="store_true", help="run nothing: the page from what is kept"
    )
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="where what was measured is kept"
    )
    parser.add_argument(
        "--environments", type=Path, default=ENVIRONMENTS, help="where the others are installed"
    )
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--pictures", type=Path, default=PICTURES)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    if not options.assemble:
        begin = time.perf_counter()
        options.results.mkdir(parents=True, exist_ok=True)
        (options.results / "run.json").write_text(json.dumps(described(options), indent=1))
        only = options.only or ["peers", *(program.name for program in PROGRAMS)]
        if "peers" in only:
            kinds = [kind for kind in KINDS if not options.stores or kind.slug in options.stores]
            side_by_side.run(
                kinds, Plan(options.sizes), options.environments, options.results, options.data
            )
        run_programs(only, options.data, options.results)
        say(f"all of it took {(time.perf_counter() - begin) / 60:.0f} minutes")
    wrong = assemble(Results.read(options.results), options.page, options.pictures)
    raise SystemExit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
