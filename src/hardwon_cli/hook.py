"""An agent's hook: asks the process that has a memory loaded, and starts it for the next one.

A hook is waited for, several times for every step of an agent. So nothing is imported here but what
Python has loaded, and a socket; where nobody answers, this process loads the memory itself.
"""

import os
import sys
import time

BEGINS = b'"hook_event_name":"sessionstart"'
HEAD_BYTES = 4096
START_S = 10.0  # to load a memory, on a machine that has other things to do
INPUT_BYTES_MAX = 16 * 1024 * 1024  # more is ignored: limits.AGENT_HOOK_INPUT_BYTES_MAX
WAIT_S = 5.0  # longer than an answer may take; what comes later is of no use to the agent


def socket_path() -> str:
    """Where the process listens; empty where nobody may (`HARDWON_BACKGROUND=0`), or there is no
    folder that is ours alone. Another installation has another.
    """
    if os.environ.get("HARDWON_BACKGROUND") == "0" or not hasattr(os, "getuid"):
        return ""
    base = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108  # nosec B108  # whose folder it is gets checked
    folder = f"{base}/hardwon-{os.getuid()}"
    try:
        if not os.path.lexists(folder):
            os.mkdir(folder, 0o700)  # noqa: PTH102  # pathlib takes longer to load than all of this
        found = os.lstat(folder)
    except OSError:
        return ""
    ours = found.st_uid == os.getuid() and found.st_mode == 0o40700
    name = 0
    for byte in f"{sys.prefix}\0{__file__}".encode():
        name = (name * 31 + byte) % 2**64
    path = f"{folder}/{name:016x}"
    return (
        path if ours and len(os.fsencode(path)) < 100 else ""
    )  # what the name of a socket may have


def ask(path: str, words: list[str], data: bytes) -> list[bytes] | None:
    """What is to be written, and complained of; None where nobody answers."""
    import _socket as socket  # the other loads half of Python

    connection = socket.socket(socket.AF_UNIX)
    variables = [name + b"=" + value for name, value in os.environb.items()]
    try:
        folder = os.fsencode(os.getcwd())  # noqa: PTH109
        head = [folder, str(len(words)).encode(), *map(os.fsencode, words), *variables]
        told = b"\0".join(head)
        connection.settimeout(WAIT_S)
        connection.connect(path)
        connection.sendall(b"%d\n" % len(told) + told + data)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    except TimeoutError:
        return [b"", b""]  # it may have been recorded: not again
    except OSError:
        return None
    finally:
        connection.close()
    parts = answer.split(b"\0")
    whole = len(parts) == 4 and parts[0] == parts[-1] == b""
    return parts[1:3] if whole else None


def start(path: str) -> None:
    """The process, for the next hook, unless it is being started. It belongs to nobody's session
    and holds nothing open.
    """
    lock = os.open(f"{path}.lock", os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    being_started = os.fstat(lock).st_size and time.time() - os.fstat(lock).st_mtime < START_S
    if not being_started:
        os.pwrite(lock, b" \n", 0)
    os.close(lock)
    if being_started:
        return
    words = [sys.executable, "-P", "-m", "hardwon.capture.background", path]
    nothing = os.open(os.devnull, os.O_RDWR)
    same = [(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)]
    os.posix_spawn(sys.executable, words, os.environ, file_actions=same, setsid=True)
    os.close(nothing)


def main(words: list[str]) -> bool:
    """Whether the hook is done; if not, the command line says what is wrong with it."""
    data = sys.stdin.buffer.read(INPUT_BYTES_MAX + 1) if sys.stdin else b""
    while len(data) > INPUT_BYTES_MAX and sys.stdin.buffer.read(1 << 20):
        pass  # who writes to what nobody reads fails
    path = socket_path()
    said = ask(path, words, data) if path else None
    answered = said is not None
    if path and said is None and BEGINS in data[:HEAD_BYTES].replace(b" ", b"").lower():
        said = [b"", b""]  # told with the first prompt, by who is being started
    if said is None:
        from hardwon.capture.background import call

        found = call(words, data)
        if found is None:
            return False
        said = [each.encode() for each in found]
    for stream, text in zip((1, 2), said, strict=True):
        while text:
            text = text[os.write(stream, text) :]
    if path and not answered:
        try:
            start(path)
        except OSError:  # the next one does without it
            return True
    return True
