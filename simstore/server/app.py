"""The FastAPI application: routes, middleware and error handlers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from simstore.errors import SimstoreError
from simstore.server.access.gate import Gate, GuardedRoute, gate_of, scopes_of
from simstore.server.access.security_headers import SecurityHeaders
from simstore.server.errors import reply_to
from simstore.server.openapi import publish
from simstore.server.page import routes as page
from simstore.server.request_context import RequestContextMiddleware
from simstore.server.routes import backup, check, clusters, documents, health, query, stats
from simstore.server.service import Service
from simstore.server.settings import ServerSettings
from simstore.server.workers.store_worker import StoreWorker
from simstore.version import __version__

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class FastPath:
    """Middleware that serves some routes directly, with the same replies as the framework.

    It looks who asks, calls the endpoint, and renders errors; what it leaves out is the search
    among all routes and for what an endpoint depends on, which is more than half of the time of a
    short request.

    Args:
        app: What answers everything else.
        routes: Routes of a fixed path, whose endpoint takes the request alone.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[GuardedRoute]) -> None:
        self._app = app
        self._routes = {
            (method, route.path): (route, [scope for scope in scopes_of(route) if scope])
            for route in routes
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        found = None
        # Parameters are none of theirs: the framework's way tells of them.
        if scope["type"] == "http" and not scope["query_string"]:
            found = self._routes.get((scope["method"], scope["path"]))
        if found is None:
            await self._app(scope, receive, send)
            return
        route, needed = found
        scope["route"] = route
        request = Request(scope, receive, send)
        try:
            for one in needed:
                await gate_of(request).check(request, one)
            response = await route.endpoint(request)
        except SimstoreError as error:
            response = reply_to(request, error)
        await response(scope, receive, send)


def create_app(
    place: str | os.PathLike[str],
    settings: ServerSettings | None = None,
    writer: StoreWorker | None = None,
    readers: Sequence[StoreWorker] = (),
) -> FastAPI:
    """Return the application that serves a store.

    The store is opened when the application starts, and closed when it ends.

    Args:
        place: Path of the store, or an SQLAlchemy URL.
        settings: How to serve it.
        writer: A process that writes to it, which ends with the application; None: this one does.
        readers: Processes that answer queries, which end with it; none: this one does.
    """
    service = Service(place, settings or ServerSettings(), writer, readers)

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        service.open()
        app.state.gate = Gate(
            service.store.tokens.book(),
            host=service.settings.host,
            require_tokens=service.settings.require_tokens,
            rate=service.settings.rate,
        )
        watching = asyncio.create_task(service.watch_file())
        try:
            yield
        finally:
            watching.cancel()
            # What reads tokens and hangs shall not hold the process.
            service.close(app.state.gate.close)

    app = FastAPI(
        title="simstore",
        version=__version__,
        summary="A near-duplicate store for text.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.service = service
    app.router.route_class = GuardedRoute
    app.state.routes = []
    for part in (query, documents, check, clusters, stats, backup, health, page):
        app.include_router(part.router)
        app.state.routes += [one for one in part.router.routes if isinstance(one, GuardedRoute)]
    for kind in (SimstoreError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, reply_to)
    direct = [route for route in query.router.routes if isinstance(route, GuardedRoute)]
    app.add_middleware(FastPath, routes=direct)
    app.add_middleware(RequestContextMiddleware, service=service)
    app.add_middleware(SecurityHeaders)
    publish(app)
    return app
