"""Who may do what over HTTP: every operation, by scope and project, as it is declared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from hardwon.surfaces.arguments import EXAMPLE_ID
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.rest.app import ApiRoute
from hardwon.trust.access import SCOPES, Scope, includes
from serving import PROJECT, Served, served
from test_rest import NDJSON, example_of

REACHES = {
    "own": [PROJECT], "all": None, "other": ["elsewhere"], "own and other": ["elsewhere", PROJECT],
}  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("authorisation")) as found:
        yield found


@pytest.fixture(scope="module")
def clients(running: Served) -> dict[tuple[Scope, str], httpx.Client]:
    both = product(SCOPES, REACHES)
    return {(scope, reach): running.client(scope, REACHES[reach]) for scope, reach in both}


@pytest.fixture(scope="module")
def strangers(running: Served) -> list[httpx.Client]:
    wrong = ("", "Bearer", "Bearer x", "Basic dXNlcjpwYXNz", "Bearer hwt_000000000000_" + "a" * 43)
    return [running.client(None), *(running.client(None, Authorization=how) for how in wrong)]


def asked(client: httpx.Client, operation: Operation) -> httpx.Response:
    request = example_of(operation)
    if operation.streams == "in":
        request |= {"content": request.pop("json"), "headers": NDJSON}
    return client.request(**request)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda each: each.name)
def test_every_operation_is_allowed_or_not_as_declared(operation: Operation, clients: Any) -> None:
    for (scope, reach), client in clients.items():
        answer = asked(client, operation)
        reached = reach == "all" if operation.whole else reach != "other"
        allowed = includes(scope, operation.scope) and reached
        # what an example speaks of may not be there; whoever is not refused gets as far as that
        if allowed:
            assert answer.status_code in (200, 404, 422), (scope, reach, answer.text)
        else:
            assert answer.status_code == 403, (scope, reach, answer.text)
            assert answer.json()["type"] == "urn:hardwon:problem:forbidden"
        assert allowed == (answer.status_code != 403)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda each: each.name)
def test_who_has_no_token_is_refused(operation: Operation, strangers: list[httpx.Client]) -> None:
    for client in strangers:
        answer = asked(client, operation)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "hardwon tokens create" in answer.json()["detail"]


def test_who_was_refused_changed_nothing(running: Served) -> None:
    before = running.memory.stats().records
    reader, other = running.client("read"), running.client("admin", ["elsewhere"])
    for operation in OPERATIONS.values():
        if not operation.reads:
            assert asked(reader, operation).status_code == 403
            assert asked(other, operation).status_code == 403
    assert running.memory.stats().records == before


def test_liveness_is_the_only_route_that_takes_no_token(running: Served) -> None:
    nobody = running.client(None)
    open_to_all = []
    routes = [route for route in running.app.routes if isinstance(route, ApiRoute)]
    for route in routes:
        ids = dict.fromkeys(("record_id", "old_id", "decision_id"), EXAMPLE_ID)
        address = route.path_format.format(project=PROJECT, lesson_id="k3f9ab", **ids)
        for method in route.methods or ():
            answer = nobody.request(method, address)
            assert answer.status_code in (200, 401)
            if answer.status_code == 200:
                open_to_all.append((method, address))
    assert open_to_all == [("GET", "/healthz")]
    others = {getattr(route, "path", "") for route in running.app.routes}
    others -= {route.path for route in routes}
    assert {path for path in others if path != "/" and not path.startswith("/ui")} <= {"/mcp"}
    hidden = "/docs /redoc /openapi.json /mcp /mcp/ /healthz/ //healthz /healthz%2F"
    for path in hidden.split():
        assert nobody.get(running.url + path).status_code == 401, path


def test_of_the_dashboard_only_signing_in_and_its_files_take_no_session(running: Served) -> None:
    nobody = running.client(None)
    routes = [route for route in running.app.routes if isinstance(route, Route)]
    parts = {"page": "overview", "item": "x", "rest": "a/b/c/d", "version": "x", "name": "app.css"}
    shown = []
    for route in (route for route in routes if route.path.startswith("/ui")):
        address = route.path_format.format(project=PROJECT, **parts)
        for method in (route.methods or set()) - {"HEAD"}:
            answer = nobody.request(method, address)
            if answer.status_code == 200:
                shown.append((method, address))
            assert PROJECT not in answer.text
            assert answer.status_code in (200, 303, 401, 403, 404, 415), (method, address)
            if answer.status_code == 303:
                assert answer.headers["location"].startswith("/ui/")
    assert shown == [("GET", "/ui/sign-in")]
    # a token is for programs; browsers sign in
    assert running.client("admin").get(f"/ui/{PROJECT}/overview").status_code == 303
