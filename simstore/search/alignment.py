"""Align the tokens of a submitted paper and a source to find copied stretches.

Seeds (common k-grams) grow to the longest runs that are the same in both texts. Runs that follow
one another in both are chained where that pays, the gaps between them and the texts beyond their
ends are aligned by rapidfuzz, and a stretch ends where going on would make it less similar than
asked. The similarity of two stretches is 2 M / (a + b): M units in common in one order, of a and b
units (normalized Indel similarity).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from simstore.errors import MissingExtra
from simstore.search.symbols import Symbols

Block = tuple[int, int, int]

# Longest gap between two runs of one stretch, in units of either text.
LONGEST_GAP = 20
# Units beyond an end that are looked at together.
_REACH = 24
_FIRST_COMPARED = 32
_MOST_PREDECESSORS = 48


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of the paper and the similar stretch of a source.

    Attributes:
        blocks: What is the same in both, in order: first unit in the paper, first unit in the
            source, units. Never empty.
    """

    blocks: tuple[Block, ...]

    @property
    def paper_first(self) -> int:
        """The first token in the paper."""
        return self.blocks[0][0]

    @property
    def paper_end(self) -> int:
        """The token of the paper behind the last."""
        return self.blocks[-1][0] + self.blocks[-1][2]

    @property
    def source_first(self) -> int:
        """The first token in the source."""
        return self.blocks[0][1]

    @property
    def source_end(self) -> int:
        """The token of the source behind the last."""
        return self.blocks[-1][1] + self.blocks[-1][2]

    @property
    def matched(self) -> int:
        """Number of equal tokens."""
        return sum(block[2] for block in self.blocks)

    @property
    def similarity(self) -> float:
        """2 M / (a + b), above 0, at most 1."""
        units = self.paper_end - self.paper_first + self.source_end - self.source_first
        return 2 * self.matched / units


def check_installed() -> None:
    """Raise where rapidfuzz is missing.

    Raises:
        MissingExtra: The extra ``check`` is not installed.
    """
    try:
        import rapidfuzz  # noqa: F401
    except ImportError:
        raise MissingExtra("checking papers", "check") from None


def aligned(paper: str, source: str) -> tuple[Block, ...]:
    """Return the units that two texts have in common in one order, a longest selection, as blocks.

    Args:
        paper: Units as characters.
        source: Units as characters of the same alphabet.
    """
    from rapidfuzz.distance import Indel

    return tuple(
        (block.a, block.b, block.size)
        for block in Indel.opcodes(paper, source).as_matching_blocks()
        if block.size
    )


def exact_runs(paper: Symbols, source: Symbols, seeds: Iterable[tuple[int, int]]) -> list[Block]:
    """Return the longest common runs through seeds, by place; each once.

    Args:
        paper: The paper's units.
        source: The source's units.
        seeds: Places in the paper and in the source; where the units differ, it is no seed.
    """
    found: list[Block] = []
    reached: dict[int, int] = {}
    for place, other in sorted(seeds):
        diagonal = other - place
        if place < reached.get(diagonal, -1):
            continue
        forward = common_after(paper, source, place, other)
        if not forward:
            continue
        back = common_before(paper, source, place, other)
        found.append((place - back, other - back, back + forward))
        reached[diagonal] = place + forward
    return sorted(found)


def common_after(paper: Symbols, source: Symbols, place: int, other: int) -> int:
    """Return the number of equal tokens from two offsets on."""
    most = min(len(paper) - place, len(source) - other)
    done, step = 0, _FIRST_COMPARED
    while done < most:
        end = min(done + step, most)
        differ = paper.codes[place + done : place + end] != source.codes[other + done : other + end]
        first = int(differ.argmax())
        if differ[first]:
            return done + first
        done, step = end, step * 4
    return most


def common_before(paper: Symbols, source: Symbols, place: int, other: int) -> int:
    """Return the number of equal tokens before two offsets."""
    most = min(place, other)
    done, step = 0, _FIRST_COMPARED
    while done < most:
        end = min(done + step, most)
        differ = (
            paper.codes[place - end : place - done] != source.codes[other - end : other - done]
        )[::-1]
        first = int(differ.argmax())
        if differ[first]:
            return done + first
        done, step = end, step * 4
    return most


def chained(runs: Sequence[Block], least: float, gap: int = LONGEST_GAP) -> list[list[Block]]:
    """Gather runs into chains that go forward in both texts.

    A chain is worth 2 M - least * (a + b), so it is extended while it stays at least as similar as
    ``least``, and ends where it is worth most. Each run is in one chain; where runs overlap, what
    both have counts once.

    Args:
        runs: Runs in order of their places in the paper.
        least: Least similarity, 0 to 1, both exclusive.
        gap: Longest gap in either text, in units.
    """
    gain = 2 - 2 * least
    worth = [gain * run[2] for run in runs]
    before = [-1] * len(runs)
    for number, (place, other, length) in enumerate(runs):
        best, chosen = 0.0, -1
        for earlier in range(number - 1, max(-1, number - 1 - _MOST_PREDECESSORS), -1):
            first, second, size = runs[earlier]
            if first == place or second >= other:
                continue
            paper_gap, source_gap = place - first - size, other - second - size
            overlap = max(0, -paper_gap, -source_gap)
            if paper_gap > gap or source_gap > gap or overlap >= length:
                continue
            step = max(0, paper_gap + overlap) + max(0, source_gap + overlap)
            value = worth[earlier] - least * step - gain * overlap
            if value > best:
                best, chosen = value, earlier
        worth[number] += best
        before[number] = chosen
    used = [False] * len(runs)
    chains: list[list[Block]] = []
    for number in sorted(range(len(runs)), key=lambda n: -worth[n]):
        links: list[int] = []
        while number >= 0 and not used[number]:
            used[number] = True
            links.append(number)
            number = before[number]
        if links:
            chains.append(_trimmed([runs[link] for link in reversed(links)]))
    return chains


def _trimmed(chain: list[Block]) -> list[Block]:
    """Cut from the front of each run what the one before it has already, in either text."""
    cut = [chain[0]]
    for place, other, length in chain[1:]:
        first, second, size = cut[-1]
        overlap = max(0, first + size - place, second + size - other)
        if overlap < length:
            cut.append((place + overlap, other + overlap, length - overlap))
    return cut


def stretched(paper: Symbols, source: Symbols, chain: Sequence[Block], least: float) -> Stretch:
    """Align what lies between the runs of a chain, and go on beyond its ends while that pays."""
    blocks: list[Block] = []
    place, other = chain[0][0], chain[0][1]
    for run in chain:
        if run[0] > place and run[1] > other:
            blocks += _moved(
                aligned(paper.text[place : run[0]], source.text[other : run[1]]), place, other
            )
        blocks.append(run)
        place, other = run[0] + run[2], run[1] + run[2]
    blocks = _before(paper.text, source.text, blocks, least)
    blocks = _after(paper.text, source.text, blocks, least)
    return Stretch(_joined(blocks))


def _after(paper: str, source: str, blocks: list[Block], least: float) -> list[Block]:
    place, other = (blocks[-1][n] + blocks[-1][2] for n in (0, 1))
    while place < len(paper) and other < len(source):
        found = _best_prefix(
            aligned(paper[place : place + _REACH], source[other : other + _REACH]), least
        )
        if not found:
            break
        blocks = blocks + _moved(found, place, other)
        place, other = (blocks[-1][n] + blocks[-1][2] for n in (0, 1))
    return blocks


def _before(paper: str, source: str, blocks: list[Block], least: float) -> list[Block]:
    place, other = blocks[0][:2]
    while place > 0 and other > 0:
        # The same backwards.
        first, second = (
            paper[max(0, place - _REACH) : place],
            source[max(0, other - _REACH) : other],
        )
        found = _best_prefix(aligned(first[::-1], second[::-1]), least)
        if not found:
            break
        turned = [(place - p - size, other - s - size, size) for p, s, size in reversed(found)]
        blocks = turned + blocks
        place, other = blocks[0][:2]
    return blocks


def _best_prefix(blocks: Sequence[Block], least: float) -> Sequence[Block]:
    """Return the blocks up to where 2 M - least * (a + b) is highest, if that is above 0."""
    best, taken, matched = 0.0, 0, 0
    for number, (place, other, size) in enumerate(blocks, 1):
        matched += size
        value = 2 * matched - least * (place + size + other + size)
        if value > best:
            best, taken = value, number
    return blocks[:taken]


def _moved(blocks: Iterable[Block], place: int, other: int) -> list[Block]:
    return [(first + place, second + other, size) for first, second, size in blocks]


def _joined(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Join blocks without a gap between them in either text."""
    joined = [blocks[0]]
    for place, other, size in blocks[1:]:
        first, second, length = joined[-1]
        if place == first + length and other == second + length:
            joined[-1] = (first, second, length + size)
        else:
            joined.append((place, other, size))
    return tuple(joined)


# Largest share of a stretch's units that other stretches of its source may explain.
_OLD_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class CoveredUnits:
    """Tokens of the paper that are covered by copies from one source.

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
        """Record a whole run as copied, and yield it as a stretch."""
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


class CommonUnits:
    """Counts the tokens that one string has in common with others, in one order.

    Example:
        >>> CommonUnits("harbour").count("hair bar")
        4

    References:
        Crochemore, Iliopoulos, Pinzon, Reid: A fast and practical bit-vector algorithm for the
        longest common subsequence problem, Information Processing Letters 80, 2001.
    """

    def __init__(self, text: str) -> None:
        """Take the string, a unit a character."""
        self._all = (1 << len(text)) - 1
        self._places: dict[str, int] = {}
        for place, unit in enumerate(text):
            self._places[unit] = self._places.get(unit, 0) | 1 << place

    def count(self, other: str) -> int:
        """Return the length of the longest common subsequence with another string."""
        left, places = self._all, self._places
        for unit in other:
            if unit in places:
                matched = left & places[unit]
                left = (left + matched | left - matched) & self._all
        return (self._all ^ left).bit_count()
