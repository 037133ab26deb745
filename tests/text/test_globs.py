"""Our globs give what glob.glob gives on a real tree, and no pattern takes long."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cases import each, examples
from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.text.globs import Glob

NAMES = [
    "a", "b", "ab", "A", ".a", ".b.json", "a.json", "b.json", "k=a", "k=b", "a-b", "[a]", "a*", "]", "é", "a\nb",
]  # fmt: skip
PARTS = [
    "a", "b", "ab", ".a", "*", "**", "?", "*.json", "k=*", "k=[ab]", "[!a]", "[]]", "[[]a[]]", "[a", ".*", "[.]a",
    "a**", ".", "",
]  # fmt: skip
PARTS += [
    "***", "?*", "[a-b]*", "[b-a]", "[!]a]", "[^a]", "a[*]", "*a*", "**.json", "[a-]*", "[!!]", "*[!n]", "[[:a]*",
    "[a&&b]", "[--a]*",
]  # fmt: skip
patterns = st.lists(
    st.sampled_from(PARTS) | st.text("ab.*?[]!-k=", max_size=5), min_size=1, max_size=5
).map("/".join)


def is_usable(pattern: str) -> bool:
    return not pattern.startswith("/") and ".." not in pattern.split("/")


def files_of(root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]


def really(pattern: str, root: Path) -> set[str]:
    """The files that the standard library finds, each in its plain form."""
    found = glob.glob(pattern, root_dir=root, recursive=True)  # noqa: PTH207  # the one that we promise to be like
    return {
        os.path.normpath(name)
        for name in found
        if name and (root / name).is_file() and not name.endswith("/")
    }


def ours(pattern: str, files: list[str]) -> set[str]:
    return {path for path in files if Glob(pattern).matches(path)}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few folders, hidden ones among them, with a file of every name in each."""
    root = tmp_path_factory.mktemp("tree")
    folders = [
        "d", "d/a", "d/.a", "d/a/b", "d/a/.a/b", "d/b/d/a", "d/k=a", "d/k=a/.a", "d/b/k=b", "d/ab/a/b", "d/[a]",
    ]  # fmt: skip
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ["", *folders]:
        for name in NAMES:
            if not (root / folder / name).is_dir():
                (root / folder / name).touch()
    return root


@settings(max_examples=examples(250))
@given(patterns.filter(is_usable))
@example("**")
@example("d/**")
@example("**/")
@example("d/**/*.json")
@example("d/*/")
@example("**/d/**/a")
@example("**/.a/**/a")
@example("d/**/**/b")
@example("./d//a/./a.json")
@example("d/**/.a/*")
@example(".*/**")
def test_they_find_what_the_standard_library_finds(tree: Path, pattern: str) -> None:
    assert ours(pattern, files_of(tree)) == really(pattern, tree)
    deeper = f"d/{pattern}"
    assert ours(deeper, files_of(tree)) == really(deeper, tree)


def test_a_pattern_for_folders_takes_no_file() -> None:
    for pattern in ("a/", "**/", "*/", "", ".", "a/."):
        assert not Glob(pattern).matches_folder("")
        assert not Glob(pattern).matches_folder("a")
        assert not Glob(pattern).matches("a")
        assert not Glob(pattern).matches("a/b")


def test_stars_do_not_make_it_slow() -> None:
    # Tried in every possible way, each of these would outlast the test's own timeout by ages.
    assert not Glob("*a" * 900 + "b").matches("a" * 5_000)
    assert Glob("*a" * 900 + "*").matches("a" * 5_000)
    assert not Glob("[!b]*" * 300 + "b").matches("a" * 5_000)
    assert not Glob("**/a/" * 350 + "b").matches("a/" * 700 + "c")
    assert not Glob("**/" * 600 + "b").matches("a/" * 1_000 + "c")
    assert Glob("**/*/" * 300 + "c").matches("a/" * 1_000 + "c")


@each(
    "pattern",
    ["/etc/*", "../*", "a/../b", "a/..", "..", "x" * (limits.GLOB_CHARS_MAX + 1), None, 7],
)
def test_patterns_that_lead_elsewhere_are_refused(pattern: object) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Glob(pattern)  # type: ignore[arg-type]
    assert refused.value.field == "pattern"
