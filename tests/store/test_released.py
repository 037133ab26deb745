"""A database written by each released version opens in this one, says the same, and has the same
schema as a new one.
"""

from __future__ import annotations

import gzip
import shutil
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

import hardwon
from engines import go_past, wrong_with
from hardwon import Experience, Fix, Memory, failure_hash
from hardwon.records.kinds import Event
from hardwon.store.sqlite.connection import connect
from hardwon.store.sqlite.file import expected_schema, migrate, schema_of
from hardwon.store.sqlite.migrations import (
    APPLICATION_ID,
    KNOWLEDGE_SINCE,
    MIGRATIONS,
    SCHEMA_VERSION,
)
from hardwon.text.failures import failure_hashes

RELEASED = sorted(Path(__file__).parents[1].joinpath("released").glob("*.db"))


def test_this_version_is_among_the_released() -> None:
    assert f"{hardwon.__version__}.db" in [path.name for path in RELEASED]


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: path.stem)
def test_a_released_database_opens(released: Path, tmp_path: Path) -> None:
    copy = tmp_path / "memory.db"
    shutil.copy(released, copy)
    copy.chmod(0o600)
    with Memory(copy, project="released") as memory:
        diagnosis = memory.doctor()
        assert diagnosis.ok, str(diagnosis)
        records = {record.kind: record for record in memory.browse()}
        assert list(records) == ["fix", "episode", "trajectory", "fact", "experience"]
        experience, fix = records["experience"], records["fix"]
        assert isinstance(experience, Experience)
        assert isinstance(fix, Fix)
        assert (experience.extra["ticket"], experience.metadata.validation.status) == (
            7,
            "verified",
        )
        assert (fix.issue.model, fix.succeeded, fix.system_info) == (
            "qwen2.5:7b",
            False,
            {"os": "Linux"},
        )
        assert memory.stats().forgotten == 1
        assert memory.recall("flaky test_io.py")[0].record.id == experience.id
        memory.record_fact("Written by a newer version.", "observation")
        assert memory.stats().records == 6


def test_what_an_older_version_loaded_is_told_from_what_it_recorded(tmp_path: Path) -> None:
    copy = tmp_path / "memory.db"
    shutil.copy(RELEASED[0].with_name("0.11.1.db"), copy)
    copy.chmod(0o600)
    with closing(apsw.Connection(str(copy))) as old:
        ((record_id,),) = old.execute("SELECT id FROM record WHERE kind = 'fix'").fetchall()
        event = Event(record_id=record_id, kind="imported", by="ann")
        row = "released", event.id, record_id, event.kind, event.at_us, event.to_json()
        old.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)
    with Memory(copy, project="released") as memory:
        assert {record.said_by for record in memory.browse(kind="fix")} == {"agent via import"}
        assert wrong_with(memory) == []
        assert memory.rebuild() == 0


def test_failures_are_found_by_what_an_older_version_hashed(tmp_path: Path) -> None:
    """0.11.0 recorded a trajectory and a fix that show what failed, and a fact that only has the
    hash of it.
    """
    copy = tmp_path / "memory.db"
    packed = Path(__file__).parents[1] / "released" / "failures-0.11.0.db.gz"
    copy.write_bytes(gzip.decompress(packed.read_bytes()))
    copy.chmod(0o600)
    block = "17/06/09 20:10:40 ERROR storage.BlockManager: cannot read block rdd_{} of node-17"
    refused = "Error: connect ECONNREFUSED 127.0.0.1:5432"
    of_block, of_refused = "aee506e1178b5557", "035fa7d33c44af13"  # as 0.11.0 hashed them
    assert failure_hashes(block.format("2_1")) == (failure_hash(block.format("7_38")), of_block)
    assert failure_hashes(refused) == (failure_hash(refused), of_refused)

    with Memory(copy, project="released") as memory:
        diagnosis = memory.doctor()
        assert diagnosis.ok, str(diagnosis)

        def kinds(hashed: str) -> list[str]:
            return [record.kind for record in memory.browse(failure_hash=hashed)]

        assert kinds(of_block) == ["fact", "trajectory"]
        assert kinds(failure_hash(block.format("7_38"))) == ["trajectory"]
        assert kinds(of_refused) == kinds(failure_hash(refused)) == ["fix"]
        # whoever has the text of it finds both
        exact = [
            hit.record.kind for hit in memory.recall(block.format("2_1")) if hit.why.get("exact")
        ]
        assert sorted(exact) == ["fact", "trajectory"]
        solution = memory.solutions(block.format("7_38"))[0]
        assert (solution.action, solution.helped) == ("spark-submit --conf retry=3 count.py", 1)
        # what is recorded now is found by the older hash of its text
        memory.record_fix(
            {"model": "m", "issue_type": "REFUSED", "error_output": refused}, False, False
        )
        assert kinds(of_refused) == ["fix", "fix"]


@pytest.mark.parametrize("start", range(SCHEMA_VERSION))
def test_a_migrated_schema_equals_a_fresh_one(start: int, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(apsw.Connection(str(path))) as old:
        for script in MIGRATIONS[:start]:
            old.execute(script).fetchall()
        old.pragma("application_id", APPLICATION_ID)
        old.pragma("user_version", start)
        migrate(old)
        assert schema_of(old) == expected_schema()
        assert old.pragma("user_version") == SCHEMA_VERSION


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(tmp_path) as memory:
        record = memory.record_fact("x", "error")
    broken = (*MIGRATIONS, "CREATE TABLE half (x); INSERT INTO record_text (nonsense) VALUES (1)")
    for module in ("file", "engine", "connection"):
        monkeypatch.setattr(f"hardwon.store.sqlite.{module}.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setattr("hardwon.store.sqlite.file.MIGRATIONS", broken)
    with pytest.raises(hardwon.HardwonError, match="nonsense"):
        Memory(tmp_path)
    monkeypatch.undo()
    with closing(connect(tmp_path / "memory.db")) as connection:
        assert schema_of(connection) == expected_schema()
    with Memory(tmp_path) as memory:
        assert memory.get(record.id) == record


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: path.stem)
def test_a_released_database_is_learned_from(released: Path, tmp_path: Path) -> None:
    copy = tmp_path / "memory.db"
    shutil.copy(released, copy)
    copy.chmod(0o600)
    with Memory(copy, project="released", clock=lambda: datetime(2026, 1, 2, tzinfo=UTC)) as memory:
        assert memory.odds(issue_type="TIMEOUT").applied == 1
        assert [(card.mistake_type, card.worker_id) for card in memory.cards("triage")] == [
            ("guess", 2)
        ]
        assert [str(rule) for rule in memory.rules("triage")] == ["[AVOID] guessed"]
        issue = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}
        assert [fix.analysis for fix in memory.similar_issues(issue).exact] == ["slow"]
        assert memory.rebuild() == 0


def test_steps_that_were_counted_by_their_text_alone_are_counted_anew(tmp_path: Path) -> None:
    """Until 0.11.0 a step with a reward below zero counted as one that worked, unless its text
    showed an error. Databases of then are in `test_postgres_carry_over.py`.
    """
    location = tmp_path / "brain.db"
    step = {"action": "find_file x.py", "observation": "an empty page", "reward": -1.0}
    with Memory(location) as memory:
        memory.record_trajectory("issue", [step], 0.0)
        go_past(
            memory, "UPDATE tally SET level1 = level0, level0 = level1 WHERE scope LIKE 'act.%'"
        )
        assert [finding.check for finding in wrong_with(memory)] == ["knowledge"]
        go_past(memory, "DROP INDEX record_vector_by_number")
        for column in ("number", "code"):  # which there were not either
            go_past(memory, f"ALTER TABLE record_vector DROP COLUMN {column}")
        go_past(memory, f"PRAGMA user_version = {KNOWLEDGE_SINCE - 1}")
    with Memory(location) as memory:
        assert wrong_with(memory) == []
        assert memory.advise("find_file x.py").p_success < 0.5
