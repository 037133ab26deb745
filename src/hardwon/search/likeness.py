"""How alike two texts are: the one measure that rank, lessons and review use. A term that is rare
among all that is recorded weighs more than one that most texts have.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from hardwon.text.terms import FORM, index_text

Worth = Callable[[str], float]


def find_terms(text: str) -> frozenset[str]:
    """The terms that a text is compared by, each once."""
    return frozenset(term for term in index_text(text).split() if term[0] != FORM)


def likeness(one: Set[str], other: Set[str], worth: Worth) -> float:
    """From 0, nothing in common, to 1, the same terms: how much of the one that has more to say the
    other has too, by what its terms are worth.
    """
    shared = sum(map(worth, one & other))
    most = max(sum(map(worth, one)), sum(map(worth, other)))
    return shared / most if most else 0.0
