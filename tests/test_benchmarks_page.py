"""The side by side runs, and the page tells what was measured: losses with their reasons, bounds
that were missed, refusals.
"""

from __future__ import annotations

import copy
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cases import each

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))  # last: its modules have everyday names

import page  # noqa: E402
from page_rows import NO_REASON, REASONS, WHY_MISSED, Results, behind, bound_lines, missed_bounds  # noqa: E402
from peers.driver import KINDS, OURS  # noqa: E402
from side_by_side import Bench  # noqa: E402

Told = dict[str, Any]
NEED_NOTHING = ("hardwon", "sqlite", "json")
QUESTIONS, EACH, KILLS = 10, 10, 2


def episode(number: int) -> Told:
    table, column = ("orders", "order_total") if number % 2 else ("sailors", "sailor_age")
    step = {
        "action": f"SELECT {column} FROM {table}",
        "observation": "[(1,)]",
        "reward": 1.0,
        "valid": True,
    }
    query = f"What is the largest {'order' if number % 2 else 'age of a sailor'} of year {number}?"
    return {
        "run": "made-up",
        "db": table,
        "query": query,
        "gold": f"SELECT {column} FROM {table};",
        "gold_tables": [table],
        "gold_columns": [column],
        "steps": [step],
    }


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick run of every store that needs no environment of its own, with a few episodes to
    replay.
    """
    folder = tmp_path_factory.mktemp("measured")
    with gzip.open(folder / "intercode_sql_dev.jsonl.gz", "wt") as lines:
        for number in range(8):
            print(json.dumps(episode(number)), file=lines)
    counts = [
        "--sizes",
        "200,400",
        "--questions",
        str(QUESTIONS),
        "--singles",
        "10",
        "--each",
        str(EACH),
        "--kills",
        str(KILLS),
    ]
    places = ["--data", str(folder), "--results", str(folder / "results")]
    command = [
        sys.executable,
        str(BENCHMARKS / "side_by_side.py"),
        *places,
        *counts,
        "--stores",
        *NEED_NOTHING,
    ]
    subprocess.run(command, capture_output=True, text=True, check=True)
    return folder / "results"


def told_of(results: Path) -> dict[str, Told]:
    return {
        path.stem.removeprefix("peer-"): json.loads(path.read_text())
        for path in results.glob("peer-*.json")
    }


# --- measuring ---


@pytest.mark.parametrize("store", NEED_NOTHING)
def test_nothing_is_lost_and_everything_is_found(measured: Path, store: str) -> None:
    told = told_of(measured)[store]
    crowd, killed = told["crowd"], told["killed"]
    assert (crowd["acknowledged"], crowd["errors"], crowd["refused"], crowd["lost"]) == (
        4 * EACH,
        0,
        0,
        0,
    )
    assert killed["acknowledged"] >= KILLS
    assert (killed["kills"], killed["errors"], killed["lost"], killed["unreadable"]) == (
        KILLS,
        0,
        0,
        "",
    )
    assert set(told["sizes"]) == {"200", "400"}
    for at_size in told["sizes"].values():
        assert at_size["found"] == 1.0
        assert at_size["recall"]["questions"] == QUESTIONS
        assert (
            min(
                at_size[name]
                for name in (
                    "records_per_second",
                    "disk_bytes",
                    "writer_memory_mb",
                    "reader_memory_mb",
                )
            )
            > 0
        )
    assert str(measured) not in json.dumps(told)


def test_what_was_acknowledged_and_is_gone_counts_as_lost() -> None:
    told: list[Told] = [
        {"key": "a", "seconds": 0.1},
        {"key": "b", "seconds": 0.1},
        {"key": "c", "error": "full"},
    ]
    held = Bench.held_to(told, {"value": ["a", "c"]})
    assert (held["acknowledged"], held["errors"], held["an_error"], held["lost"]) == (
        2,
        1,
        "full",
        1,
    )
    unreadable = Bench.held_to(told, {"error": "no database"})
    assert (unreadable["lost"], unreadable["unreadable"]) == (2, "no database")


def test_the_replay_scores_what_is_handed_out(measured: Path) -> None:
    for name, forms in (("hardwon", 1), ("sqlite", 2), ("json", 2)):
        scores = told_of(measured)[name]["replay"]["made-up"]
        assert len(scores) == forms
        # Of each database the first episode cannot be known; every later one was seen in all but
        # its number.
        assert all(
            score == {"solved": 0.75, "tables": 0.75, "columns": 0.75, "episodes": 8}
            for score in scores.values()
        )
    bounds = json.loads((measured / "replay-bounds.json").read_text())["made-up"]
    assert (bounds["no memory"], bounds["ceiling"]) == ([0.0] * 3, [0.75] * 3)


def test_the_others_are_pinned_and_name_no_address() -> None:
    files = {
        path.stem: path.read_text().split()
        for path in (BENCHMARKS / "peers" / "requirements").glob("*.txt")
    }
    assert set(files) == {kind.requirements for kind in KINDS if kind.requirements}
    for pins in files.values():
        assert all(re.fullmatch(r"[a-z0-9-]+==[a-z0-9.]+", pin) for pin in pins)


# --- the page ---


def store(name: str, pace: float, *, lost: int = 0) -> Told:
    """A store of which everything is known, the same for all but the pace of bulk writes and what
    it lost.
    """
    held = {"acknowledged": 40, "errors": 0, "an_error": "", "lost": lost, "unreadable": ""}
    size = {
        "records_per_second": pace,
        "writer_memory_mb": 20.0,
        "disk_bytes": 300.0,
        "recall": {"p50_ms": 1.0, "p95_ms": 2.0, "questions": 10},
        "found": 1.0,
        "cold_start": {"s": 0.1},
        "reader_memory_mb": 20.0,
    }
    return {
        "name": name,
        "about": {"versions": {"thing": "1.0"}, "durability": "synced"},
        "single": {"records_per_second": 300.0, "p50_ms": 3.0, "written": 10},
        "crowd": held
        | {"records_per_second": 400.0, "writers": 4, "refused": 0, "why_refused": ""},
        "killed": held | {"kills": 2},
        "sizes": {"10000": size},
    }


def assembled(
    folder: Path, stores: Sequence[Told], programs: Sequence[Told] = ()
) -> tuple[str, object]:
    """The page, and what the command ended with."""
    results = folder / "results"
    results.mkdir()
    for number, told in enumerate(stores):
        (results / f"peer-{number}.json").write_text(json.dumps(told))
    for number, told in enumerate(programs):
        (results / f"program-{number}.json").write_text(json.dumps(told))
    target = folder / "benchmarks.md"
    arguments = [
        "--assemble",
        "--results",
        results,
        "--page",
        target,
        "--pictures",
        folder / "images" / "bench",
    ]
    with pytest.raises(SystemExit) as ended:
        page.main([str(argument) for argument in arguments])
    return target.read_text(), ended.value.code


def test_a_quick_run_makes_a_page(measured: Path, tmp_path: Path) -> None:
    text, _ = assembled(tmp_path, list(told_of(measured).values()))
    assert text.startswith("# Benchmarks\n\n- ")
    for kind in KINDS:
        assert (f"\n| {kind.name} |" in text) == (kind.slug in NEED_NOTHING)
    pictures = re.findall(r"\]\((images/[^)]+)\)", text)
    assert [(tmp_path / picture).exists() for picture in pictures] == [True] * 4
    assert "found 100%" in text
    assert "no error and nothing lost" in text


def test_the_same_results_draw_the_same_pictures(measured: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assembled(tmp_path / name, list(told_of(measured).values()))
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.svg")}
        for name in ("one", "two")
    )
    assert len(one) == 4
    assert one == two


def test_a_row_that_somebody_else_leads_is_told_with_its_reason(tmp_path: Path) -> None:
    text, ended = assembled(tmp_path, [store("Hardwon", 100.0), store("SQLite FTS5", 250.0)])
    assert ended == 0
    assert (
        "| bulk write | Hardwon | SQLite FTS5: 2.50 times (10,000 records) | one row and its words;"
        in text
    )
    assert NO_REASON not in text


def test_a_row_without_a_reason_fails_the_command(tmp_path: Path) -> None:
    text, ended = assembled(tmp_path, [store("Hardwon", 100.0, lost=1), store("SQLite FTS5", 90.0)])
    assert f"| lost at once | Hardwon | SQLite FTS5: none against some | {NO_REASON} |" in text
    assert NO_REASON in str(ended)
    assert "1 acknowledged record lost" not in text.partition("## Side by side")[2]
    assert "2 acknowledged records lost" in text.partition("## Side by side")[0]


def test_level_figures_are_no_loss() -> None:
    stores = {one["name"]: one for one in (store("Hardwon", 100.0), store("SQLite FTS5", 110.0))}
    assert behind(Results(stores, [], {}, {})) == []


def test_ours_with_vectors_is_held_against_those_with_vectors_only() -> None:
    names = ("Hardwon", "Hardwon, vectors", "SQLite FTS5", "Chroma")
    stores = {one["name"]: one for one in map(store, names, (100.0, 50.0, 80.0, 80.0))}
    lost = behind(Results(stores, [], {}, {}))
    assert [(one.ours, one.theirs) for one in lost] == [("Hardwon, vectors", "Chroma")]


def test_what_a_store_cannot_do_or_did_not_finish_is_said(tmp_path: Path) -> None:
    unable, slow = store("LangGraph store", 100.0), store("mem0", 10.0)
    why = {"cannot": "it takes no notice of the question"}
    unable["sizes"]["10000"] |= {"recall": why, "cold_start": why}
    slow["sizes"]["10000"] = {"stopped": "stopped after 300 s at 4,000 records"}
    slow["crowd"] |= {"refused": 3, "why_refused": "RuntimeError: already accessed"}
    text, ended = assembled(tmp_path, [store("Hardwon", 100.0), unable, slow])
    assert ended == 0
    assert "| LangGraph store | cannot: it takes no notice of the question |" in text
    assert "| mem0 | stopped after 300 s at 4,000 records |" in text
    assert "mem0: 3 processes refused" in text
    assert "mem0 said: `RuntimeError: already accessed`" in text


def program(output: str, code: int) -> Told:
    return {
        "name": "write",
        "about": "What it is.",
        "command": "python x.py",
        "output": output,
        "code": code,
        "seconds": 1.0,
    }


def test_a_bound_that_was_missed_is_on_the_page(tmp_path: Path) -> None:
    output = "bulk 9 µs, ratio 3.20 (at most 3.0); fewer 1.0\nsingle ratio 1.10 (at most 1.5)\n"
    text, ended = assembled(tmp_path, [store("Hardwon", 100.0)], [program(output, 1)])
    assert ended == 0
    assert (
        f"- `write`: `bulk 9 µs, ratio 3.20 (at most 3.0); fewer 1.0` ({WHY_MISSED['write']})\n"
        in text
    )
    assert "1 of 1 of its own programs missed a bound" in text
    held = Results({}, [program(output.replace("3.20", "2.20"), 0)], {}, {})
    assert missed_bounds(held) == []


@each(
    ("line", "beyond"),
    [
        ("advice on 3871 actions: AUC 0.840 (at least 0.85), Brier 0.07", True),
        ("advice on 3871 actions: AUC 0.967 (at least 0.85), Brier 0.07", False),
        ("exported 10 records, 1 MB, in 0.1 s; peak memory 151 MB (at most 150.0)", True),
        ("hardwon stats     120.0 ms (at most 250.0; Python alone 12.0)", False),
        ("in order Brier 0.2100 (below 0.205), calibration error 0.0197 (below 0.025)", True),
        ("largest chart    499,999 bytes, x (at most 500,000)", False),
    ],
)
def test_figures_are_held_against_the_bound_behind_them(line: str, beyond: bool) -> None:
    named, missed = bound_lines(f"first\n{line}\n")
    assert named == [line]
    assert missed == ([line] if beyond else [])


def test_every_benchmark_is_on_the_page() -> None:
    shared = {"page", "page_plots", "page_rows", "page_text", "side_by_side"}
    # they need another checkout, lists that packages have, or other programs' vocabularies and data
    by_hand = {"versions", "prose", "contexts", "failures", "tokens", "vectors"}
    assert {program.name for program in page.PROGRAMS} == {
        path.stem for path in BENCHMARKS.glob("*.py")
    } - shared - by_hand
    assert all(program.about() for program in page.PROGRAMS)


def test_reasons_are_of_pairs_that_are_compared() -> None:
    names = {kind.name: kind for kind in KINDS}
    ours = {kind.name for kind in OURS}
    for pairs in REASONS.values():
        for mine, theirs in pairs:
            assert mine in ours
            assert theirs not in ours
            assert names[theirs].by_meaning or not names[mine].by_meaning
    assert set(WHY_MISSED) <= {program.name for program in page.PROGRAMS}


def test_an_own_program_that_breaks_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = copy.copy(page.PROGRAMS[0])
    monkeypatch.setattr(page.Program, "path", property(lambda _: tmp_path / "broken.py"))
    (tmp_path / "broken.py").write_text('"""Breaks."""\nraise ValueError("no disk")\n')
    with pytest.raises(RuntimeError, match="no disk"):
        page.run_program(broken, None)
