from __future__ import annotations

import math
from collections import Counter

import xxhash

from simstore.fingerprint.schemes import open_scheme
from simstore.fingerprint.simhash import to_integers
from simstore.fingerprint.web import WebScheme
from simstore.text.words import terms


def made(scheme: WebScheme, *texts: str) -> list[int]:
    return to_integers(scheme.fingerprints(scheme.count(texts)))


def hash_of(term: str, bits: int) -> int:
    data = term.encode()
    if bits <= 64:
        return xxhash.xxh3_64_intdigest(data) >> (64 - bits)
    return xxhash.xxh3_128_intdigest(data) >> (128 - bits)


def weight_of(term: str, count: int, weights: str) -> int:
    if weights == "uniform":
        return 1
    if weights == "tf":
        return count
    if "\u4e00" <= term[0] <= "\u9fff":
        return 1024 * count
    return round(1024 * (1 + math.log(count)))


def by_plain_loop(text: str, bits: int, weights: str, tie: int) -> int:
    value = 0
    weighted = [
        (hash_of(t, bits), weight_of(t, n, weights)) for t, n in Counter(terms(text)).items()
    ]
    for bit in reversed(range(bits)):
        total = sum(weight if hashed >> bit & 1 else -weight for hashed, weight in weighted)
        value = 2 * value + (1 if total > 0 or (total == 0 and tie) else 0)
    return value


TEXTS = [
    "The harbour was quiet at dawn; the boats, the boats came in with the tide.",
    "搜索引擎需要判断抓取的网页是否已经收录，引擎引擎",
    "one two two three three three",
    "mixed 语言 text 语言 text text",
    "word",
    "",
]


def test_fingerprint_is_the_weighted_sum_of_the_hashes() -> None:
    for bits in (1, 17, 64, 65, 128):
        for weights in ("log-tf", "tf", "uniform"):
            for tie, name in enumerate(("zero", "one")):
                scheme = WebScheme(bits, weights=weights, tie=name)
                assert made(scheme, *TEXTS) == [
                    by_plain_loop(t, bits, weights, tie) for t in TEXTS
                ], (bits, weights)


def test_bytes_that_are_no_text_have_a_fingerprint() -> None:
    scheme = WebScheme()
    first, second = made(scheme, "\udcff\udcfe", "\udcfe")
    assert 0 not in (first, second)
    assert first != second


def test_scheme_comes_back_from_its_record() -> None:
    for scheme in (
        WebScheme(),
        WebScheme(100, weights="tf", tie="one"),
        WebScheme(stopwords=frozenset([b"the", "灯".encode(), b"with-blank and more"])),
    ):
        opened = open_scheme(scheme.record())
        assert isinstance(opened, WebScheme), scheme
        assert (opened.bits, opened.weights, opened.tie, opened.stopwords) == (
            scheme.bits,
            scheme.weights,
            scheme.tie,
            scheme.stopwords,
        ), scheme
        assert opened.record() == scheme.record(), scheme
