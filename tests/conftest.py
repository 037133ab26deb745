from __future__ import annotations

import gc
import json
import os
import signal
import ssl
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import certifi
import pytest
from hypothesis import HealthCheck, settings

from cases import TORTURE, examples
from checkouts import new_repository
from clocks import Clock
from hardwon import Memory

# A thread for each core, in every worker and every program it starts, is more than there are: they
# would wait for one another at full speed, and take ten times as long.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", RAYON_NUM_THREADS="1")

# While the files of tests are loaded next to nothing becomes garbage, and looking for it takes long.
gc.disable()

# With it jsonschema builds 38 parsers, in every worker, for a format that none of our schemas has.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

settings.register_profile(
    "hardwon",
    deadline=None,
    # The same examples in every run, so that whoever did not change anything sees nothing fail; the
    # long runs look for new ones.
    derandomize=not TORTURE,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("hardwon")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Assertions are rewritten at the first load: each worker begins with other files."""
    count = os.environ.get("PYTEST_XDIST_WORKER_COUNT")
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    everything = session.config.args == session.config.getini("testpaths")
    if count and worker and everything and not sys.dont_write_bytecode:
        files = sorted(Path(__file__).parent.rglob("test_*.py"))
        for file in files[int(worker.removeprefix("gw")) :: int(count)]:
            import_module(file.stem)


def pytest_collection_finish() -> None:
    """What is loaded by now stays, and is not looked through again each time."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`pytest.mark.engines(…)` says where memories are; without it they are in files."""
    marked = metafunc.definition.get_closest_marker("engines")
    if marked and "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", marked.args)


@pytest.fixture(scope="session", autouse=True)
def _children_ignore_no_signals() -> None:
    """Under nohup tests ignore signals, and so would every program they start: it goes on ignoring
    what was ignored. Ignored signals get a handler that does nothing; SIGPIPE and SIGXFSZ stay.
    """
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def _authorities_are_read_once() -> Iterator[None]:
    """Else httpx reads them for every client, for servers that have none."""
    read = ssl.create_default_context
    known = cache(lambda file: read(cafile=file))
    lists = {certifi.where(), os.environ.get("SSL_CERT_FILE")}

    def create(*purpose: Any, **options: Any) -> ssl.SSLContext:
        whole = not purpose and options.keys() == {"cafile"} and options["cafile"] in lists
        return known(options["cafile"]) if whole else read(*purpose, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", create)
        yield


@pytest.fixture(scope="session", autouse=True)
def _schemas_are_checked_once() -> Iterator[None]:
    """Else the MCP client checks a tool's schema before it looks at each answer."""
    from jsonschema import Draft202012Validator  # after what is kept from it above

    check = Draft202012Validator.check_schema
    checked = cache(lambda text: check(json.loads(text)))
    with pytest.MonkeyPatch.context() as patch:
        once = classmethod(lambda _, schema: checked(json.dumps(schema)))
        patch.setattr(Draft202012Validator, "check_schema", once)
        yield


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
def place(engine: str, tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Where memories can be, by names of the test's own: files in its folder, or databases."""
    if engine == "sqlite":
        yield lambda name: str(tmp_path / name)
        return
    import engines  # the driver is loaded for the tests that need it

    with engines.databases() as found:
        yield found


@pytest.fixture
def memory(request: pytest.FixtureRequest, place: Callable[[str], str]) -> Iterator[Memory]:
    """With `pytest.mark.clocked` it has the test's `clock`."""
    options: dict[str, Any] = {}
    if request.node.get_closest_marker("clocked"):
        options = {"clock": request.getfixturevalue("clock")}
    with Memory(place("brain"), **options) as opened:
        yield opened


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of an empty PostgreSQL database of the test's own."""
    import postgres_server  # the driver is loaded for the tests that need it

    url = postgres_server.fresh_database()
    yield url
    postgres_server.drop(url)


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a PostgreSQL database that is set up, with nothing in it."""
    import engines  # likewise

    with engines.a_database() as made:
        yield made


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line's tests are each in a folder of their own, as `settle` makes it."""
    import command_line  # the commands are loaded for the tests that need them

    command_line.settle(tmp_path, monkeypatch)


@pytest.fixture
def served_anew(tmp_path: Path) -> Iterator[Any]:
    import serving  # likewise

    with serving.served(tmp_path) as found:
        yield found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _own_user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches the memory, or the settings, of whoever runs it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user-data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user-config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HARDWON_BACKGROUND", "0")  # nor does it leave a process behind
    ours = "HARDWON_MEMORY HARDWON_PROJECT HARDWON_AUTHOR HARDWON_RUN"
    for name in f"{ours} GROQ_API_KEY API_BASE_URL LLM_MODEL".split():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A real one of git, which the test is in."""
    root = new_repository(tmp_path / "repo")
    monkeypatch.chdir(root)
    return root
