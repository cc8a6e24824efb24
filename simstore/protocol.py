"""The typed interface (protocol) that ``Store`` and ``Client`` share.

A program that is written for :class:`StoreProtocol` runs on a :class:`simstore.Store` and on a
:class:`simstore.Client`. What a server does not do for others raises NotServed. A store takes some
parameters more, of what a server sees to itself: threads, transactions, refreshes.
"""

# What a method does is told where it is done, in Store.
# ruff: noqa: D102

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, Unpack, overload

from simstore.model.channels import DROP_RESEMBLANCE

if TYPE_CHECKING:
    import pandas

    from simstore.known_filter import KnownFilter
    from simstore.model import (
        CheckedPaper,
        CheckKeywords,
        CheckOptions,
        Clustering,
        ClusterMerge,
        ClusterPlace,
        ClustersStatus,
        CompactSummary,
        Comparison,
        Document,
        Duplicate,
        ExpireSummary,
        Finding,
        Ignored,
        IngestRun,
        IngestSummary,
        Match,
        MutualCheck,
        OnDuplicate,
        Outcome,
        PassageStatus,
        Policy,
        Progress,
        QueryKeywords,
        QueryOptions,
        QueryRun,
        RecordedQuery,
        RefreshSummary,
        Rejection,
        Results,
        RunDetails,
        SchemeFacts,
        Scope,
        Seen,
        StoredCluster,
        StoredDocument,
        StoredRejection,
        StoreFigures,
        StoreStatistics,
        StoreVitals,
        Story,
        Stream,
        Time,
        TimeOrAge,
        Token,
        VocabularyStatus,
        VocabularyTerm,
    )
    from simstore.search.evaluation import Evaluation
    from simstore.services.clusters.cluster import ClusterKeywords, ClusterOptions
    from simstore.services.compare.compared import CompareKeywords, CompareOptions
    from simstore.services.evaluate.evaluate import (
        EvaluateKeywords,
        EvaluateOptions,
        ExactPair,
        Labels,
    )
    from simstore.services.export.export import ExportKeywords, ExportOptions, ExportSummary
    from simstore.services.fingerprints.fingerprint_store import FingerprintValues
    from simstore.services.ingest.options import IngestFilesKeywords, IngestOptions, Observer
    from simstore.sources.documents import DocumentsGiven, SamplesGiven
    from simstore.sources.files import Files
    from simstore.sources.reader import ReadOptions

__all__ = [
    "BytesRead",
    "ClustersProtocol",
    "DuplicatesProtocol",
    "EvaluateProtocol",
    "FiltersProtocol",
    "FingerprintsProtocol",
    "MaintenanceProtocol",
    "PassagesProtocol",
    "RejectsProtocol",
    "RunsProtocol",
    "StoreProtocol",
    "TokensProtocol",
    "VocabularyProtocol",
]

# Of files: bytes read, and bytes in all where that is known.
BytesRead = Callable[[int, "int | None"], None]


class ClustersProtocol(Protocol):
    """Clusters of near-duplicates: :class:`simstore.store.clusters.Clusters`."""

    def to_frame(self) -> pandas.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __getitem__(self, key: str) -> StoredCluster: ...
    def __iter__(self) -> Iterator[StoredCluster]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object) -> bool: ...
    def once(
        self,
        options: ClusterOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[ClusterKeywords],
    ) -> Clustering: ...
    def __call__(
        self,
        options: ClusterOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[ClusterKeywords],
    ) -> Clustering: ...
    def build(
        self,
        *,
        min_resemblance: float | None = None,
        policy: str | None = None,
        rebuild: bool = False,
        on_progress: Progress | None = None,
        threshold: float | None = None,
    ) -> ClustersStatus: ...
    def list(self, min_size: int = 2) -> Stream[StoredCluster]: ...
    def of(self, key: str) -> ClusterPlace | None: ...
    def members(self, cluster_id: int) -> StoredCluster | None: ...
    def merges(self) -> Stream[ClusterMerge]: ...
    def status(self, *, largest: bool = False) -> ClustersStatus | None: ...
    def drop(self) -> bool: ...


class DuplicatesProtocol(Protocol):
    """Duplicates that ingests found, as of ``store.duplicates``."""

    def to_frame(self) -> pandas.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __getitem__(self, key: str) -> Duplicate: ...
    def __iter__(self) -> Iterator[Duplicate]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object) -> bool: ...
    def list(
        self, *, state: str | None = None, original: str | None = None
    ) -> Stream[Duplicate]: ...
    def of(self, key: str) -> Duplicate | None: ...
    def orphans(self) -> Stream[Duplicate]: ...
    def story(self, key: str, *, original: str = "first-seen") -> Story: ...


class EvaluateProtocol(Protocol):
    """Evaluation against labels: :class:`simstore.store.evaluate.Evaluate`."""

    def run(
        self,
        labels: Labels,
        options: EvaluateOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[EvaluateKeywords],
    ) -> Evaluation: ...
    def exact_pairs(
        self, min_resemblance: float = 0.5, *, on_progress: Progress | None = None
    ) -> Results[ExactPair]: ...


class FiltersProtocol(Protocol):
    """Known-keys filters: :class:`simstore.store.filters.Filters`."""

    def known(
        self,
        *,
        false_positive_rate: float = 0.001,
        of: Sequence[str] = ("keys", "digests"),
        capacity: int | None = None,
        on_progress: Progress | None = None,
    ) -> KnownFilter: ...
    def known_count(self) -> int: ...
    def known_mark(self) -> str: ...


class FingerprintsProtocol(Protocol):
    """Fingerprints by their values, as of ``store.fingerprints``."""

    def add(
        self,
        values: FingerprintValues,
        *,
        apart: int | None = None,
        on_progress: Progress | None = None,
    ) -> int: ...
    def remove(self, values: FingerprintValues, *, on_progress: Progress | None = None) -> int: ...


class MaintenanceProtocol(Protocol):
    """Upkeep of a store and its file, as of ``store.maintenance``."""

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        on_progress: Progress | None = None,
    ) -> int: ...
    def compact(
        self, bands: tuple[int, int] | None = None, *, on_progress: Progress | None = None
    ) -> CompactSummary: ...
    def fsck(self, on_progress: Progress | None = None) -> Results[Finding]: ...
    def scheme(self) -> SchemeFacts: ...
    def quick_stats(self) -> StoreVitals: ...
    def stats_over_time(self, *, on_progress: Progress | None = None) -> StoreFigures: ...
    def warm(self) -> None: ...


class PassagesProtocol(Protocol):
    """The passage index: :class:`simstore.store.passages.Passages`."""

    def build(
        self,
        *,
        cut: Literal["sentences", "window"] | None = None,
        window: int | None = None,
        fingerprints: bool | None = None,
        sentences: bool | None = None,
        on_progress: Progress | None = None,
    ) -> PassageStatus: ...
    def status(self, *, sizes: bool = True) -> PassageStatus | None: ...
    def drop(self) -> bool: ...


class RejectsProtocol(Protocol):
    """Records that could not be stored: :class:`simstore.store.rejects.Rejects`."""

    def to_frame(self) -> pandas.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __iter__(self) -> Iterator[StoredRejection]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object) -> bool: ...
    def list(self, *, limit: int | None = None) -> Results[StoredRejection]: ...
    def clear(self) -> int: ...


class RunsProtocol(Protocol):
    """Recorded runs: :class:`simstore.store.runs.Runs`."""

    def to_frame(self) -> pandas.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __iter__(self) -> Iterator[IngestRun]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object) -> bool: ...
    def ingest(self, limit: int = 20) -> Results[IngestRun]: ...
    def show(self, run_id: int) -> RunDetails: ...
    def query(self, limit: int = 20) -> Results[RecordedQuery]: ...


class TokensProtocol(Protocol):
    """Tokens for a server: :class:`simstore.store.tokens.Tokens`."""

    def to_frame(self) -> pandas.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __iter__(self) -> Iterator[Token]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object) -> bool: ...
    def add(self, name: str, scope: Scope = "read", expires_at: TimeOrAge | None = None) -> str: ...
    def list(self) -> Results[Token]: ...
    def revoke(self, name: str) -> None: ...


class VocabularyProtocol(Protocol):
    """The features of all documents, as of ``store.vocabulary``."""

    def to_frame(self) -> pandas.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __iter__(self) -> Iterator[VocabularyTerm]: ...
    def __contains__(self, key: object) -> bool: ...
    def terms(self, limit: int | None = None) -> Results[VocabularyTerm]: ...
    def status(self) -> VocabularyStatus: ...
    def refresh(
        self, *, force: bool = False, on_progress: Progress | None = None
    ) -> RefreshSummary: ...
    def set_policy(self, policy: Policy) -> None: ...


class StoreProtocol(Protocol):
    """The interface that ``Store`` and ``Client`` share.

    >>> from simstore import StoreProtocol
    >>> def keys_near(store: StoreProtocol, text: str) -> list[str]:
    ...     return [match.key for match in store.query(text)]
    >>> keys_near(store, text)
    ['ferry-2025', 'ferry-2026']
    """

    @property
    def clusters(self) -> ClustersProtocol: ...
    @property
    def duplicates(self) -> DuplicatesProtocol: ...
    @property
    def evaluate(self) -> EvaluateProtocol: ...
    @property
    def filters(self) -> FiltersProtocol: ...
    @property
    def fingerprints(self) -> FingerprintsProtocol: ...
    @property
    def maintenance(self) -> MaintenanceProtocol: ...
    @property
    def passages(self) -> PassagesProtocol: ...
    @property
    def rejects(self) -> RejectsProtocol: ...
    @property
    def runs(self) -> RunsProtocol: ...
    @property
    def tokens(self) -> TokensProtocol: ...
    @property
    def vocabulary(self) -> VocabularyProtocol: ...

    def add(
        self,
        key: str,
        text: str,
        *,
        title: str | None = None,
        collection: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        seen_at: Time | None = None,
        published_at: Time | None = None,
        links: Sequence[str] = (),
        on_duplicate: OnDuplicate | None = None,
        min_resemblance: float | None = None,
        radius: int | None = None,
        channels: Sequence[str] = (),
        short_texts: bool = False,
    ) -> Outcome: ...
    def add_many(
        self,
        documents: DocumentsGiven,
        *,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
        progress: bool = False,
        **keywords: Unpack[IngestFilesKeywords],
    ) -> IngestSummary: ...
    def ingest(
        self,
        names: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
        progress: bool = False,
        **keywords: Unpack[IngestFilesKeywords],
    ) -> IngestSummary: ...
    def remove(
        self,
        *keys: str | Iterable[str],
        missing_ok: bool = False,
        on_progress: Progress | None = None,
        on_orphan: Callable[[str], None] | None = None,
        on_unflagged: Callable[[str], None] | None = None,
    ) -> int: ...
    def expire(
        self,
        older_than: str | timedelta | date | None = None,
        *,
        not_seen_since: TimeOrAge | None = None,
        collection: str | None = None,
        dry_run: bool = False,
    ) -> ExpireSummary: ...
    def query(
        self,
        text: str,
        options: QueryOptions | None = None,
        **keywords: Unpack[QueryKeywords],
    ) -> Results[Match]: ...
    def query_many(
        self,
        samples: SamplesGiven | Files,
        options: QueryOptions | None = None,
        *,
        record: bool = False,
        require_fresh: bool = False,
        threads: int | None = 1,
        on_progress: BytesRead | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[QueryKeywords],
    ) -> QueryRun: ...
    def check(
        self,
        text: str,
        options: CheckOptions | None = None,
        *,
        key: str = "",
        **keywords: Unpack[CheckKeywords],
    ) -> CheckedPaper: ...
    def filter(
        self,
        rows: Any,
        *,
        keep: Literal["new", "known"] = "new",
        min_resemblance: float = DROP_RESEMBLANCE,
        radius: int | None = None,
        text_field: str | None = None,
    ) -> Any: ...
    @overload
    def check_many(
        self,
        papers: SamplesGiven,
        options: CheckOptions | None = None,
        *,
        threads: int | None = 1,
        on_step: Callable[[], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> Stream[CheckedPaper]: ...
    @overload
    def check_many(
        self,
        papers: Files,
        options: CheckOptions | None = None,
        *,
        threads: int | None = 1,
        on_step: Callable[[], None] | None = None,
        on_progress: BytesRead | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> Stream[CheckedPaper | Rejection]: ...
    @overload
    def check_mutual(
        self,
        papers: SamplesGiven,
        options: CheckOptions | None = None,
        *,
        on_step: Callable[[], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> MutualCheck: ...
    @overload
    def check_mutual(
        self,
        papers: Files,
        options: CheckOptions | None = None,
        *,
        on_step: Callable[[], None] | None = None,
        on_progress: BytesRead | None = None,
        on_ignored: Callable[[Ignored], None] | None = None,
        **keywords: Unpack[CheckKeywords],
    ) -> MutualCheck: ...
    def compare(
        self,
        first: str | Document,
        second: str | Document,
        options: CompareOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[CompareKeywords],
    ) -> Comparison: ...
    def report(self, run_id: int | None = None) -> QueryRun: ...
    def get(self, key: str, *, with_text: bool = True) -> StoredDocument: ...
    def list(
        self,
        *,
        collection: str | None = None,
        limit: int | None = None,
        with_text: bool = True,
        run_id: int | None = None,
    ) -> Stream[StoredDocument]: ...
    @overload
    def seen(self, key: str) -> Seen | None: ...
    @overload
    def seen(self, key: builtins.list[str] | tuple[str, ...]) -> builtins.list[Seen | None]: ...
    @overload
    def seen(self, *, text: str) -> Results[Seen]: ...
    @overload
    def seen(self, *, digest: str | bytes) -> Results[Seen]: ...
    def stats(self, *, sizes: bool = False) -> StoreStatistics: ...
    def export(
        self,
        target: str | os.PathLike[str],
        options: ExportOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[ExportKeywords],
    ) -> ExportSummary: ...
    def close(self) -> None: ...

    def __getitem__(self, key: str) -> StoredDocument: ...
    def __iter__(self) -> Iterator[StoredDocument]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
