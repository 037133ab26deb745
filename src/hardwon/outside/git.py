"""The commit and branch of a checkout, read from git's own files: a process per record would cost milliseconds. Git itself is
asked only by hooks, and by who installs them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from hardwon import limits

_COMMIT: Final = re.compile(r"^[0-9a-f]{40}([0-9a-f]{24})?$")
_BARE: Final = re.compile(r"^\s*bare\s*=\s*(?:true|yes|on|1)\s*$", re.IGNORECASE | re.MULTILINE)


class Head(NamedTuple):
    """Empty strings where there is no repository, no commit yet, or no branch (a detached head)."""

    commit: str
    branch: str


NO_HEAD: Final = Head("", "")


def repository_root(start: Path) -> Path | None:
    """The folder that holds `.git`, at `start` or above it."""
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return None


@dataclass
class Repository:
    """A checkout, main or linked worktree. `head` is read anew only when one of the files behind it changed."""

    root: Path
    _git_dir: Path = field(init=False)
    _common_dir: Path = field(init=False)
    _behind: list[str] = field(init=False, default_factory=list)
    _seen: tuple[object, ...] | None = field(init=False, default=None)
    _head: Head = field(init=False, default=NO_HEAD)

    def __post_init__(self) -> None:
        self._git_dir = _linked(self.root / ".git")
        common = self._git_dir / "commondir"
        self._common_dir = (self._git_dir / common.read_text().strip()).resolve() if common.is_file() else self._git_dir

    @property
    def has_files(self) -> bool:
        """A bare repository has none: also where a `.git` leads to it, for the sake of worktrees elsewhere."""
        if self._git_dir != self._common_dir:
            return True
        try:
            return not _BARE.search((self._git_dir / "config").read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return True

    @property
    def index_stamp(self) -> tuple[int, int, int] | None:
        """Changes whenever something is staged."""
        return _stamp(f"{self._git_dir}/index")

    @property
    def head(self) -> Head:
        stamps = tuple(map(_stamp, self._behind))
        if stamps != self._seen:
            self._head = self._read()
            git, common = str(self._git_dir), str(self._common_dir)
            behind = [f"{git}/HEAD", f"{common}/refs/heads/{self._head.branch}"]
            if _stamp(behind[1]) is None:
                behind.append(f"{common}/packed-refs")
            # A head that moved to another branch has other files behind it: those count from the next call on.
            self._seen = stamps if behind == self._behind else None
            self._behind = behind
        return self._head

    def _read(self) -> Head:
        try:
            content = (self._git_dir / "HEAD").read_text(encoding="utf-8").strip()
            if not content.startswith("ref:"):
                return Head(content, "") if _COMMIT.match(content) else NO_HEAD
            ref = content.removeprefix("ref:").strip()
            return Head(self._resolve(ref), _name_of(ref))
        except (OSError, UnicodeDecodeError):
            return NO_HEAD

    def _resolve(self, ref: str) -> str:
        for folder in (self._git_dir, self._common_dir):
            loose = folder / ref
            if loose.is_file():
                commit = loose.read_text(encoding="utf-8").strip()
                return commit if _COMMIT.match(commit) else ""
        packed = self._common_dir / "packed-refs"
        if packed.is_file():
            for line in packed.read_text(encoding="utf-8").splitlines():
                commit, _, name = line.partition(" ")
                if name == ref and _COMMIT.match(commit):
                    return commit
        return ""

    @property
    def is_rebasing(self) -> bool:
        """Whether commits are being made anew, one after the other, and none of them is news."""
        return any((self._git_dir / name).exists() for name in ("rebase-merge", "rebase-apply"))


def _name_of(ref: str) -> str:
    """Cut to what a record can hold: a name that long is still told from others by its beginning."""
    branch = ref.removeprefix("refs/heads/")[: limits.NAME_CHARS_MAX]
    return branch if branch.isprintable() else ""


def _linked(dot_git: Path) -> Path:
    """`.git` is a folder, or in worktrees and submodules a file that names it."""
    if dot_git.is_file():
        target = dot_git.read_text(encoding="utf-8", errors="replace").strip().removeprefix("gitdir:").strip()
        return (dot_git.parent / target).resolve()
    return dot_git


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116  # this runs on every write, and a Path costs more than the call
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


# --- asking git -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Commit:
    """A commit that was just made: its id, the commits it follows or replaces, when its parent was made (None: it has none),
    the files it changed, and whether it left nothing behind (no tracked file differs from it)."""

    root: Path
    id: str
    before: tuple[str, ...]
    parent_at: datetime | None
    changed: frozenset[str]
    is_everything: bool


def git(root: Path, *arguments: str) -> str | None:
    """What git answers; None where it fails, is not there or takes too long."""
    import subprocess  # only hooks need it

    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603  # nosec B603, B607  # our own arguments, and no shell
            ["git", *arguments],  # noqa: S607  # whichever git made the commit
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limits.GIT_S_MAX,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="surrogateescape") if done.returncode == 0 else None


def last_commit(root: Path) -> Commit | None:
    """The commit that HEAD is at, as a hook sees it right after it was made; None where git does not say."""
    listed = git(root, "log", "-2", "--first-parent", "--format=%H %ct", "HEAD")
    lines = [line.split() for line in (listed or "").splitlines()]
    if not lines or not all(len(line) == 2 and _COMMIT.match(line[0]) and line[1].isdigit() for line in lines):
        return None
    made = lines[0][0]
    parent = lines[1] if len(lines) > 1 else None
    replaced = (git(root, "rev-parse", "--quiet", "--verify", "HEAD@{1}") or "").strip()
    compared = ("diff-tree", "-r", "--no-commit-id", "--name-only", "-z", *((parent[0], made) if parent else ("--root", made)))
    return Commit(
        root=root,
        id=made,
        before=tuple(each for each in dict.fromkeys((parent[0] if parent else "", replaced)) if each),
        parent_at=datetime.fromtimestamp(int(parent[1]), UTC) if parent else None,
        changed=frozenset(filter(None, (git(root, *compared) or "").split("\0"))),
        is_everything=git(root, "status", "--porcelain", "--untracked-files=no") == "",
    )
