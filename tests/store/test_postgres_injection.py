"""Whatever is written in a text, nothing of it is taken for a statement or a name."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

import postgres_server
from browsing import hostile_values
from engines import ENGINES, a_database, a_location, schemas_of, wrong_with
from hardwon import Decision, Episode, Experience, Fact, Fix, Memory, Trajectory, limits
from hardwon.errors import ForbiddenError, HardwonError, InvalidInputError
from hardwon.records.fields import new_id
from hardwon.records.kinds import AnyRecord
from hardwon.search.terms import Filters
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link, in_postgres
from hardwon.store.postgres.schema import ACCESS, READER
from strategies import at

SET_UP = (
    "SELECT n.nspname, c.relname, c.relkind, c.relacl::text, c.relrowsecurity FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname ~ '^(hardwon|public)' ORDER BY 1, 2",
    "SELECT p::text FROM pg_proc p WHERE pronamespace::regnamespace::text ~ '^hardwon' ORDER BY 1",
    "SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname ~ '^hardwon' ORDER BY 1",
)
HOSTILE = (
    "'; DROP TABLE hardwon.record; --", "' OR '1'='1", "'' OR ''='", '"; DROP SCHEMA hardwon CASCADE; --',
    "x') OR project_id <> ('", "?1 ? ?2 ?99", "$1 $2 $$ $tag$ x $tag$", "%s %(name)s %% %L %I",
    "\\'; SELECT pg_sleep(9); --", "\\ \\\\ E'\\x27' U&'\\0027'", "/* comment */ -- and ; more",
    "{} {0} {project} {{", "*' OR path GLOB '*", "[^]' --", "(a|b)+ .* ^$ \\d (?!x)", "' | 'x':* & !'y' <-> 'z'",
    "x::regclass; COPY (SELECT 1) TO PROGRAM 'id'", "\u02bc \uff07 \u2018;\u2019 \U0001f600",
    "more\n'; than\r\none \u2028 \ufeff line", "NULL", "01a1e1cd-b04f-7ed9-8375-04e00f244b83' --",
)  # fmt: skip
PRINTABLE = filter(str.isprintable, HOSTILE)
QUIET = tuple(text for text in PRINTABLE if unicodedata.is_normalized("NFKC", text))
"""Those that may be a name, and are kept as they are."""


def records_of(text: str, number: int) -> list[AnyRecord]:
    """One of every kind, with the text wherever a text can be."""
    name = text if text in QUIET else "a name"
    fixed = {"fix_success": True, "verification_success": True}
    wanted: list[tuple[type[Any], dict[str, Any]]] = [
        (Experience, {"outcome": name, "tool": name, "own_schema": True, name[:64]: text, "task_id": name}),
        (Fact, {"fact_type": "error"}),
        (Trajectory, {"final_reward": 0.9, "steps": [{"action": text, "observation": f"Error: {text}"}, {"action": text}]}),
        (Episode, {"score": 0.9}), (Episode, {"score": 0.2}), (Fix, fixed),
        (Fix, {**fixed, "verification_success": False}),
    ]  # fmt: skip
    made = []
    for place, (model, given) in enumerate(wanted):
        values = hostile_values(model, name) | given
        when = at(0) + timedelta(minutes=10 * number + place)
        values["metadata"]["context"]["timestamp"] = when.isoformat()
        values["metadata"].pop("validation", None)
        values["metadata"]["source"] = {"author": name, "id": name}
        made.append(model.model_validate({**values, "id": new_id(when), "recalled": None}))
    return made


@cache
def all_records() -> list[AnyRecord]:
    return [record for number, text in enumerate(HOSTILE) for record in records_of(text, number)]


def refusal_or(use: Any) -> Any:
    """What comes of it, or what is wrong with it: on every engine the same."""
    try:
        return use()
    except HardwonError as error:
        return type(error).__name__, str(error)


def ids(records: Sequence[Any]) -> list[str]:
    return sorted(record.id for record in records)


def decided(decision: Decision) -> tuple[str, str]:
    return decision.action, decision.target


ASKED: dict[str, Callable[[Memory, Any], Any]] = {
    "query": lambda memory, text: len(memory.recall(text, 5)), "get": lambda memory, text: memory.get(text),
    "cursor": lambda memory, text: memory.care.page(5, text), "limit": lambda memory, text: memory.care.page(text),
    "context": lambda memory, text: "No" in memory.context(text, task_id=text).text,
    "rules": lambda memory, text: [(rule.text, rule.state) for rule in memory.rules(text)],
    "cards": lambda memory, text: [card.lesson for card in memory.cards(text)],
    "scores": lambda memory, text: memory.episodes.scores(text).episodes,
    "solutions": lambda memory, text: [found.action for found in memory.solutions(text)],
    "strategies": lambda memory, text: list(map(str, memory.fixes.strategies(text))),
    "odds": lambda memory, text: memory.odds(model=text, issue_type=text),
    "decisions": lambda memory, text: sorted(map(decided, memory.care.decisions(task_id=text))),
    "forget": lambda memory, text: memory.forget(text, dry_run=True),
    "forget by": lambda memory, text: sorted(memory.forget(author=text, dry_run=True).ids),
    "rollback": lambda memory, text: (memory.undo(memory.rollback(text, text, by=text).id, by=text).kind),
}  # fmt: skip


def answers(memory: Memory) -> dict[Any, Any]:
    """To everything that can be asked with a text in it."""
    given: dict[Any, Any] = {}
    for text in HOSTILE:
        for name in Filters.model_fields:
            values = [f"{text}={text}", f"{text[:64]}={text}"] if name == "key" else [text]
            for value in values:
                asked: Any = {name: value}
                page = partial(memory.care.page, 50, **asked)
                given["page", name, value] = refusal_or(lambda page=page: ids(page().records))
                recall = partial(memory.recall, "drop", 3, **asked)
                given["recall", name, value] = refusal_or(
                    lambda recall=recall: ids([hit.record for hit in recall()])
                )
        for name, ask in ASKED.items():
            given[name, text] = refusal_or(lambda ask=ask, text=text: ask(memory, text))
    return given


def test_texts_come_back_and_questions_are_answered_alike(tmp_path: Path) -> None:
    told: dict[str, dict[Any, Any]] = {}
    for engine in ENGINES:
        with (
            a_location(engine, tmp_path) as location,
            Memory(location, "p", clock=lambda: at(0) + timedelta(days=1)) as memory,
        ):
            before = shape(location) if engine == "postgres" else []
            for record in all_records():
                memory.add(record)
            kept = sorted(map(of_no_project, memory.browse()))
            assert kept == sorted(map(of_no_project, all_records()))
            told[engine] = answers(memory)
            assert wrong_with(memory) == []
            if engine == "postgres":
                assert shape(location) == before
    for asked, answer in told["sqlite"].items():
        assert told["postgres"][asked] == answer, asked
    pages = [answer for asked, answer in told["postgres"].items() if asked[0] == "page"]
    found = [page for page in pages if page and isinstance(page, list)]
    assert len(found) > 5 * len(QUIET), "what has such a name is found by it"


def of_no_project(record: AnyRecord) -> str:
    return record.copy_with(metadata=record.metadata.copy_with(project_id="")).to_json()


def shape(url: str) -> list[Any]:
    """Everything that a statement could have changed but rows."""
    asked = [*SET_UP, "SELECT * FROM hardwon.project ORDER BY 1"]
    asked.append("SELECT version FROM hardwon.migrated")
    with psycopg.connect(url) as connection:
        return [connection.execute(sql.encode()).fetchall() for sql in asked]


@pytest.mark.parametrize("engine", ENGINES)
def test_tokens_and_embedders_have_any_name(engine: str, tmp_path: Path) -> None:
    with a_location(engine, tmp_path) as location, Memory(location, "p") as memory:
        for text in QUIET:
            made = memory.tokens.create(text, "write", [text])
            caller = memory.tokens.caller(made.secret)
            assert caller is not None
            assert [token.name for token in memory.tokens.revoke(text)] == [text]
            assert memory.tokens.caller(text) is None
            with memory._project.store.write("p") as writer:
                writer.set_embedder("p", text, 2)
                writer.set_state("p", text, 7)
                assert (writer.embedder("p"), writer.state("p", text)) == ((text, 2), 7)
        assert [token.name for token in memory.tokens.all()] == list(QUIET)


class TestProjects:
    """Schemas and roles are named after projects."""

    def test_of_any_name_are_kept_apart(self, database: str) -> None:
        long = "x" * limits.PROJECT_BYTES_MAX
        alike = ["My Project", "my-project", "my_project", "MY PROJECT", "my project "]
        names = [*QUIET, long, long[:-1], "ünïcödé", "项目", "😀", "_", *alike]
        link = Link(database)
        setup.initialise(link, [*names, "p"])
        setup.initialise(link, names)
        assert set(setup.describe(link).projects) >= set(names)
        with psycopg.connect(database) as connection:
            schemas = schemas_of(connection)
            roles = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles")}
        assert set(schemas) == {*names, "p"}
        assert len(set(schemas.values())) == len(schemas)
        for schema, access in product(schemas.values(), ACCESS):
            assert setup.role_name(schema, access) in roles
        for name in names:
            with Memory(database, name) as memory:
                memory.record_fact(f"only in {name}", "observation")
                memory.record_episode(name, 1.0, successes=[name], author=name)
        for name in names:
            with Memory(database, name) as memory:
                (fact,) = memory.browse(kind="fact")
                assert fact.content == f"only in {name}"  # type: ignore[union-attr]
                assert [hit.record.metadata.project_id for hit in memory.recall("only")] == [name]
                memory.rebuild()
                assert wrong_with(memory) == []
        with Memory(database, "p") as memory:
            assert memory.stats().records == 0
            assert set(memory.care.projects()) >= set(names)
        link.close()

    def test_of_no_name_are_refused(self) -> None:
        with a_database() as url:
            link = Link(url)
            most = limits.PROJECT_BYTES_MAX
            for name in ("", " ", "a\0b", "a\nb", "x" * (most + 1), "é" * most):
                with pytest.raises(InvalidInputError):
                    setup.initialise(link, [name])
            link.close()
            for text in QUIET:
                refused = pytest.raises(ForbiddenError, match="does not reach project")
                with Memory(url, text) as memory, refused:
                    memory.stats()

    def test_are_granted_to_users_of_any_name(self) -> None:
        with a_database() as url:
            link = Link(url)
            mark = secrets.token_hex(4)
            for text in QUIET:
                user = f"{text}{mark}"[-60:]
                with pytest.raises(InvalidInputError, match="a user of this server"):
                    setup.grant(link, user, "p", READER)
                with psycopg.connect(url, autocommit=True) as connection:
                    quoted = '"' + user.replace('"', '""') + '"'
                    connection.execute(f"CREATE ROLE {quoted} LOGIN".encode())
                try:
                    setup.grant(link, user, "p", READER)
                    assert setup.Grant(user, "p", READER) in setup.describe(link).grants
                    place = url.replace("postgres@", f"{quote(user, safe='')}@")
                    with Memory(place, "p") as memory:
                        assert memory.stats().records == 0
                        with pytest.raises(ForbiddenError):
                            memory.record_fact("x", "error")
                    setup.revoke(link, user, "p")
                    assert user not in {grant.user for grant in setup.describe(link).grants}
                finally:
                    postgres_server.server().run(f"DROP ROLE {quoted}")
            link.close()


def test_only_parameters_are_translated_and_a_schema_holds_one_project() -> None:
    quoted = "WHERE y = '?1 ''? $1' AND \"a?\" ="
    sql = f"SELECT ?2, ?1, ? FROM x {quoted} ?3 -- ?4\n AND ?"
    text = f"SELECT $1, $2, $3 FROM x {quoted} $3 -- ?4\n AND $4"
    assert in_postgres(sql) == (text, (1, 0, 2, 3))
    joined = "WHERE e.project_id = r.project_id AND project_id = ?1 AND a = ?12"
    text = "SELECT 1 FROM e, r WHERE true AND true AND a = $1"
    assert in_postgres(f"SELECT 1 FROM e, r {joined}") == (text, (11,))
    sql = "INSERT INTO s (project_id, a) VALUES (?1, ?2) ON CONFLICT (project_id, a) DO NOTHING"
    assert in_postgres(sql) == ("INSERT INTO s (a) VALUES ($1) ON CONFLICT (a) DO NOTHING", (1,))
