"""Processor time and bytes that the passage index takes of a document of 600 words.

Usage: python benchmarks/passage_build.py [--documents N] [--language en|zh]

The library is that of ``passages_corpus.py``. The index is built after the documents were added, in
a process whose kernels are compiled.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from passages_corpus import ARTICLE_UNITS, articles

from simstore import Store

# Documents that are indexed first, so that everything is imported and compiled.
_WARMING = 50


def built(place: Path, language: str, count: int, first: int = 0) -> tuple[float, int]:
    """Return the processor time of a build and the bytes that the file grew by."""
    with Store.create(place) as store:
        store.add_many(articles(language, count, first))
        store.maintenance.compact()
    before = place.stat().st_size
    with Store.open(place) as store:
        started = time.process_time()
        store.passages.build()
        taken = time.process_time() - started
        store.maintenance.compact()
    return taken, place.stat().st_size - before


def main() -> None:
    """Print time and bytes of each document."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--documents", type=int, default=10_000)
    options.add_argument("--language", choices=tuple(ARTICLE_UNITS), default="en")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        built(Path(name) / "warming.db", given.language, _WARMING)
        place, count = Path(name) / "s.db", given.documents
        taken, grown = built(place, given.language, count)
        with Store.open(place) as store:
            status = store.passages.status()
    print(f"{count:,} documents of about {ARTICLE_UNITS[given.language]} units, {given.language}")
    print(f"build: {1e3 * taken / count:.2f} ms a document")
    print(f"file: {grown / count:,.0f} bytes a document")
    if status is not None and status.stored_bytes is not None:
        print(f"index without the tables' own: {status.stored_bytes / count:,.0f} bytes a document")
        print(
            f"{status.anchor_count / count:.1f} anchors, {status.term_count / count:.1f} terms, "
            f"{status.passage_count / count:.1f} passages a document"
        )


if __name__ == "__main__":
    main()
