"""Look up whether a key or a text was seen before, and whether it was stored or skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from simstore.model import Seen, SeenState
from simstore.services.open_store.open_store import OpenStore
from simstore.storage import duplicates, history
from simstore.storage.duplicates import DuplicateRow
from simstore.storage.engine import Connection
from simstore.storage.history import SightRow
from simstore.text.decoding import encode, exact_text, text_digest


def look_up_keys(opened: OpenStore, keys: Sequence[str]) -> list[Seen | None]:
    """Return the present state of each key; None where it was never seen."""
    wanted = [encode(key) for key in keys]
    distinct = sorted(set(wanted))
    with opened.database.read() as connection:
        rows = {row.key: row for row in history.sights_of_keys(connection, distinct)}
        noted = duplicates.by_keys(connection, distinct)
    return [_seen(rows.get(key), noted.get(key)) for key in wanted]


def look_up_content(opened: OpenStore, digest: bytes) -> list[Seen]:
    """Return the keys under which a text was seen, the first seen in front.

    Args:
        opened: The store.
        digest: BLAKE2b-128 of the text in UTF-8.
    """
    with opened.database.read() as connection:
        rows = {row.key: row for row in history.sights_of_digest(connection, digest)}
        noted = _duplicates(connection, digest, list(rows))
    found = [_seen(rows.get(key), noted.get(key)) for key in rows.keys() | noted.keys()]
    return sorted(
        (one for one in found if one is not None), key=lambda one: (one.first_seen, one.key)
    )


def digest_of(text: str) -> bytes:
    """Return the digest that identifies a text."""
    return text_digest(encode(text))


def _duplicates(
    connection: Connection, digest: bytes, keys: Sequence[bytes]
) -> dict[bytes, DuplicateRow]:
    noted = duplicates.by_keys(connection, keys)
    noted.update((row.key, row) for row in duplicates.by_digest(connection, digest))
    return noted


def _seen(row: SightRow | None, noted: DuplicateRow | None) -> Seen | None:
    """Return what became of a key by its document and by what it duplicates."""
    if row is not None:
        state = "stored" if noted is None else "flagged"
        held: SightRow | DuplicateRow = row
    elif noted is not None:
        state, held = noted.state, noted
    else:
        return None
    return Seen(
        key=exact_text(held.key),
        state=cast(SeenState, state),
        original=None if noted is None else exact_text(noted.original_key),
        digest=held.digest.hex(),
        first_seen=held.first_seen,
        last_seen=held.last_seen,
    )
