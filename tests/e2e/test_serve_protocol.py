"""What is no request that the server takes is refused in the form of all other errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from served import PATIENCE_SECONDS, Served, serve

from .test_serve_limits import connection, received, reply_on

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = (
    b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("protocol") / "s.db") as found:
        yield found
        with httpx.Client(base_url=found.url, timeout=PATIENCE_SECONDS) as ask:
            assert ask.get("/healthz").status_code == 200
        assert found.stop() == 0
        assert not any("Traceback" in line for line in found.lines)


def refusal(reply: bytes, status: int, title: str) -> dict[str, Any]:
    """Return the problem details of a reply that refuses a request."""
    head, _, body = reply.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines)
    assert first.split(" ")[:2] == ["HTTP/1.1", str(status)]
    assert fields["content-type"] == "application/problem+json"
    assert fields["connection"] == "close"
    assert fields["x-content-type-options"] == "nosniff"
    assert int(fields["content-length"]) == len(body)
    told: dict[str, Any] = json.loads(body)
    assert (told["status"], told["title"]) == (status, title)
    assert told["request_id"] == fields["x-request-id"]
    return told


def test_what_is_no_request_is_told_so(served: Served) -> None:
    for sent in (
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /healthz HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET /h\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        HEAD + b"Content-Length: x\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
        CHUNKED + b"zz\r\n",
    ):
        refusal(reply_to(served, sent), 400, "ProtocolError")


def reply_to(served: Served, sent: bytes) -> bytes:
    with connection(served) as made:
        made.sendall(sent)
        return received(made)


def test_a_request_names_one_host(served: Served) -> None:
    for sent in (
        HEAD + b"Host: localhost\r\n\r\n",
        HEAD + b"host: other.example\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
    ):
        assert "Host" in refusal(reply_to(served, sent), 400, "ProtocolError")["detail"]


def test_a_request_of_the_older_protocol_needs_no_host(served: Served) -> None:
    with connection(served) as made:
        made.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b" 200 OK\r\n" in received(made)


def test_a_head_that_is_too_long_is_told_so(served: Served) -> None:
    for sent in (
        HEAD + b"X: y\r\n" * 15_000 + b"\r\n",
        b"GET /healthz?" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        HEAD + b"X-More: " + b"x" * 900_000,
        HEAD + b"X-More: " + b"x" * 900_000 + b"\r\n\r\n" + HEAD + b"\r\n",
    ):
        assert refusal(reply_to(served, sent), 431, "HeadTooLarge")["limit"] == 65_536


def test_a_head_of_just_less_is_taken(served: Served) -> None:
    with connection(served) as made:
        made.sendall(HEAD + b"X-More: " + b"x" * 65_000 + b"\r\n\r\n")
        assert reply_on(made).startswith(b"HTTP/1.1 200")
        made.sendall(HEAD + b"\r\n")
        assert reply_on(made).startswith(b"HTTP/1.1 200")


def test_a_refusal_is_no_part_of_another_reply(served: Served) -> None:
    """What was asked before on the same connection is answered whole, or not at all."""
    with connection(served) as made:
        made.sendall(HEAD + b"\r\n" + b"nonsense\r\n\r\n")
        try:
            reply = received(made)
        except ConnectionResetError:
            reply = b""
        assert reply.count(b"HTTP/1.1 ") <= 2
        if reply.startswith(b"HTTP/1.1 200"):
            _, _, rest = reply.partition(b"\r\n\r\n")
            assert rest.startswith(b'{"status":"ok"}')
