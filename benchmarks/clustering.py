"""Clusters made from the first: how many pairs of texts are compared, and how long it takes.

Usage: python benchmarks/clustering.py [--quick] [--documents N] [--folder FOLDER]

Documents of the benchmark's corpus, and pages of one template of 200 words, of which each page has
six of its own. Each text is compared with earlier canonical texts only, so pages of a template cost
one comparison each. Beside it stands the exact prefix-filter join of the same texts. Last, the same
pages are ingested with ``--on-duplicate skip``: their resemblance of about .74 is just below the .8
that makes a duplicate, so each is an original, and compared with all before it.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from corpus import documents
from results import Report, figure, parser

from simstore import Store
from simstore.model import LeastShares
from simstore.search.all_pairs import all_pairs
from simstore.services.clusters.distinct_texts import read_contents
from simstore.services.clusters.verified_edges import EdgeFinder

LEAST = 0.5
RADIUS = 3
TEMPLATE_WORDS, OWN_WORDS = 200, 6


def template_pages(count: int) -> Iterator[tuple[str, str]]:
    """Yield pages of one template, with some words of their own each."""
    words = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in "lnrst"]
    template = random.Random("template").choices(words, k=TEMPLATE_WORDS)
    for number in range(count):
        drawn = random.Random(f"page {number}")
        page = list(template)
        for place in drawn.sample(range(TEMPLATE_WORDS), OWN_WORDS):
            page[place] = f"v{drawn.randrange(10**6)}"
        yield f"page {number}", " ".join(page)


def measured(folder: Path, pages: Iterator[tuple[str, str]], *, join: bool) -> list[object]:
    """Return what the stars find, compare and take, and what the join compares and takes."""
    with Store.create(folder / "s.db", synchronous="normal") as store:
        store.add_many(pages)
        opened = store._opened
        with opened.database.read() as connection:
            snapshot = opened.snapshot(connection)
            held = read_contents(snapshot)
            finder = EdgeFinder(snapshot, held, LeastShares(LEAST))
            started = time.perf_counter()
            spokes = finder.spokes(np.arange(len(held.firsts)), RADIUS)
            seconds = time.perf_counter() - started
            row: list[object] = [
                f"{len(held.firsts):,}",
                f"{len(spokes.texts):,}",
                f"{finder.compared_count:,}",
                figure(seconds),
            ]
            if not join:
                return [*row, "", ""]
            started = time.perf_counter()
            found = all_pairs(finder.all_texts().sets, LEAST)
            return [*row, f"{found.candidate_count:,}", figure(time.perf_counter() - started)]


def main() -> None:
    given = parser(__doc__)
    given.add_argument("--documents", type=int, help="of the corpus; 100,000 unless --quick")
    options = given.parse_args()
    count = options.documents or (2_000 if options.quick else 100_000)
    report = Report(
        "clustering",
        "Clusters made from the first",
        f"Edges of a resemblance of {LEAST} to earlier canonical texts, by both channels; beside "
        "them the exact prefix-filter join, which finds the edges between all texts.",
    )
    table = report.table(
        "Comparisons",
        ["", "texts", "edges", "compared", "seconds", "compared by the join", "seconds"],
        "The join of 20,000 pages of one template would hold 200 million pairs, and is left out.",
    )
    sizes = [250, 1_000] if options.quick else [1_000, 4_000, 20_000]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        for number, pages in enumerate(sizes):
            folder = Path(name) / str(number)
            folder.mkdir()
            made = measured(folder, template_pages(pages), join=pages <= 1_000)
            table.add(f"{pages:,} pages of one template", *made)
        folder = Path(name) / "corpus"
        folder.mkdir()
        table.add("the benchmark's corpus", *measured(folder, documents(count), join=True))
    checked = report.table(
        "Check and insert, just below the threshold",
        ["pages of one template", "stored", "seconds of processor"],
    )
    for pages in sizes[:2]:
        with (
            tempfile.TemporaryDirectory(dir=options.folder) as name,
            Store.create(Path(name) / "s.db", synchronous="normal") as store,
        ):
            began = time.process_time()
            store.add_many(template_pages(pages), on_duplicate="skip")
            spent = time.process_time() - began
            checked.add(f"{pages:,}", f"{len(store):,}", figure(spent))
    report.finish(options.results)


if __name__ == "__main__":
    main()
