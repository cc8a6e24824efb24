"""datasketch's MinHashLSH with its index in a real Redis server, which is started here."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

THRESHOLD = 0.8
PERMUTATIONS = 128
_BASE = b"simstore-benchmark"
_START_SECONDS = 10.0

Texts = Sequence[tuple[str, str]]


def redis_program() -> str | None:
    """Return the Redis server that is installed; None: there is none."""
    return shutil.which("redis-server")


@contextmanager
def redis_server(program: str, folder: Path) -> Iterator[int]:
    """Run a Redis server on a free port of the loopback, which writes nothing; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        program, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder),
        "--save", "", "--appendonly", "no", "--daemonize", "no",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    ends = time.monotonic() + _START_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            if process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError("redis-server did not start") from None
            time.sleep(0.05)


class RedisIndex:
    """MinHash of 128 values of word triples; bands chosen by the library for 0.8."""

    def __init__(self, port: int) -> None:
        from datasketch import MinHash, MinHashLSH

        self._minhash = MinHash
        self._index: Any = MinHashLSH(
            threshold=THRESHOLD,
            num_perm=PERMUTATIONS,
            storage_config={
                "type": "redis",
                "basename": _BASE,
                "redis": {"host": "127.0.0.1", "port": port},
            },
        )

    def check_and_insert(self, batch: Texts) -> list[bool]:
        """Insert documents together; return whether there was a near-duplicate of each before.

        As the library has it: look-ups one by one, and insertions in one pipeline.
        """
        made = [self._sketch(text) for _, text in batch]
        found = [bool(self._index.query(one)) for one in made]
        with self._index.insertion_session(buffer_size=len(batch) * 100) as session:
            for (key, _), sketch in zip(batch, made, strict=True):
                session.insert(key, sketch, check_duplication=False)
        return found

    def _sketch(self, text: str) -> Any:
        words = text.encode().split()
        made = self._minhash(num_perm=PERMUTATIONS)
        triples = zip(words, words[1:], words[2:], strict=False)
        made.update_batch([b" ".join(triple) for triple in triples])
        return made


def batch_of(body: bytes) -> Texts:
    """Return the documents of a request."""
    return [(one["key"], one["text"]) for one in json.loads(body)["documents"]]


def rate_of(port: int, bodies: Sequence[bytes], workers: int) -> tuple[float, int, int]:
    """Return documents a second, edits of stored documents, and how many of them were found.

    Args:
        port: Of the Redis server.
        bodies: Requests, shared out among the workers.
        workers: Processes.
    """
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers) as pool:
        # Not timed: processes start and import.
        pool.starmap(_checked, [(port, []) for _ in range(workers)], chunksize=1)
        shares = [list(bodies[worker::workers]) for worker in range(workers)]
        began = time.perf_counter()
        told = pool.starmap(_checked, [(port, share) for share in shares], chunksize=1)
        seconds = time.perf_counter() - began
    near, found, documents = (sum(one[place] for one in told) for place in range(3))
    return documents / seconds, near, found


def _checked(port: int, bodies: Sequence[bytes]) -> tuple[int, int, int]:
    index = RedisIndex(port)
    near = found = documents = 0
    for body in bodies:
        batch = batch_of(body)
        for (key, _), known in zip(batch, index.check_and_insert(batch), strict=True):
            documents += 1
            if key.startswith("near-"):
                near += 1
                found += known
    return near, found, documents
