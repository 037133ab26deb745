"""What a page is made of, who looks at it, and how it looks. A page is a function `(ask, request) ->
WebPage` (or an answer of its own, such as a file to keep); one that changes something has a second,
`(ask, request, form) -> address to go to`. `site.PLACES` lists them. They run in worker threads.

Whatever came out of a memory is escaped by the templates, without exception, and is made visible
first: control characters and direction marks are written out.

Figures are plain dictionaries, as plotly's script takes them. The script in the browser gives them
the theme's colours: a colour is one of the names below, as `$good`. Plotly's own Python objects
would take a second to import.
"""

from __future__ import annotations

import gzip
import hmac
import html
import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import ImmutableMultiDict

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import headline, outcome_of
from hardwon.surfaces.operations import jsonable

ROOT: Final = "/ui"
RANGES: Final[Mapping[str, int | None]] = {"7d": 7, "30d": 30, "90d": 90, "all": None}
RANGE: Final = "30d"
# Of the records that agents and people write, in the order in which pages name them.
KINDS: Final = ("experience", "fix", "episode", "trajectory", "fact")
_NAME_BYTES: Final = 32
Form = ImmutableMultiDict[str, str]


class WebPage(NamedTuple):
    """A template below `templates`, the page's title, and what the template is filled with."""

    template: str
    title: str
    context: Mapping[str, Any] = MappingProxyType({})
    status: int = 200


@dataclass
class SignIn:
    """`name` is all that the browser holds. `secret`: the token that it was opened with; None where
    no token is asked for. What the token allows is asked for anew with every request, so a session
    ends when its token does.
    """

    name: str
    secret: str | None
    csrf: str
    began: float
    seen: float
    flashes: list[str] = field(default_factory=list)

    def flash(self, message: str) -> None:
        """A message for the next page that this browser sees."""
        self.flashes = [*self.flashes, message][-limits.WEB_FLASHES_MAX :]

    def take_flashes(self) -> list[str]:
        """Each message is shown once."""
        waiting, self.flashes = self.flashes, []
        return waiting

    def vouches_for(self, csrf: str) -> bool:
        """Whether a form came from one of this session's own pages."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode("utf-8", "replace"))


class Sessions:
    """Those that are open; they end with the server. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, SignIn] = OrderedDict()

    def begin(self, secret: str | None) -> SignIn:
        now = self._clock()
        name, csrf = secrets.token_urlsafe(_NAME_BYTES), secrets.token_urlsafe(_NAME_BYTES)
        made = SignIn(name, secret, csrf, now, now)
        with self._lock:
            self._open[name] = made
            while len(self._open) > limits.WEB_SESSIONS_MAX:
                self._open.popitem(last=False)
        return made

    def find(self, name: str) -> SignIn | None:
        """None where there is none of that name, or not any more."""
        now = self._clock()
        with self._lock:
            found = self._open.pop(name, None)
            if (
                found is None
                or now - found.seen > limits.WEB_SESSION_IDLE_S
                or now - found.began > limits.WEB_SESSION_S_MAX
            ):
                return None
            found.seen = now
            self._open[name] = found
            return found

    def end(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)


@dataclass(frozen=True)
class PageRequest:
    """What a page is asked for. `item` is what its address has after the page's name; `query` has
    the last value of each parameter. `since` is None for all time.
    """

    project: str
    page: str
    item: str
    query: Mapping[str, str]
    session: SignIn
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def range(self) -> str:
        return self.choose("range", RANGES, RANGE)

    @property
    def since(self) -> datetime | None:
        days = RANGES[self.range]
        return None if days is None else self.now - timedelta(days=days)

    def choose(self, name: str, allowed: Collection[str], usual: str = "") -> str:
        """A parameter that is one of these names, and the usual one, or the first, where it is
        not.
        """
        given = self.query.get(name, "")
        return given if given in allowed else usual or next(iter(allowed))

    def whole_number(self, name: str, what: str, usual: int, most: int) -> int:
        """A parameter that is a number from 1 on, and the usual one where it is not given."""
        given = self.query.get(name, "").strip() or str(usual)
        if not (given.isascii() and given.isdigit() and 1 <= int(given[:9]) <= most):
            raise InvalidInputError.one(name, given, f"{what}, 1 to {most}")
        return int(given)

    def day(self, name: str) -> date | None:
        """A parameter that is a day."""
        given = self.query.get(name, "").strip()
        try:
            return date.fromisoformat(given) if given else None
        except ValueError:
            raise InvalidInputError.one(name, given, "a day, such as 2026-03-31") from None

    def url(
        self, page: str | None = None, item: str = "", /, project: str | None = None, **query: Any
    ) -> str:
        """The address of a page of this project; the time range stays, and a parameter that is None
        or empty is left out.
        """
        kept = {"range": self.range if self.range != RANGE else None, **query}
        given = {name: value for name, value in kept.items() if value not in (None, "")}
        parts = filter(None, [project or self.project, page or self.page, item])
        path = "/".join([ROOT, *(quote(part, safe="") for part in parts)])
        return f"{path}?{urlencode(given)}" if given else path

    def here(self, **changed: Any) -> str:
        """This very page, with these parameters changed; in another time range, from its
        beginning, and without days of its own.
        """
        again = dict.fromkeys(("cursor", "since", "until")) if "range" in changed else {}
        return self.url(self.page, self.item, **{**self.query, **again, **changed})


# --- charts ---

Figure = dict[str, Any]
GOOD, BAD, INFO, ACCENT, QUIET = "$good", "$bad", "$info", "$accent", "$quiet"
SECOND: Final = "$series2"  # beside the accent, for a series that is neither good nor bad
# An axis of shares, with room for the points at its ends.
SHARES: Final[Figure] = {"range": [-0.02, 1.03], "tickformat": ".0%"}
DAY_MS: Final = 86_400_000  # plotly counts times in milliseconds
# Layout of a chart whose axis has a title where the legend would be.
LEGEND_ABOVE: Final[Figure] = {
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    "margin": {"l": 48, "r": 12, "t": 32, "b": 40},
}


def label(name: object) -> str:
    """A name as a chart shows it. Plotly reads some markup in texts; a name has none."""
    text = html.escape(shorten(name, limits.WEB_CHART_LABEL_CHARS), quote=False)
    return f"&#36;{text[1:]}" if text.startswith("$") else text  # it names no colour


def names_axis(names: Sequence[object]) -> dict[str, Any]:
    """An axis of names, cut to what leaves room for the chart. Their places are numbers: two may
    look alike once they are cut, or look like dates.
    """
    shown = [label(shorten(name, 22)) for name in names]
    return {
        "type": "linear",
        "tickvals": list(range(len(shown))),
        "ticktext": shown,
        "zeroline": False,
    }


def days_axis(days: Sequence[date]) -> dict[str, Any]:
    """An axis of days. Of few days it has a beginning and an end: plotly would cut a single one into
    milliseconds.
    """
    if not days or (max(days) - min(days)).days >= 6:
        return {"type": "date"}
    ends = [min(days) - timedelta(days=1), max(days) + timedelta(days=1)]
    around = [day.isoformat() for day in ends]
    return {"type": "date", "range": around, "dtick": DAY_MS, "tickformat": "%b %-d\n%Y"}


def newest(points: Sequence[Any]) -> list[Any]:
    """No more points than a chart may have: the newest."""
    return list(points)[-limits.WEB_CHART_POINTS_MAX :]


def figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    return {"data": data, "layout": layout}


def bars(
    x: Sequence[Any], y: Sequence[float], name: str, colour: str = ACCENT, **more: Any
) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": newest(x),
        "y": newest(y),
        "name": label(name),
        "marker": {"color": colour},
        **more,
    }


def line(
    x: Sequence[Any], y: Sequence[float | None], name: str, colour: str = ACCENT, **more: Any
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": newest(x),
        "y": newest(y),
        "name": label(name),
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": 5},
        **more,
    }


def band(
    x: Sequence[Any], intervals: Sequence[tuple[float, float]], name: str, colour: str
) -> list[dict[str, Any]]:
    """An interval around a line: goes before the line that it belongs to."""
    edge = {
        "type": "scatter",
        "mode": "lines",
        "x": newest(x),
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    filled = {"fill": "tonexty", "fillcolor": f"{colour}/0.18", "name": label(name)}
    low, high = (newest([each[side] for each in intervals]) for side in (0, 1))
    return [{**edge, "y": low}, {**edge, "y": high, **filled}]


def heat(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Any]],
    told: Callable[[Any], tuple[float, str, str, str]],
) -> Figure:
    """Shares as colours from bad to good. `told` has a cell's share, the number in it, where it
    leads to, and what is said of it; a cell that is None is empty.
    """
    found = [
        [told(cell) if cell else (None, "", "", "never tried") for cell in row] for row in cells
    ]
    shares, numbers, links, words = (
        [[each[part] for each in row] for row in found] for part in range(4)
    )
    drawn = {
        "type": "heatmap",
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "z": shares,
        "text": numbers,
        "customdata": links,
        "hovertext": words,
        "hoverinfo": "text",
        "texttemplate": "%{text}",
        "zmin": 0,
        "zmax": 1,
        "xgap": 2,
        "ygap": 2,
        "textfont": {"color": "$ink"},
        # Pale enough for the numbers in it, in either theme.
        "colorscale": [[0, f"{BAD}/0.45"], [0.5, "$plain-ground"], [1, f"{GOOD}/0.45"]],
        "colorbar": {"tickformat": ".0%", "thickness": 12, "outlinewidth": 0},
    }
    return figure(
        [drawn],
        xaxis={**names_axis(columns), "showgrid": False, "side": "bottom", "tickangle": -30},
        yaxis={**names_axis(rows), "showgrid": False, "autorange": "reversed"},
    )


# --- files that browsers keep ---

HERE: Final = Path(__file__).parent
STATIC: Final = "/ui/static"
PLOTLY: Final = "plotly.min.js"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_IN_SCRIPT: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


class Asset(NamedTuple):
    content: bytes
    packed: bytes
    media_type: str
    version: str


@cache
def asset(name: str) -> Asset:
    """A file that browsers keep; its version is part of its address. Raises FileNotFoundError."""
    # of the package that is installed, which is not imported: that takes a second
    plotly = find_spec("plotly") if name == PLOTLY else None
    package = plotly and plotly.origin
    folder = Path(package).parent / "package_data" if package else HERE / "static"
    path = folder / name
    if Path(name).name != name or path.suffix not in _TYPES or not path.is_file():
        raise FileNotFoundError(name)
    content = path.read_bytes()
    tag = version("plotly") if name == PLOTLY else blake2b(content, digest_size=8).hexdigest()
    return Asset(content, gzip.compress(content, 6, mtime=0), _TYPES[path.suffix], tag)


def asset_url(name: str) -> str:
    return f"{STATIC}/{asset(name).version}/{name}"


# --- what templates call ---


def visible(text: Any) -> str:
    """A text with nothing in it that acts on what is around it. Line breaks and tabs stay."""
    given = str(text)
    if given.isprintable():
        return given
    return "".join(
        char
        if char.isprintable() or char in "\n\t"
        else char.encode("unicode_escape").decode("ascii")
        for char in given
    )


def shorten(text: Any, most: int = 160) -> str:
    """The beginning of a text, on one line."""
    line = visible(" ".join(str(text)[: 8 * most].split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def number(value: float | None, digits: int = 1) -> str:
    """1,234 or 0.5; a dash for nothing."""
    if value is None:
        return "\u2013"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def percent(p: float | None, interval: tuple[float, float] | None = None) -> str:
    """62 %, or 62 % (48 to 75 %) with the interval in which it lies."""
    if p is None:
        return "\u2013"
    around = f" ({100 * interval[0]:.0f}\u2013{100 * interval[1]:.0f} %)" if interval else ""
    return f"{100 * p:.0f} %{around}"


def ago(at: datetime, now: datetime | None = None) -> str:
    """5 min ago, just now, in 2 h, or a date where that is long ago."""
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    if abs(seconds) >= 30 * 86_400:
        return at.astimezone(UTC).strftime("%Y-%m-%d")
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if count := int(abs(seconds) // size):
            return f"{count} {unit} ago" if seconds >= 0 else f"in {count} {unit}"
    return "just now"


def time(at: datetime | date | None) -> Markup | str:
    """A time as people say it; its title and machine-readable value are exact."""
    if at is None:
        return "\u2013"
    if not isinstance(at, datetime):
        return Markup('<time datetime="{0}">{0}</time>').format(at.isoformat())
    exact = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(exact, ago(at))


_BADGES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("success", "verified", "published", "active", "fresh", "helped", "good"), "good"
    ),
    **dict.fromkeys(("failure", "failing", "contradicted", "bad"), "bad"),
    **dict.fromkeys(("hypothesis", "candidate", "stale", "maybe_stale", "superseded"), "warn"),
    **dict.fromkeys(("learning", "interaction"), "info"),
}


def badge(word: Any, title: str = "") -> Markup:
    """A status, an outcome or a staleness as a small label; its colour says nothing that its word
    does not.
    """
    text = visible(word)
    # words of our own are shorter, and stay on one line
    look = _BADGES.get(text, "plain" if len(text) <= 30 else "plain long")
    return Markup('<span class="badge {}" title="{}">{}</span>').format(
        look, visible(title), text.replace("_", " ")
    )


def json_script(value: Any) -> Markup:
    """JSON for a script element: nothing in it ends the element, or a line."""
    text = json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_IN_SCRIPT))  # noqa: S704  # nosec B704  # what could end the element was written out


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        # Every text that a template writes is made visible, also where its author did not think of it.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    made.filters.update(
        shorten=shorten,
        number=number,
        percent=percent,
        time=time,
        json_script=json_script,
        headline=headline,
        outcome=outcome_of,
    )
    made.globals.update(asset_url=asset_url, badge=badge, chart_prefix="", frame="base.html")
    return made
