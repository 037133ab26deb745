"""`hardwon run` around real processes: nothing in between is changed, and it is recorded."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import warm
from hardwon import Memory, limits
from hardwon.capture import process as running
from hardwon.capture import run as attempts
from hardwon.capture.process import RUN_HEAD_BYTES, RUN_TAIL_BYTES
from hardwon.records.kinds import AnyRecord, Fact, Trajectory
from hardwon.runs.steps import read_steps
from hardwon.text.failures import failure_hash
from serving import wait_until

PYTHON = sys.executable
HARDWON = [PYTHON, "-m", "hardwon.surfaces.cli.main"]
PATIENCE_S = 60

# In a process with other threads, as pytest's workers are, one of those may notice a child's end.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(?s)Exception ignored in.*ignored due to race "
    "condition:pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARDWON_MEMORY", "brain")


def run(*command: str, options: Any = (), **how: Any) -> subprocess.CompletedProcess[bytes]:
    ends: dict[str, Any] = {} if "input" in how else {"stdin": subprocess.DEVNULL}
    words = [warm.python(), *HARDWON[1:], "run", *options, "--", *command]
    how = {"timeout": PATIENCE_S, **ends, **how}
    return subprocess.run(words, capture_output=True, check=False, **how)


def shell(line: str, *options: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    return run("sh", "-c", line, options=options, **how)


def started(*command: str, **how: Any) -> subprocess.Popen[bytes]:
    """With its standard output in a pipe, after the command has said that it is there."""
    process = subprocess.Popen([*HARDWON, "run", "--", *command], stdout=subprocess.PIPE, **how)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return process


def records() -> list[AnyRecord]:
    """The oldest first."""
    with Memory("brain") as memory:
        return sorted(memory.browse(), key=lambda record: record.id)


def attempt() -> Trajectory:
    """The last one."""
    found = records()[-1]
    assert isinstance(found, Trajectory)
    return found


def test_a_success_is_recorded() -> None:
    line, about = "echo out; echo err >&2", ("--task", "say it", "--author", "ada", "--tag", "mine")
    done = shell(line, *about)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out\n", b"err\n")
    kept = attempt()
    assert (kept.task, kept.final_reward, len(kept.steps)) == ("say it", 1.0, 1)
    (step,) = kept.steps
    assert step.action == f"sh -c '{line}'"
    first, *printed = step.observation.split("\n")
    assert re.fullmatch(r"exit code 0 after \d+\.\d s", first)
    assert sorted(printed) == ["err", "out"]
    assert (step.ok, step.reward) == (True, 0.0)
    source = kept.metadata.source
    assert (source.type, source.author) == ("agent_execution", "ada")
    assert kept.metadata.tags == ["run", "mine"]
    assert source.id
    assert kept.metadata.validation.failure_hash is None


def test_the_third_identical_failure_is_blocked_and_a_success_resets_it() -> None:
    Path("fix.sh").write_text("echo 'ValueError: no such colour' >&2\ntest -e fixed\n")
    said = [run("sh", "fix.sh") for _ in range(2)]
    assert [done.returncode for done in said] == [1, 1]
    assert said[0].stderr == b"ValueError: no such colour\n"
    before = "hardwon: This failed here before: “ValueError: no such colour”."
    assert said[1].stderr.decode().startswith(before)
    third = run("sh", "fix.sh", options=["--stop-if-blocked"])
    assert (third.returncode, third.stdout) == (1, b"")
    stop = rb"hardwon: Stop\. This was tried 2 times and failed the same way: [^\n]*\n"
    assert re.fullmatch(stop, third.stderr)
    assert len(records()) == 2  # it was not run
    fourth = run("sh", "fix.sh", options=["--quiet"])
    assert (fourth.returncode, fourth.stderr) == (1, b"ValueError: no such colour\n")
    Path("fixed").touch()
    assert run("sh", "fix.sh").returncode == 0  # blocked is a word; the command is run all the same
    again = run("sh", "fix.sh", options=["--stop-if-blocked"])
    assert (again.returncode, again.stderr) == (0, b"ValueError: no such colour\n")


def test_the_exit_code_decides_whatever_the_output_says() -> None:
    error = "echo 'Traceback (most recent call last):'; echo 'KeyError: 1'"
    assert shell(error).returncode == 0
    assert read_steps(attempt().steps)[0].outcome == "worked"
    assert run("false").returncode == 1
    assert read_steps(attempt().steps)[0].outcome == "failed"
    with Memory("brain") as memory:
        assert memory.advise("false").failures == 1
        assert memory.advise("sh -c 'echo ok'").failures == 0


def test_secrets_are_neither_recorded_nor_in_the_way() -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    for _ in range(3):
        done = shell(f"echo {secret}; exit 1")
        assert done.stdout.decode() == f"{secret}\n"
    assert b"Stop." in done.stderr
    assert secret not in "".join(record.to_json() for record in records())
    assert secret not in done.stderr.decode()


def test_the_exit_code_of_the_process_is_the_commands() -> None:
    for code in (2, 130, 255):
        assert shell(f"exit {code}", "-q").returncode == code


def test_binary_output_passes_byte_for_byte() -> None:
    every = bytes(range(256)) * 1000 + b"\xff\xfe\x00\r\n\r"
    Path("data").write_bytes(every)
    done = shell("cat data; cat data >&2")
    assert done.stdout == done.stderr == every
    assert "no text" in attempt().steps[0].observation


def test_the_input_is_the_commands() -> None:
    text = os.urandom(300_000)
    assert run("cat", input=text).stdout == text
    assert shell("read line; echo got $line", input=b"one\ntwo\n").stdout == b"got one\n"
    line = f"seq 5 | {shlex.join([*HARDWON, 'run', '--', 'sort', '-r'])} | head -2"
    piped = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
    assert piped.stdout == b"5\n4\n"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("no-such-command-here", 127, "no-such-command-here: command not found"),
        ("./nowhere", 127, "./nowhere: No such file or directory"),
        ("", 127, ": command not found"),
        ("./data", 126, "./data: Permission denied"),
        ("./broken", 126, "./broken: bad interpreter: No such file or directory"),
        ("./binary", 126, "./binary: Exec format error"),
    ],
)
def test_what_cannot_be_run_is_told_as_a_shell_tells_it(command: str, code: int, said: str) -> None:
    Path("data").write_text("x")
    for name, content in (("broken", b"#!/no/such/interpreter\n"), ("binary", b"\x7f\0\0\0")):
        Path(name).write_bytes(content)
        Path(name).chmod(stat.S_IRWXU)
    ran = running.run([command])
    assert (ran.exit_code, ran.refusal) == (code, said)


def test_of_much_output_the_beginning_and_the_end_are_recorded() -> None:
    script = "print('first'); [print('x' * 78) for _ in range(20000)]; print('last'); 1 / 0"
    done = run(PYTHON, "-c", script)
    assert done.returncode == 1
    kept = attempt()
    shown = kept.steps[0].observation
    assert re.match(r"exit code 1 after \d+\.\d s\nfirst\nxxx", shown)
    assert "ZeroDivisionError: division by zero" in shown[-200:]
    assert re.search(r"\n\[\d+ bytes left out\]\n", shown)
    assert len(shown) < limits.FAILURE_HEAD_CHARS + limits.FAILURE_TAIL_CHARS + 200
    assert kept.metadata.validation.failure_hash == failure_hash(done.stderr.decode())


TOKEN = " ghp_" + "Q7w8E9r0T1" * 3 + "abcdef "
KEY_LINES = "\n".join(["Q7w8E9r0T1" * 6] * 100)
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n-----END RSA PRIVATE KEY-----\n"
BOLD = "\x1b[1m"
HALVES = {
    "end": "z" * 100_000 + TOKEN + "y" * (RUN_TAIL_BYTES - 30),
    "beginning": "x" * (RUN_HEAD_BYTES - 15) + TOKEN + "y" * 200_000,
    "coloured": "\x1b[31m" * 5_000 + "x" * (RUN_HEAD_BYTES - 25_015) + TOKEN + "y" * 200_000,
    "name apart": "z" * 100_000 + " password: Q7w8E9r0T1zz " + BOLD * (RUN_TAIL_BYTES // 4 - 5) + "yyyy",
    "end of a key": "z\n" * 100_000 + KEY + BOLD * ((RUN_TAIL_BYTES - 2_000) // 4),
    "beginning of a key": BOLD * ((RUN_HEAD_BYTES - 2_000) // 4) + KEY + "z\n" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("where", HALVES)
def test_no_half_of_a_secret_is_shown(where: str) -> None:
    window = running.OutputExcerpt()
    window.add(HALVES[where].encode())
    assert "Q7w8" in window.head.decode() + window.tail.decode()
    assert "Q7w8" not in attempts.read_excerpt(window)


def test_output_is_recorded_as_it_was_read_in_the_end() -> None:
    assert attempts.plain(b"\x1b[31mred\x1b[0m \x1b]0;title\x07x\r\n") == "red x\n"
    assert attempts.plain(b"10%\r50%\r100%\ndone\r\n") == "100%\ndone\n"
    assert attempts.plain(b"\x1b]0;a title without its end\nnext\r\r\n") == "\nnext\n"
    began = time.process_time()
    assert len(attempts.plain(b"x" * 200_000)) == 200_000
    assert len(attempts.plain(b"\x1b]" * 100_000)) == 0
    assert time.process_time() - began < 5
    assert attempts.plain("grüße\n".encode()) == "grüße\n"
    odd = b"abc\xff def, a long line with one odd byte"
    assert attempts.plain(odd) == odd.decode(errors="replace")
    assert attempts.plain(b"\x7fELF\x00\x01\x00\x00") == "(8 bytes that are no text)"


def test_a_child_that_was_killed_is_told_and_recorded() -> None:
    done = shell("echo working; kill -9 $$")
    assert (done.returncode, done.stdout) == (137, b"working\n")
    kept = attempt()
    assert kept.final_reward == 0.0
    assert re.fullmatch(r"killed by SIGKILL after \d+\.\d s\nworking", kept.steps[0].observation)
    assert kept.metadata.validation.failure_hash
    assert shell("kill -SEGV $$").returncode == 128 + signal.SIGSEGV


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_to_us_reach_the_command(number: signal.Signals) -> None:
    process = started("sh", "-c", "echo ready; exec sleep 60", start_new_session=True)
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 128 + number
    assert process.stdout
    process.stdout.close()
    (kept,) = records()
    assert isinstance(kept, Fact)
    assert "was stopped from outside after" in kept.content
    assert kept.metadata.tags == ["run"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_signals_that_we_are_to_ignore_stop_neither_us_nor_it(number: signal.Signals) -> None:
    """By nohup, or by a script whose job we are in the background."""
    process = started(
        *("sh", "-c", "echo ready; read line; echo $line"),
        stdin=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    os.killpg(process.pid, number)
    assert process.communicate(b"went on\n", timeout=PATIENCE_S)[0] == b"went on\n"
    assert process.returncode == 0
    assert attempt().final_reward == 1.0


def test_runs_inside_a_run_are_of_one_session() -> None:
    inner_run = shlex.join([*HARDWON, "run", "--", "sh", "-c", "echo deep; exit 7"])
    Path("inner.sh").write_text(f"{inner_run}\n")
    done = run("sh", "inner.sh")
    assert (done.returncode, done.stdout) == (7, b"deep\n")
    inner, outer = records()
    assert isinstance(inner, Trajectory)
    assert isinstance(outer, Trajectory)
    assert inner.steps[0].action == "sh -c 'echo deep; exit 7'"
    assert outer.steps[0].action == "sh inner.sh"
    assert inner.metadata.source.id == outer.metadata.source.id


def test_the_very_same_command_inside_itself_is_told_and_counted_once() -> None:
    Path("tool").write_text(
        f'#!/bin/sh\ntest "$INSIDE" && {{ echo "ValueError: x"; exit 1; }}\n'
        f"export INSIDE=1\nexec {shlex.join([*HARDWON, 'run', '--', './tool'])}\n"
    )
    Path("tool").chmod(0o755)
    assert run("./tool").returncode == 1
    assert len(records()) == 1
    again = run("./tool")
    assert again.stderr.count(b"failed here before") == 1
    assert len(records()) == 2


def test_a_damaged_memory_changes_nothing() -> None:
    Path("brain").mkdir()
    Path("brain/memory.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 9000)
    done = shell("echo out; exit 6")
    assert (done.returncode, done.stdout) == (6, b"out\n")
    assert re.fullmatch(rb"hardwon: the memory has no advice: [^\n]*\n", done.stderr)


def test_a_memory_that_is_locked_holds_nothing_up() -> None:
    run("true")
    began = time.monotonic()
    code = (
        "import sys; from hardwon.surfaces.cli import agents, main; agents.RUN_RECORD_S = 0.5\n"
        "sys.argv = ['hardwon', 'run', '--', 'sh', '-c', 'echo out; exit 6']; main.main()"
    )
    with closing(apsw.Connection("brain/memory.db")) as lock:
        lock.execute("BEGIN IMMEDIATE")
        done = subprocess.run(
            [PYTHON, "-c", code], capture_output=True, check=False, timeout=PATIENCE_S
        )
    assert (done.returncode, done.stdout) == (6, b"out\n")
    assert re.fullmatch(rb"hardwon: the memory did not record this run: [^\n]*\n", done.stderr)
    assert time.monotonic() - began < 30


class Screen:
    """A terminal with a program on it."""

    def __init__(self, *command: str, rows: int = 40, columns: int = 90, **how: Any) -> None:
        self.ours, theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(theirs)
        self.shown = b""
        ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs, **how}
        self.process = subprocess.Popen(
            command,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm", "PS1": "$ ", "LINES": "", "COLUMNS": ""},
            **ends,
        )
        self.theirs = theirs

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def keys(self, text: bytes) -> None:
        os.write(self.ours, text)

    def await_(self, text: bytes) -> bytes:
        """Waits until it is shown, after what was awaited before. What is shown between the two."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            ready, _, _ = select.select([self.ours], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} was not shown: {self.shown!r}"
            self.shown += os.read(self.ours, 65536)
        between, _, self.shown = self.shown.partition(text)
        return between

    def end(self) -> int:
        """The exit code; what is still shown comes into `shown`."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.shown
            if select.select([self.ours], [], [], 0.02)[0]:
                self.shown += os.read(self.ours, 65536)
        while select.select([self.ours], [], [], 0.02)[0]:
            self.shown += os.read(self.ours, 65536)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.theirs)
        os.close(self.ours)


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    opened: list[Screen] = []
    yield opened
    for screen in opened:
        screen.close()


ASKING = """
import os, shutil, signal, sys
print("terminals", *(os.isatty(n) for n in (0, 1, 2)), os.ttyname(1) == os.ttyname(2))
size = os.get_terminal_size()
print("size", size.columns, size.lines, flush=True)
def tell(*_):  # in one piece: the next signal may come while it tells of this one
    size = os.get_terminal_size()
    os.write(1, f"resized {size.columns} {size.lines}\\n".encode())
signal.signal(signal.SIGWINCH, tell)
name = input("Your name? ")
print(f"\\x1b[1mHello {name}\\x1b[0m")
print("rest", repr(sys.stdin.read()))
sys.exit(9)
"""


def test_an_interactive_program_has_a_terminal(screens: list[Screen]) -> None:
    screen = Screen(*HARDWON, "run", "--", PYTHON, "-c", ASKING)
    screens.append(screen)
    screen.await_(b"terminals True True True True\r\n")
    screen.await_(b"size 90 40\r\n")
    screen.await_(b"Your name? ")
    # a signal between the question and the reading of the answer is noticed with the next one only
    screen.resize(50, 119)
    while not select.select([screen.ours], [], [], 0.2)[0]:
        screen.resize(50, 120)
        screen.resize(50, 119)
    screen.resize(50, 120)
    screen.await_(b"resized 120 50\r\n")
    screen.keys(b"Ada\r")
    screen.await_(b"Ada\r\n")
    between = screen.await_(b"\x1b[1mHello Ada\x1b[0m\r\n")
    assert re.fullmatch(rb"(resized 1[12]. 50\r\n)*", between), "only signals that came late"
    screen.keys(b"one line\r\x04")
    screen.await_(b"rest 'one line\\n'\r\n")
    assert screen.end() == 9
    assert termios.tcgetattr(screen.theirs) == screen.before
    assert "Hello Ada" in attempt().steps[0].observation
    assert "\x1b" not in attempt().steps[0].observation


def test_ctrl_z_stops_it_and_fg_continues_it(screens: list[Screen]) -> None:
    screen = Screen("bash", "--norc", "--noprofile", "-i")
    screens.append(screen)
    screen.await_(b"$ ")
    loop = 'print("rea" + "dy", flush=True)\\nif input() == "go": print("on" + "ward")'
    program = shlex.join([*HARDWON, "run", "-q", "--", PYTHON, "-c"])
    screen.keys(f"{program} $'{loop}'; echo code $?\r".encode())
    screen.await_(b"ready\r\n")
    screen.keys(b"\x1a")
    screen.await_(b"Stopped")
    screen.await_(b"$ ")
    screen.keys(b"echo in $((40 + 2)) between\r")
    screen.await_(b"in 42 between\r\n")
    screen.keys(b"fg\r")
    screen.await_(b"\n")
    wait_until(lambda: os.tcgetpgrp(screen.ours) != screen.process.pid)
    screen.keys(b"go\r")
    screen.await_(b"onward\r\n")
    screen.await_(b"$ ")
    screen.keys(b"exit\r")
    assert screen.end() == 0
    assert attempt().final_reward == 1.0


COUNTING = """
import signal, time
came = []
signal.signal(signal.SIGINT, lambda *_: came.append(1))
print("rea" + "dy", flush=True)
while not came: time.sleep(0.01)
time.sleep(0.5)
print("interrupts:", len(came), flush=True)
"""


def test_ctrl_c_in_a_pipeline_reaches_the_command_once(screens: list[Screen]) -> None:
    Path("counting.py").write_text(COUNTING)
    screen = Screen("bash", "--norc", "--noprofile", "-i")
    screens.append(screen)
    screen.await_(b"$ ")
    piped = f"{shlex.join([*HARDWON, 'run', '--', PYTHON, 'counting.py'])} | (trap '' INT; cat)"
    screen.keys(f"{piped}\r".encode())
    screen.await_(b"ready\r\n")
    screen.keys(b"\x03")
    screen.await_(b"interrupts: 1\r\n")
    screen.await_(b"$ ")
    screen.keys(b"exit\r")
    screen.end()
    assert attempt().final_reward == 1.0
