"""Documents that are asked for by their keys, listed, and removed."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from .asked import NEAR, OTHER, TEXT, accepting, add, lines, refused

KEYS = [
    "plain", "a/b/c", "/leading", "with blank", "字", "100%", "a?b=c#d", "..", "a//b", "caf\udce9",
    "x" * 500, "seen", "\x01", "two\nlines\n",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_any_key_can_be_asked_for_and_removed(ask: httpx.Client, key: str) -> None:
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


def test_documents_come_in_pages(ask: httpx.Client) -> None:
    add(ask, *((f"{n}", f"{TEXT} {n}") for n in range(5)))
    found, after = [], 0
    while after is not None:
        page = ask.get("/v1/documents", params={"limit": 2, "after": after}).json()
        assert len(page["documents"]) <= 2
        found += [one["key"] for one in page["documents"]]
        assert page["more"] is (page["next"] is not None)
        after = page["next"]
    assert found == ["0", "1", "2", "3", "4"]


def test_documents_of_a_collection(ask: httpx.Client) -> None:
    ask.post("/v1/documents", json={"key": "a", "text": TEXT, "collection": "x"})
    ask.post("/v1/documents", json={"key": "b", "text": OTHER})
    for options in ({}, {"headers": accepting()}):
        reply = ask.get("/v1/documents", params={"collection": "x", "with_text": 1}, **options)
        listed = lines(reply) if options else reply.json()["documents"]
        assert [(one["key"], one["text"]) for one in listed] == [("a", TEXT)]


@pytest.mark.parametrize(
    "asked",
    ["limit=0", "limit=x", "after=-1", "after=1e9", f"after={1 << 64}", "run_id=-1", "run_id=last"],
)
def test_wrong_pages_are_refused(ask: httpx.Client, asked: str) -> None:
    refused(ask.get(f"/v1/documents?{asked}"), 422, "MalformedRequest")


def test_story_of_a_document(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", TEXT))
    found = ask.get("/v1/documents/b", params={"story": 1, "original": "prefer:^b"}).json()
    assert (found["original"], [one["key"] for one in found["relatives"]]) == ("b", ["a"])
    reply = ask.get("/v1/documents/b", params={"story": 1, "original": "nobody"})
    refused(reply, 400, "InvalidParameter")


def test_seen_tells_of_each_key(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", NEAR), on_duplicate="skip")
    found = ask.post("/v1/seen", json={"keys": ["b", "nobody", "a"]}).json()["seen"]
    assert [one and one["state"] for one in found] == ["skipped", None, "stored"]
    refused(ask.post("/v1/seen", json={"keys": "a"}), 422, "MalformedRequest")
    refused(ask.post("/v1/seen", json={}), 422, "MalformedRequest")


def test_removal_takes_all_or_nothing(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT), ("b", NEAR), ("c", OTHER), on_duplicate="skip")
    refused(ask.post("/v1/remove", json={"keys": ["a", "x"]}), 404, "DocumentNotFound")
    assert ask.get("/v1/documents/a").status_code == 200
    done = ask.post("/v1/remove", json={"keys": ["a", "x", "a"], "missing_ok": True}).json()
    assert (done["removed"], done["orphans"]) == (1, ["b"])
