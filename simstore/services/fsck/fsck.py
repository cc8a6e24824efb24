"""Run all integrity checks on a store (fsck) and list what is broken, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator

from simstore.errors import CorruptStore, SchemeMismatch
from simstore.model import Finding, Progress
from simstore.services.channels.store_part import every_part
from simstore.services.fsck.documents import (
    REFRESH,
    REINDEX,
    RESTORE,
    StoreCheck,
    check_documents,
    check_fingerprints,
    check_ranks,
    check_vocabulary,
)
from simstore.services.fsck.history import (
    check_clusters,
    check_history,
    duplicate_problems,
    token_problems,
)
from simstore.services.fsck.indexes import check_passages, check_rows
from simstore.services.open_store.open_store import OpenStore
from simstore.storage import checks, deltas, generations

_MOST_FINDINGS = 20

_RECHECK = "ingest the key again"
_REINDEX_SCHEME = "run `simstore reindex --scheme ...` with the scheme's options"
_MAKE_ANEW = "revoke the token, and make another"


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
    documents, and the edges of their members; times and earlier versions of documents;
    duplicates against the documents; tokens, and replies that are kept to be given again.
    """
    with opened.database.read() as connection:
        findings = [
            Finding("file", problem, RESTORE) for problem in checks.file_problems(connection)
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
            return [Finding("store", error.reason, RESTORE)]
        try:
            snapshot = opened.snapshot(connection)
        except SchemeMismatch as error:
            return [Finding("scheme", error.detail, REINDEX)]
        except CorruptStore as error:
            return [Finding("scheme", error.reason, _REINDEX_SCHEME)]
        try:
            deltas.unmerged(connection, snapshot.scheme_id)
        except CorruptStore as error:
            return [Finding("vocabulary", error.reason, REINDEX)]
        if snapshot.scheme.corpus == "frequencies" and snapshot.generation is not None:
            try:
                opened.frequencies_of(connection, snapshot.generation.generation_id)
            except CorruptStore as error:
                return [Finding("frequencies", error.reason, REFRESH)]
        for check in (
            check_documents,
            check_fingerprints,
            _check_rows,
            _check_channels,
            _check_passages,
            check_vocabulary,
            check_ranks,
            _check_clusters,
            _check_history,
            _check_duplicates,
            _check_access,
        ):
            findings += _some(check(StoreCheck(snapshot, on_progress)))
        # What another check has found is not told twice.
        return findings or _columns(checks.broken_digests(connection))


def _columns(problems: Iterator[str]) -> list[Finding]:
    return [Finding("column", problem, RESTORE) for problem in problems]


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
        kept.append(Finding("damage", error.reason, RESTORE))
    return kept


def _check_rows(check: StoreCheck) -> Iterator[Finding]:
    yield from check_rows(check.snapshot.connection)


def _check_channels(check: StoreCheck) -> Iterator[Finding]:
    """Each document has what its text is found by, and is found by that."""
    for part in every_part():
        batches = ((batch, check.texts(batch)) for batch in check.batches())
        yield from part.findings(check.snapshot, batches)


def _check_passages(check: StoreCheck) -> Iterator[Finding]:
    """Each document's entry in the passage index is that of its text."""
    batches = ((batch, check.texts(batch)) for batch in check.batches())
    yield from check_passages(check.snapshot, batches)


def _check_clusters(check: StoreCheck) -> Iterator[Finding]:
    yield from check_clusters(check.snapshot)


def _check_history(check: StoreCheck) -> Iterator[Finding]:
    yield from check_history(check.snapshot.connection, _MOST_FINDINGS + 1)


def _check_duplicates(check: StoreCheck) -> Iterator[Finding]:
    for problem in duplicate_problems(check.snapshot.connection):
        yield Finding("duplicates", problem, _RECHECK)


def _check_access(check: StoreCheck) -> Iterator[Finding]:
    for problem in token_problems(check.snapshot.connection):
        yield Finding("tokens", problem, _MAKE_ANEW)
