"""Documents that are asked for by their keys, listed, and removed."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx

from .asked import TEXT, refused

KEYS = [
    "plain", "a/b/c", "/leading", "with blank", "字", "100%", "a?b=c#d", "..", "a//b", "caf\udce9",
    "x" * 500, "seen", "\x01", "two\nlines\n",
]  # fmt: skip


def test_any_key_can_be_asked_for_and_removed(ask: httpx.Client) -> None:
    for key in KEYS:
        ask_for_and_remove(ask, key)


def ask_for_and_remove(ask: httpx.Client, key: str) -> None:
    data = key.encode("utf-8", "surrogateescape")
    given: dict[str, Any] = {"key": key, "text": TEXT}
    if "\udce9" in key:
        given = {"key": "shown", "key_base64": "Y2Fm6Q==", "text": TEXT}
    done = ask.post("/v1/documents", json=given)
    assert done.status_code == 200, done.text
    # Dots alone would be taken for folders by clients.
    path = "/v1/documents/" + quote(data, safe="").replace("..", "%2E%2E")
    found = ask.get(path)
    assert found.status_code == 200, found.text
    assert found.json()["key"] in (key, "caf\\xe9")
    assert ask.get(path, params={"story": 1}).json()["state"] == "stored"
    assert ask.delete(path).json()["removed"] == 1
    told = refused(ask.get(path), 404, "DocumentNotFound")
    assert told["exit_code"] == 3
    refused(ask.delete(path), 404, "DocumentNotFound")


def test_wrong_pages_are_refused(ask: httpx.Client) -> None:
    for asked in ("limit=0", "limit=x", "after=-1", f"after={1 << 64}", "run_id=-1", "run_id=last"):
        refused(ask.get(f"/v1/documents?{asked}"), 422, "MalformedRequest")
