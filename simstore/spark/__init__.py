"""Near-duplicate detection on Apache Spark, by the same schemes and rules as in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simstore.spark.job import dedup as dedup
    from simstore.spark.job import dedup_frame as dedup_frame
    from simstore.spark.options import DedupOptions as DedupOptions
    from simstore.spark.output import read_output as read_output
    from simstore.spark.session import make_session as make_session

_HOMES = {
    "DedupOptions": "simstore.spark.options",
    "dedup": "simstore.spark.job",
    "dedup_frame": "simstore.spark.job",
    "make_session": "simstore.spark.session",
    "read_output": "simstore.spark.output",
}
__all__ = ["DedupOptions", "dedup", "dedup_frame", "make_session", "read_output"]


def __getattr__(name: str) -> Any:
    """Import a name on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
