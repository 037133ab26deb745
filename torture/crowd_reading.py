"""Those of the crowd who ask. What they are told must be what the model says."""

from __future__ import annotations

from typing import Final

import model
from crowd_words import (
    DEEDS,
    ISSUES,
    MODELS,
    READS,
    TASKS,
    TOPICS,
    action,
    markers,
    ordinary,
    some,
    words_gone,
)
from crowd_world import Actor, Life
from hardwon import Memory
from hardwon.records.kinds import MODEL_OF_KIND, AnyRecord, Validation
from model import Finding, Kept, Misquoted

_BUDGET_TOKENS: Final = 200
_PAGE: Final = 10
_MARKERS_LOOKED_FOR: Final = 20


@action(READS, 12)
def get(life: Life, actor: Actor) -> None:
    """A record as it was told and stands; or, of one that was forgotten, nothing."""
    picture = actor.place.picture
    gone = sorted(picture.forgotten)
    if gone and life.rng.random() < 0.3:
        with life.doing(actor):
            if actor.at_work.get(life.rng.choice(gone)) is not None:
                raise Finding("a record that was forgotten came back")
        return
    if not picture.records:
        return
    record_id = life.rng.choice(list(picture.records))
    with life.doing(actor):
        check_record(actor.at_work, record_id, picture.records[record_id])


def check_record(memory: Memory, record_id: str, row: Kept) -> None:
    found = memory.get(record_id)
    if found is None:
        raise Finding(f"record {record_id} was acknowledged and is not found")
    if found.metadata.validation.status != row.status or found.kind != row.kind:
        raise Finding(f"record {record_id} is {row.kind}, {row.status}, and {found} is found")
    if unjudged(found) != unjudged(MODEL_OF_KIND[row.kind].model_validate(model.said(row.body))):
        raise Misquoted(f"record {record_id} said {row.body}, and says {found.to_json()}")


def unjudged(record: AnyRecord) -> AnyRecord:
    """But for what may be believed of it."""
    return record.copy_with(metadata=record.metadata.copy_with(validation=Validation()))


@action(READS, 8)
def recall(life: Life, actor: Actor) -> None:
    """By a word that one record alone has: it is found unless it is archived, or of a distrusted
    author.
    """
    picture = actor.place.picture
    record_id = some(life, actor.place)
    if record_id is None:
        return
    row = picture.records[record_id]
    words = markers(row.body)
    if not words:
        return
    with life.doing(actor):
        hits = [hit.record.id for hit in actor.at_work.recall(words[0], k=10)]
        wrong = [
            hit
            for hit in hits
            if hit not in picture.records or picture.records[hit].status == "archived"
        ]
        if wrong:
            raise Finding(f"{wrong} were recalled, and are archived or not there")
        if record_id in model.believed(picture) and record_id not in hits:
            raise Finding(f"{record_id} has the word {words[0]} and was not recalled by it: {hits}")


@action(READS, 3)
def forgotten_words(life: Life, actor: Actor) -> None:
    """What was forgotten is not recalled by its words either."""
    gone = words_gone(life, actor.place, _MARKERS_LOOKED_FOR)
    if not gone:
        return
    record_id, word = life.rng.choice(gone)
    with life.doing(actor):
        if any(
            hit.record.id == record_id or word in hit.record.to_json()
            for hit in actor.at_work.recall(word)
        ):
            raise Finding(f"{record_id} was forgotten and is recalled by {word}")


@action(READS, 5)
def context(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        issue = {"model": life.rng.choice(MODELS), "issue_type": life.rng.choice(ISSUES)}
        query, task = life.rng.choice(TOPICS), life.rng.choice(TASKS)
        told = actor.at_work.context(query, task_id=task, issue=issue, budget_tokens=_BUDGET_TOKENS)
        actor.at_work.advise(f"{life.rng.choice(DEEDS)} it", task=task, error=query)
        actor.at_work.rules(task)
        actor.at_work.cards(task)
        unknown = [each for each in told.ids if each not in actor.place.picture.records]
        if unknown:
            raise Finding(f"a context tells of {unknown}, which are not there")
        for record_id, word in words_gone(life, actor.place, _MARKERS_LOOKED_FOR):
            if word in str(told):
                raise Finding(f"a context tells of {record_id}, which was forgotten")


@action(READS, 6)
def count(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        check_counts(actor)


def check_counts(actor: Actor) -> None:
    told, wanted = actor.at_work.stats(), model.counted(actor.place.picture)
    for name, value in vars(wanted).items():
        if getattr(told, name) != value:
            raise Finding(f"stats tell {name}={getattr(told, name)}, and there are {value}")


@action(READS, 6)
def ask_for_fixes(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        check_fixes(actor)


def check_fixes(actor: Actor) -> None:
    told = actor.at_work.fixes.totals()
    wanted = model.fixes_counted(actor.place.picture)
    if (told.attempts, told.applied, told.verified) != wanted:
        raise Finding(f"fix_totals tell {told}, and the fixes add up to {wanted}")


@action(READS, 5)
def ask_for_scores(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        check_scores(actor, life.rng.choice(TASKS))


def check_scores(actor: Actor, task: str) -> None:
    told, wanted = actor.at_work.episodes.scores(task), model.scored(actor.place.picture, task)
    if told.episodes != len(wanted):
        raise Finding(
            f"scores tell of {told.episodes} episodes of {task}, and there are {len(wanted)}"
        )
    if wanted and (told.mean is None or abs(told.mean - sum(wanted) / len(wanted)) > 1e-5):
        raise Finding(
            f"scores tell a mean of {told.mean} for {task}, and it is {sum(wanted) / len(wanted)}"
        )


@action(READS, 4)
def browse(life: Life, actor: Actor) -> None:
    rows = actor.place.picture.records
    with life.doing(actor):
        told = [record.id for record in actor.at_work.browse(_PAGE)]
        newest = sorted(ordinary(actor.place), key=lambda key: (rows[key].at_us, key), reverse=True)
        if told != newest[:_PAGE]:
            raise Finding(f"browse tells {told}, and the newest are {newest[:_PAGE]}")
