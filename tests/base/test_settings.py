"""Settings: who may say what, in which order, and that a checkout of somebody else's can do no harm
with its file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import answered, at_once, hardwon_does, refused, settle
from hardwon import Experience, Memory, limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError
from hardwon.memory.places import Settings

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


def project_file(text: str, folder: str = ".") -> Path:
    file = Path(folder).absolute() / ".hardwon" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def read(**options: str) -> Settings:
    return Settings.read(options)


# --- the order ---


@pytest.mark.parametrize("name", ["memory", "project", "author"])
def test_each_counts_before_the_next(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> tuple[str | None, str, str | None]:
        each = getattr(read(), name)
        return each.value, each.origin, each.where

    assert found() == (None, "default", None)
    users = user_file(f'{name} = "/of/user"\n')
    assert found() == ("/of/user", "user file", str(users))
    ours = project_file(f'{name} = "ofproject"\n')
    if name != "memory":
        ours.write_text(f'{name} = "ofproject"\nmemory = "brain"\n')
    value = str(Path("ofproject").absolute()) if name == "memory" else "ofproject"
    assert found() == (value, "project file", str(ours))
    monkeypatch.setenv(f"HARDWON_{name.upper()}", "brain")
    assert found() == ("brain", "environment", f"HARDWON_{name.upper()}")
    given = getattr(read(**{name: "given"}), name)
    assert (given.value, given.origin, given.where) == ("given", "option", f"--{name}")


def test_an_empty_variable_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDWON_MEMORY", "")
    assert read().memory.origin == "default"


def test_the_nearest_project_file_counts_also_from_below() -> None:
    project_file('project = "outer"\n')
    inner = project_file('project = "inner"\n', "a/b")
    Path("a/b/c/d").mkdir(parents=True)
    found = Settings.read(
        {"memory": str(Path("a/b").absolute())}, folder=Path("a/b/c/d").absolute()
    )
    assert (found.project.value, found.project_file) == ("inner", inner)
    Path("a/other").mkdir()
    outer = Settings.read({"memory": str(Path("x").absolute())}, folder=Path("a/other").absolute())
    assert outer.project.value == "outer"


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


def test_a_project_file_keeps_its_checkout_together() -> None:
    project_file('memory = ".hardwon"\nproject = "website"\nauthor = "team"\n')
    Path("src").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "hardwon.surfaces.cli.main", "remember", "x", *FAILURE, "--json"],
        cwd="src",
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["record"]["metadata"]["source"]["author"] == "team"
    with Memory(".hardwon", "website") as memory:
        assert memory.stats().records == 1


# --- a checkout of somebody else's ---


@pytest.mark.parametrize(
    "memory",
    [
        "/etc/brain",
        "../brain",
        "a/../../brain",
        "~/brain",
        "postgresql://h/db",
        "link",
        "link/brain",
    ],
)
def test_no_memory_outside_of_the_checkout(memory: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path("link").symlink_to(tmp_path / "elsewhere")
    file = project_file(f'memory = "{memory}"\n')
    said = refused("stats")
    assert said.startswith(
        f"{file}: memory: '{memory}' is not allowed; allowed: a path inside {Path.cwd()}: "
    )
    assert "--memory" in said
    assert at_once("remember", "x", *FAILURE).exit_code == 1
    assert not list((tmp_path / "elsewhere").iterdir())


def test_no_link_to_another_memory_s_file(tmp_path: Path) -> None:
    with Memory(tmp_path / "mine") as memory:
        memory.remember("mine", "failure", "unknown")
    Path("brain").mkdir()
    Path("brain/memory.db").symlink_to(tmp_path / "mine" / "memory.db")
    project_file('memory = "brain"\nproject = "default"\n')
    assert "a path inside" in refused("recall", "mine")


@pytest.mark.parametrize("who", ["option", "environment", "user file"])
def test_project_and_author_are_not_set_for_a_memory_that_lies_elsewhere(
    who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = str(tmp_path / "mine")
    with Memory(mine, "secret-work") as memory:
        memory.remember("the launch code is in the red folder", "learning", insight_type="fact")
    file = project_file('project = "secret-work"\nauthor = "boss"\n')
    options = ["--memory", mine] if who == "option" else []
    if who == "environment":
        monkeypatch.setenv("HARDWON_MEMORY", mine)
    if who == "user file":
        user_file(f'memory = "{mine}"\n')
    assert answered(*options, "recall", "launch code", complaints=True) == []
    kept = answered(*options, "remember", "x", *FAILURE, complaints=True)
    assert kept["record"]["metadata"]["source"]["author"] == "agent"
    shown = answered(*options, "config")
    assert [said.split(":")[0] for said in shown["ignored"]] == [
        f"project in {file}",
        f"author in {file}",
    ]
    assert "ignored: project in" in at_once(*options, "config").stdout


def test_the_memory_of_the_checkout_hears_its_file() -> None:
    project_file('project = "website"\n')
    assert answered("config")["ignored"] == []
    assert at_once("remember", "x", *FAILURE).exit_code == 0
    with Memory(".hardwon", "website") as memory:
        assert memory.stats().records == 1


# --- files that are wrong ---


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("memory = ", "syntax: 'something else' is not allowed"),
        ("[" * 9000, "syntax: "),
        ('memory = "a"\nmemory = "b"\n', "syntax: 'something else' is not allowed"),
        ("memory = 5\n", "memory: 5 is not allowed; allowed: a text of 1 to"),
        ('memory = ""\n', "memory: '' is not allowed"),
        ('memory = "a\\u0000b"\n', "memory: 'a\\x00b' is not allowed"),
        ('project = ["a"]\n', "project: ['a'] is not allowed"),
        (f'author = "{"a" * (limits.NAME_CHARS_MAX + 1)}"\n', "author: "),
        (
            'api_key = "sk-very-secret"\n',
            "key: 'api_key' is not allowed; allowed: memory, project, author",
        ),
        ('[memory]\npath = "a"\n', "memory: {'path': 'a'} is not allowed"),
        (
            "#" * (limits.SETTINGS_BYTES_MAX + 1),
            f"size: 'more bytes' is not allowed; allowed: at most {limits.SETTINGS_BYTES_MAX}",
        ),
    ],
)
@pytest.mark.parametrize("of", [user_file, project_file])
def test_a_file_that_is_wrong_is_told_in_one_line(text: str, said: str, of: object) -> None:
    file = of(text)  # type: ignore[operator]
    told = refused("stats")
    assert told.startswith(f"{file}: {said}".replace("\x00", "\\x00"))
    assert "very-secret" not in told
    assert told == refused("config")
    assert at_once("--version").exit_code == 0
    assert at_once("tree", "generate", "3").exit_code == 0  # what needs no memory works


def test_a_relative_memory_of_the_user_s_would_be_another_in_every_folder() -> None:
    file = user_file('memory = "brain"\n')
    assert refused("stats").startswith(
        f"{file}: memory: 'brain' is not allowed; allowed: a path from the root (/…)"
    )


def test_a_file_that_cannot_be_read_is_told() -> None:
    file = Path(".hardwon/config.toml").absolute()
    file.mkdir(parents=True)
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
    assert read().project_file is None


@given(
    st.binary(max_size=300)
    | st.text(alphabet="memoryprjctauh=\"'[]\n#/~. ", max_size=80).map(str.encode)
)
def test_whatever_a_file_holds_it_is_read_or_refused(data: bytes) -> None:
    file = project_file("")
    file.write_bytes(data)
    said, memory = "", None
    try:
        memory = read().memory.value
    except HardwonError as error:
        said = str(error)
    file.unlink()
    assert not said or str(file) in said
    assert memory is None or Path(memory).is_relative_to(Path.cwd())


# --- hardwon config ---


def test_config_shows_each_setting_and_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    users = user_file('author = "anna"\n')
    ours = project_file('project = "website"\n')
    found = answered("--memory", "brain", "config")
    settings = {each.pop("name"): each for each in found["settings"]}
    assert settings == {
        "memory": {"value": "brain", "origin": "option", "where": "--memory"},
        "project": {"value": "website", "origin": "project file", "where": str(ours)},
        "author": {"value": "anna", "origin": "user file", "where": str(users)},
    }
    assert found["location"] == str(Path("brain/memory.db").absolute())
    assert found["files"] == [
        {"origin": "project file", "path": str(ours), "exists": True},
        {"origin": "user file", "path": str(users), "exists": True},
    ]
    text = at_once("config").stdout
    assert f"website  (project file: {ours})" in text
    assert not Path("brain").exists()


def test_config_shows_defaults_as_they_will_be() -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    found = answered("config")
    assert [each["value"] for each in found["settings"]] == [found["location"], "checkout", "agent"]
    assert {each["origin"] for each in found["settings"]} == {"default"}
    assert found["files"][0] == {"origin": "project file", "path": None, "exists": False}
    assert found["files"][1]["exists"] is False


def test_config_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for memory, shown in {
        "postgresql://anna:pa55@host/db?password=pa55": "postgresql://anna@host/db",
        "/a?b/c@d": "/a?b/c@d",
    }.items():
        assert answered("--memory", memory, "config")["settings"][0]["value"] == shown
    monkeypatch.setenv("GROQ_API_KEY", "gsk-very-secret")
    assert "very-secret" not in at_once("config").output


def test_no_secret_is_shown_where_it_is_refused() -> None:
    secret = "ghp_" + "a1B2" * 9
    for done in (at_once("--project", secret, "config"), at_once("--project", secret, "stats")):
        assert secret not in done.output
    Path(".hardwon").mkdir()
    Path(".hardwon/config.toml").write_text('memory = "postgresql://me:hunter2hunter2@host/db"')
    done = at_once("stats")
    assert (done.exit_code, "hunter2" in done.output) == (1, False)


def test_without_files_no_parser_is_loaded() -> None:
    code = "import sys; from hardwon.memory.places import Settings; Settings.read({}); print('tomllib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_hook_reads_the_files_itself() -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    project_file('memory = "brain"\nproject = "website"\n')
    assert hardwon_does("hooks", "install").returncode == 0
    assert "website" not in Path(".git/hooks/post-commit").read_text()
    assert hardwon_does("--project", "red", "hooks", "install").returncode == 0
    assert "red" in Path(".git/hooks/post-commit").read_text()
