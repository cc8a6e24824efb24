"""Translate errors into HTTP replies: problem details (RFC 9457), or an HTML page."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from simstore.errors import (
    MalformedRequest,
    MethodNotAllowed,
    RouteNotFound,
    SimstoreError,
    printable,
)
from simstore.server.page.problems import headers_of, problem_page, wants_page
from simstore.wire import encoded, to_wire_fields

if TYPE_CHECKING:
    from starlette.requests import Request

CONTENT_TYPE = "application/problem+json"
_MEMBERS = frozenset(("type", "title", "status", "detail", "exit_code", "request_id"))

log = logging.getLogger("simstore")


def problem(error: SimstoreError, request_id: str) -> dict[str, Any]:
    """Return an error as problem details.

    Args:
        error: The error; its attributes that JSON has a form for are members, too.
        request_id: The number of the request.
    """
    name = type(error).__name__
    details: dict[str, Any] = {
        "type": f"urn:simstore:{name}",
        "title": name,
        "status": error.http_status,
        "detail": error.told("http"),
        "exit_code": error.exit_code,
        "request_id": request_id,
    }
    details |= to_wire_fields(
        (fact, value)
        for fact, value in vars(error).items()
        if fact not in _MEMBERS and isinstance(value, str | int | float | None)
    )
    return details


def problem_response(error: SimstoreError, request_id: str) -> Response:
    """Return an error as a reply."""
    body = encoded(problem(error, request_id))
    return Response(body, error.http_status, headers_of(error), CONTENT_TYPE)


def ours(error: Exception, path: str, method: str) -> SimstoreError:
    """Return the SimstoreError that stands for any error raised while a request was served.

    Args:
        error: Whatever was raised while a request was served.
        path: What was asked for.
        method: How.
    """
    if isinstance(error, SimstoreError):
        return error
    if isinstance(error, RequestValidationError):
        return _malformed(error)
    if isinstance(error, HTTPException):
        return _of_framework(error, path, method)
    log.error("%s %s: %s", method, printable(path), type(error).__name__, exc_info=error)
    return SimstoreError("the server has a fault; its log says more, by the number of the request")


def reply_to(request: Request, error: Exception) -> Response:
    """Return the reply to a request that failed: a page for a person, else problem details."""
    scope = request.scope
    known = ours(error, scope["path"], scope["method"])
    if isinstance(known, MethodNotAllowed):
        allowed = ", ".join(_methods_at(request)) or known.allowed
        known = MethodNotAllowed(known.method, known.path, allowed)
    scope["simstore"].error = known
    if wants_page(request):
        return problem_page(request, known)
    return problem_response(known, scope["simstore"].request_id)


def _methods_at(request: Request) -> list[str]:
    """Return all methods of the routes for an address; the framework names those of one."""
    path = request.scope["path"]
    routes: list[Any] = getattr(request.app.state, "routes", [])
    return sorted({name for one in routes if one.path_regex.match(path) for name in one.methods})


def _malformed(error: RequestValidationError) -> MalformedRequest:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return MalformedRequest(place, str(first["msg"]))


def _of_framework(error: HTTPException, path: str, method: str) -> SimstoreError:
    if error.status_code == 404:
        return RouteNotFound(path)
    if error.status_code == 405:
        headers: Mapping[str, str] = error.headers or {}
        return MethodNotAllowed(method, path, headers.get("Allow", "another"))
    if error.status_code < 500:
        return MalformedRequest("body", str(error.detail))
    return SimstoreError(str(error.detail))
