"""List and show stored documents, over a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from simstore.client.connection import key_path
from simstore.client.ingest import IngestRequests
from simstore.errors import BadReply, DocumentNotFound, InvalidParameter
from simstore.model import Seen, StoredDocument, StoreStatistics, Story
from simstore.text.decoding import encode, text_digest
from simstore.wire import to_wire_fields

if TYPE_CHECKING:
    from simstore.known_filter import KnownFilter

# Of one request.
_MOST_KEYS = 1_000
_MOST_DOCUMENTS = 1_000
_MOST_TEXTS = 100


class DocumentRequests(IngestRequests):
    """What is stored, and what is known of it."""

    def show(self, key: str, *, with_text: bool = False) -> StoredDocument:
        """Return a document.

        Raises:
            DocumentNotFound: No document has the key.
        """
        return self._as(StoredDocument, self._get(_document(key), {"with_text": _yes(with_text)}))

    def story(self, key: str, *, original: str = "first-seen") -> Story:
        """Return when a key was seen, what is like it, and which of them is the original.

        As :meth:`simstore.Store.story`.
        """
        return self._as(Story, self._get(_document(key), {"story": "true", "original": original}))

    def seen(self, key: str) -> Seen | None:
        """Return what became of a key; None where it was never seen, or was forgotten."""
        return self.seen_many([key])[0]

    def seen_many(self, keys: Sequence[str]) -> list[Seen | None]:
        """Return what became of each key; None where it was never seen, or was forgotten."""
        found: list[Seen | None] = []
        for start in range(0, len(keys), _MOST_KEYS):
            part = list(keys[start : start + _MOST_KEYS])
            value = self._post("/v1/seen", to_wire_fields([("keys", part)]))
            seen = self._as(list[Seen | None], self._member(value, "seen"))
            if len(seen) != len(part):
                raise BadReply(self._url, f"{len(seen)} answers to {len(part)} keys")
            found += seen
        return found

    def seen_content(self, content: str | bytes) -> list[Seen]:
        """Return the keys under which a content was seen, the first seen in front.

        Args:
            content: The text, or its digest: BLAKE2b of its UTF-8, 16 bytes.
        """
        digest = text_digest(encode(content)) if isinstance(content, str) else content
        value = self._post("/v1/seen", {"digest": digest.hex()})
        return self._as(list[Seen], self._member(value, "seen"))

    def documents(
        self,
        *,
        collection: str | None = None,
        limit: int | None = None,
        with_text: bool = False,
    ) -> Iterator[StoredDocument]:
        """Yield the documents in order of ingest.

        They are fetched in parts, each as the store then is.
        """
        page = _MOST_TEXTS if with_text else _MOST_DOCUMENTS
        parameters = {"collection": collection, "with_text": _yes(with_text)}
        for value in self._pages("/v1/documents", "documents", parameters, page=page, limit=limit):
            yield self._as(StoredDocument, value)

    def __iter__(self) -> Iterator[StoredDocument]:
        return self.documents()

    def __len__(self) -> int:
        return self.statistics().document_count

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        try:
            found = self.seen(key)
        except InvalidParameter:
            return False
        return found is not None and found.state in ("stored", "flagged")

    def statistics(self, *, sizes: bool = False) -> StoreStatistics:
        """Return the store in numbers; as :meth:`simstore.Store.statistics`."""
        return self._as(StoreStatistics, self._get("/v1/stats", {"sizes": _yes(sizes)}))

    def known_filter(
        self,
        *,
        false_positive_rate: float = 0.001,
        of: Sequence[str] = ("keys", "digests"),
        capacity: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> KnownFilter:
        """Return a filter of the keys and the texts that the store knows, for a crawler.

        Args:
            false_positive_rate: Largest share of strangers that are taken for known.
            of: ``keys``, ``digests`` (of texts) or both.
            capacity: Keys, and as many texts, that it has room for; None: a quarter more.
            on_progress: Called once, at the end, with members.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        from simstore.known_filter import KnownFilter

        data = self._ask(
            "GET",
            "/v1/filter",
            {"false_positive_rate": false_positive_rate, "of": list(of), "capacity": capacity},
        )
        try:
            found = KnownFilter.from_bytes(data)
        except ValueError as error:
            raise BadReply(self._url, str(error)) from None
        if on_progress is not None:
            count = sum(len(found.table(kind)) for kind in found.of)
            on_progress(count, count)
        return found


def _document(key: str) -> str:
    if not key:
        raise DocumentNotFound(key)
    return f"/v1/documents/{key_path(key)}"


def _yes(wanted: bool) -> str | None:
    return "true" if wanted else None
