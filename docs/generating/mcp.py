"""docs/reference/mcp.md: tools, resources and prompts, as a client of the MCP server hears of
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from tempfile import TemporaryDirectory
from typing import Any, Final

from mcp import Client

from generating.markdown import MADE, code, table
from generating.markdown import listed as listed_words
from generating.takes import own_fields, shared_fields
from hardwon.memory import Memory
from hardwon.surfaces.arguments import Nothing
from hardwon.surfaces.gate import Ask, Gate
from hardwon.surfaces.mcp.btb import BTB_TOOLS
from hardwon.surfaces.mcp.server import INSTRUCTIONS, make_server
from hardwon.surfaces.mcp.tools import TOOLS, USUAL, ShortAnswer, Tool
from hardwon.trust.access import Caller

BEGINS: Final = f"""\
# MCP

{MADE}

What a client of `hardwon mcp`, or of `/mcp` on a server, is told: tools, resources and prompts, from the server's own lists.
[coding-agents.md](../coding-agents.md) says how to set it up and how far a client may go.
Tools beyond its scope are not listed to it.

The server introduces itself with these words:

> {INSTRUCTIONS}
"""
USUAL_BEGINS: Final = """\
## The usual tools

What a model is told of unless `--tools all` is given. Each answers with `text`, a few lines, and `ids`, the records in them.
"""
ALL_BEGINS: Final = """\
## The others

With `hardwon mcp --tools all`, or `hardwon serve --tools all`, the operations are there as they are declared, with all that
they take, and what they give as JSON. So are those of the usual tools that are one: `search` then takes
the filters, and gives whole hits.
"""
SKILLS_TOLD: Final = """\
[Skills](../coding-agents.md#skills) are at `skill://NAME/SKILL.md`; `skills/list` and `skills/get` (the extension
`io.modelcontextprotocol/skills`) tell what each is for, and the digest of its text.
"""
SHARED_BY: Final = {
    "envelope": "Tools that record also take these.",
    "filters": "Tools that search also take these.",
}
HINTS: Final = {
    "read_only_hint": "reads only",
    "destructive_hint": "takes away",
    "idempotent_hint": "doing it twice does no harm",
    "open_world_hint": "may ask the language model that the operator set up",
}


def page() -> str:
    return asyncio.run(_page())


async def _page() -> str:
    """Of a server that is asked everything and knows nothing."""
    with TemporaryDirectory() as folder, Memory(folder, checkout=False) as memory:
        ask = Ask(Gate(lambda _: memory, None), Caller("reader", "admin"), "default")
        return await _told_by(ask)


async def _told_by(ask: Ask) -> str:
    async with Client(make_server(lambda _: ask)) as client:
        usual = (await client.list_tools()).tools
    async with Client(make_server(lambda _: ask, every=True, btb=True)) as client:
        tools = (await client.list_tools()).tools
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
    addresses = [(str(each.uri), each.description or "") for each in resources]
    addresses += [(each.uri_template, each.description or "") for each in templates]
    parts = [BEGINS, USUAL_BEGINS]
    parts += [line for tool in usual for line in _tool(tool, USUAL[tool.name])]
    parts += [ALL_BEGINS, *shared_fields(SHARED_BY, _to_object)]
    parts += [
        line
        for tool in tools
        if tool.name in TOOLS and tool.name not in USUAL
        for line in _tool(tool, TOOLS[tool.name])
    ]
    parts += ["## Resources\n", _addresses("hardwon", addresses), SKILLS_TOLD]
    parts += ["## Prompts\n", table(("prompt", "takes", ""), map(_prompt, prompts))]
    parts.append(
        "## The names of the BTB server\n\nWith `hardwon mcp --btb`, or `hardwon serve --btb`, "
        "these are there as well.\n"
    )
    parts += [
        line
        for tool in tools
        if tool.name in BTB_TOOLS
        for line in _tool(tool, BTB_TOOLS[tool.name])
    ]
    parts.append(_addresses("btb", addresses))
    return "\n".join(parts)


def _addresses(scheme: str, addresses: Iterable[tuple[str, str]]) -> str:
    return table(
        ("address", ""), ((code(uri), about) for uri, about in addresses if uri.startswith(scheme))
    )


def _to_object(name: str) -> str:
    return f"[{code(name)}](rest.md#{name.lower()})"


def _tool(listed: Any, tool: Tool) -> Iterator[str]:
    yield f"### {listed.name}\n\n{tool.title} (scope `{tool.scope}`). {tool.description}\n"
    schema, full = listed.input_schema, tool.takes.model_json_schema().get("properties", {})
    # what all that record or search take is told once, and of the usual ones all that they tell
    takes = Nothing if tool.gives is ShortAnswer else tool.takes
    told = {name: full[name] for name in schema.get("properties", {})}
    yield from own_fields(takes, told, list(schema.get("required", ())), _to_object)
    hints = [said for hint, said in HINTS.items() if getattr(listed.annotations, hint)]
    gives = list(listed.output_schema.get("properties", {}))
    answer = f"Comes back with {listed_words(map(code, gives), 'and')}. " if gives else ""
    yield f"{answer}Hints: {', '.join(hints) if hints else 'it writes, and doing it twice is kept twice'}.\n"


def _prompt(prompt: Any) -> tuple[str, str, str]:
    takes = ", ".join(
        f"{code(each.name)} ({each.description.rstrip('.')})" for each in prompt.arguments or ()
    )
    return code(prompt.name), takes or "nothing", prompt.description
