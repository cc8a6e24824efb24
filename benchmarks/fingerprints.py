"""Seeded fingerprints with planted neighbours, the truth about them, and fair timing."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

BITS = 64
RADIUS = 3
PLANTED_SHARE = 0.2
BLOCK = 1 << 18

Words = NDArray[np.uint64]


def flipped(words: Words, distances: NDArray[np.int64], rng: np.random.Generator) -> Words:
    """Return each fingerprint with as many different random bits flipped as its distance, 0..3."""
    first = rng.integers(0, 64, len(words), dtype=np.uint64)
    second = (first + rng.integers(1, 64, len(words), dtype=np.uint64)) % np.uint64(64)
    third = rng.integers(0, 64, len(words), dtype=np.uint64)
    while (taken := (third == first) | (third == second)).any():
        third[taken] = rng.integers(0, 64, int(taken.sum()), dtype=np.uint64)
    masks = np.zeros(len(words), np.uint64)
    for number, place in enumerate((first, second, third), start=1):
        masks ^= np.where(distances >= number, np.uint64(1) << place, np.uint64(0))
    return words ^ masks


def planted(count: int, seed: int = 1) -> Words:
    """Return different random fingerprints in random order, a fifth planted near another one.

    The planted ones lie at distance 0 to 3 of a random one; as equal fingerprints are kept once,
    random ones fill up to the count.
    """
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 1 << 64, int(count * (1 - PLANTED_SHARE)), dtype=np.uint64)
    chosen = base[rng.integers(0, len(base), count - len(base))]
    near = flipped(chosen, rng.integers(0, RADIUS + 1, len(chosen)), rng)
    made = np.unique(np.concatenate((base, near)))
    while len(made) < count:
        more = rng.integers(0, 1 << 64, count - len(made), dtype=np.uint64)
        made = np.unique(np.concatenate((made, more)))
    return rng.permutation(made)


def queries_for(words: Words, count: int, seed: int = 2) -> Words:
    """Return samples: half lie 0 to 3 bits from a stored fingerprint, half are random."""
    rng = np.random.default_rng(seed)
    chosen = words[rng.integers(0, len(words), count // 2)]
    near = flipped(chosen, rng.integers(0, RADIUS + 1, len(chosen)), rng)
    far = rng.integers(0, 1 << 64, count - len(near), dtype=np.uint64)
    return rng.permutation(np.concatenate((near, far)))


Answer = list[tuple[int, int]]


def brute_force(words: Words, samples: Words, radius: int = RADIUS) -> list[Answer]:
    """Return (fingerprint, distance) of every one within the radius, by distance, then value."""
    found: list[Answer] = [[] for _ in samples]
    for start in range(0, len(words), BLOCK):
        block = words[start : start + BLOCK]
        for number, sample in enumerate(samples):
            distances = np.bitwise_count(block ^ sample)
            for place in np.flatnonzero(distances <= radius).tolist():
                found[number].append((int(block[place]), int(distances[place])))
    return [sorted(answer, key=lambda match: (match[1], match[0])) for answer in found]


def check_pairs(words: Words, left: Words, right: Words, sample_count: int = 200) -> None:
    """Check a self-join: each pair is near, none comes twice, and a sample misses none."""
    assert (np.bitwise_count(left ^ right) <= RADIUS).all(), "a pair is too far"
    low, high = np.minimum(left, right), np.maximum(left, right)
    assert (low != high).all(), "a fingerprint is paired with itself"
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    assert not ((low[1:] == low[:-1]) & (high[1:] == high[:-1])).any(), "a pair comes twice"
    rng = np.random.default_rng(3)
    half = sample_count // 2
    some = np.concatenate(
        [rng.choice(part, min(len(part), half), replace=False) for part in (words, low)]
    )
    for value, answer in zip(some.tolist(), brute_force(words, some), strict=True):
        expected = {other for other, _ in answer if other != value}
        near = set(high[low == value].tolist()) | set(low[high == value].tolist())
        assert near == expected, f"the pairs of {value:016x}"


@dataclass
class Timing:
    """Microseconds of single calls, in the blocks they were measured in."""

    blocks: list[list[float]] = field(default_factory=list)

    def _all(self) -> list[float]:
        return sorted(value for block in self.blocks for value in block)

    @property
    def median(self) -> float:
        return statistics.median(self._all())

    @property
    def p95(self) -> float:
        every = self._all()
        return every[min(int(len(every) * 0.95), len(every) - 1)]

    def times_faster_than(self, other: Timing) -> float:
        """Return the other's time over this one's: the median over blocks run side by side."""
        pairs = zip(self.blocks, other.blocks, strict=True)
        return statistics.median(statistics.median(b) / statistics.median(a) for a, b in pairs)


def interleaved(
    works: dict[str, Callable[[int], object]],
    samples: Sequence[int],
    block: int = 50,
    seconds: float = 20.0,
) -> dict[str, Timing]:
    """Time single calls of several methods, block by block in turn, so that noise hits all alike.

    Args:
        works: Each is called with one sample.
        samples: Every method gets all of them, in this order, as long as time allows.
        block: Calls of one method in a row; before them a call that is not timed warms the caches.
        seconds: No new round of blocks begins later than this.
    """
    timings = {name: Timing() for name in works}
    started = time.perf_counter()
    with _no_collection():
        for start in range(0, len(samples), block):
            part = samples[start : start + block]
            for name, work in works.items():
                work(part[0])
                timings[name].blocks.append([_microseconds(work, sample) for sample in part])
            if time.perf_counter() - started > seconds:
                break
    return timings


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector of cycles, which walks all objects of all indexes, out of the figures."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _microseconds(work: Callable[[int], object], sample: int) -> float:
    started = time.perf_counter_ns()
    work(sample)
    return (time.perf_counter_ns() - started) / 1e3


def best_of(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the least seconds of some runs."""

    def once() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    with _no_collection():
        return min(once() for _ in range(repeats))


def batches_in_turn(
    works: dict[str, Callable[[], object]], repeats: int = 3
) -> dict[str, list[float]]:
    """Return the seconds of each run of each piece of work, run in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            seconds[name].append(best_of(work, 1))
    return seconds
