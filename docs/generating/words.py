"""src/hardwon/surfaces/cli/words.json: what a shell offers, which must not build the commands to know it."""

from __future__ import annotations

import inspect
import json
from typing import Any

import typer

from hardwon.surfaces.cli.commands import ALIASES
from hardwon.surfaces.cli.main import app


def page() -> str:
    found = {**_command(typer.main.get_command(app)), "aliases": ALIASES}
    inner = found.pop("commands")
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in inner.items())
    return f'{json.dumps(found)[:-1]}, "commands": {{\n' + ",\n".join(lines) + "\n}}\n"


def _command(command: Any) -> dict[str, Any]:
    context: Any = typer.Context(command, **command.context_settings)
    sources = {
        name: getattr(info.autocompletion, "source", None)
        for name, each in inspect.signature(command.callback or (lambda: None)).parameters.items()
        for info in getattr(each.annotation, "__metadata__", ())
    }
    shown = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    parameters = [(each, _parameter(each, context, sources.get(each.name))) for each in shown]
    return {
        "help": command.get_short_help_str(100),
        "options": [one for each, one in parameters if each.param_type_name == "option"],
        "arguments": [one for each, one in parameters if each.param_type_name == "argument"],
        "commands": {
            name: _command(each) for name, each in getattr(command, "commands", {}).items()
        },
    }


def _parameter(param: Any, context: Any, source: Any) -> dict[str, Any]:
    """`values`: those that are allowed, or a name of `complete.KEPT`; null for what takes none."""
    takes_one = param.param_type_name == "argument" or not (param.is_flag or param.count)
    values = source or [item.value for item in param.shell_complete(context, "")]
    return {
        "names": [*sorted(param.opts), *param.secondary_opts],
        "help": param.help or "",
        "values": values if takes_one else None,
        "again": param.multiple or param.nargs == -1,
    }
