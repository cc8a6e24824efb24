"""Two texts by every algorithm, against oracles of plain sets, counters and sums."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from pathlib import Path

import pytest
import texts
import xxhash
from stores import create

from simstore.errors import DocumentNotFound, InvalidParameter, MalformedRecord, NotFound
from simstore.model import Comparison, Document
from simstore.services.compare.compare import compare_texts, read_document
from simstore.services.compare.compared import CompareOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.sources.reader import ReadOptions
from simstore.text.normalization import FOLDED
from simstore.text.words import terms

ALGORITHMS = (
    "blake2b", "md5", "simhash-64", "simhash-128", "resemblance", "containment", "minhash",
    "characters", "i-match", "counting-bloom", "cosine", "euclid",
)  # fmt: skip
PAIRS = list(texts.pairs())
each_pair = pytest.mark.parametrize(
    "pair", PAIRS[::3], ids=lambda pair: f"{pair.name}-{pair.language}"
)
each_language = pytest.mark.parametrize("language", texts.LANGUAGES)


def value(found: Comparison, algorithm: str, measure: str) -> object:
    return found.measurement(algorithm).values[measure]


def number(found: Comparison, algorithm: str, measure: str) -> float:
    given = value(found, algorithm, measure)
    assert isinstance(given, float | int)
    return given


# Oracles.


def plain_fingerprint(counts: Counter[str], bits: int) -> int:
    """SimHash of words that weigh the same, in plain loops."""
    sums = [0] * bits
    for term, count in counts.items():
        if bits <= 64:
            digest, width = xxhash.xxh3_64_intdigest(term.encode()), 64
        else:
            digest, width = xxhash.xxh3_128_intdigest(term.encode()), 128
        for bit in range(bits):
            sums[bit] += count if digest >> (width - 1 - bit) & 1 else -count
    return sum(1 << (bits - 1 - bit) for bit, total in enumerate(sums) if total > 0)


# Definitions.


@each_pair
@pytest.mark.parametrize("weights", ["tf", "uniform"])
def test_other_weights_are_exact(pair: texts.Pair, weights: str) -> None:
    options = CompareOptions(weights=weights, bits=(32, 64, 100, 128))
    found = compare_texts(pair.a, pair.b, options)
    both = [Counter(terms(text, FOLDED)) for text in (pair.a, pair.b)]
    overlap = sum((both[0] & both[1]).values()) / sum((both[0] | both[1]).values())
    # Few of so few features share one of a million counters.
    assert overlap <= number(found, "counting-bloom", "similarity") <= overlap + 0.005
    if weights == "uniform":
        both = [Counter({*counts}) for counts in both]
    a, b = both
    dot = sum(count * b[term] for term, count in a.items())
    lengths = [math.sqrt(sum(n * n for n in counts.values())) for counts in both]
    assert value(found, "cosine", "cosine") == pytest.approx(dot / lengths[0] / lengths[1])
    distance = math.sqrt(sum((a[t] - b[t]) ** 2 for t in {*a, *b}))
    assert value(found, "euclid", "distance") == pytest.approx(distance)
    for bits in options.bits:
        one, other = (plain_fingerprint(counts, bits) for counts in both)
        assert value(found, f"simhash-{bits}", "distance") == (one ^ other).bit_count()
        assert value(found, f"simhash-{bits}", "a") == f"{one:0{bits // 4}x}"
        assert value(found, f"simhash-{bits}", "b") == f"{other:0{bits // 4}x}"
        similarity = 1 - (one ^ other).bit_count() / bits
        assert value(found, f"simhash-{bits}", "similarity") == pytest.approx(similarity)
        ratio = min(one, other) / max(one, other)
        assert value(found, f"simhash-{bits}", "min_max_ratio") == pytest.approx(ratio)


@pytest.mark.parametrize("pair", PAIRS[:1])
def test_every_algorithm_speaks_in_a_fixed_order_with_its_time(pair: texts.Pair) -> None:
    found = compare_texts(pair.a, pair.b, names=("one", "other"))
    assert tuple(one.algorithm for one in found.measurements) == ALGORITHMS
    assert all(one.seconds > 0 and one.detail for one in found.measurements)
    assert (found.first.name, found.second.name) == ("one", "other")
    assert found.first.byte_count == len(pair.a.encode())
    assert found.first.feature_count == len(terms(pair.a))
    assert found.first.distinct_features == len(set(terms(pair.a)))
    with pytest.raises(KeyError):
        found.measurement("nothing")


# What the algorithms find.


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("Harbour reopens after the storm", "Harbour reopens after a storm", True),
        ("Harbour reopens after the storm", "Harbour closes before the storm", False),
        ("港口在风暴后重新开放", "港口在风暴后再次开放", True),
        ("word " * 14, "word " * 14, None),
    ],
)
def test_characters_are_what_the_channel_goes_by(one: str, other: str, apart: bool | None) -> None:
    found = compare_texts(one, other)
    size = 6 if one.isascii() else 3
    a, b = (
        {text[at : at + size] for at in range(len(text) - size + 1)}
        for text in (text.casefold().replace(" ", "") for text in (one, other))
    )
    assert value(found, "characters", "jaccard") == pytest.approx(len(a & b) / len(a | b))
    assert value(found, "characters", "one_word_apart") is apart


@each_language
def test_i_match_sees_through_changes_outside_its_lexicon(language: str, tmp_path: Path) -> None:
    """With a collection, rare terms are not in the lexicon: changed digits change nothing."""
    pair = texts.other_digits(language)
    with create(tmp_path) as store:
        store.add("a", pair.a)
        store.add_many((f"rest {n}", text) for n, text in enumerate(_background(language)))
        found = store.compare("a", Document("new", pair.b), CompareOptions(idf_band=(0.0, 0.9)))
        assert value(found, "i-match", "equal") is True
        assert value(found, "i-match", "agreeing") == value(found, "i-match", "signatures") == 11
        assert "web/1" in found.measurement("i-match").detail
    alone = compare_texts(pair.a, pair.b)
    assert value(alone, "i-match", "equal") is False
    assert "no store" in alone.measurement("i-match").detail


def _background(language: str) -> list[str]:
    """Texts in which the words of the article occur, by sentence."""
    parts = texts.sentences(texts.ARTICLES[language][0], language)
    return [texts.joined(parts[n::3] + parts[n::4], language) for n in range(3)] * 3


# Short and odd texts.


def test_odd_text_equals_itself() -> None:
    for name in texts.ODD:
        found = compare_texts(texts.ODD[name], texts.ODD[name])
        assert value(found, "blake2b", "equal") is value(found, "md5", "equal") is True
        for bits in (64, 128):
            assert value(found, f"simhash-{bits}", "distance") == 0
            assert value(found, f"simhash-{bits}", "similarity") == 1.0
            assert value(found, f"simhash-{bits}", "min_max_ratio") == 1.0
        assert value(found, "euclid", "distance") == 0.0
        is_nothing = not texts.ODD[name].strip()
        for algorithm, measure in (
            ("resemblance", "jaccard"), ("resemblance", "dice"), ("resemblance", "similar"),
            ("resemblance", "dice_of_lists"),
            ("containment", "a_in_b"), ("containment", "b_in_a"), ("minhash", "estimate"),
            ("counting-bloom", "similarity"), ("i-match", "equal"), ("cosine", "cosine"),
        ):  # fmt: skip
            assert value(found, algorithm, measure) == (None if is_nothing else 1), algorithm
        assert found.similar is (None if is_nothing else True)
        # A random lexicon may be without all of few terms.
        agreeing = number(found, "i-match", "agreeing")
        assert agreeing == 0 if is_nothing else 1 <= agreeing <= 11


def test_bytes_that_are_no_text_count_as_they_are() -> None:
    garbage = texts.ODD["binary"]
    found = compare_texts(garbage, garbage[::-1])
    assert found.first.byte_count == 256
    assert value(found, "md5", "a") == hashlib.md5(bytes(range(256))).hexdigest()  # noqa: S324
    assert value(found, "md5", "equal") is False


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="surrogate"):
        compare_texts("half \ud800", "whole")


# Options.


def test_a_chinese_word_is_a_character_unless_segmented() -> None:
    a, b = "今天下雨 new", "今天下雪 NEW"
    found = compare_texts(a, b, CompareOptions(units="words", shingle=1, features="words"))
    assert found.first.shingle_count == found.first.feature_count == 5
    assert value(found, "resemblance", "jaccard") == 4 / 6


def test_option_out_of_range_is_refused() -> None:
    for options in [
        {"units": "lines"},
        {"features": "letters"},
        {"shingle": 0},
        {"similar_at": 1.5},
        {"shingle": 1001},
        {"similar_at": -0.1},
        {"similar_at": float("nan")},
        {"lexicons": -1},
        {"lexicons": 1001},
        {"seed": -1},
        {"seed": 1 << 64},
        {"idf_band": (0.9, 0.2)},
        {"filter_counters": 1000},
        {"bits": (0,)},
        {"bits": (64, 129)},
        {"weights": "heavy"},
        {"filter_hashes": 0},
    ]:
        with pytest.raises(InvalidParameter):
            CompareOptions(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("segmenter", ["jieba", "min-cut"])
def test_segmenter_cuts_words_and_terms(segmenter: str) -> None:
    a, b = "我们喜欢苹果 new", "我们喜欢香蕉 NEW"
    options = CompareOptions(units="words", shingle=1, segmenter=segmenter, weights="tf")
    found = compare_texts(a, b, options)
    one, other = ({"我们", "喜欢", word, "new"} for word in ("苹果", "香蕉"))
    assert (found.first.shingle_count, found.first.feature_count) == (4, 4)
    assert value(found, "resemblance", "jaccard") == len(one & other) / len(one | other)
    assert value(found, "counting-bloom", "similarity") == len(one & other) / len(one | other)


@pytest.mark.parametrize("name", ["blake2b", "md5"])
def test_feature_hash_is_that_of_the_fingerprints(name: str) -> None:
    a, b = "one two three", "two three four five"
    found = compare_texts(a, b, CompareOptions(feature_hash=name, weights="tf", bits=(64,)))

    def fingerprint(words: list[str]) -> int:
        sums = [0] * 64
        for word in words:
            digest = (
                hashlib.blake2b(word.encode(), digest_size=8).digest()
                if name == "blake2b"
                else hashlib.md5(word.encode()).digest()[8:]  # noqa: S324
            )
            bits = int.from_bytes(digest, "big")
            sums = [s + (1 if bits >> (63 - n) & 1 else -1) for n, s in enumerate(sums)]
        return int("".join("1" if s > 0 else "0" for s in sums), 2)

    assert value(found, "simhash-64", "a") == f"{fingerprint(a.split()):016x}"
    assert value(found, "simhash-64", "b") == f"{fingerprint(b.split()):016x}"
    assert value(found, "simhash-64", "a") != value(compare_texts(a, b), "simhash-64", "a")


# With a store.


def test_stored_texts_by_key_and_given_ones(tmp_path: Path) -> None:
    pair = texts.retitled("en")
    with create(tmp_path) as store:
        store.add("a", pair.a)
        store.add("b", pair.b)
        found = store.compare("a", "b")
        assert (found.first.name, found.second.name) == ("a", "b")
        plain = compare_texts(pair.a, pair.b)
        for algorithm in ALGORITHMS:
            if algorithm != "i-match":
                assert dict(found.measurement(algorithm).values) == dict(
                    plain.measurement(algorithm).values
                )
        assert value(found, "simhash-64", "a") == store.get("a").fingerprint
        assert value(found, "blake2b", "b") == store.get("b").digest
        assert value(store.compare("a", Document("b", pair.b)), "md5", "b") == value(
            found, "md5", "b"
        )
        with pytest.raises(DocumentNotFound):
            store.compare("a", "c")
        assert store.runs.query() == []


@pytest.mark.parametrize(
    "scheme",
    [
        SchemeChoice("web", bits=100, weights="tf"),
        SchemeChoice("simtool", bits=32, features=20), SchemeChoice("web", weights="tf-idf"),
    ],
    ids=lambda choice: f"{choice.name} {choice.weights}",
)  # fmt: skip
def test_store_says_of_two_texts_what_its_queries_say(tmp_path: Path, scheme: SchemeChoice) -> None:
    pair = texts.reworked("en")
    with create(tmp_path, scheme) as store:
        store.add_many([("a", pair.a), ("b", pair.b), ("c", texts.BREAD)])
        bits = store.stats().bits
        for key in ("b", "c"):
            found = store.compare("a", key)
            (match,) = (m for m in store.query(pair.a, radius=bits) if m.key == key)
            assert value(found, "store-simhash", "distance") == match.distance
            assert value(found, "store-simhash", "a") == store.get("a").fingerprint
            assert value(found, "store-simhash", "b") == store.get(key).fingerprint
            assert value(found, "store-resemblance", "jaccard") == match.resemblance
            assert value(found, "store-resemblance", "a_in_b") == match.containment
            assert value(found, "store-resemblance", "b_in_a") == match.containment_reverse
        given = store.compare(Document("x", pair.a), Document("y", pair.b))
        assert given.measurement("store-simhash").values == dict(
            store.compare("a", "b").measurement("store-simhash").values
        )


def test_metadata_of_stored_documents_are_features_of_the_store(tmp_path: Path) -> None:
    scheme = SchemeChoice("web", fields=("lang:enum:en,zh,de:9",))
    with create(tmp_path, scheme) as store:
        for key, language in (("a", "en"), ("b", "zh")):
            store.add(key, "river stone bridge lamp", metadata={"lang": language})
        found = store.compare("a", "b")
        assert value(found, "simhash-64", "distance") == 0
        for letter in ("a", "b"):
            assert value(found, "store-simhash", letter) == store.get(letter).fingerprint
        assert number(found, "store-simhash", "distance") > 0


def test_lexicon_follows_the_vocabulary_as_it_is_now(tmp_path: Path) -> None:
    a, b = "river stone lamp", "river stone bridge"
    with create(tmp_path) as store:
        store.add_many([("1", "river lamp"), ("2", "stone"), ("3", "moon"), ("4", "sun")])
        lexicon = CompareOptions(idf_band=(1.0, 1.0), lexicons=0)
        both = [Document("a", a), Document("b", b)]

        def signatures() -> tuple[object, object]:
            found = store.compare(both[0], both[1], lexicon)
            return value(found, "i-match", "a"), value(found, "i-match", "b")

        one, other = signatures()
        assert one == _signature("lamp", "river", "stone")
        assert other == _signature("river", "stone")
        store.add("5", "the lamp again")
        assert signatures() == (_signature("river", "stone"),) * 2
        store.remove("1")
        assert signatures() == (_signature("lamp", "stone"), _signature("stone"))


STORED = ("river lamp lamp", "stone", "moon", "sun river", "lamp")


@pytest.mark.parametrize("weights", ["idf", "tf-idf", "log-tf-idf"])
def test_weights_go_by_the_documents_of_the_store(tmp_path: Path, weights: str) -> None:
    a, b = "river river stone unheard", "river lamp lamp lamp moon unheard"
    with create(tmp_path) as store:
        store.add_many((str(n), text) for n, text in enumerate(STORED))
        options = CompareOptions(weights=weights, bits=(64,))
        found = store.compare(Document("a", a), Document("b", b), options)
        by_tf = store.compare(Document("a", a), Document("b", b))
    vectors = []
    for text in (a, b):
        vector = {}
        for word, count in Counter(text.split()).items():
            df = sum(word in stored.split() for stored in STORED)
            idf = 1 + math.log((1 + len(STORED)) / (1 + df))
            of_count = {"idf": 1, "tf-idf": count, "log-tf-idf": 1 + math.log(count)}[weights]
            vector[word] = of_count * idf
        vectors.append(vector)
    one, other = vectors
    dot = sum(weight * other.get(word, 0) for word, weight in one.items())
    lengths = [math.sqrt(sum(w * w for w in vector.values())) for vector in vectors]
    assert value(found, "cosine", "cosine") == pytest.approx(
        dot / lengths[0] / lengths[1], abs=2e-3
    )
    distance = math.dist(*([v.get(w, 0) for w in {*one, *other}] for v in vectors))
    assert value(found, "euclid", "distance") == pytest.approx(distance, abs=1e-2)
    assert value(found, "simhash-64", "a") == f"{_weighted_fingerprint(one):016x}"
    assert value(found, "simhash-64", "b") == f"{_weighted_fingerprint(other):016x}"
    assert found.measurement("resemblance").values == by_tf.measurement("resemblance").values


def _weighted_fingerprint(vector: dict[str, float]) -> int:
    """SimHash of words with weights; no sum of these is near zero."""
    sums = [0.0] * 64
    for word, weight in vector.items():
        digest = xxhash.xxh3_64_intdigest(word.encode())
        sums = [s + (weight if digest >> (63 - n) & 1 else -weight) for n, s in enumerate(sums)]
    assert min(map(abs, sums)) > 0.01
    return int("".join("1" if s > 0 else "0" for s in sums), 2)


def test_weights_with_idf_need_the_counts_of_the_same_features(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="ask a store that keeps"):
        compare_texts("a", "b", CompareOptions(weights="idf"))
    with create(tmp_path) as store:
        store.add_many([("1", "river"), ("2", "stone")])
        options = CompareOptions(weights="idf", features="shingles")
        with pytest.raises(InvalidParameter, match="other features"):
            store.compare("1", "2", options)
    (other := tmp_path / "other").mkdir()
    with create(other, SchemeChoice("web", stopwords="builtin")) as store:
        store.add_many([("1", "river"), ("2", "stone")])
        with pytest.raises(InvalidParameter, match="other features"):
            store.compare("1", "2", CompareOptions(weights="idf"))


def _signature(*words: str) -> str:
    joined = "".join(f"{len(word)}:{word}" for word in words)
    return hashlib.blake2b(joined.encode(), digest_size=16).hexdigest()


@pytest.mark.parametrize("options", [{"vocabulary": False}, {}], ids=["not counted", "too small"])
def test_store_without_counts_leaves_all_terms_in_the_lexicon(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    with create(tmp_path, **options) as store:
        store.add("a", "river stone")
        if options:
            store.add("b", "river")
        found = store.compare("a", Document("other", "river stone!"))
        assert "no store" in found.measurement("i-match").detail
        assert value(found, "i-match", "equal") is True


def test_store_without_texts_says_so(tmp_path: Path) -> None:
    with create(tmp_path, text=False) as store:
        store.add("a", "river stone")
        with pytest.raises(NotFound, match="not kept"):
            store.compare("a", Document("b", "river"))


# Files.


def test_file_is_taken_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "article.txt"
    path.write_bytes(b"one\r\ntext \xff\n\ftwo\nmore\n\f")
    with pytest.raises(MalformedRecord, match=r"not UTF-8 at byte 10, .* encoding="):
        read_document(str(path), ReadOptions("text"))
    found = read_document(str(path), ReadOptions("text", encoding="keep"))
    assert found.key == str(path)
    assert found.text == "one\r\ntext \udcff\n\ftwo\nmore\n\f"
