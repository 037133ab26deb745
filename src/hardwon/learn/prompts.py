"""What a language model is asked, and what of its reply is taken: rules that it finds in episodes,
and a fact as one sentence that stands alone. No I/O.

Episodes hold whatever an agent came across, so they go to the model as data, and what comes back is
believed no more than they are: the caller keeps the rules as candidates. A reply is taken whole or
not at all. To fish for something usable in free text is how a sentence that was planted in a log
becomes a rule.

A fact goes to the model as data, too. What comes back replaces it only where it is one sentence
that keeps every name and number, brings none that was not given, and is mostly the fact's own
words; else the fact stays as it was.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from string import Template
from typing import Any, Final, NoReturn

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.learn import prompts_tables as tables
from hardwon.records.fields import check_that
from hardwon.records.kinds import Episode, Fact
from hardwon.text.entities import Named, find
from hardwon.text.sentences import RELATIVE_DATE
from hardwon.text.tables import Patterns, WordLists
from hardwon.text.terms import LITTLE, NEGATIONS, all_words_in

# Words of a restated fact that neither it nor its names have. The name of what a pronoun stands for
# needs no more.
_RESTATED_NEW_WORDS_MAX: Final = 4

# A fact that a model is asked to restate. Of a longer one no single sentence could keep everything.
_RESTATED_FROM_CHARS_MAX: Final = 2_000

# A fact in a model's words: a long sentence, with the names and dates that make it stand alone.
_RESTATED_CHARS_MAX: Final = 500

# One rule. Anything shorter says neither what to do nor when.
_LLM_RULE_CHARS_MIN: Final = 10

# Mistakes, and likewise successes, of one episode inside a question. One long list must not crowd
# out other episodes.
_LLM_ITEMS_MAX: Final = 5

# Episodes that one question shows. With more of them each would be cut to a few words.
_LLM_EPISODES_MAX: Final = 30

RE: Final = Patterns(tables.PATTERNS)
WORDS: Final = WordLists(tables.WORDS)


@cache
def _system(name: str) -> str:
    """What a model is told to do: `rules` or `sentence`."""
    return Template(tables.TEXTS[name]).substitute(
        rules_max=limits.LLM_RULES_MAX,
        chars_max=limits.LESSON_CHARS_MAX if name == "rules" else _RESTATED_CHARS_MAX,
    )


# --- rules: the question ---

_BEFORE: Final = "The log begins.\n"
_AFTER: Final = "\nThe log ends. Answer with the JSON object of rules alone."


def rules_request(episodes: Sequence[Episode]) -> tuple[str, str]:
    """The system and the user message that ask for rules, from as many of the episodes as fit. The
    same episodes in any order give the same question.
    """
    return _system("rules"), _BEFORE + "\n".join(map(_line, fitting(episodes))) + _AFTER


def fitting(episodes: Sequence[Episode]) -> list[Episode]:
    """The episodes that a question shows, oldest first: the newest `LLM_EPISODES_MAX`, their texts
    cut, without the oldest of them where both messages together would be longer than
    `LLM_PROMPT_CHARS_MAX`. One episode always fits.
    """
    check_that(episodes, "episodes", [], "at least one episode")
    distinct = {episode.id: episode for episode in episodes}.values()
    newest_first = sorted(distinct, key=lambda episode: (episode.at_us, episode.id), reverse=True)
    left = limits.LLM_PROMPT_CHARS_MAX - len(_system("rules")) - len(_BEFORE) - len(_AFTER)
    shown: list[Episode] = []
    for episode in newest_first[:_LLM_EPISODES_MAX]:
        left -= len(_line(episode)) + 1
        if left < 0:
            break
        shown.append(episode)
    return shown[::-1]


def _line(episode: Episode) -> str:
    most = _LLM_ITEMS_MAX
    optional = {
        "summary": _cut(episode.trajectory_summary),
        "mistakes": [_cut(text) for text in episode.mistakes[:most]],
        "successes": [_cut(text) for text in episode.successes[:most]],
    }
    given = {name: value for name, value in optional.items() if value}
    return json.dumps(
        {"task": _cut(episode.task_id), "score": episode.score, **given}, ensure_ascii=False
    )


def _cut(text: str) -> str:
    """What is shown of a text: one line of visible characters, so that nothing in it looks like the
    end of its record.
    """
    most = limits.BEGINNING_CHARS
    visible = "".join(char if char.isprintable() else " " for char in text[: most * 4])
    line = " ".join(visible.split())
    return line if len(line) <= most else line[: most - 1] + "…"


# --- rules: the reply ---

_MARK: Final = "[CONSOLIDATED]"
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
# Persian and Indian scripts, and some emoji, cannot be written without them
_JOINERS: Final = "\u200c\u200d"
_RULES_SHAPE: Final = (
    f'nothing but JSON, {{"rules": ["…"]}} or ["…"], with 1 to {limits.LLM_RULES_MAX} texts (one '
    f"Markdown code fence around "
    "it is allowed)"
)


def rules_from(reply: str) -> list[str]:
    """The rules of a reply, without surrounding space and without doubles. `InvalidInputError` if
    anything is amiss.

    The whole reply is JSON, in one code fence or none: an object whose only key is `rules`, or the
    array itself, of 1 to `LLM_RULES_MAX` texts. Each is one sentence on one line, of
    `LLM_RULE_CHARS_MIN` to `LESSON_CHARS_MAX` characters, all of them visible. A second sentence
    begins where a full stop, question or exclamation mark is followed by a space and a capital
    letter, except after an abbreviation ("e.g.", "vs.", "etc."). `[WORKS]` and `[AVOID]` are kept
    and not required; a leading `[CONSOLIDATED]` is taken off, because that mark is not the model's
    to give.
    """
    items = parsed(reply, _RULES_SHAPE)
    if isinstance(items, dict):
        check_that(
            items.keys() == {"rules"}, "reply", items, 'an object with the key "rules" and no other'
        )
        items = items["rules"]
    if not isinstance(items, list):
        raise InvalidInputError.one("reply.rules", items, "a list of texts")
    check_that(
        1 <= len(items) <= limits.LLM_RULES_MAX,
        "reply.rules",
        items,
        f"1 to {limits.LLM_RULES_MAX} rules",
    )
    distinct: dict[str, str] = {}
    for index, item in enumerate(items):
        field = f"reply.rules.{index}"
        if not isinstance(item, str):
            raise InvalidInputError.one(field, item, "text")
        rule = item.strip()
        while rule[: len(_MARK)].upper() == _MARK:
            rule = rule[len(_MARK) :].strip()
        rule = one_sentence(field, rule, limits.LESSON_CHARS_MAX, item)
        distinct.setdefault(rule.casefold(), rule)
    return list(distinct.values())


def good_rules_from(reply: str) -> list[str]:
    """Every good rule of a reply that may have prose around its list, or something in the list that
    is none: for whoever takes a model at its word. A rule may have several sentences.
    """
    good: dict[str, str] = {}
    reply = reply[: limits.LLM_REPLY_BYTES_MAX]
    begins = (found.start() for found in islice(re.finditer(r"\[", reply), limits.ITEMS_MAX))
    for begin in begins:
        with suppress(ValueError, RecursionError):
            for item in json.JSONDecoder().raw_decode(reply, begin)[0]:
                with suppress(InvalidInputError):
                    said = item.strip().removeprefix(_MARK) if isinstance(item, str) else item
                    rule = one_sentence("reply", said, limits.LESSON_CHARS_MAX, several=True)
                    good.setdefault(rule.casefold(), rule)
        if good:  # what else stands in brackets is a part of it, or of the prose
            return list(good.values())[: limits.LLM_RULES_MAX]
    raise InvalidInputError.one("reply", reply, _RULES_SHAPE)


def parsed(reply: str, shape: str) -> object:
    """The JSON that a reply is, in one code fence or none."""
    check_that(
        len(reply) <= limits.LLM_REPLY_BYTES_MAX,
        "reply",
        reply,
        f"text of at most {limits.LLM_REPLY_BYTES_MAX} characters",
    )
    text = reply.strip()
    fenced = RE.fenced.fullmatch(text)
    try:
        return json.loads(
            fenced[1] if fenced else text, object_pairs_hook=_object, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        why = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise InvalidInputError.one("reply", reply, f"{shape}; {why}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def one_sentence(
    field: str, item: object, chars_max: int, given: object = None, *, several: bool = False
) -> str:
    """A text without surrounding space, if it is one sentence (or `several`) on one line, of
    visible characters alone: `LLM_RULE_CHARS_MIN` of them to `chars_max`. `given` is what an error
    shows, where that was more.
    """
    shown = item if given is None else given
    if not isinstance(item, str):
        raise InvalidInputError.one(field, shown, "text")
    said = item.strip()
    hidden = any(unicodedata.category(char) in _HIDDEN and char not in _JOINERS for char in said)
    second = any(
        end[1].isupper() and not RE.abbreviation.search(said, 0, end.start())
        for end in RE.sentence_end.finditer(said)
    )
    for wrong, allowed in (
        (
            not _LLM_RULE_CHARS_MIN <= len(said) <= chars_max,
            f"{_LLM_RULE_CHARS_MIN} to {chars_max} characters",
        ),
        (hidden, "one line without control, bidirectional or other invisible characters"),
        (second and not several, "one sentence"),
    ):
        check_that(not wrong, field, shown, allowed)
    return said


# --- a sentence that stands alone ---


def sentence_request(fact: Fact) -> tuple[str, str]:
    """The system and the user message that ask for it."""
    allowed = f"at most {_RESTATED_FROM_CHARS_MAX} characters for one sentence"
    check_that(len(fact.content) <= _RESTATED_FROM_CHARS_MAX, "content", fact.content, allowed)
    moment = fact.metadata.context
    known = {
        "type": fact.fact_type,
        "date": str(moment.timestamp.date()),
        "about": sorted(_given(fact))[: limits.ENTITIES_FOUND_MAX],
    }
    return _system("sentence"), json.dumps(
        {"note": fact.content, "wrong": fact.findings or [], "known": known}, ensure_ascii=False
    )


def _given(fact: Fact) -> set[str]:
    """Names that whoever recorded the fact gave beside the sentence."""
    files = (file.path for file in fact.metadata.context.related_files)
    named = (name for _, names in fact.entities for name in names or ())
    return {*named, *files, *fact.metadata.tags}


_SENTENCE_SHAPE: Final = 'nothing but JSON, {"sentence": "…"}'
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
# How much of the reply has to be the fact's, or given with it: the rest is the name of what a
# pronoun stood for.
_OWN_SHARE: Final = 0.6


def sentence_from(reply: str, fact: Fact) -> str:
    """The sentence of a reply. `InvalidInputError` if anything is amiss."""
    answer = parsed(reply, _SENTENCE_SHAPE)
    if not isinstance(answer, dict) or answer.keys() != {"sentence"}:
        raise InvalidInputError.one(
            "reply", answer, 'an object with the key "sentence" and no other'
        )
    sentence = one_sentence("reply.sentence", answer["sentence"], _RESTATED_CHARS_MAX)
    note, given = fact.content, _given(fact)
    # in place of "yesterday"
    days = set(_DATE.findall(sentence) if RELATIVE_DATE in str(fact.findings) else ())
    names, new_names = _names(find(note)), _names(find(sentence))
    for kept, what in (
        (_numbers(sentence) - days == _numbers(note), "the numbers of the fact, and no other"),
        (
            names <= new_names <= names | {name.casefold() for name in given},
            "the names of the fact, and no other",
        ),
        (_turned(sentence) == _turned(note), "what the fact says, not its opposite"),
        (
            set(RE.address.findall(sentence)) <= set(RE.address.findall(note)),
            "no address that the fact has not",
        ),
        (_commands(sentence) <= _commands(note), "no command that the fact has not"),
        (_orders_nothing(sentence, note, given), "no order that the fact has not"),
        (_in_own_words(sentence, note, given), "mostly the words of the fact"),
    ):
        check_that(kept, "reply.sentence", sentence, what)
    return sentence


def _numbers(text: str) -> set[str]:
    """Every number in a text, with its sign and whatever is written onto it."""
    return {number.rstrip(".,:/-") for number in RE.number.findall(text)}


def _names(named: Named) -> set[str]:
    return {name.casefold() for names in named for name in names}


def _commands(text: str) -> set[str]:
    return {found.lower() for found in RE.command.findall(text)}


def _stems(words: Iterable[str]) -> set[str]:
    return {RE.endings.sub("", word) for word in words}


def _turned(text: str) -> tuple[int, set[str]]:
    """How often it denies something, and its words that have an opposite."""
    words = all_words_in(text)
    return sum(word in NEGATIONS for word in words), _stems(words) & _stems(WORDS.opposites)


def _orders_nothing(sentence: str, note: str, given: set[str]) -> bool:
    known = _stems(word for text in (note, *given) for word in all_words_in(text))
    words = all_words_in(sentence)
    begins_as_it_may = not words or words[0] in WORDS.openers or _stems(words[:1]) <= known
    return begins_as_it_may and _stems(words) & _stems(WORDS.orders) <= known


def _in_own_words(sentence: str, note: str, given: set[str]) -> bool:
    """Every word of the fact is there, but for those that a date, or a name, replaces: with one
    changed for another (keeps for drops) it may say the opposite, and no list has all of these.
    """
    had, has = (
        _stems(word for word in all_words_in(text) if word not in LITTLE | WORDS.stand_ins)
        for text in (note, sentence)
    )
    new = has - had - _stems(word for name in given for word in all_words_in(name))
    most = min(_RESTATED_NEW_WORDS_MAX, (1 - _OWN_SHARE) * len(has))
    return had - has <= _stems(WORDS.times) and len(new) <= most
