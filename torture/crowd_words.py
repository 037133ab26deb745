"""What the people of the crowd talk about, and the list of what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from crowd_world import Action, Life, Place
from hardwon import Experience, Metadata, Source
from hardwon.records.kinds import INTERNAL_KINDS, ROUTES, Moment

AUTHORS: Final = ("ann", "bob", "eve")
TASKS: Final = ("triage", "deploy", "review")
ISSUES: Final = ("TIMEOUT", "BAD_OUTPUT", "CRASH", "CUSTOM")
MODELS: Final = ("qwen2.5:7b", "llama3:8b")
TOPICS: Final = "login database pipeline parser scheduler billing search export".split()
DEEDS: Final = "restarted patched measured reverted documented split cached retried".split()
LESSONS: Final = (
    "Read the log before restarting anything",
    "read the log before restarting anything!",
    "Never deploy on a Friday afternoon",
    "Ask for the failing input first",
    "Restart the scheduler twice",
)
SORTED_ROUTES: Final = sorted(ROUTES.items(), key=repr)

WRITES: Final[dict[str, tuple[int, Action]]] = {}
READS: Final[dict[str, tuple[int, Action]]] = {}
CARE: Final[dict[str, tuple[int, Action]]] = {}


def action(kind: dict[str, tuple[int, Action]], weight: int) -> Callable[[Action], Action]:
    def listed(work: Action) -> Action:
        kind[work.__name__.replace("_", " ")] = weight, work
        return work

    return listed


# --- what is said ---


def sentence(life: Life, marker: str) -> str:
    rng = life.rng
    words = " ".join(rng.choice(TOPICS) for _ in range(rng.randrange(1, 12)))
    return f"{rng.choice(DEEDS)} the {rng.choice(TOPICS)} of {marker}: {words}"


def envelope(life: Life) -> dict[str, Any]:
    rng = life.rng
    tags = rng.sample(["slow", "ci", "prod"], rng.randrange(3))
    return {"author": rng.choice(AUTHORS), **({"tags": tags} if tags else {})}


def recalled(life: Life, place: Place) -> dict[str, Any]:
    """Some attempts say what they were told before."""
    known = ordinary(place)
    if life.rng.random() < 0.8 or not known:
        return {}
    return {"recalled": life.rng.sample(known, min(2, len(known)))}


def ordinary(place: Place) -> list[str]:
    return [key for key, row in place.picture.records.items() if row.kind not in INTERNAL_KINDS]


def some(life: Life, place: Place) -> str | None:
    known = ordinary(place)
    return life.rng.choice(known) if known else None


def metadata(life: Life) -> Metadata:
    return Metadata(
        source=Source(author=life.rng.choice(AUTHORS)), context=Moment(timestamp=life.time())
    )


def experience(life: Life, marker: str, record_id: str) -> Experience:
    (outcome, tool), route = life.rng.choice(SORTED_ROUTES)
    own = {route[0]: life.rng.choice(route[1])} if route else {}
    content = sentence(life, marker)
    return Experience(
        id=record_id, content=content, outcome=outcome, tool=tool, metadata=metadata(life), **own
    )


def markers(body: str) -> list[str]:
    words = body.replace(":", " ").replace(".", " ").replace('"', " ").split()
    return [word for word in words if len(word) == 12 and word.startswith("mk")]


def is_elsewhere(place: Place, record_id: str, word: str) -> bool:
    """Whether another record has the word too: facts are said again."""
    picture = place.picture
    told = any(word in row.body for key, row in picture.records.items() if key != record_id)
    return told or any(
        word in event.body for event in picture.events.values() if event.record_id != record_id
    )


def words_gone(life: Life, place: Place, most: int) -> list[tuple[str, str]]:
    """The last records that were forgotten here, each with a word that nobody has any more."""
    forgotten = place.picture.forgotten
    gone = [(key, word) for key, word in life.forgotten_words.items() if key in forgotten][-most:]
    return [(key, word) for key, word in gone if not is_elsewhere(place, key, word)]
