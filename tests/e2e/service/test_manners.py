"""What holds of every route: health, the shape of errors, methods, parameters, codings."""

from __future__ import annotations

import gzip
import json

import httpx

from .asked import NEAR, TEXT, add, refused


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


def test_parameters_that_are_not_known_are_refused(ask: httpx.Client) -> None:
    add(ask, ("a", TEXT))
    for method, path, name in (
        ("GET", "/v1/documents/a?with-text=1", "with-text"),
        ("POST", "/v1/documents?on_dupicate=skip", "on_dupicate"),
        ("DELETE", "/v1/documents/a?missing_ok=1", "missing_ok"),
    ):
        body = {"key": "b", "text": NEAR} if method == "POST" else None
        reply = ask.request(method, path, json=body)
        assert refused(reply, 422, "MalformedRequest")["place"] == f"query.{name}"
    assert ask.get("/v1/stats?").status_code == 200
    assert [one["key"] for one in ask.get("/v1/documents").json()["documents"]] == ["a"]


def test_compressed_bodies_are_refused_as_such(ask: httpx.Client) -> None:
    body = gzip.compress(json.dumps({"key": "a", "text": TEXT}).encode())
    for coding in ("gzip", "zstd", "gzip, identity", "GZIP"):
        for path, kind in (
            ("/v1/documents", "application/json"),
            ("/v1/documents", "application/x-ndjson"),
            ("/v1/check", "multipart/form-data; boundary=x"),
        ):
            headers = {"Content-Type": kind, "Content-Encoding": coding}
            reply = ask.post(path, content=body, headers=headers)
            assert "Content-Encoding" in refused(reply, 415, "UnsupportedMedia")["detail"]
    plain = {"Content-Type": "application/json", "Content-Encoding": "identity"}
    body = json.dumps({"key": "a", "text": TEXT}).encode()
    assert ask.post("/v1/documents", content=body, headers=plain).status_code == 200
