"""Asks which of the locked packages have known vulnerabilities: `make audit` runs it over both lock
files.

pip-audit asks; this tells apart what its exit code does not: that nothing was found, and that
nobody could be asked. Found vulnerabilities are an error. Packages that could not be looked up are
named, and where that is all of them it says so as loudly as it can, and goes on: a machine without
a network must still be able to run the tests. `--strict` makes that an error, too.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

_UNREACHABLE: Final = re.compile(
    r"requests\.exceptions\.\w+|Could not connect|not redirecting properly"
)
"""What pip-audit says where the service is not there, is too slow, or is not well."""

_NAMED_MAX: Final = 20
FRAME: Final = "!" * 100


class Audit(NamedTuple):
    """What became of a lock file. `found` are lines about vulnerabilities, `skipped` packages that
    nobody could tell about.
    """

    packages: int
    found: list[str]
    skipped: list[str]
    unreachable: str = ""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Known vulnerabilities of the packages in lock files."
    )
    parser.add_argument("locks", nargs="+", type=Path)
    parser.add_argument(
        "--osv-url", help="ask this service, which speaks OSV's protocol, instead of PyPI"
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail also where something could not be audited"
    )
    asked = parser.parse_args(arguments)
    audits = {lock.name: audit(lock, asked.osv_url) for lock in asked.locks}
    for name, result in audits.items():
        print("\n".join(told(name, result)), flush=True)
    left_out = any(result.skipped or result.unreachable for result in audits.values())
    return int(any(result.found for result in audits.values()) or (asked.strict and left_out))


def audit(lock: Path, osv_url: str | None) -> Audit:
    """Runs pip-audit. Whatever else goes wrong than that nobody answers is an error."""
    service = ["--vulnerability-service", "osv", "--osv-url", osv_url] if osv_url else []
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(lock),
        "--disable-pip",
        "--require-hashes",
    ]
    command += ["--format", "json", "--desc", "off", "--progress-spinner", "off", *service]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # a fixed program
    if done.stdout.strip():
        return read(json.loads(done.stdout))
    why = _UNREACHABLE.search(done.stderr)
    if done.returncode and why:
        return Audit(0, [], [], done.stderr.strip().splitlines()[-1])
    raise SystemExit(f"{lock.name} could not be audited:\n{done.stderr}")


def read(report: dict[str, Any]) -> Audit:
    """pip-audit's JSON."""
    packages = report["dependencies"]
    found = [
        f"{package['name']} {package['version']}: "
        f"{', '.join([each['id'], *each.get('aliases', [])])}"
        f" (fixed in {', '.join(each['fix_versions']) or 'no version yet'})"
        for package in packages
        for each in package.get("vulns", [])
    ]
    return Audit(
        len(packages), found, [package["name"] for package in packages if "skip_reason" in package]
    )


def told(name: str, result: Audit) -> list[str]:
    if result.unreachable or (result.skipped and len(result.skipped) == result.packages):
        why = result.unreachable or f"none of its {result.packages} packages could be looked up"
        return [FRAME, f"NOTHING IN {name} WAS AUDITED: {why}", FRAME]
    lines = [
        f"{name}: {result.packages - len(result.skipped)} packages were audited, "
        f"{len(result.found)} vulnerabilities"
    ]
    if result.skipped:
        named = ", ".join(result.skipped[:_NAMED_MAX])
        more = (
            f" and {len(result.skipped) - _NAMED_MAX} more"
            if len(result.skipped) > _NAMED_MAX
            else ""
        )
        lines += [FRAME, f"NOT AUDITED in {name}: {named}{more}", FRAME]
    return [*lines, *(f"  VULNERABLE {line}" for line in result.found)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
