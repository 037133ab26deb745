"""What `warm.python()` runs: asks the process that has everything loaded to run a program with this
one's folder, variables and files, and ends as that ends. Where that would not be the same, Python is
started. Only what takes next to no time is imported.
"""

from __future__ import annotations

import _socket
import os
import sys

_LATER = (b"PYTHONPATH", b"PYTHONUNBUFFERED", b"PYTHONDONTWRITEBYTECODE")


def read_at_the_start() -> bytes:
    """What changes how Python starts: its own variables, and the language where that is one."""
    names = [each for each in os.environb if each.startswith(b"PYTHON") and each not in _LATER]
    kept = [name + b"=" + os.environb[name] for name in names]
    of = os.environb.get
    language = of(b"LC_ALL") or of(b"LC_CTYPE") or of(b"LANG") or b"C"
    return b"\0".join([b"C" if language in (b"POSIX", b"C.UTF-8") else language, *sorted(kept)])


def main(at: str, real: str, *asked: str) -> None:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        with open(f"{at}.start", "rb") as file:  # noqa: PTH123  # pathlib takes longer than all of this
            same = file.read() == read_at_the_start()
        for number in range(3):
            os.fstat(number)  # none of them is closed
        same = same and bool(asked) and (asked[0][:1] != "-" or asked[0] in ("-c", "-m"))
        if same:
            connection.connect(at)
    except OSError:
        same = False
    if not same:
        os.execv(real, [real, *asked])  # noqa: S606  # that is what it is for
    words = [os.getcwdb(), b"%d" % len(asked), *map(os.fsencode, asked)]  # noqa: PTH109  # likewise
    words += [name + b"=" + value for name, value in os.environb.items()]
    data = b"\0".join(words)
    files = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    passed = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)
    connection.sendmsg([len(data).to_bytes(8, "little")], [passed])
    connection.sendall(data)
    code = int(connection.recv(16) or b"1")
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
