"""What each word list and pattern of the rooms `text` and `runs` is good for: one after the other is
emptied, and what that costs on real and played experience is printed; where that is nothing, why it
stays (`STAYS`). What costs nothing and has no reason fails.

Needs a folder (`--data`) with any of sessions_dev.jsonl.gz (played sessions whose truth is known),
terminal_dev.jsonl.gz, mint_dev.jsonl.gz, intercode_bash_dev.jsonl.gz, intercode_sql_dev.jsonl.gz and
failed_commands_dev.jsonl.gz. Every figure is a share, larger is better:

  learned, ranked   of pairs of a fault and an action that is believed to help, those that are true; of
                    the faults that were ever cured, those with a true cure first
  keys              failures of one fault have one exact key, and failures of two have two
  lasting, steps    of runs in a terminal: decisive actions among what lasted; steps whose outcome is
                    read as it was from their exit code and output
  failed            code, SQL and shells: failing steps told from others by what they printed alone
  commands          mistyped commands whose correction is read as their cure
  known             the reports of languages and tools in tests/failures_corpus.py: failures that are
                    seen, what is none and is not seen, and reports of one failure that have one key
  contexts          SQL tasks for which 300 tokens show what solved them before (with --contexts)
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import pkgutil
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

sys.path.append(str(Path(__file__).parent.parent / "tests"))

import hardwon
import reading
from failures_corpus import ALIKE, FAILED, FINE
from hardwon import Memory
from hardwon.lessons.cures import Evidence, weigh_cures
from hardwon.records.kinds import Step
from hardwon.runs.read import read_steps_as_run
from hardwon.runs.steps import sort_of_action
from hardwon.text.failures import failure_hash, shows_error
from hardwon.text.outcomes import run_observation
from hardwon.text.tables import Form, Forms, Patterns, WordLists

Row = dict[str, Any]
Scores = dict[str, float]

NOTHING: Final = re.compile(r"(?!)")
# What gains less than this anywhere is not worth its lines.
GAIN_MIN: Final = 0.003
SQL_EPISODES: Final = 400

# What is asked for nowhere here, by how the names of its parts begin, and why it stays.
STAYS: Final = {
    "text/clean ": "nothing that a record says acts on who reads it: tests/trust/test_fence.py",
    "text/entities ": "the names in a fact's sentence: docs/records.md",
    "text/entities RE.path": "the files that a record names: docs/records.md",
    "text/entities RE.word": "a part of `path`",
    "text/entities RE.secret": "no file of secrets is a related one: docs/security.md",
    **dict.fromkeys(
        (f"text/failures RE.{name}" for name in "ansi stamp temporary folders number".split()),
        "a failure at another time and place has the same key: tests/text/test_failures.py",
    ),
    **dict.fromkeys(
        (f"text/failures RE.{name}" for name in ("test_name", "names_code")),
        "another test, or another code, is another failure: tests/text/test_failures.py",
    ),
    **dict.fromkeys(
        ("text/failures RE.named", "text/failures _WORD"),
        "an attempt is at what it names: tests/runs/test_reading_a_run.py",
    ),
    "text/failures REPORTS '! ['": "why git refused a push, not its hints: tests/runs",
    "text/globs ": "patterns of the tree's paths: tests/text/test_globs.py",
    "text/lines ": "the grammar of a shell, and what starts another program: tests/runs",
    "text/outcomes HEADER": "the line that we write before an output",
    "text/outcomes _": "how a note in words turned out, where nobody says: docs/records.md",
    "text/programs ": "what common programs do, where no exit code tells: tests/runs",
    **dict.fromkeys(
        (f"text/programs {name}" for name in ("_DESTROYING", "_DELETING", "_ABOUT", "_FORCING")),
        "nothing that takes something away is offered unasked: tests/tell/test_context.py",
    ),
    "text/sentences ": "what keeps a fact from standing alone: docs/records.md",
    "text/terms ": "search, in every form of a word and without blanks: docs/recall.md",
    "text/terms _MARKDOWN_ESCAPE": "an action that a model escaped is the same: tests/tell/test_advice.py",
    **dict.fromkeys(
        (f"text/terms {name}" for name in ("_WORD", "_TURNING", "_NOT", "_LITTLE")),
        "the opposite of a lesson is another one: tests/lessons/test_learn.py",
    ),
    "text/tokens ": "tokens within a tenth: tests/text/test_tokens_real.py",
    **dict.fromkeys(
        (f"runs/account {name}" for name in ("_NAME", "_ROW", "_CELL")),
        "the names that a query showed: columns 0.89, not 0.71, in a replay of SQL",
    ),
    "runs/account ": "names in other forms, files, and no thoughts: tests/tell/test_context.py",
    "runs/lasting _SCRATCH": "what a run wrote to find something out did not last: tests/runs",
    "runs/read _NAME": "a check that a run wrote itself proves nothing: tests/runs",
    "runs/steps _CODE": "answers in tags: 0.966 of games solved, not 0.956, in a replay of code",
    "runs/steps ": "calls of tools, queries and code: tests/runs",
}


class Part(NamedTuple):
    """A list or a pattern: where it is, how large, and what empties it."""

    name: str
    size: int
    empty: Callable[[], None]


# ---- what can be emptied


def find_parts() -> Iterator[Part]:
    """Every word list, pattern and row of a table of the two rooms."""
    for room in ("text", "runs"):
        folder = Path(hardwon.__file__).parent / room
        for found in pkgutil.iter_modules([str(folder)]):
            module = importlib.import_module(f"hardwon.{room}.{found.name}")
            for name, value in list(vars(module).items()):
                yield from find_in(module, f"{room}/{found.name} {name}", name, value)


def find_in(module: ModuleType, title: str, name: str, value: object) -> Iterator[Part]:
    """The parts that a value of a module is; none where it is no list and no pattern, or another
    module's.
    """

    def put(new: object) -> Callable[[], None]:
        return lambda: setattr(module, name, new)

    if not name.strip("_").isupper() or is_imported(module, name):
        return
    if isinstance(value, frozenset | tuple) and all(isinstance(word, str) for word in value):
        yield Part(title, len(value), put(type(value)()))
    elif isinstance(value, re.Pattern):
        yield Part(title, len(value.pattern), put(NOTHING))
    elif isinstance(value, dict) and module.__name__.endswith("programs"):
        yield Part(title, len(value), put({}))
    else:
        yield from find_in_table(title, value)


def find_in_table(title: str, value: object) -> Iterator[Part]:
    """The parts of a table of patterns, of words or of forms; none of anything else."""
    if isinstance(value, Patterns):
        for key, source in value._sources.items():
            yield Part(f"{title}.{key}", len("".join(source)), empty_pattern(value, key))
    elif isinstance(value, WordLists):
        for key in value._lists:
            yield Part(f"{title}.{key}", len(value._lists[key].split()), empty_words(value, key))
    elif isinstance(value, Forms):
        for form in value.all:
            source = form.row["pattern"]
            words = " ".join(form.row["triggers"]) or "".join(source)[:30]
            yield Part(f"{title} {words!r}", len("".join(source)), remove_form(value, form))


def is_imported(module: ModuleType, name: str) -> bool:
    """Whether a module only uses what is another's."""
    source = Path(str(module.__file__)).read_text()
    return not re.search(rf"^{name}\b.*=", source, flags=re.MULTILINE)


def empty_pattern(patterns: Patterns, key: str) -> Callable[[], None]:
    def empty() -> None:
        patterns._sources = {**patterns._sources, key: "(?!)"}
        for name in patterns._sources:
            vars(patterns).pop(name, None)
        for forms in all_forms():
            vars(forms).pop("all", None)

    return empty


def empty_words(lists: WordLists, key: str) -> Callable[[], None]:
    return lambda: setattr(lists, key, frozenset())


def remove_form(forms: Forms, form: Form) -> Callable[[], None]:
    return lambda: forms.all.remove(form)


def all_forms() -> list[Forms]:
    modules = [module for name, module in sys.modules.items() if name.startswith("hardwon.text")]
    return [value for module in modules for value in vars(module).values() if type(value) is Forms]


# ---- what is measured


def read_rows(data: Path, name: str) -> list[Row]:
    path = data / f"{name}_dev.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def step_back(event: Row) -> Step:
    """An event of a played session as hooks record it."""
    if event["kind"] == "edit":
        return Step(action=event["text"], ok=True)
    observation = run_observation(event["exit_code"] or 0, "", 0.3, event["output"])
    return Step(action=event["text"], observation=observation)


class Learned:
    """What sessions teach: the failures that were met, by their keys, with what became of them."""

    def __init__(self) -> None:
        self.met: dict[str, list[Evidence]] = defaultdict(list)
        self.faults: dict[str, Counter[str]] = defaultdict(Counter)
        self.helps: dict[str, set[str]] = defaultdict(set)
        self.sorts: Counter[str] = Counter()

    def add(self, name: str, events: Sequence[Row]) -> None:
        """Reads a session."""
        recorded = [step_back(event) for event in events]
        for event, done in zip(events, recorded, strict=True):
            self.helps[done.action] |= set(event["truth"]["would"])
        run = read_steps_as_run(recorded)
        self.sorts.update(
            {sort_of_action(step.action) for step in run.steps if step.kind != "look"}
        )
        for step in run.steps:
            fault = events[step.place]["truth"]["fault"]
            if step.failure and fault:
                self.faults[step.failure.exact][fault] += 1
        at, agent = events[0]["time"], events[0]["agent"]
        for problem in run.problems:
            cure = None if problem.gone is None else tuple(step.action for step in problem.cure)
            in_vain = tuple(step.action for step in problem.in_vain)
            evidence = Evidence(cure, in_vain, at, agent, name, problem.checked)
            self.met[problem.failure.exact].append(evidence)


def measure_sessions(rows: Sequence[Row]) -> Scores:
    """What all sessions together teach, compared with the truth."""
    if not rows:
        return {}
    sessions: dict[str, list[Row]] = defaultdict(list)
    for event in rows[1:]:
        if event["kind"] != "prompt":
            sessions[event["session"]].append(event)
    learned = Learned()
    for name, events in sessions.items():
        learned.add(name, events)

    def how_common(action: str) -> float:
        return learned.sorts[sort_of_action(action)] / len(sessions)

    pairs: list[bool] = []
    first: list[bool] = []
    for key, faults in learned.faults.items():
        fault = faults.most_common(1)[0][0]
        cures = weigh_cures(learned.met[key], how_common)
        believed = [fault in learned.helps[cure.action] for cure in cures if cure.helped]
        pairs += believed
        first += believed[:1]
    return {
        "learned": sum(pairs) / max(1, len(pairs)),
        "ranked": sum(first) / max(1, len(first)),
        "keys": measure_keys(learned.faults),
    }


def measure_keys(faults: Mapping[str, Counter[str]]) -> float:
    """Of how many failures the key is that of most of their fault, and their fault is that of most
    with their key: the harmonic mean of both shares.
    """
    by_fault: dict[str, Counter[str]] = defaultdict(Counter)
    for key, counts in faults.items():
        for fault, count in counts.items():
            by_fault[fault][key] += count
    total = sum(sum(counts.values()) for counts in faults.values())
    apart = sum(max(counts.values()) for counts in faults.values()) / max(1, total)
    together = sum(max(counts.values()) for counts in by_fault.values()) / max(1, total)
    return 2 * apart * together / max(1e-9, apart + together)


def measure_terminal(rows: Sequence[Row]) -> Scores:
    if not rows:
        return {}
    right: list[bool] = []
    for run in rows:
        steps = []
        for step in run["steps"]:
            code = step["returncode"]
            ended = run_observation(code or 0, "" if code is not None else "SIGKILL", 1.0, "")
            steps.append(Step(action=step["action"], observation=f"{ended}\n{step['observation']}"))
        # of several parts of a line, the last tells how it ended
        outcomes = {step.place: step.outcome for step in read_steps_as_run(steps).steps}
        right += [
            (outcomes[place] == "failed") != step["ok"] for place, step in enumerate(run["steps"])
        ]
    return {"lasting": reading.measure_lasting(rows), "steps": sum(right) / len(right)}


def measure_failed(rows: Sequence[Row]) -> Scores:
    """The mean of two shares: of failing steps those that are read so, of others those that are not."""
    told: dict[bool, list[bool]] = {True: [], False: []}
    for row in rows:
        steps = [step for step in row["steps"] if step["action"].strip()]
        run = read_steps_as_run(
            [Step(action=step["action"], observation=step["observation"]) for step in steps]
        )
        failed = {step.place for step in run.steps if step.outcome == "failed"}
        for place, step in enumerate(steps):
            ok = step.get("ok", step.get("valid"))
            if ok is not None:
                told[not ok].append((place in failed) == (not ok))
    shares = [sum(right) / len(right) for right in told.values() if right]
    return {"failed": sum(shares) / len(shares)} if shares else {}


def measure_commands(rows: Sequence[Row]) -> Scores:
    if not rows:
        return {}
    cured = 0
    for row in rows:
        steps = [
            Step(action=row["command"], observation=row["output"]),
            Step(action=row["corrections"][0], reward=1.0),
        ]
        cured += any(problem.cure for problem in read_steps_as_run(steps).problems)
    return {"commands": cured / len(rows)}


def measure_known() -> Scores:
    right = [shows_error(report) for report in FAILED]
    right += [not shows_error(answer) for answer in FINE]
    right += [len(set(map(failure_hash, group))) == 1 for group in ALIKE.values()]
    return {"known": sum(right) / len(right)}


def measure_contexts(rows: Sequence[Row]) -> Scores:
    """Of SQL tasks that were solved before in other words, those for which that is shown."""
    if not rows:
        return {}
    shown: list[bool] = []
    solved: dict[str, set[str]] = defaultdict(set)
    shuffled = [row for row in rows if row["run"] == rows[0]["run"]]
    random.Random(7).shuffle(shuffled)
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder)) as memory:
        for row in shuffled[:SQL_EPISODES]:
            text = reading.squeeze(str(memory.context(row["query"], budget_tokens=300)))
            if known := solved[row["gold"]]:
                shown.append(any(action in text for action in known))
            steps = [step for step in row["steps"] if step["action"].strip()]
            memory.record_trajectory(
                row["query"],
                [{"ok": step["valid"], **{name: step[name] for name in _KEPT}} for step in steps],
                max([0.0, *(step["reward"] for step in steps)]),
            )
            known.update(reading.squeeze(step["action"]) for step in steps if step["reward"] >= 1)
    return {"contexts": sum(shown) / max(1, len(shown))}


_KEPT: Final = ("action", "observation", "reward")


def measure(data: Mapping[str, list[Row]], *, contexts: bool) -> Scores:
    others = [*data["mint"], *data["intercode_bash"], *data["intercode_sql"]]
    scores = measure_sessions(data["sessions"]) | measure_terminal(data["terminal"])
    scores |= measure_failed(others[::3]) | measure_commands(data["failed_commands"])
    scores |= measure_known()
    return scores | (measure_contexts(data["intercode_sql"]) if contexts else {})


def measure_apart(
    empty: Callable[[], None], data: Mapping[str, list[Row]], *, contexts: bool
) -> Scores:
    """The same in a process of its own, with something emptied; nothing where that breaks it."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        answer = b"{}"
        try:
            sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  # until the process ends
            empty()
            answer = json.dumps(measure(data, contexts=contexts)).encode()
        finally:
            os.write(writable, answer)
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        scores: Scores = json.loads(pipe.read())
    os.waitpid(child, 0)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with the replays")
    parser.add_argument("--only", default="", help="parts whose name has this")
    parser.add_argument("--contexts", action="store_true", help="measure contexts, too: slower")
    options = parser.parse_args()
    names = ("sessions", "terminal", "mint", "intercode_bash", "intercode_sql", "failed_commands")
    data = {name: read_rows(options.data, name) for name in names}
    for run in data["terminal"]:
        run["steps"] = [step for step in run["steps"] if reading.CLOSING not in step["action"]]
    parts = [part for part in find_parts() if options.only in part.name]
    whole = measure_apart(lambda: None, data, contexts=options.contexts)
    print("with all of them: " + ", ".join(f"{name} {score:.3f}" for name, score in whole.items()))
    print(f"{'without':58} {'size':>5}  costs (at least {GAIN_MIN}), or why it stays")
    idle = []
    for part in parts:
        scores = measure_apart(part.empty, data, contexts=options.contexts)
        costs = {name: whole[name] - score for name, score in scores.items()}
        told = [
            f"{name} {cost:+.3f}"
            for name, cost in sorted(costs.items(), key=lambda item: -item[1])
            if abs(cost) >= GAIN_MIN
        ]
        reason = max(filter(part.name.startswith, STAYS), key=len, default="")
        verdict = ", ".join(told) or (STAYS.get(reason, "nothing") if scores else "breaks")
        idle += [part.name] if verdict == "nothing" else []
        print(f"{part.name[:58]:58} {part.size:5}  {verdict}", flush=True)
    raise SystemExit(f"cost nothing, for no reason: {', '.join(idle)}" if idle else 0)


if __name__ == "__main__":
    main()
