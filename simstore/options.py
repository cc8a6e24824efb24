"""Options and the types of what callers give: names of ``simstore``, shown together.

>>> from simstore import options
>>> "QueryOptions" in dir(options), "OnDuplicate" in dir(options)
(True, True)

Each is a name of ``simstore`` too: ``from simstore import QueryOptions``.
"""

from simstore.model import CheckKeywords as CheckKeywords
from simstore.model import CheckOptions as CheckOptions
from simstore.model import Document as Document
from simstore.model import DocumentFilter as DocumentFilter
from simstore.model import DocumentFilterKeywords as DocumentFilterKeywords
from simstore.model import DocumentKeywords as DocumentKeywords
from simstore.model import DocumentLabels as DocumentLabels
from simstore.model import OnDuplicate as OnDuplicate
from simstore.model import PlanName as PlanName
from simstore.model import Policy as Policy
from simstore.model import Progress as Progress
from simstore.model import QueryKeywords as QueryKeywords
from simstore.model import QueryOptions as QueryOptions
from simstore.model import RemoveRequest as RemoveRequest
from simstore.model import Scope as Scope
from simstore.model import Time as Time
from simstore.model import TimeOrAge as TimeOrAge
from simstore.model import WriteRequest as WriteRequest
from simstore.services.clusters.cluster import ClusterKeywords as ClusterKeywords
from simstore.services.clusters.cluster import ClusterOptions as ClusterOptions
from simstore.services.compare.compared import CompareFeatures as CompareFeatures
from simstore.services.compare.compared import CompareKeywords as CompareKeywords
from simstore.services.compare.compared import CompareOptions as CompareOptions
from simstore.services.compare.compared import CompareUnits as CompareUnits
from simstore.services.dedup.options import RowObserver as RowObserver
from simstore.services.evaluate.evaluate import EvaluateKeywords as EvaluateKeywords
from simstore.services.evaluate.evaluate import EvaluateOptions as EvaluateOptions
from simstore.services.evaluate.evaluate import Labels as Labels
from simstore.services.export.export import ExportFormat as ExportFormat
from simstore.services.export.export import ExportKeywords as ExportKeywords
from simstore.services.export.export import ExportOptions as ExportOptions
from simstore.services.export.export import ExportPart as ExportPart
from simstore.services.fingerprints.fingerprint_store import FingerprintValues as FingerprintValues
from simstore.services.ingest.options import IngestFilesKeywords as IngestFilesKeywords
from simstore.services.ingest.options import IngestKeywords as IngestKeywords
from simstore.services.ingest.options import IngestOptions as IngestOptions
from simstore.services.ingest.options import Observer as Observer
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
from simstore.storage.dialects.protocol import Synchronous as Synchronous
from simstore.text.normalization import Normalization as Normalization
