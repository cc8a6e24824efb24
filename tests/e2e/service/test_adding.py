"""Documents that are sent: one, a batch, the same again, lines."""

from __future__ import annotations

import json

import httpx

from .asked import NDJSON, NEAR, OTHER, TEXT, lines, refused

# Documents


def test_malformed_documents_are_refused_with_the_place(ask: httpx.Client) -> None:
    wrong: dict[str | bytes, str] = {
        "{": "body",
        "[]": "body",
        '{"key": "a"}': "body",
        '{"key": "a", "text": "t", "strange": 1}': "body",
        '{"key": "a", "text": "t", "seen_at": 1e30}': "body.seen_at",
        '{"key": "a", "text": "t", "metadata": NaN}': "body",
        '{"documents": [{"key": "a", "text": "t"}, {"text": "t"}]}': "body.documents[1]",
        "[" * 100_000: "body",
        b"\xff\xfe{": "body",
    }
    for body, place in wrong.items():
        headers = {"Content-Type": "application/json"}
        reply = ask.post("/v1/documents", content=body, headers=headers)
        assert refused(reply, 422, "MalformedRequest")["place"] == place, body[:60]
    assert ask.get("/v1/documents").json()["documents"] == []


def test_bodies_of_another_kind_are_refused(ask: httpx.Client) -> None:
    for path in ("/v1/documents", "/v1/query", "/v1/seen", "/v1/check", "/v1/compare"):
        reply = ask.post(path, content=b"a=b", headers={"Content-Type": "text/plain"})
        assert refused(reply, 415, "UnsupportedMedia")["kind"] == "text/plain"


# The same request again


# Lines


def test_lines_are_answered_in_their_order(ask: httpx.Client) -> None:
    given = [
        json.dumps({"key": "a", "text": TEXT}),
        "nonsense",
        "",
        json.dumps({"key": "b", "text": NEAR}),
        json.dumps({"key": "", "text": OTHER}),
        json.dumps({"key": "c", "text": OTHER}),
    ]
    reply = ask.post("/v1/documents?on_duplicate=skip", content="\n".join(given), headers=NDJSON)
    *found, last = lines(reply)
    told = [(one.get("key"), one.get("outcome"), one.get("line")) for one in found]
    assert told == [
        ("a", "added", None), (None, None, 2), ("b", "skipped", None), (None, None, 5),
        ("c", "added", None),
    ]  # fmt: skip
    assert found[1]["error"]["title"] == "MalformedRequest"
    assert found[1]["error"]["place"] == "line 2"
    assert last["counts"] == {
        "added": 2, "updated": 0, "unchanged": 0, "flagged": 0, "skipped": 1, "rejected": 2,
    }  # fmt: skip
    assert {one["key"] for one in ask.get("/v1/documents").json()["documents"]} == {"a", "c"}
