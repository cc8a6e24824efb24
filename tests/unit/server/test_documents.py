"""Documents, keys and names as requests bring them."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from simstore.errors import InvalidParameter
from simstore.server.access.gate import Principal
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
