"""Star clusters: group documents around a canonical one, and repair the groups after changes.

The order of a policy decides which document of a cluster is canonical. After texts came, went or
changed their place, only what they touch is looked at: of every text its edges to canonical texts
before it are known, its *spokes*; one without any is canonical. A star keeps its name.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, printable
from simstore.text.patterns import Expression

# The order of texts; of two the smaller comes first.
Place = tuple[int, int, int]
# Texts at the other end of edges, and the resemblance of each.
Spokes = dict[int, float]

# Texts whose edges are asked for at once.
_ASKED_TEXTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSpokes:
    """The edges of texts to canonical texts before them.

    Attributes:
        texts: Row of the text of each spoke, int64, shape (spokes,).
        centres: Row of the canonical text that it leads to.
        resemblance: Of the two, float64.
        likeness: Likewise; None where it was not asked for.
        canonical: Whether each text is canonical: it has no spoke; shape (texts,).
    """

    texts: NDArray[np.int64]
    centres: NDArray[np.int64]
    resemblance: NDArray[np.float64]
    likeness: NDArray[np.float64] | None
    canonical: NDArray[np.bool_]

    def chosen(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the spoke by which each member joins its star, ascending by text.

        It is the one of the largest resemblance, of several that to the earliest canonical text.

        Args:
            order: All rows, the earliest text first, shape (texts,).

        Returns:
            Places of spokes, int64, shape (members,).
        """
        places = _places(order)
        sorting = np.lexsort((places[self.centres], -self.resemblance, self.texts))
        return sorting[np.flatnonzero(np.diff(self.texts[sorting], prepend=-1))]

    def joined(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the canonical text of each text, its own for a canonical one; int64."""
        centres = np.arange(len(self.canonical))
        chosen = self.chosen(order)
        centres[self.texts[chosen]] = self.centres[chosen]
        return centres


def spokes_among(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    order: NDArray[np.int64],
    resemblance: NDArray[np.float64],
    likeness: NDArray[np.float64] | None = None,
) -> FoundSpokes:
    """Return those of all edges that lead to canonical texts.

    A text is canonical where it has no edge to an earlier canonical one.

    Args:
        first: Row of one text of each edge, in any order, shape (edges,).
        second: Row of the other.
        order: All rows, the earliest text first, shape (texts,).
        resemblance: Of the two texts of each edge.
        likeness: Likewise, where it was asked for.
    """
    places = _places(order)
    is_turned = places[first] > places[second]
    earlier, later = np.where(is_turned, (second, first), (first, second))
    one, other = places[earlier], places[later]
    # All edges of a text to earlier ones stand before its edges to later ones, so what is
    # canonical is settled when it is asked for. Each step needs the one before: a plain loop.
    sorting = np.lexsort((one, other))
    canonical = [True] * len(order)
    for place, at in zip(one[sorting].tolist(), other[sorting].tolist(), strict=True):
        if canonical[place]:
            canonical[at] = False
    is_canonical = np.empty(len(order), np.bool_)
    is_canonical[order] = canonical
    kept = np.flatnonzero(is_canonical[earlier])
    return FoundSpokes(
        texts=later[kept],
        centres=earlier[kept],
        resemblance=resemblance[kept],
        likeness=None if likeness is None else likeness[kept],
        canonical=is_canonical,
    )


def star_clusters(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    order: NDArray[np.int64],
    resemblance: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the canonical document of each document.

    A document is canonical where it has no edge to an earlier canonical one; any other joins, of
    the earlier canonical documents that it has an edge to, the one it resembles most, of several
    the earliest. So every member has an edge to its canonical document, and no two canonical
    documents have one.

    Args:
        first: Row of one document of each edge, in any order; edges may repeat.
        second: Row of the other, shape (edges,).
        order: All rows, the earliest document first, shape (documents,).
        resemblance: Of the two documents of each edge, shape (edges,).

    Returns:
        Row of each document's canonical document, its own for a canonical one; int64, shape
        (documents,).
    """
    return spokes_among(first, second, order, resemblance).joined(order)


def _places(order: NDArray[np.int64]) -> NDArray[np.int64]:
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def joined_centre(
    text: int,
    spokes: Mapping[int, float],
    places: Mapping[int, Place],
) -> int:
    """Return the canonical text that a text joins: of those it resembles most the earliest.

    Args:
        text: The text; without spokes it joins itself.
        spokes: Canonical texts before it, and its resemblance to each.
        places: The place of each.
    """
    return min(spokes, key=lambda one: (-spokes[one], places[one]), default=text)


class Graph(Protocol):
    """Access to the stars before a change and to the edges after it, for a repair."""

    def places(self, texts: Collection[int]) -> Mapping[int, Place]:
        """Return the place of texts after the change; those that went need have none."""

    def spokes(self, texts: Collection[int]) -> Mapping[int, Spokes]:
        """Return the spokes of texts before the change; those without any may be left out."""

    def followers(self, centres: Collection[int]) -> Mapping[int, Collection[int]]:
        """Return the texts that had a spoke to each before the change, likewise."""

    def absent(self, texts: Collection[int]) -> Collection[int]:
        """Return those of the texts that are there no more, though nobody said they went."""

    def edges(
        self, texts: Collection[int], *, canonical_only: bool
    ) -> Mapping[int, Mapping[int, float]]:
        """Return the edges of each text among the texts that are there after the change.

        Args:
            texts: The texts.
            canonical_only: Only edges to texts that were canonical before the change; others
                may be among them.
        """


@dataclass(frozen=True, slots=True)
class Repair:
    """The changes that a repair makes to the stars.

    Attributes:
        before: Spokes before the change of every text that was looked at, those that went too.
        after: Spokes after it, of those of them that are there.
        promoted: Texts that are canonical now and were not before, ascending by place.
        demoted: Texts that were canonical before and are there and are not now, likewise.
        gone: Texts that went, those that were found to be absent too.
    """

    before: Mapping[int, Spokes]
    after: Mapping[int, Spokes]
    promoted: tuple[int, ...]
    demoted: tuple[int, ...]
    gone: frozenset[int]


def repair(
    graph: Graph, *, gone: Collection[int], moved: Collection[int], new: Collection[int]
) -> Repair:
    """Return the changes of the stars when texts go, move and come.

    A text whose edges changed has moved, too, though its place be the same. The result is that of
    all texts taken from the first, whatever the changes, as long as the stars before were. What is
    absent though nobody said it went goes with a canonical text that it followed; else it stays
    until it is said to go.

    Args:
        graph: The stars before the change, and the edges after it.
        gone: Texts that were there and are not any more.
        moved: Texts that were and are there, with another place or other edges.
        new: Texts that were not there before.
    """
    return _Repair(graph, gone, moved, new).run()


class _Repair:
    """The state of one repair.

    Texts are taken by ascending place. Whatever changes when one is taken concerns later texts
    only, so what was decided of earlier ones is final.
    """

    def __init__(
        self,
        graph: Graph,
        gone: Collection[int],
        moved: Collection[int],
        new: Collection[int],
    ) -> None:
        self._graph = graph
        self._gone = set(gone)
        self._moved = set(moved)
        self._new = set(new)
        self._before: dict[int, Spokes] = {}
        self._after: dict[int, Spokes] = {}
        # Whether a text counts as canonical at the moment; one that moved only once it is taken.
        self._canonical: dict[int, bool] = {}
        self._places: dict[int, Place] = {}
        self._heap: list[tuple[Place, int]] = []
        self._waiting: set[int] = set()
        # Spokes that this repair added, by their centre.
        self._joined: dict[int, set[int]] = {}
        self._edges: dict[int, Mapping[int, float]] = {}

    def run(self) -> Repair:
        self._take_out()
        self._put_in()
        while self._heap:
            text = heapq.heappop(self._heap)[1]
            self._waiting.discard(text)
            canonical = not self._after[text]
            if canonical == self._canonical[text]:
                continue
            self._canonical[text] = canonical
            if canonical:
                self._promote(text)
            else:
                self._lose({text})
        changed = [
            (self._places[text], text)
            for text in self._after
            if self._canonical[text] != self._was_canonical(text)
        ]
        changed.sort()
        return Repair(
            self._before,
            self._after,
            tuple(text for _, text in changed if self._canonical[text]),
            tuple(text for _, text in changed if not self._canonical[text]),
            frozenset(self._gone),
        )

    def _was_canonical(self, text: int) -> bool:
        return text not in self._new and not self._before[text]

    def _take_out(self) -> None:
        """Take what went or moved out of the stars."""
        away = self._gone | self._moved
        self._load(away)
        centres = {text for text in away if self._was_canonical(text)}
        for text in away:
            self._canonical[text] = False
        for text in self._gone:
            del self._after[text]
        for text in self._moved:
            self._after[text] = {}
        self._lose(centres)

    def _put_in(self) -> None:
        """Put what is new or moved among the texts, with its edges to what is canonical."""
        fresh = self._moved | self._new
        self._load(self._new)
        found = self._graph.edges(fresh, canonical_only=True)
        others = set().union(*found.values()) if found else set()
        self._know_places(others | fresh)
        self._load(others - self._after.keys())
        for text in fresh:
            self._canonical[text] = False
            self._after[text] = {}
            for other, share in found.get(text, {}).items():
                if self._canonical[other] and self._places[other] < self._places[text]:
                    self._after[text][other] = share
                    self._joined.setdefault(other, set()).add(text)
            self._push(text)

    def _promote(self, text: int) -> None:
        """Give every later text with an edge to a new canonical one a spoke to it."""
        found = self._edges_of(text)
        self._know_places(found)
        later = {other for other in found if self._places[other] > self._places[text]}
        self._load(later - self._after.keys())
        for other in later:
            self._after[other][text] = found[other]
            self._joined.setdefault(text, set()).add(other)
            if self._canonical[other]:
                self._push(other)

    def _lose(self, centres: Collection[int]) -> None:
        """Take away the spokes to texts that are canonical no longer."""
        if not centres:
            return
        followers = self._graph.followers(centres)
        self._load(set().union(*followers.values()) - self._before.keys())
        left = set()
        for centre in centres:
            for text in {*followers.get(centre, ()), *self._joined.pop(centre, ())}:
                spokes = self._after.get(text)
                if spokes is not None and spokes.pop(centre, None) is not None and not spokes:
                    left.add(text)
        left -= self._waiting
        # What will go in its turn should not become canonical before.
        absent = set(self._graph.absent(left)) if left else left
        for text in absent:
            self._gone.add(text)
            del self._after[text]
        for text in left - absent:
            self._push(text)

    def _push(self, text: int) -> None:
        if text not in self._waiting:
            self._waiting.add(text)
            self._know_places((text,))
            heapq.heappush(self._heap, (self._places[text], text))

    def _edges_of(self, text: int) -> Mapping[int, float]:
        """Return all edges of a text; those of others that may be asked for next come with them."""
        if text not in self._edges:
            self._edges = {}
            likely = [text]
            for _, other in sorted(self._heap):
                if len(likely) == _ASKED_TEXTS:
                    break
                if not self._after[other]:
                    likely.append(other)
            found = self._graph.edges(likely, canonical_only=False)
            self._edges = {one: found.get(one, {}) for one in likely}
        return self._edges[text]

    def _load(self, texts: Collection[int]) -> None:
        """Read the spokes of texts, as they were before the change."""
        unknown = [text for text in texts if text not in self._before]
        if not unknown:
            return
        stored = self._graph.spokes([text for text in unknown if text not in self._new])
        for text in unknown:
            spokes = stored.get(text, {})
            self._before[text] = dict(spokes)
            self._after[text] = dict(spokes)
            self._canonical[text] = not spokes
        self._know_places(text for text in unknown if text not in self._gone)

    def _know_places(self, texts: Iterable[int]) -> None:
        unknown = [text for text in texts if text not in self._places]
        if unknown:
            self._places.update(self._graph.places(unknown))


@dataclass(frozen=True, slots=True)
class LostStar:
    """A star whose text is canonical no longer.

    Attributes:
        name: The name of the star.
        text: That text, where it is still there.
        document_id: The document that stood for it.
        members: The texts that were in the star beside it and are there, ascending by place.
    """

    name: int
    text: int | None
    document_id: int
    members: Sequence[int]


@dataclass(frozen=True, slots=True)
class StarNameChanges:
    """Changes of the names of stars: those that go on, end and are new.

    Attributes:
        heirs: Names that go on, and the canonical text of each.
        merged: Names that end, and the canonical text of the star they became part of; None
            where nothing of the star is left.
        unnamed: New canonical texts that no name came to, in their order.
    """

    heirs: Mapping[int, int]
    merged: Mapping[int, int | None]
    unnamed: tuple[int, ...]


def pass_on(
    lost: Sequence[LostStar],
    promoted: Sequence[int],
    text_of: Mapping[int, int],
    centre_of: Callable[[int], int],
) -> StarNameChanges:
    """Pass the names of lost stars on to texts that have become canonical.

    Where the canonical text is still there, its star's name goes where the text went. Where it is
    gone, the name goes to the first member that became canonical; else the document that stood
    for the star keeps it, if its new text is canonical; else it goes where the first member went,
    or where that document did. It goes to a text that became canonical and has no name yet, and
    merges into the name of any other.

    Args:
        lost: The stars, those that are to be served first in front.
        promoted: Texts that became canonical, ascending by place.
        text_of: Documents that came or changed, and the text each stands for now.
        centre_of: Returns the canonical text of a text.
    """
    heirs: dict[int, int] = {}
    merged: dict[int, int | None] = {}
    free = dict.fromkeys(promoted)
    for star in lost:
        own = text_of.get(star.document_id)
        if star.text is not None:
            wanted = [centre_of(star.text)]
        else:
            wanted = [text for text in star.members if text in free]
            wanted += [own] if own in free and own is not None else []
            wanted += [centre_of(text) for text in star.members[:1]]
            wanted += [] if own is None else [centre_of(own)]
        heir = next((text for text in wanted[:1] if text in free), None)
        if heir is None:
            merged[star.name] = wanted[0] if wanted else None
        else:
            heirs[star.name] = heir
            del free[heir]
    return StarNameChanges(heirs, merged, tuple(free))


POLICIES = ("first", "longest", "prefer")
_PREFER = "prefer:"


@dataclass(frozen=True, slots=True)
class CanonicalOrder:
    """An order of documents, by which the canonical one of a cluster is chosen.

    Attributes:
        name: ``first``, ``longest`` or ``prefer``.
        preferred: The regular expression of ``prefer``; None with the others.
    """

    name: str
    preferred: str | None = None

    @classmethod
    def parse(cls, policy: str) -> CanonicalOrder:
        """Return the order of ``first``, ``longest`` or ``prefer:REGEX``.

        Raises:
            InvalidParameter: There is no such policy, or the expression is not one.
        """
        if policy.startswith(_PREFER) and len(policy) > len(_PREFER):
            preferred = policy.removeprefix(_PREFER)
            try:
                Expression(preferred, f"policy {printable(policy)!r}")
            except InvalidParameter as error:
                raise InvalidParameter(f"{error}; --policy takes another") from None
            return cls("prefer", preferred)
        if policy in POLICIES[:2]:
            return cls(policy)
        raise InvalidParameter(
            f"policy {printable(policy)!r}: choose first, longest or prefer:REGEX"
        )

    def __str__(self) -> str:
        """Return the policy as callers write it, such as ``prefer:REGEX``."""
        return self.name if self.preferred is None else f"{_PREFER}{self.preferred}"

    def expression(self) -> Expression | None:
        """Return the compiled expression of ``prefer``; None with the others."""
        if self.preferred is None:
            return None
        return Expression(self.preferred, f"policy {printable(str(self))!r}")

    def majors(self, keys: Sequence[str], byte_counts: Sequence[int]) -> list[int]:
        """Return the first sort key of documents, which goes before first-seen time and ingest.

        Args:
            keys: The key of each.
            byte_counts: The bytes of each text.
        """
        if self.name == "longest":
            return [-count for count in byte_counts]
        if (expression := self.expression()) is not None:
            return [0 if expression.is_in(key) else 1 for key in keys]
        return [0] * len(keys)
