"""What the memory knows, put together from the store's tallies and decisions by `learn`. Texts are
looked up last, and only for what is shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Unpack

from hardwon import limits
from hardwon.errors import DamagedError, T
from hardwon.first_use import lazy
from hardwon.learn.actions import (
    ANY_FAILURE,
    EVERYTHING,
    ActionKey,
    Outcomes,
    judge_steps,
    pairs_of,
)
from hardwon.learn.fixes import (
    Choices,
    ModelHistory,
    ModelInsights,
    Pattern,
    PatternKind,
    RankedStrategy,
    Solution,
    Strategy,
    TemporalPattern,
    TriedIn,
    choices,
    equally_likely,
    pattern_name,
    performance_notes,
    rank_solutions,
    rank_strategies,
    strategy_from,
    temporal_patterns,
)
from hardwon.learn.odds import FixCounts, Odds, Share, Shares, fix_odds, tool_odds
from hardwon.learn.rules import (
    STATE_ORDER,
    Card,
    Comparison,
    Rule,
    RuleKind,
    Scored,
    ScoreHistory,
    TaskScores,
    Thresholds,
    Weighed,
    card_from,
    card_in,
    compare,
    holds_for_project,
    merged_items,
    project_rule,
    ranked_cards,
    rule_from,
    rule_text,
    score_history,
    task_scores,
    weigh,
    written_rule,
)
from hardwon.learn.support import (
    TRAINING_MEMORY,
    AdoptedClaims,
    Evidence,
    adopted_card,
    adopted_claims,
    adopted_text,
    cards_of,
    gather,
    rules_of,
)
from hardwon.learn.tallies import (
    BETWEEN_NAMES,
    Tally,
    degree_of_words,
    document_signature,
    exact_key,
    generate_issue_signature,
    issue_subject,
    rule_key,
    signature_keys,
)
from hardwon.lessons.sources import by_turns, few_of_each, share_out
from hardwon.memory.project import Group, Project, R
from hardwon.memory.results import SimilarIssues
from hardwon.records.fields import (
    check_all,
    check_text,
    check_that,
    from_us,
    is_derived,
)
from hardwon.records.kinds import (
    ROUTES,
    Action,
    Adopted,
    AnyRecord,
    Cleaned,
    Decision,
    Episode,
    Fix,
    Issue,
    MistakeCard,
    Trajectory,
)
from hardwon.search.terms import Filters, MoreFilters
from hardwon.store.query import readable, written_in
from hardwon.store.types import Daily, Stored
from hardwon.text.clean import clean_action
from hardwon.text.outcomes import describe_failure
from hardwon.trust.lifecycle import least

# Episodes that a comparison of runs reads, the newest: a second of work, and more would not change
# its interval.
COMPARED_EPISODES_MAX: Final = 20_000

# Actions that were taken after an error and are weighed, those that helped most often: a common error
# has thousands, most of which helped nobody.
_SOLUTIONS_CONSIDERED_MAX: Final = 100

# The newest scores of a task that its history lists, and its trend is computed from.
_SCORES_SHOWN_MAX: Final = 100

P = ParamSpec("P")

_RULE_KINDS: Final[tuple[RuleKind, ...]] = ("works", "avoid")
_WRITTEN: Final[RuleKind] = "written"
# Decisions that change which rules there are.
RULE_ACTIONS: Final[tuple[Action, ...]] = ("rule", "merge", "promote", "retire")

# times as many lessons as are shown: for those that a source has no room left for
_CONSIDERED: Final = 4

_TOOLS: Final = sorted({tool for _, tool in ROUTES if tool})
_PATTERN_SCOPES: Final[Mapping[PatternKind, str]] = {
    "exact": "signature",
    "model": "model",
    "type": "type",
}


def _read_once(
    read: Callable[Concatenate[Knowledge, P], T],
) -> Callable[Concatenate[Knowledge, P], T]:
    """What was read for one part of an answer is not read again for another."""

    @wraps(read)
    def kept(self: Knowledge, /, *args: P.args, **options: P.kwargs) -> T:
        key = (read, *args)
        if key not in self._kept:
            self._kept[key] = read(self, *args, **options)
        found: T = self._kept[key]
        return found

    return kept


class Knowledge:
    """Everything that can be asked of one project. Made anew for every question."""

    def __init__(self, project: Project) -> None:
        self._store, self.project = project.store, project.name
        self.today = project.today
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._shares: dict[tuple[str, str], Shares] = {}
        self._stored: dict[str, Stored | None] = {}
        self._records: dict[str, AnyRecord | None] = {}
        self._acts_alone: bool | None = None  # whether a single source ever took any action

    @_read_once
    def daily(self, scope: str, key: str) -> list[Daily]:
        """Counts by item and day."""
        return self._store.daily(self.project, scope, key)

    def shares(self, scope: str, key: str) -> Shares:
        """The same, added up."""
        if (scope, key) not in self._shares:
            self._read_shares((scope, key))
        return self._shares[scope, key]

    def _read_shares(self, *places: tuple[str, str | None]) -> None:
        """Those that are about to be asked for, in one go; None is no key."""
        unread = [
            (scope, key)
            for scope, key in places
            if key is not None and (scope, key) not in self._shares
        ]
        if unread:
            found = self._store.shares(self.project, unread, self.today)
            self._shares |= {place: Shares(dict(found.get(place, ()))) for place in unread}

    @_read_once
    def _has_one_source(self, scope: str) -> bool:
        return self._store.has_one_source(self.project, scope)

    def outcomes(self, keys: Sequence[ActionKey]) -> dict[ActionKey, Outcomes]:
        """What became of actions, by what they are judged by."""
        found, alone = self._store.outcomes(self.project, keys, self.today)
        if EVERYTHING in keys:
            self._acts_alone = alone
        return found

    def counts(self, keys: Sequence[ActionKey]) -> dict[ActionKey, Outcomes]:
        """The same, however long ago it was."""
        return self._store.counts_of_actions(self.project, keys)

    def _all(self, scope: str, key: str) -> list[Tally]:
        return self._store.tallies(self.project, scope, key, limits.CONSIDERED_MAX)

    def supports(
        self, scope: str, key: str, same: Mapping[str, str] | None = None
    ) -> dict[str, Evidence]:
        return gather(self._all(scope, key), same)

    def _first(self, ids: Iterable[str], read: Callable[[AnyRecord], T | None]) -> T | None:
        """The first thing that can be read off some records."""
        records = (record for record_id in ids if (record := self.record(record_id)))
        return next((found for found in map(read, records) if found is not None), None)

    def record(self, record_id: str) -> AnyRecord | None:
        """None also where it cannot be read: one damaged record must not hide what the others
        say.
        """
        if record_id not in self._records:
            stored = self._stored_as(record_id)
            self._records[record_id] = next(readable([stored]), None) if stored else None
        return self._records[record_id]

    def _stored_as(self, record_id: str) -> Stored | None:
        if record_id not in self._stored:
            self._stored[record_id] = self._store.get(self.project, record_id)
        return self._stored[record_id]

    @property
    def read(self) -> dict[str, AnyRecord]:
        """The records that were read so far."""
        return {each: record for each, record in self._records.items() if record}

    def read_ahead(self, ids: Iterable[str]) -> None:
        """Records that are about to be asked for, in one go."""
        wanted = [each for each in dict.fromkeys(ids) if each not in self._stored]
        found = self._store.get_many(self.project, wanted) if wanted else ()
        self._stored.update((stored.id, stored) for stored in found)

    # --- how likely ---

    def fix_odds(
        self,
        issue: Issue | None,
        model: str | None,
        issue_type: str | None,
        fixer: str | None,
        action: str = "",
    ) -> Odds:
        subject = signature = degree = None
        if issue:
            degree = degree_of_words(action, issue) or None
            model, issue_type = issue.model, issue.issue_type
            subject, signature = issue_subject(issue), generate_issue_signature(issue)
        self._read_shares(
            ("fix", ""),
            ("fix.type", issue_type),
            ("fix.model", model),
            ("fix.subject", subject or None),
            ("fix.signature", signature),
            ("fix.words", issue_type if degree else None),
        )
        of_model = None if model is None else self.shares("fix.model", model)
        of_subject = self.shares("fix.subject", subject) if subject else None
        types = Counter[str]() if issue_type is None else Counter({issue_type: 1})
        for shares in filter(None, (of_model, of_subject)):
            for item, share in shares.items.items():
                types[item.partition(BETWEEN_NAMES)[0]] += share.attempts
        most = sorted(types, key=lambda name: (name != issue_type, -types[name], name))[
            : limits.ISSUE_TYPES_TESTED_MAX
        ]
        self._read_shares(*(("fix.type", name) for name in most))
        counts = FixCounts(
            everything=self.shares("fix", ""),
            types={name: self.shares("fix.type", name) for name in most},
            issue_type=issue_type,
            model=of_model,
            subject=of_subject,
            signature=None if signature is None else self.shares("fix.signature", signature),
            words=self.shares("fix.words", issue_type or "").item(degree) if degree else Share(),
        )
        return fix_odds(counts, fixer)

    def tool_odds(self, tool: str, task: str | None) -> Odds:
        daily = {name: self.daily("tool", name) for name in (tool, *_TOOLS)}
        return tool_odds(daily, tool, task, self.today)

    # --- fixes ---

    def strategies(
        self,
        scope: str,
        key: str,
        usual_p: float,
        limit: int,
        *,
        issue_type: str | None = None,
        successful: bool = False,
        sources: int = 1,
    ) -> list[Strategy]:
        """Ranked; of a model, whose items name an issue type as well, those of one type or of all.
        What several found out, or somebody vouches for, comes before what one source alone says;
        of several `sources` none has more than its share of them.
        """
        found = self._ranked_strategies(scope, key, usual_p, issue_type, successful=successful)
        most = limits.SHARED_OUT_OF_MAX if sources > 1 else _CONSIDERED * limit
        ranked: Iterable[RankedStrategy] = by_turns(
            islice(found, most), lambda each: each.support.only_source
        )
        if sources > 1:
            ranked = share_out(ranked, lambda each: each.support.only_source, limit, sources)
        return list(islice(filter(None, map(self.worded_strategy, ranked)), limit))

    def _ranked_strategies(
        self, scope: str, key: str, usual_p: float, issue_type: str | None, *, successful: bool
    ) -> Iterator[RankedStrategy]:
        """As `rank_strategies` has them. Who used a strategy, and when, is only looked up for those
        that somebody wants.
        """
        shares: dict[str, Share] = {}
        items: dict[str, list[str]] = {}
        for item, share in self._shares_of_strategies(scope, key):
            about, between, strategy = item.rpartition(BETWEEN_NAMES)
            if not between or issue_type in (None, about):
                shares.setdefault(strategy, Share()).include(share)
                items.setdefault(strategy, []).append(item)
        wanted = {
            strategy: share
            for strategy, share in shares.items()
            if share.verified or not successful
        }
        for strategies in equally_likely(wanted, usual_p):
            named = {item: each for each in strategies for item in items[each]}
            supports = self._supports_of(f"strategy.{scope}", key, named)
            yield from rank_strategies(supports, shares, usual_p)

    def failed_strategies(self, issue_type: str, usual_p: float, limit: int) -> list[Strategy]:
        """Which failed more often than they succeeded is known from their counts; only those that
        are told are looked up.
        """
        failed = [
            (strategy, share)
            for strategy, share in self._shares_of_strategies("type", issue_type)
            if share.attempts > 2 * share.verified
        ]
        failed.sort(
            key=lambda each: (2 * each[1].verified - each[1].attempts, each[1].verified, each[0])
        )
        shares = dict(failed)
        ranked = (
            each
            for strategy in shares
            for each in rank_strategies(
                self._supports_of("strategy.type", issue_type, {strategy: strategy}),
                shares,
                usual_p,
            )
        )
        return list(islice(filter(None, map(self.worded_strategy, ranked)), limit))

    def _shares_of_strategies(self, scope: str, key: str) -> list[tuple[str, Share]]:
        alone, most = self._has_one_source("fix"), limits.CONSIDERED_MAX
        place = f"strategy.{scope}", key
        found = self._store.shares(self.project, [place], self.today, most, alone=alone)
        return found.get(place, [])

    def _supports_of(
        self, scope: str, key: str, strategies: Mapping[str, str]
    ) -> Iterable[Evidence]:
        """Of the strategies that items stand for."""
        found = self._store.tallies_of_items(self.project, scope, key, list(strategies))
        return gather(found, strategies).values()

    def _tried(self, scope: str, key: str, issue_type: str | None = None) -> dict[str, Evidence]:
        """What was done about an issue type, by a model's name or by a signature, by strategy."""
        found = self._all(f"strategy.{scope}", key)
        if scope != "model":
            return gather(found)
        named = ((tally.item.rpartition(BETWEEN_NAMES), tally) for tally in found)
        return gather(
            tally._replace(item=strategy)
            for (about, _, strategy), tally in named
            if issue_type in (None, about)
        )

    def worded_strategy(self, ranked: RankedStrategy) -> Strategy | None:
        """In the words of a fix that used it; None where none can be read."""
        did = self._first(
            ranked.support.sample_ids,
            # what was done is told also by a fix that left the history
            lambda record: record if isinstance(record, Fix | Cleaned) else None,
        )
        return strategy_from(ranked, did) if isinstance(did, Fix | Cleaned) else None

    def choices_for(self, issue: Issue, fixer: str | None) -> Choices:
        """What worked for an issue or its like, and what is not to be repeated, without texts."""
        tried: TriedIn = {
            "signature": self._tried("signature", generate_issue_signature(issue)),
            "model": self._tried("model", issue.model, issue.issue_type) if issue.model else {},
            "type": self._tried("type", issue.issue_type),
        }
        if not any(tried.values()):
            return Choices([], [])
        usual_p = self.fix_odds(issue, None, None, fixer).p_success
        return choices(tried, usual_p, self.today, alone=self._has_one_source("fix"))

    def model_history(self, name: str, fixer: str | None) -> ModelHistory | None:
        """How fixes of a model went so far; None where there were none. An issue type that a single
        source came up with, where there are several, is not among its issues: what it is called are
        that source's words alone.
        """
        by_type = self._issues_on(name)
        if not by_type:
            return None
        whole = self.shares("fix.model", name).whole
        sources = sorted({author for support in by_type for author in support.authors})
        heard = [each for each in by_type if len(sources) == 1 or each.only_source is None]
        issues = heard[: limits.FIXES_LISTED_MAX]
        return ModelHistory(
            model_name=name,
            attempts=whole.attempts,
            verified=whole.verified,
            p_success=self.fix_odds(None, name, None, fixer).p_success,
            issues=tuple((each.item, each.records) for each in issues),
            notes=self._notes_on(name, issues),
            sources=tuple(sources),
            vouched=sum(support.vouched for support in by_type),
        )

    def _issues_on(self, model: str) -> list[Evidence]:
        """What is known of a model's fixes, by issue type, the most frequent first."""
        by_type = gather(
            tally._replace(item=tally.item.partition(BETWEEN_NAMES)[0])
            for tally in self._all("fix.model", model)
        )
        return sorted(by_type.values(), key=lambda each: (-each.records, each.item))

    def _notes_on(self, model: str, issues: Iterable[Evidence]) -> tuple[str, ...]:
        shares = {
            each.item: (
                Share.of(each.tallies, self.today),
                self.shares("fix.type", each.item).whole,
            )
            for each in issues
        }
        return performance_notes(model, shares)

    def patterns(self, limit: int) -> list[Pattern]:
        """The most frequent are found first, then each is looked into."""
        places: dict[PatternKind, list[tuple[str, str]]] = {
            kind: [
                (f"fix.{scope}", key)
                for key in self._store.most_counted(self.project, f"fix.{scope}", limit)
            ]
            for kind, scope in _PATTERN_SCOPES.items()
        }
        self._read_shares(*chain(*places.values()))
        found: list[tuple[PatternKind, str, str, Share]] = [
            (kind, key, "", self.shares(scope, key).whole)
            for kind in ("exact", "type")
            for scope, key in places[kind]
        ]
        for _, model in places["model"]:
            shares = self.shares("fix.model", model)
            starts = sorted(
                {item.partition(BETWEEN_NAMES)[0] + BETWEEN_NAMES for item in shares.items}
            )
            found += [("model", model, start, shares.beginning(start)) for start in starts]
        found.sort(key=lambda each: (-each[3].attempts, each[0], each[1]))
        return list(islice(filter(None, (self._pattern(*each) for each in found)), limit))

    def _pattern(
        self, kind: PatternKind, key: str, item_start: str, counted: Share
    ) -> Pattern | None:
        scope = _PATTERN_SCOPES[kind]
        newest = self._store.newest_taught(
            self.project, f"fix.{scope}", key, item_start, limits.EVIDENCE_SHOWN_MAX
        )
        fix = self._first(
            (record_id for _, record_id in newest),
            lambda record: record if isinstance(record, Fix) else None,
        )
        if fix is None:
            return None
        issue, model = fix.issue, None if kind == "type" else fix.issue.model
        odds = self.fix_odds(issue if kind == "exact" else None, model, issue.issue_type, None)
        signature = document_signature(fix)  # that of the tables, whatever they were found by
        of_type = issue.issue_type if kind == "model" else None
        best = self.strategies(scope, key, odds.p_success, 1, issue_type=of_type, successful=True)
        return Pattern(
            name=pattern_name(kind, issue.issue_type, model, signature),
            kind=kind,
            issue_type=issue.issue_type,
            model=model,
            signature=signature,
            success_count=counted.verified,
            failure_count=counted.attempts - counted.verified,
            applied_count=counted.applied,
            p_success=odds.p_success,
            strength=odds.strength,
            last_seen=from_us(newest[0][0]),
            best_fix=best[0] if best else None,
        )

    def best_strategies(self, limit: int) -> dict[str, list[Strategy]]:
        """Of every issue type that something succeeded at; of very many types, of the most
        frequent.
        """
        found = {}
        for issue_type in self._issue_types():
            usual = self.fix_odds(None, None, issue_type, None).p_success
            if best := self.strategies("type", issue_type, usual, limit, successful=True):
                found[issue_type] = best
        return found

    def temporal_patterns(self) -> list[TemporalPattern]:
        return temporal_patterns(
            {each: self.daily("fix.hour", each) for each in self._issue_types()}
        )

    def _issue_types(self) -> Sequence[str]:
        return self._store.most_counted(self.project, "fix.type", limits.ISSUE_TYPES_TESTED_MAX)

    def model_insights(self, name: str) -> ModelInsights:
        by_type, most = self._issues_on(name), limits.FIXES_LISTED_MAX
        odds = self.fix_odds(None, name, None, None)
        sources = {author for support in by_type for author in support.authors}
        fixes = self.strategies(
            "model", name, odds.p_success, most, successful=True, sources=len(sources)
        )
        return ModelInsights(
            model_name=name,
            total_tests=odds.attempts,
            success_rate=odds.verified / odds.attempts if odds.attempts else 0.0,
            odds=odds,
            common_issues=tuple((each.item, each.records) for each in by_type[:most]),
            effective_fixes=tuple(fixes),
            performance_notes=self._notes_on(name, by_type[:most]),
            last_updated=from_us(max(each.last_us for each in by_type)) if by_type else None,
        )

    def similar_issues(self, issue: Issue, limit: int) -> SimilarIssues:
        found = self._store.by_key(
            self.project, signature_keys(issue), Filters(), limits.COMPARED_MAX
        )
        exact = [each.stored for each in found]
        model = self._newest(Filters(kind="fix", model=issue.model, issue_type=issue.issue_type))
        of_type = self._newest(Filters(kind="fix", issue_type=issue.issue_type))

        def successes_first(fix: Fix) -> tuple[bool, bool, int, str]:
            return not fix.succeeded, not fix.fix_success, -fix.at_us, fix.id

        groups = (_only(Fix, stored) for stored in (exact, model, of_type))
        return SimilarIssues(*(sorted(fixes, key=successes_first)[:limit] for fixes in groups))

    def _newest(self, filters: Filters, limit: int = limits.COMPARED_MAX) -> list[Stored]:
        return self._store.page(self.project, filters, None, limit, trusted=True)

    # --- rules, cards, scores ---

    @_read_once
    def decisions(self, actions: tuple[Action, ...], task_id: str | None) -> list[Decision]:
        """Of a task and of the whole project (None: of every task), newest first."""
        return _only(
            Decision,
            self._store.decisions(self.project, actions, task_id, limits.DECISIONS_MAX),
        )

    def adopted(self, origin: str, limit: int) -> list[Adopted]:
        """What came from one sort of store and was neither archived nor rolled back, the newest
        first.
        """
        found = self._store.by_key(
            self.project, [exact_key("adopted", origin)], Filters(kind="adopted"), limit
        )
        return _only(Adopted, [each.stored for each in found])

    def undone_merges(self, task_id: str) -> list[tuple[str, str]]:
        """Lessons of a task that were merged once, and told apart again."""
        stored = self._store.decisions(
            self.project, ["merge"], task_id, limits.DECISIONS_MAX, undone=True
        )
        return [
            (each.target, each.replacement)
            for each in _only(Decision, stored)
            if each.task_id == task_id
        ]

    def _own_decisions(self, task_id: str | None) -> list[Decision]:
        """About the rules of this very task, in effect."""
        found = self.decisions(RULE_ACTIONS, task_id)
        return [each for each in found if each.task_id == task_id and each.in_effect]

    @_read_once
    def merged_rules(self, task_id: str | None) -> Mapping[str, str]:
        """The rules of a task that were merged, each with the one that stands for it."""
        return merged_items(self._own_decisions(task_id))

    @_read_once
    def weighed_rules(self, task_id: str) -> list[Weighed]:
        """What the task's own episodes say, and what was adopted about it, without texts."""
        same = self.merged_rules(task_id)
        # For every retired lesson the last day it had been seen by then: evidence of a later day
        # brings it back.
        days = sorted(
            (int(each.replacement), each.target)
            for each in self._own_decisions(task_id)
            if each.action == "retire" and each.replacement.isdecimal()
        )
        retired = {target: day for day, target in days}
        thresholds = self._thresholds(task_id)
        claimed = self._claimed(task_id, same)
        weighed: list[Weighed] = []
        for kind in _RULE_KINDS:
            supports = self.supports(kind, task_id, same)
            for item, claims in claimed.get(kind, {}).items():
                supports.setdefault(item, Evidence(item)).claims += claims.claims
            weighed += weigh(kind, task_id, supports.values(), thresholds, retired, self.today)
        return weighed

    @lazy
    def _adopted(self) -> dict[str, AdoptedClaims]:
        """What was adopted, by the id of its record: what somebody vouches for first, then the
        newest of each source, which take turns.
        """
        keys, most = [exact_key("adopted", TRAINING_MEMORY)], limits.LOOKED_INTO_MAX
        asked = Filters(kind="adopted")
        found = self._store.by_key(self.project, keys, asked, most, in_turns=True)
        records = _only(Adopted, [each.stored for each in found])
        self._records.update((record.id, record) for record in records)
        return {each.record.id: each for each in adopted_claims(records)}

    def _claimed(
        self, task_id: str | None, same: Mapping[str, str]
    ) -> dict[str, dict[str, Evidence]]:
        """What was adopted about a task (None: about none in particular), by kind of rule and
        item.
        """
        found: dict[str, dict[str, Evidence]] = {}
        for kind, item, claim in rules_of(self._adopted.values(), task_id, self._now_us):
            leader = same.get(item, item)
            support = found.setdefault(kind, {}).setdefault(leader, Evidence(leader))
            if claim.record_id not in {known.record_id for known in support.claims}:
                support.claims.append(claim)
        return found

    def _weighed_claims(self, task_id: str | None, known: Iterable[Weighed]) -> list[Weighed]:
        """Adopted rules that stand for themselves: for no task in particular, and texts that say
        neither what works nor what to avoid. Without those that the task has as rules of its own.
        """
        shown = {(each.kind, each.support.item) for each in known}
        found: list[tuple[str | None, dict[str, dict[str, Evidence]]]] = [
            (None, self._claimed(None, {}))
        ]
        if task_id is not None:
            found.append((task_id, {_WRITTEN: self._claimed(task_id, {}).get(_WRITTEN, {})}))
        weighed: list[Weighed] = []
        for task, by_kind in found:
            for kind in (*_RULE_KINDS, _WRITTEN):
                supports = [
                    each
                    for item, each in by_kind.get(kind, {}).items()
                    if (kind, item) not in shown
                ]
                weighed += weigh(kind, task, supports, Thresholds(), {}, self.today)
        return weighed

    @property
    def _now_us(self) -> int:
        """Nothing that was adopted is newer than today, whatever its file says."""
        return (self.today + 1) * limits.DAY_US - 1

    def _thresholds(self, task_id: str) -> Thresholds:
        own = self._own_scores(task_id)
        thresholds = Thresholds.of(own.levels if own.records else [])
        return replace(thresholds, sources=len(own.authors))

    @_read_once
    def _own_scores(self, task_id: str) -> Evidence:
        """Without those of adopted episodes: a file must not decide what is good here. An author's
        day counts as adopted if the last of its episodes was.
        """
        own = (tally for tally in self._all("score", task_id) if not is_derived(tally.last_id))
        return gather(own).get("", Evidence(""))

    def worded(self, weighed: Weighed, same: Mapping[str, str]) -> str | None:
        """The rule in the words of an episode that shows it."""
        items = {
            weighed.support.item,
            *(item for item, leader in same.items() if leader == weighed.support.item),
        }

        def words(record: AnyRecord) -> str | None:
            if adopted := self._adopted.get(record.id):
                return adopted_text(adopted.memory, weighed.task_id, weighed.kind, items)
            return rule_text(record, weighed.kind, items) if isinstance(record, Episode) else None

        return self._first(weighed.support.sample_ids, words)

    @lazy
    def _rolled_back(self) -> set[str]:
        return self._store.rolled_back(self.project)

    @_read_once
    def rules(self, task_id: str | None, state: str | None, limit: int) -> list[Rule]:
        decisions = self.decisions(RULE_ACTIONS, task_id)
        rules = self._project_rules(decisions)
        for decision in decisions:
            if decision.action != "rule" or decision.task_id not in (None, task_id):
                continue
            known = [record for record in map(self.record, decision.evidence) if record]
            tainted = [record for record in known if record.said_by in self._rolled_back]
            # not one that was read from nothing but records of sources that were rolled back
            if not known or len(tainted) < len(known):
                # What the words rest on, and the words themselves, may both be doubted.
                trust = least(record.metadata.validation.status for record in (decision, *known))
                rules.append(written_rule(decision, tainted=bool(tainted), trust=trust))
        own = [] if task_id is None else self.weighed_rules(task_id)
        claimed = self._weighed_claims(task_id, own)
        last = STATE_ORDER.get(state or "", len(STATE_ORDER))  # later ones displace nobody
        for weighed, same in ((own, self.merged_rules(task_id)), (claimed, {})):
            wanted = (each for each in weighed if STATE_ORDER[each.state] <= last)
            ordered = by_turns(
                sorted(wanted, key=attrgetter("order")), lambda each: each.support.only_source
            )
            rules += self._worded_rules(ordered, same, state, limit)
        told = by_turns(
            sorted(
                (rule for rule in rules if state in (None, rule.state)),
                key=lambda rule: -rule.helpful,
            ),
            lambda rule: rule.sources[0] if len(rule.sources) == 1 and not rule.vouched else None,
        )
        told.sort(key=lambda rule: (STATE_ORDER[rule.state], rule.task_id is None))
        return [self._trusted_as_far(rule) for rule in told[:limit]]

    def _trusted_as_far(self, rule: Rule) -> Rule:
        """Counts tell that somebody vouches for all of a rule's episodes; whether all are
        published, only they do.
        """
        if rule.trust != "verified" or rule.kind == _WRITTEN or rule.episodes > len(rule.evidence):
            return rule
        known = [record for record in map(self.record, rule.evidence) if record]
        return replace(rule, trust=least(record.metadata.validation.status for record in known))

    def new_rules(self, task_id: str, limit: int) -> list[Rule]:
        """What was said last of a task and too seldom yet to be judged, the newest first, what was
        only adopted last. Some more than `limit`, no source having more than that alone: who shows
        them may have no room for a source's second.
        """
        own = self.weighed_rules(task_id)
        waiting = [each for each in (*own, *self._weighed_claims(task_id, own)) if each.is_new]
        newest = sorted(waiting, key=lambda each: (each.support.only_claimed, *each.newest_first))
        allowed = few_of_each(newest, lambda each: each.support.only_source, limit)
        same = self.merged_rules(task_id)
        return self._worded_rules(allowed, same, "candidate", _CONSIDERED * limit)

    def unjudged(self, episode: Episode, besides: Iterable[Rule]) -> list[str]:
        """What an episode says beside these rules, as far as nobody can tell yet whether it
        holds.
        """
        same = self.merged_rules(episode.task_id)
        weighed = self.weighed_rules(episode.task_id)
        judged = {(each.kind, each.support.item) for each in weighed if not each.is_new}
        judged |= {(rule.kind, rule.id) for rule in besides}
        found = []
        for kind, name, texts in (
            ("avoid", "mistake", episode.mistakes),
            ("works", "success", episode.successes),
        ):
            keyed = {rule_key(text, kind): text for text in texts[: limits.LESSONS_PER_RECORD_MAX]}
            unsaid = [
                text
                for item, text in keyed.items()
                if item and (kind, same.get(item, item)) not in judged
            ]
            found += [f"{name}: {text}" for text in unsaid[: limits.NEW_RULES_IN_CONTEXT_MAX]]
        return found

    def _worded_rules(
        self, weighed: Iterable[Weighed], same: Mapping[str, str], state: str | None, limit: int
    ) -> list[Rule]:
        """As many as are wanted of those that can be put into words, in the order given."""
        wanted = [each for each in weighed if state in (None, each.state)]
        self.read_ahead(one for each in wanted[:limit] for one in each.support.sample_ids[:1])
        texts = ((each, self.worded(each, same)) for each in wanted)
        return list(islice((rule_from(each, text) for each, text in texts if text), limit))

    def _project_rules(self, decisions: Iterable[Decision]) -> list[Rule]:
        promoted = defaultdict[str, set[str]](set)
        for decision in decisions:
            if decision.action == "promote" and decision.in_effect:
                promoted[decision.target].update(decision.tasks)
        found = []
        ordered = sorted(promoted, key=lambda target: (-len(promoted[target]), target))
        for target in ordered[: limits.LOOKED_INTO_MAX]:
            kind: RuleKind = "works" if target.startswith("works:") else "avoid"
            tasks = sorted(promoted[target])[: limits.LOOKED_INTO_MAX]
            supports = self.across_tasks(kind, target.partition(":")[2], tasks)
            if holds_for_project(supports):
                text = next(filter(None, (self.worded(each, {}) for each in supports)), None)
                found += [project_rule(supports, text)] if text else []
        return found

    def across_tasks(self, kind: RuleKind, item: str, tasks: Iterable[str]) -> list[Weighed]:
        """What several tasks say about one lesson."""
        supports = (
            (task, gather(self._store.tallies_of_items(self.project, kind, task, [item])).values())
            for task in tasks
        )
        return [
            each
            for task, found in supports
            if found
            for each in weigh(kind, task, found, self._thresholds(task), {}, self.today)
        ]

    def cards(self, task_id: str | None, limit: int) -> list[Card]:
        return list(
            islice(filter(None, map(self._worded_card, self._ranked_cards(task_id))), limit)
        )

    def cards_to_show(self, task_id: str, limit: int) -> list[Card]:
        """Some more than `limit`, as with `new_rules`."""
        allowed = few_of_each(self._ranked_cards(task_id), lambda each: each.only_source, limit)
        return list(islice(filter(None, map(self._worded_card, allowed)), _CONSIDERED * limit))

    def _ranked_cards(self, task_id: str | None) -> list[Evidence]:
        if task_id is not None:
            return ranked_cards(self._card_supports(task_id), self.today)
        counted = self._store.most_counted(self.project, "card", limits.TASKS_CONSIDERED_MAX)
        adopted = cards_of(self._adopted.values(), None, self._now_us)
        tasks = dict.fromkeys([*counted, *sorted({task for task, _, _ in adopted})])
        supports = map(self._card_supports, islice(tasks, limits.TASKS_CONSIDERED_MAX))
        return ranked_cards(chain.from_iterable(supports), self.today)

    def _card_supports(self, task: str) -> list[Evidence]:
        own = self.supports("card", task)
        for item, support in self.supports("card.foreign", task).items():
            # what an episode of another task reported is not shown on one unchecked source's word
            if support.vouched or len(support.authors) >= limits.PROOFS_MIN:
                own.setdefault(item, Evidence(item)).add(*support.tallies)
        for _, item, claim in cards_of(self._adopted.values(), task, self._now_us):
            support = own.setdefault(item, Evidence(item))
            support.keys.add(task)
            support.claims.append(claim)
        return list(own.values())

    def _worded_card(self, support: Evidence) -> Card | None:
        def words(record: AnyRecord) -> MistakeCard | None:
            if adopted := self._adopted.get(record.id):
                return adopted_card(adopted.memory, support.item)
            return card_in(record, [support.item]) if isinstance(record, Episode) else None

        card = self._first(support.sample_ids, words)
        return card_from(support, next(iter(support.keys)), card) if card else None

    def own_scores(self, task_id: str) -> ScoreHistory:
        """Without those of adopted episodes, and without a trend."""
        return score_history(task_id, self._own_scores(task_id), ())

    def last_episode(self, task_id: str) -> Episode | None:
        """The newest that was recorded here; where there is none, the newest that was adopted."""
        newest = self._own_scores(task_id).newest
        last = self.record(max(newest)[1]) if newest else None
        if isinstance(last, Episode):
            return last
        return next(reversed(self.newest_episodes(task_id)), None)

    @_read_once
    def newest_episodes(self, task_id: str) -> list[Episode]:
        """The last ones, oldest first."""
        newest = self._newest(Filters(kind="episode", task_id=task_id), _SCORES_SHOWN_MAX)
        return _only(Episode, reversed(newest))

    # --- diagnoses and solutions ---

    def tried(self, places: Sequence[tuple[str, str]], most: int) -> Iterator[list[RankedStrategy]]:
        """What was done after each error, given by scope and key, the likeliest to help first."""
        for tried in self._store.tried(self.project, places, _SOLUTIONS_CONSIDERED_MAX):
            if tried[0] and self._acts_alone is None:
                self._acts_alone = self._has_one_source("act.all")
            yield rank_solutions(*tried, self.today, most, alone=bool(self._acts_alone))

    def solution(self, ranked: RankedStrategy, said: PairWords) -> Solution:
        """In these words."""
        support = ranked.support
        return Solution(
            diagnosis=said.diagnosis,
            failure_hash=said.failure_hash,
            action=said.action,
            after=said.after,
            tried=ranked.share.attempts,
            helped=ranked.share.verified,
            p_helped=ranked.p_success,
            last_tried=from_us(support.last_us),
            evidence=tuple(support.newest_ids),
            vouched=support.vouched,
        )

    def words_of(self, ranked: RankedStrategy, diagnosis: str = ANY_FAILURE) -> PairWords | None:
        """Those of one of the trajectories that taught it."""
        support = ranked.support
        words = (self._words_of_pair(each, diagnosis, support.item) for each in support.sample_ids)
        return next(filter(None, words), None)

    def _words_of_pair(self, record_id: str, diagnosis: str, action: str) -> PairWords | None:
        """The same errors are met again and again: what the same body says of one is kept."""
        stored = self._stored_as(record_id)
        key = (stored.digest if stored else b"", diagnosis, action)
        said = _said_of_pairs.get(key)
        if not said and (record := self.record(record_id)):
            said = _words_of_pair(diagnosis, action, record)
            if said:
                if len(_said_of_pairs) >= limits.MADE_ONCE_MAX:
                    _said_of_pairs.clear()
                _said_of_pairs[key] = said
        return said


class Episodes(Group):
    """How tasks went, and what their episodes taught: `memory.episodes`."""

    def tasks(self, limit: int = 20) -> list[TaskScores]:
        """The tasks with the most episodes: how many, their mean and best score, and whether they
        go better of late.
        """
        known, store = self._project.knowledge, self._project.store
        check_all(limit=limit)
        tasks = store.most_counted(self._project.name, "score", limit)
        supports = ((task, known.supports("score", task).get("")) for task in tasks)
        return [task_scores(task, support) for task, support in supports if support]

    def scores(self, task_id: str) -> ScoreHistory:
        """How the task of this `task_id` went: mean, best, trend, and the newest scores."""
        known = self._project.knowledge
        support = known.supports("score", check_text("task_id", task_id)).get("", Evidence(""))
        newest = [episode.score for episode in known.newest_episodes(task_id)]
        return score_history(task_id, support, newest)

    def compare(
        self,
        task_id: str | None = None,
        *,
        tag: str | None = None,
        by_run: bool = False,
        **filters: Unpack[MoreFilters],
    ) -> Comparison:
        """Whether the memory helps, at a `task_id` or at all: scores of episodes that had it
        against scores of those that had not. An episode had it that says what it recalled, be it
        nothing (`recalled=`, or `ep.context()`); or, with a `tag`, that has this one. `by_run`: the
        episodes of a run (`source.id`) count as one, which is right where they learn from one
        another. Filters as in `browse`; of very many episodes the newest are compared.
        """
        asked, *_ = check_all(
            lambda: Filters.of(self._project.name, {**filters, "task_id": task_id}),
            tag=tag,
            by_run=by_run,
        )
        check_that(
            asked.kind in (None, "episode"), "kind", asked.kind, "episode: nothing else has a score"
        )

        store = self._project.store

        def scored() -> Iterator[Scored]:
            """Each with whether it had the memory. Of what was adopted nobody knows what it
            recalled.
            """
            most, of_kind = COMPARED_EPISODES_MAX, asked.altered(kind="episode")
            for stored in store.page(self._project.name, of_kind, None, most, trusted=True):
                with suppress(DamagedError):
                    said = written_in(stored)
                    metadata = said.get("metadata", {})
                    had = said.get("recalled") is not None
                    if tag is not None:
                        had = tag in metadata.get("tags", ())
                    elif is_derived(said["id"]):
                        continue
                    source = metadata.get("source", {})
                    yield Scored(said["task_id"], said["score"], had, source.get("id", ""))

        self._project.before_read()
        return compare(list(scored())[::-1], by_run=by_run)

    def candidate_rules(self, limit: int = 20) -> list[Rule]:
        """Rules that wait to be borne out, or to be verified: of the whole project, and of the
        tasks that were tried most. Those that an LLM wrote down come first, then those that most
        episodes speak for.
        """
        known, store = self._project.knowledge, self._project.store
        check_all(limit=limit)
        tasks = store.most_counted(self._project.name, "score", limits.LOOKED_INTO_MAX)
        found = {
            (rule.task_id, rule.id): rule
            for task in (None, *tasks)
            for rule in known.rules(task, "candidate", limit)
        }
        order = sorted(
            found.values(),
            key=lambda rule: (rule.kind != _WRITTEN, -rule.helpful, -rule.last_seen.timestamp()),
        )
        return order[:limit]


def _only(kind: type[R], stored: Iterable[Stored]) -> list[R]:
    """Of the records that can be read, those of one kind."""
    return [record for record in readable(stored) if isinstance(record, kind)]


class PairWords(NamedTuple):
    """What the error was, its hash, what was done, and what had been."""

    diagnosis: str
    failure_hash: str
    action: str
    after: str


_said_of_pairs: Final[dict[tuple[bytes, str, str], PairWords]] = {}


def _words_of_pair(diagnosis: str, action: str, record: AnyRecord) -> PairWords | None:
    """In the words of one trajectory."""
    if isinstance(record, Trajectory):
        for pair, number in pairs_of(record):
            if pair.action == action and diagnosis in (ANY_FAILURE, pair.diagnosis):
                met = zip(record.steps[:number], judge_steps(record.steps), strict=False)
                failed = [step for step, was in met if was.failure == pair.diagnosis][-1]
                near = failed is record.steps[number - 1] or not diagnosis
                return PairWords(
                    describe_failure(failed.observation),
                    pair.diagnosis,
                    clean_action(record.steps[number].action),
                    clean_action(failed.action) if near else "",
                )
    return None
