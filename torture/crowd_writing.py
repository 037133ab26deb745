"""Those of the crowd who write, decide and forget. Each action asks one thing of a memory and says
what it is to change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, cast

import model
from crowd_words import (
    AUTHORS,
    DEEDS,
    ISSUES,
    LESSONS,
    MODELS,
    SORTED_ROUTES,
    TASKS,
    TOPICS,
    WRITES,
    action,
    envelope,
    experience,
    is_elsewhere,
    markers,
    metadata,
    ordinary,
    recalled,
    sentence,
    some,
)
from crowd_world import Actor, Life, Place
from hardwon import Fact
from hardwon.errors import ConflictError, InvalidInputError, RepeatedError
from hardwon.records.fields import new_id
from hardwon.records.kinds import INTERNAL_KINDS, VERIFIERS, AnyRecord, Outcome
from model import NEXT, Event, Expected, Finding, New

_PAGE_BYTES: Final = 4096
# of an inner page and of a leaf, of an index and of a table
_HEADER_BYTES: Final = {2: 12, 5: 12, 10: 8, 13: 8}


@action(WRITES, 14)
def remember(life: Life, actor: Actor) -> None:
    (outcome, tool), route = life.rng.choice(SORTED_ROUTES)
    own = {route[0]: life.rng.choice(route[1])} if route else {}
    marker = life.marker()
    content = sentence(life, marker)
    new = New("experience", marker, {"content": content, "outcome": outcome, **own})
    helped = recalled(life, actor.place)
    with life.doing(actor, Expected(new=[new], publishes=bool(helped))):
        new.record_id = actor.at_work.remember(
            content, cast("Outcome", outcome), tool, **own, **envelope(life), **helped
        ).id


@action(WRITES, 8)
def record_a_fact(life: Life, actor: Actor) -> None:
    """Now and then one that was said before: then the first one is strengthened, and no other
    kept.
    """
    marker = life.marker()
    content = f"The {life.rng.choice(TOPICS)} needs {marker} before the {life.rng.choice(DEEDS)} {life.rng.choice(TOPICS)}."
    facts = [row for row in actor.place.picture.records.values() if row.kind == "fact"]
    if facts and life.rng.random() < 0.3:
        content = model.said(life.rng.choice(facts).body)["content"]
        # where the first one does not count, it is kept as another
        marker = json.dumps(content, ensure_ascii=False)[1:-1]
    new = New("fact", marker, {"content": content, "fact_type": "observation"})
    expected = Expected(new=[new], repeats=True, maybe=True)
    with life.doing(actor, expected):
        kept = actor.at_work.record_fact(
            content, "observation", life.rng.random(), **envelope(life)
        )
        new.record_id = kept.id
        expected.maybe = kept.id in actor.place.picture.records
        if expected.maybe and actor.place.picture.records[kept.id].kind != "fact":
            raise Finding(f"a fact was said again and {kept.id} came back, which is none")


@action(WRITES, 6)
def record_a_trajectory(life: Life, actor: Actor) -> None:
    marker = life.marker()
    steps = [
        {
            "action": f"{life.rng.choice(DEEDS)} it",
            "observation": sentence(life, marker),
            "reward": life.rng.choice([-1.0, 1.0]),
        }
        for _ in range(life.rng.randrange(1, 4))
    ]
    task, reward = life.rng.choice(TASKS), life.rng.random()
    new = New("trajectory", marker, {"task": task, "steps": steps, "final_reward": reward})
    with life.doing(actor, Expected(new=[new])):
        new.record_id = actor.at_work.record_trajectory(task, steps, reward, **envelope(life)).id


@action(WRITES, 12)
def record_an_episode(life: Life, actor: Actor) -> None:
    marker, rng = life.marker(), life.rng
    task, score, summary = rng.choice(TASKS), round(rng.random(), 3), sentence(life, marker)
    mistakes, successes = (rng.sample(LESSONS, rng.randrange(3)) for _ in range(2))
    new = New(
        "episode",
        marker,
        {"task_id": task, "score": score, "trajectory_summary": summary, "mistakes": mistakes},
    )
    helped = recalled(life, actor.place)
    cards = (
        [{"mistake_type": rng.choice(DEEDS), "lesson": rng.choice(LESSONS)}]
        if rng.random() < 0.3
        else []
    )
    with life.doing(actor, Expected(new=[new], publishes=bool(helped))):
        kept = actor.at_work.record_episode(
            task,
            score,
            rng.randrange(9),
            summary,
            mistakes,
            successes,
            cards,
            **envelope(life),
            **helped,
        )
        new.record_id = kept.id


@action(WRITES, 14)
def record_a_fix(life: Life, actor: Actor) -> None:
    marker, rng = life.marker(), life.rng
    issue = {
        "model": rng.choice(MODELS),
        "issue_type": rng.choice(ISSUES),
        "description": rng.choice(TOPICS),
    }
    applied, verified, analysis = rng.random() < 0.7, rng.random() < 0.5, sentence(life, marker)
    told = {"fix_success": applied, "verification_success": verified, "analysis": analysis}
    new = New("fix", marker, told)
    notes = " ".join(rng.choice(TOPICS) for _ in range(rng.randrange(80)))
    helped = recalled(life, actor.place)
    with life.doing(actor, Expected(new=[new], publishes=bool(helped))):
        commands = [f"{rng.choice(DEEDS)} {rng.choice(TOPICS)}"]
        kept = actor.at_work.record_fix(
            issue, applied, verified, analysis, commands, notes=notes, **envelope(life), **helped
        )
        new.record_id = kept.id


@action(WRITES, 4)
def add_several(life: Life, actor: Actor) -> None:
    """All of them or none."""
    markers = [life.marker() for _ in range(life.rng.randrange(2, 7))]
    made: list[AnyRecord] = [
        experience(life, marker, new_id(life.time())) for marker in markers[:-1]
    ]
    sentence = f"The last of several is {markers[-1]}."
    made.append(
        Fact(
            id=new_id(life.time()), content=sentence, fact_type="decision", metadata=metadata(life)
        )
    )
    new = [
        New(record.kind, marker, {"content": getattr(record, "content", "")}, record.id)
        for marker, record in zip(markers, made, strict=True)
    ]
    with life.doing(actor, Expected(new=new)):
        told = actor.at_work.add_many(made)
        if told != [record.id for record in made]:
            raise Finding(f"{[record.id for record in made]} were added and {told} came back")


@action(WRITES, 2)
def add_again(life: Life, actor: Actor) -> None:
    """The same record changes nothing; another one under its id is refused, and so is one that was
    forgotten.
    """
    picture = actor.place.picture
    forgotten = sorted(picture.forgotten)
    if forgotten and life.rng.random() < 0.4:
        other = experience(life, life.marker(), life.rng.choice(forgotten))
        with life.doing(actor, refused=ConflictError):
            actor.at_work.add(other)
        return
    known = some(life, actor.place)
    if known is None:
        return
    if life.rng.random() < 0.5:
        with life.doing(actor, refused=ConflictError):
            actor.at_work.add(experience(life, life.marker(), known))
        return
    record = model.parsed(picture.records[known])
    with life.doing(actor):
        actor.at_work.add(record)


@action(WRITES, 3)
def ask_once(life: Life, actor: Actor) -> None:
    """A request that is sent twice is carried out once."""
    requests = actor.place.requests
    if requests and life.rng.random() < 0.5:
        key = life.rng.choice(list(requests))
        with life.doing(actor, refused=RepeatedError), actor.at_work.care.once(key, b"said"):
            actor.at_work.remember("sent again", "success", "conversation")
        if isinstance(life.error, RepeatedError) and life.error.ids != [requests[key]]:
            raise Finding(
                f"request {key!r} concerned {requests[key]}, and {life.error.ids} is told"
            )
        return
    key, marker = life.rng.randbytes(8), life.marker()
    new = New("experience", marker, {"content": marker})
    with life.doing(actor, Expected(new=[new])), actor.at_work.care.once(key, b"said"):
        new.record_id = actor.at_work.remember(marker, "success", "conversation").id
        requests[key] = new.record_id


# --- who decides ---


@action(WRITES, 5)
def credit(life: Life, actor: Actor) -> None:
    known = ordinary(actor.place)
    ids = life.rng.sample(known, min(len(known), life.rng.randrange(1, 4)))
    expected = Expected(events=[Event(each, "credited") for each in ids], publishes=True)
    with life.doing(actor, expected):
        told = actor.at_work.credit(
            [*ids, new_id(life.time())], life.rng.random() < 0.8, by=life.rng.choice(AUTHORS)
        )
        if told != ids:
            raise Finding(f"{ids} were credited and {told} came back")


@action(WRITES, 8)
def judge(life: Life, actor: Actor) -> None:
    """Somebody vouches for a record, publishes it, or takes it out of recall."""
    record_id = some(life, actor.place)
    if record_id is None:
        return
    to = life.rng.choice(["verified", "verified", "published", "archived"])
    allowed = to in NEXT[actor.place.picture.records[record_id].status]
    refused = None if allowed else InvalidInputError
    memory = actor.at_work
    with life.doing(
        actor,
        *([Expected(events=[Event(record_id, "status", to)])] if allowed else []),
        refused=refused,
    ):
        if to == "verified":
            told = memory.verify(record_id, life.rng.choice(VERIFIERS))
        elif to == "published":
            told = memory.publish(record_id)
        else:
            told = memory.archive(record_id, "no longer true")
        if told.metadata.validation.status != to:
            raise Finding(
                f"{record_id} was to be {to}, and {told.metadata.validation.status} came back"
            )


@action(WRITES, 2)
def supersede(life: Life, actor: Actor) -> None:
    old, new = some(life, actor.place), some(life, actor.place)
    if old is None or new is None:
        return
    wrong = old == new or actor.place.picture.records[new].status == "archived"
    expected = [] if wrong else [Expected(events=[Event(old, "superseded")])]
    with life.doing(actor, *expected, refused=InvalidInputError if wrong else None):
        actor.at_work.supersede(old, new, "there is a better one")


@action(WRITES, 3)
def take_back(life: Life, actor: Actor) -> None:
    """That a record was verified, published, archived or replaced."""
    picture = actor.place.picture
    done = [
        (key, event)
        for key, event in picture.events.items()
        if event.kind in ("status", "superseded")
        and picture.records[event.record_id].kind not in INTERNAL_KINDS
    ]
    if not done:
        return
    event_id, event = life.rng.choice(done)
    taken_back = {
        model.said(each.body)["undoes"] for each in picture.events.values() if each.kind == "undone"
    }
    wrong = event_id in taken_back
    expected = [] if wrong else [Expected(events=[Event(event.record_id, "undone")])]
    with life.doing(actor, *expected, refused=InvalidInputError if wrong else None):
        actor.at_work.undo(event_id)


@action(WRITES, 1)
def roll_back(life: Life, actor: Actor) -> None:
    marker, author = life.marker(), life.rng.choice(AUTHORS)
    new = New("decision", marker, {"action": "rollback", "target": author})
    with life.doing(actor, Expected(new=[new], in_effect=True)):
        new.record_id = actor.at_work.rollback(author, f"made things up, says {marker}").id


@action(WRITES, 4)
def undo_a_decision(life: Life, actor: Actor) -> None:
    picture = actor.place.picture
    decisions = [(key, row) for key, row in picture.records.items() if row.kind == "decision"]
    if not decisions:
        return
    decision_id, row = life.rng.choice(decisions)
    refused = None if "archived" in NEXT[row.status] else InvalidInputError
    done = Expected(events=[Event(decision_id, "status", "archived")])
    with life.doing(actor, *([] if refused else [done]), refused=refused):
        actor.at_work.undo(decision_id)


# --- who forgets ---


@action(WRITES, 4)
def forget(life: Life, actor: Actor) -> None:
    place = actor.place
    known = [
        key
        for key, row in place.picture.records.items()
        if row.kind != "decision" or life.rng.random() < 0.1
    ]
    if not known:
        return
    ids = life.rng.sample(known, min(len(known), life.rng.randrange(1, 4)))
    gone = sorted(place.picture.forgotten)
    again = life.rng.sample(gone, min(len(gone), 1))
    _forget(life, actor, set(ids), [*ids, *again])


@action(WRITES, 1)
def forget_an_author(life: Life, actor: Actor) -> None:
    if life.rng.random() < 0.8:  # it takes a third of everything
        return
    author = life.rng.choice(AUTHORS)
    rows = actor.place.picture.records.items()
    ids = {
        key
        for key, row in rows
        if row.author.removesuffix(model.ELSEWHERE) == author and row.kind != "decision"
    }
    _forget(life, actor, ids, {"author": author})


def _forget(life: Life, actor: Actor, forgets: set[str], asked: list[str] | dict[str, str]) -> None:
    bodies = {key: actor.place.picture.records[key].body for key in forgets}
    with life.doing(actor, Expected(forgets=forgets)):
        told = actor.at_work.forget(asked)
        if set(told.ids) != forgets:
            raise Finding(f"{sorted(forgets)} were to be forgotten and {sorted(told.ids)} were")
        if told.erased:
            _look_for_bytes(life, actor.place, bodies)


def _look_for_bytes(life: Life, place: Place, said: dict[str, str]) -> None:
    """No file holds a word of them any more, but for copies in the unused part of a page: SQLite
    leaves them there when it moves a row to another page, and only a compaction is sure to take
    them away.
    """
    kept = place.bytes_kept()
    for record_id, body in said.items():
        for marker in {word for word in markers(body) if not is_elsewhere(place, record_id, word)}:
            if not all(is_unused(kept, at) for at in places_of(marker.encode(), kept)):
                raise Finding(f"{record_id} was erased, and its word {marker} is in the file still")
            life.tally.counts["erased words in the unused part of a page"] += (
                marker.encode() in kept
            )
            life.forgotten_words[record_id] = marker
    life.tally.counts["searches for erased bytes"] += 1


def places_of(word: bytes, kept: bytes) -> Iterator[int]:
    at = kept.find(word)
    while at >= 0:
        yield at
        at = kept.find(word, at + 1)


def is_unused(kept: bytes, at: int) -> bool:
    """Whether a byte of a database lies between the list of a page's cells and the first of
    them.
    """
    page = at - at % _PAGE_BYTES
    kind, cells, first = (
        kept[page],
        *(int.from_bytes(kept[page + each : page + each + 2], "big") for each in (3, 5)),
    )
    header = _HEADER_BYTES.get(kind)
    return header is not None and header + 2 * cells <= at - page < first
