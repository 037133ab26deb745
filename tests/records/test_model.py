"""Records: what is allowed, what is refused and how it is said, and the schema's own JSON."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardwon
from cases import each
from hardwon import Episode, Experience, Fact, Fix, Metadata, Step, Trajectory, limits
from hardwon.errors import InvalidInputError
from hardwon.records.fields import new_id, to_us
from hardwon.records.kinds import MODEL_OF_KIND, OBSERVATION_CUT, ROUTES, AnyRecord, safe_summary
from hardwon.records.reading import parse_record
from strategies import records

REFERENCE_CARD = {
    ("success", "code_interpreter"): ("task_type", ["write", "debug", "refactor", "explain"]),
    ("success", "web_search"): ("domain", ["technical", "research", "general"]), ("success", "file_operation"): None,
    ("success", "conversation"): None,
    ("failure", "code_interpreter"): ("error_type", ["syntax", "runtime", "logic", "timeout"]),
    ("failure", "web_search"): ("reason", ["no_results", "blocked", "irrelevant"]), ("failure", "file_operation"): None,
    ("failure", "unknown"): None, ("learning", None): ("insight_type", ["pattern", "correction", "preference", "fact"]),
    ("interaction", None): ("sentiment", ["positive", "neutral", "negative"]),
}  # fmt: skip
TOOLS = (None, *"code_interpreter web_search file_operation conversation unknown browser".split())


def test_a_tree_knows_the_outcomes_and_tools_of_the_reference_card() -> None:
    schema = jsonschema.Draft202012Validator(hardwon.json_schema("experience"))
    for outcome, tool in product(["success", "failure", "learning", "interaction"], TOOLS):
        base: dict[str, Any] = {"content": "x", "outcome": outcome}
        base |= {"tool": tool} if tool else {}
        row = REFERENCE_CARD.get((outcome, tool))
        cases = [(base, row is None and (outcome, tool) in REFERENCE_CARD)]
        if row:
            key, values = row
            cases += [({**base, key: value}, value in values) for value in (*values, "other", 1)]
        for data, known in cases:
            made = Experience(**data)
            assert (made.outcome, made.tool, made.has_route) == (outcome, tool, known), data
            assert schema.is_valid(data), data
    assert len(ROUTES) == len(REFERENCE_CARD) == 10


def test_a_refused_outcome_names_the_field_the_value_and_what_is_allowed() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Experience(content="x", outcome="triumph", tool="code_interpreter", task_type="wrote")
    assert (caught.value.field, caught.value.value) == ("outcome", "triumph")
    assert caught.value.allowed == "one of success, failure, learning, interaction"


def test_extra_keys_are_kept_and_come_back() -> None:
    more: Any = {"ticket": "A-7", "run": {"n": [1, None]}, "gone": None}
    made = Experience(content="x", outcome="success", tool="conversation", **more)
    assert made.extra == {"ticket": "A-7", "run": {"n": [1, None]}}
    assert parse_record(made.to_json()) == made


@each(
    ("given_summary", "content", "expected"),
    [
        ("Fix The Race!", "c", "fix_the_race"),
        (None, "Fixed race condition in payment processor", "fixed_race_condition_in_paymen"),
        ("", "Größe geändert", "grosse_geandert"), (None, "수정 완료", "수정_완료"),
        ("결제_JWT 수정", "c", "결제_jwt_수정"), ("भुगतान ठीक", "c", "भुगतान_ठीक"),
        ("Проверка ОПЛАТЫ!", "c", "проверка_оплаты"), ("\u2026\u3002", "c", "untitled"),
        ("../../etc/passwd", "c", "etc_passwd"), ("x" * 80, "c", "x" * 50), ("keep-this_one", "c", "keep-this_one"),
    ],
)  # fmt: skip
def test_summary_is_filename_safe(given_summary: str | None, content: str, expected: str) -> None:
    told: Any = {"content": content, "outcome": "learning", "insight_type": "fact"}
    assert Experience(**told, summary=given_summary).summary == expected


@given(st.text(max_size=200))
def test_safe_summary_always_holds_its_promise(text: str) -> None:
    summary = safe_summary(text)
    assert 1 <= len(summary) <= 50
    assert all(unicodedata.category(sign)[0] in "LMN" for sign in re.sub("[_-]", "", summary))
    assert summary == summary.lower()
    assert safe_summary(summary) == summary


NOT_UNITS: list[Any] = [
    math.nan, math.inf, -math.inf, 7, -0.1, 1.0000001, True, False, "0.5", None, [], 10**400,
]  # fmt: skip


@each("value", NOT_UNITS)
def test_scores_and_confidences_are_finite_and_from_0_to_1(value: Any) -> None:
    for make, field in (
        (lambda: Episode(task_id="t", score=value), "score"),
        (lambda: Fact(content="c", fact_type="error", confidence=value), "confidence"),
    ):
        with pytest.raises(InvalidInputError, match="a finite number from 0 to 1") as caught:
            make()
        assert caught.value.field == field


@each("value", [math.nan, math.inf, True, "1", None, 10**400])
def test_step_rewards_are_finite(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="reward: .* a finite number"):
        Step(action="a", reward=value)
    if value is None:
        assert Trajectory(steps=[], final_reward=value).final_reward is None, "nobody knows"
        return
    with pytest.raises(InvalidInputError, match="final_reward: .* a finite number"):
        Trajectory(steps=[], final_reward=value)


def test_what_a_program_printed_is_cut_not_refused() -> None:
    step = Step(action="cat log", observation="a\0b " + "word " * 300_000)
    assert step.observation.startswith("ab word")
    assert step.observation.endswith("word" + OBSERVATION_CUT)
    assert len(step.observation) <= limits.TEXT_CHARS_MAX
    assert Trajectory(steps=[step], final_reward=-12.5).turned_out_well is False
    assert Step(action="a", reward=-12.5).reward == -12.5


@each("text", ["a\0b", "lone \ud800 surrogate", b"bytes", 5, None])
def test_text_that_cannot_be_kept_is_refused(text: Any) -> None:
    issue, tags = {"description": text or 1}, {"tags": [text]}
    done = {"fix_success": True, "verification_success": True}
    for field, make in (
        ("content", lambda: Fact(content=text, fact_type="error")),
        ("steps.0.action", lambda: Trajectory(steps=[{"action": text}], final_reward=0)),
        ("issue.description", lambda: Fix.model_validate({"issue": issue, **done})),
        ("metadata.tags.0", lambda: Metadata.model_validate(tags)),
    ):
        with pytest.raises(InvalidInputError) as caught:
            make()
        assert caught.value.field in (field, field.removeprefix("metadata."))


@each("bad", [math.nan, math.inf, "x\0", "\ud800", {1: 2}, object(), 2**64, b"x", (1,)])
def test_free_form_values_must_survive_json(bad: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Experience(content="x", outcome="success", tool="conversation", mine=bad)
    assert caught.value.field == "mine"
    fix: Any = {"issue": hardwon.Issue(), "fix_success": True, "verification_success": True}
    with pytest.raises(InvalidInputError) as caught:
        Fix(**fix, system_info={"deep": [bad]})
    assert caught.value.field == "system_info"


def test_nesting_and_the_number_of_extra_keys_are_bounded() -> None:
    deep: Any = 1
    for _ in range(17):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="nested at most 16 deep"):
        Experience(content="x", outcome="success", tool="conversation", deep=deep)
    many = {f"k{n}": n for n in range(65)}
    with pytest.raises(InvalidInputError, match="at most 64 extra keys"):
        Experience(content="x", outcome="success", tool="conversation", **many)
    with pytest.raises(InvalidInputError, match="at most 200000 characters"):
        Fact(content="x" * 200_001, fact_type="error")


@each("flag", [1, 0, "true", None])
def test_success_flags_are_booleans(flag: Any) -> None:
    with pytest.raises(InvalidInputError, match="fix_success: .* true or false"):
        Fix(issue=hardwon.Issue(), fix_success=flag, verification_success=True)


@each(
    ("value", "expected_us"),
    [
        ("2026-01-31T12:00:00Z", 1769860800_000000),
        ("2026-01-31T13:00:00.000001+01:00", 1769860800_000001),
        (1769860800123, 1769860800_123000),
        (datetime(2026, 1, 31, 14, tzinfo=timezone(timedelta(hours=2))), 1769860800_000000),
    ],
)
def test_times_are_read_exactly(value: Any, expected_us: int) -> None:
    moment = Metadata.model_validate({"context": {"timestamp": value}}).context
    assert to_us(moment.timestamp) == expected_us
    assert moment.timestamp.tzinfo is UTC


NO_ZONE = datetime(2026, 1, 31)  # noqa: DTZ001
NO_TIMES = ("2026-01-31T12:00:00", "2026-01-31", NO_ZONE, "yesterday", True, -1, 10**18, None, "")


@each("value", [*NO_TIMES, math.nan])
def test_times_without_a_zone_or_meaning_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="an ISO 8601 time with a zone") as caught:
        Metadata.model_validate({"context": {"timestamp": value}})
    assert caught.value.field == "context.timestamp"


def test_unknown_fields_are_named() -> None:
    refused = "socre: 0.5 is not allowed; allowed: no such field"
    with pytest.raises(InvalidInputError, match=refused):
        Episode.model_validate({"task_id": "t", "score": 0.5, "socre": 0.5})
    with pytest.raises(InvalidInputError, match=r"score is missing$"):
        Episode.model_validate({"task_id": "t"})
    with pytest.raises(InvalidInputError, match="fact_type is missing; allowed: one of error, sol"):
        Fact.model_validate({"content": "it is so"})


def test_mistake_cards_have_the_defaults_and_cuts_of_training_memory() -> None:
    card = hardwon.MistakeCard(
        evidence="e" * 301, lesson="l" * 999, worker_id="w1", bad_decision=False
    )
    assert (len(card.evidence), len(card.lesson)) == (300, 300)
    assert card.mistake_type == "unknown_mistake"
    assert hardwon.MistakeCard().lesson == "Avoid repeating this failure."


def test_unknown_issue_and_fixer_types_are_welcome_and_known_ones_listed() -> None:
    issue = hardwon.Issue(issue_type="DISK_ON_FIRE")
    fix = Fix(issue=issue, fixer_type="llama", fix_success=True, verification_success=False)
    assert (fix.issue.issue_type, fix.fixer_type, fix.succeeded) == ("DISK_ON_FIRE", "llama", False)
    schema = hardwon.json_schema("fix")
    assert "MODEL_NOT_AVAILABLE" in schema["$defs"]["Issue"]["properties"]["issue_type"]["examples"]
    assert "qwen" in schema["properties"]["fixer_type"]["examples"]


METADATA_JSON: dict[str, Any] = {
    "source": {"type": "test_result", "id": "trace-9", "author": "claude-code"},
    "context": {
        "timestamp": 1769860800123, "git_commit": "a" * 40, "git_branch": "main",
        "related_files": [{"path": "auth.ts", "hash": "b" * 40}],
    },
    "validation": {"status": "verified", "verified_by": "test_runner", "verification_id": "ci-77"},
    "tags": ["auth"],
    "project_id": "shop",
}  # fmt: skip
FOUND = {"files": ["auth.ts"], "functions": ["login"], "libraries": [], "error_codes": ["E1"]}
FACT_JSON: dict[str, Any] = {
    "content": "The agent fixed the 'null pointer exception' in 'auth.ts' by adding a check.",
    "fact_type": "solution", "confidence": 0.9, "entities": FOUND, "metadata": METADATA_JSON,
}  # fmt: skip
STEP_JSON = {"action": "add a check", "observation": "tests pass", "reward": 1.0}
RUN_JSON = {"steps": [STEP_JSON], "final_reward": 1.0, "metadata": METADATA_JSON}
PATTERN_JSON = {"diagnosis_id": "d1", "strategy": "retry", "success_rate": 0.5, "usage_count": 4}
SCHEMA_CASES: list[tuple[Any, dict[str, Any]]] = [
    (hardwon.AgentDBMetadata, METADATA_JSON),
    (hardwon.AtomicFact, FACT_JSON),
    (hardwon.ReasoningTrajectory, RUN_JSON),
    (hardwon.SolutionPattern, {**PATTERN_JSON, "metadata": METADATA_JSON}),
]


@each(("model", "data"), SCHEMA_CASES)
def test_the_metadata_schema_is_kept_word_for_word(model: Any, data: dict[str, Any]) -> None:
    assert model.model_validate(data).to_agentdb() == data
    assert model.model_validate_json(json.dumps(data)).to_agentdb() == data
    without = json.loads(json.dumps(data))
    validation = without.get("metadata", without)["validation"]
    del validation["verified_by"], validation["verification_id"]
    without.get("entities", {}).pop("error_codes", None)
    assert model.model_validate(without).to_agentdb() == without, "what is absent stays absent"


@each(
    ("change", "field"),
    [
        ({"fact_type": "rumour"}, "fact_type"), ({"confidence": 2}, "confidence"),
        ({"metadata": {**METADATA_JSON, "validation": {"status": "sure"}}}, "metadata.validation.status"),
        ({"metadata": {**METADATA_JSON, "source": {"type": "dream"}}}, "metadata.source.type"),
    ],
)  # fmt: skip
def test_invalid_schema_json_names_the_fields_path(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Fact.model_validate({**FACT_JSON, **change})
    assert caught.value.field == field


@given(records)
def test_json_round_trip_and_schema(record: AnyRecord) -> None:
    assert parse_record(record.to_json()) == record
    assert MODEL_OF_KIND[record.kind].model_validate_json(record.to_json()) == record
    validator = jsonschema.Draft202012Validator(hardwon.json_schema(record.kind))
    assert list(validator.iter_errors(json.loads(record.to_json()))) == []


@each(
    "line",
    [
        "", "null", "[]", "{}", '{"kind": "rumour"}', '{"kind": ["fact"]}', "{", '{"kind":"fact","content":NaN}',
        '"\\ud800"',
    ],
)  # fmt: skip
def test_lines_that_are_no_record_are_refused(line: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_record(line)


def test_ids_are_uuid7_and_sort_by_time() -> None:
    times = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=n) for n in range(200)]
    ids = [new_id(at) for at in times]
    assert ids == sorted(ids)
    assert len({new_id(times[0]) for _ in range(2000)}) == 2000
    assert all(made[14] == "7" and made[19] in "89ab" for made in ids)


def test_records_are_immutable() -> None:
    fact = Fact(content="c", fact_type="error")
    with pytest.raises(ValueError, match="frozen"):
        fact.content = "other"  # type: ignore[misc]
