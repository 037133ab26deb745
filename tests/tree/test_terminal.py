"""What a terminal shows: it fits, it adds up, it has colours only where they are asked for, and no
name can steer it.
"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.views import Screen, count_cells, visible
from hardwon.tree.topology import FolderCount, make_branch, reflect_on
from test_topology import FOLDERS, ROWS

HOSTILE = "tool=\x1b[2J\x07\n\r\x9b31m\u202eevil\u2066\udc80"
BRAIN = make_branch(ROWS, "brain")


def mapped(width: int = 80, depth: int = 99) -> list[str]:
    return views.map_text(Screen(width), BRAIN, depth).splitlines()


def test_the_map_shows_every_folder_with_its_bar_its_count_and_its_share_of_the_one_above() -> None:
    lines = mapped()
    assert len(lines) == 18
    assert re.fullmatch(r"brain +100", lines[0])
    assert re.fullmatch(r"├─ outcome=success +█{14}░{10} +60 +60%", lines[1])
    assert re.fullmatch(r"│  ├─ tool=code_interpreter +█{18}░{6} +45 +75%", lines[2])
    assert re.fullmatch(r"│  │  ├─ task_type=write +█{8}░{16} +15 +33%", lines[4])
    assert re.fullmatch(r"│  ├─ no_match +█{24} +3 +100%", lines[-1])


def test_the_map_stops_at_a_depth() -> None:
    assert [line.split()[1] for line in mapped(depth=1)] == [
        "100",
        "outcome=success",
        "outcome=failure",
        "outcome=learning",
        "outcome=interaction",
        "_intake",
    ]


def test_an_empty_memory_is_one_line() -> None:
    assert views.map_text(Screen(), make_branch([], "brain")).split() == ["brain", "0"]


@given(FOLDERS, st.integers(45, 120))
def test_whatever_there_is_fits_and_stays_on_its_line(rows: list[FolderCount], width: int) -> None:
    branch = make_branch(rows, HOSTILE)
    screen = Screen(width)
    lines = views.map_text(screen, branch).splitlines()
    assert all(line.isprintable() and count_cells(line) <= width for line in lines)
    other = views.reflection_text(screen, reflect_on(rows))
    assert all(line.isprintable() for line in other.splitlines())


@given(st.text(), st.integers(4, 30))
def test_what_is_cut_takes_no_more_than_its_cells(text: str, cells: int) -> None:
    assert count_cells(Screen(80).line(text, cells)) <= cells


@given(st.text() | st.text(alphabet="\x1b[\x07\n\u202e\udcffü漢é"))
def test_nothing_visible_is_obeyed_by_a_terminal(text: str) -> None:
    assert visible(text).isprintable()
    visible(text).encode()


def test_control_characters_are_written_out() -> None:
    assert visible(HOSTILE) == r"tool=\x1b[2J\x07\n\r\x9b31m\u202eevil\u2066\udc80"


def test_reflection() -> None:
    text = views.reflection_text(Screen(), reflect_on(ROWS))
    assert text.startswith("memories: 100\nby outcome:\n  success: 60\n")
    assert "\nfailures gather in:\n  code_interpreter/runtime: 12\n" in text
    assert "\nin short:\n  60 of 80 attempts succeeded.\n" in text
    assert views.reflection_text(Screen(), reflect_on([])).startswith("memories: 0")
