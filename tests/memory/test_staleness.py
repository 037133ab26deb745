"""Whether what a record says of files still holds, in real repositories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts import body, commit, git, write
from hardwon import Fact, Memory, Metadata, limits
from hardwon.errors import InvalidInputError
from hardwon.outside import files
from hardwon.outside import git as looking
from hardwon.outside.git import GIT_QUESTIONS_MAX
from hardwon.records.kinds import STATUSES, Event, Moment, RelatedFile, StaleFile, Validation
from hardwon.search.rank import Hit
from hardwon.trust.lifecycle import (
    BY_TREE,
    effective_validation,
    is_held_as_stale,
    standing_beneath,
)
from short import status_of, succeed
from strategies import at

ASKED = "zebra"


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    remembered = (looking._since, looking._tired_until_s)
    for known in (*remembered, looking.HASHES._known):
        known.clear()


@pytest.fixture
def memory(repository: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "brain.db") as opened:
        yield opened


@pytest.fixture
def brain(memory: Memory) -> Memory:
    """A memory that knows something about src/app.py."""
    memory.remember(f"{ASKED} src/app.py", "success", "file_operation")
    return memory


def about_files(*related: RelatedFile, content: str = ASKED, commit: str = "") -> Fact:
    moment = Moment(git_commit=commit, related_files=list(related))
    return Fact(content=content, fact_type="error", metadata=Metadata(context=moment))


def hit_of(memory: Memory) -> Hit:
    if checkout := memory._project.checkout:
        checkout.look_anew()  # as if two seconds had passed
    (hit,) = memory.recall(ASKED)
    return hit


def changes(memory: Memory) -> tuple[bool, list[str]]:
    """What recall says, which check_stale must say too."""
    hit = hit_of(memory)
    told = [str(change) for change in hit.changed]
    report = memory.check_stale(dry_run=True)
    assert [str(change) for _, change in report.files] == told
    assert (report.checked, report.stale) == (1, int(hit.stale))
    return hit.stale, told


RENAMED = "src/app.py renamed (now src/main.py)"
# What is done to the file, and what is told of it after that; nothing where it is as it was.
HISTORIES = {
    "changed and changed back": """
        write src/app.py -> src/app.py changed
        commit -> src/app.py changed
        git revert --no-edit HEAD ->
        touch src/app.py ->""",
    "renamed": f"""
        git mv src/app.py src/main.py -> {RENAMED}
        commit -> {RENAMED}""",
    "renamed, and git was not told": f"move src/app.py src/main.py -> {RENAMED}",
    "renamed and changed": """
        git mv src/app.py src/main.py
        append src/main.py
        git add -A -> src/app.py changed (now src/main.py)
        commit -> src/app.py changed (now src/main.py)""",
    "renamed over several commits": """
        git mv src/app.py src/one.py
        commit
        git mv src/one.py src/two.py
        commit -> src/app.py renamed (now src/two.py)
        move src/two.py lib/two.py -> src/app.py renamed (now lib/two.py)""",
    "removed until it is back": """
        remove src/app.py -> src/app.py gone
        commit -> src/app.py gone
        git checkout -q HEAD~1 -- src/app.py ->""",
    "on another branch": """
        git checkout -q -b side
        write src/app.py
        commit -> src/app.py changed
        git checkout -q main ->
        git checkout -q --detach side -> src/app.py changed
        git checkout -q --detach main ->""",
    "amended": f"""
        git commit -q --amend -m words ->
        git mv src/app.py src/main.py
        git commit -q --amend -m name -> {RENAMED}""",
}


def play(repository: Path, step: str) -> None:
    word, *rest = step.split()
    paths = [repository / path for path in rest]
    if word == "git":
        git(repository, *rest)
    elif word == "commit":
        commit(repository)
    elif word == "write":
        write(repository, rest[0], body("other"))
    elif word == "append":
        paths[0].write_text(paths[0].read_text() + "more = True\n")
    elif word == "move":
        paths[1].parent.mkdir(exist_ok=True)
        paths[0].rename(paths[1])
    elif word == "remove":
        paths[0].unlink()
    else:
        assert word == "touch"
        os.utime(paths[0], (1, 1))


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_what_became_of_a_file_is_told(brain: Memory, repository: Path, history: str) -> None:
    for line in history.strip().splitlines():
        step, arrow, told = line.partition("->")
        play(repository, step)
        if arrow:
            told = told.strip()
            is_stale = bool(told) and "renamed" not in told
            assert changes(brain) == (is_stale, [told] if told else []), step
            assert ("stale" in hit_of(brain).why) == is_stale


def test_a_file_that_was_not_there_appeared(memory: Memory, repository: Path) -> None:
    memory.remember(ASKED, "learning", insight_type="fact", related_files=["docs/plan.md"])
    assert changes(memory) == (False, [])
    write(repository, "docs/plan.md", "x")
    assert changes(memory) == (True, ["docs/plan.md appeared"])


def test_a_worktree_is_its_own_checkout(brain: Memory, repository: Path, tmp_path: Path) -> None:
    side = tmp_path / "side"
    git(repository, "worktree", "add", "-q", "-b", "side", str(side))
    git(side, "mv", "src/app.py", "src/main.py")
    write(side, "src/main.py", body("src/app.py") + "more = 1\n")
    assert changes(brain) == (False, [])
    report = brain.check_stale(side, dry_run=True)
    assert [str(change) for _, change in report.files] == ["src/app.py changed (now src/main.py)"]


def test_bare_repositories(brain: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(tmp_path / "repo"), "bare.git")
    for name in ("bare.git", "plain"):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / name)
        with Memory(tmp_path / "brain.db") as memory:
            hit = hit_of(memory)
            assert (hit.stale, hit.changed) == (False, ())
            with pytest.raises(InvalidInputError):
                memory.check_stale()


def test_git_may_be_slow(brain: Memory, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "src/app.py").unlink()
    tool = repository / "bin" / "git"
    write(repository, "bin/git", "#!/bin/sh\necho asked >> ../asked\nexec sleep 30\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("hardwon.outside.git.GIT_WAIT_MAX_S", 0.2)
    for _ in range(3):
        assert changes(brain) == (True, ["src/app.py gone"])
    assert (repository.parent / "asked").read_text().split() == ["asked"]


def test_what_hooks_set(brain: Memory, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "mv", "src/app.py", "src/main.py")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert changes(brain) == (False, ["src/app.py renamed (now src/main.py)"])


def test_git_runs_no_filter(brain: Memory, repository: Path) -> None:
    ran = repository.parent / "ran"
    for name in "filter.clean filter.smudge filter.process diff.textconv diff.command".split():
        git(repository, "config", name.replace(".", ".evil."), f"touch {ran}; cat")
    git(repository, "config", "filter.evil.required", "true")
    write(repository, ".git/info/attributes", "* filter=evil diff=evil\n")
    write(repository, "README.md", "of another length\n")
    write(repository, "src/fresh.py", body("fresh"))
    (repository / "src/app.py").rename(repository / "src/main.py")
    assert changes(brain) == (False, ["src/app.py renamed (now src/main.py)"])
    (repository / "src/main.py").unlink()
    assert changes(brain) == (True, ["src/app.py gone"])
    assert not ran.exists()


def test_git_fetches_nothing(brain: Memory, repository: Path) -> None:
    """Of a partial clone git fetches what it needs, by whatever program the settings name."""
    ran = repository.parent / "ran"
    write(repository, "src/main.py", body("src/app.py") + "more = True\n")
    (repository / "src/app.py").unlink()
    git(repository, "add", "-A")
    for old in (repository / ".git/objects").glob("??/*"):
        if git(repository, "cat-file", "-t", old.parent.name + old.name) == "blob":
            old.unlink()
    partial = "core.repositoryFormatVersion=1 extensions.partialClone=origin"
    for setting in f"{partial} remote.origin.promisor=true protocol.ext.allow=always".split():
        git(repository, "config", *setting.split("="))
    git(repository, "config", "remote.origin.url", f"ext::touch {ran}")
    assert hit_of(brain).stale
    assert not ran.exists()


def counted_git(repository: Path, monkeypatch: pytest.MonkeyPatch, before: str = "") -> Path:
    """A git that notes down that it was asked; returns where."""
    asked, real = repository.parent / "asked", shutil.which("git")
    tool = repository.parent / "bin" / "git"
    write(tool.parent, "git", f'#!/bin/sh\necho asked >> {asked}\n{before}\nexec {real} "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    return asked


def of_many_commits(memory: Memory, count: int) -> None:
    for number in range(1, count + 1):
        lost = RelatedFile(path=f"lost{number}.py", hash="a" * 40)
        readme = RelatedFile(path="README.md", hash="")
        memory.add(about_files(readme, lost, content=f"giraffe {number}", commit=f"{number:040x}"))


def test_many_commits(memory: Memory, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.outside.git.GIT_QUESTIONS_WITHIN_S", 600.0)
    of_many_commits(memory, 30)
    asked = counted_git(repository, monkeypatch)
    hits = memory.recall("giraffe", k=30)
    assert len(hits) == 30
    assert len(asked.read_text().split()) == GIT_QUESTIONS_MAX
    gone = [hit for hit in hits if any(change.change == "gone" for change in hit.changed)]
    assert 0 < len(gone) < GIT_QUESTIONS_MAX  # of the others it is not known
    memory.recall("giraffe", k=30)
    assert len(asked.read_text().split()) == GIT_QUESTIONS_MAX
    assert memory.check_stale(dry_run=True).files_changed == 60


def test_empty_files_are_not_taken_for_each_other(memory: Memory, repository: Path) -> None:
    write(repository, "a/__init__.py", "")
    write(repository, "b/__init__.py", "")
    memory.remember(f"{ASKED} a/__init__.py", "success", "file_operation")
    (repository / "a/__init__.py").unlink()
    assert changes(memory) == (True, ["a/__init__.py gone"])


def test_records_of_another_repository_are_left_alone(
    memory: Memory, brain: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    write(other, "main.go", "package main\n")
    commit(other)
    monkeypatch.chdir(other)
    assert changes(memory) == (False, [])


@pytest.mark.parametrize(
    "path",
    [
        *("../../etc/passwd", "src/../../outside.txt", "a" * 5_000, "a/" * 3_000 + "b"),
        *("link", "folder/secret", "pipe", ".git/HEAD"),
    ],
)
def test_hostile_paths_are_not_opened(
    memory: Memory, repository: Path, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "outside/secret", "s")
    (repository / "link").symlink_to("/etc/passwd")
    (repository / "folder").symlink_to(tmp_path / "outside")
    os.mkfifo(repository / "pipe")
    monkeypatch.setattr(looking.HASHES, "read", _refuse)
    related = [RelatedFile.model_construct(path=path, hash="a" * 40)]
    record = about_files(commit="0" * 40)
    context = record.metadata.context.copy_with(related_files=related)
    looked = record.copy_with(metadata=record.metadata.copy_with(context=context))
    assert memory._project.staleness is not None
    assert memory._project.staleness(looked) == ()


def _refuse(*_: Any) -> str:
    raise AssertionError("nothing is to be opened")


def test_own_files_shut(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(repository / "brain.db") as memory:
        os.link(memory.location, repository / "alias.txt")
        (repository / "other.txt").symlink_to(memory.location)
        monkeypatch.setattr(looking.HASHES, "read", _refuse)
        checkout = memory._project.checkout
        assert checkout is not None
        own = ("brain.db", "brain.db-wal", "brain.db-shm", "alias.txt", "other.txt")
        for path in (*own, memory.location):
            assert checkout.sha1(path, 10**9) == looking.UNSURE


def test_a_commit_that_is_an_option(brain: Memory, repository: Path, tmp_path: Path) -> None:
    lost = RelatedFile(path="src/lost.py", hash="a" * 40)
    brain.add(about_files(lost, content="giraffe", commit="--output=owned"))
    (hit,) = brain.recall("giraffe")
    assert hit.changed == ()
    assert not list(tmp_path.rglob("owned"))


def test_a_file_outside_is_looked_at(memory: Memory, repository: Path, tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/notes.txt", "one")
    path = str(tmp_path / "elsewhere/notes.txt")
    memory.remember(ASKED, "learning", insight_type="fact", related_files=[path])
    assert changes(memory) == (False, [])
    write(tmp_path, "elsewhere/notes.txt", "two")
    assert changes(memory) == (True, [f"{path} changed"])
    Path(path).unlink()
    assert changes(memory) == (True, [f"{path} gone"])


MADE_UP = """/proc/kmsg /proc/self/pagemap /proc/self/mem /proc/self/environ /dev/zero
    /sys/kernel/uevent_seqnum""".split()


@pytest.mark.parametrize("path", MADE_UP)
@pytest.mark.usefixtures("repository")
def test_recall_opens_nothing_that_the_system_makes_up(
    memory: Memory, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(path)
    monkeypatch.setattr(looking.HASHES, "read", _refuse)
    for name in (path, str(tmp_path / "link")):
        fact = about_files(RelatedFile(path=name, hash="a" * 40))
        memory.add(fact)
        assert changes(memory) == (False, [])
        memory.forget(fact.id)


def test_a_checkout_in_shared_memory_is_no_file_of_the_system() -> None:
    assert not files.is_of_the_system("/run/user/1/repo/a.py", "/run/user/1/repo")
    assert not files.is_of_the_system("/home/u/proc/a.py", "/home/u")
    assert files.is_of_the_system("/proc/kmsg", "/run/user/1/repo")
    assert files.is_of_the_system("/run/user/1/repo/a.py", "/home/u")
    assert files.is_of_the_system("/proc/kmsg", "/")


@pytest.mark.parametrize(
    "path", ["/proc/self/pagemap", "/proc/self/mem", "/dev/zero", "pipe", "to_the_system"]
)
def test_a_caller_may_not_name_them_either(memory: Memory, repository: Path, path: str) -> None:
    os.mkfifo(repository / "pipe")
    (repository / "to_the_system").symlink_to("/proc/self/pagemap")
    with pytest.raises(InvalidInputError, match="related_files"):
        memory.remember(ASKED, "learning", insight_type="fact", related_files=[path])
    assert list(memory.browse()) == []


def test_a_change_that_size_and_time_do_not_show(brain: Memory, repository: Path) -> None:
    path = repository / "src/app.py"
    before, status = path.read_bytes(), path.stat()
    hit_of(brain)
    for number in range(30):
        path.write_bytes(before.replace(b"0", b"%d" % (number % 9 + 1), 1))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert hit_of(brain).stale
        path.write_bytes(before)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert not hit_of(brain).stale


def test_recall_marks_lowers_and_archives_nothing(brain: Memory, repository: Path) -> None:
    brain.remember(f"{ASKED} README.md", "success", "file_operation")
    write(repository, "README.md", "other")
    fresh, stale = brain.recall(ASKED)
    assert (fresh.stale, stale.stale) == (False, True)
    assert stale.changed == (StaleFile("README.md", "changed", "README.md"),)
    assert stale.why["stale"] < 0
    for hit in (fresh, stale):
        assert hit.score == pytest.approx(sum(hit.why.values()))
    assert {record.metadata.validation.status for record in brain.browse()} == {"hypothesis"}
    assert brain.stats().events == 0


def test_context_says_so_and_fresh_ones_come_first(brain: Memory, repository: Path) -> None:
    brain.remember(f"{ASKED} login works now, src/login.py", "success", "file_operation")
    write(repository, "src/app.py", "other")
    lines = str(brain.context(ASKED)).splitlines()
    (fresh,) = [number for number, line in enumerate(lines) if "src/login.py" in line]
    (stale,) = [number for number, line in enumerate(lines) if "src/app.py [stale; " in line]
    assert fresh < stale


@pytest.mark.parametrize("standing", ["hypothesis", "verified", "published"])
def test_stale_archives_until_it_is_back(brain: Memory, repository: Path, standing: str) -> None:
    (record,) = brain.browse()
    if standing != "hypothesis":
        brain.verify(record.id, "test_runner", "run 7")
    if standing == "published":
        brain.publish(record.id)
    before = brain.get(record.id)
    content = (repository / "src/app.py").read_text()
    write(repository, "src/app.py", "other")
    foreseen = brain.check_stale(dry_run=True)
    assert (foreseen.archived, foreseen.dry_run, status_of(brain, record.id)) == (1, True, standing)
    report = brain.check_stale()
    assert (report.checked, report.stale, report.archived, report.restored) == (1, 1, 1, 0)
    assert report.files == [(record.id, StaleFile("src/app.py", "changed", "src/app.py"))]
    assert status_of(brain, record.id) == "archived"
    assert brain.recall(ASKED) == []
    (event,) = [each.event for each in brain.audit(record.id) if each.kind == "stale"]
    assert event is not None
    assert event.reason == "src/app.py changed"
    again = brain.check_stale()
    assert (again.stale, again.archived, again.restored) == (1, 0, 0)
    write(repository, "src/app.py", content)
    assert brain.check_stale(dry_run=True).restored == 1
    assert brain.check_stale().restored == 1
    assert brain.get(record.id) == before
    assert brain.check_stale().restored == 0
    assert [each.kind for each in brain.audit(record.id)][-2:] == ["stale", "fresh"]
    assert brain.doctor().ok


def test_archived_records_teach_nothing_until_restored(memory: Memory, repository: Path) -> None:
    for _ in range(3):
        succeed(memory, "Read src/app.py before anything else.")
    taught = memory.rules("t")
    assert taught
    content = (repository / "src/app.py").read_text()
    write(repository, "src/app.py", "other")
    assert memory.check_stale().archived == 3
    assert memory.rules("t") == []
    write(repository, "src/app.py", content)
    assert memory.check_stale().restored == 3
    assert memory.rules("t") == taught
    assert memory.doctor().ok


def test_what_is_decided_about_a_stale_record_stands(brain: Memory, repository: Path) -> None:
    (record,) = brain.browse()
    with pytest.raises(InvalidInputError, match="hypothesis"):
        brain.publish(record.id)
    write(repository, "src/app.py", "other")
    brain.check_stale()
    with pytest.raises(InvalidInputError, match="hypothesis"):
        brain.publish(record.id)  # what it is beneath counts
    assert brain.verify(record.id, "human_approval").metadata.validation.status == "verified"
    assert brain.check_stale().archived == 1
    assert brain.publish(record.id).metadata.validation.status == "published"
    assert brain.check_stale().archived == 1
    git(repository, "checkout", "-q", "--", ".")
    assert brain.check_stale().restored == 1
    assert status_of(brain, record.id) == "published"
    assert brain.doctor().ok


def test_what_is_archived_while_it_is_stale_stays_so(brain: Memory, repository: Path) -> None:
    (record,) = brain.browse()
    write(repository, "src/app.py", "other")
    brain.check_stale()
    brain.archive(record.id, "it was wrong anyway")
    with pytest.raises(InvalidInputError, match="final"):
        brain.archive(record.id, "twice")
    git(repository, "checkout", "-q", "--", ".")
    assert brain.check_stale().restored == 0
    assert status_of(brain, record.id) == "archived"
    assert brain.doctor().ok


def test_many_in_batches(memory: Memory, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.memory.staleness.PAGE_ROWS", 7)
    monkeypatch.setattr(limits, "REPORTED_MAX", 5)
    for about in ("src/app.py", "nothing"):
        facts = [Fact(content=f"{about} {number}", fact_type="error") for number in range(40)]
        memory.add_many(facts)
    write(repository, "src/app.py", "other")
    seen: list[int] = []
    report = memory.check_stale(progress=lambda done, _: seen.append(done))
    assert (report.checked, report.stale, report.archived) == (40, 40, 40)
    assert (report.files_changed, len(report.files)) == (40, 5)
    assert seen[-1] == 40
    git(repository, "checkout", "-q", "--", ".")
    assert memory.check_stale().restored == 40


def test_files_of_a_tree_follow(repository: Path, tmp_path: Path) -> None:
    with Memory(tmp_path / "brain") as memory:
        memory.tree.make()
        kept = memory.remember("src/app.py is slow", "learning", insight_type="fact")
        assert kept.path is not None
        content = (repository / "src/app.py").read_text()
        write(repository, "src/app.py", "other")
        assert memory.check_stale().archived == 1
        assert not Path(kept.path).exists()
        write(repository, "src/app.py", content)
        assert memory.check_stale().restored == 1
        assert memory.tree.sync().absent == 0
        assert status_of(memory, kept.id) == "hypothesis"
        assert list((tmp_path / "brain").rglob(Path(kept.path).name))
        assert memory.doctor().ok


RECORD = "01890000-0000-7000-8000-000000000000"
EVENT_KINDS = "status superseded absent present stale fresh imported credited".split()


@st.composite
def happenings(draw: st.DrawFn) -> Event:
    kind = draw(st.sampled_from(EVENT_KINDS))
    status = draw(st.sampled_from(STATUSES)) if kind == "status" else None
    by = draw(st.sampled_from([BY_TREE, "user"]))
    return Event(record_id=RECORD, kind=kind, at=at(draw(st.integers(0, 20))), by=by, status=status)


envelopes = st.builds(Validation, status=st.sampled_from(STATUSES))


@given(envelopes, st.lists(happenings(), max_size=12), st.randoms(use_true_random=False))
def test_any_order_is_the_same(envelope: Validation, events: list[Event], random: Any) -> None:
    shuffled = list(events)
    random.shuffle(shuffled)
    assert effective_validation(envelope, events) == effective_validation(envelope, shuffled)
    assert is_held_as_stale(envelope, events) == is_held_as_stale(envelope, shuffled)
    if is_held_as_stale(envelope, events):
        assert effective_validation(envelope, events).status == "archived"


@given(envelopes, st.lists(happenings(), max_size=12))
def test_fresh_takes_back_exactly_what_stale_did(envelope: Validation, events: list[Event]) -> None:
    later = at(100)
    before = effective_validation(envelope, events)
    if is_held_as_stale(envelope, events):
        return
    stale = Event(record_id=RECORD, kind="stale", at=later, by="x")
    fresh = Event(record_id=RECORD, kind="fresh", at=later + timedelta(seconds=1), by="x")
    assert effective_validation(envelope, [*events, stale]).status == "archived"
    assert effective_validation(envelope, [*events, stale, stale, fresh]) == before
    vouched: Any = {"status": "verified", "verified_by": "compiler"}
    soon = later + timedelta(milliseconds=1)
    verified = Event(record_id=RECORD, kind="status", at=soon, by="x", **vouched)
    won = effective_validation(envelope, [*events, stale, verified, fresh])
    assert won.status == "verified"


@given(envelopes, st.lists(happenings(), max_size=12))
def test_beneath_is_what_releasing_all_gives(envelope: Validation, events: list[Event]) -> None:
    free = [Event(record_id=RECORD, kind=kind, at=at(100), by="x") for kind in ("present", "fresh")]
    assert standing_beneath(envelope, events) == effective_validation(envelope, [*events, *free])
