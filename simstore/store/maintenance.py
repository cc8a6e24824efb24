"""The namespace ``store.maintenance``: backup, compaction, integrity checks, reindexing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simstore.errors import InvalidParameter
from simstore.model import (
    CompactSummary,
    Finding,
    ImportSummary,
    Results,
    SchemeFacts,
    StoreVitals,
)
from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.model import Progress
    from simstore.services.ingest.ingest import Observer
    from simstore.services.maintenance.scheme_choice import SchemeChoice
    from simstore.sources.spark_results import DedupedOutput


class Maintenance(Namespace):
    """Upkeep of the store and its file, in ``store.maintenance``."""

    @property
    def path(self) -> Path | None:
        """The store's file; None where it is on a database server."""
        return self._opened.database.path

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        on_progress: Progress | None = None,
    ) -> int:
        """Copy the store while it is used; return the copy's bytes.

        >>> store.maintenance.backup("copy.db") > 0
        True

        Args:
            target: The copy.
            replace: Put it in the place of a file that is there.
            on_progress: Called with pages copied and in all.
        """
        from simstore.services.maintenance import maintain

        return maintain.backup(self._opened, Path(target), replace=replace, on_progress=on_progress)

    def check_file(self) -> None:
        """Check that the file that is open still has its name.

        >>> store.maintenance.check_file()

        A file that was moved, replaced or deleted takes no commit either. What
        only its log holds is copied into it here: the log keeps its name, and
        SQLite takes it for that of the file which is put there.

        Raises:
            StorageError: The file was moved, replaced or deleted while it is
                open.
        """
        self._opened.database.check_name()

    def compact(
        self,
        bands: tuple[int, int] | None = None,
        *,
        plain: bool = False,
        columns: bool | None = None,
        drop_passages: bool = False,
        on_progress: Progress | None = None,
    ) -> CompactSummary:
        """Pack fingerprints and sketches, and give unused space back.

        Pages take less room than rows and are looked up faster; the results are
        the same. An ingest packs a long tail at its end, that of fingerprints
        from 262,144 of them on.

        >>> found = store.maintenance.compact()
        >>> found.bytes_before > 0
        True

        Args:
            bands: Number of bands and values a band to pack by from now on;
                None: as before.
            plain: Put fingerprints into plain rows, which any SQLite shell can
                query, instead of pages.
            columns: From now on packed fingerprints have indexed segment
                columns too, for SQL (they are written again for all that is
                packed), or no longer; None: as before.
            drop_passages: Delete the passage index, which
                ``store.passages.build()`` makes again.
            on_progress: Called with fingerprints moved and in all, then with
                bands.

        Returns:
            The bytes of the file before and after.

        Raises:
            InvalidParameter: The sketch has not so many values, or the store no
                sketches.
            Conflict: ``bands`` are given, and another process packs, or a
                reindex is under way.
        """
        from simstore.fingerprint.minhash import BandLayout
        from simstore.services.maintenance import maintain

        layout = None if bands is None else BandLayout(*bands)
        before, after = maintain.compact(
            self._opened,
            layout,
            plain=plain,
            columns=columns,
            drop_passages=drop_passages,
            on_progress=on_progress,
        )
        return CompactSummary(bytes_before=before, bytes_after=after)

    def fsck(self, on_progress: Progress | None = None) -> Results[Finding]:
        """Return every broken invariant; an empty list for a sound store.

        >>> store.maintenance.fsck()
        []
        """
        from simstore.errors.remedies import in_words
        from simstore.services.fsck import fsck

        found = fsck.check_store(self._opened, on_progress)
        told = (replace(one, remedy=in_words(one.remedy)) for one in found)
        return Results(told, of=Finding)

    def reindex(
        self,
        scheme: SchemeChoice | None = None,
        *,
        channels: Sequence[str] | None = None,
        resume: bool = False,
        on_progress: Progress | None = None,
    ) -> str:
        """Recompute fingerprints and sketches from the stored texts.

        >>> from simstore import SchemeChoice
        >>> store.maintenance.reindex(SchemeChoice("web", bits=128))
        'web/1'

        Args:
            scheme: The new scheme; None: the present one, as this installation
                computes it.
            channels: Some of ``simhash``, ``minhash``, ``characters``; None:
                as before.
            resume: Go on with a reindex that was interrupted, whatever its
                scheme; a call with the same scheme and channels goes on with
                it, too.
            on_progress: Called with documents done and in all.

        Returns:
            Name and version of the scheme, as ``web/1``.
        """
        self._check_takes_documents()
        from simstore.services.maintenance import reindex
        from simstore.services.maintenance.scheme_choice import make_scheme

        made = None if scheme is None else make_scheme(scheme)
        return reindex.reindex(self._opened, made, channels, resume=resume, on_progress=on_progress)

    def abort_reindex(self) -> None:
        """Give up a reindex that was interrupted.

        >>> from simstore.errors import Conflict
        >>> try:
        ...     store.maintenance.abort_reindex()
        ... except Conflict as error:
        ...     print(error)
        no reindex is under way; there is nothing to give up
        """
        from simstore.services.maintenance import reindex

        reindex.abort(self._opened)

    def scheme(self) -> SchemeFacts:
        """Return the scheme's name, version, bits and options.

        >>> found = store.maintenance.scheme()
        >>> found.label, found.bits
        ('web/1', 64)
        """
        from simstore.services.statistics import show

        return show.scheme_facts(self._opened)

    def check_options(
        self,
        choice: SchemeChoice | None = None,
        *,
        text: bool = True,
    ) -> None:
        """Raise unless the store has options that a new one could be made with.

        >>> store.maintenance.check_options(text=True)

        Args:
            choice: A scheme with some of its options; None: any.
            text: False: it keeps no texts; True: whether it does is not asked.

        Raises:
            InvalidParameter: It has others; the message says which.
        """
        from simstore.services.maintenance.scheme_choice import differences

        with self._opened.database.read() as connection:
            state = self._opened.state(connection)
        found = [] if choice is None else differences(choice, state.scheme)
        if not text and state.settings.text_kept:
            found.append("it keeps texts (no --no-text)")
        if found:
            raise InvalidParameter(
                f"{self._opened.database.label} exists and has other options: {', '.join(found)}; "
                "leave them out, change them by `simstore reindex`, or make another store by "
                "`simstore init --db NEW`"
            )

    def warm(self) -> None:
        """Read into memory what queries go by, so that the first is fast.

        Without a resident index (:meth:`open`), only what is worth it for any
        process that asks often.

        >>> store.maintenance.warm()
        """
        from simstore.services.channels.store_part import warm

        warm(self._opened)

    def quick_stats(self) -> StoreVitals:
        """Return statistics that are fast to compute, for monitoring.

        >>> store.maintenance.quick_stats().document_count
        3
        """
        from simstore.services.statistics.show import store_vitals

        return store_vitals(self._opened)

    def import_deduped(
        self,
        output: DedupedOutput | str,
        *,
        clusters: bool = True,
        observer: Observer | None = None,
        on_progress: Progress | None = None,
    ) -> ImportSummary:
        """Add the documents and clusters of ``simstore spark dedup``.

        Clusters are taken without comparing where the store finds edges by the
        same rule and has no other documents; else they are made as
        ``store.clusters.build()`` makes them. Those by runs of characters are
        not kept: ``store.clusters.once(channels=["characters"])`` makes them.

        Args:
            output: The folder, or what was read of it.
            clusters: Keep clusters, of an output by words.
            observer: Hears of progress.
            on_progress: Called with documents read and in all while clusters
                are made.

        Returns:
            The summary of the ingest, and the state of the clusters; None: none
            are kept.

        Raises:
            NotFound: No run has finished in the folder.
            InvalidParameter: The store has another scheme.
            MissingExtra: PyArrow is not installed.
        """
        self._check_takes_documents()
        from simstore.services.ingest.ingest import Observer
        from simstore.services.ingest.spark_results import import_deduped
        from simstore.sources.spark_results import DedupedOutput

        found = DedupedOutput(output) if isinstance(output, str) else output
        summary, status = import_deduped(
            self._opened,
            found,
            observer or Observer(),
            clusters=clusters and not found.is_by_characters,
            on_progress=on_progress,
        )
        return ImportSummary(documents=summary, clusters=status)
