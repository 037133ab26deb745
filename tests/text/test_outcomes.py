"""How something turned out, as the text that tells of it lets one know."""

from __future__ import annotations

import pytest

from cases import each
from command_line import answered, refused
from hardwon import Memory
from hardwon.errors import InvalidInputError
from hardwon.text.outcomes import guess_error_type, guess_outcome

pytestmark = pytest.mark.usefixtures("own_folder")


@each(
    ("text", "outcome", "sort"),
    [
        ("KeyError 'id' in login.py", "failure", "runtime"), ("AssertionError in test_parse: 3 != 4", "failure", "logic"),
        ("IndentationError: unexpected indent", "failure", "syntax"),
        ("ReadTimeoutError while uploading", "failure", "timeout"),
        ("pip install torch failed: no space left", "failure", None), ("the parser hangs on empty input", "failure", None),
        ("the fix did not work", "failure", None), ("Never fixed by a restart", "failure", None),
        ("Setting a timeout of 60 s fixed the upload", "success", None),
        ("KeyError in login.py: solved by a guard", "success", "runtime"),
        ("Tests passed after raising the limit", "success", None), ("Users want short answers", "learning", None),
        ("The staging database listens on port 5433.", "learning", None), ("", "learning", None),
    ],
)  # fmt: skip
def test_a_text_tells_how_it_turned_out(text: str, outcome: str, sort: str | None) -> None:
    assert (guess_outcome(text), guess_error_type(text)) == (outcome, sort)


@each(
    ("word", "outcome"),
    [("failed", "failure"), ("OK", "success"), ("Passed", "success"), ("lesson", "learning")],
)
def test_other_words_for_an_outcome_mean_it(word: str, outcome: str) -> None:
    found = answered("remember", "something", "--outcome", word)
    assert found["record"]["outcome"] == outcome
    assert answered("recall", "something", "--outcome", word)[0]["record"]["outcome"] == outcome


def test_tools_and_types_take_free_words(memory: Memory) -> None:
    kept = memory.remember("apt said no", "failure", "apt-get", error_type="no mirror")
    memory.remember("apt worked at last", "success", "apt-get")
    assert (kept.tool, kept.extra["error_type"], kept.unrouted) == ("apt-get", "no mirror", None)
    hits = memory.recall("apt", tool="apt-get", outcome="failure")
    assert [hit.record.id for hit in hits] == [kept.id]
    assert memory.odds(tool="apt-get").attempts == 2
    names = {each.name: each.count for each in memory.topology().branches[0].branches}
    assert names == {"tool=apt-get": 1}
    memory.remember("apt failed again", "failure", "apt-get", error_type="no mirror")
    assert memory.topology().count == 3, "what was counted before is counted anew"
    assert memory.doctor().ok
    assert memory.rebuild() == 0


def test_everything_that_is_wrong_is_told_in_one_message(memory: Memory) -> None:
    with pytest.raises(InvalidInputError) as caught:
        memory.remember("x", "triumph", tags=[3])  # type: ignore[arg-type]
    assert [problem.field for problem in caught.value.problems] == ["outcome", "tags.0"]
    with pytest.raises(InvalidInputError) as caught:
        memory.remember(" ", "triumph", recalled="no list", author="")  # type: ignore[arg-type]
    told = [problem.field for problem in caught.value.problems]
    assert told == ["recalled", "content", "outcome", "author"]
    with pytest.raises(InvalidInputError) as caught:
        memory.record_episode("", 7, mistakes="no list", mistake_cards=3)  # type: ignore[arg-type]
    told = [problem.field for problem in caught.value.problems]
    assert told == ["task_id", "score", "mistakes", "mistake_cards"]
    said = refused("remember", "x", "--outcome", "triumph")
    allowed = "one of success, failure, learning, interaction"
    assert said == f"outcome: 'triumph' is not allowed; allowed: {allowed}"
