"""Read the output folder of ``simstore spark dedup`` without Spark."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, MissingExtra, NotFound, printable
from simstore.fingerprint.channels import Channels
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.schemes import open_scheme, scheme_of_json
from simstore.model import LABELS, Document, Rejection
from simstore.model.channels import duplicate_measure
from simstore.sources.fields import read_exported

MANIFEST = "manifest.json"
# The version of the folder's format.
VERSION = 1
_ROWS = 1_000
_EXPORTED = (
    "simstore_record", "key", "key_base64", "text", "text_base64", *LABELS,
    "metadata", "first_seen", "first_seen_basis", "last_seen", "links", "links_base64", "place",
)  # fmt: skip


class DedupedEdges(NamedTuple):
    """Verified edges between texts.

    Attributes:
        digests: BLAKE2b-128 of the texts, ``V16``, ascending, shape (texts,).
        first: The one text of each edge, int64, shape (edges,).
        second: The other.
        resemblance: float64, shape (edges,).
    """

    digests: NDArray[np.void]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    resemblance: NDArray[np.float64]


class DedupedOutput:
    """The folder that ``simstore spark dedup`` wrote: documents and edges.

    Args:
        path: The folder.

    Raises:
        NotFound: No run has finished there.
        InvalidParameter: It was written by a newer simstore, or is damaged.
        SchemeMismatch: This installation makes other fingerprints.
        MissingExtra: PyArrow is not installed.
    """

    def __init__(self, path: str) -> None:
        try:
            from pyarrow import parquet
        except ImportError as error:
            raise MissingExtra("Parquet", "parquet") from error
        self._parquet: Any = parquet
        self.path = path
        place = Path(path, MANIFEST)
        try:
            manifest = json.loads(place.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(
                f"{printable(path)}: no finished run of `simstore spark dedup` (no {MANIFEST})"
            ) from None
        except (OSError, ValueError) as error:
            raise InvalidParameter(f"{printable(str(place))} cannot be read ({error})") from None
        try:
            if manifest["simstore_spark"] != VERSION:
                raise InvalidParameter(
                    f"{printable(str(place))} is of version {manifest['simstore_spark']}; this "
                    f"simstore reads version {VERSION}"
                )
            rule = manifest["rule"]
            self.scheme: Scheme = open_scheme(scheme_of_json(rule["scheme"]))
            self.channels = Channels.from_record(
                rule["channels"], self.scheme.normalization, self.scheme.label
            )
            self.radius = int(rule["radius"])
            self.min_resemblance = float(rule["min_resemblance"])
            self.policy = str(rule["policy"])
            self.document_count = int(manifest["run"]["document_count"])
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidParameter(
                f"{printable(str(place))} is damaged ({error!r}); run the job again"
            ) from None

    @property
    def is_by_characters(self) -> bool:
        """Return whether edges are those of runs of characters."""
        return duplicate_measure(self.channels.names) == "characters"

    def documents(self) -> Iterator[Document | Rejection]:
        """Yield the documents in the order of ingest.

        Some rows of each file are in memory at a time.
        """
        files = map(self._rows, self._files("documents"))
        for row in heapq.merge(*files, key=itemgetter("place")):
            place = row.pop("place")
            record = {name: value for name, value in row.items() if value is not None}
            try:
                yield read_exported(record, place, 0, 0)
            except ValueError as error:
                yield Rejection(self.path, place, 0, 0, str(error))

    def edges(self) -> DedupedEdges:
        """Return the edges between texts.

        They take 40 bytes a text and 24 an edge.
        """
        numbers = self._column("texts", "text_id")
        texts = (one for part in self._parts("texts", "digest") for one in part.to_pylist())
        digests = np.frombuffer(b"".join(map(bytes.fromhex, texts)), "V16")
        order = np.argsort(digests.view("S16"), kind="stable")
        place_of = np.empty(len(numbers), np.int64)
        place_of[order] = np.arange(len(numbers))
        places = np.argsort(numbers)
        first, second = (
            place_of[places[np.searchsorted(numbers[places], self._column("pairs", name))]]
            for name in ("first", "second")
        )
        return DedupedEdges(digests[order], first, second, self._column("pairs", "resemblance"))

    def _files(self, table: str) -> list[Path]:
        return sorted(Path(self.path, table).glob("*.parquet"))

    def _column(self, table: str, name: str) -> Any:
        parts = [part.to_numpy() for part in self._parts(table, name)]
        kind = np.float64 if name == "resemblance" else np.int64
        return np.concatenate(parts) if parts else np.empty(0, kind)

    def _parts(self, table: str, name: str) -> Iterator[Any]:
        for file in self._files(table):
            yield self._parquet.read_table(file, columns=[name], partitioning=None).column(0)

    def _rows(self, file: Path) -> Iterator[dict[str, Any]]:
        held = self._parquet.ParquetFile(file)
        for batch in held.iter_batches(_ROWS, columns=list(_EXPORTED)):
            yield from batch.to_pylist()
