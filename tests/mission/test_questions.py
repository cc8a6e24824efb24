"""The page of questions and answers: words, thresholds, vectors, and who has the original."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

import oracle_mission as oracle
import pytest

from .commands import Folder, Store

# Words of the usual dictionaries that are in the two sentences, each longer than a character.
WORDS = {"研究", "研究生", "生命", "起源", "吃饭"}
SENTENCES = ("我在小明家吃饭", "研究生命的起源")
CLASSIC = ("forward-max", "backward-max", "min-cut", "bidirectional")


@pytest.mark.parametrize("name", [*CLASSIC, "jieba"])
def test_chinese_is_cut_into_words(folder: Folder, name: str) -> None:
    pytest.importorskip("rjieba")
    store = folder.texts({text: text for text in SENTENCES}, segmenter=name)
    found = Counter({term: count for term, count, _, _ in store.vocabulary()})
    ways = oracle.longest_from_left, oracle.longest_from_right
    left, right = ([cut(text, WORDS) for text in SENTENCES] for cut in ways)
    # No cut has fewer words than the backward one, and none as few has fewer of one character.
    for text, words in zip(SENTENCES, right, strict=True):
        rank = len(words), sum(len(word) == 1 for word in words)
        cuts = oracle.cuts(text, WORDS)
        assert rank == min((len(cut), sum(len(word) == 1 for word in cut)) for cut in cuts)
    if name in CLASSIC:
        assert found == Counter(chain(*(left if name == "forward-max" else right)))
    # Nothing is lost, also by a statistical model.
    assert Counter("".join(found.elements())) == Counter("".join(SENTENCES))
    assert left != right


def test_cut_words_are_compared_as_vectors(folder: Folder) -> None:
    pytest.importorskip("rjieba")
    one, two = SENTENCES[1], "生命的起源"
    options = {"segmenter": "backward-max", "weights": "tf", "units": "words", "shingle": 1}
    found = folder.compare(one, two, **options)
    a, b = ({*oracle.longest_from_right(text, WORDS)} for text in (one, two))
    # 研究 生命 的 起源, and the last three: each once.
    assert (len(a), len(b), len(a & b)) == (4, 3, 3)
    assert found["cosine"].cosine == pytest.approx(3 / math.sqrt(4 * 3))
    assert found["resemblance"].jaccard == pytest.approx(3 / 4)
    assert found["euclid"].distance == pytest.approx(1.0)
    bits = found["simhash-64"]
    assert bits.distance == oracle.distance(int(bits.a, 16), int(bits.b, 16))


@pytest.mark.parametrize("options", [{}, {"fold_han": True}])
def test_chinese_is_typed_in(folder: Folder, texts: Any, options: Any) -> None:
    if options:
        pytest.importorskip("opencc")
    store = folder.texts({"a": texts["simplified"]}, **options)
    for script in ("simplified", "traditional"):
        (row,) = store.rows("query", "-", stdin=texts[script])
        (match,) = row.matches
        assert (match.key, match.distance, match.resemblance) == ("a", 0, 1.0)


def test_threshold_is_found_by_ones_own_labels(folder: Folder, crowd: list[str]) -> None:
    texts, labels = {}, []
    for number in range(6):
        words = " ".join(crowd[2 * number : 2 * number + 2]).split()
        texts[f"{number}/a"] = " ".join(words)
        words[number] = "other"
        texts[f"{number}/b"] = " ".join(words)
        labels.append((f"{number}/a", f"{number}/b"))
        # Three quarters of the words: alike, and not the same.
        texts[f"{number}/c"] = " ".join([*words[:36], *crowd[50 + number].split()[:12]])
    store = folder.texts(texts)
    same = [oracle.resemblance(texts[a], texts[b]) for a, b in labels]
    alike = [oracle.resemblance(texts[f"{n}/{x}"], texts[f"{n}/c"]) for n in range(6) for x in "ab"]
    assert 0.5 < max(alike) < 0.7 < 0.8 < min(same)
    judged = store.evaluate(labels)
    assert judged["verified", 0.7] == (1.0, 1.0)
    assert judged["verified", 0.5][0] < 1
    advice = store.run("evaluate", pairs=store.labels(labels)).errors
    (advised,) = re.findall(r"--min-resemblance ([\d.]+)", advice)
    assert max(alike) < float(advised) <= min(same)


@pytest.mark.parametrize("shingle", [1, 2])
def test_stop_words_stems_and_chunks(folder: Folder, shingle: int) -> None:
    pytest.importorskip("snowballstemmer")
    text = "The boats are sailing to the harbours"
    store = folder.texts({"a": text}, shingle=shingle, stopwords="builtin", stem="english")
    # Two words in a row are a chunk, whatever they are: no phrases by their grammar.
    terms = {"boat", "sail", "harbour"} if shingle == 1 else {"boat sail", "sail harbour"}
    assert {term for term, *_ in store.vocabulary()} == terms


def test_all_pairs_are_found(given: Store, planted: list[int]) -> None:
    expected = oracle.near_pairs(planted, 3)
    assert len(expected) >= 30
    rows = given.rows("fingerprints", "pairs", radius=3)
    assert sorted((row.left, row.right, row.distance) for row in rows) == expected


def test_matches_are_verified_by_the_texts(folder: Folder, texts: Any) -> None:
    story = texts["ferry"]
    store = folder.texts({"story": story})
    shuffled = " ".join(story.rstrip(".").split()[::-1])
    # The same words as often: no bit differs, and hardly three words in a row are the same.
    (match,) = store.query_text(shuffled, channels="simhash", radius=0).matches
    assert (match.key, match.distance) == ("story", 0)
    assert match.resemblance == pytest.approx(oracle.resemblance(story, shuffled))
    assert match.resemblance < 0.1
    assert store.query_text(shuffled, min_resemblance=0.5).matches == []


def test_usual_hash_finds_copies(folder: Folder, texts: Any) -> None:
    store = Store(folder, "store.db")
    records = ({"id": f"{n}", "text": texts["ferry" if n < 3 else "clock"]} for n in range(4))
    assert store.add(*records) == {"added": 4, "exact_duplicates": 2}
    one, again, thrice, other = (row.digest for row in store.documents())
    assert one == again == thrice != other


@pytest.fixture(scope="module")
def crawled(new_folder: Callable[[], Folder], texts: Any) -> Store:
    """A store of stories that several sites have; b has changed, and is crawled again."""
    ferry, clock, bread = (texts[name] for name in ("ferry", "clock", "bread"))
    stories = [f"{ferry} {clock}", clock, bread, ferry, f"{clock} {bread}", f"{bread} {ferry}"]
    pages = [
        ("a/late", 0, 4, {}), ("b/early", 0, 2, {}),
        ("c/copy", 1, 3, {}), ("d/dated", 1, 4, {"published": "2026-03-02"}),
        ("e/links", 2, 5, {"links": ["f/source"]}), ("f/source", 2, 5, {}),
        ("g/both", 3, 6, {"links": ["h/both"]}), ("h/both", 3, 5, {"links": ["g/both"]}),
        ("new.example", 4, 3, {}), ("old.example", 4, 9, {}),
        ("alone", 5, 1, {}),
    ]  # fmt: skip
    store = Store(new_folder(), "crawled.db")
    fields = {"seen_field": "crawled", "published_field": "published", "links_field": "links"}
    stories += [f"{ferry} {clock} It opens in June."]
    for some in (pages, [("b/early", 6, 9, {})]):
        dated = (
            ({"id": key, "crawled": f"2026-03-{day:02}"}, n, more) for key, n, day, more in some
        )
        store.add(*({"text": stories[n], **one, **more} for one, n, more in dated), **fields)
    store.clusters(min_resemblance=0.8)
    return store


def test_earliest_seen_is_the_original(crawled: Store) -> None:
    # b was stored after a, and visited before: it counts from its visit.
    assert crawled.story("a/late").original == crawled.story("b/early").original == "b/early"
    # Texts that are not stored are originals of nothing.
    assert crawled.story("alone").original == "alone"


def test_copy_seen_first_is_the_original_unless_the_source_is_dated(crawled: Store) -> None:
    assert crawled.story("old.example").original == "new.example"
    assert crawled.story("c/copy").original == crawled.story("d/dated").original == "d/dated"


def test_link_makes_an_original_and_contradicting_links_none(crawled: Store) -> None:
    assert crawled.story("e/links").original == crawled.story("f/source").original == "f/source"
    assert crawled.story("g/both").original == crawled.story("h/both").original == "h/both"


def test_later_snapshot_is_a_version_and_the_first_sight_stays(crawled: Store) -> None:
    story = crawled.story("b/early")
    week = 7 * 86_400
    assert story.last_seen - story.first_seen == week
    seen = [version.first_seen - story.first_seen for version in story.versions]
    assert (story.original, seen) == ("b/early", [0, week])


def test_trusted_site_goes_first_by_a_pattern(crawled: Store) -> None:
    assert crawled.story("new.example", original="prefer:^old").original == "old.example"


def test_passages_of_a_mixed_text_have_their_sources(folder: Folder, texts: Any) -> None:
    ferry, clock, bread = (texts[name] for name in ("ferry", "clock", "bread"))
    store = folder.texts({"two": f"{ferry} {clock}", "one": bread}, passages=True)
    # Another title, sentences moved, two sources mixed.
    paper = f"Another title altogether. {clock} {bread} {ferry}"
    found = store.check(paper, by="sentences", all_sources=True)
    assert {*found.keys} == {"one", "two"}
    sources = {paper[p.start : p.end].strip(): p.source for p in found.passages}
    title = {"Another title altogether.": None}
    assert sources == {**title, clock: "two", bread: "one", ferry: "two"}


def test_reprint_is_beyond_a_chosen_share(folder: Folder, texts: Any) -> None:
    story = f"{texts['ferry']} {texts['clock']}"
    store = folder.texts({"story": story})
    reprint = story.replace("eleven", "twelve").replace("three", "four")
    share = oracle.resemblance(story, reprint)
    assert 0.5 < share < 0.9
    for threshold, keys in ((share - 0.01, ["story"]), (share + 0.01, [])):
        found = store.query_text(reprint, min_resemblance=round(threshold, 3)).matches
        assert [match.key for match in found] == keys
