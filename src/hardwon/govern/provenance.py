"""Which files a text is about: the words in it that look like paths. Whether there are such files is for others to see."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hardwon import limits

_WORD: Final = r"[\w@+~-]"
_LOOKS_LIKE_ONE: Final = re.compile(rf"[./]{_WORD}")  # most sentences have nothing like it, and this finds out in no time
_PATH: Final = re.compile(
    # Possessive throughout: no word is read twice, however long it is. Two dots in a row, which lead upward, never match.
    rf"(?<![\w@+~./-])(?:\./)?+{_WORD}*+(?:/\.?{_WORD}++|\.{_WORD}++)++"
)
_SECRET_ENDINGS: Final = tuple(
    """.pem .key .p8 .p12 .pfx .pkcs12 .ppk .keystore .jks .kdbx .gpg .ovpn .tfvars .tfstate .env credential credentials
    .npmrc .yarnrc .yarnrc.yml .pypirc .htpasswd .s3cfg .boto .dockercfg .pgpass .my.cnf .netrc _netrc .vault-token""".split()
)
_MAY_BE_SECRET: Final = re.compile(
    r"/\.(?:aws|ssh|gnupg|kube|azure|docker)/|env|credential|secret|\.tfstate\.|service.?account|/id_"
)
_SECRET: Final = re.compile(
    r"""/(?:\.env[^/]* | [^/]*\.env\.[^/]* | id_[a-z0-9]+ | service[-_]?account[^/]*\.json | [^/]*\.tfstate\.[^/]*
        | [^/]*(?:credential|secret)s?(?:[._-][^/]*)?\.(?:json|ya?ml|toml|ini|cfg|conf|xml|properties|csv|txt|enc))$
    | /\.(?:aws|ssh|gnupg|kube|azure)/ | /\.docker/config\.json$""",
    re.VERBOSE,
)
"""Files that hold secrets and little else: not even their hash is kept unasked."""


def path_words(text: str) -> list[str]:
    """Words of a text that may be paths, in their order, each once: with a slash or a dot inside, and never upward. Only the
    beginning of a long text is looked at."""
    beginning = text[: limits.PATHS_SOUGHT_CHARS_MAX]
    if not _LOOKS_LIKE_ONE.search(beginning):
        return []
    found: dict[str, None] = {}
    for said in beginning.split():
        if "/" in said or "." in said:  # the pattern costs ten times what this does
            for word in _PATH.findall(said):
                if len(word) <= limits.PATH_CHARS_MAX and _may_be_told(word):
                    found[word.removeprefix("./")] = None
            if len(found) >= limits.PATHS_TRIED_MAX:
                break
    return list(found)[: limits.PATHS_TRIED_MAX]


@lru_cache(maxsize=limits.FOUND_FILES_REMEMBERED_MAX)  # the same few files are named again and again
def _may_be_told(word: str) -> bool:
    return not _of_git(word) and not holds_secrets(word)


def holds_secrets(path: str) -> bool:
    """Whether a file of that name holds secrets and little else. Whoever meets a link asks about where it leads, too."""
    named = f"/{path.lower()}"
    if named.endswith(_SECRET_ENDINGS):
        return True
    return _MAY_BE_SECRET.search(named) is not None and _SECRET.search(named) is not None


def _of_git(path: str) -> bool:
    return ".git" in path.lower().split("/")
