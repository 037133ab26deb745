"""How alike a text and a question are, so that a question about something else finds nothing.

BM25 orders texts and says nothing of whether the best is any good. So what is found is weighed once
more: the share of what both say that they have in common. What both have counts against what either
has alone, and where a text has most of what is asked, what else it says counts less. Rare words
count more; but where all texts are of one field, the words of that field are common, and still tell
that a question is of it: so the words are also counted evenly, for less. Words that mean the same
in what agents are asked for count as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from functools import cache, lru_cache
from typing import Final

from hardwon.text.failures import RE as FAILURES
from hardwon.text.terms import ENGLISH, FORM, index_text
from hardwon.text.terms_tables import SAME_MEANING

# Below this a text is about something else. Of questions of another field one in twenty passes it, of
# new questions of the same field nine in ten.
ALIKE_FROM: Final = 0.22
# Of few texts the best is less often alike by chance: from here on, the more the more there are, it
# stays one in twenty.
ALIKE_OF_ONE_FROM: Final = 0.14
_PER_TEXTS: Final = 0.015

# The same for a report of what was done and what came of it: the same command may fail in many ways.
# Of kinds of failures never seen before one in twelve passes it, of kinds that are known all but one
# in thirty.
ALIKE_REPORT_FROM: Final = 0.38

# What having every word of the question is worth, however much else a text says.
COVERED: Final = 0.6

# What being alike is worth where all words count the same.
EVENLY: Final = 0.65


@lru_cache(maxsize=1_024)  # the same tasks are compared with one question after the other
def _words_in(text: str) -> frozenset[str]:
    return frozenset(index_text(text).partition("\n")[0].split())


class Question:
    """The words of a question, and what each is worth: the fewer texts have it, the more."""

    def __init__(self, terms: Iterable[str], having: Mapping[str, int], texts: int) -> None:
        """`having`: how many of the `texts` have a term. A number that none has tells what is wanted,
        not what it is about.
        """
        self.worth = {
            term: math.log1p((max(texts, count) - count + 0.5) / (count + 0.5))
            for term in terms
            if not term.startswith(FORM) and (having.get(term) or not term.isdigit())
            for count in (max(1, having.get(term, 0)),)
        }
        self.alike_from = min(ALIKE_FROM, ALIKE_OF_ONE_FROM + _PER_TEXTS * math.log(max(1, texts)))
        self._terms = frozenset(self.worth)
        self._others = {term: _others()[term] for term in self._terms & _others().keys()}
        self.telling = self._terms.union(*self._others.values())
        # They say that something failed, and not what.
        self._complaints = frozenset(filter(FAILURES.complaint.fullmatch, self._terms))
        self._whole = math.fsum(self.worth.values())
        self._alike: dict[str, float] = {}
        self._covered: dict[frozenset[str], float] = {}

    def share(self, terms: Iterable[str]) -> float:
        """How much of the question these terms have, from 0 to 1, rare words counting more."""
        common = self._common(terms)
        return self._add_worth(common) / self._whole if common else 0.0

    def cover(self, words: frozenset[str]) -> float:
        """How much a text, given as its terms, is like the question for having its words, whatever
        else it says. Many have the same ones.
        """
        if words not in self._covered:
            common = self._common(words)
            covers = self._cover(len(common), self._add_worth(common)) if common else 0.0
            self._covered[words] = covers
        return self._covered[words]

    def alike_to(self, text: str) -> float:
        """From 0, nothing in common, to 1, the same words. The same text may be asked for again."""
        if text not in self._alike:
            self._alike[text] = self.alike_by(_words_in(text))
        return self._alike[text]

    def alike_by(self, words: Set[str]) -> float:
        """The same of a text that is given as its terms, each once."""
        common = self._common(words)
        return self._compare(common, len(words)) if common else 0.0

    def _compare(self, common: Set[str], words: int) -> float:
        """With a text of so many words."""
        shared, terms, worth = len(common), len(self._terms), self._add_worth(common)
        others = self._whole / terms * max(words - shared, 0)
        weighed = worth / math.sqrt(self._whole * (worth + others))
        evenly = shared / math.sqrt(terms * max(words, shared))
        return max(weighed, EVENLY * evenly, self._cover(shared, worth))

    def _common(self, words: Iterable[str]) -> Set[str]:
        """The terms of the question that are among these, or have one of the same meaning there. None
        where they only say that something failed, and the question says more.
        """
        telling = self.telling.intersection(words)
        meant = {term for term, others in self._others.items() if not others.isdisjoint(telling)}
        common = self._terms & telling | meant
        return frozenset() if common <= self._complaints < self._terms else common

    def _add_worth(self, common: Set[str]) -> float:
        return math.fsum(map(self.worth.__getitem__, common))

    def _cover(self, shared: int, worth: float) -> float:
        return COVERED * max(worth / self._whole, EVENLY * shared / len(self._terms))


@cache
def _others() -> Mapping[str, frozenset[str]]:
    """Of each term that there are others of the same meaning for, these."""
    groups = (index_text(words, ENGLISH).partition("\n")[0] for words in SAME_MEANING)
    alike = [frozenset(group.split()) for group in groups]
    return {term: group - {term} for group in alike for term in group}
