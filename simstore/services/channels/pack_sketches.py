"""Pack MinHash sketches: write the LSH bands of all sketches into new compressed index pages.

All sketches are packed anew beside the standing layout, a band a transaction, and one switch
follows. A killed pack leaves a layout under construction, which the next one drops.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.sketching import unpack_sketches
from simstore.model import Progress
from simstore.search.bands import key_bits, pages
from simstore.services.channels import band_choice, pack_fingerprints
from simstore.services.open_store.open_store import OpenStore, now
from simstore.storage import generations
from simstore.storage.engine import Connection
from simstore.storage.sketches import SKETCHES, LayoutRow, SketchTables

# Pages hold the numbers of sketches that are gone until they are made anew: where one in so many
# is gone.
_GONE_SHARE = 20
_DROP_PAGES = 20_000
# Sketches whose band hashes are held at a time, times the bands that are held of each: an entry
# takes about 60 bytes while its pages are made.
_HELD_HASHES = 6 << 20


def pack_long_tail(opened: OpenStore, name: str, *, is_busy: bool = False) -> bool:
    """Pack the sketches of a channel where their tail is long; return whether it was.

    Args:
        opened: The store.
        name: The channel.
        is_busy: Much is written just now: the tail may be longer, so that less is packed anew.
    """
    sketches = SKETCHES[name]
    with opened.database.read() as connection:
        state = opened.state(connection)
        if name not in state.channels.names:
            return False
        scheme_id = state.scheme_id
        standing = sketches.layout(connection, scheme_id)
        packed_to = standing.packed_to if standing else 0
        packed_count = standing.packed_count if standing else 0
        longest = pack_fingerprints.longest_tail(packed_count, is_busy=is_busy)
        # There are no more than numbers were given out: most tails need no counting.
        if sketches.last_number(connection, scheme_id) - packed_to <= longest:
            return False
        tail = sketches.count(connection, scheme_id, packed_to)
    return tail > longest and pack(opened, name)


def pack_tail(
    opened: OpenStore,
    name: str,
    layout: BandLayout | None = None,
    on_progress: Progress | None = None,
) -> bool:
    """Pack where there is a tail, the layout is another than asked for, or many sketches are gone.

    Returns:
        False where another process packs or has changed the scheme meanwhile.
    """
    sketches = SKETCHES[name]
    with opened.database.read() as connection:
        state = opened.state(connection)
        standing = sketches.layout(connection, state.scheme_id)
        packed_to = standing.packed_to if standing else 0
        tail = sketches.count(connection, state.scheme_id, packed_to)
        packed_count = standing.packed_count if standing else 0
        gone = packed_count - (sketches.count(connection, state.scheme_id) - tail)
    other = layout is not None and (standing is None or standing.layout != layout)
    many_gone = gone * _GONE_SHARE > packed_count
    if name not in state.channels.names or not (tail or other or many_gone):
        return True
    return pack(opened, name, layout, on_progress)


def pack(
    opened: OpenStore,
    name: str,
    layout: BandLayout | None = None,
    on_progress: Progress | None = None,
) -> bool:
    """Pack all sketches, by this layout from now on.

    Returns:
        False where another process packs or has changed the scheme meanwhile.

    Args:
        opened: The store.
        name: The channel.
        layout: The bands; None: those of the store, or of a channel with a choice of them those
            that cost no more than :data:`band_choice.MOST_CANDIDATES`.
        on_progress: Called with bands done and bands in all.
    """
    sketches = SKETCHES[name]
    with opened.database.read() as connection:
        channels = opened.state(connection).channels
    if name not in channels.names:
        return True
    recipe = channels.recipe(name)
    has_choice = layout is None and len(recipe.sketching.layouts) > 1
    cheap = band_choice.affordable_layout(opened, name) if has_choice else None
    with opened.write() as connection:
        state = opened.state(connection)
        if name not in state.channels.names:
            return True
        if layout is not None:
            # The new scheme would not learn of it.
            generations.refuse_during_reindex(connection)
        scheme_id = state.scheme_id
        standing = sketches.layout(connection, scheme_id)
        chosen = layout or cheap or (standing.layout if standing else recipe.layout)
        changed = state.channels.with_layout(name, chosen)
        sketches.set_layout_status(connection, scheme_id, "building", "retired")
        count = sketches.count(connection, scheme_id)
        building = sketches.add_layout(
            connection,
            scheme_id,
            chosen,
            key_bits=key_bits(count),
            packed_to=sketches.last_number(connection, scheme_id),
            packed_count=count,
            created_at=now(),
        )
    together = max(_HELD_HASHES // max(count, 1), 1)
    # A band of more sketches than are held is made in parts: pages whose numbers begin alike.
    part_bits = min((max(count - 1, 0) // _HELD_HASHES).bit_length(), building.key_bits)
    for first in range(0, chosen.bands, together):
        end = min(first + together, chosen.bands)
        for part in range(1 << part_bits):
            numbers, hashes = _bands(
                opened, name, scheme_id, building, (first, end), (part, part_bits)
            )
            for place in range(first, end):
                # Before the transaction: others wait for it.
                made = list(pages(hashes[:, place - first], numbers, place, building.key_bits))
                with opened.write() as connection:
                    if not _is_building(connection, sketches, scheme_id, building):
                        return False
                    sketches.put_pages(connection, building.layout_id, made)
                if on_progress is not None and part == (1 << part_bits) - 1:
                    on_progress(place + 1, chosen.bands)
    with opened.write() as connection:
        if not _is_building(connection, sketches, scheme_id, building):
            return False
        sketches.set_layout_status(connection, scheme_id, "standing", "retired")
        sketches.set_layout_status(connection, scheme_id, "building", "standing")
        if chosen != state.channels.recipe(name).layout:
            # Those of the scheme that was packed: it still stands.
            generations.set_channels(connection, scheme_id, changed.record())
            opened.forget_schemes()
    drop_retired_pages(opened, name)
    return True


def _bands(
    opened: OpenStore,
    name: str,
    scheme_id: int,
    building: LayoutRow,
    places: tuple[int, int],
    part: tuple[int, int],
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the numbers of the sketches to pack, and their hashes of some bands.

    Args:
        opened: The store.
        name: The channel.
        scheme_id: The scheme.
        building: The layout under construction.
        places: The first band, and that after the last.
        part: Leading bits of a hash, and how many: others are left out. 0, 0: all are taken; with
            more bits there is one band.
    """
    first, end = places
    leading, bits = part
    rows = building.layout.rows
    some_numbers: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    some_hashes: list[NDArray[np.uint64]] = [np.empty((0, end - first), np.uint64)]
    with opened.database.read() as connection:
        sketching = opened.state(connection).channels.recipe(name).sketching
        every = SKETCHES[name].read_after(connection, scheme_id, 0, building.packed_to)
        for numbers, packed in every:
            try:
                values = unpack_sketches(packed, sketching)
            except ValueError as error:
                raise CorruptStore(opened.database.label, str(error)) from error
            # The hash of a band does not depend on its place.
            hashes = band_values(
                values[:, first * rows : end * rows], BandLayout(end - first, rows)
            )
            if bits:
                is_of_part = hashes[:, 0] >> np.uint64(64 - bits) == leading
                numbers, hashes = numbers[is_of_part], hashes[is_of_part]
            some_numbers.append(numbers)
            some_hashes.append(hashes)
    return np.concatenate(some_numbers), np.concatenate(some_hashes)


def _is_building(
    connection: Connection, sketches: SketchTables, scheme_id: int, building: LayoutRow
) -> bool:
    """Return whether the layout is still to be made, and its scheme stands."""
    found = sketches.layout(connection, scheme_id, "building")
    standing = generations.scheme_with_status(connection, "standing")
    return (
        found is not None
        and found.layout_id == building.layout_id
        and standing is not None
        and standing[0] == scheme_id
    )


def drop_retired_pages(opened: OpenStore, name: str) -> None:
    """Delete the pages of retired layouts, in short transactions."""
    while True:
        with opened.write() as connection:
            if not SKETCHES[name].drop_retired_pages(connection, _DROP_PAGES):
                return
