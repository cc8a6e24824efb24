"""Check the duplicates on record."""

from __future__ import annotations

from collections.abc import Iterator

from simstore.errors import printable
from simstore.storage import documents, duplicates
from simstore.storage.engine import Connection
from simstore.text.decoding import exact_text

_PAGE = 1_000


def duplicate_problems(connection: Connection) -> Iterator[str]:
    """Compare the duplicates with the documents.

    A flagged key is that of its document, with the same text; a skipped or orphaned key has none.
    What is flagged or skipped has an original that is stored, is another document, and goes by the
    key that is noted; an orphan has none. The original of a flagged one is not flagged itself; that
    of a skipped one may be, where an earlier original of it came later. Where the two have the same
    text, the row says so.
    """
    after: bytes | None = None
    while True:
        rows = duplicates.some(connection, state=None, original=None, after=after, limit=_PAGE)
        held = documents.by_keys(connection, [row.key for row in rows])
        originals = sorted({row.original_id for row in rows if row.original_id is not None})
        keys = documents.keys_of(connection, originals)
        digests = {
            number: digest
            for number, (digest, _) in documents.sizes_of(connection, originals).items()
        }
        flagged = duplicates.flagged_among(connection, originals)
        for row in rows:
            name = repr(printable(exact_text(row.key)))
            document = held.get(row.key)
            if row.state == "flagged":
                if document is None or row.document_id != document.document_id:
                    yield f"{name} is flagged, and no document of this key is meant"
                elif row.digest != document.digest:
                    yield f"{name} is flagged, and its document has another text"
            elif document is not None or row.document_id is not None:
                yield f"{name} is {row.state}, and stored too"
            if row.state == "orphaned":
                if row.original_id is not None:
                    yield f"{name} is an orphan, and has an original"
            elif row.original_id is None:
                yield f"{name} is {row.state}, and has no original"
            elif row.original_id == row.document_id:
                yield f"{name} is its own original"
            elif row.original_id in flagged and row.state == "flagged":
                yield f"{name} is flagged because of a document that is flagged itself"
            elif keys.get(row.original_id) != row.original_key:
                yield f"{name} names another original than it has"
            elif (digests.get(row.original_id) == row.digest) != (row.basis == "same"):
                yield f"{name} is said to be found by {row.basis!r}, and its original's text " + (
                    "is another" if row.basis == "same" else "is the same"
                )
            elif row.basis == "same" and (row.resemblance != 1 or row.distance):
                yield f"{name} has the text of its original, and is said to differ from it"
        if len(rows) < _PAGE:
            return
        after = rows[-1].key
