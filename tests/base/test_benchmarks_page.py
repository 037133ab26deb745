"""The side by side runs, and what was measured arrives on the page, with refusals and bounds that
were missed.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))  # last: its modules have everyday names

import page  # noqa: E402
import side_by_side  # noqa: E402
from peers.driver import KINDS  # noqa: E402

Measured = dict[str, Any]
NEED_NOTHING = ("hardwon", "sqlite", "json")
PLAN = side_by_side.Plan(sizes=(200, 400), questions=10, singles=10, each=10, kills=2)
WRITTEN = page.PAGE.read_text()


def episode(number: int) -> Measured:
    table, column = ("orders", "order_total") if number % 2 else ("sailors", "sailor_age")
    action = f"SELECT {column} FROM {table}"
    step = {"action": action, "observation": "[(1,)]", "reward": 1.0, "valid": True}
    return {
        "run": "made-up",
        "db": table,
        "query": f"What is the largest {'order' if number % 2 else 'age of a sailor'} of year {number}?",
        "gold": f"{action};",
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
    kinds = [kind for kind in KINDS if kind.slug in NEED_NOTHING]
    side_by_side.run(kinds, PLAN, folder, folder / "results", folder)
    return folder / "results"


def read_stores(results: Path) -> dict[str, Measured]:
    return {
        path.stem.removeprefix("peer-"): json.loads(path.read_text())
        for path in results.glob("peer-*.json")
    }


# --- measuring ---


@pytest.mark.parametrize("store", NEED_NOTHING)
def test_nothing_is_lost_and_everything_is_found(measured: Path, store: str) -> None:
    result = read_stores(measured)[store]
    crowd, killed = result["crowd"], result["killed"]
    counts = [crowd[name] for name in ("acknowledged", "errors", "refused", "lost")]
    assert counts == [4 * PLAN.each, 0, 0, 0]
    assert killed["acknowledged"] >= PLAN.kills
    assert (killed["errors"], killed["lost"], killed["unreadable"]) == (0, 0, "")
    assert set(result["sizes"]) == {"200", "400"}
    for stage in result["sizes"].values():
        assert (stage["found"], stage["recall"]["questions"]) == (1.0, PLAN.questions)
        assert min(stage[name] for name in stage if name.endswith(("_second", "_bytes", "_mb"))) > 0
    assert str(measured.parent) not in json.dumps(result)


def test_what_was_acknowledged_and_is_gone_counts_as_lost() -> None:
    answers: list[Measured] = [
        {"key": "a", "seconds": 0.1},
        {"key": "b", "seconds": 0.1},
        {"key": "c", "error": "full"},
    ]
    held = side_by_side.Bench.held_to(answers, {"value": ["a", "c"]})
    counts = [held[name] for name in ("acknowledged", "errors", "an_error", "lost")]
    assert counts == [2, 1, "full", 1]
    unreadable = side_by_side.Bench.held_to(answers, {"error": "no database"})
    assert (unreadable["lost"], unreadable["unreadable"]) == (2, "no database")


def test_the_replay_scores_what_is_handed_out(measured: Path) -> None:
    for name, forms in (("hardwon", 1), ("sqlite", 2), ("json", 2)):
        scores = read_stores(measured)[name]["replay"]["made-up"]
        assert len(scores) == forms
        # Of each database the first episode cannot be known; every later one was seen in all but
        # its number.
        right = {"solved": 0.75, "tables": 0.75, "columns": 0.75, "episodes": 8}
        assert all(score == right for score in scores.values())
    bounds = json.loads((measured / "replay-bounds.json").read_text())["made-up"]
    assert (bounds["no memory"], bounds["ceiling"]) == ([0.0] * 3, [0.75] * 3)


def test_the_others_are_pinned_and_name_no_address() -> None:
    folder = BENCHMARKS / "peers" / "requirements"
    files = {path.stem: path.read_text().split() for path in folder.glob("*.txt")}
    assert set(files) == {kind.requirements for kind in KINDS if kind.requirements}
    for pins in files.values():
        assert all(re.fullmatch(r"[a-z0-9-]+==[a-z0-9.]+", pin) for pin in pins)


# --- the page ---


def store(name: str) -> Measured:
    """A store of which everything is known."""
    held = {"acknowledged": 40, "errors": 0, "an_error": "", "lost": 0, "unreadable": ""}
    size = {
        "records_per_second": 100.0,
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
        "crowd": held | {"records_per_second": 400.0, "writers": 4, "refused": 0},
        "killed": held | {"kills": 2},
        "sizes": {"10000": size},
    }


def test_a_quick_run_is_put_into_the_page(measured: Path) -> None:
    text = page.fill_page(WRITTEN, page.Results.read(measured), [])
    for kind in KINDS:
        assert (f"\n| {kind.name} |" in text) == (kind.slug in NEED_NOTHING)
    assert "A recall from 400 records takes" in text
    assert "300 tokens show what solves 75.0% of made-up's SQL tasks" in text
    assert "## Method" in text
    headings = [line for line in WRITTEN.splitlines() if line.startswith("#")]
    assert headings == [line for line in text.splitlines() if line.startswith("#")]


def test_what_a_store_cannot_do_or_did_not_finish_is_on_the_page() -> None:
    unable, slow = store("LangGraph store"), store("mem0")
    why = {"cannot": "it takes no notice of the question"}
    unable["sizes"]["10000"] |= {"recall": why, "cold_start": why}
    slow["sizes"]["10000"] = {"stopped": "stopped after 300 s at 4,000 records"}
    stores = {one["name"]: one for one in (store("Hardwon"), unable, slow)}
    text = page.fill_page(WRITTEN, page.Results(stores, {}), [])
    assert "| LangGraph store | cannot: it takes no notice of the question |" in text
    assert "| mem0 | stopped after 300 s at 4,000 records |" in text


def test_the_output_of_a_program_replaces_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "write.py").write_text('"""Writes."""\nprint("7 µs")\nraise SystemExit("missed")')
    program = page.run_program(tmp_path / "write.py", "--rounds 3", None)
    text = page.fill_page(WRITTEN, page.Results({}, {}), [program])
    section = text.partition("### write\n")[2].partition("\n### ")[0]
    assert re.fullmatch(
        r"\nWrites\.\n\n`python benchmarks/write.py --rounds 3` \(\d+ s, a bound was missed; .+\)"
        r"\n\n```text\n7 µs\n```\n",
        section,
    )
    assert text.replace(section, "") == WRITTEN.replace(
        WRITTEN.partition("### write\n")[2].partition("\n### ")[0], ""
    )


def test_an_own_program_that_breaks_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text('"""Breaks."""\nraise ValueError("no disk")\n')
    with pytest.raises(RuntimeError, match="no disk"):
        page.run_program(tmp_path / "broken.py", "", None)


def test_every_benchmark_has_a_place_on_the_page() -> None:
    programs = {path.stem for path in BENCHMARKS.glob("*.py")} - {"page", "side_by_side"}
    assert set(page.PROGRAMS) == programs
    assert all(f"\n### {name}\n" in WRITTEN for name in programs)
    with pytest.raises(LookupError, match="no heading 'nowhere'"):
        page.replace_below(WRITTEN, "nowhere", page.TABLE, "")
