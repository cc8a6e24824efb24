"""What a second processor gains: ingest, query, check, threads of one program, one query's tables.

Usage: python benchmarks/threads.py [--quick] [--documents N] [--samples N] [--papers N]
                                    [--fingerprints N ...] [--rounds N]

Each way is timed in turns with the others, several times; the least time of each counts, as others
may use the machine. Answers are compared before they are timed.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from corpus import documents
from fingerprints import BITS, RADIUS, Words, planted, queries_for
from ingest import alone, write_corpus
from results import Report, Table, figure, parser
from widths import NO_LIMIT, Tables

from simstore import Files, Store, compiled
from simstore.compiled import Kernel
from simstore.model import SampleResult
from simstore.search.table_lookup import NEAR_VALUES
from simstore.services.check import check
from simstore.services.ingest.ingest import IngestOptions
from simstore.services.query import query

Text = tuple[str, str]
COLUMNS = ("what", "1 thread, s", "2 threads, s", "×", "processor s, 1", "processor s, 2")
PAPER_WORDS = 60
SINGLE = 400
# The look-up of one fingerprint, letting other threads run meanwhile as those of a store do not.
LETTING_GO = Kernel(NEAR_VALUES._function, NEAR_VALUES._signatures, parts=NEAR_VALUES._parts)


class Best:
    """The least time of each of some ways, and the processor time of that run."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}
        self.processor: dict[int, float] = {}

    def note(self, way: int, seconds: float, processor: float) -> None:
        if seconds < self.seconds.get(way, float("inf")):
            self.seconds[way], self.processor[way] = seconds, processor

    def row(self, table: Table, what: str) -> float:
        """Add a row; return how many times as fast two are as one."""
        gain = self.seconds[1] / self.seconds[2]
        table.add(
            what,
            *(figure(self.seconds[way]) for way in (1, 2)),
            figure(gain),
            *(figure(self.processor[way]) for way in (1, 2)),
        )
        return gain


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def in_turns(rounds: int, work: Callable[[int], Any]) -> Best:
    """Time work that is told how many threads it has."""
    best = Best()
    for _ in range(rounds):
        for way in (1, 2):
            started, processor = time.perf_counter(), processor_seconds()
            work(way)
            best.note(way, time.perf_counter() - started, processor_seconds() - processor)
    return best


def loop(count: int) -> tuple[float, float]:
    """Return what a plain loop takes: seconds, and those of the processor."""
    started, processor = time.perf_counter(), time.process_time()
    total = 0
    for number in range(count):
        total += number
    return time.perf_counter() - started, time.process_time() - processor


def idle_share(table: Table, rounds: int, count: int = 8_000_000) -> None:
    """Measure what two processors gain just now for what shares nothing."""
    best = Best()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        list(pool.map(loop, [count] * 2))
        for _ in range(rounds):
            best.note(1, *pool.submit(loop, count).result())
            halves = list(pool.map(loop, [count // 2] * 2))
            best.note(2, max(taken for taken, _ in halves), sum(taken for _, taken in halves))
    best.row(table, "a plain loop, half of it in each of two processes: what the machine gives")


def filled(source: str, place: str, threads: int, *, passages: bool = False) -> list[float]:
    """Fill a store in this process, which has done nothing else; return what it took."""
    compiled.leave_out_blas()
    started, processor = time.perf_counter(), processor_seconds()
    with Store.create(place) as store:
        if passages:
            store.passages.build()
        store.ingest([source], options=IngestOptions(threads=threads))
    return [time.perf_counter() - started, processor_seconds() - processor]


def content(place: Path) -> str:
    """Return a digest of all that a store says of its documents and their fingerprints."""
    digest = hashlib.sha256()
    with closing(Store.open(place, read_only=True)) as store:
        for one in store.list(with_text=True):
            digest.update(repr((one.key, one.text, one.document_id)).encode())
        with store.fingerprints.reader() as reader:
            for words in reader.fingerprints():
                digest.update(np.sort(words, axis=0).tobytes())
    return digest.hexdigest()


def ingest(report: Report, table: Table, folder: Path, count: int, rounds: int) -> Path:
    """Ingest by one and two threads; return a store."""
    source = folder / "corpus.jsonl"
    write_corpus(source, count)
    best = Best()
    contents = set()
    place = folder / "none"
    for _ in range(rounds):
        for way in (1, 2):
            for file in folder.glob(f"{place.name}*"):
                file.unlink()
            place = folder / f"store-{way}.db"
            for file in folder.glob(f"{place.name}*"):
                file.unlink()
            best.note(way, *alone(filled, str(source), str(place), way))
            contents.add(content(place))
    if len(contents) != 1:
        raise ValueError("the stores differ")
    gain = best.row(table, f"ingest {count:,} documents, from the opened file to the closed store")
    report.target("ingest, two threads beside one, cores idle", 1.5, gain)
    return place


def without_times(found: Sequence[SampleResult]) -> list[SampleResult]:
    return [
        replace(one, explanation=replace(one.explanation, seconds=0.0)) if one.explanation else one
        for one in found
    ]


def asked(place: str, source: str, threads: int) -> list[Any]:
    """Query with many samples in this process, which has done nothing else."""
    compiled.leave_out_blas()
    started, processor = time.perf_counter(), processor_seconds()
    with Store.open(place, read_only=True) as store:
        found = store.query_many(Files(source), threads=threads).samples
    took = [time.perf_counter() - started, processor_seconds() - processor]
    digest = hashlib.sha256(repr(without_times(found)).encode()).hexdigest()
    return [*took, digest]


def checked(place: str, source: str, threads: int) -> list[Any]:
    """Check many papers in this process, which has done nothing else."""
    compiled.leave_out_blas()
    started, processor = time.perf_counter(), processor_seconds()
    with Store.open(place, read_only=True) as store:
        found = list(store.check_many(Files(source), threads=threads))
    took = [time.perf_counter() - started, processor_seconds() - processor]
    return [*took, hashlib.sha256(repr(found).encode()).hexdigest()]


def shared(
    table: Table,
    what: str,
    work: Callable[..., list[Any]],
    place: Path,
    source: Path,
    rounds: int,
) -> float:
    """Time what is shared out to processes; the answers must be the same.

    Returns:
        How many times as fast two processors are.
    """
    best = Best()
    answers = set()
    for _ in range(rounds):
        for way in (1, 2):
            seconds, processor, digest = alone(work, str(place), str(source), way)
            best.note(way, seconds, processor)
            answers.add(digest)
    if len(answers) != 1:
        raise ValueError("the answers differ")
    return best.row(table, what)


def papers_of(texts: Sequence[Text], count: int) -> Iterator[Text]:
    """Yield papers that have copied from some of the texts."""
    chance = random.Random(1)
    for number in range(count):
        parts = []
        for _, text in chance.sample(texts, 8):
            words = text.split()
            start = chance.randrange(len(words) - PAPER_WORDS)
            parts.append(" ".join(words[start : start + PAPER_WORDS]))
        yield f"paper-{number}", ". ".join(parts)


def many(report: Report, table: Table, place: Path, samples: int, rounds: int) -> None:
    """Query with many samples of a file."""
    source = place.with_name("samples.jsonl")
    write_texts(source, documents(samples, seed=2))
    gain = shared(table, f"query with {samples:,} samples", asked, place, source, rounds)
    report.target("query of many samples, two processors beside one, cores idle", 1.5, gain)


def write_texts(path: Path, texts: Iterable[Text]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"key": key, "text": text}) + "\n" for key, text in texts)


def many_papers(report: Report, table: Table, folder: Path, papers: int, rounds: int) -> None:
    """Check many papers of a file."""
    source, place = folder / "sources.jsonl", folder / "passages.db"
    texts = list(documents(2_000))
    write_texts(source, texts)
    alone(partial(filled, passages=True), str(source), str(place), 2)
    write_texts(folder / "papers.jsonl", papers_of(texts, papers))
    what = f"check {papers:,} papers of 2.8 kB"
    gain = shared(table, what, checked, place, folder / "papers.jsonl", rounds)
    report.target("check of many papers, two processors beside one, cores idle", 1.5, gain)


def resident(report: Report, place: Path, samples: int, rounds: int) -> None:
    """Have threads of one program ask a resident store."""
    table = report.table(
        "Threads of one program that ask a resident store",
        COLUMNS,
        note="The same questions by one thread, and by two that have half of them each. Python "
        "computes in one thread at a time: two cannot be faster, and should not be slower. On a "
        "busy machine two threads get more of it than one; their processor time tells more then.",
    )
    texts = [text for _, text in documents(samples, seed=2)]
    with Store.open(place, resident=True) as store:
        store.maintenance.warm()
        with store.fingerprints.reader() as reader:
            values = [int(word) for words in reader.fingerprints() for word in words[:, 0]]

        def by_text(some: Sequence[str]) -> list[Any]:
            return [store.query(text) for text in some]

        def by_value(some: Sequence[int]) -> list[Any]:
            with store.fingerprints.reader() as own:
                return [own.near(value, RADIUS) for value in some]

        gains = [
            ("Store.query, texts of 3.5 kB", by_text, texts),
            ("Reader.near", by_value, (values * (50_000 // len(values) + 1))[:50_000]),
        ]
        for what, ask, asked_for in gains:
            if ask(asked_for[1::2]) != in_threads(ask, asked_for, 2)[1]:
                raise ValueError(f"{what}: the answers of two threads differ")
            best = in_turns(rounds, lambda way, a=ask, s=asked_for: in_threads(a, s, way))
            gain = best.row(table, f"{what}, {len(asked_for):,} times")
            report.target(f"{what}, two threads beside one", 1.0, gain, note="less noise")


def in_threads(
    ask: Callable[[Any], list[Any]], asked_for: Sequence[Any], count: int
) -> list[list[Any]]:
    found: list[list[Any]] = [[] for _ in range(count)]

    def work(number: int) -> None:
        found[number] = ask(asked_for[number::count])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def one_query(report: Report, counts: Sequence[int], rounds: int) -> None:
    """Ask the tables of one query one after the other, and by two threads at once."""
    table = report.table(
        "The tables of one query, asked in parallel",
        ("fingerprints", "all in one call, µs", "a call a table, µs", "by two threads, µs", "×"),
        note="Medians; four tables in memory, radius 3, the kernels let go of the interpreter's "
        "lock. × is how many times as fast two threads are as one call. To hand a table to "
        "another thread takes longer than to look into it, so a query does not.",
    )
    for count in counts:
        words = planted(count)
        tables = Tables(words, 16)
        samples = queries_for(words, SINGLE)
        with ThreadPoolExecutor(2) as threads:
            ways: dict[str, Callable[[int], Any]] = {
                "call": tables.near,
                "tables": partial(by_tables, tables, map),
                "threads": partial(by_tables, tables, threads.map),
            }
            for sample in samples[:100].tolist():
                if len({tuple(way(sample)) for way in ways.values()}) != 1:
                    raise ValueError(f"the answers to {sample:016x} differ")
            taken = {name: float("inf") for name in ways}
            for _ in range(rounds):
                for name, way in ways.items():
                    taken[name] = min(taken[name], microseconds(way, samples))
        gain = taken["call"] / taken["threads"]
        table.add(f"{count:,}", *(figure(each) for each in taken.values()), figure(gain))


def by_tables(tables: Tables, run: Callable[..., Any], value: int) -> list[int]:
    """Return what is near a fingerprint, looked up table by table."""

    def look_up(number: int) -> list[int]:
        found = np.empty(1 << 8, np.uint64)
        held = tables.tables, tables.offsets
        asked = tables.parts[number : number + 1], tables.all_masks
        count = LETTING_GO(held, asked, BITS, value, RADIUS, NO_LIMIT, found)
        if count > len(found):
            raise OverflowError(f"{count} matches")
        return found[:count].tolist()

    return sorted({word for words in run(look_up, range(len(tables.parts))) for word in words})


def microseconds(ask: Callable[[int], Any], samples: Words) -> float:
    taken = []
    for value in samples.tolist():
        started = time.perf_counter()
        ask(value)
        taken.append(time.perf_counter() - started)
    return 1e6 * median(taken)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--documents", type=int, default=20_000)
    made.add_argument("--samples", type=int, default=30_000)
    made.add_argument("--papers", type=int, default=200)
    made.add_argument("--fingerprints", type=int, nargs="+", default=[1_000_000, 10_000_000])
    made.add_argument("--rounds", type=int, default=2)
    options = made.parse_args()
    if options.quick:
        options.documents, options.samples, options.papers = 2_000, 500, 20
        options.fingerprints, options.rounds = [100_000], 1
    samples = query.ALONE_BATCHES * query.BATCH_SAMPLES
    megabytes, kilobytes = query.ALONE_CHARACTERS >> 20, check.ALONE_CHARACTERS >> 10
    intro = (
        "Texts of 600 invented words, 3.5 kB, a tenth of them light edits of others "
        "(`benchmarks/corpus.py`). One and two threads in turns, the least of "
        f"{options.rounds} times each; where others used the machine meanwhile, as the load tells "
        f"({os.getloadavg()[0]:.1f} when this began, for {os.cpu_count()} processors), two "
        "processors were hardly ever idle, and `×` is rough. Each run is a process of its own, "
        "with the load of kernels and without the import of the library; all answers are "
        "compared. Worker processes are started for more than "
        f"{samples:,} samples or {check.ALONE_PAPERS} papers, or {megabytes} MB and "
        f"{kilobytes} kB of text."
    )
    report = Report("threads", "Two processors", intro)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        table = report.table("Ingest, query and check", COLUMNS)
        idle_share(table, 4 * options.rounds)
        place = ingest(report, table, folder, options.documents, options.rounds)
        many(report, table, place, options.samples, options.rounds)
        many_papers(report, table, folder, options.papers, options.rounds)
        idle_share(table, 4 * options.rounds)
        resident(report, place, min(options.samples, 1_000), options.rounds)
    one_query(report, options.fingerprints, options.rounds)
    report.values["load"] = os.getloadavg()[0]
    report.finish(options.results)


if __name__ == "__main__":
    main()
