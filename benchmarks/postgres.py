"""What a memory in PostgreSQL carries: clients at once, projects beside each other, many records.
Against SQLite in this run.

Needs no data: records of every kind as in tests/plausible.py. Starts a server of its own that waits
for the disk, in a folder that is removed, unless `--url` names one whose user may create databases
and roles. Clients are processes, each with a memory of its own; each writes single acknowledged
records, then recalls, for some seconds. Growing: the same memory at two sizes. Small and large: a
memory of each size, as it came and after the server looked at it. Beside each other: projects of
unequal size. Of both, the first, sixth and hundredth call of a connection: from the sixth execution
of a statement on PostgreSQL may take a plan that is made once, whatever is asked.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import apsw
import psycopg

from hardwon import Memory
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link
from hardwon.store.sqlite.connection import NAME
from recall import percentile, timed

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import plausible
from postgres_server import Server

RECALL_RATIO_MAX = 5.0
SIZES_RATIO_MAX = 4.0
BESIDE_RATIO_MAX = 2.0
GROWTH_MAX = 12.0
CALLS = (1, 6, 100)
BATCH = 10_000
WARM_UP = 12  # a statement is planned anew for the first few times
SETTINGS = {"shared_buffers": "1GB", "autovacuum": "on", "max_wal_size": "8GB"}


def opened(location: str, project: str = "default") -> Memory:
    return Memory(location, project, checkout=False)


def new_database(server: str, projects: Sequence[str]) -> str:
    """The URL of a database that is set up."""
    name = f"bench_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0 ENCODING UTF8'.encode())
    url = (
        server.replace("/postgres?", f"/{name}?")
        if "/postgres?" in server
        else server.rsplit("/", 1)[0] + f"/{name}"
    )
    link = Link(url)
    setup.initialise(link, projects)
    link.close()
    return url


# --- loading ---


def load(location: str, project: str, count: int, first: int = 0) -> float:
    """Seconds that `add_many` took."""
    took = 0.0
    with opened(location, project) as memory:
        for start in range(first, first + count, BATCH):
            batch = list(
                plausible.records(min(BATCH, first + count - start), first=start, project=project)
            )
            took += timed(lambda: memory.add_many(batch)) / 1e3  # noqa: B023  # called at once
    return took


def settled(url: str) -> None:
    """As autovacuum leaves a database a while after it was loaded."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def measure_size(location: str) -> int:
    with opened(location) as memory:
        return memory.stats().size_bytes


def index_bytes(sqlite: str, url: str) -> tuple[int, int]:
    """What is kept of texts so that they are found: terms and their index."""
    with apsw.Connection(sqlite) as connection:
        named = f"name GLOB '{NAME}*' OR name = 'record_text'"
        lite = connection.execute(f"SELECT sum(pgsize) FROM dbstat WHERE {named}").get
    with psycopg.connect(url, autocommit=True) as server:
        sql = (
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "
            "AND relname IN ('record_text', 'term_count')"
        )
        ((ours,),) = server.execute(sql).fetchall()
    return int(lite), int(ours)


# --- recalling ---


def in_turn(places: Mapping[str, tuple[str, str]], asked: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds, without the first fifth of the calls. Each question goes to all, so that a
    noisy machine is noisy for all.
    """
    took: dict[str, list[float]] = {name: [] for name in places}
    with ExitStack() as open_ones:
        memories = {name: open_ones.enter_context(opened(*place)) for name, place in places.items()}
        for question in asked:
            for name, memory in memories.items():
                took[name].append(timed(lambda: memory.recall(question, k=10)))  # noqa: B023  # called at once
    return {name: values[len(values) // 5 :] for name, values in took.items()}


def at_calls(
    places: Mapping[str, tuple[str, str]], asked: Sequence[str]
) -> dict[str, dict[int, list[float]]]:
    """Milliseconds of the calls of a connection that matter. Each question has a connection of its
    own, and is asked there at each of these calls; between them are others.
    """
    took: dict[str, dict[int, list[float]]] = {
        name: {call: [] for call in CALLS} for name in places
    }
    for number, question in enumerate(asked):
        others = [*asked[number + 1 :], *asked[:number]] * (CALLS[-1] // max(1, len(asked) - 1) + 1)
        for name, place in places.items():
            with opened(*place) as memory:
                for call in range(1, CALLS[-1] + 1):
                    said = question if call in CALLS else others[call]
                    ms = timed(lambda: memory.recall(said, k=10))  # noqa: B023  # called at once
                    if call in CALLS:
                        took[name][call].append(ms)
    return took


def measure_sizes(server: str, folder: Path, sizes: Sequence[int], questions: int) -> bool:
    """Whether recall from PostgreSQL keeps up with SQLite, however small or large a project is, and
    whether or not the server has looked at its tables.
    """
    asked = plausible.questions(questions)
    held = True
    for size in sizes:
        sqlite, url = str(folder / f"of {size}.db"), new_database(server, ["default"])
        for location in (sqlite, url):
            load(location, "default", size)
        for state in ("as they came", "vacuumed"):
            if state == "vacuumed":
                settled(url)
            places = {"SQLite": (sqlite, "default"), "PostgreSQL": (url, "default")}
            took = at_calls(places, asked)
            for call in CALLS:
                lite, ours = (statistics.median(calls[call]) for calls in took.values())
                held &= ours <= SIZES_RATIO_MAX * lite
                print(
                    f"  recall from {size:9,} records {state:12}, call {call:3} of a connection: "
                    f"SQLite p50 {lite:7.2f} ms, PostgreSQL p50 {ours:7.2f} ms, "
                    f"{ours / lite:.2f} times (at most {SIZES_RATIO_MAX})",
                    flush=True,
                )
    return held


def measure_beside(sqlite: str, url: str, sizes: Mapping[str, int], questions: int) -> bool:
    """Whether recall from PostgreSQL keeps up with SQLite, where the same projects share a database
    and a file; and whether the smallest project costs less than the largest beside it.
    """
    asked = plausible.questions(questions)
    largest, smallest = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    held = True
    lite_of = {}
    for project in (largest, smallest):
        took = at_calls({"SQLite": (sqlite, project), "PostgreSQL": (url, project)}, asked)
        for call in CALLS:
            lite, ours = (statistics.median(calls[call]) for calls in took.values())
            held &= ours <= BESIDE_RATIO_MAX * lite
            lite_of[project] = lite
            print(
                f"  recall from {sizes[project]:9,} of {sum(sizes.values()):,} records, call "
                f"{call:3} of a connection: SQLite p50 {lite:7.2f} ms, PostgreSQL p50 {ours:7.2f} "
                f"ms, {ours / lite:.2f} times (at most {BESIDE_RATIO_MAX})",
                flush=True,
            )
    print(
        f"in one SQLite file recall from {sizes[smallest]:,} records takes "
        f"{lite_of[smallest] / lite_of[largest]:.2f} times what it takes from the "
        f"{sizes[largest]:,} beside them (less than 1)"
    )
    return held and lite_of[smallest] < lite_of[largest]


def recall_p50(location: str, asked: Sequence[str]) -> float:
    return statistics.median(in_turn({"": (location, "default")}, asked)[""])


# --- clients ---


def client(
    location: str, does: str, seconds: float, seed: int, ready: Barrier, answers: Queue[list[float]]
) -> None:
    rng = random.Random(f"{does} {seed}")
    took = []
    with opened(location) as memory:
        works: dict[str, Callable[[str], object]] = {
            "remember": lambda text: memory.remember(
                text, "success", "code_interpreter", task_type="debug"
            ),
            "recall": lambda text: memory.recall(text, k=10),
        }
        for _ in range(WARM_UP):
            works[does](plausible.text(rng, 2, 12))
        ready.wait()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = plausible.text(rng, 2, 12) if does == "recall" else plausible.text(rng, 15, 60)
            took.append(timed(lambda: works[does](text)))  # noqa: B023  # called at once
    answers.put(took)


def at_once(location: str, does: str, clients: int, seconds: float) -> list[float]:
    context = multiprocessing.get_context("spawn")
    answers: Queue[list[float]] = context.Queue()
    ready = context.Barrier(clients)
    work = [(location, does, seconds, number, ready, answers) for number in range(clients)]
    started = [context.Process(target=client, args=each) for each in work]
    for process in started:
        process.start()
    took = [each for _ in started for each in answers.get()]
    for process in started:
        process.join()
    return took


def measure_clients(places: dict[str, str], clients: Sequence[int], seconds: float) -> None:
    for does in ("remember", "recall"):
        for count in clients:
            for name, location in places.items():
                took = at_once(location, does, count, seconds)
                times = f"p50 {percentile(took, 0.5):7.2f} ms, p99 {percentile(took, 0.99):7.2f} ms"
                print(
                    f"  {does:8} {count:2} clients  {name:10} {len(took) / seconds:6.0f} a second, "
                    f"{times}",
                    flush=True,
                )


# --- the whole ---


def measure(server: str, folder: Path, options: argparse.Namespace) -> bool:
    asked = plausible.questions(options.questions)
    sizes = {f"p{number}": records for number, records in enumerate(options.beside)}
    sqlite, one, many = (
        str(folder / "memory.db"),
        new_database(server, ["default"]),
        new_database(server, list(sizes)),
    )
    sqlite_many = str(folder / "many.db")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    lite_s, one_s = load(sqlite, "default", options.records), load(one, "default", options.records)
    for name, count in sizes.items():
        load(many, name, count)
        load(sqlite_many, name, count)
    for url in (one, many):
        settled(url)
    per = 1e6 / options.records
    print(
        f"add_many, {options.records:,} records: SQLite {lite_s * per:.0f} µs, PostgreSQL "
        f"{one_s * per:.0f} µs a record"
    )
    lite_bytes, one_bytes = (size / options.records for size in index_bytes(sqlite, one))
    print(
        f"terms and their index: SQLite {lite_bytes:.0f}, PostgreSQL {one_bytes:.0f} bytes a record"
    )
    for name, values in (
        took := in_turn({"SQLite": (sqlite, "default"), "one project": (one, "default")}, asked)
    ).items():
        times = f"p50 {statistics.median(values):7.2f} ms, p95 {percentile(values, 0.95):7.2f} ms"
        print(f"  recall from {options.records:9,} records, {name:12} {times}")
    ratio = statistics.median(took["one project"]) / statistics.median(took["SQLite"])
    print(
        f"recall from PostgreSQL takes {ratio:.2f} times what it takes from SQLite (at most "
        f"{RECALL_RATIO_MAX})",
        flush=True,
    )
    keeps_up = measure_sizes(server, folder, options.sizes, options.questions // 10)
    beside = measure_beside(sqlite_many, many, sizes, options.questions // 5)
    measure_clients({"SQLite": sqlite, "PostgreSQL": one}, options.clients, options.seconds)
    growth = measure_growth(one, options, asked) if options.large > options.records else 0.0
    return ratio <= RECALL_RATIO_MAX and keeps_up and beside and growth <= GROWTH_MAX


def measure_growth(url: str, options: argparse.Namespace, asked: Sequence[str]) -> float:
    """How many times as long recall takes in the large memory as in the small one, which becomes
    it.
    """
    settled(url)
    small = recall_p50(url, asked)
    bytes_small = measure_size(url) / options.records
    more = options.large - options.records
    took = load(url, "default", more, first=options.records)
    settled(url)
    large = recall_p50(url, asked)
    bytes_large = measure_size(url) / options.large
    print(
        f"{options.large:,} records against {options.records:,}: recall p50 {large:.2f} against "
        f"{small:.2f} ms, "
        f"{large / small:.2f} times (at most {GROWTH_MAX}); {bytes_large:,.0f} against "
        f"{bytes_small:,.0f} bytes a record; "
        f"{took / more * 1e6:.0f} µs to write each of those between"
    )
    return large / small


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--url",
        help="a server: postgresql://user@host/postgres; its user may create databases and roles",
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument(
        "--large", type=int, default=1_000_000, help="how many it grows to; no more: it does not"
    )
    parser.add_argument(
        "--beside",
        type=int,
        nargs="+",
        default=[200_000, 20_000, 20_000, 20_000, 20_000],
        help="records of the projects that share a database, and a file",
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="*",
        default=[100, 1_000, 5_000, 20_000, 200_000],
        help="records of memories that are compared by themselves",
    )
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--seconds", type=float, default=8.0, help="for each number of clients")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small numbers, to see that it runs; no bound is judged",
    )
    options = parser.parse_args()
    if options.quick:
        options.records, options.large, options.questions, options.clients, options.seconds = (
            2_000,
            6_000,
            100,
            [1, 4],
            2.0,
        )
        options.beside, options.sizes = [2_000, 200], [100, 500]
    own = None if options.url else Server(settings=SETTINGS)
    with tempfile.TemporaryDirectory() as folder:
        held = measure(own.url if own else options.url, Path(folder), options)
    if own:
        own.remove()
    raise SystemExit(0 if held or options.quick else "a bound was missed")


if __name__ == "__main__":
    main()
