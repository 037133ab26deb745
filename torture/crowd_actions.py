"""What the people of the crowd do. Each action asks one thing of a memory and says what it is expected to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import model
from crowd_world import MARKERS_LOOKED_FOR, Action, Actor, Life, Place, Saved
from hardwon import Experience, Fact, Memory, Metadata, Source
from hardwon.errors import ConflictError, InvalidInputError, RepeatedError
from hardwon.fields import new_id
from hardwon.model import INTERNAL_KINDS, LOCAL_ACTIONS, MODEL_OF_KIND, ROUTES, VERIFIERS, AnyRecord, Moment, Validation
from model import NEXT, Event, Expected, Finding, Kept, Misquoted, New

AUTHORS: Final = ("ann", "bob", "eve")
TASKS: Final = ("triage", "deploy", "review")
ISSUES: Final = ("TIMEOUT", "BAD_OUTPUT", "CRASH", "CUSTOM")
MODELS: Final = ("qwen2.5:7b", "llama3:8b")
TOPICS: Final = ("login", "database", "pipeline", "parser", "scheduler", "billing", "search", "export")
DEEDS: Final = ("restarted", "patched", "measured", "reverted", "documented", "split", "cached", "retried")
LESSONS: Final = (
    "Read the log before restarting anything",
    "read the log before restarting anything!",
    "Never deploy on a Friday afternoon",
    "Ask for the failing input first",
    "Restart the scheduler twice",
)
_BUDGET_TOKENS: Final = 200
_PAGE: Final = 10
_BACKUPS_KEPT: Final = 2
_PAGE_BYTES: Final = 4096
_HEADER_BYTES: Final = {2: 12, 5: 12, 10: 8, 13: 8}  # of an inner page and of a leaf, of an index and of a table
_ROUTES: Final = sorted(ROUTES.items(), key=repr)

WRITES: Final[dict[str, tuple[int, Action]]] = {}
READS: Final[dict[str, tuple[int, Action]]] = {}
CARE: Final[dict[str, tuple[int, Action]]] = {}


def action(kind: dict[str, tuple[int, Action]], weight: int) -> Callable[[Action], Action]:
    def listed(work: Action) -> Action:
        kind[work.__name__.replace("_", " ")] = weight, work
        return work

    return listed


# --- what is said -------------------------------------------------------------------------------------------------------


def _sentence(life: Life, marker: str) -> str:
    rng = life.rng
    words = " ".join(rng.choice(TOPICS) for _ in range(rng.randrange(1, 12)))
    return f"{rng.choice(DEEDS)} the {rng.choice(TOPICS)} of {marker}: {words}"


def _envelope(life: Life) -> dict[str, Any]:
    rng = life.rng
    tags = rng.sample(["slow", "ci", "prod"], rng.randrange(3))
    return {"author": rng.choice(AUTHORS), **({"tags": tags} if tags else {})}


def _recalled(life: Life, place: Place) -> dict[str, Any]:
    """Some attempts say what they were told before."""
    known = _ordinary(place)
    if life.rng.random() < 0.8 or not known:
        return {}
    return {"recalled": life.rng.sample(known, min(2, len(known)))}


def _ordinary(place: Place) -> list[str]:
    return [key for key, row in place.picture.records.items() if row.kind not in INTERNAL_KINDS]


def _some(life: Life, place: Place) -> str | None:
    known = _ordinary(place)
    return life.rng.choice(known) if known else None


def _meta(life: Life) -> Metadata:
    return Metadata(source=Source(author=life.rng.choice(AUTHORS)), context=Moment(timestamp=life.time()))


def _experience(life: Life, marker: str, record_id: str) -> Experience:
    (outcome, tool), route = life.rng.choice(_ROUTES)
    own = {route[0]: life.rng.choice(route[1])} if route else {}
    content = _sentence(life, marker)
    return Experience(id=record_id, content=content, outcome=outcome, tool=tool, metadata=_meta(life), **own)


# --- writers ------------------------------------------------------------------------------------------------------------


@action(WRITES, 14)
def remember(life: Life, actor: Actor) -> None:
    (outcome, tool), route = life.rng.choice(_ROUTES)
    own = {route[0]: life.rng.choice(route[1])} if route else {}
    marker = life.marker()
    content = _sentence(life, marker)
    new = New("experience", marker, {"content": content, "outcome": outcome, **own})
    helped = _recalled(life, actor.place)
    with life.doing(actor, Expected(new=[new], publishes=bool(helped))):
        new.record_id = actor.at_work.remember(content, outcome, tool, **own, **_envelope(life), **helped).id


@action(WRITES, 8)
def record_a_fact(life: Life, actor: Actor) -> None:
    """Now and then one that was said before: then the first one is strengthened, and no other kept."""
    marker = life.marker()
    content = f"The {life.rng.choice(TOPICS)} needs {marker} before the {life.rng.choice(DEEDS)} {life.rng.choice(TOPICS)}."
    facts = [row for row in actor.place.picture.records.values() if row.kind == "fact"]
    if facts and life.rng.random() < 0.3:
        content = model.said(life.rng.choice(facts).body)["content"]
    new = New("fact", marker, {"content": content, "fact_type": "observation"})
    expected = Expected(new=[new], repeats=True, maybe=True)
    with life.doing(actor, expected):
        kept = actor.at_work.record_fact(content, "observation", life.rng.random(), **_envelope(life))
        new.record_id = kept.id
        expected.maybe = kept.id in actor.place.picture.records
        if expected.maybe and actor.place.picture.records[kept.id].kind != "fact":
            raise Finding(f"a fact was said again and {kept.id} came back, which is none")


@action(WRITES, 6)
def record_a_trajectory(life: Life, actor: Actor) -> None:
    marker = life.marker()
    steps = [
        {"action": f"{life.rng.choice(DEEDS)} it", "observation": _sentence(life, marker), "reward": life.rng.choice([-1.0, 1.0])}
        for _ in range(life.rng.randrange(1, 4))
    ]
    task, reward = life.rng.choice(TASKS), life.rng.random()
    new = New("trajectory", marker, {"task": task, "steps": steps, "final_reward": reward})
    with life.doing(actor, Expected(new=[new])):
        new.record_id = actor.at_work.record_trajectory(task, steps, reward, **_envelope(life)).id


@action(WRITES, 12)
def record_an_episode(life: Life, actor: Actor) -> None:
    marker, rng = life.marker(), life.rng
    task, score, summary = rng.choice(TASKS), round(rng.random(), 3), _sentence(life, marker)
    mistakes, successes = (rng.sample(LESSONS, rng.randrange(3)) for _ in range(2))
    new = New("episode", marker, {"task_id": task, "score": score, "trajectory_summary": summary, "mistakes": mistakes})
    helped = _recalled(life, actor.place)
    cards = [{"mistake_type": rng.choice(DEEDS), "lesson": rng.choice(LESSONS)}] if rng.random() < 0.3 else []
    with life.doing(actor, Expected(new=[new], publishes=bool(helped)), Expected(decides=True)):
        kept = actor.at_work.record_episode(
            task, score, rng.randrange(9), summary, mistakes, successes, cards, **_envelope(life), **helped
        )
        new.record_id = kept.id


@action(WRITES, 14)
def record_a_fix(life: Life, actor: Actor) -> None:
    marker, rng = life.marker(), life.rng
    issue = {"model": rng.choice(MODELS), "issue_type": rng.choice(ISSUES), "description": rng.choice(TOPICS)}
    applied, verified, analysis = rng.random() < 0.7, rng.random() < 0.5, _sentence(life, marker)
    told = {"fix_success": applied, "verification_success": verified, "analysis": analysis}
    new = New("fix", marker, told)
    notes = " ".join(rng.choice(TOPICS) for _ in range(rng.randrange(80)))
    helped = _recalled(life, actor.place)
    with life.doing(actor, Expected(new=[new], publishes=bool(helped))):
        commands = [f"{rng.choice(DEEDS)} {rng.choice(TOPICS)}"]
        kept = actor.at_work.record_fix(issue, applied, verified, analysis, commands, notes=notes, **_envelope(life), **helped)
        new.record_id = kept.id


@action(WRITES, 4)
def add_several(life: Life, actor: Actor) -> None:
    """All of them or none."""
    markers = [life.marker() for _ in range(life.rng.randrange(2, 7))]
    made: list[AnyRecord] = [_experience(life, marker, new_id(life.time())) for marker in markers[:-1]]
    sentence = f"The last of several is {markers[-1]}."
    made.append(Fact(id=new_id(life.time()), content=sentence, fact_type="decision", metadata=_meta(life)))
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
    """The same record changes nothing; another one under its id is refused, and so is one that was forgotten."""
    picture = actor.place.picture
    forgotten = sorted(picture.forgotten)
    if forgotten and life.rng.random() < 0.4:
        other = _experience(life, life.marker(), life.rng.choice(forgotten))
        with life.doing(actor, refused=ConflictError):
            actor.at_work.add(other)
        return
    known = _some(life, actor.place)
    if known is None:
        return
    if life.rng.random() < 0.5:
        with life.doing(actor, refused=ConflictError):
            actor.at_work.add(_experience(life, life.marker(), known))
        return
    record = model.parsed(picture.records[known])
    assert record is not None
    with life.doing(actor):
        actor.at_work.add(record)


@action(WRITES, 3)
def ask_once(life: Life, actor: Actor) -> None:
    """A request that is sent twice is carried out once."""
    requests = actor.place.requests
    if requests and life.rng.random() < 0.5:
        key = life.rng.choice(list(requests))
        with life.doing(actor, refused=RepeatedError), actor.at_work.once(key, b"said"):
            actor.at_work.remember("sent again", "success", "conversation")
        if isinstance(life.error, RepeatedError) and life.error.ids != [requests[key]]:
            raise Finding(f"request {key!r} concerned {requests[key]}, and {life.error.ids} is told")
        return
    key, marker = life.rng.randbytes(8), life.marker()
    new = New("experience", marker, {"content": marker})
    with life.doing(actor, Expected(new=[new])), actor.at_work.once(key, b"said"):
        new.record_id = actor.at_work.remember(marker, "success", "conversation").id
        requests[key] = new.record_id


@action(WRITES, 2)
def break_a_rule(life: Life, actor: Actor) -> None:
    memory = actor.at_work
    wrong: list[Callable[[], object]] = [
        lambda: memory.remember("", "success", "conversation"),
        lambda: memory.remember("x", "triumph", "conversation"),
        lambda: memory.record_episode("triage", 1.5),
        lambda: memory.record_fix({"issue_type": ""}, True, True),
        lambda: memory.recall("x", k=0),
        lambda: memory.add_many([_experience(life, "good", new_id(life.time())), "no record"]),  # type: ignore[list-item]
    ]
    with life.doing(actor, refused=InvalidInputError):
        life.rng.choice(wrong)()


# --- who decides --------------------------------------------------------------------------------------------------------


@action(WRITES, 5)
def credit(life: Life, actor: Actor) -> None:
    known = _ordinary(actor.place)
    ids = life.rng.sample(known, min(len(known), life.rng.randrange(1, 4)))
    expected = Expected(events=[Event(each, "credited") for each in ids], publishes=True)
    with life.doing(actor, expected):
        told = actor.at_work.credit([*ids, new_id(life.time())], life.rng.random() < 0.8, by=life.rng.choice(AUTHORS))
        if told != ids:
            raise Finding(f"{ids} were credited and {told} came back")


@action(WRITES, 8)
def judge(life: Life, actor: Actor) -> None:
    """Somebody vouches for a record, publishes it, or takes it out of recall."""
    record_id = _some(life, actor.place)
    if record_id is None:
        return
    to = life.rng.choice(["verified", "verified", "published", "archived"])
    allowed = to in NEXT[actor.place.picture.records[record_id].status]
    refused = None if allowed else InvalidInputError
    memory = actor.at_work
    with life.doing(actor, *([Expected(events=[Event(record_id, "status", to)])] if allowed else []), refused=refused):
        if to == "verified":
            told = memory.verify(record_id, life.rng.choice(VERIFIERS))
        elif to == "published":
            told = memory.publish(record_id)
        else:
            told = memory.archive(record_id, "no longer true")
        if told.metadata.validation.status != to:
            raise Finding(f"{record_id} was to be {to}, and {told.metadata.validation.status} came back")


@action(WRITES, 2)
def supersede(life: Life, actor: Actor) -> None:
    old, new = _some(life, actor.place), _some(life, actor.place)
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
        if event.kind in ("status", "superseded") and picture.records[event.record_id].kind not in INTERNAL_KINDS
    ]
    if not done:
        return
    event_id, event = life.rng.choice(done)
    taken_back = {model.said(each.body)["undoes"] for each in picture.events.values() if each.kind == "undone"}
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
    refused = _cannot_undo(actor.place, decision_id, row)
    fixes = _packed_by(actor.place, decision_id) if row.outcome in LOCAL_ACTIONS else set()
    expected = [] if refused else [Expected(events=[Event(decision_id, "status", "archived")], packs=fixes)]
    with life.doing(actor, *expected, refused=refused):
        actor.at_work.undo(decision_id)


def _cannot_undo(place: Place, decision_id: str, row: Kept) -> type[InvalidInputError | ConflictError] | None:
    if "archived" not in NEXT[row.status]:
        return InvalidInputError
    gone = [each for each in _packed_by(place, decision_id) if model.whole(place.picture.records[each]) is None]
    return ConflictError if gone else None


def _packed_by(place: Place, decision_id: str) -> set[str]:
    """The fixes that a cleanup or a compression packed away."""
    rows = place.picture.records.items()
    tidied = [(key, row) for key, row in rows if row.kind == "cleaned" or model.is_packed(row)]
    return {key for key, row in tidied if decision_id in row.body}


@action(WRITES, 1)
def consolidate(life: Life, actor: Actor) -> None:
    with life.doing(actor, Expected(decides=True)):
        made = actor.at_work.consolidate().decisions
        life.tally.counts["decisions of consolidations"] += len(made)


# --- who forgets --------------------------------------------------------------------------------------------------------


@action(WRITES, 4)
def forget(life: Life, actor: Actor) -> None:
    place = actor.place
    known = [key for key, row in place.picture.records.items() if row.kind != "decision" or life.rng.random() < 0.1]
    if not known:
        return
    ids = life.rng.sample(known, min(len(known), life.rng.randrange(1, 4)))
    gone = sorted(place.picture.forgotten)
    again = life.rng.sample(gone, min(len(gone), 1))
    packed = {each: _packed_by(place, each) for each in ids if place.picture.records[each].kind == "decision"}
    lost = any(model.whole(place.picture.records[each]) is None for each in set().union(*packed.values()))
    expected = Expected(forgets=set(ids), packs=set().union(*packed.values()) - set(ids))
    _forget(life, actor, expected, [*ids, *again], ConflictError if lost else None)


@action(WRITES, 1)
def forget_an_author(life: Life, actor: Actor) -> None:
    if life.rng.random() < 0.8:  # it takes a third of everything
        return
    author = life.rng.choice(AUTHORS)
    rows = actor.place.picture.records.items()
    ids = {key for key, row in rows if row.author == author and row.kind not in ("decision", "cleaned")}
    _forget(life, actor, Expected(forgets=ids), {"author": author}, None)


def _forget(
    life: Life, actor: Actor, expected: Expected, asked: list[str] | dict[str, str], refused: type[ConflictError] | None
) -> None:
    records = actor.place.picture.records
    said = {each: records[each].body for each in expected.forgets}
    with life.doing(actor, *([] if refused else [expected]), refused=refused):
        told = actor.at_work.forget(asked)
        if set(told.ids) != expected.forgets:
            raise Finding(f"{sorted(expected.forgets)} were to be forgotten and {sorted(told.ids)} were")
        if told.erased:
            _look_for_bytes(life, actor.place, said)


def _look_for_bytes(life: Life, place: Place, said: dict[str, str]) -> None:
    """No file holds a word of them any more, but for copies in the unused part of a page: SQLite leaves them there when it moves
    a row to another page, and only a compaction is sure to take them away."""
    kept = place.bytes_kept()
    for record_id, body in said.items():
        for marker in {word for word in _markers(body) if not _is_elsewhere(place, record_id, word)}:
            if not all(is_unused(kept, at) for at in places_of(marker.encode(), kept)):
                raise Finding(f"{record_id} was erased, and its word {marker} is in the file still")
            life.tally.counts["erased words in the unused part of a page"] += marker.encode() in kept
            life.forgotten_words[record_id] = marker
    life.tally.counts["searches for erased bytes"] += 1


def places_of(word: bytes, kept: bytes) -> Iterator[int]:
    at = kept.find(word)
    while at >= 0:
        yield at
        at = kept.find(word, at + 1)


def is_unused(kept: bytes, at: int) -> bool:
    """Whether a byte of a database lies between the list of a page's cells and the first of them."""
    page = at - at % _PAGE_BYTES
    kind, cells, first = kept[page], *(int.from_bytes(kept[page + each : page + each + 2], "big") for each in (3, 5))
    header = _HEADER_BYTES.get(kind)
    return header is not None and header + 2 * cells <= at - page < first


def _markers(body: str) -> list[str]:
    words = body.replace(":", " ").replace(".", " ").replace('"', " ").split()
    return [word for word in words if len(word) == 12 and word.startswith("mk")]


def _is_elsewhere(place: Place, record_id: str, word: str) -> bool:
    picture = place.picture
    told = any(word in row.body for key, row in picture.records.items() if key != record_id)
    return told or any(word in event.body for event in picture.events.values() if event.record_id != record_id)


# --- readers ------------------------------------------------------------------------------------------------------------


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
    return record.altered(metadata=record.metadata.altered(validation=Validation()))


@action(READS, 4)
def audit(life: Life, actor: Actor) -> None:
    picture = actor.place.picture
    if not picture.records:
        return
    record_id = life.rng.choice(list(picture.records))
    with life.doing(actor):
        told = [each.event.id for each in actor.at_work.audit(record_id) if each.event]
        if set(told) != set(picture.events_of([record_id])[record_id]):
            raise Finding(f"the events of {record_id} are {picture.events_of([record_id])}, and {told} are told")


@action(READS, 8)
def recall(life: Life, actor: Actor) -> None:
    """By a word that one record alone has: it is found unless it is archived, packed away, or of a distrusted author."""
    picture = actor.place.picture
    record_id = _some(life, actor.place)
    if record_id is None:
        return
    row = picture.records[record_id]
    words = _markers(row.body)
    if not words or model.is_left_out(row):
        return
    with life.doing(actor):
        hits = [hit.record.id for hit in actor.at_work.recall(words[0], k=10)]
        wrong = [hit for hit in hits if hit not in picture.records or picture.records[hit].status == "archived"]
        if wrong:
            raise Finding(f"{wrong} were recalled, and are archived or not there")
        if record_id in model.believed(picture) and record_id not in hits:
            raise Finding(f"{record_id} has the word {words[0]} and was not recalled by it: {hits}")


@action(READS, 3)
def forgotten_words(life: Life, actor: Actor) -> None:
    """What was forgotten is not recalled by its words either."""
    gone = [(key, word) for key, word in life.forgotten_words.items() if key in actor.place.picture.forgotten]
    if not gone:
        return
    record_id, word = life.rng.choice(gone[-MARKERS_LOOKED_FOR:])
    with life.doing(actor):
        if any(hit.record.id == record_id or word in hit.record.to_json() for hit in actor.at_work.recall(word)):
            raise Finding(f"{record_id} was forgotten and is recalled by {word}")


@action(READS, 2)
def context(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        issue = {"model": life.rng.choice(MODELS), "issue_type": life.rng.choice(ISSUES)}
        query, task = life.rng.choice(TOPICS), life.rng.choice(TASKS)
        told = actor.at_work.context(query, task_id=task, issue=issue, budget_tokens=_BUDGET_TOKENS)
        unknown = [each for each in told.ids if each not in actor.place.picture.records]
        if unknown:
            raise Finding(f"a context tells of {unknown}, which are not there")
        gone = list(life.forgotten_words.items())[-MARKERS_LOOKED_FOR:]
        for record_id, word in gone:
            if record_id in actor.place.picture.forgotten and word in str(told):
                raise Finding(f"a context tells of {record_id}, which was forgotten")


@action(READS, 2)
def advise(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        deed = f"{life.rng.choice(DEEDS)} it"
        actor.at_work.advise(deed, task=life.rng.choice(TASKS), error=life.rng.choice(TOPICS))


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
    told = actor.at_work.fix_totals()
    wanted = model.fixes_counted(actor.place.picture)
    if (told.attempts, told.applied, told.verified) != wanted:
        raise Finding(f"fix_totals tell {told}, and the fixes add up to {wanted}")


@action(READS, 5)
def ask_for_scores(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        check_scores(actor, life.rng.choice(TASKS))


def check_scores(actor: Actor, task: str) -> None:
    told, wanted = actor.at_work.scores(task), model.scored(actor.place.picture, task)
    if told.episodes != len(wanted):
        raise Finding(f"scores tell of {told.episodes} episodes of {task}, and there are {len(wanted)}")
    if wanted and (told.mean is None or abs(told.mean - sum(wanted) / len(wanted)) > 1e-5):
        raise Finding(f"scores tell a mean of {told.mean} for {task}, and it is {sum(wanted) / len(wanted)}")


@action(READS, 3)
def ask_for_rules(life: Life, actor: Actor) -> None:
    with life.doing(actor):
        actor.at_work.rules(life.rng.choice(TASKS))
        actor.at_work.cards(life.rng.choice(TASKS))


@action(READS, 4)
def browse(life: Life, actor: Actor) -> None:
    rows = actor.place.picture.records
    with life.doing(actor):
        told = [record.id for record in actor.at_work.browse(_PAGE)]
        newest = sorted(_ordinary(actor.place), key=lambda key: (rows[key].at_us, key), reverse=True)
        if told != newest[:_PAGE]:
            raise Finding(f"browse tells {told}, and the newest are {newest[:_PAGE]}")


# --- care ---------------------------------------------------------------------------------------------------------------


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


@action(CARE, 4)
def clean_up(life: Life, actor: Actor) -> None:
    with _tidying(life, actor, "cleanup") as expected:
        expected.new[0].record_id = actor.at_work.cleanup(life.rng.choice([0, 1, 30]), dry_run=False).event_id or "none"


@action(CARE, 4)
def compress(life: Life, actor: Actor) -> None:
    with _tidying(life, actor, "compress") as expected:
        expected.new[0].record_id = actor.at_work.compress(life.rng.choice([0, 1, 30]), dry_run=False).event_id or "none"


class _tidying:  # noqa: N801  # used like a function
    """A cleanup or a compression: one decision, and some fixes packed away; or neither."""

    def __init__(self, life: Life, actor: Actor, what: str) -> None:
        fixes = {key for key, row in actor.place.picture.records.items() if row.kind == "fix"}
        new = New("decision", "", {"action": what})
        self._expected = Expected(new=[new], packs=fixes, in_effect=True, tidies=True, maybe=True)
        self._doing = life.doing(actor, self._expected)

    def __enter__(self) -> Expected:
        self._doing.__enter__()
        return self._expected

    def __exit__(self, *error: Any) -> bool | None:
        return self._doing.__exit__(*error)


@action(CARE, 1)
def compact(life: Life, actor: Actor) -> None:
    cleaned = {key for key, row in actor.place.picture.records.items() if row.kind == "cleaned"}
    with life.doing(actor, Expected(packs=cleaned, lets_go=True, piecemeal=True)):
        actor.at_work.compact()
        kept = actor.place.bytes_kept()
        gone = [word for key, word in life.forgotten_words.items() if key in actor.place.picture.forgotten]
        left = [word for word in gone if word.encode() in kept]
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
    others = [each for each in life.actors if each.place is actor.place and each is not actor and each.memory is not None]
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
        raise Finding("a backup was restored, and the memory is neither what it was nor what the backup is")


@action(CARE, 2)
def export(life: Life, actor: Actor) -> None:
    target = life.folder / f"{actor.place.name}-{life.number}.jsonl"
    saved = Saved(target, actor.place.picture, {})
    with life.doing(actor):
        told = actor.at_work.export(target)
        life.exports = [*life.exports, saved][-_BACKUPS_KEPT:]
        rows = saved.picture.records.values()
        wanted = [row for row in rows if model.whole(row) and not (row.kind == "decision" and row.outcome in LOCAL_ACTIONS)]
        if told != len(wanted):
            raise Finding(f"{told} records were exported, and there are {len(wanted)}")


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
    if not source.file.exists():
        return
    expected = model.merged(source.picture, actor.place.picture)
    with life.doing(actor, expected):
        told = actor.at_work.merge(source.file, progress=_meanwhile(life, actor))
        if told.added != len(expected.new) or told.erased != len(expected.forgets):
            raise Finding(f"{told} was merged; {len(expected.new)} were new, {len(expected.forgets)} forgotten")


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
        actor.memory = Memory(place.file, place.project, clock=life.time, checkout=False, **actor.options)
