"""What operations take, as HTTP and MCP both tell it: their own fields, and where those are told
that many have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from generating.markdown import Link, Schema, fields_table
from hardwon.surfaces.arguments import Arguments, Enveloped, Filtered

SHARED: Final[Mapping[str, type[Arguments]]] = {"envelope": Enveloped, "filters": Filtered}


def shared_fields(about: Mapping[str, str], link: Link) -> Iterator[str]:
    for name, takes in SHARED.items():
        schema = takes.model_json_schema()
        yield f"### The {name}\n\n{about[name]}\n"
        yield fields_table(schema["properties"], schema.get("required", ()), link)


def own_fields(
    takes: type[Arguments], properties: Mapping[str, Schema], required: list[str], link: Link
) -> Iterator[str]:
    shared = [name for name, base in SHARED.items() if issubclass(takes, base)]
    told_there = {field for name in shared for field in SHARED[name].model_fields}
    own = {name: schema for name, schema in properties.items() if name not in told_there}
    if own:
        yield fields_table(
            dict(sorted(own.items(), key=lambda item: item[0] not in required)), required, link
        )
    for name in shared:
        yield f"{'And' if own else 'Takes'} the fields of [the {name}](#the-{name}).\n"
    if not own and not shared:
        yield "Takes nothing.\n"
