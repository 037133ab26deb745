"""The helper that runs a corpus as one test misses no row."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import each


def test_every_row_is_tried_and_those_that_fail_are_listed() -> None:
    tried = []

    @each(("number", "text"), [(1, "one"), (2, "two"), (3, "three")])
    def check(number: int, text: str) -> None:
        tried.append(number)
        if number == 1:
            pytest.fail("not this one")
        assert text == "two"

    said = r"(?s)2 of 3 failed:.*\(1, 'one'\)\nFailed: not this one.*\(3, 'three'\)"
    with pytest.raises(AssertionError, match=said):
        check()
    assert tried == [1, 2, 3]


@each("name", ["a", "b"])
def test_fixtures_are_given_as_usual(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch(exist_ok=False)
