"""What a line that a shell runs tells by its looks: what commands it holds, whether its exit code
speaks for them, whether it only looks around. It need not be right about every line: one that is
not understood is taken for an ordinary command.

And how a command that was run is written as an observation: its first line says how it ended, the
rest is what it printed. What other tools answer is judged by its words. Of a run the exit code is
known, and it decides: a search that prints errors has worked, and a check that ends with 1 and
prints nothing has not.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import dropwhile
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.text import shell_tables as tables
from hardwon.text.failures import error_words, shows_error
from hardwon.text.tables import Patterns, WordLists

RE: Final = Patterns(tables.PATTERNS)
WORDS: Final = WordLists(tables.WORDS)


class CommandParts(NamedTuple):
    """The commands of a line, as words in which quoted text is a single `_`, and the operator after
    each (empty at the end).
    """

    commands: list[list[str]]
    operators: list[str]


def parts_of(line: str) -> CommandParts | None:
    """None where the line holds commands inside commands, and is left unread."""
    masked = RE.quoted.sub(_mask, _without_here_documents(line))
    if "(" in masked or "`" in masked:
        return None
    pieces = RE.operator.split(RE.redirected.sub(" ", masked))
    commands = [list(dropwhile(RE.assigned.match, piece.split())) for piece in pieces[::2]]
    both = [pair for pair in zip(commands, [*pieces[1::2], ""], strict=True) if pair[0]]
    operators = [operator for _, operator in both]
    if operators and operators[-1] in (";", "\n"):
        operators[-1] = ""
    return CommandParts([words for words, _ in both], operators)


def only_looks(line: str) -> bool:
    """Whether nothing is tried: it lists, prints, searches, or writes down a text. How that ends
    says nothing about the next time.
    """
    parts = parts_of(line)
    return parts is not None and all(map(_looks, parts.commands))


def changes_nothing(line: str) -> bool:
    """Whether a line only looks, and leaves no trace: what sets a variable or writes a file may be
    what makes the next command work.
    """
    parts = parts_of(line)
    if parts is None or RE.written.search(RE.quoted.sub("_", line)):
        return False
    return all(_looks(words) and not _sets(words) for words in parts.commands)


def hands_in(line: str) -> bool:
    """Whether a line only ends or stores work that was done before it, and tells nothing of that:
    `submit`, or a commit that is pushed.
    """
    line = line.strip()
    if not RE.hands_in.match(line):  # as most do not
        return False
    said = re.split(r"['\"`]|<<", line, maxsplit=1)[0]  # a message is any text
    return all(map(RE.hands_in.fullmatch, re.split(r"&&|[;\n]", said.rstrip("; "))))


def files_written(line: str) -> list[str]:
    """The files that a line writes by `>` or `tee`, as it names them (a quoted name is `_`); none
    where it writes none so. Other programs write what they like.
    """
    masked = RE.quoted.sub("_", _without_here_documents(line))
    return [into or teed for into, teed in RE.written_to.findall(masked)]


def runs_tests(command: Sequence[str]) -> bool:
    """Whether the command is one that runs tests."""
    return _is_asked_to(command, WORDS.testing, tables.TESTS)


def builds_or_lints(command: Sequence[str]) -> bool:
    """Whether the command is one that builds or lints, as far as its name says so."""
    return _is_asked_to(command, WORDS.linting, tables.CHECKS)


def ends_with_check(line: str) -> bool:
    """Whether the last thing that a line does is to run tests, to build or to lint; looks and commits
    after it aside.
    """
    parts = parts_of(line)
    for words in reversed(parts.commands if parts else ()):
        if not _looks(words) and not hands_in(" ".join(words)):
            return runs_tests(words) or builds_or_lints(words)
    return False


def _is_asked_to(
    command: Sequence[str], programs: frozenset[str], asked_for: Mapping[str, str]
) -> bool:
    """Whether a command starts one of these programs, or one that is asked for such a thing."""
    words = [word for word in command[: limits.RUN_WORDS_LOOKED_AT] if not RE.assigned.match(word)]
    while words:
        name, *rest = words
        name = name.replace("\\", "/").rpartition("/")[2]
        if RE.python.fullmatch(name) and ("-m" in rest or rest[:1] == ["manage.py"]):
            words = rest[rest.index("-m") + 1 :] if "-m" in rest else rest
        elif (runs := name in WORDS.launching_by_run and rest[:1] == ["run"]) or (
            name in WORDS.launching
        ):
            # the values of options, where they stand apart, are taken for words
            words = list(dropwhile(lambda word: word.startswith("-"), rest[1 if runs else 0 :]))
        else:
            targets = [word for word in rest if not word.startswith("-") and word != "run"]
            told = next((each for names, each in asked_for.items() if name in names.split()), "")
            return name in programs or any(
                re.split(r"[:.]", target, maxsplit=1)[0] in told.split()
                for target in targets[: limits.RUN_TARGETS_LOOKED_AT]
            )
    return False


@lru_cache(maxsize=1_024)  # agents do the same again and again
def only_tests(line: str) -> bool:
    """Whether a line does nothing but run tests, wherever that is."""
    if _words_of_tests().isdisjoint(re.findall(r"\w+", line)):  # as of most
        return False
    parts = parts_of(line)
    commands = [words for words in (parts.commands if parts else ()) if words[0] != "cd"]
    return bool(commands) and all(map(runs_tests, commands))


@cache
def _words_of_tests() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", " ".join((*WORDS.testing, *tables.TESTS.values()))))


def deletes_unasked(action: str, asked: str) -> bool:
    """Whether an action takes away what may not come back, where what was asked neither does so nor
    speaks of it.
    """
    return bool(RE.deletes.search(action)) and not (
        RE.deletes.search(asked) or RE.of_deleting.search(asked)
    )


def _sets(words: list[str]) -> bool:
    if words[0] == "git":
        return words[1:2] == ["config"] and len(words) > 3
    return words[0] in WORDS.setting and len(words) > 1


def exit_code_tells(line: str) -> bool:
    """Whether exit code 0 means that all of it worked. Of `make | tail` and `make; ls` it is that
    of the last command alone.
    """
    parts = parts_of(line)
    if parts is None:
        return True
    each = zip(parts.commands, parts.operators, strict=True)
    piped_safely = {"|", "|&"} if "pipefail" in line else set[str]()
    return all(
        operator in {"", "&&"} | piped_safely for words, operator in each if not _looks(words)
    )


def after_leading_cd(line: str) -> tuple[str, str]:
    """Of `cd FOLDER && REST` the folder and the rest; of any other line nothing and the line."""
    found = RE.leading_cd.fullmatch(line)
    if found is None:
        return "", line
    return found["single"] or found["double"] or found["bare"], found["rest"]


def _looks(words: list[str]) -> bool:
    name, *rest = words
    name = name.rpartition("/")[2]
    if name == "git":
        own = iter(rest)
        for word in own:
            if word in WORDS.git_with_value:
                next(own, None)
            elif not word.startswith("-"):
                return word in WORDS.looking_in_git
        return True
    if name == "sed":
        return not any(word.startswith(("-i", "--in-place")) for word in rest)
    if name == "command":
        return rest[:1] in (["-v"], ["-V"])
    return name in WORDS.looking and not (name == "find" and WORDS.doing & set(rest))


def _mask(quoted: re.Match[str]) -> str:
    text = quoted.group()
    if text == "\\\n":
        return " "
    return "`" if text[0] == '"' and RE.substitutes.search(text) else "_"


def _without_here_documents(line: str) -> str:
    if "<<" not in line:
        return line
    kept, ends = list[str](), deque[str]()
    for text in line.split("\n"):
        if ends:
            if text.strip() == ends[0]:
                ends.popleft()
            continue
        kept.append(text)
        ends.extend(found[2] for found in RE.heredoc.finditer(text))
    return "\n".join(kept)


# --- observations ---


def run_observation(exit_code: int, signal: str, seconds: float, output: str) -> str:
    """The observation. `signal` is the name of the one that killed the command, empty where it
    ended by itself.
    """
    ended = f"killed by {signal}" if signal else f"exit code {exit_code}"
    return f"{ended} after {seconds:.1f} s\n{output}".rstrip("\n")


def strip_ending(observation: str) -> str:
    """An observation without the line of ours that tells how a command ended and how long it took,
    which says nothing of why; all of it where there is none.
    """
    run = RE.first_line.match(observation)
    return observation[run.end() :] if run else observation


def failure_words(observation: str) -> str:
    """The words of an observation that say what failed; "" where it tells nothing but how the
    command ended.
    """
    return error_words(strip_ending(observation))


def reported_failure(observation: str) -> str:
    """The part of an observation that tells what failed; empty where nothing did."""
    run = RE.first_line.match(observation)
    if run is None:
        return observation if shows_error(observation) else ""
    if run["code"] and not int(run["code"]):
        return ""
    output = observation[run.end() :]
    # what was killed had its say on something else
    tells = shows_error(output) if run["signal"] else output.strip()
    return output if tells else run.group().rstrip("\n")
