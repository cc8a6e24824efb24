"""Ingest a stream of NDJSON: documents are parsed, stored and acknowledged concurrently."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from simstore.errors import (
    InvalidParameter,
    MalformedRequest,
    Overloaded,
    SimstoreError,
    Stopping,
    TooLarge,
)
from simstore.model import Document, Outcome, WriteReply, WriteRequest
from simstore.server.bodies import LARGE_BYTES, NDJSON, parsed
from simstore.server.documents import document_of
from simstore.server.errors import ours, problem
from simstore.server.request_context import RequestContext, exchange_of
from simstore.wire import encoded, to_wire

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from simstore.server.service import Service

OUTCOMES: tuple[str, ...] = get_args(Outcome)
# Documents that are given to the writer together, and that wait for it.
_GROUP, _MOST_WAITING = 200, 4_000
# Replies that wait for who sends and does not listen; then no more is read.
_MOST_UNSENT = 100_000
_RETRY_SECONDS = 0.05
_LINE_BYTES = "bytes of a line"


@dataclass(frozen=True, slots=True)
class _Group:
    """Documents that are being written, and the numbers of their lines."""

    future: asyncio.Future[WriteReply]
    lines: list[int]


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A line that is no document, or the end before the end."""

    line: int
    error: SimstoreError


class DocumentStream(Response):
    """Stores documents sent one per line, and replies with a line for each once it is durable.

    Reading and answering go on side by side, as far as the client does both.
    """

    def __init__(
        self,
        request: Request,
        service: Service,
        wish: WriteRequest,
    ) -> None:
        """Make the reply to a request.

        Args:
            request: The request, whose body is not read yet.
            service: What stores the documents.
            wish: What is done with duplicates; it has no documents yet.
        """
        super().__init__(media_type=NDJSON)
        del self.headers["content-length"]
        self._service = service
        self._wish = wish
        self._exchange: RequestContext = exchange_of(request.scope)
        self._counts: Counter[str] = Counter()
        self._orphans: set[str] = set()
        self._unflagged: set[str] = set()
        self._uncovered: set[str] = set()
        self._ready: asyncio.Queue[_Group | _Wrong | None] = asyncio.Queue()
        self._waiting = 0
        self._unsent = 0
        self._moved = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and send the reply."""
        self._exchange.begin_stream()
        await send(
            {"type": "http.response.start", "status": 200, "headers": list(self.raw_headers)}
        )
        reading = asyncio.create_task(self._read(receive))
        try:
            while (one := await self._ready.get()) is not None:
                data = await self._answer(one, scope)
                await send({"type": "http.response.body", "body": data, "more_body": True})
                self._unsent -= 1
                self._moved.set()
            # What failed while it was read fails here.
            await reading
        finally:
            reading.cancel()
        counts = {name: self._counts[name] for name in (*OUTCOMES, "rejected")}
        record = {
            "counts": counts,
            "orphans": to_wire(sorted(self._orphans)),
            "unflagged": to_wire(sorted(self._unflagged)),
            "uncovered": to_wire(sorted(self._uncovered)),
        }
        last = encoded(record) + b"\n"
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _read(self, receive: Receive) -> None:
        """Give the lines to the writer; there are few that wait, in the end."""
        documents: list[Document] = []
        numbers: list[int] = []
        try:
            async for number, line in self._lines(receive):
                if line is None:
                    await self._write(documents, numbers)
                elif isinstance(line, SimstoreError):
                    await self._write(documents, numbers)
                    await self._put(_Wrong(number, line))
                else:
                    documents.append(line)
                    numbers.append(number)
                    if len(documents) >= _GROUP:
                        await self._write(documents, numbers)
            await self._write(documents, numbers)
        finally:
            self._ready.put_nowait(None)

    async def _lines(
        self, receive: Receive
    ) -> AsyncIterator[tuple[int, Document | SimstoreError | None]]:
        """Yield number and document of each line, or what is wrong with it.

        None: what has come so far is all read; the next may take its time.
        """
        limit = self._service.settings.body_bytes
        rest, number, skipping = bytearray(), 0, False
        async for data in _parts(receive, self._service.stopping):
            if data is None:
                yield number + 1, Stopping()
                return
            rest += data
            if b"\n" in data:
                *lines, last = bytes(rest).split(b"\n")
                rest = bytearray(last)
                for line in lines:
                    number += 1
                    if not skipping and line.strip():
                        yield number, await self._document(line, number)
                    skipping = False
                yield number, None
            if len(rest) > limit:
                if not skipping:
                    yield number + 1, TooLarge(_LINE_BYTES, limit)
                rest, skipping = bytearray(), True
        if rest.strip() and not skipping:
            yield number + 1, await self._document(bytes(rest), number + 1)

    async def _document(self, line: bytes, number: int) -> Document | SimstoreError:
        """Return the document of a line, or what is wrong; a long one is read in a thread."""
        limit = self._service.settings.body_bytes
        if len(line) > LARGE_BYTES:
            return await self._service.readers.go_on(_document, line, number, limit)
        return _document(line, number, limit)

    async def _write(self, documents: list[Document], numbers: list[int]) -> None:
        """Give documents to the writer, and forget them; wait where it has enough to do."""
        if not documents:
            return
        given, lines = tuple(documents), list(numbers)
        documents.clear()
        numbers.clear()
        try:
            future = await self._submit(given)
        except InvalidParameter as error:
            if len(given) == 1:
                await self._put(_Wrong(lines[0], error))
                return
            # Which of them it is tells each alone.
            for document, line in zip(given, lines, strict=True):
                await self._write([document], [line])
            return
        except SimstoreError as error:
            for line in lines:
                await self._put(_Wrong(line, error))
            return
        self._waiting += len(lines)
        await self._put(_Group(future, lines))
        while self._waiting > _MOST_WAITING:
            await self._movement()

    async def _submit(self, documents: tuple[Document, ...]) -> asyncio.Future[WriteReply]:
        write_request = replace(self._wish, documents=documents)
        while True:
            try:
                return self._service.submit(write_request)
            except Overloaded:
                # Who sends lines waits, and the network with it.
                await asyncio.sleep(_RETRY_SECONDS)

    async def _put(self, one: _Group | _Wrong) -> None:
        self._ready.put_nowait(one)
        self._unsent += 1
        while self._unsent > _MOST_UNSENT:
            await self._movement()

    async def _movement(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    async def _answer(self, one: _Group | _Wrong, scope: Scope) -> bytes:
        """Return the lines that answer a group, once it is durable."""
        if isinstance(one, _Wrong):
            return self._error(one.error, one.line)
        try:
            done = await one.future
        except Exception as error:
            known = ours(error, scope["path"], scope["method"])
            return b"".join(self._error(known, line) for line in one.lines)
        finally:
            self._waiting -= len(one.lines)
            self._moved.set()
        counts = Counter(outcome.outcome for outcome in done.outcomes)
        self._counts.update(counts)
        self._service.metrics.documents.update(counts)
        # A key that comes again is removed from the three sets.
        again = {outcome.key for outcome in done.outcomes}
        self._orphans = (self._orphans - again).union(done.orphans)
        self._unflagged = (self._unflagged - again).union(done.unflagged)
        self._uncovered = (self._uncovered - again).union(done.uncovered)
        return b"".join(encoded(record) + b"\n" for record in to_wire(done.outcomes))

    def _error(self, error: SimstoreError, line: int) -> bytes:
        self._counts["rejected"] += 1
        record: dict[str, Any] = {"error": problem(error, self._exchange.request_id), "line": line}
        return encoded(record) + b"\n"


def _document(line: bytes, number: int, limit: int) -> Document | SimstoreError:
    if len(line) > limit:
        return TooLarge(_LINE_BYTES, limit)
    place = f"line {number}"
    try:
        return document_of(parsed(line, place), place)
    except MalformedRequest as error:
        return error


async def _parts(receive: Receive, stopping: asyncio.Event) -> AsyncIterator[bytes | None]:
    """Yield the parts of a body; None, and no more, when the server stops."""
    stop = asyncio.create_task(stopping.wait())
    try:
        while True:
            part = asyncio.ensure_future(receive())
            try:
                await asyncio.wait((part, stop), return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not part.done():
                    part.cancel()
            if not part.done() or part.cancelled():
                yield None
                return
            message = part.result()
            if message["type"] == "http.disconnect":
                return
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body", False):
                return
    finally:
        stop.cancel()
