"""A checkout: its commit and branch, read from git's own files (a process per record would cost
milliseconds); its files as they are now, as SHA-1; and where those went that vanished.

Looking costs one `stat` where nothing changed. A file is read only if its size, times or inode are
not those of when it was last hashed, or if it was so young then that it may have changed since
without showing it. Git itself is asked only by hooks, by who installs them, and about files that
vanished.

Paths come out of records, which anybody may have written: none leads upward or through a link out
of the checkout, only regular files are opened that are on some disk, no more is read of them than
was asked for, and never a file of a memory: closing it would drop the locks that SQLite holds on
it. Git is asked only what it answers without looking at files: for those it would run the filters
that a repository's settings name.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.outside import files
from hardwon.outside.files import DATABASE_SUFFIXES, hash_open_file, is_of_the_system, open_no_link
from hardwon.records.kinds import RelatedFile
from hardwon.text.entities import MADE_ONCE_MAX, holds_secrets

# A file that nobody named is hashed up to this size: a few milliseconds. Larger ones are data, not
# code.
FOUND_FILE_BYTES_MAX: Final = 4 * limits.MIB

# How long git may take for one answer, such as what was renamed. Small repositories take 10 ms;
# who waits for a recall or a commit waits no longer.
GIT_WAIT_MAX_S: Final = 2.0

# Questions to git within GIT_QUESTIONS_WITHIN_S while somebody waits for a recall: one for each
# commit whose files vanished and one for what is there now, some 10 ms each. GIT_WAIT_MAX_S holds
# for all of them together. `check_stale` asks for all.
GIT_QUESTIONS_MAX: Final = 8

# Longer than the questions of one recall can take, so that none gets twice as many.
GIT_QUESTIONS_WITHIN_S: Final = 5.0

# Related files that are found in a record's texts. Who names more of them is listing a folder, not
# telling of its files.
_FILES_FOUND_MAX: Final = 8
# Files whose SHA-1 a process remembers: some megabytes.
_HASHES_KEPT_MAX: Final = 20_000
# A file or folder that changed so recently may change again without its times telling: FAT counts
# in steps of two seconds, some file systems keep whole ones, and kernels count in steps of some
# milliseconds.
_FILE_UNSURE_NS: Final = 2_000_000_000
# After git took too long it is not asked again for so long.
_GIT_TIRED_S: Final = 60.0
# Of git's answers: some hundred thousand paths.
_GIT_ANSWER_BYTES_MAX: Final = 32 * limits.MIB
# Answers of git about renames that a process remembers, one for each commit that records were made
# at.
_RENAMES_KEPT_MAX: Final = 256

# Files that are hashed to find where one went that git has not been told of.
_RENAMES_SOUGHT_MAX: Final = 64
# How long the list of files that git does not know yet is believed: a name may get a new file at
# any time.
_UNTRACKED_KEPT_S: Final = 2.0

# --- git ---

_COMMIT: Final = re.compile(r"^[0-9a-f]{40}([0-9a-f]{24})?$")


_BARE: Final = re.compile(r"(?im)^\s*bare\s*=\s*(?:true|yes|on|1)\s*$")


class Head(NamedTuple):
    """Empty strings where there is no repository, no commit yet, or no branch (a detached head)."""

    commit: str
    branch: str


NO_HEAD: Final = Head("", "")


class Repository:
    """A checkout, main or linked worktree. `head` is read anew only when one of the files behind it
    changed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._git_dir = root / ".git"
        if self._git_dir.is_file():  # in worktrees and submodules a file that names the folder
            named = self._git_dir.read_text(encoding="utf-8", errors="replace").strip()
            self._git_dir = (root / named.removeprefix("gitdir:").strip()).resolve()
        self._common_dir, common = self._git_dir, self._git_dir / "commondir"
        if common.is_file():
            self._common_dir = (self._git_dir / common.read_text().strip()).resolve()
        self._behind: list[str] = []
        self._seen: tuple[object, ...] | None = None
        self._head = NO_HEAD

    @property
    def home(self) -> Path:
        """The folder that a repository is known by, whichever of its worktrees this is: the first
        checkout, or a bare repository itself. A folder that merely claims to be a worktree, and
        that git does not know of, is its own: an archive must not reach another one's memory.
        """
        if self._git_dir == self._common_dir:
            return self.root
        try:
            named = (self._git_dir / "gitdir").read_text(encoding="utf-8").strip()
            if not (self._git_dir / named).samefile(self.root / ".git"):
                return self.root
        except (OSError, ValueError):
            return self.root
        common = self._common_dir
        return common.parent if common.name.startswith(".") else common

    @property
    def name(self) -> str:
        return self.home.name.removesuffix(".git")

    @property
    def has_files(self) -> bool:
        """A bare repository has none: also where a `.git` leads to it, for the sake of worktrees
        elsewhere.
        """
        settings = ""
        with suppress(OSError):
            settings = (self._git_dir / "config").read_text(encoding="utf-8", errors="replace")
        return self._git_dir != self._common_dir or not _BARE.search(settings)

    @property
    def index_stamp(self) -> Signature | None:
        """Changes whenever something is staged."""
        return signature_at(f"{self._git_dir}/index")

    @property
    def head(self) -> Head:
        stamps = tuple(map(signature_at, self._behind))
        if stamps != self._seen:
            self._head = self._read()
            git, common = str(self._git_dir), str(self._common_dir)
            behind = [f"{git}/HEAD", f"{common}/refs/heads/{self._head.branch}"]
            if signature_at(behind[1]) is None:
                behind.append(f"{common}/packed-refs")
            # A head that moved to another branch has other files behind it: those count from the
            # next call on.
            self._seen = stamps if behind == self._behind else None
            self._behind = behind
        return self._head

    def _read(self) -> Head:
        try:
            content = (self._git_dir / "HEAD").read_text(encoding="utf-8").strip()
            if not content.startswith("ref:"):
                return Head(content, "") if _COMMIT.match(content) else NO_HEAD
            ref = content.removeprefix("ref:").strip()
            # Cut to what a record can hold: a name that long is still told from others by its
            # beginning.
            branch = ref.removeprefix("refs/heads/")[: limits.NAME_CHARS_MAX]
            loose = [folder / ref for folder in (self._git_dir, self._common_dir)]
            packed = self._common_dir / "packed-refs"
            if loose_ref := next(filter(Path.is_file, loose), None):
                commits = [loose_ref.read_text(encoding="utf-8").strip()]
            else:
                lines = packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else []
                commits = [line.split(" ")[0] for line in lines if line.partition(" ")[2] == ref]
            commit = next(filter(_COMMIT.match, commits), "")
            return Head(commit, branch if branch.isprintable() else "")
        except (OSError, UnicodeDecodeError):
            return NO_HEAD

    @property
    def is_rebasing(self) -> bool:
        """Whether commits are being made anew, one after the other, and none of them is news."""
        return any((self._git_dir / name).exists() for name in ("rebase-merge", "rebase-apply"))


# Inode, size, when its content and when anything of it changed last: who sets the first time back
# cannot set the other.
Signature = tuple[int, int, int, int]


def make_signature(status: os.stat_result) -> Signature:
    """What a file is told from its later states by."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def signature_at(path: str | Path) -> Signature | None:
    """None where there is nothing."""
    try:
        return make_signature(os.stat(path))  # noqa: PTH116  # this runs on every write, and a Path costs more than the call
    except OSError:
        return None


IN_INDEX: Final = (
    "{0} is in the repository's index: whoever clones it gets every record, and who changes it there "
    "changes what you are told. git rm --cached {0} takes it out"
)


def in_index(file: Path) -> str | None:
    """What a repository's index holds of a file (the id of its content, "?" where git does not say),
    so that whoever clones it gets the file; None where it does not. Hooks wait for it: git is asked
    only where the index seems to name the file.
    """
    root = files.repository_root(file.parent)
    if root is None:
        return None
    try:
        folder = Repository(root)._git_dir
        data = (folder / "index").read_bytes()
    except OSError:
        return None
    is_named = bytes(file.relative_to(root)) + b"\0" in data
    # the fourth version shortens names, and a split index is in two files
    if not is_named and data[4:8] <= b"\0\0\0\3" and not any(folder.glob("sharedindex.*")):
        return None
    listed = git(root, "ls-files", "-s", "--", str(file))
    if listed is None:
        return "?" if is_named else None
    return listed.split()[1] if listed else None


# --- asking git ---


class Commit(NamedTuple):
    """A commit that was just made: its id, the commits it follows or replaces, when its parent was
    made (None: it has none), the files it changed, and whether it left nothing behind (no tracked
    file differs from it).
    """

    root: Path
    id: str
    before: tuple[str, ...]
    parent_at: datetime | None
    changed: frozenset[str]
    is_everything: bool


def _run_git(
    root: str | Path, arguments: Iterable[str], environment: Mapping[str, str], wait_s: float
) -> tuple[int, bytes, bytes] | None:
    """Exit code, answer and complaint; None where there is no git, or it takes too long."""
    import subprocess  # only hooks need it, and where a file vanished

    try:
        done = subprocess.run(  # noqa: S603  # nosec B603, B607  # a fixed program and no shell; what a record says is checked to be a commit
            ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *arguments],  # noqa: S607  # whichever git made the commit
            cwd=root,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=wait_s,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.returncode, done.stdout, done.stderr


def git(root: Path, *arguments: str) -> str | None:
    """What git answers; None where it fails, is not there or takes too long."""
    done = _run_git(root, arguments, os.environ, GIT_WAIT_MAX_S)
    return done[1].decode(errors="surrogateescape") if done and done[0] == 0 else None


def last_commit(root: Path) -> Commit | None:
    """The commit that HEAD is at, as a hook sees it right after it was made; None where git does
    not say.
    """
    listed = git(root, "log", "-2", "--first-parent", "--format=%H %ct", "HEAD")
    lines = re.findall(r"^([0-9a-f]{40,64}) (\d+)$", listed or "", re.MULTILINE)
    if not lines:
        return None
    made = lines[0][0]
    parent, parent_s = lines[1] if len(lines) > 1 else ("", "")
    replaced = (git(root, "rev-parse", "--quiet", "--verify", "HEAD@{1}") or "").strip()
    compared = ("--no-commit-id", "--name-only", "-z", parent or "--root", made)
    changed = (git(root, "diff-tree", "-r", *compared) or "").split("\0")
    return Commit(
        root=root,
        id=made,
        before=tuple(filter(None, dict.fromkeys((parent, replaced)))),
        parent_at=datetime.fromtimestamp(int(parent_s), UTC) if parent else None,
        changed=frozenset(filter(None, changed)),
        is_everything=git(root, "status", "--porcelain", "--untracked-files=no") == "",
    )


# --- checkout ---

UNSURE: Final = "?"  # instead of a SHA-1: it cannot be said what is there
_NOTHING: Final = hashlib.sha1(b"", usedforsecurity=False).hexdigest()
_NO_SUCH_COMMIT: Final = re.compile(
    rb"(?i)bad object|bad revision|unknown revision|ambiguous argument|not a valid object"
)


class Hashes:
    """What files held when they were last read, by their full path. Bounded; forgets everything
    when it is full.
    """

    def __init__(self) -> None:
        # Whether it is sure: the file was old enough when it was read that every later change shows
        # in its signature.
        self._known: dict[str, tuple[Signature, str, bool]] = {}

    def find_sha1(self, path: str, signature: Signature | None) -> str | None:
        """What it is as long as it has this signature; None where that is not known for sure."""
        before, sha1, sure = self._known.get(path, (None, "", False))
        return sha1 if sure and before == signature else None

    def is_unchanged(self, path: str, sha1: str) -> bool:
        """Whether it is known to hold this still; nothing is known of a path that may not be looked
        at.
        """
        return path in self._known and self.find_sha1(path, signature_at(path)) == sha1

    def read(self, path: str, signature: Signature, kept_as: str, bytes_max: int) -> str:
        """The SHA-1 of a regular file, which must be the one that the signature is of; UNSURE where
        it is not, cannot be read or holds more than `bytes_max`. It is known by the path that led
        to it.
        """
        try:
            with open(path, "rb", buffering=0, opener=open_no_link) as file:
                begun_ns = time.time_ns()
                before = os.fstat(file.fileno())
                if not stat.S_ISREG(before.st_mode) or before.st_ino != signature[0]:
                    return UNSURE
                sha1 = hash_open_file(file.fileno(), bytes_max)
        except OSError:
            return UNSURE
        if sha1 is None:
            return UNSURE
        self.keep(kept_as, make_signature(before), sha1, begun_ns)
        return sha1

    def keep(self, path: str, signature: Signature, sha1: str, begun_ns: int) -> None:
        if len(self._known) >= _HASHES_KEPT_MAX:
            self._known.clear()
        self._known[path] = signature, sha1, begun_ns - signature[-1] > _FILE_UNSURE_NS


HASHES: Final = Hashes()  # of the whole process: several memories may look at one checkout


class Moves(NamedTuple):
    """Where vanished files went. `commit_known` is False where this repository never had the
    commit, None where git did not say. `sought` is False where nobody had the patience to ask:
    whatever was not found may still be somewhere.
    """

    renames: Mapping[str, str]
    commit_known: bool | None
    sought: bool


@dataclass
class Patience:
    """How often, and for how long, git is asked before it is let be for a while, however many
    commits records are of. `endless`: of who wants to know, however long it takes; a single answer
    still has its time.
    """

    endless: bool = False
    _until_s: float = -1.0
    _questions: int = 0
    _seconds: float = 0.0

    def ask(self, root: str, arguments: Iterable[str]) -> tuple[int | None, bytes, bytes] | None:
        """Exit code, answer and complaint; no code where there is no git, or it takes too long or
        says too much. None where the patience is at its end.

        Git runs nothing that a repository's settings name, fetches nothing (a program that these
        name would), takes no locks, and ignores what a hook that we may run in told it.
        """
        begun_s = time.monotonic()
        if begun_s < _tired_until_s.get(root, 0.0):
            return None, b"", b""
        if begun_s >= self._until_s:
            self._until_s = begun_s + GIT_QUESTIONS_WITHIN_S
            self._questions, self._seconds = GIT_QUESTIONS_MAX, GIT_WAIT_MAX_S
        wait_s = GIT_WAIT_MAX_S if self.endless else self._seconds
        if wait_s <= 0.0 or (self._questions <= 0 and not self.endless):
            return None
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        own |= {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
        # an older git does not know the variable that forbids to fetch
        environment = own | {"GIT_ALLOW_PROTOCOL": "none"}
        done = _run_git(root, arguments, environment, wait_s)
        spent_s = time.monotonic() - begun_s
        self._questions, self._seconds = self._questions - 1, self._seconds - spent_s
        if done is None and spent_s >= wait_s:
            if wait_s < GIT_WAIT_MAX_S:  # it did not get all of its time
                return None
            _tired_until_s[root] = time.monotonic() + _GIT_TIRED_S
        if done is None or len(done[1]) > _GIT_ANSWER_BYTES_MAX:
            return None, b"", b""
        return done


class Checkout:
    """A work tree. `folder` is where whoever opened the memory is: paths in texts may start there.
    `memory_file` is the memory itself where it is a file, and `memory_folder` a folder that is the
    memory's own.
    """

    def __init__(
        self,
        repository: Repository,
        folder: Path,
        memory_file: Path | None,
        memory_folder: Path | None = None,
    ) -> None:
        self.repository = repository
        self._root = str(repository.root)
        self._prefix = f"{self._root}/"
        self._real_root = os.path.realpath(self._root)
        is_below = folder.is_relative_to(repository.root)
        self._below = folder.relative_to(repository.root).as_posix() if is_below else "."
        self._memory_file = memory_file
        self._untracked: tuple[float, list[str]]
        self.look_anew()
        self._of_memory = "\0"
        # A checkout may be the memory's folder itself; then all of it is looked at.
        if memory_folder and Path(self._real_root) in memory_folder.parents:
            self._of_memory = f"{memory_folder.relative_to(self._real_root)}/"

    # --- what is there ---

    def find(self, words: Iterable[str]) -> list[RelatedFile]:
        """Those of the words that are files of the checkout, as they are now."""
        sha1_by_path: dict[str, str] = {}
        for word in words:
            # said from the root, or from where we are, or in full
            meant = [word] if self._below == "." else [word, f"{self._below}/{word}"]
            if word.startswith("/"):
                meant = [word.removeprefix(self._prefix)] if word.startswith(self._prefix) else []
            for path in meant:
                full = self._prefix + path
                # most words are no file, and this says so without an exception
                stamp = signature_at(full) if os.access(full, os.R_OK) else None
                if (
                    stamp
                    and not path.startswith(self._of_memory)
                    and not _leads_to_secrets(full, self._prefix, self._real_root, stamp)
                    and (sha1 := self.sha1(path, FOUND_FILE_BYTES_MAX))
                    and sha1 != UNSURE
                ):
                    sha1_by_path[path] = sha1
                    break
            if len(sha1_by_path) >= _FILES_FOUND_MAX:
                break
        printable = ((path, sha1) for path, sha1 in sha1_by_path.items() if path.isprintable())
        return [_related_file(path, sha1) for path, sha1 in printable]

    def are_unchanged(self, files: Iterable[RelatedFile]) -> bool:
        """Whether all files are known to be what they were: the common case, which every hit waits
        for. False where that must be looked at more closely.
        """
        return all(HASHES.is_unchanged(self._prefix + file.path, file.hash) for file in files)

    def sha1(self, path: str, bytes_max: int) -> str | None:
        """What is at a path from the root, or at a full one: its SHA-1, None where there is no such
        file, UNSURE where that cannot be said.
        """
        full = path if path.startswith("/") else f"{self._root}/{path}"
        made_up = full is path and is_of_the_system(path, self._real_root)
        if made_up or len(path) > limits.PATH_CHARS_MAX or ".." in path.split("/"):
            return UNSURE
        try:
            status = os.stat(full)  # noqa: PTH116  # this runs for every related file of every hit
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError):
            return UNSURE
        if not stat.S_ISREG(status.st_mode):
            return None if stat.S_ISDIR(status.st_mode) else UNSURE
        signature = make_signature(status)
        known = HASHES.find_sha1(full, signature)
        if known is not None or status.st_size > bytes_max:
            return UNSURE if known is None else known
        real = os.path.realpath(full)
        inside = real.startswith(f"{self._real_root}/")
        in_git = ".git" in real[len(self._real_root) :].lower().split("/")
        if (
            (full.startswith(self._prefix) and (in_git or not inside))
            or is_of_the_system(real, self._real_root)
            or real.lower().endswith(DATABASE_SUFFIXES)
            or (status.st_dev, status.st_ino) in find_identities(self._memory_file)
        ):
            return UNSURE
        return HASHES.read(real, signature, full, bytes_max)

    # --- what became of what vanished ---

    def look_anew(self) -> None:
        """What was seen a moment ago does not count."""
        self._untracked = -_UNTRACKED_KEPT_S, []

    def moves(self, vanished: Iterable[RelatedFile], commit: str, patience: Patience) -> Moves:
        """Where files went that were there at a commit: as git knows, and as the same content in a
        file tells that it does not know yet.
        """
        known = self._since(commit, patience)
        since, sought = known or Moves({}, None, sought=False), known is not None
        renames = {}
        for file in vanished:
            new = since.renames.get(file.path)
            # it may have moved on since git was told
            if new is None or not os.path.lexists(self._prefix + new):
                untracked = self._list_new_files(patience)
                sought = sought and untracked is not None
                new = self._find_same(file, untracked or [])
            if new:
                renames[file.path] = new
        return Moves(renames, since.commit_known, sought)

    def _find_same(self, file: RelatedFile, untracked: list[str]) -> str | None:
        """A file with the same content that git was not told of."""
        if file.hash == _NOTHING or file.path.startswith("/"):  # one empty file is like any other
            return None
        same = (path for path in untracked if self.sha1(path, FOUND_FILE_BYTES_MAX) == file.hash)
        return next(same, None)

    def _list_new_files(self, patience: Patience) -> list[str] | None:
        """Files that git does not know yet, as many as are looked at; None where it may not be asked
        any more.
        """
        kept_at_s, kept = self._untracked
        if time.monotonic() - kept_at_s < _UNTRACKED_KEPT_S:
            return kept
        answer = patience.ask(self._root, "ls-files -z -o --exclude-standard".split())
        if answer is None:
            return None
        listed = answer[1].decode(errors="surrogateescape") if answer[0] == 0 else ""
        self._untracked = (
            time.monotonic(),
            [*filter(None, listed.split("\0"))][:_RENAMES_SOUGHT_MAX],
        )
        return self._untracked[1]

    def _since(self, commit: str, patience: Patience) -> Moves | None:
        """None where git may not be asked any more. Only the index is compared: what is there by
        now is for us to see.
        """
        if not re.fullmatch(r"[0-9a-f]{7,64}", commit):
            return Moves({}, commit_known=False, sought=True)
        key = self._root, commit, self.repository.head.commit, self.repository.index_stamp
        if key in _since:
            return _since[key]
        listed = "diff-index --cached -r --name-status -z -M --diff-filter=R".split()
        answer = patience.ask(self._root, (*listed, commit, "--"))
        if answer is None:
            return None
        code, output, complaint = answer
        if code != 0 and (code is None or not _NO_SUCH_COMMIT.search(complaint)):
            return Moves({}, None, sought=True)  # it may answer the next time
        if len(_since) >= _RENAMES_KEPT_MAX:
            _since.clear()
        # each is `R` with how much is the same, the old name, the new one
        names = output.decode(errors="surrogateescape").split("\0") if code == 0 else []
        _since[key] = Moves(
            dict(zip(names[1::3], names[2::3], strict=False)), code == 0, sought=True
        )
        return _since[key]


_since: dict[tuple[str, str, str, Signature | None], Moves] = {}
_tired_until_s: dict[str, float] = {}


@lru_cache(maxsize=MADE_ONCE_MAX)
def _related_file(path: str, sha1: str) -> RelatedFile:
    """Made once: the same few files are met again and again, and to check their names costs more
    than to look at them.
    """
    return RelatedFile(path=path, hash=sha1)


@lru_cache(maxsize=MADE_ONCE_MAX)
def _leads_to_secrets(full: str, prefix: str, real_root: str, _stamp: Signature) -> bool:
    """By its own name, or by that of the file which a link leads to. Found out once for each file,
    for links are slow to follow. One that leads elsewhere by now leads to another inode, and a file
    that was renamed changed.
    """
    return holds_secrets(full.removeprefix(prefix)) or holds_secrets(
        os.path.realpath(full).removeprefix(f"{real_root}/")
    )


def find_identities(memory_file: Path | None) -> list[tuple[int, int]]:
    """Device and inode of the files that a memory consists of: a link under another name is the
    same file.
    """
    identities = []
    for suffix in ("", "-wal", "-shm", "-journal") if memory_file else ():
        with suppress(OSError):
            status = Path(f"{memory_file}{suffix}").stat()
            identities.append((status.st_dev, status.st_ino))
    return identities
