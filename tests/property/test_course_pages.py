"""The course tool reads whole files in parts and blocks, and gives what plain loops give."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from io import BufferedReader, BytesIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.errors import MalformedRecord
from simstore.fingerprint import vocabulary
from simstore.model import Document
from simstore.reports.formats import render_simtool
from simstore.services import simtool
from simstore.sources import course as course_pages
from simstore.sources.articles import read_articles
from simstore.sources.course import part_ends, read_bytes, take_pages
from simstore.text import letter_scan
from simstore.text.letter_scan import PADDING, LetterTable, scan_letters_of

# Words at the edges of their codes: 8 and 9, 12 and 13 letters, and one the beginning of another.
LONG = [b"quarries", b"quarriesq", b"Bridgebuilde", b"bridgebuilders", b"bridgebuilderS" * 3]
article_bytes = st.lists(
    st.one_of(
        st.sampled_from([b"\f", b"\n", b"\r\n", b"\r", b" ", b"\t", b"\v", b"\xff", b"the", b"b"]),
        st.sampled_from([b"river", b"Stone", b"river stone", b"\xc3\xa9t\xc3\xa9", b"x1y"]),
        st.sampled_from([b"page one\n", b"two \t\r\n", b"\f\n", b"@Z[`az{"]),
        st.sampled_from(LONG),
    ),
    max_size=30,
).map(b"".join)
ROWS = "".join(
    f"{n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:0128b}\n" for n in range(1, 41)
).encode()


def write(folder: Path, articles: bytes, samples: bytes) -> None:
    (folder / "article.txt").write_bytes(articles)
    (folder / "sample.txt").write_bytes(samples)
    (folder / "stopwords.txt").write_bytes(b"the OF x1y")
    (folder / "hashvalue.txt").write_bytes(ROWS)


def answered(folder: Path, features: int, bits: int) -> bytes:
    return b"".join(render_simtool(simtool.run(folder, features, bits)))


def expected(folder: Path, features: int, bits: int) -> bytes:
    names = ("article.txt", "sample.txt", "stopwords.txt", "hashvalue.txt")
    result, _ = oracle.simtool(*((folder / name).read_bytes() for name in names), features, bits)
    return result


@given(
    article_bytes,
    st.sampled_from([bytes, gzip.compress, bz2.compress, lzma.compress]),
    st.integers(1, 4),
)
def test_pages_are_those_of_the_reader(
    data: bytes, packed: Callable[[bytes], bytes], parts: int
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "article.txt"
        path.write_bytes(packed(data))
        patch.setattr(course_pages, "_PIECE", 64)
        read, size = read_bytes(path, PADDING)
    assert read[:size].tobytes() == data
    assert len(read) % 8 == 0
    assert len(read) >= size + PADDING
    assert not read[size:].any()
    plain = [
        page
        for page in read_articles(BufferedReader(BytesIO(data)), "-", max_document_bytes=None)
        if isinstance(page, Document)
    ]
    ends = part_ends(read, size, parts)
    assert ends == sorted(ends)
    assert all(data[end : end + 1] == b"\f" for end in ends[1:-1])
    keys: list[bytes] = []
    words: list[list[bytes]] = []
    for first, end in pairwise(ends):
        pages = take_pages(read, first, end)
        keys += pages.keys
        table = LetterTable()
        numbers, offsets = scan_letters_of(read, first, end, pages.bodies, table)
        spelt = table.words(numbers.astype(np.int64))
        words += [spelt[a:b] for a, b in pairwise(offsets.tolist())]
    assert keys == [page.key.encode("utf-8", "surrogateescape") for page in plain]
    assert words == [oracle.words(page.text.encode("utf-8", "surrogateescape")) for page in plain]


@given(
    article_bytes,
    article_bytes,
    st.integers(1, 40),
    st.sampled_from([1, 3, 8, 9, 16, 63, 64, 65, 70, 100, 128]),
    st.integers(1, 40),
)
def test_results_do_not_depend_on_parts_and_blocks(
    articles: bytes, samples: bytes, features: int, bits: int, size: int
) -> None:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        write(folder, articles, samples)
        want = expected(folder, features, bits)
        assert answered(folder, features, bits) == want
        patch.setattr(simtool, "_LEAST_PART_BYTES", size)
        patch.setattr(simtool, "processor_count", lambda: 3)
        patch.setattr(letter_scan, "_BLOCK_BYTES", size)
        patch.setattr(letter_scan, "_LEAST_SLOT_BITS", 2)
        patch.setattr(vocabulary, "_BLOCK_WORDS", size)
        patch.setattr(vocabulary, "_BLOCK_PAGES", 1 + size % 3)
        patch.setattr(vocabulary, "_WORDS_A_SUM", 1 + size % 5)
        assert answered(folder, features, bits) == want


@given(st.lists(st.text("abzAZ", min_size=1, max_size=16).map(str.encode), max_size=60))
def test_each_word_has_one_number_and_is_spelt_as_it_was(words: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letter_scan, "_LEAST_SLOT_BITS", 2)
        table, other = LetterTable(), LetterTable()
        for start in range(0, len(words), 7):
            numbers = numbered(table, words[start : start + 7])
            assert table.words(numbers) == [word.lower() for word in words[start : start + 7]]
        distinct = {word.lower() for word in words}
        assert len(table) == len(distinct)
        every = np.arange(len(table))
        assert set(table.words(every)) == distinct
        numbered(other, [b"elsewhere", b"a", b"abbreviations", *words[:3]])
        assert other.words(table.numbers_in(other).astype(np.int64)) == table.words(every)
        assert len(other) == len(distinct | {b"elsewhere", b"a", b"abbreviations"})


def numbered(table: LetterTable, words: list[bytes]) -> np.ndarray:
    data = b" ".join(words)
    lengths = np.array([len(word) for word in words], np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    padded = data + bytes(16 + -len(data) % 8)
    return table.numbers_at(np.frombuffer(padded, np.uint8), starts, lengths).astype(np.int64)


def test_page_of_more_ranked_words_than_a_byte_counts(tmp_path: Path) -> None:
    # Pages around 255 and 256, and around a block, whose bits are all ones or one short of half.
    pages = [
        b"page %d\n%s\n" % (count, b" ".join([b"river"] * (count // 2) + [b"stone"] * ones))
        for count in (254, 255, 256, 257, 511, 513, 40_000)
        for ones in (count // 2 - 1, count // 2, count // 2 + 1)
    ]
    write(tmp_path, b"\f".join(pages), b"asked\nriver\n\fother\nstone stone river\n\fnone\n")
    assert answered(tmp_path, 2, 128) == expected(tmp_path, 2, 128)


def test_thousands_of_words_are_numbered_once(tmp_path: Path) -> None:
    # More words than the table has slots at first; all of them occur as often as all others.
    words = [bytes(97 + number // 26**place % 26 for place in range(4)) * (1 + number % 4)
             for number in range(30_000)]  # fmt: skip
    articles = b"\f".join(b"%d\n%s\n" % (n, b" ".join(words[n::50])) for n in range(50))
    write(tmp_path, articles, articles[:20_000])
    assert answered(tmp_path, 40, 64) == expected(tmp_path, 40, 64)


@pytest.mark.parametrize("broken", ["article.txt", "sample.txt"])
def test_file_that_breaks_off_is_told_with_its_page(tmp_path: Path, broken: str) -> None:
    data = gzip.compress(b"one\nriver\n\ftwo\nstone\n\f" * 5000)
    write(tmp_path, b"one\nriver\n", b"asked\nriver\n")
    (tmp_path / broken).write_bytes(data[: len(data) // 2])
    with pytest.raises(MalformedRecord, match="breaks off") as raised:
        simtool.run(tmp_path, 3, 4)
    assert raised.value.path == str(tmp_path / broken)
    assert 0 < raised.value.position < 10_000
