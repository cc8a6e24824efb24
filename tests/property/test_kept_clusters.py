"""Kept clusters are those made from the first, whatever came and went in whatever batches."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.model import ClusterMember, Document
from simstore.services.clusters import stored_clusters
from simstore.services.clusters.cluster import ClusterOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

from .test_clusters import TEXTS

pytestmark = pytest.mark.slow

KEYS = tuple("abcdefghij")
POLICIES = ("first", "longest", "prefer:[aceg]")
KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"text": False},
    {"channels": ["simhash"]},
    {"channels": ["minhash"]},
    {"scheme": SchemeChoice("simtool", bits=32, features=5)},
    {"scheme": SchemeChoice("web", fields=("topic:enum:sea,land:50",))},
)
TOPICS = ("sea", "land", None)

# One change: a document, with a date of its own or none; without a text: it goes.
Change = tuple[str, str | None, int | None, str | None]
changes_of_one = st.tuples(
    st.sampled_from(KEYS),
    st.one_of(st.none(), TEXTS, TEXTS),
    st.one_of(st.none(), st.integers(1_000_000, 1_000_004)),
    st.sampled_from(TOPICS),
)
batches = st.lists(st.lists(changes_of_one, max_size=8), min_size=1, max_size=4)


@contextmanager
def made(**options: Any) -> Iterator[Store]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "s.db", synchronous="normal", **options) as store,
    ):
        yield store


def change(store: Store, batch: Sequence[Change]) -> None:
    """Apply changes to a store, one after the other."""
    for key, text, published_at, topic in batch:
        if text is not None:
            fields = {"topic": topic} if topic else {}
            given_now = Document(key, text, metadata=fields, published_at=published_at)
            store.add_many([given_now], threads=1)
        elif key in store:
            store.remove(key)


def kept(store: Store) -> list[tuple[str, tuple[ClusterMember, ...]]]:
    """Return the kept clusters, by the order of ingest of their canonical documents."""
    found = [(one.key, one.members) for one in store.clusters.list(1)]
    return sorted(found, key=lambda one: one[1][0].document_id)


def of_the_moment(
    store: Store, least: float, policy: str
) -> list[tuple[str, tuple[ClusterMember, ...]]]:
    options = ClusterOptions(min_resemblance=least, policy=policy, min_size=1)
    found = [(one.key, one.members) for one in store.clusters.once(options).clusters]
    return sorted(found, key=lambda one: one[1][0].document_id)


@given(
    st.sampled_from(KINDS),
    batches,
    st.integers(1, 10).map(lambda tenths: tenths / 10),
    st.sampled_from(POLICIES),
    st.integers(1, 3),
)
def test_kept_clusters_are_those_made_from_the_first(
    kind: dict[str, Any],
    changes: list[list[Change]],
    least: float,
    policy: str,
    together: int,
) -> None:
    with made(**kind) as store, mock.patch.object(stored_clusters, "BATCH_TEXTS", together):
        store.clusters.build(min_resemblance=least, policy=policy)
        for batch in changes:
            change(store, batch)
            store.clusters.build()
            assert kept(store) == of_the_moment(store, least, policy)
        mine = kept(store)
        names = {one.key: one.cluster_id for one in store.clusters.list(1)}
        store.clusters.build(rebuild=True)
        assert kept(store) == mine
        assert {one.key: one.cluster_id for one in store.clusters.list(1)} == names
        for cluster in store.clusters.list(1):
            for member in cluster.members:
                place = store.clusters.of(member.key)
                assert place is not None
                assert (place.cluster_id, place.member) == (cluster.cluster_id, member)
