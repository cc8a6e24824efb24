"""Measure how far word counts have drifted since the fingerprints in use were made."""

from __future__ import annotations

import numpy as np

from simstore.fingerprint.simhash import to_integers
from simstore.model import VocabularyStatus, VocabularyTerm
from simstore.services.features import corpus_statistics, feature_counts
from simstore.services.generations.refresh import present_ranks
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage import documents, vocabularies
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints
from simstore.text.decoding import exact_text

_DRIFT_SAMPLE = 1_000


def status(opened: OpenStore) -> VocabularyStatus:
    """Return the vocabulary's state and how far the standing generation has drifted from it."""
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        bits = snapshot.scheme.bits
        generation_id = snapshot.generation.generation_id if snapshot.generation else None
        sampled = changed = 0
        frozen, differing, entering, present = _compared(snapshot)
        if generation_id is not None and present is not None:
            sampled, changed = _drift(snapshot, generation_id, present)
        waiting = 0
        if generation_id is not None:
            waiting = documents.count(connection) - fingerprints.link_count(
                connection, bits, generation_id
            )
        elif snapshot.scheme.depends_on_corpus:
            waiting = documents.count(connection)
        return VocabularyStatus(
            scheme=snapshot.scheme.label,
            policy=snapshot.settings.policy,
            generation_id=generation_id,
            fresh=snapshot.is_fresh and not waiting,
            term_count=vocabularies.known_term_count(connection, snapshot.scheme_id),
            rank_count=frozen,
            changed_ranks=differing,
            entering_terms=entering,
            sampled=sampled,
            changed_fingerprints=changed,
            waiting=waiting,
        )


def _compared(snapshot: Snapshot) -> tuple[int, int, int, corpus_statistics.Standing | None]:
    """Compare the present vocabulary with the standing generation's.

    Returns:
        Features that the generation has frozen; ranks or document frequencies that a refresh would
        change; features that would come in; and what the present says of features.
    """
    connection = snapshot.connection
    generation_id = snapshot.generation.generation_id if snapshot.generation else None
    if snapshot.scheme.corpus == "frequencies":
        numbers, counts = vocabularies.present_frequencies(connection, snapshot.scheme_id)
        held = np.empty(0, np.int64), np.empty(0, np.int64)
        if generation_id is not None:
            held = snapshot.store.frequencies_of(connection, generation_id)
        now_of = dict(zip(numbers[1:].tolist(), counts[1:].tolist(), strict=True))
        held_of = dict(zip(held[0][1:].tolist(), held[1][1:].tolist(), strict=True))
        differing = sum(now_of.get(n) != held_of.get(n) for n in now_of.keys() | held_of.keys())
        entering = len(now_of.keys() - held_of.keys())
        return (
            len(held_of),
            differing,
            entering,
            corpus_statistics.of_frequencies((numbers, counts)),
        )
    ranked = present_ranks(snapshot)
    old = (
        []
        if generation_id is None
        else [n for n, _ in vocabularies.ranks(connection, generation_id)]
    )
    new = [number for number, _ in ranked]
    differing = sum(a != b for a, b in zip(old, new, strict=False)) + abs(len(old) - len(new))
    known = corpus_statistics.of_ranks(ranked) if snapshot.scheme.depends_on_corpus else None
    return len(old), differing, len(set(new) - set(old)), known


def _drift(
    snapshot: Snapshot,
    generation_id: int,
    present: corpus_statistics.Standing,
) -> tuple[int, int]:
    """Return how many documents were looked at, and how many would change their fingerprint."""
    connection = snapshot.connection
    sample = sample_documents(connection, _DRIFT_SAMPLE)
    stored = fingerprints.of_documents(connection, snapshot.scheme.bits, generation_id, sample)
    chosen = sorted(stored)
    rows = feature_counts.feature_rows(snapshot, chosen)
    words = corpus_statistics.row_fingerprints(
        connection, snapshot.scheme, [rows[document_id] for document_id in chosen], present
    )
    values = to_integers(words)
    return len(chosen), sum(
        stored[document_id] != value for document_id, value in zip(chosen, values, strict=True)
    )


def sample_documents(connection: Connection, size: int) -> list[int]:
    """Return documents spread evenly over the order of ingest, the same at each call."""
    total = documents.count(connection)
    step = max(total // size, 1)
    return documents.every_nth(connection, step, size)


def top_terms(opened: OpenStore, limit: int | None) -> list[VocabularyTerm]:
    """Return the most frequent features, ties by the term's bytes."""
    with opened.database.read() as connection:
        state = opened.state(connection)
        rank_of: dict[int, int] = {}
        if state.generation is not None:
            ranked = vocabularies.ranks(connection, state.generation.generation_id)
            rank_of = {number: rank for rank, (number, _) in enumerate(ranked)}
        frequent = vocabularies.most_frequent(connection, state.scheme_id, limit)
        frequent.sort(key=lambda row: (-row[3], row[0]))
        return [
            VocabularyTerm(rank_of.get(number), exact_text(term), document_count, total)
            for term, number, document_count, total in frequent[:limit]
        ]
