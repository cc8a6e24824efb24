"""Types of what callers give and get: names of ``simstore``, shown together.

>>> from simstore import types
>>> "QueryOptions" in dir(types), "Match" in dir(types)
(True, True)

Each is a name of ``simstore`` too: ``from simstore import QueryOptions``.
"""

from simstore.model import *
from simstore.search.agreement import Agreement as Agreement
from simstore.search.evaluation import CurvePoint as CurvePoint
from simstore.search.evaluation import Evaluation as Evaluation
from simstore.services.access.tokens import TokenBook as TokenBook
from simstore.services.clusters.cluster import ClusterKeywords as ClusterKeywords
from simstore.services.clusters.cluster import ClusterOptions as ClusterOptions
from simstore.services.compare.compared import CompareFeatures as CompareFeatures
from simstore.services.compare.compared import CompareKeywords as CompareKeywords
from simstore.services.compare.compared import CompareOptions as CompareOptions
from simstore.services.compare.compared import CompareUnits as CompareUnits
from simstore.services.dedup.options import RowObserver as RowObserver
from simstore.services.dedup.options import RowSummary as RowSummary
from simstore.services.evaluate.evaluate import EvaluateKeywords as EvaluateKeywords
from simstore.services.evaluate.evaluate import EvaluateOptions as EvaluateOptions
from simstore.services.evaluate.evaluate import ExactPair as ExactPair
from simstore.services.evaluate.evaluate import Labels as Labels
from simstore.services.export.export import ExportFormat as ExportFormat
from simstore.services.export.export import ExportKeywords as ExportKeywords
from simstore.services.export.export import ExportOptions as ExportOptions
from simstore.services.export.export import ExportPart as ExportPart
from simstore.services.export.export import ExportSummary as ExportSummary
from simstore.services.fingerprints.fingerprint_store import FingerprintValues as FingerprintValues
from simstore.services.fingerprints.reader import FingerprintReader as FingerprintReader
from simstore.services.ingest.options import IngestFilesKeywords as IngestFilesKeywords
from simstore.services.ingest.options import IngestKeywords as IngestKeywords
from simstore.services.ingest.options import IngestOptions as IngestOptions
from simstore.services.ingest.options import Observer as Observer
from simstore.services.ingest.writer import Writer as Writer
from simstore.services.maintenance.scheme_choice import SchemeChoice as SchemeChoice
from simstore.sources.documents import DocumentsGiven as DocumentsGiven
from simstore.sources.documents import SamplesGiven as SamplesGiven
from simstore.sources.files import Files as Files
from simstore.sources.labels import GroupLabel as GroupLabel
from simstore.sources.labels import LabelledPair as LabelledPair
from simstore.sources.reader import HistoryFields as HistoryFields
from simstore.sources.reader import ReadKeywords as ReadKeywords
from simstore.sources.reader import ReadOptions as ReadOptions
from simstore.sources.reader import SourceFields as SourceFields
from simstore.sources.spark_results import DedupedOutput as DedupedOutput
from simstore.storage.dialects.protocol import Synchronous as Synchronous
from simstore.store.dedupe import Deduped as Deduped
from simstore.text.normalization import Normalization as Normalization
