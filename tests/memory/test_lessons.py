"""What runs teach, told for a situation, with what people say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hardwon import Episode, Fix, Issue, Memory, Trajectory
from hardwon.errors import InvalidInputError, UnknownLessonError
from hardwon.memory.lessons import LessonFinder, read_shown_failure
from hardwon.records.kinds import judge_record
from hardwon.runs.read import read_run
from hardwon.tell.situation import Situation

Places = Callable[[str], Any]

pytestmark = pytest.mark.engines("sqlite", "postgres")

NO_URL = "exit code 2 after 0.4 s\nKeyError: 'DATABASE_URL'\nmake: *** [test] Error 1"
NO_TABLE = "exit code 2 after 0.5 s\nsqlite3.OperationalError: no such table: users"
FINE = "exit code 0 after 0.4 s\n12 passed"


def run(memory: Memory, *steps: tuple[str, str], task: str = "make it green", **keys: Any) -> str:
    made = [{"action": action, "observation": shown} for action, shown in steps]
    return memory.record_trajectory(task, made, None, **keys).id


def test_the_variable_cured_the_key_error_and_the_migration_the_table(memory: Memory) -> None:
    cure = "DATABASE_URL=sqlite:///dev.db make test"
    run(memory, ("make test", NO_URL), (cure, NO_TABLE), ("make migrate", FINE), (cure, FINE))
    (variable,) = memory.solutions(NO_URL, action="make test")
    assert variable.action == cure
    assert (variable.helped, variable.tried) == (1, 1)
    assert memory.solutions(NO_TABLE)[0].action == "make migrate"


def test_another_module_is_another_failure(memory: Memory) -> None:
    missing = "exit code 1 after 0.2 s\nModuleNotFoundError: No module named '{}'".format
    failed, again = ("python app.py", missing("requests")), ("python app.py", FINE)
    run(memory, failed, ("pip install requests", FINE), again)
    finder = LessonFinder(memory._project)
    numpy = read_shown_failure(missing("numpy"), "python app.py")
    assert finder.tell_after(Situation(action="python app.py", failure=numpy)) == []
    requests = read_shown_failure(missing("requests"), "python app.py")
    (line,) = finder.tell_after(Situation(action="python app.py", failure=requests))
    assert line.lesson.action == "pip install requests"
    assert line.text.endswith(f"[{line.lesson.short_id}]")


def test_two_names_say_that_the_name_does_not_matter(memory: Memory) -> None:
    told = "exit code 128 after 0.2 s\nfatal: The current branch {} has no upstream branch."
    refused = told.format
    for branch in ("cart", "mail"):
        cure = f"git push --set-upstream origin {branch}"
        run(memory, ("git push", refused(branch)), (cure, FINE))
    failure = read_shown_failure(refused("tax"), "git push")
    (line,) = LessonFinder(memory._project).tell_after(Situation("", "git push", failure))
    assert line.lesson.action == "git push --set-upstream origin tax"
    assert line.text.startswith("A like error (")


def test_what_failed_last_is_said_before_it_unless_something_was_done(memory: Memory) -> None:
    finder = LessonFinder(memory._project)
    run(memory, ("make test", NO_URL))
    (warning,) = finder.tell_before(Situation(action="make test"))
    assert warning.text.startswith("It failed here when it last ran: KeyError: 'DATABASE_URL'")
    assert finder.tell_before(Situation(action="make lint")) == []
    assert finder.tell_before(Situation(action="make test", done=("make test",))) == []
    cure = "DATABASE_URL=sqlite:///dev.db make test"
    run(memory, ("make test", NO_URL), (cure, FINE))
    finder = LessonFinder(memory._project)
    assert finder.tell_before(Situation(action="make test", done=(cure,))) == []
    run(memory, ("make test", FINE))
    assert finder.tell_before(Situation(action="make test")) == []


def test_a_condition_that_passes_is_no_reason_to_warn(memory: Memory) -> None:
    taken = "exit code 1 after 0.1 s\nOSError: [Errno 98] Address already in use: 8000"
    for _ in range(2):
        run(memory, ("make serve", taken), ("make serve", FINE))
    run(memory, ("make serve", taken))
    assert LessonFinder(memory._project).tell_before(Situation(action="make serve")) == []
    assert [lesson for lesson in memory.solutions(taken) if lesson.helped] == []


def test_records_with_one_run_id_are_one_run(memory: Memory) -> None:
    session: dict[str, Any] = {"source": {"id": "terminal-1"}}
    run(memory, ("npm run build", NO_URL), **session)
    run(memory, ("npm ci", FINE), **session)
    run(memory, ("npm run build", FINE), **session)
    (lesson,) = memory.solutions(NO_URL)
    assert (lesson.action, lesson.helped) == ("npm ci", 1)
    assert memory.why(lesson.id[:4]).lesson == lesson


def test_a_person_wins_whatever_the_counts(memory: Memory) -> None:
    cure = ("rm -rf node_modules", "npm ci")
    for _ in range(5):
        run(memory, ("make test", NO_URL), (cure[0], FINE), ("make test", FINE))
    run(memory, ("make test", NO_URL), (cure[1], FINE), ("make test", FINE))
    often, seldom = memory.solutions(NO_URL)
    assert (often.action, seldom.action) == cure
    memory.wrong(often.short_id, "it hides the error")
    assert [lesson.action for lesson in memory.solutions(NO_URL)] == [cure[1]]
    memory.right(seldom.short_id)
    assert memory.solutions(NO_URL)[0].verdict == "right"
    memory.right(often.short_id)  # withdraws what the same person said before
    assert {lesson.verdict for lesson in memory.solutions(NO_URL)} == {"right"}
    memory.wrong(often.short_id, by="bea")  # between people, wrong stands
    assert [lesson.action for lesson in memory.solutions(NO_URL)] == [cure[1]]


def test_a_verdict_outlives_rebuild_and_goes_with_a_trusted_merge(place: Places) -> None:
    with Memory(place("ours")) as ours, Memory(place("theirs")) as theirs:
        for memory in (ours, theirs):
            run(memory, ("make test", NO_URL), ("make clean", FINE), ("make test", FINE))
        (lesson,) = ours.solutions(NO_URL)
        assert theirs.solutions(NO_URL)[0].id == lesson.id, "the same on two machines"
        ours.wrong(lesson.short_id)
        ours.rebuild()
        assert ours.solutions(NO_URL) == []
        theirs.merge(ours, trust=True)
        assert theirs.solutions(NO_URL) == []


def test_what_is_forgotten_teaches_nothing(memory: Memory) -> None:
    record_id = run(memory, ("make test", NO_URL), ("make clean", FINE), ("make test", FINE))
    (lesson,) = memory.lessons("cure")
    memory.forget(record_id)
    assert memory.lessons("cure") == [] == memory.solutions(NO_URL)
    with pytest.raises(UnknownLessonError, match="no lesson has an id that begins with"):
        memory.why(lesson.short_id)


def test_archived_runs_and_sources_that_were_rolled_back_do_not_count(memory: Memory) -> None:
    steps = (("make test", NO_URL), ("make clean", FINE), ("make test", FINE))
    archived = run(memory, *steps)
    memory.archive(archived, "no longer so")
    run(memory, *steps, author="mallory")
    assert memory.solutions(NO_URL)
    memory.rollback("mallory", "it lied")
    assert memory.solutions(NO_URL) == []


def test_what_is_done_in_every_run_is_no_cure(memory: Memory) -> None:
    refused = "redis.ConnectionError: localhost:6379 refused"
    fetch, failed = ("git fetch", FINE), ("make serve", f"exit code 1 after 0.1 s\n{refused}")
    for number in range(30):
        run(memory, fetch, (f"edit src/part{number}.py: x", ""), ("git add .", FINE))
    run(memory, failed, ("docker start redis", FINE), fetch, ("make serve", FINE))
    best = memory.solutions(refused)[0]
    assert best.action == "docker start redis"


def test_lessons_are_listed_by_kind_and_by_words(memory: Memory) -> None:
    run(memory, ("make test", NO_URL), ("export DATABASE_URL=x", FINE), ("make test", FINE))
    steps = [{"action": "make ship", "observation": "exit code 0 after 1.0 s", "reward": 1.0}]
    memory.record_trajectory("bring it to the harbour", steps, 1.0)
    no_wind = "exit code 2 after 1.0 s\nno wind"
    failed = [{"action": "make sail", "observation": no_wind, "ok": False}]
    memory.record_trajectory("cross the ocean", failed, 0.0)
    rule = memory.record_fact("Always use uv, never pip", "decision")
    kinds = {lesson.kind for lesson in memory.lessons()}
    assert not memory.lessons("fact")
    for _ in range(3):
        memory.record_episode("triage", 0.9, successes=["Read the log first"])
    said = next(one for one in memory.lessons("rule") if "Read the log" in one.action)
    assert f"[3 episodes; {said.short_id}]" in str(memory.context(task_id="triage"))
    assert memory.why(said.short_id).runs
    memory.wrong(said.short_id)
    assert "Read the log" not in str(memory.context(task_id="triage"))
    memory.record_fact("The harbour is in Riga", "observation")
    (fact,) = memory.lessons("fact")
    assert fact in memory.lessons(about="harbour")
    assert fact not in memory.lessons()
    memory.wrong(fact.id)
    assert memory.lessons("fact") == []
    assert kinds >= {"cure", "way", "dead end"}, rule
    (way,) = memory.lessons("way", about="harbour")
    assert (way.action, way.helped) == ("make ship", 1)
    (lost,) = memory.lessons("dead end", "ocean")
    assert lost.action == "make sail"
    memory.wrong(lost.id)
    assert memory.lessons(about="ocean") == []
    (cure,) = memory.lessons(about=NO_URL)
    assert cure == memory.lessons("cure")[0]
    memory.wrong(cure.id)
    known = {(lesson.situation, lesson.action) for lesson in memory.lessons("dead end")}
    assert ("KeyError: 'DATABASE_URL'", "make test") in known
    for nothing in ("", " "):
        with pytest.raises(InvalidInputError, match="lesson_id: ' ?' is not allowed"):
            memory.wrong(nothing)
    with pytest.raises(InvalidInputError, match="kind: 'cures' is not allowed"):
        memory.lessons("cures")  # type: ignore[arg-type]


TASK, ACTION = "make the report faster", "python report.py --cache"
# What a run earned: what it is called, what a context and advice say, and whether it turned out well.
MEANINGS: dict[float | None, tuple[str, str, str, bool | None]] = {
    1.0: ("success", "[worked today", "Nothing speaks against it", True),
    2.5: ("success", "[worked today", "Nothing speaks against it", True),
    0.7: ("partial", "did not solve it (0.70 of 1): ", "solved the task only in part", None),
    0.0: ("failure", "FAILED: ", "This failed here before", False),
    -1.0: ("failure", "FAILED: ", "This failed here before", False),
    None: ("unknown", "unknown whether it solved", "Nothing speaks against it", None),
}


@pytest.mark.parametrize("reward", MEANINGS)
def test_a_run_is_called_the_same_by_whoever_is_asked(memory: Memory, reward: float | None) -> None:
    outcome, told, advised, well = MEANINGS[reward]
    step = {"action": ACTION, "observation": "3 s", "reward": max(0.0, reward or 0.0)}
    run = memory.record_trajectory(TASK, [step], reward)
    assert run.turned_out_well is well
    (hit,) = memory.recall(TASK)
    assert hit.outcome == run.as_row()["outcome"] == outcome
    for name in ("success", "failure", "partial", "unknown"):
        asked: Any = {"outcome": name}
        assert bool(memory.recall(TASK, **asked)) == (name == outcome), name
        assert bool(list(memory.browse(**asked))) == (name == outcome), name
    assert told in str(memory.context(TASK))
    assert memory.advise(ACTION, task=TASK).message.count(advised) == 1
    assert memory.stats().by_outcome == {outcome: 1}
    day = memory.care.activity()[0]
    assert (day.good, day.bad) == (int(well is True), int(well is False))
    assert (read_run(run).outcome == "solved") == (well is True)


def test_what_a_run_helped_with_is_credited_where_it_is_known_how_it_ended(memory: Memory) -> None:
    fact = memory.record_fact("Cached reports are in /var/cache/reports.", "observation")
    for reward in (0.7, None, 1.0, 0.0):
        memory.record_trajectory(TASK, [{"action": ACTION}], reward, recalled=[fact.id])
    (helpful,) = memory.care.helpful()
    assert (helpful.helped, helpful.hindered) == (1, 1)


def test_episodes_and_fixes_keep_the_thresholds_of_their_documents() -> None:
    scores = {0.85: "success", 0.84: "partial", 0.5: "partial", 0.49: "failure"}
    for score, outcome in scores.items():
        assert judge_record(Episode(task_id="t", score=score)) == outcome
    for applied, verified in ((True, True), (True, False), (False, True), (False, False)):
        fix = Fix(issue=Issue(), fix_success=applied, verification_success=verified)
        assert judge_record(fix) == ("success" if applied and verified else "failure")


def test_a_caller_may_say_from_which_reward_on_a_task_is_solved(memory: Memory) -> None:
    run = memory.record_trajectory(TASK, [{"action": ACTION, "reward": 0.7}], 0.7)
    assert isinstance(run, Trajectory)
    assert judge_record(run, solved_from=0.6) == "success"
    assert "[worked today" in str(memory.context(TASK, solved_from=0.6))
