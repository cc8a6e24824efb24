from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from simstore.errors import MalformedRecord, SourceNotFound
from simstore.sources.labels import GroupLabel, LabelledPair, read_clusters, read_pairs


def write(folder: Path, text: str, name: str = "labels.tsv") -> str:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def test_pairs_without_a_header(tmp_path: Path) -> None:
    name = write(tmp_path, "a.txt\tb.txt\nc.txt\td.txt\t0\r\n\ne\tf\tTrue\ng\th\tnews\tgroup 7\n")
    assert read_pairs(name) == [
        LabelledPair("a.txt", "b.txt"),
        LabelledPair("c.txt", "d.txt", duplicate=False),
        LabelledPair("e", "f"),
        LabelledPair("g", "h"),
    ]


def test_pairs_with_a_header_in_any_order(tmp_path: Path) -> None:
    name = write(
        tmp_path,
        "set\tb\ta\tkind\tjaccard3\tcontainment3\nx\tk2\tk1\tnext\t0.5349\t\nx\tk4\tk3\tnext\t\t\n",
        "pairs.tsv.gz",
    )
    assert read_pairs(name) == [
        LabelledPair("k1", "k2"),
        LabelledPair("k3", "k4"),
    ]


def test_pairs_as_json_lines(tmp_path: Path) -> None:
    name = write(
        tmp_path,
        '{"a": "k1", "b": 2, "label": false}\n{"a": "k3", "b": "k4"}\n',
        "pairs.jsonl",
    )
    assert read_pairs(name) == [
        LabelledPair("k1", "2", duplicate=False),
        LabelledPair("k3", "k4"),
    ]


def test_a_line_that_is_no_pair_is_named(tmp_path: Path) -> None:
    for text, line, reason in (
        ("k1\tk2\nalone\n", 1, "with a and b"),
        ("a\tb\tlabel\nk1\tk2\tperhaps\n", 1, "'perhaps'"),
        ("k1\tk2\tperhaps\n", 0, "'perhaps'"),
        ("k1\tk2\t1\nk2\tk1\t0\n", 1, "earlier line"),
        ('{"a": "k1"}\n', 0, "with a and b"),
        ('{"a": \n', 0, "not JSON"),
    ):
        with pytest.raises(MalformedRecord, match=reason) as caught:
            read_pairs(write(tmp_path, text))
        assert caught.value.position == line, text


def test_odd_lines_are_read_as_they_are(tmp_path: Path) -> None:
    name = write(tmp_path, "a\rx\tb\n" + "k" * 200_000 + "\tc\n")
    assert read_pairs(name) == [LabelledPair("a\rx", "b"), LabelledPair("k" * 200_000, "c")]


def test_clusters(tmp_path: Path) -> None:
    expected = [GroupLabel("k1", "g1"), GroupLabel("k2", "g 2")]
    assert read_clusters(write(tmp_path, "k1\tg1\nk2\tg 2\textra\n")) == expected
    assert read_clusters(write(tmp_path, "group\tid\ng1\tk1\ng 2\tk2\n")) == expected
    as_json = '{"id": "k1", "group": "g1", "text": "..."}\n{"key": "k2", "cluster": "g 2"}\n'
    assert read_clusters(write(tmp_path, as_json, "clusters.jsonl")) == expected


def test_a_document_without_a_group_is_named(tmp_path: Path) -> None:
    with pytest.raises(MalformedRecord, match="key and group"):
        read_clusters(write(tmp_path, "k1\tg1\nk2\t\n"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match=r"none\.tsv"):
        read_pairs(str(tmp_path / "none.tsv"))


def test_keys_keep_quotes_and_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b'"say \xff\tsay "again"\n')
    assert read_pairs(str(path)) == [LabelledPair('"say \udcff', 'say "again"')]
