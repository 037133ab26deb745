"""Those of the crowd who look after memories: they come and go, tidy up, back up, restore, move
records, see the doctor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import model
from crowd_words import CARE, action, words_gone
from crowd_world import Actor, Life, Saved
from crowd_writing import remember
from hardwon import Memory
from model import Finding

_BACKUPS_KEPT: Final = 2
_WORDS_LOOKED_FOR: Final = 100


@action(CARE, 6)
def leave(life: Life, actor: Actor) -> None:
    memory, actor.memory = actor.at_work, None
    with life.doing(actor):
        memory.close()


@action(CARE, 2)
def die(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        life.bury(actor)


@action(CARE, 2)
def all_leave(life: Life, actor: Actor) -> None:
    actor.process.fault = None
    with life.doing(actor):
        life.everybody_leaves(actor.place)


@action(CARE, 1)
def all_die(life: Life, actor: Actor) -> None:
    actor.process.fault = None
    with life.doing(actor):
        life.everybody_dies(actor.place)


@action(CARE, 1)
def compact(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        actor.at_work.compact()
        kept = actor.place.bytes_kept()
        left = [
            word
            for _, word in words_gone(life, actor.place, _WORDS_LOOKED_FOR)
            if word.encode() in kept
        ]
        if left:
            raise Finding(f"after a compaction the file has words of what was forgotten: {left}")


@action(CARE, 3)
def back_up(life: Life, actor: Actor) -> None:
    """While somebody else goes on."""
    place = actor.place
    target = life.folder / f"{place.name}-{life.number}.backup"
    saved = Saved(target, place.picture, dict(place.requests))
    with life.doing(actor):
        actor.at_work.backup(target, progress=_meanwhile(life, actor))
        place.backups = [*place.backups, saved][-_BACKUPS_KEPT:]


def _meanwhile(life: Life, actor: Actor) -> Callable[[int, int], None]:
    """Once, in the middle of something long, another process writes."""
    others = [
        each
        for each in life.actors
        if each.place is actor.place and each is not actor and each.memory is not None
    ]
    writes = [life.rng.choice(others)] if others and life.rng.random() < 0.5 else []

    def progress(done: int, total: int) -> None:
        if writes and done <= total:
            other = writes.pop()
            with life.disk.used_by(other.process):
                remember(life, other)
            life.tally.counts["writes in the middle of something long"] += 1

    return progress


@action(CARE, 2)
def restore(life: Life, actor: Actor) -> None:
    """Others have it open meanwhile."""
    place = actor.place
    if place.backups:
        restore_at(life, actor, life.rng.choice(place.backups))


def restore_at(life: Life, actor: Actor, saved: Saved) -> None:
    place = actor.place
    before = place.picture
    with life.doing(actor):
        Memory.restore(saved.path, place.file)
    after = life.look(place)
    if after == saved.picture:
        place.picture, place.requests, place.limbo = after, dict(saved.requests), []
        life.tally.counts["restored backups"] += 1
    elif life.error is None or after != before:
        raise Finding(
            "a backup was restored, and the memory is neither what it was nor what the backup is"
        )


@action(CARE, 2)
def export(life: Life, actor: Actor) -> None:
    target = life.folder / f"{actor.place.name}-{life.number}.jsonl"
    saved = Saved(target, actor.place.picture, {})
    with life.doing(actor):
        told = actor.at_work.export(target)
        life.exports = [*life.exports, saved][-_BACKUPS_KEPT:]
        if told != len(saved.picture.records):
            raise Finding(f"{told} were exported, and there are {len(saved.picture.records)}")


@action(CARE, 2)
def load(life: Life, actor: Actor) -> None:
    if not life.exports:
        return
    saved = life.rng.choice(life.exports)
    expected = model.loaded(saved.picture, actor.place.picture)
    with life.doing(actor, expected):
        told = actor.at_work.load(saved.path)
        if told.added != len(expected.new):
            raise Finding(f"{told} was loaded, and {len(expected.new)} were new")


@action(CARE, 3)
def merge(life: Life, actor: Actor) -> None:
    source = next(place for place in life.places if place is not actor.place)
    if not source.exists:
        return
    expected = model.merged(source.picture, actor.place.picture)
    with life.doing(actor, expected):
        told = actor.at_work.merge(source.file, progress=_meanwhile(life, actor), trust=True)
        if told.added != len(expected.new) or told.erased != len(expected.forgets):
            raise Finding(
                f"{told} was merged; {len(expected.new)} were new, {len(expected.forgets)} "
                f"forgotten"
            )


@action(CARE, 2)
def rebuild(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        corrected = actor.at_work.rebuild()
        if corrected and not actor.process.fault:
            raise Finding(f"{corrected} records were not what is derived from them")


@action(CARE, 2)
def see_the_doctor(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        check_health(actor)


def check_health(actor: Actor) -> None:
    diagnosis = actor.at_work.doctor()
    if not diagnosis.ok and not actor.process.fault:
        raise Finding(f"the doctor says: {diagnosis}")


def open_memory(life: Life, actor: Actor) -> None:
    """A process begins, and opens the memory."""
    place = actor.place
    with life.doing(actor):
        actor.memory = Memory(
            place.file,
            place.project,
            clock=life.time,
            checkout=False,
            **actor.options,
        )
