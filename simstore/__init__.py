"""simstore: a near-duplicate store for text, in one SQLite file that remembers.

>>> from simstore import Store
>>> with Store.open("crawl.db", create=True) as store:
...     store.add("a", "the text of a page")
...     store.query("the text of a page")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simstore.version import __version__

if TYPE_CHECKING:
    from simstore.errors import SimstoreError
    from simstore.known_filter import KnownFilter
    from simstore.model import (
        Comparison,
        Document,
        IngestSummary,
        Match,
        QueryOptions,
        QueryRun,
        SampleResult,
    )
    from simstore.reports.frames import to_frame
    from simstore.services.compare.compare import compare_texts
    from simstore.services.compare.compared import CompareOptions
    from simstore.store import Store

__all__ = [
    "CompareOptions",
    "Comparison",
    "Document",
    "IngestSummary",
    "KnownFilter",
    "Match",
    "QueryOptions",
    "QueryRun",
    "SampleResult",
    "SimstoreError",
    "Store",
    "__version__",
    "compare_texts",
    "to_frame",
]

_MODULES = {
    "CompareOptions": "services.compare.compared",
    "Comparison": "model",
    "Document": "model",
    "IngestSummary": "model",
    "KnownFilter": "known_filter",
    "Match": "model",
    "QueryOptions": "model",
    "QueryRun": "model",
    "SampleResult": "model",
    "SimstoreError": "errors",
    "Store": "store",
    "compare_texts": "services.compare.compare",
    "to_frame": "reports.frames",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``import simstore`` is cheap (PEP 562)."""
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(f"simstore.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'simstore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
