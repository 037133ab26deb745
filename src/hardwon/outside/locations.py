"""What is written where a memory is meant: a file, or the address of a database, which may hold a
password. And whether an address leads to this machine.
"""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from hardwon.errors import InvalidInputError, PlaceError

DEFAULT_PROJECT: Final = "default"
# In which a memory is looked for from the folder where somebody is, and upward.
FOLDER_NAME: Final = ".hardwon"
DATABASE_URL: Final = re.compile(r"postgres(?:ql)?://")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ADDRESS: Final = re.compile(
    rf"{_SCHEME.pattern}(?:(?P<user>[^:@/?]*)(?::[^@/?]*)?@)?(?P<rest>[^@?]*)"
)
# With the path behind it. An option in there, such as a password, is one whose question mark was
# forgotten.
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]*\]|[^:/\[\]=&]*)(?::[0-9]*)?(?:/[^=&]*)?")
# in the name of an option
_SECRET: Final = re.compile(r"password|secret|scram", re.IGNORECASE)
# Stands for an address that cannot be told apart from its password.
UNCLEAR: Final = "…"
# How a database is backed up.
COPIES: Final = (
    "pg_dump copies it whole, and pg_restore puts it back; hardwon --memory copy.db merge URL "
    "copies a project of it into a file, and hardwon --memory URL merge copy.db brings that in"
)


def is_url(location: object) -> bool:
    """Whether a database is meant, and no file."""
    return isinstance(location, str) and DATABASE_URL.match(location) is not None


def without_password(location: str) -> str:
    """A location as it may be shown. An address that cannot be told apart from its password is not
    shown at all.
    """
    scheme = _SCHEME.match(location)
    if not scheme:
        return location
    head, mark, options = location.partition("?")
    address = _ADDRESS.fullmatch(head)
    if not address or "@" in options or not all(map(_HOST.fullmatch, address["rest"].split(","))):
        return f"{scheme[0]}{UNCLEAR}"
    names = ((option, unquote(option.partition("=")[0])) for option in options.split("&"))
    shown = "&".join(option for option, name in names if not _SECRET.search(name))
    user = f"{address['user']}@" if address["user"] else ""
    return f"{scheme[0]}{user}{address['rest']}{mark if shown else ''}{shown}"


def check_local(field: str, value: Any) -> None:
    """Raises where the url of a database stands for a file or folder."""
    if is_url(value):
        raise PlaceError(
            f"{field}: {without_password(value)} is a database, and here a file or folder of this "
            "machine is wanted; Memory(url), or hardwon --memory URL, opens a database"
        )


def check_path(field: str, value: Any) -> Path:
    """A path that a caller gave, absolute."""
    check_local(field, value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidInputError.one(field, value, "a path")
    try:
        value.encode()
        return Path(value).expanduser().absolute()
    except (UnicodeEncodeError, RuntimeError, OSError) as error:
        raise InvalidInputError.one(field, value, f"a path ({error})") from None


def is_loopback(host: str) -> bool:
    """Whether a host, by its name or number, is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
