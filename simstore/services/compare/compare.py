"""Compare two texts by every algorithm of the field, each with its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice

from simstore.errors import BadInput, MalformedRecord, printable
from simstore.fingerprint.weights import COUNT_PART
from simstore.model import ComparedText, Comparison, Document, Ignored, Measurement, Rejection
from simstore.services.compare import measures
from simstore.services.compare.compared import CollectionCounts, CompareOptions, Prepared, prepare
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions
from simstore.sources.registry import IS_EMPTY
from simstore.sources.source import Record

Progress = Callable[[int, int], None]
_WARM_UP = ("Warm up: 文字。", "Warm 字!")


def compare_texts(
    first: str,
    second: str,
    options: CompareOptions | None = None,
    *,
    names: tuple[str, str] = ("A", "B"),
    collection: CollectionCounts | None = None,
    on_progress: Progress | None = None,
) -> Comparison:
    """Compare two texts by every algorithm; no store is needed.

    Args:
        first: A text, A.
        second: Another one, B.
        options: How to compare.
        names: What to call them.
        collection: Document counts for I-Match and for weights with idf; None: all features of the
            texts are the lexicon.
        on_progress: Called with algorithms done and in all.

    Raises:
        MissingExtra: An option needs a package that is not installed.
        InvalidParameter: A text holds half characters (lone surrogates that are no escapes), or
            the weights need counts that there are not.
    """
    options = options or CompareOptions()
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
    return ComparedText(
        name=name,
        byte_count=len(made.data[place]),
        character_count=made.character_counts[place],
        shingle_count=max(units - options.shingle + 1, min(units, 1)),
        distinct_shingles=int(made.sets.sizes()[place]),
        feature_count=int(made.counts.token_counts()[place]),
        distinct_features=len(made.counts.row(place)[0]),
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
