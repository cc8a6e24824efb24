"""A document that is stored by itself leaves what a batch of one leaves, in every table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import raw_store

from simstore.model import Document
from simstore.services.ingest import new_document
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage.tables import metadata
from simstore.store import Store

from .test_batches import new_store
from .test_check_insert import ALIKE, KEYS, THREE_BITS
from .test_clusters import TEXTS

NOW = 1_700_000_000
Mode = Literal["keep", "flag", "skip"]
documents = st.builds(
    Document,
    st.sampled_from(KEYS),
    st.one_of(ALIKE, TEXTS),
    title=st.sampled_from([None, "A title"]),
    metadata=st.sampled_from([{}, {"n": 1}]),
    seen_at=st.sampled_from([None, None, NOW - 5, NOW + 5]),
    published_at=st.sampled_from([None, None, NOW - 9]),
    links=st.sampled_from([(), (), ("page 0",)]),
)


@pytest.fixture(autouse=True, scope="module")
def _one_moment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in ("run", "one_document"):
            patch.setattr(f"simstore.services.ingest.{module}.now", lambda: NOW)
        yield


def rows(place: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, but those of the store and of what was made with it."""
    with raw_store(place / "s.db") as connection:
        found = {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for name in metadata.tables
            if name not in ("store", "scheme", "generation")
        }
        found["counters"] = [
            *connection.execute("SELECT changes FROM store").fetchall(),
            *connection.execute("SELECT fingerprint_count, edition FROM generation").fetchall(),
        ]
    return found


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.tuples(documents, st.sampled_from(["keep", "flag", "skip"])), max_size=10),
    st.sampled_from([THREE_BITS, SchemeChoice("web")]),
)
def test_a_document_by_itself_leaves_what_a_batch_of_one_leaves(
    given_documents: list[tuple[Document, Mode]], scheme: SchemeChoice
) -> None:
    with new_store(scheme) as (one_place, one), new_store(scheme) as (place, other):
        for document, mode in given_documents:
            outcome = add(one, document, mode)
            with mock.patch.object(new_document, "may_be_new", return_value=False):
                summary = other.add_many([document], on_duplicate=mode)
            assert getattr(summary, outcome) >= 1
        assert rows(one_place) == rows(place)
        assert not one.maintenance.fsck()


def add(store: Store, document: Document, mode: Mode) -> str:
    return store.add(
        document.key,
        document.text,
        on_duplicate=mode,
        title=document.title,
        metadata=document.metadata,
        seen_at=document.seen_at,
        published_at=document.published_at,
        links=document.links,
    )
