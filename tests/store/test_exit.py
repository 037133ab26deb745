"""A process that ends in the ordinary way leaves one file, whoever closed the memory."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hardwon import Memory

FACT = 'record_fact("Port 80 is open.", "observation")'
SCRIPTS = {
    "a memory": f'm = Memory("x"); m.{FACT}',
    "a memory of another name": f'm = Memory("x/memory.db"); m.{FACT}',
    "a memory that only reads": f'Memory("x").{FACT}; m = Memory("x"); m.recall("port")',
    "nobody keeps it": f'Memory("x").{FACT}',
    "it is in a circle": f'm = Memory("x"); m.{FACT}; m.itself = m; del m',
    "two of one file": f'm = Memory("x"); n = Memory("x", "shop"); m.{FACT}; n.{FACT}',
    "sys.exit": f'm = Memory("x"); m.{FACT}; sys.exit(3)',
    "an uncaught exception": f'm = Memory("x"); m.{FACT}; raise RuntimeError("told")',
    "a reader that stopped half-way": """
        m = Memory("x")
        for n in range(3):
            m.record_fact(f"Port {n} is open.", "observation")
        reader = m._project.store.stream("default")
        next(reader)
    """,
    "used by a handler that is asked later": f"""
        import atexit
        m = Memory("x")
        m.{FACT}
        atexit.register(lambda: m.record_fact("Port 81 is open.", "observation"))
    """,
    "a thread that was waited for": f"""
        import threading
        m = Memory("x")
        threading.Thread(target=lambda: m.{FACT}).start()
    """,
    "a daemon that waits for work": f"""
        import threading
        m = Memory("x")
        done = threading.Event()
        def work():
            m.{FACT}
            done.set()
            threading.Event().wait()
        threading.Thread(target=work, daemon=True).start()
        done.wait()
    """,
    "a worker of multiprocessing": f"""
        import multiprocessing
        def work():
            global m
            m = Memory("x")
            m.{FACT}
        worker = multiprocessing.get_context("fork").Process(target=work)
        worker.start()
        worker.join()
    """,
    "a child that is there last": f"""
        m = Memory("x")
        m.{FACT}
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                pass
            m.record_fact("Port 81 is open.", "observation")
    """,
    "a child that is there first": f"""
        m = Memory("x")
        m.{FACT}
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        m.{FACT}
    """,
}


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    begin = "import os, sys\nfrom hardwon import Memory\n"
    return run_alone(folder, begin + textwrap.dedent(script))


def run_alone(folder: Path, lines: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", lines]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("case", SCRIPTS)
def test_one_file_is_left(tmp_path: Path, case: str) -> None:
    done = run(tmp_path, SCRIPTS[case])
    assert done.returncode == {"sys.exit": 3, "an uncaught exception": 1}.get(case, 0), done.stderr
    assert ("told" in done.stderr) if done.returncode == 1 else not done.stderr
    assert left_in(tmp_path / "x") == ["memory.db"]
    with Memory(tmp_path / "x") as memory:
        assert memory.stats().records >= 1
        assert memory.doctor().ok


def test_a_process_that_ends_leaves_the_log_to_those_who_go_on(tmp_path: Path) -> None:
    with Memory(tmp_path / "x") as memory:
        memory.record_fact("Port 79 is open.", "observation")
        assert run(tmp_path, f'm = Memory("x"); m.{FACT}').stderr == ""
        assert "memory.db-wal" in left_in(tmp_path / "x")
        memory.record_fact("Port 81 is open.", "observation")
        assert memory.stats().records == 3
    assert left_in(tmp_path / "x") == ["memory.db"]


def test_a_forked_child_that_ends_leaves_its_parents_log_alone(tmp_path: Path) -> None:
    script = f"""
        m = Memory("x")
        m.{FACT}
        for n in range(3):
            child = os.fork()
            if not child:
                m.recall("port")
                sys.exit()
            assert os.waitpid(child, 0)[1] == 0
            assert os.path.exists("x/memory.db-wal")
            m.record_fact(f"Port {{n}} is open.", "observation")
        print(m.stats().records)
    """
    done = run(tmp_path, script)
    assert (done.stdout, done.stderr) == ("4\n", "")
    assert left_in(tmp_path / "x") == ["memory.db"]


def test_a_handler_registered_before_the_import_still_reads_and_writes(tmp_path: Path) -> None:
    script = f"""
        import atexit
        def later():
            m.record_fact("Port 81 is open.", "observation")
            print(m.stats().records)
        atexit.register(later)
        from hardwon import Memory
        m = Memory("x")
        m.{FACT}
    """
    done = run_alone(tmp_path, textwrap.dedent(script))
    assert (done.stdout, done.stderr) == ("2\n", "")
    assert left_in(tmp_path / "x") == ["memory.db"]


def test_whoever_is_killed_leaves_the_log_and_loses_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, f'm = Memory("x"); m.{FACT}; os.kill(os.getpid(), {int(signal.SIGKILL)})')
    assert done.returncode == -signal.SIGKILL
    assert "memory.db-wal" in left_in(tmp_path / "x")
    with Memory(tmp_path / "x") as memory:
        assert memory.stats().records == 1


def test_a_memory_that_nobody_has_any_more_is_closed(tmp_path: Path) -> None:
    gc.collect()
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    Memory(tmp_path).record_fact("Port 80 is open.", "observation")
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files
    assert left_in(tmp_path) == ["memory.db"]
