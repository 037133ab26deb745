"""A rule that somebody laid down ("always use uv, never pip"): what it names and wants or does not
want, whether a command, a file or a task is what it speaks of, and what takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon.search.likeness import Worth, find_terms
from hardwon.tell.trades import are_alike, is_program, is_task_of, says_what_to_do
from hardwon.text.lines import Command, read_line
from hardwon.text.programs import looks, plain_words
from hardwon.text.terms import LANGUAGES, guess_language, stop_words

_TOKEN: Final = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]{1,80})\"|([^\s,;:()\[\]\"“”„«»\uff01。\uff0c、\uff1b\uff1a]+)|([,;:()。\uff0c、\uff1b])"
)
_CODE: Final = re.compile(r"\d{3,}|^-{1,2}\w|[_/*=@\\]|\w\.\w|[a-z][A-Z]|^\.\w")
_UNWANTING: Final = frozenset(
    """
    not never no don't dont doesn't mustn't avoid stop neither nor isn't aren't can't cannot instead rather over
    nicht nie niemals kein keine keinen statt anstatt pas jamais lieu nunca jamás lugar vez não mai invece niet nooit
    geen plaats не никогда вместо nigdy nie zamiast
    """.split()
)
# "Never do this without that": that is wanted.
_TURNING: Final = frozenset("without unless ohne sans sin sem senza zonder без bez".split())
# What stands behind one of these is wanted again: "instead of this use that".
_WANTING: Final = frozenset(
    "use but only prefer sondern sino mais ma maar nutze verwende utilise usa gebruik".split()
)
# Words that say what kind of a sentence it is, or that go with any action.
_ANY_ACTION: Final = frozenset(
    """
    always never use run make do get set put keep take from now future important please must need avoid again just
    remember rule note only instead ever any more longer project repo here thing way time first work call
    immer nie niemals stets toujours jamais siempre nunca sempre mai altijd nooit ab jetzt nutze benutze verwende
    utilise usa use gebruik bitte désormais ahora agora nu voortaan
    """.split()
)
_EVERYDAY: Final = frozenset(
    "make go just task find test time cut sort install node watch which type kill less more at file split join open".split()
)
_NAMES_MAX: Final = 40
# A command or a task is what a rule speaks of where it has this much of what the rule says.
_SHARE_FROM: Final = 0.5
_BESIDE_PROGRAMS: Final = 0.7
# Two rules that have so many of their plain words in common say the same of what they name.
_SAME_FRAME: Final = 0.6


class Name(NamedTuple):
    """Something that a rule names: a program with what it is asked, or any other name that is no
    plain word; and whether the rule wants it.
    """

    words: tuple[str, ...]
    wanted: bool
    is_program: bool = False


@dataclass(frozen=True)
class Rule:
    """What somebody laid down. `names` are what it names, in order; `terms` are its plain words."""

    text: str
    names: tuple[Name, ...]
    wanted: frozenset[str]
    unwanted: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        """Its plain words, whether it wants them or not."""
        return self.wanted | self.unwanted

    @property
    def forbids(self) -> bool:
        """Whether there is something that it does not want."""
        return bool(self.unwanted) or not all(name.wanted for name in self.names)

    @property
    def names_programs(self) -> bool:
        """Whether a program is among what it names."""
        return any(name.is_program for name in self.names)


@dataclass(frozen=True)
class _Token:
    text: str
    wanted: bool
    ends: bool
    quoted: bool = False


@lru_cache(maxsize=512)
def read_rule(text: str) -> Rule:
    """What a rule names, wants and does not want."""
    tokens = _read_tokens(text)
    stops = _stop_words(text)
    names: list[Name] = []
    plain: dict[bool, set[str]] = {True: set(), False: set()}
    at = 0
    while at < len(tokens):
        token = tokens[at]
        name, at = _read_name(tokens, at, stops)
        if name:
            names.append(name)
        elif token.text.lower() not in stops:
            plain[token.wanted] |= find_terms(token.text)
    named = {term for name in names for term in find_terms(" ".join(name.words))}
    return Rule(
        text,
        tuple(names[:_NAMES_MAX]),
        frozenset(plain[True] - named - plain[False]),
        frozenset(plain[False] - named),
    )


def _stop_words(text: str) -> frozenset[str]:
    language = guess_language(text.lower().split())
    return stop_words(language) | stop_words(LANGUAGES[0]) | _ANY_ACTION | _UNWANTING | _TURNING


def _read_tokens(text: str) -> list[_Token]:
    """The words of a rule, each with whether it is wanted, and whether a clause ends behind it."""
    tokens: list[_Token] = []
    wanted, unwanted_words = True, 0
    for match in _TOKEN.finditer(text):
        if quoted := match[1] or match[2]:
            words = quoted.split()
            tokens += [_Token(word, wanted, word is words[-1], quoted=True) for word in words]
            unwanted_words += 1
            continue
        word = (match[3] or "").strip("'\u2019*")
        bare = word.rstrip(".!?")
        lower = bare.lower().replace("\u2019", "'")
        if lower in _UNWANTING:
            wanted, unwanted_words = False, 0
        elif lower in _TURNING:
            wanted = not wanted
        elif lower in _WANTING and unwanted_words:
            wanted = True
        elif lower not in _ANY_ACTION:
            unwanted_words += 1
        if bare:
            tokens.append(_Token(bare, wanted, ends=bare != word))
        if match[4] and tokens:
            tokens[-1] = replace(tokens[-1], ends=True)
        if match[4] or bare != word:
            wanted = True
    return tokens


def _read_name(
    tokens: Sequence[_Token], at: int, stops: Collection[str]
) -> tuple[Name | None, int]:
    """The name that begins at a place, None where none does; and where to read on."""
    first = tokens[at]
    end = at + 1
    is_known_program = is_program(first.text)
    if is_known_program:
        while not tokens[end - 1].ends and end < len(tokens):
            word = tokens[end].text
            if not (tokens[end].quoted and first.quoted) and (
                word.lower() in stops or not (_CODE.search(word) or says_what_to_do(word))
            ):
                break
            end += 1
        if end == at + 1 and first.text in _EVERYDAY and not first.quoted:
            return None, end
    elif not (first.quoted or _CODE.search(first.text)):
        return None, end
    elif first.quoted:
        while end < len(tokens) and tokens[end].quoted and not tokens[end - 1].ends:
            end += 1
    words = tuple(token.text for token in tokens[at:end])
    return Name(words, first.wanted, is_known_program or first.quoted), end


def is_about_action(rule: Rule, action: str, worth: Worth) -> bool:
    """Whether a rule speaks of what a command would do: it names it among what it does not want, or
    wants it, where it says nothing of what it does not want.
    """
    return any(_is_about_command(rule, command, worth) for command in read_line(action))


def concerns_action(rule: Rule, action: str, worth: Worth) -> bool:
    """Whether an action is of the sort that a rule speaks of, be it followed or broken by it."""
    return any(
        _list_names_in(rule, command) or _shares_words(rule, command, worth)
        for command in read_line(action)
    )


def _is_about_command(rule: Rule, command: Command, worth: Worth) -> bool:
    if named := _list_names_in(rule, command):
        if not all(name.wanted for name in named):
            return True
        # it does what the rule wants: but where it says how, and not only with what
        return not rule.forbids and any(
            len(name.words) > 1 or not name.is_program for name in named
        )
    return _uses_another(rule, command) or _shares_words(rule, command, worth)


def _uses_another(rule: Rule, command: Command) -> bool:
    """Whether a command uses another program for what a rule wants one for."""
    return not rule.forbids and any(
        name.is_program and len(name.words) == 1 and are_alike(name.words[0], command.program)
        for name in rule.names
        if not looks(command)
    )


def _list_names_in(rule: Rule, command: Command) -> list[Name]:
    """What a rule names of a command. Whoever only looks does not use a program yet."""
    is_look = looks(command)
    return [
        name
        for name in rule.names
        if _is_named(name, command) and not (is_look and name.is_program and len(name.words) == 1)
    ]


def _is_named(name: Name, command: Command) -> bool:
    if not name.is_program:
        return _holds_name(command.text, name.words[0])
    programs = {command.program, *(word.rpartition("/")[2] for word in command.started_by)}
    words = {*command.words, *(word.partition("=")[0] for word in command.words)}
    return name.words[0] in programs and words.issuperset(name.words[1:])


def _holds_name(text: str, name: str) -> bool:
    """Whether a text has a name as a word of its own, case and all; in a name * stands for anything."""
    if "*" in name:
        return any(fnmatchcase(word, name) for word in text.split())
    name = name.rstrip("/")
    return bool(name) and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def _shares_words(rule: Rule, command: Command, worth: Worth) -> bool:
    """Whether the plain words of a rule say what a command does; of one that names programs, other
    words than the program's name have to.
    """
    words = plain_words(command)[:2]
    if not rule.names_programs:
        words.append(command.program)
    return _share_terms(rule, find_terms(" ".join(words)) - _EVERYDAY, worth) >= _SHARE_FROM


def _share_terms(rule: Rule, terms: Set[str], worth: Worth) -> float:
    """How much of what a rule says in plain words stands among these terms, by what they are worth."""
    whole = sum(map(worth, rule.terms))
    return sum(map(worth, rule.terms & terms)) / whole if whole else 0.0


def is_about_file(rule: Rule, path: str, worth: Worth) -> bool:
    """Whether a rule speaks of a file, by its path or a part of it, by a pattern or in words."""
    parts = path.split("/")
    for name in rule.names:
        if name.is_program:
            continue
        word = name.words[0].strip("/")
        if any(fnmatchcase(part, word) for part in (path, *parts)) or f"/{word}/" in f"/{path}/":
            return True
    if rule.names:
        return False
    return _share_terms(rule, find_terms(path.replace("/", " ")), worth) >= _SHARE_FROM


def is_named_in(rule: Rule, task: str) -> bool:
    """Whether a task has a name that a rule has: of a program with what it is asked, that."""
    for name in rule.names:
        if not name.is_program:
            if _holds_name(task, name.words[0]):
                return True
        elif len(name.words) == 1:
            if name.words[0] in task.split():
                return True
        elif find_terms(" ".join(name.words[1:])) <= find_terms(task):
            return True
    return False


def asks_for_programs(rule: Rule, task: str) -> bool:
    """Whether a task asks for what one uses a program for that a rule names."""
    words = task.split()
    return any(
        name.is_program and len(name.words) == 1 and is_task_of(name.words[0], words)
        for name in rule.names
    )


def share_with_task(rule: Rule, task: str, worth: Worth) -> float:
    """How much of what a rule says in plain words a task says too; less, where the rule names programs
    and so says more than its plain words.
    """
    share = _share_terms(rule, find_terms(task), worth)
    return share * _BESIDE_PROGRAMS if rule.names_programs else share


def contradicts(later: Rule, earlier: Rule) -> bool:
    """Whether a later rule takes an earlier one back: it wants a name that the other does not want,
    or the other way round; or it says the same of another name, or the opposite in plain words.
    """
    wanted, unwanted = _split_names(later)
    before, before_unwanted = _split_names(earlier)
    if wanted & before_unwanted or unwanted & before:
        return True
    turned = (later.wanted & earlier.unwanted) | (later.unwanted & earlier.wanted)
    least = min(len(later.terms), len(earlier.terms))
    if least and 2 * len(turned) > least:
        return True
    shared, every = later.terms & earlier.terms, later.terms | earlier.terms
    says_the_same = len(shared) >= 2 and len(shared) >= _SAME_FRAME * len(every)
    return says_the_same and bool(wanted) and bool(before) and wanted.isdisjoint(before)


def _split_names(rule: Rule) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """The names that a rule wants, and those that it does not."""
    wanted = {name.words for name in rule.names if name.wanted}
    return wanted, {name.words for name in rule.names if not name.wanted}
