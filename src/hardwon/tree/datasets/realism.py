"""Whether a content says something: too generic, too vague, or the same again with another number in it."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_HEX: Final = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,}\b")
_VAGUE_WORDS_MAX: Final = 3

_STOP: Final = frozenset(
    """an the and or but of in on at to for from by with without about as is was are were be been being it its this that these
    those some any more most other another into over after before when while so than then there here has have had not no
    very just also which who our my your his her their me us him them we you he she they""".split()
)
_VAGUE_DEEDS: Final = frozenset(
    """made make making looked look looking talked talk talking worked work working did do doing done tried try trying checked
    check checking handled handle handling changed change changing updated update updating went used got""".split()
)
_GENERIC: Final = _VAGUE_DEEDS | frozenset(
    """fixed fix fixing resolved resolve solved solve debugged debug debugging implemented implement implementing added add
    adding created create wrote write writing built build refactored refactor found find finding searched search learned
    learn learning learnt observed observe noticed notice discovered discover explained explain improved improve completed
    complete finished successfully success successful failed fail failure error errors runtime syntax logic timeout
    exception bug bugs issue issues problem problems feature features improvement improvements enhancement change changes
    thing things something anything everything stuff code codebase module modules function functions method class component
    file files system project task tasks item items topic topics docs documentation research result results output outputs
    pattern patterns insight insights lesson fact facts information info data user users customer happy glad pleased
    satisfied frustrated confused unhappy angry annoyed good bad great nice better well new old big small various several
    many few lot lots misc general test tests case example memory memories occurred happened encountered unexpected
    experience step steps number no nr id""".split()
)


def fingerprint(content: str) -> str:
    """The words that carry meaning, whatever their order, case and number, and without any digits: near-copies share it."""
    lowered = content.lower()
    words = _WORD.findall(_HEX.sub(" ", lowered) if any(map(str.isdigit, lowered)) else lowered)
    return " ".join(sorted(set(words) - _STOP))


def too_little(content: str) -> str | None:
    """Why the content says too little, or None."""
    words = _WORD.findall(content.lower())
    meant = set(words) - _STOP
    specific = meant - _GENERIC
    if not specific:
        return "too vague" if meant & _VAGUE_DEEDS else "too generic"
    if len(specific) == 1 and len(words) <= _VAGUE_WORDS_MAX and content.isascii():  # not all scripts put spaces between words
        return "too vague"
    return None
