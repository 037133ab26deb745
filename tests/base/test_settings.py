"""Settings: who may say what, in which order, and what a checkout cannot do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import answered, at_once, hardwon_does, refused, settle
from hardwon import Experience, Memory, limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError
from hardwon.memory.places import SETTINGS_BYTES_MAX, Settings

FAILURE = ("--outcome", "failure", "--tool", "unknown")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    settle(checkout, monkeypatch)
    monkeypatch.delenv("HARDWON_MEMORY")


def user_file(text: str) -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "hardwon" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def read(**options: str) -> Settings:
    return Settings.read(options)


@pytest.mark.parametrize("name", ["memory", "project", "author"])
def test_each_counts_before_the_next(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> tuple[str | None, str, str | None]:
        each = getattr(read(), name)
        return each.value, each.origin, each.where

    assert found() == (None, "default", None)
    users = user_file(f'{name} = "/of/user"\n')
    assert found() == ("/of/user", "user file", str(users))
    monkeypatch.setenv(f"HARDWON_{name.upper()}", "brain")
    assert found() == ("brain", "environment", f"HARDWON_{name.upper()}")
    given = getattr(read(**{name: "given"}), name)
    assert (given.value, given.origin, given.where) == ("given", "option", f"--{name}")


def test_a_checkout_has_no_settings() -> None:
    Path(".hardwon").mkdir()
    Path(".hardwon/config.toml").write_text('memory = "/theirs"\nproject = "secret-work"\n')
    assert {setting.origin for setting in read()[:3]} == {"default"}


def test_commands_follow_the_files(tmp_path: Path) -> None:
    user_file(f'memory = "{tmp_path}/mine"\nproject = "red"\nauthor = "anna"\n')
    assert at_once("remember", "x", *FAILURE).exit_code == 0
    with Memory(tmp_path / "mine", "red") as memory:
        (kept,) = memory.browse()
    assert isinstance(kept, Experience)
    assert kept.metadata.source.author == "anna"
    assert at_once("remember", "y", *FAILURE, "--author", "ben").exit_code == 0
    assert answered("stats")["by_author"] == {"anna": 1, "ben": 1}
    assert at_once("run", "-q", "--", sys.executable, "-c", "pass").exit_code == 0
    assert answered("stats")["by_author"]["anna"] == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("memory = ", "syntax: 'something else' is not allowed"), ("[" * 9000, "syntax: "),
        ('memory = "a"\nmemory = "b"\n', "syntax: 'something else' is not allowed"),
        ("memory = 5\n", "memory: 5 is not allowed; allowed: a text of 1 to"),
        ('memory = ""\n', "memory: '' is not allowed"), ('memory = "a\\u0000b"\n', "memory: 'a\\x00b' is not allowed"),
        ('project = ["a"]\n', "project: ['a'] is not allowed"),
        (f'author = "{"a" * (limits.NAME_CHARS_MAX + 1)}"\n', "author: "),
        ('api_key = "sk-very-secret"\n', "key: 'api_key' is not allowed; allowed: memory, project, author"),
        ('[memory]\npath = "a"\n', "memory: {'path': 'a'} is not allowed"),
        ("#" * (SETTINGS_BYTES_MAX + 1), f"size: 'more bytes' is not allowed; allowed: at most {SETTINGS_BYTES_MAX}"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_told_in_one_line(text: str, said: str) -> None:
    file = user_file(text)
    told = refused("stats")
    assert told.startswith(f"{file}: {said}".replace("\x00", "\\x00"))
    assert "very-secret" not in told
    assert told == refused("config")
    assert at_once("--version").exit_code == 0
    assert at_once("tree", "generate", "3").exit_code == 0  # what needs no memory works


def test_a_file_that_cannot_be_read_is_told() -> None:
    file = user_file("")
    file.unlink()
    file.mkdir()
    why = "it is not a file; remove it, or write one"
    assert refused("stats") == f"cannot read the settings in {file}: {why}"
    file.rmdir()
    os.mkfifo(file)
    with pytest.raises(PlaceError, match="it is not a file"):
        read()
    file.unlink()
    file.write_bytes(b"project = '\xff'\n")
    with pytest.raises(InvalidInputError, match="encoding"):
        read()
    file.unlink()
    file.symlink_to("nowhere")
    assert read().memory.origin == "default"


LIKE_ONE = st.text(alphabet="memoryprjctauh=\"'[]\n#/~. ", max_size=80)


@given(st.binary(max_size=300) | LIKE_ONE.map(str.encode))
def test_whatever_a_file_holds_it_is_read_or_refused(data: bytes) -> None:
    file = user_file("")
    file.write_bytes(data)
    said, memory = "", None
    try:
        memory = read().memory.value
    except HardwonError as error:
        said = str(error)
    file.unlink()
    assert not said or str(file) in said
    assert memory is None or "://" in memory or memory.startswith(("/", "~"))


def test_config_shows_each_setting_and_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    users = user_file('author = "anna"\n')
    monkeypatch.setenv("HARDWON_PROJECT", "website")
    found = answered("--memory", "brain", "config")
    settings = {each.pop("name"): each for each in found["settings"]}
    assert settings == {
        "memory": {"value": "brain", "origin": "option", "where": "--memory"},
        "project": {"value": "website", "origin": "environment", "where": "HARDWON_PROJECT"},
        "author": {"value": "anna", "origin": "user file", "where": str(users)},
    }
    assert found["location"] == str(Path("brain/memory.db").absolute())
    assert found["file"] == {"path": str(users), "exists": True}
    monkeypatch.setenv("GROQ_API_KEY", "gsk-very-secret")
    text = at_once("config").output
    assert "website  (environment: HARDWON_PROJECT)" in text
    assert "very-secret" not in text
    assert not Path("brain").exists()


def test_a_hook_reads_the_settings_itself() -> None:
    user_file('memory = "/brain"\nproject = "website"\n')
    settings = Path(".claude/settings.json")
    for options, project in (((), ""), (("--project", "red"), "red")):
        assert hardwon_does(*options, "hooks", "install", "claude-code").returncode == 0
        assert "website" not in settings.read_text()
        assert project in settings.read_text()
