"""What lies where: the tree adds up, hotspots are where things gathered, and no sentence says more
than its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cases import each
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


def test_every_folder_counts_what_lies_below_it() -> None:
    root = make_branch(ROWS, "brain")
    found = dict(walk(root))
    assert (root.name, root.count, root.bytes) == ("brain", 100, 9450)
    assert [branch.name for branch in root.branches] == [
        "outcome=success",
        "outcome=failure",
        "outcome=learning",
        "outcome=interaction",
        "_intake",
    ]
    assert found["outcome=success/tool=code_interpreter"].count == 45
    assert found["outcome=failure/tool=file_operation"] == Branch("tool=file_operation", 2, 200)


def test_memories_may_lie_beside_folders_and_rows_of_one_folder_add_up() -> None:
    root = make_branch(
        [
            FolderCount("", 2, 20),
            FolderCount("a", 1, 5),
            FolderCount("a/", 3, 7),
            FolderCount("a//b", 1, 1),
        ],
        "x",
    )
    assert root == Branch("x", 7, 33, (Branch("a", 5, 13, (Branch("b", 1, 1),)),))
    assert make_branch([], "empty") == Branch("empty", 0, 0)


def test_folders_of_the_same_size_are_ordered_by_name() -> None:
    root = make_branch([FolderCount(name, 1, 0) for name in "cab"], "x")
    assert [branch.name for branch in root.branches] == ["a", "b", "c"]


@given(FOLDERS)
def test_the_tree_loses_nothing(rows: list[FolderCount]) -> None:
    root = make_branch(rows, "x")
    result = (root.count, root.bytes)
    assert result == (sum(row.count for row in rows), sum(row.bytes for row in rows))
    for _, branch in walk(root):
        assert sum(inner.count for inner in branch.branches) <= branch.count
        assert sum(inner.bytes for inner in branch.branches) <= branch.bytes
        assert list(branch.branches) == sorted(
            branch.branches, key=lambda inner: (-inner.count, inner.name)
        )
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
    assert all(
        share <= spot.share <= 1 and spot.count == counted[spot.path].count > 0 for spot in spots
    )
    assert len({spot.path for spot in spots}) == len(spots)
    assert all(spot.area.isprintable() for spot in spots)


def test_reflection() -> None:
    said = reflect_on(ROWS)
    assert (said.total, said.intake) == (100, 3)
    result: Any = list(said.by_outcome.items())
    assert result == [("success", 60), ("failure", 20), ("learning", 12), ("interaction", 5)]
    result = list(said.by_tool.items())
    assert result == [("code_interpreter", 63), ("web_search", 15), ("file_operation", 2)]
    assert said.hotspots == [
        ("code_interpreter/runtime", 12),
        ("code_interpreter/syntax", 6),
        ("file_operation", 2),
    ]
    assert said.strengths[0] == ("code_interpreter/debug", 30)
    assert said.insights == [
        "60 of 80 attempts succeeded.",
        "code_interpreter/runtime has the most failures: 12 of 20.",
        "code_interpreter/debug has the most successes: 30 of 60.",
        "3 memories wait in _intake: a required key is missing or a value is unknown.",
    ]
    assert said.recent == ()


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
        (
            {f"outcome=failure/tool={tool}": 4 for tool in "abc"},  # none stands out
            ["0 of 12 attempts succeeded."],
        ),
        (
            {"outcome=success/tool=x": 399, "outcome=failure": 1},
            ["399 of 400 attempts succeeded.", "x has the most successes: 399 of 399."],
        ),
    ],
)
def test_sentences_say_no_more_than_numbers(rows: dict[str, int], insights: list[str]) -> None:
    counts = [FolderCount(path, count, 1) for path, count in rows.items()]
    assert reflect_on(counts).insights == insights


def test_odd_folders_count_under_their_own_names() -> None:
    said = reflect_on(
        [
            FolderCount("", 1, 1),
            FolderCount("by hand", 2, 1),
            FolderCount("team=red/outcome=failure/tool=", 3, 1),
            FolderCount("outcome=failure", 4, 1),
            FolderCount("outcome=", 5, 1),
            FolderCount("severity=high/service=auth", 6, 1),
            FolderCount("outcome=success/tool=a\x1b[2J\udc80", 7, 1),
        ]
    )
    assert said.total == 28
    assert said.by_outcome == {"failure": 7, "success": 7}
    assert said.hotspots == [(UNSORTED, 4), ("red/tool=", 3)]
    assert said.strengths == [("a�[2J�", 7)]


@given(FOLDERS)
def test_reflection_adds_up(rows: list[FolderCount]) -> None:
    said = reflect_on(rows)
    assert said.total == sum(row.count for row in rows)
    assert sum(said.by_outcome.values()) + said.intake <= said.total
    assert sum(count for _, count in said.hotspots) <= said.by_outcome.get("failure", 0)
    assert said.insights
    assert all(sentence.isprintable() for sentence in said.insights)
