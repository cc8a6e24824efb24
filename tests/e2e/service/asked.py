"""What the tests of the service send, and how they take replies."""

from __future__ import annotations

import json
from typing import Any

import httpx

TEXT = (
    "A crawler fetches pages, remembers which of them it has seen, and asks the store whether "
    "another page says the same in other words before it keeps the page for good."
)
NEAR = TEXT.replace("for good", "for ever")
OTHER = (
    "Bread needs flour, water, salt and time; the oven does the rest, and a stone keeps the heat "
    "that the crust wants in its first minutes."
)
NDJSON = {"Content-Type": "application/x-ndjson"}


def accepting() -> dict[str, str]:
    return {"Accept": "application/x-ndjson"}


def lines(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in reply.text.splitlines()]


def add(ask: httpx.Client, *documents: tuple[str, str], **parameters: Any) -> dict[str, Any]:
    body = {"documents": [{"key": key, "text": text} for key, text in documents]}
    reply = ask.post("/v1/documents", json=body, params=parameters)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def refused(reply: httpx.Response, status: int, title: str) -> dict[str, Any]:
    assert reply.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = reply.json()
    assert (reply.status_code, told["status"], told["title"]) == (status, status, title), told
    assert told["type"] == f"urn:simstore:{title}"
    assert told["request_id"] == reply.headers["x-request-id"]
    assert told["detail"].isprintable()
    assert isinstance(told["exit_code"], int)
    return told


def paged(ask: httpx.Client, path: str, name: str, **asked: Any) -> list[Any]:
    """Return the items of a list that is fetched page by page, as ``next`` says."""
    found: list[Any] = []
    after = None
    while True:
        given = asked if after is None else {**asked, "after": after}
        page = ask.get(path, params=given).json()
        assert len(page[name]) <= asked["limit"]
        assert page["more"] is (page["next"] is not None)
        found += page[name]
        after = page["next"]
        if after is None:
            return found
