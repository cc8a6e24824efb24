"""The course tool on whole files, compiled, gives what it gives page by page."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from io import BufferedReader, BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore import compiled
from simstore.errors import MalformedRecord
from simstore.model import Document
from simstore.services import simtool, simtool_bulk
from simstore.services.simtool import run
from simstore.sources import course_pages
from simstore.sources.articles import read_articles
from simstore.sources.course_pages import read_pages

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")
pytestmark = needs_numba

article_bytes = st.lists(
    st.one_of(
        st.sampled_from([b"\f", b"\n", b"\r\n", b"\r", b" ", b"\t", b"\v", b"\xff", b"the", b"b"]),
        st.sampled_from([b"river", b"Stone", b"river stone", b"\xc3\xa9t\xc3\xa9", b"x1y"]),
        st.sampled_from([b"page one\n", b"two \t\r\n", b"\f\n"]),
    ),
    max_size=30,
).map(b"".join)


@pytest.fixture(autouse=True)
def _default_kernels() -> Iterator[None]:
    yield
    compiled.enable()


@given(article_bytes, st.booleans())
def test_pages_are_those_of_the_reader(data: bytes, packed: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "article.txt"
        path.write_bytes(gzip.compress(data) if packed else data)
        with ThreadPoolExecutor(2) as threads, pytest.MonkeyPatch.context() as patch:
            patch.setattr(course_pages, "_PIECE", 64)
            pages = read_pages(path, threads)
    plain = list(read_articles(BufferedReader(BytesIO(data)), "-", max_document_bytes=None))
    assert all(isinstance(page, Document) for page in plain)
    made = [
        (pages.key(page), pages.data[first:end].tobytes())
        for page, (first, end) in enumerate(pages.bodies.tolist())
    ]
    assert made == [
        (page.key, page.text.encode("utf-8", "surrogateescape"))
        for page in plain
        if isinstance(page, Document)
    ]


@given(
    article_bytes, article_bytes, st.integers(1, 5), st.sampled_from([1, 3, 16, 64, 70, 128]),
    st.integers(1, 40),
)  # fmt: skip
def test_results_are_the_same_compiled_or_not(
    articles: bytes, samples: bytes, features: int, bits: int, part_bytes: int
) -> None:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(simtool_bulk, "_LEAST_PART_BYTES", part_bytes)
        folder = Path(name)
        (folder / "article.txt").write_bytes(articles)
        (folder / "sample.txt").write_bytes(samples)
        (folder / "stopwords.txt").write_bytes(b"the of")
        rows = [f"{n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:0128b}\n" for n in range(1, 6)]
        (folder / "hashvalue.txt").write_text("".join(rows))
        compiled.disable()
        plain = run(folder, features, bits)
        compiled.enable(0)
        assert run(folder, features, bits) == plain


def test_file_that_breaks_off_is_told_with_its_page(tmp_path: Path) -> None:
    data = gzip.compress(b"one\nriver\n\ftwo\nstone\n\f" * 5000)
    (tmp_path / "article.txt").write_bytes(data[: len(data) // 2])
    (tmp_path / "sample.txt").write_bytes(b"asked\nriver\n")
    (tmp_path / "stopwords.txt").write_bytes(b"")
    (tmp_path / "hashvalue.txt").write_bytes(b"1010\n0110\n1100\n")
    said = []
    for switch in (compiled.disable, lambda: compiled.enable(0)):
        switch()
        with pytest.raises(MalformedRecord) as raised:
            simtool.run(tmp_path, 3, 4)
        said.append(str(raised.value))
    assert said[0] == said[1]
