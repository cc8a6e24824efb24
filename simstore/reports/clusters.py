"""Clusters: rows of a table, JSON Lines, CSV; a line a document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from simstore.errors import printable
from simstore.reports.lines import key_bytes, key_text, rounded, to_json

if TYPE_CHECKING:
    from simstore.model import Cluster, ClusterMember

CSV_COLUMNS = ("cluster", "key", "document_id", "resemblance", "distance", "basis", "likeness")


def table_columns(*, likeness: bool) -> tuple[str, ...]:
    """Return the columns of a table, with or without likeness."""
    return ("cluster", "key", "resemblance", *(["likeness"] * likeness), "distance")


def table_rows(clusters: Iterable[Cluster], *, likeness: bool) -> Iterator[tuple[Any, ...]]:
    """Yield a row a document; the cluster stands in the first of its rows.

    Estimates of resemblance are marked with a tilde.
    """
    for cluster in clusters:
        for place, member in enumerate(cluster.members):
            alike = [f"{member.likeness or 0:.3f}"] * likeness
            head = "" if place else cluster.key
            yield head, member.key, _share(member), *alike, member.distance


def render_jsonl(clusters: Iterable[Cluster]) -> Iterator[bytes]:
    """Yield one JSON object a document; keys that are not UTF-8 have their bytes in base64 too."""
    for cluster in clusters:
        for member in cluster.members:
            record = {
                "cluster": key_text(cluster.key),
                **key_bytes("cluster", cluster.key),
                "key": key_text(member.key),
                **key_bytes("key", member.key),
                "document_id": member.document_id,
                "resemblance": rounded(member.resemblance),
                "distance": member.distance,
                "basis": member.basis,
                "likeness": rounded(member.likeness),
            }
            yield to_json(record).encode() + b"\n"


def render_csv(clusters: Iterable[Cluster]) -> Iterator[bytes]:
    """Yield a header and one row a document."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for cluster in clusters:
        for member in cluster.members:
            writer.writerow(
                (
                    printable(cluster.key),
                    printable(member.key),
                    member.document_id,
                    rounded(member.resemblance),
                    member.distance,
                    member.basis,
                    rounded(member.likeness),
                )
            )
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _share(member: ClusterMember) -> str:
    return f"{'~' if member.basis == 'sketch' else ''}{member.resemblance:.3f}"
