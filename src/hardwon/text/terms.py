"""Words of texts: which parts of a record a search looks at, and text as search terms, of which both
engines index the same; and whether two texts say the same, by one key, whatever their case, spacing
or trailing dot, and by a measure of their words.

Prose is found in every form: "running" and "runs" are one term, the stem, which is made by the rules
of the text's language; the very form is a term of its own (`+running`), so that whoever uses the
same form is found first. Chinese, Japanese and Korean have no blanks to cut at: each two characters
are a term. Code is not prose: `src/auth/login.py`, `getUserName`, `E0382` and `v1.2.3` are found
whole and by their parts.
"""

from __future__ import annotations

import json
import math
import re
import threading
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, TypeVar

import Stemmer

from hardwon import limits
from hardwon.records.kinds import Episode, Experience, Fact, Fix, Record, Trajectory
from hardwon.text.tables import Patterns
from hardwon.text.terms_tables import WORDS

# One search term. Longer runs are hashes and base64, which nobody types; they are cut, so their
# start is found.
TERM_CHARS_MAX: Final = 64

# What still counts as a word: longer runs without a space are base64, paths or Chinese. They are
# cut inside, and their token counts are not remembered.
WORD_CHARS_MAX: Final = 64

# A number that a packet is routed by, as text: the largest float has 309 digits.
ROUTED_NUMBER_CHARS_MAX: Final = 400

K = TypeVar("K")
V = TypeVar("V")

# What may stand inside a term besides letters and digits; the engines' tokenizers are given the
# same.
TERM_PUNCTUATION: Final = "_.-/:@#+$"
# Before a term that is the form of a word as it was written, and not its stem.
FORM: Final = "+"

# Chinese, Japanese and Korean: their letters, signs and syllables.
_CJK: Final = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_CHUNK: Final = re.compile(r"\w(?:[\w.\-/:@#+$]*\w)?(?:\+\+|#)?")
_ASCII_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ANY_PARTS: Final = re.compile(r"[^\W_]+")
_NAME: Final = re.compile(r"\w+")
_TELLING_MIN: Final = 3  # words, for two texts to be compared
# Compiled when they are first used: they are large, and most texts need none of them.
RE: Final = Patterns(
    {
        "cjk_run": f"([{_CJK}]+)",
        "cjk_or_part": f"(?P<cjk>[{_CJK}]+)|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
        f"|[^\\W_A-Za-z0-9{_CJK}]+",
    }
)
_AROUND_WORDS: Final = "()[]{},;:.!?\"'"
_SHORTENED: Final = re.compile(r"(?<=\w)['\u2019](?:s|t|re|ve|ll|d|m)\b", re.IGNORECASE)

ENGLISH: Final = "english"
LANGUAGES: Final = (ENGLISH, "german", "french", "spanish", "italian", "portuguese", "dutch")
# Of the letters of other alphabets, the language whose rules fit.
_BY_ALPHABET: Final = {
    **dict.fromkeys(map(chr, range(0x400, 0x500)), "russian"),
    **dict.fromkeys(map(chr, range(0x370, 0x400)), "greek"),
}


class Remembered(dict[K, V]):
    """What `work` gives for each key: words and characters come again and again. Forgets all of
    them when it is full, which costs less than to choose. What is not `worth` it is not kept.
    """

    def __init__(self, work: Callable[[K], V], worth: Callable[[K, V], bool] | None = None) -> None:
        super().__init__()
        self._work, self._worth = work, worth

    def __missing__(self, key: K) -> V:
        value = self._work(key)
        if self._worth is None or self._worth(key, value):
            if len(self) >= 16_384:
                self.clear()
            self[key] = value
        return value


# --- what of a record is searched ---


def searchable_text(record: Record) -> str:
    """The record's texts in the order of what they tell about it, cut at what is indexed."""
    metadata = record.metadata
    parts = [*own_texts(record), *metadata.tags]
    if metadata.context.related_files:
        parts += [file.path for file in metadata.context.related_files]
    return "\n".join(parts)[: limits.INDEXED_CHARS_MAX]


def own_texts(record: Record) -> Iterable[str]:
    """What the record says itself, without its envelope."""
    if isinstance(record, Experience):
        extra = [value for value in record.__pydantic_extra__.values() if isinstance(value, str)]
        return [record.content, record.summary.replace("_", " "), record.tool or "", *extra]
    if isinstance(record, Fact):
        entities = record.entities
        names = (entities.files, entities.functions, entities.libraries, entities.error_codes or [])
        return chain([record.content], *names)
    if isinstance(record, Trajectory):
        return chain([record.task], *((step.action, step.observation) for step in record.steps))
    if isinstance(record, Episode):
        own = (record.task_id, record.trajectory_summary, *record.mistakes, *record.successes)
        return chain(
            own, *((card.mistake_type, card.lesson, card.evidence) for card in record.mistake_cards)
        )
    if isinstance(record, Fix):
        issue = record.issue
        what = (issue.model, issue.issue_type, issue.description, issue.error_output or "")
        more = (record.notes or "", issue.test_prompt or "", issue.actual_response or "")
        done = (record.analysis, *record.fix_commands)
        return chain(what, done, more, (record.fixer_type,))
    return []


# --- languages ---


@cache
def stop_words(language: str) -> frozenset[str]:
    """The words of a language that tell nothing."""
    return frozenset(WORDS.get(language, "").split())


@cache
def _foreign_words() -> frozenset[str]:
    """Stop words of other languages that are none in English."""
    return frozenset().union(*map(stop_words, LANGUAGES[1:])) - stop_words(ENGLISH)


def guess_language(words: Collection[str]) -> str:
    """The language of a text, by its stop words, given in lower case; English where they do not
    tell.
    """
    if _foreign_words().isdisjoint(words):
        return ENGLISH
    return max(LANGUAGES, key=lambda language: sum(map(stop_words(language).__contains__, words)))


# --- text as terms ---


def index_text(text: str, language: str | None = None) -> str:
    """Every term of a text, in order, repeated as often as it occurs, with spaces between; on a
    second line, where there are any, the forms of its words as they were written. By the rules of a
    language; of its own where none is given.
    """
    text = text[: limits.INDEXED_CHARS_MAX]
    if not text.isascii() or "'" in text:
        text = _plain(text)
    known, words = _remember_terms(language or ENGLISH), text.split()
    known_words = [known[word] for word in words]
    if language is None and any(map(itemgetter(2), known_words)):
        known = _remember_terms(guess_language(text.lower().split()))
        known_words = [known[word] for word in words]
    terms = " ".join([terms for terms, _, _ in known_words if terms])
    forms = " ".join([forms for _, forms, _ in known_words if forms])
    return f"{terms}\n{forms}" if forms else terms


def _plain(text: str) -> str:
    return _SHORTENED.sub("", normalize("NFKC", text))


def normalize(form: Literal["NFC", "NFKC"], text: str) -> str:
    """What `unicodedata.normalize` makes of a text, in linear time: it sorts the marks on one letter
    by comparing each with all before it, and a text may be nothing but marks. Of more than a letter
    ever has, those in one row are sorted in parts.
    """
    marks = "".join(filter(_is_mark, set(text)))
    rows = re.finditer(f"[{re.escape(marks)}]{{{_MARKS_IN_A_ROW}}}", text) if marks else ()
    ends = [0, *(row.end() for row in rows), len(text)]
    return "".join(unicodedata.normalize(form, text[start:end]) for start, end in pairwise(ends))


def _is_mark(sign: str) -> bool:
    """Whether a sign, or what it is taken apart into, stands on the letter before it."""
    return unicodedata.combining(unicodedata.normalize("NFKD", sign)[0]) > 0


_MARKS_IN_A_ROW: Final = 30  # as in Unicode's own format for streams (UAX 15)


def _terms(word: str, language: str) -> tuple[str, str]:
    """What is indexed of a word, and the forms of the words in it; each with blanks between."""
    if word.isdecimal() and word.isascii():  # numbers are many, and hardly come again
        return word[:TERM_CHARS_MAX], ""
    terms: list[str] = []
    forms: list[str] = []
    stops = stop_words(language)
    for place, run in enumerate(RE.cjk_run.split(word) if not word.isascii() else (word,)):
        if place % 2:  # between two matches of the split stands what it matched
            terms += [run[start : start + 2] for start in range(len(run) - 1)]
            forms += [FORM + character for character in run]
            continue
        for chunk in _CHUNK.findall(run):
            words = [chunk]
            if not chunk.isalpha() or not (
                chunk[1:].islower() or chunk.isupper() or len(chunk) == 1
            ):
                terms.append(chunk.lower())
                words = (_ASCII_PARTS if chunk.isascii() else _ANY_PARTS).findall(chunk)
                words = [part for part in words if len(part) > 1] if len(words) > 1 else []
            for written in map(str.lower, words):
                stem = written if written not in stops else ""  # the form alone
                if len(stem) > _UNSTEMMED_CHARS and stem.isalpha():
                    rules = language if stem.isascii() else _BY_ALPHABET.get(stem[0], language)
                    stem = _stemmers.of[rules].stemWord(stem)
                if stem:
                    terms.append(stem)
                if stem != written:
                    forms.append(FORM + written)
    most = TERM_CHARS_MAX if len(word) > TERM_CHARS_MAX else None
    return " ".join([term[:most] for term in terms]), " ".join([form[:most] for form in forms])


@cache
def _remember_terms(language: str) -> Remembered[str, tuple[str, str, bool]]:
    """The terms and forms of words, and whether other languages have it for a stop word. The same
    words come again and again; but one may be as long as a text.
    """
    return Remembered(
        lambda word: (*_terms(word, language), word.lower() in _foreign_words()),
        lambda word, _: len(word) <= WORD_CHARS_MAX,
    )


_UNSTEMMED_CHARS: Final = 2  # shorter than any form of another word


class _Stemmers(threading.local):
    """By the names of languages. One must not be used by two threads."""

    def __init__(self) -> None:
        self.of = Remembered(Stemmer.Stemmer)


_stemmers = _Stemmers()


class TermMatch(NamedTuple):
    """Where a term of a question stands in a text."""

    start: int
    end: int
    term: str


def matches(text: str, wanted: Collection[str]) -> Iterator[TermMatch]:
    """Where a text has these terms, in order: what a search for them finds it by. Where a part of a
    longer word is the term, only that part.
    """
    language = guess_language(_plain(text[: limits.INDEXED_CHARS_MAX]).lower().split())
    for word in re.finditer(r"\S+", text):
        written = word.group()
        if len(written) > limits.INDEXED_CHARS_MAX:
            continue
        held = " ".join(_terms(_plain(written), language)).split()
        asked = next((term for term in held if term in wanted), None)
        if asked is None:
            continue
        last = 0
        for start, end in _places(written):
            terms = " ".join(_terms(written[start:end], language)).split()[:2]
            term = next((part for part in terms if part in wanted and part in held), None)
            if term is not None and start >= last:
                yield TermMatch(word.start() + start, word.start() + end, term)
                last = end
        if not last:  # it matches in another spelling alone, or shortened
            yield TermMatch(word.start(), word.end(), asked)


def _places(word: str) -> Iterator[tuple[int, int]]:
    """Where the terms of a word stand, each whole one before its parts."""
    for chunk in _CHUNK.finditer(word):
        yield chunk.span()
        for part in RE.cjk_or_part.finditer(word, *chunk.span()):
            start, end = part.span()
            if part.lastgroup:  # each two characters, and each alone
                yield from ((place, place + 2) for place in range(start, end - 1))
                yield from ((place, place + 1) for place in range(start, end))
            else:
                yield start, end


def query_terms(query: str) -> list[str]:
    """The distinct terms of a query that are worth looking up: stop words dropped, unless there is
    nothing else. Where its language does not show, the stems of every language.
    """
    words = _plain(query[: limits.INDEXED_CHARS_MAX]).split()
    lowered = [word.lower() for word in words]
    language = guess_language(lowered)
    stops = stop_words(language)
    telling = [
        word
        for word, lower in zip(words, lowered, strict=True)
        if lower.strip(_AROUND_WORDS) not in stops
    ]
    languages: Iterable[str] = dict.fromkeys((language, ENGLISH))
    if language == ENGLISH and len(telling) == len(words):
        languages = LANGUAGES
    indexed = [
        index_text(" ".join(telling) or query, language).partition("\n") for language in languages
    ]
    terms = dict.fromkeys(" ".join([own[0] for own in indexed]).split())
    in_pairs: set[str] = set()
    if not query.isascii():
        in_pairs = set(chain.from_iterable(term for term in terms if RE.cjk_run.match(term)))
    own, _, forms_written = indexed[0]
    written = dict.fromkeys(forms_written.split())
    forms: Iterable[str] = [
        form for form in written if form[1:] not in stops and form[1:] not in in_pairs
    ]
    if not forms and not own:
        forms = written
    return [*terms, *forms][: limits.QUERY_TERMS_MAX]


# --- whether two texts say the same ---

_AROUND: Final = " \t.,;:!-*•\"'`"


def canonical(text: str, chars_max: int = limits.LESSON_CHARS_MAX) -> str:
    """Case and spacing folded, surrounding punctuation dropped, cut. Spaces are folded before it is
    cut: however much of them somebody puts in between, what comes after is part of what is
    compared.
    """
    words = text.split(None, chars_max)
    if len(text) > chars_max:
        words = [word[:chars_max] for word in words[:chars_max]]
    folded = " ".join(words)
    if not folded.isascii():
        folded = " ".join(normalize("NFKC", folded[: 4 * chars_max]).split())
    return folded.casefold().strip(_AROUND)[:chars_max].strip(_AROUND)


def hash_parts(*parts: object) -> str:
    """16 hex characters. As JSON, so that no text can pose as two parts or two as one."""
    try:  # of texts, as nearly all are, without the encoder's preparations
        joined = f"[{','.join(map(_quote, parts))}]"
    except TypeError:
        joined = _encode(parts)
    return blake2b(joined.encode(), digest_size=8).hexdigest()


_quote: Final[Callable[[Any], str]] = json.encoder.encode_basestring_ascii  # texts alone
# made once: to make it takes longer than to use it
_encode: Final = json.JSONEncoder(separators=(",", ":"), default=str).encode


def say_count(count: int, one: str, several: str = "") -> str:
    """A number and what it counts: `1 memory`, `2 memories`."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def same_action(action: str) -> str:
    """The same for the very same action, but for case and spacing. Quoted values and numbers count:
    another timeout, or another command inside a shell, is another action.
    """
    return _key_of_same(action[: limits.ACTION_CHARS_MAX])


@lru_cache(maxsize=1024)  # agents do the same again and again, and recording asks three times
def _key_of_same(action: str) -> str:
    return hash_parts("same", spelled_alike(action))


def spelled_alike(action: str) -> str:
    """The same text for the very same action, also where whoever wrote it escaped it for Markdown:
    an underscore needs no escape anywhere else.
    """
    cut = action[: limits.ACTION_CHARS_MAX]
    if "\\_" in cut:
        cut = _MARKDOWN_ESCAPE.sub(r"\1", cut)
    return " ".join(cut.casefold().split())


_MARKDOWN_ESCAPE: Final = re.compile(r"\\([_*<>\[\]#])")


# From this share of common words on two texts may be near-duplicates.
_SAME_FROM: Final = 0.8

_WORD: Final = re.compile(r"\w+(?:['\u2019]t\b)?")
# Words that turn a sentence into its opposite, as those with "n't" do: texts that differ in one of
# them are not the same.
_TURNING: Final = frozenset(
    """not no never none nor neither nobody nothing nowhere without cannot hardly barely rarely unable impossible stop stops
    stopped stopping refuse refuses refused prevents prevented nearly almost nicht nie niemals kein keine keinen keiner
    ohne avoid unless except instead before after always only disable disables disabled enable enables enabled remove
    removes removed add adds added increase increases increased decrease decreases decreased less more""".split()
)
_NOT: Final = ("n't", "n\u2019t")

_WORDS_MIN: Final = 3  # shorter texts are the same only when they are equal
_LITTLE: Final = frozenset(
    "a an the to of in on at for and or is are was were be it this that with by as".split()
)

Words = tuple[str, ...]


def list_words(text: str) -> Words:
    """The words of a text that tell something, in order and in small letters."""
    return tuple(word for word in _WORD.findall(canonical(text)) if word not in _LITTLE)


def say_the_same(one: Words, other: Words) -> bool:
    """One is the other with a few words more, in the same order. A word in another's place (another
    host, another file) makes another text, and so does a number more, or a word that turns the
    meaning round.
    """
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _WORDS_MIN:
        return shorter == longer and bool(shorter)
    if len(shorter) < _SAME_FROM * len(longer):
        return False
    rest = iter(longer)
    more = []
    for word in shorter:
        for extra in rest:
            if extra == word:
                break
            more.append(extra)
        else:
            return False
    more += rest
    turns = any(word in _TURNING or word.endswith(_NOT) for word in more)
    return not turns and not any(map(str.isdigit, "".join(more)))


def share_of_words(one: str, other: str) -> float | None:
    """How much two texts speak of the same: the cosine of their words, without those that everybody
    uses. None where one has too few to tell.
    """
    a, b = (
        set(_NAME.findall(text[: limits.ACTION_CHARS_MAX].casefold())) - stop_words(ENGLISH)
        for text in (one, other)
    )
    if min(len(a), len(b)) < _TELLING_MIN:
        return None
    return len(a & b) / math.sqrt(len(a) * len(b))


def spell(value: object) -> str | None:
    """The one text that a value is routed by, or None where it is nothing that one could be routed
    by (a list, an object). Two values with the same spelling are the same value here: 1, 1.0 and
    "1".
    """
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not value.is_integer():
            return float.__repr__(value)
        value = int(value)
    if isinstance(value, int):
        return (
            int.__repr__(value) if value.bit_length() <= ROUTED_NUMBER_CHARS_MAX * 3 else hex(value)
        )
    return None
