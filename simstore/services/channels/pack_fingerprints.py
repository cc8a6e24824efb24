"""Pack fingerprints: move them from plain rows (the tail) into runs of the index, or back.

Each batch is one transaction after which every fingerprint is in the tail or in a run, so a killed
pack is gone on with by the next one, and answers are the same before, meanwhile and after.
"""

from __future__ import annotations

from simstore.index import tuning
from simstore.model import Progress
from simstore.services.open_store.open_store import OpenStore
from simstore.storage.fingerprints import fingerprints, packed
from simstore.storage.generations import GenerationRow

# Fingerprints a transaction.
BATCH_FINGERPRINTS = 1 << 20


def pack_long_tail(opened: OpenStore) -> bool:
    """Pack where the store is large and the tail long; return whether it was."""
    with opened.database.read() as connection:
        state = opened.state(connection)
    if state.generation is None or not is_long(state.generation, state.scheme.bits):
        return False
    pack(opened)
    return True


def is_long(row: GenerationRow, bits: int, more: int = 0, *, at_once: bool = False) -> bool:
    """Return whether a tail is to be packed.

    Args:
        row: The generation.
        bits: Fingerprint length M.
        more: Fingerprints that are about to be added to it.
        at_once: However small the store is.
    """
    return (
        packed.is_packable(bits)
        and (at_once or row.fingerprint_count + more >= tuning.COLUMN_FINGERPRINTS)
        and row.fingerprint_count - row.packed_count + more > tuning.TAIL_FINGERPRINTS
    )


def pack(opened: OpenStore, on_progress: Progress | None = None, *, whole: bool = False) -> None:
    """Put the fingerprints of the tail into a run, if those of the store's length have any.

    Args:
        opened: The store.
        on_progress: Called with fingerprints packed and in all.
        whole: Make one run of all runs.
    """
    while True:
        with opened.write() as connection:
            state = opened.state(connection)
            bits, row = state.scheme.bits, state.generation
            if row is None or not packed.is_packable(bits):
                return
            moved = fingerprints.pack_some(connection, bits, row, BATCH_FINGERPRINTS)
            if not moved:
                if whole:
                    packed.merge(connection, bits, row.generation_id)
                return
        if on_progress is not None:
            on_progress(row.packed_count + moved, row.fingerprint_count)


def unpack(opened: OpenStore, on_progress: Progress | None = None) -> None:
    """Put the fingerprints of the runs back into the tail, in one transaction.

    Args:
        opened: The store.
        on_progress: Called with fingerprints unpacked and in all.
    """
    with opened.write() as connection:
        state = opened.state(connection)
        row = state.generation
        if row is None or not row.packed_count:
            return
        fingerprints.unpack(connection, state.scheme.bits, row)
    if on_progress is not None:
        on_progress(row.fingerprint_count, row.fingerprint_count)
