"""The page of a class from a store that has no passage index."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
from texts import BREAD, LIGHTHOUSE

from simstore.server.app import create_app
from simstore.store import Store


def test_page_of_papers_needs_no_library(tmp_path: Path) -> None:
    Store.create(tmp_path / "s.db", synchronous="normal").close()
    app = create_app(tmp_path / "s.db")
    papers = [{"key": "p", "text": LIGHTHOUSE}, {"key": "q", "text": f"{BREAD} {LIGHTHOUSE}"}]

    async def page() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client,
        ):
            wanted = {"Accept": "text/html"}
            return await client.post("/v1/check/mutual", json={"papers": papers}, headers=wanted)

    reply = asyncio.run(page())
    assert reply.status_code == 200
    assert reply.text.count("data-pair=") == 1
