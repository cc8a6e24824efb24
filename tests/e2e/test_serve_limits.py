"""What the service does not take: too much, too slow, too often. It never hangs."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest
from served import PATIENCE_SECONDS, Served, serve

from simstore import Store

from .processes import until
from .service.asked import NDJSON, TEXT, lines, refused

_LIMITS = (
    "--body-bytes", "20000", "--batch-documents", "5", "--request-seconds", "1.5",
    "--header-seconds", "0.5", "--queue-documents", "3",
)  # fmt: skip


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serve(tmp_path / "s.db", *_LIMITS) as found:
        yield found


@pytest.fixture
def ask(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as client:
        yield client


@contextmanager
def connection(served: Served, receive_bytes: int | None = None) -> Iterator[socket.socket]:
    with socket.socket() as made:
        if receive_bytes is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        made.settimeout(PATIENCE_SECONDS)
        made.connect(("127.0.0.1", served.port))
        yield made


def received(made: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    data = b""
    while part := made.recv(65_536):
        data += part
    return data


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold the write lock of a store, so that nobody else can write."""
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def in_parts(body: bytes) -> Iterator[bytes]:
    """Yield a body so that nobody says how long it is."""
    for start in range(0, len(body), 5_000):
        yield body[start : start + 5_000]


def test_too_large_a_body_is_refused(ask: httpx.Client) -> None:
    body = json.dumps({"key": "a", "text": "x" * 30_000}).encode()
    headers = {"Content-Type": "application/json"}
    for path in ("/v1/documents", "/v1/query", "/v1/seen", "/v1/check"):
        for content in (body, in_parts(body)):
            reply = ask.post(path, content=content, headers=headers)
            assert refused(reply, 413, "TooLarge")["limit"] == 20_000
            # The connection is of use, or a new one is.
            assert ask.get("/healthz").status_code == 200
    reply = ask.post("/v1/check", files={"file": ("a.txt", b"x" * 30_000)})
    refused(reply, 413, "TooLarge")


def test_lines_may_be_many_and_one_that_is_too_long_is_passed_over(ask: httpx.Client) -> None:
    def given() -> Iterator[bytes]:
        for number in range(40):
            size = 50_000 if number == 20 else 1_000
            text = f"{TEXT} {number} " + "x" * size
            yield json.dumps({"key": f"{number}", "text": text}).encode() + b"\n"

    *found, last = lines(ask.post("/v1/documents", content=given(), headers=NDJSON))
    assert [one.get("key") for one in found] == [
        None if number == 20 else str(number) for number in range(40)
    ]
    assert (found[20]["line"], found[20]["error"]["title"]) == (21, "TooLarge")
    assert (last["counts"]["added"], last["counts"]["rejected"]) == (39, 1)


@pytest.mark.slow
def test_where_nothing_can_be_written_nobody_waits_for_ever(
    served: Served, ask: httpx.Client, tmp_path: Path
) -> None:
    def post(number: int) -> httpx.Response:
        documents = [{"key": f"{number}-{n}", "text": f"{TEXT} {number} {n}"} for n in range(2)]
        return ask.post("/v1/documents", json={"documents": documents})

    with ThreadPoolExecutor(4) as threads, locked(tmp_path / "s.db"):
        replies = list(threads.map(post, range(4)))
        found = sorted(reply.status_code for reply in replies)
        # One is taken, or the queue was empty again; no other finds room beside it.
        assert found == [503, 503, 503, 504]
        for reply in replies:
            title = {503: "Overloaded", 504: "TimedOut"}[reply.status_code]
            assert refused(reply, reply.status_code, title)["exit_code"] == 6
            if title == "Overloaded":
                assert int(reply.headers["retry-after"]) >= 1
        # Readers go on meanwhile.
        assert ask.post("/v1/query", json={"text": TEXT}).status_code == 200
        assert ask.get("/readyz").status_code == 200
    # What was taken is done, although nobody waited for it.
    until(
        lambda: len(ask.get("/v1/documents").json()["documents"]) == 2, "what was taken to be done"
    )


def test_lines_wait_where_the_queue_is_full(ask: httpx.Client, tmp_path: Path) -> None:
    """The queue has room for three documents, and the lines are two hundred."""
    given = "".join(json.dumps({"key": f"{n}", "text": f"{TEXT} {n}"}) + "\n" for n in range(200))
    *_, last = lines(ask.post("/v1/documents", content=given, headers=NDJSON))
    assert last["counts"]["added"] == 200


def test_the_head_of_a_request_is_not_waited_for(served: Served) -> None:
    heads = (b"", b"GET /healthz HTT", b"POST /v1/query HTTP/1.1\r\nHost: x\r\nA:")
    with ExitStack() as stack:
        made = [stack.enter_context(connection(served)) for _ in heads]
        for one, head in zip(made, heads, strict=True):
            one.sendall(head)
        assert [received(one) for one in made] == [b""] * len(heads)


def test_a_head_without_end_is_cut(tmp_path: Path) -> None:
    with serve(tmp_path / "s.db") as served, connection(served) as made:
        made.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        line = b"X-More: " + b"x" * 1_000 + b"\r\n"
        # Far less than it could take in the ten seconds that a head may take.
        with pytest.raises(ConnectionError):
            made.sendall(line * 100_000)


def test_bodies_of_all_together_are_limited(tmp_path: Path) -> None:
    head = (
        b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n"
        b"Content-Type: application/json\r\n\r\n"
    )
    body = json.dumps({"text": "x" * 8_900}).encode().ljust(9_000)
    with (
        serve(tmp_path / "s.db", "--bodies-bytes", "20000") as served,
        connection(served) as first,
        connection(served) as second,
        connection(served) as third,
        httpx.Client(base_url=served.url) as ask,
    ):
        for one in (first, second):
            one.sendall(head + body[:-1])
        until(lambda: told(ask, "simstore_http_requests_in_flight") == 3, "both to be read")
        third.sendall(head + body)
        reply = reply_on(third)
        assert reply.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in reply.lower()
        # Who was first has room still, and leaves it to others.
        for one in (first, second, third):
            one.sendall(body[-1:] if one is not third else head + body)
            assert reply_on(one).startswith(b"HTTP/1.1 200")


def reply_on(made: socket.socket) -> bytes:
    """Return a whole reply, which may come in pieces: its head, and as much as that tells of."""
    reply = b""
    while b"\r\n\r\n" not in reply:
        reply += made.recv(65_536)
    head, _, body = reply.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head.lower())
    assert found is not None
    while len(body) < int(found[1]):
        body += made.recv(65_536)
    return head + b"\r\n\r\n" + body


def told(ask: httpx.Client, name: str) -> float:
    """Return the value of a metric."""
    return float(ask.get("/metrics").text.split(f"\n{name} ")[-1].split()[0])


@pytest.mark.slow
def test_a_connection_may_wait_between_requests(served: Served) -> None:
    with connection(served) as made:
        for _ in range(2):
            made.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = b""
            while not reply.endswith(b'{"status":"ok"}'):
                reply += made.recv(65_536)
            # Longer than a head may take.
            wait_for_silence(made, 0.8)


def wait_for_silence(made: socket.socket, seconds: float) -> None:
    """Wait so long, and make sure that nothing comes."""
    made.settimeout(seconds)
    with pytest.raises(TimeoutError):
        made.recv(1)
    made.settimeout(PATIENCE_SECONDS)


@pytest.mark.slow
def test_the_body_of_a_request_is_not_waited_for(served: Served) -> None:
    with connection(served) as made:
        made.sendall(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        reply = received(made)
    assert reply.startswith(b"HTTP/1.1 408")
    assert b'"title":"TooSlow"' in reply
    assert b"connection: close" in reply.lower()


@pytest.mark.slow
def test_lines_that_stop_coming_are_not_waited_for(served: Served, ask: httpx.Client) -> None:
    line = json.dumps({"key": "a", "text": TEXT}).encode() + b"\n"
    with connection(served) as made:
        made.sendall(
            b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
            b"Content-Type: application/x-ndjson\r\n\r\n" + line
        )
        reply = received_or_cut(made)
    assert b'"outcome":"added"' in reply
    # It is no whole reply: it has no end.
    assert b"counts" not in reply
    assert ask.get("/v1/documents/a").status_code == 200


def received_or_cut(made: socket.socket) -> bytes:
    data = b""
    try:
        while part := made.recv(65_536):
            data += part
    except ConnectionResetError:
        pass
    return data


@pytest.mark.slow
def test_who_does_not_listen_is_not_waited_for(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many((f"{n}", f"{TEXT} {n} " + "many words " * 10_000) for n in range(100))
    with (
        serve(tmp_path / "s.db", "--request-seconds", "1") as served,
        httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as ask,
        connection(served, 4_096) as made,
    ):
        made.sendall(
            b"GET /v1/documents?with_text=1 HTTP/1.1\r\nHost: localhost\r\n"
            b"Accept: application/x-ndjson\r\n\r\n"
        )
        assert made.recv(9) == b"HTTP/1.1 "
        until(lambda: told(ask, "simstore_http_requests_in_flight") == 1, "the server to give up")
        # Not the whole, and it does not end as a whole reply does.
        assert len(received_or_cut(made)) < 100 * len("many words ") * 10_000


def test_too_often_is_refused(tmp_path: Path) -> None:
    with (
        serve(tmp_path / "s.db", "--rate", "0.01") as served,
        httpx.Client(base_url=served.url) as ask,
    ):
        assert ask.get("/v1/scheme").status_code == 200
        reply = ask.get("/v1/scheme")
        refused(reply, 429, "RateLimited")
        assert int(reply.headers["retry-after"]) > 1
        # Who watches it is not counted.
        assert ask.get("/readyz").status_code == 200
