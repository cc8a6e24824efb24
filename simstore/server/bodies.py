"""Parse JSON request bodies into typed values, and write JSON replies."""

from __future__ import annotations

from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from simstore.errors import InvalidParameter, MalformedRequest, UnsupportedMedia
from simstore.server.workers.bounded_executor import BoundedExecutor
from simstore.wire import decoded, encoded, from_wire

T = TypeVar("T")
JSON = "application/json"
NDJSON = "application/x-ndjson"


# From so many bytes on a body is read in a thread.
LARGE_BYTES = 512 << 10


async def checked_json(request: Request) -> bytes:
    """Return the body of a request that is said to be JSON.

    Raises:
        UnsupportedMedia: It is said to be something else.
        TooLarge: It is too large.
    """
    kind = content_type(request)
    if kind not in (JSON, ""):
        raise UnsupportedMedia(kind, JSON)
    check_coding(request)
    return await request.body()


def check_coding(request: Request) -> None:
    """Refuse a body that is compressed: what it expands to has no bound before it is read.

    Raises:
        UnsupportedMedia: It is.
    """
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", ""):
        raise UnsupportedMedia(f"Content-Encoding: {coding[:40]}", "it uncompressed")


def parsed(data: bytes, place: str = "body") -> Any:
    """Parse JSON from bytes.

    Raises:
        MalformedRequest: They are no JSON.
    """
    try:
        return decoded(data)
    except InvalidParameter as error:
        raise MalformedRequest(place, str(error)) from None


def taken(kind: type[T], value: Any, place: str = "body") -> T:
    """Convert parsed JSON into a value of a type.

    Raises:
        MalformedRequest: They do not stand for one.
    """
    try:
        return from_wire(kind, value)
    except InvalidParameter as error:
        raise MalformedRequest(place, str(error)) from None


async def read_body(request: Request, kind: type[T], executor: BoundedExecutor) -> T:
    """Return the JSON body of a request as a value of a type.

    Args:
        request: The request.
        kind: The type.
        executor: Where a large body is read, so that others need not wait for it.

    Raises:
        UnsupportedMedia: It is said to be something else.
        MalformedRequest: It is no JSON, or stands for no such value.
        TooLarge: It is too large.
    """
    return await value_of(await checked_json(request), kind, executor)


async def value_of(data: bytes, kind: type[T], executor: BoundedExecutor) -> T:
    """Return the value of a type that a JSON body stands for; as :func:`read_body`."""
    if len(data) > LARGE_BYTES:
        return await executor.run(lambda: taken(kind, parsed(data)))
    return taken(kind, parsed(data))


def content_type(request: Request) -> str:
    """Return the media type of a request's body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def accepts(request: Request, kind: str) -> bool:
    """Return whether a request names a media type among those it takes as a reply."""
    named = request.headers.get("accept", "").lower().split(",")
    return any(part.partition(";")[0].strip() == kind for part in named)


def reply(value: Any, status: int = 200) -> Response:
    """Return a reply with JSON values as its body."""
    return Response(encoded(value), status, media_type=JSON)
