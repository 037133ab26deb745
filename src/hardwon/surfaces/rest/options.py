"""What whoever starts a server decides: where it listens, and which names and pages it answers."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hardwon.errors import InvalidInputError
from hardwon.first_use import lazy

_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_ORIGIN: Final = re.compile(rf"https?://{_HOST.pattern}")
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class ServerOptions:
    """`port` is the real one. `spool`: a folder for bodies and answers on their way, as private as
    the memory.
    """

    host: str
    port: int
    default_project: str
    spool: Path
    tls: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    btb: bool = False
    every_tool: bool = False

    def __post_init__(self) -> None:
        for host in self.allow_hosts:
            if not _HOST.fullmatch(host.lower()):
                allowed = "a name or an address, with or without a port"
                raise InvalidInputError.one("allow_host", host, allowed)
        for origin in self.allow_origins:
            if not _ORIGIN.fullmatch(origin.lower()):
                allowed = "an origin such as https://tools.example.org"
                raise InvalidInputError.one("allow_origin", origin, allowed)

    @property
    def scheme(self) -> str:
        """http, or https."""
        return "https" if self.tls else "http"

    @property
    def url(self) -> str:
        """The server's own address."""
        return f"{self.scheme}://{self._own_name}:{self.port}"

    def knows_host(self, header: str) -> bool:
        """Whether a request that names this host means us. A name that was allowed without a port
        holds for any, and so do our own.
        """
        match = _HOST.fullmatch(header.lower())
        return match is not None and not self._names.isdisjoint((header.lower(), match["name"]))

    def knows_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this origin may ask: one of our own, or one that was allowed."""
        known = [f"{self.scheme}://{host}", *self.allow_origins]
        return origin.lower() in {allowed.lower() for allowed in known}

    @property
    def _own_name(self) -> str:
        return f"[{self.host.lower()}]" if ":" in self.host else self.host.lower()

    @lazy
    def _names(self) -> frozenset[str]:
        # of every address, only those of this machine are known to be ours
        everywhere = self.host in ("0.0.0.0", "::")  # noqa: S104  # nosec B104
        ours = _LOOPBACK_NAMES if everywhere or is_loopback(self.host) else ()
        own = () if everywhere else (self._own_name,)
        return frozenset((*ours, *own, *(host.lower() for host in self.allow_hosts)))


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches it."""
    try:
        known = {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(known) and all(ipaddress.ip_address(address).is_loopback for address in known)
