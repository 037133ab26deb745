"""`load_dataset`: a data set into a memory, with a report of what was not taken."""

from __future__ import annotations

from typing import Any

from hardwon import limits
from hardwon.datasets.reading import read
from hardwon.datasets.report import DatasetLoaded, Fault
from hardwon.datasets.validating import judge
from hardwon.memory import Memory
from hardwon.model import Source
from hardwon.store.contract import Progress
from hardwon.upkeep import batches


def load_dataset(
    memory: Memory, source: Any, *, author: str = "agent", dry_run: bool = False, progress: Progress | None = None
) -> DatasetLoaded:
    """Keeps the memories of a data set (whatever `validate` takes) that have no error, and reports the others.

    `author` is who is said to have recorded those that do not tell; one of its own lets you roll the data set back as a whole.
    Stored a batch at a time, each in one transaction, calling `progress(done, total)` after each. Loading a data set twice
    keeps it twice. `dry_run` tells what would happen and writes nothing.
    """
    author = Source(author=author).author
    entries = read(source)
    total = len(entries.values)
    ids: list[str] = []
    rejected: list[Fault] = []
    warnings: list[Fault] = []
    stored = done = 0
    for verdicts in batches(judge(entries, author), limits.BATCH_ROWS):
        records = [verdict.record for verdict in verdicts if verdict.record]
        for verdict in verdicts:
            (warnings if verdict.record else rejected).extend(verdict.problems)
        if records and not dry_run:
            ids += memory.add_many(records)
        stored += len(records)
        done += len(verdicts)
        if progress:
            progress(done, total)
    return DatasetLoaded(total, stored, tuple(ids), tuple(rejected), tuple(warnings), dry_run)
