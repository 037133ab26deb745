"""Advice: one probability from all evidence, a verdict that follows, and what helped instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engines import ENGINES
from hardwon import Memory
from hardwon.lessons.actions import find_kinds
from hardwon.text.failures import failure_hash
from processes import Child

TRACEBACK = "Traceback (most recent call last):\nKeyError: 'id'"
ISSUE = {"model": "m", "issue_type": "TIMEOUT", "description": "no answer within a minute"}
NO_NUMPY = "ModuleNotFoundError: No module named 'numpy'"

pytestmark = pytest.mark.engines(*ENGINES)


def step(action: str, observation: str = "", **more: Any) -> dict[str, Any]:
    return {"action": action, "observation": observation, **more}


def run(memory: Memory, task: str, action: str, observation: str = "", **more: Any) -> None:
    memory.record_trajectory(task, [step(action, observation, **more)], float(more.get("ok", True)))


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
    assert {memory.advise(each).message for each in ("zig build", "gleam test --verbose")} == {
        advice.message
    }, "nothing is known of either, and the same share is told"


def test_what_the_caller_says_of_a_step_is_believed(memory: Memory) -> None:
    for _ in range(3):
        run(memory, "put the mug away", "put(mug, shelf)", "Nothing happens.", ok=False)
        run(memory, "read the handler", "cat errors.py", f"raise ValueError\n{TRACEBACK}", ok=True)
    failing = memory.advise("put(mug, shelf)", task="put the mug away")
    assert (failing.verdict, failing.failures) == ("blocked", 3)
    assert failing.p_success < 0.1
    assert "nothing happens" in failing.message.lower()
    reading = memory.advise("cat errors.py", task="read the handler")
    assert reading.verdict == "ok"
    assert reading.p_success > 0.8


@pytest.mark.parametrize(
    "shown", ["", "Zkompilováno s chybou: chybí středník", "完了しませんでした"]
)
def test_the_last_of_three_failed_runs_warns_in_any_language(memory: Memory, shown: str) -> None:
    for _ in range(3):
        memory.record_trajectory("sestavit", [step("zmake celek", shown)], 0.0)
    advice = memory.advise("zmake celek", task="sestavit")
    assert advice.verdict in ("caution", "blocked")
    assert advice.failures == 3
    assert advice.p_success < 0.3
    assert "failed" in advice.message


def test_what_nobody_called_a_failure_counts_less_than_what_worked(memory: Memory) -> None:
    for number in range(4):
        run(memory, f"build {number}", f"gcc -c a{number}.c", "some output", ok=True)
        steps = [step(f"zig -c a{number}.zig", "some output"), step("ls")]
        memory.record_trajectory(f"build {number}", steps)
    told, quiet = (memory.advise(f"{name} -c b") for name in ("gcc", "zig"))
    assert told.p_success > quiet.p_success > 0.5


def test_what_was_changed_since_lifts_a_warning(memory: Memory) -> None:
    for _ in range(2):
        run(memory, "run it", "python x.py", NO_NUMPY, ok=False)
    failed = step("python x.py", NO_NUMPY, ok=False)

    def verdict(*more: dict[str, Any]) -> str:
        return memory.advise("python x.py", task="run it", steps=[failed, *more]).verdict

    assert memory.advise("python x.py", task="run it").verdict == "blocked"
    assert verdict() == "blocked", "nothing was changed"
    assert verdict(step("cat x.py", ok=True)) == "blocked", "a look changes nothing"
    assert verdict(step("echo done > notes.md", ok=True)) == "caution", "it is another thing"
    assert verdict(step("sed -i s/numpy// x.py", ok=True)) == "ok", "the file that is run"
    assert verdict(step("pip install 'numpy'", ok=True)) == "ok", "what the failure names"
    cured = [failed, step("apt-get install libx", ok=True), step("python x.py", "fine", ok=True)]
    memory.record_trajectory("run it elsewhere", cured, 1.0)
    assert verdict(step("apt-get install libx", ok=True)) == "ok", "it is known as a cure"


def test_a_condition_that_passes_is_mentioned_at_most(memory: Memory) -> None:
    busy = "Error: listen EADDRINUSE: address already in use :::3000"
    for _ in range(3):
        steps = [step("npm start", busy, ok=False), step("npm start", "listening", ok=True)]
        memory.record_trajectory("serve", steps, 1.0)
    for _ in range(2):
        run(memory, "serve", "npm start", busy, ok=False)
    advice = memory.advise("npm start", task="serve")
    assert advice.verdict == "ok"
    assert advice.worked_instead == ()
    assert "EADDRINUSE" in advice.message


def test_a_failure_never_seen_before_is_foreseen(memory: Memory) -> None:
    for number in range(20):
        run(memory, f"count {number}", f"wc -l part{number}.csv", "7", ok=True)
        failed = "bash: htop: command not found"
        run(memory, f"watch {number}", f"htop -d {number}", failed, ok=False)
    advice = memory.advise("htop --tree", task="look at the load")
    assert advice.verdict == "caution"
    assert advice.message.startswith("This is not likely to work (p = 0.")
    assert memory.advise("wc -l other.csv", task="count them").verdict == "ok"


def test_what_failed_without_a_word_and_what_is_done_over_and_over_is_said(memory: Memory) -> None:
    for _ in range(2):
        run(memory, "find the word", "tar -xf a.tar | grep word", ok=False)
        run(memory, "find the word", "ls", "a.tar", ok=True)
    silent = memory.advise("tar -xf a.tar | grep word", task="find the word")
    assert (silent.verdict, silent.failures) == ("caution", 2)
    assert silent.message.startswith("This failed here 2 times before, and nothing showed why.")
    again = [step("ls", "a.tar", ok=True)] * 3
    assert "done 3 times in this attempt" in memory.advise("ls", steps=again).message


def test_a_fix_is_advised_on_by_how_it_went(memory: Memory) -> None:
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
    assert worked.p_success > max(0.6, memory.odds(ISSUE).p_success)
    assert f"p = {worked.p_success:.2f}" in worked.message
    elsewhere = "fatal: not a git repository (or any of the parent directories): .git"
    assert memory.advise("systemctl restart model", issue=ISSUE, error=elsewhere).failures == 3
    new = memory.advise("something new", issue=ISSUE)
    assert new.p_success == pytest.approx(memory.odds(ISSUE).p_success)


def test_a_fix_in_words_that_is_said_again_is_the_same_fix(memory: Memory) -> None:
    again = "The loop ends one too early: let it run to the end of the list."
    for name in ("first", "last", "longest", "oldest", "cheapest"):
        issue = {**ISSUE, "model": name, "description": f"the {name} row is missing"}
        memory.record_fix(issue, False, False, again)
        memory.record_fix(issue, True, True, f"the {name} row was read twice", ["make rows"])
    for _ in range(2):
        memory.record_fix(ISSUE, False, False, again)
    here = memory.advise(again.upper(), issue=ISSUE)
    assert here.verdict == "blocked"
    assert here.p_success < 0.25
    found_out = memory.advise("the last row was read twice", issue=ISSUE)
    assert not found_out.evidence, "what was run tells what was done, not what it was about"


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


def test_facts_and_experiences_that_name_an_action_count(memory: Memory) -> None:
    hashed = failure_hash("ResolutionImpossible: conflicting dependencies")
    for host in ("laptop", "build server", "staging server"):
        said = f"On the {host} `pip install shop[all]` ends with conflicting dependencies."
        memory.record_fact(said, "error", failure_hash=hashed)
    said = "The dependencies of the shop are installed by `uv sync --locked`."
    memory.record_fact(said, "solution", failure_hash=hashed)
    for said in ("`git push --force` to main was refused", "After git pull, make build failed"):
        memory.remember(said, outcome="failure", tool="git")
    failing = memory.advise("pip install shop[all]")
    assert (failing.verdict, failing.failures) == ("blocked", 3)
    assert failing.p_success < 0.25
    working = memory.advise("uv sync --locked")
    assert working.verdict == "ok"
    assert working.p_success > 0.5
    refused = memory.advise("git push --force")
    assert (refused.verdict, refused.failures) == ("caution", 1)
    assert "was refused" in refused.message
    for other in ("pip", "uv sync", "git pull", "make build", "git push"):
        assert memory.advise(other).verdict == "unknown", "it is mentioned, or another action"


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
        step("SHOW TABLES", "[('student',)]", reward=0.0),
        step("SELECT name FROM student", "[('Ann',)]", reward=1.0),
    ]
    for number in range(5):
        memory.record_trajectory(f"question {number}", steps, 1.0)
    looking = memory.advise("SHOW TABLES", task="question 6")
    asking = memory.advise("SELECT name FROM student", task="question 6", steps=steps[:1])
    assert min(looking.p_success, asking.p_success) > 0.6
    assert looking.p_solved < 0.3 < asking.p_solved <= asking.p_success


def test_an_action_that_was_escaped_for_markdown_is_the_same_action(memory: Memory) -> None:
    for action in (r"area\_of\_x = 0.5 \* a", "area_of_x = 0.5 * a"):
        run(memory, "area", action, "SyntaxError: unexpected character", ok=False)
    assert memory.advise(r"area\_of_x = 0.5 * a", task="area").verdict == "blocked"
    run(memory, "look", r"find . -name \*.py", "error: permission denied", ok=False)
    assert memory.advise("find . -name *.py", task="look").failures == 0, "a shell's own escape"


@pytest.mark.engines("sqlite")
def test_kinds_of_actions() -> None:
    assert find_kinds("git push --force origin main") == ["git", "git push"]
    assert find_kinds("ls -la /tmp") == ["ls"]
    assert find_kinds("<solution>4</solution>") == ["<solution"]
    assert find_kinds("a = 1\nprint(a)") == ["several lines"]
    assert find_kinds("  ") == []
    for before in ("cd web && ", "DB_HOST=localhost ", "sudo ", "env A='a b' B= ", "cd x; time "):
        assert find_kinds(f"{before}npm test") == ["npm", "npm test"], "where and how it runs"


# What helps instead.


def test_advice_and_solutions_tell_the_same_lessons(memory: Memory) -> None:
    failed = step("make deploy", TRACEBACK, ok=False)
    for cure, times in (("set ID=1", 3), ("make clean", 2), ("make init", 1)):
        for _ in range(times):
            steps = [failed, step(cure, "done", ok=True), step("make deploy", "up", ok=True)]
            memory.record_trajectory("deploy the shop", steps, 1.0)
    for task in ("deploy the shop", "deploy the blog"):
        known = memory.solutions(TRACEBACK, action="make deploy", task=task, limit=3)
        advice = memory.advise("make deploy", task=task, error=TRACEBACK, steps=[failed])
        assert advice.worked_instead == tuple(lesson.action for lesson in known)
        assert set(advice.worked_instead) == {"set ID=1", "make clean", "make init"}
    assert "[helped " in advice.message


def test_what_helped_at_the_same_task_comes_first(memory: Memory) -> None:
    page = "You are in a repository with these files: " + "".join(f"src/{n}.py " for n in range(99))
    tasks = ((f"{page}Parse orders", "use .get('id')"), (f"{page}Parse users", "skip the guests"))
    for task, cure in tasks:
        steps = [step("python parse.py", TRACEBACK), step(cure, "3 passed", reward=1.0)]
        memory.record_trajectory(task, steps, 1.0)
    for task, cure in tasks:
        advice = memory.advise("python parse.py", task=task.upper(), error=TRACEBACK)
        assert advice.worked_instead[0] == cure, "however long tasks are that begin alike"


def test_what_helped_elsewhere_is_told_where_it_is_tied_to_the_moment(memory: Memory) -> None:
    late = "The last command timed out and has been killed."
    for name in ("train", "crawl", "index", "render", "deploy"):
        steps = [step(f"{name} --all", late, ok=False), step(f"{name} --part 1", "done", ok=True)]
        memory.record_trajectory(f"{name} it", steps, 1.0)
    known = memory.solutions(late, action="crawl --all https://x.example", task="crawl more")
    assert [lesson.action for lesson in known] in (["crawl --part 1"], [])
    assert memory.solutions(late, action="pip install torch", task="another") == []
    assert "went away" not in str(memory.context(f"{late}\nWeigh all ships of the harbour"))


def test_what_starts_a_command_does_not_make_it_another(memory: Memory) -> None:
    editor = [step("vi", "vi: command not found", ok=False), step("apt install nvi", ok=True)]
    failed = step("sudo npm ci", "sudo: npm: command not found", ok=False)
    npm = [failed, step('sudo env "PATH=$PATH" npm ci', ok=True)]
    for task, steps in (("edit", editor), ("build", npm)):
        memory.record_trajectory(task, steps, 1.0)
    known = memory.solutions("sudo: vi: command not found", action="sudo vi", task="hosts")
    assert known[0].action == "apt install nvi"


def test_a_like_failure_is_answered_with_the_names_of_this_one(memory: Memory) -> None:
    for name in ("requests", "pandas"):
        missing = f"ModuleNotFoundError: No module named '{name}'"
        steps = [
            step(f"python {name}_job.py", missing, ok=False),
            step(f"pip install {name}", "done", ok=True),
            step(f"python {name}_job.py", "fine", ok=True),
        ]
        memory.record_trajectory(f"run the {name} job", steps, 1.0)
    (lesson, *_) = memory.solutions(NO_NUMPY, action="python x.py", task="run x")
    assert (lesson.action, lesson.exact) == ("pip install numpy", False)


def test_another_failure_of_the_same_program_is_no_answer(memory: Memory) -> None:
    zero = "exit code 1 after 0.1 s\nTraceback (most recent call last):\nZeroDivisionError: by zero"
    steps = [
        step("python t.py", zero),
        step("edit t.py: x = 1"),
        step("python t.py", "exit code 0 after 0.1 s", reward=1.0),
    ]
    memory.record_trajectory("mend t.py", steps, 1.0)
    for error in ("gti: command not found", "NameError: name 'a' is not defined"):
        assert memory.solutions(f"exit code 1 after 0.1 s\n{error}") == []


def test_nothing_that_deletes_is_offered_unasked(memory: Memory) -> None:
    error = "ModuleNotFoundError: No module named 'Yaml'"
    for action, task in (("rm -rf /data/old", "remove old data"), ("pip install pyyaml", "run it")):
        steps = [step("python x.py", error, ok=False), step(action, "", ok=True)]
        memory.record_trajectory(task, steps, 1.0)
    for task, offered in (("list the users", 1), ("clean up what is old", 2)):
        advice = memory.advise("python x.py", task=task, error=error)
        assert len(advice.worked_instead) == offered, advice.worked_instead
        known = memory.solutions(error, action="python x.py", task=task)
        assert len([lesson for lesson in known if lesson.helped]) == offered
    is_folder = [step("rm foo", "rm: foo: Is a directory", ok=False), step("rm -rf foo", ok=True)]
    memory.record_trajectory("rm foo", is_folder, 1.0)
    asked = memory.advise("hdfs dfs -rm bar", error="rm: `bar`: Is a directory")
    assert asked.worked_instead in ((), ("rm -rf foo",)), "who runs rm speaks of deleting"


def test_what_solved_the_task_is_offered_for_what_does_not(memory: Memory) -> None:
    memory.record_trajectory("count the users", [step("wc -l users", "7", ok=True)], 0.0)
    steps = [step("sort -u users | wc -l", "5", reward=1.0, ok=True)]
    memory.record_trajectory("count the users", steps, 1.0)
    advice = memory.advise("wc -l users", task="count the users")
    assert "but the run failed (p_solved" in advice.message
    assert advice.worked_instead == ("sort -u users | wc -l",)


def test_an_issue_is_offered_what_fixed_it_and_what_was_run_elsewhere(memory: Memory) -> None:
    issue = {"model": "billing", "issue_type": "TIMEOUT", "description": "too late"}
    for asked, analysis, commands in (
        ("no answer", "the pool was full", []),
        ("slow page", "the index was missing", []),
        ("slow search", "the cache was cold", ["make warm"]),
    ):
        memory.record_fix(issue | {"test_prompt": asked}, True, True, analysis, commands)
    offered = memory.advise("restart it", issue=issue | {"test_prompt": "no answer"})
    assert offered.worked_instead == ("the pool was full", "make warm")


NO_ANSWER = "Traceback (most recent call last):\n  File 'app.py', line {}, in run\nTimeoutError: no answer from port {}"
WITH_ERROR = {"model": "m", "issue_type": "TIMEOUT", "description": "no answer"}
WITHOUT = {"model": "m", "issue_type": "NO_ANSWER", "description": "It stopped"}


def in_a_process(location: Path, number: int, issue: dict[str, Any], good: bool = False) -> str:
    """Asks for advice, says what it was, then tries all the same."""

    def work(tell: Any) -> None:
        told = dict(issue)
        if issue is WITH_ERROR:
            told["error_output"] = NO_ANSWER.format(10 + number, 8000 + number)
        command = "systemctl restart ollama"
        with Memory(location) as memory:
            advice = memory.advise(command, issue=told, error=told.get("error_output"))
            memory.record_fix(told, good, good, "", [command], author=f"agent {number}")
            tell(advice.verdict.ljust(36))

    child = Child.start(work)
    assert child.wait() == 0
    return child.acknowledged[0].strip()


@pytest.mark.parametrize("issue", [WITH_ERROR, WITHOUT], ids=["with an error", "without"])
def test_a_third_attempt_is_blocked_until_success(tmp_path: Path, issue: dict[str, Any]) -> None:
    location = tmp_path / "brain"
    verdicts = [in_a_process(location, number, issue) for number in range(3)]
    assert verdicts == ["unknown", "caution", "blocked"]
    with Memory(location) as memory:
        memory.record_fix(issue, True, True, fix_commands=["ollama pull m"], author="other")
        advice = memory.advise("systemctl restart ollama", issue=issue)
        assert advice.verdict == "blocked"
        assert advice.failures == 3
        assert len(advice.evidence) == 3
        assert "What was tried: “systemctl restart ollama”." in advice.message
        assert "Do not try it again" in advice.message
        assert "ollama pull m" in advice.message
    assert in_a_process(location, 4, issue, good=True) == "blocked"
    with Memory(location) as memory:
        assert memory.advise("systemctl restart ollama", issue=issue).failures == 0


def test_a_failure_that_shows_no_error_is_one_all_the_same(memory: Memory) -> None:
    for _ in range(2):
        step = {"action": "make deploy", "observation": "done?"}
        memory.record_trajectory("deploy", [step], 0.0, failure_hash="c0ffee")
    assert memory.advise("make deploy").verdict == "blocked"
    memory.record_trajectory("deploy", [{"action": "make deploy", "observation": "done"}], 1.0)
    assert memory.advise("make deploy").failures == 0
