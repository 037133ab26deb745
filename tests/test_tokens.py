"""The default counter never falls short of what it promises, and a cut text is within its budget."""

from __future__ import annotations

import base64
import itertools
import json
import random
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwon import limits
from hardwon.recall.tokens import _PAIRS, _TOKENS_OF_WORDS, _WORDS, Counter, _most_pieces, count_tokens, cut_to_tokens

PROSE = (
    "The first attempt failed because the connection was closed before the server had answered. We waited a minute, "
    "started it again with a longer timeout, and the test passed. Next time check the log of the server first.\n"
)
# Texts of which nobody knows the words, so that every character counts.
_BYTES = st.text(st.characters(min_codepoint=0x80, exclude_categories=["Cs"]))
_SIGNS = st.text("0123456789!\"#%'(),-./:;>?@[]\\^_{|}~\t\r\n\0\x1b\x7f", max_size=60)
_WRITTEN = st.lists(
    st.sampled_from([*PROSE.split(), "getUserName", "日本語", "e\u0301", "👩\u200d👧", "  ", "\n", "\t", "#4711", "a"])
)


# ---- counting


def test_nothing_has_no_tokens() -> None:
    assert count_tokens("") == 0


@settings(max_examples=500, deadline=None)
@given(_BYTES)
def test_other_scripts_count_their_bytes(text: str) -> None:
    assert count_tokens(text) >= len(text.encode()) + bool(text)


@settings(max_examples=500, deadline=None)
@given(_SIGNS)
def test_digits_punctuation_and_blanks_count_one_each(text: str) -> None:
    assert count_tokens(text) == len(text) + bool(text)


@settings(max_examples=500, deadline=None)
@given(st.text())
def test_any_text_is_counted_and_never_above_its_bytes_by_much(text: str) -> None:
    widest = sum(
        max(len(form.encode("utf-8", "surrogatepass")) for form in (c, unicodedata.normalize("NFKC", c).casefold()))
        + 3 * (not c.isascii())
        for c in text
    )
    assert bool(text) <= count_tokens(text) <= widest + bool(text)


@settings(max_examples=300, deadline=None)
@given(_WRITTEN.map(" ".join), _WRITTEN.map(" ".join))
def test_lines_add_up_and_words_never_to_less(one: str, two: str) -> None:
    apart = count_tokens(one or "x") + count_tokens(two or "x")
    assert count_tokens(f"{one or 'x'}\n{two or 'x'}") == apart
    assert count_tokens(f"{one or 'x'} {two or 'x'}") <= apart


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("qzxjvk", 6),  # no vocabulary knows these side by side
        ("1234567890", 10),  # one token per digit in some
        ("    return x", 6),  # one token per space in some
        ("ﷺ", 33),  # one character that tokenizers write out as four words
        ("\ufdd0\U0010ffff", 7),  # no characters at all: their bytes
        ("\ud800", 3),
        ("👩\u200d👩\u200d👧", 18),
        ("한국어", 9),
        ("\ue000\U000f0000", 7),
        ("½", 5),
    ],
)
def test_hard_texts_count_in_full(text: str, least: int) -> None:
    assert count_tokens(text) >= least


def test_prose_is_not_counted_like_noise() -> None:
    words = len(PROSE.split())
    assert words < count_tokens(PROSE) < 2 * words
    noise = base64.b64encode(random.Random(7).randbytes(600)).decode()
    assert count_tokens(noise) > 0.85 * len(noise)


def _pieces(letters: str) -> int:
    """The same as `_most_pieces`, by trying every way to cut."""
    most = 0
    for cuts in itertools.product((False, True), repeat=len(letters) - 1):
        ends = [place + 1 for place, cut in enumerate(cuts) if cut] + [len(letters)]
        pieces = [letters[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        alone = itertools.pairwise(pieces)
        if not any(len(one) == len(two) == 1 and one + two in _PAIRS for one, two in alone):
            most = max(most, len(pieces))
    return most


@settings(max_examples=400, deadline=None)
@given(st.text("etaoinshrqxzTHE ", min_size=1, max_size=9))
def test_most_pieces_is_the_worst_of_all_cuts(letters: str) -> None:
    assert _most_pieces(letters) == _pieces(letters)


def test_table_of_words_holds_each_once() -> None:
    listed = [word for words in _TOKENS_OF_WORDS.values() for word in words.split()]
    assert len(listed) == len(set(listed)) == len(_WORDS) > 3_000
    assert all(word.isascii() and word.isalpha() and word.islower() for word in listed)
    assert all(tokens.isdigit() and len(tokens) == 4 and tokens[0] == min(tokens) for tokens in _TOKENS_OF_WORDS)


_LARGE = {
    "prose": PROSE * 800,
    "noise": base64.b64encode(random.Random(1).randbytes(120_000)).decode(),
    "letters": "qzxj" * 40_000,
    "camel": "getUserNameOfThe" * 10_000,
    "numbers": " ".join(map(str, range(30_000))),
    "chinese": "我们在使用数据库" * 20_000,
    "spaces": " " * 200_000,
    "lines": "\n" * 200_000,
    "json": json.dumps([{"id": n, "name": f"user{n}"} for n in range(5_000)], separators=(",", ":")),
}


@pytest.mark.parametrize("sort", _LARGE)
def test_counting_is_linear_and_fast(sort: str) -> None:
    text = _LARGE[sort]
    taken = []
    for _ in range(3):
        before = time.process_time()
        count_tokens(text)
        taken.append(time.process_time() - before)
    assert min(taken) < 2e-6 * len(text)  # half a microsecond on an idle machine


# ---- cutting


def _by_words(text: str) -> int:
    return len(text.split())


def _by_fours(text: str) -> int:
    return -(-len(text) // 4)


def _uneven(text: str) -> int:
    """Finds more in some parts than in the whole, as a trained tokenizer does where a word is cut."""
    return len(text.split()) + (0 if text.endswith(("e", "d", "t", ".")) else 3)


_COUNTERS: list[Counter] = [count_tokens, _by_words, _by_fours, _uneven, len]
_ANY_TEXT = st.one_of(st.text(), _WRITTEN.map(" ".join), _WRITTEN.map("".join))


@pytest.mark.parametrize("count", _COUNTERS)
@settings(max_examples=200, deadline=None)
@given(text=_ANY_TEXT, budget=st.integers(-2, 60))
def test_cut_text_is_a_beginning_within_the_budget(count: Counter, text: str, budget: int) -> None:
    cut = cut_to_tokens(text, budget, count)
    assert text.startswith(cut)
    assert cut == "" or count(cut) <= budget
    if budget >= 1 and count(text) <= budget:
        assert cut == text


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*PROSE.split(), "x.y()", "#4711"]), min_size=1), st.integers(1, 80))
def test_cut_text_is_the_longest_of_whole_words(words: list[str], budget: int) -> None:
    text = " ".join(words)
    beginnings = [" ".join(words[:n]) for n in range(1, len(words) + 1)]
    fitting = [beginning for beginning in beginnings if count_tokens(beginning) <= budget]
    cut = cut_to_tokens(text, budget)
    assert cut == fitting[-1] if fitting else len(cut) < len(words[0])


@pytest.mark.parametrize("budget", range(1, 40))
def test_text_without_spaces_is_cut_inside(budget: int) -> None:
    text = "漢字仮名交じり文" * 50
    cut = cut_to_tokens(text, budget)
    assert cut == text[: max(0, budget - 1) // 3]
    assert cut_to_tokens(f"see {'x' * 500}", 100, len) == f"see {'x' * 96}"
    assert cut_to_tokens(f"see {'x' * limits.WORD_CHARS_MAX}", 10, len) == f"see {'x' * 6}"
    assert cut_to_tokens("see whether", 10, len) == "see"


def test_accents_and_composed_emoji_stay_whole() -> None:
    family = "👩\u200d👩\u200d👧" * 30
    assert cut_to_tokens(family, 12, len) == "👩\u200d👩\u200d👧" * 2
    assert cut_to_tokens("e\u0301" * 50, 5, len) == "e\u0301" * 2


def test_cutting_asks_the_counter_seldom() -> None:
    asked = 0

    def count(text: str) -> int:
        nonlocal asked
        asked += 1
        return len(text)

    assert len(cut_to_tokens(PROSE * 900, 5_000, count)) <= 5_000
    assert asked < 40
    asked = 0
    assert cut_to_tokens("word " * 5_000, 10, lambda text: count(text) + 100) == ""
    assert asked < 60
