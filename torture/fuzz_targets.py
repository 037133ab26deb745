"""The parsers of Hardwon that read what strangers wrote, each with valid inputs to begin from and
what must hold whatever becomes of them.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from unittest import mock
from urllib.parse import urlencode
from uuid import UUID

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import failures_corpus
import legacy_fixes
import plausible
import secrets_corpus
from hardwon import Memory
from hardwon.capture import agents
from hardwon.capture.protocols import AGENTS, read_event
from hardwon.errors import HardwonError
from hardwon.fixes.adopt import adopt_fix_history
from hardwon.fixes.ai_memory import AIMemory
from hardwon.outside.llm import ChatModel
from hardwon.records.reading import parse_record
from hardwon.surfaces.gate import Ask, Gate
from hardwon.surfaces.mcp.tools import TOOLS
from hardwon.surfaces.operations import OPERATIONS
from hardwon.tell import fence
from hardwon.text import failures
from hardwon.text.clean import clean_line
from hardwon.text.lines import read_line
from hardwon.text.programs import destroys, only_looks
from hardwon.training import shape
from hardwon.training.functions import new_agent_memory, record_episode
from hardwon.tree import files as tree_files
from hardwon.tree.datasets import generate, validate
from hardwon.tree.routing import Coherence, values_in
from hardwon.trust.access import Caller
from hardwon.trust.redact import redact
from serving import served

Kind = Literal["text", "bytes", "json", "value"]
Run = Callable[[Any], object]
_ANSWER_S: Final = 20.0
_PATIENCE_S: Final = 0.1


class Target(NamedTuple):
    """A parser. `begin` makes what it needs in a folder, and gives what takes an input: whatever
    that raises must be one of `refusals`, whatever it returns is of no matter.
    """

    name: str
    kind: Kind
    corpus: Callable[[], Sequence[Any]]
    begin: Callable[[Path], AbstractContextManager[Run]]
    refusals: tuple[type[BaseException], ...] = (HardwonError,)


TARGETS: Final[dict[str, Target]] = {}


def parser(
    name: str, kind: Kind, corpus: Callable[[], Sequence[Any]], *refusals: type[BaseException]
) -> Callable[[Run], Run]:
    """Adds a parser that needs nothing but its input."""

    def add(run: Run) -> Run:
        @contextmanager
        def begin(_: Path) -> Iterator[Run]:
            yield run

        TARGETS[name] = Target(name, kind, corpus, begin, (HardwonError, *refusals))
        return run

    return add


def in_folder(
    name: str, kind: Kind, corpus: Callable[[], Sequence[Any]]
) -> Callable[[Callable[[Path, Any], object]], None]:
    """Adds a parser of files, which gets a folder, too."""

    def add(run: Callable[[Path, Any], object]) -> None:
        @contextmanager
        def begin(folder: Path) -> Iterator[Run]:
            yield lambda data: run(folder, data)

        TARGETS[name] = Target(name, kind, corpus, begin)

    return add


def in_memory(
    name: str, kind: Kind, corpus: Callable[[], Sequence[Any]]
) -> Callable[[Callable[[Memory, Path, Any], object]], None]:
    """Adds a parser that gets a memory and a folder: where it refuses an input, the memory must be
    as it was, and the doctor has nothing to say after all of them.
    """

    def add(run: Callable[[Memory, Path, Any], object]) -> None:
        @contextmanager
        def begin(folder: Path) -> Iterator[Run]:
            with fill_memory(folder) as memory:
                yield refuse_changes(memory, lambda data: run(memory, folder, data))
                assert memory.doctor().ok, "the memory is as it should be after all of them"

        TARGETS[name] = Target(name, kind, corpus, begin)

    return add


@contextmanager
def fill_memory(folder: Path) -> Iterator[Memory]:
    with Memory(folder / "brain", "default", checkout=False) as memory:
        memory.add_many(list(plausible.records(30, seed=5)))
        yield memory


class ChangedError(AssertionError):
    """An input was refused, and the memory is not as it was."""


def refuse_changes(memory: Memory, run: Run) -> Run:
    def state() -> object:
        store = memory._project.store
        return store.counts(memory.project), store.change_mark(memory.project)

    def check(data: Any) -> None:
        before = state()
        try:
            run(data)
        except HardwonError:
            if state() != before:
                raise ChangedError(
                    "an input was refused, and the memory is not as it was"
                ) from None
            raise

    return check


# --- what is valid ---


def reports() -> list[str]:
    alike = [report for group in failures_corpus.ALIKE.values() for report in group]
    return [*alike, *failures_corpus.FAILED, *failures_corpus.FINE]


def texts() -> list[str]:
    rng = random.Random(1)
    return [
        *(plausible.text(rng, 3, 60) for _ in range(40)),
        "We changed it yesterday because it broke; I think the cache (see docs/cache.md) was stale.",
        "Deploys of shop-api v2.3.1 fail with HTTP 503 since 2026-03-01, https://example.org/x?y=1#z",
        "`rm -rf build/` then \"npm ci\" in 'web/app'; see src/auth/login.py:42 and KeyError: 'id'",
        "إصلاح الخطأ في ملف login.py, 修复登录错误, исправлено в версии 1.2.3 🎉",
    ]


def records() -> list[bytes]:
    return [record.to_json().encode() for record in plausible.records(60, seed=3)]


def shell_lines() -> list[str]:
    return [
        "cd web && npm test -- --watch=false | tee out.txt",
        "FOO=1 python -m pytest -q tests/test_a.py::test_b 2>&1 || exit 1",
        'for f in *.py; do echo "$f"; done; if [ -x a ]; then ./a; fi',
        "cat <<'EOF' > a.txt\nline $x `id`\nEOF",
        "sudo -u app env -i PATH=/bin make -j4 check # not a comment ' in it",
    ]


def secret_texts() -> list[str]:
    return [*(template for _, template, _ in secrets_corpus.SECRETS), *secrets_corpus.ORDINARY]


def data_sets() -> list[str]:
    made = generate("small", seed=4)[:12]
    return [json.dumps(made), "\n".join(map(json.dumps, made)), f"memories = {made!r}\n"]


def issues() -> list[Any]:
    rng = random.Random(2)
    return [
        *(plausible.issue(rng).model_dump(mode="json") for _ in range(6)),
        {"model": "qwen2.5:7b-q4", "type": "TIMEOUT", "environment": {"a": [1, None]}},
    ]


def training_episodes() -> list[Any]:
    card = {"error_type": "logic", "description": "forgot time zones", "fix": "use UTC"}
    return [
        {"task_id": "triage", "score": 0.5, "mistakes": ["guessed"], "successes": ["read the log"]},
        {"task_id": "deploy", "score": 1.0, "trajectory_summary": "well", "mistake_cards": [card]},
    ]


def training_memories() -> list[bytes]:
    made = []
    for count in (0, 1, 40):
        memory = new_agent_memory()
        for episode in training_episodes() * count:
            record_episode(memory, episode)
        made.append(shape.encode(memory))
    return made


def examples() -> dict[str, dict[str, Any]]:
    """For every operation, arguments that it takes."""
    return {
        name: {
            key: field.examples[0]
            for key, field in operation.takes.model_fields.items()
            if field.examples
        }
        for name, operation in OPERATIONS.items()
    }


def hook_events() -> list[bytes]:
    bash = {
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
        "tool_response": {"stdout": "1 failed", "stderr": "", "exit_code": 1},
    }
    events = [
        {"hook_event_name": "SessionStart", "cwd": "/nowhere", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "fix the login"},
        {"hook_event_name": "PreToolUse", **bash},
        {"hook_event_name": "PostToolUseFailure", "error": "exit code 1", **bash},
        {"hook_event_name": "beforeShellExecution", "command": "make --budget 7", "cwd": "/x"},
        {"event": "after", "session": "s1", "command": "make", "exit_code": 2, "seconds": 1.5},
    ]
    return [json.dumps(event).encode() for event in events]


# --- texts and records ---


@parser("record", "json", records)
def _record(data: bytes) -> None:
    record = parse_record(data)
    assert parse_record(record.to_json()) == record, "a record is read back as what it is"


@parser("failure report", "text", reports)
def _failure(text: str) -> None:
    failures.failure_hash(text)
    failures.shows_error(text)


@parser("shell line", "text", shell_lines)
def _shell_line(line: str) -> None:
    read_line(line)
    only_looks(line)
    destroys(line)


@parser("redaction", "text", secret_texts)
def _redacted(text: str) -> None:
    once, _ = redact(text)
    assert redact(once)[0] == once, "nothing is left to take out"


@parser("fence", "text", texts)
def _fenced(text: str) -> None:
    assert "\n" not in clean_line(text, 200)
    fence.fence_lines([clean_line(line, 300) for line in text.split("\n")[:20]], "0123456789abcdef")


# --- the designs ---


def _schemas() -> list[Any]:
    learning = {"insight_type": {"r/[a-z]+/": None, "r/[ab]c/": "x={y}"}}
    altitude = {
        "altitude": {">100": None, "10-100": "site={site=unknown}", "<10": "{day}/{hour=0}"}
    }
    schema = {"outcome": {"success|failure": altitude, "learning": learning}}
    packets = [
        {"outcome": "success", "altitude": 150},
        {"outcome": "learning", "insight_type": "c"},
    ]
    return [{"schema": schema, "packet": packet} for packet in packets]


@parser("routing", "value", _schemas)
def _routed(value: Any) -> None:
    parts = value if isinstance(value, dict) else {"schema": value, "packet": {}}
    schema: Any = parts.get("schema")
    packet: Any = parts.get("packet")
    routed = Coherence(schema).route(packet)
    values_in(routed.folder)
    assert ".." not in routed.folder.split("/"), "a route stays below its root"


@parser("tree file", "json", records, tree_files.UnreadableError)
def _tree_file(data: bytes) -> None:
    tree_files.read_back(data, "20260302_090001_cache_2681629a0b68.json", 1_700_000_000_000_000_000)


@in_folder("data set", "text", data_sets)
def _data_set(folder: Path, text: str) -> None:
    file = folder / ("set.json", "set.jsonl", "set.py", "set.txt")[len(text) % 4]
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    validate(file)


@in_memory("tree", "json", records)
def _tree(memory: Memory, folder: Path, data: bytes) -> None:
    if memory.tree.mirror is None:
        memory.tree.make()
    place = folder / "brain" / "outcome=failure" / "tool=code_interpreter" / "error_type=runtime"
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"by_hand_{len(data) % 7}.json"
    file.write_bytes(data)
    memory.tree.sync()
    # edited, it may belong in another folder
    there = [path.read_bytes() for path in (folder / "brain").rglob(file.name)]
    assert data in there, "a file that somebody wrote stays what it is"


@parser("training memory", "json", training_memories)
def _training_memory(data: bytes) -> None:
    memory, _ = shape.decode(data)
    again, dropped = shape.decode(shape.encode(memory))
    assert dropped == [], "what was brought up to date stays so"
    same = shape.encode(again) == shape.encode(memory)
    assert same, "a training memory is read back as what it is"


@parser("training episode", "value", training_episodes)
def _training_episode(episode: Any) -> None:
    record_episode(new_agent_memory(), episode)
    record_episode(new_agent_memory(), episode)


def _attempt_inputs() -> list[Any]:
    reply = {"analysis": "a", "fix_commands": ["b"], "confidence": 0.5}
    return [{"issue": issue, "reply": reply} for issue in issues()]


@in_folder("fix attempt", "value", _attempt_inputs)
def _attempted(folder: Path, value: Any) -> None:
    parts = value if isinstance(value, dict) else {"issue": value}
    issue: Any = parts.get("issue")
    reply: Any = parts.get("reply")
    with AIMemory(folder / "AIMemory") as history:
        attempts = history.memory.fixes.totals().attempts
        try:
            history.record_fix_attempt(issue, reply, True, False, 1.0)
        except HardwonError:
            assert history.memory.fixes.totals().attempts == attempts, (
                "what was refused is not kept"
            )
            raise
        history.query_similar_issues(issue)
        history.build_context_for_ai(issue)


@in_memory("fix history rows", "value", lambda: [dict(legacy_fixes.ORDINARY)])
def _old_rows(memory: Memory, folder: Path, row: Any) -> None:
    values = row if isinstance(row, dict) else {"notes": row}
    known = {name: _for_sqlite(values[name]) for name in values.keys() & legacy_fixes.ORDINARY}
    file = folder / "old.db"
    file.unlink(missing_ok=True)
    legacy_fixes.create(file, loose=True)
    legacy_fixes.add(file, [known])
    adopt_fix_history(file, memory)


def _for_sqlite(value: Any) -> Any:
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


def _made_in_passing(make: Callable[[Path], list[bytes]]) -> Callable[[], list[bytes]]:
    def corpus() -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            return make(Path(folder))

    return corpus


def _old_files(folder: Path) -> list[bytes]:
    made = (
        legacy_fixes.many(folder / "made.db", 20),
        legacy_fixes.make(folder / "b.db", legacy_fixes.AWKWARD),
    )
    return [path.read_bytes() for path in made]


@in_memory("fix history file", "bytes", _made_in_passing(_old_files))
def _old_file(memory: Memory, folder: Path, data: bytes) -> None:
    for left in folder.glob("old.db*"):
        left.unlink()
    (folder / "old.db").write_bytes(data)
    adopt_fix_history(folder / "old.db", memory)


# --- whole memories ---


@in_memory("load", "json", records)
def _load(memory: Memory, folder: Path, data: bytes) -> None:
    (folder / "in.jsonl").write_bytes(data)
    memory.load(folder / "in.jsonl")


@in_memory("asking", "text", texts)
def _asked(memory: Memory, _: Path, text: str) -> None:
    memory.recall(text)
    memory.context(text, budget_tokens=200)
    memory.advise(text, error=text[:2000])


def _databases(folder: Path) -> list[bytes]:
    with fill_memory(folder) as memory:
        memory.backup(folder / "copy.bak")
    return [(folder / "copy.bak").read_bytes()]


@in_folder("backup", "bytes", _made_in_passing(_databases))
def _backup(folder: Path, data: bytes) -> None:
    place = folder / "restored"
    shutil.rmtree(place, ignore_errors=True)
    (folder / "copy.bak").write_bytes(data)
    Memory.restore(folder / "copy.bak", place)
    with Memory(place, "default", checkout=False) as memory:
        assert memory.doctor().ok, "what was restored is sound"


# --- files and events of other programs ---


@in_memory("an agent's hook", "json", hook_events)
def _hook(memory: Memory, _: Path, data: bytes) -> None:
    chosen = {"memory": memory.location, "project": "default"}
    for agent in AGENTS:
        event = read_event(agent, data)
        if event is not None:  # the folder would lead this process away
            with mock.patch.object(agents, "Memory", _NoCheckout):
                agents.answer(replace(event, folder=""), agent, chosen, agents.Manner("ask"))


class _NoCheckout(Memory):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "checkout": False})


# --- requests ---


def _calls() -> list[Any]:
    named = {each.tool: examples()[each.name] for each in OPERATIONS.values() if each.tool in TOOLS}
    named |= {"before": {"task": "log in", "action": "make"}}
    return [{"tool": tool, "arguments": arguments} for tool, arguments in named.items()]


@in_memory("MCP arguments", "value", _calls)
def _called(memory: Memory, _: Path, value: Any) -> None:
    call = value if isinstance(value, dict) else {"tool": value}
    tool, arguments = str(call.get("tool")), call.get("arguments")
    gate = Gate(
        lambda name: Memory(memory.location, name, checkout=False), None, requests_per_s=1e9
    )
    try:
        if tool in TOOLS:
            ask = Ask(gate, Caller("tester", "write"), "default")
            TOOLS[tool].run(ask, arguments if isinstance(arguments, dict) else {})
    finally:
        gate.close()


def _requests() -> list[bytes]:
    made = []
    for name, arguments in examples().items():
        operation = OPERATIONS[name]
        path = f"/api/v1/projects/default{operation.path}".replace(
            "{record_id}", str(arguments.get("record_id", "x"))
        )
        body = json.dumps(arguments).encode() if operation.method == "POST" else b""
        query = "" if body else f"?{urlencode(arguments)}"
        made.append(_request(operation.method, path + query, body))
    names = "overview search?q=login map?depth=2 fixes review lab?query=a changes".split()
    pages = ["/", "/ui/", *(f"/ui/default/{name}" for name in (*names, f"record/{UUID(int=5)}"))]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search"}}
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


@contextmanager
def _requested(folder: Path) -> Iterator[Run]:
    """Whole requests to a server, as bytes: whatever they are, it never has a problem of its
    own.
    """
    with served(folder, open_to=Caller("tester", "write")) as running:
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


TARGETS["HTTP request"] = Target("HTTP request", "bytes", _requests, _requested)


# --- answers of others ---


@contextmanager
def _answering(data: bytes) -> Iterator[str]:
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


def _http(value: Any, status: str = "200 OK") -> bytes:
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def _model_replies() -> list[bytes]:
    reply = {"choices": [{"message": {"role": "assistant", "content": "An answer."}}]}
    chunked = (
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n'
    )
    statuses = ("401 No", "429 Wait", "500 Oh", "302 Found")
    return [_http(reply), chunked, *(_http({"error": {"message": "no"}}, it) for it in statuses)]


@parser("LLM answer", "bytes", _model_replies)
def _model_answers(data: bytes) -> None:
    with _answering(data) as address:
        model = ChatModel(address, "model", "key-of-somebody-0123456789", timeout_s=_ANSWER_S)
        model.complete("system", "user")
