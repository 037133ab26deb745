"""Exporting many records must not need much memory: peak resident size of a process that exports a
million of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hardwon import Memory
from peers.worker import peak_memory_mb
from write import experiences

PEAK_MB_MAX = 150.0


def export(location: str, target: str) -> None:
    start = time.perf_counter()
    with Memory(location) as memory:
        count = memory.export(target)
    took = time.perf_counter() - start
    peak_mb = peak_memory_mb()
    size_mb = Path(target).stat().st_size / 1e6
    print(
        f"exported {count} records, {size_mb:.0f} MB, in {took:.1f} s; peak memory {peak_mb:.0f} "
        f"MB (at most {PEAK_MB_MAX})"
    )
    raise SystemExit(0 if peak_mb <= PEAK_MB_MAX else "a bound was missed")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--export", nargs=2, metavar=("LOCATION", "TARGET"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.export:
        export(*options.export)
    with tempfile.TemporaryDirectory() as folder:
        with Memory(folder) as memory:
            for start in range(0, options.records, 50_000):
                memory.add_many(experiences(min(50_000, options.records - start), seed=start))
        again = [sys.executable, __file__, "--export", folder, f"{folder}/records.jsonl"]
        raise SystemExit(subprocess.run(again, check=False).returncode)


if __name__ == "__main__":
    main()
