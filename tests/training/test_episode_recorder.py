"""An attempt that is recorded while it happens, whatever happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clocks import Clock
from hardwon import Memory, limits
from hardwon.errors import InvalidInputError
from hardwon.memory.record import CARDS_PER_EPISODE_MAX
from hardwon.records.kinds import Episode


def words(text: str) -> int:
    return len(text.split())


def test_what_is_said_in_the_block_is_the_episode(memory: Memory) -> None:
    with memory.episode("triage", author="ann", tags=["night"]) as ep:
        ep.step("read the log", "KeyError", -0.1)
        ep.step("restarted")
        ep.mistake("Escalated too early")
        ep.success("Read the log first")
        ep.card(
            "early",
            worker_id=2,
            correct_decision="wait",
            lesson="Wait for the second alarm.",
            evidence="x" * 400,
        )
        ep.score = 0.4
        ep.summary = "Two steps, one of them too many"
        assert ep.record is None
    kept = ep.record
    assert kept is not None
    assert memory.get(kept.id) == kept
    assert (kept.task_id, kept.score, kept.steps, kept.trajectory_summary) == (
        "triage",
        0.4,
        2,
        "Two steps, one of them too many",
    )
    assert (kept.mistakes, kept.successes) == (["Escalated too early"], ["Read the log first"])
    (card,) = kept.mistake_cards
    assert (card.mistake_type, card.worker_id, card.correct_decision, len(card.evidence)) == (
        "early",
        2,
        "wait",
        300,
    )
    assert (kept.metadata.source.author, kept.metadata.tags, kept.recalled) == (
        "ann",
        ["night"],
        None,
    )


def test_without_a_word_it_went_well(memory: Memory) -> None:
    with memory.episode("t") as ep:
        ep.step("looked")
        ep.step()
        ep.step("fixed it")
    assert ep.record is not None
    assert (ep.record.score, ep.record.steps, ep.record.trajectory_summary) == (
        1.0,
        3,
        "looked; fixed it",
    )


@pytest.mark.parametrize(("score", "kept"), [(None, 0.0), (0.3, 0.3), (0.0, 0.0)])
def test_an_error_is_a_mistake_and_goes_on(
    memory: Memory, score: float | None, kept: float
) -> None:
    def attempt() -> None:
        with memory.episode("t") as ep:
            ep.mistake("went too fast")
            if score is not None:
                ep.score = score
            raise ZeroDivisionError("three by nought")

    with pytest.raises(ZeroDivisionError, match="three by nought"):
        attempt()
    (episode,) = memory.browse()
    assert isinstance(episode, Episode)
    assert episode.score == kept
    assert episode.mistakes == ["went too fast", "ZeroDivisionError: three by nought"]


def test_where_it_cannot_be_recorded_the_callers_error_says_so(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    with pytest.raises(ZeroDivisionError) as caught, memory.episode("t"):
        memory.close()
        _ = 1 / 0
    assert any("could not record this episode" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "say",
    [
        lambda ep: setattr(ep, "score", 7),
        lambda ep: setattr(ep, "score", float("nan")),
        lambda ep: setattr(ep, "score", "0.5"),
        lambda ep: setattr(ep, "summary", None),
        lambda ep: ep.mistake(5),
        lambda ep: ep.mistake("a\0b"),
        lambda ep: ep.success(["a list"]),
        lambda ep: ep.step(3),
        lambda ep: ep.card(worker_id=[1]),
        lambda ep: ep.card("early", no_such_field=1),
        lambda ep: ep.context(budget_tokens=0),
    ],
)
def test_what_is_not_allowed_is_refused_where_it_is_said(memory: Memory, say: Any) -> None:
    with memory.episode("t") as ep:
        ep.score = 0.5
        with pytest.raises(InvalidInputError):
            say(ep)
    assert ep.record is not None
    record = ep.record
    assert (
        record.score,
        record.steps,
        record.mistakes,
        record.successes,
        record.mistake_cards,
    ) == (0.5, 0, [], [], [])


def test_a_wrong_beginning_is_refused_before_anything_happens(memory: Memory) -> None:
    for wrong in ({"task_id": ""}, {"task_id": 5}, {"task_id": "t", "tag": "x"}):
        with pytest.raises(InvalidInputError):
            memory.episode(**wrong)
    assert memory.stats().records == 0


def test_what_was_shown_before_counts_as_recalled(memory: Memory) -> None:
    known = memory.remember("The importer needs the flag", "success", "file_operation")
    other = memory.remember("Quite another thing", "success", "file_operation")
    with memory.episode("t", recalled=[other.id]) as ep:
        context = ep.context("importer flag")
        assert "The importer needs the flag" in str(context)
        ep.context("importer flag")
        ep.score = 0.9
    assert ep.record is not None
    assert ep.record.recalled == [other.id, known.id]
    with memory.episode("t", recalled=context) as ep:
        ep.score = 0.9
    assert ep.record is not None
    assert ep.record.recalled == [known.id]
    with memory.episode("new") as ep:
        assert str(ep.context()) == ""
    assert ep.record is not None
    assert ep.record.recalled == [], "it had the memory, which had nothing to say"


def test_far_too_much_is_cut_to_what_a_record_holds(memory: Memory) -> None:
    with memory.episode("t") as ep:
        for number in range(limits.ITEMS_MAX + 50):
            ep.mistake(f"{number} " + "m" * 3_000)
            ep.success(f"{number} " + "ü" * 3_000)
            ep.card("big", lesson="l" * 300, evidence="ö" * 300)
        ep.summary = "s" * limits.TEXT_CHARS_MAX
        ep.score = 0.1
    assert ep.record is not None
    assert ep.record.mistakes[-1].startswith(f"{limits.ITEMS_MAX + 49} ")
    assert len(ep.record.mistakes) == limits.ITEMS_MAX
    assert len(ep.record.mistake_cards) == CARDS_PER_EPISODE_MAX


def test_secrets_stay_out(memory: Memory) -> None:
    key = "sk-ant-" + "a1B2" * 10

    def attempt() -> None:
        with memory.episode("t") as ep:
            ep.step(f"curl -H {key}")
            ep.mistake(f"sent {key}")
            ep.card("leak", evidence="x" * 280 + " " + key)
            raise ValueError(key)

    with pytest.raises(ValueError, match="sk-ant"):
        attempt()
    (episode,) = memory.browse()
    assert "sk-ant-a1" not in episode.to_json()
    assert episode.redacted == ["anthropic-key"]


# --- what a training loop relies on ---


def test_a_lesson_is_in_the_very_next_context(tmp_path: Path, clock: Clock) -> None:
    with Memory(tmp_path, clock=clock) as memory:
        for number in range(100):
            memory.record_episode(
                "t",
                0.25 + number % 3 / 10,
                mistakes=[f"old mistake {number % 7}"],
                successes=["did something"],
            )
        for score, lesson in (
            (0.1, "The valve is on the left"),
            (0.62, "Neither good nor bad, but said"),
            (0.9, "Ask first"),
        ):
            with memory.episode("t") as ep:
                assert lesson not in str(ep.context())
                ep.mistake(lesson)
                ep.score = score
            assert str(memory.context(task_id="t")).count(lesson) == 1, score
            assert lesson not in str(memory.context(task_id="another"))


def test_a_weak_agent_ends_with_rules_in_its_context(tmp_path: Path, clock: Clock) -> None:
    """800 episodes of mean 0.25 that never reach 0.85: what went with the better ones is shown, the
    noise is not.
    """
    with Memory(tmp_path, clock=clock) as memory:
        for number in range(800):
            careful = number % 5 == 0
            memory.record_episode(
                "t",
                (0.45 if careful else 0.2) + (number * 7 % 10) / 200 - 0.0225,
                successes=["Read the log first"] if careful else ["Answered at once"],
                mistakes=[] if careful else ["Escalated too early"],
                mistake_cards=[{"mistake_type": "false_negative_x", "lesson": "Look twice."}]
                if number % 4
                else [],
            )
        assert memory.episodes.scores("t").mean == pytest.approx(0.25, abs=0.02)
        text = str(memory.context(task_id="t"))
        assert "[WORKS] Read the log first [160 episodes, agent?]" in text
        assert "[AVOID] Escalated too early [640 episodes, agent?]" in text
        assert "[WORKS] Answered at once" not in text
        assert "false_negative_x: Look twice. [600 episodes, agent?]" in text


# --- nothing is lost at the end ---


@pytest.mark.parametrize(
    "wrong",
    [
        {"tags": 5},
        {"tags": "abc"},
        {"tags": ["x" * 10_000]},
        {"author": ""},
        {"source": {"id": object()}},
        {"source": 5},
        {"timestamp": "yesterday"},
        {"git_commit": 5},
        {"failure_hash": 5},
    ],
)
def test_a_wrong_envelope_is_refused_before_the_block(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError):
        memory.episode("t", **wrong)


def test_an_envelope_is_read_once_and_files_at_the_end(memory: Memory, tmp_path: Path) -> None:
    with memory.episode(
        "t",
        tags=(tag for tag in ("a", "b")),  # type: ignore[arg-type]
        related_files=[tmp_path / "out.txt"],
    ) as ep:
        (tmp_path / "out.txt").write_text("made in the block")
    assert ep.record is not None
    assert ep.record.metadata.tags == ["a", "b"]
    assert ep.record.metadata.context.related_files[0].hash


class Stubborn(Exception):  # noqa: N818
    __notes__ = 5  # type: ignore[assignment]


@pytest.mark.parametrize("own", [ValueError, Stubborn, KeyboardInterrupt])
def test_nothing_replaces_the_callers_own_error(memory: Memory, own: type[BaseException]) -> None:
    with pytest.raises(own), memory.episode("t") as ep:
        ep.mistakes.append(5)  # type: ignore[arg-type]
        raise own
    with pytest.raises(own), memory.trajectory("t") as tr:
        tr.steps.append(5)  # type: ignore[arg-type]
        raise own


def test_to_leave_on_purpose_is_no_mistake(memory: Memory) -> None:
    def attempts() -> Any:
        with memory.episode("generator"):
            yield 1

    generator = attempts()
    next(generator)
    generator.close()
    for code in (None, 0, 3):
        with pytest.raises(SystemExit), memory.episode(f"exit {code}"):
            raise SystemExit(code)
    with pytest.raises(SystemExit), memory.episode("scored") as ep:
        ep.score = 0.3
        raise SystemExit
    kept = {
        each.task_id: (each.score, each.mistakes)
        for each in memory.browse(kind="episode")
        if isinstance(each, Episode)
    }
    assert kept == {
        "generator": (1.0, []),
        "exit None": (1.0, []),
        "exit 0": (1.0, []),
        "exit 3": (0.0, ["SystemExit: 3"]),
        "scored": (0.3, []),
    }
