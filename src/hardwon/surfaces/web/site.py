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
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from hardwon.errors import HardwonError, NotAdmittedError
from hardwon.surfaces.gate import Ask, check_access
from hardwon.surfaces.rest.guard import OPERATION, Service
from hardwon.surfaces.rest.problems import RefusedError, answer_to, parse_pairs
from hardwon.surfaces.web import learning, overview, pages, records
from hardwon.trust.access import Caller

# Fields of one form: as many ids as a page has records, and some besides.
WEB_FORM_FIELDS_MAX: Final = 1_100

# How often a page that is looked at asks whether anything changed.
WEB_POLL_S: Final = 4


class NavItem(NamedTuple):
    """A page's name in its address, its title, the function that makes it, and whether the
    navigation lists it. To see one takes the scope read. `act`: what a form of it does.
    """

    name: str
    title: str
    view: Callable[[Ask, pages.PageRequest], pages.WebPage | Response]
    act: Callable[[Ask, pages.PageRequest, pages.Form], str] | None = None
    listed: bool = True


# Every page, in the order of the navigation.
PLACES: Final = (
    NavItem("overview", "Overview", overview.view_overview),
    NavItem("progress", "Progress", learning.view_progress),
    NavItem("lessons", "Lessons", learning.view_lessons, learning.judge_lesson),
    NavItem("fixes", "Fixes", learning.view_fixes),
    NavItem("lab", "Context lab", overview.view_lab),
    NavItem("search", "Search", records.view_search),
    NavItem("record", "Record", records.view_record, listed=False),
)
SIGN_IN: Final = f"{pages.ROOT}/sign-in"
COOKIE: Final = "hardwon_session"
_FORM: Final = "application/x-www-form-urlencoded"
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' "
    "'unsafe-inline'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # With no-referrer a browser would send its forms from the origin `null`, and the guard could
    # not tell them from others'.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
Answer = Callable[[HttpRequest, bytes], Response]
Visit = tuple[pages.SignIn, Caller]


class Site:
    """The dashboard of one server."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._gate = service.gate
        self._settings = service.settings
        self._sessions = pages.Sessions()
        # Browsers send cookies to every port of a machine: without the port in its name, two
        # servers there would end each other's sessions.
        self._cookie = (
            f"{'__Secure-' if service.settings.tls else ''}{COOKIE}_{service.settings.port}"
        )

    def routes(self) -> list[Route]:
        """Every address of the dashboard."""
        both = ["GET", "POST"]
        places: list[tuple[str, str, list[str], Answer]] = [
            ("/", "web.root", ["GET"], lambda *_: _redirect(f"{pages.ROOT}/")),
            (pages.ROOT, "web.root", ["GET"], lambda *_: _redirect(f"{pages.ROOT}/")),
            (f"{pages.ROOT}/", "web.home", ["GET"], self._home),
            (SIGN_IN, "web.sign_in", both, self._sign_in),
            (f"{pages.ROOT}/sign-out", "web.sign_out", ["POST"], self._sign_out),
            (f"{pages.STATIC}/{{version}}/{{name}}", "web.static", ["GET"], self._static),
            (f"{pages.ROOT}/{{project}}/changes", "web.changes", ["GET"], self._changes),
            (f"{pages.ROOT}/{{project}}", "web.home", ["GET"], self._home),
            (f"{pages.ROOT}/{{project}}/{{page}}", "web.page", both, self._page),
            (f"{pages.ROOT}/{{project}}/{{page}}/{{item}}", "web.page", both, self._page),
            (f"{pages.ROOT}/{{rest:path}}", "web.unknown", both, self._page),
        ]
        return [
            Route(path, self._endpoint(name, answer), methods=methods, name=name)
            for path, name, methods, answer in places
        ]

    def _endpoint(self, name: str, answer: Answer) -> Callable[[HttpRequest], Awaitable[Response]]:
        async def endpoint(http: HttpRequest) -> Response:
            """The page, or what went wrong as one."""
            http.scope[OPERATION] = name
            body = await http.body() if http.method == "POST" else b""
            return await self._service.run(self._respond, answer, http, body)

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
            page = pages.WebPage(
                "problem.html", problem["title"], {"problem": problem}, plain.status_code
            )
            # Who asks too often gets a page without a frame, which would ask again.
            response = self._render(page, getattr(http.state, "visit", None), None)
            kept = {"retry-after", "allow"}.intersection(plain.headers)
            response.headers.update({name: plain.headers[name] for name in kept})
        begun: pages.SignIn | None = getattr(http.state, "begun", None)
        return self._set_cookie(response, begun) if begun else response

    def _visit(self, http: HttpRequest) -> Visit:
        """Who is signed in, and what they may. Where no token is asked for, a session begins by
        itself; `http.state.begun` is then the one that the browser does not know yet.
        """
        session = self._sessions.find(http.cookies.get(self._cookie, ""))
        if session is None and not self._gate.asks_for_tokens:
            session = http.state.begun = self._sessions.begin(None)
        if session is None:
            raise NotAdmittedError("nobody is signed in")
        try:
            caller = self._gate.admit(session.secret)
        except NotAdmittedError:
            self._sessions.end(session.name)
            raise
        http.state.visit = session, caller
        return session, caller

    def _set_cookie(self, response: Response, session: pages.SignIn | None) -> Response:
        value, age = (session.name, None) if session else ("", 0)
        # Not "strict": a link from a chat or a mail would lead everybody to the sign-in. Whatever
        # changes something is a form, which needs more than the cookie.
        response.set_cookie(
            self._cookie,
            value,
            max_age=age,
            path=pages.ROOT,
            secure=self._settings.tls,
            httponly=True,
            samesite="lax",
        )
        return response

    def _sign_in(self, http: HttpRequest, body: bytes) -> Response:
        if not self._gate.asks_for_tokens:
            return _redirect(f"{pages.ROOT}/")
        posts = http.method == "POST"
        fields = _read_form(http, body) if posts else _read_query(http)
        wanted = _local(fields.get("next", ""))
        if posts:
            secret = fields.get("token", "").strip()
            with suppress(NotAdmittedError):
                self._gate.admit(secret)
                self._sessions.end(http.cookies.get(self._cookie, ""))
                return self._set_cookie(_redirect(wanted), self._sessions.begin(secret))
        context = {"next": wanted, "refused": posts}
        page = pages.WebPage("sign_in.html", "Sign in", context, 403 if posts else 200)
        return self._render(page, None, None)

    def _sign_out(self, http: HttpRequest, body: bytes) -> Response:
        session, _ = self._visit(http)
        _read_form(http, body, session)
        self._sessions.end(session.name)
        return self._set_cookie(_redirect(SIGN_IN), None)

    def _home(self, http: HttpRequest, _: bytes) -> Response:
        caller = self._visit(http)[1]
        named = http.path_params.get("project")
        project = self._first(self._projects(caller)) if named is None else unquote(named)
        return _redirect(f"{pages.ROOT}/{quote(project, safe='')}/{PLACES[0].name}")

    def _projects(self, caller: Caller) -> list[str]:
        reached = self._gate.projects(caller, self._settings.default_project)
        return reached or list(caller.projects or ())

    def _first(self, projects: list[str]) -> str:
        usual = self._settings.default_project
        return usual if usual in projects or not projects else projects[0]

    def _changes(self, http: HttpRequest, _: bytes) -> Response:
        ask = Ask(self._gate, self._visit(http)[1], unquote(http.path_params["project"]))
        return JSONResponse({"mark": ask("care.change_mark")})

    def _page(self, http: HttpRequest, body: bytes) -> Response:
        visit = session, caller = self._visit(http)
        address = {name: unquote(value) for name, value in http.path_params.items()}
        place = next((place for place in PLACES if place.name == address.get("page")), None)
        form = _read_form(http, body, session) if http.method == "POST" else None
        if place is None:
            raise RefusedError("not-found", "There is no such page.")
        http.scope[OPERATION] = f"web.{place.name}"
        project = address["project"]
        check_access(caller, "read", project)
        ask, query = Ask(self._gate, caller, project), _read_query(http)
        request = pages.PageRequest(project, place.name, address.get("item", ""), query)
        if form is not None:
            if place.act is None:
                raise RefusedError("wrong-method", "nothing is changed there", Allow="GET")
            return _redirect(_local(place.act(ask, request, form)))
        # asked for first: what is written while the page is made changes it again
        mark = ask("care.change_mark")
        shown = place.view(ask, request)
        if isinstance(shown, Response):
            shown.headers.update(_HEADERS)
            return shown
        return self._render(shown, visit, request, mark)

    def _static(self, http: HttpRequest, _: bytes) -> Response:
        name = http.path_params["name"]
        if name not in pages.FILES or http.url.path != pages.asset_url(name):
            raise RefusedError("not-found", "there is no such file")
        kept = {"Cache-Control": "public, max-age=31536000, immutable"}
        return FileResponse(pages.FILES[name], headers=kept)

    def _render(
        self,
        page: pages.WebPage,
        visit: Visit | None,
        request: pages.PageRequest | None,
        mark: str = "",
    ) -> Response:
        """A page that is of no project (`request` is None) gets one that the reader reaches."""
        session, caller = visit or (None, None)
        projects: list[str] = []
        if session and caller:
            # Where even this fails, the page that says so has no choice of projects.
            with suppress(HardwonError):
                projects = self._projects(caller)
            request = request or pages.PageRequest(self._first(projects), "", "", {})
        frame: dict[str, Any] = {
            "title": page.title,
            "signed_in": visit is not None,
            "asks_for_tokens": self._gate.asks_for_tokens,
            "caller": caller,
            "csrf": session.csrf if session else "",
            "places": [place for place in PLACES if place.listed],
            "projects": sorted({*projects, request.project}) if request else [],
            "request": request,
            "mark": mark,
            "poll_s": WEB_POLL_S,
        }
        text = pages.environment().get_template(page.template).render({**frame, **page.context})
        return Response(text, page.status, _HEADERS, "text/html")


def _redirect(address: str) -> Response:
    return RedirectResponse(address, 303, _HEADERS)


def _local(address: str) -> str:
    """The address, if it is one of ours; otherwise the first page."""
    return (
        address
        if re.fullmatch(r"/ui/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*", address)
        and not address.startswith(SIGN_IN)
        else f"{pages.ROOT}/"
    )


def _ask_to_sign_in(http: HttpRequest) -> Response:
    if http.scope[OPERATION] == "web.changes":
        return JSONResponse({"signed_in": False}, 401)
    path = (http.scope.get("raw_path") or b"").decode("latin-1").partition("?")[0]
    query = http.scope["query_string"].decode("latin-1")
    asked = f"{path}?{query}" if query else path
    comes_back = http.method == "GET" and asked != f"{pages.ROOT}/"
    return _redirect(f"{SIGN_IN}?next={quote(asked, safe='')}" if comes_back else SIGN_IN)


def _read_query(http: HttpRequest) -> dict[str, str]:
    return dict(parse_pairs(http.scope["query_string"]))


def _read_form(http: HttpRequest, body: bytes, session: pages.SignIn | None = None) -> pages.Form:
    """A form that a page of ours sent, of this session if there is one; the guard has seen that its
    origin, if it has one, is known.
    """
    if http.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise RefusedError("wrong-media-type", f"send Content-Type: {_FORM}")
    origin = urlsplit(http.headers.get("origin", "")).netloc.lower()
    if (
        origin != http.headers["host"].lower()
        or http.headers.get("sec-fetch-site", "same-origin") != "same-origin"
    ):
        raise RefusedError("foreign-origin", "only this server's own pages send its forms")
    form = pages.Form(parse_pairs(body, WEB_FORM_FIELDS_MAX, "form"))
    if session and not session.vouches_for(form.get("csrf", "")):
        raise RefusedError(
            "foreign-origin",
            "the form is not from this session: go back, load the page again, and try again",
        )
    return form
