"""An HTTP/1.1 protocol class that limits header size and time, and answers malformed requests."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from simstore.errors import HeadTooLarge, ProtocolError, SimstoreError
from simstore.server.access.security_headers import ALWAYS, DEFAULTS
from simstore.server.errors import problem_response
from simstore.server.request_log import RequestLine

# Bytes of a request's head: its first line and its fields.
LONGEST_HEAD = 64 << 10
# What may come after a refusal and is passed over, so that who sends it can read the refusal.
_MOST_PASSED_OVER = 1 << 20


class _Refused(Exception):
    """A request is refused while its head is read; the parser passes it on."""


def patient_protocol(
    header_seconds: float, on_refusal: Callable[[SimstoreError], None]
) -> type[HttpToolsProtocol]:
    """Return a protocol class for connections with a time limit.

    A connection is cut where the head of a request, or what is left of a body after its reply,
    does not come in time. What is no request of HTTP, has too long a head, or not one ``Host``, is
    refused, and the connection ends.

    Args:
        header_seconds: How long each may take.
        on_refusal: Called with why what came is no request; the log tells of it, too.
    """

    class PatientProtocol(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None
        _has_all = True
        _in_head = False
        # As they came, and as they were read: a line that has no end yet is not read.
        _head_bytes = _read_bytes = 0
        _refusal: SimstoreError | None = None
        _is_refused = False
        _passed_over = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._come()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._is_refused:
                self._passed_over += len(data)
                if self._passed_over > _MOST_PASSED_OVER:
                    self.transport.abort()
                return
            super().data_received(data)
            if not self._in_head or self._is_refused:
                return
            self._head_bytes += len(data)
            if self._head_bytes > LONGEST_HEAD:
                self._refuse(HeadTooLarge(LONGEST_HEAD))

        def eof_received(self) -> None:
            if self._is_refused:
                self.transport.close()
            super().eof_received()

        def on_message_begin(self) -> None:
            self._wait()
            self._has_all, self._in_head = False, True
            self._head_bytes = self._read_bytes = 0
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._count(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            # A colon, a blank and the line's end.
            self._count(len(name) + len(value) + 4)
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._come()
            self._in_head = False
            hosts = sum(name == b"host" for name, _ in self.headers)
            # RFC 9112, section 3.2: HTTP/1.0 needs none.
            if hosts > 1 or (not hosts and self.parser.get_http_version() != "1.0"):
                self._refusal = ProtocolError(f"it has {hosts} fields Host, and needs one")
                raise _Refused
            super().on_headers_complete()
            self.scope["state"]["simstore.abort"] = self.transport.abort

        def on_message_complete(self) -> None:
            self._come()
            self._has_all = True
            super().on_message_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self._has_all and not self.transport.is_closing():
                self._wait()

        def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - its signature
            self._refuse(self._refusal or ProtocolError("what came is no request of HTTP/1.1"))

        def _count(self, size: int) -> None:
            self._read_bytes += size
            if self._read_bytes > LONGEST_HEAD:
                self._refusal = HeadTooLarge(LONGEST_HEAD)
                raise _Refused

        def _refuse(self, error: SimstoreError) -> None:
            """Answer with an error, and end the connection."""
            self._is_refused, self._in_head = True, False
            cycle = self.cycle
            if cycle is not None and not cycle.response_complete:
                # Before, or in the middle of, another reply it would be taken for that.
                if cycle.response_started or cycle.scope is not self.scope or self.pipeline:
                    self.transport.abort()
                    return
                # Whoever serves it hears that nobody waits.
                cycle.disconnected = True
                cycle.message_event.set()
            number = secrets.token_hex(8)
            on_refusal(error)
            RequestLine(
                client=self.client[0] if self.client else "",
                token=None,
                method="",
                path="",
                status=error.http_status,
                seconds=0.0,
                request_id=number,
                error=error,
            ).write()
            self.transport.write(_reply(error, number))
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self._wait()

        def _wait(self) -> None:
            self._come()
            self._timer = self.loop.call_later(header_seconds, self.transport.abort)

        def _come(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return PatientProtocol


def _reply(error: SimstoreError, number: str) -> bytes:
    """Return an error as the bytes of a reply, which no application sends."""
    response = problem_response(error, number)
    headers = {**DEFAULTS, **ALWAYS, "x-request-id": number, "connection": "close"}
    for name, value in headers.items():
        response.headers[name] = value
    status = HTTPStatus(response.status_code)
    lines = [b"HTTP/1.1 %d %s" % (status.value, status.phrase.encode())]
    lines += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])
