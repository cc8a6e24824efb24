"""Errors go over the wire and are raised as what they were; addresses and heads."""

from __future__ import annotations

import inspect
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore import errors
from simstore.client import Client
from simstore.client.connection import checked_url, error_of, seconds_of
from simstore.errors import InvalidParameter, MalformedRequest, MissingExtra, SimstoreError
from simstore.server.errors import problem
from simstore.wire import decoded, encoded

KINDS = [
    kind
    for kind in vars(errors).values()
    if inspect.isclass(kind) and issubclass(kind, SimstoreError) and kind is not MalformedRequest
]


def made(kind: type[SimstoreError]) -> SimstoreError:
    if "__init__" not in vars(kind):
        return kind("a message")
    numbers = {"position", "run_id", "count", "slots", "limit", "retry_after", "seconds"}
    names = [name for name in inspect.signature(kind).parameters if name != "self"]
    named = {"key", "path", "url", "name"}
    given: list[Any] = [
        7 if name in numbers else f"{name} é\udcff" if name in named else f"{name} é"
        for name in names
    ]
    return kind(*given)


def test_an_error_is_raised_as_what_it_was() -> None:
    for kind in KINDS:
        error = made(kind)
        again = error_of(decoded(encoded(problem(error, "17"))))
        assert type(again) is kind
        assert str(again) == str(error)
        facts = {name: value for name, value in vars(error).items() if name != "detail"}
        assert vars(again) == {**facts, "request_id": "17"}


def test_what_the_server_cannot_read_is_a_wrong_parameter() -> None:
    again = error_of(problem(MalformedRequest("query.limit", "it is negative"), "17"))
    assert type(again) is InvalidParameter
    assert "query.limit" in str(again)


def test_an_error_of_a_newer_server_is_one_of_its_family() -> None:
    for status, kind in [(404, "NotFound"), (409, "Conflict"), (422, "BadInput"), (418, None)]:
        told = {"type": "urn:simstore:Melted", "status": status, "detail": "It is too hot."}
        assert type(error_of(told)).__name__ == (kind or "SimstoreError")
        assert str(error_of(told)) == "It is too hot."


@given(
    st.dictionaries(st.text(), st.one_of(st.none(), st.integers(), st.text(), st.lists(st.none())))
)
def test_any_object_is_some_error(told: dict[str, Any]) -> None:
    assert isinstance(error_of(told), SimstoreError)
    assert isinstance(error_of({**told, "type": "urn:simstore:printable"}), SimstoreError)


def test_addresses_of_servers() -> None:
    for given_url, kept in [
        ("http://127.0.0.1:8765/", "http://127.0.0.1:8765"),
        ("https://example.org/simstore/", "https://example.org/simstore"),
        ("http://[::1]:80", "http://[::1]:80"),
    ]:
        assert checked_url(given_url) == kept
        assert urlsplit(kept).hostname


def test_what_is_no_address_is_refused() -> None:
    for url in [
        "",
        "localhost:8765",
        "ftp://a",
        "http://",
        "http://a:b",
        "http://a:99999",
        "http://me:pw@a",
        "http://a/?b",
        "http://a/#b",
        "http://[",
        "\udcff",
    ]:
        with pytest.raises(InvalidParameter) as caught:
            Client(url)
        assert str(caught.value).isprintable()
        assert "pw" not in str(caught.value)


def test_what_cannot_be_a_token_is_refused() -> None:
    for token in ["", "a b", "a\n", "é", "sst_\udcff"]:
        with pytest.raises(InvalidParameter, match="simstore token add"):
            Client("http://127.0.0.1", token=token)


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"extra 'client'"):
        Client("http://127.0.0.1")


def test_a_token_is_not_shown() -> None:
    with Client("http://127.0.0.1", token="sst_" + "s" * 43) as client:
        assert "sst_" not in repr(client)


def test_times_are_positive() -> None:
    for timeout, patience in [(0, 0), (-1, 0), (float("nan"), 0), (1, -1)]:
        with pytest.raises(InvalidParameter, match="seconds"):
            Client("http://127.0.0.1", timeout=timeout, patience=patience)


def test_when_to_come_back() -> None:
    assert seconds_of("7") == 7
    assert seconds_of("Fri, 31 Dec 1999 23:59:59 GMT") == 0
    for nothing in (None, "", "soon", "-1", "²"):
        assert seconds_of(nothing) is None
