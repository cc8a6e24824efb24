"""The compiled form of adding to :mod:`simstore.search.band_hashes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstore.compiled import Kernel


def _set_bits(bits: Any, columns: Any, mask: Any, set_bits: Any) -> None:
    """Set the bits of each hash of each band; see ``BandHashes._places``."""
    for band in range(len(columns)):
        row = bits[band]
        for number in range(columns.shape[1]):
            value = columns[band, number]
            place = value & np.uint64(0xFFFFFFFF)
            step = (value >> np.uint64(32)) | np.uint64(1)
            for _ in range(set_bits):
                at = place & mask
                row[at >> np.uint64(3)] |= np.uint8(1) << np.uint8(at & np.uint64(7))
                place += step


SET_BITS = Kernel(_set_bits, ["void(uint8[:, ::1], uint64[:, ::1], uint64, int64)"])
