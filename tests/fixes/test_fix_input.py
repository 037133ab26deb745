"""What fixers and their programs hand in is recorded, whatever it looks like."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each
from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.fixes.attempts import AttemptInput, as_text, fix_from, issue_from
from hardwon.lessons.issues import recorded_signature
from hardwon.memory import Memory
from hardwon.records.kinds import Fix

MACHINE = {"os": "Linux", "ram_gb": 16}
ISSUE = {
    "model": "qwen2.5:7b",
    "issue_type": "TIMEOUT",
    "description": "No answer after 30 seconds",
}
REPLY = {
    "analysis": "The prompt is long",
    "fix_type": "configuration",
    "fix_commands": ["export TIMEOUT=60"],
    "verification_steps": ["run the prompt again"],
    "confidence": 0.85,
    "expected_outcome": "an answer",
}


def made(issue: Any = ISSUE, reply: Any = REPLY, notes: Any = None, **own: Any) -> Fix:
    said = {
        "fix_success": True,
        "verification_success": False,
        "execution_time": 1.5,
        "fixer_type": "qwen",
        **own,
    }
    return fix_from(AttemptInput(issue, reply, notes), **said, system_info=MACHINE)


def test_every_known_key_has_its_place() -> None:
    issue = {
        **ISSUE,
        "error_output": "deadline exceeded",
        "test_prompt": "Write a poem",
        "expected_pattern": "poem",
        "actual_response": "",
        "timestamp": "2025-01-15T10:00:00",
        "test_environment": {"os": "Darwin", "ram_gb": 8},
        "attempt": 3,
    }
    fix = made(issue, REPLY, "went well")
    assert fix.issue.model_dump(exclude_none=True) == {
        **{name: value for name, value in issue.items() if name != "test_environment"}
    }
    assert fix.system_info == {"os": "Darwin", "ram_gb": 8}
    assert {name: getattr(fix, name) for name in REPLY} == REPLY
    result = (fix.fix_success, fix.verification_success, fix.execution_time_seconds)
    assert result == (True, False, 1.5)
    assert (fix.notes, fix.fixer_type, fix.other) == ("went well", "qwen", None)


def test_without_an_environment_it_is_this_machine() -> None:
    assert made().system_info == MACHINE
    assert made({**ISSUE, "test_environment": {}}).system_info == MACHINE
    unreadable = made({**ISSUE, "test_environment": "a laptop"})
    assert unreadable.system_info == MACHINE
    assert unreadable.other == {"test_environment": "a laptop"}


def test_what_is_absent_or_none_has_its_default() -> None:
    fix = made(
        {"model": None}, {"analysis": None, "fix_commands": None, "confidence": None, "odd": None}
    )
    assert (fix.issue.model, fix.issue.issue_type, fix.issue.description) == ("", "CUSTOM", "")
    assert (fix.analysis, fix.fix_commands, fix.confidence, fix.other) == ("", [], None, None)
    assert made({"issue_type": "  "}, {}).issue.issue_type == "CUSTOM"


@each("confidence", [1.2, -1, math.nan, math.inf, "high", True, [0.5], 10**400])
def test_a_confidence_that_is_none_is_set_aside(confidence: Any) -> None:
    fix = made(reply={**REPLY, "confidence": confidence})
    assert fix.confidence is None
    assert fix.other is not None
    assert "confidence" in fix.other
    assert fix.analysis == REPLY["analysis"]


def test_commands_that_are_no_texts_are_set_aside_with_the_others() -> None:
    commands = ["ollama serve", {"command": "reboot"}, 7]
    fix = made(reply={"fix_commands": commands})
    assert fix.fix_commands == ["ollama serve"]
    assert fix.other == {"fix_commands": commands}
    assert made(reply={"fix_commands": 7}).other == {"fix_commands": 7}
    assert made(reply={"fix_commands": {"first": "reboot"}}).other == {
        "fix_commands": {"first": "reboot"}
    }


def test_wrong_types_become_text() -> None:
    fix = made(
        {"model": 7, "issue_type": 404, "description": ["a", 1], "timestamp": date(2025, 1, 2)},
        {"analysis": {"why": 1}},
    )
    result = (fix.issue.model, fix.issue.issue_type, fix.issue.description)
    assert result == ("7", "404", '["a", 1]')
    assert fix.issue.timestamp == '"2025-01-02"'
    assert fix.analysis == '{"why": 1}'
    assert made({**ISSUE, "model": "a\nb\0c"}).issue.model == "a b�c"
    assert made(notes=12).notes == "12"
    assert made(reply={"analysis": "half \ud800 a pair"}).analysis == "half ��� a pair"
    assert made(reply={"fix_type": "x" * 201}).other == {"fix_type": "x" * 201}


def test_keys_of_the_callers_own_stay_with_the_issue() -> None:
    fix = made(
        {
            **ISSUE,
            "severity": 3,
            "where": {"host": "a"},
            5: "five",
            "x" * 65: 1,
            "": 2,
            "fixer_type": 9,
        }
    )
    result = fix.issue.__pydantic_extra__
    assert result == {"severity": 3, "where": {"host": "a"}, "5": "five", "fixer_type": "9"}
    assert fix.other is not None
    assert sorted(fix.other.values()) == [1, 2]
    many = made({f"key{number}": number for number in range(100)})
    assert len(many.issue.__pydantic_extra__) == limits.EXTRA_KEYS_MAX
    assert many.other is not None
    assert len(many.other) == 100 - limits.EXTRA_KEYS_MAX


def test_what_other_libraries_say_counts_and_a_time_that_is_none_loses_nothing() -> None:
    fix = made(
        fix_success=np.True_, verification_success=np.int64(0), execution_time=np.float32(2.5)
    )
    assert (fix.fix_success, fix.verification_success) == (True, False)
    assert fix.execution_time_seconds == 2.5
    for odd in (-1, -0.1, math.nan, math.inf, 10**400, np.float64(-3)):
        fix = made(execution_time=odd)
        assert fix.execution_time_seconds is None
        assert fix.other == {"execution_time": as_text(odd)}
    no_truth: list[Any] = ["yes", None, 2, -1, 1.0, [], np.float64(1.0)]
    for value in no_truth:
        with pytest.raises(InvalidInputError, match="fix_success"):
            made(fix_success=value)


def test_keys_may_have_any_name(memory: Memory) -> None:
    names = "self model_config to_json altered copy __class__ _private model_fields issue kind ключ".split()
    fix = memory.record(made({name: name for name in names}, {name: name for name in names}))
    assert fix.issue.__pydantic_extra__ == {name: name for name in names}
    assert fix.other == {name: name for name in names}
    assert memory.get(fix.id) == fix


def test_long_texts_are_cut_and_named() -> None:
    long = "x" * (limits.TEXT_CHARS_MAX + 1)
    attempt = AttemptInput(
        {**ISSUE, "model": "m" * 300, "description": long}, {"analysis": "short"}
    )
    assert attempt.cut == ["model", "description"]
    assert attempt.issue.description == long[:-1]
    assert attempt.issue.model == "m" * limits.NAME_CHARS_MAX


def test_whatever_a_model_rambles_fits_a_record(memory: Memory) -> None:
    long = "é\u2028" * 100_000
    reply = {
        "analysis": long,
        "fix_commands": [long] * 50,
        "verification_steps": [long] * 50,
        "thoughts": [{"step": long}] * 5_000,
        **{f"more {number}": long for number in range(500)},
    }
    issue = dict.fromkeys(
        ("description", "error_output", "test_prompt", "actual_response", "mine"), long
    )
    attempt = AttemptInput({**issue, "test_environment": {"log": long}}, reply, long)
    fix = fix_from(attempt, True, True, None, "qwen", MACHINE)
    kept = memory.record(fix)
    assert memory.get(kept.id) == kept
    assert len(fix.to_json_bytes()) < limits.RECORD_BYTES_MAX
    assert kept.analysis == long[: limits.TEXT_CHARS_MAX]
    assert "fix_commands" in attempt.cut


class Broken(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(("model",))

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        raise RuntimeError


@each("value", [None, "text", [("model", "x")], 3, Broken()])
def test_an_issue_is_a_mapping(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="issue_data"):
        made(issue=value)


@each(
    ("reply", "kept", "analysis"),
    [
        (None, None, ""),
        ("Use a shorter prompt", "Use a shorter prompt", "Use a shorter prompt"),
        (" ", " ", ""),
        ([("model", "x"), 1], [["model", "x"], 1], ""),
        (3, 3, ""),
        (math.nan, "NaN", ""),
        (Broken(), "<Broken>", ""),
    ],
)
def test_a_reply_that_is_no_mapping_is_kept_aside(reply: Any, kept: Any, analysis: str) -> None:
    fix = made(reply=reply)
    assert (fix.other, fix.analysis, fix.fix_commands) == ({"ai_response": kept}, analysis, [])
    assert Fix.model_validate_json(fix.to_json()).other == {"ai_response": kept}
    assert not AttemptInput(ISSUE, reply).has_reply
    assert AttemptInput(ISSUE, {}).has_reply


def test_what_cannot_be_read_inside_a_reply_does_no_harm() -> None:
    endless: list[Any] = []
    endless.append(endless)
    fix = made(
        {**ISSUE, "test_environment": Broken()},
        {"analysis": "fine", "odd": Broken(), "endless": endless},
    )
    assert fix.analysis == "fine"
    assert fix.other is not None
    assert fix.other["odd"] == "<Broken>"
    assert set(fix.other) == {"odd", "endless", "test_environment"}


def test_an_issue_that_is_asked_about_is_as_one_that_is_kept(memory: Memory) -> None:
    issue = {
        **ISSUE,
        "test_prompt": "log in with sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD and wait",
    }
    kept = memory.record(made(issue))
    assert kept.redacted
    assert issue_from(issue).test_prompt == kept.issue.test_prompt


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.just(object()),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text() | st.integers(), inner, max_size=5)
    ),
    max_leaves=20,
)
replies = st.dictionaries(
    st.sampled_from([*REPLY, "error", "odd", ""]) | st.text(max_size=80), anything, max_size=8
)
issues = st.dictionaries(
    st.sampled_from([*ISSUE, "test_prompt", "actual_response", "test_environment", "mine", 7])
    | st.text(),
    anything,
    max_size=8,
)


@given(issues, replies, anything)
def test_nothing_said_loses_an_attempt(
    issue: dict[Any, Any], reply: dict[str, Any], notes: Any
) -> None:
    fix = made(issue, reply, notes)
    assert Fix.model_validate_json(fix.to_json_bytes()) == fix
    for name, value in reply.items():
        if value is not None and name not in REPLY:
            assert fix.other is not None
            assert as_text(name)[: limits.KEY_CHARS_MAX] in fix.other or name == "issue_signature"


def test_a_reply_does_not_choose_its_signature() -> None:
    fix = made(reply={"issue_signature": "ab" * 8})
    assert fix.other == {"reply.issue_signature": "ab" * 8}
    assert recorded_signature(fix) is None
