"""How well a text answers a question by its words, as SQLite's full-text search has it (Okapi BM25).

SQLite computes this itself. PostgreSQL's own ranking knows nothing of how rare a word is, so its candidates are scored here,
from how often each has a word, how many texts have it, and how long texts are. Then both engines order the same texts the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

K1: Final = 1.2
"""How soon a word that is repeated stops counting more."""

B: Final = 0.75
"""How far a text is made to answer for its length."""

_WORTH_MIN: Final = 1e-6  # a word that more than half of all texts have still tells two texts apart that have nothing else


@dataclass(frozen=True)
class Frequencies:
    """Of the texts that are searched: how many there are, how many words they have together, and in how many of them each of
    the words that are asked for occurs. A word that nobody has counted yet is new, and so rare."""

    texts: int
    words: int
    having: Mapping[str, int]

    @property
    def usual_length(self) -> float:
        return self.words / self.texts if self.texts and self.words else 1.0

    def worth(self, term: str) -> float:
        """What it is worth to have this word: the rarer, the more."""
        having = max(1, self.having.get(term, 0))
        return max(math.log((max(self.texts, having) - having + 0.5) / (having + 0.5)), _WORTH_MIN)


def scores(terms: Sequence[str], texts: Sequence[str], frequencies: Frequencies) -> list[float]:
    """Of each text, given as its terms with spaces between."""
    worth = {term: frequencies.worth(term) for term in dict.fromkeys(terms)}
    usual = frequencies.usual_length
    found = []
    for text in texts:
        words = text.split()
        slowness = K1 * (1 - B + B * len(words) / usual)
        times = dict.fromkeys(worth, 0)
        for word in words:
            if word in times:
                times[word] += 1
        found.append(sum(worth[term] * count * (K1 + 1) / (count + slowness) for term, count in times.items()))
    return found
