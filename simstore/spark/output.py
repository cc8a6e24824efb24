"""Manage the output of runs: Parquet tables, a folder for each run, a manifest of valid folders.

A run adds rows and never changes a file. A row of a document that a later run replaced is named in
the table ``superseded``. The manifest says which folders are valid, and is written last: a run that
is killed changes nothing.
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
    "texts": "text_id bigint, digest string, holder bigint, w0 bigint, w1 bigint, "
    "feature_count bigint, shingle_count bigint, byte_count bigint, "
    + ", ".join(f"{name} binary" for name in SKETCH_COLUMNS.values()),
    "pairs": f"{EDGE_COLUMNS}, first_key string, second_key string",
    "clusters": CLUSTER_COLUMNS,
    "rejects": "source string, position bigint, byte_offset bigint, rejected string, head binary",
    "superseded": "record bigint",
    "unasked": "text_id bigint",
}


@dataclass(slots=True)
class Output:
    """The tables of all runs so far.

    Attributes:
        folder: Where they are.
        manifest: What of them is valid.
    """

    folder: Folder
    manifest: dict[str, Any]

    @classmethod
    def begun(cls, folder: Folder, recipe: Recipe, *, add: bool) -> Output:
        """Return the output that a run is to write to.

        Raises:
            Conflict: There is something already, or something else.
            NotFound: There is nothing to add to.
            InvalidParameter: What is there was made by another rule.
        """
        found = opened(folder)
        if found is None:
            if add:
                raise NotFound(
                    f"{printable(str(folder))}: no finished run to add to; leave out --add"
                )
            others = set(folder.names()) - COLUMNS.keys() - {WORK}
            if others:
                raise Conflict(
                    f"{printable(str(folder))} is not empty ({printable(min(others))}); name "
                    "another folder"
                )
            made = {"simstore_spark": VERSION, "rule": recipe.as_json(), "next_source": 0}
            return cls(folder, made | {"runs": [], "tables": {name: [] for name in COLUMNS}})
        if not add:
            raise Conflict(
                f"{printable(str(folder))} holds the result of a run; add to it with --add, or "
                "name another folder"
            )
        for name, value in recipe.as_json().items():
            if found.manifest["rule"].get(name) != value:
                raise InvalidParameter(
                    f"{printable(str(folder))} was made by another {name.replace('_', ' ')}: add "
                    "to it by the same options, or name another folder"
                )
        return found

    @property
    def run(self) -> str:
        """Return the name of the folder of the run that is under way."""
        return f"run={len(self.manifest['runs']) + 1}"

    def table(self, name: str) -> DataFrame:
        """Return all rows of a table, those that are superseded too."""
        return self.folder.read(
            COLUMNS[name], [(name, run) for run in self.manifest["tables"][name]]
        )

    def of_run(self, name: str) -> DataFrame | None:
        """Return the rows of a table that the run under way has written; None: it has none."""
        if self.manifest["tables"][name][-1:] != [self.run]:
            return None
        return self.folder.read(COLUMNS[name], [(name, self.run)])

    def documents(self) -> DataFrame:
        """Return the documents, each key once."""
        every = self.table("documents")
        if not self.manifest["tables"]["superseded"]:
            return every
        return every.join(self.table("superseded"), "record", "left_anti")

    def texts(self) -> DataFrame:
        """Return the texts that a document has, each once."""
        every = self.table("texts")
        if not self.manifest["tables"]["superseded"]:
            return every
        gone = self.table("superseded").withColumnRenamed("record", "holder")
        return every.join(gone, "holder", "left_anti")

    def edges(self) -> DataFrame:
        """Return the verified edges between texts that a document has.

        All that lead to a canonical text of the latest run are there; between two members those
        that were met.
        """
        every = self.table("pairs")
        if not self.manifest["tables"]["superseded"]:
            return every
        for side in ("first", "second"):
            held = self.texts().select("text_id").withColumnRenamed("text_id", side)
            every = every.join(held, side, "left_semi")
        return every

    def add(self, name: str, frame: DataFrame) -> DataFrame:
        """Write rows of the run to a table; they are valid once the manifest says so."""
        chosen = frame.select(*_names(name))
        if name == "documents":
            # Whoever reads the files one beside the other finds the order of ingest.
            chosen = chosen.sortWithinPartitions("place")
        self.folder.write(chosen, name, self.run)
        self.manifest["tables"][name].append(self.run)
        return self.folder.read(COLUMNS[name], [(name, self.run)])

    def add_counting(
        self, name: str, frame: DataFrame, counted: Mapping[str, Any]
    ) -> dict[str, int]:
        """Write rows as :meth:`add` does; return aggregates of them, by their names."""
        _, counts = self.folder.write_counting(frame.select(*_names(name)), counted, name, self.run)
        self.manifest["tables"][name].append(self.run)
        return counts

    def finish(self, facts: Mapping[str, Any], next_source: int) -> None:
        """Make the run valid; forget what only it needed."""
        tables = self.manifest["tables"]
        old, tables["clusters"] = tables["clusters"][:-1], tables["clusters"][-1:]
        tables["unasked"] = tables["unasked"][-1:]
        self.manifest["runs"].append(dict(facts))
        self.manifest["next_source"] = next_source
        self.folder.write_manifest(self.manifest)
        for run in old:
            self.folder.remove("clusters", run)
            self.folder.remove("unasked", run)
        self.folder.remove(WORK)


def _names(table: str) -> list[str]:
    """Return the names of the columns of a table."""
    return [column.split()[0] for column in COLUMNS[table].split(",")]


def opened(folder: Folder) -> Output | None:
    """Return the output in a folder; None where no run has finished there.

    Raises:
        InvalidParameter: A newer simstore wrote it, or its manifest is damaged.
    """
    try:
        manifest = folder.read_manifest()
    except ValueError as error:
        raise InvalidParameter(f"{folder.of(MANIFEST)} is damaged ({error})") from None
    if manifest is None:
        return None
    if manifest.get("simstore_spark") != VERSION:
        raise InvalidParameter(
            f"{folder.of(MANIFEST)}: no output of this version of simstore ({VERSION})"
        )
    return Output(folder, manifest)


def read_output(spark: SparkSession, path: str) -> Output:
    """Return the output of runs in a folder, as Spark DataFrames.

    Raises:
        NotFound: No run has finished there.
    """
    found = opened(Folder(spark, path))
    if found is None:
        raise NotFound(f"{printable(path)}: no finished run of `simstore spark dedup`")
    return found
