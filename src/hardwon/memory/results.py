"""What the larger operations of a memory answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from hardwon import limits
from hardwon.lessons.lesson import Lesson
from hardwon.records.fields import Tabular
from hardwon.records.kinds import AnyRecord, Decision, Event, Fix, StaleFile
from hardwon.store.types import Finding


@dataclass(frozen=True)
class Activity:
    """What was recorded on one day (UTC): records of a kind, and how many of them turned out well
    and badly. Good are experiences that are a success, fixes that were verified,
    trajectories (so also commands that were run) that earned the full reward, and episodes with a
    score of at least 0.85; bad are failures, fixes that were not verified, trajectories that earned
    nothing, and episodes below 0.50. What lies between is neither, nor are other records, nor what
    was archived.
    """

    day: date
    kind: str
    records: int
    good: int
    bad: int


@dataclass(frozen=True)
class DayRate:
    """How much went well and badly on one day (UTC)."""

    day: date
    good: int
    bad: int


@dataclass(frozen=True)
class Rates:
    """How it went day by day, of one author, at one task, or with one command."""

    name: str
    days: tuple[DayRate, ...]

    @property
    def good(self) -> int:
        return sum(day.good for day in self.days)

    @property
    def tried(self) -> int:
        return self.good + sum(day.bad for day in self.days)


@dataclass(frozen=True)
class Failure:
    """Something that went wrong: what was said, and what was being done; in how many records of
    the time that was asked for, by whom, and some of these. `first_seen` is of all time, and
    `is_new` whether that is only days ago. `key` is what such records are found by
    (`failure:HASH`, `signature:HASH` of an issue), empty where only their words are alike. `fix` is
    what made it go away, where that is known.
    """

    text: str
    action: str
    key: str
    seen: int
    first_seen: datetime
    last_seen: datetime
    is_new: bool
    authors: tuple[str, ...]
    evidence: tuple[str, ...]
    fix: Lesson | None = None


@dataclass(frozen=True)
class Page:
    """Some records, newest first. `next` is the cursor of the page after it, None on the last."""

    records: list[AnyRecord]
    next: str | None


@dataclass(frozen=True)
class Credited:
    """A record, and how often it helped when it was recalled, and did not."""

    record: AnyRecord
    helped: int
    hindered: int


@dataclass(frozen=True)
class Forgotten:
    """`ids` were forgotten (or would be, in a dry run); `unknown` are ids that no record has (any
    more). `erased`: no file of the memory holds their text any more; `pending`: a reader still
    needs the old log. The bytes then go with the first write after it has finished, with the next
    `forget` (also of the same ids), or when the last process closes.
    """

    ids: list[str]
    unknown: list[str]
    dry_run: bool
    erased: bool
    pending: bool


@dataclass
class Loaded:
    """What came from elsewhere. `conflicting`: ids kept here with other content, which stays;
    `forgotten`: ids that were forgotten here and stay so; `lowered`: how many of those added came
    with each status that is not taken over; `retired`: how many are archived here now because they
    are there; `events`: how much of what was decided about records there is taken over, with trust;
    `aside`: how many values no field is for, which are kept beside the others; `elsewhere`: how many
    records of which other projects were passed over; `believed`: how many of those added keep which
    status, with trust.
    """

    read: int = 0
    added: int = 0
    present: int = 0
    conflicting: list[str] = field(default_factory=list)
    forgotten: int = 0
    dry_run: bool = False
    lowered: dict[str, int] = field(default_factory=dict)
    retired: int = 0
    events: int = 0
    aside: int = 0
    elsewhere: dict[str, int] = field(default_factory=dict)
    believed: dict[str, int] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """What became of statuses, of what no field is for and of records of other projects, for
        people; empty where there is nothing to be told.
        """
        came, kept = (
            ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
            for counts in (self.lowered, self.believed)
        )
        believed = f"came as {kept}, and {'would be' if self.dry_run else 'are'} so here"
        lowered = (
            f"came as {came}: unverified here until somebody verifies them; nothing from "
            "elsewhere is believed on its own word"
        )
        are = "would be" if self.dry_run else "are"
        retired = f"{self.retired} {are} archived here, because they are archived there"
        aside = f"values that no field is for are kept as they are: {self.aside}"
        others = [
            f"{count} of project {name} not taken: hardwon --project {name} load takes them"
            for name, count in sorted(self.elsewhere.items())
        ]
        notes = ((came, lowered), (kept, believed), (self.retired, retired), (self.aside, aside))
        return [*(note for is_so, note in notes if is_so), *others]


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be said about one part of a store: a file, a row, a memory."""

    where: str
    what: str


# What an older store is.
StoreKind = Literal["tree", "training-memory", "fix-history", "knowledge-base"]


@dataclass(frozen=True)
class Adoption:
    """What an older store brought. What was read was added, was present already, was forgotten here
    and stays so, or was `rejected` for a reason. `mended`: what had to be changed to fit.
    """

    kind: StoreKind
    read: int
    added: int
    present: int = 0
    forgotten: int = 0
    rejected: list[Remark] = field(default_factory=list)
    mended: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dry_run: bool = False

    def __str__(self) -> str:
        would = "would be " if self.dry_run else ""
        counts = f"{self.read} read, {self.added} {would}added, {self.present} present already"
        more = f"{len(self.rejected)} rejected, {len(self.mended)} mended"
        lines = [f"{self.kind}: {counts}, {more}"]
        lines += [f"{self.forgotten} were forgotten here and stay so"] if self.forgotten else []
        most = limits.SCREEN_ITEMS
        lines += self.notes[:most]
        for heading, remarks in (("rejected", self.rejected), ("mended", self.mended)):
            lines += [f"{heading}: {remark.where}: {remark.what}" for remark in remarks[:most]]
            if len(remarks) > most:
                lines.append(f"{heading}: and {len(remarks) - most} more")
        return "\n".join(map(one_line, lines))


def one_line(text: str) -> str:
    """What an older store may say, shown."""
    return "".join(char if char.isprintable() else " " for char in text[: limits.LESSON_CHARS_MAX])


@dataclass
class Merged(Loaded):
    """What another memory brought. `events`: what was decided about records there, and is taken
    over; `erased`: records forgotten there, now gone here too; `pending` as in Forgotten. `left`
    are the decisions, statuses and tombstones there that were not taken over, in words, up to a
    bound; `left_total` counts them. `decision` undoes the arrival of what is not trusted.
    """

    erased: int = 0
    pending: bool = False
    left: list[str] = field(default_factory=list)
    left_total: int = 0
    decision: str | None = None


@dataclass
class Synced:
    """What the files of the tree had to say: how many were new, edited, moved, or gone. `left` are
    those that were left alone, each with the reason; `secrets` those that hold one, which the
    memory does not.
    """

    added: int = 0
    edited: int = 0
    moved: int = 0
    absent: int = 0
    left: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)


@dataclass
class StaleReport:
    """What became of the files that records are about. Of the records that were `checked`, so many
    are `stale`; so many of those were archived now (or would be, in a dry run), and so many are
    back because their files are. `files` lists what changed, record by record, up to a bound, also
    files that only got another name; `files_changed` counts all of it.
    """

    checked: int = 0
    stale: int = 0
    archived: int = 0
    restored: int = 0
    files_changed: int = 0
    files: list[tuple[str, StaleFile]] = field(default_factory=list)
    dry_run: bool = False


@dataclass(frozen=True)
class Backup:
    """A copy of the memory's file: where it is, its SHA-256 in hex, and its size."""

    path: Path
    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class Diagnosis(Tabular):
    """What doctor found. `ok` when every finding is."""

    findings: list[Finding]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(finding.ok for finding in self.findings)

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame: what was found, by check."""
        return {check: detail if ok else f"BAD: {detail}" for check, ok, detail in self.findings}

    def __str__(self) -> str:
        lines = (f"{'ok ' if ok else 'BAD'} {check}: {what}" for check, ok, what in self.findings)
        return "\n".join(lines)


@dataclass(frozen=True)
class LifeEvent:
    """One line of a record's life: `created` is the record itself, everything later an event."""

    kind: str
    at: datetime
    by: str
    status: str
    event: Event | None = None


@dataclass(frozen=True)
class SimilarIssues:
    """Earlier fixes, successes first, then the newest: of the same signature (by either formula),
    of the same model and issue type, and of the same issue type on any model.
    """

    exact: list[Fix]
    model: list[Fix]
    type: list[Fix]


@dataclass(frozen=True)
class Consolidation:
    """The rules that a language model wrote down, each a record that can be read, and undone, by its id.
    `notes` says what else happened: that it was asked, or why it was of no use.
    """

    written: list[Decision]
    notes: list[str]


@dataclass(frozen=True)
class CleanedUp:
    """What left the history (or would, in a dry run): failed and successful fixes. `kept` are as old
    and stay: what worked stays longer, and what is of value by itself; `left` are for the next run,
    because one takes only so many.
    `event_id` is what `undo` takes.
    """

    failed: int
    successful: int
    kept: int
    left: int
    event_id: str | None
    dry_run: bool


@dataclass(frozen=True)
class Compacted:
    """How many fixes that had left the history can no longer be brought back, and the size of the
    memory before and after.
    """

    purged: int
    before_bytes: int
    after_bytes: int


@dataclass(frozen=True)
class Links:
    """What a record has to do with others: the one that replaced it, those that it replaced, and
    those that report the same situation with the opposite outcome.
    """

    replaced_by: str | None
    replaces: tuple[str, ...]
    contradicts: tuple[str, ...]
