"""A server for each file, its store empty for each test."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from served import PATIENCE_SECONDS, Served, serve

from simstore import Store

from .asked import accepting, lines


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("serve") / "s.db"
    with Store.create(place) as store:
        store.passages.build()
    with serve(place) as found:
        yield found


@pytest.fixture(scope="module")
def ask(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=PATIENCE_SECONDS) as client:
        yield client


@pytest.fixture(autouse=True)
def empty(ask: httpx.Client) -> None:
    """Each test begins with an empty store."""
    keys = [one["key"] for one in lines(ask.get("/v1/documents", headers=accepting()))]
    # What was skipped has no document.
    keys += [one["key"] for one in lines(ask.get("/v1/duplicates", headers=accepting()))]
    for start in range(0, len(keys), 1_000):
        part = keys[start : start + 1_000]
        done = ask.post("/v1/remove", json={"keys": part, "missing_ok": True})
        assert done.status_code == 200, done.text
