"""What lies where, and what a terminal shows of it: it adds up, fits, and no name can steer it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cases import each
from hardwon import Memory
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.views import visible
from hardwon.tree.topology import (
    UNSORTED,
    Branch,
    FolderCount,
    find_hotspots,
    make_branch,
    reflect_on,
)

ROWS = [
    FolderCount("outcome=success/tool=code_interpreter/task_type=debug", 30, 3000),
    FolderCount("outcome=success/tool=code_interpreter/task_type=write", 15, 1500),
    FolderCount("outcome=success/tool=web_search/domain=technical", 15, 1200),
    FolderCount("outcome=failure/tool=code_interpreter/error_type=runtime", 12, 1300),
    FolderCount("outcome=failure/tool=code_interpreter/error_type=syntax", 6, 600),
    FolderCount("outcome=failure/tool=file_operation", 2, 200),
    FolderCount("outcome=learning/insight_type=pattern", 12, 900),
    FolderCount("outcome=interaction/sentiment=negative", 5, 400),
    FolderCount("_intake/no_match", 3, 350),
]

NAMES = st.text(alphabet="ab=_\x1b\n\udc80ü", max_size=4)
PATHS = st.lists(
    NAMES | st.sampled_from(["outcome=failure", "outcome=success", "tool=x", "_intake"]), max_size=5
).map("/".join)
FOLDERS = st.lists(
    st.builds(FolderCount, PATHS, st.integers(0, 20), st.integers(0, 9999)), max_size=30
)


def walk(branch: Branch, path: str = "") -> Iterator[tuple[str, Branch]]:
    yield path, branch
    for inner in branch.branches:
        yield from walk(inner, f"{path}/{inner.name}".lstrip("/"))


def test_memories_may_lie_beside_folders_and_rows_of_one_folder_add_up() -> None:
    rows = (("", 2, 20), ("a", 1, 5), ("a/", 3, 7), ("a//b", 1, 1))
    root = make_branch([FolderCount(*row) for row in rows], "x")
    assert root == Branch("x", 7, 33, (Branch("a", 5, 13, (Branch("b", 1, 1),)),))
    assert make_branch([], "empty") == Branch("empty", 0, 0)


@given(FOLDERS)
def test_the_tree_loses_nothing(rows: list[FolderCount]) -> None:
    root = make_branch(rows, "x")
    result = (root.count, root.bytes)
    assert result == (sum(row.count for row in rows), sum(row.bytes for row in rows))
    for _, branch in walk(root):
        inner = branch.branches
        assert sum(each.count for each in inner) <= branch.count
        assert sum(each.bytes for each in inner) <= branch.bytes
        assert list(inner) == sorted(inner, key=lambda each: (-each.count, each.name))
    assert make_branch(reversed(rows), "x") == root


def test_hotspots_are_where_much_of_the_folder_above_has_gathered() -> None:
    spots = find_hotspots(make_branch(ROWS, "brain"), share=0.5)
    assert [(spot.area, spot.count, round(spot.share, 2)) for spot in spots] == [
        ("success", 60, 0.6),
        ("success/code_interpreter", 45, 0.75),
        ("success/code_interpreter/debug", 30, 0.67),
        ("failure/code_interpreter", 18, 0.9),
        ("failure/code_interpreter/runtime", 12, 0.67),
    ]
    assert spots[-1].path == "outcome=failure/tool=code_interpreter/error_type=runtime"
    assert find_hotspots(make_branch(ROWS, "brain"), share=0.5, limit=2) == spots[:2]
    of_tool = find_hotspots(make_branch(ROWS, "brain"), share=0.5, tool="code_interpreter")
    assert of_tool == spots[1:]
    assert find_hotspots(make_branch(ROWS, "brain"), tool="hammer") == []


def test_folders_that_hold_nothing_but_one_another_are_one_place() -> None:
    (spot,) = find_hotspots(make_branch([FolderCount("outcome=failure/tool=unknown", 4, 40)], "x"))
    assert (spot.path, spot.share) == ("outcome=failure/tool=unknown", 1.0)


@given(FOLDERS, st.floats(0.01, 1))
def test_hotspots_keep_to_their_share(rows: list[FolderCount], share: float) -> None:
    root = make_branch(rows, "x")
    counted = dict(walk(root))
    spots = find_hotspots(root, share, limit=1000)
    for spot in spots:
        assert share <= spot.share <= 1
        assert spot.count == counted[spot.path].count > 0
        assert spot.area.isprintable()
    assert len({spot.path for spot in spots}) == len(spots)


def test_reflection() -> None:
    said = reflect_on(ROWS)
    assert (said.total, said.intake) == (100, 3)
    outcomes: Any = list(said.by_outcome.items())
    assert outcomes == [("success", 60), ("failure", 20), ("learning", 12), ("interaction", 5)]
    tools = list(said.by_tool.items())
    assert tools == [("code_interpreter", 63), ("web_search", 15), ("file_operation", 2)]
    runtime, syntax = ("code_interpreter/runtime", 12), ("code_interpreter/syntax", 6)
    assert said.hotspots == [runtime, syntax, ("file_operation", 2)]
    assert said.strengths[0] == ("code_interpreter/debug", 30)
    assert said.insights == [
        "60 of 80 attempts succeeded.",
        "code_interpreter/runtime has the most failures: 12 of 20.",
        "code_interpreter/debug has the most successes: 30 of 60.",
        "3 memories wait in _intake: a required key is missing or a value is unknown.",
    ]
    assert said.recent == ()
    odd = [("", 1), ("by hand", 2), ("team=red/outcome=failure/tool=", 3), ("outcome=failure", 4)]
    odd += [("outcome=", 5), ("severity=high/service=auth", 6)]
    odd += [("outcome=success/tool=a\x1b[2J\udc80", 7)]
    said = reflect_on([FolderCount(path, count, 1) for path, count in odd])
    assert (said.total, said.by_outcome) == (28, {"failure": 7, "success": 7})
    assert said.hotspots == [(UNSORTED, 4), ("red/tool=", 3)]
    assert said.strengths == [("a�[2J�", 7)]


@each(
    ("rows", "insights"),
    [
        ({}, ["Nothing is remembered yet."]),
        (
            {"outcome=failure/tool=x": 1, "outcome=success/tool=x": 2},
            ["Only 2 successes and 1 failure so far: too few to say how often things work."],
        ),
        (
            {"outcome=learning/insight_type=fact": 50, "_intake/no_match": 1},
            [
                "Only 0 successes and 0 failures so far: too few to say how often things work.",
                "1 memory waits in _intake: a required key is missing or a value is unknown.",
            ],
        ),
        # none stands out
        ({f"outcome=failure/tool={tool}": 4 for tool in "abc"}, ["0 of 12 attempts succeeded."]),
        (
            {"outcome=success/tool=x": 399, "outcome=failure": 1},
            ["399 of 400 attempts succeeded.", "x has the most successes: 399 of 399."],
        ),
    ],
)
def test_sentences_say_no_more_than_numbers(rows: dict[str, int], insights: list[str]) -> None:
    counts = [FolderCount(path, count, 1) for path, count in rows.items()]
    assert reflect_on(counts).insights == insights


@given(FOLDERS)
def test_reflection_adds_up(rows: list[FolderCount]) -> None:
    said = reflect_on(rows)
    assert said.total == sum(row.count for row in rows)
    assert sum(said.by_outcome.values()) + said.intake <= said.total
    assert sum(count for _, count in said.hotspots) <= said.by_outcome.get("failure", 0)
    assert said.insights
    assert all(sentence.isprintable() for sentence in said.insights)


HOSTILE = "tool=\x1b[2J\x07\n\r\x9b31m\u202eevil\u2066\udc80"
BRAIN = make_branch(ROWS, "brain")


def draw_map(branch: Branch = BRAIN, depth: int = 99) -> list[str]:
    return views.unstyle(views.draw_map(branch, depth)).splitlines()


def test_the_map_shows_every_folder_with_its_count_and_its_share_of_the_one_above() -> None:
    lines = draw_map()
    assert len(lines) == 18
    assert re.fullmatch(r"brain +100", lines[0])
    assert re.fullmatch(r"├─ outcome=success +60 +60% +█{7}░{5}", lines[1])
    assert re.fullmatch(r"│ ├─ tool=code_interpreter +45 +75% +█{9}░{3}", lines[2])
    assert re.fullmatch(r"│ │ ├─ task_type=write +15 +33% +█{4}░{8}", lines[4])
    outcomes = [f"outcome={name}" for name in ("success", "failure", "learning", "interaction")]
    assert [line.split()[1] for line in draw_map(depth=1)] == ["100", *outcomes, "_intake"]


def test_the_map_says_what_lies_beside_its_folders() -> None:
    rows = [FolderCount("a", 6, 60), FolderCount("b", 1, 2048), FolderCount("", 3, 30)]
    lines = draw_map(make_branch(rows, "x"))
    result = [re.sub(r"[█░ ]+", " ", line).strip() for line in lines]
    assert result == ["x 10", "├─ a 6 60%", "├─ b 1 10%", "└─ … the rest 3 30%"]
    assert draw_map(make_branch([], "brain"))[0].split() == ["brain", "0"]


@given(FOLDERS, st.integers(45, 120))
def test_whatever_there_is_fits_and_stays_on_its_line(rows: list[FolderCount], width: int) -> None:
    with patch.dict(os.environ, COLUMNS=str(width)):
        lines = draw_map(make_branch(rows, HOSTILE))
    assert all(line.isprintable() and cell_len(line) <= width for line in lines)


@given(st.text(), st.integers(4, 30))
def test_what_is_cut_takes_no_more_than_its_cells(text: str, cells: int) -> None:
    with patch.dict(os.environ, COLUMNS="80"):
        assert cell_len(views.cut_line(text, 80 - cells)) <= cells


@given(st.text() | st.text(alphabet="\x1b[\x07\n\u202e\udcffü漢é"))
def test_nothing_visible_is_obeyed_by_a_terminal(text: str) -> None:
    assert visible(text).isprintable()
    visible(text).encode()
    assert visible(HOSTILE) == r"tool=\x1b[2J\x07\n\r\x9b31m\u202eevil\u2066\udc80"


def test_what_went_wrong_is_red(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    memory.remember("something failed in the parser", "failure", "unknown")
    assert re.search(r"\x1b\[31mfailure", views.draw_stats(memory.stats()))
