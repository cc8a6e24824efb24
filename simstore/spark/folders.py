"""Read and write Parquet tables and a manifest in an output folder, on any Hadoop file system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simstore.errors import InvalidParameter
from simstore.sources.spark_results import MANIFEST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Folder:
    """A folder of a file system that Hadoop knows; a plain path is one of this machine.

    Args:
        spark: A session.
        path: The folder.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark: Any = spark
        jvm: Any = self._spark.sparkContext._jvm
        configuration = self._spark.sparkContext._jsc.hadoopConfiguration()
        given = jvm.org.apache.hadoop.fs.Path(path)
        self._system = given.getFileSystem(configuration)
        self._folder = self._system.makeQualified(given)
        self._jvm = jvm

    def __str__(self) -> str:
        return str(self._folder.toString())

    def of(self, *names: str) -> str:
        """Return the place of something in it."""
        return "/".join((str(self), *names))

    def names(self) -> list[str]:
        """Return the names of what is in it; none where there is no such folder."""
        if not self._system.exists(self._folder):
            return []
        return sorted(one.getPath().getName() for one in self._system.listStatus(self._folder))

    def remove(self, *names: str) -> None:
        """Remove something in it, with all that is below."""
        self._system.delete(self._jvm.org.apache.hadoop.fs.Path(self.of(*names)), True)

    def read_manifest(self) -> dict[str, Any] | None:
        """Return the manifest; None where there is none.

        Raises:
            InvalidParameter: It is damaged.
        """
        place = self._jvm.org.apache.hadoop.fs.Path(self.of(MANIFEST))
        if not self._system.exists(place):
            return None
        stream = self._system.open(place)
        try:
            data = bytes(stream.readAllBytes())
        finally:
            stream.close()
        try:
            manifest: dict[str, Any] = json.loads(data)
        except ValueError as error:
            raise InvalidParameter(f"{self.of(MANIFEST)} is damaged ({error})") from None
        return manifest

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write a manifest, which is there as a whole or not at all."""
        paths = self._jvm.org.apache.hadoop.fs
        new = paths.Path(self.of(f".{MANIFEST}.new"))
        stream = self._system.create(new, True)
        try:
            stream.write(bytearray(json.dumps(manifest, indent=2).encode()))
        finally:
            stream.close()
        self._system.rename(new, paths.Path(self.of(MANIFEST)))

    def write(self, frame: DataFrame, *names: str) -> DataFrame:
        """Write a table as Parquet, and return what is read of it."""
        # Spark's pages and its log of events name the step that a job belongs to.
        self._spark.sparkContext.setJobDescription("/".join(names))
        frame.write.mode("overwrite").parquet(self.of(*names))
        return self.read(frame.schema, *names)

    def write_counting(
        self, frame: DataFrame, counted: Mapping[str, Any], *names: str
    ) -> tuple[DataFrame, dict[str, int]]:
        """Write a table as :meth:`write` does, and count its rows in the same job.

        Args:
            frame: The rows.
            counted: Aggregates of the rows, by the names of their counts.
            names: The place of the table.

        Returns:
            What is read of it, and its counts; 0 stands for an aggregate that is null.
        """
        from pyspark.sql import Observation

        observed = Observation()
        aggregates = [column.alias(name) for name, column in counted.items()]
        found = self.write(frame.observe(observed, *aggregates), *names)
        told = observed.get
        if told.keys() != counted.keys():
            # Spark drops what it observes where it knows beforehand that there is no row.
            [row] = found.agg(*aggregates).collect()
            told = row.asDict()
        return found, {name: int(value or 0) for name, value in told.items()}

    def write_counted(self, frame: DataFrame, *names: str) -> tuple[DataFrame, int]:
        """Write a table as :meth:`write` does; return what is read of it, and how many rows."""
        from pyspark.sql import functions as f

        found, counts = self.write_counting(frame, {"rows": f.count(f.lit(1))}, *names)
        return found, counts["rows"]

    def read(self, schema: Any, *names: str) -> DataFrame:
        """Return the rows of a table that was written."""
        found: DataFrame = self._spark.read.schema(schema).parquet(self.of(*names))
        return found
