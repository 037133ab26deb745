"""The dashboard's addresses: who may see a page, what a form may change, and what is shown where
something goes wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hardwon import limits
from hardwon.errors import HardwonError, NotAdmittedError
from hardwon.surfaces.gate import Gate
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
)
from hardwon.surfaces.web.look import STATIC, asset, environment
from hardwon.surfaces.web.pages import (
    RANGES,
    ROOT,
    Ask,
    Download,
    Form,
    NavItem,
    PageRequest,
    WebPage,
    pairs_of,
    query_of,
)
from hardwon.surfaces.web.sessions import Sessions, SignIn
from hardwon.trust.access import Caller, check_access

PLACES: Final = (
    NavItem("overview", "Overview"),
    NavItem("map", "Map"),
    NavItem("search", "Search"),
    NavItem("fixes", "Fixes"),
    NavItem("episodes", "Episodes"),
    NavItem("trajectories", "Trajectories"),
    NavItem("review", "Review"),
    NavItem("lab", "Context lab"),
    NavItem("record", "Record", listed=False),
)
"""Every page, in the order of the navigation. Each is the function `view` of the module
`<name>_page`.
"""

SIGN_IN: Final = f"{ROOT}/sign-in"
COOKIE: Final = "hardwon_session"
LIVE: Final = "x-hardwon-live"
"""A request with this header only brings a page up to date: what waits to be told is not told yet.
"""

_FORM: Final = "application/x-www-form-urlencoded"
_LOCAL: Final = re.compile(r"/ui/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*")
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' "
    "'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri "
    "'none'; "
    "frame-ancestors 'none'",
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
    """Somebody who is signed in asks for something. `fresh`: the session was made just now."""

    http: HttpRequest
    session: SignIn
    caller: Caller
    fresh: bool = False


class Site:
    """The dashboard of one server."""

    def __init__(self, gate: Gate, settings: ServerOptions, workers: Workers) -> None:
        self._gate = gate
        self._settings = settings
        self._workers = workers
        self._sessions = Sessions()
        self._cookie = cookie_name(settings)
        self._places = {place.name: place for place in PLACES}

    def routes(self) -> list[Route]:
        found: list[tuple[str, str, list[str], Answer]] = [
            ("/", "web.root", ["GET"], self._root),
            (ROOT, "web.root", ["GET"], self._root),
            (f"{ROOT}/", "web.home", ["GET"], partial(self._signed_in, self._home)),
            (SIGN_IN, "web.sign_in", ["GET", "POST"], self._sign_in),
            (f"{ROOT}/sign-out", "web.sign_out", ["POST"], self._sign_out),
            (f"{STATIC}/{{version}}/{{name}}", "web.static", ["GET"], self._static),
            (
                f"{ROOT}/{{project}}/changes",
                "web.changes",
                ["GET"],
                partial(self._signed_in, self._changes),
            ),
            (f"{ROOT}/{{project}}", "web.home", ["GET"], partial(self._signed_in, self._home)),
            (f"{ROOT}/{{project}}/{{page}}", "web.page", ["GET", "POST"], self._page),
            (f"{ROOT}/{{project}}/{{page}}/{{item}}", "web.page", ["GET", "POST"], self._page),
            (f"{ROOT}/{{rest:path}}", "web.unknown", ["GET", "POST"], self._unknown),
        ]
        return [
            Route(path, self._edge(name, answer), methods=methods, name=name)
            for path, name, methods, answer in found
        ]

    def _edge(self, name: str, answer: Answer) -> Callable[[HttpRequest], Awaitable[Response]]:
        """Every answer of the site passes here: whatever goes wrong becomes a page that people can
        read.
        """

        async def answered(http: HttpRequest) -> Response:
            http.scope[OPERATION] = name
            body = b""
            if http.method == "POST":
                http.scope[BODY].allow(limits.WEB_FORM_BYTES_MAX)
                body = await http.body()
            return await self._workers.run(self._answered, answer, http, body)

        return answered

    def _answered(self, answer: Answer, http: HttpRequest, body: bytes) -> Response:
        try:
            return answer(http, body)
        except NotAdmittedError:
            return self._to_sign_in(http)
        except Exception as error:  # noqa: BLE001  # the edge: the log has what happened, the reader a page
            return self._failed(http, error)

    def _failed(self, http: HttpRequest, error: Exception) -> Response:
        plain = answer_to(error)
        told = json.loads(bytes(plain.body))
        page = WebPage("problem.html", {"problem": told}, told["title"], plain.status_code)
        visit = self._visit(http, counted=False)
        headers = {
            name: value for name, value in plain.headers.items() if name in ("retry-after", "allow")
        }
        return self._rendered(page, visit, None, headers)

    # --- who asks ---

    def _visit(self, http: HttpRequest, *, counted: bool = True) -> _Visit | None:
        """None where nobody is signed in. `counted`: as a request, of which a caller may make so
        many.
        """
        session = self._sessions.find(http.cookies.get(self._cookie))
        fresh = session is None and not self._gate.asks_for_tokens
        if fresh:
            session = self._sessions.begin(None)
        if session is None:
            return None
        try:
            caller = self._gate.admit(session.secret)
        except NotAdmittedError:
            self._sessions.end(session.name)
            return None
        except HardwonError:
            if counted:
                raise
            return None
        return _Visit(http, session, caller, fresh)

    def _signed_in(
        self, answer: Callable[[_Visit], Response], http: HttpRequest, _: bytes
    ) -> Response:
        visit = self._admitted(http)
        return self._with_cookie(answer(visit), visit)

    def _admitted(self, http: HttpRequest) -> _Visit:
        visit = self._visit(http)
        if visit is None:
            raise NotAdmittedError("nobody is signed in")
        return visit

    def _to_sign_in(self, http: HttpRequest) -> Response:
        if http.scope[OPERATION] == "web.changes":
            return Response(b'{"signed_in":false}', 401, media_type="application/json")
        asked = _address_of(http)
        wanted = (
            f"?next={quote(asked, safe='')}" if http.method == "GET" and asked != f"{ROOT}/" else ""
        )
        return _redirect(SIGN_IN + wanted)

    def _with_cookie(self, response: Response, visit: _Visit) -> Response:
        if visit.fresh:
            self._set_cookie(response, visit.session)
        return response

    def _set_cookie(self, response: Response, session: SignIn | None) -> None:
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

    def _sign_in(self, http: HttpRequest, body: bytes) -> Response:
        if not self._gate.asks_for_tokens:
            return _redirect(f"{ROOT}/")
        if http.method != "POST":
            return self._sign_in_page(query_of(http.scope["query_string"]).get("next", ""), 200)
        form = self._form_of(http, body)
        secret = form.get("token").strip()
        try:
            self._gate.admit(secret)
        except NotAdmittedError:
            return self._sign_in_page(form.get("next"), 403)
        self._sessions.end(http.cookies.get(self._cookie, ""))
        response = _redirect(_local(form.get("next")))
        self._set_cookie(response, self._sessions.begin(secret))
        return response

    def _sign_in_page(self, wanted: str, status: int) -> Response:
        page = WebPage(
            "sign_in.html", {"next": _local(wanted), "refused": status != 200}, "Sign in", status
        )
        return self._rendered(page, None, None)

    def _sign_out(self, http: HttpRequest, body: bytes) -> Response:
        visit, _ = self._posted(http, body)
        self._sessions.end(visit.session.name)
        response = _redirect(SIGN_IN)
        self._set_cookie(response, None)
        return response

    # --- forms ---

    def _form_of(self, http: HttpRequest, body: bytes) -> Form:
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

    def _posted(self, http: HttpRequest, body: bytes) -> tuple[_Visit, Form]:
        visit = self._admitted(http)
        form = self._form_of(http, body)
        if not visit.session.vouches_for(form.get("csrf")):
            raise RefusedError(
                FOREIGN_ORIGIN,
                "the form is not from this session: go back, load the page again, and try again",
            )
        return visit, form

    # --- what is asked for ---

    def _root(self, _: HttpRequest, __: bytes) -> Response:
        return _redirect(f"{ROOT}/")

    def _home(self, visit: _Visit) -> Response:
        named = visit.http.path_params.get("project")
        project = self._first_project(visit.caller) if named is None else unquote(named)
        return _redirect(f"{ROOT}/{quote(project, safe='')}/{PLACES[0].name}")

    def _first_project(self, caller: Caller) -> str:
        found = self._projects(caller)
        usual = self._settings.default_project
        return usual if usual in found or not found else found[0]

    def _projects(self, caller: Caller) -> list[str]:
        found = self._gate.projects(caller, self._settings.default_project)
        return found or list(caller.projects or ())

    def _changes(self, visit: _Visit) -> Response:
        ask = Ask(self._gate, visit.caller, unquote(visit.http.path_params["project"]))
        return Response(
            json.dumps({"mark": ask("care.change_mark")}), media_type="application/json"
        )

    def _page(self, http: HttpRequest, body: bytes) -> Response:
        visit, form = (
            self._posted(http, body) if http.method == "POST" else (self._admitted(http), None)
        )
        said = {name: unquote(value) for name, value in http.path_params.items()}
        place = self._places.get(said["page"])
        if place is None:
            raise RefusedError(NOT_FOUND, f"there is no page {said['page']!r}")
        http.scope[OPERATION] = f"web.{place.name}"
        check_access(visit.caller, "read", said["project"])
        ask = Ask(self._gate, visit.caller, said["project"])
        query = query_of(http.scope["query_string"])
        request = PageRequest(
            said["project"], place.name, said.get("item", ""), query, visit.session
        )
        module = import_module(_module_of(place.name))
        if form is not None:
            if not hasattr(module, "act"):
                raise RefusedError(WRONG_METHOD, "nothing is changed there", {"Allow": "GET"})
            return self._with_cookie(_redirect(_local(module.act(ask, request, form))), visit)
        shown = module.view(ask, request)
        if isinstance(shown, Download):
            headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{shown.name}"'}
            return self._with_cookie(
                Response(shown.content, headers=headers, media_type=shown.media_type), visit
            )
        return self._rendered(shown, visit, request, mark=ask("care.change_mark"))

    def _unknown(self, http: HttpRequest, _: bytes) -> Response:
        self._admitted(http)
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

    # --- pages ---

    def _rendered(
        self,
        page: WebPage,
        visit: _Visit | None,
        request: PageRequest | None,
        headers: dict[str, str] | None = None,
        mark: str = "",
    ) -> Response:
        project = request.project if request else self._own_project(visit)
        frame: dict[str, Any] = {
            "title": page.title,
            "signed_in": visit is not None,
            "asks_for_tokens": self._gate.asks_for_tokens,
            "caller": visit.caller if visit else None,
            "csrf": visit.session.csrf if visit else "",
            "flashes": visit.session.told()
            if visit and request and LIVE not in visit.http.headers
            else [],
            "places": [place for place in self._places.values() if place.listed],
            "projects": self._reachable(visit, project),
            "ranges": list(RANGES),
            "request": request or (visit and PageRequest(project, "", "", {}, visit.session)),
            "mark": mark,
            "poll_s": limits.WEB_POLL_S,
            "root": ROOT,
        }
        text = environment().get_template(page.template).render({**frame, **page.context})
        response = Response(text, page.status, {**_HEADERS, **(headers or {})}, "text/html")
        return self._with_cookie(response, visit) if visit else response

    def _own_project(self, visit: _Visit | None) -> str:
        """For a page that is of no project; nobody learns from it of one that is not theirs."""
        try:
            return self._first_project(visit.caller) if visit else self._settings.default_project
        except HardwonError:  # as below
            return self._settings.default_project

    def _reachable(self, visit: _Visit | None, project: str) -> list[str]:
        if visit is None:
            return []
        try:
            return sorted({*self._projects(visit.caller), project})
        except (
            HardwonError
        ):  # where even this fails, the page that tells so has no choice of projects
            return [project]


def cookie_name(settings: ServerOptions) -> str:
    """Browsers send cookies to every port of a machine: two servers there would end each other's
    sessions.
    """
    return f"{'__Secure-' if settings.tls else ''}{COOKIE}_{settings.port}"


def _module_of(name: str) -> str:
    return f"hardwon.surfaces.web.{name}_page"


def _redirect(address: str) -> Response:
    return RedirectResponse(address, 303, _HEADERS)


def _local(address: str) -> str:
    """The address, if it is one of ours; otherwise the first page."""
    return address if _LOCAL.fullmatch(address) and not address.startswith(SIGN_IN) else f"{ROOT}/"


def _address_of(http: HttpRequest) -> str:
    path = (http.scope.get("raw_path") or b"").decode("latin-1").partition("?")[0]
    query = http.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path
