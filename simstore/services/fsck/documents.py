"""Check the consistency of documents: texts, features, fingerprints, vocabulary and ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np

from simstore.errors import counted, printable
from simstore.fingerprint.features import FeatureCounts, assemble
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.index.segments import segment_values
from simstore.model import Finding, Progress
from simstore.services.features import corpus_statistics, feature_counts
from simstore.services.features.feature_counts import feature_sums
from simstore.services.fingerprints.fingerprint_store import is_fingerprints_only
from simstore.services.fsck.indexes import check_pages
from simstore.services.generations.refresh import present_ranks
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import State
from simstore.storage import checks, codecs, deltas, documents, generations, vocabularies
from simstore.storage.deltas import TermSums
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints
from simstore.storage.vocabularies import FeatureRow
from simstore.text.decoding import document_digest, exact_text

BATCH_DOCUMENTS = 1_000

RESTORE = "restore a copy made by `simstore backup`"
REINGEST = "remove the document and ingest it again"
REFRESH = "run `simstore vocabulary refresh --anyway`"
REINDEX = "run `simstore reindex`"


class StoreCheck:
    """One pass over a snapshot of the store."""

    def __init__(
        self,
        snapshot: Snapshot,
        on_progress: Progress | None,
    ) -> None:
        self.snapshot = snapshot
        self._on_progress = on_progress

    def batches(self) -> Iterator[list[int]]:
        """Yield all document numbers in batches."""
        total = documents.count(self.snapshot.connection)
        after = done = 0
        while batch := documents.ids_after(self.snapshot.connection, after, BATCH_DOCUMENTS):
            yield batch
            after = batch[-1]
            done += len(batch)
            if self._on_progress is not None:
                self._on_progress(done, total)

    def texts(self, batch: list[int]) -> dict[int, bytes]:
        """Return the texts of documents that can be read."""
        texts = {}
        for document_id, packed in documents.texts_of(self.snapshot.connection, batch).items():
            with suppress(ValueError):
                texts[document_id] = codecs.decompress(packed)
        return texts

    def kept_rows(self, batch: list[int]) -> dict[int, FeatureRow]:
        """Return the stored feature counts of documents that can be read."""
        rows = {}
        for document_id, packed in vocabularies.packed_features_of(
            self.snapshot.connection, self.snapshot.scheme_id, batch
        ).items():
            with suppress(ValueError):
                rows[document_id] = codecs.unpack_features(packed)
        return rows


def check_documents(check: StoreCheck) -> Iterator[Finding]:
    """Check that texts agree with digests and sizes, and stored feature counts with texts."""
    snapshot = check.snapshot
    for batch in check.batches():
        facts = checks.document_facts(check.snapshot.connection, batch)
        texts = check.texts(batch)
        if snapshot.settings.text_kept:
            for document_id, (key, digest, size, _) in facts.items():
                text = texts.get(document_id)
                if text is None:
                    yield Finding("text", f"{_shown(key)}: missing or damaged", REINGEST)
                elif digest != document_digest(key, exact_text(text), text):
                    yield Finding("digest", f"{_shown(key)}: the text is another", REINGEST)
                elif len(text) != size:
                    yield Finding("size", f"{_shown(key)}: {len(text)} bytes, not {size}", REINGEST)
        yield from _check_sizes(check, facts, texts)
        if not snapshot.keeps_counts:
            continue
        kept = check.kept_rows(batch)
        for document_id in batch:
            if document_id not in kept:
                shown = _shown(facts[document_id][0])
                yield Finding("features", f"{shown}: missing or damaged", REINDEX)
        if texts:
            for document_id, (ids, amounts) in _counted(check, texts).items():
                row = kept.get(document_id)
                if row is not None and not (
                    np.array_equal(row[0], ids) and np.array_equal(row[1], amounts)
                ):
                    key = facts[document_id][0]
                    yield Finding("features", f"{_shown(key)}: not those of its text", REINDEX)


def _check_sizes(
    check: StoreCheck, facts: Mapping[int, checks.DocumentFacts], texts: Mapping[int, bytes]
) -> Iterator[Finding]:
    """Each document has as many features as are counted in it."""
    scheme = check.snapshot.scheme
    if texts:
        numbers, counts = list(texts), _counts(check, dict(texts))
    elif check.snapshot.keeps_counts and not scheme.reads_metadata:
        kept = check.kept_rows(list(facts))
        numbers, counts = list(kept), assemble(list(kept.values()))
    else:
        return
    for number, size in zip(numbers, scheme.token_counts(counts).tolist(), strict=True):
        key, _, _, noted = facts[number]
        if size != noted:
            yield Finding("tokens", f"{_shown(key)}: {size} features, not {noted}", REINGEST)


def _counts(check: StoreCheck, texts: dict[int, bytes]) -> FeatureCounts:
    decoded = {number: exact_text(text) for number, text in texts.items()}
    return feature_counts.count_stored(check.snapshot.connection, check.snapshot.scheme, decoded)


def _counted(check: StoreCheck, texts: dict[int, bytes]) -> dict[int, FeatureRow]:
    """Return the feature counts of texts; terms unknown to the vocabulary have the number -1."""
    counts = _counts(check, texts)
    known = vocabularies.feature_ids(
        check.snapshot.connection, check.snapshot.scheme_id, counts.terms
    )
    ids = np.array([known.get(term, -1) for term in counts.terms], np.int64)
    rows = {}
    for row, document_id in enumerate(texts):
        columns, amounts = counts.row(row)
        order = np.argsort(ids[columns])
        rows[document_id] = ids[columns][order], amounts[order]
    return rows


def check_fingerprints(check: StoreCheck) -> Iterator[Finding]:
    """Check that each document has the fingerprint of its features, and that its segments agree."""
    snapshot, connection = check.snapshot, check.snapshot.connection
    bits = snapshot.scheme.bits
    if snapshot.generation is None:
        if snapshot.generation_is_lost:
            makes_anew = snapshot.scheme.depends_on_corpus or snapshot.settings.text_kept
            remedy = f"{_remedy(snapshot)}, or {RESTORE}" if makes_anew else RESTORE
            yield Finding("generation", "the standing one is lost", remedy)
        if documents.count(connection) and snapshot.settings.changes == 0:
            yield Finding("generation", "documents, but no change was counted", RESTORE)
        return
    generation_id = snapshot.generation.generation_id
    basis, changes = snapshot.generation.basis, snapshot.settings.changes
    if basis > changes:
        detail = f"made after {basis} changes, and the store counts {changes}"
        yield Finding("generation", detail, _remedy(snapshot))
    may_wait = not snapshot.is_fresh
    for batch in check.batches():
        stored = fingerprints.of_documents(connection, bits, generation_id, batch)
        if len(stored) < len(batch) and not may_wait:
            missing = counted(len(batch) - len(stored), "document has", "documents have")
            yield Finding("fingerprint", f"{missing} none", _remedy(snapshot))
        chosen = sorted(stored)
        for document_id, value in _made(check, generation_id, chosen).items():
            if stored[document_id] != value:
                shown = f"{to_hex(stored[document_id], bits)}, not {to_hex(value, bits)}"
                yield Finding("fingerprint", f"document {document_id}: {shown}", _remedy(snapshot))
    segments = len(segment_values(0, bits))
    for value, columns in fingerprints.tail_rows(connection, bits, generation_id):
        expected = segment_values(value, bits)
        if columns[:segments] != expected or any(c is not None for c in columns[segments:]):
            yield Finding("segments", f"{to_hex(value, bits)}: {columns}", _remedy(snapshot))
    broken = list(check_pages(connection, bits, snapshot.generation, _remedy(snapshot)))
    yield from broken
    if any(finding.invariant == "pages" for finding in broken):
        return
    if is_fingerprints_only(snapshot):
        return
    unheld, unnamed = fingerprints.unheld_values(connection, bits, snapshot.generation)
    if unheld:
        yield Finding("fingerprint", f"{unheld} without a document", _remedy(snapshot))
    if unnamed:
        yield Finding(
            "fingerprint",
            f"{counted(unnamed, 'document names', 'documents name')} none that is there",
            _remedy(snapshot),
        )
    strays = fingerprints.stray_links(connection, bits)
    if strays:
        yield Finding("fingerprint", f"{strays} of documents that are gone", _remedy(snapshot))


def _made(check: StoreCheck, generation_id: int, batch: list[int]) -> dict[int, int]:
    """Return the fingerprints of documents, made anew where their features are known."""
    snapshot = check.snapshot
    texts = {} if snapshot.keeps_counts else check.texts(batch)
    if texts:
        words = snapshot.scheme.fingerprints(_counts(check, texts))
        return dict(zip(texts, to_integers(words), strict=True))
    rows = check.kept_rows(batch)
    chosen = sorted(rows)
    known = None
    if snapshot.scheme.depends_on_corpus:
        known = corpus_statistics.of_generation(check.snapshot, generation_id)
    words = corpus_statistics.row_fingerprints(
        check.snapshot.connection,
        snapshot.scheme,
        [rows[document_id] for document_id in chosen],
        known,
    )
    return dict(zip(chosen, to_integers(words), strict=True))


def check_vocabulary(check: StoreCheck) -> Iterator[Finding]:
    """Check that the vocabulary's counts are the sum of the documents'."""
    snapshot = check.snapshot
    if not snapshot.records_vocabulary or not (
        snapshot.keeps_counts or snapshot.settings.text_kept
    ):
        return
    if snapshot.keeps_counts:
        rows = (row for batch in check.batches() for row in check.kept_rows(batch).values())
        problems = _numbered_problems(check.snapshot.connection, snapshot.scheme_id, rows)
    else:
        counts = (_counts(check, check.texts(batch)) for batch in check.batches())
        problems = _named_problems(check.snapshot.connection, snapshot.scheme_id, counts)
    for problem in problems:
        yield Finding("vocabulary", problem, REINDEX)


def check_ranks(check: StoreCheck) -> Iterator[Finding]:
    """Check the order of ranks, and that a fresh generation's are the present vocabulary's."""
    snapshot, connection = check.snapshot, check.snapshot.connection
    if not snapshot.scheme.depends_on_corpus or snapshot.generation is None:
        return
    number = snapshot.generation.generation_id
    if snapshot.scheme.corpus == "frequencies" and snapshot.is_fresh:
        held = snapshot.store.frequencies_of(connection, number)
        present = vocabularies.present_frequencies(connection, snapshot.scheme_id)
        if not all(map(np.array_equal, held, present)):
            yield Finding("frequencies", "not those of the present vocabulary", REFRESH)
    ranked = vocabularies.ranks(connection, number)
    totals = [total for _, total in ranked]
    if totals != sorted(totals, reverse=True):
        yield Finding("ranks", "not by descending count", REFRESH)
    if (
        snapshot.scheme.corpus == "ranks"
        and snapshot.is_fresh
        and present_ranks(snapshot) != ranked
    ):
        yield Finding("ranks", "not those of the present vocabulary", REFRESH)
    stand = generations.generations(connection, ("standing",))
    if len(stand) != 1:
        yield Finding("generation", f"{len(stand)} generations stand", RESTORE)


def _remedy(state: State) -> str:
    if is_fingerprints_only(state):
        return RESTORE
    return REFRESH if state.scheme.depends_on_corpus else REINDEX


def _shown(key: bytes) -> str:
    return printable(exact_text(key))


def _numbered_problems(
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


def _named_problems(
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
