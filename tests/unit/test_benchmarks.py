"""The benchmarks' own checks fail on wrong answers, and their page says what was measured."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from served import serve

from simstore import Store
from simstore.fingerprint.sketching import Sketching
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions

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


def test_planted_fingerprints_are_different_and_have_neighbours(part: Any) -> None:
    data = part("fingerprints")
    words = data.planted(5_000)
    assert len(np.unique(words)) == 5_000
    assert (words == data.planted(5_000)).all()
    near = [len(answer) - 1 for answer in data.brute_force(words, words[:500])]
    assert 100 < sum(count > 0 for count in near) < 400


def test_flipped_differs_in_exactly_the_distance(part: Any) -> None:
    data = part("fingerprints")
    rng = np.random.default_rng(1)
    words = rng.integers(0, 1 << 64, 4_000, dtype=np.uint64)
    distances = rng.integers(0, 4, 4_000)
    made = data.flipped(words, distances, rng)
    assert (np.bitwise_count(words ^ made) == distances).all()


def test_brute_force_finds_each_within_the_radius_in_order(part: Any) -> None:
    data = part("fingerprints")
    words = np.array([0b1111, 0b0111, 0b0001, 0b1000, 0], np.uint64)
    (answer,) = data.brute_force(words, np.array([0], np.uint64), 3)
    assert answer == [(0, 0), (1, 1), (8, 1), (7, 3)]


@pytest.mark.parametrize("wrong", ["missing", "too far", "twice", "itself"])
def test_check_of_pairs_fails_on_a_wrong_join(part: Any, wrong: str) -> None:
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


def test_peers_that_need_no_package_equal_brute_force(part: Any, tmp_path: Path) -> None:
    data, peers = part("fingerprints"), part("peers")
    words = data.planted(3_000)
    samples = data.queries_for(words, 200)
    truth = data.brute_force(words, samples)
    assert any(truth)
    covering = peers.Covering(words, tmp_path / "covering.db")
    for index in (covering, peers.NumpyScan(words)):
        assert index.answers(samples) == truth
        more = np.array([samples[0] ^ np.uint64(1)], np.uint64)
        index.insert(more)
        assert (int(more[0]), 1) in index.answer(int(samples[0]))
        index.close()


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


def test_command_of_a_part_names_no_place(
    part: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = part("results")
    monkeypatch.setattr(sys, "argv", ["x", "--results", str(tmp_path), "--documents", "7"])
    results.Report("ingest", "Bulk ingest").finish(tmp_path)
    made = json.loads((tmp_path / "ingest.json").read_text())
    assert made["command"] == "python benchmarks/ingest.py --documents 7"


def test_costs_on_paper_are_those_of_the_measured_line(part: Any) -> None:
    paper = part("paper")
    lookup, candidate = 2.0, 0.01
    points = [
        (n, 4 * lookup + n * paper.PLAIN.candidate_share * candidate) for n in (10**6, 10**7, 10**8)
    ]
    costs = paper.fitted(points)
    assert costs.lookup == pytest.approx(lookup)
    assert costs.candidate == pytest.approx(candidate)
    for layout in paper.LAYOUTS[1:]:
        start = paper.breaks_even(layout, costs)
        same = layout.microseconds(start, costs)
        assert same == pytest.approx(paper.PLAIN.microseconds(start, costs))


def test_supply_of_a_living_index_goes_on_and_plants_near_duplicates_of_stored_texts(
    part: Any,
) -> None:
    living = part("living")
    supply = living.Supply.of(40, 60, 1)
    stored = dict(supply.fill(40))
    made, near = supply.more(50)
    assert [key for key, _ in made] == [f"doc-{number:07}" for number in range(40, 90)]
    assert near == {f"doc-{number:07}" for number in range(40, 90, 10)}
    for key, text in made:
        words = text.split()
        apart = min(
            sum(a != b for a, b in zip(words, other.split(), strict=True))
            for other in stored.values()
        )
        assert (0 < apart <= living.EDITED_WORDS) == (key in near)


def test_plain_table_finds_exact_duplicates_and_forgets_what_is_removed(
    part: Any, tmp_path: Path
) -> None:
    table = part("living_peers").PlainTable(tmp_path / "plain.db", together=3)
    texts = ["a b c", "a b d", "a b c", "e"]
    found = [table.check_and_insert(n, str(n), text) for n, text in enumerate(texts)]
    assert found == [False, False, True, False]
    for number in (0, 2):
        table.remove(number, str(number))
    assert not table.check_and_insert(9, "9", "a b c")


def test_month_is_filled_in_between_its_marks_and_nowhere_else(part: Any) -> None:
    month = part("month")
    page = f"before\n{month.MARKS[0]}\nold\n{month.MARKS[1]}\nafter\n"
    made = month.fill_in(page, "new")
    assert made == page.replace("old", "new")
    day = month.Figures(3, 9, 1, 2, 3, 4, 5, 1234, 7, 8, 5_600_000, 0.25, 0.01, 1.5)
    row = month.table([day]).splitlines()[-1]
    assert row == "| 3 | 9 | 1 | 2 | 3 | 4 | 5 | 1,234 | 7 | 8 | 5.6 | 0.25 | 0.01 | 1.50 |"


def test_sources_of_the_shares_hold_the_same_texts(part: Any, tmp_path: Path) -> None:
    shares = part("shares")
    texts = [(f"doc-{number}", f"some {number} words of a text " * 30) for number in range(3)]
    for name in ("article.txt", "a.jsonl", "crawl.warc"):
        write = {".txt": shares.write_article_file, ".jsonl": shares.write_jsonl}
        write.get(Path(name).suffix, shares.write_warc)(tmp_path / name, texts)
        found = list(FileSource(str(tmp_path / name), ReadOptions()).records())
        assert [one.key.rpartition("/")[2] for one in found] == [key for key, _ in texts]
        for one, (_, text) in zip(found, texts, strict=True):
            assert set(text.split()) <= set(one.text.replace(".", " ").split())
            assert "Section" not in one.text


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


def test_pan_does_not_judge_detections_in_another_document_of_the_same_characters(
    part: Any,
) -> None:
    pan = part("pan_measure")
    run = "One two three, four five six seven eight."
    chinese = "一二三四五六，七八九十百千万"
    texts = {"p": f"{run} {chinese} Own words."}

    def of(end: int, library: dict[str, str], *, start: int = 0, source: str = "t") -> int:
        size = len(library[source])
        one = pan.Passage(
            paper="p", start=start, end=end, source=source, source_start=0, source_end=size
        )
        # The case is in the first source, and elsewhere in the paper.
        planted = passage(part, len(texts["p"]), len(texts["p"]) + 10, 900)
        return len(pan.judged([planted], [one], texts, library))

    first, behind = len(run), len(run) + 1
    # Marks, case and white space aside it is the same; so it is in Chinese, and in both together.
    assert of(first, {"t": "one two\nthree four FIVE six seven eight"}) == 0
    assert of(behind + len(chinese), {"t": chinese.replace("，", "")}, start=behind) == 0
    assert of(behind + len(chinese), {"t": f"{run} {chinese}"}) == 0
    # In the document that a case of the paper was taken from it is judged.
    assert of(first, {"s": run}, source="s") == 1
    # So is what was reworded, left out or put in, wherever it is.
    for other in (
        "One two three four five six seven nine",
        "One two three four five six eight",
        "One two three four five six seven seven eight",
        "Eight one two three four five six seven",
    ):
        assert of(first, {"t": other}) == 1
    assert of(behind + len(chinese), {"t": run}) == 1
    # And what is shorter than the guarantee's run, in either language.
    short, few = run.removesuffix(" eight."), chinese.removesuffix("万")
    assert of(len(short), {"t": short}) == 1
    assert of(behind + len(few), {"t": few}, start=behind) == 1


def test_pan_figures_leave_out_what_is_not_judged(part: Any) -> None:
    pan, sets = part("pan"), part("pan_set")
    run = "one two three four five six seven eight"
    text = f"{run} {run}"
    case = part("pan_measure").Passage(
        paper="p", start=0, end=len(run), source="s", source_start=0, source_end=len(run)
    )
    paper = sets.Paper("p", "en", "verbatim", text, (case,))
    library = {"s": run, "t": run, "u": run.replace("four", "for")}

    def told(*sources: str) -> list[str]:
        found = SimpleNamespace(
            cases=[
                SimpleNamespace(
                    start=0, end=len(run), source_key=key, source_start=0, source_end=len(run)
                )
                for key in sources
            ]
        )
        return list(pan.told_of([(paper, found)], library, copies=False))

    assert told("s", "t")[:5] == ["1", "1", "1", "1.000", "1.000"]
    assert told("t")[:6] == ["1", "0", "1", "0.000", "0.000", "0.000"]
    assert told("s", "u")[:3] == ["1", "2", "0"]
    assert told("s", "u")[4] != "1.000"


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


def test_clean_papers_are_touched_by_what_has_no_run(part: Any) -> None:
    pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")
    pan, sets = part("pan"), part("pan_set")
    run = "one two three four five six seven eight"
    for text, others, touched in (
        (run, f"before {run.upper()} behind", False),
        (run.removesuffix(" eight"), run, True),
        ("一二三四五六七八九十百千万", "一二三四五六七八九十百千万", False),
        ("一二三四五六七八九十百千", "一二三四五六七八九十百千万", True),
    ):
        paper = sets.Paper("p", "en", "clean", text, ())
        whole = part("pan_measure").Passage(
            paper="p", start=0, end=len(text), source="s", source_start=0, source_end=len(others)
        )
        assert pan.is_touched(paper, [whole], {"s": others}) == touched
    assert not pan.is_touched(paper, [], {})


def test_area_is_how_often_a_positive_is_above_a_negative(part: Any) -> None:
    graded = part("graded")
    assert graded.area([2, 3], [0, 1]) == 1.0
    assert graded.area([0, 1], [2, 3]) == 0.0
    assert graded.area([1, 1], [1, 1]) == 0.5
    assert graded.area([3, 1], [1, 2]) == (1 + 1 + 0.5 + 0) / 4
    text, source = "a b c d e", "x a b c d y"
    assert graded.containment(graded.Graded("k", "light", text, source)) == 2 / 3


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_articles_are_the_same_from_any_number_on(part: Any, language: str) -> None:
    corpus = part("passages_corpus")
    some = list(corpus.articles(language, 3, 5))
    assert some == list(corpus.articles(language, 8))[5:]
    library = dict(corpus.articles(language, 12))
    paper, keys = corpus.paper_of(language, library)
    assert len(keys) == 10
    assert 9_900 < len(paper) < 10_100


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


def test_gain_tells_daily_bulletins_from_edited_copies(part: Any) -> None:
    rules, sets = part("edge_rules"), part("edge_sets")
    first, second = (one for one in sets.bulletins(1, days=2) if one.key.startswith("closing "))
    edited = first.text.replace("Crude oil was", "Crude petroleum was")
    made = rules.pairs_of([first.text, second.text, edited], Sketching())
    gains = dict(
        zip(zip(made.first.tolist(), made.second.tolist(), strict=True), made.gain, strict=True)
    )
    assert gains[0, 1] > 0.3
    assert gains[0, 2] < 0.05
    groups = rules.groups_of([sets.Labelled(key, "", key) for key in ("a", "b")] * 2)
    assert groups.tolist() == [0, 1, 0, 1]


def test_capped_sets_hold_whole_groups(part: Any) -> None:
    sets = part("edge_sets")
    documents = [sets.Labelled(f"{group} {n}", "", str(group)) for group in range(9) for n in "abc"]
    kept = sets.capped(documents, 10)
    assert len(kept) == 9
    assert {sum(one.group == other.group for one in kept) for other in kept} == {3}
