"""Training memory does what its document says, for whatever episodes."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import warnings
from collections import UserDict
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cases import each, examples
from hardwon.errors import InvalidInputError
from hardwon.training import functions as door
from hardwon.training.functions import (
    SkippedWarning,
    build_memory_context,
    load_agent_memory,
    maybe_consolidate_memory,
    memory_summary,
    new_agent_memory,
    record_episode,
    save_agent_memory,
)
from hardwon.training.shape import TRAINING_LESSONS_MAX, TRAINING_TEXT_CHARS_MAX, UNSAVED_MAX
from short import run_program
from training_model import DOCUMENTS, EPISODES, ROOT, TASKS, Model, documented, untimed

USAGE = {
    "task_id": "root_cause_analysis",
    "score": 0.82,
    "steps": 7,
    "trajectory_summary": "Investigated auth-service first, found JWT expiry bug",
    "mistakes": ["Escalated too early before diagnosing"],
    "successes": ["Correctly identified root cause on step 3"],
}


def agree(memory: dict[str, Any], model: Any, context: Any, summary: Any) -> None:
    assert untimed(memory) == untimed(model)
    assert list(memory) == list(model), "the keys are in the same order"
    for task in (None, *TASKS, "unknown", "never seen"):
        for most in ((5, 3), (1, 1), (2, 10), (100, 100)):
            assert build_memory_context(memory, task, *most) == context(task, *most)
    assert memory_summary(memory) == summary()


STREAMS = st.lists(EPISODES | st.sampled_from(["save", "consolidate", "load"]), max_size=60)


@given(STREAMS)
@hypothesis_settings(max_examples=examples(150))
def test_any_stream_of_episodes_gives_what_the_document_says(stream: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        follow(stream, Path(folder))


@given(st.lists(EPISODES, min_size=1, max_size=8), st.integers())
@hypothesis_settings(max_examples=examples(10))
def test_hundreds_of_episodes(some: list[Any], seed: int) -> None:
    rng = random.Random(seed)
    actions = ["save", "consolidate", "consolidate", "load"]
    stream = [
        rng.choice(actions) if rng.random() < 0.05 else vary(rng.choice(some), rng)
        for _ in range(450)
    ]
    with TemporaryDirectory() as folder:
        follow(stream, Path(folder))


def vary(episode: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    made = dict(episode)
    if rng.random() < 0.7:
        made["score"] = rng.random()
    if rng.random() < 0.7:
        made["trajectory_summary"] = f"run {rng.randrange(1000)}"
    if rng.random() < 0.3:
        made["mistakes"] = [f"mistake {rng.randrange(200)}"]
    if rng.random() < 0.3:
        made["mistake_cards"] = [{"mistake_type": f"type {rng.randrange(45)}", "lesson": "other"}]
    return made


def follow(stream: list[Any], folder: Path) -> None:
    """Through ours, through the model, and through the document's own module where it is at hand."""
    path, original_path = folder / "ours.json", folder / "original.json"
    memory, model, original = new_agent_memory(), Model(), documented()
    theirs = original.new_agent_memory() if original else {}
    for action in stream:
        if action == "consolidate":
            assert maybe_consolidate_memory(memory, path=path) is memory
            model.consolidate()
            theirs = original and original.maybe_consolidate_memory(theirs, path=str(original_path))
        elif action in ("save", "load"):
            save_agent_memory(memory, path)
            model.save()
            if action == "load":
                memory = load_agent_memory(path)
            if original:
                original.save_agent_memory(theirs, str(original_path))
                ours, saved = (json.loads(each.read_text()) for each in (path, original_path))
                assert untimed(ours) == untimed(saved)
                theirs = original.load_agent_memory(str(original_path))
        else:
            before = deepcopy(action)
            assert record_episode(memory, action) is memory
            assert action == before
            model.record(action)
            if original:
                original.record_episode(theirs, deepcopy(action))
    agree(memory, model.as_dict(), model.context, model.summary)
    if original:

        def context(*options: Any) -> Any:
            return original.build_memory_context(theirs, *options)

        agree(memory, theirs, context, lambda: original.memory_summary(theirs))


def test_the_document_is_used_where_it_is_at_hand() -> None:
    module = documented()
    assert (module is not None) == bool(DOCUMENTS)
    names = "DEFAULT_PATH MAX_EPISODES_STORED MAX_RULES_PER_TASK CONSOLIDATION_EVERY".split()
    for name in names if module else ():
        assert getattr(module, name) == getattr(door, name)


def test_constants_and_the_fresh_memory() -> None:
    result = (door.MAX_EPISODES_STORED, door.MAX_RULES_PER_TASK, door.CONSOLIDATION_EVERY)
    assert result == (100, 10, 20)
    assert door.DEFAULT_PATH == "outputs/agent_memory.json"
    assert new_agent_memory() == Model().as_dict()
    assert type(new_agent_memory()) is dict
    assert json.loads(json.dumps(new_agent_memory())) == new_agent_memory()
    assert build_memory_context(new_agent_memory(), "any") == ""


def test_a_context_word_for_word() -> None:
    memory = new_agent_memory()
    card = {"mistake_type": "low_score_episode", "lesson": "Diagnose first."}
    card["evidence"] = "Escalated on step 1."
    for score in (0.9, 0.3):
        record_episode(memory, {**USAGE, "score": score, "mistake_cards": [card]})
    assert build_memory_context(memory, "root_cause_analysis") == (
        "## MEMORY FROM PAST EPISODES\n"
        "\n"
        "Rules for root_cause_analysis:\n"
        "  - [WORKS] Correctly identified root cause on step 3\n"
        "  - [AVOID] Escalated too early before diagnosing\n"
        "\n"
        "Mistakes to avoid:\n"
        "  - AVOID: Escalated too early before diagnosing\n"
        "\n"
        "Structured mistake cards:\n"
        "  - [low_score_episode, seen 2x] Diagnose first. Evidence: Escalated on step 1.\n"
        "\n"
        "Recent root_cause_analysis episodes:\n"
        "  - Score 0.90 in 7 steps: Investigated auth-service first, found JWT expiry bug\n"
        "  - Score 0.30 in 7 steps: Investigated auth-service first, found JWT expiry bug\n"
        "\n"
        "Your mean score on root_cause_analysis: 0.60 (over 2 episodes)"
    )
    shown = build_memory_context(memory, "root_cause_analysis", max_rules=0, max_recent=0)
    assert "Rules for" not in shown
    assert "Recent" not in shown


@each(
    ("score", "rules"),
    [
        (1, ["[WORKS] s"]), (0.85, ["[WORKS] s"]), (0.84, []), (0.5, []), (0.49, ["[AVOID] m"]),
        (0, ["[AVOID] m"]),
    ],
)  # fmt: skip
def test_scores_from_which_on_a_lesson_becomes_a_rule(score: float, rules: list[str]) -> None:
    data = {"task_id": "t", "score": score, "successes": ["s"], "mistakes": ["m"]}
    assert record_episode(new_agent_memory(), data)["task_rules"] == {"t": rules}


def test_scores_and_tasks_are_all_kept_and_lists_and_texts_are_bounded() -> None:
    memory, model, rng = new_agent_memory(), Model(), random.Random(3)
    for number in range(TRAINING_LESSONS_MAX + 500):
        lessons = {"mistakes": [f"m{number}"], "successes": [f"s{number}"]}
        episode = {"task_id": rng.choice(["a", "b", str(number)]), "score": rng.random(), **lessons}
        record_episode(memory, episode)
        model.record(episode)
    assert memory["score_history"] == model.as_dict()["score_history"]
    assert memory_summary(memory)["scores_by_task"] == model.summary()["scores_by_task"]
    assert len(memory["mistakes"]) == len(memory["successes"]) == TRAINING_LESSONS_MAX
    assert memory["mistakes"][-1] == f"m{TRAINING_LESSONS_MAX + 499}"
    assert len(memory["episode_log"]) == UNSAVED_MAX


LONG = "x" * (TRAINING_TEXT_CHARS_MAX + 1)


class Tensor:
    """A number of another library, with one element."""

    def __float__(self) -> float:
        return 0.75


class Broken(UserDict[str, Any]):
    def __getitem__(self, name: str) -> Any:
        raise RuntimeError(name)


class BrokenText(str):
    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError

    strip = __getitem__ = __len__ = encode  # type: ignore[assignment]


def broken_list() -> Iterator[str]:
    yield "first"
    raise RuntimeError


def logged(name: str) -> Any:
    return lambda memory: memory["episode_log"][0][name]


def parts(name: str) -> Any:
    return lambda memory: memory[name]


@each(
    ("field", "value", "where", "kept"),
    [
        ("score", -0.5, logged("score"), -0.5),
        ("score", 7, logged("score"), 7.0),
        ("score", "0.9", logged("score"), 0.9),
        ("score", True, logged("score"), 1.0),
        ("score", Tensor(), logged("score"), 0.75),
        ("steps", "7", logged("steps"), 7),
        ("steps", 3.0, logged("steps"), 3),
        ("steps", Tensor(), logged("steps"), 0),
        ("task_id", 5, logged("task_id"), "5"),
        ("task_id", "two\nlines", logged("task_id"), "two lines"),
        ("task_id", " ", logged("task_id"), "unknown"),
        ("task_id", "x" * 201, logged("task_id"), "x" * 200),
        ("task_id", BrokenText("t"), logged("task_id"), "t"),
        ("trajectory_summary", 5, logged("summary"), "5"),
        ("trajectory_summary", None, logged("summary"), ""),
        ("trajectory_summary", "nul\0", logged("summary"), "nul\ufffd"),
        ("mistakes", "one text", parts("mistakes"), ["one text"]),
        ("mistakes", None, parts("mistakes"), []),
        ("mistakes", [5, None, ["nested"]], parts("mistakes"), ["5", "['nested']"]),
        ("mistakes", [BrokenText("m")], parts("mistakes"), ["m"]),
        ("successes", ["\udfff"], parts("successes"), ["\ufffd"]),
        (
            "mistake_cards",
            "Look first.",
            lambda it: it["mistake_cards"][0]["lesson"],
            "Look first.",
        ),
    ],
)
def test_odd_values_are_kept_where_possible(field: str, value: Any, where: Any, kept: Any) -> None:
    memory = record_episode(new_agent_memory(), {**USAGE, field: value})
    assert where(memory) == kept
    assert type(where(memory)) is type(kept)
    assert memory["total_episodes"] == 1
    assert build_memory_context(memory, value if field == "task_id" else USAGE["task_id"])
    json.dumps(memory, allow_nan=False)


GOOD_CARD = {"lesson": "good"}


@each(
    ("field", "value", "name", "instead"),
    [
        ("steps", -1, "steps", 0),
        ("steps", "many", "steps", 0),
        ("trajectory_summary", LONG, "trajectory_summary", LONG[:-1]),
        ("mistakes", broken_list(), "mistakes", ["first"]),
        ("mistakes", ["fine"] * 1001, "mistakes", ["fine"]),
        ("mistakes", iter(lambda: "again", ""), "mistakes", ["again"]),
        ("mistake_cards", [GOOD_CARD, 5], "mistake_cards.1", [GOOD_CARD]),
        ("mistake_cards", [Broken(lesson="x")], "mistake_cards.0", []),
        ("mistake_cards", [{**GOOD_CARD, "worker_id": math.nan}], "mistake_cards.0.worker_id", [GOOD_CARD]),
        ("mistake_cards", [{**GOOD_CARD, "bad_decision": LONG}], "mistake_cards.0.bad_decision", [GOOD_CARD]),
        ("mistake_cards", [{**GOOD_CARD, "mistake_type": {1: 2}}], "mistake_cards.0.mistake_type", [GOOD_CARD]),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_left_out(field: str, value: Any, name: str, instead: Any) -> None:
    memory = new_agent_memory()
    with pytest.warns(SkippedWarning, match=f"left out of an episode: {name}: "):
        assert record_episode(memory, {**USAGE, field: value}) is memory
    assert untimed(memory) == untimed(record_episode(new_agent_memory(), {**USAGE, field: instead}))
    json.dumps(memory, allow_nan=False)


@each("score", [math.nan, math.inf, "0,8", None, [0.5], object(), 10**400, b"1"])
def test_an_episode_without_a_score_leaves_its_lessons(score: Any) -> None:
    memory = new_agent_memory()
    with pytest.warns(SkippedWarning, match="score: .* its lessons are kept without one"):
        record_episode(memory, {**USAGE, "score": score, "mistake_cards": [GOOD_CARD]})
    assert memory["mistakes"] == USAGE["mistakes"]
    assert memory["successes"] == USAGE["successes"]
    assert memory["mistake_cards"][0]["lesson"] == "good"
    assert (memory["total_episodes"], memory["score_history"], memory["task_rules"]) == (1, {}, {})
    assert "Your mean score" not in build_memory_context(memory, USAGE["task_id"])


@each("data", [None, "text", ["task_id"], Broken(USAGE)])
def test_what_is_no_episode_at_all_is_named(data: Any) -> None:
    memory = new_agent_memory()
    with pytest.warns(SkippedWarning, match="episode_data"):
        record_episode(memory, data)
    assert memory == new_agent_memory()


def test_what_a_caller_changes_later_is_not_what_was_recorded() -> None:
    decision = {"action": ["approve"]}
    given = {"score": 0.2, "mistakes": ["m"], "mistake_cards": [{"bad_decision": decision}]}
    memory = record_episode(new_agent_memory(), given)
    decision["action"].append("later")
    given["mistakes"].append("later")  # type: ignore[attr-defined]
    assert memory["mistake_cards"][0]["bad_decision"] == {"action": ["approve"]}
    assert memory["mistakes"] == ["m"]


def test_what_is_no_memory_is_refused(tmp_path: Path) -> None:
    memory: Any = None
    for call in (
        lambda: record_episode(memory, USAGE),
        lambda: build_memory_context(memory),
        lambda: memory_summary(memory),
        lambda: maybe_consolidate_memory(memory, path=tmp_path / "m.json"),
        lambda: save_agent_memory(memory, tmp_path / "m.json"),
    ):
        with pytest.raises(InvalidInputError, match="memory: .*new_agent_memory"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_a_dict_that_lacks_keys_gets_them_when_it_is_recorded_into() -> None:
    memory: dict[str, Any] = {"total_episodes": 1, "mistakes": None}
    assert build_memory_context(memory, "t") == ""
    assert memory_summary(memory)["total_episodes"] == 1
    assert memory == {"total_episodes": 1, "mistakes": None}, "reading changes nothing"
    record_episode(memory, USAGE)
    assert set(memory) == set(Model().as_dict())
    assert memory["total_episodes"] == 2


@given(st.text(), st.text())
def test_any_text_is_one_line(first: str, second: str) -> None:
    memory = new_agent_memory()
    card = {"mistake_type": second, "lesson": first, "evidence": second}
    data = {"task_id": "t", "score": 0.1, "trajectory_summary": first}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedWarning)
        data |= {"mistakes": [first, second], "mistake_cards": [card]}
        record_episode(memory, data)
    lines = build_memory_context(memory, "t").split("\n")
    assert all(line.isprintable() and line.splitlines() in ([line], []) for line in lines)
    items = sum(line.startswith("  - ") for line in lines)
    texts = [line for line in lines if line and not line.startswith("  - ")]
    headings = [line.partition(":")[0] for line in texts]
    assert headings[0] == "## MEMORY FROM PAST EPISODES"
    known = ["Rules for t", "Mistakes to avoid", "Structured mistake cards"]
    known += ["Recent t episodes", "Your mean score on t"]
    assert headings[1:] == [heading for heading in known if heading in headings]
    shown = (memory["task_rules"]["t"], memory["mistakes"], memory["mistake_cards"])
    assert items == sum(map(len, shown)) + 1
    assert len(lines) == 1 + 2 * len(headings[1:]) + items


@each(
    "text",
    [
        "1. Did this", "- and  that", "# of tries: 3", "Straße → 日本語 “x” … ok", "a > b", "`code`",
        "x" * 1900,
    ],
)  # fmt: skip
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    data = {"task_id": "t", "score": 0.1, "mistakes": [text], "trajectory_summary": text}
    shown = build_memory_context(record_episode(new_agent_memory(), data), "t").split("\n")
    assert f"  - AVOID: {text}" in shown
    assert f"  - [AVOID] {text}" in shown
    assert f"  - Score 0.10 in 0 steps: {text[:100]}" in shown


def run(code: str, folder: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": f"{ROOT / 'drop_in'}{path}", "PATH": "/usr/bin:/bin"}
    environment["HOME"] = str(folder)
    return run_program(sys.executable, "-c", code, cwd=folder, env=environment, timeout=120)


SCRIPT = f"""
from training.memory import (
    build_memory_context, load_agent_memory, maybe_consolidate_memory, memory_summary, new_agent_memory, record_episode,
    save_agent_memory, DEFAULT_PATH, MAX_EPISODES_STORED, MAX_RULES_PER_TASK, CONSOLIDATION_EVERY,
)
memory = load_agent_memory()
assert build_memory_context(memory) == ""
memory = record_episode(memory, {USAGE!r})
save_agent_memory(memory)
memory = maybe_consolidate_memory(memory)
assert memory_summary(load_agent_memory())["total_episodes"] == 1
"""


def test_scripts_that_import_training_memory_run(tmp_path: Path) -> None:
    done = run(SCRIPT + "record_episode(memory, {'score': float('nan')})", tmp_path)
    kept = load_agent_memory(tmp_path / "outputs" / "agent_memory.json")
    assert kept["score_history"] == {"root_cause_analysis": [0.82]}
    # a warning points at the line of the caller, and it is the only one
    assert done.stderr.startswith("<string>:")
    assert "SkippedWarning: left out of an episode: score: nan is not allowed" in done.stderr
    assert done.stderr.count("Warning:") == 1


def test_the_drop_in_takes_what_the_documents_code_takes(tmp_path: Path) -> None:
    code = """
import training.memory
from training.memory import build_memory_context, new_agent_memory, record_episode
memory = record_episode(new_agent_memory(), {"task_id": 5, "score": "0.9", "successes": ["it works"]})
record_episode(memory, {"task_id": "mean", "score": 1.0})
training.memory.MAX_RULES_PER_TASK = 3
training.memory.CONSOLIDATION_EVERY = 8
for number in range(5):
    record_episode(memory, {"task_id": 5, "score": 0.9, "trajectory_summary": f"run {number}",
                            "successes": [f"it works {number}"]})
    training.memory.maybe_consolidate_memory(memory)
assert memory["task_rules"]["5"] == [f"[WORKS] it works {number}" for number in (2, 3, 4)]
assert memory["last_consolidated_at"] is None
record_episode(memory, {"score": 0.9, "trajectory_summary": "the last"})
training.memory.maybe_consolidate_memory(memory)
assert (memory["last_consolidated_at"], len(memory["global_rules"])) == (8, 6)
training.memory.MAX_RULES_PER_TASK = 40
more = {"task_id": 5, "score": 0.9, "successes": [f"another {number}" for number in range(30)]}
record_episode(memory, more)
other = training.memory.load_agent_memory()
training.memory.save_agent_memory(record_episode(other, {"score": 0.1}))
training.memory.save_agent_memory(memory)
assert len(training.memory.load_agent_memory()["task_rules"]["5"]) == 33
training.memory.MAX_EPISODES_STORED = 5
training.memory.save_agent_memory(memory)
assert len(memory["episode_log"]) == 5 == len(training.memory.load_agent_memory()["episode_log"])
memory = new_agent_memory()
record_episode(memory, {"task_id": "5", "score": 0.9, "successes": ["it works"]})
assert "it works" in build_memory_context(memory, 5)
assert "it works" in build_memory_context(memory, "5", max_rules=2000, max_recent=10**9)
assert "it works" not in build_memory_context(memory, "5", max_rules=-1, max_recent=-1)
assert "it works" in build_memory_context(memory, task_id="5", max_rules=2.0)
"""
    run(code, tmp_path)


def test_a_training_package_of_ones_own_keeps_its_other_modules(tmp_path: Path) -> None:
    package = tmp_path / "project" / "training"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "rewards.py").write_text("SCALE = 3")
    (package / "memory.py").write_text("raise SystemExit('the one that was replaced')")
    code = "import training.rewards, training.memory; print(training.rewards.SCALE)"
    assert run(code, tmp_path, path=f":{tmp_path}/project").stdout == "3\n"
