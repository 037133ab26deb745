"""What a fixer is told before the next attempt, in the order in which it matters: how the model did
so far, what worked for this very issue, for its type on the model, for its type anywhere, and what
is not to be repeated. Reads only.

Before the next attempt: what is found, what fits into a prompt, and what to say about an action.
Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Final

from hardwon import limits
from hardwon.brief.compose import Budget, Example, ExampleStep, add_by_turns, add_digests, lines_of
from hardwon.brief.fence import fenced, fenced_line
from hardwon.brief.lines import Line, command_without_mark, shown_name, sources_mark, without_mark
from hardwon.learn.actions import worked
from hardwon.learn.fixes import Choice, ModelHistory, Strategy
from hardwon.learn.rules import Card, Rule
from hardwon.learn.tallies import OUR_FENCE, strategy_key
from hardwon.memory.advise import source_of
from hardwon.memory.ask import CANDIDATES, Finder
from hardwon.memory.knowledge import Knowledge, few_of_each
from hardwon.memory.project import Project
from hardwon.records.kinds import (
    AnyRecord,
    Episode,
    Experience,
    Fact,
    Fix,
    Issue,
    Step,
    Trajectory,
)
from hardwon.search.rank import RELEVANT_FROM, Hit
from hardwon.search.terms import Filters
from hardwon.text.clean import CUT, clean_line
from hardwon.text.tokens import cut_to_tokens

# --- fixing ---

NOT_AGAIN: Final = "failed"
# The sorts of lessons about strategies; of each, FIXES_IN_CONTEXT_MAX are said.
SORTS: Final = ("signature", "model", "type", NOT_AGAIN)

_CONSIDERED: Final = 2  # times as many as are said: a source may have no room left for its second


def fixer_lessons(
    known: Knowledge, issue: Issue, fixer: str | None, history_tokens_max: int
) -> Iterator[Line]:
    """Nothing where nothing is known. Every strategy is in one lesson at most. A line about the
    model that has more tokens than it may is cut to its figures.
    """
    history = known.model_history(issue.model, fixer) if issue.model else None
    if history:
        yield _of_model(history, issue.issue_type, history_tokens_max)
    found, most = known.choices_for(issue, fixer), limits.FIXES_IN_CONTEXT_MAX
    for sort in SORTS:
        choices = [each for each in found.worked if each.scope == sort]
        allowed = few_of_each(
            found.failed if sort == NOT_AGAIN else choices,
            lambda choice: choice.ranked.support.only_source,
            most,
        )
        worded = ((choice, known.worded_strategy(choice.ranked)) for choice in allowed)
        lines = (
            _of_strategy(choice, strategy, issue, sort) for choice, strategy in worded if strategy
        )
        yield from islice(lines, _CONSIDERED * most)


def _of_model(history: ModelHistory, issue_type: str, tokens_max: int) -> Line:
    name = clean_line(history.model_name, limits.NAME_CHARS_MAX)
    attempts = "attempt" if history.attempts == 1 else "attempts"
    counts = f"{name}: {history.attempts} {attempts}, {history.verified} verified, p = {history.p_success:.2f}"
    common = ", ".join(
        f"{issue} ({count})" for issue, count in history.issues[: limits.ISSUES_IN_CONTEXT_MAX]
    )
    own = sorted(history.notes, key=lambda note: not note.startswith(f"{issue_type} "))[
        : limits.NOTES_IN_CONTEXT_MAX
    ]
    details = [
        clean_line(each, limits.LESSON_CHARS_MAX)
        for each in (f"common issues: {common}" if common else "", *own)
    ]
    mark = f"[{sources_mark(history.sources, history.vouched)}]"
    line = command_without_mark("; ".join(filter(None, (counts, *details))))
    # Several together say nothing that one of them would have to share the room for.
    sources = history.sources if len(history.sources) == 1 else ()
    return Line(
        f"{line} {mark}",
        sources,
        history.vouched,
        tokens_max=tokens_max,
        shorter=lambda _: f"{counts} {mark}",
    )


def _of_strategy(choice: Choice, strategy: Strategy, issue: Issue, sort: str) -> Line:
    """Commands are data: they are shown, and run by nobody here."""
    done = " && ".join(strategy.fix_commands) or strategy.analysis
    done = command_without_mark(clean_line(done, limits.LESSON_CHARS_MAX))
    mark = sources_mark(strategy.sources, strategy.vouched)
    if sort == NOT_AGAIN:
        where = " for this very issue" if choice.scope == "signature" else ""
        times = f"{strategy.attempts} of {strategy.attempts} times"
        line = f"did not work{where}, {times}; do not repeat: {done} [{mark}]"
    else:
        kind, model = (
            clean_line(name, limits.NAME_CHARS_MAX) for name in (issue.issue_type, issue.model)
        )
        about = {"signature": "this very issue", "model": f"{kind} on {model}", "type": kind}[sort]
        times = f"{strategy.verified} of {strategy.attempts} times"
        yet = ", but not for this very issue yet" if choice.failed_here else ""
        went = f"worked {times}, p = {strategy.p_success:.2f}{yet}"
        line = f"{about}: {done} [{went}, {mark}]"
    return Line(
        line, strategy.sources, strategy.vouched, strategy.evidence, sort=sort, strategy=strategy.id
    )


# --- recalling ---


@dataclass(frozen=True)
class Context:
    """What to put into a prompt: `str(context)` is the text, `tokens` its length as counted, `hits`
    the records behind its lines, `evidence` the ids of those behind its rules and fixes. `sources`
    has the ids behind each line of the text.
    """

    text: str
    tokens: int
    hits: tuple[Hit, ...]
    evidence: tuple[str, ...] = ()
    sources: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        return self.text

    @property
    def ids(self) -> list[str]:
        """Of the hits, for `credit` and `recalled=`."""
        return [hit.record.id for hit in self.hits]


class Recaller(Finder):
    """Everything that is asked before an attempt, of one project."""

    def __init__(self, project: Project) -> None:
        self._known = project.knowledge
        super().__init__(project)

    # --- context ---

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
        words = (query, issue.description, issue.error_output) if issue else (query,)
        asked = " ".join(filter(None, words))
        hits = self._hits_to_say(asked) if asked else []
        fresh, stale = [hit for hit in hits if not hit.stale], [hit for hit in hits if hit.stale]
        lessons = list(self._lessons(task_id, issue, fixer, int(limits.HISTORY_SHARE_MAX * budget)))
        places: dict[str, int] = {}
        unproven: list[Line] = []
        if task_id is not None:
            active = len(self._known.rules(task_id, "active", limits.RULES_IN_CONTEXT_MAX))
            new = max(limits.NEW_RULES_IN_CONTEXT_MAX, limits.RULES_IN_CONTEXT_MAX - active)
            # How many lessons of each sort are shown of what is not borne out yet.
            places = {"new rule": new, "new card": limits.CARDS_IN_CONTEXT_MAX}
            unproven = self._unproven(task_id, places)
        warnings = [lesson for lesson in lessons if lesson.sort == NOT_AGAIN]
        banned = {lesson.strategy for lesson in warnings}
        groups = [
            [case for case in map(_case, group) if case.strategy not in banned]
            for group in (fresh, stale)
        ]
        spoken = [*lessons, *unproven]
        # who has something relevant to say
        sources = {source for line in spoken for source in line.sources}
        sources |= {
            hit.record.metadata.source.author
            for hit in (fresh or stale)
            if hit.score >= RELEVANT_FROM * (fresh or stale)[0].score
        }
        room = Budget(budget - count(fenced([], mark) + "\n"), count, len(sources) < 2)
        # what may no longer hold takes the room that is left
        for group, cases in zip((fresh, stale), groups, strict=True):
            spoken += _sentences(group, int(budget * _SENTENCE_SHARE), room)
            spoken += lines_of(cases)
        # Rules do not crowd out what was said last, nor what worked what did not.
        first = [
            each
            for each in (*unproven[:1], *warnings[:1])
            if room.cost(each.text) <= room.left // 2
        ]
        places |= dict.fromkeys(SORTS, limits.FIXES_IN_CONTEXT_MAX)
        pools = {_UNPROVEN: int(limits.UNPROVEN_SHARE_MAX * budget)} if hits else {}
        add_by_turns(spoken, first, places, pools, room)
        for cases in groups:
            add_digests(
                asked[: limits.INDEXED_CHARS_MAX],
                [each for each in cases if each.strategy not in room.said],
                room,
            )
        return _within(room.lines, hits, budget, count, mark)

    def _hits_to_say(self, asked: str) -> list[Hit]:
        """The best few of any kind, and of the others those that say what was done: only these are
        read.
        """
        ranked = self.find(asked, CANDIDATES, Filters())
        first, others = (
            ranked[: limits.RULES_IN_CONTEXT_MAX],
            ranked[limits.RULES_IN_CONTEXT_MAX :],
        )
        say = [pair for pair in others if pair[1].stored.kind in ("trajectory", "fix")]
        return self.read_hits([*first, *say])

    def _lessons(
        self, task_id: str | None, issue: Issue | None, fixer: str | None, history_tokens_max: int
    ) -> Iterator[Line]:
        """Rules of the task, how its episodes went, and what was done about the issue."""
        if task_id is not None:
            yield from map(
                _of_rule, self._known.rules(task_id, "active", limits.RULES_IN_CONTEXT_MAX)
            )
            scores = self._known.own_scores(task_id)
            if scores.mean is not None and scores.best is not None:
                name = clean_line(task_id, limits.NAME_CHARS_MAX)
                line = f"mean score on {name}: {scores.mean:.2f}, best {scores.best:.2f} [{_episodes(scores.episodes)}]"
                yield Line(line)
        if issue:
            yield from fixer_lessons(self._known, issue, fixer, history_tokens_max)

    def _unproven(self, task_id: str, places: Mapping[str, int]) -> list[Line]:
        """What was said of the task and is not borne out yet: the newest rules and the mistake
        cards, which take turns, and the last episode; before them where it has something to say
        that they have not. So a lesson is in the very next context after the episode that taught
        it. What was only adopted comes last.
        """
        new = self._known.new_rules(task_id, places["new rule"])
        cards = self._known.cards_to_show(task_id, places["new card"])
        turns = zip_longest(map(_of_rule, new), map(_of_card, cards))
        lines = sorted(
            (line for turn in turns for line in turn if line), key=lambda line: line.only_claimed
        )
        episode = self._known.last_episode(task_id)
        if episode:
            unsaid = self._known.unjudged(episode, new[: places["new rule"]])
            said = "; ".join(unsaid) or episode.trajectory_summary
            if said and OUR_FENCE not in said:
                changes = self._changes_of(episode) if self._changes_of else ()
                stale = any(change.stale for change in changes)
                borne_out = sum(not line.only_claimed for line in lines)
                place = len(lines) if stale else 0 if unsaid else borne_out
                lines.insert(place, _of_episode(episode, said, stale))
        return [line._replace(sort=f"new {line.sort}", pool=_UNPROVEN) for line in lines]


_SENTENCE_SHARE: Final = 0.3  # of the budget, for what one record says
_SENTENCE_TOKENS_MIN: Final = 12  # less than that of it says nothing
_UNPROVEN: Final = "unproven"


def _of_rule(rule: Rule) -> Line:
    mark = f"[{_support(rule.episodes, rule.adopted)}, {sources_mark(rule.sources, rule.vouched)}]"
    line = f"{without_mark(clean_line(str(rule), limits.LESSON_CHARS_MAX))} {mark}"
    only_claimed = bool(rule.adopted and not rule.episodes and not rule.vouched)
    return Line(line, rule.sources, rule.vouched, rule.evidence, "", "rule", only_claimed)


def _of_card(card: Card) -> Line:
    said = f"{card.mistake_type}: {card.lesson}" + (
        f" Evidence: {card.evidence}" if card.evidence else ""
    )
    mark = f"[{_support(card.seen_count, 0, card.adopted_count)}, {sources_mark(card.sources, card.vouched)}]"
    line = f"{without_mark(clean_line(said, limits.LESSON_CHARS_MAX))} {mark}"
    return Line(
        line,
        card.sources,
        card.vouched,
        card.records,
        "",
        "card",
        not card.seen_count and not card.vouched,
    )


def _of_episode(episode: Episode, said: str, stale: bool) -> Line:
    said = without_mark(clean_line(said, limits.LESSON_CHARS_MAX))
    line = f"last episode, score {episode.score:.2f}: {said} {mark_of(episode, stale)}"
    author, vouched = episode.metadata.source.author, int(source_of(episode) is None)
    return Line(line, (author,), vouched, (episode.id,), _told(episode))


def _episodes(count: int) -> str:
    return "1 episode" if count == 1 else f"{count} episodes"


def _support(episodes: int, adopted: int, seen_before: int = 0) -> str:
    """What it rests on: episodes that are here, that it was adopted, and how often it was seen
    before that.
    """
    told = [_episodes(episodes)] if episodes or not (adopted or seen_before) else []
    told += ["adopted"] if adopted else []
    times = "once" if seen_before == 1 else f"{seen_before} times"
    return ", ".join([*told, *([f"seen {times} in training memory"] if seen_before else [])])


def mark_of(record: AnyRecord, stale: bool = False) -> str:
    """Who says so, whether anybody stands behind it, and whether the files that it is about are
    others by now.
    """
    sure = "?" if source_of(record) else ""
    return f"[{shown_name(record.metadata.source.author)}{sure}{', stale' if stale else ''}]"


def _acts(record: AnyRecord) -> list[ExampleStep]:
    if isinstance(record, Trajectory):
        steps = record.steps[-limits.CASE_ACTS_MAX :]
        return [
            ExampleStep(
                step.action[: limits.ACTION_CHARS_MAX],
                step.observation[: limits.ACTION_CHARS_MAX],
                earned,
                worked(step),
            )
            for step, earned in zip(steps, _earned(steps, record.final_reward), strict=True)
        ]
    if isinstance(record, Fix) and record.fix_commands:
        return [
            ExampleStep(
                " && ".join(record.fix_commands)[: limits.ACTION_CHARS_MAX],
                record.analysis[: limits.ACTION_CHARS_MAX],
                float(record.succeeded),
                record.succeeded,
            )
        ]
    return []


def _earned(steps: Sequence[Step], final_reward: float) -> list[float]:
    """What the run earned, shared out: to the step that was worth most all of it, to others in
    proportion; where nobody said what a step was worth, to the last one.
    """
    most = max((step.reward for step in steps), default=0.0)
    if most > 0:
        return [final_reward * max(step.reward / most, 0.0) for step in steps]
    return [0.0] * (len(steps) - 1) + [final_reward * (step.reward == 0) for step in steps[-1:]]


def _case(hit: Hit) -> Example:
    record, task, strategy = hit.record, "", ""
    if isinstance(record, Trajectory):
        task = record.task
    elif isinstance(record, Fix):
        task, strategy = record.issue.description, strategy_key(record)
    relevance = max(hit.why.get("text", 0.0) + hit.why.get("phrase", 0.0), _LEAST)
    return Example(
        record.id,
        task,
        _acts(record),
        relevance,
        mark_of(record, hit.stale),
        source_of(record),
        strategy,
    )


_LEAST: Final = 1e-6  # a case that was found by its key, not by its words, still has a say


def _sentences(hits: Sequence[Hit], tokens_max: int, room: Budget) -> Iterator[Line]:
    """Hits that are a sentence: experiences, facts and episodes, and how it turned out."""
    for hit in hits[: limits.RULES_IN_CONTEXT_MAX]:
        record = hit.record
        if isinstance(record, Experience | Fact):
            what = record.outcome if isinstance(record, Experience) else record.fact_type
            yield _of_sentence(
                what, clean_line(record.content, limits.LESSON_CHARS_MAX), hit, tokens_max, room
            )
        elif isinstance(record, Episode):
            said = _told(record)
            if said:
                yield _of_sentence(f"score {record.score:.2f}", said, hit, tokens_max, room)


def _of_sentence(what: str, content: str, hit: Hit, tokens_max: int, room: Budget) -> Line:
    """As much of it as one record may take."""
    source, mark = source_of(hit.record), mark_of(hit.record, hit.stale)

    def shorter(allowed: int) -> str:
        rest = allowed - room.cost(f"{what}: {CUT} {mark}")
        short = cut_to_tokens(content, rest, room.count) if rest >= _SENTENCE_TOKENS_MIN else ""
        return f"{what}: {short}{CUT} {mark}" if short else ""

    return Line(
        f"{what}: {content} {mark}",
        (source,) if source else (),
        not source,
        (hit.record.id,),
        content,
        tokens_max=tokens_max,
        shorter=shorter,
    )


def _told(episode: Episode) -> str:
    said = "; ".join(
        filter(None, (episode.trajectory_summary, *episode.successes[:2], *episode.mistakes[:2]))
    )
    return clean_line(said, limits.LESSON_CHARS_MAX)


def _within(
    lines: Sequence[Line], hits: Sequence[Hit], budget: int, count: Callable[[str], int], mark: str
) -> Context:
    """The text, counted as it is handed out; lines go from the end until it fits. Its hits are what
    is behind the lines.
    """
    kept = list(lines)
    while kept:
        rows = [(row, line.ids) for line in kept for row in line.text.split("\n")]
        text = fenced([row for row, _ in rows], mark)
        tokens = count(text)
        if tokens <= budget:
            behind = {each for line in kept for each in line.ids}
            shown = tuple(hit for hit in hits if hit.record.id in behind)
            others = behind - {hit.record.id for hit in shown}
            said = (ids for row, ids in rows if fenced_line(row, mark))
            return Context(text, tokens, shown, tuple(sorted(others)), ((), (), *said, ()))
        kept.pop()
    return Context("", 0, (), ())
