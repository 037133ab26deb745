"""Where a memory is: files, and databases by their urls, whose passwords nobody gets to see."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts import git, new_repository
from command_line import at_once
from hardwon import Memory
from hardwon.errors import InvalidInputError, MissingExtraError, PlaceError
from hardwon.fixes.ai_memory import AIMemory
from hardwon.memory.places import Place, find_place, memory_exists
from hardwon.outside.locations import without_password
from hardwon.training.functions import load_agent_memory
from hardwon.tree.engine import MemoryEngine

SECRET = "hunter2hunter2"
URL = f"postgresql://anna:{SECRET}@127.0.0.1:1/brain?sslmode=require"

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def _without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("connection", "engine"):
        monkeypatch.delitem(sys.modules, f"hardwon.store.postgres.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)


def test_folders_that_are_made_are_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose name was not synced is gone after a power cut, with all that was in it."""
    synced: set[int] = set()
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    Memory(tmp_path / "one" / "two" / "three").close()
    made = [tmp_path / name for name in ("", "one", "one/two", "one/two/three")]
    assert {folder.stat().st_ino for folder in made} <= synced


def test_a_worktree_is_of_its_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    shop = new_repository(tmp_path / "shop")
    side = tmp_path / "elsewhere" / "fix-login"
    git(shop, "worktree", "add", "-q", "-b", "side", str(side))
    assert find_place(None, side / "src").project == "shop"
    with contextlib.chdir(side):  # made in a worktree, and found in every other
        assert at_once("init").exit_code == 0
    assert (shop / ".hardwon" / ".gitignore").exists()
    assert not (side / ".hardwon").exists()
    for here in (shop, shop / "src", side, side / "src"):
        place = find_place(None, here)
        assert (place.path, place.project) == (shop / ".hardwon" / "memory.db", "shop")
    (side / "src" / ".hardwon").mkdir()  # who makes one there means it
    assert find_place(None, side / "src").path == side / "src" / ".hardwon" / "memory.db"


def test_worktrees_of_a_bare_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    new_repository(tmp_path / "first")
    git(tmp_path, "clone", "-q", "--bare", "first", "shop.git")
    git(tmp_path / "shop.git", "worktree", "add", "-q", str(tmp_path / "trees" / "main"))
    git(tmp_path / "shop.git", "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    with contextlib.chdir(tmp_path / "trees" / "main"):
        assert at_once("init").exit_code == 0
    place = find_place(None, tmp_path / "side")
    assert (place.path, place.project) == (tmp_path / "shop.git" / ".hardwon" / "memory.db", "shop")


def test_a_folder_that_claims_to_be_a_worktree_elsewhere_gets_nothing(tmp_path: Path) -> None:
    shop = new_repository(tmp_path / "shop")
    (shop / ".hardwon").mkdir()
    git(shop, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    stranger = tmp_path / "archive"
    stranger.mkdir()
    (stranger / ".git").write_text(f"gitdir: {shop}/.git/worktrees/side\n")
    place = find_place(None, stranger)
    assert place.project == "archive"
    assert place.path
    assert not place.path.is_relative_to(shop)


@pytest.mark.parametrize(("url", "shown"), [
    (URL, "postgresql://anna@127.0.0.1:1/brain?sslmode=require"),
    ("postgres://anna@host/db", "postgres://anna@host/db"),
    ("postgresql:///db?host=/var/run/postgresql", "postgresql:///db?host=/var/run/postgresql"),
    ("postgresql://u:p@h1:5432,h2:5433/db", "postgresql://u@h1:5432,h2:5433/db"),
    ("postgresql://u:p@[::1]:5432/db", "postgresql://u@[::1]:5432/db"),
    ("postgresql://:p@host", "postgresql://host"),
    ("postgresql://h/db?user=u&password=p&sslmode=require", "postgresql://h/db?user=u&sslmode=require"),
    ("postgresql://h/db?pass%77ord=p", "postgresql://h/db"),
    ("postgresql://h/db?sslpassword=p&service=brain", "postgresql://h/db?service=brain"),
])  # fmt: skip
def test_a_database_is_shown_without_its_password(url: str, shown: str, tmp_path: Path) -> None:
    assert find_place(url, tmp_path) == Place(None, "default", url)
    assert find_place(url).location == find_place(url, tmp_path).location == shown
    assert without_password(url) == without_password(shown) == shown
    assert find_place(url).project == "default"
    assert memory_exists(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:pa@ss@h/db", "postgresql://u:pa/ss@h/db", "postgresql://u:1?2@h/db", "postgresql://u:pass",
        "postgres://u@h:x/",
    ],
)  # fmt: skip
def test_what_hides_where_its_password_ends_is_refused_unshown(url: str, tmp_path: Path) -> None:
    refused = "location: 'postgres(ql)?://…' is not allowed; .*%40"
    with pytest.raises(InvalidInputError, match=refused):
        find_place(url, tmp_path)
    for odd in (f"{URL} ", f"{URL}\0", f"Postgresql{URL[10:]}", Path(URL)):
        with pytest.raises(InvalidInputError, match="location") as caught:
            find_place(odd, tmp_path)
        assert SECRET not in str(caught.value)


@given(
    st.text(st.characters(codec="utf-8"), min_size=1),
    st.sampled_from(["sslmode=require", "", "user=x"]),
)
def test_no_password_is_ever_shown(password: str, options: str) -> None:
    marked = f"{SECRET}{password}{SECRET}"
    quoted = quote(marked, safe="")
    for url in (f"postgresql://u:{quoted}@h/db?{options}", f"postgresql://h/db?password={quoted}"):
        assert SECRET not in without_password(url)
        assert without_password(url).startswith(("postgresql://u@h/db", "postgresql://h/db"))
    assert SECRET not in without_password(f"postgresql://u:{marked}@h/db?{options}")


def test_files_are_there_or_not(tmp_path: Path) -> None:
    assert not memory_exists("brain")
    assert find_place("brain").location == str(tmp_path / "brain" / "memory.db")
    with Memory("brain") as memory:
        assert memory.location == find_place("brain").location
        assert memory_exists("brain")
        with memory.care.in_project("shop") as other:
            assert (other.location, other.project) == (memory.location, "shop")


@pytest.mark.usefixtures("_without_psycopg")
def test_without_the_package_the_command_is_told() -> None:
    told = r"^psycopg cannot be imported \(ModuleNotFoundError: .*"
    with pytest.raises(MissingExtraError, match=told) as caught:
        Memory(URL)
    assert str(caught.value).endswith("; in a checkout of Hardwon: pip install '.[postgres]'")


@pytest.mark.parametrize("wants", [
    lambda: Memory.restore("copy.db", URL),
    lambda: AIMemory(URL),
    lambda: MemoryEngine(URL),
    lambda: load_agent_memory(URL),
    lambda: Memory("brain").export(URL),
    lambda: Memory("brain").backup(URL),
])  # fmt: skip
def test_where_a_file_is_wanted_none_is_made(wants: Callable[[], object], tmp_path: Path) -> None:
    told = "postgresql://anna@127.0.0.1:1/brain.* is a database"
    with pytest.raises(PlaceError, match=told) as caught:
        wants()
    assert SECRET not in str(caught.value)
    assert not list(tmp_path.glob("postgres*"))


@pytest.mark.usefixtures("_without_psycopg")
@pytest.mark.parametrize("said", [
    ("stats",), ("config",), ("config", "--json"), ("doctor",), ("init",), ("demo",), ("serve", "--no-auth"),
    ("remember", "it fails", "--outcome", "failure", "--tool", "unknown"), ("recall", "it"), ("care", "backup", "copy.db"),
    ("mcp",), ("merge", "brain"), ("tokens", "list"), ("hooks", "run", "post-commit"), ("tree", "sync", "--make-tree"),
])  # fmt: skip
def test_no_command_prints_it(said: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory("brain") as memory:
        memory.remember("port 80 is open", "failure", "unknown")
    monkeypatch.setenv("HARDWON_MEMORY", URL)
    lines = (said, ("--memory", URL, *said), ("--memory", "brain", "merge", URL))
    for done in (at_once(*line) for line in lines):
        assert done.exit_code == 0 or "psycopg cannot be imported" in done.output, done.output
        assert SECRET not in done.output + str(done.exception)
    for line in (("--help",), (said[0], "--help")):
        assert SECRET not in at_once("--memory", URL, *line).output


@pytest.mark.parametrize("said", [
    ("mcp", "install", "cursor"), ("mcp", "install", "cursor", "--write"), ("mcp", "install", "codex", "--json"),
    ("hooks", "install", "cursor"), ("hooks", "install", "claude-code"),
])  # fmt: skip
def test_no_password_goes_into_files_of_others(said: tuple[str, ...], tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    done = at_once("--memory", URL, *said)
    assert done.exit_code == 1
    assert "an address without a password" in done.output
    assert "PGPASSWORD" in done.output
    assert SECRET not in done.output
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in written if SECRET in file.read_text(errors="replace")]


def test_an_address_without_a_password_is_written_down() -> None:
    done = at_once("--memory", without_password(URL), "mcp", "install", "cursor", "--write")
    assert done.exit_code == 0, done.output
    assert without_password(URL) in Path(".cursor/mcp.json").read_text()
