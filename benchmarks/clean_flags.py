"""How many clean texts a check flags for disguises: those that nobody disguised.

Usage: python benchmarks/clean_flags.py [--quick]

The texts are the labelled documents and the newspaper articles of the 19th and 20th century, as a
machine read them and as people corrected them (SIMSTORE_TEST_DATA names the folder). What is told
of each are the warnings at the head of a report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pan_set import data_folder, lines
from results import Report, parser

from simstore.model import Document
from simstore.services.check.check import flagged
from simstore.text.separators import letters_between_words

KINDS = (
    "hidden characters", "mixed scripts", "stacked marks", "spaced letters",
    "letters between words",
)  # fmt: skip


def clean_texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the set and the text of each document."""
    for record in lines(folder / "labelled" / "docs.jsonl.gz"):
        yield record["set"], record["text"]
    for name in ("train", "dev"):
        for record in lines(folder / "foreign" / "ocr" / f"{name}.jsonl.gz"):
            yield "scans, as read", record["ocr_hypothesis"]["transcription_unit"]
            yield "scans, corrected", record["ground_truth"]["transcription_unit"]


def warnings_of(text: str) -> set[str]:
    """Return the kinds of disguise that a check warns of."""
    warnings, _ = flagged(Document("paper", text), (), letters_between_words(text))
    return {warning.kind for warning in warnings}


def main() -> None:
    """Count the texts of each set and write the part's report."""
    given = parser(__doc__).parse_args()
    report = Report(
        "clean_flags",
        "Clean texts flagged for disguises",
        "Texts that nobody disguised, and how many of them a check warns of. Some of these sets "
        "were looked at while the warnings were made.",
    )
    table = report.table("Sets with flagged texts, and all", ("set", "texts", "flagged", *KINDS))
    counts: dict[str, Counter[str]] = {}
    for number, (name, text) in enumerate(clean_texts(data_folder())):
        if given.quick and number % 20:
            continue
        kinds = warnings_of(text)
        assert kinds <= set(KINDS)
        for of_set in (name, "all"):
            counts.setdefault(of_set, Counter()).update(
                ["texts", *kinds, *(["flagged"] if kinds else [])]
            )
    whole = counts.pop("all")
    shown = {name: of_set for name, of_set in counts.items() if of_set["flagged"]}
    shown[f"all {len(counts)} sets"] = whole
    for name, of_set in shown.items():
        table.add(name, *(f"{of_set[column]:,}" for column in ("texts", "flagged", *KINDS)))
    report.finish(given.results)


if __name__ == "__main__":
    main()
