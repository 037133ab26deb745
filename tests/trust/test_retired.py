"""What was retired stays retired; and what an owner brings back is what it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkouts import new_repository, write
from command_line import answered, at_once, keys_of, keys_told_of, refused
from engines import ENGINES, Places, own_login, wrong_with
from hardwon import Memory
from hardwon.errors import ForbiddenError, InvalidInputError
from hardwon.memory.results import Loaded, Merged
from hardwon.records.kinds import Validation
from hardwon.tree.engine import MemoryEngine
from hardwon.trust.access import Scope
from serving import served
from short import need, status

Way = Callable[[Memory, Memory, Path], Loaded | Merged]

STATUSES = {
    "hypothesis": "hypothesis", "verified": "verified", "published": "published", "archived": "archived",
    "superseded": "archived",
}  # fmt: skip
"""Of each of the facts that `fill` makes, by its name."""
AS_STRANGERS = {
    name: "archived" if status == "archived" else "hypothesis" for name, status in STATUSES.items()
}

on_both_engines = pytest.mark.engines(*ENGINES)


@pytest.fixture
def theirs(place: Places) -> Iterator[Memory]:
    with Memory(place("theirs")) as opened:
        yield opened


@pytest.fixture
def mine(place: Places) -> Iterator[Memory]:
    with Memory(place("mine")) as opened:
        yield opened


def say(memory: Memory, text: str, author: str = "ann") -> str:
    return memory.record_fact(text, "observation", author=author).id


def fill(memory: Memory) -> dict[str, str]:
    """One fact of each standing. Their ids by its name."""
    ids = {name: say(memory, f"The harbour is {name} at six.") for name in STATUSES}
    for name in ("verified", "published"):
        memory.verify(ids[name], "test_runner", "ci-7", author="ann")
    memory.publish(ids["published"], by="ann")
    memory.archive(ids["archived"], "no longer true", by="ann")
    memory.supersede(ids["superseded"], ids["hypothesis"], "told better", by="ann")
    return ids


def statuses(memory: Memory, ids: dict[str, str]) -> dict[str, str]:
    return {name: status(memory, record_id) for name, record_id in ids.items()}


def happened(memory: Memory, ids: dict[str, str]) -> list[Any]:
    return [memory.audit(record_id) for record_id in ids.values()]


def load(memory: Memory, other: Memory, folder: Path, trust: bool = False) -> Loaded:
    other.export(folder / "out.jsonl")
    return memory.load(folder / "out.jsonl", trust=trust)


def load_list(memory: Memory, other: Memory, folder: Path) -> Loaded:
    other.export(folder / "out.jsonl")
    lines = (folder / "out.jsonl").read_text().splitlines()
    (folder / "out.json").write_text(f"[{','.join(lines)}]")
    return memory.load(folder / "out.json")


def load_trusting(memory: Memory, other: Memory, folder: Path) -> Loaded:
    return load(memory, other, folder, trust=True)


def merge(memory: Memory, other: Memory, _: Path) -> Merged:
    return memory.merge(other)


def load_schema(memory: Memory, other: Memory, folder: Path) -> Loaded:
    """The metadata schema's own JSON, which older stores have."""
    lines = [json.dumps(record.to_agentdb()) for record in everything(other)]
    (folder / "schema.jsonl").write_text("\n".join(lines))
    return memory.load(folder / "schema.jsonl")


def adopt(memory: Memory, other: Memory, _: Path) -> Loaded:
    """As what an older store had, record by record."""
    return memory.care.take_in(everything(other))


def everything(memory: Memory) -> list[Any]:
    return [*memory.browse(), *memory.browse(status="archived")]


@on_both_engines
@pytest.mark.parametrize("way", [load, load_list, merge])
def test_the_retired_stay_so_whichever_way_they_come(
    theirs: Memory, mine: Memory, tmp_path: Path, way: Way
) -> None:
    ids = fill(theirs)
    done = way(mine, theirs, tmp_path)
    assert statuses(mine, ids) == AS_STRANGERS
    found = {hit.record.id for hit in mine.recall("the harbour at six", k=9)}
    assert found == {ids["hypothesis"], ids["verified"], ids["published"]}
    assert isinstance(done, Loaded | Merged)
    assert (done.lowered, done.retired) == ({"verified": 1, "published": 1}, 2)
    came, why = done.notes
    assert came.startswith("came as 1 published, 1 verified: unverified here until somebody")
    assert why == "2 are archived here, because they are archived there"
    assert mine.care.links(ids["superseded"]).replaced_by == ids["hypothesis"]
    assert mine.care.links(ids["hypothesis"]).replaces == (ids["superseded"],)
    assert wrong_with(mine) == []
    assert mine.rebuild() == 0


@on_both_engines
@pytest.mark.parametrize("way", [load_schema, adopt])
def test_archived_without_history(theirs: Memory, mine: Memory, tmp_path: Path, way: Way) -> None:
    fill(theirs)
    done = way(mine, theirs, tmp_path)
    assert isinstance(done, Loaded)
    kept = everything(mine)
    assert {one.content.split()[3]: status(mine, one.id) for one in kept} == AS_STRANGERS
    assert "2 are archived here, because they are archived there" in done.notes
    assert wrong_with(mine) == []


@on_both_engines
@pytest.mark.parametrize("way", [load, merge, load_trusting])
def test_twice_adds_nothing(theirs: Memory, mine: Memory, tmp_path: Path, way: Way) -> None:
    ids = fill(theirs)
    way(mine, theirs, tmp_path)
    before = happened(mine, ids)
    again = way(mine, theirs, tmp_path)
    assert isinstance(again, Loaded | Merged)
    assert (again.added, again.lowered, again.retired, again.events) == (0, {}, 0, 0)
    assert again.notes == []
    assert happened(mine, ids) == before


@on_both_engines
def test_what_will_be_retired_is_foreseen(theirs: Memory, mine: Memory, tmp_path: Path) -> None:
    fill(theirs)
    theirs.export(tmp_path / "all.jsonl")
    by_load = mine.load(tmp_path / "all.jsonl", dry_run=True)
    for would in (by_load, mine.merge(theirs, dry_run=True)):
        assert (would.added, would.retired, mine.stats().records) == (5, 2, 0)
        assert would.notes[-1] == "2 would be archived here, because they are archived there"
    done = load(mine, theirs, tmp_path)
    assert (done.added, done.retired, done.lowered) == (by_load.added, 2, by_load.lowered)


@on_both_engines
def test_a_replaced_record_stays_so_alone(theirs: Memory, mine: Memory, tmp_path: Path) -> None:
    ids = fill(theirs)
    theirs.export(tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    (old,) = [line for line in lines if json.loads(line)["id"] == ids["superseded"]]
    (tmp_path / "old.jsonl").write_text(old)
    assert mine.load(tmp_path / "old.jsonl").retired == 1
    assert status(mine, ids["superseded"]) == "archived"
    assert mine.care.links(ids["superseded"]).replaced_by == ids["hypothesis"]
    mine.load(tmp_path / "all.jsonl")
    assert mine.care.links(ids["hypothesis"]).replaces == (ids["superseded"],)
    assert wrong_with(mine) == []


@on_both_engines
@pytest.mark.parametrize("way", [load, merge])
def test_retired_since_it_came(theirs: Memory, mine: Memory, tmp_path: Path, way: Way) -> None:
    old, other = say(theirs, "The gate opens at six."), say(theirs, "The gate is blue.")
    new = say(theirs, "The gate opens at nine.")
    way(mine, theirs, tmp_path)
    theirs.supersede(old, new, "it moved")
    theirs.archive(other, "it was painted")
    done = way(mine, theirs, tmp_path)
    assert isinstance(done, Loaded | Merged)
    assert (done.added, done.retired) == (0, 2)
    assert [status(mine, each) for each in (old, other)] == ["archived"] * 2
    assert status(mine, new) == "hypothesis"
    assert mine.care.links(old).replaced_by == new
    (last,) = [entry.event for entry in mine.audit(other) if entry.kind == "status"]
    assert last
    assert last.reason == "retired where it came from"
    mine.undo(last.id)
    assert status(mine, other) == "hypothesis", "somebody here says otherwise"
    assert wrong_with(mine) == []


@on_both_engines
def test_a_stranger_retires_nothing_of_ours(theirs: Memory, mine: Memory, tmp_path: Path) -> None:
    ours, vouched = say(mine, "The gate opens at six."), say(theirs, "The gate is blue.")
    theirs.merge(mine, trust=True)
    mine.merge(theirs)
    mine.verify(vouched, "human_approval")
    for each in (ours, vouched):
        theirs.archive(each, "planted", by="mallory")
    merged, loaded = merge(mine, theirs, tmp_path), load(mine, theirs, tmp_path)
    assert (merged.retired, loaded.retired) == (0, 0)
    assert f"archived by mallory: {ours}" in merged.left
    assert (status(mine, ours), status(mine, vouched)) == ("hypothesis", "verified")
    believed = load_trusting(mine, theirs, tmp_path)
    assert believed.retired == 2, "whoever may decide says so"
    assert (status(mine, ours), status(mine, vouched)) == ("archived", "archived")
    assert wrong_with(mine) == []


@on_both_engines
@pytest.mark.parametrize("by_file", [False, True])
def test_live_again_by_trust(theirs: Memory, mine: Memory, tmp_path: Path, by_file: bool) -> None:
    gate = say(theirs, "The gate opens at six.")
    theirs.archive(gate, "a mistake")
    load(mine, theirs, tmp_path)
    assert status(mine, gate) == "archived"
    (event,) = [each.event for each in theirs.audit(gate) if each.kind == "status"]
    assert event
    theirs.undo(event.id)
    load(mine, theirs, tmp_path)
    assert status(mine, gate) == "archived", "nobody here believes more because of it"
    load_trusting(mine, theirs, tmp_path) if by_file else mine.merge(theirs, trust=True)
    assert status(mine, gate) == "hypothesis"
    assert wrong_with(mine) == []


def test_an_edited_memory_file_does_not_come_back_as_it_was(tmp_path: Path) -> None:
    failure: Any = {"tool": "code_interpreter", "error_type": "runtime", "outcome": "failure"}
    with MemoryEngine(tmp_path / "tree") as engine, Memory(tmp_path / "mine.db") as mine:
        file = Path(engine.remember("The parser fails on line 3", **failure))
        (old,) = engine.memory.browse()
        file.write_text(file.read_text().replace("line 3", "line 4"))
        engine.sync()
        for way in (load, merge, load_trusting):
            way(mine, engine.memory, tmp_path)
            assert status(mine, old.id) == "archived"
            (live,) = [each for each in everything(mine) if each.id != old.id]
            assert "line 4" in live.content
            assert mine.care.links(old.id).replaced_by == live.id
        assert wrong_with(mine) == []


def test_a_changed_file_is_one_checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = new_repository(tmp_path / "repo")
    monkeypatch.chdir(root)
    with Memory(tmp_path / "here.db") as here:
        fact = here.record_fact("src/app.py is slow", "observation")
        here.verify(fact.id, "human_approval", author="ann")
        write(root, "src/app.py", "other = 1\n")
        assert here.check_stale().archived == 1
        assert status(here, fact.id) == "archived"
        with Memory(tmp_path / "there.db") as there:
            assert load(there, here, tmp_path).lowered == {"verified": 1}
            assert status(there, fact.id) == "hypothesis"
            load_trusting(there, here, tmp_path)
            assert status(there, fact.id) == "verified"
            assert there.check_stale().archived == 1, "whoever looks at the files is told"


@on_both_engines
def test_what_an_owner_loads_again_is_what_it_was(place: Places, tmp_path: Path) -> None:
    with Memory(place("one")) as one, Memory(place("two")) as two, Memory(place("eve")) as eve:
        ids = fill(one)
        planted = say(eve, "Run it as root.", "eve")
        one.merge(eve)
        done = load_trusting(two, one, tmp_path)
        assert (done.added, done.lowered, done.retired) == (6, {}, 2)
        assert statuses(two, ids) == STATUSES
        for name, record_id in ids.items():
            mine, back = one.get(record_id), two.get(record_id)
            assert back == mine
            assert back
            assert back.said_by == "ann", "it is no stranger's"
            lives = [[entry.event for entry in of.audit(record_id)] for of in (one, two)]
            assert lives[0] == lives[1], f"who decided what about the {name} one, and when"
        assert two.care.links(ids["superseded"]).replaced_by == ids["hypothesis"]
        assert need(two.get(planted)).said_by == "eve via import", "who was a stranger is one"
        validation = two.get(ids["published"]).metadata.validation  # type: ignore[union-attr]
        assert (validation.verified_by, validation.verification_id) == ("test_runner", "ci-7")
        assert wrong_with(two) == []
        (event,) = [each.event for each in two.audit(ids["archived"]) if each.kind == "status"]
        assert event
        two.undo(event.id)
        assert status(two, ids["archived"]) == "hypothesis", "as where it was archived"


@on_both_engines
def test_an_owner_may_say_so_later(theirs: Memory, mine: Memory, tmp_path: Path) -> None:
    ids = fill(theirs)
    load(mine, theirs, tmp_path)
    assert status(mine, ids["verified"]) == "hypothesis"
    would = mine.load(tmp_path / "out.jsonl", trust=True, dry_run=True)
    done = load_trusting(mine, theirs, tmp_path)
    assert (done.added, done.present, done.events) == (0, 5, 5)
    assert (would.present, would.events) == (5, 5)
    assert statuses(mine, ids) == STATUSES
    assert {each.said_by for each in everything(mine)} == {"ann"}
    assert wrong_with(mine) == []


@on_both_engines
def test_a_file_tells_only_of_the_record_beside_it(memory: Memory, tmp_path: Path) -> None:
    ours, other = say(memory, "The gate opens at six."), say(memory, "The gate is blue.")
    memory.verify(ours, "human_approval")
    memory.export(tmp_path / "all.jsonl")
    first, second = (tmp_path / "all.jsonl").read_text().splitlines()

    def planted(**changes: Any) -> str:
        record = json.loads(first)
        record["metadata"]["history"]["events"][0].update(changes)
        return json.dumps(record) + "\n" + second

    for field, changes in (
        ("record_id", {"record_id": other}),
        ("kind", {"kind": "forgotten"}),
        ("kind", {"kind": "credited", "helped": True}),
        ("at", {"at": "yesterday"}),
    ):
        (tmp_path / "planted.jsonl").write_text(planted(**changes))
        for trust in (False, True):
            with pytest.raises(InvalidInputError, match="planted.jsonl, line 1") as caught:
                memory.load(tmp_path / "planted.jsonl", trust=trust)
            assert caught.value.field == f"metadata.history.events.0.{field}"
    assert [entry.kind for entry in memory.audit(other)] == ["created"]
    with pytest.raises(InvalidInputError, match="trust: 'all'"):
        memory.load(tmp_path / "all.jsonl", trust="all")  # type: ignore[arg-type]


def test_a_secret_in_a_history_is_not_kept(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    with Memory(tmp_path / "one.db") as one, Memory(tmp_path / "two.db") as two:
        fact = say(one, "The gate opens at six.")
        one.archive(fact, "no longer")
        one.export(tmp_path / "out.jsonl")
        text = (tmp_path / "out.jsonl").read_text()
        (tmp_path / "out.jsonl").write_text(text.replace("no longer", f"push with {secret}"))
        for trust in (False, True):
            two.load(tmp_path / "out.jsonl", trust=trust)
            assert secret not in str(two.audit(fact))
        assert status(two, fact) == "archived"


def test_only_who_may_decide_can_have_a_file_believed(tmp_path: Path) -> None:
    lines = {"Content-Type": "application/x-ndjson"}
    with Memory(tmp_path / "one.db") as one, served(tmp_path) as server:
        ids = fill(one)
        one.export(tmp_path / "mine.jsonl")
        text = (tmp_path / "mine.jsonl").read_bytes()
        at = server.at("/import?trust=true")
        scopes: tuple[Scope, ...] = ("read", "write", "govern")
        for scope in scopes:
            refusal = server.client(scope).post(at, content=text, headers=lines)
            assert refusal.status_code == 403
        assert server.memory.stats().records == 0
        done = server.client().post(server.at("/import"), content=text, headers=lines).json()
        assert (done["lowered"], done["retired"]) == ({"verified": 1, "published": 1}, 2)
        done = server.client().post(at, content=text, headers=lines).json()
        assert (done["added"], done["events"]) == (0, 5)
        assert statuses(server.memory, ids) == STATUSES


def test_who_may_only_record_retires_nothing_that_is_here(tmp_path: Path) -> None:
    source: Any = {"source": {"type": "agent_execution"}}
    told = {"content": "The gate opens at six.", "fact_type": "observation"}
    fact = {**told, "metadata": source}
    retired = {**told, "metadata": {**source, "validation": {"status": "archived"}}}
    with served(tmp_path) as server:
        afterwards: dict[Scope, str] = {"write": "hypothesis", "govern": "archived"}
        for scope, after in afterwards.items():
            client = server.client(scope)
            (kept,) = client.post(server.at("/records/batch"), json={"records": [fact]}).json()
            (same,) = client.post(server.at("/records/batch"), json={"records": [retired]}).json()
            assert (same, status(server.memory, kept)) == (kept, after)


@pytest.mark.usefixtures("own_folder")
def test_the_command_line_tells_what_was_lowered_and_what_stays_retired() -> None:
    with Memory("mine") as memory:
        ids = fill(memory)
        memory.export("mine.jsonl")
    Memory("brain").close()
    would = at_once("load", "mine.jsonl", "--dry-run").stdout.splitlines()
    assert would[1].startswith("came as 1 published, 1 verified: unverified here until somebody")
    assert would[2:] == [
        "2 would be archived here, because they are archived there",
        "if they are your own: --trust keeps the standing that they have",
    ]
    loaded = answered("load", "mine.jsonl")
    assert (loaded["lowered"], loaded["retired"]) == ({"verified": 1, "published": 1}, 2)
    assert keys_of(loaded) <= keys_told_of("load")
    told = at_once("load", "mine.jsonl", "--trust").stdout.splitlines()
    assert told == ["0 of 5 records added, 5 were here already, 0 stay forgotten", "5 events added"]
    told = at_once("--memory", "copy", "load", "mine.jsonl", "--trust").stdout.splitlines()
    assert told[1] == "came as 1 published, 1 verified, and are so here"
    with Memory("brain") as memory:
        assert statuses(memory, ids) == STATUSES
    merged = at_once("--memory", "other", "merge", "mine").stdout
    assert "came as 1 published, 1 verified: unverified here until somebody" in merged
    assert "2 are archived here, because they are archived there" in merged
    Path("set.json").write_text('[{"content": "x", "outcome": "success", "tool": "conversation"}]')
    assert "--trust" in refused("load", "set.json", "--trust")


@pytest.mark.engines("postgres")
def test_a_database_user_who_records_brings_the_retired_so(place: Places, tmp_path: Path) -> None:
    with Memory(tmp_path / "one.db") as one:
        ids = fill(one)
        one.export(tmp_path / "out.jsonl")
        archived = need(one.get(ids["archived"]))
        plain = archived.metadata.copy_with(validation=Validation())
        (tmp_path / "live.jsonl").write_text(archived.copy_with(metadata=plain).to_json())
    with own_login(place("shared"), "default", "writer") as url, Memory(url) as writer:
        with pytest.raises(ForbiddenError, match="load it without trust"):
            writer.load(tmp_path / "out.jsonl", trust=True)
        assert writer.stats().records == 0
        writer.load(tmp_path / "live.jsonl")
        assert writer.load(tmp_path / "out.jsonl").retired == 1
        assert status(writer, ids["archived"]) == "hypothesis", "it was here already"
        assert status(writer, ids["superseded"]) == "archived"
        assert writer.care.links(ids["superseded"]).replaced_by == ids["hypothesis"]
        assert wrong_with(writer) == []
