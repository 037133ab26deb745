"""The dashboard's views as one file, which opens without a network and without a server: everything
that it needs is in it, and its policy lets no script run but those, which it names by their hashes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from hashlib import sha256
from importlib import import_module
from typing import Any, Final, NamedTuple

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.surfaces.web.look import HERE, PLOTLY, asset, environment, time
from hardwon.surfaces.web.pages import Ask, PageRequest, WebPage
from hardwon.surfaces.web.review_page import TABS
from hardwon.surfaces.web.sessions import SignIn
from hardwon.surfaces.web.site import PLACES

SCRIPTS: Final = ("theme.js", PLOTLY, "app.js")
NOWHERE: Final = "#-"
"""Where links lead to what is not in the file; they are taken out."""

_TO_NOWHERE: Final = re.compile(f' href="{NOWHERE}[^"]*"')
_SHOWN: Final = ("overview", "map", "fixes", "episodes", "review")
_NOBODY: Final = SignIn("", None, "", 0.0, 0.0)


class ReportPart(NamedTuple):
    """A view in the file. `name` is its anchor."""

    name: str
    page: str
    title: str
    query: Mapping[str, str]


class HtmlReport(NamedTuple):
    content: bytes
    parts: list[str]


@dataclass(frozen=True)
class InFile(PageRequest):
    """What a page is asked for that goes into a file: its links lead to other parts of that file,
    or nowhere.
    """

    anchors: Mapping[str, str] = field(default_factory=dict)

    def url(
        self, page: str | None = None, item: str = "", /, project: str | None = None, **query: Any
    ) -> str:
        said = {
            name: value
            for name, value in query.items()
            if value not in (None, "") and name != "range"
        }
        wanted = f"{page or self.page}?{json.dumps(said, sort_keys=True, default=str)}"
        elsewhere = item or project not in (None, self.project)
        return NOWHERE if elsewhere or wanted not in self.anchors else f"#{self.anchors[wanted]}"

    def here(self, **changed: Any) -> str:  # noqa: ARG002  # another state of the page is not in the file
        return NOWHERE


def parts() -> list[ReportPart]:
    """What a report has, in the order of the navigation: of every list that waits for a decision,
    one.
    """
    found = []
    for place in PLACES:
        if place.name not in _SHOWN:
            continue
        if place.name == "review":
            found += [
                ReportPart(f"part-review-{tab}", "review", f"Review: {title}", {"tab": tab})
                for tab, title in TABS.items()
            ]
        else:
            found.append(ReportPart(f"part-{place.name}", place.name, place.title, {}))
    return found


def report(ask: Ask, time_range: str) -> HtmlReport:
    """The whole file. Nothing in it can be changed, so whoever asks needs no more than to read."""
    listed = parts()
    anchors = {
        f"{part.page}?{json.dumps(dict(part.query), sort_keys=True)}": part.name for part in listed
    }
    anchors["review?{}"] = next(part.name for part in listed if part.page == "review")
    asked = InFile(ask.project, "", "", {}, _NOBODY, anchors=anchors)
    shown = [
        _rendered(
            part, ask, replace(asked, page=part.page, query={**part.query, "range": time_range})
        )
        for part in listed
    ]
    scripts = {name: _inline(name, "script") for name in SCRIPTS}
    frame = {
        "project": ask.project,
        "time_range": time_range,
        "made": asked.now,
        "parts": listed,
        "shown": shown,
        "style": _inline("app.css", "style"),
        "scripts": scripts,
        "hashes": [_hash(script) for script in scripts.values()],
    }
    content = environment().get_template("report.html").render(frame).encode()
    if len(content) > limits.REPORT_BYTES_MAX:
        allowed = f"a shorter time: the file would have {len(content):,} bytes, and {limits.REPORT_BYTES_MAX:,} are allowed"
        raise InvalidInputError.one("range", time_range, allowed)
    return HtmlReport(content, [part.title for part in listed])


def _rendered(part: ReportPart, ask: Ask, request: InFile) -> Markup:
    view: Callable[[Ask, PageRequest], WebPage] = import_module(
        f"hardwon.surfaces.web.{part.page}_page"
    ).view
    page = view(ask, request)
    frame: dict[str, Any] = {
        "title": part.title,
        "part": part.name,
        "caller": None,
        "csrf": "",
        "request": request,
    }
    text = _environment(part).get_template(page.template).render({**frame, **page.context})
    # A quotation mark that came out of a memory is escaped, so that only our own templates write
    # this.
    return Markup(_TO_NOWHERE.sub("", text))  # noqa: S704  # nosec B704  # it was rendered with everything escaped


def _environment(part: ReportPart) -> Environment:
    """The pages' own templates upon another base, with names of charts that no other part has."""
    made = environment().overlay(loader=_OnPart(HERE / "templates"))
    made.globals = {**made.globals, "chart_prefix": f"{part.name}-"}
    made.filters = {**made.filters, "time": _dated}
    return made


def _dated(at: datetime | date | None) -> Markup | str:
    """A time as it stays true: a file is read later."""
    if not isinstance(at, datetime):
        return time(at)
    exact = at.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        exact.isoformat(timespec="seconds"), exact.strftime("%Y-%m-%d %H:%M")
    )


class _OnPart(FileSystemLoader):
    """What extends the frame of a page on a server gets that of a part of a file."""

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        return super().get_source(
            environment, "report_part.html" if template == "base.html" else template
        )


def _inline(name: str, element: str) -> Markup:
    """A file of ours, or plotly's script, to stand inside an element as it is."""
    found = asset(name)
    if found is None:
        raise FileNotFoundError(name)
    text = found.content.decode().replace("\r\n", "\n")
    if f"</{element}" in text.lower() or "<!--" in text:
        raise ValueError(f"{name} would end the element that it stands in")
    return Markup(text)  # noqa: S704  # nosec B704  # a file that was installed, and nothing in it ends the element


def _hash(script: str) -> str:
    return "sha256-" + b64encode(sha256(script.encode()).digest()).decode()
