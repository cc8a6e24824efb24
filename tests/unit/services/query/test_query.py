from __future__ import annotations

from pathlib import Path

import pytest
from stores import TEXTS, filled, rows

from simstore import Files
from simstore.errors import RunNotFound
from simstore.model import QueryOptions
from simstore.services.query import query
from simstore.storage import queries
from simstore.store import Store


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
        assert (kept.radius, kept.bits, kept.scheme) == (10, 64, "web/2")
        assert [(one.key, one.fingerprint, one.matches) for one in kept.samples] == [
            (one.key, one.fingerprint, one.matches) for one in run.samples
        ]
        # A report stays true after the documents have gone.
        store.remove(*TEXTS)
        assert store.report(1).samples == kept.samples
        assert store.query_many(Files(str(path)), record=True).run_id == 2
        assert store.report().run_id == 2


def test_run_that_is_not_kept_is_not_found(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        with pytest.raises(RunNotFound, match="no query run"):
            store.report()
        path = tmp_path / "a.txt"
        path.write_bytes(b"river")
        assert store.query_many(Files(str(path))).run_id is None
        store.query("river")
        with pytest.raises(RunNotFound, match="7"):
            store.report(7)
        assert store.runs.query() == []


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


def test_answer_is_given_where_the_run_cannot_be_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXTS["stone"].encode())
    filled(tmp_path).close()
    with Store.open(tmp_path / "s.db", read_only=True) as store:
        run = store.query_many(Files(str(path)), record=True)
    assert run.run_id is None
    assert run.not_recorded is not None
    assert "read-only" in run.not_recorded
    assert [match.key for match in run.samples[0].matches] == ["stone"]


def test_explanation_tells_plan_probes_and_candidates(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        for plan in ("scan", "segments"):
            (result,) = store.query_many(
                [("s", TEXTS["bread"])],
                QueryOptions(plan=plan),  # type: ignore[arg-type]
            )
            known = result.explanation
            assert known is not None
            assert known.method == plan
            assert known.thresholds == (() if plan == "scan" else (0, 0, 0, 0))
            assert known.probe_count == (0 if plan == "scan" else 4)
            assert known.candidate_count >= 1
