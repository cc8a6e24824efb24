"""Processor time of a check of one paper of 10,000 characters against a large library.

Usage: python benchmarks/check_speed.py [--documents N] [--language en|zh] [--store FILE]

The library is that of ``passages_corpus.py``: a twelfth of its sentences are stock sentences, of
which the commonest is in two articles of five. The store is made where FILE does not exist.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from passages_corpus import articles, paper_of

from simstore import Store
from simstore.model import CheckOptions, Document

_CHARACTERS = 10_000
_STOPS = {"en": ". ", "zh": "。"}
# Documents that are written together, those that papers are made of, and checks of each paper.
_TOGETHER, _KNOWN, _RUNS = 5_000, 400, 3
# Numbers from here on are in no library.
_ELSEWHERE = 10_000_000


def papers(language: str) -> Iterator[tuple[str, str]]:
    """Yield what a paper is, and its text."""
    own = articles(language, 50, _ELSEWHERE)
    yield "of its own, with stock sentences", "".join(text for _, text in own)[:_CHARACTERS]
    known = dict(articles(language, _KNOWN))
    yield "a fifth copied from ten documents", paper_of(language, known)[0][:_CHARACTERS]
    stop = _STOPS[language]
    counted = Counter(one for text in known.values() for one in dict.fromkeys(text.split(stop)))
    stock = stop.join(one for one, count in counted.most_common(200) if count > 1)
    yield "stock sentences alone", (stock * 10)[:_CHARACTERS]


def seconds(store: Store, text: str, options: CheckOptions) -> tuple[float, int]:
    """Return the processor time of a check in a warm process, and how many copies it tells."""
    taken = []
    for _ in range(_RUNS):
        started = time.process_time()
        found = next(store.check_many([Document("paper", text)], options))
        taken.append(time.process_time() - started)
    return min(taken), len(found.copies)


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--language", choices=tuple(_STOPS), default="en")
    options.add_argument("--store", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = given.store or Path(name) / "s.db"
        if not place.exists():
            with Store.create(place) as store:
                store.passages.build()
                library = articles(given.language, given.documents)
                while batch := list(islice(library, _TOGETHER)):
                    store.add_many(batch)
        with Store.open(place) as store:
            status = store.passages.status(sizes=False)
            print(f"{status.document_count:,} documents, {given.language}\n")
            print(
                "| paper | copies | seconds | copies, --fast | seconds |\n|---|---:|---:|---:|---:|"
            )
            for what, text in papers(given.language):
                told = [seconds(store, text, CheckOptions(fast=fast)) for fast in (False, True)]
                cells = (f"{copies:,} | {taken:.2f}" for taken, copies in told)
                print(f"| {what} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
