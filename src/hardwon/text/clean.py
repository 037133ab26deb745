"""Text that was recalled stays data. Whatever a record says, it stays inside the lines that we open
and close around it, and reads as what it is: one item of a list that somebody else wrote.

Three things can go wrong. A line break forges a line of ours: so none survives. A record repeats an
earlier context, or guesses at the next, to make the reader believe that the data has ended: so the
fence carries a mark that nobody could know when the record was written, and everything that looks
like a fence is taken out. And a tokenizer reads the special tokens of a chat template wherever they
stand in a text: so they are broken by a blank. What begins a line in Markdown ("#", ">", "```") is
escaped even behind our own prefix, because a list item may hold a heading or open a code block. A
role such as "system:" is left alone: it only means something at the beginning of a line, and no
line begins with recalled text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from hardwon import limits
from hardwon.text.tables import Patterns, list_entries, read_parts
from hardwon.text.terms import Remembered

# An action that is shown so that it can be taken again: a screen of code, and a tenth of what an agent
# reads of a page.
ACTION_SHOWN_CHARS_MAX: Final = 1_600

# Combining marks in a row on one letter. Vietnamese needs two, pointed Hebrew three; hundreds hide
# the text around them.
ACCENTS_MAX: Final = 4

# The last character of a line that was longer.
CUT: Final = "…"


# What stands where a record held a fence line of ours.
EARLIER_CONTEXT: Final = "[earlier context]"


def clean_line(text: str, limit: int, *, begins_line: bool = True) -> str:
    """One line of at most `limit` characters, in which nothing is hidden and nothing acts: no line
    breaks, no control, bidirectional, invisible or private characters, no special tokens of chat
    templates, no Markdown block at its beginning, no fence line of ours. Cleaning it again changes
    nothing.

    What stands alone, as a value of JSON, `begins_line` of no Markdown, and keeps its `#`.

    Joiners go as well: without them a composed emoji falls apart and a few scripts look less fine,
    with them a word can be made that reads the same and is found by no filter.
    """
    text = _harmless(" ".join(_visible_part(text).split()))
    if begins_line and (block := RE.markdown_block.match(text)):
        text = f"{text[: block.start(1)]}\\{text[block.start(1) :]}"
    return _cut(text, limit)


# Before every line of code in a context: so far inside an item of a list, nothing begins a block of
# Markdown.
CODE_INDENT: Final = " " * 6


def clean_code(text: str, limit: int) -> list[str]:
    """The lines of a program, each indented by CODE_INDENT and its own blanks, clean like a line
    but otherwise word for word. Empty ones are dropped, and whatever is over `limit` characters in
    all.
    """
    return list(filter(None, map(clean_code_line, _cut(text, limit).splitlines())))


def clean_action(action: str) -> str:
    """What was done, clean: one line as a line, a program as its lines."""
    lines = action.strip().splitlines()
    if len(lines) <= 1:
        return clean_line(action, ACTION_SHOWN_CHARS_MAX)
    return "\n".join(clean_code(action.strip("\n"), ACTION_SHOWN_CHARS_MAX))


def clean_code_line(line: str) -> str:
    """A line of a program, clean and indented; "" for an empty one."""
    text = _cut(_clean_part(line), limits.CONTEXT_LINE_CHARS_MAX - len(CODE_INDENT))
    return CODE_INDENT + text if text.strip() else ""


def clean_text(text: str) -> str:
    """A text of any length with its lines and blanks, clean like a line otherwise: for JSON, which
    keeps it apart from what stands around it.
    """
    return "\n".join(map(_clean_part, text.split("\n")))


def _clean_part(line: str) -> str:
    return _harmless(_visible_part(line.expandtabs(4)).rstrip())


def _visible_part(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = RE.escape_sequence.sub("", text).translate(_visible)
    return RE.accents.sub(lambda run: run.group()[:ACCENTS_MAX], text)


def _harmless(text: str) -> str:
    fences = [fence.span() for fence in RE.fence.finditer(_plainly(text))]
    text = _replace(text, fences, EARLIER_CONTEXT)
    ends = {special.end() for special in RE.special.finditer(_plainly(text))}
    ends |= {token.end() for token in RE.in_capitals.finditer(text)}
    return _replace(text, [(end, end) for end in sorted(ends)], " ")


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + CUT if limit > 0 else ""


def shorten(text: str, limit: int) -> str:
    """The beginning of a text of one line, of whole words where that leaves most of it, and a sign
    that it was cut.
    """
    if len(text) <= limit:
        return text
    kept = text[: max(limit - 1, 0)]
    whole = kept.rpartition(" ")[0] if not text[len(kept)].isspace() else kept
    return (whole if len(whole) > limit // 2 else kept).rstrip(" ,;:") + CUT


# What our fence lines begin with (`brief.fence`).
FENCE_NAME: Final = "hardwon-memory"

# ---- what is seen

# Letters and accents by their class that nobody sees: fillers, and the variation selectors in which
# whole messages hide.
_INVISIBLE: Final = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0}.union(
        range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)
    )
)


def _show(code: int) -> str | None:
    """For `translate`: blanks of all kinds as a space, what is neither seen nor a blank as nothing.
    Python's `isprintable` is false for control, format, surrogate, private and unassigned
    characters and for all separators but the space.
    """
    character = chr(code)
    if character.isspace() or code == _BRAILLE_BLANK:
        return " "
    return character if character.isprintable() and code not in _INVISIBLE else None


_BRAILLE_BLANK: Final = 0x2800
_visible = Remembered(_show)

# ---- what is looked for, however it is written

# Each letter or sign with those that look like it.
_ALIKE: Final = {
    other: group[0]
    for group in (
        "aаαɑ bьƅ cсϲ dԁɗ eеҽ℮ fƒſ hһհ iіıι mмⅿ nոпη oоοօ rгᴦ sѕꜱ wԝшω yуүγ "  # noqa: RUF001
        "<‹〈⟨≺❮ >›〉⟩≻❯ /∕⁄⧸ -‐‒–—− |│∣ǀ"  # noqa: RUF001
    ).split()
    for other in group[1:]
}
_SKIPPED: Final = "\u0300"


def _look(code: int) -> str:
    """For `translate`: one character for each, so that places agree. Look-alikes as what they look
    like, everything that is not seen, or only sits on another, as one sign that the patterns skip.
    """
    character = chr(code)
    if unicodedata.combining(character) or not (character.isspace() or _visible[code]):
        return _SKIPPED
    plain = unicodedata.normalize("NFKC", character).casefold()
    if len(plain) != 1:
        plain = unicodedata.normalize("NFKD", character)[:1].casefold()[:1] or character
    return _ALIKE.get(plain, plain)


_plain = Remembered(_look)


def _write_loosely(word: str) -> str:
    return "".join(f"{re.escape(letter)}{_SKIPPED}*" for letter in word)


RE: Final = Patterns(
    {
        **dict(list_entries(read_parts(__name__, "clean.txt")["patterns"])),
        "accents": [
            "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff",
            f"\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{ACCENTS_MAX + 1},}}",
        ],
        "fence": rf"(?:<|&lt;)[ \t{_SKIPPED}]{{0,9}}/?[ \t{_SKIPPED}]{{0,9}}"
        rf"{_write_loosely('hardwon')}[ \t_.-]?{_SKIPPED}{{0,9}}{_write_loosely('memory')}"
        r"(?:[^<>\n]{0,200}?(?:>|&gt;)|[ \t0-9a-f]*)",
    }
)


def _plainly(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_plain)


def _replace(text: str, spans: list[tuple[int, int]], new: str) -> str:
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    return new.join(text[start:end] for start, end in zip(starts, ends, strict=True))


def hide_mark(text: str, mark: str) -> str:
    """No record can hold the mark of a context that is only now made, unless the caller uses one
    twice.
    """
    plain = _plainly(text)
    if mark not in plain.replace(_SKIPPED, ""):
        return text
    return _replace(text, [match.span() for match in re.finditer(_write_loosely(mark), plain)], CUT)
