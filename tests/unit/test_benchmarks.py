"""The benchmarks' own checks fail on wrong answers, and their page says what was measured."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from served import serve

from simstore import Store

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a file of the benchmarks, and forget all of them afterwards."""
    names = {path.stem for path in BENCHMARKS.glob("*.py")}
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def load(name: str) -> ModuleType:
        return __import__(name)

    yield load
    for name in names:
        sys.modules.pop(name, None)


def test_brute_force_finds_each_within_the_radius_in_order(part: Any) -> None:
    data = part("fingerprints")
    words = np.array([0b1111, 0b0111, 0b0001, 0b1000, 0], np.uint64)
    (answer,) = data.brute_force(words, np.array([0], np.uint64), 3)
    assert answer == [(0, 0), (1, 1), (8, 1), (7, 3)]


def test_check_of_pairs_fails_on_a_wrong_join(part: Any) -> None:
    for wrong in ["missing", "too far", "twice", "itself"]:
        data = part("fingerprints")
        words = data.planted(2_000)
        near = np.bitwise_count(words[:, None] ^ words[None, :]) <= 3
        left, right = np.nonzero(np.triu(near, 1))
        pairs = words[left], words[right]
        data.check_pairs(words, *pairs, sample_count=4_000)
        broken = {
            "missing": (pairs[0][1:], pairs[1][1:]),
            "too far": (pairs[0], pairs[1] ^ np.uint64(0xF0F0)),
            "twice": (np.append(pairs[0], pairs[1][:1]), np.append(pairs[1], pairs[0][:1])),
            "itself": (np.append(pairs[0], words[:1]), np.append(pairs[1], words[:1])),
        }
        with pytest.raises(AssertionError):
            data.check_pairs(words, *broken[wrong], sample_count=4_000)


def test_check_of_answers_fails_on_one_that_is_missing(part: Any) -> None:
    data, peers, neighbours = part("fingerprints"), part("peers"), part("neighbours")
    words = data.planted(2_000)
    samples = data.queries_for(words, 100)
    truth = data.brute_force(words, samples)
    whole = peers.NumpyScan(words)
    neighbours.check({"whole": whole}, samples, truth)
    found = next(answer[0][0] for answer in truth if answer)
    part_of_it = peers.NumpyScan(words[words != np.uint64(found)])
    with pytest.raises(AssertionError, match="a single answer"):
        neighbours.check({"part": part_of_it}, samples, truth)


def test_targets_say_what_was_asked_and_whether_it_is_met(part: Any) -> None:
    results = part("results")
    rows = results.target_rows(
        [
            results.Target("faster", 8, 9.5, unit="×"),
            results.Target("smaller", 50, 50.5, at_most=True, unit=" B"),
            results.Target("absent", 1, None, note="no disk"),
        ]
    )
    assert rows == [
        ["faster", "≥ 8.00×", "9.50×", "yes"],
        ["smaller", "≤ 50.0 B", "50.5 B", "**no**"],
        ["absent", "≥ 1.00", "not measured", " (no disk)"],
    ]


def test_page_holds_each_part_and_names_those_that_are_missing(
    part: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, document = part("results"), part("document")
    report = results.Report("ingest", "Bulk ingest", "How.")
    report.table("Rates", ("what", "documents/s")).add("simstore", results.figure(6123.4))
    report.target("documents/s", 6000, 6123.4, unit=" documents/s")
    report.finish(tmp_path)
    assert "| simstore | 6,123 |" in capsys.readouterr().out
    page = document.page(tmp_path, ["ingest", "big"])
    assert "## Bulk ingest" in page
    assert "| documents/s | ≥ 6,000 documents/s | 6,123 documents/s | yes |" in page
    assert "## Not measured yet\n\nbig." in page
    assert str(tmp_path) not in page


def passage(part: Any, start: int, end: int, source_start: int, **others: Any) -> Any:
    """A passage of the same length in paper and source."""
    return part("pan_measure").Passage(
        paper=others.get("paper", "p"),
        start=start,
        end=end,
        source=others.get("source", "s"),
        source_start=source_start,
        source_end=source_start + end - start,
    )


def test_pan_measures_count_characters_of_papers_and_sources(part: Any) -> None:
    pan = part("pan_measure")
    cases = [passage(part, 0, 100, 0), passage(part, 200, 300, 500)]
    assert pan.micro(cases, cases).plagdet == pan.macro(cases, cases).plagdet == 1.0
    assert pan.micro(cases, []) == pan.macro(cases, []) == pan.Measured(0.0, 0.0, 1.0)
    # Half of the first case, and a wrong place of the paper.
    half = [passage(part, 0, 50, 0), passage(part, 120, 170, 900)]
    assert pan.micro(cases, half) == pan.Measured(100 / 200, 100 / 400, 1.0)
    assert pan.macro(cases, half) == pan.Measured((1.0 + 0.0) / 2, (0.5 + 0.0) / 2, 1.0)
    # A case in two pieces: all is found, and granularity is 2.
    pieces = [passage(part, 0, 50, 0), passage(part, 50, 100, 50)]
    assert pan.micro(cases, pieces) == pan.Measured(1.0, 0.5, 2.0)
    assert pan.micro(cases, pieces).plagdet == pytest.approx((2 * 0.5 / 1.5) / np.log2(3))


def test_pan_detections_have_to_overlap_in_paper_and_source(part: Any) -> None:
    pan = part("pan_measure")
    case = passage(part, 0, 100, 0)
    for wrong in (
        passage(part, 0, 100, 0, source="t"),
        passage(part, 0, 100, 0, paper="q"),
        passage(part, 0, 100, 400),
        passage(part, 100, 200, 0),
    ):
        assert pan.micro([case], [wrong]).recall == 0.0
    # Twice the paper's stretch, half of the source's.
    found = pan.Passage(paper="p", start=0, end=200, source="s", source_start=0, source_end=50)
    assert pan.micro([case], [found]) == pan.Measured(150 / 250, 150 / 200, 1.0)
    # What two detections tell counts once for micro measures.
    twice = [passage(part, 0, 60, 0), passage(part, 40, 100, 40)]
    assert pan.micro([case], twice) == pan.Measured(1.0, 1.0, 2.0)


def letters(text: str) -> list[str]:
    return sorted(letter for letter in text if letter.isalnum())


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_pan_papers_have_the_passages_that_they_tell_of(
    part: Any, labelled_documents: Path
) -> None:
    pytest.importorskip("opencc", reason="needs OpenCC (the extra han)")
    pytest.importorskip("rjieba", reason="needs rjieba (the extra segment)")
    data_folder = labelled_documents.parents[1]
    if not (data_folder / "foreign" / "books").is_dir():
        pytest.skip(f"no books at {data_folder}: SIMSTORE_TEST_DATA names their folder")
    sets = part("pan_set")
    made = sets.pan_set("development", data_folder, papers=2)
    held_out = sets.pan_set("held-out", data_folder, papers=2)
    assert not set(made.libraries["en"]) & set(held_out.libraries["en"])
    assert not set(made.libraries["zh"]) & set(held_out.libraries["zh"])
    assert {paper.kind for paper in held_out.papers} - {paper.kind for paper in made.papers} == {
        "synonyms",
        "retold",
    }
    for paper in (*made.papers, *held_out.papers):
        assert bool(paper.cases) == (paper.kind != "clean")
        library = made.libraries if paper in made.papers else held_out.libraries
        for case in paper.cases:
            source = library[paper.language][case.source][case.source_start : case.source_end]
            copied = paper.text[case.start : case.end]
            if paper.kind == "verbatim":
                assert copied == source
            if paper.kind in ("shuffled", "reordered"):
                assert letters(copied) == letters(source)


def test_passages_of_one_source_are_joined_as_copies_are(part: Any) -> None:
    peers, sets = part("pan_peers"), part("pan_set")
    # Words of nine letters: a run of the guarantee takes 80 characters.
    paper = sets.Paper("p", "en", "verbatim", "ninechars " * 400, ())
    near = [passage(part, 0, 160, 0), passage(part, 400, 560, 400)]
    far = passage(part, 1600, 1760, 1600)
    other = passage(part, 160, 400, 0, source="t")
    found = peers.cases_of(paper, [*near, far, other], 1.0)
    assert set(found) == {passage(part, 0, 560, 0), far, other}
    # In another order they are one case too; longer runs reach further, shorter ones less.
    turned = [passage(part, 0, 160, 400), passage(part, 400, 560, 0)]
    assert [(one.start, one.end) for one in peers.cases_of(paper, turned, 1.0)] == [(0, 560)]
    assert len(peers.cases_of(paper, [*near, far], 4.0)) == 1
    apart = [passage(part, 0, 160, 0), passage(part, 640, 800, 640)]
    assert [len(peers.cases_of(paper, apart, reach)) for reach in (1.0, 0.5)] == [1, 2]
    made = peers.with_all_settings(paper, {7: [passage(part, 0, 80, 0)]})
    assert made[7, 1.0, 0] == [passage(part, 0, 80, 0)]
    assert made[7, 1.0, 150] == []


def test_peers_tell_both_places_of_a_copy(part: Any) -> None:
    peers, sets = part("pan_peers"), part("pan_set")
    pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")
    copied = "Ferries to the island take forty minutes and run each hour until dusk."
    source = f"Nothing of this is known elsewhere. {copied} Tickets are sold on board by the crew."
    text = f"My own words come first, for what they are worth. {copied} The rest is mine again."
    paper = sets.Paper("p", "en", "verbatim", text, ())
    for detector in (peers.of_difflib, peers.of_rapidfuzz):
        found = detector({"s": source, "t": "Of other things. Quite others, and many of them."})
        (one,) = found(paper)[8 if detector is peers.of_difflib else 85]
        told = text[one.start : one.end], source[one.source_start : one.source_end]
        assert [part.strip(" .") for part in told] == [copied.strip(".")] * 2


def test_area_is_how_often_a_positive_is_above_a_negative(part: Any) -> None:
    graded = part("graded")
    assert graded.area([2, 3], [0, 1]) == 1.0
    assert graded.area([0, 1], [2, 3]) == 0.0
    assert graded.area([1, 1], [1, 1]) == 0.5
    assert graded.area([3, 1], [1, 2]) == (1 + 1 + 0.5 + 0) / 4
    text, source = "a b c d e", "x a b c d y"
    assert graded.containment(graded.Graded("k", "light", text, source)) == 2 / 3


@pytest.mark.slow
@pytest.mark.sqlite
def test_the_service_set_has_edits_of_what_is_stored(part: Any, tmp_path: Path) -> None:
    data = part("service_set")
    sizes = data.Sizes(200, 3, 10)
    made = data.made(tmp_path / "set", sizes)
    before = {file.name: file.read_bytes() for file in made.folder.iterdir()}
    assert {"store.db", "batches", "kept", "queries", "originals"} <= set(before)
    with Store.open(made.store, read_only=True) as store:
        stored = {one.key: one.text for one in store.list(with_text=True)}
    assert len(stored) == 200
    for body in data.bodies_of(made.batches):
        batch = json.loads(body)["documents"]
        assert len(batch) == data.TOGETHER
        edits = [one for one in batch if one["key"].startswith("near-")]
        assert len(edits) == data.TOGETHER // 10
        for one in edits:
            assert any(changed_words(one["text"], text) <= 3 for text in stored.values())
    originals = made.originals.read_text().splitlines()
    bodies = list(data.bodies_of(made.queries))
    assert [bool(key) for key in originals] == [False, True] * 5
    for key, body in zip(originals, bodies, strict=True):
        if key:
            assert changed_words(json.loads(body)["text"], stored[key]) <= 3
    # It is kept, unless another one is wanted.
    data.made(tmp_path / "set", sizes)
    assert {file.name: file.read_bytes() for file in made.folder.iterdir()} == before
    data.made(tmp_path / "set", data.Sizes(200, 2, 10))
    assert len(list(data.bodies_of(made.batches))) == 2


def changed_words(one: str, other: str) -> int:
    return sum(a != b for a, b in zip(one.split(" "), other.split(" "), strict=True))


@pytest.mark.slow
@pytest.mark.sqlite
def test_the_sender_counts_what_the_server_did(part: Any, tmp_path: Path) -> None:
    load = part("service_load")
    made = part("service_set").made(tmp_path / "set", part("service_set").Sizes(200, 4, 10))
    with serve(made.store) as served:
        asked = load.Asked(served.url, 600.0, str(made.batches), skip=1, writers=2)
        found = asyncio.run(load.Load(asked).run())
        assert (found.batches, len(found.batch_ms), sum(found.outcomes.values())) == (3, 3, 150)
        assert found.near_flagged == found.near == 15
        asked = load.Asked(
            served.url, 0.2, queries=str(made.queries), originals=str(made.originals), readers=2
        )
        found = asyncio.run(load.Load(asked).run())
        assert found.known_found == found.known > 0
        # An edit that is not in the store is not said to be found.
        (tmp_path / "others").write_text("none\n" * 10)
        asked = load.Asked(
            served.url, 0.2, queries=str(made.queries), originals=str(tmp_path / "others")
        )
        assert asyncio.run(load.Load(asked).run()).known_found == 0
    with Store.open(made.store) as store:
        assert len(store) == 350
