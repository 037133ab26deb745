"""`pytest -p hardwon`: failing tests become records, and a test that passes again verifies what
was tried in between.

Every run of pytest loads the plugins of all installed packages, so this is a package of its own
that imports nothing: Hardwon itself is loaded at the end of a run, and only for those who asked for
it, with `-p hardwon`, `--hardwon`, `hardwon = true` in the configuration or HARDWON_PYTEST=1.
Whatever goes wrong here is one line in the summary and changes nothing else. docs/run.md says
what is recorded.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

_NAME: Final = "hardwon"
_YES: Final = frozenset({"1", "true", "yes", "on"})


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup(_NAME, "hardwon: what tests say about what was recorded")
    group.addoption(
        "--hardwon",
        action="store_true",
        default=False,
        help="Record failing tests, as -p hardwon does.",
    )
    group.addoption(
        "--hardwon-memory",
        metavar="PATH",
        help="The memory. Default: HARDWON_MEMORY, else as hardwon finds it.",
    )
    group.addoption(
        "--hardwon-project",
        metavar="NAME",
        help="The project. Default: HARDWON_PROJECT, else the checkout's name.",
    )
    group.addoption(
        "--hardwon-task",
        metavar="TASK",
        help="What is being worked on: the records are tagged with it.",
    )
    parser.addini(_NAME, "Record failing tests in a Hardwon memory.", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    # A worker of pytest-xdist hands its reports to the process that started it, and only that one
    # writes.
    named = [*(config.getoption("plugins") or ()), *os.environ.get("PYTEST_PLUGINS", "").split(",")]
    if not hasattr(config, "workerinput") and (
        _NAME in (str(each).strip() for each in named)
        or config.getoption("--hardwon")
        or os.environ.get("HARDWON_PYTEST", "").strip().lower() in _YES
        or config.getini(_NAME)
    ):
        config.pluginmanager.register(Watcher(config), "hardwon-watcher")


class Watcher:
    """Sees every result of a run, and hands them over at its end."""

    def __init__(self, config: pytest.Config) -> None:
        option, environment = config.getoption, os.environ
        self._config = config
        # the memory, the project and the folder that pytest was started in
        self._asked: list[Any] = [
            option("--hardwon-memory") or environment.get("HARDWON_MEMORY") or None,
            option("--hardwon-project") or environment.get("HARDWON_PROJECT") or None,
            str(config.invocation_params.dir),
        ]
        self._started = time.time()
        self._passed: dict[str, bool] = {}  # by node id; False until the test is through
        self._failed: dict[str, tuple[str, Any]] = {}  # by node id: where, and the report
        self._line: tuple[str, bool] | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.nodeid:
            return
        if report.passed:
            self._passed[report.nodeid] = True
        if report.failed:
            self._failed[report.nodeid] = "collection", report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid
        if report.when == "setup":  # also where a plugin runs a test again: its last run counts
            self._passed.pop(name, None)
            self._failed.pop(name, None)
        if report.failed:
            self._failed.setdefault(name, (report.when or "call", report))
        elif report.when == "call" and report.passed:
            if not hasattr(report, "wasxfail"):  # it was to fail: then passing says nothing
                self._passed[name] = False
        elif report.when == "teardown" and name in self._passed:
            self._passed[name] = report.passed

    def pytest_sessionfinish(self) -> None:
        passed = [
            name for name, through in self._passed.items() if through and name not in self._failed
        ]
        try:
            if self._failed or passed:
                self._record(passed)
        except Exception as error:  # noqa: BLE001  # a memory that cannot be used must not change what the tests say
            said = " ".join(str(error).split()) or type(error).__name__
            self._line = f"hardwon: nothing was recorded: {said}", True

    def _record(self, passed: list[str]) -> None:
        from hardwon.capture.tests import record_pytest_run

        memory, project, folder = self._asked
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a run may turn them into errors
            line = record_pytest_run(
                memory,
                project,
                folder,
                self._config.getoption("--hardwon-task"),
                self._config.rootpath,
                self._started,
                passed,
                self._failed,
            )
            self._line = (line, False) if line else None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._line:
            line, is_warning = self._line
            terminalreporter.write_line(line, yellow=is_warning)
