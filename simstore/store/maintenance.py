"""Methods of the store: vocabulary, schemes, backups, packing and checks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simstore.errors import InvalidParameter, check_numbers
from simstore.fingerprint.channels import parse_channels
from simstore.fingerprint.minhash import BandLayout
from simstore.model import (
    Finding,
    Policy,
    RefreshSummary,
    StoreStatistics,
    StoreVitals,
    VocabularyStatus,
    VocabularyTerm,
)
from simstore.storage import generations
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.model import StoreFigures
    from simstore.services.generations.refresh import Progress
    from simstore.services.maintenance.scheme_choice import SchemeChoice


class MaintenanceMixin(Opened):
    """The vocabulary, the scheme, and the store itself."""

    def refresh(
        self, *, force: bool = False, on_progress: Progress | None = None
    ) -> RefreshSummary:
        """Make the standing generation cover every document and the present vocabulary."""
        from simstore.services.generations import refresh

        return refresh.refresh(self._opened, force=force, on_progress=on_progress)

    def vocabulary_status(self) -> VocabularyStatus:
        """Return how far the standing generation has drifted from the vocabulary."""
        from simstore.services.generations import drift

        return drift.status(self._opened)

    def vocabulary(self, limit: int | None = None) -> list[VocabularyTerm]:
        """Return the most frequent features of the stored documents."""
        from simstore.services.generations import drift

        check_numbers(limit=limit)
        return drift.top_terms(self._opened, limit)

    def set_policy(self, policy: Policy) -> None:
        """Change whether ingest and removal refresh the store at their end."""
        if policy not in ("live", "frozen"):
            raise InvalidParameter(f"policy {policy!r}: choose live or frozen")
        with self._opened.write() as connection:
            generations.set_policy(connection, policy)

    def reindex(
        self,
        scheme: SchemeChoice | None = None,
        *,
        channels: Sequence[str] | None = None,
        resume: bool = False,
        on_progress: Progress | None = None,
    ) -> str:
        """Make fingerprints and sketches anew from the kept texts; return the scheme's label.

        Args:
            scheme: The new scheme; None: the present one, as this installation computes it.
            channels: ``simhash``, ``minhash`` or both; None: as before.
            resume: Go on with a reindex that was interrupted, whatever its scheme; a call with the
                same scheme and channels goes on with it, too.
            on_progress: Called with documents done and in all.
        """
        self._check_takes_documents()
        from simstore.services.maintenance import reindex
        from simstore.services.maintenance.scheme_choice import make_scheme

        made = None if scheme is None else make_scheme(scheme)
        wanted = None if channels is None else parse_channels(channels)
        return reindex.reindex(self._opened, made, wanted, resume=resume, on_progress=on_progress)

    def abort_reindex(self) -> None:
        """Give up a reindex that was interrupted."""
        from simstore.services.maintenance import reindex

        reindex.abort(self._opened)

    def statistics(self, *, sizes: bool = False) -> StoreStatistics:
        """Return the store in numbers.

        Args:
            sizes: Count the bytes of texts, sketches and passages, too. All of them are read: of a
                million documents that may take half a minute.
        """
        from simstore.services.statistics import show

        return show.statistics(self._opened, sizes=sizes)

    def vitals(self) -> StoreVitals:
        """Return what is soon told of the store, for those who watch it."""
        from simstore.services.statistics.quick_statistics import store_vitals

        return store_vitals(self._opened)

    def figures(self, *, on_progress: Progress | None = None) -> StoreFigures:
        """Return the store over time: documents, duplicates, kept clusters, vocabulary.

        Args:
            on_progress: Called with documents of a sample counted, and its size.
        """
        self._check_takes_documents()
        from simstore.services.statistics.over_time import store_figures

        return store_figures(self._opened, on_progress)

    def scheme(self) -> dict[str, Any]:
        """Return the scheme's name, version, bits and options."""
        from simstore.services.statistics import show

        return show.scheme_record(self._opened)

    def check_options(
        self,
        choice: SchemeChoice | None = None,
        *,
        text: bool = True,
        keep_columns: bool = False,
    ) -> None:
        """Raise unless the store has options that a new one could be made with.

        Args:
            choice: A scheme with some of its options; None: any.
            text: False: it keeps no texts; True: whether it does is not asked.
            keep_columns: True: it keeps segment columns; False: whether it does is not asked.

        Raises:
            InvalidParameter: It has others; the message says which.
        """
        from simstore.services.maintenance.scheme_choice import differences

        with self._opened.database.read() as connection:
            state = self._opened.state(connection)
        found = [] if choice is None else differences(choice, state.scheme)
        if not text and state.settings.text_kept:
            found.append("it keeps texts (no --no-text)")
        if keep_columns and not state.settings.keep_columns:
            found.append("it keeps no columns (`simstore pack --keep-columns` changes that)")
        if found:
            raise InvalidParameter(
                f"{self._opened.database.label} exists and has other options: {', '.join(found)}; "
                "leave them out, change them by `simstore reindex`, or make another store by "
                "`simstore init --db NEW`"
            )

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        on_progress: Progress | None = None,
    ) -> int:
        """Copy the store while it is used, check the copy; return its size in bytes.

        Args:
            target: The copy.
            replace: Put it in the place of a file that is there.
            on_progress: Called with pages copied and in all.
        """
        from simstore.services.maintenance import maintain

        return maintain.backup(self._opened, Path(target), replace=replace, on_progress=on_progress)

    def compact(
        self, bands: tuple[int, int] | None = None, *, on_progress: Progress | None = None
    ) -> tuple[int, int]:
        """Pack the sketches, give unused space back; return the file's bytes before and after.

        Args:
            bands: Number of bands and values a band to pack by from now on; None: as before.
            on_progress: Called with bands done and in all.

        Raises:
            InvalidParameter: The sketch has not so many values, or the store no sketches.
        """
        from simstore.services.maintenance import maintain

        layout = None if bands is None else BandLayout(*bands)
        return maintain.compact(self._opened, layout, on_progress)

    def pack(
        self,
        *,
        fingerprints: bool = True,
        sketches: bool = True,
        columns: bool | None = None,
        on_progress: Progress | None = None,
    ) -> int:
        """Put fingerprints and sketches into pages; return how many fingerprints were packed.

        Pages take less room and are looked up faster; the answers are the same. A long tail is
        packed at the end of an ingest, that of fingerprints from a million of them on.

        Args:
            fingerprints: Pack them, where there are any.
            sketches: Pack their bands, where there are any.
            columns: From now on packed fingerprints have indexed segment columns too, for who asks
                by SQL (they are written anew for all that is packed), or no longer; None: as
                before.
            on_progress: Called with fingerprints packed and in all, then with bands.

        Raises:
            InvalidParameter: ``fingerprints`` alone, and those of this length have no pages.
            Conflict: Another process packs the sketches, or a reindex is under way.
        """
        from simstore.services.maintenance import maintain

        return maintain.pack(
            self._opened,
            fingerprints=fingerprints,
            bands=sketches,
            columns=columns,
            on_progress=on_progress,
        )

    def unpack(self, *, on_progress: Progress | None = None) -> int:
        """Put packed fingerprints back into plain rows; return how many.

        Args:
            on_progress: Called with fingerprints in rows and in all.

        Raises:
            InvalidParameter: Fingerprints of this length have no pages.
        """
        from simstore.services.generations import pack_fingerprints

        return pack_fingerprints.unpack(self._opened, on_progress)

    def fsck(self, on_progress: Progress | None = None) -> list[Finding]:
        """Return every broken invariant; an empty list for a sound store."""
        from simstore.services.fsck import fsck

        return fsck.check_store(self._opened, on_progress)
