"""What a command of a shell line does, by its program and its words: whether it only looks, checks
something, hands work in, or changes things, and which things.

What is not known here is taken for a change: it may be what made the next command work.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hardwon.text.lines import Command, read_line

# Programs that only show something, whatever they are asked.
_LOOKING: Final = frozenset(
    """
    cd pushd popd pwd ls ll dir tree cat bat head tail less more wc nl tac file stat du df realpath
    readlink basename dirname echo printf true false : test [ [[ sleep wait date whoami id hostname
    uname printenv env which whereis type man help history jobs ps top free uptime lsof grep egrep
    fgrep rg ag ack find fd locate sort uniq cut tr awk sed column jq yq diff cmp comm xxd hexdump od
    strings md5sum sha1sum sha256sum seq clear ping ss netstat pgrep dig nslookup curl hardwon
    """.split()
)
# Options with which some of them do something after all.
_DOING: Final = {
    "sed": re.compile(r"-[a-zA-Z]*i|--in-place"),
    "find": re.compile(r"-(?:exec|execdir|ok|delete)\Z"),
    "fd": re.compile(r"-x\Z|-X\Z|--exec"),
    "curl": re.compile(r"-[XdFoOT]|--(?:data|request|form|output|upload|remote-name|json)"),
    "hardwon": re.compile(r"(?:remember|record|run|forget|load|adopt|merge|import|undo|verify)\Z"),
}
# What a program only shows where this is its first word: `git log`, `docker ps`, `pip list`.
_SHOWING: Final = frozenset(
    """
    status log logs show list ls get describe info version help ps view search diff cat inspect
    history whoami blame reflog shortlog grep ls-files ls-remote ls-tree rev-parse rev-list remote
    freeze tree outdated why top events images explain query check-ignore merge-base cat-file
    for-each-ref count-objects configuration
    """.split()
)
# The same where it is an option.
_SHOWING_OPTIONS: Final = frozenset("--version --help --dry-run --list --collect-only".split())
# Programs whose first word names what is to be done, as somebody else wrote it down.
_RUNNERS: Final = frozenset(
    "make gmake just task ninja rake npm yarn pnpm bun deno gradle gradlew mvn mvnw cargo go".split()
)
# Programs that only tell whether something holds.
_TESTING: Final = frozenset(
    """
    pytest py.test tox nox ctest jest vitest mocha ava rspec phpunit pest nose2 nosetests bats
    unittest gotestsum cypress playwright ruff flake8 pylint mypy pyright eslint tsc prettier
    shellcheck clippy golangci-lint rubocop black isort
    """.split()
)
_TEST_TARGETS: Final = frozenset(
    "test tests check lint verify t typecheck vet clippy nextest".split()
)
_REPAIRING: Final = re.compile(r"--fix\b|--write\b|--update|-u\Z")
_HANDING_IN: Final = frozenset("add commit push".split())
_SCRIPT: Final = re.compile(r"(?:python|pypy|node|ruby|perl|bash|sh|php|deno|bun|Rscript)[\d.]*\Z")
# Of a piece of code on the command line: that it writes something.
_WRITING_CODE: Final = re.compile(
    r"""open\([^(),]{0,200}, *['"][wax]|\.(?:write|save|dump|to_\w+|mkdir|unlink|commit)\(|writeFile|remove\(|rmtree"""
)
_OVERWRITING: Final = frozenset("cp mv ln install".split())
_IN_FILES: Final = frozenset("sed touch mkdir chmod chown tee patch truncate dos2unix".split())
_REMOVING: Final = frozenset("rm rmdir unlink shred".split())
# What takes away what may not come back, or ends what others may need, as a program or asked of one.
_DESTROYING_WORDS: Final = _REMOVING | frozenset(
    """
    kill pkill killall fuser mkfs dd shutdown reboot drop prune rmi delete -delete destroy purge
    uninstall remove flushdb flushall truncate down reset
    """.split()
)
_FORCING: Final = frozenset("--hard --force -f -D".split())
# The same in a script that is written, in SQL and in code.
_DELETING: Final = re.compile(
    r"(?:\A|[\s;|&(`\\])(?:rm|rmdir|unlink|shred|mkfs[.\w]*)\s|\bgit clean\b"
    r"|\b(?i:drop (?:table|database|schema|view|index)|delete from|truncate table)\b"
    r"|\b(?:shutil\.rmtree|os\.(?:remove|unlink|rmdir))\("
)
_ABOUT_DELETING: Final = re.compile(
    r"(?i)\b(?:remov|delet|eras|drop|clear|clean|purg|wip(?:e|ing)|empt(?:y|ied)|prun|uninstall|discard"
    r"|overwrit|get rid|stale|locked|rm(?:dir)?\b|exists?\b|(?:no|disk) space|disk full)|\.lock\b"
)
# More programs by which a line is known to be one of a shell.
_USUAL: Final = frozenset(
    """
    git pip pip3 apt apt-get python python3 node docker docker-compose podman uv brew conda systemctl
    service kubectl supervisorctl kill pkill fuser
    """.split()
)


class Touch(NamedTuple):
    """What a command does to a file. `whole`: nothing of what was there before is left."""

    name: str
    removes: bool = False
    whole: bool = False


def plain_words(command: Command) -> list[str]:
    """The words after the program that are no options."""
    return [word for word in command.words[1:] if not word.startswith("-")]


def is_known(program: str) -> bool:
    """Whether a word is the name of a program that is known here."""
    return any(program in names for names in (_LOOKING, _RUNNERS, _TESTING, _USUAL))


def asks_program(word: str) -> bool:
    """Whether a word behind a program's name is known to say what it is to do."""
    known = (_SHOWING, _TEST_TARGETS, _HANDING_IN, _DESTROYING_WORDS)
    return any(word in words for words in known)


def runs_scripts(program: str) -> bool:
    """Whether a program interprets code that it is given."""
    return _SCRIPT.match(program) is not None


def only_shows(program: str) -> bool:
    """Whether a program shows something, or what it is fed with, whatever it is asked."""
    return program in _LOOKING


def looks(command: Command) -> bool:
    """Whether a command leaves nothing behind, however it ends."""
    if command.writes or not command.words:
        return False
    program, options = command.program, command.words[1:]
    if _SHOWING_OPTIONS.intersection(options) or options in (("-h",), ("-V",), ("-v",)):
        return True
    if program in _LOOKING:
        doing = _DOING.get(program)
        return doing is None or not any(map(doing.match, options))
    if _SCRIPT.match(program):
        code = next(
            (options[at + 1] for at, word in enumerate(options[:-1]) if word in ("-c", "-e")), ""
        )
        return bool(code) and not _WRITING_CODE.search(code)
    words = plain_words(command)
    if program == "git" and words in (["branch"], ["tag"]):
        return True
    if program in _RUNNERS:
        return program not in ("make", "just", "task") and words[:1] != [] and words[0] in _SHOWING
    return any(word in _SHOWING or word.partition("-")[0] in _SHOWING for word in words[:2])


def only_looks(line: str) -> bool:
    """Whether a line leaves nothing behind; False where it holds no command."""
    commands = read_line(line)
    return bool(commands) and all(map(looks, commands))


def deletes_without_order(action: str, asked: str) -> bool:
    """Whether an action takes away what may not come back, where what was asked neither does so nor
    speaks of it.
    """
    return destroys(action) and not speaks_of_deleting(asked)


def speaks_of_deleting(text: str) -> bool:
    """Whether a text takes something away, or speaks of it."""
    return bool(_DELETING.search(text) or _ABOUT_DELETING.search(text))


def checks(command: Command) -> bool:
    """Whether a command is run to see whether something holds, and changes nothing else."""
    if any(map(_REPAIRING.search, command.words[1:])):
        return False
    if command.program in ("black", "isort", "prettier"):
        return any(word in ("--check", "-c", "--diff") for word in command.words)
    if command.program in _TESTING:
        return True
    targets = [word for word in plain_words(command) if word != "run" and not word.endswith(".py")]
    return bool(targets) and re.split(r"[:.]", targets[0])[0] in _TEST_TARGETS


def hands_in(command: Command) -> bool:
    """Whether a command ends or stores work that was done before it."""
    words = plain_words(command)
    if command.program in ("git", "hg", "jj"):
        return bool(words) and words[0] in _HANDING_IN
    if command.program in ("gh", "glab"):
        return words[:1] in (["pr"], ["mr"])
    return command.program in ("submit", "exit") and len(command.words) == 1


def command_key(command: Command) -> str:
    """The same for the same program on the same things in the same folder, whatever options and
    variables it has.
    """
    return "\n".join((command.folder, command.program, *plain_words(command)))


def destroys(line: str) -> bool:
    """Whether a line takes away what may not come back, or ends what others may need."""
    return bool(_DELETING.search(line)) or any(map(_destroys, read_line(line)))


def _destroys(command: Command) -> bool:
    words = {command.program.partition(".")[0], *map(str.lower, command.words[1:])}
    if not words.isdisjoint(_DESTROYING_WORDS):
        return not looks(command)
    return command.program == "git" and not _FORCING.isdisjoint(command.words)


def find_touches(command: Command) -> list[Touch]:
    """Which files a command changes, as far as its words tell; none where they do not."""
    program, words = command.program, plain_words(command)
    touches = [Touch(name, whole=not command.appends) for name in command.writes]
    if program in _IN_FILES:
        touches += [Touch(word) for word in words[-1:]]
    elif program in _REMOVING:
        touches += [Touch(word, removes=True) for word in words]
    elif program in _OVERWRITING and len(words) > 1:
        touches.append(Touch(words[-1], whole=True))
    elif (
        program in ("git", "hg")
        and words[:1] in (["checkout"], ["restore"])
        and "--" in command.words
    ):
        touches += [
            Touch(word, removes=True) for word in command.words[command.words.index("--") + 1 :]
        ]
    return touches
