"""The time that a question asks about: `yesterday`, `last week`, `three days ago`, `in March 2026`,
`on 2026-03-04`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from hardwon.text.sentences import RE

Span = tuple[datetime, datetime]

_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH: Final = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY: Final = "(?P<day>[0-3]?\\d)(?:st|nd|rd|th)?"
_YEAR: Final = "(?:,?\\s(?P<year>[12]\\d{3}))"
# `May` and `March` are words of other meanings too: alone, they need the `in` of a month.
_NAMED: Final = [
    re.compile(rf"(?i)\b{pattern}\b")
    for pattern in (
        rf"{_DAY}(?:\sof)?\s{_MONTH}{_YEAR}?",
        rf"{_MONTH}\s{_DAY}{_YEAR}?",
        rf"{_MONTH}{_YEAR}",
        rf"(?:in|during|since|of)\s{_MONTH}",
    )
]
_DATED: Final = re.compile(r"(?<![\w-])(?P<date>\d{4}(?:-\d\d(?:-\d\d)?)?)(?![\w-])")


# A question in small letters without any of these names no time: nearly all of them.
NAMES_TIME: Final = re.compile(
    rf"\d{{4}}-|\b(?:{'|'.join(_MONTHS)})|day|tomorrow|night|ago|week|month|year|morning|noon|evening"
)
_DAYS_FROM_NOW: Final = (
    ("before yesterday", -2),
    ("after tomorrow", 2),
    ("yesterday", -1),
    ("tomorrow", 1),
)
_STEPS: Final = {"last": -1, "this": 0, "next": 1}
_WEEKDAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS: Final = "_ one two three four five six seven eight nine ten eleven twelve".split()


def find_time(question: str, now: datetime) -> Span | None:
    """From when until when; None where no time is named, or none that has begun."""
    try:
        span = _find_date(question) or _find_named_day(question, now) or _relative(question, now)
    except (OverflowError, ValueError):  # no such day, or before the first year
        return None
    return span if span and span[0] <= now else None


def _find_date(question: str) -> Span | None:
    # a year alone is often another number
    dates = (match["date"] for match in _DATED.finditer(question))
    date = next((date for date in dates if len(date) > len("2026")), None)
    return _make_span(date) if date else None


def _find_named_day(question: str, now: datetime) -> Span | None:
    for pattern in _NAMED:
        if match := pattern.search(question):
            words = match.groupdict()
            month = _MONTHS.index(words["month"][:3].lower()) + 1
            day = int(words.get("day") or 0)
            # without a year, the last such day
            year = int(words.get("year") or now.year)
            if not words.get("year") and (month, day or 1) > (now.month, now.day):
                year -= 1
            return _make_span(f"{year:04}-{month:02}" + (f"-{day:02}" if day else ""))
    return None


def _relative(question: str, now: datetime) -> Span | None:
    for match in RE.time.finditer(question):
        if not match["vague"]:
            return _find_span(
                {name: (word or "").lower() for name, word in match.groupdict().items()}, now
            )
    return None


def _find_span(words: dict[str, str], now: datetime) -> Span:
    """The day, week, month, year or hour that words of time mean."""
    today = now.date()
    if words["day"]:
        days = next((days for name, days in _DAYS_FROM_NOW if name in words["day"]), 0)
        return _make_span(str(today + timedelta(days=days)))
    if words["number"]:
        word, unit = words["number"], words["unit"]
        number = 1 if word in ("a", "an") else _NUMBERS.index(word) if word.isalpha() else int(word)
        number = -number
    else:
        number, unit = _STEPS[words["which"]], words["period"]
    if unit == "year":
        return _make_span(f"{now.year + number:04}")
    if unit == "month":
        years, month = divmod(now.month - 1 + number, 12)
        return _make_span(f"{now.year + years:04}-{month + 1:02}")
    if unit in _WEEKDAYS:
        away = _WEEKDAYS.index(unit) - today.weekday()
        if number:
            away = number * (away * number % 7 or 7)
        return _make_span(str(today + timedelta(days=away)))
    if words["period"] == "week":
        monday = today + timedelta(weeks=number, days=-today.weekday())
        return _make_span(str(monday))[0], _make_span(str(monday + timedelta(days=6)))[1]
    moment = now + timedelta(**{f"{unit}s": number})
    return _make_span(
        str(moment.date()) if unit in ("day", "week") else f"{moment:%Y-%m-%dT%H:%M}Z"
    )


def _make_span(date: str) -> Span:
    """Of a day, a month, a year, or the hour around a moment."""
    if "T" in date:
        moment = datetime.fromisoformat(date)
        return moment - timedelta(minutes=30), moment + timedelta(minutes=30)
    year, month, day = ([int(part) for part in date.split("-")] + [0, 0])[:3]
    first = datetime(year, month or 1, day or 1, tzinfo=UTC)
    if day:
        return first, first + timedelta(days=1)
    if month:
        return first, datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    return first, datetime(year + 1, 1, 1, tzinfo=UTC)
