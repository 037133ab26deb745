"""What fixers and their programs hand in is recorded, whatever it looks like."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each
from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.fixes import machine
from hardwon.fixes.attempts import AttemptInput, as_text, fix_from, issue_from
from hardwon.lessons.issues import recorded_signature
from hardwon.memory import Memory
from hardwon.records.kinds import Fix

MACHINE = {"os": "Linux", "ram_gb": 16}
ISSUE = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT", "description": "No answer"}
REPLY: dict[str, Any] = {"analysis": "The prompt is long", "fix_type": "configuration"}
REPLY |= {"fix_commands": ["export TIMEOUT=60"], "verification_steps": ["run the prompt again"]}
REPLY |= {"confidence": 0.85, "expected_outcome": "an answer"}


def made(issue: Any = ISSUE, reply: Any = REPLY, notes: Any = None, **own: Any) -> Fix:
    said = {"fix_success": True, "verification_success": False, "fixer_type": "qwen"}
    said |= {"execution_time": 1.5, **own}
    return fix_from(AttemptInput(issue, reply, notes), **said, system_info=MACHINE)


def test_every_known_key_has_its_place() -> None:
    issue: dict[str, Any] = {**ISSUE, "error_output": "deadline exceeded"}
    issue |= {"test_prompt": "Write a poem"}
    issue |= {"expected_pattern": "poem", "actual_response": "", "attempt": 3}
    issue |= {"timestamp": "2025-01-15T10:00:00"}
    fix = made({**issue, "test_environment": {"os": "Darwin", "ram_gb": 8}}, REPLY, "went well")
    assert fix.issue.model_dump(exclude_none=True) == issue
    assert fix.system_info == {"os": "Darwin", "ram_gb": 8}
    assert {name: getattr(fix, name) for name in REPLY} == REPLY
    result = (fix.fix_success, fix.verification_success, fix.execution_time_seconds)
    assert result == (True, False, 1.5)
    assert (fix.notes, fix.fixer_type, fix.other) == ("went well", "qwen", None)


ODD_COMMANDS = ["ollama serve", {"command": "reboot"}, 7]
# What an issue or a reply says, and what a fix says then.
READ_AS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({}, {}, {"system_info": MACHINE}),
    ({"test_environment": {}}, {}, {"system_info": MACHINE, "other": None}),
    (
        {"test_environment": "a laptop"},
        {},
        {"system_info": MACHINE, "other": {"test_environment": "a laptop"}},
    ),
    ({"model": None}, {}, {"issue.model": "", "issue.description": "No answer"}),
    ({"issue_type": None, "description": None}, {}, {"issue.issue_type": "CUSTOM"}),
    ({"issue_type": "  "}, {}, {"issue.issue_type": "CUSTOM"}),
    ({}, {"analysis": None, "fix_commands": None}, {"analysis": "", "fix_commands": []}),
    ({}, {"confidence": None, "odd": None}, {"confidence": None, "other": None}),
    (
        {},
        {"fix_commands": ODD_COMMANDS},
        {"fix_commands": ["ollama serve"], "other": {"fix_commands": ODD_COMMANDS}},
    ),
    ({}, {"fix_commands": 7}, {"fix_commands": [], "other": {"fix_commands": 7}}),
    ({}, {"fix_commands": {"first": "reboot"}}, {"other": {"fix_commands": {"first": "reboot"}}}),
    ({"model": 7, "issue_type": 404}, {}, {"issue.model": "7", "issue.issue_type": "404"}),
    ({"description": ["a", 1]}, {}, {"issue.description": '["a", 1]'}),
    ({"timestamp": date(2025, 1, 2)}, {}, {"issue.timestamp": '"2025-01-02"'}),
    ({"model": "a\nb\0c"}, {}, {"issue.model": "a b\ufffdc"}),
    ({}, {"analysis": {"why": 1}}, {"analysis": '{"why": 1}'}),
    ({}, {"analysis": "half \ud800 a pair"}, {"analysis": "half \ufffd\ufffd\ufffd a pair"}),
    ({}, {"fix_type": "x" * 201}, {"other": {"fix_type": "x" * 201}}),
    # a reply does not choose its signature
    ({}, {"issue_signature": "ab" * 8}, {"other": {"reply.issue_signature": "ab" * 8}}),
]


@each(("issue", "reply", "expected"), READ_AS)
def test_whatever_is_said_has_its_place(issue: Any, reply: Any, expected: Any) -> None:
    fix = made({**ISSUE, **issue}, reply)
    assert {name: attrgetter(name)(fix) for name in expected} == expected
    assert recorded_signature(fix) is None


@each("confidence", [1.2, -1, math.nan, math.inf, "high", True, [0.5], 10**400])
def test_a_confidence_that_is_none_is_set_aside(confidence: Any) -> None:
    fix = made(reply={**REPLY, "confidence": confidence})
    assert fix.confidence is None
    assert fix.other is not None
    assert "confidence" in fix.other
    assert fix.analysis == REPLY["analysis"]


def test_keys_of_the_callers_own_stay_with_the_issue() -> None:
    own = {"severity": 3, "where": {"host": "a"}}
    fix = made({**ISSUE, **own, 5: "five", "x" * 65: 1, "": 2, "fixer_type": 9})
    assert fix.issue.__pydantic_extra__ == {**own, "5": "five", "fixer_type": "9"}
    assert fix.other is not None
    assert sorted(fix.other.values()) == [1, 2]
    many = made({f"key{number}": number for number in range(100)})
    assert len(many.issue.__pydantic_extra__) == limits.EXTRA_KEYS_MAX
    assert many.other is not None
    assert len(many.other) == 100 - limits.EXTRA_KEYS_MAX


def test_what_other_libraries_say_counts_and_a_time_that_is_none_loses_nothing() -> None:
    by_numpy = {"fix_success": np.True_, "verification_success": np.int64(0)}
    fix = made(**by_numpy, execution_time=np.float32(2.5))
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
    issue = {**ISSUE, "model": "m" * 300, "description": long}
    attempt = AttemptInput(issue, {"analysis": "short"})
    assert attempt.cut == ["model", "description"]
    assert attempt.issue.description == long[:-1]
    assert attempt.issue.model == "m" * limits.NAME_CHARS_MAX


def test_whatever_a_model_rambles_fits_a_record(memory: Memory) -> None:
    long = "é\u2028" * 100_000
    reply: dict[str, Any] = {"analysis": long, "thoughts": [{"step": long}] * 5_000}
    reply |= dict.fromkeys(("fix_commands", "verification_steps"), [long] * 50)
    reply |= {f"more {number}": long for number in range(500)}
    issue = dict.fromkeys("description error_output test_prompt actual_response mine".split(), long)
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
    reply = {"analysis": "fine", "odd": Broken(), "endless": endless}
    fix = made({**ISSUE, "test_environment": Broken()}, reply)
    assert fix.analysis == "fine"
    assert fix.other is not None
    assert fix.other["odd"] == "<Broken>"
    assert set(fix.other) == {"odd", "endless", "test_environment"}


def test_an_issue_that_is_asked_about_is_as_one_that_is_kept(memory: Memory) -> None:
    prompt = "log in with sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD and wait"
    issue = {**ISSUE, "test_prompt": prompt}
    kept = memory.record(made(issue))
    assert kept.redacted
    assert issue_from(issue).test_prompt == kept.issue.test_prompt


plain = (st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary())
keys = st.text() | st.integers()
anything = st.recursive(
    st.one_of(*plain, st.just(object())),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)
of_replies = st.sampled_from([*REPLY, "error", "odd", ""]) | st.text(max_size=80)
replies = st.dictionaries(of_replies, anything, max_size=8)
KNOWN = [*ISSUE, "test_prompt", "actual_response", "test_environment", "mine", 7]
issues = st.dictionaries(st.sampled_from(KNOWN) | st.text(), anything, max_size=8)


@given(issues, replies, anything)
def test_nothing_loses_an_attempt(issue: dict[Any, Any], reply: dict[str, Any], notes: Any) -> None:
    fix = made(issue, reply, notes)
    assert Fix.model_validate_json(fix.to_json_bytes()) == fix
    for name, value in reply.items():
        if value is not None and name not in REPLY:
            assert fix.other is not None
            assert as_text(name)[: limits.KEY_CHARS_MAX] in fix.other or name == "issue_signature"


@pytest.fixture
def _forgotten_machine() -> Iterator[None]:
    machine.system_info.cache_clear()
    yield
    machine.system_info.cache_clear()


NOTHING_RUNS = "echo 'Warning: no server runs'; echo 'client version is 0.9.2-rc1'"
VERSIONS = [("echo 'ollama version is 0.1.17'", "0.1.17"), (NOTHING_RUNS, "0.9.2-rc1")]
SILENT = ("exit 3", "echo nothing to see", "kill -9 $$", "exec sleep 60")


@pytest.mark.parametrize(("script", "version"), [*VERSIONS, *((said, None) for said in SILENT)])
@pytest.mark.usefixtures("_forgotten_machine")
def test_it_has_the_documented_keys_and_waits_for_nobody(
    script: str, version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ollama").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "ollama").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    if version is None:
        monkeypatch.setattr(machine, "_OLLAMA_TIMEOUT_S", 0.2)
    began = time.monotonic()
    found = machine.system_info()
    assert time.monotonic() - began < 50
    assert list(found)[:3] == ["os", "ram_gb", "gpu_available"]
    assert (type(found["ram_gb"]), type(found["gpu_available"])) == (int, bool)
    assert found.get("ollama_version") == version
    with pytest.raises(TypeError, match="does not support item assignment"):
        found["os"] = "another"  # type: ignore[index]  # that is the question


@pytest.mark.usefixtures("_forgotten_machine")
def test_a_gpu_is_known_by_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr(machine, "_GPU_SIGNS", (str(tmp_path / "driver"),))
    assert machine.system_info()["gpu_available"] is False
    machine.system_info.cache_clear()
    (tmp_path / "driver").mkdir()
    assert machine.system_info()["gpu_available"] is True
