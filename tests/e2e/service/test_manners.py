"""What holds of every route: health, the shape of errors, methods, parameters, codings."""

from __future__ import annotations

import gzip
import json

import httpx
import pytest

from .asked import NDJSON, NEAR, TEXT, add, refused


@pytest.mark.slow
def test_health_and_readiness(ask: httpx.Client) -> None:
    assert ask.get("/healthz").json() == {"status": "ok"}
    assert ask.get("/readyz").json() == {"status": "ready"}


def test_errors_have_one_shape_everywhere(ask: httpx.Client) -> None:
    told = refused(ask.get("/v1/nothing"), 404, "RouteNotFound")
    assert told["path"] == "/v1/nothing"
    reply = ask.put("/v1/query")
    assert refused(reply, 405, "MethodNotAllowed")["allowed"] == "POST"
    assert reply.headers["allow"] == "POST"
    refused(ask.post("/v1/stats"), 405, "MethodNotAllowed")
    for path, allowed in (("/v1/documents", "GET, POST"), ("/v1/documents/a/b", "DELETE, GET")):
        assert ask.request("OPTIONS", path).headers["allow"] == allowed
        assert refused(ask.put(path), 405, "MethodNotAllowed")["allowed"] == allowed
    refused(ask.get("/v1/documents/"), 404, "DocumentNotFound")


@pytest.mark.parametrize("path", ["/", "/healthz", "/v1/documents", "/v1/stats", "/v1/documents/a"])
def test_head_is_answered_as_get_is(ask: httpx.Client, path: str) -> None:
    add(ask, ("a", TEXT))
    whole, head = ask.get(path), ask.head(path)
    assert head.status_code == whole.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == whole.headers["content-type"]
    refused_head = ask.head("/v1/documents/nobody")
    assert (refused_head.status_code, refused_head.content) == (404, b"")
    assert ask.head("/v1/query").status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/v1/documents?limt=5", "limt"),
        ("GET", "/v1/documents/a?with-text=1", "with-text"),
        ("POST", "/v1/documents?on_dupicate=skip", "on_dupicate"),
        ("POST", "/v1/query?radius=3", "radius"),
        ("DELETE", "/v1/documents/a?missing_ok=1", "missing_ok"),
        ("GET", "/v1/stats?", None),
    ],
)
def test_parameters_that_are_not_known_are_refused(
    ask: httpx.Client, method: str, path: str, name: str | None
) -> None:
    add(ask, ("a", TEXT))
    reply = ask.request(method, path, json={"key": "b", "text": NEAR} if method == "POST" else None)
    if name is None:
        assert reply.status_code == 200
        return
    assert refused(reply, 422, "MalformedRequest")["place"] == f"query.{name}"
    assert [one["key"] for one in ask.get("/v1/documents").json()["documents"]] == ["a"]


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br", "gzip, identity", "GZIP"])
@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_compressed_bodies_are_refused_as_such(ask: httpx.Client, coding: str, kind: str) -> None:
    body = gzip.compress(json.dumps({"key": "a", "text": TEXT}).encode())
    headers = {"Content-Type": kind, "Content-Encoding": coding}
    reply = ask.post("/v1/documents", content=body, headers=headers)
    assert "Content-Encoding" in refused(reply, 415, "UnsupportedMedia")["detail"]
    form = {"Content-Type": "multipart/form-data; boundary=x", "Content-Encoding": coding}
    refused(ask.post("/v1/check", content=body, headers=form), 415, "UnsupportedMedia")
    plain = {"Content-Type": "application/json", "Content-Encoding": "identity"}
    body = json.dumps({"key": "a", "text": TEXT}).encode()
    assert ask.post("/v1/documents", content=body, headers=plain).status_code == 200


def test_lines_take_no_name(ask: httpx.Client) -> None:
    body = json.dumps({"key": "a", "text": TEXT})
    headers = {**NDJSON, "Idempotency-Key": "lines-1"}
    reply = ask.post("/v1/documents", content=body, headers=headers)
    assert refused(reply, 422, "MalformedRequest")["place"] == "header.Idempotency-Key"
