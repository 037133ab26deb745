"""What has proved itself as Agent Skills: files, and what an MCP server tells of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

import mcp_types as types
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from pydantic import BaseModel, ConfigDict, Field

from command_line import answered, at_once
from engines import ENGINES
from hardwon import Memory
from hardwon.errors import PlaceError
from hardwon.memory import skills as made
from hardwon.memory.skills import FILE_NAME, Skill
from hardwon.surfaces.mcp.server import SKILLS
from hardwon.text.tokens import count_tokens
from mcp_calls import MODES, ask_of_skills, over_stdio, parameters, run
from short import succeed

ERROR = "make: *** [deploy] Error 1\nRuntimeError: missing AWS_REGION"
STEPS: list[dict[str, Any]] = [
    {"action": "make deploy", "observation": ERROR, "ok": False},
    {"action": "AWS_REGION=eu-1 make deploy", "observation": "deployed", "ok": True},
]
ISSUE = {"model": "gpt-4", "issue_type": "TIMEOUT", "description": "the test took too long"}


class Frontmatter(BaseModel):
    """What the specification of Agent Skills says of it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: str = Field(min_length=1, max_length=64, pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    description: str = Field(min_length=1, max_length=1024)
    license: str | None = None
    compatibility: str | None = Field(None, min_length=1, max_length=500)
    metadata: dict[str, str] = {}


def check(text: str, folder: str) -> Frontmatter:
    """A SKILL.md against the specification."""
    begin, head, body = text.split("---\n", 2)
    found = Frontmatter.model_validate(yaml.safe_load(head))
    assert (begin, found.name) == ("", folder)
    assert len(body.splitlines()) < 500
    assert count_tokens(body) < 5_000
    assert body.strip()
    return found


def learn(memory: Memory, *, vouched: bool = True) -> dict[str, list[str]]:
    """Something of everything that becomes a skill: the ids of each."""
    authors = [f"agent {number}" for number in range(6)]
    text, task = "Read the log first", "parse_dates"
    kept: dict[str, list[Any]] = {
        "errors": [memory.record_trajectory("deploy", STEPS, 1.0)],
        "fixes": [memory.record_fix(ISSUE, True, True, fix_commands=["raise it"]) for _ in "abc"],
        "task": [succeed(memory, text, task=task, author=author) for author in authors],
    }
    ids = {name: [each.id for each in records] for name, records in kept.items()}
    for each in (each for some in ids.values() for each in some if vouched):
        memory.verify(each, "test_runner")
    return ids


def names(project: str) -> list[str]:
    return [made._make_name(project, about) for about in ("errors", "fixes", "task-parse_dates")]


NAMES = ["hardwon-shop-errors", "hardwon-shop-fixes", "hardwon-shop-task-parse-dates-8260fc37"]
assert names("shop") == NAMES


@pytest.mark.engines(*ENGINES)
def test_what_has_proved_itself_becomes_skills(place: Callable[[str], str], tmp_path: Path) -> None:
    with Memory(place("brain")) as memory:
        assert memory.skills.list() == []
        ids = learn(memory)
        skills = memory.skills.list()
        assert [each.name for each in skills] == names("default")
        for skill, (sort, known) in zip(skills, ids.items(), strict=True):
            head = check(skill.text, skill.name)
            assert (head.description, head.metadata) == (skill.description, skill.metadata)
            assert set(skill.evidence) <= set(known), sort
            assert any(each in skill.text for each in known)
        errors, fixes, task = skills
        assert "-> AWS_REGION=eu-1 make deploy (helped 1 of 1)" in errors.text
        assert "Such as “RuntimeError: missing AWS_REGION”." in errors.description
        assert "TIMEOUT: raise it (verified 3 of 3)" in fixes.text
        assert "[WORKS] Read the log first (6 for, 0 against)" in task.text
        done = memory.skills.export(tmp_path / "skills")
        assert (done.written, done.unchanged, done.removed) == (names("default"), [], [])


def test_what_nobody_vouched_for_is_told_only_where_it_is_asked_for(tmp_path: Path) -> None:
    with Memory(tmp_path, "shop") as memory:
        ids = learn(memory, vouched=False)
        assert memory.skills.list() == []
        assert [each.name for each in memory.skills.list(unverified=True)] == NAMES
        memory.verify(ids["fixes"][0], "human_approval")
        assert [each.name for each in memory.skills.list()] == NAMES[1:2]


def test_what_failed_more_often_than_it_helped_is_no_skill(tmp_path: Path) -> None:
    with Memory(tmp_path, "shop") as memory:
        for worked in (True, False, False):
            memory.record_fix(ISSUE, worked, worked, fix_commands=["try again"])
        assert memory.skills.list(unverified=True) == []


def files_in(folder: Path) -> dict[str, tuple[int, str]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_ino, path.read_text()) for path in files}


def test_an_export_is_brought_up_to_date_and_leaves_the_rest_alone(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / FILE_NAME).write_text("---\nname: mine\n---\n")
    with Memory(tmp_path / "brain", "shop") as memory:
        learn(memory)
        memory.skills.export(folder)
        (folder / NAMES[2] / "notes.md").write_text("somebody's own")
        before = files_in(folder)
        again = memory.skills.export(folder)
        assert (again.written, again.unchanged) == ([], NAMES)
        assert files_in(folder) == before
        memory.record_trajectory("deploy", [{**STEPS[0], "action": "make"}, STEPS[1]], 1.0)
        assert memory.skills.export(folder).written == NAMES[:1]
        assert "(helped 2 of 2)" in (folder / NAMES[0] / FILE_NAME).read_text()
        memory.forget(task_id="parse_dates")
        assert not (folder / NAMES[2] / FILE_NAME).exists()
        assert (folder / NAMES[2] / "notes.md").read_text() == "somebody's own"
        assert (folder / "mine" / FILE_NAME).exists()
        # another project's are not ours
        with Memory(tmp_path / "brain", "website") as other:
            learn(other)
            other.skills.export(folder)
            assert memory.skills.export(folder).removed == []
        assert len(list(folder.glob("hardwon-*/SKILL.md"))) == 5


def test_somebody_elses_skill_of_that_name_is_left_as_it_is(tmp_path: Path) -> None:
    theirs = tmp_path / "skills" / NAMES[0] / FILE_NAME
    theirs.parent.mkdir(parents=True)
    theirs.write_text("---\nname: x\n---\nmine")
    with Memory(tmp_path / "brain", "shop") as memory:
        learn(memory)
        with pytest.raises(PlaceError, match="is not Hardwon's"):
            memory.skills.export(tmp_path / "skills")
    assert theirs.read_text().endswith("mine")


@pytest.mark.engines(*ENGINES)
def test_what_is_forgotten_leaves_all_exports(place: Callable[[str], str], tmp_path: Path) -> None:
    where, folders = place("brain"), [tmp_path / "one", tmp_path / "two"]
    with Memory(where) as memory:
        ids = learn(memory)
        for folder in (*folders, tmp_path / "gone"):
            memory.skills.export(folder, unverified=folder == folders[1])
        rmtree(tmp_path / "gone")
    with Memory(where) as memory:  # whoever forgets it
        memory.forget(ids["errors"])
        for folder in folders:
            assert [path.name for path in sorted(folder.iterdir())] == names("default")[1:]
            assert "AWS_REGION" not in "".join(text for _, text in files_in(folder).values())
        assert not (tmp_path / "gone").exists()


def test_forgetting_tells_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> bool:
        raise OSError(28, "No space left on device")

    with Memory(tmp_path / "brain", "shop") as memory:
        ids = learn(memory)
        memory.skills.export(tmp_path / "skills")
        monkeypatch.setattr(made, "_differs", full)
        with pytest.raises(PlaceError, match="may still stand in the skills in .*No space left"):
            memory.forget(ids["errors"])
        assert memory.get(ids["errors"][0]) is None


def test_a_skill_is_never_longer_than_one_can_read(tmp_path: Path) -> None:
    with Memory(tmp_path, "shop") as memory:
        for number in range(40):
            command = f"raise {number} " + "a long command with many words " * 20
            issue = {**ISSUE, "issue_type": f"TYPE_{number}"}
            for _ in range(2):
                memory.record_fix(issue, True, True, fix_commands=[command])
        (skill,) = memory.skills.list(unverified=True)
        check(skill.text, skill.name)
        assert skill.text.count("\n- TYPE_") > 5


WORDS = st.text(st.characters(categories=("L", "N", "P", "Zs")), min_size=1, max_size=80)


@given(st.lists(st.tuples(WORDS, WORDS), unique=True))
def test_names_are_valid_and_each_its_own(pairs: list[tuple[str, str]]) -> None:
    names = [made._make_name(project, f"task-{task}") for project, task in pairs]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert len(name) <= 64


@given(WORDS, WORDS, WORDS)
def test_the_frontmatter_is_the_one_that_is_told(project: str, named: str, line: str) -> None:
    item = made._Item(line, ["0198c0de-0000-7000-8000-000000000001"], True, named)
    skill = made._make_skill(project, "errors", "What made errors go away", "Use it.", [item])
    head = check(skill.text, skill.name)
    assert (head.description, head.metadata) == (skill.description, skill.metadata)


@pytest.mark.usefixtures("own_folder")
def test_the_commands(tmp_path: Path) -> None:
    with Memory(tmp_path / "brain", "shop") as memory:
        learn(memory, vouched=False)
    options = ("--project", "shop", "skills")
    assert answered(*options, "export", "out")["written"] == []
    done = at_once(*options, "export", "out", "--unverified")
    assert done.stdout == f"{tmp_path}/out: 3 written, 0 unchanged, 0 removed\n"
    for name in NAMES:
        check((tmp_path / "out" / name / FILE_NAME).read_text(), name)
    assert answered(*options, "export", "out")["removed"] == NAMES


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    assert content.mime_type == "text/markdown"
    return content.text


def check_entry(entry: dict[str, Any], text: str, skill: Skill) -> None:
    assert entry["uri"] == f"skill://{skill.name}/SKILL.md"
    assert entry["frontmatter"] == yaml.safe_load(text.split("---\n")[1])
    digest, size = f"sha256:{sha256(text.encode()).hexdigest()}", len(text.encode())
    assert entry["resources"] == [{"uri": entry["uri"], "digest": digest, "size": size}]


@pytest.mark.parametrize("mode", MODES)
def test_a_server_tells_of_its_skills(tmp_path: Path, mode: str) -> None:
    brain = tmp_path / "brain"
    with Memory(brain, "shop") as memory:
        ids = learn(memory)
        skills = memory.skills.list()

    async def work() -> None:
        async with over_stdio(parameters(brain, project="shop"), mode) as client:
            capabilities = client.server_capabilities
            assert capabilities
            # older clients are told of no extensions
            assert capabilities.extensions == (None if mode == "legacy" else {SKILLS: {}})
            listed = await ask_of_skills(client, "skills/list")
            assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
            resources = {each.uri: each for each in (await client.list_resources()).resources}
            for entry, skill in zip(listed["skills"], skills, strict=True):
                text = await read(client, entry["uri"])
                assert text == skill.text
                check_entry(entry, text, skill)
                got = await ask_of_skills(client, "skills/get", uri=entry["uri"])
                assert got["skill"] == entry
                assert resources[entry["uri"]].description == skill.description
            with Memory(brain, "shop") as memory:
                memory.forget(ids["errors"])
            gone = listed["skills"][0]["uri"]
            asked = ask_of_skills(client, "skills/get", uri=gone)
            for again in (asked, client.read_resource(gone)):
                with pytest.raises(MCPError, match="is not allowed") as error:
                    await again
                assert error.value.error.code == types.INVALID_PARAMS
            assert len((await ask_of_skills(client, "skills/list"))["skills"]) == 2

    run(work)
