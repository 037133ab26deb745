"""What a surface costs: remember and recall over REST and MCP against the library, in turn, on one
memory; and a minute of steady load.

Needs no data: experiences as in write.py. The library is asked in this process; `hardwon serve` and
`hardwon mcp` are processes of their own, reached by `hardwon.Client` and by the MCP SDK's client.
Each round asks every surface once for both, so that whatever else the machine does falls on all of
them. The load: requests at a fixed rate, each sent when its time has come whether or not the one
before was answered, half of them remember and half recall; the server's memory is read before and
after.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client

from hardwon import Client, Memory
from recall import percentile, questions, timed
from write import experiences

HARDWON = [sys.executable, "-m", "hardwon.surfaces.cli.main"]
LATE_MAX_MS = 1_000.0
GROWTH_MAX = 1.10
OUTCOME: dict[str, Any] = {
    "outcome": "failure",
    "tool": "code_interpreter",
    "error_type": "runtime",
}


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [
        *HARDWON,
        "--memory",
        str(folder),
        "serve",
        "--port",
        "0",
        "--json",
        "--rate",
        "100000",
    ]
    with (folder.parent / "serve.log").open("w") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert server.stdout
        url = json.loads(server.stdout.readline())["url"]
        try:
            yield server, url
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
            server.stdout.close()


def told(name: str, times: dict[str, list[float]]) -> None:
    base = percentile(times["library"], 0.5)
    for surface, values in times.items():
        p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
        print(
            f"{name:9} {surface:10} p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   {p50 / base:6.2f} "
            f"times   +{p50 - base:.2f} ms"
        )


async def compared(folder: Path, url: str, token: str, rounds: int) -> None:
    memory, client = Memory(folder, checkout=False, consolidate_every=0), Client(url, token)
    parameters = StdioServerParameters(
        command=HARDWON[0],
        args=[*HARDWON[1:], "--memory", str(folder), "mcp", "--tools", "all"],
        env=dict(os.environ),
    )
    asked = questions(rounds)
    texts = [record.content for record in experiences(3 * rounds, seed=7)]
    remembering: dict[str, list[float]] = {"library": [], "REST": [], "MCP stdio": []}
    recalling: dict[str, list[float]] = {"library": [], "REST": [], "MCP stdio": []}
    async with AsyncExitStack() as open_:
        read, write = await open_.enter_async_context(stdio_client(parameters))
        session = await open_.enter_async_context(ClientSession(read, write))
        await session.initialize()

        async def tool(name: str, **said: Any) -> float:
            begin = time.perf_counter()
            answer = await session.call_tool(name, said)
            assert not answer.is_error, answer
            return (time.perf_counter() - begin) * 1e3

        for number in range(rounds):
            here, there, beyond = texts[3 * number : 3 * number + 3]
            remembering["library"].append(timed(partial(memory.remember, here, **OUTCOME)))
            remembering["REST"].append(timed(partial(client.remember, there, **OUTCOME)))
            remembering["MCP stdio"].append(await tool("remember", content=beyond, **OUTCOME))
            recalling["library"].append(timed(partial(memory.recall, asked[number])))
            recalling["REST"].append(timed(partial(client.recall, asked[number])))
            recalling["MCP stdio"].append(await tool("search", query=asked[number]))
    told("remember", remembering)
    told("recall", recalling)
    memory.close()
    client.close()


def resident_kib(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


class Load:
    """Requests at a fixed rate from sixteen threads, and how they were answered."""

    def __init__(self, url: str, token: str, per_s: int) -> None:
        self._url, self._token, self._per_s = url, token, per_s
        self._due: queue.Queue[tuple[int, float] | None] = queue.Queue()
        self._asked = questions(1_000)
        self._texts = [record.content for record in experiences(1_000, seed=11)]
        self.times: list[float] = []
        self.late: list[float] = []
        self.errors: list[str] = []
        self._workers = [threading.Thread(target=self._work) for _ in range(16)]
        for worker in self._workers:
            worker.start()

    def _work(self) -> None:
        with Client(self._url, self._token) as client:
            while (job := self._due.get()) is not None:
                number, at = job
                self.late.append((time.perf_counter() - at) * 1e3)
                try:
                    self._ask(client, number)
                except Exception as error:  # noqa: BLE001  # whatever it is, it is counted
                    self.errors.append(f"{type(error).__name__}: {error}")
                self.times.append((time.perf_counter() - at) * 1e3)
                self._due.task_done()

    def _ask(self, client: Client, number: int) -> None:
        if number % 2:
            client.recall(self._asked[number // 2 % len(self._asked)])
        else:
            client.remember(f"{self._texts[number // 2 % len(self._texts)]} ({number})", **OUTCOME)

    def send(self, seconds: float) -> float:
        """How long it took until the last was answered."""
        begin = time.perf_counter()
        for number in range(int(self._per_s * seconds)):
            at = begin + number / self._per_s
            time.sleep(max(0.0, at - time.perf_counter()))
            self._due.put((number, at))
        self._due.join()
        return time.perf_counter() - begin

    def end(self) -> None:
        for _ in self._workers:
            self._due.put(None)
        for worker in self._workers:
            worker.join()


def loaded(server: subprocess.Popen[str], url: str, token: str, per_s: int, seconds: float) -> bool:
    """Whether the rate was held without an error and without growing memory."""
    load = Load(url, token, per_s)
    load.send(seconds / 2)  # until caches are as full as they get
    load.times.clear()
    load.late.clear()
    before = resident_kib(server.pid)
    took = load.send(seconds)
    after = resident_kib(server.pid)
    load.end()
    count, growth = len(load.times), after / before
    print(
        f"load      {count} requests in {took:.1f} s, {count / took:.1f}/s; answered p50 "
        f"{percentile(load.times, 0.5):.2f} ms, "
        f"p99 {percentile(load.times, 0.99):.2f} ms after they were due; {len(load.errors)} "
        f"errors; resident {before / 1024:.0f} to {after / 1024:.0f} MiB ({growth:.2f} times)"
    )
    for error in sorted(set(load.errors))[:5]:
        print("         ", error, file=sys.stderr)
    held = took < seconds + LATE_MAX_MS / 1e3 and percentile(load.late, 0.99) < LATE_MAX_MS
    return held and not load.errors and growth <= GROWTH_MAX


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000, help="kept before anything is asked")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--per-second", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "brain"
        with Memory(folder, checkout=False, consolidate_every=0) as memory:
            memory.add_many(experiences(given.records, seed=0))
            token = memory.tokens.create("benchmark", "write").secret
        print(f"{given.records} records, {given.rounds} rounds")
        with serving(folder) as (server, url):
            asyncio.run(compared(folder, url, token, given.rounds))
            held = loaded(server, url, token, given.per_second, given.seconds)
    print(
        "held"
        if held
        else "NOT HELD: an error, a request more than a second late, or memory that grew by more than a tenth"
    )
    sys.exit(not held)


if __name__ == "__main__":
    main()
