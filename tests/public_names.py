"""Every name that programs import from ``simstore``: its own, and those that its rooms show."""

from __future__ import annotations

import simstore
from simstore.store.opened import NamespaceAttribute

ROOMS = {"errors", "types"}


def names_of_room(room: str) -> set[str]:
    """Return the types that a room shows."""
    shown = getattr(simstore, room)
    own = getattr(shown, "__all__", None) or dir(shown)
    return {name for name in own if name[0].isupper() and not name.isupper()}


NAMES = sorted({*simstore.__all__}.union(*map(names_of_room, ROOMS)) - ROOMS)
# Public methods of a store's namespaces, as ``clusters.Clusters.build``, under their first names.
METHODS = sorted(
    f"{name}.{kind.__name__}.{method}"
    for name, attribute in vars(simstore.Store).items()
    if isinstance(attribute, NamespaceAttribute)
    for kind in [getattr(simstore.Store, name)]
    for method in dir(kind)
    if method[0] != "_" and getattr(getattr(kind, method), "__name__", method) == method
)
