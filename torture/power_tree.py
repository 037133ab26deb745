"""A memory with a tree of files beside it when the power goes."""

from __future__ import annotations

import json
import os
from pathlib import Path

from hardwon import Memory
from hardwon.records.fields import is_derived
from hardwon.records.kinds import Experience
from power_database import Do, OfRecords
from power_workloads import MEMORY, PLACES, Seen, Ticking, files_in, health_of, records_in, writes


class OfTree(OfRecords):
    """Every experience has its file, and it says what the record says."""

    target = "tree"

    def begin(self) -> None:
        pass

    def _open(self) -> None:
        super()._open()
        self.memory.tree.make()

    def seen(self) -> Seen:
        return records_in(self.memory, self.outside) | files_in(self.root / MEMORY, ".json")

    def _choices(self) -> dict[str, Do]:
        choices = super()._choices()
        for name in (
            "record a fact",
            "record a fix",
            "clean up",
            "compress",
            "rebuild",
            "back up",
            "restore",
            "record many",
        ):
            del choices[name]
        return choices | {
            "remember many": (self._remember_many, False),
            "edit a file": (self._edit, False),
            "sync": (lambda: self.memory.tree.sync(), False),
        }

    def _some_id(self) -> str | None:
        """None that is archived: whoever vouches for such a one has it back, with a file when the
        memory is next opened.
        """
        told = {
            name: json.loads(line) for name, line in records_in(self.memory, self.outside).items()
        }
        live = [
            name
            for name, record in told.items()
            if record["metadata"]["validation"]["status"] != "archived"
        ]
        return self.rng.choice(sorted(live)).removeprefix("record ") if live else None

    def _remember_many(self) -> None:
        words = self.rng.choices((8, 400), k=self.rng.randint(2, 6))
        self.memory.care.keep_many(
            [Experience(content=self.text(count), **self.rng.choice(PLACES)) for count in words]
        )

    def _edit(self) -> None:
        """As an editor does that saves durably; then the memory takes it in."""
        paths = sorted((self.root / MEMORY).rglob("*=*/*.json"))
        if not paths:
            return
        chosen = self.rng.choice(paths)
        told = json.loads(chosen.read_text())
        told["content"] = self.text()
        saved = chosen.with_suffix(".saved")
        with saved.open("w") as file:
            file.write(json.dumps(told))
            file.flush()
            os.fsync(file.fileno())
        saved.replace(chosen)
        handle = os.open(chosen.parent, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
        self.memory.tree.sync()

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        with Memory(root / MEMORY, "default", clock=Ticking(), checkout=False) as memory:
            if memory.tree.mirror is None:
                memory.tree.make()  # the power went before there was one
            seen = records_in(memory, outside) | files_in(root / MEMORY, ".json")
            return seen, [*health_of(memory), *writes(memory)]

    def excused(self, name: str, value: str, after: Seen) -> bool:
        """A file that was written before its record was kept is taken in as if somebody had put it
        there, where it is whole; else it is left alone, and told.
        """
        kind, _, record_id = name.partition(" ")
        if kind == "file":
            return name in after and not _is_json(value)
        if not is_derived(record_id):
            return False
        contents = {
            json.loads(each).get("content")
            for key, each in after.items()
            if key.startswith("record ")
        }
        return json.loads(value).get("content") in contents


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
