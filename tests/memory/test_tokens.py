"""Tokens: kept as a hash, bound to a name, a scope and projects, over when they are over."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hardwon import Memory, errors, limits
from hardwon.surfaces.gate import check_access
from hardwon.trust.access import SCOPES, Caller, Scope
from short import run_program


class Clock:
    def __init__(self) -> None:
        self.at = datetime(2026, 11, 15, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Memory:
    return Memory(tmp_path / "brain", clock=clock)


def test_a_token_lets_its_bearer_in_as_its_name(memory: Memory) -> None:
    token, secret = memory.tokens.create("ci", "write", ["alpha", "beta", "alpha"])
    assert memory.tokens.caller(secret) == Caller("ci", "write", ("alpha", "beta"), token.id)
    assert memory.tokens.all() == [token]


def test_nothing_else_lets_anybody_in(memory: Memory) -> None:
    _, secret = memory.tokens.create("ci")
    other = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    like_it = (secret[:-1], secret + "A", other, secret.upper(), " " + secret)
    for wrong in ("", "x", *like_it, "hwt_" + "0" * 12 + "_" + "A" * 43, "\ud800"):
        assert memory.tokens.caller(wrong) is None, wrong


def test_the_token_itself_is_kept_nowhere(memory: Memory) -> None:
    _, secret = memory.tokens.create("ci")
    tail = secret.split("_", 2)[2].encode()  # its random part may hold "_" itself
    kept = [path.read_bytes() for path in Path(memory.location).parent.iterdir()]
    assert len(kept) > 1
    assert not any(tail in data for data in kept)


def test_it_is_over_when_it_expires(memory: Memory, clock: Clock) -> None:
    token, secret = memory.tokens.create("ci", days=1)
    assert token.expires == clock.at + timedelta(days=1)
    clock.at += timedelta(days=1, microseconds=-1)
    assert memory.tokens.caller(secret)
    clock.at += timedelta(microseconds=1)
    assert memory.tokens.caller(secret) is None
    assert memory.tokens.all()[0].state(clock.at) == "expired"


def test_it_is_over_at_once_when_it_is_revoked_also_by_another_process(memory: Memory) -> None:
    _, secret = memory.tokens.create("ci")
    assert memory.tokens.caller(secret)
    code = f"from hardwon import Memory; Memory({memory.location!r}).tokens.revoke('ci')"
    run_program(sys.executable, "-c", code)
    assert memory.tokens.caller(secret) is None


def test_a_name_can_have_two_tokens_while_one_replaces_one(memory: Memory, clock: Clock) -> None:
    first, old = memory.tokens.create("ci")
    second, new = memory.tokens.create("ci")
    assert [token.id for token in memory.tokens.revoke(first.id)] == [first.id]
    assert (memory.tokens.caller(old), bool(memory.tokens.caller(new))) == (None, True)
    assert [token.id for token in memory.tokens.revoke("ci")] == [second.id]
    with pytest.raises(errors.UnknownTokenError, match="tokens list"):
        memory.tokens.revoke("ci")


def test_a_backup_has_no_tokens_and_a_restore_brings_none(memory: Memory, tmp_path: Path) -> None:
    token, secret = memory.tokens.create("ci")
    memory.backup(tmp_path / "backup.db")
    memory.tokens.revoke("ci")
    location = memory.location
    memory.close()
    assert token.id.encode() not in (tmp_path / "backup.db").read_bytes()
    Memory.restore(tmp_path / "backup.db", location)
    with Memory(location) as restored:
        assert restored.tokens.caller(secret) is None


def test_the_file_is_for_its_owner_alone(memory: Memory) -> None:
    found = Path(memory.location).with_suffix(".tokens.db")
    assert memory.tokens.all() == []
    assert not found.exists(), "reading makes none"
    memory.tokens.create("ci")
    assert found.stat().st_mode & 0o777 == 0o600


def test_a_file_that_holds_no_tokens_is_left_alone(memory: Memory) -> None:
    foreign = Path(memory.location).with_suffix(".tokens.db")
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE x (y)")
        connection.commit()
    before = foreign.read_bytes()
    with pytest.raises(errors.ForeignFileError, match="does not hold tokens"):
        memory.tokens.create("ci")
    assert foreign.read_bytes() == before


def test_those_that_ended_long_ago_are_dropped(memory: Memory, clock: Clock) -> None:
    memory.tokens.create("old", days=1)
    memory.tokens.create("revoked", days=None)
    memory.tokens.revoke("revoked")
    clock.at += timedelta(days=limits.TOKEN_DAYS + 2)
    memory.tokens.create("new")
    assert [token.name for token in memory.tokens.all()] == ["new"]


def test_there_is_a_bound(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TOKENS_MAX", 2)
    for name in "ab":
        memory.tokens.create(name)
    with pytest.raises(errors.FullError, match="revoke some"):
        memory.tokens.create("c")
    assert sorted(token.name for token in memory.tokens.all()) == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"name": ""}, "name"), ({"name": "a\nb"}, "name"), ({"name": "hardwon"}, "name"),
        ({"name": "test_runner"}, "name"), ({"name": "ghp_" + "a1B2" * 9}, "name"),
        ({"name": "x", "scope": "root"}, "scope"), ({"name": "x", "projects": []}, "projects"),
        ({"name": "x", "projects": "alpha"}, "projects"), ({"name": "x", "projects": [" "]}, "projects"),
        ({"name": "x", "days": 0}, "days"), ({"name": "x", "days": float("nan")}, "days"),
        ({"name": "x", "days": True}, "days"),
    ],
)  # fmt: skip
def test_wrong_ones_are_refused(memory: Memory, arguments: dict[str, object], field: str) -> None:
    with pytest.raises(errors.InvalidInputError) as told:
        memory.tokens.create(**arguments)  # type: ignore[arg-type]
    assert told.value.field.endswith(field)
    assert memory.tokens.all() == []


@pytest.mark.parametrize("held", SCOPES)
@pytest.mark.parametrize("wanted", SCOPES)
@pytest.mark.parametrize(
    ("reached", "project", "reaches"),
    [(None, "a", True), (("a",), "a", True), (("b",), "a", False), (("b",), None, True)],
)
def test_a_scope_includes_those_before_it(
    held: Scope, wanted: Scope, reached: tuple[str, ...] | None, project: str | None, reaches: bool
) -> None:
    caller = Caller("x", held, reached)
    if SCOPES.index(held) >= SCOPES.index(wanted) and reaches:
        check_access(caller, wanted, project)
    else:
        with pytest.raises(errors.ForbiddenError):
            check_access(caller, wanted, project)
