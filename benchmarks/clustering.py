"""Clusters made from the first: how many pairs of texts are compared, and how long it takes.

Usage: python benchmarks/clustering.py [--pages N ...] [--documents N ...] [--windows N ...]
           [--checked N ...] [--join N] [--data FOLDER] [--quick] [--folder FOLDER]

Pages of one template of 200 words, of which each page has six of its own; documents of the
benchmark's corpus; windows of 1,000 characters of real texts, side by side, and with half of each
in the next one (the labelled documents of the folder that SIMSTORE_TEST_DATA names, many in several
releases). Each text is compared with earlier canonical texts only, so pages of a template cost one
comparison each. Beside it stands the exact prefix-filter join of the same texts. *Build* is all
that ``simstore clusters`` does the first time, which is what a build that is killed loses.

Last, such pages are ingested with ``--on-duplicate skip``: their resemblance of about .74 is just
below the .8 that makes a duplicate, so each is an original, and compared with all before it.

Without options it takes about a minute; a figure alone is had by leaving out the others, as in
``--pages 20000 --documents --windows --checked``.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from corpus import documents
from results import Report, figure, parser

from simstore import Store
from simstore.model import LeastShares
from simstore.search.all_pairs import all_pairs
from simstore.search.set_pool import SetPool
from simstore.services.clusters.distinct_texts import read_contents
from simstore.services.clusters.verified_edges import EdgeFinder

LEAST = 0.5
RADIUS = 3
TEMPLATE_WORDS, OWN_WORDS = 200, 6
WINDOW = 1_000


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


def windows(count: int, data: Path, step: int) -> Iterator[tuple[str, str]]:
    """Yield windows of labelled documents, in an order that is always the same."""
    with gzip.open(data / "labelled" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [(one["id"], one["text"]) for one in map(json.loads, lines)]
    random.Random("windows").shuffle(texts)
    every = (
        (f"{key} {start}", text[start : start + WINDOW])
        for key, text in texts
        for start in range(0, max(len(text) - WINDOW // 2, 1), step)
    )
    return islice(every, count)


def measured(made: Iterator[tuple[str, str]], joined: int) -> list[object]:
    """Return what the stars find, compare and take, and what the join compares and takes."""
    with (
        tempfile.TemporaryDirectory() as name,
        Store.create(Path(name) / "s.db", synchronous="normal") as store,
    ):
        store.add_many(made)
        opened = store._opened
        with opened.database.read() as connection:
            snapshot = opened.snapshot(connection)
            held = read_contents(snapshot)
            texts = len(held.firsts)
            finder = EdgeFinder(snapshot, held, LeastShares(LEAST))
            # Compiled functions are loaded before the clock runs.
            finder.spokes(np.arange(min(texts, 200)), RADIUS)
            finder = EdgeFinder(snapshot, held, LeastShares(LEAST))
            with noted_pools() as pools:
                began = time.process_time()
                spokes = finder.spokes(np.arange(texts), RADIUS)
                spent = time.process_time() - began
            row: list[object] = [
                f"{texts:,}",
                f"{len(spokes.texts):,}",
                f"{sum(pool.compared_count for pool in pools):,}",
                f"{sum(pool.walked_count for pool in pools):,}",
                f"{3 * len(spokes.texts) + texts // 10:,}",
                figure(spent),
            ]
            if texts <= joined:
                began = time.process_time()
                found = all_pairs(finder.all_texts().sets, LEAST)
                spent = time.process_time() - began
                join = [f"{found.candidate_count:,}", figure(spent)]
            else:
                join = ["", ""]
        began = time.process_time()
        store.clusters.build()
        built = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return [*row, *join, figure(built), f"{peak:,}"]


def of_pages(count: int, joined: int) -> list[object]:
    return measured(template_pages(count), joined)


def of_corpus(count: int, joined: int) -> list[object]:
    return measured(documents(count), joined)


def of_windows(count: int, data: Path, step: int, joined: int) -> list[object]:
    return measured(windows(count, data, step), joined)


def apart(function: Callable[..., Sequence[Any]], *arguments: Any) -> Sequence[Any]:
    """Return what a function returns in a process of its own, which has its own peak of memory."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        return process.submit(function, *arguments).result()


def main() -> None:
    given = parser(__doc__)
    given.add_argument("--pages", type=int, nargs="*", default=[1_000, 4_000])
    given.add_argument("--documents", type=int, nargs="*", default=[2_000])
    given.add_argument("--windows", type=int, nargs="*", default=[2_000])
    given.add_argument("--checked", type=int, nargs="*", default=[1_000, 4_000])
    given.add_argument("--join", type=int, default=2_000, help="texts of a join at most")
    given.add_argument("--data", type=Path, default=os.environ.get("SIMSTORE_TEST_DATA"))
    options = given.parse_args()
    if options.quick:
        options.pages, options.checked, options.join = [250], [250], 250
    if options.folder:
        tempfile.tempdir = str(options.folder)
    report = Report(
        "clustering",
        "Clusters made from the first",
        f"Edges of a resemblance of {LEAST} to earlier canonical texts, by both channels; beside "
        "them the exact prefix-filter join, which finds the edges between all texts. Seconds are "
        "of the processor; each row is a process of its own.",
    )
    table = report.table(
        "Comparisons",
        [
            "",
            "texts",
            "edges",
            "compared",
            "by their shingles",
            "bound",
            "seconds",
            "compared by the join",
            "seconds",
            "build, seconds",
            "peak memory, MB",
        ],
        "*Compared*: what sketches let through; *by their shingles*: what the parities of the "
        "sets did not decide either. *Bound*: three times the edges and a tenth of the texts. "
        "*Build*: reading, finding, and "
        "writing the clusters; a build that is killed begins again, and loses at most this. "
        "Of fewer windows than asked for, all are taken. The "
        f"join is left out above {options.join:,} texts.",
    )
    for pages in options.pages:
        table.add(f"{pages:,} pages of one template", *apart(of_pages, pages, options.join))
    for count in options.documents:
        table.add("the benchmark's corpus", *apart(of_corpus, count, options.join))
    for count in options.windows if options.data else ():
        for step, name in ((WINDOW, "side by side"), (WINDOW // 2, "half in the next")):
            found = apart(of_windows, count, options.data, step, options.join)
            table.add(f"windows of real texts, {name}", *found)
    if options.windows and not options.data:
        print("no windows of real texts: set SIMSTORE_TEST_DATA or give --data", file=sys.stderr)
    checked = report.table(
        "Check and insert, just below the threshold",
        [
            "pages of one template",
            "stored",
            "pairs compared",
            "by their shingles",
            "seconds",
            "peak memory, MB",
            "without the check",
        ],
        "*By their shingles*: pairs that the parities of the sets did not decide. *Without the "
        "check*: the memory of the same ingest without `--on-duplicate`. Compiled functions are "
        "loaded before the clock runs.",
    )
    for pages in options.checked:
        found = apart(checking, pages, "skip")
        plain = apart(checking, pages, "keep")
        checked.add(*(f"{count:,}" for count in found[:4]), *found[4:], plain[-1])
    report.finish(options.results)


@contextmanager
def noted_pools() -> Iterator[list[SetPool]]:
    """Yield a list of the pools that are made; they count what is compared."""
    pools: list[SetPool] = []
    made = SetPool.__init__

    def noted(pool: SetPool, *given: Any, **options: Any) -> None:
        made(pool, *given, **options)
        pools.append(pool)

    SetPool.__init__ = noted  # type: ignore[method-assign]
    try:
        yield pools
    finally:
        SetPool.__init__ = made  # type: ignore[method-assign]


def checking(pages: int, on_duplicate: str) -> tuple[int, int, int, int, str, int]:
    """Return pages, those stored, pairs compared, by shingles, seconds, and megabytes."""
    for count in (250, pages):
        with (
            noted_pools() as pools,
            tempfile.TemporaryDirectory() as name,
            Store.create(Path(name) / "s.db", synchronous="normal") as store,
        ):
            began = time.process_time()
            store.add_many(template_pages(count), on_duplicate=on_duplicate)
            spent = time.process_time() - began
            stored = len(store)
    return (
        pages,
        stored,
        sum(pool.compared_count for pool in pools),
        sum(pool.walked_count for pool in pools),
        figure(spent),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    )


if __name__ == "__main__":
    main()
