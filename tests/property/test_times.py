"""When documents were seen: told record by record, whatever the batches, and as by hand."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_places import raw_store

from simstore.model import Document
from simstore.services.ingest import run
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage.history import MOST_SNAPSHOTS
from simstore.store import Store

NOW = 50
DATES = st.none() | st.integers(0, 100)
RECORDS = st.lists(
    st.builds(
        lambda key, text, title, seen_at, published_at, links: Document(
            key,
            text,
            title=title,
            seen_at=seen_at,
            published_at=published_at,
            links=tuple(links),
        ),
        st.sampled_from("ab"),
        st.sampled_from(["river", "stone", "lamp"]),
        st.sampled_from([None, "T"]),
        DATES,
        DATES,
        st.lists(st.sampled_from("xyz"), max_size=2),
    ),
    min_size=1,
    max_size=40,
)


def history(records: list[Document], batch_documents: int) -> list[list[Any]]:
    """Return all that is kept of when documents were seen."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "s.db"
        with (
            Store.create(place, synchronous="normal") as store,
            mock.patch.object(run, "now", return_value=NOW),
        ):
            store.add_many(records, batch_documents=batch_documents, threads=1)
            assert store.maintenance.fsck() == []
        with raw_store(place) as connection:
            return [
                connection.execute(statement).fetchall()
                for statement in (
                    "SELECT key, digest, title, revision, first_seen, first_seen_basis, "
                    "last_seen, version_seen FROM document ORDER BY key",
                    "SELECT * FROM snapshot ORDER BY document_id, revision",
                    "SELECT * FROM document_link ORDER BY document_id, target",
                )
            ]


def claims(records: list[Document]) -> list[tuple[int, int]]:
    """Return of each record since when it says that its document is there, and when it was seen.

    A clock, which these records do not set back, sees nothing earlier than what was seen.
    """
    found = []
    last = None
    for one in records:
        seen = max(NOW, last or NOW) if one.seen_at is None else one.seen_at
        last = seen if last is None else max(last, seen)
        is_published = one.published_at is not None and one.published_at <= seen
        found.append((one.published_at if is_published else seen, seen))
    return found  # type: ignore[return-value]


@pytest.mark.slow
@settings(max_examples=max(settings.default.max_examples // 2, 1))
@given(records=RECORDS, batch_documents=st.integers(2, 50))
def test_history_is_that_of_one_record_after_the_other(
    records: list[Document], batch_documents: int
) -> None:
    one_by_one = history(records, 1)
    assert history(records, batch_documents) == one_by_one
    documents, snapshots, _ = one_by_one
    assert all(len([row for row in snapshots if row[0] == n]) <= MOST_SNAPSHOTS for n in (1, 2))
    for row in documents:
        own = claims([one for one in records if one.key == row[0].decode()])
        assert row[4] == min(claim for claim, _ in own)
        assert row[6] == max(seen for _, seen in own)


@pytest.mark.slow
@settings(max_examples=max(settings.default.max_examples // 4, 1))
@given(records=RECORDS)
def test_dated_records_once_more_change_nothing(records: list[Document]) -> None:
    # One text at a time: of two at one time the later record is the later version.
    dated = {(one.key, one.seen_at): one for one in records if one.seen_at is not None}
    given_once = list(dated.values())
    before = history(given_once, 50)
    again = history([*given_once, *given_once], 7)
    assert [row[:8] for row in again[0]] == [row[:8] for row in before[0]]
    assert again[1] == before[1]


# Of three bits each fingerprint is near each: the texts alone decide.
PAGES = st.lists(
    st.builds(
        lambda key, text, seen_at, published_at: Document(
            key, text, seen_at=seen_at, published_at=published_at
        ),
        st.sampled_from("abc"),
        st.sampled_from(["river one two three", "stone four five six"]),
        st.integers(0, NOW),
        st.none() | st.integers(0, NOW),
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=max(settings.default.max_examples // 2, 1))
@given(
    runs=st.lists(st.tuples(st.sampled_from(["keep", "flag", "skip"]), PAGES), max_size=6),
    batch_documents=st.sampled_from([1, 50]),
)
def test_first_sight_is_the_earliest_whatever_was_skipped_between(
    runs: list[tuple[Any, list[Document]]], batch_documents: int
) -> None:
    given_records: list[Document] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(
            Path(folder) / "s.db", scheme=SchemeChoice("web", bits=3), synchronous="normal"
        ) as store,
        mock.patch.object(run, "now", return_value=NOW),
    ):
        for mode, records in runs:
            store.add_many(records, batch_documents=batch_documents, threads=1, on_duplicate=mode)
            given_records += records
            for key in {one.key for one in given_records}:
                own = [one for one in given_records if one.key == key]
                seen = store.seen(key)
                assert seen is not None
                assert seen.first_seen == min(claim for claim, _ in claims(own))
        assert store.maintenance.fsck() == []
