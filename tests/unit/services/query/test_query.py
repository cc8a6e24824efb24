from __future__ import annotations

import random
from pathlib import Path

import pytest
from heard import Heard, heard
from stores import TEXTS, filled, rows

from simstore import Files
from simstore.errors import RunNotFound
from simstore.model import QueryOptions
from simstore.services.query import query
from simstore.storage import queries
from simstore.store import Store

__all__ = ["heard"]


def test_samples_in_many_batches_are_answered_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [(f"s{n}", list(TEXTS.values())[n % len(TEXTS)]) for n in range(20)]
    with filled(tmp_path) as store:
        whole = store.query_many(samples)
        monkeypatch.setattr(query, "BATCH_SAMPLES", 3)
        parts = store.query_many(samples)
    assert [one.key for one in parts] == [key for key, _ in samples]
    assert [(one.fingerprint, one.matches) for one in parts] == [
        (one.fingerprint, one.matches) for one in whole
    ]


def test_run_is_recorded_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"key": "s", "text": "river"}\n{bad\n{"key": "t\\u00e9", "text": ""}\n')
    with filled(tmp_path) as store:
        run = store.query_many(Files(str(path)), QueryOptions(radius=10), record=True)
        assert run.run_id == 1
        assert [one.key for one in run.samples] == ["s", "té"]
        assert [(one.position, one.byte_offset) for one in run.rejections] == [(1, 30)]
        kept = store.report()
        assert (kept.radius, kept.bits, kept.scheme) == (10, 64, "web/1")
        assert [(one.key, one.fingerprint, one.matches) for one in kept.samples] == [
            (one.key, one.fingerprint, one.matches) for one in run.samples
        ]
        # A report stays true after the documents have gone.
        store.remove(*TEXTS)
        assert store.report(1).samples == kept.samples
        assert store.query_many(Files(str(path)), record=True).run_id == 2
        assert store.report().run_id == 2


def test_only_the_latest_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "KEPT_RUNS", 3)
    path = tmp_path / "a.txt"
    path.write_bytes(b"river")
    with filled(tmp_path) as store:
        for _ in range(5):
            store.query_many(Files(str(path)), record=True)
        assert [run.run_id for run in store.runs.query()] == [5, 4, 3]
        with pytest.raises(RunNotFound):
            store.report(2)
    assert rows(tmp_path, "SELECT DISTINCT run_id FROM query_sample ORDER BY 1") == [
        (3,),
        (4,),
        (5,),
    ]


@pytest.mark.sqlite("reads the statements of SQLite")
@pytest.mark.parametrize("resident", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_the_explanation_is_of_the_look_up_that_ran(
    tmp_path: Path, heard: Heard, packed: bool, resident: bool
) -> None:
    chance = random.Random(42)
    words = [f"w{number}" for number in range(3_000)]
    texts = [(f"{number}", " ".join(chance.choices(words, k=80))) for number in range(1_000)]
    with Store.create(tmp_path / "s.db") as store:
        store.add_many(texts)
        store.maintenance.compact(plain=not packed)
    methods = set()
    with Store.open(tmp_path / "s.db", resident=resident) as store:
        for plan, count in [("segments", 1), ("segments", 10), ("scan", 1), ("scan", 10),
                            ("auto", 1), ("auto", 10), ("auto", 60), ("tables4", 10)]:  # fmt: skip
            heard.clear()
            options = QueryOptions(plan=plan, channels=("simhash",))  # type: ignore[arg-type]
            answer = store.query_many(texts[:count], options, record=False)
            known = [one.explanation for one in answer if one.explanation is not None]
            (method,) = {one.method for one in known}
            assert plan in {"auto", method}
            methods.add(method)
            # A look-up of segments names their values; a scan reads in order.
            tables = " FROM fingerprint_", "index_page WHERE"
            read = [one for one in heard if any(name in one for name in tables)]
            of_segments = [one for one in read if " IN (" in one or " page BETWEEN " in one]
            if method == "segments":
                assert of_segments == read != []
                # Each segment of each text, by its index.
                assert packed or len(read) == 4 * count
                for one in [] if packed else read:
                    assert " INDEX ix_" in rows(tmp_path, f"EXPLAIN QUERY PLAN {one}")[0][3]
                assert all(one.probe_count == 4 for one in known)
            else:
                assert not of_segments
                assert resident or read
            if method == "scan":
                assert all((one.probe_count, one.candidate_count) == (0, 1_000) for one in known)
            if method in {"segments", "sorted"}:
                assert all(one.thresholds == (0, 0, 0, 0) for one in known)
                # Pages of few fingerprints have several values of a segment.
                assert all(1 <= one.candidate_count < (500 if packed else 100) for one in known)
    assert methods >= ({"sorted"} if resident else {"segments", "scan", "tables4"})
