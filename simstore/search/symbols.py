"""Map tokens to single characters, so that C string functions compare token sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter

_SURROGATES, _SURROGATE_COUNT = 0xD800, 0x800
_SLOT_BITS = 21
_SLOT_MASK = np.uint64((1 << _SLOT_BITS) - 1)
_MOST_SLOTTED = 4096
MOST_SYMBOLS = 0x10FFFF - _SURROGATE_COUNT
# Stands for every unit that the paper has not; the paper's own units begin at 1.
STRANGER = "\0"


@dataclass(frozen=True, slots=True)
class Symbols:
    """The tokens of a text, one character each.

    Attributes:
        codes: uint32, shape (n,).
        text: The same as a string of n characters.
    """

    codes: NDArray[np.uint32]
    text: str

    @classmethod
    def of(cls, codes: NDArray[np.uint32]) -> Self:
        """Return the symbols with these codes."""
        return cls(codes, codes.astype("<u4").tobytes().decode("utf-32-le"))

    def __len__(self) -> int:
        return len(self.codes)


class Alphabet:
    """The distinct tokens of a paper, one character each.

    All units of other texts that the paper has not become :data:`STRANGER`, so two of those look
    alike; they are never compared with each other, only with the paper's.
    """

    def __init__(self, hashes: NDArray[np.uint64]) -> None:
        """Take the hashes of the paper's units, shape (n,).

        Raises:
            InvalidParameter: More than some 1.1 million of them are distinct.
        """
        self._known = np.unique(hashes)
        if len(self._known) > MOST_SYMBOLS:
            raise InvalidParameter(
                f"a paper of {len(self._known):,} distinct words: check it in parts of "
                f"{MOST_SYMBOLS:,}"
            )
        self._slots: NDArray[np.uint32] | None = None
        self._shift = np.uint64(0)
        if 0 < len(self._known) <= _MOST_SLOTTED:
            self._choose_slots()

    def _choose_slots(self) -> None:
        """Number the units by some of their hashes' bits, where those tell all of them apart.

        That is ten times faster than a search, for texts of millions of units.
        """
        for shift in range(0, 64 - _SLOT_BITS, 3):
            numbers = (self._known >> np.uint64(shift)) & _SLOT_MASK
            if len(np.unique(numbers)) == len(numbers):
                self._slots = np.zeros(1 << _SLOT_BITS, np.uint32)
                self._slots[numbers] = np.arange(len(numbers), dtype=np.uint32)
                self._shift = np.uint64(shift)
                return

    def _places(self, hashes: NDArray[np.uint64]) -> NDArray[np.integer[Any]]:
        """Return where each hash is among the known ones, if it is there."""
        if self._slots is not None:
            found: NDArray[np.uint32] = self._slots[(hashes >> self._shift) & _SLOT_MASK]
            return found
        places = np.searchsorted(self._known, hashes)
        places[places == len(self._known)] = 0
        return places

    def symbols(self, hashes: NDArray[np.uint64]) -> Symbols:
        """Return the tokens with these hashes as characters."""
        if not len(self._known):
            codes = np.zeros(len(hashes), np.uint32)
        else:
            places = self._places(hashes)
            codes = np.where(self._known[places] == hashes, places + 1, 0).astype(np.uint32)
            # A lone surrogate is no character that can be decoded.
            codes[codes >= _SURROGATES] += np.uint32(_SURROGATE_COUNT)
        return Symbols.of(codes)
