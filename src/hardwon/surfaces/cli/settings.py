"""`hardwon config`: the settings, and where each comes from."""

from typing import Any

import typer

from hardwon.memory.project import place_of, project_of
from hardwon.memory.settings import Setting, Settings
from hardwon.outside.locations import is_url, without_password
from hardwon.records.kinds import Source
from hardwon.surfaces.cli.base import CARE, Json, command, settings_of, write_json, write_lines
from hardwon.surfaces.cli.output import QUIET, STRONG, Line, Span, visible
from hardwon.trust.redact import redact


@command(
    CARE,
    "hardwon config",
    "hardwon --memory agent_brain config --json",
    answers="""`settings` (a list of `name`, `value`, `origin` (option, environment, project file, user file or default) and
    `where`, which option, variable or file; null for a default), `location` (the memory's file, or its database),
    `files` (a list of `origin`, `path` and `exists`), `ignored` (what the project's file may not set here, in words).""",
    more="""An option counts before the environment (`HARDWON_MEMORY`, `HARDWON_PROJECT`, `HARDWON_AUTHOR`), that before the
    project's file (the nearest `.hardwon/config.toml` upward), that before the user's (`~/.config/hardwon/config.toml`, or
    where the system keeps such files). Both are TOML with the keys `memory`, `project` and `author`; the author is who
    remember, record and run say it was. In the user's file, `memory` is a path from the root or from a home folder, or the
    `postgresql://…` of a database.

    A project's file comes with a checkout, which may be somebody else's, so it speaks for that checkout alone: it may name
    a memory inside the folder that `.hardwon` lies in (relative to that folder, links followed) and no other, and its
    `project` and `author` are ignored where the memory in use lies elsewhere. A file with another key, with anything but
    texts, or that is no TOML is an error that names the file; passwords in addresses are not shown.""",
)
def config(ctx: typer.Context, as_json: Json = False) -> None:
    """Show every setting, its value, and where that comes from."""
    found = settings_of(ctx)
    location = place_of(found.memory.value)
    values = _in_effect(found, location)
    if as_json:
        settings = [{**each._asdict(), "value": values[each.name]} for each in found]
        write_json(
            {
                "settings": settings,
                "location": location,
                "files": _files(found),
                "ignored": list(found.ignored),
            }
        )
        return
    lines: list[Line] = [
        (
            Span(f"{each.name:<9}", STRONG),
            Span(visible(values[each.name])),
            Span(f"  {_told(each)}", QUIET),
        )
        for each in found
    ]
    lines.append(
        (
            Span("in the database " if is_url(location) else "in the file ", QUIET),
            Span(visible(location)),
        )
    )
    for file in _files(found):
        there = ", which does not exist" if file["path"] and not file["exists"] else ""
        lines.append(
            (
                Span(f"{file['origin']}: ", QUIET),
                Span(visible(str(file["path"] or "none here"))),
                Span(there, QUIET),
            )
        )
    lines += [(Span("ignored: ", STRONG), Span(visible(said))) for said in found.ignored]
    write_lines(lines)


def _in_effect(found: Settings, location: str) -> dict[str, str]:
    defaults = {
        "memory": location,
        "project": project_of(found.memory.value),
        "author": Source().author,
    }
    return {
        each.name: _without_secrets(defaults[each.name] if each.value is None else each.value)
        for each in found
    }


def _without_secrets(value: str) -> str:
    return redact(without_password(value))[0]


def _files(found: Settings) -> list[dict[str, Any]]:
    """The project's, where there is one, and the user's, which somebody may want to make."""
    project = str(found.project_file) if found.project_file else None
    return [
        {"origin": "project file", "path": project, "exists": project is not None},
        {"origin": "user file", "path": str(found.user_file), "exists": found.user_file.exists()},
    ]


def _told(setting: Setting) -> str:
    return (
        f"({setting.origin}: {visible(setting.where)})" if setting.where else f"({setting.origin})"
    )
