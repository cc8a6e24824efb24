"""Spark's clusters by runs of characters are those of a store by the same channel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (the extra spark)")

from misspelt import documents

from simstore import Store
from simstore.spark import DedupOptions, dedup, read_output

from . import corpus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BY = ("characters",)
# Small, so that crowded keys are cut and rounds are done by the cluster.
OPTIONS: dict[str, Any] = {"channels": BY, "cell_rows": 16, "few_edges": 20}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    records = [{"key": key, "text": made} for key, made in documents(400, 5)]
    return corpus.write(tmp_path_factory.mktemp("in"), records, 4)


@pytest.fixture(scope="module")
def store(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store.create(tmp_path_factory.mktemp("store") / "s.db", channels=BY)
    made.ingest(names)
    return made


def clusters(store: Store, **options: Any) -> list[corpus.Star]:
    return corpus.stars_of(store.clusters.once(channels=BY, **options))


def stars(spark: SparkSession, folder: Path) -> list[corpus.Star]:
    rows = read_output(spark, str(folder)).table("clusters").toArrow().to_pylist()
    return corpus.stars_of_rows(rows)


def test_clusters_are_those_of_the_store(
    spark: SparkSession, names: list[str], store: Store, tmp_path: Path
) -> None:
    expected = clusters(store)
    assert sum(len(members) - 1 for _, members in expected) > 100
    assert expected == clusters(store, exact_join=True)
    summary = dedup(spark, names, str(tmp_path / "whole"), DedupOptions(**OPTIONS))
    assert stars(spark, tmp_path / "whole") == expected
    assert summary.keys is None
    # Few of the pairs that agree in a band by chance are compared by their texts.
    assert summary.compared_count < summary.candidate_count
    _is_imported(tmp_path / "whole", expected)


def _is_imported(folder: Path, expected: list[corpus.Star]) -> None:
    """Documents become a store; its clusters by the channel are these, and none are kept."""
    from simstore.sources.spark_results import DedupedOutput
    from simstore.store import create_for_output

    output = DedupedOutput(str(folder))
    with create_for_output(folder.with_suffix(".db"), output) as made:
        done = made.maintenance.import_deduped(output)
        assert done.clusters is None
        assert done.documents.added == 400
        assert made.clusters.status() is None
        assert clusters(made) == expected
        assert made.maintenance.fsck() == []
