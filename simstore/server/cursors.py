"""Encode and decode opaque pagination cursors, which name the next page of a list."""

from __future__ import annotations

import base64
import binascii

from simstore.errors import MalformedRequest
from simstore.model import ClusterMerge, Duplicate, StoredCluster
from simstore.text.decoding import encode

_PLACE = "query.after"


def cursor_of(listed: StoredCluster | ClusterMerge | Duplicate) -> str:
    """Return the cursor for the position after an item of a list."""
    if isinstance(listed, Duplicate):
        return _cursor("k", encode(listed.key))
    return _cursor("c", str(listed.cluster_id).encode())


def key_of(cursor: str | None) -> str | None:
    """Return the key behind which a page of a list by keys begins; None: at the beginning.

    Raises:
        MalformedRequest: It is no cursor of such a list.
    """
    return None if cursor is None else _place(cursor, "k").decode("utf-8", "surrogateescape")


def number_of(cursor: str | None, largest: int) -> int:
    """Return the number behind which a page of a list by numbers begins; 0: at the beginning.

    Raises:
        MalformedRequest: It is no cursor of such a list.
    """
    if cursor is None:
        return 0
    digits = _place(cursor, "c")
    if not digits.isdigit() or len(digits) > len(str(largest)) or int(digits) > largest:
        raise _unknown()
    return int(digits)


def _cursor(kind: str, place: bytes) -> str:
    return kind + base64.urlsafe_b64encode(place).decode().rstrip("=")


def _place(cursor: str, kind: str) -> bytes:
    coded = cursor[1:]
    try:
        if cursor[:1] != kind:
            raise _unknown()
        padded = coded + "=" * (-len(coded) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _unknown() from None


def _unknown() -> MalformedRequest:
    return MalformedRequest(_PLACE, "give what the page before has as next, or nothing")
