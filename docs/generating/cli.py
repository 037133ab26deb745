"""docs/reference/cli.md: the command line. What it says of a command is the command's own help,
options and examples, and the operation that it carries out.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any, Final

import typer
from markdown.extensions.toc import slugify  # type: ignore[import-untyped]

from generating.markdown import MADE, code, table
from hardwon.surfaces.cli.main import SECTIONS, app
from hardwon.surfaces.operations import OPERATIONS

BEGINS: Final = f"""\
# The command line

{MADE}

`hardwon COMMAND` does what `Memory` does, from a shell. `hardwon --help` lists the commands, `hardwon COMMAND --help` shows
one of them with examples.

{{options}}
`--memory` and `--project` may stand anywhere in a line, but in a command that is to be run; `tokens` and `postgres` have a
`--project` of their own. Where nobody says which memory, also no [setting](#config), it is the nearest `.hardwon` folder
upward, else the user's own. The project is then the name of the git checkout; it is `default` where a memory is named and
no project.

`--install-completion` sets up the shell that it is called from; `--show-completion` prints what that takes.

A command that only reads makes no memory where the path does not exist. Colours and progress bars appear on a terminal only;
`NO_COLOR` turns colours off. Characters that a terminal would obey are written out. Commands that were recorded with a fix are
shown as text and never run.

A command that takes something away asks first. Where nobody can answer (a script, a pipe, `--json`) it needs `--yes` (`-y`);
without it nothing is changed, and the exit code is 1.

| exit code | |
|---|---|
| 0 | all is well |
| 1 | an error, told in one line on standard error with what to do about it; or invalid data was found |
| 2 | wrong usage |
| 130 | interrupted (Ctrl-C) |
| 141 | whatever read the output left (`hardwon recall … \\| head -1`) |

`--json` prints one JSON value in ASCII. Of a command that [HTTP](reference/rest.md) has too, it is the same value. The keys
stay; new ones may come beside them. A *record* is as in [records.md](records.md). Times are ISO 8601 in UTC.
"""

# Help texts link as pages in docs/ do; the page is a folder below.
_LINK_FROM_DOCS: Final = re.compile(r"(\]\()([\w/-]+\.md)")


def page() -> str:
    root: Any = typer.main.get_command(app)
    context: Any = typer.Context(root, info_name="hardwon")
    parts = [BEGINS.format(options=_options(root, context))]
    for section, names in SECTIONS.items():
        parts.append(f"## {section}\n")
        for name in names:
            parts += _about(root.get_command(context, name), context, "###")
    return _LINK_FROM_DOCS.sub(
        lambda link: link[1] + posixpath.relpath(link[2], "reference"), "\n".join(parts)
    )


def _about(command: Any, above: Any, heading: str) -> Iterator[str]:
    context = type(above)(command, parent=above, info_name=command.name)
    words = context.command_path.removeprefix("hardwon ")
    usage = " ".join([context.command_path, *_usage(command)])
    yield f"{heading} {words}\n\n`{usage}`\n"
    told, _, shown = str(command.help or "").partition("\b\nExamples:\n")
    help_text = "\n\n".join(" ".join(part.split()) for part in told.strip().split("\n\n"))
    if (route := route_of(words)) and "\n\nJSON" not in help_text:
        help_text += f"\n\nJSON: what {route} gives."
    yield f"{help_text}\n"
    if options := _options(command, context):
        yield options
    if examples := [line.strip() for line in shown.splitlines()]:
        yield "```sh\n" + "\n".join(examples) + "\n```\n"
    for inner in getattr(command, "commands", {}).values():
        if not inner.hidden:
            yield from _about(inner, context, f"{heading}#")


def route_of(words: str) -> str:
    """The route of HTTP that does the same as the command, as a link; empty where there is none."""
    for operation in OPERATIONS.values():
        if operation.command == words:
            place = f"{operation.method} {operation.path}"
            return f"[`{place}`](reference/rest.md#{slugify(place, '-')})"
    return ""


def _options(command: Any, context: Any) -> str:
    """A table of what can be given, with defaults, bounds and variables as the help tells them."""
    rows = [
        (code(_spell(param, record[0])), record[1])
        for param in command.params
        if (record := param.get_help_record(context))
    ]
    return table(("option", ""), rows) if rows else ""


def _usage(command: Any) -> Iterator[str]:
    yield from ["[OPTIONS]"] if any(map(_has_a_name, command.params)) else []
    for param in command.params:
        if not _has_a_name(param):
            yield _spell(param) if param.required else f"[{_spell(param)}]"
    yield from ["COMMAND …"] if hasattr(command, "commands") else []


def _has_a_name(param: Any) -> bool:
    return bool(param.param_type_name == "option")


def _spell(param: Any, shown: str = "") -> str:
    """As somebody types it. `shown` is how the help shows it, which tells what a value may be."""
    if not _has_a_name(param):
        return str(param.metavar or param.name.upper())
    names = ", ".join([*param.opts, *param.secondary_opts])
    kind = param.metavar or shown.rpartition(" ")[2].strip("<>").replace("|", "/")
    kind = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER"}.get(kind, kind)
    return names if param.is_flag else f"{names} {kind}"
