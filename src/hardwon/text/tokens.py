"""How many tokens a text takes, without a download. A budget must hold whatever model reads the
text, so this counts at least as many as a tokenizer with a trained vocabulary of 30,000 entries or
more.

Why that holds. A tokenizer of bytes never takes more tokens than there are bytes; one that knows
words takes one per character, or gives up on the word. So everything but ASCII letters counts in
full: digits, punctuation, blanks and control characters one each, other characters their UTF-8
bytes. Inside a run of letters, two neighbours that a vocabulary holds as a pair never both end up
as tokens of their own: whichever way a tokenizer merges, it merges them. `_vocabulary` has the
pairs that all the vocabularies hold that we looked at, and `_most_pieces` is the worst that is
left. It also has common words for which less is certain: the most that any of those tokenizers
took.

What is not covered: a vocabulary that was trained without English, and the tokens that a chat
template adds around a text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final, TypeAlias

from hardwon import limits
from hardwon.text.terms import Remembered

# What a caller passes to have its own model's tokens counted: a text in, their number out.
Counter: TypeAlias = Callable[[str], int]


def count_tokens(text: str) -> int:
    """At least as many tokens as any tokenizer with a vocabulary of 30,000 entries or more takes
    for this text alone. On English prose about one and a half times as many, on code up to two and
    a half times: a budget is kept, not filled.

    The first word counts like one after a line break: some tokenizers put a mark of their own
    before it.
    """
    if not text:
        return 0
    return sum(map(_counted, f"\n{text}".replace("\n", " \n").split(" ")[1:]))


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
    if whole and upto - len(whole) <= limits.WORD_CHARS_MAX:
        return whole
    # An accent, or a part of a composed emoji, is not cut off: both halves would read differently.
    inside = [
        place
        for place in range(len(whole), upto)
        if not (
            place
            and (
                unicodedata.combining(text[place])
                or text[place] in _JOINERS
                or text[place - 1] == "\u200d"
            )
        )
    ]
    return text[: _last_within(text, inside, budget, count)].rstrip() or whole


_WORD: Final = re.compile(r"\S+")
_JOINERS: Final = "\u200d\ufe0e\ufe0f"


def _last_within(text: str, places: list[int], budget: int, count: Counter) -> int:
    """The last of these places, in order, at which the text may end; 0 if at none of them. Halves
    the range while longer texts have more tokens, and where that was wrong goes back in growing
    strides.
    """
    found = bisect_right(places, budget, key=lambda place: count(text[:place])) - 1
    back = 1
    while found >= 0:
        if count(text[: places[found]].rstrip()) <= budget:
            return places[found]
        found -= back
        back *= 2
    return 0


# ---- what stands between two spaces

_RUNS: Final = re.compile(r"[A-Za-z]+|[\x00-@\[-`{-\x7f]+|[^\x00-\x7f]+")
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# a space before anything else but letters may be a token of its own
_JOINED_TO_A_SPACE: Final = frozenset("$&*+<=`")


def _chunk_tokens(chunk: str) -> int:
    """The tokens of what follows a space up to the next, with that space; or of a line break up to
    the next space. An empty chunk is a space that follows another: one token.
    """
    first = chunk[:1]
    joined = first.isascii() and (first.isalpha() or first in _JOINED_TO_A_SPACE)
    tokens = 0 if first == "\n" or joined else 1
    for place, run in enumerate(_RUNS.findall(chunk)):
        if not run.isascii():
            tokens += sum(map(_character_tokens, run))
        elif run.isalpha():
            tokens += _letters_tokens(run, after_space=not place)
        else:
            tokens += len(run)
    return tokens


_counted = Remembered(
    _chunk_tokens, lambda chunk, _: len(chunk) <= limits.WORD_CHARS_MAX
).__getitem__


def _letters_tokens(letters: str, after_space: bool) -> int:
    most = _most_pieces(f" {letters}" if after_space else letters)
    lower = letters.lower()
    known = _vocabulary()[1].get(lower)
    if known and letters in (lower, lower.title()):
        return min(most, int(known[(0 if letters == lower else 2) + (0 if after_space else 1)]))
    if letters == lower or letters.isupper():
        return most
    parts = _PARTS.findall(letters)
    # base64 rather than camel case
    if len(parts) == 1 or len(letters) < _PART_CHARS_MIN * len(parts):
        return most
    # Two more for each part: a word is seldom as well known inside another as by itself.
    by_parts = _letters_tokens(parts[0], after_space) + sum(
        _letters_tokens(part, False) + 2 for part in parts[1:]
    )
    return min(most, by_parts)


_PART_CHARS_MIN: Final = 3


def _most_pieces(letters: str) -> int:
    """The most pieces that these letters can be in when the two of a common pair never both stand
    alone. Longer pieces than two need not be tried: there are fewer of them.
    """
    # the most up to the last letter but one; then with the last one alone, or not
    before, alone, joined = _NEVER, _NEVER, 0
    previous, pairs = "", _vocabulary()[0]
    for letter in letters:
        here = max(alone, joined)
        alone = (joined if previous + letter in pairs else here) + 1
        joined = before + 1
        before = here
        previous = letter
    return max(alone, joined)


_NEVER: Final = -1_000_000_000


@lru_cache(maxsize=16_384)
def _character_tokens(character: str) -> int:
    """One per byte, of the form with the most bytes that a tokenizer may bring the text into first:
    a single ligature can stand for a whole phrase. Tokenizers that take accents apart and know no
    bytes take one per part.
    """
    compatible = unicodedata.normalize("NFKC", character)
    forms = (character, compatible, compatible.lower(), compatible.casefold())
    return max(
        len(unicodedata.normalize("NFKD", character)),
        *(len(form.encode("utf-8", "surrogatepass")) for form in forms),
    )


# ---- what the vocabularies have in common


@cache
def _vocabulary() -> tuple[frozenset[str], dict[str, str]]:
    """The pairs: a letter (or a space) and one that all vocabularies know right after it. And
    common words: of each the tokens after a space, the tokens elsewhere, and the same two with a
    capital first letter. Read when the first text is counted.
    """
    from pkgutil import get_data

    tables = json.loads(get_data("hardwon.text", "tokens.json") or b"")
    pairs = frozenset(first + second for first, *seconds in tables["pairs"] for second in seconds)
    return pairs, {
        word: tokens
        for tokens, lines in tables["words"].items()
        for line in lines
        for word in line.split()
    }
