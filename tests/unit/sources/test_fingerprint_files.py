"""Files of fingerprints: arrays and text, read in parts, refused where they are damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from simstore.errors import MalformedRecord, SourceNotFound, UnreadableSource
from simstore.fingerprint.simhash import to_integers
from simstore.sources import fingerprint_files
from simstore.sources.fingerprint_files import parse_fingerprint, read_fingerprints

VALUES = [0, 1, 255, (1 << 64) - 1]


def read(path: Path, bits: int = 64) -> list[list[int]]:
    return [to_integers(block) for block in read_fingerprints(str(path), bits)]


def test_array_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for shape in ((-1,), (-1, 1)):
        monkeypatch.setattr(fingerprint_files, "_BLOCK", 3)
        np.save(tmp_path / "a.npy", np.array(VALUES, np.uint64).reshape(shape))
        assert read(tmp_path / "a.npy") == [VALUES[:3], VALUES[3:]], shape


def test_array_of_two_words_is_read_most_significant_first(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1, 2], [0, 7]], np.uint64))
    assert read(tmp_path / "a.npy", 128) == [[(1 << 64) + 2, 7]]


def test_other_arrays_are_refused(tmp_path: Path) -> None:
    for array, bits in (
        (np.array([1.5]), 64),
        (np.array([1], np.int64), 64),
        (np.array([1], np.uint64), 128),
        (np.array([[1, 2]], np.uint64), 64),
        (np.uint64(5), 64),
    ):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(UnreadableSource, match="uint64"):
            read(tmp_path / "a.npy", bits)


def test_file_that_is_no_array_and_no_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"no array")
    with pytest.raises(UnreadableSource, match="no NumPy array"):
        read(tmp_path / "a.npy")
    for name in ("b.npy", "b.txt"):
        with pytest.raises(SourceNotFound):
            read(tmp_path / name)


def test_text_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for packed in (False, True):
        monkeypatch.setattr(fingerprint_files, "_LINES", 2)
        text = b"0\n0x1\r\n\n  FF \n" + b"f" * 16
        (tmp_path / "a").write_bytes(gzip.compress(text) if packed else text)
        assert read(tmp_path / "a") == [VALUES[:2], VALUES[2:]], packed


def test_bad_line_is_named(tmp_path: Path) -> None:
    for text, bits, place, reason in (
        (b"1\nxyz\n", 64, 1, "'xyz' is no hexadecimal number"),
        (b"1 2\n", 64, 0, "no hexadecimal"),
        (b"-1\n", 64, 0, "no hexadecimal"),
        (b"\xff\n", 64, 0, "no hexadecimal"),
        (b"0\n\n10000\n", 16, 2, "more than 16 bits"),
    ):
        (tmp_path / "a").write_bytes(text)
        with pytest.raises(MalformedRecord, match=reason) as error:
            read(tmp_path / "a", bits)
        assert error.value.position == place, text


def test_array_with_too_many_bits_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1, 1 << 20], np.uint64))
    with pytest.raises(MalformedRecord, match="more than 20 bits") as error:
        read(tmp_path / "a.npy", 20)
    assert error.value.position == 1


def test_fingerprint_is_parsed() -> None:
    for text, value in (
        ("ff", 255),
        (" 0xFf ", 255),
        ("", None),
        ("g", None),
        ("-1", None),
        ("10000", None),
    ):
        assert parse_fingerprint(text, 16) == value, text


def test_archive_of_arrays_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.npy").open("wb") as file:
        np.savez(file, values=np.array(VALUES, np.uint64))
    with pytest.raises(UnreadableSource, match="archive of arrays"):
        read(tmp_path / "a.npy")
