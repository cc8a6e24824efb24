"""Check a paper of 10,000 characters against libraries of seeded articles: time and size.

Usage: python benchmarks/check_speed.py [--quick] [--million]

Words are drawn by chance, so many sentences have rare words in common that are not about the same:
a hard case for the search of sentences. ``--million`` also asks libraries of a million passages.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from passages_corpus import articles, paper_of
from results import Report, figure, parser

from simstore import Store
from simstore.model import CheckOptions, Document

NAMES = {"en": "English", "zh": "Chinese"}
ROUNDS = 3


class Library:
    """A store of articles with passages, and a paper of which a fifth is copied from it."""

    def __init__(self, store: Store, language: str) -> None:
        self._store = store
        self._language = language
        self._kept: dict[str, str] = {}
        self.text_bytes = 0
        self.documents = 0
        store.passages.build()

    def fill(self, *, documents: int | None, passages: int) -> None:
        """Add articles until there are so many, or without a number, so many passages."""
        while documents is None or self.documents < documents:
            batch = list(articles(self._language, 2_000, self.documents))
            if documents is not None:
                batch = batch[: documents - self.documents]
            self._store.add_many(batch)
            self.documents += len(batch)
            self.text_bytes += sum(len(text.encode()) for _, text in batch)
            self._kept |= dict(batch[::20])
            if documents is None and self._store.passages.status().passage_count >= passages:
                return

    def least_seconds(self, *, fast: bool) -> tuple[float, int]:
        """Return the least processor time of several checks, and how many copies were told."""
        paper, sources = paper_of(self._language, self._kept)
        options = CheckOptions(fast=fast)
        runs = []
        for _ in range(ROUNDS):
            started = time.process_time()
            found = next(self._store.check_many([Document("paper", paper)], options))
            runs.append(time.process_time() - started)
            assert sources <= {source.key for source in found.sources}
        return min(runs), len(found.copies)


def main() -> None:
    """Measure both languages and write the part's report."""
    options = parser(__doc__)
    options.add_argument("--million", action="store_true", help="also a million passages")
    given = options.parse_args()
    small = 500 if given.quick else 10_000
    many = 20_000 if given.quick else 1_000_000
    asked = ((small, 1.0), (None, 2.0)) if given.million else ((small, 1.0),)
    report = Report(
        "check_speed",
        "A paper of 10,000 characters",
        "Seeded articles with stock sentences; a fifth of the paper is copied from ten of them. "
        f"The least processor time of {ROUNDS} checks in a warm process. Size is that of anchors, "
        "spans and terms of sentences.",
    )
    table = report.table(
        "Time and size",
        ("library", "documents", "passages", "copies", "seconds", "--fast", "index / text"),
    )
    for language, name in NAMES.items():
        for count, most in asked:
            with (
                tempfile.TemporaryDirectory(dir=given.folder) as folder,
                Store.create(Path(folder) / "s.db", synchronous="normal") as store,
            ):
                library = Library(store, language)
                library.fill(documents=count, passages=many)
                seconds, copies = library.least_seconds(fast=False)
                fast, _ = library.least_seconds(fast=True)
                status = store.passages.status()
                table.add(
                    name,
                    f"{library.documents:,}",
                    f"{status.passage_count:,}",
                    copies,
                    figure(seconds),
                    figure(fast),
                    figure(status.stored_bytes / library.text_bytes),
                )
            shown = f"{count:,} articles" if count else f"{many:,} passages"
            report.target(
                f"check a paper of 10,000 characters against {shown}, {name}",
                most,
                seconds,
                at_most=True,
                unit=" s",
            )
    report.finish(given.results)


if __name__ == "__main__":
    main()
