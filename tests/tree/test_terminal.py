"""What a terminal shows: it fits, it adds up, and no name can steer it."""

from __future__ import annotations

import os
import re
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hardwon import Memory
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.views import visible
from hardwon.tree.topology import Branch, FolderCount, make_branch
from test_topology import FOLDERS, ROWS

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
