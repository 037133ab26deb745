"""`make audit` and `make release`, with real pip-audit, hatchling and cyclonedx-py."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from short import run_program

ROOT = Path(__file__).parents[2]
AUDIT = ROOT / "release" / "audit.py"
HASH = "0" * 64
PLANTED = {"id": "PYSEC-2026-1", "aliases": ["CVE-2026-0001"], "affected": [
    {"package": {"name": "planted", "ecosystem": "PyPI"}, "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": "1.1"}]}]}
]}  # fmt: skip


def module(name: str) -> Any:
    path = ROOT / "release" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"release_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class _Osv(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["package"]["name"] == "sick":
            return self.send_error(503)
        found = {"vulns": [PLANTED]} if asked["package"]["name"] == "planted" else {}
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def osv() -> Iterator[str]:
    """A service that knows of one vulnerability, in OSV's protocol."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Osv) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/query"
        server.shutdown()
        thread.join()


def audited(
    folder: Path, packages: dict[str, str], *options: str
) -> subprocess.CompletedProcess[str]:
    lock = folder / "some.lock"
    lines = (f"{name}=={version} --hash=sha256:{HASH}\n" for name, version in packages.items())
    lock.write_text("".join(lines))
    return run_program(sys.executable, AUDIT, lock, *options, status=None)


def test_a_known_vulnerability_fails_the_audit(tmp_path: Path, osv: str) -> None:
    done = audited(tmp_path, {"fine": "2.0", "planted": "1.0"}, "--osv-url", osv)
    assert done.returncode == 1
    assert "some.lock: 2 packages were audited, 1 vulnerabilities" in done.stdout
    assert "VULNERABLE planted 1.0: PYSEC-2026-1, CVE-2026-0001 (fixed in 1.1)" in done.stdout


@pytest.mark.parametrize("sick", [False, True], ids=["nobody there", "not well"])
def test_where_nobody_answers_nothing_was_audited(tmp_path: Path, osv: str, sick: bool) -> None:
    url = osv if sick else "http://127.0.0.1:9/v1/query"
    packages = {"sick" if sick else "fine": "2.0"}
    done = audited(tmp_path, packages, "--osv-url", url)
    assert done.returncode == 0
    assert "NOTHING IN some.lock WAS AUDITED" in done.stdout
    assert "!!!!!!!!!!" in done.stdout
    assert audited(tmp_path, packages, "--osv-url", url, "--strict").returncode == 1


PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "little"
version = "1.2"
requires-python = ">=3.11"
[tool.hatch.build.targets.wheel]
packages = ["little"]
"""
# What agents install it by is tested in test_packages.py.
PACKAGES = """
import pathlib, sys
pathlib.Path(sys.argv[1], "little-1.2.mcpb").write_text("a bundle")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A little project with the script in it, committed."""
    root = tmp_path / "little"
    texts = {"pyproject.toml": PROJECT, "little/__init__.py": "", "little/run.sh": "#!/bin/sh\n"}
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "little" / "run.sh").chmod(0o755)
    (root / "requirements.lock").write_text(f"fine==2.0 --hash=sha256:{HASH}\n")
    (root / "release").mkdir()
    shutil.copy(ROOT / "release" / "build.py", root / "release")
    (root / "release" / "packages.py").write_text(PACKAGES)
    commit(root)
    return root


def commit(root: Path) -> None:
    for command in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm x"):
        run_program("git", *command.split(), cwd=root)


def built(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = (sys.executable, "release/build.py", *options)
    return run_program(*command, cwd=root, env=environment, status=None)


def test_a_release_is_the_same_wherever_and_whenever_built(project: Path, tmp_path: Path) -> None:
    (project / "dist").mkdir()
    (project / "dist" / "little-1.1.tar.gz").write_text("old")
    (project / "dist" / "mine.txt").write_text("not ours")
    (project / ".git" / "info" / "exclude").write_text("dist\n")
    done = built(project, "--release")
    assert done.returncode == 0, done.stderr
    names = {
        "little-1.2-py3-none-any.whl", "little-1.2.tar.gz", "little-1.2.cdx.json", "little-1.2.mcpb", "SHA256SUMS",
        "mine.txt",
    }  # fmt: skip
    assert {path.name for path in (project / "dist").iterdir()} == names
    run_program("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=project / "dist")
    assert len((project / "dist" / "SHA256SUMS").read_text().splitlines()) == 4
    check_that_the_sbom_names_what_is_locked(project)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(project, elsewhere, ignore=shutil.ignore_patterns("dist"))
    for path in elsewhere.rglob("little/*"):
        os.utime(path, (1, 1))
    assert built(elsewhere, "--release").returncode == 0
    sums = [(root / "dist" / "SHA256SUMS").read_text() for root in (elsewhere, project)]
    assert sums[0] == sums[1]


def check_that_the_sbom_names_what_is_locked(project: Path) -> None:
    sbom = json.loads((project / "dist" / "little-1.2.cdx.json").read_text())
    assert sbom["bomFormat"] == "CycloneDX"
    component = sbom["metadata"]["component"]
    assert (component["name"], component["version"]) == ("little", "1.2")
    assert [component["purl"] for component in sbom["components"]] == ["pkg:pypi/fine@2.0"]
    assert HASH in json.dumps(sbom["components"])


def test_a_release_is_made_of_what_is_committed(project: Path) -> None:
    (project / "little" / "more.py").write_text("1\n")
    done = built(project, "--release")
    assert done.returncode == 1
    assert "little/more.py" in done.stderr
    assert not (project / "dist").exists()


def test_what_is_tested_is_audited_too() -> None:
    planned = run_program("make", "-n", "test", cwd=ROOT).stdout
    locks = "requirements.lock requirements-dev.lock"
    wanted = ("bandit", "release/audit.py", locks, "release/build.py")
    assert all(part in planned for part in wanted)
