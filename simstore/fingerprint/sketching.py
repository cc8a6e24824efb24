"""Turn texts into shingle sets and MinHash sketches, by settings that a store records.

The settings are part of the scheme's contract: sketches are comparable only with sketches of the
same settings, which the store keeps with known answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors import InvalidParameter
from simstore.fingerprint.minhash import (
    DEFAULT_LAYOUT,
    VALUES,
    BandLayout,
    estimates,
    scanned_sets,
    sketches,
)
from simstore.fingerprint.scheme import KNOWN_TEXTS
from simstore.fingerprint.shingle_sets import SHINGLE_TOKENS, ShingleSets, shingle_sets
from simstore.text.disguises import KNOWN_DISGUISES
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.scanning import Scanned
from simstore.text.tokens import scan_tokens, token_pieces

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Sketching:
    """Settings and functions that turn texts into sets of token runs and sketches of those.

    The recipe of the channel ``minhash``, and of verification. That of another channel of sketches
    is a subclass which makes its sets and sketches otherwise.

    >>> from simstore.fingerprint.sketching import Sketching
    >>> sizes, sketches = Sketching().sketched(["one two three four", ""])
    >>> sizes.tolist(), sketches.shape
    ([2, 0], (2, 128))

    Attributes:
        normalization: The scheme's; both channels see the same text.
        shingle: Tokens a shingle.
    """

    normalization: Normalization = DEFAULT
    shingle: int = SHINGLE_TOKENS

    # Of a sketch: how many values it has, their type as they are stored, and the bands that it may
    # be cut into, from those that find most to those that cost least; the first are the usual ones.
    values: ClassVar[int] = VALUES
    dtype: ClassVar[np.dtype[Any]] = np.dtype("<u2")
    layouts: ClassVar[tuple[BandLayout, ...]] = (DEFAULT_LAYOUT,)
    # Time of sets without a compiler, to estimate whether compiling pays.
    _seconds_a_character: ClassVar[float] = 3e-8

    def __post_init__(self) -> None:
        if not 1 <= self.shingle <= 64:
            raise InvalidParameter(f"shingles of {self.shingle} tokens: from 1 to 64")

    def sets(self, texts: Iterable[str]) -> ShingleSets:
        """Return the shingle set of each text."""
        return self._sets(list(texts), None)

    def sketched(
        self, texts: Sequence[str], scanned: Scanned | None = None
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the size of each text's shingle set, and its sketch.

        Args:
            texts: The texts.
            scanned: Their tokens, where they are known.

        Returns:
            Shapes (texts,) and (texts, values).
        """
        sets = self._sets(texts, scanned, ordered=False)
        return sets.sizes(), self._sketches(sets)

    def sets_and_sketches(
        self, texts: Sequence[str], scanned: Scanned | None = None
    ) -> tuple[ShingleSets, NDArray[Any]]:
        """Return the shingle set of each text, and its sketch; their tokens are read once.

        >>> from simstore.fingerprint.sketching import Sketching
        >>> sets, sketches = Sketching().sets_and_sketches(["one two three four", ""])
        >>> sets.sizes().tolist(), sketches.shape
        ([2, 0], (2, 128))

        Args:
            texts: The texts.
            scanned: Their tokens, where they are known.
        """
        sets = self._sets(texts, scanned)
        return sets, self._sketches(sets)

    def estimates(self, many: NDArray[Any], one: NDArray[Any]) -> NDArray[np.float64]:
        """Return the estimated resemblance of each sketch to one.

        >>> from simstore.fingerprint.sketching import Sketching
        >>> _, sketches = Sketching().sketched(["one two three four", "one two three"])
        >>> Sketching().estimates(sketches, sketches[0]).tolist()
        [1.0, 0.546875]

        Args:
            many: Sketches, shape (n, values).
            one: A sketch, shape (values,), or one for each, shape (n, values).

        Returns:
            float64 in [0, 1], shape (n,).
        """
        return estimates(many, one)

    def _sets(
        self, texts: Sequence[str], scanned: Scanned | None, *, ordered: bool = True
    ) -> ShingleSets:
        if scanned is None:
            if not compiled.pays(self._seconds_a_character * sum(map(len, texts))):
                return self._plain_sets(texts)
            scanned = scan_tokens(texts, self.normalization)
        sets = self._scanned_sets(scanned)
        for number in range(len(sets) if ordered else 0):
            sets.row(number).sort()
        return sets

    def _plain_sets(self, texts: Sequence[str]) -> ShingleSets:
        apply = self.normalization.apply
        return shingle_sets((token_pieces(apply(text)) for text in texts), self.shingle)

    def _scanned_sets(self, scanned: Scanned) -> ShingleSets:
        return scanned_sets(scanned, self.shingle)

    def _sketches(self, sets: ShingleSets) -> NDArray[Any]:
        return sketches(sets)

    def record(self) -> dict[str, Any]:
        """Return the recipe as a store keeps it, JSON values, with known answers."""
        return {
            "version": _VERSION,
            "shingle": self.shingle,
            "values": self.values,
            "bits": 8 * self.dtype.itemsize,
            "known_answers": self.known_answers(),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], normalization: Normalization) -> Self:
        """Return the recipe that a store keeps; :meth:`comes_out` says whether it is the same."""
        return cls(normalization, record["shingle"])

    def comes_out(self, record: Mapping[str, Any]) -> bool:
        """Return whether sketches come out here as where the record was made."""
        return dict(record) == self.record()

    def known_answers(self) -> list[str]:
        """Return a digest of the sketch of each of the known texts, hexadecimal."""
        made = self.sketched((*KNOWN_TEXTS, *KNOWN_DISGUISES))[1].astype(self.dtype)
        return [xxhash.xxh3_64_hexdigest(sketch.tobytes()) for sketch in made]


DEFAULT_SKETCHING = Sketching()


@dataclass(frozen=True, slots=True)
class SketchRecipe:
    """The settings of a channel of sketches: how they are made and cut into bands.

    >>> import numpy as np
    >>> from simstore.fingerprint.sketching import SketchRecipe
    >>> missed = 1 - SketchRecipe("minhash").layout.probability(np.array([0.5, 0.8]))
    >>> [f"{share:.6f}" for share in missed]
    ['0.003664', '0.000000']

    Attributes:
        name: The channel.
        sketching: How texts become sketches.
        layout: The bands that sketches are packed by; it says how probable a miss is.

    Raises:
        InvalidParameter: The layout takes more values than a sketch has.
    """

    name: str
    sketching: Sketching = DEFAULT_SKETCHING
    layout: BandLayout = DEFAULT_LAYOUT

    def __post_init__(self) -> None:
        if self.layout.bands * self.layout.rows > self.sketching.values:
            raise InvalidParameter(
                f"{self.layout.bands} bands of {self.layout.rows} values: their product must be "
                f"at most {self.sketching.values}, as sketches of {self.name} have"
            )

    def record(self) -> dict[str, Any]:
        """Return the recipe as a store keeps it, JSON values."""
        return {
            "sketch": self.sketching.record(),
            "bands": [self.layout.bands, self.layout.rows],
        }


def sketch_texts(
    sketching: Sketching, texts: Sequence[str], scanned: Scanned | None = None
) -> list[tuple[int, bytes]]:
    """Return the size of each text's shingle set and its packed sketch; none of an empty set.

    Args:
        sketching: How.
        texts: The texts.
        scanned: Their tokens, where they are known.
    """
    sizes, made = sketching.sketched(texts, scanned)
    packed = made.astype(sketching.dtype, copy=False).tobytes()
    width = sketch_bytes(sketching)
    return [
        (size, packed[place : place + width] if size else b"")
        for size, place in zip(sizes.tolist(), range(0, len(packed), width), strict=True)
    ]


def sketch_bytes(sketching: Sketching = DEFAULT_SKETCHING) -> int:
    """Return how many bytes the packed sketch of a set has that is not empty."""
    return sketching.values * sketching.dtype.itemsize


def unpack_sketches(
    packed: Sequence[bytes], sketching: Sketching = DEFAULT_SKETCHING
) -> NDArray[Any]:
    """Return sketches as a matrix, shape (n, values): of words uint16, shape (n, 128).

    Raises:
        ValueError: One is damaged.
    """
    joined = b"".join(packed)
    if len(joined) != sketch_bytes(sketching) * len(packed):
        raise ValueError("damaged sketch")
    made = np.frombuffer(joined, sketching.dtype).astype(sketching.dtype.newbyteorder("="))
    return made.reshape(-1, sketching.values)
