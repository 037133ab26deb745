"""What programs are for, as far as rules speak of it: which stand for one another, what people ask for
when they mean one of them, and which words say what a program is to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hardwon.text.programs import asks_program, is_known

# More words that say what a program is to do.
_DOING_WORDS: Final = frozenset(
    """
    run build start stop up deploy publish release migrate upgrade apply plan rebase merge checkout switch restore
    stash clone fetch pull tag branch init create format fmt clean exec compose restart sync lock watch serve dev
    install i ci require get
    """.split()
)
_MORE_PROGRAMS: Final = frozenset(
    "sudo npx pnpx bunx uvx pipx nohup xargs ssh scp rsync vim nano tmux".split()
)
# What people ask for when they mean one of these programs, as the beginnings of words.
_TRADES: Final = (
    (
        "pip pip3 uv poetry pipenv conda mamba",
        "install package librar dependenc module requirement paket biblioth abhängig dépendance paquet biblioteca",
    ),
    (
        "npm yarn pnpm bun",
        "install package librar dependenc module paket biblioth abhängig dépendance paquet biblioteca",
    ),
    (
        "cargo gem bundle composer brew apt apt-get dnf yum apk",
        "install package librar dependenc paket paquet",
    ),
    ("git hg jj", "commit push merge rebase branch"),
    ("psql mysql sqlite3 mongosh pgcli", "database datenbank base table sql quer"),
    ("docker podman docker-compose", "container image"),
    ("kubectl helm k9s", "cluster pod kubernetes"),
    ("terraform tofu pulumi ansible", "infrastructure provision"),
    ("alembic flyway liquibase", "migrat schema"),
    ("pytest jest vitest tox nox mocha rspec unittest ctest", "test"),
    ("ruff black flake8 eslint prettier isort pylint rubocop clippy biome", "lint format style"),
    ("mypy pyright tsc", "type typing"),
)
_TRADE: Final = {
    program: tuple(words.split()) for programs, words in _TRADES for program in programs.split()
}
_COLLEAGUES: Final = {
    program: frozenset(programs.split()) for programs, _ in _TRADES for program in programs.split()
}


def is_program(word: str) -> bool:
    """Whether a word, as it is written, is the name of a program that is known here."""
    return word in _TRADE or word in _MORE_PROGRAMS or is_known(word)


def says_what_to_do(word: str) -> bool:
    """Whether a word behind a program's name says what it is to do."""
    return word in _DOING_WORDS or asks_program(word)


def is_task_of(program: str, words: Iterable[str]) -> bool:
    """Whether words ask for what one uses a program for."""
    beginnings = _TRADE.get(program, ())
    return any(word.lower().startswith(beginning) for word in words for beginning in beginnings)


def are_alike(program: str, other: str) -> bool:
    """Whether one uses two programs for the same."""
    return program != other and other in _COLLEAGUES.get(program, ())
