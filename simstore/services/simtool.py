"""The course tool: two files of pages to ``result.txt``, without a store.

The same core as a store's: reader, feature counts, ranks, fingerprints, verification, report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors import MalformedRecord
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.scheme import check_bits, rank_array
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.fingerprint.simtool import SimtoolScheme, check_features
from simstore.fingerprint.vocabulary import rank_features
from simstore.model import Document, Match, SampleResult
from simstore.search.hamming import verify
from simstore.search.plan import default_radius
from simstore.sources.articles import read_articles
from simstore.sources.course import read_hash_table, read_stopwords, size_of
from simstore.sources.streams import ByteStream, DamagedStream

BATCH_CHARACTERS = 4 << 20
# What a page's bytes take page by page, for a guess whether the compiled form pays.
_SECONDS_A_BYTE = 6e-8


def run(folder: Path, features: int, bits: int) -> tuple[SampleResult, ...]:
    """Return the result of each page of ``sample.txt`` among those of ``article.txt``.

    Args:
        folder: Holds ``stopwords.txt``, ``hashvalue.txt``, ``article.txt`` and ``sample.txt``.
        features: Size N of the feature vector.
        bits: Fingerprint length M, 1 to 128.

    Raises:
        InvalidParameter: N or M do not fit, or the hash table has a bad row.
        SourceNotFound: A file is missing.
        UnreadableSource: A file cannot be read.
    """
    # N and M are checked before any file is read.
    check_features(features)
    check_bits(bits)
    scheme = SimtoolScheme(
        features,
        bits,
        hash_rows=read_hash_table(folder / "hashvalue.txt", features, bits),
        stopwords=read_stopwords(folder / "stopwords.txt"),
    )
    articles, samples = folder / "article.txt", folder / "sample.txt"
    if compiled.pays(_SECONDS_A_BYTE * size_of(articles)):
        try:
            return _run_compiled(scheme, articles, samples)
        except DamagedStream:
            # Page by page it is told where.
            pass
    return _run_by_page(scheme, articles, samples)


def _run_compiled(scheme: SimtoolScheme, articles: Path, samples: Path) -> tuple[SampleResult, ...]:
    from simstore.services.simtool_bulk import fingerprint_files

    known, asked = fingerprint_files(scheme, articles, samples)
    return tuple(
        _result(asked.pages.key(number), query, known.words, known.pages.key, scheme.bits)
        for number, query in enumerate(asked.words)
    )


def _run_by_page(scheme: SimtoolScheme, articles: Path, samples: Path) -> tuple[SampleResult, ...]:
    features, bits = scheme.ranked_features, scheme.bits
    keys: list[str] = []
    counted: list[tuple[NDArray[np.int64], FeatureCounts]] = []
    numbers: dict[bytes, int] = {}
    totals = np.zeros(0, np.int64)
    for batch in _batches(articles):
        keys += [page.key for page in batch]
        counts = scheme.count([page.text for page in batch])
        ids = np.array([numbers.setdefault(term, len(numbers)) for term in counts.terms], np.int64)
        grown = np.zeros(len(numbers), np.int64)
        grown[: len(totals)] = totals
        sums = np.zeros(len(ids), np.int64)
        np.add.at(sums, counts.columns, counts.counts)
        grown[ids] += sums
        totals = grown
        counted.append((ids, counts))
    named = zip(numbers, range(len(numbers)), totals.tolist(), strict=True)
    ranks = rank_array(rank_features(named, features), len(numbers))
    words = np.concatenate(
        [scheme.fingerprints(counts, ranks[ids]) for ids, counts in counted]
        or [np.empty((0, (bits + 63) // 64), np.uint64)]
    )
    results: list[SampleResult] = []
    for batch in _batches(samples):
        counts = scheme.count([sample.text for sample in batch])
        ids = np.array([numbers.get(term, -1) for term in counts.terms], np.int64)
        known = np.where(ids >= 0, np.append(ranks, -1)[ids], -1)
        fingerprints = scheme.fingerprints(counts, known)
        results += [
            _result(sample.key, query, words, keys.__getitem__, bits)
            for sample, query in zip(batch, fingerprints, strict=True)
        ]
    return tuple(results)


def _result(
    sample: str,
    query: NDArray[np.uint64],
    words: NDArray[np.uint64],
    key_of: Callable[[int], str],
    bits: int,
) -> SampleResult:
    """Return the pages within the radius of a sample, by distance, then order in the file."""
    places, distances = verify(words, query, default_radius(bits))
    order = np.argsort(distances, kind="stable")
    matches = tuple(
        Match(key_of(place), distance, place)
        for place, distance in zip(places[order].tolist(), distances[order].tolist(), strict=True)
    )
    (value,) = to_integers(query.reshape(1, -1))
    return SampleResult(sample, to_hex(value, bits), matches)


def _batches(path: Path) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    name = str(path)
    with ByteStream(name).open() as stream:
        for page in read_articles(stream, name, max_document_bytes=None):
            if not isinstance(page, Document):
                raise MalformedRecord(name, page.position, page.reason)
            batch.append(page)
            size += len(page.text)
            if size >= BATCH_CHARACTERS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch
