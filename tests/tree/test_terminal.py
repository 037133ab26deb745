"""What a terminal shows: it fits, it adds up, it has colours only where they are asked for, and no
name can steer it.
"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from cases import each
from clocks import Clock
from hardwon import Memory, Step
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.views import Screen, count_cells, percent, size_text, visible
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


def test_the_map_says_what_lies_beside_its_folders() -> None:
    rows = [FolderCount("a", 6, 60), FolderCount("b", 1, 2048), FolderCount("", 3, 30)]
    branch = make_branch(rows, "x")
    lines = views.map_text(Screen(), branch).splitlines()
    assert [re.sub(r"[█░ ]+", " ", line) for line in lines] == [
        "x 10",
        "├─ a 6 60%",
        "├─ b 1 10%",
        "└─ … the rest 3 30%",
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


def test_colours_change_nothing_but_the_colour(memory: Memory) -> None:
    memory.remember("something failed in the parser", "failure", "unknown")
    stats = memory.stats()
    plain, coloured = (views.stats_text(Screen(80, colour), stats) for colour in (False, True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert "\x1b[31mfailure" in coloured


def test_reflection() -> None:
    text = views.reflection_text(Screen(), reflect_on(ROWS))
    assert text.startswith("memories: 100\nby outcome:\n  success: 60\n")
    assert "\nfailures gather in:\n  code_interpreter/runtime: 12\n" in text
    assert "\nin short:\n  60 of 80 attempts succeeded.\n" in text
    assert views.reflection_text(Screen(), reflect_on([])).startswith("memories: 0")


@each(
    ("share", "text"),
    [
        (0, "0%"),
        (0.001, "<1%"),
        (0.006, "1%"),
        (0.5, "50%"),
        (0.994, "99%"),
        (0.9999, ">99%"),
        (1, "100%"),
    ],
)
def test_no_share_is_rounded_to_nothing_or_to_everything(share: float, text: str) -> None:
    assert percent(share) == text


def test_sizes() -> None:
    sizes = [0, 1023, 1024, 5 * 1024**2, 3 * 1024**3, 2 * 1024**4]
    assert [size_text(size) for size in sizes] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 MiB",
        "3.0 GiB",
        "2.0 TiB",
    ]


def test_records_of_every_kind_are_shown_in_one_line_each(memory: Memory, clock: Clock) -> None:
    memory.remember("runtime\x1b[2J error\n in login", "failure", "unknown")
    memory.record_fact("login needs an id", "observation")
    memory.record_trajectory("login", [Step(action="look")], 1.0)
    memory.record_episode("login", 0.2, trajectory_summary="went wrong")
    memory.record_fix({"model": "m", "description": "login"}, True, True)
    hits = memory.recall("login", k=10)
    lines = views.hits_text(Screen(), hits).splitlines()
    assert len(hits) == 5
    assert len(lines) == 10
    assert all(line.isprintable() for line in lines)
    said = {line.strip() for line in lines[1::2]}
    assert {
        "login needs an id",
        "login (reward 1)",
        "login (score 0.2) went wrong",
        "m CUSTOM: login",
    } <= said
    assert any(
        re.fullmatch(r"\d\.\d\d  failure  experience, hypothesis, [\d-]+, [0-9a-f-]{36}", line)
        for line in lines
    )
    assert views.hits_text(Screen(), []) == "Nothing here answers that."


def test_statistics(memory: Memory) -> None:
    memory.remember("something failed in the parser", "failure", "unknown")
    text = views.stats_text(Screen(), memory.stats())
    assert re.search(r"^records +1$", text, re.MULTILINE)
    assert re.search(r"^  failure +1  100%  █{10}$", text, re.MULTILINE)
    assert str(memory.location) in text
