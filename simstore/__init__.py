"""Find near-duplicate texts with one SQLite file.

A store keeps documents. A document is a text with a key, such as its URL.
``query`` returns the stored documents that are near a text:

>>> from simstore import Store
>>> with Store("crawl.db") as store:
...     store.add("ferry", "The ferry to the island leaves at nine.")
...     store.add("bread", "Mix flour, water and salt; let the dough rest.")
...     for match in store.query("The ferry to the island leaves at ten."):
...         print(match.key, round(match.resemblance, 1))
'added'
'added'
ferry 0.7

``resemblance`` is the share of phrases that two texts have in common, from
0 to 1. ``containment`` is the share of the asked text's phrases that are in
the stored one. ``distance`` counts the bits in which their fingerprints
differ: every stored fingerprint within ``radius`` bits (3 unless you give
another) is found. Texts that have many phrases in common are found too.

Drop the near-duplicates of a list; this takes no store:

>>> from simstore import dedupe
>>> texts = ["Tickets are sold here.", "Oats.", "Tickets are sold here."]
>>> list(dedupe(texts)), dedupe(texts).groups
(['Tickets are sold here.', 'Oats.'], ((0, 2),))

Common tasks::

    Store(path)                   open a store, or make one; help(Store)
    store.ingest("folder")        store files, folders, patterns, archives
    store.add_many(documents)     store pairs, records, DataFrames
    store.query(text, limit=10)   find what is near; query_many takes many
    store.query(text, min_resemblance=0.8)    only what is this similar
    store.get(match.key).text     read the text of a match
    store.check(paper)            find passages copied from documents; first
                                  store.passages.build()
    store.clusters.build()        group them: for group in store.clusters
    store.remove(key)             remove a document; expire("90d") removes
                                  those not seen for 90 days
    store.export("corpus.jsonl")  write documents; part="unique" writes one
                                  of each cluster
    Client(url)                   the same methods over HTTP, for a server
                                  that runs `simstore serve`

Options are keywords, or objects such as :class:`QueryOptions`. Results are
plain objects, and lists of them have ``to_frame()`` for pandas. All errors
are :class:`SimstoreError`, and their message names the remedy. The command
line has the same tasks: run ``simstore --help``. Importing simstore is
cheap: each name is imported when it is first used (PEP 562). Types that
``dir(simstore)`` does not show are in ``simstore.types`` and ``.errors``,
and can be imported from here as well.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simstore.version import __version__ as __version__

if TYPE_CHECKING:
    from simstore import errors as errors
    from simstore import types as types
    from simstore.client.client import Client as Client
    from simstore.errors import *
    from simstore.known_filter import KnownFilter as KnownFilter
    from simstore.model.frames import to_frame as to_frame
    from simstore.services.compare.compare import compare_texts as compare_texts
    from simstore.store import Store as Store
    from simstore.store import restore_store as restore_store
    from simstore.store import upgrade_store as upgrade_store
    from simstore.store.dedupe import dedup_rows as dedup_rows
    from simstore.store.dedupe import dedupe as dedupe
    from simstore.types import *

# The names that programs begin with, which `dir` shows. All other names are in one of the two
# rooms, and can be imported from here, too.
__all__ = [
    "Client", "Document", "DocumentNotFound", "Files", "InvalidParameter", "KnownFilter", "Match",
    "NotFound", "QueryOptions", "SimstoreError", "Store",
    "__version__", "compare_texts", "dedup_rows", "dedupe", "errors",
    "restore_store", "to_frame", "types", "upgrade_store",
]  # fmt: skip
_ROOMS = ("errors", "types")

# Where a name is; those of model/ and errors/ are found there.
_MODULES = {
    "Agreement": "search.agreement",
    "Client": "client.client",
    "ClusterKeywords": "services.clusters.cluster",
    "ClusterOptions": "services.clusters.cluster",
    "CompareFeatures": "services.compare.compared",
    "CompareKeywords": "services.compare.compared",
    "CompareOptions": "services.compare.compared",
    "CompareUnits": "services.compare.compared",
    "CurvePoint": "search.evaluation",
    "Deduped": "store.dedupe",
    "DedupedOutput": "sources.spark_results",
    "DocumentsGiven": "sources.documents",
    "EvaluateKeywords": "services.evaluate.evaluate",
    "EvaluateOptions": "services.evaluate.evaluate",
    "Evaluation": "search.evaluation",
    "ExactPair": "services.evaluate.evaluate",
    "ExportFormat": "services.export.export",
    "ExportKeywords": "services.export.export",
    "ExportOptions": "services.export.export",
    "ExportPart": "services.export.export",
    "ExportSummary": "services.export.export",
    "Files": "sources.files",
    "FingerprintReader": "services.fingerprints.reader",
    "FingerprintValues": "services.fingerprints.fingerprint_store",
    "GroupLabel": "sources.labels",
    "HistoryFields": "sources.reader",
    "SourceFields": "sources.reader",
    "IngestFilesKeywords": "services.ingest.options",
    "IngestKeywords": "services.ingest.options",
    "IngestOptions": "services.ingest.options",
    "KnownFilter": "known_filter",
    "LabelledPair": "sources.labels",
    "Labels": "services.evaluate.evaluate",
    "Normalization": "text.normalization",
    "Observer": "services.ingest.options",
    "ReadKeywords": "sources.reader",
    "ReadOptions": "sources.reader",
    "SamplesGiven": "sources.documents",
    "RowObserver": "services.dedup.options",
    "RowSummary": "services.dedup.options",
    "SchemeChoice": "services.maintenance.scheme_choice",
    "Store": "store",
    "Synchronous": "storage.dialects.protocol",
    "TokenBook": "services.access.tokens",
    "Writer": "services.ingest.writer",
    "compare_texts": "services.compare.compare",
    "dedup_rows": "store.dedupe",
    "dedupe": "store.dedupe",
    "restore_store": "store",
    "to_frame": "model.frames",
    "upgrade_store": "store",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, without looking for garbage meanwhile: modules are none."""
    import gc

    if not gc.isenabled():
        return _imported(name)
    gc.disable()
    try:
        return _imported(name)
    finally:
        gc.enable()


def _imported(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"simstore.{name}")
    if name in _MODULES:
        return getattr(import_module(f"simstore.{_MODULES[name]}"), name)
    model = import_module("simstore.model")
    # Types: the functions and constants of it are for other modules.
    if name in model.__all__ and name[0].isupper() and not name.isupper():
        return getattr(model, name)
    kind = getattr(import_module("simstore.errors"), name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        return kind
    from simstore.model.keywords import nearest

    meant = None if name.startswith("_") else nearest(name, [*__all__, *_MODULES])
    hint = "" if meant is None else f"; did you mean {meant}?"
    raise AttributeError(f"module 'simstore' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted(__all__)
