"""List recorded duplicates, and release those whose original is removed or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal, cast

from simstore.errors import CorruptStore, InvalidParameter
from simstore.model import Duplicate, DuplicateState
from simstore.search.coverage import coverage
from simstore.services.features.feature_counts import stored_texts
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage import duplicates
from simstore.storage.duplicates import DuplicateRow, ReleasedDuplicates
from simstore.text.decoding import encode, exact_text

STATES = ("flagged", "skipped", "uncovered", "orphaned")
_PAGE = 1_000


def orphan(snapshot: Snapshot, document_ids: Sequence[int]) -> ReleasedDuplicates:
    """Release the duplicates of documents that are removed.

    To be called in the transaction that removes them, before they are deleted. What is flagged
    because of them is so no more, and an original from now on; keys that were skipped because of
    them become orphans.

    Args:
        snapshot: The store in the writer's transaction; the caller commits.
        document_ids: The documents.
    """
    if not document_ids or not snapshot.settings.has_duplicates:
        return ReleasedDuplicates()
    return duplicates.orphan(snapshot.connection, document_ids)


def uncover(snapshot: Snapshot, new_texts: Mapping[int, str]) -> ReleasedDuplicates:
    """Release the duplicates of documents that get other content.

    To be called in the transaction that changes them, before they are written. What is flagged
    because of them is so no more, and an original from now on. Keys that were skipped because of
    them stay duplicates where the new text covers the former one
    (:mod:`simstore.search.coverage`), else they are uncovered.

    Args:
        snapshot: The store in the writer's transaction; the caller commits.
        new_texts: The texts by the documents that get them.
    """
    if not new_texts or not snapshot.settings.has_duplicates:
        return ReleasedDuplicates()
    numbers = sorted(new_texts)
    skipped = duplicates.with_skipped(snapshot.connection, numbers)
    covering = {number for number in skipped if covers(snapshot, new_texts[number], number)}
    return duplicates.uncover(snapshot.connection, numbers, covering)


def covers(snapshot: Snapshot, text: str, document_id: int) -> bool:
    """Return whether a text covers that of a stored document; no if that cannot be read."""
    with suppress(CorruptStore):
        former = stored_texts(snapshot, [document_id]).get(document_id)
        if former is not None:
            return coverage(former, [text], snapshot.scheme.normalization).is_complete
    return False


def iterate_duplicates(
    opened: OpenStore,
    *,
    state: str | None = None,
    original: str | None = None,
    after: str | None = None,
) -> Iterator[Duplicate]:
    """Yield duplicates in the order of their keys; pages of them are read in a snapshot each.

    Args:
        opened: The store.
        state: Only those in this state.
        original: Only those of the document with this key.
        after: Only keys above this one, by their bytes.

    Raises:
        InvalidParameter: There is no such state.
    """
    if state is not None and state not in STATES:
        raise InvalidParameter(f"state {state!r}: choose one of {', '.join(STATES)}")
    wanted = None if original is None else encode(original)
    last = None if after is None else encode(after)
    while True:
        with opened.database.read() as connection:
            rows = duplicates.some(
                connection, state=state, original=wanted, after=last, limit=_PAGE
            )
        yield from map(as_duplicate, rows)
        if len(rows) < _PAGE:
            return
        last = rows[-1].key


def duplicate_of_key(opened: OpenStore, key: str) -> Duplicate | None:
    """Return the duplicate record of a key; None where no check before the insert made one."""
    wanted = encode(key)
    with opened.database.read() as connection:
        row = duplicates.by_keys(connection, [wanted]).get(wanted)
    return None if row is None else as_duplicate(row)


def as_duplicate(row: DuplicateRow) -> Duplicate:
    """Convert a row to the public duplicate record."""
    return Duplicate(
        key=exact_text(row.key),
        digest=row.digest.hex(),
        state=cast(DuplicateState, row.state),
        original=exact_text(row.original_key),
        distance=row.distance,
        resemblance=row.known_resemblance,
        basis=cast(Literal["same", "text", "sketch"], row.basis),
        run_id=row.run_id,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
    )
