"""A service goes on looking for its store's file, whatever a look ends with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simstore import Store
from simstore.server import service as service_module
from simstore.server.service import Service
from simstore.server.settings import ServerSettings


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(service_module, "_LOOK_SECONDS", 0.001)
    Store.create(tmp_path / "s.db").close()
    made = Service(tmp_path / "s.db", ServerSettings())
    made.open()
    yield made
    made.close()


def test_a_look_at_the_file_that_fails_is_told_once_and_is_not_the_last(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("simstore"), "propagate", True)
    look: Callable[[], None] = service.store.maintenance.check_file
    looks: list[int] = []

    def fails_first() -> None:
        looks.append(1)
        if len(looks) < 4:
            raise RuntimeError("no more threads")
        look()

    monkeypatch.setattr(service.store.maintenance, "check_file", fails_first)
    place = service.store.maintenance.path
    assert place is not None

    async def watched() -> None:
        task = asyncio.create_task(service.watch_file())
        while len(looks) < 6:
            await asyncio.sleep(0.001)
        assert service.lost is None
        place.rename(place.with_name("moved.db"))
        while service.lost is None:
            await asyncio.sleep(0.001)
        place.with_name("moved.db").rename(place)
        while service.lost is not None:
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(asyncio.wait_for(watched(), 60))
    (told,) = (one for one in dict.fromkeys(caplog.records) if one.exc_info)
    assert "it cannot be told whether the store's file was moved" in told.getMessage()
    assert "no more threads" in str(told.exc_info)


def test_a_file_that_is_lost_just_before_the_end_is_known_as_lost(service: Service) -> None:
    place = service.store.maintenance.path
    assert place is not None
    place.rename(place.with_name("moved.db"))
    assert service.lost is None
    assert service.close()
    assert service.lost == "the store's file was moved or deleted"
    place.with_name("moved.db").rename(place)
