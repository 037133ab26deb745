"""What the memory knows, put together from the store's tallies and decisions by `learn`. Texts are
looked up last, and only for what is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from hardwon import limits
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
from hardwon.lessons.evidence import Evidence, gather
from hardwon.lessons.issues import (
    degree_of_words,
    document_signature,
    generate_issue_signature,
    issue_subject,
    signature_keys,
)
from hardwon.lessons.keys import BETWEEN_NAMES
from hardwon.lessons.sources import by_turns, share_out
from hardwon.memory.project import Project
from hardwon.memory.results import SimilarIssues
from hardwon.memory.rules import CONSIDERED, RuleReading
from hardwon.memory.tallies import keep_kind
from hardwon.records.fields import (
    from_us,
)
from hardwon.records.kinds import (
    ROUTES,
    AnyRecord,
    Cleaned,
    Fix,
    Issue,
    Trajectory,
)
from hardwon.search.terms import Filters
from hardwon.text.clean import clean_action
from hardwon.text.outcomes import describe_failure

# Actions that were taken after an error and are weighed, those that helped most often: a common error
# has thousands, most of which helped nobody.
_SOLUTIONS_CONSIDERED_MAX: Final = 100

_TOOLS: Final = sorted({tool for _, tool in ROUTES if tool})
_PATTERN_SCOPES: Final[Mapping[PatternKind, str]] = {
    "exact": "signature",
    "model": "model",
    "type": "type",
}


class Knowledge(RuleReading):
    """Everything that can be asked of one project. Made anew for every question."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._shares: dict[tuple[str, str], Shares] = {}
        self._acts_alone: bool | None = None  # whether a single source ever took any action

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

    def outcomes(self, keys: Sequence[ActionKey]) -> dict[ActionKey, Outcomes]:
        """What became of actions, by what they are judged by."""
        found, alone = self._store.outcomes(self.project, keys, self.today)
        if EVERYTHING in keys:
            self._acts_alone = alone
        return found

    def counts(self, keys: Sequence[ActionKey]) -> dict[ActionKey, Outcomes]:
        """The same, however long ago it was."""
        return self._store.counts_of_actions(self.project, keys)

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
        most = limits.SHARED_OUT_OF_MAX if sources > 1 else CONSIDERED * limit
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
        did = self.read_first(
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
        fix = self.read_first(
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
        exact = keep_kind(Fix, [hit.stored for hit in found])
        of_type = Filters(kind="fix", issue_type=issue.issue_type)
        model = self._newest(of_type.altered(model=issue.model), Fix)

        def successes_first(fix: Fix) -> tuple[bool, bool, int, str]:
            return not fix.succeeded, not fix.fix_success, -fix.at_us, fix.id

        groups = (exact, model, self._newest(of_type, Fix))
        return SimilarIssues(*(sorted(fixes, key=successes_first)[:limit] for fixes in groups))

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
        self.read_ahead([record_id])
        stored = self._stored.get(record_id)
        key = (stored.digest if stored else b"", diagnosis, action)
        said = _said_of_pairs.get(key)
        if not said and (record := self.record(record_id)):
            said = _words_of_pair(diagnosis, action, record)
            if said:
                if len(_said_of_pairs) >= limits.MADE_ONCE_MAX:
                    _said_of_pairs.clear()
                _said_of_pairs[key] = said
        return said


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
