"""Methods of the store: listing, showing and exporting documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from simstore.errors import InvalidParameter, check_numbers
from simstore.model import Seen, StoredDocument, Story
from simstore.storage import documents
from simstore.store.opened import Opened
from simstore.text.decoding import encode

if TYPE_CHECKING:
    from simstore.known_filter import KnownFilter
    from simstore.services.export.export import ExportOptions, ExportSummary
    from simstore.services.generations.refresh import Progress


class DocumentsMixin(Opened):
    """What is stored, and what is known of it."""

    def show(self, key: str, *, with_text: bool = False) -> StoredDocument:
        """Return a document.

        Raises:
            DocumentNotFound: No document has the key.
        """
        from simstore.services.statistics import show

        return show.show_document(self._opened, key, with_text=with_text)

    def story(
        self,
        key: str,
        *,
        original: str = "first-seen",
        on_step: Callable[[], None] | None = None,
    ) -> Story:
        """Return when a key was seen, what is like it, and which of them is the original.

        Args:
            key: The key of a document, or one that was skipped as a duplicate.
            original: ``first-seen``: the one that was surely there first; ``linked``: the one that
                most of the others link to; ``prefer:REGEX``: one with such a key.
            on_step: Called between pieces of work; what it raises ends them.

        Raises:
            DocumentNotFound: The key was never seen.
            InvalidParameter: There is no such rule.
        """
        from simstore.services.history.story import tell_story

        return tell_story(self._opened, key, original=original, on_step=on_step)

    def seen(self, key: str) -> Seen | None:
        """Return what became of a key; None where it was never seen, or was forgotten."""
        return self.seen_many([key])[0]

    def seen_many(self, keys: Sequence[str]) -> list[Seen | None]:
        """Return what became of each key; None where it was never seen, or was forgotten."""
        from simstore.services.history.seen import look_up_keys

        return look_up_keys(self._opened, keys)

    def seen_content(self, content: str | bytes) -> list[Seen]:
        """Return the keys under which a content was seen, the first seen in front.

        Args:
            content: The text, or its digest: BLAKE2b of its UTF-8, 16 bytes.
        """
        from simstore.services.history.seen import digest_of, look_up_content

        digest = digest_of(content) if isinstance(content, str) else content
        return look_up_content(self._opened, digest)

    def documents(
        self,
        *,
        collection: str | None = None,
        limit: int | None = None,
        with_text: bool = False,
        after: int = 0,
    ) -> Iterator[StoredDocument]:
        """Yield the documents in order of ingest.

        Args:
            collection: Only those of this collection.
            limit: Most of them; None: all.
            with_text: Read the texts, too.
            after: Only those behind the one with this ``document_id``.
        """
        from simstore.services.statistics import show

        check_numbers(limit=limit, after=after)
        return show.iterate_documents(
            self._opened, collection=collection, limit=limit, with_text=with_text, after=after
        )

    def __iter__(self) -> Iterator[StoredDocument]:
        return self.documents()

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

    def export(
        self,
        target: str | os.PathLike[str],
        options: ExportOptions | None = None,
        *,
        on_progress: Progress | None = None,
    ) -> ExportSummary:
        """Write the documents of one snapshot to a file, all or a part, in order of ingest.

        Args:
            target: The file; ``-`` is standard output.
            options: What to write, and how.
            on_progress: Called with documents done and in all.

        Raises:
            OutputExists: There is a file already, and the options do not say to replace it.
            StorageError: It cannot be written; then it is not there.
        """
        self._check_takes_documents()
        from simstore.services.export.export import ExportOptions, export_documents

        return export_documents(self._opened, target, options or ExportOptions(), on_progress)

    def known_filter(
        self,
        *,
        false_positive_rate: float = 0.001,
        of: Sequence[str] = ("keys", "digests"),
        capacity: int | None = None,
        on_progress: Progress | None = None,
    ) -> KnownFilter:
        """Return a filter of the keys and the texts that the store knows, for a crawler.

        Args:
            false_positive_rate: Largest share of strangers that are taken for known.
            of: ``keys``, ``digests`` (of texts) or both.
            capacity: Keys, and as many texts, that it has room for; None: a quarter more.
            on_progress: Called with members added and in all.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        self._check_takes_documents()
        from simstore.services.history.known_filter import known_filter

        return known_filter(
            self._opened,
            false_positive_rate=false_positive_rate,
            of=of,
            capacity=capacity,
            on_progress=on_progress,
        )

    def known_count(self) -> int:
        """Return how many keys a filter would hold."""
        from simstore.storage import known

        with self._opened.database.read() as connection:
            return known.count(connection)

    def known_mark(self) -> str:
        """Return what a filter is out of date by: while it is the same, so is the filter.

        It may change where the filter does not.
        """
        from simstore.storage import known

        with self._opened.database.read() as connection:
            return known.mark(connection)
