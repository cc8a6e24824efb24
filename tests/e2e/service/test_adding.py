"""Bodies that are no documents."""

from __future__ import annotations

import httpx

from .asked import refused


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
