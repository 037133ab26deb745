"""Records carry the commit, the branch and the files that they are about, by themselves."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each
from checkouts import body, commit, git, write
from hardwon import Episode, Experience, Fact, Memory, MistakeCard, limits
from hardwon.errors import ConflictError, InvalidInputError
from hardwon.outside import git as looking
from hardwon.outside.files import repository_root
from hardwon.outside.git import NO_HEAD, Repository
from hardwon.records.kinds import RelatedFile
from hardwon.text.entities import PATHS_SOUGHT_CHARS_MAX, PATHS_TRIED_MAX, holds_secrets, path_words


def sha1(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()


def files_of(record: Experience | Fact | Episode) -> list[str]:
    return [file.path for file in record.metadata.context.related_files]


@pytest.fixture
def memory(repository: Path) -> Iterator[Memory]:
    with Memory("brain.db") as opened:
        yield opened


def learn(memory: Memory, text: str) -> Experience:
    return memory.remember(text, "learning", insight_type="fact")


@each(
    ("text", "words"),
    [
        ("see src/app.py:12, please", ["src/app.py"]), ('File "/r/x.py", line 3', ["/r/x.py"]),
        ("(lib/x.ts) and `a-b/c_d.rs`!", ["lib/x.ts", "a-b/c_d.rs"]), ("./run.sh then ./run.sh again", ["run.sh"]),
        (".github/workflows/ci.yml src/.hidden/x", [".github/workflows/ci.yml", "src/.hidden/x"]),
        ("größe/ä.py", ["größe/ä.py"]), ("../up.py a/../../etc/passwd a/.. x..y", []),
        ("https://example.org/a/b.py", []), ("The end. Nothing here, and/nor", ["and/nor"]),
        (".git/config a/.git/HEAD A/.GIT/x", []),
        (".env .env.local conf/server.pem ~/.netrc id_rsa keys/id_ed25519", []),
        ("tests/test_x.py::test_it", ["tests/test_x.py"]), ("", []), ("no path in it", []),
    ],
)  # fmt: skip
def test_words_that_look_like_paths(text: str, words: list[str]) -> None:
    assert path_words(text) == words


SECRETS = """prod.env a/prod.env.local .npmrc .pypirc .htpasswd .git-credentials .aws/credentials .aws/config credentials.json
    app_credentials.yml config/secrets.yaml secrets.prod.toml server.keystore a/b.jks c.p12 terraform.tfstate
    terraform.tfstate.backup prod.tfvars .netrc _netrc .ssh/config .kube/config .docker/config.json service-account-prod.json
    PROD.ENV config/master.key
    .ENV.local""".split()
NO_SECRETS = """src/env.py environment.yml secrets.py src/credentials.py docs/secrets.md src/environ/x.py tests/test_secrets.py
    key.py keystore.go .docker/Dockerfile main.tf id_map.py""".split()


def test_names_of_files_that_hold_secrets() -> None:
    assert [path for path in SECRETS if not holds_secrets(path)] == []
    assert [path for path in NO_SECRETS if holds_secrets(path)] == []
    assert path_words(" ".join(SECRETS)) == []
    assert path_words(" ".join(NO_SECRETS)) == NO_SECRETS


def test_a_link_or_a_folder_hides_no_secrets(
    memory: Memory, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".env", ".aws/credentials", ".aws/x.txt", "src/plain.txt"):
        write(repository, name, "k")
    (repository / "envlink.txt").symlink_to(".env")
    (repository / "cloud").symlink_to(".aws")
    (repository / "plainlink.txt").symlink_to("src/plain.txt")
    named = learn(memory, "envlink.txt cloud/x.txt cloud/credentials plainlink.txt")
    assert files_of(named) == ["plainlink.txt"]
    monkeypatch.chdir(repository / ".aws")
    with Memory("../brain.db") as inside:
        assert files_of(learn(inside, "x.txt and ./credentials")) == []


@given(st.text(st.sampled_from("ab1./-_@~ \n:\\\"'ä\u2028"), max_size=200))
def test_no_word_leads_upward_or_into_git(text: str) -> None:
    for word in path_words(text):
        parts = word.split("/")
        assert ".." not in parts
        assert "." not in parts
        assert ".git" not in parts
        assert word in text
        assert "/" in word or "." in word


def test_only_so_much_is_looked_at() -> None:
    many = " ".join(f"a/b{number}.py" for number in range(1_000))
    assert len(path_words(many)) == PATHS_TRIED_MAX
    assert path_words(" " * PATHS_SOUGHT_CHARS_MAX + "src/app.py") == []
    assert path_words("a/" + "b" * limits.PATH_CHARS_MAX) == []


def test_files_that_the_text_names_are_found_with_commit(memory: Memory, repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    text = "src/app.py:7 calls src/login.py; src/lost.py and src are nothing, e.g. 0.5"
    kept = learn(memory, text)
    moment = kept.metadata.context
    assert moment.related_files == [
        RelatedFile(path=name, hash=sha1(repository / name))
        for name in ("src/app.py", "src/login.py")
    ]
    assert (moment.git_commit, moment.git_branch) == (head, "main")
    assert memory.get(kept.id) == kept
    assert [hit.id for hit in memory.browse(path="src/login.py")] == [kept.id]
    assert memory.doctor().ok


def test_every_kind_of_record_is_looked_at(repository: Path) -> None:
    with Memory("brain.db") as memory:
        memory.record_fact("src/app.py is slow", "observation")
        step = {"action": "edit README.md", "observation": "see src/login.py"}
        memory.record_trajectory("t", [step], 1.0)
        card = MistakeCard(evidence="src/app.py", lesson="no")
        memory.record_episode("t", 0.5, mistake_cards=[card])
        memory.record_fix({"description": "x"}, True, True, "", ["sed -i s/a/b/ src/login.py"])
        memory.add(Experience(content="README.md", outcome="success", tool="conversation"))
        memory.add_many([Fact(content="src/app.py", fact_type="error")])
        with memory.trajectory("src/app.py") as recorder:
            recorder.step("x", "y", 1.0)
        found = [
            tuple(file.path for file in record.metadata.context.related_files)
            for record in memory.browse()
        ]
    assert sorted(found) == sorted(
        [
            ("src/app.py",), ("README.md", "src/login.py"), ("src/app.py",), ("src/login.py",), ("README.md",),
            ("src/app.py",), ("src/app.py",),
        ]
    )  # fmt: skip


def test_what_the_caller_names_is_all(repository: Path) -> None:
    with Memory("brain.db") as memory:
        kept = memory.remember("src/app.py", "success", "conversation", related_files=["README.md"])
    assert files_of(kept) == ["README.md"]


def test_from_a_folder_below_and_in_full(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "src")
    with Memory("brain.db") as memory:
        assert files_of(learn(memory, "app.py is here")) == ["src/app.py"]
        assert files_of(learn(memory, "README.md is above")) == ["README.md"]
        assert files_of(learn(memory, f"{repository}/src/login.py: no")) == ["src/login.py"]
        assert files_of(learn(memory, "/etc/passwd and /etc/hosts")) == []


def test_no_link_leads_out_and_no_secret_or_own_file_is_hashed(
    repository: Path, tmp_path: Path
) -> None:
    write(tmp_path, "outside/secret.txt", "s")
    (repository / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (repository / "folder.d").symlink_to(tmp_path / "outside")
    (repository / "inner.py").symlink_to("src/app.py")
    (repository / "dangling.py").symlink_to("nowhere")
    write(repository, ".env", "TOKEN=1")
    os.mkfifo(repository / "pipe.txt")
    with Memory(".hardwon") as memory:
        write(repository, ".hardwon/notes.md", "n")
        os.link(memory.location, repository / "alias.txt")
        text = "link.txt folder.d/secret.txt dangling.py .env pipe.txt .git/HEAD .hardwon/memory.db .hardwon/notes.md alias.txt"
        assert files_of(learn(memory, text)) == []
        assert files_of(learn(memory, "inner.py")) == ["inner.py"], "a link that stays inside"
        assert memory.doctor().ok


def test_bounds_on_files(memory: Memory, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.outside.git.FOUND_FILE_BYTES_MAX", 10)
    for number in range(20):
        write(repository, f"n/{number}.txt", str(number))
    assert files_of(learn(memory, "src/app.py is too large")) == []
    text = " ".join(f"n/{number}.txt" for number in range(20))
    assert len(files_of(learn(memory, text))) == looking._FILES_FOUND_MAX


def test_no_git_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "plain/src/app.py", "x")
    monkeypatch.chdir(tmp_path / "plain")
    with Memory("brain.db") as memory:
        moment = learn(memory, "src/app.py").metadata.context
        assert (moment.related_files, moment.git_commit, moment.git_branch) == ([], "", "")


def test_bare_repositories_have_no_files(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    monkeypatch.chdir(tmp_path / "bare.git")
    text = "config and HEAD and ./description and hooks/pre-push.sample"
    with Memory(tmp_path / "one.db") as memory:
        assert files_of(learn(memory, text)) == []
    hub = tmp_path / "hub"
    hub.mkdir()
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(hub / ".bare"))
    write(hub, ".git", "gitdir: ./.bare\n")
    write(hub, "notes.md", "beside it")
    git(hub, "worktree", "add", "-q", "tree", "main")
    monkeypatch.chdir(hub)
    with Memory(tmp_path / "two.db") as memory:
        assert files_of(learn(memory, "notes.md")) == []
    monkeypatch.chdir(hub / "tree")
    with Memory(tmp_path / "three.db") as memory:
        kept = learn(memory, "src/app.py")
        assert files_of(kept) == ["src/app.py"]
        assert kept.metadata.context.git_branch == "main"


def test_loaded_merged_and_adopted_records_stay_as_they_are(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    with Memory("other.db") as other:
        learn(other, "src/app.py")
        other.export(tmp_path / "out.jsonl")
        monkeypatch.chdir(repository)
        with Memory(tmp_path / "loaded.db") as loaded, Memory(tmp_path / "merged.db") as merged:
            loaded.load(tmp_path / "out.jsonl")
            merged.merge(other, trust=True)
            merged.care.take_in([Fact(content="README.md", fact_type="error")])
            found = [*loaded.browse(), *merged.browse()]
    assert len(found) == 3
    assert all(not record.metadata.context.related_files for record in found)


def test_adding_again_after_a_change_changes_nothing(memory: Memory, repository: Path) -> None:
    record = Fact(content="src/app.py is slow", fact_type="observation")
    memory.add(record)
    first = memory.get(record.id)
    write(repository, "src/app.py", body("other"))
    commit(repository)
    assert memory.add(record) == record.id
    assert memory.add_many([record]) == [record.id]
    assert memory.get(record.id) == first
    with pytest.raises(ConflictError):
        memory.add(Fact(id=record.id, content="src/app.py is fast", fact_type="observation"))


def test_a_hash_is_not_taken_from_before_a_change(memory: Memory, repository: Path) -> None:
    for number in range(20):  # within the same tick of the clock, and as long as before
        write(repository, "src/app.py", f"{number:04}")
        (found,) = learn(memory, f"src/app.py {number}").metadata.context.related_files
        assert found.hash == sha1(repository / "src/app.py")


def test_the_memory_itself_is_no_related_file(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(memory.location)
    for path in (memory.location, memory.location + "-wal", str(tmp_path / "alias")):
        with pytest.raises(InvalidInputError, match="related_files"):
            memory.remember("x", "success", "conversation", related_files=[path])
    assert list(memory.browse()) == []


def commit_file(folder: Path, text: str) -> str:
    (folder / "file.txt").write_text(text)
    return commit(folder, text)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def test_head_follows_commits_branches_and_packing(checkout: Path) -> None:
    repository = Repository(checkout)
    assert repository.head == ("", "main"), "no commit yet"
    first = commit_file(checkout, "one")
    assert repository.head == (first, "main") == repository.head
    git(checkout, "checkout", "-q", "-b", "feature/x")
    second = commit_file(checkout, "two")
    assert repository.head == (second, "feature/x")
    git(checkout, "pack-refs", "--all")
    assert repository.head == (second, "feature/x")
    third = commit_file(checkout, "three")
    assert repository.head == (third, "feature/x")
    git(checkout, "checkout", "-q", first)
    assert repository.head == (first, "")
    git(checkout, "checkout", "-q", "main")
    assert repository.head == (first, "main")


def test_a_linked_worktree_has_its_own_head(checkout: Path, tmp_path: Path) -> None:
    first = commit_file(checkout, "one")
    git(checkout, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repository(tmp_path / "side")
    assert side.head == (first, "side")
    second = commit_file(tmp_path / "side", "two")
    assert side.head == (second, "side")
    assert Repository(checkout).head == (first, "main")


def test_no_repository_and_a_broken_one(tmp_path: Path) -> None:
    assert repository_root(tmp_path) is None
    (tmp_path / ".git").mkdir()
    assert repository_root(tmp_path) == tmp_path
    assert Repository(tmp_path).head == NO_HEAD
    (tmp_path / ".git" / "HEAD").write_bytes(b"\xff\xfe nonsense")
    assert Repository(tmp_path).head == NO_HEAD
    (tmp_path / ".git" / "HEAD").write_text("not a commit")
    assert Repository(tmp_path).head == NO_HEAD
