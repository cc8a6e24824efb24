"""The namespace ``store.passages``: the index that finds copied passages in submitted papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from simstore.model import PassageStatus
from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.model import Progress


class Passages(Namespace):
    """The passage index, by which papers are checked, in ``store.passages``."""

    def build(
        self,
        *,
        cut: Literal["sentences", "window"] | None = None,
        window: int | None = None,
        fingerprints: bool | None = None,
        sentences: bool | None = None,
        on_progress: Progress | None = None,
    ) -> PassageStatus:
        """Make the passage index, or go on making it.

        From then on every ingest keeps it up to date.

        >>> store.passages.build().document_count
        3

        Args:
            cut: ``sentences`` or ``window``; None: as the index has it, else
                sentences (windows where ``window`` is given).
            window: Characters of a window, by default 30.
            fingerprints: Keep a fingerprint of 64 bits of each passage besides,
                by which passages within 3 bits are found; None: as the index
                has it, else not.
            sentences: Keep terms of each sentence too, by which one is found
                again though words in it were changed or stand in another
                order; None: as the index has it, else where the store keeps
                texts. An index that lacks them, or has those of an older
                version, is made anew.
            on_progress: Called with documents done and in all.

        Returns:
            What the index holds.

        Raises:
            Conflict: There is an index with other passages.
            InvalidParameter: The store has documents and keeps no texts.
            ReindexInProgress: The store is between two schemes.
        """
        self._check_takes_documents()
        from simstore.services.check import passage_index

        passage_index.begin(
            self._opened,
            cut=cut,
            window=window,
            fingerprints=fingerprints,
            with_sentences=sentences,
        )
        passage_index.build(self._opened, on_progress)
        found = passage_index.status(self._opened)
        if found is None:
            from simstore.errors import Conflict

            raise Conflict("the passage index was dropped by another process")
        return found

    def status(self, *, sizes: bool = True) -> PassageStatus | None:
        """Return what the passage index holds; None where there is none.

        >>> store.passages.status() is None
        True

        Args:
            sizes: Count its bytes, too: all of it is read.
        """
        from simstore.services.check import passage_index

        return passage_index.status(self._opened, sizes=sizes)
