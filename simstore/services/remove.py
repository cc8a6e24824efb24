"""Remove documents and everything that stands for them."""

from __future__ import annotations

from collections.abc import Sequence

from simstore.errors import DocumentNotFound
from simstore.services import counting
from simstore.services.opened import OpenStore
from simstore.services.refresh import Progress, refresh
from simstore.storage import documents, fingerprints, generations
from simstore.text.decoding import encode

BATCH_DOCUMENTS = 1_000


def remove_documents(
    opened: OpenStore,
    keys: Sequence[str],
    *,
    refresh_after: bool = True,
    on_refresh: Progress | None = None,
) -> int:
    """Remove the documents with these keys; return how many there were.

    Args:
        opened: The store.
        keys: Keys; a repeated one counts once.
        refresh_after: Refresh a live store at the end.
        on_refresh: Called while the store is refreshed, with documents done and in all.

    Raises:
        DocumentNotFound: A key is not there; then nothing is removed.
        ReindexInProgress: The store is between two schemes.
    """
    wanted = list(dict.fromkeys(encode(key) for key in keys))
    with opened.database.read() as connection:
        opened.state(connection)
        found = documents.by_keys(connection, wanted)
    for key in wanted:
        if key not in found:
            raise DocumentNotFound(key.decode("utf-8", "surrogateescape"))
    removed = 0
    for part in documents.chunks(wanted, BATCH_DOCUMENTS):
        with opened.write() as connection:
            generations.refuse_during_reindex(connection)
            state = opened.state(connection)
            rows = documents.by_keys(connection, part)
            ids = sorted(row.document_id for row in rows.values())
            if not ids:
                continue
            counting.change_vocabulary(opened, connection, state, removed=ids)
            fingerprints.unlink_many(connection, ids)
            documents.delete_many(connection, ids)
            generations.note_change(connection)
            removed += len(ids)
    with opened.database.read() as connection:
        state = opened.state(connection)
    if refresh_after and state.settings.policy == "live" and not state.is_fresh:
        refresh(opened, on_progress=on_refresh)
    return removed
