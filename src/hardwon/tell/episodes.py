"""What episodes taught about a task, as lines: its rules, its mistakes, and the last episode."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from hardwon import limits
from hardwon.lessons.rules import Card, Rule
from hardwon.records.kinds import Episode
from hardwon.tell.lines import RULE, Draft, drop_mark, make_mark, name_sources
from hardwon.tell.sentences import is_vouched, mark_record, tell_episode
from hardwon.text.clean import clean_line
from hardwon.text.terms import spelled_alike


def say_rule(rule: Rule, *, alone: bool) -> Draft:
    """A rule with how many episodes bear it out. `alone`: a single source said all there is here; it
    is not named.
    """
    who = name_sources(rule.sources, rule.vouched, alone=alone)
    lesson_id = rule.id if rule.episodes else ""
    mark = make_mark(_word_support(rule.episodes, rule.adopted), who, lesson_id=lesson_id)
    return Draft(
        f"{drop_mark(clean_line(str(rule), limits.LESSON_CHARS_MAX))} {mark}",
        RULE,
        rule.sources,
        rule.vouched,
        rule.evidence,
        frozenset({spelled_alike(rule.text)}),
        "a rule of the task",
        sort="rule",
        only_claimed=bool(rule.adopted and not rule.episodes and not rule.vouched),
    )


def say_card(card: Card, *, alone: bool) -> Draft:
    """A mistake with what it taught, and how often it was seen."""
    text = f"{card.mistake_type}: {card.lesson}"
    evidence = f" Evidence: {card.evidence}" if card.evidence else ""
    who = name_sources(card.sources, card.vouched, alone=alone)
    mark = make_mark(_word_support(card.seen_count, 0, card.adopted_count), who)
    return Draft(
        f"{drop_mark(clean_line(text + evidence, limits.LESSON_CHARS_MAX))} {mark}",
        RULE,
        card.sources,
        card.vouched,
        card.records,
        frozenset({spelled_alike(text)}),
        "a mistake at the task",
        sort="card",
        only_claimed=not card.seen_count and not card.vouched,
    )


def say_episode(episode: Episode, text: str, *, stale: bool, alone: bool) -> Draft:
    """What the last episode of a task says beside its rules."""
    text = drop_mark(clean_line(text, limits.LESSON_CHARS_MAX))
    mark = mark_record(episode, stale=stale, alone=alone)
    return Draft(
        f"last episode, score {episode.score:.2f}: {text} {mark}".rstrip(),
        RULE,
        (episode.said_by,),
        is_vouched(episode),
        (episode.id,),
        frozenset({spelled_alike(tell_episode(episode))}),
        "the last episode of the task",
    )


def say_scores(task_id: str, scores: Sequence[float]) -> Draft:
    """How the episodes of a task went, by their scores."""
    name, how_many = clean_line(task_id, limits.NAME_CHARS_MAX), count_episodes(len(scores))
    return Draft(
        f"mean score on {name}: {fmean(scores):.2f}, best {max(scores):.2f} [{how_many}]",
        why="how the task went",
    )


def count_episodes(count: int) -> str:
    """So many episodes, in words."""
    return "1 episode" if count == 1 else f"{count} episodes"


def _word_support(episodes: int, adopted: int, seen_before: int = 0) -> str:
    """What it rests on: episodes that are here, that it was adopted, and how often it was seen
    before that.
    """
    parts = [count_episodes(episodes)] if episodes or not (adopted or seen_before) else []
    if adopted:
        parts.append("adopted")
    if seen_before:
        times = "once" if seen_before == 1 else f"{seen_before} times"
        parts.append(f"seen {times} in training memory")
    return ", ".join(parts)
