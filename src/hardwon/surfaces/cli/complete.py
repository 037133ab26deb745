"""What a shell offers while somebody types a command.

A person waits for it after every tab, so nothing is built and hardly anything imported: `words.json`
has the commands and their options (docs/generate.py writes it, from the commands themselves), and a
memory is opened only where its own values are asked for. The shells' scripts are typer's, and so is
how they ask and want to be answered.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

# What was typed, whole, for every shell but bash.
_LINE: Final = "_TYPER_COMPLETE_ARGS"

# A command, an option or an argument of which nothing is known.
_UNKNOWN: Final[Mapping[str, Any]] = {
    "names": [""],
    "values": None,
    "commands": {},
    "options": [],
    "arguments": [],
}

# What the memory has for an option of that name, and under which name records have it.
KEPT: Final[Mapping[str, Any]] = {
    "record_id": "id",
    "task": "task_id",
    **{name: name for name in ("task_id", "tool", "author", "issue_type", "model", "project")},
}


def main(shell: str) -> bool:
    """Whether it knows how to answer this shell."""
    if shell not in ("bash", "zsh", "fish"):
        return False
    if shell == "bash":
        words, place = _split(os.environ["COMP_WORDS"]), int(os.environ["COMP_CWORD"])
        start = "".join(words[place : place + 1])
        del words[place:]
    else:
        line = os.environ.get(_LINE, "")
        words = _split(line)
        start = words.pop() if words[1:] and not line.endswith(" ") else ""
    with open(f"{__file__.removesuffix('complete.py')}words.json", encoding="utf-8") as file:  # noqa: PTH123  # pathlib takes longer to load
        found = list(offer(json.load(file), words[1:], start))
    if shell == "zsh":
        items = "\n".join(":".join(map(_quote, filter(None, each))) for each in found)
        print(f"_arguments '*: :(({items}))'" if found else "_files")
    elif os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        sys.exit(not found)
    else:
        print(*("\t".join(filter(None, each[: 1 + (shell == "fish")])) for each in found), sep="\n")
    return True


def _split(line: str) -> list[str]:
    """The words of a line in which a quote may still be open."""
    parts = shlex.shlex(line, posix=True)
    parts.whitespace_split, parts.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(parts)
    except ValueError:
        words.append(parts.token)
    return words


def _quote(text: str) -> str:
    """As it may stand in double quotes, inside of single ones, between colons."""
    for sign, written in {'"': '""', "'": "''", "$": r"\$", "`": r"\`", ":": r"\\:"}.items():
        text = text.replace(sign, written)
    return f'"{text}"'


class _Typed:
    """What was typed so far: the command, the options that were given, how many arguments, and the
    option that waits for its value.
    """

    def __init__(self, tree: Any) -> None:
        self._tree = self.command = tree
        self.option: Any = None
        self.given: dict[str, str] = {}
        self.arguments = 0

    def add(self, word: str) -> None:
        if self.option:
            self.given[self.option["names"][0]] = word
            self.option = None
        elif word[0] == "-" and "--" not in self.given:
            name, is_whole, value = word.partition("=")
            known = (*self.command["options"], *self._tree["options"])
            option = next((each for each in known if name in each["names"]), _UNKNOWN)
            self.given[option["names"][0] or name] = value
            self.option = option if option["values"] is not None and not is_whole else None
        elif self.command["commands"]:
            for each in self.command.get("aliases", {}).get(word, word).split():
                self.command = self.command["commands"].get(each, _UNKNOWN)
        else:
            self.arguments += 1


def offer(tree: Any, words: Iterable[str], start: str) -> Iterator[tuple[str, str]]:
    """What may stand after these words and begins so, and what it is for."""
    name, is_value, value = start.partition("=")
    if is_value and start[0] in "-=":  # bash has the sign as a word of its own
        words, start = [*words, name], value
    typed = _Typed(tree)
    for word in words:
        if word not in ("=", ""):
            typed.add(word)
    command, given = typed.command, typed.given
    found: Iterable[tuple[str, str]]
    if typed.option is None and start[:1] == "-" and "--" not in given:
        free = [
            each for each in command["options"] if each["again"] or each["names"][0] not in given
        ]
        found = ((name, each["help"]) for each in free for name in each["names"])
    elif typed.option is None and command["commands"]:
        found = ((name, each["help"]) for name, each in command["commands"].items())
    else:
        last = [each for each in command["arguments"][-1:] if each["again"]]
        next_one = [typed.option] if typed.option else command["arguments"][typed.arguments :]
        takes = (*next_one, *last, _UNKNOWN)[0]
        values = find_values(takes["values"], given.get("--memory"), given.get("--project"), start)
        found = ((value, "") for value in values)
    return (each for each in found if each[0].startswith(start))


def find_values(
    source: str | Sequence[str] | None, memory: str | None, project: str | None, start: str
) -> list[str]:
    """What begins so, of the values that are allowed, or of those that the memory has under a name
    of `KEPT`.
    """
    found: Iterable[str] = source or ()
    if isinstance(source, str):
        found = ()
        from hardwon.errors import HardwonError
        from hardwon.memory import Memory
        from hardwon.memory.places import Settings, memory_exists

        with suppress(HardwonError, OSError):
            settings = Settings.read({"memory": memory or None, "project": project or None})
            if memory_exists(settings.memory.value):
                place = settings.memory.value, settings.project.value
                with Memory(*place, upgrade=False) as opened:
                    care, name = opened.care, KEPT[source]
                    found = care.projects() if name == "project" else care.values(name, start)
    return [each for each in found if each.startswith(start)]
