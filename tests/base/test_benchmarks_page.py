"""The side by side runs, and what was measured arrives on the page."""

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
    action, what = f"SELECT {column} FROM {table}", "order" if number % 2 else "age of a sailor"
    step = {"action": action, "observation": "[(1,)]", "reward": 1.0, "valid": True}
    made = {"run": "made-up", "db": table, "gold": f"{action};", "steps": [step]}
    made["query"] = f"What is the largest {what} of year {number}?"
    return made | {"gold_tables": [table], "gold_columns": [column]}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick run of every store that needs no environment of its own."""
    folder = tmp_path_factory.mktemp("measured")
    with gzip.open(folder / "intercode_sql_dev.jsonl.gz", "wt") as lines:
        for number in range(8):
            print(json.dumps(episode(number)), file=lines)
    kinds = [kind for kind in KINDS if kind.slug in NEED_NOTHING]
    side_by_side.run(kinds, PLAN, folder, folder / "results", folder)
    return folder / "results"


def read_stores(results: Path) -> dict[str, Measured]:
    paths = results.glob("peer-*.json")
    return {path.stem.removeprefix("peer-"): json.loads(path.read_text()) for path in paths}


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


def test_the_output_of_a_program_replaces_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "write.py").write_text('"""Writes."""\nprint("7 µs")\nraise SystemExit("missed")')
    program = page.run_program(tmp_path / "write.py", "--rounds 3", None)
    text = page.fill_page(WRITTEN, page.Results({}, {}), [program])
    section = text.partition("### write\n")[2].partition("\n### ")[0]
    command = r"`python benchmarks/write.py --rounds 3` \(\d+ s, a bound was missed; .+\)"
    assert re.fullmatch(rf"\nWrites\.\n\n{command}\n\n```text\n7 µs\n```\n", section)
    before = WRITTEN.partition("### write\n")[2].partition("\n### ")[0]
    assert text.replace(section, "") == WRITTEN.replace(before, "")


def test_every_benchmark_has_a_place_on_the_page() -> None:
    programs = {path.stem for path in BENCHMARKS.glob("*.py")}
    programs -= {"page", "side_by_side", "ablation", "fit_odds", "fit_fixes"}
    assert set(page.PROGRAMS) == programs
    assert all(f"\n### {name}\n" in WRITTEN for name in programs)
    with pytest.raises(LookupError, match="no heading 'nowhere'"):
        page.replace_below(WRITTEN, "nowhere", page.TABLE, "")
