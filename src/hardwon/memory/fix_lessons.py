"""What fixes taught, read from the store's counts and put into words: odds, strategies, patterns,
models, similar issues. Texts are looked up last, and only for what is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.lessons.fix_odds import (
    NOTHING,
    WEIGHTS,
    Attempts,
    FixCounts,
    Items,
    Odds,
    Rated,
    add_up,
    estimate_fix,
    estimate_tool,
    get_confidence,
    hear_items,
)
from hardwon.lessons.fixes import (
    PatternKind,
    RankedStrategy,
    Scope,
    Tried,
    choose,
    note_performance,
    rank_strategies,
)
from hardwon.lessons.issues import (
    degree_of_words,
    document_signature,
    generate_issue_signature,
    issue_subject,
    signature_keys,
)
from hardwon.lessons.keys import BETWEEN_NAMES, exact_key, tried_key
from hardwon.lessons.lesson import EVIDENCE_SHOWN_MAX, Lesson
from hardwon.lessons.sources import share_out
from hardwon.memory.project import Project
from hardwon.memory.results import SimilarIssues
from hardwon.memory.rules import RuleReading
from hardwon.memory.tallies import (
    COMPARED_MAX,
    CONSIDERED_MAX,
    keep_kind,
    read_once,
)
from hardwon.records.fields import Tabular, from_us
from hardwon.records.kinds import ROUTES, Cleaned, Fix, Issue
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.store.types import Found

# Issue types whose hours and weekdays are tested. Each more makes every finding less certain.
ISSUE_TYPES_TESTED_MAX: Final = 50

# Strategies, or issue types, in one list of the fix-history tables, of the knowledge base and of what
# is told of one model. A fixer reads the first few.
FIXES_LISTED_MAX: Final = 10

_TOOLS: Final = sorted({tool for _, tool in ROUTES if tool})
_SCOPES: Final[dict[PatternKind, str]] = {"exact": "signature", "model": "model", "type": "type"}


@dataclass(frozen=True)
class Strategy(Rated):
    """One way of fixing something, and how it went. Commands are data: nothing here runs them."""

    id: str
    fix_commands: tuple[str, ...]
    analysis: str
    attempts: int
    applied: int
    verified: int
    p_success: float
    strength: float
    last_used: datetime
    evidence: tuple[str, ...]
    sources: tuple[str, ...] = ()
    vouched: int = 0

    @property
    def action(self) -> str:
        """What it does: its commands, else what was found to be the cause."""
        return " && ".join(self.fix_commands) or self.analysis

    def as_lesson(self, issue: str) -> Lesson:
        """The same as what helped against an issue, which these words tell."""
        counts = (self.attempts, self.verified, self.p_success)
        return Lesson("", "cure", issue, self.action, *counts, self.last_used, self.evidence)


class Used(NamedTuple):
    """The last fixes that used a strategy, of which one is read."""

    record: Fix | Cleaned
    hits: Sequence[Found]


def word_strategy(ranked: RankedStrategy, used: Used) -> Strategy:
    """The strategy in the words of a fix that used it, cut where what they were compared by ends."""
    support, counts, record = ranked.support, ranked.share, used.record
    newest = sorted(used.hits, key=lambda hit: (hit.at_us, hit.id), reverse=True)
    return Strategy(
        id=support.item,
        fix_commands=tuple(record.fix_commands),
        analysis=" ".join(record.analysis.split())[: limits.LESSON_CHARS_MAX],
        attempts=counts.attempts,
        applied=counts.applied,
        verified=counts.verified,
        p_success=ranked.p_success,
        strength=counts.weight + WEIGHTS["strategy"],
        last_used=from_us(newest[0].at_us),
        evidence=tuple(one.id for one in newest[:EVIDENCE_SHOWN_MAX]),
        sources=tuple(sorted(support.by_author)),
        vouched=support.whole.checked,
    )


@dataclass(frozen=True)
class Pattern(Rated):
    """An issue that came up: `exact` (the same signature), `model` (a model and issue type) or
    `type` (an issue type on any model). A success is applied and verified. `p_success` is of what
    is counted, `best_fix` the strategy most likely to succeed among those that ever did.
    `signature` is that of its newest fix, by fix history's formula, as its tables have it.
    """

    name: str
    kind: PatternKind
    issue_type: str
    model: str | None
    signature: str
    success_count: int
    failure_count: int
    applied_count: int
    p_success: float
    strength: float
    last_seen: datetime
    best_fix: Strategy | None

    @property
    def confidence(self) -> float:
        """`min(1, attempts / 10)`, as fix history defines it."""
        return get_confidence(self.success_count + self.failure_count)


@dataclass(frozen=True)
class ModelInsights(Tabular):
    """What is known of a model. `success_rate` is the plain share of attempts that were applied and
    verified; `odds` has the probability of the next one. `common_issues` and `effective_fixes` are
    the most frequent, and the likeliest to work, first.
    """

    model_name: str
    total_tests: int
    success_rate: float
    odds: Odds
    common_issues: tuple[tuple[str, int], ...]
    effective_fixes: tuple[Strategy, ...]
    performance_notes: tuple[str, ...]
    last_updated: datetime | None


def _count_surplus(ranked: RankedStrategy) -> float:
    """How many more of its attempts were verified than were not; below 0 where fewer were."""
    return 2 * ranked.share.verified - ranked.share.attempts


class FixReading(RuleReading):
    """What is known of fixes."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._counts: dict[tuple[str, str], Items] = {}

    def read_counts(self, scope: str, key: str) -> Items:
        """What was counted under a key, by item, as it weighs today."""
        self._read_ahead([(scope, key)])
        return self._counts[scope, key]

    def _read_ahead(self, places: Iterable[tuple[str, str | None]]) -> None:
        """Attempts that are about to be asked for, in one go; None is no key."""
        unread = [
            (scope, key)
            for scope, key in dict.fromkeys(places)
            if key is not None and (scope, key) not in self._counts
        ]
        if unread:
            sums = self._store.sums(self.project, unread, self.today)
            self._counts |= {place: hear_items(sums.get(place, {})) for place in unread}

    def fix_odds(
        self,
        issue: Issue | None = None,
        *,
        model: str | None = None,
        issue_type: str | None = None,
        signature: str | None = None,
        fixer: str | None = None,
        action: str = "",
    ) -> Odds:
        """How likely a fix is to succeed, from the counts at each level: of an issue, by what is done
        about it where that is said, or of a model, an issue type and a signature, where they are
        named.
        """
        subject = degree = None
        if issue:
            degree = degree_of_words(action, issue)
            model, issue_type = issue.model, issue.issue_type
            subject, signature = issue_subject(issue), generate_issue_signature(issue)
        named = {
            "fix": "",
            "fix.type": issue_type,
            "fix.model": model,
            "fix.subject": subject,
            "fix.signature": signature,
            "fix.words": issue_type if degree else None,
        }
        self._read_ahead(named.items())
        items = {
            scope: None if key is None else self._counts[scope, key] for scope, key in named.items()
        }
        around = (*(items["fix.model"] or ()), *(items["fix.subject"] or ()))
        named_types = (issue_type, *(item.partition(BETWEEN_NAMES)[0] for item in around))
        types = [name for name in dict.fromkeys(named_types) if name][:ISSUE_TYPES_TESTED_MAX]
        self._read_ahead(("fix.type", name) for name in types)
        known = FixCounts(
            everything=self._counts["fix", ""],
            types={name: self._counts["fix.type", name] for name in types},
            issue_type=issue_type,
            model=items["fix.model"],
            subject=items["fix.subject"],
            signature=items["fix.signature"],
            words=(items["fix.words"] or {}).get(degree or "", NOTHING),
        )
        return estimate_fix(known, fixer)

    def tool_odds(self, tool: str, task: str | None) -> Odds:
        """How likely a tool is to work, at a task or at any."""
        tools = {name: self.read_counts("tool", name) for name in (tool, *_TOOLS)}
        return estimate_tool(tools, tool, task)

    def strategies(
        self,
        scope: str,
        key: str,
        usual_p: float,
        limit: int,
        *,
        issue_type: str | None = None,
        successful: bool = False,
    ) -> list[Strategy]:
        """What was done, the likeliest to succeed first; of a model, at one issue type or at all."""
        ranked = self._rank(scope, key, usual_p, issue_type)
        wanted = (one for one in ranked if one.share.verified or not successful)
        return self._word(wanted, limit, scope, key, issue_type)

    def failed_strategies(self, issue_type: str, usual_p: float, limit: int) -> list[Strategy]:
        """What failed more often than it succeeded, what failed most first."""
        ranked = self._rank("type", issue_type, usual_p)
        ranked.sort(key=_count_surplus)
        wanted = (one for one in ranked if _count_surplus(one) < 0)
        return self._word(wanted, limit, "type", issue_type)

    def _rank(
        self, scope: str, key: str, usual_p: float, issue_type: str | None = None
    ) -> list[RankedStrategy]:
        tried = self._find_strategies(scope, key, issue_type).values()
        return rank_strategies(tried, usual_p, alone=self.has_one_source("fix"))

    def _word(
        self,
        ranked: Iterable[RankedStrategy],
        limit: int,
        scope: str,
        key: str,
        issue_type: str | None = None,
    ) -> list[Strategy]:
        """As many as are wanted of those that can be put into words."""
        read = ((one, self.read_fixes(one, scope, key, issue_type)) for one in ranked)
        return list(islice((word_strategy(one, used) for one, used in read if used), limit))

    def read_fixes(
        self, ranked: RankedStrategy, scope: str, key: str, issue_type: str | None = None
    ) -> Used | None:
        """The last fixes that did it, those first that did not leave the history; None where none can be
        read.
        """
        strategy, most = ranked.support.item, EVIDENCE_SHOWN_MAX
        keys = [
            tried_key(key, strategy) if scope == "signature" else exact_key("strategy", strategy)
        ]
        named = issue_type if scope == "model" else key if scope == "type" else None
        asked = Filters(kind="fix", issue_type=named, model=key if scope == "model" else None)
        hits = self._store.by_key(self.project, keys, asked, most)
        if self._has_remains():
            left = asked.copy_with(kind="cleaned")
            hits += self._store.by_key(self.project, keys, left, most)
        record = next(readable(hits), None)
        return Used(record, hits) if isinstance(record, Fix | Cleaned) else None

    @read_once
    def _has_remains(self) -> bool:
        """Whether any fix left the history."""
        return bool(self._store.page(self.project, Filters(kind="cleaned"), None, 1))

    def _find_strategies(
        self, scope: str, key: str, issue_type: str | None = None
    ) -> dict[str, Tried]:
        """What was done about an issue type, by a model's name or by a signature, by strategy."""

        def name(item: str) -> str:
            """The strategy; "" where it was for another issue type."""
            about, _, strategy = item.rpartition(BETWEEN_NAMES)
            return strategy if scope != "model" or issue_type in (None, about) else ""

        tried = self._read_attempts(f"strategy.{scope}", key, name)
        keys = {exact_key("strategy", item): item for item in tried}
        for key_of, at_us in self._store.find_times(self.project, [*keys], last=True).items():
            tried[keys[key_of]].last_us = at_us
        return tried

    def _read_attempts(self, scope: str, key: str, name: Callable[[str], str]) -> dict[str, Tried]:
        """What was counted under a key, by the names of the items; without those that have none."""
        counted = self._store.attempts(self.project, scope, key, self.today, CONSIDERED_MAX)
        groups: dict[str, dict[str, list[Attempts]]] = defaultdict(lambda: defaultdict(list))
        for item, by_author in counted.items():
            for author, attempts in by_author.items() if name(item) else ():
                groups[name(item)][author].append(attempts)
        return {
            item: Tried(item, {author: add_up(parts) for author, parts in by_author.items()})
            for item, by_author in groups.items()
        }

    def read_fixes_for(self, ranked: RankedStrategy, issue: Issue) -> Used | None:
        """Those of the issue or its like that did it."""
        keys = {
            "signature": generate_issue_signature(issue),
            "model": issue.model,
            "type": issue.issue_type,
        }
        return self.read_fixes(ranked, ranked.scope, keys[ranked.scope], issue.issue_type)

    def choose_for(
        self, issue: Issue, fixer: str | None
    ) -> tuple[list[RankedStrategy], list[RankedStrategy]]:
        """What worked for an issue or its like, and what is not to be repeated, without texts. `fixer`:
        whose usual odds they are compared with.
        """
        tried: dict[Scope, dict[str, Tried]] = {
            "signature": self._find_strategies("signature", generate_issue_signature(issue)),
            "model": self._find_strategies("model", issue.model, issue.issue_type)
            if issue.model
            else {},
            "type": self._find_strategies("type", issue.issue_type),
        }
        if not any(tried.values()):
            return [], []
        usual_p = self.fix_odds(issue, fixer=fixer).p_success
        return choose(tried, usual_p, alone=self.has_one_source("fix"))

    def find_issues(self, model: str) -> list[Tried]:
        """What is known of a model's fixes, by issue type, the most frequent first."""
        by_type = self._read_attempts(
            "fix.model", model, lambda item: item.partition(BETWEEN_NAMES)[0]
        )
        return sorted(by_type.values(), key=lambda one: (-one.whole.attempts, one.item))

    def write_notes(self, model: str, issues: Sequence[Tried]) -> tuple[str, ...]:
        """What is to be said of a model's fixes at these issue types."""
        self._read_ahead(("fix.type", one.item) for one in issues)
        counts = {
            one.item: (one.whole, add_up(self._counts["fix.type", one.item].values()))
            for one in issues
        }
        return note_performance(model, counts)

    def patterns(self, limit: int) -> list[Pattern]:
        """The most frequent are found first, then each is looked into."""
        places = [
            (kind, f"fix.{scope}", key)
            for kind, scope in _SCOPES.items()
            for key in self._store.list_frequent(self.project, f"fix.{scope}", limit)
        ]
        self._read_ahead((scope, key) for _, scope, key in places)
        counted: list[tuple[PatternKind, str, str | None, Attempts]] = []
        for kind, scope, key in places:
            by_type: dict[str, list[Attempts]] = {}
            for item, counts in self._counts[scope, key].items():
                of_type = item.partition(BETWEEN_NAMES)[0] if kind == "model" else ""
                by_type.setdefault(of_type, []).append(counts)
            counted += [(kind, key, name or None, add_up(one)) for name, one in by_type.items()]
        counted.sort(key=lambda one: (-one[3].attempts, one[0], one[1], one[2] or ""))
        return list(islice(filter(None, (self._word_pattern(*one) for one in counted)), limit))

    def _word_pattern(
        self, kind: PatternKind, key: str, of_type: str | None, counted: Attempts
    ) -> Pattern | None:
        """None where none of its fixes can be read."""
        scope = _SCOPES[kind]
        named = {"issue_type": key} if kind == "type" else {"model": key, "issue_type": of_type}
        fixes: list[Fix | Cleaned] = []
        if kind == "exact":
            hits = self._store.by_key(self.project, [f"signature:{key}"], Filters(kind="fix"), 1)
            fixes += keep_kind(Fix, hits)
            left = [exact_key("cleaned", document_signature(fix)) for fix in keep_kind(Fix, hits)]
            remains = self._store.by_key(self.project, left, Filters(kind="cleaned"), 1)
            fixes += keep_kind(Cleaned, remains)
        else:
            fixes += self._newest(Filters(kind="fix", **named), Fix, 1)
            fixes += self._newest(Filters(kind="cleaned", **named), Cleaned, 1)
        if not fixes:
            return None
        last = max(fixes, key=lambda fix: (fix.at_us, fix.id))
        issue = last if isinstance(last, Cleaned) else last.issue
        model = None if kind == "type" else issue.model
        # of what is counted: a signature holds a family's models, and one of them is not asked for
        odds = self.fix_odds(
            model=model if kind == "model" else None,
            issue_type=issue.issue_type,
            signature=key if kind == "exact" else None,
        )
        # that of the tables, whatever they were found by
        signature = last.signature if isinstance(last, Cleaned) else document_signature(last)
        best = self.strategies(scope, key, odds.p_success, 1, issue_type=of_type, successful=True)
        where = f" on {model}" if model else ""
        where = f"{where} [{signature}]" if kind == "exact" else where or " on any model"
        return Pattern(
            name=f"{issue.issue_type}{where}",
            kind=kind,
            issue_type=issue.issue_type,
            model=model,
            signature=signature,
            success_count=counted.verified,
            failure_count=counted.attempts - counted.verified,
            applied_count=counted.applied,
            p_success=odds.p_success,
            strength=odds.strength,
            last_seen=last.metadata.context.timestamp,
            best_fix=best[0] if best else None,
        )

    def best_strategies(self, limit: int) -> dict[str, list[Strategy]]:
        """Of every issue type that something succeeded at; of very many types, of the most
        frequent.
        """
        types = self._store.list_frequent(self.project, "fix.type", ISSUE_TYPES_TESTED_MAX)
        best: dict[str, list[Strategy]] = {}
        for name in types:
            usual_p = self.fix_odds(issue_type=name).p_success
            if strategies := self.strategies("type", name, usual_p, limit, successful=True):
                best[name] = strategies
        return best

    def model_insights(self, name: str) -> ModelInsights:
        """What is known of a model."""
        by_type, most = self.find_issues(name), FIXES_LISTED_MAX
        odds = self.fix_odds(model=name)
        ranked = [one for one in self._rank("model", name, odds.p_success) if one.share.verified]
        sources = {author for support in by_type for author in support.by_author}
        if len(sources) > 1:
            ranked = list(share_out(ranked, attrgetter("source"), most, len(sources)))
        fixes = self._word(ranked, most, "model", name)
        newest = self._newest(Filters(kind="fix", model=name), Fix, 1)
        return ModelInsights(
            model_name=name,
            total_tests=odds.attempts,
            success_rate=odds.verified / odds.attempts if odds.attempts else 0.0,
            odds=odds,
            common_issues=tuple((one.item, one.whole.attempts) for one in by_type[:most]),
            effective_fixes=tuple(fixes),
            performance_notes=self.write_notes(name, by_type[:most]),
            last_updated=newest[0].metadata.context.timestamp if newest else None,
        )

    def similar_issues(self, issue: Issue, limit: int) -> SimilarIssues:
        """Earlier attempts at an issue or its like, successes first."""
        keys, most = signature_keys(issue), COMPARED_MAX
        hits = self._store.by_key(self.project, keys, Filters(), most)
        exact = keep_kind(Fix, hits)
        of_type = Filters(kind="fix", issue_type=issue.issue_type)
        model = self._newest(of_type.copy_with(model=issue.model), Fix)

        def successes_first(fix: Fix) -> tuple[bool, bool, int, str]:
            """For sorting: what was verified, then what was applied, the newest first."""
            return not fix.succeeded, not fix.fix_success, -fix.at_us, fix.id

        groups = (exact, model, self._newest(of_type, Fix))
        return SimilarIssues(*(sorted(fixes, key=successes_first)[:limit] for fixes in groups))
