"""What simstore finds of copied passages may not become worse.

The papers are made by benchmarks/plagiarism_set.py from the labelled texts; the floors are a little
below what was measured when they were set.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from simstore import Store
from simstore.model import Document

pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")
pytestmark = pytest.mark.quality

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
# Precision, recall, plagdet.
FLOORS = {
    ("en", "verbatim"): (0.98, 0.98, 0.98),
    ("en", "shuffled"): (0.97, 0.98, 0.97),
    ("en", "light"): (0.98, 0.98, 0.98),
    ("en", "heavy"): (0.98, 0.97, 0.97),
    ("en", "retold"): (0.98, 0.89, 0.93),
    ("zh", "verbatim"): (0.98, 0.98, 0.98),
    ("zh", "shuffled"): (0.97, 0.98, 0.98),
    ("zh", "light"): (0.98, 0.98, 0.98),
    ("zh", "heavy"): (0.98, 0.98, 0.98),
}


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield __import__("plagiarism_set")
    sys.modules.pop("plagiarism_set", None)


def test_copied_passages_are_found(
    data: ModuleType, labelled_documents: Path, tmp_path: Path
) -> None:
    asked = data.plagiarism_set(labelled_documents.parents[1], papers=4, sources=30, seed=5)
    found = {}
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build()
        for library in asked.libraries.values():
            store.add_many(library.items())
        papers = [Document(paper.key, paper.text) for paper in asked.papers]
        for paper, checked in zip(asked.papers, store.check_many(papers), strict=True):
            told = [(case.start, case.end, case.source_key) for case in checked.cases]
            found.setdefault((paper.language, paper.kind), []).append((paper, told))
    measured = {
        kind: data.measure(*map(list, zip(*rows, strict=True))) for kind, rows in found.items()
    }
    assert measured.keys() == FLOORS.keys()
    below = {
        kind: values
        for kind, values in measured.items()
        if any(
            value < floor
            for value, floor in zip(
                (values.precision, values.recall, values.plagdet), FLOORS[kind], strict=True
            )
        )
    }
    assert not below, measured
