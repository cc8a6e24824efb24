"""Sends requests to a server and measures the replies: one process, light, as it shares the cores.

Usage: python benchmarks/service_load.py < ASKED.json > FOUND.json

``ASKED.json`` has the fields of :class:`Asked`. Latencies of what is sent at a rate count from the
moment at which it was due, so that a server that stalls does not hide it.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

from service_set import bodies_of

_WRITE = "/v1/documents?on_duplicate=flag"
_QUERY = "/v1/query"
# Bodies, and the key that the answer should have, if any.
Requests = Iterator[tuple[bytes, str]]


@dataclass(frozen=True)
class Asked:
    """What is to be sent.

    Attributes:
        url: The server.
        seconds: For how long.
        batches: File of requests to check and insert; None: none.
        skip: Of them, how many were sent before.
        writers: Connections that send them.
        writes_a_second: Of all of them together; None: each as fast as it is answered.
        queries: File of requests to look for one text, sent round and round; None: none.
        originals: File of the keys that they should find, one a line.
        readers: Connections that send them.
        queries_a_second: Of all of them together; None: each as fast as it is answered.
    """

    url: str
    seconds: float
    batches: str | None = None
    skip: int = 0
    writers: int = 8
    writes_a_second: float | None = None
    queries: str | None = None
    originals: str = ""
    readers: int = 8
    queries_a_second: float | None = None


@dataclass
class Found:
    """What came back.

    Attributes:
        seconds: From the first request to the last reply.
        write_seconds: From the first request to the last reply to documents.
        batches: Requests of documents that were answered.
        outcomes: Documents by what became of them.
        near_flagged: Edits of stored documents that were flagged.
        near: Edits of stored documents.
        batch_ms: Latencies.
        query_ms: Latencies.
        known: Samples that are edits of stored documents.
        known_found: Of them, how many found what they are edits of.
        refused: Replies with 429 or 503, after which the request was sent again.
        cpu_seconds: Of this process.
    """

    seconds: float = 0.0
    write_seconds: float = 0.0
    batches: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    near_flagged: int = 0
    near: int = 0
    batch_ms: list[float] = field(default_factory=list)
    query_ms: list[float] = field(default_factory=list)
    known: int = 0
    known_found: int = 0
    refused: int = 0
    cpu_seconds: float = 0.0


class Connection:
    """A connection that is kept."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Return status and body of the reply."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
        reader, writer = self._streams
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nContent-Type: "
            f"application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )
        writer.write(body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
        reply = await reader.readexactly(length)
        if b"\r\nconnection: close" in head:
            writer.close()
            self._streams = None
        return int(head[9:12]), reply

    async def close(self) -> None:
        """End it."""
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()


class Load:
    """Requests of one run, and what came back."""

    def __init__(self, asked: Asked) -> None:
        self.found = Found()
        self._asked = asked
        self._began = 0.0
        self._batches: Requests = iter(())
        self._queries: Requests = iter(())
        if asked.batches is not None:
            self._batches = ((body, "") for body in bodies_of(Path(asked.batches)))
            for _ in range(asked.skip):
                next(self._batches)
        if asked.queries is not None:
            keys = Path(asked.originals).read_text().splitlines()
            held = list(zip(bodies_of(Path(asked.queries)), keys, strict=True))
            self._queries = cycle(held)

    async def run(self) -> Found:
        asked = self._asked
        began = self._began = time.perf_counter()
        ends = began + asked.seconds
        senders = []
        if asked.batches is not None:
            due = _due(began, asked.writes_a_second)
            senders += [self._send(_WRITE, self._batches, due, ends) for _ in range(asked.writers)]
        if asked.queries is not None:
            due = _due(began, asked.queries_a_second)
            senders += [self._send(_QUERY, self._queries, due, ends) for _ in range(asked.readers)]
        await asyncio.gather(*senders)
        self.found.seconds = time.perf_counter() - began
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self.found.cpu_seconds = usage.ru_utime + usage.ru_stime
        return self.found

    async def _send(
        self, path: str, requests: Requests, due: Iterator[float | None], ends: float
    ) -> None:
        connection = Connection(self._asked.url)
        try:
            await self._send_all(connection, path, requests, due, ends)
        finally:
            await connection.close()

    async def _send_all(
        self,
        connection: Connection,
        path: str,
        requests: Requests,
        due: Iterator[float | None],
        ends: float,
    ) -> None:
        while True:
            at = next(due)
            now = time.perf_counter()
            if max(now, at or 0.0) >= ends:
                return
            request = next(requests, None)
            if request is None:
                return
            body, expected = request
            if at is not None and at > now:
                await asyncio.sleep(at - now)
            sent = time.perf_counter() if at is None else at
            status, reply = await connection.post(path, body)
            while status in (429, 503):
                self.found.refused += 1
                await asyncio.sleep(0.1)
                status, reply = await connection.post(path, body)
            if status != 200:
                raise RuntimeError(f"{path}: {status} {reply[:300]!r}")
            milliseconds = (time.perf_counter() - sent) * 1_000
            if path is _WRITE:
                self.found.batch_ms.append(milliseconds)
                self._note_documents(reply)
            else:
                self.found.query_ms.append(milliseconds)
                self._note_matches(reply, expected)

    def _note_documents(self, reply: bytes) -> None:
        found = self.found
        found.batches += 1
        found.write_seconds = time.perf_counter() - self._began
        for one in json.loads(reply)["documents"]:
            found.outcomes[one["outcome"]] += 1
            if one["key"].startswith("near-"):
                found.near += 1
                found.near_flagged += one["outcome"] == "flagged"

    def _note_matches(self, reply: bytes, expected: str) -> None:
        (sample,) = json.loads(reply)["samples"]
        if expected:
            self.found.known += 1
            self.found.known_found += any(one["key"] == expected for one in sample["matches"])


def _due(began: float, a_second: float | None) -> Iterator[float | None]:
    """Yield when each request is due; None: as soon as the last one is answered."""
    number = 0
    while True:
        yield None if a_second is None else began + number / a_second
        number += 1


def main() -> None:
    asked = Asked(**json.load(sys.stdin))
    found = asyncio.run(Load(asked).run())
    json.dump(vars(found), sys.stdout)


if __name__ == "__main__":
    main()
