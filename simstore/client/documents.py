"""``Client`` methods for stored documents: list, get and remove them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack, overload

from simstore.client.connection import document_path, flag
from simstore.client.ingest import IngestRequests
from simstore.errors import BadReply, DocumentNotFound, InvalidParameter
from simstore.model import (
    DocumentFilter,
    DocumentFilterKeywords,
    Results,
    Seen,
    StoredDocument,
    StoreStatistics,
    Stream,
    with_keywords,
)
from simstore.sources.documents import keys_of
from simstore.text.decoding import digest_given, encode, text_digest
from simstore.wire import to_wire_fields

# Of one request.
_MOST_KEYS = 1_000
_MOST_DOCUMENTS = 1_000
_MOST_TEXTS = 100


@dataclass(frozen=True, slots=True)
class _Removed:
    """The reply to a removal: the number removed, and the keys orphaned or unflagged."""

    removed: int
    orphans: tuple[str, ...] = ()
    unflagged: tuple[str, ...] = ()


class DocumentRequests(IngestRequests, of="Client"):
    """``Client`` methods that get, list, count and remove documents."""

    def get(self, key: str, *, with_text: bool = True) -> StoredDocument:
        """Return a document.

        Raises:
            DocumentNotFound: No document has the key.
        """
        return self._as(
            StoredDocument, self._get(document_path(key), {"with_text": flag(with_text)})
        )

    @overload
    def seen(self, key: str) -> Seen | None: ...
    @overload
    def seen(self, key: builtins.list[str] | tuple[str, ...]) -> builtins.list[Seen | None]: ...
    @overload
    def seen(self, *, text: str) -> Results[Seen]: ...
    @overload
    def seen(self, *, digest: str | bytes) -> Results[Seen]: ...

    def seen(
        self,
        key: str | builtins.list[str] | tuple[str, ...] | None = None,
        *,
        text: str | None = None,
        digest: str | bytes | None = None,
    ) -> Seen | builtins.list[Seen | None] | Results[Seen] | None:
        """Return the state of a key, of several keys, or of a text.

        As :meth:`simstore.Store.seen`.
        """
        if sum(given is not None for given in (key, text, digest)) != 1:
            raise InvalidParameter("seen: give a key, keys, text=... or digest=...")
        if isinstance(key, str):
            return self._seen([key])[0]
        if key is not None:
            return self._seen(key)
        wanted = text_digest(encode(text)) if text is not None else digest_given(digest or b"")
        value = self._post("/v1/seen", {"digest": wanted.hex()})
        return Results(self._as(builtins.list[Seen], self._member(value, "seen")), of=Seen)

    def _seen(self, keys: Sequence[str]) -> builtins.list[Seen | None]:
        found: builtins.list[Seen | None] = []
        for start in range(0, len(keys), _MOST_KEYS):
            part = builtins.list(keys[start : start + _MOST_KEYS])
            value = self._post("/v1/seen", to_wire_fields([("keys", part)]))
            seen = self._as(builtins.list[Seen | None], self._member(value, "seen"))
            if len(seen) != len(part):
                raise BadReply(self._url, f"{len(seen)} answers to {len(part)} keys")
            found += seen
        return found

    def list(
        self,
        *,
        limit: int | None = None,
        with_text: bool = True,
        run_id: int | None = None,
        **wanted: Unpack[DocumentFilterKeywords],
    ) -> Stream[StoredDocument]:
        """Yield the documents in order of ingest.

        As :meth:`simstore.Store.list`. They are fetched in parts, each as the
        store then is.
        """
        page = _MOST_TEXTS if with_text else _MOST_DOCUMENTS
        chosen = with_keywords("list", DocumentFilter, None, wanted).chosen
        parameters = {**chosen, "with_text": flag(with_text), "run_id": run_id}
        pages = self._pages("/v1/documents", "documents", parameters, page=page, limit=limit)
        return Stream((self._as(StoredDocument, one) for one in pages), of=StoredDocument)

    def __getitem__(self, key: str) -> StoredDocument:
        return self.get(key)

    def __iter__(self) -> Iterator[StoredDocument]:
        return self.list()

    def __len__(self) -> int:
        return self.stats().document_count

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        try:
            found = self.seen(key)
        except InvalidParameter:
            return False
        return found is not None and found.state in ("stored", "flagged")

    def stats(self, *, sizes: bool = False) -> StoreStatistics:
        """Return the store in numbers; as :meth:`simstore.Store.stats`."""
        return self._as(StoreStatistics, self._get("/v1/stats", {"sizes": flag(sizes)}))

    def remove(
        self,
        *keys: str | Iterable[str],
        missing_ok: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
        on_orphan: Callable[[str], None] | None = None,
        on_unflagged: Callable[[str], None] | None = None,
    ) -> int:
        """Remove documents; return how many there were.

        They are removed in requests that are durable one by one.

        Args:
            keys: Keys; a repeated one counts once.
            missing_ok: Pass over keys that are not there.
            on_progress: Called with keys done and in all.
            on_orphan: Called with each key that was skipped as a duplicate of
                one that is removed.
            on_unflagged: Called with each key that stays, and was flagged as a
                duplicate of one that is removed.

        Raises:
            DocumentNotFound: A key is not there; then nothing is removed.
        """
        wanted = list(dict.fromkeys(keys_of(keys)))
        if len(wanted) > _MOST_KEYS and not missing_ok:
            for key, seen in zip(wanted, self.seen(wanted), strict=True):
                if seen is None or seen.state not in ("stored", "flagged"):
                    raise DocumentNotFound(key)
        removed = 0
        for start in range(0, len(wanted), _MOST_KEYS):
            part = wanted[start : start + _MOST_KEYS]
            parameters = {**to_wire_fields([("keys", part)]), "missing_ok": missing_ok}
            told = self._as(_Removed, self._post("/v1/remove", parameters))
            removed += told.removed
            for told_to, names in ((on_orphan, told.orphans), (on_unflagged, told.unflagged)):
                if told_to is not None:
                    for name in names:
                        told_to(name)
            if on_progress is not None:
                on_progress(start + len(part), len(wanted))
        return removed
