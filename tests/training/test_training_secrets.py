"""Nothing secret is in a training memory's file, and nothing else is lost on that account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardwon import limits
from hardwon.training import shape
from hardwon.training.functions import (
    build_memory_context,
    load_agent_memory,
    maybe_consolidate_memory,
    new_agent_memory,
    record_episode,
    save_agent_memory,
)
from hardwon.training.shape import TRAINING_TEXT_CHARS_MAX, AgentMemory
from llm_server import FakeLlm

SECRET = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
HIDDEN = "[REDACTED:github-token]"
CARD = {"mistake_type": "wrong_tool", "lesson": "look first"}
# every field of an episode, with what may be in it: all but the two numbers are text
FIELDS: dict[str, Any] = {
    "task_id": f"deploy {SECRET}",
    "trajectory_summary": f"pushed with {SECRET}, which worked",
    "mistakes": ["none", f"printed {SECRET}"],
    "successes": [f"used {SECRET}"],
    **{
        f"mistake_cards.{name}": [{**CARD, name: f"with {SECRET} in it"}]
        for name in shape.CARD_FIELDS
    },
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outputs" / "agent_memory.json"


def read_saved(memory: AgentMemory, path: Path) -> str:
    save_agent_memory(memory, path)
    return path.read_text()


@pytest.mark.parametrize("score", [0.1, 0.9])  # mistakes become rules of bad ones, else successes
@pytest.mark.parametrize("field", FIELDS)
def test_a_fields_secret_is_in_neither_memory_nor_file(
    field: str, score: float, path: Path
) -> None:
    memory = new_agent_memory()
    episode = {"task_id": "deploy", "score": score, field.partition(".")[0]: FIELDS[field]}
    record_episode(memory, episode)
    assert SECRET not in json.dumps(memory)
    assert SECRET not in build_memory_context(memory, memory["episode_log"][0]["task_id"])
    saved = read_saved(memory, path)
    assert SECRET not in saved
    assert HIDDEN in saved
    assert load_agent_memory(path) == memory


def test_values_of_cards_are_searched_by_the_names_inside(path: Path) -> None:
    memory = new_agent_memory()
    decision = {"tool": "psql", "env": {"DB_PASSWORD": "correcthorse"}, "retries": 3}
    record_episode(memory, {"score": 0.2, "mistake_cards": [{**CARD, "bad_decision": decision}]})
    assert "correcthorse" not in read_saved(memory, path)
    kept = memory["mistake_cards"][0]["bad_decision"]
    assert kept == {**decision, "env": {"DB_PASSWORD": "[REDACTED:password]"}}
    assert decision["env"] == {"DB_PASSWORD": "correcthorse"}, "the caller's own is left alone"


@pytest.mark.parametrize(
    ("field", "limit"),
    [
        ("trajectory_summary", TRAINING_TEXT_CHARS_MAX),
        ("evidence", limits.CARD_TEXT_CHARS_MAX),
        ("lesson", limits.CARD_TEXT_CHARS_MAX),
    ],
)
def test_no_half_secret_is_left_where_a_text_is_cut(field: str, limit: int, path: Path) -> None:
    text = "x " * (limit // 2 - 8) + f"{SECRET} " + "y " * 40_000
    memory, card = new_agent_memory(), {**CARD, field: text}
    episode = {field: text} if field == "trajectory_summary" else {"mistake_cards": [card]}
    if field == "trajectory_summary":  # which is too long for it
        with pytest.warns(UserWarning, match="the rest is cut off"):
            record_episode(memory, {"score": 0.2, **episode})
    else:
        record_episode(memory, {"score": 0.2, **episode})
    saved = read_saved(memory, path)
    assert SECRET[:8] not in saved
    assert "x x " in saved


def test_what_was_put_in_by_hand_is_saved_without_secrets(path: Path) -> None:
    memory = new_agent_memory()
    record_episode(memory, {"task_id": "deploy", "score": 0.9, "trajectory_summary": "went well"})
    log, rules = memory["episode_log"], memory["global_rules"]
    rules.append(f"always pass {SECRET}")
    log[0]["summary"] = f"went well with {SECRET}"
    memory["task_rules"]["deploy"].append(SECRET)
    memory["task_rules"][f"with {SECRET}"] = ["a rule"]
    memory["score_history"][f"with {SECRET}"] = [0.25]
    memory["notes"] = {"api_key": "correct-horse-9", "about": (f"see {SECRET}",)}
    saved = read_saved(memory, path)
    assert SECRET not in saved
    assert "correct-horse-9" not in saved
    assert SECRET not in json.dumps(memory)
    assert memory["global_rules"] is rules, "copies share the list"
    assert memory["episode_log"] is log
    assert json.loads(saved)["score_history"] == {"deploy": [0.9], f"with {HIDDEN}": [0.25]}
    assert read_saved(memory, path) == saved, "saving again changes nothing"


def test_two_tasks_whose_names_are_secrets_keep_their_episodes(path: Path) -> None:
    memory, other = new_agent_memory(), SECRET[::-1].replace("_phg", "") + "Q7"
    for task, score in ((SECRET, 0.25), ("gh" + "p_" + other, 0.75)):
        memory["score_history"][task] = [score]
        memory["task_rules"][task] = [f"a rule at {score}"]
    saved = json.loads(read_saved(memory, path))
    assert saved["score_history"] == {HIDDEN: [0.25, 0.75]}
    assert saved["task_rules"] == {HIDDEN: ["a rule at 0.25", "a rule at 0.75"]}


def test_a_task_that_is_about_passwords_keeps_its_rules_and_scores(path: Path) -> None:
    memory = new_agent_memory()
    for task in ("reset_password", "rotate_api_key"):
        episode = {"task_id": task, "score": 0.9312, "successes": ["asked for the old one first"]}
        record_episode(memory, {**episode, "trajectory_summary": "the password was reset"})
    before = json.dumps(memory)
    assert json.loads(read_saved(memory, path)) == json.loads(before)
    assert memory["task_rules"]["reset_password"] == ["[WORKS] asked for the old one first"]


def test_an_earlier_version_s_file_is_read_and_saved_without_its_secrets(path: Path) -> None:
    old = new_agent_memory()
    for number in range(3):
        record_episode(old, {"task_id": "deploy", "score": 0.5 + number / 10})
    save_agent_memory(old, path)
    content = json.loads(path.read_text())
    content["episode_log"][1]["summary"] = f"used {SECRET}"
    content["mistakes"] = [f"printed {SECRET}"]
    path.write_text(json.dumps(content))
    memory = load_agent_memory(path)
    assert SECRET not in json.dumps(memory)
    record_episode(memory, {"task_id": "deploy", "score": 0.9})
    saved = json.loads(read_saved(memory, path))
    assert SECRET not in json.dumps(saved)
    assert [logged["score"] for logged in saved["episode_log"]] == [0.5, 0.6, 0.7, 0.9]
    assert saved["episode_log"][1]["summary"] == f"used {HIDDEN}"
    assert saved["total_episodes"] == 4


def test_a_models_rules_keep_no_secrets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = new_agent_memory()
    for _ in range(20):
        record_episode(memory, {"score": 0.9, "trajectory_summary": "went well"})
    rule = f"Always pass the token {SECRET} when the deploy job asks for it."
    with FakeLlm(key="gsk_key") as server:
        monkeypatch.setenv("API_BASE_URL", server.url)
        server.reply(json.dumps({"rules": [rule]}))
        maybe_consolidate_memory(memory, "gsk_key", path)
    assert memory["global_rules"] == [f"[CONSOLIDATED] {rule.replace(SECRET, HIDDEN)}"]
    assert SECRET not in path.read_text()


def test_a_value_that_is_nested_without_end_is_refused_and_nothing_is_written(path: Path) -> None:
    memory = new_agent_memory()
    record_episode(memory, {"score": 0.9})
    endless: list[Any] = []
    endless.append(endless)
    memory["notes"] = endless
    with pytest.raises(ValueError, match="training memory"):
        save_agent_memory(memory, path)
    assert not path.exists()
