"""The two channels of a store: fingerprints within a radius, and sketches that agree in a band.

Both are part of the scheme's contract: sketches are comparable only with sketches of the same
recipe, which the store keeps with known answers. The signatures of a text are what both make of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors import InvalidParameter, SchemeMismatch
from simstore.fingerprint.minhash import (
    DEFAULT_LAYOUT,
    VALUES,
    BandLayout,
    scanned_sets,
    scanned_sketches,
    sketches,
)
from simstore.fingerprint.scheme import Scheme, known_texts
from simstore.fingerprint.shingle_sets import SHINGLE_TOKENS, ShingleSets, shingle_sets
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.scanning import Scanned
from simstore.text.shingles import scan_tokens, token_pieces

CHANNELS = ("simhash", "minhash")
# What sets and sketches take without a compiler, for a guess whether it pays.
_SECONDS_A_CHARACTER = 3e-8
_SKETCH_SECONDS_A_CHARACTER = 3e-8


@dataclass(frozen=True, slots=True)
class Sketching:
    """How texts become shingle sets and sketches.

    Attributes:
        normalization: The scheme's; both channels see the same text.
        shingle: Tokens a shingle.
    """

    normalization: Normalization = DEFAULT
    shingle: int = SHINGLE_TOKENS

    def __post_init__(self) -> None:
        if not 1 <= self.shingle <= 64:
            raise InvalidParameter(f"shingles of {self.shingle} tokens: from 1 to 64")

    def sets(self, texts: Iterable[str]) -> ShingleSets:
        """Return the shingle set of each text."""
        texts = list(texts)
        if compiled.pays(_SECONDS_A_CHARACTER * sum(map(len, texts))):
            return scanned_sets(self._scanned(texts), self.shingle)
        return self._plain_sets(texts)

    def sketched(
        self, texts: Sequence[str], scanned: Scanned | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
        """Return the size of each text's shingle set, and its sketch.

        Args:
            texts: The texts.
            scanned: Their tokens, where they are known.

        Returns:
            Shapes (texts,) and (texts, 128); what :func:`~.minhash.sketches` makes of the sets.
        """
        if scanned is not None:
            return scanned_sketches(scanned, self.shingle)
        size = sum(map(len, texts))
        if compiled.pays((_SECONDS_A_CHARACTER + _SKETCH_SECONDS_A_CHARACTER) * size):
            return scanned_sketches(self._scanned(texts), self.shingle)
        sets = self._plain_sets(texts)
        return sets.sizes(), sketches(sets)

    def _plain_sets(self, texts: Sequence[str]) -> ShingleSets:
        apply = self.normalization.apply
        return shingle_sets((token_pieces(apply(text)) for text in texts), self.shingle)

    def _scanned(self, texts: Sequence[str]) -> Scanned:
        return scan_tokens(texts, self.normalization)

    def known_answers(self) -> list[str]:
        """Return a digest of the sketch of each of the known texts, hexadecimal."""
        made = sketches(self.sets(known_texts(self.normalization))).astype("<u2")
        return [xxhash.xxh3_64_hexdigest(sketch.tobytes()) for sketch in made]


DEFAULT_SKETCHING = Sketching()


@dataclass(frozen=True, slots=True)
class Channels:
    """Which channels a store has.

    Attributes:
        simhash: It keeps fingerprints.
        minhash: It keeps sketches.
        sketching: How texts become shingle sets, for sketches and for verification.
        layout: The bands that sketches are packed by.
    """

    simhash: bool = True
    minhash: bool = True
    sketching: Sketching = DEFAULT_SKETCHING
    layout: BandLayout = DEFAULT_LAYOUT

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the channels that are there."""
        return tuple(name for name in CHANNELS if getattr(self, name))

    def record(self) -> dict[str, Any]:
        """Return the channels as a store keeps them, JSON values."""
        return {
            "simhash": self.simhash,
            "minhash": self.minhash,
            "sketch": {
                "version": self.sketching.normalization.version,
                "shingle": self.sketching.shingle,
                "values": VALUES,
                "bits": 16,
                "known_answers": self.sketching.known_answers(),
            },
            "bands": [self.layout.bands, self.layout.rows],
        }

    @classmethod
    def from_record(
        cls, record: Mapping[str, Any] | None, normalization: Normalization, label: str
    ) -> Channels:
        """Return the channels that a store keeps; None: a store of before there were two.

        Raises:
            SchemeMismatch: This installation makes other sketches.
        """
        if record is None:
            return cls(minhash=False, sketching=Sketching(normalization))
        recipe = record["sketch"]
        sketching = Sketching(normalization, recipe["shingle"])
        if record["minhash"] and (
            recipe["version"] != normalization.version
            or recipe["known_answers"] != sketching.known_answers()
        ):
            raise SchemeMismatch(label, "its sketches come out otherwise here")
        return cls(record["simhash"], record["minhash"], sketching, BandLayout(*record["bands"]))


def parse_channels(names: Sequence[str]) -> tuple[bool, bool]:
    """Return whether ``simhash`` and ``minhash`` are among the names.

    Raises:
        InvalidParameter: Another name, or none.
    """
    unknown = [name for name in names if name not in CHANNELS]
    if unknown or not names:
        shown = ", ".join(unknown) or "none"
        raise InvalidParameter(f"channels {shown}: choose simhash, minhash or both")
    return "simhash" in names, "minhash" in names


def sketch_texts(
    sketching: Sketching, texts: Sequence[str], scanned: Scanned | None = None
) -> list[tuple[int, bytes]]:
    """Return the size of each text's shingle set and its packed sketch: 256 bytes, or none.

    Args:
        sketching: How.
        texts: The texts.
        scanned: Their tokens, where they are known.
    """
    sizes, made = sketching.sketched(texts, scanned)
    packed = made.astype("<u2", copy=False).tobytes()
    width = 2 * VALUES
    return [
        (size, packed[place : place + width] if size else b"")
        for size, place in zip(sizes.tolist(), range(0, len(packed), width), strict=True)
    ]


def unpack_sketches(packed: Sequence[bytes]) -> NDArray[np.uint16]:
    """Return sketches as a matrix, shape (n, 128).

    Raises:
        ValueError: One is damaged.
    """
    joined = b"".join(packed)
    if len(joined) != 2 * VALUES * len(packed):
        raise ValueError("damaged sketch")
    return np.frombuffer(joined, "<u2").astype(np.uint16).reshape(-1, VALUES)


# Bytes a character of texts that are looked at as words alone.
NARROW = 1.1


@dataclass(frozen=True, slots=True)
class Signatures:
    """What is made of a batch of texts.

    Attributes:
        words: Fingerprints, shape (texts, ceil(M / 64)); None without the channel simhash.
        feature_counts: Features of each text, with repetitions, int64, shape (texts,).
        shingle_counts: Distinct shingles of each, int64, shape (texts,).
        sketches: uint16, shape (texts, 128); None without the channel minhash.
    """

    words: NDArray[np.uint64] | None
    feature_counts: NDArray[np.int64]
    shingle_counts: NDArray[np.int64]
    sketches: NDArray[np.uint16] | None


def signatures(
    scheme: Scheme, channels: Channels, texts: Sequence[str], byte_count: int
) -> Signatures:
    """Make the signatures of texts, by a scheme whose fingerprints depend on the text alone.

    Args:
        scheme: The scheme.
        channels: Which there are.
        texts: The texts.
        byte_count: Bytes of all of them, UTF-8.
    """
    # Few bytes beyond one a character: hardly any script without blanks between words.
    narrow = byte_count <= NARROW * sum(map(len, texts))
    scanned = scheme.scan(texts) if narrow else None
    words, feature_counts = scheme.fingerprinted(texts, None, scanned)
    if channels.minhash:
        sizes, made = channels.sketching.sketched(texts, scanned)
        return Signatures(words if channels.simhash else None, feature_counts, sizes, made)
    sizes = channels.sketching.sets(texts).sizes()
    return Signatures(words, feature_counts, sizes, None)
