"""Before the next attempt: what is found, what fits into a prompt, and what to say about an action. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hardwon import limits
from hardwon.knowledge import Knowledge, readable
from hardwon.learn.actions import Counted, Outlook, Record, Situation, action_shape, judged_by, outlook, worked
from hardwon.learn.consolidation import say_the_same, words_of
from hardwon.learn.failures import error_core, failure_hash, shows_error
from hardwon.learn.lessons import HELPED, NOT_HELPED, session_key
from hardwon.learn.trajectories import error_in
from hardwon.model import VOUCHED_STATUSES, AnyRecord, Experience, Fact, Fix, Issue, Step, Trajectory
from hardwon.recall.advice import Advice, Attempt, advice_on
from hardwon.recall.compose import Act, Case, Room, similar_cases
from hardwon.recall.fence import CUT, clean_line, fenced
from hardwon.recall.filters import Filters
from hardwon.recall.hit import Hit
from hardwon.recall.rank import RELEVANT_FROM, Candidate, Ranked, rank
from hardwon.recall.terms import query_terms
from hardwon.recall.tokens import cut_to_tokens
from hardwon.store.contract import Found, Store

CANDIDATES: Final = 40
"""Records that are looked at for one answer, the best by their text. Twice as many change nothing, half as many lose some."""

RANKED_MIN: Final = 20
"""Records that are ranked even if fewer are asked for, so that what else is known of them can change their order."""

NEIGHBOURED: Final = 3
NEIGHBOURS: Final = 10
"""Of the sessions of so many of the best hits, so many records each."""


@dataclass(frozen=True)
class Context:
    """What to put into a prompt: `str(context)` is the text, `tokens` its length as counted, `hits` what it draws on."""

    text: str
    tokens: int
    hits: tuple[Hit, ...]

    def __str__(self) -> str:
        return self.text

    @property
    def ids(self) -> list[str]:
        """For `recalled=`, and for `credit`."""
        return [hit.record.id for hit in self.hits]


class Recaller:
    """Everything that is asked before an attempt, of one project."""

    def __init__(self, store: Store, project: str, known: Knowledge, embed: Callable[[str], Sequence[float]] | None) -> None:
        self._store = store
        self._project = project
        self._known = known
        self._embed = embed

    # --- recall -------------------------------------------------------------------------------------------------

    def recall(self, query: str, k: int, filters: Filters) -> list[Hit]:
        return self._read(self._ranked(query, k, filters))

    def _read(self, ranked: Iterable[tuple[Ranked, Found]]) -> list[Hit]:
        return [Hit(record, each.score, each.why) for each, found in ranked for record in readable([found.stored])]

    def _ranked(self, query: str, k: int, filters: Filters) -> list[tuple[Ranked, Found]]:
        """By what the store knows of the records; none of them is read."""
        about_error = shows_error(query)
        searched = self._store.search(self._project, query_terms(query), filters, max(RANKED_MIN, min(4 * k, k + CANDIDATES)))
        found = {each.id: each for each, _ in searched}
        texts = {each.id: text for each, text in searched}
        exact, beside, cosines = set[str](), dict[str, float](), dict[str, float]()
        if self._embed and query.strip():
            for each, cosine in self._store.nearest(self._project, self._embed(query), filters, CANDIDATES):
                found[each.id] = each
                cosines[each.id] = cosine
        if filters == Filters():  # what is found by a key was not asked whether it passes
            for each in self._exact(query, about_error):
                found[each.id] = each
                exact.add(each.id)
            for each, text in self._neighbours(searched):
                found[each.id] = each
                beside[each.id] = text
        candidates = [
            Candidate(
                id=each.id,
                at_us=each.stored.at_us,
                author=each.author,
                status=each.status,
                good=each.good,
                said=each.terms,
                text=texts.get(each.id, 0.0),
                exact=each.id in exact,
                neighbour=beside.get(each.id, 0.0),
                vector=cosines.get(each.id, 0.0),
                helped=each.stored.helped,
                hindered=each.stored.hindered,
            )
            for each in found.values()
        ]
        ranked = rank(candidates, k, self._known.today, about_error=about_error)
        return [(each, found[each.candidate.id]) for each in ranked]

    def _exact(self, query: str, about_error: bool) -> list[Found]:
        """Records of the very failure that the query reports."""
        return self._store.by_key(self._project, [f"failure:{failure_hash(query)}"], CANDIDATES) if about_error else []

    def _neighbours(self, searched: Sequence[tuple[Found, float]]) -> Iterator[tuple[Found, float]]:
        """What the best hits' sessions hold beside them."""
        sessions: dict[str, float] = {}
        for found, text in searched[:NEIGHBOURED]:
            if found.session:
                sessions.setdefault(session_key(found.session), text)
        for session, text in reversed(sessions.items()):
            for each in self._store.by_key(self._project, [session], NEIGHBOURS):
                yield each, text

    # --- context ------------------------------------------------------------------------------------------------

    def context(
        self,
        query: str,
        task_id: str | None,
        issue: Issue | None,
        fixer: str | None,
        budget: int,
        count: Callable[[str], int],
        mark: str,
    ) -> Context:
        asked = " ".join(filter(None, (query, issue.description if issue else "", (issue.error_output or "") if issue else "")))
        hits = self._hits_to_say(asked) if asked else []
        quota = int(limits.SOURCE_SHARE_MAX * budget) if _several_sources(hits) else None
        room = Room(budget - count(fenced([], mark, _TITLE) + "\n"), count, quota)
        for line in self._lessons(task_id, issue, fixer):
            if room.cost(line) <= room.left:
                room.say(line)
        for what, content, record in _sentences(hits):
            _say_sentence(what, content, record, int(budget * _SENTENCE_SHARE), room)
        similar_cases(asked, [case for case in map(_case, hits) if case.acts], room)
        return _within(room.lines, hits, budget, count, mark)

    def _hits_to_say(self, asked: str) -> list[Hit]:
        """The best few of any kind, and of the others those that say what was done: only these are read."""
        ranked = self._ranked(asked, CANDIDATES, Filters())
        first = limits.RULES_IN_CONTEXT_MAX
        return self._read(
            pair for place, pair in enumerate(ranked) if place < first or pair[1].stored.kind in ("trajectory", "fix")
        )

    def _lessons(self, task_id: str | None, issue: Issue | None, fixer: str | None) -> Iterator[str]:
        """Rules of the task, how its episodes went, and what was done about the issue."""
        if task_id is not None:
            for rule in self._known.rules(task_id, "active", limits.RULES_IN_CONTEXT_MAX):
                standing = "verified" if rule.vouched else "unverified"
                yield f"{clean_line(str(rule), limits.LESSON_CHARS_MAX)} [{rule.episodes} episodes, {standing}]"
            scores = self._known.scores(task_id)
            if scores.mean is not None and scores.best is not None:
                name = clean_line(task_id, limits.NAME_CHARS_MAX)
                yield f"mean score on {name}: {scores.mean:.2f} over {scores.episodes} episodes, best {scores.best:.2f}"
        if issue:
            odds = self._known.fix_odds(issue, None, None, fixer)
            for strategy in self._known.strategies("type", issue.issue_type, odds.p_success, limits.RULES_IN_CONTEXT_MAX):
                done = " && ".join(strategy.fix_commands) or strategy.analysis
                how = "worked" if strategy.verified else "failed"
                tried = f"{strategy.verified} of {strategy.attempts} times, p = {strategy.p_success:.2f}"
                yield f"{issue.issue_type}: {clean_line(done, limits.LESSON_CHARS_MAX)} [{how} {tried}]"

    # --- advice -------------------------------------------------------------------------------------------------

    def advise(self, action: str, task: str | None, error: str | None, issue: Issue | None, steps: Sequence[Step]) -> Advice:
        failure = failure_hash(error) if error else None
        attempts = self._attempts(action, failure)
        view = self._outlook(action, Situation.after(steps))
        instead = self._worked_instead(action, task, error, issue)
        return advice_on(attempts, failure, view.p_success, view.worst, instead)

    def _attempts(self, action: str, failure: str | None) -> list[Attempt]:
        found = [found for found, _ in self._store.search(self._project, query_terms(action), Filters(), CANDIDATES)]
        if failure:
            found += self._store.by_key(self._project, [f"failure:{failure}"], CANDIDATES)
        distinct = {each.id: each.stored for each in found}
        return [attempt for record in readable(distinct.values()) for attempt in _attempts_in(record, action)]

    def _outlook(self, action: str, situation: Situation) -> Outlook:
        records = {}
        for counted in judged_by(action, situation):
            helped = failed = 0
            for daily in self._known.daily(f"act.{counted.what}", counted.which):
                helped += daily.levels[HELPED]
                failed += daily.levels[NOT_HELPED]
            records[Counted(*counted)] = Record(helped, failed)
        return outlook(action, situation, records)

    def _worked_instead(self, action: str, task: str | None, error: str | None, issue: Issue | None) -> list[str]:
        """What helped against the error, what fixed the issue, what worked for the like of the task; not the action itself."""
        found: list[str] = []
        if error:
            found += [each.action for each in self._known.solutions(error, CANDIDATES) if each.helped]
        if issue:
            odds = self._known.fix_odds(issue, None, None, None)
            best = self._known.strategies("type", issue.issue_type, odds.p_success, CANDIDATES, successful=True)
            found += [" && ".join(each.fix_commands) or each.analysis for each in best]
        for hit in self.recall(" ".join(filter(None, (task, error))), CANDIDATES, Filters()) if task or error else []:
            if hit.record.turned_out_well:
                found += [act.action for act in _acts(hit.record) if act.reward > 0][-1:]
        lines = dict.fromkeys(clean_line(each, limits.LESSON_CHARS_MAX) for each in found if not _same(each, action))
        return [line for line in lines if line][: limits.INSTEAD_MAX]


_TITLE: Final = ""
_SENTENCE_SHARE: Final = 0.3  # of the budget, for what one record says
_SENTENCE_TOKENS_MIN: Final = 12  # less than that of it says nothing


def _same(one: str, other: str) -> bool:
    """Whether two actions are the same but for quoted values, numbers and a few words."""
    return action_shape(one) == action_shape(other) or say_the_same(words_of(one), words_of(other))


def _attempts_in(record: AnyRecord, action: str) -> Iterator[Attempt]:
    if isinstance(record, Trajectory):
        for step in record.steps:
            if _same(step.action, action):
                failure = error_in(step.observation)
                yield _attempt(record, step.action, not failure, failure, step.observation)
    elif isinstance(record, Fix):
        error = record.issue.error_output or ""
        for command in record.fix_commands:
            if _same(command, action):
                failure = "" if record.succeeded or not error.strip() else failure_hash(error)
                yield _attempt(record, command, record.succeeded, failure, error or record.issue.description)
    elif isinstance(record, Experience) and record.outcome in ("success", "failure") and _same(record.content, action):
        failed = record.outcome == "failure"
        failure = (record.metadata.validation.failure_hash or failure_hash(record.content)) if failed else ""
        yield _attempt(record, record.content, not failed, failure, record.content)


def _attempt(record: AnyRecord, action: str, good: bool, failure: str, said: str) -> Attempt:
    shown = clean_line(error_core(said) or said, limits.LESSON_CHARS_MAX)
    return Attempt(record.at_us, record.id, action, good, failure, shown)


def mark_of(record: AnyRecord) -> str:
    """Who says so, and whether anybody stands behind it."""
    sure = "" if record.metadata.validation.status in VOUCHED_STATUSES else "?"
    return f"[{clean_line(record.metadata.source.author, limits.AUTHOR_CHARS_SHOWN)}{sure}]"


def _acts(record: AnyRecord) -> list[Act]:
    if isinstance(record, Trajectory):
        last = len(record.steps) - 1
        return [
            Act(step.action, step.observation, step.reward + record.final_reward * (number == last), worked(step))
            for number, step in enumerate(record.steps)
        ]
    if isinstance(record, Fix) and record.fix_commands:
        action = " && ".join(record.fix_commands)
        return [Act(action, record.analysis, float(record.succeeded), record.succeeded)]
    return []


def _case(hit: Hit) -> Case:
    record = hit.record
    task = record.task if isinstance(record, Trajectory) else record.issue.description if isinstance(record, Fix) else ""
    return Case(task, _acts(record), max(hit.why.get("text", 0.0), _LEAST), mark_of(record), _source_of(record))


_LEAST: Final = 1e-6  # a case that was found by its key, not by its words, still has a say


def _source_of(record: AnyRecord) -> str | None:
    """Who says so; None where somebody vouches for it."""
    return None if record.metadata.validation.status in VOUCHED_STATUSES else record.metadata.source.author


def _several_sources(hits: Sequence[Hit]) -> bool:
    """Whether more than one source has something relevant to say."""
    relevant = [hit for hit in hits if hit.score >= RELEVANT_FROM * hits[0].score]
    return len({_source_of(hit.record) for hit in relevant}) > 1


def _sentences(hits: Sequence[Hit]) -> Iterator[tuple[str, str, AnyRecord]]:
    """Hits that are a sentence: experiences and facts, and how it turned out."""
    for hit in hits[: limits.RULES_IN_CONTEXT_MAX]:
        record = hit.record
        if isinstance(record, Experience | Fact):
            what = record.outcome if isinstance(record, Experience) else record.fact_type
            yield what, clean_line(record.content, limits.LESSON_CHARS_MAX), record


def _say_sentence(what: str, content: str, record: AnyRecord, most: int, room: Room) -> None:
    """As much of it as one record, and its source, may take."""
    source = _source_of(record)
    allowed = min(most, room.allowance(source))
    line = f"{what}: {content} {mark_of(record)}"
    if room.cost(line) > allowed:
        rest = allowed - room.cost(f"{what}: {CUT} {mark_of(record)}")
        short = cut_to_tokens(content, rest, room.count) if rest >= _SENTENCE_TOKENS_MIN else ""
        line = f"{what}: {short}{CUT} {mark_of(record)}"
        if not short or room.cost(line) > allowed:
            return
    room.say(line, source)


def _within(lines: Sequence[str], hits: Sequence[Hit], budget: int, count: Callable[[str], int], mark: str) -> Context:
    """The text, counted as it is handed out; lines go from the end until it fits."""
    kept = list(lines)
    while kept:
        text = fenced(kept, mark, _TITLE)
        tokens = count(text)
        if tokens <= budget:
            return Context(text, tokens, tuple(hits))
        kept.pop()
    return Context("", 0, ())
