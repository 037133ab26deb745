"""Writes the memory of the current release into this folder, as a file and as a PostgreSQL database:
`python tests/released/make.py`. Done once per release; what was released is never written again.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import hardwon
from hardwon import Memory

HERE = Path(__file__).parent
PROJECTS = ("released", "it's another")


def main() -> None:
    target = HERE / f"{hardwon.__version__}.db"
    if target.exists():
        raise SystemExit(f"{target.name} was released already")
    ticks = count()
    with Memory(
        target,
        project="released",
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(ticks)),
    ) as memory:
        fill(memory)
    target.with_suffix(".sql").write_text(of_postgres())


def fill(m: Memory) -> None:
    kept = m.remember(
        "Fixed the flaky test in tests/test_io.py",
        "success",
        "code_interpreter",
        task_type="debug",
        ticket=7,
    )
    m.record_fact(
        "Python 3.11 has no itertools.batched.",
        "observation",
        0.9,
        {"libraries": ["itertools"]},
        tags=["py"],
    )
    m.record_trajectory(
        "make it pass", [{"action": "pytest", "observation": "1 failed", "reward": -1.0}], 0.0
    )
    m.record_episode(
        "triage",
        0.4,
        3,
        "went wrong",
        ["guessed"],
        ["read the log"],
        [{"mistake_type": "guess", "worker_id": 2}],
    )
    m.record_fix(
        {"model": "qwen2.5:7b", "issue_type": "TIMEOUT"},
        True,
        False,
        "slow",
        ["sleep 1"],
        2.5,
        {"os": "Linux"},
    )
    gone = m.remember("to be forgotten", "failure", "unknown")
    m.verify(kept.id, "test_runner", "ci-1")
    m.forget(gone.id)
    m.rollback("nobody", "an example of a decision")


def of_postgres() -> str:
    """A database with two projects: the roles of the server, and what `pg_dump` says, without what
    only `psql` understands.
    """
    sys.path.insert(0, str(HERE.parent))
    import postgres_server
    from hardwon.memory import databases

    server = postgres_server.Server()
    server.run("CREATE DATABASE released")
    url = server.url_of("released")
    databases.initialise(url, PROJECTS)
    for project in PROJECTS:
        with Memory(url, project=project) as memory:
            fill(memory)
    lines = [f"-- A PostgreSQL database that Hardwon {hardwon.__version__} made (make.py)."]
    for (role,) in server.run("SELECT rolname FROM pg_roles WHERE rolname LIKE 'hardwon%'"):
        exists = "EXCEPTION WHEN duplicate_object THEN NULL"
        lines.append(f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; {exists}; END $$;")
    members = "SELECT roleid::regrole, member::regrole FROM pg_auth_members"
    for role, member in server.run(f"{members} WHERE member::regrole::text LIKE 'hardwon%'"):
        lines.append(f"GRANT {role} TO {member};")
    dump = [postgres_server.binary("pg_dump"), "--inserts", url]
    said = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    lines += [
        line
        for line in said.splitlines()
        if line and not line.startswith(("\\", "--")) and "transaction_timeout" not in line
    ]
    server.remove()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
