"""Graded papers: how well a figure tells copies, light and heavy revisions from texts of one's own.

Usage: python benchmarks/graded.py [--quick] [--papers N]

The grades are those of Clough and Stevenson: sentences cut from a source and pasted (near copy),
with one word in ten changed (light), with three words in ten replaced everywhere, the sentences in
another order and one word in ten changed (heavy), and texts of the same kind of document that
nobody copied (none). Rewritten is one grade more, of which hardly a run of three words is left: of
what is replaced everywhere one word in four is changed, and the words are shuffled within windows
of eight. Sources are the development part of ``pan_set.py``. The revisions are made by a program:
people revise otherwise.

References:
    Clough, Stevenson: Developing a corpus of plagiarised short answers, Language Resources and
    Evaluation 45, 2011, sections 3 and 4.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pan_set import Maker, data_folder
from results import Report, parser

from simstore import Store
from simstore.model import Document
from simstore.text.passages import sentences

NAMES = {"en": "English", "zh": "Chinese"}
GRADES = ("near copy", "light", "heavy", "rewritten", "none")
# Units of a text, as those of the paper's short answers.
SIZES = {"en": (200, 300), "zh": (300, 450)}
_UNITS = re.compile(r"[\u3400-\u9fff]|[^\W_]+")


@dataclass(frozen=True)
class Graded:
    """A text of a grade, and the document that it was made of, or stands beside."""

    key: str
    grade: str
    text: str
    source: str


def graded(maker: Maker, language: str, count: int) -> Iterator[Graded]:
    """Yield so many texts of each grade."""
    blank = " " if language == "en" else ""
    for number in range(count):
        rng = random.Random(f"graded {language} {number}")
        key, pieces = _stretch(maker, language, rng)
        beside = _beside(maker, language, key, rng)
        kept = [piece for piece in pieces if rng.random() < 0.85] or pieces
        copied = blank.join(kept)
        light = maker.rewriter.rewritten(copied, "low", rng)
        retold = maker.rewriter.rewritten(copied, "synonyms", rng)
        retold = maker.rewriter.rewritten(retold, "reordered", rng)
        heavy, rewritten = (maker.rewriter.rewritten(retold, kind, rng) for kind in ("low", "high"))
        texts = (copied, light, heavy, rewritten, blank.join(beside))
        for grade, text in zip(GRADES, texts, strict=True):
            yield Graded(f"{language} {number} {grade}", grade, text, maker.library[key])


def _stretch(maker: Maker, language: str, rng: random.Random) -> tuple[str, list[str]]:
    """Return a document of the library and sentences of it that follow one another."""
    while True:
        key = rng.choice(maker.of_sets)
        pieces = _taken(maker.library[key], language, rng)
        if pieces:
            return key, pieces


def _beside(maker: Maker, language: str, key: str, rng: random.Random) -> list[str]:
    """Return sentences of a document of the same set that the library has not."""
    name = key.partition("/")[0]
    others = [other for other in maker.hosts if other.partition("/")[0] == name]
    while True:
        pieces = _taken(maker.hosts[rng.choice(others or sorted(maker.hosts))], language, rng)
        if pieces:
            return pieces


def _taken(text: str, language: str, rng: random.Random) -> list[str]:
    spans = sentences(text)
    least, most = SIZES[language]
    pieces: list[str] = []
    size = 0
    for start, end in spans[rng.randrange(len(spans)) :]:
        pieces.append(text[start:end])
        size += len(_UNITS.findall(pieces[-1]))
        if size >= least:
            break
    return pieces if least <= size <= most else []


def area(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the area under the ROC curve: how often a positive is above a negative one.

    >>> area([3, 2], [1, 2])
    0.875
    """
    first, second = np.asarray(positive), np.sort(np.asarray(negative))
    below = np.searchsorted(second, first, side="left")
    until = np.searchsorted(second, first, side="right")
    return float((below + until).sum() / 2 / len(first) / len(second))


def grams(text: str) -> set[tuple[str, ...]]:
    """Return the runs of three words (Chinese: characters) of a text."""
    units = [unit.casefold() for unit in _UNITS.findall(text)]
    return set(zip(units, units[1:], units[2:], strict=False))


def containment(one: Graded) -> float:
    """Return which share of a text's runs of three its source has."""
    own = grams(one.text)
    return len(own & grams(one.source)) / len(own)


def jaccard(one: Graded) -> float:
    """Return the resemblance of the sets of runs of three, by datasketch."""
    from datasketch import MinHash

    sketches = []
    for text in (one.text, one.source):
        sketch = MinHash(num_perm=256)
        sketch.update_batch([" ".join(gram).encode() for gram in grams(text)])
        sketches.append(sketch)
    return float(sketches[0].jaccard(sketches[1]))


def ratio(one: Graded) -> float:
    """Return RapidFuzz's similarity of the whole texts."""
    from rapidfuzz import fuzz

    return fuzz.ratio(one.text, one.source)


def partial_ratio(one: Graded) -> float:
    """Return RapidFuzz's similarity to the best window of the source."""
    from rapidfuzz import fuzz

    return fuzz.partial_ratio(one.text, one.source)


PEERS: dict[str, Callable[[Graded], float]] = {
    "containment of 3-grams (Clough, Stevenson)": containment,
    "datasketch, Jaccard of 3-grams": jaccard,
    "RapidFuzz, ratio": ratio,
    "RapidFuzz, partial ratio": partial_ratio,
}


def of_simstore(maker: Maker, texts: Sequence[Graded]) -> dict[str, list[float]]:
    """Return the share in copies of each text, and the share that is identical."""
    with tempfile.TemporaryDirectory() as name, Store.create(Path(name) / "s.db") as store:
        store.passages.build()
        store.add_many(maker.library.items())
        told = list(store.check_many([Document(one.key, one.text) for one in texts]))
    return {
        "simstore, share in copies": [paper.totals.share for paper in told],
        "simstore, identical share": [paper.totals.identical_share for paper in told],
    }


def tell(report: Report, language: str, maker: Maker, texts: Sequence[Graded]) -> None:
    """Add the table of a language."""
    table = report.table(
        f"{NAMES[language]}, {len(texts) // len(GRADES)} texts of each grade",
        ("figure", *(f"{grade} from none" for grade in GRADES[:-1]), "near copy from light",
         "light from heavy", "mean: near copy", *GRADES[1:]),
    )  # fmt: skip
    rows = of_simstore(maker, texts)
    rows |= {name: [score(one) for one in texts] for name, score in PEERS.items()}
    for name, values in rows.items():
        of_grade = {
            grade: [value for one, value in zip(texts, values, strict=True) if one.grade == grade]
            for grade in GRADES
        }
        pairs = [(grade, "none") for grade in GRADES[:-1]]
        pairs += [("near copy", "light"), ("light", "heavy")]
        cells = [f"{area(of_grade[one], of_grade[other]):.3f}" for one, other in pairs]
        most = 100 if name.startswith("RapidFuzz") else 1
        means = [f"{float(np.mean(of_grade[grade])) / most:.2f}" for grade in GRADES]
        table.add(name, *cells, *means)


def main() -> None:
    """Measure the figures on both languages and write the part's report."""
    options = parser(__doc__)
    options.add_argument("--papers", type=int, default=60, help="texts of each grade")
    given = options.parse_args()
    report = Report(
        "graded",
        "Graded papers",
        "Texts of 200 to 300 words (Chinese: 300 to 450 characters) of Clough and Stevenson's "
        "grades: near copy, light and heavy revision, and none; rewritten is one more, of which "
        "hardly a run of three words is left (`benchmarks/graded.py` says how they are made: by a "
        "program, not by people). The areas under the ROC curve say how often "
        "a text of a grade has a higher figure than one of another; .5 is chance. simstore "
        "searches the whole library for each text; the others are given the true source, and for "
        "texts of no source one that stands beside them. Nothing was chosen on these sets.",
    )
    for language in NAMES:
        maker = Maker(language, "development", data_folder())
        count = 10 if given.quick else given.papers
        tell(report, language, maker, list(graded(maker, language, count)))
    report.finish(given.results)


if __name__ == "__main__":
    main()
