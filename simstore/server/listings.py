"""Long lists: as lines without end, or their first part as one object."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from simstore.reports.wire import encoded, to_wire
from simstore.server.bodies import NDJSON, accepts, reply
from simstore.server.exchange import exchange_of
from simstore.server.lanes import Lane

# What is read at a time.
_PART_ITEMS, _PART_BYTES = 400, 1 << 20


async def listing(
    request: Request,
    lane: Lane,
    name: str,
    listed: Callable[[int | None], Iterator[Any]],
    *,
    limit: int | None,
    most: int,
    cursor: Callable[[Any], int] | None = None,
) -> Response:
    """Return a list as a request wants it.

    Args:
        request: It says by ``Accept`` whether it takes lines; then it gets all.
        lane: Where it is read.
        name: What the list is called in an object.
        listed: Begins to read it, given how many items are wanted; it may yield more.
        limit: Most items that are wanted; None: as many as there are.
        most: Most items in an object.
        cursor: What to ask for to get the items behind one; None: there is no such thing.
    """
    if accepts(request, NDJSON):
        return await _lines(request, lane, lambda: _first(listed(limit), limit))
    size = most if limit is None else min(limit, most)

    def read() -> Response:
        items = listed(size + 1)
        found = list(islice(items, size))
        more = next(items, None) is not None
        _close(items)
        told: dict[str, Any] = {name: to_wire(found), "more": more}
        if cursor is not None:
            told["next"] = cursor(found[-1]) if more else None
        return reply(told)

    return await lane.run(read)


async def _lines(request: Request, lane: Lane, listed: Callable[[], Iterator[Any]]) -> Response:
    exchange_of(request.scope).begin_stream()
    items: list[Iterator[Any]] = []

    def begin() -> bytes:
        items.append(listed())
        return _part(items[0])

    # What is wrong with the question shows here, before the reply begins.
    first = await lane.run(begin)

    async def parts() -> AsyncIterator[bytes]:
        part = first
        try:
            while part:
                yield part
                part = await lane.go_on(_part, items[0])
        finally:
            lane.forget(_close, items[0])

    return StreamingResponse(parts(), media_type=NDJSON)


def _first(items: Iterator[Any], limit: int | None) -> Iterator[Any]:
    """Yield so many items; ending it ends the reading of the list."""
    try:
        yield from islice(items, limit)
    finally:
        _close(items)


def _part(items: Iterator[Any]) -> bytes:
    lines: list[bytes] = []
    size = 0
    for item in items:
        lines.append(encoded(to_wire(item)) + b"\n")
        size += len(lines[-1])
        if len(lines) >= _PART_ITEMS or size >= _PART_BYTES:
            break
    return b"".join(lines)


def _close(items: Iterator[Any]) -> None:
    """End the reading of a list, and with it its snapshot."""
    close = getattr(items, "close", None)
    if close is not None:
        # Where a thread still reads: it ends with that.
        with suppress(ValueError):
            close()
