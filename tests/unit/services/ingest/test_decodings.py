"""What was decoded by detection, or not wholly, is told and can be traced in the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stores import SIMTOOL, create

from simstore import Files
from simstore.services.ingest.ingest import Observer
from simstore.sources.reader import ReadOptions
from simstore.sources.registry import reader_label
from simstore.store import Store

TEXT = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
GBK = TEXT.encode("gbk")
KEEP = ReadOptions(encoding="keep")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with create(tmp_path) as made:
        yield made


def test_ingest_tells_what_was_detected_and_the_document_remembers_it(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes(GBK)
    (tmp_path / "in" / "b.txt").write_bytes(TEXT.encode())
    (tmp_path / "in" / "c.txt").write_bytes(b"\xff\xff")
    (tmp_path / "in" / "d.txt").write_bytes(TEXT.encode() + b"\xff")
    heard: list[tuple[str, str]] = []
    observer = Observer(on_decoding=lambda key, how: heard.append((Path(key).name, str(how))))
    summary = store.ingest([str(tmp_path / "in")], observer=observer)
    assert (summary.added, summary.rejected, summary.undecodable) == (3, 1, 1)
    assert summary.detected == {"gb18030": 1}
    assert heard == [
        ("a.txt", "decoded as GB18030 by detection"),
        ("d.txt", "decoded as UTF-8, 1 byte could not be read"),
    ]
    found = store.get(str(tmp_path / "in" / "a.txt"), with_text=True)
    assert found.text == TEXT
    assert found.metadata == {"encoding": "gb18030", "encoding_detected": True}
    (rejected,) = store.rejects.list()
    assert "--encoding" in rejected.rejection.reason
    again = store.ingest([str(tmp_path / "in")])
    assert (again.unchanged, again.rejected, again.detected) == (3, 1, {"gb18030": 1})


def test_store_with_kept_bytes_answers_and_what_it_kept_is_mended_not_doubled(
    store: Store, tmp_path: Path
) -> None:
    good, odd = tmp_path / "good.txt", tmp_path / "odd.txt"
    good.write_bytes(GBK)
    odd.write_bytes(b"\xff\xff plain words")
    names = [str(good), str(odd)]
    assert store.ingest(names, read=KEEP).added == 2
    kept = GBK.decode("utf-8", "surrogateescape")
    assert [one.key for one in store.query(kept)] == [str(good)]
    summary = store.ingest(names)
    assert (summary.added, summary.updated, summary.rejected) == (0, 1, 1)
    assert [one.key for one in store] == names
    assert [one.key for one in store.query(TEXT)] == [str(good)]
    # What is not certain stays as it was.
    assert store.get(str(odd), with_text=True).text == "\udcff\udcff plain words"
    assert store.ingest(names).unchanged == 1


def test_growing_file_is_read_on_and_anew_where_another_reading_may_differ(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(GBK + b"\n")
    lines, kept = ReadOptions("lines"), ReadOptions("lines", encoding="keep")
    store.ingest([str(path)], read=kept)
    with path.open("ab") as file:
        file.write(GBK + b" 2\n")
    # The first line was kept as bytes: it is read again, and is no second document.
    summary = store.ingest([str(path)], read=lines)
    assert (summary.added, summary.updated, summary.resumed_at) == (1, 1, {})
    with path.open("ab") as file:
        file.write("天地\n".encode("gbk"))
    summary = store.ingest([str(path)], read=lines)
    assert (summary.added, summary.resumed_at) == (1, {str(path): 2})
    assert store.get(f"{path}:3", with_text=True).text == "天地"


@pytest.mark.parametrize("encoding", ["auto", "keep"])
def test_store_of_the_course_sees_bytes(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "pages.txt"
    path.write_bytes(b"one\n" + GBK + b"\f")
    with create(tmp_path, SIMTOOL) as store:
        summary = store.ingest([str(path)], read=ReadOptions(encoding=encoding))
        assert (summary.added, summary.detected) == (1, {})
        found = store.get("one", with_text=True)
        assert found.text == GBK.decode("utf-8", "surrogateescape")
        assert found.metadata == {}
        (sample,) = store.query_many(
            Files(str(path), read=ReadOptions(encoding=encoding)), record=True
        ).samples
        assert (sample.decoding, sample.matches[0].distance) == (None, 0)
        # Who names the encoding has it read in it.
        assert store.ingest([str(path)], read=ReadOptions(encoding="gb18030")).updated == 1
        assert store.get("one", with_text=True).text == TEXT
    of_course = ReadOptions(texts_are_articles=True)
    assert reader_label("articles", of_course) == "articles 8388608 None None"
