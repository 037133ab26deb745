"""Makes each store's environment, starts its workers and talks to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
Answer = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A store as a user would set it up."""

    name: str
    module: str
    options: tuple[str, ...] = ()
    requirements: str = ""
    """Its file in `requirements/`; empty where what runs this has everything."""
    by_meaning: bool = False
    """Whether it searches vectors, so that every record and question passes through a model."""

    @property
    def slug(self) -> str:
        return "-".join([self.module.partition("_")[0], *self.options])

    def python(self, environments: Path) -> Path:
        return (
            environments / self.requirements / "bin" / "python"
            if self.requirements
            else Path(sys.executable)
        )


KINDS: Final = (
    Kind("Hardwon", "hardwon_memory"),
    Kind("Hardwon, vectors", "hardwon_memory", ("vectors",), by_meaning=True),
    Kind("SQLite FTS5", "sqlite_fts"),
    Kind("JSON files", "json_tree"),
    Kind("LangGraph store", "langgraph_store", requirements="langgraph"),
    Kind("LangGraph store, vectors", "langgraph_store", ("vectors",), "langgraph", by_meaning=True),
    Kind("Chroma", "chroma_collection", requirements="chroma", by_meaning=True),
    Kind("mem0", "mem0_memory", requirements="mem0", by_meaning=True),
)
OURS: Final = tuple(kind for kind in KINDS if kind.module == "hardwon_memory")


def make_environment(kind: Kind, environments: Path) -> None:
    """Installed from the package index once, and again when its list of packages has changed."""
    if not kind.requirements:
        return
    wanted = HERE / "requirements" / f"{kind.requirements}.txt"
    folder = environments / kind.requirements
    installed = folder / "installed.txt"
    if installed.exists() and installed.read_text() == wanted.read_text():
        return
    uv = f"{sys.executable} -m uv"
    make = f"{uv} venv --quiet --clear --python {sys.executable} {folder}"
    install = f"{uv} pip install --quiet --python {kind.python(environments)} -r {wanted}"
    for command in (make, install):
        subprocess.run(command.split(), check=True)
    installed.write_text(wanted.read_text())


class WorkerGoneError(Exception):
    """The worker ended without an answer."""


class Worker:
    """A process that has a store open. `opened` is what it said about opening: an error or the
    seconds.
    """

    def __init__(self, kind: Kind, environments: Path, folder: Path) -> None:
        self.kind = kind
        self.started = time.perf_counter()
        self._log = folder.with_name(f"{folder.name}.log").open("a+")
        self._private = str(folder.parent)
        python, worker = str(kind.python(environments)), str(HERE / "worker.py")
        command = [python, "-P", worker, kind.module, str(folder), *kind.options]
        # Its own folder is where it runs: what Hardwon finds in a git checkout is measured
        # elsewhere.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=folder.parent,
            # others must not find our packages in place of their own
            env={key: os.environ[key] for key in os.environ if key != "PYTHONPATH"}
            if kind.requirements
            else None,
        )
        self.opened = self._next()

    def _next(self) -> Answer:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise WorkerGoneError(f"{self.kind.name} ended without an answer: {self._last_words()}")
        # where it stood in this run tells a reader nothing
        answer: Answer = json.loads(line.replace(self._private, "…"))
        return answer

    def _last_words(self) -> str:
        self._log.seek(0)
        return self._log.read()[-2_000:].strip() or "it said nothing"

    def _send(self, asked: Answer) -> None:
        assert self.process.stdin is not None
        print(json.dumps(asked), file=self.process.stdin, flush=True)

    def ask(self, do: str, **given: Any) -> Answer:
        self._send({"do": do, **given})
        return self._next()

    def must(self, do: str, **given: Any) -> Answer:
        """Of what every store can do: an error of it ends the run."""
        answer = self.ask(do, **given)
        if "error" in answer:
            raise RuntimeError(f"{self.kind.name} could not {do}: {answer['error']}")
        return answer

    def stream(self, file: Path) -> Iterator[Answer]:
        """An answer for each record, as long as the worker lives."""
        self._send({"do": "stream", "file": str(file)})
        try:
            while "done" not in (answer := self._next()):
                yield answer
        except WorkerGoneError:
            return

    def close(self) -> Answer:
        answer = self.must("close")
        self.end()
        return answer

    def end(self) -> None:
        """Whatever state it is in. Its own process and no other."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._log):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
