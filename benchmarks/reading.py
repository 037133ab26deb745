"""Whether a run is read as what it was: of real runs in a terminal, how many of the actions that
decided are among what lasted; whether a run that failed counts as solved; how long reading takes.

Needs a folder (`--data`) with terminal_dev.jsonl.gz: runs of an agent, one JSON object a line, each
with its task, instruction, steps (action, observation, ok) and whether it was resolved.

What decided is told from the commands alone, by rules of this file and not by Hardwon's own: of what
worked and was still there at the end, what was done to files that the task names, edits in place,
installations, and the last program that was written and run; else the last thing done. Without what a
run at the same task did too that was not resolved. One counts as found if four fifths of its
characters stand in what lasted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from hardwon import Memory
from hardwon.records.kinds import Step
from hardwon.runs.read import read_steps_as_run

FOUND_MIN: Final = 0.95
RECORD_MS_MAX: Final = 40
# Four times the steps may take so many times as long.
GROWTH_MAX: Final = 5
OUTPUT_CHARS: Final = 2_400

Row = dict[str, Any]

CLOSING: Final = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_BEFORE: Final = re.compile(
    r"^(?:(?:cd|source|\.)\s+\S+\s*(?:&&|;)\s*|(?:sudo|env|time|nohup|exec)\s+|timeout\s+\S+\s+"
    r"|[A-Za-z_]\w*=\S*\s+)+"
)
_HEREDOC: Final = re.compile(
    r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?\n\2[ \t]*$", flags=re.DOTALL | re.MULTILINE
)
_QUOTED: Final = re.compile(r"'[^'\n]*'|\"(?:[^\"\\]|\\.)*\"")
_WRITE: Final = re.compile(
    r"(?<![\d&])>>?\s*(?!/dev/|&)([\w./~{}$-]+)|\btee\s+(?:-a\s+)?([\w./~-]+)"
    r"|\bsed\s+(?:-\w+\s+)*-i"
)
_LOOK: Final = re.compile(
    r"^(?:ls|cat|head|tail|e?grep|find|pwd|which|file|stat|wc|nl|less|more|du|df|ps|env|tree|diff|cmp"
    r"|type|whereis|uname|id|whoami|date|hexdump|xxd|od|strings|netstat|ss|lsof|pgrep|top|free|man"
    r"|echo|printenv|printf|test|\[|sleep|true|jq|sort|uniq|cut|awk|tr|md5sum|sha\d+sum|sed -n|for"
    r"|do|done|if|then|fi|else|git (?:status|log|show|diff|branch|reflog|stash list|remote)"
    r"|pip3? (?:list|show|freeze|index|check)|apt list|apt-cache|conda (?:list|info|env list|search)"
    r"|\S+ --(?:version|help)|curl|openssl x509|ffprobe|tmux (?:ls|list|capture-pane)|nginx -t)\b"
)
_CODE: Final = re.compile(r"(?:cd \S+ && )?(?:timeout \S+ )?python[\d.]* -c")
_CODE_WRITES: Final = re.compile(r"write|save|dump\(|'w'|\"w\"|to_csv|download|install")
_CHECK: Final = re.compile(
    r"(?:^|[\s/_\w])(?:test|check|verif|valid|debug|demo|example|inspect|analy[sz]e)\w*\.(?:py|sh)\b"
    r"|pytest|\bdiff\b|https?://(?:localhost|127)",
    flags=re.IGNORECASE,
)
_PREPARE: Final = re.compile(
    r"^(?:mkdir|chmod|touch|cd|export|rm|rmdir|pkill|kill|killall|sleep)\b"
)
_INSTALL: Final = re.compile(
    r"^(?:\S*/)?(?:(?:python[\d.]* -m )?pip[\d.]*|apt-get|apt|conda) install\b"
)
_NAME: Final = re.compile(
    r"(?<![\w:/])(?:/(?:[\w.-]+/)*[\w.-]+/?|(?:[\w.-]+/)+(?:[\w-]+\.\w+)?"
    r"|[\w-]+\.(?!com\b|org\b|g\b|e\b)[A-Za-z]\w{0,5})(?![\w/])"
)


# ---- what a command is


def squeeze(text: str) -> str:
    """A text for which neither line breaks nor escapes decide."""
    return re.sub(r"[\s\\]+", "", text)


def strip_texts(action: str) -> str:
    """A line without the files that it writes and without what stands in quotes."""
    return _QUOTED.sub("Q", _HEREDOC.sub(r"\3", action))


def split_line(action: str) -> list[str]:
    """The commands of a line, without what only prepares the ground for each."""
    parts = re.split(r"&&|\|\||[;\n|]", strip_texts(action))
    return [_BEFORE.sub("", part.strip()) for part in parts if part.strip()]


def writes(action: str) -> bool:
    return bool(_WRITE.search(strip_texts(action)))


def looks(action: str) -> bool:
    if writes(action):
        return False
    shows_code = bool(_CODE.match(action)) and not _CODE_WRITES.search(action)
    return shows_code or all(_LOOK.match(part) for part in split_line(action))


def prepares(action: str) -> bool:
    only = all(_PREPARE.match(part) or _LOOK.match(part) for part in split_line(action))
    return only and not writes(action)


def does(step: Row) -> bool:
    """Whether a step worked and did something."""
    return step["ok"] and not looks(step["action"]) and not prepares(step["action"])


def find_target(action: str) -> str:
    """The file that a line writes, or edits in place; "" where it does neither."""
    line = strip_texts(action.split("\n", 1)[0] if "<<" in action else action)
    match = _WRITE.search(line)
    return (match[1] or match[2] or action.split()[-1]) if match else ""


def name_file(path: str) -> str:
    """A file's name without its folders."""
    return path.rsplit("/", 1)[-1]


def find_names(text: str) -> set[str]:
    """The files that a task names, with and without their folders."""
    names = set()
    for match in _NAME.findall(text):
        for name in (match.strip("./"), os.path.basename(match.rstrip("/"))):  # noqa: PTH119
            if len(name) > 2 and ("." in name or match.startswith("/") or match.endswith("/")):
                names.add(name)
    return names


# ---- what decided


def find_kept(run: Row) -> Iterator[tuple[str, bool]]:
    """What a run did that was still there at its end, and whether it is a file that it ran later."""
    steps = [step for step in run["steps"] if step["ok"]]
    written: set[str] = set()
    for at, step in enumerate(steps):
        action, later = step["action"], [after["action"] for after in steps[at + 1 :]]
        target = find_target(action)
        file = name_file(target)
        is_document = "<<" in action
        runs_own = any(re.search(rf"(?<![\w.]){re.escape(own)}\b", action) for own in written)
        if target and is_document:
            written.add(file)
        is_note = target.endswith((".md", ".log")) and file not in run["instruction"]
        if not does(step) or _CHECK.search(action.split("\n", 1)[0]) or is_note:
            continue
        if runs_own and not target:
            continue
        was_run = bool(file) and any(
            file in line and "<<" not in line and not looks(line) and not prepares(line)
            for line in later
        )
        if target and any("<<" in line and name_file(find_target(line)) == file for line in later):
            continue
        removal = re.compile(rf"\brm\b[^\n]*{re.escape(file)}")
        if target and not was_run and any(removal.search(strip_texts(line)) for line in later):
            continue
        if all(squeeze(line) != squeeze(action) for line in later):
            yield action, was_run


def find_decisive(run: Row) -> list[str]:
    """The actions of a run that decided; nothing where nothing that it did was left."""
    kept = list(find_kept(run))
    names = find_names(run["instruction"])
    decisive = []
    for action, _ in kept:
        line = action.split("\n", 1)[0] if "<<" in action else action
        is_edit = re.search(r"\bsed\b.* -i", action)
        is_install = _INSTALL.match(_BEFORE.sub("", action))
        if any(name in line for name in names) or is_edit or is_install:
            decisive.append(action)
    decisive += [action for action, was_run in kept if was_run and "<<" in action][-1:]
    return list(dict.fromkeys(decisive)) or [action for action, _ in kept[-1:]]


def is_shown(text: str, action: str) -> bool:
    """Whether four fifths of an action stand in a text."""
    lines = [line for line in map(squeeze, action.splitlines()) if len(line) > 3]
    lines = lines or [squeeze(action)]
    return sum(len(line) for line in lines if line in text) >= 0.8 * sum(map(len, lines))


# ---- what is measured


def read_steps(run: Row) -> list[Step]:
    return [
        Step(action=step["action"], observation=step["observation"], ok=step["ok"])
        for step in run["steps"]
    ]


def measure_lasting(runs: Sequence[Row]) -> float:
    """The share of the decisive actions of solved runs that are among what lasted."""
    failed: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        if run["resolved"] is False:
            failed[run["task"]].update(squeeze(step["action"]) for step in run["steps"])
    shown: list[bool] = []
    for run in runs:
        if not run["resolved"]:
            continue
        lasting = read_steps_as_run(read_steps(run), run["instruction"], 1.0).lasting
        text = "\n".join(squeeze(step.action) for step in lasting)
        for action in find_decisive(run):
            if squeeze(action) not in failed[run["task"]]:
                shown.append(is_shown(text, action))
                if not shown[-1]:
                    print(f"not among what lasted of {run['task']}: {action[:100]!r}")
    print(f"decisive actions of solved runs among what lasted: {sum(shown)} of {len(shown)}")
    return sum(shown) / len(shown)


def count_wrong_endings(runs: Sequence[Row]) -> int:
    """How many runs count as solved that were not: as their caller says, and where nobody does."""
    wrong = unsaid = 0
    for run in runs:
        if run["resolved"]:
            continue
        steps = read_steps(run)
        reward = None if run["resolved"] is None else 0.0
        wrong += read_steps_as_run(steps, run["instruction"], reward).outcome == "solved"
        unsaid += read_steps_as_run(steps, run["instruction"]).outcome == "solved"
    print(f"runs that were not solved and count as solved: {wrong}; had nobody said so: {unsaid}")
    return wrong


def make_steps(count: int, part: str = "part") -> list[Row]:
    """A run as long as is wanted: every third command is a check that fails in a way of its own.
    What has been read before is read faster: another `part` makes it new.
    """
    output = "".join(f"line {number} of a log\n" for number in range(200))[: OUTPUT_CHARS - 80]
    steps = []
    for number in range(count):
        failed = number % 3 == 0
        error = f"{output}KeyError: '{part}_{number}'" if failed else output
        action = f"make {part}{number}" if failed else f"sed -i s/a/{number}/ {part}{number}.py"
        ended = f"exit code {int(failed)} after 0.3 s\n"
        steps.append({"action": action, "observation": ended + error, "ok": not failed})
    return steps


def measure_growth() -> float:
    """How many times as long reading takes of four times the steps."""
    times = []
    for count in (480, 1920):
        taken = []
        for part in ("one", "two", "three"):
            steps = [Step(**step) for step in make_steps(count, part)]
            begun = time.process_time()
            read_steps_as_run(steps)
            taken.append(time.process_time() - begun)
        times.append(min(taken))
    print(f"reading 480 steps: {times[0] * 1000:.1f} ms, 1,920 steps: {times[1] * 1000:.1f} ms")
    return times[1] / times[0]


def measure_recording(times: int = 15) -> float:
    """The milliseconds of processor time that a run of 60 steps takes to be recorded."""
    taken = []
    with tempfile.TemporaryDirectory() as folder, Memory(folder) as memory:
        for number in range(times):
            steps = make_steps(60)
            for step in steps:
                step["action"] += f" # {number}"
            begun = time.process_time()
            memory.record_trajectory(f"task {number}", steps, 1.0)
            taken.append((time.process_time() - begun) * 1000)
    middle = sorted(taken)[times // 2]
    print(f"recording 60 steps with {OUTPUT_CHARS} characters each: {middle:.1f} ms")
    return middle


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with the runs")
    options = parser.parse_args()
    with gzip.open(options.data / "terminal_dev.jsonl.gz", "rt") as lines:
        runs = [json.loads(line) for line in lines]
    for run in runs:
        run["steps"] = [step for step in run["steps"] if CLOSING not in step["action"]]
    held = measure_lasting(runs) >= FOUND_MIN
    held = count_wrong_endings(runs) == 0 and held
    held = measure_growth() <= GROWTH_MAX and held
    held = measure_recording() <= RECORD_MS_MAX and held
    raise SystemExit(0 if held else "a bound was missed")


if __name__ == "__main__":
    main()
