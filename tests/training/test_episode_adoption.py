"""A training memory's file into the shared memory and back: nothing lost, nothing twice."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import examples
from clocks import START, Clock
from hardwon import Episode, Memory, limits
from hardwon.errors import ConflictError, InvalidInputError, PlaceError
from hardwon.records.kinds import Adopted
from hardwon.training import functions as episode_door
from hardwon.training.functions import adopt, export_agent_memory
from hardwon.training.shape import MAX_EPISODES_STORED

Dict = dict[str, Any]


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    # the functions of training memory look at the machine's clock
    clock.now = max(clock.now, datetime.now(UTC)) + timedelta(days=30)
    with Memory(tmp_path / "brain", clock=clock) as opened:
        yield opened


fresh = episode_door.new_agent_memory


def record(memory: Dict, episode: Dict, timestamp: str) -> None:
    episode_door.record_episode(memory, episode, clock=lambda: datetime.fromisoformat(timestamp))


def save(memory: Dict, path: Path) -> Dict:
    memory["episode_log"] = memory["episode_log"][-100:]
    path.write_text(json.dumps(memory, indent=2))
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def consolidate(memory: Dict) -> None:
    high = [each for each in memory["episode_log"] if each["score"] >= 0.85 and each["summary"]]
    rules = [f"[HIGH SCORE {each['score']:.2f}] {each['summary'][:120]}" for each in high]
    memory["global_rules"] = list(dict.fromkeys([*memory["global_rules"], *rules]))[-20:]
    memory["last_consolidated_at"] = memory["total_episodes"]


def run(memory: Dict, episodes: list[Dict], start: int = 0) -> Dict:
    for number, episode in enumerate(episodes, start):
        at = START + timedelta(minutes=number, microseconds=number)
        record(memory, episode, at.isoformat())
    return memory


def told(number: int, **fields: Any) -> Dict:
    plain = {"task_id": "triage", "score": 0.1 + number % 7 / 10, "steps": number % 5}
    plain |= {"trajectory_summary": f"Attempt {number}"}
    return {**plain, "mistakes": [], "successes": [], "mistake_cards": [], **fields}


def card(**fields: Any) -> Dict:
    plain = {"mistake_type": "early", "correct_decision": "wait", "evidence": "the log"}
    nobody = dict.fromkeys(("task_id", "worker_id", "bad_decision"))
    return {**nobody, **plain, "lesson": "Wait.", **fields}


TEXTS = ["Read the log first", "Guessed", "Escalated too early", "asked the owner", "Ω unicode"]
cards = st.builds(
    card,
    mistake_type=st.sampled_from(["early", "late", "false_negative_x"]),
    task_id=st.none() | st.sampled_from(["triage", "deploy"]),
    worker_id=st.none() | st.integers(0, 2) | st.just("w1"),
    correct_decision=st.none() | st.sampled_from(["wait", "ask"]),
    evidence=st.sampled_from(["", "the log"]),
    lesson=st.sampled_from(TEXTS),
)
episodes = st.builds(
    told,
    st.integers(0, 50),
    task_id=st.sampled_from(["triage", "deploy", "unknown"]),
    score=st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.85, 0.9, 1.0]) | st.floats(0, 1),
    mistakes=st.lists(st.sampled_from(TEXTS), max_size=3),
    successes=st.lists(st.sampled_from(TEXTS), max_size=3),
    mistake_cards=st.lists(cards, max_size=3),
)


@settings(max_examples=examples(40))
@given(st.lists(episodes, min_size=1, max_size=40), st.booleans(), st.lists(episodes, max_size=12))
def test_a_file_comes_back_and_goes_on(before: list[Dict], rules: bool, after: list[Dict]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "m.db") as memory,
    ):
        expected = run(fresh(), before)
        if rules:
            consolidate(expected)
        expected = save(expected, Path(folder) / "agent_memory.json")
        assert adopt(Path(folder) / "agent_memory.json", memory).added == len(before) + 1
        assert export_agent_memory(memory) == expected
        for episode in after:
            kept = memory.record_episode(**episode)
            record(expected, episode, kept.metadata.context.timestamp.isoformat())
        assert export_agent_memory(memory) == expected
        assert memory.doctor().ok


def test_a_loop_moves_into_the_shared_memory_and_back(memory: Memory, tmp_path: Path) -> None:
    """With the functions that training loops call."""
    state = fresh()
    for number in range(130):
        seen = told(number, mistakes=[f"m{number}"], mistake_cards=[card()])
        episode_door.record_episode(state, seen)
    path, back = tmp_path / "agent_memory.json", tmp_path / "back.json"
    episode_door.save_agent_memory(state, str(path))
    adopt(path, memory)
    assert export_agent_memory(memory) == json.loads(path.read_text())
    memory.record_episode(**told(0, mistakes=["in the shared memory"]))
    export_agent_memory(memory, back)
    again = episode_door.load_agent_memory(str(back))
    assert episode_door.memory_summary(again)["total_episodes"] == 131
    assert "in the shared memory" in episode_door.build_memory_context(again, "triage")
    episode_door.record_episode(again, told(1, mistakes=["back in the file"]))
    episode_door.save_agent_memory(again, str(back))
    assert adopt(back, memory).added == 2, "the episode, and the new state of the file"
    found = export_agent_memory(memory)
    result = (found["total_episodes"], found["mistakes"][-2:])
    assert result == (132, ["in the shared memory", "back in the file"])
    assert found == json.loads(back.read_text())


def test_an_older_file_with_missing_keys_and_its_own(memory: Memory, tmp_path: Path) -> None:
    given: Dict = {"total_episodes": 3, "mistakes": ["guessed"], "notes": {"by": "ann"}}
    given |= {"score_history": {"t": [0, 1, 0.5]}, "last_consolidated_at": "2024-01-01"}
    (tmp_path / "a.json").write_text(json.dumps({**given, "mistake_cards": None}))
    adopt(tmp_path / "a.json", memory)
    found = export_agent_memory(memory)
    assert found == {**fresh(), **given, "score_history": {"t": [0.0, 1.0, 0.5]}}
    assert list(found)[:4] == ["version", "total_episodes", "last_consolidated_at", "global_rules"]


def test_the_exported_file_is_whole_private_and_new(memory: Memory, tmp_path: Path) -> None:
    memory.record_episode("t", 0.9, successes=["Ω"])
    target = tmp_path / "out" / "agent_memory.json"
    found = export_agent_memory(memory, target)
    assert json.loads(target.read_text()) == found
    assert target.stat().st_mode & 0o777 == 0o600
    target.write_text("precious")
    with pytest.raises(PlaceError, match="overwrite=True"):
        export_agent_memory(memory, target)
    assert target.read_text() == "precious"
    export_agent_memory(memory, target, overwrite=True)
    assert json.loads(target.read_text()) == found


def counts(memory: Memory) -> tuple[int, int]:
    stats = memory.stats()
    return stats.records, stats.adopted


def test_adopting_twice_or_from_another_place_adds_nothing(memory: Memory, tmp_path: Path) -> None:
    first_place, other_place = tmp_path / "a.json", tmp_path / "b.json"
    expected = save(run(fresh(), [told(n, mistakes=["m"]) for n in range(7)]), first_place)
    shutil.copy(first_place, other_place)
    seen: list[tuple[int, int]] = []
    rehearsal = adopt(first_place, memory, dry_run=True)
    assert (rehearsal.added, rehearsal.dry_run, counts(memory)) == (8, True, (0, 0))
    first = adopt(first_place, memory, progress=lambda *call: seen.append(call))
    assert (first.read, first.added, first.present, seen[-1]) == (8, 8, 0, (8, 8))
    for place in (first_place, other_place):
        found = adopt(place, memory)
        assert (found.read, found.added, found.present, found.conflicting) == (8, 0, 8, [])
    assert counts(memory) == (7, 1)
    assert export_agent_memory(memory) == expected
    assert adopt(other_place, memory, author="somebody else").added == 8, "two sources are two"


def test_two_memories_that_adopted_the_same_file_merge_to_the_same(tmp_path: Path) -> None:
    save(run(fresh(), [told(n) for n in range(5)]), tmp_path / "a.json")
    with Memory(tmp_path / "one") as one, Memory(tmp_path / "two") as two:
        for each in (one, two):
            adopt(tmp_path / "a.json", each)
        merged = one.merge(two, trust=True)
        assert (merged.added, merged.present, merged.conflicting) == (0, 6, [])
        two.export(tmp_path / "records.jsonl")
        with Memory(tmp_path / "three") as three:
            seen: list[tuple[int, int]] = []
            three.load(tmp_path / "records.jsonl", progress=lambda *call: seen.append(call))
            assert seen[-1] == (6, 6)
            first, second, third = map(export_agent_memory, (one, two, three))
            assert first == second == third


@pytest.mark.parametrize("more", [3, 150])
def test_a_file_that_went_on_replaces_its_state(memory: Memory, tmp_path: Path, more: int) -> None:
    file = tmp_path / "a.json"
    state = run(fresh(), [told(n, mistakes=[f"m{n}"], mistake_cards=[card()]) for n in range(120)])
    earlier = save(state, file)
    shutil.copy(file, tmp_path / "old.json")
    adopt(file, memory)
    later = save(run(earlier, [told(n, mistakes=["new"]) for n in range(more)], 120), file)
    adopt(file, memory)
    assert export_agent_memory(memory) == later
    old, new = sorted(memory.browse(kind="adopted"), key=lambda record: record.at_us)
    assert [each.metadata.validation.status for each in (old, new)] == ["archived", "hypothesis"]
    assert memory.audit(old.id)[-1].kind == "superseded"
    assert adopt(tmp_path / "old.json", memory).added == 0, "all of it is in the later state"
    assert export_agent_memory(memory) == later
    assert memory.stats().records == 100 + min(more, 100)


def test_a_clock_of_seconds_makes_no_two_episodes_one(memory: Memory, tmp_path: Path) -> None:
    state = fresh()
    for _ in range(3):
        record(state, told(0), "2026-01-01T10:00:00Z")
    expected = save(state, tmp_path / "a.json")
    assert adopt(tmp_path / "a.json", memory).added == 4
    assert adopt(tmp_path / "a.json", memory).added == 0
    assert export_agent_memory(memory) == expected, "the time as it was written, too"


def test_files_of_two_agents_add_up(memory: Memory, tmp_path: Path) -> None:
    def made(name: str, count: int, first: int, start: int) -> Dict:
        seen: Dict = {"mistakes": ["both", name], "mistake_cards": [card()]}
        return run(fresh(), [told(n + first, **seen) for n in range(count)], start)

    ann, bob = made("ann", 6, 0, 0), made("bob", 4, 1, 3)
    consolidate(ann)
    for name, state in (("ann", ann), ("bob", bob)):
        save(state, tmp_path / f"{name}.json")
        result: Any = adopt(tmp_path / f"{name}.json", memory, author=name).added
        assert result == state["total_episodes"] + 1
    found = export_agent_memory(memory)
    result = (found["total_episodes"], len(found["episode_log"]), found["last_consolidated_at"])
    assert result == (10, 10, 6)
    scores = ann["score_history"]["triage"] + bob["score_history"]["triage"]
    assert found["score_history"] == {"triage": scores}
    assert found["episode_log"] == ann["episode_log"] + bob["episode_log"]
    assert found["mistakes"] == ["both", "ann", "bob"]
    (counted,) = found["mistake_cards"]
    result = (counted["seen_count"], counted["first_seen_episode"], counted["last_seen_episode"])
    assert result == (10, 1, 10)
    assert next(card for card in memory.cards("triage")).adopted_count == 10
    memory.rollback("bob")
    assert export_agent_memory(memory) == ann


def test_two_copies_that_went_different_ways_are_two(memory: Memory, tmp_path: Path) -> None:
    begun = run(fresh(), [told(n) for n in range(300)])
    for start in (1_000, 2_000):
        more = [told(n + start % 7) for n in range(10)]
        save(run(json.loads(json.dumps(begun)), more, start), tmp_path / f"{start}.json")
        adopt(tmp_path / f"{start}.json", memory)
    assert counts(memory) == (90 + 10 + 10, 2)
    kept = {each.metadata.validation.status for each in memory.browse(kind="adopted")}
    assert kept == {"hypothesis"}


LESSON = "Read the full error log of the service"


@pytest.fixture
def adopted(memory: Memory, tmp_path: Path) -> str:
    """The id of what was adopted: rules, mistakes, successes, and a card seen 608 times."""
    failed = told(0, score=0.2, mistakes=["Guessed the port"])
    state = run(fresh(), [failed, told(1, score=0.9, successes=[LESSON])])
    seen = {"seen_count": 608, "first_seen_episode": 1, "last_seen_episode": 2}
    state["mistake_cards"] = [card(task_id="triage") | seen]
    state["global_rules"] = ["[HIGH SCORE 0.90] Attempt 1", "[CONSOLIDATED] [AVOID] Never reboot"]
    save(state, tmp_path / "a.json")
    adopt(tmp_path / "a.json", memory, author="run7")
    (found,) = memory.browse(kind="adopted")
    return found.id


def states(memory: Memory, task: str | None = "triage") -> dict[str, str]:
    return {str(rule): rule.state for rule in memory.rules(task, limit=100)}


def test_what_was_adopted_suggests(memory: Memory, adopted: str) -> None:
    rules = [
        "[AVOID] Guessed the port", f"[WORKS] {LESSON}", "[AVOID] Never reboot",
        "[HIGH SCORE 0.90] Attempt 1",
    ]  # fmt: skip
    assert states(memory) == dict.fromkeys(rules, "candidate")
    # mistakes and successes stood without a task in the file
    assert states(memory, "another task").keys() == set(rules)
    rule = next(rule for rule in memory.rules("triage") if rule.text == LESSON)
    result: Any = (rule.adopted, rule.episodes, rule.helpful, rule.sources, rule.vouched)
    assert result == (1, 0, 0, ("run7 via import",), 0)
    assert (rule.task_id, rule.mean_score, rule.evidence) == ("triage", None, (adopted,))
    (shown,) = memory.cards("triage")
    result = (shown.adopted_count, shown.seen_count, shown.lesson, shown.mean_score)
    assert result == (608, 0, "Wait.", None)
    assert memory.cards() == [shown]
    assert shown.seen == "608 (adopted)"
    assert memory.cards("another task") == []
    text = str(memory.context(task_id="triage"))
    assert "- [AVOID] Guessed the port [adopted, by run7 via import, unverified]" in text
    assert f"- [WORKS] {LESSON} [adopted, by run7 via import, unverified]" in text
    seen = "seen 608 times in training memory, by run7 via import, unverified"
    assert f"- early: Wait. Evidence: the log [{seen}]" in text
    assert memory.episodes.scores("triage").episodes == 2


def test_an_episode_of_ones_own_bears_it_out(memory: Memory, adopted: str) -> None:
    said = "read the full error log of the service."
    seen: Dict = {"successes": [said], "mistake_cards": [card()], "author": "ann"}
    memory.record_episode("triage", 0.9, **seen)
    rule = next(rule for rule in memory.rules("triage") if rule.state == "active")
    result: Any = (rule.text, rule.episodes, rule.adopted, rule.helpful, rule.sources)
    assert result == (said, 1, 1, 1, ("ann", "run7 via import"))
    assert rule.evidence[1] == adopted
    text = str(memory.context(task_id="triage"))
    assert f"- [WORKS] {said} [1 episode, adopted, 2 sources; " in text
    assert text.count("error log") == 1
    assert "[1 episode, seen 608 times in training memory, 2 sources]" in text
    assert states(memory)["[AVOID] Guessed the port"] == "candidate"


def test_episodes_of_ones_own_speak_against_it(memory: Memory, adopted: str) -> None:
    for _ in range(4):
        memory.record_episode("triage", 0.1, successes=[LESSON])
    text = str(memory.context(task_id="triage"))
    assert f"[WORKS] {LESSON}" not in text
    assert f"success: {LESSON}" not in text
    for _ in range(2):
        retired = states(memory)[f"[WORKS] {LESSON}"] == "retired"
        assert retired, "what is vouched for must not stand against what happened"
        memory.verify(adopted, "human_approval")
    assert states(memory)["[AVOID] Guessed the port"] == "active"


@pytest.mark.parametrize("end", ["archive", "rollback", "forget"])
def test_it_can_be_taken_back(memory: Memory, adopted: str, end: str) -> None:
    if end == "archive":
        memory.archive(adopted, "wrong file")
    elif end == "rollback":
        memory.rollback("run7")
    else:
        assert adopted in memory.forget(author="run7").ids
        assert counts(memory) == (0, 0)
        assert b"Guessed the port" not in Path(memory.location).read_bytes()
    assert not any((memory.rules("triage"), memory.rules(), memory.cards()))
    assert "Guessed" not in str(memory.context(task_id="triage"))
    assert export_agent_memory(memory)["mistakes"] == []


def test_it_is_not_among_what_was_tried(memory: Memory, adopted: str) -> None:
    assert {record.kind for record in memory.browse()} == {"episode"}
    stats = memory.stats()
    result = (stats.records, stats.adopted, stats.decisions, stats.total, stats.by_kind)
    assert result == (2, 1, 0, 3, {"episode": 2})
    assert all(hit.record.kind == "episode" for hit in memory.recall("guessed the port"))
    assert memory.credit(adopted, True) == []
    kept = memory.get(adopted)
    assert isinstance(kept, Adopted)
    assert kept.origin == "training_memory"
    with pytest.raises(InvalidInputError, match="take_in"):
        memory.add(kept)
    assert memory.doctor().ok


def test_a_forgotten_episode_stays_forgotten(memory: Memory, adopted: str, tmp_path: Path) -> None:
    (first,) = memory.browse(kind="episode", until=START + timedelta(seconds=1))
    memory.forget(first.id)
    found = export_agent_memory(memory)
    assert [entry["summary"] for entry in found["episode_log"]] == ["Attempt 1"]
    # what was added up stays so
    assert (found["total_episodes"], len(found["score_history"]["triage"])) == (2, 2)
    again = adopt(tmp_path / "a.json", memory, author="run7")
    assert (again.added, again.forgotten, again.present) == (0, 1, 2)
    assert b"Attempt 0" not in Path(memory.location).read_bytes()
    assert memory.get(adopted) is not None


DAY = "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"score_history": {"t": [0.5, "x"]}}, "score_history.t.1"),
        ({"score_history": {"t": [0.5, float("nan")]}}, "score_history.t.1"),
        ({"episode_log": [{"timestamp": DAY, "task_id": "t"}]}, "episode_log.0.score"),
        ({"episode_log": ["an episode"]}, "episode_log.0"),
        ({"mistakes": ["fine", 5]}, "mistakes.1"),
        ({"mistake_cards": [card(task_id="t", seen_count=-1)]}, "mistake_cards.0.seen_count"),
        ({"notes": {"a\u0000b": 1}}, "data"),
        ({"notes": float("inf")}, "data"),
    ],
)
def test_a_wrong_shape_is_named(memory: Memory, tmp_path: Path, change: Dict, place: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({**fresh(), **change}))
    before = path.read_bytes()
    with pytest.raises(InvalidInputError) as caught:
        adopt(path, memory)
    assert caught.value.where == "wrong.json"
    assert caught.value.field.startswith(place), caught.value
    assert path.read_bytes() == before
    assert counts(memory) == (0, 0)


@pytest.mark.parametrize("text", ['{"version": 1', "[1, 2]", "\xff\xfe"])
def test_an_unreadable_file_is_left_as_it_is(memory: Memory, tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInputError, match=r"broken\.json"):
        adopt(path, memory)
    assert path.read_bytes() == text.encode("latin-1")
    assert counts(memory) == (0, 0)


def test_no_file(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, said in ((tmp_path / "missing.json", "cannot read"), (tmp_path, "no regular file")):
        with pytest.raises(PlaceError, match=said):
            adopt(wrong, memory)
    with pytest.raises(InvalidInputError, match="path"):
        adopt(5, memory)  # type: ignore[arg-type]
    monkeypatch.setattr(limits, "TRAINING_FILE_BYTES_MAX", 10)
    save(fresh(), tmp_path / "large.json")
    with pytest.raises(InvalidInputError, match="at most 10 bytes"):
        adopt(tmp_path / "large.json", memory)
    with pytest.raises(InvalidInputError, match="author"):
        monkeypatch.undo()
        adopt(tmp_path / "large.json", memory, author="")


ODD: list[Dict] = [
    {}, {"memory": 5, "scores": [], "log": {}}, {"memory": {}, "scores": {"t": "a b"}, "log": []},
    {"memory": {}, "scores": {}, "log": [5]},
]  # fmt: skip


@pytest.mark.parametrize("data", ODD)
def test_a_record_of_another_shape_is_harmless(memory: Memory, tmp_path: Path, data: Dict) -> None:
    """A file of records may hold anything under this kind."""
    origins = ("training_memory", "elsewhere")
    memory.care.take_in([Adopted(origin=origin, data=data) for origin in origins])
    assert not any((memory.rules("t"), memory.rules(), memory.cards()))
    assert str(memory.context(task_id="t")) == ""
    assert export_agent_memory(memory) == fresh()
    save(run(fresh(), [told(0)]), tmp_path / "a.json")
    assert adopt(tmp_path / "a.json", memory).added == 2


def test_a_record_under_the_same_id_is_a_conflict(memory: Memory, adopted: str) -> None:
    found = memory.care.take_in([Adopted(id=adopted, origin="training_memory", data={})])
    assert (found.added, found.conflicting) == (0, [adopted])
    with pytest.raises(ConflictError):
        memory.add(Episode(id=adopted, task_id="t", score=0.5))


def file_of(tmp_path: Path, name: str, **fields: Any) -> Path:
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(fields))
    return path


def find_log(scores: list[float], day: int = 1, summary: str = "x") -> list[Dict]:
    at = START + timedelta(days=day)
    entry = {"task_id": "t", "steps": 1, "summary": summary}
    return [
        {**entry, "timestamp": (at + timedelta(seconds=n)).isoformat(), "score": score}
        for n, score in enumerate(scores)
    ]


@pytest.mark.parametrize("score", [0.0, 1.0])
@pytest.mark.parametrize("day", [1, 30, 3_000])
def test_no_file_says_what_is_good(memory: Memory, tmp_path: Path, score: float, day: int) -> None:
    good: Dict = {"successes": ["good way"], "mistakes": ["slow path"], "author": "b"}
    for number in range(3):
        memory.record_episode("t", 0.3, successes=["skip the tests"], author="a")
        memory.record_episode("t", 0.4 + number / 100, **good)
    for _ in range(9):
        memory.record_episode("t", 0.8, author="c")
    before, line = states(memory, "t"), "mean score on t: 0.62, best 0.80 [15 episodes]"
    assert line in str(memory.context(task_id="t"))
    log = find_log([score if n % 5 < 3 else 0.3 for n in range(1_000)], day)
    adopt(file_of(tmp_path, "evil", episode_log=log, total_episodes=1_000), memory, author="eve")
    assert states(memory, "t") == before
    text = str(memory.context(task_id="t"))
    assert line in text
    assert "last episode, score 0.80" in text or "last episode" not in text
    # no more of a log than a saved one has
    assert memory.stats().records == 15 + MAX_EPISODES_STORED
    with Memory(tmp_path / "copy", clock=memory.care.now) as copy:
        copy.merge(memory, trust=True)
        assert states(copy, "t") == before


def test_whoever_adopts_first_does_not_own_it(memory: Memory, tmp_path: Path) -> None:
    def made(name: str, **more: Any) -> Path:
        log = find_log([0.9] * 3, summary=name)
        return file_of(tmp_path, name, episode_log=log, total_episodes=3, **more)

    good, evil = made("good", mistakes=["real"]), made("evil")
    adopt(evil, memory, author="eve")
    assert adopt(good, memory, author="ann").added == 4
    summaries = sorted(entry["summary"] for entry in export_agent_memory(memory)["episode_log"])
    assert summaries == ["evil"] * 3 + ["good"] * 3
    memory.rollback("eve")
    found = export_agent_memory(memory)
    assert [entry["summary"] for entry in found["episode_log"]] == ["good"] * 3
    assert found["mistakes"] == ["real"]
    memory.forget(author="eve")
    assert adopt(good, memory, author="ann").added == 0
    assert export_agent_memory(memory) == found


@pytest.mark.parametrize("scores", [[0.0] * 120, [0.0] * 60 + [1.0] * 60])
@pytest.mark.parametrize("turned", [False, True])
def test_an_agent_that_did_no_better_is_not_taken_for_a_later_state(
    memory: Memory, tmp_path: Path, scores: list[float], turned: bool
) -> None:
    both = [*scores, *[scores[-1]] * 180]
    made = [("one", scores, 0), ("two", both, 9_000), ("one", both, 20_000)]
    for sort, earned, start in made[:: -1 if turned else 1]:
        seen: Dict = {"mistake_cards": [card(mistake_type=sort)]}
        state = run(fresh(), [told(n, score=s, **seen) for n, s in enumerate(earned)], start)
        save(state, tmp_path / f"{start}.json")
        adopt(tmp_path / f"{start}.json", memory)
    found = export_agent_memory(memory)
    assert found["total_episodes"] == 120 + 300 + 300
    result = {each["mistake_type"]: each["seen_count"] for each in found["mistake_cards"]}
    assert result == {"one": 420, "two": 300}


def test_one_source_counts_once_however_many_files_it_has(memory: Memory, tmp_path: Path) -> None:
    liar = {"mistake_type": "liar", "task_id": "t", "seen_count": 9 * 10**15, "lesson": "L"}
    told: Dict = {"task_rules": {"t": ["[WORKS] r"]}, "mistake_cards": [liar]}
    for number in range(10):
        adopt(file_of(tmp_path, "x", total_episodes=number, **told), memory, author="x")
    two = {"mistake_type": "two", "task_id": "t", "seen_count": 2, "lesson": "L"}
    for author in ("ann", "bob"):
        adopt(file_of(tmp_path, "x", mistake_cards=[two]), memory, author=author)
    (rule,) = memory.rules("t")
    assert (rule.adopted, rule.state) == (1, "candidate")
    result = [(each.mistake_type, each.adopted_count) for each in memory.cards("t")]
    assert result == [("two", 4), ("liar", 1_000_000)]


def test_penalties_and_scores_of_another_scale_are_adopted(memory: Memory, tmp_path: Path) -> None:
    state = run(fresh(), [told(0, score=-0.5), told(1, score=7.0), told(2, score=0.5)])
    expected = save(state, tmp_path / "a.json")
    assert adopt(tmp_path / "a.json", memory).added == 4
    kept = [record for record in memory.browse(kind="episode") if isinstance(record, Episode)]
    scores = sorted(record.score for record in kept)
    assert scores == [0.0, 0.5, 1.0], "a record's are from 0 to 1"
    assert export_agent_memory(memory) == expected, "the file's own are as they were"


@pytest.mark.parametrize(
    "odd",
    [
        {"bad_decision": {"x": 1}, "correct_decision": ["y"], "worker_id": [1]},
        {"mistake_type": "a\nb\tc" + "a" * 500},
        {"worker_id": "w" * 5_000, "correct_decision": "c" * 9_000},
    ],
)
def test_whatever_the_door_wrote_can_be_adopted(memory: Memory, tmp_path: Path, odd: Dict) -> None:
    state = episode_door.new_agent_memory()
    episode_door.record_episode(state, told(0, mistake_cards=[card(**odd)]))
    path = tmp_path / "a.json"
    episode_door.save_agent_memory(state, str(path))
    adopt(path, memory)
    assert export_agent_memory(memory) == json.loads(path.read_text())
    (shown,) = memory.cards()
    assert len(shown.mistake_type) <= limits.NAME_CHARS_MAX
    assert "\n" not in shown.mistake_type


def test_a_file_no_record_holds_is_refused_with_what_to_do(memory: Memory, tmp_path: Path) -> None:
    mistakes = [f"{n} " + "m" * 9_000 for n in range(900)]
    path = file_of(tmp_path, "large", mistakes=mistakes, successes=["s"])
    said = r"large\.json.*'mistakes'.*in a copy of the file"
    with pytest.raises(InvalidInputError, match=said) as caught:
        adopt(path, memory)
    assert caught.value.field == "mistakes"
    assert counts(memory) == (0, 0)
