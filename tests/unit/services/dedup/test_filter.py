"""Filter rows by a store: bytes stay, the store is not written, rows in memory keep their form."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from simstore import Document, InvalidParameter, Store

WORDS = [f"word{n}" for n in range(3_000)]


def _text(seed: int, changed: int = 0) -> str:
    chosen = random.Random(seed).choices(WORDS, k=60)
    for place in range(changed):
        chosen[place * 13] = f"other{seed}-{place}"
    return " ".join(chosen)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.create(tmp_path / "s.db") as made:
        made.add_many([(f"old{n}", _text(n)) for n in range(0, 40, 2)], threads=1)
        yield made


def test_rows_in_memory_come_back_as_they_are(store: Store) -> None:
    texts = [_text(1), _text(2), _text(3)]
    dicts = [{"id": n, "text": text, "any": object()} for n, text in enumerate(texts)]
    assert list(store.filter(dicts)) == [dicts[0], dicts[2]]
    assert list(store.filter(iter(texts), keep="known")) == [texts[1]]
    pairs = list(enumerate(texts))
    assert list(store.filter(pairs)) == [pairs[0], pairs[2]]
    documents = [Document(str(n), text) for n, text in pairs]
    assert list(store.filter(documents, keep="known")) == [documents[1]]
    batch = {"words": texts, "n": [1, 2, 3]}
    assert store.filter(batch, text_field="words")["n"] == [1, 3]
    assert list(store.filter([])) == []


def test_rows_that_come_without_an_end_are_filtered_as_they_come(store: Store) -> None:
    def endless() -> Any:
        while True:
            yield _text(1)

    assert next(store.filter(endless())) == _text(1)


@pytest.mark.frames
def test_tables_come_back_as_tables(store: Store) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the packages of dev")
    import pandas
    import polars
    import pyarrow

    columns = {"text": [_text(1), _text(2), _text(3)], "n": [1, 2, 3]}
    frame = pandas.DataFrame(columns, index=["a", "b", "c"])
    assert list(store.filter(frame).index) == ["a", "c"]
    assert store.filter(polars.DataFrame(columns), keep="known")["n"].to_list() == [2]
    assert store.filter(pyarrow.table(columns))["n"].to_pylist() == [1, 3]
    views = pyarrow.table(
        {**columns, "text": pyarrow.array(columns["text"], pyarrow.string_view())}
    )
    assert store.filter(views)["n"].to_pylist() == [1, 3]
    assert store.filter(views.to_batches()[0])["n"].to_pylist() == [1, 3]
    held = datasets.Dataset.from_dict(columns)
    assert store.filter(held)["n"] == [1, 3]
    assert [row["n"] for row in store.filter(held.to_iterable_dataset())] == [1, 3]
    mapped = held.map(store.filter, batched=True)
    assert mapped["n"] == [1, 3]


def test_wrong_rows_are_refused(store: Store) -> None:
    for given, told in (
        ("text", "put it into a list"),
        ([{"id": 1, "story": "x"}], "none of the fields text, content, body; there are id, story"),
        ([{"text": None}], "row 0 has no text"),
        ([{"text": "Rye"}, {"x": 1}], "row 1: no text: none of the fields"),
        ([{"text": "Rye"}] * 1_200 + [{"x": 1}], "row 1200: no text"),
        (["Rye"] * 1_200 + [7], "row 1200 has no text: int"),
        ({"text": "x"}, "put it into a list"),
    ):
        with pytest.raises(InvalidParameter, match=told):
            list(store.filter(given))
    with pytest.raises(InvalidParameter, match="keep must be one of 'new', 'known'"):
        store.filter([], keep="old")  # type: ignore[arg-type]
