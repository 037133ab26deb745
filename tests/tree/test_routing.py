"""Packets find their folder, globs find them again, and nothing leads out of the tree."""

from __future__ import annotations

import enum
import glob
import itertools
import json
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cases import each, examples
from hardwon import Experience
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import ROUTES
from hardwon.text.globs import Glob
from hardwon.text.terms import spell
from hardwon.tree.routing import (
    MISSING_METADATA,
    NO_MATCH,
    Coherence,
    Route,
    file_name,
    safe_key,
    safe_segment,
    values_in,
)

NOON = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
RUNTIME = {
    "outcome": "failure", "tool": "code_interpreter", "error_type": "runtime", "content": "x",
    "summary": "tests_hang",
}  # fmt: skip


def router(schema: Mapping[str, Any] | None = None, root: str = "agent_brain") -> Coherence:
    return Coherence(schema, root, clock=lambda: NOON)


HOSTILE = [
    "..", ".", "", "/", "../../etc/passwd", "/etc/passwd", "a/b", "a\\b", "C:\\x", "a\0b", "\0", "~", "~root",
    "a~0123456789", ".hidden", "_intake", "_x", "-rf", "--help", "con", "CON", "nul", "aux.txt", "com1", "lpt9.json",
    "com¹", "prn.", "a.", "a..", " a", "a ", "a\nb", "\x1b[2J", "\u202egnp.exe", "\u200b", "a\u200db", "ﬁ", "ﬀ", "K",
    "\u017f", "İ", "\u0131", "ß", "ẞ", "SS", "é", "e\u0301", "Å", "Å", "\ud800", "a\udfffb", "\udc80", "日本語",
    "👩\u200d👧", "\u0430", "\uff41", "%2e%2e%2f", "..;/", "$(rm)", "`x`", "*", "?", "[a]", "{a}", "{tool}", "a=b", "=",
    "a|b", ">100", "r/x/", "x" * 60, "x" * 61, "x" * 5_000, "é" * 300, "A" * 60, "0", "-0", "00", "1e5", "nan", "inf",
    "true", "True", "null", "gt_100", "10-100", "2024-01", "~0123456789", "x~0123456789",
]  # fmt: skip
hostile = st.sampled_from(HOSTILE) | st.text(st.characters(), max_size=80)


def folded(name: str) -> set[str]:
    """What a file system that folds case or normalises Unicode may take a name for."""
    cases = {name, name.casefold(), name.upper(), name.lower()}
    return cases.union(
        unicodedata.normalize(form, text) for text in cases for form in ("NFC", "NFD", "NFKC")
    )


def is_harmless(component: str) -> bool:
    """One name that every file system takes for what it is, and that is not one of our own."""
    return (
        re.fullmatch(r"[a-z0-9][a-z0-9._=~-]*", component) is not None
        and len(component.encode()) < 100
        and not component.endswith(".")
        and not re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", component)
    )


@settings(max_examples=examples(1_000))
@given(st.lists(hostile, min_size=2, max_size=12, unique=True))
def test_no_two_values_share_a_name_on_any_file_system(texts: list[str]) -> None:
    for safe in (safe_segment, safe_key):
        names = [safe(text) for text in texts]
        assert all(is_harmless(name) and "=" not in name for name in names)
        for one, other in itertools.combinations(names, 2):
            assert not folded(one) & folded(other)


def test_long_runs_of_accents_take_no_time() -> None:
    # Sorting a whole megabyte of them would take hours.
    text = "\u0315\u0300" * 500_000
    assert is_harmless(safe_segment(text))
    assert router().transmit({**RUNTIME, "summary": text}).endswith("_untitled.json")
    assert file_name(NOON, text, "x").endswith("_untitled_x.json")


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@each(
    ("value", "text"),
    [
        ("a", "a"), (True, "true"), (False, "false"), (1, "1"), (1.0, "1"), (-0.0, "0"), (0.5, "0.5"), (1e22, "1" + "0" * 22),
        (1e-7, "1e-07"), (float("nan"), "nan"), (float("-inf"), "-inf"), (Colour.RED, "red"), (Level.HIGH, "3"),
        (10**400, hex(10**400)),
        ([], None), ({}, None), (None, None), (b"a", None), (("a",), None),
    ],
)  # fmt: skip
def test_a_value_has_one_spelling(value: object, text: str | None) -> None:
    found = spell(value)
    assert found == text
    assert found is None or type(found) is str


def test_a_folder_tells_its_keys() -> None:
    result = values_in("outcome=failure/tool=web_search/reason=a=b")
    assert result == {"outcome": "failure", "tool": "web_search", "reason": "a=b"}
    assert values_in("a=1/misc/=x/y=/a=2") == {"a": "1"}
    assert values_in("") == {}


def test_a_files_name_sorts_by_time_and_is_unique() -> None:
    at = datetime(2026, 1, 31, 23, 30, 5, 999_999, tzinfo=timezone(timedelta(hours=-5)))
    assert file_name(at, "jwt_auth", "abc123") == "20260201_043005_jwt_auth_abc123.json"
    long_ago = datetime(7, 1, 2, tzinfo=UTC)
    assert file_name(long_ago, "A b/../c", "0") == "00070102_000000_a_b_c_0.json"
    name = file_name(NOON, "../" * 99, "../../x")
    assert re.fullmatch(r"20260131_120000_untitled_x~[0-9a-f]{10}\.json", name)
    assert len(file_name(NOON, "s" * 99, "u" * 99).encode()) < 200


ROWS = [
    {"outcome": outcome, **({"tool": tool} if tool else {}), **({route[0]: value} if route else {})}
    for (outcome, tool), route in ROUTES.items()
    for value in (route[1] if route else ("",))
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row.values()))
def test_every_row_of_the_reference_card_has_its_folder(row: dict[str, str]) -> None:
    folder = "/".join(f"{key}={value}" for key, value in row.items())
    shuffled = dict(reversed([*row.items(), ("content", "x"), ("summary", "s"), ("ticket", 7)]))
    assert router().route(shuffled) == Route(folder, None)
    assert router().transmit(shuffled) == f"agent_brain/{folder}/20260131_120000_s.json"
    assert router().receive(**row) == f"agent_brain/{folder}/*.json*"


keys = "outcome tool task_type domain error_type reason insight_type sentiment".split()
known = sorted({value for row in ROWS for value in row.values()})
standard_packets = st.dictionaries(
    st.sampled_from(keys), st.sampled_from([*known, "", "Write", None, "nonsense"]), max_size=8
)
standard_packets |= st.sampled_from(ROWS).flatmap(
    lambda row: st.dictionaries(st.sampled_from(keys), st.sampled_from(known), max_size=3).map(
        lambda more: {**more, **row}
    )
)


@settings(max_examples=examples(1_000))
@given(standard_packets)
def test_what_is_routed_is_what_a_record_has_a_route_for(packet: dict[str, Any]) -> None:
    # where the tool makes no difference to the route
    toolless = packet.get("outcome") in ("learning", "interaction")
    problem = router().route(packet).problem
    given = {key: value for key, value in packet.items() if not (toolless and key == "tool")}
    with suppress(InvalidInputError):
        made = Experience(content="something happened", **given)
        assert made.has_route is (problem is None) or made.outcome != packet.get("outcome")
        return
    assert problem
    assert problem.field == "outcome"


@each(
    ("packet", "folder", "field", "value"),
    [
        ({}, MISSING_METADATA, "outcome", "(absent)"),
        ({"outcome": None}, MISSING_METADATA, "outcome", "(absent)"),
        ({"outcome": "success"}, MISSING_METADATA, "tool", "(absent)"),
        ({"outcome": "learning"}, MISSING_METADATA, "insight_type", "(absent)"),
        ({"outcome": "win"}, NO_MATCH, "outcome", "win"),
        ({"outcome": "Success"}, NO_MATCH, "outcome", "Success"),
        ({"outcome": "success", "tool": ""}, NO_MATCH, "tool", ""),
        ({"outcome": "success", "tool": ["web_search"]}, NO_MATCH, "tool", ["web_search"]),
        ({**RUNTIME, "error_type": "../../x"}, NO_MATCH, "error_type", "../../x"),
        ({**RUNTIME, "error_type": 10**400}, NO_MATCH, "error_type", 10**400),
    ],
)
def test_unrouted_says_why(packet: dict[str, Any], folder: str, field: str, value: object) -> None:
    route = router().route(packet)
    assert route.folder == folder
    assert route.problem is not None
    assert (route.problem.field, route.problem.value) == (field, value)
    result = router().transmit({**packet, "summary": "why"})
    assert result == f"agent_brain/{folder}/20260131_120000_why.json"


@each(
    ("packet", "name"),
    [
        ({"summary": "Ünder Score!"}, "120000_under_score"),
        ({"content": "The first thirty characters of a content"}, "120000_the_first_thirty_characters_of"),
        ({"summary": "", "content": "c"}, "120000_c"),
        ({"summary": 7}, "120000_untitled"),
        ({"summary": "\ud800\0"}, "120000_untitled"),
        ({"timestamp": "2026-01-31T10:20:30+02:00"}, "082030_untitled"),
        ({"timestamp": "2026-01-31T10:20:30"}, "102030_untitled"),
        ({"timestamp": datetime(2026, 1, 31, tzinfo=UTC)}, "000000_untitled"),
        ({"timestamp": "../.."}, "120000_untitled"),
        ({"timestamp": "0001-01-01T00:00:00+23:00"}, "120000_untitled"),
        ({"timestamp": 5}, "120000_untitled"),
    ],
)  # fmt: skip
def test_the_files_name_is_made_of_time_and_summary(packet: dict[str, Any], name: str) -> None:
    path = router().transmit(packet)
    assert path == f"agent_brain/{MISSING_METADATA}/20260131_{name}.json"


def test_roots() -> None:
    assert router(root="brain/").transmit(RUNTIME).startswith("brain/outcome=failure/")
    assert router(root="/").transmit(RUNTIME).startswith("/outcome=failure/")
    assert Coherence(root=Path("x") / "y").receive() == "x/y/outcome=*/**/*.json*"
    assert router(root="b[r]a*n?").receive() == "b[[]r]a[*]n[?]/outcome=*/**/*.json*"
    assert Coherence().root == "agent_brain"
    for root in ("", "a\0b", b"brain", None, 7):
        with pytest.raises(InvalidInputError) as refused:
            Coherence(root=root)  # type: ignore[arg-type]
        assert refused.value.field == "root"


@each(
    ("branches", "value", "folder"),
    [
        ([">100"], 101, "gt_100"), ([">100"], 100, None), ([">100"], "100.5", "gt_100"), ([">100"], "x", None),
        ([">=100"], 100, "gte_100"), ([">=100"], 99.999, None), (["<50"], 49, "lt_50"), (["<50"], 50, None),
        (["<=50"], 50, "lte_50"), (["<=50"], -1e300, "lte_50"), (["<=50"], 50.0001, None), (["> 100"], 101, "gt_100"),
        ([">1.50"], 2, "gt_1.5"), ([">-0"], 1, "gt_0"), (["<-0.0"], -1, "lt_0"), ([">-5"], 0, "gt_-5"), (["<007"], 6, "lt_7"),
        (["10-100"], 10, "10-100"), (["10-100"], 100, "10-100"), (["10-100"], 9.99, None), (["10-100"], 100.1, None),
        (["-10--5"], -7, "-10--5"), (["-10--5"], -4, None), (["0.5-1.5"], 1, "0.5-1.5"), (["-1-1"], 0, "-1-1"),
        ([">100"], True, None), ([">=0"], float("nan"), None), ([">0"], float("inf"), None), ([">0"], "1_000", None),
        ([">0"], "٣", None), ([">0"], "1e3", "gt_0"), ([">0"], "1e9999", None), ([">0"], 10**300, "gt_0"),
        ([">0"], "1" * 401, None),
        ([">9007199254740992"], 9007199254740993, "gt_9007199254740992"),
        (["r/v[0-9]+/"], "v12", "v12"), (["r/v[0-9]+/"], "v12x", None), (["r/v[0-9]+/"], "xv12", None),
        (["r/V.*/"], "V 1", "~"),
        (["r/.*/"], "a" * 100, "~"), (["r/.*/"], "a" * 101, None), (["r/[0-9]+/"], 12, "12"), (["r//"], "", "~"),
        (["r/a|b/"], "b", "b"), (["a|b"], "b", "b"), (["a | b"], "b", "b"), (["a|b"], "a|b", None), (["a|>100"], 150, "gt_100"),
        (["a|10-20|B"], 15, "10-20"), (["a|10-20|B"], "B", "~"), (["a|10-20|B"], "10-20", None),
        ([">0", ">100"], 150, "gt_0"), ([">100", ">0"], 150, "gt_100"), ([">0", "150"], 150, "150"),
        (["r/a.*/", "ab"], "ab", "ab"),
        ([True], True, "true"), ([1], 1.0, "1"), ([1.5], "1.5", "1.5"), (["1"], "1.0", None), (["Foo"], "Foo", "~"),
        (["Foo"], "foo", None),
    ],
)  # fmt: skip
def test_branches(branches: list[Any], value: object, folder: str | None) -> None:
    found = router({"k": dict.fromkeys(branches)}).route({"k": value})
    if folder is None:
        assert found.folder == NO_MATCH
    elif folder == "~":
        assert found == Route(f"k={safe_segment(str(value))}")
        assert "~" in found.folder
    else:
        assert found == Route(f"k={folder}")


def test_a_branch_for_packets_without_the_key() -> None:
    routes = router({"tool": {"web": None, "": {"kind": {"a": None}}}})
    assert routes.route({"tool": "web"}).folder == "tool=web"
    assert routes.route({"kind": "a"}).folder == "kind=a"
    assert routes.route({"kind": "a", "tool": None}).folder == "kind=a"
    assert routes.route({"kind": "a", "tool": ""}).folder == NO_MATCH
    assert routes.receive(kind="a") == "agent_brain/**/*.json*"


FILE = "20260131_120000_s.json"
TEMPLATES: list[tuple[str | None, dict[str, Any], str]] = [
    (None, {}, f"k=v/{FILE}"),
    ("", {}, f"k=v/{FILE}"),
    ("error_type={error_type=unknown}", {}, f"k=v/error_type=unknown/{FILE}"),
    ("error_type={error_type=unknown}", {"error_type": "io"}, f"k=v/error_type=io/{FILE}"),
    ("{error_type=unknown}", {"error_type": None}, f"k=v/unknown/{FILE}"),
    ("a/{b}/c-{d=x}", {"b": 7, "d": True}, f"k=v/a/7/c-true/{FILE}"),
    ("{timestamp}_{summary}.json", {}, f"k=v/{FILE}"),
    ("{host}/{summary}-{timestamp}-{n=0}.json", {"host": "h1"}, "k=v/h1/s-20260131_120000-0.json"),
    ("log.json", {}, "k=v/log.json"),
    ("{a=x/y}", {}, f"k=v/{safe_segment('x/y')}/{FILE}"),
    ("{host}", {}, f"{MISSING_METADATA}/{FILE}"),
    ("{host=}", {}, f"{MISSING_METADATA}/{FILE}"),
    ("{host}.json", {}, f"{MISSING_METADATA}/{FILE}"),
    ("{host}", {"host": []}, f"{NO_MATCH}/{FILE}"),
    ("{host}.json", {"host": {}}, f"{NO_MATCH}/{FILE}"),
    ("co{x}", {"x": "n"}, f"k=v/{safe_segment('con')}/{FILE}"),
    ("co{x}.json", {"x": "n"}, f"k=v/{safe_segment('con')}.json"),
    ("{summary}", {}, f"k=v/s/{FILE}"),
]


@each(("template", "packet", "path"), TEMPLATES)
def test_templates(template: str | None, packet: dict[str, Any], path: str) -> None:
    result = router({"k": {"v": template}}).transmit({"k": "v", "summary": "s", **packet})
    assert result == f"agent_brain/{path}"


def deep(levels: int) -> dict[str, Any] | None:
    schema: dict[str, Any] | None = None
    for level in reversed(range(levels)):
        schema = {f"k{level}": {"v": schema}}
    return schema


CYCLE: dict[str, Any] = {}
CYCLE["a"] = {"x": CYCLE}
ENDLESS: dict[str, Any] = {"": {}}
ENDLESS[""] = {"k": ENDLESS}


@each(
    ("schema", "where"),
    [
        ("outcome", "schema"), (7, "schema"), ([], "schema"), ({"a": None, "b": None}, "schema"),
        ({"a": {"x": 7}}, "schema.a.x"),
        ({"a": None}, "schema.a"), ({"a": {}}, "schema.a"), ({"a": "x"}, "schema.a"), ({"a": {"x": []}}, "schema.a.x"),
        ({"a": {"x": {"b": {"y": None}, "c": {"y": None}}}}, "schema.a.x"), ({7: {"x": None}}, "schema"),
        ({"": {"x": None}}, "schema"),
        ({"k" * 201: {"x": None}}, "schema"), ({"a": {"x" * 201: None}}, "schema.a"), ({"a": {None: None}}, "schema.a"),
        ({"a": {10**400: None}}, "schema.a"),
        ({"a": {("x",): None}}, "schema.a"), ({"a": {">": None}}, "schema.a.>"), ({"a": {">x": None}}, "schema.a.>x"),
        ({"a": {"=>5": None, "<5 ": None}}, "schema.a.<5 "), ({"a": {">5e3": None}}, "schema.a.>5e3"),
        ({"a": {"9-1": None}}, "schema.a.9-1"),
        ({"a": {"2024-01": None}}, "schema.a.2024-01"), ({"a": {"r/": None}}, "schema.a.r/"),
        ({"a": {"r/x": None}}, "schema.a.r/x"),
        ({"a": {"r/(/": None}}, "schema.a.r/(/"), ({"a": {"r/[[a]/": None}}, "schema.a.r/[[a]/"),
        ({"a": {"x|": None}}, "schema.a.x|"),
        ({"a": {"x|r/y/": None}}, "schema.a.x|r/y/"), ({"a": {"x|>": None}}, "schema.a.x|>"),
        ({"a": {1: None, "1": None}}, "schema.a.1"),
        ({"a": {"Foo": None, safe_segment("Foo"): None}}, f"schema.a.{safe_segment('Foo')}"),
        ({"a": {"x": {"a": {"y": None}}}}, "schema.a.x.a"),
        ({"ä": {"x": {safe_key("ä"): {"y": None}}}}, f"schema.ä.x.{safe_key('ä')}"),
        (deep(13), "schema" + "".join(f".k{level}.v" for level in range(12)) + ".k12"), (CYCLE, "schema.a.x.a"),
        (ENDLESS, "schema"),
        ({"a": dict.fromkeys(map(str, range(10_001)))}, "schema.a"),
        ({"a": {f"v{n}": {"b": dict.fromkeys(map(str, range(101)))} for n in range(100)}}, "schema.a.v98.b"),
    ],
)  # fmt: skip
def test_malformed_schemas_are_refused_where_they_are(schema: Any, where: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        router(schema)
    assert refused.value.field == where
    assert refused.value.allowed


@each(
    "template",
    [
        "..", "../x", "x/..", "/etc", "x//y", "x/", "/", ".", ".hidden", "_intake", "_x/y", "x/.git", "a b", "A", "é",
        "a\\b", "a\0b",
        "a~b", "a.", "{a}.", "con", "nul.txt", "x/aux", "con.json", "{", "}", "{}", "{a", "a}", "{{a}}", "{=x}", "-x", "~",
        "*", "a*",
        ".json", "_{a}.json", "x" * 100, "{a}" + "x" * 99, "x/" * 99 + "x", "x" * 201, "\n", "$x", "a:b", "a\ud800",
    ],
)  # fmt: skip
def test_templates_cannot_lead_anywhere_else(template: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        router({"k": {"v": template}})
    assert refused.value.field == "schema.k.v"


@each(
    "pattern",
    ["(a+)+", "(ab){3}", "(a*)*b", "(a|b)+", "(a|aa){2,}", "((a+))+", "(?:a?){30}a{30}", "(?P<n>a+)+", "(x(a+)y)*",
    "a*" * 5, "a?" * 30, "(a|a)" * 30,
     "([a-z]+_?)+", "(a{1,9}){9}", "(\\)+)+", "([)]+)+"],
)  # fmt: skip
def test_expressions_that_a_value_could_keep_busy_are_refused(pattern: str) -> None:
    assert re.compile(pattern)
    with pytest.raises(InvalidInputError, match="for ever"):
        router({"k": {f"r/{pattern}/": None}})


def test_no_value_keeps_an_expression_busy() -> None:
    routes = router({"k": {"r/.*.*.*.*x/": None}})
    assert routes.route({"k": "a" * 100}).folder == NO_MATCH
    assert routes.route({"k": "a" * 1_000_000}).folder == NO_MATCH


KEYS = [["k0", "größe"], ["k1", "K"], ["k2", "a.b"], ["k3", "x y"]]  # of each level
ALL_KEYS = [key for level in KEYS for key in level]
VALUES: list[Any] = [
    "a", "b", "ab", "v1", "Foo", "foo", "..", "gt_5", "1-9", "", True, False, 0, 1, 5.5, 7, -3,
    "7", "\ud800",
]  # fmt: skip
values = st.sampled_from([*VALUES, None]) | hostile | st.integers(-20, 20) | st.floats()
EXACT = [
    "a", "b", "ab", "Foo", "foo", "..", "a/b", "gt_5", "true", "0", "1", "7", "é", "x" * 70,
    "\ud800", "con", "x~0123456789",
]  # fmt: skip
TAKEN: dict[str, list[Any]] = {
    ">5": [6, 5.5, "7"], ">=5": [5, "5.0"], "<0": [-3, -1e300], "<=0": [0, -0.0], "1-9": [1, 9, 5.5], "-5-5": [0, "-5"],
    "r/v[0-9]+/": ["v1", "v22"], "r/.*/": ["Foo", "", "gt_5", True], "r/[a-z]+/": ["ab", "false"], "a|b|>7": ["b", 8],
    "ab|1-3": ["ab", 2], "Foo|..": ["Foo", ".."], "r/gt_5|1-9/": ["gt_5", "1-9"], "": [None],
}  # fmt: skip
"""Branches, and values that they take where no other does."""
exact_branches = st.sampled_from(EXACT)
branches = exact_branches | st.sampled_from(sorted(TAKEN))
templates = st.sampled_from([
    None, "", "{k3}", "{k3=none}", "k3={k3=a}", "x/{k2=y}", "{k1=a}-{k3=b}",
    "k2={k2}/{timestamp}_{summary}.json", "{größe=0}",
])  # fmt: skip


@st.composite
def schemas(draw: st.DrawFn, branch: Any = branches, leaf: Any = templates, level: int = 0) -> Any:
    if level == 4 or (level and draw(st.integers(0, 2)) == 0):
        return draw(leaf)
    chosen = draw(st.lists(branch, min_size=1, max_size=4, unique=True))
    below = {each: draw(schemas(branch, leaf, level + 1)) for each in chosen}
    return {draw(st.sampled_from(KEYS[level])): below}


@st.composite
def packets(draw: st.DrawFn, schema: Any) -> dict[str, Any]:
    """Mostly ones that the schema routes somewhere, with more keys beside those it asks for."""
    packet = draw(st.dictionaries(st.sampled_from(ALL_KEYS), values, max_size=8))
    while isinstance(schema, dict) and draw(st.integers(0, 9)):
        [(key, below)] = schema.items()
        branch = draw(st.sampled_from(list(below)))
        packet[key] = draw(st.sampled_from(TAKEN.get(branch, [branch])))
        schema = below[branch]
    return packet


@st.composite
def routed(draw: st.DrawFn, some: st.SearchStrategy[Any]) -> tuple[Any, list[dict[str, Any]]]:
    """A schema and packets for it."""
    schema = draw(some)
    return schema, draw(st.lists(packets(schema), min_size=1, max_size=6))


def part_of(data: st.DataObject, packet: dict[str, Any]) -> dict[str, Any]:
    """An intent: some of what a packet has."""
    if not packet:
        return {}
    chosen = data.draw(st.lists(st.sampled_from(sorted(packet)), unique=True))
    return {key: packet[key] for key in chosen}


def agrees(packet: Mapping[str, Any], key: str, value: object) -> bool:
    own = None if packet.get(key) is None else spell(packet[key])
    return own is not None and own == spell(value)


@settings(max_examples=examples(600))
@given(routed(schemas()), st.sampled_from(["agent_brain", "b[r]*n?/x", "a[!b]"]), st.data())
def test_globs_match_whatever_was_routed_of_what_agrees(
    given: tuple[Any, list[dict[str, Any]]], root: str, data: st.DataObject
) -> None:
    routes = router(given[0], root)
    for packet in given[1]:
        intent = part_of(data, packet)
        path = routes.transmit(packet)
        if "/_intake/" in path:
            continue
        assert Glob(routes.receive(**intent)).matches(path)
        assert Glob(routes.receive(**intent, unknown="x")).matches(path)


@settings(max_examples=examples(600))
@given(routed(schemas()), st.data())
def test_folders_decide_right(given: tuple[Any, list[dict[str, Any]]], data: st.DataObject) -> None:
    routes = router(given[0])
    drawn = part_of(data, data.draw(st.sampled_from(given[1])))
    intent = {key: value for key, value in drawn.items() if value is not None}
    for packet in given[1]:
        route = routes.route(packet)
        undecided = routes.decide(route.folder, intent)
        agreeing = {key for key, value in intent.items() if agrees(packet, key, value)}
        if route.problem is not None:
            assert undecided == intent.keys()
        elif agreeing == intent.keys():
            assert undecided is not None
        if undecided is not None:
            assert intent.keys() - undecided <= agreeing


def test_a_schema_is_read_off_a_tree() -> None:
    paths: list[str | Path] = [
        "agent_brain/outcome=success/tool=web_search/domain=research/20260101_000000_a.json",
        "agent_brain/outcome=success/tool=web_search/domain=general/20260101_000000_b.json",
        "agent_brain/outcome=success/tool=conversation/c=x.json",
        "/somewhere/else/outcome=learning/misc/insight_type=fact/deeper/d.json",
        "agent_brain/_intake/no_match/e.json",
        "agent_brain/f.json",
        Path("outcome=failure"),
        "",
    ]
    searched = {"domain": {"general": None, "research": None}}
    succeeded = {"tool": {"conversation": None, "web_search": searched}}
    learned = {"insight_type": {"fact": None}}
    derived = {"outcome": {"failure": None, "learning": learned, "success": succeeded}}
    assert plain(Coherence.derive(paths)) == derived
    assert plain(Coherence.derive(reversed(paths))) == derived
    assert Coherence(Coherence.derive(paths)).schema == derived
    assert Coherence.derive([]) == {}
    assert Coherence.derive(["x.json", "a/b/c.json"]) == {}


def plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: below for key, below in schema.items() if not key.startswith("_")}


def test_scripts_of_the_first_coherence_module_get_what_they_look_for(tmp_path: Path) -> None:
    below_failure = {"error": dict.fromkeys(("runtime", "syntax"), "{summary}.json")}
    tools = {"tool": dict.fromkeys(("code", "search"), "{summary}.json")}
    routes = Coherence({"outcome": {"success": tools, "failure": below_failure}}, str(tmp_path))
    packet = {"outcome": "success", "tool": "code", "summary": "it_works"}
    path = Path(routes.transmit(packet, dry_run=False))
    assert path == tmp_path / "outcome=success/tool=code/it_works.json"
    path.write_text("{}")
    for intent in ({}, {"outcome": "success"}, {"outcome": "success", "tool": "code"}):
        pattern = routes.receive(**intent)
        assert pattern.endswith("*")
        assert glob.glob(pattern, recursive=True) == [str(path)]  # noqa: PTH207  # as scripts do
    assert "outcome=*" in routes.receive()
    levels = Coherence({"score": {">0.5": "high/{name}.json", "<=0.5": "low/{name}.json"}}, "x")
    assert levels.transmit({"score": 0.8, "name": "a"}) == "x/score=gt_0.5/high/a.json"
    assert levels.transmit({"score": 0.3, "name": "a"}) == "x/score=lte_0.5/low/a.json"
    sensors = [
        "data/region=us/sensor=lidar/1.dat",
        "data/region=us/sensor=heat/2.dat",
        "data/region=eu/sensor=lidar/3.dat",
    ]
    derived = Coherence.derive(sensors)
    assert (derived["_derived"], derived["_path_count"]) == (True, 3)
    region = {"level": 0, "values": ["eu", "us"], "pattern": "region={value}"}
    assert derived["_structure"]["region"] == region
    assert Coherence(derived).route({"region": "us", "sensor": "heat"}).folder
    often = Coherence.derive(sensors, min_frequency=0.5)
    lidar = {"sensor": {"lidar": None}}
    with_others = {"sensor": {"lidar": None, "": None}}
    assert plain(often) == {"region": {"us": with_others, "": lidar}}


def test_a_key_that_was_read_off_a_folder_is_found_in_packets() -> None:
    derived = Coherence.derive([f"k=a/{safe_key('größe')}=m/x.json", "k=a/x.json"])
    assert router(derived).route({"k": "a", "größe": "m"}).folder == f"k=a/{safe_key('größe')}=m"
    assert router(derived).route({"k": "a"}).folder == "k=a"


@settings(max_examples=examples(400))
@given(routed(schemas(exact_branches, st.none())))
@example(({"größe": {"Foo": {"K": {"..": None}}}}, [{"größe": "Foo", "K": ".."}]))
def test_a_derived_schema_files_packets_in_the_same_folders(given: Any) -> None:
    routes = router(given[0])
    filed = [packet for packet in given[1] if routes.route(packet).problem is None]
    schema = Coherence.derive([routes.transmit(packet) for packet in filed])
    derived = router(json.loads(json.dumps(schema)))
    for packet in filed:
        assert derived.route(packet) == routes.route(packet)
