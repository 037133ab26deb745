"""A PostgreSQL database as a place of the crowd, and a way to it that is cut.

How far the server came when a connection ends is a matter of chance: a seed does the same steps
here and cuts the same connections, but may be told other errors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg
from psycopg.sql import SQL, Identifier

# which have a server, and a proxy before it
sys.path.append(str(Path(__file__).parent.parent / "tests"))

import engines
import postgres_server
from crowd_world import Place
from faults import Fault
from model import Happened, Kept, Picture
from postgres_proxy import Proxy

_PROJECT: Final = "default"
_FILE_ONLY: Final = frozenset({"back up", "restore", "rot", "rot of a backup", "all die"})
_CUTS: Final = {
    "connection lost before a commit": "before",
    "connection lost after a commit": "after",
}
_ENDED: Final = "connection ended by the server"
_SCHEMA: Final = "SELECT schema FROM hardwon.project WHERE name = %s"
_RECORDS: Final = "SELECT id, kind, at_us, author, outcome, tool, body, status FROM {}.record"
_EVENTS: Final = "SELECT id, record_id, kind, at_us, body FROM {}.event"
_OTHERS: Final = (
    "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
_PATIENCE_S: Final = 20.0


@dataclass
class Database(Place):
    """One of a real server. Everybody has a way to it of their own."""

    url: str = ""
    ways: dict[str, Proxy] = field(default_factory=dict)
    cuts_before: int = 0
    opened: ExitStack = field(default_factory=ExitStack)

    @property
    def exists(self) -> bool:
        return True

    @property
    def location(self) -> str:
        return self.url

    def location_for(self, name: str) -> str:
        if name not in self.ways:
            server = postgres_server.server()
            self.ways[name] = self.opened.enter_context(
                Proxy(server.folder / f".s.PGSQL.{server.port}")
            )
        database = psycopg.conninfo.conninfo_to_dict(self.url)["dbname"]
        return f"postgresql://postgres@127.0.0.1:{self.ways[name].port}/{database}?application_name={name}&sslmode=disable"

    @property
    def faults(self) -> list[str]:
        return [*_CUTS, _ENDED]

    def arm(self, name: str, fault: Fault) -> None:
        self.location_for(name)
        self.cuts_before = self.ways[name].cuts
        if fault.name == _ENDED:
            with psycopg.connect(self.url, autocommit=True) as server:
                ended = server.execute(
                    f"SELECT pg_terminate_backend(pid) {_OTHERS} AND application_name = %s".encode(),
                    (name,),
                )
                fault.fired = ended.rowcount
        else:
            self.ways[name].cut = _CUTS[fault.name]
            fault.fired = 1  # it is not known before the step is over

    def disarm(self, name: str, fault: Fault) -> None:
        way = self.ways[name]
        if fault.name != _ENDED:
            way.cut = ""
            fault.fired = way.cuts - self.cuts_before
        self._wait_for_the_server()

    def _wait_for_the_server(self) -> None:
        """What was under way when a connection was lost is over."""
        deadline = time.monotonic() + _PATIENCE_S
        with psycopg.connect(self.url, autocommit=True) as server:
            while server.execute(f"SELECT 1 {_OTHERS} AND state <> 'idle'".encode()).fetchone():
                assert time.monotonic() < deadline, "the server goes on with what nobody waits for"
                time.sleep(0.005)

    def look(self) -> Picture:
        with psycopg.connect(self.url) as server:
            server.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            schema = server.execute(_SCHEMA, (self.project,)).fetchone()
            if schema is None:  # before anything was recorded
                return Picture({}, {})
            of_project = (SQL(each).format(Identifier(*schema)) for each in (_RECORDS, _EVENTS))
            rows = [server.execute(each).fetchall() for each in of_project]
            records = {key: Kept._make(row) for key, *row in rows[0]}
            events = {key: Happened._make(row) for key, *row in rows[1]}
        return Picture(records, events)

    def bytes_kept(self) -> bytes:
        """The server keeps what is gone until it tidies up: there is no file to look at."""
        return b""

    def let_go(self) -> None:
        """Nothing is kept open."""


@contextmanager
def a_database() -> Iterator[Database]:
    """An empty one, for one life."""
    with ExitStack() as opened:
        url = opened.enter_context(engines.a_database())
        # a server that only lives as long as the tests does not wait for its disk
        excused = frozenset({"durability"})
        yield Database(
            "here", Path(), _PROJECT, cannot=_FILE_ONLY, excused=excused, url=url, opened=opened
        )
