"""Tables in memory as documents: of the packages themselves, and of what has their methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simstore import Store
from simstore.errors import InvalidParameter
from simstore.model import Document, IngestSummary
from simstore.sources.frames import as_table
from simstore.sources.reader import HistoryFields, ReadOptions

ROWS = 2_345
FERRY = "The ferry leaves the harbour every morning at seven, when the fog still lies there."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "store.db") as made:
        yield made


def held(store: Store) -> dict[str, tuple[str | None, dict[str, Any]]]:
    """Keys to texts and metadata."""
    return {one.key: (one.text, dict(one.metadata)) for one in store.list(with_text=True)}


def columns(count: int = ROWS) -> dict[str, list[Any]]:
    return {
        "url": [f"https://a.example/{number}" for number in range(count)],
        "text": [f"{FERRY} Day {number}." for number in range(count)],
        "lang": [None if number % 2 else "en" for number in range(count)],
        "score": [number / 8 for number in range(count)],
    }


def assert_all_are_held(store: Store, summary: IngestSummary, count: int = ROWS) -> None:
    assert (summary.added, summary.rejected) == (count, 0)
    documents = held(store)
    assert list(documents) == columns(count)["url"]
    for number, (text, metadata) in enumerate(documents.values()):
        assert text == f"{FERRY} Day {number}."
        # What is missing is no field.
        lang = {} if number % 2 else {"lang": "en"}
        assert metadata == lang | {"score": number / 8}


@pytest.mark.frames
@pytest.mark.parametrize("kind", ["pandas", "polars", "table", "batch", "reader", "dataset", "it"])
def test_each_kind_of_table_gives_the_same_documents(store: Store, kind: str) -> None:
    for package in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(package, reason="pip install '.[dev]' brings it")
    import pandas
    import polars
    import pyarrow

    given: Any
    if kind == "pandas":
        given = pandas.DataFrame(columns())
    elif kind == "polars":
        given = polars.DataFrame(columns())
    elif kind in ("dataset", "it"):
        datasets = pytest.importorskip("datasets", reason="pip install '.[dev]'")
        given = datasets.Dataset.from_dict(columns())
        given = given if kind == "dataset" else given.to_iterable_dataset()
    else:
        given = pyarrow.table(columns())
        if kind == "batch":
            given = given.combine_chunks().to_batches()[0]
        elif kind == "reader":
            given = given.to_reader(max_chunksize=700)
    assert_all_are_held(store, store.add_many(given))


@pytest.mark.frames
def test_a_streamed_data_set_whose_columns_are_unknown_is_read(store: Store) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install '.[dev]'")
    table = columns(5)

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(5):
            yield {name: values[number] for name, values in table.items()}

    streamed = datasets.IterableDataset.from_generator(rows)
    assert streamed.column_names is None
    assert_all_are_held(store, store.add_many(streamed), 5)


@pytest.mark.frames
def test_what_pandas_holds_for_missing_values_is_missing(store: Store) -> None:
    pandas = pytest.importorskip("pandas", reason="needs simstore[pandas]")
    frame = pandas.DataFrame(
        {
            "id": [7, None, 9, 10],
            "text": ["seven", "no key", float("nan"), "ten"],
            "when": pandas.to_datetime(["2026-05-01T12:00:00Z", None, None, None]),
            "views": pandas.array([3, 4, 5, None], dtype="Int64"),
            "vector": [np.arange(2), None, None, np.float32(0.5)],
            "note": [pandas.NA, "x", "y", None],
        }
    )
    summary = store.add_many(frame)
    assert (summary.added, summary.rejected) == (2, 2)
    # The column of keys holds 7.0 and NaN.
    assert held(store) == {
        "7": ("seven", {"when": "2026-05-01T12:00:00+00:00", "views": 3, "vector": [0, 1]}),
        "10": ("ten", {"vector": 0.5}),
    }
    reasons = [
        (one.rejection.source, one.rejection.position, one.rejection.reason)
        for one in store.rejects.list()
    ]
    assert reasons == [
        ("pandas.DataFrame, run 1", 1, "no key: the field key or id or url or doc_id is missing"),
        (
            "pandas.DataFrame, run 1",
            2,
            "no text: none of the fields text, content, body; there are id, views, note "
            "(text_field names the text)",
        ),
    ]


@pytest.mark.frames
def test_levels_of_an_index_that_have_a_name_are_columns(store: Store) -> None:
    pandas = pytest.importorskip("pandas", reason="needs simstore[pandas]")
    frame = pandas.DataFrame(columns(3)).set_index(["url", "lang"])
    store.add_many(frame)
    assert list(held(store)) == columns(3)["url"]
    assert held(store)["https://a.example/0"][1] == {"lang": "en", "score": 0.0}


@pytest.mark.frames
def test_a_lazy_frame_is_refused_with_the_remedy() -> None:
    polars = pytest.importorskip("polars", reason="pip install '.[dev]' brings it")
    with pytest.raises(InvalidParameter, match=r"give what its collect\(\) returns"):
        as_table(polars.LazyFrame(columns(2)))


class Chunked:
    """Has what a data set has."""

    def __init__(self, table: dict[str, list[Any]]) -> None:
        self._table = table
        self.column_names = list(table)

    def iter(self, batch_size: int) -> Iterator[dict[str, list[Any]]]:
        for start in range(0, len(next(iter(self._table.values()))), batch_size):
            yield {name: values[start : start + batch_size] for name, values in self._table.items()}


def test_rows_that_cannot_be_used_alone_are_counted_too(store: Store) -> None:
    summary = store.add_many(Chunked({"url": ["a", "b"], "text": [None, 7]}))
    assert (summary.added, summary.rejected, len(store)) == (0, 2, 0)
    assert [one.rejection.reason for one in store.rejects.list()] == [
        "no text: none of the fields text, content, body; there are url "
        "(text_field names the text)",
        "the field text is not a string",
    ]


def test_columns_of_other_names_are_named(store: Store) -> None:
    table = Chunked(
        {
            "page": [{"no": 1}, {"no": 2}],
            "words": ["one", "two"],
            "seen": ["2026-05-01", "2026-05-02"],
        }
    )
    for missing, options in (
        ("key or id or url or doc_id", ReadOptions(text_field="words")),
        ("text or content or body", ReadOptions(key_field="page.no")),
    ):
        with pytest.raises(InvalidParameter, match=f"no column is called {missing}; name the"):
            store.add_many(table, read=options)
    read = ReadOptions(
        key_field="page.no", text_field="words", history_fields=HistoryFields(seen="seen")
    )
    assert store.add_many(table, read=read).added == 2
    assert held(store) == {"1": ("one", {"page": {}}), "2": ("two", {"page": {}})}
    seen = store.seen("2")
    assert seen is not None
    assert seen.last_seen == 1_777_680_000


def test_mappings_are_records_where_it_is_said_how_they_are_read(store: Store) -> None:
    records = [
        {"url": "a", "body": "text a", "lang": "en", "none": None, "nan": float("nan")},
        {"url": "b", "lang": "en"},
    ]
    with pytest.raises(InvalidParameter, match="a mapping without 'text'"):
        store.add_many(records[1:])
    summary = store.add_many(iter(records), read=ReadOptions())
    assert (summary.added, summary.rejected) == (1, 1)
    assert held(store) == {"a": ("text a", {"lang": "en"})}
    # What is read is not taken out of the caller's record.
    assert records[0]["url"] == "a"
    with pytest.raises(InvalidParameter, match="tuple is no record; give a mapping"):
        store.add_many([("a", "b")], read=ReadOptions())  # type: ignore[list-item]


def test_what_is_no_document_is_named_and_what_came_before_is_stored(store: Store) -> None:
    for bad, told in (
        ({"url": "m3", "text": None}, r"document 3 \(key 'm3'\): .*'text' is None"),
        ({"url": "m3", "text": 5}, r"document 3 \(key 'm3'\): .* a string, not int"),
        (("m3", None), r"document 3 \(key 'm3'\): .* a string, not NoneType"),
        ({"text": "no key"}, r"document 3: a mapping without 'key'"),
        (5, r"document 3: int is no document"),
    ):
        given = [("m1", "text 1"), {"url": "m2", "text": "text 2"}, bad, ("m4", "text 4")]
        with pytest.raises(InvalidParameter, match=told):
            store.add_many(given)
        assert set(held(store)) == {"m1", "m2"}, bad


def test_two_columns_of_one_name_are_refused() -> None:
    table = Chunked({"key": ["a"], "text": ["b"]})
    table.column_names = ["key", "text", "key"]
    with pytest.raises(InvalidParameter, match="Chunked: two columns are called 'key'"):
        as_table(table)


def test_records_are_taken_by_the_names_that_files_have(store: Store) -> None:
    given = [
        {"id": 7, "content": "text 7", "lang": "en"},
        {"doc_id": "d", "body": "text d", "metadata": {"n": 1}, "lang": "de"},
        {"url": "u", "text": "text u", "title": "U"},
        (8, "text 8"),
        Document("k", "text k"),
    ]
    assert store.add_many(given).added == 5
    assert held(store) == {
        "7": ("text 7", {"lang": "en"}), "d": ("text d", {"lang": "de", "n": 1}),
        "u": ("text u", {}), "8": ("text 8", {}), "k": ("text k", {}),
    }  # fmt: skip
    assert store.get("u").title == "U"


def test_a_mapping_of_keys_to_texts_is_many_documents(store: Store) -> None:
    assert store.add_many({"a": "text a", "b": "text b"}).added == 2
    assert store.add_many(enumerate(["x", "y"])).added == 2
    assert set(held(store)) == {"a", "b", "0", "1"}
    with pytest.raises(InvalidParameter, match=r"one document is given.*put it into a list"):
        store.add_many({"key": "a", "text": "b"})
    with pytest.raises(InvalidParameter, match=r"a text without a key.*enumerate"):
        store.add_many(["text"])  # type: ignore[list-item]


def test_what_holds_no_documents_is_refused(store: Store) -> None:
    for given in ("text", b"text", 7, None):
        with pytest.raises(InvalidParameter, match="holds no documents; give a list of them"):
            store.add_many(given)


def test_a_table_without_keys_says_how_its_rows_are_numbered(store: Store) -> None:
    table = Chunked({"lang": ["en", "en"], "text": ["one", "two"]})
    with pytest.raises(
        InvalidParameter, match=r"key_field='...' \(it has 'lang', 'text'\), or "
    ) as told:
        store.add_many(table)
    assert "number the rows: enumerate(table['text'])" in str(told.value)
    # What is asked alone needs no keys: the rows have numbers, as texts have.
    run = store.query_many(table)
    assert [one.key for one in run] == ["0", "1"]
    with pytest.raises(InvalidParameter, match="no column is called text or content or body"):
        store.query_many(Chunked({"lang": ["en"]}))
