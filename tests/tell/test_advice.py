"""Advice: one probability from all evidence, and a verdict and words that follow from it."""

from __future__ import annotations

from typing import Any

import pytest

from engines import ENGINES
from hardwon import Memory
from hardwon.learn.actions import action_kinds
from hardwon.text.failures import failure_hash
from hardwon.text.likeness import likeness

TRACEBACK = "Traceback (most recent call last):\nKeyError: 'id'"
ISSUE = {"model": "m", "issue_type": "TIMEOUT", "description": "no answer within a minute"}

pytestmark = pytest.mark.engines(*ENGINES)


def run(memory: Memory, task: str, action: str, observation: str = "", **more: Any) -> None:
    step = {"action": action, "observation": observation, **more}
    memory.record_trajectory(task, [step], float(more.get("ok", True)))


def test_nothing_known_is_unknown_and_no_number_is_pretended(memory: Memory) -> None:
    advice = memory.advise("make deploy", task="deploy the shop")
    assert (advice.verdict, advice.p_success, advice.evidence) == ("unknown", 0.5, ())
    assert advice.message == "Nothing is known of this."
    for number in range(6):
        run(memory, f"task {number}", f"pytest tests/test_{number}.py", ok=number > 0)
    advice = memory.advise("make deploy", task="deploy the shop")
    assert advice.verdict == "unknown"
    assert advice.p_success == pytest.approx((5 + 1) / (6 + 2)), "what works here in general"
    assert "75%" in advice.message
    run(memory, "look around", "ls")
    by_words = memory.advise("black tests", task="format the code")
    assert by_words.verdict == "ok", "what has to do with tests was met often"
    assert list(by_words.basis) == ["actions with its words", "all actions"]


def test_what_the_caller_says_of_a_step_is_believed(memory: Memory) -> None:
    for _ in range(3):
        run(memory, "put the mug away", "put(mug, shelf)", "Nothing happens.", ok=False)
        run(memory, "read the handler", "cat errors.py", f"raise ValueError\n{TRACEBACK}", ok=True)
    failing = memory.advise("put(mug, shelf)", task="put the mug away")
    assert (failing.verdict, failing.failures) == ("blocked", 3)
    assert failing.p_success < 0.1
    assert "nothing happens" in failing.message.lower()
    assert "speaks against" not in failing.message, "how it failed says more than a word of it"
    reading = memory.advise("cat errors.py", task="read the handler")
    assert reading.verdict == "ok"
    assert reading.p_success > 0.8


def test_what_failed_without_a_word_and_what_is_done_over_and_over_is_said(memory: Memory) -> None:
    for _ in range(2):
        run(memory, "find the word", "tar -xf a.tar | grep word", ok=False)
        run(memory, "find the word", "ls", "a.tar", ok=True)
    silent = memory.advise("tar -xf a.tar | grep word", task="find the word")
    assert (silent.verdict, silent.failures) == ("caution", 2)
    assert silent.message.startswith("This failed here 2 times before, and nothing showed why.")
    again = [{"action": "ls", "observation": "a.tar", "ok": True}] * 3
    assert "done 3 times in this attempt" in memory.advise("ls", steps=again).message
    doubtful = memory.advise("tar -xf b.tar | wc", task="count the words")
    assert (doubtful.verdict, doubtful.p_success < 0.5) == ("ok", True)
    assert doubtful.message.startswith("It may be tried: of its like, ")


def test_what_helped_and_solved_the_task_stands_first(memory: Memory) -> None:
    failed = {"action": "make deploy", "observation": TRACEBACK, "ok": False}
    for cure, times in (("set ID=1", 3), ("make clean", 2), ("make init", 1)):
        for _ in range(times):
            step = {"action": cure, "observation": "done", "ok": True}
            memory.record_trajectory("deploy the shop", [failed, step], 1.0)
    advice = memory.advise("make deploy", task="deploy the shop")
    assert advice.worked_instead == ("set ID=1", "make clean", "make init")


def test_an_action_that_failed_as_a_fix_is_not_likely(memory: Memory) -> None:
    for _ in range(3):
        memory.record_fix(ISSUE, False, False, "", ["systemctl restart model"])
    for _ in range(2):
        memory.record_fix(ISSUE, True, True, "", ["clear the cache"])
    failed = memory.advise("systemctl restart model", issue=ISSUE)
    assert (failed.verdict, failed.failures) == ("blocked", 3)
    assert failed.p_success < 0.35
    assert failed.worked_instead == ("clear the cache",)
    worked = memory.advise("clear the cache", issue=ISSUE)
    assert worked.verdict == "ok"
    assert worked.p_success > memory.odds(ISSUE).p_success > failed.p_success


def test_a_fix_in_words_that_is_said_again_is_the_same_fix(memory: Memory) -> None:
    again = "The loop ends one too early: let it run to the end of the list."
    for name in ("first", "last", "longest", "oldest", "cheapest"):
        issue = {**ISSUE, "model": name, "description": f"the {name} row is missing"}
        memory.record_fix(issue, False, False, again)
        memory.record_fix(issue, True, True, f"the {name} row was read twice", ["make rows"])
    elsewhere = memory.advise(again.upper(), issue=ISSUE)
    assert (elsewhere.verdict, len(elsewhere.evidence)) == ("caution", 5)
    assert elsewhere.p_success < 0.25
    memory.record_fix(ISSUE, False, False, again)
    memory.record_fix(ISSUE, False, False, again)
    here = memory.advise(again, issue=ISSUE)
    assert (here.verdict, here.failures) == ("blocked", 2)
    found_out = memory.advise("the last row was read twice", issue=ISSUE)
    assert not found_out.evidence, "what was run tells what was done, not what it was about"


def test_a_fix_that_worked_twice_is_likelier_than_not_and_an_error_elsewhere_changes_nothing(
    memory: Memory,
) -> None:
    for _ in range(2):
        memory.record_fix(ISSUE, True, True, "", ["clear the cache"])
        memory.record_fix(ISSUE, False, False, "", ["systemctl restart model"])
    worked = memory.advise("clear the cache", issue=ISSUE)
    assert worked.p_success > 0.6
    assert f"p = {worked.p_success:.2f}" in worked.message
    for error in (None, "fatal: not a git repository (or any of the parent directories): .git"):
        failed = memory.advise("systemctl restart model", issue=ISSUE, error=error)
        assert failed.verdict == "blocked"
        assert failed.p_success <= 0.25


def test_facts_that_name_an_action_count_for_it_or_against_it(memory: Memory) -> None:
    hashed = failure_hash("ResolutionImpossible: conflicting dependencies")
    for host in ("laptop", "build server", "staging server"):
        memory.record_fact(
            f"On the {host} `pip install shop[all]` ends with conflicting dependencies.",
            "error",
            failure_hash=hashed,
        )
    memory.record_fact(
        "The dependencies of the shop are installed by `uv sync --locked`.",
        "solution",
        failure_hash=hashed,
    )
    failing = memory.advise("pip install shop[all]")
    assert (failing.verdict, failing.failures) == ("blocked", 3)
    assert failing.p_success < 0.25
    working = memory.advise("uv sync --locked")
    assert working.verdict == "ok"
    assert working.p_success > 0.5
    assert memory.advise("pip").verdict == "unknown", "a single word may be any word"
    assert memory.advise("uv sync").verdict == "unknown", "with another option it is another"
    (said,) = memory.solutions("ResolutionImpossible: conflicting dependencies")
    assert "uv sync --locked" in said.action


def test_an_experience_that_begins_with_an_action_is_about_it(memory: Memory) -> None:
    for said in ("`git push --force` to main was refused", "After git pull, make build failed"):
        memory.remember(said, outcome="failure", tool="git")
    advice = memory.advise("git push --force")
    assert (advice.verdict, advice.failures) == ("caution", 1)
    assert "was refused" in advice.message
    assert {memory.advise(each).verdict for each in ("git pull", "make build", "git push")} == {
        "unknown"
    }, "what else an experience mentions is not what it is about"


def test_advice_on_an_issue_without_an_attempt_is_its_odds(memory: Memory) -> None:
    for number in range(8):
        memory.record_fix(ISSUE, True, number % 3 == 0, "", [f"try {number}"], fixer_type="ann")
    odds = memory.odds(ISSUE, fixer="ann")
    advice = memory.advise("something new", issue=ISSUE, author="ann")
    assert advice.p_success == pytest.approx(odds.p_success)
    assert advice.basis["all"] == odds.basis[0].attempts


def test_a_fix_that_speaks_of_the_issue_is_likelier_where_such_fixes_worked(memory: Memory) -> None:
    for number in range(6):
        issue = {"model": "m", "issue_type": "BUG", "description": f"table {number} is not locked"}
        memory.record_fix(issue, True, True, f"the table {number} was never locked: lock it")
        memory.record_fix(issue, True, False, "restart everything, then clear all caches twice")
    asked = {"model": "m", "issue_type": "BUG", "description": "the queue is read past its end"}
    odds = memory.odds(asked).p_success
    about_it = memory.advise("stop before the end of the queue is read", issue=asked)
    about_nothing = memory.advise("reboot the machine and hope for better", issue=asked)
    assert about_it.p_success > odds + 0.1 > odds - 0.1 > about_nothing.p_success
    assert about_it.basis["words shared with the issue"] == 6
    assert memory.advise("fix it", issue=asked).p_success == pytest.approx(odds), "too few words"


def test_two_failed_scripts_do_not_make_every_script_hopeless(memory: Memory) -> None:
    for _ in range(2):
        run(memory, "run x", "python x.py", TRACEBACK)
    other = memory.advise("python y.py", task="run y")
    assert other.verdict == "ok"
    assert other.p_success == pytest.approx(0.25), "as of anything here"
    same = memory.advise("python x.py", task="run x")
    assert same.verdict == "blocked"
    assert same.p_success < other.p_success


def test_the_same_action_for_another_task_is_another_question(memory: Memory) -> None:
    for _ in range(2):
        run(memory, "sum of squares", "<solution>4</solution>", "Your answer is wrong", ok=False)
        run(memory, "two and two", "<solution>4</solution>", "", ok=True)
    wrong = memory.advise("<solution>4</solution>", task="sum of squares")
    right = memory.advise("<solution>4</solution>", task="two and two")
    assert (wrong.verdict, right.verdict) == ("blocked", "ok")
    assert right.p_success > 0.7 > 0.3 > wrong.p_success
    assert right.basis["this action for this task"] == pytest.approx(2)


def test_working_and_solving_are_two_numbers(memory: Memory) -> None:
    steps = [
        {"action": "SHOW TABLES", "observation": "[('student',)]", "reward": 0.0},
        {"action": "SELECT name FROM student", "observation": "[('Ann',)]", "reward": 1.0},
    ]
    for number in range(5):
        memory.record_trajectory(f"question {number}", steps, 1.0)
    looking = memory.advise("SHOW TABLES", task="question 6")
    asking = memory.advise("SELECT name FROM student", task="question 6", steps=steps[:1])
    assert min(looking.p_success, asking.p_success) > 0.8
    assert looking.p_solved < 0.3 < asking.p_solved <= asking.p_success


def test_what_made_an_error_go_away_is_said_whatever_the_verdict(memory: Memory) -> None:
    error = "error: The branch 'feature' is not fully merged.\nIf you are sure, run git branch -D"
    memory.record_trajectory(
        "git branch -d feature",
        [
            {"action": "git branch -d feature", "observation": error},
            {"action": "git branch -D feature", "observation": "", "reward": 1.0},
        ],
        1.0,
    )
    like = error.replace("feature", "billing")
    found = memory.solutions(like)
    assert [each.action for each in found] == ["git branch -D feature"]
    advice = memory.advise("git branch -d billing", task="clean up", error=like)
    assert advice.worked_instead == ("git branch -D feature",)
    assert "“git branch -D feature” (helped 1 of 1)" in advice.message
    assert memory.solutions("ls: cannot access 'x': No such file or directory") == []
    assert (
        memory.advise("ls x", task="list", error="bash: ll: command not found").worked_instead == ()
    )


def test_what_helped_at_the_same_task_comes_first(memory: Memory) -> None:
    page = "You are in a repository with these files: " + "".join(f"src/{n}.py " for n in range(99))
    tasks = ((f"{page}Parse orders", "use .get('id')"), (f"{page}Parse users", "skip the guests"))
    for task, cure in tasks:
        steps: list[dict[str, Any]] = [
            {"action": "python parse.py", "observation": TRACEBACK},
            {"action": cure, "observation": "3 passed", "reward": 1.0},
        ]
        memory.record_trajectory(task, steps, 1.0)
    for task, cure in tasks:
        advice = memory.advise("python parse.py", task=task.upper(), error=TRACEBACK)
        assert advice.worked_instead[0] == cure, "however long tasks are that begin alike"


def test_what_did_not_help_at_the_same_task_takes_no_turn_from_what_did(memory: Memory) -> None:
    failed = {"action": "python parse.py", "observation": TRACEBACK, "reward": -1.0}

    def cured(task: str, *cures: tuple[str, str, float]) -> None:
        steps = [{"action": a, "observation": seen, "reward": earned} for a, seen, earned in cures]
        memory.record_trajectory(task, [failed, *steps], 1.0)

    vain = ("pip install parser", TRACEBACK, -1.0)
    cured("parse the orders", vain, ("use .get('id')", "3 passed", 1.0))
    for number in range(3):
        cured(f"parse list {number}", ("skip the guests", "3 passed", 1.0))
    advice = memory.advise("look", task="parse the orders", error=TRACEBACK, steps=[failed])
    assert advice.worked_instead == ("use .get('id')", "skip the guests")


def test_an_action_that_was_escaped_for_markdown_is_the_same_action(memory: Memory) -> None:
    run(memory, "area", r"area\_of\_x = 0.5 \* a", "SyntaxError: unexpected character", ok=False)
    run(memory, "area", "area_of_x = 0.5 * a", "SyntaxError: unexpected character", ok=False)
    assert memory.advise(r"area\_of_x = 0.5 * a", task="area").verdict == "blocked"
    run(memory, "look", r"find . -name \*.py", "error: permission denied", ok=False)
    assert memory.advise("find . -name *.py", task="look").failures == 0, "a shell's own escape"


def test_what_helped_after_a_like_action_comes_first(memory: Memory) -> None:
    for thing in ("drawer 1", "microwave 1"):
        steps: list[dict[str, Any]] = [
            {"action": f"put('egg 1', '{thing}')", "observation": "Nothing happens.", "ok": False},
            {"action": f"open('{thing}')", "observation": f"{thing} is open.", "ok": True},
        ]
        memory.record_trajectory("put an egg away", steps, 1.0)
    for thing in ("drawer 1", "microwave 1"):
        failed = {"action": f"put('egg 2', '{thing}')", "observation": "Nothing happens."}
        advice = memory.advise(
            "look()", task="put an egg away", error="Nothing happens.", steps=[failed]
        )
        assert advice.worked_instead[0] == f"open('{thing}')"
    found = memory.solutions("Nothing happens.")
    assert {each.after for each in found} == {
        "put('egg 1', 'drawer 1')",
        "put('egg 1', 'microwave 1')",
    }


def test_code_that_helped_can_be_run_again(memory: Memory) -> None:
    program = "def total(rows):\n    return sum(row['price'] for row in rows)\n\nprint(total([]))"
    steps: list[dict[str, Any]] = [
        {"action": "print(totl([]))", "observation": "NameError: name 'totl' is not defined"},
        {"action": program, "observation": "0", "reward": 1.0},
    ]
    memory.record_trajectory("add up", steps, 1.0)
    (found,) = memory.solutions("NameError: name 'sm' is not defined")
    lines = [line.removeprefix(" " * 6) for line in found.action.splitlines()]
    assert lines == [line for line in program.splitlines() if line]


@pytest.mark.engines("sqlite")
def test_where_a_notebook_points_to_is_not_the_failure() -> None:
    shown = (
        "Traceback (most recent call last)\nCell In[{0}], line {1}\n      1 res = total({2})\n"
        '{3} {1} assert res == {2}, "Expected {2}"\n\nAssertionError: Expected {2} but got 4'
    )
    ninth, tenth = (shown.format(*case) for case in ((3, 9, 6, "---->"), (7, 10, 8, "--->")))
    assert failure_hash(ninth) == failure_hash(tenth)


@pytest.mark.engines("sqlite")
def test_kinds_of_actions_and_like_failures() -> None:
    assert action_kinds("git push --force origin main") == ["git", "git push"]
    assert action_kinds("ls -la /tmp") == ["ls"]
    assert action_kinds("<solution>4</solution>") == ["<solution"]
    assert action_kinds("a = 1\nprint(a)") == ["several lines"]
    assert action_kinds("  ") == []
    for before in ("cd web && ", "DB_HOST=localhost ", "sudo ", "env A='a b' B= ", "cd x; time "):
        assert action_kinds(f"{before}npm test") == ["npm", "npm test"], "where and how it runs"
    assert action_kinds("cd web") == ["cd", "cd web"]
    refused = "curl: (7) Failed to connect to {} port {}: Connection refused"
    assert likeness(refused.format("a.example", 80), refused.format("b.example", 8080)) > 0.9
    assert likeness("cat: a: No such file or directory", "rm: b: No such file or directory") == 0
    assert likeness("", "anything at all") == 0


@pytest.mark.engines("sqlite")
def test_what_all_failures_have_in_common_makes_no_two_of_them_alike() -> None:
    mistyped = "exit code 127 after 0.1 s\ngti: command not found"
    traceback = (
        'exit code 1 after 0.1 s\nTraceback (most recent call last):\n  File "t.py", line {0}, in '
        "<module>\n    {1}\n{2}"
    )
    module = traceback.format(1, "import nump", "ModuleNotFoundError: No module named 'nump'")
    other_module = traceback.format(9, "import reqs", "ModuleNotFoundError: No module named 'reqs'")
    zero = traceback.format(3, "print(1 / 0)", "ZeroDivisionError: division by zero")
    assert likeness(mistyped, zero) == 0, "how a command ended is no likeness"
    assert likeness("exit code 1 after 0.1 s", "exit code 1 after 0.1 s\n") == 0
    assert likeness(module, zero) == 0, "nor is the frame of a traceback"
    assert likeness(module, other_module) == 1


def test_a_mistyped_command_is_not_answered_with_what_mended_a_program(memory: Memory) -> None:
    steps: list[dict[str, Any]] = [
        {
            "action": "python t.py",
            "observation": "exit code 1 after 0.1 s\nTraceback (most recent call last):\n"
            '  File "t.py", line 1, in <module>\nZeroDivisionError: division by zero',
        },
        {"action": "edit t.py: x = 1"},
        {"action": "python t.py", "observation": "exit code 0 after 0.1 s", "reward": 1.0},
    ]
    memory.record_trajectory("mend t.py", steps, 1.0)
    assert memory.solutions("exit code 127 after 0.1 s\ngti: command not found") == []
    assert memory.solutions("exit code 1 after 0.1 s\nNameError: name 'a' is not defined") == []


def test_a_command_that_says_nothing_is_answered_with_what_was_done_about_that_command(
    memory: Memory,
) -> None:
    silent = "exit code 1 after 0.1 s"
    steps = [
        {"action": "./check.sh", "observation": silent, "reward": 0.0},
        {"action": "./check.sh --fix", "observation": "exit code 0 after 1.0 s", "reward": 1.0},
    ]
    memory.record_trajectory("check it", steps, 1.0)
    (cure,) = memory.solutions(silent, action="./check.sh")
    assert cure.action == "./check.sh --fix"
    assert memory.solutions(silent, action="./deploy.sh") == []
    assert memory.solutions(silent) == []


def test_what_helped_against_the_same_names_after_the_same_action_comes_first(
    memory: Memory,
) -> None:
    missing = "ModuleNotFoundError: No module named '{0}'"
    for module, times in (("requests", 3), ("numpy", 1)):
        steps: list[dict[str, Any]] = [
            {"action": f"python {module}_job.py", "observation": missing.format(module)},
            {"action": f"pip install {module}", "reward": 1.0},
        ]
        for _ in range(times):
            memory.record_trajectory(f"run the {module} job", steps, 1.0)
    found = memory.solutions(missing.format("numpy"))
    assert [each.action for each in found] == ["pip install numpy", "pip install requests"]
    there = memory.solutions(missing.format("torch"), action="python numpy_job.py")
    assert there[0].action == "pip install numpy"
    there = memory.solutions("a failure of its own", task="run the numpy job")
    assert [each.action for each in there] == ["pip install numpy"]


def test_a_command_that_failed_is_answered_with_the_run_that_worked_later(memory: Memory) -> None:
    error = "error: STAGING_HOST is not set\nmake: *** [Makefile:2: deploy] Error 2"
    for _ in range(2):
        run(memory, "make deploy", "make deploy", error, ok=False)
    run(memory, "make docs", "make docs", "ok", ok=True)
    assert memory.solutions(error) == [], "another target is no way out of it"
    assert memory.advise("make deploy").worked_instead == ()
    run(memory, "env STAGING_HOST=eu make deploy", "env STAGING_HOST=eu make deploy", ok=True)
    (found,) = memory.solutions(error)
    assert (found.action, found.after) == ("env STAGING_HOST=eu make deploy", "make deploy")
    advice = memory.advise("make deploy")
    assert advice.worked_instead == ("env STAGING_HOST=eu make deploy",)
    assert "“env STAGING_HOST=eu make deploy” (helped 1 of 1)" in advice.message


def test_advice_says_what_was_said_and_offers_nothing_that_deletes_unasked(memory: Memory) -> None:
    def step(action: str, observation: str, reward: float) -> dict[str, Any]:
        return {"action": action, "observation": observation, "reward": reward}

    error = "ModuleNotFoundError: No module named 'Yaml'"
    for action, task in (("rm -rf /data/old", "remove old data"), ("pip install pyyaml", "run it")):
        steps = [step("python x.py", error, 0.0), step(action, "", 1.0)]
        memory.record_trajectory(task, steps, 1.0)
    for task, offered in (("list the users", 1), ("clean up what is old", 2)):
        advice = memory.advise("python x.py", task=task, error=error)
        assert len(advice.worked_instead) == offered, advice.worked_instead
    is_folder = [step("rm foo", "rm: foo: Is a directory", 0.0), step("rm -rf foo", "", 1.0)]
    memory.record_trajectory("rm foo", is_folder, 1.0)
    asked = memory.advise("hdfs dfs -rm bar", error="rm: `bar`: Is a directory")
    assert asked.worked_instead == ("rm -rf foo",), "who runs rm speaks of deleting"
    assert "failed elsewhere 2 times before: “ModuleNotFoundError: No module named 'Yaml'”" in (
        memory.advise("python x.py", task="list the users").message
    )
    memory.record_trajectory("count the users", [step("wc -l users", "7", 0.0)], 0.0)
    assert (
        "but the run failed (p_solved"
        in memory.advise("wc -l users", task="count the users").message
    )
    said = {memory.advise(action).message for action in ("zig build", "gleam test --verbose")}
    assert len(said) == 1, "nothing is known of either, and the same share is told"


def test_what_is_offered_for_an_issue_is_what_fixed_it_and_what_was_run_elsewhere(
    memory: Memory,
) -> None:
    issue = {
        "model": "billing",
        "issue_type": "TIMEOUT",
        "description": "too late",
        "test_prompt": "no answer",
    }
    for asked, analysis, commands in (
        ("no answer", "the pool was full", []),
        ("slow page", "the index was missing", []),
        ("slow search", "the cache was cold", ["make warm"]),
    ):
        memory.record_fix(
            issue=issue | {"test_prompt": asked},
            analysis=analysis,
            fix_commands=commands,
            fix_success=True,
            verification_success=True,
            execution_time_seconds=1.0,
        )
    offered = memory.advise("restart it", issue=issue).worked_instead
    assert offered == ("the pool was full", "make warm")
