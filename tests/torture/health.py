"""Whether a server answers others within a second, while and after it is attacked."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

from served import PATIENCE_SECONDS, Served

from .worst_requests import DOCUMENTED, Worst

_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
# What the claim is; and how many times as long as an idle check, where a machine is slow.
MOST_SECONDS, _TIMES = 1.0, 20.0


class Health:
    """Asks a server how it is.

    Args:
        served: The server, which is idle now.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        idle = sorted(self.seconds() for _ in range(5))[2]
        self._most = max(MOST_SECONDS, _TIMES * idle)

    def seconds(self) -> float:
        """Return how long a health check takes."""
        start = time.monotonic()
        with connected(self._served) as made:
            made.sendall(_HEALTH)
            answer = received(made)
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise AssertionError(f"the health check is answered by {answer[:200]!r}")
        return time.monotonic() - start

    def is_slow(self) -> float | None:
        """Return how long a health check took, where that is too long."""
        took = self.seconds()
        return took if took > self._most else None


def connected(served: Served) -> socket.socket:
    """Return a connection to a server."""
    made = socket.create_connection(("127.0.0.1", served.port), PATIENCE_SECONDS)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def received(made: socket.socket) -> bytes:
    """Return what comes until the other side has closed, or says no more."""
    data = bytearray()
    with suppress(ConnectionError):
        while part := made.recv(1 << 16):
            data += part
    return bytes(data)


def sent(served: Served, one: Worst, health: Health) -> bytes | None:
    """Send a request; return its answer, None where it did not come in time.

    A health check is made while the answer is waited for, and after it.

    Raises:
        AssertionError: The server did not answer others meanwhile, twice.
    """
    answer, slow = _sent(served, one, health)
    if slow is not None:
        # Another process may have held the machine up: it counts where it comes again.
        answer, again = _sent(served, one, health)
        if again is not None:
            raise AssertionError(
                f"{one.name}: a health check took {slow:.1f} s, and {again:.1f} s the second time"
            )
    return answer


def _sent(served: Served, one: Worst, health: Health) -> tuple[bytes | None, float | None]:
    slow = None
    with connected(served) as made:
        made.settimeout(one.waits)
        # A server may refuse, and close, before it has all.
        with suppress(ConnectionError, TimeoutError):
            for part in one.parts:
                made.sendall(part)
                if one.pause:
                    time.sleep(one.pause)
        slow = health.is_slow()
        try:
            answer: bytes | None = received(made)
        except TimeoutError:
            answer = None
    return answer, slow or health.is_slow()


def status_of(answer: bytes) -> int | None:
    """Return the status of an answer; None: there is none."""
    if answer.startswith(b"HTTP/1.1 100 "):
        # What goes before the answer.
        answer = answer.partition(b"\r\n\r\n")[2]
    if not answer.startswith(b"HTTP/1.1 "):
        return None
    return int(answer[9:12])


def judge(one: Worst, answer: bytes | None, *, is_open: bool = True) -> None:
    """Raise where an answer is none that may come.

    Args:
        one: The request.
        answer: As it came; None: it did not.
        is_open: No token was in the way.
    """
    if answer is None or not answer:
        if one.must_answer and answer is None:
            raise AssertionError(f"{one.name}: no answer in {one.waits:.0f} s")
        return
    status = status_of(answer)
    # A reply of many requests at once begins with the first.
    if status not in DOCUMENTED or (is_open and status not in one.statuses):
        raise AssertionError(f"{one.name}: {status}, {answer[:1_500]!r}")
