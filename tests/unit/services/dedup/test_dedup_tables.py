"""Rows of CSV and Parquet without their near-duplicates: keys, names of fields, rejected rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simstore import dedup_rows
from simstore.errors import InvalidParameter
from simstore.sources.reader import ReadOptions


def test_a_column_for_the_key_that_is_not_there_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.csv").write_text("ID,text\n1,Rye\n")
    told = "no key: no field id_; there are ID, text"
    with pytest.raises(InvalidParameter, match=told):
        dedup_rows(tmp_path / "a.csv", tmp_path / "o.csv", read=ReadOptions(key_field="id_"))
    pyarrow = pytest.importorskip("pyarrow", reason="needs PyArrow (the extra parquet)")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs PyArrow (the extra parquet)")
    parquet.write_table(pyarrow.table({"ID": ["1"], "text": ["Rye"]}), tmp_path / "a.parquet")
    with pytest.raises(InvalidParameter, match=told):
        dedup_rows(
            tmp_path / "a.parquet", tmp_path / "o.parquet", read=ReadOptions(key_field="id_")
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.parquet"]


def test_a_row_of_csv_without_a_key_is_called_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text\n,Rye bread needs sour dough.\n2,Rye bread needs sour dough.\n")
    log = tmp_path / "log"
    assert dedup_rows(path, tmp_path / "o.csv", log=log).rejected == 0
    assert json.loads(log.read_text())["duplicate_of"] == f"{path}:1"
    read = ReadOptions(key_field="id")
    rejects = tmp_path / "rejects"
    assert dedup_rows(path, tmp_path / "p.csv", rejects=rejects, read=read).rejected == 1
    assert json.loads(rejects.read_text())["reason"] == "no key: the field id is empty"


def test_rejected_rows_of_a_table_are_told_as_json_with_their_number(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs PyArrow (the extra parquet)")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs PyArrow (the extra parquet)")
    rows = {"id": ["a", "b"], "text": ["Rye bread", None], "n": [1, 2], "image": [b"x", b"y"]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "a.parquet")
    dedup_rows(tmp_path / "a.parquet", tmp_path / "o.parquet", rejects=tmp_path / "rejects")
    told = json.loads((tmp_path / "rejects").read_text())
    assert (told["position"], told["byte_offset"]) == (1, None)
    assert json.loads(told["row"]) == {"id": "b", "text": None, "n": 2}


def test_rows_of_csv_that_are_kept_unread_have_as_many_cells_as_marked_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\r\n1,"Rye, oats"\r\n2,"b",c\r\n3')
    dedup_rows(path, tmp_path / "o.csv", mark=True, on_reject="keep")
    assert (tmp_path / "o.csv").read_bytes() == (
        b'id,text,duplicate_of,resemblance,cluster\r\n1,"Rye, oats",,,\r\n2,"b",c,,,\r\n3,,,'
    )
