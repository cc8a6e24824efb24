"""The blog: the usual algorithms, side by side, and the numbers of its script."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from itertools import combinations

import oracle_mission as oracle
import pytest

from .commands import Folder

STORY = (
    "江口的铁桥星期一上午关闭，预计停用十一周，工程师要更换中间桥墩的支座。\n"
    "据市政公司介绍，潜水员去年秋天检查时发现，桥墩下面的圈磨损得很不均匀，桥面向鱼码头一侧下沉了四厘米。\n"
    "施工期间，行人可以从市场台阶乘坐渡船到旧海关，每二十分钟一班。公共汽车改走上游的石桥，路程增加三公里。\n"
    "面包店的老板说，夜里能听见铁桥的响声。市政公司表示，工程费用全部由港口基金支付。\n"
)
# Words exchanged, sentences moved.
REWORKED = (
    "江口的铁桥星期一早上关闭，预计停用十一周，技术人员要更换中间桥墩的支座。\n"
    "施工期间，行人可以从市场台阶搭乘渡船到旧海关，每二十分钟一趟。公交车改走上游的石桥，路程增加三公里。\n"
    "据市政公司透露，潜水员去年秋季检查时发现，桥墩下面的圈磨损得很不均匀，桥面朝鱼码头一边下沉了四厘米。\n"
    "市政公司说，工程费用全部由港口基金承担。面包店的老板称，夜间能听见铁桥的响声。\n"
)
RETOLD = (
    "因为要修理水下磨坏的部件，过江的老铁桥将封闭近三个月。过江者须搭船，车辆得绕道，钱由港务方面出，"
    "附近居民早就抱怨它太吵。"
)
OTHER = (
    "阅览室的钟在星期四停了，三天里没有一个人发现。管理员说，读者都看手机。\n"
    "只有来还书的老钟表匠抬头看了一眼，当天下午就带着工具回来，把它擦干净，又上了油。\n"
)
PLAIN = "red boats and red nets and the sea behind the boats"
CHANGED = PLAIN.replace("nets", "sails")


def shingles(text: str) -> list[tuple[str, ...]]:
    """Return the runs of five characters, as the blog cuts them, and the last one."""
    return oracle.runs(oracle.line(text), 5)


def test_the_usual_algorithms_are_told_side_by_side(folder: Folder) -> None:
    found = folder.compare(PLAIN, CHANGED, features="words", weights="tf", lexicons=3)
    a, b = oracle.counts(PLAIN), oracle.counts(CHANGED)
    assert found["cosine"]["cosine"] == pytest.approx(
        sum(a[word] * b[word] for word in a)
        / math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))
    )
    assert found["euclid"]["distance"] == pytest.approx(
        math.sqrt(sum((a[word] - b[word]) ** 2 for word in {*a, *b}))
    )
    # Two words of eleven are others: 10 by 12. Counters may meet by chance.
    assert found["counting-bloom"]["similarity"] == pytest.approx(10 / 12, abs=0.01)
    assert found["i-match"]["equal"] is False
    shuffled = folder.compare(PLAIN, " ".join(PLAIN.split()[::-1]), features="words", lexicons=3)
    # The same terms, so the same signature by each lexicon.
    assert shuffled["i-match"]["equal"] is True
    assert shuffled["i-match"]["agreeing"] == shuffled["i-match"]["signatures"] == 4
    assert {"simhash-64", "simhash-128", "resemblance", "minhash", "md5"} <= set(found)


def test_shingles_are_counted_and_compared_as_the_blog_says(folder: Folder) -> None:
    for one, two in ((STORY, REWORKED), (STORY, OTHER), ("tick tick tick tock", "tick tick tack")):
        found = folder.compare(one, two, shingle=5)
        lists = [shingles(text) for text in (one, two)]
        for name, text, cut in zip("ab", (one, two), lists, strict=True):
            # L characters have L - 5 + 1 shingles.
            assert (
                found["texts"][name]["shingle_count"] == len(oracle.line(text)) - 5 + 1 == len(cut)
            )
        a, b = (set(cut) for cut in lists)
        assert found["resemblance"]["jaccard"] == pytest.approx(len(a & b) / len(a | b))
        assert found["resemblance"]["dice"] == pytest.approx(2 * len(a & b) / (len(a) + len(b)))
        # The script: twice the first's shingles that the second has, by the sum of both.
        common = sum(1 for piece in lists[0] if piece in lists[1])
        assert found["resemblance"]["dice_of_lists"] == pytest.approx(
            2 * common / (len(lists[0]) + len(lists[1]))
        )
        assert found["containment"]["a_in_b"] == pytest.approx(len(a & b) / len(a))


def test_texts_are_similar_from_a_fifth_on(folder: Folder) -> None:
    # Of characters: b in common of a, b, c, d, e; then of six.
    assert folder.compare("ab", "bcde", shingle=1)["resemblance"]["similar"] is True
    assert folder.compare("ab", "bcdef", shingle=1)["resemblance"]["similar"] is False
    assert (
        folder.compare("ab", "bcde", shingle=1, similar_at=0.21)["resemblance"]["similar"] is False
    )


def test_two_files_are_read_and_measures_and_seconds_are_printed(folder: Folder) -> None:
    names = [folder.write("1.txt", STORY), folder.write("2.txt", REWORKED)]
    measured = [row for row in folder.rows("compare", *names) if row["algorithm"] != "texts"]
    assert len(measured) >= 8
    assert all(0 < row["seconds"] < 60 for row in measured)
    table = folder.run("compare", *names).text
    assert str(len(STORY.encode())) in table
    jaccard = next(r["values"]["jaccard"] for r in measured if r["algorithm"] == "resemblance")
    assert f"{jaccard:.4f}" in table


def test_simhash_of_words_is_that_of_the_script(folder: Folder) -> None:
    options = {"bits": 128, "weights": "tf", "tie": "one", "feature_hash": "poly1000003"}
    # Words are letters and digits in one form, so the third is the first.
    records = {"plain": PLAIN, "changed": CHANGED, "written": PLAIN.title().replace(" ", ", ")}
    found = folder.store(*({"id": k, "text": v} for k, v in records.items()), **options)
    script = {
        key: oracle.simhash(
            Counter(text.split()), lambda word: oracle.poly1000003(word, 128), 128, tie=1
        )
        for key, text in (("plain", PLAIN), ("changed", CHANGED))
    }
    assert found.fingerprints() == {**script, "written": script["plain"]}


def test_distance_and_similarity_of_two_hashes_are_those_of_the_script(folder: Folder) -> None:
    found = folder.compare(PLAIN, CHANGED, feature_hash="poly1000003", weights="tf")["simhash-128"]
    a, b = (
        oracle.simhash(oracle.counts(text), lambda word: oracle.poly1000003(word, 128), 128)
        for text in (PLAIN, CHANGED)
    )
    assert (int(found["a"], 16), int(found["b"], 16)) == (a, b)
    assert found["distance"] == oracle.distance(a, b)
    assert found["similarity"] == pytest.approx(1 - oracle.distance(a, b) / 128)
    assert found["min_max_ratio"] == pytest.approx(min(a, b) / max(a, b))


def test_a_usual_hash_says_equal_or_not_and_a_simhash_how_unlike(folder: Folder) -> None:
    same = folder.compare(STORY, STORY)
    near = folder.compare(STORY, STORY.replace("十一", "十二"))
    far = folder.compare(STORY, OTHER)
    digest = hashlib.md5(STORY.encode()).hexdigest()
    assert same["md5"] == {"equal": True, "a": digest, "b": digest}
    assert near["md5"]["equal"] is far["md5"]["equal"] is False
    distances = [found["simhash-64"]["distance"] for found in (same, near, far)]
    assert distances[0] == 0 < distances[1] < distances[2]


def test_a_reworked_story_is_found_and_another_one_is_not(folder: Folder) -> None:
    found = folder.compare(STORY, REWORKED)
    assert found["resemblance"]["similar"] is True
    other = folder.compare(STORY, OTHER)
    assert other["resemblance"]["jaccard"] == 0
    assert other["resemblance"]["similar"] is False
    assert other["simhash-64"]["distance"] > 2 * 3
    store = folder.store({"id": "story", "text": STORY}, passages=True)
    (match,) = store.query_text(REWORKED, min_resemblance=0.2).matches
    assert match.key == "story"
    assert match.resemblance == pytest.approx(oracle.resemblance(STORY, REWORKED), abs=1e-3)
    assert store.query_text(OTHER, min_resemblance=0.2).matches == []
    # Rewriting leaves most of it to be found; what is told in other words is not.
    checked = store.check(REWORKED)
    assert checked.sources == ["story"]
    assert checked.copied > 0.8 * checked.characters
    assert store.check(RETOLD).copied == 0


def test_a_store_looks_by_shingles_and_by_simhash(folder: Folder, crowd: list[str]) -> None:
    text = " ".join(crowd[:16])
    store = folder.store({"id": "text", "text": text}, {"id": "other", "text": crowd[20]})
    edited = text.replace(crowd[0].split()[3], "replaced", 1)
    assert store.query_text(edited).matches[0].channels == {"simhash", "minhash"}
    for channel in ("simhash", "minhash"):
        answer = store.query_text(edited, channels=channel)
        assert [(match.key, match.channels) for match in answer.matches] == [("text", {channel})]


def test_how_well_the_four_algorithms_find_copies_is_measured(
    folder: Folder, crowd: list[str]
) -> None:
    texts = {}
    for number in range(6):
        words = crowd[number].split()
        texts[f"{number}/a"] = " ".join(words)
        # Half are the same words in another order; of the others eight of 24 words are replaced, by
        # words of several texts, as lexicons leave out what one text alone has.
        changed = [f"other{n}" if n < 8 else word for n, word in enumerate(words)]
        texts[f"{number}/b"] = " ".join(changed if number % 2 else words[::-1])
    store = folder.store(*({"id": key, "text": text} for key, text in texts.items()))
    labels = [(f"{number}/a", f"{number}/b") for number in range(6)]
    judged = store.evaluate(labels, older_methods=True)
    labelled = {frozenset(pair) for pair in labels}
    for threshold in (0.4, 0.6):
        # Smaller counts by larger ones: 1 in another order, 16 by 32 with a third replaced.
        found = set()
        for one, two in combinations(texts, 2):
            a, b = oracle.counts(texts[one]), oracle.counts(texts[two])
            if (a & b).total() / (a | b).total() >= threshold:
                found.add(frozenset((one, two)))
        expected = oracle.precision_and_recall(found, labelled)
        assert judged["counting-bloom", threshold] == pytest.approx(expected)
    # All eleven signatures agree where the words are the same.
    assert judged["i-match", 11.0] == (1.0, 0.5)
    assert {"simhash", "minhash"} <= {method for method, _ in judged}
    # They are judged; no store looks by them.
    for method in ("i-match", "counting-bloom"):
        store.run("query", text=texts["0/a"], channels=method, code=2)
