"""Choose the original of a new document among similar stored documents.

Where links decide, the rule is that of `show` (:mod:`simstore.services.history.originals`). Else a
document that comes before all that it is like is an original, and any other is a duplicate of the
one it resembles most, of those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simstore.services.history.originals import OriginalCandidate, original_of
from simstore.storage import history
from simstore.storage.engine import Connection
from simstore.text.decoding import exact_text

# Above every document number: new documents come after all others, in their order.
NEW = 1 << 62


@dataclass(frozen=True, slots=True)
class Contender:
    """A document that may be an original: one that is stored, or one of a batch.

    Attributes:
        first_seen, basis: When it was first seen, and who says so.
        document_id: The document, where it is stored.
        place: Its place in the batch, where it is of one.
        links: Keys that it links to, by its record of the batch; None: by what is stored.
    """

    key: bytes
    first_seen: int
    basis: str
    document_id: int | None = None
    place: int | None = None
    links: frozenset[bytes] | None = None

    @property
    def order(self) -> int:
        """Return its place in the order of ingest."""
        return self.document_id if self.document_id is not None else NEW + (self.place or 0)

    @property
    def position(self) -> tuple[int, int]:
        """Return its position by date, then by the order of ingest."""
        return self.first_seen, self.order


def nearness(resemblance: float | None, original: Contender) -> tuple[float, tuple[int, int]]:
    """Return the sort key by which the originals of one document are compared; least wins."""
    return -(resemblance or 0.0), original.position


class Contenders:
    """Chooses originals within one transaction.

    Args:
        connection: A writer.
        may_link: Stored documents or records of the batch link to keys.
    """

    def __init__(self, connection: Connection, *, may_link: bool) -> None:
        self._connection = connection
        self._may_link = may_link
        self._known: dict[int, Contender] = {}
        self._links: dict[int, frozenset[bytes]] = {}

    def stored(self, document_ids: Iterable[int]) -> dict[int, Contender]:
        """Return the documents among these that are stored, as they were when first asked for."""
        wanted = list(document_ids)
        missing = sorted(set(wanted) - self._known.keys())
        # Asked for every document of a batch; most are like none.
        found = history.times_of(self._connection, missing) if missing else {}
        for number, (key, times) in found.items():
            self._known[number] = Contender(key, times.first_seen, times.basis, number)
        return {number: self._known[number] for number in wanted if number in self._known}

    def move(self, one: Contender) -> None:
        """Note that the date of a stored document has changed."""
        if one.document_id is not None:
            moved = Contender(one.key, one.first_seen, one.basis, one.document_id)
            self._known[one.document_id] = moved

    def are_linked(self, some: Sequence[Contender]) -> bool:
        """Return whether a link may decide which of some documents is the original.

        It does unless the page that was first seen says so itself, and no other has the same date.
        """
        if not self._may_link or len(some) < 2:
            return False
        leader = min(some, key=lambda one: one.position)
        is_first = [one.first_seen for one in some].count(leader.first_seen) == 1
        if is_first and leader.basis == "published":
            return False
        keys = {one.key for one in some}
        links = self._links_of(some)
        return any(links[one.key] & (keys - {one.key}) for one in some)

    def original(self, some: Sequence[Contender]) -> Contender:
        """Return the original of documents that are alike; each has a key of its own."""
        if not self.are_linked(some):
            return min(some, key=lambda one: one.position)
        links = self._links_of(some)
        claimants = [
            OriginalCandidate(
                exact_text(one.key),
                one.order,
                one.first_seen,
                one.basis,
                frozenset(map(exact_text, links[one.key])),
            )
            for one in some
        ]
        chosen, _ = original_of(claimants)
        return some[claimants.index(chosen)]

    def nearest(
        self, me: Contender, some: Iterable[tuple[Contender, float | None]]
    ) -> Contender | None:
        """Return the original that a document duplicates; None: all come after it.

        Args:
            me: The document.
            some: Originals that it is like, and its resemblance to each; None: not known.
        """
        return min(
            (one for one in some if one[0].position < me.position),
            key=lambda one: nearness(one[1], one[0]),
            default=(None, None),
        )[0]

    def _links_of(self, some: Sequence[Contender]) -> dict[bytes, frozenset[bytes]]:
        stored_ids = {
            one.document_id for one in some if one.links is None and one.document_id is not None
        }
        missing = sorted(stored_ids - self._links.keys())
        found = history.links_of(self._connection, missing)
        self._links.update((number, frozenset(found.get(number, ()))) for number in missing)
        return {
            one.key: self._links.get(one.document_id or 0, frozenset())
            if one.links is None
            else one.links
            for one in some
        }
