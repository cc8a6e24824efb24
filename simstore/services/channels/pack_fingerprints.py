"""Pack fingerprints: move them from plain rows (the tail) into compressed index pages, or back.

Each batch is one transaction after which every fingerprint is in the tail or in pages, so a killed
pack is gone on with by the next one, and answers are the same before, meanwhile and after.
"""

from __future__ import annotations

from simstore.model import Progress
from simstore.services.open_store.open_store import OpenStore
from simstore.storage.fingerprints import fingerprints, segment_pages
from simstore.storage.generations import GenerationRow

# Stores of fewer fingerprints are left unpacked, plain tables that any SQLite shell can query. With
# more, each new one changes a page of each of the tail's indexes that nothing else changes.
WORTH_PACKING = 262_144
# A tail is packed when it is longer than this, and than an eighth of what is packed: so each
# fingerprint is packed a bounded number of times, however large the store grows.
LONG_TAIL = 65_536
_TAIL_SHARE = 8
# Where much is written just now, it may grow to as much as is packed, and to so many.
_BUSY_TAIL = 750_000
# Fingerprints a transaction; more where much is packed, as each batch rewrites most pages.
BATCH_FINGERPRINTS = 1 << 20
_BATCH_SHARE = 2
UNPACK_FINGERPRINTS = 1 << 18


def pack_long_tail(opened: OpenStore, *, is_busy: bool = False) -> bool:
    """Pack where the store is large and the tail long; return whether it was.

    Args:
        opened: The store.
        is_busy: Much is written just now: the tail may be longer.
    """
    with opened.database.read() as connection:
        state = opened.state(connection)
    if state.generation is None or not is_long(
        state.generation, state.scheme.bits, is_busy=is_busy
    ):
        return False
    pack(opened)
    return True


def longest_tail(packed_count: int, *, is_busy: bool = False) -> int:
    """Return the longest tail allowed beside a number of packed fingerprints.

    Args:
        packed_count: Fingerprints, or sketches, that are packed.
        is_busy: Much is written just now.
    """
    longest = max(LONG_TAIL, packed_count // _TAIL_SHARE)
    if is_busy:
        longest = max(longest, min(packed_count, _BUSY_TAIL))
    return longest


def is_long(
    row: GenerationRow, bits: int, more: int = 0, *, at_once: bool = False, is_busy: bool = False
) -> bool:
    """Return whether a tail is to be packed.

    Args:
        row: The generation.
        bits: Fingerprint length M.
        more: Fingerprints that are about to be added to it.
        at_once: However small the store is.
        is_busy: Much is written just now.
    """
    tail = row.fingerprint_count - row.packed_count + more
    return (
        segment_pages.is_packable(bits)
        and (at_once or row.fingerprint_count + more >= WORTH_PACKING)
        and tail > longest_tail(row.packed_count, is_busy=is_busy)
    )


def pack(opened: OpenStore, on_progress: Progress | None = None) -> None:
    """Put the fingerprints of the tail into pages, if those of the store's length have any.

    Args:
        opened: The store.
        on_progress: Called with fingerprints packed and in all.
    """
    while True:
        with opened.write() as connection:
            state = opened.state(connection)
            bits, row = state.scheme.bits, state.generation
            if row is None or not segment_pages.is_packable(bits):
                return
            limit = max(BATCH_FINGERPRINTS, row.packed_count // _BATCH_SHARE)
            moved = fingerprints.pack_some(connection, bits, row, limit)
        if not moved:
            return
        if on_progress is not None:
            on_progress(row.packed_count + moved, row.fingerprint_count)


def unpack(opened: OpenStore, on_progress: Progress | None = None) -> None:
    """Put the fingerprints of the pages back into the tail.

    Args:
        opened: The store.
        on_progress: Called with fingerprints unpacked and in all.
    """
    while True:
        with opened.write() as connection:
            state = opened.state(connection)
            row = state.generation
            if row is None or not row.packed_count:
                return
            limit = max(UNPACK_FINGERPRINTS, row.packed_count // _BATCH_SHARE)
            moved = fingerprints.unpack_some(connection, state.scheme.bits, row, limit)
        if not moved:
            return
        if on_progress is not None:
            left = row.packed_count - moved
            on_progress(row.fingerprint_count - left, row.fingerprint_count)
