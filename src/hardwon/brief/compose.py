"""What is said before an attempt: the lines that fit, sources taking turns, and what similar cases
show.

Finding the right records is not the hard part; one of them, written out, would take all the room.
So of each case one line is said: its task and the action that earned most, word for word. What is
left goes to short actions that worked, with the names they showed; every case votes, by how well it
matches, for the names it knows to be right. Nothing is said twice, and nothing here knows what the
names are names of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.brief.lines import Line
from hardwon.text.clean import clean_code, clean_line
from hardwon.text.terms import ENGLISH, index_text, query_terms, stop_words

SHARPNESS: Final = 3.0  # a case half as good as the best one has an eighth of its say
FULL_REWARD_FROM: Final = 0.995  # with two digits it reads 1.00
IN_ACTION, IN_OBSERVATION, IN_FAILED = 1.0, 0.5, 0.05
ASKED_FOR: Final = 3.0  # how much more a name counts that shares a part with the question
EXAMPLE_RELEVANCE_MIN: Final = 0.5  # of the best case's
DIGEST_ACTION_TOKENS_MAX: Final = 30
DIGEST_NAMES_MIN: Final = 3

EXAMPLE: Final = "example"
_NAME: Final = re.compile(r"[^\W\d]\w+")


class ExampleStep(NamedTuple):
    """Something done, what came of it, what it earned, and whether it worked."""

    action: str
    observation: str
    earned: float
    worked: bool


@dataclass(frozen=True)
class Example:
    """A record as it is compared: its task, what was done, how well it matches, who says so (None:
    somebody that others vouch for), and the mark under which that is shown. `strategy` is what a
    fix did.
    """

    id: str
    task: str
    steps: Sequence[ExampleStep]
    relevance: float
    mark: str
    source: str | None
    strategy: str = ""


@dataclass
class Budget:
    """The tokens that are left, and what they were spent on: lines, sentences and strategies,
    names, and how often each source spoke. `alone`: there is one source, which keeps no other
    waiting.
    """

    left: int
    count: Callable[[str], int]
    alone: bool
    known: set[str] = field(default_factory=set)
    lines: list[Line] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    turns: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # lines and names are weighed again and again, and a caller's counter may be slow
        self.cost_of = cache(self.count)

    def cost(self, line: str) -> int:
        return self.cost_of(f"- {line}\n")

    def turn_of(self, source: str | None) -> int:
        """How often it spoke already; who is vouched for, or alone, never waits."""
        return 0 if source is None or self.alone else self.turns.get(source, 0)

    def fits(self, line: Line, allowed: int) -> str:
        """The text of the line, or a shorter one, of at most so many tokens; empty where there is
        none.
        """
        most = allowed if line.tokens_max is None else min(allowed, line.tokens_max)
        if self.cost(line.text) <= most:
            return line.text
        shorter = line.shorter(most) if line.shorter else ""
        return shorter if shorter and self.cost(shorter) <= allowed else ""

    def add(self, line: Line) -> int:
        cost = self.cost(line.text)
        self.lines.append(line)
        self.left -= cost
        source = line.only_source
        if source is not None:
            self.turns[source] = self.turns.get(source, 0) + 1
        self.known.update(_names_in(line.text))
        return cost


def add_by_turns(
    lines: Sequence[Line],
    first: Collection[Line],
    places: Mapping[str, int],
    pools: Mapping[str, int],
    budget: Budget,
) -> None:
    """As many of the lines as there is room for, each source's first before any one's second.
    `first` are looked at before the others; what was only claimed comes after everything that was
    recorded. `places` is how many of a sort are said, `pools` how many tokens those of a pool may
    have together.
    """
    free, left = dict(places), dict(pools)
    ordered = sorted(enumerate(lines), key=lambda pair: pair[1] not in first)
    claimed = [pair for pair in ordered if pair[1].only_claimed]
    order = [pair for pair in ordered if not pair[1].only_claimed]
    turn = 0
    while order or claimed:
        if not order:
            order, claimed, turn = claimed, [], 0
        waiting = []
        for place, line in order:
            if budget.turn_of(line.only_source) > turn:
                waiting.append((place, line))
                continue
            about = {line.instead_of, line.strategy} - {""}
            text = budget.fits(line, min(budget.left, left.get(line.pool, budget.left)))
            if text and free.get(line.sort, 1) > 0 and budget.said.isdisjoint(about):
                cost = budget.add(line._replace(text=text, place=place))
                budget.said |= about
                if line.sort in free:
                    free[line.sort] -= 1
                if line.pool in left:
                    left[line.pool] -= cost
        order = waiting
        turn += 1
    budget.lines.sort(key=lambda line: line.place)


def _names_in(text: str) -> dict[str, str]:
    """Names in lower case, with their first spelling."""
    return {name.lower(): name for name in reversed(_NAME.findall(text))}


def _name_weights(query: str, examples: Sequence[Example]) -> dict[str, float]:
    """How much speaks for each name."""
    weights: dict[str, float] = {}
    for example in examples:
        say = (example.relevance / examples[0].relevance) ** SHARPNESS
        for name, worth in _names_of(example.steps).items():
            weights[name] = weights.get(name, 0.0) + say * worth
    asked = frozenset(query_terms(query))
    for name in weights:
        if not asked.isdisjoint(index_text(f"{name} {name.replace('_', ' ')}").split()):
            weights[name] *= ASKED_FOR
    return {name: weight for name, weight in weights.items() if name not in stop_words(ENGLISH)}


def _names_of(steps: Iterable[ExampleStep]) -> dict[str, float]:
    """How much a case speaks for each name. One that an error names beside the action that used it
    was wrong.
    """
    worth: dict[str, float] = {}
    blamed: set[str] = set()
    for action, observation, worked in dict.fromkeys(
        (step.action, step.observation, step.worked) for step in steps
    ):
        did, saw = _names_in(action), _names_in(observation)
        if worked:
            worth |= dict.fromkeys(did, IN_ACTION)
            worth |= {name: max(worth.get(name, 0.0), IN_OBSERVATION) for name in saw}
        else:
            blamed |= did.keys() & saw.keys()
            worth |= {
                name: max(worth.get(name, 0.0), IN_FAILED) for name in did.keys() - saw.keys()
            }
    return {
        name: weight for name, weight in worth.items() if weight > IN_FAILED or name not in blamed
    }


def lines_of(examples: Sequence[Example]) -> Iterator[Line]:
    """The likest tasks with the action that earned most; first those that earned everything there
    was. What earned less is nothing to follow, and says so. A program keeps its lines.
    """
    likest = max((each.relevance for each in examples), default=0.0)
    like = [
        each for each in examples if each.steps and each.relevance >= EXAMPLE_RELEVANCE_MIN * likest
    ]
    best = [(each, max(reversed(each.steps), key=lambda step: step.earned)) for each in like]
    for example, step in sorted(best, key=lambda pair: pair[1].earned < FULL_REWARD_FROM):
        one_line = " ".join(step.action.split())
        if not one_line or step.earned <= 0:
            continue
        earned = (
            ""
            if step.earned >= FULL_REWARD_FROM
            else f" did not earn the full reward ({step.earned:.2f} of 1):"
        )
        text = f"{clean_line(example.task, limits.EXAMPLE_TASK_CHARS_MAX)} ->{earned}"
        code = clean_code(step.action, limits.EXAMPLE_CHARS_MAX)
        if len(code) > 1:
            text = "\n".join((f"{text} {example.mark}", *code))
        else:
            room = limits.CONTEXT_LINE_CHARS_MAX - len(text) - len(example.mark) - len("  ")
            text = f"{text} {clean_line(step.action, room)} {example.mark}"
        yield Line(
            text,
            (example.source,) if example.source else (),
            not example.source,
            (example.id,),
            one_line,
            EXAMPLE,
            strategy=example.strategy,
            pool=EXAMPLE,
        )


class _ShortStep(NamedTuple):
    """A short action that worked, and the names that it used and showed, each as it is spelled."""

    action: str
    did: dict[str, str]
    saw: dict[str, str]
    trust: float
    example: Example


def _short_steps(examples: Sequence[Example], budget: Budget) -> list[_ShortStep]:
    steps: dict[str, _ShortStep] = {}
    for example in examples:
        trust = (example.relevance / examples[0].relevance) ** SHARPNESS
        for step in example.steps:
            action = " ".join(step.action[: limits.DIGEST_CHARS_MAX + 1].split())
            short = (
                step.worked
                and len(action) <= limits.DIGEST_CHARS_MAX
                and action not in steps
                and len(steps) < limits.DIGESTS_CONSIDERED_MAX
            )
            if short and budget.count(action) <= DIGEST_ACTION_TOKENS_MAX:
                steps[action] = _ShortStep(
                    action, _names_in(action), _names_in(step.observation), trust, example
                )
    return list(steps.values())


def _wanted(weights: Mapping[str, float], budget: Budget) -> set[str]:
    """The names that would fit if nothing else were said."""
    wanted, left = set[str](), budget.left
    for name in sorted(weights.keys() - budget.known, key=lambda name: (-weights[name], name)):
        left -= budget.cost_of(f" {name}")
        if left < 0:
            break
        wanted.add(name)
    return wanted


def add_digests(query: str, examples: Sequence[Example], budget: Budget) -> None:
    """Short actions that worked, with the names they showed that are wanted; the most for its
    length first.
    """
    if not examples:
        return
    weights = _name_weights(query, examples)
    budget.known.update(_names_in(query))
    wanted = _wanted(weights, budget)
    steps = _short_steps(examples, budget)
    turn = 0
    while steps:
        unsaid = wanted - budget.known
        steps = [
            step
            for step in steps
            if len(unsaid & (step.did.keys() | step.saw.keys())) >= DIGEST_NAMES_MIN
        ]
        best: tuple[float, _ShortStep, str] | None = None
        waits = False
        for step in steps:
            new = [
                step.saw[name]
                for name in reversed(step.saw)
                if name in unsaid and name not in step.did
            ]
            line = (
                f"{step.action}: {' '.join(new)} {step.example.mark}"
                if new
                else f"{step.action} {step.example.mark}"
            )
            cost = budget.cost(line)
            gain = [name for name in step.did if name in unsaid] + [name.lower() for name in new]
            value = step.trust * sum(weights[name] for name in gain) / cost
            if budget.turn_of(step.example.source) > turn:
                waits = True
            elif cost <= budget.left and (best is None or value > best[0]):
                best = value, step, line
        if best:
            _, said, line = best
            steps.remove(said)
            source = said.example.source
            budget.add(Line(line, (source,) if source else (), not source, (said.example.id,)))
        elif not waits:
            break
        else:
            turn += 1
