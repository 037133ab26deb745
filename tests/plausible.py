"""Records that look like what agents write about code, and questions; the same from the same seed.

A few words come all the time, most hardly ever, as in real texts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Any
from uuid import UUID

from hardwon import (
    Episode,
    Experience,
    Fact,
    Fix,
    Issue,
    Metadata,
    MistakeCard,
    Source,
    Step,
    Trajectory,
)
from hardwon.records.kinds import AnyRecord, Moment, RelatedFile, Validation

START = datetime(2026, 1, 1, tzinfo=UTC)
AUTHORS = ("claude-1", "claude-2", "codex", "ci", "anna", "ben")
MODELS = ("llama-3", "mistral", "phi-4", "qwen-2.5")
ISSUE_TYPES = ("TIMEOUT", "ERROR", "NO_OUTPUT", "UNEXPECTED_RESPONSE", "MODEL_NOT_AVAILABLE")
STATUSES = ("hypothesis",) * 8 + ("verified", "archived")
WORDS = 20_000
_PARTS = """user order cart token cache queue parser index batch worker session login config schema
    build test lock retry route model field table query cursor stream buffer socket client server
    header cookie price stock email report export import merge branch commit deploy cluster node
    shard replica backup restore""".split()
_VERBS = "get set load save parse check update delete create send open close read write merge split find sort hash sync".split()
_SUFFIXES = ("py", "ts", "go", "rs", "sql", "yaml", "toml")
_FAILING = "Type Key Value Timeout Connection Assertion Import OS".split()
_ERRORS = [f"{name}Error" for name in _FAILING]
_PLAIN = """the a in of to and is was failed fixed because when after before with without missing
    wrong stale empty null default argument value column file line request response version timeout
    connection memory thread process import module function method class returned raised expected
    found instead only twice never always still works again broke changed renamed moved""".split()


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    rng = random.Random(7)
    made: dict[str, None] = dict.fromkeys(_PLAIN)
    while len(made) < WORDS:
        verb, one, other = rng.choice(_VERBS), rng.choice(_PARTS), rng.choice(_PARTS)
        forms = (
            f"{verb}_{one}_{other}",
            f"{verb}{one.title()}{other.title()}",
            f"{one}{other}",
            f"src/{one}/{verb}_{other}.{rng.choice(_SUFFIXES)}",
            f"{rng.choice(_ERRORS)}:{one}",
            f"E{rng.randrange(10_000):04}",
            f"{one}-{rng.randrange(10)}.{rng.randrange(30)}.{rng.randrange(10)}",
        )
        made[rng.choice(forms)] = None
    return list(made), list(accumulate(1 / place for place in range(1, WORDS + 1)))


def _words(rng: random.Random, least: int, most: int) -> list[str]:
    words, weights = _vocabulary()
    return rng.choices(words, cum_weights=weights, k=rng.randint(least, most))


def text(rng: random.Random, least: int, most: int) -> str:
    return " ".join(_words(rng, least, most))


def error(rng: random.Random) -> str:
    """What a program says when it fails. The same failure comes again, at another line."""
    number = rng.randrange(300)
    one, other = _PARTS[number % len(_PARTS)], _PARTS[number * 7 % len(_PARTS)]
    verb, kind = _VERBS[number % len(_VERBS)], _ERRORS[number % len(_ERRORS)]
    place = f'  File "src/{one}/{other}.py", line {rng.randrange(900)}, in {verb}_{one}'
    return f"{place}\n{kind}: {other} {number} of {one} is missing"


def issue(rng: random.Random) -> Issue:
    number = rng.randrange(200)
    return Issue(
        model=MODELS[number % len(MODELS)],
        issue_type=ISSUE_TYPES[number % len(ISSUE_TYPES)],
        description=f"{_PARTS[number % len(_PARTS)]} prompt {number} gives no answer",
        test_prompt=f"prompt {number}",
    )


def records(
    count: int, seed: int = 1, *, first: int = 0, project: str = "default"
) -> Iterator[AnyRecord]:
    """One after the other in time; `first` is the number of the first."""
    rng = random.Random(f"{seed} {first}")
    earlier: list[str] = []
    for number in range(first, first + count):
        record = _record(rng, number, earlier, project)
        earlier = [*earlier[-50:], record.id]
        yield record


def _record(rng: random.Random, number: int, earlier: list[str], project: str) -> AnyRecord:
    status = rng.choice(STATUSES)
    is_verified = status == "verified"
    file = RelatedFile(path=f"src/{rng.choice(_PARTS)}/{rng.choice(_PARTS)}.py")
    how: Any = "user_interaction" if is_verified else "agent_execution"
    source = Source(author=rng.choice(AUTHORS), id=f"session-{number // 12}", type=how)
    related = [file] if rng.random() < 0.3 else []
    moment = Moment(timestamp=START + timedelta(seconds=40 * number), related_files=related)
    validation = Validation(status=status, verified_by="human_approval" if is_verified else None)
    tags = [rng.choice(_PARTS)] if rng.random() < 0.2 else []
    told: Any = {"project_id": project, "source": source, "context": moment, "tags": tags}
    metadata = Metadata(validation=validation, **told)
    known = rng.sample(earlier, 2) if len(earlier) > 2 and rng.random() < 0.02 else None
    envelope = {"id": str(UUID(int=rng.getrandbits(128), version=4)), "metadata": metadata}
    kind, own = _choose(rng)
    return kind.model_validate({**envelope, "recalled": known, **own})


def _choose(rng: random.Random) -> tuple[type[AnyRecord], dict[str, Any]]:
    """A kind, and what is said in its own fields."""
    chance = rng.random()
    if chance < 0.6:
        plain, worked = rng.random() < 0.8, rng.random() < 0.6
        content = text(rng, 15, 60) if plain else f"{text(rng, 5, 20)}\n{error(rng)}"
        own = {"task_type": "debug"} if worked else {"error_type": "runtime"}
        own |= {"outcome": "success" if worked else "failure", "tool": "code_interpreter"}
        return Experience, {"content": content, **own}
    if chance < 0.7:
        return Fact, {"content": text(rng, 8, 25), "fact_type": "observation"}
    if chance < 0.8:
        commands = [f"fix --{rng.choice(_PARTS)} {rng.randrange(5)}"]
        fixed = {"fix_success": True, "verification_success": rng.random() < 0.6}
        told = {"issue": issue(rng), "analysis": text(rng, 10, 30), "fix_commands": commands}
        return Fix, told | fixed
    if chance < 0.9:
        actions = [f"{rng.choice(_VERBS)} {rng.choice(_PARTS)}" for _ in range(2)]
        failed = Step(action=f"{actions[0]} --all", observation=error(rng), reward=0.0)
        steps = [failed, Step(action=actions[1], observation=text(rng, 5, 25), reward=1.0)]
        reward = rng.choice((0.0, 1.0, None))
        return Trajectory, {"task": text(rng, 5, 12), "steps": steps, "final_reward": reward}
    return Episode, {
        "task_id": f"task-{rng.randrange(40)}",
        "score": rng.random(),
        "steps": rng.randrange(20),
        "trajectory_summary": text(rng, 8, 25),
        "mistakes": [f"{rng.choice(_VERBS)} the {rng.choice(_PARTS)} too early"],
        "successes": [f"{rng.choice(_VERBS)} the {rng.choice(_PARTS)} first"],
        "mistake_cards": [MistakeCard(mistake_type=rng.choice(_PARTS), lesson=text(rng, 4, 8))],
    }


def questions(count: int, seed: int = 2) -> list[str]:
    """Of two to twelve words."""
    rng = random.Random(seed)
    return [text(rng, 2, 12) for _ in range(count)]
