"""What is known of the bands of stored sketches from one query to the next."""

from __future__ import annotations

from dataclasses import dataclass

from simstore.fingerprint.minhash import BandLayout
from simstore.search.band_filter import BandFilter
from simstore.search.band_hashes import BandHashes
from simstore.search.band_index import BandIndex
from simstore.storage.sketches import LayoutRow


@dataclass(frozen=True, slots=True)
class KeptTail:
    """The bands of a tail, kept from query to query.

    Attributes:
        layout_id: The layout it is the tail of, 0 before the first.
        changes: The store's count of changes when it was read.
    """

    scheme_id: int
    layout_id: int
    changes: int
    index: BandIndex


@dataclass(frozen=True, slots=True)
class KeptBands:
    """What the pages of a layout carry, and how much was asked of them.

    Attributes:
        layout_id: The layout.
        seconds: What the reading of pages took since the filter has the bands that it has.
        filter: None: it was not made yet.
    """

    layout_id: int
    seconds: float
    filter: BandFilter | None


@dataclass(frozen=True, slots=True)
class KeptHashes:
    """The bands of all sketches up to a number, for those who have asked for them.

    Attributes:
        scheme_id: The scheme.
        layout: How sketches are cut into bands.
        last_number: All sketches up to this number are there; some may have gone.
        since: The store's count of changes from which on they are: in an older snapshot there may
            be others.
        hashes: The bands.
    """

    scheme_id: int
    layout: BandLayout
    last_number: int
    since: int
    hashes: BandHashes

    def serves(self, scheme_id: int, packed: LayoutRow, changes: int) -> bool:
        """Return whether all sketches that are packed in a snapshot are there."""
        return (
            (self.scheme_id, self.layout) == (scheme_id, packed.layout)
            and self.last_number >= packed.packed_to
            and self.since <= changes
        )
