"""The context of each request: its ID, size limit, deadline and metrics."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request

from simstore.errors import (
    Overloaded,
    SimstoreError,
    Stopping,
    TimedOut,
    TooLarge,
    TooSlow,
    Unavailable,
)
from simstore.server.errors import reply_to
from simstore.server.request_log import RequestLine, shown_path, token_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from simstore.server.service import Service

# The status under which a request is counted whose sender went away.
_GONE = 499
_UNKNOWN = "unknown"
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_LARGE = "bytes of a request's body"
_RETRY_SECONDS = 1.0
# When to ask again where the store's file is lost.
_LOST_SECONDS = 5.0
# Paths that are answered then too.
_ABOUT_THE_SERVER = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/static/")


class RequestContext:
    """The state of a request while it is served, in ``scope["simstore"]``.

    Attributes:
        request_id: Its number.
        status: Of the reply; 0 before it begins.
        error: What was replied with; None: no error.
        complete: The whole body has come.
        received_bytes: How much of it has come.
    """

    __slots__ = (
        "_bodies", "_deadline", "_limit", "_receive", "_seconds", "_send", "_streams", "complete",
        "error", "received_bytes", "request_id", "status",
    )  # fmt: skip

    def __init__(
        self, receive: Receive, send: Send, bodies: Bodies, limit: int, seconds: float
    ) -> None:
        self.request_id = secrets.token_hex(8)
        self.status = 0
        self.error: SimstoreError | None = None
        self.complete = False
        self.received_bytes = 0
        self._receive, self._send = receive, send
        self._bodies, self._limit, self._seconds = bodies, limit, seconds
        self._streams = False
        self._deadline: asyncio.Timeout | None = None

    def begin_stream(self) -> None:
        """Let the body be of any length, and the time limit be for each part of both."""
        if not self._streams:
            self._streams = True
            self._bodies.held -= self.received_bytes

    async def receive(self) -> Message:
        """Return the next part of the body.

        Raises:
            TooLarge: The body is larger than it may be.
            Overloaded: The bodies of all requests are.
        """
        message = await self._receive()
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self.received_bytes += size
            self.complete = not message.get("more_body", False)
            if self._streams:
                self.go_on()
                return message
            self._bodies.held += size
            if self.received_bytes > self._limit:
                raise TooLarge(_LARGE, self._limit)
            if self._bodies.held > self._bodies.most:
                raise Overloaded(_RETRY_SECONDS)
        return message

    def end(self) -> None:
        """Give the room back that the body took."""
        if not self._streams:
            self._bodies.held -= self.received_bytes

    async def send(self, message: Message) -> None:
        """Send a part of the reply."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message.setdefault("headers", []).append((b"x-request-id", self.request_id.encode()))
        await self._send(message)
        if self._streams:
            self.go_on()

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        """Serve the request within its time.

        Raises:
            TimedOut: It took longer.
            TooSlow: Its body did not come in time.
        """
        try:
            async with asyncio.timeout(self._seconds) as self._deadline:
                await app(scope, self.receive, self.send)
        except TimeoutError:
            if self._deadline is None or not self._deadline.expired():
                raise
            if not self.complete and scope["method"] in _WITH_BODY:
                raise TooSlow(self._seconds) from None
            raise TimedOut(self._seconds) from None

    def go_on(self) -> None:
        """Restart the time limit, since there was progress."""
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._seconds)


class Bodies:
    """The memory budget for the bodies of all current requests.

    Attributes:
        held: Their bytes.
        most: As many as may be.
    """

    __slots__ = ("held", "most")

    def __init__(self, most: int) -> None:
        self.held = 0
        self.most = most


class RequestContextMiddleware:
    """Middleware around everything, the framework's own errors too."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._bodies = Bodies(service.settings.bodies_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        settings, metrics = self._service.settings, self._service.metrics
        exchange = RequestContext(
            receive, send, self._bodies, settings.body_bytes, settings.request_seconds
        )
        scope["simstore"] = exchange
        begun = time.perf_counter()
        metrics.in_flight += 1
        try:
            try:
                _check_length(scope, settings.body_bytes)
                _check_store(scope, self._service.lost)
                await exchange.run(self._app, scope)
            except ClientDisconnect:
                # In the middle of the body: nobody is there to be told.
                exchange.status = _GONE
            except Exception as error:
                await _tell(error, scope, exchange)
            except asyncio.CancelledError:
                # The time is up that replies may take when the server stops.
                if exchange.status or not self._service.stopping.is_set():
                    raise
                await _tell(Stopping(), scope, exchange)
        finally:
            exchange.end()
            metrics.in_flight -= 1
            metrics.received_bytes += exchange.received_bytes
            seconds = time.perf_counter() - begun
            route = getattr(scope.get("route"), "path", _UNKNOWN)
            metrics.observe(scope["method"], route, exchange.status or _GONE, seconds)
            if exchange.error is not None:
                metrics.count_error(exchange.error)
            RequestLine(
                client=(scope.get("client") or ("",))[0],
                token=token_of(scope),
                method=scope["method"],
                path=shown_path(scope),
                status=exchange.status or _GONE,
                seconds=seconds,
                request_id=exchange.request_id,
                error=exchange.error,
            ).write()


def exchange_of(scope: Scope) -> RequestContext:
    """Return the exchange that a request is part of."""
    found: RequestContext = scope["simstore"]
    return found


def is_ndjson(scope: Scope) -> bool:
    """Return whether the body of a request is said to be lines, each JSON."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind: bytes = value.partition(b";")[0].strip().lower()
            return kind in (b"application/x-ndjson", b"application/jsonl")
    return False


def _check_length(scope: Scope, limit: int) -> None:
    """Raise TooLarge where a request says that its body is too large; of lines it may be long."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            if value.isdigit() and int(value[:20]) > limit and not is_ndjson(scope):
                raise TooLarge(_LARGE, limit)
            return


def _check_store(scope: Scope, lost: str | None) -> None:
    """Raise Unavailable where the store's file is lost, and the request is about the store."""
    if lost is not None and not scope["path"].startswith(_ABOUT_THE_SERVER):
        raise Unavailable(f"{lost}; the server's log says what to do", _LOST_SECONDS)


async def _tell(error: Exception, scope: Scope, exchange: RequestContext) -> None:
    """Reply with an error; where a reply has begun, cut the connection.

    Nobody shall take half a reply for a whole one.
    """
    if exchange.status:
        cut = scope.get("state", {}).get("simstore.abort")
        if cut is None:
            raise error
        cut()
        return
    response = reply_to(Request(scope), error)
    if isinstance(error, TooSlow):
        response.headers["Connection"] = "close"
    await response(scope, exchange.receive, exchange.send)
