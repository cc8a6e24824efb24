"""Rows of JSON Lines, CSV and plain lines come back as the bytes that they were."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from simstore.errors import InvalidParameter, UnreadableSource
from simstore.model import Document
from simstore.rows.batch import DROPPED, KEPT, PASSED, RowFile
from simstore.rows.inputs import check_one_output, open_rows, row_file
from simstore.sources.reader import ReadOptions

ODD_JSON = (
    b'{"text":  "Rye \\u00fcber\\/all", "id": 1, "price": 2.50, "n": 1e3}\n',
    b'  {"z": 1, "a": {"y": [1,  2]}, "text": "Oats and a brace }", "id": "b"}  \r\n',
    b"\n",
    '{"text": "東京 \U0001f600", "id": "c", "big": 123456789012345678901234567890}\n'.encode(),
    b'{"id": 7, "text": "no line end"}',
)


def _read(path: Path, **options: object) -> RowFile:
    return row_file(str(path), str(path), ReadOptions(**options))  # type: ignore[arg-type]


def _copied(file: RowFile, fates: list[int], marks: dict[str, list[object]] | None = None) -> bytes:
    """Write the rows of a file by their fates, twice: as they are read, and once more."""
    marks = marks or {}
    first, second = io.BytesIO(), io.BytesIO()
    spans = []
    whole = True
    with file.writer(first, tuple(marks)) as writer:
        begin = 0
        for batch in file.batches():
            whole = whole and batch.damage is None
            if batch.content is None:
                continue
            end = begin + len(batch.rows)
            held = {name: values[begin:end] for name, values in marks.items()}
            writer.write(batch.content, fates[begin:end], held)
            spans += [(row.byte_offset or 0, row.end_offset or 0) for row in batch.rows]
            begin = end
    with file.writer(second, tuple(marks)) as writer:
        begin = 0
        for content in file.again(iter(spans), whole=whole):
            end = begin + len(getattr(content, "spans", [0]))
            held = {name: values[begin:end] for name, values in marks.items()}
            writer.write(content, fates[begin:end], held)
            begin = end
    assert second.getvalue() == first.getvalue()
    return first.getvalue()


def test_all_rows_of_odd_json_are_the_bytes_of_the_file(tmp_path: Path) -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        path = tmp_path / "odd.jsonl"
        path.write_bytes(mark + b"".join(ODD_JSON))
        file = _read(path)
        keys = [
            row.key for batch in file.batches() for row in batch.rows if isinstance(row, Document)
        ]
        assert keys == ["1", "b", "c", "7"], mark
        assert _copied(file, [KEPT] * 4) == path.read_bytes(), mark


def test_marks_are_added_before_the_closing_brace(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"".join(ODD_JSON))
    marks: dict[str, list[object]] = {"duplicate_of": ["é", None, None, None], "cluster": [1] * 4}
    made = _copied(_read(path), [KEPT] * 4, marks)
    assert made.startswith(
        b'{"text":  "Rye \\u00fcber\\/all", "id": 1, "price": 2.50, "n": 1e3, '
        b'"duplicate_of": "\\u00e9", "cluster": 1}\n'
    )
    lines = [json.loads(line) for line in made.split(b"\n") if line.strip()]
    assert [line["cluster"] for line in lines] == [1] * 4
    assert lines[1]["text"] == "Oats and a brace }"
    assert made.split(b"\n")[1].endswith(b'"cluster": 1}  \r')


def test_files_of_wide_characters_stay_so(tmp_path: Path) -> None:
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        text = (
            '\ufeff{"id": "ā", "text": "Rye and wheat"}\n{"id": "b", "text": "Oats and barley"}\n'
        )
        path = tmp_path / "wide.jsonl"
        path.write_bytes(text.encode(encoding))
        file = _read(path)
        assert _copied(file, [KEPT, KEPT]) == path.read_bytes(), encoding
        second = "\ufeff" + text.split("\n")[1] + "\n"
        assert _copied(file, [DROPPED, KEPT]).decode(encoding) == second, encoding
        marked = _copied(file, [KEPT, KEPT], {"cluster": [3, None]}).decode(encoding)
        lines = [json.loads(line) for line in marked.removeprefix("\ufeff").splitlines()]
        assert [line["cluster"] for line in lines] == [3, None], encoding


CSV = (
    "\ufeffid;text;note\r\n"
    '1;"Rye, and\r\n""more"" of it";a\r\n'
    "\r\n"
    "2;Oats;\r\n"
    "3;too;many;fields\r\n"
    '4;Barley;"x"'
).encode()


def test_marks_of_csv_are_cells_that_are_empty_in_rows_that_are_passed(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(CSV)
    marks: dict[str, list[object]] = {"duplicate_of": ["a;b", None, None, 'q"'], "cluster": [1] * 4}
    made = _copied(_read(path), [KEPT, KEPT, PASSED, KEPT], marks)
    assert made.decode() == (
        "\ufeffid;text;note;duplicate_of;cluster\r\n"
        '1;"Rye, and\r\n""more"" of it";a;"a;b";1\r\n'
        "\r\n"
        "2;Oats;;;1\r\n"
        "3;too;many;fields;;\r\n"
        '4;Barley;"x";"q""";1'
    )


def test_rows_of_other_columns_do_not_stand_in_one_file(tmp_path: Path) -> None:
    one, other = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_bytes(b"id,text\n1,Rye\n")
    other.write_bytes(b"text,id\nOats,2\n")
    files, _ = open_rows([str(tmp_path)], ReadOptions())
    with pytest.raises(InvalidParameter, match="name a folder"):
        check_one_output(files)


def test_a_stream_that_breaks_off_gives_what_came_before(tmp_path: Path) -> None:
    rows = b"".join(b'{"id": %d, "text": "row %d"}\n' % (n, n * n) for n in range(20_000))
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(rows)[:-2_000])
    file = _read(path)
    batches = list(file.batches())
    assert batches[-1].damage is not None
    assert not any(batch.damage for batch in batches[:-1])
    count = sum(len(batch.rows) for batch in batches)
    assert 10_000 < count < 20_000
    made = _copied(file, [KEPT] * count)
    assert rows.startswith(made[: made.rindex(b"\n") + 1])


def test_a_file_that_changed_its_length_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"".join(ODD_JSON))
    file = _read(path)
    spans = [
        (row.byte_offset or 0, row.end_offset or 0)
        for batch in file.batches()
        for row in batch.rows
    ]
    path.write_bytes(ODD_JSON[0])
    with pytest.raises(UnreadableSource, match="shorter"):
        list(file.again(iter(spans)))
    path.write_bytes(b"".join(ODD_JSON) + b'\n{"text": "more"}\n')
    with pytest.raises(UnreadableSource, match="more rows"):
        list(file.again(iter(spans)))
