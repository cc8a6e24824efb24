"""Clusters: rows of a table, JSON Lines, CSV; a line a document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from simstore.errors import printable
from simstore.model import Cluster, ClusterMember
from simstore.reports.lines import key_bytes, key_text, rounded, to_json

COLUMNS = ("cluster", "key", "resemblance", "distance")
CSV_COLUMNS = ("cluster", "key", "document_id", "resemblance", "distance", "basis")


def table_rows(clusters: Iterable[Cluster]) -> Iterator[tuple[str, str, str, int | None]]:
    """Yield a row a document; the cluster stands in the first of its rows.

    Estimates of resemblance are marked with a tilde.
    """
    for cluster in clusters:
        for place, member in enumerate(cluster.members):
            yield ("" if place else cluster.key, member.key, _share(member), member.distance)


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
                )
            )
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _share(member: ClusterMember) -> str:
    return f"{'~' if member.basis == 'sketch' else ''}{member.resemblance:.3f}"
