"""The Python that starts at once is the same to whoever starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import warm

TELLS = (
    "import os, sys; print(sys.argv, sys.stdin.read(), os.getcwd(), os.environ.get('SAID'), sys.path[0])\n"
    "print('wrong', file=sys.stderr)"
)


@pytest.mark.parametrize(
    "asked",
    [
        ("-c", TELLS, "one", "two words"),
        ("-c", "import sys; sys.exit(3)"),
        ("-c", "import sys; sys.exit('in words')"),
        ("-c", "print('before'); 1 / 0"),
        ("-c", "import atexit; atexit.register(print, 'at the end'); print('first')"),
        ("-c", "import threading, time; threading.Timer(0.1, print, ['waited for']).start()"),
        ("-c", "import os; os.kill(os.getpid(), 9)"),
        ("-c", "import sys; print(sys.stdout.encoding, sys.stdin.errors, sys.stderr.errors)"),
        ("-W", "error", "-c", "import warnings; warnings.warn('an error')"),
        ("-m", "tells", "one"),
        ("tells.py", "one"),
        ("-m", warm.MAIN, "--version"),
        ("-m", warm.MAIN, "recall"),
    ],
    ids=lambda asked: " ".join(asked)[:60],
)
@pytest.mark.parametrize("said", [{"SAID": "é"}, {"PYTHONIOENCODING": "ascii"}], ids=repr)
def test_it_runs_as_the_real_one_does(
    asked: tuple[str, ...], said: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "tells.py").write_text(TELLS)

    def ran(python: str) -> tuple[int, str, list[str]]:
        done = subprocess.run(
            [python, *asked],
            input="typed",
            cwd=tmp_path,
            env={**os.environ, **said},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.replace(python, "python"), done.stderr.splitlines()[-1:]

    assert ran(warm.python()) == ran(sys.executable)
