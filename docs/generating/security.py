"""docs/security.md, from its mark on: who decides on each way in whose word it is, and what a token
may do, from the functions and the table of operations that do so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from generating.markdown import MADE, code, prose, table
from hardwon.surfaces.operations import OPERATIONS
from hardwon.trust.access import SCOPES

SECURITY: Final = Path(__file__).parent.parent / "security.md"
# Each way in: what the author is, and the function that decides it.
WAYS: Final = (
    ("Python", "what the caller says", "hardwon.memory.project:Project.prepare"),
    ("command line", "`--author`, or the settings'", "hardwon.surfaces.cli.base:sign"),
    ("HTTP, `Client`, MCP over HTTP", "the token's name", "hardwon.memory.tokens:Tokens.caller"),
    ("dashboard", "the name of the token of the session", "hardwon.surfaces.web.site:Site._visit"),
    (
        "MCP over stdio",
        "`--author`, or the client's own name",
        "hardwon.surfaces.mcp.stdio:make_client_name",
    ),
    ("a token's name when it is made", "what its maker says", "hardwon.memory.tokens:author_name"),
    (
        "LangGraph",
        "the author that the store was made with",
        "hardwon.adapters.langgraph:HardwonStore",
    ),
    (
        "OpenAI Agents SDK",
        "the author that the tools were made with",
        "hardwon.adapters.openai_agents:memory_tools",
    ),
    (
        "`load`",
        "who the file says, `via import`",
        "hardwon.memory.transfer:load",
    ),
    (
        "`merge`",
        "who the other memory says, `via import` unless it is trusted",
        "hardwon.memory.transfer:merge",
    ),
    (
        "files of the tree",
        "who the file says, `via import`; `agent` where it names nobody",
        "hardwon.tree.edits:Edits.experience_in",
    ),
    (
        "`adopt`",
        "`--author`, one source for all of it, `via import`",
        "hardwon.memory.care:Care.take_in",
    ),
)
BEGINS: Final = """\
## Who checks an author where

Every way in passes `Project.prepare`, which makes look-alikes of a name (NFKC) one, and refuses names that end in
`via import`. Who decides whose word it is, beside that:
"""
TOKENS: Final = """\
### What one token may do

Each scope may do what those before it may. What signs does so with the token's name, whatever the request says; what reaches
every project takes a token that does.
"""


def page() -> str:
    """What is written by hand stays."""
    parts = [f"{SECURITY.read_text(encoding='utf-8').partition(MADE)[0]}{MADE}\n", BEGINS]
    parts.append(table(("way in", "the author is", "decided by", ""), _ways()))
    parts += [TOKENS, table(("scope", "may", "and signs", "and reaches every project"), _scopes())]
    return "\n".join(parts)


def _ways() -> Iterator[tuple[str, str, str, str]]:
    for way, author, decides in WAYS:
        told = prose(resolve_name(decides).__doc__).split("\n\n")[0].split(". ")[0]
        yield way, author, code(decides.partition(":")[2]), told.removesuffix(".") + "."


def _scopes() -> Iterator[tuple[str, str, str, str]]:
    for scope in SCOPES:
        of_scope = [each for each in OPERATIONS.values() if each.scope == scope]
        signed = {each.name: each.signs for each in of_scope if each.signs}
        # whole records, which are signed one by one
        given = {
            each.name for each in of_scope if {"record", "records"} & set(each.takes.model_fields)
        }
        whole = [each.name for each in of_scope if each.whole]
        plain = [each.name for each in of_scope if each.name not in {*signed, *given, *whole}]
        named = [f"{name} ({signed.get(name, 'author')})" for name in sorted({*signed, *given})]
        yield code(scope), _codes(plain), _codes(named), _codes(whole)


def _codes(names: list[str]) -> str:
    return ", ".join(map(code, names))
