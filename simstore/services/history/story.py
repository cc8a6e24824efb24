"""Gather the history of a key: when it was seen, its near-duplicates, and their original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from simstore.errors import DocumentNotFound
from simstore.fingerprint.minhash import VALUES
from simstore.fingerprint.sketching import unpack_sketches
from simstore.model import Relative, SeenState, Story, Version
from simstore.services.clusters import read
from simstore.services.features import feature_counts
from simstore.services.history.originals import Choice, OriginalCandidate, parse_rule
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.services.query.verify import Verifier
from simstore.storage import documents, duplicates, history
from simstore.storage.damage import corrupt
from simstore.storage.documents import DocumentRow
from simstore.storage.duplicates import DuplicateRow
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints
from simstore.storage.sketches import WORDS
from simstore.text.decoding import encode, exact_text

MOST_RELATIVES = 1_000
# Above every document number: of what was skipped the order is not known.
_AFTER_ALL = 1 << 62

Relation = Literal["same text", "cluster", "duplicate"]


@dataclass(slots=True)
class _Family:
    """A key and those that are like it, as they are stored.

    Attributes:
        rows: By key, of those that are stored.
        noted: What a check before the insert found, by key.
        relations: Why each other than the key itself is one of them.
    """

    key: bytes
    rows: dict[bytes, DocumentRow]
    noted: dict[bytes, DuplicateRow]
    relations: dict[bytes, Relation]
    cluster_id: int | None


def tell_story(
    opened: OpenStore,
    key: str,
    *,
    original: str = "first-seen",
    on_step: Callable[[], None] | None = None,
) -> Story:
    """Return the history of a key and its near-duplicates.

    Args:
        opened: The store.
        key: The key of a document, or one that was skipped as a duplicate.
        original: Which is the original: ``first-seen``, ``linked`` or ``prefer:REGEX``; see
            :mod:`simstore.services.history.originals`.
        on_step: Called between pieces of work; what it raises ends them.

    Raises:
        DocumentNotFound: The key was never seen.
        InvalidParameter: There is no such rule.
    """
    choose = parse_rule(original, on_step or (lambda: None))
    cluster = None
    try:
        place = read.cluster_of(opened, key)
        if place is not None:
            cluster = read.cluster_members(opened, place.cluster_id)
    except DocumentNotFound:
        pass
    near = [] if cluster is None else [encode(one.key) for one in cluster.members[:MOST_RELATIVES]]
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        family = _gather(connection, encode(key), near)
        if family is None:
            raise DocumentNotFound(key)
        family.cluster_id = None if cluster is None else cluster.cluster_id
        return _Teller(snapshot, family).story(choose)


def _gather(connection: Connection, key: bytes, near: Sequence[bytes]) -> _Family | None:
    """Return a key with its relatives; None where it was never seen."""
    own = documents.by_keys(connection, [key]).get(key)
    noted = duplicates.by_keys(connection, [key])
    mine = noted.get(key)
    if own is None and mine is None:
        return None
    digest = own.digest if own is not None else mine.digest if mine is not None else b""
    relations: dict[bytes, Relation] = {}
    for other in history.earliest_with_digest(connection, digest, MOST_RELATIVES):
        relations[other] = "same text"
    for other in near:
        relations.setdefault(other, "cluster")
    head = mine.original_id if mine is not None else own.document_id if own is not None else None
    if head is not None:
        for row in duplicates.of_originals(connection, [head], MOST_RELATIVES):
            noted[row.key] = row
            relations.setdefault(row.key, "same text" if row.digest == digest else "duplicate")
        for other in documents.keys_of(connection, [head]).values():
            relations.setdefault(other, "duplicate")
    relations.pop(key, None)
    rows = documents.by_keys(connection, [key, *relations])
    noted |= duplicates.by_keys(connection, list(rows))
    for other in relations.keys() - rows.keys() - noted.keys():
        # The clusters were read before: what was removed since is no relative any more.
        if relations.pop(other) != "cluster":
            raise corrupt(
                connection, f"{exact_text(other)!r} is a relative that is not found by its key"
            )
    return _Family(key, rows, noted, relations, None)


class _Teller:
    """Tells the story of a key in one snapshot."""

    def __init__(self, snapshot: Snapshot, family: _Family) -> None:
        self._snapshot = snapshot
        self._family = family
        ids = {row.document_id: key for key, row in family.rows.items()}
        known = {family.key, *family.relations}
        self._links = {
            ids[number]: tuple(exact_text(one) for one in targets if one in known - {ids[number]})
            for number, targets in history.links_of(snapshot.connection, list(ids)).items()
        }
        self._snapshots = history.snapshots_of(snapshot.connection, list(ids))

    def story(self, choose: Callable[[Sequence[OriginalCandidate]], Choice]) -> Story:
        """Return the story; the original is the one that is chosen."""
        family, key = self._family, self._family.key
        claimants = [key, *filter(self._may_be_original, family.relations)]
        chosen, reason = choose([self._claimant(one) for one in claimants])
        mine = family.noted.get(key)
        first_seen, basis, last_seen = self._sight(key)
        resemblances, distances = self._resemblances(), self._distances()
        order = sorted(family.relations, key=lambda one: (self._sight(one)[0], self._order(one)))
        return Story(
            key=exact_text(key),
            state=self._state_of(key),
            first_seen=first_seen,
            first_seen_basis=basis,
            last_seen=last_seen,
            duplicate_of=None if mine is None else exact_text(mine.original_key),
            versions=self._versions(key),
            links_to=self._links.get(key, ()),
            cluster_id=family.cluster_id,
            relatives=tuple(
                Relative(
                    key=exact_text(one),
                    state=self._state_of(one),
                    relation=family.relations[one],
                    first_seen=self._sight(one)[0],
                    first_seen_basis=self._sight(one)[1],
                    last_seen=self._sight(one)[2],
                    resemblance=resemblances.get(one),
                    distance=distances.get(one),
                    links_to=self._links.get(one, ()),
                )
                for one in order
            ),
            original=chosen.key,
            reason=reason,
        )

    def _may_be_original(self, relative: bytes) -> bool:
        """Return whether a relative is no duplicate of something that is no relative.

        A copy of the text that came earlier may be a duplicate of another original than this one,
        to which a later original is more similar.
        """
        noted = self._family.noted.get(relative)
        return (
            noted is None
            or noted.state in ("orphaned", "uncovered")
            or noted.original_key == self._family.key
            or noted.original_key in self._family.relations
        )

    def _claimant(self, key: bytes) -> OriginalCandidate:
        first_seen, basis, _ = self._sight(key)
        return OriginalCandidate(
            exact_text(key),
            self._order(key),
            first_seen,
            basis or "skipped",
            frozenset(self._links.get(key, ())),
        )

    def _state_of(self, key: bytes) -> SeenState:
        noted = self._family.noted.get(key)
        if key in self._family.rows:
            return "stored" if noted is None else "flagged"
        return "stored" if noted is None else cast(SeenState, noted.state)

    def _sight(self, key: bytes) -> tuple[int, str | None, int]:
        """Return when a key was first seen, who says so, and when it was last seen."""
        row = self._family.rows.get(key)
        if row is not None:
            return row.times.first_seen, row.times.basis, row.times.last_seen
        noted = self._family.noted[key]
        return noted.first_seen, None, noted.last_seen

    def _order(self, key: bytes) -> int:
        row = self._family.rows.get(key)
        return _AFTER_ALL if row is None else row.document_id

    def _versions(self, key: bytes) -> tuple[Version, ...]:
        row = self._family.rows.get(key)
        if row is None:
            return ()
        earlier = self._snapshots.get(row.document_id, [])
        times = row.times
        return (
            *(Version(o.digest.hex(), o.first_seen, o.last_seen) for o in earlier),
            Version(row.digest.hex(), times.version_seen, times.last_seen),
        )

    def _distances(self) -> dict[bytes, int]:
        """Return the distance of the relatives that have a fingerprint, where the key has one."""
        rows, generation = self._family.rows, self._snapshot.generation
        if generation is None or self._family.key not in rows:
            return self._noted_distances()
        ids = {key: row.document_id for key, row in rows.items()}
        bits = self._snapshot.scheme.bits
        values = fingerprints.of_documents(
            self._snapshot.connection, bits, generation.generation_id, list(ids.values())
        )
        own = values.get(ids[self._family.key])
        if own is None:
            return self._noted_distances()
        known = {key: values[number] for key, number in ids.items() if number in values}
        found = {key: (value ^ own).bit_count() for key, value in known.items()}
        return self._noted_distances() | found

    def _noted_distances(self) -> dict[bytes, int]:
        """Return the distances that were kept of what was skipped because of the key, or it was."""
        return {k: one.distance for k, one in self._noted_edges() if one.distance is not None}

    def _noted_edges(self) -> list[tuple[bytes, DuplicateRow]]:
        family = self._family
        mine = family.noted.get(family.key)
        found = [(key, one) for key, one in family.noted.items() if one.original_key == family.key]
        if mine is not None and mine.original_key in family.relations:
            found.append((mine.original_key, mine))
        return found

    def _resemblances(self) -> dict[bytes, float]:
        """Return the resemblance of the relatives, where there is something to tell it by."""
        family, snapshot = self._family, self._snapshot
        noted = ((key, one.known_resemblance) for key, one in self._noted_edges())
        found = {key: share for key, share in noted if share is not None}
        own = family.rows.get(family.key)
        found |= {key: 1.0 for key, why in family.relations.items() if why == "same text"}
        asked = {
            row.document_id: row.digest
            for key, row in family.rows.items()
            if key != family.key and family.relations[key] != "same text"
        }
        if own is None or not asked:
            return found
        shingles, sketch = np.empty(0, np.uint64), np.zeros(VALUES, np.uint16)
        if snapshot.settings.text_kept:
            texts = feature_counts.stored_texts(self._snapshot, [own.document_id])
            if not texts:
                raise corrupt(
                    self._snapshot.connection, f"the text of document {own.document_id} is gone"
                )
            shingles = snapshot.channels.sketching.sets(texts.values()).row(0)
        elif snapshot.channels.has_word_sketches:
            held = WORDS.of_documents(
                self._snapshot.connection, snapshot.scheme_id, [own.document_id]
            )
            row = held.get(own.document_id)
            if row is None or not row.packed:
                return found
            # Of the shingles nothing is kept but their number.
            shingles, sketch = np.zeros(row.size, np.uint64), unpack_sketches([row.packed])[0]
        else:
            return found
        verifier = Verifier(snapshot)
        overlaps = verifier.overlaps(shingles, sketch, asked, {})
        keys = {row.document_id: key for key, row in family.rows.items()}
        return found | {keys[number]: one.resemblance for number, one in overlaps.items()}
