"""The `hardwon` command as its console script starts it.

Whatever is imported stays, and looking through it for garbage takes longer than many a command.
The command imports most of `hardwon`, so what switches that off for so long is a package of its
own. Agents' hooks are answered without the command line, and mostly without `hardwon`; so is a shell
that completes a word.
"""

import gc
import os
import sys

# As a shell reports a program that Ctrl-C ended.
INTERRUPTED = 130


def main() -> None:
    try:
        gc.disable()
        asks, _, shell = os.environ.get("_HARDWON_COMPLETE", "").partition("_")
        if asks == "complete":
            from hardwon.surfaces.cli import complete

            if complete.main(shell):
                return
        words = sys.argv[1:]
        at = words.index("hooks") if "hooks" in words else -1
        of_agent = at % 2 == 0 and words[at + 1 : at + 2] == ["run"] and words[-1] != "post-commit"
        if of_agent and {*words[:at:2]} <= {"--memory", "--project"}:
            from hardwon_cli import hook

            if hook.main(words):
                return
        from hardwon.surfaces.cli.main import main as run

        gc.enable()
        run()
    except KeyboardInterrupt:  # while it is loaded; later on, each command knows what to do
        sys.exit(INTERRUPTED)
