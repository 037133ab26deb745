"""What happens to files while nobody uses them."""

from __future__ import annotations

import random
from typing import Final

from crowd_care import restore_at
from crowd_words import CARE, action
from crowd_world import Actor, Life, Place, Saved
from faults import Process
from hardwon import Memory
from hardwon.errors import DamagedError, StorageError
from model import Finding, Picture

_PAGE_BYTES: Final = 4096


@action(CARE, 2)
def rot(life: Life, actor: Actor) -> None:
    """Bytes of the file change while nobody has it open. That is noticed, or does no harm; and a
    backup brings it all back.
    """
    actor.process.fault = None
    place = actor.place
    life.everybody_leaves(place)
    whole = place.file.read_bytes()
    place.file.write_bytes(damaged(whole, life.rng))
    with life.doing(actor):
        _believe_nothing_untrue(life, place)
        life.let_go(place)
        if not place.backups or not _restored(life, actor, life.rng.choice(place.backups)):
            _put_back(place, whole)


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """A few bytes that are others, a page of zeros, a page in the place of another, or an end that
    is missing.
    """
    changed = bytearray(whole)
    pages = len(whole) // _PAGE_BYTES
    one, other = (_PAGE_BYTES * rng.randrange(pages) for _ in range(2))
    match rng.choice(["bytes", "zeros", "swap", "cut"]):
        case "bytes":
            for _ in range(rng.randrange(1, 20)):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        case "zeros":
            changed[one : one + _PAGE_BYTES] = bytes(_PAGE_BYTES)
        case "swap":
            changed[one : one + _PAGE_BYTES] = whole[other : other + _PAGE_BYTES]
        case "cut":
            del changed[rng.randrange(len(changed)) :]
    return bytes(changed)


def _believe_nothing_untrue(life: Life, place: Place) -> None:
    """Whoever opens it is told, or the doctor is; where neither notices, every record is what it
    was.
    """
    visitor = Actor("visitor", place, {}, Process("visitor"))
    counts = life.tally.counts
    try:
        with (
            life.disk.used_by(visitor.process),
            Memory(place.file, place.project, clock=life.time, checkout=False) as memory,
        ):
            if not memory.doctor().ok:
                counts["damage that the doctor noticed"] += 1
                return
    except StorageError:
        counts["damage that was refused"] += 1
        return
    after = life.look(place)
    if after.records != place.picture.records:
        raise Finding(
            f"damage was not noticed, and records are others: {_differing(place.picture, after)}"
        )
    counts["damage to events that nobody noticed"] += after.events != place.picture.events
    counts["damage that did no harm"] += after == place.picture


def _differing(before: Picture, after: Picture) -> list[str]:
    keys = before.records.keys() | after.records.keys()
    return [
        f"{before.records.get(key)} is {after.records.get(key)}"
        for key in keys
        if before.records.get(key) != after.records.get(key)
    ]


def _restored(life: Life, actor: Actor, saved: Saved) -> bool:
    """Whether the backup could be put in place of the ruins. What looks like a memory of somebody
    else's is left alone.
    """
    try:
        with life.disk.used_by(actor.process):
            Memory.restore(saved.path, actor.place.file)
    except StorageError:
        life.tally.counts["ruins that were left alone"] += 1
        return False
    place = actor.place
    place.picture, place.requests, place.limbo = life.look(place), dict(saved.requests), []
    if place.picture != saved.picture:
        raise Finding(
            f"a backup was restored over a damaged file and is another: "
            f"{_differing(saved.picture, place.picture)}"
        )
    life.tally.counts["restored backups"] += 1
    return True


def _put_back(place: Place, whole: bytes) -> None:
    for name in (f"{place.file.name}-wal", f"{place.file.name}-shm"):
        place.file.with_name(name).unlink(missing_ok=True)
    place.file.write_bytes(whole)
    place.file.chmod(0o600)


@action(CARE, 1)
def rot_of_a_backup(life: Life, actor: Actor) -> None:
    """A backup that is not what it was is not restored, and the memory stays as it is."""
    place = actor.place
    actor.process.fault = None
    if not place.backups:
        return
    saved = life.rng.choice(place.backups)
    whole = saved.path.read_bytes()
    changed = damaged(whole, life.rng)
    saved.path.write_bytes(changed)
    try:
        if changed == whole:
            restore_at(life, actor, saved)
            return
        with life.doing(actor, refused=DamagedError):
            Memory.restore(saved.path, place.file)
        life.tally.counts["damaged backups that were refused"] += 1
    finally:
        saved.path.write_bytes(whole)
