"""Manage the output of a run: a folder of Parquet files for each table, and a manifest.

The manifest is written last: without it, the run has not finished.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simstore.errors import Conflict, InvalidParameter, NotFound, printable
from simstore.sources.spark_results import MANIFEST, VERSION
from simstore.spark.clusters import CLUSTER_COLUMNS
from simstore.spark.folders import Folder
from simstore.spark.options import SKETCH_COLUMNS, Recipe
from simstore.spark.reading import DOCUMENT_COLUMNS
from simstore.spark.verifying import EDGE_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORK = "_work"
COLUMNS = {
    "documents": f"{DOCUMENT_COLUMNS}, record bigint, major bigint",
    "texts": "text_id bigint, digest string, w0 bigint, w1 bigint, "
    "feature_count bigint, shingle_count bigint, byte_count bigint, "
    + ", ".join(f"{name} binary" for name in SKETCH_COLUMNS.values()),
    "pairs": f"{EDGE_COLUMNS}, first_key string, second_key string",
    "clusters": CLUSTER_COLUMNS,
    "rejects": "source string, position bigint, byte_offset bigint, rejected string, head binary",
}


@dataclass(slots=True)
class Output:
    """The tables of a run.

    Attributes:
        folder: Where they are.
        manifest: The rule of the run, and once it has finished, its summary.
    """

    folder: Folder
    manifest: dict[str, Any]

    @classmethod
    def begun(cls, folder: Folder, recipe: Recipe) -> Output:
        """Return the output that a run is to write to; what a killed run left is removed.

        Raises:
            Conflict: A run has finished there, or there is something else.
        """
        if folder.read_manifest() is not None:
            raise Conflict(
                f"{printable(str(folder))} holds the result of a run; name another folder"
            )
        others = set(folder.names()) - COLUMNS.keys() - {WORK}
        if others:
            raise Conflict(
                f"{printable(str(folder))} is not empty ({printable(min(others))}); name "
                "another folder"
            )
        for name in (*COLUMNS, WORK):
            folder.remove(name)
        return cls(folder, {"simstore_spark": VERSION, "rule": recipe.as_json()})

    def table(self, name: str) -> DataFrame:
        """Return the rows of a table."""
        return self.folder.read(COLUMNS[name], name)

    def documents(self) -> DataFrame:
        """Return the documents, each key once."""
        return self.table("documents")

    def texts(self) -> DataFrame:
        """Return the texts of the documents, each once."""
        return self.table("texts")

    def edges(self) -> DataFrame:
        """Return the verified edges between texts.

        All that lead to a canonical text are there; between two members those that were met.
        """
        return self.table("pairs")

    def write(self, name: str, frame: DataFrame) -> DataFrame:
        """Write a table; it is valid once the manifest is there."""
        chosen = frame.select(*_names(name))
        if name == "documents":
            # Whoever reads the files one beside the other finds the order of ingest.
            chosen = chosen.sortWithinPartitions("place")
        self.folder.write(chosen, name)
        return self.table(name)

    def write_counting(
        self, name: str, frame: DataFrame, counted: Mapping[str, Any]
    ) -> dict[str, int]:
        """Write rows as :meth:`write` does; return aggregates of them, by their names."""
        _, counts = self.folder.write_counting(frame.select(*_names(name)), counted, name)
        return counts

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Make the run valid; remove what only it needed."""
        self.manifest["run"] = dict(summary)
        self.folder.write_manifest(self.manifest)
        self.folder.remove(WORK)


def _names(table: str) -> list[str]:
    """Return the names of the columns of a table."""
    return [column.split()[0] for column in COLUMNS[table].split(",")]


def read_output(spark: SparkSession, path: str) -> Output:
    """Return the output of a run, as Spark DataFrames.

    Raises:
        NotFound: No run has finished there.
        InvalidParameter: Another version of simstore wrote it.
    """
    folder = Folder(spark, path)
    manifest = folder.read_manifest()
    if manifest is None:
        raise NotFound(f"{printable(path)}: no finished run of `simstore spark dedup`")
    if manifest.get("simstore_spark") != VERSION:
        raise InvalidParameter(
            f"{folder.of(MANIFEST)}: no output of this version of simstore ({VERSION})"
        )
    return Output(folder, manifest)
