"""The pictures of docs/benchmarks.md, as small SVG files that are the same for the same results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

from page_rows import Results, best_form, value
from peers.driver import KINDS, OURS

COLOURS: Final = dict(
    zip(
        (kind.name for kind in KINDS),
        ("#0b6e4f", "#53b38a", "#4a6fa5", "#9a8c98", "#c9a227", "#e0b84c", "#c8553d", "#7b4b94"),
        strict=True,
    )
)
STYLE: Final[Any] = {
    "svg.fonttype": "none",  # text as text: small, and found by a search
    "svg.hashsalt": "hardwon",  # the same names inside the file each time
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def save(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


def recall_by_size(results: Results, path: Path) -> Path:
    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    for name in results.stores:
        points = [
            (size, value(results.at(name, size), "recall", "p50_ms")) for size in results.sizes
        ]
        known = [(size, took) for size, took in points if took is not None]
        if known:
            width = 2.6 if name in {kind.name for kind in OURS} else 1.4
            axes.plot(
                *zip(*known, strict=True),
                marker="o",
                label=name,
                color=COLOURS[name],
                linewidth=width,
            )
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="recall p50, ms")
    axes.set_xlim(min(results.sizes) / 2, max(results.sizes) * 2)
    axes.set_title("How long an answer takes as the memory grows (less is better)", fontsize=10)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return save(figure, path)


def bars(axes: Any, values: dict[str, float], title: str) -> None:
    names = list(reversed(values))
    drawn = axes.barh(
        names, [values[name] for name in names], color=[COLOURS[name] for name in names]
    )
    labels = [
        f"{values[name]:,.3g}" if values[name] < 100 else f"{values[name]:,.0f}" for name in names
    ]
    axes.bar_label(drawn, labels=labels, padding=4)
    axes.set_title(title, fontsize=10)
    axes.margins(x=0.25)
    axes.xaxis.set_visible(False)  # each bar says its figure
    axes.spines["bottom"].set_visible(False)


def side_by_side(
    results: Results, parts: Sequence[tuple[str, tuple[str, ...]]], path: Path
) -> Path:
    figure, all_axes = plt.subplots(1, len(parts), figsize=(9.6, 3.0))
    for axes, (title, where) in zip(all_axes, parts, strict=True):
        found = {name: value(told, *where) for name, told in results.stores.items()}
        bars(axes, {name: number for name, number in found.items() if number is not None}, title)
    return save(figure, path)


def replays(results: Results, path: Path) -> Path:
    agents = results.agents
    figure, all_axes = plt.subplots(1, len(agents), figsize=(9.6, 3.0), squeeze=False)
    for axes, agent in zip(all_axes[0], agents, strict=True):
        shares = {name: best_form(told, agent, "solved") for name, told in results.stores.items()}
        bars(
            axes,
            {name: share for name, share in shares.items() if share is not None},
            f"{agent}: what solves the task is shown, share",
        )
        ceiling = results.replay_bounds.get(agent, {}).get("ceiling")
        if ceiling:
            axes.axvline(ceiling[0], color="#333333", linestyle=":", linewidth=1)
    return save(figure, path)


def draw(results: Results, folder: Path) -> list[Path]:
    """Every picture that the results are enough for."""
    if not results.stores:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    at = ("sizes", str(results.footprint_size))
    size = f"{results.footprint_size:,} records"
    with mpl.rc_context(STYLE):
        writes = [
            (f"bulk write up to {size}, records a second", (*at, "records_per_second")),
            ("single acknowledged write, records a second", ("single", "records_per_second")),
        ]
        footprint = [
            (f"disk at {size}, bytes a record", (*at, "disk_bytes")),
            (f"memory of a reader at {size}, MB", (*at, "reader_memory_mb")),
        ]
        drawn = [
            recall_by_size(results, folder / "recall.svg"),
            side_by_side(results, writes, folder / "writes.svg"),
            side_by_side(results, footprint, folder / "footprint.svg"),
        ]
        return [*drawn, replays(results, folder / "replay.svg")] if results.agents else drawn
