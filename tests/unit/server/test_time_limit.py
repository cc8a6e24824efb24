"""What took too long for its request gives its place up, where the work comes in pieces."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from texts import BREAD, LIGHTHOUSE

from simstore.server.app import create_app
from simstore.server.service import Service
from simstore.server.settings import ServerSettings
from simstore.services.check import copies
from simstore.services.clusters import read
from simstore.services.compare import measures
from simstore.store import Store

HERE = "http://127.0.0.1:8765"
_SOURCES = 20


class Gate:
    """Lets nobody through before it is opened, and counts who came."""

    def __init__(self) -> None:
        self.entered, self.open = threading.Event(), threading.Event()
        self.count = 0

    def before(self, function: Any) -> Any:
        """Return a function behind the gate."""

        def gated(*given: Any, **named: Any) -> Any:
            self.count += 1
            self.entered.set()
            self.open.wait()
            return function(*given, **named)

        return gated


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        store.passages.build()
        store.add_many((f"{n}", f"{LIGHTHOUSE} {n}") for n in range(_SOURCES))
        store.add_many((f"{n} {word}", f"{word} " * 30) for n in (1, 2) for word in "abcde")
        store.clusters.build()
    return create_app(tmp_path / "s.db", ServerSettings(request_seconds=1.5, heavy_requests=1))


CHECK = {"text": LIGHTHOUSE}
COMPARE = {"first": {"key": "1"}, "second": {"document": {"key": "x", "text": BREAD}}}
# (Comparing warms up first, by all algorithms.)
# What is asked for, which piece of the work waits, and how many such pieces there are in all.
LONG: dict[str, tuple[str, str, Any, Any, tuple[str, ...], int]] = {
    "check": ("POST", "/v1/check", CHECK, copies, ("exact_runs",), _SOURCES),
    "compare": ("POST", "/v1/compare", COMPARE, measures, ("blake2b", "euclid"), 4),
    "clusters": (
        "GET", "/v1/clusters?min_size=99", None, read, ("_distance",), _SOURCES + 10,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("asked", LONG)
def test_a_request_that_timed_out_gives_its_place_up(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    method, path, body, module, names, pieces = LONG[asked]
    gate = Gate()
    for name in names:
        monkeypatch.setattr(module, name, gate.before(getattr(module, name)))
    service: Service = app.state.service

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=HERE) as client,
        ):
            reply = await client.request(method, path, json=body)
            assert reply.status_code == 504
            assert gate.entered.is_set()
            assert service.heavy.taken == 1
            gate.open.set()
            # There is one thread: this is run when the place is free.
            await service.heavy.run(int)
            assert 0 < gate.count < pieces
            gate.count = 0
            # What nobody holds up must not fail on a busy machine.
            service.settings = dataclasses.replace(service.settings, request_seconds=30)
            reply = await client.request(method, path, json=body)
            assert reply.status_code == 200
            assert gate.count >= pieces

    asyncio.run(ask())


@pytest.mark.slow
def test_a_form_that_timed_out_is_shown_again_with_what_was_typed(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    monkeypatch.setattr(copies, "exact_runs", gate.before(copies.exact_runs))
    typed = f"{LIGHTHOUSE} " * 9

    async def ask() -> None:
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app),
                base_url=HERE,
                headers={"Accept": "text/html", "Accept-Language": "en"},
            ) as client,
        ):
            reply = await client.post("/check", data={"text": typed})
            gate.open.set()
            assert reply.status_code == 504
            assert "The server gave up. Try a shorter text." in reply.text
            assert typed.strip() in unescape(reply.text)
            assert '<textarea id="text"' in reply.text

    asyncio.run(ask())
