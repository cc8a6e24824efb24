import random

import pytest

pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")

from simstore import Files, Store
from simstore.errors import InvalidParameter

from .test_check import CHINESE, HARBOUR, RIVER, words


@pytest.fixture
def shelf(tmp_path):
    with Store.create(tmp_path / "s.db") as store:
        yield store


def test_each_pair_that_has_a_run_is_found_by_a_plain_search(shelf):
    """Of 12 papers any two share a run of 8 words or none; an oracle compares all runs."""
    rng = random.Random(5)
    shared = [words(rng.randint(8, 14), 100 + number) for number in range(6)]
    texts = []
    for number in range(12):
        parts = [words(20, number), *rng.sample(shared, 2), words(20, 50 + number)]
        rng.shuffle(parts)
        texts.append(" ".join(parts))
    runs = []
    for text in texts:
        units = text.split()
        runs.append({tuple(units[at : at + 8]) for at in range(len(units) - 7)})
    wanted = {(a, b) for a in range(12) for b in range(a) if runs[a] & runs[b]}
    assert 10 < len(wanted) < 66
    found = shelf.check_mutual(texts).pairs
    assert {(max(p.first, p.second), min(p.first, p.second)) for p in found} == wanted
    assert len(found) == len(wanted)
    assert [p.share for p in found] == sorted((p.share for p in found), reverse=True)


def test_equal_papers_are_told_once_the_earlier_one_first(shelf):
    found = shelf.check_mutual([("b", CHINESE), ("a", CHINESE), ("c", CHINESE)])
    assert [(p.first, p.second) for p in found.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert all(p.share == p.second_share == 1 for p in found.pairs)


def test_what_is_excluded_of_the_library_and_fast_do_not_matter(shelf):
    papers = [("a", RIVER), ("b", RIVER), ("c", RIVER)]
    found = shelf.check_mutual(papers, exclude=("*",), fast=True, channels=("anchors", "simhash"))
    assert len(found.pairs) == 3
    with pytest.raises(InvalidParameter, match="moderate"):
        shelf.check_mutual(papers, moderate=0.9, high=0.1)


def test_the_index_of_the_store_says_how_papers_are_compared(tmp_path):
    with Store.create(tmp_path / "s.db") as store:
        store.passages.build(window=20)
        store.add_many([("river", RIVER)])
        found = store.check_mutual([("a", RIVER), ("b", HARBOUR)])
    # A stored document is no source.
    assert found.pairs == ()
    assert all(paper.totals.copied == 0 for paper in found.papers)


def test_files_are_read_and_rejections_are_told(shelf, tmp_path):
    (tmp_path / "a.txt").write_text(RIVER)
    (tmp_path / "b.txt").write_text(RIVER)
    (tmp_path / "c.txt").write_bytes(b"\0" * 40)
    found = shelf.check_mutual(Files(*(str(tmp_path / f"{name}.txt") for name in "abc")))
    assert len(found.papers) == 2
    assert len(found.pairs) == 1
    assert len(found.rejections) == 1
