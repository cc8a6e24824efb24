"""Copied passages by PAN's measure, on papers to PAN's definitions.

Usage: python benchmarks/pan.py [--held-out] [--papers N] [--seed N] [--copies]

The papers are made by ``pan_set.py`` (SIMSTORE_TEST_DATA names the folder of the texts). Constants
are chosen on the development part alone; ``--held-out`` asks the part that nobody tuned on.
``--copies`` measures the copies instead of the cases that they are joined to. Detections in another
document that holds the same characters are not judged, and counted. A clean paper is touched where
something is told that has no run of the guaranteed length.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pan_measure import Passage, judged, macro, micro, runs
from pan_set import PanSet, Paper, pan_set

from simstore import Store
from simstore.model import Case, CheckedPaper, Copy, Document

Row = tuple[Paper, CheckedPaper]


def checked(asked: PanSet) -> Iterator[Row]:
    """Yield the papers of a set with what simstore tells of them by its defaults."""
    for language, library in asked.libraries.items():
        with tempfile.TemporaryDirectory() as name, Store.create(Path(name) / "s.db") as store:
            store.passages.build()
            store.add_many(library.items())
            papers = [paper for paper in asked.papers if paper.language == language]
            documents = [Document(paper.key, paper.text) for paper in papers]
            yield from zip(papers, store.check_many(documents), strict=True)


def passage_of(paper: Paper, told: Case | Copy) -> Passage:
    """Return a case or a copy as PAN's measure takes it."""
    return Passage(
        paper=paper.key,
        start=told.start,
        end=told.end,
        source=told.source_key,
        source_start=told.source_start,
        source_end=told.source_end,
    )


def is_touched(paper: Paper, told: Iterable[Passage], library: Mapping[str, str]) -> bool:
    """Return whether something is told that has no run of the guaranteed length."""
    return not all(
        runs(paper.text[one.start : one.end])
        & runs(library[one.source][one.source_start : one.source_end])
        for one in told
    )


def told_of(rows: Sequence[Row], library: Mapping[str, str], *, copies: bool) -> list[str]:
    """Return the cells of a row: detections and cases, and the measures, micro and macro."""
    cases = [case for paper, _ in rows for case in paper.cases]
    detections = detections_of(rows, copies=copies)
    counted = counted_of(rows, detections, library)
    small, large = micro(cases, counted), macro(cases, counted)
    figures = (
        small.plagdet, small.precision, small.recall, small.granularity,
        large.plagdet, large.precision, large.recall,
    )  # fmt: skip
    counts = len(cases), len(counted), len(detections) - len(counted)
    return [*(f"{count:,}" for count in counts), *(f"{figure:.3f}" for figure in figures)]


def detections_of(rows: Sequence[Row], *, copies: bool) -> list[Passage]:
    """Return what simstore tells of papers."""
    return [
        passage_of(paper, told)
        for paper, found in rows
        for told in (found.copies if copies else found.cases)
    ]


def counted_of(
    rows: Sequence[Row], detections: Sequence[Passage], library: Mapping[str, str]
) -> list[Passage]:
    """Return the detections that are judged."""
    cases = [case for paper, _ in rows for case in paper.cases]
    return judged(cases, detections, {paper.key: paper.text for paper, _ in rows}, library)


def main() -> None:
    """Print a table for each language."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--held-out", action="store_true")
    options.add_argument("--papers", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--copies", action="store_true")
    given = options.parse_args()
    part = "held-out" if given.held_out else "development"
    asked = pan_set(part, papers=given.papers, seed=given.seed)
    rows = list(checked(asked))
    print("| papers | cases | judged | not judged | plagdet | precision | recall | granularity "
          "| macro: plagdet | precision | recall |\n|---" + "|---:" * 10 + "|")  # fmt: skip
    for language, library in asked.libraries.items():
        theirs = [row for row in rows if row[0].language == language]
        for kind in dict.fromkeys(paper.kind for paper, _ in theirs if paper.kind != "clean"):
            of_kind = [row for row in theirs if row[0].kind == kind]
            told = told_of(of_kind, library, copies=given.copies)
            print("| " + " | ".join((f"{language}, {kind}", *told)) + " |")
        told = told_of(theirs, library, copies=given.copies)
        print("| " + " | ".join((f"{language}, all", *told)) + " |")
        clean = [row for row in theirs if row[0].kind == "clean"]
        touched = sum(
            is_touched(paper, [passage_of(paper, one) for one in found.cases], library)
            for paper, found in clean
        )
        print(f"\n{language}: {touched} of {len(clean)} clean papers touched")
        every = [case for paper, _ in theirs for case in paper.cases]
        detections = detections_of(theirs, copies=given.copies)
        small, large = micro(every, detections), macro(every, detections)
        print(f"with all judged: plagdet {small.plagdet:.3f}, precision {small.precision:.3f}; "
              f"macro {large.plagdet:.3f}, {large.precision:.3f}\n")  # fmt: skip


if __name__ == "__main__":
    main()
