"""`hardwon postgres`: by a database user that is no superuser, and what each user may do then."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

import postgres_server
from command_line import answered, at_once, refused
from hardwon import Memory
from hardwon.errors import ForbiddenError
from hardwon.memory import databases
from hardwon.store.postgres.projects import Grant

SECRET = "hunter2-and-more"
NOBODY = ("", "\0", "x" * 64, "ä" * 32)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres_server.Server]:
    """Users show passwords. `boss` may make roles and owns `brain`, and is no superuser."""
    made = postgres_server.Server(password=True)
    made.run(f"CREATE ROLE boss LOGIN CREATEROLE PASSWORD '{SECRET}'")
    made.run("CREATE DATABASE brain OWNER boss")
    for user in ("anna", "ben", "keeper"):
        made.run(f"CREATE ROLE {user} LOGIN PASSWORD '{SECRET}'")
    yield made
    made.remove()


@pytest.fixture
def boss(server: postgres_server.Server) -> str:
    return server.tcp_url_of("brain", "boss", SECRET)


pytestmark = pytest.mark.usefixtures("own_folder")


def url_of(server: postgres_server.Server, user: str, database: str = "brain") -> str:
    return server.tcp_url_of(database, user, SECRET)


def test_a_user_that_makes_roles_and_owns_the_database_sets_it_up_and_uses_it(
    server: postgres_server.Server, boss: str
) -> None:
    made = answered("postgres", "init", boss, "--project", "shop", "--project", "website")
    assert made["projects"] == ["shop", "website"]
    assert made["location"] == server.tcp_url_of("brain", "boss")
    assert {"user": "boss", "project": "shop", "access": "governor"} in made["grants"]
    assert answered("postgres", "init", boss, "--project", "shop") == made  # nothing is missing
    assert answered("postgres", "status", boss) == made
    shown = at_once("postgres", "status", boss).stdout
    assert "projects: shop, website\n" in shown
    assert "    user: boss\n    project: shop\n    access: governor\n" in shown
    with Memory(boss, "shop") as memory:
        kept = memory.record_fact("Port 80 is open.", "observation")
        memory.verify(kept.id, "compiler")
        assert [hit.record.id for hit in memory.recall("port open")] == [kept.id]
        assert memory.tokens.create("ci").token.name == "ci"
        assert memory.doctor().ok
        assert memory.forget(kept.id).erased
    assert server.run(
        "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'hardwon%' AND (rolsuper OR rolcanlogin)"
    ) == [(0,)]


def test_each_access_level_may_do_what_is_told_and_no_more(
    server: postgres_server.Server, boss: str
) -> None:
    databases.initialise(boss, ["levels", "elsewhere"])
    with Memory(boss, "levels") as memory:
        fact = memory.record_fact("Port 81 is shut.", "observation")
    anna = url_of(server, "anna")
    with Memory(anna, "levels") as memory, pytest.raises(ForbiddenError, match="postgres grant"):
        memory.stats()
    assert at_once(
        "--memory", boss, "postgres", "grant", "anna", "--project", "levels", "--as", "reader"
    ).stdout == ("anna is a reader of project levels\n")
    with Memory(anna, "levels") as memory:
        assert memory.recall("port shut")
        with pytest.raises(ForbiddenError, match="--as writer"):
            memory.record_fact("Port 82 is shut.", "observation")
    told = answered("--memory", boss, "postgres", "grant", "anna", "--project", "levels")
    assert told == {"user": "anna", "project": "levels", "access": "writer"}
    with Memory(anna, "levels") as memory:
        memory.record_fact("Port 82 is shut.", "observation")
        assert memory.credit(fact.id, True, "anna") == [fact.id]
        with pytest.raises(ForbiddenError, match="--as governor"):
            memory.verify(fact.id, "compiler")
    databases.grant(boss, "anna", "levels", "governor")
    with Memory(anna, "levels") as memory:
        memory.verify(fact.id, "compiler")
        memory.archive(fact.id, "it was moved")
        assert memory.rebuild() == 0
        gone = memory.forget(fact.id)
        # only who owns the tables may vacuum them
        assert (gone.ids, gone.erased, gone.pending) == ([fact.id], False, True)
    with Memory(anna, "elsewhere") as memory, pytest.raises(ForbiddenError):
        memory.stats()
    assert databases.describe(anna).grants == [Grant("anna", "levels", "governor")]
    databases.grant(boss, "anna", "levels", "reader")  # just so far
    assert databases.describe(anna).grants == [Grant("anna", "levels", "reader")]
    assert at_once(
        "--memory", boss, "postgres", "revoke", "anna", "--project", "levels"
    ).stdout == ("anna no longer reaches project levels\n")
    assert (
        answered("--memory", boss, "postgres", "revoke", "anna", "--project", "levels")["revoked"]
        is False
    )
    with Memory(anna, "levels") as memory, pytest.raises(ForbiddenError):
        memory.stats()


def test_who_runs_a_server_is_let_to_its_tokens_alone(
    server: postgres_server.Server, boss: str
) -> None:
    databases.initialise(boss, ["default"])
    keeper = url_of(server, "keeper")
    databases.grant(boss, "keeper", "default", "reader")
    with Memory(keeper) as memory, pytest.raises(ForbiddenError):
        memory.tokens.all()
    answer = at_once("--memory", boss, "postgres", "grant", "keeper", "--server").stdout
    assert answer == "keeper keeps the tokens of a server\n"
    with Memory(keeper) as memory:
        made = memory.tokens.create("agent", "write").token
        assert made.id in [token.id for token in memory.tokens.all()]
    assert answered("--memory", boss, "postgres", "revoke", "keeper", "--server") == {
        "user": "keeper",
        "project": None,
        "revoked": True,
    }
    with Memory(keeper) as memory, pytest.raises(ForbiddenError):
        memory.tokens.all()


def test_a_user_that_may_not_is_told_what_it_takes(
    server: postgres_server.Server, boss: str
) -> None:
    server.run("CREATE DATABASE other OWNER anna")
    for user, database in (("anna", "other"), ("ben", "brain")):
        said = refused("postgres", "init", url_of(server, user, database))
        assert "it takes CREATEROLE and CREATE on the database" in said
    with psycopg.connect(server.url_of("other")) as connection:
        assert (
            connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'hardwon'").fetchall()
            == []
        )  # nothing of it stays
    assert "lets nobody in" in refused("postgres", "init", boss.replace(SECRET, "wrong-one"))


def test_what_is_wrong_is_told_in_one_line(server: postgres_server.Server, boss: str) -> None:
    databases.initialise(boss, ["default"])
    empty = postgres_server.fresh_database()
    assert "hardwon postgres init" in refused("postgres", "status", empty)
    assert "hardwon postgres init" in refused("--memory", empty, "stats")
    assert "there is no database" in refused("postgres", "init", boss.replace("/brain", "/nowhere"))
    assert "CREATE ROLE" in refused("--memory", boss, "postgres", "grant", "zoe")
    assert "a project of this database" in refused(
        "--memory", boss, "postgres", "grant", "anna", "--project", "nowhere"
    )
    assert "not both" in refused(
        "--memory", boss, "postgres", "grant", "anna", "--project", "x", "--server"
    )
    assert "postgresql://" in refused("postgres", "status")  # the memory is a folder
    assert "postgresql://" in refused("postgres", "grant", "anna")
    assert at_once("--memory", boss, "postgres", "grant", "anna", "--as", "owner").exit_code == 2
    postgres_server.drop(empty)


def test_no_password_is_shown(server: postgres_server.Server, boss: str) -> None:
    for arguments in (
        ("postgres", "init", boss),
        ("postgres", "init", boss, "--json"),
        ("postgres", "status", boss),
        ("--memory", boss, "postgres", "grant", "zoe"),
        ("postgres", "status", boss.replace("/brain", "/nowhere")),
        ("postgres", "status", boss.replace("boss:", "nobody:")),
        ("postgres", "status", boss.replace("//boss", "//boss@x")),
        ("--memory", boss, "config"),
        ("--memory", boss, "stats"),
        ("--memory", boss, "doctor"),
    ):
        done = at_once(*arguments)
        assert done.output
        assert SECRET not in done.output, arguments


def test_without_the_driver_the_command_to_install_it_is_told(boss: str) -> None:
    hidden = "import sys; sys.modules['psycopg'] = None; from hardwon.surfaces.cli.main import main; main()"
    for arguments in (("postgres", "init", boss), ("--memory", boss, "stats")):
        done = subprocess.run(
            [sys.executable, "-c", hidden, *arguments], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert "pip install '.[postgres]'" in done.stderr
        assert done.stderr.count("\n") == 1
        assert SECRET not in done.stderr
