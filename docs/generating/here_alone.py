"""What `Memory` offers to its own process alone, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HERE_ALONE: Final[Mapping[str, str]] = {
    "close": "ends the caller's own memory",
    "browse": "care.page does the same for callers elsewhere",
    "record": "add does the same and gives the id",
    "care.keep_many": "add_many does the same and gives the ids",
    "care.record_many": "several of one kind from the caller's own files: elsewhere add_many takes "
    "several records",
    "care.take_in": "brings records with authors of their own: import does that for an administrator",
    "entries.put": "for what keeps things under names of its own; elsewhere remember and "
    "supersede do it",
    "entries.append": "for what keeps things in a row of its own; elsewhere add_many does it",
    "entries.list": "pages by tag do the same for callers elsewhere",
    "entries.names": "for whoever lists the names that it put things under",
    "trajectory": "a block of the caller's own code; what it records goes through "
    "record_trajectory",
    "care.now": "the memory's own clock",
    "care.values": "for people who type: programs have whole ids and names",
    "care.wait_for_vectors": "vectors are made by the process that has the embedder",
    "care.once": "is what an idempotency key does",
    "care.projects": "is of no project: each surface lists those that the caller reaches",
    "care.in_project": "opens the caller's own memory once more: callers elsewhere name the project "
    "they ask about",
    "restore": "puts a file of this machine in the memory's place while nobody asks it anything",
    "merge": "opens another memory of this machine; import takes in what another exported",
    "tree.make": "makes files beside the memory's own",
    "check_stale": "looks at a checkout, which is where the caller is and not where the memory is",
    "tests.record": "reads the files that tests are about, in the caller's checkout",
    "tests.publish": "is asked by a git hook of the caller's checkout",
    "tokens": "whoever could make tokens from outside could make itself stronger ones",
    "fixes.history": "the tables of the file itself",
    "tree.mirror": "the files beside the memory",
    "skills.export": "writes files of this machine",
    "location": "a path of this machine",
    "elsewhere": "is of no project: each surface lists those that the caller reaches",
}
