"""Every name that programs import from ``simstore``: its own, and those that its rooms show."""

from __future__ import annotations

import simstore

ROOMS = {"errors", "options", "protocol", "results"}


def names_of_room(room: str) -> set[str]:
    """Return the types that a room shows."""
    shown = getattr(simstore, room)
    own = getattr(shown, "__all__", None) or dir(shown)
    return {name for name in own if name[0].isupper()}


NAMES = sorted({*simstore.__all__}.union(*map(names_of_room, ROOMS)) - ROOMS)
