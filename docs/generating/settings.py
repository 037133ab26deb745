"""docs/reference/settings.md: what a command is told without being told."""

from __future__ import annotations

from typing import Final

from generating.markdown import MADE, code, number, table
from hardwon import limits
from hardwon.memory import places
from hardwon.memory.places import SETTINGS_BYTES_MAX

BEGINS: Final = f"""\
# Settings

{MADE}

Three settings say which memory a command works on and who writes. An option counts before the environment, that before the
user's file, and with nothing said it is as `Memory()` finds it. `hardwon config` shows each
with where it comes from. The library itself reads none of them: `Memory(location, project)` is told by its caller.
"""
SETTING_IS: Final = {
    "memory": (
        "the nearest `.hardwon` folder upward, else the user's data folder",
        "The memory: a folder, a `.db` file or `postgresql://…`.",
    ),
    "project": (
        "the checkout's name where the memory was found, `default` where it was named",
        "The project within the memory.",
    ),
    "author": ("`agent`", "Who `remember`, `record` and `run` say it was."),
}
FILES: Final = f"""\
## The user's file

`~/.config/hardwon/config.toml`, or where the system keeps such files: TOML, UTF-8, at most {number(SETTINGS_BYTES_MAX)}
bytes, with these keys and no other. Its `memory` is a path from the root (`/…`) or from a home folder (`~/…`), or a database.

```toml
memory = "~/agent_brain"
project = "website"
author = "anna"
```

A file that says anything else is an error that names it. A checkout has no settings of its own: it may be somebody else's. A
team names its project by `HARDWON_PROJECT`.

## Other variables
"""
VARIABLES: Final = {
    "HARDWON_AIMEMORY": "the folder of `AIMemory()`, `hardwon fix-history` and `memory.sh`",
    "HARDWON_PYTEST": "`1`: the pytest plugin records ([run.md](../run.md))",
    "HARDWON_BACKGROUND": "`0`: agents' hooks leave no process in the background",
    "XDG_RUNTIME_DIR": "where the socket of that process is, in a folder `hardwon-UID`",
    "TMPDIR": "the same where there is no such folder, else `/tmp`",
    "HARDWON_RUN": "set by `hardwon run` for what it runs, so that one run inside another is "
    "known; not yours to set",
    "GROQ_API_KEY": "the key of the language model, where one is asked for "
    "([learning.md](../learning.md))",
    "API_BASE_URL": "its endpoint; Groq's where nobody says",
    "LLM_MODEL": "its name",
    "HARDWON_PLAIN_HTTP_HOST": "a host, besides this machine, to which questions and key may go over plain http",
    "HARDWON_LESSONS": "`1`: training memory's `build_memory_context` says what lessons say",
    "EMBEDDING_API_KEY": "the key of an embedding endpoint that `hardwon care reembed` names",
    "NO_COLOR": "anything: no colours",
    "VISUAL": "the editor that `hardwon lessons edit` opens",
    "EDITOR": "the same where there is no `VISUAL`, else `vi`",
    "PYTHONPATH": "where `hardwon drop-in check` looks for modules after the project's folder",
    "PGPASSWORD": "and libpq's other variables, for a memory in PostgreSQL",
}


def page() -> str:
    rows = []
    for name in places.NAMES:
        default, about = SETTING_IS[name]
        most = limits.PATH_CHARS_MAX if name == "memory" else limits.NAME_CHARS_MAX
        takes = f"text, one line, at most {most:,} characters"
        rows.append(
            (code(name), code(f"--{name}"), code(places.VARIABLES[name]), default, takes, about)
        )
    head = ("setting and file key", "option", "variable", "default", "what it takes", "")
    others = table(("variable", ""), ((code(name), about) for name, about in VARIABLES.items()))
    return "\n".join([BEGINS, table(head, rows), FILES, others])
