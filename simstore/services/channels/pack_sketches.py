"""Pack MinHash sketches: put the bands of sketches into runs of their channel's posting index.

Sketches above the last of the runs are the tail. Another layout is built under a kind of its own,
in transactions of some thousands of sketches; the switch is the record of the scheme's channels. A
killed build is gone on with, or dropped, by the next compaction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.sketching import SketchRecipe, unpack_sketches
from simstore.index import tuning
from simstore.index.bands import band_kind, sketch_entries
from simstore.index.pages import Entries
from simstore.index.postings import PostingIndex
from simstore.model import Progress
from simstore.services.channels import band_choice
from simstore.services.open_store.open_store import OpenStore
from simstore.storage import generations
from simstore.storage.engine import Connection
from simstore.storage.index_pages import drop, kinds, stored_index
from simstore.storage.sketches import SKETCHES, SketchTable

_DROP_PAGES = 20_000


class _Index(NamedTuple):
    """The index of a channel in one transaction."""

    scheme_id: int
    recipe: SketchRecipe
    held: PostingIndex


class _Alive:
    """Says of entries whether their sketches are still there."""

    def __init__(self, connection: Connection, sketches: SketchTable, scheme_id: int) -> None:
        self._connection, self._sketches, self._scheme_id = connection, sketches, scheme_id
        self._range = (1, 0)
        self._numbers = np.empty(0, np.int64)

    def __call__(self, entries: Entries) -> NDArray[np.bool_]:
        numbers = entries.values[:, 0].astype(np.int64)
        if not len(numbers):
            return np.empty(0, np.bool_)
        first, last = int(numbers.min()), int(numbers.max())
        if first < self._range[0] or last > self._range[1]:
            # Entries of a range of keys are of nearly all sketches of their runs.
            self._range = first, last
            self._numbers = self._sketches.alive(self._connection, self._scheme_id, first, last)
        return np.isin(numbers, self._numbers)


def pack_long_tail(opened: OpenStore, name: str) -> bool:
    """Put the tail of a channel into runs where it is long; return whether it was."""
    sketches = SKETCHES[name]
    with opened.database.read() as connection:
        index = _index(opened, connection, name)
        if index is None:
            return False
        # There are no more than numbers were given out: most tails need no counting.
        last, packed_to = sketches.last_number(connection, index.scheme_id), index.held.last
        if last - packed_to <= tuning.TAIL_SKETCHES:
            return False
        tail = sketches.count(connection, index.scheme_id, packed_to)
        packed = index.held.count // index.recipe.layout.bands
    if tail <= tuning.TAIL_SKETCHES:
        return False
    # The cost of look-ups is measured again when the packed sketches have doubled.
    layout = None
    if (packed + tail).bit_length() > packed.bit_length():
        layout = band_choice.affordable_layout(opened, name)
    return _build(opened, name, layout) and (layout is None or _switch(opened, name, layout))


def compact(
    opened: OpenStore,
    name: str,
    layout: BandLayout | None = None,
    on_progress: Progress | None = None,
) -> bool:
    """Put all sketches of a channel into one run, by this layout from now on.

    Returns:
        False where another process has changed the scheme meanwhile.

    Args:
        opened: The store.
        name: The channel.
        layout: The bands; None: those of the store, or of a channel with a choice of them those
            that cost no more than :data:`band_choice.MOST_CANDIDATES`.
        on_progress: Called with sketches packed and sketches to pack.
    """
    sketches = SKETCHES[name]
    with opened.database.read() as connection:
        if _index(opened, connection, name) is None:
            return True
        if layout is not None:
            # The new scheme would not learn of it.
            generations.refuse_during_reindex(connection)
    chosen = layout or band_choice.affordable_layout(opened, name)
    _drop_damaged(opened, name, chosen)
    if not (_build(opened, name, chosen, on_progress) and _switch(opened, name, chosen)):
        return False
    with opened.write() as connection:
        index = _index(opened, connection, name)
        if index is not None:
            scheme_id, held = index.scheme_id, index.held
            count, forms = sketches.counts_up_to(connection, scheme_id, held.last)
            there = count * chosen.bands + forms
            if len(held.runs) > 1 or (held.count - there) * tuning.GONE_SHARE > there:
                held.merge(keep=_Alive(connection, sketches, scheme_id))
    return True


def _index(
    opened: OpenStore, connection: Connection, name: str, layout: BandLayout | None = None
) -> _Index | None:
    """Return the index of a channel by a layout, or the one in use; None: there is no channel."""
    state = opened.state(connection)
    if name not in state.channels.names:
        return None
    recipe = state.channels.recipe(name)
    kind = band_kind(name, layout or recipe.layout)
    held = stored_index(connection, kind, state.scheme_id, opened.cache)
    return _Index(state.scheme_id, recipe, held)


def _build(
    opened: OpenStore, name: str, layout: BandLayout | None, on_progress: Progress | None = None
) -> bool:
    """Put sketches that no run has into runs; return whether the scheme is still the same."""
    sketches, done, scheme_id = SKETCHES[name], 0, None
    while True:
        # Outside the writer's transaction: others wait for it.
        with opened.database.read() as connection:
            index = _index(opened, connection, name, layout)
            if index is None or index.scheme_id != (scheme_id or index.scheme_id):
                return False
            scheme_id, bands = index.scheme_id, layout or index.recipe.layout
            before = index.held.last
            if sketches.last_number(connection, scheme_id) <= before:
                return True
            left = sketches.count(connection, scheme_id, before)
            last, count, entries = _read(opened, connection, index, bands)
        with opened.write() as connection:
            index = _index(opened, connection, name, bands)
            if index is None or index.scheme_id != scheme_id:
                return False
            if index.held.last == before:
                index.held.add(entries, last, _Alive(connection, sketches, scheme_id))
        done += count
        if on_progress is not None:
            on_progress(done, done - count + left)


def _read(
    opened: OpenStore, connection: Connection, index: _Index, bands: BandLayout
) -> tuple[int, int, Entries]:
    """Return the number of the last of some sketches behind the runs, their count and entries."""
    sketches = SKETCHES[index.recipe.name]
    last, count = index.held.last, 0
    parts = [Entries.none(1)]
    for numbers, packed, forms in sketches.read_after(connection, index.scheme_id, last):
        try:
            hashes = band_values(unpack_sketches(packed, index.recipe.sketching), bands)
            parts.append(sketch_entries(numbers, hashes, forms))
        except ValueError as error:
            raise CorruptStore(opened.database.label, str(error)) from error
        last, count = int(numbers[-1]), count + len(numbers)
        if count * bands.bands >= tuning.MERGED_ENTRIES:
            return last, count, Entries.joined(parts)
    # The last ones may be empty.
    return sketches.last_number(connection, index.scheme_id), count, Entries.joined(parts)


def _drop_damaged(opened: OpenStore, name: str, layout: BandLayout) -> None:
    """Drop the runs of a layout where they are damaged: they are made again."""
    with opened.database.read() as connection:
        index = _index(opened, connection, name, layout)
        if index is None:
            return
        is_damaged = bool(problems(index.held))
    if is_damaged:
        drop_runs(opened, index.held.kind.name, index.scheme_id)


def _switch(opened: OpenStore, name: str, layout: BandLayout) -> bool:
    """Look sketches up by a layout from now on, and drop the runs of others."""
    with opened.write() as connection:
        state = opened.state(connection)
        if name not in state.channels.names:
            return False
        if layout != state.channels.recipe(name).layout:
            changed = state.channels.with_layout(name, layout).record()
            generations.set_channels(connection, state.scheme_id, changed)
        others = set(kinds(connection, f"{name} ", state.scheme_id))
    for kind in others - {band_kind(name, layout).name}:
        drop_runs(opened, kind, state.scheme_id)
    return True


def problems(index: PostingIndex) -> list[str]:
    """Return what is wrong with the runs of an index by themselves."""
    try:
        return list(index.check())
    except CorruptStore as error:
        return [error.reason]


def drop_runs(opened: OpenStore, kind: str, scheme_id: int) -> None:
    """Delete the runs of a kind, in short transactions."""
    while True:
        with opened.write() as connection:
            if not drop(connection, kind, scheme_id, _DROP_PAGES):
                return
