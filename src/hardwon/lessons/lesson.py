"""A lesson: what follows in a situation, with its evidence. Its id is of its kind, its situation and
its content alone, so that the same run teaches the same lesson on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final, Literal

from hardwon.records.fields import Tabular

LessonKind = Literal["way", "cure", "dead end", "rule", "fact", "finding"]
# What a person said of it; "" where nobody did.
Verdict = Literal["", "right", "wrong"]
_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_ID_CHARS: Final = 12
# Ids of evidence that a rule, card, pattern or strategy names, or a tool tells for credit: enough to
# look it up, too few to bury it.
EVIDENCE_SHOWN_MAX: Final = 5
SHORT_ID_CHARS: Final = 5


@dataclass(frozen=True)
class Lesson(Tabular):
    """What follows in a situation. `situation` says it in words: the failure, the task, or what a
    rule is about. `tried` times it was done there, `helped` in so many of them, and `p_helps` is how
    likely it is to do so again. `exact`: it was learned from this very failure or task, and not from
    one like it. `evidence` are ids of records it was learned from, a sample; `by` is who alone
    tells of a cure where several tell of another, else "".
    """

    id: str
    kind: LessonKind
    situation: str
    action: str
    tried: int
    helped: int
    p_helps: float
    last: datetime
    evidence: tuple[str, ...] = ()
    sources: int = 1
    exact: bool = True
    verdict: Verdict = ""
    by: str = ""

    @property
    def short_id(self) -> str:
        """The beginning of the id, by which `why`, `right` and `wrong` find it."""
        return self.id[:SHORT_ID_CHARS]


def make_lesson_id(kind: LessonKind, situation: str, content: str) -> str:
    """Twelve letters and digits, the same for the same kind, situation key and content key."""
    digest = blake2b(
        "\0".join((kind, situation, content)).encode(errors="surrogatepass"), digest_size=8
    )
    number = int.from_bytes(digest.digest())
    letters = []
    for _ in range(_ID_CHARS):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)
