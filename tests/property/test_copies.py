"""Every run of t units that a source has is found, however common its anchors are."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")

from simstore.fingerprint.winnowing import DEFAULT_WINNOWING, Winnowing
from simstore.search.cases import is_told, joined
from simstore.services.check import anchor_hits, copies
from simstore.services.check.copies import CopyFinder, FindOptions
from simstore.services.check.paper_units import paper_units
from simstore.text.located import located_units
from simstore.text.normalization import DEFAULT

from .shelf import Shelf

WORDS = [f"w{n}" for n in range(12)]
HAN = "天地玄黄宇宙洪荒日月"
SMALL = Winnowing(2, 4, 3, 6)


def found_in(text, shelf, moderate=0.5, **options):
    paper = paper_units(text, DEFAULT, shelf.winnowing)
    spaced = paper.units.spaced
    weights = np.where(spaced, 1 / shelf.winnowing.run_words, 1 / shelf.winnowing.run_characters)
    everything = options.pop("allowed", lambda numbers: np.ones(len(numbers), bool))
    asked = FindOptions(moderate, weights, everything, everything, **options)
    return paper, told(CopyFinder(paper, shelf, asked).find(), paper, shelf.winnowing)


def told(found, paper, winnowing):
    """The copies of cases that are told: what a check's answer has."""
    runs, by_source = paper.runs_before(winnowing), {}
    for copy in found:
        by_source.setdefault(copy.source.document_id, []).append(copy)
    kept = []
    for copies_of_one in by_source.values():
        spans = [copy.span(runs) for copy in copies_of_one]
        for case in joined(spans):
            if is_told([spans[number] for number in case]):
                kept += [copies_of_one[number] for number in case]
    return kept


def runs_of(units, winnowing):
    """Every run of t units of one kind, or of both: place and hashes, by a plain loop."""
    for first in range(len(units)):
        end = first + winnowing.run_mixed
        if end <= len(units):
            yield first, tuple(units.hashes[first:end].tolist())
        spaced = bool(units.spaced[first])
        length = winnowing.run_words if spaced else winnowing.run_characters
        if first + length <= len(units) and (units.spaced[first : first + length] == spaced).all():
            yield first, tuple(units.hashes[first : first + length].tolist())


def check_recall(text, shelf, moderate=0.5, **options):
    """Assert that each run of the paper that a source has is in a copy from such a source."""
    paper, found = found_in(text, shelf, moderate, **options)
    sources = {}
    for number, stored in shelf.documents.items():
        for _, run in runs_of(located_units(stored, DEFAULT), shelf.winnowing):
            sources.setdefault(run, set()).add(number)
    units = {}
    covered = np.zeros(len(paper.units), bool)
    for copy in found:
        first, end = copy.stretch.paper_first, copy.stretch.paper_end
        covered[first:end] = True
        units.setdefault(copy.source.document_id, set()).update(range(first, end))
    runs = 0
    for first, run in runs_of(paper.units, shelf.winnowing):
        if run in sources:
            runs += 1
            if options.get("fast"):
                # Each of its units has a source, perhaps not one that has all of the run.
                assert covered[first : first + len(run)].all()
                continue
            # All of it is in copies of one source that has it.
            assert any(
                set(range(first, first + len(run))) <= units.get(number, set())
                for number in sources[run]
            )
    for copy in found:
        stored = located_units(shelf.documents[copy.source.document_id], DEFAULT)
        for place, other, size in copy.stretch.blocks:
            assert (
                paper.units.hashes[place : place + size] == stored.hashes[other : other + size]
            ).all()
    return runs


PIECES = st.lists(
    st.one_of(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join),
        st.text(HAN, min_size=1, max_size=14),
        st.sampled_from([", ", "。", "\n\n\n", "  —  ", "́", "☃", "the same words again and again"]),
    ),
    max_size=8,
).map(" ".join)


@pytest.mark.slow
@given(PIECES, st.lists(PIECES, max_size=5), st.sampled_from([0.3, 0.5, 0.95, 1.0]), st.data())
@settings(max_examples=200)
def test_every_long_enough_run_is_found(text, stored, moderate, data):
    """Also where every anchor counts as common, and where the paper quotes the sources."""
    quoted = []
    for source in stored:
        if source:
            start = data.draw(st.integers(0, len(source) - 1))
            quoted.append(source[start : start + data.draw(st.integers(1, 60))])
    shelf = Shelf(stored, SMALL)
    most, pairs, margin = data.draw(st.sampled_from([(100, 4096, 16), (0, 0, -60), (1, 2, -99)]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies, "MOST_POSTINGS", most)
        patch.setattr(copies, "_MOST_PAIRS", pairs)
        patch.setattr(anchor_hits, "_MARGIN", margin)
        patch.setattr(copies, "_FIRST_READ", data.draw(st.sampled_from([1, 2, 64])))
        patch.setattr(copies, "_MOST_READ", data.draw(st.sampled_from([1, 3, 4_096])))
        check_recall(" ".join([text, *quoted]), shelf, moderate)
        check_recall(" ".join([text, *quoted]), shelf, moderate, fast=True)


def test_a_run_that_changes_its_kind_behind_common_words_is_found(monkeypatch):
    """The source has the words elsewhere too, without the character behind them."""
    phrase = "the same words again and again"
    stored = [f"{phrase} ☃ {phrase} {phrase} 黄荒天洪 w11", "w3 w1"]
    monkeypatch.setattr(copies, "MOST_POSTINGS", 0)
    monkeypatch.setattr(copies, "_MOST_PAIRS", 0)
    shelf = Shelf(stored, SMALL)
    assert check_recall(f"w5 {phrase} 黄 宙地月地", shelf, 0.95)


def test_each_run_of_a_paper_is_a_window_with_the_gram_of_a_window_within():
    """Runs of one kind, and of both: as a plain loop over the units lists them."""
    rng = random.Random(4)
    for _ in range(200):
        text = " ".join(
            rng.choice([rng.choice(WORDS), "".join(rng.choices(HAN, k=rng.randint(1, 9)))])
            for _ in range(rng.randint(0, 25))
        )
        paper = paper_units(text, DEFAULT, SMALL)
        windows = paper.windows
        spans = set(zip(windows.first.tolist(), windows.end.tolist(), strict=True))
        runs = {(first, first + len(run)) for first, run in runs_of(paper.units, SMALL)}
        # Of words alone, runs are as long as those of words.
        words = {(a, b) for a, b in runs if b - a > 4 and paper.units.spaced[a:b].all()}
        assert spans == runs - words
        assert windows.hashes.dtype == np.uint64


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_runs_are_found_behind_anchors_that_are_everywhere(kind):
    """A phrase that 300 documents have, and a longer run around it that only one has."""
    rng = random.Random(7)
    if kind == "words":
        join, unit, phrase = " ", lambda: f"u{rng.randrange(4000)}", [f"p{n}" for n in range(6)]
    else:
        join, unit = "", lambda: chr(0x4E00 + rng.randrange(4000))
        phrase = [chr(0x6000 + n) for n in range(9)]
    stored = [
        [unit() for _ in range(30)] + phrase + [unit() for _ in range(30)] for _ in range(300)
    ]
    texts = [join.join(document) for document in stored]
    shelf = Shelf(texts)
    around = DEFAULT_WINNOWING.run_words if kind == "words" else DEFAULT_WINNOWING.run_characters
    more = around - len(phrase)
    paper = []
    for number in (3, 150, 299):
        for before in range(more + 1):
            first = 30 - before
            paper += stored[number][first : first + around] + [unit() for _ in range(25)]
    assert check_recall(join.join(paper), shelf) >= 3 * (more + 1)


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_documents_that_have_something_else_beside_a_common_anchor_are_not_read(kind):
    """A phrase that 400 documents have, in a paper that goes on as none of them does."""
    rng = random.Random(3)
    join = " " if kind == "words" else ""

    def units(count):
        numbers = [rng.randrange(4000) for _ in range(count)]
        return [f"u{n}" if kind == "words" else chr(0x4E00 + n) for n in numbers]

    phrase = units(6 if kind == "words" else 9)
    texts = [join.join(units(30) + phrase + units(30)) for _ in range(400)]
    paper = join.join(units(20) + phrase + units(20))
    shelf = Shelf(texts)
    assert check_recall(paper, shelf) == 0
    assert 0 < len(set(shelf.read)) < (140 if kind == "words" else 280)


def test_a_stretch_that_all_documents_have_is_explained_by_the_first_ones():
    text = " ".join(f"w{n}" for n in range(30))
    shelf = Shelf([text] * 500)
    assert check_recall(text, shelf, fast=True) > 20
    assert len(set(shelf.read)) <= 64


def test_the_same_units_over_and_over_are_found_with_bounded_work():
    shelf = Shelf(["na " * 3000, "天" * 3000])
    assert check_recall("na " * 2000 + "天" * 2000, shelf) > 3900


def test_sources_that_are_not_allowed_are_not_found():
    text = "one two three four five six seven eight nine ten"
    shelf = Shelf([text, text])
    _, found = found_in(text, shelf, allowed=lambda numbers: numbers == 2)
    assert [copy.source.document_id for copy in found] == [2]


def test_fast_stops_at_one_source_of_the_same_text():
    text = "one two three four five six seven eight nine ten"
    _, found = found_in(text, Shelf([text] * 5), fast=True)
    assert len(found) == 1
    _, found = found_in(text, Shelf([text] * 5))
    assert len(found) == 5


def test_characters_and_words_in_turns_are_found_from_thirteen_on():
    """Five Han characters and one Latin word in turns have no run of one kind that is found."""
    rng = random.Random(4)

    def turns(count):
        for number in range(count):
            yield (
                f" w{rng.randrange(4000)} "
                if number % 6 == 5
                else chr(0x4E00 + rng.randrange(4000))
            )

    stored = [list(turns(360)) for _ in range(3)]
    shelf = Shelf(["".join(text) for text in stored])
    paper = []
    for first in range(0, 340, 7):
        paper += [*stored[first % 3][first : first + 13], *turns(23)]
    assert check_recall("".join(paper), shelf) >= 49
    _, found = found_in("".join(stored[1]), shelf)
    (copy,) = [copy for copy in found if copy.source.document_id == 2]
    assert copy.stretch.blocks == ((0, 0, 360),)
