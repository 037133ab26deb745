"""A Python that starts at once, for the hundreds of tests that start a program.

`python()` is called as `sys.executable` is, and forked from a process that has loaded hardwon. What
is about the start itself, signals, terminals or limits takes `sys.executable`; where a variable
changes how Python starts, that takes over here as well.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import os
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

import warm_start

COLD: Final = "PYTHON_COLD"
"""A variable that changes how Python starts: where it is set, the real one takes over."""

MAIN: Final = "hardwon.surfaces.cli.main"
_OURS: Final = """capture.agents capture.background fixes.ai_memory fixes.tables memory.context
    memory.staleness surfaces.cli.agents surfaces.cli.fix_history surfaces.cli.servers tree.mirror
""".split()
_OTHERS: Final = ("csv", "importlib.metadata", "tomllib", "typer._adapters")
_LOADED: Final = (MAIN, *(f"hardwon.{name}" for name in _OURS), *_OTHERS)
"""What many commands load. Nothing that starts a thread: a forked process would not have it."""


@cache
def python(*loaded: str) -> str:
    """Where the program is, as long as this process runs. The command `hardwon` is beside it.

    Without that command and its modules where it is named what is loaded.
    """
    folder = Path(tempfile.mkdtemp(prefix="hardwon-warm-", dir="/tmp"))  # a short path
    at, starter = folder / "socket", os.getpid()
    (folder / "socket.start").write_bytes(warm_start.read_at_the_start())
    words = [sys.executable, "-IS", warm_start.__file__, str(at), sys.executable]
    for name, more in (("python", ""), ("hardwon", f"-m {MAIN}")):
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} {more} "$@"\n')
        (folder / name).chmod(0o755)
    serving = subprocess.Popen(
        [sys.executable, __file__, str(at), *(loaded or _LOADED)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # an interrupt of the tests is not meant for it
    )
    assert serving.stdout
    assert serving.stdout.readline() == b"ready\n"

    def end() -> None:
        if os.getpid() == starter:  # and no forked child
            serving.terminate()
            serving.communicate()
            shutil.rmtree(folder)

    atexit.register(end)
    return str(folder / "python")


def _serve(at: str, *loaded: str) -> None:
    for name in loaded:
        import_module(name)
    gc.freeze()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(at)
    listening.listen(64)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([0, listening.fileno()], [], [])
        if 0 in ready:  # whoever started it was killed
            shutil.rmtree(Path(at).parent)
            return
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _watch(connection)
        connection.close()
        with contextlib.suppress(ChildProcessError):  # the time they took is counted with its own
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _watch(connection: socket.socket) -> NoReturn:
    """Starts what is asked for and tells how it ended. It ends with whoever asked."""
    head, (control, *_), _, _ = connection.recvmsg(8, socket.CMSG_SPACE(12))
    files, data = array.array("i", control[2]), b""
    while len(data) < int.from_bytes(head, "little"):
        data += connection.recv(1 << 20)
    child = os.fork()
    if child == 0:
        _become(data.split(b"\0"), list(files))
    for file in files:
        os.close(file)
    ended = os.pidfd_open(child)
    if ended not in select.select([ended, connection.fileno()], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(words: list[bytes], files: list[int]) -> NoReturn:
    """The program that was asked for, from its start to its end as Python does them."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, 256)
    folder, count, *rest = words
    asked, variables = [os.fsdecode(word) for word in rest[: int(count)]], rest[int(count) :]
    os.chdir(folder)
    os.environb.clear()
    for variable in variables:
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    through = bool(os.environ.get("PYTHONUNBUFFERED"))
    encoding, errors = sys.stdin.encoding, sys.stdin.errors
    sys.stdin = open(0, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stdout.reconfigure(write_through=through, line_buffering=sys.stdout.isatty())
    sys.stderr.reconfigure(write_through=through, line_buffering=True)
    beside = str(Path(asked[0]).resolve().parent)
    first = {"-c": "", "-m": str(Path.cwd())}.get(asked[0], beside)
    sys.path[:1] = [first, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    code: object = 1
    try:
        _run(asked)
        code = None
    except SystemExit as left:
        code = left.code
        if not isinstance(code, int | None):
            print(code, file=sys.stderr)
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is shown
        at = error.__traceback__
        while at and at.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
            at = at.tb_next
        sys.stdout.flush()
        traceback.print_exception(type(error), error, at)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code & 0xFF if isinstance(code, int) else int(code is not None))


def _run(asked: list[str]) -> None:
    if asked[:2] == ["-m", MAIN] and MAIN in sys.modules:
        sys.argv = [str(sys.modules[MAIN].__file__), *asked[2:]]
        sys.modules[MAIN].main()
    elif asked[0] == "-m":
        sys.argv = asked[1:]
        runpy.run_module(asked[1], run_name="__main__", alter_sys=True)
    elif asked[0] == "-c":
        sys.argv = ["-c", *asked[2:]]
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(compile(asked[1], "<string>", "exec"), main.__dict__)  # noqa: S102  # as Python does
    else:
        sys.argv = asked
        runpy.run_path(asked[0], run_name="__main__")


if __name__ == "__main__":
    _serve(*sys.argv[1:])
