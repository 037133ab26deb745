"""docs/benchmarks.md as text, from what was measured. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from page_rows import (
    LEVEL,
    WHY_MISSED,
    Behind,
    Results,
    Told,
    behind,
    best_form,
    compared,
    missed_bounds,
    value,
)
from peers.driver import OURS
from replay import PARTS
from side_by_side import LOAD_SECONDS_MAX

PLAIN: Final = OURS[0].name
CANNOT: Final = "cannot"
FEW: Final = 50
"""With fewer questions than that a percentile is a guess, and the table says how many there were.
"""


def number(figure: float | None, unit: str = "") -> str:
    if figure is None:
        return CANNOT
    if figure >= 100 or figure == int(figure):
        text = f"{figure:,.0f}"
    else:
        text = f"{figure:.2f}" if figure >= 0.995 else f"{figure:.3f}"
    return f"{text} {unit}".strip()


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(line)} |" for line in lines),
        "",
    ]


def listed(texts: Iterable[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


# --- the answer first ---


def others(results: Results) -> list[str]:
    ours = {kind.name for kind in OURS}
    return [name for name in results.stores if name not in ours]


def replay_answer(results: Results) -> str:
    said = []
    for agent in results.agents:
        ours = best_form(results.stores[PLAIN], agent, "solved")
        shares = {
            name: best_form(results.stores[name], agent, "solved") for name in others(results)
        }
        known = {name: share for name, share in shares.items() if share is not None}
        if ours is not None and known:
            best = max(known, key=lambda name: known[name])
            ceiling = results.replay_bounds.get(agent, {}).get("ceiling")
            possible = f"possible: {ceiling[0]:.1%}; " if ceiling else ""
            said.append(
                f"{ours:.1%} of {agent}'s tasks ({possible}the best of the others: {best}, "
                f"{known[best]:.1%})"
            )
    return (
        f"Given 300 tokens before a real SQL task, Hardwon shows a query that solves it in "
        f"{listed(said)}."
        if said
        else ""
    )


def recall_answer(results: Results) -> str:
    said = []
    for size in results.sizes:
        ours = value(results.at(PLAIN, size), "recall", "p50_ms")
        if ours is not None:
            took = [value(results.at(name, size), "recall", "p50_ms") for name in others(results)]
            known = sorted(one for one in took if one is not None)
            rest = (
                f" (the others {number(known[0])} to {number(known[-1], 'ms')})"
                if known
                else " (of the others, none got there)"
            )
            said.append(f"{number(ours, 'ms')} from {size:,} records{rest}")
    return f"A recall takes {listed(said)}, at the median." if said else ""


def write_answer(results: Results) -> str:
    size = str(results.footprint_size)
    bulk = value(results.stores[PLAIN], "sizes", size, "records_per_second")
    single = value(results.stores[PLAIN], "single", "records_per_second")
    return (
        f"It writes {number(bulk)} records a second in bulk and {number(single)} one by one, "
        f"acknowledged when they are synced."
    )


def trouble(told: Told) -> str:
    crowd, killed = told["crowd"], told["killed"]
    parts = (
        ("process" if crowd["refused"] == 1 else "processes", "refused", crowd["refused"]),
        ("write", "failed", crowd["errors"] + killed["errors"]),
        ("acknowledged record", "lost", crowd["lost"] + killed["lost"]),
    )
    said = [
        f"{count} {what}{'' if count == 1 or what == 'processes' else 's'} {verb}"
        for what, verb, count in parts
        if count
    ]
    return ", ".join(
        [
            *said,
            *(["not readable afterwards"] if crowd["unreadable"] or killed["unreadable"] else []),
        ]
    )


def safety_answer(results: Results) -> str:
    ours = trouble(results.stores[PLAIN]) or "no error and nothing lost"
    rest = [
        f"{name}: {trouble(results.stores[name])}"
        for name in others(results)
        if trouble(results.stores[name])
    ]
    said = f" (of the others, {'; '.join(rest)})" if rest else ""
    return f"With four processes writing at once, and under kill -9: {ours}{said}."


def standing_answer(results: Results) -> str:
    lost, missed = sum(len(one.times) for one in behind(results)), len(missed_bounds(results))
    bounds = (
        f"{missed} of {len(results.programs)} of its own programs missed a bound"
        if missed
        else "no bound of its own was missed"
    )
    reasons = "each [with its reason](#where-hardwon-does-not-lead-and-why)"
    return f"Of {len(list(compared(results)))} comparisons {lost} go to somebody else, {reasons}; {bounds}."


def answers(results: Results) -> list[str]:
    if PLAIN not in results.stores:
        return []
    said = [
        answer(results)
        for answer in (replay_answer, recall_answer, write_answer, safety_answer, standing_answer)
    ]
    return [*(f"- {text}" for text in said if text), ""]


# --- side by side ---


def stores(results: Results) -> list[str]:
    lines = []
    for name, told in results.stores.items():
        versions = ", ".join(
            f"{package} {version}" for package, version in told["about"]["versions"].items()
        )
        lines.append((name, versions or "Python alone", told["about"]["durability"]))
    return table(("store", "versions", "behind an acknowledged write"), lines)


def stage(told: Told, show: Callable[[Told], str]) -> str:
    if "stopped" in told:
        return str(told["stopped"])
    return show(told) if told else ""


def writing(results: Results) -> list[str]:
    head = ["store", *(f"bulk, up to {size:,}" for size in results.sizes), "one by one"]
    lines = [
        [
            name,
            *(
                stage(results.at(name, size), lambda told: number(told["records_per_second"]))
                for size in results.sizes
            ),
            f"{number(told['single']['records_per_second'])} (p50 "
            f"{number(told['single']['p50_ms'], 'ms')})",
        ]
        for name, told in results.stores.items()
    ]
    return ["Records a second; more is better.", "", *table(head, lines)]


def recalled(told: Told) -> str:
    if "cannot" in told["recall"]:
        return f"cannot: {told['recall']['cannot']}"
    took = told["recall"]
    of = f" of {took['questions']} questions" if took["questions"] < FEW else ""
    return f"{number(took['p50_ms'])} / {number(took['p95_ms'])} ms, found {told['found']:.0%}{of}"


def recalling(results: Results) -> list[str]:
    lines = [
        [name, *(stage(results.at(name, size), recalled) for size in results.sizes)]
        for name in results.stores
    ]
    return [
        "p50 / p95 of a question, and how often the record that it asks about was among the five "
        "answers.",
        "",
        *table(["store", *(f"{size:,} records" for size in results.sizes)], lines),
    ]


def footprint(results: Results) -> list[str]:
    head = [
        "store",
        "records",
        "disk, bytes a record",
        "peak memory of a writer",
        "of a reader",
        "cold start",
    ]
    lines = []
    for name in results.stores:
        for size in results.sizes:
            told = results.at(name, size)
            if told and "stopped" not in told:
                memory = [
                    number(value(told, key), "MB")
                    for key in ("writer_memory_mb", "reader_memory_mb")
                ]
                cold = value(told, "cold_start", "s")
                lines.append(
                    [
                        name,
                        f"{size:,}",
                        number(told["disk_bytes"]),
                        *memory,
                        number(cold, "s") if cold else CANNOT,
                    ]
                )
    return table(head, lines)


def together(results: Results) -> list[str]:
    head = [
        "store",
        "acknowledged",
        "a second",
        "errors",
        "refused to open",
        "lost",
        "kills",
        "acknowledged before",
        "lost",
    ]
    lines, notes = [], []
    for name, told in results.stores.items():
        crowd, killed = told["crowd"], told["killed"]
        lines.append(
            [
                name,
                f"{crowd['acknowledged']:,}",
                number(crowd["records_per_second"]),
                f"{crowd['errors']:,}",
                f"{crowd['refused']} of {crowd['writers']}",
                f"{crowd['lost']:,}",
                str(killed["kills"]),
                f"{killed['acknowledged']:,}",
                f"{killed['lost']:,}",
            ]
        )
        words = [
            crowd["why_refused"],
            crowd["an_error"],
            killed["an_error"],
            crowd["unreadable"],
            killed["unreadable"],
        ]
        notes += [f"- {name} said: `{text}`" for text in dict.fromkeys(filter(None, words))]
    return [*table(head, lines), *notes, *([""] if notes else [])]


REPLAY: Final = """\
Real episodes of two agents, in one shuffled order. Before each, the store is asked with the words of the task and may hand out
300 tokens; then the episode is recorded. Solved: a SELECT is shown, whole, that earned the full reward where the same SQL was
right, so that an agent could run it. Beside it, whether every table of the right answer is in what was handed out or in the
question, and the share of its columns. The others keep whole attempts as text, or only the actions that won."""
NOT_REPLAYED: Final = """\
The second replay asks before each action how likely it is to work, and before each fix how likely it is to pass. None of the
others has an answer to that; Hardwon's is under `replay` and `calibration` below."""


def replaying(results: Results) -> list[str]:
    if not results.agents:
        return ["Not run: the episodes were not there (`--data`).", ""]
    head = [
        "store",
        "keeps",
        *(f"{agent}: {part}" for agent in results.agents for part in PARTS),
    ]
    lines: list[list[str]] = []
    for name, told in results.stores.items():
        first = told.get("replay", {}).get(results.agents[0], {})
        for form in first:
            scores = [told["replay"][agent][form] for agent in results.agents]
            said = [
                f"{score[part]:.3f}" if part in score else CANNOT
                for score in scores
                for part in PARTS
            ]
            lines.append(
                [
                    name,
                    form if name not in {kind.name for kind in OURS} else "attempts, step by step",
                    *said,
                ]
            )
    for bound, name in (
        ("no memory", "no memory"),
        ("ceiling", "everything that was said before"),
    ):
        if all(agent in results.replay_bounds for agent in results.agents):
            shares = [
                f"{share:.3f}"
                for agent in results.agents
                for share in results.replay_bounds[agent][bound]
            ]
            lines.append([f"*{name}*", "", *shares])
    return [REPLAY, "", *table(head, lines), NOT_REPLAYED, ""]


# --- where it does not lead ---


def times(one: Behind) -> str:
    def factor(by: float) -> str:
        return f"{by:.2f} times" if by < float("inf") else "none against some"

    return ", ".join(f"{factor(by)}{f' ({where})' if where else ''}" for where, by in one.times)


def not_leading(results: Results) -> list[str]:
    found = behind(results)
    lines = [(one.measure, one.ours, f"{one.theirs}: {times(one)}", one.reason) for one in found]
    said = (
        table(("measured", "ours", "better", "why"), lines)
        if lines
        else ["There is no such row in this run.", ""]
    )
    missed = missed_bounds(results)
    bounds = [
        f"- `{name}`: {'; '.join(f'`{line}`' for line in shown)}{f' ({WHY_MISSED[name]})' if name in WHY_MISSED else ''}"
        for name, shown in missed
    ]
    return [
        "Hardwon stands against all of them, Hardwon with vectors against those that search by "
        "meaning. Times and sizes that",
        f"differ by less than {LEVEL - 1:.0%} are level. A row without a reason makes the command "
        f"fail.",
        "",
        *said,
        "Bounds of Hardwon's own that were missed in this run:"
        if bounds
        else "No bound of Hardwon's own was missed in this run.",
        "",
        *bounds,
        *([""] if bounds else []),
    ]


# --- its own benchmarks ---


def program(told: Told) -> list[str]:
    held = f"ended with {told['code']}" if told["code"] else "held"
    return [
        f"### {told['name']}",
        "",
        told["about"],
        "",
        f"`{told['command']}` ({told['seconds']:.0f} s, {held})",
        "",
        "```text",
        told["output"].rstrip(),
        "```",
        "",
    ]


METHOD: Final = f"""\
- Every store runs in a process of its own, the foreign ones in environments made from `benchmarks/peers/requirements`, and is
  driven by the same lines of JSON (`benchmarks/peers/worker.py`). Measured is what the store's own calls take, without the
  protocol; a cold start is a whole process, from its start to its first answer.
- Single writes take turns, store by store. For the rest one store comes after the other. Each grows once: to the first size,
  then on to the next, in batches of 5,000.
- A question names the error, the part, the file and line, and the issue of one record that is there.
  120 questions, or as many as fit into 20 seconds; the first fifth is not counted.
- SQLite FTS5 looks for every word of the question, as one does who has not met a large index yet. These records share many
  words. How fast FTS5 is with the rare ones alone, as Hardwon picks them, is under `recall` below.
- Loading stops after {LOAD_SECONDS_MAX:.0f} seconds. A million records are only tried by those whose pace says that they will
  fit.
- Every store syncs before it acknowledges a single write. Counted with strace: once for Hardwon, SQLite FTS5 and JSON files
  (whose folder is not synced), four times for LangGraph's store, eight times for Chroma and mem0.
- Disk is what the files occupy after closing. Memory is the peak resident size of the process (`VmHWM`).
- At once: four processes write 250 records each, one by one. Killed: a process that writes is killed after 0.2 to 0.8 seconds,
  five times on the same store. Lost is what was acknowledged and is not there for a new process.
- Every vector is of the same small model, the one inside the wordllama package (256 numbers): no store downloads anything.
  mem0 runs with `infer=False`, and without its keyword search, whose model would have to be downloaded.
- Each store is used as its documents recommend for one machine, with its defaults. Chroma's documents ask for its server where
  several processes write, and so do those of mem0's vector store; that is not measured here.
"""


def measured_when(results: Results) -> list[str]:
    return sorted({part["measured"] for part in results.parts if "measured" in part})


def machine(results: Results) -> list[str]:
    minutes = sum(part.get("seconds", 0.0) for part in results.parts) / 60
    facts = [
        *results.run.get("machine", {}).items(),
        ("measured", "; ".join(measured_when(results))),
        ("took", f"{minutes:.0f} minutes"),
    ]
    return [*(f"- {name}: {text}" for name, text in facts if text), ""]


def page(results: Results, pictures: Sequence[str]) -> str:
    def picture(name: str, about: str) -> list[str]:
        return [f"![{about}](images/bench/{name})", ""] if name in pictures else []

    versions = results.run.get("versions", {})
    how_many_runs = (
        "one run"
        if len(measured_when(results)) < 2
        else "a part [measured again](#machine-and-versions) later"
    )
    parts = [
        "# Benchmarks",
        "",
        *answers(results),
        f"This page is written by `{results.run.get('command', 'make bench')}`. Same data, same "
        f"machine, {how_many_runs}.",
        "",
        "## Side by side",
        "",
        *stores(results),
        "### Recall",
        "",
        *picture("recall.svg", "Recall p50 by the number of records, for each store"),
        *recalling(results),
        "### What an agent is handed",
        "",
        *picture(
            "replay.svg",
            "Share of tasks for which what solves them is shown, for each store; dotted: the ceiling",
        ),
        *replaying(results),
        "### Writing",
        "",
        *picture("writes.svg", "Records written a second, in bulk and one by one"),
        *writing(results),
        "### Disk, memory, cold start",
        "",
        *picture("footprint.svg", "Bytes a record on disk, and memory of a process that recalls"),
        *footprint(results),
        "### Four processes at once, and kill -9",
        "",
        *together(results),
        "## Where Hardwon does not lead, and why",
        "",
        *not_leading(results),
        "## Hardwon's own benchmarks",
        "",
        "Each compares with something bare in the same run and says which bound it has to keep.",
        "",
        *(line for told in results.programs for line in program(told)),
        "## Method",
        "",
        METHOD,
        "## Machine and versions",
        "",
        *machine(results),
        *(
            [", ".join(f"{name} {version}" for name, version in versions.items()) + ".", ""]
            if versions
            else []
        ),
        "## Commands",
        "",
        "```text",
        "make bench                                # everything; without episodes, no replay",
        "make bench BENCH_DATA=folder              # with the replays",
        "python benchmarks/page.py --only peers --stores chroma --sizes 10000,100000   # a part; "
        "the rest is kept",
        "python benchmarks/page.py --assemble      # the page from what is kept in "
        "benchmarks/.results",
        "```",
    ]
    return "\n".join(parts) + "\n"
