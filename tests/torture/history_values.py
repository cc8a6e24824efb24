"""Histories of fingerprints alone: a set of numbers, and a plain scan of it."""

from __future__ import annotations

import random

from simstore import Store

from .history_checks import same
from .history_store import Bench


class Values:
    """A store of fingerprints alone, beside the set of what it should hold.

    Args:
        bench: What the history works with.
        chance: Where all chance comes from.
        bits: M; None: by chance.
    """

    def __init__(self, bench: Bench, chance: random.Random, bits: int | None = None) -> None:
        self.bench, self.chance = bench, chance
        self.bits = bits or chance.choice(
            (1, 8, 16, 17, 48, 64, 64, 64, 64, 65, 100, 128, 128, 128, 128)
        )
        self.held: set[int] = set()
        self.trail: list[str] = []
        self.place = bench.make_place("store")
        # Few parts, so that pages hold several; their ends are in it, where a slip would show.
        ends = (0, (1 << 16) - 1)
        self._parts = [*ends, *(chance.randrange(1 << 16) for _ in range(chance.randint(0, 4)))]
        self.store = Store.create(
            self.place, fingerprints_only=True, bits=self.bits, synchronous="normal"
        )

    def run(self) -> None:
        """Take some steps, comparing after each."""
        some = (self.add, self.add, self.remove, self.compact, self.compact)
        steps = (*some, self.reopen, self.move)
        for _ in range(self.chance.randint(8, 25)):
            self.chance.choice(steps)()
            self.compare()
        same(self.store.maintenance.fsck(), [], "fsck")

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def value(self) -> int:
        """Return a fingerprint: of few parts, or near one that is held."""
        chance = self.chance
        if self.held and chance.random() < 0.4:
            value = chance.choice(sorted(self.held))
            for _ in range(chance.choice((0, 1, 2, 3, 4))):
                value ^= 1 << chance.randrange(self.bits)
            return value
        value = 0
        for _ in range(8):
            part = (
                chance.choice(self._parts) if chance.random() < 0.9 else chance.randrange(1 << 16)
            )
            value = value << 16 | part
        return value >> (128 - self.bits) if chance.random() < 0.5 else value % (1 << self.bits)

    def add(self) -> None:
        given = [self.value() for _ in range(self.chance.choice((0, 1, 3, 20, 80)))]
        apart = self.chance.choice((None, None, 0, 1, 3))
        apart = None if apart is None else min(apart, self.bits)
        self.trail.append(f"add {[hex(one) for one in given]} {apart=}")
        count = 0
        for one in given:
            if one in self.held or (
                apart is not None and any((one ^ other).bit_count() <= apart for other in self.held)
            ):
                continue
            self.held.add(one)
            count += 1
        same(self.store.fingerprints.add(given, apart=apart), count, "added")

    def remove(self) -> None:
        chance = self.chance
        going = chance.sample(sorted(self.held), chance.randint(0, len(self.held) // 2))
        going += [self.value()]
        self.trail.append(f"remove {[hex(one) for one in going]}")
        count = len(self.held & set(going))
        self.held -= set(going)
        same(self.store.fingerprints.remove(going), count, "removed")

    def compact(self) -> None:
        plain = self.chance.random() < 0.2
        self.trail.append(f"compact {plain=}")
        self.store.maintenance.compact(plain=plain)

    def reopen(self) -> None:
        resident = self.chance.random() < 0.3
        self.trail.append(f"reopen {resident=}")
        self.store.close()
        self.store = Store.open(self.place, synchronous="normal", resident=resident)

    def move(self) -> None:
        if "://" in self.place or self.chance.random() < 0.5:
            return
        other = str(self.bench.folder / f"moved-{len(self.trail)}.db")
        self.trail.append("move")
        self.store.maintenance.backup(other)
        self.store.close()
        self.place = other
        self.reopen()

    def compare(self) -> None:
        """Ask for what is near some values, one by one, together, and among all."""
        chance, bits = self.chance, self.bits
        asked = [self.value() for _ in range(chance.choice((1, 3, 60)))]
        asked += chance.sample(sorted(self.held), min(20, len(self.held)))
        radius = min(chance.choice((0, 0, 1, 2, 3, 3, 3, 4)), bits)
        near = {
            one: sorted(
                (distance, other)
                for other in self.held
                if (distance := (one ^ other).bit_count()) <= radius
            )
            for one in asked
        }
        with self.store.fingerprints.reader() as reader:
            same(reader.count, len(self.held), "fingerprints")
            for one in asked[-24:]:
                expected = [(other, distance) for distance, other in near[one]]
                same(reader.near(one, radius), expected, f"near {one:#x} by {radius} of {bits}")
            rows, words, distances = reader.near_many(asked, radius)
            found = [
                (row, distance, _number(word))
                for row, word, distance in zip(
                    rows.tolist(), words.tolist(), distances.tolist(), strict=True
                )
            ]
            every = [(row, *pair) for row, one in enumerate(asked) for pair in near[one]]
            same(found, every, f"near many by {radius} of {bits}")
            pairs = set()
            for first, second, distances in reader.near_pairs(radius):
                for a, b, distance in zip(
                    first.tolist(), second.tolist(), distances.tolist(), strict=True
                ):
                    one, other = sorted((_number(a), _number(b)))
                    assert (one, other, distance) not in pairs, "a pair is there twice"
                    pairs.add((one, other, distance))
            held = sorted(self.held)
            close = {
                (one, other, distance)
                for at, one in enumerate(held)
                for other in held[at + 1 :]
                if (distance := (one ^ other).bit_count()) <= radius
            }
            same(sorted(pairs), sorted(close), f"pairs by {radius} of {bits}")
        self.bench.count("answers")


def _number(words: list[int]) -> int:
    value = 0
    for word in words:
        value = value << 64 | word
    return value
