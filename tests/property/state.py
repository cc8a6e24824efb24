"""What "the same state" means: documents, fingerprints, vocabulary and answers.

Run rows, revisions, numbers of generations and times may differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from simstore.model import QueryOptions
from simstore.store import Store

PROBES = ("", "river", "river stone stone", "lamp harbour river the", "stone lamp lamp bridge")
Answer = tuple[str, str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class State:
    """A store as its users see it.

    Attributes:
        documents: Key, text, digest, title, collection, metadata, fingerprint and the key of the
            earliest other document with the same content, in order of ingest.
        vocabulary: Rank, term, documents and occurrences, in order of frequency.
        answers: Key, fingerprint and matches of each sample that was asked.
    """

    documents: tuple[tuple[Any, ...], ...]
    vocabulary: tuple[tuple[int | None, str, int, int], ...]
    answers: tuple[Answer, ...]
    document_count: int
    waiting: int
    fresh: bool


def state_of(store: Store, samples: Iterable[str] = PROBES) -> State:
    statistics = store.stats()
    return State(
        tuple(
            (
                one.key, one.text, one.digest, one.title, one.collection, dict(one.metadata),
                one.fingerprint, one.duplicate_of,
            )
            for one in store.list(with_text=True)
        ),
        tuple(
            (one.rank, one.term, one.document_count, one.total_count)
            for one in store.vocabulary.terms()
        ),
        answers_of(store, samples),
        statistics.document_count,
        statistics.waiting,
        statistics.fresh,
    )  # fmt: skip


def answers_of(
    store: Store, samples: Iterable[str], options: QueryOptions | None = None
) -> tuple[Answer, ...]:
    results = store.query_many([(f"sample {n}", text) for n, text in enumerate(samples)], options)
    return tuple(
        (one.key, one.fingerprint, tuple((match.key, match.distance) for match in one.matches))
        for one in results
    )


def assert_sound(store: Store) -> None:
    assert store.maintenance.fsck() == []
    assert store.stats().waiting == 0
