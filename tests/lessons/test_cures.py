"""Which of several changes was the cure is told apart by other times that the failure was met."""

from __future__ import annotations

from hardwon.lessons.cures import Evidence, weigh_cures
from hardwon.text.failures import names_any


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
