"""The blog: the usual algorithms, side by side, and the numbers of its script."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from itertools import combinations
from typing import Any

import oracle_mission as oracle
import pytest

from .commands import Folder

PLAIN = "red boats and red nets and the sea behind the boats"
CHANGED = PLAIN.replace("nets", "sails")


def script(text: str, tie: int) -> int:
    """Return the fingerprint of the words between blanks, as the blog's script computes it."""
    words = Counter(text.split())
    return oracle.simhash(words, lambda word: oracle.poly1000003(word, 128), 128, tie)


def test_usual_algorithms_are_compared(folder: Folder) -> None:
    found = folder.compare(PLAIN, CHANGED, features="words", weights="tf", lexicons=3)
    a, b = oracle.counts(PLAIN), oracle.counts(CHANGED)
    dot, lengths = sum(a[w] * b[w] for w in a), [sum(n * n for n in c.values()) for c in (a, b)]
    assert found["cosine"].cosine == pytest.approx(dot / math.sqrt(lengths[0] * lengths[1]))
    apart = math.sqrt(sum((a[word] - b[word]) ** 2 for word in {*a, *b}))
    assert found["euclid"].distance == pytest.approx(apart)
    # One word of eleven is another: 10 by 12. Counters may meet by chance.
    assert found["counting-bloom"].similarity == pytest.approx(10 / 12, abs=0.01)
    assert found["i-match"].equal is False
    # The same terms in another order have the same signature by each lexicon.
    other = folder.compare(PLAIN, " ".join(PLAIN.split()[::-1]), features="words", lexicons=3)
    assert other["i-match"].equal is True
    assert other["i-match"].agreeing == other["i-match"].signatures == 4
    assert {"simhash-64", "simhash-128", "resemblance", "minhash", "md5"} <= {*found}


def test_shingles_are_cut_and_compared(folder: Folder, texts: Any) -> None:
    story, reworked = texts["story"], texts["reworked"]
    for pair in ((story, reworked), (story, texts["library"]), ("tick tick tock", "tick tack")):
        found = folder.compare(*pair, shingle=5)
        lines = [oracle.line(text) for text in pair]
        lists = [oracle.runs(line, 5) for line in lines]
        # L characters have L - 5 + 1 shingles.
        counted = [found["texts"].a.shingles, found["texts"].b.shingles]
        assert counted == [len(line) - 5 + 1 for line in lines]
        a, b = ({*pieces} for pieces in lists)
        measured = found["resemblance"]
        assert measured.jaccard == pytest.approx(len(a & b) / len(a | b))
        assert measured.dice == pytest.approx(2 * len(a & b) / (len(a) + len(b)))
        # The script: twice the first's shingles that the second has, by the sum of both.
        common = sum(1 for piece in lists[0] if piece in lists[1])
        assert measured.dice_of_lists == pytest.approx(2 * common / sum(map(len, lists)))
        assert found["containment"].a_in_b == pytest.approx(len(a & b) / len(a))


def test_texts_are_similar_from_a_fifth_on(folder: Folder) -> None:
    # One character in common, of five, then of six.
    more = {"similar_at": 0.21}
    for two, options, similar in (("bcde", {}, True), ("bcdef", {}, False), ("bcde", more, False)):
        assert folder.compare("ab", two, shingle=1, **options)["resemblance"].similar is similar


def test_files_measures_and_seconds(folder: Folder) -> None:
    names = [folder.write("1.txt", PLAIN), folder.write("2.txt", CHANGED)]
    measured = [row for row in folder.rows("compare", *names) if row.algorithm != "texts"]
    assert len(measured) >= 8
    assert all(0 < row.seconds < 60 for row in measured)
    a, b = ({*oracle.runs(oracle.line(text), 5)} for text in (PLAIN, CHANGED))
    assert f"{len(a & b) / len(a | b):.4f}" in folder.run("compare", *names).text


def test_simhash_is_that_of_the_script(folder: Folder) -> None:
    options = {"bits": 128, "weights": "tf", "tie": "one", "feature_hash": "poly1000003"}
    # Words are letters and digits in one form, so the third is the first.
    texts = {"plain": PLAIN, "changed": CHANGED, "written": PLAIN.title().replace(" ", ", ")}
    found = folder.texts(texts, **options).fingerprints()
    assert list(found.values()) == [script(one, tie=1) for one in (PLAIN, CHANGED, PLAIN)]


def test_distance_and_ratio_are_those_of_the_script(folder: Folder) -> None:
    found = folder.compare(PLAIN, CHANGED, feature_hash="poly1000003", weights="tf")["simhash-128"]
    a, b = script(PLAIN, tie=0), script(CHANGED, tie=0)
    assert (int(found.a, 16), int(found.b, 16)) == (a, b)
    assert found.distance == oracle.distance(a, b)
    assert found.similarity == pytest.approx(1 - oracle.distance(a, b) / 128)
    assert found.min_max_ratio == pytest.approx(min(a, b) / max(a, b))


def test_hash_is_equal_or_not_and_simhash_near(folder: Folder, texts: Any) -> None:
    story = texts["story"]
    others = (story, story.replace("十一", "十二"), texts["library"])
    found = [folder.compare(story, other) for other in others]
    assert [one["md5"].equal for one in found] == [True, False, False]
    assert found[0]["md5"].a == hashlib.md5(story.encode()).hexdigest()  # noqa: S324
    distances = [one["simhash-64"].distance for one in found]
    assert distances[0] == 0 < distances[1] < distances[2]


def test_reworked_story_is_found_and_no_other(folder: Folder, texts: Any) -> None:
    story, reworked, other = texts["story"], texts["reworked"], texts["library"]
    assert folder.compare(story, reworked)["resemblance"].similar is True
    apart = folder.compare(story, other)
    assert (apart["resemblance"].jaccard, apart["resemblance"].similar) == (0, False)
    assert apart["simhash-64"].distance > 2 * 3
    store = folder.texts({"story": story}, passages=True)
    (match,) = store.query_text(reworked, min_resemblance=0.2).matches
    assert match.resemblance == pytest.approx(oracle.resemblance(story, reworked), abs=1e-3)
    assert store.query_text(other, min_resemblance=0.2).matches == []
    # Most of a reworked story is found, nothing of one in other words.
    totals = store.check(reworked).totals
    assert totals.copied > 0.8 * totals.characters
    assert store.check(texts["other_words"]).totals.copied == 0


def test_store_looks_by_shingles_and_by_simhash(folder: Folder, crowd: list[str]) -> None:
    text = " ".join(crowd[:16])
    store = folder.texts({"text": text, "other": crowd[20]})
    edited = text.replace(crowd[0].split()[3], "replaced", 1)
    for channels in ({"simhash"}, {"minhash"}, {"simhash", "minhash"}):
        answer = store.query_text(edited, channels=",".join(channels))
        found = [(match.key, {*match.channels}) for match in answer.matches]
        assert found == [("text", channels)]


def test_four_algorithms_are_judged(folder: Folder, crowd: list[str]) -> None:
    texts = {}
    for number in range(6):
        words = crowd[number].split()
        texts[f"{number}/a"] = " ".join(words)
        # Half are the same words in another order; of the others eight of 24 words are replaced, by
        # words of several texts, as lexicons leave out what one text alone has.
        changed = [f"other{n}" if n < 8 else word for n, word in enumerate(words)]
        texts[f"{number}/b"] = " ".join(changed if number % 2 else words[::-1])
    store = folder.texts(texts)
    labels = [(f"{number}/a", f"{number}/b") for number in range(6)]
    judged = store.evaluate(labels, older_methods=True)
    for threshold in (0.4, 0.6):
        # Smaller counts by larger ones: 1 in another order, 16 by 32 with a third replaced.
        found = []
        for pair in combinations(texts, 2):
            a, b = (oracle.counts(texts[key]) for key in pair)
            found += [pair] * ((a & b).total() >= threshold * (a | b).total())
        expected = pytest.approx(oracle.precision_and_recall(found, labels))
        assert judged["counting-bloom", threshold] == expected
    # All eleven signatures agree where the words are the same.
    assert judged["i-match", 11.0] == (1.0, 0.5)
    assert {"simhash", "minhash"} <= {method for method, _ in judged}
    # They are judged; no store looks by them.
    for method in ("i-match", "counting-bloom"):
        store.run("query", text=texts["0/a"], channels=method, code=2)
