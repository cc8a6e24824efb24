"""The slides: copies among pages, the arithmetic of the lecture's code, and its methods."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import oracle_mission as oracle
import pytest

from .commands import Folder, Pair, Row, Store, fetched

# Numbers within 3 bits of one of 64 bits: 1 + 64 + 64·63/2 + 64·63·62/6.
WITHIN_THREE = 43_745
PLANS = {
    "scan": 0, "probe": WITHIN_THREE, "interpolation": WITHIN_THREE, "expanded": 1,
    "tables4": 4, "tables10": 10, "tables16": 16, "tables20": 20, "segments": 4, "auto": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def pages(new_folder: Callable[[], Folder], news: dict[str, str]) -> Store:
    return new_folder().texts(news)


@pytest.fixture(scope="module")
def versions(new_folder: Callable[[], Folder], crowd: list[str]) -> Row:
    """Texts of 96 words, for each one with some words replaced, and a store of all."""
    texts = {}
    for number in range(24):
        words = " ".join(crowd[4 * number : 4 * number + 4]).split()
        texts[f"{number}/first"] = " ".join(words)
        for place in range(0, 96, 96 // (1 + number // 3)):
            words[place] = f"word{number}x{place}"
        texts[f"{number}/again"] = " ".join(words)
    store = new_folder().texts(texts)
    labels = [(f"{number}/first", f"{number}/again") for number in range(24)]
    return Row(texts=texts, labels=labels, store=store, values=store.fingerprints())


def judged(values: dict[str, int], labels: list[Pair], radius: int) -> Any:
    """Return precision and recall of all pairs within a radius."""
    near = {frozenset(pair) for *pair, _ in oracle.near_pairs(values.values(), radius)}
    pairs = [(a, b) for a, b in combinations(values, 2) if {values[a], values[b]} in near]
    return pytest.approx(oracle.precision_and_recall(pairs, labels), abs=1e-3)


def test_copies_with_other_titles_and_counters(pages: Store, news: dict[str, str]) -> None:
    found = pages.query(news, exclude_self=True)
    for key, other in (("news/1", "mirror/77"), ("mirror/77", "news/1")):
        (match,) = found[key].matches
        assert match.key == other
        assert match.distance == oracle.distance(found[key].fingerprint, found[other].fingerprint)
        # Too far for a fingerprint, so the sketches have found it.
        assert match.distance > 3
        one, two = news[key], news[other]
        assert match.resemblance == pytest.approx(oracle.resemblance(one, two), abs=1e-3)
        assert match.containment == pytest.approx(oracle.containment(one, two), abs=1e-3)
    assert found["news/2"].matches == []


def test_unique_collection_takes_less_room(pages: Store, news: dict[str, str]) -> None:
    # Readers are shown the first of the copies.
    assert pages.clusters(min_resemblance=0.5) == [("news/1", "canonical"), ("mirror/77", "member")]
    first, mirror, other = (len(text.encode()) for text in news.values())
    sizes = {"bytes_of_text": first + other, "bytes_of_dropped_text": mirror}
    assert pages.unique(0.5) == {"documents": 2, "clusters": 1, "dropped": 1, **sizes}


def test_md5_of_near_texts_has_nothing_in_common(folder: Folder, news: dict[str, str]) -> None:
    one, two = news["news/1"], news["mirror/77"]
    found = folder.compare(one, two)
    digests = [hashlib.md5(text.encode()).hexdigest() for text in (one, two)]  # noqa: S324
    assert [found["md5"].a, found["md5"].b] == digests
    # Half of the 128 bits of two digests differ by chance, 64 ± 5.7.
    assert oracle.distance(*(int(digest, 16) for digest in digests)) > 41
    assert found["simhash-128"].distance < 41


def test_duplicate_is_within_the_threshold(folder: Folder, versions: Row) -> None:
    values = versions.values
    apart = {b: oracle.distance(values[a], values[b]) for a, b in versions.labels}
    near = {key: bits for key, bits in apart.items() if bits <= 3}
    # Some on both sides of the threshold, or nothing is shown.
    assert {3, 4} <= {*apart.values()}
    file = folder.records({"id": key, "text": text} for key, text in versions.texts.items())
    store = Store(folder, "store.db")
    outcome = store.ingest(file, on_duplicate="flag", radius=3)
    assert outcome == {"added": 48 - len(near), "flagged": len(near)}
    found = {row.key: (row.original, row.distance) for row in store.rows("duplicates")}
    assert found == {key: (key.replace("again", "first"), bits) for key, bits in near.items()}


def test_fingerprint_leads_to_its_documents(folder: Folder, news: dict[str, str]) -> None:
    store = folder.texts({**news, "copy of 2": news["news/2"]})
    value = store.documents()[2].fingerprint
    (found,) = store.rows("fingerprints", "near", f"{value:016x}")
    assert (found.fingerprint, found.documents) == (value, ["news/2", "copy of 2"])


@pytest.mark.parametrize("bits", [1, 24, 100, 128])
def test_document_is_any_number_of_bits(folder: Folder, bits: int) -> None:
    text = "red boats and red nets and the sea behind the boats"
    store = folder.texts({"a": text}, bits=bits, weights="tf", feature_hash="poly1000003")
    words = oracle.counts(text)
    expected = oracle.simhash(words, lambda word: oracle.poly1000003(word, bits), bits)
    assert store.fingerprints() == {"a": expected}
    folder.run("init", db="refused.db", bits=129 if bits > 24 else 0, code=2)


def test_64_bits_and_3_serve_well(given: Store, planted: list[int], versions: Row) -> None:
    assert max(value.bit_length() for value in versions.values.values()) == 64
    assert given.near(planted[0]) == oracle.near(planted, planted[0], 3)
    # One or two of 96 words are replaced in these.
    labels = versions.labels[:6]
    found = versions.store.evaluate(labels, radius="3-3")["simhash", 3]
    assert found == judged(versions.values, labels, 3)
    assert found[1] >= 0.5


def test_recipe_decides_how_well_it_works(folder: Folder, versions: Row) -> None:
    other = folder.texts(versions.texts, shingle=4)
    recalls = []
    for store, values in ((versions.store, versions.values), (other, other.fingerprints())):
        curve = store.evaluate(versions.labels, radius="2-6")
        for radius in range(2, 7):
            assert curve["simhash", radius] == judged(values, versions.labels, radius)
        recalls.append(curve["simhash", 6][1])
    # A replaced word changes four features of four words, and one of one.
    assert recalls[0] > recalls[1]


def test_figure_and_a_heavier_feature(folder: Folder) -> None:
    # Sums by hand: 4 -2 -4 0 0 -4, then 20 14 -20 -16 -16 -20, as the second word has it.
    rows = {"a": "100110", "b": "110000", "c": "001001"}
    for counts, value in (((3, 2, 1), 0b100000), ((3, 18, 1), 0b110000)):
        words = dict(zip(rows, counts, strict=True))
        order = sorted(rows, key=lambda word: -words[word])
        folder.write("hashvalue.txt", "".join(f"{rows[word]}\n" for word in order))
        folder.write("stopwords.txt", "the")
        text = " ".join(f"{word} " * count for word, count in words.items())
        store = Store(folder, f"{value}.db")
        store.ingest(folder.write("article.txt", f"figure\n{text}\n"), features=3, bits=6)
        assert store.fingerprints() == {"figure": value}


@pytest.mark.parametrize("tie", ["zero", "one"])
def test_sum_of_zero_gives_the_chosen_bit(folder: Folder, tie: str) -> None:
    store = folder.texts({"a": "boats sea"}, tie=tie, feature_hash="poly1000003")
    one, two = (oracle.poly1000003(word, 64) for word in ("boats", "sea"))
    # The sum is 0 where the bits of the two words differ.
    assert store.fingerprints() == {"a": one & two if tie == "zero" else one | two}
    assert one != two


@pytest.mark.parametrize(("code", "beyond"), [("enum", 0), ("enum-slides", 1)])
@pytest.mark.parametrize("values", ["Close,Open", "N,E,S,W,up"])
def test_codes_of_enumerations(folder: Folder, code: str, beyond: int, values: str) -> None:
    names = values.split(",")
    records = ({"id": name, "text": "gate", "side": name} for name in names)
    # The field outweighs the word by far.
    found = folder.store(*records, field=f"side:{code}:{values}:1000").fingerprints()
    codes = [oracle.enumerated(place, len(names), beyond) for place in range(len(names))]
    assert list(found.values()) == codes
    assert len(names) > 2 or codes == [0, (1 << 64) - 1]


def test_hashes_of_han_strings(folder: Folder) -> None:
    texts = ["啊", "阿", "铁桥", "铁路", "面包"]
    options = {"feature_hash": "hanzi-slides", "tie": "one"}
    found = folder.texts({text: text for text in texts}, **options).fingerprints()
    assert found == {text: oracle.hanzi(text) for text in texts}
    # The first and the second character of GB2312.
    assert (found["啊"] & 0x1FFF, found["阿"] & 0x1FFF) == (0, 1)
    like = oracle.distance(found["铁桥"], found["铁路"])
    assert like < oracle.distance(found["铁桥"], found["面包"])
    # From five characters on the lecture's shift by 65 bits is one by 1; `hanzi` has no such slip.
    long, cut = "江口的铁桥", {"units": "characters", "shingle": 5, "tie": "one"}
    for name, is_slip in (("hanzi-slides", True), ("hanzi", False)):
        store = folder.texts({"a": long}, name=f"{name}.db", feature_hash=name, **cut)
        assert (store.fingerprints()["a"] == oracle.hanzi(long)) is is_slip


def test_all_within_k_bits_are_found(given: Store, planted: list[int]) -> None:
    for place, radius in ((0, 1), (1, 3), (2, 5), (499, 0)):
        expected = oracle.near(planted, planted[place], radius)
        assert len(expected) > radius // 2
        assert given.near(planted[place], radius=radius) == expected


def test_highest_bit_is_like_the_others(folder: Folder) -> None:
    all_ones, most = (1 << 64) - 1, (1 << 63) - 1
    store = folder.given(all_ones, all_ones - 1, most, 1)
    assert store.near(most, radius=1) == [(most, 0), (all_ones, 1)]


@pytest.mark.parametrize("plan", PLANS)
def test_methods_find_the_same_by_their_look_ups(versions: Row, plan: str) -> None:
    samples = {key: versions.texts[key] for key in ("0/first", "9/again")}
    found = versions.store.query(samples, plan=plan, channels="simhash", radius=3)
    for key, answer in found.items():
        values = versions.values.items()
        apart = [(other, oracle.distance(value, versions.values[key])) for other, value in values]
        # Each is reported once, in the order of distance, then of ingest.
        near = sorted((one for one in apart if one[1] <= 3), key=lambda one: one[1])
        assert answer.near == near
        assert not PLANS[plan] or answer.probes == PLANS[plan]
    assert len(found["0/first"].near) == 2


def test_large_sets_and_automatons_are_refused(many: Store, crowd: list[str]) -> None:
    # At radius 4 each makes 679,121 numbers.
    sample = many.folder.records([{"id": "a", "text": crowd[0]}])
    done = many.run("query", sample, plan="expanded", radius=4, channels="simhash", code=2)
    assert done.out == b""
    assert "automaton" in many.run("query", sample, plan="automaton", code=2).errors


def test_first_bits_are_seldom_shared(folder: Folder, many: Store) -> None:
    firsts = Counter(value >> 48 for value in many.fingerprints().values())
    pairs = sum(count * (count - 1) // 2 for count in firsts.values())
    # 2,000 · 1,999 / 2 / 65,536 = 30.5 pairs share 16 bits by chance.
    assert pairs < 3 * 30.5
    # The old string hash leaves the first 32 of 96 bits of short words at 0.
    chance = random.Random(3)
    words = [a + b for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghijklmnopqrstuvwxyz"]
    texts = {f"{n}": " ".join(chance.choices(words, k=24)) for n in range(600)}
    store = folder.texts(texts, bits=96, feature_hash="poly1000003", weights="tf")
    assert {value >> 64 for value in store.fingerprints().values()} == {0}
    answer = store.query_text(texts["7"], plan="segments", channels="simhash", radius=2)
    assert answer.near == [("7", 0)]
    assert answer.candidates < 60


def test_queries_run_side_by_side(many: Store, crowd: list[str]) -> None:
    files = [many.folder.records([{"id": f"{n:04}", "text": crowd[n]}]) for n in range(4)]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(many.query_files, files))
    assert [list(one) for one in answers] == [[f"{n:04}"] for n in range(4)]
    assert all(one[key].near == [(key, 0)] for one in answers for key in one)


@pytest.fixture(scope="module")
def crawled(new_folder: Callable[[], Folder], texts: Any) -> Store:
    """A store of three web pages, two with the same main text."""
    folder = new_folder()
    story, other = (f"{texts['ferry']} {texts[name]}" for name in ("clock", "bread"))
    for name, text in (("one", story), ("two", story), ("three", other)):
        page = f"<html><body><nav>home, {name}</nav><article><p>{text}</p></article></body></html>"
        folder.write(f"{name}.html", page)
    store = Store(folder, "crawled.db")
    store.ingest("one.html", "two.html", "three.html")
    return store


def test_copies_among_web_pages_are_dropped(crawled: Store, texts: Any) -> None:
    written = {row.key: row.text for row in crawled.rows("export", unique=True)}
    assert list(written) == ["one.html", "three.html"]
    # The main text, without navigation.
    assert written["one.html"].strip() == f"{texts['ferry']} {texts['clock']}"


def test_known_filter_is_asked_and_published(many: Store, many_served: str) -> None:
    many.run("export", known_keys="known.filter")
    many.folder.write("served.filter", fetched(f"{many_served}/v1/known-keys")[1])
    for name in ("known.filter", "served.filter"):
        known = many.folder.known(name, *(f"{n:04}" for n in range(1_800, 2_200)))
        # Known keys are never missed; one in a thousand of the others is taken for known.
        assert known[:200] == [True] * 200
        assert sum(known[200:]) <= 4
