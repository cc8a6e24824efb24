from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import texts
from stores import create, rows

from simstore import Document, Store
from simstore.errors import InvalidParameter, OutputExists, StorageError
from simstore.services.clusters.cluster import ClusterOptions
from simstore.services.export import export as export_module
from simstore.services.export.export import ExportOptions
from simstore.sources.streams import ByteStream

PAIRS = list(texts.pairs())
DOCUMENTS = [
    *(
        Document(
            f"http://{pair.language}/{pair.name}/{side}",
            getattr(pair, side),
            title=f"{pair.name} {side}" if side == "a" else None,
            collection=pair.language,
            metadata={
                "kind": pair.name,
                "nested": {"list": [1, 2.5, None, "ü"]},
                "key": "not the key",
            },
            links=("http://en/", "k\udcff") if side == "b" else (),
        )
        for pair in PAIRS
        for side in ("a", "b")
    ),
    Document("copy", PAIRS[0].a),
    Document("k\udcff", "bytes \udcfe that are not UTF-8\x85\u2028 and controls \x00\x1b"),
    Document("empty", ""),
    Document("dated", PAIRS[1].b, seen_at=1_700_000_000, published_at=1_600_000_000),
    Document("crawled", PAIRS[2].b, seen_at=1_650_000_000),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with create(tmp_path) as made:
        made.add_many(DOCUMENTS, threads=1)
        yield made


def records(path: Path) -> list[dict[str, Any]]:
    with ByteStream(str(path)).open() as stream:
        return [json.loads(line) for line in stream]


def contents(store: Store) -> dict[str, tuple[Any, ...]]:
    """Return what an export has to bring back of each document."""
    return {
        one.key: (one.text, one.title, one.collection, one.metadata)
        for one in store.list(with_text=True)
    }


def links(folder: Path) -> set[tuple[bytes, bytes]]:
    asked = "SELECT key, target FROM document_link JOIN document USING (document_id)"
    return set(rows(folder, asked))


def dates(folder: Path) -> dict[bytes, tuple[int, int]]:
    asked = "SELECT key, first_seen, last_seen FROM document"
    return {key: (first, last) for key, first, last in rows(folder, asked)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all.jsonl.gz", "all.jsonl.zst"])
def test_an_export_makes_the_same_store_again(store: Store, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    found = store.export(path)
    assert found.document_count == len(DOCUMENTS)
    assert found.text_bytes == sum(
        len(one.text.encode("utf-8", "surrogateescape")) for one in DOCUMENTS
    )
    (tmp_path / "again").mkdir()
    with create(tmp_path / "again") as again:
        summary = again.ingest([str(path)])
        assert (summary.added, summary.rejected) == (len(DOCUMENTS), 0)
        assert contents(again) == contents(store)
        assert [one.key for one in again] == [one.key for one in store]
    store.close()
    assert links(tmp_path / "again") == links(tmp_path) != set()
    assert dates(tmp_path / "again") == dates(tmp_path)


@pytest.mark.parametrize("policy", ["first", "prefer:/b$"])
def test_the_unique_part_is_one_document_a_cluster(
    store: Store, tmp_path: Path, policy: str
) -> None:
    store.clusters.build(policy=policy, min_resemblance=0.6)
    found = store.export(tmp_path / "unique.jsonl", ExportOptions("unique", 0.6))
    store.export(tmp_path / "rest.jsonl", ExportOptions("duplicates", 0.6))
    clusters = store.clusters.once(ClusterOptions(min_resemblance=0.6, policy=policy)).clusters
    stands_for = {one.key: each.key for each in clusters for one in each.members[1:]}
    unique = [one["key"] for one in records(tmp_path / "unique.jsonl")]
    order = [one.key for one in store]
    shown = {key.replace("\udcff", "\\xff") for key in stands_for}
    assert len(shown) > 5
    assert unique == [key.replace("\udcff", "\\xff") for key in order if key not in stands_for]
    rest = records(tmp_path / "rest.jsonl")
    assert {one["key"]: one["dropped_because"]["canonical"] for one in rest} == stands_for
    assert found.dropped_count == len(rest)
    assert found.cluster_count == len(clusters)
    for record in rest:
        why, place = record["dropped_because"], store.clusters.of(record["key"])
        assert place is not None
        assert why["canonical"] == place.canonical_key
        assert why["distance"] == place.member.distance
        assert why["resemblance"] == round(place.member.resemblance, 4)
        assert why["reason"] == (
            "same text" if place.member.basis == "same"
            else f"resemblance {place.member.resemblance:.3f} >= 0.6"
        )  # fmt: skip


@pytest.mark.slow
def test_what_is_left_out_can_be_put_back(store: Store, tmp_path: Path) -> None:
    unique, log = tmp_path / "unique.jsonl", tmp_path / "dropped.jsonl"
    found = store.export(unique, ExportOptions("unique", log=log, text=True))
    assert 0 < found.dropped_count < len(DOCUMENTS)
    (tmp_path / "again").mkdir()
    with create(tmp_path / "again") as again:
        again.ingest([str(unique)])
        assert len(again) == len(DOCUMENTS) - found.dropped_count
        assert (
            again.export(tmp_path / "x", ExportOptions("unique", dry_run=True)).dropped_count == 0
        )
        again.ingest([str(log)])
        assert contents(again) == contents(store)
        assert not again.maintenance.fsck()
    store.close()
    assert dates(tmp_path / "again") == dates(tmp_path)
    assert links(tmp_path / "again") == links(tmp_path)


def test_a_dry_run_counts_and_writes_nothing(store: Store, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    counted = store.export(
        tmp_path / "no", ExportOptions("unique", log=tmp_path / "l", dry_run=True)
    )
    assert set(tmp_path.iterdir()) - before <= {tmp_path / "s.db-wal", tmp_path / "s.db-shm"}
    written = store.export(tmp_path / "yes", ExportOptions("unique", log=tmp_path / "l"))
    assert counted == written
    assert written.text_bytes + written.dropped_bytes == store.stats().text_bytes
    assert written.document_count + written.dropped_count == len(DOCUMENTS)


def test_clusters_of_another_resemblance_do_not_decide(store: Store, tmp_path: Path) -> None:
    expected = store.clusters.once(min_resemblance=0.8).clusters
    store.clusters.build()
    store.close()
    with Store.open(tmp_path / "s.db", read_only=True) as reader:
        found = reader.export(tmp_path / "rest.jsonl", part="duplicates")
        assert found.dropped_count == sum(len(one.members) - 1 for one in expected)
        assert reader.clusters.status().min_resemblance == 0.5
    assert found.dropped_count == len(records(tmp_path / "rest.jsonl")) > 5


def test_the_clusters_of_a_collection_are_its_own(store: Store, tmp_path: Path) -> None:
    # The canonical document of all lies in another collection.
    text = PAIRS[0].a
    store.add("other", text, collection="other")
    store.add("other too", text, collection="other")
    options = ExportOptions("unique", collection="other", log=tmp_path / "log.jsonl")
    found = store.export(tmp_path / "unique.jsonl", options)
    assert [one["key"] for one in records(tmp_path / "unique.jsonl")] == ["other"]
    (left,) = records(tmp_path / "log.jsonl")
    assert left["key"] == "other too"
    assert left["dropped_because"]["canonical"] == "other"
    assert (found.document_count, found.dropped_count, found.cluster_count) == (1, 1, 1)
    store.export(tmp_path / "en.jsonl", ExportOptions(collection="en"))
    assert {one["collection"] for one in records(tmp_path / "en.jsonl")} == {"en"}


def test_keys_that_were_skipped_are_told_with_the_duplicates(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        store.add("first", PAIRS[0].a)
        summary = store.add_many([("skipped\udcff", PAIRS[0].a)], on_duplicate="skip")
        assert summary.skipped == 1
        found = store.export(tmp_path / "rest.jsonl", ExportOptions("duplicates"))
        assert (found.document_count, found.skipped_count) == (0, 1)
        (record,) = records(tmp_path / "rest.jsonl")
        assert record["key"] == "skipped\\xff"
        assert "text" not in record
        assert record["dropped_because"]["canonical"] == "first"
        summary = store.ingest([str(tmp_path / "rest.jsonl")])
        assert (summary.added, summary.rejected) == (0, 1)
        assert "exported without" in store.rejects.list()[0].rejection.reason


def test_a_store_without_texts_exports_what_it_has(tmp_path: Path) -> None:
    with create(tmp_path, text=False) as store:
        store.add_many(DOCUMENTS, threads=1)
        found = store.export(tmp_path / "all.jsonl")
        assert not found.text_kept
        assert found.document_count == len(DOCUMENTS)
        assert not any("text" in record for record in records(tmp_path / "all.jsonl"))
        unique = store.export(tmp_path / "unique.jsonl", ExportOptions("unique"))
        assert unique.dropped_count > 0
        store.export(tmp_path / "rest.jsonl", ExportOptions("duplicates"))
        reasons = {one["dropped_because"]["reason"] for one in records(tmp_path / "rest.jsonl")}
        assert "same text" in reasons
        assert any(reason.startswith("estimated resemblance") for reason in reasons)


def test_a_file_is_there_as_a_whole_or_not_at_all(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = tmp_path / "all.jsonl", tmp_path / "log.jsonl"
    path.write_text("before")
    with pytest.raises(OutputExists, match="replace=True"):
        store.export(path)
    assert path.read_text() == "before"

    def fail(_document: Any) -> bytes:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(export_module, "json_line", fail)
        with pytest.raises(RuntimeError):
            store.export(path, ExportOptions("unique", replace=True, log=log))
    assert path.read_text() == "before"
    assert not log.exists()
    assert not list(tmp_path.glob(".*"))
    store.export(path, ExportOptions(replace=True))
    assert len(records(path)) == len(DOCUMENTS)
    with pytest.raises(StorageError, match="cannot be written"):
        store.export(tmp_path / "none" / "all.jsonl")


def test_wrong_options_are_refused(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "x.jsonl"
    for options, words in (
        ({"part": "some"}, "part must be one of .*'some'"),
        ({"format": "xlsx"}, "format must be one of .*'xlsx'"),
        ({"log": tmp_path / "log"}, "unique part"),
        ({"part": "unique", "log": tmp_path / "." / "x.jsonl"}, "one file"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            store.export(target, **options)
    for name in ("x.tsv", "x.TSV.gz", "x.xml", "x.xlsx"):
        with pytest.raises(InvalidParameter, match="name the file"):
            store.export(tmp_path / name)
        assert not (tmp_path / name).exists()
    assert store.export(tmp_path / "x.xml", format="jsonl").document_count == len(store)
    with Store.create(tmp_path / "f.db", fingerprints_only=True) as bare:
        with pytest.raises(InvalidParameter):
            bare.export(target)
        with pytest.raises(InvalidParameter):
            bare.filters.known()
    assert not target.exists()


@pytest.mark.parquet
def test_parquet_holds_the_same_in_columns_for_people(store: Store, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs simstore[parquet]")
    columns = ["key", "text", "title", "collection", "metadata", "source", "first_seen",
               "last_seen", "links"]  # fmt: skip
    reasons = ["canonical", "distance", "resemblance", "reason"]
    for part in ("all", "unique", "duplicates"):
        store.export(tmp_path / f"{part}.parquet", ExportOptions(part))
        store.export(tmp_path / f"{part}.jsonl", ExportOptions(part))
        table = parquet.read_table(tmp_path / f"{part}.parquet")
        assert table.column_names == columns + (reasons if part == "duplicates" else [])
        lines = records(tmp_path / f"{part}.jsonl")
        assert table["key"].to_pylist() == [line["key"] for line in lines]
        for row, line in zip(table.to_pylist(), lines, strict=True):
            for name in ("text", "title", "collection"):
                assert row[name] == line.get(name)
            assert json.loads(row["metadata"] or "{}") == line.get("metadata", {})
            assert row["links"] == line.get("links")
            assert int(row["last_seen"].timestamp()) == line["last_seen"]
            if part == "duplicates":
                assert row["canonical"] == line["dropped_because"]["canonical"]
                assert row["reason"] == line["dropped_because"]["reason"]
    with pytest.raises(InvalidParameter, match="-o"):
        store.export("-", ExportOptions(format="parquet"))


@pytest.mark.parquet
def test_a_plain_parquet_export_is_ingested_as_any_table(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs simstore[parquet]")
    store.export(tmp_path / "all.parquet")
    (tmp_path / "again").mkdir()
    with create(tmp_path / "again") as again:
        summary = again.ingest([str(tmp_path / "all.parquet")])
        assert (summary.added, summary.rejected) == (len(DOCUMENTS), 0)
        copy, first = again.get("dated", with_text=True), again.get(DOCUMENTS[0].key)
        assert copy.text == PAIRS[1].b
        assert (first.title, first.collection) == (DOCUMENTS[0].title, DOCUMENTS[0].collection)
        assert json.loads(first.metadata["metadata"]) == DOCUMENTS[0].metadata
        assert copy.metadata["last_seen"].startswith("2023-11-14")
        assert copy.last_seen != 1_700_000_000


def test_without_pyarrow_the_extra_is_named(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InvalidParameter, match=r"extra 'parquet'"):
        store.export(tmp_path / "x.parquet", ExportOptions(format="parquet"))
    assert not (tmp_path / "x.parquet").exists()
