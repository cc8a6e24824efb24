"""The gate: tokens, sessions, the loopback, other sites, and how often one may ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request, Response

from simstore.errors import SimstoreError, Unavailable
from simstore.model import SCOPES
from simstore.server.access import gate as access
from simstore.server.access.gate import Gate, GuardedRoute, gate_of, requires
from simstore.server.access.security_headers import SecurityHeaders
from simstore.services.access import tokens
from simstore.store import Store

HERE = "http://127.0.0.1:8000"
OPEN_SCOPES = [*SCOPES, None]


def application(store: Store, **settings: Any) -> FastAPI:
    """Return an application with a route for each scope, behind a gate."""
    app = FastAPI(openapi_url=None)
    app.state.gate = Gate(store.tokens.book(), **{"host": "127.0.0.1"} | settings)
    router = APIRouter(route_class=GuardedRoute)

    async def answer(request: Request) -> dict[str, Any]:
        found = getattr(request.state, "principal", None)
        return {"owner": found and found.owner, "by_cookie": found and found.by_cookie}

    for scope in OPEN_SCOPES:
        router.add_api_route(
            f"/{scope}", answer, methods=["GET", "POST"], dependencies=[requires(scope)]
        )

    async def sign_in(request: Request, response: Response) -> None:
        await gate_of(request).sign_in(request, response, request.headers["secret"])

    async def sign_out(request: Request, response: Response) -> None:
        gate_of(request).sign_out(request, response)

    router.add_api_route("/login", sign_in, methods=["POST"], dependencies=[requires(None)])
    router.add_api_route("/logout", sign_out, methods=["POST"], dependencies=[requires(None)])
    app.include_router(router)

    async def refuse(_request: Request, error: Exception) -> Response:
        assert isinstance(error, SimstoreError)
        wait = error.retry_after if isinstance(error, Unavailable) else ""
        return Response(str(error), error.http_status, {"retry-after": str(wait)})

    app.add_exception_handler(SimstoreError, refuse)
    app.add_middleware(SecurityHeaders)
    return app


class Asker:
    """Asks an application, as from an address, and keeps its cookies."""

    def __init__(self, app: FastAPI, base: str = HERE, address: str = "127.0.0.1") -> None:
        self._transport = httpx.ASGITransport(app, client=(address, 5))
        self._base = base
        self.cookies = httpx.Cookies()

    def __call__(self, path: str, method: str = "GET", **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=self._transport, base_url=self._base, cookies=self.cookies
            ) as client:
                answer = await client.request(method, path, **options)
                self.cookies.update(client.cookies)
                return answer

        return asyncio.run(ask())


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(tokens, "FRESH_SECONDS", 0)
    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        yield store


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_wrong_authorization_is_refused(store: Store) -> None:
    secret = store.tokens.add("one", "admin")
    app = application(store)
    for number, given in enumerate(
        (
            "", "Bearer", "Bearer ", secret, f"Basic {secret}", f"Bearer {secret}x",
            f"Bearer {secret[:-1]}", f"Bearer {secret},{secret}",
        )
    ):  # fmt: skip
        ask = Asker(app, address=f"127.0.0.{number + 1}")
        assert ask("/read", headers={"Authorization": given}).status_code == 401, given
    doubled = [("Authorization", f"Bearer {secret}"), ("Authorization", "Bearer other")]
    assert ask("/read", headers=doubled).status_code == 401
    assert ask("/read", headers={"Authorization": f"bearer  {secret} "}).status_code == 200


def test_loopback_is_open_until_the_store_has_had_a_token(store: Store) -> None:
    ask = Asker(application(store))
    for scope in SCOPES:
        assert ask(f"/{scope}").json() == {"owner": "open", "by_cookie": False}
    assert ask("/read", headers=bearer("sst_wrong")).status_code == 401
    secret = store.tokens.add("first", "read")
    assert ask("/read").status_code == 401
    assert ask("/read", headers=bearer(secret)).json()["owner"] == "token:1"
    store.tokens.revoke("first")
    assert ask("/read", headers=bearer(secret)).status_code == 401
    assert ask("/read").status_code == 401


def test_tokens_may_be_required_on_the_loopback_and_are_on_any_other_address(store: Store) -> None:
    for settings in (
        {"require_tokens": True},
        {"host": "0.0.0.0"},  # noqa: S104 - never bound
        {"host": "::"},
        {"host": "192.0.2.7"},
        {"host": "store.example.org"},
    ):
        assert Asker(application(store, **settings))("/read").status_code == 401, settings
    for host in ("127.0.0.1", "127.8.9.1", "localhost", "::1", "[::1]"):
        assert Asker(application(store, host=host))("/read").status_code == 200, host


def test_server_without_tokens_answers_to_no_name_that_is_not_this_machines(store: Store) -> None:
    app = application(store)
    for base in ("http://localhost", "http://LOCALHOST:81", "http://[::1]:8", "http://127.0.0.2"):
        assert Asker(app, base)("/read").status_code == 200, base
    for base in ("http://rebound.example", "http://127.0.0.1.example:8000", "http://192.0.2.7"):
        found = Asker(app, base)("/read")
        assert found.status_code == 403, base
        assert "simstore token add" in found.text
    assert Asker(app)("/read", headers={"Host": ""}).status_code == 403
    secret = store.tokens.add("one")
    assert Asker(app, "http://store.example")("/read", headers=bearer(secret)).status_code == 200


ELSEWHERE = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:9000"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://localhost:8000"},
    {"Origin": "file://"},
    {"Origin": "http://127.0.0.1:x"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": HERE},
]


def test_pages_of_other_sites_may_not_use_an_open_server(store: Store) -> None:
    ask = Asker(application(store))
    for headers in ELSEWHERE:
        found = ask("/write", "POST", headers=headers)
        assert found.status_code == 403, headers
        assert "other sites" in found.text
    assert ask("/write", "POST", headers={"Origin": HERE}).status_code == 200
    assert ask("/write", "POST", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert ask("/write", "POST").status_code == 200
    secret = store.tokens.add("one", "write")
    for headers in ELSEWHERE:
        assert ask("/write", "POST", headers=headers | bearer(secret)).status_code == 200


def test_links_of_other_sites_may_be_followed_and_nothing_else_be_fetched(store: Store) -> None:
    ask = Asker(application(store))
    across = {"Sec-Fetch-Site": "cross-site"}
    assert ask("/read", headers=across | {"Sec-Fetch-Mode": "navigate"}).status_code == 200
    for mode in ("no-cors", "cors", "websocket"):
        assert ask("/read", headers=across | {"Sec-Fetch-Mode": mode}).status_code == 403
    posted = ask("/write", "POST", headers=across | {"Sec-Fetch-Mode": "navigate"})
    assert posted.status_code == 403


def test_session_of_the_page_stands_for_its_token(store: Store) -> None:
    secret = store.tokens.add("reader", "read")
    ask = Asker(application(store))
    own = {"Origin": HERE}
    signed = ask("/login", "POST", headers=own | {"secret": f" {secret}\n"})
    assert signed.status_code == 200
    cookie = signed.headers["set-cookie"]
    assert cookie.startswith("simstore_session=")
    for attribute in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert attribute in cookie
    assert "Secure" not in cookie
    assert secret not in cookie
    found = ask("/read")
    assert found.json() == {"owner": "token:1", "by_cookie": True}
    assert ask("/write", "POST", headers=own).status_code == 403
    assert ask("/read", "POST", headers=own).status_code == 200
    # A request that changes something has to say that it comes from a page of ours.
    assert ask("/read", "POST").status_code == 403
    for headers in ELSEWHERE:
        assert ask("/read", "POST", headers=headers).status_code == 403
    before = dict(ask.cookies)
    assert ask("/logout", "POST").status_code == 403
    assert ask("/logout", "POST", headers=own).status_code == 200
    assert ask("/read").status_code == 401
    ask.cookies.update(before)
    assert ask("/read").status_code == 401


def test_session_ends_with_its_token_and_after_half_a_day(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    sessions = access.Sessions
    monkeypatch.setattr(access, "Sessions", lambda: sessions(lambda: now[0]))
    secret = store.tokens.add("one", "read")
    app = application(store)
    ask = Asker(app)
    headers = {"Origin": HERE, "secret": secret}
    assert ask("/login", "POST", headers=headers).status_code == 200
    now[0] = 12 * 3_600 - 1
    assert ask("/read").status_code == 200
    now[0] += 1
    assert ask("/read").status_code == 401
    assert ask("/login", "POST", headers=headers).status_code == 200
    first = ask.cookies["simstore_session"]
    assert ask("/login", "POST", headers=headers).status_code == 200
    assert ask.cookies["simstore_session"] != first
    assert len(app.state.gate._sessions) == 1
    assert ask("/read").status_code == 200
    store.tokens.revoke("one")
    assert ask("/read").status_code == 401


def test_session_cookie_is_for_tls_alone_where_the_page_came_by_it(store: Store) -> None:
    secret = store.tokens.add("one")
    ask = Asker(application(store), "https://store.example")
    headers = {"Origin": "https://store.example", "secret": secret}
    cookie = ask("/login", "POST", headers=headers).headers["set-cookie"]
    assert cookie.startswith("__Host-simstore_session=")
    assert "Secure" in cookie
    assert "Domain" not in cookie
    assert ask("/read").status_code == 200
    assert ask("/read").headers["strict-transport-security"] == "max-age=31536000"


def test_sign_in_is_for_own_pages_with_a_good_token(store: Store) -> None:
    secret = store.tokens.add("one")
    ask = Asker(application(store))
    for headers in (*ELSEWHERE, {}):
        assert ask("/login", "POST", headers=headers | {"secret": secret}).status_code == 403
    wrong = ask("/login", "POST", headers={"Origin": HERE, "secret": "sst_wrong"})
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers


def test_wrong_tokens_are_slowed_down_by_address_and_good_ones_are_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    limit = access.RateLimit
    monkeypatch.setattr(access, "RateLimit", lambda rate, burst: limit(rate, burst, lambda: now[0]))
    secret = store.tokens.add("one")
    app = application(store)
    ask, other = Asker(app, address="2001:db8::1"), Asker(app, address="2001:db8:0:1::1")
    wrong = bearer("sst_wrong")
    assert [ask("/read", headers=wrong).status_code for _ in range(12)] == [401] * 10 + [429] * 2
    late = Asker(app, address="2001:db8::ffff")("/read", headers=wrong)
    assert late.status_code == 429
    assert float(late.headers["retry-after"]) == 6
    signed = ask("/login", "POST", headers={"Origin": HERE, "secret": "sst_wrong"})
    assert signed.status_code == 429
    assert other("/read", headers=wrong).status_code == 401
    assert ask("/read", headers=bearer(secret)).status_code == 200
    now[0] = 6
    assert [ask("/read", headers=wrong).status_code for _ in range(2)] == [401, 429]


def test_rate_is_each_tokens_own_and_counts_a_request_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    limit = access.RateLimit
    monkeypatch.setattr(access, "RateLimit", lambda rate, burst: limit(rate, burst, lambda: now[0]))
    one, two = store.tokens.add("one", "admin"), store.tokens.add("two")
    ask = Asker(application(store, rate=3))

    def asked(secret: str, count: int) -> list[int]:
        return [ask("/read", headers=bearer(secret)).status_code for _ in range(count)]

    assert asked(one, 4) == [200, 200, 200, 429]
    assert asked(two, 4) == [200, 200, 200, 429]
    refused = ask("/read", headers=bearer(one))
    assert float(refused.headers["retry-after"]) == 1
    now[0] = 1
    assert asked(one, 4) == [200, 200, 200, 429]
    # What a scope does not allow counts too; what is public does not.
    now[0] = 9
    forbidden = [ask("/write", headers=bearer(two)).status_code for _ in range(4)]
    assert forbidden == [403, 403, 403, 429]
    assert [ask("/None").status_code for _ in range(9)] == [200] * 9


def test_who_may_not_is_refused_before_the_body_is_read(store: Store) -> None:
    store.tokens.add("one")
    app = application(store)
    read = []

    async def body() -> AsyncIterator[bytes]:
        for number in range(1_000_000):
            read.append(number)
            yield b"x" * 1_000

    router = APIRouter(route_class=GuardedRoute)

    async def parsed(given: dict[str, str]) -> dict[str, str]:
        return given

    router.add_api_route("/parsed", parsed, methods=["POST"], dependencies=[requires("write")])
    app.include_router(router)
    kinds = ("application/json", "multipart/form-data; boundary=x")
    for kind in kinds:
        found = Asker(app)("/parsed", "POST", content=body(), headers={"Content-Type": kind})
        assert found.status_code == 401
    assert len(read) <= len(kinds)


def test_store_that_cannot_be_asked_opens_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simstore.errors import DatabaseBusy

    def fail(*_: object) -> None:
        raise DatabaseBusy("s.db")

    secret = store.tokens.add("one")
    app = application(store)
    monkeypatch.setattr(tokens.tokens, "rows", fail)
    for headers in ({}, bearer(secret)):
        assert Asker(app)("/read", headers=headers).status_code == 503


def test_page_may_say_more_of_itself_and_the_rest_stays() -> None:
    async def own(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        own = [(b"content-security-policy", b"script-src 'self'"), (b"x-frame-options", b"ALLOW")]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body", "body": b""})

    headers = Asker(SecurityHeaders(own))("/").headers  # type: ignore[arg-type]
    assert headers["content-security-policy"] == "script-src 'self'"
    assert headers.get_list("x-frame-options") == ["DENY"]


def test_memory_of_who_asked_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_MOST_KNOWN", 5)
    monkeypatch.setattr(access, "_MOST_SESSIONS", 5)
    limit = access.RateLimit(1, 1, lambda: 0)
    kept = access.Sessions(lambda: 0)
    names = []
    for number in range(20):
        assert limit.wait(str(number)) == 0
        names.append(kept.begin(number))
    assert (len(limit), len(kept)) == (5, 5)
    assert limit.wait("19") == 1
    assert kept.token_id(names[0]) is None
    assert kept.token_id(names[19]) == 19
    assert kept.token_id("") is None


def test_one_sender_is_an_address_or_what_one_host_is_given() -> None:
    for address, network in [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("x" * 500, "x" * 100),
    ]:
        from simstore.server.access.gate import network_of

        assert network_of(address) == network
