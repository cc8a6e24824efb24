"""Check that the vocabulary is the sum of the documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from simstore.errors import printable
from simstore.fingerprint.features import FeatureCounts
from simstore.services.features.feature_counts import feature_sums
from simstore.storage import deltas, vocabularies
from simstore.storage.deltas import TermSums
from simstore.storage.engine import Connection
from simstore.storage.vocabularies import FeatureRow
from simstore.text.decoding import exact_text


def numbered_problems(
    connection: Connection, scheme_id: int, rows: Iterable[FeatureRow]
) -> Iterator[str]:
    """Compare a vocabulary with the kept feature counts of all documents.

    Args:
        connection: A snapshot.
        scheme_id: The scheme.
        rows: Feature numbers, ascending, and counts of each document.
    """
    size = vocabularies.largest_feature_id(connection, scheme_id) + 1
    expected = np.zeros((2, size), np.int64)
    for ids, amounts in rows:
        if len(ids) and (ids[0] < 0 or ids[-1] >= size):
            yield "a feature of a document is not in it"
            continue
        expected[0, ids] += 1
        expected[1, ids] += amounts
    held = np.zeros((2, size), np.int64)
    for number, _, document_count, total in vocabularies.counts_of_terms(connection, scheme_id):
        held[:, number] = document_count, total
    pending = deltas.unmerged(connection, scheme_id)
    ids, document_counts, totals = pending.numbered
    if (len(ids) and ids[-1] >= size) or pending.named:
        yield "a delta names an unknown feature"
        return
    held[0, ids] += document_counts
    held[1, ids] += totals
    for number in np.flatnonzero((expected != held).any(axis=0)).tolist():
        yield _difference(str(number), held[:, number].tolist(), expected[:, number].tolist())


def named_problems(
    connection: Connection, scheme_id: int, counted: Iterable[FeatureCounts]
) -> Iterator[str]:
    """Compare a vocabulary with the features counted anew of all documents.

    Args:
        connection: A snapshot.
        scheme_id: The scheme.
        counted: The counts of all documents, batch by batch.
    """
    sums = TermSums()
    for counts in counted:
        sums.add(counts.terms, *feature_sums(counts))
    expected = sums.sums()
    pending = deltas.unmerged(connection, scheme_id)
    named = dict(pending.named)
    changes = dict(zip(pending.numbered[0].tolist(), pending.numbered[1:].T.tolist(), strict=True))
    for number, term, document_count, total in vocabularies.counts_of_terms(connection, scheme_id):
        documents, occurrences = changes.pop(number, (0, 0))
        more = named.pop(term, (0, 0))
        held = (document_count + documents + more[0], total + occurrences + more[1])
        if held != (of_texts := expected.pop(term, (0, 0))):
            yield _difference(_shown(term), held, of_texts)
    if changes:
        yield "a delta names an unknown feature"
        return
    for term in sorted(expected.keys() | named.keys()):
        held, of_texts = named.get(term, (0, 0)), expected.get(term, (0, 0))
        if held != of_texts:
            yield _difference(_shown(term), held, of_texts)


def _difference(feature: str, held: Sequence[int], expected: Sequence[int]) -> str:
    """Say what is wrong with the counts of a feature: (documents, occurrences)."""
    return (
        f"feature {feature}: {held[1]} times in {held[0]} documents, "
        f"not {expected[1]} in {expected[0]}"
    )


def _shown(term: bytes) -> str:
    return printable(exact_text(term))
