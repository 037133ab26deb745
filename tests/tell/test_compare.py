"""Whether the memory helps: the figures, and what they are taken from."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cases import each
from clocks import START, Clock
from hardwon import Memory
from hardwon.errors import InvalidInputError
from hardwon.lessons.scores import Comparison, Scored, compare, find_difference
from short import need

scores = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = random.Random(11)
    held = 0
    for _ in range(2_000):
        tasks = []
        for hard in (0.2, 0.6):
            on = [min(1.0, max(0.0, rng.gauss(hard + 0.1, 0.08))) for _ in range(6)]
            off = [min(1.0, max(0.0, rng.gauss(hard, 0.04))) for _ in range(9)]
            tasks.append((on, off))
        found = need(find_difference(tasks))
        held += found[1][0] <= 0.1 <= found[1][1]
    assert 0.93 <= held / 2_000 <= 0.97


@given(scores, scores)
@example([0.0, 0.0], [0.0, 1.2948737623657472e-154])  # its square is no number any more
def test_the_difference_is_in_its_interval_and_turns(on: list[float], off: list[float]) -> None:
    there, back = find_difference([(on, off)]), find_difference([(off, on)])
    assert there is not None
    assert back is not None
    gained, (low, high) = there
    assert -1 <= low <= gained <= high <= 1
    assert back[0] == pytest.approx(-gained, abs=1e-12)
    assert back[1] == pytest.approx((-high, -low), abs=1e-9)


def test_an_unequal_mix_of_tasks_makes_no_difference() -> None:
    """The memory was mostly on at the hard task; within each task it helps."""
    scored = [Scored("hard", 0.3 + n % 3 / 100, True) for n in range(40)]
    scored += [Scored("hard", 0.2, False)] * 4
    scored += [Scored("easy", 0.9 + n % 3 / 100, True) for n in range(4)]
    scored += [Scored("easy", 0.8, False)] * 40
    found = compare(scored)
    assert found.on.mean is not None
    assert found.off.mean is not None
    assert found.on.mean < found.off.mean
    assert found.difference == pytest.approx(0.11, abs=0.005)
    assert found.helps


def test_too_few_to_compare() -> None:
    assert compare([]) == Comparison((0, None), (0, None), None, None, {})  # type: ignore[arg-type]
    one_each = compare([Scored("t", 0.1, False), Scored("t", 0.9, True)])
    assert (one_each.difference, one_each.interval, one_each.helps) == (None, None, False)
    on, off = "with memory: mean 0.900 of 1 episode", "without memory: mean 0.100 of 1 episode"
    assert str(one_each) == f"{on}; {off}; too few to compare"
    apart = compare([Scored("a", 0.1, False)] * 5 + [Scored("b", 0.9, True)] * 5)
    assert apart.difference is None, "two tasks that were never done both ways"


def test_runs_count_once() -> None:
    rng = random.Random(2)
    scored = []
    for on in (True, False):
        for run in range(4):
            luck = rng.gauss(0.5, 0.15)
            lucky = (min(1.0, max(0.0, luck + rng.gauss(0, 0.01))) for _ in range(50))
            scored += [Scored("t", score, on, f"{on}{run}") for score in lucky]
    by_episode, by_run = compare(scored), compare(scored, by_run=True)
    assert by_episode.difference == pytest.approx(by_run.difference)
    assert by_episode.interval is not None
    assert by_run.interval is not None
    width = by_run.interval[1] - by_run.interval[0]
    of_episodes = by_episode.interval[1] - by_episode.interval[0]
    assert width > 4 * of_episodes, "four runs, not two hundred attempts"
    unnamed = compare([each._replace(run="") for each in scored], by_run=True)
    assert unnamed.interval == by_episode.interval, "an episode of no run stands for itself"


def test_an_episode_that_names_what_it_recalled_had_the_memory(memory: Memory) -> None:
    fact = memory.record_fact("The flag is needed.", "solution")
    for number in range(6):
        memory.record_episode("t", 0.8 + number % 2 / 10, recalled=[fact.id] if number else [])
        memory.record_episode("t", 0.3 + number % 2 / 10)
    memory.record_episode("other", 0.0)
    found = memory.episodes.compare("t")
    assert (found.on.episodes, found.off.episodes) == (6, 6)
    assert found.on.mean == pytest.approx(0.85)
    assert found.off.mean == pytest.approx(0.35)
    assert found.difference == pytest.approx(0.5)
    assert found.helps
    assert found.curves == {"t": ((0.8, 0.9) * 3, (0.3, 0.4) * 3)}
    assert str(found).endswith("difference +0.500, 95 % interval +0.430 to +0.570")
    assert list(memory.episodes.compare().curves) == ["t", "other"]
    assert memory.episodes.compare().off.episodes == 7


def test_by_tag_and_by_other_filters(memory: Memory) -> None:
    tag: Any = {"tags": ["memory on"]}
    before = START - timedelta(days=9)
    for number in range(4):
        memory.record_episode("t", 0.6 + number / 100, **tag, author="ann")
        memory.record_episode("t", 0.5 + number / 100, author="ann")
        memory.record_episode("t", 0.1, **tag, author="bob", timestamp=before)
    found = memory.episodes.compare("t", tag="memory on", author="ann")
    assert (found.on.episodes, found.off.episodes) == (4, 4)
    assert found.difference == pytest.approx(0.1)
    assert memory.episodes.compare("t", tag="memory on").on.episodes == 8
    assert memory.episodes.compare("t", tag="memory on", until=START).on.episodes == 4
    assert memory.episodes.compare("t").on.episodes == 0


def test_curves_are_in_the_order_of_time_and_bounded(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.now += timedelta(days=1)
    with Memory(tmp_path, clock=clock) as memory:
        for number in (3, 1, 2, 5, 4):
            memory.record_episode("t", number / 10, timestamp=START + timedelta(hours=number))
        assert memory.episodes.compare("t").curves["t"].off == (0.1, 0.2, 0.3, 0.4, 0.5)
        monkeypatch.setattr("hardwon.lessons.scores.CURVE_SCORES_MAX", 2)
        assert memory.episodes.compare("t").curves["t"].off == (0.4, 0.5)
        monkeypatch.setattr("hardwon.memory.project.PAGE_ROWS", 2)
        monkeypatch.setattr("hardwon.memory.episodes.COMPARED_EPISODES_MAX", 3)
        newest = memory.episodes.compare("t").off
        assert newest.episodes == 3
        assert newest.mean == pytest.approx(0.4)


def test_what_does_not_count_is_not_compared(memory: Memory) -> None:
    authors = ("ann", "ann", "eve", "eve")
    kept = [memory.record_episode("t", 0.5, author=author) for author in authors]
    memory.archive(kept[0].id, "stale")
    memory.rollback("eve")
    assert memory.episodes.compare("t").off.episodes == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task_id", 5), ("tag", 5), ("by_run", "yes"), ("kind", "fact"), ("colour", "red"),
        ("since", "yesterday"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_refused(memory: Memory, name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError):
        memory.episodes.compare(**{name: value})


@each(
    ("on", "off"),
    [
        ([1.0, 1.0], [0.0, 0.0]),
        ([1.0, 1.0], [0.0, 0.01]),
        ([1.0] * 3, [0.0] * 3),
        ([0.0, 1e-81], [0.0, 0.0]),
        ([0.3] * 3, [0.1] * 3),
        ([0.3] * 9, [0.1] * 9),
    ],
)
def test_little_is_not_enough_to_be_sure(on: list[float], off: list[float]) -> None:
    found = compare([Scored("t", x, True) for x in on] + [Scored("t", x, False) for x in off])
    assert found.interval is not None
    assert found.interval[0] < 0 < found.interval[1]
    assert not found.helps


def test_what_is_always_so_is_believed_once_it_was_seen_often_enough() -> None:
    for often, high, low in ((5, 1.0, 0.0), (40, 0.3, 0.1)):
        found = compare([Scored("t", high, True)] * often + [Scored("t", low, False)] * often)
        assert found.helps
        assert found.interval is not None
        assert found.interval[0] < high - low, "and not to the last digit"


def test_coin_tosses_are_seldom_taken_for_help() -> None:
    rng = random.Random(5)

    def toss(on: bool) -> Scored:
        return Scored("t", float(rng.random() < 0.5), on)

    for often in (2, 3, 4, 5, 8):
        tosses = [
            compare([toss(on) for on in (True, False) for _ in range(often)]) for _ in range(600)
        ]
        assert sum(each.helps for each in tosses) / 600 <= 0.045, often
