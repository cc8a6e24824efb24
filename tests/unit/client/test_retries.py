"""When a request is sent again, by a clock that is told what to say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simstore.client.retries import Retries, RetryLater
from simstore.errors import DocumentNotFound, Overloaded, ServerUnreachable


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def tell(self) -> float:
        return self.now


def failing(times: int, error: Exception) -> Callable[[], str]:
    left = [error] * times

    def send() -> str:
        if left:
            raise left.pop()
        return "done"

    return send


BUSY = Overloaded(1)


def retries(patience: float, clock: Clock, *, reached: bool = True) -> Retries:
    return Retries(patience, clock.sleep, clock.tell, reached)


def test_pauses_double_up_to_ten_seconds() -> None:
    clock = Clock()
    assert retries(1_000, clock).run(failing(10, RetryLater(BUSY))) == "done"
    highest = [min(0.1 * 2**n, 10.0) for n in range(10)]
    assert all(high / 2 <= pause <= high for pause, high in zip(clock.pauses, highest, strict=True))


def test_a_pause_is_no_shorter_than_the_server_says() -> None:
    clock = Clock()
    assert retries(60, clock).run(failing(3, RetryLater(BUSY, 7))) == "done"
    assert all(7 < pause < 8 for pause in clock.pauses)


def test_patience_ends_before_a_pause_that_would_be_too_long() -> None:
    clock = Clock()
    with pytest.raises(Overloaded):
        retries(20, clock).run(failing(99, RetryLater(BUSY, 7)))
    assert len(clock.pauses) == 2
    assert clock.now <= 20


def test_without_patience_each_request_is_sent_once() -> None:
    clock = Clock()
    with pytest.raises(Overloaded):
        retries(0, clock).run(failing(1, RetryLater(BUSY)))
    assert clock.pauses == []


def test_what_is_wrong_for_good_is_raised_at_once() -> None:
    clock = Clock()
    with pytest.raises(DocumentNotFound):
        retries(60, clock).run(failing(1, DocumentNotFound("a")))
    assert clock.pauses == []


def test_a_server_that_never_answered_is_not_waited_for() -> None:
    clock = Clock()
    refused = RetryLater(ServerUnreachable("http://a", "refused"), refused=True)
    held = retries(60, clock, reached=False)
    with pytest.raises(ServerUnreachable):
        held.run(failing(1, refused))
    assert held.run(lambda: "done") == "done"
    assert held.run(failing(3, refused)) == "done"
    assert len(clock.pauses) == 3


def test_a_server_that_is_busy_has_answered() -> None:
    clock = Clock()
    assert retries(60, clock, reached=False).run(failing(1, RetryLater(BUSY))) == "done"
