"""A living index: check and insert, clusters kept up, many removals, a year of churn.

Usage: python benchmarks/living.py [--quick] [--documents N] [--no-text] [--churn N] [--peers N]

One store of N documents, filled first, goes through the first three; churn is a store of its own.
Peers do what they can of it: it begins only where datasketch and gaoya are installed.
``--no-text``: the large store keeps no texts, and every resemblance in it is an estimate.
"""

from __future__ import annotations

import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import living_peers
from corpus import documents
from results import Report, Table, figure, parser

from simstore import Store
from simstore.model import Document

DOCUMENTS = 1_000_000
# Texts of the store that near-duplicates are made of.
KEPT = 2_000
SINGLY = 2_000
TOGETHER = 20_000
LATE = 1_000
WARM = 200
EDITED_WORDS = 3
DAY_SECONDS = 86_400
WEEKS = 52
# Of the documents, every week: as many go, come, and change.
WEEKLY_SHARE = 0.02
# A date for what is not measured by dates.
BEGIN = 1_750_000_000

Texts = list[tuple[str, str]]


@dataclass
class Supply:
    """Texts without end: those to fill a store with, then more, some of them near-duplicates."""

    texts: Iterator[tuple[str, str]]
    chance: random.Random
    kept: Texts
    each: int

    @classmethod
    def of(cls, count: int, more: int, seed: int) -> Supply:
        return cls(documents(count + more, seed), random.Random(seed), [], max(count // KEPT, 1))

    def fill(self, count: int) -> Iterator[tuple[str, str]]:
        for number, one in enumerate(islice(self.texts, count)):
            if number % self.each == 0:
                self.kept.append(one)
            yield one

    def more(self, count: int) -> tuple[Texts, set[str]]:
        """Return new documents, and which of them are edits of a stored one."""
        made, near = [], set()
        for number, (key, text) in enumerate(islice(self.texts, count)):
            if number % 10 == 0:
                text = edited(self.chance.choice(self.kept)[1], self.chance)
                near.add(key)
            made.append((key, text))
        assert len(made) == count
        return made, near


def edited(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    for place in chance.sample(range(len(words)), EDITED_WORDS):
        words[place] = "edited"
    return " ".join(words)


def seconds_of(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def fill(report: Report, place: Path, supply: Supply, count: int, *, text: bool) -> None:
    with Store.create(place, text=text) as store:
        seconds = seconds_of(lambda: store.add_many(supply.fill(count)))
        packed = seconds_of(store.maintenance.compact)
        assert len(store) == count
    table = report.table(
        "The store before",
        ("documents", "filled in, s", "documents/s", "packed in, s", "bytes a document"),
        note="The texts are made while it is filled, on the same two cores.",
    )
    size = place.stat().st_size / count
    table.add(f"{count:,}", figure(seconds), figure(count / seconds), figure(packed), figure(size))


def check_and_insert(report: Report, store: Store, supply: Supply, quick: bool) -> None:
    """Add with and without the check, one by one and many together."""
    table = report.table(
        f"Check and insert into {len(store):,} documents",
        ("what", "documents", "documents/s", "near-duplicates planted", "of them found"),
        note="A tenth are edits of a stored document, three of 600 words; the corpus has further "
        "near-duplicates. *flag* stores a duplicate too, with what it duplicates; *skip* stores "
        "that it is one; *keep* does not look.",
    )
    single, together = (WARM * 2, 1_000) if quick else (SINGLY + WARM, TOGETHER)
    rates = {}
    for mode in ("keep", "flag", "skip"):
        texts, near = supply.more(single)
        for key, text in texts[:WARM]:
            store.add(key, text, on_duplicate=mode)
        timed = texts[WARM:]
        seconds = seconds_of(lambda t=timed, m=mode: one_by_one(store, t, m))
        rates[mode, "singly"] = len(timed) / seconds
        found = found_of(store, near, mode)
        cells = (f"{len(timed):,}", figure(len(timed) / seconds), len(near), found)
        table.add(f"{mode}, each committed", *cells)
    for mode in ("keep", "flag", "skip"):
        # Not timed: kernels are loaded, and compiled where they never were.
        store.add_many(supply.more(WARM * 5)[0], on_duplicate=mode)
        texts, near = supply.more(together)
        seconds = seconds_of(lambda t=texts, m=mode: store.add_many(t, on_duplicate=m))
        rates[mode, "together"] = len(texts) / seconds
        found = found_of(store, near, mode)
        cells = (f"{len(texts):,}", figure(len(texts) / seconds), len(near), found)
        table.add(f"{mode}, in batches", *cells)
    for how, asked in (("singly", 2_000), ("together", 5_000)):
        report.target(
            f"check and insert, {how}, into {DOCUMENTS:,}",
            asked,
            None if quick else rates["flag", how],
            unit=" documents/s",
            note="not in this run" if quick else "",
        )


def one_by_one(store: Store, texts: Texts, mode: str) -> None:
    for key, text in texts:
        store.add(key, text, on_duplicate=mode)


def found_of(store: Store, near: set[str], mode: str) -> str:
    """Return how many of the planted near-duplicates are known as such."""
    if mode == "keep":
        return ""
    state = "flagged" if mode == "flag" else "skipped"
    found = {one.key: one for one in store.duplicates.list(state=state) if one.key in near}
    assert all(one.resemblance >= living_peers.THRESHOLD for one in found.values())
    assert len(found) >= 0.99 * len(near), f"{len(near) - len(found)} of {len(near)} missed"
    return f"{len(found):,}"


def clusters(report: Report, store: Store, supply: Supply, quick: bool) -> None:
    table = report.table(
        "Clusters that are kept",
        ("what", "documents", "seconds", "clusters, those of one too", "peak memory so far, MB"),
    )

    def keep(what: str) -> float:
        began = time.perf_counter()
        summary = store.clusters.build()
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        table.add(
            what, f"{len(store):,}", figure(seconds), f"{summary.cluster_count:,}", figure(peak)
        )
        return seconds

    keep("made the first time")
    keep("nothing has changed")
    # Not timed, as above.
    store.add_many(supply.more(WARM)[0])
    store.clusters.build()
    texts, near = supply.more(100 if quick else LATE)
    store.add_many(texts)
    seconds = keep(f"brought up to date after {len(texts):,} new documents")
    for key in sorted(near)[:20]:
        found = store.clusters.of(key)
        assert found is not None, key
        assert found.canonical_key != key
    report.target(
        f"clusters after {LATE:,} new documents in {DOCUMENTS:,}",
        2,
        None if quick else seconds,
        at_most=True,
        unit=" s",
        note="not in this run" if quick else "",
    )


def remove(report: Report, store: Store, count: int, quick: bool) -> None:
    table = report.table(
        "Removing a tenth of the documents", ("what", "documents", "seconds", "documents/s")
    )
    numbers = random.Random(3).sample(range(count), count // 10)
    keys = [f"doc-{number:07}" for number in numbers]
    before = len(store)
    seconds = seconds_of(lambda: store.remove(*keys))
    assert len(store) == before - len(keys)
    assert keys[0] not in store
    cells = (f"{len(keys):,}", figure(seconds), figure(len(keys) / seconds))
    table.add("remove, scattered over the store", *cells)
    clusters_again = seconds_of(store.clusters.build)
    table.add("clusters brought up to date after it", f"{len(keys):,}", figure(clusters_again), "")
    report.target(
        f"removing {DOCUMENTS // 10:,} of {DOCUMENTS:,}",
        60,
        None if quick else seconds,
        at_most=True,
        unit=" s",
        note="not in this run" if quick else "",
    )


def churn(report: Report, folder: Path, count: int) -> None:
    """Let a year pass, compact, and compare with a store that was made of what is left."""
    table = report.table(
        "A year of churn",
        ("what", "documents", "file, MB", "of the fresh store"),
        note=f"{WEEKS} weeks; in each a fiftieth of the documents is removed, as many come, and as "
        "many change by three words. In the end hardly a third of the first ones is left.",
    )
    weekly = max(int(count * WEEKLY_SHARE), 1)
    texts = documents(count + WEEKS * weekly, 9)
    chance = random.Random(9)
    alive = dict(islice(texts, count))
    place, fresh = folder / "churned.db", folder / "fresh.db"
    with Store.create(place) as store:
        store.add_many(dated(alive, 0))
        for week in range(1, WEEKS + 1):
            gone = chance.sample(list(alive), weekly)
            store.remove(*gone)
            for key in gone:
                del alive[key]
            changed = {
                key: edited(alive[key], chance) for key in chance.sample(list(alive), weekly)
            }
            alive |= changed
            come = dict(islice(texts, weekly))
            store.add_many(dated(changed | come, week))
            alive |= come
        assert {one.key for one in store} == set(alive)
    before = place.stat().st_size
    with Store.open(place) as store:
        store.maintenance.compact()
        for key in chance.sample(list(alive), 50):
            assert key in {match.key for match in store.query(alive[key])}
    with Store.create(fresh) as store:
        store.add_many(dated(alive, WEEKS))
        store.maintenance.compact()
    after, wanted = place.stat().st_size, fresh.stat().st_size
    for what, size in (("after a year", before), ("compacted", after), ("fresh", wanted)):
        table.add(what, f"{len(alive):,}", figure(size / 1e6), figure(size / wanted))
    report.target(
        "file after a year of churn, compacted, of a fresh one",
        1.3,
        after / wanted,
        at_most=True,
        unit="×",
    )


def dated(texts: dict[str, str], week: int) -> Iterator[Document]:
    for key, text in texts.items():
        yield Document(key, text, seen_at=BEGIN + week * 7 * DAY_SECONDS)


def beside(report: Report, folder: Path, count: int) -> None:
    table: Table = report.table(
        "Others, from empty",
        ("what", "documents", "checked and inserted/s", "near-duplicates found", "removed/s"),
        note="The two in memory keep no text and nothing when the process ends; what they call a "
        "duplicate rests on sketches. The plain table finds equal texts only.",
    )
    supply = Supply.of(count // 2, count, 4)
    base = list(supply.fill(count // 2))
    late, planted = supply.more(count // 2)
    texts = base + late
    near = [key in planted for key, _ in texts]
    living_peers.measure(table, texts, near, folder)
    with Store.create(folder / "beside.db") as store:
        seconds = seconds_of(lambda: store.add_many(texts, on_duplicate="flag"))
        known = {one.key for one in store.duplicates.list(state="flagged")}
        gone = [key for key, _ in texts[::10]]
        out = seconds_of(lambda: store.remove(*gone))
    hits = len(planted & known) / max(len(planted), 1)
    rates = (figure(len(texts) / seconds), f"{hits:.0%}", figure(len(gone) / out))
    table.add("simstore, durable, in batches, texts kept", f"{len(texts):,}", *rates)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--documents", type=int, default=DOCUMENTS)
    made.add_argument("--no-text", action="store_true", help="the large store keeps no texts")
    made.add_argument("--churn", type=int, default=50_000, help="documents of a year of churn")
    made.add_argument("--peers", type=int, default=20_000, help="documents that peers are given")
    options = made.parse_args()
    living_peers.check_peers()
    quick = options.quick or options.documents != DOCUMENTS
    count = 4_000 if options.quick else options.documents
    kept = "keeps no texts" if options.no_text else "keeps the texts"
    intro = (
        "Texts of 600 invented words, 3.5 kB (`benchmarks/corpus.py`, seeded); two cores, every "
        f"commit synced. The large store is of the default scheme with both channels and {kept}."
    )
    report = Report("living", "A living index", intro)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        supply = Supply.of(count, 4 * (SINGLY + 6 * WARM + TOGETHER), 1)
        fill(report, folder / "large.db", supply, count, text=not options.no_text)
        with Store.open(folder / "large.db") as store:
            check_and_insert(report, store, supply, quick)
            clusters(report, store, supply, quick)
            remove(report, store, count, quick)
        for file in folder.glob("large.db*"):
            file.unlink()
        churn(report, folder, 2_000 if options.quick else options.churn)
        beside(report, folder, 2_000 if options.quick else options.peers)
    report.finish(options.results)


if __name__ == "__main__":
    main()
