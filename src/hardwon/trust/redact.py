"""Secrets leave a text before it is stored, because what an experience memory keeps it will one day
repeat.

A secret is known in one of two ways. Some carry a mark of their maker (`ghp_…`, `-----BEGIN …
PRIVATE KEY`): those are the rows of `secrets.txt`. Others are known only by the name
they stand under (`password = "…"`): there the name is judged first, then whether the value is meant
literally or is code or prose about a secret.

Every pattern is linear on hostile text: a run of characters is scanned from one place only, or up
to a fixed length, or is consumed whenever it was scanned. And no record that is searched is larger
than `RECORD_BYTES_MAX`: so the work for one is bounded by what it is made of, and nobody has to
interrupt it. `tests/text/test_linear_time.py` attacks each pattern.

At the end stands what does this for a whole record, and for an event.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final

from pydantic import BaseModel

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import SUMMARY_FROM_CONTENT_CHARS, Event, Experience, R, safe_summary
from hardwon.text.tables import (
    Form,
    Forms,
    Patterns,
    WordLists,
    beyond_ascii,
    find_any,
    in_small_letters,
)
from hardwon.text.terms import Remembered, normalize
from hardwon.trust import redact_tables as tables

RE: Final = Patterns(tables.PATTERNS)
WORDS: Final = WordLists(tables.WORDS)
KEYS: Final = Forms(tables.KEYS, RE)
SECRET_FORMS: Final = Forms(tables.SECRETS, RE)
NAMED: Final = Forms(tables.NAMED, RE)

_OPEN: Final = "[REDACTED:"
_CHANGES_OF_A_NAME: Final = 5  # TokenHandler2 has four
_NAME_CHARS_MAX: Final = 20  # before the letter by which a name of a secret is looked for
_LONGEST_WORD: Final = 200  # an unbroken run longer than this is no word of code or prose


# where a secret stands in a text, from and to, and its label
_Secret = tuple[int, int, str]


def is_no_slot(match: re.Match[str]) -> bool:
    """Whether the value is no placeholder."""
    return not RE.slot.match(match["s"])


def is_credential(match: re.Match[str]) -> bool:
    """Whether the value may be one that a server is sent."""
    # "Authorization: Basic authentication failed" is prose, "Bearer YOUR_TOKEN" an example.
    value = match["s"]
    return not (RE.plain.fullmatch(value) or RE.slot.match(value) or RE.stand_in.match(value))


def is_of_curl(match: re.Match[str]) -> bool:
    """Whether it stands in a command of curl."""
    # `-u` is a user to many programs; that it is user:password is known of curl.
    return "curl" in match.string[max(0, match.start() - 300) : match.start()] and is_no_slot(match)


def _is_machine_made(value: str) -> bool:
    """Whether case and digits change too often for a word that somebody thought of."""
    size = sum(map(str.isalnum, value[:_LONGEST_WORD]))
    share = _changes(value) / size if size >= 8 else 0
    return RE.mixed.search(value) is not None or share >= (0.5 if size < 24 else 0.4)


def _looks_random(value: str) -> bool:
    return _is_machine_made(value) or RE.random.match(value) is not None


def _changes(value: str) -> int:
    """How often small letters, capitals and digits give way to one another."""
    kinds = ((char.isdigit(), char.isupper()) for char in value[:_LONGEST_WORD] if char.isalnum())
    return sum(a != b for a, b in pairwise(kinds))


def is_spoken(match: re.Match[str]) -> bool:
    """Whether the value behind a name in prose is a secret, and not the next word."""
    # "the token is expired" is prose, "see token src/auth2.py" names a file
    value = _trim(match["s"])
    parts = re.split(r"[-_.:#@]", RE.numbered.sub("", value))
    slug = sum(any(map(str.isdigit, part)) for part in parts) < 2 and all(
        map(RE.slug_part.match, parts)
    )
    known = RE.slot.match(value) or RE.stand_in.match(value) or set("/\\()") & set(value)
    letters = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return not known and (
        _is_machine_made(value) or (letters and (not slug or _changes(value) > _CHANGES_OF_A_NAME))
    )


def is_cookie(match: re.Match[str]) -> bool:
    """Whether one of its values was made by a machine."""
    return any(_looks_random(part.partition("=")[2]) for part in match["s"].split(";"))


def is_named(match: re.Match[str]) -> bool:
    """Whether the name that it stands under says that it is a secret."""
    groups = match.groupdict()
    name, value = groups["n"] or groups["m"], groups["s"]
    kind = "password" if name == "pass" and _looks_random(value) else _kind(name)
    return not (kind == "" or RE.words.match(value) or _holds_place(kind, name, value))


# What decides whether a match is a secret at all.
_ACCEPT: Final[Mapping[str, Callable[[re.Match[str]], bool]]] = {
    "always": bool,
    "cookie": is_cookie,
    "credential": is_credential,
    "machine_made": lambda match: _is_machine_made(match["s"]),
    "named": is_named,
    "not_slot": is_no_slot,
    "of_curl": is_of_curl,
    "spoken": is_spoken,
}


def _find_by_mark(form: Form, text: str) -> Iterator[_Secret]:
    accept = _ACCEPT[form.row.get("accept", "always")]
    for match in form.pattern.finditer(text):
        start = match.start()
        before = text[max(0, start - 3) : start]
        in_word = text[start].isalpha() and before[-1:].isalnum() and before[-1:].isascii()
        # "ask-…" is no key: none begins inside a word, unless the letter before is an escape's
        if (not in_word or RE.escape.search(before)) and accept(match):
            yield *match.span("s" if "s" in form.pattern.groupindex else 0), form.row["label"]


_NAME_CHARS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_CLOSES: Final = {")": "(", "]": "[", "}": "{", ".": "", ":": "", ",": ""}
_ENDS_COMMAND: Final = ("", *"\n\r-|;&\\\"'`")


def _judge_name(name: str) -> str:
    """The label of what a name says its value is; "" when it names no secret."""
    if len(name) > 128 or name in ("PWD", "OLDPWD"):  # a shell's PWD is a directory
        return ""
    words = [word.lower() for word in RE.word.findall(name)]
    while len(words) > 1 and (words[-1] in WORDS.tails or words[-1].isdigit()):
        words.pop()
    if len(words) > 1 and words[-1] == "pass" and words[-2] in WORDS.have_pass:
        return "password"
    stem = RE.stem.search("_".join(words))
    if (
        stem is None
        or words[0] in WORDS.no_secret
        or (stem["token"] and not WORDS.no_token.isdisjoint(words))
    ):
        return ""
    return (stem.lastgroup or "").replace("_", "-")


# for names only: a cache of values would keep the secrets
_kind = lru_cache(maxsize=4096)(_judge_name)


def names_secret(name: str) -> bool:
    """Whether a value under this name is taken for a secret whatever it looks like."""
    return _kind(name) != ""


def _refers(value: str) -> bool:
    # `password = new_password` passes a variable on; DB_PASSWORD=supersecret is one word, and a
    # value.
    words = [word for word in RE.word.findall(value) if not word.isdigit()]
    return bool(words and _judge_name(value)) and (
        len(words) > 1 or RE.stem.match(words[0].lower()) is not None
    )


def _holds_place(kind: str, name: str, value: str) -> bool:
    """Whether a value only stands where a secret would, or says nothing beside placeholders of our
    own.
    """
    rest = RE.ours.sub("", value).strip()
    if kind == "authorization":
        rest = RE.scheme.sub("", rest, count=1)
    if len(rest) < 4 or RE.slot.match(rest) or RE.stand_in.match(rest) or RE.template.search(rest):
        return True
    if RE.path.match(rest) and not any(map(RE.random.match, re.split(r"[/\\.]", rest))):
        return True
    variable = "_" in rest and rest.isupper()  # api_key: "OPENAI_API_KEY"
    return name.lower().endswith(rest.lower()) or (variable and _judge_name(rest) != "")


def _quoted_literal(kind: str, line: str, quoted: re.Match[str], named_in_quotes: bool) -> bool:
    prefix, quote = quoted["prefix"].lower(), quoted["q"] or quoted["eq"]
    value = quoted["v"] or quoted["ev"] or ""
    # In print("password:", x) the quote after the name closes a string that was opened before it.
    if not named_in_quotes and value[:1] in " \t,);]}+.%" and line.count(quote) % 2:
        return False
    if kind == "token":  # token = "while" is a parser's
        return "r" not in prefix and not (len(value) < 24 and RE.lexeme.match(value))
    return not ("f" in prefix and "{" in value)


def _literal_word(kind: str, name: str, op: str, value: str, line: str, after: str) -> bool:
    """Whether a word without digits is meant literally: only where neither code nor prose could
    stand.
    """
    if _refers(value) or not set("./:").isdisjoint(value):
        return False
    end = after.lstrip(" \t")[:1]
    if name.startswith("-"):  # --password correcthorse, but not "the --password option"
        return end in _ENDS_COMMAND and not (value.isupper() or value in WORDS.speaks_of_flag)
    alone = RE.alone.match(line) is not None and end in ("", "\n", "\r", "#")
    if name.isupper():  # DB_PASSWORD=correcthorse, or the same in YAML
        return op == "=" or (alone and "_" in name and value.islower() and kind != "token")
    paired = (
        RE.paired.search(line[-100:])
        and (kind != "token" or line[-1] in "?&")
        and end not in (",", ")")
    )
    return op == "=" and (bool(paired) or (alone and line[:1] not in (" ", "\t")))


def _bare_literal(kind: str, name: str, op: str, value: str, line: str, after: str) -> bool:
    """Whether a value without quotes is meant literally: it may be code, or the next word of a
    sentence.
    """
    code = RE.code.match(value)
    if (code and (code["call"] or after[:1] in ("(", "["))) or RE.no_value.match(value):
        return False
    if _is_machine_made(value):
        # an address on a chain
        return not (kind == "token" and RE.address.fullmatch(value))
    if RE.words.match(value):
        return _literal_word(kind, name, op, value, line, after)
    if name.startswith("-") or (op == "=" and (name.isupper() or line[-1:] in ("?", "&"))):
        return True
    if (
        (code and not value.replace("_", "").isalnum())
        or RE.no_bare_value.match(value)
        or _refers(value)
    ):
        return False
    plain = RE.numbered.sub("", value)
    digits = sum(map(str.isdigit, plain))
    if kind == "password":  # people choose these, machines make the others
        return len(value) >= 6 and (digits > 0 or RE.symbol.search(plain) is not None)
    parts = [part for part in re.split(r"[-_./:#@]", plain) if any(map(str.isdigit, part))]
    slug = len(parts) < 2 and all(map(RE.slug_part.match, parts))  # db-creds-v2, response12
    return len(value) >= 8 and digits > 1 and not slug and any(map(str.isalpha, plain))


def _trim(value: str) -> str:
    # What ends the sentence or closes the bracket around a value is no part of it.
    while value[-1:] in _CLOSES and not (_CLOSES[value[-1:]] and _CLOSES[value[-1:]] in value):
        value = value[:-1]
    return value


def _find_by_name(text: str, lower: str) -> Iterator[_Secret]:
    hint = RE.names_secret.search(lower)
    done, pos = 0, max(0, hint.start() - _NAME_CHARS_MAX) if hint else len(text)
    while match := RE.named.search(lower, pos):
        start, pos = match.span()
        head, sign = text[max(done, start - 40) : start], match["sign"] or ""
        if not sign and "-" not in head:
            continue  # only after a flag does a space mean "is"
        begin = start - len(head) + len(head.rstrip(_NAME_CHARS))
        if begin and text[begin - 1] == "\\" and text[begin] in "nrt" and begin < start:
            begin += 1  # the letter of an escaped line end
        name = text[begin : match.start("op")]
        # under any other sign `pass` counts tests, unless a machine made what follows
        password = name in ("pass", "PASS") and (
            sign == "=" or _looks_random(text[pos : pos + 40].strip("'\" ").partition(" ")[0])
        )
        kind = "password" if password else _kind(name) if sign or name.startswith("-") else ""
        if not kind or sign == ":" == text[begin - 1 : begin] or text.endswith(_OPEN, 0, begin):
            continue  # arn:…:secret:… is a path, and our own placeholders name what they replaced
        line = RE.line_end.split(text[max(0, begin - 200) : begin])[-1]
        op = text[match.start("op") : pos]
        if quoted := RE.quoted.match(text, pos):
            first, last = quoted.span("v" if quoted["q"] else "ev")
            literal = _quoted_literal(kind, line, quoted, bool(match["close"]))
        else:
            shell = name.startswith("-") or (op == "=" and name.isupper())
            bare = (RE.shell if shell else RE.bare).match(text, pos)
            if bare is None or sign[:2] in ("==", "!=", "=>"):
                continue
            first, last = bare.span()
            literal = last - first >= _LONGEST_WORD
            if not literal and (value := _trim(bare.group())):
                last = first + len(value)
                literal = _bare_literal(kind, name, op, value, line, text[last : last + 40])
        if literal and not _holds_place(kind, name, text[first:last]):
            if not quoted:
                more = RE.unbroken if last - first >= _LONGEST_WORD else RE.after_bracket
                last = rest.end() if (rest := more.match(text, last)) else last
            yield first, last, kind
            done = pos = last


@cache
def _marks() -> re.Pattern[str]:
    """Whatever a secret that carries a mark of its maker may be known by, in small letters."""
    return find_any(
        sorted({word.lower() for form in SECRET_FORMS.all for word in form.row["triggers"]})
    )


@cache
def _suspects() -> re.Pattern[str]:
    """These, and the names of secrets: both at the price of one."""
    return re.compile(f"{_marks().pattern}|{RE.names_secret.pattern}")


@cache
def _key_starts() -> frozenset[str]:
    """The first letters of every key that is known by its beginning."""
    triggers = (trigger for form in KEYS.all for trigger in form.row["triggers"])
    return frozenset(trigger[:3] for trigger in triggers if len(trigger) > 2)


# how the beginning of a terminal's colour is written
_COLOURS: Final = ("\x1b[", "u001b[", "x1b[", "033[", "\\e[")


def is_read_as_written(sign: str) -> bool:
    """Whether a sign, wherever it stands, is no other way to write something, and can be seen. Marks
    that join the letter before them, and letters without capitals, are not looked into.
    """
    seen = unicodedata.category(sign)[0] in "NPS" or unicodedata.category(sign) in ("Lu", "Ll")
    return seen and unicodedata.is_normalized("NFKC", sign)


_reads_as_written = Remembered(is_read_as_written).__getitem__


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its secrets, and the sorted labels of what was replaced.

    The same object comes back if there was nothing: a caller may compare by identity.
    """
    redacted, labels = _redact(text)
    # a cut that is marked by one sign or by three is the same to every rule
    shown = text.replace("\u2026", "...")
    coloured = ("\x1b" in text or "\\" in text) and any(mark in text for mark in _COLOURS)
    if coloured or not (shown.isascii() or all(map(_reads_as_written, set(beyond_ascii(shown))))):
        # Colours and what nobody sees may stand between a name and its value, and other signs for
        # the same letters. Where such a text has more secrets, it is kept as one reads it.
        plain = RE.unseen.sub("", normalize("NFKC", shown))
        if plain != shown:
            again, more = _redact(plain)
            if more and len(RE.ours.findall(again)) > len(RE.ours.findall(redacted)):
                return again, more
    return redacted, labels


def _redact(text: str) -> tuple[str, tuple[str, ...]]:
    labels: set[str] = set()
    # a replacement may uncover another; as a rule the second round finds nothing
    for _ in range(4):
        before, lower, least = text, text.lower(), tables.KEY_CHARS_MIN
        # Most texts have no long word that begins as a key does, and nothing that is suspicious: both
        # cost less to know than which secrets it could be.
        long = "\n" + "\n".join({word for word in text.split() if len(word) >= least})
        starts = RE.word_start.findall(long) + RE.escaped_start.findall(long)
        if not _key_starts().isdisjoint(starts) or RE.key_inside.search(long):
            for form in KEYS.possible(long):
                text = _hide(text, _find_by_mark(form, text), labels)
        suspect = _suspects().search(lower) is not None
        if suspect and _marks().search(lower):
            for form in SECRET_FORMS.possible(text):
                text = _hide(text, _find_by_mark(form, text), labels)
        if text is not before:
            lower, suspect = text.lower(), True
        named = suspect and RE.names_secret.search(lower)
        if named or (not text.isascii() and RE.foreign.search(lower)):
            for form in NAMED.possible(text):
                text = _hide(text, _find_by_mark(form, text), labels)
            text = _hide(text, _find_by_name(text, in_small_letters(text)), labels)
        if text is before:
            break
    return text, tuple(sorted(labels))


def _hide(text: str, secrets: Iterable[_Secret], labels: set[str]) -> str:
    pieces: list[str] = []
    done = 0
    for first, last, label in secrets:
        pieces += (text[done:first], f"{_OPEN}{label}]")
        labels.add(label)
        done = last
    return "".join((*pieces, text[done:])) if pieces else text


def redact_json(value: object, key: str = "") -> tuple[object, frozenset[str]]:
    """A JSON value without its secrets: those in its texts and keys, and any text under a key that
    names one.

    `key` is the name the value stands under; a list passes it on to its items. What holds no secret
    comes back as the same object, so that the usual case copies nothing.
    """
    if isinstance(value, str):
        text, labels = redact(value)
        kind = _kind(key)
        if not kind or RE.ours.fullmatch(text) or _holds_place(kind, key, value):
            return text, frozenset(labels)
        return f"{_OPEN}{kind}]", frozenset((kind,))
    labels_found: set[str] = set()
    if isinstance(value, list | tuple):
        cleaned = [redact_json(item, key) for item in value]
        labels_found.update(*(labels for _, labels in cleaned))
        items = [item for item, _ in cleaned]
        return (
            items if isinstance(value, list) else tuple(items)
        ) if labels_found else value, frozenset(labels_found)
    if isinstance(value, dict):
        pairs: dict[object, object] = {}
        for name, item in value.items():
            secret = isinstance(name, str) and _holds_secret(name)
            clean_name, in_name = redact(name) if secret else (name, ())
            while clean_name in pairs:  # two keys that were secrets must not become one
                clean_name = f"{clean_name} {len(pairs)}"
            below = name if isinstance(name, str) and (_kind(name) or not _kind(key)) else key
            pairs[clean_name], in_value = redact_json(item, below)
            labels_found.update(in_name, in_value)
        return (pairs if labels_found else value), frozenset(labels_found)
    if isinstance(value, int | float) and not isinstance(value, bool) and len(str(value)) >= 4:
        kind = _kind(key)
        if kind and kind != "token":  # a token's number is where a model looks it up
            return f"{_OPEN}{kind}]", frozenset((kind,))
    return value, frozenset()


# what these may hold is listed, and no secret; the envelope is looked at apart
_FIXED: Final = frozenset({"id", "kind", "outcome", "fact_type", "recalled", "metadata"})


def without_secrets(record: R) -> R:
    """The same record where there is nothing to hide; else one whose secrets are placeholders, and
    that names their labels.
    """
    # The envelope by the names of its fields: every record has one, and most of it is empty or as the
    # last one had it.
    metadata = record.metadata
    moment, validation = metadata.context, metadata.validation
    texts = [metadata.source.id, *metadata.tags]
    for file in moment.related_files:
        texts += (file.path, file.hash)
    if validation.verification_id or validation.failure_hash:
        texts += (validation.verification_id or "", validation.failure_hash or "")
    suspicious = (
        _collect(record, texts)
        or _holds_secret(metadata.source.author)
        or _holds_secret(moment.git_commit)
        or _holds_secret(moment.git_branch)
    )
    size = sum(map(len, texts))
    if size > limits.RECORD_BYTES_MAX:
        raise InvalidInputError.one(
            "record", f"{size} characters", f"at most {limits.RECORD_BYTES_MAX} bytes"
        )
    # Short ones are looked at together, which costs less; long ones alone, so that what one has to be
    # searched for does not cost the others. NUL is in no field: whatever matches across it is looked
    # at again field by field.
    alone: list[str] = []
    if size >= _LONG_TEXT_CHARS:
        alone = [text for text in texts if len(text) >= _LONG_TEXT_CHARS]
        texts = [text for text in texts if len(text) < _LONG_TEXT_CHARS]
    together = [
        "\n\0\n".join(texts[first : first + _SHORT_TOGETHER])
        for first in range(0, len(texts), _SHORT_TOGETHER)
    ]
    if not suspicious and not any(redact(text)[1] for text in (*together, *alone)):
        return record
    data = record.model_dump(mode="json", exclude_none=True)
    kept = {name: data.pop(name) for name in ("id", "kind", "redacted", "recalled") if name in data}
    project = data["metadata"].pop("project_id")
    if isinstance(record, Experience) and record.summary == safe_summary(
        record.content[:SUMMARY_FROM_CONTENT_CHARS]
    ):
        # it may hold the beginning of the secret: made anew from the cleaned content
        del data["summary"]
    cleaned, labels = redact_json(data)
    if not labels:
        return record
    assert isinstance(cleaned, dict)  # noqa: S101  # for type checkers: an object stays an object
    cleaned["metadata"] = cleaned["metadata"] | {"project_id": project}
    redacted = sorted({*labels, *(record.redacted or ())})
    return type(record).model_validate({**cleaned, **kept, "redacted": redacted})


_LONG_TEXT_CHARS: Final = 500
_SHORT_TOGETHER: Final = 200  # nothing longer is searched in one go than one text may be


def _collect(value: Any, texts: list[str]) -> bool:
    """Gathers every text in a value; whether a key of a free-form object in it names a secret."""
    suspicious, inside = False, value
    if isinstance(value, BaseModel):
        suspicious = bool(value.__pydantic_extra__) and _collect(value.__pydantic_extra__, texts)
        inside = [item for name, item in value.__dict__.items() if item and name not in _FIXED]
    elif isinstance(value, dict):
        suspicious = any(map(_names_or_holds_secret, value))
        inside = value.values()
    elif not isinstance(value, list):
        return False
    for item in inside:
        if isinstance(item, str):
            texts.append(item)
        elif type(item) not in _NO_TEXT:
            suspicious |= _collect(item, texts)
    return suspicious


# What holds no text, or, as tuples, none that somebody wrote.
_NO_TEXT: Final = frozenset[type]({int, float, bool, tuple, datetime})


def is_short(name: str, _: bool) -> bool:
    """Worth remembering: names come again, texts do not."""
    return len(name) <= limits.NAME_CHARS_MAX


_holds_secret = Remembered(lambda name: bool(redact(name)[1]), is_short).__getitem__
_names_or_holds_secret = Remembered(
    lambda key: names_secret(key) or _holds_secret(key), is_short
).__getitem__


def clean_event(event: Event) -> Event:
    """An event without secrets in what somebody wrote into it."""
    texts = {"by": event.by, "reason": event.reason, "verification_id": event.verification_id}
    clean = {name: redact(text)[0] for name, text in texts.items() if text}
    return (
        event.copy_with(**clean) if any(clean[name] is not texts[name] for name in clean) else event
    )
