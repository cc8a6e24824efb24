"""The route that sends a copy of the whole store while it is served."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import time
from collections.abc import AsyncIterator
from weakref import finalize

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from simstore.errors import InvalidParameter, Stopping
from simstore.server.access.gate import GuardedRoute, requires
from simstore.server.openapi import problems
from simstore.server.request_context import exchange_of
from simstore.server.service import Service, service_of
from simstore.services.maintenance.maintain import open_copy

router = APIRouter(route_class=GuardedRoute, tags=["operation"])

KIND = "application/vnd.sqlite3"
_PIECE = 1 << 20
# How often a request that waits for its copy says that it still does.
_PATIENCE_SECONDS = 1.0


class _Copy:
    """A copy that has no name any more, so that it goes with the one who reads it.

    Attributes:
        descriptor: The open file; closed with this object at the latest.
        size: Its bytes.
        digest: Its SHA-256.
    """

    def __init__(self, descriptor: int, size: int, digest: bytes) -> None:
        self.descriptor = descriptor
        self.size = size
        self.digest = digest
        self.close = finalize(self, os.close, descriptor)


@router.post(
    "/v1/backup",
    dependencies=[requires("admin")],
    summary="A checked copy of the store, as it is at one moment",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "An SQLite file; Repr-Digest has its SHA-256",
            "content": {KIND: {"schema": {"type": "string", "format": "binary"}}},
        },
        **problems(400, 507),
    },
)
async def back_up(request: Request) -> StreamingResponse:
    """Copy the store while it is read and written, check the copy, and send it.

    One copy is made at a time, beside the store, so there has to be room for it there. It holds
    digests of tokens, and no secret.
    """
    service = service_of(request)
    exchange = exchange_of(request.scope)
    exchange.begin_stream()
    made = asyncio.ensure_future(service.copies.run(_copied, service))
    # Who asked may go away meanwhile; the thread ends its copy, which then is nobody's.
    while not (await asyncio.wait({made}, timeout=_PATIENCE_SECONDS))[0]:
        exchange.go_on()
    copy = made.result()
    name = f"simstore-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.db"
    return StreamingResponse(
        _pieces(copy),
        media_type=KIND,
        headers={
            "Content-Length": str(copy.size),
            "Content-Disposition": f'attachment; filename="{name}"',
            # RFC 9530
            "Repr-Digest": f"sha-256=:{base64.b64encode(copy.digest).decode()}:",
        },
    )


def _copied(service: Service) -> _Copy:
    """Return a checked copy of the store, already without a name; none where the server stops."""

    def go_on(_done: int, _total: int | None) -> None:
        if service.stopping.is_set():
            raise Stopping

    if service.store.maintenance.path is None:
        raise InvalidParameter("backup copies SQLite stores; use your database server's own tools")
    descriptor = open_copy(service.store._opened, go_on)
    try:
        size = os.fstat(descriptor).st_size
        return _Copy(descriptor, size, _digest(descriptor, size))
    except BaseException:
        os.close(descriptor)
        raise


def _digest(descriptor: int, size: int) -> bytes:
    found = hashlib.sha256()
    for start in range(0, size, _PIECE):
        found.update(os.pread(descriptor, _PIECE, start))
    return found.digest()


async def _pieces(copy: _Copy) -> AsyncIterator[bytes]:
    try:
        for start in range(0, copy.size, _PIECE):
            yield await run_in_threadpool(os.pread, copy.descriptor, _PIECE, start)
    finally:
        copy.close()
