"""Choose the bands of a channel by what look-ups cost in the store at hand.

The more values a band has, the fewer stored texts agree with a sample by chance, and the fewer of
those that resemble it are found. How many agree by chance depends on the texts and grows with their
number, so it is measured, in a sample of the sketches themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.sketching import unpack_sketches
from simstore.services.open_store.open_store import OpenStore
from simstore.storage.engine import Connection
from simstore.storage.sketches import SKETCHES, SketchTable

# Candidates by chance that a look-up may have, on average.
MOST_CANDIDATES = 100
# Sketches that are looked up, those among which they are, and from how many places these come.
_ASKED, _AMONG, _PARTS = 200, 20_000, 8
# Pairs whose sketches agree in so large a share of values are alike, and no chance.
_ALIKE = 0.2


def affordable_layout(opened: OpenStore, name: str) -> BandLayout:
    """Return the bands that find most of those that cost no more than they may.

    A channel without a choice has those that it has.

    Args:
        opened: The store.
        name: A channel of sketches; the ``layouts`` of its recipe are the choice.

    Returns:
        The last of them where all cost more.

    Raises:
        CorruptStore: A sketch is damaged.
    """
    with opened.database.read() as connection:
        state = opened.state(connection)
        recipe = state.channels.recipe(name)
        layouts = recipe.sketching.layouts
        if len(layouts) == 1:
            return recipe.layout
        count = SKETCHES[name].count(connection, state.scheme_id)
        # No more texts can agree than there are.
        if count <= MOST_CANDIDATES:
            return layouts[0]
        blobs = _sample(connection, SKETCHES[name], state.scheme_id, count)
    try:
        sketches = unpack_sketches(blobs, recipe.sketching)
    except ValueError as error:
        raise CorruptStore(opened.database.label, str(error)) from error
    asked = sketches[:: max(len(sketches) // _ASKED, 1)][:_ASKED]
    for layout in layouts[:-1]:
        if chance_share(asked, sketches, layout) * count <= MOST_CANDIDATES:
            return layout
    return layouts[-1]


def chance_share(asked: NDArray[np.uint8], others: NDArray[np.uint8], layout: BandLayout) -> float:
    """Return the share of pairs of sketches that agree in a band, but are not alike.

    Args:
        asked: Some of the others, shape (n, values).
        others: Sketches, shape (m, values).
        layout: The bands.
    """
    if not len(asked) or not len(others):
        return 0.0
    own, bands = band_values(asked, layout), band_values(others, layout)
    found = 0
    for row, sketch in zip(own, asked, strict=True):
        agree = np.zeros(len(others), np.bool_)
        for place in range(layout.bands):
            agree |= bands[:, place] == row[place]
        shares = (others[agree] == sketch).mean(axis=1)
        found += int((shares < _ALIKE).sum())
    return found / (len(asked) * len(others))


def _sample(connection: Connection, tables: SketchTable, scheme_id: int, count: int) -> list[bytes]:
    """Return sketches from all over the store, the same ones each time."""
    last = tables.last_number(connection, scheme_id)
    found: list[bytes] = []
    for part in range(_PARTS):
        first, end = last * part // _PARTS, last * (part + 1) // _PARTS
        _, blobs, _ = next(tables.read_after(connection, scheme_id, first, end), ([], [], []))
        found += blobs[:: max(min(count, _PARTS * len(blobs)) // _AMONG, 1)]
    return found
