"""Results as DataFrames."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from simstore import Store, to_frame
from simstore.errors import InvalidParameter, MissingExtra
from simstore.model import Duplicate, Match, QueryOptions, QueryRun, SampleResult, StoredCluster
from simstore.services.clusters.cluster import ClusterOptions

FERRY = (
    "The ferry leaves the harbour every morning at seven, when the fog still lies on the water "
    "and the gulls sit in a row on the rail of the quay, and nobody is about but the postman."
)
PRINT = FERRY.replace("seven", "eight")
BRIDGE = "The bridge is closed for repairs until the end of the month; buses go around by the road."


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("frames") / "store.db"
    with Store.create(path) as store:
        store.add_many(
            [
                {"key": "ferry", "text": FERRY, "metadata": {"lang": "en"}, "seen_at": 86_400},
                {"key": "print", "text": PRINT},
                {"key": "bridge", "text": BRIDGE},
                {"key": b"\xff".decode("utf-8", "surrogateescape"), "text": BRIDGE},
            ],
            on_duplicate="flag",
        )
    return path


@pytest.fixture
def pandas() -> Any:
    return pytest.importorskip("pandas", reason="needs simstore[pandas]")


def dtypes(frame: Any) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in frame.dtypes.items()}


@pytest.mark.frames
def test_matches_are_rows_of_their_fields(path: Path, pandas: Any) -> None:
    with Store.open(path) as store:
        matches = store.query(FERRY, radius=64, min_resemblance=0.5)
    frame = to_frame(matches)
    assert list(frame["key"]) == ["ferry", "print"]
    assert list(frame["distance"]) == [match.distance for match in matches]
    assert list(frame["resemblance"]) == [match.resemblance for match in matches]
    assert list(frame["channels"]) == ["+".join(match.channels) for match in matches]
    empty = to_frame([], of=Match)
    assert dtypes(empty) == dtypes(frame)
    assert (len(empty), empty["distance"].dtype) == (0, pandas.Int64Dtype())


@pytest.mark.frames
def test_samples_have_a_row_a_match_and_one_where_they_have_none(path: Path, pandas: Any) -> None:
    samples = [("a", FERRY), ("none", " ".join(f"word{n}" for n in range(40))), ("b", BRIDGE)]
    with Store.open(path) as store:
        results = store.query_many(samples, QueryOptions(radius=0, channels=("simhash",)))
    frame = to_frame(results)
    assert list(frame["sample"]) == ["a", "none", "b", "b"]
    of_none = frame[frame["sample"] == "none"].iloc[0]
    assert of_none["key"] is None
    assert pandas.isna(of_none["rank"])
    of_b = frame[frame["sample"] == "b"]
    assert list(of_b["key"]) == ["bridge", "\udcff"]
    assert list(of_b["rank"]) == [1, 2]
    assert not frame["too_short"].any()
    run = QueryRun(run_id=None, radius=3, bits=64, scheme="web/1", samples=tuple(results))
    assert to_frame(run).equals(frame)
    nothing = to_frame(QueryRun(run_id=None, radius=3, bits=64, scheme="web/1", samples=()))
    assert dtypes(nothing) == dtypes(frame) == dtypes(to_frame([], of=SampleResult))


@pytest.mark.frames
def test_clusters_have_a_row_a_document(path: Path, pandas: Any) -> None:
    with Store.open(path) as store:
        clustering = store.clusters.once(ClusterOptions())
        store.clusters.build(min_resemblance=0.5)
        kept = to_frame(store.clusters.list())
        assert to_frame(store.clusters.list(min_size=99), of=StoredCluster).empty
    frame = to_frame(clustering)
    assert list(frame["key"]) == ["ferry", "print", "bridge", "\udcff"]
    assert list(frame["role"]) == ["canonical", "member"] * 2
    assert list(frame["cluster_id"]) == [1, 1, 2, 2]
    assert frame["resemblance"].between(0.5, 1).all()
    assert list(kept["key"]) == list(frame["key"])
    assert kept.groupby("cluster_id").size().tolist() == [2, 2]


@pytest.mark.frames
def test_duplicates_and_rejections_are_rows(path: Path, pandas: Any, tmp_path: Path) -> None:
    with Store.open(path) as store:
        frame = to_frame(store.duplicates.list())
    assert list(frame["key"]) == ["print", "\udcff"]
    assert list(frame["original"]) == ["ferry", "bridge"]
    assert to_frame(iter(()), of=Duplicate).columns.tolist() == frame.columns.tolist()
    with Store.create(tmp_path / "other.db") as store:
        store.add_many(pandas.DataFrame({"key": ["a"], "text": [None]}))
        rejected = to_frame(store.rejects.list())
    assert rejected.loc[0, ["source", "position"]].tolist() == ["pandas.DataFrame, run 1", 0]


@pytest.mark.frames
def test_what_is_no_result_is_refused(pandas: Any) -> None:
    with pytest.raises(InvalidParameter, match="str is no result of a store"):
        to_frame("text")
    with pytest.raises(InvalidParameter, match="int among results of Match"):
        to_frame([Match(key="a", distance=0, document_id=1), 7])
    assert to_frame([]).empty


def test_without_pandas_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"needs the extra 'pandas': "):
        to_frame([])
