"""All routes with all scopes, at a real server; and where it listens, and to whom it answers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from served import REPOSITORY, Served, serve

from simstore import Store
from simstore.model import SCOPES, Scope
from simstore.server.access.gate import GuardedRoute, scopes_of
from simstore.server.app import create_app

PATIENCE_SECONDS = 60
ANYWHERE = "0.0.0.0"  # noqa: S104 - of a test
# Whoever needs these has no token yet, or never has one; they tell nothing of what is stored.
PUBLIC = {
    "/healthz", "/readyz", "/openapi.json", "/login", "/logout", "/static/{name}", "/favicon.ico"
}  # fmt: skip
ASKERS = (None, "wrong", *SCOPES)


@dataclass(frozen=True)
class Asked:
    """A way to ask: a route with one of its methods."""

    method: str
    path: str
    scope: Scope | None

    @property
    def address(self) -> str:
        return re.sub(r"\{[^}]*\}", "1", self.path)


def routes(given: Iterable[Any]) -> Iterator[Any]:
    """Yield all routes, those of routers that were included too."""
    for route in given:
        inner = getattr(route, "original_router", None)
        if inner is None:
            yield route
        else:
            yield from routes(inner.routes)


def asked() -> list[Asked]:
    found = []
    for route in routes(create_app("none.db").routes):
        scopes = scopes_of(route) if isinstance(route, APIRoute) else [None]
        found += [Asked(method, route.path, scopes[0]) for method in sorted(route.methods)]
    return found


def test_every_route_says_which_scope_it_needs_and_is_guarded_before_its_body_is_read() -> None:
    found = list(routes(create_app("none.db").routes))
    assert len(found) > 15
    for route in found:
        if route.path == "/openapi.json":
            continue
        assert isinstance(route, GuardedRoute), route.path
        scopes = scopes_of(route)
        assert len(scopes) == 1, f"{route.path} names {len(scopes)} scopes"
        assert (scopes[0] is None) == (route.path in PUBLIC), route.path
        if "DELETE" in route.methods or (route.path, route.methods) == ("/v1/documents", {"POST"}):
            assert scopes == ["write"], route.path
    paths = {route.path for route in found}
    assert {"/v1/documents", "/v1/query", "/v1/backup", "/healthz"} <= paths


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    """A server whose store has a token of each scope."""
    path = tmp_path_factory.mktemp("guarded") / "store.db"
    with Store.create(path) as store:
        secrets: dict[str, str] = {scope: store.tokens.add(scope, scope) for scope in SCOPES}
        store.add("1", "The ferry leaves at noon, and the harbour is quiet until it is back.")
    with serve(path) as served:
        yield served, secrets | {"wrong": "sst_" + "x" * 43}


def bearer(secret: str | None) -> dict[str, str]:
    return {} if secret is None else {"Authorization": f"Bearer {secret}"}


@pytest.mark.slow
def test_each_route_is_for_its_scope_and_those_above_it(
    guarded: tuple[Served, dict[str, str]],
) -> None:
    served, secrets = guarded
    with httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask:
        for one in asked():
            assert_scope(ask, secrets, one)


def assert_scope(ask: httpx.Client, secrets: dict[str, str], one: Asked) -> None:
    statuses = set()
    for asker in ASKERS:
        ask.cookies.clear()
        headers = bearer(None if asker is None else secrets[asker])
        reply = ask.request(one.method, one.address, headers=headers)
        statuses.add(reply.status_code)
        told = f"{one} {asker}: {reply.status_code} {reply.text[:200]}"
        assert reply.status_code != 500, told
        if one.scope is None:
            continue
        if asker in SCOPES and SCOPES.index(asker) >= SCOPES.index(one.scope):
            assert reply.status_code not in (401, 403), told
        elif asker in SCOPES:
            assert reply.status_code == 403, told
            assert reply.headers["content-type"] == "application/problem+json"
        else:
            # Many wrong ones from one address are told to wait.
            assert reply.status_code in (401, 429), told
            if reply.status_code == 401:
                assert reply.headers["www-authenticate"] == "Bearer"
    # What is public is the same for everybody.
    assert one.scope is not None or len(statuses) == 1


SPELLINGS = [
        "//v1/documents", "/v1//documents", "/v1/documents/", "/./v1/documents",
        "/healthz/../v1/documents", "/healthz/%2e%2e/v1/documents", "/V1/DOCUMENTS",
        "/v1%2fdocuments", "/v1/documents?x=/healthz", "/v1/documents%00", "/v1/documents;a=b",
        "/static/../v1/documents", "/static/%2e%2e/%2e%2e/store.db", "/static/..%2f..%2fstore.db",
]  # fmt: skip


def test_no_spelling_of_an_address_opens_a_door(guarded: tuple[Served, dict[str, str]]) -> None:
    served, _ = guarded
    with httpx.Client(timeout=PATIENCE_SECONDS) as ask:
        for path in SPELLINGS:
            for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "XYZ"):
                reply = ask.request(method, served.url + path)
                assert reply.status_code >= 300, (method, path)
                assert "ferry" not in reply.text


def test_loopback_without_tokens_is_open_to_this_machine_and_to_no_other_name(
    tmp_path: Path,
) -> None:
    with serve(tmp_path / "store.db") as served:
        document = {"key": "a", "text": "The ferry leaves at noon."}
        ask = f"{served.url}/v1/documents"
        assert httpx.post(ask, json=document).status_code == 200
        rebound = {"Host": f"rebound.example:{served.port}"}
        assert httpx.post(ask, json=document, headers=rebound).status_code == 403
        assert httpx.get(ask, headers=rebound).status_code == 403
        foreign = {"Origin": "https://evil.example", "Content-Type": "text/plain"}
        assert httpx.post(ask, content=b"{}", headers=foreign).status_code == 403
        assert httpx.get(ask, headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 401
        preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        reply = httpx.options(ask, headers=preflight)
        assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--host", ANYWHERE), ("--require-tokens",)], ids=str)
def test_server_does_not_start_where_all_could_come_and_none_has_a_token(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "store.db"
    Store.create(path).close()
    command = [sys.executable, str(REPOSITORY / "cli.py"), "serve", "--db", str(path)]
    done = subprocess.run(
        [*command, "--port", "0", *options],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "simstore token add" in line
    assert done.stdout == ""


def test_token_opens_a_server_that_all_machines_can_reach(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.create(path) as store:
        secret = store.tokens.add("one", "write")
    with serve(path, "--host", ANYWHERE) as served:
        url = f"http://127.0.0.1:{served.port}"
        assert httpx.get(f"{url}/v1/documents").status_code == 401
        assert httpx.get(f"{url}/v1/documents", headers=bearer(secret)).status_code == 200


def test_who_is_behind_a_proxy_that_is_believed_gets_cookies_for_tls_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store.create(path) as store:
        secret = store.tokens.add("one", "read")
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    for options, encrypted in ((("--behind-proxy", "127.0.0.1"), True), ((), False)):
        with serve(path, *options) as served:
            reply = httpx.get(f"{served.url}/v1/documents", headers=forwarded | bearer(secret))
            assert reply.status_code == 200
            assert ("strict-transport-security" in reply.headers) == encrypted
