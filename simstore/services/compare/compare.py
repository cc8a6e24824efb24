"""Compare two texts, or stored documents, by every similarity measure, and time each one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Unpack

from simstore.errors import BadInput, DocumentNotFound, MalformedRecord, NotFound, printable
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.fingerprint.weights import COUNT_PART
from simstore.model import (
    ComparedText,
    Comparison,
    Document,
    Ignored,
    Measurement,
    Progress,
    Rejection,
    with_keywords,
)
from simstore.search.hamming import distances
from simstore.search.resemblance import overlap
from simstore.services.compare import measures
from simstore.services.compare.compared import (
    CollectionCounts,
    CompareKeywords,
    CompareOptions,
    Prepared,
    prepare,
)
from simstore.services.features import corpus_statistics, feature_counts
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions
from simstore.sources.registry import IS_EMPTY
from simstore.sources.source import Record
from simstore.storage import documents, vocabularies
from simstore.text.decoding import decode, encode
from simstore.text.disguises import fold_disguises
from simstore.text.folded_places import folded_places

_WARM_UP = ("Warm up: 文字。", "Warm 字!")


def compare_texts(
    first: str,
    second: str,
    options: CompareOptions | None = None,
    *,
    names: tuple[str, str] = ("A", "B"),
    on_progress: Progress | None = None,
    **keywords: Unpack[CompareKeywords],
) -> Comparison:
    """Compare two texts by every algorithm; no store is needed.

    >>> found = compare_texts("Tickets are sold here.", "Tickets sold there")
    >>> found.similar, found.measurement("resemblance").values["jaccard"]
    (True, 0...)

    Args:
        first: A text, A.
        second: Another one, B.
        options: How to compare, as an object; keywords go before it.
        names: What to call them.
        on_progress: Called with algorithms done and in all.

    Keyword Args:
        units: As of :class:`simstore.CompareOptions`, and so all its fields.

    Raises:
        MissingExtra: An option needs a package that is not installed.
        InvalidParameter: A text holds half characters (lone surrogates that are
            no escapes), or the weights need counts that only a store has.
    """
    chosen = with_keywords("compare_texts", CompareOptions, options, keywords)
    return _compare(first, second, chosen, names, None, on_progress)


def _compare(
    first: str,
    second: str,
    options: CompareOptions,
    names: tuple[str, str],
    collection: CollectionCounts | None,
    on_progress: Progress | None,
) -> Comparison:
    """Compare two texts, by the document counts of a store where there are some."""
    # What is loaded or made once a process shall not count for the first algorithm.
    plain = replace(options, weights=COUNT_PART.get(options.weights, options.weights))
    _measure(prepare(_WARM_UP, plain), plain, None)
    made = prepare((first, second), options)
    measurements = _measure(made, options, collection, on_progress)
    similar = None
    if made.sets.sizes().any():
        similar = made.overlap().resemblance >= options.similar_at
    return Comparison(
        _described(made, 0, names[0], options),
        _described(made, 1, names[1], options),
        measurements,
        similar,
    )


def read_document(name: str, read: ReadOptions) -> Document:
    """Return the one document of a file or of standard input.

    Args:
        name: Path, or ``-``.
        read: How to read it.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read.
        MalformedRecord: What it holds is no document, or too long.
        BadInput: It holds no document, or several. A file without a byte is an empty text.
    """
    found = (one for one in FileSource(name, read).records() if not _is_part(one))
    records = list(islice(found, 2))
    if len(records) == 1 and isinstance(records[0], Ignored) and records[0].reason == IS_EMPTY:
        return Document(key=name, text="")
    records = [one for one in records if not isinstance(one, Ignored)]
    for record in records:
        if isinstance(record, Rejection):
            raise MalformedRecord(record.source, record.position, record.reason)
    if len(records) != 1 or not isinstance(records[0], Document):
        how_many = "several documents" if records else "no document"
        raise BadInput(
            f"{printable(name)} holds {how_many} as {read.format}; compare it as a whole with "
            "--as text, or ingest it and name the keys"
        )
    return replace(records[0], key=name)


def _is_part(record: Record) -> bool:
    return isinstance(record, Ignored) and not record.is_source


def _described(made: Prepared, place: int, name: str, options: CompareOptions) -> ComparedText:
    units = len(made.units[place])
    text = decode(made.data[place])
    return ComparedText(
        name=name,
        byte_count=len(made.data[place]),
        character_count=made.character_counts[place],
        shingle_count=max(units - options.shingle + 1, min(units, 1)),
        distinct_shingles=int(made.sets.sizes()[place]),
        feature_count=int(made.counts.token_counts()[place]),
        distinct_features=len(made.counts.row(place)[0]),
        flags=fold_disguises(text).counts.flags(),
        folded=folded_places(text),
    )


def _measure(
    made: Prepared,
    options: CompareOptions,
    collection: CollectionCounts | None,
    on_progress: Progress | None = None,
) -> tuple[Measurement, ...]:
    simhash = partial(measures.simhash, made, options, collection)
    shingling, counting_time = made.shingle_seconds, made.feature_seconds
    steps: list[tuple[str, float, Callable[[], measures.Answer]]] = [
        ("blake2b", 0.0, lambda: measures.blake2b(made)),
        ("md5", 0.0, lambda: measures.md5(made)),
        *((f"simhash-{bits}", counting_time, partial(simhash, bits)) for bits in options.bits),
        ("resemblance", shingling, lambda: measures.resemblance(made, options)),
        ("containment", shingling, lambda: measures.containment(made)),
        ("minhash", shingling, lambda: measures.minhash_estimate(made)),
        ("characters", 0.0, lambda: measures.characters(made, options)),
        ("i-match", counting_time, lambda: measures.imatch_agreement(made, options, collection)),
        ("counting-bloom", counting_time, lambda: measures.filter_overlap(made, options)),
        ("cosine", counting_time, lambda: measures.cosine(made, options, collection)),
        ("euclid", counting_time, lambda: measures.euclid(made, options, collection)),
    ]
    found = []
    for name, shared_seconds, step in steps:
        start = time.perf_counter()
        values, detail = step()
        seconds = shared_seconds + time.perf_counter() - start
        found.append(Measurement(name, values, detail, seconds))
        if on_progress is not None:
            on_progress(len(found), len(steps))
    return tuple(found)


def compare_in_store(
    opened: OpenStore,
    first: str | Document,
    second: str | Document,
    options: CompareOptions | None = None,
    *,
    on_progress: Progress | None = None,
) -> Comparison:
    """Compare two texts, of which some are stored.

    I-Match goes by the store's vocabulary. Behind the other algorithms come fingerprints and
    shingles as the store's own scheme makes them: what a query says of the two.

    Args:
        opened: The store.
        first: Key of a stored document, or a document whose text is given.
        second: Another one.
        options: How to compare.
        on_progress: Called with algorithms done and in all.

    Raises:
        DocumentNotFound: No document has a key.
        NotFound: The store keeps no texts.
    """
    options = options or CompareOptions()
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        given = [_document(snapshot, one) for one in (first, second)]
        collection = _collection_counts(snapshot, given, options)
        by_store = _by_store(snapshot, given)
    names = given[0].key, given[1].key
    found = _compare(given[0].text, given[1].text, options, names, collection, on_progress)
    return replace(found, measurements=found.measurements + by_store)


def _document(snapshot: Snapshot, given: str | Document) -> Document:
    if isinstance(given, Document):
        return given
    key = encode(given)
    row = documents.by_keys(snapshot.connection, [key]).get(key)
    if row is None:
        raise DocumentNotFound(given)
    if not snapshot.settings.text_kept:
        raise NotFound(
            f"the text of {printable(given)!r} is not kept (the store was made with --no-text); "
            "compare files"
        )
    text = feature_counts.whole_texts(snapshot, [row.document_id])[row.document_id]
    return Document(given, text, metadata=row.metadata or {})


def _collection_counts(
    snapshot: Snapshot,
    given: list[Document],
    options: CompareOptions,
) -> CollectionCounts | None:
    """Return the document counts of the texts' features; None where the store counts none."""
    connection = snapshot.connection
    size = documents.count(connection)
    if not snapshot.records_vocabulary or size < 2:
        return None
    counts = snapshot.scheme.count([document.text for document in given])
    return CollectionCounts(
        snapshot.store.database.label,
        snapshot.scheme.label,
        counts,
        vocabularies.document_counts(
            connection,
            snapshot.scheme_id,
            counts.terms,
            vocabularies.pending_documents(connection, snapshot.scheme_id),
        ),
        size,
        options.counts_like(snapshot.scheme),
    )


def _by_store(snapshot: Snapshot, given: list[Document]) -> tuple[Measurement, ...]:
    found = []
    if snapshot.channels.has_fingerprints and (
        snapshot.generation or not snapshot.scheme.depends_on_corpus
    ):
        found.append(_store_simhash(snapshot, given))
    start = time.perf_counter()
    sketching = snapshot.channels.sketching
    sets = sketching.sets([document.text for document in given])
    a_size, b_size = sets.sizes().tolist()
    shared = overlap(sets.row(0), sets.row(1))
    found.append(
        Measurement(
            "store-resemblance",
            {
                "jaccard": shared.resemblance if a_size or b_size else None,
                "a_in_b": shared.containment if a_size else None,
                "b_in_a": shared.containment_reverse if b_size else None,
            },
            f"sets of {sketching.shingle} words, as a query verifies",
            time.perf_counter() - start,
        )
    )
    return tuple(found)


def _store_simhash(snapshot: Snapshot, given: list[Document]) -> Measurement:
    """Compare the fingerprints that the standing generation gives the texts."""
    start = time.perf_counter()
    scheme = snapshot.scheme
    counts = scheme.count([one.text for one in given], [one.metadata for one in given])
    known = None
    if scheme.depends_on_corpus and snapshot.generation is not None:
        generation_id = snapshot.generation.generation_id
        known = corpus_statistics.of_terms(snapshot, generation_id, counts.terms)
    words = scheme.fingerprints(counts, known)
    one, other = to_integers(words)
    distance = int(distances(words[:1], words[1])[0])
    return Measurement(
        "store-simhash",
        {"distance": distance, "a": to_hex(one, scheme.bits), "b": to_hex(other, scheme.bits)},
        f"of {scheme.bits} bits; scheme {scheme.label}",
        time.perf_counter() - start,
    )
