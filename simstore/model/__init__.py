"""The values that pass between the rooms of the house: frozen, typed, without behaviour.

Keys are ``str``. Bytes of a key that are not UTF-8 are surrogate escapes (PEP 383), as in
``os.fsdecode``, so that every byte string is a key and comes back unchanged.
Times are seconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from simstore.model.arriving import (
    Document,
    Duplicate,
    DuplicateState,
    ExpireSummary,
    IngestProgress,
    IngestSummary,
    OnDuplicate,
    Outcome,
    PassedOver,
    Policy,
    RefreshSummary,
    Rejection,
    SourceState,
    StoredRejection,
)
from simstore.model.asking import (
    Match,
    QueryOptions,
    QueryRun,
    SampleExplanation,
    SampleResult,
)
from simstore.model.check import (
    CheckedPaper,
    CheckedPassage,
    CheckOptions,
    Copy,
    SourceShare,
    Totals,
)
from simstore.model.comparing import (
    ComparedText,
    Comparison,
    Measurement,
)
from simstore.model.grouping import (
    Cluster,
    Clustering,
    ClusterMember,
    ClusterMerge,
    ClusterPlace,
    KeptCluster,
    KeptSummary,
    LeastShares,
)
from simstore.model.looking import (
    Relative,
    Seen,
    SeenState,
    StoredDocument,
    Story,
    Version,
)
from simstore.model.upkeep import (
    Finding,
    PassageStatus,
    StoreStatistics,
    VocabularyStatus,
    VocabularyTerm,
)

__all__ = [
    "CheckOptions",
    "CheckedPaper",
    "CheckedPassage",
    "Cluster",
    "ClusterMember",
    "ClusterMerge",
    "ClusterPlace",
    "Clustering",
    "ComparedText",
    "Comparison",
    "Copy",
    "Document",
    "Duplicate",
    "DuplicateState",
    "ExpireSummary",
    "Finding",
    "IngestProgress",
    "IngestSummary",
    "KeptCluster",
    "KeptSummary",
    "LeastShares",
    "Match",
    "Measurement",
    "OnDuplicate",
    "Outcome",
    "PassageStatus",
    "PassedOver",
    "Policy",
    "QueryOptions",
    "QueryRun",
    "RefreshSummary",
    "Rejection",
    "Relative",
    "SampleExplanation",
    "SampleResult",
    "Seen",
    "SeenState",
    "SourceShare",
    "SourceState",
    "StoreStatistics",
    "StoredDocument",
    "StoredRejection",
    "Story",
    "Totals",
    "Version",
    "VocabularyStatus",
    "VocabularyTerm",
]
