"""Older fix histories come in whole or say why not; a kill leaves the old or the new."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import legacy_fixes as legacy
from cases import TORTURE, examples
from clocks import Clock
from hardwon import Fix, Memory, errors, limits
from hardwon.fixes import adopt as fix_adoption
from hardwon.fixes import legacy as legacy_fixes
from hardwon.fixes.adopt import adopt_fix_history, adopt_in_place, adopt_knowledge_base
from hardwon.fixes.ai_memory import AIMemory
from hardwon.lessons.adopted import FIX_HISTORY
from hardwon.memory.results import Adoption, Remark
from hardwon.records.kinds import Adopted
from processes import Child, Tell

KILLS = 200 if TORTURE else 4
ASIDE = "ai_memory.before-hardwon.db"


def fixes_of(memory: Memory) -> list[Fix]:
    """By the rows that they were."""
    found = [record for record in memory.browse(kind="fix") if isinstance(record, Fix)]
    return sorted(found, key=lambda fix: (fix.other or {})["row_id"])


def one(path: Path, memory: Memory, **row: Any) -> tuple[Fix, Adoption]:
    adoption = adopt_fix_history(legacy.make(path, [row]), memory)
    (fix,) = fixes_of(memory)
    return fix, adoption


def state_of(path: Path) -> dict[str, tuple[bytes, int]]:
    files = path.parent.glob(f"{path.name}*")
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def folder_with(tmp_path: Path, rows: int = 30) -> Path:
    folder = tmp_path / "AIMemory"
    folder.mkdir()
    legacy.many(folder / "ai_memory.db", rows)
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir() if not found.name.endswith(".lock"))


@pytest.mark.parametrize("shape", legacy.SHAPES)
def test_every_row_comes_in_the_source_stays(tmp_path: Path, memory: Memory, shape: str) -> None:
    source = tmp_path / "old" / "ai_memory.db"
    source.parent.mkdir()
    legacy.make(source, legacy.AWKWARD, shape)
    before = state_of(source)
    foreseen = adopt_fix_history(source, memory, dry_run=True)
    assert memory.stats().records == 0
    adoption = adopt_fix_history(source, memory)
    result = (adoption.read, adoption.added, adoption.present, adoption.rejected)
    assert result == (len(legacy.AWKWARD), 24, 0, [])
    assert (foreseen.added, foreseen.mended, foreseen.dry_run) == (24, adoption.mended, True)
    assert [fix.other["row_id"] for fix in fixes_of(memory) if fix.other] == list(range(1, 25))
    assert all(fix.analysis == "it needs more time" for fix in fixes_of(memory))
    assert state_of(source) == before
    assert memory.doctor().ok


def test_adopting_again_or_a_copy_adds_nothing(tmp_path: Path, memory: Memory) -> None:
    source = legacy.make(tmp_path / "a.db", legacy.AWKWARD)
    adopt_fix_history(source, memory)
    records = memory.stats().records
    copy = tmp_path / "elsewhere" / "b.db"
    copy.parent.mkdir()
    shutil.copyfile(source, copy)  # with another time of its own
    for again in (source, copy):
        adoption = adopt_fix_history(again, memory)
        assert (adoption.added, adoption.present) == (0, 24)
        assert memory.stats().records == records
    legacy.add(copy, [{"description": "later"}])
    grown = adopt_fix_history(copy, memory)
    assert (grown.added, grown.present) == (1, 24)


def test_a_history_that_got_columns_since_is_known_again(tmp_path: Path, memory: Memory) -> None:
    source = legacy.make(tmp_path / "a.db", legacy.AWKWARD)
    adopt_fix_history(source, memory)
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("ALTER TABLE fix_history ADD COLUMN severity TEXT")
        connection.execute("ALTER TABLE fix_history RENAME COLUMN claude_analysis TO ai_analysis")
    assert adopt_fix_history(source, memory).added == 0


def test_rows_that_say_the_same_are_not_one(tmp_path: Path, memory: Memory) -> None:
    rows = [{"id": number} for number in (1, 1, None, None, "x")]
    source = legacy.make(tmp_path / "a.db", rows, loose=True)
    assert adopt_fix_history(source, memory).added == 5
    assert adopt_fix_history(source, memory).present == 5


def test_progress_is_told_and_may_stop_it(tmp_path: Path, memory: Memory) -> None:
    source = legacy.many(tmp_path / "a.db", 1_200)
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        adopt_fix_history(source, memory, progress=stop)
    assert memory.stats().records == 0
    adopt_fix_history(source, memory, progress=lambda done, total: told.append((done, total)))
    assert told == [(500, 1_200), (1_000, 1_200), (1_200, 1_200)]
    assert memory.stats().records == 1_200


def test_what_was_forgotten_stays_so(tmp_path: Path, memory: Memory) -> None:
    source = legacy.make(tmp_path / "a.db", [{}, {}])
    adopt_fix_history(source, memory)
    memory.forget([fixes_of(memory)[0].id])
    again = adopt_fix_history(source, memory)
    assert (again.added, again.present, again.forgotten) == (0, 1, 1)
    assert "1 were forgotten here" in str(again)


def test_an_ordinary_row(tmp_path: Path, memory: Memory) -> None:
    fix, adoption = one(tmp_path / "a.db", memory)
    assert adoption.mended == []
    result: Any = (fix.issue.model, fix.issue.issue_type, fix.fixer_type)
    assert result == ("qwen2.5:7b", "TIMEOUT", "qwen")
    assert fix.fix_commands == ["ollama stop qwen2.5:7b", "ollama run qwen2.5:7b"]
    result = (fix.fix_success, fix.verification_success, fix.execution_time_seconds)
    assert result == (True, True, 45.2)
    assert (fix.system_info, fix.notes) == ({"os": "Linux", "ram_gb": 16}, "worked at once")
    assert fix.other == {"row_id": 1, "issue_signature": "0123456789abcdef"}
    source = fix.metadata.source
    assert (source.author, source.type) == ("fix history", "agent_execution")
    assert fix.metadata.validation.status == "hypothesis"


def test_two_analyses(tmp_path: Path, memory: Memory) -> None:
    said = (("new", "old"), (" ", "old"), ("same", "same"))
    rows = [{"ai_analysis": new, "claude_analysis": old} for new, old in said]
    adopt_fix_history(legacy.make(tmp_path / "a.db", rows, "both"), memory)
    first, second, third = fixes_of(memory)
    assert (first.analysis, second.analysis, third.analysis) == ("new", "old", "same")
    both = {"ai_analysis": "new", "claude_analysis": "old"}
    assert first.other == {"row_id": 1, "issue_signature": "0123456789abcdef", **both}
    assert "ai_analysis" not in (second.other or {})
    assert "ai_analysis" not in (third.other or {})


# column, what the row says, what the fix says, whether that had to be changed
READ_AS: list[tuple[str, Any, Any, bool]] = [
    ("fix_success", "True", True, False),
    ("fix_success", "false", False, False),
    ("fix_success", b"\x01", True, False),
    ("fix_success", b"1", True, False),
    ("fix_success", 2, False, True),
    ("fix_success", "", False, True),
    ("fix_success", b"\xff" * 9, False, True),
    ("execution_time_seconds", "2.5", 2.5, False),
    ("execution_time_seconds", -1.0, None, True),
    ("execution_time_seconds", 1e999, None, True),
    ("execution_time_seconds", "nan", None, True),
    ("execution_time_seconds", b"\xff", None, True),
    ("fix_commands", "", [], False),
    ("fix_commands", "[]", [], False),
    ("fix_commands", "null", ["null"], True),
    ("fix_commands", "pip install x", ["pip install x"], True),
    ("fix_commands", '["a", "b"]', ["a", "b"], False),
    ("fix_commands", '"a"', ["a"], False),
    ("fix_commands", '{"a": 1}', ['{"a": 1}'], True),
    ("fix_commands", '["a", 5, {"b": null}]', ["a"], False),  # all of it is kept aside
    ("fix_commands", '["\\ud800", "\\u0000"]', ["\ufffd" * 3, "\ufffd"], False),
    ("fix_commands", b'["from bytes"]', ["from bytes"], True),
    ("fix_commands", 5, ["5"], True),
    ("system_info", "", {}, False),
    ("system_info", '{"a": [1, null]}', {"a": [1, None]}, False),
    ("system_info", "{broken", {"raw": "{broken"}, True),
    ("system_info", "[1]", {"raw": "[1]"}, True),
    ("system_info", '{"a": NaN}', {}, False),
]


def test_each_value_is_read_as_far_as_it_can_be(tmp_path: Path, memory: Memory) -> None:
    rows = [{column: value} for column, value, _, _ in READ_AS]
    adoption = adopt_fix_history(legacy.make(tmp_path / "a.db", rows), memory)
    mended = {int(each.where.removeprefix("row ")) for each in adoption.mended}
    for number, (fix, read) in enumerate(zip(fixes_of(memory), READ_AS, strict=True), 1):
        column, _, expected, is_mended = read
        assert getattr(fix, column) == expected, read
        assert (number in mended) == is_mended, read
        if column in ("fix_success", "execution_time_seconds"):
            assert (column in (fix.other or {}).get("as_it_was", {})) == is_mended
    (odd,) = [fix for fix in fixes_of(memory) if "test_environment" in (fix.other or {})]
    assert (odd.other or {})["test_environment"] == '{"a": NaN}'


def test_failed_attempts_stay_failed(tmp_path: Path, memory: Memory) -> None:
    rows = [{"fix_success": at & 1, "verification_success": at >> 1} for at in range(4)]
    adopt_fix_history(legacy.make(tmp_path / "a.db", rows), memory)
    assert [fix.succeeded for fix in fixes_of(memory)] == [False, False, False, True]
    assert [fix.fix_success for fix in fixes_of(memory)] == [False, True, False, True]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("2025-01-15T10:00:00Z", datetime(2025, 1, 15, 10, tzinfo=UTC)),
        ("2025-01-15T10:00:00+02:00", datetime(2025, 1, 15, 8, tzinfo=UTC)),
        ("2025-01-15 10:00:00", datetime(2025, 1, 15, 10, tzinfo=UTC)),
        ("2025-01-15T10:00:00.123456", datetime(2025, 1, 15, 15, 0, 0, 123456, tzinfo=UTC)),
        ("2025-01-15 10:00:00.123456", datetime(2025, 1, 15, 15, 0, 0, 123456, tzinfo=UTC)),
        ("1736935200", datetime(2025, 1, 15, 10, tzinfo=UTC)),
        ("1736935200000", datetime(2025, 1, 15, 10, tzinfo=UTC)),
    ],
)
def test_times(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, said: str, expected: datetime
) -> None:
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    try:
        fix, adoption = one(tmp_path / "a.db", memory, timestamp=said)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert fix.metadata.context.timestamp == expected
    if ".123456" in said:
        assert fix.other
        assert fix.other["as_it_was"] == {"timestamp": said}
        told = "1 times without a zone were taken as local time of this machine (EST)"
        assert told in str(adoption)


def test_unreadable_times_are_those_of_the_row_before(tmp_path: Path, memory: Memory) -> None:
    times = ("", "0001-01-01T00:00:00", legacy.AT, "soon", "9999-12-31T23:59:59-12:00")
    rows = [{"timestamp": said} for said in times]
    adoption = adopt_fix_history(legacy.make(tmp_path / "a.db", rows), memory)
    written, before = datetime.fromtimestamp(1_700_000_000, UTC), datetime.fromisoformat(legacy.AT)
    result = [fix.metadata.context.timestamp for fix in fixes_of(memory)]
    assert result == [written, written, before, before, before]
    assert [each.where[-1] for each in adoption.mended] == list("1245")
    assert (fixes_of(memory)[3].other or {})["as_it_was"] == {"timestamp": "soon"}


def test_names_that_are_none(tmp_path: Path, memory: Memory) -> None:
    names = ("issue_type", "fixer_type", "model_name")
    values = [
        ("", "", ""),
        ("AUDIO_FRAMEWORK_MISSING", "deepseek", "x" * 300),
        ("two\nlines", "\N{MAN}\u200d\N{PERSONAL COMPUTER}", 5),
    ]
    rows = [dict(zip(names, row, strict=True)) for row in values]
    adoption = adopt_fix_history(legacy.make(tmp_path / "a.db", rows), memory)
    first, second, third = fixes_of(memory)
    assert (first.issue.issue_type, first.fixer_type, first.issue.model) == ("CUSTOM", "custom", "")
    assert (second.issue.issue_type, second.fixer_type) == ("AUDIO_FRAMEWORK_MISSING", "deepseek")
    assert second.issue.model == "x" * limits.NAME_CHARS_MAX
    assert (second.other or {})["as_it_was"] == {"model_name": "x" * 300}
    assert (third.issue.issue_type, third.issue.model) == ("two lines", "5")
    assert third.fixer_type == "\N{MAN} \N{PERSONAL COMPUTER}"
    assert [each.where for each in adoption.mended] == ["row 2", "row 3"]


def test_columns_that_nobody_knows_are_kept(tmp_path: Path, memory: Memory) -> None:
    rows = [{"severity": "high", "weird name": b"\x00\xff", "row_id": 9}, {}]
    source = legacy.make(tmp_path / "a.db", rows, extra=["severity", "weird name", "row_id"])
    adopt_fix_history(source, memory)
    first, second = fixes_of(memory)
    result = (first.other or {})["columns"]
    assert result == {"severity": "high", "weird name": {"hex": "00ff"}, "row_id": 9}
    assert "columns" not in (second.other or {})


def test_columns_that_are_missing(tmp_path: Path, memory: Memory) -> None:
    source = tmp_path / "a.db"
    columns = "Timestamp, model_name, issue_type, description, fix_commands, fix_success"
    values = f"3, '{legacy.AT}', 'm', 'TIMEOUT', 'slow', '[]', 1"
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute(f"CREATE TABLE Fix_History (ID INTEGER PRIMARY KEY, {columns})")
        connection.execute(f"INSERT INTO fix_history VALUES ({values})")
    assert adopt_fix_history(source, memory).added == 1
    (fix,) = fixes_of(memory)
    result = (fix.analysis, fix.fixer_type, fix.verification_success, fix.issue.description)
    assert result == ("", "custom", False, "slow")


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_texts_of_any_encoding(tmp_path: Path, memory: Memory, encoding: str) -> None:
    rows = [{"description": "größer \N{SNOWMAN}"}, {}]
    source = legacy.make(tmp_path / "a.db", rows, encoding=encoding)
    broken = {"UTF-8": "ff41", "UTF-16le": "00d84100", "UTF-16be": "d8000041"}[encoding]
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute(f"UPDATE fix_history SET notes = CAST(x'{broken}' AS TEXT) WHERE id = 2")
    adoption = adopt_fix_history(source, memory)
    first, second = fixes_of(memory)
    assert first.issue.description == "größer \N{SNOWMAN}"
    assert "\ufffd" in (second.notes or "")
    assert adoption.mended == [Remark("row 2", "notes: some characters could not be decoded")]


def test_rows_too_large_for_a_record_are_cut_and_told(tmp_path: Path, memory: Memory) -> None:
    long = "\x01" * 210_000
    extra = [f"extra{number}" for number in range(30)]
    row = dict.fromkeys(("description", "ai_analysis", "notes", *extra), long)
    row |= {"claude_analysis": long + "c", "fix_commands": json.dumps([long] * 4)}
    row["system_info"] = json.dumps({"a": "b" * 3_000_000})
    source = legacy.make(tmp_path / "a.db", [row, {}], "both", extra=extra)
    adoption = adopt_fix_history(source, memory)
    assert (adoption.added, adoption.rejected) == (2, [])
    cut = "cut: description, analysis, fix_commands, notes, test_environment, ai_response"
    assert adoption.mended[0].what == cut
    assert len(str(adoption)) < 2_000
    assert memory.doctor().ok


def test_a_row_too_large_is_named_and_the_others_come_in(tmp_path: Path, memory: Memory) -> None:
    source = legacy.make(tmp_path / "a.db", [{"id": 2}, {"id": 1}], loose=True)
    with closing(sqlite3.connect(source)) as database, database:
        database.execute("UPDATE fix_history SET notes = zeroblob(20000000) WHERE id = 2")
    adoption = adopt_fix_history(source, memory)
    assert (adoption.read, adoption.added) == (2, 1)
    (left,) = adoption.rejected
    assert (left.where, left.what[:8]) == ("row 2", "row: '20")


def test_too_many_rows(tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.fixes.adopt.FIX_HISTORY_ROWS_MAX", 2)
    with pytest.raises(errors.InvalidInputError, match="at most 2"):
        adopt_fix_history(legacy.make(tmp_path / "a.db", [{}, {}, {}]), memory)
    assert memory.stats().records == 0


def test_secrets_are_taken_out(tmp_path: Path, memory: Memory) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    row = {"notes": f"export OPENAI_API_KEY={secret}", "own": secret}
    row["issue_type"] = f"{'T' * 170} {secret}"[:199]
    adoption = adopt_fix_history(legacy.make(tmp_path / "a.db", [row], extra=["own"]), memory)
    (fix,) = fixes_of(memory)
    assert adoption.added == 1
    assert secret not in fix.to_json()
    assert fix.redacted


LIKELY = ["[]", '["a"]', "{}", '{"a": 1}', "true", legacy.AT, "2025-01-15 10:00:00", "1e400"]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    texts,
    st.binary(max_size=12),
    st.sampled_from([*LIKELY, "\x00", "[" * 2_000]),
)
columns = dict.fromkeys([*legacy.columns_of("both"), "own"], values)
row_of_anything = st.fixed_dictionaries({"id": values}, optional=columns)


@settings(max_examples=examples(160))
@given(st.lists(row_of_anything, max_size=6))
def test_any_rows_come_in_or_are_named(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    source = legacy.make(folder / "a.db", rows, "both", loose=True, extra=["own"])
    before = state_of(source)
    with Memory(folder / "brain") as memory:
        adoption = adopt_fix_history(source, memory)
        assert adoption.added + len(adoption.rejected) == adoption.read == len(rows)
        assert memory.stats().records == adoption.added
        again = adopt_fix_history(source, memory)
        assert (again.added, again.present) == (0, adoption.added)
        assert str(adoption)
    assert state_of(source) == before
    shutil.rmtree(folder)


def test_other_tables_are_named(tmp_path: Path, memory: Memory) -> None:
    source = legacy.make(tmp_path / "a.db")
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("CREATE TABLE issue_patterns (id)")
        connection.execute('CREATE TABLE "my sessions" AS SELECT 1')
    assert adopt_fix_history(source, memory).notes == ["other tables were left out: my sessions"]


KNOWLEDGE = {
    "general_patterns": {"restart": "helps"},
    "model_specific_tips": {"qwen2.5:7b": ["give it time", {"tip": "small prompts"}]},
    "successful_strategies": {"TIMEOUT": ["raise the limit"]},
    "failure_patterns": [],
    "version": "1.0",
    "last_updated": "2025-01-15T10:00:00",
    "own": {"a": [1, None]},
}


def test_a_knowledge_base_is_kept_whole(tmp_path: Path, memory: Memory) -> None:
    path = tmp_path / "knowledge_base.json"
    path.write_text(json.dumps(KNOWLEDGE, indent=2))
    before = state_of(path)
    assert adopt_knowledge_base(path, memory, dry_run=True).added == 1
    assert memory.stats().records == 0
    assert adopt_knowledge_base(path, memory).added == 1
    (kept,) = memory.browse(kind="adopted")
    assert isinstance(kept, Adopted)
    assert (kept.origin, kept.data) == (FIX_HISTORY, {"knowledge_base": KNOWLEDGE})
    os.utime(path, (1, 1))
    again = adopt_knowledge_base(path, memory)
    assert (again.read, again.added, again.present) == (1, 0, 1)
    assert path.read_bytes() == before[path.name][0]


def test_a_knowledge_base_that_says_nothing_adds_nothing(tmp_path: Path, memory: Memory) -> None:
    path = tmp_path / "knowledge_base.json"
    nothing = {"general_patterns": {}, "failure_patterns": [], "version": "1.0"}
    path.write_text(json.dumps({**nothing, "last_updated": None}))
    assert adopt_knowledge_base(path, memory).notes == ["knowledge_base.json holds nothing yet"]
    assert memory.stats().records == 0


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{broken", "file"),
        ("", "file"),
        ("[]", "file"),
        ('{"general_patterns": 5}', "knowledge_base.general_patterns"),
        ('{"own": {"a": [1, "\\u0000"]}}', "knowledge_base.own"),
        ('{"own": ' + "[" * 30 + "1" + "]" * 30 + "}", "knowledge_base.own"),
        ('{"own": ["' + '", "'.join(["x" * 190_000] * 25) + '"]}', "knowledge_base"),
    ],
)
def test_a_wrong_knowledge_base(tmp_path: Path, memory: Memory, text: str, field: str) -> None:
    path = tmp_path / "knowledge_base.json"
    path.write_text(text)
    with pytest.raises(errors.InvalidInputError) as caught:
        adopt_knowledge_base(path, memory)
    assert caught.value.field == field
    assert caught.value.where == "knowledge_base.json"
    assert memory.stats().records == 0


def test_wrong_arguments(tmp_path: Path, memory: Memory) -> None:
    source = legacy.make(tmp_path / "a.db")
    with pytest.raises(errors.InvalidInputError, match="memory"):
        adopt_fix_history(source, "memory")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidInputError, match="author"):
        adopt_fix_history(source, memory, author=" ")
    with pytest.raises(errors.InvalidInputError, match="path"):
        adopt_fix_history("", memory)
    with pytest.raises(errors.PlaceError, match="cannot read"):
        adopt_knowledge_base(tmp_path / "none.json", memory)
    assert memory.stats().records == 0


def test_the_report_is_bounded() -> None:
    many = [Remark(f"row {number}", f"row {number}\n" * 500) for number in range(100_000)]
    told = str(Adoption("fix-history", 5, 1, 2, 0, many, many, ["note\x1b[31m" * 1_000] * 1_000))
    assert len(told) < 50_000
    assert "and 99980 more" in told
    assert "\x1b" not in told


ENCRYPTED = random.Random(3).randbytes(20_000)


def cut(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def become_anothers(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id)")


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    rng = random.Random(1)
    for at in range(8192, len(data), 4096):
        data[at : at + 64] = rng.randbytes(64)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda path: path.write_text("no database " * 1_000), errors.ForeignFileError),
        (lambda path: path.write_bytes(ENCRYPTED), errors.ForeignFileError),
        (lambda path: cut(path, 0.0001), errors.ForeignFileError),
        (lambda path: cut(path, 0.5), errors.DamagedError),
        (lambda path: cut(path, 0.99), errors.DamagedError),
        (spoil, errors.DamagedError),
        (become_anothers, errors.ForeignFileError),
    ],
)
def test_untrustworthy_files(
    tmp_path: Path, memory: Memory, change: Any, error: type[errors.StorageError]
) -> None:
    folder = folder_with(tmp_path, 2_000)
    path = folder / "ai_memory.db"
    change(path)
    before = state_of(path)
    with pytest.raises(error, match="left as it is"):
        adopt_fix_history(path, memory)
    with pytest.raises(error, match="left as it is"):
        adopt_in_place(folder)
    assert memory.stats().records == 0
    assert state_of(path) == before
    assert names_in(folder) == ["ai_memory.db"]


def die_after(path: Path, *statements: str, commit: bool) -> None:
    """A writer that was killed after it had written so much."""

    def work(tell: Tell) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        if commit:
            connection.commit()
        tell("0" * 36)
        time.sleep(60)

    child = Child.start(work)
    child.hear()
    child.kill()


def test_a_journal_that_must_be_played_back(tmp_path: Path, memory: Memory) -> None:
    folder = folder_with(tmp_path, 500)
    path = folder / "ai_memory.db"
    begun = "UPDATE fix_history SET description = 'half done', notes = hex(randomblob(500))"
    die_after(path, "PRAGMA cache_size = 1", "BEGIN", begun, commit=False)
    before = state_of(path)
    assert before["ai_memory.db-journal"][0]
    with pytest.raises(errors.PlaceError, match="interrupted"):
        adopt_fix_history(path, memory)
    assert memory.stats().records == 0
    assert state_of(path) == before
    adoption = adopt_in_place(folder)
    assert adoption
    assert adoption.added == 500
    with Memory(path) as opened:
        assert all(fix.issue.description.startswith("case ") for fix in fixes_of(opened))
        assert opened.doctor().ok
    assert names_in(folder) == [ASIDE, "ai_memory.db"]
    assert legacy.count(folder / ASIDE) == 500


def test_a_log_is_read_with_the_database(tmp_path: Path, memory: Memory) -> None:
    folder = folder_with(tmp_path, 500)
    path = folder / "ai_memory.db"
    # what it acknowledged is in the log alone
    log = "PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0"
    die_after(path, *log, "UPDATE fix_history SET description = 'in the log'", commit=True)
    before = {name: state_of(path)[name] for name in ("ai_memory.db", "ai_memory.db-wal")}
    assert adopt_fix_history(path, memory).added == 500
    assert {fix.issue.description for fix in fixes_of(memory)} == {"in the log"}
    assert {name: state_of(path)[name] for name in before} == before
    assert adopt_in_place(folder)
    with Memory(path) as opened:
        assert {fix.issue.description for fix in fixes_of(opened)} == {"in the log"}
        assert opened.doctor().ok
    assert names_in(folder) == [ASIDE, "ai_memory.db"]


def test_a_database_with_logs_is_read_without_leaving_one(tmp_path: Path, memory: Memory) -> None:
    source = tmp_path / "old #1?" / "ai_memory.db"
    source.parent.mkdir()
    legacy.make(source)
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE fix_history SET notes = 'checkpointed'")
        connection.commit()
    before = state_of(source)
    source.parent.chmod(0o500)
    try:
        assert adopt_fix_history(source, memory).added == 1
    finally:
        source.parent.chmod(0o700)
    assert fixes_of(memory)[0].notes == "checkpointed"
    assert state_of(source) == before
    assert set(before) == {"ai_memory.db"}


def test_a_database_written_to_while_it_is_read(tmp_path: Path, memory: Memory) -> None:
    source = legacy.many(tmp_path / "a.db", 600)
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")

    def write(done: int, total: int) -> None:
        if done == 500:
            legacy.add(source, [{}])

    with pytest.raises(errors.BusyError, match="try again"):
        adopt_fix_history(source, memory, progress=write)
    assert memory.stats().records == 0
    assert adopt_fix_history(source, memory).added == 601


@pytest.mark.parametrize("page_size", [512, 65536])
def test_a_memory_takes_the_old_place(tmp_path: Path, clock: Clock, page_size: int) -> None:
    path = tmp_path / "ai_memory.db"
    legacy.make(path, legacy.AWKWARD, page_size=page_size)
    adoption = adopt_in_place(tmp_path, clock=clock)
    assert adoption
    assert adoption.added == 24
    assert (adoption.notes[-1], adoption.kept_as) == (f"the old database is kept as {ASIDE}", ASIDE)
    assert names_in(tmp_path) == [ASIDE, "ai_memory.db"]
    assert legacy.count(tmp_path / ASIDE) == 24
    assert adopt_in_place(tmp_path) is None
    with Memory(path) as memory:
        assert memory.doctor().ok
        assert len(fixes_of(memory)) == 24
        assert fixes_of(memory)[0].said_by == "fix history", "the owner's, and no stranger's"
        assert adopt_fix_history(tmp_path / ASIDE, memory).added == 0
        memory.record_fact("it goes on", "observation")
    assert adopt_in_place(tmp_path) is None


def test_nothing_to_adopt(tmp_path: Path) -> None:
    assert adopt_in_place(tmp_path) is None
    assert adopt_in_place(tmp_path / "none") is None
    (tmp_path / "knowledge_base.json").write_text(json.dumps(KNOWLEDGE))
    assert adopt_in_place(tmp_path) is None
    assert names_in(tmp_path) == ["knowledge_base.json"]
    (tmp_path / "folder" / "ai_memory.db").mkdir(parents=True)
    with pytest.raises(errors.PlaceError, match="not a file"):
        adopt_in_place(tmp_path / "folder")


def test_what_was_kept_aside_before_is_kept(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / ASIDE).write_text("somebody's own")
    adoption = adopt_in_place(folder)
    assert adoption
    assert adoption.kept_as == "ai_memory.before-hardwon-2.db"
    assert (folder / ASIDE).read_text() == "somebody's own"
    assert legacy.count(folder / "ai_memory.before-hardwon-2.db") == 30


def test_a_link_is_followed(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    other = tmp_path / "linked"
    other.mkdir()
    (other / "ai_memory.db").symlink_to(folder / "ai_memory.db")
    assert adopt_in_place(other)
    assert names_in(folder) == [ASIDE, "ai_memory.db"]
    with Memory(other / "ai_memory.db") as memory:
        assert memory.stats().records == 30


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_one_written_to_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr(limits, "BUSY_TIMEOUT_MS", 50)
    folder = folder_with(tmp_path)
    path = folder / "ai_memory.db"

    def work(tell: Tell) -> None:
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE fix_history SET notes = 'late'")
        tell("0" * 36)
        while not (tmp_path / "refused").exists():
            time.sleep(0.01)
        connection.commit()

    child = Child.start(work)
    child.hear()
    with pytest.raises(errors.BusyError, match="try again"):
        adopt_in_place(folder)
    (tmp_path / "refused").touch()
    assert child.wait() == 0
    assert ASIDE not in names_in(folder)
    assert adopt_in_place(folder)
    with Memory(path) as memory:
        assert {fix.notes for fix in fixes_of(memory)} == {"late"}


def test_nobody_writes_to_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(tmp_path)
    path = folder / "ai_memory.db"

    def write(_: Tell) -> None:
        locked = pytest.raises(sqlite3.OperationalError, match="locked")
        with closing(sqlite3.connect(path, timeout=0)) as connection, locked:
            connection.execute("UPDATE fix_history SET notes = 'unnoticed'")

    set_aside = fix_adoption._set_aside

    def meanwhile(copied: Path, target: Path) -> tuple[Path, bool]:
        assert Child.start(write).wait() == 0
        return set_aside(copied, target)

    monkeypatch.setattr(fix_adoption, "_set_aside", meanwhile)
    assert adopt_in_place(folder)
    assert path.stat().st_mode & 0o777 == 0o600
    with Memory(path) as memory:
        assert {fix.notes for fix in fixes_of(memory)} == {"worked at once"}


def test_who_still_has_the_old_database_open_harms_nothing(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    path = folder / "ai_memory.db"
    go = folder / "go"

    def work(tell: Tell) -> None:
        connection = sqlite3.connect(path)
        assert connection.execute("SELECT count(*) FROM fix_history").fetchone() == (30,)
        tell("0" * 36)
        while not go.exists():
            time.sleep(0.01)
        for _ in range(50):
            with pytest.raises(sqlite3.Error):
                connection.execute("UPDATE fix_history SET claude_analysis = 'late'")
            connection.rollback()

    child = Child.start(work)
    child.hear()
    assert adopt_in_place(folder)
    with Memory(path) as memory:
        memory.record_fact("the log is in use", "observation")
        go.touch()
        assert child.wait() == 0
        memory.record_fact("and stays so", "observation")
        assert memory.stats().records == 32
        assert memory.doctor().ok


def test_any_error_leaves_the_old_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(tmp_path)
    before = (folder / "ai_memory.db").read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for place in ("copy_to", "become"):
        with monkeypatch.context() as patch:
            patch.setattr(legacy_fixes.ClaimedDatabase, place, fail)
            with pytest.raises(errors.HardwonError, match="no room"):
                adopt_in_place(folder)
        assert names_in(folder) == ["ai_memory.db"]
        assert (folder / "ai_memory.db").read_bytes() == before
    assert adopt_in_place(folder)


def test_four_processes_that_come_at_once_adopt_once(tmp_path: Path) -> None:
    for turn in range(20 if TORTURE else 3):
        folder = tmp_path / str(turn)
        folder.mkdir()
        legacy.many(folder / "ai_memory.db", 200)

        def work(tell: Tell, folder: Path = folder) -> None:
            if adopt_in_place(folder):
                tell("1" * 36)
            with Memory(folder / "ai_memory.db") as memory:
                assert memory.stats().records >= 200
                memory.record_fact(f"Process {os.getpid()} wrote at once.", "observation")

        children = [Child.start(work) for _ in range(4)]
        assert [child.wait() for child in children] == [0, 0, 0, 0]
        assert sum(len(child.acknowledged) for child in children) == 1
        # two that close at the same moment leave SQLite's log to whoever comes next
        with Memory(folder / "ai_memory.db") as memory:
            assert memory.stats().records == 204
            assert memory.doctor().ok
        assert names_in(folder) == [ASIDE, "ai_memory.db"]


def check_after_kill(folder: Path, rows: int) -> str:
    """The old database or the memory; and what it becomes by doing it again."""
    path = folder / "ai_memory.db"
    outcome = "new" if legacy_fixes.is_ours(path) else "old"
    if (folder / "ai_memory.db-journal").exists():
        outcome = "interrupted"
    if outcome != "new" and random.random() < 0.5:
        assert legacy.count(path) == rows  # as an old program finds it
    adopt_in_place(folder)
    assert names_in(folder) == [ASIDE, "ai_memory.db"]
    assert legacy.count(folder / ASIDE) == rows
    with Memory(path) as memory:
        assert memory.stats().records == rows
        assert memory.doctor().ok
    return outcome


def test_an_interrupted_adoption_goes_on_where_it_was(tmp_path: Path) -> None:
    legacy.many(tmp_path / "ai_memory.db", 2_600)
    reached: list[int] = []

    def interrupt(done: int, _: int) -> None:
        reached.append(done)
        if done in (2_500, 1_100):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        AIMemory(tmp_path, progress=interrupt)
    assert legacy.count(tmp_path / "ai_memory.db") == 2_600
    with AIMemory(tmp_path, progress=lambda done, _: reached.append(done)) as history:
        assert history.adopted
        assert (history.adopted.read, history.adopted.added) == (2_600, 2_600)
        assert history.get_memory_stats()["total_fixes_attempted"] == 2_600
        assert history.memory.doctor().ok
    assert reached == [500, 1_000, 1_500, 2_000, 2_500, 2_500, 2_600]  # from 2,000 on
    assert names_in(tmp_path) == [ASIDE, "ai_memory.db"]
    # what was begun for another database is no beginning of this one
    other = legacy.many(tmp_path / "other.db", 1_100)
    (tmp_path / "ai_memory.db").unlink()
    shutil.copyfile(other, tmp_path / "ai_memory.db")
    with pytest.raises(KeyboardInterrupt):
        AIMemory(tmp_path, progress=interrupt)
    legacy.add(tmp_path / "ai_memory.db", [{}])
    with AIMemory(tmp_path) as history:
        assert history.adopted
        assert (history.adopted.read, history.adopted.added) == (1_101, 1_101)


def test_what_an_older_history_had_added_up_is_kept_and_shown(tmp_path: Path) -> None:
    path = legacy.make(tmp_path / "ai_memory.db")
    with closing(sqlite3.connect(path)) as old, old:
        old.execute("CREATE TABLE issue_patterns (id, pattern_name, success_count, best_fix)")
        old.execute("INSERT INTO issue_patterns VALUES (1, 'slow start', 7, '[\"warm it up\"]')")
        old.execute("CREATE TABLE model_characteristics (model_name, performance_notes)")
        old.execute("INSERT INTO model_characteristics VALUES ('qwen2.5:7b', 'slow after lunch')")
    with AIMemory(tmp_path) as history:
        learned = history.knowledge_base
        assert learned["general_patterns"]["slow start"]["best_fix"] == ["warm it up"]
        assert "slow after lunch" in learned["model_specific_tips"]["qwen2.5:7b"]
        note = "kept in the knowledge base: 1 of general_patterns, 1 of model_specific_tips"
        assert note in str(history.adopted)
        assert not any("left out" in note for note in history.adopted.notes)  # type: ignore[union-attr]


@pytest.mark.parametrize("when", ["at any instant", "while the content is exchanged"])
def test_killed_it_is_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    rng = random.Random(7)
    template = legacy.many(tmp_path / "template.db", 300)
    (tmp_path / "first").mkdir()
    shutil.copyfile(template, tmp_path / "first" / "ai_memory.db")
    started = time.monotonic()
    adopt_in_place(tmp_path / "first")
    needed = time.monotonic() - started
    become = legacy_fixes.ClaimedDatabase.become
    outcomes = Counter[str]()
    for turn in range(KILLS):
        folder = tmp_path / str(turn)
        folder.mkdir()
        shutil.copyfile(template, folder / "ai_memory.db")

        def work(tell: Tell, folder: Path = folder) -> None:
            def tell_and_become(claimed: legacy_fixes.ClaimedDatabase, staged: Path) -> None:
                tell("0" * 36)
                become(claimed, staged)

            monkeypatch.setattr(legacy_fixes.ClaimedDatabase, "become", tell_and_become)
            adopt_in_place(folder)

        child = Child.start(work)
        if when == "at any instant":
            # from the beginning to the end, whatever chance says
            time.sleep(1.3 * needed * (turn + rng.random()) / KILLS)
        else:
            while not child.acknowledged:
                child.listen(0.001)
            time.sleep(rng.uniform(0.0, 0.015))
        child.kill()
        outcomes[check_after_kill(folder, 300)] += 1
        shutil.rmtree(folder)
    # else nothing was killed before it was through, and the test shows nothing
    assert outcomes["old"] + outcomes["interrupted"], outcomes


def test_an_empty_file_is_no_database(tmp_path: Path, memory: Memory) -> None:
    sqlite3.connect(tmp_path / "ai_memory.db").close()
    assert (tmp_path / "ai_memory.db").stat().st_size == 0
    with pytest.raises(errors.ForeignFileError, match="left as it is"):
        adopt_fix_history(tmp_path / "ai_memory.db", memory)
    with AIMemory(tmp_path) as history:
        assert history.record_fix_attempt({"model": "m"}, {}, True, True, 1.0) == 1
    assert not (tmp_path / "ai_memory.db-journal").exists()
    with AIMemory(tmp_path) as history:
        assert history.get_memory_stats()["total_fixes_attempted"] == 1


def test_only_what_is_certainly_nothing_goes(tmp_path: Path) -> None:
    """A journal says that somebody began to write; a memory of ours is opened strictly."""
    for number, suffix in enumerate(("-journal", "-wal")):
        path = tmp_path / f"{number}" / "ai_memory.db"
        path.parent.mkdir()
        path.touch()
        path.with_name(path.name + suffix).write_bytes(b"begun")
        legacy_fixes.remove_empty(path)
        assert path.exists()
    pipe, full = tmp_path / "pipe.db", legacy.make(tmp_path / "full.db")
    os.mkfifo(pipe)
    for path in (pipe, full, tmp_path / "none.db"):
        legacy_fixes.remove_empty(path)
    assert pipe.exists()
    assert full.stat().st_size > 0
    (tmp_path / "empty.db").touch()
    with pytest.raises(errors.StorageError):
        Memory(tmp_path / "empty.db")


def test_a_database_that_a_group_shared_stays_shared(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    path = folder / "ai_memory.db"
    path.chmod(0o664)
    if os.geteuid() == 0:
        os.chown(path, 4321, 1234)  # anybody's
    owner = path.stat().st_uid, path.stat().st_gid
    with AIMemory(folder) as history:
        history.record_fix_attempt({"model": "m"}, {}, True, True, 1.0)
        assert history.memory.doctor().ok
        used = [each for each in folder.iterdir() if each.name != ".ai_memory.db.lock"]
        base = {"knowledge_base.json", ".knowledge_base.json.lock"}
        assert {each.name for each in used} >= base | {"ai_memory.db", "ai_memory.db-wal", ASIDE}
        for each in used:
            found = each.stat()
            assert (found.st_mode & 0o777, found.st_uid, found.st_gid) == (0o664, *owner), each
    path.chmod(0o666)
    with Memory(path) as memory:
        assert not memory.doctor().ok, "what everybody may write to is shared by mistake"


@pytest.mark.parametrize("shape", legacy.SHAPES)
def test_older_programs_read(tmp_path: Path, shape: str, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "AIMemory"
    folder.mkdir()
    path = legacy.make(folder / "ai_memory.db", [{}, {}, {}], shape)
    with AIMemory(folder) as history:
        history.record_fix_attempt({"model": "m"}, {"analysis": "new"}, True, True, 1.0)
    adopted, back = caplog.messages
    assert adopted.startswith(f"an older fix history in {folder} was adopted: 3 read, 3 added")
    command = back.removeprefix("to go back: when nothing uses it, ")
    newer = shape != "claude"
    with closing(sqlite3.connect(path)) as connection:
        # what such a program does first: it makes what is missing
        connection.execute("CREATE TABLE IF NOT EXISTS fix_history (id INTEGER PRIMARY KEY)")
        for column in ("fixer_type", "ai_analysis")[: 1 + newer]:
            with pytest.raises(sqlite3.OperationalError, match="duplicate column"):
                connection.execute(f"ALTER TABLE fix_history ADD COLUMN {column} TEXT")
        name = "ai_analysis" if newer else "claude_analysis"
        told = connection.execute(f"SELECT {name} FROM fix_history ORDER BY id").fetchall()
        assert told == [*[("it needs more time",)] * 3, ("new",)]
        kept = pytest.raises(sqlite3.IntegrityError, match="by Hardwon: record through AIMemory")
        with kept:
            connection.execute(f"INSERT INTO fix_history ({name}) VALUES ('lost')")
    with AIMemory(folder) as history:
        assert history.memory.doctor().ok
        history.memory.rebuild()
        assert history.memory.doctor().ok
        assert history.get_memory_stats()["total_fixes_attempted"] == 4
    subprocess.run(command, shell=True, check=True)  # noqa: S602  # as it was told
    assert legacy.count(path) == 3
    with closing(sqlite3.connect(path)) as connection:
        columns = connection.execute("PRAGMA table_info(fix_history)").fetchall()
        assert ("ai_analysis" in str(columns)) == newer
