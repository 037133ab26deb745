"""Parsers that need a memory: whatever is refused must leave it as it was."""

from __future__ import annotations

import json
import shutil
import socket
import struct
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from unittest import mock
from uuid import UUID

import apsw

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import legacy_fixes
import plausible
from command_line import BUILT, at_once
from fuzz_targets import (
    Run,
    Target,
    by,
    data_sets,
    examples,
    hook_events,
    issues,
    records,
    texts,
    training_memories,
)
from hardwon import Memory, limits
from hardwon.capture import agents
from hardwon.capture.protocols import AGENTS, read_event
from hardwon.capture.tests import RanTest
from hardwon.errors import HardwonError
from hardwon.fixes.adopt import adopt_fix_history, adopt_knowledge_base
from hardwon.fixes.ai_memory import AIMemory
from hardwon.outside.embedders import CallableEmbedder, EndpointEmbedder
from hardwon.outside.llm import ChatModel
from hardwon.records.kinds import Event
from hardwon.search.terms import Filters
from hardwon.surfaces import client
from hardwon.surfaces.gate import Ask, Gate
from hardwon.surfaces.mcp.server import (
    PROMPTS,
    RESOURCES,
    address_of,
    prompt_text,
    read_resource,
)
from hardwon.surfaces.mcp.tools import BTB_TOOLS, TOOLS
from hardwon.surfaces.operations import parsed
from hardwon.training import functions as episode_adoption
from hardwon.tree.datasets import load_dataset
from hardwon.tree.engine import MemoryEngine
from hardwon.trust.access import Caller
from serving import served

_ANSWER_S: Final = 20.0
_PATIENCE_S: Final = 0.1
_PAGE_BYTES: Final = 4096


class ChangedError(AssertionError):
    """An input was refused, and the memory is not as it was."""


@contextmanager
def _filled(folder: Path, name: str = "brain") -> Iterator[Memory]:
    with Memory(folder / name, "default", checkout=False) as memory:
        memory.add_many(list(plausible.records(30, seed=5)))
        yield memory


def _state_of(memory: Memory) -> object:
    return memory._project.store.counts(memory.project), memory._project.store.change_mark(
        memory.project
    )


def _unchanged_where_refused(memory: Memory, run: Run) -> Run:
    def checked(given: Any) -> None:
        before = _state_of(memory)
        try:
            run(given)
        except HardwonError:
            if _state_of(memory) != before:
                raise ChangedError(
                    "an input was refused, and the memory is not as it was"
                ) from None
            raise

    return checked


@contextmanager
def _with_file(folder: Path, name: str, use: Any) -> Iterator[Run]:
    """What is given is in a file that is taken into a memory."""
    with _filled(folder) as memory:
        file = folder / name

        def run(given: Any) -> None:
            file.write_bytes(
                given if isinstance(given, bytes) else given.encode("utf-8", "surrogatepass")
            )
            use(file, memory)

        yield _unchanged_where_refused(memory, run)
        assert memory.doctor().ok, "the memory is as it should be after all of them"


def _taken_in(name: str, use: Any) -> Any:
    return lambda folder: _with_file(folder, name, use)


@contextmanager
def _tree(folder: Path) -> Iterator[Run]:
    with _filled(folder) as memory:
        memory.tree.make()
        place = (
            folder / "brain" / "outcome=failure" / "tool=code_interpreter" / "error_type=runtime"
        )
        place.mkdir(parents=True, exist_ok=True)

        def run(data: bytes) -> None:
            file = place / f"by_hand_{len(data) % 7}.json"
            file.write_bytes(data)
            memory.tree.sync()
            # edited, it may belong in another folder
            there = [each.read_bytes() for each in (folder / "brain").rglob(file.name)]
            assert data in there, "a file that somebody wrote stays what it is"

        yield run
        assert memory.doctor().ok, "the memory is as it should be after all of them"


@contextmanager
def _asked(folder: Path) -> Iterator[Run]:
    with _filled(folder) as memory:

        def run(text: str) -> None:
            memory.recall(text)
            memory.context(text, budget_tokens=200)
            memory.advise(text, error=text[:2000])
            memory.tokens.caller(text)

        yield _unchanged_where_refused(memory, run)


@contextmanager
def _filtered(folder: Path) -> Iterator[Run]:
    with _filled(folder) as memory:

        def run(given: Any) -> None:
            told = dict(given) if isinstance(given, Mapping) else {"kind": given}
            Filters.of("default", dict(told))
            list(
                memory.browse(
                    5, **{key: value for key, value in told.items() if key not in ("limit", "self")}
                )
            )

        yield run


@contextmanager
def _attempted(folder: Path) -> Iterator[Run]:
    with AIMemory(folder / "AIMemory") as history:

        def run(given: Any) -> None:
            told = given if isinstance(given, dict) else {"issue": given}
            issue: Any = told.get("issue")
            reply: Any = told.get("reply")
            history.record_fix_attempt(issue, reply, True, False, 1.0)
            history.query_similar_issues(issue)
            history.build_context_for_ai(issue)

        yield _unchanged_where_refused(history.memory, run)
        assert history.memory.doctor().ok, "the memory is as it should be after all of them"


@contextmanager
def _old_rows(folder: Path) -> Iterator[Run]:
    with _filled(folder) as memory:

        def run(row: Any) -> None:
            file = folder / "old.db"
            file.unlink(missing_ok=True)
            told = row if isinstance(row, dict) else {"notes": row}
            values = {
                name: _storable(value)
                for name, value in told.items()
                if name in legacy_fixes.ORDINARY
            }
            legacy_fixes.create(file, loose=True)
            legacy_fixes.add(file, [values])
            adopt_fix_history(file, memory)

        yield _unchanged_where_refused(memory, run)
        assert memory.doctor().ok, "the memory is as it should be after all of them"


def _storable(value: Any) -> Any:
    """As far as SQLite has values: texts, also of half characters, numbers, bytes."""
    if isinstance(value, bool | float) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else float(value)
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _old_database(folder: Path) -> list[bytes]:
    return [
        legacy_fixes.many(folder / "made.db", 20).read_bytes(),
        legacy_fixes.with_aggregates(folder / "more.db").read_bytes(),
    ]


@contextmanager
def _old_file(folder: Path) -> Iterator[Run]:
    with _filled(folder) as memory:

        def run(data: bytes) -> None:
            for left in folder.glob("old.db*"):
                left.unlink()
            (folder / "old.db").write_bytes(data)
            adopt_fix_history(folder / "old.db", memory)

        yield _unchanged_where_refused(memory, run)
        assert memory.doctor().ok, "the memory is as it should be after all of them"


@contextmanager
def _memory_file(folder: Path) -> Iterator[Run]:
    """A database that is broken anywhere is refused, or read and found to be broken, and always
    with words of ours.
    """

    def run(data: bytes) -> None:
        place = folder / "broken"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / "memory.db").write_bytes(data)
        with Memory(place, "default", checkout=False) as memory:
            memory.export(folder / "out.jsonl")
            memory.doctor()
            memory.remember("written into it", "success", "conversation")

    yield run


@contextmanager
def _backup(folder: Path) -> Iterator[Run]:
    def run(data: bytes) -> None:
        place = folder / "restored"
        shutil.rmtree(place, ignore_errors=True)
        (folder / "copy.bak").write_bytes(data)
        Memory.restore(folder / "copy.bak", place)
        with Memory(place, "default", checkout=False) as memory:
            assert memory.doctor().ok, "what was restored is sound"

    yield run


def _databases() -> list[bytes]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        with _filled(Path(folder)) as memory:
            memory.backup(Path(folder) / "copy.bak")
        return [(Path(folder) / "copy.bak").read_bytes()]


@contextmanager
def _vectors(folder: Path) -> Iterator[Run]:
    """Vectors that are not what was kept, in a database that is otherwise sound."""
    embedder = CallableEmbedder(
        lambda given: [[float(len(text)), 1.0, 0.5] for text in given], "lengths", 3
    )
    with Memory(folder / "brain", "default", checkout=False, embedder=embedder) as memory:
        memory.add_many(list(plausible.records(5, seed=5)))
        memory.care.wait_for_vectors()

        def run(data: bytes) -> None:
            with closing(apsw.Connection(memory.location)) as connection:
                connection.execute("UPDATE record_vector SET vector = ?", (data,)).fetchall()
            memory._project.store._codes.clear()  # type: ignore[attr-defined]  # what it knows of them
            memory.doctor()
            memory.recall("login")

        yield run


@contextmanager
def _events(folder: Path) -> Iterator[Run]:
    """Events that are not what was kept."""
    with Memory(folder / "brain", "default", checkout=False) as memory:
        kept = memory.remember("it works", "success", "conversation")
        memory.verify(kept.id, "human_approval")

        def run(data: bytes) -> None:
            with closing(apsw.Connection(memory.location)) as connection:
                connection.execute(
                    "UPDATE event SET body = ?", (data.decode(errors="replace"),)
                ).fetchall()
            memory.doctor()
            memory.audit(kept.id)

        yield run


def _event_bodies() -> list[bytes]:
    event = Event(
        record_id=str(UUID(int=5)),
        kind="status",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        by="x",
        status="verified",
    )
    return [event.model_dump_json(exclude_none=True).encode()]


@contextmanager
def _engine(folder: Path) -> Iterator[Run]:
    with MemoryEngine(folder / "brain") as engine:
        engine.remember("it broke", "failure", "code_interpreter", error_type="runtime", ticket=7)

        def run(given: Any) -> None:
            told = given if isinstance(given, dict) else {"pattern": given}
            pattern, intent = told.get("pattern"), told.get("intent")
            keys = (
                {key: value for key, value in intent.items() if key.isidentifier()}
                if isinstance(intent, dict)
                else {}
            )
            engine.recall(
                pattern,
                **{key: value for key, value in keys.items() if key not in ("pattern", "self")},
            )
            engine.forget("nothing/*.json", before=told.get("before"))

        yield _unchanged_where_refused(engine.memory, run)


@contextmanager
def _hooked(folder: Path) -> Iterator[Run]:
    with _filled(folder):
        pass
    chosen = {"memory": str(folder / "brain"), "project": "default"}

    def run(data: bytes) -> None:
        for agent in AGENTS:
            event = read_event(agent, data)
            if event is not None:  # the folder would lead this process away
                with mock.patch.object(agents, "Memory", _without_checkout):
                    agents.answer(replace(event, folder=""), agent, chosen, agents.Manner("ask"))

    yield run


class _without_checkout(Memory):  # noqa: N801  # it stands for a class of that name
    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **{**options, "checkout": False})


@contextmanager
def _tested(folder: Path) -> Iterator[Run]:
    with _filled(folder) as memory:

        def run(given: Any) -> None:
            told = given if isinstance(given, dict) else {"node_id": str(given)}
            node, report = told.get("node_id"), told.get("report")
            ran = RanTest(
                node if isinstance(node, str) else "t",
                bool(told.get("failed")),
                report if isinstance(report, str) else "",
            )
            memory.tests.record([ran], str(told.get("run_id")))

        yield _unchanged_where_refused(memory, run)
        assert memory.doctor().ok, "the memory is as it should be after all of them"


@contextmanager
def _visited(folder: Path) -> Iterator[Run]:
    with _filled(folder) as memory:
        location = memory.location
        gate = Gate(lambda name: Memory(location, name, checkout=False), None, requests_per_s=1e9)
        ask = Ask(gate, Caller("tester", "write"), "default")

        def run(given: Any) -> None:
            told = given if isinstance(given, dict) else {"tool": given}
            tool, said = str(told.get("tool")), told.get("arguments")
            if tool in BTB_TOOLS:
                parsed(BTB_TOOLS[tool].takes, said)
            elif tool.startswith("hardwon://"):
                read_resource(ask, tool)
            elif tool in PROMPTS:
                prompt_text(
                    ask,
                    tool,
                    {key: str(value) for key, value in said.items()}
                    if isinstance(said, dict)
                    else {},
                )
            elif tool in TOOLS:
                TOOLS[tool].run(ask, said if isinstance(said, dict) else {})

        try:
            yield _unchanged_where_refused(memory, run)
            assert memory.doctor().ok, "the memory is as it should be after all of them"
        finally:
            gate.close()


def _visits() -> list[Any]:
    from hardwon.surfaces.operations import OPERATIONS

    asked: list[Any] = [
        {"tool": each.tool, "arguments": examples()[each.name]}
        for each in OPERATIONS.values()
        if each.tool in TOOLS
    ]
    asked += [{"tool": "before", "arguments": {"task": "log in", "action": "make"}}]
    asked += [{"tool": "after", "arguments": {"happened": "it broke", "outcome": "failure"}}]
    asked += [{"tool": address_of(name).replace("{", "").replace("}", "")} for name in RESOURCES]
    return [
        *asked,
        *({"tool": name, "arguments": {"task": "log in"}} for name in (*PROMPTS, *BTB_TOOLS)),
    ]


@contextmanager
def _requested(folder: Path) -> Iterator[Run]:
    """Whole requests to a server, as bytes: whatever they are, it never has a problem of its
    own.
    """
    with served(folder, open_to=Caller("tester", "write"), btb=True) as running:
        host, port = running.url.removeprefix("http://").split(":")

        def run(data: bytes) -> list[bytes]:
            with socket.create_connection((host, int(port)), timeout=_ANSWER_S) as sock:
                # the server may answer, and close, before it has heard all of it
                with suppress(OSError):
                    sock.sendall(data.replace(b"{host}", f"{host}:{port}".encode()))
                sock.settimeout(_PATIENCE_S)
                answer = b""
                # it waits for the rest of what was announced
                with suppress(ConnectionResetError, TimeoutError):
                    while chunk := sock.recv(65536):
                        answer += chunk
            status = answer.split(b" ", 2)[1:2]
            assert not status or status[0][:1] in b"1234", f"the server answered {answer[:120]!r}"
            return status

        yield run
        assert running.memory.doctor().ok, "the memory is as it should be after all of them"


def _requests() -> list[bytes]:
    from urllib.parse import urlencode

    from hardwon.surfaces.operations import OPERATIONS

    made = []
    for name, said in examples().items():
        operation = OPERATIONS[name]
        path = f"/api/v1/projects/default{operation.path}".replace(
            "{record_id}", str(said.get("record_id", "x"))
        )
        body = json.dumps(said).encode() if operation.method == "POST" else b""
        query = "" if body else f"?{urlencode(said)}"
        made.append(_request(operation.method, path + query, body))
    names = (
        "overview",
        "search?q=login&since=2026-01-01",
        "map?depth=2",
        "fixes",
        "episodes",
        "trajectories",
        "review",
        "lab?query=a",
    )
    pages = [
        "/",
        "/ui/",
        *(f"/ui/default/{name}" for name in (*names, f"record/{UUID(int=5)}", "changes")),
    ]
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "login"}},
    }
    return [
        *made,
        *(_request("GET", page) for page in pages),
        _request("POST", "/mcp", json.dumps(call).encode()),
    ]


def _request(method: str, path: str, body: bytes = b"") -> bytes:
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: {host}",
        "Accept: application/json, text/event-stream",
        "Connection: close",
    ]
    head += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([*head, "", ""]).encode() + body


# --- answers of others ---


@contextmanager
def _served(data: bytes) -> Iterator[str]:
    """The address of a server that answers one request with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(_ANSWER_S)

        def answer() -> None:
            with suppress(OSError):
                theirs, _ = listening.accept()
                with theirs:
                    theirs.recv(65536)
                    theirs.sendall(data)
                    theirs.shutdown(socket.SHUT_WR)
                    while theirs.recv(65536):
                        pass

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join(_ANSWER_S)


def _model_answers(data: bytes) -> None:
    with _served(data) as address:
        ChatModel(address, "model", "key-of-somebody-0123456789", timeout_s=_ANSWER_S).complete(
            "system", "user"
        )


def _embedder_answers(data: bytes) -> None:
    with _served(data) as address:
        EndpointEmbedder(address, "model", dimension=3, timeout_s=_ANSWER_S).embed(["one", "two"])


def _server_answers(data: bytes) -> None:
    with (
        _served(data) as address,
        mock.patch.object(limits, "CLIENT_WAITS_S", ()),
        client.Client(address.removesuffix("/v1"), "token", timeout_s=_ANSWER_S) as there,
    ):
        there.recall("login")


def _http(value: Any, status: str = "200 OK") -> bytes:
    body = json.dumps(value).encode()
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


def _model_replies() -> list[bytes]:
    said = {"choices": [{"message": {"role": "assistant", "content": "An answer."}}]}
    chunked = (
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n'
    )
    refusals = [
        _http({"error": {"message": "no"}}, status)
        for status in ("401 No", "429 Wait", "500 Oh", "302 Found")
    ]
    return [_http(said), chunked, *refusals]


def _vector_replies() -> list[bytes]:
    rows = [{"index": index, "embedding": [0.1, 0.2, 0.3]} for index in range(2)]
    return [_http({"data": rows}), _http({"data": rows[:1]}), _http({"error": "no"}, "400 Bad")]


def _server_replies() -> list[bytes]:
    hits = [
        {"record": json.loads(each), "score": 1.0, "why": {"words": 1.0}} for each in records()[:2]
    ]
    return [
        _http(hits),
        _http([]),
        _http({"type": "x", "title": "t", "status": 422, "problems": []}, "422 No"),
    ]


# --- the command line ---

_ASKING: Final = tuple(
    name
    for name in BUILT
    if name.split()[0]
    in "recall context advise browse show map hotspots reflect patterns recent stats config record remember".split()
)
"""Commands that only ask, or keep a record: the others start servers, run programs or write
wherever they are told.
"""


@contextmanager
def _commanded(folder: Path) -> Iterator[Run]:
    with _filled(folder):
        pass

    def run(given: Any) -> None:
        words = (
            [str(word).replace("\0", "") for word in given]
            if isinstance(given, list)
            else [str(given)]
        )
        name = next(
            (command for command in _ASKING if words[: len(command.split())] == command.split()),
            None,
        )
        words = words if name else ["recall", *words]
        words = [word.encode("utf-8", "replace").decode() for word in words]
        with mock.patch.dict(
            "os.environ", {"HARDWON_MEMORY": str(folder / "brain"), "HARDWON_PROJECT": "default"}
        ):
            done = at_once(*words, stdin="")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code in (0, 1, 2), f"it ended with {done.exit_code}"

    yield run


def _command_lines() -> list[Any]:
    return [
        ["recall", "login fails", "--json", "-k", "3"],
        [
            "remember",
            "it broke",
            "--outcome",
            "failure",
            "--tool",
            "code_interpreter",
            "--error-type",
            "runtime",
            "--tag",
            "x",
        ],
        ["context", "fix login", "--budget", "200"],
        ["advise", "restart it", "--json"],
        ["browse", "--limit", "3", "--since", "2026-01-01"],
        ["map", "--depth", "2", "--min-share", "0.1"],
        ["recent", "--limit", "2"],
        ["stats", "--json"],
        ["config"],
    ]


def _knowledge() -> list[bytes]:
    told = {
        "general_patterns": {"TIMEOUT": {"count": 3, "note": "wait"}},
        "failure_patterns": {"x": ["a", "b"]},
        "last_updated": "2026-01-01",
    }
    return [json.dumps(told).encode(), b"{}"]


def _made_in_passing(make: Any) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return make(Path(folder))


_EVENTS: Final = ("hardwon.store.query", "hardwon.store.sqlite.engine", "hardwon.store.base")

MEMORY_TARGETS: Final = (
    Target(
        "load",
        ("hardwon.memory.transfer",),
        "bytes",
        lambda: [b"\n".join(records()[:9]), *records()[:5]],
        _taken_in("in.jsonl", lambda file, memory: memory.load(file)),
    ),
    Target(
        "load of records",
        (
            "hardwon.learn.tallies",
            "hardwon.learn.actions",
            "hardwon.text.sentences",
            "hardwon.text.shell",
            "hardwon.fixes.tables",
        ),
        "json",
        records,
        _taken_in("in.jsonl", lambda file, memory: memory.load(file)),
    ),
    Target(
        "load of a data set",
        ("hardwon.tree.datasets.check",),
        "text",
        data_sets,
        _taken_in("in.txt", lambda file, memory: load_dataset(memory, file, dry_run=True)),
    ),
    Target(
        "tree",
        ("hardwon.tree.mirror", "hardwon.tree.edits", "hardwon.tree.files"),
        "json",
        records,
        _tree,
    ),
    Target(
        "question",
        ("hardwon.memory.context", "hardwon.memory.tokens", "hardwon.brief.compose"),
        "text",
        texts,
        _asked,
    ),
    Target(
        "filters",
        ("hardwon.search.terms",),
        "value",
        lambda: [
            {"kind": "fix", "since": "2026-01-01", "tag": "x"},
            {"key": "a=b", "path": "src/*"},
        ],
        _filtered,
    ),
    Target(
        "fix attempt",
        ("hardwon.fixes.ai_memory",),
        "value",
        lambda: [
            {"issue": issue, "reply": {"analysis": "a", "fix_commands": ["b"], "confidence": 0.5}}
            for issue in issues()
        ],
        _attempted,
    ),
    Target(
        "training memory adopted",
        ("hardwon.training.functions", "hardwon.learn.support"),
        "json",
        training_memories,
        _taken_in("in.json", lambda file, memory: episode_adoption.adopt(file, memory)),
    ),
    Target(
        "fix history rows",
        ("hardwon.fixes.adopt",),
        "value",
        lambda: [dict(legacy_fixes.ORDINARY)],
        _old_rows,
    ),
    Target(
        "fix history file",
        ("hardwon.fixes.legacy",),
        "bytes",
        lambda: _made_in_passing(_old_database),
        _old_file,
    ),
    Target(
        "knowledge base",
        ("hardwon.fixes.knowledge_base", "hardwon.outside.files"),
        "json",
        _knowledge,
        _taken_in("knowledge_base.json", lambda file, memory: adopt_knowledge_base(file, memory)),
    ),
    Target(
        "memory file",
        ("hardwon.store.sqlite.connection", "hardwon.store.query"),
        "bytes",
        _databases,
        _memory_file,
    ),
    Target("backup", (), "bytes", _databases, _backup),
    Target("Claude Code hook", ("hardwon.capture.agents",), "json", hook_events, _hooked),
    Target(
        "packed vectors",
        ("hardwon.store.sqlite.search",),
        "bytes",
        lambda: [struct.pack("<3f", 0.1, 0.2, 0.3), b""],
        _vectors,
    ),
    Target("events", _EVENTS, "json", _event_bodies, _events),
    Target(
        "BTB question",
        ("hardwon.tree.engine",),
        "value",
        lambda: [
            {"pattern": "outcome=*/**/*.json", "intent": {"ticket": 7}, "before": "2026-01-01"}
        ],
        _engine,
    ),
    Target(
        "test results",
        ("hardwon.capture.tests",),
        "value",
        lambda: [
            {
                "node_id": "tests/a.py::t",
                "failed": True,
                "report": "E  assert 1 == 2",
                "run_id": "r",
            }
        ],
        _tested,
    ),
    Target(
        "MCP arguments",
        (
            "hardwon.surfaces.mcp.server",
            "hardwon.surfaces.mcp.tools",
            "hardwon.surfaces.operations",
        ),
        "value",
        _visits,
        _visited,
    ),
    Target(
        "HTTP request",
        (
            "hardwon.surfaces.rest.app",
            "hardwon.surfaces.rest.guard",
            "hardwon.surfaces.web.site",
            "hardwon.surfaces.web.pages",
            "hardwon.surfaces.web.records",
        ),
        "bytes",
        _requests,
        _requested,
    ),
    Target(
        "LLM answer",
        ("hardwon.outside.llm", "hardwon.outside.http"),
        "bytes",
        _model_replies,
        by(_model_answers),
    ),
    Target(
        "embedding answer",
        ("hardwon.outside.embedders",),
        "bytes",
        _vector_replies,
        by(_embedder_answers),
    ),
    Target(
        "server's answer",
        ("hardwon.surfaces.client",),
        "bytes",
        _server_replies,
        by(_server_answers),
    ),
    Target(
        "command line",
        (
            "hardwon.surfaces.cli.main",
            "hardwon.surfaces.cli.derived",
        ),
        "value",
        _command_lines,
        _commanded,
    ),
)
