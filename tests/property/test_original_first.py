"""In whatever order dated documents come, what is left is what their dates say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.model import Document, IngestSummary
from simstore.store import Store

from .state import assert_sound
from .strategies import cuts_of, parts_of
from .test_batches import new_store
from .test_check_insert import ALIKE, THREE_BITS, chain
from .test_clusters import is_edge, resemblance

LEAST = Fraction(1, 2)
DAY = 86_400
LATE = 1_000 * DAY
Mode = Literal["flag", "skip"]
Record = tuple[str, int]
KEYS = [f"page {number}" for number in range(9)]
# Most are like some of the others, as links of a chain are like their neighbours.
MANY_TEXTS = st.one_of(st.sampled_from([chain(number) for number in range(9)]), ALIKE)
# A text a key; records are of keys at dates, and some are of one key again.
PAGES = st.lists(MANY_TEXTS, min_size=3, max_size=len(KEYS)).map(
    lambda texts: dict(zip(KEYS, texts, strict=False))
)


def records_of(data: st.DataObject, pages: dict[str, str], *, distinct: bool) -> list[Record]:
    """Draw records in the order in which they come; each key has one at least."""
    keys = [*pages, *data.draw(st.lists(st.sampled_from(list(pages)), max_size=6), "again")]
    keys = data.draw(st.permutations(keys), "order")
    if distinct:
        dates = data.draw(st.permutations(range(1, len(keys) + 1)), "dates")
    else:
        size = len(keys)
        dates = data.draw(st.lists(st.integers(1, 4), min_size=size, max_size=size), "dates")
    return list(zip(keys, dates, strict=True))


def dated(pages: dict[str, str], records: Iterable[Record], *, by_page: bool) -> list[Document]:
    """Return documents with the date of a crawl, or that of the page itself."""
    return [
        Document(
            key,
            pages[key],
            seen_at=LATE if by_page else date * DAY,
            published_at=date * DAY if by_page else None,
        )
        for key, date in records
    ]


def ingest(
    store: Store, parts: Iterable[Sequence[Document]], mode: Mode, batch_documents: int = 1_000
) -> list[IngestSummary]:
    told = []
    for part in parts:
        told.append(
            store.add_many(
                part,
                threads=1,
                batch_documents=batch_documents,
                on_duplicate=mode,
                min_resemblance=float(LEAST),
            )
        )
        assert_sound(store)
    return told


def in_order(records: Sequence[Record]) -> list[Record]:
    """Return the first sight of each key in the order that the rule defines."""
    first: dict[str, int] = {}
    for key, date in records:
        first[key] = min(date, first.get(key, date))
    return sorted(first.items(), key=lambda record: record[1])


def by_the_rule(pages: dict[str, str], records: Sequence[Record]) -> dict[str, str]:
    """Return what each duplicate duplicates: of the originals before it, the most similar."""
    originals: list[str] = []
    found: dict[str, str] = {}
    for key, _ in in_order(records):
        near = (other for other in originals if is_edge(pages[key], pages[other], LEAST))
        # Of several that are equally similar, the earliest.
        original = max(near, key=lambda other: resemblance(pages[key], pages[other]), default=None)
        if original is None:
            originals.append(key)
        else:
            found[key] = original
    return found


def pairs(store: Store) -> dict[str, tuple[object, ...]]:
    return {
        one.key: (one.state, one.original, one.resemblance, one.distance, one.basis, one.first_seen)
        for one in store.duplicates.list()
    }


@pytest.mark.slow
@given(PAGES, st.data(), st.booleans(), st.sampled_from([2, 1_000]))
def test_flagged_are_what_ingesting_in_the_order_of_the_dates_flags(
    pages: dict[str, str], data: st.DataObject, by_page: bool, batch_documents: int
) -> None:
    records = records_of(data, pages, distinct=False)
    given_documents = dated(pages, records, by_page=by_page)
    parts = parts_of(given_documents, data.draw(cuts_of(len(records)), "cuts"))
    expected = by_the_rule(pages, records)
    with new_store(THREE_BITS) as (_, store), new_store(THREE_BITS) as (_, batch):
        ingest(store, parts, "flag", batch_documents)
        assert {one.key: one.text for one in store.list(with_text=True)} == pages
        assert {one.key: one.original for one in store.duplicates.list()} == expected
        # And each with the same figures.
        ingest(batch, [dated(pages, in_order(records), by_page=by_page)], "flag")
        assert pairs(store) == pairs(batch)
        for key, original in expected.items():
            assert store.duplicates.story(key).original == original


@pytest.mark.slow
@given(PAGES, st.data(), st.booleans(), st.sampled_from([2, 1_000]))
def test_what_stays_is_what_skipping_in_the_order_of_the_dates_leaves(
    pages: dict[str, str], data: st.DataObject, by_page: bool, batch_documents: int
) -> None:
    records = records_of(data, pages, distinct=True)
    parts = parts_of(
        dated(pages, records, by_page=by_page), data.draw(cuts_of(len(records)), "cuts")
    )
    dates = dict(in_order(records))
    with new_store(THREE_BITS) as (_, store), new_store(THREE_BITS) as (_, batch):
        ingest(store, parts, "skip", batch_documents)
        ingest(batch, [dated(pages, in_order(records), by_page=by_page)], "skip")
        found = {one.key: one for one in store.duplicates.list()}
        stored = {one.key: one.text for one in store.list(with_text=True)}
        # Nothing is lost sight of, and each duplicate is one of an earlier document that is there.
        assert stored.keys() | found.keys() == pages.keys()
        for key, one in found.items():
            assert one.original in stored
            assert is_edge(pages[key], pages[one.original], LEAST)
            assert dates[one.original] < dates[key]
        kept = {key for key, one in found.items() if one.state == "flagged"}
        assert kept == stored.keys() & found.keys()
        originals = stored.keys() - kept
        assert not any(
            is_edge(pages[one], pages[other], LEAST)
            for one in originals
            for other in originals
            if one < other
        )
