"""The values that pass between the rooms of the house: frozen, typed, without behaviour.

Keys are ``str``. Bytes of a key that are not UTF-8 are surrogate escapes (PEP 383), as in
``os.fsdecode``, so that every byte string is a key and comes back unchanged.
Times are seconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from simstore.model.access import SCOPES, Scope, Token
from simstore.model.check import (
    CheckedPaper,
    CheckedPassage,
    CheckKeywords,
    CheckOptions,
    Copy,
    SourceShare,
    Totals,
)
from simstore.model.clusters import (
    Cluster,
    Clustering,
    ClusterMember,
    ClusterMerge,
    ClusterPlace,
    ClustersStatus,
    LeastShares,
    StoredCluster,
)
from simstore.model.compare import (
    ComparedText,
    Comparison,
    Measurement,
)
from simstore.model.documents import (
    FIRST_SEEN_BASES,
    Relative,
    Seen,
    SeenState,
    StoredDocument,
    Story,
    Version,
)
from simstore.model.figures import StoreFigures, TimeSlot, VocabularySlice
from simstore.model.ingest import (
    KEPT_OR_REMOVED,
    Decoding,
    Document,
    Duplicate,
    DuplicateState,
    ExpireSummary,
    Ignored,
    IngestProgress,
    IngestSummary,
    OnDuplicate,
    Outcome,
    Policy,
    RefreshSummary,
    Rejection,
    SourceState,
    SqlRows,
    StoredRejection,
)
from simstore.model.keywords import check_names, with_keywords
from simstore.model.maintenance import (
    CopySummary,
    Finding,
    PassageStatus,
    StoreStatistics,
    StoreVitals,
    VocabularyStatus,
    VocabularyTerm,
)
from simstore.model.query import (
    Match,
    QueryKeywords,
    QueryOptions,
    QueryRun,
    SampleExplanation,
    SampleResult,
)
from simstore.model.writer import (
    DocumentOutcome,
    Idempotency,
    RemoveRequest,
    WriteReply,
    WriteRequest,
)

__all__ = [
    "FIRST_SEEN_BASES",
    "KEPT_OR_REMOVED",
    "SCOPES",
    "CheckKeywords",
    "CheckOptions",
    "CheckedPaper",
    "CheckedPassage",
    "Cluster",
    "ClusterMember",
    "ClusterMerge",
    "ClusterPlace",
    "Clustering",
    "ClustersStatus",
    "ComparedText",
    "Comparison",
    "Copy",
    "CopySummary",
    "Decoding",
    "Document",
    "DocumentOutcome",
    "Duplicate",
    "DuplicateState",
    "ExpireSummary",
    "Finding",
    "Idempotency",
    "Ignored",
    "IngestProgress",
    "IngestSummary",
    "LeastShares",
    "Match",
    "Measurement",
    "OnDuplicate",
    "Outcome",
    "PassageStatus",
    "Policy",
    "QueryKeywords",
    "QueryOptions",
    "QueryRun",
    "RefreshSummary",
    "Rejection",
    "Relative",
    "RemoveRequest",
    "SampleExplanation",
    "SampleResult",
    "Scope",
    "Seen",
    "SeenState",
    "SourceShare",
    "SourceState",
    "SqlRows",
    "StoreFigures",
    "StoreStatistics",
    "StoreVitals",
    "StoredCluster",
    "StoredDocument",
    "StoredRejection",
    "Story",
    "TimeSlot",
    "Token",
    "Totals",
    "Version",
    "VocabularySlice",
    "VocabularyStatus",
    "VocabularyTerm",
    "WriteReply",
    "WriteRequest",
    "check_names",
    "with_keywords",
]
