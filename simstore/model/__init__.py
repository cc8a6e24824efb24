"""Options and results: the frozen, typed dataclasses that simstore's packages exchange.

Keys are ``str``. Bytes of a key that are not UTF-8 are surrogate escapes (PEP 383), as in
``os.fsdecode``, so that every byte string is a key and comes back unchanged.
Times are seconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simstore.model.access import *
    from simstore.model.check import *
    from simstore.model.clusters import *
    from simstore.model.compare import *
    from simstore.model.documents import *
    from simstore.model.ingest import *
    from simstore.model.keywords import *
    from simstore.model.maintenance import *
    from simstore.model.mutual import *
    from simstore.model.query import *
    from simstore.model.results import *
    from simstore.model.runs import *
    from simstore.model.writer import *

# In the order in which they are looked through: what every program needs comes first.
_MODULES = (
    "documents", "results", "keywords", "ingest", "query", "maintenance", "clusters", "runs",
    "writer", "check", "mutual", "compare", "access",
)  # fmt: skip

__all__ = [
    "FILTERS",
    "FIRST_SEEN_BASES",
    "LABELS",
    "NAMED_KEYS",
    "SCOPES",
    "Case",
    "ChapterShare",
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
    "CompactSummary",
    "ComparedText",
    "Comparison",
    "Copy",
    "CopyEvidence",
    "Decoding",
    "Document",
    "DocumentFilter",
    "DocumentFilterKeywords",
    "DocumentKeywords",
    "DocumentLabels",
    "DocumentOutcome",
    "Duplicate",
    "DuplicateState",
    "Excluded",
    "ExcludedAs",
    "ExclusionReason",
    "ExpireSummary",
    "ExportedDocument",
    "Finding",
    "FoldedPlace",
    "Ignored",
    "ImportSummary",
    "IngestProgress",
    "IngestRun",
    "IngestSummary",
    "LeastShares",
    "Match",
    "Measurement",
    "MutualCheck",
    "MutualPair",
    "OnDuplicate",
    "Outcome",
    "PaperWarning",
    "PassageKind",
    "PassageStatus",
    "PlanName",
    "Policy",
    "Progress",
    "QueryKeywords",
    "QueryOptions",
    "QueryRun",
    "RecordedQuery",
    "RefreshSummary",
    "Rejection",
    "Relative",
    "RemoveRequest",
    "Results",
    "RunDetails",
    "SampleExplanation",
    "SampleResult",
    "SchemeFacts",
    "Scope",
    "Seen",
    "SeenState",
    "Shown",
    "SourceShare",
    "SourceState",
    "StoreStatistics",
    "StoreVitals",
    "StoredCluster",
    "StoredDocument",
    "StoredRejection",
    "Story",
    "Stream",
    "Time",
    "TimeOrAge",
    "Token",
    "Totals",
    "UpgradeSummary",
    "Version",
    "VocabularyStatus",
    "VocabularyTerm",
    "WriteReply",
    "WriteRequest",
    "check_names",
    "with_keywords",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    if name in __all__:
        for module in _MODULES:
            found = vars(import_module(f"{__name__}.{module}"))
            if name in found:
                globals()[name] = found[name]
                return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
