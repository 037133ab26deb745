"""A run is read as what it is: looks, changes, checks, what lasted, and failures with cures."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest

from cases import each
from hardwon.records.kinds import Step as Recorded
from hardwon.records.kinds import Trajectory
from hardwon.runs.problems import find_problems, is_misspelled
from hardwon.runs.read import read_records, read_session_reward, read_steps_as_run
from hardwon.runs.shapes import Problem, Run, Step
from hardwon.runs.steps import read_action, read_steps
from hardwon.text.failures import Failure
from hardwon.text.outcomes import run_observation
from short import need

NO_NUMPY = """Traceback (most recent call last):
  File "t.py", line 1, in <module>
    import numpy
ModuleNotFoundError: No module named 'numpy'"""


def ran(line: str, code: int = 0, output: str = "") -> Recorded:
    """A command with its exit code, as hooks and `hardwon run` record it."""
    return Recorded(action=line, observation=run_observation(code, "", 0.3, output))


def did(
    action: str, ok: bool | None = None, observation: str = "", reward: float = 0.0
) -> Recorded:
    return Recorded(action=action, observation=observation, ok=ok, reward=reward)


def worked(*actions: str) -> list[Recorded]:
    return [did(action, ok=True) for action in actions]


def failed(action: str, observation: str = "") -> Recorded:
    return did(action, ok=False, observation=observation)


def read(*recorded: Recorded, task: str = "", final_reward: float | None = None) -> Run:
    return read_steps_as_run(recorded, task, final_reward)


def kinds(line: str, *failed_before: str) -> list[str]:
    steps = read_steps([*(ran(each, 1, "error: no") for each in failed_before), ran(line)])
    return [step.kind for step in steps if step.place == len(failed_before)]


def actions_of(steps: Iterable[Step]) -> list[str]:
    """The first line of each."""
    return [step.action.split("\n")[0] for step in steps]


def cured_by(problem: Problem) -> list[str]:
    return actions_of(problem.cure)


def failure_of(recorded: Recorded) -> Failure:
    return need(read_action(0, recorded)[-1].failure)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -la hello.txt", ["look"]),
        ("git log --oneline -5 | head", ["look"]),
        ("docker compose ps", ["look"]),
        ("pip list | grep numpy", ["look"]),
        ("python --version", ["look"]),
        ("npm run status", ["change"]),
        ("ls > /dev/null", ["look"]),
        ("echo $(date) && make install", ["change"]),
        ("if true; then make test; fi", ["check"]),
        ("sudo -u app bash -c 'uv run pytest'", ["check"]),
        ("python3 -c 'import sys; print(sys.path)'", ["look"]),
        ("cat <<EOF > x.py\nprint(1)\nEOF", ["change"]),
        ("echo hello > f", ["change"]),
        ("date | tee log.txt", ["change"]),
        ("sed -n 1,20p f", ["look"]),
        ("sed -i s/a/b/ f", ["change"]),
        ("git apply fix.patch", ["change"]),
        ("pip install numpy && pytest -q", ["change", "check"]),
        ("cd web && API=1 make test 2>&1 | tail -5", ["check"]),
        ("ruff check --fix . && git commit -am lint", ["change", "hand-in"]),
        ("git push", ["hand-in"]),
        ("find . -name '*.pyc' -delete", ["change"]),
        ("edit shop/cart.py: total = 0", ["change"]),
        ('get_reservation({"id": "HSR97W"})', ["look"]),
        ('update_reservation_flights({"id": "HSR97W", "cabin": "economy"})', ["change"]),
    ],
)
def test_what_only_looks_changes_checks_or_hands_in(line: str, expected: list[str]) -> None:
    assert kinds(line) == expected


def test_what_failed_before_in_the_run_is_a_check_when_it_is_run_again() -> None:
    assert kinds("docker compose up web") == ["change"]
    assert kinds("docker compose up web", "docker compose up web") == ["check"]


def test_what_shells_run_tells_a_run_without_exit_codes_from_one_in_a_game() -> None:
    assert read(*worked("brew update", "pull the lever")).steps[0].kind == "change"
    assert read(*worked("open the door", "pull the lever")).steps[0].kind == "check"


def test_the_caller_decides_whether_a_step_worked_then_the_exit_code_then_the_reward() -> None:
    def outcome(recorded: Recorded) -> str:
        return read_action(0, recorded)[-1].outcome

    error = "Error: cannot find the module"
    assert outcome(did("npm run build", ok=True, observation=error)) == "worked"
    assert outcome(ran("npm run build", 0, error)) == "worked"
    assert outcome(ran("npm run build", 2, "fertig")) == "failed"
    assert outcome(ran("grep -rn TODO src", 1)) == "unknown"  # there are none, which is an answer
    assert outcome(ran("npm run build | tail -3", 0, error)) == "failed"
    assert outcome(ran("npm run build | tail -3", 0, "built")) == "unknown"
    assert outcome(ran("dpkg -l | grep zlib", 1)) == "unknown"
    assert outcome(did("SELECT name FROM shop", reward=1.0)) == "worked"
    assert outcome(did("SELECT name FROM shop", reward=-1.0, observation="ok")) == "failed"
    assert outcome(did("baue alles", observation="빌드가 깨졌다")) == "unknown"


def test_of_two_failures_of_one_check_each_has_its_own_cure() -> None:
    with_url = "DATABASE_URL=sqlite:///dev.db make test"
    run = read(
        ran("make test", 2, "KeyError: 'DATABASE_URL'\nmake: *** [Makefile:4: test] Error 1"),
        ran(with_url, 2, "sqlite3.OperationalError: no such table: orders"),
        ran("make migrate", 0, "ok"),
        ran(with_url, 0, "12 passed"),
    )
    first, second = run.problems
    assert "DATABASE_URL" in first.failure.words
    assert cured_by(first) == [with_url]
    assert "no such table" in second.failure.words
    assert cured_by(second) == ["make migrate"]


def test_two_modules_that_are_missing_are_two_failures_of_one_family() -> None:
    names = ("numpy", "requests")
    reports = (NO_NUMPY.replace("numpy", name) for name in names)
    numpy, requests = (failure_of(ran("python t.py", 1, report)) for report in reports)
    assert numpy.exact != requests.exact
    assert numpy.family == requests.family


def test_two_scripts_that_may_not_be_run_are_two_failures() -> None:
    reports = (f"bash: line 1: ./{name}.sh: Permission denied" for name in ("seed", "start"))
    one, other = (failure_of(ran("make serve", 2, report)) for report in reports)
    assert one.exact != other.exact


def test_the_same_failure_at_another_time_in_another_place_is_the_same() -> None:
    report = "redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379."
    reports = (
        f'File "/home/ann/shop/a.py", line 3, in f\n{report}',
        f"2026-11-18 12:00:01 {report}",
    )
    one, other = (failure_of(ran("make serve", 2, each)) for each in reports)
    assert one.exact == other.exact


def test_a_command_that_failed_without_a_word_failed_as_it_ended() -> None:
    def read_end(line: str, ended: str, printed: str = "") -> Failure:
        return failure_of(failed(line, f"{ended} after 30.0 s\n{printed}"))

    killed = read_end("make big", "killed by SIGKILL", "linking 3 of 9")
    assert (killed.words, killed.tells) == ("killed by SIGKILL", False)
    assert read_end("make big", "killed by SIGKILL", "linking 7 of 9") == killed
    assert read_end("make small", "killed by SIGKILL").exact != killed.exact
    assert read_end("make big", "exit code 3").words == "exit code 3"
    assert read_end("make big", "killed by SIGTERM", "KeyError: 'id'").words == "KeyError: 'id'"


def test_a_failure_that_went_away_although_nothing_was_changed_has_no_cure() -> None:
    taken = ran("make serve", 2, "OSError: [Errno 98] Address already in use: ('127.0.0.1', 8000)")
    run = read(taken, ran("lsof -i :8000", 1), ran("sleep 60"), ran("make serve"))
    (problem,) = run.problems
    assert problem.passed
    assert problem.cure == ()


def test_what_was_changed_before_the_failure_showed_again_was_in_vain() -> None:
    refused = "redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379."
    run = read(
        ran("make serve", 2, refused),
        ran("pip install redis", 0, "Requirement already satisfied"),
        ran("make serve", 2, refused),
        ran("docker start shop-redis-1", 0, "shop-redis-1"),
        ran("make serve", 0, "listening"),
    )
    (problem,) = run.problems
    assert problem.shown == 2
    assert actions_of(problem.in_vain) == ["pip install redis"]
    assert cured_by(problem) == ["docker start shop-redis-1"]


def test_a_problem_is_gone_when_the_check_fails_in_another_way() -> None:
    lost = "error: failed to push some refs to 'x'"
    declined = "main -> main (protected branch hook declined)"
    run = read(
        ran("make publish", 1, f" ! [rejected]        main -> main (fetch first)\n{lost}"),
        ran("git pull --rebase"),
        ran("make publish", 1, f" ! [remote rejected] {declined}\n{lost}"),
    )
    first, second = run.problems
    assert cured_by(first) == ["git pull --rebase"]
    assert second.gone is None


def test_an_attempt_that_was_given_up_is_no_cure() -> None:
    run = read(
        ran("make deploy", 1, "error: quota of region eu exceeded"),
        ran("REGION=us make deploy", 1, "error: region us is not allowed for this account"),
        ran("REGION=ap make deploy", 0, "deployed"),
    )
    assert cured_by(run.problems[0]) == ["REGION=ap make deploy"]
    assert actions_of(run.problems[0].in_vain) == ["REGION=us make deploy"]


def test_a_corrected_command_is_the_cure_of_the_one_that_failed() -> None:
    run = read(
        ran("git psuh origin main", 1, "git: 'psuh' is not a git command. See 'git --help'."),
        ran("git push origin main"),
    )
    assert cured_by(run.problems[0]) == ["git push origin main"]
    assert is_misspelled(["gti", "status"], ["git", "status"])
    assert not is_misspelled(["git", "status"], ["git", "stash"])


def test_an_attempt_is_in_vain_for_what_it_was_meant_for_and_nothing_else() -> None:
    run = read(
        failed("pip install pytest-markers", "ERROR: no pytest-markers"),
        failed("pytest t.py", NO_NUMPY),
        failed("pip install numpi", "ERROR: no numpi"),
        failed("pip3 install --user numpy", "Permission denied: numpy"),
    )
    in_vain = [actions_of(problem.in_vain) for problem in run.problems]
    assert in_vain[:2] == [[], ["pip install numpi", "pip3 install --user numpy"]]


def test_a_limit_of_time_that_was_given_up_cured_nothing() -> None:
    run = read(
        failed("./tool image.png", "killed after 30 s"),
        failed("timeout 5 ./tool image.png"),
        *worked("gcc -O2 -o tool tool.c", "./tool image.png"),
    )
    assert cured_by(run.problems[0]) == ["gcc -O2 -o tool tool.c"]


def test_how_a_check_has_to_be_run_is_a_part_of_what_lasted() -> None:
    done = ["DATABASE_URL=sqlite:///dev.db pytest -q", "git branch -d old"]
    run = read(failed("pytest -q", "KeyError: 'DATABASE_URL'"), *worked(*done))
    assert actions_of(run.lasting) == done


def test_what_stood_in_the_line_that_failed_is_not_what_cured_it() -> None:
    line = "nginx -t && service nginx start"
    run = read(
        failed(line, "nginx: configuration file nginx.conf test failed"),
        *worked("sed -i s/listn/listen/ nginx.conf"),
        failed(f"{line} && systemctl status", "sh: systemctl: not found"),
    )
    assert cured_by(run.problems[0]) == ["sed -i s/listn/listen/ nginx.conf"]


def test_a_command_alone_is_the_line_that_it_stood_in_and_no_correction_of_it() -> None:
    written = "cat <<EOF > t.py\nimport numpy\nEOF\npython3 t.py"
    run = read(failed(written, NO_NUMPY), *worked("pip install numpy", "python3 t.py"))
    assert cured_by(run.problems[0]) == ["pip install numpy"]


def test_what_runs_beside_is_told_so() -> None:
    steps = read_action(0, ran("nohup ./serve.sh > log 2>&1 & make test"))
    assert [step.action for step in steps] == ["nohup ./serve.sh > log 2>&1 &", "make test"]


def test_the_next_query_that_works_is_the_cure_of_one_that_failed() -> None:
    unknown = "Error: Unknown column '{}' in 'field list'"
    run = read(
        failed("SELECT nme FROM shop", unknown.format("nme")),
        did("DESCRIBE shop", ok=True, observation="id, name"),
        failed("SELECT naem FROM shop", unknown.format("naem")),
        did("SELECT name FROM shop", ok=True, observation="[('a',)]"),
    )
    assert [cured_by(problem) for problem in run.problems] == [["SELECT name FROM shop"]] * 2


def test_what_only_looks_cures_nothing_and_a_look_that_finds_nothing_is_no_problem() -> None:
    run = read(
        ran("grep -rn login src", 1),
        ran("make test", 2, "AssertionError: 1 != 2"),
        ran("cat src/login.py"),
        ran("edit src/login.py: return 2"),
        ran("make test"),
    )
    (problem,) = run.problems
    assert cured_by(problem) == ["edit src/login.py: return 2"]


def test_a_file_that_was_written_is_what_lasted_and_not_the_look_at_it() -> None:
    run = read(
        did('echo "Hello, world!" > hello.txt', ok=True),
        did("ls -la hello.txt", ok=True, observation="-rw-r--r-- 1 root root 14 hello.txt"),
        task="Create a file called hello.txt",
        final_reward=1.0,
    )
    assert run.outcome == "solved"
    assert actions_of(run.lasting) == ['echo "Hello, world!" > hello.txt']


def test_of_several_writings_of_a_file_the_last_one_lasted() -> None:
    first, second = (f"cat > x.py <<'EOF'\nprint({number})\nEOF" for number in (1, 2))
    notes = "cat > notes.txt <<'EOF'\nthrown away\nEOF"
    before = worked("touch notes.txt", first, "cp a.py x.py")
    done = [*before, *worked(second, notes, "rm notes.txt", "python x.py")]
    run = read(*done, final_reward=1.0)
    assert [step.action for step in run.lasting] == [second, "python x.py"]


def test_a_script_that_was_run_lasted_although_it_was_removed() -> None:
    written = "cat > clean.sh <<'EOF'\nsed -i s/secret/x/ app.py\nEOF"
    run = read(*worked(written, "bash clean.sh", "rm clean.sh"), final_reward=1.0)
    assert actions_of(run.lasting) == ["cat > clean.sh <<'EOF'", "bash clean.sh"]


def test_what_only_checks_by_a_script_of_its_own_did_not_last() -> None:
    convert = "cat > convert.py <<'EOF'\nopen('out.json', 'w')\nEOF"
    validate = "cat > validate_out.py <<'EOF'\nassert True\nEOF"
    run = read(
        *worked(convert, "python convert.py", validate),
        did("chmod +x validate_out.py && ./validate_out.py", ok=True, observation="fine"),
        did("python validate_out.py", ok=True, observation="fine"),
        failed("python3 -c 'import jsn'", "No module named 'jsn'"),
        *worked("python3 -c 'import json'"),
        final_reward=1.0,
    )
    assert actions_of(run.lasting) == ["cat > convert.py <<'EOF'", "python convert.py"]


def test_all_calls_that_changed_something_lasted() -> None:
    calls = [
        'book_flight({"flight": "HAT1"})',
        'add_baggage({"bags": 2})',
        'charge_card({"eur": 8})',
    ]
    run = read(*worked('get_user({"id": "anna"})', *calls), final_reward=1.0)
    assert actions_of(run.lasting) == calls


def test_where_nothing_was_changed_the_answer_is_what_lasted() -> None:
    run = read(
        did("SHOW TABLES", ok=True, observation="shop"),
        did("SELECT count(*) FROM shop", ok=True, observation="[(3,)]"),
        final_reward=1.0,
    )
    assert actions_of(run.lasting) == ["SELECT count(*) FROM shop"]


def test_the_step_that_earned_the_full_reward_is_what_lasted() -> None:
    run = read(
        did("find / -name x", reward=0.67),
        did("find /testbed -name x", reward=1.0),
        did("ls", reward=0.67),
        final_reward=1.0,
    )
    assert actions_of(run.lasting) == ["find /testbed -name x"]


@pytest.mark.parametrize(
    ("final_reward", "expected"),
    [(1.0, "solved"), (0.7, "partial"), (0.0, "failed"), (-1.0, "failed")],
)
def test_the_caller_says_how_a_run_ended(final_reward: float, expected: str) -> None:
    assert read(ran("make test", 2, "error: no"), final_reward=final_reward).outcome == expected


def test_nobody_knows_how_a_run_ended_unless_a_check_of_others_passes_after_it() -> None:
    edit = ran("edit shop/cart.py: total = 0")
    assert read(edit).outcome == "unknown"
    assert read(edit, ran("pytest -q", 0, "3 passed")).outcome == "solved"
    assert read(ran("pytest -q", 0, "3 passed"), edit).outcome == "unknown"
    assert read(edit, ran("pytest -q", 1, "1 failed")).outcome == "unknown"
    own = ran("cat > test_mine.py <<'EOF'\ndef test(): pass\nEOF")
    assert read(own, ran("pytest test_mine.py", 0, "1 passed")).outcome == "unknown"


def edited(file: str) -> Recorded:
    return did(f"edit {file}: x = 1", ok=True)


SOLVED = [
    [edited("src/tax.py"), ran("pytest")],
    [edited("src/tax.py"), ran("pytest 2>&1 | tail -5", 0, "3 passed"), ran("pytest")],
    [edited("src/tax.py"), ran("ruff check src")],
    [edited("src/tax.py"), edited("tests/test_tax.py"), ran("make test")],
    [edited("src/tax.py"), ran("pytest tests/test_old.py::test_tax")],
    [edited("src/tax.py"), ran("pytest"), ran("git add -A && git commit -m tax"), ran("git push")],
    [edited("src/tax.py"), ran("pytest && git commit -am tax")],
    [ran("make test", 2, "error: no"), ran("DATABASE_URL=x make test")],
]
UNKNOWN = [
    [],
    [ran("echo DONE")],
    [ran("python solve.py")],
    [ran("make deploy", 2, "error: no"), ran("REGION=eu make deploy")],
    [edited("src/tax.py"), ran("git commit -am tax")],
    [edited("src/tax.py"), ran("pytest"), edited("src/tax.py")],
    [edited("src/tax.py"), ran("pytest"), ran("cat > src/tax.py <<END\nx = 2\nEND")],
    [edited("src/tax.py"), ran("pytest"), ran("pip install other")],
    [edited("src/tax.py"), ran("pytest | tail", 0, "3 passed")],
    [ran("make deploy", 2, "error: no"), ran("make docs"), ran("make site")],
    # what the session says of itself
    [edited("src/tax.py"), edited("tests/test_tax.py"), ran("pytest tests/test_tax.py -q")],
    [ran("cat > test_own.py <<'END'\nassert True\nEND\npytest test_own.py")],
]
FAILED = [
    [edited("src/tax.py"), ran("pytest", 1, "1 failed")],
    [edited("src/tax.py"), ran("pytest", 1, "1 failed"), edited("src/tax.py")],
    [edited("src/tax.py"), ran("ruff check ."), ran("pytest", 1, "1 failed")],
    [ran("make deploy", 2, "error: no"), ran("make deploy", 2, "error: no")],
    [ran("make deploy", 2, "error: no")],
]


@each(
    ("steps", "reward"),
    [
        *((steps, 1.0) for steps in SOLVED),
        *((steps, None) for steps in UNKNOWN),
        *((steps, 0.0) for steps in FAILED),
    ],
)
def test_last_checks_tell_what_was_earned(steps: list[Recorded], reward: float | None) -> None:
    assert read_session_reward(steps) == reward


def test_a_test_that_the_session_wrote_in_an_earlier_turn_is_its_own() -> None:
    steps = [edited("src/tax.py"), ran("pytest tests/test_tax.py")]
    assert read_session_reward(steps) == 1.0
    assert read_session_reward(steps, ["test_tax.py"]) is None


def test_records_of_one_run_are_read_as_one_in_the_order_of_their_time() -> None:
    steps = (ran("make test", 2, "KeyError: 'PORT'"), ran("make config"), ran("make test"))
    alone = [
        Trajectory(task=step.action, steps=[step], final_reward=reward)
        for step, reward in zip(steps, (0.0, 1.0, 1.0), strict=True)
    ]
    alone[0] = alone[0].copy_with(task="Let the tests pass")
    run = read_records(alone)
    assert (run.task, run.outcome) == ("Let the tests pass", "solved")
    assert [cured_by(problem) for problem in run.problems] == [["make config"]]
    assert read_records(alone[:2]).outcome == "unknown", "a command that worked solved nothing"
    assert read_records(alone[:1]).outcome == "failed"


def test_reading_takes_time_in_proportion_to_the_length_of_a_run() -> None:
    def seconds(count: int) -> float:
        output = f"{NO_NUMPY}\n" + "a line of a log\n" * 150
        recorded = [ran(f"python step{number}.py", number % 2, output) for number in range(count)]
        start = time.process_time()
        read_steps_as_run(recorded)
        return time.process_time() - start

    seconds(20)
    short = min(seconds(60) for _ in range(3))
    long = min(seconds(240) for _ in range(3))
    assert long < 4 * short * 3


def test_problems_of_nothing_are_none() -> None:
    assert find_problems([]) == []
    assert read().outcome == "unknown"
