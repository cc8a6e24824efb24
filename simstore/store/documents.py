"""``Store`` methods that get, list, count and export documents."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack, overload

from simstore.errors import InvalidParameter, check_numbers
from simstore.model import (
    DocumentFilter,
    DocumentFilterKeywords,
    Results,
    Seen,
    StoredDocument,
    Stream,
    with_keywords,
)
from simstore.storage import documents
from simstore.store.opened import Opened
from simstore.text.decoding import digest_given, encode

if TYPE_CHECKING:
    from simstore.model import Progress, StoreStatistics
    from simstore.services.export.export import ExportKeywords, ExportOptions, ExportSummary


class Documents(Opened, of="Store"):
    """``Store`` methods that get, list, count and export documents."""

    def get(self, key: str, *, with_text: bool = True) -> StoredDocument:
        """Return a document.

        >>> document = store.get("ferry-2025")
        >>> document.title, document.text == text
        ('Ferry timetable', True)

        Args:
            key: Its key.
            with_text: Read its text, too, where the store keeps texts.

        Returns:
            The document, with ``key``, ``text`` (None where it is not read or
            not kept), ``title``, ``collection``, ``metadata``, and when it was
            seen.

        Raises:
            DocumentNotFound: No document has the key.
        """
        from simstore.services.statistics import show

        return show.show_document(self._opened, key, with_text=with_text)

    def list(
        self,
        *,
        limit: int | None = None,
        with_text: bool = True,
        after: int = 0,
        run_id: int | None = None,
        **wanted: Unpack[DocumentFilterKeywords],
    ) -> Stream[StoredDocument]:
        """Yield the documents in order of ingest.

        >>> [document.key for document in store.list(limit=2)]
        ['ferry-2025', 'ferry-2026']

        Args:
            limit: Most of them; None: all.
            with_text: Read the texts, too, where the store keeps texts.
            after: Only those behind the one with this ``document_id``.
            run_id: Only those that this run of ingest added or updated, and
                none since; None: all.

        Keyword Args:
            collection: Only documents of this collection.

        Returns:
            An iterator over documents as :meth:`get` returns them, read as it
            is consumed; ``to_frame()`` makes a DataFrame of the rest.
        """
        from simstore.services.statistics import show

        check_numbers(limit=limit, after=after, run_id=run_id)
        found = show.iterate_documents(
            self._opened,
            wanted=with_keywords("list", DocumentFilter, None, wanted),
            limit=limit,
            with_text=with_text,
            after=after,
            run_id=run_id,
        )
        return Stream(found, of=StoredDocument)

    def __getitem__(self, key: str) -> StoredDocument:
        return self.get(key)

    def __iter__(self) -> Iterator[StoredDocument]:
        return self.list()

    def __len__(self) -> int:
        with self._opened.database.read() as connection:
            return documents.count(connection)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        try:
            wanted = encode(key)
        except InvalidParameter:
            return False
        with self._opened.database.read() as connection:
            return bool(documents.by_keys(connection, [wanted]))

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

        >>> store.seen("ferry-2025").state
        'stored'
        >>> [found is None for found in store.seen(["ferry-2025", "harbour"])]
        [False, True]
        >>> [found.key for found in store.seen(text=text)]
        ['ferry-2025']

        Args:
            key: A key, or a list of keys.
            text: Or a text, exactly as it was given.
            digest: Or the digest of a text, BLAKE2b of its UTF-8: 16 bytes, or
                32 hexadecimal digits, as results have it.

        Returns:
            Of a key what became of it; None where it was never seen, or was
            forgotten. Of keys a list of these. Of a text or a digest the keys
            under which it was seen, the first seen in front.

        Raises:
            InvalidParameter: Not exactly one of the three is given, or a digest
                is none.
        """
        from simstore.services.history.seen import digest_of, look_up_content, look_up_keys

        if sum(given is not None for given in (key, text, digest)) != 1:
            raise InvalidParameter("seen: give a key, keys, text=... or digest=...")
        if isinstance(key, str):
            return look_up_keys(self._opened, [key])[0]
        if key is not None:
            return look_up_keys(self._opened, key)
        wanted = digest_of(text) if text is not None else digest_given(digest or b"")
        return Results(look_up_content(self._opened, wanted), of=Seen)

    def stats(self, *, sizes: bool = False) -> StoreStatistics:
        """Return the store in numbers.

        >>> store.stats().document_count
        3

        Args:
            sizes: Count the bytes of texts, sketches and passages, too. All of
                them are read: of a million documents that may take half a
                minute.

        Returns:
            Counts, sizes, the scheme and its state.
        """
        from simstore.services.statistics import show

        return show.statistics(self._opened, sizes=sizes)

    def export(
        self,
        target: str | os.PathLike[str],
        options: ExportOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[ExportKeywords],
    ) -> ExportSummary:
        """Write documents to a file, all or a part, in order of ingest.

        They are those of one snapshot.

        >>> store.export("documents.jsonl").document_count
        3
        >>> store.export("unique.jsonl.gz", part="unique").document_count
        2

        Args:
            target: The file: JSON Lines (``.jsonl``, ``.ndjson``), ``.json``,
                ``.csv`` or ``.parquet``, compressed where it ends in ``.gz`` or
                ``.zst``; ``-`` is standard output. ``ingest`` restores
                documents from JSON Lines.
            options: What to write, and how, as an object; keywords go before
                it.
            on_progress: Called with documents done and in all.

        Keyword Args:
            part: ``all`` documents; ``unique``: one a cluster, and what is in
                none; ``duplicates``: those that ``unique`` leaves out.
            collection: Only documents of this collection.
            text: With the texts, where the store keeps them.
            format: ``jsonl``, ``json``, ``csv`` or ``parquet``, whatever the
                file is called; ``auto``: by its name.
            log: File for what ``unique`` leaves out, complete and with the
                reason.
            dry_run: Only count.
            replace: Put the files in the place of others.

        Returns:
            How many documents were written, and how many were left out.

        Raises:
            InvalidParameter: The name promises a format that is not written, as
                ``.xlsx``.
            OutputExists: There is a file already; ``replace=True`` replaces it.
            StorageError: It cannot be written; then it is not there.
        """
        self._check_takes_documents()
        from simstore.services.export.export import ExportOptions, export_documents

        chosen = with_keywords("export", ExportOptions, options, keywords)
        return export_documents(self._opened, target, chosen, on_progress)
