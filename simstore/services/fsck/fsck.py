"""Check every invariant of a store that can be stated; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import numpy as np

from simstore.errors import CorruptStore, SchemeMismatch, printable
from simstore.fingerprint.features import FeatureCounts, assemble
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.model import Finding, Progress
from simstore.search.segments import segment_values
from simstore.services.channels.store_part import every_part
from simstore.services.features import corpus_statistics, feature_counts
from simstore.services.fingerprints.fingerprint_store import is_fingerprints_only
from simstore.services.fsck.access import reply_problems, token_problems
from simstore.services.fsck.clusters import cluster_findings
from simstore.services.fsck.duplicates import duplicate_problems
from simstore.services.fsck.history import check_history
from simstore.services.fsck.pages import check_pages
from simstore.services.fsck.passages import check_passages
from simstore.services.fsck.vocabulary import named_problems, numbered_problems
from simstore.services.generations.refresh import present_ranks
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.services.open_store.state import State
from simstore.storage import checks, codecs, deltas, documents, generations, vocabularies
from simstore.storage.fingerprints import fingerprints
from simstore.storage.vocabularies import FeatureRow
from simstore.text.decoding import exact_text, text_digest

BATCH_DOCUMENTS = 1_000
_MOST_FINDINGS = 20

_RESTORE = "restore a copy made by `simstore backup`"
_REINGEST = "remove the document and ingest it again"
_RECHECK = "ingest the key again"
_REFRESH = "run `simstore vocabulary refresh --anyway`"
_REINDEX_SCHEME = "run `simstore reindex --scheme ...` with the scheme's options"
_REINDEX = "run `simstore reindex`"
_MAKE_ANEW = "revoke the token, and make another"
_FORGET = "leave it: it is forgotten a day after it was made"


def check_store(opened: OpenStore, on_progress: Progress | None = None) -> list[Finding]:
    """Return every broken invariant, at most 20 of a kind; an empty list for a sound store.

    What is checked: the file (pages, indexes, references); what each column holds (type, range,
    JSON, references that the tables do not declare); the store's parameters; the scheme's known
    answers; texts against their digests, sizes and numbers of features; kept feature counts
    against the texts; the vocabulary against the sum of the documents; ranks against the order
    rule; that the generation that stood is there; each document's fingerprint against a
    computation anew; segment columns and pages against fingerprints; no fingerprint without a
    document, no document without a fingerprint; sketches against the texts, and packed bands
    against the sketches; the passage index against the texts; kept clusters against their
    documents, and the edges of their members; times, visits and earlier versions of documents;
    duplicates against the documents; tokens, and replies that are kept to be given again.
    """
    with opened.database.read() as connection:
        findings = [
            Finding("file", problem, _RESTORE) for problem in checks.file_problems(connection)
        ]
        if findings:
            return findings
        findings = _columns(checks.broken_columns(connection)) or _columns(
            checks.broken_names_of_sources(connection)
        )
        if findings:
            return findings
        try:
            generations.settings(connection)
        except CorruptStore as error:
            return [Finding("store", error.reason, _RESTORE)]
        try:
            snapshot = opened.snapshot(connection)
        except SchemeMismatch as error:
            return [Finding("scheme", error.detail, _REINDEX)]
        except CorruptStore as error:
            return [Finding("scheme", error.reason, _REINDEX_SCHEME)]
        try:
            deltas.unmerged(connection, snapshot.scheme_id)
        except CorruptStore as error:
            return [Finding("vocabulary", error.reason, _REINDEX)]
        if snapshot.scheme.corpus == "frequencies" and snapshot.generation is not None:
            try:
                opened.frequencies_of(connection, snapshot.generation.generation_id)
            except CorruptStore as error:
                return [Finding("frequencies", error.reason, _REFRESH)]
        for check in (
            _check_documents,
            _check_fingerprints,
            _check_channels,
            _check_passages,
            _check_vocabulary,
            _check_ranks,
            _check_clusters,
            _check_history,
            _check_duplicates,
            _check_access,
        ):
            findings += _some(check(_Check(snapshot, on_progress)))
        # What another check has found is not told twice.
        return findings or _columns(checks.broken_digests(connection))


def _columns(problems: Iterator[str]) -> list[Finding]:
    return [Finding("column", problem, _RESTORE) for problem in problems]


def _some(found: Iterator[Finding]) -> list[Finding]:
    """Return findings, at most 20; a check that meets damage it cannot pass ends with it."""
    kept: list[Finding] = []
    try:
        for finding in found:
            if len(kept) == _MOST_FINDINGS:
                kept.append(Finding(finding.invariant, "... and more", finding.remedy))
                break
            kept.append(finding)
    except CorruptStore as error:
        kept.append(Finding("damage", error.reason, _RESTORE))
    return kept


class _Check:
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
        """Return the kept feature counts of documents that can be read."""
        rows = {}
        for document_id, packed in vocabularies.packed_features_of(
            self.snapshot.connection, self.snapshot.scheme_id, batch
        ).items():
            with suppress(ValueError):
                rows[document_id] = codecs.unpack_features(packed)
        return rows


def _check_documents(check: _Check) -> Iterator[Finding]:
    """Texts agree with digests and sizes; kept counts agree with texts."""
    snapshot = check.snapshot
    for batch in check.batches():
        facts = checks.document_facts(check.snapshot.connection, batch)
        texts = check.texts(batch)
        if snapshot.settings.text_kept:
            for document_id, (key, digest, size, _) in facts.items():
                text = texts.get(document_id)
                if text is None:
                    yield Finding("text", f"{_shown(key)}: missing or damaged", _REINGEST)
                elif text_digest(text) != digest:
                    yield Finding("digest", f"{_shown(key)}: the text is another", _REINGEST)
                elif len(text) != size:
                    yield Finding(
                        "size", f"{_shown(key)}: {len(text)} bytes, not {size}", _REINGEST
                    )
        yield from _check_sizes(check, facts, texts)
        if not snapshot.keeps_counts:
            continue
        kept = check.kept_rows(batch)
        for document_id in batch:
            if document_id not in kept:
                shown = _shown(facts[document_id][0])
                yield Finding("features", f"{shown}: missing or damaged", _REINDEX)
        if texts:
            for document_id, (ids, amounts) in _counted(check, texts).items():
                row = kept.get(document_id)
                if row is not None and not (
                    np.array_equal(row[0], ids) and np.array_equal(row[1], amounts)
                ):
                    key = facts[document_id][0]
                    yield Finding("features", f"{_shown(key)}: not those of its text", _REINDEX)


def _check_sizes(
    check: _Check, facts: Mapping[int, checks.DocumentFacts], texts: Mapping[int, bytes]
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
            yield Finding("tokens", f"{_shown(key)}: {size} features, not {noted}", _REINGEST)


def _counts(check: _Check, texts: dict[int, bytes]) -> FeatureCounts:
    decoded = {number: exact_text(text) for number, text in texts.items()}
    return feature_counts.count_stored(check.snapshot.connection, check.snapshot.scheme, decoded)


def _counted(check: _Check, texts: dict[int, bytes]) -> dict[int, FeatureRow]:
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


def _check_fingerprints(check: _Check) -> Iterator[Finding]:
    """Each document has the fingerprint of its features, each fingerprint its segments."""
    snapshot, connection = check.snapshot, check.snapshot.connection
    bits = snapshot.scheme.bits
    if snapshot.generation is None:
        if snapshot.generation_is_lost:
            makes_anew = snapshot.scheme.depends_on_corpus or snapshot.settings.text_kept
            remedy = f"{_remedy(snapshot)}, or {_RESTORE}" if makes_anew else _RESTORE
            yield Finding("generation", "the standing one is lost", remedy)
        if documents.count(connection) and snapshot.settings.changes == 0:
            yield Finding("generation", "documents, but no change was counted", _RESTORE)
        return
    generation_id = snapshot.generation.generation_id
    may_wait = not snapshot.is_fresh
    for batch in check.batches():
        stored = fingerprints.of_documents(connection, bits, generation_id, batch)
        if len(stored) < len(batch) and not may_wait:
            missing = len(batch) - len(stored)
            yield Finding("fingerprint", f"{missing} documents have none", _remedy(snapshot))
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
            "fingerprint", f"{unnamed} documents name none that is there", _remedy(snapshot)
        )
    strays = fingerprints.stray_links(connection, bits)
    if strays:
        yield Finding("fingerprint", f"{strays} of documents that are gone", _remedy(snapshot))


def _made(check: _Check, generation_id: int, batch: list[int]) -> dict[int, int]:
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


def _check_channels(check: _Check) -> Iterator[Finding]:
    """Each document has what its text is found by, and is found by that."""
    for part in every_part():
        batches = ((batch, check.texts(batch)) for batch in check.batches())
        yield from part.findings(check.snapshot, batches)


def _check_passages(check: _Check) -> Iterator[Finding]:
    """Each document's entry in the passage index is that of its text."""
    batches = ((batch, check.texts(batch)) for batch in check.batches())
    yield from check_passages(check.snapshot, batches)


def _check_vocabulary(check: _Check) -> Iterator[Finding]:
    """The vocabulary is the sum of the documents."""
    snapshot = check.snapshot
    if not snapshot.records_vocabulary or not (
        snapshot.keeps_counts or snapshot.settings.text_kept
    ):
        return
    if snapshot.keeps_counts:
        rows = (row for batch in check.batches() for row in check.kept_rows(batch).values())
        problems = numbered_problems(check.snapshot.connection, snapshot.scheme_id, rows)
    else:
        counts = (_counts(check, check.texts(batch)) for batch in check.batches())
        problems = named_problems(check.snapshot.connection, snapshot.scheme_id, counts)
    for problem in problems:
        yield Finding("vocabulary", problem, _REINDEX)


def _check_ranks(check: _Check) -> Iterator[Finding]:
    """Ranks follow their order; what a fresh generation froze is the present vocabulary."""
    snapshot, connection = check.snapshot, check.snapshot.connection
    if not snapshot.scheme.depends_on_corpus or snapshot.generation is None:
        return
    number = snapshot.generation.generation_id
    if snapshot.scheme.corpus == "frequencies" and snapshot.is_fresh:
        held = snapshot.store.frequencies_of(connection, number)
        present = vocabularies.present_frequencies(connection, snapshot.scheme_id)
        if not all(map(np.array_equal, held, present)):
            yield Finding("frequencies", "not those of the present vocabulary", _REFRESH)
    ranked = vocabularies.ranks(connection, number)
    totals = [total for _, total in ranked]
    if totals != sorted(totals, reverse=True):
        yield Finding("ranks", "not by descending count", _REFRESH)
    if (
        snapshot.scheme.corpus == "ranks"
        and snapshot.is_fresh
        and present_ranks(snapshot) != ranked
    ):
        yield Finding("ranks", "not those of the present vocabulary", _REFRESH)
    stand = generations.generations(connection, ("standing",))
    if len(stand) != 1:
        yield Finding("generation", f"{len(stand)} generations stand", _RESTORE)


def _remedy(state: State) -> str:
    if is_fingerprints_only(state):
        return _RESTORE
    return _REFRESH if state.scheme.depends_on_corpus else _REINDEX


def _shown(key: bytes) -> str:
    return printable(exact_text(key))


def _check_clusters(check: _Check) -> Iterator[Finding]:
    yield from cluster_findings(check.snapshot)


def _check_history(check: _Check) -> Iterator[Finding]:
    yield from check_history(check.snapshot.connection, _MOST_FINDINGS + 1)


def _check_duplicates(check: _Check) -> Iterator[Finding]:
    for problem in duplicate_problems(check.snapshot.connection):
        yield Finding("duplicates", problem, _RECHECK)


def _check_access(check: _Check) -> Iterator[Finding]:
    for problem in token_problems(check.snapshot.connection):
        yield Finding("tokens", problem, _MAKE_ANEW)
    for problem in reply_problems(check.snapshot.connection):
        yield Finding("replies", problem, _FORGET)
