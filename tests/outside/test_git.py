"""Commit and branch, read from real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

import checkouts
from checkouts import git
from hardwon.outside.files import repository_root
from hardwon.outside.git import NO_HEAD, Repository


def commit(folder: Path, text: str) -> str:
    (folder / "file.txt").write_text(text)
    return checkouts.commit(folder, text)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def test_head_follows_commits_branches_and_packing(checkout: Path) -> None:
    repository = Repository(checkout)
    assert repository.head == ("", "main"), "no commit yet"
    first = commit(checkout, "one")
    assert repository.head == (first, "main") == repository.head
    git(checkout, "checkout", "-q", "-b", "feature/x")
    second = commit(checkout, "two")
    assert repository.head == (second, "feature/x")
    git(checkout, "pack-refs", "--all")
    assert repository.head == (second, "feature/x")
    third = commit(checkout, "three")
    assert repository.head == (third, "feature/x")
    git(checkout, "checkout", "-q", first)
    assert repository.head == (first, "")
    git(checkout, "checkout", "-q", "main")
    assert repository.head == (first, "main")


def test_a_linked_worktree_has_its_own_head(checkout: Path, tmp_path: Path) -> None:
    first = commit(checkout, "one")
    git(checkout, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repository(tmp_path / "side")
    assert side.head == (first, "side")
    second = commit(tmp_path / "side", "two")
    assert side.head == (second, "side")
    assert Repository(checkout).head == (first, "main")


def test_no_repository_and_a_broken_one(tmp_path: Path) -> None:
    assert repository_root(tmp_path) is None
    (tmp_path / ".git").mkdir()
    assert repository_root(tmp_path) == tmp_path
    assert Repository(tmp_path).head == NO_HEAD
    (tmp_path / ".git" / "HEAD").write_bytes(b"\xff\xfe nonsense")
    assert Repository(tmp_path).head == NO_HEAD
    (tmp_path / ".git" / "HEAD").write_text("not a commit")
    assert Repository(tmp_path).head == NO_HEAD
