"""Reply with a long list: all items as NDJSON, or one page of them as a JSON object."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from simstore.server.bodies import NDJSON, accepts, reply
from simstore.server.request_context import exchange_of
from simstore.server.workers.bounded_executor import BoundedExecutor, Step, while_wanted
from simstore.wire import encoded, to_wire

# What is read at a time.
_PART_ITEMS, _PART_BYTES = 400, 1 << 20
_END = object()


async def listing(
    request: Request,
    executor: BoundedExecutor,
    name: str,
    listed: Callable[[int | None], Iterator[Any]],
    *,
    limit: int | None,
    most: int,
    cursor: Callable[[Any], int | str],
    passing: Callable[[Any], bool] | None = None,
) -> Response:
    """Return a list as a request wants it.

    Args:
        request: It says by ``Accept`` whether it takes lines; then it gets all.
        executor: Where it is read.
        name: What the list is called in an object.
        listed: Begins to read it, given how many items are wanted; it may yield more.
        limit: Most items that are wanted; None: as many as there are.
        most: Most items in an object.
        cursor: What to ask for to get the items behind one.
        passing: Which items are wanted; None: all.
    """
    if accepts(request, NDJSON):
        return await _lines(
            request, executor, lambda step: _wanted(listed(limit), passing, step, limit)
        )
    size = most if limit is None else min(limit, most)

    def read(step: Step) -> Response:
        items = _wanted(listed(size + 1), passing, step)
        found = list(islice(items, size))
        more = next(items, None) is not None
        _close(items)
        after = cursor(found[-1]) if more else None
        return reply({name: to_wire(found), "more": more, "next": after})

    with while_wanted() as step:
        return await executor.run(read, step)


async def _lines(
    request: Request, executor: BoundedExecutor, listed: Callable[[Step], Iterator[Any]]
) -> Response:
    exchange_of(request.scope).begin_stream()
    items: list[Iterator[Any]] = []
    begun = ExitStack()
    step = begun.enter_context(while_wanted())

    def begin() -> bytes:
        items.append(listed(step))
        return _part(items[0])

    with begun:
        # What is wrong with the question shows here, before the reply begins.
        first = await executor.run(begin)
        goes_on = begun.pop_all()

    async def parts() -> AsyncIterator[bytes]:
        part = first
        with goes_on:
            try:
                while part:
                    yield part
                    part = await executor.go_on(_part, items[0])
            finally:
                executor.forget(_close, items[0])

    return StreamingResponse(parts(), media_type=NDJSON)


def _wanted(
    items: Iterator[Any],
    passing: Callable[[Any], bool] | None,
    step: Step,
    limit: int | None = None,
) -> Iterator[Any]:
    """Yield so many of the items that pass; ending it ends the reading of the list."""
    left = limit
    try:
        while left is None or left > 0:
            step()
            item = next(items, _END)
            if item is _END:
                return
            if passing is None or passing(item):
                yield item
                left = None if left is None else left - 1
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
