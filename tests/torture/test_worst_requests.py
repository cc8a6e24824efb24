"""The worst single requests that are known: the server answers others meanwhile, and ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import PATIENCE_SECONDS, Served, serve

from simstore import Store

from .health import Health, judge, sent
from .worst_requests import KEY, TEXT, WORST, Worst

pytestmark = [pytest.mark.torture, pytest.mark.sqlite("what a server takes is the same")]

_DRAIN_SECONDS = 5
_ENDING_SECONDS = 10.0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place: Path = tmp_path_factory.mktemp("worst") / "s.db"
    with Store.create(place) as store:
        store.passages.build()
        store.add_many([(KEY, TEXT), (f"b{KEY}", f"{TEXT} Twice.")])
    limits = [
        "--header-seconds",
        "2",
        "--request-seconds",
        "8",
        "--drain-seconds",
        str(_DRAIN_SECONDS),
    ]
    with serve(place, *limits) as found:
        yield found
        found.process.send_signal(15)
        start = time.monotonic()
        assert found.process.wait(PATIENCE_SECONDS) == 0
        assert time.monotonic() - start < _DRAIN_SECONDS + _ENDING_SECONDS
        assert not any("Traceback" in line for line in found.lines)


@pytest.mark.parametrize("one", WORST, ids=lambda one: one.name)
def test_others_are_answered_within_a_second(served: Served, one: Worst) -> None:
    judge(one, sent(served, one, Health(served)))
