"""Whether a sentence can stand alone, and whether a fact says again what another says already. No
I/O.

What keeps a sentence from standing alone: pronouns that stand for nothing in it, and times that are
counted from the day on which it was said. English; whatever is not sure is left alone.

Times are resolved where the record's own time tells them, in UTC: `yesterday` becomes `yesterday
(2026-11-14)`. That is done only in sentences that report what happened, or announce what will: what
is done every day, or has such a name, would get a date that is false. Elsewhere in prose the words
are named and stay as they are. Nothing is touched inside code, quotes, paths and identifiers, and
what has its date behind it already stays as it is.

Facts that say the same meet under one key. Rather two records of one thing than one record of two:
what is taken for a repetition is not kept as a record of its own. So no word is weighed here. Two
sentences say the same if they have the same words, signs and symbols in the same order, but for
white space, the punctuation between words, the capital letter that begins a sentence, and a few
words that never change a meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from hardwon import limits
from hardwon.records.kinds import Entities, Fact
from hardwon.text.entities import read_part
from hardwon.text.words import canonical

FlawKind = Literal["pronoun", "relative_date", "reference"]

# How a finding begins that names a time which could not be resolved.
RELATIVE_DATE: Final = "relative date"


class Flaw(NamedTuple):
    """Something that keeps a sentence from standing alone: the words, where they begin, and what to
    do about it. `resolved` is what they mean, where that could be worked out.
    """

    kind: FlawKind
    words: str
    start: int
    what_to_do: str
    resolved: str = ""

    def __str__(self) -> str:
        return f'{self.kind.replace("_", " ")} "{self.words}": {self.what_to_do}'


@dataclass(frozen=True)
class Linted:
    """A sentence with its times resolved, and everything that was found."""

    text: str
    findings: tuple[Flaw, ...] = ()

    @property
    def left(self) -> tuple[Flaw, ...]:
        """What only its author can put right."""
        return tuple(flaw for flaw in self.findings if not flaw.resolved)


def lint(sentence: str, at: datetime) -> Linted:
    """What was said at that time, as it can be read at any other. Linting the result again changes
    nothing.
    """
    text = read_part(sentence)
    lowered = text.lower()
    flaws = list(_pronouns(text))
    # else what was found there is somewhere else here; hardly any letter does that
    if len(lowered) == len(text):
        if any(word in lowered for word in _TIME_WORDS):
            flaws += _times(text, at.astimezone(UTC))
        if "above" in lowered or "below" in lowered or "as " in lowered:
            for found in _REFERENCE.finditer(_without_quotes(text)):
                flaws.append(
                    Flaw("reference", found[0], found.start(), "say here what is said there")
                )
    if not flaws:
        return Linted(sentence)
    flaws = sorted(flaws, key=lambda flaw: flaw.start)[: limits.FINDINGS_MAX]
    parts, done = [], 0
    for flaw in flaws:
        if flaw.resolved:
            end = flaw.start + len(flaw.words)
            parts += [sentence[done:end], f" ({flaw.resolved})"]
            done = end
    return Linted("".join((*parts, sentence[done:])), tuple(flaws))


# --- what is not prose ---

_QUOTED: Final = re.compile(
    r"```.{0,10000}?```|`[^`\n]{0,1000}`|\"[^\"\n]{0,1000}\"|\u201c[^\u201d\n]{0,300}\u201d|\u00ab[^\u00bb\n]{0,300}\u00bb"
    r"|(?<!\w)'[^'\n]{0,300}'(?!\w)|\u2018[^\u2018\u2019\n]{0,300}\u2019(?!\w)|(?<![\w-])--?\w[\w-]{0,40}[ =][^\s]{1,100}",
    re.DOTALL,
)


def _without_quotes(text: str) -> str:
    """The same text, of the same length, in which nothing quoted, and no line of code, is a
    word.
    """
    if _MAY_QUOTE.search(text):
        text = _QUOTED.sub(_blank, text)
    return _SET_OFF.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    return "\u00a4" * len(found[0])


_SET_OFF: Final = re.compile(r"^(?: {4}|\t| {1,3}\t| {0,3}>)[^\n]*", re.MULTILINE)
_MAY_QUOTE: Final = re.compile("[`\"'\u201c\u00ab\u2018]|-\\w")


# --- times ---

_TIME_WORDS: Final = tuple(
    "day tomorrow night ago week month year hour minute morning evening noon lately recently soon".split()
)
_NUMBERS: Final = {
    word: number
    for number, words in enumerate(
        "a|an|one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
    for word in words.split("|")
}
_COUNT: Final = r"(?:\d{1,4}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
_UNIT: Final = r"(?:minute|hour|day|week|month|year)"
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PART_OF_DAY: Final = r"(?:morning|afternoon|evening|night)"
_BEFORE: Final = r"(?<![\w./\\@:=#$%&*+~<>\[{|_\u00a4-])"
_AFTER: Final = r"(?![\w/\\@=#(\[{<>|\u00a4]|[.:-]\w|-|['\u2019](?!s\b)\w)"
_TIME: Final = re.compile(
    _BEFORE
    + r"(?:"
    + r"(?P<day>the\sday\sbefore\syesterday|the\sday\safter\stomorrow"
    + rf"|(?:yesterday|tomorrow)(?:\s{_PART_OF_DAY})?|today|tonight"
    + r"|this\s(?:morning|afternoon|evening)|last\snight)(?:['\u2019]s)?"
    + rf"|(?P<ago>(?P<half>half\s)?(?P<number>{_COUNT})\s(?P<unit>{_UNIT})s?\sago)"
    + r"|(?P<turn>(?P<which>last|this|next)\s(?P<period>week|month|year|"
    + "|".join(_WEEKDAYS)
    + r"))(?:['\u2019]s)?(?!\sof\b)"
    + rf"|(?P<ahead>in\s(?P<later>{_COUNT})\s(?P<later_unit>{_UNIT})s?)(?!['\u2019])"
    + r"|(?P<vague>recently|lately|the\sother\sday|(?:a|some|quite\sa)\swhile\sago|(?:a\slong|some)\stime\sago|long\sago"
    + rf"|(?:a\sfew|a\scouple\sof|several|some|many)\s{_UNIT}s\sago|soon)"
    + r")"
    + _AFTER,
    re.IGNORECASE,
)
_HAS_DATE: Final = re.compile(r"(?:['\u2019]s)?,?\s?[(\[](?:about\s|night\sto\s)?\d{4}\b")
_ABOUT: Final = re.compile(
    r"(?:\b(?:about|around|almost|nearly|over|more\sthan|less\sthan|at\sleast|roughly|under|up\sto|some|maybe|approximately)\s|~)\Z",
    re.IGNORECASE,
)
_NOT_BEFORE_TURN: Final = re.compile(
    r"\b(?:the|every|each|a|an|per|any|of\sthis)\s\Z", re.IGNORECASE
)
_RANGE: Final = re.compile(r"\b(?:to|or|than|the)\s\Z", re.IGNORECASE)
_COMING: Final = re.compile(
    r"\b(?:will|shall|going\sto|due|scheduled|planned|deadline|is\sexpected)\b|['\u2019]ll\b",
    re.IGNORECASE,
)
_HABIT: Final = re.compile(
    r"\b(?:every|each|always|when|whenever|once|if|unless|per|any|an?\s\w{1,30}\sthat|retry|retries|again|by\sdefault|usually)\b",
    re.IGNORECASE,
)
_SOON_IDIOM: Final = re.compile(r"\b(?:as|so|too|how|very)\s\Z", re.IGNORECASE)
# how far back the words that make "in 3 hours" a moment, or a habit, are looked for
_CLAUSE_CHARS: Final = 120

_HAPPENED: Final = re.compile(
    r"(?<![\w-])(?:(?P<before>[a-z]{1,20}(?:['\u2019]t)?)\s)?(?:(?P<sure>(?:was|were|had|did)(?:n['\u2019]t)?|"
    r"broke|fell|went|ran|came|became|began|got|gave|took|made|found|lost|grew|threw|froze|hung|shut|sent|left|rose|stood|held|"
    r"kept|built|bought|brought|caught|chose|drew|drove|flew|forgot|hid|knew|led|met|paid|said|saw|sold|spent|spoke|stole|stuck|"
    r"swept|taught|told|thought|understood|woke|won|wrote)|(?P<past>[a-z]{2,30}(?<!e)ed))(?![\w-])",
    re.IGNORECASE,
)
# Behind these a word in -ed is an adjective, or tells what is done to something time and again.
_NO_VERB_AFTER: Final = frozenset(
    """is are am be being get gets isn't aren't a an the this that these those all some any no of in on at by for from with
    to and or its their our your every each""".split()
)

_NO_PAST: Final = frozenset(
    "hundred embed shed sacred naked nested shared limited unused based need".split()
)
_WHOSE: Final = re.compile(r"\b(?:that|which|who|whose)\b", re.IGNORECASE)
_TIME_AND_AGAIN: Final = re.compile(
    r"\b(?:every|each|always|usually|often|normally|typically|generally|regularly|sometimes|never|hourly|nightly|daily|weekly|"
    r"monthly|yearly|whenever|if|unless|by\sdefault|older|newer|earlier|expires?|(?:mon|tues|wednes|thurs|fri|satur|sun)days|"
    r"(?:morn|even)ings|nights|copies|deletes|removes|archives|mails|sends|counts|reads|writes|reports|shows|lists|returns|"
    r"selects|compares|covers|contains|keeps|holds|uses|loads|fetches|exports|imports|processes|purges|drops|rotates|prunes|"
    r"computes|aggregates|includes|expects|needs|requires|means|has\sthe|takes|moves|stores|prints|displays|accepts)\b",
    re.IGNORECASE,
)
_SQL: Final = (
    "(?:SELECT|FROM|TABLE|WHERE|AND|OR|BY|INTO|UPDATE|SET|AS|VALUES|COLUMN|JOIN|ON|IN|IS|VIEW|INDEX"
    "|LIMIT|ORDER|GROUP)"
)
_NAME_FOLLOWS: Final = re.compile(
    r"(?:\b(?:called|named|titled|label(?:l?ed)?|enum|values?|column|field|table|variable|keyword|option|flag|parameter|argument|"
    rf"button|word|string|literal|constant|key|filter|branch|tag|song|of|until|to|as|"
    rf"function|method|class|module|default|(?<!scheduled\s)(?<!planned\s)(?<!due\s)for|{_SQL})\s|\w\s-\s|[/=<>+*|&]\s?)\Z"
)
_NAME_ENDS: Final = re.compile(
    rf"\s?/\s?\w|\s(?:the\s)?\d|\s{_SQL}\b|\s[(+*=<>|&-]|\s(?:button|filter|label|column|table|field)\b"
)
_JOINS: Final = re.compile(r"[\s,;/&+-]*(?:(?:and|or|to|with|vs\.?|versus|than|until|from)\s)?")
_SENTENCE_ENDS: Final = re.compile(r"[.;!?](?=\s)|\n")

_UNSURE: Final = "say the date, if a certain one is meant"
_VAGUE: Final = "say the date"
_AMBIGUOUS: Final = "say the date; from when it is counted cannot be told"


def _times(text: str, at: datetime) -> Iterator[Flaw]:
    plain = _without_quotes(text)
    matches = list(_TIME.finditer(plain))
    # where the words stand one after the other, as the values of something do
    listed: set[int] = set()
    for one, other in pairwise(matches):
        if _JOINS.fullmatch(plain, one.end(), other.start()):
            listed |= {one.start(), other.start()}
    for found, tense in zip(matches, _tenses(plain, matches), strict=True):
        before = plain[max(0, found.start() - _CLAUSE_CHARS) : found.start()]
        if _HAS_DATE.match(plain, found.end()) or not _is_meant(
            found, before, plain[found.end() : found.end() + 4]
        ):
            continue
        words = found[0]
        if found["vague"]:
            yield Flaw("relative_date", words, found.start(), _VAGUE)
        elif (
            found.start() in listed
            or not tense.reports(found, before)
            or _is_name(found, before, plain)
        ):
            yield Flaw("relative_date", words, found.start(), _UNSURE)
        else:
            try:
                resolved = _resolved(found, at, about=bool(found["ago"] and _ABOUT.search(before)))
                yield Flaw("relative_date", words, found.start(), f"it is {resolved}", resolved)
            except (OverflowError, ValueError):  # before the first year, or after the last
                yield Flaw("relative_date", words, found.start(), _AMBIGUOUS)


class _Tense(NamedTuple):
    """What a sentence tells of: something that happened, something to come, or neither of the
    two.
    """

    past: bool
    coming: bool
    lasts: bool  # it may tell what is so "since yesterday"

    def reports(self, found: re.Match[str], before: str) -> bool:
        words = found[0].lower()
        if found["ago"] or words.startswith("last") or "yesterday" in words:
            return self.past or (self.lasts and before.endswith("since "))
        if found["ahead"] or words.startswith("next") or "tomorrow" in words:
            return self.coming
        return self.past or self.coming


def _tenses(plain: str, matches: list[re.Match[str]]) -> Iterator[_Tense]:
    """For each of the matches that of the sentence in which it stands; every sentence is read
    once.
    """
    ends = (found.start() for found in _SENTENCE_ENDS.finditer(plain))
    begin, end, tense = 0, -1, _Tense(False, False, False)
    for found in matches:
        if found.start() > end:
            while found.start() > end:
                begin, end = end + 1, next(ends, len(plain))
            tense = _tense_of(plain[begin:end])
        yield tense


def _tense_of(sentence: str) -> _Tense:
    if _TIME_AND_AGAIN.search(sentence):
        return _Tense(False, False, False)
    # of what comes after nothing is taken: jobs that failed may be any day's
    clause = _WHOSE.split(sentence, maxsplit=1)[0]
    past = any(
        found["sure"]
        or (
            (found["before"] or "").lower() not in _NO_VERB_AFTER
            and found["past"].lower() not in _NO_PAST
        )
        for found in _HAPPENED.finditer(clause)
    )
    return _Tense(past, bool(_COMING.search(sentence)), True)


def _is_name(found: re.Match[str], before: str, plain: str) -> bool:
    """Whether it may be the name of something: a capital letter inside of a sentence, or the place
    of a name.
    """
    inside = before.rstrip(" ([-*\u2022\"'")
    capital = found[0][0].isupper() and bool(inside) and inside[-1] not in ".!?:;\n\u00a4"
    return (
        capital or bool(_NAME_FOLLOWS.search(before)) or bool(_NAME_ENDS.match(plain, found.end()))
    )


def _is_meant(found: re.Match[str], before: str, after: str) -> bool:
    """Whether the words tell a time from now, rather than a duration, a habit or an order."""
    if found["turn"]:
        return not _NOT_BEFORE_TURN.search(before)
    if found["ago"]:
        return not _RANGE.search(before) or bool(_ABOUT.search(before))
    if found["ahead"]:
        clause = re.split(r"[.;:!?]\s", before)[-1]
        return (
            bool(_COMING.search(clause))
            and not _HABIT.search(clause)
            and not after.startswith(("'", "\u2019", " of"))
        )
    if found["vague"] and found["vague"].lower() == "soon":
        return not _SOON_IDIOM.search(before) and not after.startswith(" as")
    return True


def _resolved(found: re.Match[str], at: datetime, *, about: bool) -> str:
    today = at.date()
    if found["day"]:
        words = " ".join(found["day"].lower().split())
        away = next((days for name, days in _DAYS_FROM_NOW if name in words), 0)
        return f"night to {today}" if words == "last night" else str(today + timedelta(days=away))
    if found["turn"]:
        return _turn(found["which"].lower(), found["period"].lower(), today)
    if found["ago"]:
        past = _counted(
            -_number(found["number"]), found["unit"].lower(), at, half=bool(found["half"])
        )
        return f"about {past}" if about else past
    return _counted(_number(found["later"]), found["later_unit"].lower(), at)


def _number(words: str) -> int:
    return _NUMBERS.get(words.lower()) or int(words)


_DAYS_FROM_NOW: Final = (
    ("before yesterday", -2),
    ("after tomorrow", 2),
    ("yesterday", -1),
    ("tomorrow", 1),
)


_STEPS: Final = {"last": -1, "this": 0, "next": 1}


def _turn(which: str, period: str, today: date) -> str:
    step = _STEPS[which]
    if period == "year":
        return _year(today.year + step)
    if period == "month":
        return _month(today, step)
    monday = today - timedelta(days=today.weekday())
    if period == "week":
        first = monday + timedelta(weeks=step)
        return f"{first} to {first + timedelta(days=6)}"
    weekday = _WEEKDAYS.index(period)
    if step == 0:
        return str(monday + timedelta(days=weekday))
    away = (weekday - today.weekday()) * step % 7 or 7
    return str(today + timedelta(days=step * away))


def _counted(number: int, unit: str, at: datetime, *, half: bool = False) -> str:
    if half:
        unit, number = _HALF_OF[unit], number * _HALVES[unit]
    if unit == "year":
        return _year(at.year + number)
    if unit == "month":
        return _month(at.date(), number)
    moment = at + timedelta(**{f"{unit}s": number})
    return str(moment.date()) if unit in ("day", "week") else f"{moment:%Y-%m-%dT%H:%M}Z"


_HALF_OF: Final = {
    "minute": "minute",
    "hour": "minute",
    "day": "hour",
    "week": "day",
    "month": "week",
    "year": "month",
}
_HALVES: Final = {"minute": 1, "hour": 30, "day": 12, "week": 3, "month": 2, "year": 6}


def _year(year: int) -> str:
    return f"{date(year, 1, 1).year:04}"


def _month(today: date, step: int) -> str:
    years, month = divmod(today.month - 1 + step, 12)
    return f"{date(today.year + years, month + 1, 1):%Y-%m}"


# --- pronouns ---


def _any(words: str) -> str:
    """Any of these words. An underscore is a space, an apostrophe may be curly."""
    return "(?:" + "|".join(words.replace("'", "['\u2019]").replace("_", r"\s").split()) + ")"


_OPENING: Final = (
    r"\s{0,20}(?:[-*\u2022]\s{1,3}|"
    + _any("note nb fyi todo fact learned lesson observation decision solution error")
    + r"\s?[:,-]\s{1,3})?(?:"
    + _any(
        "and but so also then however therefore thus hence still yet sometimes usually often "
        "apparently unfortunately now"
    )
    + r",?\s{1,3}){0,3}"
)
_HELPING_VERB: Final = _any(
    "is was are were isn't wasn't aren't will would can could cannot can't should must may might "
    "has have had does "
    "did do doesn't didn't don't won't"
)
_DOES: Final = _any(
    "means? meant causes? caused happens? happened fails? failed works? worked breaks? broke "
    "needs? needed makes? "
    "made leads? led fixes fixed prevents? prevented requires? required seems? seemed appears? "
    "explains? explained "
    "helps? helped solves solved resolves resolved results? resulted only never always also still "
    "no_longer"
)
_PRONOUN: Final = re.compile(
    _OPENING
    + r"(?:(?P<person>he|she|they)(?=\s|['\u2019](?:ll|d|re|ve|s)\b)"
    + r"|(?P<it>it(?=\s\w|['\u2019](?:s|ll|d)\b))"
    + rf"|(?P<one>(?:this|that|these|those)(?:\sones?\b|(?=\s{_HELPING_VERB}\s|\s{_DOES}\b|['\u2019]s\s)))"
    + r"|(?P<whose>its|their|his|her(?=\s\w+\s))(?=\s\w)|"
    + _any("after before despite because_of due_to like with without in by for from")
    + r"\s(?P<back>this|that|these|those)(?=[,.;!?]|\Z)|"
    + _any("if when whenever once because since until unless while after before")
    + r"\s(?P<early>it|he|she|they)\s(?=[a-z])|(?:"
    + _any("do_not don't never always please just simply")
    + r"\s){0,2}(?P<first>[a-z]{2,20})\s(?P<object>it|them|him)(?=[\s.,;!?]|\Z))",
    re.IGNORECASE,
)
_BEING: Final = _any(
    "'s is was 'll_be will_be would_be has_been had_been may_be might_be can_be could_be must_be "
    "should_be isn't "
    "wasn't becomes became gets got"
)
_OF_NOTHING: Final = _any(
    "raining snowing hailing freezing cold hot warm dark late early sunny windy noon midnight time "
    "(?:im)?possible "
    "necessary (?:un)?important essential easy easier hard harder difficult better best "
    "(?:un)?safer? risky dangerous "
    "(?:un)?wise useful helpful enough sufficient common (?:un)?usual normal rare recommended "
    "advisable advised "
    "allowed forbidden (?:un)?known (?:un)?clear (?:un)?likely true false worth obvious evident "
    "expected_that "
    "assumed_that believed said agreed decided planned crucial vital critical_to critical_that "
    "good_to good_practice "
    "good_that bad_to bad_practice bad_that fine_to ok_to okay_to faster_to slower_to cheaper_to "
    "simpler_to "
    "quicker_to tempting_to wrong_to right_to correct_to sensible_to pointless_to no_use no_good "
    "no_longer_possible "
    "no_problem no_wonder no_surprise uncertain doubtful up_to"
)
_SOMETIMES: Final = _any(
    "not now still also very too always often never more most does_not did_not can may will would"
)
_CLEFT: Final = (
    rf"(?:{_any('the a an only because when in on at')}\b|[A-Z`])[^.;!?]{{0,200}}?"
    rf"\s{_any('that who which where')}\b"
)
_IMPERSONAL: Final = re.compile(
    rf"\s?{_BEING}\s(?:\w{{1,20}}ly\s|{_SOMETIMES}\s){{0,3}}(?:{_OF_NOTHING}\b|{_CLEFT})"
)
_VERB_OF_NOTHING: Final = _any(
    "seem appear turn happen follow look sound matter help take took cost make made hurt pay "
    "suffice remain prove "
    "depend go come came need"
)
_WHAT_FOLLOWS: Final = _any("that to if whether when how like what which before until")
_IMPERSONAL_VERB: Final = re.compile(
    rf"\s(?:\w{{1,20}}ly\s|{_SOMETIMES}\s){{0,3}}"
    rf"(?:{_VERB_OF_NOTHING}(?:s|es|ed)?\b[^.;!?]{{0,200}}?\s{_WHAT_FOLLOWS}\b|(?:rain|snow|hail)(?:s|ed)?\b|goes\swithout)"
)
_NOUN_FOLLOWS: Final = re.compile(
    rf"[^,.;!?]{{1,200}},\s(?:{_any('the an? every each this that these our all some')}\b|[A-Z`\"])"
)
_NO_VERBS: Final = frozenset(
    """that whether what how why where which who whom whose when if as than because since although though while unless until
    once and or but so is was are were does did do can could will would should must may might has have had not then also
    the a an this these those after before in on at by of for to with from""".split()
)
_NAME_IT: Final = "name what it stands for"


def _pronouns(text: str) -> Iterator[Flaw]:
    """At the beginning alone: later in a sentence there is hardly ever nothing that a pronoun can
    stand for.
    """
    found = _PRONOUN.match(text)
    if not found:
        return
    kind = next(
        name for name in ("person", "it", "one", "whose", "back", "early", "object") if found[name]
    )
    rest = text[found.end(kind) : found.end(kind) + 400]
    if found[kind] == "IT" and not text.isupper():  # those who run the machines
        return
    if kind == "it" and (_IMPERSONAL.match(rest) or _IMPERSONAL_VERB.match(rest)):
        return
    if kind == "early" and (
        _NOUN_FOLLOWS.match(rest) or (found["early"].lower() == "it" and _IMPERSONAL.match(rest))
    ):
        return
    if kind == "object" and found["first"].lower() in _NO_VERBS:
        return
    yield Flaw("pronoun", found[kind], found.start(kind), _NAME_IT)


# --- what was said elsewhere ---

_REFERENCE: Final = re.compile(
    _BEFORE
    + r"(?:as\s(?:mentioned|described|discussed|said|noted|shown|explained|stated)\s(?:above|before|earlier|below|previously)"
    r"|(?<!\w)see\s(?:above|below)|the\sabove(?=\s|[,.;!?]|\Z))" + _AFTER,
    re.IGNORECASE,
)


# --- what says the same ---

_ARTICLES: Final = frozenset(("a", "an", "the"))
# No sentence says something else without them. Not among them: words that narrow ("just"), weigh
# ("really") or tell a time.
_FILLERS: Final = _ARTICLES | frozenset(("please", "now", "actually", "indeed"))

# Set off from the rest they answer it: "No, retries are needed" is the opposite of "No retries are
# needed".
_ANSWERS: Final = frozenset(("no", "not", "never", "yes"))

_BULLET: Final = re.compile(r"[-*\u2022]\s")
_TRAILING: Final = re.compile(r"[.,;]+\Z")
# "C:" is a drive, and "5!" is not 5
_TRAILING_OF_WORDS: Final = re.compile(r"(?<=[^\W\d_]{2})[:!.,;]+\Z")
_ENDS_SENTENCE: Final = (".", "!", "?", ";")
_APOSTROPHES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


def said(text: str) -> tuple[str, ...]:
    """What two texts that say the same have in common."""
    plain = unicodedata.normalize("NFC", text).translate(_APOSTROPHES).strip()
    if _BULLET.match(plain):
        plain = plain[1:]
    words = list(_words(plain))
    kept = tuple(word for at, word in enumerate(words) if not _is_needless(words, at))
    return kept or tuple(words) or (plain,)


def _words(text: str) -> Iterator[str]:
    """As they are written, but for the capital letter of a sentence's first word: a name in other
    letters is another name.
    """
    begins = True
    tokens = text.split()
    for left, token in enumerate(tokens, 1 - len(tokens)):
        bare = token.strip("`") or token
        word = _TRAILING_OF_WORDS.sub("", bare)
        word = _TRAILING.sub("", word) or bare
        if begins and (len(word) == 1 or word[1:].islower()):
            word = word[0].lower() + word[1:]
        begins = bare.endswith(_ENDS_SENTENCE)
        if left and word in _ANSWERS and len(bare) > len(word):
            word += ","
        yield word


def _is_needless(words: list[str], at: int) -> bool:
    """An article with no noun behind it is the name of something: "column a is empty"."""
    if words[at] in _ARTICLES:
        return at + 1 < len(words) and words[at + 1] not in _NO_NOUNS
    return words[at] in _FILLERS and not (at and words[at - 1] in _TIED)


# Behind these it is no filler: "until now the pool works".
_TIED: Final = frozenset(
    "until till by from since not before for only right up than as and or".split()
)

_NO_NOUNS: Final = _FILLERS | frozenset(
    """is are was were be has have had does do did can could will would shall should may might must and or but not in on at of
    to by for from with = == != < > + - * / && ||""".split()
)


def _key(fact_type: str, text: str) -> str:
    # NUL is in no text
    return (
        "fact:" + blake2b("\0".join((fact_type, *said(text))).encode(), digest_size=16).hexdigest()
    )


# a fact that is recorded is asked for twice: whether it is known, and as a row
_key_of_short = lru_cache(maxsize=64)(_key)


def fact_key(fact: Fact) -> str:
    """Facts of one type have the same key if they say the same, and only then."""
    key = _key_of_short if len(fact.content) <= limits.LESSON_CHARS_MAX else _key
    return key(fact.fact_type, fact.content)


def same_words(one: Fact, other: Fact) -> bool:
    """Of two facts that say the same: whether nobody would see a difference."""
    return canonical(one.content) == canonical(other.content)


def repeats(first: Fact, again: Fact) -> bool:
    """Whether `again` says what `first` says, and brings nothing: no related file, tag, failure or
    entity in its envelope that the first has not. What tells a time from the day on which it was
    said says something else on another day.
    """
    had, has = first.metadata, again.metadata
    days = {metadata.context.timestamp.astimezone(UTC).date() for metadata in (had, has)}
    files = {(file.path, file.hash) for file in had.context.related_files}
    return (
        fact_key(first) == fact_key(again)
        and set(has.tags) <= set(had.tags)
        and all((file.path, file.hash) in files for file in has.context.related_files)
        and has.validation.failure_hash in (None, had.validation.failure_hash)
        and all(
            new <= old
            for new, old in zip(_names_in(again.entities), _names_in(first.entities), strict=True)
        )
        and (
            len(days) == 1
            or not any(each.startswith(RELATIVE_DATE) for each in again.findings or ())
        )
    )


def _names_in(entities: Entities) -> list[set[str]]:
    return [
        set(names or ())
        for names in (entities.files, entities.functions, entities.libraries, entities.error_codes)
    ]
