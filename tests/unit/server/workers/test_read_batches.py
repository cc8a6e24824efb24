"""Single queries that are answered together: each as if it were asked alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simstore.errors import InvalidParameter, Overloaded, Stopping
from simstore.model import Document, QueryOptions
from simstore.server.workers.read_batches import QueryBatcher
from simstore.store import Store

TEXTS = [f"the lamp {n % 5} of the harbour bridge {n % 3} and river stone {n}" for n in range(30)]
OPTIONS = [
    QueryOptions(),
    QueryOptions(radius=9, limit=2),
    QueryOptions(radius=20, first=True, collection="odd"),
    QueryOptions(min_resemblance=0.4, radius=12),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.db", create=True, resident=True) as opened:
        opened.add_many(
            Document(f"page {n}", text, collection="odd" if n % 2 else None)
            for n, text in enumerate(TEXTS)
        )
        yield opened


@pytest.mark.slow
def test_each_answer_is_that_of_a_query_alone(store: Store) -> None:
    threads = 3
    asked = [
        (Document(f"sample {n}", text), OPTIONS[n % len(OPTIONS)])
        for n, text in enumerate([*TEXTS, "", "of something else entirely"])
    ]
    batcher = QueryBatcher(store.query_many, threads=threads)
    futures = [batcher.submit(sample, options) for sample, options in asked]
    for (sample, options), future in zip(asked, futures, strict=True):
        (alone,) = store.query_many([sample], options)
        result = future.result(60).samples[0]
        assert (result.key, result.fingerprint, result.too_short) == (
            alone.key, alone.fingerprint, alone.too_short,
        )  # fmt: skip
        if not options.first:
            assert result.matches == alone.matches
        assert len(result.matches) == len(alone.matches)
    batcher.close()
    assert any(future.result().samples[0].matches for future in futures)


def test_a_sample_that_cannot_be_read_fails_alone(store: Store) -> None:
    batcher = QueryBatcher(store.query_many)
    futures = [
        batcher.submit(Document("", text), QueryOptions())
        for text in (TEXTS[0], "\ud800", TEXTS[1])
    ]
    wrong = batcher.submit(Document("", TEXTS[0]), QueryOptions(radius=65))
    assert futures[0].result(60).samples[0].matches
    assert isinstance(futures[1].exception(60), InvalidParameter)
    assert futures[2].result(60).samples[0].matches
    assert isinstance(wrong.exception(60), InvalidParameter)
    batcher.close()


def test_too_many_are_refused_and_a_closed_one_takes_none(store: Store) -> None:
    batcher = QueryBatcher(store.query_many, most_waiting=1)
    refused = 0
    taken = []
    for _ in range(200):
        try:
            taken.append(batcher.submit(Document("", " ".join(TEXTS)), QueryOptions()))
        except Overloaded:
            refused += 1
    assert refused
    batcher.close()
    # What was taken is answered.
    assert all(one.result(60).samples[0].key == "" for one in taken)
    with pytest.raises(Stopping):
        batcher.submit(Document("", "text"), QueryOptions())
