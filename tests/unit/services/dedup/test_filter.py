"""Filter rows by a store: bytes stay, the store is not written, rows in memory keep their form."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from simstore import Document, InvalidParameter, RowObserver, Store
from simstore.services.dedup.dedup import dedup_files
from simstore.services.dedup.gates import Gate, Keep, store_answer
from simstore.services.dedup.options import RowOptions, RowSummary

WORDS = [f"word{n}" for n in range(3_000)]


def _text(seed: int, changed: int = 0) -> str:
    chosen = random.Random(seed).choices(WORDS, k=60)
    for place in range(changed):
        chosen[place * 13] = f"other{seed}-{place}"
    return " ".join(chosen)


def run(
    store: Store, names: list[Path], output: Path, keep: Keep = "new", **options: Any
) -> RowSummary:
    gate = Gate(answer=store_answer(store), keep=keep)
    chosen = RowOptions(**options)
    return dedup_files(list(map(str, names)), str(output), chosen, RowObserver(), gate=gate)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.create(tmp_path / "s.db") as made:
        made.add_many([(f"old{n}", _text(n)) for n in range(0, 40, 2)], threads=1)
        yield made


def test_csv_keeps_its_names_quotes_and_line_ends(tmp_path: Path, store: Store) -> None:
    head = b"\xef\xbb\xbfid,text,price\r\n"
    rows = [
        b'1,"%s",2.50\r\n' % _text(1).encode(),
        b'2,"%s",003\r\n' % _text(2).encode(),
        b'\'3\',"%s"," x"' % _text(3).encode(),
    ]
    source, output = tmp_path / "r.csv", tmp_path / "new.csv"
    source.write_bytes(head + b"".join(rows))
    run(store, [source], output)
    assert output.read_bytes() == head + rows[0] + rows[2]


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
