"""Every parser of Hardwon, with valid inputs to begin from and what must hold whatever becomes of
them.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlencode

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import failures_corpus
import plausible
import secrets_corpus
from hardwon import limits
from hardwon.adapters import items
from hardwon.brief import fence
from hardwon.brief import lines as lesson
from hardwon.capture import agent_settings as json_settings
from hardwon.capture import background, git_hooks
from hardwon.capture import run as attempts
from hardwon.capture import tests as test_runs
from hardwon.capture.agent_settings import AgentSettings
from hardwon.capture.protocols import AGENTS, Reply, read_event, written
from hardwon.capture.tests import name_of_test, names_test
from hardwon.errors import HardwonError
from hardwon.learn import prompts as distil
from hardwon.learn import prompts as restating
from hardwon.learn import tallies as signatures
from hardwon.memory import places as place
from hardwon.memory.care import parse_cursor, write_cursor
from hardwon.memory.places import Settings
from hardwon.outside import git as checkout
from hardwon.outside.git import Repository
from hardwon.outside.llm import ChatModel
from hardwon.outside.locations import without_password
from hardwon.records.fields import check_time, parse_id, parse_time
from hardwon.records.kinds import Fact
from hardwon.records.reading import parse_record
from hardwon.search import times
from hardwon.store import query as packing
from hardwon.store.sqlite.connection import file_system_of
from hardwon.surfaces import adopt as adoption
from hardwon.surfaces.mcp import clients as mcp_clients
from hardwon.surfaces.operations import OPERATIONS
from hardwon.surfaces.rest import guard as rest_settings
from hardwon.surfaces.rest.app import from_body, from_query
from hardwon.text import entities, failures, sentences, terms
from hardwon.text import entities as provenance
from hardwon.text import shell as shell_lines
from hardwon.text.clean import clean_line
from hardwon.text.globs import Glob
from hardwon.text.outcomes import guess_error_type, guess_outcome
from hardwon.text.terms import canonical
from hardwon.text.tokens import count_tokens, cut_to_tokens
from hardwon.training import shape as episode_file
from hardwon.training.functions import new_agent_memory, record_episode
from hardwon.tree import files as tree_files
from hardwon.tree.datasets import generate, validate
from hardwon.tree.datasets import read as data_set_file
from hardwon.tree.routing import Coherence, values_in
from hardwon.trust.redact import names_secret, redact, redact_json

Kind = Literal["text", "bytes", "json", "value"]
Run = Callable[[Any], object]


@dataclass(frozen=True)
class Target:
    """A parser. `covers` are the modules whose parsing it goes through. `begun` makes what it needs
    in a folder, and gives what takes an input: whatever that raises must be one of `refusals`,
    whatever it returns is of no matter.
    """

    name: str
    covers: tuple[str, ...]
    kind: Kind
    corpus: Callable[[], Sequence[Any]]
    begun: Callable[[Path], AbstractContextManager[Run]]
    refusals: tuple[type[BaseException], ...] = (HardwonError,)


def by(run: Run) -> Callable[[Path], AbstractContextManager[Run]]:
    """For what needs nothing but its input."""

    @contextmanager
    def begun(_: Path) -> Iterator[Run]:
        yield run

    return begun


# --- what is valid ---


def reports() -> list[str]:
    told = [report for group in failures_corpus.ALIKE.values() for report in group]
    return [*told, *failures_corpus.FAILED, *failures_corpus.FINE]


def texts() -> list[str]:
    rng = random.Random(1)
    told = [plausible.text(rng, 3, 60) for _ in range(40)]
    return [
        *told,
        "We changed it yesterday because it broke; I think the cache (see docs/cache.md) was "
        "stale. It doesn't, e.g., expire.",
        "Deploys of shop-api v2.3.1 to eu-west-1 fail with HTTP 503 since 2026-03-01, says "
        "https://status.example.org/x?y=1#z",
        "`rm -rf build/` then \"npm ci\" in 'web/app'; see src/auth/login.py:42 and KeyError: 'id'",
        "إصلاح الخطأ في ملف login.py, 修复登录错误, исправлено в версии 1.2.3 🎉",
    ]


def records() -> list[bytes]:
    return [record.to_json().encode() for record in plausible.records(60, seed=3)]


def lines_of_shell() -> list[str]:
    return [
        "cd web && npm test -- --watch=false | tee out.txt",
        "FOO=1 python -m pytest -q tests/test_a.py::test_b 2>&1 || exit 1",
        'for f in *.py; do echo "$f"; done; if [ -x a ]; then ./a; fi',
        "git commit -m 'it''s done' && git push origin HEAD:main",
        "cat <<'EOF' > a.txt\nline $x `id`\nEOF",
        "sudo -u app env -i PATH=/bin make -j4 check # not a comment ' in it",
        "curl -sS -H 'Authorization: Bearer abc' https://example.org/a?b=c&d=e",
    ]


def secrets_told() -> list[str]:
    return [*(template for _, template, _ in secrets_corpus.SECRETS), *secrets_corpus.ORDINARY]


def data_sets() -> list[str]:
    made = generate("small", seed=4)[:12]
    listed = ",\n".join(repr(memory) for memory in made)
    return [
        json.dumps(made),
        "\n".join(map(json.dumps, made)),
        f"memories = [{listed}]\n",
        f"# a set\nx = 1\nmemories = [\n{listed}]",
    ]


def issues() -> list[Any]:
    rng = random.Random(2)
    told = [plausible.issue(rng).model_dump(mode="json") for _ in range(6)]
    return [
        *told,
        {
            "model": "qwen2.5:7b-instruct-q4",
            "type": "TIMEOUT",
            "description": "x",
            "environment": {"a": [1, None]},
        },
    ]


# --- what must hold ---


def _record(data: bytes) -> None:
    found = parse_record(data)
    assert parse_record(found.to_json()) == found, "a record is read back as what it is"


def _literal(text: str) -> None:
    data_set_file.read_python(text)


@contextmanager
def _data_set(folder: Path) -> Iterator[Run]:
    def run(text: str) -> None:
        file = folder / ("set.json", "set.jsonl", "set.py", "set.txt")[len(text) % 4]
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        validate(file)

    yield run


def _tree_file(data: bytes) -> None:
    tree_files.read_back(data, "20260302_090001_cache_2681629a0b68.json", 1_700_000_000_000_000_000)


def _training_memory(data: bytes) -> None:
    memory, _ = episode_file.decoded(data)
    again, dropped = episode_file.decoded(episode_file.encoded(memory))
    assert dropped == 0, "what was brought up to date stays so"
    assert episode_file.encoded(again) == episode_file.encoded(memory), (
        "a training memory is read back as what it is"
    )


def _training_episode(given: Any) -> None:
    record_episode(new_agent_memory(), given, lenient=True)
    record_episode(new_agent_memory(), given)


def _failure(text: str) -> None:
    failures.failure_hash(text)
    failures.shows_error(text)
    failures.error_core(text)
    attempts.plain(text.encode("utf-8", "surrogatepass"))


def _signature(given: Any) -> None:
    assert len(signatures.generate_issue_signature(given)) == len(
        signatures.fix_history_signature(given)
    )
    signatures.model_family(str(given.get("model")))


def _shell_line(line: str) -> None:
    shell_lines.parts_of(line)
    shell_lines.only_looks(line)
    shell_lines.exit_code_tells(line)
    shell_lines.after_leading_cd(line)
    attempts.typed_line(line)
    shell_lines.runs_tests(line.split())
    provenance.path_words(line)


_AT: Final = datetime(2026, 3, 2, tzinfo=UTC)


def _sentence(text: str) -> None:
    sentences.lint(text, _AT)
    entities.find(text)
    terms.say_the_same(terms.words_of(text), terms.words_of(text[::-1]))
    assert canonical(canonical(text)) == canonical(text), "the canonical form of a text is its own"


def _rules(reply: str) -> None:
    rules = distil.rules_from(reply)
    assert rules == distil.rules_from(json.dumps(rules)), "rules are read back as what they are"


def _restated(reply: str) -> None:
    fact = Fact(content="Uploads over 2 GB fail with HTTP 413 in shop-api.", fact_type="error")
    restating.sentence_from(reply, fact)


def _redacted(text: str) -> None:
    once, _ = redact(text)
    assert redact(once)[0] == once, "nothing is left to take out"
    names_secret(text[:300])
    provenance.holds_secrets(text[:300])


def _searched(text: str) -> None:
    wanted = terms.query_terms(text)
    terms.index_text(text)
    list(terms.matches(text, wanted))
    times.time_asked(text, datetime(2026, 11, 17, tzinfo=UTC))


def _counted(text: str) -> None:
    count_tokens(text)
    assert count_tokens(cut_to_tokens(text, 50)) <= 50, "what is cut fits"


def _fenced(text: str) -> None:
    mark = "0123456789abcdef"
    assert "\n" not in clean_line(text, 200)
    shown = fence.fenced([clean_line(line, 300) for line in text.split("\n")[:20]], mark)
    assert isinstance(shown, str)
    line = clean_line(text, limits.LESSON_CHARS_MAX)
    lesson.without_mark(line)
    lesson.command_without_mark(line)
    lesson.shown_name(text)


def _glob(pattern: str) -> None:
    found = Glob(pattern)
    for path in (
        "outcome=failure/tool=bash/a.json",
        "a" * 300,
        "a/" * 60 + "b.json",
        pattern[:300],
    ):
        found.matches(path)


def _item(given: Any) -> None:
    told = given if isinstance(given, dict) else {"value": given, "filter": given}
    conditions = items.check_filter(told.get("filter"))
    value = items.json_object("value", told.get("value"))
    items.passes(value, conditions)
    assert items.passes(value, {}), "without conditions everything passes"


def _routed(given: Any) -> None:
    told = given if isinstance(given, dict) else {"schema": given, "packet": {}}
    schema: Any = told.get("schema")
    packet: Any = told.get("packet")
    router = Coherence(schema)
    routed = router.route(packet)
    values_in(routed.folder)
    assert ".." not in routed.folder.split("/"), "a route stays below its root"
    intent = (
        {key: value for key, value in packet.items() if isinstance(key, str) and key.isidentifier()}
        if isinstance(packet, dict)
        else {}
    )
    router.receive(**intent)


def _derived(paths: Any) -> None:
    Coherence.derive(paths)


def _time(given: Any) -> None:
    assert check_time("at", given).utcoffset() is not None
    parse_time(given)


def _cursor(text: str) -> None:
    place_ = parse_cursor(text)
    assert parse_cursor(write_cursor(place_)) == place_, "a cursor is read back as what it is"


def _place(text: str) -> None:
    parse_id(text)
    shown = without_password(text)
    if text.startswith("postgresql://anna:hunter2hunter2@"):
        assert "hunter2hunter2" not in shown, "a password is shown"
    place.find_place(text, Path("/nowhere"))


def _query(given: str) -> None:
    """The first word is the operation's name."""
    name, _, query = given.partition("?")
    operation = OPERATIONS.get(name) or OPERATIONS["recall"]
    from_query(operation.takes, {}, query.encode("utf-8", "surrogatepass"))


def _body(data: bytes) -> None:
    name, _, body = data.partition(b"\n")
    operation = OPERATIONS.get(name.decode(errors="replace")) or OPERATIONS["recall"]
    from_body(operation.takes, {}, body)


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


@contextmanager
def _settings(folder: Path) -> Iterator[Run]:
    file = folder / ".hardwon" / "config.toml"
    file.parent.mkdir()

    def run(text: str) -> None:
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        Settings.read({}, {"HARDWON_PROJECT": text[:40].replace("\0", "")}, folder)

    yield run


@contextmanager
def _settings_of_others(folder: Path) -> Iterator[Run]:
    ours = AgentSettings("claude-code", "project", folder / "inner")
    file = ours.path

    def run(data: bytes) -> None:
        file.parent.mkdir(
            parents=True, exist_ok=True
        )  # goes with the file where nothing is left in it
        file.write_bytes(data)
        settings, text = json_settings.read(file, 1_000_000)
        assert (
            json.loads(json_settings.rendered(settings, text).removeprefix("\ufeff")) == settings
        ), "settings stay what they are"
        ours.install("hardwon hooks run claude-code")
        ours.status()
        ours.remove()
        if file.exists():
            mcp_clients.write(mcp_clients.CLIENTS["cursor"], file, "hardwon", ["hardwon", "mcp"])
            mcp_clients.take_out(mcp_clients.CLIENTS["cursor"], file, "hardwon")

    yield run


@contextmanager
def _git_hooks(folder: Path) -> Iterator[Run]:
    file = folder / "hooks" / "post-commit"

    def run(data: bytes) -> None:
        file.parent.mkdir(exist_ok=True)
        for left in file.parent.iterdir():
            left.unlink()
        file.write_bytes(data)
        git_hooks.install(file.parent)
        git_hooks.remove(file.parent)
        assert data.startswith(b"#!/bin/sh\n# Installed by hardwon") or file.read_bytes() == data, (
            "a hook of somebody's comes back"
        )

    yield run


@contextmanager
def _git_folder(folder: Path) -> Iterator[Run]:
    git = folder / ".git"
    (git / "refs" / "heads").mkdir(parents=True)

    def run(data: bytes) -> None:
        head, _, packed = data.partition(b"\n\n")
        (git / "HEAD").write_bytes(head)
        (git / "packed-refs").write_bytes(packed)
        found = Repository(folder).head
        assert found.branch.isprintable()

    yield run


def _git_answer(data: bytes) -> None:
    checkout._read_since(data)
    checkout._read_listing(data)


def _test_name(text: str) -> None:
    name = name_of_test(text)
    assert name.isprintable()
    names_test(text, name)


def _outcome(text: str) -> None:
    guess_outcome(text)
    guess_error_type(text)


def _hook_event(data: bytes) -> None:
    for agent in AGENTS:
        if event := read_event(agent, data):
            written(agent, data, Reply("say", "ask", "notice"))
            background.parse(["hooks", "run", agent, *event.command.split()])


def _unpacked(text: str) -> None:
    packing.unpack(text)
    packing.plain_body(json.dumps({"packed": text}, separators=(",", ":")))


def _llm_address(text: str) -> None:
    ChatModel(text, "model")
    ChatModel.from_environment({"API_BASE_URL": text, "LLM_MODEL": text, "GROQ_API_KEY": text[:80]})


def _server_name(text: str) -> None:
    allowed: dict[str, Any] = {"allow_origins" if "://" in text else "allow_hosts": (text,)}
    rest_settings.ServerOptions("127.0.0.1", 80, "default", Path("/nowhere"), **allowed)


@contextmanager
def _traceback(folder: Path) -> Iterator[Run]:
    yield lambda text: test_runs._files("tests/test_a.py::test_b", text, folder, folder)


@contextmanager
def _store_kind(folder: Path) -> Iterator[Run]:
    def run(data: bytes) -> None:
        file = folder / ("a.json", "a.jsonl", "a.py", "a.db")[len(data) % 4]
        file.write_bytes(data)
        adoption.kind_of(file)

    yield run


def _schemas() -> list[Any]:
    schema = {
        "outcome": {
            "success|failure": {
                "altitude": {">100": None, "10-100": "site={site=unknown}", "<10": "{day}/{hour=0}"}
            },
            "learning": {"insight_type": {"r/[a-z]+/": None, "r/(a|b)*c/": "x={y}"}},
        }
    }
    packets = [
        {"outcome": "success", "altitude": 150},
        {"outcome": "learning", "insight_type": "abc", "y": 1},
        {"outcome": 3.5},
    ]
    return [{"schema": schema, "packet": packet} for packet in packets] + [
        {"schema": None, "packet": {"outcome": "failure"}}
    ]


def _bodies() -> list[bytes]:
    return [f"{name}\n{json.dumps(said)}".encode() for name, said in examples().items()]


TARGETS: Final = (
    Target(
        "record",
        ("hardwon.records.kinds", "hardwon.records.fields", "hardwon.records.reading"),
        "json",
        records,
        by(_record),
    ),
    Target("Python data set", ("hardwon.tree.datasets.read",), "text", data_sets, by(_literal)),
    Target(
        "data set",
        ("hardwon.tree.datasets.check",),
        "text",
        data_sets,
        _data_set,
    ),
    Target(
        "tree file",
        ("hardwon.tree.files",),
        "json",
        records,
        by(_tree_file),
        (HardwonError, tree_files.UnreadableError),
    ),
    Target(
        "training memory",
        ("hardwon.training.shape",),
        "json",
        lambda: training_memories(),
        by(_training_memory),
    ),
    Target(
        "training episode",
        ("hardwon.training.shape",),
        "value",
        lambda: training_episodes(),
        by(_training_episode),
    ),
    Target(
        "failure report",
        ("hardwon.text.failures", "hardwon.capture.run"),
        "text",
        reports,
        by(_failure),
    ),
    Target("issue signature", ("hardwon.learn.tallies",), "value", issues, by(_signature)),
    Target(
        "shell line",
        ("hardwon.text.shell", "hardwon.text.entities"),
        "text",
        lines_of_shell,
        by(_shell_line),
    ),
    Target(
        "sentence",
        (
            "hardwon.text.sentences",
            "hardwon.text.entities",
        ),
        "text",
        texts,
        by(_sentence),
    ),
    Target("LLM rules", ("hardwon.learn.prompts",), "text", lambda: llm_replies(), by(_rules)),
    Target(
        "LLM restatement", ("hardwon.learn.prompts",), "text", lambda: llm_replies(), by(_restated)
    ),
    Target("LLM address", (), "text", lambda: addresses(), by(_llm_address)),
    Target("redaction", ("hardwon.trust.redact",), "text", secrets_told, by(_redacted)),
    Target(
        "redaction of JSON",
        (),
        "value",
        lambda: [json.loads(each) for each in records()],
        by(redact_json),
    ),
    Target(
        "search terms", ("hardwon.text.terms", "hardwon.search.times"), "text", texts, by(_searched)
    ),
    Target("tokens", ("hardwon.text.tokens",), "text", texts, by(_counted)),
    Target("fence", ("hardwon.brief.fence", "hardwon.brief.lines"), "text", texts, by(_fenced)),
    Target(
        "glob",
        ("hardwon.text.globs",),
        "text",
        lambda: ["outcome=*/**/*.json", "**", "a/[!b-d]?/x*.json", "[]]*", ".*/?"],
        by(_glob),
    ),
    Target("routing", ("hardwon.tree.routing",), "value", _schemas, by(_routed)),
    Target(
        "item",
        ("hardwon.adapters.items",),
        "value",
        lambda: [
            {
                "value": {"score": 3, "by": {"name": "a"}, "tags": ["x", 1.5]},
                "filter": {"score": {"$gte": 2}},
            },
            {
                "value": {"score": "12", "done": True},
                "filter": {"by": {"name": {"$ne": "b"}}, "tags": ["x", {"$lt": "2"}]},
            },
        ],
        by(_item),
    ),
    Target(
        "routing by paths",
        (),
        "value",
        lambda: [["a/outcome=x/b=2/c.json", "a/outcome=y/d.json"], ["x=1"]],
        by(_derived),
    ),
    Target(
        "time",
        (),
        "value",
        lambda: ["2026-03-02T09:00:00Z", 1_772_441_600, 1.5e9, "2026-03-02", "20260302T09"],
        by(_time),
    ),
    Target("cursor", ("hardwon.memory.care",), "text", lambda: cursors(), by(_cursor)),
    Target(
        "place",
        ("hardwon.outside.locations", "hardwon.memory.places"),
        "text",
        lambda: addresses(),
        by(_place),
    ),
    Target(
        "REST query",
        ("hardwon.surfaces.rest.app", "hardwon.surfaces.operations"),
        "text",
        lambda: queries(),
        by(_query),
    ),
    Target("REST body", ("hardwon.surfaces.operations",), "bytes", _bodies, by(_body)),
    Target(
        "settings file",
        ("hardwon.memory.places",),
        "text",
        lambda: ['project = "a"\nauthor = "b"\n', 'memory = "x/y.db"\n'],
        _settings,
    ),
    Target(
        "settings of others",
        ("hardwon.capture.agent_settings", "hardwon.surfaces.mcp.clients"),
        "json",
        lambda: settings_of_others(),
        _settings_of_others,
    ),
    Target(
        "git hooks",
        ("hardwon.capture.git_hooks",),
        "bytes",
        lambda: [b"#!/bin/sh\necho mine\n", git_hooks.script().encode()],
        _git_hooks,
    ),
    Target("git folder", ("hardwon.outside.git",), "bytes", lambda: git_folders(), _git_folder),
    Target(
        "git answer",
        ("hardwon.outside.git",),
        "bytes",
        lambda: [b"R100\0a.py\0b.py\0A\0c.py\0", b"H src/a.py\0? b c.py\0"],
        by(_git_answer),
    ),
    Target(
        "test name",
        ("hardwon.capture.tests",),
        "text",
        lambda: ["tests/test_a.py::TestB::test_c[1-x]", "tests/a.py::t"],
        by(_test_name),
    ),
    Target(
        "guessed outcome",
        ("hardwon.text.outcomes",),
        "text",
        lambda: ["It did not work: TimeoutError", "All tests pass now"],
        by(_outcome),
    ),
    Target(
        "an agent's event",
        ("hardwon.capture.protocols", "hardwon.capture.background"),
        "json",
        lambda: hook_events(),
        by(_hook_event),
    ),
    Target(
        "packed body",
        ("hardwon.store.query",),
        "text",
        lambda: [packing.pack(each.decode()) for each in records()[:8]],
        by(_unpacked),
        (ValueError,),
    ),
    Target(
        "mounts",
        ("hardwon.store.sqlite.connection",),
        "text",
        lambda: mounts(),
        by(lambda text: file_system_of(Path("/a/b"), text)),
    ),
    Target(
        "server's name",
        ("hardwon.surfaces.rest.guard",),
        "text",
        lambda: ["tools.example.org:8080", "[::1]:80", "https://tools.example.org"],
        by(_server_name),
    ),
    Target("traceback of pytest", ("hardwon.capture.tests",), "text", reports, _traceback),
    Target(
        "store kind",
        ("hardwon.surfaces.adopt",),
        "bytes",
        lambda: [*records()[:5], *(text.encode() for text in data_sets())],
        _store_kind,
    ),
)


def training_memories() -> list[bytes]:
    made = []
    for count in (0, 1, 12, 40):
        memory = new_agent_memory()
        for each in training_episodes() * count:
            record_episode(memory, each)
        made.append(episode_file.encoded(memory))
    return made


def training_episodes() -> list[Any]:
    card = {"error_type": "logic", "description": "forgot time zones", "fix": "use UTC"}
    return [
        {
            "task_id": "triage",
            "score": 0.5,
            "steps": 3,
            "mistakes": ["guessed"],
            "successes": ["read the log"],
        },
        {
            "task_id": "deploy",
            "score": 1.0,
            "trajectory_summary": "all went well",
            "mistake_cards": [card],
        },
    ]


def llm_replies() -> list[str]:
    rules = {
        "rules": [
            "[WORKS] Read the log before restarting anything.",
            "[AVOID] Do not guess, e.g. at time zones.",
        ]
    }
    sentence = {"sentence": "Uploads over 2 GB fail with HTTP 413 in shop-api."}
    return [
        json.dumps(rules),
        f"```json\n{json.dumps(rules, indent=1)}\n```",
        json.dumps(rules["rules"]),
        json.dumps(sentence),
    ]


def addresses() -> list[str]:
    return [
        "postgresql://anna:hunter2hunter2@127.0.0.1:5432/brain?sslmode=require&password=another-secret-1",
        "https://api.example.org:8443/v1",
        "http://localhost:11434/v1/",
        "http://[::1]:80/v1",
        "agent_brain",
        "~/x/brain.db",
        "0190a5c8-7e2b-7000-8000-000000000001",
    ]


def cursors() -> list[str]:
    from hardwon.store.types import Cursor

    return [
        write_cursor(Cursor(at_us, "0190a5c8-7e2b-7000-8000-000000000001"))
        for at_us in (0, 1_772_441_600_000_000)
    ]


def queries() -> list[str]:
    return [f"{name}?{urlencode(said)}" for name, said in examples().items()]


def settings_of_others() -> list[bytes]:
    hooks = {
        "PostToolUse": [
            {
                "matcher": "Bash",
                "hooks": [{"type": "command", "command": "hardwon hooks run claude-code"}],
            }
        ]
    }
    return [
        b"{}",
        json.dumps({"model": "opus", "hooks": hooks}, indent=2).encode(),
        b'\xef\xbb\xbf{\r\n\t"mcpServers": {"x": {"command": "y", "args": []}}\r\n}',
    ]


def git_folders() -> list[bytes]:
    commit = b"0123456789abcdef0123456789abcdef01234567"
    return [
        commit,
        b"ref: refs/heads/main\n\n# pack-refs with: peeled\n"
        + commit
        + b" refs/heads/main\n^"
        + commit,
        b"ref: refs/heads/a/b",
    ]


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
        {"hook_event_name": "PostToolUse", "session_id": "s1", **bash},
        {"hook_event_name": "PostToolUseFailure", "error": "exit code 1", **bash},
        {"hook_event_name": "beforeShellExecution", "command": "make --budget 7", "cwd": "/x"},
        {"hook_event_name": "postToolUse", "tool_output": '{"exitCode": 2}', **bash},
        {"event": "after", "session": "s1", "command": "make", "exit_code": 2, "seconds": 1.5},
    ]
    return [json.dumps(event).encode() for event in events]


def mounts() -> list[str]:
    return [
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n36 35 98:0 /m /a\\040b rw,noatime "
        "master:1 - nfs4 h:/x rw\n"
    ]
