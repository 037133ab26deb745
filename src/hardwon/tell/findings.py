"""What looks of earlier runs showed, as one item: which names there are, and where. Nothing here knows
what the names are names of.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon.search.likeness import find_terms
from hardwon.search.question import Question
from hardwon.tell.lines import SEEN, Draft, make_mark, name_sources
from hardwon.tell.tasks import PastRun

# A run half as much like the question as the likest one has a quarter of its say in what was seen.
_SHARPNESS: Final = 2.0
# What a list is worth that the least alike run looked at, against one of the likest.
_BASE: Final = 0.3
# Lists that are worth less have nothing to do with the question.
_WORTH_FROM: Final = 0.07
# What it is worth that all runs like this one used what was looked at, against that the question
# names all of it.
_USED: Final = 0.5
# Of what a list is worth, what those are that tell of the things it names.
_LISTED: Final = 0.8
_NAMES_PER_USED: Final = 8
_TERMS_CHARS_MAX: Final = 400
_QUOTED: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")


class _Finding(NamedTuple):
    """A look, the names that it showed, the terms of both, and what it is worth to the question."""

    action: str
    names: tuple[str, ...]
    run: PastRun
    does: frozenset[str]
    shows: frozenset[str]
    worth: float = 0.0


def say_findings(
    runs: Sequence[PastRun], question: Question, cost: Callable[[str], int], *, alone: bool
) -> Draft | None:
    """Short looks of the runs with the names that they showed, one under the other, as many as there
    is room for; None where none has to do with the question. Those come first that show most of what
    is asked for, and of what was used in runs like this one.
    """
    rows = _choose_findings(runs, question)
    if not rows:
        return None
    sources = list(dict.fromkeys(row.run.author for row in rows))
    vouched = sum(row.run.vouched for row in rows)
    stale = "stale" if any(row.run.stale for row in rows) else ""
    mark = make_mark(name_sources(sources, vouched, alone=alone), stale)
    head = f"seen before {mark}:" if mark else "seen before:"
    texts = [f"  {row.action} -> {', '.join(row.names)}" for row in rows]

    def shorten(allowed: int) -> str:
        """As many of them as so many tokens hold."""
        left = allowed - cost(head)
        kept = []
        for text in texts:
            if (price := cost(text)) <= left:
                left -= price
                kept.append(text)
        return "\n".join([head, *kept]) if kept else ""

    return Draft(
        "\n".join([head, *texts]),
        kind=SEEN,
        sources=sources,
        vouched=vouched,
        ids=tuple(dict.fromkeys(row.run.id for row in rows)),
        relevance=max(row.run.alike for row in rows),
        why="what runs like this one looked at",
        shorter=shorten,
    )


def _choose_findings(runs: Sequence[PastRun], question: Question) -> list[_Finding]:
    """The findings that are worth saying, the best first; those that tell of the things that a better
    one names gain by it, and those that name nothing new lose.
    """
    likest = max((run.alike for run in runs), default=0.0)
    if not likest:
        return []  # nothing that was looked at is like this
    say = {run.id: (run.alike / likest) ** _SHARPNESS for run in runs}
    findings, used = _list_findings(runs, say)
    waiting = _weigh_findings(findings, used, question, sum(say.values()))
    shown, listed = set[str](), dict[str, float]()
    rows: list[_Finding] = []
    while waiting:
        worths = [
            (_BASE + (1 - _BASE) * say[one.run.id])
            * math.sqrt(len(one.shows - shown) / len(one.shows))
            * (one.worth + _LISTED * max((listed.get(term, 0.0) for term in one.does), default=0.0))
            for one in waiting
        ]
        place = max(range(len(waiting)), key=worths.__getitem__)
        if worths[place] <= _WORTH_FROM:
            break
        row = waiting.pop(place)
        rows.append(row)
        shown |= row.shows
        for name in row.names:
            for term in _find_name_terms(name):
                listed[term] = max(listed.get(term, 0.0), row.worth)
    return rows


def _list_findings(
    runs: Sequence[PastRun], say: Mapping[str, float]
) -> tuple[list[_Finding], dict[str, float]]:
    """What the runs looked at, each list of names once; and by how much say of the runs a term was
    used by what they did.
    """
    findings: dict[tuple[str, ...], _Finding] = {}
    used: dict[str, float] = {}
    for run in runs:
        account = run.teaching.account
        for action, names in account.findings:
            if names not in findings:
                does = _find_terms(action.partition(" ")[2])
                shows = _find_terms(" ".join(names))
                if shows:
                    findings[names] = _Finding(action, names, run, does, shows)
        actions = run.teaching.lasting or (account.attempt,)
        terms = set[str]()
        for action in actions:  # what stands in quotes is data
            terms |= _find_terms(_QUOTED.sub(" ", action[:_TERMS_CHARS_MAX]))
        for term in terms:
            used[term] = used.get(term, 0.0) + say[run.id]
    return list(findings.values()), used


def _weigh_findings(
    findings: Sequence[_Finding], used: Mapping[str, float], question: Question, runs: float
) -> list[_Finding]:
    """Those of which enough was ever used or is asked for, each with what it is worth. A list of which
    no name was ever used is data.
    """
    asked = question.worth.keys()
    kept = [one for one in findings if _is_used(one.names, used.keys(), asked)]
    # what many lists were asked for with tells nothing
    lists = Counter(term for one in kept for term in one.does)
    weighed = []
    for one in kept:
        use = max((used.get(term, 0.0) / lists[term] for term in one.does), default=0.0)
        worth = question.share(one.does | one.shows) + _USED * use / runs
        weighed.append(one._replace(worth=worth))
    return weighed


def _is_used(names: Sequence[str], used: Set[str], asked: Set[str]) -> bool:
    """Whether enough of the names are used or asked for: of one that is made of several words, a
    question says one.
    """
    known = 0
    for name in names:
        words = _find_name_terms(name)
        parts = words | _find_terms(name) if "_" in name else words
        known += not (words.isdisjoint(used) and parts.isdisjoint(asked))
    return known * _NAMES_PER_USED >= len(names)


def _find_name_terms(name: str) -> frozenset[str]:
    """The name as it is, and where it is a word, in whatever form."""
    folded = frozenset({name.casefold()})
    return _find_terms(name) | folded if name.isalpha() else folded


@lru_cache(maxsize=2_048)  # the same things are looked at again and again
def _find_terms(text: str) -> frozenset[str]:
    return find_terms(text)
