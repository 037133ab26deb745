"""`hardwon postgres`: by a database user that is no superuser, and what each user may do then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import postgres_server
from command_line import answered, at_once, refused
from hardwon import Memory
from hardwon.errors import ForbiddenError
from hardwon.memory import databases
from hardwon.store.postgres.projects import Grant

SECRET = "hunter2-and-more"


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


def test_who_makes_roles_and_owns_it_sets_it_up(server: postgres_server.Server, boss: str) -> None:
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
    powerful = "rolname LIKE 'hardwon%' AND (rolsuper OR rolcanlogin)"
    assert server.run(f"SELECT count(*) FROM pg_roles WHERE {powerful}") == [(0,)]


def test_a_level_is_granted_and_taken_back(server: postgres_server.Server, boss: str) -> None:
    """What each level may do there: test_postgres_isolation.py."""
    databases.initialise(boss, ["levels", "elsewhere"])
    anna, words = url_of(server, "anna"), ("anna", "--project", "levels")
    with Memory(anna, "levels") as memory, pytest.raises(ForbiddenError, match="postgres grant"):
        memory.stats()
    grant = ("--memory", boss, "postgres", "grant", *words)
    assert at_once(*grant, "--as", "reader").stdout == "anna is a reader of project levels\n"
    with Memory(anna, "levels") as memory:
        assert memory.recall("port shut") == []
        with pytest.raises(ForbiddenError, match="--as writer"):
            memory.record_fact("Port 82 is shut.", "observation")
    assert answered(*grant) == {"user": "anna", "project": "levels", "access": "writer"}
    databases.grant(boss, "anna", "levels", "governor")
    with Memory(anna, "levels") as memory:
        fact = memory.record_fact("Port 81 is shut.", "observation")
        assert memory.rebuild() == 0
        gone = memory.forget(fact.id)
        # only who owns the tables may vacuum them
        assert (gone.ids, gone.erased, gone.pending) == ([fact.id], False, True)
    assert databases.describe(anna).grants == [Grant("anna", "levels", "governor")]
    databases.grant(boss, "anna", "levels", "reader")  # just so far
    assert databases.describe(anna).grants == [Grant("anna", "levels", "reader")]
    revoke = ("--memory", boss, "postgres", "revoke", *words)
    assert at_once(*revoke).stdout == "anna no longer reaches project levels\n"
    assert answered(*revoke)["revoked"] is False
    with Memory(anna, "levels") as memory, pytest.raises(ForbiddenError):
        memory.stats()


def test_who_runs_a_server_reaches_tokens_alone(server: postgres_server.Server, boss: str) -> None:
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
    revoked = answered("--memory", boss, "postgres", "revoke", "keeper", "--server")
    assert revoked == {"user": "keeper", "project": None, "revoked": True}
    with Memory(keeper) as memory, pytest.raises(ForbiddenError):
        memory.tokens.all()


def test_a_user_that_may_not_is_told_why(server: postgres_server.Server, boss: str) -> None:
    server.run("CREATE DATABASE other OWNER anna")
    for user, database in (("anna", "other"), ("ben", "brain")):
        said = refused("postgres", "init", url_of(server, user, database))
        assert "it takes CREATEROLE and CREATE on the database" in said
    # nothing of it stays
    assert server.run("SELECT 1 FROM pg_namespace WHERE nspname = 'hardwon'", "other") == []
    assert "lets nobody in" in refused("postgres", "init", boss.replace(SECRET, "wrong-one"))


def test_what_is_wrong_is_told_in_one_line(server: postgres_server.Server, boss: str) -> None:
    databases.initialise(boss, ["default"])
    empty = postgres_server.fresh_database()
    assert "hardwon postgres init" in refused("postgres", "status", empty)
    assert "hardwon postgres init" in refused("--memory", empty, "stats")
    assert "there is no database" in refused("postgres", "init", boss.replace("/brain", "/nowhere"))
    grant = ("--memory", boss, "postgres", "grant")
    assert "CREATE ROLE" in refused(*grant, "zoe")
    assert "a project of this database" in refused(*grant, "anna", "--project", "nowhere")
    assert "not both" in refused(*grant, "anna", "--project", "x", "--server")
    assert "postgresql://" in refused("postgres", "status")  # the memory is a folder
    assert "postgresql://" in refused("postgres", "grant", "anna")
    assert at_once(*grant, "anna", "--as", "owner").exit_code == 2
    postgres_server.drop(empty)


def test_no_password_is_shown(server: postgres_server.Server, boss: str) -> None:
    wrong = (("/brain", "/nowhere"), ("boss:", "nobody:"), ("//boss", "//boss@x"))
    for arguments in (
        ("postgres", "init", boss),
        ("postgres", "init", boss, "--json"),
        *(("postgres", "status", url) for url in (boss, *(boss.replace(*pair) for pair in wrong))),
        ("--memory", boss, "postgres", "grant", "zoe"),
        *(("--memory", boss, command) for command in ("config", "stats", "doctor")),
    ):
        done = at_once(*arguments)
        assert done.output
        assert SECRET not in done.output, arguments
