"""The `hardwon` command as its console script starts it.

Whatever is imported stays, and looking through it for garbage takes longer than many a command.
The command imports most of `hardwon`, so what switches that off for so long is a package of its
own. Agents' hooks are answered without the command line, and mostly without `hardwon`.
"""

import atexit
import gc
import os
import sys
from contextlib import suppress

# As a shell reports a program that Ctrl-C ended.
INTERRUPTED = 130


def main() -> None:
    """The console script. When all is done the process ends at once: to free what was loaded, one
    object after the other, takes a tenth of the time of a short command. This is registered first,
    so everybody else who waits for the end was called, and threads have ended.
    """
    code: int | None = None

    def leave() -> None:
        with suppress(OSError, ValueError):  # who cannot write any more: Python says so
            print(end="", flush=True)
            if isinstance(code, int):
                os._exit(code)

    atexit.register(leave)
    try:
        run()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0  # type: ignore[assignment]  # a text is told by Python
        raise


def run_fix_history() -> None:
    """`hardwon fix-history` with this process' words, on the folder that fix history's own scripts
    work on. As with them, wrong usage ends with 1.
    """
    from hardwon.fixes import drop_in

    has_words = len(sys.argv) > 1
    folder = drop_in.make_usual_folder() if has_words else drop_in.usual_place()
    sys.argv[:1] = ["hardwon", "fix-history", "--memory-dir", str(folder)]
    try:
        run()
    except SystemExit as ended:
        sys.exit(1 if ended.code == 2 else ended.code)


def run() -> None:
    try:
        gc.disable()
        words = sys.argv[1:]
        at = words.index("hooks") if "hooks" in words else -1
        of_agent = at % 2 == 0 and words[at + 1 : at + 2] == ["run"] and words[-1] != "post-commit"
        if of_agent and {*words[:at:2]} <= {"--memory", "--project"}:
            from hardwon_cli import hook

            if hook.main(words):
                return
        from hardwon.surfaces.cli import main as cli

        gc.enable()
        cli.main()
    except KeyboardInterrupt:  # while it is loaded; later on, each command knows what to do
        sys.exit(INTERRUPTED)
