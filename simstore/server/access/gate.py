"""Access control: a gate checks that each request has the scope that its route needs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Coroutine, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from fastapi import Depends, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from simstore.errors import (
    Forbidden,
    InvalidParameter,
    MalformedRequest,
    RateLimited,
    Unauthorized,
)
from simstore.model import Scope, Token
from simstore.server.workers.bounded_executor import BoundedExecutor

if TYPE_CHECKING:
    from starlette.routing import Match
    from starlette.types import Receive, Send
    from starlette.types import Scope as RequestScope

    from simstore.services.access.tokens import TokenBook
import hashlib
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from urllib.parse import urlsplit

SESSION_SECONDS = 12 * 3_600
_MOST_SESSIONS = 10_000


class Sessions:
    """Sessions of the page: a random name in a cookie stands for a token.

    They are kept in memory and end with the server; so no cookie holds a token, and none is of use
    anywhere else. Whether the token is still good is asked for with each request.

    Args:
        clock: Tells seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # Keys are digests of session names, so that a reader of this memory cannot use them.
        self._sessions: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, token_id: int) -> str:
        """Return the name of a new session of a token."""
        name = secrets.token_urlsafe(32)
        self._sessions[_digest(name)] = (token_id, self._clock() + SESSION_SECONDS)
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return name

    def token_id(self, name: str) -> int | None:
        """Return the token of a session; None where there is none, or it has ended."""
        digest = _digest(name)
        found = self._sessions.get(digest)
        if found is None:
            return None
        token_id, ends = found
        if self._clock() >= ends:
            del self._sessions[digest]
            return None
        return token_id

    def end(self, name: str) -> None:
        """End a session, if there is one."""
        self._sessions.pop(_digest(name), None)


def _digest(name: str) -> bytes:
    # A look-up by digest: its time tells nothing of the names that are there.
    return hashlib.sha256(name[:200].encode("utf-8", "surrogateescape")).digest()


# The address that asked longest ago is forgotten, so that many do not fill the memory.
_MOST_KNOWN = 10_000


class RateLimit:
    """A token bucket for each sender: a mean rate of requests, with bursts after a pause.

    Not to be shared by threads.

    Args:
        rate: Requests a second.
        burst: Requests that may come at once after a pause.
        clock: Tells seconds.
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        # The requests that each has left, and when they were counted.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def wait(self, who: str) -> float:
        """Count a request; return 0, or the seconds to wait until one is allowed."""
        now = self._clock()
        left, counted = self._left.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - counted) * self._rate)
        late = left < 1
        self._left[who] = (left if late else left - 1, now)
        if len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)
        return (1 - left) / self._rate if late else 0.0


def network_of(address: str) -> str:
    """Return the network that counts as one sender: an IPv4 address or an IPv6 /64."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
# A proxy says for whom it asks.
_FORWARDED = (
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address that a server listens on."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def names_loopback(host: str | None) -> bool:
    """Return whether the ``Host`` of a request is a name or address of the loopback.

    Any other name may be one that a foreign page has pointed here (DNS rebinding).
    """
    if not host:
        return False
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)


def is_forwarded(headers: Mapping[str, str]) -> bool:
    """Return whether a request came through a proxy, so that it may be from anywhere."""
    return any(name in headers for name in _FORWARDED)


def foreign(method: str, headers: Mapping[str, str], *, must_tell: bool) -> str | None:
    """Return why a request counts as cross-site; None where it does not.

    Args:
        method: HTTP method.
        headers: Those of the request, names in lower case.
        must_tell: A request that changes something must say where it comes from, as every browser
            does; else programs need not.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        visits = headers.get("sec-fetch-mode") == "navigate" and method in ("GET", "HEAD")
        if not visits:
            return "another site asks for it"
    if method in _SAFE:
        return None
    origin = headers.get("origin")
    if origin is not None:
        if _is_own(origin, headers.get("host", "")):
            return None
        return "a page of another site sends it"
    if must_tell and site is None:
        return "it does not say which page sends it"
    return None


def _is_own(origin: str, host: str) -> bool:
    """Return whether an origin is that of the host that was asked, by either scheme."""
    try:
        sender, own = urlsplit(origin), urlsplit(f"//{host}")
        port = sender.port or _PORTS.get(sender.scheme)
        wanted = own.port or _PORTS.get(sender.scheme)
    except ValueError:
        return False
    if sender.scheme not in _PORTS or sender.hostname is None:
        return False
    return (sender.hostname, port) == (own.hostname, wanted)


# Wrong tokens that one address may send at once, and then a second.
_FAILURES, _FAILURES_A_SECOND = 10, 1 / 6
_COOKIE = "simstore_session"


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated sender of a request.

    Attributes:
        owner: Whose requests these are: rates are counted by it.
        scope: What they may do.
        token: The token; None where the server is open to its own machine.
        by_cookie: They have signed in on the page.
    """

    owner: str
    scope: Scope
    token: Token | None = None
    by_cookie: bool = False


class Gate:
    """Authenticates the sender of each request, and refuses those without the needed scope.

    Args:
        book: The tokens of the store.
        host: The address that the server listens on.
        require_tokens: Ask for a token on the loopback too, where the store has none.
        rate: Requests a second of each token; None: as many as they like.
    """

    def __init__(
        self,
        book: TokenBook,
        *,
        host: str,
        require_tokens: bool = False,
        rate: float | None = None,
    ) -> None:
        self._book = book
        self._may_be_open = is_loopback(host) and not require_tokens
        self._rate = None if rate is None else RateLimit(rate, max(rate, 1.0))
        self._failures = RateLimit(_FAILURES_A_SECOND, _FAILURES)
        self._sessions = Sessions()
        self._reading = asyncio.Lock()
        # Whoever waits may give up, which a thread of the framework would not let them.
        self._executor = BoundedExecutor("tokens", 1, 1)

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the tokens to be read; as :meth:`.BoundedExecutor.close`."""
        return self._executor.close(timeout)

    async def check(self, request: Request, scope: Scope) -> Principal:
        """Return the sender of a request, who must have a scope; the rate limit counts it once.

        Raises:
            Unauthorized: They have no valid token, and need one.
            Forbidden: They may not do this, or another site's page sends it.
            RateLimited: They ask too often.
        """
        principal: Principal | None = getattr(request.state, "principal", None)
        if principal is None:
            principal = request.state.principal = await self.principal(request)
            if self._rate is not None and (wait := self._rate.wait(principal.owner)):
                raise RateLimited(_seconds(wait))
        if principal.token is not None and not principal.token.allows(scope):
            raise Forbidden(
                f"the token {principal.token.name} has the scope {principal.scope}; this needs "
                f"{scope}: `simstore token add NAME --scope {scope} --expires 90d`, run where the "
                "store is, makes such a token"
            )
        return principal

    async def principal(self, request: Request) -> Principal:
        """Return the sender of a request.

        Raises:
            Unauthorized: They have no valid token, and need one.
            Forbidden: Another site's page sends it.
            RateLimited: Too many wrong tokens came from where it comes from.
        """
        await self._freshen()
        given = request.headers.getlist("authorization")
        if given:
            token = self._book.token_of(_bearer(given))
            if token is None:
                self._refuse(request, "the token is not known, or has expired, or was revoked")
            return Principal(_owner(token), token.scope, token)
        token = self._signed_in(request)
        if token is not None:
            _refuse_foreign(request, must_tell=True)
            return Principal(_owner(token), token.scope, token, by_cookie=True)
        if not self._may_be_open or self._book.are_there_any():
            raise Unauthorized("this needs a token")
        if is_forwarded(request.headers):
            raise Unauthorized("a request that came through a proxy needs a token")
        if not names_loopback(request.headers.get("host")):
            raise Forbidden(
                "without tokens this server answers to localhost only, and it was asked for by "
                "another name; make a token with `simstore token add`"
            )
        _refuse_foreign(request, must_tell=False)
        return Principal("open", "admin")

    async def sign_in(self, request: Request, response: Response, secret: str) -> Token:
        """Begin a session of the page, and put its cookie on a response.

        Raises:
            Unauthorized: There is no such token.
            Forbidden: Another site's page sends it.
            RateLimited: Too many wrong tokens came from where it comes from.
        """
        _refuse_foreign(request, must_tell=True)
        await self._freshen()
        token = self._book.token_of(secret.strip())
        if token is None:
            self._refuse(request, "the token is not known, or has expired, or was revoked")
        self._end(request)
        response.set_cookie(
            _cookie(request),
            self._sessions.begin(token.token_id),
            max_age=SESSION_SECONDS,
            path="/",
            secure=_is_encrypted(request),
            httponly=True,
            samesite="strict",
        )
        return token

    def sign_out(self, request: Request, response: Response) -> None:
        """End the session of a browser, and take its cookie away.

        Raises:
            Forbidden: Another site's page sends it.
        """
        _refuse_foreign(request, must_tell=True)
        self._end(request)
        response.delete_cookie(
            _cookie(request),
            path="/",
            secure=_is_encrypted(request),
            httponly=True,
            samesite="strict",
        )

    def _signed_in(self, request: Request) -> Token | None:
        name = request.cookies.get(_cookie(request))
        token_id = None if name is None else self._sessions.token_id(name)
        return None if token_id is None else self._book.with_id(token_id)

    def _end(self, request: Request) -> None:
        name = request.cookies.get(_cookie(request))
        if name is not None:
            self._sessions.end(name)

    def _refuse(self, request: Request, reason: str) -> NoReturn:
        """Refuse a wrong token; slowly, where many come. Good ones are not slowed down by them."""
        address = request.client.host if request.client else ""
        wait = self._failures.wait(network_of(address))
        if wait:
            raise RateLimited(_seconds(wait), "wrong tokens from this address")
        raise Unauthorized(reason)

    async def _freshen(self) -> None:
        if not self._book.is_fresh():
            async with self._reading:
                if not self._book.is_fresh():
                    await self._executor.run(self._book.read)


@cache
def requires(scope: Scope | None) -> Any:
    """Return the dependency that declares the scope a route needs; None: the route is public."""

    async def check(request: Request) -> Principal | None:
        return None if scope is None else await gate_of(request).check(request, scope)

    return Depends(_marked(check, scope))


def scopes_of(route: APIRoute) -> list[Scope | None]:
    """Return the scopes that a route declares; an empty list: it declares none."""
    found: list[Any] = [one.dependency for one in route.dependencies]
    return [call.needed_scope for call in found if hasattr(call, "needed_scope")]


class GuardedRoute(APIRoute):
    """A route that authenticates the sender before it reads the body.

    What answers GET answers HEAD, too; of the API none takes a parameter that it does not know.
    """

    def matches(self, scope: RequestScope) -> tuple[Match, RequestScope]:
        """Return whether a request is for this route."""
        return super().matches(self._as_asked(scope))

    async def handle(self, scope: RequestScope, receive: Receive, send: Send) -> None:
        """Serve a request; the server sends no body where only the head is asked for."""
        await super().handle(self._as_asked(scope), receive, send)

    def _as_asked(self, scope: RequestScope) -> RequestScope:
        known = self.methods or ()
        if scope.get("method") == "HEAD" and "GET" in known:
            return {**scope, "method": "GET"}
        return scope

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        answer = super().get_route_handler()
        scopes = [scope for scope in scopes_of(self) if scope is not None]
        # Those of what it depends on too, as of a filter.
        named = frozenset(_query_names(self.dependant))
        takes_any = not self.path.startswith("/v1/")

        async def guarded(request: Request) -> Response:
            for scope in scopes:
                await gate_of(request).check(request, scope)
            if not takes_any:
                check_parameters(request, named)
            return await answer(request)

        return guarded


def _query_names(dependant: Dependant) -> Iterator[str]:
    yield from (one.alias for one in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


def gate_of(request: Request) -> Gate:
    """Return the gate of the application that answers."""
    gate: Gate = request.app.state.gate
    return gate


def check_listening(book: TokenBook, host: str, *, require_tokens: bool = False) -> None:
    """Refuse an address where anybody would have access without a token, or nobody would have any.

    Raises:
        InvalidParameter: The store has no token, and one is needed.
    """
    if book.are_there_any():
        return
    remedy = "make one with `simstore token add NAME --scope write --expires 90d`"
    if not is_loopback(host):
        raise InvalidParameter(
            f"{host} can be reached from other machines, and the store has no token: {remedy}, or "
            "listen on 127.0.0.1"
        )
    if require_tokens:
        raise InvalidParameter(f"--require-tokens, and the store has no token: {remedy}")


def _marked(call: Any, scope: Scope | None) -> Any:
    call.needed_scope = scope
    return call


def _bearer(given: list[str]) -> str:
    """Return the secret of an Authorization header; empty for what is none."""
    kind, _, secret = given[0].partition(" ")
    return secret.strip() if len(given) == 1 and kind.lower() == "bearer" else ""


def _owner(token: Token) -> str:
    return f"token:{token.token_id}"


def _refuse_foreign(request: Request, *, must_tell: bool) -> None:
    reason = foreign(request.method, request.headers, must_tell=must_tell)
    if reason is not None:
        raise Forbidden(f"{reason}, and pages of other sites may not use this server")


def _is_encrypted(request: Request) -> bool:
    return bool(request.scope["scheme"] == "https")


def _cookie(request: Request) -> str:
    """Return the cookie's name: with TLS, one that browsers let no other host set (RFC 6265bis)."""
    return f"__Host-{_COOKIE}" if _is_encrypted(request) else _COOKIE


def _seconds(wait: float) -> float:
    return float(max(1, math.ceil(wait)))


def check_parameters(request: Request, known: Collection[str]) -> None:
    """Refuse a parameter that is not known: it is meant to change something, and would not.

    Args:
        request: The request.
        known: The names of those that the route takes.

    Raises:
        MalformedRequest: There is another.
    """
    for name in request.query_params:
        if name not in known:
            takes = f"; it takes {', '.join(sorted(known))}" if known else ""
            raise MalformedRequest(f"query.{name[:40]}", f"there is no such parameter{takes}")
