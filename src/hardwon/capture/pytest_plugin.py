"""What a run of pytest hands to the memory. `hardwon_pytest` is what pytest loads; this is loaded
at the end of a run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import chdir
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.capture.tests import RanTest
from hardwon.memory import Memory
from hardwon.memory.project import memory_exists, place_of
from hardwon.memory.settings import Settings
from hardwon.outside.git import repository_root
from hardwon.records.fields import new_id

# Where a traceback says it has been, in each of pytest's styles.
_PLACES: Final = re.compile(
    r'^(?P<plain>[^\s:][^:\n]*\.pyi?):\d+: |^\s*File "(?P<native>[^"\n]+)", line \d+', re.MULTILINE
)
_NOT_OURS: Final = frozenset({"site-packages", "dist-packages", "node_modules", "__pycache__"})


class RunReport(NamedTuple):
    """What to say in the summary (nothing: ""), the memory's location, and whether it knows of no
    test that fails.
    """

    line: str
    location: str
    all_pass: bool


def record(
    memory: str | None,
    project: str | None,
    task: str | None,
    folder: str,
    root: Path,
    started: float,
    passed: Iterable[str],
    failed: Mapping[str, tuple[str, Any]],
    whole: Mapping[str, Collection[str]],
) -> RunReport:
    """`failed` has, by node id, where each test failed and pytest's report; `whole` has, by their
    node ids, files that were collected whole, with the node ids of all they have. `folder` is where
    pytest was started, `root` what node ids are named from.
    """
    try:
        os.getcwd()  # noqa: PTH109  # a test may have deleted where it was
    except OSError:
        os.chdir(folder)
    # The memory is found from where pytest was started; a test may have gone elsewhere.
    with chdir(folder):
        settings = Settings.read({"memory": memory, "project": project})
        memory, project = settings.memory.value, settings.project.value
        location = place_of(memory)
        if not failed and not memory_exists(memory):  # a pass alone makes no memory
            return RunReport("", location, True)
        checkout = (repository_root(Path(folder)) or root).resolve()

        def named(node_id: str) -> str:
            """From the checkout's root: pytest's own root changes with the arguments of a run."""
            file, separator, rest = node_id.partition("::")
            return f"{_from(checkout, root / file)}{separator}{rest}"

        with Memory(
            memory, project, busy_timeout_ms=limits.FEEDBACK_WAIT_MS, upgrade=False
        ) as opened:
            chosen = list(failed)
            if len(failed) > limits.TEST_FAILURES_MAX:
                # Those that are known to fail, then the first ones: to make a report of each takes
                # its time.
                known = {*opened.tests.failing()}
                chosen = sorted(failed, key=lambda each: named(each) not in known)[
                    : limits.TEST_FAILURES_MAX
                ]
            ran = [RanTest(named(each), False) for each in passed if each not in whole]
            ran += [
                RanTest(named(file), False, tests=[named(each) for each in tests])
                for file, tests in whole.items()
            ]
            for each in chosen:
                where, report = failed[each]
                name, text = named(each), str(report.longreprtext)
                files = _files(name, text, Path(folder), checkout)
                ran.append(RanTest(name, True, text, where, files))
            began = datetime.fromtimestamp(started, UTC)
            done = opened.tests.record(ran, f"pytest-{new_id()}", task=task, started=began)
            all_pass = not failed and not opened.tests.failing()
    counts = (
        (len(done.failed), "failure", "recorded"),
        (len(failed) - len(chosen), "failure", "left out"),
        (done.unchanged, "test", "failing as before"),
        (len(done.passed), "test", "passing again"),
        (len(done.gone), "test", "gone"),
        (len(done.verified), "record", "verified"),
    )
    summary = ", ".join(
        f"{count} {noun if count == 1 else noun + 's'} {became}"
        for count, noun, became in counts
        if count
    )
    return RunReport(f"hardwon: {summary}" if summary else "", location, all_pass)


@lru_cache(maxsize=limits.TESTS_REMEMBERED_MAX)
def _from(checkout: Path, path: Path) -> str:
    return Path(os.path.relpath(path, checkout)).as_posix()


def _files(name: str, text: str, folder: Path, inside: Path) -> list[str]:
    """The test's own file, then those of the traceback that belong to the project, the last frames
    first.
    """
    own = inside / name.partition("::")[0]
    seen = [folder / (found["plain"] or found["native"]) for found in _PLACES.finditer(text)]
    # A traceback may say anything: a Path raises where a name is too long, or has a zero in it.
    exist = [path for path in (own, *reversed(seen)) if os.path.isfile(path)]  # noqa: PTH113
    inner = [
        path
        for path in dict.fromkeys(path.resolve() for path in exist)
        if path.is_relative_to(inside)
    ]
    ours = [
        str(path)
        for path in inner
        if not any(
            part in _NOT_OURS or part.startswith(".") for part in path.relative_to(inside).parts
        )
    ]
    return ours[: limits.TEST_FILES_MAX]
