"""Spark answers as the store does: fingerprints, pairs and clusters, whatever way they came."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (the extra spark)")

import numpy as np

from simstore import Store, dedup_rows
from simstore.errors import Conflict, InvalidParameter, JobFailed
from simstore.fingerprint.web import WebScheme
from simstore.services.clusters.cluster import ClusterOptions
from simstore.sources.reader import HistoryFields, ReadOptions
from simstore.spark import DedupOptions, dedup, dedup_frame, read_output
from simstore.spark.session import failures

from . import corpus
from .executors import executors, kill_one

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

READ = ReadOptions(history_fields=HistoryFields(seen="seen"))
# Small, so that crowded keys are cut and rounds are done by the cluster.
OPTIONS = DedupOptions(read=READ, cell_rows=16, few_edges=20)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return corpus.write(tmp_path_factory.mktemp("in"), corpus.documents(1_500, 7), 5)


@pytest.fixture(scope="module")
def store(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store.create(tmp_path_factory.mktemp("store") / "s.db")
    made.ingest(names, read=READ)
    made.clusters.build()
    return made


@pytest.fixture(scope="module")
def whole(spark: SparkSession, names: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "out"
    dedup(spark, names, str(folder), OPTIONS)
    return folder


def stars(spark: SparkSession, folder: Path) -> list[corpus.Star]:
    rows = read_output(spark, str(folder)).table("clusters").toArrow().to_pylist()
    return corpus.stars_of_rows(rows)


def test_documents_and_fingerprints_are_those_of_the_store(
    spark: SparkSession, whole: Path, store: Store
) -> None:
    rows = read_output(spark, str(whole)).documents().orderBy("place").toArrow().to_pylist()
    stored = list(store.list())
    assert [row["key"] for row in rows] == [one.key for one in stored]
    assert [row["fingerprint"] for row in rows] == [one.fingerprint for one in stored]
    assert [row["digest"] for row in rows] == [one.digest for one in stored]


def test_clusters_are_those_of_the_store(spark: SparkSession, whole: Path, store: Store) -> None:
    found = stars(spark, whole)
    assert len(found) > 100
    assert found == corpus.stars_of_store(store)


def test_every_member_of_the_exact_join_is_there_with_its_evidence(
    spark: SparkSession, names: list[str], store: Store, whole: Path, tmp_path: Path
) -> None:
    """At a resemblance of 0.8 the channels miss practically nothing, so the join is the oracle."""
    out = tmp_path / "out"
    dedup(spark, names, str(out), replace(OPTIONS, min_resemblance=0.8))
    found = {(row[0], member[0]) for row in stars(spark, out) for member in row[1]}
    exact = store.clusters.once(ClusterOptions(min_resemblance=0.8, exact_join=True))
    expected = {
        (cluster.key, member.key)
        for cluster in exact.clusters
        if len(cluster.members) > 1
        for member in cluster.members
    }
    assert len(expected) > 100
    assert found == expected
    rows = read_output(spark, str(whole)).edges().toArrow().to_pylist()
    assert all(row["by_fingerprint"] or row["by_sketch"] for row in rows)
    assert any(not row["by_fingerprint"] for row in rows)
    assert all(row["distance"] <= 3 for row in rows if row["by_fingerprint"])
    assert any(row["distance"] == 3 for row in rows)
    pairs = [(row["first"], row["second"]) for row in rows]
    assert len(pairs) == len(set(pairs))


@pytest.mark.thorough
def test_a_frame_gives_what_its_file_gives(
    spark: SparkSession, names: list[str], whole: Path, tmp_path: Path
) -> None:
    records = corpus.documents(1_500, 7)
    columns = {name: [one.get(name) for one in records] for name in ("key", "text", "seen")}
    rows = list(zip(*columns.values(), strict=True))
    part = spark.sparkContext.parallelize(rows, 3)
    frame = spark.createDataFrame(part, "key string, text string, seen bigint")
    dedup_frame(frame, str(tmp_path / "out"), OPTIONS)
    assert stars(spark, tmp_path / "out") == stars(spark, whole)


@pytest.mark.parametrize("policy", ["first", "longest"])
def test_rows_are_duplicates_of_the_same_rows_as_for_dedup(
    spark: SparkSession, tmp_path: Path, policy: str
) -> None:
    records = [
        {"id": f"{place}", "text": record["text"]}
        for place, record in enumerate(corpus.documents(400, 11))
    ]
    names = corpus.write(tmp_path, records, 3)
    dedup(spark, names, str(tmp_path / "out"), DedupOptions(policy=policy))
    rows = read_output(spark, str(tmp_path / "out")).table("clusters").toArrow().to_pylist()
    dedup_rows(names, tmp_path / "marked.jsonl", mark=True, policy=policy)
    lines = (tmp_path / "marked.jsonl").read_text("utf-8").splitlines()
    marked = {row["id"]: row for row in map(json.loads, lines)}
    assert len(marked) == 400
    expected = {
        key: (row["duplicate_of"], row["resemblance"])
        for key, row in marked.items()
        if row["duplicate_of"] is not None
    }
    assert len(expected) > 50
    assert {
        row["key"]: (row["duplicate_of"], round(row["resemblance"], 6))
        for row in rows
        if row["duplicate_of"] is not None
    } == expected
    # Rows are of one cluster here where they are there; the numbers are each other's own.
    numbers = {(marked[row["key"]]["cluster"], row["cluster"]) for row in rows}
    assert len(numbers) == len({one for one, _ in numbers}) == len({other for _, other in numbers})
    assert {row["key"] for row in rows} == {key for key, row in marked.items() if row["cluster"]}


def test_an_executor_that_is_killed_changes_nothing(
    spark: SparkSession, names: list[str], whole: Path, tmp_path: Path
) -> None:
    killed: list[int] = []

    def on_stage(stage: str) -> None:
        if stage == "looking for candidates":
            threading.Thread(target=lambda: killed.append(kill_one(spark))).start()

    dedup(spark, names, str(tmp_path / "out"), OPTIONS, on_stage=on_stage)
    assert killed
    assert killed[0]
    assert stars(spark, tmp_path / "out") == stars(spark, whole)


def test_a_worker_that_is_killed_each_time_is_told_in_one_line_with_a_remedy(
    spark: SparkSession,
) -> None:
    def dies(batches: Iterator[Any]) -> Iterator[Any]:
        """What the system does to a worker that takes more memory than there is."""
        for _ in batches:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from ()

    with pytest.raises(JobFailed, match=r"spark\.executor\.memory=4g") as failed, failures():
        spark.range(3).mapInArrow(dies, "id bigint").count()
    assert "\n" not in str(failed.value)


@pytest.mark.thorough
def test_an_executor_that_runs_out_of_memory_is_told_in_one_line_with_a_remedy(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A text of 1 GB does not fit into an executor of 800 MB, how often it is tried again."""
    from pyspark.sql import functions as f

    # Of the row, or the driver would make the text, as it is the same in all rows.
    text = f.repeat(f.concat(f.lit("one two three four "), f.col("id")), 60_000_000)
    frame = spark.range(1).select(f.col("id").cast("string").alias("key"), text.alias("text"))
    before = executors(spark)
    with pytest.raises(JobFailed, match=r"spark\.executor\.memory=4g") as failed:
        dedup_frame(frame, str(tmp_path / "out"), OPTIONS)
    assert "\n" not in str(failed.value)
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert set(executors(spark)) != set(before), "no executor has ended"


def test_wrong_use_is_told_before_anything_is_written(
    spark: SparkSession, names: list[str], whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(Conflict, match="holds the result of a run"):
        dedup(spark, names, str(whole), OPTIONS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(Conflict, match=r"notes\.txt"):
        dedup(spark, names, str(tmp_path / "mine"), OPTIONS)
    with pytest.raises(InvalidParameter, match="depend on all documents"):
        dedup(spark, names, str(out), DedupOptions(scheme=WebScheme(weights="idf")))
    with pytest.raises(InvalidParameter, match="standard input"):
        dedup(spark, ["-"], str(out), OPTIONS)
    assert not out.exists()


def test_a_source_that_goes_away_is_told_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    [name] = corpus.write(tmp_path, corpus.documents(3, 1), 1)

    def on_stage(_: str) -> None:
        Path(name).unlink(missing_ok=True)

    with pytest.raises(JobFailed, match=r"part-0\.jsonl") as failed:
        dedup(spark, [name], str(tmp_path / "out"), OPTIONS, on_stage=on_stage)
    assert "\n" not in str(failed.value)


@pytest.mark.thorough
def test_records_that_cannot_be_used_are_told(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text('{"key": "a", "text": "one two three"}\nno json\n{"key": "b"}\n')
    foreign = tmp_path / "gbk.txt"
    foreign.write_bytes("人人生而自由，在尊严和权利上一律平等。".encode("gbk"))
    names = [str(path), str(foreign)]
    summary = dedup(spark, names, str(tmp_path / "out"), DedupOptions())
    assert (summary.read_count, summary.rejected_count, summary.detected_count) == (2, 2, 1)
    rows: Any = read_output(spark, str(tmp_path / "out")).table("rejects")
    told = {row["position"]: row["rejected"] for row in rows.toArrow().to_pylist()}
    assert "not JSON" in told[1]
    assert "no text" in told[2]


def test_output_becomes_a_store_that_compares_nothing_again(
    whole: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simstore.services.clusters import verified_edges
    from simstore.sources.spark_results import DedupedOutput
    from simstore.store import create_for_output

    output = DedupedOutput(str(whole))
    with create_for_output(tmp_path / "made.db", output) as made:
        monkeypatch.setattr(
            verified_edges.EdgeFinder, "spokes", lambda *_: pytest.fail("compared again")
        )
        done = made.maintenance.import_deduped(output)
        summary, kept = done.documents, done.clusters
        assert summary.added == len(list(store.list()))
        assert kept is not None
        assert corpus.stars_of_store(made) == corpus.stars_of_store(store)
        assert [one.key for one in made.list()] == [one.key for one in store.list()]
        assert not list(made.maintenance.fsck())
        again = made.maintenance.import_deduped(output, clusters=False).documents
        assert (again.added, again.updated) == (0, 0)


@pytest.mark.thorough
def test_copies_of_one_page_are_compared_once(spark: SparkSession, tmp_path: Path) -> None:
    """10,000 copies of a template are one text, and no pair; empty pages duplicate nothing."""
    page = "Page not found. The page that you asked for is not here, or has not been for long."
    records = [{"key": f"copy {n}", "text": page} for n in range(10_000)]
    records += [{"key": f"empty {n}", "text": ""} for n in range(10_000)]
    records.append({"key": "other", "text": f"{page} Look for it elsewhere."})
    names = corpus.write(tmp_path, records, 2)
    summary = dedup(spark, names, str(tmp_path / "out"), DedupOptions())
    assert (summary.document_count, summary.text_count) == (20_001, 10_002)
    assert (summary.compared_count, summary.edge_count) == (1, 1)
    assert summary.dropped_count == 10_000
    assert summary.cluster_count == 1


def test_pairs_are_those_that_the_channels_of_the_store_find(whole: Path, store: Store) -> None:
    from simstore.model import LeastShares
    from simstore.services.clusters.distinct_texts import read_contents
    from simstore.services.clusters.verified_edges import EdgeFinder
    from simstore.sources.spark_results import DedupedOutput

    opened = store._opened
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        held = read_contents(snapshot)
        # The policy's: texts by the first-seen time of their earliest document.
        texts = held.texts[np.argsort(held.first_seen, kind="stable")]
        order = texts[np.sort(np.unique(texts, return_index=True)[1])]
        spokes = EdgeFinder(snapshot, held, LeastShares(0.5)).spokes(order, 3)
    found = DedupedOutput(str(whole)).edges()

    def pairs(
        digests: Any, one: Any, other: Any, shares: Any
    ) -> set[tuple[frozenset[bytes], float]]:
        names = [digest.tobytes() for digest in digests]
        return {
            (frozenset((names[a], names[b])), share)
            for a, b, share in zip(one.tolist(), other.tolist(), shares.tolist(), strict=True)
        }

    # A store looks for edges to canonical documents only.
    expected = pairs(held.digests, spokes.texts, spokes.centres, spokes.resemblance)
    assert len(expected) > 100
    assert expected <= pairs(*found)


@pytest.mark.thorough
def test_a_family_of_one_template_is_not_compared_pair_by_pair(
    spark: SparkSession, tmp_path: Path
) -> None:
    """800 pages have 319,600 pairs; those that matter lead to canonical pages."""
    rng = random.Random(3)
    held = rng.choices(corpus.WORDS, k=120)
    records = [
        {
            "key": f"page {number}",
            "text": " ".join(
                word if rng.random() < 0.96 else str(rng.randrange(10**6)) for word in held
            ),
        }
        for number in range(800)
    ]
    names = corpus.write(tmp_path, records, 2)
    summary = dedup(spark, names, str(tmp_path / "out"), OPTIONS)
    with Store.create(tmp_path / "s.db") as store:
        store.ingest(names)
        store.clusters.build()
        assert stars(spark, tmp_path / "out") == corpus.stars_of_store(store)
        canonical_count = 800 - summary.dropped_count
    assert summary.dropped_count > 400
    assert summary.candidate_count <= 800 * (canonical_count + 2)
    assert summary.edge_count < 30_000
