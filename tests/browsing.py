"""A real browser at a real server, and records whose every text is hostile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, get_origin

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    ViewportSize,
    expect,
    sync_playwright,
)
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from hardwon import Memory
from hardwon.records.fields import Model
from hardwon.records.kinds import (
    Adopted,
    AnyRecord,
    Decision,
    Episode,
    Experience,
    Fact,
    Fix,
    Trajectory,
)

CHROMIUMS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL: Final = "apt-get install -y chromium"
DESKTOP: Final[ViewportSize] = {"width": 1280, "height": 800}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
HOSTILE: Final = (
    '"><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}<a '
    'href="javascript:alert(3)">x</a>',
    "javascript:alert(4)//{{7*7}}",
)
_AXE: Final[str] = Axe().axe_script
_AXE_RUN: Final = """([where, options]) => axe.run(where === 'document' ? document : where, options)
    .then((told) => told.violations)"""
_PATIENCE_MS: Final = 60_000
expect.set_options(timeout=_PATIENCE_MS)
_WIDER: Final = """() => { const root = document.documentElement; if (root.scrollWidth <= root.clientWidth) { return []; }
    const beyond = (each) => each.getBoundingClientRect().right > root.clientWidth;
    const out = Array.from(document.querySelectorAll('main *, header *')).filter(beyond);
    return ['page'].concat(out.slice(0, 5).map((each) => each.outerHTML.slice(0, 120))); }"""
_REPORT_VIOLATIONS: Final = """document.addEventListener('securitypolicyviolation', (event) => {
    window.reportViolation(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample); });"""


def chromium() -> str:
    """Where a Chromium is; without one the tests fail."""
    named = os.environ.get("HARDWON_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    assert found, f"no Chromium is on the PATH: {INSTALL}, or name one in HARDWON_CHROMIUM"
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu"]
        started = playwright.chromium.launch(executable_path=chromium(), args=options)
        try:
            yield started
        finally:
            started.close()


@dataclass
class Visitor:
    """Somebody at a browser of their own, and everything that their pages complained of."""

    context: BrowserContext
    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def open(self, address: str, status: int = 200) -> Page:
        """Goes there and waits until it is loaded."""
        answer = self.page.goto(self.url + address)
        assert answer is not None
        assert answer.status == status, f"{address}: {answer.status}"
        return self.page

    def expect_no_complaints(self) -> None:
        assert self.complaints == []

    def forget_complaints(self) -> list[str]:
        told, self.complaints[:] = list(self.complaints), []
        return told

    def expect_no_wider_page(self) -> None:
        """A moment after the window has changed."""
        try:
            self.page.wait_for_function(f"() => !({_WIDER})().length", timeout=_PATIENCE_MS)
        except PlaywrightTimeout:
            raise AssertionError(f"wider than the window: {self.page.evaluate(_WIDER)}") from None

    def serious_issues(self, *rules: str, within: Sequence[str] = ()) -> list[str]:
        """What axe-core finds, by these rules or all, with the elements it found it at."""
        chosen = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
        options = {"resultTypes": ["violations"], **chosen}
        where: Any = {"include": [[each] for each in within]} if within else "document"
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_AXE)
        found = self.page.evaluate(_AXE_RUN, [where, options])
        return [
            f"{each['id']} ({each['impact']}): {node['target']} {node['html'][:200]}"
            for each in found
            if each["impact"] in ("serious", "critical") or each["id"] == "heading-order"
            for node in each["nodes"][:4]
        ]


@contextmanager
def visitor(started: Browser, url: str, **options: Any) -> Iterator[Visitor]:
    context = started.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
    context.set_default_timeout(_PATIENCE_MS)
    visiting = Visitor(context, context.new_page(), url)
    told = visiting.complaints.append

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            told(f"console: {message.text}")

    def failed(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # a page that was left
            told(f"failed: {request.url} {request.failure}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            told(f"{response.status}: {response.url}")

    def dialog(shown: Any) -> None:
        told(f"dialog: {shown.message}")
        shown.dismiss()

    context.expose_function("reportViolation", lambda text: told(f"policy: {text}"))
    context.add_init_script(_REPORT_VIOLATIONS)
    context.on("console", console)
    context.on("weberror", lambda error: told(f"error: {error.error}"))
    context.on("requestfailed", failed)
    context.on("response", answered)
    context.on("dialog", dialog)
    try:
        yield visiting
    finally:
        context.close()


def hostile_values(model: type[BaseModel], text: str) -> dict[str, Any]:
    """A value with the text in it for every field that can have one."""
    found = {}
    for name, info in model.model_fields.items():
        value = _hostile_value(info, text) if name != "project_id" else None
        if value is not None:
            found[name] = value
    return found


def _hostile_value(info: FieldInfo, text: str) -> Any:
    inner = _model_in(info.annotation)
    if inner is not None:
        made = hostile_values(inner, text)
        return [made] if get_origin(info.annotation) is list else made
    adapter: TypeAdapter[Any] = TypeAdapter(info.rebuild_annotation())
    for tried in (text, [text], {text: text}):
        try:
            adapter.validate_python(tried)
        except ValidationError:
            continue
        return tried
    return None


def _model_in(annotation: Any) -> type[Model] | None:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    return next(filter(None, map(_model_in, getattr(annotation, "__args__", ()))), None)


def fill_with_hostile_records(memory: Memory) -> list[AnyRecord]:
    """Records of every kind for each hostile text, and rules, cards and decisions of them."""
    kept: list[AnyRecord] = []
    for text in HOSTILE:
        fixed = {"fix_success": True, "verification_success": True}
        failed = {"outcome": "failure", "tool": "code_interpreter", "error_type": "runtime"}
        odd = {"outcome": text, "tool": text, "own_schema": True, text[:64]: text}
        learned = {"outcome": "learning", "tool": None, "insight_type": "correction", "note": text}
        wanted: list[tuple[type[AnyRecord], dict[str, Any]]] = [
            *((Experience, says) for says in (failed, odd, learned)),
            (Fact, {"fact_type": "error"}),
            (Trajectory, {"final_reward": 0.9, "steps": _steps(text)}),
            *((Episode, {"score": score}) for score in (0.9, 0.2)),
            *((Fix, {**fixed, "verification_success": well}) for well in (True, False, False)),
            (Decision, {"action": "rule", "target": "", "replacement": ""}),
            (Adopted, {}),
        ]
        made = [kind.model_validate(hostile_values(kind, text) | says) for kind, says in wanted]
        memory.care.take_in(made, by=text)
        kept += made
    first, second, third, fourth, *_ = kept
    memory.verify(first.id, "human_approval", HOSTILE[0], author=HOSTILE[0])
    memory.archive(second.id, HOSTILE[0], by=HOSTILE[0])
    memory.credit([third.id, fourth.id], True, by=HOSTILE[0])
    return kept


def _steps(text: str) -> list[dict[str, Any]]:
    failed = {"action": text, "observation": f"Error: {text}", "reward": -0.5}
    return [failed, {"action": text, "observation": text, "reward": 1.0}]
