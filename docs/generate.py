"""Writes the pages that say what the code says: `make docs`. Each is made by a module of
docs/generating.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from generating import architecture, cli, limits, mcp, python, rest, security, settings

FOLDER: Final = Path(__file__).parent
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "architecture.md": architecture.page,
    "reference/cli.md": cli.page,
    "reference/limits.md": limits.page,
    "reference/mcp.md": mcp.page,
    "reference/python.md": python.page,
    "reference/rest.md": rest.page,
    "reference/settings.md": settings.page,
    "security.md": security.page,
}


def main() -> None:
    for name, page in PAGES.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
