"""Memory stays bounded, whatever flows in; measured as the kernel counts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Store
from simstore.sources.source import MAX_DOCUMENT_BYTES

from .states import integrity

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.slow

MB = 1 << 20
BOUND_BYTES = 470 * MB
LONGEST_BYTES = MAX_DOCUMENT_BYTES - 1_000

# Pages of some 60 kB, each with an id, until there are enough bytes.
PAGES = """
import random, sys
chance = random.Random(1)
words = ["".join(chance.choices("abcdefghij", k=chance.randint(2, 9))) for _ in range(2000)]
blocks = [" ".join(chance.choices(words, k=60)) for _ in range(400)]
size = number = 0
while size < int(sys.argv[1]):
    page = f"page-{number}\\n{' '.join(chance.choices(blocks, k=150))}\\n\\f".encode()
    number += 1
    size += sys.stdout.buffer.write(page)
"""
# A beginning, and then the same line again and again: no page ends, no line of JSON either.
ENDLESS = """
import sys
sys.stdout.buffer.write(sys.argv[2].encode())
block = sys.argv[3].encode() * 10_000
size = 0
while size < int(sys.argv[1]):
    size += sys.stdout.buffer.write(block)
"""


@contextmanager
def stream(program: str, *words: str) -> Iterator[int]:
    """Yield a descriptor to read what a program writes."""
    with subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE) as made:
        assert made.stdout is not None
        descriptor = os.dup(made.stdout.fileno())
        made.stdout.close()
        yield descriptor


def test_ingest_of_a_long_stream_needs_no_more_memory_than_a_short_one(
    nursery: Nursery, tmp_path: Path
) -> None:
    with stream(PAGES, str(120 * MB)) as descriptor:
        done = nursery.simstore(tmp_path, "ingest", "--as", "articles", "-", stdin=descriptor)
    assert done.code == 0, done.errors
    assert done.rss_bytes < BOUND_BYTES, f"{done.rss_bytes / MB:.0f} MB"
    assert integrity(tmp_path / "simstore.db") == "ok"
    with Store.open(tmp_path / "simstore.db") as store:
        assert store.stats().text_bytes > 115 * MB


@pytest.mark.parametrize(
    ("format_name", "beginning", "line"),
    [
        ("articles", "endless page\n", "words without an end "),
        ("auto", "", "words without an end "),
        ("jsonl", '{"id": 1, "text": "', "words without an end "),
    ],
)
def test_record_of_200_megabytes_is_rejected_without_being_held(
    nursery: Nursery, tmp_path: Path, format_name: str, beginning: str, line: str
) -> None:
    with stream(ENDLESS, str(200 * MB), beginning, line) as descriptor:
        done = nursery.simstore(tmp_path, "ingest", "--as", format_name, "-", stdin=descriptor)
    assert done.code == 5, done.errors
    assert "0 added" in done.text
    assert "1 rejected" in done.text
    assert "more than the limit" in done.errors
    assert done.rss_bytes < BOUND_BYTES, f"{done.rss_bytes / MB:.0f} MB"


@pytest.mark.parametrize("name", ["bomb.txt.zst", "bomb.jsonl.zst"])
def test_small_file_that_unpacks_to_much_is_rejected_without_being_held(
    nursery: Nursery, tmp_path: Path, name: str
) -> None:
    packer = zstd.ZstdCompressor()
    with (tmp_path / name).open("wb") as file:
        for _ in range(300):
            file.write(packer.compress(b"x" * MB))
        file.write(packer.flush())
    assert (tmp_path / name).stat().st_size < MB
    done = nursery.simstore(tmp_path, "ingest", name)
    assert done.code == 5, done.errors
    assert "1 rejected" in done.text
    assert done.rss_bytes < BOUND_BYTES, f"{done.rss_bytes / MB:.0f} MB"


@pytest.mark.parametrize("kind", ["same", "distinct"])
def test_longest_documents_that_are_accepted_fit_into_memory(
    nursery: Nursery, tmp_path: Path, kind: str
) -> None:
    with (tmp_path / "article.txt").open("wb") as file:
        for number in range(2):
            file.write(b"long page %d\n" % number)
            if kind == "same":
                file.write(b"some words of page %d and " % number * (LONGEST_BYTES // 26))
            else:
                # A language has far fewer words: nothing needs more features than this.
                words = range(number << 20, (number << 20) + LONGEST_BYTES // 80)
                file.write(b" ".join(b"x%x" % (word * 2_654_435_761) for word in words))
            file.write(b"\f")
    done = nursery.simstore(tmp_path, "ingest", "article.txt")
    assert done.code == 0, done.errors
    assert "2 added" in done.text
    assert done.rss_bytes < BOUND_BYTES, f"{done.rss_bytes / MB:.0f} MB"
