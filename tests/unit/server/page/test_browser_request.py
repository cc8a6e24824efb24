"""What stands in an address: keys with any bytes, the language, where to go on."""

from __future__ import annotations

from fastapi import Request
from hypothesis import given
from hypothesis import strategies as st

from simstore.server.page.browser_request import (
    asked_values,
    from_address,
    in_address,
    language_of,
    local_place,
    same_address,
)

KEYS = st.binary(min_size=1, max_size=40).map(lambda data: data.decode("utf-8", "surrogateescape"))


def request(query: bytes = b"", method: str = "GET", **headers: str) -> Request:
    return Request(
        {
            "type": "http",
            "method": method,
            "path": "/document",
            "query_string": query,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
    )


@given(KEYS)
def test_every_key_comes_back_from_its_address(key: str) -> None:
    address = in_address(key)
    assert address.isascii()
    assert not set(address) & set("/?&#= <>\"'")
    assert asked_values(request(f"x=1&key={address}&y=2".encode()))["key"] == key
    assert from_address(address) == key


def test_bytes_that_were_not_encoded_and_too_many_fields_are_read_as_well_as_can_be() -> None:
    assert asked_values(request(b"key=caf\xe9+a"))["key"] == "caf\udce9 a"
    assert asked_values(request(b"key=1&key=2"))["key"] == "1"
    assert asked_values(request(b"a=1&" * 1_000)) == {}


def test_language_by_address_then_cookie_then_browser() -> None:
    liked = {"accept-language": "zh-CN"}
    assert language_of(request(**liked)) == "zh"
    assert language_of(request(cookie="simstore_lang=en", **liked)) == "en"
    assert language_of(request(b"lang=zh", cookie="simstore_lang=en")) == "zh"
    assert language_of(request(b"lang=<script>", cookie="simstore_lang=x")) == "en"


def test_another_language_of_the_same_page_keeps_the_rest_of_its_address() -> None:
    place = same_address(request(b"key=caf%E9%26&lang=en&text=whole"), "lang", "zh")
    assert place == "/document?key=caf%E9%26&text=whole&lang=zh"
    assert same_address(request(b"key=a", method="POST"), "lang", "zh") == "/?lang=zh"


def test_signing_in_leads_to_a_page_of_this_service_only() -> None:
    for place, gone_to in [
        ("/document?key=a%2Fb", "/document?key=a%2Fb"),
        ("//evil.example/", "/"),
        ("/\\evil.example/", "/"),
        ("https://evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: x=1", "/"),
        ("", "/"),
    ]:
        assert local_place(place) == gone_to
