"""The dashboard's addresses: who may see a page, what a form may change, and what is shown where
something goes wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hardwon import limits
from hardwon.errors import HardwonError, NotAdmittedError
from hardwon.surfaces.gate import Gate, check_access
from hardwon.surfaces.rest.guard import (
    BODY,
    FOREIGN_ORIGIN,
    NOT_FOUND,
    OPERATION,
    WRONG_MEDIA_TYPE,
    WRONG_METHOD,
    RefusedError,
    ServerOptions,
    Workers,
    answer_to,
    pairs_of,
)
from hardwon.surfaces.web import learning, overview, records, review
from hardwon.surfaces.web.look import STATIC, asset, environment
from hardwon.surfaces.web.pages import (
    RANGES,
    ROOT,
    Ask,
    Download,
    Form,
    PageRequest,
    Sessions,
    SignIn,
    WebPage,
)
from hardwon.trust.access import Caller


class NavItem(NamedTuple):
    """A page's name in its address, its title, the function that makes it, and whether the
    navigation lists it. To see one takes the scope read. `act`: what a form of it does.
    """

    name: str
    title: str
    view: Callable[[Ask, PageRequest], WebPage | Download]
    act: Callable[[Ask, PageRequest, Form], str] | None = None
    listed: bool = True


# Every page, in the order of the navigation.
PLACES: Final = (
    NavItem("overview", "Overview", overview.view_overview),
    NavItem("map", "Map", overview.view_map),
    NavItem("search", "Search", records.view_search),
    NavItem("fixes", "Fixes", learning.view_fixes),
    NavItem("episodes", "Episodes", learning.view_episodes),
    NavItem("trajectories", "Trajectories", learning.view_trajectories),
    NavItem("review", "Review", review.view_review, review.decide),
    NavItem("lab", "Context lab", overview.view_lab),
    NavItem("record", "Record", records.view_record, listed=False),
)
SIGN_IN: Final = f"{ROOT}/sign-in"
COOKIE: Final = "hardwon_session"
# A request with this header only brings a page up to date: messages wait for the next whole page.
LIVE: Final = "x-hardwon-live"
_FORM: Final = "application/x-www-form-urlencoded"
_LOCAL: Final = re.compile(r"/ui/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*")
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' "
    "'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # With no-referrer a browser would send its forms from the origin `null`, and the guard could
    # not tell them from others'.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_FOREVER: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Vary": "Accept-Encoding",
}
Answer = Callable[[HttpRequest, bytes], Response]


class _Visit(NamedTuple):
    """Somebody who is signed in asks for something."""

    session: SignIn
    caller: Caller


class Site:
    """The dashboard of one server."""

    def __init__(self, gate: Gate, settings: ServerOptions, workers: Workers) -> None:
        self._gate = gate
        self._settings = settings
        self._workers = workers
        self._sessions = Sessions()
        # Browsers send cookies to every port of a machine: without the port in its name, two
        # servers there would end each other's sessions.
        self._cookie = f"{'__Secure-' if settings.tls else ''}{COOKIE}_{settings.port}"
        self._places = {place.name: place for place in PLACES}

    def routes(self) -> list[Route]:
        found: list[tuple[str, str, list[str], Answer]] = [
            ("/", "web.root", ["GET"], self._root),
            (ROOT, "web.root", ["GET"], self._root),
            (f"{ROOT}/", "web.home", ["GET"], self._home),
            (SIGN_IN, "web.sign_in", ["GET", "POST"], self._sign_in),
            (f"{ROOT}/sign-out", "web.sign_out", ["POST"], self._sign_out),
            (f"{STATIC}/{{version}}/{{name}}", "web.static", ["GET"], self._static),
            (f"{ROOT}/{{project}}/changes", "web.changes", ["GET"], self._changes),
            (f"{ROOT}/{{project}}", "web.home", ["GET"], self._home),
            (f"{ROOT}/{{project}}/{{page}}", "web.page", ["GET", "POST"], self._page),
            (f"{ROOT}/{{project}}/{{page}}/{{item}}", "web.page", ["GET", "POST"], self._page),
            (f"{ROOT}/{{rest:path}}", "web.unknown", ["GET", "POST"], self._unknown),
        ]
        return [
            Route(path, self._endpoint(name, answer), methods=methods, name=name)
            for path, name, methods, answer in found
        ]

    def _endpoint(self, name: str, answer: Answer) -> Callable[[HttpRequest], Awaitable[Response]]:
        async def endpoint(http: HttpRequest) -> Response:
            http.scope[OPERATION] = name
            body = b""
            if http.method == "POST":
                http.scope[BODY].allow(limits.WEB_FORM_BYTES_MAX)
                body = await http.body()
            return await self._workers.run(self._respond, answer, http, body)

        return endpoint

    def _respond(self, answer: Answer, http: HttpRequest, body: bytes) -> Response:
        """Every answer of the site passes here: whatever goes wrong becomes a page that people can
        read.
        """
        try:
            response = answer(http, body)
        except NotAdmittedError:
            response = _ask_to_sign_in(http)
        except Exception as error:  # noqa: BLE001  # the edge: the log has what happened, the reader a page
            plain = answer_to(error)
            problem = json.loads(bytes(plain.body))
            page = WebPage(
                "problem.html", {"problem": problem}, problem["title"], plain.status_code
            )
            visit = None
            # Who asks too often gets a page without a frame, which would ask again.
            with suppress(HardwonError):
                visit = self._visit(http)
            response = self._render(page, visit, None)
            for name in ("retry-after", "allow"):
                if name in plain.headers:
                    response.headers[name] = plain.headers[name]
        begun: SignIn | None = getattr(http.state, "begun", None)
        return self._set_cookie(response, begun) if begun else response

    # --- who asks ---

    def _visit(self, http: HttpRequest) -> _Visit | None:
        """None where nobody is signed in. Where no token is asked for, a session begins by itself;
        `http.state.begun` is then the one that the browser does not know yet.
        """
        session = self._sessions.find(http.cookies.get(self._cookie, ""))
        if session is None and not self._gate.asks_for_tokens:
            session = http.state.begun = self._sessions.begin(None)
        if session is None:
            return None
        try:
            return _Visit(session, self._gate.admit(session.secret))
        except NotAdmittedError:
            self._sessions.end(session.name)
            return None

    def _require_visit(self, http: HttpRequest) -> _Visit:
        visit = self._visit(http)
        if visit is None:
            raise NotAdmittedError("nobody is signed in")
        return visit

    def _set_cookie(self, response: Response, session: SignIn | None) -> Response:
        value, age = (session.name, None) if session else ("", 0)
        # Not "strict": a link from a chat or a mail would lead everybody to the sign-in. Whatever
        # changes something is a form, which needs more than the cookie.
        response.set_cookie(
            self._cookie,
            value,
            max_age=age,
            path=ROOT,
            secure=self._settings.tls,
            httponly=True,
            samesite="lax",
        )
        return response

    def _sign_in(self, http: HttpRequest, body: bytes) -> Response:
        if not self._gate.asks_for_tokens:
            return _redirect(f"{ROOT}/")
        status = 200
        if http.method == "POST":
            form = _read_form(http, body)
            wanted, secret = form.get("next", ""), form.get("token", "").strip()
            try:
                self._gate.admit(secret)
            except NotAdmittedError:
                status = 403
            else:
                self._sessions.end(http.cookies.get(self._cookie, ""))
                return self._set_cookie(_redirect(_local(wanted)), self._sessions.begin(secret))
        else:
            wanted = _read_query(http).get("next", "")
        context = {"next": _local(wanted), "refused": status != 200}
        return self._render(WebPage("sign_in.html", context, "Sign in", status), None, None)

    def _sign_out(self, http: HttpRequest, body: bytes) -> Response:
        visit, _ = self._read_post(http, body)
        self._sessions.end(visit.session.name)
        return self._set_cookie(_redirect(SIGN_IN), None)

    def _read_post(self, http: HttpRequest, body: bytes) -> tuple[_Visit, Form]:
        visit = self._require_visit(http)
        form = _read_form(http, body)
        if not visit.session.vouches_for(form.get("csrf", "")):
            raise RefusedError(
                FOREIGN_ORIGIN,
                "the form is not from this session: go back, load the page again, and try again",
            )
        return visit, form

    # --- what is asked for ---

    def _root(self, _: HttpRequest, __: bytes) -> Response:
        return _redirect(f"{ROOT}/")

    def _home(self, http: HttpRequest, _: bytes) -> Response:
        visit = self._require_visit(http)
        named = http.path_params.get("project")
        project = self._first(self._projects(visit.caller)) if named is None else unquote(named)
        return _redirect(f"{ROOT}/{quote(project, safe='')}/{PLACES[0].name}")

    def _projects(self, caller: Caller) -> list[str]:
        found = self._gate.projects(caller, self._settings.default_project)
        return found or list(caller.projects or ())

    def _first(self, projects: list[str]) -> str:
        usual = self._settings.default_project
        return usual if usual in projects or not projects else projects[0]

    def _changes(self, http: HttpRequest, _: bytes) -> Response:
        visit = self._require_visit(http)
        ask = Ask(self._gate, visit.caller, unquote(http.path_params["project"]))
        return Response(
            json.dumps({"mark": ask("care.change_mark")}), media_type="application/json"
        )

    def _page(self, http: HttpRequest, body: bytes) -> Response:
        posts = http.method == "POST"
        visit, form = self._read_post(http, body) if posts else (self._require_visit(http), None)
        address = {name: unquote(value) for name, value in http.path_params.items()}
        project, place = address["project"], self._places.get(address["page"])
        if place is None:
            raise RefusedError(NOT_FOUND, f"there is no page {address['page']!r}")
        http.scope[OPERATION] = f"web.{place.name}"
        check_access(visit.caller, "read", project)
        ask = Ask(self._gate, visit.caller, project)
        item, query = address.get("item", ""), _read_query(http)
        request = PageRequest(project, place.name, item, query, visit.session)
        if form is not None:
            if place.act is None:
                raise RefusedError(WRONG_METHOD, "nothing is changed there", {"Allow": "GET"})
            return _redirect(_local(place.act(ask, request, form)))
        shown = place.view(ask, request)
        if isinstance(shown, Download):
            headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{shown.name}"'}
            return Response(shown.content, headers=headers, media_type=shown.media_type)
        fresh = LIVE not in http.headers
        return self._render(shown, visit, request, mark=ask("care.change_mark"), flashes=fresh)

    def _unknown(self, http: HttpRequest, _: bytes) -> Response:
        self._require_visit(http)
        raise RefusedError(NOT_FOUND, "there is no such page")

    def _static(self, http: HttpRequest, _: bytes) -> Response:
        found = asset(http.path_params["name"])
        if found is None or found.version != http.path_params["version"]:
            raise RefusedError(NOT_FOUND, "there is no such file")
        packs = "gzip" in http.headers.get("accept-encoding", "")
        headers = {**_FOREVER, **({"Content-Encoding": "gzip"} if packs else {})}
        return Response(
            found.packed if packs else found.content, headers=headers, media_type=found.media_type
        )

    def _render(
        self,
        page: WebPage,
        visit: _Visit | None,
        request: PageRequest | None,
        *,
        mark: str = "",
        flashes: bool = False,
    ) -> Response:
        """A page that is of no project (`request` is None) gets one that the reader reaches."""
        projects: list[str] = []
        if visit:
            # Where even this fails, the page that says so has no choice of projects.
            with suppress(HardwonError):
                projects = self._projects(visit.caller)
            request = request or PageRequest(self._first(projects), "", "", {}, visit.session)
        frame: dict[str, Any] = {
            "title": page.title,
            "signed_in": visit is not None,
            "asks_for_tokens": self._gate.asks_for_tokens,
            "caller": visit.caller if visit else None,
            "csrf": visit.session.csrf if visit else "",
            "flashes": visit.session.take_flashes() if visit and flashes else [],
            "places": [place for place in PLACES if place.listed],
            "projects": sorted({*projects, request.project}) if request else [],
            "ranges": list(RANGES),
            "request": request,
            "mark": mark,
            "poll_s": limits.WEB_POLL_S,
            "root": ROOT,
        }
        text = environment().get_template(page.template).render({**frame, **page.context})
        return Response(text, page.status, _HEADERS, "text/html")


def _redirect(address: str) -> Response:
    return RedirectResponse(address, 303, _HEADERS)


def _local(address: str) -> str:
    """The address, if it is one of ours; otherwise the first page."""
    return address if _LOCAL.fullmatch(address) and not address.startswith(SIGN_IN) else f"{ROOT}/"


def _ask_to_sign_in(http: HttpRequest) -> Response:
    if http.scope[OPERATION] == "web.changes":
        return Response(b'{"signed_in":false}', 401, media_type="application/json")
    path = (http.scope.get("raw_path") or b"").decode("latin-1").partition("?")[0]
    query = http.scope["query_string"].decode("latin-1")
    asked = f"{path}?{query}" if query else path
    comes_back = http.method == "GET" and asked != f"{ROOT}/"
    return _redirect(f"{SIGN_IN}?next={quote(asked, safe='')}" if comes_back else SIGN_IN)


def _read_query(http: HttpRequest) -> dict[str, str]:
    return dict(pairs_of(http.scope["query_string"], limits.QUERY_FIELDS_MAX, "query"))


def _read_form(http: HttpRequest, body: bytes) -> Form:
    """A form that a page of ours sent; the guard has seen that its origin, if it has one, is
    known.
    """
    if http.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise RefusedError(WRONG_MEDIA_TYPE, f"send Content-Type: {_FORM}")
    origin = urlsplit(http.headers.get("origin", "")).netloc.lower()
    if (
        origin != http.headers["host"].lower()
        or http.headers.get("sec-fetch-site", "same-origin") != "same-origin"
    ):
        raise RefusedError(FOREIGN_ORIGIN, "only this server's own pages send its forms")
    return Form(pairs_of(body, limits.WEB_FORM_FIELDS_MAX, "form"))
