"""The `hardwon` command as its console script starts it.

Whatever is imported stays, and looking through it for garbage takes longer than many a command.
The command imports most of `hardwon`, so what switches that off for so long is a package of its
own.
"""

import gc
import sys

# As a shell reports a program that Ctrl-C ended.
INTERRUPTED = 130


def main() -> None:
    try:
        gc.disable()
        from hardwon.surfaces.cli.main import main as run

        gc.enable()
        run()
    except KeyboardInterrupt:  # while it is loaded; later on, each command knows what to do
        sys.exit(INTERRUPTED)
