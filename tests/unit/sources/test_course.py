from __future__ import annotations

from pathlib import Path

import pytest

from simstore.errors import InvalidParameter, SourceNotFound, UnreadableSource
from simstore.sources.course import read_hash_table, read_stopwords


def table(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "hashvalue.txt"
    path.write_bytes(data)
    return path


def test_rows_are_read_with_any_line_end(tmp_path: Path) -> None:
    for last in (b"", b"end"):
        for end in (b"\n", b"\r\n"):
            data = end.join([b"0101", b"1100"]) + (end if last else b"")
            rows = read_hash_table(table(tmp_path, data), 2, 3)
            assert rows.tolist() == [[0, 1, 0], [1, 1, 0]], (last, end)


def test_bad_table_is_refused_with_its_line(tmp_path: Path) -> None:
    for data, features, bits, line in (
        (b"0101\n1100\n", 3, 4, "line 3"),
        (b"0101\n1100\n", 2, 5, "line 1"),
        (b"0101\n110\n", 2, 4, "line 2"),
        (b"0101\n11x0\n", 2, 4, "line 2, column 3"),
        (b"0101\n1 00\n", 2, 4, "line 2, column 2"),
        (b"0101\n\n1100\n", 3, 4, "line 2"),
        (b"\xef\xbb\xbf01x1\n", 1, 4, "line 1, column 3"),
        (b"", 1, 1, "line 1"),
    ):
        path = table(tmp_path, data)
        with pytest.raises(InvalidParameter) as raised:
            read_hash_table(path, features, bits)
        assert f"{path}, {line}" in str(raised.value), data
        assert "\n" not in str(raised.value), data


def test_more_features_than_memory_could_hold_are_refused_as_missing_rows(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="line 2"):
        read_hash_table(table(tmp_path, b"0101\n"), 10**15, 4)


def test_stop_words_are_separated_by_white_space(tmp_path: Path) -> None:
    path = tmp_path / "stopwords.txt"
    path.write_bytes(b"The  of\r\nAND\x0bor\x0cnot\tcaf\xc9")
    assert read_stopwords(path) == {b"the", b"of", b"and", b"or", b"not", b"caf\xc9"}


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match=r"nothing\.txt"):
        read_stopwords(tmp_path / "nothing.txt")
    with pytest.raises(UnreadableSource, match="folder"):
        read_stopwords(tmp_path)
