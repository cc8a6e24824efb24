"""Units as characters, so that the units of two texts are compared as strings are, in C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter

_SURROGATES, _SURROGATE_COUNT = 0xD800, 0x800
MOST_SYMBOLS = 0x10FFFF - _SURROGATE_COUNT
# Stands for every unit that the paper has not; the paper's own units begin at 1.
STRANGER = "\0"


@dataclass(frozen=True, slots=True)
class Symbols:
    """A text's units, a character each.

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
    """The distinct units of a paper, a character each.

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

    def symbols(self, hashes: NDArray[np.uint64]) -> Symbols:
        """Return the units with these hashes as characters."""
        if not len(self._known):
            codes = np.zeros(len(hashes), np.uint32)
        else:
            places = np.searchsorted(self._known, hashes)
            places[places == len(self._known)] = 0
            codes = np.where(self._known[places] == hashes, places + 1, 0).astype(np.uint32)
            # A lone surrogate is no character that can be decoded.
            codes[codes >= _SURROGATES] += np.uint32(_SURROGATE_COUNT)
        return Symbols.of(codes)
