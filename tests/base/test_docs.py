"""README, docs and examples are true; what they show is run by test_snippets.py."""

from __future__ import annotations

import ast
import html
import importlib.util
import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from markdown.extensions.toc import slugify  # type: ignore[import-untyped]

import browsing
from short import run_program
from snippets import PAGES, ROOT

README = (ROOT / "README.md").read_text()
_FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_LINK = re.compile(r"\]\(<?([^)>\s]+)>?(?: \"[^\"]*\")?\)")
_HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)
_ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')


def prose_of(page: Path) -> str:
    """Without blocks and comments, which may hold anything."""
    return _COMMENT.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))


def anchors_of(page: Path) -> set[str]:
    """Those that lead to the same heading here, in a repository, and in the site."""
    prose = prose_of(page)
    headings = [re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading) for heading in _HEADING.findall(prose)]
    plain = [re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings]
    shown = {heading.replace(" ", "-") for heading in plain}
    return shown & {slugify(heading, "-") for heading in headings} | set(_ANCHOR.findall(prose))


def broken_links(page: Path, root: Path = ROOT) -> Iterator[str]:
    for link in _LINK.findall(_CODE.sub("", prose_of(page))):
        parts = urlsplit(link)
        if parts.scheme:
            on_the_web = parts.scheme in ("http", "https") and "." in parts.netloc
            if not on_the_web and parts.scheme != "mailto":
                yield f"{link}: is no address"
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not target.is_file():
            yield f"{link}: no such file"
        elif parts.fragment and parts.fragment not in anchors_of(target):
            yield f"{link}: no such heading"
        elif page.is_relative_to(root / "docs") and not target.is_relative_to(root / "docs"):
            yield f"{link}: leads out of the site"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken_links(page)) == []
    assert page.read_text().startswith("# ")


def test_the_commands_of_the_readme_are_what_the_makefile_does() -> None:
    commands = README.partition("```sh\n")[2].partition("```")[0]
    assert re.findall(r"^make (\w+)", commands, re.MULTILINE) == ["demo", "test"]
    listed = run_program("make", "help", cwd=ROOT).stdout
    told = {"demo", "test", "bench", "torture", "clean", "help"}
    told |= set(re.findall(r"`make (\w+)`", README))
    assert told <= set(re.findall(r"make (\w+)", listed))
    tools = ("ruff format --check", "ruff check", "mypy", "pytest")
    assert all(tool in planned("test") for tool in tools)
    assert all(step in planned("docs") for step in ("docs/generate.py", "mkdocs build --strict"))
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def planned(target: str) -> str:
    return run_program("make", "-n", target, cwd=ROOT).stdout


def test_make_demo_works_from_a_fresh_clone(tmp_path: Path) -> None:
    listed = run_program("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT)
    for name in listed.stdout.splitlines():
        target = tmp_path / "clone" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    python = f"PYTHON={sys.base_prefix}/bin/python3"
    done = run_program("make", "demo", python, cwd=tmp_path / "clone", env=environment)
    told = done.stdout[done.stdout.index("Monday") :].split()
    picture = (ROOT / "docs" / "images" / "demo.svg").read_text()
    shown = html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", picture, flags=re.DOTALL))
    assert "Stop." in told
    assert ["hardwon", "demo", *told][: len(shown.split())] == shown.split()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strict: a page outside of the navigation, or a link that leads nowhere, is an error."""
    folder = tmp_path_factory.mktemp("site")
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "1700000000"}
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder)
    run_program(*command, cwd=ROOT, env=env)
    return folder


@contextmanager
def at_an_address(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """Nobody reads it."""


def test_the_site_is_read_and_searched_without_a_network(site: Path) -> None:
    with at_an_address(site) as url, browsing.browser() as started:
        asked: list[str] = []
        page = started.new_page(viewport=browsing.DESKTOP)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{url}/index.html")
        page.get_by_role("link", name="the tutorial", exact=True).first.click()
        page.wait_for_url("**/tutorial.html")
        page.keyboard.press("/")
        page.keyboard.type("log-odds")
        # it searches while one types
        page.locator(".md-search-result__item", has_text="Confidence").first.wait_for()
        assert "Confidence" in page.locator(".md-search-result__list").inner_text()
        page.goto((site / "trust.html").as_uri())
        assert page.get_by_role("heading", name="Trust", exact=False).first.is_visible()
    assert len(asked) > 10
    assert all(address.startswith((url, "file:", "blob:", "data:")) for address in asked)


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def extras() -> Any:
    spec = importlib.util.spec_from_file_location("extras", ROOT / "tools" / "extras.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_every_cell_of_a_notebook_runs(file: Path) -> None:
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")  # what one machine showed is not for all
        if cell["cell_type"] != "code":
            continue
        *before, last = ast.parse("".join(cell["source"])).body
        whole = [last] if not isinstance(last, ast.Expr) else []
        exec(compile(ast.Module([*before, *whole], []), file.name, "exec"), names)  # noqa: S102
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), file.name, "eval"), names))  # noqa: S307
    tables = [each._repr_html_() for each in shown if hasattr(each, "_repr_html_")]
    assert len(tables) >= 5
    assert all(each.startswith(("<table>", "<pre>")) for each in tables)


def brought_by(requirements: list[str]) -> set[str]:
    """The packages that come with these, by their names in small letters."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        named = re.match(r"[\w.-]+", waiting.pop())
        assert named
        name = re.sub(r"[-_.]+", "-", named.group()).lower()
        if name not in found:
            found.add(name)
            try:
                waiting += [each for each in requires(name) or () if "extra ==" not in each]
            except ModuleNotFoundError:  # for another system or version than this one
                continue
    return found


def find_imported(source: str) -> set[str]:
    """The packages that a program imports."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [node.names[0].name for node in nodes if isinstance(node, ast.Import)]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def test_every_extra_is_tried_and_brings_what_its_example_imports() -> None:
    tools = extras()
    assert list(tools.TRIALS) == tools.extras()
    project = tools.tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    owners = packages_distributions()
    for extra, trial in tools.TRIALS.items():
        source = (ROOT / trial).read_text() if trial.startswith("examples/") else trial
        imported = find_imported(source) - {"hardwon", *sys.stdlib_module_names}
        brought = brought_by([*project["dependencies"], *project["optional-dependencies"][extra]])
        for name in imported:
            given = {re.sub(r"[-_.]+", "-", each).lower() for each in owners[name]}
            assert given & brought, f"{extra} does not bring {name}"
