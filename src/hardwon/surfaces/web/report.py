"""The dashboard's views as one file, which opens without a network and without a server: everything
that it needs is in it, and its policy lets no script run but those, which it names by their hashes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.web.look import PLOTLY, asset, environment, time
from hardwon.surfaces.web.pages import PageRequest, SignIn, WebPage
from hardwon.surfaces.web.review import TABS
from hardwon.surfaces.web.site import PLACES, NavItem

SCRIPTS: Final = ("theme.js", PLOTLY, "app.js")
# Where links lead to what is not in the file; they are taken out.
NOWHERE: Final = "#-"
_SHOWN: Final = ("overview", "map", "fixes", "episodes", "review")
_LISTS: Final = [(f"-{tab}", f": {title}", {"tab": tab}) for tab, title in TABS.items()]


class ReportPart(NamedTuple):
    """A view in the file. `name` is its anchor."""

    name: str
    page: NavItem
    title: str
    query: Mapping[str, str]


@dataclass(frozen=True)
class InFile(PageRequest):
    """What a page is asked for that goes into a file: its links lead to other parts of that file,
    or nowhere.
    """

    anchors: Mapping[str, str] = field(default_factory=dict)

    def url(
        self, page: str | None = None, item: str = "", /, project: str | None = None, **query: Any
    ) -> str:
        given = {
            name: value
            for name, value in query.items()
            if value not in (None, "") and name != "range"
        }
        elsewhere = item or project not in (None, self.project)
        anchor = self.anchors.get(_key(page or self.page, given))
        return NOWHERE if elsewhere or anchor is None else f"#{anchor}"

    def here(self, **changed: Any) -> str:  # noqa: ARG002  # another state of the page is not in the file
        return NOWHERE


def _key(page: str, query: Mapping[str, Any]) -> str:
    return f"{page}?{json.dumps(query, sort_keys=True, default=str)}"


def parts() -> list[ReportPart]:
    """What a report has, in the order of the navigation: of every list that waits for a decision,
    one.
    """
    return [
        ReportPart(f"part-{page.name}{anchor}", page, page.title + title, query)
        for page in PLACES
        if page.name in _SHOWN
        for anchor, title, query in (_LISTS if page.name == "review" else [("", "", {})])
    ]


def report(ask: Ask, time_range: str) -> bytes:
    """The whole file. Nothing in it can be changed, so whoever asks needs no more than to read."""
    listed = parts()
    anchors = {_key(part.page.name, part.query): part.name for part in listed}
    anchors[_key("review", {})] = f"part-review-{next(iter(TABS))}"
    request = InFile(
        ask.project, "", "", {"range": time_range}, SignIn("", None, "", 0.0, 0.0), anchors=anchors
    )
    scripts = {name: _inline(name, "script") for name in SCRIPTS}
    frame = {
        "project": ask.project,
        "time_range": time_range,
        "made": request.now,
        "parts": listed,
        "shown": [_render(part, ask, request) for part in listed],
        "style": _inline("app.css", "style"),
        "scripts": scripts,
        "hashes": [
            "sha256-" + b64encode(sha256(script.encode()).digest()).decode()
            for script in scripts.values()
        ],
    }
    content = environment().get_template("report.html").render(frame).encode()
    if len(content) > limits.REPORT_BYTES_MAX:
        raise InvalidInputError.one(
            "range",
            time_range,
            f"a shorter time: the file would have {len(content):,} bytes, and "
            f"{limits.REPORT_BYTES_MAX:,} are allowed",
        )
    return content


def _render(part: ReportPart, ask: Ask, request: InFile) -> Markup:
    """The page's own template upon another frame, with names of charts that no other part has."""
    request = replace(request, page=part.page.name, query={**part.query, **request.query})
    page = part.page.view(ask, request)
    assert isinstance(page, WebPage)  # noqa: S101  # for type checkers: none of these is a download
    made = environment().overlay()
    made.globals = {**made.globals, "chart_prefix": f"{part.name}-", "frame": "report_part.html"}
    made.filters = {**made.filters, "time": _date}
    text = made.get_template(page.template).render(
        {
            "title": part.title,
            "part": part.name,
            "caller": None,
            "csrf": "",
            "request": request,
            **page.context,
        }
    )
    # A quotation mark that came out of a memory is escaped, so that only our own templates write
    # this.
    return Markup(re.compile(f' href="{NOWHERE}[^"]*"').sub("", text))  # noqa: S704  # nosec B704  # it was rendered with everything escaped


def _date(at: datetime | date | None) -> Markup | str:
    """A time as it stays true: a file is read later."""
    if not isinstance(at, datetime):
        return time(at)
    exact = at.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        exact.isoformat(timespec="seconds"), exact.strftime("%Y-%m-%d %H:%M")
    )


def _inline(name: str, element: str) -> Markup:
    """A file of ours, or plotly's script, to stand inside an element as it is."""
    text = asset(name).content.decode().replace("\r\n", "\n")
    if f"</{element}" in text.lower() or "<!--" in text:
        raise ValueError(f"{name} would end the element that it stands in")
    return Markup(text)  # noqa: S704  # nosec B704  # a file that was installed, and nothing in it ends the element
