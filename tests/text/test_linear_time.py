"""Whatever reads a text takes time that grows with its length alone, tried by hostile texts."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from cases import TORTURE, seed_of_the_run
from checkouts import new_repository
from hardwon import Fact, Memory, Step, Trajectory
from hardwon.capture.agents import Manner, respond
from hardwon.text.globs import Glob
from hardwon.text.sentences import fact_key
from hardwon.trust.redact import redact_json, without_secrets
from hostile import Attacker, Reader, Recipe, UsedPattern, find_patterns, find_readers
from serving import Served, served

ROOMS: Final = ("hardwon.text", "hardwon.trust")
BY_CHANCE: Final = 400 if TORTURE else 15

# Short at first: what doubles with every letter is noticed before it takes a year.
BEGINNINGS: Final = (24, 34, 44, 300)
LOOKED_AT: Final = 1_200
SMALL, LARGE = 6_000, 24_000  # four times as long takes four times as long; quadratic is sixteen
LONG: Final = 64_000
SUSPECTS: Final = 4  # those that took longest, and those that grew most, are looked at closely


def measure(run: Callable[[str], object], text: str) -> float:
    """Seconds of this thread on a processor, not of the clock: others use the machine too."""
    started = time.thread_time()
    run(text)
    return max(0.0, time.thread_time() - started)


def find_fault(run: Callable[[str], object], recipes: Iterable[Recipe], quick: float) -> str:
    """What takes more than linear time, or over a second for a long text; else empty."""
    took: list[tuple[float, float, Recipe]] = []
    for recipe in recipes:
        for length in BEGINNINGS:
            text = recipe.write(length)
            seconds = measure(run, text)
            if seconds > 0.02 and measure(run, text) > 0.02:
                return f"{len(text)} signs take more than 0.02 s: {recipe}"
        longer = measure(run, recipe.write(LOOKED_AT))
        took.append((longer, longer / max(seconds, 1e-6), recipe))
    by_seconds = sorted(took, key=lambda one: -one[0])
    by_growth = sorted((one for one in took if one[0] > quick), key=lambda one: -one[1])
    for seconds, _, recipe in (*by_seconds[:SUSPECTS], *by_growth[:SUSPECTS]):
        if seconds > quick and not is_linear(run, recipe):
            return f"more than linear time: {recipe}"
    recipe = by_seconds[0][2]
    text = recipe.write(LONG)
    seconds = measure(run, text)
    if seconds > 1:
        seconds = measure(run, text)
    return "" if seconds < 1 else f"{len(text)} signs take {seconds:.1f} s: {recipe}"


def is_linear(run: Callable[[str], object], recipe: Recipe) -> bool:
    """Measured as often as it looks otherwise, up to five times: a machine is slow now and then."""
    small, large = recipe.write(SMALL), recipe.write(LARGE)
    least, most = 1e-6, 1e9
    for _ in range(5):
        least, most = max(least, measure(run, small)), min(most, measure(run, large))
        if most < 0.003 or most < 8 * least:
            return True
    return False


@cache
def make_attacks() -> list[tuple[UsedPattern, list[Recipe]]]:
    """Every pattern, and what it is attacked with."""
    rng = random.Random(seed_of_the_run())
    patterns = find_patterns(*ROOMS)
    return [(used, Attacker(used.pattern).make_recipes(BY_CHANCE, rng)) for used in patterns]


def test_every_pattern_takes_linear_time_for_texts_that_are_made_to_slow_it_down() -> None:
    faults = []
    for used, recipes in make_attacks():
        if fault := find_fault(used.run, recipes, 0.000_15):
            faults.append(f"{used.name}: {fault}")
    assert not faults, "\n".join(faults)
    assert len(make_attacks()) > 300


# What no pattern tells of: marks that stand on one letter and have to be sorted, signs that grow or
# go when they are normalised, what is folded, escaped, nested, or cut into lines.
UNLIKE_A_PATTERN: Final = [
    Recipe(start, body)
    for start in ("", "error: password=a")
    for body in (
        *("\u0301\u0327", "\u0301\uff9e", "\u0f73\u0327", "\u0130", "\ufdfa", "\u200b"),
        *(
            "\x1b[0m", "\r", "\r\n", "\n", "\\n", "\\", "\x00", "[{", "\n\n ", "a.", "\U0001f469\u200d",
        ),
        *("密", "token=", "\n| token |", "Traceback (most recent call last):\n", '"a": "', "a: "),
    )
]  # fmt: skip


def make_record(text: str) -> object:
    step = Step(action=text, observation=text)
    return without_secrets(Trajectory(task=text, steps=[step], final_reward=0.0))


def make_key(text: str) -> str:
    return fact_key(Fact(content=f"{text}x", fact_type="error"))


MORE_READERS: Final = [
    Reader("a value under a secret's name", lambda text: redact_json(text, "password"), ("str",)),
    Reader("a key of JSON", lambda text: redact_json({text: [text]}), ("str",)),
    Reader("a record", make_record, ("str",)),
    Reader("the key of a fact", make_key, ("str",)),
    Reader("a path", Glob("*a*/**/*" + "*b" * 9).matches, ("str",)),
]
NO_READERS: Final = {
    "hide_mark": "makes a pattern of its second text, which is a mark of ours",
    "is_read_as_written": "reads one sign",
    "read_parts": "reads a file of ours",
}


def test_every_function_that_reads_a_text_takes_linear_time() -> None:
    rng, faults = random.Random(seed_of_the_run()), []
    from_patterns = [recipe for _, recipes in make_attacks() for recipe in recipes]
    every = find_readers(*ROOMS)
    readers = [reader for reader in every if reader.name.rpartition(" ")[2] not in NO_READERS]
    for reader in (*readers, *MORE_READERS):
        recipes = [*UNLIKE_A_PATTERN, *rng.sample(from_patterns, 2_000 if TORTURE else 100)]
        if fault := find_fault(reader.run, recipes, 0.001):
            faults.append(f"{reader.name}: {fault}")
    assert not faults, "\n".join(faults)
    names = {reader.name.rpartition(" ")[2] for reader in readers}
    usual = {"redact", "error_core", "shows_error", "lint", "find", "only_looks", "index_text"}
    assert usual <= names


FREEZING: Final = {
    "a padded cell": "token |" + " " * 20_000, "a padded table": ("| token |" + " " * 2_000 + "| x |\n") * 10,
    "zeros in base64": "EZAK" + "A" * 20_000, "a row of dots": "." * 20_000 + "x",
    "marks on one letter": "a" + "\u0301\u0327" * 10_000,
}  # fmt: skip


@pytest.mark.parametrize("text", FREEZING.values(), ids=FREEZING)
def test_a_fact_of_twenty_kilobytes_is_answered_at_once(text: str, server: Served) -> None:
    started = time.process_time()
    fact = {"content": text, "fact_type": "error"}
    answer = server.client("write").post(server.at("/facts"), json=fact)
    assert answer.status_code == 200
    assert time.process_time() - started < 1


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("linear")) as running:
        yield running


@pytest.mark.parametrize("text", FREEZING.values(), ids=FREEZING)
def test_a_hook_with_much_output_answers_at_once(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    shop = new_repository(tmp_path / "shop")
    Memory(shop / ".hardwon", "shop").close()
    event = {
        "session_id": "7d0c2f0e-53a4-4a6c-9c3e-0c7b6b3f1a11", "cwd": str(shop),
        "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "make build"},
        "is_interrupt": False, "error": f"Exit code 2\n{text[:15_000]}",
    }  # fmt: skip
    monkeypatch.chdir(shop)
    started = time.process_time()
    _, complaint = respond("claude-code", json.dumps(event).encode(), {}, Manner())
    assert time.process_time() - started < 1
    assert complaint == ""
    with Memory(shop / ".hardwon", "shop") as memory:
        assert [record.kind for record in memory.browse()] == ["trajectory"]
