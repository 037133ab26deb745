"""What whoever starts a server decides: where it listens, and which names and pages it answers."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hardwon.errors import InvalidInputError

_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """`port` is the real one. `spool`: a folder for bodies and answers on their way, as private as the memory."""

    host: str
    port: int
    default_project: str
    spool: Path
    tls: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    btb: bool = False

    def __post_init__(self) -> None:
        for host in self.allow_hosts:
            if not _HOST.fullmatch(host.lower()):
                raise InvalidInputError.one("allow_host", host, "a name or an address, with or without a port")
        for origin in self.allow_origins:
            if not _ORIGIN.fullmatch(origin.lower()):
                raise InvalidInputError.one("allow_origin", origin, "an origin such as https://tools.example.org")

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{_in_url(self.host)}:{self.port}"

    def knows_host(self, header: str) -> bool:
        """Whether a request that names this host means us. A name that was allowed without a port holds for any."""
        given = _HOST.fullmatch(header.lower())
        if given is None:
            return False
        name, port = given["name"], given["port"]
        allowed = {host.lower() for host in self.allow_hosts}
        if name in allowed or f"{name}:{port}" in allowed:
            return True
        ours = int(port) == self.port if port else self.port == (443 if self.tls else 80)
        return ours and name in self._own_names()

    def knows_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this origin may ask: one of our own, or one that was allowed."""
        given = origin.lower()
        return given == f"{self.scheme}://{host.lower()}" or given in {each.lower() for each in self.allow_origins}

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it goes by; those without a port hold for any."""
        return (*self._own_names(), *(host.lower() for host in self.allow_hosts))

    def _own_names(self) -> tuple[str, ...]:
        if is_loopback(self.host):
            return (_in_url(self.host), *_LOOPBACK_NAMES)
        if self.host in ("0.0.0.0", "::"):  # noqa: S104  # nosec B104  # every address: only those of this machine are known to be ours
            return _LOOPBACK_NAMES
        return (_in_url(self.host),)


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = {str(each[4][0]) for each in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in found)


def _in_url(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host else host.lower()
