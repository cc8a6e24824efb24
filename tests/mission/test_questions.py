"""The page of questions and answers: words, thresholds, vectors, and who has the original."""

from __future__ import annotations

import math
import re

import oracle_mission as oracle
import pytest

from .commands import Folder, Store

# Words of the usual dictionaries that are in the two sentences, each longer than a character.
WORDS = {"研究", "研究生", "生命", "起源", "吃饭"}
SENTENCES = ("我在小明家吃饭", "研究生命的起源")
SIMPLIFIED = "江口的铁桥星期一上午关闭，预计停用十一周，工程师要更换中间桥墩的支座。"
TRADITIONAL = "江口的鐵橋星期一上午關閉，預計停用十一週，工程師要更換中間橋墩的支座。"
STORY = "The iron bridge at the mouth of the river stays shut for eleven weeks while engineers replace its bearing."
CLOCK = "The clock of the reading room stopped on Thursday, and for three days nobody who read there looked up."
BREAD = "Bread from the lane is rye from Monday on, since the mill up the river sold its last wheat to the hotel."


@pytest.mark.parametrize(
    "name", ["forward-max", "backward-max", "min-cut", "bidirectional", "jieba"]
)
def test_chinese_is_cut_into_words_in_the_ways_of_the_page(folder: Folder, name: str) -> None:
    pytest.importorskip("rjieba")
    for text in SENTENCES:
        cuts = oracle.cuts(text, WORDS)
        fewest = [cut for cut in cuts if len(cut) == min(map(len, cuts))]
        left = oracle.longest_from_left(text, WORDS)
        right = oracle.longest_from_right(text, WORDS)
        store = folder.store(
            {"id": "a", "text": text}, name=f"{len(text)}{text[0]}.db", segmenter=name
        )
        found = sorted(term for term, count, _, _ in store.vocabulary() for _ in range(count))
        if name == "forward-max":
            assert found == sorted(left)
        elif name == "backward-max":
            assert found == sorted(right)
        elif name == "min-cut":
            assert found in [sorted(cut) for cut in fewest]
        elif name == "bidirectional":
            # Both have four words; the backward one has fewer of one character, or is the same.
            assert [len(cut) for cut in (left, right)] == [len(right)] * 2
            assert found == sorted(right)
        else:
            # A statistical model joins what no dictionary has; nothing is lost or said twice.
            assert sorted("".join(found)) == sorted(text)


def test_cut_words_of_two_texts_are_compared_as_vectors(folder: Folder) -> None:
    pytest.importorskip("rjieba")
    one, two = SENTENCES[1], "生命的起源"
    found = folder.compare(
        one, two, segmenter="backward-max", weights="tf", units="words", shingle=1
    )
    a, b = (set(oracle.longest_from_right(text, WORDS)) for text in (one, two))
    # 研究 生命 的 起源, and the last three: each once.
    assert (len(a), len(b), len(a & b)) == (4, 3, 3)
    assert found["cosine"]["cosine"] == pytest.approx(3 / math.sqrt(4 * 3))
    assert found["resemblance"]["jaccard"] == pytest.approx(3 / 4)
    assert found["euclid"]["distance"] == pytest.approx(1.0)
    bits = found["simhash-64"]
    assert bits["distance"] == oracle.distance(int(bits["a"], 16), int(bits["b"], 16))


@pytest.mark.parametrize("fold", [False, True])
def test_chinese_is_typed_in_and_looked_up_in_either_script(folder: Folder, fold: bool) -> None:
    if fold:
        pytest.importorskip("opencc")
    store = folder.store({"id": "a", "text": SIMPLIFIED}, **({"fold_han": True} if fold else {}))
    for text in (SIMPLIFIED, TRADITIONAL):
        (row,) = store.rows("query", "-", stdin=text)
        (match,) = row["matches"]
        assert (match["key"], match["distance"], match["resemblance"]) == ("a", 0, 1.0)


def test_a_threshold_is_found_by_labels_of_ones_own(folder: Folder, crowd: list[str]) -> None:
    texts, labels = {}, []
    for number in range(6):
        words = " ".join(crowd[2 * number : 2 * number + 2]).split()
        texts[f"{number}/a"] = " ".join(words)
        words[number] = "other"
        texts[f"{number}/b"] = " ".join(words)
        labels.append((f"{number}/a", f"{number}/b"))
        # Three quarters of the words: alike, and not the same.
        texts[f"{number}/c"] = " ".join([*words[:36], *crowd[50 + number].split()[:12]])
    store = folder.store(*({"id": key, "text": text} for key, text in texts.items()))
    same = [oracle.resemblance(texts[a], texts[b]) for a, b in labels]
    alike = [oracle.resemblance(texts[f"{n}/{x}"], texts[f"{n}/c"]) for n in range(6) for x in "ab"]
    assert 0.5 < max(alike) < 0.7 < 0.8 < min(same)
    judged = store.evaluate(labels)
    assert judged["verified", 0.7] == (1.0, 1.0)
    assert judged["verified", 0.5][0] < 1
    (advised,) = re.findall(r"--min-resemblance ([\d.]+)", store.advice(labels))
    assert max(alike) < float(advised) <= min(same)


def test_stop_words_are_left_out_words_become_stems_and_runs_of_them_features(
    folder: Folder,
) -> None:
    pytest.importorskip("snowballstemmer")
    text = "The boats are sailing to the harbours"
    stems = folder.store({"id": "a", "text": text}, stopwords="builtin", stem="english")
    assert {term for term, *_ in stems.vocabulary()} == {"boat", "sail", "harbour"}
    chunks = folder.store(
        {"id": "a", "text": text}, name="c.db", stopwords="builtin", stem="english", shingle=2
    )
    # Two words in a row, whatever they are: no phrases by their grammar.
    assert {term for term, *_ in chunks.vocabulary()} == {"boat sail", "sail harbour"}


def test_all_pairs_within_three_bits_are_found(given: Store, planted: list[int]) -> None:
    expected = oracle.near_pairs(planted, 3)
    assert len(expected) >= 30
    assert sorted(given.pairs(radius=3)) == expected


def test_a_fingerprint_alone_is_not_exact_so_each_match_is_verified_by_the_texts(
    folder: Folder,
) -> None:
    store = folder.store({"id": "story", "text": STORY})
    shuffled = " ".join(STORY.rstrip(".").split()[::-1])
    # The same words as often: no bit differs, and hardly three words in a row are the same.
    (match,) = store.query_text(shuffled, channels="simhash", radius=0).matches
    assert (match.key, match.distance) == ("story", 0)
    assert match.resemblance == pytest.approx(oracle.resemblance(STORY, shuffled))
    assert match.resemblance < 0.1
    assert store.query_text(shuffled, min_resemblance=0.5).matches == []


def test_a_usual_hash_tells_copies(folder: Folder) -> None:
    file = folder.records({"id": f"{n}", "text": STORY if n < 3 else CLOCK} for n in range(4))
    (summary,) = folder.rows("ingest", file, db="store.db")
    assert summary["identical_texts"] == 2
    assert len({row["digest"] for row in Store(folder, "store.db").documents()}) == 2


def seen(folder: Folder, *records: dict[str, object]) -> Store:
    """Make a store of crawled records, each ingest with the fields of dates and links."""
    store = Store(folder, "store.db")
    fields = {"seen_field": "crawled", "published_field": "published", "links_field": "links"}
    for record in records:
        store.add(record, **fields)
    store.clusters()
    return store


def test_the_earliest_seen_of_what_is_there_is_the_original(folder: Folder) -> None:
    store = seen(
        folder,
        {"id": "late", "text": STORY, "crawled": "2026-03-04"},
        # Visited before, and stored after: it counts from its visit.
        {"id": "early", "text": STORY, "crawled": "2026-03-02"},
        {"id": "elsewhere", "text": CLOCK, "crawled": "2026-03-01"},
    )
    assert store.story("late")["original"] == store.story("early")["original"] == "early"
    # What is not there is the original of nothing.
    assert store.story("elsewhere")["original"] == "elsewhere"
    store.run("remove", "early")
    assert store.story("late")["original"] == "late"


def test_a_copy_that_was_indexed_earlier_is_the_original_unless_the_other_is_dated(
    folder: Folder,
) -> None:
    store = seen(
        folder,
        {"id": "copy", "text": STORY, "crawled": "2026-03-03"},
        {"id": "source", "text": STORY, "crawled": "2026-03-04", "published": "2026-03-02"},
        {"id": "copied", "text": CLOCK, "crawled": "2026-03-03"},
        {"id": "undated", "text": CLOCK, "crawled": "2026-03-04"},
    )
    assert store.story("copy")["original"] == "source"
    assert store.story("undated")["original"] == "copied"


def test_a_link_to_the_source_makes_that_the_original_and_contradicting_ones_nothing(
    folder: Folder,
) -> None:
    store = seen(
        folder,
        {"id": "c/clock", "text": CLOCK, "crawled": "2026-03-05", "links": ["d/clock"]},
        {"id": "d/clock", "text": CLOCK, "crawled": "2026-03-05"},
        {"id": "e/bread", "text": BREAD, "crawled": "2026-03-06", "links": ["f/bread"]},
        {"id": "f/bread", "text": BREAD, "crawled": "2026-03-05", "links": ["e/bread"]},
    )
    assert store.story("c/clock")["original"] == store.story("d/clock")["original"] == "d/clock"
    assert store.story("e/bread")["original"] == store.story("f/bread")["original"] == "f/bread"


def test_a_later_snapshot_is_a_version_and_the_first_sight_stays(folder: Folder) -> None:
    first = {"id": "story", "text": STORY, "crawled": "2026-03-03"}
    store = seen(folder, first, {"id": "copy", "text": STORY, "crawled": "2026-03-05"})
    before = store.story("story")
    again = {"id": "story", "text": f"{STORY} It opens again in June.", "crawled": "2026-03-10"}
    store = seen(folder, again)
    after = store.story("story")
    assert after["first_seen"] == before["first_seen"]
    assert after["last_seen"] == before["first_seen"] + 7 * 86_400
    assert [version["first_seen"] for version in after["versions"]] == [
        before["first_seen"],
        after["last_seen"],
    ]
    assert after["original"] == "story"


def test_a_trusted_site_goes_first_by_a_pattern_that_is_given(folder: Folder) -> None:
    store = seen(
        folder,
        {"id": "new.example/story", "text": STORY, "crawled": "2026-03-03"},
        {"id": "old.example/story", "text": STORY, "crawled": "2026-03-09"},
    )
    key = "new.example/story"
    assert store.story(key)["original"] == key
    assert store.story(key, original="prefer:^old")["original"] == "old.example/story"


def test_each_passage_of_a_mixed_text_has_its_source(folder: Folder) -> None:
    sources = {"bridge": f"{STORY} {CLOCK}", "bread": BREAD}
    store = folder.store(*({"id": k, "text": v} for k, v in sources.items()), passages=True)
    # Another title, sentences moved, two sources mixed.
    paper = f"Another title altogether. {CLOCK} {BREAD} {STORY}"
    found = store.check(paper, by="sentences", all_sources=True)
    assert set(found.sources) == {"bridge", "bread"}
    by_text = {paper[p.start : p.end].strip(): p.source for p in found.passages}
    assert by_text == {
        "Another title altogether.": None,
        CLOCK: "bridge",
        BREAD: "bread",
        STORY: "bridge",
    }


def test_beyond_a_chosen_share_of_likeness_it_is_a_reprint(folder: Folder) -> None:
    store = folder.store({"id": "story", "text": f"{STORY} {CLOCK}"})
    reprint = f"{STORY} {CLOCK}".replace("eleven", "twelve").replace("three", "four")
    share = oracle.resemblance(f"{STORY} {CLOCK}", reprint)
    assert 0.5 < share < 0.9
    assert store.query_text(reprint, min_resemblance=round(share - 0.01, 2)).keys == ["story"]
    assert store.query_text(reprint, min_resemblance=round(share + 0.01, 2)).keys == []
