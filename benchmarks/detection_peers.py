"""The peers of ``benchmarks/detection.py``: which pairs each finds, at every threshold.

Each is given what its authors recommend and more: the tokens are simstore's own (a Han character
or a run of letters and digits), because the word analysers of some find nothing in Chinese.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.text.normalization import DEFAULT
from simstore.text.tokens import tokens

VALUES = 128
THRESHOLDS = [round(0.05 * step, 2) for step in range(1, 20)]


@dataclass(frozen=True)
class Found:
    """Pairs of places, first below second, with a score where the peer gives one."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    score: NDArray[np.float64]

    def at(self, threshold: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs whose score reaches a threshold."""
        kept = self.score >= threshold
        return self.first[kept], self.second[kept]


@dataclass(frozen=True)
class Setting:
    """A peer with everything fixed but the threshold.

    Attributes:
        find: Texts to pairs; called with a threshold where the index depends on it.
        indexed: The index depends on the threshold.
    """

    peer: str
    name: str
    find: Callable[[Sequence[str], float], Found]
    indexed: bool = False


def words(text: str) -> list[str]:
    return tokens(DEFAULT.apply(text)) or [""]


def shingles(size: int) -> Callable[[str], list[str]]:
    def cut(text: str) -> list[str]:
        found = words(text)
        return [" ".join(found[i : i + size]) for i in range(max(len(found) - size + 1, 1))]

    return cut


def four_characters(text: str) -> list[str]:
    squeezed = " ".join(DEFAULT.apply(text).split())
    return [squeezed[i : i + 4] for i in range(max(len(squeezed) - 3, 1))]


FEATURES = {
    "words": words,
    "3-word shingles": shingles(3),
    "5-word shingles": shingles(5),
    "4 characters": four_characters,
}


def _found(pairs: dict[tuple[int, int], float]) -> Found:
    ends = np.array(list(pairs), np.int64).reshape(-1, 2)
    return Found(ends[:, 0], ends[:, 1], np.array(list(pairs.values()), np.float64))


@lru_cache(maxsize=64)
def _datasketches(texts: tuple[str, ...]) -> list[Any]:
    """Return the sketches of texts; tuning asks for them at every threshold."""
    from datasketch import MinHash

    made = []
    for text in texts:
        sketch = MinHash(VALUES)
        parts = shingles(5)(text)
        sketch.update_batch([part.encode("utf-8", "surrogatepass") for part in parts])
        made.append(sketch)
    return made


def datasketch_lsh(*, verified: bool) -> Callable[..., Found]:
    """As text-dedup does it: 128 permutations, the bands that suit the threshold."""
    from datasketch import MinHashLSH

    def find(texts: Sequence[str], threshold: float) -> Found:
        made = _datasketches(tuple(texts))
        index = MinHashLSH(threshold=threshold, num_perm=VALUES)
        for place, sketch in enumerate(made):
            index.insert(place, sketch)
        pairs = {}
        for place, sketch in enumerate(made):
            for other in index.query(sketch):
                if other < place:
                    pairs[other, place] = sketch.jaccard(made[other]) if verified else 1.0
        return _found(pairs)

    return find


def rensa_lsh(cut: Callable[[str], list[str]]) -> Callable[..., Found]:
    from rensa import RMinHash, RMinHashLSH

    def find(texts: Sequence[str], _threshold: float) -> Found:
        made = []
        index = RMinHashLSH(threshold=0.1, num_perm=VALUES, num_bands=64)
        for place, text in enumerate(texts):
            sketch = RMinHash(num_perm=VALUES, seed=42)
            sketch.update(cut(text))
            made.append(sketch)
            index.insert(place, sketch)
        pairs = {}
        for place, sketch in enumerate(made):
            for other in index.query(sketch):
                if other < place:
                    pairs[other, place] = sketch.jaccard(made[other])
        return _found(pairs)

    return find


def gaoya_index(cut: Callable[[str], list[str]]) -> Callable[..., Found]:
    from gaoya.minhash import MinHashStringIndex

    def find(texts: Sequence[str], _threshold: float) -> Found:
        index = MinHashStringIndex(32, 0.05, 42, 3, None, cut)
        for place, text in enumerate(texts):
            index.insert_document(place, text)
        pairs = {}
        for place, text in enumerate(texts):
            for other, score in index.query(text, return_similarity=True):
                if other < place:
                    pairs[other, place] = score
        return _found(pairs)

    return find


def simhash_scan(bits: int, cut: Callable[[str], list[str]] | None) -> Callable[..., Found]:
    """All pairs by their distance: its index finds the same, and more slowly at wide radii."""
    from simhash import Simhash

    def value(text: str) -> int:
        # A feature that occurs more than 255 times breaks it with NumPy 2.
        given = text if cut is None else {k: min(n, 255) for k, n in Counter(cut(text)).items()}
        try:
            return int(Simhash(given, f=bits).value)
        except (OverflowError, ValueError):
            # It fails on this text; a value of its own resembles nothing.
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=bits // 8)
            return int.from_bytes(digest.digest(), "big")

    def find(texts: Sequence[str], _threshold: float) -> Found:
        mask = (1 << 64) - 1
        values = [value(text) for text in texts]
        halves = np.array([[v & mask, v >> 64] for v in values], np.uint64).reshape(-1, 2)
        firsts, seconds, scores = [], [], []
        for place in range(1, len(texts)):
            distance = np.bitwise_count(halves[:place] ^ halves[place]).sum(axis=1)
            near = np.flatnonzero(distance <= bits // 2)
            firsts.append(near)
            seconds.append(np.full(len(near), place))
            scores.append(1 - distance[near] / bits)
        none = [np.empty(0, np.int64)]
        return Found(
            np.concatenate(none + firsts),
            np.concatenate(none + seconds),
            np.concatenate([np.empty(0), *scores]),
        )

    return find


def settings() -> list[Setting]:
    """Return every setting of every peer that is tried on the tuning part."""
    made = [
        Setting(
            "datasketch",
            "5-word shingles, LSH" + (", estimate" if verified else ""),
            datasketch_lsh(verified=verified),
            indexed=True,
        )
        for verified in (False, True)
    ]
    for name, cut in FEATURES.items():
        made.append(Setting("rensa", name, rensa_lsh(cut)))
        made.append(Setting("gaoya", name, gaoya_index(cut)))
    for bits in (64, 128):
        made.append(Setting("simhash", f"{bits} bits, its own features", simhash_scan(bits, None)))
        made += [
            Setting("simhash", f"{bits} bits, {name}", simhash_scan(bits, FEATURES[name]))
            for name in ("words", "3-word shingles")
        ]
    return made


def thresholds_of(setting: Setting) -> list[float]:
    """Return the thresholds that are tried; those of ``simhash`` are every distance."""
    if setting.peer == "simhash":
        bits = 128 if setting.name.startswith("128") else 64
        return [1 - distance / bits for distance in range(bits // 2)]
    return THRESHOLDS


def timed(setting: Setting, texts: Sequence[str], threshold: float) -> tuple[Found, float]:
    """Return what is found and the seconds it takes."""
    started = time.perf_counter()
    return setting.find(texts, threshold), time.perf_counter() - started
