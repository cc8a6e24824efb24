"""The faces of simstore: one driver each, with one method per verb of the contract.

Cases use neutral names. Names of options, layouts of JSON and messages stand here and in no case.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Neutral names of options, and those of Python and HTTP; a name that is not here is the same.
OPTIONS = {"resemblance": "min_resemblance", "containment": "min_containment"}
KINDS = {2: "usage", 3: "not_found", 4: "conflict", 5: "bad_input", 6: "storage"}
# HTTP statuses that fit a kind of error.
STATUSES = {
    "usage": {400, 422, 501},
    "denied": {401, 403},
    "not_found": {404},
    "conflict": {409},
    "bad_input": {400, 413, 415, 422},
    "storage": {500, 502, 503, 504, 507},
}
MATCH = {
    "key": "key",
    "distance": "distance",
    "resemblance": "resemblance",
    "containment": "containment",
    "channels": "channels",
    "basis": "basis",
    "title": "title",
}
DOCUMENT = {
    "key": "key",
    "text": "text",
    "title": "title",
    "collection": "collection",
    "metadata": "metadata",
    "revision": "revision",
    "bytes": "byte_count",
    "fingerprint": "fingerprint",
    "original": "duplicate_of",
    "first_seen": "first_seen",
    "last_seen": "last_seen",
}
DUPLICATE = {name: name for name in ("key", "original", "state", "distance", "resemblance")}
COUNTS = {
    "added": "added",
    "updated": "updated",
    "unchanged": "unchanged",
    "flagged": "flagged",
    "skipped": "skipped",
    "rejected": "rejected",
    "same_text": "identical_texts",
}


class FaceError(Exception):
    """An error as HTTP or the command line shows it."""

    def __init__(self, kind: str, said: str, status: int | None = None) -> None:
        super().__init__(f"{kind}: {said}")
        self.kind = kind
        self.status = status


class Face:
    """What all drivers have in common.

    Attributes:
        place: The store, as this face names it.
        folder: The current folder of the case.
        shown: What the last call showed besides its result: ``exit`` or ``status``.
    """

    def __init__(self, place: str, folder: Path) -> None:
        self.place = place
        self.folder = folder
        self.shown: dict[str, int] = {}

    def close(self) -> None:
        """Release what the face holds."""


def renamed(options: dict[str, Any]) -> dict[str, Any]:
    """Return options under the names of Python and HTTP."""
    return {OPTIONS.get(name, name): value for name, value in options.items()}


def picked(record: Any, names: dict[str, str]) -> dict[str, Any]:
    """Return fields of a record or an object under their neutral names."""
    if not isinstance(record, dict):
        record = {one: getattr(record, one) for one in names.values() if hasattr(record, one)}
    found = {name: record[one] for name, one in names.items() if one in record}
    if isinstance(found.get("channels"), tuple):
        found["channels"] = list(found["channels"])
    return found
