"""The `hardwon` command as its console script starts it.

Whatever is imported stays, and looking through it for garbage takes longer than many a command. Importing any part of `hardwon`
imports most of it, so what switches that off for so long is a package of its own.
"""

import gc


def main() -> None:
    gc.disable()
    from hardwon.serve.cli import main as run

    gc.freeze()
    gc.enable()
    run()
