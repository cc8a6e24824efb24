"""The slides: copies among pages, the arithmetic of the lecture's code, and its methods."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from urllib.request import urlopen

import oracle_mission as oracle
import pytest
from served import serve

from .commands import Folder, Store

BODY = (
    "江口的铁桥从周一起停用十一周，工程师要更换中间桥墩的支座。潜水员去年秋天检查时发现下面的圈磨损得很"
    "不均匀，桥面向鱼码头一侧下沉了四厘米。步行的人可以从市场台阶坐渡船到旧海关，每二十分钟一班。"
)
PAGES = {
    "news/1": f"江上铁桥停用十一周\n{BODY}\n阅读 1024 次 2026-03-01 08:00",
    "mirror/77": f"老桥要修了\n{BODY}\n广告：周末面包八折\n阅读 87 次 2026-03-02 21:30",
    "news/2": "图书馆的钟\n阅览室的钟在星期四停了，三天里没有一个人发现。管理员说，读者都看手机，只有来还书"
    "的老钟表匠抬头看了一眼，当天下午就带着工具回来，把它擦干净，又上了油。\n阅读 5 次",
}
RECORDS = [{"id": key, "text": text} for key, text in PAGES.items()]
WIDTH = 43_745
"""Numbers within 3 bits of one of 64 bits: 1 + 64 + 64·63/2 + 64·63·62/6."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Folder(tmp_path_factory.mktemp("pages")).store(*RECORDS)


@pytest.fixture(scope="module")
def edited(crowd: list[str]) -> dict[str, str]:
    """Texts of 96 words, and for each one with some words replaced."""
    texts = {}
    for number in range(24):
        words = " ".join(crowd[4 * number : 4 * number + 4]).split()
        texts[f"{number}/first"] = " ".join(words)
        for place in range(0, 96, 96 // (1 + number // 3)):
            words[place] = f"word{number}x{place}"
        texts[f"{number}/again"] = " ".join(words)
    return texts


@pytest.fixture(scope="module")
def labels() -> list[tuple[str, str]]:
    return [(f"{number}/first", f"{number}/again") for number in range(24)]


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory, edited: dict[str, str]) -> Store:
    records = [{"id": key, "text": text} for key, text in edited.items()]
    return Folder(tmp_path_factory.mktemp("versions")).store(*records)


def test_pages_that_differ_in_title_counter_time_and_advertisement_are_found(pages: Store) -> None:
    found = pages.query(*RECORDS, exclude_self=True)
    values = pages.fingerprints()
    apart = oracle.distance(values["news/1"], values["mirror/77"])
    assert apart > 3
    for key, other in (("news/1", "mirror/77"), ("mirror/77", "news/1")):
        (match,) = found[key].matches
        assert (match.key, match.distance, match.channels) == (other, apart, {"minhash"})
        assert match.resemblance == pytest.approx(
            oracle.resemblance(PAGES[key], PAGES[other]), abs=1e-3
        )
        assert match.containment == pytest.approx(
            oracle.containment(PAGES[key], PAGES[other]), abs=1e-3
        )
    assert found["news/2"].matches == []


def test_without_copies_a_collection_takes_less_room(pages: Store) -> None:
    sizes = {key: len(text.encode()) for key, text in PAGES.items()}
    assert pages.unique() == {
        "documents": 2,
        "bytes_of_text": sizes["news/1"] + sizes["news/2"],
        "clusters": 1,
        "dropped": 1,
        "bytes_of_dropped_text": sizes["mirror/77"],
    }


def test_readers_are_shown_one_of_several_copies(pages: Store) -> None:
    assert pages.clusters(min_resemblance=0.5) == [["news/1", "mirror/77"]]


def test_md5_of_texts_that_are_nearly_the_same_has_nothing_in_common(pages: Store) -> None:
    found = pages.compare("news/1", "mirror/77")
    digests = [hashlib.md5(PAGES[key].encode()).hexdigest() for key in ("news/1", "mirror/77")]
    assert found["md5"] == {"equal": False, "a": digests[0], "b": digests[1]}
    # Of 128 bits of two digests half differ by chance, 64 ± 5.7.
    assert oracle.distance(int(digests[0], 16), int(digests[1], 16)) > 41
    assert found["simhash-128"]["distance"] < 41


def test_a_document_is_a_duplicate_if_the_distance_is_within_the_threshold(
    folder: Folder, versions: Store, edited: dict[str, str]
) -> None:
    values = versions.fingerprints()
    expected = {
        again: oracle.distance(values[again], values[first])
        for first, again in pairwise(edited)
        if again.endswith("again")
    }
    near = {key: apart for key, apart in expected.items() if apart <= 3}
    # Some on both sides of the threshold, or nothing is shown.
    assert 3 in near.values()
    assert 4 in expected.values()
    store = folder.store()
    records = [{"id": key, "text": text} for key, text in edited.items()]
    outcome = store.add(*records, on_duplicate="flag", radius=3)
    assert outcome == {"added": 48 - len(near), "flagged": len(near)}
    assert store.duplicates() == {
        key: ("flagged", key.replace("again", "first"), apart) for key, apart in near.items()
    }


def test_a_fingerprint_leads_to_its_documents(folder: Folder) -> None:
    store = folder.store(*RECORDS, {"id": "copy of 2", "text": PAGES["news/2"]})
    value = store.fingerprints()["news/2"]
    assert store.near(value) == [(value, 0, ["news/2", "copy of 2"])]


@pytest.mark.parametrize("bits", [1, 24, 100, 128])
def test_a_document_is_any_number_of_bits(folder: Folder, bits: int) -> None:
    text = "red boats and red nets and the sea behind the boats"
    store = folder.store(
        {"id": "a", "text": text}, bits=bits, weights="tf", feature_hash="poly1000003"
    )
    expected = oracle.simhash(oracle.counts(text), lambda w: oracle.poly1000003(w, bits), bits)
    assert store.fingerprints() == {"a": expected}
    for refused in (0, 129):
        folder.run("init", db="refused.db", bits=refused, code=2)


def test_64_bits_and_a_distance_of_3_are_the_defaults_and_tell_copies_from_others(
    given: Store, planted: list[int], versions: Store, labels: list[tuple[str, str]]
) -> None:
    assert {len(row["fingerprint"]) * 4 for row in versions.documents()} == {64}
    assert [found[:2] for found in given.near(planted[0])] == oracle.near(planted, planted[0], 3)
    # By the count of replaced words: of 96, one is the same page, seven or eight are not meant.
    judged = versions.evaluate(labels[:6], radius="3-3")["simhash", 3]
    assert judged == pytest.approx(of_fingerprints(versions, labels[:6], 3), abs=1e-3)
    assert judged[1] >= 0.5


def of_fingerprints(
    store: Store, labels: list[tuple[str, str]], radius: int
) -> tuple[float, float]:
    """Return precision and recall of all pairs of a store's fingerprints within a radius."""
    values = store.fingerprints()
    keys = list(values)
    found = {
        frozenset((a, b))
        for place, a in enumerate(keys)
        for b in keys[:place]
        if oracle.distance(values[a], values[b]) <= radius
    }
    return oracle.precision_and_recall(found, {frozenset(pair) for pair in labels})


def test_the_recipe_of_a_fingerprint_decides_how_well_it_works(
    folder: Folder, versions: Store, edited: dict[str, str], labels: list[tuple[str, str]]
) -> None:
    records = [{"id": key, "text": text} for key, text in edited.items()]
    other = folder.store(*records, shingle=4)
    judged = []
    for store in (versions, other):
        curve = store.evaluate(labels, radius="2-6")
        for radius in range(2, 7):
            expected = of_fingerprints(store, labels, radius)
            assert curve["simhash", radius] == pytest.approx(expected, abs=1e-3), radius
        judged.append(curve["simhash", 6][1])
    # A replaced word changes four features of four words, and one of one.
    assert judged[0] > judged[1]


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        # Worked out by hand: 4 -2 -4 0 0 -4; then 20 14 -20 -16 -16 -20, as the second word has it.
        ((3, 2, 1), 0b100000),
        ((3, 18, 1), 0b110000),
    ],
)
def test_the_figure_and_a_feature_of_more_weight(
    folder: Folder, counts: tuple[int, int, int], value: int
) -> None:
    words = sorted(zip(counts, ("100110", "110000", "001001"), strict=True), reverse=True)
    folder.write("hashvalue.txt", "".join(f"{row}\n" for _, row in words))
    folder.write("stopwords.txt", "the")
    text = " ".join(f"{'abc'[rank]} " * count for rank, (count, _) in enumerate(words))
    folder.write("article.txt", f"figure\n{text}\n")
    store = Store(folder, "store.db")
    store.ingest("article.txt", features=3, bits=6)
    assert store.fingerprints() == {"figure": value}


@pytest.mark.parametrize("tie", ["zero", "one"])
def test_a_sum_of_zero_gives_the_bit_that_is_chosen(folder: Folder, tie: str) -> None:
    store = folder.store({"id": "a", "text": "boats sea"}, tie=tie, feature_hash="poly1000003")
    one, two = (oracle.poly1000003(word, 64) for word in ("boats", "sea"))
    assert one != two
    # Where the two words' bits differ the sum is 0.
    assert store.fingerprints() == {"a": one & two if tie == "zero" else one | two}


@pytest.mark.parametrize(("code", "copies"), [("enum", 0), ("enum-slides", 1)])
@pytest.mark.parametrize("values", [["Close", "Open"], ["N", "E", "S", "W", "up"]])
def test_values_of_an_enumeration_have_the_codes_of_the_lecture(
    folder: Folder, code: str, copies: int, values: list[str]
) -> None:
    records = [{"id": value, "text": "gate", "side": value} for value in values]
    # The field outweighs the word by far.
    store = folder.store(*records, field=f"side:{code}:{','.join(values)}:1000")
    expected = {
        value: oracle.enumerated(place, len(values), copies) for place, value in enumerate(values)
    }
    assert store.fingerprints() == expected
    if len(values) == 2:
        assert expected == {"Close": 0, "Open": (1 << 64) - 1}


def test_han_characters_are_small_numbers_and_like_strings_have_near_hashes(folder: Folder) -> None:
    texts = ["啊", "阿", "铁桥", "铁路", "面包"]
    records = [{"id": text, "text": text} for text in texts]
    found = folder.store(*records, feature_hash="hanzi-slides", tie="one").fingerprints()
    assert found == {text: oracle.hanzi(text) for text in texts}
    # The first and the second character of GB2312.
    assert (found["啊"] & 0x1FFF, found["阿"] & 0x1FFF) == (0, 1)
    like = oracle.distance(found["铁桥"], found["铁路"])
    assert like < oracle.distance(found["铁桥"], found["面包"])
    # From five characters on the lecture's shift by 65 bits is one by 1.
    long = {"id": "long", "text": "江口的铁桥"}
    options = {"units": "characters", "shingle": 5, "tie": "one"}
    slides = folder.store(long, name="s.db", feature_hash="hanzi-slides", **options)
    plain = folder.store(long, name="p.db", feature_hash="hanzi", **options)
    assert slides.fingerprints() == {"long": oracle.hanzi("江口的铁桥")}
    assert plain.fingerprints() != slides.fingerprints()


def test_all_within_k_bits_of_a_fingerprint_are_found(given: Store, planted: list[int]) -> None:
    for place, radius in ((0, 1), (1, 3), (2, 5), (499, 0)):
        expected = oracle.near(planted, planted[place], radius)
        assert len(expected) > radius // 2
        assert [found[:2] for found in given.near(planted[place], radius=radius)] == expected


def test_the_highest_bit_is_one_like_the_others(folder: Folder) -> None:
    all_ones, most = (1 << 64) - 1, (1 << 63) - 1
    store = folder.given(all_ones, all_ones - 1, most, 1)
    assert store.near(most, radius=1) == [(most, 0, []), (all_ones, 1, [])]


PLANS = {
    "scan": None,
    "probe": WIDTH,
    "interpolation": WIDTH,
    "expanded": 1,
    "tables4": 4,
    "tables10": 10,
    "tables16": 16,
    "tables20": 20,
    "segments": 4,
    "auto": None,
}


@pytest.mark.parametrize("plan", PLANS)
def test_every_method_finds_the_same_within_its_number_of_look_ups(
    versions: Store, edited: dict[str, str], plan: str
) -> None:
    values = versions.fingerprints()
    samples = [{"id": key, "text": edited[key]} for key in ("0/first", "9/again", "15/first")]
    found = versions.query(*samples, plan=plan, channels="simhash", radius=3)
    sizes = []
    for key, answer in found.items():
        apart = {other: oracle.distance(value, values[key]) for other, value in values.items()}
        # Each is reported once, in the order of distance, then of ingest.
        expected = sorted(
            ((other, bits) for other, bits in apart.items() if bits <= 3), key=lambda one: one[1]
        )
        assert answer.near == expected
        if PLANS[plan] is not None:
            assert answer.probes == PLANS[plan]
        sizes.append(len(expected))
    assert max(sizes) > 1


def test_the_method_of_expanded_sets_is_refused_where_they_are_too_many(
    many: Store, crowd: list[str]
) -> None:
    # At radius 4 each makes 679,121 numbers.
    sample = many.folder.records([{"id": "a", "text": crowd[0]}])
    done = many.run("query", sample, plan="expanded", radius=4, channels="simhash", code=2)
    assert done.out == b""


def test_there_is_no_method_by_a_finite_automaton(many: Store, crowd: list[str]) -> None:
    sample = many.folder.records([{"id": "a", "text": crowd[0]}])
    assert "automaton" in many.run("query", sample, plan="automaton", code=2).errors


def test_stored_fingerprints_seldom_share_first_bits_and_crowded_ones_are_avoided(
    folder: Folder, many: Store
) -> None:
    firsts = Counter(value >> 48 for value in many.fingerprints().values())
    pairs = sum(count * (count - 1) // 2 for count in firsts.values())
    # By chance 2,000 · 1,999 / 2 / 65,536 = 30.5 pairs share 16 bits.
    assert pairs < 3 * 30.5
    # The old string hash leaves the first 40 of 96 bits of short words at 0.
    chance = random.Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [a + b for a in letters for b in letters]
    records = [{"id": f"{n}", "text": " ".join(chance.choices(words, k=24))} for n in range(600)]
    store = folder.store(*records, bits=96, feature_hash="poly1000003", weights="tf")
    assert {value >> 64 for value in store.fingerprints().values()} == {0}
    answer = store.query(records[7], plan="segments", channels="simhash", radius=2)["7"]
    assert answer.keys == ["7"]
    assert answer.candidates < 60


def test_queries_run_side_by_side_and_one_asks_its_copies_in_turn(
    many: Store, crowd: list[str]
) -> None:
    files = [many.folder.records([{"id": f"{n:04}", "text": crowd[n]}]) for n in range(4)]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(many.query_files, files))
    assert [list(one.values())[0].near for one in answers] == [[(f"{n:04}", 0)] for n in range(4)]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of three web pages, two with the same main text."""
    folder = Folder(tmp_path_factory.mktemp("crawled"))
    story = (
        "The iron bridge at the mouth of the river stays shut for eleven weeks while engineers"
        " replace its bearing. Ferries take those who walk from the market stairs to the old"
        " customs house, at twenty past each hour."
    )
    other = (
        "The bakery in the lane has a new oven, and opens an hour earlier from Monday on. Its first"
        " loaves are rye, since the mill up the river sold the last wheat to the new hotel."
    )
    for name, text in (("one", story), ("two", story), ("three", other)):
        page = f"<html><body><nav>home, {name}</nav><article><p>{text}</p></article></body></html>"
        folder.write(f"{name}.html", page)
    store = Store(folder, "crawled.db")
    store.ingest("one.html", "two.html", "three.html")
    return store


def test_homework_copies_among_web_pages_are_dropped(crawled: Store) -> None:
    texts = crawled.texts(unique=True)
    assert list(texts) == ["one.html", "three.html"]
    assert texts["one.html"].startswith("The iron bridge")
    assert not any("home" in text for text in texts.values())


def test_before_a_fetch_a_filter_of_what_is_known_is_asked(crawled: Store) -> None:
    crawled.run("export", known_keys="known.filter", force=True)
    keys = ["one.html", "two.html", "three.html", *(f"{n}.html" for n in range(200))]
    known = crawled.folder.known("known.filter", *keys, code=7)
    # What is known is never missed, and one in a thousand of the others is taken for known.
    assert known[:3] == [True] * 3
    assert sum(known) <= 4


def test_a_crawler_publishes_what_it_knows_as_a_file_and_by_a_server(crawled: Store) -> None:
    pytest.importorskip("fastapi")
    crawled.run("export", known_keys="published.filter")
    with serve(crawled.path, create=False) as served:
        crawled.folder.write("served.filter", urlopen(f"{served.url}/v1/known-keys").read())
    for name in ("published.filter", "served.filter"):
        assert crawled.folder.known(name, "one.html", "four.html", code=7) == [True, False]
