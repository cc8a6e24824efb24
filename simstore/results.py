"""Results, what callers get from a store: names of ``simstore``, shown together.

>>> from simstore import results
>>> "Match" in dir(results), "IngestSummary" in dir(results)
(True, True)

Each is a name of ``simstore`` too: ``from simstore import Match``.
"""

from simstore.model import Case as Case
from simstore.model import ChapterShare as ChapterShare
from simstore.model import CheckedPaper as CheckedPaper
from simstore.model import CheckedPassage as CheckedPassage
from simstore.model import Cluster as Cluster
from simstore.model import Clustering as Clustering
from simstore.model import ClusterMember as ClusterMember
from simstore.model import ClusterMerge as ClusterMerge
from simstore.model import ClusterPlace as ClusterPlace
from simstore.model import ClustersStatus as ClustersStatus
from simstore.model import CompactSummary as CompactSummary
from simstore.model import ComparedText as ComparedText
from simstore.model import Comparison as Comparison
from simstore.model import Copy as Copy
from simstore.model import CopyEvidence as CopyEvidence
from simstore.model import Decoding as Decoding
from simstore.model import DocumentOutcome as DocumentOutcome
from simstore.model import Duplicate as Duplicate
from simstore.model import DuplicateState as DuplicateState
from simstore.model import Excluded as Excluded
from simstore.model import ExcludedAs as ExcludedAs
from simstore.model import ExclusionReason as ExclusionReason
from simstore.model import ExpireSummary as ExpireSummary
from simstore.model import ExportedDocument as ExportedDocument
from simstore.model import Finding as Finding
from simstore.model import FoldedPlace as FoldedPlace
from simstore.model import Ignored as Ignored
from simstore.model import ImportSummary as ImportSummary
from simstore.model import IngestProgress as IngestProgress
from simstore.model import IngestRun as IngestRun
from simstore.model import IngestSummary as IngestSummary
from simstore.model import LeastShares as LeastShares
from simstore.model import Match as Match
from simstore.model import Measurement as Measurement
from simstore.model import MutualCheck as MutualCheck
from simstore.model import MutualPair as MutualPair
from simstore.model import Outcome as Outcome
from simstore.model import PaperWarning as PaperWarning
from simstore.model import PassageKind as PassageKind
from simstore.model import PassageStatus as PassageStatus
from simstore.model import QueryRun as QueryRun
from simstore.model import RecordedQuery as RecordedQuery
from simstore.model import RefreshSummary as RefreshSummary
from simstore.model import Rejection as Rejection
from simstore.model import Relative as Relative
from simstore.model import Results as Results
from simstore.model import RunDetails as RunDetails
from simstore.model import SampleExplanation as SampleExplanation
from simstore.model import SampleResult as SampleResult
from simstore.model import SchemeFacts as SchemeFacts
from simstore.model import Seen as Seen
from simstore.model import SeenState as SeenState
from simstore.model import Shown as Shown
from simstore.model import SourceShare as SourceShare
from simstore.model import SourceState as SourceState
from simstore.model import StoredCluster as StoredCluster
from simstore.model import StoredDocument as StoredDocument
from simstore.model import StoredRejection as StoredRejection
from simstore.model import StoreStatistics as StoreStatistics
from simstore.model import StoreVitals as StoreVitals
from simstore.model import Story as Story
from simstore.model import Stream as Stream
from simstore.model import Token as Token
from simstore.model import Totals as Totals
from simstore.model import UpgradeSummary as UpgradeSummary
from simstore.model import Version as Version
from simstore.model import VocabularyStatus as VocabularyStatus
from simstore.model import VocabularyTerm as VocabularyTerm
from simstore.model import WriteReply as WriteReply
from simstore.search.agreement import Agreement as Agreement
from simstore.search.evaluation import CurvePoint as CurvePoint
from simstore.search.evaluation import Evaluation as Evaluation
from simstore.services.access.tokens import TokenBook as TokenBook
from simstore.services.dedup.options import RowSummary as RowSummary
from simstore.services.evaluate.evaluate import ExactPair as ExactPair
from simstore.services.export.export import ExportSummary as ExportSummary
from simstore.services.fingerprints.reader import FingerprintReader as FingerprintReader
from simstore.services.ingest.writer import Writer as Writer
from simstore.sources.spark_results import DedupedOutput as DedupedOutput
from simstore.store.dedupe import Deduped as Deduped
