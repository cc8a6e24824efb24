"""Large bodies are read beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass

import pytest

from simstore.errors import MalformedRequest
from simstore.server import bodies
from simstore.server.bodies import LARGE_BYTES, value_of
from simstore.server.workers.bounded_executor import BoundedExecutor


@dataclass(frozen=True, slots=True)
class Keys:
    keys: tuple[str, ...]


@pytest.mark.parametrize("size", [10, LARGE_BYTES + 1])
def test_a_large_body_is_read_in_a_thread(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    parsed = bodies.parsed

    def seen(data: bytes, place: str = "body") -> object:
        threads.append(threading.current_thread().name)
        return parsed(data, place)

    monkeypatch.setattr(bodies, "parsed", seen)
    lane = BoundedExecutor("test", 1, 1)

    async def read(data: bytes) -> Keys:
        return await value_of(data, Keys, lane)

    assert asyncio.run(read(b'{"keys":["%s"]}' % (b"x" * size))) == Keys(("x" * size,))
    with pytest.raises(MalformedRequest, match="not JSON"):
        asyncio.run(read(b"{" * (size + 1)))
    assert [name.startswith("simstore-test") for name in threads] == [size > LARGE_BYTES] * 2
    assert lane.close(10)
