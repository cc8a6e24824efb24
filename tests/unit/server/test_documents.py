"""Documents, keys and names as requests bring them."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from simstore.errors import InvalidParameter, MalformedRequest, TooLarge
from simstore.model import Document
from simstore.server.access.gate import Principal
from simstore.server.documents import document_of, documents_of
from simstore.server.request_keys import key_in_path, query_text
from simstore.server.settings import ServerSettings


def asking(path: str, query: bytes = b"", method: str = "GET", owner: str = "open") -> Request:
    raw = path.encode()
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": raw, "query_string": query,
        "headers": [], "state": {},
    }  # fmt: skip
    request = Request(scope)
    request.state.principal = Principal(owner, "admin")
    return request


def test_a_document_may_be_alone() -> None:
    given = {"key": "a", "text": "t", "seen_at": "1970-01-02", "links": ["b"]}
    assert documents_of(given, 1) == (Document("a", "t", seen_at=86_400, links=("b",)),)
    assert documents_of({"documents": [given] * 2}, 2) == documents_of(given, 1) * 2


def test_more_documents_than_there_may_be_are_too_many() -> None:
    given = {"key": "a", "text": "t"}
    assert len(documents_of({"documents": [given] * 2}, 2)) == 2
    with pytest.raises(TooLarge):
        documents_of({"documents": [given] * 3}, 2)


def test_what_is_no_time_is_told_with_its_place() -> None:
    for time in ["", "now", "2026-13-01", 1e300, -1e300, [], True, "9" * 50]:
        with pytest.raises(MalformedRequest) as refused:
            document_of({"key": "a", "text": "t", "published_at": time}, "here")
        assert refused.value.place.startswith("here")


def test_a_key_that_is_not_utf8_comes_by_its_bytes() -> None:
    found = document_of({"key": "x", "key_base64": "/w==", "text": "t"}, "here")
    assert found.key == "\udcff"


def test_keys_in_addresses_are_bytes() -> None:
    for path, key in [
        ("/v1/documents/a", "a"),
        ("/v1/documents/a/b", "a/b"),
        ("/v1/documents//a", "/a"),
        ("/v1/documents/", ""),
        ("/v1/documents/a%2Fb%20c", "a/b c"),
        ("/v1/documents/%FF", "\udcff"),
        ("/v1/documents/%E5%AD%97", "字"),
        ("/v1/documents/100%", "100%"),
        ("/%761/documents/a", "a"),
    ]:
        assert key_in_path(asking(path), "decoded") == key


def test_texts_behind_the_question_mark_are_bytes() -> None:
    request = asking("/v1/clusters/of", b"x=1&key=%FF+a&key=b")
    assert query_text(request, "key", "decoded") == "\udcff a"
    assert query_text(request, "other", "decoded") == "decoded"


def test_settings_out_of_range_are_refused() -> None:
    for options in [
        {"port": -1},
        {"port": 65_536},
        {"body_bytes": 0},
        {"request_seconds": 0},
        {"request_seconds": float("nan")},
        {"rate": 0},
        {"rate": float("nan")},
        {"notice_seconds": -1},
        {"drain_seconds": float("inf")},
        {"header_seconds": 10**9},
        {"figures_seconds": float("nan")},
        {"heavy_requests": 0},
    ]:
        with pytest.raises(InvalidParameter):
            ServerSettings(**options)
