"""Units of a paper that copies from one source cover, so that none is reported twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from simstore.search.alignment import Block, Stretch

# Largest share of a stretch's units that other stretches of its source may explain.
_OLD_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class CoveredUnits:
    """Units of the paper that the copies from one source have.

    Attributes:
        same: Those that are the same in the source.
        covered: Those that are within a copy.
    """

    same: set[int]
    covered: set[int]

    def new(self, stretches: Iterable[Stretch]) -> Iterator[Stretch]:
        """Yield what stretches tell beyond those before, those with most in common first.

        One that tells less than a fifth more is left out; the others lose at their ends what is
        known already, such as the word behind a passage that was moved.
        """
        for stretch in sorted(stretches, key=lambda s: (-s.matched, s.paper_first)):
            units = _units(stretch.blocks)
            if len(units & self.same) > _OLD_SHARE * len(units):
                continue
            yield self.add(_cut_ends(stretch, self.same))

    def whole(self, run: Block) -> Iterator[Stretch]:
        """Yield a run, as it is."""
        yield self.add(Stretch((run,)))

    def covers(self, run: Block) -> bool:
        """Return whether all units of a run are within copies."""
        return all(unit in self.covered for unit in range(run[0], run[0] + run[2]))

    def add(self, stretch: Stretch) -> Stretch:
        """Take a stretch as known, and return it."""
        self.same.update(_units(stretch.blocks))
        self.covered.update(range(stretch.paper_first, stretch.paper_end))
        return stretch


def _units(blocks: Iterable[Block]) -> set[int]:
    return {unit for place, _, size in blocks for unit in range(place, place + size)}


def _cut_ends(stretch: Stretch, known: set[int]) -> Stretch:
    """Cut known units off both ends; not all are known."""
    blocks = list(stretch.blocks)
    while blocks[0][0] in known:
        place, other, size = blocks[0]
        first = next((n for n in range(size) if place + n not in known), size)
        blocks[:1] = [(place + first, other + first, size - first)] if first < size else []
    while blocks[-1][0] + blocks[-1][2] - 1 in known:
        place, other, size = blocks[-1]
        left = next((n for n in range(size, 0, -1) if place + n - 1 not in known), 0)
        blocks[-1:] = [(place, other, left)] if left else []
    return Stretch(tuple(blocks))
