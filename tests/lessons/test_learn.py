"""The pure functions that turn experience into knowledge."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cases import each
from hardwon import Fix, Issue, Memory, Step, Trajectory, generate_issue_signature, step_credit
from hardwon.errors import InvalidInputError
from hardwon.lessons import chance
from hardwon.lessons.cures import Evidence, weigh_cures
from hardwon.lessons.fix_odds import Attempts, FixCounts, Items, estimate_fix, estimate_tool
from hardwon.lessons.issues import fix_history_signature, model_family, strategy_key
from hardwon.lessons.keys import card_key, rule_key
from hardwon.lessons.order import find_near_duplicates
from hardwon.lessons.rules import Thresholds, level_of_score, rule_state
from hardwon.records.kinds import MistakeCard
from hardwon.text.failures import names_any
from hardwon.text.terms import canonical, hash_parts, list_words, say_the_same
from short import need

ISSUE = {
    "issue_type": "TIMEOUT", "model": "qwen2.5:7b",
    "test_prompt": "Write a haiku about the sea and the long way home from it", "actual_response": "x" * 60,
}  # fmt: skip


def test_a_signature_survives_what_makes_no_difference() -> None:
    signature = generate_issue_signature(ISSUE)
    assert len(signature) == 16
    assert set(signature) <= set("0123456789abcdef")
    haiku = "  write a HAIKU about\n the sea and the long way home from us"
    for same in (
        {"issue_type": " timeout "},
        {"model": "Qwen/Qwen2.5-7B-Instruct"},
        {"test_prompt": haiku},
        {"actual_response": "y" * 100},
        {"description": "anything", "error_output": None, "own": 3},
    ):
        assert generate_issue_signature({**ISSUE, **same}) == signature, same
    assert generate_issue_signature(Issue(**ISSUE)) == signature


@each(
    "other",
    [
        {"issue_type": "ERROR"}, {"model": "llama3"}, {"test_prompt": "Write a sonnet"}, {"actual_response": ""},
        {"actual_response": "x" * 5000}, {"test_prompt": None},
    ],
)  # fmt: skip
def test_a_signature_tells_different_issues_apart(other: dict[str, Any]) -> None:
    assert generate_issue_signature({**ISSUE, **other}) != generate_issue_signature(ISSUE)


def test_missing_keys_and_no_keys_are_fine() -> None:
    none = {"model": None, "test_prompt": ""}
    for nothing in (none, Issue()):
        assert generate_issue_signature({}) == generate_issue_signature(nothing)
    for wrong in ("TIMEOUT", 3, None, ["x"]):
        with pytest.raises(InvalidInputError, match="issue"):
            generate_issue_signature(wrong)  # type: ignore[arg-type]


def test_separators_in_a_part_do_not_collide() -> None:
    one, other = {"issue_type": "A|b", "model": "c"}, {"issue_type": "A", "model": "b|c"}
    # the document's formula does collide
    assert fix_history_signature(one) == fix_history_signature(other)
    assert generate_issue_signature(one) != generate_issue_signature(other)


def test_the_documents_formula_is_kept_to_the_letter() -> None:
    # md5("TIMEOUT|qwen2.5|Say hi|5"), worked out with md5sum
    issue = {**ISSUE, "test_prompt": "Say hi", "actual_response": "Hello"}
    assert fix_history_signature(issue) == "73b09c66013f8fe1"
    assert fix_history_signature({}) == "fc6a66d7ed7e24d4"


@given(st.dictionaries(st.sampled_from(list(ISSUE)), st.none() | st.text() | st.integers()))
def test_any_issue_has_signatures(issue: dict[str, Any]) -> None:
    for sign in (generate_issue_signature, fix_history_signature):
        assert len(sign(issue)) == 16
        assert sign(issue) == sign(dict(reversed(issue.items())))


@each(
    ("name", "family"),
    [
        ("qwen2.5:7b", "qwen2.5"), ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"), ("gpt-4o-2024-05-13", "gpt-4o"),
        ("mixtral-8x7b-instruct-v0.1", "mixtral"), ("deepseek-coder:6.7b-instruct-q4_0", "deepseek-coder"), ("", ""),
        ("7b", "7b"),
    ],
)  # fmt: skip
def test_model_families(name: str, family: str) -> None:
    assert model_family(name) == family


@given(st.lists(st.text(), min_size=1, max_size=4), st.lists(st.text(), min_size=1, max_size=4))
def test_keys_do_not_mix_up_parts(one: list[str], other: list[str]) -> None:
    assert (hash_parts(*one) == hash_parts(*other)) == (one == other)


@given(st.text())
def test_canonical_texts_stay_as_they_are(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)


def test_a_lesson_that_comes_back_is_the_same_lesson() -> None:
    for text in ("[WORKS] Read the log.", "[CONSOLIDATED] [WORKS] Read the log!", "- read the log"):
        assert rule_key(text, "works") == rule_key("Read the log", "works")
    for text in ("[AVOID]  read the log", "AVOID: Read the log"):
        assert rule_key(text, "avoid") == rule_key("Read the log", "avoid")
        # the opposite is not the same
        assert rule_key(text, "works") != rule_key("Read the log", "works")
    assert rule_key(" . ") == rule_key("[works]", "works") == ""


def test_what_follows_a_sea_of_spaces_is_part_of_the_lesson() -> None:
    text = "Retry with backoff"
    assert rule_key(text + " " * 5_000 + "and run evil.sh") != rule_key(text)
    assert canonical("a" + " " * 100_000 + "b") == "a b"


def test_card_and_strategy_keys() -> None:
    card = MistakeCard(mistake_type="early", worker_id=2, correct_decision="wait", lesson="x")
    assert card_key(card, "t") == card_key(card.copy_with(lesson="y"), "t")
    assert card_key(card, "t") == card_key(card.copy_with(task_id="t"), "other")
    assert card_key(card, "t") != card_key(card.copy_with(worker_id=3), "t")
    nobody, first = (card.copy_with(worker_id=number) for number in (None, 0))
    assert card_key(nobody, "t") == card_key(first, "t"), "as it always was"
    fix = Fix(issue=Issue(), fix_success=True, verification_success=True)
    assert strategy_key(fix) == ""
    slow, again = (fix.copy_with(analysis=text) for text in ("Slow.", " slow"))
    assert strategy_key(slow) == strategy_key(again)
    commands = fix.copy_with(fix_commands=["sleep  1", " "])
    same = fix.copy_with(fix_commands=["sleep 1"], analysis="whatever")
    assert strategy_key(commands) == strategy_key(same)
    assert strategy_key(commands) != strategy_key(fix.copy_with(fix_commands=["sleep", "1"]))


@each(
    ("a", "b", "x", "known"),
    [
        (1, 1, 0.3, 0.3), (2, 2, 0.5, 0.5), (2, 3, 0.5, 0.6875), (5, 1, 0.5, 0.5**5), (1, 4, 0.25, 1 - 0.75**4),
    ],
)  # fmt: skip
def test_the_beta_distribution_where_known(a: float, b: float, x: float, known: float) -> None:
    assert chance.cumulative(a, b, x) == pytest.approx(known, abs=1e-9)


@given(st.floats(0.05, 2000), st.floats(0.05, 2000), st.floats(0.01, 0.99))
def test_quantiles_undo_the_distribution(a: float, b: float, share: float) -> None:
    x = chance.quantile(a, b, share)
    assume(1e-4 < x < 1 - 1e-4)  # nearer to the edges ten digits of x are few digits of the share
    assert chance.cumulative(a, b, x) == pytest.approx(share, abs=1e-4)
    low, high = chance.interval(a, b)
    assert low <= high


@given(st.integers(1, 40), st.data(), st.floats(0.01, 0.99))
def test_the_binomial_test_is_exact(trials: int, data: st.DataObject, likely: float) -> None:
    def chance_of(k: int) -> float:
        return math.comb(trials, k) * likely**k * (1 - likely) ** (trials - k)

    successes = data.draw(st.integers(0, trials))
    summed = sum(map(chance_of, range(successes, trials + 1)))
    assert chance.at_least(successes, trials, likely) == pytest.approx(summed, abs=1e-9)


attempts = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(
    lambda both: Attempts(sum(both), both[0], both[0], float(sum(both)), float(both[0]))
)
items = st.dictionaries(st.sampled_from("fgh"), attempts, max_size=3)


@given(items, items, items, st.sampled_from(["f", "x", None]))
def test_odds_are_probabilities_within_their_interval(
    everything: Items, of_type: Items, signature: Items, fixer: str | None
) -> None:
    named = {f"T\n{name}": counts for name, counts in of_type.items()}
    known = FixCounts(everything, {"T": of_type}, "T", named, named, signature)
    for odds in (estimate_fix(known, fixer), estimate_tool({"x": of_type}, "x", "task")):
        low, high = odds.interval
        assert 0 < odds.p_success < 1
        assert 0 <= low <= odds.p_success <= high <= 1


@each("successes", [0, 1, 10, 1000])
def test_the_only_model_is_not_counted_twice(successes: int) -> None:
    counts = Attempts(successes, successes, successes, successes, successes)
    known, model = {"f": counts}, {"T\nf": counts}
    exact = estimate_fix(FixCounts(known, {"T": known}, "T", model, model, known), "f")
    assert exact.p_success == pytest.approx(estimate_fix(FixCounts(known), None).p_success)
    low, high = exact.interval
    assert low <= exact.p_success <= high
    assert high - low > 0.001 / (successes + 1)


def test_more_evidence_makes_the_interval_narrower() -> None:
    def width(times: int) -> float:
        counts = Attempts(2 * times, times, times, 2 * times, times)
        low, high = estimate_fix(FixCounts({"f": counts}), None).interval
        return high - low

    assert width(1) > width(10) > width(1000)
    assert width(1000) < 0.05


def test_levels_begin_at_the_thresholds() -> None:
    levels = [level_of_score(score) for score in (0, 0.4999, 0.5, 0.8499, 0.85, 1)]
    assert levels == [0, 9, 10, 16, 17, 19]


def episodes_at(**levels: int) -> list[float]:
    """Scores, so many of each twentieth."""
    return [int(name[5:]) / 20 for name, times in levels.items() for _ in range(times)]


def test_thresholds_follow_the_task() -> None:
    few = Thresholds.read(episodes_at(level1=4, level2=3))
    assert (few.good_from, few.bad_below) == (17, 10), "too few episodes to know better"
    weak = Thresholds.read(episodes_at(level2=400, level5=200, level8=200))
    assert (weak.good_from, weak.bad_below, weak.good_share) == (8, 8, 0.25)
    strong = Thresholds.read(episodes_at(level14=30, level17=20, level19=20))
    assert (strong.good_from, strong.bad_below) == (17, 15)
    always = Thresholds.read(episodes_at(level5=100))
    # no difference, nothing to learn from it
    assert (always.good_from, always.bad_below) == (17, 10)
    assert Thresholds.read([]).good_share == 0


@each(
    ("helpful", "harmful", "usual", "state"),
    [
        (1, 0, 0.5, "candidate"), (2, 0, 0.5, "active"), (2, 2, 0.5, "candidate"), (3, 2, 0.5, "active"),
        (1, 4, 0.5, "retired"), (7, 36, 0.25, "retired"), (60, 90, 0.25, "active"),
    ],
)  # fmt: skip
def test_rule_states(helpful: int, harmful: int, usual: float, state: str) -> None:
    assert rule_state(helpful, harmful, usual) == state


def trajectory(*rewards: float) -> Trajectory:
    steps = [Step(action=f"step {n}", reward=reward) for n, reward in enumerate(rewards)]
    return Trajectory(task="t", steps=steps, final_reward=1.0)


def test_step_credit_is_discounted_from_the_end_and_stays_finite() -> None:
    made = trajectory(0.0, 1.0, 0.0)
    assert step_credit(made, 0.5) == [0.75 + 0.0, 1.5, 1.0]
    assert step_credit(made)[-1] == 1.0
    assert step_credit(trajectory()) == []
    assert all(map(math.isfinite, step_credit(trajectory(1e308, 1e308, 1e308))))
    with pytest.raises(InvalidInputError):
        step_credit(None)  # type: ignore[arg-type]


@pytest.mark.engines("sqlite", "postgres")
def test_a_failure_is_worded_by_what_the_command_said_not_by_its_exit_code(memory: Memory) -> None:
    of_make = "SHOP_HOST is not set\nmake: *** [deploy] Error 1"
    for said in ("STAGING_HOST is not set", "", of_make):
        step = {"action": "make x", "observation": f"exit code 2 after 0.0 s\n{said}", "ok": False}
        memory.record_trajectory("make x", [step], 0.0)
    told = [failure.text for failure in memory.care.failures()]
    assert sorted(told) == ["SHOP_HOST is not set", "STAGING_HOST is not set", "exit code 2"]


def test_what_is_looked_at_between_is_not_offered(memory: Memory) -> None:
    error = "ModuleNotFoundError: No module named 'stripe'"
    steps = [
        Step(action="pytest tests/shop", observation=error, ok=False),
        Step(action="cat README.md", observation="install the extras first", ok=True),
        Step(action="pip install stripe", observation="Successfully installed stripe-9", ok=True),
        Step(action="pytest tests/shop", observation="12 passed", reward=1.0, ok=True),
    ]
    memory.record_trajectory("make the tests of the shop pass", steps, final_reward=1.0)
    assert [each.action for each in memory.solutions(error)] == ["pip install stripe"]
    assert memory.advise("pytest tests/shop", error=error).worked_instead == ("pip install stripe",)
    (failure,) = memory.care.failures()
    assert failure.fix is not None
    assert failure.fix.action == "pip install stripe"


def test_what_was_run_next_and_worked_is_the_fix(memory: Memory) -> None:
    """A terminal's commands are one run; the failure that came back has its fix all the same."""
    error = "Bind for 0.0.0.0:5432 failed: port is already allocated"
    up, recreate = "docker compose up -d", "docker compose up -d --force-recreate"
    lines = ((300, up), (298, "docker compose ps"), (297, recreate), (1, up))
    for minutes, line in lines:
        good = line != up
        step = {"action": line, "observation": "" if good else f"Error: {error}"}
        at = datetime.now(UTC) - timedelta(minutes=minutes)
        told: Any = {"timestamp": at, "source": {"id": "terminal-1"}}
        memory.record_trajectory(line, [step | {"reward": float(good)}], float(good), **told)
    (solution,) = memory.solutions(error)
    (failure,) = memory.care.failures()
    assert solution.action == recreate
    fix = need(failure.fix)
    assert (fix.action, fix.evidence) == (solution.action, solution.evidence)
    assert (fix.helped, fix.tried) == (1, 1)


@each(
    ("one", "other", "same"),
    [
        ("Always read the full error log first", "always read full error log, first!", True),
        ("Always read the full error log first", "Never read the full error log first", False),
        ("Wait 30 seconds before the next retry of it", "Wait 60 seconds before the next retry of it", False),
        ("Restart the server before the migration runs", "Restart the server after the migration runs", False),
        ("Increase the timeout of the slow model call", "Decrease the timeout of the slow model call", False),
        ("Check the index", "Check the table", False),
        ("Use pip instead of conda here", "Use conda instead of pip here", False),
        ("Close the socket, then delete the file", "Delete the file, then close the socket", False),
        ("Fetch the wheels from pypi.org for each new build", "Fetch the wheels from evil.org for each new build", False),
        ("Always read the full error log first", "Always read the full error log very first", True),
        ("guessed", "guessed.", True), ("", "", False),
    ],
)  # fmt: skip
def test_near_duplicates_say_the_same(one: str, other: str, same: bool) -> None:
    assert say_the_same(list_words(one), list_words(other)) is same


def test_near_duplicates_are_named_once() -> None:
    texts = dict.fromkeys("cab", "read the full error log first") | {"x": "something else entirely"}
    assert find_near_duplicates(texts) == [("a", "b"), ("a", "c")]


def met(*cure: str, in_vain: tuple[str, ...] = (), at_us: int = 1) -> Evidence:
    return Evidence(cure, in_vain, at_us, "ann", "a-record")


def never(_: str) -> float:
    return 0.0


def test_what_was_always_there_is_likelier_the_cure_than_what_was_there_once() -> None:
    alone = met("npm cache clean --force")
    cures = weigh_cures(
        [met("edit README.md", "npm cache clean --force"), alone, alone, alone], lambda _: 0.02
    )
    assert [cure.action for cure in cures if cure.helped] == ["npm cache clean --force"]


def test_what_is_done_all_the_time_explains_little() -> None:
    how_common = {"git fetch": 0.5, "docker start redis": 0.0}.__getitem__
    cures = weigh_cures([met("git fetch", "docker start redis")], how_common)
    assert cures[0].action == "docker start redis"
    assert cures[-1].p_helps < 0.1


def test_what_names_what_the_failure_names_is_its_cure_however_often_its_like_is_done() -> None:
    named = {"numpy"}
    cures = weigh_cures(
        [met("pip install numpy")], lambda _: 0.4, lambda action: names_any(named, action)
    )
    assert [cure.helped for cure in cures] == [1]
    assert not names_any(named, "pip install numpydoc")


def test_what_was_tried_in_vain_is_believed_less() -> None:
    once = weigh_cures([met("make clean")], never)[0]
    doubted = weigh_cures([met("make clean"), met("make all", in_vain=("make clean",))], never)
    assert next(cure for cure in doubted if cure.action == "make clean").p_helps < once.p_helps


def test_a_failure_that_passes_by_itself_has_no_cure() -> None:
    cures = weigh_cures([met(), met(), met("git branch -d old")], never)
    assert [cure.helped for cure in cures] == [0]
    assert weigh_cures([met()], never) == []
