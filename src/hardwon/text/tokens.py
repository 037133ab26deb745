"""About how many tokens a text takes, without a download: an estimate from words, numbers and signs,
which is right on average over the tokenizers of common models. Not counted is what a chat template
adds around a text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, TypeAlias

from hardwon.text.terms import WORD_CHARS_MAX, Remembered

# What a caller passes to have its own model's tokens counted: a text in, their number out.
Counter: TypeAlias = Callable[[str], int]


def count_tokens(text: str) -> int:
    """About as many tokens as a model takes for this text: the mean of common tokenizers and a little
    more, within a tenth on prose and on code. Whoever needs the very number counts with the
    tokenizer of his model.
    """
    return -(-sum(map(_cost, _CHUNK.findall(text))) // 100)


def cut_to_tokens(text: str, budget: int, count: Counter = count_tokens) -> str:
    """The longest beginning of a text that stays within the budget, whole words if possible. A word
    is only cut when it is the first, or so long that it is none (base64, Chinese). Empty when
    nothing fits. What is returned was itself counted, because a counter may find more in a part
    than in the whole.
    """
    if budget < 1 or not text:
        return ""
    if count(text) <= budget:
        return text
    ends = [0, *(word.end() for word in _WORD.finditer(text))]
    whole = text[: _last_within(text, ends, budget, count)]
    upto = next((end for end in ends if end > len(whole)), len(text))
    if whole and upto - len(whole) <= WORD_CHARS_MAX:
        return whole
    inside = [place for place in range(len(whole), upto) if not _splits_letter(text, place)]
    return text[: _last_within(text, inside, budget, count)].rstrip() or whole


def _splits_letter(text: str, place: int) -> bool:
    """Whether a cut would take an accent off, or a part of a composed emoji: both halves would read
    differently.
    """
    is_part = text[place] in _JOINERS or unicodedata.combining(text[place]) > 0
    return place > 0 and (is_part or text[place - 1] == "\u200d")


_WORD: Final = re.compile(r"\S+")
_JOINERS: Final = "\u200d\ufe0e\ufe0f"


def _last_within(text: str, places: list[int], budget: int, count: Counter) -> int:
    """The last of these places, in order, at which the text may end; 0 if at none of them. Halves
    the range while longer texts have more tokens, and where that was wrong goes back in growing
    strides.
    """
    last = bisect_right(places, budget, key=lambda place: count(text[:place])) - 1
    back = 1
    while last >= 0:
        if count(text[: places[last]].rstrip()) <= budget:
            return places[last]
        last -= back
        back *= 2
    return 0


# --- what the pieces of a text cost, in hundredths of a token ---

# Found by comparing with the vocabularies of seven families of models, on prose, code, queries, shell
# sessions and logs: the mean of theirs, and a little more. tests/text/test_tokens_real.py compares again.
_WORD_COST: Final = 102
_LONG_FROM, _LONG_TO, _LETTER_COST = 8, 12, 43
_NUMBER_COST, _INSIDE_COST, _DIGIT_COST = 160, 120, 64
_LINE_COST: Final = 116
_BLANKS_COST: Final = 108
_SIGNS_COST, _SIGN_COST = 94, 14
_OTHER_COST: Final = 97

# One blank between two words costs nothing.
_CHUNK: Final = re.compile(r"\S+|[^\S\n]{2,}|\n\s*")
_PIECE: Final = re.compile(
    r"(?P<letters>[A-Z]?[a-z]+|[A-Z]+(?![a-z]))|(?P<digits>[0-9]+)|(?P<other>[^\x00-\x7f]+)"
    r"|(?P<signs>[!-/:-@\[-^`{-~\x00-\x1f\x7f]+|_+)"
)


def _chunk_cost(chunk: str) -> int:
    """Of a run of characters without a blank, or of blanks."""
    if chunk.isspace():
        return _LINE_COST if "\n" in chunk else _BLANKS_COST
    cost = 0
    for piece in _PIECE.finditer(chunk):
        length = piece.end() - piece.start()
        match piece.lastgroup:
            case "letters":
                cost += _WORD_COST + _LETTER_COST * max(0, min(length, _LONG_TO) - _LONG_FROM)
            case "digits":
                cost += _INSIDE_COST if piece.start() else _NUMBER_COST
                cost += _DIGIT_COST * (length - 1)
            case "signs":
                cost += _SIGNS_COST + _SIGN_COST * (length - 1)
            case _:
                cost += _OTHER_COST * length
    return cost


_cost = Remembered(_chunk_cost, lambda chunk, _: len(chunk) <= WORD_CHARS_MAX).__getitem__
