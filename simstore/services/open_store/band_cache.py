"""In-memory caches of MinHash sketches and their LSH bands, kept between queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.search.band_index import BandHashes, BandIndex
from simstore.search.bands import BandFilter
from simstore.services.open_store.caches import SnapshotCache
from simstore.storage.sketches import LayoutRow


@dataclass(frozen=True, slots=True)
class CachedTail:
    """The bands of sketches not packed yet (the tail), kept from query to query.

    Attributes:
        since: The store's count of changes from which on it holds the whole tail, and sketches that
            have gone or, in an older snapshot, are yet to come.
        changes: The count up to which it does.
    """

    since: int
    changes: int
    index: BandIndex


@dataclass(frozen=True, slots=True)
class CachedBandFilter:
    """A cached filter of the bands in a layout's pages, and how many of these were looked up.

    Attributes:
        looked_up: Pages that were looked up since the filter has the bands that it has, each as
            many as are read in turn meanwhile.
        filter: None: it was not made yet.
    """

    looked_up: int
    filter: BandFilter | None


@dataclass(frozen=True, slots=True)
class CachedBandHashes:
    """The bands of all sketches up to a number, loaded on request.

    Attributes:
        last_number: All sketches up to this number are there; some may have gone.
        since: The store's count of changes from which on they are: in an older snapshot there may
            be others.
        hashes: The bands.
    """

    last_number: int
    since: int
    hashes: BandHashes

    def serves(self, packed: LayoutRow, changes: int) -> bool:
        """Return whether all sketches that are packed in a snapshot are there."""
        return self.last_number >= packed.packed_to and self.since <= changes


# Pages of more bytes than this are read when they are looked at: at 42 bands, those of some six
# million sketches are fewer.
_MOST_PAGE_BYTES = 1 << 30
_READ_PAGES = 10_000


@dataclass(frozen=True, slots=True)
class CachedBandPages:
    """All pages of a layout, which never change: with them, the file is not read.

    Attributes:
        numbers: Of the pages, ascending, int64, shape (pages,).
        ends: Where each begins and the last ends, int64, shape (pages + 1,).
        data: The pages, one after the other.
    """

    numbers: NDArray[np.int64]
    ends: NDArray[np.int64]
    data: bytearray

    def of(self, wanted: NDArray[np.int64]) -> dict[int, bytes]:
        """Return the requested pages that are cached."""
        if not len(self.numbers):
            return {}
        places = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        places = places[self.numbers[places] == wanted]
        held = memoryview(self.data)
        return {
            number: bytes(held[start:end])
            for number, start, end in zip(
                self.numbers[places].tolist(),
                self.ends[places].tolist(),
                self.ends[places + 1].tolist(),
                strict=True,
            )
        }


@dataclass(slots=True)
class SketchCache:
    """The in-memory caches of the sketches of one channel.

    Attributes:
        layout: How sketches of words are packed, by the scheme and ``StoreSettings.layout_id``.
        tail: By the scheme and the layout it is the tail of, 0 before the first.
        filters: By the layout.
        hashes: By the scheme, and how sketches are cut into bands.
        pages: By the layout.
        cut: The bands of the sketch that was looked up last: one that is new is put into the tail
            next; by the layout and its bytes.
        named: What the pages of a layout, which never change, name for the sketch that was looked
            up last; by the layout and its bands.
    """

    layout: SnapshotCache[tuple[int, int | None], LayoutRow | None] = field(
        default_factory=SnapshotCache
    )
    tail: SnapshotCache[tuple[int, int], CachedTail] = field(default_factory=SnapshotCache)
    filters: SnapshotCache[int, CachedBandFilter] = field(default_factory=SnapshotCache)
    hashes: SnapshotCache[tuple[int, BandLayout], CachedBandHashes] = field(
        default_factory=SnapshotCache
    )
    pages: SnapshotCache[int, CachedBandPages] = field(default_factory=SnapshotCache)
    cut: SnapshotCache[tuple[BandLayout, bytes], NDArray[np.uint64]] = field(
        default_factory=SnapshotCache
    )
    named: SnapshotCache[tuple[int, bytes], list[int]] = field(default_factory=SnapshotCache)

    def bands_of_one(self, sketch: NDArray[Any], layout: BandLayout) -> NDArray[np.uint64]:
        """Return the bands of one sketch, shape (1, bands), and keep them."""
        key = layout, sketch.tobytes()
        return self.cut.made(key, lambda: band_values(sketch, layout))


def kept_pages(pages: Iterable[tuple[int, bytes]]) -> CachedBandPages | None:
    """Return the pages of a layout, by ascending number, in memory; None: they are too large."""
    numbers, lengths = [np.empty(0, np.int64)], [np.zeros(1, np.int64)]
    data = bytearray()
    every = iter(pages)
    while some := list(islice(every, _READ_PAGES)):
        numbers.append(np.array([number for number, _ in some], np.int64))
        lengths.append(np.array([len(page) for _, page in some], np.int64))
        data += b"".join(page for _, page in some)
        if len(data) > _MOST_PAGE_BYTES:
            return None
    return CachedBandPages(np.concatenate(numbers), np.concatenate(lengths).cumsum(), data)
