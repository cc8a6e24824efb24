"""Calls with values of a wrong type, on a store and on a client of a server: one named error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served import serve

from simstore import (
    Client,
    DocumentNotFound,
    InvalidParameter,
    QueryOptions,
    Store,
    StreamConsumed,
)

pytestmark = pytest.mark.sqlite

TEXT = "The ferry to the island leaves the harbour at nine every morning except on Sundays."


@pytest.fixture(scope="module", params=["store", "client"])
def held(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store | Client]:
    place = tmp_path_factory.mktemp("held") / "held.db"
    with Store(place) as store:
        store.add("ferry", TEXT)
        store.clusters.build()
        store.passages.build()
        if request.param == "store":
            yield store
            return
    with serve(place) as served, Client(served.url) as client:
        yield client


WRONG: dict[str, Callable[[Any], Any]] = {
    "add: key": lambda held: held.add(5, TEXT),
    "add: no text": lambda held: held.add("a", None),
    "add: seen_at": lambda held: held.add("a", TEXT, seen_at="yesterday"),
    "add_many: a number": lambda held: held.add_many(7),
    "add_many: a text": lambda held: held.add_many("text"),
    "add_many: one document": lambda held: held.add_many({"key": "a", "text": "b"}),
    "add_many: triples": lambda held: held.add_many([("a", "b", "c")]),
    "add_many: threads": lambda held: held.add_many([("a", "b")], threads="many"),
    "ingest: a number": lambda held: held.ingest(5),
    "ingest: bytes": lambda held: held.ingest(b"a.txt"),
    "ingest: numbers": lambda held: held.ingest([1, 2]),
    "ingest: format": lambda held: held.ingest("a.txt", format=5),
    "query: None": lambda held: held.query(None),
    "query: radius": lambda held: held.query(TEXT, radius="3"),
    "query: limit": lambda held: held.query(TEXT, limit=True),
    "query: plan": lambda held: held.query(TEXT, plan="fast"),
    "query_many: a text": lambda held: held.query_many("text"),
    "check: None": lambda held: held.check(None),
    "compare: numbers": lambda held: held.compare(1, 2),
    "get: None": lambda held: held.get(None),
    "list: limit": lambda held: held.list(limit="10"),
    "remove: numbers": lambda held: held.remove([5]),
    "seen: a number": lambda held: held.seen(5),
    "seen: digits": lambda held: held.seen(digest="12ab"),
    "runs.ingest: limit": lambda held: held.runs.ingest("all"),
}


def test_a_value_of_a_wrong_type_is_an_invalid_parameter(held: Store | Client) -> None:
    for name, call in WRONG.items():
        with pytest.raises(InvalidParameter):
            print(name, call(held))
        assert len(held) == 1, name


ONLY_STORE: dict[str, Callable[[Store], Any]] = {
    "expire: a word": lambda store: store.expire("soon"),
    "export: None": lambda store: store.export(None),  # type: ignore[arg-type]
    "export: part": lambda store: store.export("x.jsonl", part="some"),  # type: ignore[arg-type]
    "report: a word": lambda store: store.report("last"),  # type: ignore[arg-type]
    "clusters.once: resemblance": lambda store: store.clusters.once(min_resemblance="x"),  # type: ignore[arg-type]
    "tokens.add: scope": lambda store: store.tokens.add("a", scope="all"),  # type: ignore[arg-type]
    "passages.build: window": lambda store: store.passages.build(window="30"),  # type: ignore[arg-type]
    "maintenance.compact": lambda store: store.maintenance.compact("42x3"),  # type: ignore[arg-type]
    "Store: a number": lambda _store: Store(5),  # type: ignore[arg-type]
    "Store.create: scheme": lambda _store: Store.create("x.db", scheme=5),  # type: ignore[arg-type]
    "QueryOptions": lambda _store: QueryOptions(radius="3"),  # type: ignore[arg-type]
}


def test_so_it_is_of_what_a_store_alone_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store(":memory:") as store:
        store.add("ferry", TEXT)
        for name, call in ONLY_STORE.items():
            with pytest.raises(InvalidParameter):
                print(name, call(store))
            assert len(store) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_keyword_that_is_no_option_is_a_type_error_with_the_nearest(held: Store | Client) -> None:
    with pytest.raises(TypeError, match="did you mean 'radius'"):
        held.query(TEXT, radus=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="did you mean 'key_field'"):
        held.add_many([("a", "b")], key_feild="url")  # type: ignore[call-arg]


def test_what_may_as_well_be_written_is_taken(held: Store | Client) -> None:
    wanted = [match.key for match in held.query(TEXT)]
    assert [match.key for match in held.query(TEXT, channels=["simhash"])] == wanted  # type: ignore[arg-type]
    assert [match.key for match in held.query(TEXT, channels="simhash")] == wanted  # type: ignore[arg-type]
    assert not held.query(TEXT, where={"lang": "en"})
    assert [one.key for one in held.seen(digest=held.get("ferry").digest)] == ["ferry"]


def test_a_stream_is_read_once(held: Store | Client) -> None:
    stream: Any = held.list(limit=1)
    assert [one.key for one in stream] == ["ferry"]
    assert next(stream, None) is None
    for again in (list, iter, lambda found: found.to_frame()):
        with pytest.raises(StreamConsumed, match="read to its end; call the method again"):
            again(stream)


def test_a_stream_goes_on_where_a_loop_left_it(held: Store | Client) -> None:
    held.add_many({"a": "one", "b": "two"})
    stream = held.list()
    assert next(iter(stream)).key == "ferry"
    assert [one.key for one in stream] == ["a", "b"]
    held.remove("a", "b")
    part = held.list()
    part.close()
    assert next(part, None) is None
    with pytest.raises(StreamConsumed, match="was closed; call the method again"):
        list(part)


def test_a_stream_is_true_where_something_is_left(held: Store | Client) -> None:
    stream = held.list()
    assert stream
    assert stream
    assert [one.key for one in stream] == ["ferry"]
    nothing = held.duplicates.list()
    assert not nothing
    assert not nothing
    assert list(nothing) == []
    closed = held.list()
    assert closed
    closed.close()
    with pytest.raises(StreamConsumed, match="was closed"):
        bool(closed)


def test_a_wrong_value_or_name_is_answered_by_what_to_write(held: Store | Client) -> None:
    loose: Any = held
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: loose.query(b"text"), InvalidParameter, "decode"),
        (lambda: loose.query([TEXT]), InvalidParameter, r"query_many\(\)"),
        (lambda: loose.add_many(Path("folder")), InvalidParameter, r"ingest\(\)"),
        (lambda: loose.query_many(Path("folder")), InvalidParameter, r"Files\(path\)"),
        (lambda: loose.query(TEXT, top=5), TypeError, "did you mean 'limit'"),
        (lambda: loose.add_many([("a", TEXT)], pk="id"), TypeError, "did you mean 'key_field'"),
        (lambda: loose.list(n=5), TypeError, r"list\(\) .* did you mean .limit."),
        (lambda: loose.add(TEXT), TypeError, r"^(Store|Client)\.add\(\) missing .*'text'"),
    ]
    for call, kind, words in wrong:
        with pytest.raises(kind, match=words):
            call()
    assert len(held) == 1


def test_a_document_is_had_by_its_key(held: Store | Client) -> None:
    assert held["ferry"] == held.get("ferry")
    with pytest.raises(DocumentNotFound):
        _ = held["nothing"]
