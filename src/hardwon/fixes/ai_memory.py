"""Fix history: `AIMemory`, what was tried against an issue, by whom, and whether it worked.

Scripts that say `from Scripts.ai_memory import AIMemory` keep working (see
`drop_in/Scripts/ai_memory.py`). `ai_memory.db` is a Hardwon memory, whose tables any SQLite client
can query. The knowledge base is `knowledge_base`, older databases are `adopt`. Answers are plain
dicts, lists and numbers that JSON can hold.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError, on_failure
from hardwon.fixes import adopt, knowledge_base
from hardwon.fixes.adopt import FILE_NAME, AdoptedInPlace
from hardwon.fixes.attempts import AttemptInput, check_fixer, fix_from, issue_from, readable
from hardwon.fixes.knowledge_base import FixHistoryWarning, KnowledgeBase, KnowledgeFile, read_stamp
from hardwon.fixes.machine import system_info
from hardwon.fixes.reports import FixCell, FixDay, FixerRecord, IssueTrend
from hardwon.fixes.rows import FixRow
from hardwon.lessons.issues import fix_history_signature
from hardwon.memory import Clock, Memory, cleanup
from hardwon.memory.fix_lessons import FIXES_LISTED_MAX
from hardwon.memory.transfer import load, write_lines
from hardwon.outside import files
from hardwon.outside.locations import DEFAULT_PROJECT, check_path
from hardwon.records.fields import check_flag, check_that, check_whole_number, new_id
from hardwon.records.kinds import AnyRecord, Metadata, Moment, Source
from hardwon.records.reading import parse_record
from hardwon.store.types import Progress
from hardwon.text.clean import clean_line
from hardwon.text.tokens import count_tokens

# How long after a write a file's time does not tell of the next one: kernels count it in ticks of
# up to ten milliseconds.
FILE_TIME_UNSURE_NS: Final = 20_000_000

_log = logging.getLogger("hardwon")

DEFAULT_DIR: Final = "AIMemory"
# How the names begin of what a memory keeps in its folder, those that are hidden behind a dot as
# well.
_OWN: Final = (knowledge_base.KNOWLEDGE_BASE_NAME, FILE_NAME.removesuffix(".db") + ".")

_BEGIN: Final = "=== HISTORICAL CONTEXT FROM AI MEMORY ===\n"
_NOTHING: Final = "Nothing like this was tried before.\n"
_END: Final = "=== END HISTORICAL CONTEXT ===\n"
# What was recorded and looks like a line of ours. What stands for it is no longer than it was.
_FORGED_FRAME: Final = re.compile(
    r"(?<![=\uff1d\ufe66\u2550])[=\uff1d\ufe66\u2550]+(\s*(?:END\s+)?HISTORICAL\s+CONTEXT(?:\s+FROM\s+AI\s+MEMORY)?\s*)[=\uff1d\ufe66\u2550]*",
    re.IGNORECASE,
)
_FRAME_TOKENS_MAX: Final = count_tokens(_BEGIN + _NOTHING + _END)

Where = str | os.PathLike[str]


class CutWarning(FixHistoryWarning):
    """A text was longer than a record can hold. Its beginning was kept."""


class AIMemory(AbstractContextManager["AIMemory"]):
    """Attempts to fix issues, kept in `memory_dir/ai_memory.db`. Safe to use from several threads
    and processes.

    An older `ai_memory.db` in the folder is kept aside and adopted when it is first opened;
    `adopted` then tells how it went. `memory` is the same as a `Memory`; `knowledge_base` is a dict
    that fills itself from every attempt and that you may add to. Close it, or use it as a context
    manager; what was recorded is on disk either way.
    """

    def __init__(
        self,
        memory_dir: Where | None = None,
        *,
        clock: Clock | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`memory_dir` None: where HARDWON_AIMEMORY says, else the folder AIMemory that is there:
        beside the folder of the module that stands in for this one, in the current folder, beside
        the script that runs, or above it. `progress` is told how far the adoption of an older
        history is; where there is none, a terminal is.
        """
        if memory_dir is None:
            memory_dir = usual_place()
        folder = os.fspath(memory_dir) if isinstance(memory_dir, os.PathLike) else memory_dir
        if not isinstance(folder, str) or not folder.strip() or folder.endswith(".db"):
            raise InvalidInputError.one("memory_dir", memory_dir, "a folder")
        place = check_path("memory_dir", folder)
        is_new = not files.exists(place / FILE_NAME)
        adopted = adopt.adopt_in_place(place, clock=clock, progress=progress)
        memory = Memory(place / FILE_NAME, clock=clock)
        if adopted:
            _announce(adopted, place)
        elif is_new:
            _log.warning("there was no fix history in %s: it begins empty", place)
        with on_failure(memory.close):
            self._use(memory, place, adopted)

    @classmethod
    def on(cls, memory: Memory) -> Self:
        """The same for a memory that is open already."""
        adopt.check_memory(memory)
        made = cls.__new__(cls)
        made._use(memory, Path(memory.location).parent, None)
        return made

    def _use(self, memory: Memory, folder: Path, adopted: AdoptedInPlace | None) -> None:
        if memory.project != DEFAULT_PROJECT:
            raise PlaceError(
                f"fix history is kept in the project {DEFAULT_PROJECT!r}, and this memory is open "
                f'for {memory.project!r}: open it with project="{DEFAULT_PROJECT}" (on the command '
                f"line: hardwon --project {DEFAULT_PROJECT} …)"
            )
        history = memory.fixes.history  # raises where the memory has none
        self.memory, self.memory_dir, self.adopted = memory, folder, adopted
        self._now = memory._project.now
        self.db_path = Path(memory.location)
        self.knowledge_base_path = folder / knowledge_base.KNOWLEDGE_BASE_NAME
        self._knowledge = KnowledgeFile(memory, folder, history.read_knowledge, self._version)

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"AIMemory({str(self.memory_dir)!r})"

    def close(self) -> None:
        """Closes the memory for every thread; closing twice is allowed."""
        self._knowledge.finish()
        self.memory.close()

    def record_fix_attempt(
        self,
        issue_data: Mapping[str, Any],
        ai_response: Any,
        fix_success: bool,
        verification_success: bool,
        execution_time: float | None,
        notes: str | None = None,
        fixer_type: str = "claude",
    ) -> int:
        """Records an attempt and returns its id once it is on disk. `fix_success`: it was applied;
        `verification_success`: it was verified to work. Whatever a fixer replied is recorded, also
        where it is not the mapping that was asked for.
        """
        attempt = AttemptInput(issue_data, ai_response, notes)
        at = self._now()
        author = check_fixer("fixer_type", fixer_type)
        fix = fix_from(
            attempt,
            fix_success,
            verification_success,
            execution_time,
            author,
            system_info(),
            id=new_id(at),
            metadata=Metadata(source=Source(author=author), context=Moment(timestamp=at)),
        )
        # of the transaction that kept it: a moment later somebody may have cleaned it up
        fix_id = self.memory.record(fix).number
        assert fix_id is not None  # noqa: S101  # for type checkers: it was just recorded
        if self.db_path.name == FILE_NAME:
            self._knowledge.follow()

        if not attempt.has_reply:
            text = "the fixer's reply is no mapping: it was kept aside, as it was"
            _warn(FixHistoryWarning, text)
        if attempt.cut:
            names = ", ".join(dict.fromkeys(attempt.cut))
            _warn(CutWarning, f"some of it was too long and its end was left out: {names}")
        return fix_id

    def query_similar_issues(
        self, issue_data: Mapping[str, Any], limit: int = 5
    ) -> dict[str, list[dict[str, Any]]]:
        """Earlier attempts at the same issue (`exact_matches`), at the same issue type on the same
        model (`model_matches`) and on any model (`type_matches`); successes first, then what was
        applied, then the newest.
        """
        similar = self.memory.fixes.history.similar(issue_from(issue_data), limit)
        names = ("exact_matches", "model_matches", "type_matches")
        return {name: list(map(_row, rows)) for name, rows in zip(names, similar, strict=True)}

    query_similar_issues_optimized = query_similar_issues  # a name that scripts know

    def generate_issue_signature(self, issue_data: Mapping[str, Any]) -> str:
        """16 hexadecimal digits by the fix-history formula."""
        return generate_issue_signature(issue_data)

    def get_model_insights(self, model_name: str) -> dict[str, Any]:
        """How fixes went on a model, its common issues, what helped, and the newest attempts."""
        insights = self.memory.model_insights(model_name)
        most, odds = FIXES_LISTED_MAX, insights.odds
        issues = (name for name, _ in insights.common_issues[:most])
        helped = (
            " && ".join(fix.fix_commands) or fix.analysis for fix in insights.effective_fixes[:most]
        )
        newest = self.memory.fixes.history.recent(model_name, most)
        return {
            "model_name": insights.model_name,
            "total_tests": insights.total_tests,
            "success_rate": round(insights.success_rate, 3),
            "common_issues": [clean_line(name, limits.NAME_CHARS_MAX) for name in issues],
            "effective_fixes": list(map(knowledge_base.clean_text, helped)),
            "recent_history": list(map(_row, newest)),
            "applied_rate": _rate(odds.applied, odds.attempts) if insights.total_tests else 0.0,
            "p_success": round(odds.p_success, 3),
            "performance_notes": "; ".join(insights.performance_notes) or None,
            "last_updated": insights.last_updated.isoformat() if insights.last_updated else None,
        }

    def build_context_for_ai(
        self, issue_data: Mapping[str, Any], *, budget_tokens: int = limits.FIX_CONTEXT_TOKENS
    ) -> str:
        """What is known that bears on an issue, as text for a fixer's prompt: never more than
        `budget_tokens`. What was recorded is fenced in it as data.
        """
        budget = check_whole_number(
            "budget_tokens", budget_tokens, _FRAME_TOKENS_MAX, limits.CONTEXT_TOKENS_MAX
        )
        issue = issue_from(issue_data)
        room = budget - count_tokens(_BEGIN + "\n" + _END)
        known = str(self.memory.context(issue=issue, budget_tokens=room)) if room > 0 else ""
        context = _FORGED_FRAME.sub(r"[\1]", known.strip("\n"))
        text = f"{_BEGIN}{context}\n{_END}" if context else ""
        # tokens of two texts together may be more than those of each
        if not context or count_tokens(text) > budget:
            text = _BEGIN + ("" if context else _NOTHING) + _END
        return text.rstrip("\n")

    build_context_for_claude = build_context_for_ai  # the name that scripts know

    def get_memory_stats(self) -> dict[str, Any]:
        """The table in seven numbers and a path. A fix is successful that was applied and
        verified. The rate is of all attempts, also of those that left the table.
        """
        history = self.memory.fixes.history
        totals, ever = history.totals(), self.memory.fixes.totals()
        return {
            "total_fixes_attempted": totals.attempts,
            "successful_fixes": totals.verified,
            "success_rate": _rate(ever.verified, ever.attempts),
            "models_encountered": totals.models,
            "issue_types_seen": totals.issue_types,
            "recent_activity_7days": history.count_since(self._now() - timedelta(days=7)),
            "knowledge_base_size": len(self.knowledge_base.to_json()),
            "memory_directory": str(self.memory_dir),
        }

    def get_daily_statistics(self, days: int = 30) -> list[dict[str, Any]]:
        """Attempts of each day (UTC), oldest first."""
        counted = self.memory.fixes.days(days)
        return [{"date": figures.day.isoformat(), **_count_figures(figures)} for figures in counted]

    def get_model_performance_matrix(self) -> dict[str, dict[str, Any]]:
        """By model and issue type: attempts, what was applied and what succeeded, and `p_success`
        of the next one.
        """
        matrix: dict[str, dict[str, Any]] = {}
        for cell in self.memory.fixes.matrix():
            matrix.setdefault(cell.model, {})[cell.issue_type] = _count_figures(cell)
        return matrix

    def get_issue_trend_analysis(self, days: int = 30) -> dict[str, dict[str, Any]]:
        """By issue type: whether it comes up more often or less often than it did, and on which
        days it came up.
        """
        return {
            trend.issue_type: {
                **_count_figures(trend),
                "direction": trend.direction,
                "earlier": trend.earlier,
                "later": trend.later,
                "p_value": round(trend.p_value, 6),
                "test": trend.test,
                "days": {day.day.isoformat(): day.attempts for day in trend.days if day.attempts},
            }
            for trend in self.memory.fixes.trends(days)
        }

    def get_fixer_effectiveness(self) -> dict[str, dict[str, Any]]:
        """By fixer: attempts, what was applied and what succeeded, and `p_success` of the next one
        with its 90 % interval.
        """
        return {
            record.fixer: {
                **_count_figures(record),
                "interval": [round(bound, 3) for bound in record.interval],
            }
            for record in self.memory.fixes.fixers()
        }

    def export_insights(self, output_file: Where) -> None:
        """Writes everything that is known as one JSON file, in place of one that is there: figures
        to read, and under `records` every record, from which `import_insights` restores it.
        """
        frequent = self.memory.fixes.history.read_knowledge().issues
        insights = {
            "generated_at": self._now().isoformat(),
            "statistics": self.get_memory_stats(),
            "knowledge_base": self._knowledge.export(),
            "model_insights": {name: self.get_model_insights(name) for name in frequent},
            "historical_trends": self.get_daily_statistics(),
        }
        lines = write_lines(self.memory._project)
        self._write_json(output_file, insights, {"records": lines})

    def import_insights(self, source_file: Where, dry_run: bool = False) -> dict[str, Any]:
        """Brings back the records of a file that `export_insights` wrote, as they were; what is here
        stays. Returns how many were added.
        """
        source, dry = check_path("source_file", source_file), check_flag("dry_run", dry_run)
        read = partial(_read_records, source)
        return asdict(load(self.memory._project, read, "user", dry, None, trust=True))

    def export_analytics_data(self, output_file: Where) -> None:
        """Writes the figures, per day, model, issue type and fixer, as one JSON file, in place of
        one that is there.
        """
        figures = {
            "daily_stats": self.get_daily_statistics(),
            "model_performance": self.get_model_performance_matrix(),
            "issue_trends": self.get_issue_trend_analysis(),
            "fixer_comparison": self.get_fixer_effectiveness(),
        }
        self._write_json(output_file, figures)

    def _write_json(
        self, output_file: Where, report: Any, lists: Mapping[str, Iterable[bytes]] | None = None
    ) -> None:
        """`lists` may be long: each item is JSON already, and stands on a line of its own."""
        head = json.dumps(report, indent=2, ensure_ascii=False, default=str).encode()
        with files.writing_atomically(self._target(output_file)) as file:
            file.write(head.removesuffix(b"\n}"))
            for name, items in (lists or {}).items():
                file.write(f',\n  "{name}": ['.encode())
                for number, item in enumerate(items):
                    file.write((b",\n" if number else b"\n") + item)
                file.write(b"\n  ]")
            file.write(b"\n}")

    def _target(self, output_file: Where) -> Path:
        """Where an export goes: any file but a database and what a memory keeps beside its own, and
        in its folder: the database may be a link to elsewhere.
        """
        field, such_as = "output_file", "insights.json"
        place = check_path(field, output_file)
        files.refuse_own(field, place, self.memory_dir / FILE_NAME, such_as, also=_OWN)
        return files.target(field, place, self.db_path, such_as, also=_OWN)

    @property
    def knowledge_base(self) -> KnowledgeBase:
        """Always the same dict, brought up to date. What you add to it stays;
        `_save_knowledge_base` keeps it.
        """
        return self._knowledge.refresh()

    @knowledge_base.setter
    def knowledge_base(self, knowledge: Mapping[str, Any]) -> None:
        self._knowledge.replace(readable("knowledge_base", knowledge))

    def _save_knowledge_base(self) -> None:
        """Keeps what you added to the knowledge base, and writes `knowledge_base.json`."""
        self._knowledge.save()

    def _version(self) -> object:
        """Something else whenever the memory was written to. A look at the files: asking the
        database would take longer.
        """
        stamps = [read_stamp(Path(f"{self.db_path}{suffix}")) for suffix in ("", "-wal")]
        newest_ns = max((stamp[0] for stamp in stamps if stamp), default=0)
        return None if abs(time.time_ns() - newest_ns) < FILE_TIME_UNSURE_NS else stamps

    def import_knowledge_base(self, source_file: Where, dry_run: bool = False) -> dict[str, Any]:
        """Brings in a knowledge base of others, as one source's word. Returns what it brought."""
        source, dry = check_path("source_file", source_file), check_flag("dry_run", dry_run)
        return asdict(adopt.adopt_knowledge_base(source, self.memory, dry_run=dry))

    def migrate_legacy_data(
        self, legacy_db_path: Where, dry_run: bool = False, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Brings in the attempts of an older database, which is only read. Doing it again adds
        nothing. Returns what it brought, what was rejected, and why.
        """
        source, dry = check_path("legacy_db_path", legacy_db_path), check_flag("dry_run", dry_run)
        return asdict(adopt.adopt_fix_history(source, self.memory, dry_run=dry, progress=progress))

    def auto_cleanup(
        self,
        days: float = limits.CLEANUP_DAYS,
        dry_run: bool = False,
        *,
        successes_days: float | None = None,
        by_age: bool = False,
    ) -> dict[str, Any]:
        """Removes old attempts, failed ones sooner than successful ones, which stay three times as
        long, or `successes_days`. Patterns, figures and what is worth more stay, and
        `memory.undo(id)` with each of the `event_ids` takes it back until the memory is compacted.
        `by_age`: all of that age, but for those that somebody vouches for. Returns what was removed.
        """
        dry = check_flag("dry_run", dry_run)
        clean_up = partial(self.memory.cleanup, days, dry, successes_days=successes_days)
        if check_flag("by_age", by_age):
            before_us = cleanup.days_ago(self._now(), "days", days)
            ages = self.memory._project, before_us, before_us
            clean_up = partial(cleanup.clean_up, *ages, "user", dry, None, by_age=True)
        # one takes only so many, so that nobody waits for long: all of them, one after the other
        rounds = [clean_up()]
        while rounds[-1].left and rounds[-1].event_id:
            rounds.append(clean_up())
        last = rounds[-1]
        return {
            "failed": sum(cleaned.failed for cleaned in rounds),
            "successful": sum(cleaned.successful for cleaned in rounds),
            "kept": last.kept,
            "left": last.left,
            "dry_run": last.dry_run,
            "event_ids": [cleaned.event_id for cleaned in rounds if cleaned.event_id],
        }

    def compress_historical_data(self) -> dict[str, int]:
        """Every attempt is packed as it is kept, so all that is left to do is to give back the room
        that nothing takes up any more. Returns the size of the memory before and after.
        """
        store = self.memory._project.store
        before = store.size_bytes()
        store.shrink()
        return {"before_bytes": before, "after_bytes": store.size_bytes()}


def _read_records(path: Path) -> Iterator[AnyRecord]:
    """The records of a file that `export_insights` wrote."""
    with files.disk_errors(path, "read"), path.open("rb") as file:
        lines = (line.strip() for line in file)
        check_that(b'"records": [' in lines, "source_file", str(path), "what export wrote")
        for line in lines:
            if line == b"]":
                break
            yield parse_record(line.removesuffix(b","))


def _announce(adopted: AdoptedInPlace, place: Path) -> None:
    """In two lines: what was done, and how to go back."""
    summary, *more = str(adopted).splitlines()
    summary = summary.partition(": ")[2] + (" (AIMemory.adopted says more)" if more else "")
    _log.warning("an older fix history in %s was adopted: %s", place, summary)
    exchange = f"rm -f {FILE_NAME}-wal {FILE_NAME}-shm && mv {adopted.kept_as} {FILE_NAME}"
    folder = shlex.quote(str(place))
    _log.warning("to go back: when nothing uses it, cd %s && %s", folder, exchange)


_beside: Final[list[str]] = []  # modules of projects that stand in for this one


def look_beside(module: str) -> None:
    """The usual folder is that beside the folder of this module, as fix history has always had it."""
    if module not in _beside:
        _beside.append(module)


def usual_place() -> Path:
    """The folder of a memory where nobody names one."""
    if named := os.environ.get("HARDWON_AIMEMORY", "").strip():
        return Path(named)
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    modules = [Path(module).absolute().parents for module in _beside]
    folders = [folder for parents in modules for folder in (parents[1], parents[0])]
    folders += [Path(), *(Path(script).resolve().parents[:2] if script else ())]
    places = [folder / DEFAULT_DIR for folder in folders]
    return next((place for place in places if place.is_dir()), places[0])


def _warn(category: type[FixHistoryWarning], but: str) -> None:
    warnings.warn(f"the attempt was recorded, but {but}", category, stacklevel=3)


def generate_issue_signature(issue_data: Mapping[str, Any]) -> str:
    """16 hexadecimal digits by the fix-history formula: issue type, the model's name before its
    tag, the first 50 characters of the prompt, and the length of the response.
    """
    return fix_history_signature(readable("issue_data", issue_data))


def _row(fix: FixRow) -> dict[str, Any]:
    """An attempt under the names of the table's columns, commands and system information as JSON
    text; and under names that other readers of fix history know: `ai_analysis` and `analysis`;
    `success` and `successful`, for what was applied and verified.
    """
    applied, verified = bool(fix.fix_success), bool(fix.verification_success)
    row = {**fix._asdict(), "fix_success": applied, "verification_success": verified}
    row |= dict.fromkeys(("ai_analysis", "analysis"), fix.claude_analysis)
    return row | dict.fromkeys(("success", "successful"), applied and verified)


def _rate(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def _count_figures(figures: FixDay | FixCell | FixerRecord | IssueTrend) -> dict[str, Any]:
    counted = {
        "total_attempts": figures.attempts,
        "applied": figures.applied,
        "successful": figures.verified,
        "applied_rate": _rate(figures.applied, figures.attempts),
        "success_rate": _rate(figures.verified, figures.attempts),
    }
    if isinstance(figures, FixCell | FixerRecord):
        counted["p_success"] = round(figures.p_success, 3)
    return counted
