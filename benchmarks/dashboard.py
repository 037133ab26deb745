"""What the dashboard's pages cost with 100,000 records, against a plain `stats` request of the same
server.

Needs no data: experiences as in write.py, with fixes, commands and episodes besides, over ninety
days.
`hardwon serve` is a process of its own, reached over loopback; the time is that of a whole request,
of which the server's work is all but a fraction. In each round the first page is asked for with
every time range, and the other pages (of all time) and `stats` once, so that whatever else the
machine does falls on all of them. The very first request, which finds every cache empty, is shown.
A chart's data is what its page holds for it, as it is sent.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx

from hardwon import Experience, Memory
from hardwon.records.kinds import Moment
from hardwon.surfaces.web.pages import RANGES
from hardwon.surfaces.web.site import PLACES
from recall import percentile, timed
from serve import serving
from write import experiences

FIRST_PAGE_MAX_MS = 100.0
PAGE_MAX_MS = 200.0
CHART_MAX_BYTES = 500_000
DAYS = 90
ISSUES = ["TIMEOUT", "DATABASE", "MEMORY", "PARSING", "BUILD", "FLAKY_TEST", "NETWORK", "CONFIG"]
PROGRAMS = ["make", "npm", "git", "docker", "cargo"]
MODELS = ["gpt-large", "claude-opus", "llama-70b"]
TASKS = [f"task_{number}" for number in range(20)]


def fill(memory: Memory, count: int) -> None:
    """Two of three are experiences; of the others, two of five are fixes, two are commands that were
    run, and one is an episode.
    """
    chance = random.Random(0)
    now = datetime.now(UTC)
    fixes, episodes = count * 2 // 15, count // 15
    memory.add_many(spread(experiences(count - 2 * fixes - episodes, seed=0), chance, now))
    memory.care.record_many("trajectory", (command(chance, now) for _ in range(fixes)))
    memory.care.record_many("fix", (fix(chance, now) for _ in range(fixes)))
    memory.care.record_many("episode", (episode(chance, now) for _ in range(episodes)))


def at(chance: random.Random, now: datetime) -> datetime:
    return now - timedelta(days=DAYS * chance.random())


def spread(records: list[Experience], chance: random.Random, now: datetime) -> list[Experience]:
    moments = (Moment(timestamp=at(chance, now)) for _ in records)
    return [
        record.model_copy(
            update={"metadata": record.metadata.model_copy(update={"context": moment})}
        )
        for record, moment in zip(records, moments, strict=True)
    ]


def fix(chance: random.Random, now: datetime) -> dict[str, object]:
    kind = chance.choice(ISSUES)
    works = chance.random() < 0.6
    description = (
        f"{kind.lower()} of worker {chance.randrange(200)} in region {chance.randrange(20)}"
    )
    return {
        "issue": {"model": chance.choice(MODELS), "issue_type": kind, "description": description},
        "fix_success": works or chance.random() < 0.5,
        "verification_success": works,
        "fix_commands": [f"set {kind.lower()}_{chance.randrange(40)}=on", "restart"],
        "timestamp": at(chance, now),
    }


def command(chance: random.Random, now: datetime) -> dict[str, object]:
    line = f"{chance.choice(PROGRAMS)} {chance.choice(['build', 'test', 'push'])}"
    works = chance.random() < 0.7
    error = f"Error: connect ECONNREFUSED service-{chance.choice('abcdefghijklmnop')}"
    step = {"action": line, "observation": "done" if works else error, "reward": float(works)}
    return {
        "task": line,
        "steps": [step],
        "final_reward": float(works),
        "timestamp": at(chance, now),
        "author": chance.choice(["claude-code", "codex", "gemini-cli"]),
    }


def episode(chance: random.Random, now: datetime) -> dict[str, object]:
    good, bad = chance.randrange(60), chance.randrange(60)
    return {
        "task_id": chance.choice(TASKS),
        "score": round(chance.random(), 3),
        "successes": [f"Read log number {good} before restarting anything"],
        "mistakes": [f"Changed file number {bad} without a test"],
        "timestamp": at(chance, now),
    }


def charts_of(page: str) -> dict[str, int]:
    found = re.findall(
        r'<script type="application/json" id="([^"]+)">(.*?)</script>', page, re.DOTALL
    )
    return {name: len(data.encode()) for name, data in found}


def fetched(client: httpx.Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, f"{address}: {answer.status_code}"
    return answer.text


def measured(url: str, token: str, rounds: int) -> bool:
    """Whether the bounds were held."""
    first_pages = {f"overview {name}": f"/ui/default/overview?range={name}" for name in RANGES}
    others = {
        place.name: f"/ui/default/{place.name}?range=all" for place in PLACES[1:] if place.listed
    }
    with httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as client:
        entered = client.post("/ui/sign-in", data={"token": token}, headers={"Origin": url})
        assert entered.status_code == 303
        first = timed(partial(fetched, client, first_pages["overview all"]))
        works = {
            name: partial(fetched, client, address)
            for name, address in (first_pages | others).items()
        }
        works["stats"] = partial(fetched, client, "/api/v1/projects/default/stats")
        charts = {name: charts_of(works[name]()) for name in first_pages | others}
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(rounds):
            for name, values in times.items():
                values.append(timed(works[name]))
    largest = max((size, name) for each in charts.values() for name, size in each.items())
    return told(first, times, largest)


def told(first: float, judged: dict[str, list[float]], largest: tuple[int, str]) -> bool:
    base = percentile(judged.pop("stats"), 0.5)
    most = {
        name: FIRST_PAGE_MAX_MS if name.startswith("overview") else PAGE_MAX_MS for name in judged
    }
    print(f"stats            p50 {base:7.2f} ms")
    print(f"first request        {first:7.2f} ms")
    for name, values in judged.items():
        p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
        print(
            f"{name:16} p50 {p50:7.2f} ms (at most {most[name]:.0f})   p99 {p99:7.2f} ms   "
            f"{p50 / base:6.2f} times stats"
        )
    print(f"largest chart    {largest[0]:,} bytes, {largest[1]} (at most {CHART_MAX_BYTES:,})")
    return largest[0] <= CHART_MAX_BYTES and all(
        percentile(values, 0.5) <= most[name] for name, values in judged.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "brain"
        with Memory(folder, checkout=False, consolidate_every=0) as memory:
            fill(memory, given.records)
            token = memory.tokens.create("benchmark", "read").secret
        print(f"{given.records} records over {DAYS} days, {given.rounds} rounds")
        with serving(folder) as (_, url):
            held = measured(url, token, given.rounds)
    print("held" if held else "NOT HELD")
    sys.exit(not held)


if __name__ == "__main__":
    main()
