"""Tell in 16 bits what stands around a gram, as far as a run reaches that has the gram as anchor.

Two texts that have a run in common have the same units before and behind its anchor, up to the
run's ends. So a text is none of those where the bits of one of these units differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.winnowing import Grams, Winnowing, of_one_kind
from simstore.text.located import LocatedUnits

# Bits of the units on one side.
SIDE_BITS = 8
# The largest number in two bytes; it may be either of two.
MOST = (1 << 2 * SIDE_BITS) - 1


def neighbours(units: LocatedUnits, chosen: Grams, winnowing: Winnowing) -> NDArray[np.int32]:
    """Return what an index keeps of :func:`bits_around`: 1 more, as 0 is no length of an anchor.

    The two largest are both kept as :data:`MOST`.

    Args:
        units: A text.
        chosen: Some of its grams.
        winnowing: How long grams and runs are.

    Returns:
        1 to :data:`MOST`; shape (grams,).
    """
    return np.minimum(bits_around(units, chosen, winnowing) + 1, MOST).astype(np.int32)


def bits_around(units: LocatedUnits, chosen: Grams, winnowing: Winnowing) -> NDArray[np.int32]:
    """Return the bits of the units around grams, those before them times 256.

    The nearest unit has the lowest bits. Of words each of four on a side has two, of characters
    each of eight has one, by the default settings. Where no unit is, its bits are 0.

    Args:
        units: A text.
        chosen: Some of its grams.
        winnowing: How long grams and runs are.

    Returns:
        0 to 65,535; shape (grams,).
    """
    found = np.zeros(len(chosen), np.int32)
    # Nothing is around a text.
    texts = np.zeros(len(units) + 1, np.int64)
    np.add.at(texts, units.breaks, 1)
    places = np.arange(len(units)) + SIDE_BITS * (1 + np.cumsum(texts)[:-1])
    padded = np.zeros(len(units) + SIDE_BITS * (2 + len(units.breaks)), np.uint64)
    padded[places] = units.hashes
    each = bits_each(units, chosen, winnowing)
    for bits in np.unique(each).tolist():
        of_kind = np.flatnonzero(each == bits)
        steps = np.arange(SIDE_BITS // bits)
        shifts, mask = (bits * steps).astype(np.uint64), np.uint64((1 << bits) - 1)
        first = places[chosen.first[of_kind], None] - 1 - steps
        last = places[chosen.last[of_kind], None] + 1 + steps
        before, behind = (
            ((padded[side] & mask) << shifts).sum(axis=1).astype(np.int32) for side in (first, last)
        )
        found[of_kind] = before << SIDE_BITS | behind
    return found


def bits_each(units: LocatedUnits, chosen: Grams, winnowing: Winnowing) -> NDArray[np.int64]:
    """Return how many bits each unit beside a gram has, by the gram's kind.

    A run reaches over as many units beside its anchor as it is longer; they share the bits.

    Args:
        units: A text.
        chosen: Some of its grams.
        winnowing: How long grams and runs are.

    Returns:
        Shape (grams,).
    """
    words, characters, both = (
        max(SIDE_BITS // max(run - gram, 1), 1)
        for run, gram in (
            (winnowing.run_words, winnowing.gram_words),
            (winnowing.run_characters, winnowing.gram_characters),
            (winnowing.run_mixed, winnowing.gram_mixed),
        )
    )
    if not len(chosen):
        return np.zeros(0, np.int64)
    of_kind = np.where(units.spaced[chosen.first], words, characters)
    return np.where(of_one_kind(units, chosen), of_kind, both).astype(np.int64)
