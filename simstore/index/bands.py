"""The key function of sketches: each LSH band, and each form of a title, is a key of a sketch.

Two sketches that agree in a band have its key in common, and so have others by chance: what is
found is compared again. The integer beside a key is the number of the sketch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.titles import unpack_forms
from simstore.index.pages import Entries
from simstore.index.postings import Kind

KEY_BITS = 32
# Mixed into the hash of a band by its place, so that equal values in two bands have two keys.
_PLACES = np.arange(1, 257, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_MASK = np.uint64((1 << 64) - (1 << (64 - KEY_BITS)))


def band_kind(channel: str, layout: BandLayout) -> Kind:
    """Return the kind of index of the sketches of a channel, cut in some way into bands.

    >>> band_kind("minhash", BandLayout(42, 3)).name
    'minhash 42x3'
    """
    return Kind(f"{channel} {layout}", key_bits=KEY_BITS, value_count=1)


def band_keys(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the key of each band.

    Args:
        hashes: Of :func:`~simstore.fingerprint.minhash.band_values`; the first bands, or all.

    Returns:
        The same shape.
    """
    return (hashes ^ _PLACES[: hashes.shape[1]]) & _MASK


def form_keys(forms: Sequence[int]) -> NDArray[np.uint64]:
    """Return the key of each form of a title (:mod:`simstore.fingerprint.titles`)."""
    return np.array(forms, np.uint64) << np.uint64(1) & _MASK


def sketch_entries(
    numbers: NDArray[np.int64], hashes: NDArray[np.uint64], forms: Sequence[bytes | None]
) -> Entries:
    """Return the entries of sketches.

    Args:
        numbers: Number of each, shape (n,).
        hashes: Its bands, shape (n, bands).
        forms: Its forms of a title, packed.

    Raises:
        ValueError: Forms are damaged.
    """
    bands = Entries(
        band_keys(hashes).ravel(), np.repeat(numbers, hashes.shape[1])[:, None].astype(np.uint64)
    )
    titled = [(number, one) for number, one in zip(numbers.tolist(), forms, strict=True) if one]
    if not titled:
        return bands
    held = [unpack_forms(one) for _, one in titled]
    owners = np.repeat([number for number, _ in titled], [len(one) for one in held])
    keys = form_keys([form for one in held for form in one])
    return Entries.joined((bands, Entries(keys, owners[:, None].astype(np.uint64))))
