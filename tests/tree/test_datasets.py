"""Data sets: made up, checked, read from files that nobody should trust, and stored."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cases import TORTURE, each, examples
from dataset_faults import KINDS, Planted, plant
from hardwon import Memory, limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError
from hardwon.records.kinds import ROUTES, Experience
from hardwon.tree.datasets import SIZES, Report, generate, load_dataset, validate
from hardwon.tree.datasets.check import fingerprint
from hardwon.tree.datasets.generate import DATASET_GENERATED_MAX, PAIRS_FROM, VALUES_FROM
from hardwon.tree.datasets.read import read

VAST = SIZES["vast"] if TORTURE else 12_500
LOGIN = {
    "content": "Fixed the login form by trimming the e-mail address", "outcome": "success",
    "tool": "code_interpreter", "task_type": "debug", "summary": "login_form_fix",
}  # fmt: skip


def login(**changes: Any) -> dict[str, Any]:
    return LOGIN | changes


@pytest.fixture(scope="module")
def vast() -> list[dict[str, Any]]:
    return generate(VAST, seed=1)


def counts(memories: list[dict[str, Any]], field: str, **where: str) -> Counter[str]:
    asked = where.items()
    chosen = [each for each in memories if field in each and asked <= each.items()]
    return Counter(each[field] for each in chosen)


def found(report: Report) -> set[Planted]:
    assert all(problem.index is not None for problem in report.problems)
    return {Planted(each.index or 0, each.field, each.severity) for each in report.problems}


def fields_of(memory: dict[str, Any]) -> list[str]:
    """What is wrong with one memory."""
    return [problem.field for problem in validate([memory]).errors]


def test_a_thousand_have_exactly_the_counts_of_the_table() -> None:
    memories = generate(1_000)
    outcomes = {"success": 600, "failure": 200, "learning": 120, "interaction": 80}
    assert counts(memories, "outcome") == outcomes
    tools = {
        "code_interpreter": 300, "web_search": 120, "file_operation": 90, "conversation": 90,
    }  # fmt: skip
    assert counts(memories, "tool", outcome="success") == tools
    errors = counts(memories, "error_type", outcome="failure", tool="code_interpreter")
    failed = counts(memories, "tool", outcome="failure")["code_interpreter"]
    table = {"runtime": 80, "syntax": 50, "logic": 50, "timeout": 20}  # of 200
    for name, count in errors.items():
        assert abs(count - table[name] / 200 * failed) < 1
    assert errors.total() == failed == counts(memories, "error_type").total()
    assert {(memory["outcome"], memory.get("tool")) for memory in memories} == set(ROUTES)


def test_no_two_are_alike_and_all_are_valid(vast: list[dict[str, Any]]) -> None:
    assert len(vast) == VAST
    assert len({memory["content"] for memory in vast}) == VAST
    assert len({memory["summary"] for memory in vast}) == VAST
    assert not any("{" in memory["content"] or "}" in memory["content"] for memory in vast)
    report = validate(vast)
    assert (report.ok, report.total, report.problems) == (True, VAST, ())
    assert all(distribution.within for distribution in report.distributions)
    assert len(report.distributions) == 16


@settings(max_examples=examples(30))
@given(st.integers(1, 400), st.integers(0, 2**63 - 1))
@example(1, 0)
@example(10, 0)
@example(11, 0)
@example(63, 0)
@example(1_000, 0)
def test_validate_has_nothing_to_say_about_what_generate_makes(size: int, seed: int) -> None:
    memories = generate(size, seed)
    report = validate(memories)
    assert (len(memories), report.problems) == (size, ())
    routes = set()
    for memory in memories:
        made = Experience(**memory)
        assert ("tool" in memory) == (memory["outcome"] in ("success", "failure"))
        own = memory.keys() - {"content", "outcome", "tool", "summary"}
        assert own == ({made.route[0]} if made.route else set())
        routes.add((made.outcome, made.tool, made.route and made.route[1]))
    if size >= PAIRS_FROM:
        assert {route[:2] for route in routes} == set(ROUTES)
    if size >= VALUES_FROM:
        values = sum(len(route[1]) if route else 1 for route in ROUTES.values())
        assert len(routes) == values


def test_a_session_has_one_theme_and_failures_lead_to_their_fix() -> None:
    memories, led = generate(1_000), 0
    worlds = json.loads(Path(read.__code__.co_filename).with_name("worlds.json").read_text())
    parts = [part for project in worlds["projects"] for part in project["parts"]]
    faults = [part[sort] for part in parts for sort in ("runtime", "logic", "timeout")]
    for first in range(0, 1_000, 10):
        session = memories[first : first + 10]
        texts = "\n".join(memory["content"] for memory in session)
        assert len([part for part in parts if part["file"] in texts]) <= 1
        failed = "\n".join(
            memory["content"] for memory in session if memory["outcome"] == "failure"
        )
        led += any(cause in failed and fix in texts for _, cause, fix, _ in faults)
    assert led >= 60, "of a hundred sessions, where the others met an error of syntax or none"


def test_hardly_any_is_nearly_a_copy() -> None:
    words = [set(fingerprint(memory["content"]).split()) for memory in generate(2_000)]
    near = set()
    for (at, one), (other_at, other) in combinations(enumerate(words), 2):
        if 10 * len(one & other) >= 9 * len(one | other):
            near |= {at, other_at}
    assert len(near) <= 60, "3 %"


def test_what_a_seed_gives_does_not_change_unnoticed() -> None:
    """Data sets are cited by size and seed: a change of words is meant, and then so is this one."""
    text = json.dumps(generate(300, 7), sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "ed5a2dae8788cb6e"


@each(
    ("field", "value"),
    [
        *(("size", value) for value in (0, -1, DATASET_GENERATED_MAX + 1, "huge", 2.0, True, None)),
        *(("seed", value) for value in (-1, "7", 2**63, True)),
    ],
)
def test_generate_refuses_what_it_cannot_do(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        generate(**{field: value})
    assert caught.value.field == field


def test_each_of_a_thousand_planted_faults_is_found_and_no_other(vast: Any) -> None:
    spoilt, planted, kinds = plant(vast, 1_000, seed=11)
    assert len(planted) == 1_000
    assert kinds == {kind.name for kind in KINDS}
    report = validate(spoilt)
    assert found(report) == planted
    assert not report.ok
    assert len(report.errors) + len(report.warnings) == len(report.problems)
    for problem in report.problems:
        assert all((problem.wrong, problem.remedy, len(problem.value) <= 82)), problem
    json.dumps(report.to_dict())


def test_a_fault_tells_where_and_what_to_do() -> None:
    other = login(task_type="fixing", summary="Login form!", content="Fixed the sign-up form")
    report = validate([LOGIN, other])
    assert [(each.index, each.field, each.value, each.severity) for each in report.problems] == [
        (1, "task_type", "'fixing'", "error"),
        (1, "summary", "'Login form!'", "error"),
    ]
    remedy = "use one of write, debug, refactor, explain"
    assert [problem.remedy for problem in report.errors] == [remedy, "use login_form"]
    text = str(report)
    assert text.startswith("2 memories: 2 errors, 0 warnings\n")
    assert f"error: memory 1, task_type: 'fixing' is not known; {remedy}" in text
    assert "outcome success: 2 (100.0 %, target 55-65 %): too few to be judged" in text


def test_all_that_is_wrong_with_a_memory_is_told_at_once() -> None:
    wrong: dict[str, Any] = {"content": "short", "outcome": "won", "summary": "A B", "id": 7}
    wrong |= {"ticket": {1, 2}, "timestamp": "noon"}
    assert fields_of(wrong) == ["content", "outcome", "summary", "id", "timestamp"]
    assert fields_of({}) == ["content", "outcome"]
    learnt = {"outcome": "learning", "tool": "browser", "insight_type": "hunch", "summary": "form"}
    for content in ("Trim the e-mail\0address", "Trim the \ud800 address"):
        assert fields_of(learnt | {"content": content}) == ["insight_type", "content"]


@each(
    ("content", "vague"),
    [
        ("Fixed a bug", True),
        ("Did some research", True),
        ("Implemented feature #3", True),
        ("User happy with result #2", True),
        ("1234567890", True),
        ("Added a mutex to the payment processor, which ends the race", False),
        ("json.dumps() raised TypeError for None", False),
        ("修复了登录表单的空格问题", False),
    ],
)
def test_few_words_say_too_little(content: str, vague: bool) -> None:
    warnings = validate([LOGIN | {"content": content}]).warnings
    assert [each.wrong for each in warnings] == ["says too little"] * vague


def test_near_copies_are_found_by_what_they_say() -> None:
    for one, other, same in (
        ("Fixed bug #7 in the Login form", "fixed bug 12 in THE login form!", True),
        ("commit deadbeef1 broke login", "commit 0a1b2c3d broke login", True),
        ("Fixed the login form", "Fixed the logout form", False),
    ):
        assert (fingerprint(one) == fingerprint(other)) == same
    series = [login(content=f"Fixed bug #{n}", summary=f"bug_{n}") for n in range(300)]
    warnings = validate(series).warnings
    copies = [each.index for each in warnings if "says the same as memory 0" in each.wrong]
    assert copies == list(range(1, 300))


def test_shares_are_judged_from_fifty_memories_on() -> None:
    content = f"{LOGIN['content']} of tenant"
    one_sided = [login(content=content, summary=f"login_{n}") for n in range(50)]
    assert all(share.within is None for share in validate(one_sided[:49]).distributions)
    report = validate(one_sided)
    shares = {(each.field, each.name): each for each in report.distributions}
    success = shares["outcome", "success"]
    result = (success.count, success.share, success.least, success.most, success.within)
    assert result == (50, 1.0, 0.55, 0.65, False)
    assert shares["error_type", "runtime"].within is None  # no failures, no shares of them
    told = {each.value: each for each in report.warnings if each.index is None}
    assert told["success"].wrong == "is 100.0 % where 55 to 65 % are realistic"
    remedies = (told["success"].remedy, told["failure"].remedy)
    assert remedies == ("have fewer of them", "have more of them")
    odd = [memory | {"error_type": "runtime"} for memory in one_sided]
    # of failures, and of nothing else
    assert validate(odd).distributions == report.distributions


def test_keys_that_do_not_belong_are_flagged() -> None:
    moved = {"content": "Moved the logs", "outcome": "success", "tool": "file_operation"}
    wrong = [
        moved | {"summary": "a", "task_type": "debug"},
        moved | {"summary": "b", "error_type": "banana", "content": "Moved the keys"},
        LOGIN | {"task_typo": "debug"},
        login(summary="c", content="Fixed the menu", task_type="banana"),
    ]
    found = {(each.index, each.field): each for each in validate(wrong).problems}
    assert found[0, "task_type"].wrong == "does not go with success by file_operation"
    banana = found[1, "error_type"]
    assert (banana.value, banana.severity) == ("'banana'", "warning")
    assert found[2, "task_typo"].remedy == "write task_type"
    unknown = found[3, "task_type"]
    assert (unknown.severity, unknown.wrong) == ("error", "is not known")


def test_a_missing_summary_is_made_and_said(memory: Memory) -> None:
    bare = {key: value for key, value in LOGIN.items() if key != "summary"}
    (problem,) = validate([bare]).problems
    assert (problem.severity, problem.value, problem.wrong) == ("warning", "(absent)", "is missing")
    record = memory.get(load_dataset(memory, [bare]).ids[0])
    assert isinstance(record, Experience)
    assert f"{record.summary} is made of the content" == problem.remedy


keys = st.sampled_from(
    "content outcome tool summary task_type domain error_type reason insight_type sentiment "
    "session timestamp author tags "
    "source related_files git_commit failure_hash recalled id kind metadata ticket".split()
)
KNOWN = "success failure learning code_interpreter web_search unknown debug runtime fact".split()
TIMES = ["2026-01-31T12:00:00Z", 1_700_000_000_000]
ODD: list[Any] = [*TIMES, ["a", "b"], {"id": "x"}, {"type": "no"}, [5], "\ud800", "a\0b", {1, 2}]
awkward = st.one_of(
    st.none() | st.integers() | st.floats() | st.text(max_size=12),
    st.text(st.sampled_from("abc_- "), min_size=10, max_size=60),
    st.sampled_from([*KNOWN, *ODD]),
    st.lists(st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
STOCK = generate(60, 3)


@settings(max_examples=examples(600))
@given(
    st.sampled_from(STOCK), st.dictionaries(keys, awkward, max_size=3), st.sets(keys, max_size=1)
)
def test_what_validate_accepts_is_what_remember_takes(
    memory: Memory, base: dict[str, Any], changes: dict[str, Any], dropped: set[str]
) -> None:
    entry = {key: value for key, value in {**base, **changes}.items() if key not in dropped}
    ok = validate([entry]).ok
    try:
        memory.remember(**entry)
        taken = True
    except (InvalidInputError, TypeError):  # TypeError: a required argument is missing
        taken = False
    content, summary = entry.get("content"), entry.get("summary")
    summary = "made" if summary is None else summary
    fit = isinstance(content, str) and len(content.strip()) >= 10 and len(content) <= 500
    fit = fit and isinstance(summary, str) and bool(re.fullmatch(r"[a-z0-9_-]{1,50}", summary))
    # the format asks for more than a memory does
    assert not ok or (taken and fit)


def literal_of(memories: list[dict[str, Any]]) -> str:
    return "[\n    # one a line\n" + "".join(f"    {memory!r},\n" for memory in memories) + "]"


SMALL = generate("small")
FORMS = {
    "list.json": json.dumps(SMALL),
    "object.json": json.dumps({"name": "mine", "memories": SMALL}, indent=2),
    "lines.jsonl": "\n".join(json.dumps(memory) for memory in SMALL) + "\n\n",
    "lines.ndjson": "\r\n".join(json.dumps(memory) for memory in SMALL),
    "lines_called.json": "\n".join(json.dumps(memory) for memory in SMALL),
    "no_suffix": json.dumps(SMALL),
    "bom.json": "\ufeff" + json.dumps(SMALL),
    "python.py": f'"""A data set."""\n\nmemories = {literal_of(SMALL)}\n',
    "typed.py": f"memories: list[dict] = {literal_of(SMALL)}",
    "bare.txt": literal_of(SMALL),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_holds_the_same_data_set(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FORMS[name].encode())
    assert read(path).values == SMALL
    assert validate(path).to_dict() == validate(str(path)).to_dict() == validate(SMALL).to_dict()


def test_files_tell_the_line(tmp_path: Path) -> None:
    lines = [json.dumps(memory) for memory in SMALL]
    lines[4] = lines[4][:-1]
    lines[7] = "[1, 2]"
    lines.insert(2, "")
    (tmp_path / "broken.jsonl").write_text("\n".join(lines))
    report = validate(tmp_path / "broken.jsonl")
    result = [(each.index, each.line, each.field) for each in report.errors]
    assert result == [(4, 6, "entry"), (7, 9, "entry")]
    assert report.total == 100
    assert "memory 4 (line 6), entry" in str(report)
    wrong = f"memories = [\n{LOGIN},\n{login(outcome='won', summary='x')},\n]"
    (tmp_path / "wrong.py").write_text(wrong)
    (problem,) = validate(tmp_path / "wrong.py").errors
    assert (problem.index, problem.line, problem.field) == (1, 3, "outcome")


NOT_LITERALS = {
    "a call": ("memories = [__import__('os').system('touch pwned')]", 1),
    "a call in a value": ("memories = [\n{'content': open('/etc/passwd').read()}]", 2),
    "a loop": ("memories = []\nfor i in range(3):\n    memories.append({})", 2),
    "a comprehension": ("memories = [\n{'content': f'{i}'} for i in range(3)]", 1),
    "an f-string": ("memories = [\n{'content': f'{1}'}]", 2),
    "two lists": ("a = [{}]\nb = [{}]", 1),
    "a sum": ("memories = [{}] + [{}]", 1),
    "a script": ("import json\nmemories = [{}]", 1),
    "a set": ("memories = [{1, 2}]", 1),
    "bytes": ("memories = [{'content': b'x'}]", 1),
    "nothing": ("# nothing here\n", 1),
    "bad syntax": ("memories = [\n{'content': }]", 2),
    "nul": ("memories = ['\0']", 1),
    "a deep list": ("memories = " + "[" * 100_000, 1),
    "a deep minus": ("memories = [" + "-" * 100_000 + "1]", 1),
    "a long number": ("memories = [" + "9" * 100_000 + "]", 1),
}


@pytest.mark.parametrize("name", NOT_LITERALS)
def test_python_is_read_not_run(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, line = NOT_LITERALS[name]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hostile.py"
    path.write_text(source)
    with pytest.raises(InvalidInputError, match=r"save the list with json\.dump") as caught:
        validate(path)
    assert caught.value.where == f"hostile.py, line {line}"
    assert len(str(caught.value)) < 600
    assert [file.name for file in tmp_path.iterdir()] == ["hostile.py"]


UNREADABLE_JSON = {
    "cut off": ('[{"content": "x"},\n{"content": ', "line 2"),
    "deep": ("[" * 100_000, "line 1"),
    "number": ("5", None),
    "other object": ('{"items": []}', None),
    "memories is no list": ('{"memories": {}}', None),
    "NaN": ('[\nNaN]', None),
    "single quotes": ("[{'content': 'x'}]", "line 1"),
    "long number": ("[" + "9" * 100_000 + "]", "line 1"),
    "broken object": ('{\n"memories": [\n{]}', "line 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE_JSON)
def test_json_that_cannot_be_read_is_a_typed_error(tmp_path: Path, name: str) -> None:
    text, line = UNREADABLE_JSON[name]
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InvalidInputError) as caught:
        validate(path)
    assert caught.value.where.startswith("bad.json")
    assert line is None or caught.value.where == f"bad.json, {line}"
    assert len(str(caught.value)) < 600


def test_places_that_hold_no_data_set(tmp_path: Path) -> None:
    utf16, latin, pipe = (tmp_path / f"{name}.json" for name in ("utf16", "latin", "pipe"))
    os.mkfifo(pipe)
    utf16.write_bytes("[]\n[]".encode("utf-16"))
    latin.write_bytes(b'[\n"\xfc"]')
    for place in (tmp_path, pipe, tmp_path / "missing.json", "x" * 5_000, utf16 / "x"):
        with pytest.raises(PlaceError, match="cannot read"):
            validate(place)
    for file, line in ((utf16, 1), (latin, 2)):
        with pytest.raises(InvalidInputError, match=rf"{file.name}, line {line}.*UTF-8"):
            validate(file)
    for nothing in (None, 5, {"memories": []}, b"x", "", "a\0b", object()):
        with pytest.raises(InvalidInputError, match="source"):
            validate(nothing)


def test_bounds_on_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([LOGIN] * 5))
    monkeypatch.setattr(limits, "DATASET_MEMORIES_MAX", 4)
    (tmp_path / "set.jsonl").write_text("{}\n" * 5)
    for source in (path, tmp_path / "set.jsonl", [LOGIN] * 5):
        with pytest.raises(InvalidInputError, match="at most 4 memories"):
            validate(source)
    monkeypatch.setattr(limits, "DATASET_BYTES_MAX", 100)
    with pytest.raises(InvalidInputError, match="at most 100 bytes"):
        validate(path)
    monkeypatch.setattr("hardwon.tree.datasets.read.DATASET_LITERAL_BYTES_MAX", 50)
    (tmp_path / "set.py").write_text("memories = []" + " " * 60)
    with pytest.raises(InvalidInputError, match="at most 50 characters of Python"):
        validate(tmp_path / "set.py")


@settings(max_examples=examples(150))
@given(
    st.text(max_size=80) | st.text(st.sampled_from("[]{}()\"':,=+-#x1 \nmemories"), max_size=80),
    st.sampled_from(["py", "json", "jsonl", "txt"]),
)
def test_no_file_brings_anything_but_a_typed_error(tmp_path: Path, text: str, suffix: str) -> None:
    path = tmp_path / f"any.{suffix}"
    path.write_text(text, errors="replace")
    try:
        said = str(validate(path))
    except HardwonError as error:
        said = str(error)
    assert said


def test_a_memory_that_knows_no_end_is_refused() -> None:
    endless: dict[str, Any] = dict(LOGIN)
    endless["self"] = endless
    (problem,) = validate([endless]).errors
    assert problem.field == "self"
    wide = LOGIN | {f"log_{number}": "x" * 190_000 for number in range(30)}
    (problem,) = validate([wide]).errors
    assert (problem.field, "bytes" in problem.remedy) == ("entry", True)


def test_a_data_set_is_stored_as_it_is(memory: Memory) -> None:
    memories = generate(2_500, 4)
    calls: list[tuple[int, int]] = []
    told: Any = {"author": "set-4", "progress": lambda *call: calls.append(call)}
    loaded = load_dataset(memory, memories, **told)
    result: Any = (loaded.total, loaded.stored, loaded.rejected, loaded.warnings, loaded.dry_run)
    assert result == (2_500, 2_500, (), (), False)
    assert calls == [(1_000, 2_500), (2_000, 2_500), (2_500, 2_500)]
    stats = memory.stats()
    assert (stats.records, dict(stats.by_author)) == (2_500, {"set-4": 2_500})
    assert dict(stats.by_outcome) == counts(memories, "outcome")
    for index in (0, 1_234, 2_499):
        record, given_ = memory.get(loaded.ids[index]), memories[index]
        assert isinstance(record, Experience)
        result = (record.content, record.outcome, record.tool, record.summary)
        assert result == tuple(map(given_.get, ("content", "outcome", "tool", "summary")))
        route = ROUTES[record.outcome, record.tool]
        assert record.route == ((route[0], given_[route[0]]) if route else None)
        assert not record.redacted  # nothing that was made up looks like a secret
    assert memory.doctor().ok
    assert str(loaded) == "2500 of 2500 memories stored, none rejected"


def test_what_was_loaded_is_not_again(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    memories = [*generate(1_500, 4), login(summary="one"), login(summary="two")]

    def interrupt(done: int, _: int) -> None:
        if done == 1_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_dataset(memory, memories, progress=interrupt)
    stored = "1000 of 1502 memories are stored: load them again to go on from there"
    assert caplog.messages == [stored]
    assert memory.stats().records == 1_000
    again = load_dataset(memory, memories)
    result = (again.stored, again.present, len(again.ids), memory.stats().records)
    assert result == (502, 1_000, 1_502, 1_502)
    memory.forget([again.ids[0]])
    third = load_dataset(memory, memories)
    assert (third.stored, third.present, memory.stats().records) == (0, 1_502, 1_501)
    assert str(third) == "0 of 1502 memories stored, 1502 loaded before, none rejected"
    assert load_dataset(memory, memories, author="another", dry_run=True).stored == 1_502


def test_what_is_wrong_is_left_out_and_reported(memory: Memory) -> None:
    spoilt, planted, _ = plant(generate(600, 9), 60, seed=5)
    errors = {each.at for each in planted if each.severity == "error"}
    good = 600 - len(errors)
    dry = load_dataset(memory, spoilt, dry_run=True)
    assert memory.stats().records == 0
    assert (dry.stored, dry.ids, dry.dry_run) == (good, (), True)
    would = f"{good} of 600 memories would be stored, {len(errors)} rejected\n"
    assert str(dry).startswith(would)
    done = load_dataset(memory, spoilt)
    assert (done.stored, done.rejected, done.warnings) == (dry.stored, dry.rejected, dry.warnings)
    assert memory.stats().records == len(done.ids) == len(set(done.ids)) == done.stored
    assert {each.index for each in done.rejected if each.severity == "error"} == errors
    assert {each.index for each in done.warnings} == {each.at for each in planted} - errors
    json.dumps(asdict(done))


def test_files_and_their_times(memory: Memory, tmp_path: Path) -> None:
    lines = "\n".join(map(json.dumps, SMALL))
    (tmp_path / "set.jsonl").write_text(f"{lines}\n{{broken\n")
    before = datetime.now(UTC)
    loaded = load_dataset(memory, tmp_path / "set.jsonl")
    result = (loaded.total, loaded.stored, [each.line for each in loaded.rejected])
    assert result == (101, 100, [101])
    kept = [record for record in memory.browse() if isinstance(record, Experience)][::-1]
    times = {record.metadata.context.timestamp for record in kept}
    assert len(times) == 100
    assert max(times) <= datetime.now(UTC)
    assert (before - min(times)).total_seconds() < 60
    assert [record.content for record in kept] == [each["content"] for each in SMALL]


def test_the_envelope_of_an_entry_is_kept(memory: Memory) -> None:
    entry = login(author="ada", tags=["web"], source={"id": "run-7"}, git_commit="abc")
    loaded = load_dataset(memory, [entry, login(summary="other")], author="set")
    first, second = (memory.get(record_id) for record_id in loaded.ids)
    assert first
    assert second
    assert (first.metadata.source.author, first.metadata.source.id) == ("ada", "run-7")
    assert (first.metadata.tags, first.metadata.context.git_commit) == (["web"], "abc")
    assert (second.metadata.source.author, second.metadata.tags) == ("set", [])


def test_a_learning_may_name_a_tool_wherever_it_comes_in(memory: Memory) -> None:
    entry: dict[str, Any] = {"outcome": "learning", "insight_type": "fact", "summary": "ledger"}
    entry |= {"content": "Reads of the ledger wait for the index", "tool": "code_interpreter"}
    memory.remember(**entry)
    (warning,) = validate([entry]).problems
    assert (warning.field, warning.severity) == ("tool", "warning")
    loaded = load_dataset(memory, [entry])
    assert (loaded.stored, loaded.rejected) == (1, ())
    record = memory.get(loaded.ids[0])
    assert isinstance(record, Experience)
    assert (record.tool, record.unrouted) == ("code_interpreter", None)


def test_a_key_that_is_there_twice_is_told(tmp_path: Path) -> None:
    line = json.dumps(LOGIN)
    doubled = line[:-1] + ', "outcome": "failure"}'
    for name, text in (("a.jsonl", f"{line}\n{doubled}\n"), ("a.json", f"[{line}, {doubled}]")):
        (tmp_path / name).write_text(text)
        (fault,) = validate(tmp_path / name).errors
        assert (fault.index, fault.wrong) == (1, "a key is there twice")


def test_a_summary_is_under_fifty_characters() -> None:
    (warning,) = validate([LOGIN | {"summary": "x" * 50}]).problems
    assert (warning.severity, warning.wrong) == ("warning", "is not under 50 characters")
    for summary in ("x" * 49, "결제_수정"):
        assert validate([LOGIN | {"summary": summary}]).problems == ()
