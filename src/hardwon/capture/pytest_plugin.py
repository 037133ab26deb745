"""What a run of pytest hands to the memory. `hardwon_pytest` is what pytest loads; this is loaded
at the end of a run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
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
    with _in_folder(folder):
        settings = Settings.read({"memory": memory, "project": project})
        memory, project = settings.memory.value, settings.project.value
        location = place_of(memory)
        if not failed and not memory_exists(memory):  # a pass alone makes no memory
            return RunReport("", location, True)
        named = _Names(root, repository_root(Path(folder)) or root)
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
                ran.append(
                    RanTest(
                        name, True, text, where, _files(name, text, Path(folder), named.checkout)
                    )
                )
            began = datetime.fromtimestamp(started, UTC)
            done = opened.tests.record(ran, f"pytest-{new_id()}", task=task, started=began)
            all_pass = not failed and not opened.tests.failing()
    parts = [
        f"{_counted(len(done.failed), 'failure')} recorded" if done.failed else "",
        f"{_counted(len(failed) - len(chosen), 'failure')} left out"
        if len(chosen) < len(failed)
        else "",
        f"{_counted(done.unchanged, 'test')} failing as before" if done.unchanged else "",
        f"{_counted(len(done.passed), 'test')} passing again" if done.passed else "",
        f"{_counted(len(done.gone), 'test')} gone" if done.gone else "",
        f"{_counted(len(done.verified), 'record')} verified" if done.verified else "",
    ]
    summary = ", ".join(filter(None, parts))
    return RunReport(f"hardwon: {summary}" if summary else "", location, all_pass)


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """A test may have gone elsewhere, or deleted where it was; the memory is found from where
    pytest was started.
    """
    try:
        before: str | None = os.getcwd()  # noqa: PTH109  # to come back to
    except OSError:
        before = None
    os.chdir(folder)
    try:
        yield
    finally:
        if before is not None:
            os.chdir(before)


class _Names:
    """Node ids from the checkout's root: pytest's own root changes with the arguments of a run."""

    def __init__(self, root: Path, checkout: Path) -> None:
        self.checkout = checkout.resolve()
        self._root = root
        self._files: dict[str, str] = {}

    def __call__(self, node_id: str) -> str:
        file, separator, rest = node_id.partition("::")
        if file not in self._files:
            self._files[file] = Path(os.path.relpath(self._root / file, self.checkout)).as_posix()
        return f"{self._files[file]}{separator}{rest}"


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


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
