"""The files that Hardwon writes beside a memory, or instead of one, when the power goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from unittest import mock

from hardwon import Memory
from hardwon.capture import git_hooks
from hardwon.capture.agent_settings import AgentSettings
from hardwon.fixes import ai_memory as fixes
from hardwon.fixes.ai_memory import AIMemory
from hardwon.surfaces.mcp.clients import CLIENTS, take_out, write
from hardwon.training import functions as episodes
from hardwon.training.functions import export_agent_memory
from power_workloads import (
    MEMORY,
    PLACES,
    WORDS,
    Seen,
    Step,
    Ticking,
    Workload,
    files_in,
    health_of,
    records_in,
    writes,
)

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import legacy_fixes

_TRAINING_FILE: Final = "runs/agent_memory.json"
_HISTORY: Final = "AIMemory"
_COPIES: Final = (".jsonl", ".json", ".bak", ".sha256", git_hooks.NAME, git_hooks.SAVED)


class OfTrainingMemory(Workload):
    """A training memory's file, which every save replaces whole."""

    target = "files"

    def steps(self) -> Iterator[Step]:
        self.memory = episodes.load_agent_memory(self.root / _TRAINING_FILE)
        for _ in range(self.rng.randint(2, 8)):
            for _ in range(self.rng.randint(1, 20)):
                given = {
                    "task_id": self.rng.choice(WORDS),
                    "score": self.rng.random(),
                    "mistakes": [self.text()],
                }
                episodes.record_episode(self.memory, given, clock=self.clock)
            yield Step("save a training memory", self._save)

    def _save(self) -> None:
        episodes.save_agent_memory(self.memory, self.root / _TRAINING_FILE)

    def seen(self) -> Seen:
        return files_in(self.root, ".json")

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:  # noqa: ARG003
        seen = files_in(root, ".json")
        memory = episodes.load_agent_memory(root / _TRAINING_FILE)
        aside = [f"{path.name} was kept aside" for path in root.rglob("*unreadable*")]
        episodes.record_episode(memory, {"task_id": "after", "score": 1.0}, clock=Ticking())
        episodes.save_agent_memory(memory, root / _TRAINING_FILE)
        kept = json.loads((root / _TRAINING_FILE).read_text())["episode_log"]
        return seen, aside + (
            [] if kept and kept[-1]["task_id"] == "after" else ["a new episode was not saved"]
        )


class OfTokens(Workload):
    """Tokens that let somebody in from when they were made until they were revoked, and never
    again.
    """

    target = "files"

    def begin(self) -> None:
        self.memory = Memory(self.root / MEMORY, "default", clock=self.clock, checkout=False)
        self.secrets: list[str] = []
        # what people were told is on no disk of the machine
        self.known = self.outside.parent / "secrets.json"
        self.known.write_text("[]")

    def steps(self) -> Iterator[Step]:
        for _ in range(self.rng.randint(4, 10)):
            if self.secrets and self.rng.random() < 0.4:
                yield Step("revoke a token", self._revoke)
            else:
                yield Step("make a token", self._make)

    def _make(self) -> None:
        self.secrets.append(self.memory.tokens.create(self.rng.choice(WORDS), "write").secret)
        self.known.write_text(json.dumps(self.secrets))

    def _revoke(self) -> None:
        active = [secret for secret in self.secrets if self.memory.tokens.caller(secret)]
        if active:
            self.memory.tokens.revoke(self.rng.choice(active).split("_")[1])

    def seen(self) -> Seen:
        return _let_in(self.memory, self.secrets)

    def end(self) -> None:
        self.memory.close()

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        secrets = json.loads((outside.parent / "secrets.json").read_text())
        with Memory(root / MEMORY, "default", clock=Ticking(), checkout=False) as memory:
            seen = _let_in(memory, secrets)
            new = memory.tokens.create("after").secret
            return seen, [] if memory.tokens.caller(new) else ["a new token lets nobody in"]


def _let_in(memory: Memory, secrets: list[str]) -> Seen:
    callers = {secret: memory.tokens.caller(secret) for secret in secrets}
    return {f"token {secret[:16]}": caller.name for secret, caller in callers.items() if caller}


class OfCopies(Workload):
    """Exports, backups, memories restored elsewhere, and the settings files of other programs."""

    target = "files"

    def begin(self) -> None:
        self.memory = Memory(self.root / MEMORY, "default", clock=self.clock, checkout=False)
        (self.root / ".claude").mkdir()
        if self.rng.random() < 0.5:  # else nothing is left of the file when our hooks go
            self._settings.path.write_text(json.dumps({"model": "opus", "hooks": {}}, indent=4))
        if self.rng.random() < 0.5:
            (self.root / "hooks").mkdir()
            (self.root / "hooks" / "post-commit").write_text("#!/bin/sh\necho mine\n")

    def steps(self) -> Iterator[Step]:
        self.memory.remember(self.text(), **PLACES[0])
        choices: dict[str, Callable[[], object]] = {
            "export": lambda: self.memory.export(self._out("records.jsonl")),
            "export as a list": lambda: self.memory.export(
                self._out("records.json"), format="json"
            ),
            "export a training memory": lambda: export_agent_memory(
                self.memory, self._out("agent.json"), overwrite=True
            ),
            "back up": lambda: self.memory.backup(self._out(f"{self.rng.getrandbits(24):06x}.bak")),
            "restore elsewhere": self._restore,
            "add a hook": lambda: self._settings.install(f"hardwon {self.rng.choice(WORDS)}"),
            "take hooks out": lambda: self._settings.remove(),
            "add to a client": lambda: write(
                CLIENTS["cursor"],
                self.root / ".cursor/mcp.json",
                self.rng.choice(WORDS),
                ["hardwon"],
            ),
            "take out of a client": lambda: take_out(
                CLIENTS["cursor"], self.root / ".cursor/mcp.json", self.rng.choice(WORDS)
            ),
            "install git hooks": lambda: git_hooks.install(
                self.root / "hooks", [self.rng.choice(WORDS)]
            ),
            "remove git hooks": lambda: git_hooks.remove(self.root / "hooks"),
            "remember": lambda: self.memory.remember(self.text(200), **PLACES[0]),
        }
        for _ in range(self.rng.randint(5, 12)):
            name = self.rng.choice(sorted(choices))
            yield Step(
                name,
                choices[name],
                at_once=name not in ("back up", "restore elsewhere", "install git hooks"),
            )

    @property
    def _settings(self) -> AgentSettings:
        return AgentSettings("claude-code", "project", self.root)

    def _out(self, name: str) -> Path:
        return self.root / self.rng.choice(("out", "out/deeper")) / name

    def _restore(self) -> None:
        made = sorted(self.root.glob("out/**/*.bak"))
        if made:
            Memory.restore(
                self.rng.choice(made), self.root / "restored" / f"{self.rng.getrandbits(24):06x}"
            )

    def seen(self) -> Seen:
        return files_in(self.root, *_COPIES) | _restored(self.root, self.outside)

    def end(self) -> None:
        self.memory.close()

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        seen = files_in(root, *_COPIES) | _restored(root, outside)
        with Memory(root / MEMORY, "default", clock=Ticking(), checkout=False) as memory:
            wrong = [*health_of(memory), *writes(memory)]
            memory.export(root / "out" / "records.jsonl")
        return seen, wrong


def _restored(root: Path, outside: Path) -> Seen:
    """Each memory that a backup was restored into, with the records that it has."""
    found: Seen = {}
    for file in sorted(root.glob("restored/*/memory.db")):
        with Memory(file, "default", clock=Ticking(), checkout=False) as memory:
            found |= {
                f"{file.parent.name} {name}": value
                for name, value in records_in(memory, outside).items()
            }
    return found


class OfFixHistory(Workload):
    """A folder of fix history: an older database is adopted in its place, attempts are recorded, a
    knowledge base is saved.
    """

    target = "files"

    def begin(self) -> None:
        (self.root / _HISTORY).mkdir()
        if self.rng.random() < 0.7:
            made = legacy_fixes.many(self.outside / "old.db", self.rng.randint(1, 30))
            (self.root / _HISTORY / "ai_memory.db").write_bytes(made.read_bytes())

    def steps(self) -> Iterator[Step]:
        yield Step("open an older fix history", self._open, at_once=False, opens=True)
        choices: dict[str, Callable[[], object]] = {
            "record an attempt": self._record,
            "save the knowledge base": self._save,
            "open again": self._reopen,
            "export insights": lambda: self.memory.export_insights(self.root / "insights.json"),
            "export as CSV": lambda: self.memory.export_csv(self.root / "fixes.csv"),
        }
        for _ in range(self.rng.randint(3, 8)):
            name = self.rng.choice(sorted(choices))
            yield Step(name, choices[name], at_once=name == "record an attempt")

    def _open(self) -> None:
        self.memory = AIMemory(self.root / _HISTORY, clock=self.clock)

    def _reopen(self) -> None:
        self.memory.close()
        self._open()

    def _record(self) -> None:
        issue = {"model": self.rng.choice(WORDS), "type": "TIMEOUT", "description": self.text()}
        reply = {"analysis": self.text(), "fix_commands": [f"restart {self.rng.choice(WORDS)}"]}
        with mock.patch.object(
            fixes, "system_info", return_value={"os": "Linux"}
        ):  # how much room is free changes all the time
            self.memory.record_fix_attempt(issue, reply, True, self.rng.random() < 0.5, 1.5)

    def _save(self) -> None:
        self.memory.knowledge_base["general_patterns"][self.text(2)] = self.text()
        self.memory._save_knowledge_base()

    def seen(self) -> Seen:
        return _history_in(self.memory, self.root, self.outside)

    def end(self) -> None:
        self.memory.close()

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        with AIMemory(root / _HISTORY, clock=Ticking()) as history:
            seen = _history_in(history, root, outside)
            return seen, [*health_of(history.memory), *writes(history.memory)]


def _history_in(history: AIMemory, root: Path, outside: Path) -> Seen:
    told: dict[str, Any] = dict(history.knowledge_base.get("general_patterns", {}))
    known = {f"pattern {name}": json.dumps(value) for name, value in told.items()}
    return (
        records_in(history.memory, outside)
        | files_in(root, ".before-hardwon.db", ".csv", "insights.json")
        | known
    )
