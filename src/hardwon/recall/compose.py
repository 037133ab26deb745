"""Similar cases, as the few lines that help most with the next one.

Finding the right records is not the hard part; one of them, written out, would take all the room. So every record votes, by
how well it matches, for the names it knows to be right: those of actions that worked and of what they showed, hardly those of
actions that failed. Then the room is filled: what worked for the likest tasks, word for word; short actions that worked with
the names they showed; the other names. Nothing is said twice, and nothing here knows what the names are names of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.recall.terms import STOP_WORDS, index_text, query_terms

SHARPNESS: Final = 3.0
"""A case half as good as the best one has an eighth of its say."""

IN_ACTION, IN_OBSERVATION, IN_FAILED = 1.0, 0.5, 0.05
ASKED_FOR: Final = 3.0  # how much more a name counts that shares a part with the question
EXAMPLES_SHARE: Final = 0.6  # of the room, at most
TOKENS_PER_EXAMPLE: Final = 100
EXAMPLE_RELEVANCE_MIN: Final = 0.5  # of the best case's
DIGESTS_SHARE: Final = 0.8  # of the room left
DIGEST_ACTION_TOKENS_MAX: Final = 10
DIGEST_NAMES_MIN: Final = 3

_NAME: Final = re.compile(r"[^\W\d]\w+")


class Act(NamedTuple):
    """Something done, what came of it, what that was worth, and whether it worked."""

    action: str
    observation: str
    reward: float
    worked: bool


@dataclass(frozen=True)
class Case:
    """A record as it is compared: its task, what was done, how well it matches, who says so (None: somebody that others vouch
    for, who may say as much as there is room), and the mark under which that is shown."""

    id: str
    task: str
    acts: Sequence[Act]
    relevance: float
    mark: str
    source: str | None


class Line(NamedTuple):
    """One line, and the records behind it."""

    text: str
    ids: tuple[str, ...] = ()


@dataclass
class Room:
    """What may still be said, and what has been. `quota`: where several sources have something to say, so many tokens at most
    for each that nobody vouches for."""

    left: int
    count: Callable[[str], int]
    quota: int | None = None
    known: set[str] = field(default_factory=set)
    lines: list[Line] = field(default_factory=list)
    spent: dict[str, int] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    _costs: dict[str, int] = field(default_factory=dict)

    def cost(self, line: str) -> int:
        return self.count(f"- {line}\n")

    def cost_of_name(self, name: str) -> int:
        """Remembered: names are weighed again and again, and a caller's counter may be slow."""
        if name not in self._costs:
            self._costs[name] = self.count(" " + name)
        return self._costs[name]

    def allowance(self, source: str | None) -> int:
        """So many tokens may a source still take."""
        if source is None or self.quota is None:
            return self.left
        return min(self.left, self.quota - self.spent.get(source, 0))

    def may_say(self, cost: int, source: str | None) -> bool:
        return cost <= self.allowance(source)

    def say(self, line: str, source: str | None = None, ids: Iterable[str] = ()) -> None:
        cost = self.cost(line)
        self.lines.append(Line(line, tuple(ids)))
        self.left -= cost
        self.charge(source, cost)
        self.known.update(_names_in(line))

    def charge(self, source: str | None, cost: int) -> None:
        if source is not None:
            self.spent[source] = self.spent.get(source, 0) + cost


def similar_cases(query: str, cases: Sequence[Case], room: Room) -> None:
    """Says as much of the cases, best first, as there is room for."""
    if not cases:
        return
    weights, spelling, backers = _name_weights(query, cases)
    room.known.update(_names_in(query))
    _say_examples(cases, room)
    ranked = sorted(weights, key=lambda name: (-weights[name], name))
    _say_digests(cases, weights, _wanted(ranked, room), room)
    _say_names(ranked, spelling, backers, cases, room)


def one_line(text: str) -> str:
    return " ".join(text.split())


def _names_in(text: str) -> dict[str, str]:
    """Names in lower case, with their first spelling."""
    return {name.lower(): name for name in reversed(_NAME.findall(text))}


def _name_weights(query: str, cases: Sequence[Case]) -> tuple[dict[str, float], dict[str, str], dict[str, set[str | None]]]:
    """How much speaks for each name, how it is written, and which sources speak for it."""
    weights: dict[str, float] = {}
    spelling: dict[str, str] = {}
    backers: dict[str, set[str | None]] = {}
    for case in cases:
        say = (case.relevance / cases[0].relevance) ** SHARPNESS
        for name, worth in _names_of(case.acts, spelling).items():
            weights[name] = weights.get(name, 0.0) + say * worth
            backers.setdefault(name, set()).add(case.source)
    asked = {_singular(term) for term in query_terms(query)}
    for name in weights:
        if not asked.isdisjoint(_parts(name)):
            weights[name] *= ASKED_FOR
    return {name: weight for name, weight in weights.items() if name not in STOP_WORDS}, spelling, backers


def _names_of(acts: Iterable[Act], spelling: dict[str, str]) -> dict[str, float]:
    """How much a case speaks for each name. One that an error names beside the action that used it was wrong."""
    worth: dict[str, float] = {}
    blamed: set[str] = set()
    for action, observation, worked in dict.fromkeys((act.action, act.observation, act.worked) for act in acts):
        did, saw = _names_in(action), _names_in(observation)
        for name, written in (*did.items(), *saw.items()):
            spelling.setdefault(name, written)
        if worked:
            worth |= dict.fromkeys(did, IN_ACTION)
            worth |= {name: max(worth.get(name, 0.0), IN_OBSERVATION) for name in saw}
        else:
            blamed |= did.keys() & saw.keys()
            worth |= {name: max(worth.get(name, 0.0), IN_FAILED) for name in did.keys() - saw.keys()}
    return {name: weight for name, weight in worth.items() if weight > IN_FAILED or name not in blamed}


def _parts(name: str) -> set[str]:
    return {_singular(term) for term in index_text(f"{name} {name.replace('_', ' ')}").split()}


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > len("ties"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > len("gas") else word


def _say_examples(cases: Sequence[Case], room: Room) -> None:
    """The likest tasks with the action that earned most."""
    budget, spent, shown = room.left, 0, set[str]()
    for case in cases:
        if case.relevance < EXAMPLE_RELEVANCE_MIN * cases[0].relevance:
            break
        act = max(case.acts, key=lambda act: act.reward, default=None)
        if act is None or act.reward <= 0:
            continue
        action, task = one_line(act.action)[: limits.EXAMPLE_CHARS_MAX], one_line(case.task)[: limits.EXAMPLE_CHARS_MAX]
        if not action:
            continue
        line = f"{task} -> {action} {case.mark}"
        cost = room.cost(line)
        if action in shown or spent + cost > EXAMPLES_SHARE * budget or not room.may_say(cost, case.source):
            continue
        shown.add(action)
        spent += cost
        room.say(line, case.source, [case.id])
        if len(shown) >= max(1, budget // TOKENS_PER_EXAMPLE):
            break


def _wanted(ranked: Sequence[str], room: Room) -> set[str]:
    """The names that would fit if nothing else were said."""
    wanted, left = set[str](), room.left
    for name in ranked:
        if name not in room.known:
            left -= room.cost_of_name(name)
            if left < 0:
                break
            wanted.add(name)
    return wanted


class _Step(NamedTuple):
    """A short action that worked, and the names that it used and showed, each as it is spelled."""

    action: str
    did: dict[str, str]
    saw: dict[str, str]
    trust: float
    case: Case


def _short_steps(cases: Sequence[Case], room: Room) -> list[_Step]:
    steps: dict[str, _Step] = {}
    for case in cases:
        trust = (case.relevance / cases[0].relevance) ** SHARPNESS
        for act in case.acts:
            action = one_line(act.action[: limits.DIGEST_CHARS_MAX + 1])
            short = (
                act.worked
                and len(action) <= limits.DIGEST_CHARS_MAX
                and action not in steps
                and len(steps) < limits.DIGESTS_CONSIDERED_MAX
            )
            if short and room.count(action) <= DIGEST_ACTION_TOKENS_MAX:
                steps[action] = _Step(action, _names_in(action), _names_in(act.observation), trust, case)
    return list(steps.values())


def _say_digests(cases: Sequence[Case], weights: dict[str, float], wanted: set[str], room: Room) -> None:
    """Short actions that worked, with the wanted names they showed; the most for its length first."""
    steps = _short_steps(cases, room)
    floor = room.left * (1 - DIGESTS_SHARE)
    while steps:
        unsaid = wanted - room.known
        steps = [step for step in steps if len(unsaid & (step.did.keys() | step.saw.keys())) >= DIGEST_NAMES_MIN]
        best: tuple[float, _Step, str] | None = None
        for step in steps:
            new = [step.saw[name] for name in reversed(step.saw) if name in unsaid and name not in step.did]
            line = f"{step.action}: {' '.join(new)} {step.case.mark}" if new else f"{step.action} {step.case.mark}"
            cost = room.cost(line)
            gain = [name for name in step.did if name in unsaid] + [name.lower() for name in new]
            value = step.trust * sum(weights[name] for name in gain) / cost
            affordable = room.left - cost >= floor and room.may_say(cost, step.case.source)
            if affordable and (best is None or value > best[0]):
                best = value, step, line
        if best is None:
            break
        _, said, line = best
        steps.remove(said)
        room.say(line, said.case.source, [said.case.id])


def _say_names(
    ranked: Sequence[str],
    spelling: dict[str, str],
    backers: dict[str, set[str | None]],
    cases: Sequence[Case],
    room: Room,
) -> None:
    """The names for which there is room yet; of those that only one source knows, no more than it may say."""
    marks = list(dict.fromkeys(case.mark for case in cases))
    sure = all(case.source is None for case in cases)
    mark = marks[0] if len(marks) == 1 else "[several]" if sure else "[several?]"
    opening = "names:"
    left, characters = room.left - room.cost(f"{opening} {mark}"), limits.NAMES_CHARS_MAX
    said: list[str] = []
    for name in ranked:
        cost = room.cost_of_name(spelling[name])
        source = next(iter(backers[name])) if len(backers[name]) == 1 else None
        fits = cost <= left and len(name) < characters and room.may_say(cost, source)
        if name not in room.known and fits:
            said.append(spelling[name])
            left -= cost
            characters -= len(name) + 1
            room.charge(source, cost)
    if said:
        room.say(f"{opening} {' '.join(said)} {mark}")
