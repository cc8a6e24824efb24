"""The course tool for big files: the compiled scanner over whole files, a part a thread.

The same answers as :mod:`simstore.services.simtool` gives page by page.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint import kernels
from simstore.fingerprint.packed_terms import PackedTerms
from simstore.fingerprint.scheme import rank_array
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.vocabulary import rank_features
from simstore.sources.course_pages import CoursePages, read_pages
from simstore.text.scanning import Scanned, scan_letters_at

_LEAST_PART_BYTES = 4 << 20


def _cores() -> int:
    # Not everywhere can the cores that are ours be told from those that are there.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class _Part:
    """Consecutive pages, scanned; and the number in the whole corpus of each of their words."""

    scanned: Scanned
    ids: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fingerprinted:
    """The pages of a file and their fingerprints.

    Attributes:
        pages: The pages.
        words: Their fingerprints; uint64, shape (pages, ceil(M / 64)).
    """

    pages: CoursePages
    words: NDArray[np.uint64]


def fingerprint_files(
    scheme: SimtoolScheme, articles: Path, samples: Path
) -> tuple[Fingerprinted, Fingerprinted]:
    """Return the fingerprints of the pages and of the samples, by the ranks of the pages' words.

    Raises:
        SourceNotFound: A file is missing.
        UnreadableSource: A file cannot be read, or breaks off.
    """
    numbers: dict[bytes, int] = {}
    with ThreadPoolExecutor(_cores()) as threads:
        pages = read_pages(articles, threads)
        parts = _scan(pages, threads, numbers)
        totals = np.zeros(len(numbers), np.int64)
        for part, counted in zip(parts, threads.map(_totals, parts), strict=True):
            totals[part.ids] += counted
        ranks = _ranks(numbers, totals, scheme)
        words = _fingerprints(parts, ranks, scheme, threads)
        del parts
        sample_pages = read_pages(samples, threads)
        sample_parts = _scan(sample_pages, threads, numbers)
        unranked = np.full(len(numbers) - len(ranks), -1, np.int64)
        ranks = np.concatenate((ranks, unranked))
        sample_words = _fingerprints(sample_parts, ranks, scheme, threads)
    return Fingerprinted(pages, words), Fingerprinted(sample_pages, sample_words)


def _scan(
    pages: CoursePages, threads: ThreadPoolExecutor, numbers: dict[bytes, int]
) -> list[_Part]:
    """Scan all pages; give each word that is new its number."""
    bodies = pages.bodies
    size = len(pages.data)
    count = max(1, min(_cores(), size // _LEAST_PART_BYTES))
    marks = [size * part // count for part in range(1, count)]
    bounds = [0, *np.searchsorted(bodies[:, 0], marks).tolist(), len(bodies)]

    def scan(part: int) -> Scanned:
        chosen = bodies[bounds[part] : bounds[part + 1]]
        return scan_letters_at(pages.data, chosen[:, 0].copy(), chosen[:, 1].copy())

    found = []
    for scanned in threads.map(scan, range(count)):
        terms = PackedTerms.of_scanned(scanned)
        ids = [numbers.setdefault(term, len(numbers)) for term in terms]
        found.append(_Part(scanned, np.array(ids, np.int64)))
    return found


def _totals(part: _Part) -> NDArray[np.int64]:
    counted = np.zeros(len(part.ids), np.int64)
    kernels.TOTALS(part.scanned.numbers, counted)
    return counted


def _ranks(
    numbers: dict[bytes, int], totals: NDArray[np.int64], scheme: SimtoolScheme
) -> NDArray[np.int64]:
    size = scheme.ranked_features
    for word in scheme.stopwords:
        if word in numbers:
            totals[numbers[word]] = 0
    # The words above which there are enough need not be put in order.
    least = np.partition(totals, len(totals) - size)[-size] if len(totals) > size else 1
    terms = list(numbers)
    named = [
        (terms[number], number, int(totals[number]))
        for number in np.flatnonzero(totals >= max(int(least), 1)).tolist()
    ]
    return rank_array(rank_features(named, size), len(numbers))


def _fingerprints(
    parts: list[_Part], ranks: NDArray[np.int64], scheme: SimtoolScheme, threads: ThreadPoolExecutor
) -> NDArray[np.uint64]:
    table = scheme.packed_rows()

    def make(part: _Part) -> NDArray[np.uint64]:
        made = np.empty((len(part.scanned.offsets) - 1, table.shape[1]), np.uint64)
        kernels.RANKED_SUMS(
            part.scanned.numbers,
            part.scanned.offsets,
            ranks[part.ids],
            table,
            scheme.bits,
            made,
        )
        return made

    return np.concatenate(list(threads.map(make, parts)))
