"""How near the ten nearest are to the true ones, and how long it takes to find them.

    python benchmarks/vectors.py --embedder wordllama --data FOLDER [--count 100000]
    python benchmarks/vectors.py --vectors FILE.npy [--chroma PYTHON] [--filtered]

The vectors are real: paragraphs of the texts below FOLDER (`.txt`, `.md`, `.rst`), embedded, or rows
of a file that has been made so. Where there are too few, further ones lie between two of them, with
some noise. A hundred vectors are kept out and asked for. Each question goes to every store in turn,
so that whatever else the machine does slows all of them: the store of a memory, exact comparison of
everything with NumPy, which is what was done up to 0.11, and, with the interpreter of an environment
that has it (`--chroma`), Chroma. Hardwon's answer has the records, Chroma's the documents.

`--most 2` fails where Hardwon takes longer than twice Chroma's time, or misses more than one of a
hundred.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hardwon import Fact, Memory, Metadata, MiniLmEmbedder, Source, WordLlamaEmbedder
from hardwon.outside.embedders import Embedder, as_vectors
from hardwon.search.terms import Filters

NEAREST = 10
ASKED = 100
MISSED_MAX = 0.01
NOISE = 0.3
BATCH = 20_000
ONE_IN = 500
EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "wordllama": WordLlamaEmbedder,
    "minilm": MiniLmEmbedder,
}


def read_texts(folder: Path, count: int) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".txt", ".md", ".rst") and path.is_file():
            for block in path.read_text(errors="replace").split("\n\n"):
                text = " ".join(block.split())
                if 40 <= len(text) <= 2_000:
                    found[text] = None
        if len(found) >= count:
            break
    return list(found)[:count]


def more_like(real: Any, count: int) -> Any:
    """As many vectors: the real ones, and others between two of them."""
    rng = np.random.default_rng(1)
    rows = [real[:count]]
    missing = count - len(rows[0])
    for start in range(0, missing, BATCH):
        size = min(BATCH, missing - start)
        one, other = (real[rng.integers(len(real), size=size)] for _ in range(2))
        share = rng.random((size, 1), dtype=np.float32)
        noise = rng.normal(0, NOISE / real.shape[1] ** 0.5, (size, real.shape[1]))
        made = (share * one + (1 - share) * other + noise).astype(np.float32)
        rows.append(made / np.linalg.norm(made, axis=1, keepdims=True))
    return np.concatenate(rows)


def fill(memory: Memory, vectors: Any) -> dict[str, int]:
    """Records with these vectors; the place of each by its id."""
    places: dict[str, int] = {}
    store, project = memory._project.store, memory.project
    for start in range(0, len(vectors), BATCH):
        some = vectors[start : start + BATCH]
        ids = memory.add_many(
            [
                Fact(
                    content=f"record {place}",
                    fact_type="observation",
                    metadata=Metadata(source=Source(author="bob" if place % ONE_IN else "ann")),
                )
                for place in range(start, start + len(some))
            ]
        )
        places |= {name: start + place for place, name in enumerate(ids)}
        with store.write(project) as writer:
            if start == 0:
                writer.set_embedder(project, "given", vectors.shape[1])
            blobs = (row.tobytes() for row in some)
            writer.keep_vectors(project, zip(ids, blobs, strict=True))
    return places


def resident_mb() -> float:
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


class Chroma:
    def __init__(self, python: str, file: Path, folder: Path) -> None:
        script = Path(__file__).parent / "peers" / "chroma_vectors.py"
        self._process = subprocess.Popen(
            [python, "-P", script, file, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.version = self._answer()["version"]

    def _answer(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def ask(self, vector: Any) -> tuple[float, list[int]]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(vector.tolist()) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        return answer["ms"], answer["found"]

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100_000)
    options.add_argument("--embedder", choices=EMBEDDERS)
    options.add_argument("--data", type=Path)
    options.add_argument("--vectors", type=Path)
    options.add_argument("--chroma", help="the interpreter of an environment that has chromadb")
    options.add_argument("--filtered", action="store_true", help="also with a filter that few pass")
    options.add_argument("--most", type=float, help="times Chroma's time, or it fails")
    given = options.parse_args()
    if given.vectors:
        real = np.load(given.vectors).astype(np.float32)
    elif given.embedder and given.data:
        embedder = EMBEDDERS[given.embedder]()
        real = as_vectors(embedder, read_texts(given.data, given.count + ASKED))
    else:
        options.error("--vectors, or --embedder and --data")
    # Those that are asked for are kept out of what others are made of.
    asked, real = real[:ASKED], real[ASKED:]
    vectors = more_like(real, given.count)
    print(f"{len(vectors):,} of {vectors.shape[1]} numbers, {min(len(real), given.count):,} real")
    with tempfile.TemporaryDirectory() as made:
        ratio, missed = compare(given, Path(made), asked, vectors)
    if given.most and (missed > MISSED_MAX or (ratio or 0) > given.most):
        sys.exit(f"too slow, or not near enough: {ratio} times Chroma, {missed:.4f} missed")


def compare(
    given: argparse.Namespace, folder: Path, asked: Any, vectors: Any
) -> tuple[float | None, float]:
    chroma = None
    if given.chroma:
        np.save(folder / "vectors.npy", vectors)
        chroma = Chroma(given.chroma, folder / "vectors.npy", folder / "chroma")
    with Memory(folder / "memory.db") as memory:
        places = fill(memory, vectors)
        store = memory._project.store
        before, begin = resident_mb(), time.perf_counter()
        store.nearest(memory.project, asked[0].tolist(), Filters(), NEAREST)
        first_ms = (time.perf_counter() - begin) * 1e3
        print(f"first question {first_ms:.0f} ms, {resident_mb() - before:.0f} MB more in memory")
        times: dict[str, list[float]] = {}
        right: dict[str, int] = {}

        def note(name: str, took_ms: float, found: list[int], true: set[int]) -> None:
            times.setdefault(name, []).append(took_ms)
            right[name] = right.get(name, 0) + len(true.intersection(found))

        by_ann = np.arange(0, len(vectors), ONE_IN)
        for vector in asked:
            begin = time.perf_counter()
            cosines = np.einsum("ij,j->i", vectors, vector)
            best = np.argpartition(-cosines, NEAREST)[:NEAREST].tolist()
            note("exact, NumPy", (time.perf_counter() - begin) * 1e3, best, set(best))
            few = set(by_ann[np.argsort(-cosines[by_ann])[:NEAREST]].tolist())
            for name, filters, true in (
                ("hardwon", Filters(), set(best)),
                *([("hardwon, filtered", Filters(author="ann"), few)] if given.filtered else []),
            ):
                numbers = vector.tolist()
                begin = time.perf_counter()
                hits = store.nearest(memory.project, numbers, filters, NEAREST)
                took_ms = (time.perf_counter() - begin) * 1e3
                note(name, took_ms, [places[hit.id] for hit, _ in hits], true)
            if chroma:
                note(f"chroma {chroma.version}", *chroma.ask(vector), set(best))
    if chroma:
        chroma.close()
    for name, taken in times.items():
        share = right[name] / NEAREST / len(asked)
        print(f"{name:20} p50 {statistics.median(taken):8.2f} ms   of the ten nearest {share:.4f}")
    ours = statistics.median(times["hardwon"])
    theirs = [statistics.median(taken) for name, taken in times.items() if "chroma" in name]
    ratio = ours / theirs[0] if theirs else None
    if ratio:
        print(f"hardwon / chroma {ratio:.2f}")
    return ratio, 1 - right["hardwon"] / NEAREST / len(asked)


if __name__ == "__main__":
    main()
