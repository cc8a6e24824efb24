"""A store's channels: chosen when it is made, changed by a reindex, part of the contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stores import SIMTOOL, TEXTS, create, filled, raw, rows

from simstore.errors import InvalidParameter, ReindexInProgress, SchemeMismatch
from simstore.fingerprint.minhash import BandLayout
from simstore.model import QueryOptions
from simstore.model.channels import (
    CHANNELS,
    KEPT_CHANNELS,
    load,
)
from simstore.services.channels.store_part import StorePart
from simstore.services.dedup.options import RowOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.spark.options import DedupOptions
from simstore.storage.sketches import SKETCHES
from simstore.store import Store

BOTH = ("simhash", "minhash")


def channels(store: Store) -> str:
    return store.stats().channels


def found_by(store: Store) -> set[tuple[str, ...]]:
    options = QueryOptions(min_features=0, channels=tuple(channels(store).split(" + ")))
    result = store.query_many([("s", TEXTS["harbour"])], options)[0]
    return {match.channels for match in result.matches}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [SchemeChoice("web"), SIMTOOL])
def test_reindex_adds_and_drops_the_sketches(tmp_path: Path, scheme: SchemeChoice) -> None:
    with filled(tmp_path, scheme, channels=("simhash",)) as store:
        assert channels(store) == "simhash"
        assert found_by(store) == {("simhash",)}
        assert store.maintenance.fsck() == []
        store.maintenance.reindex(channels=BOTH)
        assert channels(store) == "simhash + minhash"
        assert BOTH in found_by(store)
        assert store.stats().sketch_count == len(TEXTS)
        assert store.maintenance.fsck() == []
        # Another scheme keeps the channels.
        store.maintenance.reindex(SchemeChoice("web", bits=128))
        assert channels(store) == "simhash + minhash"
        assert store.maintenance.fsck() == []
        store.maintenance.compact((32, 4))
        store.maintenance.reindex()
        assert store.stats().sketch_count == len(TEXTS)
        store.maintenance.reindex(channels=("simhash",))
        assert found_by(store) == {("simhash",)}
        assert store.maintenance.fsck() == []
    assert rows(tmp_path, "SELECT count(*) FROM sketch") == [(0,)]
    assert rows(tmp_path, "SELECT count(*) FROM index_run") == [(0,)]
    assert rows(tmp_path, "SELECT count(*) FROM index_page") == [(0,)]


def test_interrupted_reindex_goes_on_with_its_channels(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(_done: int, _total: int) -> None:
        raise Stop

    with filled(tmp_path, channels=("simhash",)) as store:
        with pytest.raises(Stop):
            store.maintenance.reindex(channels=("minhash",), on_progress=stop)
        assert found_by(store) == {("simhash",)}
        store.maintenance.reindex(resume=True)
        assert channels(store) == "minhash"
        assert store.maintenance.fsck() == []


def test_layout_is_not_changed_while_a_reindex_is_under_way(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(_done: int, _total: int) -> None:
        raise Stop

    with filled(tmp_path) as store:
        with pytest.raises(Stop):
            store.maintenance.reindex(on_progress=stop)
        with pytest.raises(ReindexInProgress):
            store.maintenance.compact((20, 5))
        store.maintenance.compact()
        store.maintenance.reindex(resume=True)
        store.maintenance.compact((20, 5))
        assert store.stats().bands == "20x5"
        assert store.maintenance.fsck() == []


def test_layout_of_the_bands_outlives_a_reindex(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        store.maintenance.compact((16, 8))
        store.maintenance.reindex()
        store.add("later", "one more text of some eight words or so it seems")
        store.maintenance.compact()
    kinds = rows(tmp_path, "SELECT kind FROM index_run WHERE kind LIKE 'minhash%'")
    assert kinds == [("minhash 16x8",)]


def test_corpus_scheme_keeps_its_fingerprints(tmp_path: Path) -> None:
    with filled(tmp_path, SIMTOOL) as store, pytest.raises(InvalidParameter, match="simhash"):
        store.maintenance.reindex(channels=("minhash",))


def test_sketches_that_come_out_otherwise_are_refused(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with raw(tmp_path) as connection:
        ((record,),) = connection.execute("SELECT channels FROM scheme").fetchall()
        changed = json.loads(record)
        changed["recipes"]["minhash"]["sketch"]["known_answers"][0] = "0" * 16
        connection.execute("UPDATE scheme SET channels = ?", (json.dumps(changed),))
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(SchemeMismatch, match="sketches"):
            store.query("text")
        assert [one.invariant for one in store.maintenance.fsck()] == ["scheme"]
        store.maintenance.reindex()
        assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_folded_scripts_make_one_text_of_two(tmp_path: Path) -> None:
    simplified = "图书馆在旧仓库里开了门，读者可以借书、听讲座，也可以带孩子来玩。"
    traditional = "圖書館在舊倉庫裡開了門，讀者可以借書、聽講座，也可以帶孩子來玩。"
    with create(tmp_path, SchemeChoice("web")) as store:
        store.add("a", simplified)
        (match,) = store.query(traditional)
        assert (match.distance, match.resemblance, match.containment) == (0, 1.0, 1.0)
        assert match.channels == BOTH
    with Store.create(tmp_path / "apart.db", scheme=SchemeChoice("web", han="keep")) as store:
        store.add("a", simplified)
        assert store.query(traditional, min_resemblance=0.7) == []


@pytest.mark.parametrize("name", KEPT_CHANNELS)
def test_a_store_of_any_channel_alone_is_whole(tmp_path: Path, name: str) -> None:
    with create(tmp_path, channels=(name,)) as store:
        store.add_many(list(TEXTS.items()))
        vocabulary = store.vocabulary.terms()
        assert store.stats().channels == name
        assert found_by(store) == {(name,)}
        store.maintenance.compact()
        assert found_by(store) == {(name,)}
        assert store.maintenance.fsck() == []
        others = tuple(other for other in KEPT_CHANNELS if other != name)
        store.maintenance.reindex(channels=others)
        assert store.stats().channels == " + ".join(others)
        assert (store.get("bread").fingerprint is None) == ("simhash" not in others)
        assert store.vocabulary.terms() == vocabulary
        assert store.maintenance.fsck() == []


def test_each_entry_of_the_registry_names_what_is_there() -> None:
    for one in CHANNELS:
        assert isinstance(load(one.store_part)(one.name), StorePart)
        assert one.finds
        if one.sketching:
            made = load(one.sketching)()
            assert made.comes_out(json.loads(json.dumps(made.record())))
            assert one.name in SKETCHES


def test_duplicates_and_clusters_need_a_channel_of_words(tmp_path: Path) -> None:
    with create(tmp_path, channels=("characters",)) as store:
        store.add_many(list(TEXTS.items()))
        with pytest.raises(InvalidParameter, match="no channel minhash"):
            store.clusters.build()
        with pytest.raises(InvalidParameter, match="no channel minhash"):
            store.add("again", TEXTS["harbour"], on_duplicate="flag")


def test_a_store_with_a_channel_of_a_newer_simstore_is_refused(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with raw(tmp_path) as connection:
        ((record,),) = connection.execute("SELECT channels FROM scheme").fetchall()
        changed = json.loads(record)
        changed["names"].append("of tomorrow")
        connection.execute("UPDATE scheme SET channels = ?", (json.dumps(changed),))
    with (
        Store.open(tmp_path / "s.db") as store,
        pytest.raises(SchemeMismatch, match="channel of tomorrow"),
    ):
        store.query("text")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"channels": ("minhash", "characters")}, "name characters alone"),
        ({"channels": ("sentences",)}, "sentences"),
        ({"channels": ("characters",), "radius": 3}, "a radius is one of fingerprints"),
        ({"channels": ("characters",), "layout": BandLayout(2, 2)}, "sketches of words"),
        ({"short_texts": True}, "short texts go with channels characters"),
        ({"channels": ("characters",), "min_resemblance": 2.0}, "at most 1"),
    ],
)
def test_rows_and_spark_refuse_what_does_not_go_with_their_channels(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        RowOptions(**given)
    with pytest.raises(InvalidParameter, match=message):
        DedupOptions(**given).recipe()
