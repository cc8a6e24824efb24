"""Copied passages: how well they are found beside other programs, and how fast.

Usage: python benchmarks/plagiarism.py [--quick] [--quality-only | --speed-only]

The papers are made by ``plagiarism_set.py`` from the labelled texts (SIMSTORE_TEST_DATA names their
folder). Settings of the peers are chosen on other papers of the same kinds, the best for each
language; simstore has its defaults.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from pathlib import Path

from passages_corpus import articles, paper_of
from plagiarism_peers import (
    PaperDetector,
    Settings,
    of_copydetect,
    of_difflib,
    of_rapidfuzz,
    of_sentence_plagiarism,
    of_simstore,
)
from plagiarism_set import KINDS, Measured, Paper, PlagiarismSet, measure, plagiarism_set
from results import Report, figure, parser

from simstore import Store
from simstore.model import CheckOptions, Document

OURS = "simstore"
NAMES = {"en": "English", "zh": "Chinese"}


def quality(report: Report, *, papers: int, sources: int) -> None:
    chosen_on = plagiarism_set(papers=max(1, papers // 2), sources=sources, seed=1)
    asked = plagiarism_set(papers=papers, sources=sources, seed=2)
    table = report.table(
        "Found passages",
        ("papers", "program", "setting", "plagdet", "precision", "recall", "granularity"),
        note=(
            "Characters of the paper, each with its source; granularity is detections a detected "
            "passage, 1 is best; plagdet is F1 / log2(1 + granularity) (Potthast et al. 2010). "
            "Peers' settings: least length or similarity, and the largest gap that is closed."
        ),
    )
    best_of: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    with tempfile.TemporaryDirectory() as name:
        for language in KINDS:
            library = asked.libraries[language]
            ours, close = of_simstore(library, _folder(Path(name), language))
            detectors: dict[str, PaperDetector] = {
                OURS: ours,
                "difflib": of_difflib(library),
                "RapidFuzz, sentence by sentence": of_rapidfuzz(library),
                "copydetect": of_copydetect(library),
                "sentence-plagiarism": of_sentence_plagiarism(library),
            }
            for program, detect in detectors.items():
                setting = _best_setting(detect, _papers(chosen_on, language))
                found = {paper.key: detect(paper)[setting] for paper in _papers(asked, language)}
                for kind in KINDS[language]:
                    of_kind = [p for p in _papers(asked, language) if p.kind == kind]
                    measured = measure(of_kind, [found[p.key] for p in of_kind])
                    best_of[language, kind][program] = measured.plagdet
                    table.add(f"{NAMES[language]}, {kind}", program, setting, *_cells(measured))
            close()
    for (language, kind), plagdets in best_of.items():
        peers = max(value for program, value in plagdets.items() if program != OURS)
        report.target(
            f"plagdet of copies in {NAMES[language]}, {kind}, vs the best peer",
            1.0,
            plagdets[OURS] / peers,
        )


def _folder(place: Path, name: str) -> Path:
    made = place / name
    made.mkdir()
    return made


def _papers(asked: PlagiarismSet, language: str) -> list[Paper]:
    return [paper for paper in asked.papers if paper.language == language]


def _best_setting(detect: PaperDetector, papers: list[Paper]) -> object:
    """Return the setting with the best mean plagdet over the kinds of papers."""
    found: list[Settings] = [detect(paper) for paper in papers]
    kinds = sorted({paper.kind for paper in papers})

    def mean(setting: object) -> float:
        total = 0.0
        for kind in kinds:
            rows = [n for n, paper in enumerate(papers) if paper.kind == kind]
            total += measure([papers[n] for n in rows], [found[n][setting] for n in rows]).plagdet
        return total

    return max(found[0], key=mean)


def _cells(measured: Measured) -> list[str]:
    return [
        f"{value:.3f}"
        for value in (
            measured.plagdet, measured.precision, measured.recall, measured.granularity
        )
    ]  # fmt: skip


def speed(report: Report, folder: Path, *, small: int, passages: int) -> None:
    table = report.table(
        "A paper of 10,000 characters",
        (
            "library",
            "language",
            "documents",
            "passages",
            "copies",
            "seconds",
            "--fast",
            "index / text",
        ),
        note="The least of several checks in a warm process; a fifth of the paper is copied.",
    )
    for language in ("en", "zh"):
        for what, count in (("articles", small), ("passages", None)):
            place = _folder(folder, f"{language} {what}")
            with Store.create(place / "s.db") as store:
                store.passages.build()
                bytes_of_text = 0
                documents = 0
                kept: dict[str, str] = {}
                while True:
                    batch = list(articles(language, 2_000, documents))
                    if count is not None:
                        batch = batch[: count - documents]
                    store.add_many(batch)
                    documents += len(batch)
                    bytes_of_text += sum(len(text.encode()) for _, text in batch)
                    kept |= dict(batch[::20])
                    status = store.passages.status()
                    if documents == count or (count is None and status.passage_count >= passages):
                        break
                paper, sources = paper_of(language, kept)
                seconds = {}
                for fast in (False, True):
                    asked = CheckOptions(fast=fast)
                    runs = []
                    for _ in range(5):
                        started = time.perf_counter()
                        found = next(store.check_many([Document("paper", paper)], asked))
                        runs.append(time.perf_counter() - started)
                    assert sources <= {source.key for source in found.sources}
                    seconds[fast] = min(runs)
                status = store.passages.status()
                table.add(
                    what,
                    NAMES[language],
                    f"{documents:,}",
                    f"{status.passage_count:,}",
                    len(found.copies),
                    figure(seconds[False]),
                    figure(seconds[True]),
                    figure(status.stored_bytes / bytes_of_text),
                )
            most = 1.0 if count is not None else 2.0
            shown = f"{documents:,} articles" if count else f"{passages:,} passages"
            report.target(
                f"check a paper of 10,000 characters against {shown}, {NAMES[language]}",
                most,
                seconds[False],
                at_most=True,
                unit=" s",
            )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--quality-only", action="store_true")
    options.add_argument("--speed-only", action="store_true")
    given = options.parse_args()
    report = Report(
        "plagiarism",
        "Copied passages",
        "Papers with passages that were copied from a library: as they are, cut and shuffled, with "
        "8 % (light) and 20 % (heavy) of the words edited, and told by another translation. "
        "simstore runs with its defaults; the settings of the others are the best on other papers.",
    )
    if not given.speed_only:
        quality(report, papers=2 if given.quick else 6, sources=12 if given.quick else 40)
    if not given.quality_only:
        with tempfile.TemporaryDirectory(dir=given.folder) as name:
            speed(
                report,
                Path(name),
                small=500 if given.quick else 10_000,
                passages=20_000 if given.quick else 1_000_000,
            )
    report.finish(given.results)


if __name__ == "__main__":
    main()
