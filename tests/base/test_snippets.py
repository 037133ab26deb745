"""Every snippet of every page runs, and prints what the page says that it prints."""

from __future__ import annotations

import os
import re
from pathlib import Path

import markdown  # type: ignore[import-untyped]
import pytest

from command_line import EXAMPLES
from snippets import PAGES, ROOT, WrongPageError, blocks_of, run_page

MADE_FROM_COMMANDS = ROOT / "docs" / "reference" / "cli.md"
DEMO = "tests/base/test_docs.py runs make demo in a fresh clone, and make test is what runs this"
PACKAGES = "it installs packages, as make demo does in tests/base/test_docs.py"
NEVER_RUN = [("README.md", DEMO), ("docs/tutorial.md", PACKAGES)]
"""The blocks that are not run, and why. As few as can be."""


def read(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Python runs in this process, and sees the variables that its shell sees."""

    def take_on(variables: dict[str, str]) -> None:
        for name in os.environ.keys() - variables.keys() - {"PYTEST_CURRENT_TEST"}:
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    run_page(page, folder, take_on)


def _in_checkout() -> list[Path]:
    """Without what the building of a release leaves there, meanwhile, for so long."""
    return sorted(each for each in ROOT.iterdir() if each.name not in ("build", "dist"))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page != MADE_FROM_COMMANDS],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_snippets_of_pages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _in_checkout()
    read(page, tmp_path, monkeypatch)
    assert _in_checkout() == before, "a page writes where its reader is, not into the checkout"


def test_the_snippets_of_commands_all_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """test_cli.py runs the examples of all commands in one process."""
    blocks = blocks_of(MADE_FROM_COMMANDS)
    assert {block.language for block in blocks} == {"sh"}
    elsewhere = {example for _, example in EXAMPLES}
    lines = [line for block in blocks for line in block.code.splitlines()]
    here = [line for line in lines if line not in elsewhere]
    assert len(here) < 5 < len(elsewhere) == len(lines) - len(here)
    page = tmp_path / "page.md"
    page.write_text("\n".join(["```sh", *here, "```"]))
    read(page, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_that_readers_see_goes_unseen(page: Path) -> None:
    """However it is written: with other fences, in a list, or indented."""
    shown = markdown.markdown(page.read_text(), extensions=["pymdownx.superfences", "tables"])
    seen = [block for block in blocks_of(page) if not block.hidden]
    assert len(re.findall("<pre>", shown)) == len(seen)


def test_few_blocks_are_never_run_and_each_is_known() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert [(block.page, block.never) for block in blocks if block.never] == NEVER_RUN


FALSE_PAGES = {
    "a command that fails": "```sh\nls /nowhere\necho unreachable\n```",
    "a failure that does not come": "<!-- exits: 1 -->\n```sh\ntrue\n```",
    "another output": "```console\n$ echo one\ntwo\n```",
    "another number": "```console\n$ echo 727160722243\n727160722244\n```",
    "a hash for a number": "```console\n$ echo 9f2c1e7\n1234567\n```",
    "more output than said": "```console\n$ printf 'one\\ntwo\\n'\none\n```",
    "an output of the second command": "```console\n$ echo one\none\n$ echo two\nthree\n```",
    "a console whose first command fails": "```console\n$ false\n$ true\n```",
    "Python that raises": "```python\nmemory.recall('x')\n```",
    "Python that prints something else": "```python\nprint(2)  # prints 3\n```",
    "another output of Python": "```python\nprint(2)\n```\n\n<!-- prints -->\n```text\n3\n```",
    "no language": "```\nls\n```", "an unknown language": "```bash\nls\n```",
    "a comment that means nothing": "<!-- never -->\n```sh\nls\n```",
    "a comment before no block": "<!-- exits: 1 -->\n\nText.\n\n```sh\nfalse\n```",
    "no reason": "<!-- runs: never -->\n```sh\nls\n```", "a need that nobody has": "<!-- needs: mysql -->\n```sh\nls\n```",
    "a file that nothing runs": '```python title="one.py"\nprint(1)\n```', "JSON that is none": "```json\n{'a': 1}\n```",
    "JSON Lines that are none": "```jsonl\n{}\nno\n```", "TOML that is none": "```toml\na: 1\n```",
    "a file in an unknown language": '```nginx title="site.conf"\nlisten 80;\n```',
    "a block without an end": "```sh\nls\n", "a shell that leaves": "```sh\nexit 3\n```",
}  # fmt: skip


@pytest.mark.parametrize("text", FALSE_PAGES.values(), ids=FALSE_PAGES.keys())
def test_false_pages_are_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n{text}\n")
    with pytest.raises((WrongPageError, ValueError)):
        read(page, tmp_path, monkeypatch)
