"""Match pages of ``sample.txt`` with those of ``article.txt`` by SimHash, without a store.

Whole files are read and their words numbered by array operations, a part a thread; ranks, rows of
the hash table and verification are a store's.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simstore.errors import MalformedRecord
from simstore.fingerprint.simhash import check_bits, to_hex, to_integers
from simstore.fingerprint.vocabulary import (
    check_features,
    rank_array,
    rank_features,
    ranked_fingerprints,
)
from simstore.model import Match, Rejection, SampleResult
from simstore.processors import processor_count
from simstore.search.hamming import verify
from simstore.search.plan import default_radius
from simstore.sources.articles import read_articles
from simstore.sources.course import (
    part_ends,
    read_bytes,
    read_hash_table,
    read_stopwords,
    take_pages,
)
from simstore.sources.streams import ByteStream
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import exact_text
from simstore.text.letter_scan import PADDING, LetterTable, scan_letters_of

_LEAST_PART_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Part:
    """Consecutive pages of a file.

    Attributes:
        keys: The key of each page.
        numbers: The number of each word, in this part; int32.
        offsets: Page d has the words ``offsets[d]:offsets[d + 1]``; int64.
        table: The words of this part.
    """

    keys: list[bytes]
    numbers: NDArray[np.int32]
    offsets: NDArray[np.int64]
    table: LetterTable


def run(folder: Path, features: int, bits: int) -> tuple[SampleResult, ...]:
    """Return the matches of each page of ``sample.txt`` among the pages of ``article.txt``.

    Args:
        folder: Holds ``stopwords.txt``, ``hashvalue.txt``, ``article.txt`` and ``sample.txt``.
        features: Size N of the feature vector.
        bits: Fingerprint length M, 1 to 128.

    Raises:
        InvalidParameter: N or M do not fit, or the hash table has a bad row.
        SourceNotFound: A file is missing.
        UnreadableSource: A file cannot be read.
        MalformedRecord: A compressed file breaks off.
    """
    # N and M are checked before any file is read.
    check_features(features)
    check_bits(bits)
    rows = read_hash_table(folder / "hashvalue.txt", features, bits)
    stopwords = read_stopwords(folder / "stopwords.txt")
    with ThreadPoolExecutor(processor_count()) as threads:
        parts = _scanned(folder / "article.txt", threads)
        words, ids = _united(parts, LetterTable())
        ranks = _ranks(parts, words, ids, stopwords, features)
        known = _fingerprints(parts, ids, ranks, rows, threads)
        keys = [exact_text(key) for part in parts for key in part.keys]
        del parts
        samples = _scanned(folder / "sample.txt", threads)
        _, ids = _united(samples, words)
        unranked = np.full(len(words) - len(ranks), -1, np.int32)
        sample_fingerprints = _fingerprints(
            samples, ids, np.concatenate((ranks, unranked)), rows, threads
        )
        names = [exact_text(key) for part in samples for key in part.keys]

        def result(number: int) -> SampleResult:
            return _result(names[number], sample_fingerprints[number], known, keys, bits)

        return tuple(threads.map(result, range(len(names))))


def _scanned(path: Path, threads: ThreadPoolExecutor) -> list[_Part]:
    """Return all pages of a file, in parts."""
    try:
        data, size = read_bytes(path, PADDING)
    except DamagedStream:
        _tell_where(path)
        raise

    def scan(first: int, end: int) -> _Part:
        pages = take_pages(data, first, end)
        table = LetterTable()
        if not pages.keys:
            return _Part([], np.empty(0, np.int32), np.zeros(1, np.int64), table)
        numbers, offsets = scan_letters_of(data, first, end, pages.bodies, table)
        return _Part(pages.keys, numbers, offsets, table)

    ends = part_ends(data, size, max(1, min(processor_count(), size // _LEAST_PART_BYTES)))
    return list(threads.map(scan, ends[:-1], ends[1:]))


def _tell_where(path: Path) -> None:
    """Raise MalformedRecord for the page where a file breaks off."""
    with ByteStream(str(path)).open() as stream:
        for page in read_articles(stream, str(path), max_document_bytes=None):
            if isinstance(page, Rejection):
                raise MalformedRecord(str(path), page.position, page.reason)


def _united(parts: list[_Part], words: LetterTable) -> tuple[LetterTable, list[NDArray[np.int32]]]:
    """Tell a table the words of all parts; return it, and what each part's words are there."""
    return words, [part.table.numbers_in(words) for part in parts]


def _ranks(
    parts: list[_Part],
    words: LetterTable,
    ids: list[NDArray[np.int32]],
    stopwords: frozenset[bytes],
    features: int,
) -> NDArray[np.int32]:
    """Return the rank of each word, -1 where it has none; int32, shape (words,)."""
    totals = np.zeros(len(words), np.int64)
    for part, part_ids in zip(parts, ids, strict=True):
        totals[part_ids] += np.bincount(part.numbers, minlength=len(part_ids))
    # The words above which there are enough need not be put in order.
    enough = features + len(stopwords)
    least = np.partition(totals, len(totals) - enough)[-enough] if len(totals) > enough else 1
    chosen = np.flatnonzero(totals >= least)
    named = zip(words.words(chosen), chosen.tolist(), totals[chosen].tolist(), strict=True)
    ranked = rank_features((word for word in named if word[0] not in stopwords), features)
    return rank_array(ranked, len(words)).astype(np.int32)


def _fingerprints(
    parts: list[_Part],
    ids: list[NDArray[np.int32]],
    ranks: NDArray[np.int32],
    rows: NDArray[np.uint8],
    threads: ThreadPoolExecutor,
) -> NDArray[np.uint64]:
    def make(part: _Part, part_ids: NDArray[np.int32]) -> NDArray[np.uint64]:
        return ranked_fingerprints(part.numbers, part.offsets, ranks[part_ids], rows)

    return np.concatenate(list(threads.map(make, parts, ids)))


def _result(
    sample: str, query: NDArray[np.uint64], words: NDArray[np.uint64], keys: list[str], bits: int
) -> SampleResult:
    """Return the pages within the radius of a sample, by distance, then order in the file."""
    places, distances = verify(words, query, default_radius(bits))
    order = np.argsort(distances, kind="stable")
    matches = tuple(
        Match(key=keys[place], distance=distance, document_id=place)
        for place, distance in zip(places[order].tolist(), distances[order].tolist(), strict=True)
    )
    (value,) = to_integers(query.reshape(1, -1))
    return SampleResult(key=sample, fingerprint=to_hex(value, bits), matches=matches)
