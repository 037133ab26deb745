"""Builds the wheel and the source distribution, twice, and says whether both times every byte is
the same.

The second build happens in another folder, with other rights and times of the files, so that
nothing of a machine gets into a release. The time inside of the archives is that of the last commit
(`SOURCE_DATE_EPOCH` where that is set). Beside them lie what they depend on (an SBOM, CycloneDX as
JSON), what agents install it by (`packages.py`), and the checksums of all.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SUMS: Final = "SHA256SUMS"
_WAYS: Final = ((0o022, "one", None), (0o077, "another/one", 1_000_000_000))
"""The rights that new files get, the folder, and the time of the files."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Reproducible distributions, with an SBOM and checksums."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument(
        "--release", action="store_true", help="refuse where something is not committed"
    )
    asked = parser.parse_args(arguments)
    if asked.release and (changed := _git("status", "--porcelain").strip()):
        print(
            f"a release is built from what is committed, and this is not:\n{changed}",
            file=sys.stderr,
        )
        return 1
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory() as folder:
        built = [_build(Path(folder) / where, rights, time, epoch) for rights, where, time in _WAYS]
        first, second = (sums_of(out) for out in built)
        if first != second or len(first) != 2:
            print(
                f"two builds are not the same:\n{_lines(first)}\n{_lines(second)}", file=sys.stderr
            )
            return 1
        _put(built[0], asked.out, epoch)
    print(
        f"built twice with the same bytes, as of {epoch}:\n{(asked.out / SUMS).read_text()}", end=""
    )
    return 0


def _put(built: Path, out: Path, epoch: str) -> None:
    """The distributions, the SBOM and the checksums, in place of those of an earlier build and of
    nothing else.
    """
    (wheel,) = built.glob("*.whl")
    name, version = wheel.name.split("-")[:2]
    out.mkdir(parents=True, exist_ok=True)
    for old in [*out.glob(f"{name}-*"), *out.glob(SUMS)]:
        old.unlink()
    for path in built.iterdir():
        shutil.copyfile(path, out / path.name)
    _write_sbom(out / f"{name}-{version}.cdx.json", epoch)
    _run([sys.executable, "release/packages.py", str(out.resolve())], ROOT, epoch)
    (out / SUMS).write_text(
        _lines(
            {file: digest for file, digest in sums_of(out).items() if file.startswith(f"{name}-")}
        )
    )


def sums_of(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.is_file()
    }


def _lines(sums: dict[str, str]) -> str:
    """As `sha256sum --check` reads them."""
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items())


def _build(folder: Path, rights: int, time: int | None, epoch: str) -> Path:
    source, out = folder / "source", folder / "out"
    before = os.umask(rights)
    try:
        for name in _git("ls-files", "-co", "--exclude-standard", "-z").split("\0"):
            if name and (ROOT / name).is_file():
                target = source / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, target)
                target.chmod((0o777 if os.access(ROOT / name, os.X_OK) else 0o666) & ~rights)
                if time is not None:
                    os.utime(target, (time, time))
        _run([sys.executable, "-m", "hatchling", "build", "-d", str(out)], source, epoch)
    finally:
        os.umask(before)
    return out


def _write_sbom(target: Path, epoch: str) -> None:
    command = [
        sys.executable,
        "-m",
        "cyclonedx_py",
        "requirements",
        "--pyproject",
        "pyproject.toml",
        "--mc-type",
        "library",
    ]
    command += [
        "--output-reproducible",
        "--of",
        "JSON",
        "-o",
        str(target.resolve()),
        "requirements.lock",
    ]
    _run(command, ROOT, epoch)


def _git(*arguments: str) -> str:
    return _run(["git", *arguments], ROOT, "")


def _run(command: Sequence[str], folder: Path, epoch: str) -> str:
    environment = {**os.environ, **({"SOURCE_DATE_EPOCH": epoch} if epoch else {})}
    done = subprocess.run(  # noqa: S603  # our own commands
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
